/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs of processes: whole ones, of which every process knows all edges, and distributed ones. */
#include "mpi/coll.h"
#include "mpi/comm/inter.h"
#include "mpi/comm/topology.h"
#include "mpi/mpi.h"
#include "os/os.h"

struct wio_graph *wio_graph_hold(struct wio_graph *graph)
{
    if (graph != NULL)
        __atomic_add_fetch(&graph->refs, 1, __ATOMIC_RELAXED);
    return graph;
}

void wio_graph_release(struct wio_graph *graph)
{
    if (graph != NULL && __atomic_sub_fetch(&graph->refs, 1, __ATOMIC_ACQ_REL) == 0)
        wio_os_free(graph);
}

/* With room for so many numbers behind it. */
static struct wio_graph *graph_new(size_t numbers, int **room)
{
    struct wio_graph *g = wio_os_alloc(sizeof *g + (numbers + 1) * sizeof(int));

    if (g == NULL) {
        wio_fail(WAITIO_ERR_NOMEM, "no memory for a graph of %zu numbers", numbers);
        return NULL;
    }
    memset(g, 0, sizeof *g);
    g->refs = 1;
    *room = (int *)(void *)(g + 1);
    return g;
}

static int *put(int **room, const int *from, int n)
{
    int *at = *room;

    if (n > 0)
        memcpy(at, from, (size_t)n * sizeof *at);
    *room += n;
    return at;
}

/* The communicator that has the graph, which it takes over; freed with it when that fails. */
static int give(WAITIO_MPI_Comm *comm, struct wio_graph *graph)
{
    struct wio_comm *c;
    int rc = wio_comm_get(*comm, &c);

    if (rc == 0) {
        c->graph = graph;
        return 0;
    }
    wio_graph_release(graph);
    (void)wio_mpi_comm_free(comm);
    return rc;
}

int wio_near_of(const struct wio_comm *c, struct wio_near *near)
{
    const struct wio_graph *g = c->graph;
    int first;

    near->crossed = false;
    if (c->cart != NULL) {
        wio_cart_near(c->cart, c->rank, near);
        return 0;
    }
    if (g == NULL)
        return wio_fail(WAITIO_MPI_ERR_TOPOLOGY,
                        "the communicator has no topology: make it with Cart_create, Graph_create "
                        "or Dist_graph_create");
    if (!g->whole) {
        near->indegree = g->indegree;
        near->outdegree = g->outdegree;
        near->in = g->in;
        near->out = g->out;
        return 0;
    }
    first = c->rank == 0 ? 0 : g->index[c->rank - 1];
    near->indegree = near->outdegree = g->index[c->rank] - first;
    near->in = near->out = g->edge + first;
    return 0;
}

/* ---- whole graphs ---- */

static int check_whole(int size, int nodes, const int index[], const int edges[])
{
    int before = 0, rc;

    if (nodes < 0 || nodes > size)
        return wio_fail(WAITIO_ERR_ARG, "a graph of %d nodes for a communicator of %d", nodes,
                        size);
    rc = nodes > 0 ? wio_mpi_need("index", index) : 0;
    for (int i = 0; rc == 0 && i < nodes; i++) {
        if (index[i] < before)
            rc = wio_fail(WAITIO_ERR_ARG, "index[%d] is %d, less than the one before", i, index[i]);
        before = index[i];
    }
    if (rc == 0 && before > 0)
        rc = wio_mpi_need("edges", edges);
    for (int i = 0; rc == 0 && i < before; i++)
        if (edges[i] < 0 || edges[i] >= nodes)
            rc = wio_fail(WAITIO_MPI_ERR_TOPOLOGY, "edge %d leads to %d in a graph of %d nodes", i,
                          edges[i], nodes);
    return rc;
}

static int make_whole(WAITIO_MPI_Comm comm, int nodes, const int index[], const int edges[],
                      WAITIO_MPI_Comm *out)
{
    struct wio_graph *g;
    struct wio_comm *c;
    int *room, n, rc = wio_comm_get_intra(comm, &c);

    if (rc == 0)
        rc = check_whole(c->size, nodes, index, edges);
    if (rc == 0)
        rc = wio_comm_split(comm, c->rank < nodes ? 0 : WAITIO_MPI_UNDEFINED, c->rank, out);
    if (rc != 0 || *out == WAITIO_MPI_COMM_NULL)
        return rc;
    n = index[nodes - 1];
    g = graph_new((size_t)nodes + (size_t)n, &room);
    if (g == NULL) {
        (void)wio_mpi_comm_free(out);
        return WAITIO_ERR_NOMEM;
    }
    g->whole = true;
    g->nodes = nodes;
    g->edges = n;
    g->index = put(&room, index, nodes);
    g->edge = put(&room, edges, n);
    return give(out, g);
}

int WAITIO_MPI_Graph_create(WAITIO_MPI_Comm comm, int nodes, const int index_[], const int edges[],
                            int reorder, WAITIO_MPI_Comm *out)
{
    (void)reorder;
    return wio_mpi_result("WAITIO_MPI_Graph_create", make_whole(comm, nodes, index_, edges, out));
}

int WAITIO_MPI_Graph_map(WAITIO_MPI_Comm comm, int nodes, const int index_[], const int edges[],
                         int *rank)
{
    struct wio_comm *c;
    int rc = wio_comm_get_intra(comm, &c);

    if (rc == 0)
        rc = check_whole(c->size, nodes, index_, edges);
    if (rc == 0)
        rc = wio_mpi_need("rank", rank);
    if (rc == 0)
        *rank = c->rank < nodes ? c->rank : WAITIO_MPI_UNDEFINED;
    return wio_mpi_result("WAITIO_MPI_Graph_map", rc);
}

static int whole_of(WAITIO_MPI_Comm comm, const struct wio_graph **g)
{
    struct wio_comm *c;
    int rc = wio_comm_get(comm, &c);

    if (rc == 0 && (c->graph == NULL || !c->graph->whole))
        rc = wio_fail(WAITIO_MPI_ERR_TOPOLOGY, "the communicator was not made by Graph_create");
    if (rc == 0)
        *g = c->graph;
    return rc;
}

int WAITIO_MPI_Graphdims_get(WAITIO_MPI_Comm comm, int *nodes, int *edges)
{
    const struct wio_graph *g;
    int rc = wio_mpi_need_both("nodes", nodes, "edges", edges);

    if (rc == 0)
        rc = whole_of(comm, &g);
    if (rc == 0) {
        *nodes = g->nodes;
        *edges = g->edges;
    }
    return wio_mpi_result("WAITIO_MPI_Graphdims_get", rc);
}

/* As many as there are, or fit. */
static int hand_out(const char *what, const int *from, int n, int most, int *to)
{
    int rc;

    n = n < most ? n : most;
    rc = n > 0 ? wio_mpi_need(what, to) : 0;
    if (rc == 0 && n > 0)
        memcpy(to, from, (size_t)n * sizeof *to);
    return rc;
}

int WAITIO_MPI_Graph_get(WAITIO_MPI_Comm comm, int most_nodes, int most_edges, int index_[],
                         int edges[])
{
    const struct wio_graph *g;
    int rc = whole_of(comm, &g);

    if (rc == 0)
        rc = hand_out("index", g->index, g->nodes, most_nodes, index_);
    if (rc == 0)
        rc = hand_out("edges", g->edge, g->edges, most_edges, edges);
    return wio_mpi_result("WAITIO_MPI_Graph_get", rc);
}

static int neighbours_of(WAITIO_MPI_Comm comm, int rank, const int **edge, int *n)
{
    const struct wio_graph *g;
    int first, rc = whole_of(comm, &g);

    if (rc == 0 && (rank < 0 || rank >= g->nodes))
        rc = wio_fail(WAITIO_ERR_RANK, "rank %d in a graph of %d nodes", rank, g->nodes);
    if (rc != 0)
        return rc;
    first = rank == 0 ? 0 : g->index[rank - 1];
    *edge = g->edge + first;
    *n = g->index[rank] - first;
    return 0;
}

int WAITIO_MPI_Graph_neighbors_count(WAITIO_MPI_Comm comm, int rank, int *n)
{
    const int *edge;
    int count = 0, rc = wio_mpi_need("number of neighbours", n);

    if (rc == 0)
        rc = neighbours_of(comm, rank, &edge, &count);
    if (rc == 0)
        *n = count;
    return wio_mpi_result("WAITIO_MPI_Graph_neighbors_count", rc);
}

int WAITIO_MPI_Graph_neighbors(WAITIO_MPI_Comm comm, int rank, int most, int neighbors[])
{
    const int *edge = NULL;
    int n = 0, rc = neighbours_of(comm, rank, &edge, &n);

    if (rc == 0)
        rc = hand_out("neighbours", edge, n, most, neighbors);
    return wio_mpi_result("WAITIO_MPI_Graph_neighbors", rc);
}

/* ---- distributed graphs ---- */

/* One side of this process's edges, as the program or another process named them. */
struct ends {
    int n;
    const int *rank, *weight; /* weight: UNWEIGHTED, WEIGHTS_EMPTY or n of them */
};

static bool has_weights(const int *weight)
{
    return weight != WAITIO_MPI_UNWEIGHTED;
}

static int check_ends(const char *what, const struct ends *e, int size)
{
    if (e->n < 0)
        return wio_fail(WAITIO_ERR_ARG, "%d %s", e->n, what);
    if (e->n > 0 && (e->rank == NULL || e->weight == NULL || e->weight == WAITIO_MPI_WEIGHTS_EMPTY))
        return wio_fail(WAITIO_ERR_ARG, "%d %s, but their list or weights are NULL or empty", e->n,
                        what);
    for (int i = 0; i < e->n; i++) {
        if (e->rank[i] < 0 || e->rank[i] >= size)
            return wio_fail(WAITIO_ERR_RANK, "%s: rank %d in a communicator of %d", what,
                            e->rank[i], size);
        if (has_weights(e->weight) && e->weight[i] < 0)
            return wio_fail(WAITIO_ERR_ARG, "%s: weight %d is negative", what, e->weight[i]);
    }
    return 0;
}

/* @param out a fresh communicator; freed when there is no memory */
static int give_ends(WAITIO_MPI_Comm *out, const struct ends *in, const struct ends *to)
{
    bool weighted = has_weights(in->weight);
    int *room;
    struct wio_graph *g = graph_new(2 * ((size_t)in->n + (size_t)to->n), &room);

    if (g == NULL) {
        (void)wio_mpi_comm_free(out);
        return WAITIO_ERR_NOMEM;
    }
    g->weighted = weighted;
    g->indegree = in->n;
    g->outdegree = to->n;
    g->in = put(&room, in->rank, in->n);
    g->out = put(&room, to->rank, to->n);
    g->in_weight = weighted ? put(&room, in->weight, in->n) : NULL;
    g->out_weight = weighted ? put(&room, to->weight, to->n) : NULL;
    return give(out, g);
}

int WAITIO_MPI_Dist_graph_create_adjacent(WAITIO_MPI_Comm comm, int indegree, const int sources[],
                                          const int sourceweights[], int outdegree,
                                          const int destinations[], const int destweights[],
                                          WAITIO_MPI_Info info, int reorder, WAITIO_MPI_Comm *out)
{
    struct ends in = {indegree, sources, sourceweights},
                to = {outdegree, destinations, destweights};
    struct wio_comm *c;
    int rc = wio_comm_get_intra(comm, &c);

    (void)info;
    (void)reorder;
    if (rc == 0)
        rc = check_ends("sources", &in, c->size);
    if (rc == 0)
        rc = check_ends("destinations", &to, c->size);
    if (rc == 0 && has_weights(sourceweights) != has_weights(destweights))
        rc = wio_fail(WAITIO_ERR_ARG, "either both lists have weights or none");
    if (rc == 0)
        rc = wio_comm_split(comm, 0, c->rank, out);
    if (rc == 0)
        rc = give_ends(out, &in, &to);
    return wio_mpi_result("WAITIO_MPI_Dist_graph_create_adjacent", rc);
}

/* What a process sends to the two ends of an edge. */
struct word {
    int outgoing; /* from the receiver of the word */
    int peer, weight;
};
enum { NUMBERS = sizeof(struct word) / sizeof(int) };

/* The edges that one process names. */
struct named {
    int n;
    const int *source, *degree, *destination, *weight;
};

static int check_named(const struct named *e, int size)
{
    int total = 0, rc;
    struct ends from = {e->n, e->source, WAITIO_MPI_UNWEIGHTED},
                to = {0, e->destination, e->weight};

    rc = check_ends("sources", &from, size);
    if (rc == 0 && e->n > 0)
        rc = wio_mpi_need("degrees", e->degree);
    for (int i = 0; rc == 0 && i < e->n; i++) {
        if (e->degree[i] < 0 || e->degree[i] > INT32_MAX / NUMBERS / 2 - total)
            rc = wio_fail(WAITIO_ERR_ARG, "degree %d of source %d", e->degree[i], e->source[i]);
        else
            total += e->degree[i];
    }
    to.n = total;
    return rc != 0 ? rc : check_ends("destinations", &to, size);
}

/* Go through all edges: count the words for each process, or (words != NULL) write them.
 * @param at by rank: numbers of ints, or where the next word goes */
static void tell(const struct named *e, int *at, struct word *words)
{
    int k = 0;

    for (int i = 0; i < e->n; i++)
        for (int j = 0; j < e->degree[i]; j++, k++) {
            int ends[2] = {e->destination[k], e->source[i]};
            int weight = has_weights(e->weight) ? e->weight[k] : 0;
            for (int out = 0; out < 2; out++) {
                if (words != NULL)
                    words[at[ends[out]] / NUMBERS] =
                        (struct word){.outgoing = out, .peer = ends[!out], .weight = weight};
                at[ends[out]] += NUMBERS;
            }
        }
}

/* Memory of one exchange: counts and places of both directions, then the words. */
struct exchange {
    int size;
    int *give, *take, *give_at, *take_at, *next;
    struct word *out, *in;
    int indegree;
};

static int sum_up(const int *counts, int n, int *at)
{
    int total = 0;

    for (int i = 0; i < n; i++) {
        at[i] = total;
        total += counts[i];
    }
    return total;
}

/* Send all words to their processes. They are sorted by sender, in the order of each sender. So
 * both ends of edges between the same two processes have these edges in the same order. */
static int exchange(WAITIO_MPI_Comm comm, const struct named *e, struct exchange *x)
{
    struct wio_call sizes = {.kind = WIO_ALLTOALL,
                             .send = {.buf = x->give, .count = 1, .type = WAITIO_MPI_INT},
                             .recv = {.buf = x->take, .count = 1, .type = WAITIO_MPI_INT}};
    struct wio_call words = {
        .kind = WIO_ALLTOALL,
        .v = true,
        .send = {.type = WAITIO_MPI_INT, .counts = x->give, .displs = x->give_at},
        .recv = {.type = WAITIO_MPI_INT, .counts = x->take, .displs = x->take_at}};
    int rc, total;

    tell(e, x->give, NULL);
    rc = wio_coll_call(&sizes, comm, NULL);
    if (rc != 0)
        return rc;
    total = sum_up(x->give, x->size, x->give_at);
    x->indegree = sum_up(x->take, x->size, x->take_at) / NUMBERS;
    x->out = wio_os_alloc((size_t)total * sizeof(int) + 1);
    x->in = wio_os_alloc((size_t)x->indegree * sizeof *x->in + 1);
    if (x->out == NULL || x->in == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for %d edges", x->indegree);
    memcpy(x->next, x->give_at, (size_t)x->size * sizeof *x->next);
    tell(e, x->next, x->out);
    words.send.buf = x->out;
    words.recv.buf = x->in;
    return wio_coll_call(&words, comm, NULL);
}

/* From words to lists of both directions. */
static int sort_out(const struct exchange *x, bool weighted, WAITIO_MPI_Comm *out)
{
    int *room = wio_os_alloc((4 * (size_t)x->indegree + 1) * sizeof *room), rc;
    struct ends side[2];
    int n[2] = {0, 0};

    if (room == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for %d edges", x->indegree);
    for (int s = 0; s < 2; s++) {
        int *rank = room + 2 * s * x->indegree, *weight = rank + x->indegree;
        for (int i = 0; i < x->indegree; i++)
            if (x->in[i].outgoing == s) {
                rank[n[s]] = x->in[i].peer;
                weight[n[s]++] = x->in[i].weight;
            }
        side[s] = (struct ends){n[s], rank, weighted ? weight : WAITIO_MPI_UNWEIGHTED};
    }
    rc = give_ends(out, &side[0], &side[1]);
    wio_os_free(room);
    return rc;
}

static int make_distributed(WAITIO_MPI_Comm comm, const struct named *e, WAITIO_MPI_Comm *out)
{
    struct exchange x = {0};
    struct wio_comm *c;
    int *numbers, rc = wio_comm_get_intra(comm, &c);

    if (rc == 0)
        rc = check_named(e, c->size);
    if (rc == 0)
        rc = wio_comm_split(comm, 0, c->rank, out);
    if (rc != 0)
        return rc;
    x.size = c->size;
    numbers = wio_os_alloc(5 * (size_t)x.size * sizeof *numbers);
    if (numbers == NULL) {
        rc = wio_fail(WAITIO_ERR_NOMEM, "no memory for a graph of %d processes", x.size);
    } else {
        memset(numbers, 0, 5 * (size_t)x.size * sizeof *numbers);
        x.give = numbers;
        x.take = x.give + x.size;
        x.give_at = x.take + x.size;
        x.take_at = x.give_at + x.size;
        x.next = x.take_at + x.size;
        rc = exchange(*out, e, &x);
    }
    if (rc == 0)
        rc = sort_out(&x, has_weights(e->weight), out);
    wio_os_free(x.out);
    wio_os_free(x.in);
    wio_os_free(numbers);
    if (rc != 0 && *out != WAITIO_MPI_COMM_NULL)
        (void)wio_mpi_comm_free(out);
    return rc;
}

int WAITIO_MPI_Dist_graph_create(WAITIO_MPI_Comm comm, int n, const int sources[],
                                 const int degrees[], const int destinations[], const int weights[],
                                 WAITIO_MPI_Info info, int reorder, WAITIO_MPI_Comm *out)
{
    struct named e = {n, sources, degrees, destinations, weights};

    (void)info;
    (void)reorder;
    return wio_mpi_result("WAITIO_MPI_Dist_graph_create", make_distributed(comm, &e, out));
}

static int distributed_of(WAITIO_MPI_Comm comm, const struct wio_graph **g)
{
    struct wio_comm *c;
    int rc = wio_comm_get(comm, &c);

    if (rc == 0 && (c->graph == NULL || c->graph->whole))
        rc = wio_fail(WAITIO_MPI_ERR_TOPOLOGY,
                      "the communicator was not made by Dist_graph_create(_adjacent)");
    if (rc == 0)
        *g = c->graph;
    return rc;
}

int WAITIO_MPI_Dist_graph_neighbors_count(WAITIO_MPI_Comm comm, int *indegree, int *outdegree,
                                          int *weighted)
{
    const struct wio_graph *g;
    int rc = wio_mpi_need_both("indegree", indegree, "outdegree", outdegree);

    if (rc == 0)
        rc = wio_mpi_need("weighted", weighted);
    if (rc == 0)
        rc = distributed_of(comm, &g);
    if (rc == 0) {
        *indegree = g->indegree;
        *outdegree = g->outdegree;
        *weighted = g->weighted;
    }
    return wio_mpi_result("WAITIO_MPI_Dist_graph_neighbors_count", rc);
}

/* Weights are left alone where there are none, or the program wants none. */
static int hand_out_weights(const struct wio_graph *g, const int *from, int n, int most, int *to)
{
    if (!g->weighted || to == WAITIO_MPI_UNWEIGHTED || to == WAITIO_MPI_WEIGHTS_EMPTY)
        return 0;
    return hand_out("weights", from, n, most, to);
}

int WAITIO_MPI_Dist_graph_neighbors(WAITIO_MPI_Comm comm, int most_in, int sources[],
                                    int sourceweights[], int most_out, int destinations[],
                                    int destweights[])
{
    const struct wio_graph *g;
    int rc = distributed_of(comm, &g);

    if (rc == 0)
        rc = hand_out("sources", g->in, g->indegree, most_in, sources);
    if (rc == 0)
        rc = hand_out("destinations", g->out, g->outdegree, most_out, destinations);
    if (rc == 0)
        rc = hand_out_weights(g, g->in_weight, g->indegree, most_in, sourceweights);
    if (rc == 0)
        rc = hand_out_weights(g, g->out_weight, g->outdegree, most_out, destweights);
    return wio_mpi_result("WAITIO_MPI_Dist_graph_neighbors", rc);
}
