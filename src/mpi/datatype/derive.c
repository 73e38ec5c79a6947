/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/datatype/derive.h"

#include "os/os.h"

static int negative(const char *what, int64_t i, int64_t value)
{
    return wio_fail(WAITIO_ERR_ARG, "%s %lld is %lld: negative", what, (long long)i,
                    (long long)value);
}

/* Block i. @return 0, ARG, LIMIT; lack of memory is kept in the maker's error */
static int add_block(struct wio_type_maker *m, const struct wio_blocks *b, int64_t i)
{
    int64_t length = b->lengths.at != NULL ? wio_int(b->lengths, i) : b->length;
    const struct wio_mpi_type *t = wio_mpi_type(b->types != NULL ? b->types[i] : b->type);
    int64_t at = 0;
    int rc = 0;

    if (t == NULL)
        return WAITIO_ERR_ARG;
    if (length < 0)
        return negative("length of block", i, length);
    if (b->bytes.at != NULL)
        at = wio_int(b->bytes, i);
    else
        rc = wio_type_scale(wio_int(b->places, i), b->scale, &at);
    if (rc == 0)
        wio_maker_add(m, t, at, (size_t)length);
    return rc;
}

int wio_derive_blocks(const struct wio_blocks *b, bool pad, struct wio_mpi_type **out)
{
    struct wio_type_maker m;
    int rc = b->n < 0 ? wio_fail(WAITIO_ERR_ARG, "%lld blocks: negative", (long long)b->n) : 0;

    if (rc == 0 && b->n > 0 && b->places.at == NULL && b->bytes.at == NULL)
        rc = wio_fail(WAITIO_ERR_ARG, "the displacements are NULL");
    wio_maker_init(&m);
    for (int64_t i = 0; rc == 0 && m.error == 0 && i < b->n; i++)
        rc = add_block(&m, b, i);
    if (pad)
        wio_maker_pad(&m);
    if (rc != 0)
        m.error = rc;
    return wio_maker_finish(&m, out);
}

int wio_derive_vector(int64_t n, int64_t length, int64_t stride, const struct wio_mpi_type *old,
                      struct wio_mpi_type **out)
{
    struct wio_mpi_type *block;
    struct wio_type_maker m;
    int rc;

    if (n < 0)
        return negative("number of blocks", 0, n);
    if (length < 0)
        return negative("length of block", 0, length);
    wio_maker_init(&m);
    wio_maker_add(&m, old, 0, (size_t)length);
    rc = wio_maker_finish(&m, &block);
    if (rc != 0)
        return rc;
    wio_maker_init(&m);
    wio_maker_repeat(&m, block, 0, length > 0 ? (size_t)n : 0, stride);
    wio_type_release(block);
    return wio_maker_finish(&m, out);
}

static int check_subarray(const struct wio_subarray *a)
{
    if (a->dims < 1 || a->sizes.at == NULL || a->parts.at == NULL || a->starts.at == NULL)
        return wio_fail(WAITIO_ERR_ARG, "subarray of %d dimensions: at least one is needed",
                        a->dims);
    if (a->order != WAITIO_MPI_ORDER_C && a->order != WAITIO_MPI_ORDER_FORTRAN)
        return wio_fail(WAITIO_ERR_ARG, "order %d is neither ORDER_C nor ORDER_FORTRAN", a->order);
    for (int d = 0; d < a->dims; d++) {
        int64_t size = wio_int(a->sizes, d), part = wio_int(a->parts, d);
        int64_t start = wio_int(a->starts, d);
        if (part < 1 || start < 0 || part > size || start > size - part)
            return wio_fail(WAITIO_ERR_ARG,
                            "subarray, dimension %d: %lld elements from %lld do not lie in %lld", d,
                            (long long)part, (long long)start, (long long)size);
    }
    return 0;
}

/* From the fastest dimension outwards: rows of the type made so far, one array row apart. */
int wio_derive_subarray(const struct wio_subarray *a, const struct wio_mpi_type *old,
                        struct wio_mpi_type **out)
{
    struct wio_mpi_type *rows = NULL, *next;
    int64_t row = wio_type_extent(old), skip = 0, whole = 0;
    int rc = check_subarray(a);

    for (int i = 0; rc == 0 && i < a->dims; i++) {
        int d = a->order == WAITIO_MPI_ORDER_C ? a->dims - 1 - i : i;
        rc = wio_derive_vector(wio_int(a->parts, d), 1, row, rows != NULL ? rows : old, &next);
        if (rc != 0)
            break;
        wio_type_release(rows);
        rows = next;
        rc = wio_type_scale(wio_int(a->sizes, d), row, &whole);
        if (rc == 0)
            skip += wio_int(a->starts, d) * row;
        row = whole;
    }
    if (rc == 0) {
        struct wio_type_maker m;
        wio_maker_init(&m);
        wio_maker_add(&m, rows, skip, 1);
        m.has_lb = m.has_ub = true;
        m.set_lb = 0;
        m.set_ub = row;
        rc = wio_maker_finish(&m, out);
    }
    wio_type_release(rows);
    return rc;
}

int wio_derive_resized(const struct wio_mpi_type *old, int64_t lb, int64_t extent,
                       struct wio_mpi_type **out)
{
    struct wio_type_maker m;

    wio_maker_init(&m);
    wio_maker_add(&m, old, 0, 1);
    m.has_lb = m.has_ub = true;
    m.set_lb = lb;
    if (__builtin_add_overflow(lb, extent, &m.set_ub))
        m.error =
            wio_fail(WAITIO_ERR_LIMIT, "extent %lld from %lld", (long long)extent, (long long)lb);
    return wio_maker_finish(&m, out);
}

int wio_derive_dup(const struct wio_mpi_type *old, struct wio_mpi_type **out)
{
    struct wio_type_maker m;
    int rc;

    wio_maker_init(&m);
    wio_maker_add(&m, old, 0, 1);
    rc = wio_maker_finish(&m, out);
    if (rc == 0)
        (*out)->committed = old->committed;
    return rc;
}
