/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file plan.h
 * Who wants what: the boxes that a reader asks for, as pieces of writers' blocks. Pure functions.
 */
#ifndef WIO_STG_PLAN_H
#define WIO_STG_PLAN_H

#include "stage/layout.h"

/** A box of an array that is wanted. */
struct wio_stg_want {
    size_t array;           /* in the layout */
    int64_t block;          /* one block as a whole, or -1 */
    struct wio_stg_box box; /* of a block: its box */
    char *to;
};

/** A piece of a block for a want. */
struct wio_stg_piece {
    uint32_t writer, array, block; /* as the writer counts them */
    uint32_t want;
    struct wio_stg_box box;
    size_t index; /* of the block in the layout: does not travel */
};

struct wio_stg_plan {
    struct wio_stg_piece *at; /* by writer */
    size_t n, room;
};

/** Find the pieces. @return 0; ARG: a part of a box that nobody has put; NOMEM */
int wio_stg_plan_make(struct wio_stg_plan *plan, const struct wio_stg_layout *l,
                      const struct wio_stg_want *wants, size_t n);
void wio_stg_plan_free(struct wio_stg_plan *plan);

/** A piece as it is asked for, and read by the writer. */
void wio_stg_piece_write(const struct wio_stg_piece *p, struct wio_stg_bytes *b);
/** @return false: malformed */
bool wio_stg_piece_read(struct wio_stg_scan *s, struct wio_stg_piece *p);

#endif
