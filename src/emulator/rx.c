/* SPDX-License-Identifier: BSD-3-Clause */
/** @file rx.c  Receiving. */
#include "emulator/emulator.h"

/* What became of a frame. */
enum verdict { TAKEN, TAKEN_STOP, LATER };

int emu_post(struct waitio_iface *f)
{
    int tag = f->solo ? 1000 + (int)f->me : 1;
    f->in = f->host->alloc(EMU_FRAMES * sizeof *f->in);
    if (f->in == NULL)
        return f->host->fail(WAITIO_ERR_NOMEM, "no memory for receives of MPI");
    for (int i = 0; i < EMU_FRAMES; i++)
        f->in_req[i] = MPI_REQUEST_NULL;
    f->posted = true;
    for (int i = 0; i < EMU_FRAMES; i++) {
        int rc = MPI_Recv_init(&f->in[i], sizeof f->in[i], MPI_BYTE, MPI_ANY_SOURCE, tag, f->comm,
                               &f->in_req[i]);
        if (rc == MPI_SUCCESS)
            rc = MPI_Start(&f->in_req[i]);
        if (rc != MPI_SUCCESS)
            return emu_mpi_error(f, WAITIO_ERR_SYSTEM, rc, "MPI_Recv_init");
    }
    return 0;
}

void emu_unpost(struct waitio_iface *f)
{
    for (int i = 0; f->posted && i < EMU_FRAMES; i++) {
        if (f->in_req[i] == MPI_REQUEST_NULL)
            continue;
        if (!(f->head_here && i == f->head)) { /* that one is not active */
            MPI_Cancel(&f->in_req[i]);
            MPI_Wait(&f->in_req[i], MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&f->in_req[i]);
    }
    f->posted = false;
}

/* ---- payloads ---- */

static struct emu_in *in_new(struct waitio_iface *f, struct emu_link *l, const struct emu_head *h)
{
    struct emu_in *in = f->host->alloc(sizeof *in);
    (void)l;
    if (in == NULL)
        return NULL;
    in->req = MPI_REQUEST_NULL;
    in->small = (h->flags & WAITIO_TX_SMALL) != 0;
    return in;
}

static void in_free(struct waitio_iface *f, struct emu_in *in)
{
    f->host->free(in->whole);
    f->host->free(in);
}

/* Ask MPI for a payload. The sink may be too short for it: MPI wants room for all. */
static int in_ask(struct waitio_iface *f, struct emu_in *in, uint32_t bytes, int rank, int tag)
{
    void *to = in->sink.buf;
    if (in->sink.len < bytes) {
        to = in->whole = f->host->alloc(bytes);
        if (to == NULL)
            return f->host->fail(WAITIO_ERR_NOMEM, "no memory for a message of %u bytes", bytes);
    }
    int rc = MPI_Irecv(to, (int)bytes, MPI_BYTE, rank, tag, f->comm, &in->req);
    return rc == MPI_SUCCESS ? 0 : emu_mpi_error(f, WAITIO_ERR_PEER, rc, "MPI_Irecv");
}

/* Nobody wants the payload that follows: MPI must get rid of it all the same. */
static void discard(struct waitio_iface *f, const struct emu_head *h, int rank, int tag)
{
    if (!h->separate)
        return;
    struct emu_in *in = in_new(f, NULL, h);
    if (in == NULL || in_ask(f, in, h->bytes, rank, tag) != 0) {
        if (in != NULL)
            in_free(f, in);
        return; /* it stays in MPI */
    }
    emu_list_push(&f->orphans, &in->node);
}

int emu_orphans(struct waitio_iface *f)
{
    int events = 0;
    for (struct emu_list *n = f->orphans.next, *next; n != &f->orphans; n = next) {
        struct emu_in *in = EMU_OF(n, struct emu_in, node);
        int done = 0;
        next = n->next;
        if (MPI_Test(&in->req, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
            continue;
        emu_list_remove(n);
        in_free(f, in);
        events++;
    }
    return events;
}

void emu_abandon(struct waitio_iface *f, struct emu_link *l, bool tell)
{
    struct emu_list *n;
    while ((n = emu_list_pop(&l->arriving)) != NULL) {
        struct emu_in *in = EMU_OF(n, struct emu_in, node);
        if (!f->down && in->req != MPI_REQUEST_NULL) {
            MPI_Cancel(&in->req);
            MPI_Wait(&in->req, MPI_STATUS_IGNORE); /* cancelling a receive is local */
        }
        if (tell)
            f->p->up->abandon(f->p->user, &l->base, &in->sink);
        in_free(f, in);
    }
    l->narriving = 0;
    while ((n = emu_list_pop(&l->waiting)) != NULL) {
        struct emu_wait *w = EMU_OF(n, struct emu_wait, node);
        if (!f->down)
            discard(f, &w->frame.head, l->rank,
                    l->rtag[(w->frame.head.flags & WAITIO_TX_SMALL) != 0]);
        f->host->free(w);
    }
}

/* ---- messages ---- */

/* libwaitio has refused a message. */
static enum verdict refuse(struct waitio_iface *f, struct emu_link *l, const struct emu_head *h,
                           int err)
{
    emu_link_fail(f, l, err, f->host->last_error());
    discard(f, h, l->rank, l->rtag[(h->flags & WAITIO_TX_SMALL) != 0]);
    return TAKEN;
}

/* The payload is in the frame. */
static enum verdict take_inline(struct waitio_iface *f, struct emu_link *l,
                                const struct emu_frame *fr)
{
    const struct waitio_upcalls *up = f->p->up;
    uint32_t bytes = fr->head.bytes;
    int whole = up->whole(f->p->user, &l->base, fr->header, fr->data, bytes);
    if (whole == WAITIO_WHOLE_LATER)
        return LATER;
    if (whole != WAITIO_WHOLE_LEFT)
        return whole == WAITIO_WHOLE_STOP ? TAKEN_STOP : TAKEN;
    struct waitio_sink sink = {.whole = 1};
    int rc = up->message(f->p->user, &l->base, fr->header, bytes, &sink);
    if (rc > 0)
        return LATER;
    if (rc < 0)
        return refuse(f, l, &fr->head, rc);
    size_t n = sink.len < bytes ? sink.len : bytes;
    if (n > 0)
        memcpy(sink.buf, fr->data, n);
    return up->payload(f->p->user, &l->base, &sink) != 0 ? TAKEN_STOP : TAKEN;
}

/* It follows. */
static enum verdict take_separate(struct waitio_iface *f, struct emu_link *l,
                                  const struct emu_frame *fr)
{
    struct emu_in *in = in_new(f, l, &fr->head);
    if (in == NULL)
        return refuse(f, l, &fr->head,
                      f->host->fail(WAITIO_ERR_NOMEM, "no memory for an arriving message"));
    int rc = f->p->up->message(f->p->user, &l->base, fr->header, fr->head.bytes, &in->sink);
    if (rc != 0) {
        in_free(f, in);
        return rc > 0 ? LATER : refuse(f, l, &fr->head, rc);
    }
    rc = in_ask(f, in, fr->head.bytes, l->rank, l->rtag[in->small]);
    emu_list_push(&l->arriving, &in->node);
    l->narriving++;
    emu_busy(f, l);
    if (rc != 0)
        emu_link_fail(f, l, rc, f->host->last_error());
    return TAKEN;
}

static enum verdict take(struct waitio_iface *f, struct emu_link *l, const struct emu_frame *fr)
{
    return fr->head.separate ? take_separate(f, l, fr) : take_inline(f, l, fr);
}

/* ---- payloads that have come ---- */

/* @return whether it is complete */
static bool arrived(struct waitio_iface *f, struct emu_link *l, struct emu_in *in, bool *stop)
{
    int done = 0, rc = MPI_Test(&in->req, &done, MPI_STATUS_IGNORE);
    if (rc != MPI_SUCCESS) {
        emu_link_fail(f, l, emu_mpi_error(f, WAITIO_ERR_PEER, rc, "MPI_Irecv"),
                      f->host->last_error());
        return false;
    }
    if (!done)
        return false;
    emu_list_remove(&in->node);
    l->narriving--;
    if (in->whole != NULL && in->sink.len > 0)
        memcpy(in->sink.buf, in->whole, in->sink.len);
    struct waitio_sink sink = in->sink;
    in_free(f, in);
    *stop = f->p->up->payload(f->p->user, &l->base, &sink) != 0 || *stop;
    return true;
}

/* Those of one kind end in their order. */
static int payloads(struct waitio_iface *f, struct emu_link *l, bool *stop)
{
    bool open[2] = {true, true};
    int events = 0;
    for (struct emu_list *n = l->arriving.next, *next; n != &l->arriving && !*stop; n = next) {
        struct emu_in *in = EMU_OF(n, struct emu_in, node);
        bool small = in->small;
        next = n->next;
        if (!open[small])
            continue;
        if (arrived(f, l, in, stop))
            events++;
        else
            open[small] = false;
        if (l->err != 0)
            break;
    }
    return events;
}

int emu_arrivals(struct waitio_iface *f, struct emu_link *l, bool *stop)
{
    int events = l->narriving > 0 ? payloads(f, l, stop) : 0;
    while (!*stop && l->err == 0 && l->narriving == 0 && !emu_list_empty(&l->waiting)) {
        struct emu_wait *w = EMU_OF(l->waiting.next, struct emu_wait, node);
        enum verdict v = take(f, l, &w->frame);
        if (v == LATER) {
            *stop = true;
            break;
        }
        *stop = v == TAKEN_STOP;
        emu_list_remove(&w->node);
        f->host->free(w);
        events++;
    }
    return events;
}

/* ---- frames ---- */

static bool has_to_wait(const struct emu_link *l, const struct emu_head *h)
{
    return (h->flags & WAITIO_TX_SMALL) == 0 && (l->narriving > 0 || !emu_list_empty(&l->waiting));
}

static enum verdict keep(struct waitio_iface *f, struct emu_link *l, const struct emu_frame *fr)
{
    size_t bytes = EMU_HEADS + (fr->head.separate ? 0 : fr->head.bytes);
    struct emu_wait *w = f->host->alloc(offsetof(struct emu_wait, frame) + bytes);
    if (w == NULL)
        return refuse(f, l, &fr->head,
                      f->host->fail(WAITIO_ERR_NOMEM, "no memory for an arriving message"));
    memcpy(&w->frame, fr, bytes);
    emu_list_push(&l->waiting, &w->node);
    emu_busy(f, l);
    return TAKEN;
}

/* The link that a frame belongs to, made if it is the first. */
static struct emu_link *link_for(struct waitio_iface *f, uint32_t from)
{
    struct emu_peer *p = &f->peer[from];
    if (p->link == NULL) {
        p->link = emu_link_new(f, from);
        if (p->link != NULL)
            p->link->said_open = true; /* the peer has opened it */
    }
    return p->link;
}

/* Not of a link that is open. @return whether that was all */
static bool without_link(struct waitio_iface *f, const struct emu_head *h)
{
    struct emu_peer *p = &f->peer[h->from];
    if (h->kind == EMU_LEFT) {
        p->left = true;
        if (p->link != NULL)
            emu_heard_bye(f, p->link, WAITIO_BYE_FINALIZE);
        return true;
    }
    if (!p->deaf)
        return false;
    if (h->kind == EMU_BYE)
        p->deaf = false;
    else if (h->kind == EMU_MESSAGE) {
        struct emu_link *probe = emu_link_new(f, h->from); /* for its tags */
        if (probe != NULL) {
            discard(f, h, probe->rank, probe->rtag[(h->flags & WAITIO_TX_SMALL) != 0]);
            emu_free_link(&probe->base);
        }
    }
    return true;
}

static enum verdict frame(struct waitio_iface *f, const struct emu_frame *fr)
{
    const struct emu_head *h = &fr->head;
    if (h->from >= f->count || h->from == f->me || h->kind < EMU_MESSAGE || h->kind > EMU_LEFT)
        return TAKEN; /* not of ours; it cannot be */
    if (without_link(f, h))
        return TAKEN;
    struct emu_link *l = link_for(f, h->from);
    if (l == NULL)
        return LATER; /* no memory: again in the next round */
    emu_tell_ready(f, l);
    if (h->kind == EMU_OPEN)
        return TAKEN;
    if (h->kind == EMU_BYE) {
        emu_heard_bye(f, l, h->reason);
        return TAKEN;
    }
    if (l->err != 0) {
        discard(f, h, l->rank, l->rtag[(h->flags & WAITIO_TX_SMALL) != 0]);
        return TAKEN;
    }
    return has_to_wait(l, h) ? keep(f, l, fr) : take(f, l, fr);
}

static bool head_is_here(struct waitio_iface *f)
{
    int done = 0;
    if (f->head_here)
        return true;
    int rc = MPI_Test(&f->in_req[f->head], &done, MPI_STATUS_IGNORE);
    if (rc != MPI_SUCCESS) {
        (void)emu_mpi_error(f, WAITIO_ERR_SYSTEM, rc, "MPI_Test");
        f->host->log(f->p, 0, "%s", f->host->last_error());
        return false;
    }
    f->head_here = done != 0;
    return f->head_here;
}

int emu_frames(struct waitio_iface *f, bool *stop)
{
    int events = 0;
    while (!*stop && events < EMU_ROUND && head_is_here(f)) {
        enum verdict v = frame(f, &f->in[f->head]);
        if (v == LATER) {
            *stop = true;
            break;
        }
        *stop = v == TAKEN_STOP;
        f->head_here = false;
        MPI_Start(&f->in_req[f->head]);
        f->head = (f->head + 1) % EMU_FRAMES;
        events++;
    }
    return events;
}

bool emu_has_input(struct waitio_iface *f)
{
    int done = 0;
    if (f->head_here)
        return true;
    MPI_Request_get_status(f->in_req[f->head], &done, MPI_STATUS_IGNORE);
    return done != 0;
}
