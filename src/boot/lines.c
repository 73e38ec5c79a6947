/* SPDX-License-Identifier: BSD-3-Clause */
/** @file lines.c  See lines.h. */
#include <errno.h>

#include "boot/lines.h"
#include "os/os.h"

#define BACKOFF_MIN_NS INT64_C(10000000)
#define BACKOFF_MAX_NS INT64_C(1000000000)
#define ATTEMPT_NS INT64_C(10000000000) /* connecting, handshake and answer together */
#define ANSWERS_MAX 64                  /* callers served at a time; the others are told to wait */
#define EVENTS 32

/* A connection to a relay: a line, or an answer on its way to the caller. */
struct wire {
    struct wio_list node; /* lines->answers, lines->dead */
    int fd;               /* -1: none */
    int relay;
    bool answer;     /* else a line */
    bool connecting; /* TCP connect() still under way */
    bool registered;
    uint64_t number; /* answer: of the call */
    int64_t deadline;
    struct wio_detour *detour; /* until it is open */
    struct wio_detour_in in;   /* line */
};

struct line {
    struct wire wire;
    int64_t next_ns, backoff_ns;
    bool ended; /* another process has our place: not again */
    struct wio_log_gate gate;
};

struct wio_lines {
    struct wio_lines_params p;
    struct wio_relays relays;
    int epfd, nanswers;
    struct line line[WIO_RELAYS_MAX];
    struct wio_list answers, dead;
};

static void hang_up(struct wio_lines *l, struct wire *w)
{
    wio_os_epoll_close(w->fd, l->epfd, -1);
    w->fd = -1;
    w->registered = w->connecting = false;
    wio_os_free(w->detour);
    w->detour = NULL;
    w->in.have = 0;
}

/* ---- making a connection ---- */

static int request(struct wio_lines *l, struct wire *w)
{
    w->detour = wio_os_alloc(sizeof *w->detour);
    if (w->detour == NULL)
        return -ENOMEM;
    return wio_detour_start(w->detour, l->p.secret,
                            w->answer ? WIO_DETOUR_ANSWER : WIO_DETOUR_REGISTER, &l->p.place,
                            w->number) == 0
               ? 0
               : -EIO;
}

/* @return 0 under way, else -errno, and nothing is left open */
static int dial(struct wio_lines *l, struct wire *w, int64_t now)
{
    const struct wio_relay_at *at = &l->relays.at[w->relay];
    w->fd = wio_os_socket(at->addr.ss_family, SOCK_STREAM);
    if (w->fd < 0)
        return w->fd;
    wio_relay_socket(w->fd, l->p.silence_s);
    int rc = wio_os_connect(w->fd, (const struct sockaddr *)&at->addr, at->len);
    if (rc == -EINPROGRESS)
        rc = 0;
    if (rc == 0)
        rc = request(l, w);
    if (rc == 0)
        rc = wio_os_epoll_ctl(l->epfd, EPOLL_CTL_ADD, w->fd, EPOLLIN | EPOLLOUT, w);
    if (rc < 0) {
        hang_up(l, w);
        return rc;
    }
    w->connecting = true;
    w->deadline = now + ATTEMPT_NS;
    return 0;
}

/* ---- lines ---- */

static void line_lost(struct wio_lines *l, struct wire *w, const char *why)
{
    struct line *ln = WIO_CONTAINER(w, struct line, wire);
    char note[96];
    bool had = w->registered;
    hang_up(l, w);
    ln->backoff_ns = had || ln->backoff_ns == 0 ? BACKOFF_MIN_NS : ln->backoff_ns * 2;
    if (ln->backoff_ns > BACKOFF_MAX_NS)
        ln->backoff_ns = BACKOFF_MAX_NS;
    ln->next_ns = wio_os_now_ns() + ln->backoff_ns;
    if (wio_log_gate(&ln->gate, wio_os_now_ns(), note, sizeof note))
        wio_log(l->p.log, l->p.comp, had ? WIO_LOG_WARN : WIO_LOG_INFO,
                "relay %s: %s%s; trying again%s", l->relays.at[w->relay].name,
                had ? "the line is lost: " : "", why, note);
}

/* Wrong secret, other version: the relay will not change its mind. */
static void line_refused(struct wio_lines *l, struct wire *w, int error, const char *why)
{
    struct line *ln = WIO_CONTAINER(w, struct line, wire);
    if (error != WAITIO_ERR_AUTH && error != WAITIO_ERR_VERSION && error != WAITIO_ERR_JOIN) {
        line_lost(l, w, why);
        return;
    }
    wio_warn(l->p.log, l->p.comp, "relay %s does not serve this process: %s",
             l->relays.at[w->relay].name, why);
    hang_up(l, w);
    ln->ended = true;
}

static void decline(struct wio_lines *l, int relay, uint64_t number, int code, const char *why)
{
    struct wire *w = &l->line[relay].wire;
    struct wio_detour_msg m = {
        .type = WIO_DETOUR_DECLINE, .place = l->p.place, .number = number, .code = code};
    uint8_t out[WIO_DETOUR_MAX];
    wio_text(m.text, sizeof m.text, "%.190s", why);
    size_t n = wio_detour_put(out, &m);
    /* A part of a message would spoil the line; a line that takes no message is of no use. */
    if (w->registered && wio_os_send(w->fd, out, n) != (ssize_t)n)
        line_lost(l, w, "it does not take what we send");
}

static void answer_over(struct wio_lines *l, struct wire *w)
{
    hang_up(l, w);
    wio_list_remove(&w->node);
    wio_list_push(&l->dead, &w->node);
    l->nanswers--;
}

static void wanted(struct wio_lines *l, int relay, uint64_t number)
{
    struct wire *w = l->nanswers < ANSWERS_MAX ? wio_os_alloc(sizeof *w) : NULL;
    if (w == NULL) {
        decline(l, relay, number, WAITIO_ERR_BUSY, "it has many callers at once: come again");
        return;
    }
    w->relay = relay;
    w->answer = true;
    w->number = number;
    wio_list_push(&l->answers, &w->node);
    l->nanswers++;
    int rc = dial(l, w, wio_os_now_ns());
    if (rc < 0) {
        answer_over(l, w);
        decline(l, relay, number, WAITIO_ERR_BUSY, strerror(-rc));
    }
}

static void line_input(struct wio_lines *l, struct wire *w)
{
    struct wio_detour_msg m;
    for (int i = 0; i < EVENTS && w->fd >= 0; i++) {
        int rc = wio_detour_read(&w->in, w->fd, &m);
        if (rc == 0)
            return;
        if (rc < 0)
            line_lost(l, w, rc == -EPIPE ? "it hung up" : strerror(-rc));
        else if (m.type == WIO_DETOUR_WANTED)
            wanted(l, w->relay, m.number);
        else if (m.type == WIO_DETOUR_REFUSED)
            line_refused(l, w, m.code, m.text);
        else
            line_lost(l, w, "it sent a message that makes no sense here");
    }
}

/* ---- events ---- */

static void opened(struct wio_lines *l, struct wire *w)
{
    wio_os_free(w->detour);
    w->detour = NULL;
    if (w->answer) {
        int fd = w->fd;
        (void)wio_os_epoll_ctl(l->epfd, EPOLL_CTL_DEL, fd, 0, NULL);
        w->fd = -1;
        int relay = w->relay;
        answer_over(l, w);
        l->p.take(l->p.owner, fd, relay);
        return;
    }
    struct line *ln = WIO_CONTAINER(w, struct line, wire);
    w->registered = true;
    ln->backoff_ns = 0;
    (void)wio_os_epoll_ctl(l->epfd, EPOLL_CTL_MOD, w->fd, EPOLLIN, w);
    wio_info(l->p.log, l->p.comp, "registered at relay %s", l->relays.at[w->relay].name);
    line_input(l, w);
}

static void failed(struct wio_lines *l, struct wire *w, int error, const char *why)
{
    if (!w->answer) {
        line_refused(l, w, error, why);
        return;
    }
    wio_debug(l->p.log, l->p.comp, "relay %s: a call was not answered: %s",
              l->relays.at[w->relay].name, why);
    int relay = w->relay;
    uint64_t number = w->number;
    answer_over(l, w);
    decline(l, relay, number, WAITIO_ERR_BUSY, why);
}

static void drive(struct wio_lines *l, struct wire *w, uint32_t events)
{
    if (w->fd < 0)
        return;
    if (w->connecting) {
        int rc = wio_os_so_error(w->fd);
        if (rc < 0) {
            failed(l, w, WAITIO_ERR_PEER, strerror(-rc));
            return;
        }
        if ((events & (EPOLLOUT | EPOLLHUP)) == 0)
            return;
        w->connecting = false;
    }
    if (w->detour == NULL) {
        line_input(l, w);
        return;
    }
    enum wio_detour_state s = wio_detour_drive(w->detour, w->fd);
    if (s == WIO_DETOUR_DONE) {
        opened(l, w);
    } else if (s == WIO_DETOUR_FAILED) {
        char why[sizeof w->detour->text];
        wio_text(why, sizeof why, "%s", w->detour->text);
        failed(l, w, w->detour->error, why);
    } else {
        (void)wio_os_epoll_ctl(l->epfd, EPOLL_CTL_MOD, w->fd,
                               EPOLLIN | (wio_detour_writes(w->detour) ? (uint32_t)EPOLLOUT : 0),
                               w);
    }
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t run_lines(struct wio_lines *l, int64_t now)
{
    int64_t next = INT64_MAX;
    for (int i = 0; i < l->relays.n; i++) {
        struct line *ln = &l->line[i];
        struct wire *w = &ln->wire;
        if (ln->ended)
            continue;
        if (w->fd >= 0 && !w->registered && w->deadline <= now)
            line_lost(l, w, "it does not answer");
        if (w->fd < 0 && ln->next_ns <= now) {
            int rc = dial(l, w, now);
            if (rc < 0)
                line_lost(l, w, strerror(-rc));
        }
        next = sooner(next, w->fd < 0 ? ln->next_ns : w->registered ? INT64_MAX : w->deadline);
    }
    return next;
}

static int64_t run_answers(struct wio_lines *l, int64_t now)
{
    int64_t next = INT64_MAX;
    WIO_LIST_FOR_SAFE(it, after, &l->answers)
    {
        struct wire *w = WIO_CONTAINER(it, struct wire, node);
        if (w->deadline <= now)
            failed(l, w, WAITIO_ERR_TIMEOUT, "the relay does not answer");
        else
            next = sooner(next, w->deadline);
    }
    return next;
}

int64_t wio_lines_run(struct wio_lines *l, int64_t now)
{
    struct epoll_event ev[EVENTS];
    int n = wio_os_epoll_wait(l->epfd, ev, EVENTS, 0);
    for (int i = 0; i < n; i++)
        drive(l, ev[i].data.ptr, ev[i].events);
    int64_t next = sooner(run_lines(l, now), run_answers(l, now));
    for (struct wio_list *it; (it = wio_list_pop(&l->dead)) != NULL;)
        wio_os_free(WIO_CONTAINER(it, struct wire, node));
    return next;
}

/* ---- life ---- */

int wio_lines_open(const struct wio_lines_params *p, struct wio_lines **out)
{
    struct wio_lines *l = wio_os_alloc(sizeof *l);
    if (l == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for the lines to relays");
    l->p = *p;
    l->relays = *p->relays;
    wio_list_init(&l->answers);
    wio_list_init(&l->dead);
    for (int i = 0; i < WIO_RELAYS_MAX; i++) {
        l->line[i].wire.fd = -1;
        l->line[i].wire.relay = i;
    }
    l->epfd = wio_os_epoll_create();
    if (l->epfd < 0) {
        int rc = wio_fail_os(WAITIO_ERR_SYSTEM, l->epfd, "no epoll set for the lines to relays");
        wio_os_free(l);
        return rc;
    }
    *out = l;
    return 0;
}

int wio_lines_fd(const struct wio_lines *l)
{
    return l->epfd;
}

int wio_lines_registered(const struct wio_lines *l)
{
    int n = 0;
    for (int i = 0; i < l->relays.n; i++)
        n += l->line[i].wire.registered;
    return n;
}

void wio_lines_close(struct wio_lines *l)
{
    if (l == NULL)
        return;
    wio_os_close(l->epfd); /* first: in a forked child the set is the parent's, too */
    l->epfd = -1;
    for (int i = 0; i < WIO_RELAYS_MAX; i++)
        hang_up(l, &l->line[i].wire);
    for (struct wio_list *it; (it = wio_list_pop(&l->answers)) != NULL;) {
        struct wire *w = WIO_CONTAINER(it, struct wire, node);
        hang_up(l, w);
        wio_os_free(w);
    }
    wio_os_free(l);
}
