/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file state.h
 * State of the conversion library for the default universe: Fortran handles, counts, the
 * communicators it owns. A file-scope object of this layer (state.c), for the same reason as the
 * default universe of api/: these calls have no argument that could hold it.
 */
#ifndef WIO_MPI_STATE_H
#define WIO_MPI_STATE_H

#include <pthread.h>

#include "mpi/mpi.h"

/** A count for each key (see wio_count_next). */
struct wio_mpi_count {
    uint64_t key; /**< 0: free entry */
    uint32_t next;
};

/** A Fortran handle is generation << 16 | index; a freed slot keeps its generation. */
struct wio_mpi_slot {
    WAITIO_MPI_Comm comm; /**< NULL: free */
    uint16_t generation;  /**< 1 .. 32767 */
};

/** Communicators that exist without being made. */
enum wio_mpi_constant { WIO_WORLD, WIO_SELF, WIO_EMPTY, WIO_CONSTANTS };

struct wio_mpi_state {
    pthread_mutex_t lock;        /**< guards everything below */
    struct wio_mpi_count *count; /**< open addressing, a power of two entries */
    size_t ncounts, cap_counts;
    struct wio_mpi_slot *slot;
    size_t nslots;
    WAITIO_MPI_Comm constant[WIO_CONSTANTS]; /**< changed atomically: read without the lock */
    int formats; /**< are all machines alike? see all_alike() in context.c; changed atomically */
};

extern struct wio_mpi_state wio_mpi_state;

/** A communicator kept until finalize. */
int wio_mpi_constant(enum wio_mpi_constant which, WAITIO_MPI_Comm *comm);
/** Which one it is, -1: none. */
int wio_mpi_which_constant(WAITIO_MPI_Comm comm);

#endif /* WIO_MPI_STATE_H */
