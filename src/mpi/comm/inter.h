/* SPDX-License-Identifier: BSD-3-Clause */
/** @file inter.h  Intercommunicators (inter.c), without the error policy. */
#ifndef WIO_MPI_INTER_H
#define WIO_MPI_INTER_H

#include "mpi/comm.h"
#include "mpi/mpi.h"

/** State of an intercommunicator beside its handle, whose members are the far ones. */
struct wio_inter {
    WAITIO_MPI_Comm both;    /**< a communicator of both groups; freed with it */
    int first, size;         /**< my group's place in it */
    int far_first, far_size; /**< the far group's */
};

/** NULL for an intracommunicator. @p comm is NULL or valid */
const struct wio_inter *wio_inter_of(WAITIO_MPI_Comm comm);
/** wio_comm_get() for calls that intercommunicators do not have. @return COMM for those */
int wio_comm_get_intra(WAITIO_MPI_Comm comm, struct wio_comm **c);

/* What Comm_dup, Comm_split, Comm_create and Comm_group do for intercommunicators. */
int wio_inter_dup(WAITIO_MPI_Comm comm, WAITIO_MPI_Comm *out);
int wio_inter_split(WAITIO_MPI_Comm comm, int color, int key, WAITIO_MPI_Comm *out);
int wio_inter_create(WAITIO_MPI_Comm comm, WAITIO_MPI_Group group, WAITIO_MPI_Comm *out);
int wio_inter_group(const struct wio_inter *i, bool far, WAITIO_MPI_Group *out);

#endif /* WIO_MPI_INTER_H */
