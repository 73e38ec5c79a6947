/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Remapping by either side: from 60 points of A to 24 of B, by coefficients of very different
 * sizes, with masks on both sides. By waitio_cpl.h alone; prints what is got, and what it cost.
 *
 *     sides compA|compB CONF cyclic|block STEPS early|late|same|none NAME...
 *
 * Names begin with their type (d, f, i; e is as d) or with v: a vector of 2 layers; sums of i2 are
 * too great. A second letter a or b: first or second component of a vector, as the two layers of v1
 * are. All are put, and got, in one call. compB gives a remapping function of its own before the
 * tables (early), after them (late), or never; or one that lets the coupler do it (same). h is as
 * d, on a second pair of grids, whose table has the same points and tag.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "waitio_cpl.h"

enum { A = 60, B = 24, PER_POINT = 5, UNTOUCHED = -7 };

static int n, rank, size, index_of[A], open_of[A];
static unsigned state = 12345;

static unsigned chance(unsigned below)
{
    state = state * 1103515245u + 12345u;
    return (state >> 8) % below;
}

/* Neighbours mostly, so that most points of B have all sources in one process of A. */
static void define_tables(waitio_cpl_t cpl, int gives)
{
    static int from[B * PER_POINT], to[B * PER_POINT];
    static double coef[B * PER_POINT], cosine[B * PER_POINT], sine[B * PER_POINT];
    struct waitio_cpl_entries entries = {0, from, to, coef, cosine, sine};

    for (int i = 0; i < B - 1; i++) /* the last point has none */
        for (int k = 0; k < PER_POINT - i % 3; k++) {
            size_t e = entries.n++;

            from[e] = 1 + (i * A / B + k + (chance(20) == 0 ? 30 : 0)) % A;
            to[e] = 1 + i;
            coef[e] = ((int)chance(2000) - 1000) * (chance(2) ? 1e-9 : 1e3);
            cosine[e] = 1.0 / (1 + chance(9));
            sine[e] = 1.0 / (1 + chance(7)) - 0.5;
        }
    waitio_cpl_map(cpl, "compA", "gA", "compB", "gB", 1, gives ? &entries : NULL);
    for (size_t e = 0; e < entries.n; e++)
        coef[e] *= 3;
    waitio_cpl_map(cpl, "compA", "hA", "compB", "hB", 1, gives ? &entries : NULL);
}

static void same_function(void *with, const struct waitio_cpl_remapping *job)
{
    if (waitio_cpl_remap(*(waitio_cpl_t *)with, job) != 0)
        exit(4);
}

static void own_function(void *with, const struct waitio_cpl_remapping *job)
{
    (void)with;
    for (size_t i = 0; i < job->rows * job->layers; i++) {
        job->to[i] = 42;
        if (job->exchange_tag > 10000) /* a vector: 1 and 2 where its sources are there */
            job->to[i] = job->layers == 2 && job->from[job->sources] - job->from[0] > 0.06
                             ? (double)(1 + i / job->rows)
                             : -1;
    }
}

/* Before the tables are defined, or behind. */
static void give_function(waitio_cpl_t cpl, const char *function, int behind)
{
    static waitio_cpl_t with;

    with = cpl;
    if (strcmp(function, behind ? "late" : "early") == 0)
        waitio_cpl_remap_by(cpl, own_function, NULL);
    if (!behind && strcmp(function, "same") == 0)
        waitio_cpl_remap_by(cpl, same_function, &with);
}

static void set_up(waitio_cpl_t cpl, int sends, int cyclic, const char *function)
{
    int points = sends ? A : B;

    for (int i = 0; i < points; i++)
        if ((cyclic ? i % size : i * size / points) == rank) {
            open_of[n] = sends ? i % 13 != 5 : i % 7 != 3;
            index_of[n++] = i + 1;
        }
    waitio_cpl_grid(cpl, sends ? "gA" : "gB", index_of, (size_t)n);
    waitio_cpl_grid_mask(cpl, sends ? "gA" : "gB", open_of, (size_t)n);
    waitio_cpl_grid(cpl, sends ? "hA" : "hB", index_of, (size_t)n);
    waitio_cpl_grid_mask(cpl, sends ? "hA" : "hB", open_of, (size_t)n);
    waitio_cpl_grids_done(cpl);
    if (!sends)
        give_function(cpl, function, 0);
    define_tables(cpl, sends && rank == 0);
    if (!sends)
        give_function(cpl, function, 1);
    waitio_cpl_start(cpl);
}

enum { MOST = 24 };
static double real8[MOST][2 * A];
static float real4[MOST][2 * A];
static int whole[MOST][2 * A];

/* The k-th of the fields. */
static struct waitio_cpl_field field(const char *name, int k)
{
    size_t layers = name[0] == 'v' ? 2 : 1;

    if (name[0] == 'f')
        return (struct waitio_cpl_field){name, WAITIO_CPL_REAL4, real4[k], (size_t)n, layers, 0};
    if (name[0] == 'i')
        return (struct waitio_cpl_field){name, WAITIO_CPL_INT, whole[k], (size_t)n, layers, 0};
    return (struct waitio_cpl_field){name, WAITIO_CPL_REAL8, real8[k], (size_t)n, layers, 0};
}

/* What A has: no round numbers, so that each sum needs its order. */
static double value(int step, int i)
{
    return (step * 1000.7 + index_of[i % n] * 1.3 + (i >= n ? 0.21 : 0)) / 3;
}

/* All of them in one call, as bundles want it. Names that end with b are second components. */
static void put(waitio_cpl_t cpl, char **names, int count, int step)
{
    struct waitio_cpl_field f[MOST];

    for (int k = 0; k < count; k++) {
        int first = names[k][1] == 'b' ? n : 0;

        f[k] = field(names[k], k);
        for (int i = 0; i < 2 * n - first; i++) {
            real8[k][i] = value(step, first + i);
            real4[k][i] = (float)value(step, first + i);
            whole[k][i] = (int)value(step, i) % 100 * (names[k][1] == '2' ? 20000000 : 1);
        }
    }
    waitio_cpl_put_fields(cpl, f, (size_t)count);
}

static void print(const struct waitio_cpl_field *f, int k, int step)
{
    for (int i = 0; f->fresh && i < n * (int)f->layers; i++)
        printf("GOT %s %d %d %d %a\n", f->name, step, index_of[i % n], i / n,
               f->name[0] == 'f'   ? (double)real4[k][i]
               : f->name[0] == 'i' ? (double)whole[k][i]
                                   : real8[k][i]);
}

static void get(waitio_cpl_t cpl, char **names, int count, int step)
{
    struct waitio_cpl_field f[MOST];

    for (int k = 0; k < count; k++) {
        f[k] = field(names[k], k);
        for (int i = 0; i < 2 * n; i++)
            real8[k][i] = real4[k][i] = whole[k][i] = UNTOUCHED;
    }
    waitio_cpl_get_fields(cpl, f, (size_t)count);
    for (int k = 0; k < count; k++)
        print(&f[k], k, step);
}

static void print_costs(waitio_cpl_t cpl)
{
    struct waitio_cpl_costs c;

    for (int i = 0; waitio_cpl_statistics(cpl, i, &c) == 0; i++)
        printf("COST %s %d %lld\n", c.variable, c.gets, (long long)c.bytes);
}

int main(int argc, char **argv)
{
    waitio_cpl_t cpl;
    int components = 0, mine = 0, sends, steps;
    char path[1000];

    if (argc < 7 || argc - 6 > MOST || waitio_cpl_open(argv[1], argv[2], &cpl) != 0)
        return 2;
    waitio_cpl_components(cpl, &components, &mine);
    waitio_cpl_component_size(cpl, mine, &size, &rank);
    (void)snprintf(path, sizeof path, "%s/%s.%d", getenv("PUPPET_OUT"), argv[1], rank);
    if (freopen(path, "w", stdout) == NULL)
        return 3;
    sends = strcmp(argv[1], "compA") == 0;
    set_up(cpl, sends, strcmp(argv[3], "cyclic") == 0, argv[5]);
    steps = (int)strtol(argv[4], NULL, 10);
    if (sends)
        put(cpl, argv + 6, argc - 6, 0);
    for (int s = 1; s <= steps; s++) {
        waitio_cpl_step(cpl, 10);
        if (sends)
            put(cpl, argv + 6, argc - 6, s);
        else
            get(cpl, argv + 6, argc - 6, s);
    }
    print_costs(cpl);
    (void)fflush(stdout);
    waitio_cpl_close(&cpl);
    return waitio_finalize() != 0;
}
