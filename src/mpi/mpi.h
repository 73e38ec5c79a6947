/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file mpi.h
 * Inside of the conversion library: error policy, Fortran handles, statuses, collective calls.
 */
#ifndef WIO_MPI_H
#define WIO_MPI_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "mpi/datatype/type.h"
#include "mpi/op/op.h"
#include "waitio_mpi.h"

/* ---- errors (errors.c) ---- */

/** True when failing conversion calls return instead of ending the program (WAITIO_ERRORS=return).
 */
bool wio_mpi_errors_return(void);
/** True when they end the program: they are not returned, and the program has no error handler of
 * its own. */
bool wio_mpi_errors_end(void);
/** Print what failed and end the program. Does not return. */
void wio_mpi_die(const char *call, int code);
/** An error handler of the program, in one of the languages; the other is NULL.
 *  @return 0; NOMEM, LIMIT */
int wio_errhandler_new(WAITIO_MPI_Comm_errhandler_function *c,
                       void (*fortran)(int32_t *comm, int32_t *code), int *handler);
/** Last line of every conversion call: 0 stays 0, an error ends the program or is returned. */
int wio_mpi_result(const char *call, int code);
/** The greatest error code in use: LASTCODE, or what the program has added (error_codes.c). */
int wio_mpi_last_used_code(void);
/** An argument that must not be NULL. @return 0; ARG naming it */
int wio_mpi_need(const char *what, const void *argument);
/** Two of them. */
int wio_mpi_need_both(const char *what, const void *argument, const char *also, const void *other);
/** A status that is asked must not be WAITIO_MPI_STATUS_IGNORE. @return 0; ARG */
int wio_mpi_need_status(const WAITIO_MPI_Status *status);

/* ---- communicators (comm/) ---- */

/** Fortran handle of @p comm, made on first use, 0 for NULL. @return 0; LIMIT, NOMEM */
int wio_mpi_handle_new(WAITIO_MPI_Comm comm, int32_t *handle);
/** Communicator of a Fortran handle. @return 0; GROUP when the handle is null, stale or foreign */
int wio_mpi_handle_get(int32_t handle, WAITIO_MPI_Comm *comm);
/** Free the handle of @p comm: it becomes stale. Does nothing when there is none. */
void wio_mpi_handle_drop(WAITIO_MPI_Comm comm);

/** Before the universe ends: finish what goes on, call the delete functions of COMM_SELF. */
void wio_mpi_ending(void);
/** The same for waitio_rejoin(), which waits for no peer here. */
void wio_mpi_moving(void);
/** What WAITIO_MPI_Finalized says. */
void wio_mpi_finalized(bool is);
/** Free all communicators: the universe has ended. */
void wio_mpi_state_reset(void);

/** WAITIO_MPI_Comm_free without the error policy. */
int wio_mpi_comm_free(WAITIO_MPI_Comm *comm);

/* ---- statuses (p2p.c) and counts (datatype/api.c) ---- */

/** Write the short form of a status; @p out may be NULL. */
void wio_mpi_status_short(const waitio_status_t *st, int *out);
/** Whole elements, or basic elements, in @p bytes; WAITIO_MPI_UNDEFINED when there is no number. */
int64_t wio_mpi_count_of(size_t bytes, const struct wio_mpi_type *t);
int64_t wio_mpi_elements_of(size_t bytes, const struct wio_mpi_type *t);

#endif /* WIO_MPI_H */
