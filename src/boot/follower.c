/* SPDX-License-Identifier: BSD-3-Clause */
/** @file follower.c  A process whose host has a leader: register there, wait for the table. */
#include "boot/join.h"
#include "os/os.h"

#define FINAL_NS INT64_C(300000000)
#define EMBED_NS INT64_C(500000000)
#define BIT(type) (1u << (type))

struct follower {
    struct wio_joiner *j;
    struct wio_bc bc;
    int64_t asked_ns; /* the notice for which the leader was asked */
    int64_t final_ns; /* after the deadline: last wait for the list of who is missing */
    bool have_table;
    void *packed; /* a table that could not be shared */
    bool holds;   /* the leader has passed its connection */
    int result;
    char text[WIO_BOOT_TEXT];
};

static int opened(struct wio_bc *c)
{
    struct follower *f = c->owner;
    uint8_t out[8 + WIO_BOOT_HOST_MAX];
    c->allowed = BIT(WIO_BOOT_REFUSE) | BIT(WIO_BOOT_PROGRESS) | BIT(WIO_BOOT_TABLE_FD) |
                 BIT(WIO_BOOT_TABLE) | BIT(WIO_BOOT_HOLD_FD);
    int rc = wio_bc_send(c, WIO_BOOT_HOSTS, out, wio_boot_put_hosts(out, 0, &f->j->host, 1));
    if (rc == 0)
        rc = wio_bc_send(c, WIO_BOOT_REG, out, wio_boot_put_regs(out, &f->j->reg, 1));
    return rc;
}

static int on_refuse(struct follower *f, const uint8_t *p, size_t n)
{
    struct wio_boot_refuse m;
    int rc = wio_boot_get_refuse(p, n, &m);
    if (rc == 0) {
        f->result = m.code;
        wio_text(f->text, sizeof f->text, "%s", m.text);
    }
    return rc;
}

static int on_progress(struct follower *f, const uint8_t *p, size_t n)
{
    struct wio_boot_progress m;
    int rc = wio_boot_get_progress(p, n, &m);
    if (rc != 0)
        return rc;
    f->j->have_progress = m.expected != 0 || m.joined != 0;
    f->j->note[0] = '\0';
    if (f->j->have_progress)
        f->j->progress = m;
    else
        wio_join_note(f->j, "%.390s", m.missing);
    wio_debug(f->j->log, WIO_C_BOOT, "this host's leader says: %u processes came", m.joined);
    if (f->final_ns != INT64_MAX)
        f->final_ns = wio_os_now_ns() + FINAL_NS / 6; /* a fresher list may be right behind */
    return 0;
}

static int got_table(struct follower *f)
{
    f->have_table = true;
    (void)wio_bc_send(&f->bc, WIO_BOOT_ACK, NULL, 0); /* the leader may go now */
    return 0;
}

static int on_table(struct follower *f, const uint8_t *p, size_t n)
{
    struct wio_os_stat st;
    if (n != 8 || f->bc.rx_fd < 0)
        return wio_fail(WAITIO_ERR_PROTOCOL, "the leader announced a table without its descriptor");
    uint64_t bytes = wio_get64(p);
    if (wio_os_fstat(f->bc.rx_fd, &st) != 0 || bytes == 0 || bytes > WIO_BOOT_IMAGE_MAX ||
        (uint64_t)st.size < bytes)
        return wio_fail(WAITIO_ERR_PROTOCOL, "the leader's table is shorter than announced");
    f->j->map = wio_os_map(f->bc.rx_fd, (size_t)bytes, false);
    if (f->j->map == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "cannot map the address table of %llu bytes",
                        (unsigned long long)bytes);
    f->j->map_bytes = (size_t)bytes;
    f->j->map_shared = true;
    return got_table(f);
}

static void *table_room(struct wio_bc *c, size_t n)
{
    struct follower *f = c->owner;
    return f->packed == NULL ? f->packed = wio_os_alloc(n) : NULL;
}

/* The leader could not share it. */
static int on_copy(struct follower *f, size_t n)
{
    struct wio_image_head h;
    int rc = f->have_table ? wio_fail(WAITIO_ERR_PROTOCOL, "the leader sent two tables")
                           : wio_unpack_head(f->packed, n, &h);
    if (rc != 0)
        return rc;
    void *image = wio_os_alloc((size_t)h.bytes);
    if (image == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for the address table of %llu bytes",
                        (unsigned long long)h.bytes);
    rc = wio_unpack(f->packed, n, &h, image);
    if (rc != 0) {
        wio_os_free(image);
        return rc;
    }
    f->j->map = image;
    f->j->map_bytes = (size_t)h.bytes;
    return got_table(f);
}

/* The leader's connection to a rendezvous that stays. It is only kept open. */
static int on_hold(struct follower *f)
{
    if (f->bc.rx_fd < 0 || f->holds)
        return wio_fail(WAITIO_ERR_PROTOCOL, "the leader passed no connection to hold");
    f->holds = true;
    wio_join_unhold(f->j); /* the table was lost after it: both are sent again */
    f->j->hold_fd = f->bc.rx_fd;
    f->bc.rx_fd = -1;
    return 0;
}

static int frame(struct wio_bc *c, enum wio_boot_type type, const uint8_t *p, size_t n)
{
    struct follower *f = c->owner;
    if (type == WIO_BOOT_REFUSE)
        return on_refuse(f, p, n);
    if (type == WIO_BOOT_PROGRESS)
        return on_progress(f, p, n);
    if (type == WIO_BOOT_HOLD_FD)
        return on_hold(f);
    if (type == WIO_BOOT_TABLE)
        return on_copy(f, n);
    return on_table(f, p, n);
}

/* The connection has ended. @return 1 = elect a new leader, or an error that another leader would
 * not cure */
static int judge(const struct follower *f)
{
    const struct wio_bc *c = &f->bc;
    if (wio_auth_is_final(c->error) || c->error == WAITIO_ERR_PROTOCOL)
        return wio_fail(c->error, "the process that leads this host's share of the job: %s",
                        c->text);
    wio_info(f->j->log, WIO_C_BOOT, "the process that leads this host's share of the job: %s",
             c->text[0] != '\0' ? c->text : "connection closed");
    if (f->j->have_progress &&
        f->j->lost_ns == 0) /* the rendezvous had us registered; perhaps it died, too */
        f->j->lost_ns = wio_os_now_ns();
    return 1;
}

/* Messages of the leader count before the state of the connection: after the table it may be
 * closed.
 * @return 2 = go on waiting, otherwise as wio_join_follow */
static int verdict(const struct follower *f, bool alive)
{
    if (f->have_table)
        return 0;
    if (f->result != 0)
        return wio_fail(f->result, "%s", f->text);
    if (!alive && f->final_ns != INT64_MAX)
        return wio_join_timeout(f->j);
    return alive ? 2 : judge(f);
}

static int wait_leader(struct follower *f, int epfd, int timeout_ms)
{
    struct epoll_event ev;
    int n = wio_os_epoll_wait(epfd, &ev, 1, timeout_ms);
    if (n < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, n, "epoll_wait");
    return verdict(f, n == 0 || wio_bc_event(&f->bc, ev.events));
}

static int one_round(struct follower *f, int epfd)
{
    struct wio_joiner *j = f->j;
    int64_t now = wio_os_now_ns();
    if (now >= j->deadline_ns && f->final_ns == INT64_MAX) {
        f->final_ns = now + FINAL_NS;
        wio_bc_send(&f->bc, WIO_BOOT_QUERY, NULL, 0);
    }
    if (now >= f->final_ns)
        return wio_join_timeout(j);
    if (now >= j->say_ns - FINAL_NS && f->asked_ns != j->say_ns) {
        f->asked_ns = j->say_ns; /* so that the notice has the leader's latest list */
        wio_bc_send(&f->bc, WIO_BOOT_QUERY, NULL, 0);
    }
    wio_join_say(j, now);
    int rc = wio_join_embed(j);
    if (rc == 0 && (rc = wio_bc_arm(&f->bc, epfd)) != 0)
        rc = wio_fail_os(WAITIO_ERR_SYSTEM, rc, "epoll_ctl");
    if (rc != 0)
        return rc;
    int64_t times[] = {f->final_ns != INT64_MAX ? f->final_ns : j->deadline_ns,
                       f->asked_ns == j->say_ns ? j->say_ns : j->say_ns - FINAL_NS,
                       j->want_service && j->service == NULL ? now + EMBED_NS : INT64_MAX};
    return wait_leader(f, epfd, wio_join_sleep(times, WIO_ARRAY_LEN(times)));
}

int wio_join_follow(struct wio_joiner *j, int fd)
{
    static const struct wio_bc_upcalls calls = {
        .frame = frame, .opened = opened, .table_room = table_room};
    struct follower *f = wio_os_alloc(sizeof *f);
    int epfd = wio_os_epoll_create();
    if (f == NULL || epfd < 0) {
        wio_os_free(f);
        wio_os_close(fd);
        wio_os_close(epfd);
        return wio_fail(WAITIO_ERR_NOMEM, "joining");
    }
    f->j = j;
    f->final_ns = INT64_MAX;
    int rc = wio_bc_start(&f->bc, fd, WIO_AUTH_DIAL, true, false, j->p->secret, &calls, f);
    if (rc == 0) {
        rc = verdict(f, wio_bc_event(&f->bc, 0)); /* all of it may be there at once */
        while (rc == 2)
            rc = one_round(f, epfd);
    }
    wio_bc_close(&f->bc);
    wio_os_close(epfd);
    wio_os_free(f->packed);
    wio_os_free(f);
    return rc;
}
