# SPDX-License-Identifier: BSD-3-Clause
# libwaitio_emulator_<mpi>: WaitIO's calls in one MPI job, for each MPI found.
file(GLOB WAITIO_EMULATOR_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/emulator/*.c)
foreach(mpi IN LISTS WAITIO_MPIS)
  waitio_mpi_library(emulator ${mpi} PLUGIN SOURCES ${WAITIO_EMULATOR_SOURCES})
endforeach()
