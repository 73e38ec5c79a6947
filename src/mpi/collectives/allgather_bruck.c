/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allgather for short blocks (Bruck et al., 1997): in every round each process doubles the run of
 * blocks it holds, which starts with its own. Cost ceil(log2 p) alpha + (p-1) n beta.
 */
#include "mpi/collectives/collectives.h"

void wio_allgather_bruck(struct wio_schedule *s, const struct wio_collective *c)
{
    size_t n = c->bytes;
    char *run = wio_schedule_scratch(s, n * (size_t)s->size);

    wio_schedule_copy(s, c->in, run, n);
    wio_schedule_round(s);
    for (int have = 1; have < s->size;) {
        int more = have < s->size - have ? have : s->size - have;
        wio_schedule_send(s, (s->rank - have + s->size) % s->size, run, n * (size_t)more);
        wio_schedule_recv(s, (int)(((int64_t)s->rank + have) % s->size), run + n * (size_t)have,
                          n * (size_t)more);
        wio_schedule_round(s);
        have += more;
    }
    /* My run begins with my own block; turn it into rank order. */
    wio_schedule_copy(s, run, (char *)c->out + n * (size_t)s->rank,
                      n * (size_t)(s->size - s->rank));
    wio_schedule_copy(s, run + n * (size_t)(s->size - s->rank), c->out, n * (size_t)s->rank);
    wio_schedule_round(s);
}
