/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/rundir.h"

#include <errno.h>

#include "base/base.h"
#include "os/os.h"

/* The job id may hold any character. */
static void run_name(const char *job, char *buf, size_t n)
{
    size_t at = wio_text(buf, n, ".waitio-file-");
    for (; *job != '\0' && at + 4 < n; job++) {
        unsigned char c = (unsigned char)*job;
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                     c == '.' || c == '_' || c == '-';
        at += plain ? wio_text(buf + at, n - at, "%c", c) : wio_text(buf + at, n - at, "%%%02x", c);
    }
}

static const char *parent(const char *scratch)
{
    return scratch[0] != '\0' ? scratch : ".";
}

void wio_rundir_path(const char *scratch, const char *job, char *path, size_t n)
{
    char name[256];
    run_name(job, name, sizeof name);
    wio_text(path, n, "%s/%s", parent(scratch), name);
}

/* Ours, and closed to all others? @return 0, or -errno */
static int check_folder(int fd, struct wio_os_stat *st)
{
    int rc = wio_os_fstat(fd, st);
    if (rc < 0)
        return rc;
    return st->uid == wio_os_uid() && (st->mode & 077) == 0 ? 0 : -EACCES;
}

int wio_rundir_folder(int at, const char *name, bool make, struct wio_os_stat *st)
{
    int rc = 0, fd = -ENOENT;
    for (int tries = 3; (fd == -ENOENT || fd == -ESTALE) && tries > 0;
         tries = make ? tries - 1 : 0) {
        rc = make ? wio_os_mkdir_at(at, name, 0700) : 0;
        if (rc < 0 && rc != -EEXIST)
            return rc;
        fd = wio_os_folder_open(at, name, false); /* unless another one has just removed it */
    }
    if (fd < 0)
        return fd;
    rc = check_folder(fd, st);
    if (rc < 0) {
        wio_os_close(fd);
        return rc;
    }
    return fd;
}

bool wio_rundir_no_descriptor(int oserr, const char *path)
{
    if (oserr != -EMFILE && oserr != -ENFILE)
        return false;
    (void)wio_fail(WAITIO_ERR_LIMIT, "descriptor limit of %d is too low to use %s: raise ulimit -n",
                   wio_os_fd_limit(), path);
    return true;
}

int wio_rundir_open(const char *scratch, const char *job, bool make, char *path, size_t n)
{
    char name[256];
    struct wio_os_stat st = {0};
    run_name(job, name, sizeof name);
    wio_rundir_path(scratch, job, path, n);
    int dir = wio_os_folder_open(-1, parent(scratch), true);
    if (wio_rundir_no_descriptor(dir, path))
        return WAITIO_ERR_LIMIT;
    if (dir < 0)
        return wio_fail_os(WAITIO_ERR_CONFIG, dir, "cannot use WAITIO_SCRATCH_DIR=%s",
                           parent(scratch));
    int fd = wio_rundir_folder(dir, name, make, &st);
    wio_os_close(dir);
    if (fd == -EACCES && st.mode == 0) /* we may not even open it: whose is it? */
        (void)wio_os_stat(path, &st);
    if (fd == -EACCES && st.mode != 0)
        return wio_fail(WAITIO_ERR_CONFIG,
                        "%s belongs to user %d and has mode %03o: it must be ours (user %d), mode "
                        "700; remove it, or take another WAITIO_SCRATCH_DIR or WAITIO_JOB_ID",
                        path, (int)st.uid, st.mode, (int)wio_os_uid());
    if (fd == -ENOENT && !make)
        return wio_fail(WAITIO_ERR_PEER, "nobody has made %s yet", path);
    if (fd == -ELOOP || fd == -ENOTDIR)
        return wio_fail(WAITIO_ERR_CONFIG,
                        "%s is not a directory (symbolic links are not followed): remove it", path);
    if (wio_rundir_no_descriptor(fd, path))
        return WAITIO_ERR_LIMIT;
    if (fd < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, fd,
                           "cannot make %s (WAITIO_SCRATCH_DIR names its parent)", path);
    return fd;
}

void wio_rundir_remove(const char *scratch, const char *job)
{
    char name[256];
    run_name(job, name, sizeof name);
    int dir = wio_os_folder_open(-1, parent(scratch), true);
    if (dir < 0)
        return;
    (void)wio_os_unlink_at(dir, name, true); /* fails while something is in it */
    wio_os_close(dir);
}
