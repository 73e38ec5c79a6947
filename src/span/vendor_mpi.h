/* SPDX-License-Identifier: BSD-3-Clause */
/** @file vendor_mpi.h  The vendor's mpi.h. What it declares we define, for everybody to see. */
#ifndef SPAN_VENDOR_MPI_H
#define SPAN_VENDOR_MPI_H

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif
#include <mpi.h>
#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#endif /* SPAN_VENDOR_MPI_H */
