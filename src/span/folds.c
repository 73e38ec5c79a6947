/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocking reductions with large counts (MPI 4): in parts that our calls can count, since an
 * operator works element by element and takes no type of many elements. All members have the same
 * count, so they make the same parts.
 */
#include "span/call.h"

#if MPI_VERSION >= 4

struct parts {
    WAITIO_MPI_Datatype type;
    WAITIO_MPI_Op op;
    MPI_Count left, offset; /* elements; bytes */
    WAITIO_MPI_Count extent;
};

static struct parts begin(struct span_call *call, MPI_Count count, MPI_Datatype datatype, MPI_Op op)
{
    struct parts p = {span_type(call, datatype), span_op(call, op), count, 0, 0};
    WAITIO_MPI_Count lb = 0;

    if (SPAN_UNLIKELY(count > INT_MAX) && call->code == 0)
        call->code = WAITIO_MPI_Type_get_extent_x(p.type, &lb, &p.extent);
    return p;
}

/* Elements of the next call; a negative count is for our call to refuse. */
static int next(const struct parts *p)
{
    const MPI_Count most = (MPI_Count)1 << 30;

    if (SPAN_LIKELY(p->left <= INT_MAX))
        return p->left < 0 ? -1 : (int)p->left;
    return (int)most;
}

static const void *from(const struct parts *p, const void *buffer)
{
    return buffer == MPI_IN_PLACE ? WAITIO_MPI_IN_PLACE : (const char *)buffer + p->offset;
}

static void *to(const struct parts *p, void *buffer)
{
    return buffer == MPI_IN_PLACE ? WAITIO_MPI_IN_PLACE : (char *)buffer + p->offset;
}

/* @return is there another part? */
static bool go_on(const struct span_call *call, struct parts *p, int n)
{
    p->left -= n;
    p->offset += n * (MPI_Count)p->extent;
    return call->code == 0 && p->left > 0;
}

int PMPI_Reduce_c(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype,
                  MPI_Op op, int root, MPI_Comm comm)
{
    struct span_comm *c = span_comm_of(comm);
    if (SPAN_LIKELY(c == NULL))
        return SPAN_BLOCKING(
            span_vendor.Reduce_c(sendbuf, recvbuf, count, datatype, op, root, comm));
    struct span_call call = {.comm = c, .name = "MPI_Reduce_c"};
    struct parts p = begin(&call, count, datatype, op);
    int n;
    do {
        n = next(&p);
        if (call.code == 0)
            call.code = WAITIO_MPI_Reduce(from(&p, sendbuf), to(&p, recvbuf), n, p.type, p.op,
                                          span_rank(root), c->comm);
    } while (go_on(&call, &p, n));
    return span_end(&call);
}
SPAN_NAME(Reduce_c)

/* Those without a root. */
#define FOLD(which)                                                                                \
    int PMPI_##which##_c(const void *sendbuf, void *recvbuf, MPI_Count count,                      \
                         MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)                          \
    {                                                                                              \
        struct span_comm *c = span_comm_of(comm);                                                  \
        if (SPAN_LIKELY(c == NULL))                                                                \
            return SPAN_BLOCKING(                                                                  \
                span_vendor.which##_c(sendbuf, recvbuf, count, datatype, op, comm));               \
        struct span_call call = {.comm = c, .name = "MPI_" #which "_c"};                           \
        struct parts p = begin(&call, count, datatype, op);                                        \
        int n;                                                                                     \
        do {                                                                                       \
            n = next(&p);                                                                          \
            if (call.code == 0)                                                                    \
                call.code = WAITIO_MPI_##which(from(&p, sendbuf), to(&p, recvbuf), n, p.type,      \
                                               p.op, c->comm);                                     \
        } while (go_on(&call, &p, n));                                                             \
        return span_end(&call);                                                                    \
    }                                                                                              \
    SPAN_NAME(which##_c)

FOLD(Allreduce)
FOLD(Scan)
FOLD(Exscan)

#endif
