# SPDX-License-Identifier: BSD-3-Clause
# The providers of hybrid communicators: one library for each MPI, from the sources in src/hybrid,
# which are also installed so that `waitio build-hybrid` makes one for an MPI that comes later.
file(GLOB WAITIO_HYBRID_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/hybrid/*.c)
file(GLOB WAITIO_HYBRID_HEADERS CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/hybrid/*.h)

# A file for pkg-config. `waitio build-hybrid` fills in the same form.
function(waitio_hybrid_pc WAITIO_PC_NAME WAITIO_PC_TEXT WAITIO_PC_REQUIRES WAITIO_PC_CFLAGS mpi)
  set(WAITIO_PC_MPI "${WAITIO_MPI_${mpi}_KIND} ${WAITIO_MPI_${mpi}_VERSION}")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/waitio_hybrid.pc.in
    ${CMAKE_BINARY_DIR}/package/${WAITIO_PC_NAME}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/package/${WAITIO_PC_NAME}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

foreach(mpi IN LISTS WAITIO_MPIS)
  waitio_mpi_library(hybrid ${mpi} SOURCES ${WAITIO_HYBRID_SOURCES} LINK waitio)
  set_target_properties(waitio_hybrid_${mpi} PROPERTIES INSTALL_RPATH "$ORIGIN")
  waitio_hybrid_pc(waitio_hybrid_${mpi} "Hybrid communicators of WaitIO" waitio
    "-I\${includedir}" ${mpi})
endforeach()

set(WAITIO_HYBRID_SHARE ${CMAKE_INSTALL_DATADIR}/waitio/hybrid)
install(FILES ${WAITIO_HYBRID_SOURCES} ${WAITIO_HYBRID_HEADERS}
  DESTINATION ${WAITIO_HYBRID_SHARE}/hybrid)
install(FILES fortran/hybrid/waitio_hybrid.F90 cmake/waitio_hybrid.pc.in
  cmake/waitio_hybrid_selftest.c cmake/waitio_mpi_kinds.txt
  DESTINATION ${WAITIO_HYBRID_SHARE})
