/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file sight.c
 * What a process sees of what another one has written. On a weak file system (close-to-open) only
 * this is sure: who opens a file reads what was synced before. So its writer syncs, and its reader
 * opens it again, often while messages come and ever more seldom in between.
 */
#include "base/fskind.h"
#include "transport/file/file.h"

#define GAP_MIN_NS 200000LL    /* between two openings of a stream ... */
#define GAP_MAX_NS 100000000LL /* ... when nothing has come for long */
#define GAP_SHARE 8            /* of the time since something came or was written */
#define STALE_TRIES 8          /* openings anew, one after the other, after which a file is gone */
#define GAP_LINKS 32           /* so many links more make it as much longer again */

void wio_file_sight_decide(struct file_iface *f)
{
    f->weak = wio_fs_is_weak(f->base.p.cfg, f->root, NULL);
}

void wio_file_sight_tell(const struct file_iface *f)
{
    const char *kind;
    (void)wio_fs_is_weak(f->base.p.cfg, f->root, &kind);
    wio_info(f->base.p.log, WIO_C_FILE, "%s lies on %s: %s (WAITIO_FILE_SYSTEM)", f->path, kind,
             f->weak ? "files are synced and opened again" : "POSIX's rules are relied on");
}

int wio_file_sight_sync(const struct file_iface *f, int fd)
{
    return f->weak ? wio_os_fsync(fd) : 0;
}

void wio_file_sight_stir(struct file_link *l)
{
    if (!l->weak)
        return;
    l->stale = 0;
    l->moved_ns = wio_os_now_ns();
    if (l->renew_at > l->moved_ns + GAP_MIN_NS)
        l->renew_at = l->moved_ns + GAP_MIN_NS;
}

/* The next time to open the stream again. */
static int64_t next_time(const struct file_link *l, int64_t now)
{
    int64_t gap = (now - l->moved_ns) / GAP_SHARE;
    gap = gap < GAP_MIN_NS ? GAP_MIN_NS : gap > GAP_MAX_NS ? GAP_MAX_NS : gap;
    return now + gap * (1 + file_of(l)->nremote / GAP_LINKS);
}

void wio_file_sight_renew(struct file_link *l)
{
    struct file_iface *f = file_of(l);
    char name[FILE_NAME_BYTES];
    if (!l->weak || l->in.fd < 0)
        return;
    int64_t now = wio_os_now_ns();
    if (now < l->renew_at)
        return;
    l->renew_at = next_time(l, now);
    wio_file_name_stream(name, sizeof name, l->ep.peer, l->token, l->nonce);
    f->base.p.counters->file_looks++;
    int fd = wio_os_open_at(f->folder, name, false);
    if (fd < 0)
        return; /* its name is gone, or cannot be seen now: what is open is read on */
    wio_os_close(l->in.fd);
    l->in.fd = fd;
}

/* A client may say once of a file that is there that it is not. @return whether it may be tried
 * again: its name is there */
static bool open_again(struct file_link *l, bool ours)
{
    struct file_iface *f = file_of(l);
    struct file_seg *s = ours ? &l->out : &l->in;
    char name[FILE_NAME_BYTES];
    if (++l->stale > STALE_TRIES)
        return false;
    wio_file_name_stream(name, sizeof name, ours ? f->base.table->me : l->ep.peer,
                         ours ? f->token : l->token, l->nonce);
    f->base.p.counters->file_looks++;
    int fd = wio_os_open_at(ours ? l->folder : f->folder, name, ours);
    if (fd >= 0) {
        wio_os_close(s->fd);
        s->fd = fd;
    }
    return fd != -ENOENT && fd != -ESTALE;
}

bool wio_file_sight_lost(struct file_link *l, bool ours, int oserr)
{
    bool lost = l->weak && (oserr == -ESTALE || oserr == -ENOENT);
    if (lost && !l->gone && !open_again(l, ours)) {
        l->dropped = 2;
        wio_file_gone(l);
    }
    return lost;
}
