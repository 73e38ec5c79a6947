/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Derived types: what a message between jobs takes and writes is what the program's own MPI packs
 * and unpacks, for types with odd bounds, all constructors, those with large counts, and random
 * nested ones. All types are made of ints, so that both sides need not have the same bounds.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Elements lie within this window around the middle of the buffers. */
enum { ROOM = 1 << 16, HALF = ROOM / 2, MOST = HALF / 2, REPEATS = 3, RANDOM = 150 };

static int rank, size, failures, tested;
static unsigned seed;

static int below(int n)
{
    seed = seed * 1103515245u + 12345u;
    return (int)((seed >> 16) % (unsigned)n);
}

static void wrong(const char *name, const char *what)
{
    if (failures++ < 10)
        fprintf(stderr, "layouts %d: %s: %s\n", rank, name, what);
}

/* ---- the comparison ---- */

static char data[ROOM], expected[ROOM], got[ROOM];

/* May so many elements be used in the buffers? */
static int fits(MPI_Datatype type, int n)
{
    MPI_Aint lb, extent, true_lb, true_extent, reach;
    int bytes;

    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_get_true_extent(type, &true_lb, &true_extent);
    MPI_Type_size(type, &bytes);
    reach = labs(true_lb) + true_extent + (n - 1) * labs(extent);
    return bytes != MPI_UNDEFINED && (MPI_Aint)bytes * n <= MOST && reach <= MOST;
}

/* The message to the right has the ints that the vendor packs there. */
static void compare_sent(const char *name, MPI_Datatype type, int n, int ints)
{
    int at = 0, right = (rank + 1) % size, left = (rank + size - 1) % size;
    int *packed = calloc((size_t)ints + 1, sizeof(int)),
        *came = calloc((size_t)ints + 1, sizeof(int));
    MPI_Request request;

    MPI_Isend(data + HALF, n, type, right, 1, MPI_COMM_WORLD, &request);
    MPI_Recv(came, ints, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Pack(data + HALF, n, type, packed, ints * (int)sizeof(int), &at, MPI_COMM_SELF);
    MPI_Sendrecv_replace(packed, ints, MPI_INT, right, 1, left, 1, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    if (memcmp(packed, came, (size_t)ints * sizeof(int)) != 0)
        wrong(name, "other data was sent than MPI_Pack gives");
    free(packed);
    free(came);
}

static void compare_received(const char *name, MPI_Datatype type, int n, int ints)
{
    int at = 0, *numbers = malloc((size_t)ints * sizeof(int) + 1);

    for (int i = 0; i < ints; i++)
        numbers[i] = i + 1;
    memset(expected, 0, ROOM);
    memset(got, 0, ROOM);
    MPI_Unpack(numbers, ints * (int)sizeof(int), &at, expected + HALF, n, type, MPI_COMM_SELF);
    MPI_Sendrecv(numbers, ints, MPI_INT, (rank + 1) % size, 2, got + HALF, n, type,
                 (rank + size - 1) % size, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (memcmp(expected, got, ROOM) != 0)
        wrong(name, "wrote elsewhere than MPI_Unpack does");
    free(numbers);
}

/* MPIs differ in bounds: do all say so? */
static int everywhere(int yes)
{
    int all = 0;

    MPI_Allreduce(&yes, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

/* Does the vendor itself put element after element by the extent that it tells? Open MPI 4.1 does
 * not where a part is empty. */
static int by_extent(MPI_Datatype type)
{
    MPI_Aint lb, extent;
    int bytes = 0, at = 0, then = 0, same;
    char *whole, *parts;

    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_size(type, &bytes);
    bytes *= REPEATS;
    whole = calloc(1, (size_t)bytes + 1);
    parts = calloc(1, (size_t)bytes + 1);
    MPI_Pack(data + HALF, REPEATS, type, whole, bytes, &at, MPI_COMM_SELF);
    for (int i = 0; i < REPEATS; i++)
        MPI_Pack(data + HALF + i * extent, 1, type, parts, bytes, &then, MPI_COMM_SELF);
    same = memcmp(whole, parts, (size_t)bytes) == 0;
    free(whole);
    free(parts);
    return same;
}

/* @param overlaps its elements may overlap, so that it cannot be received into */
static void compare(const char *name, MPI_Datatype *type, int overlaps)
{
    int bytes = 0, n;

    MPI_Type_commit(type);
    n = everywhere(fits(*type, REPEATS) && by_extent(*type)) ? REPEATS : 1;
    MPI_Type_size(*type, &bytes);
    compare_sent(name, *type, n, n * bytes / (int)sizeof(int));
    if (everywhere(!overlaps))
        compare_received(name, *type, n, n * bytes / (int)sizeof(int));
    MPI_Type_free(type);
    tested++;
}

/* ---- bounds in which MPIs differ ---- */

static void bounds(void)
{
    const int ones[3] = {1, 1, 1}, some[2] = {1, 0}, sizes[2] = {3, 4}, parts[2] = {2, 2},
              starts[2] = {1, 1};
    const MPI_Aint far[2] = {8, 24}, near[2] = {0, 60};
    MPI_Datatype resized, empty, part, list[2], type;

    MPI_Type_create_resized(MPI_INT, 0, 16, &resized);
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &part);
    list[0] = MPI_INT, list[1] = resized;
    MPI_Type_create_struct(2, ones, far, list, &type);
    compare("int, resized", &type, 0);
    list[0] = resized, list[1] = MPI_INT;
    MPI_Type_create_struct(2, ones, far, list, &type);
    compare("resized, int", &type, 0);
    list[0] = MPI_INT, list[1] = empty;
    MPI_Type_create_struct(2, ones, far, list, &type);
    compare("int, empty", &type, 0);
    MPI_Type_create_hindexed(2, some, far, resized, &type);
    compare("resized, none of it", &type, 0);
    list[0] = part, list[1] = MPI_INT;
    MPI_Type_create_struct(2, ones, near, list, &type);
    compare("subarray, int", &type, 0);
    list[0] = MPI_INT, list[1] = part;
    MPI_Type_create_struct(2, ones, far, list, &type);
    compare("int, subarray", &type, 0);
    MPI_Type_contiguous(2, part, &type);
    compare("two subarrays", &type, 0);
    MPI_Type_free(&resized);
    MPI_Type_free(&empty);
    MPI_Type_free(&part);
}

/* ---- large counts ---- */

#if MPI_VERSION >= 4
static void large(void)
{
    const MPI_Count lengths[2] = {1, 2}, places[2] = {0, 3}, bytes[2] = {4, 40};
    const MPI_Count sizes[2] = {5, 4}, parts[2] = {2, 3}, starts[2] = {2, 1};
    const MPI_Count many[3] = {1, 3000000000, 1}, at[3] = {0, 4, 8};
    const int how[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK},
              blocks[2] = {2, MPI_DISTRIBUTE_DFLT_DARG}, grid[2] = {2, 2};
    MPI_Datatype list[3] = {MPI_INT, MPI_INT, MPI_INT}, type, empty;

    MPI_Type_contiguous_c(5, MPI_INT, &type);
    compare("contiguous_c", &type, 0);
    MPI_Type_vector_c(3, 2, 4, MPI_INT, &type);
    compare("vector_c", &type, 0);
    MPI_Type_create_hvector_c(3, 2, 20, MPI_INT, &type);
    compare("hvector_c", &type, 0);
    MPI_Type_indexed_c(2, lengths, places, MPI_INT, &type);
    compare("indexed_c", &type, 0);
    MPI_Type_create_hindexed_c(2, lengths, bytes, MPI_INT, &type);
    compare("hindexed_c", &type, 0);
    MPI_Type_create_indexed_block_c(2, 2, places, MPI_INT, &type);
    compare("indexed_block_c", &type, 0);
    MPI_Type_create_hindexed_block_c(2, 2, bytes, MPI_INT, &type);
    compare("hindexed_block_c", &type, 0);
    MPI_Type_create_struct_c(2, lengths, bytes, list, &type);
    compare("struct_c", &type, 0);
    MPI_Type_create_resized_c(MPI_INT, -4, 12, &type);
    compare("resized_c", &type, 0);
    for (int order = 0; order < 2; order++) {
        int which = order ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
        MPI_Type_create_subarray_c(2, sizes, parts, starts, which, MPI_INT, &type);
        compare("subarray_c", &type, 0);
        MPI_Type_create_darray_c(4, 2, 2, sizes, how, blocks, grid, which, MPI_INT, &type);
        compare("darray_c", &type, 0);
    }
    MPI_Type_contiguous(0, MPI_INT, &empty);
    list[1] = empty;
    MPI_Type_create_struct_c(3, many, at, list, &type);
    compare("a block of 3000000000", &type, 0);
    MPI_Type_free(&empty);
}
#else
static void large(void)
{
}
#endif

/* ---- random ones ---- */

static int random_array(MPI_Datatype of, MPI_Datatype *type)
{
    int dims = 1 + below(3), order = below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, dealt = below(2);
    int sizes[3], parts[3], starts[3], how[3], grid[3], processes = 1;

    for (int d = 0; d < dims; d++) {
        sizes[d] = 1 + below(5);
        parts[d] = 1 + below(sizes[d]);
        starts[d] = below(sizes[d] - parts[d] + 1);
        grid[d] = 1 + below(2);
        how[d] = below(2) ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC;
        processes *= grid[d];
    }
    if (!dealt)
        return MPI_Type_create_subarray(dims, sizes, parts, starts, order, of, type);
    for (int d = 0; d < dims; d++) /* blocks that are large enough, or as MPI chooses them */
        parts[d] = below(2) ? (sizes[d] + grid[d] - 1) / grid[d] : MPI_DISTRIBUTE_DFLT_DARG;
    return MPI_Type_create_darray(processes, below(processes), dims, sizes, how, parts, grid, order,
                                  of, type);
}

static int random_list(MPI_Datatype of, MPI_Datatype *type)
{
    int n = 1 + below(3), lengths[3], places[3], at = 0, kind = below(5);
    MPI_Aint lb, extent, bytes[3];
    MPI_Datatype types[3] = {of, of, of};

    MPI_Type_get_extent(of, &lb, &extent);
    for (int i = 0; i < n; i++) {
        lengths[i] = kind >= 2 && kind < 4 ? 2 : below(3);
        places[i] = at + below(3);
        at = places[i] + lengths[i];
        bytes[i] = places[i] * labs(extent);
    }
    switch (kind) {
    case 0:
        return MPI_Type_indexed(n, lengths, places, of, type);
    case 1:
        return MPI_Type_create_hindexed(n, lengths, bytes, of, type);
    case 2:
        return MPI_Type_create_indexed_block(n, 2, places, of, type);
    case 3:
        return MPI_Type_create_hindexed_block(n, 2, bytes, of, type);
    default:
        return MPI_Type_create_struct(n, lengths, bytes, types, type);
    }
}

static int random_layer(MPI_Datatype of, MPI_Datatype *type)
{
    int a = 1 + below(3), b = 1 + below(2), c = 1 + below(3), kind = below(6);
    MPI_Aint lb, extent;

    MPI_Type_get_extent(of, &lb, &extent);
    switch (kind) {
    case 0:
        return MPI_Type_contiguous(a, of, type);
    case 1:
        return MPI_Type_vector(a, b, b + c, of, type);
    case 2:
        return MPI_Type_create_hvector(a, 1, c * labs(extent), of, type);
    case 3:
        return MPI_Type_create_resized(of, lb - 4 * a, extent + 4 * (b + c), type);
    case 4:
        return random_array(of, type);
    default:
        return random_list(of, type);
    }
}

/* Elements with bounds of their own may overlap. So only those are received that come back as they
 * went: the vendor says. */
static int may_overlap(MPI_Datatype type)
{
    int bytes = 0, at = 0, n = fits(type, REPEATS) ? REPEATS : 1, ints, differ;
    int *numbers, *back;

    MPI_Type_size(type, &bytes);
    ints = n * bytes / (int)sizeof(int);
    numbers = malloc((size_t)ints * sizeof(int) + 1);
    back = malloc((size_t)ints * sizeof(int) + 1);
    for (int i = 0; i < ints; i++)
        numbers[i] = i + 1;
    MPI_Unpack(numbers, ints * (int)sizeof(int), &at, got + HALF, n, type, MPI_COMM_SELF);
    at = 0;
    MPI_Pack(got + HALF, n, type, back, ints * (int)sizeof(int), &at, MPI_COMM_SELF);
    differ = memcmp(numbers, back, (size_t)ints * sizeof(int)) != 0;
    free(numbers);
    free(back);
    return differ;
}

static void random_type(int number)
{
    int depth = 1 + below(4), good = 1;
    MPI_Datatype type, next;
    char name[32];

    (void)snprintf(name, sizeof name, "random type %d", number);
    MPI_Type_contiguous(1, MPI_INT, &type);
    for (int i = 0; i < depth; i++) {
        good = good && random_layer(type, &next) == MPI_SUCCESS;
        if (!everywhere(good)) /* no MPI makes all types */
            break;
        MPI_Type_free(&type);
        type = next;
    }
    if (!everywhere(good && fits(type, 1))) {
        MPI_Type_free(&type);
        return;
    }
    MPI_Type_commit(&type);
    compare(name, &type, may_overlap(type));
}

int main(int argc, char **argv)
{
    int least, most;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < ROOM; i++)
        data[i] = (char)(i * 7 + i / 251);
    seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    bounds();
    if (everywhere(MPI_VERSION >= 4))
        large();
    for (int i = 0; i < RANDOM; i++)
        random_type(i);
    MPI_Allreduce(&failures, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&tested, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (most == 0 && least > RANDOM / 2)
        printf("ok\n");
    MPI_Finalize();
    return failures != 0;
}
