/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failures that a program has not acknowledged. A receive from any source may wait for a member
 * that has failed; three survivors that receive so would wait for one another for ever. Whoever
 * asks for it (WIO_ANY_WARY) has such a receive end with the failure, and goes on with the others
 * after wio_failures_ack(). A member that has left in order does not count. Failures are numbered
 * in the order in which this process has noticed them; a group knows how many are acknowledged.
 */
#include "p2p/universe.h"

struct wio_peer *wio_failed_member(struct wio_universe *u, struct waitio_group *g)
{
    struct wio_peer *first = NULL;
    for (uint32_t i = 0; u->failures > g->failures && i < g->size; i++) {
        struct wio_peer *p = u->peer[wio_group_member(g, i)];
        if (p != NULL && p->failure > g->failures && (first == NULL || p->failure < first->failure))
            first = p;
    }
    if (first == NULL)
        g->failures = u->failures; /* of others: they are not looked for again */
    return first;
}

int wio_unsafe_error(const struct wio_universe *u, const struct wio_peer *p)
{
    char name[64];
    return wio_fail(WAITIO_ERR_PEER,
                    "%s: %s; a receive from any source may wait for its message: acknowledge the "
                    "failure (Comm_failure_ack) to go on with the others",
                    wio_peer_name(u, p->rank, name, sizeof name),
                    p->why != NULL ? p->why : "connection lost");
}

void wio_failures_ack(struct wio_universe *u, struct waitio_group *g)
{
    wio_enter(u);
    g->failures = u->failures;
    wio_leave(u);
}

uint32_t wio_failures_acked(struct wio_universe *u, const struct waitio_group *g, uint32_t *members)
{
    uint32_t n = 0;
    wio_enter(u);
    for (uint32_t i = 0; i < g->size; i++) {
        uint32_t rank = wio_group_member(g, i);
        const struct wio_peer *p = u->peer[rank];
        if (p != NULL && p->failure > 0 && p->failure <= g->failures)
            members[n++] = rank;
    }
    wio_leave(u);
    return n;
}
