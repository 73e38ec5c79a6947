/* SPDX-License-Identifier: BSD-3-Clause */
/* The communicator that a test of collectives uses: the universe; built with -DHYBRID a hybrid one
 * of all processes, where MPI serves the block; with -DHYBRID_PLAIN that one from a process without
 * MPI. */
#ifndef WORLD_H
#define WORLD_H

#ifdef MPI_PROGRAM
#include <mpi.h>

static inline MPI_Comm open_world(void)
{
    MPI_Init(NULL, NULL);
    return MPI_COMM_WORLD;
}

static inline void close_world(MPI_Comm *world)
{
    (void)world;
    MPI_Finalize();
}
#else
#ifdef HYBRID
#include <waitio_hybrid.h>
#endif
#include <waitio.h>
#include <waitio_mpi.h>

/* One more of them. */
static inline WAITIO_MPI_Comm make_world(void)
{
    WAITIO_MPI_Comm world = WAITIO_MPI_COMM_NULL;
#if defined(HYBRID)
    waitio_hybrid_create_world(&world);
#elif defined(HYBRID_PLAIN)
    waitio_create_hybrid(&world, 1, 0);
#else
    waitio_create_universe(&world);
#endif
    return world;
}

static inline WAITIO_MPI_Comm open_world(void)
{
#ifdef HYBRID
    MPI_Init(NULL, NULL);
#endif
    return make_world();
}

static inline void close_world(WAITIO_MPI_Comm *world)
{
    WAITIO_MPI_Comm_free(world);
#ifdef HYBRID
    waitio_finalize();
    MPI_Finalize();
#endif
}
#endif

#endif
