/* SPDX-License-Identifier: BSD-3-Clause */
/* Stretches of rows that are alike, and their sums. */
#include "coupler/stretch.h"

#include <string.h>

#include "coupler/base.h"
#include "waitio_errors.h"

/* A stretch that is shifted has a loop of its own for so many entries a row. */
enum { MOST_EACH = 4, LEAST_ROWS = 8, MOST_ROWS = 1024 };

/* ---- finding them --------------------------------------------------------------------------- */

static size_t length(const struct wio_cpl_remap *r, size_t row)
{
    return r->first[row + 1] - r->first[row];
}

/* Does a row take the points behind those of the row before? */
static bool follows(const struct wio_cpl_remap *r, size_t row)
{
    size_t n = length(r, row);
    const uint32_t *now = r->slot + r->first[row], *before = now - n;

    if (n == 0 || n > MOST_EACH || length(r, row - 1) != n || r->to[row] != r->to[row - 1] + 1)
        return false;
    for (size_t i = 0; i < n; i++)
        if (now[i] != before[i] + 1)
            return false;
    return true;
}

/* How many rows from one on are shifted against each other. */
static size_t shifted(const struct wio_cpl_remap *r, size_t row)
{
    size_t n = 1;

    while (n < MOST_ROWS && row + n < r->rows && follows(r, row + n))
        n++;
    return n;
}

/* How many rows from one on are in no long shifted stretch. @param[out] next the length of that
 * stretch, or 0 */
static size_t plain(const struct wio_cpl_remap *r, size_t row, size_t *next)
{
    size_t n = 0;

    for (*next = 0; n < MOST_ROWS && row + n < r->rows;) {
        size_t alike = shifted(r, row + n);

        if (alike >= LEAST_ROWS) {
            *next = alike;
            return n;
        }
        n += alike;
    }
    return n < r->rows - row ? n : r->rows - row;
}

static struct wio_cpl_stretch look_at(const struct wio_cpl_remap *r, size_t row, size_t rows,
                                      bool is_shifted)
{
    struct wio_cpl_stretch s = {row,        rows,      (uint32_t)length(r, row), true, true,
                                is_shifted, is_shifted};
    const double *coef = r->coef + r->first[row];

    for (size_t i = row; i < row + rows; i++) {
        if (length(r, i) != s.each)
            s.each = 0;
        s.in_place &= i == row || r->to[i] == r->to[i - 1] + 1;
    }
    for (size_t i = r->first[row]; i < r->first[row + rows]; i++)
        s.ones &= r->coef[i] == 1;
    for (size_t i = s.each; s.uniform && i < s.each * rows; i++)
        s.uniform = coef[i] == coef[i - s.each];
    return s;
}

static int add(struct wio_cpl_list *all, struct wio_cpl_stretch s)
{
    struct wio_cpl_stretch *place = wio_cpl_push(all, sizeof *place);

    if (place == NULL)
        return WAITIO_ERR_NOMEM;
    *place = s;
    return 0;
}

int wio_cpl_stretches_make(struct wio_cpl_remap *r)
{
    struct wio_cpl_list all = {NULL, 0, 0};
    int rc = 0;

    for (size_t row = 0; rc == 0 && row < r->rows;) {
        size_t alike, rows = plain(r, row, &alike);

        if (rows > 0)
            rc = add(&all, look_at(r, row, rows, false));
        if (rc == 0 && alike > 0)
            rc = add(&all, look_at(r, row + rows, alike, true));
        row += rows + alike;
    }
    r->stretches = all.at;
    r->n_stretches = all.n;
    return rc;
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* A constant number of entries makes a loop without branches. */
static inline void sum_rows(const struct wio_cpl_remap *r, const struct wio_cpl_stretch *s,
                            const double *from, double *to, size_t each)
{
    const uint32_t *slot = r->slot + r->first[s->row];
    const double *coef = r->coef + r->first[s->row];
    const int64_t *place = r->to + s->row;

    for (size_t row = 0; row < s->rows; row++, slot += each, coef += each) {
        double sum = 0;

        for (size_t i = 0; i < each; i++)
            sum += coef[i] * from[slot[i]];
        to[s->in_place ? place[0] + (int64_t)row : place[row]] = sum;
    }
}

/* The nearest point's value. 0 + x: as any sum, so that -0 becomes 0. */
static void take_rows(const struct wio_cpl_remap *r, const struct wio_cpl_stretch *s,
                      const double *from, double *to)
{
    const uint32_t *slot = r->slot + r->first[s->row];
    const int64_t *place = r->to + s->row;

    if (s->in_place)
        for (size_t row = 0; row < s->rows; row++)
            to[place[0] + (int64_t)row] = 0 + from[slot[row]];
    else
        for (size_t row = 0; row < s->rows; row++)
            to[place[row]] = 0 + from[slot[row]];
}

static void sum_any(const struct wio_cpl_remap *r, const struct wio_cpl_stretch *s,
                    const double *from, double *to)
{
    for (size_t row = s->row; row < s->row + s->rows; row++) {
        double sum = 0;

        for (size_t i = r->first[row]; i < r->first[row + 1]; i++)
            sum += r->coef[i] * from[r->slot[i]];
        to[r->to[row]] = sum;
    }
}

/* The same in a stretch that is shifted: only coefficients and values are read. */
static inline void sum_shifted(const double *coef, const double *const *from, double *restrict to,
                               size_t rows, size_t each)
{
    for (size_t row = 0; row < rows; row++) {
        double sum = 0;

        for (size_t i = 0; i < each; i++)
            sum += coef[row * each + i] * from[i][row];
        to[row] = sum;
    }
}

/* The same where all rows have the same coefficients. */
static inline void sum_uniform(const double *coef, const double *const *from, double *restrict to,
                               size_t rows, size_t each)
{
    double c[MOST_EACH];

    memcpy(c, coef, each * sizeof *c);
    for (size_t row = 0; row < rows; row++) {
        double sum = 0;

        for (size_t i = 0; i < each; i++)
            sum += c[i] * from[i][row];
        to[row] = sum;
    }
}

static void take_shifted(const double *from, double *restrict to, size_t rows)
{
    for (size_t row = 0; row < rows; row++)
        to[row] = 0 + from[row];
}

/* @param each s->each, a constant */
static inline void shift_each(const struct wio_cpl_stretch *s, const double *coef,
                              const double *const *from, double *to, size_t each)
{
    if (each == 1 && s->ones)
        take_shifted(from[0], to, s->rows);
    else if (s->uniform)
        sum_uniform(coef, from, to, s->rows, each);
    else
        sum_shifted(coef, from, to, s->rows, each);
}

static void shift(const struct wio_cpl_remap *r, const struct wio_cpl_stretch *s,
                  const double *values, double *to)
{
    const double *coef = r->coef + r->first[s->row], *from[MOST_EACH] = {NULL};

    to += r->to[s->row];
    for (size_t i = 0; i < s->each; i++)
        from[i] = values + r->slot[r->first[s->row] + i];
    if (s->each == 1)
        shift_each(s, coef, from, to, 1);
    else if (s->each == 2)
        shift_each(s, coef, from, to, 2);
    else if (s->each == 3)
        shift_each(s, coef, from, to, 3);
    else
        shift_each(s, coef, from, to, 4);
}

void wio_cpl_stretch_sum(const struct wio_cpl_remap *r, const struct wio_cpl_stretch *s,
                         const double *from, double *to)
{
    if (s->shifted)
        shift(r, s, from, to);
    else if (s->each == 1 && s->ones)
        take_rows(r, s, from, to);
    else if (s->each == 1)
        sum_rows(r, s, from, to, 1);
    else if (s->each == 2)
        sum_rows(r, s, from, to, 2);
    else if (s->each == 3)
        sum_rows(r, s, from, to, 3);
    else if (s->each == 4)
        sum_rows(r, s, from, to, 4);
    else
        sum_any(r, s, from, to);
}
