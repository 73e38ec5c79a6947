/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups. One of this job's processes alone is the vendor's. Another one is represented by a group
 * of the vendor whose contents mean nothing: only its handle counts.
 */
#include "os/os.h"
#include "span/call.h"

struct span_table span_groups = SPAN_TABLE_INIT;

static WAITIO_MPI_Group ours_of(MPI_Group group)
{
    return span_group_of(group);
}

/* Ranks in this job of a vendor's group. @return n numbers to free, or NULL */
static int *ranks_in_job(MPI_Group group, int n)
{
    int *ranks = wio_os_alloc(2 * ((size_t)n + 1) * sizeof *ranks);

    for (int i = 0; ranks != NULL && i < n; i++)
        ranks[i] = i;
    if (ranks != NULL &&
        span_vendor.Group_translate_ranks(group, n, ranks, span_job(), ranks + n) != MPI_SUCCESS) {
        wio_os_free(ranks);
        return NULL;
    }
    for (int i = 0; ranks != NULL && i < n; i++)
        ranks[i] = ranks[n + i];
    return ranks;
}

int span_group_ours(MPI_Group group, WAITIO_MPI_Group *out, bool *mine)
{
    int n = 0, *ranks, rc;

    *out = ours_of(group);
    *mine = *out == NULL;
    if (*out != NULL)
        return 0;
    *mine = false;
    if (group == MPI_GROUP_NULL || span_vendor.Group_size(group, &n) != MPI_SUCCESS)
        return WAITIO_MPI_ERR_GROUP;
    *out = WAITIO_MPI_GROUP_EMPTY;
    if (n == 0)
        return 0;
    ranks = ranks_in_job(group, n);
    if (ranks == NULL)
        return WAITIO_ERR_NOMEM;
    for (int i = 0; i < n; i++)
        ranks[i] = span_to_universe(ranks[i]);
    rc = WAITIO_MPI_Group_incl(span_universe(), n, ranks, out);
    *mine = rc == 0;
    wio_os_free(ranks);
    return rc;
}

/* The vendor's group for these processes of this job. */
static int give_vendors(int n, const int *ranks, MPI_Group *out)
{
    return span_vendor.Group_incl(span_job(), n, ranks, out) == MPI_SUCCESS ? 0
                                                                            : WAITIO_MPI_ERR_GROUP;
}

static int give_stand_in(WAITIO_MPI_Group made, MPI_Group *out)
{
    static const int anybody[1] = {0};
    int rc = give_vendors(1, anybody, out);

    if (rc == 0 && span_table_put(&span_groups, SPAN_KEY(*out), made) != 0) {
        (void)span_vendor.Group_free(out);
        rc = WAITIO_ERR_NOMEM;
    }
    return rc;
}

int span_group_give(WAITIO_MPI_Group made, MPI_Group *out)
{
    int n = 0, universe, *ranks, rc = WAITIO_MPI_Group_size(made, &n);
    bool all = true;

    *out = MPI_GROUP_NULL;
    ranks = rc == 0 ? wio_os_alloc(((size_t)n + 1) * sizeof *ranks) : NULL;
    if (rc == 0 && ranks == NULL)
        rc = WAITIO_ERR_NOMEM;
    for (int i = 0; rc == 0 && i < n; i++) {
        rc = waitio_group_to_universe(made, i, &universe);
        ranks[i] = span_from_universe(universe);
        all = all && ranks[i] >= 0;
    }
    if (rc == 0)
        rc = all ? give_vendors(n, ranks, out) : give_stand_in(made, out);
    wio_os_free(ranks);
    if (rc != 0 || all)
        (void)WAITIO_MPI_Group_free(&made);
    return rc;
}

/* ---- calls: with vendor's groups only they are the vendor's ---- */

struct two {
    WAITIO_MPI_Group a, b;
    bool free_a, free_b;
};

static int two_get(MPI_Group a, MPI_Group b, struct two *t)
{
    int rc;

    *t = (struct two){0};
    rc = span_group_ours(a, &t->a, &t->free_a);
    return rc != 0 ? rc : span_group_ours(b, &t->b, &t->free_b);
}

static void two_free(struct two *t)
{
    if (t->free_a)
        (void)WAITIO_MPI_Group_free(&t->a);
    if (t->free_b)
        (void)WAITIO_MPI_Group_free(&t->b);
}

static bool both_vendors(MPI_Group a, MPI_Group b)
{
    return span_group_of(a) == NULL && span_group_of(b) == NULL;
}

static int end(const char *name, int rc)
{
    return rc == 0 ? MPI_SUCCESS : span_fail(MPI_COMM_WORLD, name, rc);
}

typedef int combine_fn(WAITIO_MPI_Group a, WAITIO_MPI_Group b, WAITIO_MPI_Group *out);

static int combine(const char *name, combine_fn *fn, MPI_Group a, MPI_Group b, MPI_Group *out)
{
    WAITIO_MPI_Group made = NULL;
    struct two t;
    int rc = two_get(a, b, &t);

    rc = rc != 0 ? rc : fn(t.a, t.b, &made);
    rc = rc != 0 ? rc : span_group_give(made, out);
    two_free(&t);
    return end(name, rc);
}

int PMPI_Group_union(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return both_vendors(group1, group2)
               ? span_vendor.Group_union(group1, group2, newgroup)
               : combine("MPI_Group_union", WAITIO_MPI_Group_union, group1, group2, newgroup);
}
SPAN_NAME(Group_union)

int PMPI_Group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return both_vendors(group1, group2)
               ? span_vendor.Group_intersection(group1, group2, newgroup)
               : combine("MPI_Group_intersection", WAITIO_MPI_Group_intersection, group1, group2,
                         newgroup);
}
SPAN_NAME(Group_intersection)

int PMPI_Group_difference(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    return both_vendors(group1, group2)
               ? span_vendor.Group_difference(group1, group2, newgroup)
               : combine("MPI_Group_difference", WAITIO_MPI_Group_difference, group1, group2,
                         newgroup);
}
SPAN_NAME(Group_difference)

static int give(const char *name, int rc, WAITIO_MPI_Group made, MPI_Group *out)
{
    return end(name, rc != 0 ? rc : span_group_give(made, out));
}

int PMPI_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
    WAITIO_MPI_Group ours = ours_of(group), made = NULL;
    int rc;

    if (ours == NULL)
        return span_vendor.Group_incl(group, n, ranks, newgroup);
    rc = WAITIO_MPI_Group_incl(ours, n, ranks, &made);
    return give("MPI_Group_incl", rc, made, newgroup);
}
SPAN_NAME(Group_incl)

int PMPI_Group_excl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
    WAITIO_MPI_Group ours = ours_of(group), made = NULL;
    int rc;

    if (ours == NULL)
        return span_vendor.Group_excl(group, n, ranks, newgroup);
    rc = WAITIO_MPI_Group_excl(ours, n, ranks, &made);
    return give("MPI_Group_excl", rc, made, newgroup);
}
SPAN_NAME(Group_excl)

int PMPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
    WAITIO_MPI_Group ours = ours_of(group), made = NULL;
    int rc;

    if (ours == NULL)
        return span_vendor.Group_range_incl(group, n, ranges, newgroup);
    rc = WAITIO_MPI_Group_range_incl(ours, n, ranges, &made);
    return give("MPI_Group_range_incl", rc, made, newgroup);
}
SPAN_NAME(Group_range_incl)

int PMPI_Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
    WAITIO_MPI_Group ours = ours_of(group), made = NULL;
    int rc;

    if (ours == NULL)
        return span_vendor.Group_range_excl(group, n, ranges, newgroup);
    rc = WAITIO_MPI_Group_range_excl(ours, n, ranges, &made);
    return give("MPI_Group_range_excl", rc, made, newgroup);
}
SPAN_NAME(Group_range_excl)

int PMPI_Group_size(MPI_Group group, int *size)
{
    WAITIO_MPI_Group ours = ours_of(group);

    return ours == NULL ? span_vendor.Group_size(group, size)
                        : end("MPI_Group_size", WAITIO_MPI_Group_size(ours, size));
}
SPAN_NAME(Group_size)

int PMPI_Group_rank(MPI_Group group, int *rank)
{
    WAITIO_MPI_Group ours = ours_of(group);
    int rc;

    if (ours == NULL)
        return span_vendor.Group_rank(group, rank);
    rc = WAITIO_MPI_Group_rank(ours, rank);
    span_give_rank(rank);
    return end("MPI_Group_rank", rc);
}
SPAN_NAME(Group_rank)

int PMPI_Group_translate_ranks(MPI_Group group1, int n, const int ranks1[], MPI_Group group2,
                               int ranks2[])
{
    static const char name[] = "MPI_Group_translate_ranks";
    struct two t;
    int rc, *ranks;

    if (both_vendors(group1, group2))
        return span_vendor.Group_translate_ranks(group1, n, ranks1, group2, ranks2);
    ranks = wio_os_alloc(((size_t)(n > 0 ? n : 0) + 1) * sizeof *ranks);
    rc = two_get(group1, group2, &t);
    rc = ranks == NULL ? WAITIO_ERR_NOMEM : rc;
    for (int i = 0; rc == 0 && i < n; i++)
        ranks[i] = span_rank(ranks1[i]);
    rc = rc != 0 ? rc : WAITIO_MPI_Group_translate_ranks(t.a, n, ranks, t.b, ranks2);
    for (int i = 0; rc == 0 && i < n; i++)
        span_give_rank(&ranks2[i]);
    two_free(&t);
    wio_os_free(ranks);
    return end(name, rc);
}
SPAN_NAME(Group_translate_ranks)

int PMPI_Group_compare(MPI_Group group1, MPI_Group group2, int *result)
{
    struct two t;
    int rc, ours = WAITIO_MPI_UNEQUAL;

    if (both_vendors(group1, group2))
        return span_vendor.Group_compare(group1, group2, result);
    rc = two_get(group1, group2, &t);
    rc = rc != 0 ? rc : WAITIO_MPI_Group_compare(t.a, t.b, &ours);
    *result = ours == WAITIO_MPI_IDENT     ? MPI_IDENT
              : ours == WAITIO_MPI_SIMILAR ? MPI_SIMILAR
                                           : MPI_UNEQUAL;
    two_free(&t);
    return end("MPI_Group_compare", rc);
}
SPAN_NAME(Group_compare)

int PMPI_Group_free(MPI_Group *group)
{
    WAITIO_MPI_Group ours = ours_of(*group);

    if (ours != NULL) {
        span_table_drop(&span_groups, SPAN_KEY(*group), ours);
        (void)WAITIO_MPI_Group_free(&ours);
    }
    return span_vendor.Group_free(group);
}
SPAN_NAME(Group_free)

int PMPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    struct span_comm *c = span_comm_of(comm);
    WAITIO_MPI_Group made = NULL;
    int rc;

    if (c == NULL)
        return span_vendor.Comm_group(comm, group);
    rc = WAITIO_MPI_Comm_group(c->comm, &made);
    return give("MPI_Comm_group", rc, made, group);
}
SPAN_NAME(Comm_group)

int PMPI_Comm_remote_group(MPI_Comm comm, MPI_Group *group)
{
    struct span_comm *c = span_comm_of(comm);
    WAITIO_MPI_Group made = NULL;
    int rc;

    if (c == NULL)
        return span_vendor.Comm_remote_group(comm, group);
    rc = WAITIO_MPI_Comm_remote_group(c->comm, &made);
    return give("MPI_Comm_remote_group", rc, made, group);
}
SPAN_NAME(Comm_remote_group)
