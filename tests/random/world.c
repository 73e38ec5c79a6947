/* SPDX-License-Identifier: BSD-3-Clause */
/* Beginning and end: all processes, in each of the ways. */
#include "face.h"

#include <stddef.h>

#ifdef RANDOM_HYBRID
#include "hybrid.h"

static MPI_Comm world;

MPI_Comm world_open(void)
{
    hybrid_open(&world);
    return world;
}

void world_close(void)
{
    hybrid_close(&world);
}
#else

MPI_Comm world_open(void)
{
    MPI_Init(NULL, NULL);
    return MPI_COMM_WORLD;
}

void world_close(void)
{
    MPI_Finalize();
}
#endif
