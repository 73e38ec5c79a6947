/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file deliver.c
 * Delivery of the finished table. The service sends it to few hosts itself. With many hosts it
 * would send one copy for each, so the leaders form a tree: the service serves the first ones, each
 * leader those below it. A leader that does not get the table from its parent asks the service. A
 * leader with children is not released until each child has the table, has asked the service, or
 * has disconnected.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "boot/server.h"
#include "os/os.h"

/* ---- one copy ---- */

int wio_svc_send_table(struct svc_conn *c)
{
    struct wio_service *s = c->s;
    if (c->served)
        return 0;
    c->served = true;
    s->stats.tables++;
    int rc = wio_bc_send_table(&c->bc, s->packed, s->packed_bytes);
    (void)wio_bc_arm(&c->bc, s->epfd);
    return rc;
}

/* ---- the tree ---- */

static uint32_t first_child(const struct svc_relay *r, uint32_t place)
{
    uint64_t first = ((uint64_t)place + 1) * r->fan;
    return first < r->n ? (uint32_t)first : r->n;
}

static uint32_t end_of_children(const struct svc_relay *r, uint32_t place)
{
    uint64_t end = ((uint64_t)place + 2) * r->fan;
    return end < r->n ? (uint32_t)end : r->n;
}

static struct svc_conn *parent_of(const struct svc_conn *c)
{
    const struct svc_relay *r = &c->s->relay;
    uint32_t place = c->place - 1;
    return place < r->fan ? NULL : r->node[place / r->fan - 1];
}

static bool takes_part(const struct svc_conn *c)
{
    return c->client != 0 && !c->going && c->s->roster.clients[c->client].nplaces != 0;
}

static bool plant(struct wio_service *s)
{
    struct svc_relay *r = &s->relay;
    uint32_t n = 0;
    r->node = wio_os_alloc(s->count[SVC_MEMBER] * sizeof(struct svc_conn *));
    if (r->node == NULL)
        return false;
    WIO_LIST_FOR(it, &s->list[SVC_MEMBER])
    {
        struct svc_conn *c = WIO_CONTAINER(it, struct svc_conn, bc.node);
        if (!takes_part(c))
            continue;
        r->node[n++] = c;
        c->place = n;
    }
    r->n = n;
    return true;
}

static void ask_for_port(struct svc_conn *c)
{
    struct wio_service *s = c->s;
    uint8_t out[WIO_BOOT_RELAY_BYTES];
    struct wio_boot_relay m = {.children = c->children};
    memcpy(m.universe, s->roster.universe, sizeof m.universe);
    s->relay.untold++;
    (void)wio_bc_send(&c->bc, WIO_BOOT_RELAY, out, wio_boot_put_relay(out, &m));
    (void)wio_bc_arm(&c->bc, s->epfd);
}

void wio_svc_deliver(struct wio_service *s)
{
    struct svc_relay *r = &s->relay;
    bool tree = s->count[SVC_MEMBER] > r->above && s->count[SVC_MEMBER] > r->fan && plant(s);
    if (!tree) {
        WIO_LIST_FOR_SAFE(it, next, &s->list[SVC_MEMBER])
        {
            struct svc_conn *c = WIO_CONTAINER(it, struct svc_conn, bc.node);
            if (takes_part(c))
                (void)wio_svc_send_table(c);
        }
        return;
    }
    wio_info(s->log, WIO_C_SERV, "%u hosts pass the table on, each to at most %u others", r->n,
             r->fan);
    /* Answer questions first: no other message can be sent on a connection during the table. */
    for (uint32_t i = 0; i < r->n; i++) {
        r->node[i]->children = end_of_children(r, i) - first_child(r, i);
        if (r->node[i]->children > 0)
            ask_for_port(r->node[i]);
    }
    for (uint32_t i = 0; i < r->n && i < r->fan; i++)
        (void)wio_svc_send_table(r->node[i]);
}

/* ---- whom to ask ---- */

/* At most once per leader: its children know their parent, or are served from here. */
static bool tell(struct svc_conn *c)
{
    if (c->told)
        return false;
    c->told = true;
    c->s->relay.untold--;
    return true;
}

static void settle(struct svc_conn *c)
{
    struct svc_conn *parent = c->place != 0 && !c->settled ? parent_of(c) : NULL;
    c->settled = true;
    if (parent == NULL || parent->children == 0)
        return;
    parent->children--;
    if (parent->children == 0 && parent->acked)
        wio_svc_release(parent);
}

static void serve_children(struct svc_conn *c, const char *why)
{
    struct wio_service *s = c->s;
    struct svc_relay *r = &s->relay;
    uint32_t at = c->place - 1;
    if (c->children > 0)
        wio_warn(s->log, WIO_C_SERV,
                 "host %s cannot pass the table on to %u others (%s): done here",
                 s->roster.clients[c->client].host, c->children, why);
    for (uint32_t i = first_child(r, at); i < end_of_children(r, at); i++) {
        if (r->node[i] == NULL)
            continue;
        (void)wio_svc_send_table(r->node[i]);
        settle(r->node[i]);
    }
}

int wio_svc_on_port(struct svc_conn *c, const uint8_t *p, size_t n)
{
    struct wio_service *s = c->s;
    struct svc_relay *r = &s->relay;
    struct wio_boot_port m;
    uint8_t out[WIO_BOOT_PARENT_MAX];
    int rc = wio_boot_get_port(p, n, &m);
    if (rc != 0)
        return rc;
    if (c->place == 0 || first_child(r, c->place - 1) == r->n)
        return wio_fail(WAITIO_ERR_PROTOCOL, "rendezvous: port of a host that has no children");
    if (!tell(c))
        return 0; /* too late */
    if (m.port == 0 || c->nhosts == 0) {
        serve_children(c, m.why);
        return 0;
    }
    struct wio_boot_parent to = {
        .bytes = s->packed_bytes, .port = m.port, .host = s->roster.hosts[c->host[0]]};
    memcpy(to.universe, s->roster.universe, sizeof to.universe);
    wio_text(to.name, sizeof to.name, "%s", s->roster.clients[c->client].host);
    size_t bytes = wio_boot_put_parent(out, &to);
    for (uint32_t i = first_child(r, c->place - 1); i < end_of_children(r, c->place - 1); i++) {
        if (r->node[i] == NULL || r->node[i]->served)
            continue;
        (void)wio_bc_send(&r->node[i]->bc, WIO_BOOT_PARENT, out, bytes);
        (void)wio_bc_arm(&r->node[i]->bc, s->epfd);
    }
    return 0;
}

void wio_svc_relay_tick(struct wio_service *s, int64_t now)
{
    struct svc_relay *r = &s->relay;
    if (r->untold == 0 || now - s->complete_ns < WIO_BOOT_PORT_NS)
        return;
    for (uint32_t i = 0; i < r->n && r->untold > 0; i++) {
        struct svc_conn *c = r->node[i];
        if (c != NULL && first_child(r, i) < r->n && tell(c))
            serve_children(c, "it did not say in time where it listens");
    }
}

int wio_svc_on_fetch(struct svc_conn *c, const uint8_t *p, size_t n)
{
    struct wio_service *s = c->s;
    struct wio_boot_fetch m;
    int rc = wio_boot_get_fetch(p, n, &m);
    if (rc != 0)
        return rc;
    if (c->place == 0)
        return wio_fail(WAITIO_ERR_PROTOCOL, "rendezvous: asked for the table before it is made");
    const struct svc_conn *parent = parent_of(c);
    wio_warn(s->log, WIO_C_SERV, "host %s could not get the table from host %s (%s): done here",
             s->roster.clients[c->client].host,
             parent != NULL ? s->roster.clients[parent->client].host : "that has gone", m.why);
    settle(c);
    return wio_svc_send_table(c);
}

/* ---- the end ---- */

/* Without this a host without power would never be noticed. */
static void watch_for_silence(int fd)
{
    int idle = 60, every = 20, times = 3;
    wio_os_setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    wio_os_setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
    wio_os_setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
}

void wio_svc_release(struct svc_conn *c)
{
    if (c->going)
        return;
    c->going = true;
    if (!c->s->stay) { /* the client waits for our end of stream */
        wio_os_shutdown_send(c->bc.fd);
        return;
    }
    (void)wio_bc_send(&c->bc, WIO_BOOT_DONE, NULL, 0);
    (void)wio_bc_arm(&c->bc, c->s->epfd);
    watch_for_silence(c->bc.fd);
    wio_svc_enlist(c, SVC_KEPT);
}

/* The client waits for an answer, so that its acknowledgement is known to have come. */
int wio_svc_on_ack(struct svc_conn *c)
{
    if (!c->s->roster.complete)
        return wio_fail(WAITIO_ERR_PROTOCOL, "rendezvous: acknowledgement before the table");
    wio_roster_acked(&c->s->roster, c->client);
    c->acked = true;
    settle(c);
    if (c->children == 0)
        wio_svc_release(c);
    return 0;
}

void wio_svc_relay_gone(struct svc_conn *c)
{
    if (c->place == 0)
        return;
    settle(c);
    if (first_child(&c->s->relay, c->place - 1) < c->s->relay.n && tell(c))
        serve_children(c, "its connection ended");
    c->s->relay.node[c->place - 1] = NULL;
}
