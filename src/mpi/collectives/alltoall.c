/* SPDX-License-Identifier: BSD-3-Clause */
/* Every process has a block for every process. */
#include "mpi/collectives/team.h"

static void own_block(struct wio_schedule *s, const struct wio_collective *c)
{
    wio_schedule_copy(s, wio_area_at(&c->ins, s->rank), wio_area_at(&c->outs, s->rank),
                      wio_area_len(&c->ins, s->rank));
}

static void exchange(struct wio_schedule *s, const struct wio_collective *c, int ahead)
{
    int to = (int)(((int64_t)s->rank + ahead) % s->size);
    int from = (s->rank - ahead + s->size) % s->size;

    wio_schedule_recv(s, from, wio_area_at(&c->outs, from), wio_area_len(&c->outs, from));
    wio_schedule_send(s, to, wio_area_at(&c->ins, to), wio_area_len(&c->ins, to));
}

/* All at once, each beginning with its neighbour. Cost (p-1) (alpha + n beta), in one round. */
void wio_alltoall_linear(struct wio_schedule *s, const struct wio_collective *c)
{
    own_block(s, c);
    for (int i = 1; i < s->size; i++)
        exchange(s, c, i);
    wio_schedule_round(s);
}

/* One partner after the other [TRG]: for long blocks, so that no process gets many at once. Cost
 * (p-1) (alpha + n beta). */
void wio_alltoall_pairwise(struct wio_schedule *s, const struct wio_collective *c)
{
    own_block(s, c);
    for (int i = 1; i < s->size; i++) {
        exchange(s, c, i);
        wio_schedule_round(s);
    }
    wio_schedule_round(s);
}

/* For short blocks [Bruck]: in round k all blocks whose distance has bit k set are passed on by
 * 2^k. Cost ceil(log2 p) (alpha + p/2 n beta) and copying. */
void wio_alltoall_bruck(struct wio_schedule *s, const struct wio_collective *c)
{
    int p = s->size;
    size_t n = c->ins.unit;
    char *way = wio_schedule_scratch(s, n * (size_t)p); /* block i has distance i */
    char *give = wio_schedule_scratch(s, n * (size_t)p), *take;

    take = wio_schedule_scratch(s, n * (size_t)p);
    for (int i = 0; i < p; i++)
        wio_schedule_copy(s, wio_area_at(&c->ins, (s->rank + i) % p), way + n * (size_t)i, n);
    for (int64_t bit = 1; bit < p; bit *= 2) {
        size_t k = 0;
        for (int i = 0; i < p; i++)
            if ((i & bit) != 0)
                wio_schedule_copy(s, way + n * (size_t)i, give + n * k++, n);
        wio_schedule_round(s);
        wio_schedule_send(s, (int)((s->rank + bit) % p), give, n * k);
        wio_schedule_recv(s, (int)((s->rank - bit + p) % p), take, n * k);
        k = 0;
        for (int i = 0; i < p; i++)
            if ((i & bit) != 0)
                wio_schedule_copy(s, take + n * k++, way + n * (size_t)i, n);
    }
    for (int i = 0; i < p; i++)
        wio_schedule_copy(s, way + n * (size_t)i, wio_area_at(&c->outs, (s->rank - i + p) % p), n);
    wio_schedule_round(s);
}
