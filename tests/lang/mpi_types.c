/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes of datatypes and what types are made of, as the standard has them: a program of MPI,
 * which says the same under an MPI (test_mpi_header.py).
 */
#ifdef FOR_WAITIO
#include <waitio_mpi_rename.h>
#else
#include <mpi.h>
#endif

#include <stdio.h>
#include <string.h>

static int failures, me;

static void expect(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "rank %d: %s\n", me, what);
        failures++;
    }
}

/* ---- attributes ---- */

static int gone, copied, refuse;

static int count_gone(MPI_Datatype type, int keyval, void *value, void *extra)
{
    int size = -1;

    (void)keyval;
    MPI_Type_size(type, &size); /* the type is still there */
    expect(size == 24 || size == 4, "a delete function gets its type");
    expect(*(int *)extra == 17, "a delete function gets its extra state");
    gone += *(int *)value;
    return refuse ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int copy_next(MPI_Datatype from, int keyval, void *extra, void *in, void *out, int *flag)
{
    int size = -1;

    (void)keyval;
    (void)extra;
    MPI_Type_size(from, &size);
    expect(size == 24, "a copy function gets its type");
    copied++;
    *(int **)out = (int *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int value_of(MPI_Datatype type, int key)
{
    int *value = NULL, flag = -1;

    MPI_Type_get_attr(type, key, &value, &flag);
    return flag ? *value : -1;
}

static void attributes(void)
{
    static int numbers[] = {1, 10, 100}, state = 17;
    MPI_Datatype type, copy;
    int counted, kept, plain;

    MPI_Type_create_keyval(copy_next, count_gone, &counted, &state);
    MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &kept, NULL);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &plain, NULL);
    MPI_Type_contiguous(3, MPI_DOUBLE, &type);
    expect(value_of(type, counted) == -1, "no attribute yet");
    MPI_Type_set_attr(type, counted, &numbers[0]);
    MPI_Type_set_attr(type, kept, &numbers[2]);
    MPI_Type_set_attr(type, plain, &numbers[2]);
    MPI_Type_dup(type, &copy);
    expect(copied == 1 && value_of(copy, counted) == 10, "an attribute that a function copied");
    expect(value_of(copy, kept) == 100 && value_of(copy, plain) == -1, "copied, and not copied");
    MPI_Type_set_attr(type, counted, &numbers[2]);
    expect(gone == 1 && value_of(type, counted) == 100, "a replaced value");
    MPI_Type_delete_attr(type, plain);
    expect(value_of(type, plain) == -1, "a deleted attribute");
    MPI_Type_free_keyval(&counted);
    expect(counted == MPI_KEYVAL_INVALID, "a freed key");
    MPI_Type_free(&copy);
    expect(gone == 11, "attributes end with their type");
    MPI_Type_free(&type);
    expect(gone == 111, "also after their key was freed");
    MPI_Type_set_attr(MPI_INT, kept, &numbers[1]);
    expect(value_of(MPI_INT, kept) == 10 && value_of(MPI_FLOAT, kept) == -1, "basic types, too");
    MPI_Type_delete_attr(MPI_INT, kept);
    MPI_Type_free_keyval(&kept);
    MPI_Type_free_keyval(&plain);
}

/* What is refused, and what a delete function refuses. */
static void attribute_errors(void)
{
    static int number = 1000, state = 17;
    MPI_Datatype type;
    int key, of_comms, *value, flag, class_;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &of_comms, NULL);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, count_gone, &key, &state);
    MPI_Type_contiguous(3, MPI_DOUBLE, &type);
#ifdef FOR_WAITIO
    MPI_Error_class(MPI_Type_set_attr(type, of_comms, &number), &class_);
    expect(class_ == MPI_ERR_KEYVAL, "a key of communicators on a type");
    MPI_Error_class(MPI_Comm_set_attr(MPI_COMM_SELF, key, &number), &class_);
    expect(class_ == MPI_ERR_KEYVAL, "a key of types on a communicator");
    MPI_Error_class(MPI_Type_get_attr(type, MPI_TAG_UB, &value, &flag), &class_);
    expect(class_ == MPI_ERR_KEYVAL, "an attribute of communicators on a type");
#else
    (void)value;
    (void)flag;
    (void)class_;
#endif
    gone = 0;
    MPI_Type_set_attr(type, key, &number);
    refuse = 1;
    expect(MPI_Type_delete_attr(type, key) != MPI_SUCCESS && gone == 1000,
           "a delete function fails");
#ifdef FOR_WAITIO
    expect(MPI_Type_free(&type) != MPI_SUCCESS && value_of(type, key) == 1000, "the type stays");
#endif
    refuse = 0;
    MPI_Type_free(&type);
    MPI_Type_free_keyval(&key);
    MPI_Comm_free_keyval(&of_comms);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* ---- what types are made of ---- */

enum { MOST = 40 };
static int number[MOST];
static MPI_Aint address[MOST];
static MPI_Datatype part[MOST];

/* Take a type apart, compare with what is said here, and free it. @p numbers MOST of them follow */
static void made_of(MPI_Datatype type, int combiner, int n, const int *numbers, int na,
                    const MPI_Aint *addresses, int nt, const char *what)
{
    int got_n = -1, got_a = -1, got_t = -1, got = -1;

    MPI_Type_get_envelope(type, &got_n, &got_a, &got_t, &got);
    expect(got == combiner, what);
    expect(got_n == n && got_a == na && got_t == nt, what);
    if (got_n != n || got_a != na || got_t != nt)
        return;
    MPI_Type_get_contents(type, n, na, nt, number, address, part);
    for (int i = 0; i < n; i++)
        expect(number[i] == numbers[i], what);
    for (int i = 0; i < na; i++)
        expect(address[i] == addresses[i], what);
    MPI_Type_free(&type);
}

static void by_elements(void)
{
    static const int lengths[] = {2, 1, 3}, places[] = {0, 4, 9};
    MPI_Datatype type;

    MPI_Type_contiguous(5, MPI_INT, &type);
    made_of(type, MPI_COMBINER_CONTIGUOUS, 1, (int[]){5}, 0, NULL, 1, "contiguous");
    expect(part[0] == MPI_INT, "made of MPI_INT");
    MPI_Type_vector(3, 2, -4, MPI_DOUBLE, &type);
    made_of(type, MPI_COMBINER_VECTOR, 3, (int[]){3, 2, -4}, 0, NULL, 1, "vector");
    expect(part[0] == MPI_DOUBLE, "made of MPI_DOUBLE");
    MPI_Type_indexed(3, lengths, places, MPI_INT, &type);
    made_of(type, MPI_COMBINER_INDEXED, 7, (int[]){3, 2, 1, 3, 0, 4, 9}, 0, NULL, 1, "indexed");
    MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &type);
    made_of(type, MPI_COMBINER_INDEXED_BLOCK, 5, (int[]){3, 2, 0, 4, 9}, 0, NULL, 1,
            "indexed_block");
    MPI_Type_contiguous(0, MPI_INT, &type);
    made_of(type, MPI_COMBINER_CONTIGUOUS, 1, (int[]){0}, 0, NULL, 1, "nothing");
}

static void by_bytes(void)
{
    static const int lengths[] = {2, 1, 3};
    static const MPI_Aint bytes[] = {-8, 16, 1000000000};
    static const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
    MPI_Datatype type;

    MPI_Type_create_hvector(3, 2, 100, MPI_INT, &type);
    made_of(type, MPI_COMBINER_HVECTOR, 2, (int[]){3, 2}, 1, (MPI_Aint[]){100}, 1, "hvector");
    MPI_Type_create_hindexed(3, lengths, bytes, MPI_INT, &type);
    made_of(type, MPI_COMBINER_HINDEXED, 4, (int[]){3, 2, 1, 3}, 3, bytes, 1, "hindexed");
    MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &type);
    made_of(type, MPI_COMBINER_HINDEXED_BLOCK, 2, (int[]){3, 2}, 3, bytes, 1, "hindexed_block");
    MPI_Type_create_struct(3, lengths, bytes, types, &type);
    made_of(type, MPI_COMBINER_STRUCT, 4, (int[]){3, 2, 1, 3}, 3, bytes, 3, "struct");
    expect(memcmp(part, types, sizeof types) == 0, "types of the structure");
    MPI_Type_create_resized(MPI_INT, -4, 24, &type);
    made_of(type, MPI_COMBINER_RESIZED, 0, NULL, 2, (MPI_Aint[]){-4, 24}, 1, "resized");
}

static void of_arrays(void)
{
    static const int sizes[] = {6, 8}, parts[] = {2, 3}, starts[] = {1, 4}, grid[] = {2, 2},
                     how[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
                     blocks[] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
    MPI_Datatype type;

    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &type);
    made_of(type, MPI_COMBINER_SUBARRAY, 8, (int[]){2, 6, 8, 2, 3, 1, 4, MPI_ORDER_FORTRAN}, 0,
            NULL, 1, "subarray");
    MPI_Type_create_darray(4, 3, 2, sizes, how, blocks, grid, MPI_ORDER_C, MPI_INT, &type);
    made_of(type, MPI_COMBINER_DARRAY, 12,
            (int[]){4, 3, 2, 6, 8, how[0], how[1], blocks[0], blocks[1], 2, 2, MPI_ORDER_C}, 0,
            NULL, 1, "darray");
}

/* A derived type among the contents is a handle of the program's, also when it has freed its own;
 * it describes the same data and can be taken apart again. */
static void nested(void)
{
    MPI_Datatype inner, outer, copy, again;
    int x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, y[9] = {0}, ni, na, nt, combiner, size;

    MPI_Type_vector(2, 1, 2, MPI_INT, &inner);
    MPI_Type_contiguous(2, inner, &outer);
    MPI_Type_free(&inner);
    MPI_Type_dup(outer, &copy);
    made_of(copy, MPI_COMBINER_DUP, 0, NULL, 0, NULL, 1, "dup");
    copy = part[0];
    made_of(outer, MPI_COMBINER_CONTIGUOUS, 1, (int[]){2}, 0, NULL, 1, "of a freed type");
    again = part[0];
    MPI_Type_size(again, &size);
    expect(size == 8, "size of the freed type");
    MPI_Type_commit(&again);
    MPI_Sendrecv(x, 2, again, me, 3, y, 4, MPI_INT, me, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(y[0] == 1 && y[1] == 3 && y[2] == 4 && y[3] == 6, "data of the freed type");
    made_of(again, MPI_COMBINER_VECTOR, 3, (int[]){2, 1, 2}, 0, NULL, 1, "taken apart twice");
    made_of(copy, MPI_COMBINER_CONTIGUOUS, 1, (int[]){2}, 0, NULL, 1, "what was duplicated");
    MPI_Type_free(&part[0]);
    MPI_Type_get_envelope(MPI_FLOAT_INT, &ni, &na, &nt, &combiner);
    expect(combiner == MPI_COMBINER_NAMED && ni == 0 && na == 0 && nt == 0, "a basic type");
}

/* A type of a type of a type: freeing the last frees them all, which must need no deep stack. MPICH
 * and Open MPI end the program when the chain is long. */
#ifdef FOR_WAITIO
enum { CHAIN = 200000 };
#else
enum { CHAIN = 20 };
#endif

static void chain(void)
{
    MPI_Datatype type, next;

    MPI_Type_contiguous(1, MPI_INT, &type);
    for (int i = 0; i < CHAIN; i++) {
        MPI_Type_dup(type, &next);
        MPI_Type_free(&type);
        type = next;
    }
    MPI_Type_free(&type);
    expect(type == MPI_DATATYPE_NULL, "a long chain of types");
}

static void content_errors(void)
{
    MPI_Datatype type;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Type_vector(3, 2, 4, MPI_INT, &type);
    expect(MPI_Type_get_contents(MPI_INT, MOST, MOST, MOST, number, address, part) != MPI_SUCCESS,
           "contents of a basic type");
    expect(MPI_Type_get_contents(type, 2, 0, 1, number, address, part) != MPI_SUCCESS,
           "no room for the contents");
    MPI_Type_free(&type);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* bool, std::complex<float>, <double>, <long double> of C++ have C's layout. */
static void of_cxx(void)
{
    static const struct {
        MPI_Datatype type;
        size_t bytes;
        const char *name;
    } rows[] = {
        {MPI_CXX_BOOL, sizeof(_Bool), "MPI_CXX_BOOL"},
        {MPI_CXX_FLOAT_COMPLEX, 2 * sizeof(float), "MPI_CXX_FLOAT_COMPLEX"},
        {MPI_CXX_DOUBLE_COMPLEX, 2 * sizeof(double), "MPI_CXX_DOUBLE_COMPLEX"},
        {MPI_CXX_LONG_DOUBLE_COMPLEX, 2 * sizeof(long double), "MPI_CXX_LONG_DOUBLE_COMPLEX"}};
    double z[2] = {2, 3}, sum[2] = {0, 0};
    int n = 0;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char name[MPI_MAX_OBJECT_NAME];
        int size, length;
        MPI_Type_size(rows[i].type, &size);
        MPI_Type_get_name(rows[i].type, name, &length);
        expect((size_t)size == rows[i].bytes && strcmp(name, rows[i].name) == 0, rows[i].name);
    }
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    MPI_Allreduce(z, sum, 1, MPI_CXX_DOUBLE_COMPLEX, MPI_SUM, MPI_COMM_WORLD);
    expect(sum[0] == 2.0 * n && sum[1] == 3.0 * n, "a sum of std::complex<double>");
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    attributes();
    attribute_errors();
    by_elements();
    by_bytes();
    of_arrays();
    nested();
    chain();
    content_errors();
    of_cxx();
    MPI_Finalize();
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
