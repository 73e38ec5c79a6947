/* SPDX-License-Identifier: BSD-3-Clause */
/* Topologies: calls that make them, and the vendor's copy of one whose members are of one job. */
#include "os/os.h"
#include "span/call.h"
#include "span/comms.h"

static int give(struct span_call *call, WAITIO_MPI_Comm made, MPI_Comm *out)
{
    struct span_place place = {call->name, call->comm->handle, 0};

    *out = MPI_COMM_NULL;
    return call->code != 0 ? span_end(call) : span_comm_give(&place, made, out);
}

/* ---- of one job: as our library has made it, with the vendor's calls ---- */

static int copy_cart(WAITIO_MPI_Comm from, MPI_Comm plain, MPI_Comm *out)
{
    int n = 0, rc = WAITIO_MPI_Cartdim_get(from, &n);
    int *dims = rc == 0 ? wio_os_alloc(3 * ((size_t)n + 1) * sizeof *dims) : NULL;

    if (dims == NULL)
        return MPI_ERR_NO_MEM;
    rc = WAITIO_MPI_Cart_get(from, n, dims, dims + n, dims + 2 * n);
    rc = rc != 0 ? MPI_ERR_TOPOLOGY : span_vendor.Cart_create(plain, n, dims, dims + n, 0, out);
    wio_os_free(dims);
    return rc;
}

static int copy_graph(WAITIO_MPI_Comm from, MPI_Comm plain, MPI_Comm *out)
{
    int nodes = 0, edges = 0, rc = WAITIO_MPI_Graphdims_get(from, &nodes, &edges);
    int *index = rc == 0 ? wio_os_alloc((size_t)(nodes + edges + 1) * sizeof *index) : NULL;

    if (index == NULL)
        return MPI_ERR_NO_MEM;
    rc = WAITIO_MPI_Graph_get(from, nodes, edges, index, index + nodes);
    rc = rc != 0 ? MPI_ERR_TOPOLOGY
                 : span_vendor.Graph_create(plain, nodes, index, index + nodes, 0, out);
    wio_os_free(index);
    return rc;
}

static int copy_dist_graph(WAITIO_MPI_Comm from, MPI_Comm plain, MPI_Comm *out)
{
    int in = 0, to = 0, weighted = 0;
    int rc = WAITIO_MPI_Dist_graph_neighbors_count(from, &in, &to, &weighted);
    int *list = rc == 0 ? wio_os_alloc(2 * (size_t)(in + to + 1) * sizeof *list) : NULL;
    int *sources = list, *in_weights = list + in, *dests = in_weights + in,
        *out_weights = dests + to;

    if (list == NULL)
        return MPI_ERR_NO_MEM;
    rc = WAITIO_MPI_Dist_graph_neighbors(from, in, sources,
                                         weighted ? in_weights : WAITIO_MPI_UNWEIGHTED, to, dests,
                                         weighted ? out_weights : WAITIO_MPI_UNWEIGHTED);
    rc = rc != 0 ? MPI_ERR_TOPOLOGY
                 : span_vendor.Dist_graph_create_adjacent(
                       plain, in, sources, weighted ? in_weights : MPI_UNWEIGHTED, to, dests,
                       weighted ? out_weights : MPI_UNWEIGHTED, MPI_INFO_NULL, 0, out);
    wio_os_free(list);
    return rc;
}

int span_topology_copy(WAITIO_MPI_Comm from, MPI_Comm *comm)
{
    MPI_Comm plain = *comm;
    int kind = WAITIO_MPI_UNDEFINED, rc;

    if (WAITIO_MPI_Topo_test(from, &kind) != 0 || kind == WAITIO_MPI_UNDEFINED)
        return MPI_SUCCESS;
    *comm = MPI_COMM_NULL;
    rc = kind == WAITIO_MPI_CART    ? copy_cart(from, plain, comm)
         : kind == WAITIO_MPI_GRAPH ? copy_graph(from, plain, comm)
                                    : copy_dist_graph(from, plain, comm);
    (void)span_vendor.Comm_free(&plain);
    return rc;
}

/* ---- calls ---- */

int PMPI_Cart_create(MPI_Comm comm_old, int ndims, const int dims[], const int periods[],
                     int reorder, MPI_Comm *comm_cart)
{
    struct span_comm *c = span_comm_of(comm_old);
    if (SPAN_LIKELY(c == NULL))
        return SPAN_BLOCKING(
            span_vendor.Cart_create(comm_old, ndims, dims, periods, reorder, comm_cart));
    struct span_call call = {.comm = c, .name = "MPI_Cart_create"};
    WAITIO_MPI_Comm made = NULL;
    call.code = WAITIO_MPI_Cart_create(c->comm, ndims, dims, periods, reorder, &made);
    return give(&call, made, comm_cart);
}
SPAN_NAME(Cart_create)

int PMPI_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm *newcomm)
{
    struct span_comm *c = span_comm_of(comm);
    if (SPAN_LIKELY(c == NULL))
        return SPAN_BLOCKING(span_vendor.Cart_sub(comm, remain_dims, newcomm));
    struct span_call call = {.comm = c, .name = "MPI_Cart_sub"};
    WAITIO_MPI_Comm made = NULL;
    call.code = WAITIO_MPI_Cart_sub(c->comm, remain_dims, &made);
    return give(&call, made, newcomm);
}
SPAN_NAME(Cart_sub)

int PMPI_Graph_create(MPI_Comm comm_old, int nnodes, const int indx[], const int edges[],
                      int reorder, MPI_Comm *comm_graph)
{
    struct span_comm *c = span_comm_of(comm_old);
    if (SPAN_LIKELY(c == NULL))
        return SPAN_BLOCKING(
            span_vendor.Graph_create(comm_old, nnodes, indx, edges, reorder, comm_graph));
    struct span_call call = {.comm = c, .name = "MPI_Graph_create"};
    WAITIO_MPI_Comm made = NULL;
    call.code = WAITIO_MPI_Graph_create(c->comm, nnodes, indx, edges, reorder, &made);
    return give(&call, made, comm_graph);
}
SPAN_NAME(Graph_create)

int PMPI_Dist_graph_create(MPI_Comm comm_old, int n, const int sources[], const int degrees[],
                           const int destinations[], const int weights[], MPI_Info info,
                           int reorder, MPI_Comm *comm_dist_graph)
{
    struct span_comm *c = span_comm_of(comm_old);
    if (SPAN_LIKELY(c == NULL))
        return SPAN_BLOCKING(span_vendor.Dist_graph_create(
            comm_old, n, sources, degrees, destinations, weights, info, reorder, comm_dist_graph));
    struct span_call call = {.comm = c, .name = "MPI_Dist_graph_create"};
    WAITIO_MPI_Comm made = NULL;
    call.code =
        WAITIO_MPI_Dist_graph_create(c->comm, n, sources, degrees, destinations,
                                     span_weights(weights), WAITIO_MPI_INFO_NULL, reorder, &made);
    return give(&call, made, comm_dist_graph);
}
SPAN_NAME(Dist_graph_create)

int PMPI_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[],
                                    const int sourceweights[], int outdegree,
                                    const int destinations[], const int destweights[],
                                    MPI_Info info, int reorder, MPI_Comm *comm_dist_graph)
{
    struct span_comm *c = span_comm_of(comm_old);
    if (SPAN_LIKELY(c == NULL))
        return SPAN_BLOCKING(span_vendor.Dist_graph_create_adjacent(
            comm_old, indegree, sources, sourceweights, outdegree, destinations, destweights, info,
            reorder, comm_dist_graph));
    struct span_call call = {.comm = c, .name = "MPI_Dist_graph_create_adjacent"};
    WAITIO_MPI_Comm made = NULL;
    call.code = WAITIO_MPI_Dist_graph_create_adjacent(
        c->comm, indegree, sources, span_weights(sourceweights), outdegree, destinations,
        span_weights(destweights), WAITIO_MPI_INFO_NULL, reorder, &made);
    return give(&call, made, comm_dist_graph);
}
SPAN_NAME(Dist_graph_create_adjacent)

int PMPI_Topo_test(MPI_Comm comm, int *status)
{
    struct span_comm *c = span_comm_of(comm);
    if (SPAN_LIKELY(c == NULL))
        return span_vendor.Topo_test(comm, status);
    struct span_call call = {.comm = c, .name = "MPI_Topo_test"};
    int kind = WAITIO_MPI_UNDEFINED;
    call.code = WAITIO_MPI_Topo_test(c->comm, &kind);
    *status = kind == WAITIO_MPI_CART         ? MPI_CART
              : kind == WAITIO_MPI_GRAPH      ? MPI_GRAPH
              : kind == WAITIO_MPI_DIST_GRAPH ? MPI_DIST_GRAPH
                                              : MPI_UNDEFINED;
    return span_end(&call);
}
SPAN_NAME(Topo_test)
