/* SPDX-License-Identifier: BSD-3-Clause */
/* The collective calls: arguments are checked and resolved here, then a schedule is written and
 * run. */
#include "mpi/collectives/collectives.h"
#include "mpi/mpi.h"

/* One element type and count as a caller gave them. */
struct typed {
    int count;
    WAITIO_MPI_Datatype type;
};

static int run(enum wio_collective_kind kind, const struct wio_mpi_context *ctx,
               const struct wio_collective *c, wio_mpi_kernel kernel)
{
    struct wio_schedule s;
    int rc;

    wio_schedule_init(&s, ctx->rank, ctx->size, kernel);
    wio_algorithm_select(kind, ctx->size, c->bytes)->write(&s, c);
    rc = wio_schedule_run(&s, ctx);
    wio_schedule_free(&s);
    return rc;
}

static int check_root(const struct wio_mpi_context *ctx, int root)
{
    if (root < 0 || root >= ctx->size)
        return wio_fail(WAITIO_ERR_RANK, "root %d: the communicator has ranks 0 to %d", root,
                        ctx->size - 1);
    return 0;
}

static int check_buffer(const char *name, const void *buf, size_t bytes)
{
    if (bytes > 0 && (buf == NULL || buf == WAITIO_MPI_IN_PLACE))
        return wio_fail(WAITIO_ERR_ARG, "%s buffer is %s but %zu bytes are asked for", name,
                        buf == NULL ? "NULL" : "WAITIO_MPI_IN_PLACE", bytes);
    return 0;
}

int wio_mpi_barrier(WAITIO_MPI_Comm comm)
{
    struct wio_mpi_context ctx;
    struct wio_collective c = {0};
    int rc = wio_mpi_context_get(comm, &ctx);

    return rc != 0 ? rc : run(WIO_BARRIER, &ctx, &c, NULL);
}

int wio_mpi_bcast(void *buf, int count, WAITIO_MPI_Datatype type, int root, WAITIO_MPI_Comm comm)
{
    struct wio_mpi_context ctx;
    struct wio_collective c = {.out = buf, .root = root};
    int rc = wio_mpi_context_get(comm, &ctx);

    if (rc == 0)
        rc = check_root(&ctx, root);
    if (rc == 0)
        rc = wio_mpi_bytes(count, type, &c.bytes);
    if (rc == 0)
        rc = check_buffer("broadcast", buf, c.bytes);
    return rc != 0 ? rc : run(WIO_BCAST, &ctx, &c, NULL);
}

/* What reduce and allreduce share; @p wants: this process gets the result. */
static int reduction(struct wio_collective *c, int count, WAITIO_MPI_Datatype type,
                     WAITIO_MPI_Op op, bool wants, wio_mpi_kernel *kernel)
{
    int rc = wio_mpi_bytes(count, type, &c->bytes);

    if (rc == 0)
        rc = wio_mpi_find_kernel(type, op, kernel);
    if (rc == 0 && wants)
        rc = check_buffer("receive", c->out, c->bytes);
    if (wants && c->in == WAITIO_MPI_IN_PLACE)
        c->in = c->out;
    if (rc == 0)
        rc = check_buffer("send", c->in, c->bytes);
    c->count = (size_t)count;
    return rc;
}

int wio_mpi_reduce(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                   WAITIO_MPI_Op op, int root, WAITIO_MPI_Comm comm)
{
    struct wio_mpi_context ctx;
    struct wio_collective c = {.in = sbuf, .out = rbuf, .root = root};
    wio_mpi_kernel kernel = NULL;
    int rc = wio_mpi_context_get(comm, &ctx);

    if (rc == 0)
        rc = check_root(&ctx, root);
    if (rc == 0)
        rc = reduction(&c, count, type, op, ctx.rank == root, &kernel);
    return rc != 0 ? rc : run(WIO_REDUCE, &ctx, &c, kernel);
}

int wio_mpi_allreduce(const void *sbuf, void *rbuf, int count, WAITIO_MPI_Datatype type,
                      WAITIO_MPI_Op op, WAITIO_MPI_Comm comm)
{
    struct wio_mpi_context ctx;
    struct wio_collective c = {.in = sbuf, .out = rbuf};
    wio_mpi_kernel kernel = NULL;
    int rc = wio_mpi_context_get(comm, &ctx);

    if (rc == 0)
        rc = reduction(&c, count, type, op, true, &kernel);
    return rc != 0 ? rc : run(WIO_ALLREDUCE, &ctx, &c, kernel);
}

/* Describe the root's blocks: counts of a type each, or one count for all. */
static int describe_blocks(struct wio_collective *c, const struct wio_mpi_context *ctx,
                           const struct typed *each, const int counts[], const int displs[])
{
    int rc = wio_mpi_bytes(counts == NULL ? each->count : 1, each->type, &c->unit);

    c->counts = counts;
    c->displs = displs;
    for (int i = 0; rc == 0 && counts != NULL && i < ctx->size; i++)
        if (counts[i] < 0 || displs[i] < 0)
            rc = wio_fail(WAITIO_ERR_ARG, "count %d, displacement %d for rank %d: negative",
                          counts[i], displs[i], i);
    return rc;
}

/* The root's own part moves by copying: it needs the check that others get from the transport. */
static int check_own(const char *what, size_t data, size_t room)
{
    if (data > room)
        return wio_fail(WAITIO_ERR_TRUNCATE, "%s: the root's own part has %zu bytes, room is %zu",
                        what, data, room);
    return 0;
}

static bool v_arguments_missing(bool is_root, bool is_v, const int counts[], const int displs[])
{
    return is_root && is_v && (counts == NULL || displs == NULL);
}

int wio_mpi_gather(const struct wio_mpi_gather_args *a, int root, WAITIO_MPI_Comm comm)
{
    struct wio_mpi_context ctx;
    struct wio_collective c = {.in = a->sbuf, .out = a->rbuf, .root = root};
    struct typed each = {a->rcount, a->rtype};
    bool in_place = false;
    int rc = wio_mpi_context_get(comm, &ctx);

    if (rc == 0)
        rc = check_root(&ctx, root);
    if (rc == 0 && v_arguments_missing(ctx.rank == root, a->is_v, a->counts, a->displs))
        rc = wio_fail(WAITIO_ERR_ARG, "counts or displacements are NULL at the root");
    if (rc == 0 && ctx.rank == root) {
        rc = describe_blocks(&c, &ctx, &each, a->counts, a->displs);
        if (rc == 0)
            rc = check_buffer("receive", a->rbuf, wio_block_bytes(&c, root));
        in_place = a->sbuf == WAITIO_MPI_IN_PLACE;
        if (rc == 0 && in_place) {
            c.in = (char *)a->rbuf + wio_block_at(&c, root);
            c.bytes = wio_block_bytes(&c, root);
        }
    }
    if (rc == 0 && !in_place)
        rc = wio_mpi_bytes(a->scount, a->stype, &c.bytes);
    if (rc == 0)
        rc = check_buffer("send", c.in, c.bytes);
    if (rc == 0 && ctx.rank == root)
        rc = check_own("gather", c.bytes, wio_block_bytes(&c, root));
    return rc != 0 ? rc : run(WIO_GATHER, &ctx, &c, NULL);
}

int wio_mpi_scatter(const struct wio_mpi_gather_args *a, int root, WAITIO_MPI_Comm comm)
{
    struct wio_mpi_context ctx;
    struct wio_collective c = {.in = a->sbuf, .out = a->rbuf, .root = root};
    struct typed each = {a->scount, a->stype};
    bool in_place = false;
    int rc = wio_mpi_context_get(comm, &ctx);

    if (rc == 0)
        rc = check_root(&ctx, root);
    if (rc == 0 && v_arguments_missing(ctx.rank == root, a->is_v, a->counts, a->displs))
        rc = wio_fail(WAITIO_ERR_ARG, "counts or displacements are NULL at the root");
    if (rc == 0 && ctx.rank == root) {
        rc = describe_blocks(&c, &ctx, &each, a->counts, a->displs);
        if (rc == 0)
            rc = check_buffer("send", a->sbuf, wio_block_bytes(&c, root));
        in_place = a->rbuf == WAITIO_MPI_IN_PLACE;
        if (rc == 0 && in_place) {
            c.out = (char *)(uintptr_t)a->sbuf + wio_block_at(&c, root);
            c.bytes = wio_block_bytes(&c, root);
        }
    }
    if (rc == 0 && !in_place)
        rc = wio_mpi_bytes(a->rcount, a->rtype, &c.bytes);
    if (rc == 0)
        rc = check_buffer("receive", c.out, c.bytes);
    if (rc == 0 && ctx.rank == root)
        rc = check_own("scatter", wio_block_bytes(&c, root), c.bytes);
    return rc != 0 ? rc : run(WIO_SCATTER, &ctx, &c, NULL);
}

int wio_mpi_allgather(const struct wio_mpi_gather_args *a, WAITIO_MPI_Comm comm)
{
    struct wio_mpi_context ctx;
    struct wio_collective c = {.in = a->sbuf, .out = a->rbuf};
    int rc = wio_mpi_context_get(comm, &ctx);

    if (rc == 0)
        rc = wio_mpi_bytes(a->rcount, a->rtype, &c.unit);
    if (rc == 0)
        rc = check_buffer("receive", a->rbuf, c.unit);
    if (rc == 0 && a->sbuf == WAITIO_MPI_IN_PLACE) {
        c.in = (char *)a->rbuf + c.unit * (size_t)ctx.rank;
        c.bytes = c.unit;
    } else if (rc == 0) {
        rc = wio_mpi_bytes(a->scount, a->stype, &c.bytes);
    }
    if (rc == 0)
        rc = check_buffer("send", c.in, c.bytes);
    /* Blocks are passed on from process to process, so both sides must be of one size. */
    if (rc == 0 && c.bytes != c.unit)
        rc = wio_fail(WAITIO_ERR_ARG, "%zu bytes are sent but %zu received from each member",
                      c.bytes, c.unit);
    return rc != 0 ? rc : run(WIO_ALLGATHER, &ctx, &c, NULL);
}
