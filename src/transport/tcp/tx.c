/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file tx.c
 * The sending half of a link. Order on the wire: the message that has begun (cur), the batch buffer
 * (batched messages and control frames, numbered when they entered it), queued SMALL messages,
 * queued bulk messages; GOODBYE when nothing is left. Sequence numbers are given when a message
 * begins.
 */
#include "tcp.h"

#define SHUT_NS 2000000LL /* then the end of the stream tells the peer's service thread */
#define FRAME(tx) (WIO_HDR_BYTES + (tx)->bytes)
enum { SEQ_AT = 12 }; /* in a header, see wire.h */

/* One system call's worth of output. */
struct gather {
    struct iovec iov[3 + 1 + 3 * TCP_GATHER]; /* cur, batch, messages that begin */
    int niov;
    size_t total;
    int ntx;
    struct wio_tx *tx[TCP_GATHER];
    uint8_t hdr[TCP_GATHER][WIO_LINK_BYTES];
};

void wio_tcp_tx_header(struct tcp_link *l, uint32_t seq, const uint8_t *msg, const void *payload,
                       uint32_t bytes, uint8_t out[WIO_LINK_BYTES])
{
    struct wio_frame fr = {
        .kind = WIO_FRAME_MESSAGE, .payload = bytes, .seq = seq, .ack = l->rx_seq};
    if (WIO_UNLIKELY(tcp_of(l)->crc)) {
        fr.flags = WIO_FRAME_CRC;
        fr.crc = wio_crc32c(0, msg, WIO_MSG_BYTES);
        if (bytes > 0 && payload != NULL)
            fr.crc = wio_crc32c(fr.crc, payload, bytes);
    }
    wio_frame_encode(&fr, out);
}

static inline void encode(struct tcp_link *l, const struct wio_tx *tx, uint32_t seq, uint8_t *out)
{
    wio_tcp_tx_header(l, seq, tx->msg, tx->payload, tx->bytes, out);
}

/* A header with the current acknowledgement has gone out. */
static inline void acked(struct tcp_link *l)
{
    l->rx_unacked = 0;
    l->rx_unacked_bytes = l->rx_copied = 0;
    l->ack_due = false;
}

static inline void note_write(struct tcp_link *l, size_t n)
{
    struct tcp_iface *f = tcp_of(l);
    f->base.p.counters->tx_syscalls++;
    f->base.p.counters->tx_bytes += n;
    wio_tcp_touch(f, l);
    if (!wio_list_linked(&l->probe))
        wio_list_push(&f->probe, &l->probe);
}

/* Writing has failed. Read the peer's last messages first: they tell the reason. */
static void write_failed(struct tcp_link *l, int oserr)
{
    l->write_failed = true;
    l->can_write = false;
    l->oserr = oserr;
    wio_tcp_mark_hup(l);
}

/* The socket is full (or, under fault injection, pretends to be), or it has failed after something
 * was taken. A short write means full: the OUT edge will come. */
static void write_blocked(struct tcp_link *l)
{
    int oserr = wio_stream_failed(l->tls);
    if (WIO_UNLIKELY(oserr != 0))
        write_failed(l, oserr);
    else
        l->can_write = wio_os_fault != NULL;
}

bool wio_tcp_tx_idle(const struct tcp_link *l)
{
    return l->cur == NULL && l->batch == NULL && wio_list_empty(&l->small) &&
           wio_list_empty(&l->bulk_q) && !l->ack_due && !l->ping_due && !l->pong_due &&
           (!l->bye_wanted || l->bye_queued) && l->kept.again == NULL;
}

bool wio_tcp_tx_owing(const struct tcp_link *l)
{
    return l->cur != NULL || !wio_list_empty(&l->small) || !wio_list_empty(&l->bulk_q) ||
           (l->batch != NULL && l->batch->msgs > 0);
}

/* Its copies are at their limit. A peer that has shut its side acknowledges nothing more here. */
static bool brake(const struct tcp_link *l)
{
    return l->kept.full && !l->eof;
}

/* All there is are messages that may not begin. */
static bool must_wait(const struct tcp_link *l)
{
    return brake(l) && l->kept.again == NULL && l->cur == NULL && l->batch == NULL && !l->ack_due &&
           !l->ping_due && !l->pong_due;
}

void wio_tcp_tx_wake(struct tcp_link *l)
{
    struct tcp_iface *f = tcp_of(l);
    wio_list_remove(&l->onode);
    l->pending = l->fd >= 0 && l->state >= TCP_READY && !l->write_failed && !wio_tcp_tx_idle(l);
    if (l->pending)
        wio_list_push(l->can_write && !must_wait(l) ? &f->out : &f->blocked, &l->onode);
}

/* ---- batch buffer ---- */

static struct tcp_batch *batch_get(struct tcp_link *l)
{
    struct tcp_iface *f = tcp_of(l);
    if (l->batch == NULL) {
        l->batch = wio_tcp_batch_get(f);
        f->nbatch += l->batch != NULL;
    }
    return l->batch;
}

/* The link has no batch buffer any more. @return the one that it had */
static struct tcp_batch *batch_take(struct tcp_link *l)
{
    struct tcp_batch *b = l->batch;
    tcp_of(l)->nbatch -= b != NULL;
    l->batch = NULL;
    return b;
}

static void batch_drop(struct tcp_link *l)
{
    struct tcp_batch *b = batch_take(l);
    if (b != NULL)
        wio_tcp_batch_put(tcp_of(l), b);
}

static bool batch_fits(struct tcp_link *l, const struct wio_tx *tx)
{
    if (FRAME(tx) > WIO_BATCH_BYTES || !wio_list_empty(&l->small) || l->kept.full)
        return false;
    if (!wio_list_empty(&l->bulk_q) && !(tx->flags & WIO_TX_SMALL))
        return false;
    if (l->batch == NULL)
        return tcp_of(l)->nbatch < TCP_BATCHES_MAX;
    return FRAME(tx) <= WIO_BATCH_BYTES - l->batch->len;
}

static bool batch_add(struct tcp_link *l, const struct wio_tx *tx)
{
    struct tcp_batch *b = batch_get(l);
    if (b == NULL)
        return false;
    uint8_t *p = b->data + b->len;
    encode(l, tx, ++l->tx_seq, p);
    memcpy(p + WIO_LINK_BYTES, tx->msg, WIO_MSG_BYTES);
    if (tx->bytes > 0)
        memcpy(p + WIO_HDR_BYTES, tx->payload, tx->bytes);
    b->len += FRAME(tx);
    b->msgs++;
    b->last = l->tx_seq;
    tcp_of(l)->base.p.counters->coalesced_msgs++;
    acked(l);
    return true;
}

static bool batch_control(struct tcp_link *l, enum wio_frame_kind kind, enum wio_bye_reason reason)
{
    struct tcp_batch *b = batch_get(l);
    if (b == NULL || b->len + WIO_HDR_BYTES > WIO_BATCH_BYTES)
        return false;
    struct wio_frame fr = {.kind = (uint8_t)kind, .reason = (uint16_t)reason, .ack = l->rx_seq};
    wio_frame_encode(&fr, b->data + b->len);
    memset(b->data + b->len + WIO_LINK_BYTES, 0, WIO_MSG_BYTES);
    b->len += WIO_HDR_BYTES;
    acked(l);
    return true;
}

/* The kernel copies the payload to just behind the header. On some processors (seen on AMD EPYC)
 * the copy is a fifth slower when the target lies 32 to 65 bytes behind the source modulo 4096, as
 * it does with a 64-byte header and a page-aligned or malloc'ed buffer. An ACK frame ahead moves
 * the target away. */
static inline bool copies_badly(const struct wio_tx *tx)
{
    uint32_t distance = (WIO_HDR_BYTES - (uint32_t)(uintptr_t)tx->payload) & 4095u;
    return tx->bytes >= TCP_SHIFT_MIN && distance >= 24 && distance <= 72;
}

static bool next_copies_badly(const struct tcp_link *l)
{
    if (l->cur != NULL || l->batch != NULL || !wio_list_empty(&l->small) || l->kept.full)
        return false;
    const struct wio_list *it = wio_list_first(&l->bulk_q);
    return it != NULL && copies_badly(WIO_CONTAINER(it, const struct wio_tx, node));
}

static void encode_ack(const struct tcp_link *l, uint8_t out[WIO_HDR_BYTES])
{
    struct wio_frame fr = {.kind = WIO_FRAME_ACK, .ack = l->rx_seq};
    wio_frame_encode(&fr, out);
    memset(out + WIO_LINK_BYTES, 0, WIO_MSG_BYTES);
}

/* GOODBYE is the last frame, but for acknowledgements where the link can be resumed: else our side
 * is shut, and writing would look like a broken connection. */
static bool may_acknowledge(const struct tcp_link *l)
{
    return !l->bye_queued || (wio_tcp_mendable(l) && !l->shut);
}

static void add_last(struct tcp_link *l)
{
    l->ping_due = l->pong_due = false;
    l->ack_due = l->ack_due && may_acknowledge(l);
    if (l->ack_due)
        (void)batch_control(l, WIO_FRAME_ACK, WIO_BYE_NONE);
}

/* Put control frames that are due into the batch buffer. An acknowledgement rides on a message when
 * one is about to begin. */
static void add_control(struct tcp_link *l)
{
    bool quiet = wio_list_empty(&l->small) && wio_list_empty(&l->bulk_q);
    if (l->bye_queued) {
        add_last(l);
        return;
    }
    if (l->ping_due && batch_control(l, WIO_FRAME_PING, WIO_BYE_NONE))
        l->ping_due = false;
    if (l->pong_due && batch_control(l, WIO_FRAME_PONG, WIO_BYE_NONE))
        l->pong_due = false;
    if ((l->ack_due && (quiet || brake(l))) || next_copies_badly(l))
        (void)batch_control(l, WIO_FRAME_ACK, WIO_BYE_NONE);
    if (l->bye_wanted && quiet &&
        batch_control(l, WIO_FRAME_GOODBYE, (enum wio_bye_reason)l->bye_reason)) {
        l->bye_queued = true;
        l->tx_seq++; /* its number */
    }
}

/* ---- gathering ---- */

static void add_iov(struct gather *g, const void *p, size_t n)
{
    if (n == 0)
        return;
    g->iov[g->niov].iov_base = (void *)(uintptr_t)p;
    g->iov[g->niov++].iov_len = n;
    g->total += n;
}

/* The rest of a message of which tx->sent bytes are out. */
static void add_rest(struct gather *g, const struct wio_tx *tx, const uint8_t *hdr)
{
    uint32_t s = tx->sent;
    if (s < WIO_LINK_BYTES)
        add_iov(g, hdr + s, WIO_LINK_BYTES - s);
    s = s > WIO_LINK_BYTES ? s - WIO_LINK_BYTES : 0;
    if (s < WIO_MSG_BYTES)
        add_iov(g, tx->msg + s, WIO_MSG_BYTES - s);
    s = s > WIO_MSG_BYTES ? s - WIO_MSG_BYTES : 0;
    if (s < tx->bytes)
        add_iov(g, (const uint8_t *)tx->payload + s, tx->bytes - s);
}

static void add_queue(struct gather *g, struct tcp_link *l, const struct wio_list *q)
{
    WIO_LIST_FOR(it, q)
    {
        if (g->ntx == TCP_GATHER)
            return;
        struct wio_tx *tx = WIO_CONTAINER(it, struct wio_tx, node);
        encode(l, tx, l->tx_seq + 1 + (uint32_t)g->ntx, g->hdr[g->ntx]);
        add_rest(g, tx, g->hdr[g->ntx]);
        g->tx[g->ntx++] = tx;
    }
}

/* What has begun begins again, on another connection: acknowledgements must not run back. */
static void refresh(struct tcp_link *l)
{
    l->rewound = false;
    if (l->cur != NULL)
        encode(l, l->cur, wio_get32(l->cur_hdr + SEQ_AT), l->cur_hdr);
    if (l->batch != NULL)
        wio_tcp_batch_refresh(l, l->batch);
}

static void gather(struct gather *g, struct tcp_link *l)
{
    g->niov = g->ntx = 0;
    g->total = 0;
    if (WIO_UNLIKELY(l->rewound))
        refresh(l);
    add_control(l);
    if (l->cur != NULL)
        add_rest(g, l->cur, l->cur_hdr);
    if (l->batch != NULL)
        add_iov(g, l->batch->data + l->batch->off, l->batch->len - l->batch->off);
    if (l->bye_queued || brake(l))
        return;
    add_queue(g, l, &l->small);
    add_queue(g, l, &l->bulk_q);
}

/* ---- accounting of n written bytes ---- */

static void finish(struct tcp_link *l, struct wio_tx *tx, uint32_t seq)
{
    if (WIO_LIKELY((int32_t)(seq - l->tx_acked) > 0)) /* else only its last byte was not counted */
        wio_tcp_kept_add(l, tx, seq);
    wio_list_push(&tcp_of(l)->done, &tx->node);
}

/* Take up to *n bytes for tx. @return true when the message is out */
static bool advance(struct tcp_link *l, struct wio_tx *tx, size_t *n)
{
    size_t take = FRAME(tx) - tx->sent;
    if (take > *n)
        take = *n;
    tx->sent += (uint32_t)take;
    l->queued -= take;
    *n -= take;
    return tx->sent == FRAME(tx);
}

static void account(struct tcp_link *l, const struct gather *g, size_t n)
{
    if (l->cur != NULL) {
        struct wio_tx *tx = l->cur;
        if (!advance(l, tx, &n))
            return;
        l->cur = NULL;
        finish(l, tx, wio_get32(l->cur_hdr + SEQ_AT));
    }
    if (l->batch != NULL) {
        size_t take = l->batch->len - l->batch->off;
        if (take > n)
            take = n;
        l->batch->off += (uint32_t)take;
        n -= take;
        if (l->batch->off < l->batch->len)
            return;
        wio_tcp_kept_batch(l, batch_take(l));
    }
    for (int i = 0; i < g->ntx && n > 0; i++) {
        struct wio_tx *tx = g->tx[i];
        l->tx_seq++;
        acked(l);
        wio_list_remove(&tx->node);
        if (advance(l, tx, &n)) {
            finish(l, tx, l->tx_seq);
        } else {
            l->cur = tx;
            memcpy(l->cur_hdr, g->hdr[i], WIO_LINK_BYTES);
        }
    }
}

void wio_tcp_tx_shut(struct tcp_link *l)
{
    if (l->tls != NULL)
        wio_tls_bye(l->tls);
    wio_os_shutdown_send(l->fd);
    l->shut = true;
}

/* Everything is out, our GOODBYE last: shut our side. Where the link can be resumed it stays open
 * for acknowledgements, as long as the peer answers quickly. */
static void said_goodbye(struct tcp_link *l)
{
    wio_tcp_set_state(l, l->state == TCP_ANSWER ? TCP_LAST : TCP_HALF);
    if (!wio_tcp_mendable(l))
        wio_tcp_tx_shut(l);
    else if (l->state == TCP_HALF)
        wio_tcp_closing_in(l, SHUT_NS);
    if (l->state == TCP_LAST && l->eof)
        wio_tcp_rx_end(l);
}

void wio_tcp_tx_finish(struct tcp_link *l)
{
    if (l->state != TCP_LAST)
        return;
    l->ack_due = l->ack_due && may_acknowledge(l);
    if (wio_tcp_mendable(l) && l->tx_acked == l->tx_seq && wio_tcp_tx_idle(l))
        wio_tcp_link_over(l, 0, "%s", wio_bye_reason_name(l->bye_reason));
}

size_t wio_tcp_tx_write(struct tcp_link *l, struct iovec *iov, int niov, size_t total)
{
    ssize_t n = wio_stream_sendv(l->tls, l->fd, iov, niov);
    if (n == -EAGAIN) {
        write_blocked(l);
        return 0;
    }
    if (n < 0) {
        write_failed(l, (int)n);
        return 0;
    }
    note_write(l, (size_t)n);
    if ((size_t)n < total)
        write_blocked(l);
    return (size_t)n;
}

/* One system call. @return false: the socket takes no more now, or there is nothing */
static bool write_once(struct tcp_link *l)
{
    struct gather g;
    if (WIO_UNLIKELY(l->kept.again != NULL))
        return wio_tcp_kept_again(l);
    gather(&g, l);
    size_t n = g.total > 0 ? wio_tcp_tx_write(l, g.iov, g.niov, g.total) : 0;
    if (n == 0)
        return false;
    account(l, &g, n);
    return true;
}

void wio_tcp_tx_run(struct tcp_link *l)
{
    while (l->fd >= 0 && l->can_write && l->state >= TCP_READY && write_once(l)) {
    }
    if (l->bye_queued && l->batch == NULL && (l->state == TCP_DRAIN || l->state == TCP_ANSWER))
        said_goodbye(l);
    if (l->write_failed && l->eof && l->fd >= 0)
        wio_tcp_rx_end(l);
    wio_tcp_tx_finish(l);
    wio_tcp_tx_wake(l);
}

/* ---- send ---- */

static void enqueue(struct tcp_link *l, struct wio_tx *tx)
{
    tx->sent = 0;
    l->queued += FRAME(tx);
    wio_list_push(tx->flags & WIO_TX_SMALL ? &l->small : &l->bulk_q, &tx->node);
}

static int send_refused(struct tcp_link *l)
{
    char name[96];
    wio_tcp_link_name(l, name, sizeof name);
    if (l->state == TCP_CLOSED && l->err != 0)
        return wio_fail(l->err, "%s", l->text != NULL ? l->text : "link is closed");
    return wio_fail(WAITIO_ERR_BUSY, "link to %s is closing: connect again", name);
}

/* Is something queued, batched or blocked, or the link not ready? */
static int send_slow(struct tcp_link *l, struct wio_tx *tx)
{
    if (l->ep.state >= WIO_EP_CLOSING)
        return send_refused(l);
    if (l->state == TCP_READY && !l->write_failed && batch_fits(l, tx) && batch_add(l, tx)) {
        if (!(tx->flags & WIO_TX_BATCH) && l->can_write)
            wio_tcp_tx_run(l);
        else
            wio_tcp_tx_wake(l);
        return WIO_TX_DONE;
    }
    enqueue(l, tx);
    if (l->state == TCP_READY && l->can_write) {
        wio_tcp_tx_run(l);
        if (tx->sent == FRAME(tx)) {
            wio_list_remove(&tx->node); /* out of the list of finished ones: no done() */
            return WIO_TX_DONE;
        }
    } else {
        wio_tcp_tx_wake(l);
    }
    return WIO_TX_QUEUED;
}

/* A write of a first message came back short or failed. */
static int send_partly(struct tcp_link *l, struct wio_tx *tx, const uint8_t *hdr, ssize_t n)
{
    tx->sent = n > 0 ? (uint32_t)n : 0;
    if (n > 0) {
        l->tx_seq++;
        acked(l);
        l->cur = tx;
        memcpy(l->cur_hdr, hdr, WIO_LINK_BYTES);
        l->queued += FRAME(tx) - (uint32_t)n;
        note_write(l, (size_t)n);
    } else {
        enqueue(l, tx);
    }
    if (n < 0 && n != -EAGAIN)
        write_failed(l, (int)n);
    else
        write_blocked(l);
    wio_tcp_tx_wake(l);
    return WIO_TX_QUEUED;
}

/* An ACK frame was written in part: the rest goes before everything else. */
static void rest_of_ack(struct tcp_link *l, const uint8_t *ack, uint32_t sent)
{
    struct tcp_batch *b = batch_get(l);
    if (b == NULL) { /* the stream cannot be continued */
        write_failed(l, -ENOMEM);
        wio_os_shutdown_send(l->fd);
        return;
    }
    memcpy(b->data, ack, WIO_HDR_BYTES);
    b->off = sent;
    b->len = WIO_HDR_BYTES;
}

/* A message went out in one call, in n bytes. */
static int sent_whole(struct tcp_link *l, const struct wio_tx *tx, size_t n)
{
    l->tx_seq++;
    if (tx != NULL)
        wio_tcp_kept_add(l, tx, l->tx_seq);
    acked(l);
    note_write(l, n);
    return WIO_TX_DONE;
}

/* Header and payload in one piece, which is kept if there is room. */
static int send_inline(struct tcp_link *l, struct wio_tx *tx)
{
    uint8_t own[WIO_HDR_BYTES + TCP_INLINE];
    struct tcp_kept *k = wio_tcp_kept_room(l, tx->bytes);
    uint8_t *buf = k != NULL ? tcp_kept_header(k) : own;
    encode(l, tx, l->tx_seq + 1, buf);
    memcpy(buf + WIO_LINK_BYTES, tx->msg, WIO_MSG_BYTES);
    if (tx->bytes > 0)
        memcpy(buf + WIO_HDR_BYTES, tx->payload, tx->bytes);
    ssize_t n = wio_stream_send(l->tls, l->fd, buf, FRAME(tx));
    if (WIO_UNLIKELY(n != (ssize_t)FRAME(tx)))
        return send_partly(l, tx, buf, n);
    if (k != NULL)
        wio_tcp_kept_commit(l, k, l->tx_seq + 1, tx->bytes);
    return sent_whole(l, NULL, (size_t)n);
}

/* The same behind an ACK frame; see copies_badly(). */
static int send_shifted(struct tcp_link *l, struct wio_tx *tx)
{
    uint8_t buf[2 * WIO_HDR_BYTES], *hdr = buf + WIO_HDR_BYTES;
    encode_ack(l, buf);
    encode(l, tx, l->tx_seq + 1, hdr);
    memcpy(hdr + WIO_LINK_BYTES, tx->msg, WIO_MSG_BYTES);
    struct iovec iov[2] = {{buf, sizeof buf}, {(void *)(uintptr_t)tx->payload, tx->bytes}};
    ssize_t n = wio_stream_sendv(l->tls, l->fd, iov, 2);
    if (WIO_UNLIKELY(n < WIO_HDR_BYTES)) {
        if (n > 0)
            rest_of_ack(l, buf, (uint32_t)n);
        return send_partly(l, tx, hdr, n > 0 ? 0 : n);
    }
    n -= WIO_HDR_BYTES;
    if (WIO_UNLIKELY(n != (ssize_t)FRAME(tx)))
        return send_partly(l, tx, hdr, n);
    return sent_whole(l, tx, (size_t)n);
}

/* Header, then the payload from the user's buffer, in one call. */
static int send_direct(struct tcp_link *l, struct wio_tx *tx)
{
    uint8_t buf[WIO_HDR_BYTES];
    encode(l, tx, l->tx_seq + 1, buf);
    memcpy(buf + WIO_LINK_BYTES, tx->msg, WIO_MSG_BYTES);
    struct iovec iov[2] = {{buf, WIO_HDR_BYTES}, {(void *)(uintptr_t)tx->payload, tx->bytes}};
    ssize_t n = wio_stream_sendv(l->tls, l->fd, iov, 2);
    if (WIO_UNLIKELY(n != (ssize_t)FRAME(tx)))
        return send_partly(l, tx, buf, n);
    return sent_whole(l, tx, (size_t)n);
}

int wio_tcp_send(struct wio_ep *ep, struct wio_tx *tx)
{
    struct tcp_link *l = tcp_link_of(ep);
    if (WIO_UNLIKELY(l->state != TCP_READY || l->pending || !l->can_write || l->kept.full ||
                     (tx->flags & WIO_TX_BATCH)))
        return send_slow(l, tx);
    if (tx->bytes <= TCP_INLINE)
        return send_inline(l, tx);
    return copies_badly(tx) ? send_shifted(l, tx) : send_direct(l, tx);
}

size_t wio_tcp_queued(const struct wio_ep *ep)
{
    /* Without batched bytes: no done() follows them, and p2p would wait for it. */
    return ((const struct tcp_link *)(const void *)ep)->queued;
}

void wio_tcp_flush(struct wio_iface *iface)
{
    struct tcp_iface *f = tcp_iface_of(iface);
    struct wio_list *end = f->out.prev; /* one round: a link that stays writable goes to the tail */
    while (!wio_list_empty(&f->out)) {
        struct wio_list *it = wio_list_begin(&f->out);
        bool last = it == end;
        wio_tcp_tx_run(WIO_CONTAINER(it, struct tcp_link, onode));
        if (last)
            break;
    }
}

/* ---- on another connection ---- */

/* The goodbye has not been heard: it is to be said again. */
static void unsay_goodbye(struct tcp_link *l, uint32_t heard)
{
    if (!l->bye_queued || heard == l->tx_seq)
        return;
    l->bye_queued = false;
    l->tx_seq--;
    if (l->mend == TCP_HALF)
        l->mend = TCP_DRAIN;
    else if (l->mend == TCP_LAST)
        l->mend = TCP_ANSWER;
}

/* @return whether every message behind @p heard is there */
static bool complete(const struct tcp_link *l, uint32_t heard)
{
    uint32_t seq = heard, at = 0, number, bytes;
    if (!wio_tcp_kept_complete(l, &seq))
        return false;
    if (l->cur != NULL && wio_get32(l->cur_hdr + SEQ_AT) != ++seq)
        return false;
    while (l->batch != NULL && wio_tcp_batch_message(l->batch, &at, &number, &bytes) != NULL)
        if (number != ++seq)
            return false;
    return seq == (l->bye_queued ? heard : l->tx_seq); /* a goodbye that is left was heard */
}

/* Its last byte was not reported as written (tls.c), but the peer has it all. */
static bool begun_was_heard(const struct tcp_link *l, uint32_t heard)
{
    return l->cur != NULL && (int32_t)(wio_get32(l->cur_hdr + SEQ_AT) - heard) <= 0;
}

int wio_tcp_tx_rewind(struct tcp_link *l, uint32_t heard)
{
    wio_tcp_kept_rewind(l, heard);
    l->rewound = true;
    if (begun_was_heard(l, heard)) {
        l->queued -= FRAME(l->cur) - l->cur->sent;
        wio_list_push(&tcp_of(l)->done, &l->cur->node);
        l->cur = NULL;
    } else if (l->cur != NULL) {
        l->queued += l->cur->sent;
        l->cur->sent = 0;
    }
    if (l->batch != NULL) {
        wio_tcp_batch_trim(l->batch, heard);
        if (l->batch->len == 0)
            batch_drop(l);
    }
    unsay_goodbye(l, heard);
    if (!complete(l, heard))
        return -1;
    return (int)(l->tx_seq - heard);
}

/* ---- the end ---- */

static void fail_list(struct wio_list *q, int err)
{
    struct wio_list *it;
    while ((it = wio_list_pop(q)) != NULL) {
        struct wio_tx *tx = WIO_CONTAINER(it, struct wio_tx, node);
        tx->done(tx, err);
    }
}

void wio_tcp_tx_fail_all(struct tcp_link *l, int err)
{
    struct wio_tx *cur = l->cur;
    l->cur = NULL;
    l->queued = 0;
    batch_drop(l);
    if (cur != NULL)
        cur->done(cur, err);
    fail_list(&l->small, err);
    fail_list(&l->bulk_q, err);
}

void wio_tcp_tx_drop(struct tcp_link *l)
{
    l->cur = NULL;
    batch_drop(l);
    while (wio_list_pop(&l->small) != NULL) {
    }
    while (wio_list_pop(&l->bulk_q) != NULL) {
    }
    l->queued = 0;
}

void wio_tcp_tx_last_words(struct tcp_link *l, enum wio_bye_reason reason)
{
    if (l->fd < 0 || l->state < TCP_CONFIRM || l->write_failed || l->bye_queued)
        return;
    wio_tcp_tx_run(l);
    if (l->fd < 0 || !l->can_write || l->cur != NULL || l->batch != NULL || l->kept.again != NULL)
        return;
    uint8_t out[WIO_HDR_BYTES] = {0};
    struct wio_frame fr = {.kind = WIO_FRAME_GOODBYE, .reason = (uint16_t)reason, .ack = l->rx_seq};
    wio_frame_encode(&fr, out);
    (void)wio_stream_send(l->tls, l->fd, out, sizeof out);
    wio_tcp_tx_shut(l);
}
