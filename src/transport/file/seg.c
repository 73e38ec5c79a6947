/* SPDX-License-Identifier: BSD-3-Clause */
/** @file seg.c  Streams: names, making, opening, reading and writing at a position. */
#include "transport/file/file.h"

#include <stdlib.h>

/* ---- names ---- */

void wio_file_name_stream(char *buf, size_t n, uint32_t rank, uint64_t token, uint64_t nonce)
{
    wio_text(buf, n, "s%08" PRIx32 "-%016" PRIx64 "-%016" PRIx64, rank, token, nonce);
}

void wio_file_name_leave(char *buf, size_t n, uint32_t rank, uint64_t token, uint64_t nonce)
{
    wio_text(buf, n, "l%08" PRIx32 "-%016" PRIx64 "-%016" PRIx64, rank, token, nonce);
}

void wio_file_name_knock(char *buf, size_t n, uint32_t rank, uint64_t token, uint64_t number)
{
    wio_text(buf, n, "k%08" PRIx32 "-%016" PRIx64 "-%016" PRIx64, rank, token, number);
}

/* @p digits hexadecimal digits. @return false: something else */
static bool take_hex(const char **at, int digits, uint64_t *out)
{
    *out = 0;
    for (int i = 0; i < digits; i++, (*at)++) {
        char c = **at;
        int v = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (v < 0)
            return false;
        *out = *out << 4 | (unsigned)v;
    }
    return true;
}

enum file_name_kind wio_file_name_parse(const char *name, struct file_name *out)
{
    const char *at = name + 1;
    uint64_t rank;
    if ((name[0] != 's' && name[0] != 'k' && name[0] != 'l') || !take_hex(&at, 8, &rank) ||
        *at++ != '-' || !take_hex(&at, 16, &out->token) || *at++ != '-' ||
        !take_hex(&at, 16, &out->nonce) || *at != '\0')
        return FILE_N_OTHER;
    out->rank = (uint32_t)rank;
    return name[0] == 'k' ? FILE_N_KNOCK : name[0] == 's' ? FILE_N_STREAM : FILE_N_LEAVE;
}

/* ---- making and opening ---- */

/* A share of what the bound leaves, so that later peers find something, too. 0: nothing is left */
static uint64_t ring_size(const struct file_iface *f)
{
    uint64_t left = f->held < f->limit ? f->limit - f->held : 0;
    uint64_t ring = left / 8 / 4096 * 4096;
    if (ring > FILE_RING_MAX)
        ring = FILE_RING_MAX;
    if (ring < FILE_RING_MIN)
        ring = FILE_RING_MIN;
    return ring + FILE_HEAD_BYTES <= left ? ring : 0;
}

static int fill_head(struct file_iface *f, int fd, const struct file_stream *s)
{
    uint8_t head[FILE_CELL_AT + FILE_CELL_BYTES] = {0};
    struct file_cell cell = {0};
    wio_file_stream_encode(s, head);
    wio_file_cell_encode(&cell, head + FILE_CELL_AT);
    int rc = wio_os_resize(fd, FILE_HEAD_BYTES + s->ring);
    if (rc < 0)
        return rc;
    struct iovec iov = {head, sizeof head};
    ssize_t n = wio_os_pwritev(fd, &iov, 1, 0);
    f->base.p.counters->file_writes++;
    if (n != (ssize_t)sizeof head)
        return n < 0 ? (int)n : -EIO;
    return wio_file_sight_sync(f, fd); /* before it has its name */
}

/* Whole before it has its name. @return descriptor or -errno */
static int make_file(struct file_link *l, const struct file_stream *s)
{
    struct file_iface *f = file_of(l);
    char name[FILE_NAME_BYTES], hidden[FILE_NAME_BYTES + 1];
    wio_file_name_stream(name, sizeof name, s->rank, s->token, s->nonce);
    wio_text(hidden, sizeof hidden, ".%s", name);
    f->base.p.counters->file_looks += 2;
    int fd = wio_os_create_at(l->folder, hidden, 0600);
    if (fd < 0)
        return fd;
    int rc = fill_head(f, fd, s);
    if (rc == 0)
        rc = wio_os_rename_at(l->folder, hidden, name);
    if (rc < 0) {
        (void)wio_os_unlink_at(l->folder, hidden, false);
        wio_os_close(fd);
        return rc;
    }
    return fd;
}

int wio_file_seg_make(struct file_link *l)
{
    struct file_iface *f = file_of(l);
    struct file_stream s = {
        .ring = ring_size(f), .nonce = l->nonce, .token = f->token, .rank = f->base.table->me};
    char who[64];
    if (s.ring == 0)
        return wio_fail(WAITIO_ERR_LIMIT,
                        "no file for messages to %s: this process has %" PRIu64
                        " bytes in files, WAITIO_MAXFILE_SIZE_PER_PROC=%" PRIu64
                        " leaves less than the %u of one more",
                        wio_file_peer_name(f, l->ep.peer, who, sizeof who), f->held, f->limit,
                        FILE_RING_MIN + FILE_HEAD_BYTES);
    int fd = make_file(l, &s);
    if (fd == -ENOENT || fd == -ESTALE)
        return wio_fail(WAITIO_ERR_PEER,
                        "the folder of %s in %s is gone: it has ended or left the universe",
                        wio_file_peer_name(f, l->ep.peer, who, sizeof who), f->path);
    if (fd < 0) /* or the link is over */
        return wio_file_full(l, fd, FILE_HEAD_BYTES) ? WAITIO_ERR_BUSY : WAITIO_ERR_SYSTEM;
    if (l->full)
        wio_file_full_ended(l);
    l->out = (struct file_seg){.fd = fd, .ring = s.ring};
    struct wio_os_stat st;
    l->counted = wio_os_fstat(fd, &st) == 0 && st.links > 0;
    f->held += s.ring + FILE_HEAD_BYTES;
    f->base.p.counters->file_bytes = f->held;
    return 0;
}

/* Where names come before contents, a head of zeros is one that comes later. */
static int head_says(const struct file_link *l, const uint8_t *head, ssize_t n,
                     struct file_stream *s)
{
    static const uint8_t nothing[FILE_STREAM_BYTES];
    if (n < 0)
        return (int)n;
    if (l->remote && (n < (ssize_t)sizeof nothing || memcmp(head, nothing, sizeof nothing) == 0))
        return -EAGAIN;
    bool ours = n == (ssize_t)sizeof nothing && wio_file_stream_decode(head, s) &&
                s->nonce == l->nonce && s->token == l->token && s->rank == l->ep.peer;
    return ours ? 0 : -EPROTO;
}

int wio_file_seg_open(struct file_link *l)
{
    struct file_iface *f = file_of(l);
    char name[FILE_NAME_BYTES];
    uint8_t head[FILE_STREAM_BYTES];
    struct file_stream s;
    wio_file_name_stream(name, sizeof name, l->ep.peer, l->token, l->nonce);
    f->base.p.counters->file_looks++;
    int fd = wio_os_open_at(f->folder, name, false);
    if (fd < 0)
        return fd;
    struct iovec iov = {head, sizeof head};
    int rc = head_says(l, head, wio_os_preadv(fd, &iov, 1, 0), &s);
    if (rc < 0) {
        wio_os_close(fd);
        return rc;
    }
    l->in = (struct file_seg){.fd = fd, .ring = s.ring};
    return 0;
}

void wio_file_seg_unlink(struct file_link *l, bool ours)
{
    struct file_iface *f = file_of(l);
    char name[FILE_NAME_BYTES];
    uint32_t rank = ours ? f->base.table->me : l->ep.peer;
    int folder = ours ? l->folder : f->folder;
    if (folder < 0 || l->nonce == 0)
        return;
    wio_file_name_stream(name, sizeof name, rank, ours ? f->token : l->token, l->nonce);
    f->base.p.counters->file_looks++;
    (void)wio_os_unlink_at(folder, name, false);
}

void wio_file_seg_close(struct file_iface *f, struct file_link *l)
{
    if (l->out.fd >= 0) {
        f->held -= l->out.ring + FILE_HEAD_BYTES;
        f->base.p.counters->file_bytes = f->held;
    }
    f->nkept -= l->alive >= 0;
    int *fds[] = {&l->in.fd, &l->out.fd, &l->folder, &l->alive};
    for (size_t i = 0; i < WIO_ARRAY_LEN(fds); i++) {
        wio_os_close(*fds[i]);
        *fds[i] = -1;
    }
}

/* ---- reading and writing ---- */

/* The bytes of a piece of the stream that lie side by side in the file. */
static size_t until_wrap(const struct file_seg *s, uint64_t pos, size_t n)
{
    uint64_t left = s->ring - pos % s->ring;
    return n < left ? n : (size_t)left;
}

ssize_t wio_file_seg_read(struct file_iface *f, const struct file_seg *s, uint64_t pos, void *buf,
                          size_t n)
{
    size_t got = 0;
    while (got < n) {
        size_t part = until_wrap(s, pos + got, n - got);
        struct iovec iov = {(uint8_t *)buf + got, part};
        ssize_t r = wio_os_preadv(s->fd, &iov, 1, FILE_HEAD_BYTES + (pos + got) % s->ring);
        f->base.p.counters->file_reads++;
        if (r < 0)
            return got > 0 ? (ssize_t)got : r;
        got += (size_t)r;
        if ((size_t)r < part)
            break; /* the size that this system knows is older */
    }
    return (ssize_t)got;
}

int wio_file_seg_write(struct file_iface *f, const struct file_seg *s, uint64_t pos,
                       const void *buf, size_t n, size_t *done)
{
    *done = 0;
    while (*done < n) {
        size_t part = until_wrap(s, pos + *done, n - *done);
        struct iovec iov = {(uint8_t *)(uintptr_t)buf + *done, part};
        ssize_t r = wio_os_pwritev(s->fd, &iov, 1, FILE_HEAD_BYTES + (pos + *done) % s->ring);
        f->base.p.counters->file_writes++;
        if (r <= 0)
            return r < 0 ? (int)r : -EIO;
        *done += (size_t)r;
    }
    return 0;
}

enum { SPACE_UNIT = 4096 }; /* file systems give back whole blocks only */

bool wio_file_seg_punch(struct file_link *l)
{
    if (l->out_acked == l->out_punched)
        return false;
    uint64_t pos = (l->out_pos + SPACE_UNIT - 1) / SPACE_UNIT * SPACE_UNIT;
    uint64_t end = (l->out_acked + l->out.ring) / SPACE_UNIT * SPACE_UNIT;
    bool any = false;
    while (pos < end) {
        size_t part = until_wrap(&l->out, pos, end - pos);
        any = wio_os_punch(l->out.fd, FILE_HEAD_BYTES + pos % l->out.ring, part) == 0 || any;
        pos += part;
    }
    l->out_punched = l->out_acked;
    return any;
}

/* Attributes may be old; a name that is looked up is not, or not for long. */
static bool name_is_gone(const struct file_link *l)
{
    struct file_iface *f = file_of(l);
    char name[FILE_NAME_BYTES];
    wio_file_name_stream(name, sizeof name, f->base.table->me, f->token, l->nonce);
    f->base.p.counters->file_looks++;
    int fd = wio_os_open_at(l->folder, name, false);
    wio_os_close(fd);
    return fd == -ENOENT || fd == -ESTALE;
}

bool wio_file_seg_removed(const struct file_link *l)
{
    struct wio_os_stat st;
    if (l->out.fd < 0)
        return false;
    if (l->weak)
        return name_is_gone(l);
    int rc = wio_os_fstat(l->out.fd, &st);
    return rc == -ESTALE || (rc == 0 && st.links == 0 && l->counted);
}

const char *wio_file_seg_path(const struct file_link *l, char *buf, size_t n)
{
    const struct file_iface *f = file_of(l);
    char name[FILE_NAME_BYTES] = "";
    if (l->nonce != 0)
        wio_file_name_stream(name, sizeof name, f->base.table->me, f->token, l->nonce);
    wio_text(buf, n, "%s/%02x/%016" PRIx64 "/%s", f->path, (unsigned)(l->token & 0xff), l->token,
             name);
    return buf;
}

bool wio_file_ack_read(struct file_link *l)
{
    struct file_iface *f = file_of(l);
    uint8_t buf[FILE_CELL_BYTES];
    struct iovec iov = {buf, sizeof buf};
    struct file_cell c;
    if (l->in.fd < 0)
        return false;
    wio_file_sight_renew(l);
    f->base.p.counters->file_reads++;
    if (wio_os_preadv(l->in.fd, &iov, 1, FILE_CELL_AT) != (ssize_t)sizeof buf ||
        !wio_file_cell_decode(buf, &c))
        return false;
    if (c.consumed <= l->out_acked || c.consumed - l->out_acked > l->out.ring)
        return false; /* an older one, or none that can be */
    /* It may have read records of a write that failed in part: they are written again, and told
     * again. What came before them is read. */
    uint64_t acked = c.consumed < l->out_written ? c.consumed : l->out_written;
    if (acked == l->out_acked)
        return false;
    l->out_acked = acked;
    wio_file_sight_stir(l);
    return true;
}

static void write_cell(struct file_link *l)
{
    struct file_iface *f = file_of(l);
    uint8_t buf[FILE_CELL_BYTES];
    struct file_cell c = {.consumed = l->in_pos, .written = l->out_written};
    wio_file_cell_encode(&c, buf);
    struct iovec iov = {buf, sizeof buf};
    f->base.p.counters->file_writes++;
    ssize_t n = wio_os_pwritev(l->out.fd, &iov, 1, FILE_CELL_AT);
    int rc = n < 0 ? (int)n : n != (ssize_t)sizeof buf ? -EIO : wio_file_sight_sync(f, l->out.fd);
    l->tell_due = rc < 0;
    if (l->tell_due) {
        (void)wio_file_full(l, rc, sizeof buf);
        return;
    }
    l->in_told = l->in_pos;
    if (l->full && wio_file_tx_idle(l)) /* else the next message tells whether there is space */
        wio_file_full_ended(l);
}

void wio_file_ack_tell(struct file_link *l, bool all)
{
    uint64_t news = l->in_pos - l->in_told;
    if (l->out.fd >= 0 && news > 0 && (all || news >= l->in.ring / 4))
        write_cell(l);
}

/* On a full disk its peer gives back the space of what it knows to be read, and has no other. Where
 * each word has to be synced, the sign of life is soon enough. */
void wio_file_ack_soon(struct file_link *l)
{
    if (l->tell_ns != 0 || l->in_pos == l->in_told || l->weak || l->state == FILE_OVER)
        return;
    l->tell_ns = l->heard_ns + FILE_FULL_NS;
    file_timer(file_of(l), l->tell_ns);
}

void wio_file_ack_echo(struct file_link *l)
{
    bool moved = l->out_written != l->out_echo, due = l->echo_due && !moved;
    if (!l->weak || l->out.fd < 0)
        return;
    l->out_echo = l->out_written;
    l->echo_due = moved;
    if (due)
        write_cell(l);
}
