/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file leader.c
 * One process per host talks to the rendezvous service for all of them. It does not know how many
 * will come. It collects registrations for two milliseconds and passes them on. All get the table
 * when the service has it.
 */
#include "boot/leader.h"
#include "os/os.h"

#define GATHER_NS INT64_C(2000000)
#define FINAL_NS INT64_C(300000000)
#define EMBED_NS INT64_C(500000000)
#define ROUND_EVENTS 64

void wio_ld_fail(struct leader *l, int code, const char *fmt, ...)
{
    va_list ap;
    if (l->result != 0)
        return;
    va_start(ap, fmt);
    vsnprintf(l->text, sizeof l->text, fmt, ap);
    va_end(ap);
    l->result = code;
}

static uint32_t host_index(struct leader *l, const struct wio_tab_host *host)
{
    for (uint32_t i = 0; i < l->nhosts; i++)
        if (wio_boot_host_equal(&l->hosts[i], host))
            return i;
    if (l->nhosts == l->hosts_cap) {
        uint32_t cap = l->hosts_cap == 0 ? 4 : l->hosts_cap * 2;
        struct wio_tab_host *h = wio_os_realloc(l->hosts, cap * sizeof *h);
        if (h == NULL)
            return UINT32_MAX;
        l->hosts = h;
        l->hosts_cap = cap;
    }
    l->hosts[l->nhosts] = *host;
    return l->nhosts++;
}

struct ld_member *wio_ld_add_member(struct leader *l, const struct wio_boot_reg *reg,
                                    const struct wio_tab_host *host, struct ld_follower *from)
{
    struct ld_member *m = wio_os_alloc(sizeof *m);
    uint32_t at = host_index(l, host);
    if (m == NULL || at == UINT32_MAX) {
        wio_os_free(m);
        return NULL;
    }
    m->reg = *reg;
    m->reg.host = at;
    m->from = from;
    wio_list_push(&l->members, &m->node);
    if (l->up_ready && l->flush_ns == INT64_MAX)
        l->flush_ns = wio_os_now_ns() + GATHER_NS;
    return m;
}

/* The deadline has come: ask once more who is missing, then give up. */
static void at_deadline(struct leader *l, int64_t now)
{
    if (l->final_ns == INT64_MAX) {
        l->final_ns = l->up_ready ? now + FINAL_NS : 0;
        l->asked = false;
        wio_ld_up_ask(l);
        if (l->up_ready)
            return;
    }
    if (now >= l->final_ns) {
        struct wio_boot_refuse m = {
            .code = wio_join_timeout(l->j), .pbid = WIO_BOOT_ALL, .rank = WIO_BOOT_ALL};
        wio_ld_fail(l, m.code, "%s", wio_last_detail());
        wio_text(m.text, sizeof m.text, "PB 0 rank 0, which serves the rendezvous, gave up: %.900s",
                 l->text);
        if (l->j->service != NULL) /* it ends with us */
            wio_ld_down_refuse(l, NULL, &m);
        else
            wio_ld_down_progress(l);
    }
}

/* A connection that was closed earlier in the round has no kind any more. */
static void dispatch(struct leader *l, const struct epoll_event *ev)
{
    switch (*(const int *)ev->data.ptr) {
    case LD_LISTENER:
        wio_ld_down_accept(l);
        break;
    case LD_UP:
        wio_ld_up_event(l, ev->events);
        break;
    case LD_PARENT:
        wio_ld_parent_event(l, ev->events);
        break;
    case LD_RELAY:
        wio_relay_accept(&l->relay);
        break;
    case LD_CHILD:
        wio_relay_event(ev->data.ptr, ev->events);
        break;
    case LD_FOLLOWER:
        wio_ld_down_event(ev->data.ptr, ev->events);
        break;
    default:
        break;
    }
}

static void one_round(struct leader *l)
{
    struct epoll_event ev[ROUND_EVENTS];
    struct wio_joiner *j = l->j;
    int64_t now = wio_os_now_ns();
    int64_t times[] = {l->dialling ? (l->up_ready ? INT64_MAX : l->dial_deadline_ns)
                                   : l->next_dial_ns,
                       l->flush_ns,
                       wio_fetch_next_ns(&l->fetch),
                       l->query_ns,
                       j->say_ns,
                       l->final_ns != INT64_MAX ? l->final_ns : j->deadline_ns,
                       j->lost_ns != 0 ? j->lost_ns + WIO_JOIN_LOST_NS : INT64_MAX,
                       j->want_service && j->service == NULL ? now + EMBED_NS : INT64_MAX};
    int n =
        wio_os_epoll_wait(l->epfd, ev, ROUND_EVENTS, wio_join_sleep(times, WIO_ARRAY_LEN(times)));
    if (n < 0)
        wio_ld_fail(l, WAITIO_ERR_SYSTEM, "epoll_wait: %s", strerror(-n));
    for (int i = 0; i < n && !l->have_table; i++)
        dispatch(l, &ev[i]);
    now = wio_os_now_ns();
    wio_ld_down_sweep(l, now);
    wio_relay_sweep(&l->relay, now);
    if (!l->have_table)
        wio_ld_parent_work(l, now);
    if (l->have_table)
        return;
    int rc = wio_join_embed(j);
    if (rc != 0)
        wio_ld_fail(l, rc, "%s", wio_last_detail());
    wio_ld_up_work(l, now);
    wio_join_say(j, now);
    if (now >= j->deadline_ns)
        at_deadline(l, now);
}

static int begin(struct leader *l, struct wio_joiner *j, int listener)
{
    l->listener_kind = LD_LISTENER;
    l->j = j;
    l->listener = listener;
    l->memfd = l->up.fd = l->up.rx_fd = -1;
    wio_fetch_init(&l->fetch);
    wio_relay_init(&l->relay);
    l->flush_ns = l->query_ns = l->final_ns = INT64_MAX;
    wio_list_init(&l->members);
    wio_list_init(&l->followers);
    wio_list_init(&l->dead);
    l->epfd = wio_os_epoll_create();
    if (l->epfd < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, l->epfd, "epoll_create");
    int rc = listener >= 0
                 ? wio_os_epoll_ctl(l->epfd, EPOLL_CTL_ADD, listener, EPOLLIN, &l->listener_kind)
                 : 0;
    if (rc != 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc, "epoll_ctl");
    return wio_ld_add_member(l, &j->reg, &j->host, NULL) != NULL
               ? 0
               : wio_fail(WAITIO_ERR_NOMEM, "joining");
}

/* All have joined: give the table to the followers, acknowledge it to the service, keep a read-only
 * view. */
static int take_table(struct leader *l)
{
    struct wio_joiner *j = l->j;
    l->hold = l->hold && l->up.state == WIO_BC_OPEN;
    wio_ld_down_table(l);
    wio_ld_up_ack(l);
    wio_ld_linger(l);
    wio_os_close(l->listener); /* later processes belong to another universe */
    l->listener = -1;
    if (l->hold) { /* from now on this process holds the connection, as its followers do */
        wio_join_unhold(j);
        j->hold_fd = l->up.fd;
        l->up.fd = -1;
    }
    j->map_bytes = l->map_bytes;
    j->map_shared = l->memfd >= 0;
    j->map = j->map_shared ? wio_os_map(l->memfd, l->map_bytes, false) : l->map;
    if (!j->map_shared)
        l->map = NULL;
    return j->map != NULL ? 0
                          : wio_fail(WAITIO_ERR_NOMEM, "cannot map the address table of %zu bytes",
                                     l->map_bytes);
}

void wio_ld_free_map(struct leader *l)
{
    if (l->memfd >= 0 && l->map != NULL)
        wio_os_unmap(l->map, l->map_bytes);
    else
        wio_os_free(l->map);
    wio_os_close(l->memfd);
    l->map = NULL;
    l->memfd = -1;
}

static void end(struct leader *l)
{
    wio_ld_down_close(l);
    wio_ld_up_close(l);
    wio_fetch_close(&l->fetch);
    wio_relay_close(&l->relay);
    for (struct wio_list *it; l->members.next != NULL && (it = wio_list_pop(&l->members)) != NULL;)
        wio_os_free(WIO_CONTAINER(it, struct ld_member, node));
    wio_ld_free_map(l);
    wio_os_close(l->epfd);
    wio_os_close(l->listener);
    wio_os_free(l->hosts);
    wio_os_free(l->packed);
    wio_os_free(l->spare);
    wio_os_free(l);
}

int wio_join_lead(struct wio_joiner *j, int listener)
{
    struct leader *l = wio_os_alloc(sizeof *l);
    if (l == NULL) {
        wio_os_close(listener);
        return wio_fail(WAITIO_ERR_NOMEM, "joining");
    }
    int rc = begin(l, j, listener);
    if (rc == 0)
        wio_ld_up_work(l, wio_os_now_ns());
    while (rc == 0 && l->result == 0 && !l->have_table)
        one_round(l);
    if (rc == 0 && l->have_table)
        rc = take_table(l);
    if (rc == 0 && (l->refused || !l->have_table)) /* refused: the table was for the others */
        rc = wio_fail(l->result, "%s", l->text);
    end(l);
    return rc;
}
