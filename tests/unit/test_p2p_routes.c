/* SPDX-License-Identifier: BSD-3-Clause */
/* Two routes to every peer, of which the better one may turn out not to work at any moment before
 * its link is ready, at either side or both: nothing is lost, doubled or left waiting, and nobody
 * is taken for dead. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "p2p_fake.h"

/* The better route. */
static struct better {
    struct wio_transport tr;
    struct wio_iface iface;
    struct wio_ep *ep; /* to peer 1 */
    bool barred;       /* found out that it does not work */
    int connect_rc;
    int dials, closes, sent;
    int events; /* of every round of progress */
    enum wio_bye_reason reason;
} better;

static bool in_upcall;
static struct wio_universe *u;
static struct waitio_group *g;
static uint8_t out[1 << 20];

static bool better_reachable(struct wio_iface *iface, uint32_t peer, char *why, size_t nwhy)
{
    (void)iface;
    wio_text(why, nwhy, "%s", better.barred ? "it was tried" : "in a test");
    return peer != 0 && !better.barred;
}

static struct wio_ep *better_link(void)
{
    better.ep = calloc(1, sizeof *better.ep);
    better.ep->iface = &better.iface;
    better.ep->peer = 1;
    better.ep->state = WIO_EP_CONNECTING;
    return better.ep;
}

static int better_connect(struct wio_iface *iface, uint32_t peer, struct wio_ep **ep)
{
    (void)iface;
    (void)peer;
    better.dials++;
    if (better.connect_rc != 0) {
        better.barred = true;
        return wio_fail(better.connect_rc, "the test refuses");
    }
    *ep = better.ep != NULL ? better.ep : better_link();
    return 0;
}

static int better_send(struct wio_ep *ep, struct wio_tx *tx)
{
    (void)tx;
    assert_int_equal(ep->state, WIO_EP_READY);
    better.sent++;
    return WIO_TX_DONE;
}

static void better_close(struct wio_ep *ep, enum wio_bye_reason reason)
{
    assert_false(in_upcall); /* transport.h forbids it */
    better.closes++;
    better.reason = reason;
    ep->state = WIO_EP_CLOSING;
}

static int better_progress(struct wio_iface *iface, enum wio_progress_how how)
{
    (void)iface;
    (void)how;
    return better.events;
}

static void free_link(struct wio_ep *ep)
{
    free(ep);
}

static void close_better(struct wio_iface *iface)
{
    (void)iface;
    free(better.ep);
    better.ep = NULL;
}

/* The better link changes state. */
static void better_state(enum wio_ep_state s, int err, enum wio_bye_reason why)
{
    struct wio_ep *ep = better.ep;
    ep->state = (uint8_t)s;
    if (err == WAITIO_ERR_NOROUTE)
        better.barred = true;
    if (s == WIO_EP_CLOSED)
        better.ep = NULL;
    wio_p2p_upcalls.on_state(u, ep, 1, s, err, why, "the test says so");
    if (s == WIO_EP_CLOSED)
        wio_bury(u);
}

static int setup(void **unused)
{
    (void)unused;
    u = fake_universe();
    memset(&better, 0, sizeof better);
    better.tr = fake_transport;
    better.tr.id = WIO_TR_SHM;
    better.tr.name = "better";
    better.tr.reachable = better_reachable;
    better.tr.connect = better_connect;
    better.tr.send = better_send;
    better.tr.close = better_close;
    better.tr.progress = better_progress;
    better.tr.free_ep = free_link;
    better.tr.close_iface = close_better;
    better.iface.tr = &better.tr;
    better.iface.table = u->table;
    u->iface[WIO_TR_SHM] = &better.iface;
    u->attr[WIO_TR_SHM] = (struct wio_tr_attr){
        .chunk = u->cfg.chunk, .latency_s = 1e-7, .eager_max = (size_t)u->cfg.eager_max};
    u->attr[WIO_TR_TCP].eager_max = (size_t)u->cfg.eager_max;
    u->allowed |= 1u << WIO_TR_SHM;
    for (uint32_t i = 0; i < FAKE_PEERS; i++)
        ((struct wio_tab_ep *)(uintptr_t)u->table->ep)[i].caps |= 1u << WIO_TR_SHM;
    g = fake_group(u);
    return 0;
}

static int teardown(void **unused)
{
    (void)unused;
    if (u != NULL)
        wio_universe_destroy(u);
    u = NULL;
    return 0;
}

static struct wio_handle isend(size_t n, int tag)
{
    struct wio_handle h;
    assert_int_equal(wio_isend(u, g, 1, out, n, tag, false, &h), 0);
    return h;
}

static void rounds(void)
{
    for (int i = 0; i < 5; i++)
        (void)wio_progress(u, WIO_PROGRESS_FULL);
}

/* The other route opens, and the peer gives credit. */
static void other_opens(void)
{
    struct wio_msg m = {.op = WIO_OP_CREDIT};
    assert_non_null(fake.ep[1]);
    in_upcall = true;
    fake_state(1, WIO_EP_READY, 0, WIO_BYE_NONE);
    in_upcall = false;
    fake.credit[1] = 1000000;
    assert_int_equal(fake_header(1, &m, 0), 0);
    assert_int_equal(fake_payload(1, out), 0);
    rounds();
}

/* Exactly these tags went by the other route, in order. */
static void sent_by_other(int n)
{
    int seen = 0;
    for (int i = 0; i < fake.nsent; i++)
        if (fake.sent[i].msg.op == WIO_OP_EAGER || fake.sent[i].msg.op == WIO_OP_RTS) {
            assert_int_equal(fake.sent[i].msg.tag, seen);
            assert_int_equal(fake.sent[i].msg.envelope, (uint32_t)seen + 1);
            seen++;
        }
    assert_int_equal(seen, n);
    assert_int_equal(better.sent, 0);
    assert_false(u->peer[1]->dead);
}

static void some_sends(struct wio_handle h[4])
{
    h[0] = isend(10, 0);
    h[1] = isend(sizeof out, 1); /* in pieces */
    h[2] = isend(0, 2);
    h[3] = isend(5000, 3);
}

static void test_route_fails_while_connecting(void **unused)
{
    (void)unused;
    struct wio_handle h[4];
    some_sends(h);
    assert_int_equal(better.dials, 1);
    assert_int_equal(fake.dials[1], 0);
    better_state(WIO_EP_CLOSED, WAITIO_ERR_NOROUTE, WIO_BYE_NONE);
    rounds();
    assert_int_equal(fake.dials[1], 1);
    assert_int_equal(better.dials, 1);
    other_opens();
    sent_by_other(4);
}

/* Nothing is to be sent: a receive alone may need the link (a source that is silent is dialled). */
static void test_route_fails_for_a_receive(void **unused)
{
    (void)unused;
    struct wio_handle h;
    static uint8_t in[100];
    assert_int_equal(wio_irecv(u, g, 1, in, sizeof in, 5, false, &h), 0);
    struct wio_peer *p = wio_peer_get(u, 1);
    assert_int_equal(wio_peer_connect(u, p), 0);
    better_state(WIO_EP_CLOSED, WAITIO_ERR_NOROUTE, WIO_BYE_NONE);
    rounds();
    assert_int_equal(fake.dials[1], 1);
    assert_false(p->dead);
}

static void test_route_fails_at_once(void **unused)
{
    (void)unused;
    struct wio_handle h[4];
    better.connect_rc = WAITIO_ERR_NOROUTE;
    some_sends(h);
    assert_int_equal(better.dials, 1);
    assert_int_equal(fake.dials[1], 1);
    other_opens();
    sent_by_other(4);
}

/* The peer has given up the route that we still try, and comes by the other one. */
static void peer_comes_by_other(void)
{
    struct wio_handle h[4];
    some_sends(h);
    fake_ep_new(1, WIO_EP_CONNECTING);
    other_opens();
    sent_by_other(4);
}

static void test_peer_comes_by_the_other(void **unused)
{
    (void)unused;
    peer_comes_by_other();
    assert_int_equal(better.closes, 1);
    better_state(WIO_EP_CLOSED, 0, better.reason); /* our own closing of it */
    rounds();
    assert_false(u->peer[1]->dead);
    assert_ptr_equal(u->peer[1]->ep, &fake.ep[1]->ep);
    (void)isend(1, 4);
    sent_by_other(5);
}

static void test_peer_comes_and_ours_is_refused(void **unused)
{
    (void)unused;
    peer_comes_by_other();
    better_state(WIO_EP_CLOSED, WAITIO_ERR_NOROUTE, WIO_BYE_NONE);
    rounds();
    assert_false(u->peer[1]->dead);
    (void)isend(1, 4);
    sent_by_other(5);
    assert_int_equal(fake.dials[1], 0); /* the peer's link serves */
}

/* The route that was given up becomes ready all the same: the first one stays. */
static void test_late_link_is_not_taken(void **unused)
{
    (void)unused;
    peer_comes_by_other();
    better_state(WIO_EP_READY, 0, WIO_BYE_NONE);
    rounds();
    assert_ptr_equal(u->peer[1]->ep, &fake.ep[1]->ep);
    (void)isend(1, 4);
    sent_by_other(5);
    better_state(WIO_EP_CLOSING, 0, better.reason);
    better_state(WIO_EP_CLOSED, 0, better.reason);
    rounds();
    assert_false(u->peer[1]->dead);
}

/* Both routes gone: the error says why, nobody waits. */
static void test_no_route_is_left(void **unused)
{
    (void)unused;
    struct wio_handle h = isend(sizeof out, 0);
    struct wio_result res;
    bool flag = false;
    fake.connect_rc = WAITIO_ERR_NOROUTE;
    better_state(WIO_EP_CLOSED, WAITIO_ERR_NOROUTE, WIO_BYE_NONE);
    rounds();
    assert_true(u->peer[1]->dead);
    assert_true(wio_test(u, &h, &flag, &res) < 0 || res.err < 0);
    assert_true(flag);
}

static int looks;

static void count_look(struct fake *f)
{
    (void)f;
    looks++;
}

/* However busy memory is, sockets have their turn: nobody there is starved. */
static void test_busy_memory_does_not_starve_sockets(void **unused)
{
    (void)unused;
    u->attr[WIO_TR_SHM].caps = WIO_CAP_MEMORY;
    better.events = 1;
    fake.script = count_look;
    looks = 0;
    for (int i = 0; i < 800; i++)
        (void)wio_progress(u, WIO_PROGRESS_FULL);
    assert_in_range(looks, 50, 400); /* now and then, but not in every round: that costs */
    better.events = 0;
    for (int i = 0; i < 100; i++)
        (void)wio_progress(u, WIO_PROGRESS_FULL);
    looks = 0;
    for (int i = 0; i < 100; i++)
        (void)wio_progress(u, WIO_PROGRESS_FULL);
    assert_int_equal(looks, 100); /* memory is quiet */
    fake.script = NULL;
}

static enum wio_distance far_away(struct wio_iface *iface, uint32_t peer)
{
    (void)iface;
    (void)peer;
    return WIO_AT_FAR;
}

static int first_op(size_t bytes)
{
    fake.nsent = 0;
    (void)isend(bytes, 0);
    rounds();
    for (int i = 0; i < fake.nsent; i++)
        if (fake.sent[i].msg.op == WIO_OP_EAGER || fake.sent[i].msg.op == WIO_OP_RTS)
            return fake.sent[i].msg.op;
    return -1;
}

static void open_other_at(enum wio_distance (*distance)(struct wio_iface *, uint32_t))
{
    better.barred = true;
    u->cfg.eager_max_far = 600 << 10;
    u->attr[WIO_TR_TCP].eager_max = 100 << 10;
    fake.tr.adapt = wio_transport_get(WIO_TR_TCP)->adapt;
    fake.tr.distance = distance;
    (void)isend(0, 0);
    other_opens();
}

/* A peer far away is sent more without asking (WAITIO_EAGER_MAX_FAR). */
static void test_distance_decides_what_is_asked(void **unused)
{
    (void)unused;
    open_other_at(wio_tr_same_host);
    assert_int_equal(first_op(200 << 10), WIO_OP_RTS);
    teardown(NULL);
    setup(NULL);
    open_other_at(far_away);
    assert_int_equal(first_op(200 << 10), WIO_OP_EAGER);
    assert_int_equal(first_op(700 << 10), WIO_OP_RTS);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_route_fails_while_connecting),
        CASE(test_route_fails_for_a_receive),
        CASE(test_route_fails_at_once),
        CASE(test_peer_comes_by_the_other),
        CASE(test_peer_comes_and_ours_is_refused),
        CASE(test_late_link_is_not_taken),
        CASE(test_no_route_is_left),
        CASE(test_busy_memory_does_not_starve_sockets),
        CASE(test_distance_decides_what_is_asked),
    };
    return cmocka_run_group_tests_name("p2p_routes", tests, NULL, NULL);
}
