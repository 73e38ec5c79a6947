/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of an array that one process of a grid has, in blocks or cyclically. Built
 * from the fastest dimension outwards; the type of each stage spans all of the array in the
 * dimensions done so far, so the next one lies one row apart by itself.
 */
#include "mpi/datatype/derive.h"
#include "mpi/mpi.h"

/* One dimension of the array. */
struct dealt {
    int64_t size;    /* elements */
    int64_t block;   /* the distribution's argument */
    int how;         /* distribution */
    int parts, mine; /* processes along it, and the index of this one */
};

static int check_block(int d, struct dealt *a)
{
    int64_t least = a->size / a->parts + (a->size % a->parts != 0);

    if (a->how == WAITIO_MPI_DISTRIBUTE_NONE) {
        a->how = WAITIO_MPI_DISTRIBUTE_BLOCK;
        if (a->parts != 1)
            return wio_fail(WAITIO_ERR_ARG,
                            "dimension %d is not distributed, but %d processes lie "
                            "along it",
                            d, a->parts);
        a->block = a->size;
        return 0;
    }
    if (a->how == WAITIO_MPI_DISTRIBUTE_CYCLIC) {
        a->block = a->block == WAITIO_MPI_DISTRIBUTE_DFLT_DARG ? 1 : a->block;
        least = 1;
    } else if (a->how == WAITIO_MPI_DISTRIBUTE_BLOCK) {
        a->block = a->block == WAITIO_MPI_DISTRIBUTE_DFLT_DARG ? least : a->block;
    } else {
        return wio_fail(WAITIO_ERR_ARG, "dimension %d: distribution %d is unknown", d, a->how);
    }
    return a->block >= least ? 0
                             : wio_fail(WAITIO_ERR_ARG,
                                        "dimension %d: blocks of %lld are too small for %lld "
                                        "elements over %d processes",
                                        d, (long long)a->block, (long long)a->size, a->parts);
}

/* Whole blocks, as one run: there may be as many as elements. */
static int whole_blocks(struct wio_type_maker *m, int64_t n, int64_t block, int64_t at,
                        int64_t stride, const struct wio_mpi_type *old)
{
    struct wio_mpi_type *one;
    int rc;

    if (n == 1) {
        wio_maker_add(m, old, at, (size_t)block);
        return 0;
    }
    rc = wio_derive_vector(1, block, 0, old, &one);
    if (rc == 0) {
        wio_maker_repeat(m, one, at, (size_t)n, stride);
        wio_type_release(one);
    }
    return rc;
}

/* What this process has of one dimension; @p row bytes apart. */
static int stage(const struct dealt *a, const struct wio_mpi_type *old, int64_t row,
                 struct wio_mpi_type **out)
{
    struct wio_type_maker m;
    /* BLOCK gives a process one block: a step that leads to the end */
    int64_t step = a->how == WAITIO_MPI_DISTRIBUTE_CYCLIC ? a->block * a->parts : a->size;
    int64_t first = (int64_t)a->mine * a->block, left = a->size - first;
    int64_t n = left < a->block ? 0 : (left - a->block) / step + 1;
    int rc = 0;

    wio_maker_init(&m);
    if (n > 0)
        rc = whole_blocks(&m, n, a->block, first * row, n > 1 ? step * row : 0, old);
    if (rc == 0 && left > n * step) /* the last one is not whole */
        wio_maker_add(&m, old, (first + n * step) * row, (size_t)(left - n * step));
    if (rc != 0)
        m.error = rc;
    m.has_lb = m.has_ub = true;
    m.set_lb = 0;
    m.set_ub = row * a->size;
    return wio_maker_finish(&m, out);
}

static int build(int n, const struct dealt a[], int order, const struct wio_mpi_type *old,
                 struct wio_mpi_type **out)
{
    struct wio_mpi_type *done = NULL, *next = NULL;
    int64_t row = wio_type_extent(old), whole = 0;
    int rc = 0;

    for (int i = 0; rc == 0 && i < n; i++) {
        int d = order == WAITIO_MPI_ORDER_C ? n - 1 - i : i;
        rc = wio_type_scale(a[d].size, row, &whole);
        if (rc == 0)
            rc = stage(&a[d], done != NULL ? done : old, row, &next);
        row = whole;
        wio_type_release(done);
        done = rc == 0 ? next : NULL;
    }
    *out = done;
    return rc;
}

enum { MOST_DIMS = 32 };

static int check_array(const struct wio_darray *d)
{
    if (d->dims < 1 || d->dims > MOST_DIMS)
        return wio_fail(WAITIO_ERR_ARG, "array of %d dimensions: 1 to %d are possible", d->dims,
                        MOST_DIMS);
    if (d->order != WAITIO_MPI_ORDER_C && d->order != WAITIO_MPI_ORDER_FORTRAN)
        return wio_fail(WAITIO_ERR_ARG, "order %d is neither ORDER_C nor ORDER_FORTRAN", d->order);
    if (d->sizes.at == NULL || d->how == NULL || d->blocks == NULL || d->parts == NULL)
        return wio_fail(WAITIO_ERR_ARG, "sizes, distributions, blocks or grid are NULL");
    return 0;
}

int wio_derive_darray(const struct wio_darray *d, const struct wio_mpi_type *old,
                      struct wio_mpi_type **out)
{
    struct dealt a[MOST_DIMS];
    int rank = d->rank, grid = 1, rc = check_array(d);

    if (rc != 0)
        return rc;
    for (int i = d->dims - 1; rc == 0 && i >= 0; i--) { /* the grid is in row order */
        int64_t size = wio_int(d->sizes, i);
        if (size < 1 || d->parts[i] < 1)
            return wio_fail(WAITIO_ERR_ARG, "dimension %d: %lld elements over %d processes", i,
                            (long long)size, d->parts[i]);
        a[i] = (struct dealt){size, d->blocks[i], d->how[i], d->parts[i], rank % d->parts[i]};
        rank /= d->parts[i];
        grid *= d->parts[i];
        rc = check_block(i, &a[i]);
    }
    if (rc == 0 && (grid != d->processes || rank != 0 || d->rank < 0))
        rc = wio_fail(WAITIO_ERR_ARG, "rank %d of %d processes in a grid of %d", d->rank,
                      d->processes, grid);
    return rc != 0 ? rc : build(d->dims, a, d->order, old, out);
}
