/* SPDX-License-Identifier: BSD-3-Clause */
/* Allgather for long blocks: each block travels around the ring. Cost (p-1) (alpha + n beta). */
#include "mpi/collectives/collectives.h"

void wio_allgather_ring(struct wio_schedule *s, const struct wio_collective *c)
{
    size_t n = c->bytes;
    char *out = c->out;
    int next = (int)(((int64_t)s->rank + 1) % s->size), before = (s->rank - 1 + s->size) % s->size;

    wio_schedule_copy(s, c->in, out + n * (size_t)s->rank, n);
    wio_schedule_round(s);
    for (int i = 0; i < s->size - 1; i++) {
        int send = (s->rank - i + s->size) % s->size, recv = (send - 1 + s->size) % s->size;
        wio_schedule_send(s, next, out + n * (size_t)send, n);
        wio_schedule_recv(s, before, out + n * (size_t)recv, n);
        wio_schedule_round(s);
    }
}
