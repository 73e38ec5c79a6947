/* SPDX-License-Identifier: BSD-3-Clause */
/** @file names.c  Calls about names: lookups, listings, new, removed and renamed entries. */
#include "weakfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void give(struct inode *i, struct fuse_entry_param *e)
{
    i->nlookup++;
    *e = (struct fuse_entry_param){0};
    e->ino = i == &root ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)i;
    /* An open looks the name up first and trusts the size: it has to be that of the file. stat()
     * asks once more for attributes, for none of these is kept. */
    (void)inode_refresh(i);
    e->attr = i->st;
    if (S_ISREG(i->mode))
        e->attr.st_size = (off_t)i->size;
}

/* What the directory does not have, but this client still believes in. */
static struct inode *ghost(struct inode *dir, struct entry *seen)
{
    if (seen->shown[LOOK] == seen->real)
        return NULL;
    struct inode *i = inode_known(dir->dev, seen->shown[LOOK]);
    if (i != NULL && !i->gone) {
        counts.ghosts++;
        return i;
    }
    seen->shown[LOOK] = seen->real; /* it has nothing left of it */
    return NULL;
}

int names_entry(struct inode *dir, const char *name, struct fuse_entry_param *e)
{
    struct entry *seen = view_find(dir, name);
    if (seen == NULL)
        return ENOENT;
    if (seen->shown[LOOK] == 0) {
        counts.hidden += seen->real != 0;
        return ENOENT;
    }
    struct inode *i = ghost(dir, seen);
    if (i == NULL && seen->real == 0)
        return ENOENT;
    if (i == NULL) {
        int fd = openat(dir->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        i = fd < 0 ? NULL : inode_of(fd);
    }
    if (i == NULL)
        return errno;
    give(i, e);
    return 0;
}

int names_made(fuse_req_t req, struct inode *dir, const char *name, struct fuse_entry_param *e)
{
    const struct fuse_ctx *who = fuse_req_ctx(req);
    int fd = openat(dir->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct inode *i = fd < 0 ? NULL : inode_of(fd);
    if (i == NULL)
        return errno;
    if (geteuid() == 0 && (who->uid != 0 || who->gid != 0))
        (void)!fchownat(i->fd, "", who->uid, who->gid, AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW);
    view_own(dir, name, i->ino);
    give(i, e);
    return 0;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    struct fuse_entry_param e;
    int err = names_entry(inode_at(parent), name, &e);
    if (err != 0)
        fuse_reply_err(req, err);
    else
        fuse_reply_entry(req, &e);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
    inode_forget(inode_at(ino), n);
    fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t n, struct fuse_forget_data *f)
{
    for (size_t k = 0; k < n; k++)
        inode_forget(inode_at(f[k].ino), f[k].nlookup);
    fuse_reply_none(req);
}

/* As Linux does: who is told that a name exists looks it up anew. */
static uint64_t number_of(const struct inode *dir, const char *name)
{
    struct stat st;
    return fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ? 0 : st.st_ino;
}

void names_exists(struct inode *dir, const char *name)
{
    view_own(dir, name, number_of(dir, name));
}

static void reply_made(fuse_req_t req, fuse_ino_t parent, const char *name, int failed)
{
    struct fuse_entry_param e;
    int err = failed ? errno : names_made(req, inode_at(parent), name, &e);
    if (err == EEXIST)
        names_exists(inode_at(parent), name);
    if (err != 0)
        fuse_reply_err(req, err);
    else
        fuse_reply_entry(req, &e);
}

static int spoilt(fuse_req_t req, const char *call)
{
    int err = fault(call);
    if (err != 0)
        fuse_reply_err(req, err);
    return err;
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
    if (spoilt(req, "mkdir") == 0)
        reply_made(req, parent, name, mkdirat(inode_at(parent)->fd, name, mode));
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t dev)
{
    if (spoilt(req, "create") == 0)
        reply_made(req, parent, name, mknodat(inode_at(parent)->fd, name, mode, dev));
}

static void op_symlink(fuse_req_t req, const char *to, fuse_ino_t parent, const char *name)
{
    if (spoilt(req, "create") == 0)
        reply_made(req, parent, name, symlinkat(to, inode_at(parent)->fd, name));
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
    if (spoilt(req, "create") == 0)
        reply_made(req, parent, name,
                   linkat(AT_FDCWD, inode_proc(inode_at(ino)), inode_at(parent)->fd, name,
                          AT_SYMLINK_FOLLOW));
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
    char to[4097];
    ssize_t n = readlinkat(inode_at(ino)->fd, "", to, sizeof to - 1);
    if (n < 0) {
        fuse_reply_err(req, errno);
        return;
    }
    to[n] = '\0';
    fuse_reply_readlink(req, to);
}

/* The file of that name loses it by this client. */
static void loses_name(struct inode *dir, const char *name)
{
    struct stat st;
    struct inode *i;
    if (fstatat(dir->fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        (i = inode_known(st.st_dev, st.st_ino)) == NULL)
        return;
    i->removed_here = st.st_nlink <= 1 || S_ISDIR(st.st_mode);
    i->st_due = 0;
}

static void remove_name(fuse_req_t req, fuse_ino_t parent, const char *name, int flags)
{
    struct inode *dir = inode_at(parent);
    if (spoilt(req, "unlink") != 0)
        return;
    loses_name(dir, name);
    int err = unlinkat(dir->fd, name, flags) != 0 ? errno : 0;
    if (err == 0 || err == ENOENT)
        view_own(dir, name, 0);
    fuse_reply_err(req, err);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    remove_name(req, parent, name, 0);
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
    remove_name(req, parent, name, AT_REMOVEDIR);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t newparent,
                      const char *newname, unsigned int flags)
{
    struct inode *from = inode_at(parent), *to = inode_at(newparent);
    if (spoilt(req, "rename") != 0)
        return;
    if (flags == 0 && number_of(from, name) != number_of(to, newname))
        loses_name(to, newname);
    if (renameat2(from->fd, name, to->fd, newname, flags) != 0) {
        fuse_reply_err(req, errno);
        return;
    }
    view_own(from, name, number_of(from, name));
    view_own(to, newname, number_of(to, newname));
    fuse_reply_err(req, 0);
}

/* ---- listings ---- */

struct listed {
    uint64_t ino;
    unsigned type;
    char *name;
};
struct listing {
    struct listed *at;
    size_t n, room;
};

static int list_add(struct listing *l, const char *name, uint64_t ino, unsigned type)
{
    if (l->n == l->room) {
        size_t room = l->room * 2 + 64;
        struct listed *more = realloc(l->at, room * sizeof *more);
        if (more == NULL)
            return ENOMEM;
        l->at = more;
        l->room = room;
    }
    l->at[l->n] = (struct listed){ino, type, strdup(name)};
    return l->at[l->n++].name == NULL ? ENOMEM : 0;
}

static int list_entry(void *user, const struct entry *e)
{
    return list_add(user, e->name, e->shown[LIST], e->type);
}

static void list_empty(struct listing *l)
{
    while (l->n > 0)
        free(l->at[--l->n].name);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    (void)ino;
    struct listing *l = calloc(1, sizeof *l);
    if (l == NULL) {
        fuse_reply_err(req, ENOMEM);
        return;
    }
    fi->fh = (uint64_t)(uintptr_t)l;
    fuse_reply_open(req, fi);
}

static int list_begin(struct listing *l, struct inode *dir)
{
    list_empty(l);
    int err = list_add(l, ".", dir->ino, 4);
    err = err != 0 ? err : list_add(l, "..", dir->ino, 4);
    return err != 0 ? err : view_list(dir, list_entry, l);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t at,
                       struct fuse_file_info *fi)
{
    struct listing *l = (struct listing *)(uintptr_t)fi->fh;
    int err = at == 0 ? list_begin(l, inode_at(ino)) : 0;
    char *buf = err == 0 ? malloc(size) : NULL;
    if (buf == NULL) {
        fuse_reply_err(req, err != 0 ? err : ENOMEM);
        return;
    }
    size_t used = 0;
    for (size_t k = (size_t)at; k < l->n; k++) {
        struct stat st = {.st_ino = l->at[k].ino, .st_mode = l->at[k].type << 12};
        size_t need =
            fuse_add_direntry(req, buf + used, size - used, l->at[k].name, &st, (off_t)k + 1);
        if (need > size - used)
            break;
        used += need;
    }
    fuse_reply_buf(req, buf, used);
    free(buf);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
    struct listing *l = (struct listing *)(uintptr_t)fi->fh;
    (void)ino;
    list_empty(l);
    free(l->at);
    free(l);
    fuse_reply_err(req, 0);
}

void names_ops(struct fuse_lowlevel_ops *ops)
{
    ops->lookup = op_lookup;
    ops->forget = op_forget;
    ops->forget_multi = op_forget_multi;
    ops->mkdir = op_mkdir;
    ops->mknod = op_mknod;
    ops->symlink = op_symlink;
    ops->link = op_link;
    ops->readlink = op_readlink;
    ops->unlink = op_unlink;
    ops->rmdir = op_rmdir;
    ops->rename = op_rename;
    ops->opendir = op_opendir;
    ops->readdir = op_readdir;
    ops->releasedir = op_releasedir;
}
