/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datatypes and operators of the MPI as those of the conversion library: random nested types are
 * packed by both and must give the same bytes and extents. (True extents are not compared: both
 * MPIs report bytes beyond the data of some nested types.)
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "waitio_hybrid.h"

#define CHECK(COND, ...)                                                                           \
    do {                                                                                           \
        if (!(COND)) {                                                                             \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #COND);                             \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fprintf(stderr, " (%s)\n", waitio_last_error());                                       \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                          \
        }                                                                                          \
    } while (0)

enum { MEMORY = 1 << 22, MIDDLE = 1 << 21 };
static uint64_t seed;
static int used[32]; /* constructors, by number */

static int below(int n)
{
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (int)((seed >> 33) % (uint64_t)n);
}

static const MPI_Datatype plain[] = {MPI_INT,   MPI_DOUBLE, MPI_CHAR,       MPI_SHORT,
                                     MPI_FLOAT, MPI_BYTE,   MPI_DOUBLE_INT, MPI_LONG_INT};

static MPI_Datatype random_type(int depth);

/* A part that is in use: MPI frees it with the whole. */
static void drop(MPI_Datatype t)
{
    int ni, na, nt, combiner;

    MPI_Type_get_envelope(t, &ni, &na, &nt, &combiner);
    if (combiner != MPI_COMBINER_NAMED)
        MPI_Type_free(&t);
}

static MPI_Datatype simple(int kind, MPI_Datatype a)
{
    MPI_Datatype t = MPI_DATATYPE_NULL;
    MPI_Aint lb, extent;

    MPI_Type_get_extent(a, &lb, &extent);
    switch (kind) {
    case 0:
        MPI_Type_dup(a, &t);
        break;
    case 1:
        MPI_Type_contiguous(1 + below(3), a, &t);
        break;
    case 2:
        MPI_Type_vector(1 + below(3), 1 + below(2), 2 + below(3), a, &t);
        break;
    case 3:
        MPI_Type_create_hvector(1 + below(3), 1 + below(2), 2 * extent + below(9), a, &t);
        break;
    default:
        MPI_Type_create_resized(a, lb - below(5), extent + below(17), &t);
    }
    return t;
}

static MPI_Datatype listed(int kind, MPI_Datatype a, int depth)
{
    MPI_Datatype t = MPI_DATATYPE_NULL, parts[3];
    MPI_Aint lb, extent, bytes[3], at = 0;
    int n = 1 + below(3), lens[3], places[3], place = 0;

    for (int i = 0; i < 3; i++) {
        lens[i] = below(3);
        parts[i] = i == 0 ? a : random_type(depth - 1);
        MPI_Type_get_extent(kind == 9 ? parts[i] : a, &lb, &extent);
        places[i] = place;
        bytes[i] = at - (kind == 9 ? lb : 0);
        place += 2 + below(3);
        at += 3 * extent + 8 * below(3);
    }
    switch (kind) {
    case 5:
        MPI_Type_indexed(n, lens, places, a, &t);
        break;
    case 6:
        MPI_Type_create_hindexed(n, lens, bytes, a, &t);
        break;
    case 7:
        MPI_Type_create_indexed_block(n, 2, places, a, &t);
        break;
    case 8:
        MPI_Type_create_hindexed_block(n, 2, bytes, a, &t);
        break;
    default:
        MPI_Type_create_struct(n, lens, bytes, parts, &t);
    }
    drop(parts[1]);
    drop(parts[2]);
    return t;
}

static MPI_Datatype array(int kind, MPI_Datatype a)
{
    MPI_Datatype t = MPI_DATATYPE_NULL;
    int sizes[2] = {3 + below(3), 4 + below(2)}, some[2] = {1 + below(3), 1 + below(3)};
    int starts[2] = {below(3), below(2)}, order = below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    int spread[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    int dargs[2] = {MPI_DISTRIBUTE_DFLT_DARG, 1 + below(2)}, grid[2] = {2, 2}, bytes;

    MPI_Type_size(a, &bytes);
    if (bytes == 0) /* Open MPI 4.1 refuses arrays of nothing */
        a = MPI_INT;

    if (sizes[0] < some[0] + starts[0])
        starts[0] = 0;
    if (sizes[1] < some[1] + starts[1])
        starts[1] = 0;
    if (kind == 10)
        MPI_Type_create_subarray(2, sizes, some, starts, order, a, &t);
    else
        MPI_Type_create_darray(4, below(4), 2, sizes, spread, dargs, grid, order, a, &t);
    return t;
}

/* Parts are freed at once, so translating meets types that only live inside. */
static MPI_Datatype random_type(int depth)
{
    MPI_Datatype a, t;
    int kind = below(12);

    if (depth == 0)
        return plain[below(sizeof plain / sizeof plain[0])];
    a = random_type(depth - 1);
    used[kind]++;
    if (kind < 5)
        t = simple(kind, a);
    else
        t = kind < 10 ? listed(kind, a, depth) : array(kind, a);
    drop(a);
    return t;
}

static unsigned char memory[MEMORY], packed[MEMORY], ours_packed[MEMORY];

static void compare(MPI_Datatype type, int round)
{
    WAITIO_MPI_Datatype ours = 0, again = 0;
    MPI_Aint lb, extent, true_lb, true_extent;
    WAITIO_MPI_Aint olb, oextent;
    int size, osize, at = 0, oat = 0, count = 1 + below(3);

    MPI_Type_commit(&type);
    CHECK(waitio_hybrid_type(type, &ours) == 0, "round %d", round);
    CHECK(waitio_hybrid_type(type, &again) == 0 && again == ours, "round %d: made twice", round);
    MPI_Type_size(type, &size);
    CHECK(WAITIO_MPI_Type_size(ours, &osize) == 0 && osize == size, "round %d: size %d, %d", round,
          osize, size);
    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_get_true_extent(type, &true_lb, &true_extent);
    CHECK(WAITIO_MPI_Type_get_extent(ours, &olb, &oextent) == 0, "round %d", round);
    CHECK(size == 0 || (lb == olb && extent == oextent), "round %d: %ld+%ld, %ld+%ld", round,
          (long)lb, (long)extent, (long)olb, (long)oextent);
    if (size == 0 || 3 * extent + labs((long)lb) + true_extent > MIDDLE / 2 || size > MEMORY / 8)
        return;
    MPI_Pack(memory + MIDDLE, count, type, packed, MEMORY, &at, MPI_COMM_SELF);
    CHECK(WAITIO_MPI_Pack(memory + MIDDLE, count, ours, ours_packed, MEMORY, &oat,
                          WAITIO_MPI_COMM_SELF) == 0,
          "round %d", round);
    CHECK(oat == count * size, "round %d: %d bytes of %d", round, oat, count * size);
    CHECK(at == oat, "round %d: %d bytes of %d", round, at, oat);
    CHECK(memcmp(packed, ours_packed, (size_t)at) == 0, "round %d: %d bytes differ", round, at);
}

static void names(void)
{
    static const struct {
        MPI_Datatype theirs;
        WAITIO_MPI_Datatype ours;
    } pairs[] = {{MPI_INT, WAITIO_MPI_INT},
                 {MPI_DOUBLE, WAITIO_MPI_DOUBLE},
                 {MPI_REAL8, WAITIO_MPI_REAL8},
                 {MPI_LOGICAL, WAITIO_MPI_LOGICAL},
                 {MPI_2DOUBLE_PRECISION, WAITIO_MPI_2DOUBLE_PRECISION},
                 {MPI_LONG_DOUBLE, WAITIO_MPI_LONG_DOUBLE},
                 {MPI_INTEGER, waitio_mpi_integer_type},
                 {MPI_COUNT, WAITIO_MPI_COUNT},
                 {MPI_PACKED, WAITIO_MPI_PACKED},
                 {MPI_C_BOOL, WAITIO_MPI_C_BOOL}};
    WAITIO_MPI_Datatype t = 0, real = 0;
    MPI_Datatype kind, empty;
    WAITIO_MPI_Op op = 0;
    MPI_Op own;

    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        CHECK(waitio_hybrid_type(pairs[i].theirs, &t) == 0 && t == pairs[i].ours, "pair %zu: %d", i,
              t);
    MPI_Type_create_f90_real(12, MPI_UNDEFINED, &kind);
    CHECK(waitio_hybrid_type(kind, &real) == 0 && real == WAITIO_MPI_REAL8, "%d", real);
    MPI_Type_create_struct(0, NULL, NULL, NULL, &empty);
    CHECK(waitio_hybrid_type(empty, &t) == 0, "a structure of nothing");
    MPI_Type_free(&empty);
    CHECK(waitio_hybrid_type(MPI_DATATYPE_NULL, &t) == WAITIO_ERR_ARG, "no type");
    CHECK(waitio_hybrid_type(MPI_INT, NULL) == WAITIO_ERR_ARG, "no place");
    CHECK(waitio_hybrid_op(MPI_MAXLOC, &op) == 0 && op == WAITIO_MPI_MAXLOC, "%d", op);
    CHECK(waitio_hybrid_op(MPI_BXOR, &op) == 0 && op == WAITIO_MPI_BXOR, "%d", op);
    CHECK(waitio_hybrid_op(MPI_REPLACE, &op) == WAITIO_ERR_UNSUPPORTED, "%d", op);
    CHECK(waitio_hybrid_op(MPI_OP_NULL, &op) == WAITIO_ERR_ARG, "%d", op);
    MPI_Op_create((MPI_User_function *)(uintptr_t)names, 1, &own);
    CHECK(waitio_hybrid_op(own, &op) == WAITIO_ERR_UNSUPPORTED &&
              strstr(waitio_last_error(), "WAITIO_MPI_Op_create()") != NULL,
          "the program's");
    MPI_Op_free(&own);
}

/* The library's type goes with the MPI's. */
static void freed_with_it(void)
{
    MPI_Datatype type;
    WAITIO_MPI_Datatype ours;
    int size;

    MPI_Type_contiguous(3, MPI_INT, &type);
    CHECK(waitio_hybrid_type(type, &ours) == 0, "made");
    MPI_Type_free(&type);
    CHECK(WAITIO_MPI_Type_size(ours, &size) != 0, "it is still there");
}

#if MPI_VERSION >= 4
static void large_counts(void)
{
    MPI_Datatype t, u;
    WAITIO_MPI_Datatype ours;
    MPI_Count lens[2] = {2, 1}, at[2] = {0, 40}, sizes[2] = {4, 5}, some[2] = {2, 3},
              starts[2] = {1, 1};
    MPI_Datatype parts[2] = {MPI_INT, MPI_DOUBLE};

    MPI_Type_vector_c(2, 1, 3, MPI_INT, &t);
    compare(t, -1);
    MPI_Type_create_hvector_c(2, 1, 24, t, &u);
    compare(u, -2);
    MPI_Type_create_struct_c(2, lens, at, parts, &t);
    compare(t, -3);
    MPI_Type_create_hindexed_c(2, lens, at, MPI_INT, &t);
    compare(t, -4);
    MPI_Type_create_subarray_c(2, sizes, some, starts, MPI_ORDER_C, MPI_SHORT, &t);
    compare(t, -5);
    MPI_Type_create_resized_c(MPI_INT, -4, 16, &t);
    compare(t, -6);
    MPI_Type_contiguous_c((MPI_Count)1 << 33, MPI_BYTE, &t);
    CHECK(waitio_hybrid_type(t, &ours) == WAITIO_ERR_UNSUPPORTED &&
              strstr(waitio_last_error(), "8589934592") != NULL,
          "8 GiB");
}
#else
static void large_counts(void)
{
}
#endif

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 300;
    WAITIO_MPI_Datatype ours;
    MPI_Datatype t;

    CHECK(WAITIO_MPI_Comm_set_errhandler(NULL, WAITIO_MPI_ERRORS_RETURN) == 0, "errors");
    CHECK(waitio_hybrid_type((MPI_Datatype)0, &ours) == WAITIO_ERR_STATE, "before MPI_Init()");
    MPI_Init(NULL, NULL);
    for (int i = 0; i < MEMORY; i++)
        memory[i] = (unsigned char)(i * 7 + i / 251);
    CHECK(WAITIO_MPI_Init(NULL, NULL) == 0, "joining");
    names();
    freed_with_it();
    large_counts();
    for (int round = 0; round < rounds; round++) {
        seed = (uint64_t)round;
        t = random_type(1 + below(4));
        compare(t, round);
        MPI_Type_free(&t);
    }
    for (int kind = 0; kind < 12; kind++)
        CHECK(used[kind] >= rounds / 20, "constructor %d was used %d times only", kind, used[kind]);
    CHECK(WAITIO_MPI_Finalize() == 0, "leaving");
    MPI_Finalize();
    CHECK(waitio_hybrid_type((MPI_Datatype)0, &ours) == WAITIO_ERR_STATE, "after MPI_Finalize()");
    printf("ok\n");
    return 0;
}
