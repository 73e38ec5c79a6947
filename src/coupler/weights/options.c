/* SPDX-License-Identifier: BSD-3-Clause */
/* Methods and settings from text. */
#include "coupler/weights/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/weights/grid.h"
#include "waitio_errors.h"

enum { WORD = 64 };

/** A number within bounds. @return false: it is none */
static bool read_number(const char *text, double least, double most, double *value)
{
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && errno == 0 && *value >= least && *value <= most;
}

static int add_method(struct wio_weights_options *o, const char *word,
                      struct wio_weights_error *why)
{
    enum wio_method method = wio_method_of(word);
    if (o->n_stack == WIO_STACK_MAX)
        return wio_weights_fail(why, WAITIO_ERR_ARG, "more than %d methods", WIO_STACK_MAX);
    if (method == WIO_METHOD_FIXED)
        return wio_weights_fail(why, WAITIO_ERR_ARG, "'fixed' needs its value: fixed:271.35");
    if (strncmp(word, "fixed:", 6) == 0 && read_number(word + 6, -1e300, 1e300, &o->fixed))
        method = WIO_METHOD_FIXED;
    if (method == WIO_METHOD_NONE)
        return wio_weights_fail(why, WAITIO_ERR_ARG,
                                "'%s' is no method; there are nearest, distance, bilinear, "
                                "barycentric, conservative, conservative2 and fixed:VALUE",
                                word);
    o->stack[o->n_stack++] = method;
    return 0;
}

int wio_weights_read_methods(const char *list, struct wio_weights_options *o,
                             struct wio_weights_error *why)
{
    const char *at = list;
    char word[WORD];
    int error = 0;
    o->n_stack = 0;
    do {
        size_t n = strcspn(at, ",");
        if (n == 0 || n >= sizeof word)
            return wio_weights_fail(why, WAITIO_ERR_ARG, "'%.100s' is no list of methods", list);
        snprintf(word, sizeof word, "%.*s", (int)n, at);
        error = add_method(o, word, why);
        at += n;
    } while (error == 0 && *at++ == ',');
    return error;
}

/** Settings that are numbers. @return false: no such setting, or no such number */
static bool set_number(struct wio_weights_options *o, const char *name, const char *value)
{
    double count = 0;
    if (strcmp(name, "min-coverage") == 0)
        return read_number(value, 0, 1, &o->min_coverage);
    if (strcmp(name, "power") == 0)
        return read_number(value, 1e-3, 100, &o->power);
    if (strcmp(name, "max-distance") == 0)
        return read_number(value, 0, 1e30, &o->max_distance);
    if (strcmp(name, "neighbours") == 0 && read_number(value, 1, WIO_NEIGHBOURS_MAX, &count))
        o->neighbours = (int)count;
    else if (strcmp(name, "threads") == 0 && read_number(value, 1, 256, &count))
        o->threads = (int)count;
    return count > 0;
}

int wio_weights_read_option(const char *name, const char *value, struct wio_weights_options *o,
                            struct wio_weights_error *why)
{
    if (strcmp(name, "norm") == 0 && strcmp(value, "fracarea") == 0)
        o->norm = WIO_NORM_FRACAREA;
    else if (strcmp(name, "norm") == 0 && strcmp(value, "destarea") == 0)
        o->norm = WIO_NORM_DESTAREA;
    else if (strcmp(name, "given-areas") == 0 && strcmp(value, "yes") == 0)
        o->given_areas = true;
    else if (strcmp(name, "given-areas") == 0 && strcmp(value, "no") == 0)
        o->given_areas = false;
    else if (strcmp(name, "limiter") == 0 && strcmp(value, "none") == 0)
        o->limiter = WIO_LIMITER_NONE;
    else if (strcmp(name, "limiter") == 0 && strcmp(value, "barth-jespersen") == 0)
        o->limiter = WIO_LIMITER_BARTH_JESPERSEN;
    else if (!set_number(o, name, value))
        return wio_weights_fail(why, WAITIO_ERR_ARG,
                                "%s=%s is no setting; there are norm=fracarea or destarea, "
                                "given-areas=yes or no, min-coverage=0..1, neighbours=1..%d, "
                                "power=0.001..100, max-distance=DEGREES, threads=1..256, "
                                "limiter=barth-jespersen or none",
                                name, value, WIO_NEIGHBOURS_MAX);
    return 0;
}

static int read_setting(char *word, struct wio_weights_options *o, struct wio_weights_error *why)
{
    char *value = strchr(word, '=');
    if (value == NULL)
        return wio_weights_fail(why, WAITIO_ERR_ARG,
                                "'%s' is no setting: methods come first, without blanks, then "
                                "settings as norm=destarea",
                                word);
    *value++ = '\0';
    return wio_weights_read_option(word, value, o, why);
}

/** What is limited are the gradients of one method. */
static int check_limiter(const struct wio_weights_options *o, struct wio_weights_error *why)
{
    bool second = o->limiter == WIO_LIMITER_NONE;
    for (int k = 0; k < o->n_stack; k++)
        second |= o->stack[k] == WIO_METHOD_CONSERVATIVE2;
    return second ? 0
                  : wio_weights_fail(why, WAITIO_ERR_ARG,
                                     "limiter is for conservative2, which is none of the methods");
}

int wio_weights_read_text(const char *text, struct wio_weights_options *o,
                          struct wio_weights_error *why)
{
    char word[8 * WORD];
    int error = 0, words = 0;
    *o = (struct wio_weights_options){.norm = WIO_NORM_FRACAREA, .threads = 1};
    for (const char *at = text + strspn(text, " "); *at != '\0' && error == 0;
         at += strspn(at, " "), words++) {
        size_t n = strcspn(at, " ");
        if (n >= sizeof word)
            return wio_weights_fail(why, WAITIO_ERR_ARG, "'%.100s ...' is too long", at);
        snprintf(word, sizeof word, "%.*s", (int)n, at);
        error = words == 0 ? wio_weights_read_methods(word, o, why) : read_setting(word, o, why);
        at += n;
    }
    if (error == 0 && words == 0)
        return wio_weights_fail(why, WAITIO_ERR_ARG, "no method is named");
    return error == 0 ? check_limiter(o, why) : error;
}

void wio_weights_settle(struct wio_weights_options *o, bool plane)
{
    if (!plane)
        o->max_distance *= 3.14159265358979323846 / 180;
}
