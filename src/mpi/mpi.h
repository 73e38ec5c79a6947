/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file mpi.h
 * Inside of the conversion library: types, operators, error policy, communicator state.
 * Stands on the public interface of waitio.h; of the lower layers it uses only base/.
 */
#ifndef WIO_MPI_H
#define WIO_MPI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "waitio_mpi.h"

/* ---- types and operators (types.c, ops.c) ---- */

/** How the bytes of an element are interpreted by operators. */
enum wio_mpi_kind {
    WIO_KIND_I8,
    WIO_KIND_I16,
    WIO_KIND_I32,
    WIO_KIND_I64,
    WIO_KIND_U8,
    WIO_KIND_U16,
    WIO_KIND_U32,
    WIO_KIND_U64,
    WIO_KIND_F32,
    WIO_KIND_F64,
    WIO_KIND_C32,
    WIO_KIND_C64,
    WIO_KIND_BOOL,    /**< C _Bool */
    WIO_KIND_LOGICAL, /**< Fortran default logical */
    WIO_KIND_BYTE,    /**< uninterpreted: bitwise operators only */
    WIO_KIND_TEXT,    /**< characters of Fortran: no operators */
    WIO_KIND_COUNT
};

/** One row of the type table. */
struct wio_mpi_type {
    WAITIO_MPI_Datatype id;
    const char *name; /**< without the WAITIO_MPI_ prefix */
    uint8_t size;     /**< bytes of one element */
    uint8_t kind;     /**< enum wio_mpi_kind */
};

/** Row of @p id, or NULL with the thread's error text set (ARG). */
const struct wio_mpi_type *wio_mpi_type(WAITIO_MPI_Datatype id);
/** Row @p i of the table, NULL past the last. */
const struct wio_mpi_type *wio_mpi_type_row(int i);

/** out[i] = a[i] op b[i] for @p n elements; @p out may be @p a or @p b. */
typedef void (*wio_mpi_kernel)(const void *a, const void *b, void *out, size_t n);

/** Kernel of @p op on @p type. @return 0; ARG naming both when the pair is not defined */
int wio_mpi_find_kernel(WAITIO_MPI_Datatype type, WAITIO_MPI_Op op, wio_mpi_kernel *kernel);

/** count * size of type in size_t. @return 0; ARG for a negative count or an unknown type */
int wio_mpi_bytes(int count, WAITIO_MPI_Datatype type, size_t *bytes);

/* ---- errors (errors.c) ---- */

/** True when failing conversion calls return instead of ending the program (WAITIO_ERRORS=return).
 */
bool wio_mpi_errors_return(void);
/** Print what failed and end the program. Does not return. */
void wio_mpi_die(const char *call, int code);
/** Last line of every conversion call: 0 stays 0, an error ends the program or is returned. */
int wio_mpi_result(const char *call, int code);

/* ---- communicators (comm.c, context.c, handles.c, state.c) ---- */

/** Shape and collective message space of a communicator. */
struct wio_mpi_context {
    waitio_group_t group; /**< same members as the communicator, another message space */
    int rank, size;
    int tag; /**< of the collective that asked */
};

/** Context for the next collective on @p comm. Made on first use and kept with the communicator.
 *  @return 0; GROUP, RANK when the caller is no member, NOMEM */
int wio_mpi_context_get(WAITIO_MPI_Comm comm, struct wio_mpi_context *ctx);
/** Fortran handle of @p comm, made on first use, 0 for NULL. @return 0; LIMIT, NOMEM */
int wio_mpi_handle_new(WAITIO_MPI_Comm comm, int32_t *handle);
/** Communicator of a Fortran handle. @return 0; GROUP when the handle is null, stale or foreign */
int wio_mpi_handle_get(int32_t handle, WAITIO_MPI_Comm *comm);
/** Forget the handle of @p comm: it becomes stale. Nothing when there is none. */
void wio_mpi_handle_drop(WAITIO_MPI_Comm comm);

/** Forget every communicator: the universe has ended. */
void wio_mpi_state_reset(void);

/** WAITIO_MPI_Comm_free without the error policy. */
int wio_mpi_comm_free(WAITIO_MPI_Comm *comm);

/* ---- collectives (coll.c): as the public calls, but errors are always returned ---- */

/** Arguments of gather, gatherv, allgather, scatter, scatterv. */
struct wio_mpi_gather_args {
    const void *sbuf;
    int scount;
    WAITIO_MPI_Datatype stype;
    void *rbuf;
    int rcount;
    WAITIO_MPI_Datatype rtype;
    bool is_v;                  /**< counts and displs instead of the root's single count */
    const int *counts, *displs; /**< size entries at the root, else unused */
};

int wio_mpi_barrier(WAITIO_MPI_Comm comm);
int wio_mpi_bcast(void *buf, int count, WAITIO_MPI_Datatype type, int root, WAITIO_MPI_Comm comm);
int wio_mpi_reduce(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                   WAITIO_MPI_Op op, int root, WAITIO_MPI_Comm comm);
int wio_mpi_allreduce(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                      WAITIO_MPI_Op op, WAITIO_MPI_Comm comm);
int wio_mpi_gather(const struct wio_mpi_gather_args *a, int root, WAITIO_MPI_Comm comm);
int wio_mpi_scatter(const struct wio_mpi_gather_args *a, int root, WAITIO_MPI_Comm comm);
int wio_mpi_allgather(const struct wio_mpi_gather_args *a, WAITIO_MPI_Comm comm);

/* ---- statuses (p2p.c) ---- */

/** Write the short form of a status; @p out may be NULL. */
void wio_mpi_status_short(const waitio_status_t *st, int *out);

#endif /* WIO_MPI_H */
