/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Do blocks of a global array overlap? Many blocks are cut in two by a plane, again and again,
 * until few are left to be compared with each other. A block on both sides of a plane belongs to
 * both. Writers cut arrays in rows, slabs or bricks, so of each cut most blocks are on one side,
 * and all takes n log(n)^2 steps for n blocks. Where no plane parts them well, all pairs are
 * compared.
 */
#include <stdlib.h>

#include "stage/layout.h"
#include "waitio_stage.h"

enum { FEW = 16 };

/* Blocks of an array, and room for numbers of as many. */
struct some {
    const struct wio_stg_array *a;
    size_t *block, n;
};

struct plane {
    int dim;
    uint64_t at;
    size_t left, right; /* blocks on its sides */
};

static int overlap(const struct wio_stg_array *a, size_t i, size_t k,
                   const struct wio_stg_box *common)
{
    char where[300];
    uint32_t x = wio_stg_block_writer(a, i), y = wio_stg_block_writer(a, k);

    wio_stg_box_text(common, where, sizeof where);
    return wio_stg_fail(WAITIO_ERR_ARG,
                        "variable '%s': writer %u and writer %u have both put %s; blocks of a "
                        "global array must not overlap",
                        a->name, x < y ? x : y, x < y ? y : x, where);
}

static int all_pairs(const struct some *s)
{
    struct wio_stg_box x, y, common;

    for (size_t i = 0; i < s->n; i++) {
        x = wio_stg_block_box(s->a, s->block[i]);
        for (size_t k = i + 1; k < s->n; k++) {
            y = wio_stg_block_box(s->a, s->block[k]);
            if (wio_stg_box_meet(&x, &y, &common))
                return overlap(s->a, s->block[i], s->block[k], &common);
        }
    }
    return 0;
}

static const uint64_t *start_of(const struct some *s, size_t i)
{
    return s->a->boxes + s->block[i] * 2 * (size_t)s->a->ndims;
}

static bool is_left(const struct some *s, size_t i, const struct plane *p)
{
    return start_of(s, i)[p->dim] < p->at;
}

static bool is_right(const struct some *s, size_t i, const struct plane *p)
{
    const uint64_t *start = start_of(s, i);

    return start[p->dim] + start[s->a->ndims + p->dim] > p->at;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* The plane through the beginning of the middle block, or of the next one that begins later than
 * the first. @return false: all begin at the same place */
static bool cut(const struct some *s, int dim, uint64_t *starts, struct plane *p)
{
    size_t middle = s->n / 2;

    for (size_t i = 0; i < s->n; i++)
        starts[i] = start_of(s, i)[dim];
    qsort(starts, s->n, sizeof *starts, by_number);
    while (middle < s->n && starts[middle] == starts[0])
        middle++;
    if (middle == s->n)
        return false;
    *p = (struct plane){dim, starts[middle], 0, 0};
    for (size_t i = 0; i < s->n; i++) {
        p->left += is_left(s, i, p);
        p->right += is_right(s, i, p);
    }
    return true;
}

/* The plane that the fewest blocks lie on. @return false: none makes both sides much smaller */
static bool best_plane(const struct some *s, uint64_t *starts, struct plane *best)
{
    bool found = false;

    for (int d = 0; d < s->a->ndims; d++) {
        struct plane p;

        if (cut(s, d, starts, &p) && (!found || p.left + p.right < best->left + best->right)) {
            *best = p;
            found = true;
        }
    }
    return found && best->left <= s->n / 8 * 7 && best->right <= s->n / 8 * 7;
}

static int check(const struct some *s, uint64_t *starts);

static int one_side(const struct some *s, const struct plane *p, uint64_t *starts,
                    bool (*is_there)(const struct some *s, size_t i, const struct plane *p),
                    size_t n)
{
    struct some side = {s->a, wio_stg_new(n + 1, sizeof *side.block), 0};
    int rc;

    if (side.block == NULL)
        return WAITIO_ERR_NOMEM;
    for (size_t i = 0; i < s->n; i++)
        if (is_there(s, i, p))
            side.block[side.n++] = s->block[i];
    rc = check(&side, starts);
    free(side.block);
    return rc;
}

static int check(const struct some *s, uint64_t *starts)
{
    struct plane p;
    int rc;

    if (s->n <= FEW || !best_plane(s, starts, &p))
        return all_pairs(s);
    rc = one_side(s, &p, starts, is_left, p.left);
    return rc == 0 ? one_side(s, &p, starts, is_right, p.right) : rc;
}

static int check_array(const struct wio_stg_array *a)
{
    struct some s = {a, wio_stg_new(a->n, sizeof *s.block), 0};
    uint64_t *starts = wio_stg_new(a->n, sizeof *starts);
    int rc = WAITIO_ERR_NOMEM;

    for (size_t i = 0; s.block != NULL && i < a->n; i++) {
        struct wio_stg_box b = wio_stg_block_box(a, i);
        uint64_t volume = 0;

        if (wio_stg_box_volume(&b, &volume) && volume > 0)
            s.block[s.n++] = i;
    }
    if (s.block != NULL && starts != NULL)
        rc = check(&s, starts);
    free(s.block);
    free(starts);
    return rc;
}

int wio_stg_layout_check(const struct wio_stg_layout *l)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < l->n; i++)
        if (l->arrays[i].kind == WAITIO_STAGE_GLOBAL && l->arrays[i].n > 1)
            rc = check_array(&l->arrays[i]);
    return rc;
}
