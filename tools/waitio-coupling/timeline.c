/* SPDX-License-Identifier: BSD-3-Clause */
/* The first intervals, from top to bottom in the order in which they happen: steps that stand
 * beside each other run at the same time, and an arrow ends at the steps that wait for it. */
#include <stdlib.h>
#include <string.h>

#include "coupler/flow.h"
#include "lanes.h"
#include "waitio_errors.h"

enum { HIGH = 44, ARROW = 14, MOST_LEVELS = 12 };

struct drawing {
    struct svg svg;
    struct schedule *s;
    double y;
};

static struct span *span_at(const struct member *m, size_t level)
{
    struct span *all = m->spans.at;

    for (size_t i = 0; i < m->spans.n; i++)
        if (all[i].level == level)
            return &all[i];
    return NULL;
}

/* ---- arrows -----------------------------------------------------------------------------------
 */

/* Fields of one message, in lines that are no longer than the way between two lanes. */
struct label {
    char line[160];
    size_t n;
};

static void write_label(struct drawing *d, const struct label *label, double x)
{
    d->y += LANES_LINE - 2;
    svg_text(&d->svg, x, d->y, SVG_SMALL, "start", "fill=\"" SVG_BLACK "\"", true, label->line);
}

static void add_name(struct drawing *d, struct label *label, const char *name, double x)
{
    char longer[sizeof label->line];

    wio_cpl_text(longer, sizeof longer, "%s%s%s", label->line, label->n > 0 ? ", " : "", name);
    if (label->n > 0 && svg_width(longer, SVG_SMALL) > lanes_distance(d->s) - 26) {
        write_label(d, label, x);
        label->n = 0;
        wio_cpl_text(longer, sizeof longer, "%s", name);
    }
    memcpy(label->line, longer, sizeof longer);
    label->n++;
}

/* Is something of a link got at the begin of a span? */
static bool arrives(const struct schedule *s, const struct wio_cpl_link *l, size_t from, size_t to,
                    int64_t begin)
{
    return strcmp(l->comp_put, schedule_member(s, from)->name) == 0 &&
           strcmp(l->comp_get, schedule_member(s, to)->name) == 0 && schedule_gets(s, l, begin);
}

/* What one component sends another for its step: first what it waits for, then what is sent within
 * the steps. */
static void draw_message(struct drawing *d, size_t from, size_t to, int64_t begin, bool at_once)
{
    double x1 = lanes_x(d->s, from), x2 = lanes_x(d->s, to), left = (x1 < x2 ? x1 : x2) + 10;
    struct label label = {"", 0};

    for (size_t i = 0; i < d->s->conf->links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(d->s->conf, i);

        if ((wio_cpl_link_now(l)) == at_once && arrives(d->s, l, from, to, begin))
            add_name(d, &label, l->var_put, left);
    }
    if (label.n == 0)
        return;
    write_label(d, &label, left);
    d->y += 9;
    svg_arrow(&d->svg, x1, x2, d->y, svg_color(from), at_once);
    d->y += 5;
}

static void draw_messages(struct drawing *d, size_t level)
{
    for (size_t to = 0; to < d->s->members.n; to++) {
        const struct span *span = span_at(schedule_member(d->s, to), level);

        for (size_t from = 0; span != NULL && from < d->s->members.n; from++) {
            draw_message(d, from, to, span->begin, false);
            draw_message(d, from, to, span->begin, true);
        }
    }
}

/* ---- steps ------------------------------------------------------------------------------------
 */

static void draw_span(struct drawing *d, size_t i, const struct span *span)
{
    const struct member *m = schedule_member(d->s, i);
    double x = lanes_x(d->s, i), wide = lanes_distance(d->s) - 24;
    int64_t n = (span->end - span->begin) / m->step;
    char style[120], begin[48], end[48], text[120];

    wio_cpl_text(style, sizeof style, "fill=\"#ffffff\" stroke=\"%s\" stroke-width=\"2\"",
                 svg_color(i));
    svg_rect(&d->svg, x - wide / 2, d->y, wide, HIGH, style);
    wio_cpl_text(text, sizeof text, "%s \xe2\x80\x93 %s", time_text(span->begin, begin),
                 time_text(span->end, end));
    svg_text(&d->svg, x, d->y + 18, SVG_FONT, "middle", "fill=\"" SVG_BLACK "\"", false, text);
    wio_cpl_text(text, sizeof text, "%lld step%s", (long long)n, n == 1 ? "" : "s");
    svg_text(&d->svg, x, d->y + 35, SVG_SMALL, "middle", "fill=\"" SVG_GREY "\"", false, text);
}

/* Where to stop: where the steps of a component are no longer all known. */
static size_t last_level(const struct schedule *s)
{
    size_t last = MOST_LEVELS;

    for (size_t i = 0; i < s->members.n; i++) {
        const struct member *m = schedule_member(s, i);
        const struct span *end = (struct span *)m->spans.at + m->spans.n;

        if (m->spans.n > 0 && end[-1].end < s->horizon && end[-1].level < last)
            last = end[-1].level;
    }
    return last;
}

static void draw_levels(struct drawing *d)
{
    size_t last = last_level(d->s);
    bool more = true;

    for (size_t level = 0; more && level <= last; level++) {
        more = false;
        for (size_t i = 0; i < d->s->members.n; i++)
            more |= span_at(schedule_member(d->s, i), level) != NULL;
        if (!more)
            break;
        draw_messages(d, level);
        d->y += ARROW / 2;
        for (size_t i = 0; i < d->s->members.n; i++) {
            const struct span *span = span_at(schedule_member(d->s, i), level);

            if (span != NULL)
                draw_span(d, i, span);
        }
        d->y += HIGH + ARROW / 2;
    }
}

int draw_timeline(struct schedule *s, const char *file)
{
    struct drawing d = {.s = s}, trial = {.s = s};
    int rc = schedule_spans(s);

    if (rc != 0)
        return rc;
    trial.y = lanes_head(&trial.svg, s, "");
    draw_levels(&trial);
    wio_cpl_list_free(&trial.svg.body);
    lanes_lines(&d.svg, s, LANES_TOP, trial.y + 6);
    d.y = lanes_head(&d.svg, s, "Model time, in the order it runs");
    draw_levels(&d);
    return svg_save(&d.svg, file);
}
