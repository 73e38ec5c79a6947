/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeping pace. Short sends are complete for the user at once, so a program that only sends may run
 * ahead of its receiver by as much as the send pool holds; then every message is copied into memory
 * that no cache has any more, and out of it again. Measured on two cores: 8 bytes after 8 bytes
 * took 240 ns each instead of 85, and a broadcast from a fixed root three times as long, as when
 * the sender stays within what its ring holds.
 *
 * So who has more than a few messages waiting here lets the receiver take them first. Not for long:
 * that may compute for an hour, and completing at once is what programs rely on. Each wait in vain
 * doubles the number that may lie here, so all of them together take some tens of milliseconds.
 */
#include "p2p/universe.h"

enum { AHEAD = 4 };
#define PATIENCE_NS 2000000

struct chase {
    struct wio_universe *u;
    const struct wio_peer *p;
};

static bool caught_up(void *arg)
{
    const struct chase *c = arg;
    return c->p->local_pending == 0 || c->p->dead || !wio_list_empty(&c->u->tasks);
}

void wio_pace(struct wio_universe *u, struct wio_peer *p)
{
    struct chase c = {u, p};
    if (p->local_pending <= (p->ahead > AHEAD ? p->ahead : AHEAD) ||
        u->polling) /* that thread is not woken by a message that leaves */
        return;
    int rc = wio_wait_until(u, caught_up, &c, NULL, "send (the receiver is far behind)",
                            wio_os_now_ns() + PATIENCE_NS);
    p->ahead = rc == 0 ? p->ahead / 2 : 2 * p->local_pending;
}
