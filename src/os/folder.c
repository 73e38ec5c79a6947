/* SPDX-License-Identifier: BSD-3-Clause */
/* Files by the descriptor of their folder; locks that end with the process; events of folders. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/fault.h"

static int result(int r)
{
    return r < 0 ? -errno : r;
}

static int open_at(int at, const char *name, int flags, unsigned mode)
{
    int r = wio_os_refuse((flags & O_CREAT) != 0 ? WIO_OS_SPACE : WIO_OS_FILE, at, 0);
    if (r < 0)
        return r;
    do
        r = result(
            openat(at < 0 ? AT_FDCWD : at, name, flags | O_CLOEXEC | O_NOCTTY, (mode_t)mode));
    while (r == -EINTR);
    return r;
}

int wio_os_folder_open(int at, const char *name, bool follow)
{
    return open_at(at, name, O_RDONLY | O_DIRECTORY | (follow ? 0 : O_NOFOLLOW), 0);
}

int wio_os_mkdir_at(int at, const char *name, unsigned mode)
{
    int r = wio_os_refuse(WIO_OS_SPACE, at, 0);
    return r < 0 ? r : result(mkdirat(at < 0 ? AT_FDCWD : at, name, (mode_t)mode));
}

int wio_os_open_at(int at, const char *name, bool writable)
{
    return open_at(at, name, (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK, 0);
}

int wio_os_create_at(int at, const char *name, unsigned mode)
{
    return open_at(at, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
}

int wio_os_rename_at(int at, const char *from, const char *to)
{
    int r = wio_os_refuse(WIO_OS_SPACE, at, 0);
    return r < 0 ? r : result(renameat(at, from, at, to));
}

int wio_os_unlink_at(int at, const char *name, bool folder)
{
    int r = wio_os_refuse(WIO_OS_FILE, at, 0);
    return r < 0 ? r : result(unlinkat(at, name, folder ? AT_REMOVEDIR : 0));
}

int wio_os_list_at(int at, void (*each)(void *arg, const char *name), void *arg)
{
    int fd = open_at(at, ".", O_RDONLY | O_DIRECTORY, 0), n = 0;
    if (fd < 0)
        return fd;
    DIR *dir = fdopendir(fd);
    if (dir == NULL) {
        int r = -errno;
        close(fd);
        return r;
    }
    for (const struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        each(arg, e->d_name);
        n++;
    }
    closedir(dir);
    return n;
}

/* The pieces that the fault hook allows. @return how many, or -errno */
static int allowed(enum wio_os_call call, int fd, const struct iovec *iov, int n, struct iovec *out)
{
    size_t total = 0;
    for (int i = 0; i < n; i++)
        total += iov[i].iov_len;
    int answer = wio_os_ask(call, fd, total);
    if (answer < 0)
        return answer;
    size_t left = answer > 0 ? (size_t)answer : total;
    int m = 0;
    for (; m < n && left > 0; m++) {
        out[m] = iov[m];
        if (out[m].iov_len > left)
            out[m].iov_len = left;
        left -= out[m].iov_len;
    }
    return m;
}

enum { PIECES_MAX = 8 };

ssize_t wio_os_preadv(int fd, const struct iovec *iov, int n, uint64_t offset)
{
    struct iovec part[PIECES_MAX];
    int m = n <= PIECES_MAX ? allowed(WIO_OS_FILE, fd, iov, n, part) : -EINVAL;
    if (m <= 0)
        return m;
    ssize_t r;
    do
        r = preadv(fd, part, m, (off_t)offset);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : r;
}

ssize_t wio_os_pwritev(int fd, const struct iovec *iov, int n, uint64_t offset)
{
    struct iovec part[PIECES_MAX];
    int m = n <= PIECES_MAX ? allowed(WIO_OS_SPACE, fd, iov, n, part) : -EINVAL;
    if (m <= 0)
        return m;
    ssize_t r;
    do
        r = pwritev(fd, part, m, (off_t)offset);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : r;
}

static int may_grow(int fd, uint64_t bytes)
{
    int r = wio_os_refuse(WIO_OS_SPACE, fd, bytes);
    if (r < 0)
        return r;
    return bytes > wio_os_file_limit() ? -EFBIG : 0;
}

int wio_os_resize(int fd, uint64_t bytes)
{
    int r = may_grow(fd, bytes);
    return r < 0 ? r : result(ftruncate(fd, (off_t)bytes));
}

int wio_os_reserve(int fd, uint64_t bytes)
{
    int r = may_grow(fd, bytes);
    if (r < 0)
        return r;
    do
        r = posix_fallocate(fd, 0, (off_t)bytes);
    while (r == EINTR);
    return -r;
}

int wio_os_punch(int fd, uint64_t offset, uint64_t bytes)
{
    int r = wio_os_refuse(WIO_OS_FILE, fd, 0);
    if (r < 0)
        return r;
    return result(
        fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes));
}

int wio_os_lock_file(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int r = wio_os_refuse(WIO_OS_FILE, fd, 0);
    return r < 0 ? r : result(fcntl(fd, F_OFD_SETLK, &whole));
}

int wio_os_file_locked(int fd)
{
    struct flock whole = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
    int r = wio_os_refuse(WIO_OS_FILE, fd, 0);
    if (r == 0)
        r = result(fcntl(fd, F_OFD_GETLK, &whole));
    return r < 0 ? r : whole.l_type != F_UNLCK;
}

/* ---- events ---- */

int wio_os_events_open(void)
{
    int r = wio_os_refuse(WIO_OS_EVENTS, -1, 0);
    return r < 0 ? r : result(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
}

int wio_os_events_watch(int events, int folder, unsigned what)
{
    char path[64];
    int r = wio_os_refuse(WIO_OS_EVENTS, folder, 0);
    if (r < 0)
        return r;
    snprintf(path, sizeof path, "/proc/self/fd/%d", folder);
    uint32_t mask = 0;
    if ((what & WIO_OS_EV_NAMES) != 0)
        mask |= IN_CREATE | IN_MOVED_TO;
    if ((what & WIO_OS_EV_DATA) != 0)
        mask |= IN_MODIFY | IN_CLOSE_WRITE;
    r = result(inotify_add_watch(events, path, mask));
    return r < 0 ? r : 0;
}

int wio_os_events_read(int events, void (*written)(void *arg, const char *name), void *arg)
{
    union {
        struct inotify_event first;
        char bytes[16384];
    } buf;
    unsigned seen = 0;
    for (;;) {
        ssize_t n = read(events, buf.bytes, sizeof buf.bytes);
        if (n <= 0)
            return n == 0 || errno == EAGAIN || errno == EINTR ? (int)seen : -errno;
        for (size_t at = 0; at + sizeof(struct inotify_event) <= (size_t)n;) {
            struct inotify_event e;
            memcpy(&e, buf.bytes + at, sizeof e);
            const char *name = buf.bytes + at + sizeof e;
            at += sizeof e + e.len;
            if ((e.mask & IN_Q_OVERFLOW) != 0)
                seen |= WIO_OS_EV_NAMES | WIO_OS_EV_DATA | WIO_OS_EV_LOST;
            if ((e.mask & (IN_CREATE | IN_MOVED_TO)) != 0)
                seen |= WIO_OS_EV_NAMES;
            if ((e.mask & (IN_MODIFY | IN_CLOSE_WRITE)) == 0)
                continue;
            seen |= WIO_OS_EV_DATA;
            if (e.len > 0 && written != NULL)
                written(arg, name);
        }
    }
}
