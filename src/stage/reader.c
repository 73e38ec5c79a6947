/* SPDX-License-Identifier: BSD-3-Clause */
/* A reader: opening, steps, closing. */
#include "stage/reader.h"

#include <stdlib.h>
#include <string.h>

enum { ASKS = 1, LATEST = 2 };

/* The first step that this process has not read to its end. */
static int64_t unread(const struct waitio_stage *s)
{
    return s->in_step ? s->step : s->r->wanted;
}

/* What another process says of a failure. */
static int heard_failure(const struct wio_stg_event *e)
{
    return wio_stg_fail(e->head.a < 0 ? (int)e->head.a : WAITIO_ERR_PROTOCOL, "%.*s",
                        (int)(e->n_body < 900 ? e->n_body : 900),
                        e->n_body > 0 ? (const char *)e->body : "");
}

/* @return 0; the failure of a child; frees the event */
static int child_said(struct waitio_stage *s, int child, struct wio_stg_event *e)
{
    char why[WIO_STG_WHY];
    int rc = e->rc;

    if (rc != 0) {
        wio_stg_text(why, sizeof why, "%s", wio_stg_why());
        rc = wio_stg_fail(rc, "reader %d has died or left: %s", wio_stg_child(s->rank, child), why);
    } else if (e->head.word == WIO_STG_FAILED) {
        rc = heard_failure(e);
    }
    wio_stg_event_end(e);
    return rc;
}

int wio_stg_put_aside(struct waitio_stage *s, struct wio_stg_event *e)
{
    struct wio_stg_reader *r = s->r;
    int who = (int)(intptr_t)e->with;

    if (e->kind == WIO_STG_K_TOLD && !r->told) {
        r->told = true;
        r->early = *e;
        return 0;
    }
    if (e->kind == WIO_STG_K_PUSH) {
        r->sources[who].awaited = false;
        r->sources[who].has = true;
        r->sources[who].e = *e;
        return 0;
    }
    if (e->kind == WIO_STG_K_UP) {
        r->ups[who] = false;
        r->came_up++;
        return child_said(s, who, e);
    }
    wio_stg_event_end(e);
    return 0;
}

int wio_stg_hear(struct waitio_stage *s, int kind, double until, struct wio_stg_event *e)
{
    struct wio_stg_reader *r = s->r;

    if (kind == WIO_STG_K_TOLD && r->told) {
        r->told = false;
        *e = r->early;
        if (e->rc != 0) /* its text is over */
            (void)wio_stg_fail(e->rc, "the first writer has died or left");
        return 0;
    }
    for (;;) {
        bool found = false;
        int rc = wio_stg_next(&r->office, until - wio_stg_now(), e, &found);

        if (rc != 0)
            return rc;
        if (!found)
            return WAITIO_ERR_TIMEOUT;
        if (e->kind == kind)
            return 0;
        rc = wio_stg_put_aside(s, e);
        if (rc != 0)
            return rc;
    }
}

int wio_stg_pass_down(struct waitio_stage *s, int tag, const struct wio_stg_head *h,
                      const void *body, size_t n)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < s->r->children; i++)
        rc = wio_stg_tell(&s->r->office, s->ranks[wio_stg_child(s->rank, i)], tag, h, body, n);
    return rc;
}

static int to_writer(struct waitio_stage *s, struct wio_stg_head *h,
                     const struct wio_stg_bytes *body)
{
    h->incarnation = s->incarnation;
    return wio_stg_tell(&s->r->office, s->r->writers[0], wio_stg_tag(s->r->group, WIO_STG_G_ASK), h,
                        body != NULL ? body->at : NULL, body != NULL ? body->n : 0);
}

static int to_parent(struct waitio_stage *s, struct wio_stg_head *h, const void *body, size_t n)
{
    h->incarnation = s->incarnation;
    return wio_stg_tell(&s->r->office, s->ranks[wio_stg_parent(s->rank)],
                        wio_stg_tag(s->r->group, WIO_STG_G_UP), h, body, n);
}

int wio_stg_reader_break(struct waitio_stage *s, int code)
{
    struct wio_stg_head h = {.word = WIO_STG_FAILED, .a = code, .incarnation = s->incarnation};
    struct wio_stg_head leave = {.word = WIO_STG_LEAVE, .a = unread(s)};
    char why[WIO_STG_WHY];

    if (s->code != 0)
        return code;
    (void)wio_stg_break(s, code);
    wio_stg_text(why, sizeof why, "%s", wio_stg_why());
    (void)wio_stg_pass_down(s, wio_stg_tag(s->r->group, WIO_STG_G_DOWN), &h, why, strlen(why));
    if (s->rank > 0)
        (void)to_parent(s, &h, why, strlen(why));
    else
        (void)to_writer(s, &leave, NULL);
    return wio_stg_fail(code, "%s", why);
}

/* ---- children ------------------------------------------------------------------------------ */

int wio_stg_await_children(struct waitio_stage *s)
{
    struct wio_stg_reader *r = s->r;
    int rc = 0;

    if (r->ups == NULL)
        r->ups = wio_stg_new(WIO_STG_FAN, sizeof *r->ups);
    if (r->ups == NULL)
        return WAITIO_ERR_NOMEM;
    for (int i = 0; rc == 0 && i < r->children; i++) {
        if (r->ups[i])
            continue;
        rc = wio_stg_await(&r->office, s->ranks[wio_stg_child(s->rank, i)],
                           wio_stg_tag(r->group, WIO_STG_G_UP), WIO_STG_K_UP, (void *)(intptr_t)i);
        r->ups[i] = rc == 0;
    }
    return rc;
}

/* A child that has not said that it has read the step. */
static int late_child(const struct waitio_stage *s)
{
    int i = 0;

    while (i < s->r->children - 1 && !s->r->ups[i])
        i++;
    return wio_stg_child(s->rank, i);
}

/* Words that come early are counted. No child says a second one before it has an answer. */
static int hear_children(struct waitio_stage *s, double limit)
{
    double until = wio_stg_now() + limit;
    struct wio_stg_reader *r = s->r;
    int rc = 0;

    if (r->came_up < r->children)
        rc = wio_stg_await_children(s);
    while (rc == 0 && r->came_up < r->children) {
        struct wio_stg_event e = {.kind = 0};

        rc = wio_stg_hear(s, WIO_STG_K_UP, until, &e);
        if (rc == WAITIO_ERR_TIMEOUT)
            return wio_stg_fail(rc, "reader %d has not ended the step within %g s", late_child(s),
                                limit);
        if (rc == 0)
            rc = wio_stg_put_aside(s, &e);
    }
    r->came_up = 0;
    return rc;
}

/* Of steps that came straight a reader knows only that it has read them itself; the writers keep
 * the step for the group until its first process leaves. */
static int leave_together(struct waitio_stage *s, double limit)
{
    struct wio_stg_head done = {.word = WIO_STG_DONE, .a = s->step};
    int rc = hear_children(s, limit);

    return rc == 0 && s->rank > 0 ? to_parent(s, &done, NULL, 0) : rc;
}

/* ---- open and close ------------------------------------------------------------------------- */

int wio_stg_await_word(struct waitio_stage *s)
{
    struct wio_stg_reader *r = s->r;

    if (s->rank == 0)
        return wio_stg_awaits(&r->office, WIO_STG_K_TOLD)
                   ? 0
                   : wio_stg_await(&r->office, r->writers[0], wio_stg_tag(r->group, WIO_STG_G_TELL),
                                   WIO_STG_K_TOLD, NULL);
    return wio_stg_awaits(&r->office, WIO_STG_K_DOWN)
               ? 0
               : wio_stg_await(&r->office, s->ranks[wio_stg_parent(s->rank)],
                               wio_stg_tag(r->group, WIO_STG_G_DOWN), WIO_STG_K_DOWN, NULL);
}

int wio_stg_reader_open(struct waitio_stage *s)
{
    struct wio_stg_reader *r = wio_stg_new(1, sizeof *r);
    int rc;

    if (r == NULL)
        return WAITIO_ERR_NOMEM;
    s->r = r;
    r->office.group = s->group;
    r->office.looks = true;
    r->children = wio_stg_children(s->rank, s->n);
    r->last = -1;
    r->stride = 1;
    rc = wio_stg_meet(s);
    return rc == 0 ? wio_stg_await_word(s) : rc;
}

/* @param under_way data is: where it lands stays */
static void free_reader(struct waitio_stage *s, bool under_way)
{
    struct wio_stg_reader *r = s->r;

    for (size_t i = 0; !under_way && r->coming != NULL && i < r->plan.n; i++)
        free(r->coming[i].own);
    free(r->coming);
    if (r->told)
        wio_stg_event_end(&r->early);
    wio_stg_pushed_free(r);
    wio_stg_layout_free(&r->layout);
    wio_stg_values_free(&r->values);
    wio_stg_plan_free(&r->plan);
    wio_stg_bytes_free(&r->key);
    free(r->wants);
    free(r->writers);
    free(r);
    s->r = NULL;
}

int wio_stg_reader_close(struct waitio_stage *s, double limit)
{
    struct wio_stg_head leave = {.word = WIO_STG_LEAVE};
    char why[WIO_STG_WHY] = "";
    bool under_way;
    int rc = 0;

    if (s->r == NULL)
        return 0;
    if (s->code != 0)
        rc = wio_stg_fail(s->code, "%s", s->why);
    else if (s->in_step)
        rc = wio_stg_reader_end(s, limit);
    if (rc != 0)
        wio_stg_text(why, sizeof why, "%s", wio_stg_why());
    if (s->r->joined && s->code == 0 && s->r->direct)
        (void)leave_together(s, limit);
    leave.a = unread(s);
    if (s->r->joined && s->rank == 0 && s->code == 0)
        (void)to_writer(s, &leave, NULL);
    under_way = wio_stg_office_close(&s->r->office, limit < 1 ? 1 : limit) > 0;
    free_reader(s, under_way);
    return wio_stg_closed(rc, why, under_way ? "arrays of gets that failed" : NULL);
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* The first step from @p step on that the program takes. */
static int64_t select_from(const struct wio_stg_reader *r, int64_t step)
{
    if (step <= r->first)
        return r->first;
    return r->first + (step - r->first + r->stride - 1) / r->stride * r->stride;
}

int wio_stg_ask(struct waitio_stage *s, bool asks, int which)
{
    struct wio_stg_reader *r = s->r;
    struct wio_stg_head h = {
        .word = WIO_STG_ASK, .a = select_from(r, r->wanted), .b = r->last, .c = r->stride};

    struct wio_stg_bytes who = {NULL, 0, 0, false};
    int rc;

    h.d = (asks ? ASKS : 0) | (which == WAITIO_STAGE_LATEST ? LATEST : 0) | r->wanted * 4;
    r->asked = asks;
    for (int i = 0; asks && s->n <= WIO_STG_DIRECT_READERS && i < s->n; i++)
        wio_stg_put_u32(&who, (uint32_t)s->ranks[i]);
    rc = who.bad ? WAITIO_ERR_NOMEM : to_writer(s, &h, &who);
    wio_stg_bytes_free(&who);
    return rc;
}

static bool fits(const struct wio_stg_reader *r, const struct wio_stg_event *e, size_t masks)
{
    const struct wio_stg_head *h = &e->head;

    if (h->a < 0 || h->b < 1 || h->c < 0 || (uint64_t)h->c > e->n_body)
        return false;
    if (r->direct && (h->c > 0 || masks > e->n_body))
        return false;
    return h->c > 0 || (uint64_t)h->b == r->serial;
}

static int take_layout(struct wio_stg_reader *r, const struct wio_stg_event *e, size_t n)
{
    int rc;

    wio_stg_layout_free(&r->layout);
    rc = wio_stg_layout_read(&r->layout, (uint32_t)r->n_writers, e->body, n);
    r->serial = (uint64_t)e->head.b;
    if (rc == 0 && r->swaps)
        wio_stg_values_swap(&r->layout.attributes);
    return rc;
}

static int take_step(struct waitio_stage *s, const struct wio_stg_event *e)
{
    struct wio_stg_reader *r = s->r;
    size_t n = (size_t)e->head.c, masks = 0;
    struct wio_stg_scan scan = {e->body, e->n_body, false};
    int rc;

    r->direct = (e->head.d & WIO_STG_D_PUSHED) != 0;
    r->direct_next = (e->head.d & WIO_STG_D_NEXT) != 0;
    if (r->direct)
        masks = (size_t)r->n_writers * 8;
    if (!fits(r, e, masks))
        return wio_stg_fail(WAITIO_ERR_PROTOCOL, "the first writer has sent a malformed step");
    rc = n > 0 ? take_layout(r, e, n) : 0;
    wio_stg_values_free(&r->values);
    if (rc == 0)
        rc = wio_stg_values_add(&r->values, e->body + n + masks, e->n_body - n - masks);
    if (rc == 0 && r->swaps)
        wio_stg_values_swap(&r->values);
    s->step = e->head.a;
    r->wanted = s->step + 1;
    if (rc == 0 && r->direct)
        rc = wio_stg_pushed_take(s, &scan);
    s->in_step = rc == 0;
    return rc;
}

static int act(struct waitio_stage *s, const struct wio_stg_event *e, int *status)
{
    switch (e->head.word) {
    case WIO_STG_STEP:
        *status = WAITIO_STAGE_OK;
        return take_step(s, e);
    case WIO_STG_ENDED:
        s->r->ended = true;
        *status = WAITIO_STAGE_END;
        return 0;
    case WIO_STG_NOTHING:
        *status = WAITIO_STAGE_NOT_READY;
        return 0;
    case WIO_STG_FAILED:
        return heard_failure(e);
    default:
        return wio_stg_fail(WAITIO_ERR_PROTOCOL, "process %d has sent word %d, which is none",
                            e->source, (int)e->head.word);
    }
}

/* A word of the first writer that is here: the end, when the last steps came straight. */
static bool already_told(struct waitio_stage *s)
{
    struct wio_stg_event e;

    if (!s->r->told && wio_stg_hear(s, WIO_STG_K_TOLD, wio_stg_now(), &e) == 0) {
        s->r->told = true;
        s->r->early = e;
    }
    return s->r->told;
}

/* The first reader hears all writers, while steps come straight; else the first writer. */
static int hear_step(struct waitio_stage *s, int which, double limit, struct wio_stg_event *e)
{
    struct wio_stg_reader *r = s->r;
    double until = wio_stg_now() + limit;
    bool over = true;
    int rc = wio_stg_await_word(s);

    if (rc == 0 && r->direct_next && which == WAITIO_STAGE_NEXT &&
        select_from(r, r->wanted) == s->step + 1 && r->stride == 1 && r->last < 0)
        rc = wio_stg_pushed_hear(s, until, e, &over);
    if (rc != 0 || !over)
        return rc;
    if (r->direct_next)
        wio_stg_pushed_leave(s);
    if (!r->asked && !already_told(s)) {
        rc = wio_stg_ask(s, true, which);
        if (rc == WAITIO_ERR_PEER) /* it may have said that the stream ends, and left */
            rc = 0;
    }
    return rc == 0 ? wio_stg_hear(s, WIO_STG_K_TOLD, until, e) : rc;
}

static int hear_writer(struct waitio_stage *s, int which, double limit, struct wio_stg_event *e)
{
    struct wio_stg_reader *r = s->r;
    char why[WIO_STG_WHY];
    int rc;

    r->which = which;
    rc = hear_step(s, which, limit, e);
    if (rc == WAITIO_ERR_TIMEOUT) {
        *e = (struct wio_stg_event){.head = {.word = WIO_STG_NOTHING}};
        return 0;
    }
    if (rc != 0)
        return rc;
    r->asked = false;
    if (e->rc != 0) {
        wio_stg_text(why, sizeof why, "%s", wio_stg_why());
        return wio_stg_fail(e->rc, "writer 0 has died or left: %s", why);
    }
    if (e->head.incarnation != s->incarnation)
        return wio_stg_fail(WAITIO_ERR_PROTOCOL, "writer 0 speaks of another stream of this name");
    return 0;
}

static int hear_parent(struct waitio_stage *s, double limit, struct wio_stg_event *e)
{
    int parent = wio_stg_parent(s->rank), rc = wio_stg_await_word(s);
    double most = limit + s->set.limit;
    char why[WIO_STG_WHY];

    if (rc == 0)
        rc = wio_stg_hear(s, WIO_STG_K_DOWN, wio_stg_now() + most, e);
    if (rc == WAITIO_ERR_TIMEOUT)
        return wio_stg_fail(rc,
                            "reader %d has not begun the step within %g s: all readers of a "
                            "group begin steps together",
                            parent, most);
    if (rc == 0 && e->rc != 0) {
        wio_stg_text(why, sizeof why, "%s", wio_stg_why());
        rc = wio_stg_fail(e->rc, "reader %d has died or left: %s", parent, why);
    }
    return rc;
}

int wio_stg_reader_begin(struct waitio_stage *s, int which, double limit, int *status)
{
    struct wio_stg_reader *r = s->r;
    struct wio_stg_event e = {.kind = 0};
    int rc;

    if (which != WAITIO_STAGE_NEXT && which != WAITIO_STAGE_LATEST)
        return wio_stg_fail(WAITIO_ERR_ARG, "%d is neither WAITIO_STAGE_NEXT nor _LATEST", which);
    if (r->ended) {
        *status = WAITIO_STAGE_END;
        return 0;
    }
    rc = s->rank == 0 ? hear_writer(s, which, limit, &e) : hear_parent(s, limit, &e);
    if (rc == 0) {
        e.head.incarnation = s->incarnation;
        rc = wio_stg_pass_down(s, wio_stg_tag(r->group, WIO_STG_G_DOWN), &e.head, e.body, e.n_body);
    }
    if (rc == 0)
        rc = act(s, &e, status);
    wio_stg_event_end(&e);
    if (rc == WAITIO_ERR_CANCELLED)
        return rc;
    return rc != 0 ? wio_stg_reader_break(s, rc) : 0;
}

int wio_stg_reader_end(struct waitio_stage *s, double limit)
{
    struct wio_stg_head done = {.word = WIO_STG_DONE, .a = s->step};
    int rc = wio_stg_fetch(s, limit);

    if (rc != 0)
        return rc;
    if (s->r->direct) {
        rc = wio_stg_pushed_end(s);
        s->in_step = rc != 0;
        return rc != 0 ? wio_stg_reader_break(s, rc) : 0;
    }
    rc = hear_children(s, limit);
    if (rc == 0 && s->rank > 0)
        rc = to_parent(s, &done, NULL, 0);
    else if (rc == 0)
        rc = wio_stg_ask(s, s->r->ahead && s->r->which == WAITIO_STAGE_NEXT && !s->r->direct_next,
                         s->r->which);
    if (rc != 0)
        return wio_stg_reader_break(s, rc);
    s->in_step = false;
    return 0;
}

int wio_stg_reader_count(struct waitio_stage *s, const char *name, uint64_t *value)
{
    struct wio_stg_reader *r = s->r;

    if (strcmp(name, "steps") == 0)
        *value = (uint64_t)(s->step + 1);
    else if (strcmp(name, "bytes") == 0)
        *value = r->office.bytes_received;
    else if (strcmp(name, "plans") == 0)
        *value = r->plans;
    else if (strcmp(name, "plans_reused") == 0)
        *value = r->reused;
    else if (strcmp(name, "pushes") == 0)
        *value = r->pushes;
    else if (strcmp(name, "discarded") == 0 || strncmp(name, "queued_bytes", 12) == 0 ||
             strcmp(name, "spare_bytes") == 0 || strcmp(name, "groups") == 0 ||
             strcmp(name, "raw_bytes") == 0 || strcmp(name, "packed_bytes") == 0)
        *value = 0;
    else
        return wio_stg_fail(WAITIO_ERR_ARG, "a stream does not count '%s'", name);
    return 0;
}
