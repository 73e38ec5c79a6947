/* SPDX-License-Identifier: BSD-3-Clause */
/* The constructors of the conversion library, with the arguments that MPI's had. */
#include <stdlib.h>

#include "hybrid/hybrid.h"

/* Constructors of few numbers. */
static int rebuild_simple(const struct wio_hybrid_recipe *r, WAITIO_MPI_Datatype part,
                          WAITIO_MPI_Datatype *out)
{
    const int *i = r->i;

    switch (r->combiner) {
    case MPI_COMBINER_DUP:
        return WAITIO_MPI_Type_dup(part, out);
    case MPI_COMBINER_CONTIGUOUS:
        return WAITIO_MPI_Type_contiguous(i[0], part, out);
    case MPI_COMBINER_VECTOR:
        return WAITIO_MPI_Type_vector(i[0], i[1], i[2], part, out);
    case MPI_COMBINER_HVECTOR:
        return WAITIO_MPI_Type_create_hvector(i[0], i[1], r->a[0], part, out);
    default:
        return WAITIO_MPI_Type_create_resized(part, r->a[0], r->a[1], out);
    }
}

/* Lists of blocks: a count, lengths, places. */
static int rebuild_listed(const struct wio_hybrid_recipe *r, const WAITIO_MPI_Datatype *parts,
                          WAITIO_MPI_Datatype *out)
{
    const int *i = r->i;
    int n = i[0];

    switch (r->combiner) {
    case MPI_COMBINER_INDEXED:
        return WAITIO_MPI_Type_indexed(n, i + 1, i + 1 + n, parts[0], out);
    case MPI_COMBINER_HINDEXED:
        return WAITIO_MPI_Type_create_hindexed(n, i + 1, r->a, parts[0], out);
    case MPI_COMBINER_INDEXED_BLOCK:
        return WAITIO_MPI_Type_create_indexed_block(n, i[1], i + 2, parts[0], out);
    case MPI_COMBINER_HINDEXED_BLOCK:
        return WAITIO_MPI_Type_create_hindexed_block(n, i[1], r->a, parts[0], out);
    default:
        return WAITIO_MPI_Type_create_struct(n, i + 1, r->a, parts, out);
    }
}

static int order_of(int order)
{
    return order == MPI_ORDER_C ? WAITIO_MPI_ORDER_C : WAITIO_MPI_ORDER_FORTRAN;
}

static int rebuild_subarray(const struct wio_hybrid_recipe *r, WAITIO_MPI_Datatype part,
                            WAITIO_MPI_Datatype *out)
{
    const int *i = r->i;
    int n = i[0];

    return WAITIO_MPI_Type_create_subarray(n, i + 1, i + 1 + n, i + 1 + 2 * n,
                                           order_of(i[1 + 3 * n]), part, out);
}

static int distribution_of(int d)
{
    if (d == MPI_DISTRIBUTE_BLOCK)
        return WAITIO_MPI_DISTRIBUTE_BLOCK;
    return d == MPI_DISTRIBUTE_CYCLIC ? WAITIO_MPI_DISTRIBUTE_CYCLIC : WAITIO_MPI_DISTRIBUTE_NONE;
}

static int rebuild_darray(const struct wio_hybrid_recipe *r, WAITIO_MPI_Datatype part,
                          WAITIO_MPI_Datatype *out, struct wio_hybrid_why *why)
{
    const int *i = r->i, *sizes = i + 3;
    int n = i[2], rc;
    int *words = malloc(2 * ((size_t)n + 1) * sizeof *words), *dargs = words + n;

    if (words == NULL)
        return wio_hybrid_fail(why, WAITIO_ERR_NOMEM, "no memory for a datatype");
    for (int k = 0; k < n; k++) {
        int darg = sizes[2 * n + k];
        words[k] = distribution_of(sizes[n + k]);
        dargs[k] = darg == MPI_DISTRIBUTE_DFLT_DARG ? WAITIO_MPI_DISTRIBUTE_DFLT_DARG : darg;
    }
    rc = WAITIO_MPI_Type_create_darray(i[0], i[1], n, sizes, words, dargs, sizes + 3 * n,
                                       order_of(sizes[4 * n]), part, out);
    free(words);
    return rc;
}

int wio_hybrid_rebuild(const struct wio_hybrid_recipe *r, const WAITIO_MPI_Datatype *parts,
                       WAITIO_MPI_Datatype *out, struct wio_hybrid_why *why)
{
    switch (r->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_RESIZED:
        return rebuild_simple(r, parts[0], out);
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
        return rebuild_listed(r, parts, out);
    case MPI_COMBINER_SUBARRAY:
        return rebuild_subarray(r, parts[0], out);
    case MPI_COMBINER_DARRAY:
        return rebuild_darray(r, parts[0], out, why);
    default:
        return wio_hybrid_fail(why, WAITIO_ERR_UNSUPPORTED,
                               "a datatype made by constructor %d of %s is not known here: make it "
                               "with the calls of waitio_mpi.h",
                               r->combiner, wio_hybrid_loaded());
    }
}
