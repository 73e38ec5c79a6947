/* SPDX-License-Identifier: BSD-3-Clause */
/** @file mail_serve.c  The service's side of the rendezvous in a directory: a thread that finds
 * callers, has a conversation with each, and notices who has died. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/rundir.h"
#include "boot/mail_talk.h"
#include "os/os.h"

#define BUCKETS 256u
#define ROUND_EVENTS 64
/* Of callers' signs of life, at most: a file server has others to serve, too. */
#define CHECKS_PER_S 200
#define CHECK_MIN_NS INT64_C(20000000)
#define CHECK_ALL 64   /* so few are looked at whenever one comes, who may replace a dead one */
#define LATE_TRIES 250 /* 5 s, on a weak file system ... */
#define STRONG_TRIES 5 /* ... and elsewhere, where what is removed is not seen any more */
#define STANDSTILL 3   /* heartbeats without growth of an unlocked sign: its writer is no more */

struct mail_caller {
    struct mail_talk talk; /* first: what epoll events point to */
    struct mail_caller *next;
    struct mail_watch watch;
    struct wio_list node;
    int64_t check_ns, since_ns;
    uint32_t armed; /* registered with epoll */
    bool box_seen;  /* its folder was there */
};

/** Names found in one look. */
struct mail_found {
    uint64_t caller;
    uint32_t number;
};

struct wio_mail_desk {
    struct wio_mail_way way;
    int room, desk, inbox;
    int events, stop, epfd;
    int pass[2]; /* descriptors of callers to the service: its end, ours */
    struct mail_sign sign;
    struct mail_watch own; /* do we still stand there? */
    struct mail_caller *bucket[BUCKETS];
    struct wio_list callers;
    uint32_t ncallers;
    struct mail_found *found;
    uint32_t nfound, found_cap;
    int64_t look_ns, news_ns, own_ns, stop_ns;
    uint64_t ops;
    bool stopping, replaced, weak;
    struct wio_log_gate gate;
    pthread_t thread;
    char path[640];
};

/* ---- callers ---- */

static struct mail_caller **slot(struct wio_mail_desk *d, uint64_t caller)
{
    struct mail_caller **at = &d->bucket[wio_mix64(caller) % BUCKETS];
    while (*at != NULL && (*at)->talk.caller != caller)
        at = &(*at)->next;
    return at;
}

static void arm(struct wio_mail_desk *d, struct mail_caller *c)
{
    uint32_t want = c->talk.out_end ? 0 : EPOLLIN;
    if (c->talk.in_off < c->talk.in_len)
        want |= EPOLLOUT;
    if (want == c->armed)
        return;
    int op = c->armed == 0 ? EPOLL_CTL_ADD : want == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
    if (wio_os_epoll_ctl(d->epfd, op, c->talk.sock, want, c) == 0)
        c->armed = want;
}

/* Somebody calls: give the service its end of a pair. @return NULL: no room for it now */
static struct mail_caller *welcome(struct wio_mail_desk *d, uint64_t caller, int64_t now)
{
    int pair[2];
    char note[96];
    struct mail_caller *c = wio_os_alloc(sizeof *c);
    int rc = c == NULL ? -ENOMEM : wio_os_socketpair(pair);
    if (rc == 0) {
        ssize_t k = wio_os_send_fd(d->pass[1], pair[1], "c", 1);
        wio_os_close(pair[1]);
        if (k != 1) {
            wio_os_close(pair[0]);
            rc = k < 0 ? (int)k : -EPIPE;
        }
    }
    if (rc != 0) {
        if (rc != -EAGAIN && wio_log_gate(&d->gate, now, note, sizeof note))
            wio_error(d->way.log, WIO_C_SERV,
                      "cannot take more callers of the rendezvous with %u there: %s (descriptor "
                      "limit %d; three are needed per host: raise ulimit -n)%s",
                      d->ncallers, strerror(-rc), wio_os_fd_limit(), note);
        wio_os_free(c);
        return NULL;
    }
    if (d->ncallers < CHECK_ALL) {
        WIO_LIST_FOR(it, &d->callers)
        {
            WIO_CONTAINER(it, struct mail_caller, node)->check_ns = now;
        }
    }
    wio_mail_talk_init(&c->talk, &d->way, d->sign.s.nonce, caller, true, pair[0], &d->ops);
    c->watch.fd = -1;
    c->check_ns = c->since_ns = now;
    wio_list_push(&d->callers, &c->node);
    *slot(d, caller) = c;
    d->ncallers++;
    arm(d, c);
    return c;
}

static void farewell(struct wio_mail_desk *d, struct mail_caller *c)
{
    struct mail_caller **at = slot(d, c->talk.caller);
    *at = c->next;
    wio_list_remove(&c->node);
    d->ncallers--;
    wio_os_close(c->watch.fd);
    wio_mail_talk_free(&c->talk); /* which takes it out of the set, too */
    wio_os_free(c);
}

static int64_t silence_ns(const struct wio_mail_desk *d)
{
    return (int64_t)(d->way.cfg->file_silence * 1e9);
}

static int open_box(struct wio_mail_desk *d, struct mail_caller *c)
{
    char name[20];
    struct wio_os_stat st;
    wio_mail_folder_name(name, c->talk.caller);
    d->ops++;
    int box = wio_rundir_folder(d->desk, name, false, &st);
    c->box_seen = c->box_seen || box >= 0;
    return box;
}

/* May another look find the folder? Where names show in any order, a letter may come before it. */
static bool may_show(const struct wio_mail_desk *d, const struct mail_caller *c, int box,
                     int64_t now)
{
    if (box == -EMFILE || box == -ENFILE || box == -ENOMEM)
        return true;
    return d->weak && !c->box_seen && now - c->since_ns < silence_ns(d);
}

/* Our side has said something, or closed. */
static void deliver(struct wio_mail_desk *d, struct mail_caller *c, int64_t now)
{
    struct mail_talk *t = &c->talk;
    wio_mail_hear(t);
    if (!t->dead && (t->out_len > 0 || (t->out_end && !t->end_sent)) && now >= t->retry_ns) {
        int box = open_box(d, c);
        if (box >= 0)
            wio_mail_write(t, box, now);
        else if (may_show(d, c, box, now))
            t->retry_ns = now + MAIL_RETRY_NS;
        else
            wio_mail_lost(t, "its folder is gone");
        wio_os_close(box);
    }
    wio_mail_say(t);
    if (wio_mail_over(t))
        farewell(d, c);
    else
        arm(d, c);
}

/* A dead caller leaves its folder. */
static void check(struct wio_mail_desk *d, struct mail_caller *c, int64_t now)
{
    char name[20];
    int version;
    int box = c->watch.lock_seen ? -1 : open_box(d, c);
    enum mail_life life = MAIL_ENDED;
    if (box >= 0 || c->watch.lock_seen)
        life = wio_mail_look(&c->watch, box, MAIL_ALIVE, now, silence_ns(d), &version, &d->ops);
    else if (may_show(d, c, box, now))
        life = MAIL_UNKNOWN;
    wio_os_close(box);
    if (life != MAIL_ENDED || c->talk.dead || c->talk.in_end)
        return;
    wio_mail_folder_name(name, c->talk.caller);
    wio_mail_empty(d->desk, name, false);
    wio_mail_lost(&c->talk, "the caller has died");
}

static void forgive(struct wio_mail_desk *d, int64_t now)
{
    WIO_LIST_FOR(it, &d->callers)
    {
        wio_mail_forgive(&WIO_CONTAINER(it, struct mail_caller, node)->watch, now);
    }
}

static void check_callers(struct wio_mail_desk *d, int64_t now)
{
    int64_t gap = (int64_t)d->ncallers * 1000000000 / CHECKS_PER_S;
    if (gap < CHECK_MIN_NS)
        gap = CHECK_MIN_NS;
    WIO_LIST_FOR_SAFE(it, next, &d->callers)
    {
        struct mail_caller *c = WIO_CONTAINER(it, struct mail_caller, node);
        if (c->check_ns > now)
            continue;
        check(d, c, now);
        bool cheap = c->watch.lock_seen; /* a lock is asked without a name */
        c->check_ns = now + (cheap || gap > d->sign.every_ns ? gap : d->sign.every_ns);
        if (c->talk.dead)
            deliver(d, c, now);
    }
}

/* ---- letters ---- */

static void keep_name(void *arg, const char *name)
{
    struct wio_mail_desk *d = arg;
    struct mail_found f;
    if (!wio_mail_name_parse(name, &f.caller, &f.number))
        return;
    if (d->nfound == d->found_cap) {
        uint32_t cap = d->found_cap == 0 ? 64 : d->found_cap * 2;
        struct mail_found *more = wio_os_realloc(d->found, cap * sizeof *more);
        if (more == NULL)
            return; /* the next look finds it */
        d->found = more;
        d->found_cap = cap;
    }
    d->found[d->nfound++] = f;
}

static int by_number(const void *a, const void *b)
{
    const struct mail_found *x = a, *y = b;
    if (x->caller != y->caller)
        return x->caller < y->caller ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* @return whether something came */
static bool take_one(struct wio_mail_desk *d, const struct mail_found *f, int64_t now)
{
    struct mail_caller *c = *slot(d, f->caller);
    char name[WIO_MAIL_NAME];
    if (c == NULL && f->number == 0 && !d->stopping)
        c = welcome(d, f->caller, now);
    else if (c == NULL || f->number < c->talk.next_in) { /* of a conversation that is over */
        wio_mail_name(name, f->caller, f->number);
        d->ops++;
        (void)wio_os_unlink_at(d->inbox, name, false);
        return false;
    }
    if (c == NULL || f->number != c->talk.next_in || !wio_mail_ready(&c->talk))
        return false;
    bool any = wio_mail_take(&c->talk, d->inbox, now) > 0;
    deliver(d, c, now);
    return any;
}

static void look_for_letters(struct wio_mail_desk *d, int64_t now)
{
    bool any = false;
    d->nfound = 0;
    d->ops++;
    (void)wio_os_list_at(d->inbox, keep_name, d);
    if (d->nfound > 1)
        qsort(d->found, d->nfound, sizeof *d->found, by_number);
    for (uint32_t i = 0; i < d->nfound; i++)
        any |= take_one(d, &d->found[i], now);
    if (any)
        d->news_ns = now;
    d->look_ns = now + wio_mail_gap(now - d->news_ns, d->events >= 0);
}

/* ---- the thread ---- */

/* Another process may have thought us dead. */
static void look_at_own(struct wio_mail_desk *d, int64_t now)
{
    int version;
    d->own_ns = now + d->sign.every_ns;
    d->own.lock_seen = false; /* so that the name is looked up */
    if (d->replaced ||
        wio_mail_look(&d->own, d->room, MAIL_HERE, now, INT64_MAX, &version, &d->ops) != MAIL_ENDED)
        return;
    d->replaced = true;
    wio_error(d->way.log, WIO_C_SERV,
              "another process of this job id serves the rendezvous in %s now: give each run a "
              "WAITIO_JOB_ID of its own",
              d->path);
    for (struct wio_list *it = wio_list_begin(&d->callers); it != &d->callers; it = it->next)
        wio_mail_lost(&WIO_CONTAINER(it, struct mail_caller, node)->talk,
                      "another process serves the rendezvous");
    wio_os_shutdown_send(d->pass[1]);
}

static int sleep_ms(const struct wio_mail_desk *d, int64_t now)
{
    int64_t next = d->look_ns < d->own_ns ? d->look_ns : d->own_ns;
    if (d->sign.next_ns < next)
        next = d->sign.next_ns;
    for (struct wio_list *it = d->callers.next; it != &d->callers; it = it->next) {
        const struct mail_caller *c = WIO_CONTAINER(it, struct mail_caller, node);
        next = c->check_ns < next ? c->check_ns : next;
        next = c->talk.retry_ns != 0 && c->talk.retry_ns < next ? c->talk.retry_ns : next;
    }
    return next <= now ? 0 : (int)((next - now) / 1000000) + 1;
}

static void events_of(struct wio_mail_desk *d, const struct epoll_event *ev, int n, int64_t now)
{
    for (int i = 0; i < n; i++) {
        void *p = ev[i].data.ptr;
        if (p == &d->stop) {
            wio_os_eventfd_clear(d->stop);
            d->stopping = true;
            d->stop_ns = now + MAIL_LAST_NS;
        } else if (p == &d->events) {
            (void)wio_os_events_read(d->events, NULL, NULL);
            d->look_ns = 0;
        } else {
            deliver(d, p, now);
        }
    }
}

/* What could not be written in the first attempt. */
static void retry(struct wio_mail_desk *d, int64_t now)
{
    WIO_LIST_FOR_SAFE(it, next, &d->callers)
    {
        struct mail_caller *c = WIO_CONTAINER(it, struct mail_caller, node);
        if (c->talk.dead || (c->talk.retry_ns != 0 && now >= c->talk.retry_ns))
            deliver(d, c, now);
    }
}

static void *keep_desk(void *arg)
{
    struct wio_mail_desk *d = arg;
    struct epoll_event ev[ROUND_EVENTS];
    for (;;) {
        int n = wio_os_epoll_wait(d->epfd, ev, ROUND_EVENTS, sleep_ms(d, wio_os_now_ns()));
        int64_t now = wio_os_now_ns();
        events_of(d, ev, n, now);
        if (wio_mail_beat(&d->sign, now))
            forgive(d, now);
        if (now >= d->look_ns)
            look_for_letters(d, now);
        check_callers(d, now);
        retry(d, now);
        if (now >= d->own_ns)
            look_at_own(d, now);
        if (d->stopping && (d->ncallers == 0 || now > d->stop_ns))
            return NULL;
    }
}

/* ---- the beginning ---- */

/* Is the one whose sign stands there alive? One that cannot be seen to hold its lock gets time to
 * show that it lives by counting. @return 0: nobody serves; JOIN, VERSION */
static int judge_sign(struct wio_mail_desk *d)
{
    struct mail_watch w = {.fd = -1};
    int64_t begun = wio_os_now_ns(), patience = STANDSTILL * d->sign.every_ns;
    enum mail_life life;
    int version = 0;
    uint64_t beat = 0;
    bool grows = false;
    do {
        life = wio_mail_look(&w, d->room, MAIL_HERE, wio_os_now_ns(), INT64_MAX, &version, &d->ops);
        grows = life == MAIL_LIVES && (w.lock_seen || (beat != 0 && beat != w.s.beat));
        if (life != MAIL_LIVES || grows || wio_mail_unlocked(&w, d->weak))
            break;
        beat = w.s.beat;
        wio_os_sleep_ns(patience / 10);
    } while (wio_os_now_ns() - begun < patience);
    wio_os_close(w.fd);
    if (life == MAIL_OTHER_VERSION)
        return wio_fail(WAITIO_ERR_VERSION,
                        "the rendezvous in %s writes version %d of its files, this program has "
                        "version %d: use the same WaitIO for all programs of the run",
                        d->path, version, WIO_MAIL_VERSION);
    if (grows)
        return wio_fail(WAITIO_ERR_JOIN,
                        "the rendezvous in %s is served by pid %u of host %s already", d->path,
                        w.s.pid, w.s.host);
    return 0;
}

static void sweep_box(void *arg, const char *name)
{
    wio_mail_empty(*(const int *)arg, name, false);
}

/* Whatever a service left that was killed: nobody waits there any more. */
static void sweep_one(void *arg, const char *name)
{
    struct wio_mail_desk *d = arg;
    struct wio_os_stat st;
    if (strcmp(name, MAIL_HERE) == 0)
        return;
    int fd = wio_rundir_folder(d->room, name, false, &st);
    if (fd < 0) {
        (void)wio_os_unlink_at(d->room, name, false);
        return;
    }
    d->ops += 4;
    (void)wio_os_list_at(fd, sweep_box, &fd);
    wio_os_close(fd);
    (void)wio_os_unlink_at(d->room, name, true);
}

/* @return 0 or -errno */
static int make_desk(struct wio_mail_desk *d, uint64_t nonce)
{
    char name[20];
    struct wio_os_stat st;
    (void)wio_os_list_at(d->room, sweep_one, d);
    wio_mail_folder_name(name, nonce);
    d->ops += 5;
    d->desk = wio_rundir_folder(d->room, name, true, &st);
    if (d->desk < 0)
        return d->desk;
    d->inbox = wio_rundir_folder(d->desk, MAIL_INBOX, true, &st);
    return d->inbox < 0 ? d->inbox
                        : wio_mail_sign_make(&d->sign, &d->way, d->room, MAIL_HERE, nonce, &d->ops);
}

/* @return 0 or -errno */
static int open_set(struct wio_mail_desk *d)
{
    int rc = wio_os_socketpair(d->pass);
    if (rc < 0)
        return rc;
    d->stop = wio_os_eventfd();
    d->epfd = wio_os_epoll_create();
    if (d->stop < 0 || d->epfd < 0)
        return d->stop < 0 ? d->stop : d->epfd;
    d->events = wio_os_events_open(); /* without it, looking goes on */
    if (d->events >= 0 && wio_os_events_watch(d->events, d->inbox, WIO_OS_EV_NAMES) < 0) {
        wio_os_close(d->events);
        d->events = -1;
    }
    rc = wio_os_epoll_ctl(d->epfd, EPOLL_CTL_ADD, d->stop, EPOLLIN, &d->stop);
    if (rc == 0 && d->events >= 0)
        rc = wio_os_epoll_ctl(d->epfd, EPOLL_CTL_ADD, d->events, EPOLLIN, &d->events);
    return rc;
}

/* The folder of a caller that has left, while a letter to it was being written. */
static void sweep_left(void *arg, const char *name)
{
    const int *desk = arg;
    struct wio_os_stat st;
    if (strcmp(name, MAIL_INBOX) == 0)
        return;
    int box = wio_rundir_folder(*desk, name, false, &st);
    int alive = box >= 0 ? wio_os_open_at(box, MAIL_ALIVE, false) : box;
    if (box >= 0 && alive == -ENOENT)
        wio_mail_empty(*desk, name, false);
    wio_os_close(alive);
    wio_os_close(box);
}

static void release(struct wio_mail_desk *d)
{
    char name[20];
    bool made = d->sign.fd >= 0;
    for (struct wio_list *it; (it = wio_list_first(&d->callers)) != NULL;)
        farewell(d, WIO_CONTAINER(it, struct mail_caller, node));
    if (made && d->weak) { /* some systems keep a file that is open under another name */
        wio_os_close(d->sign.fd);
        wio_os_close(d->own.fd);
        d->sign.fd = d->own.fd = -1;
    }
    if (made && !d->replaced)
        (void)wio_os_unlink_at(d->room, MAIL_HERE, false);
    if (d->desk >= 0) {
        wio_mail_empty(d->desk, MAIL_INBOX, d->weak);
        if (!d->weak) /* there a sign of life may be hidden: its caller would lose our last words */
            (void)wio_os_list_at(d->desk, sweep_left, &d->desk);
        wio_mail_folder_name(name, d->sign.s.nonce);
        /* Else the last caller does it, who need not see at once that we are no more. */
        if (wio_mail_remove(d->room, name, d->weak) == 0) {
            int run = wio_rundir_open(d->way.cfg->scratch_dir, d->way.job, false, d->path,
                                      sizeof d->path);
            if (run >= 0)
                (void)wio_mail_remove(run, MAIL_ROOM, d->weak);
            wio_os_close(run);
            wio_rundir_remove(d->way.cfg->scratch_dir, d->way.job);
        }
    }
    int *fds[] = {&d->room, &d->desk,    &d->inbox,   &d->events,  &d->stop,
                  &d->epfd, &d->pass[0], &d->pass[1], &d->sign.fd, &d->own.fd};
    for (size_t i = 0; i < WIO_ARRAY_LEN(fds); i++)
        wio_os_close(*fds[i]);
    wio_os_free(d->found);
    wio_os_free(d);
}

/* The last one of an earlier universe may remove the room just now; on a weak file system it may be
 * seen for a while.
 * @param[out] err  -errno of what could not be made @return 0, JOIN, VERSION ... */
static int make_place(struct wio_mail_desk *d, int *err)
{
    for (int tries = 1;; tries++) {
        d->room = wio_mail_room(&d->way, true, d->path, sizeof d->path);
        d->weak = d->room >= 0 && wio_mail_weak(&d->way, d->room);
        int rc = d->room < 0 ? d->room : judge_sign(d);
        *err = rc == 0 ? make_desk(d, wio_mail_nonce()) : 0;
        if ((*err != -ENOENT && *err != -ESTALE) || tries > (d->weak ? LATE_TRIES : STRONG_TRIES))
            return rc;
        int *fds[] = {&d->room, &d->desk, &d->inbox, &d->sign.fd};
        for (size_t i = 0; i < WIO_ARRAY_LEN(fds); i++) {
            wio_os_close(*fds[i]);
            *fds[i] = -1;
        }
        wio_os_sleep_ns(MAIL_RETRY_NS);
    }
}

int wio_mail_serve(const struct wio_mail_way *way, struct wio_mail_desk **desk, int *fd)
{
    struct wio_mail_desk *d = wio_os_alloc(sizeof *d);
    if (d == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "rendezvous");
    d->way = *way;
    d->room = d->desk = d->inbox = d->events = d->stop = d->epfd = d->pass[0] = d->pass[1] = -1;
    d->sign.fd = d->own.fd = -1;
    d->sign.every_ns = (int64_t)(way->cfg->file_heartbeat * 1e9);
    wio_list_init(&d->callers);
    int err = 0, rc = make_place(d, &err);
    if (rc == 0) {
        if (err == 0)
            err = open_set(d);
        d->news_ns = wio_os_now_ns();
        if (err == 0)
            err = wio_os_thread_start(&d->thread, keep_desk, d, "waitio-desk");
        if (err != 0)
            rc = wio_rundir_no_descriptor(err, d->path)
                     ? WAITIO_ERR_LIMIT
                     : wio_fail_os(WAITIO_ERR_SYSTEM, err, "the rendezvous cannot use %s", d->path);
    }
    if (rc != 0) {
        release(d);
        return rc;
    }
    *desk = d;
    *fd = d->pass[0];
    return 0;
}

void wio_mail_close(struct wio_mail_desk *d)
{
    if (d == NULL)
        return;
    wio_os_eventfd_set(d->stop);
    pthread_join(d->thread, NULL);
    wio_log_gate_end(&d->gate, d->way.log, WIO_C_SERV, "callers without room");
    wio_info(d->way.log, WIO_C_SERV, "the rendezvous in %s took %llu operations on names", d->path,
             (unsigned long long)d->ops);
    release(d);
}
