/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors of three numbers: points of the unit sphere, or of the plane z = 0. */
#ifndef WIO_WEIGHTS_VEC_H
#define WIO_WEIGHTS_VEC_H

#include <math.h>

struct wio_vec {
    double x, y, z;
};

static inline struct wio_vec wio_vec_add(struct wio_vec a, struct wio_vec b)
{
    return (struct wio_vec){a.x + b.x, a.y + b.y, a.z + b.z};
}

static inline struct wio_vec wio_vec_sub(struct wio_vec a, struct wio_vec b)
{
    return (struct wio_vec){a.x - b.x, a.y - b.y, a.z - b.z};
}

static inline struct wio_vec wio_vec_scale(struct wio_vec a, double s)
{
    return (struct wio_vec){a.x * s, a.y * s, a.z * s};
}

/** a + s b */
static inline struct wio_vec wio_vec_madd(struct wio_vec a, double s, struct wio_vec b)
{
    return (struct wio_vec){a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
}

static inline double wio_vec_dot(struct wio_vec a, struct wio_vec b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline struct wio_vec wio_vec_cross(struct wio_vec a, struct wio_vec b)
{
    return (struct wio_vec){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

/** a x b for unit vectors, to a few ulp of its own length even where they nearly coincide: the
 * plain product would lose as many digits as they agree in, the difference a - b loses none. */
static inline struct wio_vec wio_vec_cross_near(struct wio_vec a, struct wio_vec b)
{
    return wio_vec_scale(wio_vec_cross(wio_vec_sub(a, b), wio_vec_add(a, b)), 0.5);
}

static inline double wio_vec_norm(struct wio_vec a)
{
    return sqrt(wio_vec_dot(a, a));
}

/** Squared length of the chord. */
static inline double wio_vec_distance2(struct wio_vec a, struct wio_vec b)
{
    struct wio_vec d = wio_vec_sub(a, b);
    return wio_vec_dot(d, d);
}

static inline struct wio_vec wio_vec_unit(struct wio_vec a)
{
    return wio_vec_scale(a, 1.0 / wio_vec_norm(a));
}

#endif /* WIO_WEIGHTS_VEC_H */
