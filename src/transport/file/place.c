/* SPDX-License-Identifier: BSD-3-Clause */
/** @file place.c  Directories: the run's, ours, the peers'; and the signs of life in them. */
#include "base/rundir.h"
#include "transport/file/file.h"

#define ALIVE "alive"
#define ALIVE_NEW ".alive"
#define LATE_PAUSE_NS 20000000LL /* until a weak file system shows what was done meanwhile ... */
#define LATE_TRIES 250           /* ... so often */
#define STILL_BEATS 2            /* without its lock and without counting it has ended ... */
#define STILL_NS 5000000000LL    /* ... after so long at least: files show late */
#define ASLEEP_BEATS 4           /* so many heartbeats between two looks of ours are a gap ... */
#define ASLEEP_NS 1000000000LL   /* ... if they are so long; for the counter ... */
#define ASLEEP_SHARE 4           /* ... if they are this part of WAITIO_FILE_SILENCE, too */

static int open_root(struct file_iface *f)
{
    const struct wio_config *cfg = f->base.p.cfg;
    wio_os_close(f->root);
    f->root = wio_rundir_open(cfg->scratch_dir, cfg->job_id, true, f->path, sizeof f->path);
    if (f->root < 0)
        return f->root;
    wio_file_sight_decide(f);
    return 0;
}

static void shelf_name(uint64_t token, char buf[4])
{
    wio_text(buf, 4, "%02x", (unsigned)(token & 0xff));
}
static void folder_name(uint64_t token, char buf[20])
{
    wio_text(buf, 20, "%016" PRIx64, token);
}

/* @return descriptor or -errno */
static int make_own(struct file_iface *f)
{
    char shelf[4], own[20];
    struct wio_os_stat st;
    shelf_name(f->token, shelf);
    folder_name(f->token, own);
    int at = wio_rundir_folder(f->root, shelf, true, &st);
    if (at < 0)
        return at;
    int rc = wio_os_mkdir_at(at, own, 0700);
    int fd = rc == 0 || rc == -EEXIST ? wio_rundir_folder(at, own, false, &st) : rc;
    wio_os_close(at);
    f->base.p.counters->file_looks += 4;
    return fd;
}

/* A process that leaves may remove the shelf, or the run's directory, just now: then once more. On
 * a weak file system what was removed may be seen for a while. @return 0, -errno, code */
static int make_folders(struct file_iface *f)
{
    for (int attempt = 0; attempt < LATE_TRIES; attempt++) {
        int rc = open_root(f);
        if (rc != 0)
            return rc;
        f->folder = make_own(f);
        if (f->folder != -ENOENT && f->folder != -ESTALE)
            break;
        if (f->weak)
            wio_os_sleep_ns(LATE_PAUSE_NS);
    }
    return 0;
}

static int write_alive(struct file_iface *f)
{
    uint8_t buf[FILE_ALIVE_BYTES];
    struct file_alive a = {
        .token = f->token, .beat = ++f->beat, .host = f->host, .locked = f->has_lock};
    wio_file_alive_encode(&a, buf);
    struct iovec iov = {buf, sizeof buf};
    ssize_t n = wio_os_pwritev(f->alive, &iov, 1, 0);
    if (n != (ssize_t)sizeof buf)
        return n < 0 ? (int)n : -EIO;
    return wio_file_sight_sync(f, f->alive);
}

static int make_alive(struct file_iface *f)
{
    f->alive = wio_os_create_at(f->folder, ALIVE_NEW, 0600);
    if (f->alive < 0)
        return f->alive;
    int rc = wio_os_lock_file(f->alive);
    f->has_lock = rc == 0;
    if (rc < 0)
        wio_info(f->base.p.log, WIO_C_FILE,
                 "%s: files cannot be locked there (%s): that a process has died is noticed after "
                 "WAITIO_FILE_SILENCE",
                 f->path, strerror(-rc));
    rc = write_alive(f);
    return rc < 0 ? rc : wio_os_rename_at(f->folder, ALIVE_NEW, ALIVE);
}

int wio_file_place_make(struct file_iface *f)
{
    int rc = make_folders(f);
    if (rc != 0)
        return rc;
    wio_file_sight_tell(f);
    rc = f->folder < 0 ? f->folder : make_alive(f);
    if (rc < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc, "cannot make files in %s", f->path);
    return 0;
}

static void remove_one(void *arg, const char *name)
{
    struct file_iface *f = arg;
    (void)wio_os_unlink_at(f->folder, name, false);
}

/* Names that others have made may show later than they stop us. */
static void remove_own(struct file_iface *f)
{
    char shelf[4], own[20];
    struct wio_os_stat st;
    shelf_name(f->token, shelf);
    folder_name(f->token, own);
    int at = wio_rundir_folder(f->root, shelf, false, &st);
    for (int attempt = 0; at >= 0 && attempt < LATE_TRIES; attempt++) {
        (void)wio_os_list_at(f->folder, remove_one, f);
        if (wio_os_unlink_at(at, own, true) != -ENOTEMPTY || !f->weak)
            break;
        wio_os_sleep_ns(LATE_PAUSE_NS);
    }
    wio_os_close(at);
}

void wio_file_place_drop(struct file_iface *f)
{
    if (f->folder >= 0) {
        if (f->weak) { /* some systems keep a file that is open under another name */
            wio_os_close(f->alive);
            f->alive = -1;
        }
        (void)wio_os_unlink_at(f->folder, ALIVE, false); /* first: nobody writes to us any more */
        remove_own(f);
    }
    if (f->root >= 0) { /* also without our folder; both fail while others are in them */
        char shelf[4];
        shelf_name(f->token, shelf);
        (void)wio_os_unlink_at(f->root, shelf, true);
        wio_rundir_remove(f->base.p.cfg->scratch_dir, f->base.p.cfg->job_id);
    }
    int *fds[] = {&f->alive, &f->folder, &f->root};
    for (size_t i = 0; i < WIO_ARRAY_LEN(fds); i++) {
        wio_os_close(*fds[i]);
        *fds[i] = -1;
    }
}

int wio_file_place_open(struct file_iface *f, uint64_t token)
{
    char shelf[4], name[20];
    struct wio_os_stat st;
    shelf_name(token, shelf);
    folder_name(token, name);
    f->base.p.counters->file_looks += 2;
    int at = wio_rundir_folder(f->root, shelf, false, &st);
    if (at < 0)
        return at;
    int fd = wio_rundir_folder(at, name, false, &st);
    wio_os_close(at);
    return fd;
}

/* ---- signs of life ---- */

void wio_file_beat(struct file_iface *f, int64_t now)
{
    char note[96];
    f->beat_at = now + f->beat_ns;
    int rc = write_alive(f);
    if (rc < 0 && wio_log_gate(&f->disk, now, note, sizeof note))
        wio_warn(f->base.p.log, WIO_C_FILE, "cannot write the sign of life in %s: %s%s", f->path,
                 strerror(-rc), note);
}

/* Its lock is not seen. It was, so its process has ended - or it lives and has lost its locks, as
 * on NFS after a time without the server: then it goes on counting. @return 0: it has ended, or
 * -errno: not known */
static int no_lock(struct file_link *l, bool grown, int64_t now)
{
    if (!l->lock_seen && l->remote)
        return -ENOLCK; /* locks may not be seen from here */
    if (!l->weak)
        return 0;
    if (l->unlocked_ns != 0 && grown) {
        l->lock_seen = false;
        l->unlocked_ns = 0;
        return -ENOLCK;
    }
    if (l->unlocked_ns == 0)
        l->unlocked_ns = now;
    int64_t still = STILL_BEATS * file_of(l)->beat_ns;
    return now - l->unlocked_ns < (still > STILL_NS ? still : STILL_NS) ? -ENOLCK : 0;
}

/* What the peer's file says. @return 1: it lives, 0: it has ended, -errno: not known */
static int read_alive(struct file_link *l, int fd, int64_t now)
{
    struct file_iface *f = file_of(l);
    uint8_t buf[FILE_ALIVE_BYTES];
    struct iovec iov = {buf, sizeof buf};
    struct file_alive a;
    f->base.p.counters->file_reads++;
    ssize_t n = wio_os_preadv(fd, &iov, 1, 0);
    if (n < 0)
        return (int)n;
    if (n < (ssize_t)sizeof buf || !wio_file_alive_decode(buf, &a) || a.token != l->token)
        return -EAGAIN; /* it is being written */
    bool grown = a.beat != l->beat;
    l->alive_seen = true;
    if (grown) {
        l->beat = a.beat;
        l->beat_ns = now;
        if (l->ping_out)
            l->heard_ns = now;
    }
    int locked = a.locked ? wio_os_file_locked(fd) : -ENOLCK;
    if (locked == 1) {
        l->lock_seen = true;
        l->unlocked_ns = 0;
    }
    return locked == 0 ? no_lock(l, grown, now) : locked;
}

void wio_file_gone(struct file_link *l)
{
    l->gone = true;
    l->renew_at = 0; /* its last words */
    file_of(l)->ngone++;
}

/* Has its name been removed since it was opened? */
static bool was_removed(int fd)
{
    struct wio_os_stat st;
    int rc = wio_os_fstat(fd, &st);
    return rc == -ESTALE || (rc == 0 && st.links == 0);
}

/* Its name is not there. It has ended, if it was there before; else it may only come late. */
static bool is_missing(const struct file_link *l, int fd, bool first)
{
    if (fd >= 0)
        return fd == l->alive && was_removed(fd);
    return (fd == -ENOENT || fd == -ESTALE) && (l->alive_seen || !(first || l->remote));
}

/* An open file tells all, without an operation on names: where what is written shows without
 * opening again, and links are counted; for so many peers that descriptors are left for others. */
static bool may_keep(const struct file_link *l, int fd)
{
    const struct file_iface *f = file_of(l);
    return !l->weak && l->alive_seen && f->nkept < (uint32_t)wio_os_fd_limit() / 8 &&
           !was_removed(fd);
}

static void done_with(struct file_link *l, int fd)
{
    if (fd < 0 || fd == l->alive)
        return;
    if (!may_keep(l, fd)) {
        wio_os_close(fd);
        return;
    }
    l->alive = fd;
    file_of(l)->nkept++;
}

/* We have not looked for long: we were stopped, or the machine was. So may the peer have been, and
 * it counts again only now: its silence begins anew. */
static void after_gap(struct file_link *l, int64_t now)
{
    const struct file_iface *f = file_of(l);
    int64_t silence = (int64_t)(f->base.p.cfg->file_silence * 1e9);
    int64_t gap = l->looked_ns != 0 ? now - l->looked_ns : 0;
    l->looked_ns = now;
    if (gap <= ASLEEP_BEATS * f->beat_ns)
        return;
    if (gap > silence / ASLEEP_SHARE)
        l->beat_ns = now;
    if (gap > ASLEEP_NS && l->unlocked_ns != 0)
        l->unlocked_ns = now;
}

void wio_file_check(struct file_link *l, int64_t now)
{
    struct file_iface *f = file_of(l);
    l->check_ns = now + f->beat_ns;
    if (l->gone || l->folder < 0)
        return;
    bool first = l->beat_ns == 0;
    if (first)
        l->beat_ns = now;
    after_gap(l, now);
    f->base.p.counters->file_looks += l->alive < 0;
    int fd = l->alive >= 0 ? l->alive : wio_os_open_at(l->folder, ALIVE, false);
    int lives = fd < 0 ? fd : read_alive(l, fd, now);
    if (lives == 0 || is_missing(l, fd, first) ||
        (lives < 0 && now - l->beat_ns > (int64_t)(f->base.p.cfg->file_silence * 1e9)))
        wio_file_gone(l);
    done_with(l, fd);
}
