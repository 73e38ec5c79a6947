/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments and ends of wrapped calls, where they are not short enough for the header. */
#include "span/call.h"

#include <stdio.h>

#include "os/os.h"
#include "span/layouts.h"

void *span_scratch(struct span_call *call, size_t n, size_t size)
{
    struct span_scratch *s = wio_os_alloc(sizeof *s + n * size);

    if (s == NULL) {
        call->code = WAITIO_ERR_NOMEM;
        call->why = "no memory for its arguments";
        return NULL;
    }
    s->next = call->scratch;
    s->type = WAITIO_MPI_DATATYPE_NULL;
    call->scratch = s;
    return s + 1;
}

void span_scratch_free(struct span_scratch *list)
{
    while (list != NULL) {
        struct span_scratch *next = list->next;
        if (list->type != WAITIO_MPI_DATATYPE_NULL)
            (void)WAITIO_MPI_Type_free(&list->type);
        wio_os_free(list);
        list = next;
    }
}

/* Type @p i of an array: of the Fortran program's own, if it has called. */
static MPI_Datatype type_at(int side, const MPI_Datatype types[], int i)
{
#if defined(OPEN_MPI)
    if (SPAN_UNLIKELY(span_fortran_types[side] != NULL))
        return PMPI_Type_f2c(span_fortran_types[side][i]);
#else
    (void)side;
#endif
    return types[i];
}

WAITIO_MPI_Datatype *span_types_of(struct span_call *call, int side, int n,
                                   const MPI_Datatype types[])
{
    WAITIO_MPI_Datatype *ours = span_scratch(call, (size_t)n, sizeof *ours);

    for (int i = 0; ours != NULL && i < n; i++)
        ours[i] = span_type(call, type_at(side, types, i));
    return ours;
}

/* @param i place in an array, or -1 */
static void too_large(struct span_call *call, const char *name, int i, MPI_Count value)
{
    enum { TEXT = 256 };
    char place[16] = "", *why;

    if (call->code != 0)
        return;
    why = span_scratch(call, TEXT, 1);
    if (why == NULL)
        return;
    if (i >= 0)
        (void)snprintf(place, sizeof place, "[%d]", i);
    (void)snprintf(
        why, TEXT,
        "%s%s is %lld; on a communicator that spans jobs it may be 2147483647 here: make "
        "a derived type of many elements, or several calls",
        name, place, (long long)value);
    call->code = WAITIO_MPI_ERR_COUNT;
    call->why = why;
}

int span_count(struct span_call *call, const char *name, MPI_Count count)
{
    if (count >= 0 && count <= INT_MAX)
        return (int)count;
    if (count < 0) /* our call says what it thinks of it */
        return -1;
    too_large(call, name, -1, count);
    return 0;
}

/* The call has this type instead of @p type, until it is over. */
static void keep_type(struct span_call *call, WAITIO_MPI_Datatype made, WAITIO_MPI_Datatype *type)
{
    call->code = WAITIO_MPI_Type_commit(&made);
    if (span_scratch(call, 0, 1) != NULL)
        call->scratch->type = *type = made;
}

int span_large(struct span_call *call, const char *name, MPI_Count count, WAITIO_MPI_Datatype *type)
{
    WAITIO_MPI_Datatype row = WAITIO_MPI_DATATYPE_NULL;

    if (SPAN_LIKELY(count <= INT_MAX) || call->code != 0)
        return span_count(call, name, count);
    if (span_layout_row(*type, count, &row) != 0) {
        too_large(call, name, -1, count);
        return 0;
    }
    keep_type(call, row, type);
    return 1;
}

const int *span_counts_by_type(struct span_call *call, const char *name, int n,
                               const MPI_Count counts[], WAITIO_MPI_Datatype types[])
{
    int *ours = span_scratch(call, (size_t)n, sizeof *ours);

    for (int i = 0; ours != NULL && types != NULL && i < n; i++)
        ours[i] = span_large(call, name, counts[i], &types[i]);
    return ours;
}

const int *span_places_by_type(struct span_call *call, const char *name, int n,
                               const MPI_Aint bytes[], WAITIO_MPI_Datatype types[])
{
    int *ours = span_scratch(call, (size_t)n, sizeof *ours);
    WAITIO_MPI_Datatype there = WAITIO_MPI_DATATYPE_NULL;

    for (int i = 0; ours != NULL && types != NULL && i < n && call->code == 0; i++) {
        ours[i] = (int)bytes[i];
        if (ours[i] == bytes[i] || types[i] == WAITIO_MPI_DATATYPE_NULL)
            continue;
        ours[i] = 0;
        if (span_layout_at(types[i], bytes[i], &there) != 0)
            too_large(call, name, i, bytes[i]);
        else
            keep_type(call, there, &types[i]);
    }
    return ours;
}

const int *span_counts(struct span_call *call, const char *name, int n, const MPI_Count counts[])
{
    int *ours = span_scratch(call, (size_t)n, sizeof *ours);

    for (int i = 0; ours != NULL && i < n; i++) {
        ours[i] = counts[i] < 0 ? -1 : (int)counts[i];
        if (counts[i] > INT_MAX)
            too_large(call, name, i, counts[i]);
    }
    return ours;
}

const int *span_places(struct span_call *call, const char *name, int n, const MPI_Aint places[])
{
    int *ours = span_scratch(call, (size_t)n, sizeof *ours);

    for (int i = 0; ours != NULL && i < n; i++) {
        ours[i] = (int)places[i];
        if (ours[i] != places[i])
            too_large(call, name, i, places[i]);
    }
    return ours;
}

int span_degree(struct span_call *call, int side)
{
    WAITIO_MPI_Comm comm = call->comm->comm;
    int kind = 0, in = 0, out = 0, weighted;

    if (WAITIO_MPI_Topo_test(comm, &kind) != 0)
        return 0;
    if (kind == WAITIO_MPI_CART && WAITIO_MPI_Cartdim_get(comm, &in) == 0)
        in = out = 2 * in;
    else if (kind == WAITIO_MPI_GRAPH)
        out = WAITIO_MPI_Graph_neighbors_count(comm, call->comm->rank, &in) == 0 ? in : 0;
    else if (kind == WAITIO_MPI_DIST_GRAPH)
        (void)WAITIO_MPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    return side == SPAN_IN ? in : out;
}

static void out_of_memory(struct span_call *call)
{
    call->code = WAITIO_ERR_NOMEM;
    call->why = "no memory for another request";
}

void span_start(struct span_call *call, bool persistent)
{
    call->request = call->code == 0 ? span_request_take(call, persistent) : NULL;
    if (call->code == 0 && call->request == NULL)
        out_of_memory(call);
}

int span_started(struct span_call *call, MPI_Request *request)
{
    if (call->code == 0) {
        call->request->scratch = call->scratch;
        *request = call->request->stand_in;
        return MPI_SUCCESS;
    }
    if (call->request != NULL)
        span_request_drop(call->request);
    return span_end_with(call);
}

int span_end_with(struct span_call *call)
{
    int rc = MPI_SUCCESS;

    if (call->code != 0 && call->why != NULL)
        rc = span_fail_why(call->comm->handle, call->name, call->code, call->why);
    else if (call->code != 0)
        rc = span_fail(call->comm->handle, call->name, call->code);
    span_scratch_free(call->scratch); /* the text may lie in it */
    return rc;
}
