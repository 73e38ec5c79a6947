/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups: sets of processes to make communicators from. Nothing here communicates. */
#include "api/api.h"
#include "mpi/comm.h"
#include "mpi/comm/inter.h"
#include "mpi/comm/state.h"
#include "os/os.h"

WAITIO_MPI_Group waitio_mpi_group_empty(void)
{
    WAITIO_MPI_Group empty = NULL;
    int rc = wio_mpi_constant(WIO_EMPTY, &empty);

    wio_mpi_result("WAITIO_MPI_GROUP_EMPTY", rc);
    return empty;
}

/* The universe when all groups are valid. */
static struct wio_universe *check(const struct waitio_group *a, const struct waitio_group *b,
                                  const void *out, int *rc)
{
    struct wio_universe *u = wio_api_universe();

    *rc = u == NULL ? wio_last_code() : wio_group_check(u, a);
    if (*rc == 0 && b != a)
        *rc = wio_group_check(u, b);
    if (*rc == 0 && out == NULL)
        *rc = wio_fail(WAITIO_ERR_ARG, "the result argument is NULL");
    return *rc == 0 ? u : NULL;
}

int wio_comm_group_of(struct wio_universe *u, uint32_t *members, uint32_t n, WAITIO_MPI_Group *out)
{
    struct waitio_group *g = NULL;
    int rc = n == 0 ? 0 : wio_group_from_members(wio_universe_table(u), 0, members, n, &g);

    wio_os_free(members);
    if (n == 0)
        return wio_mpi_constant(WIO_EMPTY, out);
    if (rc == 0) {
        wio_group_register(u, g);
        *out = g;
    }
    return rc;
}

static uint32_t *room(size_t n)
{
    uint32_t *members = wio_os_alloc((n + 1) * sizeof *members);

    if (members == NULL)
        wio_fail(WAITIO_ERR_NOMEM, "no memory for a group of %zu", n);
    return members;
}

static int check_list(int n, const void *list)
{
    if (n < 0 || (n > 0 && list == NULL))
        return wio_fail(WAITIO_ERR_ARG, "%d ranks or ranges%s", n,
                        n < 0 ? ": negative" : ", but their list is NULL");
    return 0;
}

int WAITIO_MPI_Comm_group(WAITIO_MPI_Comm comm, WAITIO_MPI_Group *out)
{
    int rc;
    struct wio_universe *u = check(comm, comm, out, &rc);

    if (u != NULL && wio_inter_of(comm) != NULL) {
        rc = wio_inter_group(wio_inter_of(comm), false, out);
    } else if (u != NULL) {
        uint32_t *members = wio_comm_members(comm);
        rc = members == NULL ? WAITIO_ERR_NOMEM : wio_comm_group_of(u, members, comm->size, out);
    }
    return wio_mpi_result("WAITIO_MPI_Comm_group", rc);
}

int WAITIO_MPI_Group_size(WAITIO_MPI_Group group, int *size)
{
    return wio_mpi_result("WAITIO_MPI_Group_size", waitio_group_size(group, size));
}

int WAITIO_MPI_Group_rank(WAITIO_MPI_Group group, int *rank)
{
    int rc = waitio_group_rank(group, rank);

    if (rc == 0 && *rank < 0)
        *rank = WAITIO_MPI_UNDEFINED;
    return wio_mpi_result("WAITIO_MPI_Group_rank", rc);
}

int WAITIO_MPI_Group_free(WAITIO_MPI_Group *group)
{
    WAITIO_MPI_Group empty = NULL;
    int rc = wio_mpi_need("group", group);

    if (rc == 0 && *group != NULL && wio_mpi_constant(WIO_EMPTY, &empty) == 0 && *group == empty)
        *group = WAITIO_MPI_GROUP_NULL; /* calls return it like any other, so it may be freed */
    else if (rc == 0)
        rc = wio_mpi_comm_free(group);
    return wio_mpi_result("WAITIO_MPI_Group_free", rc);
}

int WAITIO_MPI_Group_translate_ranks(WAITIO_MPI_Group from, int n, const int ranks[],
                                     WAITIO_MPI_Group to, int out[])
{
    int rc;
    const struct wio_universe *u = check(from, to, n == 0 ? &n : (const void *)out, &rc);

    if (rc == 0)
        rc = check_list(n, ranks);

    for (int i = 0; u != NULL && rc == 0 && i < n; i++) {
        int64_t rank = -1;
        if (ranks[i] == WAITIO_MPI_PROC_NULL) {
            out[i] = WAITIO_MPI_PROC_NULL;
            continue;
        }
        if (ranks[i] < 0 || (uint32_t)ranks[i] >= from->size)
            rc = wio_fail(WAITIO_ERR_RANK, "rank %d in a group of %u", ranks[i], from->size);
        else
            rank = wio_group_rank_of(to, wio_group_member(from, (uint32_t)ranks[i]));
        out[i] = rank < 0 ? WAITIO_MPI_UNDEFINED : (int)rank;
    }
    return wio_mpi_result("WAITIO_MPI_Group_translate_ranks", rc);
}

static bool same_set(const struct waitio_group *a, const struct waitio_group *b)
{
    for (uint32_t i = 0; i < a->size; i++)
        if (wio_group_rank_of(b, wio_group_member(a, i)) < 0)
            return false;
    return a->size == b->size;
}

static bool same_order(const struct waitio_group *a, const struct waitio_group *b)
{
    if (a->size != b->size)
        return false;
    for (uint32_t i = 0; i < a->size; i++)
        if (wio_group_member(a, i) != wio_group_member(b, i))
            return false;
    return true;
}

int WAITIO_MPI_Group_compare(WAITIO_MPI_Group a, WAITIO_MPI_Group b, int *result)
{
    int rc;

    if (check(a, b, result, &rc) != NULL)
        *result = same_order(a, b) ? WAITIO_MPI_IDENT
                  : same_set(a, b) ? WAITIO_MPI_SIMILAR
                                   : WAITIO_MPI_UNEQUAL;
    return wio_mpi_result("WAITIO_MPI_Group_compare", rc);
}

static int compared(const struct waitio_group *a, const struct waitio_group *b)
{
    return a->space == b->space ? WAITIO_MPI_IDENT
           : same_order(a, b)   ? WAITIO_MPI_CONGRUENT
           : same_set(a, b)     ? WAITIO_MPI_SIMILAR
                                : WAITIO_MPI_UNEQUAL;
}

/* Two intercommunicators: the handles are the far groups, the near ones are behind them. */
static int compared_inter(WAITIO_MPI_Comm a, WAITIO_MPI_Comm b)
{
    WAITIO_MPI_Comm near_a = wio_inter_of(a)->both, near_b = wio_inter_of(b)->both;
    int far = compared(a, b), both = compared(near_a, near_b);

    return far > both ? far : both;
}

int WAITIO_MPI_Comm_compare(WAITIO_MPI_Comm a, WAITIO_MPI_Comm b, int *result)
{
    int rc;

    if (check(a, b, result, &rc) != NULL) {
        bool inter = wio_inter_of(a) != NULL;
        *result = inter != (wio_inter_of(b) != NULL) ? WAITIO_MPI_UNEQUAL
                  : inter                            ? compared_inter(a, b)
                                                     : compared(a, b);
    }
    return wio_mpi_result("WAITIO_MPI_Comm_compare", rc);
}

/* Members of @p a that are, or are not, in @p b, behind the @p n already there. */
static uint32_t filter(const struct waitio_group *a, const struct waitio_group *b, bool in,
                       uint32_t *members, uint32_t n)
{
    for (uint32_t i = 0; i < a->size; i++) {
        uint32_t member = wio_group_member(a, i);
        if ((wio_group_rank_of(b, member) >= 0) == in)
            members[n++] = member;
    }
    return n;
}

enum set { UNION, INTERSECTION, DIFFERENCE };

static int combine(const char *call, WAITIO_MPI_Group a, WAITIO_MPI_Group b, enum set how,
                   WAITIO_MPI_Group *out)
{
    int rc;
    struct wio_universe *u = check(a, b, out, &rc);
    uint32_t *members = u == NULL ? NULL : room((size_t)a->size + b->size), n = 0;

    if (u != NULL && members == NULL)
        rc = WAITIO_ERR_NOMEM;
    if (members != NULL) {
        if (how == UNION) { /* all of a, then those of b only */
            n = filter(a, a, true, members, 0);
            n = filter(b, a, false, members, n);
        } else {
            n = filter(a, b, how == INTERSECTION, members, 0);
        }
        rc = wio_comm_group_of(u, members, n, out);
    }
    return wio_mpi_result(call, rc);
}

int WAITIO_MPI_Group_union(WAITIO_MPI_Group a, WAITIO_MPI_Group b, WAITIO_MPI_Group *out)
{
    return combine("WAITIO_MPI_Group_union", a, b, UNION, out);
}

int WAITIO_MPI_Group_intersection(WAITIO_MPI_Group a, WAITIO_MPI_Group b, WAITIO_MPI_Group *out)
{
    return combine("WAITIO_MPI_Group_intersection", a, b, INTERSECTION, out);
}

int WAITIO_MPI_Group_difference(WAITIO_MPI_Group a, WAITIO_MPI_Group b, WAITIO_MPI_Group *out)
{
    return combine("WAITIO_MPI_Group_difference", a, b, DIFFERENCE, out);
}

/* Ranks of a group, each named at most once. @p chosen has a mark per rank of the group. */
static int mark(const struct waitio_group *g, int rank, uint32_t *chosen)
{
    if (rank < 0 || (uint32_t)rank >= g->size)
        return wio_fail(WAITIO_ERR_RANK, "rank %d in a group of %u", rank, g->size);
    if (chosen[rank]++ != 0)
        return wio_fail(WAITIO_ERR_ARG, "rank %d is named twice", rank);
    return 0;
}

/* Go through (first, last, stride) triples: mark ranks, and write members down unless excluded. */
static int walk(const struct waitio_group *g, int n, const int ranges[][3], bool exclude,
                uint32_t *chosen, uint32_t *members, uint32_t *count)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < n; i++) {
        int first = ranges[i][0], last = ranges[i][1], step = ranges[i][2];
        if (step == 0)
            rc = wio_fail(WAITIO_ERR_ARG, "range %d has stride 0", i);
        for (int64_t r = first; rc == 0 && (step > 0 ? r <= last : r >= last); r += step) {
            rc = mark(g, (int)r, chosen);
            if (rc == 0 && !exclude)
                members[(*count)++] = wio_group_member(g, (uint32_t)r);
        }
    }
    for (uint32_t i = 0; rc == 0 && exclude && i < g->size; i++)
        if (chosen[i] == 0)
            members[(*count)++] = wio_group_member(g, i);
    return rc;
}

static int by_ranges(WAITIO_MPI_Group g, int n, const int ranges[][3], bool exclude,
                     WAITIO_MPI_Group *out)
{
    int rc;
    struct wio_universe *u = check(g, g, out, &rc);
    uint32_t *members = u == NULL ? NULL : room(g->size), *chosen = NULL, count = 0;

    if (u == NULL)
        return rc;
    rc = check_list(n, ranges);
    if (rc != 0) {
        wio_os_free(members);
        return rc;
    }
    chosen = members == NULL ? NULL : room(g->size);
    rc = chosen == NULL ? WAITIO_ERR_NOMEM : walk(g, n, ranges, exclude, chosen, members, &count);
    wio_os_free(chosen);
    if (rc == 0)
        return wio_comm_group_of(u, members, count, out);
    wio_os_free(members);
    return rc;
}

static int by_list(const char *call, WAITIO_MPI_Group g, int n, const int ranks[], bool exclude,
                   WAITIO_MPI_Group *out)
{
    int(*ranges)[3], rc = check_list(n, ranks);

    if (rc != 0)
        return wio_mpi_result(call, rc);
    ranges = wio_os_alloc(((size_t)n + 1) * sizeof *ranges);
    if (ranges == NULL)
        return wio_mpi_result(call, wio_fail(WAITIO_ERR_NOMEM, "no memory for %d ranks", n));
    for (int i = 0; i < n; i++) {
        ranges[i][0] = ranges[i][1] = ranks[i];
        ranges[i][2] = 1;
    }
    rc = by_ranges(g, n, (const int(*)[3])ranges, exclude, out);
    wio_os_free(ranges);
    return wio_mpi_result(call, rc);
}

int WAITIO_MPI_Group_incl(WAITIO_MPI_Group group, int n, const int ranks[], WAITIO_MPI_Group *out)
{
    return by_list("WAITIO_MPI_Group_incl", group, n, ranks, false, out);
}

int WAITIO_MPI_Group_excl(WAITIO_MPI_Group group, int n, const int ranks[], WAITIO_MPI_Group *out)
{
    return by_list("WAITIO_MPI_Group_excl", group, n, ranks, true, out);
}

int WAITIO_MPI_Group_range_incl(WAITIO_MPI_Group group, int n, int ranges[][3],
                                WAITIO_MPI_Group *out)
{
    return wio_mpi_result("WAITIO_MPI_Group_range_incl",
                          by_ranges(group, n, (const int(*)[3])ranges, false, out));
}

int WAITIO_MPI_Group_range_excl(WAITIO_MPI_Group group, int n, int ranges[][3],
                                WAITIO_MPI_Group *out)
{
    return wio_mpi_result("WAITIO_MPI_Group_range_excl",
                          by_ranges(group, n, (const int(*)[3])ranges, true, out));
}
