/* SPDX-License-Identifier: BSD-3-Clause */
/* How good weights are. */
#include "coupler/weights/grid.h"
#include "os/os.h"
#include "waitio_errors.h"

/** A smooth field that is no grid's own: 2 + cos^2(lat) cos(2 lon), a spherical harmonic of
 * degree 2. */
static double field(const struct wio_grid *g, size_t cell)
{
    struct wio_vec p = wio_vec_scale(g->centre[cell], 1 / g->scale);
    return g->plane ? 2 + sin(3 * p.x) * cos(2 * p.y) : 2 + p.x * p.x - p.y * p.y;
}

static void look_at_rows(const struct wio_grid *source, const struct wio_grid *target,
                         const struct wio_weights *w, struct wio_weights_report *r, double *given)
{
    size_t counted = 0;
    r->row_sum_min = r->weight_min = INFINITY;
    r->row_sum_max = r->weight_max = -INFINITY;
    for (size_t t = 0; t < w->n_targets; t++) {
        double sum = 0, value = 0, area = target->area[t] * target->fraction[t];
        if (!(target->fraction[t] > 0)) {
            r->masked++;
            continue;
        }
        r->by_method[w->method[t]]++;
        for (size_t i = w->row[t]; i < w->row[t + 1]; i++) {
            sum += w->weight[i];
            value += w->weight[i] * field(source, w->position[i]);
            given[w->position[i]] += w->weight[i] * area;
            r->weight_min = fmin(r->weight_min, w->weight[i]);
            r->weight_max = fmax(r->weight_max, w->weight[i]);
        }
        if (w->row[t] == w->row[t + 1])
            continue;
        r->row_sum_min = fmin(r->row_sum_min, sum);
        r->row_sum_max = fmax(r->row_sum_max, sum);
        if (fabs(w->coverage[t] - 1) < 1e-9) {
            double error = fabs(value - field(target, t));
            r->unity = fmax(r->unity, fabs(sum - 1));
            r->max_error = fmax(r->max_error, error);
            r->mean_error += error;
            counted++;
        }
    }
    r->mean_error = counted > 0 ? r->mean_error / (double)counted : 0;
}

static void look_at_columns(const struct wio_grid *source, const double *given,
                            struct wio_weights_report *r)
{
    double whole = 0, constant = 0, harmonic = 0, size = 0;
    for (size_t s = 0; s < source->n; s++) {
        double area = source->area[s] * source->fraction[s], value = field(source, s);
        if (!(source->fraction[s] > 0))
            continue;
        r->unused += given[s] == 0;
        if (!(area > 0) || fabs(given[s] / area - 1) > 1e-6)
            continue; /* reaches beyond the target grid or its mask */
        r->column = fmax(r->column, fabs(given[s] / area - 1));
        constant += given[s] - area;
        harmonic += (given[s] - area) * value;
        whole += area;
        size += area * fabs(value);
    }
    r->constant = whole > 0 ? fabs(constant) / whole : 0;
    r->harmonic = size > 0 ? fabs(harmonic) / size : 0;
}

int wio_weights_report(const struct wio_grid *source, const struct wio_grid *target,
                       const struct wio_weights *weights, struct wio_weights_report *report)
{
    double *given = wio_os_alloc(source->n * sizeof *given);
    *report = (struct wio_weights_report){0};
    if (given == NULL)
        return WAITIO_ERR_NOMEM;
    look_at_rows(source, target, weights, report, given);
    look_at_columns(source, given, report);
    wio_os_free(given);
    return 0;
}

static void compare_links(struct wio_weights_difference *d, size_t target, int64_t source, double a,
                          double b)
{
    double apart = fabs(a - b);
    d->beyond += apart > 1e-10;
    if (apart > d->largest) {
        d->largest = apart;
        d->source = source;
        d->target = (int64_t)target + 1;
    }
}

int wio_weights_compare(const struct wio_weights *first, const struct wio_weights *second,
                        struct wio_weights_difference *difference)
{
    *difference = (struct wio_weights_difference){.only_first = 0};
    if (first->n_targets != second->n_targets)
        return WAITIO_ERR_ARG;
    for (size_t t = 0; t < first->n_targets; t++) {
        size_t i = first->row[t], k = second->row[t];
        while (i < first->row[t + 1] || k < second->row[t + 1]) {
            int64_t a = i < first->row[t + 1] ? first->source[i] : INT64_MAX;
            int64_t b = k < second->row[t + 1] ? second->source[k] : INT64_MAX;
            difference->only_first += a < b;
            difference->only_second += b < a;
            compare_links(difference, t, a < b ? a : b, a <= b ? first->weight[i] : 0,
                          b <= a ? second->weight[k] : 0);
            i += a <= b;
            k += b <= a;
        }
    }
    return 0;
}
