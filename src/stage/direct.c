/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps that go straight to the readers. While nothing changes, the tree of writers, the first
 * writer and the stream's thread have nothing to decide: then the program's thread sends a note of
 * its step to the first reader, with its values, and the data that a reader took of the last step,
 * when it is short. A reader tells each writer that it has read a step, and the program's thread
 * hears it. What the parts of a process would say, nobody has to hear again: a part that changes
 * ends this.
 */
#include "stage/writer.h"

#include <stdlib.h>
#include <string.h>

/* The longest data that is pushed to a reader; longer data is fetched without a copy. */
enum { PUSH_MOST = 32768 };

static int tag_of(const struct wio_stg_writer *w, int which)
{
    return wio_stg_tag(w->direct.group, which);
}

/* What was sent is over. */
static void sweep(struct wio_stg_writer *w)
{
    struct wio_stg_event e;
    bool found = false;

    if (w->mouth.n > 0)
        (void)wio_stg_next(&w->mouth, 0, &e, &found);
}

static void say(struct wio_stg_writer *w, int reader, struct wio_stg_head *h,
                const struct wio_stg_bytes *body)
{
    h->incarnation = w->s->incarnation;
    /* A reader that has died is the first reader's affair, and the first writer's. */
    (void)wio_stg_tell(&w->mouth, w->direct.readers[reader], tag_of(w, WIO_STG_G_PUSH), h,
                       body != NULL ? body->at : NULL, body != NULL ? body->n : 0);
}

static bool same_part(const struct wio_stg_writer *w, const struct wio_stg_entry *e)
{
    return e->part.n == w->last_part.n && memcmp(e->part.at, w->last_part.at, e->part.n) == 0;
}

static void push(struct wio_stg_writer *w, struct wio_stg_entry *e)
{
    struct wio_stg_direct *d = &w->direct;
    struct wio_stg_bytes body[WIO_STG_DIRECT_READERS];
    struct wio_stg_head h = {.word = WIO_STG_PUSH, .a = e->step};
    int64_t plans[WIO_STG_DIRECT_READERS];
    uint64_t who = 0;

    memset(body, 0, (size_t)d->n * sizeof body[0]);
    wio_stg_put_raw(&body[0], e->values.at, e->values.n);
    for (int i = 0; i < d->n; i++)
        if (wio_stg_pack(w, e, d->readers[i], &body[i], &plans[i], PUSH_MOST) == 0)
            who |= (uint64_t)1 << i;
        else
            plans[i] = 0;
    h.b = (int64_t)who;
    for (int i = 0; i < d->n; i++) {
        h.c = i == 0 ? (int64_t)e->values.n : 0;
        h.d = plans[i];
        if (i == 0 || (who >> i & 1) != 0)
            say(w, i, &h, &body[i]);
        d->pushes += who >> i & 1;
        wio_stg_bytes_free(&body[i]);
    }
    e->direct = true;
    d->next = e->step + 1;
}

/* Steps go in their order, and not before they are prepared: that is the stream's thread's work,
 * which will put them then. */
static bool waits(const struct wio_stg_writer *w, const struct wio_stg_entry *e)
{
    for (const struct wio_stg_entry *x = w->first; x != e; x = x->next)
        if (!x->told && !x->direct)
            return true;
    return !e->prepared;
}

bool wio_stg_direct_put(struct wio_stg_writer *w, struct wio_stg_entry *e)
{
    if (!w->direct.on || w->code != 0 || w->closing || waits(w, e))
        return false;
    sweep(w);
    if (!same_part(w, e)) {
        wio_stg_direct_over(w, true);
        return false;
    }
    push(w, e);
    return true;
}

void wio_stg_direct_over(struct wio_stg_writer *w, bool tells)
{
    struct wio_stg_head h = {.word = WIO_STG_OVER, .a = w->direct.next};

    if (!w->direct.on)
        return;
    w->direct.on = false;
    w->direct.limbo = true;
    if (tells)
        say(w, 0, &h, NULL);
    wio_stg_changed(w);
}

void wio_stg_direct_resume(struct wio_stg_writer *w, int64_t group, int64_t step)
{
    pthread_mutex_lock(&w->lock);
    if (w->direct.group == group && (w->direct.on || w->direct.limbo)) {
        wio_stg_direct_over(w, true);
        w->direct.limbo = false;
        for (struct wio_stg_entry *e = w->first; e != NULL; e = e->next)
            if (e->step >= step)
                e->direct = false;
        w->again = true;
    }
    pthread_mutex_unlock(&w->lock);
}

/* A group that leaves has said which steps it did not read: those are not direct any more. One that
 * has died has read these on some writers, and not on others; they are given up. */
void wio_stg_direct_gone(struct wio_stg_writer *w, int64_t group)
{
    pthread_mutex_lock(&w->lock);
    if (w->direct.group == group && w->direct.n > 0) {
        /* If it had said what it wants next, all would have told the steps from there on. */
        w->resend = w->resend || w->direct.on || w->direct.limbo;
        wio_stg_direct_over(w, false);
        w->direct.limbo = false;
        for (struct wio_stg_entry *e = w->first, *next; e != NULL; e = next) {
            next = e->next;
            if (!e->direct)
                continue;
            e->direct = false;
            e->told = e->released = true;
            (void)wio_stg_drop_if_done(w, e);
        }
        w->again = true;
    }
    pthread_mutex_unlock(&w->lock);
}

/* ---- begin ---------------------------------------------------------------------------------- */

static int set_readers(struct wio_stg_writer *w, const struct wio_stg_head *h, const void *body,
                       size_t n)
{
    struct wio_stg_direct *d = &w->direct;
    struct wio_stg_scan s = {body, n, false};
    int size = 0, count = (int)(n / 4);

    if (waitio_universe_size(&size) != 0 || count < 1 || n % 4 != 0 ||
        n / 4 > WIO_STG_DIRECT_READERS)
        return wio_stg_fail(WAITIO_ERR_PROTOCOL, "malformed list of readers");
    if (d->group == h->a && d->n == count)
        return 0; /* as before, and so are the steps that they have read */
    free(d->readers);
    free(d->acked);
    d->n = 0;
    d->readers = wio_stg_new((size_t)count, sizeof *d->readers);
    d->acked = wio_stg_new((size_t)count, sizeof *d->acked);
    if (d->readers == NULL || d->acked == NULL)
        return WAITIO_ERR_NOMEM;
    for (int i = 0; i < count; i++) {
        d->readers[i] = (int)wio_stg_take_u32(&s);
        d->acked[i] = -1;
        if (d->readers[i] < 0 || d->readers[i] >= size)
            return wio_stg_fail(WAITIO_ERR_PROTOCOL, "%d is no process", d->readers[i]);
    }
    d->n = count;
    d->group = h->a;
    return 0;
}

/* Steps that wait in the queue are pushed; what the tree has heard of them, it forgets. A part that
 * has changed in one of them must travel again. */
static void begin(struct wio_stg_writer *w, int64_t from)
{
    bool fits = w->part_since < from;

    w->direct.on = true;
    w->direct.limbo = false;
    w->direct.next = from;
    if (!fits)
        w->last_part.n = 0;
    for (struct wio_stg_entry *e = w->first; e != NULL; e = e->next) {
        if (e->step < from)
            continue;
        e->told = false;
        if (fits)
            (void)wio_stg_direct_put(w, e);
    }
    if (!fits || w->closing)
        wio_stg_direct_over(w, true);
    w->end_told = false;
    w->again = true;
    wio_stg_changed(w); /* the program's thread shall listen now */
}

int wio_stg_direct_begin(struct wio_stg_writer *w, const struct wio_stg_head *h, const void *body,
                         size_t n)
{
    int rc;

    w->epoch++;
    wio_stg_drop_gathers(w, h->b, false);
    pthread_mutex_lock(&w->lock);
    rc = set_readers(w, h, body, n);
    if (rc == 0)
        begin(w, h->b);
    pthread_mutex_unlock(&w->lock);
    return rc;
}

/* ---- what readers have read ----------------------------------------------------------------- */

bool wio_stg_direct_acked(const struct wio_stg_direct *d, int64_t step)
{
    for (int i = 0; i < d->n; i++)
        if (d->acked[i] < step)
            return false;
    return true;
}

bool wio_stg_direct_all_acked(const struct wio_stg_writer *w)
{
    for (const struct wio_stg_entry *e = w->first; e != NULL; e = e->next)
        if (e->direct && !wio_stg_direct_acked(&w->direct, e->step))
            return false;
    return true;
}

bool wio_stg_direct_listens(const struct wio_stg_writer *w)
{
    if (w->direct.on)
        return true;
    for (const struct wio_stg_entry *e = w->first; e != NULL; e = e->next)
        if (e->direct)
            return true;
    return false;
}

/* With the lock. The ears hear the readers of the group that gets steps straight. */
static int prick_ears(struct wio_stg_writer *w)
{
    struct wio_stg_direct *d = &w->direct;
    int rc = 0;

    if (w->ears.n > 0 && w->ears_group == d->group)
        return 0;
    (void)wio_stg_office_close(&w->ears, 0);
    w->ears_group = d->group;
    rc = wio_stg_await(&w->ears, w->s->me, WIO_STG_T_NUDGE, WIO_STG_K_NUDGE, NULL);
    for (int i = 0; rc == 0 && i < d->n; i++)
        rc = wio_stg_await(&w->ears, d->readers[i], tag_of(w, WIO_STG_G_ACK), WIO_STG_K_ACK,
                           (void *)(intptr_t)i);
    return rc;
}

static void drop_acked(struct wio_stg_writer *w)
{
    struct wio_stg_entry *e, *next;

    for (e = w->first; e != NULL; e = next) {
        next = e->next;
        if (e->direct)
            (void)wio_stg_drop_if_done(w, e);
    }
}

/* One that has died is not listened to any more: the first writer hears of it. */
static void heard(struct wio_stg_writer *w, const struct wio_stg_event *e)
{
    int who = (int)(intptr_t)e->with;

    if (e->rc != 0)
        return;
    if (e->kind == WIO_STG_K_NUDGE) {
        (void)wio_stg_await(&w->ears, w->s->me, WIO_STG_T_NUDGE, WIO_STG_K_NUDGE, NULL);
        return;
    }
    (void)wio_stg_await(&w->ears, e->source, tag_of(w, WIO_STG_G_ACK), WIO_STG_K_ACK, e->with);
    if (w->ears_group != w->direct.group || who >= w->direct.n || e->head.word != WIO_STG_ACK ||
        e->head.incarnation != w->s->incarnation)
        return;
    if (e->head.a > w->direct.acked[who])
        w->direct.acked[who] = e->head.a;
    drop_acked(w);
}

void wio_stg_direct_hear(struct wio_stg_writer *w, double seconds)
{
    struct wio_stg_event e;
    bool found = false;
    int rc = prick_ears(w);

    if (rc != 0)
        return;
    w->listening = true;
    pthread_mutex_unlock(&w->lock);
    rc = wio_stg_next(&w->ears, seconds, &e, &found);
    pthread_mutex_lock(&w->lock);
    w->listening = false;
    while (rc == 0 && found) { /* and what else has come */
        heard(w, &e);
        wio_stg_event_end(&e);
        found = false;
        rc = wio_stg_next(&w->ears, 0, &e, &found);
    }
}

void wio_stg_direct_free(struct wio_stg_writer *w)
{
    (void)wio_stg_office_close(&w->ears, 0);
    (void)wio_stg_office_close(&w->mouth, 5);
    free(w->direct.readers);
    free(w->direct.acked);
}
