# SPDX-License-Identifier: BSD-3-Clause
# The providers of hybrid communicators: one library for each MPI, from the sources in src/hybrid,
# which are also installed so that `waitio build-hybrid` makes one for an MPI that comes later.
file(GLOB WAITIO_HYBRID_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/hybrid/*.c)
foreach(mpi IN LISTS WAITIO_MPIS)
  waitio_mpi_library(hybrid ${mpi} SOURCES ${WAITIO_HYBRID_SOURCES} LINK waitio)
  set_target_properties(waitio_hybrid_${mpi} PROPERTIES INSTALL_RPATH "$ORIGIN")
endforeach()
