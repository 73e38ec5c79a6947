/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Large counts of MPI 4: arrays that are not significant, counts above an int (of elements without
 * data, so that nobody needs the memory), and displacements above an int.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#if MPI_VERSION >= 4

enum { MOST = 64 };
static const MPI_Count MANY = 3000000000;

static int rank, size, failures;
static int b[MOST], want[MOST];
static MPI_Count counts[MOST];
static MPI_Aint places[MOST], bytes[MOST];
static MPI_Datatype types[MOST];

static void expect(int good, const char *what)
{
    if (!good && failures++ < 10)
        fprintf(stderr, "large %d of %d: %s\n", rank, size, what);
}

/* ---- in place ---- */

static void fill(void)
{
    for (int i = 0; i < size; i++) {
        b[i] = rank * 100 + i;
        want[i] = i * 100 + rank;
    }
}

static void finish(MPI_Request *request)
{
    MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    MPI_Request_free(request);
}

static void in_place(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request q;

    for (int how = 0; how < 6; how++) {
        fill();
        switch (how) {
        case 0:
            MPI_Alltoallv_c(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, b, counts, places, MPI_INT,
                            world);
            break;
        case 1:
            MPI_Ialltoallv_c(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, b, counts, places,
                             MPI_INT, world, &q);
            MPI_Wait(&q, MPI_STATUS_IGNORE);
            break;
        case 2:
            MPI_Alltoallv_init_c(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, b, counts, places,
                                 MPI_INT, world, MPI_INFO_NULL, &q);
            finish(&q);
            break;
        case 3:
            MPI_Alltoallw_c(MPI_IN_PLACE, NULL, NULL, NULL, b, counts, bytes, types, world);
            break;
        case 4:
            MPI_Ialltoallw_c(MPI_IN_PLACE, NULL, NULL, NULL, b, counts, bytes, types, world, &q);
            MPI_Wait(&q, MPI_STATUS_IGNORE);
            break;
        default:
            MPI_Alltoallw_init_c(MPI_IN_PLACE, NULL, NULL, NULL, b, counts, bytes, types, world,
                                 MPI_INFO_NULL, &q);
            finish(&q);
        }
        expect(memcmp(b, want, (size_t)size * sizeof *b) == 0, "an exchange in place");
    }
}

/* Only the root has counts, and only those who give or get have a count at all. */
static void rooted(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    int x = rank, root = rank == 0;

    memset(b, 0, sizeof b);
    MPI_Gatherv_c(&x, 1, MPI_INT, b, root ? counts : NULL, root ? places : NULL, MPI_INT, 0, world);
    expect(!root || b[size - 1] == size - 1, "gatherv");
    MPI_Scatterv_c(b, root ? counts : NULL, root ? places : NULL, MPI_INT, &x, 1, MPI_INT, 0,
                   world);
    expect(x == rank, "scatterv");
    MPI_Gather_c(&x, 1, MPI_INT, b, root ? 1 : MANY, MPI_INT, 0, world);
    MPI_Scatter_c(b, root ? 1 : MANY, MPI_INT, &x, 1, MPI_INT, 0, world);
    expect(x == rank, "scatter");
    for (int i = 0; i < size; i++)
        b[i] = i == rank ? rank + 1 : 0;
    MPI_Allgather_c(MPI_IN_PLACE, MANY, MPI_DATATYPE_NULL, b, 1, MPI_INT, world);
    expect(b[0] == 1 && b[size - 1] == size, "allgather");
}

/* ---- counts above an int ---- */

static void messages(MPI_Datatype none)
{
    MPI_Comm world = MPI_COMM_WORLD;
    int right = (rank + 1) % size, left = (rank + size - 1) % size, count = -1, x = 7;
    MPI_Request q[2];
    MPI_Message m;
    MPI_Status st;

    expect(MPI_Isend_c(&x, MANY, none, right, 1, world, &q[0]) == MPI_SUCCESS, "isend");
    expect(MPI_Recv_c(&x, MANY, none, left, 1, world, &st) == MPI_SUCCESS, "recv");
    MPI_Get_count(&st, MPI_INT, &count);
    expect(count == 0, "the count of what was received");
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    expect(MPI_Sendrecv_c(&x, MANY, none, right, 2, &x, MANY, none, left, 2, world, &st) ==
               MPI_SUCCESS,
           "sendrecv");
    expect(MPI_Isendrecv_c(&x, MANY, none, right, 3, &x, MANY, none, left, 3, world, &q[0]) ==
               MPI_SUCCESS,
           "isendrecv");
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    MPI_Send_init_c(&x, MANY, none, right, 4, world, &q[0]);
    MPI_Recv_init_c(&x, MANY, none, left, 4, world, &q[1]);
    for (int i = 0; i < 2; i++) {
        MPI_Startall(2, q);
        expect(MPI_Waitall(2, q, MPI_STATUSES_IGNORE) == MPI_SUCCESS, "persistent ones");
    }
    MPI_Request_free(&q[0]);
    MPI_Request_free(&q[1]);
    MPI_Isend(&x, 0, MPI_INT, right, 5, world, &q[0]);
    MPI_Mprobe(left, 5, world, &m, &st);
    expect(MPI_Mrecv_c(&x, MANY, none, &m, &st) == MPI_SUCCESS, "mrecv");
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
    expect(x == 7, "data that nobody sent");
}

static void collectives(MPI_Datatype none)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request q;
    int x = 7;

    expect(MPI_Bcast_c(&x, MANY, none, 0, world) == MPI_SUCCESS, "bcast");
    expect(MPI_Gather_c(&x, MANY, none, &x, MANY, none, 0, world) == MPI_SUCCESS, "gather");
    expect(MPI_Scatter_c(&x, MANY, none, &x, MANY, none, 0, world) == MPI_SUCCESS, "scatter");
    expect(MPI_Allgather_c(&x, MANY, none, &x, MANY, none, world) == MPI_SUCCESS, "allgather");
    expect(MPI_Alltoall_c(&x, MANY, none, &x, MANY, none, world) == MPI_SUCCESS, "alltoall");
    expect(MPI_Ibcast_c(&x, MANY, none, 0, world, &q) == MPI_SUCCESS, "ibcast");
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Bcast_init_c(&x, MANY, none, 0, world, MPI_INFO_NULL, &q);
    finish(&q);
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    MPI_Aint lb, extent;

    MPI_Type_get_extent(*type, &lb, &extent);
    for (int i = 0; i < *n && extent > 0; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* With data, and of elements without, which are many. */
static void reductions(MPI_Datatype none)
{
    MPI_Comm world = MPI_COMM_WORLD;
    int x[2] = {rank + 1, 1}, y[2] = {0, 0}, z[2] = {7, 7}, sum = size * (size + 1) / 2;
    MPI_Op op;

    MPI_Op_create(add, 1, &op);
    MPI_Allreduce_c(x, y, 2, MPI_INT, op, world);
    expect(y[0] == sum && y[1] == size, "allreduce");
    MPI_Reduce_c(rank == 0 ? MPI_IN_PLACE : x, x, 2, MPI_INT, MPI_SUM, 0, world);
    expect(x[0] == (rank == 0 ? sum : rank + 1), "reduce");
    MPI_Scan_c(&rank, y, 1, MPI_INT, MPI_MAX, world);
    expect(y[0] == rank, "scan");
    MPI_Exscan_c(&rank, y, 1, MPI_INT, MPI_MAX, world);
    expect(rank == 0 || y[0] == rank - 1, "exscan");
    expect(MPI_Allreduce_c(x, z, MANY, none, op, world) == MPI_SUCCESS, "a large allreduce");
    expect(MPI_Reduce_c(x, z, MANY, none, op, 0, world) == MPI_SUCCESS, "a large reduce");
    expect(MPI_Scan_c(x, z, MANY, none, op, world) == MPI_SUCCESS, "a large scan");
    expect(MPI_Exscan_c(x, z, MANY, none, op, world) == MPI_SUCCESS, "a large exscan");
    expect(z[0] == 7 && z[1] == 7, "data of a reduction of nothing");
    MPI_Op_free(&op);
}

/* Each partner has a type of its own; displacements are addresses. */
static void by_type(MPI_Datatype none)
{
    int out[MOST];
    MPI_Count many[MOST];
    MPI_Aint from[MOST], to[MOST];
    MPI_Datatype nothing[MOST];

    fill();
    memcpy(out, b, sizeof out);
    memset(b, 0, sizeof b);
    for (int i = 0; i < size; i++) {
        MPI_Get_address(&out[i], &from[i]);
        MPI_Get_address(&b[i], &to[i]);
        many[i] = MANY;
        nothing[i] = none;
    }
    MPI_Alltoallw_c(MPI_BOTTOM, counts, from, types, MPI_BOTTOM, counts, to, types, MPI_COMM_WORLD);
    expect(memcmp(b, want, (size_t)size * sizeof *b) == 0, "an exchange by addresses");
    expect(MPI_Alltoallw_c(out, many, bytes, nothing, b, many, bytes, nothing, MPI_COMM_WORLD) ==
               MPI_SUCCESS,
           "alltoallw");
    expect(memcmp(b, want, (size_t)size * sizeof *b) == 0, "data of an empty exchange");
}

/* A position beyond an int: the buffer begins so far before what is used of it. */
static void packed(MPI_Datatype none)
{
    MPI_Count position = MANY, all = 0;
    int back[MOST] = {0};
    char room[sizeof back], *before = room - MANY;

    fill();
    MPI_Pack_size_c(MANY, MPI_INT, MPI_COMM_WORLD, &all);
    expect(all >= 4 * MANY, "a packed size");
    MPI_Pack_c(b, size, MPI_INT, before, MANY + (MPI_Count)sizeof room, &position, MPI_COMM_WORLD);
    expect(position == MANY + size * (int)sizeof(int), "a position of packing");
    expect(MPI_Pack_c(b, MANY, none, before, MANY + (MPI_Count)sizeof room, &position,
                      MPI_COMM_WORLD) == MPI_SUCCESS,
           "packing of nothing");
    position = MANY;
    MPI_Unpack_c(before, MANY + (MPI_Count)sizeof room, &position, back, size, MPI_INT,
                 MPI_COMM_WORLD);
    expect(memcmp(back, b, (size_t)size * sizeof *b) == 0, "what was unpacked");
}

/* Counts above an int in an array, and in reductions that are started or scattered. */
static void in_arrays(MPI_Datatype none)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Count some[MOST];
    MPI_Request q;
    MPI_Op op;
    int z[2] = {7, 7};

    for (int i = 0; i < size; i++)
        some[i] = MANY + i;
    MPI_Op_create(add, 1, &op);
    expect(MPI_Iallreduce_c(b, z, MANY, none, op, world, &q) == MPI_SUCCESS, "iallreduce");
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Allreduce_init_c(b, z, MANY, none, op, world, MPI_INFO_NULL, &q);
    finish(&q);
    expect(MPI_Reduce_scatter_c(b, z, some, none, op, world) == MPI_SUCCESS, "reduce_scatter");
    expect(MPI_Reduce_scatter_block_c(b, z, MANY, none, op, world) == MPI_SUCCESS,
           "reduce_scatter_block");
    expect(MPI_Allgatherv_c(b, MANY + rank, none, z, some, places, none, world) == MPI_SUCCESS,
           "allgatherv");
    expect(MPI_Alltoallv_c(b, some, places, none, z, some, places, none, world) == MPI_SUCCESS,
           "alltoallv");
    expect(z[0] == 7 && z[1] == 7, "data that nobody sent");
    MPI_Op_free(&op);
}

/* A displacement above an int: the buffer begins so far before what is used of it. */
static void far_places(void)
{
    MPI_Aint far[MOST];
    int out[MOST], *before = b - MANY;

    for (int i = 0; i < size; i++)
        far[i] = (MPI_Aint)MANY + i;
    fill();
    memcpy(out, b, sizeof out);
    memset(b, 0, sizeof b);
    MPI_Alltoallv_c(out, counts, places, MPI_INT, before, counts, far, MPI_INT, MPI_COMM_WORLD);
    expect(memcmp(b, want, (size_t)size * sizeof *b) == 0, "far displacements");
    memset(b, 0, sizeof b);
    MPI_Allgatherv_c(&rank, 1, MPI_INT, before, counts, far, MPI_INT, MPI_COMM_WORLD);
    expect(b[size - 1] == size - 1, "a gather to far away");
}

int main(int argc, char **argv)
{
    MPI_Datatype none;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        places[i] = i;
        bytes[i] = i * (int)sizeof(int);
        types[i] = MPI_INT;
    }
    MPI_Type_contiguous(0, MPI_INT, &none);
    MPI_Type_commit(&none);
    in_place();
    rooted();
    messages(none);
    collectives(none);
    reductions(none);
    by_type(none);
    packed(none);
    in_arrays(none);
    far_places();
    MPI_Type_free(&none);
    MPI_Finalize();
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}

#else

int main(void)
{
    puts("ok"); /* the MPI has no large counts */
    return 0;
}

#endif
