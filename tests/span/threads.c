/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that use communicators of one job and of all jobs at the same time, if MPI grants it, and
 * make and free some: a vendor gives a handle that one thread frees to another at once. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 5, ROUNDS = 60, MADE = 100 };

static int rank, size;
static _Atomic int failures;

struct job {
    MPI_Comm comm;
    int me, n, number;
};

static void *work(void *arg)
{
    const struct job *j = arg;
    int right = (j->me + 1) % j->n, left = (j->me + j->n - 1) % j->n;

    for (int i = 0; i < ROUNDS; i++) {
        int out[2] = {j->me, i}, in[2] = {-1, -1}, sum = -1;
        MPI_Request requests[2];
        MPI_Datatype pair;
        MPI_Type_contiguous(2, MPI_INT, &pair);
        MPI_Type_commit(&pair);
        MPI_Irecv(in, 1, pair, left, j->number, j->comm, &requests[0]);
        MPI_Isend(out, 1, pair, right, j->number, j->comm, &requests[1]);
        MPI_Type_free(&pair);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Allreduce(&out[1], &sum, 1, MPI_INT, MPI_SUM, j->comm);
        if (in[0] != left || in[1] != i || sum != i * j->n)
            failures++;
    }
    return NULL;
}

static void *make(void *arg)
{
    const struct job *j = arg;
    MPI_Group group;

    MPI_Comm_group(j->comm, &group);
    for (int i = 0; i < MADE; i++) {
        MPI_Comm made;
        int sum = -1;
        MPI_Comm_create(j->comm, group, &made);
        if (i % 8 == 0)
            MPI_Allreduce(&j->me, &sum, 1, MPI_INT, MPI_SUM, made);
        MPI_Comm_free(&made);
        if (i % 8 == 0 && sum != j->n * (j->n - 1) / 2)
            failures++;
    }
    MPI_Group_free(&group);
    return NULL;
}

static void all_threads(void *(*function)(void *), struct job *jobs, int provided)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        if (provided < MPI_THREAD_MULTIPLE)
            function(&jobs[i]);
        else
            pthread_create(&threads[i], NULL, function, &jobs[i]);
    for (int i = 0; i < THREADS && provided == MPI_THREAD_MULTIPLE; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    struct job jobs[THREADS];
    int provided = 0;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < THREADS; i++) {
        if (i == 0)
            MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                                &jobs[i].comm);
        else
            MPI_Comm_dup(MPI_COMM_WORLD, &jobs[i].comm);
        MPI_Comm_rank(jobs[i].comm, &jobs[i].me);
        MPI_Comm_size(jobs[i].comm, &jobs[i].n);
        jobs[i].number = i;
    }
    all_threads(work, jobs, provided);
    all_threads(make, jobs, provided);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&jobs[i].comm);
    MPI_Finalize();
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
