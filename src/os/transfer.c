/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes and descriptors through sockets. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "os/fault.h"

enum { IOV_LIMIT = 1024 /* the kernel's UIO_MAXIOV */, TORN_IOV = 8 };

ssize_t wio_os_send(int fd, const void *buf, size_t n)
{
    int answer = wio_os_ask(WIO_OS_SEND, fd, n);
    if (answer < 0)
        return answer;
    if (answer > 0 && (size_t)answer < n)
        n = (size_t)answer;
    ssize_t r;
    do
        r = send(fd, buf, n, MSG_NOSIGNAL);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : r;
}

ssize_t wio_os_recv(int fd, void *buf, size_t n)
{
    int answer = wio_os_ask(WIO_OS_RECV, fd, n);
    if (answer < 0)
        return answer;
    if (answer > 0 && (size_t)answer < n)
        n = (size_t)answer;
    ssize_t r;
    do
        r = recv(fd, buf, n, 0);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : r;
}

static size_t total(const struct iovec *iov, int n)
{
    size_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += iov[i].iov_len;
    return bytes;
}

/** Copy the first @p bytes of a list, as far as @p out has room. @return entries used */
static int tear(const struct iovec *iov, int n, size_t bytes, struct iovec out[TORN_IOV])
{
    int used = 0;
    for (int i = 0; i < n && used < TORN_IOV && bytes > 0; i++, used++) {
        out[used] = iov[i];
        if (out[used].iov_len > bytes)
            out[used].iov_len = bytes;
        bytes -= out[used].iov_len;
    }
    return used;
}

/** One sendmsg or recvmsg over a list, if the fault hook allows it. */
static ssize_t transfer(enum wio_os_call call, int fd, const struct iovec *iov, int n)
{
    struct iovec torn[TORN_IOV];
    if (__builtin_expect(wio_os_fault != NULL, 0)) {
        size_t bytes = total(iov, n);
        int answer = wio_os_ask(call, fd, bytes);
        if (answer < 0)
            return answer;
        if (answer > 0 && (size_t)answer < bytes) {
            n = tear(iov, n, (size_t)answer, torn);
            iov = torn;
        }
    }
    struct msghdr msg;
    memset(&msg, 0, sizeof msg);
    msg.msg_iov = (struct iovec *)(uintptr_t)iov; /* the kernel only reads it */
    msg.msg_iovlen = (size_t)(n > IOV_LIMIT ? IOV_LIMIT : n);
    ssize_t r;
    do
        r = call == WIO_OS_SEND ? sendmsg(fd, &msg, MSG_NOSIGNAL) : recvmsg(fd, &msg, 0);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : r;
}

ssize_t wio_os_sendv(int fd, const struct iovec *iov, int n)
{
    return transfer(WIO_OS_SEND, fd, iov, n);
}

ssize_t wio_os_recvv(int fd, const struct iovec *iov, int n)
{
    return transfer(WIO_OS_RECV, fd, iov, n);
}

union fd_control {
    struct cmsghdr head; /* for its alignment */
    char room[CMSG_SPACE(sizeof(int))];
};

ssize_t wio_os_send_fd(int sock, int fd, const void *buf, size_t n)
{
    int answer = wio_os_ask(WIO_OS_SEND, sock, n);
    if (answer < 0)
        return answer;
    if (answer > 0 && (size_t)answer < n)
        n = (size_t)answer;
    union fd_control control;
    memset(&control, 0, sizeof control);
    struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = n};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.room,
                         .msg_controllen = sizeof control.room};
    struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    ssize_t r;
    do
        r = sendmsg(sock, &msg, MSG_NOSIGNAL);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : r;
}

ssize_t wio_os_recv_fd(int sock, int *fd, void *buf, size_t n)
{
    *fd = -1;
    int answer = wio_os_ask(WIO_OS_RECV, sock, n);
    if (answer < 0)
        return answer;
    if (answer > 0 && (size_t)answer < n)
        n = (size_t)answer;
    union fd_control control;
    struct iovec iov = {.iov_base = buf, .iov_len = n};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.room,
                         /* not CMSG_SPACE: its padding would take a second descriptor */
                         .msg_controllen = CMSG_LEN(sizeof(int))};
    ssize_t r;
    do
        r = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
    while (r < 0 && errno == EINTR);
    if (r < 0)
        return -errno;
    struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
    if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
        head->cmsg_len >= CMSG_LEN(sizeof(int)))
        memcpy(fd, CMSG_DATA(head), sizeof *fd);
    return r;
}
