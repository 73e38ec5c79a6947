/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "boot/addresses.h"
#include "os/os.h"

struct devices {
    struct wio_os_ifaddr *list;
    int n;
};

/* ---- small things ---- */

bool wio_addr_from_sockaddr(const struct sockaddr *sa, uint8_t prefix, struct wio_tab_addr *out)
{
    static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    memset(out, 0, sizeof *out);
    out->prefix = prefix;
    if (sa->sa_family == AF_INET) {
        out->family = 4;
        memcpy(out->ip, &((const struct sockaddr_in *)(const void *)sa)->sin_addr, 4);
        out->loopback = out->ip[0] == 127;
        return true;
    }
    if (sa->sa_family != AF_INET6)
        return false;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)sa;
    const uint8_t *ip = six->sin6_addr.s6_addr;
    if (memcmp(ip, mapped, sizeof mapped) == 0) {
        out->family = 4;
        out->prefix = prefix >= 96 ? (uint8_t)(prefix - 96) : 0;
        memcpy(out->ip, ip + 12, 4);
        out->loopback = out->ip[0] == 127;
        return true;
    }
    out->family = 6;
    out->scope = six->sin6_scope_id;
    memcpy(out->ip, ip, 16);
    out->loopback = IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
    return true;
}

bool wio_addr_is_loopback(const struct sockaddr *sa)
{
    struct wio_tab_addr a;
    return wio_addr_from_sockaddr(sa, 0, &a) && a.loopback;
}

void wio_addr_text(const struct wio_tab_addr *a, char *buf, size_t n)
{
    char ip[INET6_ADDRSTRLEN] = "?";
    inet_ntop(a->family == 4 ? AF_INET : AF_INET6, a->ip, ip, sizeof ip);
    if (a->scope != 0)
        wio_text(buf, n, "%s%%%u", ip, a->scope);
    else
        wio_text(buf, n, "%s", ip);
}

static bool same_ip(const struct wio_tab_addr *a, const struct wio_tab_addr *b)
{
    return a->family == b->family && memcmp(a->ip, b->ip, a->family == 4 ? 4 : 16) == 0 &&
           (a->family == 4 || a->scope == 0 || b->scope == 0 || a->scope == b->scope);
}

bool wio_addr_any_local(const struct sockaddr_storage *sa, int n)
{
    struct wio_os_ifaddr *list = NULL;
    int count = 0;
    bool local = false;
    if (wio_os_ifaddrs(&list, &count) != 0)
        count = 0;
    for (int i = 0; i < n && !local; i++) {
        struct wio_tab_addr a, b;
        if (!wio_addr_from_sockaddr((const struct sockaddr *)&sa[i], 0, &a))
            continue;
        local = a.loopback != 0;
        for (int k = 0; k < count && !local; k++)
            local =
                wio_addr_from_sockaddr((struct sockaddr *)&list[k].addr, 0, &b) && same_ip(&a, &b);
    }
    wio_os_free(list);
    return local;
}

uint64_t wio_host_identity(void)
{
    char text[256];
    if (wio_os_host_identity(text, sizeof text) < 0 && wio_os_hostname(text, sizeof text) < 0)
        text[0] = '\0';
    uint64_t h = wio_hash_bytes(UINT64_C(0x686f7374), text, strlen(text));
    return h != 0 ? h : 1;
}

/* ---- the list to publish ---- */

static void add(struct wio_tab_host *h, const struct wio_tab_addr *a)
{
    for (uint32_t i = 0; i < h->naddr; i++) {
        if (!same_ip(&h->addr[i], a))
            continue;
        if (h->addr[i].prefix == 0)
            h->addr[i].prefix = a->prefix;
        return;
    }
    if (h->naddr < WIO_HOST_ADDRS)
        h->addr[h->naddr++] = *a;
}

static bool add_device(struct wio_tab_host *h, const struct wio_os_ifaddr *d)
{
    struct wio_tab_addr a;
    if (!d->up || !wio_addr_from_sockaddr((const struct sockaddr *)&d->addr, d->prefix, &a))
        return false;
    a.loopback |= d->loopback;
    add(h, &a);
    return true;
}

static bool link_local(const struct wio_os_ifaddr *d)
{
    struct wio_tab_addr a;
    return wio_addr_from_sockaddr((const struct sockaddr *)&d->addr, 0, &a) &&
           (a.family == 6 ? a.ip[0] == 0xfe && (a.ip[1] & 0xc0) == 0x80
                          : a.ip[0] == 169 && a.ip[1] == 254);
}

/* Bridges of containers and virtual machines have the same addresses on every host. */
static bool private_bridge(const struct wio_os_ifaddr *d)
{
    static const char *const prefixes[] = {"docker", "virbr", "br-",  "cni",
                                           "podman", "lxcbr", "lxdbr"};
    for (size_t i = 0; i < WIO_ARRAY_LEN(prefixes); i++)
        if (strncmp(d->name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

/* Later addresses are less likely to be reachable from other hosts. */
static int class_of(const struct wio_os_ifaddr *d)
{
    bool six = d->addr.ss_family == AF_INET6;
    if (d->loopback)
        return 3 + six;
    if (private_bridge(d))
        return 6;
    return link_local(d) ? 5 : six;
}

static void add_rest(struct wio_tab_host *h, const struct devices *dev)
{
    for (int c = 0; c <= 6; c++)
        for (int i = 0; i < dev->n; i++)
            if (class_of(&dev->list[i]) == c)
                add_device(h, &dev->list[i]);
}

static void add_route(const struct wio_config *cfg, struct wio_log *lg, struct wio_tab_host *h,
                      const struct devices *dev)
{
    struct sockaddr_storage to[4], src;
    const char *why = NULL;
    socklen_t len = sizeof src;
    int n = cfg->master_host[0] != '\0'
                ? wio_os_resolve(cfg->master_host, (uint16_t)cfg->master_port, to, 4, &why)
                : 0;
    for (int i = 0; i < n; i++) {
        struct wio_tab_addr a, b;
        socklen_t tolen =
            to[i].ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
        len = sizeof src;
        if (wio_os_route_source((struct sockaddr *)&to[i], tolen, &src, &len) < 0 ||
            !wio_addr_from_sockaddr((struct sockaddr *)&src, 0, &a) || a.loopback)
            continue;
        for (int k = 0; k < dev->n; k++)
            if (wio_addr_from_sockaddr((struct sockaddr *)&dev->list[k].addr, dev->list[k].prefix,
                                       &b) &&
                same_ip(&a, &b))
                a.prefix = b.prefix;
        add(h, &a);
    }
    if (n < 0)
        wio_debug(lg, WIO_C_BOOT, "cannot resolve WAITIO_MASTER_HOST='%s' yet: %s",
                  cfg->master_host, why != NULL ? why : "no address");
}

/* ---- WAITIO_NETDEV ---- */

static int no_device(const struct devices *dev, const char *item)
{
    struct wio_strbuf sb = {0};
    for (int i = 0; i < dev->n; i++) {
        struct wio_tab_addr a;
        char ip[80];
        if (!dev->list[i].up ||
            !wio_addr_from_sockaddr((struct sockaddr *)&dev->list[i].addr, 0, &a))
            continue;
        wio_addr_text(&a, ip, sizeof ip);
        wio_strbuf_add(&sb, "%s%s %s/%u", sb.len > 0 ? ", " : "", dev->list[i].name, ip,
                       dev->list[i].prefix);
    }
    int rc =
        wio_fail(WAITIO_ERR_CONFIG,
                 "WAITIO_NETDEV: no device, address or subnet here matches '%s'; this host has: %s",
                 item, sb.text != NULL && !sb.failed ? sb.text : "none");
    wio_strbuf_free(&sb);
    return rc;
}

static bool same_subnet(const struct wio_tab_addr *a, const struct wio_tab_addr *net, int bits)
{
    if (a->family != net->family)
        return false;
    for (int i = 0; bits > 0; i++, bits -= 8) {
        uint8_t mask = bits >= 8 ? 0xff : (uint8_t)(0xff << (8 - bits));
        if (((a->ip[i] ^ net->ip[i]) & mask) != 0)
            return false;
    }
    return true;
}

/* "10.1.0.0/16" or "10.1.2.3" or "fd00::/64". @return prefix bits, -1 = not an address */
static int parse_subnet(const char *item, struct wio_tab_addr *net)
{
    char ip[64];
    const char *slash = strchr(item, '/');
    size_t n = slash != NULL ? (size_t)(slash - item) : strlen(item);
    if (n >= sizeof ip)
        return -1;
    memcpy(ip, item, n);
    ip[n] = '\0';
    memset(net, 0, sizeof *net);
    net->family = inet_pton(AF_INET, ip, net->ip) == 1    ? 4
                  : inet_pton(AF_INET6, ip, net->ip) == 1 ? 6
                                                          : 0;
    int full = net->family == 4 ? 32 : 128;
    if (net->family == 0 || slash == NULL)
        return net->family == 0 ? -1 : full;
    char *end = NULL;
    long bits = strtol(slash + 1, &end, 10);
    return end == slash + 1 || *end != '\0' || bits < 0 || bits > full ? -1 : (int)bits;
}

static int add_netdev(struct wio_tab_host *h, const struct devices *dev, const char *item)
{
    struct wio_tab_addr net, a;
    int bits = parse_subnet(item, &net);
    bool found = false;
    for (int pass = 0; pass < 2; pass++) { /* link-local ones last */
        for (int i = 0; i < dev->n; i++) {
            const struct wio_os_ifaddr *d = &dev->list[i];
            if (!wio_addr_from_sockaddr((const struct sockaddr *)&d->addr, 0, &a) ||
                link_local(d) != (pass == 1))
                continue;
            if (bits >= 0 ? same_subnet(&a, &net, bits) : strcmp(d->name, item) == 0)
                found |= add_device(h, d);
        }
    }
    return found ? 0 : no_device(dev, item);
}

static int add_advertised(struct wio_tab_host *h, const struct devices *dev, const char *item)
{
    struct sockaddr_storage sa[WIO_HOST_ADDRS];
    struct wio_tab_addr a;
    const char *why = NULL;
    (void)dev;
    int n = wio_os_resolve(item, 0, sa, WIO_HOST_ADDRS, &why);
    if (n <= 0)
        return wio_fail(WAITIO_ERR_CONFIG, "WAITIO_ADVERTISE: cannot resolve '%s': %s", item,
                        why != NULL ? why : "no address");
    for (int i = 0; i < n; i++)
        if (wio_addr_from_sockaddr((struct sockaddr *)&sa[i], 0, &a))
            add(h, &a);
    return 0;
}

static int each_item(const char *list, struct wio_tab_host *h, const struct devices *dev,
                     int (*take)(struct wio_tab_host *, const struct devices *, const char *))
{
    char item[256];
    int rc = 0;
    while (rc == 0 && *list != '\0') {
        size_t n = strcspn(list, ", ");
        if (n >= sizeof item)
            return wio_fail(WAITIO_ERR_CONFIG, "an item of '%.60s' is too long", list);
        memcpy(item, list, n);
        item[n] = '\0';
        if (n > 0)
            rc = take(h, dev, item);
        list += n + strspn(list + n, ", ");
    }
    return rc;
}

int wio_boot_addresses(const struct wio_config *cfg, struct wio_log *lg, struct wio_tab_host *host)
{
    struct devices dev = {NULL, 0};
    memset(host, 0, sizeof *host);
    int rc = wio_os_ifaddrs(&dev.list, &dev.n);
    if (rc != 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc, "cannot list the network devices");
    if (cfg->netdev[0] != '\0')
        rc = each_item(cfg->netdev, host, &dev, add_netdev);
    if (rc == 0 && cfg->netdev[0] != '\0' && host->naddr == 0)
        rc = no_device(&dev, cfg->netdev); /* nothing but commas */
    if (rc == 0 && cfg->advertise[0] != '\0') {
        memset(host, 0, sizeof *host);
        rc = each_item(cfg->advertise, host, &dev, add_advertised);
        if (rc == 0 && host->naddr == 0)
            rc = wio_fail(WAITIO_ERR_CONFIG,
                          "WAITIO_ADVERTISE='%s' names no address: give one, or unset it",
                          cfg->advertise);
    } else if (rc == 0 && cfg->netdev[0] == '\0') {
        add_route(cfg, lg, host, &dev);
        add_rest(host, &dev);
    }
    wio_os_free(dev.list);
    host->identity = wio_host_identity();
    for (uint32_t i = 0; i < host->naddr && rc == 0; i++) {
        char ip[80];
        wio_addr_text(&host->addr[i], ip, sizeof ip);
        wio_debug(lg, WIO_C_BOOT, "address %u to publish: %s/%u%s", i, ip, host->addr[i].prefix,
                  host->addr[i].loopback ? " (this host only)" : "");
    }
    return rc;
}
