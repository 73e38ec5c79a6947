/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Graphs, grids and the collectives of their neighbourhoods, compared with what a process can work
 * out by itself: every block says where it comes from. A program of MPI, which says the same under
 * an MPI (test_mpi_header.py).
 */
#ifdef FOR_WAITIO
#include <waitio_mpi_rename.h>
#else
#include <mpi.h>
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, EACH = 3 };

static int failures, me, n;

static void expect(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "rank %d: %s\n", me, what);
        failures++;
    }
}

/* What edge number k from a process to another carries, at element i. */
static int word(int from, int to, int k, int i)
{
    return ((from * 100 + to) * 50 + k) * EACH + i;
}

/* This process's edges, each with its number among those between the same two processes. */
struct ends {
    int n, rank[MOST], number[MOST];
};

/* Fill the blocks that go out; those that shall come in. */
static void fill(const struct ends *out, int *data)
{
    for (int e = 0; e < out->n; e++)
        for (int i = 0; i < EACH; i++)
            data[e * EACH + i] =
                out->rank[e] == MPI_PROC_NULL ? -1 : word(me, out->rank[e], out->number[e], i);
}

static int right(const struct ends *in, const int *data)
{
    int good = 1;

    for (int e = 0; e < in->n; e++)
        for (int i = 0; i < EACH; i++)
            good &= data[e * EACH + i] ==
                    (in->rank[e] == MPI_PROC_NULL ? -7 : word(in->rank[e], me, in->number[e], i));
    return good;
}

static void clear(int *data)
{
    for (int i = 0; i < MOST * EACH; i++)
        data[i] = -7;
}

/* ---- the calls ---- */

static void alltoall(MPI_Comm comm, const struct ends *in, const int *out_data, int *in_data)
{
#ifdef FOR_WAITIO
    MPI_Request req;
#endif

    clear(in_data);
    MPI_Neighbor_alltoall(out_data, EACH, MPI_INT, in_data, EACH, MPI_INT, comm);
    expect(right(in, in_data), "Neighbor_alltoall");
    clear(in_data);
#ifdef FOR_WAITIO /* Open MPI 4.1 mixes up both ends of a dimension here */
    MPI_Ineighbor_alltoall(out_data, EACH, MPI_INT, in_data, EACH, MPI_INT, comm, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    expect(right(in, in_data), "Ineighbor_alltoall");
    MPI_Neighbor_alltoall_init(out_data, EACH, MPI_INT, in_data, EACH, MPI_INT, comm, MPI_INFO_NULL,
                               &req); /* newer than it */
    for (int i = 0; i < 3; i++) {
        clear(in_data);
        MPI_Start(&req);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
        expect(right(in, in_data), "Neighbor_alltoall_init");
    }
    MPI_Request_free(&req);
#endif
}

/* Blocks of different sizes at places in reverse order; edge k of a pair has k % 3 elements. */
static void alltoallv(MPI_Comm comm, const struct ends *in, const struct ends *out)
{
    int from[MOST * EACH], to[MOST * EACH], scounts[MOST], sdispls[MOST], rcounts[MOST],
        rdispls[MOST], good = 1;
    MPI_Aint sbytes[MOST], rbytes[MOST];
    MPI_Datatype types[MOST];

    for (int e = 0; e < out->n; e++) {
        scounts[e] = out->number[e] % (EACH + 1);
        sdispls[e] = (out->n - 1 - e) * EACH;
        sbytes[e] = sdispls[e] * (MPI_Aint)sizeof(int);
        for (int i = 0; i < scounts[e]; i++)
            from[sdispls[e] + i] = word(me, out->rank[e], out->number[e], i);
    }
    for (int e = 0; e < in->n; e++) {
        rcounts[e] = in->number[e] % (EACH + 1);
        rdispls[e] = (in->n - 1 - e) * EACH;
        rbytes[e] = rdispls[e] * (MPI_Aint)sizeof(int);
    }
    for (int e = 0; e < MOST; e++)
        types[e] = MPI_INT;
    for (int w = 0; w < 2; w++) {
        clear(to);
        if (w == 0)
            MPI_Neighbor_alltoallv(from, scounts, sdispls, MPI_INT, to, rcounts, rdispls, MPI_INT,
                                   comm);
        else
            MPI_Neighbor_alltoallw(from, scounts, sbytes, types, to, rcounts, rbytes, types, comm);
        for (int e = 0; e < in->n; e++)
            for (int i = 0; i < EACH; i++)
                good &= to[rdispls[e] + i] == (in->rank[e] == MPI_PROC_NULL || i >= rcounts[e]
                                                   ? -7
                                                   : word(in->rank[e], me, in->number[e], i));
        expect(good, w == 0 ? "Neighbor_alltoallv" : "Neighbor_alltoallw");
    }
}

/* One block for all: its number is that of the process. */
static void allgather(MPI_Comm comm, const struct ends *in)
{
    int mine[2] = {me, -me}, got[2 * MOST], counts[MOST], displs[MOST], good = 1;
    MPI_Request req;

    for (int form = 0; form < 3; form++) {
        for (int i = 0; i < 2 * MOST; i++)
            got[i] = -7;
        for (int e = 0; e < MOST; e++) {
            counts[e] = 2;
            displs[e] = 2 * e;
        }
        if (form == 0)
            MPI_Neighbor_allgather(mine, 2, MPI_INT, got, 2, MPI_INT, comm);
        else if (form == 1)
            MPI_Neighbor_allgatherv(mine, 2, MPI_INT, got, counts, displs, MPI_INT, comm);
        else {
            MPI_Ineighbor_allgatherv(mine, 2, MPI_INT, got, counts, displs, MPI_INT, comm, &req);
            MPI_Wait(&req, MPI_STATUS_IGNORE);
        }
        for (int e = 0; e < in->n; e++) {
            int who = in->rank[e];
            good &= got[2 * e] == (who == MPI_PROC_NULL ? -7 : who) &&
                    got[2 * e + 1] == (who == MPI_PROC_NULL ? -7 : -who);
        }
    }
    expect(good, "Neighbor_allgather(v)");
}

/* A column of a matrix to each neighbour, from each into a row. */
static void holes(MPI_Comm comm, const struct ends *in, const struct ends *out)
{
    int from[EACH][MOST], to[MOST * EACH], good = 1;
    MPI_Datatype loose, column;

    for (int e = 0; e < MOST; e++)
        for (int i = 0; i < EACH; i++)
            from[i][e] = e < out->n ? word(me, out->rank[e], out->number[e], i) : -1;
    MPI_Type_vector(EACH, 1, MOST, MPI_INT, &loose);
    MPI_Type_create_resized(loose, 0, sizeof(int), &column);
    MPI_Type_commit(&column);
    clear(to);
    MPI_Neighbor_alltoall(from, 1, column, to, EACH, MPI_INT, comm);
    good = right(in, to);
    expect(good, "Neighbor_alltoall of columns");
    MPI_Type_free(&loose);
    MPI_Type_free(&column);
}

/* Numbers with a hole behind each. Where nothing comes, and in the holes, nothing is written. */
static void into_holes(MPI_Comm comm, const struct ends *in, const int *out_data)
{
    int loose[MOST * EACH * 2], to[MOST * EACH], counts[MOST];
    MPI_Aint at[MOST], sbytes[MOST];
    MPI_Datatype type, types[MOST], ints[MOST];

    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &type);
    MPI_Type_commit(&type);
    for (int e = 0; e < MOST; e++) {
        counts[e] = EACH;
        sbytes[e] = e * (MPI_Aint)(EACH * sizeof(int));
        MPI_Get_address(loose + 2 * EACH * e, &at[e]);
        types[e] = type;
        ints[e] = MPI_INT;
    }
    for (int w = 0; w < 2; w++) {
        int untouched = 1;
        for (int i = 0; i < 2 * MOST * EACH; i++)
            loose[i] = -7;
        if (w == 0)
            MPI_Neighbor_alltoall(out_data, EACH, MPI_INT, loose, EACH, type, comm);
        else /* the places are addresses */
            MPI_Neighbor_alltoallw(out_data, counts, sbytes, ints, MPI_BOTTOM, counts, at, types,
                                   comm);
        for (int i = 0; i < MOST * EACH; i++) {
            to[i] = loose[2 * i];
            untouched &= loose[2 * i + 1] == -7;
        }
        expect(untouched && right(in, to),
               w == 0 ? "Neighbor_alltoall into holes" : "Neighbor_alltoallw from MPI_BOTTOM");
    }
    MPI_Type_free(&type);
}

static void all_calls(MPI_Comm comm, const struct ends *in, const struct ends *out)
{
    int from[MOST * EACH], to[MOST * EACH];

    fill(out, from);
    alltoall(comm, in, from, to);
    alltoallv(comm, in, out);
    allgather(comm, in);
    holes(comm, in, out);
    into_holes(comm, in, from);
}

/* ---- grids ---- */

/* Edge numbers that both ends know: the dimension, and whether it goes up or down. */
static void grid(int count, const int dims[], const int periods[])
{
    struct ends in = {0, {0}, {0}}, out = {0, {0}, {0}};
    MPI_Comm comm, copy;
    int world = me, kind;

    MPI_Cart_create(MPI_COMM_WORLD, count, dims, periods, 0, &comm);
    if (comm == MPI_COMM_NULL)
        return;
    MPI_Comm_rank(comm, &me);
    MPI_Topo_test(comm, &kind);
    expect(kind == MPI_CART, "Topo_test of a grid");
    for (int d = 0; d < count; d++) {
        int low, high;
        MPI_Cart_shift(comm, d, 1, &low, &high);
        in.rank[in.n] = low;
        in.number[in.n++] = 2 * d + 1; /* it came up */
        in.rank[in.n] = high;
        in.number[in.n++] = 2 * d;
        out.rank[out.n] = low;
        out.number[out.n++] = 2 * d;
        out.rank[out.n] = high;
        out.number[out.n++] = 2 * d + 1;
    }
    all_calls(comm, &in, &out);
    MPI_Comm_dup(comm, &copy);
    all_calls(copy, &in, &out);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&comm);
    me = world;
}

static void grids(void)
{
    int ring[1], all[] = {1, 1, 1}, none[] = {0, 0, 0}, mixed[] = {1, 0, 1};
    int box[][3] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {2, 2, 1}, {1, 1, 3}, {2, 1, 2}};

    ring[0] = n;
    grid(1, ring, all);
    grid(1, ring, none);
    for (size_t i = 0; i < sizeof box / sizeof box[0]; i++) {
        if (box[i][0] * box[i][1] * box[i][2] > n)
            continue;
        grid(3, box[i], all);
        grid(3, box[i], none);
        grid(3, box[i], mixed);
    }
}

/* ---- whole graphs ---- */

/* A star with a rim: 0 knows all others, these know 0 and their neighbours. */
static void whole_graph(void)
{
    int index[MOST], edges[MOST * 4], total = 0, nodes, m, kind, count, found[MOST], rank;
    struct ends near = {0, {0}, {0}};
    MPI_Comm comm;

    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            int step = i > j ? i - j : j - i;
            if (i != j && (i == 0 || j == 0 || step == 1))
                edges[total++] = j;
        }
        index[i] = total;
    }
    MPI_Graph_create(MPI_COMM_WORLD, n, index, edges, 0, &comm);
    MPI_Topo_test(comm, &kind);
    expect(kind == MPI_GRAPH, "Topo_test of a graph");
    MPI_Graphdims_get(comm, &nodes, &m);
    expect(nodes == n && m == total, "Graphdims_get");
    MPI_Graph_neighbors_count(comm, me, &count);
    MPI_Graph_neighbors(comm, me, MOST, found);
    near.n = index[me] - (me == 0 ? 0 : index[me - 1]);
    expect(count == near.n, "Graph_neighbors_count");
    for (int e = 0; e < near.n; e++) {
        near.rank[e] = edges[index[me] - near.n + e];
        near.number[e] = 2;
        expect(found[e] == near.rank[e], "Graph_neighbors");
    }
    memset(found, 0, sizeof found);
    MPI_Graph_get(comm, MOST, MOST, found, edges);
    expect(memcmp(found, index, (size_t)n * sizeof *index) == 0, "Graph_get");
    all_calls(comm, &near, &near);
    MPI_Comm_free(&comm);
    MPI_Graph_map(MPI_COMM_WORLD, n, index, edges, &rank);
    expect(rank >= 0 && rank < n, "Graph_map");
    /* Fewer nodes than processes. */
    index[0] = 0;
    MPI_Graph_create(MPI_COMM_WORLD, 1, index, edges, 0, &comm);
    expect((comm == MPI_COMM_NULL) == (me > 0), "processes beyond a graph");
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
}

/* ---- distributed graphs ---- */

/* So many edges from one process to another: loops, several, none. Process 1 has none at all. */
static int multiplicity(int from, int to)
{
    if (from == 1 || to == 1)
        return 0;
    return from == to ? 1 + from % 2 : (from + 2 * to) % 4;
}

static int weight_of(int from, int to, int k)
{
    return from * 64 + to * 8 + k;
}

static void edges_of_mine(struct ends *in, struct ends *out, int *in_weight, int *out_weight)
{
    in->n = out->n = 0;
    for (int p = 0; p < n; p++) {
        for (int k = 0; k < multiplicity(p, me); k++) {
            in_weight[in->n] = weight_of(p, me, k);
            in->rank[in->n] = p;
            in->number[in->n++] = k;
        }
        for (int k = 0; k < multiplicity(me, p); k++) {
            out_weight[out->n] = weight_of(me, p, k);
            out->rank[out->n] = p;
            out->number[out->n++] = k;
        }
    }
}

static void ask_about(MPI_Comm comm, const struct ends *in, const struct ends *out,
                      const int *in_weight, const int *out_weight)
{
    int indegree, outdegree, weighted, kind, from[MOST], to[MOST], w[MOST], v[MOST], good;

    MPI_Topo_test(comm, &kind);
    expect(kind == MPI_DIST_GRAPH, "Topo_test of a distributed graph");
    MPI_Dist_graph_neighbors_count(comm, &indegree, &outdegree, &weighted);
    expect(indegree == in->n && outdegree == out->n && weighted, "Dist_graph_neighbors_count");
    MPI_Dist_graph_neighbors(comm, indegree, from, w, outdegree, to, v);
    good = memcmp(from, in->rank, sizeof(int) * (size_t)indegree) == 0 &&
           memcmp(to, out->rank, sizeof(int) * (size_t)outdegree) == 0 &&
           memcmp(w, in_weight, sizeof(int) * (size_t)indegree) == 0 &&
           memcmp(v, out_weight, sizeof(int) * (size_t)outdegree) == 0;
    expect(good, "Dist_graph_neighbors");
}

static void adjacent(void)
{
    struct ends in, out;
    int in_weight[MOST], out_weight[MOST], indegree, outdegree, weighted;
    MPI_Comm comm;

    edges_of_mine(&in, &out, in_weight, out_weight);
    MPI_Dist_graph_create_adjacent(
        MPI_COMM_WORLD, in.n, in.rank, in.n > 0 ? in_weight : MPI_WEIGHTS_EMPTY, out.n, out.rank,
        out.n > 0 ? out_weight : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &comm);
    ask_about(comm, &in, &out, in_weight, out_weight);
    all_calls(comm, &in, &out);
    MPI_Comm_free(&comm);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in.n, in.rank, MPI_UNWEIGHTED, out.n, out.rank,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 1, &comm);
    MPI_Dist_graph_neighbors_count(comm, &indegree, &outdegree, &weighted);
    expect(!weighted, "a graph without weights");
    MPI_Comm_free(&comm);
}

/* The edges from p are named by the process after it, so nobody names its own. */
static void distributed(void)
{
    struct ends in, out, got_in = {0, {0}, {0}}, got_out = {0, {0}, {0}};
    int in_weight[MOST], out_weight[MOST], source = (me + n - 1) % n, degree = 0, to[MOST], w[MOST],
                                           weighted;
    MPI_Comm comm;

    edges_of_mine(&in, &out, in_weight, out_weight);
    for (int p = 0; p < n; p++)
        for (int k = 0; k < multiplicity(source, p); k++) {
            w[degree] = weight_of(source, p, k);
            to[degree++] = p;
        }
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &source, &degree, to,
                          degree > 0 ? w : MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &comm);
    MPI_Dist_graph_neighbors_count(comm, &got_in.n, &got_out.n, &weighted);
    expect(got_in.n == in.n && got_out.n == out.n && weighted, "degrees of a distributed graph");
    MPI_Dist_graph_neighbors(comm, got_in.n, got_in.rank, got_in.number, got_out.n, got_out.rank,
                             got_out.number);
    /* In any order; the numbers are in the weights. */
    for (int e = 0; e < got_in.n; e++) {
        int k = got_in.number[e] - weight_of(got_in.rank[e], me, 0);
        expect(k >= 0 && k < multiplicity(got_in.rank[e], me), "weight of an edge that comes in");
        got_in.number[e] = k;
    }
    for (int e = 0; e < got_out.n; e++) {
        int k = got_out.number[e] - weight_of(me, got_out.rank[e], 0);
        expect(k >= 0 && k < multiplicity(me, got_out.rank[e]), "weight of an edge that goes out");
        got_out.number[e] = k;
    }
    all_calls(comm, &got_in, &got_out);
    MPI_Comm_free(&comm);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    grids();
    whole_graph();
    adjacent();
    distributed();
    MPI_Finalize();
    if (failures == 0)
        puts("ok");
    return failures > 0;
}
