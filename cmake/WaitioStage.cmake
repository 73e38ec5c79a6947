# SPDX-License-Identifier: BSD-3-Clause
# Staging: a library of its own on the public headers, as the coupler is (WaitioCoupler.cmake).
file(GLOB WAITIO_STAGE_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/stage/*.c)
add_library(waitio_stage_objects OBJECT ${WAITIO_STAGE_SOURCES})
target_include_directories(waitio_stage_objects PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/src
  ${CMAKE_CURRENT_SOURCE_DIR}/include)
target_compile_definitions(waitio_stage_objects PRIVATE _GNU_SOURCE)
target_compile_options(waitio_stage_objects PRIVATE ${WAITIO_WARNINGS})

add_library(waitio_stage SHARED $<TARGET_OBJECTS:waitio_stage_objects>)
add_library(waitio::waitio_stage ALIAS waitio_stage)
target_link_libraries(waitio_stage PUBLIC waitio PRIVATE Threads::Threads ${CMAKE_DL_LIBS} m)
set_target_properties(waitio_stage PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0 INSTALL_RPATH "$ORIGIN")
if(NOT WAITIO_SANITIZE AND NOT WAITIO_FUZZ)
  target_link_options(waitio_stage PRIVATE -Wl,--no-undefined)
endif()

# For unit tests and the Python package: every name visible.
add_library(waitio_stage_inside STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:waitio_stage_objects>)
target_include_directories(waitio_stage_inside PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/src)
target_link_libraries(waitio_stage_inside PUBLIC waitio_static Threads::Threads ${CMAKE_DL_LIBS} m)

install(TARGETS waitio_stage EXPORT waitioTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
