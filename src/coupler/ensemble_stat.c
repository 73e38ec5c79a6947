/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics over members: pure. The order is that of the members' numbers, so neither the grids'
 * partition nor who sends first changes a bit. */
#include "coupler/ensemble.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool wio_cpl_statistic_read(const char *text, struct wio_cpl_statistic *out)
{
    static const struct {
        const char *name;
        struct wio_cpl_statistic it;
    } rows[] = {
        {"mean", {WIO_CPL_STAT_MEAN, 0}},        {"spread", {WIO_CPL_STAT_SPREAD, 0}},
        {"min", {WIO_CPL_STAT_MIN, 0}},          {"max", {WIO_CPL_STAT_MAX, 0}},
        {"median", {WIO_CPL_STAT_QUANTILE, .5}},
    };
    char *end;
    double q;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(rows[i].name, text) == 0) {
            *out = rows[i].it;
            return true;
        }
    if (text[0] != 'q' || (text[1] != '0' && text[1] != '1'))
        return false;
    q = strtod(text + 1, &end);
    if (*end != '\0' || !(q >= 0 && q <= 1))
        return false;
    *out = (struct wio_cpl_statistic){WIO_CPL_STAT_QUANTILE, q};
    return true;
}

static double mean(const double *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

/* Of a sample: the square root of the sum of squares over n - 1. */
static double spread(const double *x, size_t n)
{
    double m = mean(x, n), sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (x[i] - m) * (x[i] - m);
    return n > 1 ? sqrt(sum / (double)(n - 1)) : 0;
}

static double extreme(const double *x, size_t n, double sign)
{
    double most = x[0];

    for (size_t i = 1; i < n; i++)
        if (sign * x[i] > sign * most)
            most = x[i];
    return most;
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;

    return (a > b) - (a < b);
}

/* Between the two values in order that are nearest to (n - 1) q. */
static double quantile(double *x, size_t n, double q)
{
    double place = q * (double)(n - 1);
    size_t low = (size_t)place;

    qsort(x, n, sizeof *x, compare);
    return low + 1 < n ? x[low] + (place - (double)low) * (x[low + 1] - x[low]) : x[n - 1];
}

/* A NaN of one member is a NaN of every statistic: it must not hide in an order. */
static bool has_nan(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isnan(x[i]))
            return true;
    return false;
}

static double of_point(const struct wio_cpl_statistic *s, double fill, double *x, size_t n)
{
    if (n == 0)
        return fill;
    if (has_nan(x, n))
        return NAN;
    switch (s->kind) {
    case WIO_CPL_STAT_SPREAD:
        return spread(x, n);
    case WIO_CPL_STAT_MIN:
        return extreme(x, n, -1);
    case WIO_CPL_STAT_MAX:
        return extreme(x, n, 1);
    case WIO_CPL_STAT_QUANTILE:
        return quantile(x, n, s->quantile);
    default:
        return mean(x, n);
    }
}

int wio_cpl_statistic_fields(const struct wio_cpl_statistic *s, double fill,
                             const double *const *members, size_t n_members, double *to, size_t n)
{
    double *x = wio_cpl_new(n_members, sizeof *x);

    if (x == NULL)
        return WAITIO_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        size_t found = 0;

        for (size_t m = 0; m < n_members; m++)
            if (members[m][i] != fill)
                x[found++] = members[m][i];
        to[i] = of_point(s, fill, x, found);
    }
    free(x);
    return 0;
}
