/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel's data about a TCP connection. */
#include <errno.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>

#include "os/os.h"

#define KNOWS(len, field)                                                                          \
    ((len) >= offsetof(struct tcp_info, field) + sizeof(((struct tcp_info *)0)->field))

int wio_os_tcp_info(int fd, struct wio_os_tcp_info *info)
{
    struct tcp_info ti;
    socklen_t len = sizeof ti;
    memset(&ti, 0, sizeof ti);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &ti, &len) < 0)
        return -errno;
    if (!KNOWS(len, tcpi_rtt))
        return -EOPNOTSUPP;
    info->unacked = ti.tcpi_unacked;
    info->last_ack_ns = (int64_t)ti.tcpi_last_ack_recv * 1000000;
    info->last_data_recv_ns = (int64_t)ti.tcpi_last_data_recv * 1000000;
    info->rtt_us = ti.tcpi_rtt;
    info->retransmits = ti.tcpi_retransmits;
    info->probes = ti.tcpi_probes;
    info->notsent = ti.tcpi_notsent_bytes;
    if (!KNOWS(len, tcpi_notsent_bytes)) { /* before Linux 4.6 */
        int queued = 0;
        if (ioctl(fd, SIOCOUTQNSD, &queued) < 0)
            return -errno;
        info->notsent = (uint32_t)queued;
    }
    return 0;
}
