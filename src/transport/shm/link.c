/* SPDX-License-Identifier: BSD-3-Clause */
/** @file link.c  One link per peer: the state table and the one function that changes states, names
 * in the inbox, and the ways a link ends. */
#include "transport/shm/shm.h"

#define TO(s) (1u << SHM_##s)

const struct wio_state_row wio_shm_states[SHM_STATES] = {
    [SHM_NEW] = {"NEW", TO(WAIT) | TO(DIAL) | TO(SETUP) | TO(OVER), WIO_EP_CONNECTING, "made"},
    [SHM_WAIT] = {"WAIT", TO(DIAL) | TO(SETUP) | TO(OVER), WIO_EP_CONNECTING,
                  "will dial after a pause, or when the older link is closed"},
    [SHM_DIAL] = {"DIAL", TO(WAIT) | TO(SETUP) | TO(OVER), WIO_EP_CONNECTING,
                  "our handshake is under way"},
    [SHM_SETUP] = {"SETUP", TO(WAIT) | TO(READY) | TO(OVER), WIO_EP_CONNECTING,
                   "proven, segments are being exchanged"},
    [SHM_READY] = {"READY", TO(DRAIN) | TO(OVER), WIO_EP_READY, "open both ways"},
    [SHM_DRAIN] = {"DRAIN", TO(HALF) | TO(OVER), WIO_EP_CLOSING,
                   "queued output goes first, then our goodbye"},
    [SHM_HALF] = {"HALF", TO(OVER), WIO_EP_CLOSING, "our goodbye is out, reading until the peer's"},
    [SHM_OVER] = {"OVER", 0, WIO_EP_CLOSED, "closed"},
};

const char *wio_shm_peer_name(const struct shm_iface *f, uint32_t peer, char *buf, size_t n)
{
    const struct wio_table *t = f->base.table;
    uint32_t pb = wio_table_pb_of(t, peer);
    wio_text(buf, n, "PB %u rank %u", (unsigned)pb, (unsigned)(peer - t->pb_base[pb]));
    return buf;
}

/* ---- states ---- */

static struct wio_list *group_of(struct shm_iface *f, enum shm_state s)
{
    switch (wio_shm_states[s].ep) {
    case WIO_EP_CONNECTING:
        return &f->waiting;
    case WIO_EP_READY:
        return &f->ready;
    case WIO_EP_CLOSING:
        return &f->closing;
    default:
        return NULL;
    }
}

static bool making(uint8_t s)
{
    return s == SHM_DIAL || s == SHM_SETUP;
}

void wio_shm_set_state(struct shm_link *l, enum shm_state to)
{
    struct shm_iface *f = shm_of(l);
    const struct wio_state_row *from = &wio_shm_states[l->state];
    bool legal = (from->next & (1u << to)) != 0;
    char name[64];
    wio_log(f->base.p.log, WIO_C_SHM, legal ? WIO_LOG_DEBUG : WIO_LOG_ERROR,
            "link to %s: %s%s -> %s", wio_shm_peer_name(f, l->ep.peer, name, sizeof name),
            legal ? "" : "defect: illegal change ", from->name, wio_shm_states[to].name);
    assert(legal);
    f->nmaking += making((uint8_t)to) - making(l->state);
    l->state = (uint8_t)to;
    l->ep.state = wio_shm_states[to].ep;
    if (l->ep.state == WIO_EP_CONNECTING && l->bye_wanted)
        l->ep.state = WIO_EP_CLOSING; /* closed before it was ready: connect() makes a new one */
    wio_list_remove(&l->group);
    struct wio_list *group = group_of(f, to);
    if (group != NULL)
        wio_list_push(group, &l->group);
    if (to == SHM_READY) {
        f->base.p.counters->link_opens++;
        f->base.p.counters->links++;
    }
    if (l->ep.state != l->told && l->ep.state >= WIO_EP_READY)
        wio_shm_news(l);
}

void wio_shm_news(struct shm_link *l)
{
    if (!wio_list_linked(&l->news))
        wio_list_push(&shm_of(l)->news, &l->news);
}

/* ---- links by peer ---- */

struct shm_link *wio_shm_link_find(struct shm_iface *f, uint32_t peer)
{
    struct shm_link *l = f->hash[peer % SHM_HASH];
    while (l != NULL && l->ep.peer != peer)
        l = l->hash_next;
    return l;
}

struct shm_link *wio_shm_link_new(struct shm_iface *f, uint32_t peer)
{
    struct shm_link *l = wio_os_alloc(sizeof *l);
    if (l == NULL)
        return NULL;
    l->ep.iface = &f->base;
    l->ep.peer = peer;
    l->src.what = SHM_IS_LINK;
    l->fd = l->rec_fd = l->out_fd = -1;
    l->timer = INT64_MAX;
    l->owner_in = UINT32_MAX;
    wio_list_init(&l->small);
    wio_list_init(&l->bulk_q);
    wio_list_push(&f->links, &l->all);
    wio_list_push(&f->waiting, &l->group);
    l->hash_next = f->hash[peer % SHM_HASH];
    f->hash[peer % SHM_HASH] = l;
    f->base.p.counters->peer_bytes += sizeof *l;
    return l;
}

static void unhash(struct shm_link *l)
{
    struct shm_link **at = &shm_of(l)->hash[l->ep.peer % SHM_HASH];
    while (*at != NULL && *at != l)
        at = &(*at)->hash_next;
    if (*at == l)
        *at = l->hash_next;
}

/* Free what a closed link does not need any more. */
static void strip(struct shm_link *l)
{
    struct shm_iface *f = shm_of(l);
    wio_shm_fetch_forbid(l);
    if (l->conn != NULL)
        wio_shm_conn_close(l->conn);
    wio_os_epoll_close(l->fd, f->epoll, f->svc_epoll);
    wio_os_close(l->rec_fd);
    wio_os_close(l->out_fd);
    l->fd = l->rec_fd = l->out_fd = -1;
    wio_list_remove(&l->rnode);
    wio_list_remove(&l->onode);
    l->pending = false;
    f->nwatched -= l->watched;
    l->watched = false;
    f->nleaving -= l->leaving;
    l->leaving = false;
    f->ndead -= l->eof && l->state >= SHM_READY && l->state < SHM_OVER;
    wio_shm_writer_free(f, l->w);
    wio_shm_reader_free(f, l->r);
    l->w = NULL;
    l->r = NULL;
    if (l->peer.head != NULL)
        wio_os_unmap(l->peer.head, l->peer.bytes);
    l->peer.head = NULL;
    if (l->owner_in != UINT32_MAX) {
        uint32_t slot = shm_owner_slot(l->owner_in);
        f->owner[slot] = NULL;
        f->owner_gen[slot]++;
        l->owner_in = UINT32_MAX;
    }
}

void wio_shm_link_free(struct shm_link *l)
{
    struct shm_iface *f = shm_of(l);
    if (l->state >= SHM_READY && l->state < SHM_OVER)
        f->base.p.counters->links--;
    f->nmaking -= making(l->state);
    strip(l);
    unhash(l);
    wio_list_remove(&l->news);
    wio_list_remove(&l->group);
    wio_list_remove(&l->all);
    f->base.p.counters->peer_bytes -= sizeof *l;
    wio_os_free(l->text);
    wio_os_free(l);
}

/* ---- the end ---- */

void wio_shm_link_over(struct shm_link *l, int err, const char *fmt, ...)
{
    struct shm_iface *f = shm_of(l);
    if (l->state == SHM_OVER)
        return;
    char text[480], name[64];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (l->state >= SHM_READY)
        f->base.p.counters->links--;
    l->err = err;
    size_t n = strlen(text) + 1;
    l->text = wio_os_alloc(n);
    if (l->text != NULL)
        memcpy(l->text, text, n);
    wio_debug(f->base.p.log, WIO_C_SHM, "link to %s ends: %s",
              wio_shm_peer_name(f, l->ep.peer, name, sizeof name), text);
    if (err == WAITIO_ERR_NOROUTE)
        wio_shm_bar(f, l->ep.peer, text);
    strip(l);
    wio_shm_set_state(l, SHM_OVER);
}

void wio_shm_violation(struct shm_link *l, const char *what)
{
    struct shm_iface *f = shm_of(l);
    char name[64];
    wio_error(f->base.p.log, WIO_C_SHM, "%s broke the protocol in shared memory: %s",
              wio_shm_peer_name(f, l->ep.peer, name, sizeof name), what);
    wio_shm_last_words(l, WIO_BYE_ERROR);
    wio_shm_link_over(l, WAITIO_ERR_PROTOCOL, "%s broke the protocol in shared memory: %s", name,
                      what);
}

void wio_shm_maybe_over(struct shm_link *l)
{
    if (l->bye_sent && l->bye_heard)
        wio_shm_link_over(l, 0, "%s", wio_bye_reason_name(l->bye_reason));
}

void wio_shm_link_eof(struct shm_link *l)
{
    struct shm_iface *f = shm_of(l);
    if (l->eof || l->state == SHM_OVER)
        return;
    char name[64];
    l->eof = true;
    (void)wio_os_epoll_ctl(f->epoll, EPOLL_CTL_DEL, l->fd, 0, NULL);
    if (l->state < SHM_READY) {
        bool again = l->dialled && l->state == SHM_SETUP;
        wio_shm_link_over(l, WAITIO_ERR_PEER, "%s ended while %s was being connected",
                          wio_shm_peer_name(f, l->ep.peer, name, sizeof name),
                          again ? "shared memory" : "it");
        return;
    }
    f->ndead++;
    if (f->inbox.head != NULL)
        l->eof_pos = atomic_load_explicit(&f->inbox.head->tail, memory_order_acquire);
}

/* Is there more to read up to this position? The peer named it. */
static bool cells_left(const struct shm_iface *f, uint32_t end)
{
    int32_t left = (int32_t)(end - f->inbox_pos);
    if (f->inbox.head == NULL || left <= 0 || (uint32_t)left > f->inbox.geo.cells)
        return false;
    const struct shm_cell *c = shm_inbox_cell(&f->inbox, f->inbox_pos);
    return atomic_load_explicit(&c->word, memory_order_acquire) !=
           shm_word(f->inbox_pos, 0, SHM_FREE);
}

int wio_shm_settle_dead(struct shm_link *l)
{
    struct shm_iface *f = shm_of(l);
    char name[64];
    if (!l->eof || l->state == SHM_OVER)
        return 0;
    if (cells_left(f, l->eof_pos) || (l->in_ring && l->r != NULL && wio_shm_rx_ring_ready(l)))
        return 0; /* not everything is read: a full budget, or p2p said stop */
    bool owing = !wio_shm_tx_idle(l);
    if (l->bye_heard && !owing)
        wio_shm_link_over(l, 0, "%s", wio_bye_reason_name(l->bye_reason));
    else
        wio_shm_link_over(l, WAITIO_ERR_PEER, "connection to %s lost: the process has ended",
                          wio_shm_peer_name(f, l->ep.peer, name, sizeof name));
    return 1;
}

/* ---- peers without shared memory ---- */

const struct shm_barred *wio_shm_barred(const struct shm_iface *f, uint32_t peer)
{
    WIO_LIST_FOR(it, &f->barred)
    {
        const struct shm_barred *b = WIO_CONTAINER(it, struct shm_barred, node);
        if (b->peer == peer)
            return b;
    }
    return NULL;
}

void wio_shm_bar(struct shm_iface *f, uint32_t peer, const char *why)
{
    char name[64];
    if (wio_shm_barred(f, peer) != NULL)
        return;
    wio_info(f->base.p.log, WIO_C_SHM, "no shared memory with %s: %s",
             wio_shm_peer_name(f, peer, name, sizeof name), why);
    struct shm_barred *b = wio_os_alloc(sizeof *b);
    if (b == NULL)
        return;
    b->peer = peer;
    wio_text(b->why, sizeof b->why, "%s", why);
    wio_list_push(&f->barred, &b->node);
}
