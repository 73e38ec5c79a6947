/* SPDX-License-Identifier: BSD-3-Clause */
/** @file run.c  The handshake for callers that may block. */
#include <errno.h>

#include "auth/auth.h"
#include "os/os.h"

#define NS_PER_MS 1000000

/* @return 0, or -errno when the connection is broken */
static int write_some(struct wio_auth *a, int fd)
{
    const void *buf;
    size_t n = wio_auth_output(a, &buf);
    if (n == 0)
        return 0;
    ssize_t got = wio_os_send(fd, buf, n);
    if (got >= 0)
        wio_auth_sent(a, (size_t)got);
    return got >= 0 || got == -EAGAIN ? 0 : (int)got;
}

/* @return whether bytes came */
static bool read_some(struct wio_auth *a, int fd)
{
    uint8_t buf[WIO_AUTH_MESSAGE_MAX];
    size_t want = wio_auth_want(a);
    if (want == 0)
        return false;
    ssize_t got = wio_os_recv(fd, buf, want < sizeof buf ? want : sizeof buf);
    if (got > 0)
        wio_auth_input(a, buf, (size_t)got);
    else if (got != -EAGAIN)
        wio_auth_eof(a, (int)got);
    return got > 0;
}

/* One round: write what is there, read what came. When writing fails, the other side's refusal may
 * still lie in our socket, so what can be read decides. */
static void exchange(struct wio_auth *a, int fd)
{
    int rc = write_some(a, fd);
    while (read_some(a, fd))
        ;
    if (rc < 0)
        wio_auth_eof(a, rc);
    else if (a->state == WIO_AUTH_RUNNING)
        write_some(a, fd); /* the answer to what was just read; an error shows in the next round */
}

static int wait_ready(const struct wio_auth *a, int epfd, int fd, int64_t deadline_ns)
{
    const void *buf;
    struct epoll_event ev;
    uint32_t events = (wio_auth_output(a, &buf) > 0 ? (uint32_t)EPOLLOUT : 0) |
                      (wio_auth_want(a) > 0 ? (uint32_t)EPOLLIN : 0);
    int64_t left = deadline_ns - wio_os_now_ns();
    if (left <= 0)
        return -ETIMEDOUT;
    int rc = wio_os_epoll_ctl(epfd, EPOLL_CTL_MOD, fd, events, NULL);
    if (rc < 0)
        return rc;
    int64_t ms = (left + NS_PER_MS - 1) / NS_PER_MS;
    rc = wio_os_epoll_wait(epfd, &ev, 1, ms > 60000 ? 60000 : (int)ms);
    return rc < 0 ? rc : 0;
}

int wio_auth_run(struct wio_auth *a, int fd, int64_t deadline_ns)
{
    int epfd = wio_os_epoll_create();
    if (epfd < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, epfd, "handshake: epoll_create");
    int rc = wio_os_epoll_ctl(epfd, EPOLL_CTL_ADD, fd, EPOLLIN, NULL);
    if (rc < 0) {
        wio_os_close(epfd);
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc, "handshake: epoll_ctl");
    }
    exchange(a, fd);
    while (a->state == WIO_AUTH_RUNNING) {
        rc = wait_ready(a, epfd, fd, deadline_ns);
        if (rc < 0)
            wio_auth_eof(a, rc);
        else
            exchange(a, fd);
    }
    wio_os_close(epfd);
    if (a->state == WIO_AUTH_DONE)
        return 0;
    write_some(a, fd); /* the refusal, if the socket takes it */
    return wio_fail(a->error, "%s", a->text);
}
