/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the arguments of a collective call to a schedule: checks arguments, gives buffers of types
 * with holes a packed copy that is filled before and unpacked after, resolves in-place arguments,
 * and chooses the algorithm. Algorithms see bytes only.
 */
#include "mpi/coll.h"

#include "mpi/inside.h"

/* What is being put together. */
struct plan {
    struct wio_schedule *s;
    const struct wio_call *call;
    const struct wio_caller *who;
    struct wio_collective c;
    const struct wio_algorithm *row; /* once it is chosen */
    struct unpack *after;            /* packed results to be unpacked at the end */
    int blocks;                      /* of this area: one for each member or neighbour */
    int rc;
};

/* A result that lies packed. */
struct unpack {
    struct unpack *next;
    const struct wio_mpi_type *type;
    const void *packed;
    void *user;
    size_t bytes;
};

static void unpack_later(struct plan *p, const struct wio_mpi_type *type, const void *packed,
                         void *user, size_t bytes)
{
    struct unpack *u;

    if (bytes == 0)
        return;
    u = wio_schedule_scratch(p->s, sizeof *u);
    if (p->s->error == 0) {
        *u = (struct unpack){p->after, type, packed, user, bytes};
        p->after = u;
    }
}

static bool reduces(enum wio_collective_kind kind)
{
    return kind == WIO_REDUCE || kind == WIO_ALLREDUCE || kind == WIO_REDUCE_SCATTER ||
           kind == WIO_SCAN || kind == WIO_EXSCAN;
}

static bool rooted(enum wio_collective_kind kind)
{
    return kind == WIO_BCAST || kind == WIO_REDUCE || kind == WIO_GATHER || kind == WIO_SCATTER;
}

/* Can data of this type be used in place? */
static bool as_it_lies(const struct plan *p, const struct wio_mpi_type *t)
{
    return t->solid && !p->who->swap;
}

/* Where there is no data the type is not used: programs write DATATYPE_NULL there. Operators need
 * one all the same. */
static int use_type(const struct plan *p, int64_t count, WAITIO_MPI_Datatype id,
                    const struct wio_mpi_type **t)
{
    bool unused = count == 0 && id == WAITIO_MPI_DATATYPE_NULL && !reduces(p->call->kind);
    int rc = wio_type_use(count, unused ? WAITIO_MPI_BYTE : id, t);

    return rc != 0 || p->who->comm == NULL ? rc : wio_comm_takes(p->who->comm, *t);
}

static bool in_place(const struct wio_side *side)
{
    return side->buf == WAITIO_MPI_IN_PLACE;
}

static void *writable(const struct wio_side *side)
{
    return (void *)(uintptr_t)side->buf;
}

static bool failed(struct plan *p, int rc)
{
    if (p->rc == 0)
        p->rc = rc;
    return p->rc != 0;
}

/* @param absolute the type has absolute addresses: NULL means BOTTOM */
static int check_buffer(const char *name, const void *buf, size_t bytes, bool absolute)
{
    if (bytes > 0 && ((buf == NULL && !absolute) || buf == WAITIO_MPI_IN_PLACE))
        return wio_fail(WAITIO_ERR_ARG, "%s buffer is %s but %zu bytes are asked for", name,
                        buf == NULL ? "NULL" : "WAITIO_MPI_IN_PLACE", bytes);
    return 0;
}

/* ---- the algorithm ---- */

/* Does the communicator lie in one PB whose provider can do the call? */
static bool alone(const struct plan *p)
{
    const struct wio_inside *inside = p->s->inside;

    return inside != NULL && p->who->topo->npb == 1 &&
           (!reduces(p->call->kind) || p->s->fold.type->size == 0 ||
            wio_inside_reduces(inside, &p->s->fold, p->call->op, p->who->swap) != WIO_INSIDE_NOT);
}

/* @param bytes what wio_choice.bytes says */
static const struct wio_algorithm *choose(const struct plan *p, size_t bytes)
{
    p->s->inside = p->who->messages ? NULL : wio_inside_for(p->who->comm, bytes);
    struct wio_choice choice = {.kind = p->call->kind,
                                .size = p->who->size,
                                .bytes = bytes,
                                .commutes = !reduces(p->call->kind) || p->s->fold.commutative,
                                .equal = !p->call->v,
                                .topo = p->who->topo,
                                .alone = alone(p),
                                .hybrid = (p->who->topo->hybrid & wio_inside_class(bytes)) != 0,
                                .asked = p->who->asked};
    const struct wio_algorithm *rivals[WIO_TUNE_RIVALS];
    int n = p->who->tune != NULL ? wio_algorithm_rivals(&choice, rivals) : 0;

    if (WIO_LIKELY(n == 0))
        return wio_algorithm_select(&choice);
    p->s->trial = wio_tune_of(p->who->tune, bytes);
    return rivals[wio_tune_next(p->s->trial, n)];
}

/* ---- buffers of one block ---- */

/* The chosen algorithm packs the data part by part itself. */
static bool packs_itself(const struct plan *p)
{
    return p->row != NULL && (p->row->need & WIO_PACKS) != 0 && !p->who->swap;
}

/* The side's data. @return its packed form, filled when it is an operand; the
 * program's address with *type set where the algorithm packs */
static void *block(struct plan *p, const char *name, const struct wio_side *side, bool is_operand,
                   size_t *bytes, const struct wio_mpi_type **type)
{
    const struct wio_mpi_type *t = NULL;
    void *packed;

    *bytes = 0;
    if (p->rc != 0 || failed(p, use_type(p, side->count, side->type, &t)))
        return NULL;
    *bytes = (size_t)side->count * t->size;
    if (failed(p, check_buffer(name, side->buf, *bytes, wio_type_absolute(t))) || *bytes == 0)
        return NULL;
    if (as_it_lies(p, t))
        return (char *)writable(side) + t->lb;
    if (packs_itself(p)) {
        *type = t;
        return writable(side);
    }
    packed = wio_schedule_scratch(p->s, *bytes);
    if (is_operand)
        wio_schedule_pack(p->s, t, side->buf, 0, packed, *bytes);
    return packed;
}

static const void *operand(struct plan *p, const struct wio_side *side, size_t *bytes)
{
    return block(p, "send", side, true, bytes, &p->c.in_type);
}

/* As block(), and unpacked at the end. */
static void *result(struct plan *p, const struct wio_side *side, size_t *bytes)
{
    void *packed = block(p, "receive", side, false, bytes, &p->c.out_type);
    const struct wio_mpi_type *t = p->rc == 0 && *bytes > 0 ? wio_mpi_type(side->type) : NULL;

    if (t != NULL && !as_it_lies(p, t) && p->c.out_type == NULL)
        unpack_later(p, t, packed, writable(side), *bytes);
    return packed;
}

/* ---- buffers of a block per member ---- */

/* Address, count and type of block i of a side, in the program's memory. */
struct block_of {
    const struct wio_mpi_type *type;
    int64_t at;
    char *user;
    size_t bytes;
};

enum use { FOR_SENDING, FOR_RECEIVING };

/* Does block i belong to an edge that leads nowhere? It is neither sent nor filled then, and the
 * program's memory stays as it is. */
static bool leads_nowhere(const struct plan *p, enum use use, int i)
{
    const struct wio_near *near = p->c.near;

    return near != NULL && (use == FOR_SENDING ? near->out : near->in)[i] == WAITIO_MPI_PROC_NULL;
}

/* Where block @p i begins, in bytes. @return false: beyond 2^63 */
static bool place_of(const struct wio_side *side, const struct wio_mpi_type *t, int i, int64_t *at)
{
    if (side->places != NULL)
        *at = side->places[i];
    else if (side->displs != NULL)
        *at = side->displs[i];
    else if (__builtin_mul_overflow(i, side->count, at))
        return false;
    return side->types != NULL || !__builtin_mul_overflow(*at, wio_type_extent(t), at);
}

static bool find_block(struct plan *p, const struct wio_side *side, int i, struct block_of *b)
{
    int64_t count = wio_side_count(side, i), at = 0;

    if (failed(p, use_type(p, count, side->types != NULL ? side->types[i] : side->type, &b->type)))
        return false;
    b->bytes = (size_t)count * b->type->size;
    if (b->bytes > 0 && !place_of(side, b->type, i, &at)) /* else the place is not used */
        return !failed(p, wio_fail(WAITIO_ERR_LIMIT, "block %d begins beyond 2^63 bytes", i));
    b->at = at;
    b->user = (char *)((uintptr_t)side->buf + (uintptr_t)at); /* BOTTOM is NULL */
    return true;
}

/* Can all blocks be used in place? */
static bool all_solid(struct plan *p, const struct wio_side *side)
{
    struct block_of b;

    if (p->blocks == 0)
        return true;
    if (side->types == NULL)
        return !failed(p, use_type(p, 0, side->type, &b.type)) && as_it_lies(p, b.type);
    for (int i = 0; i < p->blocks; i++)
        if (!find_block(p, side, i, &b) || !as_it_lies(p, b.type))
            return false;
    return true;
}

/* Does the data lie at absolute addresses? Displacements may be addresses, too. */
static bool lies_absolute(const struct wio_side *side, const struct block_of *b)
{
    return b->bytes == 0 || wio_type_absolute_at(b->type, side->places != NULL ? b->at : 0);
}

/* Fill the table of an area whose blocks differ. @p fresh: packed memory instead of the user's */
static void describe(struct plan *p, const struct wio_side *side, const char *name, enum use use,
                     bool fresh, struct wio_area *area)
{
    size_t n = (size_t)p->blocks, total = 0;
    size_t *len = wio_schedule_scratch(p->s, n * sizeof *len);
    int64_t *at = wio_schedule_scratch(p->s, n * sizeof *at);
    struct block_of b;
    bool absolute = true;

    for (int i = 0; p->s->error == 0 && i < p->blocks; i++) {
        if (!find_block(p, side, i, &b))
            return;
        if (leads_nowhere(p, use, i))
            b.bytes = 0;
        absolute &= lies_absolute(side, &b);
        if (b.bytes > PTRDIFF_MAX - total) {
            failed(p, wio_fail(WAITIO_ERR_LIMIT, "the %s buffer has 2^63 bytes or more", name));
            return;
        }
        len[i] = b.bytes;
        at[i] = fresh ? (int64_t)total : b.at + b.type->lb;
        total += b.bytes;
    }
    if (failed(p, check_buffer(name, side->buf, total, absolute)))
        return;
    area->len = len;
    area->at = at;
    area->base = fresh ? wio_schedule_scratch(p->s, total) : writable(side);
    for (int i = 0; fresh && p->s->error == 0 && i < p->blocks; i++) {
        if (!find_block(p, side, i, &b))
            return;
        if (use == FOR_SENDING)
            wio_schedule_pack(p->s, b.type, b.user, 0, area->base + at[i], len[i]);
        else
            unpack_later(p, b.type, area->base + at[i], b.user, len[i]);
    }
}

static void describe_equal(struct plan *p, const struct wio_side *side, const char *name,
                           enum use use, bool fresh, struct wio_area *area)
{
    const struct wio_mpi_type *t;
    size_t total;

    if (failed(p, use_type(p, side->count, side->type, &t)))
        return;
    area->unit = (size_t)side->count * t->size;
    if (__builtin_mul_overflow(area->unit, (size_t)p->blocks, &total) || total > PTRDIFF_MAX)
        failed(p, wio_fail(WAITIO_ERR_LIMIT, "the %s buffer has 2^63 bytes or more", name));
    if (failed(p, check_buffer(name, side->buf, total, wio_type_absolute(t))))
        return;
    if (!fresh) {
        area->base = total == 0 ? NULL : (char *)writable(side) + t->lb;
        return;
    }
    area->base = wio_schedule_scratch(p->s, total);
    if (use == FOR_SENDING)
        wio_schedule_pack(p->s, t, side->buf, 0, area->base, total);
    else
        unpack_later(p, t, area->base, writable(side), total);
}

static void area(struct plan *p, const struct wio_side *side, enum use use, bool copied,
                 struct wio_area *out)
{
    const char *name = use == FOR_SENDING ? "send" : "receive";

    if (p->rc != 0)
        return;
    if (p->call->v && p->blocks > 0 &&
        (!wio_side_lists(side) || (side->displs == NULL && side->places == NULL))) {
        failed(p,
               wio_fail(WAITIO_ERR_ARG, "counts or displacements of the %s buffer are NULL", name));
        return;
    }
    if (!copied)
        copied = !all_solid(p, side);
    if (p->rc == 0)
        (p->call->v || p->c.near != NULL ? describe : describe_equal)(p, side, name, use, copied,
                                                                      out);
}

/* ---- the kinds ---- */

/* The own part is copied: check its size here, as messages check those of the others. */
static void check_own(struct plan *p, const char *what, size_t data, size_t room)
{
    if (p->rc == 0 && data != room)
        p->rc = wio_fail(data > room ? WAITIO_ERR_TRUNCATE : WAITIO_ERR_ARG,
                         "%s: my own part has %zu bytes, its place %zu", what, data, room);
}

/* In-place gathers: the contribution is the own block of the result. */
static void own_as_operand(struct plan *p, const struct wio_side *side)
{
    struct block_of b;
    char *at;

    if (p->rc != 0 || !find_block(p, side, p->who->rank, &b))
        return;
    at = wio_area_at(&p->c.outs, p->who->rank);
    p->c.in = at;
    p->c.bytes = b.bytes;
    if (at != b.user + b.type->lb)
        wio_schedule_pack(p->s, b.type, b.user, 0, at, b.bytes);
}

static void plan_bcast(struct plan *p)
{
    const struct wio_side *side = &p->call->recv;
    bool root = p->who->rank == p->call->root;
    const struct wio_mpi_type *t;

    if (failed(p, use_type(p, side->count, side->type, &t)))
        return;
    p->row = choose(p, (size_t)side->count * t->size);
    p->c.out = block(p, "broadcast", side, root, &p->c.bytes, &p->c.out_type);
    if (p->rc == 0 && !as_it_lies(p, t) && p->c.out_type == NULL && !root)
        unpack_later(p, t, p->c.out, writable(&p->call->recv), p->c.bytes);
}

/* Reductions; in place the operand is in the result's buffer. */
static void plan_reduction(struct plan *p, bool wants)
{
    const struct wio_call *call = p->call;
    struct wio_side from = call->send;
    size_t room = 0;

    p->row = choose(p, (size_t)call->recv.count * p->s->fold.type->size);
    from.count = call->recv.count;
    from.type = call->recv.type;
    if (wants)
        p->c.out = result(p, &call->recv, &room);
    if (in_place(&call->send) && (wants || call->kind == WIO_EXSCAN))
        from.buf = call->recv.buf;
    p->c.in = operand(p, &from, &p->c.bytes);
    p->c.count = (size_t)from.count;
}

/* Members among whom the result of a reduce_scatter is spread. */
static int sharers(const struct plan *p)
{
    return p->who->inter != NULL ? p->who->inter->size : p->who->size;
}

/* This process's place among them. */
static int my_share(const struct plan *p)
{
    return p->who->inter != NULL ? p->who->rank - p->who->inter->first : p->who->rank;
}

static void plan_reduce_scatter(struct plan *p)
{
    const struct wio_call *call = p->call;
    struct wio_side whole = call->send, mine = call->recv;
    size_t *len = wio_schedule_scratch(p->s, (size_t)sharers(p) * sizeof *len), bytes, total = 0;
    int64_t *at = wio_schedule_scratch(p->s, (size_t)sharers(p) * sizeof *at);
    const struct wio_mpi_type *t = NULL;

    if (p->s->error != 0 || failed(p, use_type(p, 0, call->recv.type, &t)))
        return;
    if (call->listed && !wio_side_lists(&call->recv) && failed(p, wio_mpi_need("counts", NULL)))
        return;
    whole.count = 0;
    for (int i = 0; i < sharers(p); i++) {
        int64_t count = wio_side_count(&call->recv, i);
        if (failed(p, use_type(p, count, call->recv.type, &t)))
            return;
        if (__builtin_add_overflow(whole.count, count, &whole.count)) {
            failed(p, wio_fail(WAITIO_ERR_LIMIT, "2^63 elements or more in all"));
            return;
        }
        len[i] = (size_t)count * t->size;
        at[i] = (int64_t)total;
        total += len[i];
        if (i == my_share(p))
            mine.count = count;
    }
    p->c.count = (size_t)whole.count;
    whole.type = mine.type;
    if (in_place(&whole))
        whole.buf = mine.buf;
    p->c.in = operand(p, &whole, &bytes); /* and refuses what has 2^63 bytes */
    p->c.out = result(p, &mine, &p->c.bytes);
    p->c.ins = (struct wio_area){.len = len, .at = at};
}

static void plan_gather(struct plan *p)
{
    const struct wio_call *call = p->call;
    bool root = p->who->rank == call->root;

    if (root)
        area(p, &call->recv, FOR_RECEIVING, false, &p->c.outs);
    if (root && in_place(&call->send))
        own_as_operand(p, &call->recv);
    else
        p->c.in = operand(p, &call->send, &p->c.bytes);
    if (root && p->rc == 0)
        check_own(p, "gather", p->c.bytes, wio_area_len(&p->c.outs, p->who->rank));
}

static void plan_scatter(struct plan *p)
{
    const struct wio_call *call = p->call;
    bool root = p->who->rank == call->root;

    if (root)
        area(p, &call->send, FOR_SENDING, false, &p->c.ins);
    if (root && in_place(&call->recv) && p->rc == 0) {
        p->c.out = wio_area_at(&p->c.ins, p->who->rank);
        p->c.bytes = wio_area_len(&p->c.ins, p->who->rank);
    } else {
        p->c.out = result(p, &call->recv, &p->c.bytes);
    }
    if (root && p->rc == 0)
        check_own(p, "scatter", wio_area_len(&p->c.ins, p->who->rank), p->c.bytes);
}

static void plan_allgather(struct plan *p)
{
    const struct wio_call *call = p->call;

    area(p, &call->recv, FOR_RECEIVING, false, &p->c.outs);
    if (in_place(&call->send))
        own_as_operand(p, &call->recv);
    else
        p->c.in = operand(p, &call->send, &p->c.bytes);
    /* Processes pass blocks on, so both sides must have the same size. */
    if (p->rc == 0)
        check_own(p, "allgather", p->c.bytes, wio_area_len(&p->c.outs, p->who->rank));
}

static void plan_alltoall(struct plan *p)
{
    const struct wio_call *call = p->call;

    if (in_place(&call->send))
        area(p, &call->recv, FOR_SENDING, true, &p->c.ins); /* a copy: results come in meanwhile */
    else
        area(p, &call->send, FOR_SENDING, false, &p->c.ins);
    area(p, &call->recv, FOR_RECEIVING, false, &p->c.outs);
    if (p->rc == 0)
        check_own(p, "alltoall", wio_area_len(&p->c.ins, p->who->rank),
                  wio_area_len(&p->c.outs, p->who->rank));
}

/* A block per neighbour on both sides, or one block for all neighbours that receive from here. */
static void plan_neighbours(struct plan *p)
{
    const struct wio_call *call = p->call;

    if (in_place(&call->send)) {
        failed(p, wio_fail(WAITIO_MPI_ERR_BUFFER,
                           "collectives of neighbourhoods cannot be done in place"));
        return;
    }
    p->c.near = p->who->near;
    p->c.every = call->kind == WIO_NEIGHBOR_ALLGATHER;
    p->blocks = p->c.near->outdegree;
    if (p->c.every)
        p->c.in = operand(p, &call->send, &p->c.bytes);
    else
        area(p, &call->send, FOR_SENDING, false, &p->c.ins);
    p->blocks = p->c.near->indegree;
    area(p, &call->recv, FOR_RECEIVING, false, &p->c.outs);
}

/* Reductions between groups; the root of a reduction contributes nothing. */
static void between_sums(struct plan *p, bool root)
{
    struct wio_side from = p->call->send;
    bool all = p->call->kind == WIO_ALLREDUCE;

    from.count = p->call->recv.count;
    from.type = p->call->recv.type;
    p->c.count = (size_t)from.count;
    if (all || root)
        p->c.out = result(p, &p->call->recv, &p->c.bytes);
    if (all || !root)
        p->c.in = operand(p, &from, &p->c.bytes);
}

/* Blocks between groups: one for each far member, at the root or everywhere. */
static void between_blocks(struct plan *p, bool root)
{
    enum wio_collective_kind kind = p->call->kind;
    bool gather = kind == WIO_GATHER, scatter = kind == WIO_SCATTER;

    p->blocks = p->who->inter->far_size;
    if (kind == WIO_ALLTOALL || (scatter && root))
        area(p, &p->call->send, FOR_SENDING, false, &p->c.ins);
    if (kind == WIO_ALLGATHER || (gather && !root))
        p->c.in = operand(p, &p->call->send, &p->c.bytes);
    if (scatter && !root)
        p->c.out = result(p, &p->call->recv, &p->c.bytes);
    if (!scatter && (!gather || root))
        area(p, &p->call->recv, FOR_RECEIVING, false, &p->c.outs);
}

static void plan_between(struct plan *p)
{
    const struct wio_call *call = p->call;
    bool root = call->root == WAITIO_MPI_ROOT;

    p->c.inter = p->who->inter;
    p->c.kind = call->kind;
    if (in_place(&call->send) || in_place(&call->recv)) {
        failed(p,
               wio_fail(WAITIO_MPI_ERR_BUFFER, "nothing can be in place on an intercommunicator"));
        return;
    }
    switch (call->kind) {
    case WIO_BARRIER:
        break;
    case WIO_BCAST:
        p->c.out = root ? block(p, "broadcast", &call->recv, true, &p->c.bytes, &p->c.out_type)
                        : result(p, &call->recv, &p->c.bytes);
        break;
    case WIO_REDUCE:
    case WIO_ALLREDUCE:
        between_sums(p, root);
        break;
    case WIO_REDUCE_SCATTER:
        plan_reduce_scatter(p);
        break;
    case WIO_SCAN:
    case WIO_EXSCAN:
        failed(p, wio_fail(WAITIO_MPI_ERR_COMM, "an intercommunicator has no scans"));
        break;
    default:
        between_blocks(p, root);
    }
}

static void plan_kind(struct plan *p)
{
    switch (p->call->kind) {
    case WIO_BARRIER:
        break;
    case WIO_BCAST:
        plan_bcast(p);
        break;
    case WIO_REDUCE:
        plan_reduction(p, p->who->rank == p->call->root);
        break;
    case WIO_ALLREDUCE:
    case WIO_SCAN:
        plan_reduction(p, true);
        break;
    case WIO_EXSCAN: /* rank 0 gets nothing: its buffer stays as it is */
        plan_reduction(p, p->who->rank > 0);
        break;
    case WIO_REDUCE_SCATTER:
        plan_reduce_scatter(p);
        break;
    case WIO_GATHER:
        plan_gather(p);
        break;
    case WIO_SCATTER:
        plan_scatter(p);
        break;
    case WIO_ALLGATHER:
        plan_allgather(p);
        break;
    case WIO_NEIGHBOR_ALLGATHER:
    case WIO_NEIGHBOR_ALLTOALL:
        plan_neighbours(p);
        break;
    default:
        plan_alltoall(p);
    }
}

/* ---- from plan to schedule ---- */

/* A size that all members know to be the same. */
static size_t agreed_bytes(const struct plan *p)
{
    size_t total = 0;

    switch (p->call->kind) {
    case WIO_ALLGATHER:
        for (int i = 0; i < p->who->size; i++)
            total += wio_area_len(&p->c.outs, i);
        return total / (size_t)p->who->size;
    case WIO_REDUCE_SCATTER:
        return p->c.count * p->s->fold.type->size;
    case WIO_ALLTOALL:
        return p->call->v ? 0 : p->c.ins.unit;
    case WIO_GATHER:
    case WIO_SCATTER:
        return p->call->v ? 0 : p->c.bytes;
    default:
        return p->c.bytes;
    }
}

/* The one algorithm of calls between groups. */
static const struct wio_algorithm between = {.name = "between", .write = wio_inter_collective};

static void write_schedule(struct plan *p)
{
    p->c.root = p->call->root;
    p->c.op = p->call->op;
    p->c.kind = p->call->kind;
    if (reduces(p->call->kind) && p->s->fold.type->size == 0)
        return; /* elements without data */
    if (p->c.inter != NULL)
        p->row = &between;
    if (p->row == NULL && p->c.near == NULL)
        p->row = choose(p, agreed_bytes(p));
    wio_schedule_round(p->s);
    (p->row != NULL ? p->row->write : wio_neighbours_exchange)(p->s, &p->c);
    wio_schedule_round(p->s);
    for (const struct unpack *u = p->after; p->s->error == 0 && u != NULL; u = u->next)
        wio_schedule_unpack(p->s, u->type, u->packed, u->user, 0, u->bytes);
}

/* The root of a call between groups is a far rank, or myself (ROOT), or in my group (PROC_NULL). */
static void check_root(struct plan *p)
{
    const struct wio_inter *inter = p->who->inter;
    int root = p->call->root, size = inter != NULL ? inter->far_size : p->who->size;

    if (!rooted(p->call->kind) ||
        (inter != NULL && (root == WAITIO_MPI_ROOT || root == WAITIO_MPI_PROC_NULL)))
        return;
    if (root < 0 || root >= size)
        failed(p, wio_fail(WAITIO_MPI_ERR_ROOT, "root %d: the %s has ranks 0 to %d", root,
                           inter != NULL ? "remote group" : "communicator", size - 1));
}

/* The root of a call between groups is another member of my group: nothing to do here. */
static bool beside(const struct plan *p)
{
    return p->who->inter != NULL && rooted(p->call->kind) && p->call->root == WAITIO_MPI_PROC_NULL;
}

int wio_coll_write(struct wio_schedule *s, const struct wio_call *call,
                   const struct wio_caller *who)
{
    struct plan p = {.s = s, .call = call, .who = who, .blocks = who->size};
    struct wio_fold fold = {0};
    const struct wio_mpi_type *t;

    check_root(&p);
    if (reduces(call->kind) && !beside(&p) && p.rc == 0) {
        failed(&p, use_type(&p, call->recv.count, call->recv.type, &t));
        if (p.rc == 0)
            failed(&p, wio_fold_bind(t, call->op, &fold));
    }
    if (p.rc != 0)
        fold = (struct wio_fold){0};
    wio_schedule_init(s, who->rank, who->size, who->topo, &fold);
    s->swap = who->swap;
    if (p.rc == 0 && !beside(&p))
        (who->inter != NULL ? plan_between : plan_kind)(&p);
    if (p.rc == 0 && s->error == 0 && !beside(&p))
        write_schedule(&p);
    return p.rc != 0 ? p.rc : s->error;
}
