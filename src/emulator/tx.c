/* SPDX-License-Identifier: BSD-3-Clause */
/** @file tx.c  Sending. */
#include "emulator/emulator.h"

static struct emu_slot *slot_get(struct waitio_iface *f)
{
    struct emu_list *n = emu_list_pop(&f->slots_free);
    return n != NULL ? EMU_OF(n, struct emu_slot, node) : f->host->alloc(sizeof(struct emu_slot));
}

/* Hand a frame to MPI. It is mostly over at once. */
static int slot_send(struct waitio_iface *f, struct emu_slot *s, int rank, int tag)
{
    int bytes = (int)(EMU_HEADS + (s->frame.head.separate ? 0 : s->frame.head.bytes)), done = 0;
    int rc = MPI_Isend(&s->frame, bytes, MPI_BYTE, rank, tag, f->comm, &s->req);
    if (rc == MPI_SUCCESS)
        rc = MPI_Test(&s->req, &done, MPI_STATUS_IGNORE);
    if (rc != MPI_SUCCESS) {
        emu_list_push(&f->slots_free, &s->node);
        return emu_mpi_error(f, WAITIO_ERR_PEER, rc, "MPI_Isend");
    }
    emu_list_push(done ? &f->slots_free : &f->slots, &s->node);
    return 0;
}

int emu_slots_done(struct waitio_iface *f)
{
    int events = 0;
    for (struct emu_list *n = f->slots.next, *next; n != &f->slots; n = next) {
        struct emu_slot *s = EMU_OF(n, struct emu_slot, node);
        int done = 0;
        next = n->next;
        if (MPI_Test(&s->req, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
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

static bool plain_memory(uint32_t bytes)
{
    return bytes <= EMU_INLINE;
}

static int send_frame(struct waitio_iface *f, struct emu_link *l, const void *header,
                      const void *payload, uint32_t bytes, unsigned flags)
{
    struct emu_slot *s = slot_get(f);
    if (s == NULL)
        return no_memory(f, bytes);
    s->frame.head = (struct emu_head){.kind = EMU_MESSAGE,
                                      .flags = (uint8_t)flags & WAITIO_TX_SMALL,
                                      .from = f->me,
                                      .bytes = bytes,
                                      .separate = !plain_memory(bytes)};
    memcpy(s->frame.header, header, sizeof s->frame.header);
    if (bytes > 0 && plain_memory(bytes))
        memcpy(s->frame.data, payload, bytes);
    return slot_send(f, s, l->rank, l->tag_frame);
}

static struct emu_out *out_new(struct waitio_iface *f, uint32_t room)
{
    struct emu_out *o;
    struct emu_list *n = room > EMU_INLINE ? emu_list_pop(&f->spares) : NULL;
    if (n != NULL) {
        f->nspares--;
        return EMU_OF(n, struct emu_out, node);
    }
    bool spare = room > EMU_INLINE;
    o = f->host->alloc(sizeof *o + (spare ? (uint32_t)EMU_COPY : room));
    if (o != NULL)
        o->spare = spare;
    return o;
}

static void out_free(struct waitio_iface *f, struct emu_out *o)
{
    if (o->spare && f->nspares < EMU_SPARE_COPIES) {
        f->nspares++;
        emu_list_push_front(&f->spares, &o->node);
    } else {
        f->host->free(o);
    }
}

/* libwaitio, if it waits, hears that the message has left, or never will. */
static void out_over(struct waitio_iface *f, struct emu_link *l, struct emu_out *o, int err)
{
    void *token = o->token;
    if (token != NULL)
        l->queued -= o->bytes + EMU_HEADS;
    out_free(f, o);
    if (token != NULL)
        f->p->up->sent(f->p->user, token, err);
}

/* What a message needs until MPI has read it. Short ones are copied, so that their sends are over
 * for libwaitio. */
static struct emu_out *out_make(struct waitio_iface *f, struct emu_link *l, const void *header,
                                const void *payload, uint32_t bytes, unsigned flags, void *token)
{
    bool copy = bytes <= EMU_COPY;
    struct emu_out *o = out_new(f, copy ? bytes : 0);
    if (o == NULL)
        return NULL;
    o->token = copy ? NULL : token;
    o->payload = copy ? o->data : payload;
    o->bytes = bytes;
    o->flags = (uint8_t)flags & WAITIO_TX_SMALL;
    memcpy(o->header, header, sizeof o->header);
    if (copy && bytes > 0)
        memcpy(o->data, payload, bytes);
    if (!copy)
        l->queued += bytes + EMU_HEADS;
    return o;
}

/* @return whether MPI has all of it; then o is gone */
static bool start(struct waitio_iface *f, struct emu_link *l, struct emu_out *o)
{
    int rc = send_frame(f, l, o->header, o->payload, o->bytes, o->flags);
    if (rc == 0 && plain_memory(o->bytes)) {
        out_over(f, l, o, 0); /* it was a copy: no upcall */
        return true;
    }
    bool small = (o->flags & WAITIO_TX_SMALL) != 0;
    if (rc == 0) {
        int mpi = MPI_Isend(o->payload, (int)o->bytes, MPI_BYTE, l->rank, l->tag[small], f->comm,
                            &o->req);
        rc = mpi != MPI_SUCCESS ? emu_mpi_error(f, WAITIO_ERR_PEER, mpi, "MPI_Isend") : 0;
    }
    if (rc != 0) {
        emu_list_push_front(small ? &l->small : &l->bulk, &o->node);
        emu_link_fail(f, l, rc, f->host->last_error());
        return false;
    }
    emu_list_push(&l->flying, &o->node);
    l->nflying++;
    return true;
}

/* May a message go to MPI now, before any that is queued? */
static bool in_turn(struct waitio_iface *f, const struct emu_link *l, unsigned flags,
                    uint32_t bytes)
{
    if (l->base.state != WAITIO_LINK_READY || !emu_list_empty(&l->small) || !emu_may(f))
        return false;
    return (flags & WAITIO_TX_SMALL) != 0 ||
           (emu_list_empty(&l->bulk) && (plain_memory(bytes) || l->nflying < EMU_FLYING));
}

int emu_put(struct waitio_link *link, const void *header, const void *payload, uint32_t bytes)
{
    struct emu_link *l = emu_link_of(link);
    struct waitio_iface *f = link->iface;
    return plain_memory(bytes) && in_turn(f, l, WAITIO_TX_SMALL, bytes) &&
           send_frame(f, l, header, payload, bytes, WAITIO_TX_SMALL) == 0;
}

int emu_send(struct waitio_link *link, const void *header, const void *payload, uint32_t bytes,
             unsigned flags, void *token)
{
    struct emu_link *l = emu_link_of(link);
    struct waitio_iface *f = link->iface;
    if (link->state >= WAITIO_LINK_CLOSING)
        return f->host->fail(WAITIO_ERR_BUSY, "the link is closing");
    bool now = in_turn(f, l, flags, bytes);
    if (now && plain_memory(bytes))
        return send_frame(f, l, header, payload, bytes, flags);
    struct emu_out *o = out_make(f, l, header, payload, bytes, flags, token);
    if (o == NULL)
        return no_memory(f, bytes);
    bool copied = o->token == NULL;
    emu_list_init(&o->node);
    if (!now || !start(f, l, o)) {
        bool small = (flags & WAITIO_TX_SMALL) != 0;
        if (!now)
            emu_list_push(small ? &l->small : &l->bulk, &o->node);
    }
    emu_busy(f, l);
    return copied ? WAITIO_TX_DONE : WAITIO_TX_QUEUED;
}

size_t emu_queued(const struct waitio_link *link)
{
    return ((const struct emu_link *)(const void *)link)->queued;
}

int emu_say(struct waitio_iface *f, struct emu_link *l, enum emu_kind kind, int reason)
{
    struct emu_slot *s = slot_get(f);
    if (s == NULL)
        return no_memory(f, 0);
    s->frame.head =
        (struct emu_head){.kind = (uint8_t)kind, .reason = (uint16_t)reason, .from = f->me};
    memset(s->frame.header, 0, sizeof s->frame.header);
    return slot_send(f, s, l->rank, l->tag_frame);
}

void emu_say_left(struct waitio_iface *f, uint32_t peer)
{
    struct emu_link to = {.rank = (int)f->number[peer], .tag_frame = 1};
    (void)emu_say(f, &to, EMU_LEFT, WAITIO_BYE_FINALIZE);
}

/* In their order, so that a sender's completions are, too. */
static int landed(struct waitio_iface *f, struct emu_link *l)
{
    int events = 0;
    while (!emu_list_empty(&l->flying)) {
        struct emu_out *o = EMU_OF(l->flying.next, struct emu_out, node);
        int done = 0, rc = MPI_Test(&o->req, &done, MPI_STATUS_IGNORE);
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
    int events = landed(f, l);
    struct emu_list *n;
    while (l->err == 0 && (n = emu_list_pop(&l->small)) != NULL) {
        events++;
        if (!start(f, l, EMU_OF(n, struct emu_out, node)))
            return events;
    }
    while (l->err == 0 && l->nflying < EMU_FLYING && (n = emu_list_pop(&l->bulk)) != NULL) {
        events++;
        if (!start(f, l, EMU_OF(n, struct emu_out, node)))
            return events;
    }
    return events;
}

void emu_drop_queued(struct waitio_iface *f, struct emu_link *l, int err)
{
    struct emu_list *n;
    while ((n = emu_list_pop(&l->small)) != NULL || (n = emu_list_pop(&l->bulk)) != NULL)
        out_over(f, l, EMU_OF(n, struct emu_out, node), err);
    while ((n = emu_list_pop(&l->flying)) != NULL) { /* nobody will ever ask MPI for them */
        struct emu_out *o = EMU_OF(n, struct emu_out, node);
        if (!f->down && o->req != MPI_REQUEST_NULL)
            MPI_Request_free(&o->req);
        o->spare = false;
        if (o->token != NULL)
            out_over(f, l, o, err);
        /* else MPI may read the copy still: it stays */
    }
    l->nflying = 0;
}

void emu_tx_free(struct waitio_iface *f)
{
    struct emu_list *n;
    while ((n = emu_list_pop(&f->spares)) != NULL)
        f->host->free(EMU_OF(n, struct emu_out, node));
    while ((n = emu_list_pop(&f->slots_free)) != NULL)
        f->host->free(EMU_OF(n, struct emu_slot, node));
    while (f->down && (n = emu_list_pop(&f->slots)) != NULL)
        f->host->free(EMU_OF(n, struct emu_slot, node));
}
