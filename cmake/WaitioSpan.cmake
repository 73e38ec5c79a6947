# SPDX-License-Identifier: BSD-3-Clause
# Span: MPI programs as they are, in several jobs with one MPI_COMM_WORLD. One library for each MPI.
# It defines MPI's names, PMPI_ among them, and finds the vendor's behind it: so nothing may bind
# them to itself, and the vendor's library must be among those it needs.
file(GLOB WAITIO_SPAN_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/span/*.c)
foreach(mpi IN LISTS WAITIO_MPIS)
  waitio_mpi_library(span ${mpi} SOURCES ${WAITIO_SPAN_SOURCES} $<TARGET_OBJECTS:wio_os>
    LINK waitio waitio_hybrid_${mpi} ${CMAKE_DL_LIBS})
  target_compile_options(waitio_span_${mpi} PRIVATE -Wno-deprecated-declarations)
  set_target_properties(waitio_span_${mpi} PROPERTIES INSTALL_RPATH "$ORIGIN")
endforeach()
