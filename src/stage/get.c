/* SPDX-License-Identifier: BSD-3-Clause */
/* What a reader asks of a step: variables, boxes, values, attributes. */
#include "stage/reader.h"

#include <stdlib.h>
#include <string.h>

static int told(const struct waitio_stage *s, int rc)
{
    char text[WIO_STG_WHY - 60];

    if (rc == 0 || s == NULL)
        return rc;
    wio_stg_text(text, sizeof text, "%s", wio_stg_why());
    return wio_stg_fail(rc, "stream '%s', step %lld: %s", s->name, (long long)s->step, text);
}

static int need_step(const struct waitio_stage *s)
{
    if (s == NULL || s->r == NULL)
        return wio_stg_fail(WAITIO_ERR_STATE, "the stream is not open for reading");
    if (s->code != 0)
        return wio_stg_fail(s->code, "%s", s->why);
    if (!s->in_step)
        return wio_stg_fail(WAITIO_ERR_STATE, "no step is open: begin one first");
    return 0;
}

/* ---- what there is -------------------------------------------------------------------------- */

static void tell_array(const struct wio_stg_array *a, struct waitio_stage_variable *v)
{
    *v = (struct waitio_stage_variable){a->name, a->type, a->kind, a->ndims, {0}, a->n};
    memcpy(v->shape, a->shape, sizeof a->shape);
}

static void tell_value(const struct wio_stg_value *x, struct waitio_stage_variable *v)
{
    *v = (struct waitio_stage_variable){x->name, x->type, WAITIO_STAGE_SCALAR, 0, {0}, 1};
}

static int unknown(const struct waitio_stage *s, const char *name)
{
    struct wio_stg_bytes b = {NULL, 0, 0, false};
    int rc;

    for (size_t i = 0; i < s->r->layout.n && b.n < 400; i++) {
        wio_stg_put_raw(&b, ", ", b.n > 0 ? 2 : 0);
        wio_stg_put_raw(&b, s->r->layout.arrays[i].name, strlen(s->r->layout.arrays[i].name));
    }
    for (size_t i = 0; i < s->r->values.n && b.n < 400; i++) {
        wio_stg_put_raw(&b, ", ", b.n > 0 ? 2 : 0);
        wio_stg_put_raw(&b, s->r->values.at[i].name, strlen(s->r->values.at[i].name));
    }
    rc = wio_stg_fail(WAITIO_ERR_ARG, "there is no variable '%s'; there are: %.*s",
                      name != NULL ? name : "", b.at != NULL ? (int)b.n : 4,
                      b.at != NULL ? (const char *)b.at : "none");
    wio_stg_bytes_free(&b);
    return rc;
}

int waitio_stage_variables(waitio_stage_t s, int *n)
{
    int rc = need_step(s);

    if (rc == 0)
        *n = (int)(s->r->layout.n + s->r->values.n);
    return told(s, rc);
}

int waitio_stage_variable_at(waitio_stage_t s, int i, struct waitio_stage_variable *v)
{
    int rc = need_step(s);

    if (rc != 0)
        return told(s, rc);
    if (i >= 0 && (size_t)i < s->r->layout.n)
        tell_array(&s->r->layout.arrays[i], v);
    else if (i >= 0 && (size_t)i < s->r->layout.n + s->r->values.n)
        tell_value(&s->r->values.at[(size_t)i - s->r->layout.n], v);
    else
        return told(s, wio_stg_fail(WAITIO_ERR_ARG, "there is no variable number %d", i));
    return 0;
}

int waitio_stage_inquire(waitio_stage_t s, const char *name, struct waitio_stage_variable *v)
{
    int rc = need_step(s);
    const struct wio_stg_array *a;
    const struct wio_stg_value *x;

    if (rc != 0 || name == NULL)
        return told(s, rc != 0 ? rc : unknown(s, name));
    a = wio_stg_layout_find(&s->r->layout, name);
    x = wio_stg_values_find(&s->r->values, name);
    if (a != NULL)
        tell_array(a, v);
    else if (x != NULL)
        tell_value(x, v);
    else
        return told(s, unknown(s, name));
    return 0;
}

/* An array by its name. */
static int find(const struct waitio_stage *s, const char *name, const struct wio_stg_array **array)
{
    int rc = need_step(s);
    const struct wio_stg_array *a;

    if (rc != 0)
        return rc;
    a = name != NULL ? wio_stg_layout_find(&s->r->layout, name) : NULL;
    if (a == NULL && name != NULL && wio_stg_values_find(&s->r->values, name) != NULL)
        return wio_stg_fail(WAITIO_ERR_ARG, "variable '%s' is a scalar, not an array", name);
    if (a == NULL)
        return unknown(s, name);
    *array = a;
    return 0;
}

/* The same for its elements, which must be of this type: so many bytes the caller's array has. */
static int find_elements(const struct waitio_stage *s, const char *name, int type,
                         const struct wio_stg_array **array)
{
    const struct wio_stg_array *a = NULL;
    int rc = find(s, name, &a);

    if (rc != 0)
        return rc;
    if (wio_stg_type_size(type) == 0)
        return wio_stg_fail(WAITIO_ERR_ARG,
                            "variable '%s' is of type %s, asked for is %d, which is no type of an "
                            "array's elements",
                            name, wio_stg_type_name(a->type), type);
    if (a->type != type)
        return wio_stg_fail(WAITIO_ERR_ARG, "variable '%s' is of type %s, asked for is %s", name,
                            wio_stg_type_name(a->type), wio_stg_type_name(type));
    *array = a;
    return wio_stg_can_undo(a);
}

static int check_block(const struct wio_stg_array *a, size_t block)
{
    if (block < a->n)
        return 0;
    return wio_stg_fail(WAITIO_ERR_ARG, "variable '%s' has %zu blocks, asked for is number %zu",
                        a->name, a->n, block);
}

int waitio_stage_block(waitio_stage_t s, const char *name, size_t block, int *writer,
                       uint64_t *start, uint64_t *count)
{
    const struct wio_stg_array *a = NULL;
    int rc = find(s, name, &a);

    if (rc == 0)
        rc = check_block(a, block);
    if (rc != 0)
        return told(s, rc);
    struct wio_stg_box b = wio_stg_block_box(a, block);
    if (writer != NULL)
        *writer = (int)a->where[3 * block];
    for (int d = 0; d < b.n; d++) {
        if (start != NULL)
            start[d] = b.start[d];
        if (count != NULL)
            count[d] = b.count[d];
    }
    return 0;
}

/* ---- arrays --------------------------------------------------------------------------------- */

static int want(struct waitio_stage *s, const struct wio_stg_array *a, int64_t block,
                const struct wio_stg_box *box, void *data)
{
    struct wio_stg_reader *r = s->r;
    uint64_t n;

    if (!wio_stg_box_volume(box, &n) || n > SIZE_MAX / 16)
        return wio_stg_fail(WAITIO_ERR_ARG, "variable '%s': the box is too large", a->name);
    if (n == 0)
        return 0;
    if (data == NULL)
        return wio_stg_fail(WAITIO_ERR_ARG, "variable '%s': data is NULL", a->name);
    if (r->n_wants == r->room_wants) {
        size_t room = r->room_wants > 0 ? 2 * r->room_wants : 8;
        struct wio_stg_want *at = realloc(r->wants, room * sizeof *at);

        if (at == NULL)
            return wio_stg_fail(WAITIO_ERR_NOMEM, "no memory for %zu boxes", room);
        r->wants = at;
        r->room_wants = room;
    }
    r->wants[r->n_wants++] =
        (struct wio_stg_want){(size_t)(a - r->layout.arrays), block, *box, data};
    return 0;
}

static int get(struct waitio_stage *s, const char *name, int type, const uint64_t *start,
               const uint64_t *count, void *data)
{
    const struct wio_stg_array *a = NULL;
    struct wio_stg_box box, whole;
    char where[300], shape[300];
    int rc = find_elements(s, name, type, &a);

    if (rc != 0)
        return rc;
    if (a->kind != WAITIO_STAGE_GLOBAL)
        return wio_stg_fail(WAITIO_ERR_ARG, "variable '%s' is a local array: get its blocks", name);
    whole = wio_stg_box(a->ndims, NULL, a->shape);
    box = wio_stg_box(a->ndims, start, count != NULL ? count : a->shape);
    for (int d = 0; count == NULL && d < a->ndims; d++)
        if (box.start[d] <= a->shape[d])
            box.count[d] = a->shape[d] - box.start[d];
    wio_stg_box_text(&box, where, sizeof where);
    wio_stg_box_text(&whole, shape, sizeof shape);
    if (!wio_stg_box_inside(&box, a->shape))
        return wio_stg_fail(WAITIO_ERR_ARG, "variable '%s': the box %s is outside the shape %s",
                            name, where, shape);
    return want(s, a, -1, &box, data);
}

int waitio_stage_get(waitio_stage_t s, const char *name, int type, const uint64_t *start,
                     const uint64_t *count, void *data)
{
    return told(s, get(s, name, type, start, count, data));
}

int waitio_stage_get_block(waitio_stage_t s, const char *name, int type, size_t block, void *data)
{
    const struct wio_stg_array *a = NULL;
    int rc = find_elements(s, name, type, &a);

    if (rc == 0)
        rc = check_block(a, block);
    if (rc == 0) {
        struct wio_stg_box box = wio_stg_block_box(a, block);

        rc = want(s, a, (int64_t)block, &box, data);
    }
    return told(s, rc);
}

int waitio_stage_perform(waitio_stage_t s, double limit)
{
    int keep = waitio_return_errors_here(1), rc = need_step(s);

    if (rc == 0)
        rc = wio_stg_fetch(s, wio_stg_limit(s, limit));
    (void)waitio_return_errors_here(keep);
    return told(s, rc);
}

/* ---- values --------------------------------------------------------------------------------- */

static int find_value(const struct waitio_stage *s, const char *name, int type,
                      const struct wio_stg_value **value)
{
    int rc = need_step(s);

    if (rc != 0)
        return rc;
    *value = name != NULL ? wio_stg_values_find(&s->r->values, name) : NULL;
    if (*value == NULL)
        return name != NULL && wio_stg_layout_find(&s->r->layout, name) != NULL
                   ? wio_stg_fail(WAITIO_ERR_ARG, "variable '%s' is an array", name)
                   : unknown(s, name);
    if ((*value)->type != type)
        return wio_stg_fail(WAITIO_ERR_ARG, "variable '%s' is of type %s, asked for is %s", name,
                            wio_stg_type_name((*value)->type), wio_stg_type_name(type));
    return 0;
}

int waitio_stage_get_scalar(waitio_stage_t s, const char *name, int type, void *value)
{
    const struct wio_stg_value *v = NULL;
    int rc = find_value(s, name, type, &v);

    if (rc == 0 && (type == WAITIO_STAGE_STRING || value == NULL))
        rc = wio_stg_fail(WAITIO_ERR_ARG, "variable '%s': a text is got by get_text", name);
    if (rc == 0)
        memcpy(value, v->data, v->bytes);
    return told(s, rc);
}

int waitio_stage_get_text(waitio_stage_t s, const char *name, const char **text)
{
    const struct wio_stg_value *v = NULL;
    int rc = find_value(s, name, WAITIO_STAGE_STRING, &v);

    *text = rc == 0 ? (const char *)v->data : NULL;
    return told(s, rc);
}

int waitio_stage_get_attribute(waitio_stage_t s, const char *name, int *type, size_t *n,
                               const void **values)
{
    const struct wio_stg_value *v = NULL;
    int rc = need_step(s);

    if (rc == 0)
        v = name != NULL ? wio_stg_values_find(&s->r->layout.attributes, name) : NULL;
    if (rc == 0 && v == NULL)
        rc = wio_stg_fail(WAITIO_ERR_ARG, "there is no attribute '%s'", name != NULL ? name : "");
    if (rc != 0)
        return told(s, rc);
    if (type != NULL)
        *type = v->type;
    if (n != NULL)
        *n = v->count;
    if (values != NULL)
        *values = v->data;
    return 0;
}

const char *waitio_stage_attribute_name(waitio_stage_t s, int i)
{
    if (need_step(s) != 0 || i < 0 || (size_t)i >= s->r->layout.attributes.n)
        return NULL;
    return s->r->layout.attributes.at[i].name;
}

int waitio_stage_select_steps(waitio_stage_t s, int64_t first, int64_t last, int64_t stride)
{
    if (s == NULL || s->r == NULL)
        return told(s, wio_stg_fail(WAITIO_ERR_STATE, "the stream is not open for reading"));
    if (first < 0 || first >= WIO_STG_STEPS || stride < 1 || stride >= WIO_STG_STEPS)
        return told(s, wio_stg_fail(WAITIO_ERR_ARG,
                                    "steps from %lld on, every %lld: neither may "
                                    "be less than 0, nor the latter 0, nor 2^60 or more",
                                    (long long)first, (long long)stride));
    s->r->first = first;
    s->r->last = last;
    s->r->stride = stride;
    return 0;
}
