/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stream's thread in a writer. The writers are a tree: what they put goes up to the first one,
 * which makes steps of it and speaks with the first process of each group of readers; what it says
 * to the writers goes down. Data goes directly to the readers' processes.
 */
#include "stage/writer.h"

#include <stdlib.h>
#include <string.h>

/* How long messages that are under way may take when the thread ends. */
static const double LINGER = 5;
/* The longest sleep. */
static const double NAP = 3600;

void wio_stg_entry_free(struct wio_stg_entry *e)
{
    if (e == NULL)
        return;
    for (size_t i = 0; i < e->n; i++) {
        free(e->puts[i].own);
        wio_stg_packed_free(e->puts[i].packed);
    }
    free(e->puts);
    free(e->derived);
    wio_stg_bytes_free(&e->part);
    wio_stg_bytes_free(&e->values);
    free(e);
}

/* ---- down the tree -------------------------------------------------------------------------- */

void wio_stg_changed(struct wio_stg_writer *w)
{
    pthread_cond_broadcast(&w->changed);
    if (w->listening)
        (void)wio_stg_wake(w->s->group, w->s->me, WIO_STG_T_NUDGE);
    w->listening = false;
}

/* The entry leaves the queue when it is released, or all have read it that it went straight to, and
 * nothing of it is under way. */
bool wio_stg_drop_if_done(struct wio_stg_writer *w, struct wio_stg_entry *e)
{
    struct wio_stg_entry **at = &w->first;

    if (e->sends > 0 || (e->direct ? !wio_stg_direct_acked(&w->direct, e->step) : !e->released))
        return false;
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    w->queued--;
    w->bytes -= e->bytes;
    for (size_t i = 0; i < e->n; i++) {
        wio_stg_spare_give(&w->spares, e->puts[i].own, e->puts[i].bytes,
                           w->bytes_most > w->bytes ? w->bytes_most - w->bytes : 0);
        e->puts[i].own = NULL;
    }
    wio_stg_changed(w);
    wio_stg_entry_free(e);
    return true;
}

/* A step; or those from @p from on, before it, that the first writer has heard of. */
static void release(struct wio_stg_writer *w, int64_t step, bool before, int64_t from)
{
    struct wio_stg_entry *e, *next;

    if (before)
        wio_stg_drop_gathers(w, step, true);
    pthread_mutex_lock(&w->lock);
    if (before)
        w->resend = false;
    for (e = w->first; e != NULL; e = next) {
        next = e->next;
        if (before ? e->step < from || e->step >= step || !e->told : e->step != step)
            continue;
        e->released = true;
        (void)wio_stg_drop_if_done(w, e);
    }
    pthread_mutex_unlock(&w->lock);
}

static void set_broken(struct wio_stg_writer *w, int code, const char *why)
{
    pthread_mutex_lock(&w->lock);
    if (w->code == 0) {
        w->code = code;
        wio_stg_text(w->why, sizeof w->why, "%s", why);
    }
    wio_stg_changed(w);
    pthread_mutex_unlock(&w->lock);
}

static void mark(struct wio_stg_writer *w, bool *what)
{
    pthread_mutex_lock(&w->lock);
    *what = true;
    wio_stg_changed(w);
    pthread_mutex_unlock(&w->lock);
}

static void set_opened(struct wio_stg_writer *w, const struct wio_stg_head *h)
{
    w->s->incarnation = h->incarnation;
    pthread_mutex_lock(&w->lock);
    w->s->set.queue = (int)h->a;
    w->s->set.full = (int)h->b;
    pthread_mutex_unlock(&w->lock);
    mark(w, &w->opened);
}

static void forget(struct wio_stg_writer *w, int64_t group)
{
    pthread_mutex_lock(&w->lock);
    wio_stg_forget(w, group);
    pthread_mutex_unlock(&w->lock);
    wio_stg_direct_gone(w, group);
}

static void end_direct(struct wio_stg_writer *w, int64_t group)
{
    pthread_mutex_lock(&w->lock);
    if (w->direct.group == group)
        wio_stg_direct_over(w, true);
    pthread_mutex_unlock(&w->lock);
}

static void act(struct wio_stg_writer *w, const struct wio_stg_head *h, const void *body, size_t n)
{
    switch (h->word) {
    case WIO_STG_OPENED:
        set_opened(w, h);
        break;
    case WIO_STG_GO:
        mark(w, &w->go);
        break;
    case WIO_STG_RELEASE:
        release(w, h->a, h->b == 1, h->c);
        break;
    case WIO_STG_GONE:
        forget(w, h->a);
        break;
    case WIO_STG_OVER:
        end_direct(w, h->a);
        break;
    case WIO_STG_RESUME:
        wio_stg_direct_resume(w, h->a, h->b);
        break;
    case WIO_STG_CLOSED:
        mark(w, &w->closed);
        break;
    case WIO_STG_FAILED: {
        char why[WIO_STG_WHY];

        wio_stg_text(why, sizeof why, "%.*s", n < sizeof why ? (int)n : (int)sizeof why - 1,
                     n > 0 ? (const char *)body : "");
        set_broken(w, h->a < 0 ? (int)h->a : WAITIO_ERR_PROTOCOL, why);
        break;
    }
    default:
        break;
    }
}

int wio_stg_down(struct wio_stg_writer *w, struct wio_stg_head *head, const void *body, size_t n)
{
    int rc = 0;

    if (w->s->rank == 0)
        head->incarnation = w->s->incarnation;
    for (int i = 0; rc == 0 && i < w->children; i++)
        rc = wio_stg_tell(&w->office, w->s->ranks[wio_stg_child(w->s->rank, i)], WIO_STG_T_DOWN,
                          head, body, n);
    if (rc == 0 && head->word == WIO_STG_DIRECT)
        return wio_stg_direct_begin(w, head, body, n);
    act(w, head, body, n);
    return rc;
}

/* To the parent. */
static int up(struct wio_stg_writer *w, struct wio_stg_head *head, const void *body, size_t n)
{
    head->incarnation = w->s->incarnation;
    return wio_stg_tell(&w->office, w->s->ranks[wio_stg_parent(w->s->rank)], WIO_STG_T_UP, head,
                        body, n);
}

void wio_stg_writer_break(struct wio_stg_writer *w, int code)
{
    struct wio_stg_head h = {.word = WIO_STG_FAILED, .a = code, .b = !w->opened};
    char why[WIO_STG_WHY];

    if (w->code != 0 || w->closed) /* at the end one leaves before the other */
        return;
    wio_stg_text(why, sizeof why, "%s", wio_stg_why());
    h.incarnation = w->s->incarnation;
    if (w->lead != NULL) /* before this process hears of it, and maybe ends */
        wio_stg_lead_failed(w, code, why);
    if (w->s->rank > 0)
        (void)up(w, &h, why, strlen(why));
    (void)wio_stg_down(w, &h, why, strlen(why));
}

/* ---- up the tree ---------------------------------------------------------------------------- */

static struct wio_stg_gather *gather_of(struct wio_stg_writer *w, int64_t step, bool end, int who)
{
    struct wio_stg_gather **at = &w->gathers;

    while (*at != NULL && (*at)->step != step)
        at = &(*at)->next;
    if (*at == NULL) {
        *at = wio_stg_new(1, sizeof **at);
        if (*at != NULL) {
            (*at)->step = step;
            (*at)->end = end;
        }
    }
    if (*at != NULL && (*at)->end != end) {
        (void)wio_stg_fail(WAITIO_ERR_STATE,
                           "writer %d %s the stream at step %lld, where others %s: all writers "
                           "make the same steps",
                           who, end ? "closes" : "goes on with", (long long)step,
                           end ? "put a step" : "have closed it");
        return NULL;
    }
    return *at;
}

static int pass_up(struct wio_stg_writer *w, struct wio_stg_gather *g)
{
    struct wio_stg_head h = {
        .word = g->end ? WIO_STG_ENDED : WIO_STG_STEP, .a = g->step, .c = (int64_t)g->parts.n};

    h.b = w->epoch;
    wio_stg_put_raw(&g->parts, g->values.at, g->values.n);
    return g->parts.bad ? WAITIO_ERR_NOMEM : up(w, &h, g->parts.at, g->parts.n);
}

static void take_out(struct wio_stg_writer *w, struct wio_stg_gather *g)
{
    struct wio_stg_gather **at = &w->gathers;

    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
}

static void free_gather(struct wio_stg_gather *g)
{
    wio_stg_bytes_free(&g->parts);
    wio_stg_bytes_free(&g->values);
    free(g);
}

void wio_stg_drop_gathers(struct wio_stg_writer *w, int64_t step, bool before)
{
    for (struct wio_stg_gather *g = w->gathers, *next; g != NULL; g = next) {
        next = g->next;
        if ((g->step < step) != before)
            continue;
        take_out(w, g);
        free_gather(g);
    }
}

static int complete(struct wio_stg_writer *w, struct wio_stg_gather *g)
{
    int rc;

    if (g->parts.bad || g->values.bad)
        return WAITIO_ERR_NOMEM;
    if (!g->own || g->got < w->children)
        return 0;
    take_out(w, g); /* before steps go straight, and others are dropped */
    rc = w->s->rank > 0 ? pass_up(w, g) : wio_stg_lead_step(w, g);
    free_gather(g);
    return rc;
}

/* A part that is as in the last step does not travel again. With the lock, which is free
 * meanwhile: nobody frees the entry, for the first writer has not released it. */
static int add_own(struct wio_stg_writer *w, struct wio_stg_entry *e)
{
    struct wio_stg_gather *g = gather_of(w, e->step, false, w->s->rank);
    int rc;

    if (g == NULL)
        return WAITIO_ERR_STATE;
    g->own = true;
    e->told = true;
    if (e->step == 0 || w->resend || e->part.n != w->last_part.n ||
        memcmp(e->part.at, w->last_part.at, e->part.n) != 0) {
        w->last_part.n = 0;
        w->part_since = e->step;
        wio_stg_put_raw(&w->last_part, e->part.at, e->part.n);
        wio_stg_put_u32(&g->parts, (uint32_t)w->s->rank);
        wio_stg_put_blob(&g->parts, e->part.at, e->part.n);
    }
    wio_stg_put_raw(&g->values, e->values.at, e->values.n);
    if (w->last_part.bad)
        return WAITIO_ERR_NOMEM;
    pthread_mutex_unlock(&w->lock);
    rc = complete(w, g);
    pthread_mutex_lock(&w->lock);
    return rc;
}

static int add_end(struct wio_stg_writer *w, int64_t step)
{
    struct wio_stg_gather *g = gather_of(w, step, true, w->s->rank);

    if (g == NULL)
        return WAITIO_ERR_STATE;
    g->own = true;
    return complete(w, g);
}

/* A step that the first writer has not heard of, and shall. */
static struct wio_stg_entry *untold(const struct wio_stg_writer *w)
{
    struct wio_stg_entry *e = w->first;

    while (e != NULL && (e->told || e->direct))
        e = e->next;
    return w->code == 0 ? e : NULL;
}

/* With the lock, which is free meanwhile: nobody frees or sends what is neither told nor direct. */
static int prepare(struct wio_stg_writer *w, struct wio_stg_entry *e)
{
    int rc;

    pthread_mutex_unlock(&w->lock);
    rc = wio_stg_prepare(w, e);
    pthread_mutex_lock(&w->lock);
    e->prepared = true;
    return rc;
}

/* A step that had to be prepared goes straight now, if steps do; others did so at once. */
static int let_go(struct wio_stg_writer *w, struct wio_stg_entry *e)
{
    if (!w->direct.on)
        return add_own(w, e);
    if (!wio_stg_direct_put(w, e))
        wio_stg_direct_over(w, true);
    return 0;
}

/* The program's thread has done something. */
static int look_around(struct wio_stg_writer *w)
{
    struct wio_stg_entry *e;
    bool end;
    int rc = 0;

    pthread_mutex_lock(&w->lock);
    w->waking = w->again = false;
    if (w->closing && wio_stg_direct_all_acked(w))
        wio_stg_direct_over(w, true);
    while (rc == 0 && !w->direct.limbo && (e = untold(w)) != NULL)
        rc = e->prepared ? let_go(w, e) : prepare(w, e);
    end = w->closing && !w->end_told && !w->direct.on && w->code == 0 && untold(w) == NULL &&
          wio_stg_direct_all_acked(w);
    pthread_mutex_unlock(&w->lock);
    if (rc != 0 || !end)
        return rc;
    w->end_told = true;
    return add_end(w, w->s->step + (w->s->in_step && !w->queued_now ? 0 : 1));
}

static int hear_child(struct wio_stg_writer *w, const struct wio_stg_event *e)
{
    int child = (int)(intptr_t)e->with;
    struct wio_stg_gather *g;

    if (e->head.word == WIO_STG_FAILED) {
        (void)wio_stg_fail(0, "%.*s", (int)(e->n_body < 900 ? e->n_body : 900),
                           (const char *)e->body);
        return e->head.a < 0 ? (int)e->head.a : WAITIO_ERR_PROTOCOL;
    }
    if ((e->head.word != WIO_STG_STEP && e->head.word != WIO_STG_ENDED) || e->head.c < 0 ||
        (uint64_t)e->head.c > e->n_body)
        return wio_stg_fail(WAITIO_ERR_PROTOCOL, "writer %d has sent a malformed step", child);
    if (e->head.b != w->epoch) /* it had not heard yet that steps go straight */
        return 0;
    g = gather_of(w, e->head.a, e->head.word == WIO_STG_ENDED, child);
    if (g == NULL)
        return WAITIO_ERR_STATE;
    g->got++;
    wio_stg_put_raw(&g->parts, e->body, (size_t)e->head.c);
    wio_stg_put_raw(&g->values, e->body + e->head.c, e->n_body - (size_t)e->head.c);
    return complete(w, g);
}

/* ---- events --------------------------------------------------------------------------------- */

static int on_child(struct wio_stg_writer *w, struct wio_stg_event *e)
{
    int child = (int)(intptr_t)e->with, rc = e->rc;
    char why[WIO_STG_WHY];

    if (rc != 0) {
        wio_stg_text(why, sizeof why, "%s", wio_stg_why());
        return wio_stg_fail(rc, "writer %d has died or left: %s", child, why);
    }
    if (e->head.incarnation == w->s->incarnation)
        rc = hear_child(w, e);
    if (rc != 0)
        return rc;
    return wio_stg_await(&w->office, w->s->ranks[child], WIO_STG_T_UP, WIO_STG_K_CHILD, e->with);
}

static int on_parent(struct wio_stg_writer *w, struct wio_stg_event *e)
{
    int parent = wio_stg_parent(w->s->rank), rc = e->rc;
    char why[WIO_STG_WHY];
    /* Before it knows the incarnation. A failure of one that had been opened is then of an earlier
     * stream. */
    bool fits = w->opened ? e->head.incarnation == w->s->incarnation
                          : e->head.word == WIO_STG_OPENED ||
                                (e->head.word == WIO_STG_FAILED && e->head.b != 0);

    if (rc != 0) {
        wio_stg_text(why, sizeof why, "%s", wio_stg_why());
        return wio_stg_fail(rc, "writer %d has died or left: %s", parent, why);
    }
    if (fits)
        rc = wio_stg_down(w, &e->head, e->body, e->n_body);
    if (rc != 0)
        return rc;
    return wio_stg_await(&w->office, w->s->ranks[parent], WIO_STG_T_DOWN, WIO_STG_K_PARENT, NULL);
}

/* From anybody: one that has died in the middle of a request, or sends none, is nobody else's
 * affair. */
static int on_request(struct wio_stg_writer *w, const struct wio_stg_event *e)
{
    if (e->rc != 0 || e->head.incarnation != w->s->incarnation || e->head.word != WIO_STG_WANT)
        return 0;
    return wio_stg_give_pieces(w, e);
}

static int on_wake(struct wio_stg_writer *w, const struct wio_stg_event *e)
{
    int rc = e->rc;

    if (rc == 0)
        rc = wio_stg_await(&w->office, w->s->me, WIO_STG_T_WAKE, WIO_STG_K_WAKE, NULL);
    return rc == 0 ? look_around(w) : rc;
}

static int handle(struct wio_stg_writer *w, struct wio_stg_event *e)
{
    switch (e->kind) {
    case WIO_STG_K_WAKE:
        return on_wake(w, e);
    case WIO_STG_K_HELLO:
        return wio_stg_lead_hello(w, e);
    case WIO_STG_K_REQUEST:
        return on_request(w, e);
    case WIO_STG_K_CHILD:
        return on_child(w, e);
    case WIO_STG_K_PARENT:
        return on_parent(w, e);
    case WIO_STG_K_ASK:
        return wio_stg_lead_asked(w, e);
    case WIO_STG_K_SENT: {
        struct wio_stg_entry *entry = e->with;

        pthread_mutex_lock(&w->lock);
        entry->sends--;
        (void)wio_stg_drop_if_done(w, entry);
        pthread_mutex_unlock(&w->lock);
        return 0;
    }
    default:
        return 0;
    }
}

static int begin(struct wio_stg_writer *w)
{
    struct waitio_stage *s = w->s;
    int rc = wio_stg_await(&w->office, s->me, WIO_STG_T_WAKE, WIO_STG_K_WAKE, NULL);

    if (rc == 0)
        rc = wio_stg_await_all(&w->office, WIO_STG_T_REQUEST, WIO_STG_K_REQUEST);
    for (int i = 0; rc == 0 && i < w->children; i++) {
        int child = wio_stg_child(s->rank, i);

        rc = wio_stg_await(&w->office, s->ranks[child], WIO_STG_T_UP, WIO_STG_K_CHILD,
                           (void *)(intptr_t)child);
    }
    if (rc == 0 && s->rank > 0)
        rc = wio_stg_await(&w->office, s->ranks[wio_stg_parent(s->rank)], WIO_STG_T_DOWN,
                           WIO_STG_K_PARENT, NULL);
    if (rc == 0 && s->rank == 0)
        rc = wio_stg_lead_open(w);
    return rc;
}

static void free_thread(struct wio_stg_writer *w)
{
    wio_stg_drop_gathers(w, INT64_MAX, true);
    wio_stg_lead_free(w);
}

static bool may_end(struct wio_stg_writer *w, bool *quit)
{
    pthread_mutex_lock(&w->lock);
    *quit = w->quit;
    w->sent = w->office.bytes_sent + w->mouth.bytes_sent;
    pthread_mutex_unlock(&w->lock);
    return *quit;
}

/* Others that have opened the stream would wait for this writer without end. */
static void say_farewell(struct wio_stg_writer *w)
{
    if (w->code != 0 || !w->opened || w->closed)
        return;
    if (w->go)
        (void)wio_stg_fail(WAITIO_ERR_TIMEOUT,
                           "writer %d has closed the stream before all steps were read",
                           w->s->rank);
    else
        (void)wio_stg_fail(WAITIO_ERR_TIMEOUT,
                           "writer %d has given up opening the stream: %d groups of readers were "
                           "to come",
                           w->s->rank, w->s->set.readers);
    wio_stg_writer_break(w, WAITIO_ERR_TIMEOUT);
}

void *wio_stg_serve(void *writer)
{
    struct wio_stg_writer *w = writer;
    bool found, quit = false;
    int rc;

    (void)waitio_return_errors_here(1);
    rc = begin(w);
    if (rc != 0)
        wio_stg_writer_break(w, rc);
    while (!may_end(w, &quit)) {
        struct wio_stg_event e;

        rc = wio_stg_next(&w->office, NAP, &e, &found);
        if (rc != 0) {
            set_broken(w, rc, wio_stg_why());
            break; /* the universe was left */
        }
        if (!found)
            continue;
        rc = handle(w, &e);
        while (rc == 0 && w->again)
            rc = look_around(w);
        if (rc != 0)
            wio_stg_writer_break(w, rc);
        wio_stg_event_end(&e);
    }
    say_farewell(w);
    w->under_way = wio_stg_office_close(&w->office, LINGER);
    free_thread(w);
    return NULL;
}
