/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening, addressing and closing of sockets. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "os/fault.h"

static int result(int r)
{
    return r < 0 ? -errno : r;
}

int wio_os_socket(int family, int type)
{
    int refused = wio_os_refuse(WIO_OS_SOCKET, -1, 0);
    return refused ? refused : result(socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

int wio_os_socketpair(int fd[2])
{
    int refused = wio_os_refuse(WIO_OS_SOCKET, -1, 0);
    return refused ? refused
                   : result(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fd));
}

int wio_os_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
    int refused = wio_os_refuse(WIO_OS_SOCKET, fd, 0);
    return refused ? refused : result(bind(fd, addr, len));
}

int wio_os_listen(int fd, int backlog)
{
    int refused = wio_os_refuse(WIO_OS_SOCKET, fd, 0);
    return refused ? refused : result(listen(fd, backlog));
}

int wio_os_accept(int fd, struct sockaddr_storage *addr, socklen_t *len)
{
    int refused = wio_os_refuse(WIO_OS_ACCEPT, fd, 0);
    if (refused)
        return refused;
    struct sockaddr_storage ignored;
    struct sockaddr_storage *to = addr != NULL ? addr : &ignored;
    for (;;) {
        socklen_t size = sizeof *to;
        int r = accept4(fd, (struct sockaddr *)to, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        /* After a connection that died in the queue the next one may be good. */
        if (r < 0 && (errno == EINTR || errno == ECONNABORTED || errno == EPROTO))
            continue;
        if (r >= 0 && len != NULL)
            *len = size;
        return result(r);
    }
}

int wio_os_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
    int refused = wio_os_refuse(WIO_OS_CONNECT, fd, 0);
    if (refused)
        return refused;
    int r = result(connect(fd, addr, len));
    return r == -EINTR ? -EINPROGRESS : r; /* interrupted, it goes on by itself */
}

int wio_os_sockname(int fd, struct sockaddr_storage *addr, socklen_t *len)
{
    *len = sizeof *addr;
    return result(getsockname(fd, (struct sockaddr *)addr, len));
}

int wio_os_peername(int fd, struct sockaddr_storage *addr, socklen_t *len)
{
    *len = sizeof *addr;
    return result(getpeername(fd, (struct sockaddr *)addr, len));
}

int wio_os_so_error(int fd)
{
    int error = 0;
    socklen_t len = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        return -errno;
    return -error;
}

int wio_os_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
    return result(setsockopt(fd, level, name, value, len));
}

int wio_os_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
    return result(getsockopt(fd, level, name, value, len));
}

int wio_os_peer_uid(int sock, uid_t *uid)
{
    struct ucred cred;
    socklen_t len = sizeof cred;
    if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return -errno;
    /* A socket that is not connected (or no local one) reports no process and nobody's id. */
    if (len < sizeof cred || cred.uid == (uid_t)-1)
        return -ENOTCONN;
    *uid = cred.uid;
    return 0;
}

int wio_os_peer_pid(int sock, pid_t *pid)
{
    struct ucred cred;
    socklen_t len = sizeof cred;
    if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
        return -errno;
    if (len < sizeof cred || cred.pid <= 0)
        return -ENOTCONN;
    *pid = cred.pid;
    return 0;
}

int wio_os_shutdown_send(int fd)
{
    return result(shutdown(fd, SHUT_WR));
}

int wio_os_dup(int fd)
{
    return result(fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

void wio_os_close(int fd)
{
    if (fd >= 0)
        close(fd); /* not retried: Linux has released the descriptor even when interrupted */
}
