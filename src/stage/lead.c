/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first writer: it makes layouts of the writers' parts, knows the groups of readers, gives each
 * the step that it asks for, and decides which step is released or given up.
 */
#include "stage/lead.h"

#include <stdlib.h>
#include <string.h>

enum { BIG = 1, AHEAD = 2 }; /* flags of a welcome */
enum { ASKS = 1, LATEST = 2 };

static int schedule(struct wio_stg_writer *w);
static void free_ready(struct wio_stg_ready *r);

/* ---- groups --------------------------------------------------------------------------------- */

static int active(const struct wio_stg_lead *l)
{
    int n = 0;

    for (const struct wio_stg_group *g = l->groups; g != NULL; g = g->next)
        n += !g->gone;
    return n;
}

static int tell(struct wio_stg_writer *w, const struct wio_stg_group *g, struct wio_stg_head *h,
                const void *body, size_t n)
{
    h->incarnation = w->s->incarnation;
    return wio_stg_tell(&w->office, g->first, wio_stg_tag(g->id, WIO_STG_G_TELL), h, body, n);
}

static int await(struct wio_stg_writer *w, struct wio_stg_group *g)
{
    return wio_stg_await(&w->office, g->first, wio_stg_tag(g->id, WIO_STG_G_ASK), WIO_STG_K_ASK, g);
}

static int lose(struct wio_stg_writer *w, struct wio_stg_group *g)
{
    struct wio_stg_head h = {.word = WIO_STG_GONE, .a = g->id};

    if (g->gone)
        return 0;
    g->gone = true;
    g->direct = g->pending = false;
    wio_stg_undeal(w->lead, g);
    wio_stg_bytes_free(&g->members);
    return wio_stg_down(w, &h, NULL, 0);
}

static int refuse(struct wio_stg_writer *w, const struct wio_stg_event *e, int code,
                  const char *why)
{
    struct wio_stg_head h = {.word = WIO_STG_REFUSED, .a = e->head.a, .b = code};

    return wio_stg_tell(&w->office, e->source, WIO_STG_T_WELCOME, &h, why, strlen(why));
}

/* A step that was promised to a group cannot be discarded, nor given to one that needs it sooner.
 */
static bool may_ask_ahead(const struct waitio_stage_settings *set)
{
    return set->full == WAITIO_STAGE_BLOCK && set->share != WAITIO_STAGE_ON_DEMAND;
}

static int welcome(struct wio_stg_writer *w, const struct wio_stg_group *g)
{
    struct wio_stg_head h = {
        .word = WIO_STG_WELCOME, .incarnation = w->s->incarnation, .a = g->opening, .b = g->id};
    struct wio_stg_bytes b = {NULL, 0, 0, false};
    int rc;

    h.c = (wio_stg_big() ? BIG : 0) | (may_ask_ahead(&w->s->set) ? AHEAD : 0);
    for (int i = 0; i < w->s->n; i++)
        wio_stg_put_u32(&b, (uint32_t)w->s->ranks[i]);
    rc = b.bad ? WAITIO_ERR_NOMEM
               : wio_stg_tell(&w->office, g->first, WIO_STG_T_WELCOME, &h, b.at, b.n);
    wio_stg_bytes_free(&b);
    return rc;
}

/* The steps of no group go straight any more: one of them changes, or another group has come. */
static int end_direct(struct wio_stg_writer *w)
{
    int rc = 0;

    for (struct wio_stg_group *g = w->lead->groups; rc == 0 && g != NULL; g = g->next) {
        struct wio_stg_head h = {.word = WIO_STG_OVER, .a = g->id};

        if (!g->direct)
            continue;
        g->direct = false;
        rc = wio_stg_down(w, &h, NULL, 0);
    }
    return rc;
}

/* A late group begins with the oldest step that is kept. */
static int join(struct wio_stg_writer *w, const struct wio_stg_event *e)
{
    struct wio_stg_lead *l = w->lead;
    struct wio_stg_group *g = wio_stg_new(1, sizeof *g);
    struct wio_stg_head go = {.word = WIO_STG_GO};
    int rc;

    if (g == NULL)
        return WAITIO_ERR_NOMEM;
    *g = (struct wio_stg_group){.next = l->groups, .id = l->next_group++, .opening = e->head.a};
    g->first = e->source;
    g->last = -1;
    g->stride = 1;
    g->reads = g->least = -1;
    g->wanted = l->ready != NULL ? l->ready->step : 0;
    l->groups = g;
    l->came++;
    pthread_mutex_lock(&w->lock);
    w->groups = (uint64_t)l->came;
    pthread_mutex_unlock(&w->lock);
    rc = welcome(w, g);
    if (rc == 0)
        rc = await(w, g);
    if (rc == 0)
        rc = end_direct(w);
    if (rc == 0 && l->came == w->s->set.readers)
        rc = wio_stg_down(w, &go, NULL, 0);
    return rc == 0 ? schedule(w) : rc;
}

static int hello(struct wio_stg_writer *w, const struct wio_stg_event *e)
{
    size_t n = strlen(w->s->name);
    struct wio_stg_group *g;

    if (e->rc == WAITIO_ERR_VERSION)
        return refuse(w, e, e->rc, wio_stg_why());
    if (e->head.word == WIO_STG_BYE) {
        for (g = w->lead->groups; g != NULL; g = g->next)
            if (g->first == e->source && g->opening == e->head.a)
                return lose(w, g);
        return 0;
    }
    if (e->rc != 0 || e->head.word != WIO_STG_HELLO)
        return 0;
    if (e->n_body != n || memcmp(e->body, w->s->name, n) != 0)
        return refuse(w, e, WAITIO_ERR_ARG,
                      "the names of two streams have one fingerprint: change one of them");
    if (w->code != 0)
        return refuse(w, e, w->code, w->why);
    /* One that waits for its welcome says nothing else: it has given up, and counts for nobody. */
    return wio_stg_waits(&w->office, e->source, WIO_STG_T_HELLO) ? 0 : join(w, e);
}

int wio_stg_lead_hello(struct wio_stg_writer *w, struct wio_stg_event *e)
{
    int rc;

    if (e->rc != 0 && e->rc != WAITIO_ERR_PROTOCOL && e->bytes == 0)
        return 0; /* nothing has come: nobody else lives */
    rc = hello(w, e);
    return rc != 0 ? rc
                   : wio_stg_await(&w->office, WAITIO_ANY_SOURCE, WIO_STG_T_HELLO, WIO_STG_K_HELLO,
                                   NULL);
}

/* The first step of @p first, first + stride, ... that is not before @p least: what is over is
 * over. */
static int64_t from(int64_t least, int64_t first, int64_t stride)
{
    int64_t missing = least - first;

    return missing <= 0 ? first : first + (missing + stride - 1) / stride * stride;
}

/* Who the readers are: they say so when they can take steps straight. */
static void keep_members(struct wio_stg_group *g, const struct wio_stg_event *e)
{
    if (!g->asks)
        return;
    g->members.n = 0;
    if (e->n_body % 4 == 0 && e->n_body / 4 <= WIO_STG_DIRECT_READERS)
        wio_stg_put_raw(&g->members, e->body, e->n_body);
}

/* A group whose steps went straight asks for one. */
static int resume_group(struct wio_stg_writer *w, struct wio_stg_group *g, int64_t step)
{
    struct wio_stg_head h = {.word = WIO_STG_RESUME, .a = g->id, .b = step};

    g->barred = g->barred || step == w->lead->straight;
    g->direct = g->pending = false;
    w->lead->straight = -1;
    return wio_stg_down(w, &h, NULL, 0);
}

static int leave(struct wio_stg_writer *w, struct wio_stg_group *g, const struct wio_stg_event *e)
{
    int rc = e->rc == 0 && g->pending ? resume_group(w, g, e->head.a) : 0;

    if (e->rc == 0 && g->reads >= 0 && g->reads < e->head.a)
        wio_stg_was_read(w->lead, g->reads);
    if (rc == 0)
        rc = lose(w, g);
    return rc == 0 ? schedule(w) : rc;
}

/* A group of an earlier stream of this name may have left when that one had ended. */
static bool leaves(const struct wio_stg_writer *w, const struct wio_stg_head *h)
{
    return h->incarnation == w->s->incarnation && h->word == WIO_STG_LEAVE;
}

static bool is_question(const struct wio_stg_writer *w, const struct wio_stg_head *h)
{
    return h->incarnation == w->s->incarnation && h->word == WIO_STG_ASK && h->a >= 0 &&
           h->a < WIO_STG_STEPS && h->c >= 1 && h->c < WIO_STG_STEPS;
}

int wio_stg_lead_asked(struct wio_stg_writer *w, struct wio_stg_event *e)
{
    struct wio_stg_group *g = e->with;
    const struct wio_stg_head *h = &e->head;
    int rc;

    if (g->gone)
        return 0;
    if (e->rc != 0 || leaves(w, h))
        return leave(w, g, e);
    if (is_question(w, h)) {
        g->wanted = from(g->wanted, h->a, h->c);
        g->last = h->b;
        g->stride = h->c;
        if (g->least < 0)
            g->least = h->a;
        g->asks = (h->d & ASKS) != 0;
        g->latest = (h->d & LATEST) != 0;
        if (g->reads >= 0)
            wio_stg_was_read(w->lead, g->reads);
        g->reads = -1;
        keep_members(g, e);
    }
    rc = await(w, g);
    if (rc == 0 && g->pending && g->asks)
        rc = resume_group(w, g, h->d / 4);
    return rc == 0 && w->code == 0 ? schedule(w) : rc;
}

void wio_stg_lead_failed(struct wio_stg_writer *w, int code, const char *why)
{
    struct wio_stg_head h = {.word = WIO_STG_FAILED, .a = code};

    for (struct wio_stg_group *g = w->lead->groups; g != NULL; g = g->next)
        if (!g->gone && !g->ended)
            (void)tell(w, g, &h, why, strlen(why));
}

/* ---- which step ----------------------------------------------------------------------------- */

static bool holds(const struct wio_stg_writer *w, const struct wio_stg_group *g,
                  const struct wio_stg_ready *r)
{
    return !g->gone && (r->step == g->reads || wio_stg_wants(w, g, r));
}

static struct wio_stg_ready *choose(const struct wio_stg_writer *w, const struct wio_stg_group *g)
{
    struct wio_stg_ready *found = NULL;

    for (struct wio_stg_ready *r = w->lead->ready; r != NULL; r = r->next)
        if (wio_stg_wants(w, g, r) && r->step != g->reads) {
            found = r;
            if (!g->latest)
                break;
        }
    return found;
}

/* The steps after this one can go straight to the group when it is alone, takes one after the
 * other, and has the layout already: it did not change in the last step. */
static bool may_go_straight(const struct wio_stg_writer *w, const struct wio_stg_group *g,
                            const struct wio_stg_ready *r)
{
    const struct wio_stg_lead *l = w->lead;
    size_t readers = g->members.n / 4;

    return readers > 0 && !g->barred && !g->members.bad && g->serial == r->layout->serial &&
           r->layout == l->layout && l->ended < 0 && w->s->set.full == WAITIO_STAGE_BLOCK &&
           w->s->set.share == WAITIO_STAGE_TO_ALL && !g->latest && g->stride == 1 && g->last < 0 &&
           active(l) == 1 && readers * (size_t)w->s->n <= WIO_STG_DIRECT_PAIRS;
}

/* What was heard of later steps is forgotten: the writers push them. */
static int go_straight(struct wio_stg_writer *w, struct wio_stg_group *g, int64_t step)
{
    struct wio_stg_head h = {.word = WIO_STG_DIRECT, .a = g->id, .b = step + 1};
    struct wio_stg_ready **at = &w->lead->ready;

    while (*at != NULL) {
        struct wio_stg_ready *r = *at;

        if (r->step <= step) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        w->lead->n_ready--;
        free_ready(r);
    }
    g->direct = g->pending = true;
    w->lead->straight = step + 1;
    return wio_stg_down(w, &h, g->members.at, g->members.n);
}

static int give_step(struct wio_stg_writer *w, struct wio_stg_group *g, struct wio_stg_ready *r)
{
    bool anew = g->serial != r->layout->serial, straight = may_go_straight(w, g, r);
    struct wio_stg_head h = {.word = WIO_STG_STEP,
                             .a = r->step,
                             .b = (int64_t)r->layout->serial,
                             .c = anew ? (int64_t)r->layout->bytes.n : 0,
                             .d = straight ? WIO_STG_D_NEXT : 0};
    struct wio_stg_bytes b = {NULL, 0, 0, false};
    int rc;

    if (anew)
        wio_stg_put_raw(&b, r->layout->bytes.at, r->layout->bytes.n);
    wio_stg_put_raw(&b, r->values.at, r->values.n);
    rc = b.bad ? WAITIO_ERR_NOMEM : tell(w, g, &h, b.at, b.n);
    wio_stg_bytes_free(&b);
    g->serial = r->layout->serial;
    wio_stg_dealt(w, g, r);
    g->reads = g->wanted = r->step;
    g->asks = false;
    return rc == 0 && straight ? go_straight(w, g, r->step) : rc;
}

/* No step that the group wants can come any more. */
static bool at_end(const struct wio_stg_writer *w, const struct wio_stg_group *g)
{
    const struct wio_stg_lead *l = w->lead;
    int64_t next = g->reads >= 0 ? g->reads + g->stride : g->wanted;

    if (w->s->set.share != WAITIO_STAGE_TO_ALL)
        return wio_stg_none_left(l, g);
    return l->ended >= 0 || (g->last >= 0 && next > g->last);
}

static int serve_group(struct wio_stg_writer *w, struct wio_stg_group *g)
{
    struct wio_stg_ready *r = choose(w, g);
    struct wio_stg_head h = {.word = WIO_STG_ENDED, .a = w->lead->ended};

    if (g->direct && (r != NULL || w->lead->ended < 0))
        return 0; /* it does not ask here. At the end it has read all: the writers waited for that
                   */
    if (r != NULL)
        return g->reads < 0 && g->asks ? give_step(w, g, r) : 0;
    if (g->ended || !at_end(w, g))
        return 0;
    g->ended = true;
    return tell(w, g, &h, NULL, 0);
}

/* ---- which step goes ------------------------------------------------------------------------ */

static void drop_layout(struct wio_stg_shared *s)
{
    if (s == NULL || --s->users > 0)
        return;
    wio_stg_bytes_free(&s->bytes);
    free(s);
}

static void free_ready(struct wio_stg_ready *r)
{
    drop_layout(r->layout);
    wio_stg_bytes_free(&r->values);
    free(r);
}

static int release(struct wio_stg_writer *w, int64_t step)
{
    struct wio_stg_ready **at = &w->lead->ready, *r;
    struct wio_stg_head h = {.word = WIO_STG_RELEASE, .a = step};

    while ((*at)->step != step)
        at = &(*at)->next;
    r = *at;
    *at = r->next;
    w->lead->n_ready--;
    free_ready(r);
    return wio_stg_down(w, &h, NULL, 0);
}

static bool held(const struct wio_stg_writer *w, const struct wio_stg_ready *r)
{
    for (const struct wio_stg_group *g = w->lead->groups; g != NULL; g = g->next)
        if (holds(w, g, r))
            return true;
    return false;
}

static bool being_read(const struct wio_stg_lead *l, int64_t step)
{
    for (const struct wio_stg_group *g = l->groups; g != NULL; g = g->next)
        if (!g->gone && g->reads == step)
            return true;
    return false;
}

/* Steps that nobody wants any more; without readers they are kept for late ones. */
static int release_read(struct wio_stg_writer *w)
{
    int rc = 0;

    for (struct wio_stg_ready *r = w->lead->ready, *next; rc == 0 && r != NULL; r = next) {
        next = r->next;
        if (!held(w, r))
            rc = release(w, r->step);
    }
    return rc;
}

/* Where the oldest goes the newest shall stay, also beside one that is being read: it may be the
 * last one of all. So one more is kept then. */
static int most_kept(const struct wio_stg_writer *w)
{
    int most = wio_stg_queue_of(&w->s->set);

    for (const struct wio_stg_ready *r = w->lead->ready; r != NULL; r = r->next)
        if (being_read(w->lead, r->step))
            return most;
    return w->s->set.queue;
}

/* The step that is given up when the queue is too long, or -1. */
static int64_t victim(const struct wio_stg_writer *w, bool readers)
{
    int64_t found = -1;

    if (readers && w->s->set.full == WAITIO_STAGE_BLOCK)
        return -1;
    for (const struct wio_stg_ready *r = w->lead->ready; r != NULL; r = r->next) {
        if (being_read(w->lead, r->step))
            continue;
        found = r->step;
        if (!readers || w->s->set.full == WAITIO_STAGE_DISCARD_OLDEST)
            break;
    }
    return found;
}

static int shorten(struct wio_stg_writer *w, bool readers)
{
    int rc = 0;

    while (rc == 0 && w->lead->n_ready > most_kept(w)) {
        int64_t step = victim(w, readers);

        if (step < 0)
            break;
        rc = release(w, step);
        pthread_mutex_lock(&w->lock);
        w->discarded++;
        pthread_mutex_unlock(&w->lock);
    }
    return rc;
}

/* Does any group still have to hear of the end, or to read? */
static bool all_over(const struct wio_stg_lead *l)
{
    if (l->ended < 0 || l->ready != NULL)
        return false;
    for (const struct wio_stg_group *g = l->groups; g != NULL; g = g->next)
        if (!g->gone && !g->ended)
            return false;
    return true;
}

static int serve_all(struct wio_stg_writer *w)
{
    int rc = 0;

    for (struct wio_stg_group *g = w->lead->groups; rc == 0 && g != NULL; g = g->next)
        if (!g->gone)
            rc = serve_group(w, g);
    return rc;
}

static int schedule(struct wio_stg_writer *w)
{
    struct wio_stg_lead *l = w->lead;
    struct wio_stg_head h = {.word = WIO_STG_CLOSED};
    bool readers;
    int rc;

    wio_stg_deal(w);
    rc = serve_all(w);
    readers = active(l) > 0;
    if (rc == 0 && (readers || l->ended >= 0))
        rc = release_read(w);
    if (rc == 0)
        rc = shorten(w, readers);
    if (rc == 0 && w->s->set.share != WAITIO_STAGE_TO_ALL)
        rc = serve_all(w); /* the end comes when nobody can leave a step to others any more */
    if (rc != 0 || l->closed || !all_over(l))
        return rc;
    l->closed = true;
    return wio_stg_down(w, &h, NULL, 0);
}

/* ---- layouts -------------------------------------------------------------------------------- */

/* @param[out] changed whether a part came: else all are as before */
static int take_parts(struct wio_stg_writer *w, const struct wio_stg_bytes *parts, bool *changed)
{
    struct wio_stg_scan s = {parts->at, parts->n, false};

    *changed = s.left > 0;
    while (s.left > 0) {
        uint32_t who = wio_stg_take_u32(&s);
        size_t n = 0;
        const unsigned char *part = wio_stg_take_blob(&s, &n);

        if (s.bad || who >= (uint32_t)w->s->n)
            return wio_stg_fail(WAITIO_ERR_PROTOCOL, "malformed parts of the writers");
        w->lead->parts[who].n = 0;
        wio_stg_put_raw(&w->lead->parts[who], part, n);
        if (w->lead->parts[who].bad)
            return WAITIO_ERR_NOMEM;
    }
    return 0;
}

static int make_layout(struct wio_stg_writer *w)
{
    struct wio_stg_lead *l = w->lead;
    struct wio_stg_layout all = {NULL, 0, 0, {NULL, 0, 0}};
    struct wio_stg_shared *made = wio_stg_new(1, sizeof *made);
    int rc = made == NULL ? WAITIO_ERR_NOMEM : 0;

    for (int i = 0; rc == 0 && i < w->s->n; i++)
        rc = wio_stg_layout_add(&all, (uint32_t)i, l->parts[i].at, l->parts[i].n);
    if (rc == 0)
        rc = wio_stg_layout_check(&all);
    if (rc == 0)
        wio_stg_layout_write(&all, &made->bytes);
    wio_stg_layout_free(&all);
    if (rc == 0 && made->bytes.bad)
        rc = WAITIO_ERR_NOMEM;
    if (rc != 0) {
        if (made != NULL)
            wio_stg_bytes_free(&made->bytes);
        free(made);
        return rc;
    }
    made->serial = l->layout != NULL ? l->layout->serial + 1 : 1;
    made->users = 1;
    drop_layout(l->layout);
    l->layout = made;
    return 0;
}

/* Values of one name may come from several writers. */
static int merge_values(const struct wio_stg_bytes *from, struct wio_stg_bytes *to)
{
    struct wio_stg_values all = {NULL, 0, 0};
    int rc = wio_stg_values_add(&all, from->at, from->n);

    if (rc == 0)
        wio_stg_values_write(&all, to);
    wio_stg_values_free(&all);
    return rc == 0 && to->bad ? WAITIO_ERR_NOMEM : rc;
}

static int add_ready(struct wio_stg_writer *w, const struct wio_stg_gather *g)
{
    struct wio_stg_ready *r = wio_stg_new(1, sizeof *r), **end = &w->lead->ready;
    int rc;

    if (r == NULL)
        return WAITIO_ERR_NOMEM;
    r->step = w->lead->newest = g->step;
    r->owner = WIO_STG_NOBODYS;
    r->layout = w->lead->layout;
    r->layout->users++;
    rc = merge_values(&g->values, &r->values);
    if (rc != 0) {
        free_ready(r);
        return rc;
    }
    while (*end != NULL)
        end = &(*end)->next;
    *end = r;
    w->lead->n_ready++;
    return 0;
}

/* Of steps that went straight some writers may have told here what others had done with. */
static int resume(struct wio_stg_writer *w, int64_t step)
{
    struct wio_stg_head h = {.word = WIO_STG_RELEASE, .a = step, .b = 1, .c = w->lead->straight};

    if (w->lead->straight < 0)
        return 0;
    w->lead->straight = -1;
    return wio_stg_down(w, &h, NULL, 0);
}

int wio_stg_lead_step(struct wio_stg_writer *w, struct wio_stg_gather *g)
{
    bool changed = false;
    int rc = resume(w, g->step);

    if (rc != 0)
        return rc;
    if (g->end) {
        w->lead->ended = g->step;
        return schedule(w);
    }
    rc = take_parts(w, &g->parts, &changed);
    if (rc == 0 && (changed || w->lead->layout == NULL))
        rc = make_layout(w);
    if (rc != 0) {
        char why[WIO_STG_WHY - 40];

        wio_stg_text(why, sizeof why, "%s", wio_stg_why());
        return wio_stg_fail(rc, "put in step %lld: %s", (long long)g->step, why);
    }
    rc = add_ready(w, g);
    return rc == 0 ? schedule(w) : rc;
}

/* ---- open and close ------------------------------------------------------------------------- */

int wio_stg_lead_open(struct wio_stg_writer *w)
{
    struct wio_stg_lead *l = wio_stg_new(1, sizeof *l);
    struct wio_stg_head opened = {
        .word = WIO_STG_OPENED, .a = w->s->set.queue, .b = w->s->set.full};
    struct wio_stg_head go = {.word = WIO_STG_GO};
    int rc;

    if (l == NULL)
        return WAITIO_ERR_NOMEM;
    w->lead = l;
    /* Messages of an earlier stream of this name may lie unread: these groups have other tags. */
    l->next_group = (int64_t)(w->s->incarnation / 1000 % WIO_STG_FIRST_GROUPS);
    l->ended = l->straight = l->newest = l->turn = -1;
    l->parts = wio_stg_new((size_t)w->s->n, sizeof *l->parts);
    if (l->parts == NULL)
        return WAITIO_ERR_NOMEM;
    rc = wio_stg_down(w, &opened, NULL, 0);
    if (rc == 0)
        rc = wio_stg_await(&w->office, WAITIO_ANY_SOURCE, WIO_STG_T_HELLO, WIO_STG_K_HELLO, NULL);
    if (rc == 0 && w->s->set.readers <= 0)
        rc = wio_stg_down(w, &go, NULL, 0);
    return rc;
}

void wio_stg_lead_free(struct wio_stg_writer *w)
{
    struct wio_stg_lead *l = w->lead;

    if (l == NULL)
        return;
    while (l->groups != NULL) {
        struct wio_stg_group *next = l->groups->next;

        wio_stg_bytes_free(&l->groups->members);
        free(l->groups);
        l->groups = next;
    }
    while (l->ready != NULL) {
        struct wio_stg_ready *next = l->ready->next;

        free_ready(l->ready);
        l->ready = next;
    }
    for (int i = 0; l->parts != NULL && i < w->s->n; i++)
        wio_stg_bytes_free(&l->parts[i]);
    free(l->parts);
    drop_layout(l->layout);
    free(l);
    w->lead = NULL;
}
