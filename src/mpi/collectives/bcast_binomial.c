/* SPDX-License-Identifier: BSD-3-Clause */
/* Broadcast down a binomial tree. Cost ceil(log2 p) (alpha + n beta). */
#include "mpi/collectives/collectives.h"

void wio_bcast_binomial(struct wio_schedule *s, const struct wio_collective *c)
{
    int me = (int)(((int64_t)s->rank - c->root + s->size) % s->size);
    int64_t bit = 1;

    /* The lowest set bit of my number (counted from the root) is the way to my parent ... */
    while (bit < s->size && (me & bit) == 0)
        bit *= 2;
    if (me != 0) {
        wio_schedule_recv(s, (int)((me - bit + c->root) % s->size), c->out, c->bytes);
        wio_schedule_round(s);
    }
    /* ... and the bits below it are my children, the largest subtree first. */
    for (bit /= 2; bit > 0; bit /= 2)
        if (me + bit < s->size)
            wio_schedule_send(s, (int)((me + bit + c->root) % s->size), c->out, c->bytes);
    wio_schedule_round(s);
}
