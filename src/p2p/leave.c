/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Leaving: deliver all started sends, exchange goodbyes, free memory. It waits for living peers,
 * however slow; a peer whose library does not answer for WAITIO_LINGER is given up.
 */
#include "p2p/universe.h"

#include <time.h>

#define PING_NS 500000000LL
#define STUCK_NS 2000000000LL

struct leaving {
    struct wio_universe *u;
    int64_t begun_ns;
    bool gave_up;
};

static bool unsent(const struct wio_peer *p)
{
    if (p->dead)
        return false;
    if (!wio_list_empty(&p->sendq) || !wio_list_empty(&p->bulk) || !wio_list_empty(&p->ctlq))
        return true;
    WIO_LIST_FOR(it, &p->owned)
    {
        const struct wio_request *r = WIO_CONTAINER(it, struct wio_request, owned);
        if (r->kind == WIO_REQ_SEND)
            return true;
    }
    return false;
}

static bool all_sent(void *arg)
{
    const struct leaving *l = arg;
    for (uint32_t i = 0; i < l->u->table->size; i++)
        if (l->u->peer[i] != NULL && unsent(l->u->peer[i]))
            return false;
    return true;
}

/* Also says goodbye: links may be new, dialled by peers that wait for this process. */
static bool all_closed(void *arg)
{
    const struct leaving *l = arg;
    bool closed = true;
    for (uint32_t i = 0; i < l->u->table->size; i++) {
        const struct wio_peer *p = l->u->peer[i];
        if (p == NULL || p->ep == NULL)
            continue;
        closed = false;
        if (p->ep->state < WIO_EP_CLOSING)
            p->iface->tr->close(p->ep, WIO_BYE_FINALIZE);
    }
    return closed;
}

/* Ping silent peers; drop those without an answer for the linger time. */
static void press(struct leaving *l, int64_t now)
{
    struct wio_universe *u = l->u;
    int64_t linger = (int64_t)(u->cfg.linger * 1e9);
    wio_stuck_redial(u,
                     now); /* sends that wait for a peer whose link a connection cap has closed */
    for (uint32_t i = 0; i < u->table->size; i++) {
        struct wio_peer *p = u->peer[i];
        if (p == NULL || p->ep == NULL || p->silent)
            continue;
        int64_t heard = p->iface->tr->heard_ns(p->ep);
        if (heard < l->begun_ns)
            heard = l->begun_ns;
        if (heard < p->linked_ns)
            heard = p->linked_ns;
        if (now - heard > linger) {
            char name[64];
            wio_warn(&u->log, WIO_C_P2P,
                     "%s gave no sign of life for %.0f s (WAITIO_LINGER): leaving without it",
                     wio_peer_name(u, i, name, sizeof name), u->cfg.linger);
            p->silent =
                true; /* its CLOSED fails what is left: the transport still holds some of that */
            p->iface->tr->close(p->ep, WIO_BYE_ERROR);
            l->gave_up = true;
        } else if (now - heard > PING_NS) {
            p->iface->tr->ping(p->ep);
        }
    }
}

static void drive(struct leaving *l, wio_done_fn done, const char *what)
{
    while (!done(l)) {
        int64_t slice = wio_os_now_ns() + PING_NS;
        if (wio_wait_until(l->u, done, l, NULL, what, slice) == 0)
            return;
        press(l, wio_os_now_ns());
    }
}

/* @return false: no file is wanted, or it cannot be written */
static bool stats_to_file(struct wio_universe *u, const struct wio_strbuf *table)
{
    struct wio_strbuf name = {0};
    if (u->cfg.stats_file[0] == '\0' ||
        wio_log_file_name(&name, u->cfg.stats_file, (int)u->table->me) != 0) {
        wio_strbuf_free(&name);
        return false;
    }
    int fd = wio_os_open_append(name.text);
    bool done = fd >= 0 && wio_os_write(fd, table->text, table->len) == (ssize_t)table->len;
    if (!done)
        wio_warn(&u->log, WIO_C_P2P, "WAITIO_STATS_FILE: cannot write '%s'%s%s", name.text,
                 fd < 0 ? ": " : "", fd < 0 ? strerror(-fd) : "");
    wio_os_close(fd);
    wio_strbuf_free(&name);
    return done;
}

static void print_stats(struct wio_universe *u)
{
    char name[64];
    struct wio_strbuf sb = {0};
    wio_strbuf_add(&sb, "WaitIO statistics of %s\n",
                   wio_peer_name(u, u->table->me, name, sizeof name));
    const struct wio_counter_row *row;
    for (int i = 0; (row = wio_counter_row(i)) != NULL; i++) {
        uint64_t value = wio_counter_value(&u->ctr, i);
        if (value != 0)
            wio_strbuf_add(&sb, "  %-18s %16llu %s\n", row->name, (unsigned long long)value,
                           row->unit);
    }
    if (!sb.failed && !stats_to_file(u, &sb))
        fputs(sb.text, stderr);
    wio_strbuf_free(&sb);
}

static void free_requests(struct wio_universe *u)
{
    for (uint32_t s = 0; s < u->nslabs; s++) {
        for (uint32_t i = 0; i < WIO_SLAB; i++) {
            struct wio_request *r = &u->slab[s][i];
            if (r->kind == WIO_REQ_FREE)
                continue;
            wio_os_free(r->pool);
            wio_spread_end(r);
            if (r->group != NULL && --r->group->refs == 0)
                wio_group_destroy(r->group);
        }
        wio_os_free(u->slab[s]);
    }
    wio_os_free(u->slab);
}

static void free_held(void *arg, struct wio_held *h)
{
    struct wio_universe *u = arg;
    wio_match_unhold(&u->match, h);
    wio_unexpected_free(u, (struct wio_unexpected *)(void *)h);
}

static void free_peers(struct wio_universe *u)
{
    for (uint32_t i = 0; u->peer != NULL && i < u->table->size; i++) {
        struct wio_peer *p = u->peer[i];
        if (p == NULL)
            continue;
        WIO_LIST_FOR_SAFE(it, next, &p->early)
        {
            wio_unexpected_free(u, WIO_CONTAINER(it, struct wio_unexpected, owned));
        }
        WIO_LIST_FOR_SAFE(it, next, &p->partial)
        {
            wio_unexpected_free(u, WIO_CONTAINER(it, struct wio_unexpected, owned));
        }
        wio_peer_free(u, p);
    }
    wio_os_free(u->peer);
}

void wio_universe_destroy(struct wio_universe *u)
{
    wio_bury(u);
    for (int t = 0; t < WIO_TR_COUNT; t++)
        if (u->iface[t] != NULL)
            u->iface[t]->tr->close_iface(u->iface[t]);
    if (u->match.held != NULL)
        wio_match_each_held(&u->match, free_held, u);
    free_peers(u);
    free_requests(u);
    wio_pieces_free(u);
    wio_match_free(&u->match);
    struct wio_list *n;
    while ((n = wio_list_pop(&u->groups)) != NULL)
        wio_group_destroy(WIO_CONTAINER(n, struct waitio_group, node));
    wio_pool_free(&u->ctl_pool);
    wio_pool_free(&u->small_pool);
    wio_os_close(u->kick_fd);
    wio_os_close(u->service_fd);
    wio_os_free(u->watch); /* the descriptors are the program's */
    wio_os_free(u->sizes);
    wio_os_free(u->revoked);
    wio_table_free(u->table);
    wio_log_close(&u->log);
    pthread_cond_destroy(&u->turn);
    wio_lock_destroy(&u->lock);
    wio_secret_wipe(&u->secret);
    wio_os_free(u);
}

/* exit() or waitio_abort() in a signal handler: has it interrupted a call of this thread? Then the
 * engine's state may be inconsistent. Usually the mutex knows; not when it was just being locked or
 * unlocked, but no other thread keeps it for so long. */
static bool interrupted_ourselves(struct wio_universe *u)
{
    if (wio_lock_mine(&u->lock))
        return true;
    atomic_fetch_add(&u->want, 1);
    bool in = wio_lock_timed(&u->lock, STUCK_NS);
    atomic_fetch_sub(&u->want, 1);
    return !in;
}

int wio_universe_leave(struct wio_universe *u, bool keep)
{
    if (keep && interrupted_ourselves(u))
        return wio_fail(WAITIO_ERR_BUSY,
                        "called by a signal handler in the middle of a WaitIO call: leaving "
                        "without delivering what was sent and without a goodbye");
    wio_enter(u);
    if (u->polling && pthread_equal(u->poller, pthread_self()))
        u->polling = u->poller_asleep = false; /* our own wait, which a handler interrupted */
    u->ending = true;
    struct leaving l = {.u = u, .begun_ns = wio_os_now_ns()};
    wio_recv_refuse_held(u); /* two leaving processes must not wait for each other's answer */
    drive(&l, all_sent, "finalize (delivering what was sent)");
    if (!keep && u->inside == 0)
        wio_recv_cancel_all(u);
    else if (!keep) /* a thread that waits would take a cancelled receive for a success */
        wio_recv_end_all(u);
    l.begun_ns = wio_os_now_ns();
    drive(&l, all_closed, "finalize (goodbyes)");
    if (u->cfg.stats)
        print_stats(u);
    keep = keep || u->inside > 0 || u->sleepers > 0; /* other threads still wait */
    if (u->watched)
        wio_watch_tell(u);
    if (!keep)
        wio_outside_end(u);
    wio_leave(u);
    wio_service_thread_stop(u);
    if (!keep)
        wio_universe_destroy(u);
    return l.gave_up
               ? wio_fail(WAITIO_ERR_TIMEOUT, "some peers gave no sign of life (WAITIO_LINGER)")
               : 0;
}

void wio_universe_abort(struct wio_universe *u)
{
    if (interrupted_ourselves(u))
        return;
    wio_enter(u);
    u->ending = true;
    for (uint32_t i = 0; i < u->table->size; i++) {
        struct wio_peer *p = u->peer[i];
        if (p != NULL && p->ep != NULL)
            p->iface->tr->close(p->ep, WIO_BYE_ABORT);
    }
    wio_leave(u);
}

bool wio_universe_before_fork(struct wio_universe *u)
{
    if (interrupted_ourselves(u))
        return false;
    wio_lock_take(&u->lock, &u->want);
    return true;
}

void wio_universe_forked(struct wio_universe *u)
{
    wio_lock_leave(&u->lock);
}

void wio_universe_after_fork(struct wio_universe *u)
{
    for (int t = 0; t < WIO_TR_COUNT; t++)
        if (u->iface[t] != NULL)
            u->iface[t]->tr->after_fork(u->iface[t]);
    if (u->table != NULL)
        wio_table_after_fork(u->table);
    wio_os_close(u->kick_fd);
    wio_os_close(u->service_fd);
}
