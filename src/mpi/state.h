/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file state.h
 * What the conversion library remembers about the default universe: collective message spaces, the
 * Fortran handles, the world communicator. The one file-scope object of this layer (state.c), for
 * the same reason as the default universe of api/: these calls have no argument that could carry
 * it.
 */
#ifndef WIO_MPI_STATE_H
#define WIO_MPI_STATE_H

#include <pthread.h>

#include "mpi/mpi.h"

/** Collective message space of all communicators with one id and membership. */
struct wio_mpi_space {
    uint64_t space;       /**< of the communicators */
    waitio_group_t group; /**< same members, another message space */
};

/** A Fortran handle is generation << 16 | index; a freed slot keeps its generation. */
struct wio_mpi_slot {
    WAITIO_MPI_Comm comm; /**< NULL: free */
    uint16_t generation;  /**< 1 .. 32767 */
};

struct wio_mpi_state {
    pthread_mutex_t lock; /**< guards everything below */
    struct wio_mpi_space *space;
    size_t nspaces, cap_spaces;
    struct wio_mpi_slot *slot;
    size_t nslots;
    WAITIO_MPI_Comm world;
};

extern struct wio_mpi_state wio_mpi_state;

/** The universe as a communicator kept until finalize. */
int wio_mpi_world(WAITIO_MPI_Comm *comm);
bool wio_mpi_is_world(WAITIO_MPI_Comm comm);

#endif /* WIO_MPI_STATE_H */
