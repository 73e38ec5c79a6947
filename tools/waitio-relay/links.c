/* SPDX-License-Identifier: BSD-3-Clause */
/** @file links.c  Pairs of connections: from the answer until both streams have ended. */
#include <errno.h>

#include "relay.h"

static void over(struct relay *r, struct pair *p, const char *why)
{
    char place[64];
    if (p->dead)
        return;
    p->dead = r->touched = true;
    wio_debug(&r->log, WIO_C_SERV, "link to %s over after %.1f s, %llu + %llu bytes: %s",
              rl_place_text(&p->place, place, sizeof place),
              (double)(wio_os_now_ns() - p->since) / 1e9, (unsigned long long)p->end[0].bytes,
              (unsigned long long)p->end[1].bytes, why);
    for (int i = 0; i < 2; i++) {
        rl_pump_drop(r, &p->end[i]);
        wio_os_close(p->end[i].fd);
        p->end[i].fd = -1;
    }
    wio_list_remove(&p->ready);
    wio_list_remove(&p->node);
    wio_list_push(&r->dead_pairs, &p->node);
    r->npairs--;
}

static void run(struct relay *r, struct pair *p)
{
    bool more = rl_pump(r, &p->end[0], &p->end[1]);
    more |= rl_pump(r, &p->end[1], &p->end[0]);
    if (p->end[0].eof && p->end[1].eof && !rl_pending(&p->end[0]) && !rl_pending(&p->end[1]))
        over(r, p, "both sides have ended");
    else if (more && !wio_list_linked(&p->ready))
        wio_list_push(&r->ready, &p->ready);
}

void rl_end_event(struct relay *r, struct end *e, uint32_t events)
{
    if (e->pair->dead)
        return;
    if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        e->hup = true;
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
        e->in = !e->eof;
    if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR))
        e->out = true;
    run(r, e->pair);
}

void rl_links_run(struct relay *r)
{
    struct wio_list todo, *it;
    wio_list_init(&todo);
    while ((it = wio_list_pop(&r->ready)) != NULL)
        wio_list_push(&todo, it);
    while ((it = wio_list_pop(&todo)) != NULL)
        run(r, WIO_CONTAINER(it, struct pair, ready));
}

void rl_link(struct relay *r, int caller, int answerer, const struct wio_place *place)
{
    struct pair *p = wio_os_alloc(sizeof *p);
    int fd[2] = {caller, answerer};
    if (p == NULL) {
        wio_os_close(caller);
        wio_os_close(answerer);
        return;
    }
    p->place = *place;
    p->since = wio_os_now_ns();
    wio_list_push(&r->pairs, &p->node);
    r->npairs++;
    r->links++;
    for (int i = 0; i < 2; i++)
        p->end[i] = (struct end){.kind = K_END, .fd = fd[i], .pair = p, .pipe = {-1, -1}};
    for (int i = 0; i < 2; i++) {
        int rc = wio_os_epoll_ctl(r->epfd, EPOLL_CTL_MOD, fd[i],
                                  EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, &p->end[i]);
        if (rc < 0 && !p->dead)
            over(r, p, strerror(-rc));
    }
}

/* A host that has lost its power says nothing; one whose process is stopped acknowledges. */
static bool host_is_gone(const struct relay *r, int fd)
{
    struct wio_os_tcp_info ti;
    if (wio_os_tcp_info(fd, &ti) < 0)
        return false;
    bool waits = (ti.unacked > 0 && ti.retransmits > 0) || ti.probes > 1;
    return waits && ti.last_ack_ns > r->silence_ns;
}

/* Keepalive finds a silent host only while nothing was sent there. */
static void probe_lines(struct relay *r)
{
    WIO_LIST_FOR_SAFE(it, next, &r->guests[G_CALL])
    {
        struct guest *line = rl_line_of(WIO_CONTAINER(it, struct guest, node));
        if (line != NULL && host_is_gone(r, line->fd))
            rl_guest_over(r, line);
    }
}

int64_t rl_links_tick(struct relay *r, int64_t now)
{
    if (wio_list_empty(&r->pairs) && wio_list_empty(&r->guests[G_CALL]))
        return INT64_MAX;
    if (now < r->probe_at)
        return r->probe_at;
    probe_lines(r);
    r->probe_at = now + r->silence_ns / 8;
    WIO_LIST_FOR_SAFE(it, next, &r->pairs)
    {
        struct pair *p = WIO_CONTAINER(it, struct pair, node);
        if (host_is_gone(r, p->end[0].fd) || host_is_gone(r, p->end[1].fd))
            over(r, p, "a host acknowledges nothing any more");
    }
    return r->probe_at;
}

void rl_links_bury(struct relay *r)
{
    for (struct wio_list *it; (it = wio_list_pop(&r->dead_pairs)) != NULL;)
        wio_os_free(WIO_CONTAINER(it, struct pair, node));
}

void rl_links_free(struct relay *r)
{
    WIO_LIST_FOR_SAFE(it, next, &r->pairs)
    {
        over(r, WIO_CONTAINER(it, struct pair, node), "the relay ends");
    }
    rl_links_bury(r);
    rl_pipes_free(r);
}
