/* SPDX-License-Identifier: BSD-3-Clause */
/* A configuration as YAML, as conf_yaml.c reads it. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "coupler/calendar.h"
#include "coupler/conf.h"
#include "waitio_errors.h"

struct writer {
    struct wio_cpl_list *text;
    int rc;
};

static void put(struct writer *w, const char *text)
{
    for (const char *c = text; w->rc == 0 && *c != '\0'; c++) {
        char *place = wio_cpl_push(w->text, 1);

        if (place == NULL)
            w->rc = WAITIO_ERR_NOMEM;
        else
            *place = *c;
    }
}

static void __attribute__((format(printf, 2, 3))) say(struct writer *w, const char *format, ...)
{
    char text[200]; /* numbers and fixed words only */
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put(w, text);
}

/* Words that YAML takes for something else. */
static bool is_special(const char *name)
{
    static const char *const words[] = {"null", "true", "false", "yes", "no",
                                        "on",   "off",  "y",     "n"};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcasecmp(name, words[i]) == 0)
            return true;
    return false;
}

static bool is_plain(const char *name)
{
    if (!isalpha((unsigned char)name[0]) || is_special(name))
        return false;
    for (const char *c = name; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && *c != '_' && *c != '-' && *c != '.')
            return false;
    return true;
}

static void put_name(struct writer *w, const char *name)
{
    if (is_plain(name)) {
        put(w, name);
        return;
    }
    put(w, "\"");
    for (const char *c = name; *c != '\0'; c++) {
        char one[3] = {*c, '\0', '\0'};

        if (*c == '"' || *c == '\\') {
            one[0] = '\\';
            one[1] = *c;
        }
        put(w, one);
    }
    put(w, "\"");
}

static void put_key(struct writer *w, const char *key, const char *name)
{
    put(w, key);
    put_name(w, name);
}

static void put_time(struct writer *w, const char *key, int64_t seconds)
{
    static const struct {
        const char *unit;
        int64_t seconds;
    } units[] = {{"d", 86400}, {"h", 3600}, {"min", 60}};

    put(w, key);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (seconds % units[i].seconds == 0) {
            say(w, "%lld%s", (long long)(seconds / units[i].seconds), units[i].unit);
            return;
        }
    say(w, "%lld", (long long)seconds);
}

/* ---- components ----------------------------------------------------------------------------- */

static void put_names(struct writer *w, const char *key, const struct wio_cpl_list *names)
{
    say(w, "    %s: [", key);
    for (size_t i = 0; i < names->n; i++)
        put_key(w, i > 0 ? ", " : "", ((char **)names->at)[i]);
    put(w, "]\n");
}

static void put_part(struct writer *w, const struct wio_cpl_part *p)
{
    put_key(w, "  ", p->name);
    put(w, ":\n");
    if (p->step > 0) {
        put_time(w, "    step: ", p->step);
        put(w, "\n");
    }
    if (p->processes > 0)
        say(w, "    processes: %d\n", p->processes);
    if (p->may_fail)
        put(w, "    on_failure: go on\n");
    if (p->rejoin)
        put(w, "    rejoin: yes\n");
    if (p->has_grids)
        put_names(w, "grids", &p->grids);
    if (p->has_puts)
        put_names(w, "puts", &p->puts);
    if (p->has_gets)
        put_names(w, "gets", &p->gets);
}

static void put_date(struct writer *w, const char *key, const int t[6])
{
    say(w, "  %s: %04d-%02d-%02dT%02d:%02d:%02d\n", key, t[0], t[1], t[2], t[3], t[4], t[5]);
}

/* The end of the run: a date, if there is one with four digits of the year. */
static void put_stop(struct writer *w, const struct wio_cpl_conf *conf)
{
    int t[6];

    memcpy(t, conf->start, sizeof t);
    if (conf->length == 0)
        return;
    if (conf->has_start && wio_cpl_calendar_add(t, conf->length) == 0 && t[0] <= 9999) {
        put_date(w, "stop", t);
        return;
    }
    put_time(w, "  length: ", conf->length);
    put(w, "\n");
}

static void put_restart(struct writer *w, const struct wio_cpl_restart_conf *c)
{
    if (c->file == NULL)
        return;
    put_key(w, "restart:\n  file: ", c->file);
    put(w, "\n");
    if (c->interval > 0) {
        put_time(w, "  interval: ", c->interval);
        put(w, "\n");
    }
    if (c->read)
        put(w, "  read: yes\n");
}

static void put_head(struct writer *w, const struct wio_cpl_conf *conf)
{
    static const char *const levels[] = {"silent", "whisper", "loud"};

    if (conf->log != WIO_CPL_SILENT)
        say(w, "log: %s\n", levels[conf->log]);
    if (conf->debug)
        put(w, "debug: yes\n");
    if (conf->files != WIO_CPL_FILES_ASKED)
        say(w, "files: %s\n", conf->files == WIO_CPL_FILES_ALL ? "all" : "none");
    if (conf->report != NULL) {
        put_key(w, "report: ", conf->report);
        put(w, "\n");
    }
    if (conf->stop_step != 0)
        say(w, "stop_step: %d\n", conf->stop_step);
    if (conf->has_start || conf->length > 0)
        put(w, "calendar:\n");
    if (conf->has_start)
        put_date(w, "start", conf->start);
    put_stop(w, conf);
    put_restart(w, &conf->restart);
    if (conf->parts.n > 0)
        put(w, "components:\n");
    for (size_t i = 0; i < conf->parts.n; i++)
        put_part(w, wio_cpl_conf_part(conf, i));
}

/* ---- couplings ------------------------------------------------------------------------------ */

static bool one_coupling(const struct wio_cpl_link *a, const struct wio_cpl_link *b)
{
    return strcmp(a->comp_put, b->comp_put) == 0 && strcmp(a->comp_get, b->comp_get) == 0 &&
           strcmp(a->grid_put, b->grid_put) == 0 && strcmp(a->grid_get, b->grid_get) == 0 &&
           a->mapping_tag == b->mapping_tag && wio_cpl_same(a->weight_file, b->weight_file) &&
           wio_cpl_same(a->weight_method, b->weight_method);
}

static void put_coupling(struct writer *w, const struct wio_cpl_link *l)
{
    put_key(w, "  - from: ", l->comp_put);
    put_key(w, "\n    to: ", l->comp_get);
    put_key(w, "\n    from_grid: ", l->grid_put);
    put_key(w, "\n    to_grid: ", l->grid_get);
    if (l->mapping_tag != 0)
        say(w, "\n    table: %d", l->mapping_tag);
    if (l->weight_file != NULL)
        put_key(w, "\n    weight_file: ", l->weight_file);
    if (l->weight_method != NULL)
        put_key(w, "\n    weight_method: ", l->weight_method);
    put(w, "\n    fields:\n");
}

static void put_statistic(struct writer *w, const struct wio_cpl_statistic *s)
{
    static const char *const names[] = {"", "mean", "spread", "min", "max"};

    if (s->kind == WIO_CPL_STAT_QUANTILE)
        say(w, ", ensemble: q%.17g", s->quantile);
    else if (s->kind != WIO_CPL_STAT_NONE)
        say(w, ", ensemble: %s", names[s->kind]);
}

/* What is not the default. */
static void put_more(struct writer *w, const struct wio_cpl_link *l)
{
    static const char *const reductions[] = {"snapshot", "average", "accumulate", "min", "max"},
                             *const types[] = {"real8", "real4", "int"},
                             *const masked[] = {"scale", "fill", "part"},
                             *const sides[] = {"auto", "sender", "receiver"};

    if (l->reduce != WIO_CPL_LAST)
        say(w, ", reduction: %s", reductions[l->reduce]);
    if (l->type != WIO_CPL_REAL8)
        say(w, ", type: %s", types[l->type]);
    if (l->masked != WIO_CPL_MASKED_SCALE)
        say(w, ", masked: %s", masked[l->masked]);
    if (l->side != WIO_CPL_SIDE_AUTO)
        say(w, ", remap: %s", sides[l->side]);
    if (l->has_fill)
        say(w, ", fill: %.17g", l->fill);
    if (l->bundle != NULL)
        put_key(w, ", bundle: ", l->bundle);
    if (l->vector_with != NULL)
        put_key(w, ", vector_with: ", l->vector_with);
    if (l->layers != 1)
        say(w, ", layers: %d", l->layers);
    put_statistic(w, &l->statistic);
}

static void put_lag(struct writer *w, const struct wio_cpl_link *l)
{
    static const char *const lags[] = {"parallel", "now", "serial"};

    if (l->lag >= -1 && l->lag <= 1)
        say(w, ", lag: %s", lags[l->lag + 1]);
    else
        say(w, ", lag: %d", l->lag);
    if (l->has_shift && l->shift == 0)
        put(w, ", offset: 0");
    else if (l->has_shift)
        put_time(w,
                 l->shift < 0 ? ", offset: -" : ", offset: ", l->shift < 0 ? -l->shift : l->shift);
}

static void put_field(struct writer *w, const struct wio_cpl_link *l)
{
    bool vector = l->tag > WIO_CPL_VECTOR_TAG;
    int tag = vector ? l->tag - WIO_CPL_VECTOR_TAG - 1 : l->tag;

    if (strcmp(l->var_put, l->var_get) == 0) {
        put_key(w, "      - {name: ", l->var_put);
    } else {
        put_key(w, "      - {from: ", l->var_put);
        put_key(w, ", to: ", l->var_get);
    }
    if (l->interval > 0)
        put_time(w, ", interval: ", l->interval);
    put_lag(w, l);
    put_more(w, l);
    if (vector)
        put(w, ", vector: yes");
    if (tag != 0)
        say(w, ", tag: %d", tag);
    put(w, "}\n");
}

int wio_cpl_conf_write(const struct wio_cpl_conf *conf, struct wio_cpl_list *text)
{
    struct writer w = {text, 0};

    put_head(&w, conf);
    put(&w, conf->links.n > 0 ? "couplings:\n" : "couplings: []\n");
    for (size_t i = 0; i < conf->links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(conf, i);

        if (i == 0 || !one_coupling(wio_cpl_conf_link(conf, i - 1), l))
            put_coupling(&w, l);
        put_field(&w, l);
    }
    return w.rc;
}
