/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions to a root within one team. */
#include "mpi/collectives/team.h"

enum { SEGMENT = 128 * 1024 };
enum { LINEAR_ROOM = 512 * 1024 }; /* for contributions that are received at the same time */

/* The root folds contributions in rank order. @param slots places for them, at least 2. They are
 * filled at the same time, or one after the other when @p single */
static void at_root(struct wio_schedule *s, const struct wio_collective *c, int slots, bool single)
{
    int taken = 0;
    const void *so_far = c->in;
    /* The result may have the buffer of the root's operand, which is folded in its turn. */
    bool aside = c->in == c->out && c->root > 1;
    char *sum, *theirs;

    if (s->rank != c->root) {
        wio_schedule_send(s, c->root, c->in, c->bytes);
        wio_schedule_round(s);
        return;
    }
    sum = aside ? wio_schedule_scratch(s, c->bytes) : c->out;
    theirs = s->size == 1 ? NULL : wio_schedule_scratch(s, c->bytes * (size_t)slots);
    for (int i = 0; i < s->size; i++) {
        const void *operand = c->in;
        if (i != c->root) {
            char *place = theirs + c->bytes * (size_t)(taken++ % slots);
            wio_schedule_recv(s, i, place, c->bytes);
            operand = place;
        }
        if (i > 0)
            wio_schedule_fold(s, so_far, operand, sum, c->count);
        so_far = i > 0 ? sum : operand;
        if (single || (i > 0 && taken % slots == 0))
            wio_schedule_round(s);
    }
    wio_schedule_copy(s, so_far, c->out, c->bytes);
    wio_schedule_round(s);
}

/* All send to the root. Cost (p-1) (n beta + n gamma) and less than (p-1) alpha: the quickest for
 * few processes, and no process waits for another sender to run. */
void wio_reduce_linear(struct wio_schedule *s, const struct wio_collective *c)
{
    size_t fits = c->bytes > 0 ? LINEAR_ROOM / c->bytes : (size_t)s->size;

    at_root(s, c, fits < 2 ? 2 : fits < (size_t)s->size ? (int)fits : s->size, false);
}

/* One after the other, as in the WaitIO papers. Cost (p-1) (alpha + n beta + n gamma). */
void wio_reduce_sequential(struct wio_schedule *s, const struct wio_collective *c)
{
    at_root(s, c, 2, true);
}

/*
 * Up a binomial tree [TRG]. Cost ceil(log2 p) (alpha + n beta + n gamma). Neighbouring ranks,
 * counted from the root, are folded in order: right for operators that are commutative, and for the
 * others when the root is 0.
 */
void wio_reduce_binomial(struct wio_schedule *s, const struct wio_collective *c)
{
    int me = wio_from_root(s, s->rank, c->root);
    const void *mine = c->in;
    void *sum = NULL, *theirs = NULL;

    for (int64_t bit = 1; bit < s->size && (me & bit) == 0; bit *= 2) {
        if (me + bit >= s->size)
            continue;
        if (sum == NULL) {
            sum = me == 0 ? c->out : wio_schedule_scratch(s, c->bytes);
            theirs = wio_schedule_scratch(s, c->bytes);
        }
        wio_schedule_recv(s, wio_to_rank(s, me + bit, c->root), theirs, c->bytes);
        wio_schedule_fold(s, mine, theirs, sum, c->count);
        wio_schedule_round(s);
        mine = sum;
    }
    if (me != 0)
        wio_schedule_send(s, wio_to_rank(s, me & (me - 1), c->root), mine, c->bytes);
    else if (s->size == 1)
        wio_schedule_copy(s, c->in, c->out, c->bytes);
    wio_schedule_round(s);
}

/* For operators that do not commute: to rank 0, whose tree keeps the order, and on to the root.
 * Cost that of the tree and alpha + n beta. */
void wio_reduce_ordered(struct wio_schedule *s, const struct wio_collective *c)
{
    struct wio_collective part = *c;

    part.root = 0;
    if (s->rank == 0 && c->root != 0)
        part.out = wio_schedule_scratch(s, c->bytes);
    wio_reduce_binomial(s, &part);
    if (c->root == 0)
        return;
    if (s->rank == 0)
        wio_schedule_send(s, c->root, part.out, c->bytes);
    else if (s->rank == c->root)
        wio_schedule_recv(s, 0, c->out, c->bytes);
    wio_schedule_round(s);
}

/* Up a binary tree over all processes: the "BT" of the WaitIO papers. Cost 2 ceil(log2 p) (alpha +
 * n beta + n gamma). */
void wio_reduce_binary(struct wio_schedule *s, const struct wio_collective *c)
{
    int64_t me = wio_from_root(s, s->rank, c->root);
    const void *mine = c->in;
    void *sum = me == 0 ? c->out : NULL, *theirs = NULL;

    for (int64_t child = 2 * me + 1; child <= 2 * me + 2 && child < s->size; child++) {
        if (theirs == NULL)
            theirs = wio_schedule_scratch(s, c->bytes);
        if (sum == NULL)
            sum = wio_schedule_scratch(s, c->bytes);
        wio_schedule_recv(s, wio_to_rank(s, child, c->root), theirs, c->bytes);
        wio_schedule_fold(s, mine, theirs, sum, c->count);
        wio_schedule_round(s);
        mine = sum;
    }
    if (me != 0)
        wio_schedule_send(s, wio_to_rank(s, (me - 1) / 2, c->root), mine, c->bytes);
    else
        wio_schedule_copy(s, mine, c->out, c->bytes);
    wio_schedule_round(s);
}

/* Elements from @p at on, of @p count, at most @p each. */
static size_t part_of(size_t count, size_t at, size_t each)
{
    return count - at < each ? count - at : each;
}

/* Up a chain in segments of m bytes: while one is folded in, the one before it moves on. Cost
 * (p - 2 + n/m) (alpha + m beta + m gamma). */
void wio_reduce_chain(struct wio_schedule *s, const struct wio_collective *c)
{
    int me = wio_from_root(s, s->rank, c->root);
    bool last = me == s->size - 1;
    size_t size = s->fold.type->size;
    size_t each = size > SEGMENT ? 1 : SEGMENT / size; /* elements of a segment */
    size_t segments = (c->count + each - 1) / each;
    const char *in = c->in;
    char *sum = me == 0 ? c->out : last ? NULL : wio_schedule_scratch(s, c->bytes);
    /* One segment is enough, and stays in the cache. */
    char *theirs = last ? NULL : wio_schedule_scratch(s, part_of(c->count, 0, each) * size);

    if (s->size == 1) {
        wio_schedule_copy(s, c->in, c->out, c->bytes);
        wio_schedule_round(s);
        return;
    }
    for (size_t i = 0; i < segments + !last; i++) {
        size_t at = i * each, n = part_of(c->count, at, each);
        size_t before = last ? at : at - each, m = part_of(c->count, before, each);
        if (me > 0 && (last || i > 0))
            wio_schedule_send(s, wio_to_rank(s, me - 1, c->root),
                              (last ? in : (const char *)sum) + before * size, m * size);
        if (!last && i < segments) {
            wio_schedule_recv(s, wio_to_rank(s, me + 1, c->root), theirs, n * size);
            wio_schedule_fold(s, in + at * size, theirs, sum + at * size, n);
        }
        wio_schedule_round(s);
    }
}

/* Reduce-scatter by recursive halving, then everybody gives its part to the root [Rab]. Cost
 * (log2 p + p) alpha + 2 n beta + n gamma. */
void wio_reduce_rabenseifner(struct wio_schedule *s, const struct wio_collective *c)
{
    struct wio_positions p = wio_positions(s);
    size_t *edge = wio_even_edges(s, &p, c->count);
    char *sum = s->rank == c->root ? c->out : wio_schedule_scratch(s, c->bytes);

    wio_halve(s, &p, edge, c->in, sum);
    if (s->error != 0)
        return;
    if (s->rank != c->root && p.mine >= 0)
        wio_schedule_send(s, c->root, sum + edge[p.mine], edge[p.mine + 1] - edge[p.mine]);
    for (int i = 0; s->rank == c->root && i < p.power; i++)
        if (i != p.mine)
            wio_schedule_recv(s, wio_position_rank(&p, i), sum + edge[i], edge[i + 1] - edge[i]);
    wio_schedule_round(s);
}
