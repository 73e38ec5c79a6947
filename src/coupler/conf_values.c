/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of a YAML configuration. Each error names the key, the value and what it may be. */
#include "coupler/conf_values.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "coupler/calendar.h"
#include "waitio_errors.h"

enum { MOST_ROWS = 64 };

int wio_cpl_yaml_wrong(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *at,
                       const char *format, ...)
{
    char what[900];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    r->bad = true;
    return wio_cpl_conf_fault(r->conf, at != NULL ? at->line : 0, at != NULL ? at->column : 0, "%s",
                              what);
}

static const char *shown(const struct wio_cpl_node *v)
{
    if (v->kind == WIO_CPL_SCALAR)
        return v->text[0] != '\0' || v->quoted ? v->text : "(nothing)";
    return v->kind == WIO_CPL_MAP ? "(a map)" : "(a list)";
}

static int bad_value(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *v,
                     const char *expected)
{
    return wio_cpl_yaml_wrong(r, v, "%s: %.60s is not %s", r->key, shown(v), expected);
}

static bool is_scalar(const struct wio_cpl_node *v)
{
    return v->kind == WIO_CPL_SCALAR && (v->text[0] != '\0' || v->quoted);
}

/* ---- maps ---------------------------------------------------------------------------------- */

static int unknown(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *key,
                   const struct wio_cpl_row *rows, size_t n, const char *what)
{
    const char *names[MOST_ROWS];
    char near[96], all[600] = "";
    size_t used = 0;

    n = n < MOST_ROWS ? n : MOST_ROWS;
    for (size_t i = 0; i < n; i++) {
        names[i] = rows[i].key.name;
        wio_cpl_text(all + used, sizeof all - used, "%s%s", i > 0 ? ", " : "", names[i]);
        used += strlen(all + used);
    }
    (void)wio_cpl_near(key->text, names, n, near);
    return wio_cpl_yaml_wrong(r, key, "%.60s is no key of %s%s; there are %s", key->text, what,
                              near, all);
}

static bool doubled(const struct wio_cpl_node *map, const struct wio_cpl_node *key)
{
    for (const struct wio_cpl_node *k = map->child; k != key; k = k->next)
        if (strcmp(k->text, key->text) == 0)
            return true;
    return false;
}

int wio_cpl_yaml_map(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *map,
                     const struct wio_cpl_row *rows, size_t n, const char *what, void *target)
{
    int rc = 0;

    if (map->kind != WIO_CPL_MAP)
        return wio_cpl_yaml_wrong(r, map, "%s must be keys with values, not %.60s", what,
                                  shown(map));
    for (const struct wio_cpl_node *k = map->child; rc == 0 && k != NULL; k = k->next) {
        size_t i = 0;

        while (i < n && strcmp(rows[i].key.name, k->text) != 0)
            i++;
        r->key = k->text;
        if (i == n)
            rc = unknown(r, k, rows, n, what);
        else if (doubled(map, k))
            rc = wio_cpl_yaml_wrong(r, k, "%s stands twice in %s", k->text, what);
        else
            rc = rows[i].read(r, k->value, target);
    }
    return rc;
}

/* ---- values -------------------------------------------------------------------------------- */

int wio_cpl_yaml_text(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *v, char **out)
{
    if (v->kind != WIO_CPL_SCALAR || v->text[0] == '\0')
        return bad_value(r, v, "a name");
    free(*out);
    *out = wio_cpl_copy(v->text);
    return *out == NULL ? WAITIO_ERR_NOMEM : 0;
}

int wio_cpl_yaml_int(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *v, int low,
                     int high, int *out)
{
    char expected[80], *end = NULL;
    long long n = 0;

    errno = 0;
    if (is_scalar(v) && !isspace((unsigned char)v->text[0]))
        n = strtoll(v->text, &end, 10);
    if (end == NULL || end == v->text || *end != '\0' || errno != 0 || n < low || n > high) {
        wio_cpl_text(expected, sizeof expected, "a whole number from %d to %d", low, high);
        return bad_value(r, v, expected);
    }
    *out = (int)n;
    return 0;
}

static int find_word(const struct wio_cpl_node *v, const char *const *words, size_t n)
{
    for (size_t i = 0; is_scalar(v) && i < n; i++)
        if (strcasecmp(v->text, words[i]) == 0)
            return (int)i;
    return -1;
}

int wio_cpl_yaml_word(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *v,
                      const char *const *words, size_t n, int *out)
{
    char near[96] = "", all[300] = "";
    size_t used = 0;
    int found = find_word(v, words, n);

    if (found >= 0) {
        *out = found;
        return 0;
    }
    if (is_scalar(v))
        (void)wio_cpl_near(v->text, words, n, near);
    for (size_t i = 0; i < n; i++) {
        wio_cpl_text(all + used, sizeof all - used, "%s%s", i > 0 ? ", " : "", words[i]);
        used += strlen(all + used);
    }
    return wio_cpl_yaml_wrong(r, v, "%s: %.60s is none of %s%s", r->key, shown(v), all, near);
}

int wio_cpl_yaml_bool(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *v, bool *out)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};
    int found = 0, rc = wio_cpl_yaml_word(r, v, words, sizeof words / sizeof words[0], &found);

    *out = found % 2 == 1;
    return rc;
}

/* Seconds of a unit at *at, which is moved behind it. @return 0: none */
static int64_t unit(const char **at)
{
    static const struct {
        const char *name;
        int64_t seconds;
    } units[] = {{"min", 60}, {"s", 1}, {"h", 3600}, {"d", 86400}};

    while (**at == ' ')
        (*at)++;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t n = strlen(units[i].name);

        if (strncmp(*at, units[i].name, n) == 0 && !isalpha((unsigned char)(*at)[n])) {
            *at += n;
            return units[i].seconds;
        }
    }
    return 0;
}

/* A sum of numbers with units; one number alone are seconds. @return -1: none */
static int64_t seconds_of(const char *text)
{
    const char *at = text;
    int64_t sum = 0;

    while (*at != '\0') {
        int64_t n = 0, each;

        if (!isdigit((unsigned char)*at))
            return -1;
        for (; isdigit((unsigned char)*at); at++) {
            if (n > INT_MAX / 10)
                return -1;
            n = n * 10 + (*at - '0');
        }
        each = *at == '\0' && sum == 0 ? 1 : unit(&at);
        if (each == 0 || n > INT_MAX / each || sum > INT_MAX - n * each)
            return -1;
        sum += n * each;
        while (*at == ' ')
            at++;
    }
    return sum > 0 ? sum : -1;
}

int wio_cpl_yaml_duration(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *v,
                          int64_t *out)
{
    int64_t n = is_scalar(v) ? seconds_of(v->text) : -1;

    if (n < 0)
        return bad_value(r, v,
                         "a time: whole seconds from 1 to 2147483647, or with units, as 30min, 3h, "
                         "1d12h");
    *out = n;
    return 0;
}

int wio_cpl_yaml_offset(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *v, int64_t *out)
{
    bool minus = is_scalar(v) && v->text[0] == '-';
    int64_t n = is_scalar(v) ? seconds_of(v->text + minus) : -1;

    if (is_scalar(v) && strcmp(v->text, "0") == 0)
        n = 0;
    if (n < 0)
        return bad_value(r, v, "a time, before which a minus may stand, as 0, 3h, -30min");
    *out = minus ? -n : n;
    return 0;
}

int wio_cpl_yaml_number(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *v, double *out)
{
    char *end = NULL;
    double n = 0;

    errno = 0;
    if (is_scalar(v) && !isspace((unsigned char)v->text[0]))
        n = strtod(v->text, &end);
    if (end == NULL || end == v->text || *end != '\0' || errno != 0 || !isfinite(n))
        return bad_value(r, v, "a number");
    *out = n;
    return 0;
}

/* The digits of one part of a date. @return false: other characters */
static bool digits(const char **at, int n, int *out)
{
    *out = 0;
    for (int i = 0; i < n; i++, (*at)++) {
        if (!isdigit((unsigned char)**at))
            return false;
        *out = *out * 10 + (**at - '0');
    }
    return true;
}

static bool date_of(const char *at, int t[6])
{
    static const char before[] = " --T::";

    for (int i = 0; i < 6; i++) {
        if (i >= 3 && i != 4 && *at == '\0')
            return true; /* 2026-01-31, or with hours and minutes */
        if (i == 3 && *at == ' ')
            at++;
        else if (i > 0 && *at++ != before[i])
            return false;
        if (!digits(&at, i == 0 ? 4 : 2, &t[i]))
            return false;
    }
    return *at == '\0' || strcmp(at, "Z") == 0;
}

int wio_cpl_yaml_date(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *v, int out[6])
{
    int t[6] = {0};

    if (!is_scalar(v) || !date_of(v->text, t))
        return bad_value(r, v, "a date as 2026-01-31 or 2026-01-31T12:00:00");
    if (wio_cpl_calendar_add(t, 0) != 0)
        return wio_cpl_yaml_wrong(r, v, "%s: %s", r->key, wio_cpl_why());
    memcpy(out, t, sizeof t);
    return 0;
}

int wio_cpl_yaml_texts(struct wio_cpl_yaml_reading *r, const struct wio_cpl_node *v,
                       struct wio_cpl_list *out)
{
    const struct wio_cpl_node *one = v->kind == WIO_CPL_SEQUENCE ? v->child : v;
    int rc = 0;

    for (; rc == 0 && one != NULL; one = v->kind == WIO_CPL_SEQUENCE ? one->next : NULL) {
        char *text = NULL, **place;

        rc = wio_cpl_yaml_text(r, one, &text);
        if (rc != 0 || text == NULL)
            continue;
        place = wio_cpl_push(out, sizeof *place);
        if (place == NULL) {
            free(text);
            return WAITIO_ERR_NOMEM;
        }
        *place = text;
    }
    return rc;
}
