/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file rx.c
 * The receiving half. Headers are copied out of shared memory before they are checked; a payload is
 * copied from there directly to its destination.
 */
#include "transport/shm/shm.h"

#define RX_AHEAD 4

enum took { NOT_NOW = 0, TAKEN = 1, OVER = -1 };

/* A header, copied to own memory. */
struct header {
    uint32_t kind, where, len;
    uint8_t msg[WIO_MSG_BYTES];
};

/* Loaded exactly once: the checked value must be the one that is used. */
static void read_header(struct header *h, const volatile uint32_t *word, const uint8_t *msg)
{
    uint32_t info = *word;
    h->kind = shm_kind(info);
    h->where = shm_where(info);
    h->len = shm_len(info);
    memcpy(h->msg, msg, WIO_MSG_BYTES);
}

static enum took bad(struct shm_link *l, const char *what)
{
    wio_shm_violation(l, what);
    return OVER;
}

/* p2p's answer to a header. */
static enum took offer(struct shm_link *l, const struct header *h, struct wio_sink *sink)
{
    struct shm_iface *f = shm_of(l);
    sink->buf = NULL;
    sink->len = 0;
    sink->cookie = NULL;
    sink->whole = sink != &l->sink; /* that one is for what is streamed */
    int rc = f->base.p.up->on_message(f->base.p.user, &l->ep, l->ep.peer, h->msg, h->len, sink);
    if (WIO_LIKELY(rc == 0))
        return TAKEN;
    if (rc > 0) {
        f->stop = true;
        return NOT_NOW;
    }
    char why[256];
    wio_text(why, sizeof why, "%s", wio_last_error());
    wio_shm_last_words(l, wio_bye_for(rc));
    wio_shm_link_over(l, rc, "%s", why);
    return OVER;
}

static void delivered(struct shm_link *l, struct wio_sink *sink)
{
    struct shm_iface *f = shm_of(l);
    f->base.p.counters->rx_bytes += WIO_HDR_BYTES;
    if (f->base.p.up->on_payload(f->base.p.user, &l->ep, l->ep.peer, sink) != 0)
        f->stop = true;
}

static size_t keep_of(const struct shm_link *l, size_t n)
{
    size_t fits = l->rx_pos < l->sink.len ? l->sink.len - l->rx_pos : 0;
    return fits < n ? fits : n;
}

/* Bytes of the streamed message arrived (and were copied). */
static void advance(struct shm_link *l, size_t n)
{
    l->rx_pos += (uint32_t)n;
    l->rx_left -= (uint32_t)n;
    shm_of(l)->base.p.counters->rx_bytes += n;
    if (l->rx_left == 0) {
        l->body = false;
        delivered(l, &l->sink);
    }
}

static void start_body(struct shm_link *l, uint32_t len)
{
    l->body = true;
    l->rx_left = len;
    l->rx_pos = 0;
}

/* ---- goodbye ---- */

static enum took goodbye(struct shm_link *l, uint8_t reason)
{
    char name[64];
    if (reason < WIO_BYE_CAP || reason > WIO_BYE_NOMEM)
        return bad(l, "a goodbye without a reason");
    if (wio_bye_is_final(reason)) {
        l->bye_reason = reason;
        wio_shm_link_over(l, WAITIO_ERR_PEER, "%s %s",
                          wio_shm_peer_name(shm_of(l), l->ep.peer, name, sizeof name),
                          wio_bye_deed(reason));
        return OVER;
    }
    if (l->body)
        return bad(l, "a goodbye in the middle of a message");
    l->bye_heard = true;
    if (reason > l->bye_reason)
        l->bye_reason = reason;
    if (l->state == SHM_READY) {
        l->bye_wanted = true;
        wio_shm_set_state(l, SHM_DRAIN);
    }
    if (l->bye_sent)
        wio_shm_maybe_over(l);
    else
        (void)wio_shm_tx_run(l);
    return l->state == SHM_OVER ? OVER : TAKEN;
}

/* ---- the ring ---- */

/* The writer may sleep until there is room: wake it. */
static void wake_writer(struct shm_link *l)
{
    struct shm_reader *r = l->r;
    shm_light_fence(l);
    uint32_t want = atomic_load_explicit(&r->ring.ctl->want, memory_order_relaxed);
    if (WIO_LIKELY(want == 0))
        return;
    if (want == SHM_WANT_HALF) {
        uint64_t tail = atomic_load_explicit(&r->ring.ctl->bulk_tail, memory_order_relaxed);
        if (tail - r->bulk_told > r->ring.geo.bulk / 2)
            return; /* we come here again */
    }
    /* Not a store, which could reach memory late and undo the next wish. */
    (void)atomic_exchange_explicit(&r->ring.ctl->want, 0, memory_order_relaxed);
    if (l->peer.head != NULL)
        wio_shm_bell(l);
}

/* Copy streamed bytes, at most @p most. @return bytes, < 0: the link is over */
static int64_t drain(struct shm_link *l, size_t most)
{
    struct shm_reader *r = l->r;
    int64_t got = 0;
    bool room = false;
    while (l->body && (size_t)got < most && !shm_of(l)->stop) {
        int64_t n = shm_ring_streamed(r);
        if (n < 0)
            return bad(l, "an impossible position in its ring");
        if (n == 0)
            break;
        if (n > (int64_t)l->rx_left)
            n = l->rx_left;
        if (n > (int64_t)SHM_PUBLISH)
            n = SHM_PUBLISH;
        size_t keep = keep_of(l, (size_t)n);
        room |= wio_shm_ring_drain(r, keep > 0 ? (uint8_t *)l->sink.buf + l->rx_pos : NULL, keep,
                                   (size_t)n, n == (int64_t)l->rx_left);
        got += n;
        advance(l, (size_t)n);
    }
    if (room)
        wake_writer(l);
    return got;
}

static enum took begin_stream(struct shm_link *l, const struct header *h, unsigned mark)
{
    bool fresh = (mark & SHM_FRESH) != 0;
    if (h->len == 0 || h->len > WIO_PAYLOAD_MAX)
        return bad(l, "a stream of an impossible length");
    if (!shm_mark_ok(mark))
        return bad(l, "an impossible position in its ring");
    enum took t = offer(l, h, &l->sink);
    if (t != TAKEN)
        return t;
    start_body(l, h->len);
    shm_ring_take(l->r, 0);
    shm_ring_follow(l->r, mark, l->sink.buf);
    wio_shm_reader_warm(l->r, fresh, l->r->bulk_head, h->len);
    return TAKEN;
}

/* p2p copies the message itself if that is all there is to do. */
static enum wio_whole take_whole(struct shm_link *l, const struct header *h, const uint8_t *data)
{
    struct shm_iface *f = shm_of(l);
    const struct wio_upcalls *up = f->base.p.up;
    if (up->on_whole == NULL)
        return WIO_WHOLE_LEFT;
    enum wio_whole w = up->on_whole(f->base.p.user, &l->ep, h->msg, data, h->len);
    if (w == WIO_WHOLE_TAKEN || w == WIO_WHOLE_STOP)
        f->base.p.counters->rx_bytes += WIO_HDR_BYTES + h->len;
    if (w == WIO_WHOLE_STOP)
        f->stop = true;
    return w;
}

/* Where a message lies that is there as a whole: in a byte ring, or (ring NULL) in its slot. */
struct place {
    const uint8_t *ring, *data; /* data NULL: in two pieces */
    uint32_t size;
    uint64_t at;
    unsigned mark;
};

/* @return false: no place has so many bytes */
static bool find_payload(struct shm_link *l, const struct header *h, const uint8_t *inline_data,
                         struct place *p)
{
    struct shm_reader *r = l->r;
    *p = (struct place){.data = inline_data};
    if (h->where == SHM_INLINE)
        return h->len <= SHM_SLOT_INLINE;
    if (h->where == SHM_MID) {
        *p = (struct place){.ring = r->ring.mid, .size = r->ring.geo.mid, .at = r->mid_head};
        if (h->len > shm_mid_max(&r->ring))
            return false;
    } else {
        *p = (struct place){.ring = r->ring.bulk,
                            .size = r->ring.geo.bulk,
                            .mark = *(const volatile uint8_t *)inline_data};
        p->at = shm_bulk_at(&r->ring, r->bulk_head, p->mark);
        if (!shm_mark_ok(p->mark) || h->len > SHM_WHOLE_MAX || h->len > p->size)
            return false;
        wio_shm_reader_warm(r, (p->mark & SHM_FRESH) != 0, p->at, h->len);
    }
    p->data = shm_ring_piece(p->ring, p->size, p->at, h->len);
    return true;
}

static void take_slot(struct shm_reader *r, const struct header *h, const struct place *p)
{
    shm_ring_take(r, h->where == SHM_MID ? h->len : 0);
    if (h->where == SHM_WHOLE)
        r->bulk_head = p->at + h->len;
}

/* A message that is there as a whole. */
static enum took whole_slot(struct shm_link *l, const struct header *h, const uint8_t *inline_data)
{
    struct wio_sink sink;
    struct place p;
    if (!find_payload(l, h, inline_data, &p))
        return bad(l, "a payload longer than its place");
    enum wio_whole w = p.data != NULL ? take_whole(l, h, p.data) : WIO_WHOLE_LEFT;
    if (w == WIO_WHOLE_LATER)
        return NOT_NOW;
    if (w != WIO_WHOLE_LEFT) {
        take_slot(l->r, h, &p);
        return TAKEN;
    }
    enum took t = offer(l, h, &sink);
    if (WIO_UNLIKELY(t != TAKEN))
        return t;
    size_t keep = h->len < sink.len ? h->len : sink.len;
    if (p.ring == NULL)
        shm_copy_small(sink.buf, inline_data, keep);
    else if (keep > 0)
        wio_shm_copy_out(p.ring, p.size, p.at, sink.buf, keep);
    if (h->where == SHM_WHOLE)
        shm_ring_follow(l->r, p.mark, sink.buf);
    take_slot(l->r, h, &p);
    shm_of(l)->base.p.counters->rx_bytes += h->len;
    delivered(l, &sink);
    return TAKEN;
}

/* The peer writes to the inbox again; the ring is empty. */
static enum took leave_ring(struct shm_link *l)
{
    struct shm_iface *f = shm_of(l);
    l->in_ring = false;
    wio_list_remove(&l->rnode);
    wio_shm_reader_free(f, l->r);
    l->r = NULL;
    wio_shm_say(l, SHM_R_RING_END);
    return TAKEN;
}

static enum took one_slot(struct shm_link *l, const struct shm_slot *s)
{
    struct header h;
    read_header(&h, &s->info, s->msg);
    bool may_pass = h.where == SHM_INLINE || h.where == SHM_MID;
    if (WIO_LIKELY(h.kind == SHM_PASSING && may_pass))
        return whole_slot(l, &h, s->data);
    /* All other headers follow the stream, which is complete. */
    if (l->body && drain(l, SIZE_MAX) < 0)
        return OVER;
    if (shm_of(l)->stop)
        return NOT_NOW;
    if (l->body && h.kind != SHM_BYE)
        return bad(l, "a stream that does not end");
    if (h.kind == SHM_MESSAGE)
        return h.where == SHM_STREAM  ? begin_stream(l, &h, s->data[0])
               : h.where <= SHM_WHOLE ? whole_slot(l, &h, s->data)
                                      : bad(l, "an unknown place");
    if (h.kind != SHM_BYE && h.kind != SHM_SWITCH)
        return bad(l, "an unknown kind of slot");
    shm_ring_take(l->r, 0);
    return h.kind == SHM_BYE ? goodbye(l, h.msg[0]) : leave_ring(l);
}

void wio_shm_rx_tell(struct shm_link *l)
{
    if (shm_ring_tell(l->r))
        wake_writer(l);
}

int wio_shm_rx_ring(struct shm_link *l)
{
    struct shm_iface *f = shm_of(l);
    int events = 0;
    while (events < SHM_RX_BUDGET && !f->stop && !l->bye_heard) {
        const struct shm_slot *s = shm_ring_peek(l->r);
        if (s == NULL)
            break;
        enum took t = one_slot(l, s);
        if (t == NOT_NOW)
            break;
        events++;
        if (t == OVER || !l->in_ring)
            return events;
        if (shm_ring_owes(l->r))
            wio_shm_rx_tell(l);
        if (events > 1) /* a burst: the writer is ahead, so its lines can be prefetched */
            __builtin_prefetch(
                &l->r->ring.slot[(l->r->slot_head + RX_AHEAD) & (l->r->ring.geo.slots - 1)], 0);
    }
    if (l->body) {
        int64_t n = drain(l, SHM_STREAM_ROUND);
        if (n < 0)
            return events + 1;
        events += n > 0;
    }
    if (events == 0 || shm_ring_owes(l->r))
        wio_shm_rx_tell(l);
    if (events > 0) {
        l->heard = true;
        l->run = 0;
    }
    return events;
}

bool wio_shm_rx_ring_ready(struct shm_link *l)
{
    if (l->r == NULL || l->bye_heard)
        return false;
    return shm_ring_peek(l->r) != NULL || (l->body && shm_ring_streamed(l->r) != 0);
}

/* ---- the inbox ---- */

static enum took whole_cell(struct shm_link *l, const struct header *h, const uint8_t *data)
{
    struct wio_sink sink;
    enum took t = offer(l, h, &sink);
    if (t != TAKEN)
        return t;
    shm_copy_small(sink.buf, data, h->len < sink.len ? h->len : sink.len);
    shm_of(l)->base.p.counters->rx_bytes += h->len;
    delivered(l, &sink);
    return TAKEN;
}

static enum took streamed_cell(struct shm_link *l, const struct header *h, const uint8_t *data,
                               uint32_t room)
{
    if (l->body || h->len <= room || h->len > WIO_PAYLOAD_MAX)
        return bad(l, l->body ? "a stream inside another" : "a stream of an impossible length");
    enum took t = offer(l, h, &l->sink);
    if (t != TAKEN)
        return t;
    start_body(l, h->len);
    shm_copy_small(l->sink.buf, data, keep_of(l, room));
    advance(l, room);
    return TAKEN;
}

static enum took rest_cell(struct shm_link *l, uint32_t n, const uint8_t *data)
{
    if (!l->body || n > l->rx_left || n == 0)
        return bad(l, "the rest of no message");
    size_t keep = keep_of(l, n);
    if (keep > 0)
        wio_os_copy((uint8_t *)l->sink.buf + l->rx_pos, data, keep);
    advance(l, n);
    return TAKEN;
}

static enum took enter_ring(struct shm_link *l)
{
    if (l->r == NULL || l->in_ring)
        return bad(l, "a change to a ring that was not agreed");
    l->in_ring = true;
    wio_list_push(&shm_of(l)->readers, &l->rnode);
    return TAKEN;
}

static enum took one_cell(struct shm_link *l, const struct shm_cell *c, uint32_t room)
{
    struct header h;
    read_header(&h, &c->info, c->msg);
    if (h.kind == SHM_MESSAGE && h.where == SHM_STREAM)
        return streamed_cell(l, &h, c->data, room);
    if (h.where != SHM_INLINE || h.len > room)
        return bad(l, "a cell with an impossible length");
    switch (h.kind) {
    case SHM_MESSAGE:
        return whole_cell(l, &h, c->data);
    case SHM_REST:
        return rest_cell(l, h.len, c->data);
    case SHM_BYE:
        return goodbye(l, h.msg[0]);
    case SHM_SWITCH:
        return enter_ring(l);
    default:
        return bad(l, "an unknown kind of cell");
    }
}

static struct shm_link *sender(const struct shm_iface *f, uint64_t word)
{
    uint32_t owner = shm_word_owner(word), slot = shm_owner_slot(owner);
    struct shm_link *l = slot < f->nowners ? f->owner[slot] : NULL;
    return l != NULL && l->owner_in == owner ? l : NULL;
}

/* Skip a cell without a valid owner. @return false: its owner is still writing */
static bool unfinished(struct shm_iface *f, uint64_t word)
{
    const struct shm_link *l = sender(f, word);
    bool writing = shm_word_pos(word) == f->inbox_pos && shm_word_state(word) == SHM_CLAIMED;
    return writing && l != NULL && !l->eof;
}

/* The sender's earlier messages come first: its setup on the socket, and those in its ring, of
 * which p2p may leave one for the next round (WIO_WHOLE_LATER). @return false: not now */
static bool catch_up(struct shm_link *l)
{
    struct shm_iface *f = shm_of(l);
    if (l->state == SHM_SETUP) {
        (void)wio_shm_records(l);
        wio_shm_dispatch(f);
        if (l->state < SHM_READY) {
            if (wio_os_fault != NULL)
                return false; /* a made-up EAGAIN */
            wio_shm_violation(l, "a message before the link was set up");
            return true;
        }
    }
    while (l->in_ring && !f->stop && l->state != SHM_OVER && wio_shm_rx_ring(l) > 0) {
    }
    if (l->in_ring && !f->stop && l->state != SHM_OVER) {
        if (wio_shm_rx_ring_ready(l))
            return false;
        wio_shm_violation(l, "a message in the inbox while it uses its ring");
    }
    return !f->stop;
}

/* @return NOT_NOW: the cell stays */
static enum took head_cell(struct shm_iface *f, struct shm_cell *c, uint64_t word)
{
    bool full = shm_word_pos(word) == f->inbox_pos && shm_word_state(word) == SHM_FULL;
    struct shm_link *l = sender(f, word);
    if (!full || l == NULL) { /* from a dead process, or from a link that has ended */
        wio_debug(f->base.p.log, WIO_C_SHM, "a cell of the inbox is passed over (%016llx)",
                  (unsigned long long)word);
        return TAKEN;
    }
    if (!catch_up(l))
        return NOT_NOW;
    if (l->state == SHM_OVER || l->bye_heard)
        return TAKEN;
    l->heard = true;
    return one_cell(l, c, shm_cell_room(&f->inbox));
}

static void wake_senders(struct shm_iface *f)
{
    if (f->fences) /* a sleeper without membarrier may be among them */
        atomic_thread_fence(memory_order_seq_cst);
    else
        atomic_signal_fence(memory_order_seq_cst);
    if (atomic_load_explicit(&f->inbox.head->wanted, memory_order_relaxed) == 0)
        return;
    /* Clears only what it has read, never a later wish. */
    (void)atomic_exchange_explicit(&f->inbox.head->wanted, 0, memory_order_acquire);
    struct wio_list *both[] = {&f->ready, &f->closing};
    for (int i = 0; i < 2; i++)
        WIO_LIST_FOR(it, both[i])
        {
            struct shm_link *l = WIO_CONTAINER(it, struct shm_link, group);
            if (!l->eof && l->peer.head != NULL &&
                atomic_load_explicit(&l->peer.head->sleeping, memory_order_relaxed) != 0)
                wio_shm_bell(l);
        }
}

int wio_shm_rx_inbox(struct shm_iface *f)
{
    int events = 0;
    if (f->inbox.head == NULL)
        return 0;
    while (events < SHM_RX_BUDGET && !f->stop) {
        struct shm_cell *c = shm_inbox_cell(&f->inbox, f->inbox_pos);
        uint64_t word = atomic_load_explicit(&c->word, memory_order_acquire);
        if (word == shm_word(f->inbox_pos, 0, SHM_FREE) || unfinished(f, word))
            break;
        if (head_cell(f, c, word) == NOT_NOW)
            break;
        shm_inbox_free(&f->inbox, c, f->inbox_pos);
        f->inbox_pos++;
        events++;
    }
    if (events > 0)
        wake_senders(f);
    return events;
}

/* Any peer can write the tail hint. If it points at a cell that was not claimed, later writers
 * would find no room, or leave a gap that stays empty. */
void wio_shm_rx_mend(struct shm_iface *f)
{
    struct shm_inbox *b = &f->inbox;
    if (b->head == NULL)
        return;
    uint32_t tail = atomic_load_explicit(&b->head->tail, memory_order_relaxed);
    int32_t ahead = (int32_t)(tail - f->inbox_pos);
    struct shm_cell *c = shm_inbox_cell(b, f->inbox_pos);
    uint64_t none = shm_word(f->inbox_pos, 0, SHM_FREE);
    if (ahead == 0 || atomic_load_explicit(&c->word, memory_order_acquire) != none)
        return;
    if (ahead < 0 || (uint32_t)ahead > b->geo.cells)
        (void)atomic_compare_exchange_strong_explicit(&b->head->tail, &tail, f->inbox_pos,
                                                      memory_order_relaxed, memory_order_relaxed);
    for (uint32_t pos; ahead > 0 && (uint32_t)ahead <= b->geo.cells; ahead--) {
        pos = f->inbox_pos;
        none = shm_word(pos, 0, SHM_FREE);
        if (!atomic_compare_exchange_strong_explicit(&shm_inbox_cell(b, pos)->word, &none,
                                                     shm_word(pos + b->geo.cells, 0, SHM_FREE),
                                                     memory_order_acq_rel, memory_order_relaxed))
            break; /* somebody has claimed it */
        f->inbox_pos++;
    }
    wake_senders(f);
}

bool wio_shm_rx_inbox_ready(const struct shm_iface *f)
{
    if (f->inbox.head == NULL)
        return false;
    const struct shm_cell *c = shm_inbox_cell(&f->inbox, f->inbox_pos);
    uint64_t word = atomic_load_explicit(&c->word, memory_order_acquire);
    return word != shm_word(f->inbox_pos, 0, SHM_FREE) &&
           !(shm_word_pos(word) == f->inbox_pos && shm_word_state(word) == SHM_CLAIMED);
}
