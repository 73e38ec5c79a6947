/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions of which everybody gets a block. The blocks lie one behind the other in c->in. */
#include "mpi/collectives/team.h"

/* Recursive halving [TRG]; a pair of ranks is one position, whose odd rank passes the even one's
 * block on. Cost log2 p alpha + (p-1)/p n (beta + gamma); more when p is no power of two. */
void wio_reduce_scatter_halving(struct wio_schedule *s, const struct wio_collective *c)
{
    struct wio_positions p = wio_positions(s);
    size_t *edge = wio_schedule_scratch(s, ((size_t)p.power + 1) * sizeof *edge);
    size_t total = c->count * s->fold.type->size;
    char *sum;

    if (s->error != 0)
        return;
    for (int i = 0; i < p.power; i++)
        edge[i] = (size_t)c->ins.at[i < p.extra ? 2 * i : wio_position_rank(&p, i)];
    edge[p.power] = total;
    sum = p.mine < 0 ? NULL : wio_schedule_scratch(s, total);
    wio_halve(s, &p, edge, c->in, sum);
    if (p.mine < 0) {
        wio_schedule_recv(s, s->rank + 1, c->out, c->bytes);
    } else {
        if (p.paired)
            wio_schedule_send(s, s->rank - 1, sum + c->ins.at[s->rank - 1],
                              c->ins.len[s->rank - 1]);
        wio_schedule_copy(s, sum + c->ins.at[s->rank], c->out, c->bytes);
    }
    wio_schedule_round(s);
}

/* In round k my block's contribution of the rank k before comes in [TRG]. Cost (p-1) alpha +
 * (p-1)/p n (beta + gamma), any p. */
void wio_reduce_scatter_pairwise(struct wio_schedule *s, const struct wio_collective *c)
{
    const char *in = c->in;
    char *theirs = wio_schedule_scratch(s, c->bytes), *sum = wio_schedule_scratch(s, c->bytes);

    wio_schedule_copy(s, in + c->ins.at[s->rank], sum, c->bytes);
    wio_schedule_round(s);
    for (int i = 1; i < s->size; i++) {
        int to = (int)(((int64_t)s->rank + i) % s->size), from = (s->rank - i + s->size) % s->size;
        wio_schedule_send(s, to, in + c->ins.at[to], c->ins.len[to]);
        wio_schedule_recv(s, from, theirs, c->bytes);
        wio_schedule_fold(s, sum, theirs, sum, c->bytes / s->fold.type->size);
        wio_schedule_round(s);
    }
    wio_schedule_copy(s, sum, c->out, c->bytes);
    wio_schedule_round(s);
}

/* Reduction to rank 0, which keeps the order of operands, and scatter. Cost (log2 p + p) alpha +
 * (log2 p + 1) n beta. */
void wio_reduce_scatter_by_root(struct wio_schedule *s, const struct wio_collective *c)
{
    struct wio_collective part = *c;

    part.root = 0;
    part.bytes = c->count * s->fold.type->size;
    part.out = s->rank == 0 ? wio_schedule_scratch(s, part.bytes) : NULL;
    wio_reduce_binomial(s, &part);
    part.ins.base = part.out;
    part.out = c->out;
    part.bytes = c->bytes;
    wio_scatter_linear(s, &part);
}
