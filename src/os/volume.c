/* SPDX-License-Identifier: BSD-3-Clause */
/** @file volume.c  What holds a file: the kind of its file system, and the space in it. */
#include <errno.h>
#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "os/fault.h"

int wio_os_volume(int fd, struct wio_os_volume *v)
{
    struct statfs st;
    int r = wio_os_refuse(WIO_OS_FILE, fd, 0);
    if (r < 0)
        return r;
    do
        r = fstatfs(fd, &st);
    while (r < 0 && errno == EINTR);
    if (r < 0)
        return -errno;
    v->kind = (uint32_t)st.f_type;
    v->free = (uint64_t)st.f_bavail * (uint64_t)st.f_bsize;
    v->free_names = st.f_files == 0 ? UINT64_MAX : (uint64_t)st.f_ffree;
    return 0;
}

bool wio_os_may_write(const char *folder)
{
    return faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0;
}
