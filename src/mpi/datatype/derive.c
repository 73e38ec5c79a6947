/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/datatype/derive.h"

#include "os/os.h"

static int negative(const char *what, int i, int value)
{
    return wio_fail(WAITIO_ERR_ARG, "%s %d is %d: negative", what, i, value);
}

int wio_derive_blocks(const struct wio_blocks *b, bool pad, struct wio_mpi_type **out)
{
    struct wio_type_maker m;
    int rc = b->n < 0 ? wio_fail(WAITIO_ERR_ARG, "%d blocks: negative", b->n) : 0;

    if (rc == 0 && b->n > 0 && b->places == NULL && b->bytes == NULL)
        rc = wio_fail(WAITIO_ERR_ARG, "the displacements are NULL");
    wio_maker_init(&m);
    for (int i = 0; rc == 0 && i < b->n; i++) {
        int length = b->lengths != NULL ? b->lengths[i] : b->length;
        const struct wio_mpi_type *t = wio_mpi_type(b->types != NULL ? b->types[i] : b->type);
        if (t == NULL)
            rc = WAITIO_ERR_ARG;
        else if (length < 0)
            rc = negative("length of block", i, length);
        else
            wio_maker_add(&m, t, b->bytes != NULL ? b->bytes[i] : b->places[i] * b->scale,
                          (size_t)length);
    }
    if (pad)
        wio_maker_pad(&m);
    if (rc != 0)
        m.error = rc;
    return wio_maker_finish(&m, out);
}

int wio_derive_vector(int n, int length, int64_t stride, const struct wio_mpi_type *old,
                      struct wio_mpi_type **out)
{
    struct wio_type_maker m;

    if (n < 0)
        return negative("number of blocks", 0, n);
    if (length < 0)
        return negative("length of block", 0, length);
    wio_maker_init(&m);
    if (stride == length * wio_type_extent(old)) /* no gaps: one block */
        wio_maker_add(&m, old, 0, (size_t)n * (size_t)length);
    for (int i = 0; stride != length * wio_type_extent(old) && i < n && m.error == 0; i++)
        wio_maker_add(&m, old, i * stride, (size_t)length);
    return wio_maker_finish(&m, out);
}

static int check_subarray(int dims, const int sizes[], const int parts[], const int starts[],
                          int order)
{
    if (dims < 1 || sizes == NULL || parts == NULL || starts == NULL)
        return wio_fail(WAITIO_ERR_ARG, "subarray of %d dimensions: at least one is needed", dims);
    if (order != WAITIO_MPI_ORDER_C && order != WAITIO_MPI_ORDER_FORTRAN)
        return wio_fail(WAITIO_ERR_ARG, "order %d is neither ORDER_C nor ORDER_FORTRAN", order);
    for (int d = 0; d < dims; d++)
        if (parts[d] < 1 || starts[d] < 0 || parts[d] > sizes[d] || starts[d] > sizes[d] - parts[d])
            return wio_fail(WAITIO_ERR_ARG,
                            "subarray, dimension %d: %d elements from %d do not lie in %d", d,
                            parts[d], starts[d], sizes[d]);
    return 0;
}

/* From the fastest dimension outwards: rows of the type made so far, one array row apart. */
int wio_derive_subarray(int dims, const int sizes[], const int parts[], const int starts[],
                        int order, const struct wio_mpi_type *old, struct wio_mpi_type **out)
{
    struct wio_mpi_type *rows = NULL, *next;
    int64_t row = wio_type_extent(old), skip = 0;
    int rc = check_subarray(dims, sizes, parts, starts, order);

    for (int i = 0; rc == 0 && i < dims; i++) {
        int d = order == WAITIO_MPI_ORDER_C ? dims - 1 - i : i;
        rc = wio_derive_vector(parts[d], 1, row, rows != NULL ? rows : old, &next);
        if (rc != 0)
            break;
        wio_type_release(rows);
        rows = next;
        skip += starts[d] * row;
        row *= sizes[d];
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
    m.set_ub = lb + extent;
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
