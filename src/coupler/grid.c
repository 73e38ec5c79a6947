/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grids, and their directory: which process owns which point.
 *
 * Every index has a home, a process of the component that is found from the index alone. The home
 * knows the owner. So each process knows about its share of the points, nobody knows all, and the
 * way to any point is two messages long. The home also sees an index that is owned twice.
 */
#include <stdlib.h>
#include <string.h>

#include "coupler/cpl.h"
#include "coupler/order.h"

struct wio_cpl_grid *wio_cpl_grid_find(const struct waitio_cpl *cpl, const char *name)
{
    struct wio_cpl_grid *const *all = cpl->grids.at;

    for (size_t i = 0; i < cpl->grids.n; i++)
        if (strcmp(all[i]->name, name) == 0)
            return all[i];
    return NULL;
}

static int copy_indices(const struct waitio_cpl *cpl, struct wio_cpl_grid *grid, const int *index)
{
    for (size_t i = 0; i < grid->n; i++) {
        if (index[i] < 1)
            return wio_cpl_fail(WAITIO_ERR_ARG,
                                "grid '%s' of component '%s': point %zu of process %d has the "
                                "index %d; global indices are 1 or greater",
                                grid->name, cpl->components[cpl->mine].name, i + 1, cpl->rank,
                                index[i]);
        grid->index[i] = index[i];
    }
    return 0;
}

int wio_cpl_grid_new(struct waitio_cpl *cpl, const char *name, const int *index, size_t n)
{
    struct wio_cpl_grid *grid, **place;

    if (wio_cpl_grid_find(cpl, name) != NULL)
        return wio_cpl_fail(WAITIO_ERR_ARG, "grid '%s' of component '%s' is defined a second time",
                            name, cpl->components[cpl->mine].name);
    grid = wio_cpl_new(1, sizeof *grid);
    if (grid == NULL)
        return WAITIO_ERR_NOMEM;
    place = wio_cpl_push(&cpl->grids, sizeof *place);
    if (place == NULL) {
        free(grid);
        return WAITIO_ERR_NOMEM;
    }
    *place = grid;
    grid->name = wio_cpl_copy(name);
    grid->n = n;
    grid->index = wio_cpl_new(n, sizeof *grid->index);
    if (grid->name == NULL || grid->index == NULL)
        return WAITIO_ERR_NOMEM;
    return copy_indices(cpl, grid, index);
}

void wio_cpl_grid_free(struct wio_cpl_grid *grid)
{
    free(grid->name);
    free(grid->index);
    free(grid->open);
    free(grid->places);
    free(grid->bucket);
    wio_cpl_cells_free(grid->cells);
    free(grid);
}

/* Neighbouring indices go to different homes, so that indices with gaps spread evenly, too. */
int wio_cpl_home(int64_t index, int n)
{
    uint64_t h = (uint64_t)index * 0x9e3779b97f4a7c15u;

    return (int)((h >> 32) % (uint64_t)n);
}

const struct wio_cpl_place *wio_cpl_look_up(const struct wio_cpl_grid *grid, int64_t index)
{
    size_t low, high;

    if (grid->known == 0 || index < 0 || index > grid->places[grid->known - 1].index)
        return NULL;
    low = grid->bucket[index >> grid->shift];
    high = grid->bucket[(index >> grid->shift) + 1];
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (grid->places[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low < grid->known && grid->places[low].index == index ? &grid->places[low] : NULL;
}

/* As many buckets as points, or up to twice as many. */
static int make_buckets(struct wio_cpl_grid *grid)
{
    int64_t most = grid->known > 0 ? grid->places[grid->known - 1].index : 0;
    size_t buckets, at = 0;

    while (most >> grid->shift > (int64_t)(2 * grid->known))
        grid->shift++;
    buckets = (size_t)(most >> grid->shift) + 1;
    grid->bucket = wio_cpl_new(buckets + 1, sizeof *grid->bucket);
    if (grid->bucket == NULL)
        return WAITIO_ERR_NOMEM;
    for (size_t k = 0; k <= buckets; k++) {
        while (at < grid->known && (uint64_t)grid->places[at].index >> grid->shift < k)
            at++;
        grid->bucket[k] = (uint32_t)at;
    }
    return 0;
}

/* By index. They have come by owner and position, and equal indices stay so. */
static int sort_places(struct wio_cpl_grid *grid)
{
    struct wio_cpl_place *sorted = wio_cpl_new(grid->known, sizeof *sorted);
    int64_t *key = wio_cpl_new(grid->known, sizeof *key);
    uint32_t *by = wio_cpl_order_new(grid->known);
    int rc = sorted == NULL || key == NULL || by == NULL ? WAITIO_ERR_NOMEM : 0;

    for (size_t i = 0; rc == 0 && i < grid->known; i++)
        key[i] = grid->places[i].index;
    if (rc == 0)
        rc = wio_cpl_order(key, by, grid->known);
    for (size_t i = 0; rc == 0 && i < grid->known; i++)
        sorted[i] = grid->places[by[i]];
    free(key);
    free(by);
    if (rc != 0) {
        free(sorted);
        return rc;
    }
    free(grid->places);
    grid->places = sorted;
    return make_buckets(grid);
}

static int check_owners(const struct waitio_cpl *cpl, const struct wio_cpl_grid *grid)
{
    for (size_t i = 1; i < grid->known; i++) {
        const struct wio_cpl_place *a = &grid->places[i - 1], *b = &grid->places[i];

        if (a->index != b->index)
            continue;
        if (a->owner == b->owner)
            return wio_cpl_fail(WAITIO_ERR_ARG,
                                "grid '%s' of component '%s': process %d names the index %lld "
                                "twice, as its points %lld and %lld",
                                grid->name, cpl->components[cpl->mine].name, a->owner,
                                (long long)a->index, (long long)a->at + 1, (long long)b->at + 1);
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "grid '%s' of component '%s': the index %lld is owned by the processes "
                            "%d and %d; each point has one owner",
                            grid->name, cpl->components[cpl->mine].name, (long long)a->index,
                            a->owner, b->owner);
    }
    return 0;
}

int wio_cpl_grid_mask(struct waitio_cpl *cpl, const char *name, const int *open, size_t n)
{
    struct wio_cpl_grid *grid = wio_cpl_grid_find(cpl, name);

    if (grid == NULL)
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "component '%s' masks grid '%s', which it has not defined",
                            cpl->components[cpl->mine].name, name);
    if (n != grid->n)
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "the mask of grid '%s' of component '%s' has %zu points, but the grid "
                            "has %zu in process %d",
                            name, cpl->components[cpl->mine].name, n, grid->n, cpl->rank);
    if (grid->open == NULL)
        grid->open = wio_cpl_new(n, 1);
    if (grid->open == NULL)
        return WAITIO_ERR_NOMEM;
    for (size_t i = 0; i < n; i++)
        grid->open[i] = open[i] != 0;
    return 0;
}

/* Words of a record: index, position, which is -1 - position when the point is masked. */
static int keep(struct wio_cpl_grid *grid, const struct wio_cpl_list *in, const int64_t *counts)
{
    const int64_t *word = in->at;
    int64_t left;
    int owner = 0;

    grid->known = in->n / 2;
    grid->places = wio_cpl_new(grid->known, sizeof *grid->places);
    if (grid->places == NULL)
        return WAITIO_ERR_NOMEM;
    left = grid->known > 0 ? counts[0] : 0;
    for (size_t i = 0; i < grid->known; i++, left--) {
        int64_t at = word[2 * i + 1];

        while (left == 0)
            left = counts[++owner];
        grid->places[i] = (struct wio_cpl_place){word[2 * i], owner, at < 0 ? -1 - at : at, at < 0};
    }
    return sort_places(grid);
}

int wio_cpl_directory(struct waitio_cpl *cpl, struct wio_cpl_grid *grid)
{
    struct wio_cpl_team team = wio_cpl_team_own(cpl);
    struct wio_cpl_cargo cargo = {.words = 2};
    struct wio_cpl_list in = {NULL, 0, 0};
    int64_t *counts = wio_cpl_new((size_t)team.n, sizeof *counts);
    int rc = counts == NULL ? WAITIO_ERR_NOMEM : 0;

    for (size_t i = 0; rc == 0 && i < grid->n; i++) {
        bool masked = grid->open != NULL && !grid->open[i];
        int64_t record[2] = {grid->index[i], masked ? -1 - (int64_t)i : (int64_t)i};

        rc = wio_cpl_load(&cargo, wio_cpl_home(grid->index[i], team.n), record);
    }
    if (rc == 0)
        rc = wio_cpl_trade(cpl, &team, &cargo, &in, counts);
    if (rc == 0)
        rc = keep(grid, &in, counts);
    if (rc == 0)
        rc = check_owners(cpl, grid);
    free(counts);
    wio_cpl_list_free(&in);
    return rc;
}
