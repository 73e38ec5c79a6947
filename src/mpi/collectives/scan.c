/* SPDX-License-Identifier: BSD-3-Clause */
/* Prefix reductions; all of them keep the order of the operands. */
#include "mpi/collectives/team.h"

/* In round k everybody adds what the process 2^k before has so far [HS]. Cost ceil(log2 p) (alpha +
 * n beta + n gamma). */
void wio_scan_doubling(struct wio_schedule *s, const struct wio_collective *c)
{
    void *theirs = wio_schedule_scratch(s, c->bytes);

    wio_schedule_copy(s, c->in, c->out, c->bytes);
    wio_schedule_round(s);
    for (int64_t back = 1; back < s->size; back *= 2) {
        if (s->rank + back < s->size)
            wio_schedule_send(s, (int)(s->rank + back), c->out, c->bytes);
        if (s->rank >= back) {
            wio_schedule_recv(s, (int)(s->rank - back), theirs, c->bytes);
            wio_schedule_fold(s, theirs, c->out, c->out, c->count);
        }
        wio_schedule_round(s);
    }
}

/* Each waits for the one before. Cost (p-1) (alpha + n beta + n gamma); least data moved. */
void wio_scan_chain(struct wio_schedule *s, const struct wio_collective *c)
{
    if (s->rank == 0) {
        wio_schedule_copy(s, c->in, c->out, c->bytes);
    } else {
        void *theirs = wio_schedule_scratch(s, c->bytes);
        wio_schedule_recv(s, s->rank - 1, theirs, c->bytes);
        wio_schedule_fold(s, theirs, c->in, c->out, c->count);
    }
    wio_schedule_round(s);
    if (s->rank + 1 < s->size)
        wio_schedule_send(s, s->rank + 1, c->out, c->bytes);
    wio_schedule_round(s);
}

/* Contributions move up by one rank; what follows is an inclusive scan without rank 0. Cost one
 * alpha + n beta more. */
void wio_exscan_doubling(struct wio_schedule *s, const struct wio_collective *c)
{
    int *map = wio_schedule_scratch(s, (size_t)s->size * sizeof *map);
    struct wio_collective part = *c;
    struct wio_team all;
    void *moved;

    if (s->error != 0)
        return;
    for (int i = 1; i < s->size; i++)
        map[i - 1] = s->map != NULL ? s->map[i] : i;
    moved = wio_schedule_scratch(s, c->bytes); /* out may be in, which is being sent */
    if (s->rank + 1 < s->size)
        wio_schedule_send(s, s->rank + 1, c->in, c->bytes);
    if (s->rank > 0)
        wio_schedule_recv(s, s->rank - 1, moved, c->bytes);
    wio_schedule_round(s);
    if (s->rank == 0)
        return;
    part.in = moved;
    all = wio_schedule_team(s, (struct wio_team){s->rank - 1, s->size - 1, map});
    wio_scan_doubling(s, &part);
    wio_schedule_team(s, all);
}

/* Each waits for the one before. Cost (p-1) (alpha + n beta + n gamma). */
void wio_exscan_chain(struct wio_schedule *s, const struct wio_collective *c)
{
    void *before = wio_schedule_scratch(s, c->bytes), *sum = wio_schedule_scratch(s, c->bytes);

    if (s->rank > 0) {
        wio_schedule_recv(s, s->rank - 1, before, c->bytes);
        wio_schedule_fold(s, before, c->in, sum, c->count);
        wio_schedule_round(s);
    }
    if (s->rank + 1 < s->size)
        wio_schedule_send(s, s->rank + 1, s->rank == 0 ? c->in : sum, c->bytes);
    if (s->rank > 0)
        wio_schedule_copy(s, before, c->out, c->bytes);
    wio_schedule_round(s);
}
