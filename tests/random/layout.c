/* SPDX-License-Identifier: BSD-3-Clause */
#include "layout.h"

#include <stdlib.h>
#include <string.h>

#include "build.h"
#include "report.h"

enum { DEPTH = 3, LARGEST_SPAN = 1 << 13, LARGEST_AREA = 1 << 18, TRIES = 12 };

void layout_reach(const struct layout *l, int count, ptrdiff_t *low, ptrdiff_t *high)
{
    *low = count > 0 ? l->low : 0;
    *high = count > 0 ? l->high + (count - 1) * l->extent : 0;
}

/* Would copies at any multiples of the extent overlap? */
static bool overlaps(const struct layout *l)
{
    ptrdiff_t span = l->high - l->low, copies, room;
    bool found = false;
    char *taken;

    if (span > LARGEST_SPAN || l->extent > LARGEST_SPAN)
        return true;
    copies = span / l->extent + 2;
    room = span + copies * l->extent;
    if (copies * (ptrdiff_t)l->size > 100 * LARGEST_SPAN)
        return true;
    taken = calloc(1, (size_t)room);
    for (ptrdiff_t c = 0; c < copies && !found; c++)
        for (int r = 0; r < l->nruns && !found; r++) {
            char *at = taken + c * l->extent + l->runs[r].at - l->low;
            size_t n = (size_t)l->runs[r].n * (size_t)kind_size(l->runs[r].kind);
            found = memchr(at, 1, n) != NULL;
            memset(at, 1, n);
        }
    free(taken);
    return found;
}

static void check(const struct layout *l)
{
    MPI_Aint lb, extent, low, reach;
    int size;

    MPI_Type_size(l->type, &size);
    MPI_Type_get_extent(l->type, &lb, &extent);
    MPI_Type_get_true_extent(l->type, &low, &reach);
    if (l->mult != 1)
        return;
    if ((size_t)size != l->size)
        wrong("a type has %d bytes, not %zu", size, l->size);
    if (lb != l->lb || extent != l->extent)
        wrong("a type's bounds are %ld and %ld on, not %td and %td", (long)lb, (long)extent, l->lb,
              l->extent);
    if (low != l->low || reach != l->high - l->low)
        wrong("a type's true bounds are %ld and %ld on, not %td and %td", (long)low, (long)reach,
              l->low, l->high - l->low);
}

static bool too_wide(const struct layout *l, int count)
{
    return count > 0 && l->extent > LARGEST_AREA / count && (size_t)l->extent > 3 * l->size;
}

void layout_make(struct layout *l, uint64_t shape, int count, struct dice *mine)
{
    for (int try = 0; try <= TRIES; try++) {
        struct dice what = dice_of(shape);
        build_type(&what, mine, try == TRIES, below(&what, DEPTH + 1), l);
        if (try == TRIES || (!too_wide(l, count) && !overlaps(l)))
            break;
        layout_free(l);
    }
    if (chance(mine, 25))
        build_flat(l);
    if (l->own)
        MPI_Type_commit(&l->type);
    check(l);
}

void layout_free(struct layout *l)
{
    if (l->own)
        MPI_Type_free(&l->type);
    free(l->runs);
    *l = (struct layout){.mult = 1};
}

MPI_Datatype layout_absolute(const struct layout *l, const void *place, int count)
{
    MPI_Datatype type;
    MPI_Aint at;

    count *= l->mult;
    MPI_Get_address(place, &at);
    MPI_Type_create_hindexed(1, &count, &at, l->type, &type);
    MPI_Type_commit(&type);
    return type;
}

size_t shape_size(uint64_t shape)
{
    struct dice what = dice_of(shape), mine = dice_of(0);
    struct layout l;
    size_t size;

    build_type(&what, &mine, true, below(&what, DEPTH + 1), &l);
    size = l.size;
    layout_free(&l);
    return size;
}

void layout_put(char *place, const struct layout *l, int count, uint64_t stream, size_t bytes)
{
    size_t done = 0;

    for (int c = 0; c < count && done < bytes; c++)
        for (int r = 0; r < l->nruns && done < bytes; r++) {
            size_t n = (size_t)l->runs[r].n * (size_t)kind_size(l->runs[r].kind);
            if (n > bytes - done)
                n = bytes - done;
            stream_bytes(place + c * l->extent + l->runs[r].at, stream, done, n);
            done += n;
        }
}
