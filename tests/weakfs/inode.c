/* SPDX-License-Identifier: BSD-3-Clause */
/** @file inode.c  The files that the kernel knows of, and their attributes as this client has them.
 */
#include "weakfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct inode root;
static struct inode *table[BUCKETS];

static struct inode **bucket_of(ino_t ino)
{
    return &table[(ino ^ ino >> 10) % BUCKETS];
}

struct inode *inode_at(fuse_ino_t ino)
{
    return ino == FUSE_ROOT_ID ? &root : (struct inode *)(uintptr_t)ino;
}

struct inode *inode_known(dev_t dev, ino_t ino)
{
    if (root.dev == dev && root.ino == ino)
        return &root;
    struct inode *i = *bucket_of(ino);
    while (i != NULL && (i->ino != ino || i->dev != dev))
        i = i->next;
    return i;
}

struct inode *inode_of(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        close(fd);
        return NULL;
    }
    struct inode *i = inode_known(st.st_dev, st.st_ino);
    if (i != NULL) {
        close(fd);
        return i;
    }
    i = calloc(1, sizeof *i);
    if (i == NULL) {
        close(fd);
        errno = ENOMEM;
        return NULL;
    }
    i->dev = st.st_dev;
    i->ino = st.st_ino;
    i->mode = st.st_mode;
    i->fd = fd;
    i->io = -1;
    i->next_due = NEVER;
    i->next = *bucket_of(i->ino);
    *bucket_of(i->ino) = i;
    return i;
}

void inode_forget(struct inode *i, uint64_t n)
{
    i->nlookup -= n < i->nlookup ? n : i->nlookup;
    if (i == &root || i->nlookup > 0)
        return;
    struct inode **at = bucket_of(i->ino);
    while (*at != i)
        at = &(*at)->next;
    *at = i->next;
    pages_free(i);
    view_free(i->view);
    if (i->io >= 0)
        close(i->io);
    close(i->fd);
    free(i);
}

const char *inode_proc(const struct inode *i)
{
    static char path[40];
    snprintf(path, sizeof path, "/proc/self/fd/%d", i->fd);
    return path;
}

int inode_refresh(struct inode *i)
{
    if (fstat(i->fd, &i->st) != 0)
        return errno;
    i->size = (uint64_t)i->st.st_size;
    for (size_t p = i->npages; i->ndirty > 0 && p-- > 0;)
        if (i->pages[p] != NULL && i->pages[p]->lo < i->pages[p]->hi) {
            uint64_t end = p * PAGE + i->pages[p]->hi;
            i->size = end > i->size ? end : i->size;
            break;
        }
    i->st_due = later(now_ns(), opt.attr_ms);
    return 0;
}

int inode_stat(struct inode *i, struct stat *st)
{
    struct stat is;
    if (fstat(i->fd, &is) != 0)
        return errno;
    int err = i->st.st_ino == 0 || now_ns() >= i->st_due ? inode_refresh(i) : 0;
    if (err != 0)
        return err;
    *st = i->st;
    if (!S_ISREG(i->mode))
        return 0;
    st->st_size = (off_t)i->size;
    st->st_blocks = (blkcnt_t)((i->size + 511) / 512);
    counts.stale_sizes += i->ndirty == 0 && is.st_size != st->st_size;
    return 0;
}

bool inode_is_stale(const struct inode *i)
{
    struct stat st;
    return opt.estale && !i->removed_here && fstat(i->fd, &st) == 0 && st.st_nlink == 0;
}
