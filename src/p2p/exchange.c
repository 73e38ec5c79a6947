/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds of messages of one call. A request can be found by the matching tables, by the program
 * through its handle, and by the report of long waits. All of that costs three times as much as
 * moving eight bytes. So a receive is at first only an entry of a list at its source (expect.c). It
 * becomes a request as soon as anything is unusual: a message in pieces, a wait that does not end
 * after a few polls. A short send is put on its link at once if possible.
 */
#include "p2p/universe.h"

/* ---- sending ---- */

static int start_send(struct wio_universe *u, struct waitio_group *g, struct wio_leg *leg,
                      struct wio_peer **behind)
{
    if (leg->border) {
        u->ctr.border_msgs++;
        u->ctr.border_bytes += leg->bytes;
    }
    if (WIO_LIKELY(wio_send_put(u, u->peer[wio_group_member(g, leg->peer)], g->space, leg->buf,
                                leg->bytes, leg->tag)))
        return 0;
    struct wio_request *r =
        wio_op_send(u, g, leg->peer, leg->buf, leg->bytes, leg->tag, WIO_REQ_SEND);
    if (r == NULL)
        return leg->err = WAITIO_ERR_NOMEM;
    wio_send_start(r);
    wio_op_name(r, &leg->handle);
    if (!wio_op_gone(r, behind))
        leg->state = WIO_LEG_REQUEST;
    return 0;
}

/* ---- receiving ---- */

struct wio_request *wio_leg_request(struct wio_universe *u, struct wio_leg *leg)
{
    struct wio_request *r =
        wio_op_recv(u, leg->group, leg->peer, leg->buf, leg->bytes, leg->tag, WIO_REQ_RECV);
    leg->state = r != NULL ? WIO_LEG_REQUEST : WIO_LEG_OVER;
    if (r == NULL)
        leg->err = WAITIO_ERR_NOMEM;
    else
        wio_op_name(r, &leg->handle);
    if (r != NULL)
        r->expected.mark = leg->expected.mark;
    return r;
}

void wio_leg_landed(struct wio_universe *u, struct wio_leg *leg, size_t bytes)
{
    leg->got = bytes;
    leg->state = WIO_LEG_OVER;
    u->ctr.recv_msgs++;
    u->ctr.recv_bytes += bytes;
    wio_mark_over(u, leg->expected.mark, 0);
}

/* It arrived before, whole, and fits: no request is needed either. */
static bool take_held(struct wio_universe *u, struct wio_leg *leg, struct wio_held *held)
{
    struct wio_unexpected *m = (struct wio_unexpected *)(void *)held;
    if (m->rts || m->stored != NULL || m->remote != 0 || m->arrived < m->total ||
        m->total > leg->bytes)
        return false;
    wio_match_unhold(&u->match, held);
    wio_credit_consumed(u, m->peer, m->cost, m->epoch);
    if (m->total > 0)
        wio_os_copy(leg->buf, m->data, m->total);
    u->ctr.copied_bytes += m->total;
    wio_mark_took(u, m->peer, held->space, m->envelope, m->total, leg->tag);
    wio_leg_landed(u, leg, m->total);
    wio_unexpected_free(u, m);
    return true;
}

static int start_recv(struct wio_universe *u, struct waitio_group *g, struct wio_leg *leg)
{
    uint32_t rank = wio_group_member(g, leg->peer);
    struct wio_peer *p = leg->from = u->peer[rank];
    leg->group = g;
    leg->expected.mark = 0;
    struct wio_held *held = wio_match_probe(&u->match, g->space, rank, leg->tag);
    if (held != NULL && take_held(u, leg, held))
        return 0;
    if (held == NULL && wio_expects(u, p, g->space, leg->tag)) {
        leg->expected = (struct wio_expected){
            .space = g->space, .buf = leg->buf, .bytes = leg->bytes, .tag = leg->tag, .leg = true};
        leg->expected.mark = wio_mark_receive(u, rank, g->space, leg->bytes, leg->tag);
        wio_expect(u, p, &leg->expected);
        leg->state = WIO_LEG_EXPECTED;
        return 0;
    }
    struct wio_request *r = wio_leg_request(u, leg);
    if (r != NULL)
        wio_recv_start(r);
    return leg->err;
}

/* ---- the round ---- */

static int no_memory(struct wio_leg *leg)
{
    return leg->err = wio_fail(WAITIO_ERR_NOMEM, "no memory for another request");
}

static int finish(struct wio_universe *u, struct wio_leg *leg)
{
    if (leg->state == WIO_LEG_EXPECTED) {
        wio_mark_waited(u, leg->expected.mark);
        wio_wait_brief(u, leg->from, &leg->expected);
    }
    if (leg->state == WIO_LEG_EXPECTED)
        wio_expect_table(u, leg->from);
    if (leg->state == WIO_LEG_REQUEST) {
        struct wio_result res;
        (void)wio_op_wait(u, &leg->handle, &res);
        leg->state = WIO_LEG_OVER;
        leg->err = res.err;
        leg->got = res.bytes;
    } else if (WIO_UNLIKELY(leg->err != 0)) {
        return no_memory(leg); /* another thread may have found it, and has the text */
    }
    return leg->err;
}

/* After a failure: cancel what can be cancelled. Pending messages have to complete, because no
 * buffer may stay in use. The first error stays. */
static void land_rest(struct wio_universe *u, const struct waitio_group *g, struct wio_leg *leg,
                      int n, int rc)
{
    char why[1024];
    wio_text(why, sizeof why, "%s", wio_last_detail());
    if (g->fragile)
        wio_revoke_locked(u, g, rc); /* first, for others may hold up what has to land here */
    for (int i = 0; i < n; i++) {
        if (leg[i].state == WIO_LEG_EXPECTED) {
            wio_list_remove(&leg[i].expected.node);
            leg[i].state = WIO_LEG_OVER;
        } else if (leg[i].state == WIO_LEG_REQUEST) {
            (void)wio_op_withdraw(wio_req_at(u, leg[i].handle.index, leg[i].handle.generation));
        }
    }
    for (int i = 0; i < n; i++)
        if (leg[i].state == WIO_LEG_REQUEST)
            (void)finish(u, &leg[i]);
    wio_fail(rc, "%s", why);
}

int wio_exchange(struct wio_universe *u, struct waitio_group *g, struct wio_leg *leg, int n,
                 int *which)
{
    struct wio_peer *behind = NULL;
    int rc = 0, i;
    wio_enter(u);
    for (i = 0; i < n; i++)
        leg[i].state = WIO_LEG_OVER; /* also those that are not started */
    for (i = 0; i < n && rc == 0; i++) {
        leg[i].err = 0;
        leg[i].got = 0;
        rc = leg[i].send ? start_send(u, g, &leg[i], &behind) : start_recv(u, g, &leg[i]);
    }
    for (int k = 0; k < n && rc == 0; k++) {
        rc = finish(u, &leg[k]);
        i = k + 1;
    }
    if (WIO_UNLIKELY(rc != 0)) {
        *which = i - 1;
        land_rest(u, g, leg, n, rc);
    } else if (WIO_UNLIKELY(behind != NULL)) {
        wio_pace(u, behind);
    }
    wio_leave(u);
    return rc;
}
