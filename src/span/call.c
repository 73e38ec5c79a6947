/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments and ends of wrapped calls, where they are not short enough for the header. */
#include "span/call.h"

#include "os/os.h"

void *span_scratch(struct span_call *call, size_t n, size_t size)
{
    struct span_scratch *s = wio_os_alloc(sizeof *s + n * size);

    if (s == NULL) {
        call->code = WAITIO_ERR_NOMEM;
        call->why = "no memory for its arguments";
        return NULL;
    }
    s->next = call->scratch;
    call->scratch = s;
    return s + 1;
}

void span_scratch_free(struct span_scratch *list)
{
    while (list != NULL) {
        struct span_scratch *next = list->next;
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
