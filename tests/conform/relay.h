/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file relay.h
 * A network between the nodes of a test world: each node publishes the port of a relay, which
 * forwards to it, in pieces of any size, and cuts connections after so many bytes. It is driven by
 * hand, as the nodes are.
 */
#ifndef CONFORM_RELAY_H
#define CONFORM_RELAY_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "harness.h"

enum { RELAY_BUFFER = 65536, RELAY_PATHS = 64 };

enum cut { CUT_END, CUT_RESET, CUT_DIALER, CUT_ACCEPTOR, CUT_KINDS }; /* who notices */

struct path {
    int fd[2]; /* dialer, acceptor; -1 = closed */
    uint8_t data[2][RELAY_BUFFER];
    size_t at[2], n[2]; /* of data from fd[i] to the other one */
    bool end[2];
    int64_t budget;   /* bytes until it is cut */
    int64_t moved;    /* bytes so far */
    uint32_t largest; /* piece, after so many of a few bytes */
    uint32_t crumbs;
    int pieces; /* it ends, or is held, after so many; 0: it is not */
    bool frozen, held;
};

struct relay {
    struct world *w;
    int listener[NODES_MAX];
    uint16_t port[NODES_MAX]; /* of the nodes themselves */
    struct path *path[RELAY_PATHS];
    uint32_t budget_max; /* of new connections; 0: they are not cut */
    int pieces[2];       /* of the first connections; -n: held after n pieces */
    enum cut how;        /* they end */
    int64_t loud;        /* both sides notice a cut among so many first bytes */
    int shut;            /* this node is not reached; -1: all are */
    int cuts, dials;
    int idle;                                         /* rounds without work */
    bool refuse;                                      /* new connections end at once */
    void (*spoil)(uint8_t *data, size_t n, int from); /* changes bytes; NULL: nobody does */
};

static inline int listen_at(uint16_t *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(*port)};
    socklen_t len = sizeof a;
    int one = 1;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = wio_os_socket(AF_INET, SOCK_STREAM);
    assert_true(fd >= 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, 64), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    *port = ntohs(a.sin_port);
    return fd;
}

/* Nodes are reached through the relay from now on. */
static inline struct relay *relay_new(struct world *w)
{
    struct relay *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->w = w;
    r->shut = -1;
    for (int i = 0; i < w->n; i++) {
        uint16_t port = 0;
        r->port[i] = w->ep[i].port;
        r->listener[i] = listen_at(&port);
        w->ep[i].port = port;
    }
    return r;
}

static inline void end_fd(int *fd, bool reset)
{
    struct linger hard = {1, 0};
    if (*fd >= 0 && reset)
        (void)setsockopt(*fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static inline void path_drop(struct relay *r, int i)
{
    end_fd(&r->path[i]->fd[0], false);
    end_fd(&r->path[i]->fd[1], false);
    free(r->path[i]);
    r->path[i] = NULL;
}

static inline void path_cut(struct relay *r, struct path *p, enum cut how)
{
    r->cuts++;
    p->frozen = true; /* who does not notice is not told */
    p->end[0] = p->end[1] = true;
    if (how != CUT_ACCEPTOR)
        end_fd(&p->fd[0], how == CUT_RESET);
    if (how != CUT_DIALER)
        end_fd(&p->fd[1], how == CUT_RESET);
}

static inline void relay_accept(struct relay *r, int node)
{
    int fd = accept4(r->listener[node], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), one = 1, i = 0;
    if (fd < 0)
        return;
    if (node == r->shut) {
        end_fd(&fd, true);
        return;
    }
    r->dials++;
    while (i < RELAY_PATHS && r->path[i] != NULL)
        i++;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(r->port[node])};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int to = i == RELAY_PATHS || r->refuse ? -1 : wio_os_socket(AF_INET, SOCK_STREAM);
    if (to < 0 || (connect(to, (struct sockaddr *)&a, sizeof a) != 0 && errno != EINPROGRESS)) {
        end_fd(&fd, true);
        end_fd(&to, true);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    (void)setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct path *p = calloc(1, sizeof *p);
    assert_non_null(p);
    p->fd[0] = fd;
    p->fd[1] = to;
    p->budget = r->budget_max > 0 ? 1 + (int64_t)rnd(r->w, r->budget_max) : INT64_MAX;
    p->largest = 500 + rnd(r->w, RELAY_BUFFER - 500);
    p->crumbs = rnd(r->w, 2) * rnd(r->w, 1000);
    p->pieces = r->dials <= 2 ? r->pieces[r->dials - 1] : 0;
    if (p->pieces != 0)
        p->crumbs = 0;
    r->path[i] = p;
}

static inline void path_read(struct relay *r, struct path *p, int from)
{
    size_t most = p->crumbs > 0 ? 1 + rnd(r->w, 9) : p->largest;
    ssize_t n = recv(p->fd[from], p->data[from], most, MSG_DONTWAIT);
    p->crumbs -= n > 0 && p->crumbs > 0;
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != ENOTCONN)) {
        p->end[from] = true;
        (void)shutdown(p->fd[1 - from], SHUT_WR);
    }
    p->at[from] = 0;
    p->n[from] = n > 0 ? (size_t)n : 0;
    if (r->spoil != NULL)
        r->spoil(p->data[from], p->n[from], from);
}

static inline enum cut any_cut(const struct relay *r, const struct path *p)
{
    return (enum cut)rnd(r->w, p->moved < r->loud ? CUT_DIALER : CUT_KINDS);
}

/* After each piece. */
static inline void path_count(struct relay *r, struct path *p)
{
    if (p->pieces > 0 && --p->pieces == 0)
        path_cut(r, p, r->how);
    else if (p->pieces < 0 && ++p->pieces == 0)
        p->held = true;
}

/* Bytes of one direction. @return how many moved */
static inline int path_move(struct relay *r, struct path *p, int from)
{
    int to = 1 - from;
    if (p->frozen || p->held || p->fd[0] < 0 || p->fd[1] < 0)
        return 0;
    if (p->n[from] == 0 && !p->end[from])
        path_read(r, p, from);
    if (p->n[from] == 0)
        return 0;
    size_t most = (int64_t)p->n[from] < p->budget ? p->n[from] : (size_t)p->budget;
    ssize_t n = send(p->fd[to], p->data[from] + p->at[from], most, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0) {
        if (errno != EAGAIN && errno != ENOTCONN)
            p->n[from] = 0; /* nobody takes it any more */
        return 0;
    }
    p->at[from] += (size_t)n;
    p->n[from] -= (size_t)n;
    p->budget -= n;
    p->moved += n;
    if (p->budget <= 0)
        path_cut(r, p, any_cut(r, p));
    else if (p->n[from] == 0)
        path_count(r, p);
    return (int)n;
}

/* Both ends have closed it; of a cut one, also who did not notice. */
static inline bool path_over(const struct path *p)
{
    if (p->held)
        return false;
    if (!p->frozen)
        return p->end[0] && p->end[1] && p->n[0] == 0 && p->n[1] == 0;
    if (p->fd[0] < 0 && p->fd[1] < 0)
        return true;
    struct pollfd left = {.fd = p->fd[0] >= 0 ? p->fd[0] : p->fd[1], .events = POLLRDHUP};
    return poll(&left, 1, 0) > 0;
}

static inline int relay_drive(struct relay *r)
{
    int moved = 0;
    for (int i = 0; i < r->w->n; i++)
        relay_accept(r, i);
    for (int i = 0; i < RELAY_PATHS; i++) {
        struct path *p = r->path[i];
        if (p == NULL)
            continue;
        moved += path_move(r, p, 0) + path_move(r, p, 1);
        if (path_over(p))
            path_drop(r, i);
    }
    return moved;
}

/* Cut whatever there is. */
static inline void relay_cut(struct relay *r, enum cut how)
{
    for (int i = 0; i < RELAY_PATHS; i++)
        if (r->path[i] != NULL && !r->path[i]->frozen)
            path_cut(r, r->path[i], how);
}

/* From now on nothing moves, and nobody notices. */
static inline void relay_hold(struct relay *r)
{
    for (int i = 0; i < RELAY_PATHS; i++)
        if (r->path[i] != NULL)
            r->path[i]->frozen = true;
}

/* Cut what was held. */
static inline void relay_cut_held(struct relay *r, enum cut how)
{
    for (int i = 0; i < RELAY_PATHS; i++)
        if (r->path[i] != NULL && r->path[i]->frozen)
            path_cut(r, r->path[i], how);
}

/* Nobody listens any more: as if all were dead. */
static inline void relay_close(struct relay *r)
{
    for (int i = 0; i < r->w->n; i++)
        end_fd(&r->listener[i], false);
    relay_cut(r, CUT_RESET);
}

static inline void relay_free(struct relay *r)
{
    relay_close(r);
    for (int i = 0; i < RELAY_PATHS; i++)
        if (r->path[i] != NULL)
            path_drop(r, i);
    free(r);
}

/* From now on connections are cut after at most so many bytes, also the present ones; 0: none. */
static inline void relay_budget(struct relay *r, uint32_t most)
{
    r->budget_max = most;
    for (int i = 0; i < RELAY_PATHS; i++)
        if (r->path[i] != NULL)
            r->path[i]->budget = most > 0 ? 1 + (int64_t)rnd(r->w, most) : INT64_MAX;
}

static inline void relay_dump(const struct relay *r)
{
    for (int i = 0; i < RELAY_PATHS; i++) {
        const struct path *p = r->path[i];
        if (p != NULL)
            print_message(
                "relay: descriptors %d %d, bytes held %zu %zu, ends %d %d, budget %lld%s\n",
                p->fd[0], p->fd[1], p->n[0], p->n[1], p->end[0], p->end[1], (long long)p->budget,
                p->frozen ? ", cut" : "");
    }
}

static inline void relay_step(struct relay *r)
{
    rest_if_idle(relay_drive(r) + world_drive(r->w), &r->idle);
}

#define THROUGH(r, cond)                                                                           \
    do {                                                                                           \
        int64_t through_end = wt_until_ns(20 * SECOND);                                            \
        while (!(cond)) {                                                                          \
            relay_step(r);                                                                         \
            if (wio_os_now_ns() > through_end) {                                                   \
                world_dump((r)->w);                                                                \
                relay_dump(r);                                                                     \
                fail_msg("timed out: %s", #cond);                                                  \
            }                                                                                      \
        }                                                                                          \
    } while (0)

static inline void through_ms(struct relay *r, int ms)
{
    int64_t end = wio_os_now_ns() + ms * 1000000LL;
    while (wio_os_now_ns() < end)
        relay_step(r);
}

#endif
