/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random datatypes and what is known of them. A *shape* (a key) says which elements there are, in
 * which order; each process lays them out as it likes: with holes, negative bounds, in any order of
 * memory. So types of one shape match, wherever their elements lie.
 */
#ifndef LAYOUT_H
#define LAYOUT_H

#include "dice.h"
#include "face.h"

struct run { /* elements of one kind, one behind the other */
    ptrdiff_t at;
    int kind, n;
};

struct layout {
    MPI_Datatype type;
    bool own; /* to be freed */
    int mult; /* so many elements of `type` are one of the shape: flat types have none of it */
    int elements;
    size_t size; /* bytes of data */
    ptrdiff_t lb, extent, low, high;
    struct run *runs;
    int nruns;
};

/** Committed; its copies at multiples of the extent do not overlap.
 * @param count so many are used: many of them have few holes */
void layout_make(struct layout *l, uint64_t shape, int count, struct dice *mine);
/** As many MPI_BYTE as an element of the shape has. */
void layout_make_bytes(struct layout *l, uint64_t shape);
void layout_free(struct layout *l);
/** A type by which MPI_BOTTOM means the count elements at that place. */
MPI_Datatype layout_absolute(const struct layout *l, const void *place, int count);
/** How many bytes one element of a shape has. */
size_t shape_size(uint64_t shape);
/** Where the data of so many elements lies, from the place of the first. */
void layout_reach(const struct layout *l, int count, ptrdiff_t *low, ptrdiff_t *high);
/** Write the first bytes of a stream to where the elements at a place are. */
void layout_put(char *place, const struct layout *l, int count, uint64_t stream, size_t bytes);

#endif
