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

/* Define a call, its non-blocking and its persistent form. PARAMETERS in parentheses, without the
 * request; the rest initialises the call. CALL and TEXT: with ints, or with wide counts. */
#define COLLECTIVE(NAME, INAME, PARAMETERS, ...)                                                   \
    int CALL(NAME) PARAMETERS                                                                      \
    {                                                                                              \
        return now(TEXT(NAME), (struct wio_call){__VA_ARGS__}, comm);                              \
    }                                                                                              \
    int CALL(INAME)                                                                                \
    AND_REQUEST PARAMETERS                                                                         \
    {                                                                                              \
        return started(TEXT(INAME), (struct wio_call){__VA_ARGS__}, comm, req);                    \
    }                                                                                              \
    int CALL(NAME##_init) AND_INFO PARAMETERS                                                      \
    {                                                                                              \
        (void)info;                                                                                \
        return prepared(TEXT(NAME##_init), (struct wio_call){__VA_ARGS__}, comm, req);             \
    }
#define AND_REQUEST(...) (__VA_ARGS__, WAITIO_MPI_Request * req)
#define AND_INFO(...) (__VA_ARGS__, WAITIO_MPI_Info info, WAITIO_MPI_Request * req)

/* Sides of a call: one block for (or from) all members, blocks of one type, blocks of any types. */
#define ONE(BUF, ELEMENTS, TYPE)                                                                   \
    {                                                                                              \
        .buf = (BUF), .count = (ELEMENTS), .type = (TYPE)                                          \
    }
#define MANY(BUF, TYPE, LENGTHS, AT)                                                               \
    {                                                                                              \
        .buf = (BUF), .type = (TYPE), .COUNTS = (LENGTHS), .DISPLS = (AT)                          \
    }
#define TYPED(BUF, TYPES, LENGTHS, AT)                                                             \
    {                                                                                              \
        .buf = (BUF), .types = (TYPES), .COUNTS = (LENGTHS), .DISPLS = (AT)                        \
    }

int WAITIO_MPI_Barrier(WAITIO_MPI_Comm comm)
{
    return now("WAITIO_MPI_Barrier", (struct wio_call){.kind = WIO_BARRIER}, comm);
}

int WAITIO_MPI_Ibarrier(WAITIO_MPI_Comm comm, WAITIO_MPI_Request *req)
{
    return started("WAITIO_MPI_Ibarrier", (struct wio_call){.kind = WIO_BARRIER}, comm, req);
}

int WAITIO_MPI_Barrier_init(WAITIO_MPI_Comm comm, WAITIO_MPI_Info info, WAITIO_MPI_Request *req)
{
    (void)info;
    return prepared("WAITIO_MPI_Barrier_init", (struct wio_call){.kind = WIO_BARRIER}, comm, req);
}

#define COUNT int
#define DISPL int
#define COUNTS counts
#define DISPLS displs
#define CALL(NAME) WAITIO_MPI_##NAME
#define TEXT(NAME) "WAITIO_MPI_" #NAME
#include "mpi/coll_calls.h"
#undef COUNT
#undef DISPL
#undef COUNTS
#undef DISPLS
#undef CALL
#undef TEXT
#define COUNT WAITIO_MPI_Count
#define DISPL WAITIO_MPI_Aint
#define COUNTS large_counts
#define DISPLS places
#define CALL(NAME) WAITIO_MPI_##NAME##_c
#define TEXT(NAME) "WAITIO_MPI_" #NAME "_c"
#include "mpi/coll_calls.h"

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
