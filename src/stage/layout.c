/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts and layouts. */
#include "stage/layout.h"

#include <stdlib.h>
#include <string.h>

#include "waitio_stage.h"

/* Of each block in `where`. */
enum { WRITER, ARRAY, BLOCK, WHERE };

static int malformed(const char *what)
{
    return wio_stg_fail(WAITIO_ERR_PROTOCOL, "malformed %s of a stream", what);
}

/* ---- writing -------------------------------------------------------------------------------- */

void wio_stg_write_array(struct wio_stg_bytes *b, const char *name, int type, int kind,
                         const char *op, int ndims, const uint64_t *shape, size_t blocks)
{
    wio_stg_put_string(b, name);
    wio_stg_put_u8(b, (unsigned)type);
    wio_stg_put_u8(b, (unsigned)kind);
    wio_stg_put_string(b, op);
    wio_stg_put_u8(b, (unsigned)ndims);
    for (int d = 0; d < ndims; d++)
        wio_stg_put_u64(b, kind == WAITIO_STAGE_GLOBAL ? shape[d] : 0);
    wio_stg_put_u64(b, blocks);
}

void wio_stg_write_box(struct wio_stg_bytes *b, const struct wio_stg_box *box)
{
    for (int d = 0; d < box->n; d++)
        wio_stg_put_u64(b, box->start[d]);
    for (int d = 0; d < box->n; d++)
        wio_stg_put_u64(b, box->count[d]);
}

void wio_stg_write_value(struct wio_stg_bytes *b, const struct wio_stg_value *v)
{
    wio_stg_put_string(b, v->name);
    wio_stg_put_u8(b, (unsigned)v->type);
    wio_stg_put_u8(b, (unsigned)v->rule);
    wio_stg_put_u32(b, v->writer);
    wio_stg_put_u64(b, v->count);
    wio_stg_put_blob(b, v->data, v->bytes);
}

void wio_stg_layout_write(const struct wio_stg_layout *l, struct wio_stg_bytes *b)
{
    wio_stg_put_u32(b, (uint32_t)l->n);
    for (size_t i = 0; i < l->n; i++) {
        const struct wio_stg_array *a = &l->arrays[i];
        const uint64_t *box = a->boxes;

        wio_stg_write_array(b, a->name, a->type, a->kind, a->op, a->ndims, a->shape, a->n);
        for (size_t k = 0; k < a->n; k++) {
            for (int w = 0; w < WHERE; w++)
                wio_stg_put_u32(b, a->where[k * WHERE + (size_t)w]);
            for (int d = 0; d < 2 * a->ndims; d++)
                wio_stg_put_u64(b, *box++);
        }
    }
    wio_stg_values_write(&l->attributes, b);
}

/* ---- values --------------------------------------------------------------------------------- */

const struct wio_stg_value *wio_stg_values_find(const struct wio_stg_values *v, const char *name)
{
    for (size_t i = 0; i < v->n; i++)
        if (strcmp(v->at[i].name, name) == 0)
            return &v->at[i];
    return NULL;
}

static void free_value(struct wio_stg_value *v)
{
    free(v->name);
    free(v->data);
    *v = (struct wio_stg_value){.name = NULL};
}

/* The value is the list's afterwards, or freed. */
static int keep_value(struct wio_stg_values *v, struct wio_stg_value *new)
{
    struct wio_stg_value *old = (struct wio_stg_value *)wio_stg_values_find(v, new->name);

    if (old != NULL && old->rule != 0 && old->rule == new->rule && old->type == new->type) {
        wio_stg_extreme(new->type, new->rule == WIO_STG_MAX, new->data, 1, false, old->data);
        free_value(new);
        return 0;
    }
    if (old != NULL && old->writer < new->writer) {
        free_value(new);
        return 0;
    }
    if (old == NULL && v->n == v->room) {
        size_t room = v->room > 0 ? 2 * v->room : 8;
        struct wio_stg_value *at = realloc(v->at, room * sizeof *at);

        if (at == NULL) {
            free_value(new);
            return wio_stg_fail(WAITIO_ERR_NOMEM, "no memory for %zu values", room);
        }
        v->at = at;
        v->room = room;
    }
    if (old == NULL)
        old = &v->at[v->n++];
    else
        free_value(old);
    *old = *new;
    return 0;
}

/* Does what was read make sense together? */
static bool value_fits(const struct wio_stg_value *v)
{
    bool text = v->type == WAITIO_STAGE_STRING;

    if (!wio_stg_type_known(v->type) || v->count > v->bytes || v->rule > WIO_STG_MAX)
        return false;
    if (v->rule != 0 && (v->count != 1 || text))
        return false;
    return text || v->count * wio_stg_type_size(v->type) == v->bytes;
}

static int read_value(struct wio_stg_scan *s, struct wio_stg_value *v)
{
    const unsigned char *data;

    *v = (struct wio_stg_value){.name = wio_stg_take_string(s)};
    v->type = (int)wio_stg_take_u8(s);
    v->rule = (int)wio_stg_take_u8(s);
    v->writer = wio_stg_take_u32(s);
    v->count = (size_t)wio_stg_take_u64(s);
    data = wio_stg_take_blob(s, &v->bytes);
    if (!s->bad && !value_fits(v))
        s->bad = true;
    if (!s->bad && (v->data = wio_stg_new(v->bytes + 1, 1)) == NULL)
        s->bad = true;
    if (!s->bad) {
        memcpy(v->data, data, v->bytes);
        return 0;
    }
    free_value(v);
    return malformed("value");
}

static void swap_value(struct wio_stg_value *v)
{
    size_t unit = wio_stg_type_unit(v->type);

    wio_stg_swap(v->data, unit, v->bytes / unit);
}

static int add_values(struct wio_stg_values *v, const unsigned char *at, size_t n, bool swaps)
{
    struct wio_stg_scan s = {at, n, false};
    int rc = 0;

    while (rc == 0 && s.left > 0) {
        struct wio_stg_value one;

        rc = read_value(&s, &one);
        if (rc == 0 && swaps)
            swap_value(&one);
        if (rc == 0)
            rc = keep_value(v, &one);
    }
    return rc;
}

int wio_stg_values_add(struct wio_stg_values *v, const unsigned char *at, size_t n)
{
    return add_values(v, at, n, false);
}

int wio_stg_values_add_swapped(struct wio_stg_values *v, const unsigned char *at, size_t n)
{
    return add_values(v, at, n, true);
}

void wio_stg_values_write(const struct wio_stg_values *v, struct wio_stg_bytes *b)
{
    for (size_t i = 0; i < v->n; i++)
        wio_stg_write_value(b, &v->at[i]);
}

void wio_stg_values_swap(struct wio_stg_values *v)
{
    for (size_t i = 0; i < v->n; i++)
        swap_value(&v->at[i]);
}

void wio_stg_values_free(struct wio_stg_values *v)
{
    for (size_t i = 0; i < v->n; i++)
        free_value(&v->at[i]);
    free(v->at);
    *v = (struct wio_stg_values){NULL, 0, 0};
}

/* ---- arrays --------------------------------------------------------------------------------- */

const struct wio_stg_array *wio_stg_layout_find(const struct wio_stg_layout *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->arrays[i].name, name) == 0)
            return &l->arrays[i];
    return NULL;
}

struct wio_stg_box wio_stg_block_box(const struct wio_stg_array *a, size_t block)
{
    const uint64_t *at = a->boxes + block * 2 * (size_t)a->ndims;

    return wio_stg_box(a->ndims, at, at + a->ndims);
}

uint32_t wio_stg_block_writer(const struct wio_stg_array *a, size_t block)
{
    return a->where[block * WHERE + WRITER];
}

static void free_names(struct wio_stg_array *a)
{
    free(a->name);
    free(a->op);
    a->name = a->op = NULL;
}

static int read_array(struct wio_stg_scan *s, struct wio_stg_array *a, uint64_t *blocks)
{
    *a = (struct wio_stg_array){.name = wio_stg_take_string(s)};
    a->type = (int)wio_stg_take_u8(s);
    a->kind = (int)wio_stg_take_u8(s);
    a->op = wio_stg_take_string(s);
    a->ndims = (int)wio_stg_take_u8(s);
    if (a->ndims < 1 || a->ndims > WIO_STG_DIMS || wio_stg_type_size(a->type) == 0 ||
        (a->kind != WAITIO_STAGE_GLOBAL && a->kind != WAITIO_STAGE_LOCAL))
        s->bad = true;
    for (int d = 0; !s->bad && d < a->ndims; d++)
        a->shape[d] = wio_stg_take_u64(s);
    *blocks = wio_stg_take_u64(s);
    if (!s->bad && *blocks <= s->left / (16 * (size_t)a->ndims))
        return 0;
    free_names(a);
    return malformed("array");
}

static struct wio_stg_array *new_array(struct wio_stg_layout *l)
{
    if (l->n == l->room) {
        size_t room = l->room > 0 ? 2 * l->room : 8;
        struct wio_stg_array *at = realloc(l->arrays, room * sizeof *at);

        if (at == NULL) {
            (void)wio_stg_fail(WAITIO_ERR_NOMEM, "no memory for %zu arrays", room);
            return NULL;
        }
        l->arrays = at;
        l->room = room;
    }
    return &l->arrays[l->n++];
}

static int block_room(struct wio_stg_array *a, size_t n)
{
    size_t room = 2 * a->room > a->n + n ? 2 * a->room : a->n + n;
    uint32_t *where;
    uint64_t *boxes;

    if (n <= a->room - a->n)
        return 0;
    where = realloc(a->where, room * WHERE * sizeof *where);
    if (where != NULL)
        a->where = where;
    boxes = realloc(a->boxes, room * 2 * (size_t)a->ndims * sizeof *boxes);
    if (boxes != NULL)
        a->boxes = boxes;
    if (where == NULL || boxes == NULL)
        return wio_stg_fail(WAITIO_ERR_NOMEM, "no memory for %zu blocks of '%s'", room, a->name);
    a->room = room;
    return 0;
}

/* Blocks of an array, with their place (layouts) or without (parts). */
static int read_blocks(struct wio_stg_scan *s, struct wio_stg_array *a, uint64_t n,
                       const uint32_t *of)
{
    int rc = block_room(a, (size_t)n);

    for (uint64_t k = 0; rc == 0 && k < n; k++) {
        uint32_t *w = a->where + a->n * WHERE;
        uint64_t *box = a->boxes + a->n * 2 * (size_t)a->ndims, volume;
        struct wio_stg_box b;

        w[WRITER] = of != NULL ? of[0] : wio_stg_take_u32(s);
        w[ARRAY] = of != NULL ? of[1] : wio_stg_take_u32(s);
        w[BLOCK] = of != NULL ? (uint32_t)k : wio_stg_take_u32(s);
        for (int d = 0; d < 2 * a->ndims; d++)
            box[d] = wio_stg_take_u64(s);
        b = wio_stg_block_box(a, a->n);
        if (s->bad || !wio_stg_box_volume(&b, &volume) ||
            (a->kind == WAITIO_STAGE_GLOBAL && !wio_stg_box_inside(&b, a->shape)))
            rc = malformed("block");
        a->n++;
    }
    return rc;
}

/* Shapes of an array as two writers have them. */
static int differ(const struct wio_stg_array *a, const struct wio_stg_array *b, uint32_t writer)
{
    char mine[200], theirs[200];
    struct wio_stg_box x = wio_stg_box(a->ndims, NULL, a->shape);
    struct wio_stg_box y = wio_stg_box(b->ndims, NULL, b->shape);

    wio_stg_box_text(&x, mine, sizeof mine);
    wio_stg_box_text(&y, theirs, sizeof theirs);
    return wio_stg_fail(WAITIO_ERR_ARG,
                        "variable '%s': writer %u has a %s array of %s, shape %s%s%s, writer %u a "
                        "%s array of %s, shape %s%s%s; all writers must define it alike",
                        a->name, a->n > 0 ? a->where[WRITER] : 0,
                        a->kind == WAITIO_STAGE_GLOBAL ? "global" : "local",
                        wio_stg_type_name(a->type), mine, a->op[0] != '\0' ? ", operator " : "",
                        a->op, writer, b->kind == WAITIO_STAGE_GLOBAL ? "global" : "local",
                        wio_stg_type_name(b->type), theirs, b->op[0] != '\0' ? ", operator " : "",
                        b->op);
}

static bool alike(const struct wio_stg_array *a, const struct wio_stg_array *b)
{
    return a->type == b->type && a->kind == b->kind && a->ndims == b->ndims &&
           strcmp(a->op, b->op) == 0 &&
           memcmp(a->shape, b->shape, (size_t)a->ndims * sizeof *a->shape) == 0;
}

/* @param hint where the array probably is: most writers put the same in the same order */
static int add_array(struct wio_stg_layout *l, struct wio_stg_scan *s, uint32_t writer,
                     uint32_t hint)
{
    const uint32_t of[] = {writer, hint};
    struct wio_stg_array one, *a;
    uint64_t blocks;
    int rc = read_array(s, &one, &blocks);

    if (rc != 0)
        return rc;
    a = hint < l->n && strcmp(l->arrays[hint].name, one.name) == 0
            ? &l->arrays[hint]
            : (struct wio_stg_array *)wio_stg_layout_find(l, one.name);
    if (a == NULL) {
        a = new_array(l);
        if (a == NULL) {
            free_names(&one);
            return WAITIO_ERR_NOMEM;
        }
        *a = one;
    } else {
        rc = alike(a, &one) ? 0 : differ(a, &one, writer);
        free_names(&one);
    }
    return rc == 0 ? read_blocks(s, a, blocks, of) : rc;
}

int wio_stg_layout_add(struct wio_stg_layout *l, uint32_t writer, const unsigned char *part,
                       size_t n)
{
    struct wio_stg_scan s = {part, n, false};
    uint32_t arrays = wio_stg_take_u32(&s);
    int rc = s.bad ? malformed("part") : 0;

    for (uint32_t i = 0; rc == 0 && i < arrays; i++)
        rc = add_array(l, &s, writer, i);
    return rc == 0 ? wio_stg_values_add(&l->attributes, s.at, s.left) : rc;
}

int wio_stg_layout_read(struct wio_stg_layout *l, uint32_t writers, const unsigned char *at,
                        size_t n)
{
    struct wio_stg_scan s = {at, n, false};
    uint32_t arrays = wio_stg_take_u32(&s);
    int rc = s.bad ? malformed("layout") : 0;

    *l = (struct wio_stg_layout){NULL, 0, 0, {NULL, 0, 0}};
    for (uint32_t i = 0; rc == 0 && i < arrays; i++) {
        struct wio_stg_array one, *a;
        uint64_t blocks;

        rc = read_array(&s, &one, &blocks);
        if (rc != 0)
            break;
        a = new_array(l);
        if (a == NULL) {
            free_names(&one);
            return WAITIO_ERR_NOMEM;
        }
        *a = one;
        rc = read_blocks(&s, a, blocks, NULL);
        for (size_t k = 0; rc == 0 && k < a->n; k++)
            if (a->where[k * WHERE] >= writers)
                rc = malformed("block's writer");
    }
    return rc == 0 ? wio_stg_values_add(&l->attributes, s.at, s.left) : rc;
}

void wio_stg_layout_free(struct wio_stg_layout *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free_names(&l->arrays[i]);
        free(l->arrays[i].where);
        free(l->arrays[i].boxes);
    }
    free(l->arrays);
    wio_stg_values_free(&l->attributes);
    *l = (struct wio_stg_layout){NULL, 0, 0, {NULL, 0, 0}};
}
