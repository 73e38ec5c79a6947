/* SPDX-License-Identifier: BSD-3-Clause */
/* The program's arrays of fields: types, and points that are masked. Inside, all is in double
 * precision. */
#include <stdlib.h>
#include <string.h>

#include "coupler/cpl.h"
#include "coupler/message.h"

static const char *name_of(int type)
{
    static const char *const names[] = {"real8", "real4", "int"};

    return type >= 0 && type < 3 ? names[type] : "something else";
}

int wio_cpl_field_check(const struct waitio_cpl *cpl, const struct wio_cpl_var *v,
                        enum waitio_cpl_type type)
{
    bool known = (int)type >= 0 && (int)type <= WAITIO_CPL_INT;

    if (known && (type == WAITIO_CPL_INT) == (v->link->type == WIO_CPL_INT))
        return 0;
    return wio_cpl_fail(WAITIO_ERR_ARG,
                        "component '%s' %s '%s' as %s, but the configuration says type = '%s' "
                        "(%s:%d)",
                        cpl->components[cpl->mine].name, v->bundle->sends ? "puts" : "gets",
                        v->name, name_of((int)type), name_of((int)v->link->type), cpl->conf.file,
                        v->link->line);
}

/* Grows, and is freed at the end. */
static double *scratch(struct waitio_cpl *cpl, size_t n)
{
    if (cpl->scratch.room < n) {
        wio_cpl_list_free(&cpl->scratch);
        cpl->scratch.at = wio_cpl_new(n, sizeof(double));
        cpl->scratch.room = cpl->scratch.at != NULL ? n : 0;
    }
    return cpl->scratch.at;
}

const double *wio_cpl_field_values(struct waitio_cpl *cpl, const struct waitio_cpl_field *field,
                                   double fill)
{
    static const double nothing; /* of a process without points, whose array may be NULL */
    size_t n = field->points * field->layers;
    double *values;

    if (field->type == WAITIO_CPL_REAL8)
        return n > 0 ? field->data : &nothing;
    values = scratch(cpl, n > 0 ? n : 1);
    if (values != NULL)
        wio_cpl_widen((enum wio_cpl_type)field->type, fill, field->data, n, values);
    return values;
}

/* Masked points get no value. */
static void give_unmasked(const struct wio_cpl_var *v, const struct waitio_cpl_field *field,
                          const char *values)
{
    size_t width = wio_cpl_width((enum wio_cpl_type)field->type);
    char *to = field->data;

    for (size_t k = 0; k < field->layers; k++)
        for (size_t i = 0; i < field->points; i++, to += width, values += width)
            if (v->grid->open[i])
                memcpy(to, values, width);
}

int wio_cpl_field_give(struct waitio_cpl *cpl, const struct wio_cpl_var *v,
                       struct waitio_cpl_field *field)
{
    enum wio_cpl_type type = (enum wio_cpl_type)field->type;
    size_t n = field->points * field->layers;
    void *values = v->data;

    if (n == 0)
        return 0;
    if (v->grid->open == NULL) {
        (void)wio_cpl_narrow(type, v->data, NULL, n, field->data);
        return 0;
    }
    if (type != WIO_CPL_REAL8) {
        values = scratch(cpl, n);
        if (values == NULL)
            return WAITIO_ERR_NOMEM;
        (void)wio_cpl_narrow(type, v->data, NULL, n, values);
    }
    give_unmasked(v, field, values);
    return 0;
}
