/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WAITIO_WEIGHTS_PLOT_H
#define WAITIO_WEIGHTS_PLOT_H

#include "coupler/weights/weights.h"

/** Draws the targets of a weight file as SVG. @return 0, or an error with the reason */
int plot(const char *file, const char *out, struct wio_weights_error *why);

#endif /* WAITIO_WEIGHTS_PLOT_H */
