/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran: external procedures for programs without a module, and what module waitio_hybrid calls.
 */
#include <stdio.h>

#include "hybrid/hybrid.h"
#include "waitio_hybrid.h"

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

void waitio_hybrid_create_(const MPI_Fint *block, const MPI_Fint *key, MPI_Fint *comm,
                           MPI_Fint *ierr);
void waitio_hybrid_create_world_(MPI_Fint *comm, MPI_Fint *ierr);
void waitio_hybrid_cfi_create(const MPI_Fint *block, const MPI_Fint *key, WAITIO_MPI_Comm *comm,
                              MPI_Fint *ierr);
void waitio_hybrid_cfi_create_world(WAITIO_MPI_Comm *comm, MPI_Fint *ierr);

/* Hand over the code; a program that does not look at it ends, as in all Fortran faces. */
static void result(const char *call, int code, MPI_Fint *ierr)
{
    const char *why;

    if (ierr != NULL)
        *ierr = code;
    if (ierr != NULL || code >= 0)
        return;
    why = waitio_last_error();
    if (!waitio_last_error_shown())
        (void)fprintf(stderr, "waitio: %s failed (%d): %s\n", call, code,
                      why != NULL && why[0] != '\0' ? why : waitio_strerror(code));
    (void)fprintf(stderr,
                  "waitio: ending the program after the error of %s; pass ierr to handle errors\n",
                  call);
    (void)fflush(NULL);
    waitio_abort(1);
}

/* Handles of another MPI, or of none that runs, are not touched: waitio_hybrid_create() says why.
 */
static int create(const MPI_Fint *block, const MPI_Fint *key, WAITIO_MPI_Comm *comm)
{
    struct wio_hybrid_why nobody = {NULL, 0};
    MPI_Comm from = MPI_COMM_NULL;

    if (wio_hybrid_ready(&nobody) == 0)
        from = PMPI_Comm_f2c(*block);
    return waitio_hybrid_create(from, (int)*key, comm);
}

/* A number for the communicator. */
static int number_of(const char *call, int rc, WAITIO_MPI_Comm c, MPI_Fint *comm)
{
    *comm = 0;
    if (rc != 0 || c == WAITIO_MPI_COMM_NULL)
        return rc;
    *comm = WAITIO_MPI_Comm_c2f(c);
    if (*comm != 0)
        return 0;
    (void)WAITIO_MPI_Comm_free(&c);
    return waitio_inside_error(call, WAITIO_ERR_NOMEM, "no number is left for a communicator");
}

void waitio_hybrid_create_(const MPI_Fint *block, const MPI_Fint *key, MPI_Fint *comm,
                           MPI_Fint *ierr)
{
    static const char call[] = "WAITIO_HYBRID_CREATE";
    WAITIO_MPI_Comm c = WAITIO_MPI_COMM_NULL;
    int rc = create(block, key, &c);

    result(call, number_of(call, rc, c, comm), ierr);
}

void waitio_hybrid_create_world_(MPI_Fint *comm, MPI_Fint *ierr)
{
    static const char call[] = "WAITIO_HYBRID_CREATE_WORLD";
    WAITIO_MPI_Comm c = WAITIO_MPI_COMM_NULL;
    int rc = waitio_hybrid_create_world(&c);

    result(call, number_of(call, rc, c, comm), ierr);
}

/* For module waitio, whose communicators are C's. */
void waitio_hybrid_cfi_create(const MPI_Fint *block, const MPI_Fint *key, WAITIO_MPI_Comm *comm,
                              MPI_Fint *ierr)
{
    result("waitio_hybrid_create", create(block, key, comm), ierr);
}

void waitio_hybrid_cfi_create_world(WAITIO_MPI_Comm *comm, MPI_Fint *ierr)
{
    result("waitio_hybrid_create_world", waitio_hybrid_create_world(comm), ierr);
}
