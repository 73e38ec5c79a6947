/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file sums.h
 * Remapping by the sender. It makes the sums of those receive points all of whose sources are its
 * own, in the order in which the receiver would; the sources of the others travel as they are, and
 * the receiver makes these sums. So no partition changes a sum, whichever side remaps.
 */
#ifndef WIO_CPL_SUMS_H
#define WIO_CPL_SUMS_H

#include "coupler/cpl.h"

/** What one process of the sender does for one of the receiver; in the order of the table's lists
 * of peers. A message has for each layer the sums, then the points. */
struct wio_cpl_share {
    size_t rows, n;           /**< sums; points that travel as they are */
    size_t first_row, first;  /**< receiver: where they go among all sums, all points */
    struct wio_cpl_remap sum; /**< sender: slots are places in the peer's list of points */
    int64_t *target;          /**< sender: global index of each sum's receive point */
    int64_t *at;              /**< sender: the points' positions in its arrays */
};

struct wio_cpl_sums {
    struct wio_cpl_share *shares;
    size_t n;
    struct wio_cpl_remap rest;     /**< receiver: the rows that have sources of several senders */
    int64_t *to;                   /**< receiver: positions of the sums that come, by share */
    size_t rows;                   /**< receiver: how many come */
    size_t most_points, most_rows; /**< sender: of any peer */
};

/** Is a link of the table remapped by the sender? The same on both sides. */
bool wio_cpl_sums_of(const struct wio_cpl_table *table, const struct wio_cpl_link *link);
/** What the configuration wants of a table: a bit for each side (1 << enum wio_cpl_side). */
int wio_cpl_sums_wanted(const struct waitio_cpl *cpl, const struct wio_cpl_table *table);
/** Decide which side remaps, and tell the senders what is theirs. Collective over the team.
 * @return 0; CONFIG: the sender shall, but the receiver has a function of its own */
int wio_cpl_sums_make(struct waitio_cpl *cpl, struct wio_cpl_table *table,
                      const struct wio_cpl_team *team);
void wio_cpl_sums_free(struct wio_cpl_sums *sums);

/** Numbers that the i-th peer of a bundle gets, or gives, for each layer. */
size_t wio_cpl_bundle_numbers(const struct wio_cpl_bundle *b, size_t i);
/** Numbers in double precision that the bundle needs beside its messages. */
size_t wio_cpl_sums_room(const struct wio_cpl_bundle *b);
/** Write what the i-th peer gets of one variable. @return 0; ARG: no number of the type */
int wio_cpl_sums_pack(const struct waitio_cpl *cpl, const struct wio_cpl_bundle *b,
                      const struct wio_cpl_var *v, size_t i, void *out);
/** Numbers of one layer (of the bundle) of the i-th peer to their places. */
void wio_cpl_sums_unpack(const struct wio_cpl_bundle *b, const struct wio_cpl_var *v, size_t i,
                         size_t layer, const void *in);
/** The layers of one of two variables that are a vector. @param from of the whole bundle, layers
 * @p stride numbers apart @param to of the variable */
void wio_cpl_remap_pair(const struct wio_cpl_remap *remap, const struct wio_cpl_var *v,
                        const double *from, size_t stride, double *to,
                        const struct wio_cpl_gaps *gaps);
/** Make a variable of what has come. @param layer of the bundle, the variable's first */
void wio_cpl_sums_remap(const struct wio_cpl_bundle *b, const struct wio_cpl_var *v, size_t layer,
                        const struct wio_cpl_gaps *gaps);

#endif
