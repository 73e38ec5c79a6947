/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plain MPI program: sorting by samples. Nothing in it knows WaitIO; with waitio_mpi_rename.h in
 * the place of mpi.h it runs across parallel blocks.
 */
#ifdef FOR_WAITIO
#include <waitio_mpi_rename.h>
#else
#include <mpi.h>
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EACH = 5000 };

struct item {
    double key;
    int owner;
};

static int by_key(const void *a, const void *b)
{
    double x = ((const struct item *)a)->key, y = ((const struct item *)b)->key;
    return x < y ? -1 : x > y;
}

static MPI_Datatype item_type(void)
{
    struct item probe = {0, 0};
    int lengths[2] = {1, 1};
    MPI_Aint places[2], start;
    MPI_Datatype members[2] = {MPI_DOUBLE, MPI_INT}, loose, type;

    MPI_Get_address(&probe, &start);
    MPI_Get_address(&probe.key, &places[0]);
    MPI_Get_address(&probe.owner, &places[1]);
    places[0] -= start;
    places[1] -= start;
    MPI_Type_create_struct(2, lengths, places, members, &loose);
    MPI_Type_create_resized(loose, 0, sizeof(struct item), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&loose);
    return type;
}

/* Elements of the sorted array below each splitter, as counts per process. */
static void cut(const struct item *mine, const double *splitter, int n, int *counts)
{
    int p = 0;
    memset(counts, 0, sizeof *counts * (size_t)n);
    for (int i = 0; i < EACH; i++) {
        while (p < n - 1 && mine[i].key >= splitter[p])
            p++;
        counts[p]++;
    }
}

static int displacements(const int *counts, int *displs, int n)
{
    int total = 0;
    for (int i = 0; i < n; i++) {
        displs[i] = total;
        total += counts[i];
    }
    return total;
}

/* Splitters from every process's samples. */
static void choose(const struct item *mine, double *splitter, int n)
{
    double *samples = malloc(sizeof *samples * (size_t)n);
    double *all = malloc(sizeof *all * (size_t)(n * n));
    struct item *sorted = malloc(sizeof *sorted * (size_t)(n * n));

    for (int i = 0; i < n; i++)
        samples[i] = mine[(long)EACH * i / n].key;
    MPI_Allgather(samples, n, MPI_DOUBLE, all, n, MPI_DOUBLE, MPI_COMM_WORLD);
    for (int i = 0; i < n * n; i++)
        sorted[i].key = all[i];
    qsort(sorted, (size_t)(n * n), sizeof *sorted, by_key);
    for (int i = 0; i < n - 1; i++)
        splitter[i] = sorted[(i + 1) * n].key;
    free(samples);
    free(all);
    free(sorted);
}

/* Sorted here, and my least is not below my neighbour's greatest; nothing was lost. */
static int good(const struct item *got, int count, double sum, int me, int n)
{
    double before = -1, last = count > 0 ? got[count - 1].key : -1, mine = 0, sums[2] = {0, 0};
    int wrong = 0, bad = 0, total = 0;
    MPI_Request req;

    MPI_Exscan(&last, &before, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
        wrong += i > 0 && got[i].key < got[i - 1].key;
        mine += got[i].key;
    }
    wrong += me > 0 && count > 0 && got[0].key < before;
    MPI_Iallreduce(&wrong, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &req);
    MPI_Reduce(&mine, &sums[0], 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&sum, &sums[1], 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Allreduce(&count, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    return bad == 0 && total == n * EACH &&
           (me > 0 || (sums[0] - sums[1] < 1e-6 && sums[1] - sums[0] < 1e-6));
}

int main(int argc, char **argv)
{
    int me, n, count, ok, code, x = 0;
    int *counts, *rcounts, *displs, *rdispls;
    double *splitter, sum = 0;
    struct item *mine = malloc(sizeof *mine * EACH), *got;
    MPI_Datatype type;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    type = item_type();
    counts = malloc(sizeof *counts * (size_t)n * 4);
    rcounts = counts + n;
    displs = rcounts + n;
    rdispls = displs + n;
    splitter = malloc(sizeof *splitter * (size_t)n);
    srand((unsigned)me + 1);
    for (int i = 0; i < EACH; i++) {
        mine[i] = (struct item){rand() / (RAND_MAX + 1.0), me};
        sum += mine[i].key;
    }
    qsort(mine, EACH, sizeof *mine, by_key);
    choose(mine, splitter, n);
    cut(mine, splitter, n, counts);
    MPI_Alltoall(counts, 1, MPI_INT, rcounts, 1, MPI_INT, MPI_COMM_WORLD);
    displacements(counts, displs, n);
    count = displacements(rcounts, rdispls, n);
    got = malloc(sizeof *got * (size_t)(count + 1));
    MPI_Alltoallv(mine, counts, displs, type, got, rcounts, rdispls, type, MPI_COMM_WORLD);
    qsort(got, (size_t)count, sizeof *got, by_key);
    ok = good(got, count, sum, me, n);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    code = MPI_Send(&x, 1, MPI_INT, n, 0, MPI_COMM_WORLD); /* there is no such rank */
    if (code == MPI_SUCCESS)
        ok = 0;
    MPI_Type_free(&type);
    free(mine);
    free(got);
    free(counts);
    free(splitter);
    MPI_Finalize();
    printf("%s\n", ok ? "ok" : "wrong");
    return !ok;
}
