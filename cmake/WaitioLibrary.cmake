# SPDX-License-Identifier: BSD-3-Clause
# The shared library, the static one, and the view of the static one for tests and tools.
set(WAITIO_MAP ${CMAKE_CURRENT_SOURCE_DIR}/src/libwaitio.map)

if(WAITIO_LTO)
  # Compiled apart from the static library, whose objects any linker must be able to read.
  add_library(waitio SHARED ${WAITIO_SOURCES})
  target_include_directories(waitio PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_compile_definitions(waitio PRIVATE _GNU_SOURCE)
  target_compile_options(waitio PRIVATE ${WAITIO_WARNINGS} -O3 -flto=auto)
  target_link_options(waitio PRIVATE -O3 -flto=auto ${WAITIO_LOAD_MOTION} ${WAITIO_PREFIX_MAP})
else()
  add_library(waitio SHARED ${WAITIO_OBJECTS})
endif()
add_library(waitio::waitio ALIAS waitio)
target_include_directories(waitio PUBLIC
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(waitio PRIVATE OpenSSL::Crypto Threads::Threads m ${CMAKE_DL_LIBS})
# A program may define calls of its own in front of the library's (waitio_mpi_profile.h). The
# library's calls of itself must not end there.
target_link_options(waitio PRIVATE -Wl,--version-script=${WAITIO_MAP} -Wl,-Bsymbolic-functions)
if(NOT WAITIO_SANITIZE AND NOT WAITIO_FUZZ)
  target_link_options(waitio PRIVATE -Wl,--no-undefined)
endif()
set_target_properties(waitio PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION 0 LINK_DEPENDS ${WAITIO_MAP} INSTALL_RPATH "")

add_library(waitio_static STATIC ${WAITIO_OBJECTS})
add_library(waitio::waitio_static ALIAS waitio_static)
target_include_directories(waitio_static PUBLIC
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(waitio_static PUBLIC OpenSSL::Crypto Threads::Threads m ${CMAKE_DL_LIBS})
set_target_properties(waitio_static PROPERTIES OUTPUT_NAME waitio EXPORT_NAME waitio_static)

# For unit tests and tools that look inside: every internal symbol visible at link time.
add_library(waitio_internal INTERFACE)
target_include_directories(waitio_internal INTERFACE ${CMAKE_CURRENT_SOURCE_DIR}/src)
target_compile_definitions(waitio_internal INTERFACE _GNU_SOURCE)
target_link_libraries(waitio_internal INTERFACE waitio_static)
