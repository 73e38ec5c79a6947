/* SPDX-License-Identifier: BSD-3-Clause */
/* What needs mpi.h beside the conversion library. */
#ifndef HYBRID_H
#define HYBRID_H

#include <waitio_mpi.h>

void hybrid_open(WAITIO_MPI_Comm *world);
void hybrid_close(WAITIO_MPI_Comm *world);

#endif
