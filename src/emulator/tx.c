/* SPDX-License-Identifier: BSD-3-Clause */
/** @file tx.c  Sending. */
#include "emulator/emulator.h"

static struct emu_slot *slot_get(struct waitio_iface *f)
{
    struct emu_list *n = emu_list_pop(&f->slots_free);
    return n != NULL ? EMU_OF(n, struct emu_slot, node) : f->host->alloc(sizeof(struct emu_slot));
}

/* Hand a frame to MPI. It is mostly over at once. */
static int slot_send(struct waitio_iface *f, struct emu_slot *s, size_t bytes, int rank, int tag)
{
    int done = 0;
    if (f->solo) { /* all have one rank of MPI's */
        memcpy((uint8_t *)&s->frame + offsetof(struct emu_frame, head) + bytes, &f->me,
               sizeof f->me);
        bytes += sizeof f->me;
    }
    int rc = PMPI_Isend(&s->frame.head, (int)bytes, MPI_BYTE, rank, tag, f->comm, &s->req);
    if (rc == MPI_SUCCESS)
        rc = PMPI_Test(&s->req, &done, MPI_STATUS_IGNORE);
    if (rc != MPI_SUCCESS) {
        emu_list_push(&f->slots_free, &s->node);
        return emu_mpi_error(f, WAITIO_ERR_PEER, rc, "MPI_Isend");
    }
    emu_list_push_front(done ? &f->slots_free : &f->slots, &s->node);
    return 0;
}

int emu_slots_done(struct waitio_iface *f)
{
    int events = 0;
    for (struct emu_list *n = f->slots.next, *next; n != &f->slots; n = next) {
        struct emu_slot *s = EMU_OF(n, struct emu_slot, node);
        int done = 0;
        next = n->next;
        if (PMPI_Test(&s->req, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
            continue;
        emu_list_remove(n);
        emu_list_push_front(&f->slots_free, n);
        events++;
    }
    return events;
}

/* ---- messages ---- */

static int no_memory(struct waitio_iface *f, uint32_t bytes)
{
    return f->host->fail(WAITIO_ERR_NOMEM, "no memory for a message of %u bytes to MPI", bytes);
}

/* The words of the header that the receiver cannot foresee. @return where the payload begins */
static uint8_t *put_header(struct emu_link *l, struct emu_frame *fr, const void *header)
{
    const uint8_t *from = header;
    uint8_t *to = fr->body;
    for (int i = 0; i < EMU_WORDS; i++, from += 8) {
        uint64_t word;
        memcpy(&word, from, 8);
        bool foreseen = word == l->last_out[i] + l->step_out[i];
        l->step_out[i] = word - l->last_out[i];
        l->last_out[i] = word;
        if (foreseen)
            continue;
        fr->head.words |= (uint8_t)(1u << i);
        memcpy(to, &word, 8);
        to += 8;
    }
    return to;
}

static uint8_t *put_inside(struct emu_frame *fr, uint8_t *to, const void *payload, uint32_t bytes)
{
    if (bytes < EMU_NOTE_MOST)
        emu_note(&fr->head, bytes + 1);
    if (bytes == 8)
        memcpy(to, payload, 8);
    else if (bytes > 0)
        memcpy(to, payload, bytes);
    return to + bytes;
}

/* Of a payload that is an MPI message of its own. */
static uint8_t *put_length(struct emu_link *l, struct emu_frame *fr, uint8_t *to, uint32_t bytes)
{
    bool same = bytes == l->long_out;
    uint64_t word = l->long_out = bytes;
    fr->head.kind |= EMU_SEPARATE_BIT;
    if (same) {
        emu_note(&fr->head, EMU_NOTE_SAME);
        return to;
    }
    memcpy(to, &word, 8);
    return to + 8;
}

static int send_frame(struct waitio_iface *f, struct emu_link *l, const void *header,
                      const void *payload, uint32_t bytes, bool small)
{
    struct emu_slot *s = slot_get(f);
    if (s == NULL)
        return no_memory(f, bytes);
    struct emu_frame *fr = &s->frame;
    fr->head = (struct emu_head){.kind = (uint8_t)(EMU_MESSAGE | (small ? EMU_SMALL_BIT : 0))};
    uint8_t *to = put_header(l, fr, header);
    to = bytes <= EMU_INLINE ? put_inside(fr, to, payload, bytes) : put_length(l, fr, to, bytes);
    return slot_send(f, s, (size_t)(to - (uint8_t *)&fr->head), l->rank, l->tag_frame);
}

static struct emu_out *out_new(struct waitio_iface *f, uint32_t room)
{
    struct emu_out *o;
    bool spare = room > EMU_INLINE;
    struct emu_list *n = spare       ? emu_list_pop(&f->spares)
                         : room == 0 ? emu_list_pop(&f->bare_outs)
                                     : NULL;
    if (n != NULL) {
        f->nspares -= spare;
        return EMU_OF(n, struct emu_out, node);
    }
    o = f->host->alloc(sizeof *o + (spare ? (uint32_t)EMU_COPY : room));
    if (o != NULL) {
        o->spare = spare;
        o->bare = room == 0;
    }
    return o;
}

static void out_free(struct waitio_iface *f, struct emu_out *o)
{
    if (o->spare && f->nspares < EMU_SPARE_COPIES) {
        f->nspares++;
        emu_list_push_front(&f->spares, &o->node);
    } else if (o->bare) { /* never more than libwaitio has had queued at a time */
        emu_list_push_front(&f->bare_outs, &o->node);
    } else {
        f->host->free(o);
    }
}

/* libwaitio, if it waits, hears that the message has left, or never will. @param read_on MPI may
 * read the copy still: it stays */
static void out_ends(struct waitio_iface *f, struct emu_link *l, struct emu_out *o, int err,
                     bool read_on)
{
    void *token = o->token;
    if (token != NULL)
        l->queued -= o->bytes + sizeof(struct emu_head);
    if (!read_on)
        out_free(f, o);
    if (token != NULL)
        f->p->up->sent(f->p->user, token, err);
}

static void out_over(struct waitio_iface *f, struct emu_link *l, struct emu_out *o, int err)
{
    out_ends(f, l, o, err, false);
}

/* What a message needs until MPI has read it. Short ones are copied, so that their sends are over
 * for libwaitio; not where they would then wait for a call of the program's that may never come. */
static struct emu_out *out_make(struct waitio_iface *f, struct emu_link *l, const void *header,
                                const void *payload, uint32_t bytes, bool small, void *token)
{
    bool copy = bytes <= EMU_INLINE && f->any_thread;
    struct emu_out *o = out_new(f, copy ? bytes : 0);
    if (o == NULL)
        return NULL;
    o->token = copy ? NULL : token;
    o->payload = copy ? o->data : payload;
    o->bytes = bytes;
    o->small = small;
    o->req = MPI_REQUEST_NULL;
    emu_list_init(&o->node);
    memcpy(o->header, header, sizeof o->header);
    if (copy && bytes > 0)
        memcpy(o->data, payload, bytes);
    if (!copy)
        l->queued += bytes + sizeof(struct emu_head);
    return o;
}

/* Hand a payload to MPI. */
static bool fly(struct waitio_iface *f, struct emu_link *l, struct emu_out *o, enum emu_way way)
{
    int rc =
        PMPI_Isend(o->payload, (int)o->bytes, MPI_BYTE, l->rank, l->tag[way], f->comm, &o->req);
    emu_list_push(&l->flying, &o->node);
    l->nflying++;
    if (rc == MPI_SUCCESS)
        return true;
    o->req = MPI_REQUEST_NULL;
    emu_link_fail(f, l, emu_mpi_error(f, WAITIO_ERR_PEER, rc, "MPI_Isend"), f->host->last_error());
    return false;
}

/* Announce a message, and send its payload if nobody has to ask. @return false: the link fails */
static bool start(struct waitio_iface *f, struct emu_link *l, struct emu_out *o)
{
    enum emu_way way = emu_way_of(o->bytes, o->small);
    int rc = send_frame(f, l, o->header, o->payload, o->bytes, o->small);
    if (rc != 0) {
        emu_list_push_front(o->small ? &l->small : &l->bulk, &o->node);
        emu_link_fail(f, l, rc, f->host->last_error());
        return false;
    }
    if (way == EMU_INSIDE)
        out_over(f, l, o, 0);
    else if (way == EMU_ASKED)
        emu_list_push(&l->asked, &o->node);
    else
        return fly(f, l, o, way);
    return true;
}

void emu_asked(struct waitio_iface *f, struct emu_link *l)
{
    if (l->unasked > 0) { /* it has left already */
        l->unasked--;
        return;
    }
    struct emu_list *n = emu_list_pop(&l->asked);
    if (n == NULL)
        return; /* it was given back: the link ends */
    (void)fly(f, l, EMU_OF(n, struct emu_out, node), EMU_ASKED);
    emu_busy(f, l);
}

/* May a message go to MPI now, before any that is queued? */
static bool in_turn(struct waitio_iface *f, const struct emu_link *l, bool small, uint32_t bytes)
{
    if (l->base.state != WAITIO_LINK_READY || !emu_list_empty(&l->small) || !emu_may(f))
        return false;
    return small || (emu_list_empty(&l->bulk) && (bytes <= EMU_INLINE || l->nflying < EMU_FLYING));
}

int emu_put(struct waitio_link *link, const void *header, const void *payload, uint32_t bytes)
{
    struct emu_link *l = emu_link_of(link);
    struct waitio_iface *f = link->iface;
    return bytes <= EMU_INLINE && in_turn(f, l, true, bytes) &&
           send_frame(f, l, header, payload, bytes, true) == 0;
}

int emu_send(struct waitio_link *link, const void *header, const void *payload, uint32_t bytes,
             unsigned flags, void *token)
{
    struct emu_link *l = emu_link_of(link);
    struct waitio_iface *f = link->iface;
    bool small = (flags & WAITIO_TX_SMALL) != 0;
    if (link->state >= WAITIO_LINK_CLOSING)
        return f->host->fail(WAITIO_ERR_BUSY, "the link is closing");
    bool now = in_turn(f, l, small, bytes);
    if (now && bytes <= EMU_INLINE)
        return send_frame(f, l, header, payload, bytes, small);
    struct emu_out *o = out_make(f, l, header, payload, bytes, small, token);
    if (o == NULL)
        return no_memory(f, bytes);
    bool waits = o->token != NULL;
    if (now)
        (void)start(f, l, o); /* if not, the link fails, and gives it back */
    else
        emu_list_push(small ? &l->small : &l->bulk, &o->node);
    emu_busy(f, l);
    return waits ? WAITIO_TX_QUEUED : WAITIO_TX_DONE;
}

static struct emu_out *find(struct emu_list *list, const void *token)
{
    for (struct emu_list *n = list->next; n != list; n = n->next) {
        struct emu_out *o = EMU_OF(n, struct emu_out, node);
        if (o->token == token)
            return o;
    }
    return NULL;
}

/* A copy takes its place; the old one is there for the upcall only. */
static bool replace(struct waitio_iface *f, struct emu_link *l, struct emu_out *o)
{
    struct emu_out *c = out_new(f, EMU_COPY);
    if (c == NULL)
        return false;
    c->token = NULL;
    c->payload = c->data;
    c->bytes = o->bytes;
    c->small = o->small;
    c->req = MPI_REQUEST_NULL;
    memcpy(c->header, o->header, sizeof c->header);
    memcpy(c->data, o->payload, o->bytes);
    emu_list_push(&o->node, &c->node); /* before it */
    emu_list_remove(&o->node);
    emu_list_push(&l->kept, &o->node);
    emu_busy(f, l);
    return true;
}

/* No thread of libwaitio's will hear the receiver ask, and the program may wait in MPI from now on:
 * the payload leaves here. Those of one tag leave in their order, so all before it do, too. */
static bool copy_and_fly(struct waitio_iface *f, struct emu_link *l, const struct emu_out *o)
{
    for (bool last = false; !last && l->err == 0;) {
        struct emu_out *first = EMU_OF(l->asked.next, struct emu_out, node);
        last = first == o;
        if (!replace(f, l, first))
            return false;
        l->unasked++;
        if (fly(f, l, EMU_OF(emu_list_pop(&l->asked), struct emu_out, node), EMU_ASKED))
            (void)emu_say(f, l, EMU_COMES, 0); /* else it stays in MPI if the link ends badly */
    }
    return true;
}

int emu_keep(struct waitio_link *link, void *token)
{
    struct emu_link *l = emu_link_of(link);
    struct waitio_iface *f = link->iface;
    struct emu_out *o = find(&l->asked, token);
    if (!f->any_thread) /* what is queued still leaves by a call of the program's only */
        return o != NULL && emu_may(f) && copy_and_fly(f, l, o);
    if (o == NULL)
        o = find(&l->small, token);
    return o != NULL && o->bytes <= EMU_COPY && replace(f, l, o);
}

size_t emu_queued(const struct waitio_link *link)
{
    return ((const struct emu_link *)(const void *)link)->queued;
}

static int say(struct waitio_iface *f, int rank, int tag, enum emu_kind kind, int reason)
{
    struct emu_slot *s = slot_get(f);
    if (s == NULL)
        return no_memory(f, 0);
    s->frame.head = (struct emu_head){.kind = (uint8_t)kind, .words = (uint8_t)reason};
    return slot_send(f, s, sizeof s->frame.head, rank, tag);
}

int emu_say(struct waitio_iface *f, struct emu_link *l, enum emu_kind kind, int reason)
{
    return say(f, l->rank, l->tag_frame, kind, reason);
}

void emu_say_left(struct waitio_iface *f, uint32_t peer)
{
    (void)say(f, f->peer[peer].rank, EMU_TAG_FRAMES, EMU_LEFT, WAITIO_BYE_FINALIZE);
}

/* In their order, so that a sender's completions are, too. */
static int landed(struct waitio_iface *f, struct emu_link *l)
{
    int events = 0;
    while (!emu_list_empty(&l->flying)) {
        struct emu_out *o = EMU_OF(l->flying.next, struct emu_out, node);
        int done = 0, rc = PMPI_Test(&o->req, &done, MPI_STATUS_IGNORE);
        if (rc != MPI_SUCCESS) {
            emu_link_fail(f, l, emu_mpi_error(f, WAITIO_ERR_PEER, rc, "MPI_Isend"),
                          f->host->last_error());
            return events + 1;
        }
        if (!done)
            break;
        emu_list_remove(&o->node);
        l->nflying--;
        out_over(f, l, o, 0);
        events++;
    }
    return events;
}

int emu_pump(struct waitio_iface *f, struct emu_link *l)
{
    int events = 0;
    struct emu_list *n;
    while ((n = emu_list_pop(&l->kept)) != NULL) {
        out_over(f, l, EMU_OF(n, struct emu_out, node), 0);
        events++;
    }
    events += landed(f, l);
    while (l->err == 0 && ((n = emu_list_pop(&l->small)) != NULL ||
                           (l->nflying < EMU_FLYING && (n = emu_list_pop(&l->bulk)) != NULL))) {
        events++;
        if (!start(f, l, EMU_OF(n, struct emu_out, node)))
            break;
    }
    return events;
}

void emu_drop_queued(struct waitio_iface *f, struct emu_link *l, int err)
{
    struct emu_list *n;
    while ((n = emu_list_pop(&l->kept)) != NULL)
        out_over(f, l, EMU_OF(n, struct emu_out, node), 0);
    while ((n = emu_list_pop(&l->asked)) != NULL || (n = emu_list_pop(&l->small)) != NULL ||
           (n = emu_list_pop(&l->bulk)) != NULL)
        out_over(f, l, EMU_OF(n, struct emu_out, node), err);
    while ((n = emu_list_pop(&l->flying)) != NULL) {
        struct emu_out *o = EMU_OF(n, struct emu_out, node);
        bool sent = o->req == MPI_REQUEST_NULL;
        bool later = !f->down && !sent && f->peer[l->base.peer].left;
        if (!f->down && !sent && !later) /* nobody may ever ask MPI for it */
            PMPI_Request_free(&o->req);
        out_ends(f, l, o, err, !sent);
        if (later)
            emu_list_push(&f->unread, &o->node);
    }
    l->nflying = 0;
}

bool emu_unread_done(struct waitio_iface *f)
{
    for (struct emu_list *n = f->unread.next, *next; n != &f->unread; n = next) {
        struct emu_out *o = EMU_OF(n, struct emu_out, node);
        int done = 0;
        next = n->next;
        if (PMPI_Test(&o->req, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
            return false;
        emu_list_remove(n);
        out_free(f, o);
    }
    return true;
}

void emu_tx_free(struct waitio_iface *f)
{
    struct emu_list *n;
    while ((n = emu_list_pop(&f->spares)) != NULL || (n = emu_list_pop(&f->bare_outs)) != NULL)
        f->host->free(EMU_OF(n, struct emu_out, node));
    while ((n = emu_list_pop(&f->bare_ins)) != NULL)
        f->host->free(EMU_OF(n, struct emu_in, node));
    while ((n = emu_list_pop(&f->slots_free)) != NULL)
        f->host->free(EMU_OF(n, struct emu_slot, node));
    /* MPI may read the others still: MPI_Finalize(), which has called us, goes on after this */
}
