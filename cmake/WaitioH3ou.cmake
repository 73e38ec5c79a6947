# SPDX-License-Identifier: BSD-3-Clause
# The interfaces of h3-Open-UTIL/MP on our coupler, once for each MPI, in directories of their own:
#   include/h3ou/h3ouc.h           lib/h3ou/<mpi>/libh3ouc.so   (C)
#   include/h3ou/h3ou_api.mod      lib/h3ou/<mpi>/libh3ou.so    (Fortran: fortran/h3ou)
#   lib/h3ou/python/h3ou.py                                     (Python: python/h3ou)
# The libraries that old makefiles name beside them (-ljcup4, -lh3openp) are links.
file(GLOB WAITIO_H3OU_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/h3ou/*.c)
set(WAITIO_H3OU_LIBS ${CMAKE_INSTALL_LIBDIR}/h3ou)

# Where a library lies, in the build and installed, and a second name of it.
function(waitio_h3ou_place target mpi name link)
  set(dir ${CMAKE_BINARY_DIR}/lib/h3ou/${mpi})
  file(MAKE_DIRECTORY ${dir})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${dir}
    INSTALL_RPATH "$ORIGIN:$ORIGIN/../..")
  set_property(GLOBAL APPEND PROPERTY WAITIO_MPI_TARGETS ${target})
  file(CREATE_LINK lib${name}.so ${dir}/lib${link}.so SYMBOLIC)
  install(TARGETS ${target} LIBRARY DESTINATION ${WAITIO_H3OU_LIBS}/${mpi})
  install(FILES ${dir}/lib${link}.so DESTINATION ${WAITIO_H3OU_LIBS}/${mpi})
endfunction()

foreach(mpi IN LISTS WAITIO_MPIS)
  add_library(waitio_h3ouc_${mpi} SHARED ${WAITIO_H3OU_SOURCES})
  target_include_directories(waitio_h3ouc_${mpi} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/include
    ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_compile_definitions(waitio_h3ouc_${mpi} PRIVATE _GNU_SOURCE)
  target_compile_options(waitio_h3ouc_${mpi} PRIVATE ${WAITIO_WARNINGS})
  target_link_libraries(waitio_h3ouc_${mpi} PRIVATE waitio_mpi::${mpi} waitio_cpl waitio)
  waitio_h3ou_place(waitio_h3ouc_${mpi} ${mpi} h3ouc h3openp)
endforeach()
install(FILES ${CMAKE_CURRENT_SOURCE_DIR}/include/h3ou/h3ouc.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/h3ou)
install(FILES ${CMAKE_CURRENT_SOURCE_DIR}/python/h3ou/h3ou.py DESTINATION ${WAITIO_H3OU_LIBS}/python)
