/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file kept.c
 * What may have to be sent again: every message that was written and that the peer has not
 * acknowledged. A batch buffer is kept as it is. Other short messages are copied after they were
 * written, when the receiver is busy already.
 * Pieces of messages whose buffer the program must leave alone until they are confirmed stay where
 * they are. Messages come in the order of their numbers and go in that order, so they lie one
 * behind the other in blocks, and an acknowledgement drops them from the front.
 */
#include "tcp.h"

#define BLOCK_BYTES (256u << 10)
#define SPARES 8
#define GATHER 16
/* A batch buffer with less in it is copied: many of them would hold much memory with little in it.
 */
#define WHOLE (WIO_BATCH_BYTES / 4)

/* ---- blocks ---- */

static void count(struct tcp_iface *f, size_t bytes)
{
    struct wio_counters *c = f->base.p.counters;
    c->resume_bytes += bytes;
    if (c->resume_bytes > c->resume_max)
        c->resume_max = c->resume_bytes;
}

static struct tcp_block *block_get(struct tcp_iface *f, size_t room)
{
    struct tcp_block *b = room <= BLOCK_BYTES ? f->spare : NULL;
    if (b != NULL) {
        f->spare = b->next;
        f->nspare--;
    } else {
        if (room < BLOCK_BYTES)
            room = BLOCK_BYTES;
        b = wio_os_realloc(NULL, sizeof *b + room);
        if (b == NULL)
            return NULL;
        b->room = room;
    }
    b->next = NULL;
    b->used = 0;
    b->live = 0;
    count(f, b->room);
    return b;
}

static void block_put(struct tcp_iface *f, struct tcp_block *b)
{
    f->base.p.counters->resume_bytes -= b->room;
    if (b->room > BLOCK_BYTES || f->nspare >= SPARES) {
        wio_os_free(b);
        return;
    }
    b->next = f->spare;
    f->spare = b;
    f->nspare++;
}

void wio_tcp_kept_spare_free(struct tcp_iface *f)
{
    while (f->spare != NULL) {
        struct tcp_block *b = f->spare;
        f->spare = b->next;
        wio_os_free(b);
    }
    f->nspare = 0;
}

static size_t size_of(uint32_t copied)
{
    return (sizeof(struct tcp_kept) + WIO_HDR_BYTES + copied + 15) & ~(size_t)15;
}

/* ---- coming ---- */

void wio_tcp_kept_begin(struct tcp_link *l)
{
    const struct tcp_iface *f = tcp_of(l);
    l->kept.on = f->resume_timeout > 0 && l->number != 0;
    if (l->via != 0 || !wio_tcp_near(f, &l->addr))
        l->kept.max = TCP_KEPT_FAR;
    else
        l->kept.max = wio_tcp_here(f, &l->addr) ? TCP_KEPT_HERE : TCP_KEPT_NEAR;
}

struct tcp_kept *wio_tcp_kept_room(struct tcp_link *l, uint32_t copied)
{
    struct tcp_keep *k = &l->kept;
    if (!k->on)
        return NULL;
    size_t n = size_of(copied);
    if (k->tail == NULL || k->tail->room - k->tail->used < n) {
        struct tcp_block *b = block_get(tcp_of(l), n);
        if (b == NULL)
            return NULL; /* it is missing when it is to be sent again: the link is lost then */
        if (k->tail != NULL)
            k->tail->next = b;
        else
            k->head = b;
        k->tail = b;
    }
    return (struct tcp_kept *)(void *)(k->tail->data + k->tail->used);
}

/* A few dozen messages at least: with less, long ones wait for each other's acknowledgement. */
static uint32_t room_for(const struct tcp_keep *k, uint32_t copied)
{
    uint32_t dozens = (copied < TCP_KEPT_LONG ? copied : TCP_KEPT_LONG) * TCP_KEPT_MESSAGES;
    return dozens > k->max ? dozens : k->max;
}

static void append(struct tcp_link *l, struct tcp_kept *e, uint32_t seq, uint32_t copied)
{
    struct tcp_keep *k = &l->kept;
    e->next = NULL;
    e->last = seq;
    e->heap = false;
    if (k->last != NULL)
        k->last->next = e;
    else
        k->first = e;
    k->last = e;
    k->bytes += copied;
    k->room = room_for(k, copied);
    if (k->bytes >= k->room)
        k->full = true;
}

static void commit(struct tcp_link *l, struct tcp_kept *e, uint32_t seq, uint32_t copied)
{
    struct tcp_block *b = l->kept.tail;
    e->block = b;
    e->seq = seq;
    b->used += size_of(copied);
    b->live++;
    append(l, e, seq, WIO_HDR_BYTES + copied);
}

void wio_tcp_kept_commit(struct tcp_link *l, struct tcp_kept *e, uint32_t seq, uint32_t bytes)
{
    e->owner = NULL;
    e->payload = tcp_kept_header(e) + WIO_HDR_BYTES;
    e->bytes = bytes;
    commit(l, e, seq, bytes);
}

void wio_tcp_kept_add(struct tcp_link *l, const struct wio_tx *tx, uint32_t seq)
{
    bool stays = (tx->flags & WIO_TX_KEPT) != 0;
    struct tcp_kept *e = wio_tcp_kept_room(l, stays ? 0 : tx->bytes);
    if (e == NULL)
        return;
    memcpy(tcp_kept_header(e) + WIO_LINK_BYTES, tx->msg, WIO_MSG_BYTES);
    if (!stays) {
        if (tx->bytes > 0)
            memcpy(tcp_kept_header(e) + WIO_HDR_BYTES, tx->payload, tx->bytes);
        wio_tcp_kept_commit(l, e, seq, tx->bytes);
        return;
    }
    e->owner = tx;
    e->payload = (uint8_t *)(uintptr_t)tx->payload;
    e->bytes = tx->bytes;
    commit(l, e, seq, 0);
}

/* ---- batch buffers ---- */

static void batch_copy(struct tcp_link *l, const struct tcp_batch *b)
{
    uint32_t at = 0, seq, bytes;
    const uint8_t *frame;
    while ((frame = wio_tcp_batch_message(b, &at, &seq, &bytes)) != NULL) {
        struct tcp_kept *e = wio_tcp_kept_room(l, bytes);
        if (e == NULL)
            return;
        memcpy(tcp_kept_header(e), frame, WIO_HDR_BYTES + bytes);
        wio_tcp_kept_commit(l, e, seq, bytes);
    }
}

void wio_tcp_kept_batch(struct tcp_link *l, struct tcp_batch *b)
{
    struct tcp_iface *f = tcp_of(l);
    struct tcp_kept *e = &b->kept;
    if (!l->kept.on || b->msgs == 0 || b->len < WHOLE) {
        if (l->kept.on && b->msgs > 0)
            batch_copy(l, b);
        wio_tcp_batch_put(f, b);
        return;
    }
    e->block = NULL;
    e->owner = NULL;
    e->seq = b->last - b->msgs + 1;
    e->payload = b->data;
    e->bytes = b->len;
    count(f, sizeof *b);
    append(l, e, b->last, b->len);
}

static inline struct tcp_batch *batch_of(struct tcp_kept *e)
{
    return e->block == NULL ? WIO_CONTAINER(e, struct tcp_batch, kept) : NULL;
}

/* ---- going ---- */

static void block_left(struct tcp_link *l, struct tcp_block *b)
{
    struct tcp_keep *k = &l->kept;
    if (--b->live > 0)
        return;
    while (k->head != b) { /* one that was got and not used */
        struct tcp_block *unused = k->head;
        k->head = unused->next;
        block_put(tcp_of(l), unused);
    }
    k->head = b->next;
    if (k->head == NULL)
        k->tail = NULL;
    block_put(tcp_of(l), b);
}

static void drop_first(struct tcp_link *l)
{
    struct tcp_keep *k = &l->kept;
    struct tcp_iface *f = tcp_of(l);
    struct tcp_kept *e = k->first;
    struct tcp_batch *b = batch_of(e);
    k->first = e->next;
    if (k->first == NULL)
        k->last = NULL;
    if (b != NULL) {
        k->bytes -= e->bytes;
        f->base.p.counters->resume_bytes -= sizeof *b;
        wio_tcp_batch_put(f, b);
        return;
    }
    k->bytes -= WIO_HDR_BYTES + (e->owner == NULL ? e->bytes : 0);
    if (e->heap)
        wio_os_free(e->payload);
    block_left(l, e->block);
}

void wio_tcp_kept_acked(struct tcp_link *l, uint32_t ack)
{
    struct tcp_keep *k = &l->kept;
    while (k->first != NULL && (int32_t)(k->first->last - ack) <= 0) {
        if (WIO_UNLIKELY(k->again == k->first)) { /* it is being sent again, and was heard before */
            if (k->again_off > 0)
                break; /* its rest must follow */
            k->again = k->again->next;
        }
        drop_first(l);
    }
    if (WIO_UNLIKELY(k->full) && k->bytes < k->room) {
        k->full = false;
        wio_tcp_tx_wake(l);
    }
}

void wio_tcp_kept_drop(struct tcp_link *l)
{
    struct tcp_keep *k = &l->kept;
    while (k->first != NULL)
        drop_first(l);
    while (k->head != NULL) { /* one that was got and not used */
        struct tcp_block *b = k->head;
        k->head = b->next;
        block_put(tcp_of(l), b);
    }
    k->tail = NULL;
    k->again = NULL;
    k->full = k->on = false;
}

/* ---- the program takes its buffer back ---- */

/* Only where a confirmation came before the acknowledgement of what it confirms, so hardly ever. */
static void copy_pieces(struct tcp_link *l, const struct wio_tx *tx)
{
    for (struct tcp_kept *e = l->kept.first; e != NULL; e = e->next) {
        if (e->owner != tx)
            continue;
        uint8_t *copy = wio_os_realloc(NULL, e->bytes > 0 ? e->bytes : 1);
        if (copy != NULL && e->bytes > 0)
            memcpy(copy, e->payload, e->bytes);
        e->payload = copy; /* NULL: the link is lost when it is to be sent again */
        e->heap = true;
        e->owner = NULL;
        l->kept.bytes += e->bytes;
    }
}

/* A message may have left on a link that closes by now, behind which there is a newer one. */
void wio_tcp_let_go(struct wio_ep *ep, const struct wio_tx *tx)
{
    struct tcp_link *l = wio_tcp_link_find(tcp_iface_of(ep->iface), ep->peer, ep->lane);
    for (; l != NULL; l = l->older)
        copy_pieces(l, tx);
}

/* ---- sending again ---- */

static int add(struct iovec *iov, int n, const uint8_t *p, size_t bytes, size_t *skip)
{
    if (*skip >= bytes) {
        *skip -= bytes;
        return n;
    }
    iov[n].iov_base = (void *)(uintptr_t)(p + *skip);
    iov[n].iov_len = bytes - *skip;
    *skip = 0;
    return n + 1;
}

/* Of batch buffers only messages are left that the peer has not got, one behind the other. */
void wio_tcp_kept_rewind(struct tcp_link *l, uint32_t heard)
{
    struct tcp_keep *k = &l->kept;
    k->again = NULL;
    wio_tcp_kept_acked(l, heard);
    for (struct tcp_kept *e = k->first; e != NULL; e = e->next) {
        struct tcp_batch *b = batch_of(e);
        if (b == NULL)
            continue;
        wio_tcp_batch_trim(b, heard);
        k->bytes -= e->bytes - b->len;
        e->bytes = b->len;
        e->seq = b->last - b->msgs + 1;
    }
    k->again = k->first;
    k->again_off = 0;
}

bool wio_tcp_kept_complete(const struct tcp_link *l, uint32_t *seq)
{
    for (const struct tcp_kept *e = l->kept.first; e != NULL; e = e->next) {
        if (e->seq != *seq + 1 || (e->payload == NULL && e->bytes > 0))
            return false;
        *seq = e->last;
    }
    return true;
}

/* It is about to begin: the latest acknowledgement. */
static void refresh(struct tcp_link *l, struct tcp_kept *e)
{
    struct tcp_batch *b = batch_of(e);
    uint8_t *hdr = tcp_kept_header(e);
    if (b != NULL)
        wio_tcp_batch_refresh(l, b);
    else
        wio_tcp_tx_header(l, e->seq, hdr + WIO_LINK_BYTES, e->payload, e->bytes, hdr);
}

static inline uint32_t header_bytes(const struct tcp_kept *e)
{
    return e->block != NULL ? WIO_HDR_BYTES : 0; /* a batch has them in between */
}

bool wio_tcp_kept_again(struct tcp_link *l)
{
    struct tcp_keep *k = &l->kept;
    struct iovec iov[2 * GATHER];
    int n = 0, pieces = 0;
    size_t skip = k->again_off, total = 0;
    for (struct tcp_kept *e = k->again; e != NULL && pieces < GATHER; e = e->next, pieces++) {
        if (skip == 0)
            refresh(l, e);
        total += header_bytes(e) + e->bytes - skip;
        n = add(iov, n, tcp_kept_header(e), header_bytes(e), &skip);
        n = add(iov, n, e->payload, e->bytes, &skip);
    }
    size_t out = wio_tcp_tx_write(l, iov, n, total);
    if (out == 0)
        return false;
    while (k->again != NULL) {
        size_t left = header_bytes(k->again) + k->again->bytes - k->again_off;
        if (out < left) {
            k->again_off += (uint32_t)out;
            break;
        }
        out -= left;
        k->again_off = 0;
        k->again = k->again->next;
    }
    wio_tcp_kept_acked(l, l->tx_acked); /* of one whose last byte was not counted as sent (tls.c) */
    return true;
}
