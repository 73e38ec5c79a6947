/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives in the list of their peer. The matching tables work for any order of messages and
 * receives, and for wildcards; that costs a hash and two list operations. Most receives name source
 * and tag, and their messages arrive in the order of the receives. Such a receive is only appended
 * to a list of its peer, and an arriving message is first compared with the head of this list. So a
 * receive must not be in this list if a receive in the tables that was posted earlier matches its
 * message, too. When one of the list has to move to the tables, all of its peer do, each to its
 * place in the order.
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
    return p != NULL && p->link == WIO_EP_READY && p->memory && !p->dead &&
           !wio_is_revoked(u, space) &&
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
        u->landed_from = p;
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
