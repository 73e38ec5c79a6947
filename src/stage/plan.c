/* SPDX-License-Identifier: BSD-3-Clause */
/* Pieces of writers' blocks. */
#include "stage/plan.h"

#include <stdlib.h>

#include "waitio_stage.h"

static int add(struct wio_stg_plan *plan, const struct wio_stg_array *a, size_t block,
               uint32_t want, const struct wio_stg_box *box)
{
    const uint32_t *where = a->where + 3 * block;

    if (plan->n == plan->room) {
        size_t room = plan->room > 0 ? 2 * plan->room : 16;
        struct wio_stg_piece *at = realloc(plan->at, room * sizeof *at);

        if (at == NULL)
            return wio_stg_fail(WAITIO_ERR_NOMEM, "no memory for a plan of %zu pieces", room);
        plan->at = at;
        plan->room = room;
    }
    plan->at[plan->n++] = (struct wio_stg_piece){where[0], where[1], where[2], want, *box, block};
    return 0;
}

/* Blocks do not overlap (the first writer has checked that), so that the volumes tell whether
 * something is missing. */
static int add_box(struct wio_stg_plan *plan, const struct wio_stg_array *a,
                   const struct wio_stg_want *w, uint32_t want)
{
    uint64_t found = 0, wanted = 0, volume;
    int rc = 0;

    if (!wio_stg_box_volume(&w->box, &wanted))
        return wio_stg_fail(WAITIO_ERR_ARG, "variable '%s': a box of more than 2^62 elements",
                            a->name);
    for (size_t k = 0; rc == 0 && k < a->n && found < wanted; k++) {
        struct wio_stg_box block = wio_stg_block_box(a, k), common;

        if (!wio_stg_box_meet(&w->box, &block, &common))
            continue;
        (void)wio_stg_box_volume(&common, &volume);
        found += volume;
        rc = add(plan, a, k, want, &common);
    }
    if (rc == 0 && found != wanted) {
        char text[300];

        wio_stg_box_text(&w->box, text, sizeof text);
        rc = wio_stg_fail(WAITIO_ERR_ARG,
                          "variable '%s': of the box %s the writers have put %llu elements of %llu",
                          a->name, text, (unsigned long long)found, (unsigned long long)wanted);
    }
    return rc;
}

static int by_writer(const void *a, const void *b)
{
    const struct wio_stg_piece *x = a, *y = b;

    if (x->writer != y->writer)
        return x->writer < y->writer ? -1 : 1;
    if (x->want != y->want)
        return x->want < y->want ? -1 : 1;
    if (x->array != y->array)
        return x->array < y->array ? -1 : 1;
    return (x->block > y->block) - (x->block < y->block);
}

int wio_stg_plan_make(struct wio_stg_plan *plan, const struct wio_stg_layout *l,
                      const struct wio_stg_want *wants, size_t n)
{
    int rc = 0;

    plan->n = 0;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const struct wio_stg_array *a = &l->arrays[wants[i].array];
        uint64_t volume = 0;

        if (wants[i].block < 0)
            rc = add_box(plan, a, &wants[i], (uint32_t)i);
        else if (wio_stg_box_volume(&wants[i].box, &volume) && volume > 0)
            rc = add(plan, a, (size_t)wants[i].block, (uint32_t)i, &wants[i].box);
    }
    if (rc == 0 && plan->n > 1)
        qsort(plan->at, plan->n, sizeof *plan->at, by_writer);
    return rc;
}

void wio_stg_plan_free(struct wio_stg_plan *plan)
{
    free(plan->at);
    *plan = (struct wio_stg_plan){NULL, 0, 0};
}

void wio_stg_piece_write(const struct wio_stg_piece *p, struct wio_stg_bytes *b)
{
    wio_stg_put_u32(b, p->array);
    wio_stg_put_u32(b, p->block);
    wio_stg_put_u8(b, (unsigned)p->box.n);
    wio_stg_write_box(b, &p->box);
}

bool wio_stg_piece_read(struct wio_stg_scan *s, struct wio_stg_piece *p)
{
    p->array = wio_stg_take_u32(s);
    p->block = wio_stg_take_u32(s);
    p->index = 0;
    p->box.n = (int)wio_stg_take_u8(s);
    if (p->box.n < 1 || p->box.n > WIO_STG_DIMS)
        s->bad = true;
    for (int d = 0; !s->bad && d < p->box.n; d++)
        p->box.start[d] = wio_stg_take_u64(s);
    for (int d = 0; !s->bad && d < p->box.n; d++)
        p->box.count[d] = wio_stg_take_u64(s);
    return !s->bad;
}
