/* SPDX-License-Identifier: BSD-3-Clause */
/* Files and directories. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fault.h"

static int result(int r)
{
    return r < 0 ? -errno : r;
}

static int open_file(const char *path, int flags, unsigned mode)
{
    int r = wio_os_refuse(WIO_OS_FILE, -1, 0);
    if (r < 0)
        return r;
    do
        r = result(open(path, flags | O_CLOEXEC | O_NOCTTY, (mode_t)mode));
    while (r == -EINTR);
    return r;
}

int wio_os_open_read(const char *path)
{
    return open_file(path, O_RDONLY, 0);
}

int wio_os_open_create(const char *path, unsigned mode)
{
    return open_file(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, mode);
}

int wio_os_open_append(const char *path)
{
    return open_file(path, O_CREAT | O_APPEND | O_WRONLY, 0644);
}

ssize_t wio_os_read(int fd, void *buf, size_t n)
{
    int refused = wio_os_refuse(WIO_OS_FILE, fd, n);
    if (refused)
        return refused;
    ssize_t r;
    do
        r = read(fd, buf, n);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : r;
}

ssize_t wio_os_write(int fd, const void *buf, size_t n)
{
    int refused = wio_os_refuse(WIO_OS_FILE, fd, n);
    if (refused)
        return refused;
    const char *from = buf;
    for (size_t done = 0; done < n;) {
        ssize_t r = write(fd, from + done, n - done);
        if (r < 0 && errno != EINTR)
            return -errno;
        if (r == 0)
            return -EIO; /* a regular file never does this; do not spin on what does */
        if (r > 0)
            done += (size_t)r;
    }
    return (ssize_t)n;
}

int wio_os_fsync(int fd)
{
    int refused = wio_os_refuse(WIO_OS_FILE, fd, 0);
    if (refused)
        return refused;
    int r;
    do
        r = result(fsync(fd));
    while (r == -EINTR);
    return r;
}

int wio_os_link(const char *from, const char *to)
{
    int refused = wio_os_refuse(WIO_OS_FILE, -1, 0);
    return refused ? refused : result(link(from, to));
}

int wio_os_rename(const char *from, const char *to)
{
    int refused = wio_os_refuse(WIO_OS_FILE, -1, 0);
    return refused ? refused : result(rename(from, to));
}

int wio_os_unlink(const char *path)
{
    int refused = wio_os_refuse(WIO_OS_FILE, -1, 0);
    return refused ? refused : result(unlink(path));
}

int wio_os_mkdir(const char *path, unsigned mode)
{
    int refused = wio_os_refuse(WIO_OS_FILE, -1, 0);
    return refused ? refused : result(mkdir(path, (mode_t)mode));
}

static void fill_stat(struct wio_os_stat *out, const struct stat *st)
{
    out->uid = st->st_uid;
    out->mode = st->st_mode & 07777;
    out->size = st->st_size;
    out->mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
    out->is_dir = S_ISDIR(st->st_mode);
    out->is_file = S_ISREG(st->st_mode);
    out->inode = st->st_ino;
    out->links = st->st_nlink;
}

int wio_os_stat(const char *path, struct wio_os_stat *st)
{
    struct stat found;
    int r = wio_os_refuse(WIO_OS_FILE, -1, 0);
    if (r == 0)
        r = result(stat(path, &found));
    if (r == 0)
        fill_stat(st, &found);
    return r;
}

int wio_os_fstat(int fd, struct wio_os_stat *st)
{
    struct stat found;
    int r = wio_os_refuse(WIO_OS_FILE, fd, 0);
    if (r == 0)
        r = result(fstat(fd, &found));
    if (r == 0)
        fill_stat(st, &found);
    return r;
}
