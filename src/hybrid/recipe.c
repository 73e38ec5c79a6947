/* SPDX-License-Identifier: BSD-3-Clause */
/* What MPI tells about how a type was made. */
#include <stdlib.h>
#include <string.h>

#include "hybrid/hybrid.h"

static int room(struct wio_hybrid_recipe *r, struct wio_hybrid_why *why)
{
    r->i = calloc((size_t)r->ni + 1, sizeof *r->i);
    r->a = calloc((size_t)r->na + 1, sizeof *r->a);
    r->t = calloc((size_t)r->nt + 1, sizeof *r->t);
    for (int k = 0; r->t != NULL && k < r->nt; k++)
        r->t[k] = MPI_DATATYPE_NULL; /* not to be freed where asking for them fails */
    if (r->i != NULL && r->a != NULL && r->t != NULL)
        return 0;
    r->nt = 0;
    return wio_hybrid_fail(why, WAITIO_ERR_NOMEM, "no memory for a datatype");
}

static bool predefined(int combiner)
{
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

/* A predefined type is not ours to free; asking says which those are. */
static bool derived(MPI_Datatype type)
{
    int combiner = MPI_COMBINER_NAMED;
#if WIO_HYBRID_LARGE
    MPI_Count n[4]; /* the other call refuses types made with large counts */
    int rc = PMPI_Type_get_envelope_c(type, &n[0], &n[1], &n[2], &n[3], &combiner);
#else
    int n[3];
    int rc = PMPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &combiner);
#endif

    return rc == MPI_SUCCESS && !predefined(combiner);
}

void wio_hybrid_recipe_clear(struct wio_hybrid_recipe *r)
{
    for (int k = 0; k < r->nt; k++)
        if (r->t[k] != MPI_DATATYPE_NULL && derived(r->t[k]))
            (void)PMPI_Type_free(&r->t[k]);
    free(r->i);
    free(r->a);
    free(r->t);
    *r = (struct wio_hybrid_recipe){0};
}

#if WIO_HYBRID_LARGE
/* Types made by calls with large counts (MPI-4) keep counts and places in one array of large
 * numbers. How many of them are counts; the rest are bytes. -1: all counts. */
static MPI_Count counts_among(int combiner, const MPI_Count *large)
{
    switch (combiner) {
    case MPI_COMBINER_HVECTOR:
        return 2;
    case MPI_COMBINER_RESIZED:
        return 0;
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_STRUCT:
        return 1 + large[0];
    case MPI_COMBINER_HINDEXED_BLOCK:
        return 2;
    default:
        return -1;
    }
}

/* Arrays have a few small numbers before and behind the large ones: put all into the order that the
 * call without large counts gives. */
static void merge(struct wio_hybrid_recipe *r, const int *small, MPI_Count nsmall,
                  const int *counts, MPI_Count ncounts)
{
    MPI_Count before = 0;

    if (r->combiner == MPI_COMBINER_SUBARRAY)
        before = 1;
    else if (r->combiner == MPI_COMBINER_DARRAY)
        before = 3;
    memcpy(r->i, small, (size_t)before * sizeof *small);
    memcpy(r->i + before, counts, (size_t)ncounts * sizeof *counts);
    memcpy(r->i + before + ncounts, small + before, (size_t)(nsmall - before) * sizeof *small);
}

/* @param numbers of integers, addresses, large counts and types */
static int get_large(MPI_Datatype type, struct wio_hybrid_recipe *r, const MPI_Count numbers[4],
                     struct wio_hybrid_why *why)
{
    MPI_Count *large = calloc((size_t)numbers[2], sizeof *large), counts;
    int *small = calloc((size_t)(numbers[0] + numbers[2]) + 1, sizeof *small), rc;
    MPI_Aint nothing[1];

    r->ni = (int)(numbers[0] + numbers[2]);
    r->na = (int)numbers[2];
    r->nt = (int)numbers[3];
    rc = room(r, why);
    if (rc == 0 && (large == NULL || small == NULL))
        rc = wio_hybrid_fail(why, WAITIO_ERR_NOMEM, "no memory for a datatype");
    if (rc == 0)
        rc = PMPI_Type_get_contents_c(type, numbers[0], 0, numbers[2], numbers[3], small, nothing,
                                      large, r->t) == MPI_SUCCESS
                 ? 0
                 : wio_hybrid_fail(why, WAITIO_ERR_SYSTEM, "MPI_Type_get_contents_c() failed");
    counts = rc == 0 ? counts_among(r->combiner, large) : 0;
    counts = counts < 0 ? numbers[2] : counts;
    for (MPI_Count k = 0; rc == 0 && k < numbers[2]; k++) {
        if (k >= counts)
            r->a[k - counts] = (MPI_Aint)large[k];
        else if (large[k] > INT_MAX || large[k] < INT_MIN)
            rc = wio_hybrid_fail(why, WAITIO_ERR_UNSUPPORTED,
                                 "a datatype has a count or place of %lld; the conversion "
                                 "library's go up to %d: nest it in smaller ones",
                                 (long long)large[k], INT_MAX);
        else
            small[numbers[0] + k] = (int)large[k];
    }
    if (rc == 0)
        merge(r, small, numbers[0], small + numbers[0], counts);
    free(large);
    free(small);
    return rc;
}

/* @return 0 and *done: it was one of those */
static int try_large(MPI_Datatype type, struct wio_hybrid_recipe *r, bool *done,
                     struct wio_hybrid_why *why)
{
    MPI_Count numbers[4] = {0};

    *done = false;
    if (PMPI_Type_get_envelope_c(type, &numbers[0], &numbers[1], &numbers[2], &numbers[3],
                                 &r->combiner) != MPI_SUCCESS ||
        numbers[2] == 0)
        return 0;
    *done = r->derived = true;
    return get_large(type, r, numbers, why);
}
#else
static int try_large(MPI_Datatype type, struct wio_hybrid_recipe *r, bool *done,
                     struct wio_hybrid_why *why)
{
    (void)type, (void)r, (void)why;
    *done = false;
    return 0;
}
#endif

int wio_hybrid_recipe_get(MPI_Datatype type, struct wio_hybrid_recipe *r,
                          struct wio_hybrid_why *why)
{
    bool done = false;
    int rc;

    *r = (struct wio_hybrid_recipe){0};
    rc = try_large(type, r, &done, why);
    if (rc != 0 || done)
        return rc;
    rc = PMPI_Type_get_envelope(type, &r->ni, &r->na, &r->nt, &r->combiner);
    if (rc != MPI_SUCCESS) {
        r->nt = 0;
        return wio_hybrid_mpi_error(why, rc, "MPI_Type_get_envelope()");
    }
    r->derived = !predefined(r->combiner);
    if (!r->derived) {
        r->nt = 0;
        return 0;
    }
    rc = room(r, why);
    if (rc != 0)
        return rc;
    rc = PMPI_Type_get_contents(type, r->ni, r->na, r->nt, r->i, r->a, r->t);
    return rc == MPI_SUCCESS ? 0 : wio_hybrid_mpi_error(why, rc, "MPI_Type_get_contents()");
}
