/* SPDX-License-Identifier: BSD-3-Clause */
/* The lattice, and one step: populations move to the neighbours, then collide. */
#include <string.h>

#include "flow.h"

/* The first has no opposite; then pairs of opposites stand side by side. */
const int flow_c[Q][3] = {{0, 0, 0},  {1, 0, 0},   {-1, 0, 0},  {0, 1, 0},   {0, -1, 0},
                          {0, 0, 1},  {0, 0, -1},  {1, 1, 0},   {-1, -1, 0}, {1, -1, 0},
                          {-1, 1, 0}, {1, 0, 1},   {-1, 0, -1}, {1, 0, -1},  {-1, 0, 1},
                          {0, 1, 1},  {0, -1, -1}, {0, 1, -1},  {0, -1, 1}};
const double flow_w[Q] = {1. / 3,  1. / 18, 1. / 18, 1. / 18, 1. / 18, 1. / 18, 1. / 18,
                          1. / 36, 1. / 36, 1. / 36, 1. / 36, 1. / 36, 1. / 36, 1. / 36,
                          1. / 36, 1. / 36, 1. / 36, 1. / 36, 1. / 36};

int flow_opposite(int q)
{
    return q == 0 ? 0 : ((q - 1) ^ 1) + 1;
}

/* The product of both relaxation times less 1/2, which decides where walls stand: half way between
 * cells with 3/16, but then a flow of low viscosity is unstable at this resolution. */
static const double MAGIC = 0.01;

static void rates(const struct flow_plan *p, double *even, double *odd)
{
    double half = 3 * p->viscosity; /* tau - 1/2 */

    *even = 1 / (half + 0.5);
    *odd = 1 / (MAGIC / half + 0.5);
}

/* The turns of the loop that follows do not depend on each other. */
#ifdef __clang__
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif

/* ---- moving and colliding -------------------------------------------------------------------- */

struct moments {
    double rho, u[3];
};

/* One pair of opposite populations relaxes: its even part and its odd part, each at its rate. */
#define COLLIDE(q, cx, cy, cz)                                                                     \
    do {                                                                                           \
        double cu = (cx)*ux + (cy)*uy + (cz)*uz, w = flow_w[q];                                    \
        double e = 0.5 * (p[q] + p[(q) + 1]), o = 0.5 * (p[q] - p[(q) + 1]);                       \
        double de = even * (w * rho * (rest + 4.5 * cu * cu) - e);                                 \
        double d_o = odd * (3 * w * rho * cu - o) + 3 * w * (cx)*push;                             \
        to[(q)*n + i] = p[q] + de + d_o;                                                           \
        to[((q) + 1) * n + i] = p[(q) + 1] + de - d_o;                                             \
    } while (0)

/* Cells first .. last - 1, one after another; what they get in layers and solids is set later. */
static void move_and_collide(const struct flow_slab *s, size_t first, size_t last)
{
    const double *from = s->f;
    double *to = s->g, even, odd, force = s->plan.force, push;
    size_t n = s->cells;
    ptrdiff_t back[Q];

    rates(&s->plan, &even, &odd);
    push = (1 - odd / 2) * force;
    for (int q = 0; q < Q; q++)
        back[q] =
            flow_c[q][0] * (ptrdiff_t)s->plane + flow_c[q][1] * (ptrdiff_t)s->row + flow_c[q][2];
    INDEPENDENT
    for (size_t i = first; i < last; i++) {
        double p[Q], rho = 0, ux, uy, uz, rest;

#pragma GCC unroll 19
        for (int q = 0; q < Q; q++) {
            p[q] = from[(size_t)q * n + i - (size_t)back[q]];
            rho += p[q];
        }
        ux = (p[1] - p[2] + p[7] - p[8] + p[9] - p[10] + p[11] - p[12] + p[13] - p[14] +
              0.5 * force) /
             rho;
        uy = (p[3] - p[4] + p[7] - p[8] - p[9] + p[10] + p[15] - p[16] + p[17] - p[18]) / rho;
        uz = (p[5] - p[6] + p[11] - p[12] - p[13] + p[14] + p[15] - p[16] - p[17] + p[18]) / rho;
        rest = 1 - 1.5 * (ux * ux + uy * uy + uz * uz);
        to[i] = p[0] + even * (flow_w[0] * rho * rest - p[0]);
        COLLIDE(1, 1, 0, 0);
        COLLIDE(3, 0, 1, 0);
        COLLIDE(5, 0, 0, 1);
        COLLIDE(7, 1, 1, 0);
        COLLIDE(9, 1, -1, 0);
        COLLIDE(11, 1, 0, 1);
        COLLIDE(13, 1, 0, -1);
        COLLIDE(15, 0, 1, 1);
        COLLIDE(17, 0, 1, -1);
    }
}

/* ---- what surrounds the fluid ---------------------------------------------------------------- */

static struct moments moments_of(const struct flow_slab *s, const double *f, size_t i)
{
    struct moments m = {0, {0.5 * s->plan.force, 0, 0}};

    for (int q = 0; q < Q; q++) {
        double p = f[(size_t)q * s->cells + i];

        m.rho += p;
        for (int d = 0; d < 3; d++)
            m.u[d] += p * flow_c[q][d];
    }
    for (int d = 0; d < 3; d++)
        m.u[d] /= m.rho;
    return m;
}

/* The outlet has density 1: what leaves comes back with the other sign (anti bounce back). */
static double from_outlet(const struct flow_slab *s, const struct flow_link *l, double out)
{
    struct moments m = moments_of(s, s->f, l->to);
    double cu = 0, uu = 0;

    for (int d = 0; d < 3; d++) {
        cu += flow_c[l->q][d] * m.u[d];
        uu += m.u[d] * m.u[d];
    }
    return -out + 2 * flow_w[l->q] * (1 + 4.5 * cu * cu - 1.5 * uu);
}

/* Each population that would come out of no fluid is laid where it would come from. */
static void reflect(struct flow_slab *s)
{
    double part = s->step < s->plan.ramp ? (double)s->step / s->plan.ramp : 1;

    s->sums.drag[0] = s->sums.drag[1] = 0;
    for (size_t k = 0; k < s->n_links; k++) {
        const struct flow_link *l = &s->links[k];
        double out = s->f[(size_t)flow_opposite(l->q) * s->cells + l->to], in = out;

        if (l->kind == INLET)
            in = out + part * l->inflow;
        else if (l->kind == OUTLET)
            in = from_outlet(s, l, out);
        else if (l->kind == BODY)
            for (int d = 0; d < 2; d++)
                s->sums.drag[d] -= (in + out) * flow_c[l->q][d];
        s->sums.entered += in - out;
        s->f[(size_t)l->q * s->cells + l->from] = in;
    }
}

static void rest_solids(struct flow_slab *s)
{
    for (int q = 0; q < Q; q++)
        for (size_t k = 0; k < s->n_solid; k++)
            s->f[(size_t)q * s->cells + s->solid[k]] = flow_w[q];
}

static void wrap_z(struct flow_slab *s)
{
    int nz = s->plan.n[2];

    for (int q = 0; q < Q; q++) {
        double *f = s->f + (size_t)q * s->cells;

        if (flow_c[q][2] == 0)
            continue;
        for (int x = 0; x < s->nx; x++)
            for (int y = 0; y < s->plan.n[1]; y++) {
                double *row = f + flow_at(s, x, y, 0);

                if (flow_c[q][2] > 0)
                    row[-1] = row[nz - 1];
                else
                    row[nz] = row[0];
            }
    }
}

/* ---- neighbours ------------------------------------------------------------------------------ */

/* Planes that populations leave through, to the process on that side. */
static void exchange(struct flow_slab *s)
{
    int periodic = s->plan.speed == 0;
    int left = s->rank > 0 ? s->rank - 1 : (periodic ? s->size - 1 : MPI_PROC_NULL);
    int right = s->rank + 1 < s->size ? s->rank + 1 : (periodic ? 0 : MPI_PROC_NULL);
    MPI_Request requests[4 * Q];
    int n = 0;

    for (int q = 0; q < Q; q++) {
        double *f = s->f + (size_t)q * s->cells;
        int to_right = flow_c[q][0] > 0, count = (int)s->plane;
        size_t mine = (size_t)(to_right ? s->nx : 1) * s->plane;
        size_t theirs = (size_t)(to_right ? 0 : s->nx + 1) * s->plane;

        if (flow_c[q][0] == 0)
            continue;
        MPI_Irecv(f + theirs, count, MPI_DOUBLE, to_right ? left : right, q, s->comm,
                  &requests[n++]);
        MPI_Isend(f + mine, count, MPI_DOUBLE, to_right ? right : left, q, s->comm, &requests[n++]);
    }
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
}

void flow_step(struct flow_slab *s)
{
    double *f;

    rest_solids(s);
    if (s->plan.periodic_z)
        wrap_z(s);
    exchange(s);
    reflect(s);
    for (int x = 0; x < s->nx; x++)
        move_and_collide(s, flow_at(s, x, 0, 0),
                         flow_at(s, x, s->plan.n[1] - 1, s->plan.n[2] - 1) + 1);
    f = s->f;
    s->f = s->g;
    s->g = f;
    s->step++;
}

/* ---- what comes out -------------------------------------------------------------------------- */

struct flow_sums flow_sums(struct flow_slab *s)
{
    double mine[4] = {0, s->sums.entered, s->sums.drag[0], s->sums.drag[1]}, all[4];

    for (int x = 0; x < s->nx; x++)
        for (int y = 0; y < s->plan.n[1]; y++)
            for (int z = 0; z < s->plan.n[2]; z++) {
                size_t i = flow_at(s, x, y, z);

                for (int q = 0; s->kind[i] == FLUID && q < Q; q++)
                    mine[0] += s->f[(size_t)q * s->cells + i];
            }
    MPI_Allreduce(mine, all, 4, MPI_DOUBLE, MPI_SUM, s->comm);
    return (struct flow_sums){all[0], all[1], {all[2], all[3]}};
}

double flow_fields(const struct flow_slab *s, float *density, float *velocity)
{
    size_t n = (size_t)s->nx * (size_t)s->plan.n[1] * (size_t)s->plan.n[2], at = 0;
    double squares = 0;

    for (int x = 0; x < s->nx; x++)
        for (int y = 0; y < s->plan.n[1]; y++)
            for (int z = 0; z < s->plan.n[2]; z++, at++) {
                size_t i = flow_at(s, x, y, z);
                struct moments m = {1, {0, 0, 0}};

                if (s->kind[i] == FLUID)
                    m = moments_of(s, s->f, i);
                density[at] = (float)m.rho;
                for (size_t d = 0; d < 3; d++) {
                    velocity[d * n + at] = (float)m.u[d];
                    squares += (double)velocity[d * n + at] * (double)velocity[d * n + at];
                }
            }
    return squares;
}
