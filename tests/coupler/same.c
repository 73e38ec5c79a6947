/* SPDX-License-Identifier: BSD-3-Clause */
/* Each component puts and gets a variable of one name, x, which is two: from compA to compB without
 * layers on grids of 4 points, back with 3 layers on grids of 2 points. By the published C calls,
 * which say no sizes. */
#include <stdio.h>
#include <string.h>

#include <h3ouc.h>

enum { WIDE = 4, SMALL = 2, LAYERS = 3 };

static const int points[WIDE] = {1, 2, 3, 4};

static void table(const char *me, int gives, const char *from, const char *to, char grid, int n)
{
    const double coef[WIDE] = {1, 1, 1, 1};
    const char put[] = {grid, from[4], '\0'}, get[] = {grid, to[4], '\0'};

    if (gives)
        h3ouc_set_interpolation_table(me, from, put, to, get, 1, points, points, coef, n);
    else
        h3ouc_set_interpolation_table_no_index(me, from, put, to, get, 1);
}

static void put(int is_a, int step)
{
    double flat[WIDE], deep[LAYERS * SMALL];

    for (int i = 0; i < WIDE; i++)
        flat[i] = 100 * step + i;
    for (int i = 0; i < LAYERS * SMALL; i++)
        deep[i] = -100 * step - i;
    if (is_a)
        h3ouc_put_data_1d("x", flat);
    else
        h3ouc_put_data_25d("x", deep);
}

static int get_is_right(int is_a, int step)
{
    double got[LAYERS * SMALL + 1] = {0, 0, 0, 0, 77, 77, 77};
    int fresh = 0, n = is_a ? LAYERS * SMALL : WIDE, right = 1;

    if (is_a)
        h3ouc_get_data_25d("x", got, &fresh);
    else
        h3ouc_get_data_1d("x", got, &fresh);
    for (int i = 0; i < n; i++)
        right &= got[i] == (is_a ? -1 : 1) * (100 * (step - 1) + i);
    return right && fresh && got[n] == 77;
}

int main(int argc, char **argv)
{
    int time[6] = {2000, 1, 1, 0, 0, 0}, is_a;

    if (argc < 3)
        return 2;
    is_a = strcmp(argv[1], "compA") == 0;
    h3ouc_init(argv[1], argv[2]);
    h3ouc_def_grid(points, WIDE, argv[1], is_a ? "gA" : "gB", 20);
    h3ouc_def_grid(points, SMALL, argv[1], is_a ? "hA" : "hB", 20);
    h3ouc_end_grid_def();
    table(argv[1], is_a, "compA", "compB", 'g', WIDE);
    table(argv[1], is_a, "compB", "compA", 'h', SMALL);
    h3ouc_init_time(time);
    put(is_a, 0);
    for (int step = 1; step <= 2; step++) {
        h3ouc_set_time(argv[1], time, 3600);
        if (!get_is_right(is_a, step)) {
            (void)fprintf(stderr, "%s got something else\n", argv[1]);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
        put(is_a, step);
    }
    printf("ok\n");
    h3ouc_coupling_end(time);
    return 0;
}
