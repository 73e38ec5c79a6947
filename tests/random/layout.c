/* SPDX-License-Identifier: BSD-3-Clause */
#include "layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "area.h"
#include "build.h"
#include "channel.h"
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

static bool too_wide(const struct layout *l, int count)
{
    return count > 0 && l->extent > LARGEST_AREA / count && (size_t)l->extent > 3 * l->size;
}

/* Do size and bounds agree with the model? */
static bool well_known(const struct layout *l, char *what, size_t room)
{
    MPI_Aint lb, extent, low, reach;
    int size;

    what[0] = '\0';
    MPI_Type_size(l->type, &size);
    MPI_Type_get_extent(l->type, &lb, &extent);
    MPI_Type_get_true_extent(l->type, &low, &reach);
    if (l->mult != 1)
        return true;
    if ((size_t)size != l->size)
        snprintf(what, room, "a type has %d bytes, not %zu", size, l->size);
    else if (lb != l->lb || extent != l->extent)
        snprintf(what, room, "a type's bounds are %ld and %ld on, not %td and %td", (long)lb,
                 (long)extent, l->lb, l->extent);
    else if (low != l->low || reach != l->high - l->low)
        snprintf(what, room, "a type's true bounds are %ld and %ld on, not %td and %td", (long)low,
                 (long)reach, l->low, l->high - l->low);
    return what[0] == '\0';
}

/* Does the MPI itself pack and unpack some elements as the model says? */
static bool packs_well(const struct layout *l)
{
    enum { COPIES = 3 };
    int bytes = COPIES * (int)l->size, at = 0;
    char *stream = malloc((size_t)bytes), *packed = malloc((size_t)bytes);
    ptrdiff_t low, high;
    struct area area;
    bool good;

    layout_reach(l, COPIES, &low, &high);
    area_open(&area, low, high, 1);
    area_keep(&area);
    stream_bytes(stream, 2, 0, (size_t)bytes);
    MPI_Unpack(stream, bytes, &at, area.zero, COPIES * l->mult, l->type, MPI_COMM_SELF);
    area_want(&area, 0, l, COPIES, 2, (size_t)bytes);
    at = 0;
    MPI_Pack(area.zero, COPIES * l->mult, l->type, packed, bytes, &at, MPI_COMM_SELF);
    good =
        memcmp(area.mem, area.want, area.bytes) == 0 && memcmp(packed, stream, (size_t)bytes) == 0;
    area_close(&area);
    free(packed);
    free(stream);
    return good;
}

/* Types that a vendor's MPI does not treat as MPI says are not used: it is not its test. */
static bool fits(const struct layout *l, int count)
{
    char what[200];

    if ((count > 0 && too_wide(l, count)) || overlaps(l))
        return false;
    return !has_vendor() || (well_known(l, what, sizeof what) && packs_well(l));
}

void layout_make(struct layout *l, uint64_t shape, int count, struct dice *mine)
{
    char what_is_wrong[200];

    for (int try = 0; try <= TRIES; try++) {
        struct dice what = dice_of(shape);
        build_type(&what, mine, try == TRIES, below(&what, DEPTH + 1), l);
        if (l->own)
            MPI_Type_commit(&l->type);
        if (try == TRIES || fits(l, count))
            break;
        layout_free(l);
    }
    if (chance(mine, 25))
        build_flat(l);
    if (!well_known(l, what_is_wrong, sizeof what_is_wrong))
        wrong("%s", what_is_wrong);
}

void layout_make_bytes(struct layout *l, uint64_t shape)
{
    build_bytes(shape_size(shape), l);
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
