/* SPDX-License-Identifier: BSD-3-Clause */
/* Which component gives what to which: an arrow for each pair of grids, its fields below it. Each
 * has lines of its own, so words have room however many there are. */
#include <string.h>

#include "lanes.h"

struct drawing {
    struct svg svg;
    const struct schedule *s;
    double y;
};

static bool one_way(const struct wio_cpl_link *a, const struct wio_cpl_link *b)
{
    return strcmp(a->comp_put, b->comp_put) == 0 && strcmp(a->comp_get, b->comp_get) == 0 &&
           strcmp(a->grid_put, b->grid_put) == 0 && strcmp(a->grid_get, b->grid_get) == 0;
}

static void field_words(const struct wio_cpl_link *l, char *name, char *how, size_t room)
{
    char interval[48];
    bool same = strcmp(l->var_put, l->var_get) == 0;

    wio_cpl_text(name, room, "%s%s%s", l->var_put, same ? "" : " \xe2\x86\x92 ",
                 same ? "" : l->var_get);
    wio_cpl_text(how, room, "%s%s, %s",
                 wio_cpl_link_now(l) && l->interval == 0 ? "each put" : "every ",
                 wio_cpl_link_now(l) && l->interval == 0 ? "" : time_text(l->interval, interval),
                 reduction_text(l));
    if (strcmp(lag_text(l), "parallel") != 0)
        wio_cpl_text(how + strlen(how), room - strlen(how), ", %s", lag_text(l));
    if (l->layers > 1)
        wio_cpl_text(how + strlen(how), room - strlen(how), ", %d layers", l->layers);
}

/* A field: its name, and how it goes in the line below. */
static void draw_field(struct drawing *d, const struct wio_cpl_link *l, double x)
{
    char name[300], how[300];

    field_words(l, name, how, sizeof name);
    d->y += LANES_LINE + 3;
    svg_text(&d->svg, x, d->y, SVG_FONT, "start", "fill=\"" SVG_BLACK "\"", true, name);
    d->y += LANES_LINE - 1;
    svg_text(&d->svg, x, d->y, SVG_SMALL, "start", "fill=\"" SVG_GREY "\"", true, how);
}

static void draw_way(struct drawing *d, size_t at)
{
    const struct wio_cpl_conf *conf = d->s->conf;
    const struct wio_cpl_link *first = wio_cpl_conf_link(conf, at);
    size_t from = schedule_find(d->s, first->comp_put), to = schedule_find(d->s, first->comp_get);
    double x1 = lanes_x(d->s, from), x2 = lanes_x(d->s, to), left = (x1 < x2 ? x1 : x2) + 10;
    char grids[300];

    wio_cpl_text(grids, sizeof grids, "%s \xe2\x86\x92 %s", first->grid_put, first->grid_get);
    d->y += LANES_LINE + 6;
    svg_text(&d->svg, left, d->y, SVG_SMALL, "start", "fill=\"" SVG_GREY "\" font-style=\"italic\"",
             true, grids);
    d->y += 10;
    svg_arrow(&d->svg, x1, x2, d->y, svg_color(from), false);
    for (size_t i = at; i < conf->links.n; i++)
        if (one_way(first, wio_cpl_conf_link(conf, i)))
            draw_field(d, wio_cpl_conf_link(conf, i), left);
    d->y += 12;
}

static void draw_all(struct drawing *d)
{
    const struct wio_cpl_conf *conf = d->s->conf;

    for (size_t i = 0; i < conf->links.n; i++) {
        bool drawn = false;

        for (size_t k = 0; k < i; k++)
            drawn |= one_way(wio_cpl_conf_link(conf, k), wio_cpl_conf_link(conf, i));
        if (!drawn)
            draw_way(d, i);
    }
}

int draw_graph(const struct schedule *s, const char *file)
{
    struct drawing d = {.s = s}, trial = {.s = s};
    double top = lanes_head(&trial.svg, s, "");

    trial.y = top; /* how long do the lanes get? */
    draw_all(&trial);
    wio_cpl_list_free(&trial.svg.body);
    lanes_lines(&d.svg, s, LANES_TOP, trial.y + 6);
    d.y = lanes_head(&d.svg, s, "What goes where");
    draw_all(&d);
    return svg_save(&d.svg, file);
}
