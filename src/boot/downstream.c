/* SPDX-License-Identifier: BSD-3-Clause */
/** @file downstream.c  A leader's followers: the other processes of this host. */
#include <errno.h>

#include "boot/leader.h"
#include "os/os.h"

#define INTRODUCE_NS INT64_C(10000000000)
#define BIT(type) (1u << (type))

static struct ld_follower *of(struct wio_bc *c)
{
    return WIO_CONTAINER(c, struct ld_follower, bc);
}

/* ---- what followers say ---- */

static int down_opened(struct wio_bc *c)
{
    c->allowed = BIT(WIO_BOOT_HOSTS) | BIT(WIO_BOOT_REG) | BIT(WIO_BOOT_QUERY) | BIT(WIO_BOOT_ACK);
    return 0;
}

static int on_host(struct ld_follower *f, const uint8_t *p, size_t n)
{
    struct wio_tab_host hosts[WIO_BOOT_HOSTS_PER_MSG];
    uint32_t first, count;
    int rc = wio_boot_get_hosts(p, n, &first, hosts, &count);
    if (rc == 0 && (first != 0 || count != 1 || f->have_host))
        rc = wio_fail(WAITIO_ERR_PROTOCOL, "a follower has one address list");
    if (rc == 0) {
        f->host = hosts[0];
        f->have_host = true;
    }
    return rc;
}

static void send_progress(struct ld_follower *f)
{
    uint8_t out[WIO_BOOT_PROGRESS_MAX];
    const struct wio_joiner *j = f->l->j;
    struct wio_boot_progress m = {
        0, 0, ""}; /* no count expected: the text is our problem, not the service's list */
    if (j->have_progress)
        m = j->progress;
    else
        wio_text(m.missing, sizeof m.missing, "%s",
                 j->note[0] != '\0' ? j->note : "no answer from the rendezvous yet");
    wio_bc_send(&f->bc, WIO_BOOT_PROGRESS, out, wio_boot_put_progress(out, &m));
}

static int on_reg(struct ld_follower *f, const uint8_t *p, size_t n)
{
    uint32_t count;
    struct wio_boot_reg reg;
    int rc = wio_boot_get_regs(p, n, &count);
    if (rc != 0)
        return rc;
    if (count != 1 || !f->have_host || f->m != NULL)
        return wio_fail(WAITIO_ERR_PROTOCOL, "a follower registers once, itself");
    wio_boot_reg_at(p, 0, &reg);
    if (f->l->have_table)
        return wio_ld_down_late(f, &reg);
    f->m = wio_ld_add_member(f->l, &reg, &f->host, f);
    return f->m != NULL ? 0 : wio_fail(WAITIO_ERR_NOMEM, "follower");
}

static int down_frame(struct wio_bc *c, enum wio_boot_type type, const uint8_t *p, size_t n)
{
    struct ld_follower *f = of(c);
    switch (type) {
    case WIO_BOOT_HOSTS:
        return on_host(f, p, n);
    case WIO_BOOT_REG:
        return on_reg(f, p, n);
    case WIO_BOOT_QUERY:
        wio_ld_up_ask(f->l);
        send_progress(f);
        return 0;
    case WIO_BOOT_ACK:
        return wio_ld_down_receipt(f);
    default:
        return wio_fail(WAITIO_ERR_PROTOCOL, "message of type %d is not for leaders", (int)type);
    }
}

static const struct wio_bc_upcalls down_calls = {.frame = down_frame, .opened = down_opened};

/* ---- connections ---- */

static void drop(struct ld_follower *f)
{
    struct leader *l = f->l;
    char note[96];
    if (f->dead)
        return;
    f->dead = true;
    if (f->m != NULL) {
        wio_debug(l->j->log, WIO_C_BOOT, "PB %u rank %u (pid %u) left while joining: %s",
                  f->m->reg.pbid, f->m->reg.rank, f->m->reg.pid, f->bc.text);
        if (!l->have_table)
            wio_ld_up_leave(l, f->m);
        wio_list_remove(&f->m->node);
        wio_os_free(f->m);
        f->m = NULL;
    } else if (wio_auth_is_final(f->bc.error)) {
        wio_text(l->j->refused, sizeof l->j->refused, "refused another process of this host: %s",
                 f->bc.text);
        if (wio_log_gate(&l->strangers, wio_os_now_ns(), note, sizeof note))
            wio_warn(l->j->log, WIO_C_BOOT, "%s%s", l->j->refused, note);
    }
    wio_bc_close(&f->bc);
    wio_list_remove(&f->bc.node);
    wio_list_push(&l->dead, &f->bc.node);
    l->nfollowers--;
}

static void admit(struct leader *l, int fd)
{
    uid_t uid;
    struct ld_follower *f;
    if (wio_os_peer_uid(fd, &uid) != 0 || uid != wio_os_uid() ||
        (f = wio_os_alloc(sizeof *f)) == NULL) {
        wio_os_close(fd);
        return;
    }
    if (wio_bc_start(&f->bc, fd, WIO_AUTH_ACCEPT, true, false, l->j->p->secret, &down_calls, f) !=
        0) {
        wio_os_free(f);
        return;
    }
    f->bc.kind = LD_FOLLOWER;
    f->l = l;
    f->since_ns = wio_os_now_ns();
    wio_list_push(&l->followers, &f->bc.node);
    l->nfollowers++;
    if (wio_bc_arm(&f->bc, l->epfd) != 0)
        drop(f);
}

void wio_ld_down_accept(struct leader *l)
{
    for (int i = 0; i < 64; i++) {
        struct sockaddr_storage sa;
        socklen_t len = sizeof sa;
        int fd = wio_os_accept(l->listener, &sa, &len);
        if (fd >= 0) {
            admit(l, fd);
            continue;
        }
        if (fd == -EMFILE || fd == -ENFILE)
            wio_ld_fail(
                l, WAITIO_ERR_LIMIT,
                "descriptor limit of %d is too low to lead the processes of this host: %u are "
                "connected, one descriptor each is needed (raise ulimit -n)",
                wio_os_fd_limit(), l->nfollowers);
        return;
    }
}

void wio_ld_down_event(struct ld_follower *f, uint32_t events)
{
    if (f->dead)
        return;
    if (!wio_bc_event(&f->bc, events) || wio_bc_arm(&f->bc, f->l->epfd) != 0)
        drop(f);
}

void wio_ld_down_sweep(struct leader *l, int64_t now)
{
    WIO_LIST_FOR_SAFE(it, next, &l->followers)
    {
        struct ld_follower *f = WIO_CONTAINER(it, struct ld_follower, bc.node);
        if (f->m == NULL && now - f->since_ns > INTRODUCE_NS)
            drop(f);
    }
    for (struct wio_list *it; (it = wio_list_pop(&l->dead)) != NULL;)
        wio_os_free(WIO_CONTAINER(it, struct ld_follower, bc.node));
}

/* ---- messages to followers ---- */

void wio_ld_down_progress(struct leader *l)
{
    WIO_LIST_FOR(it, &l->followers)
    {
        struct ld_follower *f = WIO_CONTAINER(it, struct ld_follower, bc.node);
        if (f->m == NULL)
            continue;
        send_progress(f);
        (void)wio_bc_arm(&f->bc, l->epfd);
    }
}

void wio_ld_down_refuse(struct leader *l, struct ld_follower *f, const struct wio_boot_refuse *m)
{
    uint8_t out[WIO_BOOT_REFUSE_MAX];
    size_t n = wio_boot_put_refuse(out, m);
    WIO_LIST_FOR(it, &l->followers)
    {
        struct ld_follower *to = WIO_CONTAINER(it, struct ld_follower, bc.node);
        if (f != NULL && to != f)
            continue;
        wio_bc_send(&to->bc, WIO_BOOT_REFUSE, out, n);
        (void)wio_bc_arm(&to->bc, l->epfd);
        if (f != NULL && to->m != NULL) { /* no member: no table, no registration */
            wio_list_remove(&to->m->node);
            wio_os_free(to->m);
            to->m = NULL;
        } else if (to->m != NULL) {
            to->m->sent = false; /* there is nothing to withdraw */
        }
    }
}

void wio_ld_down_close(struct leader *l)
{
    WIO_LIST_FOR_SAFE(it, next, &l->followers)
    {
        struct ld_follower *f = WIO_CONTAINER(it, struct ld_follower, bc.node);
        if (f->m != NULL) {
            wio_list_remove(&f->m->node);
            wio_os_free(f->m);
            f->m = NULL;
        }
        drop(f);
    }
    wio_ld_down_sweep(l, wio_os_now_ns());
}
