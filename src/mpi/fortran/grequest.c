/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran: generalized requests, and what their functions put into a status. */
#include "mpi/grequest.h"

#include <limits.h>

#include "mpi/fortran/fortran.h"
#include "mpi/request.h"

#define FUNCTIONS                                                                                  \
    wio_grequest_fn *query, wio_grequest_fn *gone, wio_grequest_fn *cancel, intptr_t *extra,       \
        void *req, fint *ierr

/* The functions get the program's variable itself, as with MPI's implementations: they may change
 * it. */
static void start(enum wio_grequest_language language, FUNCTIONS)
{
    static const char call[] = "WAITIO_MPI_GREQUEST_START";
    struct wio_grequest g = {.language = language,
                             .query = query,
                             .gone = gone,
                             .cancel = cancel,
                             .extra = (intptr_t)extra};

    wio_fortran_result(call, wio_mpi_result(call, wio_grequest_start(&g, req)), ierr);
}

WIO_FORTRAN(waitio_mpi_grequest_start_, (FUNCTIONS))
{
    start(WIO_GREQUEST_FORTRAN, query, gone, cancel, extra, req, ierr);
}

/* For module `waitio`. */
WIO_FORTRAN(waitio_grequest_start_typed_, (FUNCTIONS))
{
    start(WIO_GREQUEST_TYPED, query, gone, cancel, extra, req, ierr);
}

WIO_FORTRAN(waitio_mpi_grequest_complete_, (const void *req, fint *ierr))
{
    static const char call[] = "WAITIO_MPI_GREQUEST_COMPLETE";

    wio_fortran_result(call, wio_mpi_result(call, wio_request_user_end(req)), ierr);
}

/* A short status holds no more than an int. */
static void set_elements(const char *call, fint *status, fint type, int64_t count, fint *ierr)
{
    WAITIO_MPI_Status st = {0};
    fint *out = wio_fortran_status(status);
    int rc = WAITIO_MPI_Status_set_elements_x(out == NULL ? NULL : &st, type, count);

    if (rc == 0)
        out[3] = st.waitio_bytes > INT_MAX ? INT_MAX : (fint)st.waitio_bytes;
    wio_fortran_result(call, rc, ierr);
}

WIO_FORTRAN(waitio_mpi_status_set_elements_,
            (fint * status, const fint *type, const fint *count, fint *ierr))
{
    set_elements("WAITIO_MPI_STATUS_SET_ELEMENTS", status, *type, *count, ierr);
}

WIO_FORTRAN(waitio_mpi_status_set_elements_x_,
            (fint * status, const fint *type, const WAITIO_MPI_Count *count, fint *ierr))
{
    set_elements("WAITIO_MPI_STATUS_SET_ELEMENTS_X", status, *type, *count, ierr);
}

WIO_FORTRAN(waitio_mpi_status_set_cancelled_, (fint * status, const fint *flag, fint *ierr))
{
    WAITIO_MPI_Status st = {0};
    fint *out = wio_fortran_status(status);
    int rc = WAITIO_MPI_Status_set_cancelled(out == NULL ? NULL : &st, *flag);

    if (rc == 0)
        out[2] = st.waitio_cancelled ? WAITIO_ERR_CANCELLED : 0;
    wio_fortran_result("WAITIO_MPI_STATUS_SET_CANCELLED", rc, ierr);
}
