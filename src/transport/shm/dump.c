/* SPDX-License-Identifier: BSD-3-Clause */
/** @file dump.c  State of shared-memory links in words, for stuck waits and tests. */
#include "transport/shm/shm.h"

static void dump_link(const struct shm_link *l, struct wio_strbuf *out)
{
    char name[64];
    wio_strbuf_add(out, "shm: %s: %s, sends by %s, receives by %s",
                   wio_shm_peer_name(shm_of(l), l->ep.peer, name, sizeof name),
                   wio_shm_states[l->state].name, l->out_ring ? "ring" : "inbox",
                   l->in_ring ? "ring" : "inbox");
    if (l->queued > 0)
        wio_strbuf_add(out, ", %zu bytes wait for room%s", l->queued,
                       l->cur != NULL ? " (a message is half written)" : "");
    if (l->body)
        wio_strbuf_add(out, ", %u bytes of a message are still to come", l->rx_left);
    if (l->eof)
        wio_strbuf_add(out, ", the process has ended");
    if (l->state >= SHM_READY && l->peer.head != NULL)
        wio_strbuf_add(out, ", it %s",
                       atomic_load_explicit(&l->peer.head->sleeping, memory_order_relaxed) != 0
                           ? "sleeps"
                           : "is awake or computing");
    wio_strbuf_add(out, "\n");
}

void wio_shm_dump(struct wio_iface *iface, struct wio_ep *ep, struct wio_strbuf *out)
{
    struct shm_iface *f = shm_iface_of(iface);
    if (ep != NULL) {
        dump_link(shm_link_of(ep), out);
        return;
    }
    wio_strbuf_add(out, "shm: inbox %zu bytes, %u rings read, %u written, %s\n",
                   f->inbox.head != NULL ? f->inbox.bytes : 0, f->rings_in, f->rings_out,
                   f->membarrier ? "membarrier" : "fences");
    WIO_LIST_FOR(it, &f->links)
    dump_link(WIO_CONTAINER(it, struct shm_link, all), out);
}
