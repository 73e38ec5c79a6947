/* SPDX-License-Identifier: BSD-3-Clause */
/** @file rx.c  Receiving. */
#include "emulator/emulator.h"

/* What became of a frame. */
enum verdict { TAKEN, TAKEN_STOP, LATER, BEHIND /* what has to go first is not over */ };

int emu_post(struct waitio_iface *f)
{
    int tag = f->solo ? EMU_TAG_SOLO + (int)f->me : EMU_TAG_FRAMES;
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

static struct emu_in *in_new(struct waitio_iface *f, enum emu_way way)
{
    struct emu_in *in = f->host->alloc(sizeof *in);
    if (in == NULL)
        return NULL;
    in->req = MPI_REQUEST_NULL;
    in->way = way;
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
static void discard(struct waitio_iface *f, struct emu_link *l, uint32_t bytes, bool small)
{
    enum emu_way way = emu_way_of(bytes, small);
    if (way == EMU_INSIDE || way == EMU_ASKED) /* it comes only if asked for */
        return;
    struct emu_in *in = in_new(f, way);
    if (in == NULL || in_ask(f, in, bytes, l->rank, l->rtag[way]) != 0) {
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
            discard(f, l, w->bytes, w->small);
        f->host->free(w);
    }
}

/* ---- messages ---- */

/* libwaitio has refused a message. */
static enum verdict refuse(struct waitio_iface *f, struct emu_link *l, const struct emu_message *m,
                           int err)
{
    emu_link_fail(f, l, err, f->host->last_error());
    discard(f, l, m->bytes, m->small);
    return TAKEN;
}

/* The payload is in the frame. */
static enum verdict take_inside(struct waitio_iface *f, struct emu_link *l,
                                const struct emu_message *m)
{
    const struct waitio_upcalls *up = f->p->up;
    int whole = up->whole(f->p->user, &l->base, m->header, m->payload, m->bytes);
    if (whole == WAITIO_WHOLE_LATER)
        return LATER;
    if (whole != WAITIO_WHOLE_LEFT)
        return whole == WAITIO_WHOLE_STOP ? TAKEN_STOP : TAKEN;
    struct waitio_sink sink = {.whole = 1};
    int rc = up->message(f->p->user, &l->base, m->header, m->bytes, &sink);
    if (rc > 0)
        return LATER;
    if (rc < 0)
        return refuse(f, l, m, rc);
    size_t n = sink.len < m->bytes ? sink.len : m->bytes;
    if (n > 0)
        memcpy(sink.buf, m->payload, n);
    return up->payload(f->p->user, &l->base, &sink) != 0 ? TAKEN_STOP : TAKEN;
}

/* It follows. */
static enum verdict take_separate(struct waitio_iface *f, struct emu_link *l,
                                  const struct emu_message *m)
{
    enum emu_way way = emu_way_of(m->bytes, m->small);
    struct emu_in *in = in_new(f, way);
    if (in == NULL)
        return refuse(f, l, m,
                      f->host->fail(WAITIO_ERR_NOMEM, "no memory for an arriving message"));
    int rc = f->p->up->message(f->p->user, &l->base, m->header, m->bytes, &in->sink);
    if (rc != 0) {
        in_free(f, in);
        return rc > 0 ? LATER : refuse(f, l, m, rc);
    }
    rc = in_ask(f, in, m->bytes, l->rank, l->rtag[way]);
    emu_list_push(&l->arriving, &in->node);
    l->narriving++;
    emu_busy(f, l);
    if (rc == 0 && way == EMU_ASKED) /* after the receive is posted: it finds it there */
        rc = emu_say(f, l, EMU_ASK, 0);
    if (rc != 0)
        emu_link_fail(f, l, rc, f->host->last_error());
    return TAKEN;
}

static enum verdict take(struct waitio_iface *f, struct emu_link *l, const struct emu_message *m)
{
    return m->bytes <= EMU_INLINE ? take_inside(f, l, m) : take_separate(f, l, m);
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

/* Those of one way end in their order. */
static int payloads(struct waitio_iface *f, struct emu_link *l, bool *stop)
{
    bool waits[EMU_WAYS] = {false};
    int events = 0;
    for (struct emu_list *n = l->arriving.next, *next; n != &l->arriving && !*stop; n = next) {
        struct emu_in *in = EMU_OF(n, struct emu_in, node);
        enum emu_way way = in->way;
        next = n->next;
        if (waits[way])
            continue;
        if (arrived(f, l, in, stop))
            events++;
        else
            waits[way] = true;
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
        struct emu_message m = {
            .small = w->small, .bytes = w->bytes, .header = w->header, .payload = w->data};
        enum verdict v = take(f, l, &m);
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

static bool has_to_wait(const struct emu_link *l, const struct emu_message *m)
{
    return !m->small && (l->narriving > 0 || !emu_list_empty(&l->waiting));
}

static enum verdict wait_behind(struct waitio_iface *f, struct emu_link *l,
                                const struct emu_message *m)
{
    uint32_t inside = m->bytes <= EMU_INLINE ? m->bytes : 0;
    struct emu_wait *w = f->host->alloc(sizeof *w + inside);
    if (w == NULL)
        return refuse(f, l, m,
                      f->host->fail(WAITIO_ERR_NOMEM, "no memory for an arriving message"));
    w->small = m->small;
    w->bytes = m->bytes;
    memcpy(w->header, m->header, sizeof w->header);
    if (inside > 0)
        memcpy(w->data, m->payload, inside);
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
        if (p->link != NULL) {
            p->link->said_open = true; /* the peer has opened it */
            p->left = p->told = false;
        }
    }
    return p->link;
}

/* Read a frame with a message. Reading it twice gives the same, as long as none of its link was
 * read in between. */
static void read_message(struct emu_link *l, const struct emu_frame *fr, struct emu_message *m)
{
    const uint8_t *at = fr->body;
    for (int i = 0; i < EMU_WORDS; i++)
        if ((fr->head.words >> i & 1) != 0) {
            memcpy(&l->last_in[i], at, 8);
            at += 8;
        }
    uint64_t bytes = fr->head.n;
    if ((fr->head.words & EMU_SEPARATE_BIT) != 0)
        memcpy(&bytes, at, 8);
    *m = (struct emu_message){.small = (fr->head.words & EMU_SMALL_BIT) != 0,
                              .bytes = (uint32_t)bytes,
                              .header = l->last_in,
                              .payload = at};
}

/* Of a link that has ended for us: read on until the peer knows. */
static void not_heard(struct waitio_iface *f, const struct emu_frame *fr)
{
    struct emu_peer *p = &f->peer[fr->head.from];
    if (fr->head.kind == EMU_BYE)
        p->deaf = false;
    if (fr->head.kind != EMU_MESSAGE)
        return;
    struct emu_message m;
    struct emu_link *l = emu_link_new(f, fr->head.from); /* for its tags */
    if (l == NULL)
        return;
    read_message(l, fr, &m);
    discard(f, l, m.bytes, m.small);
    emu_free_link(&l->base);
}

/* @return whether that was all */
static bool without_link(struct waitio_iface *f, const struct emu_frame *fr)
{
    struct emu_peer *p = &f->peer[fr->head.from];
    if (fr->head.kind == EMU_LEFT) {
        p->left = true;
        if (p->link != NULL)
            emu_heard_bye(f, p->link, WAITIO_BYE_FINALIZE);
        return true;
    }
    if (p->deaf) {
        not_heard(f, fr);
        return true;
    }
    return fr->head.kind == EMU_BYE && p->link == NULL;
}

static enum verdict message(struct waitio_iface *f, struct emu_link *l, const struct emu_frame *fr)
{
    struct emu_message m;
    read_message(l, fr, &m);
    if (l->err != 0) {
        discard(f, l, m.bytes, m.small);
        return TAKEN;
    }
    return has_to_wait(l, &m) ? wait_behind(f, l, &m) : take(f, l, &m);
}

/* The peer has begun a new link, and ours is not over: payloads of it are still arriving. */
static bool behind_old(struct waitio_iface *f, uint32_t from)
{
    struct emu_link *l = f->peer[from].link;
    bool stop = false;
    if (l == NULL || !l->heard_bye)
        return false;
    (void)emu_link_work(f, l, &stop);
    l = f->peer[from].link;
    return l != NULL && l->heard_bye;
}

static enum verdict frame(struct waitio_iface *f, const struct emu_frame *fr)
{
    const struct emu_head *h = &fr->head;
    if (h->from >= f->count || h->from == f->me || h->kind < EMU_MESSAGE || h->kind > EMU_ASK)
        return TAKEN; /* not of ours; it cannot be */
    if (without_link(f, fr))
        return TAKEN;
    if (behind_old(f, h->from))
        return BEHIND;
    struct emu_link *l = link_for(f, h->from);
    if (l == NULL)
        return BEHIND; /* no memory: again in the next round */
    emu_tell_ready(f, l);
    switch (h->kind) {
    case EMU_MESSAGE:
        return message(f, l, fr);
    case EMU_BYE:
        emu_heard_bye(f, l, h->n);
        return TAKEN;
    case EMU_ASK:
        emu_asked(f, l);
        return TAKEN;
    default: /* OPEN: that was all */
        return TAKEN;
    }
}

static bool head_is_here(struct waitio_iface *f)
{
    int done = 0;
    if (f->head_here)
        return true;
    int rc = MPI_Test(&f->in_req[f->head], &done, MPI_STATUS_IGNORE);
    if (rc != MPI_SUCCESS) {
        (void)emu_mpi_error(f, WAITIO_ERR_SYSTEM, rc, "MPI_Test");
        if (f->p != NULL)
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
        if (v == LATER || v == BEHIND) {
            *stop = v == LATER;
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

void emu_drain(struct waitio_iface *f)
{
    while (head_is_here(f)) {
        const struct emu_head *h = &f->in[f->head].head;
        bool last = h->kind == EMU_LEFT || (h->kind == EMU_BYE && h->n == WAITIO_BYE_FINALIZE);
        if (last && h->from < f->count)
            f->peer[h->from].left = true;
        f->head_here = false;
        MPI_Start(&f->in_req[f->head]);
        f->head = (f->head + 1) % EMU_FRAMES;
    }
}

bool emu_has_input(struct waitio_iface *f)
{
    int done = 0;
    if (f->head_here)
        return true;
    MPI_Request_get_status(f->in_req[f->head], &done, MPI_STATUS_IGNORE);
    return done != 0;
}
