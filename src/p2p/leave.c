/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Leaving: finish started collectives, deliver all started sends, exchange goodbyes, free memory.
 * It waits for living peers, however slow; a peer whose library does not answer for WAITIO_LINGER
 * is given up. A process that joins again does not wait so long: the peer may itself wait for
 * something that never comes, as its reason for joining again is that somebody has died.
 */
#include "p2p/stripe.h"

#include <time.h>

#define PING_NS 500000000LL
#define STUCK_NS 2000000000LL
#define FETCH_NS_PER_BYTE 10 /* 100 MB/s: slower than any memory is read */

struct leaving {
    struct wio_universe *u;
    int64_t begun_ns;
    int64_t until_ns; /* patience ends, or INT64_MAX */
    int64_t moved_ns; /* when something was last seen to move */
    uint64_t unsent;  /* what was to be done then */
    bool gave_up;
};

static bool task_moves(void *arg)
{
    const struct wio_universe *u = ((const struct leaving *)arg)->u;
    return u->ntasks == 0 || !wio_list_empty(&u->tasks);
}

static bool unsent(const struct wio_peer *p)
{
    if (p->dead)
        return false;
    if (!wio_list_empty(&p->sendq) || !wio_list_empty(&p->bulk) || !wio_list_empty(&p->far) ||
        !wio_list_empty(&p->ctlq))
        return true;
    WIO_LIST_FOR(it, &p->owned)
    {
        const struct wio_request *r = WIO_CONTAINER(it, struct wio_request, owned);
        if (r->kind == WIO_REQ_SEND)
            return true;
    }
    return false;
}

static uint64_t length(const struct wio_list *list)
{
    uint64_t n = 0;
    WIO_LIST_FOR(it, list)
    {
        n++;
    }
    return n;
}

/* What waits to be sent, as seen at one time. */
struct unsent {
    uint64_t n;    /* sends, and messages of the library's own */
    uint64_t lent; /* bytes that receivers may be fetching, which shows only at the end */
    bool moving;   /* data is on its way to a receive that has asked for it, or leaves here */
};

/* A receive that has asked for the data (rendezvous) confirms it without the program. All others in
 * WIO_RS_ACK - synchronous, timed or lent sends - are confirmed when a receive matches, and perhaps
 * none ever does: what only waits for that is no movement. */
static bool on_its_way(const struct wio_request *r)
{
    return r->state == WIO_RS_MOVING || (r->state == WIO_RS_ACK && r->remote != 0);
}

static void add_send(struct unsent *sum, const struct wio_request *r)
{
    sum->n++;
    sum->moving |= on_its_way(r);
    if (r->state == WIO_RS_ACK && r->lent)
        sum->lent += r->bytes;
}

static void add_sends(struct unsent *sum, const struct wio_peer *p)
{
    sum->n += length(&p->sendq) + length(&p->bulk) + length(&p->far) + length(&p->ctlq);
    WIO_LIST_FOR(it, &p->owned)
    {
        const struct wio_request *r = WIO_CONTAINER(it, struct wio_request, owned);
        if (r->kind == WIO_REQ_SEND)
            add_send(sum, r);
    }
}

/* Has it lasted too long for a process that wants to join again? Data that is on its way moves: a
 * peer that has ended or stopped is another matter. */
static bool out_of_patience(struct leaving *l, int64_t now)
{
    struct wio_universe *u = l->u;
    struct unsent sum = {0, 0, false};
    if (l->until_ns == INT64_MAX)
        return false;
    for (uint32_t i = 0; i < u->table->size; i++)
        if (u->peer[i] != NULL && !u->peer[i]->dead)
            add_sends(&sum, u->peer[i]);
    /* Questions and answers come and go; fewer than ever before is movement. */
    if (sum.moving || sum.n < l->unsent)
        l->moved_ns = now;
    if (sum.n < l->unsent)
        l->unsent = sum.n;
    double patience_ns = u->cfg.linger * 1e9 + (double)sum.lent * FETCH_NS_PER_BYTE;
    return now >= l->until_ns || (double)(now - l->moved_ns) > patience_ns;
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
        struct wio_peer *p = l->u->peer[i];
        if (p != NULL && p->ep == NULL && p->guard != NULL && p->guard->state < WIO_EP_CLOSING)
            p->guard->iface->tr->close(p->guard, WIO_BYE_CAP); /* nobody waits for its answer */
        if (p != NULL && !wio_side_leave(p))
            closed = false;
        if (p != NULL && !wio_lanes_leave(p)) { /* before its link */
            closed = false;
            continue;
        }
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

/* Is data of a collective on its way? One long message may take longer than any patience. */
static bool data_moves(const struct wio_universe *u)
{
    for (uint32_t s = 0; s < u->nslabs; s++) {
        for (uint32_t i = 0; i < WIO_SLAB; i++) {
            const struct wio_request *r = &u->slab[s][i];
            if (r->kind != WIO_REQ_FREE && r->task != NULL && !r->user_done && on_its_way(r))
                return true;
        }
    }
    return false;
}

/* When patience ends if nothing moves from now on. */
static int64_t idle_until(const struct leaving *l)
{
    int64_t until = wio_os_now_ns() + (int64_t)(l->u->cfg.linger * 1e9);
    return until < l->until_ns ? until : l->until_ns;
}

/* Collectives that were started and that nobody waits for any more: other members wait for this
 * process's part of them, and may join in late. They are given up when nothing moves for
 * WAITIO_LINGER: perhaps a member never joins in, and waits for the goodbye of this process. A
 * member that has stopped gives no sign of life, which ends its link, and so its part of them. */
static void finish_tasks(struct leaving *l)
{
    struct wio_universe *u = l->u;
    int64_t until = idle_until(l);
    while (u->ntasks > 0) {
        int64_t now = wio_os_now_ns(), slice = now + PING_NS < until ? now + PING_NS : until;
        if (wio_wait_until(u, task_moves, l, NULL, "finalize (started collectives)", slice) != 0) {
            press(l, wio_os_now_ns());
            if (data_moves(u))
                until = idle_until(l);
        }
        while (wio_task_serve(u))
            until = idle_until(l);
        if (u->ntasks > 0 && wio_os_now_ns() >= until) {
            wio_warn(&u->log, WIO_C_P2P,
                     "collectives that were started and are not over: %u; nothing has moved for "
                     "%.0f s (WAITIO_LINGER): leaving without them",
                     u->ntasks, u->cfg.linger);
            return;
        }
    }
}

/* @return false: patience has ended */
static bool drive(struct leaving *l, wio_done_fn done, const char *what)
{
    l->moved_ns = wio_os_now_ns();
    l->unsent = UINT64_MAX;
    while (!done(l)) {
        int64_t slice = wio_os_now_ns() + PING_NS;
        if (slice > l->until_ns)
            slice = l->until_ns;
        if (wio_wait_until(l->u, done, l, NULL, what, slice) == 0)
            return true;
        int64_t now = wio_os_now_ns();
        press(l, now);
        if (out_of_patience(l, now))
            return false;
    }
    return true;
}

/* What they have not taken is lost; the goodbye tells them. */
static void give_up_sends(struct leaving *l)
{
    struct wio_universe *u = l->u;
    char name[64];
    l->gave_up = true;
    for (uint32_t i = 0; i < u->table->size; i++)
        if (u->peer[i] != NULL && unsent(u->peer[i]))
            wio_warn(&u->log, WIO_C_P2P,
                     "%s has not received all that was sent to it: leaving without that",
                     wio_peer_name(u, i, name, sizeof name));
}

/* They live, but do not answer the goodbye. */
static void cut_links(struct leaving *l)
{
    struct wio_universe *u = l->u;
    l->gave_up = true;
    l->until_ns = INT64_MAX; /* such a close waits for nobody */
    for (uint32_t i = 0; i < u->table->size; i++) {
        struct wio_peer *p = u->peer[i];
        if (p == NULL || p->ep == NULL)
            continue;
        p->silent = true;
        p->iface->tr->close(p->ep, WIO_BYE_ERROR);
    }
    drive(l, all_closed, "finalize (closing)");
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
            wio_buffer_put(&u->buffers, r->pool, r->bytes);
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
    wio_match_free(&u->match);
    wio_groups_end(u);
    wio_pool_free(&u->ctl_pool);
    wio_pool_free(&u->small_pool);
    wio_buffers_free(&u->buffers);
    wio_resume_free(u);
    wio_mark_close(u);
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

void wio_universe_destroy_kept(struct wio_universe *u)
{
    wio_enter(u);
    wio_outside_end(u); /* threads were inside when it was left */
    wio_leave(u);
    wio_universe_destroy(u);
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

/* Is a thread inside a call, perhaps in a function of the program or in another library? */
static bool has_threads(struct wio_universe *u)
{
    return u->inside > 0 || u->sleepers > 0 || u->away > 0 || wio_outside_blocks(u);
}

/* What this process waits for will not come any more. */
static void end_receives(struct wio_universe *u)
{
    if (!has_threads(u))
        wio_recv_cancel_all(u);
    else /* a thread that waits would take a cancelled receive for a success */
        wio_recv_end_all(u);
}

bool wio_universe_occupied(struct wio_universe *u)
{
    bool waits = atomic_load_explicit(&u->want, memory_order_relaxed) > 0;
    wio_enter(u);
    waits = waits || has_threads(u);
    wio_leave(u);
    return waits;
}

/* For the universe that comes after this one. */
static void leave_behind(const struct wio_universe *u)
{
    if (u->before == NULL)
        return;
    u->before->serial = u->serial;
    u->before->idle = u->idle;
}

static void say_goodbye(struct leaving *l, bool keep)
{
    struct wio_universe *u = l->u;
    u->ending = true;
    wio_recv_refuse_held(u); /* two leaving processes must not wait for each other's answer */
    uint32_t mark = wio_mark_begin(u, WIO_EVENT_LIFE, WIO_EVENT_LIFE_DELIVER, -1);
    if (!drive(l, all_sent, "finalize (delivering what was sent)"))
        give_up_sends(l);
    wio_mark_end(u, mark, -1);
    if (!keep)
        end_receives(u);
    l->begun_ns = wio_os_now_ns();
    mark = wio_mark_begin(u, WIO_EVENT_LIFE, WIO_EVENT_LIFE_GOODBYES, -1);
    if (!drive(l, all_closed, "finalize (goodbyes)"))
        cut_links(l);
    wio_mark_end(u, mark, -1);
    wio_mark_state(u, WIO_EVENT_STATE_LEFT);
}

int wio_universe_leave(struct wio_universe *u, bool keep, bool *kept)
{
    bool unasked, *out = kept != NULL ? kept : &unasked;
    *out = true;
    if (keep && interrupted_ourselves(u))
        return wio_fail(WAITIO_ERR_BUSY,
                        "called by a signal handler in the middle of a WaitIO call: leaving "
                        "without delivering what was sent and without a goodbye");
    wio_enter(u);
    if (u->polling && pthread_equal(u->poller, pthread_self()))
        u->polling = u->poller_asleep = false; /* our own wait, which a handler interrupted */
    int64_t now = wio_os_now_ns();
    struct leaving l = {
        .u = u, .begun_ns = now, .until_ns = u->patience_ns > 0 ? now + u->patience_ns : INT64_MAX};
    if (!keep)
        finish_tasks(&l);
    say_goodbye(&l, keep);
    if (u->cfg.stats)
        print_stats(u);
    keep = keep || has_threads(u);
    if (u->watched)
        wio_watch_tell(u);
    if (!keep)
        wio_outside_end(u);
    wio_resume_leave(u, l.gave_up | keep);
    leave_behind(u);
    wio_leave(u);
    *out = keep;
    wio_service_thread_stop(u);
    if (!keep)
        wio_universe_destroy(u);
    return l.gave_up
               ? wio_fail(WAITIO_ERR_TIMEOUT, "some peers gave no sign of life (WAITIO_LINGER)")
               : 0;
}

int wio_universe_leave_within(struct wio_universe *u, double limit_s, bool *kept)
{
    wio_enter(u);
    u->patience_ns = 1 + (int64_t)(wio_join_limit(&u->cfg, limit_s) * 1e9);
    wio_leave(u);
    return wio_universe_leave(u, false, kept);
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
    wio_mark_state(u, WIO_EVENT_STATE_ABORTED);
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
    wio_resume_free(u);
    wio_os_close(u->kick_fd);
    wio_os_close(u->service_fd);
}
