/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran: collectives, in the argument order of the short C forms. */
#include "mpi/fortran.h"

WIO_FORTRAN(waitio_mpi_barrier_, (const void *comm, fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = wio_fortran_comm("WAITIO_MPI_BARRIER", comm, &c);

    if (rc == 0)
        rc = waitio_mpi_barrier(c);
    wio_fortran_result("WAITIO_MPI_BARRIER", rc, ierr);
}

WIO_FORTRAN(waitio_mpi_barrier_f_, (const void *comm, fint *ierr))
{
    waitio_mpi_barrier_(comm, ierr);
}

WIO_FORTRAN(waitio_barrier_f_, (const void *comm, fint *ierr))
{
    waitio_mpi_barrier_(comm, ierr);
}

WIO_FORTRAN(waitio_mpi_bcast_, (void *buf, const fint *count, const fint *type, const fint *root,
                                const void *comm, fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = wio_fortran_comm("WAITIO_MPI_BCAST", comm, &c);

    if (rc == 0)
        rc = waitio_mpi_bcast(buf, *count, *type, *root, c);
    wio_fortran_result("WAITIO_MPI_BCAST", rc, ierr);
}

WIO_FORTRAN(waitio_mpi_bcast_f_, (void *buf, const fint *count, const fint *type, const fint *root,
                                  const void *comm, fint *ierr))
{
    waitio_mpi_bcast_(buf, count, type, root, comm, ierr);
}

WIO_FORTRAN(waitio_mpi_reduce_, (const void *sbuf, void *rbuf, const fint *count, const fint *type,
                                 const fint *op, const fint *root, const void *comm, fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = wio_fortran_comm("WAITIO_MPI_REDUCE", comm, &c);

    if (rc == 0)
        rc = waitio_mpi_reduce(sbuf, rbuf, *count, *type, *op, *root, c);
    wio_fortran_result("WAITIO_MPI_REDUCE", rc, ierr);
}

WIO_FORTRAN(waitio_mpi_reduce_f_,
            (const void *sbuf, void *rbuf, const fint *count, const fint *type, const fint *op,
             const fint *root, const void *comm, fint *ierr))
{
    waitio_mpi_reduce_(sbuf, rbuf, count, type, op, root, comm, ierr);
}

WIO_FORTRAN(waitio_mpi_allreduce_, (const void *sbuf, void *rbuf, const fint *count,
                                    const fint *type, const fint *op, const void *comm, fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = wio_fortran_comm("WAITIO_MPI_ALLREDUCE", comm, &c);

    if (rc == 0)
        rc = waitio_mpi_allreduce(sbuf, rbuf, *count, *type, *op, c);
    wio_fortran_result("WAITIO_MPI_ALLREDUCE", rc, ierr);
}

WIO_FORTRAN(waitio_mpi_allreduce_f_,
            (const void *sbuf, void *rbuf, const fint *count, const fint *type, const fint *op,
             const void *comm, fint *ierr))
{
    waitio_mpi_allreduce_(sbuf, rbuf, count, type, op, comm, ierr);
}

WIO_FORTRAN(waitio_mpi_gather_, (const void *sbuf, void *rbuf, const fint *count, const fint *type,
                                 const fint *root, const void *comm, fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = wio_fortran_comm("WAITIO_MPI_GATHER", comm, &c);

    if (rc == 0)
        rc = waitio_mpi_gather(sbuf, rbuf, *count, *type, *root, c);
    wio_fortran_result("WAITIO_MPI_GATHER", rc, ierr);
}

WIO_FORTRAN(waitio_mpi_gather_f_,
            (const void *sbuf, void *rbuf, const fint *count, const fint *type, const fint *root,
             const void *comm, fint *ierr))
{
    waitio_mpi_gather_(sbuf, rbuf, count, type, root, comm, ierr);
}

WIO_FORTRAN(waitio_mpi_allgather_, (const void *sbuf, void *rbuf, const fint *count,
                                    const fint *type, const void *comm, fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = wio_fortran_comm("WAITIO_MPI_ALLGATHER", comm, &c);

    if (rc == 0)
        rc = waitio_mpi_allgather(sbuf, rbuf, *count, *type, c);
    wio_fortran_result("WAITIO_MPI_ALLGATHER", rc, ierr);
}

WIO_FORTRAN(waitio_mpi_allgather_f_, (const void *sbuf, void *rbuf, const fint *count,
                                      const fint *type, const void *comm, fint *ierr))
{
    waitio_mpi_allgather_(sbuf, rbuf, count, type, comm, ierr);
}

WIO_FORTRAN(waitio_mpi_scatter_,
            (const void *sbuf, const fint *scount, const fint *stype, void *rbuf,
             const fint *rcount, const fint *rtype, const fint *root, const void *comm, fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = wio_fortran_comm("WAITIO_MPI_SCATTER", comm, &c);

    if (rc == 0)
        rc = waitio_mpi_scatter(sbuf, *scount, *stype, rbuf, *rcount, *rtype, *root, c);
    wio_fortran_result("WAITIO_MPI_SCATTER", rc, ierr);
}

WIO_FORTRAN(waitio_mpi_scatter_f_,
            (const void *sbuf, const fint *scount, const fint *stype, void *rbuf,
             const fint *rcount, const fint *rtype, const fint *root, const void *comm, fint *ierr))
{
    waitio_mpi_scatter_(sbuf, scount, stype, rbuf, rcount, rtype, root, comm, ierr);
}

WIO_FORTRAN(waitio_mpi_scatterv_,
            (const void *sbuf, const fint *scounts, const fint *displs, const fint *stype,
             void *rbuf, const fint *rcount, const fint *rtype, const fint *root, const void *comm,
             fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = wio_fortran_comm("WAITIO_MPI_SCATTERV", comm, &c);

    if (rc == 0)
        rc = waitio_mpi_scatterv(sbuf, scounts, displs, *stype, rbuf, *rcount, *rtype, *root, c);
    wio_fortran_result("WAITIO_MPI_SCATTERV", rc, ierr);
}

WIO_FORTRAN(waitio_mpi_scatterv_f_,
            (const void *sbuf, const fint *scounts, const fint *displs, const fint *stype,
             void *rbuf, const fint *rcount, const fint *rtype, const fint *root, const void *comm,
             fint *ierr))
{
    waitio_mpi_scatterv_(sbuf, scounts, displs, stype, rbuf, rcount, rtype, root, comm, ierr);
}

WIO_FORTRAN(waitio_mpi_gatherv_,
            (const void *sbuf, const fint *scount, const fint *stype, void *rbuf,
             const fint *rcounts, const fint *displs, const fint *rtype, const fint *root,
             const void *comm, fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = wio_fortran_comm("WAITIO_MPI_GATHERV", comm, &c);

    if (rc == 0)
        rc = waitio_mpi_gatherv(sbuf, *scount, *stype, rbuf, rcounts, displs, *rtype, *root, c);
    wio_fortran_result("WAITIO_MPI_GATHERV", rc, ierr);
}

WIO_FORTRAN(waitio_mpi_gatherv_f_,
            (const void *sbuf, const fint *scount, const fint *stype, void *rbuf,
             const fint *rcounts, const fint *displs, const fint *rtype, const fint *root,
             const void *comm, fint *ierr))
{
    waitio_mpi_gatherv_(sbuf, scount, stype, rbuf, rcounts, displs, rtype, root, comm, ierr);
}
