/* SPDX-License-Identifier: BSD-3-Clause */
/* Gather, gatherv: everybody sends to the root. Cost p alpha + p n beta at the root; no byte moves
 * twice. */
#include "mpi/collectives/collectives.h"

void wio_gather_linear(struct wio_schedule *s, const struct wio_collective *c)
{
    if (s->rank != c->root) {
        wio_schedule_send(s, c->root, c->in, c->bytes);
    } else {
        for (int i = 0; i < s->size; i++) {
            char *block = (char *)c->out + wio_block_at(c, i);
            if (i == s->rank)
                wio_schedule_copy(s, c->in, block, c->bytes);
            else
                wio_schedule_recv(s, i, block, wio_block_bytes(c, i));
        }
    }
    wio_schedule_round(s);
}
