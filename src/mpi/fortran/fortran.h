/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file fortran.h
 * External procedures for Fortran: lower case, one trailing underscore, every argument by address,
 * ierr last. Two sets of names for the published calls: plain, and with _f before the underscore.
 *
 * Communicators are exactly 4 bytes at the given address, whatever the caller declared there.
 * Requests are 22 default integers, statuses 4. A NULL ierr (an optional argument that is absent in
 * the caller's caller) means that the caller cannot get the code: an error then ends the program.
 */
#ifndef WIO_MPI_FORTRAN_H
#define WIO_MPI_FORTRAN_H

#include "mpi/mpi.h"

typedef int32_t fint;          /* default integer, default logical */
typedef WAITIO_MPI_Aint faint; /* integer(MPI_ADDRESS_KIND) */

/** Begin the definition of an exported procedure. */
#define WIO_FORTRAN(name, arguments)                                                               \
    __attribute__((visibility("default"))) void name arguments;                                    \
    void name arguments
/** Another name of a procedure of the same file. */
#define WIO_FORTRAN_ALSO(name, known, arguments)                                                   \
    extern __attribute__((visibility("default"), alias(#known))) void name arguments;

/** The program's result: default logicals are 1 for .true., which every compiler takes. */
static inline void wio_fortran_logical(fint *out, int value)
{
    *out = value != 0;
}

/** Last step of every procedure: store @p code in *ierr; without ierr an error ends the program. */
void wio_fortran_result(const char *call, int code, fint *ierr);
/** The communicator or group whose handle lies at @p address. */
int wio_fortran_comm(const char *call, const void *address, WAITIO_MPI_Comm *comm);
/** Write a handle for @p comm to @p address, 0 for none. */
int wio_fortran_put_comm(const char *call, WAITIO_MPI_Comm comm, void *address);
/** A buffer argument: replaces the addresses of the common blocks WAITIO_MPI_IN_PLACE and
 * WAITIO_MPI_BOTTOM by C's constants. */
void *wio_fortran_buffer(const void *buf);
/** Weights of edges: the same for WAITIO_MPI_UNWEIGHTED and WAITIO_MPI_WEIGHTS_EMPTY. */
fint *wio_fortran_weights(const fint *weights);
/** A status argument, NULL for WAITIO_MPI_STATUS_IGNORE and WAITIO_MPI_STATUSES_IGNORE. */
fint *wio_fortran_status(fint *status);

/** A C text into a character variable of @p room, blank-padded. */
void wio_fortran_put_text(char *out, size_t room, const char *text);

/** A procedure whose only handle is the communicator: body with `c` set and the result in `rc`. */
#define WIO_WITH_COMM(CALL, EXPRESSION)                                                            \
    do {                                                                                           \
        WAITIO_MPI_Comm c = NULL;                                                                  \
        int rc = wio_fortran_comm(CALL, comm, &c);                                                 \
        if (rc == 0)                                                                               \
            rc = (EXPRESSION);                                                                     \
        wio_fortran_result(CALL, rc, ierr);                                                        \
    } while (0)

#endif /* WIO_MPI_FORTRAN_H */
