/* SPDX-License-Identifier: BSD-3-Clause */
/** @file dump.c  State of links through files in words, for stuck waits and tests. */
#include "transport/file/file.h"

static void dump_link(const struct file_link *l, struct wio_strbuf *out)
{
    char name[64];
    wio_strbuf_add(out, "file: %s: %s",
                   wio_file_peer_name(file_of(l), l->ep.peer, name, sizeof name),
                   wio_file_states[l->state].name);
    if (l->out.fd >= 0)
        wio_strbuf_add(out, ", %" PRIu64 " bytes written, of which it has read %" PRIu64,
                       l->out_written, l->out_acked);
    if (l->in.fd >= 0)
        wio_strbuf_add(out, ", %" PRIu64 " bytes read", l->in_pos);
    if (l->queued > 0)
        wio_strbuf_add(out, ", %zu bytes wait for room in a file of %" PRIu64 "%s", l->queued,
                       l->out.ring, l->cur != NULL ? " (a message is half written)" : "");
    if (l->body)
        wio_strbuf_add(out, ", %u bytes of a message are still to come", l->rx_total - l->rx_pos);
    if (l->full)
        wio_strbuf_add(out, ", the disk is full");
    if (l->gone)
        wio_strbuf_add(out, ", the process has ended");
    wio_strbuf_add(out, "\n");
}

void wio_file_dump(struct wio_iface *iface, struct wio_ep *ep, struct wio_strbuf *out)
{
    struct file_iface *f = file_iface_of(iface);
    if (ep != NULL) {
        dump_link(file_link_of(ep), out);
        return;
    }
    wio_strbuf_add(out,
                   "file: %s: %" PRIu64 " of %" PRIu64 " bytes in files, %s events, %s locks%s\n",
                   f->path, f->held, f->limit, f->events >= 0 ? "with" : "without",
                   f->has_lock ? "with" : "without", f->weak ? ", close-to-open" : "");
    WIO_LIST_FOR(it, &f->links)
    dump_link(WIO_CONTAINER(it, struct file_link, all), out);
}
