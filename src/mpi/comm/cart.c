/* SPDX-License-Identifier: BSD-3-Clause */
/* Cartesian grids of processes: ranks in row order, the last dimension fastest. */
#include "mpi/comm.h"
#include "mpi/comm/inter.h"
#include "mpi/comm/topology.h"
#include "mpi/mpi.h"
#include "os/os.h"

struct wio_cart {
    int n;
    int size[WIO_MOST_DIMS];
    bool periodic[WIO_MOST_DIMS];
};

static int grid_of(WAITIO_MPI_Comm comm, struct wio_comm **c)
{
    int rc = wio_comm_get(comm, c);

    if (rc == 0 && (*c)->cart == NULL)
        rc = wio_fail(WAITIO_MPI_ERR_TOPOLOGY, "the communicator has no Cartesian grid");
    return rc;
}

static void coords_of(const struct wio_cart *g, int rank, int coords[])
{
    for (int d = g->n - 1; d >= 0; d--) {
        coords[d] = rank % g->size[d];
        rank /= g->size[d];
    }
}

/* Rank at a place; a coordinate outside wraps where the grid is periodic. PROC_NULL: outside. */
static int rank_at(const struct wio_cart *g, const int coords[])
{
    int rank = 0;

    for (int d = 0; d < g->n; d++) {
        int at = coords[d], size = g->size[d];
        if (g->periodic[d])
            at = (at % size + size) % size;
        if (at < 0 || at >= size)
            return WAITIO_MPI_PROC_NULL;
        rank = rank * size + at;
    }
    return rank;
}

int wio_cart_give(WAITIO_MPI_Comm *comm, const struct wio_cart *grid)
{
    struct wio_comm *c;
    int rc = wio_comm_get(*comm, &c);

    if (rc == 0) {
        c->cart = wio_os_alloc(sizeof *c->cart);
        if (c->cart != NULL)
            *c->cart = *grid;
        else
            rc = wio_fail(WAITIO_ERR_NOMEM, "no memory for a grid");
    }
    if (rc != 0)
        (void)wio_mpi_comm_free(comm);
    return rc;
}

/* Split, and give the new communicator its grid. */
static int split_grid(WAITIO_MPI_Comm comm, int color, int key, const struct wio_cart *grid,
                      WAITIO_MPI_Comm *out)
{
    int rc = wio_comm_split(comm, color, key, out);

    return rc != 0 || *out == WAITIO_MPI_COMM_NULL ? rc : wio_cart_give(out, grid);
}

static int check_dims(int n, const int dims[], int64_t room)
{
    int64_t total = 1;

    if (n < 0 || n > WIO_MOST_DIMS)
        return wio_fail(WAITIO_MPI_ERR_DIMS, "%d dimensions: 0 to %d are possible", n,
                        WIO_MOST_DIMS);
    if (n > 0 && dims == NULL)
        return wio_mpi_need("sizes", dims);
    for (int d = 0; d < n; d++) {
        if (dims[d] < 1)
            return wio_fail(WAITIO_MPI_ERR_DIMS, "dimension %d has size %d", d, dims[d]);
        total *= dims[d];
        if (total > room)
            return wio_fail(WAITIO_MPI_ERR_DIMS, "the grid is larger than the communicator of %d",
                            (int)room);
    }
    return 0;
}

int WAITIO_MPI_Cart_create(WAITIO_MPI_Comm comm, int n, const int dims[], const int periods[],
                           int reorder, WAITIO_MPI_Comm *out)
{
    struct wio_cart grid = {.n = n};
    struct wio_comm *c;
    int total = 1, rc = wio_comm_get_intra(comm, &c);

    (void)reorder;
    if (rc == 0)
        rc = check_dims(n, dims, c->size);
    if (rc == 0 && n > 0)
        rc = wio_mpi_need("periods", periods);
    for (int d = 0; rc == 0 && d < n; d++) {
        grid.size[d] = dims[d];
        grid.periodic[d] = periods[d] != 0;
        total *= dims[d];
    }
    if (rc == 0)
        rc = split_grid(comm, c->rank < total ? 0 : WAITIO_MPI_UNDEFINED, c->rank, &grid, out);
    return wio_mpi_result("WAITIO_MPI_Cart_create", rc);
}

/* Where this process would be in a grid. */
int WAITIO_MPI_Cart_map(WAITIO_MPI_Comm comm, int n, const int dims[], const int periods[],
                        int *rank)
{
    struct wio_comm *c;
    int total = 1, rc = wio_comm_get_intra(comm, &c);

    (void)periods;
    if (rc == 0)
        rc = check_dims(n, dims, c->size);
    for (int d = 0; rc == 0 && d < n; d++)
        total *= dims[d];
    if (rc == 0)
        rc = wio_mpi_need("rank", rank);
    if (rc == 0)
        *rank = c->rank < total ? c->rank : WAITIO_MPI_UNDEFINED;
    return wio_mpi_result("WAITIO_MPI_Cart_map", rc);
}

int WAITIO_MPI_Cart_sub(WAITIO_MPI_Comm comm, const int remain[], WAITIO_MPI_Comm *out)
{
    struct wio_cart grid = {0};
    struct wio_comm *c;
    int coords[WIO_MOST_DIMS], color = 0, rc = grid_of(comm, &c);

    if (rc == 0 && c->cart->n > 0)
        rc = wio_mpi_need("remaining dimensions", remain);
    if (rc == 0) {
        coords_of(c->cart, c->rank, coords);
        for (int d = 0; d < c->cart->n; d++) {
            if (remain[d]) {
                grid.size[grid.n] = c->cart->size[d];
                grid.periodic[grid.n++] = c->cart->periodic[d];
            } else {
                color = color * c->cart->size[d] + coords[d];
            }
        }
        rc = split_grid(comm, color, c->rank, &grid, out);
    }
    return wio_mpi_result("WAITIO_MPI_Cart_sub", rc);
}

int WAITIO_MPI_Cartdim_get(WAITIO_MPI_Comm comm, int *n)
{
    struct wio_comm *c;
    int rc = grid_of(comm, &c);

    if (rc == 0)
        rc = wio_mpi_need("number of dimensions", n);
    if (rc == 0)
        *n = c->cart->n;
    return wio_mpi_result("WAITIO_MPI_Cartdim_get", rc);
}

int WAITIO_MPI_Cart_get(WAITIO_MPI_Comm comm, int n, int dims[], int periods[], int coords[])
{
    struct wio_comm *c;
    int all[WIO_MOST_DIMS], rc = grid_of(comm, &c);

    if (rc == 0 && n > 0)
        rc = wio_mpi_need("sizes", dims);
    if (rc == 0 && n > 0)
        rc = wio_mpi_need("periods", periods);
    if (rc == 0 && n > 0)
        rc = wio_mpi_need("coordinates", coords);
    if (rc == 0)
        coords_of(c->cart, c->rank, all);
    for (int d = 0; rc == 0 && d < n && d < c->cart->n; d++) {
        dims[d] = c->cart->size[d];
        periods[d] = c->cart->periodic[d];
        coords[d] = all[d];
    }
    return wio_mpi_result("WAITIO_MPI_Cart_get", rc);
}

int WAITIO_MPI_Cart_coords(WAITIO_MPI_Comm comm, int rank, int n, int coords[])
{
    struct wio_comm *c;
    int all[WIO_MOST_DIMS], rc = grid_of(comm, &c);

    if (rc == 0 && (rank < 0 || rank >= c->size))
        rc = wio_fail(WAITIO_ERR_RANK, "rank %d in a grid of %d", rank, c->size);
    if (rc == 0 && n > 0)
        rc = wio_mpi_need("coordinates", coords);
    if (rc == 0)
        coords_of(c->cart, rank, all);
    for (int d = 0; rc == 0 && d < n && d < c->cart->n; d++)
        coords[d] = all[d];
    return wio_mpi_result("WAITIO_MPI_Cart_coords", rc);
}

int WAITIO_MPI_Cart_rank(WAITIO_MPI_Comm comm, const int coords[], int *rank)
{
    struct wio_comm *c;
    int rc = grid_of(comm, &c);

    if (rc == 0 && c->cart->n > 0)
        rc = wio_mpi_need("coordinates", coords);
    if (rc == 0)
        rc = wio_mpi_need("rank", rank);
    if (rc == 0)
        *rank = rank_at(c->cart, coords);
    if (rc == 0 && *rank == WAITIO_MPI_PROC_NULL)
        rc = wio_fail(WAITIO_ERR_ARG, "the place lies outside the grid, which is not periodic");
    return wio_mpi_result("WAITIO_MPI_Cart_rank", rc);
}

/* The rank that is so many steps away in a direction, however many. */
static int rank_away(const struct wio_cart *g, int rank, int direction, int64_t steps)
{
    int coords[WIO_MOST_DIMS] = {0};
    int64_t size = g->size[direction];

    if (g->periodic[direction])
        steps %= size;
    else if (steps < -size || steps > size) /* as far outside */
        steps = size;
    coords_of(g, rank, coords);
    coords[direction] += (int)steps;
    return rank_at(g, coords);
}

int WAITIO_MPI_Cart_shift(WAITIO_MPI_Comm comm, int direction, int by, int *source, int *dest)
{
    struct wio_comm *c;
    int rc = grid_of(comm, &c);

    if (rc == 0 && (direction < 0 || direction >= c->cart->n))
        rc = wio_fail(WAITIO_MPI_ERR_DIMS, "direction %d of a grid of %d dimensions", direction,
                      c->cart->n);
    if (rc == 0)
        rc = wio_mpi_need("source", source);
    if (rc == 0)
        rc = wio_mpi_need("destination", dest);
    if (rc == 0) {
        *source = rank_away(c->cart, c->rank, direction, -(int64_t)by);
        *dest = rank_away(c->cart, c->rank, direction, by);
    }
    return wio_mpi_result("WAITIO_MPI_Cart_shift", rc);
}

void wio_cart_near(const struct wio_cart *g, int rank, struct wio_near *near)
{
    for (int d = 0; d < g->n; d++) {
        near->room[2 * d] = rank_away(g, rank, d, -1);
        near->room[2 * d + 1] = rank_away(g, rank, d, 1);
    }
    near->indegree = near->outdegree = 2 * g->n;
    near->in = near->out = near->room;
    near->crossed = true;
}

int WAITIO_MPI_Topo_test(WAITIO_MPI_Comm comm, int *kind)
{
    struct wio_comm *c;
    int rc = wio_comm_get(comm, &c);

    if (rc == 0)
        rc = wio_mpi_need("kind of topology", kind);
    if (rc == 0)
        *kind = c->cart != NULL    ? WAITIO_MPI_CART
                : c->graph == NULL ? WAITIO_MPI_UNDEFINED
                : c->graph->whole  ? WAITIO_MPI_GRAPH
                                   : WAITIO_MPI_DIST_GRAPH;
    return wio_mpi_result("WAITIO_MPI_Topo_test", rc);
}
