/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages, when a component comes back. What is under way between two that live would be lost with
 * the old universe: each sends a mark on every stream, and takes what comes before the other's into
 * memory, from which the steps are served first. What the dead one has sent is taken until nothing
 * more comes. Who sends to a component that may come back keeps what it sends, from that one's last
 * restart file on, and sends it again; and tells it which of its own messages have come, so that it
 * sends no message twice.
 */
#include "coupler/back.h"

#include <stdlib.h>
#include <string.h>

#include "coupler/cpl.h"
#include "coupler/message.h"
#include "coupler/sums.h"

enum { MARK = WIO_CPL_END + 1 };

struct wio_cpl_note {
    int64_t stamp;
    int kind;
    size_t n; /* numbers */
    void *bytes;
};

static struct wio_cpl_bundle *bundle_at(const struct waitio_cpl *cpl, size_t i)
{
    return ((struct wio_cpl_bundle **)cpl->bundles.at)[i];
}

static const struct wio_cpl_list *peers(const struct wio_cpl_bundle *b)
{
    return b->sends ? &b->table->sends : &b->table->receives;
}

static int rank_of(const struct wio_cpl_bundle *b, size_t i)
{
    return ((const struct wio_cpl_peer *)peers(b)->at)[i].rank;
}

static int other(const struct wio_cpl_bundle *b)
{
    return b->sends ? b->table->to : b->table->from;
}

static WAITIO_MPI_Datatype datatype(const struct wio_cpl_bundle *b)
{
    return b->type == WIO_CPL_REAL8   ? WAITIO_MPI_DOUBLE
           : b->type == WIO_CPL_REAL4 ? WAITIO_MPI_FLOAT
                                      : WAITIO_MPI_INT;
}

int wio_cpl_past_make(struct waitio_cpl *cpl)
{
    for (size_t k = 0; cpl->back.any && k < cpl->bundles.n; k++) {
        struct wio_cpl_bundle *b = bundle_at(cpl, k);

        b->past = wio_cpl_new(peers(b)->n, sizeof *b->past);
        if (b->past == NULL)
            return WAITIO_ERR_NOMEM;
        for (size_t i = 0; i < peers(b)->n; i++)
            b->past[i].stamp = -1;
    }
    return 0;
}

static void drop(struct wio_cpl_past *p, size_t n)
{
    struct wio_cpl_note *notes = p->messages.at;

    for (size_t k = 0; k < n; k++)
        free(notes[k].bytes);
    if (n > 0)
        memmove(notes, notes + n, (p->messages.n - n) * sizeof *notes);
    p->messages.n -= n;
}

void wio_cpl_past_free(struct wio_cpl_bundle *b)
{
    for (size_t i = 0; b->past != NULL && i < peers(b)->n; i++) {
        drop(&b->past[i], b->past[i].messages.n);
        wio_cpl_list_free(&b->past[i].messages);
    }
    free(b->past);
    b->past = NULL;
}

static int note(struct wio_cpl_bundle *b, struct wio_cpl_past *p, const void *buffer, size_t n)
{
    struct wio_cpl_head head = wio_cpl_head_read(b->type, buffer);
    struct wio_cpl_note *place = wio_cpl_push(&p->messages, sizeof *place);

    if (place == NULL)
        return WAITIO_ERR_NOMEM;
    *place =
        (struct wio_cpl_note){head.stamp, head.kind, n, wio_cpl_new(n, wio_cpl_width(b->type))};
    if (place->bytes == NULL) {
        p->messages.n--;
        return WAITIO_ERR_NOMEM;
    }
    memcpy(place->bytes, buffer, n * wio_cpl_width(b->type));
    return 0;
}

int wio_cpl_past_keep(const struct waitio_cpl *cpl, struct wio_cpl_bundle *b, size_t i,
                      const void *buffer, size_t n)
{
    if (b->past == NULL || !cpl->components[other(b)].returns)
        return 0;
    return note(b, &b->past[i], buffer, n);
}

bool wio_cpl_past_knows(const struct wio_cpl_bundle *b, size_t i, const void *buffer)
{
    struct wio_cpl_head head = wio_cpl_head_read(b->type, buffer);

    if (b->past[i].stamp < 0)
        return false;
    return head.kind == WIO_CPL_END ? b->past[i].stamp == INT64_MAX
                                    : head.stamp <= b->past[i].stamp;
}

/* What a step is served from memory had come before, and later ones perhaps, too. */
void wio_cpl_past_came(struct wio_cpl_bundle *b, size_t i, const struct wio_cpl_head *head)
{
    int64_t stamp = head->kind == WIO_CPL_END ? INT64_MAX : head->stamp;

    if (b->past != NULL && stamp > b->past[i].stamp)
        b->past[i].stamp = stamp;
}

bool wio_cpl_past_serve(struct wio_cpl_bundle *b, size_t i)
{
    struct wio_cpl_past *p = b->past == NULL ? NULL : &b->past[i];
    const struct wio_cpl_note *next;

    if (p == NULL || p->messages.n == 0)
        return false;
    next = p->messages.at;
    memcpy(b->buffers[i], next->bytes, next->n * wio_cpl_width(b->type));
    b->ops[i].peer = rank_of(b, i);
    b->ops[i].bundle = b;
    b->ops[i].req = WAITIO_MPI_REQUEST_NULL;
    drop(p, 1);
    return true;
}

void wio_cpl_past_lose(const struct wio_cpl_op *op)
{
    const struct wio_cpl_bundle *b = op->bundle;

    if (!op->sends && b != NULL && b->past != NULL)
        b->past[op - b->ops].again = true;
}

/* Who has sent the mark has sent its alarm before. */
int wio_cpl_past_mark(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, size_t i)
{
    int rc;

    if (b->past == NULL || wio_cpl_head_read(b->type, b->buffers[i]).kind != MARK)
        return 0;
    b->past[i].marked = b->past[i].again = true;
    rc = wio_cpl_listen(cpl);
    if (rc == 0 && cpl->back.dead < 0)
        rc = wio_cpl_fail(WAITIO_ERR_PROTOCOL, "%s leaves to meet a component that has not died",
                          wio_cpl_who(cpl, rank_of(b, i)));
    if (rc == 0)
        rc = wio_cpl_come_back(cpl);
    return rc == 0 ? WIO_CPL_AGAIN : rc;
}

/* With a later lag the last that was sent may serve to the end of the run, however old it is. */
static bool may_serve(const struct wio_cpl_bundle *b, const struct wio_cpl_list *messages, size_t k)
{
    const struct wio_cpl_note *notes = messages->at;

    return b->shift > b->interval && (k + 1 == messages->n || notes[k + 1].kind == WIO_CPL_END);
}

/* A step of this time wants what is that old, or, at the end of the run, an interval older. */
void wio_cpl_past_trim(struct waitio_cpl *cpl, int component, int64_t time)
{
    for (size_t k = 0; k < cpl->bundles.n; k++) {
        struct wio_cpl_bundle *b = bundle_at(cpl, k);

        for (size_t i = 0; b->sends && b->past != NULL && other(b) == component && i < peers(b)->n;
             i++) {
            const struct wio_cpl_note *notes = b->past[i].messages.at;
            size_t old = 0;

            while (old < b->past[i].messages.n && notes[old].kind != WIO_CPL_END &&
                   notes[old].stamp < time + b->shift - b->interval &&
                   !may_serve(b, &b->past[i].messages, old))
                old++;
            drop(&b->past[i], old);
        }
    }
}

/* ---- before leaving ------------------------------------------------------------------------- */

static int send_mark(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, size_t i)
{
    const struct wio_cpl_head head = {WIO_CPL_VERSION, MARK, 0, b->layers};
    struct wio_cpl_parked *p = wio_cpl_push(&cpl->parked, sizeof *p);

    if (p == NULL)
        return WAITIO_ERR_NOMEM;
    p->op = (struct wio_cpl_op){.peer = rank_of(b, i), .sends = true};
    p->buffer = wio_cpl_new(WIO_CPL_HEAD, wio_cpl_width(b->type));
    if (p->buffer == NULL)
        return WAITIO_ERR_NOMEM;
    wio_cpl_head_write(b->type, p->buffer, &head);
    return WAITIO_MPI_Isend(p->buffer, WIO_CPL_HEAD, datatype(b), p->op.peer, b->tag, cpl->all,
                            &p->op.req) != 0
               ? wio_cpl_failed()
               : 0;
}

/* One message that is under way. @param into the buffer of the bundle, if a receive is posted there
 * @return 0; AGAIN: there are no more */
static int take(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, size_t i, void *into, size_t room,
                struct wio_cpl_op *op)
{
    struct wio_cpl_head head;
    int rc = wio_cpl_wait(cpl, op, 1);

    if (rc != 0)
        return rc;
    head = wio_cpl_head_read(b->type, into);
    if (head.kind == MARK)
        return WIO_CPL_AGAIN;
    wio_cpl_past_came(b, i, &head);
    return into == b->buffers[i] ? 0 : note(b, &b->past[i], into, room);
}

/* A step has posted a receive: what comes first is for it. */
static int take_posted(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, size_t i)
{
    int rc = take(cpl, b, i, b->buffers[i], 0, &b->ops[i]);

    b->past[i].again = rc == WIO_CPL_AGAIN;
    b->ops[i].req = WAITIO_MPI_REQUEST_NULL;
    return rc;
}

static int drain(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, size_t i)
{
    size_t n = WIO_CPL_HEAD + wio_cpl_bundle_numbers(b, i) * b->layers;
    void *into = wio_cpl_new(n, wio_cpl_width(b->type));
    int rc = into == NULL                  ? WAITIO_ERR_NOMEM
             : wio_cpl_is_over(&b->ops[i]) ? 0
                                           : take_posted(cpl, b, i);

    if (b->past[i].marked)
        rc = WIO_CPL_AGAIN;
    b->past[i].marked = false;
    while (rc == 0) {
        struct wio_cpl_op op = {.peer = rank_of(b, i)};

        if (WAITIO_MPI_Irecv(into, (int)n, datatype(b), op.peer, b->tag, cpl->all, &op.req) != 0)
            rc = other(b) == cpl->back.dead ? WIO_CPL_AGAIN : wio_cpl_failed();
        else
            rc = take(cpl, b, i, into, n, &op);
    }
    free(into);
    return rc == WIO_CPL_AGAIN ? 0 : rc;
}

/* Those to the dead one have ended with it, and are kept. Has another component died that may come
 * back, all hear of it when they meet. */
static int finish_send(struct waitio_cpl *cpl, struct wio_cpl_op *op)
{
    int rc =
        cpl->component_of[op->peer] != cpl->back.dead ? wio_cpl_wait(cpl, op, 1) : WIO_CPL_AGAIN;

    return rc == WIO_CPL_AGAIN ? 0 : rc;
}

static int finish_sends(struct waitio_cpl *cpl)
{
    struct wio_cpl_parked *parked = cpl->parked.at;
    int rc = 0;

    for (size_t k = 0; rc == 0 && k < cpl->parked.n; k++)
        rc = finish_send(cpl, &parked[k].op);
    for (size_t k = 0; rc == 0 && k < cpl->bundles.n; k++) {
        struct wio_cpl_bundle *b = bundle_at(cpl, k);

        for (size_t i = 0; rc == 0 && b->sends && b->busy && i < peers(b)->n; i++) {
            b->ops[i].bundle = b;
            rc = finish_send(cpl, &b->ops[i]);
            b->ops[i].req = WAITIO_MPI_REQUEST_NULL;
        }
    }
    return rc;
}

int wio_cpl_past_save(struct waitio_cpl *cpl)
{
    int rc = 0;

    for (size_t k = 0; rc == 0 && k < cpl->bundles.n; k++) {
        struct wio_cpl_bundle *b = bundle_at(cpl, k);

        for (size_t i = 0; rc == 0 && b->sends && other(b) != cpl->back.dead && i < peers(b)->n;
             i++)
            rc = send_mark(cpl, b, i);
    }
    for (size_t k = 0; rc == 0 && k < cpl->bundles.n; k++) {
        struct wio_cpl_bundle *b = bundle_at(cpl, k);

        for (size_t i = 0; rc == 0 && !b->sends && i < peers(b)->n; i++)
            rc = drain(cpl, b, i);
    }
    return rc == 0 ? finish_sends(cpl) : rc;
}

/* ---- in the new universe -------------------------------------------------------------------- */

static int knowledge_tag(const struct wio_cpl_bundle *b)
{
    return WIO_CPL_TAG_KNOWN + (b->tag - WIO_CPL_TAG_BUNDLE);
}

/* What is parked has been taken, or is among what is kept. */
static void forget_parked(struct waitio_cpl *cpl)
{
    struct wio_cpl_parked *parked = cpl->parked.at;

    for (size_t k = 0; k < cpl->parked.n; k++)
        free(parked[k].buffer);
    cpl->parked.n = 0;
}

static int send_again(struct waitio_cpl *cpl, const struct wio_cpl_bundle *b, size_t i)
{
    const struct wio_cpl_note *notes = b->past[i].messages.at;

    for (size_t k = 0; k < b->past[i].messages.n; k++) {
        size_t bytes = notes[k].n * wio_cpl_width(b->type);
        struct wio_cpl_parked *p = wio_cpl_push(&cpl->parked, sizeof *p);

        if (p == NULL)
            return WAITIO_ERR_NOMEM;
        p->op = (struct wio_cpl_op){.peer = rank_of(b, i), .sends = true};
        p->buffer = wio_cpl_new(bytes, 1);
        if (p->buffer == NULL || wio_cpl_trace(cpl, &p->op, b->tag, true, b) != 0)
            return WAITIO_ERR_NOMEM;
        memcpy(p->buffer, notes[k].bytes, bytes);
        if (WAITIO_MPI_Isend(p->buffer, (int)notes[k].n, datatype(b), p->op.peer, b->tag, cpl->all,
                             &p->op.req) != 0)
            return wio_cpl_failed();
    }
    return 0;
}

static int tell(struct waitio_cpl *cpl, const struct wio_cpl_bundle *b, size_t i, bool hears)
{
    struct wio_cpl_op op = {.peer = rank_of(b, i)};
    int rc = hears ? WAITIO_MPI_Irecv(&b->past[i].stamp, 1, WAITIO_MPI_INT64_T, op.peer,
                                      knowledge_tag(b), cpl->all, &op.req)
                   : WAITIO_MPI_Isend(&b->past[i].stamp, 1, WAITIO_MPI_INT64_T, op.peer,
                                      knowledge_tag(b), cpl->all, &op.req);

    return rc != 0 ? wio_cpl_failed() : wio_cpl_wait(cpl, &op, 1);
}

int wio_cpl_past_go_on(struct waitio_cpl *cpl, int newcomer)
{
    int rc = 0;

    forget_parked(cpl);
    for (size_t k = 0; rc == 0 && k < cpl->bundles.n; k++) {
        struct wio_cpl_bundle *b = bundle_at(cpl, k);

        for (size_t i = 0; rc == 0 && i < peers(b)->n; i++) {
            if (other(b) == newcomer)
                rc = b->sends ? send_again(cpl, b, i) : tell(cpl, b, i, false);
            if (rc == 0 && b->past[i].again) {
                b->past[i].again = false;
                rc = wio_cpl_bundle_post_one(cpl, b, i);
            }
        }
    }
    return rc;
}

int wio_cpl_past_hear(struct waitio_cpl *cpl)
{
    int rc = 0;

    for (size_t k = 0; rc == 0 && k < cpl->bundles.n; k++) {
        struct wio_cpl_bundle *b = bundle_at(cpl, k);

        for (size_t i = 0; rc == 0 && b->sends && i < peers(b)->n; i++)
            rc = tell(cpl, b, i, true);
    }
    return rc;
}
