/* SPDX-License-Identifier: BSD-3-Clause */
/* Public collective calls: MPI's blocking and non-blocking forms, and the published short forms. */
#include "mpi/coll.h"

static int now(const char *name, struct wio_call call, WAITIO_MPI_Comm comm)
{
    return wio_mpi_result(name, wio_coll_call(&call, comm, NULL));
}

static int started(const char *name, struct wio_call call, WAITIO_MPI_Comm comm,
                   WAITIO_MPI_Request *req)
{
    int rc = req == NULL ? wio_fail(WAITIO_ERR_ARG, "the request argument is NULL")
                         : wio_coll_call(&call, comm, req);

    return wio_mpi_result(name, rc);
}

static int prepared(const char *name, struct wio_call call, WAITIO_MPI_Comm comm,
                    WAITIO_MPI_Request *req)
{
    int rc = wio_mpi_need("request", req);

    return wio_mpi_result(name, rc != 0 ? rc : wio_coll_init(&call, comm, req));
}

/* Define WAITIO_MPI_<NAME>, its non-blocking and its persistent form. PARAMETERS in parentheses,
 * without the request; the rest initialises the call. */
#define COLLECTIVE(NAME, INAME, PARAMETERS, ...)                                                   \
    int WAITIO_MPI_##NAME PARAMETERS                                                               \
    {                                                                                              \
        return now("WAITIO_MPI_" #NAME, (struct wio_call){__VA_ARGS__}, comm);                     \
    }                                                                                              \
    int WAITIO_MPI_##INAME AND_REQUEST PARAMETERS                                                  \
    {                                                                                              \
        return started("WAITIO_MPI_" #INAME, (struct wio_call){__VA_ARGS__}, comm, req);           \
    }                                                                                              \
    int WAITIO_MPI_##NAME##_init AND_INFO PARAMETERS                                               \
    {                                                                                              \
        (void)info;                                                                                \
        return prepared("WAITIO_MPI_" #NAME "_init", (struct wio_call){__VA_ARGS__}, comm, req);   \
    }
#define AND_REQUEST(...) (__VA_ARGS__, WAITIO_MPI_Request * req)
#define AND_INFO(...) (__VA_ARGS__, WAITIO_MPI_Info info, WAITIO_MPI_Request * req)

/* Sides of a call: one block for (or from) all members, blocks of one type, blocks of any types. */
#define ONE(BUF, COUNT, TYPE)                                                                      \
    {                                                                                              \
        .buf = (BUF), .count = (COUNT), .type = (TYPE)                                             \
    }
#define MANY(BUF, TYPE, COUNTS, DISPLS)                                                            \
    {                                                                                              \
        .buf = (BUF), .type = (TYPE), .counts = (COUNTS), .displs = (DISPLS)                       \
    }
#define TYPED(BUF, TYPES, COUNTS, DISPLS)                                                          \
    {                                                                                              \
        .buf = (BUF), .types = (TYPES), .counts = (COUNTS), .displs = (DISPLS)                     \
    }

COLLECTIVE(Barrier, Ibarrier, (WAITIO_MPI_Comm comm), .kind = WIO_BARRIER)

COLLECTIVE(Bcast, Ibcast,
           (void *buf, int count, WAITIO_MPI_Datatype type, int root, WAITIO_MPI_Comm comm),
           .kind = WIO_BCAST, .recv = ONE(buf, count, type), .root = root)

COLLECTIVE(Reduce, Ireduce,
           (const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type, WAITIO_MPI_Op op,
            int root, WAITIO_MPI_Comm comm),
           .kind = WIO_REDUCE, .send = {.buf = sbuf}, .recv = ONE(rbuf, count, type), .op = op,
           .root = root)

COLLECTIVE(Allreduce, Iallreduce,
           (const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type, WAITIO_MPI_Op op,
            WAITIO_MPI_Comm comm),
           .kind = WIO_ALLREDUCE, .send = {.buf = sbuf}, .recv = ONE(rbuf, count, type), .op = op)

COLLECTIVE(Reduce_scatter, Ireduce_scatter,
           (const void *sbuf, void *rbuf, const int rcounts[], WAITIO_MPI_Datatype type,
            WAITIO_MPI_Op op, WAITIO_MPI_Comm comm),
           .kind = WIO_REDUCE_SCATTER, .send = {.buf = sbuf},
           .recv = {.buf = rbuf, .type = type, .counts = rcounts}, .listed = true, .op = op)

COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block,
           (const void *sbuf, void *rbuf, int rcount, WAITIO_MPI_Datatype type, WAITIO_MPI_Op op,
            WAITIO_MPI_Comm comm),
           .kind = WIO_REDUCE_SCATTER, .send = {.buf = sbuf}, .recv = ONE(rbuf, rcount, type),
           .op = op)

COLLECTIVE(Scan, Iscan,
           (const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type, WAITIO_MPI_Op op,
            WAITIO_MPI_Comm comm),
           .kind = WIO_SCAN, .send = {.buf = sbuf}, .recv = ONE(rbuf, count, type), .op = op)

COLLECTIVE(Exscan, Iexscan,
           (const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type, WAITIO_MPI_Op op,
            WAITIO_MPI_Comm comm),
           .kind = WIO_EXSCAN, .send = {.buf = sbuf}, .recv = ONE(rbuf, count, type), .op = op)

COLLECTIVE(Gather, Igather,
           (const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf, int rcount,
            WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm),
           .kind = WIO_GATHER, .send = ONE(sbuf, scount, stype), .recv = ONE(rbuf, rcount, rtype),
           .root = root)

COLLECTIVE(Gatherv, Igatherv,
           (const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
            const int rcounts[], const int displs[], WAITIO_MPI_Datatype rtype, int root,
            WAITIO_MPI_Comm comm),
           .kind = WIO_GATHER, .v = true, .send = ONE(sbuf, scount, stype),
           .recv = MANY(rbuf, rtype, rcounts, displs), .root = root)

COLLECTIVE(Scatter, Iscatter,
           (const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf, int rcount,
            WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm),
           .kind = WIO_SCATTER, .send = ONE(sbuf, scount, stype), .recv = ONE(rbuf, rcount, rtype),
           .root = root)

COLLECTIVE(Scatterv, Iscatterv,
           (const void *sbuf, const int scounts[], const int displs[], WAITIO_MPI_Datatype stype,
            void *rbuf, int rcount, WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm),
           .kind = WIO_SCATTER, .v = true, .send = MANY(sbuf, stype, scounts, displs),
           .recv = ONE(rbuf, rcount, rtype), .root = root)

COLLECTIVE(Allgather, Iallgather,
           (const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf, int rcount,
            WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm),
           .kind = WIO_ALLGATHER, .send = ONE(sbuf, scount, stype),
           .recv = ONE(rbuf, rcount, rtype))

COLLECTIVE(Allgatherv, Iallgatherv,
           (const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
            const int rcounts[], const int displs[], WAITIO_MPI_Datatype rtype,
            WAITIO_MPI_Comm comm),
           .kind = WIO_ALLGATHER, .v = true, .send = ONE(sbuf, scount, stype),
           .recv = MANY(rbuf, rtype, rcounts, displs))

COLLECTIVE(Alltoall, Ialltoall,
           (const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf, int rcount,
            WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm),
           .kind = WIO_ALLTOALL, .send = ONE(sbuf, scount, stype), .recv = ONE(rbuf, rcount, rtype))

COLLECTIVE(Alltoallv, Ialltoallv,
           (const void *sbuf, const int scounts[], const int sdispls[], WAITIO_MPI_Datatype stype,
            void *rbuf, const int rcounts[], const int rdispls[], WAITIO_MPI_Datatype rtype,
            WAITIO_MPI_Comm comm),
           .kind = WIO_ALLTOALL, .v = true, .send = MANY(sbuf, stype, scounts, sdispls),
           .recv = MANY(rbuf, rtype, rcounts, rdispls))

COLLECTIVE(Alltoallw, Ialltoallw,
           (const void *sbuf, const int scounts[], const int sdispls[],
            const WAITIO_MPI_Datatype stypes[], void *rbuf, const int rcounts[],
            const int rdispls[], const WAITIO_MPI_Datatype rtypes[], WAITIO_MPI_Comm comm),
           .kind = WIO_ALLTOALL, .v = true, .send = TYPED(sbuf, stypes, scounts, sdispls),
           .recv = TYPED(rbuf, rtypes, rcounts, rdispls))

/* ---- neighbourhoods ---- */

COLLECTIVE(Neighbor_allgather, Ineighbor_allgather,
           (const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf, int rcount,
            WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm),
           .kind = WIO_NEIGHBOR_ALLGATHER, .send = ONE(sbuf, scount, stype),
           .recv = ONE(rbuf, rcount, rtype))

COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv,
           (const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf,
            const int rcounts[], const int displs[], WAITIO_MPI_Datatype rtype,
            WAITIO_MPI_Comm comm),
           .kind = WIO_NEIGHBOR_ALLGATHER, .v = true, .send = ONE(sbuf, scount, stype),
           .recv = MANY(rbuf, rtype, rcounts, displs))

COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall,
           (const void *sbuf, int scount, WAITIO_MPI_Datatype stype, void *rbuf, int rcount,
            WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm),
           .kind = WIO_NEIGHBOR_ALLTOALL, .send = ONE(sbuf, scount, stype),
           .recv = ONE(rbuf, rcount, rtype))

COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv,
           (const void *sbuf, const int scounts[], const int sdispls[], WAITIO_MPI_Datatype stype,
            void *rbuf, const int rcounts[], const int rdispls[], WAITIO_MPI_Datatype rtype,
            WAITIO_MPI_Comm comm),
           .kind = WIO_NEIGHBOR_ALLTOALL, .v = true, .send = MANY(sbuf, stype, scounts, sdispls),
           .recv = MANY(rbuf, rtype, rcounts, rdispls))

COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw,
           (const void *sbuf, const int scounts[], const WAITIO_MPI_Aint sdispls[],
            const WAITIO_MPI_Datatype stypes[], void *rbuf, const int rcounts[],
            const WAITIO_MPI_Aint rdispls[], const WAITIO_MPI_Datatype rtypes[],
            WAITIO_MPI_Comm comm),
           .kind = WIO_NEIGHBOR_ALLTOALL, .v = true,
           .send = {.buf = sbuf, .types = stypes, .counts = scounts, .places = sdispls},
           .recv = {.buf = rbuf, .types = rtypes, .counts = rcounts, .places = rdispls})

/* ---- published short forms: the same calls, two of them with one count and type ---- */

int waitio_mpi_barrier(WAITIO_MPI_Comm comm)
{
    return now("waitio_mpi_barrier", (struct wio_call){.kind = WIO_BARRIER}, comm);
}

int waitio_mpi_bcast(void *buf, int count, WAITIO_MPI_Datatype type, int root, WAITIO_MPI_Comm comm)
{
    struct wio_call call = {.kind = WIO_BCAST, .recv = ONE(buf, count, type), .root = root};

    return now("waitio_mpi_bcast", call, comm);
}

int waitio_mpi_reduce(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                      WAITIO_MPI_Op op, int root, WAITIO_MPI_Comm comm)
{
    struct wio_call call = {.kind = WIO_REDUCE,
                            .send = {.buf = sbuf},
                            .recv = ONE(rbuf, count, type),
                            .op = op,
                            .root = root};

    return now("waitio_mpi_reduce", call, comm);
}

int waitio_mpi_allreduce(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                         WAITIO_MPI_Op op, WAITIO_MPI_Comm comm)
{
    struct wio_call call = {
        .kind = WIO_ALLREDUCE, .send = {.buf = sbuf}, .recv = ONE(rbuf, count, type), .op = op};

    return now("waitio_mpi_allreduce", call, comm);
}

int waitio_mpi_gather(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type, int root,
                      WAITIO_MPI_Comm comm)
{
    struct wio_call call = {.kind = WIO_GATHER,
                            .send = ONE(sbuf, count, type),
                            .recv = ONE(rbuf, count, type),
                            .root = root};

    return now("waitio_mpi_gather", call, comm);
}

int waitio_mpi_allgather(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                         WAITIO_MPI_Comm comm)
{
    struct wio_call call = {
        .kind = WIO_ALLGATHER, .send = ONE(sbuf, count, type), .recv = ONE(rbuf, count, type)};

    return now("waitio_mpi_allgather", call, comm);
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
