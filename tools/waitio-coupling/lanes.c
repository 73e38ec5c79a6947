/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes.h"

#include <string.h>

enum { LEAST = 150, BOX = 30 };

double lanes_distance(const struct schedule *s)
{
    double wide = LEAST;

    for (size_t i = 0; i < s->members.n; i++) {
        double name = svg_width(schedule_member(s, i)->name, SVG_FONT) + 30;

        wide = name > wide ? name : wide;
    }
    for (size_t i = 0; i < s->conf->links.n; i++) {
        double name = svg_width(wio_cpl_conf_link(s->conf, i)->var_put, SVG_SMALL) + 30;

        wide = name > wide ? name : wide;
    }
    return wide;
}

double lanes_x(const struct schedule *s, size_t member)
{
    return lanes_distance(s) * ((double)member + 0.5);
}

static void head(struct svg *p, const struct schedule *s, size_t i)
{
    const struct member *m = schedule_member(s, i);
    double x = lanes_x(s, i), wide = lanes_distance(s) - 16;
    char style[100], step[48], text[100];

    wio_cpl_text(style, sizeof style, "fill=\"%s\"", svg_color(i));
    svg_rect(p, x - wide / 2, LANES_TOP, wide, BOX, style);
    svg_text(p, x, LANES_TOP + 20, SVG_FONT, "middle", "fill=\"#ffffff\" font-weight=\"bold\"",
             false, m->name);
    if (m->step == 0)
        return;
    wio_cpl_text(text, sizeof text, "step %s%s", time_text(m->step, step),
                 m->assumed ? " (assumed)" : "");
    svg_text(p, x, LANES_TOP + BOX + 16, SVG_SMALL, "middle", "fill=\"" SVG_GREY "\"", true, text);
    if (m->part != NULL && m->part->processes > 0) {
        wio_cpl_text(text, sizeof text, "%d process%s", m->part->processes,
                     m->part->processes > 1 ? "es" : "");
        svg_text(p, x, LANES_TOP + BOX + 32, SVG_SMALL, "middle", "fill=\"" SVG_GREY "\"", true,
                 text);
    }
}

double lanes_head(struct svg *p, const struct schedule *s, const char *title)
{
    svg_text(p, 10, 24, SVG_FONT, "start", "fill=\"" SVG_BLACK "\"", false, title);
    for (size_t i = 0; i < s->members.n; i++)
        head(p, s, i);
    return LANES_TOP + BOX + 46;
}

void lanes_lines(struct svg *p, const struct schedule *s, double from, double to)
{
    for (size_t i = 0; i < s->members.n; i++)
        svg_line(p, lanes_x(s, i), from, lanes_x(s, i), to,
                 "stroke=\"" SVG_PALE "\" stroke-width=\"2\"");
}
