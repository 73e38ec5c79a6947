/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does a process wait for itself? The order of puts and gets with lag 0, and of a program's own
 * messages, is not known beforehand, so circles of waits show only while they last.
 *
 * Messages of a tag between two processes are a stream, and are numbered on both sides. Who has
 * waited long for a message sends a question to the process that owes it. That one drops it when it
 * has begun to send this message (it is under way), or when it computes. If it waits itself, it
 * adds what for, and passes the question on to whom it waits for. When the question comes back to
 * who asked, still in the same wait, each process on its way waited for a message that the next one
 * had not sent, and could not send before its own wait ended: nobody in the circle can ever go on.
 */
#include <stdio.h>
#include <string.h>

#include "coupler/cpl.h"

/* An alarm's text begins with a name, a question with this. */
#define MARK '?'
enum { QUESTION = 1300, ONE = 330, TOLD = 800 };

/* A question on its way. */
struct question {
    int asker;       /* universe rank of who asked first */
    long long waits; /* the wait in which it did */
    int hops;        /* how often it was passed on */
    int waiter, tag; /* the last one on its way waits for a message of this stream ... */
    int sends;       /* ... to be taken, or to come ... */
    long long turn;  /* ... the one of this number */
    const char *told;
};

static struct wio_cpl_stream *stream(struct waitio_cpl *cpl, int peer, int tag)
{
    struct wio_cpl_list *all = &cpl->streams[peer];
    struct wio_cpl_stream *s = all->at;

    for (size_t i = 0; i < all->n; i++)
        if (s[i].tag == tag)
            return &s[i];
    s = wio_cpl_push(all, sizeof *s);
    if (s != NULL)
        s->tag = tag;
    return s;
}

int wio_cpl_trace(struct waitio_cpl *cpl, struct wio_cpl_op *op, int tag, bool sends,
                  const struct wio_cpl_bundle *bundle)
{
    struct wio_cpl_stream *s = stream(cpl, op->peer, tag);

    if (s == NULL)
        return WAITIO_ERR_NOMEM;
    op->tag = tag;
    op->sends = sends;
    op->turn = sends ? ++s->sent : ++s->received;
    op->bundle = bundle;
    return 0;
}

/* ---- what a process waits for, in words ------------------------------------------------------ */

static void tell_bundle(const struct waitio_cpl *cpl, const struct wio_cpl_op *op, char *out)
{
    const struct wio_cpl_bundle *b = op->bundle;
    const struct wio_cpl_link *l = ((struct wio_cpl_var **)b->vars.at)[0]->link;
    const char *own = cpl->components[cpl->mine].name;
    const char *other = cpl->components[cpl->component_of[op->peer]].name;
    long long now = (long long)cpl->clock.now;

    if (op->sends)
        wio_cpl_text(out, ONE, "component '%.60s' waits until component '%.60s' takes '%.60s'", own,
                     other, l->var_get);
    else if (b->now)
        wio_cpl_text(
            out, ONE,
            "component '%.60s' gets '%.60s' (%.60s:%d) in its step at %lld s, and component "
            "'%.60s' has not put it",
            own, l->var_get, cpl->conf.file, l->line, now, other);
    else
        wio_cpl_text(out, ONE,
                     "component '%.60s' begins its step at %lld s, which needs '%.60s' (%.60s:%d) "
                     "of component '%.60s'",
                     own, now, l->var_get, cpl->conf.file, l->line, other);
}

static void tell(const struct waitio_cpl *cpl, const struct wio_cpl_op *op, char *out)
{
    char own[140], other[140];

    wio_cpl_text(own, sizeof own, "%s", wio_cpl_who(cpl, cpl->me));
    wio_cpl_text(other, sizeof other, "%s", wio_cpl_who(cpl, op->peer));
    if (op->bundle != NULL)
        tell_bundle(cpl, op, out);
    else if (op->tag == WIO_CPL_TAG_GREET)
        wio_cpl_text(out, ONE, "%s waits until %s defines the same table, or starts", own, other);
    else
        wio_cpl_text(out, ONE, "%s waits until %s %s a message with tag %d", own, other,
                     op->sends ? "receives" : "sends", op->tag - WIO_CPL_TAG_USER);
}

/* ---- questions ------------------------------------------------------------------------------- */

static void pass(struct waitio_cpl *cpl, const struct question *q)
{
    const struct wio_cpl_op *op = cpl->waiting;
    char text[QUESTION], mine[ONE];

    tell(cpl, op, mine);
    wio_cpl_text(text, sizeof text, "%c%d %lld %d %d %d %d %lld\n%.*s%s%s", MARK, q->asker,
                 q->waits, q->hops, cpl->me, op->tag, op->sends, (long long)op->turn, TOLD, q->told,
                 q->hops > 0 ? "; " : "", strlen(q->told) < TOLD ? mine : "...");
    (void)wio_cpl_alarm_send(cpl, op->peer, text, strlen(text) + 1);
}

static bool traced(const struct wio_cpl_op *op)
{
    return op != NULL && op->tag != 0 && op->peer >= 0;
}

void wio_cpl_circle_ask(struct waitio_cpl *cpl)
{
    struct question q = {.asker = cpl->me, .waits = (long long)cpl->waits, .told = ""};

    if (cpl->streams != NULL && traced(cpl->waiting))
        pass(cpl, &q);
}

bool wio_cpl_circle_is_question(const char *text)
{
    return text[0] == MARK;
}

static bool read_question(const struct waitio_cpl *cpl, const char *text, struct question *q)
{
    int used = 0;

    if (sscanf(text + 1, "%d %lld %d %d %d %d %lld%n", &q->asker, &q->waits, &q->hops, &q->waiter,
               &q->tag, &q->sends, &q->turn, &used) != 7)
        return false;
    q->told = text + 1 + used;
    if (*q->told == '\n')
        q->told++;
    return q->waiter >= 0 && q->waiter < cpl->size && q->hops >= 0;
}

/* Has this process done its part of the message that is waited for? */
static bool under_way(struct waitio_cpl *cpl, const struct question *q)
{
    const struct wio_cpl_stream *s = stream(cpl, q->waiter, q->tag);

    return s == NULL || (q->sends != 0 ? s->received : s->sent) >= q->turn;
}

int wio_cpl_circle_hear(struct waitio_cpl *cpl, const char *text)
{
    struct question q;

    if (cpl->streams == NULL || !read_question(cpl, text, &q) || under_way(cpl, &q))
        return 0;
    if (cpl->leaving)
        return wio_cpl_fail(WAITIO_ERR_STATE, "component '%s' has ended its run, but %s",
                            cpl->components[cpl->mine].name, q.told);
    if (q.asker == cpl->me)
        return cpl->waiting == NULL || q.waits != (long long)cpl->waits
                   ? 0
                   : wio_cpl_fail(WAITIO_ERR_STATE,
                                  "the components wait for each other in a circle and would do so "
                                  "for ever: %s; let one of them put or send before it gets or "
                                  "receives, or give one variable lag = -1",
                                  q.told);
    if (traced(cpl->waiting) && ++q.hops <= cpl->size)
        pass(cpl, &q);
    return 0;
}
