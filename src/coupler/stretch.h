/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file stretch.h
 * Rows of a table that are alike, so that their sums need less to be read and no branches: pure.
 *
 * Where grids lie alike, row after row takes the next receive point and the next source points. Of
 * such a stretch only the first row's places are read. Nothing of this changes a sum.
 */
#ifndef WIO_CPL_STRETCH_H
#define WIO_CPL_STRETCH_H

#include "coupler/remap.h"

/** Rows side by side. Short enough that their entries stay in the cache for all layers. */
struct wio_cpl_stretch {
    size_t row, rows;
    uint32_t each; /**< entries of a row, where all have as many; else 0 */
    bool in_place; /**< receive points follow each other */
    bool ones;     /**< all coefficients are 1 */
    bool uniform;  /**< every row has the coefficients of the first */
    bool shifted;  /**< in place, and source points of each row follow those of the row before */
};

/** Divide the rows of @p remap. @return 0; NOMEM */
int wio_cpl_stretches_make(struct wio_cpl_remap *remap);
/** Sums of a stretch. @param to another array than @p from */
void wio_cpl_stretch_sum(const struct wio_cpl_remap *remap, const struct wio_cpl_stretch *stretch,
                         const double *from, double *to);

#endif
