/* SPDX-License-Identifier: BSD-3-Clause */
/* What is wrong in a configuration: all of it, for people who mend a file in one go. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/conf.h"
#include "waitio_errors.h"

enum { LONGEST = 64, MOST_FAULTS = 200 };

static int add(struct wio_cpl_conf *conf, int line, int column, bool warning, const char *text)
{
    struct wio_cpl_fault *f;

    if (conf->faults.n >= MOST_FAULTS) /* a file of another kind: more would help nobody */
        return 0;
    f = wio_cpl_push(&conf->faults, sizeof *f);
    if (f == NULL)
        return WAITIO_ERR_NOMEM;
    *f = (struct wio_cpl_fault){wio_cpl_copy(text), line, column, warning};
    if (f->text != NULL)
        return 0;
    conf->faults.n--;
    return WAITIO_ERR_NOMEM;
}

static int place_and_add(struct wio_cpl_conf *conf, int line, int column, bool warning,
                         const char *format, va_list args)
{
    char what[1000], text[1200], where[48] = "";

    (void)vsnprintf(what, sizeof what, format, args);
    if (line > 0)
        wio_cpl_text(where, sizeof where, column > 0 ? ":%d:%d" : ":%d", line, column);
    wio_cpl_text(text, sizeof text, "%.150s%s: %s", conf->file, where, what);
    return add(conf, line, column, warning, text);
}

int wio_cpl_conf_fault(struct wio_cpl_conf *conf, int line, int column, const char *format, ...)
{
    va_list args;
    int rc;

    va_start(args, format);
    rc = place_and_add(conf, line, column, false, format, args);
    va_end(args);
    return rc;
}

int wio_cpl_conf_warn(struct wio_cpl_conf *conf, int line, const char *format, ...)
{
    va_list args;
    int rc;

    va_start(args, format);
    rc = place_and_add(conf, line, 0, true, format, args);
    va_end(args);
    return rc;
}

int wio_cpl_conf_keep(struct wio_cpl_conf *conf, int line)
{
    return add(conf, line, 0, false, wio_cpl_why());
}

int wio_cpl_conf_verdict(const struct wio_cpl_conf *conf)
{
    const struct wio_cpl_fault *all = conf->faults.at, *first = NULL;
    size_t n = 0;

    for (size_t i = 0; i < conf->faults.n; i++)
        if (!all[i].warning) {
            first = n++ == 0 ? &all[i] : first;
        }
    if (n == 0)
        return 0;
    if (n == 1)
        return wio_cpl_fail(WAITIO_ERR_CONFIG, "%s", first->text);
    return wio_cpl_fail(WAITIO_ERR_CONFIG,
                        "%s (%zu more errors in the file: `waitio cpl check` shows all)",
                        first->text, n - 1);
}

/* ---- did you mean -------------------------------------------------------------------------- */

static int low(char c)
{
    return tolower((unsigned char)c);
}

static unsigned char least(unsigned char a, int b)
{
    return b < a ? (unsigned char)b : a;
}

/* Edit distance; two neighbours exchanged count as one edit. Both words fit. */
static size_t distance(const char *a, const char *b)
{
    unsigned char d[LONGEST + 1][LONGEST + 1];
    size_t na = strlen(a), nb = strlen(b);

    for (size_t i = 0; i <= na; i++)
        for (size_t j = 0; j <= nb; j++) {
            d[i][j] = (unsigned char)(i + j);
            if (i == 0 || j == 0)
                continue;
            d[i][j] = least(d[i][j], d[i - 1][j - 1] + (low(a[i - 1]) != low(b[j - 1])));
            d[i][j] = least(d[i][j], d[i - 1][j] + 1);
            d[i][j] = least(d[i][j], d[i][j - 1] + 1);
            if (i > 1 && j > 1 && low(a[i - 1]) == low(b[j - 2]) && low(a[i - 2]) == low(b[j - 1]))
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[na][nb];
}

const char *wio_cpl_near(const char *word, const char *const *words, size_t n, char out[96])
{
    size_t length = strlen(word), best = length / 2 < 3 ? length / 2 + 1 : 4;

    out[0] = '\0';
    if (length == 0 || length > LONGEST)
        return out;
    for (size_t i = 0; i < n; i++) {
        size_t d = strlen(words[i]) > LONGEST ? best : distance(word, words[i]);

        if (d < best) {
            best = d;
            wio_cpl_text(out, 96, " (did you mean '%s'?)", words[i]);
        }
    }
    return out;
}
