# SPDX-License-Identifier: BSD-3-Clause
# Switches of the build and the compiler flags that follow from them.
include(CheckCCompilerFlag)

option(WAITIO_WERROR "treat warnings as errors" OFF)
option(WAITIO_TESTS "build the tests" ON)
option(WAITIO_BENCH "build the benchmark programs" ON)
option(WAITIO_FORTRAN "build the Fortran interface" ON)
option(WAITIO_FUZZ "build fuzz targets with libFuzzer (clang only); without it they replay their corpus" OFF)
option(WAITIO_COVERAGE "instrument for gcov" OFF)
set(WAITIO_SANITIZE "" CACHE STRING "sanitizers, as for -fsanitize= (address,undefined or thread)")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "build type" FORCE)
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Public headers open a default-visibility region; everything else stays inside the library.
set(CMAKE_C_VISIBILITY_PRESET hidden)

set(WAITIO_WARNINGS -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
                    -Wvla)
if(WAITIO_WERROR)
  list(APPEND WAITIO_WARNINGS -Werror)
endif()

if(WAITIO_SANITIZE)
  add_compile_options(-fsanitize=${WAITIO_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WAITIO_SANITIZE})
  if(WAITIO_SANITIZE MATCHES "thread" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # It does not follow fences between processes, as shared memory has them, and cannot: two
    # processes are out of its sight anyway.
    add_compile_options($<$<COMPILE_LANGUAGE:C>:-Wno-tsan>)
  endif()
endif()
if(WAITIO_FUZZ)
  if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "WAITIO_FUZZ needs clang (libFuzzer); configure with CC=clang, or leave it "
                        "OFF: the targets are then built as programs that replay their corpus")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link,address -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address)
endif()
if(WAITIO_COVERAGE)
  add_compile_options(--coverage -O0)
  add_link_options(--coverage)
else()
  # Neither debug information nor __FILE__ may name the machine that built the library.
  check_c_compiler_flag(-ffile-prefix-map=a=b WAITIO_HAVE_PREFIX_MAP)
  if(WAITIO_HAVE_PREFIX_MAP)
    set(WAITIO_PREFIX_MAP -ffile-prefix-map=${CMAKE_BINARY_DIR}=build
                          -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
    add_compile_options(${WAITIO_PREFIX_MAP})
  endif()
endif()

# GCC 12 takes loads out of loops that change what they load (docs/design/compilers.md);
# tests/unit/test_compiler.c fails where another version does. The option costs nothing measurable.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 12
   AND CMAKE_C_COMPILER_VERSION VERSION_LESS 13)
  set(WAITIO_LOAD_MOTION -fno-tree-loop-im)
  add_compile_options($<$<COMPILE_LANGUAGE:C>:${WAITIO_LOAD_MOTION}>)
endif()

# Short messages run through many small functions: the shared library is optimised as a whole. Other
# compilers than GCC need a linker of their own for that.
set(WAITIO_LTO_DEFAULT OFF)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_GREATER_EQUAL 10
   AND CMAKE_BUILD_TYPE MATCHES "^Rel" AND NOT WAITIO_SANITIZE AND NOT WAITIO_COVERAGE)
  check_c_compiler_flag(-flto=auto WAITIO_HAVE_LTO) # GCC can be built without it
  if(WAITIO_HAVE_LTO)
    set(WAITIO_LTO_DEFAULT ON)
  endif()
endif()
option(WAITIO_LTO "optimise the shared library as a whole (GCC 10 or newer)" ${WAITIO_LTO_DEFAULT})
