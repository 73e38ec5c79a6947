/* SPDX-License-Identifier: BSD-3-Clause */
/** @file sockopt.c  Options of link sockets. */
#include <arpa/inet.h>
#include <netinet/tcp.h>

#include "tcp.h"

static bool same_prefix(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    unsigned bytes = bits / 8, rest = bits % 8;
    if (memcmp(a, b, bytes) != 0)
        return false;
    return rest == 0 || ((a[bytes] ^ b[bytes]) >> (8 - rest)) == 0;
}

/* Is it an address of this host, or (with @p subnet) of a network it is in? */
static bool ours(const struct tcp_iface *f, const union tcp_addr *a, bool subnet)
{
    const struct wio_table *t = f->base.table;
    const struct wio_tab_host *me = &t->host[t->ep[t->me].host];
    bool v6 = a->sa.sa_family == AF_INET6;
    uint8_t ip[16] = {0};
    if (v6)
        memcpy(ip, &a->in6.sin6_addr, 16);
    else
        memcpy(ip, &a->in4.sin_addr, 4);
    if (v6 ? IN6_IS_ADDR_LOOPBACK(&a->in6.sin6_addr) : ip[0] == 127)
        return true;
    for (uint32_t i = 0; i < me->naddr && i < WIO_HOST_ADDRS; i++) {
        const struct wio_tab_addr *m = &me->addr[i];
        unsigned all = v6 ? 128 : 32;
        if (m->family != (v6 ? 6 : 4))
            continue;
        if (same_prefix(m->ip, ip, subnet && m->prefix > 0 && m->prefix <= all ? m->prefix : all))
            return true;
    }
    return false;
}

bool wio_tcp_here(const struct tcp_iface *f, const union tcp_addr *a)
{
    return ours(f, a, false);
}

bool wio_tcp_near(const struct tcp_iface *f, const union tcp_addr *a)
{
    return ours(f, a, true);
}

/* Within one host the kernel would let a sender run 4 MiB ahead, and a short message would wait for
 * all of it (a millisecond); this size is as fast. Real networks need their bandwidth-delay
 * product: there the system's size stays. */
#define SNDBUF_SAME_HOST (320 << 10)

static int64_t sndbuf(const struct tcp_iface *f, const union tcp_addr *peer)
{
    uint64_t set = f->base.p.cfg->tcp_sndbuf;
    if (set == 0 && ours(f, peer, false))
        return SNDBUF_SAME_HOST;
    return set > INT32_MAX ? INT32_MAX : (int64_t)set;
}

static void warn_congestion(struct tcp_iface *f, const char *name, int oserr)
{
    if (f->warned_cc)
        return;
    f->warned_cc = true;
    char offers[256] = "?";
    int fd = wio_os_open_read("/proc/sys/net/ipv4/tcp_available_congestion_control");
    if (fd >= 0) {
        ssize_t n = wio_os_read(fd, offers, sizeof offers - 1);
        offers[n > 0 ? n : 0] = '\0';
        offers[strcspn(offers, "\n")] = '\0';
        wio_os_close(fd);
    }
    wio_warn(
        f->base.p.log, WIO_C_TCP,
        "WAITIO_TCP_CONGESTION=%s cannot be used (%s): this system offers %s; going on with the "
        "system's choice",
        name, strerror(-oserr), offers);
}

static int set_congestion(int fd, const char *name)
{
    return wio_os_setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name));
}

/* auto: near peers get a loss-based control, which is twice as fast as BBR there; for long
 * distances the administrator chooses. */
static void set_near(int fd)
{
    if (set_congestion(fd, "cubic") < 0)
        (void)set_congestion(fd, "reno");
}

static bool is_auto(const char *name)
{
    return strcmp(name, "auto") == 0;
}

static bool is_system(const char *name)
{
    return name[0] == '\0' || strcmp(name, "system") == 0;
}

/* An accepted socket inherits its listener's control and begins with it. A socket that began with
 * BBR keeps its pacing timer after a change, and the last bytes of a message wait for this timer
 * (16 us instead of 5 at 8 KiB). So listeners have the control of near peers already, and the
 * system's is put back for others. */
void wio_tcp_sockopt_listener(struct tcp_iface *f, int fd)
{
    const char *name = f->base.p.cfg->tcp_congestion;
    socklen_t len = sizeof f->system_cc - 1;
    if (wio_os_getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, f->system_cc, &len) < 0)
        f->system_cc[0] = '\0';
    if (is_auto(name))
        set_near(fd);
    else if (!is_system(name))
        (void)set_congestion(fd, name); /* a failure is reported with the first link */
}

static void congestion(struct tcp_iface *f, int fd, const union tcp_addr *peer, bool accepted)
{
    const char *name = f->base.p.cfg->tcp_congestion;
    if (is_system(name))
        return;
    if (is_auto(name)) {
        if (wio_tcp_near(f, peer))
            set_near(fd);
        else if (accepted && f->system_cc[0] != '\0')
            (void)set_congestion(fd, f->system_cc);
        return;
    }
    int rc = set_congestion(fd, name);
    if (rc < 0)
        warn_congestion(f, name, rc);
}

static void set_int(int fd, int level, int name, int value)
{
    (void)wio_os_setsockopt(fd, level, name, &value, sizeof value);
}

/* Keepalive for idle links: the kernel probes the host, so a receive on an idle link also fails
 * within WAITIO_CONNECT_TIMEOUT when the host does not answer any more. */
static void keepalive(const struct tcp_iface *f, int fd)
{
    int64_t s = f->connect_timeout / 1000000000LL;
    int idle = s > 32767 * 3 ? 32767 : s < 3 ? 1 : (int)(s / 3);
    set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle);
    set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, idle > 1 ? idle / 2 : 1);
    set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

void wio_tcp_sockopt(struct tcp_iface *f, int fd, const union tcp_addr *peer, bool accepted)
{
    const struct wio_config *cfg = f->base.p.cfg;
    set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    keepalive(f, fd);
    int64_t send = sndbuf(f, peer);
    if (send > 0)
        set_int(fd, SOL_SOCKET, SO_SNDBUF, (int)send);
    if (cfg->tcp_rcvbuf > 0)
        set_int(fd, SOL_SOCKET, SO_RCVBUF,
                cfg->tcp_rcvbuf > INT32_MAX ? INT32_MAX : (int)cfg->tcp_rcvbuf);
    congestion(f, fd, peer, accepted);
}
