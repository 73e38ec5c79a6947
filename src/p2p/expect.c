/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives that stand at their peer. The tables that match arrivals serve every order of messages
 * and receives, and wildcards; a hash, a list in, a list out. Most receives name their source and
 * tag, and their messages come in the order in which they were posted. Such a receive is only
 * appended to a list of its peer, and an arriving message is compared with the first of that list.
 *
 * An arriving message looks here first. So none may stand here that was posted after a receive in
 * the tables which takes its message, too. When one of them has to move to the tables, all of its
 * peer do, each to the place that its order gives it there.
 */
#include "p2p/universe.h"

enum { WALK = 8 }; /* a message that matches none of the first entries: the tables are faster */

static struct wio_request *request_of(struct wio_expected *e)
{
    return WIO_CONTAINER(e, struct wio_request, expected);
}

static struct wio_leg *leg_of(struct wio_expected *e)
{
    return WIO_CONTAINER(e, struct wio_leg, expected);
}

bool wio_expects(const struct wio_universe *u, const struct wio_peer *p, uint64_t space,
                 int32_t tag)
{
    return p != NULL && p->link == WIO_EP_READY && p->memory && !wio_is_revoked(u, space) &&
           (u->match.nheld == 0 || wio_match_probe(&u->match, space, p->rank, tag) == NULL) &&
           (u->match.nposted == 0 || wio_match_find(&u->match, space, p->rank, tag) == NULL);
}

void wio_expect(struct wio_universe *u, struct wio_peer *p, struct wio_expected *e)
{
    e->order = wio_match_next(&u->match);
    wio_list_push(&p->expected, &e->node);
}

struct wio_expected *wio_expect_find(struct wio_universe *u, struct wio_peer *p, uint64_t space,
                                     int32_t tag)
{
    int walked = 0;
    WIO_LIST_FOR(it, &p->expected)
    {
        struct wio_expected *e = WIO_CONTAINER(it, struct wio_expected, node);
        if (e->tag == tag && e->space == space)
            return e;
        if (++walked == WALK) {
            wio_expect_table(u, p);
            return NULL;
        }
    }
    return NULL;
}

void wio_expect_landed(struct wio_universe *u, struct wio_peer *p, struct wio_expected *e,
                       size_t bytes)
{
    if (e == u->brief)
        u->sated = p;
    if (e->leg) {
        wio_leg_landed(u, leg_of(e), bytes);
        return;
    }
    struct wio_request *r = request_of(e);
    r->peer = p;
    r->total = bytes;
    r->state = WIO_RS_DONE;
    u->ctr.recv_msgs++;
    u->ctr.recv_bytes += bytes;
    wio_req_user_done(r, 0);
    if (WIO_UNLIKELY(!r->user_holds))
        wio_req_release(r);
}

struct wio_request *wio_expect_request(struct wio_universe *u, struct wio_expected *e)
{
    wio_list_remove(&e->node);
    struct wio_request *r = e->leg ? wio_leg_request(u, leg_of(e)) : request_of(e);
    if (r == NULL)
        return NULL;
    if (e == u->brief)
        r->waited = true;
    wio_recv_untabled(r);
    return r;
}

void wio_expect_table(struct wio_universe *u, struct wio_peer *p)
{
    while (!wio_list_empty(&p->expected)) { /* the last one first: each goes to the front */
        struct wio_list *n = p->expected.prev;
        struct wio_expected *e = WIO_CONTAINER(n, struct wio_expected, node);
        wio_list_remove(n);
        struct wio_request *r = e->leg ? wio_leg_request(u, leg_of(e)) : request_of(e);
        if (r == NULL)
            continue; /* the leg has the error */
        if (e == u->brief)
            r->waited = true;
        wio_recv_table(r, e->order);
    }
}

void wio_expect_table_all(struct wio_universe *u)
{
    for (uint32_t i = 0; i < u->table->size; i++)
        if (u->peer[i] != NULL && !wio_list_empty(&u->peer[i]->expected))
            wio_expect_table(u, u->peer[i]);
}
