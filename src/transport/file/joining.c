/* SPDX-License-Identifier: BSD-3-Clause */
/** @file joining.c  The sign of life of a process that waits for others to join: nobody drives its
 * interface then, so a thread beats, which ends when the universe has formed. */
#include "transport/file/file.h"

static void *keep_beating(void *arg)
{
    struct file_iface *f = arg;
    while (wio_os_poll_in(&f->kick, 1, f->beat_ns) == 0) /* nobody else uses it yet */
        wio_file_beat(f, wio_os_now_ns());
    return NULL;
}

void wio_file_joining(struct file_iface *f)
{
    int rc = wio_os_thread_start(&f->joining, keep_beating, f, "waitio-alive");
    f->is_joining = rc == 0;
    if (rc != 0)
        wio_info(f->base.p.log, WIO_C_FILE,
                 "%s: no thread for the sign of life while joining (%s): where files cannot be "
                 "locked, waitio clean may take this process for dead",
                 f->path, strerror(-rc));
}

void wio_file_joined(struct file_iface *f)
{
    if (!f->is_joining)
        return;
    f->is_joining = false;
    wio_os_eventfd_set(f->kick);
    pthread_join(f->joining, NULL);
    wio_os_eventfd_clear(f->kick);
}
