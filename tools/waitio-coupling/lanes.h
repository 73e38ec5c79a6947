/* SPDX-License-Identifier: BSD-3-Clause */
/* Components as lanes beside each other, which the graph and the timeline share. */
#ifndef WAITIO_COUPLING_LANES_H
#define WAITIO_COUPLING_LANES_H

#include "coupling.h"
#include "svg.h"

enum { LANES_TOP = 40, LANES_LINE = 17 };

/** Distance of two lanes; the middle of the first is half of it from the left edge. */
double lanes_distance(const struct schedule *s);
double lanes_x(const struct schedule *s, size_t member);
/** Title and a box for each component. @return where the lanes begin */
double lanes_head(struct svg *p, const struct schedule *s, const char *title);
/** The lines that go down from the boxes. They are drawn first of all. */
void lanes_lines(struct svg *p, const struct schedule *s, double from, double to);

#endif /* WAITIO_COUPLING_LANES_H */
