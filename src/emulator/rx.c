/* SPDX-License-Identifier: BSD-3-Clause */
/** @file rx.c  Receiving. */
#include <stdio.h>

#include "emulator/emulator.h"

/* What became of a frame. */
enum { WORD_BITS = (1 << EMU_WORDS) - 1 };
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
        int rc = PMPI_Recv_init(&f->in[i].head, EMU_FRAME_BYTES, MPI_BYTE, MPI_ANY_SOURCE, tag,
                                f->comm, &f->in_req[i]);
        if (rc == MPI_SUCCESS)
            rc = PMPI_Start(&f->in_req[i]);
        if (rc != MPI_SUCCESS)
            return emu_mpi_error(f, WAITIO_ERR_SYSTEM, rc, "MPI_Recv_init");
    }
    return 0;
}

static bool is_active(const struct waitio_iface *f, int i)
{
    int before = (f->head - i + EMU_FRAMES) % EMU_FRAMES; /* the head */
    return before == 0 ? !f->head_here : before > f->nread;
}

/* Those that were read are posted again, in their order. */
static void restart(struct waitio_iface *f)
{
    for (; f->nread > 0; f->nread--)
        PMPI_Start(&f->in_req[(f->head - f->nread + EMU_FRAMES) % EMU_FRAMES]);
}

/* The head was read. To post it again takes MPI as long as a fifth of a short message: it is done
 * when nothing has come, while the program's answer is on its way. */
static void pass_head(struct waitio_iface *f)
{
    f->head_here = false;
    f->head = (f->head + 1) % EMU_FRAMES;
    if (++f->nread == EMU_RESTARTS)
        restart(f);
}

void emu_unpost(struct waitio_iface *f)
{
    for (int i = 0; f->posted && i < EMU_FRAMES; i++) {
        if (f->in_req[i] == MPI_REQUEST_NULL)
            continue;
        if (!f->broken && is_active(f, i)) {
            PMPI_Cancel(&f->in_req[i]);
            PMPI_Wait(&f->in_req[i], MPI_STATUS_IGNORE);
        }
        PMPI_Request_free(&f->in_req[i]);
    }
    f->posted = false;
}

/* ---- payloads ---- */

static struct emu_in *in_new(struct waitio_iface *f, enum emu_way way)
{
    struct emu_list *n = emu_list_pop(&f->bare_ins);
    struct emu_in *in = n != NULL ? EMU_OF(n, struct emu_in, node) : f->host->alloc(sizeof *in);
    if (in == NULL)
        return NULL;
    *in = (struct emu_in){.way = way};
    emu_list_init(&in->node);
    in->req = MPI_REQUEST_NULL;
    return in;
}

static void in_free(struct waitio_iface *f, struct emu_in *in)
{
    if (in->whole != NULL)
        f->host->free(in->whole);
    emu_list_push_front(&f->bare_ins, &in->node);
}

/* The sink may be too short for a payload: MPI wants room for all. */
static int in_room(struct waitio_iface *f, struct emu_in *in, uint32_t bytes)
{
    if (in->sink.len >= bytes)
        return 0;
    in->whole = f->host->alloc(bytes);
    return in->whole != NULL
               ? 0
               : f->host->fail(WAITIO_ERR_NOMEM, "no memory for a message of %u bytes", bytes);
}

/* Ask MPI for a payload. */
static int in_post(struct waitio_iface *f, struct emu_in *in, uint32_t bytes, int rank, int tag)
{
    void *to = in->whole != NULL ? in->whole : in->sink.buf;
    int rc = PMPI_Irecv(to, (int)bytes, MPI_BYTE, rank, tag, f->comm, &in->req);
    return rc == MPI_SUCCESS ? 0 : emu_mpi_error(f, WAITIO_ERR_PEER, rc, "MPI_Irecv");
}

/* Nobody wants the next payload of this way, of @p most bytes at most: MPI must get rid of it all
 * the same. */
static void throw_away(struct waitio_iface *f, struct emu_link *l, enum emu_way way, uint32_t most)
{
    struct emu_in *in = in_new(f, way);
    if (in == NULL || in_room(f, in, most) != 0 ||
        in_post(f, in, most, l->rank, l->rtag[way]) != 0) {
        if (in != NULL)
            in_free(f, in);
        return; /* it stays in MPI */
    }
    emu_list_push(&f->orphans, &in->node);
}

/* The same for the payload of a message. */
static void discard(struct waitio_iface *f, struct emu_link *l, uint32_t bytes, bool small)
{
    enum emu_way way = emu_way_of(bytes, small);
    if (way != EMU_INSIDE && way != EMU_ASKED) /* that comes only if asked for, or COMES says so */
        throw_away(f, l, way, bytes);
}

int emu_orphans(struct waitio_iface *f)
{
    int events = 0;
    for (struct emu_list *n = f->orphans.next, *next; n != &f->orphans; n = next) {
        struct emu_in *in = EMU_OF(n, struct emu_in, node);
        int done = 0;
        next = n->next;
        if (PMPI_Test(&in->req, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
            continue;
        emu_list_remove(n);
        in_free(f, in);
        events++;
    }
    return events;
}

void emu_orphans_cancel(struct waitio_iface *f)
{
    for (struct emu_list *n = f->orphans.next; n != &f->orphans; n = n->next)
        PMPI_Cancel(&EMU_OF(n, struct emu_in, node)->req);
}

void emu_abandon(struct waitio_iface *f, struct emu_link *l, bool tell)
{
    struct emu_list *n;
    while ((n = emu_list_pop(&l->arriving)) != NULL) {
        struct emu_in *in = EMU_OF(n, struct emu_in, node);
        int done = 1;
        /* Cancelling is local, but MPI does not cancel what a message has met already. */
        if (!f->down && in->req != MPI_REQUEST_NULL) {
            PMPI_Cancel(&in->req);
            PMPI_Test(&in->req, &done, MPI_STATUS_IGNORE);
        }
        if (tell)
            f->p->up->abandon(f->p->user, &l->base, &in->sink);
        if (done)
            in_free(f, in);
        else
            emu_list_push(&f->orphans, &in->node);
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
    rc = in_room(f, in, m->bytes);
    if (rc == 0 && way == EMU_ASKED) /* first: the receive is posted while it is under way */
        rc = emu_say(f, l, EMU_ASK, 0);
    if (rc == 0)
        rc = in_post(f, in, m->bytes, l->rank, l->rtag[way]);
    emu_list_push(&l->arriving, &in->node);
    l->narriving++;
    emu_busy(f, l);
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
    int done = 0, rc = PMPI_Test(&in->req, &done, MPI_STATUS_IGNORE);
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

static enum emu_kind kind_of(const struct emu_frame *fr)
{
    return (enum emu_kind)(fr->head.kind & EMU_KINDS);
}

/* The header of the frame at hand into l->last_in, once. @return what lies behind it */
static const uint8_t *read_header(struct waitio_iface *f, struct emu_link *l,
                                  const struct emu_frame *fr)
{
    const uint8_t *at = fr->body;
    bool again = f->head_read == l; /* it was not taken then */
    f->head_read = l;
    if (!again && (fr->head.words & WORD_BITS) == 0) { /* mostly */
        for (int i = 0; i < EMU_WORDS; i++)
            l->last_in[i] += l->step_in[i];
        return at;
    }
    for (int i = 0; i < EMU_WORDS; i++) {
        uint64_t word = l->last_in[i] + l->step_in[i];
        bool here = (fr->head.words >> i & 1) != 0;
        if (here)
            memcpy(&word, at, 8);
        at += here ? 8 : 0;
        if (again)
            continue;
        l->step_in[i] = word - l->last_in[i];
        l->last_in[i] = word;
    }
    return at;
}

/* @param at where the payload, or its length, begins */
static uint32_t length_of(struct waitio_iface *f, const struct emu_frame *fr, const uint8_t *at)
{
    uint32_t note = emu_note_of(&fr->head);
    const uint8_t *end = (const uint8_t *)&fr->head + f->head_bytes;
    if ((fr->head.kind & EMU_SEPARATE_BIT) == 0)
        return note > 0 ? note - 1 : at < end ? (uint32_t)(end - at) : 0;
    uint64_t word = f->peer[f->head_from].long_in;
    if (note != EMU_NOTE_SAME)
        memcpy(&word, at, 8);
    return f->peer[f->head_from].long_in = (uint32_t)word;
}

/* Read a frame with a message. */
static void read_message(struct waitio_iface *f, struct emu_link *l, const struct emu_frame *fr,
                         struct emu_message *m)
{
    const uint8_t *at = read_header(f, l, fr);
    *m = (struct emu_message){.small = (fr->head.kind & EMU_SMALL_BIT) != 0,
                              .bytes = length_of(f, fr, at),
                              .header = l->last_in,
                              .payload = at};
}

/* Of a link that has ended for us: read on until the peer knows. */
static void not_heard(struct waitio_iface *f, const struct emu_frame *fr)
{
    enum emu_kind kind = kind_of(fr);
    if (kind == EMU_BYE)
        f->peer[f->head_from].deaf = false;
    if (kind != EMU_MESSAGE && kind != EMU_COMES)
        return;
    struct emu_link *l = emu_link_new(f, f->head_from); /* for its tags */
    if (l == NULL)
        return;
    if (kind == EMU_COMES) {
        throw_away(f, l, EMU_ASKED, EMU_COPY);
    } else {
        struct emu_message m;
        read_message(f, l, fr, &m);
        discard(f, l, m.bytes, m.small);
    }
    emu_free_link(&l->base);
}

/* @return whether that was all */
static bool without_link(struct waitio_iface *f, const struct emu_frame *fr)
{
    struct emu_peer *p = &f->peer[f->head_from];
    if (kind_of(fr) == EMU_LEFT) {
        p->left = true;
        if (p->link != NULL)
            emu_heard_bye(f, p->link, WAITIO_BYE_FINALIZE);
        return true;
    }
    if (p->deaf) {
        not_heard(f, fr);
        return true;
    }
    if (p->link != NULL)
        return false;
    if (kind_of(fr) == EMU_COMES)
        not_heard(f, fr);
    return kind_of(fr) == EMU_BYE || kind_of(fr) == EMU_COMES;
}

static enum verdict message(struct waitio_iface *f, struct emu_link *l, const struct emu_frame *fr)
{
    struct emu_message m;
    read_message(f, l, fr, &m);
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
    uint32_t from = f->head_from;
    enum emu_kind kind = kind_of(fr);
    if (from >= f->count || from == f->me || kind < EMU_MESSAGE || kind > EMU_COMES)
        return TAKEN; /* not of ours; it cannot be */
    if (without_link(f, fr))
        return TAKEN;
    if (behind_old(f, from))
        return BEHIND;
    struct emu_link *l = link_for(f, from);
    if (l == NULL)
        return BEHIND; /* no memory: again in the next round */
    emu_tell_ready(f, l);
    switch (kind) {
    case EMU_MESSAGE:
        return message(f, l, fr);
    case EMU_BYE:
        emu_heard_bye(f, l, fr->head.words);
        return TAKEN;
    case EMU_ASK:
        emu_asked(f, l);
        return TAKEN;
    case EMU_COMES:
        if (l->err != 0) /* else it was asked for when its message was read */
            throw_away(f, l, EMU_ASKED, EMU_COPY);
        return TAKEN;
    default: /* OPEN: that was all */
        return TAKEN;
    }
}

/* Whose is it, and how long? */
static void look_at_head(struct waitio_iface *f, const MPI_Status *st)
{
    int n = 0;
    if (f->solo || emu_note_of(&f->in[f->head].head) == 0) /* else the note says it */
        PMPI_Get_count(st, MPI_BYTE, &n);
    f->head_bytes = (uint32_t)n;
    f->head_read = NULL;
    if (f->solo) {
        f->head_bytes -= sizeof f->head_from;
        memcpy(&f->head_from, (const uint8_t *)&f->in[f->head].head + f->head_bytes,
               sizeof f->head_from);
        return;
    }
    f->head_from = (uint32_t)st->MPI_SOURCE < f->nmembers ? f->member[st->MPI_SOURCE] : EMU_NOBODY;
}

/* MPI itself does not receive any more: some tell so when a process of the job has died. */
static void fails(struct waitio_iface *f, int err)
{
    char text[192];
    f->broken = true;
    if (f->p == NULL)
        return;
    f->host->log(f->p, 1, "%s", f->host->last_error());
    snprintf(text, sizeof text, "%s", f->host->last_error());
    for (struct emu_list *n = f->links.next; n != &f->links; n = n->next)
        emu_link_fail(f, EMU_OF(n, struct emu_link, all), err, text);
}

static bool head_is_here(struct waitio_iface *f)
{
    int done = 0;
    if (f->head_here || f->broken)
        return f->head_here;
    MPI_Status st;
    int rc = PMPI_Test(&f->in_req[f->head], &done, &st);
    if (rc != MPI_SUCCESS) {
        fails(f, emu_mpi_error(f, WAITIO_ERR_PEER, rc, "MPI_Test"));
        return false;
    }
    if (done)
        look_at_head(f, &st);
    else if (f->nread > 0)
        restart(f);
    f->head_here = done != 0;
    return f->head_here;
}

bool emu_look(struct waitio_iface *f, int looks)
{
    while (!head_is_here(f))
        if (--looks <= 0)
            return false;
    return true;
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
        pass_head(f);
        events++;
    }
    return events;
}

void emu_drain(struct waitio_iface *f)
{
    while (head_is_here(f)) {
        const struct emu_frame *fr = &f->in[f->head];
        bool last = kind_of(fr) == EMU_LEFT ||
                    (kind_of(fr) == EMU_BYE && fr->head.words == WAITIO_BYE_FINALIZE);
        if (last && f->head_from < f->count)
            f->peer[f->head_from].left = true;
        if (f->head_from < f->count)
            not_heard(f, fr);
        pass_head(f);
    }
}

bool emu_has_input(struct waitio_iface *f)
{
    int done = 0;
    if (f->head_here || f->broken)
        return f->head_here;
    PMPI_Request_get_status(f->in_req[f->head], &done, MPI_STATUS_IGNORE);
    return done != 0;
}
