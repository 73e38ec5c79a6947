/* SPDX-License-Identifier: BSD-3-Clause */
/* The same as faces.F90 by the C calls; the two may be partners. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <h3ouc.h>

enum { N = 12, LAYERS = 3 };

static int is_a, base, n, points[N];
static const char *me, *peer;

static void need(int is, const char *what)
{
    if (is)
        return;
    fprintf(stderr, "%s: WRONG: %s\n", me, what);
    MPI_Abort(MPI_COMM_WORLD, 9);
}

/* In the order of faces.F90, without its texts. */
static void messages(int rank)
{
    int numbers[3] = {base, 2 * base, 3 * base}, one = 0;
    double doubles[4] = {1.5 * base, 2.5 * base, 3.5 * base, 4.5 * base}, scalar = 0;
    float reals[2] = {0.25f * base, 0.5f * base}, others[2] = {0, 0};

    if (is_a) {
        h3ouc_send_array_int(me, peer, numbers, 3);
        h3ouc_send_array_double(me, peer, doubles, 4);
        h3ouc_send_float_array(peer, reals, 2);
        h3ouc_send_int(peer, 42);
        h3ouc_recv_double(peer, &scalar);
        need(scalar == -7.5, "scalar");
    } else {
        h3ouc_recv_array_int(me, peer, numbers, 3);
        h3ouc_recv_array_double(me, peer, doubles, 4);
        h3ouc_recv_float_array(peer, reals, 2);
        h3ouc_recv_int(peer, &one);
        need(numbers[0] == 1 && numbers[2] == 3 && doubles[3] == 4.5, "arrays");
        need(reals[0] == 0.25f && reals[1] == 0.5f && one == 42, "scalars");
        h3ouc_send_double(peer, -7.5);
    }
    for (int i = 0; i < 3; i++)
        numbers[i] = is_a ? 9 : 0;
    h3ouc_bcast_global_int("compA", numbers, 3);
    need(numbers[0] == 9 && numbers[2] == 9, "bcast_global");
    for (int i = 0; i < 4; i++)
        doubles[i] = is_a ? 0 : 8;
    h3ouc_bcast_model_double("compB", "compA", doubles, 4);
    need(doubles[0] == 8 && doubles[3] == 8, "bcast_model");
    if (rank == 0) {
        reals[0] = reals[1] = (float)base;
        h3ouc_isend_model_float(peer, 0, reals, 2);
        h3ouc_irecv_model_float(peer, 0, others, 2);
        h3ouc_isend_waitall();
        h3ouc_irecv_waitall();
        need(others[1] == -base, "isend_model");
        if (is_a)
            h3ouc_send_model_int(peer, 0, numbers, 3);
        else
            h3ouc_recv_model_int(peer, 0, numbers, 3);
    }
}

static void put(int step)
{
    double flat[N], deep[LAYERS * N];

    for (int i = 0; i < n; i++) {
        flat[i] = base * (1000 * step + points[i]);
        for (int k = 0; k < LAYERS; k++)
            deep[k * n + i] = base * (1000 * step + points[i] + 100 * (k + 1));
    }
    h3ouc_put_data_1d(is_a ? "flatA" : "flatB", flat);
    h3ouc_put_data_25d(is_a ? "deepA" : "deepB", deep);
}

static void get(int step)
{
    double flat[N], deep[LAYERS * N];
    int fresh = -1;

    h3ouc_get_data_1d(is_a ? "flatB" : "flatA", flat, &fresh);
    need(fresh == 1, "flat is due in each step");
    for (int i = 0; i < n; i++)
        need(flat[i] == -2 * base * (1000 * (step - 1) + points[i]), "flat");
    deep[0] = 77;
    h3ouc_get_data_25d(is_a ? "deepB" : "deepA", deep, &fresh);
    need(fresh == step % 2, "deep is due in each second step");
    need(fresh || deep[0] == 77, "touched");
    for (int k = 0; fresh && k < LAYERS; k++)
        for (int i = 0; i < n; i++)
            need(deep[k * n + i] == -2 * base * (1000 * (step - 1) + points[i] + 100 * (k + 1)),
                 "deep");
}

static void define(int rank, int size)
{
    int table[N], first = rank * N / size;
    double coef[N];

    n = (rank + 1) * N / size - first;
    for (int i = 0; i < n; i++)
        points[i] = first + n - i;
    for (int i = 0; i < N; i++) {
        table[i] = i + 1;
        coef[i] = 2;
    }
    h3ouc_def_grid(points, n, me, is_a ? "gA" : "gB", 20);
    h3ouc_end_grid_def();
    if (is_a) {
        h3ouc_set_interpolation_table(me, "compA", "gA", "compB", "gB", 1, table, table, coef, N);
        h3ouc_set_interpolation_table_no_index(me, "compB", "gB", "compA", "gA", 1);
    } else {
        h3ouc_set_interpolation_table_no_index(me, "compA", "gA", "compB", "gB", 1);
        h3ouc_set_interpolation_table(me, "compB", "gB", "compA", "gA", 1, table, table, coef, N);
    }
}

int main(int argc, char **argv)
{
    int time[6] = {2000, 2, 28, 23, 0, 0}, comm, group, size, rank, sum = 0, one = 1;
    char name[65] = "";
    double doubles[4];

    if (argc < 3)
        return 2;
    me = argv[1];
    is_a = strcmp(me, "compA") == 0;
    peer = is_a ? "compB" : "compA";
    base = is_a ? 1 : -1;
    h3ouc_init(argv[1], argv[2]);
    h3ouc_get_mpi_parameter(argv[1], &comm, &group, &size, &rank);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, h3ouc_get_my_comm());
    need(sum == size && h3ouc_get_my_rank() == rank, "MPI in the component");
    messages(rank);
    define(rank, size);
    for (int i = 0; i < 4; i++)
        doubles[i] = is_a ? 1.5 + i : 0;
    if (is_a) /* after a table with coefficients, to all processes */
        h3ouc_send_double_array(peer, doubles, 4);
    else
        h3ouc_recv_double_array(peer, doubles, 4);
    need(doubles[0] == 1.5 && doubles[3] == 4.5, "array after a table");
    h3ouc_get_put_data_name(1, name);
    need(h3ouc_get_num_of_put_data() == 2, "number of puts");
    need(strcmp(name, is_a ? "deepA" : "deepB") == 0, "name");
    h3ouc_init_time(time);
    put(0);
    for (int step = 1; step <= 4; step++) {
        h3ouc_set_time(argv[1], time, 3600);
        get(step);
        put(step);
        h3ouc_inc_calendar(time, 3600);
    }
    need(time[2] == 29 && time[3] == 3, "calendar");
    printf("ok %s\n", me);
    h3ouc_coupling_end(time);
    return 0;
}
