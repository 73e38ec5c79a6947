/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file rx.c
 * The reading half of a link. A look reads a little at the position where the next record will be,
 * into the interface's staging buffer; records that lie there whole are delivered from it. The
 * bytes of a longer part are read straight into the sink. What p2p does not take now stays in the
 * file: nothing is kept here.
 */
#include "transport/file/file.h"

enum took {
    TOOK,  /* the record is read */
    LATER, /* not now: p2p said stop, or its bytes are not all there */
    BROKEN /* the link is over */
};

static enum took violation(struct file_link *l, int err, const char *what)
{
    wio_file_violation(l, err, what);
    return BROKEN;
}

/* ---- what can be ---- */

static const char *wrong_message(const struct file_link *l, const struct file_rec *r)
{
    if (r->total > WIO_PAYLOAD_MAX || r->part > r->total ||
        (l->body && (l->rx_pos > 0 || r->total != l->rx_total)))
        return "a message with a wrong length";
    return l->state < FILE_READY ? "a message came inside the handshake" : NULL;
}

static bool belongs(const struct file_link *l, const struct file_rec *r)
{
    return l->body && l->rx_pos > 0 && r->total == l->rx_total && r->part > 0 &&
           r->part <= r->total - l->rx_pos;
}

static const char *wrong(const struct file_link *l, const struct file_rec *r)
{
    if (r->kind == 0 || r->kind >= FILE_KINDS || (r->flags & ~FILE_REC_CRC) != 0)
        return "a record of an unknown kind";
    if (file_rec_span(r->part) > l->in.ring)
        return "a record longer than its file";
    if (l->bye_heard)
        return "data came after its goodbye";
    switch (r->kind) {
    case FILE_K_MESSAGE:
        return wrong_message(l, r);
    case FILE_K_MORE:
        return belongs(l, r) ? NULL : "a part of no message";
    case FILE_K_SHAKE:
        return l->shake == NULL || r->part > WIO_AUTH_MESSAGE_MAX ? "a handshake at a wrong time"
                                                                  : NULL;
    default:
        return r->part != 0 || l->state < FILE_READY || l->body ? "a control record at a wrong time"
                                                                : NULL;
    }
}

/* The checksum does not fit: the bytes are still to come, or broken. */
static enum took not_whole(struct file_link *l)
{
    int64_t now = wio_os_now_ns();
    int64_t patience = FILE_BAD_NS;
    if (l->weak) /* a writer whose disk is full may have lost them, and writes them again */
        patience += (int64_t)(file_of(l)->base.p.cfg->file_full_wait * 1e9);
    if (l->bad_ns == 0)
        l->bad_ns = now;
    return now - l->bad_ns > patience && !l->gone
               ? violation(l, WAITIO_ERR_PROTOCOL, "the checksum of a record is wrong")
               : LATER;
}

/* ---- messages ---- */

/* Where does it go? */
static enum took begin_message(struct file_link *l, const struct file_rec *r, const uint8_t *msg)
{
    struct file_iface *f = file_of(l);
    if (l->body) /* asked already, when its bytes were not all there */
        return TOOK;
    l->sink.buf = NULL;
    l->sink.len = 0;
    l->sink.cookie = NULL;
    int rc = f->base.p.up->on_message(f->base.p.user, &l->ep, l->ep.peer, msg, r->total, &l->sink);
    if (WIO_UNLIKELY(rc < 0)) {
        char why[256];
        wio_text(why, sizeof why, "%s", wio_last_error());
        return violation(l, rc, why);
    }
    if (rc > 0) {
        f->stop = true;
        return LATER;
    }
    l->body = true;
    l->rx_total = r->total;
    l->rx_pos = 0;
    return TOOK;
}

static enum took took_part(struct file_link *l, uint32_t part)
{
    struct file_iface *f = file_of(l);
    l->rx_pos += part;
    if (l->rx_pos < l->rx_total)
        return TOOK;
    l->body = false;
    l->rx_pos = 0;
    if (f->base.p.up->on_payload(f->base.p.user, &l->ep, l->ep.peer, &l->sink) != 0)
        f->stop = true;
    return l->state == FILE_OVER ? BROKEN : TOOK;
}

/* How much of a part of n bytes fits into the sink. */
static uint32_t fits(const struct file_link *l, uint32_t n)
{
    size_t space = l->rx_pos < l->sink.len ? l->sink.len - l->rx_pos : 0;
    return n < space ? n : (uint32_t)space;
}

static enum took staged_message(struct file_link *l, const struct file_rec *r, const uint8_t *at)
{
    if (r->kind == FILE_K_MESSAGE) {
        enum took t = begin_message(l, r, at + FILE_REC_MSG);
        if (t != TOOK)
            return t;
    }
    uint32_t n = fits(l, r->part);
    if (n > 0)
        memcpy((uint8_t *)l->sink.buf + l->rx_pos, at + FILE_REC_BYTES, n);
    return took_part(l, r->part);
}

/* Bytes that fit nowhere are read only where their checksum is wanted. */
static bool read_rest(struct file_link *l, const struct file_rec *r, uint32_t from, uint32_t *crc)
{
    struct file_iface *f = file_of(l);
    while (from < r->part) {
        size_t n = r->part - from < FILE_STAGE_BYTES ? r->part - from : FILE_STAGE_BYTES;
        ssize_t got = wio_file_seg_read(f, &l->in, r->pos + FILE_REC_BYTES + from, f->stage, n);
        if (got != (ssize_t)n)
            return false;
        *crc = wio_crc32c(*crc, f->stage, n);
        from += (uint32_t)n;
    }
    return true;
}

/* A long part: from the file straight into the sink. */
static enum took direct_message(struct file_link *l, const struct file_rec *r, const uint8_t *msg)
{
    struct file_iface *f = file_of(l);
    if (r->kind == FILE_K_MESSAGE) {
        enum took t = begin_message(l, r, msg);
        if (t != TOOK)
            return t;
    }
    bool check = (r->flags & FILE_REC_CRC) != 0;
    uint32_t n = fits(l, r->part), crc = 0;
    uint8_t *to = (uint8_t *)l->sink.buf + l->rx_pos;
    if (n > 0 && wio_file_seg_read(f, &l->in, r->pos + FILE_REC_BYTES, to, n) != (ssize_t)n)
        return not_whole(l);
    if (check) {
        crc = wio_crc32c(0, to, n);
        if (!read_rest(l, r, n, &crc) || crc != r->crc)
            return not_whole(l);
    }
    return took_part(l, r->part);
}

/* ---- other records ---- */

static enum took goodbye(struct file_link *l, uint16_t reason)
{
    char name[64];
    if (reason > l->bye_reason)
        l->bye_reason = (uint8_t)reason;
    if (wio_bye_is_final(reason)) {
        wio_file_peer_name(file_of(l), l->ep.peer, name, sizeof name);
        wio_file_link_over(l, WAITIO_ERR_PEER, "%s %s", name, wio_bye_deed(reason));
        return BROKEN;
    }
    l->bye_heard = true;
    l->bye_wanted = true;
    if (l->state == FILE_READY)
        wio_file_set_state(l, FILE_DRAIN);
    wio_file_tx_wake(l);
    wio_file_maybe_over(l);
    return l->state == FILE_OVER ? BROKEN : TOOK;
}

static enum took control(struct file_link *l, const struct file_rec *r, const uint8_t *at)
{
    switch (r->kind) {
    case FILE_K_SHAKE:
        wio_file_shake_input(l, at + FILE_REC_BYTES, r->part);
        if (l->state >= FILE_READY) /* before the messages that may be right behind it */
            (void)wio_file_dispatch(file_of(l));
        return l->state == FILE_OVER ? BROKEN : TOOK;
    case FILE_K_GOODBYE:
        return goodbye(l, r->reason);
    case FILE_K_PING:
        l->pong_due = !l->bye_sent;
        wio_file_tx_wake(l);
        return TOOK;
    default:
        l->ping_out = false;
        return TOOK;
    }
}

/* ---- reading ---- */

static void advance(struct file_link *l, const struct file_rec *r)
{
    l->in_pos += file_rec_span(r->part);
    l->bad_ns = 0;
    l->renew_at = 0; /* more may be there */
}

/* A record that lies whole in the staging buffer. */
static enum took staged(struct file_link *l, const struct file_rec *r, const uint8_t *at)
{
    bool message = r->kind == FILE_K_MESSAGE || r->kind == FILE_K_MORE;
    if ((r->flags & FILE_REC_CRC) != 0 && wio_crc32c(0, at + FILE_REC_BYTES, r->part) != r->crc)
        return not_whole(l);
    return message ? staged_message(l, r, at) : control(l, r, at);
}

/* One record of the staging buffer. @return whether it is read; if not, look says how much to read
 * next */
static bool feed_one(struct file_link *l, size_t at, size_t got, bool *more)
{
    struct file_rec r;
    const uint8_t *p = file_of(l)->stage + at;
    if (!wio_file_rec_decode(p, l->in_pos, &r)) {
        l->bad_ns = 0; /* a writer without space takes back what it could not finish */
        return false;
    }
    const char *why = wrong(l, &r);
    if (WIO_UNLIKELY(why != NULL)) {
        wio_file_violation(l, WAITIO_ERR_PROTOCOL, why);
        return false;
    }
    bool whole = file_rec_span(r.part) <= got - at;
    if (!whole && r.part < FILE_DIRECT_MIN) { /* its rest is read in the next look */
        *more = l->look < file_rec_span(r.part) || at > 0;
        l->look = (uint32_t)file_rec_span(r.part) + FILE_LOOK_BYTES;
        return false;
    }
    uint8_t msg[WIO_MSG_BYTES];
    memcpy(msg, p + FILE_REC_MSG, sizeof msg);
    if ((whole ? staged(l, &r, p) : direct_message(l, &r, msg)) != TOOK)
        return false;
    *more = !whole; /* the staging buffer may be in use */
    advance(l, &r);
    return true;
}

/* The records in the staging buffer. @param[out] n  how many were read; @param[out] more  there may
 * be more now. @return bytes of the stream that were read */
static size_t feed(struct file_link *l, size_t got, int *n, bool *more)
{
    struct file_iface *f = file_of(l);
    uint64_t from = l->in_pos;
    uint32_t asked = l->look;
    *more = false;
    while (!f->stop && !*more && l->in_pos - from + FILE_REC_BYTES <= got) {
        if (!feed_one(l, (size_t)(l->in_pos - from), got, more))
            break;
        ++*n;
    }
    if (l->look == asked)
        l->look = FILE_LOOK_BYTES;
    if (got == asked && l->in_pos - from + FILE_REC_BYTES > got && !*more) {
        l->look = FILE_STAGE_BYTES; /* full to the end: many follow */
        *more = true;
    }
    return (size_t)(l->in_pos - from);
}

static ssize_t look(struct file_link *l)
{
    struct file_iface *f = file_of(l);
    wio_file_sight_renew(l);
    size_t n = l->look < l->in.ring ? l->look : (size_t)l->in.ring;
    return wio_file_seg_read(f, &l->in, l->in_pos, f->stage, n);
}

/* A read failed: the link cannot go on. */
static void read_failed(struct file_link *l, int oserr)
{
    struct file_iface *f = file_of(l);
    char name[64];
    if (wio_file_sight_lost(l, false, oserr))
        return;
    wio_file_link_over(l, WAITIO_ERR_SYSTEM, "cannot read the file of messages from %s in %s: %s",
                       wio_file_peer_name(f, l->ep.peer, name, sizeof name), f->path,
                       strerror(-oserr));
}

int wio_file_rx_run(struct file_link *l)
{
    struct file_iface *f = file_of(l);
    int n = 0;
    size_t total = 0;
    while (l->in.fd >= 0 && !f->stop && total < FILE_RX_ROUND) {
        ssize_t got = look(l);
        if (WIO_UNLIKELY(got < 0)) {
            read_failed(l, (int)got);
            return n + 1;
        }
        bool more;
        total += feed(l, (size_t)got, &n, &more);
        if (!more)
            break;
    }
    if (n > 0) {
        l->heard_ns = wio_os_now_ns();
        wio_file_stir(l);
        wio_file_sight_stir(l);
        f->gap = FILE_GAP_MIN_NS;
        f->base.p.counters->rx_bytes += total;
        wio_file_ack_tell(l, false);
        wio_file_ack_soon(l);
    } else {
        wio_file_still(l);
    }
    return n;
}

bool wio_file_rx_torn(const struct file_link *l)
{
    int64_t patience = l->remote ? FILE_BAD_NS : 0; /* its bytes may come later than its death */
    return l->bad_ns != 0 && wio_os_now_ns() - l->bad_ns >= patience;
}

bool wio_file_rx_ready(struct file_link *l)
{
    uint8_t head[FILE_REC_BYTES];
    struct file_rec r;
    return l->in.fd >= 0 &&
           wio_file_seg_read(file_of(l), &l->in, l->in_pos, head, sizeof head) ==
               (ssize_t)sizeof head &&
           wio_file_rec_decode(head, l->in_pos, &r);
}
