/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent collectives: each is started several times with other data, alone and all together, in
 * another order on every process, and gives what the blocking call gives.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <waitio_mpi.h>

enum { KINDS = 17, TIMES = 4, MOST = 8 };

/* One call with its buffers; `in` is changed from time to time. */
struct thing {
    const char *name;
    double *in, *out, *want;
    WAITIO_MPI_Request req;
};

static struct thing thing[KINDS];
static int failures, me, n, each;
static int counts[MOST], displs[MOST], bytes[MOST];
static WAITIO_MPI_Datatype types[MOST], two;
static WAITIO_MPI_Comm comm;

static void expect(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "rank %d: %s with %d elements\n", me, what, each);
        failures++;
    }
}

static size_t room(void)
{
    return (size_t)each * 2 * (size_t)n * sizeof(double);
}

#define D WAITIO_MPI_DOUBLE
#define S WAITIO_MPI_SUM
#define I WAITIO_MPI_INFO_NULL
#define X(NAME) WAITIO_MPI_##NAME

static void make_reductions(struct thing *t)
{
    X(Reduce_init)(t[0].in, t[0].out, each, D, S, n - 1, comm, I, &t[0].req);
    X(Allreduce_init)(t[1].in, t[1].out, each, D, S, comm, I, &t[1].req);
    X(Reduce_scatter_init)(t[2].in, t[2].out, counts, D, S, comm, I, &t[2].req);
    X(Reduce_scatter_block_init)(t[3].in, t[3].out, each, D, S, comm, I, &t[3].req);
    X(Scan_init)(t[4].in, t[4].out, each, D, S, comm, I, &t[4].req);
    X(Exscan_init)(t[5].in, t[5].out, each, D, S, comm, I, &t[5].req);
}

static void run_reductions(struct thing *t)
{
    X(Reduce)(t[0].in, t[0].want, each, D, S, n - 1, comm);
    X(Allreduce)(t[1].in, t[1].want, each, D, S, comm);
    X(Reduce_scatter)(t[2].in, t[2].want, counts, D, S, comm);
    X(Reduce_scatter_block)(t[3].in, t[3].want, each, D, S, comm);
    X(Scan)(t[4].in, t[4].want, each, D, S, comm);
    X(Exscan)(t[5].in, t[5].want, each, D, S, comm);
}

static void make_moves(struct thing *t)
{
    X(Gather_init)(t[0].in, each, D, t[0].out, each, D, 0, comm, I, &t[0].req);
    X(Gatherv_init)(t[1].in, counts[me], D, t[1].out, counts, displs, D, 0, comm, I, &t[1].req);
    X(Scatter_init)(t[2].in, each, D, t[2].out, each, D, n / 2, comm, I, &t[2].req);
    X(Scatterv_init)(t[3].in, counts, displs, D, t[3].out, counts[me], D, 0, comm, I, &t[3].req);
    X(Allgather_init)(t[4].in, each, D, t[4].out, each, D, comm, I, &t[4].req);
    X(Allgatherv_init)(t[5].in, counts[me], D, t[5].out, counts, displs, D, comm, I, &t[5].req);
    X(Alltoall_init)(t[6].in, each, D, t[6].out, each, D, comm, I, &t[6].req);
    X(Alltoallv_init)(t[7].in, bytes, displs, D, t[7].out, bytes, displs, D, comm, I, &t[7].req);
    X(Alltoallw_init)
    (t[8].in, bytes, displs, types, t[8].out, bytes, displs, types, comm, I, &t[8].req);
    X(Barrier_init)(comm, I, &t[9].req);
    X(Bcast_init)(t[10].out, each / 2, two, 1 % n, comm, I, &t[10].req); /* with holes */
}

static void run_moves(struct thing *t)
{
    X(Gather)(t[0].in, each, D, t[0].want, each, D, 0, comm);
    X(Gatherv)(t[1].in, counts[me], D, t[1].want, counts, displs, D, 0, comm);
    X(Scatter)(t[2].in, each, D, t[2].want, each, D, n / 2, comm);
    X(Scatterv)(t[3].in, counts, displs, D, t[3].want, counts[me], D, 0, comm);
    X(Allgather)(t[4].in, each, D, t[4].want, each, D, comm);
    X(Allgatherv)(t[5].in, counts[me], D, t[5].want, counts, displs, D, comm);
    X(Alltoall)(t[6].in, each, D, t[6].want, each, D, comm);
    X(Alltoallv)(t[7].in, bytes, displs, D, t[7].want, bytes, displs, D, comm);
    X(Alltoallw)(t[8].in, bytes, displs, types, t[8].want, bytes, displs, types, comm);
    X(Barrier)(comm);
    X(Bcast)(t[10].want, each / 2, two, 1 % n, comm);
}

/* Other numbers each time; results are cleared, what is broadcast is the same on both sides. */
static void change(int time)
{
    for (int k = 0; k < KINDS; k++) {
        for (size_t i = 0; i < room() / sizeof(double); i++)
            thing[k].in[i] = (double)((int)i % 1000 + 7 * me + 31 * time + k);
        memset(thing[k].out, 0, room());
        if (k == KINDS - 1)
            memcpy(thing[k].out, thing[k].in, room());
        memcpy(thing[k].want, thing[k].out, room());
    }
}

static void compare(const char *how)
{
    for (int k = 0; k < KINDS; k++)
        if (memcmp(thing[k].out, thing[k].want, room()) != 0) {
            fprintf(stderr, "kind %d, %s: ", k, how);
            expect(0, "result");
        }
}

/* All requests, from one place on upwards or downwards. */
static int in_order(int time, int i)
{
    return me % 2 == 0 ? (i + time) % KINDS : (KINDS - 1 + time - i) % KINDS;
}

static void go(int elements)
{
    WAITIO_MPI_Request all[KINDS];

    each = elements;
    for (int i = 0; i < n; i++) {
        counts[i] = each / (i + 1);
        displs[i] = i * each;
        bytes[i] = each;
        types[i] = WAITIO_MPI_BYTE;
    }
    for (int k = 0; k < KINDS; k++)
        thing[k] =
            (struct thing){.in = malloc(room()), .out = malloc(room()), .want = malloc(room())};
    WAITIO_MPI_Type_vector(1, 1, 1, D, &two);
    WAITIO_MPI_Type_create_resized(two, 0, 2 * sizeof(double), &two);
    WAITIO_MPI_Type_commit(&two);
    make_reductions(thing);
    make_moves(thing + 6);
    for (int time = 0; time < TIMES; time++) {
        change(time);
        run_reductions(thing);
        run_moves(thing + 6);
        if (time == 0) { /* one after the other */
            for (int k = 0; k < KINDS; k++) {
                WAITIO_MPI_Start(&thing[k].req);
                WAITIO_MPI_Wait(&thing[k].req, WAITIO_MPI_STATUS_IGNORE);
            }
        } else { /* all, each process in an order of its own */
            for (int i = 0; i < KINDS; i++)
                all[i] = thing[in_order(time, i)].req;
            WAITIO_MPI_Startall(KINDS, all);
            WAITIO_MPI_Waitall(KINDS, all, WAITIO_MPI_STATUSES_IGNORE);
        }
        compare(time == 0 ? "alone" : "together");
    }
    WAITIO_MPI_Type_free(&two);
    for (int k = 0; k < KINDS; k++) {
        WAITIO_MPI_Request_free(&thing[k].req);
        free(thing[k].in);
        free(thing[k].out);
        free(thing[k].want);
    }
}

/* Types and arrays may go when the request has been made. */
static void what_was_given_may_go(void)
{
    WAITIO_MPI_Datatype own;
    WAITIO_MPI_Request req;
    int *list = malloc((size_t)n * 2 * sizeof *list), mine = me, all[MOST] = {0}, good = 1;

    WAITIO_MPI_Type_contiguous(1, WAITIO_MPI_INT, &own);
    WAITIO_MPI_Type_create_resized(own, 0, 4, &own);
    WAITIO_MPI_Type_commit(&own);
    for (int i = 0; i < n; i++) {
        list[i] = 1;
        list[n + i] = n - 1 - i;
    }
    WAITIO_MPI_Allgatherv_init(&mine, 1, own, all, list, list + n, own, comm, I, &req);
    WAITIO_MPI_Type_free(&own);
    memset(list, 0x7f, (size_t)n * 2 * sizeof *list);
    free(list);
    for (int time = 0; time < 2; time++) {
        mine = me + 100 * time;
        WAITIO_MPI_Start(&req);
        WAITIO_MPI_Wait(&req, WAITIO_MPI_STATUS_IGNORE);
        for (int i = 0; i < n; i++)
            good &= all[n - 1 - i] == i + 100 * time;
    }
    WAITIO_MPI_Request_free(&req);
    expect(good, "arrays and types that have gone");
}

int main(void)
{
    WAITIO_MPI_Init(NULL, NULL);
    WAITIO_MPI_Comm_dup(WAITIO_MPI_COMM_WORLD, &comm);
    WAITIO_MPI_Comm_rank(comm, &me);
    WAITIO_MPI_Comm_size(comm, &n);
    what_was_given_may_go();
    go(2);
    go(1000);
    go(50000);
    WAITIO_MPI_Comm_free(&comm);
    WAITIO_MPI_Finalize();
    if (failures == 0)
        puts("ok");
    return failures > 0;
}
