/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The C side of module `waitio_stage`: arrays. An array that is not contiguous is refused, because
 * a temporary copy would be gone before the step has ended.
 */
#include "stage_cfi.h"

#include <stdbool.h>

static int type_of(const CFI_cdesc_t *d)
{
    static const struct {
        CFI_type_t cfi;
        int type;
    } rows[] = {
        {CFI_type_int8_t, WAITIO_STAGE_INT8},
        {CFI_type_int16_t, WAITIO_STAGE_INT16},
        {CFI_type_int32_t, WAITIO_STAGE_INT32},
        {CFI_type_int64_t, WAITIO_STAGE_INT64},
        {CFI_type_float, WAITIO_STAGE_FLOAT},
        {CFI_type_double, WAITIO_STAGE_DOUBLE},
        {CFI_type_float_Complex, WAITIO_STAGE_FLOAT_COMPLEX},
        {CFI_type_double_Complex, WAITIO_STAGE_DOUBLE_COMPLEX},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].cfi == d->type)
            return rows[i].type;
    return 0;
}

/* How many elements has the array? An assumed-size one does not know. */
static int count_elements(const struct waitio_cfi_stage_variable *v, const CFI_cdesc_t *d,
                          int64_t *elements)
{
    *elements = 1;
    for (int i = 0; i < d->rank; i++) {
        if (d->dim[i].extent < 0)
            return waitio_cfi_stage_refuse(
                "variable '%s': the array is assumed-size (*); pass a section "
                "such as a(1:n)",
                v->name);
        *elements *= d->dim[i].extent;
    }
    return 0;
}

static bool contiguous(const CFI_cdesc_t *d)
{
    CFI_index_t step = (CFI_index_t)d->elem_len;

    for (int i = 0; i < d->rank; i++) {
        if (d->dim[i].extent > 1 && d->dim[i].sm != step)
            return false;
        step *= d->dim[i].extent;
    }
    return true;
}

/* Is the array one piece of memory, of a known size and of the variable's type? One without
 * elements is, whatever its strides say: a process may have nothing to put. Fortran has no unsigned
 * integers: those of other writers come as integers of their size. */
static int look(const struct waitio_cfi_stage_variable *v, const CFI_cdesc_t *d, int64_t *elements)
{
    int type = type_of(d), same = type, rc;

    if (type >= WAITIO_STAGE_INT8 && type <= WAITIO_STAGE_INT64)
        same = type + WAITIO_STAGE_UINT8 - WAITIO_STAGE_INT8;
    if (type == 0 || (v->type != type && v->type != same))
        return waitio_cfi_stage_refuse(
            "variable '%s': the array's type is not the variable's (number %d)", v->name, v->type);
    rc = count_elements(v, d, elements);
    if (rc == 0 && *elements > 0 && !contiguous(d))
        rc = waitio_cfi_stage_refuse("variable '%s': the array is not contiguous; copy it, or pass "
                                     "a contiguous array",
                                     v->name);
    return rc;
}

/* Numbers of either kind. */
static int64_t number(const CFI_cdesc_t *d, int i)
{
    const char *at = (const char *)d->base_addr + i * d->dim[0].sm;

    return d->elem_len == 8 ? *(const int64_t *)(const void *)at
                            : *(const int32_t *)(const void *)at;
}

/* Offset or count, turned round. */
static int take(const struct waitio_cfi_stage_variable *v, const char *what, const CFI_cdesc_t *d,
                uint64_t *to)
{
    if (d->dim[0].extent != v->ndims)
        return waitio_cfi_stage_refuse("variable '%s' has %d dimensions, %s has %lld elements",
                                       v->name, v->ndims, what, (long long)d->dim[0].extent);
    for (int i = 0; i < v->ndims; i++) {
        int64_t x = number(d, i);

        if (x < 0)
            return waitio_cfi_stage_refuse("variable '%s': %s(%d) is %lld", v->name, what, i + 1,
                                           (long long)x);
        to[v->ndims - 1 - i] = (uint64_t)x;
    }
    return 0;
}

/* Elements of each dimension: as given, or the shape of the array. */
static int take_count(const struct waitio_cfi_stage_variable *v, const CFI_cdesc_t *data,
                      const CFI_cdesc_t *count, uint64_t *extent)
{
    if (count != NULL)
        return take(v, "count", count, extent);
    if (data->rank != v->ndims)
        return waitio_cfi_stage_refuse(
            "variable '%s' has %d dimensions, the array %d: say how many "
            "elements of each (count)",
            v->name, v->ndims, data->rank);
    for (int d = 0; d < v->ndims; d++)
        extent[v->ndims - 1 - d] = (uint64_t)data->dim[d].extent;
    return 0;
}

/* Has the box as many elements as the array? Its extents divide that number one after the other: a
 * product of them could be too large to count. */
static int same_number(const struct waitio_cfi_stage_variable *v, int64_t elements,
                       const uint64_t *extent)
{
    uint64_t left = (uint64_t)elements;
    bool empty = false;

    for (int d = 0; d < v->ndims; d++)
        empty |= extent[d] == 0;
    for (int d = 0; !empty && left > 0 && d < v->ndims; d++)
        left = left % extent[d] == 0 ? left / extent[d] : 0;
    if (empty ? elements == 0 : left == 1)
        return 0;
    return waitio_cfi_stage_refuse("variable '%s': the array has %lld elements, the box another "
                                   "number",
                                   v->name, (long long)elements);
}

/* The box of an array in C's order. @param offset, count: NULL: not given */
static int box_of(const struct waitio_cfi_stage_variable *v, const CFI_cdesc_t *data,
                  const CFI_cdesc_t *offset, const CFI_cdesc_t *count, uint64_t *start,
                  uint64_t *extent)
{
    int64_t elements = 0;
    int rc = v->ndims < 1 || v->ndims > WAITIO_STAGE_DIMS_MAX
                 ? waitio_cfi_stage_refuse("variable '%.200s' is not defined, or no array", v->name)
                 : look(v, data, &elements);

    for (int d = 0; d < WAITIO_STAGE_DIMS_MAX; d++)
        start[d] = extent[d] = 0;
    if (rc == 0 && offset != NULL)
        rc = take(v, "offset", offset, start);
    if (rc == 0)
        rc = take_count(v, data, count, extent);
    return rc == 0 ? same_number(v, elements, extent) : rc;
}

static int put(const waitio_stage_t *stream, const struct waitio_cfi_stage_variable *v,
               const CFI_cdesc_t *data, const CFI_cdesc_t *offset, const CFI_cdesc_t *count,
               const int *how)
{
    uint64_t start[WAITIO_STAGE_DIMS_MAX], extent[WAITIO_STAGE_DIMS_MAX];
    int rc = box_of(v, data, offset, count, start, extent);

    return rc == 0 ? waitio_stage_put(*stream, v->number, start, extent, data->base_addr,
                                      how != NULL ? *how : WAITIO_STAGE_DEFERRED)
                   : rc;
}

static int get(const waitio_stage_t *stream, const struct waitio_cfi_stage_variable *v,
               const CFI_cdesc_t *data, const CFI_cdesc_t *offset, const CFI_cdesc_t *count)
{
    uint64_t start[WAITIO_STAGE_DIMS_MAX], extent[WAITIO_STAGE_DIMS_MAX];
    int rc = box_of(v, data, offset, count, start, extent);

    return rc == 0 ? waitio_stage_get(*stream, v->name, v->type, start, extent, data->base_addr)
                   : rc;
}

FORTRAN(waitio_cfi_stage_put,
        (const waitio_stage_t *stream, const struct waitio_cfi_stage_variable *variable,
         const CFI_cdesc_t *data, const int *how, int *ierr))
{
    waitio_cfi_stage_finish("waitio_stage_put", put(stream, variable, data, NULL, NULL, how), ierr);
}

FORTRAN(waitio_cfi_stage_put_box,
        (const waitio_stage_t *stream, const struct waitio_cfi_stage_variable *variable,
         const CFI_cdesc_t *data, const CFI_cdesc_t *offset, const CFI_cdesc_t *count,
         const int *how, int *ierr))
{
    waitio_cfi_stage_finish("waitio_stage_put", put(stream, variable, data, offset, count, how),
                            ierr);
}

FORTRAN(waitio_cfi_stage_put_box_long,
        (const waitio_stage_t *stream, const struct waitio_cfi_stage_variable *variable,
         const CFI_cdesc_t *data, const CFI_cdesc_t *offset, const CFI_cdesc_t *count,
         const int *how, int *ierr))
{
    waitio_cfi_stage_finish("waitio_stage_put", put(stream, variable, data, offset, count, how),
                            ierr);
}

FORTRAN(waitio_cfi_stage_get,
        (const waitio_stage_t *stream, const struct waitio_cfi_stage_variable *variable,
         const CFI_cdesc_t *data, int *ierr))
{
    waitio_cfi_stage_finish("waitio_stage_get", get(stream, variable, data, NULL, NULL), ierr);
}

FORTRAN(waitio_cfi_stage_get_box,
        (const waitio_stage_t *stream, const struct waitio_cfi_stage_variable *variable,
         const CFI_cdesc_t *data, const CFI_cdesc_t *offset, const CFI_cdesc_t *count, int *ierr))
{
    waitio_cfi_stage_finish("waitio_stage_get", get(stream, variable, data, offset, count), ierr);
}

FORTRAN(waitio_cfi_stage_get_box_long,
        (const waitio_stage_t *stream, const struct waitio_cfi_stage_variable *variable,
         const CFI_cdesc_t *data, const CFI_cdesc_t *offset, const CFI_cdesc_t *count, int *ierr))
{
    waitio_cfi_stage_finish("waitio_stage_get", get(stream, variable, data, offset, count), ierr);
}

/* The array must have as many elements as the block. */
FORTRAN(waitio_cfi_stage_get_block,
        (const waitio_stage_t *stream, const struct waitio_cfi_stage_variable *variable,
         const int64_t *block, const CFI_cdesc_t *data, int *ierr))
{
    uint64_t extent[WAITIO_STAGE_DIMS_MAX] = {0};
    int64_t elements = 0, wanted = 1;
    size_t index = (size_t)(*block - 1);
    int rc = look(variable, data, &elements);

    if (rc == 0)
        rc = waitio_stage_block(*stream, variable->name, index, NULL, NULL, extent);
    for (int d = 0; rc == 0 && d < variable->ndims; d++)
        wanted *= (int64_t)extent[d];
    if (rc == 0 && wanted != elements)
        rc = waitio_cfi_stage_refuse("variable '%s': block %lld has %lld elements, the array %lld",
                                     variable->name, (long long)*block, (long long)wanted,
                                     (long long)elements);
    if (rc == 0)
        rc =
            waitio_stage_get_block(*stream, variable->name, variable->type, index, data->base_addr);
    waitio_cfi_stage_finish("waitio_stage_get_block", rc, ierr);
}
