# SPDX-License-Identifier: BSD-3-Clause
# The coupler: a library of its own on the public headers. libwaitio_cpl for programs, and its objects
# for the unit tests of its rooms, whose names the library hides.
# libyaml reads configurations in YAML; without it they are refused, and namelists work.
option(WAITIO_YAML "read configurations in YAML where libyaml is found" ON)
set(WAITIO_YAML_LIBRARY)
if(WAITIO_YAML)
  find_path(YAML_INCLUDE_DIR yaml.h)
  find_library(YAML_LIBRARY yaml)
  mark_as_advanced(YAML_INCLUDE_DIR YAML_LIBRARY)
  if(YAML_INCLUDE_DIR AND YAML_LIBRARY)
    set(WAITIO_YAML_LIBRARY ${YAML_LIBRARY})
  else()
    message(STATUS "libyaml not found: no configurations in YAML (Debian: apt-get install libyaml-dev)")
  endif()
endif()

file(GLOB WAITIO_CPL_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/coupler/*.c)
add_library(waitio_cpl_objects OBJECT ${WAITIO_CPL_SOURCES})
target_include_directories(waitio_cpl_objects PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/src
  ${CMAKE_CURRENT_SOURCE_DIR}/include)
target_compile_definitions(waitio_cpl_objects PRIVATE _GNU_SOURCE)
# Sums must not depend on whether a compiler fuses a multiplication with an addition.
target_compile_options(waitio_cpl_objects PRIVATE ${WAITIO_WARNINGS} -ffp-contract=off)
if(WAITIO_YAML_LIBRARY)
  target_compile_definitions(waitio_cpl_objects PRIVATE WIO_HAVE_YAML)
  target_include_directories(waitio_cpl_objects SYSTEM PRIVATE ${YAML_INCLUDE_DIR})
endif()

# The weights use src/os, which libwaitio keeps to itself: a copy of it.
add_library(waitio_cpl SHARED $<TARGET_OBJECTS:waitio_cpl_objects> $<TARGET_OBJECTS:wio_weights>
  $<TARGET_OBJECTS:wio_weights_late> $<TARGET_OBJECTS:wio_os>)
add_library(waitio::waitio_cpl ALIAS waitio_cpl)
target_link_libraries(waitio_cpl PUBLIC waitio PRIVATE ${WAITIO_YAML_LIBRARY} m Threads::Threads ${CMAKE_DL_LIBS})
if(TARGET waitio_netcdf)
  add_dependencies(waitio_cpl waitio_netcdf)
endif()
set_target_properties(waitio_cpl PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0
  INSTALL_RPATH "$ORIGIN" INSTALL_RPATH_USE_LINK_PATH ON) # the path: where libyaml is
if(NOT WAITIO_SANITIZE AND NOT WAITIO_FUZZ)
  target_link_options(waitio_cpl PRIVATE -Wl,--no-undefined)
endif()

# For unit tests: every name visible.
add_library(waitio_cpl_inside STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:waitio_cpl_objects>
  $<TARGET_OBJECTS:wio_weights> $<TARGET_OBJECTS:wio_weights_late>)
target_include_directories(waitio_cpl_inside PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/src)
target_link_libraries(waitio_cpl_inside PUBLIC waitio_static ${WAITIO_YAML_LIBRARY} m ${CMAKE_DL_LIBS})

install(TARGETS waitio_cpl EXPORT waitioTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
