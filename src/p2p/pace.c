/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keeping pace. Short sends are complete for the user at once, so a program that only sends may run
 * ahead of its receiver by the size of the send pool. Then every message is copied to memory
 * outside of the caches, and out of it again. Measured on two cores: 8 bytes after 8 bytes took 240
 * ns each instead of 85, and a broadcast from a fixed root three times as long, as when the sender
 * stays within what its ring holds.
 *
 * So a sender with more than a few queued messages first waits for its receiver. Not for long: the
 * receiver may compute for an hour, and programs rely on sends that complete at once. Each wait
 * without success doubles the number of messages that may be queued, so all these waits together
 * take some tens of milliseconds.
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
