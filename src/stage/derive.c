/* SPDX-License-Identifier: BSD-3-Clause */
/* Derived variables of writers. */
#include "stage/derive.h"

#include <stdlib.h>
#include <string.h>

/* ---- definitions ---------------------------------------------------------------------------- */

static int rule_of(const char *what)
{
    static const char *const names[] = {
        [WIO_STG_MIN] = "min", [WIO_STG_MAX] = "max", [WIO_STG_MAGNITUDE] = "magnitude"};

    for (int i = WIO_STG_MIN; what != NULL && i <= WIO_STG_MAGNITUDE; i++)
        if (strcmp(what, names[i]) == 0)
            return i;
    return wio_stg_fail(WAITIO_ERR_ARG,
                        "a variable is derived by min, max or magnitude, not by '%.40s'",
                        what != NULL ? what : "");
}

/* Are the sources such that their blocks can fit together? */
static int check_sources(struct wio_stg_writer *w, const struct wio_stg_derived *x)
{
    const struct wio_stg_defined *first = &w->defined[x->sources[0]];

    if (x->what != WIO_STG_MAGNITUDE && x->n != 1)
        return wio_stg_fail(WAITIO_ERR_ARG, "min and max are of one variable, not of %d", x->n);
    if (x->what == WIO_STG_MAGNITUDE && first->type != WAITIO_STAGE_FLOAT &&
        first->type != WAITIO_STAGE_DOUBLE)
        return wio_stg_fail(WAITIO_ERR_ARG,
                            "variable '%s' is of type %s; a magnitude is of float or double",
                            first->name, wio_stg_type_name(first->type));
    if (first->type > WAITIO_STAGE_DOUBLE)
        return wio_stg_fail(WAITIO_ERR_ARG, "variable '%s' is of type %s, which has no order",
                            first->name, wio_stg_type_name(first->type));
    for (int i = 1; i < x->n; i++) {
        const struct wio_stg_defined *d = &w->defined[x->sources[i]];

        if (d->type != first->type || d->kind != first->kind || d->ndims != first->ndims)
            return wio_stg_fail(WAITIO_ERR_ARG,
                                "variables '%s' and '%s' differ in type, kind or dimensions",
                                first->name, d->name);
    }
    return 0;
}

static int find_sources(struct wio_stg_writer *w, int n, const int *variables,
                        struct wio_stg_derived *x)
{
    if (n < 1 || n > WIO_STG_DIMS || variables == NULL)
        return wio_stg_fail(WAITIO_ERR_ARG, "a variable is derived from 1 to %d others, not %d",
                            WIO_STG_DIMS, n);
    x->n = n;
    for (int i = 0; i < n; i++) {
        if (wio_stg_find_defined(w, variables[i]) == NULL)
            return WAITIO_ERR_ARG;
        x->sources[i] = (size_t)variables[i];
    }
    return check_sources(w, x);
}

bool wio_stg_derived_scalar(const struct wio_stg_writer *w, const char *name)
{
    for (const struct wio_stg_derived *x = w->derived; x != NULL; x = x->next)
        if (x->what != WIO_STG_MAGNITUDE && strcmp(x->name, name) == 0)
            return true;
    return false;
}

static int define_it(struct waitio_stage *s, struct wio_stg_derived *x)
{
    const struct wio_stg_defined from = s->w->defined[x->sources[0]];
    int variable = -1, rc;

    x->type = from.type;
    if (wio_stg_derived_scalar(s->w, x->name))
        return wio_stg_fail(WAITIO_ERR_ARG, "variable '%s' is derived already", x->name);
    /* Also of a scalar: so nobody else has its name. */
    rc = waitio_stage_define(s, x->name, from.type, from.ndims,
                             from.kind == WAITIO_STAGE_GLOBAL ? from.shape : NULL, &variable);
    if (rc == 0) {
        x->variable = (size_t)variable;
        s->w->defined[variable].derived = true;
    }
    return rc;
}

static int derive(struct waitio_stage *s, const char *name, const char *what, int n,
                  const int *variables, int *variable)
{
    struct wio_stg_derived *x, **end = &s->w->derived;
    int rule = rule_of(what), rc;

    if (rule < 0)
        return rule;
    x = wio_stg_new(1, sizeof *x);
    if (x == NULL)
        return WAITIO_ERR_NOMEM;
    x->what = (enum wio_stg_rule)rule;
    x->name = wio_stg_copy(name != NULL ? name : "");
    rc = x->name == NULL ? WAITIO_ERR_NOMEM : find_sources(s->w, n, variables, x);
    if (rc == 0)
        rc = define_it(s, x);
    if (rc != 0) {
        free(x->name);
        free(x);
        return rc;
    }
    while (*end != NULL)
        end = &(*end)->next;
    *end = x;
    *variable = rule == WIO_STG_MAGNITUDE ? (int)x->variable : -1;
    return 0;
}

int waitio_stage_derive(waitio_stage_t s, const char *name, const char *what, int n,
                        const int *variables, int *variable)
{
    int rc = wio_stg_writers_only(s), found = -1;

    if (rc == 0)
        rc = derive(s, name, what, n, variables, &found);
    if (variable != NULL)
        *variable = found;
    return wio_stg_told(s, rc);
}

void wio_stg_derived_free(struct wio_stg_writer *w)
{
    while (w->derived != NULL) {
        struct wio_stg_derived *next = w->derived->next;

        free(w->derived->name);
        free(w->derived);
        w->derived = next;
    }
}

/* ---- the program's thread ------------------------------------------------------------------- */

static const struct wio_stg_put *find_put(const struct wio_stg_entry *e, size_t variable,
                                          uint32_t block)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->puts[i].defined == variable && e->puts[i].block == block)
            return &e->puts[i];
    return NULL;
}

static int same_boxes(const struct wio_stg_writer *w, const struct wio_stg_derived *x,
                      uint32_t block)
{
    const struct wio_stg_put *first = find_put(w->now, x->sources[0], block);
    char where[300];

    wio_stg_box_text(&first->box, where, sizeof where);
    for (int i = 1; i < x->n; i++) {
        const struct wio_stg_put *p = find_put(w->now, x->sources[i], block);

        if (p == NULL || !wio_stg_box_within(&p->box, &first->box) ||
            !wio_stg_box_within(&first->box, &p->box))
            return wio_stg_fail(WAITIO_ERR_ARG,
                                "variable '%s': it is derived from '%s' and '%s', whose blocks "
                                "differ: of the former %s was put",
                                x->name, w->defined[x->sources[0]].name,
                                w->defined[x->sources[i]].name, where);
    }
    return 0;
}

static int put_block(struct wio_stg_writer *w, const struct wio_stg_derived *x, uint32_t block)
{
    struct wio_stg_defined *d = &w->defined[x->variable];
    struct wio_stg_put *p, from;
    size_t extra;
    int rc = same_boxes(w, x, block);

    if (rc != 0)
        return rc;
    from = *find_put(w->now, x->sources[0], block);
    extra = wio_stg_extra(w->now, d, &from.box);
    rc = wio_stg_check_memory(w, x->name, from.bytes + extra);
    p = rc == 0 ? wio_stg_new_put(w->now) : NULL;
    if (p == NULL)
        return rc != 0 ? rc : WAITIO_ERR_NOMEM;
    *p = (struct wio_stg_put){.defined = x->variable,
                              .size = from.size,
                              .block = block,
                              .box = from.box,
                              .bytes = from.bytes,
                              .type = from.type,
                              .op = d->op,
                              .derived = x};
    p->own = wio_stg_new(p->bytes, 1);
    if (p->own == NULL)
        return WAITIO_ERR_NOMEM;
    p->data = p->own;
    w->now->bytes += p->bytes + extra;
    w->now->extra += extra;
    d->puts++;
    return 0;
}

static int put_blocks(struct wio_stg_writer *w, const struct wio_stg_derived *x)
{
    const struct wio_stg_defined *from = &w->defined[x->sources[0]];
    struct wio_stg_defined *d = &w->defined[x->variable];
    int rc = 0;

    memcpy(d->shape, from->shape, sizeof d->shape);
    for (int i = 1; i < x->n; i++)
        if (w->defined[x->sources[i]].puts != from->puts)
            return wio_stg_fail(WAITIO_ERR_ARG,
                                "variable '%s': of '%s' %zu blocks were put, of '%s' %zu", x->name,
                                from->name, from->puts, w->defined[x->sources[i]].name,
                                w->defined[x->sources[i]].puts);
    for (size_t k = 0; rc == 0 && k < from->puts; k++)
        rc = put_block(w, x, (uint32_t)k);
    return rc;
}

static int put_all(struct wio_stg_writer *w)
{
    struct wio_stg_entry *e = w->now;
    size_t n = 0;
    int rc = 0;

    for (const struct wio_stg_derived *x = w->derived; x != NULL; x = x->next)
        n++;
    e->derived = n > 0 ? wio_stg_new(n, sizeof(void *)) : NULL;
    if (n > 0 && e->derived == NULL)
        return WAITIO_ERR_NOMEM;
    for (const struct wio_stg_derived *x = w->derived; rc == 0 && x != NULL; x = x->next)
        if (x->what == WIO_STG_MAGNITUDE)
            rc = put_blocks(w, x);
        else if (w->defined[x->sources[0]].puts > 0)
            e->derived[e->n_derived++] = x;
    return rc;
}

int wio_stg_derive_puts(struct wio_stg_writer *w)
{
    struct wio_stg_entry *e = w->now;
    size_t n = e->n, bytes = e->bytes, extra = e->extra;
    int rc = put_all(w);

    if (rc == 0)
        return 0;
    while (e->n > n)
        free(e->puts[--e->n].own);
    e->bytes = bytes;
    e->extra = extra;
    for (struct wio_stg_derived *x = w->derived; x != NULL; x = x->next)
        w->defined[x->variable].puts = 0;
    free(e->derived);
    e->derived = NULL;
    e->n_derived = 0;
    return rc;
}

/* ---- the stream's thread -------------------------------------------------------------------- */

static void make_block(const struct wio_stg_entry *e, struct wio_stg_put *p)
{
    const char *from[WIO_STG_DIMS];

    for (int i = 0; i < p->derived->n; i++)
        from[i] = find_put(e, p->derived->sources[i], p->block)->data;
    wio_stg_magnitude(p->type, p->derived->n, from, p->bytes / p->size, p->own);
}

static int make_value(struct wio_stg_entry *e, const struct wio_stg_derived *x, uint32_t writer)
{
    unsigned char best[16] = {0};
    struct wio_stg_value v = {.name = x->name,
                              .type = x->type,
                              .rule = (int)x->what,
                              .writer = writer,
                              .count = 1,
                              .bytes = wio_stg_type_size(x->type),
                              .data = best};
    bool first = true;

    for (size_t i = 0; i < e->n; i++) {
        const struct wio_stg_put *p = &e->puts[i];

        if (p->defined != x->sources[0] || p->bytes == 0)
            continue;
        wio_stg_extreme(x->type, x->what == WIO_STG_MAX, p->data, p->bytes / p->size, first, best);
        first = false;
    }
    if (!first)
        wio_stg_write_value(&e->values, &v);
    return e->values.bad ? WAITIO_ERR_NOMEM : 0;
}

int wio_stg_derive(struct wio_stg_entry *e, uint32_t writer)
{
    int rc = 0;

    for (size_t i = 0; i < e->n; i++)
        if (e->puts[i].derived != NULL && e->puts[i].bytes > 0)
            make_block(e, &e->puts[i]);
    for (size_t i = 0; rc == 0 && i < e->n_derived; i++)
        rc = make_value(e, e->derived[i], writer);
    return rc;
}
