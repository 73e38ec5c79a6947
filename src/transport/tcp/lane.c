/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file lane.c
 * Connections beside the link of a peer, for the data of long messages: one for each further device
 * that WAITIO_NETDEV names, or as many as WAITIO_LANES says. A lane is a link of its own under the
 * same peer: the same handshake (which names the lane), states, goodbyes and cap, but it is not
 * made anew when it breaks, and it waits for no place: nothing but speed depends on it.
 */
#include <netinet/tcp.h>

#include "tcp.h"

/* ---- devices ---- */

static bool from_sockaddr(const struct sockaddr_storage *ss, struct wio_tab_addr *a)
{
    memset(a, 0, sizeof *a);
    if (ss->ss_family == AF_INET) {
        a->family = 4;
        memcpy(a->ip, &((const struct sockaddr_in *)(const void *)ss)->sin_addr, 4);
        return true;
    }
    if (ss->ss_family != AF_INET6)
        return false;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)ss;
    a->family = 6;
    a->scope = six->sin6_scope_id;
    memcpy(a->ip, &six->sin6_addr, 16);
    return true;
}

static bool same_ip(const struct wio_tab_addr *a, const struct wio_tab_addr *b)
{
    return a->family == b->family && memcmp(a->ip, b->ip, a->family == 4 ? 4 : 16) == 0;
}

/* An address of ours belongs to this device. */
static void add_address(struct tcp_iface *f, const char *name, const struct wio_tab_addr *a)
{
    int i = 0;
    while (i < f->ndevices && strcmp(f->device[i].name, name) != 0)
        i++;
    struct tcp_device *d = &f->device[i];
    if (i == f->ndevices) {
        wio_text(d->name, sizeof d->name, "%s", name);
        f->ndevices++;
    }
    if (d->naddr < WIO_HOST_ADDRS)
        d->addr[d->naddr++] = *a;
}

int wio_tcp_lanes_open(struct tcp_iface *f)
{
    struct wio_config own = *f->base.p.cfg;
    struct wio_tab_host h = {0};
    struct wio_os_ifaddr *list = NULL;
    int n = 0;
    f->lanes_asked = (int)own.lanes;
    own.advertise[0] = '\0';
    if (own.netdev[0] == '\0' || f->lanes_asked == 1)
        return 0;
    int rc = wio_boot_addresses(&own, f->base.p.log, &h);
    if (rc < 0)
        return rc;
    f->device = wio_os_alloc(WIO_HOST_ADDRS * sizeof *f->device);
    if (f->device == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for the TCP transport");
    rc = wio_os_ifaddrs(&list, &n);
    if (rc != 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc, "cannot list the network devices");
    for (uint32_t i = 0; i < h.naddr; i++) {
        struct wio_tab_addr a;
        for (int k = 0; k < n; k++)
            if (from_sockaddr(&list[k].addr, &a) && same_ip(&a, &h.addr[i])) {
                add_address(f, list[k].name, &h.addr[i]);
                break;
            }
    }
    wio_os_free(list);
    return 0;
}

/* Within a host the devices are not what limits. */
int wio_tcp_lanes_wanted(const struct tcp_iface *f, const union tcp_addr *to)
{
    int n = f->lanes_asked > 0 ? f->lanes_asked : wio_tcp_here(f, to) ? 1 : f->ndevices;
    return n > WIO_LANES ? WIO_LANES : n < 1 ? 1 : n;
}

/* Which one does a socket go by? @return from 1; 0: unknown */
static unsigned device_of(const struct tcp_iface *f, int fd)
{
    struct sockaddr_storage ss;
    socklen_t len = sizeof ss;
    struct wio_tab_addr a;
    if (f->ndevices == 0 || fd < 0 || wio_os_sockname(fd, &ss, &len) < 0 || !from_sockaddr(&ss, &a))
        return 0;
    for (int i = 0; i < f->ndevices; i++)
        for (int k = 0; k < f->device[i].naddr; k++)
            if (same_ip(&f->device[i].addr[k], &a))
                return (unsigned)i + 1;
    return 0;
}

/* The one that carries the fewest connections to this peer. */
static unsigned spare_device(struct tcp_iface *f, const struct tcp_link *link)
{
    int used[WIO_HOST_ADDRS + 1] = {0};
    int best = 0;
    for (unsigned lane = 0; lane < WIO_LANES; lane++) {
        const struct tcp_link *l = lane == 0 ? link : wio_tcp_link_find(f, link->ep.peer, lane);
        if (l != NULL && l->state < TCP_CLOSED)
            used[l->dev != 0 ? l->dev : device_of(f, l->fd)]++;
    }
    for (int i = 1; i <= f->ndevices; i++)
        if (best == 0 || used[i] < used[best])
            best = i;
    return (unsigned)best;
}

/* ---- where to ---- */

static void tab_of(const union tcp_addr *a, struct wio_tab_addr *out)
{
    struct sockaddr_storage ss = {0};
    memcpy(&ss, a, sizeof *a);
    (void)from_sockaddr(&ss, out);
}

static bool same_net(const struct wio_tab_addr *mine, const struct wio_tab_addr *theirs)
{
    unsigned bits = mine->prefix, all = mine->family == 4 ? 32 : 128;
    if (mine->family != theirs->family || bits == 0 || bits > all)
        return false;
    unsigned bytes = bits / 8, rest = bits % 8;
    return memcmp(mine->ip, theirs->ip, bytes) == 0 &&
           (rest == 0 || (mine->ip[bytes] ^ theirs->ip[bytes]) >> (8 - rest) == 0);
}

/* Its network is that of every device. */
static bool link_local(const struct wio_tab_addr *a)
{
    return a->family == 6 ? a->ip[0] == 0xfe && (a->ip[1] & 0xc0) == 0x80
                          : a->ip[0] == 169 && a->ip[1] == 254;
}

enum fit { FITS_NOT, FITS_HOME, FITS_FAMILY, FITS_NET };

/* How well does an address of the peer suit this device? */
static enum fit fit_of(const struct tcp_device *d, const struct wio_tab_addr *theirs, bool home)
{
    enum fit fit = home ? FITS_HOME : FITS_NOT;
    if (link_local(theirs))
        return fit;
    for (int k = 0; k < d->naddr; k++) {
        if (same_net(&d->addr[k], theirs))
            return FITS_NET;
        if (!home && d->addr[k].family == theirs->family)
            fit = FITS_FAMILY;
    }
    return fit;
}

/* The address of the peer for a lane: in the device's network; else another one than the link's;
 * else that. @return false: none */
static bool aim(struct tcp_iface *f, const struct tcp_link *link, unsigned dev, union tcp_addr *to)
{
    union tcp_addr a[WIO_HOST_ADDRS];
    struct wio_tab_addr home, theirs;
    int n = wio_tcp_peer_addrs(f, link->ep.peer, a, WIO_HOST_ADDRS);
    enum fit best = FITS_NOT;
    tab_of(&link->addr, &home);
    for (int i = 0; i < n; i++) {
        tab_of(&a[i], &theirs);
        bool is_home = same_ip(&home, &theirs);
        enum fit fit = dev == 0 ? (is_home ? FITS_HOME : FITS_NOT)
                                : fit_of(&f->device[dev - 1], &theirs, is_home);
        if (fit > best) {
            best = fit;
            *to = a[i];
        }
    }
    if (best == FITS_NOT && n > 0)
        *to = a[0];
    return n > 0;
}

/* ---- making one ---- */

static void few_unsent(int fd)
{
    int most = TCP_LANE_UNSENT;
    (void)wio_os_setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &most, sizeof most);
}

static int start(struct tcp_link *link, unsigned lane, struct wio_ep **beside)
{
    struct tcp_iface *f = tcp_of(link);
    union tcp_addr to;
    unsigned dev = spare_device(f, link);
    if (!aim(f, link, dev, &to))
        return WAITIO_ERR_UNSUPPORTED;
    struct tcp_link *l = wio_tcp_link_new(f, link->ep.peer, lane);
    if (l == NULL)
        return WAITIO_ERR_NOMEM;
    l->addr = to;
    l->dev = (uint8_t)dev;
    l->known = true;
    f->in_connect = true;
    wio_tcp_dial(l);
    f->in_connect = false;
    if (l->state == TCP_CLOSED) {
        wio_tcp_link_free(l);
        return WAITIO_ERR_LIMIT;
    }
    few_unsent(link->fd);
    *beside = &l->ep;
    return 0;
}

int wio_tcp_lane(struct wio_ep *ep, unsigned lane, struct wio_ep **beside)
{
    struct tcp_link *link = tcp_link_of(ep);
    struct tcp_iface *f = tcp_of(link);
    if (link->via != 0 || (int)lane >= wio_tcp_lanes_wanted(f, &link->addr))
        return WAITIO_ERR_UNSUPPORTED;
    if (link->state != TCP_READY)
        return WAITIO_ERR_BUSY;
    struct tcp_link *l = wio_tcp_link_find(f, ep->peer, lane);
    if (l == NULL)
        return start(link, lane, beside);
    if (l->ep.state >= WIO_EP_CLOSING)
        return WAITIO_ERR_BUSY;
    l->known = true;
    *beside = &l->ep;
    return 0;
}

void wio_tcp_lane_bind(const struct tcp_link *l, int fd, const union tcp_addr *to)
{
    const struct tcp_iface *f = tcp_of(l);
    if (l->dev == 0 || wio_tcp_here(f, to))
        return;
    const struct tcp_device *d = &f->device[l->dev - 1];
    /* A device that the system does not let us choose is chosen by its routes. */
    (void)wio_os_setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, d->name, (socklen_t)strlen(d->name));
    for (int k = 0; k < d->naddr; k++) {
        union tcp_addr from;
        bool v6 = d->addr[k].family == 6;
        if (v6 != (to->sa.sa_family == AF_INET6))
            continue;
        memset(&from, 0, sizeof from);
        if (v6) {
            from.in6.sin6_family = AF_INET6;
            from.in6.sin6_scope_id = d->addr[k].scope;
            memcpy(&from.in6.sin6_addr, d->addr[k].ip, 16);
        } else {
            from.in4.sin_family = AF_INET;
            memcpy(&from.in4.sin_addr, d->addr[k].ip, 4);
        }
        (void)wio_os_bind(fd, &from.sa, v6 ? sizeof from.in6 : sizeof from.in4);
        return;
    }
}

void wio_tcp_lane_adopted(struct tcp_link *l)
{
    struct tcp_iface *f = tcp_of(l);
    const struct tcp_link *link = wio_tcp_link_find(f, l->ep.peer, 0);
    few_unsent(l->fd);
    if (link != NULL && link->fd >= 0)
        few_unsent(link->fd);
    l->dev = (uint8_t)device_of(f, l->fd);
}

static int lane_run(struct tcp_link *l)
{
    if (l->pending && !l->write_failed) {
        l->can_write = true;
        wio_tcp_tx_run(l);
    }
    if (l->looks == 0 || !tcp_can_read(l))
        return 0;
    l->looks--;
    return wio_tcp_rx_run(l);
}

int wio_tcp_lanes_run(struct tcp_link *link)
{
    struct tcp_iface *f = tcp_of(link);
    int n = 0;
    for (unsigned k = 1; k < f->lane_top && link->ep.lane == 0 && !f->stop; k++) {
        struct tcp_link *l = wio_tcp_link_find(f, link->ep.peer, k);
        if (l != NULL && l->state == TCP_READY)
            n += lane_run(l);
    }
    return n;
}

void wio_tcp_lane_refused(struct tcp_link *l, const char *why)
{
    char name[96], text[160];
    wio_text(text, sizeof text, "%s", why);
    wio_tcp_link_over(l, WAITIO_ERR_LIMIT, "%s: %s", wio_tcp_link_name(l, name, sizeof name), text);
}

int wio_tcp_link_ways(struct tcp_link *l, struct tcp_way out[TCP_WAYS])
{
    if (l->ep.lane == 0)
        return wio_tcp_ways(tcp_of(l), l->ep.peer, out);
    out[0] = (struct tcp_way){.addr = l->addr};
    return 1;
}
