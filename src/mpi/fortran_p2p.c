/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran: sending, receiving and waiting. */
#include "mpi/fortran.h"

WIO_FORTRAN(waitio_mpi_isend_,
            (const void *buf, const fint *count, const fint *type, const fint *dest,
             const fint *tag, const void *comm, void *req, fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = wio_fortran_comm("WAITIO_MPI_ISEND", comm, &c);

    if (rc == 0)
        rc = waitio_mpi_isend(buf, *count, *type, *dest, *tag, c, req);
    wio_fortran_result("WAITIO_MPI_ISEND", rc, ierr);
}

WIO_FORTRAN(waitio_mpi_isend_f_,
            (const void *buf, const fint *count, const fint *type, const fint *dest,
             const fint *tag, const void *comm, void *req, fint *ierr))
{
    waitio_mpi_isend_(buf, count, type, dest, tag, comm, req, ierr);
}

WIO_FORTRAN(waitio_mpi_irecv_, (void *buf, const fint *count, const fint *type, const fint *source,
                                const fint *tag, const void *comm, void *req, fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = wio_fortran_comm("WAITIO_MPI_IRECV", comm, &c);

    if (rc == 0)
        rc = waitio_mpi_irecv(buf, *count, *type, *source, *tag, c, req);
    wio_fortran_result("WAITIO_MPI_IRECV", rc, ierr);
}

WIO_FORTRAN(waitio_mpi_irecv_f_,
            (void *buf, const fint *count, const fint *type, const fint *source, const fint *tag,
             const void *comm, void *req, fint *ierr))
{
    waitio_mpi_irecv_(buf, count, type, source, tag, comm, req, ierr);
}

/* MPI's own argument lists, as a renamed program writes them. */
WIO_FORTRAN(waitio_mpi_send_, (const void *buf, const fint *count, const fint *type,
                               const fint *dest, const fint *tag, const void *comm, fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = wio_fortran_comm("WAITIO_MPI_SEND", comm, &c);

    if (rc == 0)
        rc = waitio_mpi_send(buf, *count, *type, *dest, *tag, c);
    wio_fortran_result("WAITIO_MPI_SEND", rc, ierr);
}

WIO_FORTRAN(waitio_mpi_recv_, (void *buf, const fint *count, const fint *type, const fint *source,
                               const fint *tag, const void *comm, fint *status, fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = wio_fortran_comm("WAITIO_MPI_RECV", comm, &c);

    if (rc == 0)
        rc = waitio_mpi_recv_status(buf, *count, *type, *source, *tag, c, status);
    wio_fortran_result("WAITIO_MPI_RECV", rc, ierr);
}

WIO_FORTRAN(waitio_mpi_sendrecv_,
            (const void *sbuf, const fint *scount, const fint *stype, const fint *dest,
             const fint *stag, void *rbuf, const fint *rcount, const fint *rtype,
             const fint *source, const fint *rtag, const void *comm, fint *status, fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = wio_fortran_comm("WAITIO_MPI_SENDRECV", comm, &c);

    if (rc == 0)
        rc = waitio_mpi_sendrecv(sbuf, *scount, *stype, *dest, *stag, rbuf, *rcount, *rtype,
                                 *source, *rtag, c, status);
    wio_fortran_result("WAITIO_MPI_SENDRECV", rc, ierr);
}

/* ---- completion ---- */

WIO_FORTRAN(waitio_wait_, (void *req, fint *ierr))
{
    wio_fortran_result("WAITIO_WAIT", waitio_wait(req), ierr);
}

WIO_FORTRAN(waitio_wait_f_, (void *req, fint *ierr))
{
    waitio_wait_(req, ierr);
}

WIO_FORTRAN(waitio_mpi_wait_, (void *req, fint *status, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_WAIT", waitio_mpi_wait(req, status), ierr);
}

WIO_FORTRAN(waitio_mpi_test_, (void *req, fint *flag, fint *status, fint *ierr))
{
    waitio_status_t st = {0};
    int done = 0, rc = waitio_test(req, &done, &st);

    if (rc != 0 || done)
        wio_mpi_status_short(&st, status);
    *flag = done; /* a default logical: 1 is .true. for gfortran, and odd for the others */
    wio_fortran_result("WAITIO_MPI_TEST", wio_mpi_result("WAITIO_MPI_TEST", rc), ierr);
}

WIO_FORTRAN(waitio_mpi_waitall_, (const fint *count, void *reqs, fint *statuses, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_WAITALL", waitio_mpi_waitall(*count, reqs, statuses), ierr);
}

WIO_FORTRAN(waitio_mpi_waitall_f_, (const fint *count, void *reqs, fint *statuses, fint *ierr))
{
    waitio_mpi_waitall_(count, reqs, statuses, ierr);
}

WIO_FORTRAN(waitio_mpi_get_count_, (const fint *status, const fint *type, fint *count, fint *ierr))
{
    int size = 1, rc = waitio_mpi_type_size(*type, &size);

    /* The short status holds INT_MAX when the true number did not fit. */
    if (rc == 0)
        *count = status[3] == INT32_MAX || status[3] % size != 0 ? WAITIO_MPI_UNDEFINED
                                                                 : status[3] / size;
    wio_fortran_result("WAITIO_MPI_GET_COUNT", rc, ierr);
}
