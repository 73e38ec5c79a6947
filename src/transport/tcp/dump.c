/* SPDX-License-Identifier: BSD-3-Clause */
/** @file dump.c  Human-readable state, for reports of stuck waits. */
#include "tcp.h"

static int length(const struct wio_list *q)
{
    int n = 0;
    WIO_LIST_FOR(it, q)
    n++;
    return n;
}

static void dump_dial(const struct tcp_dial *d, struct wio_strbuf *out)
{
    int64_t spent = d->paused ? d->began : wio_os_now_ns() - d->began;
    wio_strbuf_add(out, ", dialling for %.1f s%s%s", (double)spent * 1e-9,
                   d->conn == NULL       ? " (pause)"
                   : d->conn->connecting ? " (connecting)"
                                         : " (handshake)",
                   d->busy > 0 ? ", peer said busy" : "");
    if (d->tried.len > 0)
        wio_strbuf_add(out, ", tried %s", d->tried.text);
}

static void dump_break(const struct tcp_link *l, struct wio_strbuf *out)
{
    if (l->mend != 0)
        wio_strbuf_add(out, " (%s, broken for %.1f s)", wio_tcp_states[l->mend].name,
                       (double)(wio_os_now_ns() - l->broke_at) * 1e-9);
    if (l->kept.first != NULL)
        wio_strbuf_add(out, ", copies of %u bytes not acknowledged%s", l->kept.bytes,
                       l->kept.full ? " (waiting)" : "");
}

static void dump_link(const struct tcp_link *l, struct wio_strbuf *out)
{
    char name[96];
    wio_strbuf_add(out, "tcp link to %s: %s", wio_tcp_link_name(l, name, sizeof name),
                   wio_tcp_states[l->state].name);
    dump_break(l, out);
    if (l->dial != NULL)
        dump_dial(l->dial, out);
    if (l->state == TCP_WAIT && !l->placed)
        wio_strbuf_add(out, ", no place (WAITIO_MAX_CONNECTIONS)");
    wio_strbuf_add(out,
                   ", sent %u (acknowledged %u), received %u, queued %zu bytes in %d messages%s",
                   l->tx_seq, l->tx_acked, l->rx_seq,
                   l->queued + (l->batch != NULL ? l->batch->len - l->batch->off : 0),
                   length(&l->small) + length(&l->bulk_q) + (l->cur != NULL),
                   l->can_write || l->fd < 0 ? "" : ", socket full");
    if (l->body)
        wio_strbuf_add(out, ", inside a message (%u bytes missing)", l->rx_left);
    if (l->keep_len > 0)
        wio_strbuf_add(out, ", %u bytes kept back", l->keep_len);
    struct wio_os_tcp_info ti;
    if (l->fd >= 0 && wio_os_tcp_info(l->fd, &ti) == 0)
        wio_strbuf_add(out, ", rtt %u us, unacked %u, not sent %u, last ack %.3f s ago", ti.rtt_us,
                       ti.unacked, ti.notsent, (double)ti.last_ack_ns * 1e-9);
    wio_strbuf_add(out, "%s%s\n", l->text != NULL ? ": " : "", l->text != NULL ? l->text : "");
}

void wio_tcp_dump(struct wio_iface *iface, struct wio_ep *ep, struct wio_strbuf *out)
{
    struct tcp_iface *f = tcp_iface_of(iface);
    if (ep != NULL) {
        dump_link(tcp_link_of(ep), out);
        return;
    }
    wio_strbuf_add(out,
                   "tcp: port %u, %d connections (cap %d), %d connecting, %d closing, %d waiting "
                   "for a place, %u "
                   "refused, %d unauthenticated inbound, %d with output%s\n",
                   f->port, f->nopen, f->cap, length(&f->connecting), length(&f->closing),
                   length(&f->wants), f->ntickets, f->ninbound,
                   length(&f->out) + length(&f->blocked), f->paused ? ", accepting is paused" : "");
    WIO_LIST_FOR(it, &f->links)
    dump_link(WIO_CONTAINER(it, struct tcp_link, all), out);
}
