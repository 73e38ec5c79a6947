/* SPDX-License-Identifier: BSD-3-Clause */
/* The methods: what each prepares once, and how each finds the row of one target cell. */
#ifndef WIO_WEIGHTS_SEARCH_H
#define WIO_WEIGHTS_SEARCH_H

#include "coupler/weights/grid.h"

/** A source cell in the row being made. */
struct wio_link {
    int64_t index;
    double weight;
    uint32_t position;
    uint32_t turn; /* when it came: links of one source are added up in this order */
};

/** A source cell's part in a target cell. */
struct wio_overlap {
    int64_t index;
    double area;
    struct wio_vec moment; /* integral of (x - reference of the source cell); second order only */
    uint32_t cell;
    uint32_t turn;
};

/** Parts of rows, for a limiter (limited.h). */
struct wio_parts {
    struct wio_part *at;
    size_t n, room;
};

/** Leaves of a tree near the targets that follow each other: gathered when the first of them asks.
 */
struct wio_nearby {
    bool asked, there; /* there: the leaves serve all these targets */
    double within2;    /* square of the distance around each that they hold */
    double reach2;     /* square of the longest distance that had to be searched */
    struct wio_leaves leaves;
};

/** What one thread works with. */
struct wio_scratch {
    struct wio_found found, around;
    struct wio_link *link;
    size_t n_link, link_room;
    struct wio_overlap *overlap;
    size_t n_overlap, overlap_room;
    double coverage;
    struct wio_parts parts;                   /* options.limiter: of the row being made */
    struct wio_near near[WIO_NEIGHBOURS_MAX]; /* what the last search for centres found */
    int n_near;
    const uint32_t *group; /* targets whose rows follow each other, neighbours in space */
    int n_group;
    struct wio_nearby quads, centres;
};
/** The rows of these targets come next. */
void wio_scratch_begin(struct wio_scratch *scratch, const uint32_t *group, int n);
/** A box around the centres of the targets that come next. */
struct wio_box wio_scratch_box(const struct wio_scratch *scratch, const struct wio_grid *target);
void wio_scratch_free(struct wio_scratch *scratch);

/** Adds a link to the row. @return 0 or WAITIO_ERR_NOMEM */
int wio_scratch_link(struct wio_scratch *scratch, int64_t index, size_t position, double weight);
/** Puts the row in order of source index, each source once. */
void wio_scratch_order(struct wio_scratch *scratch);

struct wio_gradients;
struct wio_quads;
struct wio_corners;

struct wio_search {
    const struct wio_grid *source, *target;
    const struct wio_weights_options *options;
    int threads;
    struct wio_weights_error *why;
    struct wio_tree *pieces;  /* of unmasked source cells */
    struct wio_tree *centres; /* of unmasked source cells */
    struct wio_points points;
    struct wio_gradients *gradients;
    struct wio_quads *quads;
    struct wio_corners *corners;
};

/** A method: prepares what its rows need (once, before any), and makes rows (from several threads).
 * A row without links: no value by this method. Both return 0 or an error. */
struct wio_method_ops {
    const char *name;
    int (*prepare)(struct wio_search *search);
    int (*row)(const struct wio_search *search, struct wio_scratch *scratch, size_t target);
};

int wio_prepare_centres(struct wio_search *search);
int wio_prepare_pieces(struct wio_search *search);
int wio_prepare_gradients(struct wio_search *search);
int wio_prepare_quads(struct wio_search *search);
int wio_prepare_corners(struct wio_search *search);
void wio_gradients_free(struct wio_gradients *gradients);
void wio_quads_free(struct wio_quads *quads);
void wio_corners_free(struct wio_corners *corners);

int wio_row_nearest(const struct wio_search *s, struct wio_scratch *scratch, size_t target);
int wio_row_distance(const struct wio_search *s, struct wio_scratch *scratch, size_t target);
int wio_row_bilinear(const struct wio_search *s, struct wio_scratch *scratch, size_t target);
int wio_row_barycentric(const struct wio_search *s, struct wio_scratch *scratch, size_t target);
int wio_row_conservative(const struct wio_search *s, struct wio_scratch *scratch, size_t target);
int wio_row_conservative2(const struct wio_search *s, struct wio_scratch *scratch, size_t target);

/** The gradient in a source cell as a sum over its neighbours: of vector x (value there - value
 * here). */
struct wio_slope {
    uint32_t position;
    struct wio_vec vector;
};

struct wio_gradients {
    struct wio_vec *reference; /* of each source cell, near its middle */
    struct wio_vec *middle;    /* barycentre minus reference */
    size_t *first;             /* n + 1 */
    struct wio_slope *slope;   /* neighbours of cell i: first[i] .. first[i + 1] - 1 */
};

#endif /* WIO_WEIGHTS_SEARCH_H */
