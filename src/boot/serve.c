/* SPDX-License-Identifier: BSD-3-Clause */
/** @file serve.c  The service's side of every rendezvous message. */
#include "boot/server.h"
#include "os/os.h"

#define BIT(type) (1u << (type))

static struct svc_conn *of(struct wio_bc *bc)
{
    return WIO_CONTAINER(bc, struct svc_conn, bc);
}

static void answer_refusal(struct svc_conn *c, const struct wio_boot_refuse *m)
{
    uint8_t out[WIO_BOOT_REFUSE_MAX];
    wio_bc_send(&c->bc, WIO_BOOT_REFUSE, out, wio_boot_put_refuse(out, m));
}

void wio_svc_dismiss(struct svc_conn *c, const struct wio_boot_refuse *m)
{
    if (c->going || c->bc.state != WIO_BC_OPEN)
        return;
    answer_refusal(c, m);
    if (wio_bc_flushed(&c->bc))
        wio_os_shutdown_send(c->bc.fd);
    c->going = true;
    c->since_ns = wio_os_now_ns();
    wio_svc_enlist(c, SVC_TALKING);
    wio_bc_arm(&c->bc, c->s->epfd);
}

static int on_hello(struct svc_conn *c, const uint8_t *p, size_t n)
{
    struct wio_boot_hello m;
    struct wio_service *s = c->s;
    int rc = wio_boot_get_hello(p, n, &m);
    if (rc != 0)
        return rc;
    c->pid = m.pid;
    if (strcmp(m.job, s->job) != 0) {
        struct wio_boot_refuse no = {.code = WAITIO_ERR_JOIN,
                                     .pbid = WIO_BOOT_ALL,
                                     .rank = WIO_BOOT_ALL,
                                     .flags = WIO_BOOT_RETRY};
        wio_text(no.text, sizeof no.text,
                 "the rendezvous on port %u serves job id '%s', this program has job id '%s' "
                 "(WAITIO_JOB_ID or "
                 "COUPLER_JOB_ID)",
                 s->port, s->job, m.job);
        char note[96];
        if (wio_log_gate(&s->other_job, wio_os_now_ns(), note, sizeof note))
            wio_warn(s->log, WIO_C_SERV,
                     "refused host %s pid %u: it has job id '%s', ours is '%s'%s", m.host, m.pid,
                     m.job, s->job, note);
        wio_svc_dismiss(c, &no);
        return 0;
    }
    c->client = wio_roster_client(&s->roster, m.host);
    if (c->client == 0)
        return wio_fail(WAITIO_ERR_NOMEM, "one more client");
    s->stats.clients++;
    c->bc.allowed = BIT(WIO_BOOT_HOSTS) | BIT(WIO_BOOT_REG) | BIT(WIO_BOOT_LEAVE) |
                    BIT(WIO_BOOT_QUERY) | BIT(WIO_BOOT_ACK) | BIT(WIO_BOOT_PORT) |
                    BIT(WIO_BOOT_FETCH);
    struct wio_boot_welcome w = {.npb = s->roster.npb,
                                 .flags = (s->roster.complete ? WIO_BOOT_COMPLETE : 0) |
                                          (s->stay ? WIO_BOOT_STAYS : 0)};
    wio_text(w.job, sizeof w.job, "%s", s->job);
    uint8_t out[WIO_BOOT_WELCOME_MAX];
    return wio_bc_send(&c->bc, WIO_BOOT_WELCOME, out, wio_boot_put_welcome(out, &w));
}

static int on_hosts(struct svc_conn *c, const uint8_t *p, size_t n)
{
    struct wio_tab_host hosts[WIO_BOOT_HOSTS_PER_MSG];
    uint32_t first, count;
    int rc = wio_boot_get_hosts(p, n, &first, hosts, &count);
    if (rc != 0)
        return rc;
    if (first != c->nhosts)
        return wio_fail(WAITIO_ERR_PROTOCOL, "rendezvous: hosts from %u on, expected %u", first,
                        c->nhosts);
    if (c->nhosts + count > c->hosts_cap) {
        uint32_t cap = c->nhosts + count;
        uint32_t *h = wio_os_realloc(c->host, cap * sizeof *h);
        if (h == NULL)
            return wio_fail(WAITIO_ERR_NOMEM, "hosts of a client");
        c->host = h;
        c->hosts_cap = cap;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = wio_roster_host(&c->s->roster, &hosts[i]);
        if (at == UINT32_MAX)
            return wio_fail(WAITIO_ERR_NOMEM, "address lists");
        c->host[c->nhosts++] = at;
    }
    return 0;
}

static int register_one(struct svc_conn *c, const struct wio_boot_reg *g)
{
    struct wio_boot_refuse no = {0};
    struct wio_service *s = c->s;
    if (g->host >= c->nhosts)
        return wio_fail(WAITIO_ERR_PROTOCOL, "rendezvous: registration names host %u of %u",
                        g->host, c->nhosts);
    int rc = wio_roster_register(&s->roster, c->client, g, c->host[g->host], &no);
    if (rc == 0)
        return 0;
    wio_warn(s->log, WIO_C_SERV, "refused PB %u rank %u: %s", g->pbid, g->rank, no.text);
    answer_refusal(c, &no);
    return 1;
}

static int on_reg(struct svc_conn *c, const uint8_t *p, size_t n)
{
    struct wio_service *s = c->s;
    uint32_t count, refused = 0;
    struct wio_boot_reg g;
    int rc = wio_boot_get_regs(p, n, &count);
    for (uint32_t i = 0; i < count && rc == 0; i++) {
        wio_boot_reg_at(p, i, &g);
        rc = register_one(c, &g);
        if (rc == 1) {
            refused++;
            rc = 0;
        }
    }
    if (rc != 0)
        return rc;
    if (s->roster.complete)
        return refused < count ? wio_svc_send_table(c) : 0;
    wio_info(s->log, WIO_C_SERV,
             "%u process%s came from host %s (last: PB %u rank %u of %u); %u of %llu are here",
             count - refused, count - refused == 1 ? "" : "es", s->roster.clients[c->client].host,
             g.pbid, g.rank, g.nprocs, s->roster.joined, (unsigned long long)s->roster.expected);
    return wio_svc_complete(s);
}

int wio_svc_complete(struct wio_service *s)
{
    if (s->roster.complete || !wio_roster_full(&s->roster))
        return 0;
    int rc = wio_roster_pack(&s->roster, &s->packed, &s->packed_bytes);
    if (rc != 0)
        return rc;
    s->complete_ns = wio_os_now_ns();
    wio_info(s->log, WIO_C_SERV,
             "universe complete: %u processes in %u blocks on %u address lists, table of %zu bytes",
             s->roster.joined, s->roster.npb, s->roster.nhosts, s->packed_bytes);
    wio_svc_deliver(s);
    return 0;
}

static int on_query(struct svc_conn *c)
{
    struct wio_service *s = c->s;
    uint8_t out[WIO_BOOT_PROGRESS_MAX];
    if (s->progress_version != s->roster.version + 1) {
        wio_roster_progress(&s->roster, &s->progress);
        s->progress_version = s->roster.version + 1;
    }
    return wio_bc_send(&c->bc, WIO_BOOT_PROGRESS, out, wio_boot_put_progress(out, &s->progress));
}

static int on_leave(struct svc_conn *c, const uint8_t *p, size_t n)
{
    struct wio_boot_leave m;
    int rc = wio_boot_get_leave(p, n, &m);
    if (rc == 0)
        wio_roster_leave(&c->s->roster, c->client, &m, wio_os_now_ns());
    return rc;
}

static int on_frame(struct wio_bc *bc, enum wio_boot_type type, const uint8_t *p, size_t n)
{
    struct svc_conn *c = of(bc);
    c->s->stats.messages++;
    if (c->going)
        return 0;
    switch (type) {
    case WIO_BOOT_HELLO:
        return on_hello(c, p, n);
    case WIO_BOOT_HOSTS:
        return on_hosts(c, p, n);
    case WIO_BOOT_REG:
        return on_reg(c, p, n);
    case WIO_BOOT_LEAVE:
        return on_leave(c, p, n);
    case WIO_BOOT_QUERY:
        return on_query(c);
    case WIO_BOOT_ACK:
        return wio_svc_on_ack(c);
    case WIO_BOOT_PORT:
        return wio_svc_on_port(c, p, n);
    case WIO_BOOT_FETCH:
        return wio_svc_on_fetch(c, p, n);
    default:
        return wio_fail(WAITIO_ERR_PROTOCOL, "rendezvous: message of type %d is for clients",
                        (int)type);
    }
}

static int on_opened(struct wio_bc *bc)
{
    struct svc_conn *c = of(bc);
    bc->allowed = BIT(WIO_BOOT_HELLO);
    wio_svc_enlist(c, SVC_MEMBER);
    return 0;
}

const struct wio_bc_upcalls wio_svc_upcalls = {.frame = on_frame, .opened = on_opened};
