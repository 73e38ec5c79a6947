# SPDX-License-Identifier: BSD-3-Clause
# libwaitio_adios2: an engine for ADIOS2 over staging. For a WaitIO that is installed already,
# `waitio build-adios2` builds it. WAITIO_ADIOS2_DIR: PyPI's package (the folder adios2 in
# site-packages) or the prefix of an ADIOS2; else that in .venv or of the system is taken.
set(WAITIO_ADIOS2 AUTO CACHE STRING "the engine for ADIOS2: ON, OFF, AUTO (if there is an ADIOS2)")
set(WAITIO_ADIOS2_DIR "" CACHE PATH "folder of ADIOS2: of PyPI's package, or a prefix")
file(GLOB WAITIO_ADIOS2_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/adios/*.cpp)
file(GLOB WAITIO_ADIOS2_HEADERS CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/adios/*.hpp)
install(FILES ${WAITIO_ADIOS2_SOURCES} ${WAITIO_ADIOS2_HEADERS}
  DESTINATION ${CMAKE_INSTALL_DATADIR}/waitio/adios2/adios)

if(NOT WAITIO_ADIOS2 OR WAITIO_FUZZ OR WAITIO_SANITIZE OR WAITIO_COVERAGE OR CMAKE_CROSSCOMPILING)
  return()
endif()
file(GLOB WAITIO_ADIOS2_PLACES ${CMAKE_CURRENT_SOURCE_DIR}/.venv/lib/python3*/site-packages/adios2)
if(WAITIO_ADIOS2_DIR)
  set(WAITIO_ADIOS2_PLACES ${WAITIO_ADIOS2_DIR})
endif()
find_path(WAITIO_ADIOS2_INCLUDE adios2/plugin/PluginEngineInterface.h HINTS ${WAITIO_ADIOS2_PLACES}
  PATH_SUFFIXES include)
foreach(part cxx core)
  find_library(WAITIO_ADIOS2_${part} adios2_${part} HINTS ${WAITIO_ADIOS2_PLACES} PATH_SUFFIXES lib lib64)
endforeach()
set(interface)
if(WAITIO_ADIOS2_INCLUDE)
  file(STRINGS ${WAITIO_ADIOS2_INCLUDE}/adios2/plugin/PluginEngineInterface.h interface
    REGEX "define ADIOS2_PLUGIN_ENGINE_INTERFACE 2")
endif()
if(NOT interface OR NOT WAITIO_ADIOS2_cxx OR NOT WAITIO_ADIOS2_core)
  set(missing "ADIOS2 2.12 with its headers: `pip install adios2`, and "
    "-D WAITIO_ADIOS2_DIR=<site-packages>/adios2, or the prefix of an ADIOS2 of yours")
  if(NOT WAITIO_ADIOS2 STREQUAL "AUTO")
    message(FATAL_ERROR "WAITIO_ADIOS2 needs " ${missing})
  endif()
  message(STATUS "no engine for ADIOS2; it needs " ${missing})
  return()
endif()
include(CheckLanguage)
check_language(CXX)
if(NOT CMAKE_CXX_COMPILER)
  message(STATUS "no engine for ADIOS2: there is no C++ compiler")
  return()
endif()
enable_language(CXX)

add_library(waitio_adios2 MODULE ${WAITIO_ADIOS2_SOURCES})
target_compile_features(waitio_adios2 PRIVATE cxx_std_17)
target_include_directories(waitio_adios2 PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/src)
target_include_directories(waitio_adios2 SYSTEM PRIVATE ${WAITIO_ADIOS2_INCLUDE})
target_compile_options(waitio_adios2 PRIVATE -Wall -Wextra -Wshadow $<$<BOOL:${WAITIO_WERROR}>:-Werror>)
target_link_libraries(waitio_adios2 PRIVATE ${WAITIO_ADIOS2_cxx} ${WAITIO_ADIOS2_core} waitio_stage waitio)
# The package's libraries need others that lie beside it, and that the program has loaded before us.
target_link_options(waitio_adios2 PRIVATE -Wl,--no-undefined -Wl,--allow-shlib-undefined)
set_target_properties(waitio_adios2 PROPERTIES CXX_VISIBILITY_PRESET hidden CXX_EXTENSIONS OFF
  INSTALL_RPATH "$ORIGIN")
install(TARGETS waitio_adios2 LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
