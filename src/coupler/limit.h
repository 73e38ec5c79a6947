/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file limit.h
 * Second-order conservative rows whose gradients are shortened where the field would get new
 * extremes: pure. The gradient of a source cell becomes three more numbers beside the sources; so a
 * row is a plain sum again, in an order that does not depend on the partition.
 */
#ifndef WIO_CPL_LIMIT_H
#define WIO_CPL_LIMIT_H

#include "coupler/remap.h"
#include "coupler/weights/weights.h"

struct wio_cpl_limit {
    struct wio_cpl_remap rows; /**< slots from @p slots on are gradients: x, y, z of each cell */
    size_t slots;              /**< of the table */
    size_t n_cells;
    uint32_t *cell; /**< slot of each cell */
    size_t *near_first;
    uint32_t *near; /**< slots of its neighbours */
    double (*slope)[3];
    size_t *corner_first;
    double (*corner)[3];
    double *values; /**< of one layer: slots + 3 n_cells */
};

/**
 * @param table its name, for errors @param weights with slopes; row t is of receive point t @param
 * open of receive points, 0: masked; or NULL @param entries those of the table, with their slots
 * @return 0; NOMEM; ARG: a source is masked by the grid's mask, and so has no slot
 */
int wio_cpl_limit_make(const char *table, const struct wio_weights *weights, const char *open,
                       const struct wio_cpl_entry *entries, size_t n, size_t slots,
                       struct wio_cpl_limit **limit);
void wio_cpl_limit_free(struct wio_cpl_limit *limit);
/** As wio_cpl_remap_layers(). @param table whose points have values of their own */
void wio_cpl_limit_layers(const struct wio_cpl_limit *limit, const struct wio_cpl_remap *table,
                          const double *from, size_t stride, double *to, size_t points,
                          size_t layers, const struct wio_cpl_gaps *gaps);

#endif
