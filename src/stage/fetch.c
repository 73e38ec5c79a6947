/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Getting what is wanted: a plan of pieces, one request to each writer that has any, and receives
 * into the program's arrays. A plan that fits again is used again; then a request is a few bytes.
 */
#include "stage/reader.h"

#include <stdlib.h>
#include <string.h>

/* How long the cause of a writer's leaving is waited for, in seconds. */
static const double CAUSE = 0.1;

static int make_plan(struct wio_stg_reader *r, bool *again)
{
    struct wio_stg_bytes key = {NULL, 0, 0, false};
    int rc = 0;

    for (size_t i = 0; i < r->n_wants; i++) {
        wio_stg_put_u64(&key, r->wants[i].array);
        wio_stg_put_u64(&key, (uint64_t)r->wants[i].block);
        wio_stg_write_box(&key, &r->wants[i].box);
    }
    *again = r->plan_serial == r->serial && r->serial > 0 && key.n == r->key.n &&
             memcmp(key.at, r->key.at, key.n) == 0;
    if (*again) {
        r->reused++;
        wio_stg_bytes_free(&key);
        return 0;
    }
    rc = key.bad ? WAITIO_ERR_NOMEM : wio_stg_plan_make(&r->plan, &r->layout, r->wants, r->n_wants);
    wio_stg_bytes_free(&r->key);
    r->key = key;
    r->plan_serial = rc == 0 ? r->serial : 0;
    r->plan_number++;
    r->plans++;
    return rc;
}

/* Where a piece lands: in its place, if that is one piece of memory. */
static int find_place(const struct wio_stg_reader *r, const struct wio_stg_piece *p,
                      struct wio_stg_coming *c)
{
    const struct wio_stg_want *w = &r->wants[p->want];
    size_t size = wio_stg_type_size(r->layout.arrays[w->array].type);
    uint64_t at;

    c->piece = p;
    (void)wio_stg_box_volume(&p->box, &c->n);
    c->at = w->to;
    c->room = c->n * size;
    if (r->layout.arrays[w->array].op[0] != '\0')
        return wio_stg_place_packed(&r->layout, p, w, c);
    if (wio_stg_box_solid(&w->box, &p->box, &at)) {
        c->at += at * size;
        return 0;
    }
    c->own = c->at = malloc(c->n * size);
    if (c->at == NULL)
        return wio_stg_fail(WAITIO_ERR_NOMEM, "no memory for %llu elements",
                            (unsigned long long)c->n);
    return 0;
}

/* Ask one writer for the pieces from @p first on. */
static int ask_writer(struct waitio_stage *s, size_t first, size_t n, bool again)
{
    struct wio_stg_reader *r = s->r;
    struct wio_stg_bytes b = {NULL, 0, 0, false};
    struct wio_stg_head h = {.word = WIO_STG_WANT,
                             .incarnation = s->incarnation,
                             .a = r->group,
                             .b = s->step,
                             .c = again,
                             .d = r->plan_number};
    int to = r->writers[r->plan.at[first].writer], rc = 0;

    for (size_t i = first; rc == 0 && i < first + n; i++) {
        struct wio_stg_coming *c = &r->coming[i];

        rc = find_place(r, &r->plan.at[i], c);
        if (rc == 0)
            rc = wio_stg_take(&r->office, to, wio_stg_tag(r->group, WIO_STG_G_DATA), c->at, c->room,
                              WIO_STG_K_DATA, c);
        if (!again)
            wio_stg_piece_write(&r->plan.at[i], &b);
    }
    if (rc == 0)
        rc = b.bad ? WAITIO_ERR_NOMEM
                   : wio_stg_tell(&r->office, to, WIO_STG_T_REQUEST, &h, b.at, b.n);
    wio_stg_bytes_free(&b);
    return rc;
}

static int arrived(struct wio_stg_reader *r, const struct wio_stg_event *e)
{
    struct wio_stg_coming *c = e->with;
    const struct wio_stg_want *w = &r->wants[c->piece->want];
    const struct wio_stg_array *a = &r->layout.arrays[w->array];
    size_t size = wio_stg_type_size(a->type), unit = wio_stg_type_unit(a->type);
    char why[WIO_STG_WHY - 300];

    if (e->rc != 0) {
        wio_stg_text(why, sizeof why, "%s", wio_stg_why());
        return wio_stg_fail(e->rc, "variable '%s': writer %u does not send it: %s", a->name,
                            c->piece->writer, why);
    }
    if (c->operated && e->bytes > 0)
        return wio_stg_arrived_packed(r, c, e->bytes);
    if (e->bytes != c->n * size)
        return wio_stg_fail(e->bytes == 0 ? WAITIO_ERR_PEER : WAITIO_ERR_PROTOCOL,
                            "variable '%s': writer %u has sent %zu bytes of %llu%s", a->name,
                            c->piece->writer, e->bytes, (unsigned long long)(c->n * size),
                            e->bytes == 0 ? ": it has given up the step, because the first reader "
                                            "of this group has died or left, or the stream failed"
                                          : "");
    if (r->swaps)
        wio_stg_swap(c->at, unit, c->n * size / unit);
    if (c->own != NULL)
        wio_stg_box_copy(size, &c->piece->box, c->own, &w->box, w->to, &c->piece->box);
    free(c->own);
    c->own = NULL;
    return 0;
}

/* Pieces that a writer has pushed. @param[out] left how many are missing */
static int take_pushed(struct wio_stg_reader *r, size_t first, size_t n, const unsigned char *data,
                       size_t bytes, size_t *left)
{
    int rc = 0;

    for (size_t i = first; rc == 0 && i < first + n; i++) {
        struct wio_stg_coming *c = &r->coming[i];
        struct wio_stg_event e = {.with = c};
        size_t size;

        rc = find_place(r, &r->plan.at[i], c);
        size = c->n * wio_stg_type_size(r->layout.arrays[r->wants[c->piece->want].array].type);
        e.bytes = size <= bytes ? size : bytes;
        if (rc == 0 && e.bytes > 0)
            memcpy(c->at, data, e.bytes);
        if (rc == 0)
            rc = arrived(r, &e);
        data += e.bytes;
        bytes -= e.bytes;
        --*left;
    }
    r->pushes++;
    return rc;
}

static int ask_all(struct waitio_stage *s, bool again, size_t *left)
{
    const struct wio_stg_plan *plan = &s->r->plan;
    int rc = 0;

    *left = plan->n;
    for (size_t i = 0, n; rc == 0 && i < plan->n; i += n) {
        const unsigned char *data = NULL;
        size_t bytes = again ? wio_stg_pushed_data(s, plan->at[i].writer, &data) : 0;

        for (n = 1; i + n < plan->n && plan->at[i + n].writer == plan->at[i].writer; n++)
            continue;
        rc = bytes > 0 ? take_pushed(s->r, i, n, data, bytes, left) : ask_writer(s, i, n, again);
    }
    return rc;
}

static int too_late(const struct wio_stg_reader *r, size_t missing, double limit)
{
    for (int i = 0; i < r->office.n; i++) {
        const struct wio_stg_slot *slot = &r->office.slots[i];
        const struct wio_stg_coming *c = slot->with;

        if (slot->kind == WIO_STG_K_DATA)
            return wio_stg_fail(WAITIO_ERR_TIMEOUT,
                                "variable '%s': writer %u (and maybe others) has not sent it "
                                "within %g s; %zu pieces of %zu are missing",
                                r->layout.arrays[r->wants[c->piece->want].array].name,
                                c->piece->writer, limit, missing, r->plan.n);
    }
    return wio_stg_fail(WAITIO_ERR_TIMEOUT, "%zu pieces are missing", missing);
}

static int collect(struct waitio_stage *s, size_t left, double limit)
{
    struct wio_stg_reader *r = s->r;
    double until = wio_stg_now() + limit;
    int rc = 0;

    for (; rc == 0 && left > 0; left--) {
        struct wio_stg_event e;

        rc = wio_stg_hear(s, WIO_STG_K_DATA, until, &e);
        if (rc == WAITIO_ERR_TIMEOUT)
            return too_late(r, left, limit);
        if (rc == 0) {
            rc = arrived(r, &e);
            wio_stg_event_end(&e);
        }
    }
    return rc;
}

/* A writer that left had a reason, which the first writer knows: that is what the user wants to
 * read. The first reader hears it from there, and tells the others. */
static int find_cause(struct waitio_stage *s, int rc)
{
    struct wio_stg_event e = {.kind = 0};
    char why[WIO_STG_WHY];

    if (rc != WAITIO_ERR_PEER)
        return rc;
    wio_stg_text(why, sizeof why, "%s", wio_stg_why());
    if (wio_stg_await_word(s) == 0 &&
        wio_stg_hear(s, s->rank == 0 ? WIO_STG_K_TOLD : WIO_STG_K_DOWN,
                     wio_stg_now() + (s->rank == 0 ? CAUSE : 3 * CAUSE), &e) == 0 &&
        e.rc == 0 && e.head.word == WIO_STG_FAILED && e.head.a < 0)
        rc = wio_stg_fail((int)e.head.a, "%.*s", (int)(e.n_body < 900 ? e.n_body : 900),
                          e.n_body > 0 ? (const char *)e.body : "");
    else
        (void)wio_stg_fail(rc, "%s", why);
    wio_stg_event_end(&e);
    return rc;
}

int wio_stg_fetch(struct waitio_stage *s, double limit)
{
    struct wio_stg_reader *r = s->r;
    bool again = false;
    size_t left = 0;
    int rc;

    if (r->n_wants == 0)
        return 0;
    rc = make_plan(r, &again);
    if (rc != 0) {
        r->n_wants = 0;
        return rc;
    }
    r->coming = wio_stg_new(r->plan.n, sizeof *r->coming);
    if (r->coming == NULL)
        return WAITIO_ERR_NOMEM;
    rc = ask_all(s, again, &left);
    if (rc == 0)
        rc = collect(s, left, limit);
    if (rc != 0) /* data may be under way: its memory stays until the stream is closed */
        return wio_stg_reader_break(s, find_cause(s, rc));
    free(r->coming);
    r->coming = NULL;
    r->n_wants = 0;
    return 0;
}
