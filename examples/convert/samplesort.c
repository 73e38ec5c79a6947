/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sample sort: every process sorts its keys, samples of them give the borders, all-to-all takes
 * each key to the process between whose borders it lies.
 *
 * Plain MPI, nothing else: docs/guide/convert.md makes a coupled program of it.
 *   mpicc -O2 samplesort.c -o samplesort && mpiexec -n 4 ./samplesort
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOTAL = 200000 };

static int compare(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void *allocate(size_t n, size_t size)
{
    void *memory = calloc(n > 0 ? n : 1, size);

    if (memory == NULL) {
        fprintf(stderr, "no memory for %zu elements\n", n);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

/* The i-th key of all, whoever makes it: the sorted result is the same for any number of processes.
 */
static uint32_t key(uint64_t i)
{
    uint64_t x = (i + 1) * 0x9E3779B97F4A7C15u;

    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return (uint32_t)(x >> 33);
}

/* nprocs - 1 borders from nprocs - 1 samples of each process. */
static uint32_t *find_borders(const uint32_t *mine, int n, int rank, int nprocs)
{
    const int each = nprocs - 1;
    uint32_t *samples = allocate((size_t)each, sizeof *samples);
    uint32_t *all = allocate((size_t)each * (size_t)nprocs, sizeof *all);

    for (int i = 0; i < each; i++)
        samples[i] = n > 0 ? mine[(long)(i + 1) * n / nprocs] : 0;
    MPI_Gather(samples, each, MPI_UINT32_T, all, each, MPI_UINT32_T, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        qsort(all, (size_t)each * (size_t)nprocs, sizeof *all, compare);
        for (int i = 0; i < each; i++)
            samples[i] = all[(i + 1) * each];
    }
    MPI_Bcast(samples, each, MPI_UINT32_T, 0, MPI_COMM_WORLD);
    free(all);
    return samples;
}

/* Send every key where it belongs; returns what arrived. */
static uint32_t *exchange(uint32_t *mine, int n, const uint32_t *borders, int nprocs, int *arrived)
{
    int *scounts = allocate((size_t)nprocs, sizeof *scounts),
        *sdispls = allocate((size_t)nprocs, sizeof *sdispls);
    int *rcounts = allocate((size_t)nprocs, sizeof *rcounts),
        *rdispls = allocate((size_t)nprocs, sizeof *rdispls);
    uint32_t *received;

    for (int i = 0, to = 0; i < n; i++) {
        while (to < nprocs - 1 && mine[i] >= borders[to])
            to++;
        scounts[to]++;
    }
    MPI_Alltoall(scounts, 1, MPI_INT, rcounts, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 1; i < nprocs; i++) {
        sdispls[i] = sdispls[i - 1] + scounts[i - 1];
        rdispls[i] = rdispls[i - 1] + rcounts[i - 1];
    }
    *arrived = rdispls[nprocs - 1] + rcounts[nprocs - 1];
    received = allocate((size_t)*arrived, sizeof *received);
    MPI_Alltoallv(mine, scounts, sdispls, MPI_UINT32_T, received, rcounts, rdispls, MPI_UINT32_T,
                  MPI_COMM_WORLD);
    free(scounts);
    free(sdispls);
    free(rcounts);
    free(rdispls);
    return received;
}

/* Sums of (key times its place in the sorted order), exact in 64 bits modulo 2^64. */
static void report(const uint32_t *sorted, int n, int rank, int nprocs)
{
    int before = 0, wrong = 0, bad = 0;
    uint32_t last = n > 0 ? sorted[n - 1] : 0, previous = 0;
    uint64_t sum = 0, total = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;

    MPI_Exscan(&n, &before, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        before = 0;
    if (rank < nprocs - 1)
        MPI_Isend(&last, 1, MPI_UINT32_T, rank + 1, 9, MPI_COMM_WORLD, &request);
    if (rank > 0) {
        MPI_Recv(&previous, 1, MPI_UINT32_T, rank - 1, 9, MPI_COMM_WORLD, &status);
        wrong += status.MPI_SOURCE != rank - 1 || status.MPI_TAG != 9;
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < n; i++) {
        wrong += sorted[i] < previous;
        previous = sorted[i];
        sum += (uint64_t)sorted[i] * (uint64_t)(before + i + 1);
    }
    MPI_Reduce(&sum, &total, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Allreduce(&wrong, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("keys %d\nout of order %d\nchecksum %llu\n", TOTAL, bad, (unsigned long long)total);
    if (bad != 0)
        MPI_Abort(MPI_COMM_WORLD, 2);
}

int main(int argc, char **argv)
{
    int rank, nprocs, n, arrived;
    uint32_t *mine, *borders, *sorted;
    double began;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nprocs);
    began = MPI_Wtime();
    n = (int)((long)TOTAL * (rank + 1) / nprocs - (long)TOTAL * rank / nprocs);
    mine = allocate((size_t)n, sizeof *mine);
    for (int i = 0; i < n; i++)
        mine[i] = key((uint64_t)((long)TOTAL * rank / nprocs + i));
    qsort(mine, (size_t)n, sizeof *mine, compare);
    borders = find_borders(mine, n, rank, nprocs);
    sorted = exchange(mine, n, borders, nprocs, &arrived);
    qsort(sorted, (size_t)arrived, sizeof *sorted, compare);
    report(sorted, arrived, rank, nprocs);
    if (rank == 0)
        printf("time %.3f s\n", MPI_Wtime() - began);
    free(mine);
    free(borders);
    free(sorted);
    MPI_Finalize();
    return 0;
}
