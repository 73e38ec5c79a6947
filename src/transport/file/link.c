/* SPDX-License-Identifier: BSD-3-Clause */
/** @file link.c  One link per peer: the state table and the one function that changes states, and
 * the ways a link ends. */
#include "transport/file/file.h"

#define TO(s) (1u << FILE_##s)

const struct wio_state_row wio_file_states[FILE_STATES] = {
    [FILE_NEW] = {"NEW", TO(WAIT) | TO(ASK) | TO(SHAKE) | TO(OVER), WIO_EP_CONNECTING, "made"},
    [FILE_WAIT] = {"WAIT", TO(ASK) | TO(SHAKE) | TO(OVER), WIO_EP_CONNECTING,
                   "begins after a pause, or when the older link is closed"},
    [FILE_ASK] = {"ASK", TO(WAIT) | TO(SHAKE) | TO(OVER), WIO_EP_CONNECTING,
                  "our knock lies in the folder of the peer, which begins"},
    [FILE_SHAKE] = {"SHAKE", TO(READY) | TO(OVER), WIO_EP_CONNECTING,
                    "our stream lies there, handshake under way"},
    [FILE_READY] = {"READY", TO(DRAIN) | TO(OVER), WIO_EP_READY, "open both ways"},
    [FILE_DRAIN] = {"DRAIN", TO(HALF) | TO(OVER), WIO_EP_CLOSING,
                    "queued output goes first, then our goodbye"},
    [FILE_HALF] = {"HALF", TO(OVER), WIO_EP_CLOSING,
                   "our goodbye is written, reading until the peer's"},
    [FILE_OVER] = {"OVER", 0, WIO_EP_CLOSED, "closed"},
};

const char *wio_file_peer_name(const struct file_iface *f, uint32_t peer, char *buf, size_t n)
{
    const struct wio_table *t = f->base.table;
    uint32_t pb = wio_table_pb_of(t, peer);
    wio_text(buf, n, "PB %u rank %u", (unsigned)pb, (unsigned)(peer - t->pb_base[pb]));
    return buf;
}

/* ---- states ---- */

static struct wio_list *group_of(struct file_iface *f, enum file_state s)
{
    switch (wio_file_states[s].ep) {
    case WIO_EP_CONNECTING:
        return &f->making;
    case WIO_EP_READY:
        return &f->ready;
    case WIO_EP_CLOSING:
        return &f->closing;
    default:
        return NULL;
    }
}

void wio_file_set_state(struct file_link *l, enum file_state to)
{
    struct file_iface *f = file_of(l);
    const struct wio_state_row *from = &wio_file_states[l->state];
    bool legal = (from->next & (1u << to)) != 0;
    char name[64];
    wio_log(f->base.p.log, WIO_C_FILE, legal ? WIO_LOG_DEBUG : WIO_LOG_ERROR,
            "link to %s: %s%s -> %s", wio_file_peer_name(f, l->ep.peer, name, sizeof name),
            legal ? "" : "defect: illegal change ", from->name, wio_file_states[to].name);
    assert(legal);
    l->state = (uint8_t)to;
    l->ep.state = wio_file_states[to].ep;
    if (l->ep.state == WIO_EP_CONNECTING && l->bye_wanted)
        l->ep.state = WIO_EP_CLOSING; /* closed before it was ready: connect() makes a new one */
    wio_list_remove(&l->group);
    l->busy = false;
    struct wio_list *group = group_of(f, to);
    if (group != NULL)
        wio_list_push(group, &l->group);
    if (to == FILE_READY) {
        f->base.p.counters->link_opens++;
        f->base.p.counters->links++;
    }
    if (l->ep.state != l->told && l->ep.state >= WIO_EP_READY)
        wio_file_news(l);
}

void wio_file_stir(struct file_link *l)
{
    l->quiet = 0;
    if (l->busy || l->state != FILE_READY)
        return;
    l->busy = true;
    wio_list_remove(&l->group);
    wio_list_push(&file_of(l)->busy, &l->group);
}

void wio_file_still(struct file_link *l)
{
    if (++l->quiet < FILE_QUIET_LOOKS)
        return;
    l->quiet = FILE_QUIET_LOOKS;
    if (!l->busy)
        return;
    l->busy = false;
    wio_list_remove(&l->group);
    wio_list_push(&file_of(l)->ready, &l->group);
}

void wio_file_news(struct file_link *l)
{
    if (!wio_list_linked(&l->news))
        wio_list_push(&file_of(l)->news, &l->news);
}

/* ---- links by peer: the newest first ---- */

struct file_link *wio_file_link_find(struct file_iface *f, uint32_t peer)
{
    struct file_link *l = f->hash[peer % FILE_HASH];
    while (l != NULL && l->ep.peer != peer)
        l = l->hash_next;
    return l;
}

struct file_link *wio_file_link_new(struct file_iface *f, uint32_t peer)
{
    struct file_link *l = wio_os_alloc(sizeof *l);
    if (l == NULL)
        return NULL;
    const struct wio_table *t = f->base.table;
    l->ep.iface = &f->base;
    l->ep.peer = peer;
    l->token = t->ep[peer].token;
    l->weak = f->weak;
    l->remote =
        f->weak || t->host[t->ep[peer].host].identity != t->host[t->ep[t->me].host].identity;
    l->in.fd = l->out.fd = l->folder = l->alive = -1;
    l->timer = l->check_ns = INT64_MAX;
    l->begun_ns = wio_os_now_ns();
    l->look = FILE_LOOK_BYTES;
    wio_list_init(&l->small);
    wio_list_init(&l->bulk_q);
    wio_list_push(&f->links, &l->all);
    wio_list_push(&f->making, &l->group);
    l->hash_next = f->hash[peer % FILE_HASH];
    f->hash[peer % FILE_HASH] = l;
    f->nremote += l->remote;
    f->base.p.counters->peer_bytes += sizeof *l;
    return l;
}

static void unhash(struct file_link *l)
{
    struct file_link **at = &file_of(l)->hash[l->ep.peer % FILE_HASH];
    while (*at != NULL && *at != l)
        at = &(*at)->hash_next;
    if (*at == l)
        *at = l->hash_next;
}

void wio_file_serve(struct file_link *l, bool watched, bool leaving)
{
    struct file_iface *f = file_of(l);
    bool was = l->watched || l->leaving, is = watched || leaving;
    l->watched = watched;
    l->leaving = leaving;
    if (was == is)
        return;
    f->nwatched += is ? 1 : -1;
    wio_list_remove(&l->wnode);
    if (is)
        wio_list_push(&f->watched, &l->wnode);
}

/* What lies in the peer's folder and is of no use any more. Our stream stays while the peer may
 * read our last words in it: it removes it. On one host it can read it without a name, too, so that
 * nothing is left should it die now. */
static void unlink_ours(struct file_link *l)
{
    struct file_iface *f = file_of(l);
    char name[FILE_NAME_BYTES];
    bool said = l->bye_sent && l->bye_heard && !l->remote;
    wio_file_unknock(l);
    if (l->leave_made) {
        wio_file_name_leave(name, sizeof name, f->base.table->me, f->token, l->nonce);
        (void)wio_os_unlink_at(l->folder, name, false);
    }
    if ((l->gone || said) && l->out.fd >= 0)
        wio_file_seg_unlink(l, true);
}

static void strip(struct file_link *l)
{
    struct file_iface *f = file_of(l);
    bool in = l->in.fd >= 0;
    unlink_ours(l);
    wio_file_seg_close(f, l); /* first: some systems keep a file that is open under another name */
    if (in)
        wio_file_seg_unlink(l, false);
    f->ngone -= l->gone;
    l->gone = false;
    wio_file_serve(l, false, false);
    wio_list_remove(&l->onode);
    wio_os_free(l->shake);
    l->shake = NULL;
    f->scan_due = true; /* a stream of the next link may lie there already */
}

void wio_file_link_free(struct file_link *l)
{
    struct file_iface *f = file_of(l);
    if (l->state != FILE_OVER) {
        f->base.p.counters->links -= l->state >= FILE_READY;
        f->ngone += !l->gone; /* nobody reads our stream any more */
        l->gone = true;
        strip(l);
    }
    f->nremote -= l->remote;
    unhash(l);
    wio_file_tx_drop(l);
    wio_list_remove(&l->news);
    wio_list_remove(&l->group);
    wio_list_remove(&l->all);
    f->base.p.counters->peer_bytes -= sizeof *l;
    wio_os_free(l->text);
    wio_os_free(l);
}

/* ---- the end ---- */

void wio_file_link_over(struct file_link *l, int err, const char *fmt, ...)
{
    struct file_iface *f = file_of(l);
    if (l->state == FILE_OVER)
        return;
    char text[1280], name[64];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (l->state >= FILE_READY)
        f->base.p.counters->links--;
    l->err = err;
    size_t n = strlen(text) + 1;
    l->text = wio_os_alloc(n);
    if (l->text != NULL)
        memcpy(l->text, text, n);
    wio_debug(f->base.p.log, WIO_C_FILE, "link to %s ends: %s",
              wio_file_peer_name(f, l->ep.peer, name, sizeof name), text);
    strip(l);
    wio_file_set_state(l, FILE_OVER);
}

void wio_file_violation(struct file_link *l, int err, const char *what)
{
    struct file_iface *f = file_of(l);
    char name[64];
    wio_file_peer_name(f, l->ep.peer, name, sizeof name);
    wio_warn(f->base.p.log, WIO_C_FILE, "link to %s through %s: %s; closing it", name, f->path,
             what);
    wio_file_last_words(l, wio_bye_for(err));
    wio_file_link_over(l, err, "link to %s closed: %s", name, what);
}

void wio_file_maybe_over(struct file_link *l)
{
    if (l->bye_sent && l->bye_heard)
        wio_file_link_over(l, 0, "%s", wio_bye_reason_name(l->bye_reason));
}

int wio_file_settle_gone(struct file_link *l)
{
    struct file_iface *f = file_of(l);
    char name[64];
    if (!l->gone || l->state == FILE_OVER)
        return 0;
    wio_file_sight_renew(l);
    if (l->in.fd >= 0 && wio_file_rx_ready(l) && !wio_file_rx_torn(l))
        return 0; /* not everything is read: p2p said stop */
    wio_file_peer_name(f, l->ep.peer, name, sizeof name);
    if (l->bye_heard && wio_file_tx_idle(l))
        wio_file_link_over(l, 0, "%s", wio_bye_reason_name(l->bye_reason));
    else
        wio_file_link_over(l, WAITIO_ERR_PEER,
                           "link to %s through files lost: the process %s in %s", name,
                           l->dropped > 1 ? "has given up its files for it, and says itself why,"
                                          : "has ended, or gave no sign of life",
                           f->path);
    return 1;
}
