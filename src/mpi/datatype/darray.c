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
    int size;        /* elements */
    int how, block;  /* distribution and its argument */
    int parts, mine; /* processes along it, and the index of this one */
};

static int check_block(int d, struct dealt *a)
{
    int least = (int)(((int64_t)a->size + a->parts - 1) / a->parts);

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
                                        "dimension %d: blocks of %d are too small for %d elements "
                                        "over %d processes",
                                        d, a->block, a->size, a->parts);
}

/* What this process has of one dimension; @p row bytes apart. */
static int stage(const struct dealt *a, const struct wio_mpi_type *old, int64_t row,
                 struct wio_mpi_type **out)
{
    struct wio_type_maker m;
    int64_t step =
        (int64_t)a->block * (a->how == WAITIO_MPI_DISTRIBUTE_CYCLIC ? a->parts : a->size);

    wio_maker_init(&m);
    for (int64_t at = (int64_t)a->mine * a->block; at < a->size && m.error == 0; at += step) {
        int64_t n = a->size - at < a->block ? a->size - at : a->block;
        wio_maker_add(&m, old, at * row, (size_t)n);
    }
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
    if (d->sizes == NULL || d->how == NULL || d->blocks == NULL || d->parts == NULL)
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
        if (d->sizes[i] < 1 || d->parts[i] < 1)
            return wio_fail(WAITIO_ERR_ARG, "dimension %d: %d elements over %d processes", i,
                            d->sizes[i], d->parts[i]);
        a[i] =
            (struct dealt){d->sizes[i], d->how[i], d->blocks[i], d->parts[i], rank % d->parts[i]};
        rank /= d->parts[i];
        grid *= d->parts[i];
        rc = check_block(i, &a[i]);
    }
    if (rc == 0 && (grid != d->processes || rank != 0 || d->rank < 0))
        rc = wio_fail(WAITIO_ERR_ARG, "rank %d of %d processes in a grid of %d", d->rank,
                      d->processes, grid);
    return rc != 0 ? rc : build(d->dims, a, d->order, old, out);
}
