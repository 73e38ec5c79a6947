/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two components, "a" and "b", couple in turns: b runs each interval after a, so a step of a is a
 * window there and a window back. Windows are n doubles in all, remapped.
 *
 *     bench_coupler COMPONENT CONF POINTS name=value...
 *
 *   steps=N     of a batch, of which there are seven         layers=L   the configuration's
 *   entries=E   of the table for each point: 4 neighbours, or 1, the nearest
 *   irregular=1 neighbours and coefficients of a point are no others': no row is like the one
 * before bare=1      the same messages without the coupler, too: what it adds to them. And "floor":
 * with a copy at the put, and a loop over coefficients and places at the get scatter=1   points of
 * b lie cyclically over its processes: each needs points of all of a
 *
 * Writes JSON lines: "window" (seconds, half a step), "bare", "map" (set-up of both tables, the
 * slowest process), "begin" and "ready" (CLOCK_MONOTONIC of each process).
 */
#include "common.h"

#include <stdint.h>
#include <string.h>

#include "waitio_cpl.h"

struct side {
    waitio_cpl_t cpl;
    int is_b, size, rank, partners;
    long points, steps; /* of the whole grid; of a batch */
    size_t entries;     /* of a point */
    size_t layers;
    int irregular;
    int *index;
    size_t n;
    double *data;
};

static void die(const char *what)
{
    fprintf(stderr, "bench_coupler: %s: %s\n", what, waitio_cpl_last_error());
    exit(1);
}

static void make_grid(struct side *s, int scatter)
{
    s->index = bench_buffer(((size_t)s->points / (size_t)s->size + 2) * sizeof *s->index);
    for (long i = 0; i < s->points; i++)
        if (s->is_b && scatter ? i % s->size == s->rank
                               : (i * s->size) / s->points == (long)s->rank)
            s->index[s->n++] = (int)i + 1;
    if (waitio_cpl_grid(s->cpl, s->is_b ? "gb" : "ga", s->index, s->n) != 0 ||
        waitio_cpl_grids_done(s->cpl) != 0)
        die("grid");
}

/* The k-th source of a point, of n; and its coefficient. */
static long source_of(const struct side *s, long point, size_t k, long n)
{
    return (point + (s->irregular ? point * 7919 % 61 : 0) + (long)k) % n;
}

static double coef_of(const struct side *s, long point, size_t k)
{
    static const double coef[] = {0.4, 0.3, 0.2, 0.1};

    return s->entries == 1 ? 1 : coef[k] * (1 + (s->irregular ? (double)(point % 1021) / 4096 : 0));
}

/* Neighbours; the receivers give the entries of their points. */
static void make_table(struct side *s, int to_b)
{
    int mine = to_b == s->is_b;
    size_t each = s->entries, n = mine ? each * s->n : 0;
    int *send = bench_buffer(n * sizeof *send + 1), *receive = bench_buffer(n * sizeof *send + 1);
    double *weight = bench_buffer(n * sizeof *weight + 1);
    struct waitio_cpl_entries entries = {n, send, receive, weight, NULL, NULL};

    for (size_t i = 0; i < n; i++) {
        send[i] = (int)source_of(s, s->index[i / each] - 1, i % each, s->points) + 1;
        receive[i] = s->index[i / each];
        weight[i] = coef_of(s, s->index[i / each] - 1, i % each);
    }
    if (waitio_cpl_map(s->cpl, to_b ? "a" : "b", to_b ? "ga" : "gb", to_b ? "b" : "a",
                       to_b ? "gb" : "ga", 1, mine ? &entries : NULL) != 0)
        die("map");
    free(send);
    free(receive);
    free(weight);
}

static void put(struct side *s)
{
    if (waitio_cpl_put(s->cpl, s->is_b ? "vb" : "va", s->data, s->n, s->layers, s->layers == 1) !=
        0)
        die("put");
}

static void step(struct side *s)
{
    int fresh = 0;

    if (waitio_cpl_step(s->cpl, 1) != 0 ||
        waitio_cpl_get(s->cpl, s->is_b ? "ya" : "yb", s->data, s->n, s->layers, s->layers == 1,
                       &fresh) != 0)
        die("step");
    put(s);
}

static void run(struct side *s)
{
    double v[BENCH_BATCHES];

    put(s);
    for (long i = 0; i < s->steps / 4 + 2; i++)
        step(s);
    for (int b = 0; b < BENCH_BATCHES; b++) {
        double t = bench_now();

        for (long i = 0; i < s->steps; i++)
            step(s);
        v[b] = (bench_now() - t) / (double)s->steps / 2;
    }
    if (!s->is_b && s->rank == 0)
        bench_report("window", (size_t)s->points * s->layers * sizeof(double),
                     bench_median(v, BENCH_BATCHES));
}

/* What every coupler does at least with a field, beside the message: the program may change its
 * array after a put, so that it must be copied; and the sums read a table. */
struct floor {
    uint32_t *place;
    double *coef;
};

static struct floor make_floor(const struct side *s)
{
    size_t n = s->n * s->entries;
    struct floor f = {bench_buffer(n * sizeof *f.place + 1), bench_buffer(n * sizeof *f.coef + 1)};

    for (size_t i = 0; i < n; i++) {
        f.place[i] = (uint32_t)source_of(s, (long)(i / s->entries), i % s->entries, (long)s->n);
        f.coef[i] = coef_of(s, (long)(i / s->entries), i % s->entries);
    }
    return f;
}

static void sum_four(const struct floor *f, const double *from, double *to, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double sum = 0;

        for (size_t k = 0; k < 4; k++)
            sum += f->coef[4 * i + k] * from[f->place[4 * i + k]];
        to[i] = sum;
    }
}

static void sum_up(const struct side *s, const struct floor *f, const double *from)
{
    for (size_t layer = 0; layer < s->layers; layer++, from += s->n)
        if (s->entries == 1)
            for (size_t i = 0; i < s->n; i++)
                s->data[layer * s->n + i] = 0 + from[f->place[i]];
        else
            sum_four(f, from, s->data + layer * s->n, s->n);
}

/* What the coupler sends, without it: one to one, in turns. */
static void turn(struct side *s, int sends, double *buffer, const struct floor *f)
{
    enum { HEAD = 8 };
    int count = (int)(s->n * s->layers) + HEAD;

    if (sends && f != NULL)
        memcpy(buffer + HEAD, s->data, s->n * s->layers * sizeof *buffer);
    if ((sends ? waitio_cpl_send(s->cpl, !s->is_b, s->rank, 1, buffer, count, WAITIO_MPI_DOUBLE)
               : waitio_cpl_recv(s->cpl, !s->is_b, s->rank, 1, buffer, count, WAITIO_MPI_DOUBLE)) !=
        0)
        die("message");
    if (!sends && f != NULL)
        sum_up(s, f, buffer + HEAD);
}

static void run_bare(struct side *s, const struct floor *f)
{
    double *sent = bench_buffer((s->n * s->layers + 8) * sizeof *sent), v[BENCH_BATCHES];
    double *got = bench_buffer((s->n * s->layers + 8) * sizeof *got);

    for (int b = -1; b < BENCH_BATCHES; b++) {
        double t = bench_now();

        for (long i = 0; i < s->steps; i++)
            for (int back = 0; back < 2; back++)
                turn(s, back == s->is_b, back == s->is_b ? sent : got, f);
        if (b >= 0)
            v[b] = (bench_now() - t) / (double)s->steps / 2;
    }
    if (!s->is_b && s->rank == 0)
        bench_report(f != NULL ? "floor" : "bare", (size_t)s->points * s->layers * sizeof(double),
                     bench_median(v, BENCH_BATCHES));
    free(sent);
    free(got);
}

/* The slowest process's. */
static double slowest(struct side *s, double seconds)
{
    WAITIO_MPI_Comm own, all;
    double most = 0;

    if (waitio_cpl_communicators(s->cpl, &own, &all) != 0 ||
        WAITIO_MPI_Allreduce(&seconds, &most, 1, WAITIO_MPI_DOUBLE, WAITIO_MPI_MAX, all) != 0)
        die("allreduce");
    return most;
}

int main(int argc, char **argv)
{
    struct side s = {.points = 100};
    double begin = bench_now(), before, spent;
    int other = 0;

    if (argc < 4 || waitio_cpl_open(argv[1], argv[2], &s.cpl) != 0)
        die("usage: bench_coupler a|b CONF POINTS [name=value...]");
    s.is_b = argv[1][0] == 'b';
    s.points = strtol(argv[3], NULL, 10);
    s.steps = strtol(bench_argument(argc, argv, "steps", "100"), NULL, 10);
    s.layers = (size_t)strtol(bench_argument(argc, argv, "layers", "1"), NULL, 10);
    s.entries = bench_argument(argc, argv, "entries", "4")[0] == '1' ? 1 : 4;
    s.irregular = bench_argument(argc, argv, "irregular", "0")[0] == '1';
    if (waitio_cpl_component_size(s.cpl, s.is_b, &s.size, &s.rank) != 0 ||
        waitio_cpl_component_size(s.cpl, !s.is_b, &s.partners, &other) != 0)
        die("size");
    make_grid(&s, bench_argument(argc, argv, "scatter", "0")[0] == '1');
    before = slowest(&s, 0) + bench_now();
    make_table(&s, 1);
    make_table(&s, 0);
    spent = bench_now() - before;
    if (waitio_cpl_start(s.cpl) != 0)
        die("start");
    bench_report("begin", 0, begin);
    bench_report("ready", 0, bench_now());
    spent = slowest(&s, spent);
    if (!s.is_b && s.rank == 0)
        bench_report("map", (size_t)s.points * sizeof(double), spent);
    s.data = bench_buffer(s.n * s.layers * sizeof *s.data + 1);
    if (bench_argument(argc, argv, "bare", "0")[0] == '1') {
        struct floor floor = make_floor(&s);

        run_bare(&s, NULL); /* before: what the last step owes is sent at the end */
        run_bare(&s, &floor);
        free(floor.place);
        free(floor.coef);
    }
    if (s.steps > 0)
        run(&s);
    if (waitio_cpl_close(&s.cpl) != 0)
        die("close");
    return waitio_finalize() != 0;
}
