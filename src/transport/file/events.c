/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file events.c
 * Progress and sleep. Everything is found by looking; events of the system only say that a look
 * pays. Names in our folder are watched always, what is written to files only while somebody
 * sleeps, for each such event costs the writer time. The program and the service thread hear of the
 * same events. The service thread's set has them with EPOLLONESHOT, and not the kick by which it
 * wakes the program: until the program is given a processor the kick would keep it awake.
 */
#include "transport/file/file.h"

#define HOT_LOOKS 64u      /* looks with success without a sleep: no events of data any more */
#define ALL_MIN_NS 20000LL /* between two looks at all links of a program that does not sleep */
#define ALL_MAX_NS 1000000LL

enum { POLL_FULL, POLL_SERVICE };

/* ---- telling p2p ---- */

static void told(struct file_link *l, enum wio_ep_state s, int err, const char *text)
{
    struct file_iface *f = file_of(l);
    l->told = (uint8_t)s;
    l->known = true;
    f->base.p.up->on_state(f->base.p.user, &l->ep, l->ep.peer, s, err,
                           (enum wio_bye_reason)l->bye_reason, text);
}

static void tell_closed(struct file_link *l)
{
    struct file_iface *f = file_of(l);
    if (l->body) {
        l->body = false;
        f->base.p.up->on_abandon(f->base.p.user, l->ep.peer, &l->sink);
    }
    wio_file_tx_fail_all(l, l->err != 0 ? l->err : WAITIO_ERR_PEER);
    if (l->known)
        told(l, WIO_EP_CLOSED, l->err, l->text != NULL ? l->text : "closed");
    else
        wio_list_push(&f->ghosts, &l->news); /* a caller may still hold it */
}

int wio_file_dispatch(struct file_iface *f)
{
    int n = 0;
    struct wio_list *it;
    while ((it = wio_list_pop(&f->done)) != NULL) {
        struct wio_tx *tx = WIO_CONTAINER(it, struct wio_tx, node);
        tx->done(tx, 0);
        n++;
    }
    while ((it = wio_list_pop(&f->news)) != NULL) {
        struct file_link *l = WIO_CONTAINER(it, struct file_link, news);
        n++;
        if (l->state == FILE_OVER)
            tell_closed(l);
        else if (l->ep.state == WIO_EP_READY && l->told < WIO_EP_READY)
            told(l, WIO_EP_READY, 0, "connected");
        else if (l->known && l->ep.state == WIO_EP_CLOSING && l->told != WIO_EP_CLOSING)
            told(l, WIO_EP_CLOSING, 0, wio_bye_reason_name(l->bye_reason));
    }
    return n;
}

static void bury(struct file_iface *f)
{
    struct wio_list *it;
    while ((it = wio_list_pop(&f->ghosts)) != NULL)
        wio_file_link_free(WIO_CONTAINER(it, struct file_link, news));
}

/* ---- events ---- */

/* What was written before we watched is found by one look at everything. */
static void watch_data(struct file_iface *f, bool on)
{
    if (f->watch_data == on || f->events < 0)
        return;
    unsigned what = WIO_OS_EV_NAMES | (on ? WIO_OS_EV_DATA : 0);
    if (wio_os_events_watch(f->events, f->folder, what) != 0)
        return;
    f->watch_data = on;
    f->look_all = f->look_all || on;
}

/* A file in our folder was written. */
static void written(void *arg, const char *name)
{
    struct file_iface *f = arg;
    struct file_name n;
    if (wio_file_name_parse(name, &n) != FILE_N_STREAM)
        return;
    struct file_link *l = wio_file_link_find(f, n.rank);
    if (l != NULL)
        wio_file_stir(l);
}

/* @return whether there were any */
static bool look_at_events(struct file_iface *f, enum wio_progress_how how)
{
    int seen = f->events >= 0 ? wio_os_events_read(f->events, written, f) : 0;
    if (seen > 0 && (seen & (int)WIO_OS_EV_NAMES) != 0)
        f->scan_due = true;
    if (seen > 0 && (seen & (int)WIO_OS_EV_LOST) != 0)
        f->look_all = true;
    if (how == WIO_PROGRESS_FULL)
        wio_os_eventfd_clear(f->kick);
    else if (seen > 0 && f->asleep)
        wio_os_eventfd_set(f->kick); /* it may have been for the program */
    return seen > 0;
}

/* ---- timers ---- */

/* How far we have read: a moment after we did. */
static void tell_in_time(struct file_link *l, int64_t now)
{
    if (l->tell_ns == 0 || l->state == FILE_OVER)
        return;
    if (l->tell_ns > now) {
        file_timer(file_of(l), l->tell_ns);
        return;
    }
    l->tell_ns = 0;
    wio_file_ack_tell(l, true);
}

static int link_timers(struct file_link *l, int64_t now)
{
    struct file_iface *f = file_of(l);
    int n = 0;
    if (l->state == FILE_WAIT && l->timer <= now) {
        wio_file_begin(l);
        n++;
    }
    if (l->tell_due && l->state != FILE_OVER && l->timer <= now)
        wio_file_ack_tell(l, true);
    tell_in_time(l, now);
    if (l->state != FILE_OVER && l->check_ns <= now)
        wio_file_check(l, now);
    if (l->state != FILE_OVER && l->tidy_ns <= now) { /* others check() more often */
        l->tidy_ns = now + f->beat_ns;
        wio_file_tidy(l);
        wio_file_unanswered(l, now);
    }
    if (l->state != FILE_OVER) {
        file_timer(f, l->check_ns);
        file_timer(f, l->tidy_ns);
        if (l->timer > now)
            file_timer(f, l->timer);
    }
    return n;
}

static int run_timers(struct file_iface *f, int64_t now)
{
    int n = 0;
    f->timer_at = INT64_MAX;
    if (f->beat_at <= now)
        wio_file_beat(f, now);
    file_timer(f, f->beat_at);
    WIO_LIST_FOR_SAFE(it, next, &f->links)
    {
        n += link_timers(WIO_CONTAINER(it, struct file_link, all), now);
    }
    if (f->scan_at <= now)
        f->scan_due = true;
    else
        file_timer(f, f->scan_at);
    return n;
}

int64_t wio_file_next_timer(struct wio_iface *iface, enum wio_progress_how how)
{
    struct file_iface *f = file_iface_of(iface);
    int64_t poll = f->poll_at[how == WIO_PROGRESS_FULL ? POLL_FULL : POLL_SERVICE];
    return poll < f->timer_at ? poll : f->timer_at;
}

/* ---- progress ---- */

/* What is done to one link may move another one to another list: each is taken from a list of our
 * own, and stands where it belongs while it is read. */
static void take_all(struct wio_list *todo, struct wio_list *from)
{
    struct wio_list *it;
    wio_list_init(todo);
    while ((it = wio_list_pop(from)) != NULL)
        wio_list_push(todo, it);
}

static int read_list(struct file_iface *f, struct wio_list *q)
{
    struct wio_list todo, *it;
    int n = 0;
    take_all(&todo, q);
    while ((it = wio_list_pop(&todo)) != NULL) {
        struct file_link *l = WIO_CONTAINER(it, struct file_link, group);
        wio_list_push(q, it);
        if (!f->stop && l->in.fd >= 0)
            n += wio_file_rx_run(l);
    }
    return n;
}

static int read_watched(struct file_iface *f)
{
    struct wio_list todo, *it;
    int n = 0;
    take_all(&todo, &f->watched);
    while ((it = wio_list_pop(&todo)) != NULL) {
        struct file_link *l = WIO_CONTAINER(it, struct file_link, wnode);
        wio_list_push(&f->watched, it);
        if (!f->stop && l->state == FILE_READY)
            n += wio_file_rx_run(l);
    }
    return n;
}

static int settle_gone(struct file_iface *f, enum wio_progress_how how)
{
    int n = 0;
    WIO_LIST_FOR_SAFE(it, next, &f->links)
    {
        struct file_link *l = WIO_CONTAINER(it, struct file_link, all);
        if (!l->gone || l->state == FILE_OVER)
            continue;
        if (how == WIO_PROGRESS_SERVICE && !f->stop)
            n += wio_file_rx_run(l);
        n += wio_file_settle_gone(l);
    }
    return n;
}

/* Quiet links, too, so often that this takes a fixed part of the time, however many they are. */
static int read_all(struct file_iface *f, int64_t now)
{
    f->look_all = false;
    int n = read_list(f, &f->busy) + read_list(f, &f->ready);
    if (f->stop)
        f->look_all = true; /* not all of them were read */
    int64_t after = wio_os_now_ns(), gap = (after - now) * FILE_QUIET_SHARE;
    f->all_at = after + (gap < ALL_MIN_NS ? ALL_MIN_NS : gap > ALL_MAX_NS ? ALL_MAX_NS : gap);
    return n;
}

static int read_links(struct file_iface *f, enum wio_progress_how how, int64_t now)
{
    int n = read_list(f, &f->making) + read_list(f, &f->closing);
    if (how == WIO_PROGRESS_SERVICE)
        return n + read_watched(f);
    return n + (f->look_all || f->all_at <= now ? read_all(f, now) : read_list(f, &f->busy));
}

/* Was somebody asleep? */
static bool wake_up(struct file_iface *f, enum wio_progress_how how, int64_t now)
{
    bool full = how == WIO_PROGRESS_FULL, slept = full ? f->asleep : true;
    if (full) {
        f->look_all = f->look_all || f->poll_at[POLL_FULL] <= now;
        f->asleep = false;
    }
    f->poll_at[full ? POLL_FULL : POLL_SERVICE] = INT64_MAX;
    return slept;
}

/* Who is busy without sleeping needs no events of data. */
static void count_looks(struct file_iface *f, bool slept, bool found)
{
    f->hot = slept ? 0 : f->hot + found;
    if (f->watch_data && f->hot > HOT_LOOKS)
        watch_data(f, false);
}

int wio_file_progress(struct wio_iface *iface, enum wio_progress_how how)
{
    struct file_iface *f = file_iface_of(iface);
    if (!f->started)
        return 0;
    int64_t now = wio_os_now_ns();
    bool slept = wake_up(f, how, now), turn = (++f->ticks & FILE_EVENT_TURNS) == 0;
    int count = 0;
    f->stop = false;
    bool events = (slept || turn) && look_at_events(f, how);
    if (f->timer_at <= now)
        count += run_timers(f, now);
    if (f->scan_due)
        count += wio_file_scan(f);
    count += read_links(f, how, now);
    if (!wio_list_empty(&f->out))
        count += wio_file_tx_all(f, false);
    if (WIO_UNLIKELY(f->ngone > 0))
        count += settle_gone(f, how);
    if (!wio_list_empty(&f->done) || !wio_list_empty(&f->news))
        count += wio_file_dispatch(f);
    if (WIO_UNLIKELY(!wio_list_empty(&f->ghosts)))
        bury(f);
    if (how == WIO_PROGRESS_SERVICE)
        f->vain = events && count == 0;
    count_looks(f, slept, count > 0);
    return count;
}

int wio_file_progress_ep(struct wio_ep *ep)
{
    struct file_link *l = file_link_of(ep);
    struct file_iface *f = file_of(l);
    if (WIO_UNLIKELY(l->state != FILE_READY || f->asleep || l->gone))
        return wio_file_progress(&f->base, WIO_PROGRESS_FULL);
    f->stop = false;
    int n = wio_list_linked(&l->onode) ? wio_file_tx_run(l) : 0;
    if (l->state != FILE_OVER)
        n += wio_file_rx_run(l);
    if (!wio_list_empty(&f->done) || !wio_list_empty(&f->news))
        n += wio_file_dispatch(f);
    return n;
}

/* ---- sleep ---- */

static bool any_ready(struct wio_list *q)
{
    WIO_LIST_FOR(it, q)
    {
        if (wio_file_rx_ready(WIO_CONTAINER(it, struct file_link, group)))
            return true;
    }
    return false;
}

static bool watched_ready(struct file_iface *f)
{
    WIO_LIST_FOR(it, &f->watched)
    {
        if (wio_file_rx_ready(WIO_CONTAINER(it, struct file_link, wnode)))
            return true;
    }
    return false;
}

/* Something that waited can be written now, or was kept back? */
static bool can_write(struct file_iface *f)
{
    WIO_LIST_FOR(it, &f->out)
    {
        struct file_link *l = WIO_CONTAINER(it, struct file_link, onode);
        if (!l->full && (l->batch != NULL || wio_file_ack_read(l)))
            return true;
    }
    return false;
}

/* May something be there that no event will tell of? */
static bool need_all(const struct file_iface *f)
{
    return f->look_all || f->nremote > 0 || !f->watch_data;
}

/* Is there anything to do now? */
static bool anything(struct file_iface *f, enum wio_progress_how how)
{
    if (f->scan_due || !wio_list_empty(&f->done) || !wio_list_empty(&f->news) || can_write(f) ||
        any_ready(&f->making) || any_ready(&f->closing))
        return true;
    if (how == WIO_PROGRESS_SERVICE)
        return watched_ready(f);
    return any_ready(&f->busy) || (need_all(f) && any_ready(&f->ready));
}

/* When to look without an event. */
static int64_t next_look(struct file_iface *f)
{
    bool told = f->events >= 0 && f->nremote == 0;
    int64_t most = told ? FILE_GAP_EVENTS_NS : FILE_GAP_MAX_NS;
    int64_t gap = f->gap < most ? f->gap : most;
    f->gap = gap * 2;
    return wio_os_now_ns() + (told && gap < FILE_GAP_TOLD_NS ? FILE_GAP_TOLD_NS : gap);
}

/* Events that were nothing for the service thread, as the program is sent many messages: for a
 * moment it looks by the clock only. */
static void arm_service(struct file_iface *f)
{
    if (f->events >= 0 && !f->vain)
        (void)wio_os_epoll_ctl(f->svc_epoll, EPOLL_CTL_MOD, f->events, EPOLLIN | EPOLLONESHOT, f);
    if (f->vain && f->gap > FILE_GAP_TOLD_NS)
        f->gap = FILE_GAP_TOLD_NS;
}

int wio_file_arm(struct wio_iface *iface, enum wio_progress_how how)
{
    struct file_iface *f = file_iface_of(iface);
    bool full = how == WIO_PROGRESS_FULL, needed = full || wio_file_needs_service(iface);
    if (!f->started)
        return 0;
    if (needed)
        watch_data(f, true);
    if (anything(f, how))
        return 1;
    f->look_all = f->look_all && !full;
    if (full)
        f->asleep = true;
    else
        arm_service(f);
    if (needed || f->vain)
        f->poll_at[full ? POLL_FULL : POLL_SERVICE] = next_look(f);
    return 0;
}

int wio_file_event_fd(struct wio_iface *iface, enum wio_progress_how how)
{
    struct file_iface *f = file_iface_of(iface);
    return how == WIO_PROGRESS_FULL ? f->epoll : f->svc_epoll;
}

bool wio_file_needs_service(struct wio_iface *iface)
{
    struct file_iface *f = file_iface_of(iface);
    return f->nwatched > 0 || f->ngone > 0 || !wio_list_empty(&f->making) ||
           !wio_list_empty(&f->closing) || !wio_list_empty(&f->out) || !wio_list_empty(&f->done) ||
           !wio_list_empty(&f->news);
}
