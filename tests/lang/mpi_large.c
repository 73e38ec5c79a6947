/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI 4's calls with wide counts: with small counts they do what the calls with ints do, and they
 * reach what an int does not. A program of MPI, which says the same under an MPI that has them
 * (test_mpi_header.py). Memory beyond 2^31 bytes is the same MiB again and again, or empty.
 */
#define _GNU_SOURCE
#ifdef FOR_WAITIO
#include <waitio_mpi_rename.h>
#else
#include <mpi.h>
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(FOR_WAITIO) || MPI_VERSION >= 4

enum { MOST = 16, ROOM = 4 * MOST };
static const MPI_Count MANY = 3000000000; /* more than an int */

static int failures, me, size, left, right;

static void expect(int good, const char *what)
{
    if (!good && failures++ < 20)
        fprintf(stderr, "rank %d of %d: %s\n", me, size, what);
}

/* ---- collectives, with ints and with wide counts ---- */

static int in[ROOM], out[ROOM], before[ROOM];
static int n[MOST], at[MOST], bytes[MOST];
static MPI_Count wide[MOST];
static MPI_Aint far[MOST], distance[MOST];
static MPI_Datatype types[MOST];
static MPI_Comm world, ring;

static void fill(void)
{
    for (int i = 0; i < ROOM; i++) {
        in[i] = 100 * me + i + 1;
        out[i] = -7 - i - me;
    }
}

static void keep(void)
{
    memcpy(before, out, sizeof before);
}

static void same(const char *call, int how)
{
    char what[80];

    (void)snprintf(what, sizeof what, "%s_c differs from the form with ints (%d)", call, how);
    expect(memcmp(before, out, sizeof out) == 0, what);
}

#define ARGUMENTS(...) __VA_ARGS__
/* One form: blocking, started, persistent. */
#define RUN(how, NOW, LATER, INIT, ...)                                                            \
    do {                                                                                           \
        MPI_Request q;                                                                             \
        if (how == 0) {                                                                            \
            NOW(__VA_ARGS__);                                                                      \
        } else if (how == 1) {                                                                     \
            LATER(__VA_ARGS__, &q);                                                                \
            MPI_Wait(&q, MPI_STATUS_IGNORE);                                                       \
        } else {                                                                                   \
            INIT(__VA_ARGS__, MPI_INFO_NULL, &q);                                                  \
            MPI_Start(&q);                                                                         \
            MPI_Wait(&q, MPI_STATUS_IGNORE);                                                       \
            MPI_Request_free(&q);                                                                  \
        }                                                                                          \
    } while (0)
/* All forms of a call; its arguments with ints, and with wide counts. */
#define BOTH(NAME, LATER, INTS, WIDE)                                                              \
    do {                                                                                           \
        for (int how = 0; how < 3; how++) {                                                        \
            fill();                                                                                \
            RUN(how, MPI_##NAME, MPI_##LATER, MPI_##NAME##_init, ARGUMENTS INTS);                  \
            keep();                                                                                \
            fill();                                                                                \
            RUN(how, MPI_##NAME##_c, MPI_##LATER##_c, MPI_##NAME##_init_c, ARGUMENTS WIDE);        \
            same(#NAME, how);                                                                      \
        }                                                                                          \
    } while (0)
/* Counts that are no arrays: the arguments are the same. */
#define ALIKE(NAME, LATER, ...) BOTH(NAME, LATER, (__VA_ARGS__), (__VA_ARGS__))

/* Uneven blocks with gaps between them. */
static void set_blocks(void)
{
    for (int i = 0; i < MOST; i++) {
        n[i] = 1 + i % 2;
        at[i] = 3 * i;
        bytes[i] = at[i] * (int)sizeof(int);
        wide[i] = n[i];
        far[i] = at[i];
        distance[i] = bytes[i];
        types[i] = MPI_INT;
    }
}

static void reductions(void)
{
    int root = size - 1;

    ALIKE(Reduce, Ireduce, in, out, 3, MPI_INT, MPI_SUM, root, world);
    ALIKE(Allreduce, Iallreduce, in, out, 3, MPI_INT, MPI_SUM, world);
    ALIKE(Allreduce, Iallreduce, MPI_IN_PLACE, out, 5, MPI_INT, MPI_MIN, world);
    ALIKE(Scan, Iscan, in, out, 3, MPI_INT, MPI_SUM, world);
    ALIKE(Exscan, Iexscan, in, out, 3, MPI_INT, MPI_SUM, world);
    ALIKE(Reduce_scatter_block, Ireduce_scatter_block, in, out, 2, MPI_INT, MPI_SUM, world);
    BOTH(Reduce_scatter, Ireduce_scatter, (in, out, n, MPI_INT, MPI_SUM, world),
         (in, out, wide, MPI_INT, MPI_SUM, world));
}

static void blocks(void)
{
    int root = size - 1, mine = 1 + me % 2;

    ALIKE(Bcast, Ibcast, me == root ? in : out, 4, MPI_INT, root, world);
    ALIKE(Gather, Igather, in, 2, MPI_INT, out, 2, MPI_INT, root, world);
    ALIKE(Scatter, Iscatter, in, 2, MPI_INT, out, 2, MPI_INT, root, world);
    ALIKE(Allgather, Iallgather, in, 2, MPI_INT, out, 2, MPI_INT, world);
    ALIKE(Alltoall, Ialltoall, in, 2, MPI_INT, out, 2, MPI_INT, world);
    BOTH(Gatherv, Igatherv, (in, mine, MPI_INT, out, n, at, MPI_INT, root, world),
         (in, mine, MPI_INT, out, wide, far, MPI_INT, root, world));
    BOTH(Scatterv, Iscatterv, (in, n, at, MPI_INT, out, mine, MPI_INT, root, world),
         (in, wide, far, MPI_INT, out, mine, MPI_INT, root, world));
    BOTH(Allgatherv, Iallgatherv, (in, mine, MPI_INT, out, n, at, MPI_INT, world),
         (in, mine, MPI_INT, out, wide, far, MPI_INT, world));
}

/* What a member gets from another one has the same length as what the other gets from it. */
static void exchanges(void)
{
    for (int i = 0; i < MOST; i++)
        wide[i] = n[i] = 1 + (i + me) % 2;
    BOTH(Alltoallv, Ialltoallv, (in, n, at, MPI_INT, out, n, at, MPI_INT, world),
         (in, wide, far, MPI_INT, out, wide, far, MPI_INT, world));
    BOTH(Alltoallw, Ialltoallw, (in, n, bytes, types, out, n, bytes, types, world),
         (in, wide, distance, types, out, wide, distance, types, world));
    BOTH(Alltoallv, Ialltoallv, (MPI_IN_PLACE, n, at, MPI_INT, out, n, at, MPI_INT, world),
         (MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, out, wide, far, MPI_INT, world));
    set_blocks();
}

static void neighbours(void)
{
    for (int i = 0; i < 2; i++)
        wide[i] = n[i] = 2;
    ALIKE(Neighbor_allgather, Ineighbor_allgather, in, 2, MPI_INT, out, 2, MPI_INT, ring);
    ALIKE(Neighbor_alltoall, Ineighbor_alltoall, in, 2, MPI_INT, out, 2, MPI_INT, ring);
    BOTH(Neighbor_allgatherv, Ineighbor_allgatherv, (in, 2, MPI_INT, out, n, at, MPI_INT, ring),
         (in, 2, MPI_INT, out, wide, far, MPI_INT, ring));
    BOTH(Neighbor_alltoallv, Ineighbor_alltoallv, (in, n, at, MPI_INT, out, n, at, MPI_INT, ring),
         (in, wide, far, MPI_INT, out, wide, far, MPI_INT, ring));
    BOTH(Neighbor_alltoallw, Ineighbor_alltoallw,
         (in, n, distance, types, out, n, distance, types, ring),
         (in, wide, distance, types, out, wide, distance, types, ring));
    set_blocks();
}

/* ---- messages ---- */

#define EITHER(NAME, ...) (large ? MPI_##NAME##_c(__VA_ARGS__) : MPI_##NAME(__VA_ARGS__))

static int arrived(void)
{
    int good = out[0] == 100 * left + 1 && out[2] == 100 * left + 3 && out[3] == -10 - me;

    fill();
    return good;
}

static void run_and_free(MPI_Request *q)
{
    MPI_Start(q);
    MPI_Wait(q, MPI_STATUS_IGNORE);
    MPI_Request_free(q);
}

/* A send of each mode to the right, a receive from the left. */
#define SENDS(NAME)                                                                                \
    do {                                                                                           \
        fill();                                                                                    \
        EITHER(Irecv, out, 3, MPI_INT, left, 1, world, &q);                                        \
        EITHER(NAME, in, 3, MPI_INT, right, 1, world);                                             \
        MPI_Wait(&q, MPI_STATUS_IGNORE);                                                           \
        expect(arrived(), #NAME);                                                                  \
        EITHER(Irecv, out, 3, MPI_INT, left, 2, world, &q);                                        \
        EITHER(I##NAME, in, 3, MPI_INT, right, 2, world, &r);                                      \
        MPI_Wait(&q, MPI_STATUS_IGNORE);                                                           \
        MPI_Wait(&r, MPI_STATUS_IGNORE);                                                           \
        expect(arrived(), "I" #NAME);                                                              \
        EITHER(Recv_init, out, 3, MPI_INT, left, 3, world, &q);                                    \
        EITHER(NAME##_init, in, 3, MPI_INT, right, 3, world, &r);                                  \
        MPI_Start(&q);                                                                             \
        run_and_free(&r);                                                                          \
        MPI_Wait(&q, MPI_STATUS_IGNORE);                                                           \
        MPI_Request_free(&q);                                                                      \
        expect(arrived(), #NAME "_init");                                                          \
    } while (0)

static void sends(int large)
{
    static char buffer[4096 + 4 * MPI_BSEND_OVERHEAD];
    MPI_Request q, r;
    void *back = NULL;
    int ints = 0;
    MPI_Count many = 0;

    if (large)
        MPI_Buffer_attach_c(buffer, sizeof buffer);
    else
        MPI_Buffer_attach(buffer, sizeof buffer);
    fill();
    EITHER(Irecv, out, 3, MPI_INT, left, 4, world, &q);
    EITHER(Bsend, in, 3, MPI_INT, right, 4, world);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    expect(arrived(), "Bsend");
    EITHER(Irecv, out, 3, MPI_INT, left, 5, world, &q);
    EITHER(Ibsend, in, 3, MPI_INT, right, 5, world, &r);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    expect(arrived(), "Ibsend");
    EITHER(Irecv, out, 3, MPI_INT, left, 6, world, &q);
    EITHER(Bsend_init, in, 3, MPI_INT, right, 6, world, &r);
    run_and_free(&r);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    expect(arrived(), "Bsend_init");
    if (large)
        MPI_Buffer_detach_c(&back, &many);
    else
        MPI_Buffer_detach(&back, &ints);
    expect(back == buffer && many + ints == (int)sizeof buffer, "the buffer that is detached");
}

/* MPI_Isend and its like are called as their blocking forms with I in front. */
#define MPI_ISend MPI_Isend
#define MPI_ISend_c MPI_Isend_c
#define MPI_ISsend MPI_Issend
#define MPI_ISsend_c MPI_Issend_c
#define MPI_IRsend MPI_Irsend
#define MPI_IRsend_c MPI_Irsend_c

static void ready(int large)
{
    MPI_Request q, r;

    SENDS(Send);
    SENDS(Ssend);
    for (int how = 0; how < 3; how++) { /* a receive must be there before */
        fill();
        EITHER(Irecv, out, 3, MPI_INT, left, 7, world, &q);
        MPI_Barrier(world);
        if (how == 0)
            EITHER(Rsend, in, 3, MPI_INT, right, 7, world);
        if (how == 1) {
            EITHER(Irsend, in, 3, MPI_INT, right, 7, world, &r);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
        }
        if (how == 2) {
            EITHER(Rsend_init, in, 3, MPI_INT, right, 7, world, &r);
            run_and_free(&r);
        }
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        expect(arrived(), "Rsend");
    }
}

static void receives(int large)
{
    MPI_Request q, r;
    MPI_Message m;
    MPI_Status st;
    int count = 0;
    MPI_Count many = 0;

    fill();
    EITHER(Isend, in, 3, MPI_INT, right, 8, world, &r);
    EITHER(Recv, out, 3, MPI_INT, left, 8, world, &st);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    expect(arrived(), "Recv");
    MPI_Get_count(&st, MPI_INT, &count);
    MPI_Get_count_c(&st, MPI_INT, &many);
    expect(count == 3 && many == 3, "counts of a status");
    MPI_Get_elements(&st, MPI_BYTE, &count);
    MPI_Get_elements_c(&st, MPI_BYTE, &many);
    expect(count == 12 && many == 12, "elements of a status");
    for (int later = 0; later < 2; later++) {
        EITHER(Isend, in, 3, MPI_INT, right, 9, world, &r);
        MPI_Mprobe(left, 9, world, &m, &st);
        if (later) {
            EITHER(Imrecv, out, 3, MPI_INT, &m, &q);
            MPI_Wait(&q, &st);
        } else {
            EITHER(Mrecv, out, 3, MPI_INT, &m, &st);
        }
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        expect(arrived(), later ? "Imrecv" : "Mrecv");
    }
}

static void pairs(int large)
{
    MPI_Request q;
    MPI_Status st;

    fill();
    EITHER(Sendrecv, in, 3, MPI_INT, right, 1, out, 3, MPI_INT, left, 1, world, &st);
    expect(arrived(), "Sendrecv");
    memcpy(out, in, 3 * sizeof *in);
    EITHER(Sendrecv_replace, out, 3, MPI_INT, right, 2, left, 2, world, &st);
    expect(arrived(), "Sendrecv_replace");
    EITHER(Isendrecv, in, 3, MPI_INT, right, 3, out, 3, MPI_INT, left, 3, world, &q);
    MPI_Wait(&q, &st);
    expect(arrived(), "Isendrecv");
    memcpy(out, in, 3 * sizeof *in);
    EITHER(Isendrecv_replace, out, 3, MPI_INT, right, 4, left, 4, world, &q);
    MPI_Wait(&q, &st);
    expect(arrived(), "Isendrecv_replace");
}

/* ---- datatypes ---- */

/* What a type made with wide counts is made of. */
struct made {
    const char *what;
    MPI_Datatype ints, wide;
    int combiner;
    MPI_Count ni, na, nc, nd; /* with wide counts */
    int integers[20];         /* the first is compared where it is not 0 */
    MPI_Count counts[9];
};

static void same_layout(const struct made *m)
{
    MPI_Count wide_size = -1, lb[2], extent[2];
    MPI_Aint low[2], length[2];
    int ints = -1;

    MPI_Type_size(m->wide, &ints);
    MPI_Type_size_c(m->wide, &wide_size);
    expect(ints == wide_size, "a size in both widths");
    MPI_Type_size(m->ints, &ints);
    expect(ints == wide_size, m->what);
    MPI_Type_get_extent(m->ints, &low[0], &length[0]);
    MPI_Type_get_true_extent(m->ints, &low[1], &length[1]);
    MPI_Type_get_extent_c(m->wide, &lb[0], &extent[0]);
    MPI_Type_get_true_extent_c(m->wide, &lb[1], &extent[1]);
    for (int i = 0; i < 2; i++)
        expect(low[i] == lb[i] && length[i] == extent[i], m->what);
}

static void same_data(const struct made *m)
{
    char data[512], one[512], two[512];
    MPI_Count wide_at = 0, wide_room = 0;
    int position = 0, room = 0;

    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (char)(i * 7);
    memset(one, 0, sizeof one);
    memset(two, 0, sizeof two);
    MPI_Pack_size(2, m->ints, world, &room);
    MPI_Pack_size_c(2, m->wide, world, &wide_room);
    expect(room == wide_room, "Pack_size_c");
    MPI_Pack(data + 128, 2, m->ints, one, sizeof one, &position, world);
    MPI_Pack_c(data + 128, 2, m->wide, two, sizeof two, &wide_at, world);
    expect(position == wide_at && memcmp(one, two, sizeof one) == 0, m->what);
    memset(data, 0, sizeof data);
    wide_at = 0;
    MPI_Unpack_c(two, sizeof two, &wide_at, data + 128, 2, m->wide, world);
    memset(two, 0, sizeof two);
    position = 0;
    MPI_Pack(data + 128, 2, m->ints, two, sizeof two, &position, world);
    expect(position == wide_at && memcmp(one, two, sizeof one) == 0, "Unpack_c");
}

static void contents(const struct made *m)
{
    MPI_Count ni = -1, na = -1, nc = -1, nd = -1, counts[20] = {0};
    int combiner = -1, integers[20] = {0};
    MPI_Aint addresses[1];
    MPI_Datatype parts[4];

    MPI_Type_get_envelope_c(m->wide, &ni, &na, &nc, &nd, &combiner);
    expect(ni == m->ni && na == m->na && nc == m->nc && nd == m->nd && combiner == m->combiner,
           m->what);
    MPI_Type_get_contents_c(m->wide, ni, na, nc, nd, integers, addresses, counts, parts);
    for (int i = 0; i < nc; i++)
        expect(counts[i] == m->counts[i], m->what);
    for (int i = 0; i < ni; i++)
        expect(integers[i] == m->integers[i], m->what);
    expect(nd == 0 || parts[0] == MPI_INT, m->what);
}

static void make(struct made m)
{
    MPI_Type_commit(&m.ints);
    MPI_Type_commit(&m.wide);
    same_layout(&m);
    same_data(&m);
    contents(&m);
    MPI_Type_free(&m.ints);
    MPI_Type_free(&m.wide);
}

static void vectors(void)
{
    struct made m = {"contiguous", 0, 0, MPI_COMBINER_CONTIGUOUS, 0, 0, 1, 1, {0}, {3}};

    MPI_Type_contiguous(3, MPI_INT, &m.ints);
    MPI_Type_contiguous_c(3, MPI_INT, &m.wide);
    make(m);
    m = (struct made){"vector", 0, 0, MPI_COMBINER_VECTOR, 0, 0, 3, 1, {0}, {3, 2, -4}};
    MPI_Type_vector(3, 2, -4, MPI_INT, &m.ints);
    MPI_Type_vector_c(3, 2, -4, MPI_INT, &m.wide);
    make(m);
    m = (struct made){"hvector", 0, 0, MPI_COMBINER_HVECTOR, 0, 0, 3, 1, {0}, {3, 2, 20}};
    MPI_Type_create_hvector(3, 2, 20, MPI_INT, &m.ints);
    MPI_Type_create_hvector_c(3, 2, 20, MPI_INT, &m.wide);
    make(m);
    m = (struct made){"resized", 0, 0, MPI_COMBINER_RESIZED, 0, 0, 2, 1, {0}, {-4, 24}};
    MPI_Type_create_resized(MPI_INT, -4, 24, &m.ints);
    MPI_Type_create_resized_c(MPI_INT, -4, 24, &m.wide);
    make(m);
}

static void lists(void)
{
    const int lengths[] = {2, 1}, places[] = {5, 1};
    const MPI_Aint addresses[] = {20, 4};
    const MPI_Count long_[] = {2, 1}, where[] = {5, 1}, byte[] = {20, 4};
    const MPI_Datatype two[] = {MPI_INT, MPI_INT};
    struct made m = {"indexed", 0, 0, MPI_COMBINER_INDEXED, 0, 0, 5, 1, {0}, {2, 2, 1, 5, 1}};

    MPI_Type_indexed(2, lengths, places, MPI_INT, &m.ints);
    MPI_Type_indexed_c(2, long_, where, MPI_INT, &m.wide);
    make(m);
    m = (struct made){"hindexed", 0, 0, MPI_COMBINER_HINDEXED, 0, 0, 5, 1, {0}, {2, 2, 1, 20, 4}};
    MPI_Type_create_hindexed(2, lengths, addresses, MPI_INT, &m.ints);
    MPI_Type_create_hindexed_c(2, long_, byte, MPI_INT, &m.wide);
    make(m);
    m = (struct made){"indexed block", 0, 0, MPI_COMBINER_INDEXED_BLOCK, 0, 0, 4, 1, {0},
                      {2, 2, 5, 1}};
    MPI_Type_create_indexed_block(2, 2, places, MPI_INT, &m.ints);
    MPI_Type_create_indexed_block_c(2, 2, where, MPI_INT, &m.wide);
    make(m);
    m = (struct made){"hindexed block", 0, 0, MPI_COMBINER_HINDEXED_BLOCK, 0, 0, 4, 1, {0},
                      {2, 2, 20, 4}};
    MPI_Type_create_hindexed_block(2, 2, addresses, MPI_INT, &m.ints);
    MPI_Type_create_hindexed_block_c(2, 2, byte, MPI_INT, &m.wide);
    make(m);
    m = (struct made){"struct", 0, 0, MPI_COMBINER_STRUCT, 0, 0, 5, 2, {0}, {2, 2, 1, 20, 4}};
    MPI_Type_create_struct(2, lengths, addresses, two, &m.ints);
    MPI_Type_create_struct_c(2, long_, byte, two, &m.wide);
    make(m);
}

static void arrays(void)
{
    const int sizes[] = {4, 6}, parts[] = {2, 3}, starts[] = {1, 2};
    const MPI_Count long_[] = {4, 6}, part[] = {2, 3}, start[] = {1, 2};
    const int how[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, blocks_[] = {2, 2},
              grid[] = {2, 1};
    struct made m = {"subarray", 0, 0, MPI_COMBINER_SUBARRAY, 2,
                     0,          6, 1, {2, MPI_ORDER_C},      {4, 6, 2, 3, 1, 2}};

    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &m.ints);
    MPI_Type_create_subarray_c(2, long_, part, start, MPI_ORDER_C, MPI_INT, &m.wide);
    make(m);
    m = (struct made){
        "darray",
        0,
        0,
        MPI_COMBINER_DARRAY,
        10,
        0,
        2,
        1,
        {2, 1, 2, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, 2, 2, 2, 1, MPI_ORDER_FORTRAN},
        {4, 6}};
    MPI_Type_create_darray(2, 1, 2, sizes, how, blocks_, grid, MPI_ORDER_FORTRAN, MPI_INT, &m.ints);
    MPI_Type_create_darray_c(2, 1, 2, long_, how, blocks_, grid, MPI_ORDER_FORTRAN, MPI_INT,
                             &m.wide);
    make(m);
}

/* ---- what an int does not reach ---- */

/* Room of @p length bytes, all of it the same MiB. */
static char *aliased(size_t length)
{
    const size_t piece = 1 << 20;
    int file = memfd_create("mpi_large", 0);
    char *all = mmap(NULL, length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (file < 0 || all == MAP_FAILED || ftruncate(file, (off_t)piece) != 0)
        return NULL;
    for (size_t i = 0; i < length; i += piece)
        if (mmap(all + i, piece, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) ==
            MAP_FAILED)
            return NULL;
    (void)close(file);
    return all;
}

/* Room that has memory only where it is touched. */
static char *empty(size_t length)
{
    char *all = mmap(NULL, length, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return all == MAP_FAILED ? NULL : all;
}

static void large_types(void)
{
    MPI_Datatype bytes_, rows, part;
    MPI_Count wide_size = 0, lb = 0, extent = 0;
    MPI_Count sizes[] = {MANY, 3}, parts[] = {2, 2}, starts[] = {MANY - 2, 1};
    int small = 0;

    MPI_Type_contiguous_c(MANY, MPI_BYTE, &bytes_);
    MPI_Type_size(bytes_, &small);
    MPI_Type_size_c(bytes_, &wide_size);
    expect(small == MPI_UNDEFINED && wide_size == MANY, "the size of a large type");
    MPI_Type_vector_c(3, 1, MANY, MPI_INT, &rows);
    MPI_Type_get_extent_c(rows, &lb, &extent);
    expect(lb == 0 && extent == 4 * (2 * MANY + 1), "the extent of far rows");
    MPI_Type_create_subarray_c(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &part);
    MPI_Type_get_extent_c(part, &lb, &extent);
    expect(lb == 0 && extent == 12 * MANY, "the extent of an array");
    MPI_Type_get_true_extent_c(part, &lb, &extent);
    expect(lb == 12 * (MANY - 2) + 4 && extent == 12 + 8, "where a part of it lies");
    MPI_Type_size(part, &small);
    expect(small == 16, "the size of a part");
    MPI_Type_free(&bytes_);
    MPI_Type_free(&rows);
    MPI_Type_free(&part);
}

/* Blocks far apart, by types and by displacements. */
static void far_blocks(void)
{
    MPI_Count one[MOST];
    MPI_Aint places[MOST], places_bytes[MOST], none[MOST];
    MPI_Datatype pair;
    char *room = empty((size_t)MANY * 5);
    int mine[2] = {10 * me, 10 * me + 1}, *second = (int *)(void *)(room + MANY * 4);

    if (room == NULL) {
        expect(0, "address space for 15 GB");
        return;
    }
    for (int i = 0; i < MOST; i++) {
        one[i] = 1;
        places[i] = (MPI_Aint)MANY - i; /* of 4 bytes */
        places_bytes[i] = 4 * places[i];
        none[i] = i;
    }
    MPI_Type_vector_c(2, 1, MANY, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Sendrecv_c(mine, 2, MPI_INT, right, 1, room, 1, pair, left, 1, world, MPI_STATUS_IGNORE);
    expect(*(int *)(void *)room == 10 * left && *second == 10 * left + 1, "far rows");
    MPI_Allgather_c(room, 1, pair, out, 2, MPI_INT, world);
    expect(out[0] == 10 * ((size - 1) % size) && out[1] == out[0] + 1, "allgather of far rows");
    MPI_Type_free(&pair);

    MPI_Allgatherv_c(&me, 1, MPI_INT, room, one, places, MPI_INT, world);
    for (int i = 0; i < size; i++)
        expect(second[-i] == i, "Allgatherv_c");
    MPI_Scatterv_c(room, one, places, MPI_INT, out, 1, MPI_INT, 0, world);
    expect(out[0] == me, "Scatterv_c");
    *out = me + 1;
    MPI_Gatherv_c(out, 1, MPI_INT, room, one, places, MPI_INT, 0, world);
    expect(me != 0 || second[1 - size] == size, "Gatherv_c");
    for (int i = 0; i < size; i++)
        second[-i] = 100 * me + i;
    MPI_Alltoallv_c(room, one, places, MPI_INT, out, one, none, MPI_INT, world);
    for (int i = 0; i < size; i++)
        expect(out[i] == 100 * i + me, "Alltoallv_c");
    MPI_Alltoallw_c(room, one, places_bytes, types, out, one, distance, types, world);
    for (int i = 0; i < size; i++)
        expect(out[3 * i] == 100 * i + me, "Alltoallw_c");
    MPI_Neighbor_allgatherv_c(&me, 1, MPI_INT, room, one, places, MPI_INT, ring);
    expect(second[0] == left && second[-1] == right, "Neighbor_allgatherv_c");
    for (int i = 0; i < 2; i++)
        second[-i] = 100 * me + i;
    MPI_Neighbor_alltoallv_c(room, one, places, MPI_INT, out, one, none, MPI_INT, ring);
    expect(out[0] + out[1] == 100 * (left + right) + 1, "Neighbor_alltoallv_c");
    MPI_Neighbor_alltoallw_c(room, one, places_bytes, types, out, one, distance, types, ring);
    expect(out[0] + out[3] == 100 * (left + right) + 1, "Neighbor_alltoallw_c");
    (void)munmap(room, (size_t)MANY * 5);
}

static void far_packing(void)
{
    char *room = empty((size_t)MANY + 4096);
    MPI_Count position = MANY, all = 0;
    int data[3] = {1, 2, 3}, back[3] = {0};

    if (room == NULL) {
        expect(0, "address space for 3 GB");
        return;
    }
    MPI_Pack_size_c(MANY, MPI_INT, world, &all);
    expect(all == 4 * MANY, "Pack_size_c of many");
    MPI_Pack_c(data, 3, MPI_INT, room, MANY + 4096, &position, world);
    expect(position == MANY + 12, "the position of packing");
    position = MANY;
    MPI_Unpack_c(room, MANY + 4096, &position, back, 3, MPI_INT, world);
    expect(position == MANY + 12 && memcmp(data, back, sizeof data) == 0, "Unpack_c far away");
    position = MANY;
    MPI_Pack_external_c("external32", data, 3, MPI_INT, room, MANY + 4096, &position);
    expect(position == MANY + 12 && room[MANY + 3] == 1, "Pack_external_c");
    position = MANY;
    memset(back, 0, sizeof back);
    MPI_Unpack_external_c("external32", room, MANY + 4096, &position, back, 3, MPI_INT);
    expect(memcmp(data, back, sizeof data) == 0, "Unpack_external_c");
    MPI_Pack_external_size_c("external32", MANY, MPI_INT, &all);
    expect(all == 4 * MANY, "Pack_external_size_c");
    (void)munmap(room, (size_t)MANY + 4096);
}

/* More than 2^31 bytes that are sent. */
static void long_messages(void)
{
    const size_t length = ((size_t)2050) << 20;
    const MPI_Count count = ((MPI_Count)1 << 31) + 17;
    char *room = aliased(length);
    MPI_Status st;
    MPI_Count many = 0;
    int small = 0;

    if (room == NULL) {
        expect(0, "memory that is there 2050 times");
        return;
    }
    memset(room, me == 0 ? 'a' : '-', 1 << 20);
    if (me == 0)
        MPI_Send_c(room, count, MPI_BYTE, 1, 1, world);
    if (me == 1) {
        MPI_Recv_c(room, MANY, MPI_BYTE, 0, 1, world, &st);
        MPI_Get_count(&st, MPI_BYTE, &small);
        MPI_Get_count_c(&st, MPI_BYTE, &many);
        expect(small == MPI_UNDEFINED && many == count, "the count of a long message");
        MPI_Get_elements(&st, MPI_BYTE, &small);
        MPI_Get_elements_c(&st, MPI_BYTE, &many);
        expect(small == MPI_UNDEFINED && many == count, "the elements of a long message");
        expect(room[0] == 'a' && room[(1 << 20) - 1] == 'a', "a long message's data");
    }
    memset(room, me == 0 ? 'b' : '-', 1 << 20);
    MPI_Bcast_c(room, count, MPI_BYTE, 0, world);
    expect(room[0] == 'b' && room[(1 << 20) - 1] == 'b', "a long broadcast");
    (void)munmap(room, length);
}

/* ---- operators ---- */

static MPI_Count longest;

static void add(void *a, void *b, MPI_Count *length, MPI_Datatype *type)
{
    longest = *length > longest ? *length : longest;
    expect(*type == MPI_INT, "the type of an operator");
    for (MPI_Count i = 0; i < *length; i++)
        ((int *)b)[i] += ((int *)a)[i];
}

static void operators(void)
{
    int sum = size * (size + 1) / 2, mine[] = {me + 1, 1}, all[] = {0, 0};
    MPI_Op op;

    MPI_Op_create_c(add, 1, &op);
    MPI_Allreduce_c(mine, all, 2, MPI_INT, op, world);
    expect(all[0] == sum && all[1] == size, "an operator with a wide length");
    MPI_Reduce_local_c(mine, all, 2, MPI_INT, op);
    expect(all[0] == sum + me + 1 && all[1] == size + 1, "Reduce_local_c");
    expect(longest > 0 && longest <= 2, "the length of an operator");
    MPI_Op_free(&op);
}

int main(int argc, char **argv)
{
    int periodic = 1;

    MPI_Init(&argc, &argv);
    world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &me);
    MPI_Comm_size(world, &size);
    left = (me + size - 1) % size;
    right = (me + 1) % size;
    MPI_Cart_create(world, 1, &size, &periodic, 0, &ring);
    set_blocks();
    reductions();
    blocks();
    exchanges();
    neighbours();
    for (int large = 0; large < 2; large++) {
        sends(large);
        ready(large);
        receives(large);
        pairs(large);
    }
    vectors();
    lists();
    arrays();
    operators();
    large_types();
    far_packing();
    far_blocks();
    if (getenv("LONG_MESSAGES") != NULL && size > 1)
        long_messages();
    MPI_Comm_free(&ring);
    MPI_Finalize();
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}

#else

int main(void)
{
    puts("ok"); /* the MPI has no wide counts */
    return 0;
}

#endif
