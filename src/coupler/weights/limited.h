/* SPDX-License-Identifier: BSD-3-Clause */
/* What a limiter needs of second-order rows: their parts, and the gradients in them. */
#ifndef WIO_WEIGHTS_LIMITED_H
#define WIO_WEIGHTS_LIMITED_H

#include "coupler/weights/search.h"

/** Adds a part to the row that is being made. @return 0 or WAITIO_ERR_NOMEM */
int wio_parts_add(struct wio_parts *parts, size_t position, double area, struct wio_vec shift);
/** Adds the parts of a row. @return 0 or WAITIO_ERR_NOMEM */
int wio_parts_append(struct wio_parts *parts, const struct wio_parts *row);
/** Describes the cells that parts are of, which from then on are numbered as they are described.
 * @param slopes  its parts are there, with the positions of their cells
 * @return 0 or WAITIO_ERR_NOMEM */
int wio_slopes_describe(const struct wio_search *s, struct wio_slopes *slopes, size_t n_parts);
void wio_slopes_free(struct wio_slopes *slopes); /* NULL: nothing */

#endif /* WIO_WEIGHTS_LIMITED_H */
