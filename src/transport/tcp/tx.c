/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file tx.c
 * The sending half of a link. Order on the wire: the message that has begun (cur), the batch buffer
 * (batched messages and control frames, numbered when they entered it), queued SMALL messages,
 * queued bulk messages; GOODBYE when nothing is left. Sequence numbers are given when a message
 * begins.
 */
#include "tcp.h"

#define FRAME(tx) (WIO_HDR_BYTES + (tx)->bytes)

/* One system call's worth of output. */
struct gather {
    struct iovec iov[3 + 1 + 3 * TCP_GATHER]; /* cur, batch, messages that begin */
    int niov;
    size_t total;
    int ntx;
    struct wio_tx *tx[TCP_GATHER];
    uint8_t hdr[TCP_GATHER][WIO_LINK_BYTES];
};

static void encode(struct tcp_link *l, const struct wio_tx *tx, uint32_t seq, uint8_t *out)
{
    struct wio_frame fr = {
        .kind = WIO_FRAME_MESSAGE, .payload = tx->bytes, .seq = seq, .ack = l->rx_seq};
    if (WIO_UNLIKELY(tcp_of(l)->crc)) {
        fr.flags = WIO_FRAME_CRC;
        fr.crc = wio_crc32c(0, tx->msg, WIO_MSG_BYTES);
        if (tx->bytes > 0)
            fr.crc = wio_crc32c(fr.crc, tx->payload, tx->bytes);
    }
    wio_frame_encode(&fr, out);
}

/* A header with the current acknowledgement has gone out. */
static inline void acked(struct tcp_link *l)
{
    l->rx_unacked = 0;
    l->rx_unacked_bytes = 0;
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

/* The socket is full (or, under fault injection, pretends to be). */
static void write_blocked(struct tcp_link *l)
{
    l->can_write = wio_os_fault != NULL;
}

bool wio_tcp_tx_idle(const struct tcp_link *l)
{
    return l->cur == NULL && l->batch == NULL && wio_list_empty(&l->small) &&
           wio_list_empty(&l->bulk_q) && !l->ack_due && !l->ping_due && !l->pong_due &&
           (!l->bye_wanted || l->bye_queued);
}

void wio_tcp_tx_wake(struct tcp_link *l)
{
    struct tcp_iface *f = tcp_of(l);
    wio_list_remove(&l->onode);
    l->pending = l->fd >= 0 && l->state >= TCP_READY && !l->write_failed && !wio_tcp_tx_idle(l);
    if (l->pending)
        wio_list_push(l->can_write ? &f->out : &f->blocked, &l->onode);
}

/* ---- batch buffer ---- */

static struct tcp_batch *batch_get(struct tcp_link *l)
{
    struct tcp_iface *f = tcp_of(l);
    if (l->batch == NULL) {
        l->batch = wio_pool_get(&f->batches);
        if (l->batch != NULL) {
            l->batch->off = l->batch->len = l->batch->msgs = 0;
            f->nbatch++;
        }
    }
    return l->batch;
}

static void batch_put(struct tcp_link *l)
{
    if (l->batch == NULL)
        return;
    wio_pool_put(&tcp_of(l)->batches, l->batch);
    tcp_of(l)->nbatch--;
    l->batch = NULL;
}

static bool batch_fits(struct tcp_link *l, const struct wio_tx *tx)
{
    if (FRAME(tx) > WIO_BATCH_BYTES || !wio_list_empty(&l->small))
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
    if (l->cur != NULL || l->batch != NULL || !wio_list_empty(&l->small))
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

/* Put control frames that are due into the batch buffer. An acknowledgement rides on a message when
 * one is about to begin. */
static void add_control(struct tcp_link *l)
{
    bool quiet = wio_list_empty(&l->small) && wio_list_empty(&l->bulk_q);
    if (l->bye_queued) { /* GOODBYE is the last frame */
        l->ack_due = l->ping_due = l->pong_due = false;
        return;
    }
    if (l->ping_due && batch_control(l, WIO_FRAME_PING, WIO_BYE_NONE))
        l->ping_due = false;
    if (l->pong_due && batch_control(l, WIO_FRAME_PONG, WIO_BYE_NONE))
        l->pong_due = false;
    if ((l->ack_due && quiet) || next_copies_badly(l))
        (void)batch_control(l, WIO_FRAME_ACK, WIO_BYE_NONE);
    if (l->bye_wanted && quiet)
        l->bye_queued = batch_control(l, WIO_FRAME_GOODBYE, (enum wio_bye_reason)l->bye_reason);
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

static void gather(struct gather *g, struct tcp_link *l)
{
    g->niov = g->ntx = 0;
    g->total = 0;
    add_control(l);
    if (l->cur != NULL)
        add_rest(g, l->cur, l->cur_hdr);
    if (l->batch != NULL)
        add_iov(g, l->batch->data + l->batch->off, l->batch->len - l->batch->off);
    if (l->bye_queued)
        return;
    add_queue(g, l, &l->small);
    add_queue(g, l, &l->bulk_q);
}

/* ---- accounting of n written bytes ---- */

static void finish(struct tcp_link *l, struct wio_tx *tx)
{
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
        finish(l, tx);
    }
    if (l->batch != NULL) {
        size_t take = l->batch->len - l->batch->off;
        if (take > n)
            take = n;
        l->batch->off += (uint32_t)take;
        n -= take;
        if (l->batch->off < l->batch->len)
            return;
        batch_put(l);
    }
    for (int i = 0; i < g->ntx && n > 0; i++) {
        struct wio_tx *tx = g->tx[i];
        l->tx_seq++;
        acked(l);
        wio_list_remove(&tx->node);
        if (advance(l, tx, &n)) {
            finish(l, tx);
        } else {
            l->cur = tx;
            memcpy(l->cur_hdr, g->hdr[i], WIO_LINK_BYTES);
        }
    }
}

/* Everything is out, our GOODBYE last: shut our side. */
static void said_goodbye(struct tcp_link *l)
{
    wio_os_shutdown_send(l->fd);
    wio_tcp_set_state(l, l->state == TCP_ANSWER ? TCP_LAST : TCP_HALF);
    if (l->state == TCP_LAST && l->eof)
        wio_tcp_link_over(l, 0, "%s", wio_bye_reason_name(l->bye_reason));
}

/* One system call. @return false: the socket takes no more now */
static bool write_once(struct tcp_link *l, const struct gather *g)
{
    ssize_t n = wio_os_sendv(l->fd, g->iov, g->niov);
    if (n == -EAGAIN) {
        write_blocked(l);
        return false;
    }
    if (n < 0) {
        write_failed(l, (int)n);
        return false;
    }
    note_write(l, (size_t)n);
    account(l, g, (size_t)n);
    if ((size_t)n < g->total && wio_os_fault == NULL)
        l->can_write = false; /* a short write means full; the OUT edge will come */
    return true;
}

void wio_tcp_tx_run(struct tcp_link *l)
{
    struct gather g;
    while (l->fd >= 0 && l->can_write && l->state >= TCP_READY) {
        gather(&g, l);
        if (g.total == 0 || !write_once(l, &g))
            break;
    }
    if (l->bye_queued && l->batch == NULL && (l->state == TCP_DRAIN || l->state == TCP_ANSWER))
        said_goodbye(l);
    if (l->write_failed && l->eof && l->state != TCP_CLOSED)
        wio_tcp_rx_end(l);
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
static int sent_whole(struct tcp_link *l, size_t n)
{
    l->tx_seq++;
    acked(l);
    note_write(l, n);
    return WIO_TX_DONE;
}

/* Header and payload in one piece. */
static int send_inline(struct tcp_link *l, struct wio_tx *tx)
{
    uint8_t buf[WIO_HDR_BYTES + TCP_INLINE];
    encode(l, tx, l->tx_seq + 1, buf);
    memcpy(buf + WIO_LINK_BYTES, tx->msg, WIO_MSG_BYTES);
    if (tx->bytes > 0)
        memcpy(buf + WIO_HDR_BYTES, tx->payload, tx->bytes);
    ssize_t n = wio_os_send(l->fd, buf, FRAME(tx));
    if (WIO_UNLIKELY(n != (ssize_t)FRAME(tx)))
        return send_partly(l, tx, buf, n);
    return sent_whole(l, (size_t)n);
}

/* The same behind an ACK frame; see copies_badly(). */
static int send_shifted(struct tcp_link *l, struct wio_tx *tx)
{
    uint8_t buf[2 * WIO_HDR_BYTES], *hdr = buf + WIO_HDR_BYTES;
    encode_ack(l, buf);
    encode(l, tx, l->tx_seq + 1, hdr);
    memcpy(hdr + WIO_LINK_BYTES, tx->msg, WIO_MSG_BYTES);
    struct iovec iov[2] = {{buf, sizeof buf}, {(void *)(uintptr_t)tx->payload, tx->bytes}};
    ssize_t n = wio_os_sendv(l->fd, iov, 2);
    if (WIO_UNLIKELY(n < WIO_HDR_BYTES)) {
        if (n > 0)
            rest_of_ack(l, buf, (uint32_t)n);
        return send_partly(l, tx, hdr, n > 0 ? 0 : n);
    }
    n -= WIO_HDR_BYTES;
    if (WIO_UNLIKELY(n != (ssize_t)FRAME(tx)))
        return send_partly(l, tx, hdr, n);
    return sent_whole(l, (size_t)n);
}

/* Header, then the payload from the user's buffer, in one call. */
static int send_direct(struct tcp_link *l, struct wio_tx *tx)
{
    uint8_t buf[WIO_HDR_BYTES];
    encode(l, tx, l->tx_seq + 1, buf);
    memcpy(buf + WIO_LINK_BYTES, tx->msg, WIO_MSG_BYTES);
    struct iovec iov[2] = {{buf, WIO_HDR_BYTES}, {(void *)(uintptr_t)tx->payload, tx->bytes}};
    ssize_t n = wio_os_sendv(l->fd, iov, 2);
    if (WIO_UNLIKELY(n != (ssize_t)FRAME(tx)))
        return send_partly(l, tx, buf, n);
    return sent_whole(l, (size_t)n);
}

int wio_tcp_send(struct wio_ep *ep, struct wio_tx *tx)
{
    struct tcp_link *l = tcp_link_of(ep);
    if (WIO_UNLIKELY(l->state != TCP_READY || l->pending || !l->can_write ||
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
    batch_put(l);
    if (cur != NULL)
        cur->done(cur, err);
    fail_list(&l->small, err);
    fail_list(&l->bulk_q, err);
}

void wio_tcp_tx_drop(struct tcp_link *l)
{
    l->cur = NULL;
    batch_put(l);
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
    if (l->fd < 0 || !l->can_write || l->cur != NULL || l->batch != NULL)
        return;
    uint8_t out[WIO_HDR_BYTES] = {0};
    struct wio_frame fr = {.kind = WIO_FRAME_GOODBYE, .reason = (uint16_t)reason, .ack = l->rx_seq};
    wio_frame_encode(&fr, out);
    (void)wio_os_send(l->fd, out, sizeof out);
    wio_os_shutdown_send(l->fd);
}
