/* SPDX-License-Identifier: BSD-3-Clause */
/* A map of the targets of a weight file. */
#ifndef WIO_WEIGHTS_PICTURE_H
#define WIO_WEIGHTS_PICTURE_H

#include <stdio.h>

#include "coupler/weights/weights.h"

struct wio_picture {
    size_t n;
    const double *lon, *lat; /* degrees */
    const int *mask;
    const uint8_t *method; /* enum wio_method of each target */
    const char *title;
};

/** Writes a map as SVG: every place has the colour of the nearest target, by the method that gave
 * it its value; targets without value stand out, places far from all targets are white.
 * @return 0; WAITIO_ERR_ARG: places that are none; WAITIO_ERR_NOMEM; WAITIO_ERR_SYSTEM: not written
 */
int wio_picture_write(FILE *to, const struct wio_picture *picture, struct wio_weights_error *why);

#endif /* WIO_WEIGHTS_PICTURE_H */
