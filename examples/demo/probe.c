/* SPDX-License-Identifier: BSD-3-Clause */
/* The probe: one process without any MPI; gets the values of five points in every step. */
#include "demo.h"

/* Points that process @p p of `heat` owns; returns how many. */
static int points_of(const struct grid *g, const struct world *w, int p, int which[NPOINTS])
{
    struct rows rows = rows_of(g, w->size[HEAT], p);
    int row, column, n = 0;

    for (int i = 0; i < NPOINTS; i++) {
        point_at(g, i, &row, &column);
        if (row >= rows.first && row < rows.first + rows.count)
            which[n++] = i;
    }
    return n;
}

static void look(const struct grid *g, const struct world *w, const struct exact *e, int step,
                 struct report *r)
{
    double value[NPOINTS];
    int which[NPOINTS], row, column;
    waitio_req_t req;

    for (int p = 0; p < w->size[HEAT]; p++) {
        int n = points_of(g, w, p, which);
        if (n == 0)
            continue;
        start_receive(r, w->group, w->first[HEAT] + p, value, sizeof(double) * (size_t)n,
                      TAG_POINTS, &req);
        wait_for(r, 1, &req);
        for (int i = 0; i < n; i++) {
            point_at(g, which[i], &row, &column);
            check(r, "probe", step, "a point",
                  value[i] - e->a1 * mode(g, 1, row, column) - e->a2 * mode(g, 2, row, column));
        }
    }
}

int main(int argc, char **argv)
{
    struct grid g = grid_from_arguments(argc, argv);
    struct world w = join("probe", PROBE);
    struct exact e = {.a1 = 1};
    struct report r = {0};
    waitio_req_t req;

    for (int step = 0; step < g.steps; step++) {
        look(&g, &w, &e, step, &r);
        exact_step(&g, &e);
    }
    must(waitio_isend(w.group, 0, &r, sizeof r, TAG_REPORT, &req));
    must(waitio_wait(&req));
    leave(&w);
    return r.failures != 0;
}
