/* SPDX-License-Identifier: BSD-3-Clause */
/* Scatter, scatterv: the root sends to everybody. Cost p alpha + p n beta at the root; no byte
 * moves twice. */
#include "mpi/collectives/collectives.h"

void wio_scatter_linear(struct wio_schedule *s, const struct wio_collective *c)
{
    if (s->rank != c->root) {
        wio_schedule_recv(s, c->root, c->out, c->bytes);
    } else {
        for (int i = 0; i < s->size; i++) {
            const char *block = (const char *)c->in + wio_block_at(c, i);
            if (i == s->rank)
                wio_schedule_copy(s, block, c->out, wio_block_bytes(c, i));
            else
                wio_schedule_send(s, i, block, wio_block_bytes(c, i));
        }
    }
    wio_schedule_round(s);
}
