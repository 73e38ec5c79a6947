/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting: spin as long as it pays, then sleep with every transport armed.
 *
 * Measured on two cores: a sleeping process needs 25 us to wake, so a few microseconds of pure
 * spinning and then yielding between polls catch the answers of a peer on another core. With both
 * ranks on one core the same yield gives the processor to the peer at once, while pure spinning
 * uses whole time slices. The cost of a yield shows which case it is.
 */
#include "p2p/universe.h"

#include <time.h>

#define PURE_SPIN_NS 40000         /* nobody else wants our processor */
#define PURE_SPIN_MEMORY_NS 100000 /* ... and a megabyte by memory takes half as long */
#define PURE_SPIN_SHARED_NS 4000   /* somebody does now and then */
#define YIELD_NS 150000
#define YIELD_MOVING_NS 2000000 /* data is on its way: the end is near */
#define YIELD_CROWDED_NS 150000
/* While another library has to be polled (outside.c). A long operation of an MPI is a chain of many
 * short steps, and only a poll begins the next one: a wait that naps after each made a reduction of
 * 8 MiB a thousand times slower. So it goes on yielding, then naps for a thousandth of the time it
 * has waited. */
#define YIELD_OUTSIDE_NS 20000000
#define NAP_NS 20000
#define NAP_MOST_NS 1000000
#define NAP_PART 1000
#define NAP_BESIDE_NS 100000 /* another thread polls the transports */
/* Polls of the awaited link between two polls of everything, minus 1. */
#define MEMORY_TURNS 255u
#define SOCKET_TURNS 15u
#define SOON 7u
/* With more processes than processors every yield switches to another one, and less work between
 * yields makes all faster: only every fourth yield of a wait is timed. */
#define BLIND_YIELDS 3u
#define HAND_IN_EVENTS 4096u
#define BRIEF_POLLS 64u  /* of a wait without a request, which is made after that ... */
#define BRIEF_YIELDS 15u /* ... or after so many, where each is followed by a yield */

/* ... and it looks at the awaited link for about the time that the yield would take, if its peer
 * has a processor: at worst the wait takes twice as long as with the better choice. */
#define PATIENT_LOOKS 64u

struct poll_turn {
    wio_done_fn done;
    void *arg;
    struct wio_request *hint;
    const char *what;
    int64_t deadline_ns, begun_ns, quiet_ns, tick_ns, warn_ns;
    int64_t idle_ns;  /* when the program's function wants to be called again, or 0: soon */
    int64_t after_ns; /* the clock after the last yield, unless something came since; or 0 */
    uint32_t empty, yields, busy;
    bool memory; /* the awaited message comes through memory: a poll costs less than a clock */
};

/* More processes than processors, and memory to look at: a yield gives the processor away for some
 * time, and the answer may come at any moment, but not from a peer that has given its own away.
 * @return events */
static int look_patiently(const struct wio_peer *p)
{
    const struct wio_transport *tr = p->iface->tr;
    bool aside;
    int events;
    uint32_t looks = 0;
    do {
        aside = tr->is_aside(p->ep); /* first: a last look follows */
        events = tr->progress_ep(p->ep);
    } while (events == 0 && !aside && p->link == WIO_EP_READY && ++looks < PATIENT_LOOKS);
    return events;
}

static int poll_link(const struct wio_universe *u, const struct wio_peer *p)
{
    return u->spin.crowded && p->memory ? look_patiently(p) : p->iface->tr->progress_ep(p->ep);
}

static int poll_once(struct wio_universe *u, struct poll_turn *t)
{
    struct wio_peer *p = t->hint != NULL ? t->hint->peer : NULL;
    if (p == NULL && t->hint != NULL && t->hint->src >= 0)
        p = u->peer[t->hint->src];
    if (p != NULL && p->ep != NULL && p->link == WIO_EP_READY && p->side == NULL &&
        wio_list_empty(&u->active)) {
        t->memory = p->memory;
        if ((++u->polls & (t->memory ? MEMORY_TURNS : SOCKET_TURNS)) != 0)
            return poll_link(u, p);
    }
    return wio_progress(u, WIO_PROGRESS_FULL);
}

static void give_way(struct wio_universe *u)
{
    wio_lock_give_way(&u->lock, &u->want);
    wio_lock_take(&u->lock, &u->want);
}

/* Peers on this host see that nothing will come from this process for a while. */
static void step_aside(struct wio_universe *u, bool on)
{
    struct wio_iface *memory = u->iface[WIO_TR_SHM];
    if (memory != NULL)
        memory->tr->step_aside(memory, on);
}

static void yield_once(struct wio_universe *u)
{
    step_aside(u, true);
    give_way(u);
    step_aside(u, false);
    u->polls |= MEMORY_TURNS - SOON; /* others ran: poll everything soon, not one link only */
}

/* Yield once, and learn from what it cost. @return the clock afterwards */
static int64_t yield_and_learn(struct wio_universe *u, int64_t now)
{
    yield_once(u);
    int64_t after = wio_os_now_ns();
    wio_spin_learn(&u->spin, after - now, wio_os_involuntary_switches);
    return after;
}

static int64_t next_wake(const struct wio_universe *u, const struct poll_turn *t)
{
    int64_t wake = t->tick_ns + WIO_TICK_NS;
    if (t->deadline_ns < wake)
        wake = t->deadline_ns;
    if (WIO_UNLIKELY(u->noutside > 0)) {
        int64_t now = wio_os_now_ns(), nap = (now - t->quiet_ns) / NAP_PART;
        nap = nap < NAP_NS ? NAP_NS : nap > NAP_MOST_NS ? NAP_MOST_NS : nap;
        wake = now + nap < wake ? now + nap : wake;
    }
    if (u->idle != NULL && t->idle_ns < wake)
        wake = t->idle_ns;
    for (int i = 0; i < WIO_TR_COUNT; i++) {
        if (u->iface[i] == NULL)
            continue;
        int64_t timer = u->iface[i]->tr->next_timer_ns(u->iface[i], WIO_PROGRESS_FULL);
        if (timer < wake)
            wake = timer;
    }
    return wake;
}

/* Sleep until a transport, the kick or a timer wakes us. @return false: it was the timer */
static bool sleep_once(struct wio_universe *u, struct poll_turn *t)
{
    int fds[WIO_TR_COUNT + 1], n = 0;
    fds[n++] = u->kick_fd;
    for (int i = 0; i < WIO_TR_COUNT; i++) {
        if (u->iface[i] == NULL)
            continue;
        if (u->iface[i]->tr->arm(u->iface[i], WIO_PROGRESS_FULL) != 0)
            return true;
        int fd = u->iface[i]->tr->event_fd(u->iface[i], WIO_PROGRESS_FULL);
        if (fd >= 0)
            fds[n++] = fd;
    }
    if (!wio_list_empty(&u->active) || !wio_list_empty(&u->closed_eps))
        return true;
    int64_t wait = next_wake(u, t) - wio_os_now_ns();
    if (wait <= 0)
        return true;
    u->poller_asleep = true;
    u->ctr.sleeps++;
    step_aside(u, true);
    wio_lock_leave(&u->lock);
    unsigned ready = (unsigned)wio_os_poll_in(fds, n, wait);
    wio_lock_take(&u->lock, &u->want);
    step_aside(u, false);
    u->poller_asleep = false;
    u->polls = UINT32_MAX; /* the wake-up may be of any transport: poll all of them next */
    u->warm = 0;
    if ((ready & 1u) != 0)
        wio_os_eventfd_clear(u->kick_fd);
    return ready != 0;
}

/* Rare duties of a long wait. */
static void tick(struct wio_universe *u, struct poll_turn *t, int64_t now)
{
    t->tick_ns = now;
    wio_stuck_check(u, now);
    wio_buffers_tidy(&u->buffers, now);
    double warn = u->cfg.warn_wait;
    if (warn > 0 && now - t->warn_ns > (int64_t)(warn * 1e9)) {
        t->warn_ns = now;
        wio_stuck_report(u, t->what, t->hint, t->begun_ns);
    }
}

static bool in_transit(const struct wio_request *r)
{
    return r != NULL && (r->state == WIO_RS_MOVING || r->state == WIO_RS_ACK);
}

/* How long this wait spins without and with yielding, in ns. */
static void spin_limits(const struct wio_universe *u, const struct poll_turn *t, int64_t *pure,
                        int64_t *limit)
{
    if (u->cfg.spin_us >= 0) {
        *pure = *limit = u->cfg.spin_us * 1000;
    } else if (u->spin.contended >= 8) {
        *pure = 0;
        *limit = YIELD_CROWDED_NS;
    } else {
        *pure = u->spin.contended > 0 ? PURE_SPIN_SHARED_NS
                : t->memory           ? PURE_SPIN_MEMORY_NS
                                      : PURE_SPIN_NS;
        *limit = in_transit(t->hint) ? YIELD_MOVING_NS : YIELD_NS;
    }
    if (WIO_UNLIKELY(u->noutside > 0) && u->cfg.spin_us < 0)
        *limit = YIELD_OUTSIDE_NS;
}

static void look_at_clock(struct wio_universe *u, struct poll_turn *t, int64_t now)
{
    if (t->begun_ns == 0)
        t->begun_ns = t->tick_ns = t->warn_ns = now;
    if (t->quiet_ns == 0)
        t->quiet_ns = now;
    double warn = u->cfg.warn_wait;
    if (now - t->tick_ns >= WIO_TICK_NS || (warn > 0 && now - t->warn_ns > (int64_t)(warn * 1e9)))
        tick(u, t, now);
}

/* Another library of the program may have to go on, or nobody will ever send what we wait for. */
static void call_program(struct wio_universe *u, struct poll_turn *t, int64_t now)
{
    double (*idle)(void) = u->idle;
    if (WIO_LIKELY(idle == NULL) || now < t->idle_ns)
        return;
    wio_lock_leave(&u->lock);
    double wish = idle();
    t->idle_ns = wish < 3600 ? now + (int64_t)(wish * 1e9) : INT64_MAX;
    wio_lock_take(&u->lock, &u->want);
}

/* Sends that are to complete locally have waited for their receivers long enough. */
static bool hand_in(struct wio_universe *u)
{
    if (WIO_LIKELY(wio_list_empty(&u->lent)))
        return false;
    wio_fetch_take_back(u);
    return true;
}

/* Nothing has come for @p quiet ns, of which a wait spins @p pure. */
static bool keeps_spinning(struct wio_universe *u, int64_t quiet, int64_t pure)
{
    if (quiet < pure && quiet < WIO_FETCH_SOON_NS)
        return true;
    return hand_in(u) || quiet < pure;
}

static void rest(struct wio_universe *u, struct poll_turn *t)
{
    if (u->spin.hogged > 0)
        u->spin.hogged--;
    /* A polled transport is looked at once after each nap, without a new spell of spinning. */
    if (sleep_once(u, t))
        t->quiet_ns = 0;
}

/* Nothing has come for some time: spin, yield or sleep. */
static void stand_by(struct wio_universe *u, struct poll_turn *t, int64_t now)
{
    int64_t pure, limit, quiet = now - t->quiet_ns;
    spin_limits(u, t, &pure, &limit);
    if (keeps_spinning(u, quiet, pure))
        return;
    call_program(u, t, now);
    if (quiet < limit && u->spin.hogged == 0)
        t->after_ns = yield_and_learn(u, now);
    else
        rest(u, t);
}

/* An idle poll. */
static void idle(struct wio_universe *u, struct poll_turn *t)
{
    if (((++t->empty & (t->memory ? 31u : 3u)) != 1 || t->empty == 1) && u->spin.contended == 0)
        return; /* empty polls come too fast for a clock each */
    if (u->spin.crowded && u->spin.hogged == 0 && u->cfg.spin_us < 0 &&
        (++t->yields & BLIND_YIELDS) != 0) {
        yield_once(u);
        return;
    }
    /* Between two yields is one poll: read the clock once for both. */
    int64_t now = t->after_ns != 0 ? t->after_ns : wio_os_now_ns();
    t->after_ns = 0;
    look_at_clock(u, t, now);
    if (atomic_load_explicit(&u->want, memory_order_relaxed) > 0)
        give_way(u); /* the awaited event may have happened: never sleep without a check */
    else
        stand_by(u, t, now);
}

static int poll_everybody(struct wio_universe *u, struct poll_turn *t)
{
    int events = poll_once(u, t);
    if (WIO_UNLIKELY(u->noutside > 0))
        events = (events > 0 ? events : 0) + wio_outside_poll(u);
    return events;
}

/* Drive the transports until done. */
static int poll_until(struct wio_universe *u, struct poll_turn *t)
{
    while (!t->done(t->arg)) {
        int events = poll_everybody(u, t);
        if (events > 0) {
            t->quiet_ns = t->after_ns = 0;
            if ((++t->busy & (HAND_IN_EVENTS - 1)) == 0)
                (void)hand_in(u); /* others may send for ever */
            if (u->completed && (u->sleepers > 0 || u->watched)) {
                u->completed = false;
                pthread_cond_broadcast(&u->turn);
                if (u->watched)
                    wio_watch_tell(u);
            }
            if (atomic_load_explicit(&u->want, memory_order_relaxed) > 0)
                give_way(u);
        } else {
            if (t->done(t->arg))
                break;
            idle(u, t);
        }
        if (t->deadline_ns != INT64_MAX && wio_os_now_ns() >= t->deadline_ns)
            return WAITIO_ERR_TIMEOUT;
    }
    return 0;
}

/* Perhaps the thread that polls must not call the library of a transport, and this one may. @return
 * events */
static int poll_beside(struct wio_universe *u)
{
    int events = u->noutside > 0 ? wio_outside_poll(u) : 0;
    if (u->calls_only && (events += wio_progress(u, WIO_PROGRESS_FULL)) > 0 && u->completed)
        wio_announce(u);
    return events;
}

/* Another thread polls the transports: sleep until it wakes this one, for a tick at most. */
static void wait_turn(struct wio_universe *u, int64_t deadline_ns)
{
    bool naps = u->noutside > 0 || u->calls_only;
    if (naps && poll_beside(u) > 0)
        return;
    int64_t until = wio_os_now_ns() + (naps ? NAP_BESIDE_NS : WIO_TICK_NS);
    if (until > deadline_ns)
        until = deadline_ns;
    struct timespec t = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
    u->sleepers++;
    wio_lock_sleep(&u->lock, &u->turn, &t, &u->want);
    u->sleepers--;
}

static void enter_wait(struct wio_universe *u)
{
    if (u->batched)
        wio_flush(u);
    u->inside++;
}

static void leave_wait(struct wio_universe *u)
{
    u->inside--;
    if (WIO_UNLIKELY(u->watched) && u->inside == 0)
        wio_os_eventfd_set(u->service_fd); /* an event loop sleeps: it is the thread's turn */
}

static void begin_polling(struct wio_universe *u)
{
    u->polling = true;
    u->poller = pthread_self();
}

static void end_polling(struct wio_universe *u)
{
    u->polling = false;
    if (u->sleepers > 0)
        pthread_cond_broadcast(&u->turn);
}

/* Only this link has to be polled. */
static bool quiet_but_for(const struct wio_universe *u, const struct wio_peer *p)
{
    return p->link == WIO_EP_READY && u->spin.hogged == 0 && u->noutside == 0 &&
           wio_list_empty(&u->active) && wio_list_empty(&u->tasks) &&
           atomic_load_explicit(&u->want, memory_order_relaxed) == 0;
}

/* @return events */
static int look_at(struct wio_universe *u, const struct wio_peer *p)
{
    if ((++u->polls & MEMORY_TURNS) == 0)
        return wio_progress(u, WIO_PROGRESS_FULL);
    u->at_one = true;
    int events = poll_link(u, p);
    u->at_one = false;
    return events;
}

bool wio_look_once(struct wio_universe *u, const struct wio_peer *p, const struct wio_expected *e)
{
    if (u->polling || u->batched || !quiet_but_for(u, p))
        return false;
    u->brief = e;
    (void)look_at(u, p);
    u->brief = NULL;
    u->landed_from = NULL;
    u->stop_now = false;
    return !wio_list_linked(&e->node);
}

void wio_wait_brief(struct wio_universe *u, const struct wio_peer *p, const struct wio_expected *e)
{
    uint32_t looks = 0, most = u->spin.crowded ? BRIEF_YIELDS : BRIEF_POLLS;
    if (u->polling || u->cfg.spin_us >= 0 || (u->spin.contended > 0 && !u->spin.crowded))
        return;
    enter_wait(u);
    begin_polling(u);
    u->brief = e;
    while (quiet_but_for(u, p)) {
        int events = look_at(u, p);
        if (!wio_list_linked(&e->node) || ++looks > most)
            break;
        if (events > 0 || !u->spin.crowded)
            continue;
        if ((looks & BLIND_YIELDS) != 0)
            yield_once(u);
        else
            (void)yield_and_learn(u, wio_os_now_ns());
    }
    u->brief = NULL;
    u->landed_from = NULL;
    u->stop_now = false;
    if (u->completed) /* the wait that follows may be long */
        wio_announce(u);
    end_polling(u);
    leave_wait(u);
}

int wio_wait_until(struct wio_universe *u, wio_done_fn done, void *arg, struct wio_request *hint,
                   const char *what, int64_t deadline_ns)
{
    if (done(arg))
        return 0;
    int rc = 0;
    enter_wait(u);
    while (rc == 0 && !done(arg)) {
        if (u->polling) {
            if (deadline_ns != INT64_MAX && wio_os_now_ns() >= deadline_ns)
                rc = WAITIO_ERR_TIMEOUT;
            else
                wait_turn(u, deadline_ns);
            continue;
        }
        struct poll_turn t = {
            .done = done, .arg = arg, .hint = hint, .what = what, .deadline_ns = deadline_ns};
        begin_polling(u);
        if (hint != NULL)
            hint->waited = true;
        rc = poll_until(u, &t);
        if (hint != NULL)
            hint->waited = false; /* it would be wrong for the next poller */
        u->stop_now = false;
        end_polling(u);
    }
    leave_wait(u);
    return rc;
}
