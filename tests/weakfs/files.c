/* SPDX-License-Identifier: BSD-3-Clause */
/** @file files.c  Calls about one file: attributes, data, locks, and user.weakfs. */
#include "weakfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct stat st;
    (void)fi;
    int err = inode_stat(inode_at(ino), &st);
    if (err != 0)
        fuse_reply_err(req, err);
    else
        fuse_reply_attr(req, &st, 0);
}

/* A descriptor for data, if there is none yet. */
static int have_io(struct inode *i)
{
    if (i->io >= 0)
        return 0;
    i->rw = true;
    i->io = open(inode_proc(i), O_RDWR | O_CLOEXEC);
    if (i->io < 0) {
        i->rw = false;
        i->io = open(inode_proc(i), O_RDONLY | O_CLOEXEC);
    }
    return i->io < 0 ? errno : 0;
}

static void lose_io(struct inode *i)
{
    if (i->opens > 0 || i->io < 0)
        return;
    close(i->io);
    i->io = -1;
}

static int set_size(struct inode *i, off_t size)
{
    int err = have_io(i);
    err = err != 0 ? err : pages_flush(i);
    if (err == 0 && ftruncate(i->io, size) != 0)
        err = errno;
    if (err == 0)
        pages_resize(i, (uint64_t)size);
    lose_io(i);
    return err;
}

static int set_times(struct inode *i, const struct stat *st, int what)
{
    struct timespec t[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};
    int err = i->ndirty > 0 ? pages_flush(i) : 0; /* later it would change them */
    if (what & FUSE_SET_ATTR_ATIME)
        t[0] = st->st_atim;
    if (what & FUSE_SET_ATTR_MTIME)
        t[1] = st->st_mtim;
    if (what & FUSE_SET_ATTR_ATIME_NOW)
        t[0].tv_nsec = UTIME_NOW;
    if (what & FUSE_SET_ATTR_MTIME_NOW)
        t[1].tv_nsec = UTIME_NOW;
    return err == 0 && utimensat(AT_FDCWD, inode_proc(i), t, 0) != 0 ? errno : err;
}

static int set_owner(struct inode *i, const struct stat *st, int what)
{
    uid_t uid = what & FUSE_SET_ATTR_UID ? st->st_uid : (uid_t)-1;
    gid_t gid = what & FUSE_SET_ATTR_GID ? st->st_gid : (gid_t)-1;
    return fchownat(i->fd, "", uid, gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW) != 0 ? errno : 0;
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int what,
                       struct fuse_file_info *fi)
{
    struct inode *i = inode_at(ino);
    int err = 0;
    const int times = FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_ATIME_NOW |
                      FUSE_SET_ATTR_MTIME_NOW;
    (void)fi;
    if (what & FUSE_SET_ATTR_MODE && chmod(inode_proc(i), st->st_mode) != 0)
        err = errno;
    if (err == 0 && what & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID))
        err = set_owner(i, st, what);
    if (err == 0 && what & FUSE_SET_ATTR_SIZE)
        err = set_size(i, st->st_size);
    if (err == 0 && what & times)
        err = set_times(i, st, what);
    i->st_due = 0;
    if (err != 0)
        fuse_reply_err(req, err);
    else
        op_getattr(req, ino, fi);
}

/* An open: what this client knew of the file is old. */
static int begin(struct inode *i, struct fuse_file_info *fi)
{
    int err = 0;
    struct stat st;
    if (!i->removed_here && fstat(i->fd, &st) == 0 && st.st_nlink == 0) {
        /* As in NFS the kernel then looks the name up again and finds what there is now. */
        i->gone = !opt.estale || draw(2);
        counts.stale_files++;
        return ESTALE;
    }
    if (i->io >= 0 && !i->rw && (fi->flags & O_ACCMODE) != O_RDONLY) {
        int io = open(inode_proc(i), O_RDWR | O_CLOEXEC);
        if (io < 0)
            return errno;
        close(i->io);
        i->io = io;
        i->rw = true;
    }
    err = have_io(i);
    if (err != 0)
        return err;
    i->opens++;
    pages_drop(i);
    if (fi->flags & O_TRUNC)
        err = set_size(i, 0);
    err = err != 0 ? err : inode_refresh(i);
    if (err != 0) {
        i->opens--;
        lose_io(i);
        return err;
    }
    if (opt.snapshot)
        pages_snapshot(i);
    fi->direct_io = 1;
    return 0;
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    int err = fault("open");
    err = err != 0 ? err : begin(inode_at(ino), fi);
    if (err != 0)
        fuse_reply_err(req, err);
    else
        fuse_reply_open(req, fi);
}

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode,
                      struct fuse_file_info *fi)
{
    struct inode *dir = inode_at(parent);
    struct fuse_entry_param e;
    int flags = (fi->flags & (O_EXCL | O_TRUNC)) | O_CREAT | O_RDWR | O_NOFOLLOW | O_CLOEXEC;
    int err = fault("create");
    int fd = err != 0 ? -1 : openat(dir->fd, name, flags, mode | S_IRUSR | S_IWUSR);
    if (fd < 0) {
        err = err != 0 ? err : errno;
        if (err == EEXIST)
            names_exists(dir, name);
        fuse_reply_err(req, err);
        return;
    }
    if ((mode & (S_IRUSR | S_IWUSR)) != (S_IRUSR | S_IWUSR))
        (void)fchmod(fd, mode);
    err = names_made(req, dir, name, &e);
    if (err == 0 && (err = begin(inode_at(e.ino), fi)) != 0)
        inode_forget(inode_at(e.ino), 1);
    else if (err == 0 && inode_at(e.ino)->rw == false)
        inode_at(e.ino)->io = dup2(fd, inode_at(e.ino)->io);
    close(fd);
    if (err != 0)
        fuse_reply_err(req, err);
    else
        fuse_reply_create(req, &e, fi);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t at,
                    struct fuse_file_info *fi)
{
    int err = fault("read");
    uint8_t *buf = err == 0 ? malloc(size) : NULL;
    (void)fi;
    ssize_t n = buf == NULL ? -(err != 0 ? err : ENOMEM)
                            : pages_read(inode_at(ino), buf, size, (uint64_t)at);
    if (n < 0)
        fuse_reply_err(req, (int)-n);
    else
        fuse_reply_buf(req, (char *)buf, (size_t)n);
    free(buf);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *from, size_t size, off_t at,
                     struct fuse_file_info *fi)
{
    int err = fault("write");
    (void)fi;
    if (err == 0 && size > 1 && percent(opt.shorts)) {
        size = 1 + draw(size - 1);
        counts.shorts++;
    }
    ssize_t n =
        err != 0 ? -err : pages_write(inode_at(ino), (const uint8_t *)from, size, (uint64_t)at);
    inode_at(ino)->st_due = opt.attr_ms == 0 ? 0 : inode_at(ino)->st_due;
    if (n < 0)
        fuse_reply_err(req, (int)-n);
    else
        fuse_reply_write(req, (size_t)n);
}

static int sync_as(struct inode *i, const char *call)
{
    int err = pages_flush(i), made = fault(call);
    return err != 0 ? err : made;
}

static void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)fi;
    fuse_reply_err(req, sync_as(inode_at(ino), "close"));
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int data, struct fuse_file_info *fi)
{
    (void)data;
    (void)fi;
    fuse_reply_err(req, sync_as(inode_at(ino), "fsync"));
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct inode *i = inode_at(ino);
    (void)fi;
    (void)pages_flush(i); /* of a writer that was killed, too */
    i->opens--;
    if (i->opens == 0)
        pages_drop(i);
    lose_io(i);
    fuse_reply_err(req, 0);
}

static void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t at, off_t length,
                         struct fuse_file_info *fi)
{
    struct inode *i = inode_at(ino);
    (void)fi;
    int err = fault("write");
    err = err != 0 ? err : pages_flush(i);
    if (err == 0 && fallocate(i->io, mode, at, length) != 0)
        err = errno;
    pages_drop(i);
    err = err != 0 ? err : inode_refresh(i);
    fuse_reply_err(req, err);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
    struct statvfs st;
    (void)ino;
    if (fstatvfs(root.fd, &st) != 0)
        fuse_reply_err(req, errno);
    else
        fuse_reply_statfs(req, &st);
}

static void op_setlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock,
                     int sleep)
{
    (void)ino;
    (void)fi;
    (void)sleep;
    (void)lock;
    fuse_reply_err(req, opt.locks == LOCKS_ERROR ? ENOLCK : 0);
}

static void op_getlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *lock)
{
    (void)ino;
    (void)fi;
    lock->l_type = F_UNLCK;
    if (opt.locks == LOCKS_ERROR)
        fuse_reply_err(req, ENOLCK);
    else
        fuse_reply_lock(req, lock);
}

static void op_flock(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, int op)
{
    (void)ino;
    (void)fi;
    (void)op;
    fuse_reply_err(req, opt.locks == LOCKS_ERROR ? ENOLCK : 0);
}

static void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
                        size_t size, int flags)
{
    char text[512];
    (void)ino;
    (void)flags;
    if (strcmp(name, "user.weakfs") != 0) {
        fuse_reply_err(req, EOPNOTSUPP);
        return;
    }
    snprintf(text, sizeof text, "%.*s", (int)size, value);
    fuse_reply_err(req, faults_set(text));
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
    char text[512];
    (void)ino;
    if (strcmp(name, "user.weakfs") != 0) {
        fuse_reply_err(req, ENODATA);
        return;
    }
    const uint64_t *c = (const uint64_t *)&counts;
    int n = 0;
    static const char *const names[] = {"hidden",      "ghosts",      "unlisted", "overlisted",
                                        "stale_sizes", "stale_pages", "held",     "reordered",
                                        "stale_files", "shorts",      "faults"};
    _Static_assert(sizeof names / sizeof names[0] == sizeof counts / sizeof *c, "one each");
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s=%lu ", names[k], (unsigned long)c[k]);
    if (size == 0)
        fuse_reply_xattr(req, sizeof text); /* it may have grown when it is asked for */
    else if (size < (size_t)n)
        fuse_reply_err(req, ERANGE);
    else
        fuse_reply_buf(req, text, (size_t)n);
}

void files_ops(struct fuse_lowlevel_ops *ops)
{
    ops->getattr = op_getattr;
    ops->setattr = op_setattr;
    ops->open = op_open;
    ops->create = op_create;
    ops->read = op_read;
    ops->write = op_write;
    ops->flush = op_flush;
    ops->fsync = op_fsync;
    ops->release = op_release;
    ops->fallocate = op_fallocate;
    ops->statfs = op_statfs;
    ops->setxattr = op_setxattr;
    ops->getxattr = op_getxattr;
    if (opt.locks != LOCKS_LOCAL) {
        ops->setlk = op_setlk;
        ops->getlk = op_getlk;
        ops->flock = op_flock;
    }
}
