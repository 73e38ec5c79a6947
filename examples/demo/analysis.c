/* SPDX-License-Identifier: BSD-3-Clause */
/* The analysis: another division of the rows, the spectrum by MPI inside the block, the answer by
 * WaitIO. */
#include <mpi.h>

#include "demo.h"

struct analysis {
    struct grid g;
    struct world w;
    struct rows mine;
    int rank;
    double *field;        /* my rows */
    double *shape[MODES]; /* modes on my rows */
    double **strip;       /* per process of `heat`: its rows of mine, then a checksum */
    struct rows *from;    /* which rows those are */
    waitio_req_t *req;
    struct report report;
};

static void *room(size_t n)
{
    void *p = calloc(n, sizeof(double));

    if (p == NULL)
        exit(1);
    return p;
}

static void prepare(struct analysis *s)
{
    size_t n = (size_t)s->g.n;
    int senders = s->w.size[HEAT];

    s->mine = rows_of(&s->g, s->w.size[ANALYSIS], s->rank);
    s->field = room(n * (size_t)s->mine.count);
    for (int k = 0; k < MODES; k++) {
        s->shape[k] = room(n * (size_t)s->mine.count);
        for (int i = 0; i < s->mine.count; i++)
            for (int j = 0; j < s->g.n; j++)
                s->shape[k][(size_t)i * n + (size_t)j] = mode(&s->g, k + 1, s->mine.first + i, j);
    }
    s->strip = room((size_t)senders);
    s->from = malloc(sizeof *s->from * (size_t)senders);
    s->req = malloc(sizeof *s->req * (size_t)senders);
    for (int p = 0; p < senders; p++) {
        s->from[p] = overlap(s->mine, rows_of(&s->g, senders, p));
        s->strip[p] = room(n * (size_t)s->from[p].count + 1);
    }
}

static void receive_field(struct analysis *s, int step)
{
    size_t n = (size_t)s->g.n;
    int k = 0;
    uint64_t sum;

    for (int p = 0; p < s->w.size[HEAT]; p++)
        if (s->from[p].count > 0)
            start_receive(&s->report, s->w.group, s->w.first[HEAT] + p, s->strip[p],
                          (n * (size_t)s->from[p].count + 1) * sizeof(double), TAG_FIELD,
                          &s->req[k++]);
    wait_for(&s->report, k, s->req);
    for (int p = 0; p < s->w.size[HEAT]; p++) {
        size_t count = n * (size_t)s->from[p].count;
        if (count == 0)
            continue;
        memcpy(&sum, s->strip[p] + count, sizeof sum);
        if (sum != checksum(s->strip[p], count, step))
            fail(&s->report, "analysis", step, "a checksum", 1);
        memcpy(s->field + n * (size_t)(s->from[p].first - s->mine.first), s->strip[p],
               count * sizeof(double));
    }
}

/* Amplitudes of the sine modes: the modes are orthogonal on the grid. */
static void spectrum(struct analysis *s, double amplitude[MODES])
{
    size_t n = (size_t)s->g.n * (size_t)s->mine.count;
    double sum[MODES] = {0};

    for (int k = 0; k < MODES; k++)
        for (size_t i = 0; i < n; i++)
            sum[k] += s->field[i] * s->shape[k][i];
    MPI_Allreduce(sum, amplitude, MODES, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int k = 0; k < MODES; k++)
        amplitude[k] *= 4 * s->g.h * s->g.h;
}

static void answer(struct analysis *s, double source, double *out, waitio_req_t *req)
{
    if (s->rank != 0)
        return;
    *out = source;
    for (int p = 0; p < s->w.size[HEAT]; p++)
        start_send(&s->report, s->w.group, s->w.first[HEAT] + p, out, sizeof *out, TAG_SOURCE,
                   &req[p]);
    wait_for(&s->report, s->w.size[HEAT], req);
}

int main(int argc, char **argv)
{
    struct analysis s = {.g = grid_from_arguments(argc, argv)};
    struct exact e = {.a1 = 1};
    struct report total = {0};
    double amplitude[MODES], first = 0, source, rate;
    waitio_req_t req;
    int wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    s.w = join("analysis", ANALYSIS);
    prepare(&s);
    for (int step = 0; step < s.g.steps; step++) {
        receive_field(&s, step);
        spectrum(&s, amplitude);
        answer(&s, SIGMA * amplitude[0], &source, s.req);
        if (step == 0)
            first = amplitude[0];
        check(&s.report, "analysis", step, "mode 1", amplitude[0] - e.a1);
        check(&s.report, "analysis", step, "mode 2", amplitude[1] - e.a2);
        check(&s.report, "analysis", step, "mode 3", amplitude[2]);
        check(&s.report, "analysis", step, "mode 4", amplitude[3]);
        if (s.rank == 0 && (step % 50 == 0 || step == s.g.steps - 1))
            printf("step %4d  amplitude of mode 1 %.6f, of mode 2 %.6f\n", step, amplitude[0],
                   amplitude[1]);
        exact_step(&s.g, &e);
    }
    /* Physics: the first mode of the heat equation decays at the rate 2 pi^2. */
    rate = -log(amplitude[0] / first) / ((s.g.steps - 1) * s.g.dt);
    if (!(fabs(rate / (2 * PI * PI) - 1) < 8 * s.g.h * s.g.h))
        fail(&s.report, "analysis", s.g.steps, "the decay rate", rate - 2 * PI * PI);
    if (s.rank == 0)
        printf("decay rate of mode 1: %.5f measured, 2 pi^2 = %.5f\n", rate, 2 * PI * PI);
    fflush(stdout);
    wrong = s.report.failures != 0;
    MPI_Reduce(&s.report, &total, 6, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&s.report.error, &total.error, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (s.rank == 0) {
        must(waitio_isend(s.w.group, 0, &total, sizeof total, TAG_REPORT, &req));
        must(waitio_wait(&req));
    }
    leave(&s.w);
    MPI_Finalize();
    return wrong;
}
