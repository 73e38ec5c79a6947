/* SPDX-License-Identifier: BSD-3-Clause */
/* A small writer of SVG pictures: lanes of components, arrows between them, words that have room.
 */
#ifndef WAITIO_COUPLING_SVG_H
#define WAITIO_COUPLING_SVG_H

#include "coupler/base.h"

struct svg {
    struct wio_cpl_list body; /**< char */
    double wide, high;        /**< grow with what is drawn */
    int rc;                   /**< NOMEM once memory is out */
};

#define SVG_BLACK "#000000"
#define SVG_GREY "#5a5a5a"
#define SVG_PALE "#c8c8c8"
enum { SVG_FONT = 14, SVG_SMALL = 12 };

/** Width of a text in the picture's units, rather too great. */
double svg_width(const char *text, int size);
void svg_line(struct svg *s, double x1, double y1, double x2, double y2, const char *style);
void svg_rect(struct svg *s, double x, double y, double w, double h, const char *style);
/** A horizontal arrow. */
void svg_arrow(struct svg *s, double from, double to, double y, const char *color, bool dashed);
/** @param anchor "start", "middle" or "end" @param style more attributes @param halo white below */
void svg_text(struct svg *s, double x, double y, int size, const char *anchor, const char *style,
              bool halo, const char *text);
/** The i-th colour of all pictures. */
const char *svg_color(size_t i);
/** Write the picture and free it. @return 0; NOMEM; SYSTEM, with the text in wio_cpl_why() */
int svg_save(struct svg *s, const char *file);

#endif /* WAITIO_COUPLING_SVG_H */
