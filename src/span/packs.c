/* SPDX-License-Identifier: BSD-3-Clause */
/* Packing by hand with large counts (MPI 4): in parts that our calls can count. */
#include "span/call.h"

#if MPI_VERSION >= 4

/* Elements of a type, and where the next one lies. */
struct walk {
    WAITIO_MPI_Datatype type;
    const char *at;
    MPI_Count left, extent;
    MPI_Count part; /* elements of a call */
};

static struct walk begin(struct span_call *call, const void *buffer, MPI_Count count,
                         MPI_Datatype datatype)
{
    const MPI_Count most = (MPI_Count)1 << 30;
    struct walk w = {span_type(call, datatype), buffer, count, 0, most};
    WAITIO_MPI_Count size = 0, lb = 0, extent = 0;

    if (call->code == 0)
        call->code = WAITIO_MPI_Type_size_x(w.type, &size);
    if (call->code == 0)
        call->code = WAITIO_MPI_Type_get_extent_x(w.type, &lb, &extent);
    w.extent = (MPI_Count)extent;
    if (size > 0)
        w.part = size < most ? most / size : 1;
    return w;
}

/* Elements of the next call; a negative count is for our call to refuse. */
static int next(const struct walk *w)
{
    return w->left < 0 ? -1 : (int)(w->left < w->part ? w->left : w->part);
}

static int room(MPI_Count size, MPI_Count position)
{
    MPI_Count rest = size < position ? 0 : size - position;

    return rest < INT_MAX ? (int)rest : INT_MAX;
}

static void go_on(struct walk *w, int n, MPI_Count *position, int bytes)
{
    w->at += n * w->extent;
    w->left -= n;
    *position += bytes;
}

int PMPI_Pack_c(const void *inbuf, MPI_Count incount, MPI_Datatype datatype, void *outbuf,
                MPI_Count outsize, MPI_Count *position, MPI_Comm comm)
{
    struct span_comm *c = span_comm_of(comm);
    if (SPAN_LIKELY(c == NULL))
        return span_vendor.Pack_c(inbuf, incount, datatype, outbuf, outsize, position, comm);
    struct span_call call = {.comm = c, .name = "MPI_Pack_c"};
    struct walk w = begin(&call, inbuf, incount, datatype);
    do {
        int n = next(&w), bytes = 0;
        if (call.code == 0)
            call.code = WAITIO_MPI_Pack(w.at, n, w.type, (char *)outbuf + *position,
                                        room(outsize, *position), &bytes, c->comm);
        if (call.code == 0)
            go_on(&w, n, position, bytes);
    } while (call.code == 0 && w.left > 0);
    return span_end(&call);
}
SPAN_NAME(Pack_c)

int PMPI_Unpack_c(const void *inbuf, MPI_Count insize, MPI_Count *position, void *outbuf,
                  MPI_Count outcount, MPI_Datatype datatype, MPI_Comm comm)
{
    struct span_comm *c = span_comm_of(comm);
    if (SPAN_LIKELY(c == NULL))
        return span_vendor.Unpack_c(inbuf, insize, position, outbuf, outcount, datatype, comm);
    struct span_call call = {.comm = c, .name = "MPI_Unpack_c"};
    struct walk w = begin(&call, outbuf, outcount, datatype);
    do {
        int n = next(&w), bytes = 0;
        if (call.code == 0)
            call.code = WAITIO_MPI_Unpack((const char *)inbuf + *position, room(insize, *position),
                                          &bytes, (char *)(uintptr_t)w.at, n, w.type, c->comm);
        if (call.code == 0)
            go_on(&w, n, position, bytes);
    } while (call.code == 0 && w.left > 0);
    return span_end(&call);
}
SPAN_NAME(Unpack_c)

int PMPI_Pack_size_c(MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm, MPI_Count *size)
{
    struct span_comm *c = span_comm_of(comm);
    if (SPAN_LIKELY(c == NULL))
        return span_vendor.Pack_size_c(incount, datatype, comm, size);
    struct span_call call = {.comm = c, .name = "MPI_Pack_size_c"};
    WAITIO_MPI_Datatype type = span_type(&call, datatype);
    WAITIO_MPI_Count one = 0;
    if (call.code == 0)
        call.code = WAITIO_MPI_Type_size_x(type, &one);
    if (call.code == 0 && (incount < 0 || __builtin_mul_overflow((MPI_Count)one, incount, size))) {
        call.code = WAITIO_MPI_ERR_COUNT;
        call.why = "incount is negative, or the packed data would have more than 2^63 bytes";
    }
    return span_end(&call);
}
SPAN_NAME(Pack_size_c)

#endif
