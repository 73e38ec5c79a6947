/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file tx.c
 * The writing half of a link. Order in the stream: the message that has begun (cur), the batch
 * buffer, queued SMALL messages, queued bulk messages; GOODBYE when nothing is left. Short messages
 * and control records share the batch buffer, whose records have checksums, since the system may
 * show a part of a write. The bytes of a long message are written from the program's buffer, and
 * their header after them.
 */
#include "transport/file/file.h"

#define FRAME(tx) ((size_t)FILE_REC_BYTES + (tx)->bytes)

static uint64_t room(const struct file_link *l)
{
    return l->out.ring - (l->out_pos - l->out_acked);
}

/* A quarter of the ring: its reader tells of every quarter that it has read. */
static uint32_t part_max(const struct file_link *l)
{
    return (uint32_t)(l->out.ring / 4) - FILE_REC_BYTES - FILE_ALIGN;
}

static bool is_short(const struct file_link *l, const struct wio_tx *tx)
{
    return tx->bytes <= FILE_INLINE && tx->bytes <= part_max(l);
}

/* Is there room? The peer is asked for more at most once. */
static bool has_room(struct file_link *l, uint64_t bytes)
{
    return room(l) >= bytes || (wio_file_ack_read(l) && room(l) >= bytes);
}

bool wio_file_tx_idle(const struct file_link *l)
{
    return l->cur == NULL && l->batch == NULL && wio_list_empty(&l->small) &&
           wio_list_empty(&l->bulk_q) && !l->ping_due && !l->pong_due &&
           (!l->bye_wanted || l->bye_sent || l->state < FILE_READY);
}

void wio_file_tx_wake(struct file_link *l)
{
    bool messages = l->state >= FILE_READY && !wio_file_tx_idle(l);
    wio_list_remove(&l->onode);
    if (l->out.fd >= 0 && l->state != FILE_OVER && (l->batch != NULL || messages))
        wio_list_push(&file_of(l)->out, &l->onode);
}

/* ---- writing ---- */

/* @param[out] done  bytes that are written. @return false: not all; the link may be over */
static bool put_bytes(struct file_link *l, uint64_t pos, const void *buf, size_t n, size_t *done)
{
    *done = 0;
    int rc = n > 0 ? wio_file_seg_write(file_of(l), &l->out, pos, buf, n, done) : 0;
    if (WIO_UNLIKELY(rc < 0)) {
        (void)wio_file_full(l, rc, n - *done);
        return false;
    }
    if (WIO_UNLIKELY(l->full) && !l->weak)
        wio_file_full_ended(l);
    file_of(l)->base.p.counters->tx_bytes += n;
    return true;
}

/* Whoever opens the file sees what was put: only then the position may go on, for what was written
 * is lost when it cannot be synced, and has to be written again. @return false: not sure; the link
 * may be over */
static bool make_sure(struct file_link *l, size_t n)
{
    if (WIO_LIKELY(!l->weak))
        return true;
    int rc = wio_file_sight_sync(file_of(l), l->out.fd);
    if (rc < 0) {
        (void)wio_file_full(l, rc, n);
        return false;
    }
    if (l->full)
        wio_file_full_ended(l);
    wio_file_sight_stir(l);
    return true;
}

/* The disk was full a moment ago. */
static bool paused(const struct file_link *l)
{
    return WIO_UNLIKELY(l->full) && wio_os_now_ns() < l->timer;
}

/* ---- batch buffer ---- */

static struct file_batch *batch_get(struct file_link *l)
{
    struct file_iface *f = file_of(l);
    if (l->batch == NULL && (l->batch = wio_pool_get(&f->batches)) != NULL) {
        l->batch->len = 0;
        f->nbatch++;
    }
    return l->batch;
}

static void batch_put(struct file_link *l)
{
    if (l->batch == NULL)
        return;
    wio_pool_put(&file_of(l)->batches, l->batch);
    file_of(l)->nbatch--;
    l->batch = NULL;
}

/* So much of the buffer is written: a record whose header shows and whose bytes do not would be
 * taken for a broken one if space does not come soon. */
static void take_back(struct file_link *l, size_t done)
{
    static const uint8_t nothing[FILE_REC_BYTES];
    const struct file_batch *b = l->batch;
    struct file_rec r;
    size_t at = 0, n;
    if (b == NULL || l->out.fd < 0)
        return;
    while (at < done && wio_file_rec_decode(b->data + at, l->out_written + at, &r)) {
        if (at + file_rec_span(r.part) > done) {
            (void)wio_file_seg_write(file_of(l), &l->out, l->out_written + at, nothing,
                                     sizeof nothing, &n);
            return;
        }
        at += file_rec_span(r.part);
    }
}

/* Write what is in it. @return whether it is empty now */
static bool batch_flush(struct file_link *l)
{
    struct file_batch *b = l->batch;
    if (b == NULL)
        return true;
    size_t done;
    if (paused(l))
        return false;
    if (!put_bytes(l, l->out_written, b->data, b->len, &done)) {
        take_back(l, done);
        return false;
    }
    if (!make_sure(l, b->len))
        return false;
    l->out_written += b->len;
    batch_put(l);
    return true;
}

/* Room in the buffer and in the stream for a record? Writes the buffer if it has to. */
static bool batch_fits(struct file_link *l, uint32_t part)
{
    uint64_t span = file_rec_span(part);
    if (span > WIO_BATCH_BYTES || !has_room(l, span))
        return false;
    if (l->batch != NULL && WIO_BATCH_BYTES - l->batch->len < span && !batch_flush(l))
        return false;
    return l->out.fd >= 0;
}

static bool batch_add(struct file_link *l, struct file_rec *r, const uint8_t *msg,
                      const void *payload)
{
    struct file_batch *b = batch_get(l);
    if (b == NULL)
        return false;
    uint8_t *at = b->data + b->len;
    uint64_t span = file_rec_span(r->part);
    r->pos = l->out_pos;
    r->flags = FILE_REC_CRC;
    r->crc = wio_crc32c(0, payload, r->part);
    wio_file_rec_encode(r, msg, at);
    if (r->part > 0)
        memcpy(at + FILE_REC_BYTES, payload, r->part);
    memset(at + FILE_REC_BYTES + r->part, 0, span - FILE_REC_BYTES - r->part);
    b->len += (uint32_t)span;
    l->out_pos += span;
    return true;
}

static bool add_short(struct file_link *l, const struct wio_tx *tx)
{
    struct file_rec r = {.kind = FILE_K_MESSAGE, .part = tx->bytes, .total = tx->bytes};
    bool shared = l->batch != NULL;
    if (!batch_fits(l, tx->bytes) || !batch_add(l, &r, tx->msg, tx->payload))
        return false;
    file_of(l)->base.p.counters->coalesced_msgs += shared;
    return true;
}

bool wio_file_tx_control(struct file_link *l, enum file_kind kind, uint16_t reason,
                         const void *data, uint32_t n)
{
    struct file_rec r = {.kind = (uint8_t)kind, .reason = reason, .part = n, .total = n};
    if (!batch_fits(l, n) || !batch_add(l, &r, NULL, data))
        return false;
    if (!batch_flush(l) && l->state != FILE_OVER)
        wio_file_tx_wake(l);
    return true;
}

/* ---- long messages ---- */

static void began(struct file_link *l, struct wio_tx *tx)
{
    l->cur = tx;
    tx->sent = 0;
}

/* The next part of cur. @return whether it is written */
static bool write_part(struct file_link *l)
{
    struct file_iface *f = file_of(l);
    struct wio_tx *tx = l->cur;
    uint8_t header[FILE_REC_BYTES];
    uint32_t left = tx->bytes - tx->sent, part = left < part_max(l) ? left : part_max(l);
    const uint8_t *from = (const uint8_t *)tx->payload + tx->sent;
    if (!has_room(l, file_rec_span(part)) || !batch_flush(l) || paused(l))
        return false;
    struct file_rec r = {.pos = l->out_pos,
                         .kind = tx->sent == 0 ? FILE_K_MESSAGE : FILE_K_MORE,
                         .part = part,
                         .total = tx->bytes};
    if (l->remote || f->base.p.cfg->crc) {
        r.flags = FILE_REC_CRC;
        r.crc = wio_crc32c(0, from, part);
    }
    wio_file_rec_encode(&r, tx->msg, header);
    size_t done;
    if (!put_bytes(l, l->out_pos + FILE_REC_BYTES, from, part, &done) ||
        !put_bytes(l, l->out_pos, header, sizeof header, &done) || !make_sure(l, part))
        return false;
    l->out_pos += file_rec_span(part);
    l->out_written = l->out_pos;
    tx->sent += part;
    l->queued -= part;
    return true;
}

/* @return whether cur is written */
static bool run_cur(struct file_link *l)
{
    while (l->cur->sent < l->cur->bytes)
        if (!write_part(l))
            return false;
    return true;
}

/* ---- queues ---- */

static void finished(struct file_link *l, struct wio_tx *tx)
{
    l->queued -= FRAME(tx) - tx->sent;
    wio_list_push(&file_of(l)->done, &tx->node);
}

/* @return whether the first message of the queue has left it */
static bool run_first(struct file_link *l, struct wio_list *q)
{
    struct wio_tx *tx = WIO_CONTAINER(wio_list_first(q), struct wio_tx, node);
    tx->sent = 0;
    if (is_short(l, tx)) {
        if (!add_short(l, tx))
            return false;
        wio_list_remove(&tx->node);
        finished(l, tx);
        return true;
    }
    wio_list_remove(&tx->node);
    began(l, tx);
    return true;
}

/* Messages that wait. @return whether all are written, or in the batch buffer */
static bool run_messages(struct file_link *l, int *n)
{
    for (;;) {
        if (l->cur != NULL) {
            struct wio_tx *tx = l->cur;
            if (!run_cur(l))
                return false;
            l->cur = NULL;
            finished(l, tx);
        } else if (!wio_list_empty(&l->small)) {
            if (!run_first(l, &l->small))
                return false;
        } else if (!wio_list_empty(&l->bulk_q)) {
            if (!run_first(l, &l->bulk_q))
                return false;
        } else {
            return true;
        }
        ++*n;
    }
}

/* Not inside a message: its reader takes no other record there. A part that could not be synced may
 * have been read already, so that its position is taken. */
static void run_due(struct file_link *l)
{
    if (l->cur != NULL)
        return;
    if (l->pong_due && wio_file_tx_control(l, FILE_K_PONG, 0, NULL, 0))
        l->pong_due = false;
    if (l->ping_due && l->state != FILE_OVER && wio_file_tx_control(l, FILE_K_PING, 0, NULL, 0))
        l->ping_due = false;
}

static void run_goodbye(struct file_link *l)
{
    if (!l->bye_wanted || l->bye_sent || l->state != FILE_DRAIN || !batch_flush(l))
        return;
    if (!wio_file_tx_control(l, FILE_K_GOODBYE, l->bye_reason, NULL, 0) || l->state == FILE_OVER)
        return;
    l->bye_sent = true;
    l->ping_due = l->pong_due = false; /* nothing comes after it */
    wio_file_set_state(l, FILE_HALF);
    wio_file_maybe_over(l);
}

int wio_file_tx_run(struct file_link *l)
{
    int n = 0;
    if (l->out.fd < 0 || l->state == FILE_OVER)
        return 0;
    n += l->batch != NULL && batch_flush(l);
    if (l->state >= FILE_READY && l->state != FILE_OVER) {
        run_due(l);
        if (l->state != FILE_OVER && run_messages(l, &n) && l->state != FILE_OVER)
            run_goodbye(l);
        if (l->state != FILE_OVER)
            (void)batch_flush(l);
    }
    if (l->state != FILE_OVER)
        wio_file_tx_wake(l);
    return n;
}

/* ---- sending ---- */

static int enqueue(struct file_link *l, struct wio_tx *tx)
{
    tx->sent = 0;
    l->queued += FRAME(tx);
    wio_list_push((tx->flags & WIO_TX_SMALL) != 0 ? &l->small : &l->bulk_q, &tx->node);
    if (l->state >= FILE_READY)
        wio_file_tx_wake(l);
    return WIO_TX_QUEUED;
}

/* May this message go before all that wait? */
static bool is_next(const struct file_link *l, const struct wio_tx *tx)
{
    return l->state == FILE_READY && l->cur == NULL && wio_list_empty(&l->small) &&
           (wio_list_empty(&l->bulk_q) || (tx->flags & WIO_TX_SMALL) != 0);
}

static int send_short(struct file_link *l, struct wio_tx *tx)
{
    bool keep = (tx->flags & WIO_TX_BATCH) != 0;
    if (l->batch == NULL && file_of(l)->nbatch >= FILE_BATCHES_MAX)
        keep = false;
    if (!add_short(l, tx))
        return l->state == FILE_OVER ? WAITIO_ERR_BUSY : enqueue(l, tx);
    if (!keep)
        (void)batch_flush(l);
    if (l->batch != NULL && !wio_list_linked(&l->onode))
        wio_file_tx_wake(l);
    return WIO_TX_DONE;
}

static int send_long(struct file_link *l, struct wio_tx *tx)
{
    l->queued += FRAME(tx);
    began(l, tx);
    if (run_cur(l)) {
        l->cur = NULL;
        l->queued -= FRAME(tx) - tx->sent;
        return WIO_TX_DONE;
    }
    if (l->state != FILE_OVER)
        wio_file_tx_wake(l);
    return WIO_TX_QUEUED; /* of a link that has ended: dispatch gives it back */
}

int wio_file_send(struct wio_ep *ep, struct wio_tx *tx)
{
    struct file_link *l = file_link_of(ep);
    if (l->ep.state >= WIO_EP_CLOSING)
        return l->state == FILE_OVER && l->err != 0
                   ? wio_fail(l->err, "%s", l->text != NULL ? l->text : "link closed")
                   : WAITIO_ERR_BUSY;
    if (!is_next(l, tx))
        return enqueue(l, tx);
    return is_short(l, tx) ? send_short(l, tx) : send_long(l, tx);
}

size_t wio_file_queued(const struct wio_ep *ep)
{
    return WIO_CONTAINER((void *)(uintptr_t)ep, struct file_link, ep)->queued;
}

int wio_file_tx_all(struct file_iface *f, bool batches)
{
    struct wio_list todo, *it;
    int n = 0;
    wio_list_init(&todo);
    while ((it = wio_list_pop(&f->out)) != NULL)
        wio_list_push(&todo, it);
    while ((it = wio_list_pop(&todo)) != NULL) {
        struct file_link *l = WIO_CONTAINER(it, struct file_link, onode);
        if (!batches || l->batch != NULL)
            n += wio_file_tx_run(l);
        else
            wio_list_push(&f->out, it);
    }
    return n;
}

void wio_file_flush(struct wio_iface *iface)
{
    struct file_iface *f = file_iface_of(iface);
    if (f->nbatch > 0)
        (void)wio_file_tx_all(f, true);
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

void wio_file_tx_fail_all(struct file_link *l, int err)
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

void wio_file_tx_drop(struct file_link *l)
{
    l->cur = NULL;
    l->queued = 0;
    batch_put(l);
    while (wio_list_pop(&l->small) != NULL) {
    }
    while (wio_list_pop(&l->bulk_q) != NULL) {
    }
}

void wio_file_last_words(struct file_link *l, enum wio_bye_reason reason)
{
    if (l->out.fd < 0 || l->state < FILE_READY || l->state == FILE_OVER || l->bye_sent)
        return;
    (void)wio_file_tx_run(l);
    if (l->state == FILE_OVER || l->cur != NULL || l->batch != NULL || l->bye_sent)
        return;
    (void)wio_file_tx_control(l, FILE_K_GOODBYE, (uint16_t)reason, NULL, 0);
}
