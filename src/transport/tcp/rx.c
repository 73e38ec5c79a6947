/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file rx.c
 * The receiving half of a link. Bytes are read into the interface's staging buffer. The rest of a
 * longer payload is read directly into the sink, with the staging buffer behind it for what
 * follows. Input that p2p does not take yet stays in the staging buffer until another link needs
 * the buffer; then it moves to a block of its own.
 */
#include "tcp.h"

/* ---- headers ---- */

/* The connection broke inside this message, which comes again: into the same sink. */
static int rx_again(struct tcp_link *l, const struct wio_frame *fr)
{
    if (fr->payload == l->half_bytes) {
        l->half = false;
        return 0;
    }
    char why[96];
    wio_text(why, sizeof why, "message number %u came again with %u bytes instead of %u", fr->seq,
             fr->payload, l->half_bytes);
    wio_tcp_link_violation(l, WAITIO_ERR_PROTOCOL, why);
    return -1;
}

/* Ask p2p where the payload goes. @return 0; 1: not now; -1: the link is closed */
static int rx_offer(struct tcp_link *l, const struct wio_frame *fr, const uint8_t *msg)
{
    struct tcp_iface *f = tcp_of(l);
    l->sink.buf = NULL;
    l->sink.len = 0;
    l->sink.cookie = NULL;
    int rc =
        f->base.p.up->on_message(f->base.p.user, &l->ep, l->ep.peer, msg, fr->payload, &l->sink);
    if (WIO_UNLIKELY(rc < 0)) {
        char why[256];
        wio_text(why, sizeof why, "%s", wio_last_error());
        wio_tcp_link_violation(l, rc, why);
        return -1;
    }
    if (rc > 0) /* not now: the header stays unread */
        f->stop = true;
    return rc;
}

static int rx_message(struct tcp_link *l, const struct wio_frame *fr, const uint8_t *msg)
{
    if (WIO_UNLIKELY(fr->seq != l->rx_seq + 1)) {
        char why[96];
        wio_text(why, sizeof why, "message number %u came where %u was expected", fr->seq,
                 l->rx_seq + 1);
        wio_tcp_link_violation(l, WAITIO_ERR_PROTOCOL, why);
        return -1;
    }
    int rc = WIO_UNLIKELY(l->half) ? rx_again(l, fr) : rx_offer(l, fr, msg);
    if (WIO_UNLIKELY(rc != 0))
        return rc;
    l->body = true;
    l->rx_left = fr->payload;
    l->rx_pos = 0;
    l->bulk = fr->payload > TCP_FIRST_READ - TCP_BULK_FIRST;
    l->rx_crc = (fr->flags & WIO_FRAME_CRC) != 0;
    if (WIO_UNLIKELY(l->rx_crc)) {
        l->rx_crc_want = fr->crc;
        l->rx_crc_have = wio_crc32c(0, msg, WIO_MSG_BYTES);
    }
    return 0;
}

static int rx_goodbye(struct tcp_link *l, const struct wio_frame *fr)
{
    char name[96];
    if (wio_bye_is_final(fr->reason)) {
        l->bye_reason = (uint8_t)fr->reason;
        wio_tcp_link_over(l, WAITIO_ERR_PEER, "%s %s", wio_tcp_link_name(l, name, sizeof name),
                          wio_bye_deed(fr->reason));
        return -1;
    }
    l->bye_heard = true;
    l->rx_seq++; /* its number */
    l->ack_due = true;
    if (fr->reason > l->bye_reason)
        l->bye_reason = (uint8_t)fr->reason;
    if (l->state == TCP_HALF) {
        wio_tcp_set_state(l, TCP_LAST);
    } else {
        l->bye_wanted = true;
        wio_tcp_set_state(l, TCP_ANSWER);
    }
    wio_tcp_tx_wake(l);
    return 0;
}

/* The dialer's first frame: it knows that the link is accepted. */
static bool rx_confirm(struct tcp_link *l, uint32_t ack)
{
    if (l->mend != 0)
        return wio_tcp_mend_heard(l, ack);
    wio_tcp_announce(l);
    if (l->owes_word) { /* it waits for a word of ours */
        l->owes_word = false;
        l->ack_due = true;
    }
    return l->fd >= 0;
}

static void rx_refuse(struct tcp_link *l, const uint8_t *h, int rc, const char *why)
{
    char text[96];
    wio_text(text, sizeof text, "%s", why);
    if (rc == WAITIO_ERR_VERSION)
        wio_text(text, sizeof text,
                 "it sends frames of protocol version %d, this release speaks %d",
                 wio_frame_version(h), WIO_WIRE_VERSION);
    wio_tcp_link_violation(l, rc, text);
}

/* @return 0; 1: to be offered again; -1: the link is closed */
static int rx_header(struct tcp_link *l, const uint8_t *h)
{
    struct wio_frame fr;
    const char *why = NULL;
    int rc = wio_frame_decode(h, &fr, &why);
    if (WIO_UNLIKELY(rc < 0)) {
        rx_refuse(l, h, rc, why);
        return -1;
    }
    if (WIO_UNLIKELY(l->bye_heard) && fr.kind != WIO_FRAME_ACK) {
        wio_tcp_link_violation(l, WAITIO_ERR_PROTOCOL, "data came after its goodbye");
        return -1;
    }
    if (WIO_UNLIKELY((int32_t)(fr.ack - l->tx_acked) < 0 || (int32_t)(l->tx_seq - fr.ack) < 0)) {
        wio_tcp_link_violation(l, WAITIO_ERR_PROTOCOL, "it acknowledged what was never sent");
        return -1;
    }
    l->heard = true;
    if (WIO_UNLIKELY(l->state == TCP_CONFIRM) && !rx_confirm(l, fr.ack))
        return -1;
    l->tx_acked = fr.ack;
    if (l->kept.first != NULL)
        wio_tcp_kept_acked(l, fr.ack);
    switch (fr.kind) {
    case WIO_FRAME_MESSAGE:
        return rx_message(l, &fr, h + WIO_LINK_BYTES);
    case WIO_FRAME_GOODBYE:
        return rx_goodbye(l, &fr);
    case WIO_FRAME_PING:
        l->pong_due = !l->bye_queued;
        return 0;
    case WIO_FRAME_PONG:
        l->ping_out = false;
        return 0;
    default: /* ACK: the acknowledgement was all */
        wio_tcp_tx_finish(l);
        return l->fd >= 0 ? 0 : -1;
    }
}

/* ---- payload ---- */

/* The payload is complete. @return -1: the link is closed */
static int rx_complete(struct tcp_link *l)
{
    struct tcp_iface *f = tcp_of(l);
    if (WIO_UNLIKELY(l->rx_crc) && l->rx_crc_have != l->rx_crc_want) {
        wio_tcp_link_violation(l, WAITIO_ERR_PROTOCOL, "checksum of a message is wrong");
        return -1;
    }
    l->body = false;
    l->rx_seq++;
    l->rx_unacked++;
    l->rx_unacked_bytes += l->rx_pos;
    l->rx_copied += l->rx_pos <= TCP_COPIED ? l->rx_pos : 0;
    if (l->rx_unacked > TCP_ACK_FRAMES || l->rx_unacked_bytes > TCP_ACK_BYTES ||
        l->rx_copied > l->kept.max / TCP_ACK_PART)
        l->ack_due = true;
    if (WIO_UNLIKELY(!wio_list_linked(&l->owes)))
        wio_list_push(&f->owing, &l->owes);
    if (f->base.p.up->on_payload(f->base.p.user, &l->ep, l->ep.peer, &l->sink) != 0)
        f->stop = true;
    return l->fd >= 0 ? 0 : -1;
}

static void rx_copy(struct tcp_link *l, const uint8_t *data, size_t n)
{
    size_t fits = l->rx_pos < l->sink.len ? l->sink.len - l->rx_pos : 0;
    if (fits > n)
        fits = n;
    if (fits > 0)
        memcpy((uint8_t *)l->sink.buf + l->rx_pos, data, fits);
    if (WIO_UNLIKELY(l->rx_crc))
        l->rx_crc_have = wio_crc32c(l->rx_crc_have, data, n);
    l->rx_pos += (uint32_t)n;
    l->rx_left -= (uint32_t)n;
}

size_t wio_tcp_rx_direct(const struct tcp_link *l)
{
    if (!l->body || l->rx_pos >= l->sink.len)
        return 0;
    size_t fits = l->sink.len - l->rx_pos;
    return fits < l->rx_left ? fits : l->rx_left;
}

void wio_tcp_rx_took(struct tcp_link *l, size_t n)
{
    if (WIO_UNLIKELY(l->rx_crc))
        l->rx_crc_have = wio_crc32c(l->rx_crc_have, (const uint8_t *)l->sink.buf + l->rx_pos, n);
    l->rx_pos += (uint32_t)n;
    l->rx_left -= (uint32_t)n;
    if (l->rx_left == 0)
        (void)rx_complete(l);
}

/* One header, possibly torn. @return bytes used; 0: a violation closed the link, or p2p wants it
 * later (stop is set) */
static size_t feed_header(struct tcp_link *l, const uint8_t *data, size_t n)
{
    if (WIO_LIKELY(l->hdr_have == 0 && n >= WIO_HDR_BYTES))
        return rx_header(l, data) == 0 ? WIO_HDR_BYTES : 0;
    size_t take = WIO_HDR_BYTES - l->hdr_have;
    if (take > n)
        take = n;
    memcpy(l->hdr + l->hdr_have, data, take);
    uint8_t had = l->hdr_have;
    l->hdr_have = (uint8_t)(had + take);
    if (l->hdr_have < WIO_HDR_BYTES)
        return take;
    l->hdr_have = 0;
    int rc = rx_header(l, l->hdr);
    if (rc > 0)
        l->hdr_have = had; /* its end is read again */
    return rc == 0 ? take : 0;
}

size_t wio_tcp_rx_feed(struct tcp_link *l, const uint8_t *data, size_t n)
{
    struct tcp_iface *f = tcp_of(l);
    size_t used = 0;
    while (used < n && !f->stop) {
        if (!l->body) {
            size_t take = feed_header(l, data + used, n - used);
            if (take == 0)
                break;
            used += take;
        } else if (l->rx_left > 0) {
            size_t take = n - used < l->rx_left ? n - used : l->rx_left;
            rx_copy(l, data + used, take);
            used += take;
        }
        if (l->body && l->rx_left == 0 && rx_complete(l) < 0)
            break;
    }
    return used;
}

/* ---- kept-back input ---- */

/* The staging buffer is needed: its owner's bytes move to a block of their own. */
static bool free_stage(struct tcp_iface *f)
{
    struct tcp_link *o = f->stage_owner;
    if (o == NULL)
        return true;
    uint8_t *p = wio_os_alloc(o->keep_len);
    if (p == NULL)
        return false;
    memcpy(p, o->keep, o->keep_len);
    o->keep = o->keep_heap = p;
    f->stage_owner = NULL;
    return true;
}

static void keep_clear(struct tcp_link *l)
{
    struct tcp_iface *f = tcp_of(l);
    if (f->stage_owner == l)
        f->stage_owner = NULL;
    wio_os_free(l->keep_heap);
    l->keep = l->keep_heap = NULL;
    l->keep_len = 0;
}

void wio_tcp_rx_drop(struct tcp_link *l)
{
    keep_clear(l);
    l->hdr_have = 0;
}

/* Feed staged bytes; the rest stays there, owned by this link. */
static void feed_stage(struct tcp_link *l, size_t n)
{
    struct tcp_iface *f = tcp_of(l);
    size_t used = wio_tcp_rx_feed(l, f->stage, n);
    if (WIO_LIKELY(used == n) || l->fd < 0)
        return;
    l->keep = f->stage + used;
    l->keep_len = (uint32_t)(n - used);
    f->stage_owner = l;
}

static void feed_kept(struct tcp_link *l)
{
    size_t used = wio_tcp_rx_feed(l, l->keep, l->keep_len);
    if (l->fd < 0) /* closed meanwhile: everything is gone already */
        return;
    l->keep += used;
    l->keep_len -= (uint32_t)used;
    if (l->keep_len == 0)
        keep_clear(l);
}

/* ---- reading ---- */

void wio_tcp_rx_end(struct tcp_link *l)
{
    bool mends = wio_tcp_mendable(l);
    l->eof = true;
    if (!l->bye_heard || l->state == TCP_CONFIRM ||
        (l->write_failed && (mends || wio_tcp_tx_owing(l))))
        wio_tcp_link_lost(l, l->write_failed ? l->oserr : 0);
    else if (mends && l->state == TCP_LAST)
        wio_tcp_closing_in(l, 0); /* has it heard all of ours? */
    else if (l->write_failed || l->state == TCP_LAST)
        wio_tcp_link_over(l, 0, "%s", wio_bye_reason_name(l->bye_reason));
    else
        wio_tcp_tx_wake(l); /* what waited for acknowledgements waits in vain */
}

/* The socket gave a part of a record, and its end, of which the event has come, may be behind it.
 */
static inline bool end_unread(const struct tcp_link *l)
{
    return l->hup && l->tls != NULL && wio_tls_guessed(l->tls);
}

/* A read brought no bytes: end of stream, nothing there, or an error. */
static void rx_nothing(struct tcp_link *l, ssize_t n)
{
    if (n == 0)
        wio_tcp_rx_end(l);
    else if (n == -EBADMSG && l->tls != NULL)
        wio_tcp_link_violation(l, WAITIO_ERR_PROTOCOL, wio_tls_why(l->tls));
    else if (n != -EAGAIN || l->write_failed)
        wio_tcp_link_lost(l, l->write_failed ? l->oserr : (int)n);
    else if (wio_os_fault == NULL && !end_unread(l))
        wio_tcp_clear_hup(l); /* it was only a suspicion */
}

/* A short read means that the socket is empty: data that comes later makes a new edge. Not so when
 * the end of the stream was announced, whose edge is spent, or under fault injection. */
static inline bool is_drained(const struct tcp_link *l, size_t n, size_t asked)
{
    return n < asked && !l->hup && wio_os_fault == NULL &&
           (l->tls == NULL || !wio_tls_over(l->tls));
}

/* One system call. @return bytes; 0 nothing more now; sets *drained when the socket is empty */
static size_t rx_read(struct tcp_link *l, bool *drained)
{
    struct tcp_iface *f = tcp_of(l);
    size_t direct = wio_tcp_rx_direct(l), asked;
    ssize_t n;
    if (WIO_UNLIKELY(f->stage_owner != NULL) && !free_stage(f)) {
        *drained = true;
        return 0;
    }
    if (direct >= TCP_DIRECT_MIN) {
        size_t tail = direct < l->rx_left ? TCP_STAGE_BYTES : TCP_BULK_FIRST;
        struct iovec iov[2] = {{(uint8_t *)l->sink.buf + l->rx_pos, direct}, {f->stage, tail}};
        asked = direct + tail;
        n = wio_stream_recvv(l->tls, l->fd, iov, 2);
    } else {
        direct = 0;
        asked = l->bulk && !l->body ? TCP_BULK_FIRST : TCP_FIRST_READ;
        n = wio_stream_recv(l->tls, l->fd, f->stage, asked);
    }
    if (n <= 0) {
        *drained = wio_os_fault == NULL && !end_unread(l); /* else no edge comes */
        rx_nothing(l, n);
        return 0;
    }
    f->base.p.counters->rx_syscalls++;
    f->base.p.counters->rx_bytes += (size_t)n;
    *drained = is_drained(l, (size_t)n, asked);
    if (direct > 0) {
        size_t mine = (size_t)n < direct ? (size_t)n : direct;
        wio_tcp_rx_took(l, mine);
        if ((size_t)n > direct && l->fd >= 0)
            feed_stage(l, (size_t)n - direct);
    } else {
        feed_stage(l, (size_t)n);
    }
    return (size_t)n;
}

/* After reading: note whether there is more, and send what is due. */
static void settle(struct tcp_link *l, size_t got, bool drained)
{
    if (got > 0) {
        wio_tcp_touch(tcp_of(l), l);
        wio_tcp_svc_hot(l);
        l->looks = TCP_LANE_LOOKS;
    }
    if (tcp_can_read(l) && (!drained || l->keep_len > 0)) {
        wio_tcp_make_ready(l);
    } else if (l->ready) {
        l->ready = false;
        wio_list_remove(&l->rnode);
    }
    if (l->ack_due || l->pong_due)
        wio_tcp_tx_wake(l);
    if (WIO_UNLIKELY(l->word_due) && l->fd >= 0)
        wio_tcp_mend_word(l);
}

int wio_tcp_rx_run(struct tcp_link *l)
{
    struct tcp_iface *f = tcp_of(l);
    size_t got = 0;
    bool drained = false, shaking = tcp_shaking(l);
    int events = 0;
    if (l->keep_len > 0) {
        feed_kept(l);
        events++;
    }
    while (tcp_can_read(l) && l->keep_len == 0 && !f->stop && !drained && got < TCP_RX_ROUND) {
        size_t n = rx_read(l, &drained);
        if (n == 0)
            break;
        got += n;
        events++;
    }
    if (l->fd < 0)
        return events + 1;
    if (WIO_UNLIKELY(shaking) && !tcp_shaking(l) && !l->write_failed) {
        l->can_write = true; /* no edge of the socket says so */
        wio_tcp_tx_wake(l);
    }
    if (WIO_UNLIKELY(shaking))
        wio_tcp_torn(l);
    settle(l, got, drained);
    return events;
}
