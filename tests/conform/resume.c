/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file resume.c  TCP: connections that break between living processes. Every message arrives once,
 * in order and unchanged, and p2p never hears of the break; what cannot be made anew is an error.
 */
#include "auth/tls_lib.h"
#include "relay.h"
#include "transport/tcp/tcp.h"

static uint32_t any_size(struct world *w)
{
    switch (rnd(w, 6)) {
    case 0:
        return 0;
    case 1:
    case 2:
        return rnd(w, 600);
    case 3:
        return rnd(w, 5000);
    case 4:
        return rnd(w, 70000);
    default:
        return rnd(w, 300000);
    }
}

static void send_any(struct world *w, uint32_t from, uint32_t to)
{
    static const uint8_t flags[] = {0, WIO_TX_SMALL, WIO_TX_SMALL | WIO_TX_BATCH, WIO_TX_KEPT};
    uint32_t n = any_size(w);
    uint8_t f = flags[rnd(w, 4)];
    if (f != WIO_TX_KEPT && n > 20000 && f != 0)
        n = 20000;
    node_send(&w->node[from], to, n, f, false);
}

static uint64_t resumes(const struct world *w)
{
    uint64_t n = 0;
    for (int i = 0; i < w->n; i++)
        n += w->node[i].ctr.link_resumes;
    return n;
}

static void no_errors(const struct world *w)
{
    for (int i = 0; i < w->n; i++)
        for (int k = 0; k < w->n; k++)
            if (w->node[i].peer[k].err != 0)
                fail_msg("node %d: %s", i, w->node[i].peer[k].text);
}

static void traffic(struct relay *r, int messages)
{
    struct world *w = r->w;
    for (int i = 0; i < messages; i++) {
        uint32_t from = rnd(w, (uint32_t)w->n), to = rnd(w, (uint32_t)w->n - 1);
        send_any(w, from, to < from ? to : to + 1);
        for (uint32_t k = rnd(w, 4); k > 0; k--)
            relay_step(r);
    }
}

static struct world *world_of(const struct wio_transport *tr, int n, uint64_t seed, bool crc)
{
    const char *more = wio_os_getenv("CONFORM_SEED"); /* other random numbers */
    struct world *w = world_new(tr, n);
    w->rng = seed + (more != NULL ? strtoull(more, NULL, 10) * 1000 : 0);
    for (int i = 0; i < n; i++) {
        w->node[i].cfg.crc = crc;
        w->node[i].cfg.resume_timeout = 30;
        w->node[i].use_ep = seed % 3 == 0;
        w->node[i].stop_every = seed % 4 == 0 ? 3 : 0;
    }
    return w;
}

/* Once the first connection stands: a dial that is not answered may wait for ever. */
static struct relay *meet(struct world *w)
{
    struct relay *r = relay_new(w);
    node_send(&w->node[0], 1, 1, 0, false);
    node_send(&w->node[1], 0, 1, 0, false);
    THROUGH(r, all_arrived(w));
    return r;
}

/* Connections of random lengths, ended in every way, bytes in pieces of every size. Guard: without
 * the dropping of what the peer has, messages come twice; without the copies the link is lost. */
static void test_cuts_anywhere(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        uint64_t resumed = 0;
        for (uint64_t seed = 1; seed <= 24; seed++) {
            struct world *w = world_open(world_of(tr, 2, seed, seed % 2 == 0));
            struct relay *r = meet(w);
            relay_budget(r, seed % 3 == 0 ? 3000 : 400000);
            traffic(r, 150);
            relay_budget(r, 0);
            THROUGH(r, all_arrived(w));
            no_errors(w);
            resumed += resumes(w);
            assert_int_equal(w->node[0].peer[1].closed + w->node[1].peer[0].closed, 0);
            THROUGH(r, w->node[0].ctr.resume_bytes + w->node[1].ctr.resume_bytes == 0);
            relay_free(r);
            world_free(w);
        }
        assert_true(resumed > 24);
    }
}

/* Let only the other one dial, until so many connections were cut, or none will be. */
static void dialled_by_the_other(struct relay *r, int node, int cuts)
{
    r->shut = 1 - node;
    int64_t until = wt_until_ns(SECOND / 2);
    while (r->cuts < cuts && !all_arrived(r->w) && wio_os_now_ns() < until)
        relay_step(r);
}

/* A dials, then B does, then A, and each of the first two connections is cut after each of the
 * first pieces: one side has the link, the other has not. A later break must find it, whoever has
 * named it. Guard: where the acceptor of the third takes the name for the dialer's though it is its
 * own, both refuse each other at the next break. */
static void test_cuts_of_handshakes(void **state)
{
    enum { PIECES = 7 };
    (void)state;
    EACH_TCP(tr)
    {
        for (int i = 0; i < 2 * PIECES * PIECES; i++) {
            struct world *w = world_open(world_of(tr, 2, 3, false));
            struct relay *r = relay_new(w);
            int first = i % 2;
            r->pieces[0] = 1 + i / 2 % PIECES;
            r->pieces[1] = 1 + i / 2 / PIECES;
            node_send(&w->node[0], 1, 10, 0, false);
            node_send(&w->node[1], 0, 10, 0, false);
            dialled_by_the_other(r, first, 1);
            dialled_by_the_other(r, 1 - first, 2);
            dialled_by_the_other(r, first, 3);
            r->shut = -1;
            THROUGH(r, all_arrived(w));
            relay_cut(r, CUT_END);
            traffic(r, 5);
            THROUGH(r, all_arrived(w));
            no_errors(w);
            relay_free(r);
            world_free(w);
        }
    }
}

/* The dialer has been let in, and is not told that the connection has gone; the acceptor is, before
 * anything has come from the dialer, and dials itself. Guard: a dialer that waits for the end of
 * its link refuses that for ever. At last a dialer waits for its challenge, and must dial again. */
static void test_only_the_acceptor_notices(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        for (int i = 0; i < 7; i++) {
            struct world *w = world_of(tr, 2, 3, false);
            w->node[0].cfg.connect_timeout = 1;
            world_open(w);
            struct relay *r = relay_new(w);
            int first = i % 2;
            r->pieces[0] = i == 6 ? 1 : 4 + i / 2; /* hello, challenge, proof, welcome; more */
            r->how = CUT_ACCEPTOR;
            node_send(&w->node[0], 1, 10, 0, false);
            if (i < 6) {
                node_send(&w->node[1], 0, 10, 0, false);
                dialled_by_the_other(r, first, 1);
            }
            r->shut = -1;
            THROUGH(r, all_arrived(w));
            traffic(r, 5);
            THROUGH(r, all_arrived(w));
            no_errors(w);
            relay_free(r);
            world_free(w);
        }
    }
}

static struct path *path_where(const struct relay *r, bool held)
{
    for (int i = 0; i < RELAY_PATHS; i++)
        if (r->path[i] != NULL && !r->path[i]->frozen && r->path[i]->held == held)
            return r->path[i];
    return NULL;
}

static bool polls(const struct path *p, int side, short what)
{
    struct pollfd pf = {.fd = p->fd[side], .events = what};
    return p->held && poll(&pf, 1, 0) > 0;
}

/* Node 0 is let in, hears nothing, and the connection breaks. Node 1, which does not know that
 * link, dials another one: its proof is under way. It gives up this dial when node 0's next one
 * comes, and hears node 0 by it. Then its proof arrives: node 0 takes that connection instead,
 * which has ended. Node 1 now asks for the link by node 0's number. Guard: a link that has taken
 * the number of the dial that was given up is lost. */
static void test_a_dial_that_was_given_up_arrives(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_open(world_of(tr, 2, 3, false));
        struct relay *r = relay_new(w);
        struct node *a = &w->node[0], *b = &w->node[1];
        r->pieces[0] = 4;  /* hello, challenge, proof, welcome */
        r->pieces[1] = -2; /* hello, challenge */
        node_send(a, 1, 10, 0, false);
        node_send(b, 0, 10, 0, false);
        dialled_by_the_other(r, 1, 1);
        assert_int_equal(r->cuts, 1);
        assert_true(a->peer[1].ready == 1 && b->peer[0].ready == 0);
        r->shut = 1;
        THROUGH(r, path_where(r, true) != NULL);
        struct path *given_up = path_where(r, true);
        THROUGH(r, polls(given_up, 0, POLLIN)); /* the proof is written */
        r->shut = -1;
        THROUGH(r, b->peer[0].ready == 1);
        struct path *taken = path_where(r, false);
        taken->held = true;
        given_up->held = false;
        THROUGH(r, polls(taken, 0, POLLRDHUP));
        taken->held = false;
        THROUGH(r, all_arrived(w));
        no_errors(w);
        assert_int_equal(a->peer[1].closed + b->peer[0].closed, 0);
        relay_free(r);
        world_free(w);
    }
}

/* A dial of a new link waits as long as its connection lives: its handshake, and what goes with it,
 * is not cut in silence where new links are made. */
enum { LOUD = 2000 };

/* Goodbyes, answers and their acknowledgements are cut, too; the next link is made behind them. */
static void test_cuts_while_closing(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        for (uint64_t seed = 1; seed <= 60; seed++) {
            struct world *w = world_open(world_of(tr, 2, seed, false));
            struct relay *r = meet(w);
            struct node *a = &w->node[0], *b = &w->node[1];
            r->loud = LOUD;
            relay_budget(r, 4000);
            for (int round = 0; round < 6; round++) {
                for (int i = 0; i < 3; i++) {
                    node_send(a, 1, rnd(w, 900), WIO_TX_SMALL, false);
                    node_send(b, 0, rnd(w, 900), 0, false);
                }
                for (uint32_t k = rnd(w, 30); k > 0; k--)
                    relay_step(r);
                if (a->peer[1].ep != NULL && a->peer[1].ep->state < WIO_EP_CLOSING)
                    tr->close(a->peer[1].ep, WIO_BYE_CAP);
                if (rnd(w, 2) == 0 && b->peer[0].ep != NULL &&
                    b->peer[0].ep->state < WIO_EP_CLOSING)
                    tr->close(b->peer[0].ep, WIO_BYE_CAP);
                for (uint32_t k = rnd(w, 30); k > 0; k--)
                    relay_step(r);
            }
            relay_budget(r, 0);
            THROUGH(r, all_arrived(w));
            no_errors(w);
            relay_free(r);
            world_free(w);
        }
    }
}

/* With fewer places than peers, links are opened, closed and broken all the time. */
static void test_cuts_under_a_cap(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        for (uint64_t seed = 1; seed <= 6; seed++) {
            struct world *w = world_of(tr, 4, seed, false);
            for (int i = 0; i < w->n; i++)
                w->node[i].cfg.max_connections = 1 + seed % 2;
            world_open(w);
            struct relay *r = relay_new(w);
            r->loud = LOUD;
            relay_budget(r, 300000);
            traffic(r, 200);
            relay_budget(r, 0);
            THROUGH(r, all_arrived(w));
            no_errors(w);
            for (int i = 0; i < w->n; i++)
                assert_true(w->node[i].ctr.links_max <= 2 + seed % 2);
            relay_free(r);
            world_free(w);
        }
    }
}

static int single_bytes(enum wio_os_call call, int fd, size_t bytes)
{
    static uint32_t calls;
    (void)fd;
    (void)bytes;
    return call == WIO_OS_RECV || (call == WIO_OS_SEND && ++calls % 5 == 0) ? 1 : 0;
}

/* The same where each read gives one byte, and some writes take one. */
static void test_cuts_in_single_bytes(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        uint64_t resumed = 0;
        for (uint64_t seed = 1; seed <= 4; seed++) {
            struct world *w = world_open(world_of(tr, 2, seed, false));
            struct relay *r = meet(w);
            int (*before)(enum wio_os_call, int, size_t) = wio_os_fault;
            wio_os_fault = single_bytes;
            relay_budget(r, 3000);
            for (int i = 0; i < 40; i++) {
                node_send(&w->node[i % 2], (uint32_t)(1 - i % 2), rnd(w, 300), WIO_TX_SMALL, false);
                relay_step(r);
            }
            relay_budget(r, 0);
            THROUGH(r, all_arrived(w));
            wio_os_fault = before;
            no_errors(w);
            resumed += resumes(w);
            relay_free(r);
            world_free(w);
        }
        assert_true(resumed > 0);
    }
}

static int full_socket(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    return call == WIO_OS_SEND ? -EAGAIN : 0;
}

/* The end of a message waits for room in the socket, leaves by reading (auth/tls.c), and the
 * connection is lost before the link has looked: the peer's word that it has heard the message must
 * be believed. Guard: a link that sends it again is lost. */
static void test_cut_before_the_end_is_counted(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_open(world_of(tr, 2, 5, false));
        struct relay *r = meet(w);
        struct tcp_link *l = tcp_link_of(w->node[0].peer[1].ep);
        if (l->tls != NULL) {
            int (*before)(enum wio_os_call, int, size_t) = wio_os_fault;
            wio_os_fault = full_socket;
            node_send(&w->node[0], 1, 1000, 0, false);
            wio_os_fault = before;
            l->can_write = false;
            wio_tcp_tx_wake(l);
            assert_true(wio_tls_flush(l->tls));
            w->node[0].mute = true;
            THROUGH(r, w->node[1].peer[0].nin == 2);
            relay_cut(r, CUT_END);
            w->node[0].mute = false;
            THROUGH(r, resumes(w) == 2);
            node_send(&w->node[0], 1, 10, 0, false);
            THROUGH(r, all_arrived(w));
            no_errors(w);
        }
        relay_free(r);
        world_free(w);
    }
}

/* Full batch buffers are kept as they are, and a break in the middle of one sends again only what
 * was not heard. Guard: buffers that are dropped, or not trimmed. */
static void test_cuts_of_batches(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        uint64_t again = 0;
        for (uint64_t seed = 1; seed <= 8; seed++) {
            struct world *w = world_open(world_of(tr, 2, seed, seed % 2 == 0));
            struct relay *r = meet(w);
            relay_budget(r, 200000);
            for (int i = 0; i < 1500; i++) {
                node_send(&w->node[0], 1, 400 + rnd(w, 900), WIO_TX_SMALL | WIO_TX_BATCH, false);
                if (i % 60 == 0)
                    node_send(&w->node[1], 0, rnd(w, 100), WIO_TX_SMALL, false);
                if (rnd(w, 40) == 0)
                    relay_step(r);
            }
            relay_budget(r, 0);
            THROUGH(r, all_arrived(w));
            no_errors(w);
            again += w->node[0].ctr.resent_msgs;
            THROUGH(r, w->node[0].ctr.resume_bytes == 0);
            relay_free(r);
            world_free(w);
        }
        assert_true(again > 100);
    }
}

/* One message larger than all copies together, and many short ones to a peer that does not look. */
static void test_copies_are_bounded(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_open(world_of(tr, 2, 1, false));
        struct node *a = &w->node[0];
        node_connect(a, 1);
        UNTIL(w, a->peer[1].ready == 1 && w->node[1].peer[0].ready == 1);
        w->node[1].mute = true;
        for (int i = 0; i < 400; i++)
            node_send(a, 1, 60000, 0, false);
        FOR_MS(w, 20);
        assert_true(a->ctr.resume_bytes > 0);
        w->node[1].mute = false;
        UNTIL(w, all_arrived(w));
        assert_true(a->ctr.resume_max < 3u << 20);
        UNTIL(w, a->ctr.resume_bytes == 0); /* an idle link holds nothing */
        world_free(w);
    }
}

/* The process ends while its connection is to be made anew. */
static void test_peer_dies_meanwhile(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        for (int late = 0; late < 8; late++) {
            struct world *w = world_open(world_of(tr, 2, (uint64_t)late + 1, false));
            struct relay *r = relay_new(w);
            w->quiet_errors = true;
            traffic(r, 20);
            THROUGH(r, all_arrived(w) && w->node[0].peer[1].ready == 1);
            relay_cut(r, late % 2 ? CUT_RESET : CUT_END);
            for (int i = 0; i < late; i++)
                relay_step(r);
            if (late >= 4)
                for (int i = 0; i < 5; i++)
                    send_any(w, 0, 1);
            node_kill(&w->node[1]);
            relay_close(r);
            int64_t t = wio_os_now_ns();
            UNTIL(w, w->node[0].peer[1].closed == 1);
            assert_true(wio_os_now_ns() - t < wt_scaled_ns(2 * SECOND));
            assert_int_equal(w->node[0].peer[1].err, WAITIO_ERR_PEER);
            assert_int_equal(w->node[0].ndone, w->node[0].nqueued);
            relay_free(r);
            world_free(w);
        }
    }
}

static const struct wio_counters *answering;
static int answers_lost;

/* The first thing that is written after the link has broken, its READY, finds no connection. */
static int lose_one_answer(enum wio_os_call call, int fd, size_t bytes)
{
    (void)fd;
    (void)bytes;
    if (call != WIO_OS_SEND || answering->link_breaks == 0 || answers_lost > 0)
        return 0;
    answers_lost++;
    return -ECONNRESET;
}

/* As in test_only_the_acceptor_notices the peer dials anew, on a link that it never had. It ends
 * before it has our READY. Guard: a link that then waits for its next dial, for ever. */
static void test_peer_dies_while_it_is_answered(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_open(world_of(tr, 2, 1, false));
        struct node *dead = &w->node[0], *left = &w->node[1];
        struct relay *r = relay_new(w);
        w->quiet_errors = true;
        r->pieces[0] = 4;
        r->how = CUT_ACCEPTOR;
        node_send(dead, 1, 10, 0, false);
        node_send(left, 0, 10, 0, false);
        dialled_by_the_other(r, 0, 1);
        assert_int_equal(r->cuts, 1);
        answering = &left->ctr;
        answers_lost = 0;
        wio_os_fault = lose_one_answer;
        r->shut = -1;
        THROUGH(r, answers_lost == 1);
        wio_os_fault = NULL;
        node_kill(dead);
        relay_close(r);
        UNTIL(w, left->peer[0].closed == 1);
        assert_int_equal(left->peer[0].err, WAITIO_ERR_PEER);
        relay_free(r);
        world_free(w);
    }
}

/* Somebody accepts and hangs up, for ever: the limit ends it. */
static void test_limit(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_of(tr, 2, 1, false);
        w->quiet_errors = true;
        w->node[0].cfg.resume_timeout = w->node[1].cfg.resume_timeout = 1;
        world_open(w);
        struct relay *r = relay_new(w);
        node_send(&w->node[0], 1, 100, 0, false);
        THROUGH(r, all_arrived(w));
        r->refuse = true;
        relay_cut(r, CUT_RESET);
        int64_t t = wio_os_now_ns();
        THROUGH(r, w->node[0].peer[1].closed + w->node[1].peer[0].closed == 2);
        int64_t took = wio_os_now_ns() - t;
        assert_true(took > SECOND / 2 && took < wt_scaled_ns(3 * SECOND));
        assert_int_equal(w->node[0].peer[1].err, WAITIO_ERR_PEER);
        assert_non_null(strstr(w->node[0].peer[1].text, "WAITIO_RESUME_TIMEOUT"));
        relay_free(r);
        world_free(w);
    }
}

/* Each new connection is cut before a message is through. Guard: without a pause before the next
 * one there were many more. */
static void test_dials_pause(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_of(tr, 2, 1, false);
        w->node[0].cfg.resume_timeout = w->node[1].cfg.resume_timeout = 60;
        world_open(w);
        struct relay *r = meet(w);
        int dials = r->dials;
        r->budget_max = 4000;
        node_send(&w->node[0], 1, 1 << 20, 0, false);
        relay_cut(r, CUT_RESET);
        for (int64_t end = wio_os_now_ns() + SECOND; wio_os_now_ns() < end;)
            relay_step(r);
        assert_in_range(r->dials - dials, 1, 20); /* 13; without a pause 27 to 47 */
        r->budget_max = 0;
        THROUGH(r, all_arrived(w));
        relay_free(r);
        world_free(w);
    }
}

/* One side has said and heard both goodbyes, the other one has heard none, and the network is away
 * for three seconds. Guard: who needs nothing more gives up after two, and the other side takes it
 * for dead. */
static void test_goodbye_after_an_outage(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_of(tr, 2, 1, false);
        w->node[0].cfg.linger = w->node[1].cfg.linger = 60;
        struct relay *r = meet(world_open(w));
        struct tcp_link *a = tcp_link_of(w->node[0].peer[1].ep);
        tr->close(w->node[1].peer[0].ep, WIO_BYE_FINALIZE);
        THROUGH(r, a->state == TCP_ANSWER || a->state == TCP_LAST);
        w->node[1].mute = true;
        tr->close(&a->ep, WIO_BYE_FINALIZE);
        THROUGH(r, a->state == TCP_LAST);
        w->node[1].mute = false;
        r->refuse = true;
        relay_cut(r, CUT_END);
        through_ms(r, 3000);
        r->refuse = false;
        THROUGH(r, w->node[0].peer[1].closed + w->node[1].peer[0].closed == 2);
        no_errors(w);
        relay_free(r);
        world_free(w);
    }
}

/* The connection breaks again before a message is through, later than WAITIO_RESUME_TIMEOUT after
 * the first break, and only the peer notices. Its dial shows that it lives. Guard: an acceptor that
 * gives the link up all the same, and then gives the socket to it. */
static void test_a_peer_that_dials_lives(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_of(tr, 2, 1, false);
        struct node *a = &w->node[0], *b = &w->node[1];
        int64_t limit = wt_scaled_ns(SECOND);
        a->cfg.resume_timeout = (double)limit * 1e-9; /* the other one does not give up */
        world_open(w);
        struct relay *r = meet(w);
        THROUGH(r, a->ctr.resume_bytes + b->ctr.resume_bytes == 0); /* all is acknowledged */
        r->shut = 1; /* node 1 dials, node 0 accepts */
        relay_cut(r, CUT_END);
        int64_t broke = wio_os_now_ns();
        THROUGH(r, a->ctr.link_resumes + b->ctr.link_resumes == 2);
        relay_hold(r);
        node_send(a, 1, 100, 0, false); /* it does not come through */
        while (wio_os_now_ns() < broke + limit + SECOND / 10)
            relay_step(r);
        relay_cut_held(r, CUT_DIALER);
        THROUGH(r, all_arrived(w) && a->ctr.link_resumes + b->ctr.link_resumes == 4);
        no_errors(w);
        assert_int_equal(a->peer[1].closed + b->peer[0].closed, 0);
        relay_free(r);
        world_free(w);
    }
}

/* A link without messages breaks, is whole for some time, and breaks again, later than
 * WAITIO_RESUME_TIMEOUT after the first break. The connection has done all that there was to do.
 * Guard: where that counts as one long break the link is given up. */
static void test_an_idle_link_breaks_now_and_then(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        struct world *w = world_of(tr, 2, 1, false);
        int64_t limit = wt_scaled_ns(SECOND), broke = 0;
        w->node[0].cfg.resume_timeout = w->node[1].cfg.resume_timeout = (double)limit * 1e-9;
        world_open(w);
        struct relay *r = meet(w);
        THROUGH(r, w->node[0].ctr.resume_bytes + w->node[1].ctr.resume_bytes == 0);
        for (uint64_t i = 1; i <= 3; i++) {
            while (i > 1 && wio_os_now_ns() < broke + limit / 2 + SECOND / 20)
                relay_step(r);
            broke = wio_os_now_ns();
            relay_cut(r, CUT_END);
            THROUGH(r, resumes(w) >= 2 * i);
        }
        traffic(r, 5);
        THROUGH(r, all_arrived(w));
        no_errors(w);
        assert_int_equal(w->node[0].peer[1].closed + w->node[1].peer[0].closed, 0);
        relay_free(r);
        world_free(w);
    }
}

/* WAITIO_RESUME_TIMEOUT=0, at one side or both: a broken connection is a peer failure, and nothing
 * is copied. */
static void test_off(void **state)
{
    (void)state;
    EACH_TCP(tr)
    {
        for (int who = 0; who < 3; who++) {
            struct world *w = world_of(tr, 2, 1, false);
            w->quiet_errors = true;
            for (int i = 0; i < 2; i++)
                if (who == 2 || who == i)
                    w->node[i].cfg.resume_timeout = 0;
            world_open(w);
            struct relay *r = relay_new(w);
            node_send(&w->node[0], 1, 100, 0, false);
            node_send(&w->node[1], 0, 100, 0, false);
            THROUGH(r, all_arrived(w));
            if (who == 2)
                assert_int_equal(w->node[0].ctr.resume_max, 0);
            relay_cut(r, CUT_END);
            THROUGH(r, w->node[0].peer[1].closed + w->node[1].peer[0].closed == 2);
            assert_int_equal(w->node[0].peer[1].err, WAITIO_ERR_PEER);
            assert_int_equal(w->node[1].peer[0].err, WAITIO_ERR_PEER);
            assert_int_equal(resumes(w), 0);
            relay_free(r);
            world_free(w);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONFORM(test_cuts_anywhere),
        CONFORM(test_cuts_of_handshakes),
        CONFORM(test_only_the_acceptor_notices),
        CONFORM(test_a_dial_that_was_given_up_arrives),
        CONFORM(test_cuts_while_closing),
        CONFORM(test_cuts_under_a_cap),
        CONFORM(test_cuts_in_single_bytes),
        CONFORM(test_cut_before_the_end_is_counted),
        CONFORM(test_cuts_of_batches),
        CONFORM(test_copies_are_bounded),
        CONFORM(test_peer_dies_meanwhile),
        CONFORM(test_peer_dies_while_it_is_answered),
        CONFORM(test_limit),
        CONFORM(test_dials_pause),
        CONFORM(test_goodbye_after_an_outage),
        CONFORM(test_a_peer_that_dials_lives),
        CONFORM(test_an_idle_link_breaks_now_and_then),
        CONFORM(test_off),
    };
    return cmocka_run_group_tests_name("resume", tests, NULL, NULL);
}
