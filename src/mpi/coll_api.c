/* SPDX-License-Identifier: BSD-3-Clause */
/* Public collective calls: the published short forms, and MPI's forms. */
#include "mpi/mpi.h"

int waitio_mpi_barrier(WAITIO_MPI_Comm comm)
{
    return wio_mpi_result("waitio_mpi_barrier", wio_mpi_barrier(comm));
}

int waitio_mpi_bcast(void *buf, int count, WAITIO_MPI_Datatype type, int root, WAITIO_MPI_Comm comm)
{
    return wio_mpi_result("waitio_mpi_bcast", wio_mpi_bcast(buf, count, type, root, comm));
}

int waitio_mpi_reduce(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                      WAITIO_MPI_Op op, int root, WAITIO_MPI_Comm comm)
{
    return wio_mpi_result("waitio_mpi_reduce",
                          wio_mpi_reduce(sbuf, rbuf, count, type, op, root, comm));
}

int waitio_mpi_allreduce(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                         WAITIO_MPI_Op op, WAITIO_MPI_Comm comm)
{
    return wio_mpi_result("waitio_mpi_allreduce",
                          wio_mpi_allreduce(sbuf, rbuf, count, type, op, comm));
}

int waitio_mpi_gather(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type, int root,
                      WAITIO_MPI_Comm comm)
{
    struct wio_mpi_gather_args a = {
        .sbuf = sbuf, .scount = count, .stype = type, .rbuf = rbuf, .rcount = count, .rtype = type};

    return wio_mpi_result("waitio_mpi_gather", wio_mpi_gather(&a, root, comm));
}

int waitio_mpi_allgather(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                         WAITIO_MPI_Comm comm)
{
    struct wio_mpi_gather_args a = {
        .sbuf = sbuf, .scount = count, .stype = type, .rbuf = rbuf, .rcount = count, .rtype = type};

    return wio_mpi_result("waitio_mpi_allgather", wio_mpi_allgather(&a, comm));
}

int waitio_mpi_scatter(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                       int rcount, WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm)
{
    return WAITIO_MPI_Scatter(sbuf, scount, stype, rbuf, rcount, rtype, root, comm);
}

int waitio_mpi_scatterv(const void *sbuf, const int scounts[], const int displs[],
                        WAITIO_MPI_Datatype stype, void *rbuf, int rcount,
                        WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm)
{
    return WAITIO_MPI_Scatterv(sbuf, scounts, displs, stype, rbuf, rcount, rtype, root, comm);
}

int waitio_mpi_gatherv(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                       const int rcounts[], const int displs[], WAITIO_MPI_Datatype rtype, int root,
                       WAITIO_MPI_Comm comm)
{
    return WAITIO_MPI_Gatherv(sbuf, scount, stype, rbuf, rcounts, displs, rtype, root, comm);
}

int WAITIO_MPI_Barrier(WAITIO_MPI_Comm comm)
{
    return wio_mpi_result("WAITIO_MPI_Barrier", wio_mpi_barrier(comm));
}

int WAITIO_MPI_Bcast(void *buf, int count, WAITIO_MPI_Datatype type, int root, WAITIO_MPI_Comm comm)
{
    return wio_mpi_result("WAITIO_MPI_Bcast", wio_mpi_bcast(buf, count, type, root, comm));
}

int WAITIO_MPI_Reduce(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                      WAITIO_MPI_Op op, int root, WAITIO_MPI_Comm comm)
{
    return wio_mpi_result("WAITIO_MPI_Reduce",
                          wio_mpi_reduce(sbuf, rbuf, count, type, op, root, comm));
}

int WAITIO_MPI_Allreduce(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                         WAITIO_MPI_Op op, WAITIO_MPI_Comm comm)
{
    return wio_mpi_result("WAITIO_MPI_Allreduce",
                          wio_mpi_allreduce(sbuf, rbuf, count, type, op, comm));
}

int WAITIO_MPI_Gather(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                      int rcount, WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm)
{
    struct wio_mpi_gather_args a = {.sbuf = sbuf,
                                    .scount = scount,
                                    .stype = stype,
                                    .rbuf = rbuf,
                                    .rcount = rcount,
                                    .rtype = rtype};

    return wio_mpi_result("WAITIO_MPI_Gather", wio_mpi_gather(&a, root, comm));
}

int WAITIO_MPI_Gatherv(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                       const int rcounts[], const int displs[], WAITIO_MPI_Datatype rtype, int root,
                       WAITIO_MPI_Comm comm)
{
    struct wio_mpi_gather_args a = {.sbuf = sbuf,
                                    .scount = scount,
                                    .stype = stype,
                                    .rbuf = rbuf,
                                    .rtype = rtype,
                                    .is_v = true,
                                    .counts = rcounts,
                                    .displs = displs};

    return wio_mpi_result("WAITIO_MPI_Gatherv", wio_mpi_gather(&a, root, comm));
}

int WAITIO_MPI_Allgather(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                         int rcount, WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm)
{
    struct wio_mpi_gather_args a = {.sbuf = sbuf,
                                    .scount = scount,
                                    .stype = stype,
                                    .rbuf = rbuf,
                                    .rcount = rcount,
                                    .rtype = rtype};

    return wio_mpi_result("WAITIO_MPI_Allgather", wio_mpi_allgather(&a, comm));
}

int WAITIO_MPI_Scatter(const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
                       int rcount, WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm)
{
    struct wio_mpi_gather_args a = {.sbuf = sbuf,
                                    .scount = scount,
                                    .stype = stype,
                                    .rbuf = rbuf,
                                    .rcount = rcount,
                                    .rtype = rtype};

    return wio_mpi_result("WAITIO_MPI_Scatter", wio_mpi_scatter(&a, root, comm));
}

int WAITIO_MPI_Scatterv(const void *sbuf, const int scounts[], const int displs[],
                        WAITIO_MPI_Datatype stype, void *rbuf, int rcount,
                        WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm)
{
    struct wio_mpi_gather_args a = {.sbuf = sbuf,
                                    .stype = stype,
                                    .rbuf = rbuf,
                                    .rcount = rcount,
                                    .rtype = rtype,
                                    .is_v = true,
                                    .counts = scounts,
                                    .displs = displs};

    return wio_mpi_result("WAITIO_MPI_Scatterv", wio_mpi_scatter(&a, root, comm));
}
