/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file near.c
 * Congestion control of relayed sockets, by the rule of the TCP transport (its sockopt.c says why):
 * near peers get a loss-based control, for far ones the administrator chooses; the listener has
 * that of near ones, so that no accepted socket begins with a pacing timer.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "boot/addresses.h"
#include "relay.h"

static int set(int fd, const char *name)
{
    return wio_os_setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name));
}

static void set_near(int fd)
{
    if (set(fd, "cubic") < 0)
        (void)set(fd, "reno");
}

static bool is(const struct relay *r, const char *word)
{
    return strcmp(r->cfg.tcp_congestion, word) == 0;
}

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;
    return memcmp(a, b, whole) == 0 && (rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0);
}

static bool is_near(const struct sockaddr_storage *peer)
{
    struct wio_os_ifaddr *list = NULL;
    struct wio_tab_addr a, mine;
    int n = 0;
    bool near = false;
    if (!wio_addr_from_sockaddr((const struct sockaddr *)peer, 0, &a) ||
        wio_os_ifaddrs(&list, &n) != 0)
        return false;
    for (int i = 0; i < n && !near; i++)
        near =
            wio_addr_from_sockaddr((const struct sockaddr *)&list[i].addr, list[i].prefix, &mine) &&
            mine.family == a.family && same_bits(a.ip, mine.ip, list[i].prefix);
    wio_os_free(list);
    return near;
}

void rl_near_listener(struct relay *r)
{
    socklen_t len = sizeof r->system_cc - 1;
    if (wio_os_getsockopt(r->listener.fd, IPPROTO_TCP, TCP_CONGESTION, r->system_cc, &len) < 0)
        r->system_cc[0] = '\0';
    if (is(r, "auto")) {
        set_near(r->listener.fd);
    } else if (!is(r, "system") && !is(r, "")) {
        int rc = set(r->listener.fd, r->cfg.tcp_congestion);
        if (rc < 0)
            wio_warn(&r->log, WIO_C_SERV,
                     "WAITIO_TCP_CONGESTION=%s cannot be used (%s): going on with the system's "
                     "choice",
                     r->cfg.tcp_congestion, strerror(-rc));
    }
}

void rl_near_accepted(const struct relay *r, int fd, const struct sockaddr_storage *peer)
{
    if (is(r, "auto") && r->system_cc[0] != '\0' && !is_near(peer))
        (void)set(fd, r->system_cc);
}
