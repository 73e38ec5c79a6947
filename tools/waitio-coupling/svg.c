/* SPDX-License-Identifier: BSD-3-Clause */
#include "svg.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "os/os.h"
#include "waitio_errors.h"

enum { EDGE = 10 }; /* left free around all */

static void put(struct svg *s, const char *text)
{
    for (const char *c = text; s->rc == 0 && *c != '\0'; c++) {
        char *place = wio_cpl_push(&s->body, 1);

        if (place == NULL)
            s->rc = WAITIO_ERR_NOMEM;
        else
            *place = *c;
    }
}

static void __attribute__((format(printf, 2, 3))) say(struct svg *s, const char *format, ...)
{
    char text[400];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put(s, text);
}

static void cover(struct svg *s, double x, double y)
{
    s->wide = x + EDGE > s->wide ? x + EDGE : s->wide;
    s->high = y + EDGE > s->high ? y + EDGE : s->high;
}

/* Sans-serif fonts need 0.5 to 0.62 of their size for a letter on average; bytes behind the first
 * of a UTF-8 character need none. */
double svg_width(const char *text, int size)
{
    size_t n = 0;

    for (const char *c = text; *c != '\0'; c++)
        n += ((unsigned char)*c & 0xc0) != 0x80;
    return (double)n * size * 0.6;
}

void svg_line(struct svg *s, double x1, double y1, double x2, double y2, const char *style)
{
    say(s, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2, style);
    cover(s, x1 > x2 ? x1 : x2, y1 > y2 ? y1 : y2);
}

void svg_rect(struct svg *s, double x, double y, double w, double h, const char *style)
{
    say(s, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\" %s/>\n", x, y, w, h,
        style);
    cover(s, x + w, y + h);
}

void svg_arrow(struct svg *s, double from, double to, double y, const char *color, bool dashed)
{
    double back = to > from ? -8 : 8;

    say(s,
        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
        "stroke-width=\"2\"%s/>\n",
        from, y, to + back, y, color, dashed ? " stroke-dasharray=\"5 3\"" : "");
    say(s, "<path d=\"M%.1f %.1fl%.1f -5v10z\" fill=\"%s\"/>\n", to, y, back * 1.25, color);
    say(s, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", from, y, color);
    cover(s, from > to ? from : to, y + 5);
}

static void put_escaped(struct svg *s, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        char one[8] = {*c, '\0'};

        if (*c == '<' || *c == '&' || *c == '>')
            wio_cpl_text(one, sizeof one, "&#%d;", *c);
        else if ((unsigned char)*c < ' ')
            one[0] = '?';
        put(s, one);
    }
}

void svg_text(struct svg *s, double x, double y, int size, const char *anchor, const char *style,
              bool halo, const char *text)
{
    double wide = svg_width(text, size);
    double left = anchor[0] == 's' ? x : anchor[0] == 'm' ? x - wide / 2 : x - wide;

    if (halo)
        say(s,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"#ffffff\" "
            "fill-opacity=\"0.9\"/>\n",
            left - 2, y - size + 1, wide + 4, size + 3);
    say(s, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" text-anchor=\"%s\" %s>", x, y, size,
        anchor, style);
    put_escaped(s, text);
    put(s, "</text>\n");
    cover(s, left + wide, y + 4);
}

const char *svg_color(size_t i)
{
    static const char *const colors[] = {"#0072B2", "#D55E00", "#009E73",
                                         "#CC79A7", "#9A6700", "#56B4E9"};

    return colors[i % (sizeof colors / sizeof colors[0])];
}

static int save(const struct svg *s, const char *file)
{
    struct wio_os_stat there;
    FILE *to;
    bool bad;

    if (wio_os_stat(file, &there) == 0 && !there.is_file)
        return wio_cpl_fail(WAITIO_ERR_SYSTEM, "'%s' is there and is no regular file", file);
    to = fopen(file, "w");
    if (to == NULL)
        return wio_cpl_fail(WAITIO_ERR_SYSTEM, "cannot write '%s': %s", file, strerror(errno));
    bad = fprintf(to,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
                  "font-family=\"sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" "
                  "fill=\"#ffffff\"/>\n",
                  s->wide, s->high) < 0;
    bad |= fwrite(s->body.at, 1, s->body.n, to) != s->body.n;
    bad |= fputs("</svg>\n", to) < 0;
    if (fclose(to) == 0 && !bad)
        return 0;
    (void)wio_cpl_fail(WAITIO_ERR_SYSTEM, "cannot write '%s': %s", file, strerror(errno));
    (void)remove(file);
    return WAITIO_ERR_SYSTEM;
}

int svg_save(struct svg *s, const char *file)
{
    int rc = s->rc == 0 ? save(s, file) : s->rc;

    wio_cpl_list_free(&s->body);
    return rc;
}
