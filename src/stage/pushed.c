/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps that come straight from the writers (direct.c). The first reader gets a note of each
 * writer, and with all of them the step: so it is still one process that decides for its group, and
 * tells the others. Short data comes at the same time, to whom has wanted it in the last step.
 */
#include "stage/reader.h"

#include <stdlib.h>
#include <string.h>

static int await_source(struct waitio_stage *s, int writer)
{
    struct wio_stg_reader *r = s->r;
    struct wio_stg_source *src = &r->sources[writer];
    int rc;

    if (src->awaited || src->has)
        return 0;
    rc = wio_stg_await(&r->office, r->writers[writer], wio_stg_tag(r->group, WIO_STG_G_PUSH),
                       WIO_STG_K_PUSH, (void *)(intptr_t)writer);
    src->awaited = rc == 0;
    return rc;
}

static void drop(struct wio_stg_source *src)
{
    if (src->has)
        wio_stg_event_end(&src->e);
    src->has = false;
}

static int make_sources(struct wio_stg_reader *r)
{
    if (r->sources == NULL)
        r->sources = wio_stg_new((size_t)r->n_writers, sizeof *r->sources);
    return r->sources == NULL ? WAITIO_ERR_NOMEM : 0;
}

/* Is the message of this writer that of @p step? What is older is thrown away.
 * @param[out] over it says that it does not push the step */
static int look_at(struct waitio_stage *s, int writer, int64_t step, bool *over)
{
    struct wio_stg_source *src = &s->r->sources[writer];
    const struct wio_stg_head *h = &src->e.head;
    bool is_over;

    if (!src->has)
        return 0;
    if (src->e.rc != 0)
        return wio_stg_fail(src->e.rc, "writer %d has died or left", writer);
    is_over = h->word == WIO_STG_OVER;
    if (h->incarnation != s->incarnation) { /* of an earlier stream of this name */
        drop(src);
        return 0;
    }
    if (!is_over && h->word != WIO_STG_PUSH)
        return wio_stg_fail(WAITIO_ERR_PROTOCOL, "writer %d has sent what is no step", writer);
    if (src->drain || (!is_over && h->a < step)) {
        src->drain = src->drain && !is_over;
        drop(src);
        return 0;
    }
    if (h->a > step || h->c < 0 || (uint64_t)h->c > src->e.n_body)
        return wio_stg_fail(WAITIO_ERR_PROTOCOL,
                            "writer %d has pushed step %lld in the place of "
                            "step %lld",
                            writer, (long long)h->a, (long long)step);
    *over = *over || is_over;
    return 0;
}

/* @param[out] missing writers of @p which that have not said anything of the step yet */
static int look_at_all(struct waitio_stage *s, int64_t step, const bool *which, int *missing,
                       bool *over)
{
    int rc = 0;

    *missing = 0;
    for (int w = 0; rc == 0 && w < s->r->n_writers; w++) {
        if (which != NULL && !which[w])
            continue;
        rc = look_at(s, w, step, over);
        if (rc == 0 && !s->r->sources[w].has) {
            ++*missing;
            rc = await_source(s, w);
        }
    }
    return rc;
}

/* One event, which may be of anybody. */
static int hear_one(struct waitio_stage *s, double until)
{
    struct wio_stg_event e;
    bool found = false;
    int rc = wio_stg_next(&s->r->office, until - wio_stg_now(), &e, &found);

    if (rc != 0)
        return rc;
    return found ? wio_stg_put_aside(s, &e) : WAITIO_ERR_TIMEOUT;
}

/* The values of all writers, as the first writer would tell them: in the writers' byte order. They
 * are joined in the order of this machine, for that compares them: a minimum is the smallest. */
static int join_values(const struct wio_stg_reader *r, struct wio_stg_bytes *b)
{
    struct wio_stg_values all = {NULL, 0, 0};
    int rc = 0;

    for (int w = 0; rc == 0 && w < r->n_writers; w++) {
        const struct wio_stg_event *e = &r->sources[w].e;
        size_t n = (size_t)e->head.c;

        rc = r->swaps ? wio_stg_values_add_swapped(&all, e->body, n)
                      : wio_stg_values_add(&all, e->body, n);
    }
    if (r->swaps)
        wio_stg_values_swap(&all);
    if (rc == 0)
        wio_stg_values_write(&all, b);
    wio_stg_values_free(&all);
    return rc;
}

/* The notes as the first writer would tell the step. */
static int make_step(struct waitio_stage *s, int64_t step, struct wio_stg_event *e)
{
    struct wio_stg_reader *r = s->r;
    struct wio_stg_bytes b = {NULL, 0, 0, false};
    int rc;

    for (int w = 0; w < r->n_writers; w++)
        wio_stg_put_u64(&b, (uint64_t)r->sources[w].e.head.b);
    rc = join_values(r, &b);
    if (rc == 0 && b.bad)
        rc = WAITIO_ERR_NOMEM;
    *e = (struct wio_stg_event){.source = r->writers[0]};
    e->head = (struct wio_stg_head){.word = WIO_STG_STEP,
                                    .incarnation = s->incarnation,
                                    .a = step,
                                    .b = (int64_t)r->serial,
                                    .d = WIO_STG_D_PUSHED | WIO_STG_D_NEXT};
    e->body = e->hold = b.at;
    e->n_body = b.n;
    return rc;
}

/* A word of the first writer that is not awaited: the stream has failed. */
static bool failure_told(struct wio_stg_reader *r, struct wio_stg_event *e)
{
    if (!r->told || (r->early.rc == 0 && r->early.head.word != WIO_STG_FAILED))
        return false;
    *e = r->early;
    r->told = false;
    if (e->rc != 0)
        (void)wio_stg_fail(e->rc, "it has died or left");
    return true;
}

int wio_stg_pushed_hear(struct waitio_stage *s, double until, struct wio_stg_event *e, bool *over)
{
    int64_t step = s->step + 1;
    int rc = make_sources(s->r), missing = 0;

    *over = false;
    if (rc == 0)
        rc = wio_stg_await_children(s);
    while (rc == 0) {
        rc = look_at_all(s, step, NULL, &missing, over);
        if (rc != 0 || missing == 0 || *over)
            break;
        rc = hear_one(s, until);
        if (rc == 0 && failure_told(s->r, e))
            return 0;
    }
    if (rc != 0 || *over)
        return rc;
    return make_step(s, step, e);
}

void wio_stg_pushed_leave(struct waitio_stage *s)
{
    struct wio_stg_reader *r = s->r;

    r->direct_next = false;
    for (int w = 0; r->sources != NULL && w < r->n_writers; w++) {
        struct wio_stg_source *src = &r->sources[w];

        src->drain = !src->has || src->e.rc != 0 || src->e.head.word != WIO_STG_OVER;
        drop(src);
    }
}

static int wait_for_data(struct waitio_stage *s, const bool *which)
{
    double until = wio_stg_now() + s->set.limit;
    bool over = false;
    int missing = 0, rc;

    for (;;) {
        rc = look_at_all(s, s->step, which, &missing, &over);
        if (rc == 0 && over)
            rc = wio_stg_fail(WAITIO_ERR_PROTOCOL, "a writer ends where it has promised data");
        if (rc != 0 || missing == 0)
            return rc;
        rc = hear_one(s, until);
        if (rc == WAITIO_ERR_TIMEOUT)
            return wio_stg_fail(rc, "%d writers have not sent within %g s what they had pushed",
                                missing, s->set.limit);
        if (rc != 0)
            return rc;
    }
}

int wio_stg_pushed_take(struct waitio_stage *s, struct wio_stg_scan *masks)
{
    struct wio_stg_reader *r = s->r;
    bool *which;
    int rc = make_sources(r);

    which = rc == 0 ? wio_stg_new((size_t)r->n_writers, sizeof *which) : NULL;
    if (which == NULL)
        return WAITIO_ERR_NOMEM;
    for (int w = 0; w < r->n_writers; w++)
        which[w] = (wio_stg_take_u64(masks) >> (s->rank & 63) & 1) != 0 &&
                   s->rank < WIO_STG_DIRECT_READERS;
    if (masks->bad)
        rc = wio_stg_fail(WAITIO_ERR_PROTOCOL, "malformed step of reader %d",
                          wio_stg_parent(s->rank));
    else
        rc = wait_for_data(s, which);
    free(which);
    return rc;
}

size_t wio_stg_pushed_data(const struct waitio_stage *s, uint32_t writer,
                           const unsigned char **data)
{
    const struct wio_stg_source *src = s->r->sources != NULL ? &s->r->sources[writer] : NULL;

    if (!s->r->direct || src == NULL || !src->has || src->e.head.d != s->r->plan_number)
        return 0;
    *data = src->e.body + src->e.head.c;
    return src->e.n_body - (size_t)src->e.head.c;
}

int wio_stg_pushed_end(struct waitio_stage *s)
{
    struct wio_stg_head ack = {.word = WIO_STG_ACK, .incarnation = s->incarnation, .a = s->step};
    struct wio_stg_reader *r = s->r;
    int rc = 0;

    for (int w = 0; rc == 0 && w < r->n_writers; w++) {
        if (r->sources[w].has && r->sources[w].e.head.a <= s->step)
            drop(&r->sources[w]);
        rc = wio_stg_tell(&r->office, r->writers[w], wio_stg_tag(r->group, WIO_STG_G_ACK), &ack,
                          NULL, 0);
    }
    return rc;
}

void wio_stg_pushed_free(struct wio_stg_reader *r)
{
    for (int w = 0; r->sources != NULL && w < r->n_writers; w++)
        drop(&r->sources[w]);
    free(r->sources);
    free(r->ups);
}
