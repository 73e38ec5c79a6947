/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The folder "resume" in the run's directory:
 *   identity                      what run it is, with a MAC
 *   lRRRRRRRR                     of each process, locked while it lives
 *   eRRRRRRRR-UUUUUUUUUUUUUUUU    this process has ended in order, in that universe
 *   m..., j...                    resume_state.h, journal.h
 */
#include <errno.h>
#include <inttypes.h>

#include "base/fskind.h"
#include "base/rundir.h"
#include "p2p/resume.h"

#define FOLDER "resume"
#define USE "WaitIO resume identity"
#define IDENTITY_MAGIC UINT64_C(0x3149535245464957) /* "WIFERSI1" */
enum { IDENTITY_HEAD = 24 };

/* ---- whose it is ---- */

/* Version, blocks and their sizes, and how each process stores numbers. */
static uint8_t *identity_text(const struct wio_universe *u, size_t *bytes)
{
    const struct wio_table *t = u->table;
    *bytes = IDENTITY_HEAD + 4 * (size_t)t->npb + t->size + WIO_MAC_BYTES;
    uint8_t *raw = wio_os_alloc(*bytes);
    if (raw == NULL)
        return NULL;
    wio_put64(raw, IDENTITY_MAGIC);
    wio_put32(raw + 8, WIO_RESUME_VERSION);
    wio_put32(raw + 12, t->npb);
    wio_put32(raw + 16, t->size);
    for (uint32_t i = 0; i < t->npb; i++)
        wio_put32(raw + IDENTITY_HEAD + 4 * (size_t)i, t->pb_size[i]);
    for (uint32_t i = 0; i < t->size; i++)
        raw[IDENTITY_HEAD + 4 * (size_t)t->npb + i] =
            (uint8_t)((t->ep[i].caps & (WIO_EP_BIG_ENDIAN | WIO_EP_LONG_DOUBLE)) >> 13);
    size_t plain = *bytes - WIO_MAC_BYTES;
    if (wio_secret_mac(&u->secret, USE, raw, IDENTITY_HEAD, raw + IDENTITY_HEAD,
                       plain - IDENTITY_HEAD, raw + plain) != 0) {
        wio_os_free(raw);
        return NULL;
    }
    return raw;
}

static const char *difference(const uint8_t *mine, size_t nmine, const uint8_t *found, size_t n)
{
    if (n < IDENTITY_HEAD || wio_get64(found) != IDENTITY_MAGIC)
        return "its file identity is damaged";
    if (wio_get32(found + 8) != wio_get32(mine + 8))
        return "another version of WaitIO wrote it";
    if (wio_get32(found + 12) != wio_get32(mine + 12))
        return "that run had another number of PBs";
    size_t sizes = IDENTITY_HEAD + 4 * (size_t)wio_get32(mine + 12);
    if (n != nmine || memcmp(found + 12, mine + 12, sizes - 12) != 0)
        return "that run had another number of processes";
    if (memcmp(found + sizes, mine + sizes, nmine - sizes - WIO_MAC_BYTES) != 0)
        return "a process of that run stored numbers in another way (byte order)";
    if (memcmp(found + nmine - WIO_MAC_BYTES, mine + nmine - WIO_MAC_BYTES, WIO_MAC_BYTES) != 0)
        return "that run had another secret (WAITIO_SECRET_FILE)";
    return NULL;
}

static int refuse(const struct wio_resume *r, const char *why)
{
    return wio_fail(WAITIO_ERR_CONFIG,
                    "WAITIO_FILE_RESUME=1: cannot go on with the run in %s: %s; start it as it was "
                    "started then, or remove its directory by waitio clean --remove --resumable, "
                    "or take another WAITIO_JOB_ID",
                    r->path, why);
}

/* Each process writes the same, so it does not matter who is last. */
static int write_identity(const struct wio_universe *u, const struct wio_resume *r,
                          const uint8_t *raw, size_t n)
{
    char name[24];
    wio_text(name, sizeof name, ".identity-%08x", u->table->me);
    (void)wio_os_unlink_at(r->dir, name, false);
    int fd = wio_os_create_at(r->dir, name, 0600);
    struct iovec iov = {(uint8_t *)(uintptr_t)raw, n};
    ssize_t put = fd < 0 ? fd : wio_os_pwritev(fd, &iov, 1, 0);
    int rc = put < 0 ? (int)put : (size_t)put < n ? -EIO : 0;
    wio_os_close(fd);
    if (rc == 0)
        rc = wio_os_rename_at(r->dir, name, "identity");
    return rc == 0 ? 0 : wio_fail_os(WAITIO_ERR_SYSTEM, rc, "cannot write %s/identity", r->path);
}

static int check_identity(const struct wio_universe *u, const struct wio_resume *r)
{
    size_t n;
    uint8_t *mine = identity_text(u, &n), *found = wio_os_alloc(n + 1);
    int rc = WAITIO_ERR_NOMEM;
    if (mine == NULL || found == NULL) {
        (void)wio_fail(rc, "no memory for the identity of a run of %u processes", u->table->size);
    } else {
        int fd = wio_os_open_at(r->dir, "identity", false);
        struct iovec iov = {found, n + 1};
        ssize_t got = fd < 0 ? fd : wio_os_preadv(fd, &iov, 1, 0);
        wio_os_close(fd);
        const char *why = got < 0 ? NULL : difference(mine, n, found, (size_t)got);
        rc = got == -ENOENT ? write_identity(u, r, mine, n)
             : got < 0
                 ? wio_fail_os(WAITIO_ERR_SYSTEM, (int)got, "cannot read %s/identity", r->path)
             : why != NULL ? refuse(r, why)
                           : 0;
    }
    wio_os_free(mine);
    wio_os_free(found);
    return rc;
}

/* ---- who lives ---- */

static void remove_one(void *arg, const char *name)
{
    (void)wio_os_unlink_at(*(const int *)arg, name, false);
}

/* Its folder for messages, named by its token (transport/file): nobody else would remove it. */
static void remove_folder_of(int run, uint64_t token)
{
    struct wio_os_stat st;
    char shelf[4], own[20];
    wio_text(shelf, sizeof shelf, "%02x", (unsigned)(token & 0xff));
    wio_text(own, sizeof own, "%016" PRIx64, token);
    int at = wio_rundir_folder(run, shelf, false, &st);
    int fd = at < 0 ? at : wio_rundir_folder(at, own, false, &st);
    if (fd >= 0) {
        (void)wio_os_list_at(fd, remove_one, &fd);
        wio_os_close(fd);
        (void)wio_os_unlink_at(at, own, true);
    }
    if (at >= 0) {
        wio_os_close(at);
        (void)wio_os_unlink_at(run, shelf, true); /* fails while others are in it */
    }
}

/* The file says whose folder to remove when it has died. */
static int follow(const struct wio_universe *u, const struct wio_resume *r, int run)
{
    uint8_t raw[8];
    struct iovec iov = {raw, sizeof raw};
    uint64_t mine = u->table->ep[u->table->me].token;
    if (wio_os_preadv(r->lock, &iov, 1, 0) == (ssize_t)sizeof raw && wio_get64(raw) != mine)
        remove_folder_of(run, wio_get64(raw));
    wio_put64(raw, mine);
    ssize_t n = wio_os_pwritev(r->lock, &iov, 1, 0);
    return n == (ssize_t)sizeof raw ? 0
                                    : wio_fail_os(WAITIO_ERR_SYSTEM, n < 0 ? (int)n : -EIO,
                                                  "cannot write in %s", r->path);
}

static int take_lock(const struct wio_universe *u, struct wio_resume *r, int run)
{
    char name[16];
    wio_text(name, sizeof name, "l%08x", u->table->me);
    int fd = wio_os_create_at(r->dir, name, 0600);
    if (fd == -EEXIST)
        fd = wio_os_open_at(r->dir, name, true);
    if (fd < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, fd, "cannot make %s/%s", r->path, name);
    r->lock = fd;
    int rc = wio_os_lock_file(fd);
    if (rc == -EAGAIN || rc == -EACCES || rc == -EWOULDBLOCK)
        return refuse(r, "a process of it, the one before this, still lives: end it first");
    if (rc < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc,
                           "WAITIO_FILE_RESUME=1 needs a WAITIO_SCRATCH_DIR where files can be "
                           "locked: %s/%s",
                           r->path, name);
    return follow(u, r, run);
}

/* ---- opening ---- */

/* All of them or none. */
static int agreed(const struct wio_universe *u, bool ours)
{
    const struct wio_table *t = u->table;
    char name[64];
    for (uint32_t i = 0; i < t->size; i++) {
        bool theirs = (t->ep[i].caps & WIO_EP_ONE_LIFE) == 0;
        if (theirs != ours)
            return wio_fail(WAITIO_ERR_CONFIG,
                            "WAITIO_FILE_RESUME=%d here, and %d in %s: set it in all programs of "
                            "the run, or in none; nothing in %s was touched",
                            ours, theirs, wio_peer_name(u, i, name, sizeof name),
                            u->cfg.scratch_dir[0] != '\0' ? u->cfg.scratch_dir : ".");
    }
    return 0;
}

static int refuse_to_begin(const struct wio_resume *r)
{
    return wio_fail(WAITIO_ERR_CONFIG,
                    "%s holds what a killed run needs to go on: set WAITIO_FILE_RESUME=1 to go on, "
                    "or remove it by waitio clean --remove --resumable",
                    r->path);
}

static int open_folder(struct wio_universe *u, struct wio_resume *r, int run)
{
    struct wio_os_stat st = {0};
    bool wanted = u->cfg.file_resume;
    r->dir = wio_rundir_folder(run, FOLDER, wanted, &st);
    if (!wanted)
        return r->dir == -ENOENT ? 0 : refuse_to_begin(r);
    if (wio_fs_is_weak(&u->cfg, run, NULL))
        return wio_fail(
            WAITIO_ERR_UNSUPPORTED,
            "WAITIO_FILE_RESUME=1: %s lies on a file system that shows late what others "
            "have written; let WAITIO_SCRATCH_DIR name one that keeps POSIX's rules",
            r->path);
    if (r->dir < 0)
        return wio_fail_os(r->dir == -EACCES ? WAITIO_ERR_CONFIG : WAITIO_ERR_SYSTEM, r->dir,
                           "cannot use %s: it must be ours, and closed to others", r->path);
    int rc = check_identity(u, r);
    return rc == 0 ? take_lock(u, r, run) : rc;
}

int wio_resume_open(struct wio_universe *u, struct wio_resume *r)
{
    char run[512];
    int rc = agreed(u, u->cfg.file_resume);
    if (rc != 0)
        return rc;
    int at = wio_rundir_open(u->cfg.scratch_dir, u->cfg.job_id, true, run, sizeof run);
    if (at < 0)
        return at;
    wio_text(r->path, sizeof r->path, "%s/%s", run, FOLDER);
    rc = open_folder(u, r, at);
    wio_os_close(at);
    return rc;
}

/* ---- the end ---- */

struct ends {
    char tail[24];
    uint32_t n;
};

static void count_end(void *arg, const char *name)
{
    struct ends *e = arg;
    size_t n = strlen(name);
    e->n += name[0] == 'e' && n == 9 + strlen(e->tail) && strcmp(name + 9, e->tail) == 0;
}

void wio_resume_end(struct wio_universe *u, struct wio_resume *r)
{
    struct ends e = {.n = 0};
    char name[40], away[24];
    wio_text(e.tail, sizeof e.tail, "-%016" PRIx64, r->journal.universe);
    wio_text(name, sizeof name, "e%08x%s", u->table->me, e.tail);
    int fd = wio_os_create_at(r->dir, name, 0600);
    if (fd < 0)
        return; /* it stays, and waitio clean names it */
    wio_os_close(fd);
    (void)wio_os_list_at(r->dir, count_end, &e);
    char run[512];
    int at = e.n == u->table->size
                 ? wio_rundir_open(u->cfg.scratch_dir, u->cfg.job_id, false, run, sizeof run)
                 : -1;
    if (at < 0)
        return;
    /* Under the other name nobody takes the half of it for something to go on with. */
    wio_text(away, sizeof away, "%s~%08x", FOLDER, u->table->me);
    if (wio_os_rename_at(at, FOLDER, away) == 0) {
        (void)wio_os_list_at(r->dir, remove_one, &r->dir);
        (void)wio_os_unlink_at(at, away, true);
    }
    wio_os_close(at);
}
