/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Weights: by which sums of source values a field goes from one grid to another.
 *
 * A pure room: no messages, no files (files.h has them), no state but what the caller holds. A
 * process passes its own target cells and the source cells near them; the weights of a target cell
 * depend on that cell and the source cells near it alone, to the last bit: neither on the other
 * cells passed, nor on their order, nor on the number of threads. What "near" is stands with each
 * method below.
 *
 * docs/design/weights.md has the definitions.
 */
#ifndef WIO_WEIGHTS_WEIGHTS_H
#define WIO_WEIGHTS_WEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Why a call failed: what, where, what to do. Written on failure only. */
struct wio_weights_error {
    char text[512];
};

enum wio_grid_unit {
    WIO_GRID_DEGREES, /* longitude and latitude */
    WIO_GRID_RADIANS,
    WIO_GRID_PLANE, /* x and y, in any unit; both grids in the same */
};

/** Cells as a program has them: the arrays stay the caller's and are not needed afterwards. */
struct wio_cells {
    enum wio_grid_unit unit;
    size_t n;
    const int64_t *index;   /* global index >= 1 of each cell; NULL: 1 .. n */
    const double *x, *y;    /* centres: longitude (or x), latitude (or y) */
    int corners;            /* corners per cell; 0: none, for methods that need centres only */
    const double *cx, *cy;  /* corners x n: corner k of cell i at [corners i + k], in order around
                               the cell,  either way; repeated corners are dropped */
    const int *mask;        /* 0: cell takes no part; NULL: all do */
    const double *fraction; /* part of the cell that counts, 0 .. 1; NULL: 1 */
    const double
        *area;      /* the model's own area, for options.given_areas; NULL: that of the polygon */
    int64_t nx, ny; /* logically rectangular: global index = 1 + i + nx j; 0: unstructured */
    bool periodic;  /* i = nx - 1 and i = 0 are neighbours */
    /* tripolar grids: the last row is folded in the middle, so that cell i and cell nx - 1 - i of
       it share an edge; nx is even */
    bool fold;
    double scale; /* plane: the largest coordinate of the whole grid; 0: of these cells */
};

/** The largest coordinate of cells in a plane. */
double wio_cells_scale(const struct wio_cells *cells);

struct wio_grid;

/** Makes a grid: converts, cleans and measures the cells. Edges are great circles on the sphere,
 * straight lines in the plane. Concave cells are cut into convex ones; cells that have no area
 * count as masked for methods that need one.
 * @param threads  0: as many as there are processors
 * @param grid     freed by wio_grid_free()
 * @return 0; WAITIO_ERR_ARG: numbers that are no grid (not finite, a cell that crosses itself or is
 *         larger than half the sphere, an index < 1 or twice); WAITIO_ERR_NOMEM; WAITIO_ERR_LIMIT
 * @blocking until done; any thread */
int wio_grid_make(const struct wio_cells *cells, int threads, struct wio_grid **grid,
                  struct wio_weights_error *why);
void wio_grid_free(struct wio_grid *grid); /* NULL: nothing */

size_t wio_grid_size(const struct wio_grid *grid);
int64_t wio_grid_index(const struct wio_grid *grid, size_t cell);
/** Area on the unit sphere, or in squares of the plane's unit. */
double wio_grid_area(const struct wio_grid *grid, size_t cell);
/** 0 for masked cells. */
double wio_grid_fraction(const struct wio_grid *grid, size_t cell);
/** Centre as a unit vector, or (x, y, 0). */
void wio_grid_centre(const struct wio_grid *grid, size_t cell, double xyz[3]);
/** The box around a cell's polygon and centre in space: two cells overlap only where their boxes
 * meet. */
void wio_grid_box(const struct wio_grid *grid, size_t cell, double lo[3], double hi[3]);

/** Which source cells a process needs from others: it describes its target cells by a few boxes;
 * who has source cells chooses those that meet the boxes, with a margin, and sends them. */
struct wio_region {
    double lo[3], hi[3];
};
/** Boxes that together hold all cells of a grid, each of cells that are neighbours.
 * @param most    room in `region`; more boxes fit more closely
 * @param box_of  which box each cell is in; NULL: not wanted
 * @return how many; 0: the grid has no cells; or WAITIO_ERR_NOMEM */
int wio_grid_cover(const struct wio_grid *grid, int most, struct wio_region *region, int *box_of);
/** Chooses the cells whose boxes meet one of the boxes, which become larger by `margin` on each
 * side.
 * @param chosen  room for all cells: becomes true for those chosen, others stay as they are
 * @return 0 or WAITIO_ERR_NOMEM */
int wio_grid_choose(const struct wio_grid *grid, const struct wio_region *region, int n,
                    double margin, bool *chosen);
/** The same for many boxes of different margins, one by one. It uses the grid.
 * @param chooser  freed by wio_chooser_free() @return 0 or WAITIO_ERR_NOMEM */
struct wio_chooser;
int wio_chooser_make(const struct wio_grid *grid, struct wio_chooser **chooser);
int wio_chooser_choose(struct wio_chooser *chooser, const struct wio_region *region, double margin,
                       bool *chosen);
void wio_chooser_free(struct wio_chooser *chooser); /* NULL: nothing */
/** Straight distance of the k-th nearest unmasked source centre from each target's; INFINITY: there
 * are fewer; 0 where the target is masked. Sources that are no further than this are what nearest
 * and distance need. @return 0 or WAITIO_ERR_NOMEM */
int wio_grid_kth_nearest(const struct wio_grid *source, const struct wio_grid *target, int k,
                         double *distance);
/** The longest side of a box of a cell: margins are so many cells wide. */
double wio_grid_reach(const struct wio_grid *grid);

/** What was found while a grid was made. */
struct wio_grid_facts {
    size_t cells, masked, concave, without_area;
    double area; /* of all cells, by fraction */
};
void wio_grid_facts(const struct wio_grid *grid, struct wio_grid_facts *facts);

enum wio_method {
    WIO_METHOD_NONE, /* no value */
    /* The source cell whose centre is nearest; of several the one with the lowest index.
     * Near: that cell. */
    WIO_METHOD_NEAREST,
    /* The `neighbours` nearest, weights (straight distance)^-power. Near: those cells. */
    WIO_METHOD_DISTANCE,
    /* Bilinear in the four centres around, for logically rectangular source grids; where one of
     * them is masked there is no value. Near: these four. */
    WIO_METHOD_BILINEAR,
    /* Linear in a triangle of centres of cells around a common corner. Near: all cells around all
     * corners of the cells around. */
    WIO_METHOD_BARYCENTRIC,
    /* Conservative: by the areas that cells share. Near: cells that overlap the target cell. */
    WIO_METHOD_CONSERVATIVE,
    /* The same with a gradient in each source cell. Near: also all that touch those cells. */
    WIO_METHOD_CONSERVATIVE2,
    /* options.fixed, whatever the source */
    WIO_METHOD_FIXED,
    WIO_METHODS
};

/** "nearest", "distance", ...; NULL outside. */
const char *wio_method_name(enum wio_method method);
/** @return the method of that name, or WIO_METHOD_NONE */
enum wio_method wio_method_of(const char *name);

enum wio_norm {
    /* Divided by the target's area (by its own fraction): the integral over both grids is the same.
     */
    WIO_NORM_DESTAREA,
    /* Divided by what is covered: a constant stays a constant, also where cells are covered in
       part. */
    WIO_NORM_FRACAREA,
};

enum wio_limiter {
    WIO_LIMITER_NONE,
    /* Second order: gradients are shortened by the field's values (Barth and Jespersen 1989), so
     * that there are no new extremes. Then rows are no plain sums of the sources: slopes below. */
    WIO_LIMITER_BARTH_JESPERSEN,
};

enum { WIO_STACK_MAX = 8, WIO_NEIGHBOURS_MAX = 64 };

struct wio_weights_options {
    enum wio_method stack[WIO_STACK_MAX]; /* tried in this order for each target cell */
    int n_stack;
    enum wio_norm norm;
    bool given_areas;    /* conservative: in terms of the models' own areas */
    double min_coverage; /* conservative: less of the target covered (0 .. 1): no value by it */
    int neighbours;      /* 0: 4 */
    double power;        /* 0: 1 */
    double max_distance; /* of nearest and distance: radians or the plane's unit; 0: any */
    double fixed;
    enum wio_limiter limiter; /* of WIO_METHOD_CONSERVATIVE2 */
    int threads;              /* 0: as many as there are processors */
};

/** Do these methods look at corners? Where none does, grids may be made of centres alone. */
bool wio_weights_need_corners(const struct wio_weights_options *options);

/** A source cell's part in a row: area x its value + shift . its gradient. */
struct wio_part {
    uint32_t cell; /* number in struct wio_slopes */
    double area, shift[3];
};

/** For a limiter: what rows by WIO_METHOD_CONSERVATIVE2 are made of. The gradient of a cell is the
 * sum of slope x (value of a neighbour - own value). */
struct wio_slopes {
    size_t *part_first; /* n_targets + 1: parts of each row, in ascending order of the sources */
    struct wio_part *part;
    size_t n_cells;
    uint32_t *cell;     /* position of each cell among the sources passed */
    size_t *near_first; /* n_cells + 1 */
    uint32_t *near;     /* positions of its neighbours */
    double (*slope)[3];
    size_t *corner_first; /* n_cells + 1 */
    double (*corner)[3];  /* seen from its middle: a gradient's product with it is the change there,
                             and nowhere in the cell is a greater one than at some corner */
};

/** Weights as rows: links row[t] .. row[t + 1] - 1 belong to target cell t, in ascending order of
 * the source's global index, each source at most once. */
struct wio_weights {
    size_t n_targets, n_links;
    size_t *row;        /* n_targets + 1 */
    uint32_t *position; /* of the source cell among those passed */
    int64_t *source;    /* its global index */
    double *weight;
    uint8_t *method;  /* n_targets: enum wio_method that gave the row; NONE also where masked */
    double *coverage; /* n_targets: conservative: part of the target cell that is covered; else 1 or
                         0 */
    double fixed;     /* value of rows with WIO_METHOD_FIXED, which have no link */
    struct wio_slopes *slopes; /* options.limiter; else NULL */
};

/** Makes the weights from source to target.
 * @param weights  its arrays are freed by wio_weights_free()
 * @return 0; WAITIO_ERR_ARG: a method that these grids do not allow, with the reason;
 *         WAITIO_ERR_NOMEM; WAITIO_ERR_LIMIT
 * @blocking until done; any thread */
int wio_weights_make(const struct wio_grid *source, const struct wio_grid *target,
                     const struct wio_weights_options *options, struct wio_weights *weights,
                     struct wio_weights_error *why);
void wio_weights_free(struct wio_weights *weights);

/** target[t] = sum of weight x source[position]; rows without value get `fill`, fixed ones theirs.
 */
void wio_weights_apply(const struct wio_weights *weights, const double *source, double fill,
                       double *target);

/** How good weights are; for both grids whole. */
struct wio_weights_report {
    size_t by_method[WIO_METHODS]; /* unmasked target cells; NONE: those without value */
    size_t masked;                 /* target cells */
    size_t unused;                 /* unmasked source cells that no target uses */
    double row_sum_min, row_sum_max, weight_min, weight_max;
    double unity; /* largest |row sum - 1| of rows wholly covered */
    /* Conservation, by the areas that source cells give to targets; of cells that give away all
     * of theirs (to 1e-6): the largest relative error of one, and that of the integral of 1 and
     * of a spherical harmonic of degree 2. */
    double column, constant, harmonic;
    /* |interpolated - true| at the targets' centres for that harmonic, 2 + cos^2(lat) cos(2 lon).
     */
    double mean_error, max_error;
};

/** @return 0 or WAITIO_ERR_NOMEM */
int wio_weights_report(const struct wio_grid *source, const struct wio_grid *target,
                       const struct wio_weights *weights, struct wio_weights_report *report);

/** How far two sets of weights between the same grids are apart. */
struct wio_weights_difference {
    size_t only_first, only_second; /* links that the other does not have */
    size_t beyond;          /* source, target pairs whose weights differ by more than 1e-10 */
    double largest;         /* a link that is not there has weight 0 */
    int64_t source, target; /* where that is; 0: nowhere */
};

/** @return 0, or WAITIO_ERR_ARG: the numbers of targets differ */
int wio_weights_compare(const struct wio_weights *first, const struct wio_weights *second,
                        struct wio_weights_difference *difference);

#endif /* WIO_WEIGHTS_WEIGHTS_H */
