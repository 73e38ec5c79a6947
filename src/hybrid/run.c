/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations: the way each takes, and their life until they are complete. */
#include <sched.h>
#include <stdlib.h>

#include "hybrid/calls.h"

/* GCC takes MPICH's MPI_STATUSES_IGNORE for an array that is too short. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

static bool fits(size_t n)
{
    return n <= WIO_HYBRID_MOST;
}

/* Blocks of each kind whose lengths all members know. */
static bool sum_fits(const struct waitio_inside_blocks *b, int n, size_t unit)
{
    size_t sum = 0;

    for (int i = 0; i < n; i++) {
        sum += (b->len != NULL ? b->len[i] : b->unit) / unit;
        if (!fits(sum))
            return false;
    }
    return true;
}

/* With an array of blocks on one side (@p mixed) or on both. */
static enum wio_hybrid_way blocks_way(const struct wio_hybrid_part *p,
                                      const struct waitio_inside_call *c, bool mixed)
{
    if (p->size == 1 || mixed) /* MPICH 4.0's MPI_Allgatherv() of one process ignores the place */
        return WIO_HYBRID_MESSAGES;
    if (WIO_HYBRID_LARGE)
        return WIO_HYBRID_BLOCKS;
    return c->kind == WAITIO_INSIDE_ALLGATHER && sum_fits(&c->outs, p->size, 1)
               ? WIO_HYBRID_BLOCKS
               : WIO_HYBRID_MESSAGES;
}

static enum wio_hybrid_way gathering_way(const struct wio_hybrid_part *p,
                                         const struct waitio_inside_call *c)
{
    bool sends = c->kind == WAITIO_INSIDE_SCATTER || c->kind == WAITIO_INSIDE_ALLTOALL;
    bool receives = c->kind != WAITIO_INSIDE_SCATTER;
    bool in_place = c->kind == WAITIO_INSIDE_ALLTOALL && c->in == c->out;
    bool in = sends && !in_place && c->ins.len != NULL, out = receives && c->outs.len != NULL;

    if (!in && !out)
        return fits(c->kind == WAITIO_INSIDE_ALLTOALL ? c->outs.unit : c->bytes)
                   ? WIO_HYBRID_PLAIN
                   : WIO_HYBRID_MESSAGES;
    return blocks_way(p, c, in != out && c->kind == WAITIO_INSIDE_ALLTOALL && !in_place);
}

/* MPICH 4.0 and its relatives crash in an MPI_Reduce() of more than 2 KiB in place at a root that
 * is not rank 0. What the root does about it does not concern the others. */
static bool in_place_fails(const struct wio_hybrid_part *p, const struct waitio_inside_call *c)
{
#ifdef OMPI_MAJOR_VERSION
    (void)p, (void)c;
    return false;
#else
    return c->kind == WAITIO_INSIDE_REDUCE && c->in == c->out && c->root != 0 &&
           p->rank == c->root && c->count > 0;
#endif
}

/* All members find the same: only what they all know decides. */
static enum wio_hybrid_way way_of(const struct wio_hybrid_part *p,
                                  const struct waitio_inside_call *c)
{
    size_t unit = 1;

    switch (c->kind) {
    case WAITIO_INSIDE_BARRIER:
        return WIO_HYBRID_PLAIN;
    case WAITIO_INSIDE_BCAST:
        return fits(c->bytes) ? WIO_HYBRID_PLAIN : WIO_HYBRID_PIECES;
    case WAITIO_INSIDE_GATHER:
    case WAITIO_INSIDE_SCATTER:
    case WAITIO_INSIDE_ALLGATHER:
    case WAITIO_INSIDE_ALLTOALL:
        return gathering_way(p, c);
    case WAITIO_INSIDE_REDUCE_SCATTER:
        unit = c->fold != NULL ? c->fold->bytes : wio_hybrid_known_sum(c).bytes;
        if (!sum_fits(&c->ins, p->size, unit))
            return WIO_HYBRID_REDUCES;
        return c->ins.len == NULL ? WIO_HYBRID_PLAIN : WIO_HYBRID_BLOCKS;
    default:
        if (in_place_fails(p, c))
            return WIO_HYBRID_APART;
        return fits(c->count) ? WIO_HYBRID_PLAIN : WIO_HYBRID_PIECES;
    }
}

static const char *name_of(enum waitio_inside_kind kind)
{
    static const char *const names[] = {
        [WAITIO_INSIDE_BARRIER] = "MPI_Barrier()",
        [WAITIO_INSIDE_BCAST] = "MPI_Bcast()",
        [WAITIO_INSIDE_REDUCE] = "MPI_Reduce()",
        [WAITIO_INSIDE_ALLREDUCE] = "MPI_Allreduce()",
        [WAITIO_INSIDE_SCAN] = "MPI_Scan()",
        [WAITIO_INSIDE_EXSCAN] = "MPI_Exscan()",
        [WAITIO_INSIDE_GATHER] = "MPI_Gather()",
        [WAITIO_INSIDE_SCATTER] = "MPI_Scatter()",
        [WAITIO_INSIDE_ALLGATHER] = "MPI_Allgather()",
        [WAITIO_INSIDE_ALLTOALL] = "MPI_Alltoall()",
        [WAITIO_INSIDE_REDUCE_SCATTER] = "MPI_Reduce_scatter()",
    };

    return (size_t)kind < sizeof names / sizeof names[0] ? names[kind] : "an operation";
}

int wio_hybrid_requests(struct wio_hybrid_op *op, size_t n)
{
    if (n > INT_MAX)
        return MPI_ERR_NO_MEM;
    op->req = n <= 1 ? &op->one : malloc(n * sizeof *op->req);
    return op->req != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
}

int wio_hybrid_piece(const struct wio_hybrid_op *op, const struct waitio_inside_call *call,
                     MPI_Request *req)
{
    return wio_hybrid_call(op->part, call, &op->sum, req);
}

/* What an operation owns. */
static void clear(struct wio_hybrid_op *op)
{
    if (op->req != NULL && op->req != &op->one)
        free(op->req);
    free(op->ints);
    free(op->temp);
}

static bool reduces(enum waitio_inside_kind kind)
{
    return (kind >= WAITIO_INSIDE_REDUCE && kind <= WAITIO_INSIDE_EXSCAN) ||
           kind == WAITIO_INSIDE_REDUCE_SCATTER;
}

static int begin(struct wio_hybrid_op *op, enum wio_hybrid_way way, bool later)
{
    int rc = MPI_SUCCESS;

    if (reduces(op->call->kind) && op->call->fold != NULL)
        rc = wio_hybrid_fold_begin(op);
    else if (reduces(op->call->kind))
        op->sum = wio_hybrid_known_sum(op->call);
    if (rc != MPI_SUCCESS)
        return rc;
    switch (way) {
    case WIO_HYBRID_PLAIN:
        op->req = later ? &op->one : NULL;
        rc = wio_hybrid_call(op->part, op->call, &op->sum, op->req);
        op->n = later && rc == MPI_SUCCESS;
        return rc;
    case WIO_HYBRID_PIECES:
        return wio_hybrid_pieces(op, later);
    case WIO_HYBRID_APART:
        return wio_hybrid_apart(op, later);
    case WIO_HYBRID_BLOCKS:
        return wio_hybrid_blocks(op, later);
    case WIO_HYBRID_REDUCES:
        return wio_hybrid_reduces_all(op, later);
    default:
        return wio_hybrid_messages(op);
    }
}

/* Data that no single call takes, and blocks. */
__attribute__((noinline)) static int run_long(const struct wio_hybrid_part *part,
                                              const struct waitio_inside_call *call,
                                              enum wio_hybrid_way way, struct wio_hybrid_why *why)
{
    struct wio_hybrid_op op = {.call = call, .part = part};
    int rc = begin(&op, way, false);

    if (rc == MPI_SUCCESS && op.n > 0)
        rc = PMPI_Waitall(op.n, op.req, MPI_STATUSES_IGNORE);
    if (rc == MPI_SUCCESS && op.finish != NULL)
        op.finish(&op);
    if (rc != MPI_SUCCESS && op.n > 0) /* MPI may still use what it has been given */
        return wio_hybrid_mpi_error(why, rc, name_of(call->kind));
    clear(&op);
    if (rc == MPI_SUCCESS)
        return wio_hybrid_fold_end(&op, why);
    (void)wio_hybrid_fold_end(&op, &(struct wio_hybrid_why){NULL, 0});
    return wio_hybrid_mpi_error(why, rc, name_of(call->kind));
}

/* MPI_THREAD_SERIALIZED: a thread that waits inside MPI would keep all others out, perhaps those
 * that its partners wait for. */
__attribute__((noinline)) static int run_in_turns(struct wio_hybrid_part *part,
                                                  const struct waitio_inside_call *call,
                                                  struct wio_hybrid_why *why)
{
    void *op = NULL;
    int done = 0, rc = wio_hybrid_start(part, call, &op, why->text, why->room);

    while (rc == 0 && !done) {
        rc = wio_hybrid_test(part, op, &done, why->text, why->room);
        if (!done)
            (void)sched_yield();
    }
    return rc;
}

int wio_hybrid_run(void *p, const struct waitio_inside_call *call, char *text, size_t room)
{
    struct wio_hybrid_part *part = p;
    struct wio_hybrid_why why = {text, room};
    enum wio_hybrid_way way;
    int rc;

    if (!part->plain)
        return run_in_turns(part, call, &why);
    way = way_of(part, call);
    if (way != WIO_HYBRID_PLAIN || call->fold != NULL)
        return run_long(part, call, way, &why);
    rc = wio_hybrid_call(part, call, NULL, NULL);
    return rc == MPI_SUCCESS ? 0 : wio_hybrid_mpi_error(&why, rc, name_of(call->kind));
}

int wio_hybrid_start(void *p, const struct waitio_inside_call *call, void **out, char *text,
                     size_t room)
{
    struct wio_hybrid_part *part = p;
    struct wio_hybrid_why why = {text, room};
    struct wio_hybrid_op *op;
    int rc = part->comm == MPI_COMM_NULL ? wio_hybrid_ready(&why) : 0;

    if (rc != 0)
        return rc;
    op = calloc(1, sizeof *op);
    if (op == NULL)
        return wio_hybrid_fail(&why, WAITIO_ERR_NOMEM, "no memory for an operation");
    op->call = call;
    op->part = part;
    wio_hybrid_lock();
    rc = begin(op, way_of(part, call), true);
    wio_hybrid_unlock();
    if (rc == MPI_SUCCESS) {
        *out = op;
        return 0;
    }
    rc = wio_hybrid_mpi_error(&why, rc, name_of(call->kind));
    if (op->n > 0) { /* some pieces are under way */
        wio_hybrid_abandon(part, op);
    } else {
        (void)wio_hybrid_fold_end(op, &(struct wio_hybrid_why){NULL, 0});
        clear(op);
        free(op);
    }
    return rc;
}

int wio_hybrid_test(void *p, void *o, int *done, char *text, size_t room)
{
    struct wio_hybrid_op *op = o;
    struct wio_hybrid_part *part = p;
    struct wio_hybrid_why why = {text, room};
    int rc = MPI_SUCCESS;

    *done = 1;
    if (part->comm == MPI_COMM_NULL) {
        wio_hybrid_abandon(part, op);
        return wio_hybrid_ready(&why);
    }
    wio_hybrid_lock();
    if (op->n == 1)
        rc = PMPI_Test(op->req, done, MPI_STATUS_IGNORE);
    else if (op->n > 1)
        rc = PMPI_Testall(op->n, op->req, done, MPI_STATUSES_IGNORE);
    wio_hybrid_unlock();
    if (rc != MPI_SUCCESS) {
        rc = wio_hybrid_mpi_error(&why, rc, name_of(op->call->kind));
        *done = 1;
    } else if (!*done) {
        return 0;
    } else {
        if (op->finish != NULL)
            op->finish(op);
        rc = wio_hybrid_fold_end(op, &why);
    }
    clear(op);
    free(op);
    return rc;
}

/* MPI may still write where the requests say, and read its arrays: nothing is given back. */
void wio_hybrid_abandon(void *p, void *o)
{
    static struct wio_hybrid_op *given_up; /* found by leak checkers */
    struct wio_hybrid_op *op = o;

    (void)p;
    op->next = __atomic_load_n(&given_up, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&given_up, &op->next, op, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED))
        continue;
}
