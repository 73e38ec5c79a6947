/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file remap.h
 * Sums over table entries: pure. The order of a sum is that of the global indices of its source
 * points, so it does not depend on how grids are spread over processes, nor on the order of the
 * table; results are the same to the last bit.
 */
#ifndef WIO_CPL_REMAP_H
#define WIO_CPL_REMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coupler/conf.h"

/** Slot of an entry whose source point is masked. */
enum { WIO_CPL_NO_SLOT = -1 };

/** One entry, on the process that owns its receive point. */
struct wio_cpl_entry {
    int64_t to;     /**< position of the receive point in this process's arrays */
    int64_t source; /**< global index of the source point */
    int64_t slot;   /**< which of this process's distinct source points; or WIO_CPL_NO_SLOT */
    double coef, cos, sin;
};

struct wio_cpl_stretch;

/** The entries of this process, by receive point. */
struct wio_cpl_remap {
    size_t rows;                       /**< receive points with entries */
    int64_t *to;                       /**< their positions */
    size_t *first;                     /**< rows + 1: where their entries begin */
    uint32_t *slot;                    /**< by entry */
    double *coef;                      /**< by entry */
    double *cos, *sin;                 /**< by entry; NULL: the table has no vectors */
    size_t slots;                      /**< distinct source points */
    struct wio_cpl_stretch *stretches; /**< all rows, in parts that are alike (stretch.h) */
    size_t n_stretches;
    size_t n_fixed; /**< receive points that get a value of their own */
    int64_t *fixed; /**< their positions */
    double *value;  /**< and values */
    /** By row: what scales the sum of the sources that are not masked as if all were there, 0 where
     * nothing does; 1 in a row without masked sources. NULL: there is no such source. */
    double *scale;
};

/** Put entries into the order of their sums. @return 0; NOMEM */
int wio_cpl_remap_sort(struct wio_cpl_entry *entries, size_t n);
/** Make it from sorted entries. Rows all of whose sources are masked are none. @param slots fewer
 * than 2^32 @param vectors keep cos and sin @return 0; NOMEM */
int wio_cpl_remap_make(struct wio_cpl_remap *remap, const struct wio_cpl_entry *entries, size_t n,
                       size_t slots, int vectors);
void wio_cpl_remap_free(struct wio_cpl_remap *remap);
/** Give receive points a value of their own, whatever comes. @param fixed positions: @p to, @p coef
 * @return 0; NOMEM */
int wio_cpl_remap_fix(struct wio_cpl_remap *remap, const struct wio_cpl_entry *fixed, size_t n);
/** Begin a layer: @p empty, or the value of its own, for all points. */
void wio_cpl_remap_fill(const struct wio_cpl_remap *remap, double *to, size_t points, double empty);

/** What to make of rows some of whose sources are masked, and the value of points that get none. */
struct wio_cpl_gaps {
    enum wio_cpl_masked masked;
    double empty, fill; /**< in points without entries; in rows that cannot be made */
};
/** The layers of a variable: @p to gets gaps->empty where no entry is. @param from the layers of
 * the source points, @p stride numbers apart @param to not in @p from @param points of a layer of
 * @p to
 */
void wio_cpl_remap_layers(const struct wio_cpl_remap *remap, const double *from, size_t stride,
                          double *to, size_t points, size_t layers,
                          const struct wio_cpl_gaps *gaps);
/** The two components of a vector, turned: to_u = sum(cos u - sin v), to_v = sum(sin u + cos v). */
void wio_cpl_remap_turn(const struct wio_cpl_remap *remap, const double *u, const double *v,
                        double *to_u, double *to_v, size_t points, const struct wio_cpl_gaps *gaps);
/** One of the two, to the same bits. */
void wio_cpl_remap_component(const struct wio_cpl_remap *remap, bool second, const double *u,
                             const double *v, double *to, size_t points,
                             const struct wio_cpl_gaps *gaps);

#endif
