/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction up a binomial tree. Cost ceil(log2 p) (alpha + n beta + n gamma).
 * Neighbouring ranks, counted from the root, are folded in order: right for every associative
 * operator that is commutative (all predefined ones), and for the others when the root is 0.
 */
#include "mpi/collectives/collectives.h"

void wio_reduce_binomial(struct wio_schedule *s, const struct wio_collective *c)
{
    int me = (int)(((int64_t)s->rank - c->root + s->size) % s->size);
    const void *mine = c->in;
    void *sum = NULL, *theirs = NULL;

    for (int64_t bit = 1; bit < s->size && (me & bit) == 0; bit *= 2) {
        if (me + bit >= s->size)
            continue;
        if (sum == NULL) {
            sum = me == 0 ? c->out : wio_schedule_scratch(s, c->bytes);
            theirs = wio_schedule_scratch(s, c->bytes);
        }
        wio_schedule_recv(s, (int)((me + bit + c->root) % s->size), theirs, c->bytes);
        wio_schedule_fold(s, mine, theirs, sum, c->count);
        wio_schedule_round(s);
        mine = sum;
    }
    if (me != 0)
        wio_schedule_send(s, (int)(((me & (me - 1)) + (int64_t)c->root) % s->size), mine, c->bytes);
    else if (s->size == 1)
        wio_schedule_copy(s, c->in, c->out, c->bytes);
    wio_schedule_round(s);
}
