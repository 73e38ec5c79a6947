/* SPDX-License-Identifier: BSD-3-Clause */
/** @file version.h  Which MPI this library is built for. */
#ifndef SPAN_VERSION_H
#define SPAN_VERSION_H

#include "span/vendor_mpi.h"

#if defined(OPEN_MPI)
#define SPAN_VENDOR_NAME "Open MPI"
#elif defined(I_MPI_VERSION)
#define SPAN_VENDOR_NAME "Intel MPI"
#elif defined(MVAPICH2_VERSION) || defined(MVAPICH_VERSION)
#define SPAN_VENDOR_NAME "MVAPICH"
#elif defined(MPICH)
#define SPAN_VENDOR_NAME "MPICH"
#else
#define SPAN_VENDOR_NAME "the MPI"
#endif

#endif /* SPAN_VERSION_H */
