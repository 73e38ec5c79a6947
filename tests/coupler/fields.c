/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fields of all types, masks, bundles and lags, by waitio_cpl.h alone; prints what is got.
 *
 *     fields compA|compB CONF cyclic|block STEPS NAME...
 *
 * Both grids have the points 1..12; point 3 of A and point 4 of B are masked. A point of B is the
 * mean of two of A: i and i + 1. Names begin with their type (d, f, i); compA puts 100 s + i in
 * step s, all names in one call, and compB gets them all in one call. Prints NAME STEP INDEX VALUE,
 * U for a value that was left untouched, F for a field that was not fresh.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "waitio_cpl.h"

enum { POINTS = 12, MOST = 8, UNTOUCHED = -7 };

static int n, rank, size, index_of[POINTS], open_of[POINTS];

struct array {
    double real8[POINTS];
    float real4[POINTS];
    int whole[POINTS];
};

static void set(struct array *a, int i, double v)
{
    a->real8[i] = v;
    a->real4[i] = (float)v;
    a->whole[i] = (int)v;
}

static void fields(char **names, int count, struct array *arrays, struct waitio_cpl_field *out)
{
    for (int k = 0; k < count; k++) {
        char type = names[k][0];

        out[k] = (struct waitio_cpl_field){
            names[k], WAITIO_CPL_REAL8, arrays[k].real8, (size_t)n, 1, -1};
        if (type == 'f') {
            out[k].type = WAITIO_CPL_REAL4;
            out[k].data = arrays[k].real4;
        } else if (type == 'i') {
            out[k].type = WAITIO_CPL_INT;
            out[k].data = arrays[k].whole;
        }
    }
}

static void put(waitio_cpl_t cpl, char **names, int count, int step)
{
    struct array arrays[MOST];
    struct waitio_cpl_field f[MOST];

    for (int k = 0; k < count; k++)
        for (int i = 0; i < n; i++)
            set(&arrays[k], i, 100 * step + index_of[i]);
    fields(names, count, arrays, f);
    waitio_cpl_put_fields(cpl, f, (size_t)count);
}

static void get(waitio_cpl_t cpl, char **names, int count, int step)
{
    struct array arrays[MOST];
    struct waitio_cpl_field f[MOST];

    for (int k = 0; k < count; k++)
        for (int i = 0; i < n; i++)
            set(&arrays[k], i, UNTOUCHED);
    fields(names, count, arrays, f);
    waitio_cpl_get_fields(cpl, f, (size_t)count);
    for (int k = 0; k < count; k++)
        for (int i = 0; i < n; i++) {
            double v = f[k].type == WAITIO_CPL_REAL8   ? arrays[k].real8[i]
                       : f[k].type == WAITIO_CPL_REAL4 ? (double)arrays[k].real4[i]
                                                       : (double)arrays[k].whole[i];

            printf("GOT %s %d %d ", names[k], step, index_of[i]);
            if (v == UNTOUCHED)
                printf("%s\n", f[k].fresh ? "U" : "F");
            else
                printf("%.17g\n", v);
        }
}

static void set_up(waitio_cpl_t cpl, int sends, int cyclic)
{
    const char *grid = sends ? "gA" : "gB";
    int from[2 * POINTS], to[2 * POINTS];
    double half[2 * POINTS];
    struct waitio_cpl_entries entries = {2 * POINTS - 1, from, to, half, NULL, NULL};

    for (int i = 0; i < POINTS; i++)
        if ((cyclic ? i % size : i * size / POINTS) == rank) {
            open_of[n] = i + 1 != (sends ? 3 : 4);
            index_of[n++] = i + 1;
        }
    for (int i = 0; i < 2 * POINTS - 1; i++) {
        from[i] = 1 + (i + 1) / 2;
        to[i] = 1 + i / 2;
        half[i] = i == 2 * POINTS - 2 ? 1 : 0.5;
    }
    waitio_cpl_grid(cpl, grid, index_of, (size_t)n);
    waitio_cpl_grid_mask(cpl, grid, open_of, (size_t)n);
    waitio_cpl_grids_done(cpl);
    waitio_cpl_map(cpl, "compA", "gA", "compB", "gB", 1, sends && rank == 0 ? &entries : NULL);
    waitio_cpl_start(cpl);
}

/* Who waited for whom. */
static void print_costs(waitio_cpl_t cpl)
{
    struct waitio_cpl_costs c;

    for (int i = 0; waitio_cpl_statistics(cpl, i, &c) == 0; i++)
        printf("COST %d %s %s %d %d %lld %lld %lld %.6f %.6f %.6f %lld %d\n", rank, c.component,
               c.variable, c.variables, c.gets, (long long)c.exchanges, (long long)c.messages,
               (long long)c.bytes, c.waited, c.worked, c.longest, (long long)c.longest_at,
               c.longest_process);
}

/* Lines of several processes would mix in one pipe. */
static void own_output(const char *me)
{
    const char *folder = getenv("PUPPET_OUT");
    char path[1000];

    (void)snprintf(path, sizeof path, "%s/%s.%d", folder != NULL ? folder : ".", me, (int)getpid());
    if (folder != NULL && freopen(path, "w", stdout) == NULL)
        exit(5);
}

int main(int argc, char **argv)
{
    waitio_cpl_t cpl;
    int all = 0, mine = 0, sends, steps;

    if (argc < 6 || argc - 5 > MOST || waitio_cpl_open(argv[1], argv[2], &cpl) != 0)
        return 2;
    own_output(argv[1]);
    waitio_cpl_components(cpl, &all, &mine);
    waitio_cpl_component_size(cpl, mine, &size, &rank);
    sends = strcmp(argv[1], "compA") == 0;
    steps = (int)strtol(argv[4], NULL, 10);
    set_up(cpl, sends, strcmp(argv[3], "cyclic") == 0);
    if (sends)
        put(cpl, argv + 5, argc - 5, 0);
    for (int s = 1; s <= steps; s++) {
        if (sends && s == steps && getenv("LATE") != NULL)
            (void)nanosleep(&(struct timespec){0, 300000000}, NULL);
        waitio_cpl_step(cpl, 10);
        if (sends)
            put(cpl, argv + 5, argc - 5, s);
        else
            get(cpl, argv + 5, argc - 5, s);
    }
    print_costs(cpl);
    waitio_cpl_close(&cpl);
    return waitio_finalize() != 0;
}
