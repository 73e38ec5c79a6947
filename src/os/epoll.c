/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for events. */
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "os/fault.h"

int wio_os_epoll_create(void)
{
    int refused = wio_os_refuse(WIO_OS_EPOLL, -1, 0);
    if (refused)
        return refused;
    int fd = epoll_create1(EPOLL_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int wio_os_epoll_ctl(int epfd, int op, int fd, uint32_t events, void *ptr)
{
    int refused = wio_os_refuse(WIO_OS_EPOLL, fd, 0);
    if (refused)
        return refused;
    struct epoll_event ev = {.events = events, .data.ptr = ptr};
    return epoll_ctl(epfd, op, fd, &ev) < 0 ? -errno : 0;
}

void wio_os_epoll_close(int fd, int epfd, int other)
{
    if (fd < 0)
        return;
    (void)epoll_ctl(epfd, EPOLL_CTL_DEL, fd, NULL); /* in neither: also fine */
    (void)epoll_ctl(other, EPOLL_CTL_DEL, fd, NULL);
    wio_os_close(fd);
}

int wio_os_epoll_wait(int epfd, struct epoll_event *ev, int max, int timeout_ms)
{
    int refused = wio_os_refuse(WIO_OS_EPOLL, epfd, 0);
    if (refused)
        return refused;
    int n = epoll_wait(epfd, ev, max, timeout_ms);
    if (n < 0)
        return errno == EINTR ? 0 : -errno;
    return n;
}

int wio_os_eventfd(void)
{
    int refused = wio_os_refuse(WIO_OS_EPOLL, -1, 0);
    if (refused)
        return refused;
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

void wio_os_eventfd_set(int fd)
{
    uint64_t one = 1;
    /* EAGAIN means that the counter is full, hence set already. */
    while (write(fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

void wio_os_eventfd_clear(int fd)
{
    uint64_t count;
    while (read(fd, &count, sizeof count) < 0 && errno == EINTR)
        ;
}

int wio_os_poll_in(const int *fds, int n, int64_t timeout_ns)
{
    enum { MOST = 16 };
    if (n < 0 || n > MOST)
        return -EINVAL;
    struct pollfd polled[MOST];
    for (int i = 0; i < n; i++)
        polled[i] = (struct pollfd){.fd = fds[i], .events = POLLIN | POLLRDHUP};
    struct timespec timeout = {.tv_sec = timeout_ns / 1000000000,
                               .tv_nsec = timeout_ns % 1000000000};
    int ready = ppoll(polled, (nfds_t)n, timeout_ns < 0 ? NULL : &timeout, NULL);
    if (ready < 0)
        return errno == EINTR ? 0 : -errno;
    int mask = 0;
    for (int i = 0; i < n; i++) {
        if (polled[i].revents & POLLNVAL)
            return -EBADF;
        if (polled[i].revents != 0)
            mask |= 1 << i;
    }
    return mask;
}
