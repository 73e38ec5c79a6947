/* SPDX-License-Identifier: BSD-3-Clause */
/** @file full.c  File systems that are full or broken: waiting, the ways it ends; and space that is
 * given back. */
#include "transport/file/file.h"

#include <stdlib.h>

static void broken(struct file_link *l, int oserr, uint64_t bytes)
{
    char name[64], path[FILE_PATH_BYTES];
    wio_file_link_over(l, WAITIO_ERR_SYSTEM,
                       "cannot write %" PRIu64 " bytes for messages to %s in %s: %s", bytes,
                       wio_file_peer_name(file_of(l), l->ep.peer, name, sizeof name),
                       wio_file_seg_path(l, path, sizeof path), strerror(-oserr));
}

static void waited_enough(struct file_link *l, int oserr, uint64_t bytes)
{
    const struct file_iface *f = file_of(l);
    char name[64], path[FILE_PATH_BYTES];
    wio_file_link_over(l, WAITIO_ERR_LIMIT,
                       "no space for %" PRIu64 " bytes of messages to %s (%s, "
                       "WAITIO_FILE_FULL_WAIT=%g s is over): make room, or have "
                       "WAITIO_SCRATCH_DIR name another file system; file %s",
                       bytes, wio_file_peer_name(f, l->ep.peer, name, sizeof name),
                       strerror(-oserr), f->base.p.cfg->file_full_wait,
                       wio_file_seg_path(l, path, sizeof path));
}

static void say_full(struct file_link *l, int oserr, uint64_t bytes, int64_t now)
{
    struct file_iface *f = file_of(l);
    char name[64], note[96], path[FILE_PATH_BYTES];
    if (wio_log_gate(&f->disk, now, note, sizeof note))
        wio_warn(f->base.p.log, WIO_C_FILE,
                 "no space for %" PRIu64 " bytes in %s (%s): messages to %s wait until there is "
                 "some, for at most WAITIO_FILE_FULL_WAIT=%g s%s",
                 bytes, wio_file_seg_path(l, path, sizeof path), strerror(-oserr),
                 wio_file_peer_name(f, l->ep.peer, name, sizeof name),
                 f->base.p.cfg->file_full_wait, note);
}

/* Nobody can begin a link with what we have written of its handshake. */
static void take_away(struct file_link *l)
{
    if (l->state == FILE_SHAKE && l->out.fd >= 0)
        wio_file_seg_unlink(l, true);
}

/* Of all links: who is idle helps who is not. @return whether there was some */
static bool punch_all(struct file_iface *f)
{
    bool any = false;
    WIO_LIST_FOR(it, &f->links)
    {
        struct file_link *l = WIO_CONTAINER(it, struct file_link, all);
        if (l->out.fd < 0)
            continue;
        (void)wio_file_ack_read(l);
        any = wio_file_seg_punch(l) || any;
    }
    return any;
}

bool wio_file_full(struct file_link *l, int oserr, uint64_t bytes)
{
    struct file_iface *f = file_of(l);
    int64_t now = wio_os_now_ns();
    if (l->out.fd >= 0 && wio_file_sight_lost(l, true, oserr)) {
        l->timer = now + FILE_FULL_NS; /* what it has written is still read */
        return true;
    }
    if (!file_is_full(oserr)) {
        take_away(l);
        broken(l, oserr, bytes);
        return false;
    }
    bool some = punch_all(f);
    if (!l->full || some)
        l->full_ns = now;
    if (!some && (double)(now - l->full_ns) >= f->base.p.cfg->file_full_wait * 1e9) {
        take_away(l);
        waited_enough(l, oserr, bytes);
        return false;
    }
    if (!l->full && !some)
        say_full(l, oserr, bytes, now);
    l->full = l->full || !some;
    l->timer = now + (some ? 0 : FILE_FULL_NS);
    file_timer(f, l->timer);
    return true;
}

void wio_file_full_ended(struct file_link *l)
{
    char name[64];
    l->full = false;
    wio_info(file_of(l)->base.p.log, WIO_C_FILE, "there is space again for messages to %s",
             wio_file_peer_name(file_of(l), l->ep.peer, name, sizeof name));
}

/* Nothing has been written for long, and the peer has read all. */
static void punch_idle(struct file_link *l)
{
    bool idle = l->out_pos == l->out_idle && l->out_pos == l->out_acked;
    l->out_idle = l->out_pos;
    if (!idle)
        l->idle = 0;
    else if (l->idle < FILE_IDLE_BEATS && ++l->idle == FILE_IDLE_BEATS)
        (void)wio_file_seg_punch(l);
}

/* The peer ends a link in order by its goodbye, which is read before this is seen twice. */
static void look_for_removal(struct file_link *l)
{
    if (l->gone)
        return;
    l->dropped = wio_file_seg_removed(l) ? l->dropped + 1 : 0;
    if (l->dropped >= 2)
        wio_file_gone(l);
}

void wio_file_tidy(struct file_link *l)
{
    if (l->state < FILE_SHAKE || l->state == FILE_OVER)
        return;
    look_for_removal(l);
    if (l->leave_due)
        wio_file_tell_leaving(l);
    wio_file_ack_tell(l, true);
    if (l->state != FILE_OVER)
        wio_file_ack_echo(l);
    if (l->state == FILE_OVER)
        return;
    if (l->out_acked != l->out_pos)
        (void)wio_file_ack_read(l);
    punch_idle(l);
}
