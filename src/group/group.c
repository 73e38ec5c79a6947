/* SPDX-License-Identifier: BSD-3-Clause */
#include "group/group.h"

#include <stdlib.h>

#include "os/os.h"

/* Growing list of universe ranks while a group is being put together. */
struct ranks {
    uint32_t *at;
    size_t n, cap;
};

static int ranks_add(struct ranks *r, uint32_t universe_rank)
{
    if (r->n == r->cap) {
        size_t cap = r->cap == 0 ? 64 : r->cap * 2;
        uint32_t *at = wio_os_realloc(r->at, cap * sizeof *at);
        if (at == NULL)
            return wio_fail(WAITIO_ERR_NOMEM, "no memory for a group of %zu members", r->n + 1);
        r->at = at;
        r->cap = cap;
    }
    r->at[r->n++] = universe_rank;
    return 0;
}

int64_t wio_group_rank_of(const struct waitio_group *g, uint32_t universe_rank)
{
    if (g->members == NULL)
        return universe_rank - g->first < g->size ? (int64_t)(universe_rank - g->first) : -1;
    size_t lo = 0, hi = g->size;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (g->members[g->sorted[mid]] < universe_rank)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < g->size && g->members[g->sorted[lo]] == universe_rank ? (int64_t)g->sorted[lo] : -1;
}

static uint64_t space_of(const struct waitio_group *g)
{
    uint64_t h = wio_hash64(0x57616974494fULL, (uint64_t)(uint32_t)g->gid);
    for (uint32_t i = 0; i < g->size; i++)
        h = wio_hash64(h, wio_group_member(g, i));
    h = wio_hash64(h, g->size);
    return h == WIO_SPACE_NONE ? 1 : h;
}

static int by_member(const void *a, const void *b, void *members)
{
    const uint32_t *m = members;
    uint32_t x = m[*(const uint32_t *)a], y = m[*(const uint32_t *)b];
    return x < y ? -1 : x > y;
}

static bool consecutive(const struct ranks *r)
{
    for (size_t i = 1; i < r->n; i++)
        if (r->at[i] != r->at[0] + i)
            return false;
    return true;
}

/* Reverse index; finds members named twice on the way. */
static int make_sorted(const struct wio_table *t, struct waitio_group *g)
{
    g->sorted = wio_os_realloc(NULL, (size_t)g->size * sizeof *g->sorted);
    if (g->sorted == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for a group of %u members", g->size);
    for (uint32_t i = 0; i < g->size; i++)
        g->sorted[i] = i;
    qsort_r(g->sorted, g->size, sizeof *g->sorted, by_member, g->members);
    for (uint32_t i = 1; i < g->size; i++) {
        uint32_t r = g->members[g->sorted[i]];
        if (r == g->members[g->sorted[i - 1]]) {
            uint32_t pb = wio_table_pb_of(t, r);
            return wio_fail(WAITIO_ERR_ARG, "rank %u of PB %u is named twice in the rank list",
                            r - t->pb_base[pb], pb);
        }
    }
    return 0;
}

/* Takes over r->at. */
static int group_new(const struct wio_table *t, int gid, struct ranks *r, struct waitio_group **out)
{
    struct waitio_group *g = wio_os_alloc(sizeof *g);
    if (g == NULL) {
        wio_os_free(r->at);
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for a group");
    }
    g->gid = gid;
    g->refs = 1;
    g->size = (uint32_t)r->n;
    if (consecutive(r)) {
        g->first = r->n > 0 ? r->at[0] : 0;
        wio_os_free(r->at);
    } else {
        g->members = r->at;
        int rc = make_sorted(t, g);
        if (rc != 0) {
            wio_group_destroy(g);
            return rc;
        }
    }
    g->space = space_of(g);
    g->my_rank = (int32_t)wio_group_rank_of(g, t->me);
    g->magic = WIO_GROUP_MAGIC;
    *out = g;
    return 0;
}

struct place {
    int position, pb;
};

static int by_position(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    return x->position < y->position ? -1 : x->position > y->position;
}

/* PBs of the group in order of position. used[p] tells whether PB p has a filter or list. */
static int places(const struct wio_table *t, const int *order, struct place **out, size_t *n)
{
    if (order == NULL)
        return wio_fail(WAITIO_ERR_ARG, "order is NULL; it must hold one entry per PB (%u)",
                        t->npb);
    struct place *pl = wio_os_alloc(((size_t)t->npb + 1) * sizeof *pl);
    if (pl == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for a group over %u PBs", t->npb);
    size_t k = 0;
    for (uint32_t p = 0; p < t->npb; p++) {
        if (order[p] < 0) {
            int bad = order[p];
            wio_os_free(pl);
            return wio_fail(WAITIO_ERR_ARG,
                            "order[%u] is %d; positions are 1-based, 0 leaves the PB out", p, bad);
        }
        if (order[p] > 0)
            pl[k++] = (struct place){order[p], (int)p};
    }
    qsort(pl, k, sizeof *pl, by_position);
    *out = pl;
    *n = k;
    return 0;
}

/* Equal positions are an error only among PBs that really contribute members. */
static int clash(const struct place *a, const struct place *b)
{
    return wio_fail(WAITIO_ERR_ARG,
                    "order gives PB %d and PB %d the same position %d; positions must be distinct",
                    a->pb, b->pb, a->position);
}

static int add_filtered(const struct wio_table *t, uint32_t pb, wio_group_filter_fn f,
                        struct ranks *r)
{
    for (uint32_t n = 0; n < t->pb_size[pb]; n++) {
        if (f((int)pb, (int)n) == 0)
            continue;
        int rc = ranks_add(r, t->pb_base[pb] + n);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int add_list(const struct wio_table *t, uint32_t pb, const int *list, struct ranks *r)
{
    for (size_t i = 0; list[i] >= 0; i++) {
        if ((uint32_t)list[i] >= t->pb_size[pb])
            return wio_fail(WAITIO_ERR_ARG, "rank[%u][%zu] is %d but PB %u has %u processes", pb, i,
                            list[i], pb, t->pb_size[pb]);
        int rc = ranks_add(r, t->pb_base[pb] + (uint32_t)list[i]);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* Exactly one of func and rank is given. */
static int collect(const struct wio_table *t, const wio_group_filter_fn *func, int *const *rank,
                   const int *order, struct ranks *r)
{
    struct place *pl = NULL;
    size_t n = 0;
    int rc = places(t, order, &pl, &n);
    const struct place *last = NULL;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        uint32_t pb = (uint32_t)pl[i].pb;
        if (func != NULL ? func[pb] == NULL : rank[pb] == NULL)
            continue;
        if (last != NULL && last->position == pl[i].position)
            rc = clash(last, &pl[i]);
        else
            rc = func != NULL ? add_filtered(t, pb, func[pb], r) : add_list(t, pb, rank[pb], r);
        last = &pl[i];
    }
    wio_os_free(pl);
    return rc;
}

static int from_parts(const struct wio_table *t, int gid, const wio_group_filter_fn *func,
                      int *const *rank, const int *order, struct waitio_group **out)
{
    struct ranks r = {0};
    int rc = collect(t, func, rank, order, &r);
    if (rc != 0) {
        wio_os_free(r.at);
        return rc;
    }
    return group_new(t, gid, &r, out);
}

int wio_group_from_filters(const struct wio_table *t, int gid, const wio_group_filter_fn *func,
                           const int *order, struct waitio_group **out)
{
    if (func == NULL)
        return wio_fail(WAITIO_ERR_ARG, "func is NULL; it must hold one filter (or NULL) per PB");
    return from_parts(t, gid, func, NULL, order, out);
}

int wio_group_from_lists(const struct wio_table *t, int gid, int *const *rank, const int *order,
                         struct waitio_group **out)
{
    if (rank == NULL)
        return wio_fail(WAITIO_ERR_ARG,
                        "rank is NULL; it must hold one rank list (or NULL) per PB");
    return from_parts(t, gid, NULL, rank, order, out);
}

int wio_group_from_range(const struct wio_table *t, int gid, uint32_t first, uint32_t size,
                         struct waitio_group **out)
{
    struct waitio_group *g = wio_os_alloc(sizeof *g);
    if (g == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for a group");
    *g = (struct waitio_group){.refs = 1, .gid = gid, .size = size, .first = first};
    g->space = space_of(g);
    g->my_rank = (int32_t)wio_group_rank_of(g, t->me);
    g->magic = WIO_GROUP_MAGIC;
    *out = g;
    return 0;
}

int wio_group_from_members(const struct wio_table *t, int gid, const uint32_t *members, uint32_t n,
                           struct waitio_group **out)
{
    struct ranks r = {0};
    for (uint32_t i = 0; i < n; i++) {
        int rc = members[i] < t->size
                     ? ranks_add(&r, members[i])
                     : wio_fail(WAITIO_ERR_RANK, "universe rank %u of %u", members[i], t->size);
        if (rc != 0) {
            wio_os_free(r.at);
            return rc;
        }
    }
    return group_new(t, gid, &r, out);
}

void wio_group_bury(struct waitio_group *g)
{
    if (g->upper != NULL)
        g->upper_free(g->upper);
    wio_os_free(g->members);
    wio_os_free(g->sorted);
    *g = (struct waitio_group){.fixed = g->fixed};
}

void wio_group_destroy(struct waitio_group *g)
{
    if (g == NULL)
        return;
    wio_group_bury(g);
    if (g->fixed)
        *g = (struct waitio_group){0};
    else
        wio_os_free(g);
}
