/* SPDX-License-Identifier: BSD-3-Clause */
/** @file upstream.c  A leader's connection to the rendezvous service: dial, register, ask, take the
 * table. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "boot/addresses.h"
#include "boot/leader.h"
#include "os/os.h"

#define DIAL_NS INT64_C(5000000000)
#define DIAL_BESIDE_NS INT64_C(1500000000)  /* to an address, when there are relays, too */
#define DIAL_FOLDER_NS INT64_C(15000000000) /* names may show late */
#define BACKOFF_MIN_NS INT64_C(10000000)
#define BACKOFF_MAX_NS INT64_C(1000000000)
#define QUERY_NS INT64_C(1000000000)
#define QUERY_SELDOM_NS INT64_C(10000000000)
#define QUERY_SOON_NS                                                                              \
    INT64_C(100000000) /* after a registration: so all soon have the list of missing processes */
#define BIT(type) (1u << (type))

static struct leader *of(const struct wio_bc *c)
{
    return c->owner;
}

/* ---- messages of the service ---- */

static int up_opened(struct wio_bc *c)
{
    struct leader *l = of(c);
    struct wio_boot_hello m = {.pid = l->j->reg.pid};
    uint8_t out[WIO_BOOT_HELLO_MAX];
    wio_text(m.job, sizeof m.job, "%s", l->j->p->me->job_id);
    wio_text(m.host, sizeof m.host, "%s", l->j->name);
    c->allowed = BIT(WIO_BOOT_WELCOME) | BIT(WIO_BOOT_REFUSE);
    return wio_bc_send(c, WIO_BOOT_HELLO, out, wio_boot_put_hello(out, &m));
}

static int on_welcome(struct leader *l, const uint8_t *p, size_t n)
{
    struct wio_boot_welcome m;
    int rc = wio_boot_get_welcome(p, n, &m);
    if (rc != 0)
        return rc;
    l->up.allowed = BIT(WIO_BOOT_REFUSE) | BIT(WIO_BOOT_PROGRESS) | BIT(WIO_BOOT_TABLE) |
                    BIT(WIO_BOOT_RELAY) | BIT(WIO_BOOT_PARENT);
    l->hold = (m.flags & WIO_BOOT_STAYS) != 0;
    l->up_ready = true;
    l->j->lost_ns = 0;
    l->hosts_sent = 0;
    l->asked = false;
    l->flush_ns = wio_os_now_ns();
    l->query_ns = l->flush_ns + QUERY_NS;
    WIO_LIST_FOR(it, &l->members)
    {
        WIO_CONTAINER(it, struct ld_member, node)->sent = false;
    }
    wio_debug(l->j->log, WIO_C_BOOT, "the rendezvous welcomes us (%u blocks expected so far)",
              m.npb);
    return 0;
}

static struct ld_member *find_member(struct leader *l, const struct wio_boot_refuse *r)
{
    WIO_LIST_FOR(it, &l->members)
    {
        struct ld_member *m = WIO_CONTAINER(it, struct ld_member, node);
        if (m->reg.pbid == r->pbid && m->reg.rank == r->rank &&
            m->reg.incarnation == r->incarnation)
            return m;
    }
    return NULL;
}

static int on_refuse(struct leader *l, const uint8_t *p, size_t n)
{
    struct wio_boot_refuse m;
    int rc = wio_boot_get_refuse(p, n, &m);
    if (rc != 0)
        return rc;
    if ((m.flags & WIO_BOOT_RETRY) != 0) {
        wio_join_note(l->j, "%s", m.text);
        l->rest = true;
        return 0;
    }
    if (m.pbid == WIO_BOOT_ALL) {
        wio_ld_down_refuse(l, NULL, &m);
        wio_ld_fail(l, m.code, "%s", m.text);
        return 0;
    }
    struct ld_member *who = find_member(l, &m);
    if (who != NULL && who->from != NULL)
        wio_ld_down_refuse(l, who->from, &m);
    else if (who != NULL) {
        l->refused = true;
        wio_ld_fail(l, m.code, "%s", m.text);
    }
    return 0;
}

static int on_progress(struct leader *l, const uint8_t *p, size_t n)
{
    struct wio_boot_progress m;
    int rc = wio_boot_get_progress(p, n, &m);
    if (rc != 0)
        return rc;
    struct wio_joiner *j = l->j;
    l->asked = false;
    if (l->final_ns != INT64_MAX)
        l->final_ns = 0;
    /* No process is missing, but there is no table: it is on its way. Or a refusal has said that
     * the universe belongs to another run, which the user must know. */
    if (m.missing[0] == '\0' && j->note[0] != '\0')
        return 0;
    if (m.missing[0] != '\0') /* accepted; after the welcome a refusal may follow */
        l->backoff_ns = 0;
    bool changed = !j->have_progress || m.joined != j->progress.joined ||
                   m.expected != j->progress.expected ||
                   strcmp(m.missing, j->progress.missing) != 0;
    j->progress = m;
    j->have_progress = true;
    j->note[0] = '\0';
    if (changed) {
        wio_info(j->log, WIO_C_BOOT, "%u processes came; missing: %s", m.joined, m.missing);
        wio_ld_down_progress(l);
    }
    return 0;
}

static void *table_room(struct wio_bc *c, size_t n)
{
    struct leader *l = of(c);
    if (l->have_table) /* it came twice: from the parent and from the service */
        return l->spare = wio_os_realloc(l->spare, n);
    wio_fetch_close(&l->fetch);
    wio_os_free(l->packed);
    l->packed = wio_os_alloc(n);
    return l->packed;
}

/* A table that cannot be shared (no memfd, a limit on files): each process of the host unpacks its
 * own. */
static void keep_to_ourselves(struct leader *l, int error)
{
    wio_info(l->j->log, WIO_C_BOOT,
             "the address table of %zu bytes cannot be shared on this host: %s", l->map_bytes,
             error < 0 ? strerror(-error) : "it cannot be mapped");
    wio_os_close(l->memfd);
    l->memfd = -1;
    l->map = wio_os_alloc(l->map_bytes);
}

int wio_ld_take_table(struct leader *l, size_t n)
{
    struct wio_image_head h;
    int rc = wio_unpack_head(l->packed, n, &h);
    if (rc != 0)
        return rc;
    l->packed_bytes = n;
    wio_relay_table(&l->relay, l->packed, n); /* sent on before it is unpacked */
    l->map_bytes = (size_t)h.bytes;
    int fd = l->memfd = wio_os_memfd("waitio-table", l->map_bytes, l->map_bytes, true);
    l->map = fd >= 0 ? wio_os_map(fd, l->map_bytes, true) : NULL;
    if (l->map == NULL)
        keep_to_ourselves(l, fd);
    if (l->map == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for the address table of %zu bytes",
                        l->map_bytes);
    rc = wio_unpack(l->packed, n, &h, l->map);
    l->have_table = rc == 0;
    return rc;
}

static int up_frame(struct wio_bc *c, enum wio_boot_type type, const uint8_t *p, size_t n)
{
    struct leader *l = of(c);
    switch (type) {
    case WIO_BOOT_WELCOME:
        return on_welcome(l, p, n);
    case WIO_BOOT_REFUSE:
        return on_refuse(l, p, n);
    case WIO_BOOT_PROGRESS:
        return on_progress(l, p, n);
    case WIO_BOOT_TABLE:
        return l->have_table ? 0 : wio_ld_take_table(l, n);
    case WIO_BOOT_RELAY:
        return wio_ld_on_relay(l, p, n);
    case WIO_BOOT_PARENT:
        return wio_ld_on_parent(l, p, n);
    case WIO_BOOT_DONE:
        l->released = true;
        return 0;
    default:
        return wio_fail(WAITIO_ERR_PROTOCOL, "rendezvous: message of type %d is for the service",
                        (int)type);
    }
}

static const struct wio_bc_upcalls up_calls = {
    .frame = up_frame, .opened = up_opened, .table_room = table_room};

/* ---- the connection ---- */

static void back_off(struct leader *l)
{
    uint32_t dice = 0;
    (void)wio_os_random(&dice, sizeof dice);
    l->backoff_ns = l->backoff_ns == 0 ? BACKOFF_MIN_NS : l->backoff_ns * 2;
    if (l->backoff_ns > BACKOFF_MAX_NS)
        l->backoff_ns = BACKOFF_MAX_NS;
    int64_t wait = l->backoff_ns / 2 + (int64_t)(dice % 1024) * (l->backoff_ns / 2048);
    /* After the loss of the rendezvous with our registration, check often. */
    if (l->j->lost_ns != 0 && wait > BACKOFF_MAX_NS / 8)
        wait = BACKOFF_MAX_NS / 8;
    l->next_dial_ns = wio_os_now_ns() + wait;
}

static void drop_table(struct leader *l)
{
    wio_ld_free_map(l);
    wio_fetch_close(&l->fetch);
    wio_relay_table(&l->relay, NULL, 0);
    wio_os_free(l->packed);
    l->packed = NULL;
}

void wio_ld_up_close(struct leader *l)
{
    wio_bc_close(&l->up);
    if (l->line == NULL)
        return;
    unsigned long long ops = wio_mail_hang_up(l->line);
    wio_debug(l->j->log, WIO_C_BOOT, "the directory took %llu operations on names", ops);
    l->line = NULL;
}

static int ways(const struct wio_joiner *j)
{
    return j->naddr + j->relays.n;
}

/* The relay of this attempt, NULL = none. Hosts begin with different ones. */
static const struct wio_relay_at *relay_of(const struct leader *l)
{
    const struct wio_joiner *j = l->j;
    if (l->next_addr < j->naddr || j->relays.n == 0)
        return NULL;
    uint64_t first = j->host.identity + (uint64_t)(l->next_addr - j->naddr);
    return &j->relays.at[first % (uint64_t)j->relays.n];
}

/* The connection has ended: try the next address, or all again after a pause. */
static void up_ended(struct leader *l)
{
    bool was_ready = l->up_ready, refused = l->rest;
    wio_ld_up_close(l);
    drop_table(l);
    l->dialling = l->up_ready = l->rest = false;
    l->flush_ns = l->query_ns = INT64_MAX;
    if (was_ready && !refused && l->j->lost_ns == 0)
        l->j->lost_ns = wio_os_now_ns();
    if (++l->next_addr >= ways(l->j) || was_ready) {
        l->next_addr = 0;
        back_off(l);
    }
}

/* A failed attempt: some reasons are final. */
static void judge(struct leader *l)
{
    const struct wio_bc *c = &l->up;
    const struct wio_relay_at *relay = relay_of(l);
    char text[420];
    wio_text(text, sizeof text, "%s%s%s%s", relay != NULL ? "through relay " : "",
             relay != NULL ? relay->name : "", relay != NULL ? ": " : "",
             c->text[0] != '\0' ? c->text : "connection closed");
    if (wio_auth_is_final(c->error))
        wio_ld_fail(l, c->error, "rendezvous at %s: %s", l->j->where, text);
    else if (l->up_ready)
        wio_join_note(l->j, "the rendezvous at %s went away: %s", l->j->where, text);
    else
        wio_join_note(l->j, "cannot reach the rendezvous at %s: %s", l->j->where, text);
}

static int64_t patience(const struct leader *l)
{
    if (l->j->in_folder)
        return DIAL_FOLDER_NS;
    return l->j->relays.n > 0 && relay_of(l) == NULL ? DIAL_BESIDE_NS : DIAL_NS;
}

/* The stream is there: begin to talk. */
static void begin(struct leader *l, int fd, bool connecting, int64_t now)
{
    int rc =
        wio_bc_start(&l->up, fd, WIO_AUTH_DIAL, false, connecting, l->j->p->secret, &up_calls, l);
    l->up.kind = LD_UP;
    if (rc == 0 && relay_of(l) != NULL) {
        struct wio_place place = wio_place_of_job(l->j->p->me->job_id, l->j->port);
        rc = wio_bc_through(&l->up, l->j->p->secret, &place);
    }
    if (rc == 0 && (rc = wio_bc_arm(&l->up, l->epfd)) != 0)
        rc = wio_fail_os(WAITIO_ERR_SYSTEM, rc, "epoll_ctl");
    if (rc != 0)
        wio_ld_fail(l, rc, "%s", wio_last_detail());
    l->dialling = true;
    l->dial_deadline_ns = now + patience(l);
}

static void dial_in_folder(struct leader *l, int64_t now)
{
    struct wio_joiner *j = l->j;
    struct wio_mail_way way = {
        .cfg = j->p->cfg, .secret = j->p->secret, .log = j->log, .job = j->p->me->job_id};
    int fd = -1, rc = wio_mail_dial(&way, &l->line, &fd);
    if (rc == 0) {
        begin(l, fd, false, now);
        return;
    }
    l->up.fd = -1;
    if (rc < 0)
        wio_ld_fail(l, rc, "%s", wio_last_detail());
    else
        wio_join_note(j, "cannot reach the rendezvous at %s: %s", j->where, wio_last_detail());
    up_ended(l);
}

static void dial(struct leader *l, int64_t now)
{
    struct wio_joiner *j = l->j;
    if (j->in_folder) {
        dial_in_folder(l, now);
        return;
    }
    const struct wio_relay_at *relay = relay_of(l);
    const struct sockaddr_storage *sa = relay != NULL ? &relay->addr : &j->addr[l->next_addr];
    int one = 1, fd = wio_os_socket(sa->ss_family, SOCK_STREAM);
    if (fd < 0) {
        if (l->next_addr + 1 >= ways(j) && fd != -EAFNOSUPPORT)
            wio_ld_fail(l, fd == -EMFILE || fd == -ENFILE ? WAITIO_ERR_LIMIT : WAITIO_ERR_SYSTEM,
                        "no socket for the rendezvous: %s (descriptor limit %d)", strerror(-fd),
                        wio_os_fd_limit());
        up_ended(l);
        return;
    }
    int rc = wio_os_connect(fd, (const struct sockaddr *)sa,
                            sa->ss_family == AF_INET ? sizeof(struct sockaddr_in)
                                                     : sizeof(struct sockaddr_in6));
    if (rc != 0 && rc != -EINPROGRESS) {
        wio_os_close(fd);
        l->up.fd = -1;
        wio_join_note(j, "cannot reach the rendezvous at %s%s%s: %s", j->where,
                      relay != NULL ? " through relay " : "", relay != NULL ? relay->name : "",
                      strerror(-rc));
        up_ended(l);
        return;
    }
    wio_os_setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    wio_os_setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    begin(l, fd, true, now);
}

void wio_ld_up_event(struct leader *l, uint32_t events)
{
    if (!l->dialling)
        return;
    bool alive = wio_bc_event(&l->up, events);
    if (l->have_table) /* what happens to the connection no longer matters */
        return;
    if (!alive) {
        if (!l->rest)
            judge(l);
        up_ended(l);
    } else if (l->rest) {
        up_ended(l);
    } else {
        (void)wio_bc_arm(&l->up, l->epfd);
    }
}

/* ---- what we say ---- */

static void send_hosts(struct leader *l)
{
    uint8_t *out = wio_os_alloc(8 + WIO_BOOT_HOSTS_PER_MSG * WIO_BOOT_HOST_MAX);
    while (out != NULL && l->hosts_sent < l->nhosts) {
        uint32_t n = l->nhosts - l->hosts_sent;
        if (n > WIO_BOOT_HOSTS_PER_MSG)
            n = WIO_BOOT_HOSTS_PER_MSG;
        size_t bytes = wio_boot_put_hosts(out, l->hosts_sent, l->hosts + l->hosts_sent, n);
        if (wio_bc_send(&l->up, WIO_BOOT_HOSTS, out, bytes) != 0)
            break;
        l->hosts_sent += n;
    }
    wio_os_free(out);
}

static void flush(struct leader *l)
{
    uint8_t *out = wio_os_alloc(WIO_BOOT_REGS_PER_MSG * WIO_BOOT_REG_BYTES);
    uint32_t n = 0;
    l->flush_ns = INT64_MAX;
    if (out == NULL)
        return;
    send_hosts(l);
    WIO_LIST_FOR(it, &l->members)
    {
        struct ld_member *m = WIO_CONTAINER(it, struct ld_member, node);
        if (m->sent || m->reg.host >= l->hosts_sent)
            continue;
        m->sent = true;
        wio_boot_put_regs(out + n++ * (size_t)WIO_BOOT_REG_BYTES, &m->reg, 1);
        if (n == WIO_BOOT_REGS_PER_MSG) {
            wio_bc_send(&l->up, WIO_BOOT_REG, out, n * (size_t)WIO_BOOT_REG_BYTES);
            n = 0;
        }
    }
    if (n > 0)
        wio_bc_send(&l->up, WIO_BOOT_REG, out, n * (size_t)WIO_BOOT_REG_BYTES);
    wio_os_free(out);
    int64_t soon = wio_os_now_ns() + QUERY_SOON_NS;
    if (l->query_ns > soon)
        l->query_ns = soon;
}

void wio_ld_up_ask(struct leader *l)
{
    if (l->up_ready && !l->asked) {
        l->asked = true;
        wio_bc_send(&l->up, WIO_BOOT_QUERY, NULL, 0);
        (void)wio_bc_arm(&l->up, l->epfd);
    }
}

void wio_ld_up_leave(struct leader *l, const struct ld_member *m)
{
    uint8_t out[WIO_BOOT_LEAVE_BYTES];
    struct wio_boot_leave msg = {m->reg.pbid, m->reg.rank, m->reg.incarnation};
    if (!l->up_ready || !m->sent)
        return;
    wio_bc_send(&l->up, WIO_BOOT_LEAVE, out, wio_boot_put_leave(out, &msg));
    (void)wio_bc_arm(&l->up, l->epfd);
}

static void check_lost(struct leader *l, int64_t now)
{
    struct wio_joiner *j = l->j;
    if (j->lost_ns == 0 || now - j->lost_ns < WIO_JOIN_LOST_NS)
        return;
    wio_ld_fail(l, WAITIO_ERR_PEER,
                "the rendezvous at %s ended before everybody had come (did PB 0 rank 0 or "
                "waitio-serv die?)%s%.600s",
                j->where, j->have_progress ? "; missing then: " : "",
                j->have_progress ? j->progress.missing : "");
}

/* In a directory each question costs a dozen operations: it is asked ever more seldom. */
static int64_t query_gap(const struct leader *l, int64_t now)
{
    int64_t gap = (now - l->j->start_ns) / 2;
    if (!l->j->in_folder || gap < QUERY_NS)
        return QUERY_NS;
    return gap < QUERY_SELDOM_NS ? gap : QUERY_SELDOM_NS;
}

void wio_ld_up_work(struct leader *l, int64_t now)
{
    if (l->dialling && !l->up_ready && now >= l->dial_deadline_ns) {
        wio_join_note(l->j, "%s takes connections but does not answer as a rendezvous",
                      l->j->where);
        up_ended(l);
    }
    check_lost(l, now);
    if (!l->dialling && l->result == 0 && now >= l->next_dial_ns)
        dial(l, now);
    if (l->up_ready && now >= l->flush_ns)
        flush(l);
    if (l->up_ready && now >= l->query_ns) {
        l->query_ns = now + query_gap(l, now);
        wio_ld_up_ask(l);
    }
    if (l->dialling)
        (void)wio_bc_arm(&l->up, l->epfd);
}

void wio_ld_up_ack(struct leader *l)
{
    wio_bc_send(&l->up, WIO_BOOT_ACK, NULL, 0);
    l->up.allowed = BIT(WIO_BOOT_PROGRESS) | BIT(WIO_BOOT_TABLE) | BIT(WIO_BOOT_DONE);
}
