/* SPDX-License-Identifier: BSD-3-Clause */
/** @file probe.c  Ask an address whether a rendezvous service is there, and in which state. */
#include <errno.h>
#include <netinet/in.h>

#include "boot/boot_conn.h"
#include "boot/mail.h"
#include "os/os.h"

struct probe {
    const char *job;
    bool count; /* ask who has come, too */
    enum wio_service_found found;
    bool answered;
    uint32_t joined;
    char *text;
    size_t n;
};

static int probe_opened(struct wio_bc *c)
{
    struct probe *p = c->owner;
    struct wio_boot_hello m = {.pid = (uint32_t)wio_os_pid()};
    uint8_t out[WIO_BOOT_HELLO_MAX];
    wio_text(m.job, sizeof m.job, "%s", p->job);
    if (wio_os_hostname(m.host, sizeof m.host) < 0)
        wio_text(m.host, sizeof m.host, "?");
    return wio_bc_send(c, WIO_BOOT_HELLO, out, wio_boot_put_hello(out, &m));
}

static void tell_progress(struct probe *p, const struct wio_boot_progress *m)
{
    p->joined = m->joined;
    wio_text(p->text, p->n, "%u process%s came; missing: %s", m->joined, m->joined == 1 ? "" : "es",
             m->missing);
}

static int probe_frame(struct wio_bc *c, enum wio_boot_type type, const uint8_t *payload, size_t n)
{
    struct probe *p = c->owner;
    struct wio_boot_welcome w;
    struct wio_boot_refuse r;
    struct wio_boot_progress m;
    p->answered = true;
    if (type == WIO_BOOT_WELCOME && wio_boot_get_welcome(payload, n, &w) == 0) {
        p->found = (w.flags & WIO_BOOT_COMPLETE) != 0 ? WIO_FOUND_COMPLETE : WIO_FOUND_FORMING;
        wio_text(p->text, p->n, "a rendezvous of job id '%s' %s", w.job,
                 p->found == WIO_FOUND_COMPLETE ? "whose universe is complete"
                                                : "that waits for its programs");
        if (p->count && p->found == WIO_FOUND_FORMING) {
            p->answered = false;
            c->allowed |= 1u << WIO_BOOT_PROGRESS;
            return wio_bc_send(c, WIO_BOOT_QUERY, NULL, 0);
        }
    } else if (type == WIO_BOOT_PROGRESS && wio_boot_get_progress(payload, n, &m) == 0) {
        tell_progress(p, &m);
    } else if (type == WIO_BOOT_REFUSE && wio_boot_get_refuse(payload, n, &r) == 0) {
        p->found = WIO_FOUND_OTHER_JOB;
        wio_text(p->text, p->n, "%s", r.text);
    }
    return 0;
}

static void judge_failure(const struct wio_bc *c, struct probe *p, bool connected)
{
    wio_text(p->text, p->n, "%s", c->text[0] != '\0' ? c->text : "no answer");
    bool silent = c->state != WIO_BC_CLOSED; /* connected, but no answer in this time */
    if (c->error == WAITIO_ERR_AUTH || c->error == WAITIO_ERR_CONFIG)
        p->found = WIO_FOUND_OTHER_SECRET;
    else if (c->garbage || c->error == WAITIO_ERR_VERSION || (connected && silent))
        p->found = WIO_FOUND_STRANGER;
    else /* a service that is ending closes connections, too: no conclusion */
        p->found = WIO_FOUND_NOBODY;
}

/* Talk until the service has answered. Takes over @p fd. */
static void converse(int fd, bool connecting, const struct wio_secret *secret, int64_t deadline,
                     struct probe *p)
{
    static const struct wio_bc_upcalls up = {.frame = probe_frame, .opened = probe_opened};
    struct wio_bc c;
    struct epoll_event ev;
    if (wio_bc_start(&c, fd, WIO_AUTH_DIAL, false, connecting, secret, &up, p) != 0)
        return;
    bool connected = false, alive = true;
    int epfd = wio_os_epoll_create();
    while (epfd >= 0 && alive && !p->answered && wio_bc_arm(&c, epfd) == 0) {
        int64_t left = deadline - wio_os_now_ns();
        if (left <= 0)
            break;
        if (wio_os_epoll_wait(epfd, &ev, 1, (int)(left / 1000000) + 1) > 0)
            alive = wio_bc_event(&c, ev.events);
        connected |=
            c.state == WIO_BC_AUTH || c.state == WIO_BC_OPEN || c.rx_bytes + c.tx_bytes > 0;
    }
    if (!p->answered)
        judge_failure(&c, p, connected);
    wio_bc_close(&c);
    wio_os_close(epfd);
}

static void try_address(const struct sockaddr_storage *sa, const struct wio_secret *secret,
                        int64_t deadline, struct probe *p)
{
    int fd = wio_os_socket(sa->ss_family, SOCK_STREAM);
    if (fd < 0)
        return;
    int rc = wio_os_connect(fd, (const struct sockaddr *)sa,
                            sa->ss_family == AF_INET ? sizeof(struct sockaddr_in)
                                                     : sizeof(struct sockaddr_in6));
    if (rc != 0 && rc != -EINPROGRESS) {
        wio_text(p->text, p->n, "%s", strerror(-rc));
        wio_os_close(fd);
        return;
    }
    converse(fd, true, secret, deadline, p);
}

/* The rendezvous in a directory, where somebody may have died, or is stopped. */
static void try_folder(const struct wio_mail_way *way, int64_t deadline, struct probe *p)
{
    struct wio_mail_line *line = NULL;
    int fd = -1, rc = wio_mail_dial(way, &line, &fd);
    if (rc != 0) {
        wio_text(p->text, p->n, "%s", wio_last_detail());
        p->found = rc == 1 ? WIO_FOUND_NOBODY : WIO_FOUND_STRANGER;
        return;
    }
    converse(fd, false, way->secret, deadline, p);
    if (p->found == WIO_FOUND_STRANGER) /* who reads our letters knows the job's name */
        p->found = WIO_FOUND_NOBODY;
    (void)wio_mail_hang_up(line);
}

static void probe(const char *host, uint16_t port, const struct wio_secret *secret,
                  double timeout_s, struct probe *p)
{
    struct sockaddr_storage sa[8];
    const char *why = NULL;
    int64_t deadline = wio_os_now_ns() + (int64_t)(timeout_s * 1e9);
    int count = wio_os_resolve(host, port, sa, 8, &why);
    wio_text(p->text, p->n, "%s", count <= 0 && why != NULL ? why : "no answer");
    for (int i = 0; i < count && p->found == WIO_FOUND_NOBODY && wio_os_now_ns() < deadline; i++)
        try_address(&sa[i], secret, deadline, p);
}

enum wio_service_found wio_service_probe(const char *host, uint16_t port,
                                         const struct wio_secret *secret, const char *job_id,
                                         double timeout_s, char *text, size_t n)
{
    struct probe p = {.job = job_id, .found = WIO_FOUND_NOBODY, .text = text, .n = n};
    probe(host, port, secret, timeout_s, &p);
    return p.found;
}

enum wio_service_found wio_service_count(const struct wio_config *cfg, uint16_t port,
                                         const struct wio_secret *secret, struct wio_log *lg,
                                         double timeout_s, uint32_t *joined, char *text, size_t n)
{
    struct probe p = {
        .job = cfg->job_id, .count = true, .found = WIO_FOUND_NOBODY, .text = text, .n = n};
    if (wio_mail_wanted(cfg, false)) {
        struct wio_mail_way way = {.cfg = cfg, .secret = secret, .log = lg, .job = cfg->job_id};
        try_folder(&way, wio_os_now_ns() + (int64_t)(timeout_s * 1e9), &p);
    } else {
        probe(cfg->master_host[0] != '\0' ? cfg->master_host : "127.0.0.1", port, secret, timeout_s,
              &p);
    }
    *joined = p.joined;
    return p.found;
}
