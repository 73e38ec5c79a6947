/* SPDX-License-Identifier: BSD-3-Clause */
/* A hybrid world: of a process with MPI, or (RANDOM_NO_MPI) of one without. */
#ifdef RANDOM_HYBRID
#ifndef RANDOM_NO_MPI
#include <waitio_hybrid.h>
#endif
#include <waitio.h>
#include <stddef.h>

#include "hybrid.h"

#ifdef RANDOM_NO_MPI

void hybrid_open(WAITIO_MPI_Comm *world)
{
    waitio_create_hybrid(world, 1, 0);
}

void hybrid_close(WAITIO_MPI_Comm *world)
{
    WAITIO_MPI_Comm_free(world);
    waitio_finalize();
}
#else

void hybrid_open(WAITIO_MPI_Comm *world)
{
    MPI_Init(NULL, NULL);
    waitio_hybrid_create_world(world);
}

void hybrid_close(WAITIO_MPI_Comm *world)
{
    WAITIO_MPI_Comm_free(world);
    waitio_finalize();
    MPI_Finalize();
}
#endif
#else
typedef int nothing; /* the other ways need nothing of this file */
#endif
