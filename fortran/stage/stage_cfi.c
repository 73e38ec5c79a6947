/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The C side of module `waitio_stage`: streams, definitions, steps, questions. Dimensions are
 * turned round between the languages: the first index of Fortran runs fastest, as the last one of C
 * does.
 */
#include "stage_cfi.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Why this thread's last call was refused here; "" when C has answered it. */
static _Thread_local char refused[300];
static _Thread_local int refuses;

void waitio_cfi_stage_finish(const char *call, int code, int *ierr)
{
    if (!refuses)
        refused[0] = '\0';
    refuses = 0;
    if (ierr != NULL) {
        *ierr = code;
        return;
    }
    if (code >= 0)
        return;
    fprintf(stderr, "waitio: %s failed (%d): %s\n", call, code,
            refused[0] != '\0' ? refused : waitio_stage_last_error());
    fprintf(stderr,
            "waitio: ending the program after the error of %s; pass ierr to handle errors\n", call);
    fflush(NULL);
    waitio_abort(1);
}

int waitio_cfi_stage_refuse(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    (void)vsnprintf(refused, sizeof refused, format, list);
    va_end(list);
    refuses = 1;
    return WAITIO_ERR_ARG;
}

void waitio_cfi_stage_turn(int n, const int64_t *from, uint64_t *to)
{
    for (int d = 0; d < n; d++)
        to[n - 1 - d] = (uint64_t)from[d];
}

void waitio_cfi_stage_tell(const struct waitio_stage_variable *v,
                           struct waitio_cfi_stage_variable *out)
{
    *out = (struct waitio_cfi_stage_variable){
        .number = -1, .type = v->type, .kind = v->kind, .ndims = v->ndims};
    for (int d = 0; d < v->ndims; d++)
        out->shape[v->ndims - 1 - d] = (int64_t)v->shape[d];
    out->blocks = (int64_t)v->blocks;
    (void)snprintf(out->name, sizeof out->name, "%s", v->name);
}

/** Text of the last error; it belongs to the library. */
const char *waitio_cfi_stage_last_error(void);
const char *waitio_cfi_stage_last_error(void)
{
    return refused[0] != '\0' ? refused : waitio_stage_last_error();
}

static double limit_of(const double *limit)
{
    return limit != NULL ? *limit : WAITIO_STAGE_DEFAULT;
}

/* ---- streams -------------------------------------------------------------------------------- */

FORTRAN(waitio_cfi_stage_open,
        (waitio_stage_t * stream, const char *name, const int *mode, const waitio_group_t *group,
         const struct waitio_stage_settings *settings, int *ierr))
{
    waitio_cfi_stage_finish(
        "waitio_stage_open",
        waitio_stage_open(name, *mode, group != NULL ? *group : NULL, settings, stream), ierr);
}

FORTRAN(waitio_cfi_stage_close, (waitio_stage_t * stream, const double *limit, int *ierr))
{
    waitio_cfi_stage_finish("waitio_stage_close", waitio_stage_close(stream, limit_of(limit)),
                            ierr);
}

FORTRAN(waitio_cfi_stage_begin_step, (const waitio_stage_t *stream, int *status, const int *which,
                                      const double *limit, int *ierr))
{
    int found = WAITIO_STAGE_OK;
    int rc = waitio_stage_begin_step(*stream, which != NULL ? *which : WAITIO_STAGE_NEXT,
                                     limit_of(limit), &found);

    if (status != NULL)
        *status = found;
    waitio_cfi_stage_finish("waitio_stage_begin_step", rc, ierr);
}

FORTRAN(waitio_cfi_stage_end_step, (const waitio_stage_t *stream, const double *limit, int *ierr))
{
    waitio_cfi_stage_finish("waitio_stage_end_step",
                            waitio_stage_end_step(*stream, limit_of(limit)), ierr);
}

FORTRAN(waitio_cfi_stage_perform, (const waitio_stage_t *stream, const double *limit, int *ierr))
{
    waitio_cfi_stage_finish("waitio_stage_perform", waitio_stage_perform(*stream, limit_of(limit)),
                            ierr);
}

FORTRAN(waitio_cfi_stage_step, (const waitio_stage_t *stream, int64_t *step, int *ierr))
{
    waitio_cfi_stage_finish("waitio_stage_step", waitio_stage_step(*stream, step), ierr);
}

FORTRAN(waitio_cfi_stage_count,
        (const waitio_stage_t *stream, const char *what, int64_t *number, int *ierr))
{
    uint64_t found = 0;
    int rc = waitio_stage_count(*stream, what, &found);

    *number = (int64_t)found;
    waitio_cfi_stage_finish("waitio_stage_count", rc, ierr);
}

FORTRAN(waitio_cfi_stage_select_steps, (const waitio_stage_t *stream, const int64_t *first,
                                        const int64_t *last, const int64_t *stride, int *ierr))
{
    waitio_cfi_stage_finish("waitio_stage_select_steps",
                            waitio_stage_select_steps(*stream, *first, *last, *stride), ierr);
}

/* ---- definitions ---------------------------------------------------------------------------- */

/* @param shape NULL: a local array */
FORTRAN(waitio_cfi_stage_define,
        (const waitio_stage_t *stream, const char *name, const int *type, const int *ndims,
         const int64_t *shape, struct waitio_cfi_stage_variable *variable, int *ierr))
{
    uint64_t turned[WAITIO_STAGE_DIMS_MAX] = {0};
    int n = *ndims, rc = 0;

    *variable = (struct waitio_cfi_stage_variable){.number = -1, .type = *type, .ndims = n};
    for (int d = 0; shape != NULL && d < n && d < WAITIO_STAGE_DIMS_MAX; d++)
        if (shape[d] < 0)
            rc = waitio_cfi_stage_refuse("variable '%s': extent %lld of its shape is negative",
                                         name, (long long)shape[d]);
        else
            variable->shape[d] = shape[d];
    variable->kind = shape != NULL ? WAITIO_STAGE_GLOBAL : WAITIO_STAGE_LOCAL;
    (void)snprintf(variable->name, sizeof variable->name, "%s", name);
    if (n >= 1 && n <= WAITIO_STAGE_DIMS_MAX)
        waitio_cfi_stage_turn(n, variable->shape, turned);
    if (rc == 0)
        rc = waitio_stage_define(*stream, name, *type, n, shape != NULL ? turned : NULL,
                                 &variable->number);
    waitio_cfi_stage_finish("waitio_stage_define", rc, ierr);
}

FORTRAN(waitio_cfi_stage_reshape,
        (const waitio_stage_t *stream, struct waitio_cfi_stage_variable *variable, const int *ndims,
         const int64_t *shape, int *ierr))
{
    uint64_t turned[WAITIO_STAGE_DIMS_MAX];
    int rc = 0;

    if (*ndims != variable->ndims || *ndims < 1 || *ndims > WAITIO_STAGE_DIMS_MAX)
        rc = waitio_cfi_stage_refuse("variable '%s' has %d dimensions, the new shape has %d",
                                     variable->name, variable->ndims, *ndims);
    for (int d = 0; rc == 0 && d < *ndims; d++)
        if (shape[d] < 0)
            rc = waitio_cfi_stage_refuse("variable '%s': extent %lld of its shape is negative",
                                         variable->name, (long long)shape[d]);
    if (rc == 0) {
        waitio_cfi_stage_turn(*ndims, shape, turned);
        rc = waitio_stage_reshape(*stream, variable->number, turned);
    }
    for (int d = 0; rc == 0 && d < *ndims; d++)
        variable->shape[d] = shape[d];
    waitio_cfi_stage_finish("waitio_stage_reshape", rc, ierr);
}

FORTRAN(waitio_cfi_stage_operator,
        (const waitio_stage_t *stream, const struct waitio_cfi_stage_variable *variable,
         const char *name, const char *parameters, int *ierr))
{
    waitio_cfi_stage_finish("waitio_stage_operator",
                            waitio_stage_operator(*stream, variable->number, name, parameters),
                            ierr);
}

FORTRAN(waitio_cfi_stage_derive, (const waitio_stage_t *stream, const char *name, const char *what,
                                  const int *n, const struct waitio_cfi_stage_variable *sources,
                                  struct waitio_cfi_stage_variable *variable, int *ierr))
{
    int numbers[WAITIO_STAGE_DIMS_MAX], number = -1, rc = 0;

    if (*n < 1 || *n > WAITIO_STAGE_DIMS_MAX)
        rc = waitio_cfi_stage_refuse("variable '%s' is derived from 1 to %d others, not %d", name,
                                     WAITIO_STAGE_DIMS_MAX, *n);
    for (int i = 0; rc == 0 && i < *n; i++)
        numbers[i] = sources[i].number;
    if (rc == 0)
        rc = waitio_stage_derive(*stream, name, what, *n, numbers, &number);
    if (variable != NULL) {
        *variable = rc == 0 ? sources[0] : (struct waitio_cfi_stage_variable){.ndims = 0};
        variable->number = number;
        (void)snprintf(variable->name, sizeof variable->name, "%s", name);
    }
    waitio_cfi_stage_finish("waitio_stage_derive", rc, ierr);
}

/* ---- values --------------------------------------------------------------------------------- */

FORTRAN(waitio_cfi_stage_put_scalar, (const waitio_stage_t *stream, const char *name,
                                      const int *type, const void *value, int *ierr))
{
    waitio_cfi_stage_finish("waitio_stage_put_scalar",
                            waitio_stage_put_scalar(*stream, name, *type, value), ierr);
}

FORTRAN(waitio_cfi_stage_put_text,
        (const waitio_stage_t *stream, const char *name, const char *text, int *ierr))
{
    waitio_cfi_stage_finish("waitio_stage_put_text", waitio_stage_put_text(*stream, name, text),
                            ierr);
}

FORTRAN(waitio_cfi_stage_attribute,
        (const waitio_stage_t *stream, const char *name, const int *type, const int64_t *n,
         const void *values, int *ierr))
{
    waitio_cfi_stage_finish("waitio_stage_attribute",
                            waitio_stage_attribute(*stream, name, *type, (size_t)*n, values), ierr);
}

FORTRAN(waitio_cfi_stage_get_scalar,
        (const waitio_stage_t *stream, const char *name, const int *type, void *value, int *ierr))
{
    waitio_cfi_stage_finish("waitio_stage_get_scalar",
                            waitio_stage_get_scalar(*stream, name, *type, value), ierr);
}

/* Texts stay the stream's until the end of the step; Fortran copies them at once. */
static void text_out(const char *found, int rc, const char **text, int64_t *n)
{
    *text = rc == 0 && found != NULL ? found : "";
    *n = (int64_t)strlen(*text);
}

FORTRAN(waitio_cfi_stage_get_text,
        (const waitio_stage_t *stream, const char *name, const char **text, int64_t *n, int *ierr))
{
    const char *found = NULL;
    int rc = waitio_stage_get_text(*stream, name, &found);

    text_out(found, rc, text, n);
    waitio_cfi_stage_finish("waitio_stage_get_text", rc, ierr);
}

FORTRAN(waitio_cfi_stage_get_operator,
        (const waitio_stage_t *stream, const char *name, const char **text, int64_t *n, int *ierr))
{
    const char *found = NULL;
    int rc = waitio_stage_get_operator(*stream, name, &found);

    text_out(found, rc, text, n);
    waitio_cfi_stage_finish("waitio_stage_get_operator", rc, ierr);
}

/* @param i from 1; past the last one the text is empty */
FORTRAN(waitio_cfi_stage_attribute_name,
        (const waitio_stage_t *stream, const int *i, const char **text, int64_t *n))
{
    text_out(waitio_stage_attribute_name(*stream, *i - 1), 0, text, n);
}

/* @param[out] values belong to the stream; n: elements, of a text its length */
FORTRAN(waitio_cfi_stage_get_attribute,
        (const waitio_stage_t *stream, const char *name, const int *type, const void **values,
         int64_t *n, int *ierr))
{
    int found = 0;
    size_t count = 0;
    int rc = waitio_stage_get_attribute(*stream, name, &found, &count, values);

    if (rc == 0 && found != *type)
        rc = waitio_cfi_stage_refuse("attribute '%s' is of another type (%d) than asked for (%d)",
                                     name, found, *type);
    *n = rc == 0 ? (int64_t)count : 0;
    if (rc != 0)
        *values = "";
    waitio_cfi_stage_finish("waitio_stage_get_attribute", rc, ierr);
}

/* ---- what there is -------------------------------------------------------------------------- */

FORTRAN(waitio_cfi_stage_variables, (const waitio_stage_t *stream, int *n, int *ierr))
{
    *n = 0;
    waitio_cfi_stage_finish("waitio_stage_variables", waitio_stage_variables(*stream, n), ierr);
}

FORTRAN(waitio_cfi_stage_variable_at, (const waitio_stage_t *stream, const int *i,
                                       struct waitio_cfi_stage_variable *variable, int *ierr))
{
    struct waitio_stage_variable v = {.name = ""};
    int rc = waitio_stage_variable_at(*stream, *i - 1, &v);

    waitio_cfi_stage_tell(&v, variable);
    waitio_cfi_stage_finish("waitio_stage_variable_at", rc, ierr);
}

FORTRAN(waitio_cfi_stage_inquire, (const waitio_stage_t *stream, const char *name,
                                   struct waitio_cfi_stage_variable *variable, int *ierr))
{
    struct waitio_stage_variable v = {.name = ""};
    int rc = waitio_stage_inquire(*stream, name, &v);

    waitio_cfi_stage_tell(&v, variable);
    waitio_cfi_stage_finish("waitio_stage_inquire", rc, ierr);
}

FORTRAN(waitio_cfi_stage_block,
        (const waitio_stage_t *stream, const struct waitio_cfi_stage_variable *variable,
         const int64_t *block, int *writer, int64_t *offset, int64_t *count, int *ierr))
{
    uint64_t start[WAITIO_STAGE_DIMS_MAX] = {0}, extent[WAITIO_STAGE_DIMS_MAX] = {0};
    int rc =
        waitio_stage_block(*stream, variable->name, (size_t)(*block - 1), writer, start, extent);

    for (int d = 0; d < variable->ndims; d++) {
        offset[variable->ndims - 1 - d] = (int64_t)start[d];
        count[variable->ndims - 1 - d] = (int64_t)extent[d];
    }
    waitio_cfi_stage_finish("waitio_stage_block", rc, ierr);
}
