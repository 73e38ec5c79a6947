/* SPDX-License-Identifier: BSD-3-Clause */
/* A writer, as the program's thread sees it: definitions, puts, and the queue. */
#include "stage/derive.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the lock ------------------------------------------------------------------------------- */

static int wake(struct wio_stg_writer *w)
{
    bool needed = !w->waking;

    w->waking = true;
    pthread_mutex_unlock(&w->lock);
    int rc = needed ? wio_stg_wake(w->s->group, w->s->me, WIO_STG_T_WAKE) : 0;
    pthread_mutex_lock(&w->lock);
    return rc;
}

/* Wait for a change, with the lock. @return false: the limit is over, or a signal came */
static bool wait_until(struct wio_stg_writer *w, double until)
{
    double left = until - wio_stg_now(), whole;
    struct timespec t;

    if (left <= 0 || wio_stg_look())
        return false;
    if (left > WIO_STG_SLICE && wio_stg_looks())
        left = WIO_STG_SLICE;
    if (left > 1e6)
        left = 1e6;
    if (wio_stg_direct_listens(w)) {
        wio_stg_direct_hear(w, left);
        return true;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += (long)(modf(left, &whole) * 1e9);
    t.tv_sec += (time_t)whole + t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&w->changed, &w->lock, &t);
    return true;
}

static int broken(struct wio_stg_writer *w)
{
    return w->code != 0 ? wio_stg_fail(w->code, "%s", w->why) : 0;
}

/* ---- open and close ------------------------------------------------------------------------- */

static int start(struct wio_stg_writer *w)
{
    pthread_condattr_t attr;
    int rc;

    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&w->changed, &attr);
    (void)pthread_condattr_destroy(&attr);
    rc = pthread_create(&w->thread, NULL, wio_stg_serve, w);
    if (rc != 0)
        return wio_stg_fail(WAITIO_ERR_SYSTEM, "no thread for the stream: %s", strerror(rc));
    return 0;
}

/* With the lock. The thread ends, and so do its messages. */
static void stop(struct wio_stg_writer *w)
{
    w->quit = true;
    (void)wake(w);
    pthread_mutex_unlock(&w->lock);
    (void)pthread_join(w->thread, NULL);
    wio_stg_direct_free(w);
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->changed);
}

/* Data that is still under way is read where it lies: copies stay for good.
 * @return is any of it the program's? */
static bool keep_under_way(struct wio_stg_writer *w)
{
    bool lent = false;

    for (struct wio_stg_entry *e = w->first; w->under_way > 0 && e != NULL; e = e->next)
        for (size_t i = 0; e->sends > 0 && i < e->n; i++) {
            struct wio_stg_put *p = &e->puts[i];

            lent = lent || (p->own == NULL && p->packed == NULL && p->bytes > 0);
            p->own = NULL;
            p->packed = NULL;
        }
    return lent;
}

static void free_all(struct wio_stg_writer *w)
{
    while (w->first != NULL) {
        struct wio_stg_entry *next = w->first->next;

        wio_stg_entry_free(w->first);
        w->first = next;
    }
    wio_stg_entry_free(w->now);
    for (size_t i = 0; i < w->n_defined; i++)
        free(w->defined[i].name);
    free(w->defined);
    wio_stg_derived_free(w);
    wio_stg_values_free(&w->attributes);
    wio_stg_forget(w, -1);
    wio_stg_spare_free(&w->spares);
    wio_stg_bytes_free(&w->last_part);
    free(w);
}

int wio_stg_writer_open(struct waitio_stage *s)
{
    struct wio_stg_writer *w = wio_stg_new(1, sizeof *w);
    double until = wio_stg_now() + s->set.limit;
    int rc;

    if (w == NULL)
        return WAITIO_ERR_NOMEM;
    w->s = s;
    w->office.group = w->mouth.group = w->ears.group = s->group;
    w->ears.looks = true;
    w->direct.group = -1;
    w->children = wio_stg_children(s->rank, s->n);
    rc = start(w);
    if (rc != 0) {
        free(w);
        return rc;
    }
    s->w = w;
    pthread_mutex_lock(&w->lock);
    while (!w->go && w->code == 0 && wait_until(w, until))
        continue;
    rc = broken(w);
    if (rc == 0 && !w->go)
        rc = wio_stg_fail(WAITIO_ERR_TIMEOUT,
                          w->opened ? "%d groups of readers were to come; after %g s there are %d"
                                    : "the first of %d writers has not opened it within %g s",
                          w->opened ? s->set.readers : s->n, s->set.limit, (int)w->groups);
    pthread_mutex_unlock(&w->lock);
    return rc;
}

/* With the lock: no further steps come; wait until all have been read. */
static int wait_for_readers(struct wio_stg_writer *w, double limit)
{
    double until = wio_stg_now() + limit;
    bool asked = wio_stg_direct_all_acked(w);
    int rc = w->go ? wake(w) : 0;

    while (rc == 0 && w->go && !w->closed && w->code == 0 && wait_until(w, until))
        if (!asked && wio_stg_direct_all_acked(w)) {
            asked = true; /* now the thread may end the stream */
            rc = wake(w);
        }
    if (rc == 0 && !w->closed)
        rc = broken(w);
    if (rc == 0 && w->go && !w->closed)
        rc = wio_stg_fail(WAITIO_ERR_TIMEOUT,
                          "closed after %g s, although %d steps of this process had not been read "
                          "by all",
                          limit, w->queued);
    return rc;
}

int wio_stg_writer_close(struct waitio_stage *s, double limit)
{
    struct wio_stg_writer *w = s->w;
    char why[WIO_STG_WHY] = "";
    bool lent;
    int rc;

    if (w == NULL)
        return 0;
    pthread_mutex_lock(&w->lock);
    w->closing = true;
    rc = wait_for_readers(w, limit);
    if (rc != 0)
        wio_stg_text(why, sizeof why, "%s", wio_stg_why());
    stop(w);
    lent = keep_under_way(w);
    free_all(w);
    s->w = NULL;
    return wio_stg_closed(rc, why, lent ? "arrays that were put" : NULL);
}

/* ---- definitions ---------------------------------------------------------------------------- */

static int check_name(const char *name)
{
    if (name == NULL || name[0] == '\0' || strlen(name) > WIO_STG_NAME_MOST)
        return wio_stg_fail(WAITIO_ERR_ARG, "a name has 1 to %d bytes", WIO_STG_NAME_MOST);
    return 0;
}

static int check_definition(const struct wio_stg_writer *w, const char *name, int type, int ndims)
{
    int rc = check_name(name);

    if (rc == 0 && wio_stg_type_size(type) == 0)
        rc = wio_stg_fail(WAITIO_ERR_ARG, "variable '%s': %d is no type of an array's elements",
                          name, type);
    if (rc == 0 && (ndims < 1 || ndims > WIO_STG_DIMS))
        rc = wio_stg_fail(WAITIO_ERR_ARG, "variable '%s': %d dimensions; 1 to %d are possible",
                          name, ndims, WIO_STG_DIMS);
    for (size_t i = 0; rc == 0 && i < w->n_defined; i++)
        if (strcmp(w->defined[i].name, name) == 0)
            rc = wio_stg_fail(WAITIO_ERR_ARG, "variable '%s' is defined already", name);
    return rc;
}

static int check_shape(const char *name, int ndims, const uint64_t *shape)
{
    struct wio_stg_box b = wio_stg_box(ndims, NULL, shape);
    uint64_t volume;

    return wio_stg_box_volume(&b, &volume)
               ? 0
               : wio_stg_fail(WAITIO_ERR_ARG, "variable '%s' has more than 2^62 elements", name);
}

static int define(struct wio_stg_writer *w, const char *name, int type, int ndims,
                  const uint64_t *shape)
{
    struct wio_stg_defined *at;
    int rc = check_definition(w, name, type, ndims);

    if (rc == 0 && shape != NULL)
        rc = check_shape(name, ndims, shape);
    if (rc != 0)
        return rc;
    at = realloc(w->defined, (w->n_defined + 1) * sizeof *at);
    if (at == NULL)
        return wio_stg_fail(WAITIO_ERR_NOMEM, "no memory for variable '%s'", name);
    w->defined = at;
    at += w->n_defined;
    memset(at, 0, sizeof *at);
    at->name = wio_stg_copy(name);
    if (at->name == NULL)
        return WAITIO_ERR_NOMEM;
    at->type = type;
    at->ndims = ndims;
    at->kind = shape != NULL ? WAITIO_STAGE_GLOBAL : WAITIO_STAGE_LOCAL;
    for (int d = 0; shape != NULL && d < ndims; d++)
        at->shape[d] = shape[d];
    w->n_defined++;
    return 0;
}

struct wio_stg_defined *wio_stg_find_defined(struct wio_stg_writer *w, int variable)
{
    if (variable >= 0 && (size_t)variable < w->n_defined)
        return &w->defined[variable];
    (void)wio_stg_fail(WAITIO_ERR_ARG, "%d is no variable of this stream", variable);
    return NULL;
}

static int reshape(struct wio_stg_writer *w, int variable, const uint64_t *shape)
{
    struct wio_stg_defined *d = wio_stg_find_defined(w, variable);
    int rc;

    if (d == NULL)
        return WAITIO_ERR_ARG;
    if (d->kind != WAITIO_STAGE_GLOBAL || shape == NULL)
        return wio_stg_fail(WAITIO_ERR_ARG, "variable '%s': only a global array has a shape",
                            d->name);
    if (w->now != NULL && d->puts > 0)
        return wio_stg_fail(WAITIO_ERR_STATE,
                            "variable '%s' was put in this step already; change its shape before",
                            d->name);
    rc = check_shape(d->name, d->ndims, shape);
    for (int k = 0; rc == 0 && k < d->ndims; k++)
        d->shape[k] = shape[k];
    return rc;
}

/* ---- puts ----------------------------------------------------------------------------------- */

static int need_step(const struct waitio_stage *s)
{
    if (s->in_step && !s->w->queued_now)
        return 0;
    return wio_stg_fail(WAITIO_ERR_STATE, "no step is open: put between begin_step and end_step");
}

static int box_of_put(const struct wio_stg_defined *d, const uint64_t *start, const uint64_t *count,
                      struct wio_stg_box *box)
{
    bool global = d->kind == WAITIO_STAGE_GLOBAL;
    char where[300], shape[300];
    struct wio_stg_box whole = wio_stg_box(d->ndims, NULL, d->shape);
    uint64_t volume;

    if (count == NULL && !global)
        return wio_stg_fail(WAITIO_ERR_ARG, "variable '%s': a local array needs a count", d->name);
    *box = wio_stg_box(d->ndims, global ? start : NULL, count != NULL ? count : d->shape);
    wio_stg_box_text(box, where, sizeof where);
    wio_stg_box_text(&whole, shape, sizeof shape);
    if (global && !wio_stg_box_inside(box, d->shape))
        return wio_stg_fail(WAITIO_ERR_ARG, "variable '%s': the block %s is outside the shape %s",
                            d->name, where, shape);
    if (!wio_stg_box_volume(box, &volume) || volume > SIZE_MAX / 16)
        return wio_stg_fail(WAITIO_ERR_ARG, "variable '%s': the block %s is too large", d->name,
                            where);
    return 0;
}

int wio_stg_check_memory(struct wio_stg_writer *w, const char *name, size_t bytes)
{
    size_t most = w->s->set.memory_max, held;

    pthread_mutex_lock(&w->lock);
    held = w->bytes + w->now->bytes;
    if (most > 0 && held + bytes + w->spares.bytes > most)
        wio_stg_spare_free(&w->spares);
    pthread_mutex_unlock(&w->lock);
    if (most == 0 || (bytes <= most && held <= most - bytes))
        return 0;
    return wio_stg_fail(WAITIO_ERR_LIMIT,
                        "variable '%s': %zu bytes more than the %zu that are queued would exceed "
                        "memory_max, %zu; let readers catch up, shorten the queue, or raise it",
                        name, bytes, held, most);
}

struct wio_stg_put *wio_stg_new_put(struct wio_stg_entry *e)
{
    if (e->n == e->room) {
        size_t room = e->room > 0 ? 2 * e->room : 8;
        struct wio_stg_put *at = realloc(e->puts, room * sizeof *at);

        if (at == NULL) {
            (void)wio_stg_fail(WAITIO_ERR_NOMEM, "no memory for %zu blocks", room);
            return NULL;
        }
        e->puts = at;
        e->room = room;
    }
    memset(&e->puts[e->n], 0, sizeof e->puts[e->n]);
    return &e->puts[e->n++];
}

static int keep_copy(struct wio_stg_writer *w, struct wio_stg_put *p)
{
    if (p->own != NULL || p->bytes == 0)
        return 0;
    pthread_mutex_lock(&w->lock);
    p->own = wio_stg_spare_take(&w->spares, p->bytes);
    pthread_mutex_unlock(&w->lock);
    if (p->own == NULL)
        p->own = malloc(p->bytes);
    if (p->own == NULL)
        return wio_stg_fail(WAITIO_ERR_NOMEM, "no memory for a block of %zu bytes", p->bytes);
    memcpy(p->own, p->data, p->bytes);
    p->data = p->own;
    return 0;
}

size_t wio_stg_extra(const struct wio_stg_entry *e, const struct wio_stg_defined *d,
                     const struct wio_stg_box *box)
{
    size_t extra = d->op.codec != NULL ? wio_stg_pack_extra(&d->op, d->type, box) : 0;

    return extra > e->extra ? extra - e->extra : 0;
}

static int put(struct wio_stg_writer *w, int variable, const uint64_t *start, const uint64_t *count,
               const void *data, int how)
{
    struct wio_stg_defined *d = wio_stg_find_defined(w, variable);
    struct wio_stg_box box;
    struct wio_stg_put *p;
    uint64_t volume;
    size_t extra;
    int rc = d == NULL ? WAITIO_ERR_ARG : need_step(w->s);

    if (rc == 0 && d->derived)
        rc = wio_stg_fail(WAITIO_ERR_ARG, "variable '%s' is derived: it is not put", d->name);
    if (rc == 0)
        rc = box_of_put(d, start, count, &box);
    if (rc != 0)
        return rc;
    (void)wio_stg_box_volume(&box, &volume);
    if (data == NULL && volume > 0)
        return wio_stg_fail(WAITIO_ERR_ARG, "variable '%s': data is NULL", d->name);
    if (how != WAITIO_STAGE_DEFERRED && how != WAITIO_STAGE_NOW)
        return wio_stg_fail(WAITIO_ERR_ARG,
                            "variable '%s': %d is neither WAITIO_STAGE_DEFERRED "
                            "nor _NOW",
                            d->name, how);
    extra = wio_stg_extra(w->now, d, &box);
    rc = wio_stg_check_memory(w, d->name, (size_t)volume * wio_stg_type_size(d->type) + extra);
    p = rc == 0 ? wio_stg_new_put(w->now) : NULL;
    if (p == NULL)
        return rc != 0 ? rc : WAITIO_ERR_NOMEM;
    p->defined = (size_t)variable;
    p->size = wio_stg_type_size(d->type);
    p->block = (uint32_t)d->puts++;
    p->box = box;
    p->data = data;
    p->bytes = (size_t)volume * p->size;
    p->type = d->type;
    p->op = d->op;
    w->now->bytes += p->bytes + extra;
    w->now->extra += extra;
    return how == WAITIO_STAGE_NOW ? keep_copy(w, p) : 0;
}

static int put_value(struct wio_stg_writer *w, const char *name, int type, const void *value,
                     size_t bytes)
{
    struct wio_stg_value v = {.name = (char *)name,
                              .type = type,
                              .writer = (uint32_t)w->s->rank,
                              .count = 1,
                              .bytes = bytes,
                              .data = (unsigned char *)value};
    int rc = check_name(name);

    if (rc == 0)
        rc = need_step(w->s);
    if (rc == 0 && wio_stg_derived_scalar(w, name))
        rc = wio_stg_fail(WAITIO_ERR_ARG, "variable '%s' is derived from an array", name);
    for (size_t i = 0; rc == 0 && i < w->n_defined; i++)
        if (strcmp(w->defined[i].name, name) == 0)
            rc = wio_stg_fail(WAITIO_ERR_ARG, "variable '%s' is an array, not a scalar", name);
    if (rc == 0 && value == NULL)
        rc = wio_stg_fail(WAITIO_ERR_ARG, "variable '%s': the value is NULL", name);
    if (rc != 0)
        return rc;
    if (type == WAITIO_STAGE_STRING && bytes == 0)
        v.count = 0;
    wio_stg_write_value(&w->now->values, &v);
    return w->now->values.bad ? WAITIO_ERR_NOMEM : 0;
}

static int set_attribute(struct wio_stg_writer *w, const char *name, int type, size_t n,
                         const void *values)
{
    bool text = type == WAITIO_STAGE_STRING;
    struct wio_stg_value v = {.name = (char *)name,
                              .type = type,
                              .writer = (uint32_t)w->s->rank,
                              .count = n,
                              .data = (unsigned char *)values};
    struct wio_stg_bytes b = {NULL, 0, 0, false};
    int rc = check_name(name);

    if (rc == 0 && (!wio_stg_type_known(type) || values == NULL))
        rc = wio_stg_fail(WAITIO_ERR_ARG, "attribute '%s': no type or no values", name);
    if (rc != 0)
        return rc;
    v.bytes = text ? strlen(values) : n * wio_stg_type_size(type);
    v.count = text ? v.bytes : n;
    wio_stg_write_value(&b, &v);
    rc = b.bad ? WAITIO_ERR_NOMEM : wio_stg_values_add(&w->attributes, b.at, b.n);
    wio_stg_bytes_free(&b);
    return rc;
}

/* ---- steps ---------------------------------------------------------------------------------- */

int wio_stg_writer_begin(struct waitio_stage *s)
{
    struct wio_stg_writer *w = s->w;
    int rc;

    pthread_mutex_lock(&w->lock);
    if (wio_stg_direct_listens(w))
        wio_stg_direct_hear(w, 0);
    rc = broken(w);
    pthread_mutex_unlock(&w->lock);
    if (rc != 0)
        return rc;
    w->now = wio_stg_new(1, sizeof *w->now);
    if (w->now == NULL)
        return WAITIO_ERR_NOMEM;
    w->now->step = ++s->step;
    s->in_step = true;
    for (size_t i = 0; i < w->n_defined; i++)
        w->defined[i].puts = 0;
    return 0;
}

/* What this process has put, for the others. */
static int write_part(struct wio_stg_writer *w, struct wio_stg_entry *e)
{
    uint32_t arrays = 0, array = 0;

    for (size_t i = 0; i < w->n_defined; i++)
        arrays += w->defined[i].puts > 0;
    wio_stg_put_u32(&e->part, arrays);
    for (size_t i = 0; i < w->n_defined; i++) {
        const struct wio_stg_defined *d = &w->defined[i];

        if (d->puts == 0)
            continue;
        wio_stg_write_array(&e->part, d->name, d->type, d->kind, d->op_text, d->ndims, d->shape,
                            d->puts);
        for (size_t k = 0; k < e->n; k++)
            if (e->puts[k].defined == i) {
                wio_stg_write_box(&e->part, &e->puts[k].box);
                e->puts[k].array = array;
            }
        array++;
    }
    wio_stg_values_write(&w->attributes, &e->part);
    return e->part.bad ? WAITIO_ERR_NOMEM : 0;
}

static int enqueue(struct wio_stg_writer *w)
{
    struct wio_stg_entry *e = w->now, **end = &w->first;
    int rc = wio_stg_derive_puts(w);

    if (rc == 0)
        rc = write_part(w, e);
    for (size_t k = 0; rc == 0 && w->s->set.queue > 0 && k < e->n; k++)
        rc = keep_copy(w, &e->puts[k]);
    if (rc != 0)
        return rc;
    e->prepared = !wio_stg_prepares(e);
    w->queued_now = true;
    w->now = NULL;
    pthread_mutex_lock(&w->lock);
    while (*end != NULL)
        end = &(*end)->next;
    *end = e;
    w->queued++;
    w->bytes += e->bytes;
    if (w->bytes > w->bytes_most)
        w->bytes_most = w->bytes;
    rc = wio_stg_direct_put(w, e) ? 0 : wake(w);
    pthread_mutex_unlock(&w->lock);
    return rc;
}

static int queue_full(struct wio_stg_writer *w, double limit)
{
    if (wio_stg_look())
        return wio_stg_fail(WAITIO_ERR_CANCELLED, "the wait was broken off by a signal");
    return wio_stg_fail(WAITIO_ERR_TIMEOUT,
                        "the queue holds %d steps, %d are allowed, and no reader has released one "
                        "within %g s; end the step again to go on waiting, or choose a queue that "
                        "discards steps",
                        w->queued, w->s->set.queue, limit);
}

int wio_stg_writer_end(struct waitio_stage *s, double limit)
{
    struct wio_stg_writer *w = s->w;
    double until = wio_stg_now() + limit;
    int rc = w->queued_now ? 0 : enqueue(w);

    if (rc != 0)
        return rc;
    pthread_mutex_lock(&w->lock);
    while (w->queued > wio_stg_queue_of(&s->set) && w->code == 0 && wait_until(w, until))
        continue;
    rc = broken(w);
    if (rc == 0 && w->queued > wio_stg_queue_of(&s->set))
        rc = queue_full(w, limit);
    pthread_mutex_unlock(&w->lock);
    if (rc == 0) {
        w->queued_now = false;
        s->in_step = false;
    }
    return rc;
}

int wio_stg_writer_count(struct waitio_stage *s, const char *name, uint64_t *value)
{
    struct wio_stg_writer *w = s->w;
    int rc = 0;

    pthread_mutex_lock(&w->lock);
    if (strcmp(name, "steps") == 0)
        *value = (uint64_t)(s->step + 1);
    else if (strcmp(name, "discarded") == 0)
        *value = w->discarded;
    else if (strcmp(name, "bytes") == 0)
        *value = w->sent;
    else if (strcmp(name, "queued_bytes") == 0)
        *value = w->bytes;
    else if (strcmp(name, "spare_bytes") == 0)
        *value = w->spares.bytes;
    else if (strcmp(name, "queued_bytes_max") == 0)
        *value = w->bytes_most;
    else if (strcmp(name, "plans") == 0)
        *value = w->plans;
    else if (strcmp(name, "plans_reused") == 0)
        *value = w->reused;
    else if (strcmp(name, "groups") == 0)
        *value = w->groups;
    else if (strcmp(name, "pushes") == 0)
        *value = w->direct.pushes;
    else if (strcmp(name, "raw_bytes") == 0)
        *value = w->raw_bytes;
    else if (strcmp(name, "packed_bytes") == 0)
        *value = w->packed_bytes;
    else
        rc = wio_stg_fail(WAITIO_ERR_ARG, "a stream does not count '%s'", name);
    pthread_mutex_unlock(&w->lock);
    return rc;
}

/* ---- public --------------------------------------------------------------------------------- */

int wio_stg_writers_only(const struct waitio_stage *s)
{
    if (s != NULL && s->w != NULL)
        return 0;
    return wio_stg_fail(WAITIO_ERR_STATE, "the stream is not open for writing");
}

static int told(struct waitio_stage *s, int rc)
{
    char text[WIO_STG_WHY];

    if (rc == 0 || s == NULL)
        return rc;
    wio_stg_text(text, sizeof text, "%s", wio_stg_why());
    return wio_stg_fail(rc, "stream '%s', step %lld: %s", s->name, (long long)s->step, text);
}

int waitio_stage_define(waitio_stage_t s, const char *name, int type, int ndims,
                        const uint64_t *shape, int *variable)
{
    int rc = wio_stg_writers_only(s);

    if (rc == 0)
        rc = define(s->w, name, type, ndims, shape);
    if (variable != NULL)
        *variable = rc == 0 ? (int)s->w->n_defined - 1 : -1;
    return told(s, rc);
}

int waitio_stage_reshape(waitio_stage_t s, int variable, const uint64_t *shape)
{
    int rc = wio_stg_writers_only(s);

    return told(s, rc == 0 ? reshape(s->w, variable, shape) : rc);
}

int waitio_stage_put(waitio_stage_t s, int variable, const uint64_t *start, const uint64_t *count,
                     const void *data, int how)
{
    int rc = wio_stg_writers_only(s);

    return told(s, rc == 0 ? put(s->w, variable, start, count, data, how) : rc);
}

int waitio_stage_put_scalar(waitio_stage_t s, const char *name, int type, const void *value)
{
    int rc = wio_stg_writers_only(s);

    if (rc == 0 && wio_stg_type_size(type) == 0)
        rc = wio_stg_fail(WAITIO_ERR_ARG, "variable '%s': %d is no type of a scalar",
                          name != NULL ? name : "", type);
    return told(s, rc == 0 ? put_value(s->w, name, type, value, wio_stg_type_size(type)) : rc);
}

int waitio_stage_put_text(waitio_stage_t s, const char *name, const char *text)
{
    int rc = wio_stg_writers_only(s);

    return told(s, rc == 0 ? put_value(s->w, name, WAITIO_STAGE_STRING, text,
                                       text != NULL ? strlen(text) : 0)
                           : rc);
}

int waitio_stage_attribute(waitio_stage_t s, const char *name, int type, size_t n,
                           const void *values)
{
    int rc = wio_stg_writers_only(s);

    return told(s, rc == 0 ? set_attribute(s->w, name, type, n, values) : rc);
}
