/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers. The other rows of the table are allreduces of 0 bytes. */
#include "mpi/collectives/collectives.h"

/* Dissemination [HFM]: in round k every process sends to the process 2^k ahead. Cost ceil(log2 p)
 * alpha.
 */
void wio_barrier_dissemination(struct wio_schedule *s, const struct wio_collective *c)
{
    (void)c;
    for (int64_t ahead = 1; ahead < s->size; ahead *= 2) {
        wio_schedule_send(s, (int)((s->rank + ahead) % s->size), NULL, 0);
        wio_schedule_recv(s, (int)((s->rank - ahead + s->size) % s->size), NULL, 0);
        wio_schedule_round(s);
    }
}
