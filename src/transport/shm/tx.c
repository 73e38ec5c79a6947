/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file tx.c
 * The sending half: whole messages into a slot or cell, bulk streamed as room appears. A link
 * starts in its peer's inbox and gets a ring after many messages (promotion).
 */
#include "transport/shm/shm.h"

/* ---- into the inbox ---- */

static bool inbox_put(struct shm_link *l, uint32_t info, const uint8_t *msg, const void *payload,
                      size_t n)
{
    uint32_t pos;
    struct shm_cell *c = wio_shm_inbox_claim(&l->peer, l->owner_out, &pos);
    if (c == NULL)
        return false;
    c->info = info;
    if (msg != NULL)
        memcpy(c->msg, msg, WIO_MSG_BYTES);
    shm_copy_small(c->data, payload, n);
    shm_inbox_publish(c, pos, l->owner_out);
    return true;
}

/* Bulk leaves half of the inbox to others. */
static bool inbox_half_free(const struct shm_inbox *b)
{
    uint32_t at = atomic_load_explicit(&b->head->tail, memory_order_relaxed) + b->geo.cells / 2;
    uint64_t w = atomic_load_explicit(&shm_inbox_cell(b, at)->word, memory_order_relaxed);
    return shm_word(at, 0, SHM_FREE) == w;
}

static bool inbox_has_room(const struct shm_inbox *b)
{
    uint32_t at = atomic_load_explicit(&b->head->tail, memory_order_relaxed);
    uint64_t w = atomic_load_explicit(&shm_inbox_cell(b, at)->word, memory_order_relaxed);
    return (int32_t)(shm_word_pos(w) - at) >= 0;
}

/* ---- one message ---- */

enum progress_of_one { NO_ROOM, BEGUN, COMPLETE };

/* Not by the bulk ring. In a burst the larger one is quicker, else the one that stays in the
 * caches. */
static bool goes_mid(const struct shm_link *l, uint32_t bytes)
{
    return bytes <= SHM_SHORT ||
           (bytes <= shm_mid_max(&l->w->ring) && (l->run == 0 || l->cur != NULL));
}

static bool fits_whole(const struct shm_link *l, const struct wio_tx *tx)
{
    return tx->bytes <= (l->out_ring ? shm_mid_max(&l->w->ring) : shm_cell_room(&l->peer));
}

bool wio_shm_tx_leave(struct shm_link *l)
{
    static const uint8_t nothing[WIO_MSG_BYTES];
    if (!shm_ring_put(l->w, SHM_SWITCH, nothing, NULL, 0))
        return false;
    shm_notify(l);
    l->out_ring = false;
    l->ring_done = true;
    l->used_ns = 0;
    l->tx_bytes = 0;
    return true;
}

/* The system has no pages for bulk. */
static bool leave_for_want(struct shm_link *l)
{
    if (!wio_shm_tx_leave(l))
        return false;
    wio_shm_no_memory(l, "the pages of its bulk");
    l->asked_ns = wio_os_now_ns();
    return true;
}

static enum progress_of_one begin_in_inbox(struct shm_link *l, struct wio_tx *tx)
{
    uint32_t first = shm_cell_room(&l->peer);
    if (!inbox_half_free(&l->peer) ||
        !inbox_put(l, shm_info(SHM_MESSAGE, SHM_STREAM, tx->bytes), tx->msg, tx->payload, first))
        return NO_ROOM;
    tx->sent = first;
    return BEGUN;
}

static void publish(struct shm_link *l, struct shm_slot *s, uint32_t bytes)
{
    shm_slot_publish(l->w, s);
    shm_of(l)->base.p.counters->tx_bytes += WIO_HDR_BYTES + bytes;
}

static enum progress_of_one begin_in_ring(struct shm_link *l, struct wio_tx *tx, unsigned mark)
{
    struct shm_slot *s = shm_ring_suits_whole(l->w, tx->bytes, l->run > 0)
                             ? wio_shm_ring_fill_bulk(l->w, tx->payload, tx->bytes, mark)
                             : NULL;
    if (s != NULL) {
        memcpy(s->msg, tx->msg, WIO_MSG_BYTES);
        publish(l, s, tx->bytes);
        l->w->bulk_used = true;
        return COMPLETE;
    }
    if (!shm_ring_begin(l->w, tx->msg, tx->bytes, mark))
        return NO_ROOM;
    l->w->bulk_used = true;
    tx->sent = 0;
    return BEGUN;
}

/* Header and, where it fits, the whole payload. */
static enum progress_of_one begin(struct shm_link *l, struct wio_tx *tx)
{
    if (l->out_ring && !goes_mid(l, tx->bytes)) {
        unsigned mark = shm_ring_lay(l->w, tx->payload, tx->bytes);
        if (wio_shm_writer_warm(shm_of(l), l->w, mark, tx->bytes))
            return begin_in_ring(l, tx, mark);
        if (!leave_for_want(l))
            return NO_ROOM;
    }
    if (!fits_whole(l, tx))
        return begin_in_inbox(l, tx);
    enum shm_kind kind = (tx->flags & WIO_TX_SMALL) != 0 ? SHM_PASSING : SHM_MESSAGE;
    bool in = l->out_ring ? shm_ring_put(l->w, kind, tx->msg, tx->payload, tx->bytes)
                          : inbox_put(l, shm_info(SHM_MESSAGE, SHM_INLINE, tx->bytes), tx->msg,
                                      tx->payload, tx->bytes);
    shm_of(l)->base.p.counters->tx_bytes += in ? WIO_HDR_BYTES + tx->bytes : 0;
    return in ? COMPLETE : NO_ROOM;
}

/* More of a begun message, at most @p most bytes. @return bytes written */
static size_t stream(struct shm_link *l, struct wio_tx *tx, size_t most)
{
    const uint8_t *src = tx->payload;
    size_t done = 0, left = tx->bytes - tx->sent;
    if (most > left)
        most = left;
    if (l->out_ring) {
        done = wio_shm_ring_stream(l->w, src + tx->sent, most);
    } else {
        uint32_t room = shm_cell_room(&l->peer);
        while (done < most && inbox_half_free(&l->peer)) {
            uint32_t n = most - done < room ? (uint32_t)(most - done) : room;
            if (!inbox_put(l, shm_info(SHM_REST, SHM_INLINE, n), NULL, src + tx->sent + done, n))
                break;
            done += n;
        }
    }
    tx->sent += (uint32_t)done;
    shm_of(l)->base.p.counters->tx_bytes += done;
    return done;
}

/* ---- promotion ---- */

#define SHM_PROMOTE_BYTES (128u << 10) /* or cfg->shm_promote messages */

static void consider_ring(struct shm_link *l)
{
    struct shm_iface *f = shm_of(l);
    const struct wio_config *cfg = f->base.p.cfg;
    if (l->asked || l->ring_done || l->w != NULL || l->state != SHM_READY ||
        f->rings_out >= (uint32_t)cfg->shm_rings)
        return;
    if (l->tx_count < (uint64_t)cfg->shm_promote && l->tx_bytes < SHM_PROMOTE_BYTES)
        return;
    if (l->declined && wio_os_now_ns() - l->asked_ns < 1000000000LL)
        return;
    l->declined = false;
    l->tx_count = 0;
    wio_shm_offer(l);
}

/* Between two messages: announce in the inbox that the ring is used from here on. */
static void enter_ring(struct shm_link *l)
{
    static const uint8_t nothing[WIO_MSG_BYTES];
    if (inbox_put(l, shm_info(SHM_SWITCH, SHM_INLINE, 0), nothing, NULL, 0))
        l->out_ring = true;
}

static bool ring_agreed(const struct shm_link *l)
{
    return l->w != NULL && !l->out_ring && !l->asked && !l->ring_done;
}

void wio_shm_tx_switch(struct shm_link *l)
{
    if (l->cur == NULL && l->state < SHM_HALF)
        enter_ring(l); /* else the next message does it */
}

/* ---- sending ---- */

static void count(struct shm_link *l, uint32_t bytes)
{
    l->tx_count++;
    l->run++;
    l->tx_bytes += bytes;
    if (!l->out_ring)
        consider_ring(l);
}

void wio_shm_tx_wake(struct shm_link *l)
{
    if (!l->pending) {
        l->pending = true;
        wio_list_push(&shm_of(l)->blocked, &l->onode);
    }
}

static int enqueue(struct shm_link *l, struct wio_tx *tx)
{
    bool small = (tx->flags & WIO_TX_SMALL) != 0;
    wio_list_push(small ? &l->small : &l->bulk_q, &tx->node);
    l->queued += tx->bytes + WIO_HDR_BYTES;
    if (l->state >= SHM_READY)
        wio_shm_tx_wake(l);
    return WIO_TX_QUEUED;
}

/* Nothing is queued. */
static int send_now(struct shm_link *l, struct wio_tx *tx)
{
    if (WIO_UNLIKELY(ring_agreed(l)))
        enter_ring(l);
    enum progress_of_one p = begin(l, tx);
    if (p == NO_ROOM) {
        shm_notify(l); /* full, but its reader sleeps: a peer has damaged the inbox */
        return enqueue(l, tx);
    }
    if (p == BEGUN && tx->sent < tx->bytes)
        (void)stream(l, tx, SHM_STREAM_ROUND);
    shm_notify(l);
    count(l, tx->bytes);
    if (p == COMPLETE || tx->sent == tx->bytes)
        return WIO_TX_DONE;
    l->cur = tx;
    l->queued += tx->bytes - tx->sent;
    wio_shm_tx_wake(l);
    return WIO_TX_QUEUED;
}

int wio_shm_send(struct wio_ep *ep, struct wio_tx *tx)
{
    struct shm_link *l = shm_link_of(ep);
    bool idle = l->cur == NULL && wio_list_empty(&l->small) && wio_list_empty(&l->bulk_q);
    if (WIO_LIKELY(l->state == SHM_READY && idle))
        return send_now(l, tx);
    if (ep->state >= WIO_EP_CLOSING)
        return l->state == SHM_OVER && l->err < 0 ? l->err : WAITIO_ERR_BUSY;
    /* A small message may overtake a streamed one, never another small one. */
    bool beside = l->cur != NULL || !l->out_ring;
    if (l->state == SHM_READY && (tx->flags & WIO_TX_SMALL) != 0 && wio_list_empty(&l->small) &&
        beside && fits_whole(l, tx) && begin(l, tx) == COMPLETE) {
        shm_notify(l);
        return WIO_TX_DONE;
    }
    return enqueue(l, tx);
}

/* The next slot with the payload of a message that is complete. @return NULL: not now, or in pieces
 */
static struct shm_slot *fill(struct shm_link *l, const void *payload, uint32_t bytes)
{
    struct shm_writer *w = l->w;
    if (goes_mid(l, bytes))
        return shm_ring_fill(w, SHM_PASSING, payload, bytes);
    if (!shm_ring_suits_whole(w, bytes, l->run > 0))
        return NULL;
    unsigned mark = shm_ring_lay(w, payload, bytes);
    uint64_t at = shm_bulk_at(&w->ring, w->bulk_tail, mark);
    if (wio_shm_ring_ahead(&w->ring, w->warm, at, bytes) != w->warm)
        return NULL; /* its pages come first */
    w->bulk_used = true;
    return wio_shm_ring_fill_bulk(w, payload, bytes, mark);
}

bool wio_shm_put(struct wio_ep *ep, const struct wio_msg *msg, const void *payload, uint32_t bytes)
{
    struct shm_link *l = shm_link_of(ep);
    struct shm_slot *s;
    if (l->state != SHM_READY || !l->out_ring || !wio_shm_tx_idle(l) ||
        (s = fill(l, payload, bytes)) == NULL)
        return false;
    wio_msg_encode(msg, s->msg); /* straight into shared memory */
    publish(l, s, bytes);
    shm_notify(l);
    count(l, bytes);
    return true;
}

size_t wio_shm_queued(const struct wio_ep *ep)
{
    return ((const struct shm_link *)(const void *)ep)->queued;
}

bool wio_shm_tx_idle(const struct shm_link *l)
{
    return l->cur == NULL && wio_list_empty(&l->small) && wio_list_empty(&l->bulk_q);
}

/* ---- what was queued ---- */

static void finished(struct shm_link *l, struct wio_tx *tx)
{
    wio_list_push(&shm_of(l)->done, &tx->node);
}

/* The next message to begin: small ones first; beside a stream only small ones that fit whole. */
static struct wio_list *next_queued(const struct shm_link *l)
{
    struct wio_list *n = wio_list_first(&l->small);
    if (l->cur == NULL)
        return n != NULL ? n : wio_list_first(&l->bulk_q);
    return n != NULL && fits_whole(l, WIO_CONTAINER(n, struct wio_tx, node)) ? n : NULL;
}

/* @return bytes and headers written, 0: no room or nothing there */
static size_t run_once(struct shm_link *l)
{
    size_t did = 0;
    if (l->cur == NULL && ring_agreed(l))
        enter_ring(l);
    struct wio_list *n = next_queued(l);
    if (n != NULL) {
        struct wio_tx *tx = WIO_CONTAINER(n, struct wio_tx, node);
        enum progress_of_one p = begin(l, tx);
        if (p != NO_ROOM) {
            wio_list_remove(n);
            l->queued -= WIO_HDR_BYTES + (p == COMPLETE ? tx->bytes : tx->sent);
            count(l, tx->bytes);
            did += WIO_HDR_BYTES + (p == COMPLETE ? tx->bytes : tx->sent);
            if (p == COMPLETE)
                finished(l, tx);
            else
                l->cur = tx;
        }
    }
    if (l->cur != NULL) {
        struct wio_tx *tx = l->cur;
        size_t w = stream(l, tx, SHM_STREAM_ROUND);
        did += w;
        l->queued -= w;
        if (tx->sent == tx->bytes) {
            l->cur = NULL;
            finished(l, tx);
        }
    }
    return did;
}

/* Our goodbye, after everything else. */
static void say_bye(struct shm_link *l)
{
    uint8_t msg[WIO_MSG_BYTES] = {l->bye_reason};
    bool in = l->out_ring ? shm_ring_put(l->w, SHM_BYE, msg, NULL, 0)
                          : inbox_put(l, shm_info(SHM_BYE, SHM_INLINE, 0), msg, NULL, 0);
    if (!in)
        return;
    l->bye_sent = true;
    shm_notify(l);
    wio_shm_set_state(l, SHM_HALF);
}

/* In the list of links with something to write, or not. */
static void settle(struct shm_link *l)
{
    bool writing = l->state == SHM_READY || l->state == SHM_DRAIN;
    if (l->out_len > 0 || (writing && (!wio_shm_tx_idle(l) || (l->bye_wanted && !l->bye_sent)))) {
        wio_shm_tx_wake(l);
    } else if (l->pending) {
        l->pending = false;
        wio_list_remove(&l->onode);
    }
}

int wio_shm_tx_run(struct shm_link *l)
{
    int events = 0;
    size_t total = 0, n;
    if (l->out_len > 0)
        wio_shm_say_rest(l);
    if (l->state < SHM_READY || l->state > SHM_DRAIN) {
        settle(l);
        return 0;
    }
    while (total < SHM_STREAM_ROUND && (n = run_once(l)) > 0) {
        total += n;
        events++;
    }
    if (total > 0)
        shm_notify(l);
    if (wio_shm_tx_idle(l) && l->bye_wanted && !l->bye_sent)
        say_bye(l);
    settle(l);
    if (l->bye_sent) {
        events++;
        wio_shm_maybe_over(l);
    }
    return events;
}

/* ---- before sleeping ---- */

void wio_shm_tx_want(struct shm_link *l)
{
    if (l->peer.head == NULL)
        return;
    bool streams = l->cur != NULL && next_queued(l) == NULL;
    if (l->out_ring)
        atomic_store_explicit(&l->w->ring.ctl->want, streams ? SHM_WANT_HALF : SHM_WANT_ANY,
                              memory_order_relaxed);
    else /* not a store: whoever takes it back sees all who have wanted, and that they sleep */
        (void)atomic_exchange_explicit(&l->peer.head->wanted, 1, memory_order_release);
}

static bool inbox_blocked(const struct shm_link *l, bool header, uint32_t bytes)
{
    bool half = inbox_half_free(&l->peer), some = inbox_has_room(&l->peer);
    if (l->cur != NULL) /* the stream goes on, or a small one passes it */
        return !half && !(header && some);
    return bytes > shm_cell_room(&l->peer) ? !half : !some;
}

static bool ring_blocked(struct shm_link *l, bool header, uint32_t bytes)
{
    struct shm_writer *w = l->w;
    if (l->cur != NULL) {
        shm_refresh(&w->bulk_head, &w->ring.ctl->bulk_head, w->bulk_tail);
        if (w->bulk_tail - w->bulk_head < w->ring.geo.bulk)
            return false;
    }
    if (!header || !shm_slot_room(w))
        return true;
    return bytes > SHM_SLOT_INLINE && goes_mid(l, bytes) && !shm_mid_room(w, SHM_ROUND(bytes));
}

bool wio_shm_tx_blocked(struct shm_link *l)
{
    if (l->out_len > 0 && wio_os_fault != NULL)
        return false; /* an injected EAGAIN ends by itself */
    if (l->state < SHM_READY || l->state > SHM_DRAIN)
        return true;
    struct wio_list *n = next_queued(l);
    uint32_t bytes = n != NULL ? WIO_CONTAINER(n, struct wio_tx, node)->bytes : 0;
    bool header = n != NULL || (l->bye_wanted && l->cur == NULL); /* one is to be written */
    return l->out_ring ? ring_blocked(l, header, bytes) : inbox_blocked(l, header, bytes);
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

void wio_shm_tx_fail_all(struct shm_link *l, int err)
{
    struct wio_tx *cur = l->cur;
    l->cur = NULL;
    l->queued = 0;
    if (cur != NULL)
        cur->done(cur, err);
    fail_list(&l->small, err);
    fail_list(&l->bulk_q, err);
}

void wio_shm_last_words(struct shm_link *l, enum wio_bye_reason reason)
{
    if (l->state < SHM_READY || l->state > SHM_DRAIN || l->bye_sent)
        return;
    l->bye_reason = (uint8_t)reason;
    uint8_t msg[WIO_MSG_BYTES] = {(uint8_t)reason};
    if (l->out_ring)
        (void)shm_ring_put(l->w, SHM_BYE, msg, NULL, 0);
    else
        (void)inbox_put(l, shm_info(SHM_BYE, SHM_INLINE, 0), msg, NULL, 0);
    shm_notify(l);
}
