/* SPDX-License-Identifier: BSD-3-Clause */
/* Interfaces, names, routes. */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "os/fault.h"

static socklen_t address_size(int family)
{
    return family == AF_INET    ? sizeof(struct sockaddr_in)
           : family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                : 0;
}

static uint8_t count_bits(const uint8_t *mask, int bytes)
{
    int bits = 0;
    for (int i = 0; i < bytes; i++)
        bits += __builtin_popcount(mask[i]);
    return (uint8_t)bits;
}

static uint8_t prefix_of(const struct sockaddr *mask)
{
    if (mask == NULL)
        return 0;
    if (mask->sa_family == AF_INET)
        return count_bits((const uint8_t *)&((const struct sockaddr_in *)mask)->sin_addr, 4);
    return count_bits((const uint8_t *)&((const struct sockaddr_in6 *)mask)->sin6_addr, 16);
}

static void fill_ifaddr(struct wio_os_ifaddr *out, const struct ifaddrs *from)
{
    snprintf(out->name, sizeof out->name, "%s", from->ifa_name);
    memcpy(&out->addr, from->ifa_addr, address_size(from->ifa_addr->sa_family));
    out->prefix = prefix_of(from->ifa_netmask);
    out->up = (from->ifa_flags & IFF_UP) != 0 && (from->ifa_flags & IFF_RUNNING) != 0;
    out->loopback = (from->ifa_flags & IFF_LOOPBACK) != 0;
}

static bool has_address(const struct ifaddrs *from)
{
    return from->ifa_addr != NULL && address_size(from->ifa_addr->sa_family) != 0;
}

int wio_os_ifaddrs(struct wio_os_ifaddr **list, int *n)
{
    int refused = wio_os_refuse(WIO_OS_SOCKET, -1, 0);
    if (refused)
        return refused;
    struct ifaddrs *all;
    if (getifaddrs(&all) < 0)
        return -errno;
    int count = 0;
    for (struct ifaddrs *it = all; it != NULL; it = it->ifa_next)
        count += has_address(it);
    struct wio_os_ifaddr *out = wio_os_alloc((size_t)count * sizeof *out);
    if (out == NULL) {
        freeifaddrs(all);
        return -ENOMEM;
    }
    int i = 0;
    for (struct ifaddrs *it = all; it != NULL; it = it->ifa_next)
        if (has_address(it))
            fill_ifaddr(&out[i++], it);
    freeifaddrs(all);
    *list = out;
    *n = count;
    return 0;
}

static int resolve_errno(int error)
{
    switch (error) {
    case EAI_MEMORY:
        return -ENOMEM;
    case EAI_AGAIN:
        return -EAGAIN;
    case EAI_SYSTEM:
        return errno != 0 ? -errno : -EIO;
    case EAI_NONAME:
    case EAI_NODATA:
        return -ENOENT;
    default:
        return -EIO;
    }
}

int wio_os_resolve(const char *host, uint16_t port, struct sockaddr_storage *out, int max,
                   const char **why)
{
    *why = "";
    int refused = wio_os_refuse(WIO_OS_SOCKET, -1, 0);
    if (refused) {
        *why = "injected fault";
        return refused;
    }
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    char service[8];
    snprintf(service, sizeof service, "%u", (unsigned)port);
    hints.ai_flags = AI_NUMERICSERV;
    int error = getaddrinfo(host, service, &hints, &found);
    if (error != 0) {
        *why = gai_strerror(error);
        return resolve_errno(error);
    }
    int count = 0;
    for (struct addrinfo *it = found; it != NULL && count < max; it = it->ai_next) {
        if (address_size(it->ai_family) == 0 || it->ai_addrlen > sizeof *out)
            continue;
        memset(&out[count], 0, sizeof *out);
        memcpy(&out[count++], it->ai_addr, it->ai_addrlen);
    }
    freeaddrinfo(found);
    if (count == 0) {
        *why = "the name has no internet address";
        return -ENOENT;
    }
    return count;
}

int wio_os_hostname(char *buf, size_t n)
{
    if (n == 0)
        return -EINVAL;
    if (gethostname(buf, n) < 0)
        return -errno;
    buf[n - 1] = '\0'; /* a name that is cut may come without its end */
    return (int)strlen(buf);
}

int wio_os_working_directory(char *buf, size_t n)
{
    return getcwd(buf, n) == NULL ? -errno : 0;
}

int wio_os_read_line(const char *path, char *buf, size_t n)
{
    int fd = wio_os_open_read(path);
    if (fd < 0)
        return fd;
    ssize_t got = wio_os_read(fd, buf, n - 1);
    wio_os_close(fd);
    if (got < 0)
        return (int)got;
    buf[got] = '\0';
    buf[strcspn(buf, "\r\n")] = '\0';
    return (int)strlen(buf);
}

int wio_os_host_identity(char *buf, size_t n)
{
    char boot[80], net[80];
    /* Without a boot id the host name must do; two hosts of one name would then look alike. */
    if (wio_os_read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot) <= 0) {
        int r = wio_os_hostname(boot, sizeof boot);
        if (r < 0)
            return r;
    }
    ssize_t len = readlink("/proc/self/ns/net", net, sizeof net - 1);
    net[len > 0 ? len : 0] = '\0';
    int r = snprintf(buf, n, "%s/%s", boot, net);
    return r < 0 ? -EIO : (size_t)r >= n ? -ENAMETOOLONG : r;
}

bool wio_os_port_is_ephemeral(unsigned port)
{
    char line[64];
    unsigned low, high;
    return wio_os_read_line("/proc/sys/net/ipv4/ip_local_port_range", line, sizeof line) > 0 &&
           sscanf(line, "%u %u", &low, &high) == 2 && port >= low && port <= high;
}

int wio_os_route_source(const struct sockaddr *to, socklen_t len, struct sockaddr_storage *src,
                        socklen_t *srclen)
{
    int fd = wio_os_socket(to->sa_family, SOCK_DGRAM);
    if (fd < 0)
        return fd;
    int r = wio_os_connect(fd, to, len);
    if (r == 0)
        r = wio_os_sockname(fd, src, srclen);
    wio_os_close(fd);
    return r;
}
