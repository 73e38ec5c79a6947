/* SPDX-License-Identifier: BSD-3-Clause */
/* The solver: slabs of rows, halos by MPI inside the block, fields and the source by WaitIO. */
#include <mpi.h>

#include "demo.h"

struct solver {
    struct grid g;
    struct world w;
    struct rows mine;
    int rank;
    double *u, *next; /* mine.count + 2 rows of n, the first and last are halos */
    double *mode2;    /* the shape of the source on my rows */
    double **strip;   /* per process of `analysis`: its rows of mine, then a checksum */
    double points[NPOINTS];
    double source;
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

static void prepare(struct solver *s)
{
    size_t n = (size_t)s->g.n;

    s->mine = rows_of(&s->g, s->w.size[HEAT], s->rank);
    s->u = room(n * (size_t)(s->mine.count + 2));
    s->next = room(n * (size_t)(s->mine.count + 2));
    s->mode2 = room(n * (size_t)s->mine.count);
    s->strip = room((size_t)s->w.size[ANALYSIS]);
    s->req = malloc(sizeof *s->req * (size_t)(s->w.size[ANALYSIS] + 2));
    for (int i = 0; i < s->mine.count; i++)
        for (int j = 0; j < s->g.n; j++) {
            s->u[(size_t)(i + 1) * n + (size_t)j] = mode(&s->g, 1, s->mine.first + i, j);
            s->mode2[(size_t)i * n + (size_t)j] = mode(&s->g, 2, s->mine.first + i, j);
        }
    for (int a = 0; a < s->w.size[ANALYSIS]; a++)
        s->strip[a] = room(n * (size_t)s->mine.count + 1);
}

static void exchange_halos(struct solver *s)
{
    int n = s->g.n, last = s->w.size[HEAT] - 1;
    int up = s->rank > 0 ? s->rank - 1 : MPI_PROC_NULL;
    int down = s->rank < last ? s->rank + 1 : MPI_PROC_NULL;
    double *first_row = s->u + n, *last_row = s->u + (size_t)s->mine.count * (size_t)n;

    MPI_Sendrecv(first_row, n, MPI_DOUBLE, up, 0, last_row + n, n, MPI_DOUBLE, down, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(last_row, n, MPI_DOUBLE, down, 1, s->u, n, MPI_DOUBLE, up, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* Start to send the field of this step, and to receive the source. Returns the number of requests.
 */
static int start_exchange(struct solver *s, int step)
{
    size_t n = (size_t)s->g.n;
    int k = 0, row, column, points = 0;
    uint64_t sum;

    start_receive(&s->report, s->w.group, s->w.first[ANALYSIS], &s->source, sizeof s->source,
                  TAG_SOURCE, &s->req[k++]);
    for (int a = 0; a < s->w.size[ANALYSIS]; a++) {
        struct rows o = overlap(s->mine, rows_of(&s->g, s->w.size[ANALYSIS], a));
        size_t count = n * (size_t)o.count;
        if (count == 0)
            continue;
        memcpy(s->strip[a], s->u + n * (size_t)(o.first - s->mine.first + 1),
               count * sizeof(double));
        sum = checksum(s->strip[a], count, step);
        memcpy(s->strip[a] + count, &sum, sizeof sum);
        start_send(&s->report, s->w.group, s->w.first[ANALYSIS] + a, s->strip[a],
                   (count + 1) * sizeof(double), TAG_FIELD, &s->req[k++]);
    }
    for (int i = 0; i < NPOINTS; i++) {
        point_at(&s->g, i, &row, &column);
        if (row >= s->mine.first && row < s->mine.first + s->mine.count)
            s->points[points++] = s->u[n * (size_t)(row - s->mine.first + 1) + (size_t)column];
    }
    if (points > 0)
        start_send(&s->report, s->w.group, s->w.first[PROBE], s->points,
                   sizeof(double) * (size_t)points, TAG_POINTS, &s->req[k++]);
    return k;
}

static void diffuse(struct solver *s)
{
    size_t n = (size_t)s->g.n;
    double r = s->g.dt / (s->g.h * s->g.h);

    for (size_t i = 1; i <= (size_t)s->mine.count; i++) {
        const double *u = s->u + i * n;
        double *v = s->next + i * n;
        for (size_t j = 0; j < n; j++) {
            double left = j > 0 ? u[j - 1] : 0, right = j + 1 < n ? u[j + 1] : 0;
            v[j] = u[j] + r * (left + right + (u - n)[j] + (u + n)[j] - 4 * u[j]);
        }
    }
}

static void add_source(struct solver *s)
{
    size_t n = (size_t)s->g.n * (size_t)s->mine.count;
    double *swap = s->u;

    for (size_t i = 0; i < n; i++)
        s->next[(size_t)s->g.n + i] += s->g.dt * s->source * s->mode2[i];
    s->u = s->next;
    s->next = swap;
}

/* Every value of the field against the exact solution of the scheme. */
static void check_field(struct solver *s, const struct exact *e, int step)
{
    double worst = 0;

    for (int i = 0; i < s->mine.count; i++)
        for (int j = 0; j < s->g.n; j++) {
            size_t at = (size_t)(i + 1) * (size_t)s->g.n + (size_t)j;
            int row = s->mine.first + i;
            double error =
                s->u[at] - e->a1 * mode(&s->g, 1, row, j) - e->a2 * mode(&s->g, 2, row, j);
            worst = fabs(error) > worst || error != error ? fabs(error) : worst;
        }
    check(&s->report, "heat", step, "the field", worst);
}

static void print_row(const char *name, const char *mpi, int processes, int steps,
                      const struct report *r)
{
    printf("%-9s %-9s %5d %6d %9.0f %9.2f %9.0f %9.2f %9.3f %9.1e  %s\n", name, mpi, processes,
           steps, r->sent, r->sent_bytes / 1e6, r->got, r->got_bytes / 1e6, r->wait_s / processes,
           r->error, r->failures == 0 ? "ok" : "WRONG");
}

/* The other blocks' first processes report to the first of this one. */
static int print_table(struct solver *s, const struct report *heat)
{
    static const char *const name[] = {"heat", "analysis", "probe"};
    static const char *const mpi[] = {"Open MPI", "MPICH", "none"};
    struct report all[BLOCKS] = {*heat};
    waitio_req_t req;
    double failures = 0;

    for (int p = ANALYSIS; p < BLOCKS; p++) {
        must(waitio_irecv(s->w.group, s->w.first[p], &all[p], sizeof all[p], TAG_REPORT, &req));
        must(waitio_wait(&req));
    }
    printf("\n%-9s %-9s %5s %6s %9s %9s %9s %9s %9s %9s\n", "block", "MPI", "procs", "steps",
           "sent", "MB", "received", "MB", "waited s", "error");
    for (int p = 0; p < BLOCKS; p++) {
        print_row(name[p], mpi[p], s->w.size[p], s->g.steps, &all[p]);
        failures += all[p].failures;
    }
    printf("(waited: mean over the block's processes; error: largest deviation from the exact "
           "solution;\n"
           " sent of all blocks = received of all blocks: %s)\n",
           all[0].sent_bytes + all[1].sent_bytes + all[2].sent_bytes ==
                   all[0].got_bytes + all[1].got_bytes + all[2].got_bytes
               ? "yes"
               : (failures++, "NO"));
    printf("%s\n",
           failures == 0 ? "every number agrees" : "NUMBERS ARE WRONG: see the messages above");
    fflush(stdout);
    return failures != 0;
}

int main(int argc, char **argv)
{
    struct solver s = {.g = grid_from_arguments(argc, argv)};
    struct exact e = {.a1 = 1};
    struct report total = {0};
    int wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &s.rank);
    s.w = join("heat", HEAT);
    prepare(&s);
    for (int step = 0; step < s.g.steps; step++) {
        int pending = start_exchange(&s, step);
        exchange_halos(&s);
        diffuse(&s); /* while the messages travel */
        wait_for(&s.report, pending, s.req);
        check(&s.report, "heat", step, "the source", s.source - SIGMA * e.a1);
        add_source(&s);
        exact_step(&s.g, &e);
        if (step % 20 == 0)
            check_field(&s, &e, step);
    }
    check_field(&s, &e, s.g.steps);
    wrong = s.report.failures != 0;
    MPI_Reduce(&s.report, &total, 6, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&s.report.error, &total.error, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (s.rank == 0)
        wrong |= print_table(&s, &total);
    leave(&s.w);
    MPI_Finalize();
    return wrong;
}
