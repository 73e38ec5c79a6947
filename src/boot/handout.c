/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file handout.c
 * The leader gives the table to the processes of its host. It stays until each has acknowledged the
 * table: a process whose connection broke connects again, and the rendezvous may have ended by
 * then.
 */
#include "boot/leader.h"
#include "os/os.h"

static void send_table(struct ld_follower *f)
{
    struct leader *l = f->l;
    uint8_t out[8];
    wio_put64(out, l->map_bytes);
    if (l->hold && l->up.state == WIO_BC_OPEN)
        wio_bc_send_fd(&f->bc, WIO_BOOT_HOLD_FD, NULL, 0, l->up.fd);
    if (l->memfd >= 0)
        wio_bc_send_fd(&f->bc, WIO_BOOT_TABLE_FD, out, sizeof out, l->memfd);
    else
        wio_bc_send_table(&f->bc, l->packed, l->packed_bytes);
    f->served = true;
}

void wio_ld_down_table(struct leader *l)
{
    WIO_LIST_FOR(it, &l->followers)
    {
        struct ld_follower *f = WIO_CONTAINER(it, struct ld_follower, bc.node);
        if (f->m == NULL)
            continue;
        send_table(f);
        l->owed++;
    }
    /* The socket of a stopped follower has room for these few bytes; only a full one delays this
     * for a moment. */
    int64_t deadline = wio_os_now_ns() + INT64_C(2000000000);
    for (bool waiting = true; waiting && wio_os_now_ns() < deadline;) {
        waiting = false;
        WIO_LIST_FOR_SAFE(it, next, &l->followers)
        {
            struct ld_follower *f = WIO_CONTAINER(it, struct ld_follower, bc.node);
            if (wio_bc_flushed(&f->bc))
                continue;
            wio_ld_down_event(f, EPOLLOUT);
            waiting |= !f->dead && !wio_bc_flushed(&f->bc);
        }
        if (waiting)
            wio_os_sleep_ns(WIO_NS_PER_MS);
    }
}

/* Is it a member of the table? */
static bool in_table(const struct leader *l, const struct wio_boot_reg *reg)
{
    struct wio_image im;
    const struct wio_image_head *h = l->map;
    wio_image_layout(&im, l->map, h->npb, h->nhosts);
    if (reg->pbid >= h->npb || reg->rank >= im.pb_size[reg->pbid])
        return false;
    const struct wio_tab_ep *ep = &im.ep[im.pb_base[reg->pbid] + reg->rank];
    return ep->port == reg->port && ep->caps == reg->caps && ep->token == reg->token;
}

int wio_ld_down_late(struct ld_follower *f, const struct wio_boot_reg *reg)
{
    struct leader *l = f->l;
    if (!in_table(l, reg))
        return wio_fail(WAITIO_ERR_JOIN, "the universe this host's leader belongs to is complete");
    wio_info(l->j->log, WIO_C_BOOT, "PB %u rank %u (pid %u) lost the table on the way: once more",
             reg->pbid, reg->rank, reg->pid);
    f->m = wio_ld_add_member(l, reg, &f->host, f);
    if (f->m == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "follower");
    send_table(f);
    return 0;
}

int wio_ld_down_receipt(struct ld_follower *f)
{
    if (!f->served)
        return wio_fail(WAITIO_ERR_PROTOCOL, "a follower confirms a table it was not given");
    f->served = false;
    if (f->l->owed > 0)
        f->l->owed--;
    return 0;
}
