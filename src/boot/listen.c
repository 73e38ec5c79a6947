/* SPDX-License-Identifier: BSD-3-Clause */
/** @file listen.c  A listener of the rendezvous or of a leader that passes the table on. */
#include <errno.h>
#include <netinet/in.h>

#include "boot/listen.h"
#include "os/os.h"

static int listen_on(const struct sockaddr *sa, socklen_t len, int *fd_out)
{
    int one = 1, off = 0, fd = wio_os_socket(sa->sa_family, SOCK_STREAM);
    if (fd < 0)
        return fd;
    wio_os_setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (sa->sa_family == AF_INET6)
        wio_os_setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    int rc = wio_os_bind(fd, sa, len);
    if (rc == 0)
        rc = wio_os_listen(fd, SOMAXCONN);
    if (rc != 0)
        wio_os_close(fd);
    else
        *fd_out = fd;
    return rc;
}

static int listen_any(uint16_t port, int *fd)
{
    struct sockaddr_in6 six = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_any};
    int rc = listen_on((const struct sockaddr *)&six, sizeof six, fd);
    if (rc == 0 || rc == -EADDRINUSE)
        return rc;
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    return listen_on((const struct sockaddr *)&four, sizeof four, fd); /* a machine without IPv6 */
}

int wio_boot_listen(const char *bind_host, uint16_t *port, int *fd)
{
    struct sockaddr_storage sa;
    const char *why = NULL;
    socklen_t len = sizeof sa;
    int rc;
    if (bind_host == NULL) {
        rc = listen_any(*port, fd);
    } else {
        rc = wio_os_resolve(bind_host, *port, &sa, 1, &why);
        if (rc <= 0)
            return wio_fail(WAITIO_ERR_CONFIG, "cannot resolve '%s' to listen there: %s", bind_host,
                            why != NULL ? why : "no address");
        rc = listen_on(
            (struct sockaddr *)&sa,
            sa.ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6), fd);
    }
    if (rc == -EADDRINUSE)
        return wio_fail(WAITIO_ERR_JOIN,
                        "port %u is taken by another program; choose another WAITIO_MASTER_PORT",
                        *port);
    if (rc != 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc, "rendezvous cannot listen on %s port %u",
                           bind_host != NULL ? bind_host : "any address", *port);
    rc = wio_os_sockname(*fd, &sa, &len);
    if (rc != 0) {
        wio_os_close(*fd);
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc, "getsockname");
    }
    *port = ntohs(sa.ss_family == AF_INET ? ((struct sockaddr_in *)&sa)->sin_port
                                          : ((struct sockaddr_in6 *)&sa)->sin6_port);
    return 0;
}
