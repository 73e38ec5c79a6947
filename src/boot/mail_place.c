/* SPDX-License-Identifier: BSD-3-Clause */
/** @file mail_place.c  Folders of the rendezvous in a directory, and the signs of life in them. */
#include <errno.h>

#include "base/fskind.h"
#include "base/rundir.h"
#include "boot/addresses.h"
#include "boot/mail_talk.h"
#include "os/os.h"

#define GAP_MIN_NS INT64_C(5000000)
#define GAP_EVENTS_NS INT64_C(20000000)
#define GAP_MAX_NS INT64_C(1000000000)
#define EMPTY_TRIES 100
#define MAKE_TRIES 10  /* to make a room in a directory that somebody removes */
#define ASLEEP_BEATS 3 /* heartbeats by which ours is late: we were stopped */

bool wio_mail_wanted(const struct wio_config *cfg, bool solo)
{
    return cfg->comm_type == WIO_CFG_COMM_TYPE_FILE && cfg->master_host[0] == '\0' &&
           cfg->scratch_dir[0] != '\0' && !solo;
}

/* ---- folders ---- */

/* The last one of another universe of this job id may remove the run's directory just now.
 * @param[out] room  descriptor or -errno @return 0, or the error of the run's directory */
static int open_room(const struct wio_mail_way *way, bool make, char *path, size_t n, int *room)
{
    struct wio_os_stat st = {0};
    for (int tries = make ? MAKE_TRIES : 1;; tries--) {
        int run = wio_rundir_open(way->cfg->scratch_dir, way->job, make, path, n);
        if (run < 0)
            return run;
        *room = wio_rundir_folder(run, MAIL_ROOM, make, &st);
        wio_os_close(run);
        if ((*room != -ENOENT && *room != -ESTALE) || tries == 1)
            return 0;
        wio_os_sleep_ns(MAIL_RETRY_NS);
    }
}

int wio_mail_room(const struct wio_mail_way *way, bool make, char *path, size_t n)
{
    int room, rc = open_room(way, make, path, n, &room);
    if (rc < 0)
        return rc;
    if (room == -EACCES || room == -ELOOP || room == -ENOTDIR)
        return wio_fail(WAITIO_ERR_CONFIG,
                        "%s/" MAIL_ROOM " must be a directory of ours (user %d) with mode 700, and "
                        "no symbolic link: remove it, or take another WAITIO_SCRATCH_DIR or "
                        "WAITIO_JOB_ID",
                        path, (int)wio_os_uid());
    if (room == -ENOENT && !make)
        return wio_fail(WAITIO_ERR_PEER, "nobody serves there");
    if (wio_rundir_no_descriptor(room, path))
        return WAITIO_ERR_LIMIT;
    if (room < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, room, "cannot use %s/" MAIL_ROOM, path);
    return room;
}

bool wio_mail_weak(const struct wio_mail_way *way, int room)
{
    return wio_fs_is_weak(way->cfg, room, NULL);
}

void wio_mail_folder_name(char name[20], uint64_t nonce)
{
    wio_text(name, 20, "%016llx", (unsigned long long)nonce);
}

static void remove_one(void *arg, const char *name)
{
    (void)wio_os_unlink_at(*(const int *)arg, name, false);
}

void wio_mail_empty(int at, const char *name, bool patient)
{
    struct wio_os_stat st;
    int fd = wio_rundir_folder(at, name, false, &st), tries = patient ? EMPTY_TRIES : 1;
    if (fd < 0)
        return;
    for (; tries > 0; tries--) {
        (void)wio_os_list_at(fd, remove_one, &fd);
        if (wio_os_unlink_at(at, name, true) != -ENOTEMPTY || tries == 1)
            break;
        wio_os_sleep_ns(MAIL_RETRY_NS);
    }
    wio_os_close(fd);
}

int wio_mail_remove(int at, const char *name, bool patient)
{
    int rc = wio_os_unlink_at(at, name, true);
    for (int tries = patient ? EMPTY_TRIES : 0; rc == -ENOTEMPTY && tries > 0; tries--) {
        wio_os_sleep_ns(MAIL_RETRY_NS);
        rc = wio_os_unlink_at(at, name, true);
    }
    return rc;
}

uint64_t wio_mail_nonce(void)
{
    uint64_t n = 0;
    while (n == 0)
        if (wio_os_random(&n, sizeof n) < 0)
            n = wio_mix64((uint64_t)wio_os_now_ns() ^ (uint64_t)wio_os_pid() << 32);
    return n;
}

int64_t wio_mail_gap(int64_t quiet_ns, bool events)
{
    int64_t gap = quiet_ns / 2, least = events ? GAP_EVENTS_NS : GAP_MIN_NS;
    return gap < least ? least : gap > GAP_MAX_NS ? GAP_MAX_NS : gap;
}

/* ---- signs of life ---- */

static int write_sign(struct mail_sign *m)
{
    uint8_t buf[WIO_MAIL_SIGN];
    struct iovec iov = {buf, sizeof buf};
    m->s.beat++;
    wio_mail_sign_encode(&m->s, buf);
    ssize_t n = wio_os_pwritev(m->fd, &iov, 1, 0);
    return n < 0 ? (int)n : n == (ssize_t)sizeof buf ? 0 : -EIO;
}

int wio_mail_sign_make(struct mail_sign *m, const struct wio_mail_way *way, int folder,
                       const char *name, uint64_t nonce, uint64_t *ops)
{
    char temp[40];
    wio_text(temp, sizeof temp, ".%s-%016llx", name, (unsigned long long)nonce);
    memset(m, 0, sizeof *m);
    m->s = (struct wio_mail_sign){
        .nonce = nonce, .identity = wio_host_identity(), .pid = (uint32_t)wio_os_pid()};
    if (wio_os_hostname(m->s.host, sizeof m->s.host) < 0)
        wio_text(m->s.host, sizeof m->s.host, "?");
    m->every_ns = (int64_t)(way->cfg->file_heartbeat * 1e9);
    m->next_ns = wio_os_now_ns() + m->every_ns;
    m->fd = wio_os_create_at(folder, temp, 0600);
    if (m->fd < 0)
        return m->fd;
    m->s.locked = wio_os_lock_file(m->fd) == 0;
    m->weak = wio_mail_weak(way, folder);
    int rc = write_sign(m);
    if (rc == 0)
        rc = wio_os_fsync(m->fd);
    if (rc == 0)
        rc = wio_os_rename_at(folder, temp, name);
    if (rc != 0)
        (void)wio_os_unlink_at(folder, temp, false);
    *ops += 2;
    return rc;
}

bool wio_mail_beat(struct mail_sign *m, int64_t now)
{
    if (now < m->next_ns)
        return false;
    bool late = now - m->next_ns > ASLEEP_BEATS * m->every_ns;
    m->next_ns = now + m->every_ns;
    (void)write_sign(m); /* a full disk passes; others see the lock */
    if (!m->s.locked || m->weak)
        (void)wio_os_fsync(m->fd); /* the counter is all that they have */
    return late;
}

void wio_mail_forgive(struct mail_watch *w, int64_t now)
{
    if (w->grown_ns != 0)
        w->grown_ns = now;
}

static int read_sign(int fd, struct wio_mail_sign *s, int *version)
{
    uint8_t buf[WIO_MAIL_SIGN];
    struct iovec iov = {buf, sizeof buf};
    ssize_t n = wio_os_preadv(fd, &iov, 1, 0);
    return n < 0 ? (int)n : wio_mail_sign_decode(buf, (size_t)n, s, version);
}

/* A lock that works between us tells at once, without the file's name. @return its state */
static int ask_lock(struct mail_watch *w)
{
    int locked = w->fd >= 0 ? wio_os_file_locked(w->fd) : -EBADF;
    if (locked == 1)
        w->lock_seen = true;
    return locked;
}

static enum mail_life by_counter(const struct mail_watch *w, int64_t now, int64_t silence_ns)
{
    return w->grown_ns != 0 && now - w->grown_ns > silence_ns ? MAIL_ENDED : MAIL_LIVES;
}

/* What its file says, opened anew: where files are cached, only that shows what is new. */
static enum mail_life by_file(struct mail_watch *w, int64_t now, int64_t silence_ns, int *version)
{
    struct wio_mail_sign s;
    bool seen = w->grown_ns != 0;
    if (w->fd == -ENOENT || w->fd == -ESTALE)
        return seen ? MAIL_ENDED : MAIL_UNKNOWN; /* its name may come late */
    int rc = w->fd < 0 ? w->fd : read_sign(w->fd, &s, version);
    if (rc == -EPROTONOSUPPORT)
        return MAIL_OTHER_VERSION;
    if (rc < 0)
        return seen ? by_counter(w, now, silence_ns) : MAIL_UNKNOWN;
    if (seen && s.nonce != w->s.nonce)
        return MAIL_ENDED; /* another one stands in its place */
    if (!seen || s.beat != w->s.beat)
        w->grown_ns = now;
    w->s = s;
    if (s.locked)
        (void)ask_lock(w);
    return by_counter(w, now, silence_ns);
}

enum mail_life wio_mail_look(struct mail_watch *w, int folder, const char *name, int64_t now,
                             int64_t silence_ns, int *version, uint64_t *ops)
{
    if (w->lock_seen) {
        int locked = ask_lock(w);
        if (locked >= 0)
            return locked == 1 ? MAIL_LIVES : MAIL_ENDED;
    }
    wio_os_close(w->fd);
    ++*ops;
    w->fd = wio_os_open_at(folder, name, false);
    return by_file(w, now, silence_ns, version);
}

bool wio_mail_unlocked(const struct mail_watch *w, bool weak)
{
    return !weak && w->grown_ns != 0 && w->s.locked && !w->lock_seen &&
           w->s.identity == wio_host_identity();
}
