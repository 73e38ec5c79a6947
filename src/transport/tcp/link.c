/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file link.c
 * One link per peer: the state table and the one function that changes states, the table of links
 * by peer, taking over an authenticated socket, and the ways a link ends.
 */
#include <arpa/inet.h>

#include "tcp.h"

#define TO(s) (1u << TCP_##s)

const struct wio_state_row wio_tcp_states[TCP_STATES] = {
    [TCP_NEW] = {"NEW", TO(WAIT) | TO(DIAL) | TO(CONFIRM) | TO(CLOSED), WIO_EP_CONNECTING,
                 "made, nothing on the wire"},
    [TCP_WAIT] = {"WAIT", TO(DIAL) | TO(CONFIRM) | TO(CLOSED), WIO_EP_CONNECTING,
                  "will dial when the older link is closed, a place or descriptor is free or a "
                  "pause is over"},
    [TCP_DIAL] = {"DIAL", TO(WAIT) | TO(CONFIRM) | TO(READY) | TO(CLOSED), WIO_EP_CONNECTING,
                  "our connect or handshake is under way"},
    [TCP_CONFIRM] = {"CONFIRM",
                     TO(WAIT) | TO(READY) | TO(DRAIN) | TO(HALF) | TO(ANSWER) | TO(LAST) |
                         TO(CLOSED),
                     WIO_EP_CONNECTING,
                     "the connection is proven, the peer's first frame makes the link ready, or "
                     "what it was before it broke"},
    [TCP_READY] = {"READY", TO(WAIT) | TO(DRAIN) | TO(ANSWER) | TO(CLOSED), WIO_EP_READY,
                   "open both ways"},
    [TCP_DRAIN] = {"DRAIN", TO(WAIT) | TO(HALF) | TO(ANSWER) | TO(CLOSED), WIO_EP_CLOSING,
                   "closing: queued output goes first, then our goodbye"},
    [TCP_HALF] = {"HALF", TO(WAIT) | TO(LAST) | TO(CLOSED), WIO_EP_CLOSING,
                  "our goodbye is out, reading until the peer's"},
    [TCP_ANSWER] = {"ANSWER", TO(WAIT) | TO(LAST) | TO(CLOSED), WIO_EP_CLOSING,
                    "the peer's goodbye was heard: queued output goes first, then ours"},
    [TCP_LAST] = {"LAST", TO(WAIT) | TO(CLOSED), WIO_EP_CLOSING,
                  "both goodbyes said, waiting until the peer has heard ours"},
    [TCP_CLOSED] = {"CLOSED", 0, WIO_EP_CLOSED, "over"},
};

/* ---- names ---- */

const char *wio_tcp_addr_text(const union tcp_addr *a, char *buf, size_t n)
{
    char ip[INET6_ADDRSTRLEN] = "?";
    if (a->sa.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &a->in6.sin6_addr, ip, sizeof ip);
        wio_text(buf, n, "[%s]:%u", ip, (unsigned)ntohs(a->in6.sin6_port));
    } else if (a->sa.sa_family == AF_INET) {
        inet_ntop(AF_INET, &a->in4.sin_addr, ip, sizeof ip);
        wio_text(buf, n, "%s:%u", ip, (unsigned)ntohs(a->in4.sin_port));
    } else {
        wio_text(buf, n, "no address");
    }
    return buf;
}

const char *wio_tcp_peer_name(const struct tcp_iface *f, uint32_t peer, char *buf, size_t n)
{
    const struct wio_table *t = f->base.table;
    uint32_t pb = wio_table_pb_of(t, peer);
    wio_text(buf, n, "PB %u rank %u", (unsigned)pb, (unsigned)(peer - t->pb_base[pb]));
    return buf;
}

const char *wio_tcp_link_name(const struct tcp_link *l, char *buf, size_t n)
{
    char who[48], where[64];
    wio_tcp_peer_name(tcp_of(l), l->ep.peer, who, sizeof who);
    if (l->ep.lane != 0)
        wio_text(buf, n, "%s (lane %u, %s)", who, l->ep.lane,
                 wio_tcp_addr_text(&l->addr, where, sizeof where));
    else if (l->via != 0)
        wio_text(buf, n, "%s (through relay %s)", who, wio_tcp_relay_name(tcp_of(l), l->via));
    else
        wio_text(buf, n, "%s (%s)", who, wio_tcp_addr_text(&l->addr, where, sizeof where));
    return buf;
}

/* ---- states ---- */

static struct wio_list *group_of(struct tcp_iface *f, enum tcp_state s)
{
    switch (wio_tcp_states[s].ep) {
    case WIO_EP_CONNECTING:
        return &f->connecting;
    case WIO_EP_READY:
        return &f->lru;
    case WIO_EP_CLOSING:
        return &f->closing;
    default:
        return NULL;
    }
}

/* A link closed by p2p before it was ready shows as CLOSING, so that connect() makes a new one. A
 * broken one shows what it was. */
static uint8_t shown_state(const struct tcp_link *l)
{
    uint8_t s = wio_tcp_states[l->state].ep;
    if (l->mend != 0 && s == WIO_EP_CONNECTING)
        return wio_tcp_states[l->mend].ep;
    return s == WIO_EP_CONNECTING && l->bye_wanted ? WIO_EP_CLOSING : s;
}

void wio_tcp_set_state(struct tcp_link *l, enum tcp_state to)
{
    struct tcp_iface *f = tcp_of(l);
    const struct wio_state_row *from = &wio_tcp_states[l->state];
    bool legal = (from->next & (1u << to)) != 0;
    char name[96];
    if (!legal)
        wio_error(f->base.p.log, WIO_C_TCP, "defect: link to %s: illegal change %s -> %s",
                  wio_tcp_link_name(l, name, sizeof name), from->name, wio_tcp_states[to].name);
    else
        wio_debug(f->base.p.log, WIO_C_TCP, "link to %s: %s -> %s",
                  wio_tcp_link_name(l, name, sizeof name), from->name, wio_tcp_states[to].name);
    assert(legal);
    l->state = (uint8_t)to;
    l->ep.state = shown_state(l);
    wio_list_remove(&l->group);
    struct wio_list *group = group_of(f, to);
    if (group != NULL)
        wio_list_push(group, &l->group);
    if (to == TCP_READY && l->broke_at == 0)
        f->base.p.counters->link_opens++;
    if (l->ep.state != l->told && l->ep.state > WIO_EP_READY)
        wio_tcp_link_news(l);
}

void wio_tcp_link_news(struct tcp_link *l)
{
    if (!wio_list_linked(&l->news))
        wio_list_push(&tcp_of(l)->news, &l->news);
}

void wio_tcp_make_ready(struct tcp_link *l)
{
    if (l->ready || !tcp_can_read(l))
        return;
    l->ready = true;
    wio_list_push(&tcp_of(l)->ready, &l->rnode);
}

void wio_tcp_mark_hup(struct tcp_link *l)
{
    if (!l->hup) {
        l->hup = true;
        tcp_of(l)->nhup++;
    }
    wio_tcp_make_ready(l);
}

void wio_tcp_clear_hup(struct tcp_link *l)
{
    if (l->hup) {
        l->hup = false;
        tcp_of(l)->nhup--;
    }
}

static void unready(struct tcp_link *l)
{
    l->ready = false;
    wio_list_remove(&l->rnode);
    wio_tcp_clear_hup(l);
}

/* ---- table of links: chained hash by peer and lane; only the newest link of each is in it ---- */

static struct tcp_link **slot_of(struct tcp_iface *f, uint32_t peer, unsigned lane)
{
    struct tcp_link **p = &f->hash[wio_mix64(peer | (uint64_t)lane << 32) & (f->nhash - 1)];
    while (*p != NULL && ((*p)->ep.peer != peer || (*p)->ep.lane != lane))
        p = &(*p)->hash_next;
    return p;
}

struct tcp_link *wio_tcp_link_find(struct tcp_iface *f, uint32_t peer, unsigned lane)
{
    return f->nhash == 0 ? NULL : *slot_of(f, peer, lane);
}

struct tcp_link *wio_tcp_link_oldest(struct tcp_iface *f, uint32_t peer, unsigned lane)
{
    struct tcp_link *l = wio_tcp_link_find(f, peer, lane);
    while (l != NULL && l->older != NULL)
        l = l->older;
    return l;
}

static bool hash_grow(struct tcp_iface *f)
{
    uint32_t n = f->nhash == 0 ? 16 : f->nhash * 2;
    struct tcp_link **old = f->hash, **now = wio_os_alloc(n * sizeof *now);
    uint32_t nold = f->nhash;
    if (now == NULL)
        return false;
    f->hash = now;
    f->nhash = n;
    for (uint32_t i = 0; i < nold; i++)
        for (struct tcp_link *l = old[i], *next; l != NULL; l = next) {
            next = l->hash_next;
            l->hash_next = NULL;
            *slot_of(f, l->ep.peer, l->ep.lane) = l;
        }
    wio_os_free(old);
    return true;
}

/* Remove the link from the chain of its peer; an older one never returns to the table. */
static void unlist(struct tcp_link *l)
{
    struct tcp_iface *f = tcp_of(l);
    struct tcp_link **p = f->nhash == 0 ? NULL : slot_of(f, l->ep.peer, l->ep.lane);
    if (p != NULL && *p == l) {
        *p = l->hash_next;
        f->nlinks--;
    }
    l->hash_next = NULL;
    if (l->older != NULL)
        l->older->newer = l->newer;
    if (l->newer != NULL) {
        l->newer->older = l->older;
        if (l->older == NULL && l->newer->state == TCP_WAIT)
            wio_tcp_dial_later(l->newer, 0);
    }
    l->older = l->newer = NULL;
}

/* ---- birth ---- */

static void init_lists(struct tcp_link *l)
{
    wio_list_init(&l->small);
    wio_list_init(&l->bulk_q);
    struct wio_list *nodes[] = {&l->all,  &l->group, &l->rnode, &l->onode, &l->wnode,
                                &l->news, &l->probe, &l->hnode, &l->owes};
    for (size_t i = 0; i < WIO_ARRAY_LEN(nodes); i++)
        wio_list_init(nodes[i]);
}

struct tcp_link *wio_tcp_link_new(struct tcp_iface *f, uint32_t peer, unsigned lane)
{
    if (f->nlinks >= f->nhash && !hash_grow(f))
        return NULL;
    struct tcp_link *l = wio_os_alloc(sizeof *l);
    if (l == NULL)
        return NULL;
    l->ep.iface = &f->base;
    l->ep.peer = peer;
    l->ep.lane = (uint8_t)lane;
    f->nlanes += lane != 0;
    if (lane >= f->lane_top)
        f->lane_top = lane + 1;
    l->ep.state = l->told = WIO_EP_CONNECTING;
    l->src.what = TCP_IS_LINK;
    l->state = TCP_NEW;
    l->fd = -1;
    l->timer = INT64_MAX;
    l->mine = f->resume_timeout > 0 && lane == 0 ? wio_tcp_mend_number(f) : 0;
    init_lists(l);
    struct tcp_link **p = slot_of(f, peer, lane), *old = *p;
    if (old != NULL) { /* it is closing: replace it in the table */
        l->hash_next = old->hash_next;
        old->hash_next = NULL;
        l->older = old;
        old->newer = l;
    } else {
        f->nlinks++;
    }
    *p = l;
    wio_list_push(&f->links, &l->all);
    wio_list_push(&f->connecting, &l->group);
    union tcp_addr first;
    if (wio_tcp_peer_addrs(f, peer, &first, 1) > 0)
        l->addr = first;
    f->base.p.counters->peer_bytes += sizeof *l;
    return l;
}

int wio_tcp_link_adopt(struct tcp_link *l, struct tcp_conn *c)
{
    struct tcp_iface *f = tcp_of(l);
    int fd = c->fd;
    struct wio_tls *tls = NULL;
    int rc = wio_os_epoll_ctl(f->epoll, EPOLL_CTL_MOD, fd,
                              EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, &l->src);
    if (rc == 0)
        rc = wio_os_epoll_ctl(f->svc_epoll, EPOLL_CTL_MOD, fd, EPOLLIN | EPOLLRDHUP | EPOLLET,
                              &l->src);
    if (rc == 0 && wio_tls_begin(&c->auth, fd, &tls) != 0)
        rc = -ENOMEM;
    if (rc < 0)
        return rc;
    c->fd = -1;
    l->fd = fd;
    l->tls = tls;
    l->addr = c->addr;
    l->via = c->via;
    l->svc = TCP_SVC_READ;
    l->can_write = true;
    l->silent_since = 0;
    l->eof = l->write_failed = l->shut = false; /* of an earlier socket */
    if (c->link != NULL && l->mend == 0) {
        l->number = l->mine;
        l->theirs = false;
    }
    if (l->ep.lane != 0)
        wio_tcp_lane_adopted(l);
    f->base.p.counters->links++;
    wio_tcp_make_ready(l);
    return 0;
}

/* ---- death ---- */

void wio_tcp_link_drop_socket(struct tcp_link *l)
{
    struct tcp_iface *f = tcp_of(l);
    unready(l);
    wio_tcp_rx_drop(l);
    wio_list_remove(&l->onode);
    wio_list_remove(&l->probe);
    wio_list_remove(&l->hnode);
    wio_list_remove(&l->owes);
    l->pending = false;
    if (l->fd < 0)
        return;
    wio_tls_free(l->tls);
    l->tls = NULL;
    l->torn_at = 0;
    l->word_due = false;
    l->renamed = 0;
    wio_os_epoll_close(l->fd, f->epoll, f->svc_epoll);
    l->fd = -1;
    l->svc = l->warmth = 0;
    f->base.p.counters->links--;
}

void wio_tcp_link_over(struct tcp_link *l, int err, const char *fmt, ...)
{
    if (l->state == TCP_CLOSED)
        return;
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    size_t n = strlen(text) + 1;
    l->text = wio_os_alloc(n);
    if (l->text != NULL)
        memcpy(l->text, text, n);
    l->err = err;
    l->mend = 0;
    wio_tcp_kept_drop(l);
    wio_tcp_dial_cancel(l);
    wio_tcp_dial_free(l);
    wio_tcp_link_drop_socket(l);
    wio_tcp_place_give(l);
    wio_tcp_watch(&l->ep, false);
    if (err != 0)
        wio_info(tcp_of(l)->base.p.log, WIO_C_TCP, "%s", text);
    wio_tcp_set_state(l, TCP_CLOSED);
    unlist(l);
    wio_tcp_link_news(l);
}

void wio_tcp_link_lost(struct tcp_link *l, int oserr)
{
    char name[96];
    if (l->state == TCP_CONFIRM && l->mend != 0) {
        wio_tcp_mend_retry(l);
        return;
    }
    if (l->state == TCP_CONFIRM) { /* the peer gave up its dial: it was never a link */
        wio_tcp_link_drop_socket(l);
        wio_tcp_place_give(l);
        if (l->known)
            wio_tcp_dial_later(l, 0);
        else
            wio_tcp_link_over(l, 0, "dial of %s given up by it",
                              wio_tcp_link_name(l, name, sizeof name));
        return;
    }
    const char *why = oserr == 0             ? "closed without a goodbye"
                      : oserr == -ECONNRESET ? "reset by peer"
                      : oserr == -EPIPE      ? "closed by peer"
                                             : strerror(-oserr);
    if (wio_tcp_mendable(l))
        wio_tcp_mend(l, why, oserr == -ETIMEDOUT ? 0 : wio_os_now_ns(), true);
    else if (l->state == TCP_LAST && !wio_tcp_tx_owing(l)) /* the peer has gone first */
        wio_tcp_link_over(l, 0, "%s", wio_bye_reason_name(l->bye_reason));
    else
        wio_tcp_link_over(l, WAITIO_ERR_PEER, "connection to %s lost: %s",
                          wio_tcp_link_name(l, name, sizeof name), why);
}

void wio_tcp_link_silent(struct tcp_link *l, int64_t since)
{
    if (l->state == TCP_CONFIRM)
        wio_tcp_mend_retry(l);
    else
        wio_tcp_mend(l, "no acknowledgement from its host", since, true);
}

void wio_tcp_link_violation(struct tcp_link *l, int err, const char *why)
{
    struct tcp_iface *f = tcp_of(l);
    char name[96];
    wio_tcp_link_name(l, name, sizeof name);
    wio_warn(f->base.p.log, WIO_C_TCP, "link to %s: %s; closing it", name, why);
    f->base.p.counters->strangers += l->state == TCP_CONFIRM;
    enum wio_bye_reason reason = wio_bye_for(err);
    wio_tcp_tx_last_words(l, reason);
    l->bye_reason = (uint8_t)reason;
    wio_tcp_link_over(l, err, "link to %s closed: %s", name, why);
}

void wio_tcp_link_free(struct tcp_link *l)
{
    struct tcp_iface *f = tcp_of(l);
    wio_tcp_dial_cancel(l);
    wio_tcp_dial_free(l);
    wio_tcp_link_drop_socket(l);
    wio_tcp_place_give(l);
    wio_tcp_kept_drop(l);
    wio_tcp_tx_drop(l);
    wio_tcp_watch(&l->ep, false);
    unlist(l);
    struct wio_list *nodes[] = {&l->all, &l->group, &l->news};
    for (size_t i = 0; i < WIO_ARRAY_LEN(nodes); i++)
        wio_list_remove(nodes[i]);
    f->base.p.counters->peer_bytes -= sizeof *l;
    f->nlanes -= l->ep.lane != 0;
    wio_os_free(l->text);
    wio_os_free(l);
}
