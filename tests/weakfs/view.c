/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file view.c
 * What this client believes to be in a directory. Each look compares it with the directory itself;
 * what another client has changed gets a time of its own at which it is shown, one for lookups and
 * one for listings. So two changes come in any order, a rename is seen as two names or as none,
 * and a listing and a lookup contradict each other. Own changes show at once.
 */
#include "weakfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TICK_NS 20000000 /* times of files are that coarse */

static unsigned bucket_of(const char *name)
{
    unsigned h = 5381;
    for (; *name != '\0'; name++)
        h = h * 33 ^ (unsigned char)*name;
    return h % BUCKETS;
}

static struct entry *find(struct view *v, const char *name)
{
    struct entry *e = v->bucket[bucket_of(name)];
    while (e != NULL && strcmp(e->name, name) != 0)
        e = e->next;
    return e;
}

static struct entry *find_or_add(struct view *v, const char *name)
{
    struct entry *e = find(v, name);
    if (e != NULL)
        return e;
    size_t n = strlen(name) + 1;
    e = calloc(1, sizeof *e + n);
    if (e == NULL)
        abort();
    memcpy(e->name, name, n);
    e->next = v->bucket[bucket_of(name)];
    v->bucket[bucket_of(name)] = e;
    return e;
}

/* The directory was last changed at @p when: so old is the change, or older. */
static void changed(struct entry *e, uint64_t ino, int64_t when)
{
    for (int side = 0; side < SIDES; side++)
        if (e->shown[side] == e->real) /* else it waits already */
            e->due[side] = later(when, opt.entry_ms);
    e->real = ino;
}

static void remove_unknown(struct view *v)
{
    for (unsigned b = 0; b < BUCKETS; b++)
        for (struct entry **at = &v->bucket[b]; *at != NULL;) {
            struct entry *e = *at;
            if (e->scan != v->scan && e->real != 0)
                changed(e, 0, v->mtime);
            if (e->real == 0 && e->shown[LOOK] == 0 && e->shown[LIST] == 0) {
                *at = e->next;
                free(e);
            } else {
                at = &e->next;
            }
        }
}

static int64_t mtime_of(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return 0;
    return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

static void scan(struct inode *dir)
{
    struct view *v = dir->view;
    if (v == NULL && (v = dir->view = calloc(1, sizeof *v)) == NULL)
        abort();
    int64_t now = now_ns(), mtime = mtime_of(dir->fd);
    if (v->scanned > 0 && mtime == v->mtime && mtime < v->scanned - TICK_NS)
        return;
    int fd = openat(dir->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    v->mtime = mtime;
    v->scanned = now;
    v->scan++;
    for (struct dirent *de; d != NULL && (de = readdir(d)) != NULL;) {
        if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
            continue;
        struct entry *e = find_or_add(v, de->d_name);
        e->scan = v->scan;
        e->type = de->d_type;
        if (e->real != de->d_ino)
            changed(e, de->d_ino, mtime);
    }
    if (d != NULL)
        closedir(d);
    remove_unknown(v);
}

static void settle(struct entry *e, int side, int64_t now)
{
    if (e->shown[side] != e->real && now >= e->due[side])
        e->shown[side] = e->real;
}

struct entry *view_find(struct inode *dir, const char *name)
{
    scan(dir);
    struct entry *e = find(dir->view, name);
    if (e != NULL)
        settle(e, LOOK, now_ns());
    return e;
}

int view_list(struct inode *dir, int (*each)(void *user, const struct entry *e), void *user)
{
    scan(dir);
    int64_t now = now_ns();
    for (unsigned b = 0; b < BUCKETS; b++)
        for (struct entry *e = dir->view->bucket[b]; e != NULL; e = e->next) {
            settle(e, LIST, now);
            counts.unlisted += e->shown[LIST] == 0 && e->real != 0;
            counts.overlisted += e->shown[LIST] != 0 && e->real == 0;
            int err = e->shown[LIST] != 0 ? each(user, e) : 0;
            if (err != 0)
                return err;
        }
    return 0;
}

void view_own(struct inode *dir, const char *name, uint64_t ino)
{
    scan(dir);
    struct entry *e = find_or_add(dir->view, name);
    e->real = e->shown[LOOK] = e->shown[LIST] = ino;
}

void view_free(struct view *v)
{
    for (unsigned b = 0; v != NULL && b < BUCKETS; b++)
        while (v->bucket[b] != NULL) {
            struct entry *e = v->bucket[b];
            v->bucket[b] = e->next;
            free(e);
        }
    free(v);
}
