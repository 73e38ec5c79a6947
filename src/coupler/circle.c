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
 *
 * Calls that processes make together are waits, too (collective.c). Who waits in a broadcast asks
 * its root. Who waits in another one waits for each member that has not come. It asks the first
 * member, which asks those that have not told it that they have come; the first time it is only
 * told.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "coupler/cpl.h"

/* An alarm's text begins with a name, a question with this. */
#define MARK '?'
enum { QUESTION = 1300, ONE = 330, TOLD = 800 };
/* Most questions of one wait that are told apart: more than a wait can ask. */
enum { ASKED = 1 << 20 };
/* Most processes to which one question goes at once. */
enum { AT_ONCE = 8 };
/* A question that is none yet: a member tells the first one that it waits. */
enum { ONLY_TOLD = -1 };

/* A question on its way. */
struct question {
    int asker;        /* universe rank of who asked first */
    long long number; /* of its questions: that of its wait, times ASKED, and one more each time */
    int hops;         /* how often it was passed on */
    /* The last one on its way waits for a message of a stream, to be taken or to come; or in a call
     * of several processes, whose set is -tag, for the root sends or for all. */
    int waiter, tag, sends;
    long long turn;   /* number of the message, or call */
    const char *told; /* who waits where */
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

static void tell_set(const struct waitio_cpl *cpl, const struct wio_cpl_op *op, const char *own,
                     char *out)
{
    char set[140];

    wio_cpl_set_text(cpl, op->set, set, sizeof set);
    if (op->root > 0)
        wio_cpl_text(out, ONE, "%s waits until %s broadcasts to %s", own,
                     wio_cpl_who(cpl, op->root - 1), set);
    else
        wio_cpl_text(out, ONE, "%s waits in a call that all processes of %s make together", own,
                     set);
}

static void tell(const struct waitio_cpl *cpl, const struct wio_cpl_op *op, char *out)
{
    char own[140], other[140] = "";

    wio_cpl_text(own, sizeof own, "%s", wio_cpl_who(cpl, cpl->me));
    if (op->peer >= 0)
        wio_cpl_text(other, sizeof other, "%s", wio_cpl_who(cpl, op->peer));
    if (op->set != 0)
        tell_set(cpl, op, own, out);
    else if (op->bundle != NULL)
        tell_bundle(cpl, op, out);
    else if (op->tag == WIO_CPL_TAG_GREET)
        wio_cpl_text(out, ONE, "%s waits until %s defines the same table, or starts", own, other);
    else
        wio_cpl_text(out, ONE, "%s waits until %s %s a message with tag %d", own, other,
                     op->sends ? "receives" : "sends", op->tag - WIO_CPL_TAG_USER);
}

/* ---- questions ------------------------------------------------------------------------------- */

/* Whom a process asks that waits so. -1: nobody */
static int whom(const struct waitio_cpl *cpl, const struct wio_cpl_op *op)
{
    if (op == NULL)
        return -1;
    if (op->set != 0)
        return op->root > 0 ? op->root - 1 : wio_cpl_set_member(cpl, op->set, 0);
    return op->tag != 0 ? op->peer : -1;
}

static void send(struct waitio_cpl *cpl, int to, const struct question *q)
{
    char text[QUESTION];

    wio_cpl_text(text, sizeof text, "%c%d %lld %d %d %d %d %lld\n%.*s", MARK, q->asker, q->number,
                 q->hops, q->waiter, q->tag, q->sends, q->turn, QUESTION - 200, q->told);
    (void)wio_cpl_alarm_send(cpl, to, text, strlen(text) + 1);
}

/* The first member asks those that have not come, as far as it knows. Where many have not, they
 * compute, as a rule: each question goes to some of them, the next one of the same wait to the
 * next. */
static void ask_members(struct waitio_cpl *cpl, const struct question *q)
{
    int set = -q->tag, n = 0, from = 0, i = -1;

    while ((i = wio_cpl_collective_lacks(cpl, set, q->turn, i + 1)) >= 0)
        n++;
    if (n > AT_ONCE)
        from = (int)(q->number % ASKED * AT_ONCE % n);
    for (int k = 0; (i = wio_cpl_collective_lacks(cpl, set, q->turn, i + 1)) >= 0; k++)
        if ((k - from + n) % n < AT_ONCE)
            send(cpl, wio_cpl_set_member(cpl, set, i), q);
}

/* Pass a question on to whom this process waits for. */
static void pass(struct waitio_cpl *cpl, const struct question *q)
{
    const struct wio_cpl_op *op = cpl->waiting;
    int to = whom(cpl, op);
    struct question next = *q;
    char told[QUESTION], mine[ONE];

    tell(cpl, op, mine);
    wio_cpl_text(told, sizeof told, "%.*s%s%s", TOLD, q->told, q->told[0] != '\0' ? "; " : "",
                 strlen(q->told) < TOLD ? mine : "...");
    next.told = told;
    next.waiter = cpl->me;
    next.tag = op->set != 0 ? -op->set : op->tag;
    next.sends = op->set != 0 ? op->root : op->sends;
    next.turn = (long long)op->turn;
    if (to == cpl->me) /* the first member itself */
        ask_members(cpl, &next);
    else
        send(cpl, to, &next);
}

void wio_cpl_circle_ask(struct waitio_cpl *cpl)
{
    struct question q = {.asker = cpl->me, .told = ""};
    const struct wio_cpl_op *op = cpl->waiting;

    if (cpl->streams == NULL || whom(cpl, op) < 0)
        return;
    if (cpl->asked_in != cpl->waits)
        cpl->asked = 0;
    cpl->asked_in = cpl->waits;
    q.number = (long long)(cpl->waits * ASKED + cpl->asked);
    q.hops = op->set != 0 && op->root == 0 && cpl->asked == 0 ? ONLY_TOLD : 0;
    cpl->asked += cpl->asked < ASKED - 1;
    if (q.hops == 0 || whom(cpl, op) != cpl->me)
        pass(cpl, &q);
}

bool wio_cpl_circle_is_question(const char *text)
{
    return text[0] == MARK;
}

static bool read_question(const struct waitio_cpl *cpl, const char *text, struct question *q)
{
    int used = 0;

    if (sscanf(text + 1, "%d %lld %d %d %d %d %lld%n", &q->asker, &q->number, &q->hops, &q->waiter,
               &q->tag, &q->sends, &q->turn, &used) != 7)
        return false;
    q->told = text + 1 + used;
    if (*q->told == '\n')
        q->told++;
    return q->asker >= 0 && q->asker < cpl->size && q->waiter >= 0 && q->waiter < cpl->size &&
           q->hops >= ONLY_TOLD &&
           (q->tag >= 0 || (q->tag > -INT_MAX && wio_cpl_set_exists(cpl, -q->tag)));
}

/* Has this process done its part of what is waited for? */
static bool under_way(struct waitio_cpl *cpl, const struct question *q)
{
    const struct wio_cpl_stream *s;

    if (q->tag < 0)
        return wio_cpl_collectives(cpl, -q->tag) >= q->turn;
    s = stream(cpl, q->waiter, q->tag);
    return s == NULL || (q->sends != 0 ? s->received : s->sent) >= q->turn;
}

/* @return true: this was for the first member of a set, which has come itself */
static bool hear_as_first(struct waitio_cpl *cpl, const struct question *q)
{
    int set = -q->tag;

    if (q->tag >= 0 || q->sends != 0 || wio_cpl_set_member(cpl, set, 0) != cpl->me)
        return false;
    if (wio_cpl_collective_told(cpl, set, q->waiter, q->turn) && q->hops != ONLY_TOLD &&
        under_way(cpl, q))
        ask_members(cpl, q);
    return q->hops == ONLY_TOLD || under_way(cpl, q);
}

int wio_cpl_circle_hear(struct waitio_cpl *cpl, const char *text)
{
    struct question q;

    if (cpl->streams == NULL || !read_question(cpl, text, &q) || hear_as_first(cpl, &q) ||
        q.hops == ONLY_TOLD || under_way(cpl, &q))
        return 0;
    if (cpl->leaving && (q.tag >= 0 || q.sends != 0)) /* nothing more comes of it */
        return wio_cpl_fail(WAITIO_ERR_STATE, "component '%s' has ended its run, but %s",
                            cpl->components[cpl->mine].name, q.told);
    if (q.asker == cpl->me)
        return cpl->waiting == NULL || q.number / ASKED != (long long)cpl->waits
                   ? 0
                   : wio_cpl_fail(WAITIO_ERR_STATE,
                                  "the components wait for each other in a circle and would do so "
                                  "for ever: %s; let one of them put or send before it gets or "
                                  "receives, or give one variable lag = -1; calls that processes "
                                  "make together come in the same order on all of them",
                                  q.told);
    if (whom(cpl, cpl->waiting) >= 0 && q.number > cpl->questions[q.asker] &&
        ++q.hops <= cpl->size) {
        cpl->questions[q.asker] = q.number;
        pass(cpl, &q);
    }
    return 0;
}
