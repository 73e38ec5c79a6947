/* SPDX-License-Identifier: BSD-3-Clause */
/** @file old.c  What an earlier run of this job id has left in the run's directory: nothing of it
 * is read, for tokens are random; the user is told of it once. */
#include "transport/file/file.h"

#include <stdlib.h>

struct census {
    struct file_iface *f;
    int shelf;
    uint32_t all, dead;
    bool judge; /* are they dead? else only count them */
};

static bool is_member(const struct wio_table *t, uint64_t token)
{
    for (uint32_t i = 0; i < t->size; i++)
        if (t->ep[i].token == token)
            return true;
    return false;
}

/* Its process held a lock here, and holds none: on another host the lock need not be seen. */
static bool is_dead(const struct file_iface *f, int folder)
{
    uint8_t buf[FILE_ALIVE_BYTES];
    struct iovec iov = {buf, sizeof buf};
    struct file_alive a;
    int fd = wio_os_open_at(folder, "alive", false);
    bool dead = fd >= 0 && wio_os_preadv(fd, &iov, 1, 0) == (ssize_t)sizeof buf &&
                wio_file_alive_decode(buf, &a) && a.locked && a.host == f->host &&
                wio_os_file_locked(fd) == 0;
    wio_os_close(fd);
    return dead;
}

static void count_folder(void *arg, const char *name)
{
    struct census *c = arg;
    char *end;
    if (strlen(name) != 16)
        return;
    uint64_t token = strtoull(name, &end, 16);
    if (*end != '\0')
        return;
    c->all++;
    if (!c->judge || is_member(c->f->base.table, token))
        return;
    int fd = wio_os_folder_open(c->shelf, name, false);
    if (fd >= 0)
        c->dead += is_dead(c->f, fd);
    wio_os_close(fd);
}

static void count_shelf(void *arg, const char *name)
{
    struct census *c = arg;
    if (strlen(name) != 2)
        return;
    c->f->base.p.counters->file_looks += 2;
    c->shelf = wio_os_folder_open(c->f->root, name, false);
    if (c->shelf >= 0)
        (void)wio_os_list_at(c->shelf, count_folder, c);
    wio_os_close(c->shelf);
}

uint32_t wio_file_look_for_old(struct file_iface *f)
{
    struct census c = {.f = f};
    if (f->weak)
        return 0; /* whose lock is not seen may live */
    (void)wio_os_list_at(f->root, count_shelf, &c);
    if (c.all <= f->base.table->size)
        return 0;
    c.judge = true;
    (void)wio_os_list_at(f->root, count_shelf, &c);
    if (c.dead > 0)
        wio_warn(
            f->base.p.log, WIO_C_FILE,
            "%s has files of %u processes that have died: nothing of them is used; remove them "
            "by waitio clean --remove %s, or take another WAITIO_JOB_ID",
            f->path, c.dead,
            f->base.p.cfg->scratch_dir[0] != '\0' ? f->base.p.cfg->scratch_dir : ".");
    return c.dead;
}
