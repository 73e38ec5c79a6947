/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the three programs of the demo agree on: the grid, who sends what to whom, and the solution
 * that each of them can compute for itself and so check.
 *
 * The equation is u_t = u_xx + u_yy + s(t) sin(2 pi x) sin(pi y) on the unit square, u = 0 on the
 * boundary, u = sin(pi x) sin(pi y) at the start. `heat` solves it on n x n inner points by an
 * explicit scheme. `analysis` finds the amplitudes of the sine modes in the field of every step and
 * answers with the source s = SIGMA * (amplitude of the first mode): the coupling goes both ways.
 * `probe` gets point values. For the scheme the modes are exact, so that all amplitudes follow a
 * recursion of two numbers, to rounding error.
 */
#ifndef DEMO_H
#define DEMO_H

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <waitio_mpi.h>

#define PI 3.14159265358979323846
#define SIGMA 30.0
#define TOLERANCE 1e-10

enum { HEAT, ANALYSIS, PROBE, BLOCKS }; /* PB ids */
enum { TAG_FIELD = 1, TAG_SOURCE, TAG_POINTS, TAG_REPORT };
enum { NPOINTS = 5, MODES = 4 };

struct grid {
    int n, steps;
    double h, dt;
};

static inline struct grid grid_from_arguments(int argc, char **argv)
{
    struct grid g = {.n = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 128,
                     .steps = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 200};

    if (g.n < 8 || g.n > 8192 || g.steps < 2) {
        fprintf(stderr, "usage: %s [steps >= 2 [points per side, 8 to 8192]]\n", argv[0]);
        exit(2);
    }
    g.h = 1.0 / (g.n + 1);
    g.dt = 0.24 * g.h * g.h; /* stable below 0.25 */
    return g;
}

/* Rows of one part of an even division. */
struct rows {
    int first, count;
};

static inline struct rows rows_of(const struct grid *g, int parts, int i)
{
    int first = (int)((long)g->n * i / parts);

    return (struct rows){first, (int)((long)g->n * (i + 1) / parts) - first};
}

static inline struct rows overlap(struct rows a, struct rows b)
{
    int first = a.first > b.first ? a.first : b.first;
    int end = a.first + a.count < b.first + b.count ? a.first + a.count : b.first + b.count;

    return (struct rows){first, end > first ? end - first : 0};
}

/* Where the probe looks: row and column of inner points. */
static inline void point_at(const struct grid *g, int i, int *row, int *column)
{
    *row = (int)((long)(i + 1) * g->n / (NPOINTS + 1));
    *column = (int)((long)(NPOINTS - i) * g->n / (NPOINTS + 1));
}

/* Mode k at inner point (row, column), both from 0. */
static inline double mode(const struct grid *g, int k, int row, int column)
{
    return sin(k * PI * (column + 1) * g->h) * sin(PI * (row + 1) * g->h);
}

/* ---- the exact amplitudes of the scheme ---- */

struct exact {
    double a1, a2;
};

static inline double gain(const struct grid *g, int k)
{
    double x = sin(k * PI * g->h / 2), y = sin(PI * g->h / 2);

    return 1 - 4 * g->dt / (g->h * g->h) * (x * x + y * y);
}

static inline void exact_step(const struct grid *g, struct exact *e)
{
    e->a2 = gain(g, 2) * e->a2 + g->dt * SIGMA * e->a1;
    e->a1 = gain(g, 1) * e->a1;
}

/* ---- messages ---- */

/* Sum of the bit patterns: any changed, lost or exchanged-with-other-step value shows. */
static inline uint64_t checksum(const double *x, size_t n, int step)
{
    uint64_t sum = (uint64_t)step * 0x9e3779b97f4a7c15u, word;

    for (size_t i = 0; i < n; i++) {
        memcpy(&word, &x[i], sizeof word);
        sum = sum * 31 + word;
    }
    return sum;
}

/* What one process sent, received, waited for and found. Doubles, so that MPI_Reduce can add. */
struct report {
    double sent, sent_bytes, got, got_bytes, wait_s, failures;
    double error; /* largest deviation from the exact solution */
};

static inline double now(void)
{
    struct timespec t;

    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void fail(struct report *r, const char *who, int step, const char *what, double error)
{
    if (r->failures++ < 3)
        fprintf(stderr, "%s: step %d: %s is off by %g\n", who, step, what, error);
}

/* Compare with the exact value; NaN fails too. */
static inline void check(struct report *r, const char *who, int step, const char *what,
                         double error)
{
    error = fabs(error);
    if (!(error <= TOLERANCE))
        fail(r, who, step, what, error);
    if (error > r->error)
        r->error = error;
}

/* A failing call ends the program; the library has said why. */
static inline void must(int code)
{
    if (code != 0) {
        fprintf(stderr, "%s\n", waitio_last_error());
        exit(1);
    }
}

static inline void wait_for(struct report *r, int n, waitio_req_t *req)
{
    double start = now();

    must(waitio_waitall(n, req, NULL));
    r->wait_s += now() - start;
}

static inline void start_send(struct report *r, waitio_group_t world, int to, const void *data,
                              size_t bytes, int tag, waitio_req_t *req)
{
    must(waitio_isend(world, to, data, bytes, tag, req));
    r->sent += 1;
    r->sent_bytes += (double)bytes;
}

static inline void start_receive(struct report *r, waitio_group_t world, int from, void *data,
                                 size_t bytes, int tag, waitio_req_t *req)
{
    must(waitio_irecv(world, from, data, bytes, tag, req));
    r->got += 1;
    r->got_bytes += (double)bytes;
}

/* Everybody's group, the sizes of the blocks, and the rank of each block's first process. */
struct world {
    waitio_group_t group;
    int size[BLOCKS], first[BLOCKS + 1];
};

static inline struct world join(const char *who, int pbid)
{
    struct world w;
    int npb, me;

    must(waitio_init(60));
    must(waitio_pb_size(&npb));
    must(waitio_pb_rank(&me));
    if (npb != BLOCKS || me != pbid) {
        fprintf(stderr,
                "%s: this is block %d of %d; the demo needs heat, analysis and probe as blocks "
                "0, 1 and 2\n",
                who, me, npb);
        exit(1);
    }
    must(waitio_get_nprocs(w.size));
    w.first[0] = 0;
    for (int p = 0; p < BLOCKS; p++)
        w.first[p + 1] = w.first[p] + w.size[p];
    must(waitio_group_universe(0, &w.group));
    return w;
}

/* Nobody leaves before the table is printed: a run ends all blocks as soon as one has failed. */
static inline void leave(const struct world *w)
{
    must(waitio_mpi_barrier(w->group));
    must(waitio_finalize());
}

#endif /* DEMO_H */
