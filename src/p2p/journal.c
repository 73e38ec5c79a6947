/* SPDX-License-Identifier: BSD-3-Clause */
/* Finding and reading the journals of earlier lives. */
#include "p2p/journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "os/os.h"
#include "p2p/journal_file.h"

/* ---- segments ---- */

void wio_journal_name(const struct wio_segment *s, char name[WIO_JOURNAL_NAME])
{
    wio_text(name, WIO_JOURNAL_NAME, "j%08x-%08x-%016" PRIx64 "-%016" PRIx64, s->src, s->dst,
             s->first, s->universe);
}

/* Hexadecimal digits of a name. @return false: there are others */
static bool digits(const char **at, int n, char end, uint64_t *out)
{
    *out = 0;
    for (int i = 0; i < n; i++) {
        char c = (*at)[i];
        int d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (d < 0)
            return false;
        *out = *out << 4 | (uint64_t)d;
    }
    bool fits = (*at)[n] == end;
    *at += n + 1;
    return fits;
}

static bool parse(const char *name, struct wio_segment *s)
{
    uint64_t src, dst;
    memset(s, 0, sizeof *s);
    if (*name++ != 'j' || !digits(&name, 8, '-', &src) || !digits(&name, 8, '-', &dst))
        return false;
    s->src = (uint32_t)src;
    s->dst = (uint32_t)dst;
    return digits(&name, 16, '-', &s->first) && digits(&name, 16, '\0', &s->universe);
}

int wio_journal_add(struct wio_journal *j, const struct wio_segment *s)
{
    if (j->n == j->room) {
        size_t room = j->room == 0 ? 16 : 2 * j->room;
        struct wio_segment *more = wio_os_realloc(j->segment, room * sizeof *more);
        if (more == NULL)
            return wio_fail(WAITIO_ERR_NOMEM, "no memory for the journals in %s", j->path);
        j->segment = more;
        j->room = room;
    }
    j->segment[j->n++] = *s;
    return 0;
}

struct listing {
    struct wio_journal *j;
    int rc;
};

static void look_at(void *arg, const char *name)
{
    struct listing *l = arg;
    struct wio_segment s;
    struct wio_os_stat st;
    if (l->rc != 0 || !parse(name, &s) || (s.src != l->j->me && s.dst != l->j->me) ||
        s.universe == l->j->universe)
        return;
    int fd = wio_os_open_at(l->j->dir, name, false);
    int rc = fd < 0 ? fd : wio_os_fstat(fd, &st);
    wio_os_close(fd);
    if (rc == -ENOENT)
        return; /* its writer has just removed it */
    if (rc < 0) {
        l->rc = wio_fail_os(WAITIO_ERR_SYSTEM, rc, "cannot read %s/%s", l->j->path, name);
        return;
    }
    s.bytes = (uint64_t)st.size;
    if (s.src == l->j->me)
        l->j->bytes += s.bytes;
    l->rc = wio_journal_add(l->j, &s);
}

/* In the order of their messages. One without a message has the same number as the next one: a
 * writer that was killed at once. The larger one comes behind it. */
static int in_order(const void *a, const void *b)
{
    const struct wio_segment *x = a, *y = b;
    if (x->src != y->src)
        return x->src < y->src ? -1 : 1;
    if (x->dst != y->dst)
        return x->dst < y->dst ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

int wio_journal_list(struct wio_journal *j)
{
    struct listing l = {.j = j};
    int rc = wio_os_list_at(j->dir, look_at, &l);
    if (rc < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, rc, "cannot list %s", j->path);
    if (j->n > 0)
        qsort(j->segment, j->n, sizeof *j->segment, in_order);
    return l.rc;
}

void wio_journal_free(struct wio_journal *j)
{
    wio_os_free(j->segment);
    j->segment = NULL;
    j->n = j->room = 0;
}

/* ---- reading ---- */

static int damaged(const struct wio_journal *j, const struct wio_segment *s, const char *what)
{
    char name[WIO_JOURNAL_NAME];
    wio_journal_name(s, name);
    return wio_fail(WAITIO_ERR_CONFIG,
                    "%s/%s %s: this run cannot go on; remove its directory by waitio clean "
                    "--remove --resumable, and have the programs begin anew",
                    j->path, name, what);
}

int wio_journal_damaged(const struct wio_journal *j, const struct wio_stored *m)
{
    struct wio_segment s = {m->src, m->dst, m->first, m->universe, 0, 0};
    return damaged(j, &s, "is damaged: a message does not fit its checksum");
}

static ssize_t read_at(int fd, uint64_t at, void *to, size_t n)
{
    size_t done = 0;
    while (done < n) {
        struct iovec iov = {(uint8_t *)to + done, n - done};
        ssize_t got = wio_os_preadv(fd, &iov, 1, at + done);
        if (got <= 0)
            return got < 0 ? got : (ssize_t)done;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

struct walk {
    struct wio_journal *j;
    struct wio_segment *s;
    int fd;
    uint64_t after;
    int (*each)(void *arg, const struct wio_stored *m);
    void *arg;
};

/* The record at @p at. @return its length, 0: the row ends here, or a code */
static int64_t one_record(struct walk *w, uint64_t at)
{
    uint8_t raw[WIO_JOURNAL_RECORD];
    struct wio_segment *s = w->s;
    if (s->bytes - at < sizeof raw)
        return 0;
    ssize_t n = read_at(w->fd, at, raw, sizeof raw);
    if (n < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, (int)n, "cannot read a journal in %s", w->j->path);
    struct wio_stored m = {.src = s->src,
                           .dst = s->dst,
                           .first = s->first,
                           .universe = s->universe,
                           .offset = at,
                           .number = wio_get64(raw + 8),
                           .space = wio_get64(raw + 16),
                           .bytes = wio_get64(raw + 24),
                           .tag = (int32_t)wio_get32(raw + 32)};
    if (n < (ssize_t)sizeof raw || wio_get32(raw) != WIO_JOURNAL_MAGIC ||
        wio_get32(raw + 4) != wio_crc32c(0, raw + 8, sizeof raw - 8) || m.number != s->next)
        return damaged(w->j, s, "is damaged: a message does not fit its checksum");
    uint64_t left = s->bytes - at - sizeof raw;
    if (left < WIO_JOURNAL_TAIL || left - WIO_JOURNAL_TAIL < m.bytes)
        return 0;
    s->next++;
    int rc = m.number > w->after ? w->each(w->arg, &m) : 0;
    return rc != 0 ? rc : (int64_t)(sizeof raw + m.bytes + WIO_JOURNAL_TAIL);
}

static bool head_fits(const struct wio_segment *s, const uint8_t *head)
{
    return wio_get32(head) == WIO_JOURNAL_MAGIC && wio_get32(head + 4) == WIO_JOURNAL_VERSION &&
           wio_get32(head + 8) == s->src && wio_get32(head + 12) == s->dst &&
           wio_get64(head + 16) == s->first && wio_get64(head + 24) == s->universe &&
           wio_get32(head + 60) == wio_crc32c(0, head, 60);
}

static int one_segment(struct walk *w)
{
    uint8_t head[WIO_JOURNAL_HEAD];
    if (w->s->bytes < sizeof head) /* killed while making it */
        return 0;
    ssize_t n = read_at(w->fd, 0, head, sizeof head);
    if (n < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, (int)n, "cannot read a journal in %s", w->j->path);
    if (n < (ssize_t)sizeof head || !head_fits(w->s, head))
        return damaged(w->j, w->s, "is damaged: its head does not fit its checksum and its name");
    int64_t step = 0;
    for (uint64_t at = sizeof head; (step = one_record(w, at)) > 0;)
        at += (uint64_t)step;
    return (int)step;
}

int wio_journal_walk(struct wio_journal *j, uint32_t src, uint32_t dst, uint64_t after,
                     int (*each)(void *arg, const struct wio_stored *m), void *arg, uint64_t *last)
{
    struct walk w = {.j = j, .after = after, .each = each, .arg = arg};
    char name[WIO_JOURNAL_NAME];
    uint64_t next = 0;
    int rc = 0;
    *last = 0;
    for (size_t i = 0; i < j->n && rc == 0; i++) {
        w.s = &j->segment[i];
        if (w.s->src != src || w.s->dst != dst)
            continue;
        wio_journal_name(w.s, name);
        w.s->next = w.s->first;
        if ((w.fd = wio_os_open_at(j->dir, name, false)) == -ENOENT)
            continue; /* its writer has just removed it, and all before it */
        if (w.fd < 0)
            return wio_fail_os(WAITIO_ERR_SYSTEM, w.fd, "cannot open %s/%s", j->path, name);
        if (next != 0 ? w.s->first != next : dst == j->me && w.s->first > after + 1)
            rc = damaged(j, w.s, "does not follow the one before it: files are missing");
        if (rc == 0)
            rc = one_segment(&w);
        wio_os_close(w.fd);
        next = w.s->next;
        *last = next - 1;
    }
    return rc;
}

/* @return descriptor, or a code */
static int open_segment(const struct wio_journal *j, const struct wio_stored *m)
{
    struct wio_segment s = {m->src, m->dst, m->first, m->universe, 0, 0};
    char name[WIO_JOURNAL_NAME];
    wio_journal_name(&s, name);
    int fd = wio_os_open_at(j->dir, name, false);
    return fd >= 0 ? fd : wio_fail_os(WAITIO_ERR_SYSTEM, fd, "cannot open %s/%s", j->path, name);
}

static int fetch(const struct wio_journal *j, const struct wio_stored *m, uint64_t at, void *to,
                 size_t n)
{
    int fd = open_segment(j, m);
    if (fd < 0)
        return fd;
    ssize_t got = read_at(fd, m->offset + WIO_JOURNAL_RECORD + at, to, n);
    wio_os_close(fd);
    if (got < 0)
        return wio_fail_os(WAITIO_ERR_SYSTEM, (int)got, "cannot read a journal in %s", j->path);
    return (size_t)got == n ? 0 : wio_journal_damaged(j, m);
}

int wio_journal_data(const struct wio_journal *j, const struct wio_stored *m, uint64_t at, void *to,
                     size_t n)
{
    return n == 0 ? 0 : fetch(j, m, at, to, n);
}

int wio_journal_sum(const struct wio_journal *j, const struct wio_stored *m, uint32_t *crc)
{
    uint8_t tail[WIO_JOURNAL_TAIL];
    int rc = fetch(j, m, m->bytes, tail, sizeof tail);
    if (rc != 0)
        return rc;
    *crc = wio_get32(tail);
    return wio_get32(tail + 4) == WIO_JOURNAL_MAGIC ? 0 : wio_journal_damaged(j, m);
}
