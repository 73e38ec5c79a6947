/* SPDX-License-Identifier: BSD-3-Clause */
/* What weights are asked for, as a text: the same words in configurations, calls and the tool. */
#ifndef WIO_WEIGHTS_OPTIONS_H
#define WIO_WEIGHTS_OPTIONS_H

#include "coupler/weights/weights.h"

/** Methods separated by commas, as "conservative,nearest,fixed:271.35", into the stack.
 * @return 0; WAITIO_ERR_ARG naming the word */
int wio_weights_read_methods(const char *list, struct wio_weights_options *options,
                             struct wio_weights_error *why);

/** One setting: norm (fracarea, destarea), min-coverage, neighbours, power, max-distance (degrees,
 * or the plane's unit), threads, given-areas (yes, no),
 * limiter (barth-jespersen, none; what files of weights cannot hold).
 * @return 0; WAITIO_ERR_ARG naming the word */
int wio_weights_read_option(const char *name, const char *value,
                            struct wio_weights_options *options, struct wio_weights_error *why);

/** Methods, then settings, separated by blanks: "conservative,nearest norm=destarea".
 * @param[out] options  threads: 1 */
int wio_weights_read_text(const char *text, struct wio_weights_options *options,
                          struct wio_weights_error *why);

/** max_distance from degrees to what wio_weights_make() takes. */
void wio_weights_settle(struct wio_weights_options *options, bool plane);

#endif /* WIO_WEIGHTS_OPTIONS_H */
