/* SPDX-License-Identifier: BSD-3-Clause */
/* Broadcasts within one team. */
#include "mpi/collectives/team.h"

enum { SEGMENT = 128 * 1024 }; /* of the chain: large against alpha, small against n */

/* The root sends to one after the other; @p waits: each send completes before the next. */
static void by_root(struct wio_schedule *s, const struct wio_collective *c, bool waits)
{
    if (s->rank != c->root)
        wio_schedule_recv(s, c->root, c->out, c->bytes);
    for (int i = 0; s->rank == c->root && i < s->size; i++) {
        if (i == c->root)
            continue;
        wio_schedule_send(s, i, c->out, c->bytes);
        if (waits)
            wio_schedule_round(s);
    }
    wio_schedule_round(s);
}

/* The root sends to all. Cost (p-1) n beta and less than (p-1) alpha: the quickest for few
 * processes, and no process waits for another receiver to run. */
void wio_bcast_linear(struct wio_schedule *s, const struct wio_collective *c)
{
    by_root(s, c, false);
}

/* One after the other, as in the WaitIO papers. Cost (p-1) (alpha + n beta). */
void wio_bcast_sequential(struct wio_schedule *s, const struct wio_collective *c)
{
    by_root(s, c, true);
}

/* Down a binomial tree [TRG]. Cost ceil(log2 p) (alpha + n beta). */
void wio_bcast_binomial(struct wio_schedule *s, const struct wio_collective *c)
{
    int me = wio_from_root(s, s->rank, c->root);
    int64_t bit = wio_tree_bit(s, me);

    if (me != 0) {
        wio_schedule_recv(s, wio_to_rank(s, me - bit, c->root), c->out, c->bytes);
        wio_schedule_round(s);
    }
    /* The largest subtree first. */
    for (bit /= 2; bit > 0; bit /= 2)
        if (me + bit < s->size)
            wio_schedule_send(s, wio_to_rank(s, me + bit, c->root), c->out, c->bytes);
    wio_schedule_round(s);
}

/* Down a binary tree over all processes, whatever their PB: the "BT" of the WaitIO papers. Cost
 * 2 ceil(log2 p) (alpha + n beta). */
void wio_bcast_binary(struct wio_schedule *s, const struct wio_collective *c)
{
    int64_t me = wio_from_root(s, s->rank, c->root);

    if (me != 0) {
        wio_schedule_recv(s, wio_to_rank(s, (me - 1) / 2, c->root), c->out, c->bytes);
        wio_schedule_round(s);
    }
    for (int64_t child = 2 * me + 1; child <= 2 * me + 2 && child < s->size; child++) {
        wio_schedule_send(s, wio_to_rank(s, child, c->root), c->out, c->bytes);
        wio_schedule_round(s);
    }
}

/* Down a chain in segments of m bytes, each passed on while the next arrives (a pipeline as in
 * [Geijn]). Cost (p - 2 + n/m) (alpha + m beta). */
void wio_bcast_chain(struct wio_schedule *s, const struct wio_collective *c)
{
    int me = wio_from_root(s, s->rank, c->root);
    size_t segments = (c->bytes + SEGMENT - 1) / SEGMENT;
    char *out = c->out;

    for (size_t i = 0; s->size > 1 && i < segments + (me > 0); i++) {
        size_t here = i * SEGMENT, before = me > 0 ? here - SEGMENT : here;
        if (me > 0 && i < segments)
            wio_schedule_recv(s, wio_to_rank(s, me - 1, c->root), out + here,
                              c->bytes - here < SEGMENT ? c->bytes - here : SEGMENT);
        if (me + 1 < s->size && (me == 0 || i > 0))
            wio_schedule_send(s, wio_to_rank(s, me + 1, c->root), out + before,
                              c->bytes - before < SEGMENT ? c->bytes - before : SEGMENT);
        wio_schedule_round(s);
    }
}

/* Scatter down a binomial tree, then allgather in a ring [Geijn, TRG]. Cost (log2 p + p - 1) alpha
 * + 2 (p-1)/p n beta. */
void wio_bcast_scatter_allgather(struct wio_schedule *s, const struct wio_collective *c)
{
    int me = wio_from_root(s, s->rank, c->root), p = s->size;
    size_t each = (c->bytes + (size_t)p - 1) / (size_t)p;
    char *out = c->out;
    int64_t bit = wio_tree_bit(s, me);
#define EDGE(i) ((size_t)(i)*each < c->bytes ? (size_t)(i)*each : c->bytes)
#define END(i, span) EDGE((i) + (span) < p ? (i) + (span) : p)

    if (me != 0) {
        wio_schedule_recv(s, wio_to_rank(s, me - bit, c->root), out + EDGE(me),
                          END(me, bit) - EDGE(me));
        wio_schedule_round(s);
    }
    for (bit /= 2; bit > 0; bit /= 2)
        if (me + bit < p)
            wio_schedule_send(s, wio_to_rank(s, me + bit, c->root), out + EDGE(me + bit),
                              END(me + bit, bit) - EDGE(me + bit));
    wio_schedule_round(s);
    for (int i = 0; i < p - 1; i++) {
        int give = (me - i + p) % p, take = (give - 1 + p) % p;
        wio_schedule_send(s, wio_to_rank(s, me + 1, c->root), out + EDGE(give),
                          EDGE(give + 1) - EDGE(give));
        wio_schedule_recv(s, wio_to_rank(s, me - 1 + p, c->root), out + EDGE(take),
                          EDGE(take + 1) - EDGE(take));
        wio_schedule_round(s);
    }
#undef EDGE
#undef END
}
