/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rounds of messages that nobody but one call knows. A request is what others can find: the tables
 * that match arrivals, the program by its handle, the report of a wait that lasts too long. All of
 * that costs three times as much as moving eight bytes. So a short receive from a known source is
 * first only a word at that peer: `expect`, looked at before the tables. It becomes a request as
 * soon as anything is unusual: another receive from that peer, a message that does not come as a
 * whole, a wait that is not over after a few looks. A short send is put on its link at once if that
 * can be.
 */
#include "p2p/universe.h"

/* ---- sending ---- */

/* Where something waits the usual way is taken: it keeps the order, and moves what waits.
 * @return false: nothing was done */
static bool put(struct wio_universe *u, struct wio_peer *p, uint64_t space,
                const struct wio_leg *leg)
{
    if (p == NULL || p->link != WIO_EP_READY || p->dead || leg->bytes > p->eager_max ||
        leg->bytes > u->cfg.local_max || !wio_list_empty(&p->sendq) || !wio_list_empty(&p->bulk))
        return false;
    uint32_t cost = wio_credit_cost(leg->bytes, false);
    if (cost > wio_credit_available(p))
        return false;
    uint8_t raw[WIO_MSG_BYTES];
    struct wio_msg m = {.op = WIO_OP_EAGER,
                        .credit = p->credit.granted,
                        .tag = leg->tag,
                        .envelope = wio_next_envelope(p->send_envelope),
                        .space = space,
                        .a = leg->bytes};
    wio_msg_encode(&m, raw);
    if (!p->iface->tr->put(p->ep, raw, leg->buf, (uint32_t)leg->bytes))
        return false;
    p->credit.used += cost;
    p->credit.announced = p->credit.granted;
    p->send_envelope = m.envelope;
    u->ctr.send_msgs++;
    u->ctr.send_bytes += leg->bytes;
    u->ctr.eager_msgs++;
    return true;
}

static int start_send(struct wio_universe *u, struct waitio_group *g, struct wio_leg *leg,
                      struct wio_peer **behind)
{
    if (leg->border) {
        u->ctr.border_msgs++;
        u->ctr.border_bytes += leg->bytes;
    }
    if (WIO_LIKELY(put(u, u->peer[wio_group_member(g, leg->peer)], g->space, leg)))
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

/* Not expected any more: a request that is in no table yet. */
static struct wio_request *to_request(struct wio_universe *u, struct wio_leg *leg)
{
    struct wio_request *r =
        wio_op_recv(u, leg->group, leg->peer, leg->buf, leg->bytes, leg->tag, WIO_REQ_RECV);
    if (leg->state == WIO_LEG_EXPECTED)
        leg->from->expect = NULL;
    leg->state = r != NULL ? WIO_LEG_REQUEST : WIO_LEG_OVER;
    if (r == NULL)
        leg->err = WAITIO_ERR_NOMEM;
    else
        wio_op_name(r, &leg->handle);
    if (r != NULL && leg == u->brief)
        r->waited = true;
    return r;
}

static void post(struct wio_universe *u, struct wio_leg *leg)
{
    struct wio_request *r = to_request(u, leg);
    if (r != NULL)
        wio_recv_start(r);
}

/* NULL: something else is expected, or nothing. */
static struct wio_leg *expected(const struct wio_peer *p, uint64_t space, int32_t tag)
{
    struct wio_leg *leg = p->expect;
    return leg != NULL && leg->tag == tag && leg->group->space == space ? leg : NULL;
}

struct wio_request *wio_leg_request(struct wio_universe *u, struct wio_peer *p, uint64_t space,
                                    int32_t tag)
{
    struct wio_leg *leg = expected(p, space, tag);
    struct wio_request *r = leg != NULL ? to_request(u, leg) : NULL;
    if (r != NULL)
        wio_recv_untabled(r);
    return r;
}

struct wio_leg *wio_leg_meet(struct wio_peer *p, const struct wio_msg *msg)
{
    struct wio_leg *leg = expected(p, msg->space, msg->tag);
    if (leg == NULL || leg->bytes < msg->a)
        return NULL;
    p->expect = NULL;
    return leg;
}

void wio_leg_landed(struct wio_universe *u, struct wio_leg *leg, size_t bytes)
{
    leg->got = bytes;
    leg->state = WIO_LEG_OVER;
    u->ctr.recv_msgs++;
    u->ctr.recv_bytes += bytes;
}

/* It came before, whole, and has room: no request is needed for it either. */
static bool take_held(struct wio_universe *u, struct wio_leg *leg, struct wio_held *held)
{
    struct wio_unexpected *m = (struct wio_unexpected *)(void *)held;
    if (m->rts || m->remote != 0 || m->arrived < m->total || m->total > leg->bytes)
        return false;
    wio_match_unhold(&u->match, held);
    wio_credit_consumed(u, m->peer, m->cost, m->epoch);
    if (m->total > 0)
        wio_os_copy(leg->buf, m->data, m->total);
    u->ctr.copied_bytes += m->total;
    wio_leg_landed(u, leg, m->total);
    wio_unexpected_free(u, m);
    return true;
}

static int start_recv(struct wio_universe *u, struct waitio_group *g, struct wio_leg *leg)
{
    uint32_t rank = wio_group_member(g, leg->peer);
    struct wio_peer *p = leg->from = u->peer[rank];
    leg->group = g;
    struct wio_held *held = wio_match_probe(&u->match, g->space, rank, leg->tag);
    if (held != NULL && take_held(u, leg, held))
        return 0;
    if (p != NULL && p->expect != NULL)
        post(u, p->expect); /* it was there first */
    if (held != NULL || p == NULL || wio_is_revoked(u, g->space) || p->link != WIO_EP_READY ||
        (u->attr[p->iface->tr->id].caps & WIO_CAP_MEMORY) == 0 ||
        wio_match_find(&u->match, g->space, rank, leg->tag) != NULL) {
        post(u, leg);
        return leg->err;
    }
    leg->state = WIO_LEG_EXPECTED;
    p->expect = leg;
    return 0;
}

/* ---- the round ---- */

static int no_memory(struct wio_leg *leg)
{
    return leg->err = wio_fail(WAITIO_ERR_NOMEM, "no memory for another request");
}

static int finish(struct wio_universe *u, struct wio_leg *leg)
{
    if (leg->state == WIO_LEG_EXPECTED)
        wio_wait_brief(u, leg);
    if (leg->state == WIO_LEG_EXPECTED)
        post(u, leg);
    if (leg->state == WIO_LEG_REQUEST) {
        struct wio_result res;
        (void)wio_op_wait(u, &leg->handle, &res);
        leg->state = WIO_LEG_OVER;
        leg->err = res.err;
        leg->got = res.bytes;
    } else if (WIO_UNLIKELY(leg->err != 0)) {
        return no_memory(leg); /* another thread may have found out, and has the text */
    }
    return leg->err;
}

/* After a failure: what is not needed any more is withdrawn, what is under way has to land, for no
 * buffer may stay in use. The error that is known stays. */
static void land_rest(struct wio_universe *u, const struct waitio_group *g, struct wio_leg *leg,
                      int n, int rc)
{
    char why[1024];
    wio_text(why, sizeof why, "%s", wio_last_detail());
    if (g->fragile)
        wio_revoke_locked(u, g, rc); /* first, for others may hold up what has to land here */
    for (int i = 0; i < n; i++) {
        if (leg[i].state == WIO_LEG_EXPECTED) {
            leg[i].from->expect = NULL;
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
        leg[i].state = WIO_LEG_OVER; /* also of those that are not begun */
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
