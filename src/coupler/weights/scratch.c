/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows while they are made. */
#include <stdlib.h>

#include "coupler/weights/search.h"
#include "os/os.h"
#include "waitio_errors.h"

void wio_scratch_free(struct wio_scratch *s)
{
    wio_found_free(&s->found);
    wio_found_free(&s->around);
    wio_os_free(s->link);
    wio_os_free(s->overlap);
    wio_os_free(s->parts.at);
    *s = (struct wio_scratch){0};
}

void wio_scratch_begin(struct wio_scratch *s, const uint32_t *group, int n)
{
    s->group = group;
    s->n_group = n;
    s->quads.asked = s->centres.asked = false;
}

struct wio_box wio_scratch_box(const struct wio_scratch *s, const struct wio_grid *target)
{
    struct wio_box box = wio_box_empty();
    for (int i = 0; i < s->n_group; i++)
        wio_box_add(&box, target->centre[s->group[i]]);
    return box;
}

int wio_scratch_link(struct wio_scratch *s, int64_t index, size_t position, double weight)
{
    if (s->n_link == s->link_room) {
        size_t room = 2 * s->link_room + 64;
        struct wio_link *link = wio_os_realloc(s->link, room * sizeof *link);
        if (link == NULL)
            return WAITIO_ERR_NOMEM;
        s->link = link;
        s->link_room = room;
    }
    s->link[s->n_link] = (struct wio_link){.index = index,
                                           .weight = weight,
                                           .position = (uint32_t)position,
                                           .turn = (uint32_t)s->n_link};
    s->n_link++;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct wio_link *x = a, *y = b;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return (x->turn > y->turn) - (x->turn < y->turn);
}

void wio_scratch_order(struct wio_scratch *s)
{
    bool in_order = true;
    for (size_t i = 1; i < s->n_link && in_order; i++)
        in_order = s->link[i].index > s->link[i - 1].index;
    if (in_order)
        return;
    qsort(s->link, s->n_link, sizeof *s->link, compare);
    size_t kept = 0;
    for (size_t i = 1; i < s->n_link; i++)
        if (s->link[i].index == s->link[kept].index)
            s->link[kept].weight += s->link[i].weight;
        else
            s->link[++kept] = s->link[i];
    s->n_link = kept + 1;
}
