/* SPDX-License-Identifier: BSD-3-Clause */
/* Appending to the journals, and removing what nobody needs any more. */
#include <errno.h>
#include <inttypes.h>

#include "os/os.h"
#include "p2p/journal_file.h"
#include "p2p/p2p.h"

enum { PIECE = 128 << 10 };

/* Parts of a message, one after the other. @return 0; what @p use returns, NOMEM */
static int pieces(const struct wio_sent *m, int (*use)(void *arg, const uint8_t *at, size_t n),
                  void *arg)
{
    if (m->spread == NULL)
        return m->bytes > 0 ? use(arg, m->buf, m->bytes) : 0;
    uint8_t *room = wio_os_realloc(NULL, m->bytes < PIECE ? m->bytes + 1 : PIECE);
    if (room == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for a piece of %zu bytes", m->bytes);
    int rc = 0;
    for (size_t at = 0; at < m->bytes && rc == 0; at += PIECE) {
        size_t n = m->bytes - at < PIECE ? m->bytes - at : PIECE;
        m->spread->calls->read(m->spread, m->peer, at, n, room);
        rc = use(arg, room, n);
    }
    wio_os_free(room);
    return rc;
}

static int add_sum(void *arg, const uint8_t *at, size_t n)
{
    uint32_t *crc = arg;
    *crc = wio_crc32c(*crc, at, n);
    return 0;
}

int wio_journal_sum_of(const struct wio_sent *m, uint32_t *crc)
{
    *crc = 0;
    return pieces(m, add_sum, crc);
}

/* ---- writing ---- */

struct output {
    int fd;
    uint64_t at;
    uint32_t crc;
};

/* @return 0, -errno */
static int put(struct output *o, const void *from, size_t n)
{
    size_t done = 0;
    while (done < n) {
        struct iovec iov = {(uint8_t *)(uintptr_t)from + done, n - done}; /* only read */
        ssize_t put = wio_os_pwritev(o->fd, &iov, 1, o->at);
        if (put <= 0)
            return put < 0 ? (int)put : -EIO;
        done += (size_t)put;
        o->at += (uint64_t)put;
    }
    return 0;
}

static int put_piece(void *arg, const uint8_t *at, size_t n)
{
    struct output *o = arg;
    o->crc = wio_crc32c(o->crc, at, n);
    return put(o, at, n);
}

static struct wio_segment *own(struct wio_journal *j, const struct wio_writer *w, uint32_t dst)
{
    for (size_t i = j->n; i > 0; i--) {
        struct wio_segment *s = &j->segment[i - 1];
        if (s->src == j->me && s->dst == dst && s->first == w->first && s->universe == j->universe)
            return s;
    }
    return NULL;
}

static int failed(const struct wio_journal *j, int oserr, uint64_t bytes)
{
    bool full = oserr == -ENOSPC || oserr == -EDQUOT || oserr == -EFBIG;
    return wio_fail_os(full ? WAITIO_ERR_LIMIT : WAITIO_ERR_SYSTEM, oserr,
                       "cannot write %" PRIu64 " bytes to a journal in %s%s", bytes, j->path,
                       oserr == -EFBIG ? " (raise the limit on files: ulimit -f)" : "");
}

/* A new segment; the descriptor of the one before is closed. */
static int begin(struct wio_journal *j, struct wio_writer *w, uint32_t dst, uint64_t first)
{
    uint8_t head[WIO_JOURNAL_HEAD] = {0};
    char name[WIO_JOURNAL_NAME];
    struct wio_segment s = {.src = j->me,
                            .dst = dst,
                            .first = first,
                            .universe = j->universe,
                            .next = first,
                            .bytes = sizeof head};
    wio_put32(head, WIO_JOURNAL_MAGIC);
    wio_put32(head + 4, WIO_JOURNAL_VERSION);
    wio_put32(head + 8, s.src);
    wio_put32(head + 12, s.dst);
    wio_put64(head + 16, s.first);
    wio_put64(head + 24, s.universe);
    wio_put32(head + 60, wio_crc32c(0, head, 60));
    wio_journal_name(&s, name);
    wio_os_close(w->fd);
    w->fd = wio_os_create_at(j->dir, name, 0600);
    if (w->fd < 0)
        return failed(j, w->fd, sizeof head);
    struct output o = {.fd = w->fd};
    int rc = put(&o, head, sizeof head);
    if (rc < 0) {
        wio_os_close(w->fd);
        w->fd = -1;
        (void)wio_os_unlink_at(j->dir, name, false);
        return failed(j, rc, sizeof head);
    }
    w->first = first;
    w->at = sizeof head;
    j->bytes += sizeof head;
    return wio_journal_add(j, &s);
}

/* @return 0, -errno, or a code of the memory */
static int write_record(struct output *o, const struct wio_sent *m)
{
    uint8_t raw[WIO_JOURNAL_RECORD] = {0}, tail[WIO_JOURNAL_TAIL];
    wio_put32(raw, WIO_JOURNAL_MAGIC);
    wio_put64(raw + 8, m->number);
    wio_put64(raw + 16, m->space);
    wio_put64(raw + 24, m->bytes);
    wio_put32(raw + 32, (uint32_t)m->tag);
    wio_put32(raw + 4, wio_crc32c(0, raw + 8, sizeof raw - 8));
    int rc = put(o, raw, sizeof raw);
    if (rc == 0)
        rc = pieces(m, put_piece, o);
    wio_put32(tail, o->crc);
    wio_put32(tail + 4, WIO_JOURNAL_MAGIC);
    return rc == 0 ? put(o, tail, sizeof tail) : rc;
}

int wio_journal_append(struct wio_journal *j, struct wio_writer *w, uint32_t dst, uint64_t most,
                       const struct wio_sent *m)
{
    uint64_t bytes = WIO_JOURNAL_RECORD + m->bytes + WIO_JOURNAL_TAIL, limit = wio_os_file_limit();
    bool full = w->at > WIO_JOURNAL_HEAD && w->at + bytes > (most < limit ? most : limit);
    if (WIO_JOURNAL_HEAD + bytes > limit)
        return failed(j, -EFBIG, bytes);
    int rc = w->first == 0 || full ? begin(j, w, dst, m->number) : 0;
    if (rc != 0)
        return rc;
    char name[WIO_JOURNAL_NAME];
    struct wio_segment *s = own(j, w, dst);
    if (w->fd < 0) {
        wio_journal_name(s, name);
        w->fd = wio_os_open_at(j->dir, name, true);
    }
    if (w->fd < 0)
        return failed(j, w->fd, bytes);
    struct output o = {.fd = w->fd, .at = w->at};
    rc = write_record(&o, m);
    if (rc != 0) {
        (void)wio_os_resize(w->fd, w->at);
        return rc == WAITIO_ERR_NOMEM ? rc : failed(j, rc, bytes);
    }
    w->at = o.at;
    s->bytes = o.at;
    s->next = m->number + 1;
    j->bytes += bytes;
    return 0;
}

void wio_journal_forget(struct wio_journal *j, uint32_t dst, uint64_t number)
{
    size_t kept = 0, last = j->n;
    char name[WIO_JOURNAL_NAME];
    for (size_t i = 0; i < j->n; i++)
        if (j->segment[i].src == j->me && j->segment[i].dst == dst)
            last = i;
    for (size_t i = 0; i < j->n; i++) {
        const struct wio_segment s = j->segment[i];
        bool mine = s.src == j->me && s.dst == dst;
        if (!mine || i == last || s.next == 0 || s.next > number + 1) {
            j->segment[kept++] = s;
            continue;
        }
        wio_journal_name(&s, name);
        (void)wio_os_unlink_at(j->dir, name, false);
        j->bytes -= s.bytes < j->bytes ? s.bytes : j->bytes;
    }
    j->n = kept;
}
