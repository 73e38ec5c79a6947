/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two components whose table comes from weights. By waitio_cpl.h alone, without MPI.
 *
 *     cells COMPONENT CONF CELLS SHARE HOW [TEXT]
 *
 * CELLS is a text: unit, corners, nx, ny, periodic and the number of cells, then for each its
 * index, mask, fraction, x, y, and the corners' x, then y. SHARE: block, cyclic, last (the first
 * process has nothing). HOW: file or method, with TEXT; conf: the configuration says so; both: the
 * program gives an entry, too. compA puts sin(index) as vA, or by CELLS_FIELD: lat: sin(latitude);
 * step: 1 and 0 on the two halves of the globe. CELLS_MASKED: compA's grid masks this index. compB
 * gets yA and prints it exactly.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "waitio_cpl.h"

static struct {
    int n, *index, *mask;
    double *fraction, *x, *y, *cx, *cy;
    struct waitio_cpl_cells cells;
} mine;

static int is_mine(const char *share, int i, int n, int rank, int size)
{
    if (strcmp(share, "cyclic") == 0)
        return i % size == rank;
    if (strcmp(share, "last") == 0 && size > 1)
        return rank > 0 && i % (size - 1) == rank - 1;
    return (int)((long)i * size / n) == rank;
}

static double number(FILE *in)
{
    double v = 0;

    if (fscanf(in, "%lf", &v) != 1)
        exit(4);
    return v;
}

static void numbers(FILE *in, double *to, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = number(in);
}

static void get_memory(size_t n, size_t corners)
{
    mine.index = calloc(n + 1, sizeof(int));
    mine.mask = calloc(n + 1, sizeof(int));
    mine.fraction = calloc(n + 1, sizeof(double));
    mine.x = calloc(n + 1, sizeof(double));
    mine.y = calloc(n + 1, sizeof(double));
    mine.cx = calloc((n + 1) * corners + 1, sizeof(double));
    mine.cy = calloc((n + 1) * corners + 1, sizeof(double));
}

static void read_cells(const char *path, const char *share, int rank, int size)
{
    FILE *in = fopen(path, "r");
    int head[6];

    if (in == NULL)
        exit(3);
    for (int i = 0; i < 6; i++)
        head[i] = (int)number(in);
    get_memory((size_t)head[5], (size_t)head[1]);
    for (int i = 0; i < head[5]; i++) {
        int k = mine.n, c = head[1];

        mine.index[k] = (int)number(in);
        mine.mask[k] = (int)number(in);
        numbers(in, &mine.fraction[k], 1);
        numbers(in, &mine.x[k], 1);
        numbers(in, &mine.y[k], 1);
        numbers(in, mine.cx + (size_t)c * (size_t)k, c);
        numbers(in, mine.cy + (size_t)c * (size_t)k, c);
        mine.n += is_mine(share, i, head[5], rank, size);
    }
    (void)fclose(in);
    mine.cells = (struct waitio_cpl_cells){.unit = head[0],
                                           .x = mine.x,
                                           .y = mine.y,
                                           .corners = head[1],
                                           .corner_x = mine.cx,
                                           .corner_y = mine.cy,
                                           .mask = mine.mask,
                                           .fraction = mine.fraction,
                                           .nx = head[2],
                                           .ny = head[3],
                                           .periodic = head[4]};
}

static void make_table(waitio_cpl_t cpl, char **argv)
{
    const int one[] = {1};
    const struct waitio_cpl_entries entry = {1, one, one, NULL, NULL, NULL};

    if (strcmp(argv[5], "file") == 0)
        waitio_cpl_map_file(cpl, "compA", "gA", "compB", "gB", 1, argv[6]);
    else if (strcmp(argv[5], "method") == 0)
        waitio_cpl_map_cells(cpl, "compA", "gA", "compB", "gB", 1, argv[6]);
    else if (strcmp(argv[5], "both") == 0)
        waitio_cpl_map(cpl, "compA", "gA", "compB", "gB", 1, &entry);
}

/* Lines of several processes would mix in one pipe. */
static void own_output(void)
{
    const char *folder = getenv("CELLS_OUT");
    char path[1000];

    (void)snprintf(path, sizeof path, "%s/%d", folder != NULL ? folder : ".", (int)getpid());
    if (folder != NULL && freopen(path, "w", stdout) == NULL)
        exit(5);
}

/* The grid's mask, beside that of the cells. */
static void mask_one(waitio_cpl_t cpl, const char *grid, int index)
{
    int *open = calloc((size_t)mine.n + 1, sizeof *open);

    for (int i = 0; i < mine.n; i++)
        open[i] = mine.index[i] != index;
    waitio_cpl_grid_mask(cpl, grid, open, (size_t)mine.n);
    free(open);
}

static double value(size_t i, size_t layer)
{
    const char *field = getenv("CELLS_FIELD");

    if (field == NULL)
        return sin((double)mine.index[i] + (double)layer);
    return strcmp(field, "lat") == 0 ? sin(mine.y[i] * 3.14159265358979323846 / 180)
                                     : sin(mine.x[i] * 3.14159265358979323846 / 180) > 0;
}

static void run(waitio_cpl_t cpl, int gets, int layers)
{
    size_t n = (size_t)mine.n, all = n * (size_t)layers;
    double *data = calloc(all + 1, sizeof *data);
    int fresh = 0;

    for (size_t i = 0; i < all; i++)
        data[i] = value(i % n, i / n);
    if (!gets)
        waitio_cpl_put(cpl, "vA", data, n, (size_t)layers, layers == 1);
    waitio_cpl_step(cpl, 10);
    if (gets)
        waitio_cpl_get(cpl, "yA", data, n, (size_t)layers, layers == 1, &fresh);
    for (size_t i = 0; gets && fresh && i < all; i++)
        printf("GET %zu %d %a\n", i / n, mine.index[i % n], data[i]);
    free(data);
}

int main(int argc, char **argv)
{
    waitio_cpl_t cpl;
    size_t layers = 0, points = 0;
    int n = 0, me = 0, size = 0, rank = 0;

    own_output();
    if (argc < 6 || waitio_cpl_open(argv[1], argv[2], &cpl) != 0)
        return 2;
    waitio_cpl_components(cpl, &n, &me);
    waitio_cpl_component_size(cpl, me, &size, &rank);
    read_cells(argv[3], argv[4], rank, size);
    waitio_cpl_grid(cpl, me == 0 ? "gA" : "gB", mine.index, (size_t)mine.n);
    if (getenv("CELLS_MASKED") != NULL && me == 0)
        mask_one(cpl, "gA", atoi(getenv("CELLS_MASKED")));
    waitio_cpl_grids_done(cpl);
    if (getenv("CELLS_NONE") == NULL)
        waitio_cpl_grid_cells(cpl, me == 0 ? "gA" : "gB", &mine.cells);
    make_table(cpl, argv);
    waitio_cpl_start(cpl);
    waitio_cpl_shape(cpl, me == 0 ? "vA" : "yA", &layers, &points);
    run(cpl, me == 1, (int)layers);
    waitio_cpl_close(&cpl);
    free(mine.index);
    free(mine.mask);
    free(mine.fraction);
    free(mine.x);
    free(mine.y);
    free(mine.cx);
    free(mine.cy);
    return waitio_finalize() != 0;
}
