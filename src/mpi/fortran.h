/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file fortran.h
 * External procedures for Fortran: lower case, one trailing underscore, every argument by address,
 * ierr last. Two sets of names: plain, and with _f before the underscore, same arguments.
 *
 * Communicators are exactly 4 bytes at the given address, whatever the caller declared there.
 * Requests are 22 default integers, statuses 4. A NULL ierr (an optional argument that is absent in
 * the caller's caller) means that nobody can look at the code: an error then ends the program.
 */
#ifndef WIO_MPI_FORTRAN_H
#define WIO_MPI_FORTRAN_H

#include "mpi/mpi.h"

typedef int32_t fint; /* default integer */

/** Begin the definition of an exported procedure. */
#define WIO_FORTRAN(name, arguments)                                                               \
    __attribute__((visibility("default"))) void name arguments;                                    \
    void name arguments

/** Last step of every procedure: hand @p code to *ierr; without ierr an error ends the program. */
void wio_fortran_result(const char *call, int code, fint *ierr);
/** The communicator whose handle lies at @p address. */
int wio_fortran_comm(const char *call, const void *address, WAITIO_MPI_Comm *comm);
/** Write a new handle for @p comm to @p address. */
int wio_fortran_put_comm(const char *call, WAITIO_MPI_Comm comm, void *address);

#endif /* WIO_MPI_FORTRAN_H */
