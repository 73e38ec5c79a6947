# SPDX-License-Identifier: BSD-3-Clause
# Weights between grids: a room of the coupler without messages. NetCDF-C reads and writes its files;
# without it everything else works, and opening a file says what to install.
option(WAITIO_NETCDF "read and write netCDF files where netCDF-C is found" ON)
set(WAITIO_NETCDF_LIBRARY)
if(WAITIO_NETCDF)
  find_path(NETCDF_INCLUDE_DIR netcdf.h)
  find_library(NETCDF_LIBRARY netcdf)
  if(NETCDF_INCLUDE_DIR AND NETCDF_LIBRARY)
    set(WAITIO_NETCDF_LIBRARY ${NETCDF_LIBRARY})
  else()
    message(STATUS "netCDF-C not found: no grid and weight files (Debian: apt-get install libnetcdf-dev)")
  endif()
endif()

# The room without what goes to files: store.c or store_none.c for the tool, store_late.c for the
# coupler's library, which loads libwaitio_netcdf when it opens a file.
set(weights ${CMAKE_CURRENT_SOURCE_DIR}/src/coupler/weights)
file(GLOB WAITIO_WEIGHTS_SOURCES CONFIGURE_DEPENDS ${weights}/*.c)
list(FILTER WAITIO_WEIGHTS_SOURCES EXCLUDE REGEX "/store[a-z_]*\\.c$")
function(waitio_weights_part name)
  target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR}/include)
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE)
  # Loops over boxes and corners: -O2 leaves the vector unit idle. Products and sums must round alike in
  # every function that computes the same thing: no fused operations.
  target_compile_options(${name} PRIVATE ${WAITIO_WARNINGS} $<$<NOT:$<CONFIG:Debug>>:-O3> -ffp-contract=off)
  if(WAITIO_NETCDF_LIBRARY)
    target_compile_definitions(${name} PRIVATE WIO_HAVE_NETCDF)
    target_include_directories(${name} SYSTEM PRIVATE ${NETCDF_INCLUDE_DIR})
  endif()
endfunction()
add_library(wio_weights OBJECT ${WAITIO_WEIGHTS_SOURCES})
waitio_weights_part(wio_weights)
add_library(wio_weights_store OBJECT ${weights}/store.c ${weights}/store_none.c)
waitio_weights_part(wio_weights_store)
add_library(wio_weights_late OBJECT ${weights}/store_late.c)
waitio_weights_part(wio_weights_late)
target_compile_definitions(wio_weights_late PRIVATE WIO_LIBDIR="${CMAKE_INSTALL_LIBDIR}")

if(WAITIO_NETCDF_LIBRARY AND NOT WAITIO_FUZZ)
  add_library(waitio_netcdf MODULE ${weights}/store.c ${weights}/fail.c $<TARGET_OBJECTS:wio_os>)
  waitio_weights_part(waitio_netcdf)
  set_target_properties(waitio_netcdf PROPERTIES C_VISIBILITY_PRESET default
    INSTALL_RPATH_USE_LINK_PATH ON) # where netCDF-C is
  target_link_libraries(waitio_netcdf PRIVATE ${WAITIO_NETCDF_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS})
  install(TARGETS waitio_netcdf LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

# The room with what is below it, for tools and tests.
add_library(waitio_weights_internal STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:wio_weights>
  $<TARGET_OBJECTS:wio_weights_store>)
target_include_directories(waitio_weights_internal PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/src
  ${CMAKE_CURRENT_SOURCE_DIR}/include)
target_link_libraries(waitio_weights_internal PUBLIC waitio_static ${WAITIO_NETCDF_LIBRARY} m)
