/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of double precision, single precision and whole numbers. */
#include "coupler/message.h"

#include <limits.h>
#include <math.h>
#include <string.h>

enum { PART = 22 };

size_t wio_cpl_width(enum wio_cpl_type type)
{
    return type == WIO_CPL_REAL8   ? sizeof(double)
           : type == WIO_CPL_REAL4 ? sizeof(float)
                                   : sizeof(int);
}

static int part(int64_t v, int i)
{
    return (int)((v >> (PART * i)) & ((1 << PART) - 1));
}

/* @return 0 for what no head has */
static int number(enum wio_cpl_type type, const void *in, size_t i)
{
    double v = type == WIO_CPL_REAL8   ? ((const double *)in)[i]
               : type == WIO_CPL_REAL4 ? (double)((const float *)in)[i]
                                       : (double)((const int *)in)[i];

    return v >= 0 && v < 1 << PART ? (int)v : 0;
}

void wio_cpl_head_write(enum wio_cpl_type type, void *out, const struct wio_cpl_head *head)
{
    int64_t layers = (int64_t)head->layers;
    const int words[WIO_CPL_HEAD] = {
        head->version,        head->kind,      part(head->stamp, 2), part(head->stamp, 1),
        part(head->stamp, 0), part(layers, 1), part(layers, 0),      0};

    for (int i = 0; i < WIO_CPL_HEAD; i++)
        if (type == WIO_CPL_REAL8)
            ((double *)out)[i] = words[i];
        else if (type == WIO_CPL_REAL4)
            ((float *)out)[i] = (float)words[i];
        else
            ((int *)out)[i] = words[i];
}

struct wio_cpl_head wio_cpl_head_read(enum wio_cpl_type type, const void *in)
{
    struct wio_cpl_head head = {number(type, in, 0), number(type, in, 1), 0, 0};

    for (size_t i = 2; i < 5; i++)
        head.stamp = (head.stamp << PART) + number(type, in, i);
    head.layers = ((size_t)number(type, in, 5) << PART) + (size_t)number(type, in, 6);
    return head;
}

/* The fill value is rounded as all are, and so known again. */
static size_t to_real4(const double *from, const int64_t *at, size_t n, float *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (float)from[at != NULL ? at[i] : (int64_t)i];
    return n;
}

static size_t to_int(const double *from, const int64_t *at, size_t n, int *out)
{
    for (size_t i = 0; i < n; i++) {
        double v = rint(from[at != NULL ? at[i] : (int64_t)i]);

        if (!(v >= INT_MIN && v <= INT_MAX))
            return i;
        out[i] = (int)v;
    }
    return n;
}

size_t wio_cpl_narrow(enum wio_cpl_type type, const double *from, const int64_t *at, size_t n,
                      void *out)
{
    double *real = out;

    if (n == 0)
        return 0;
    if (type == WIO_CPL_REAL4)
        return to_real4(from, at, n, out);
    if (type == WIO_CPL_INT)
        return to_int(from, at, n, out);
    if (at == NULL)
        memcpy(real, from, n * sizeof *real);
    else
        for (size_t i = 0; i < n; i++)
            real[i] = from[at[i]];
    return n;
}

void wio_cpl_widen(enum wio_cpl_type type, double fill, const void *in, size_t n, double *out)
{
    const float *real = in;
    const int *whole = in;

    if (n == 0)
        return;
    if (type == WIO_CPL_REAL8)
        memcpy(out, in, n * sizeof *out);
    else if (type == WIO_CPL_REAL4)
        for (size_t i = 0; i < n; i++)
            out[i] = real[i] == (float)fill ? fill : (double)real[i];
    else
        for (size_t i = 0; i < n; i++)
            out[i] = whole[i];
}

size_t wio_cpl_round(enum wio_cpl_type type, double fill, double *values, size_t n)
{
    for (size_t i = 0; type != WIO_CPL_REAL8 && i < n; i++) {
        if (values[i] == fill)
            continue;
        if (type == WIO_CPL_REAL4)
            values[i] = (float)values[i] == (float)fill ? fill : (double)(float)values[i];
        else
            values[i] = rint(values[i]);
        if (type == WIO_CPL_INT && !(values[i] >= INT_MIN && values[i] <= INT_MAX))
            return i;
    }
    return n;
}
