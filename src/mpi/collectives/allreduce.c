/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions whose result all members get, within one team. */
#include "mpi/collectives/team.h"

/*
 * Recursive doubling [TRG]. Cost ceil(log2 p) (alpha + n beta + n gamma), two more messages when p
 * is no power of two. Both partners fold lower ranks on the left, so every process ends with the
 * same bits, and operators that do not commute get their operands in order.
 */
void wio_allreduce_doubling(struct wio_schedule *s, const struct wio_collective *c)
{
    struct wio_positions p = wio_positions(s);
    const void *mine = c->in;
    void *theirs;

    if (p.mine < 0) {
        wio_schedule_send(s, s->rank + 1, mine, c->bytes);
        wio_schedule_round(s);
        wio_schedule_recv(s, s->rank + 1, c->out, c->bytes);
        wio_schedule_round(s);
        return;
    }
    theirs = wio_schedule_scratch(s, c->bytes);
    if (p.paired) {
        wio_schedule_recv(s, s->rank - 1, theirs, c->bytes);
        wio_schedule_fold(s, theirs, mine, c->out, c->count);
        wio_schedule_round(s);
        mine = c->out;
    }
    for (int bit = 1; bit < p.power; bit *= 2) {
        int partner = wio_position_rank(&p, p.mine ^ bit);
        bool lower = (p.mine & bit) == 0;
        wio_schedule_send(s, partner, mine, c->bytes);
        wio_schedule_recv(s, partner, theirs, c->bytes);
        wio_schedule_fold(s, lower ? mine : theirs, lower ? theirs : mine, c->out, c->count);
        wio_schedule_round(s);
        mine = c->out;
    }
    if (p.paired)
        wio_schedule_send(s, s->rank - 1, c->out, c->bytes);
    else if (s->size == 1)
        wio_schedule_copy(s, c->in, c->out, c->bytes);
    wio_schedule_round(s);
}

static void by_trees(struct wio_schedule *s, const struct wio_collective *c, wio_algorithm_fn up,
                     wio_algorithm_fn down)
{
    struct wio_collective part = *c;

    part.root = 0;
    up(s, &part);
    down(s, &part);
}

/* Reduction to rank 0 and broadcast. Cost 2 ceil(log2 p) (alpha + n beta) + folding. */
void wio_allreduce_reduce_bcast(struct wio_schedule *s, const struct wio_collective *c)
{
    by_trees(s, c, wio_reduce_binomial, wio_bcast_binomial);
}

/* The "BT" of the WaitIO papers. */
void wio_allreduce_binary(struct wio_schedule *s, const struct wio_collective *c)
{
    by_trees(s, c, wio_reduce_binary, wio_bcast_binary);
}

/* Where part @p i of @p parts begins, in bytes. */
static size_t edge(const struct wio_schedule *s, const struct wio_collective *c, int i)
{
    size_t p = (size_t)s->size, k = (size_t)i;
    size_t each = c->count / p, more = c->count % p;

    return (each * k + (k < more ? k : more)) * (s->fold.type != NULL ? s->fold.type->size : 1);
}

/* Reduce-scatter and allgather around a ring (used for long messages in many libraries; analysed
 * by Patarasuk and Yuan, J. Parallel Distributed Computing 69(2), 2009). Cost 2 (p-1) alpha +
 * 2 (p-1)/p n beta + (p-1)/p n gamma. */
void wio_allreduce_ring(struct wio_schedule *s, const struct wio_collective *c)
{
    int p = s->size, next = (s->rank + 1) % p, before = (s->rank - 1 + p) % p;
    char *out = c->out, *theirs = wio_schedule_scratch(s, edge(s, c, 1));

    wio_schedule_copy(s, c->in, out, c->bytes);
    wio_schedule_round(s);
    for (int i = 0; i < p - 1; i++) {
        int give = (s->rank - i + p) % p, take = (give - 1 + p) % p;
        size_t n = edge(s, c, take + 1) - edge(s, c, take);
        wio_schedule_send(s, next, out + edge(s, c, give), edge(s, c, give + 1) - edge(s, c, give));
        wio_schedule_recv(s, before, theirs, n);
        wio_schedule_fold(s, theirs, out + edge(s, c, take), out + edge(s, c, take),
                          s->fold.type != NULL && n > 0 ? n / s->fold.type->size : 0);
        wio_schedule_round(s);
    }
    for (int i = 0; i < p - 1; i++) {
        int give = (s->rank + 1 - i + p) % p, take = (give - 1 + p) % p;
        wio_schedule_send(s, next, out + edge(s, c, give), edge(s, c, give + 1) - edge(s, c, give));
        wio_schedule_recv(s, before, out + edge(s, c, take),
                          edge(s, c, take + 1) - edge(s, c, take));
        wio_schedule_round(s);
    }
}

/* Reduce-scatter by recursive halving, allgather by recursive doubling [Rab]. Cost 2 log2 p alpha +
 * 2 (p-1)/p n beta + (p-1)/p n gamma; two more messages of n when p is no power of two. */
void wio_allreduce_rabenseifner(struct wio_schedule *s, const struct wio_collective *c)
{
    struct wio_positions p = wio_positions(s);
    size_t *edges = wio_even_edges(s, &p, c->count);

    wio_halve(s, &p, edges, c->in, c->out);
    wio_spread(s, &p, edges, c->out);
}
