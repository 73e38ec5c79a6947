/* SPDX-License-Identifier: BSD-3-Clause */
/* The type table and every operator on every type. */
#include <float.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "mpi/mpi.h"

/* REAL16 as operators see it, where this machine has it apart from long double. */
#ifdef __SIZEOF_FLOAT128__
__extension__ typedef __float128 quad;
#else
typedef long double quad;
#endif

/* Kernel of a predefined operator. */
static int find_kernel(WAITIO_MPI_Datatype type, WAITIO_MPI_Op op, wio_mpi_kernel *kernel)
{
    const struct wio_mpi_type *t = wio_mpi_type(type);
    struct wio_fold fold;
    int rc = t == NULL ? WAITIO_MPI_ERR_TYPE : wio_fold_bind(t, op, &fold);
    if (rc == 0)
        *kernel = fold.kernel;
    return rc;
}

static void numbers_are_what_existing_programs_compiled_in(void **state)
{
    (void)state;
    assert_int_equal(WAITIO_MPI_DEFTAG, 524288);
    assert_int_equal(WAITIO_MPI_INT, 524289);
    assert_int_equal(WAITIO_MPI_INTEGER, 524289);
    assert_int_equal(WAITIO_MPI_LONG, 524290);
    assert_int_equal(WAITIO_MPI_CHAR, 524291);
    assert_int_equal(WAITIO_MPI_FLOAT, 524292);
    assert_int_equal(WAITIO_MPI_DOUBLE, 524293);
    assert_int_equal(WAITIO_MPI_DOUBLE_PRECISION, 524293);
    assert_int_equal(WAITIO_MPI_SUM, 524289);
    assert_int_equal(WAITIO_MPI_MAX, 524290);
    assert_int_equal(WAITIO_MPI_MIN, 524291);
    assert_int_equal(WAITIO_STATUS_SIZE, 4);
    assert_int_equal(WAITIO_REQUEST_SIZE, 22);
}

static void rows_stand_at_their_numbers(void **state)
{
    int i;
    (void)state;
    for (i = 0; wio_mpi_type_row(i) != NULL; i++) {
        assert_int_equal(wio_mpi_type_row(i)->id, WAITIO_MPI_DEFTAG + 1 + i);
        assert_ptr_equal(wio_mpi_type(wio_mpi_type_row(i)->id), wio_mpi_type_row(i));
    }
    assert_int_equal(i, WAITIO_MPI_CXX_LONG_DOUBLE_COMPLEX - WAITIO_MPI_DEFTAG);
}

static void foreign_numbers_and_negative_counts_are_refused(void **state)
{
    const struct wio_mpi_type *t = NULL;
    (void)state;
    assert_null(wio_mpi_type(0));
    assert_null(wio_mpi_type(WAITIO_MPI_DEFTAG));
    assert_null(wio_mpi_type(WAITIO_MPI_CXX_LONG_DOUBLE_COMPLEX + 1));
    assert_null(wio_mpi_type(-1));
    assert_int_equal(wio_type_use(-1, WAITIO_MPI_INT, &t), WAITIO_MPI_ERR_COUNT);
    assert_null(t);
    assert_int_equal(wio_type_use(INT64_MAX / 8, WAITIO_MPI_DOUBLE, &t), 0);
    assert_int_equal(wio_type_use(INT64_MAX / 8 + 1, WAITIO_MPI_DOUBLE, &t), WAITIO_ERR_LIMIT);
}

/* Small whole numbers in the representation of each kind; complex ones have an imaginary part 0. */
static void store(int kind, void *p, int v)
{
#define STORE(T)                                                                                   \
    do {                                                                                           \
        T number[2] = {(T)v, (T)0};                                                                \
        memcpy(p, number, (kind >= WIO_KIND_C32 && kind <= WIO_KIND_CLONG ? 2 : 1) * sizeof(T));   \
    } while (0)
    enum { FLOATS, DOUBLES, LONGS, QUADS, I8, I16, I64, BOOLS };
    static const int how[WIO_KIND_COUNT] = {
        [WIO_KIND_F32] = 1 + FLOATS,  [WIO_KIND_C32] = 1 + FLOATS,  [WIO_KIND_F64] = 1 + DOUBLES,
        [WIO_KIND_C64] = 1 + DOUBLES, [WIO_KIND_FLONG] = 1 + LONGS, [WIO_KIND_CLONG] = 1 + LONGS,
        [WIO_KIND_F128] = 1 + QUADS,  [WIO_KIND_C128] = 1 + QUADS,  [WIO_KIND_I8] = 1 + I8,
        [WIO_KIND_U8] = 1 + I8,       [WIO_KIND_BYTE] = 1 + I8,     [WIO_KIND_LOGICAL1] = 1 + I8,
        [WIO_KIND_I16] = 1 + I16,     [WIO_KIND_U16] = 1 + I16,     [WIO_KIND_LOGICAL2] = 1 + I16,
        [WIO_KIND_I64] = 1 + I64,     [WIO_KIND_U64] = 1 + I64,     [WIO_KIND_LOGICAL8] = 1 + I64,
        [WIO_KIND_BOOL] = 1 + BOOLS};
    switch (how[kind] - 1) {
    case FLOATS:
        STORE(float);
        break;
    case DOUBLES:
        STORE(double);
        break;
    case LONGS:
        memset(p, 0, sizeof(long double)); /* padding */
        STORE(long double);
        break;
    case QUADS:
        STORE(quad);
        break;
    case I8:
        STORE(int8_t);
        break;
    case I16:
        STORE(int16_t);
        break;
    case I64:
        STORE(int64_t);
        break;
    case BOOLS:
        memcpy(p, (bool[1]){v != 0}, sizeof(bool));
        break;
    default:
        STORE(int32_t);
    }
#undef STORE
}

static int result(int op, int a, int b)
{
    switch (op) {
    case WAITIO_MPI_SUM:
        return a + b;
    case WAITIO_MPI_PROD:
        return a * b;
    case WAITIO_MPI_MAX:
        return a > b ? a : b;
    case WAITIO_MPI_MIN:
        return a < b ? a : b;
    case WAITIO_MPI_LAND:
        return a && b;
    case WAITIO_MPI_LOR:
        return a || b;
    case WAITIO_MPI_LXOR:
        return !a != !b;
    case WAITIO_MPI_BAND:
        return a & b;
    case WAITIO_MPI_BOR:
        return a | b;
    default:
        return a ^ b;
    }
}

/* Which pairs MPI defines (and CHAR, which is an integer here). */
static bool defined(int kind, int op)
{
    enum { INTEGER = 1, REAL = 2, COMPLEX = 4, LOGICAL = 8, BYTES = 16, PLACES = 32 };
    static const int families[WIO_KIND_COUNT] = {
        [WIO_KIND_I8] = INTEGER,       [WIO_KIND_I16] = INTEGER,      [WIO_KIND_I32] = INTEGER,
        [WIO_KIND_I64] = INTEGER,      [WIO_KIND_U8] = INTEGER,       [WIO_KIND_U16] = INTEGER,
        [WIO_KIND_U32] = INTEGER,      [WIO_KIND_U64] = INTEGER,      [WIO_KIND_F32] = REAL,
        [WIO_KIND_F64] = REAL,         [WIO_KIND_C32] = COMPLEX,      [WIO_KIND_C64] = COMPLEX,
        [WIO_KIND_BOOL] = LOGICAL,     [WIO_KIND_LOGICAL] = LOGICAL,  [WIO_KIND_BYTE] = BYTES,
        [WIO_KIND_FLONG] = REAL,       [WIO_KIND_F128] = REAL,        [WIO_KIND_CLONG] = COMPLEX,
        [WIO_KIND_C128] = COMPLEX,     [WIO_KIND_LOGICAL1] = LOGICAL, [WIO_KIND_LOGICAL2] = LOGICAL,
        [WIO_KIND_LOGICAL8] = LOGICAL, [WIO_KIND_F32_I32] = PLACES,   [WIO_KIND_F64_I32] = PLACES,
        [WIO_KIND_I64_I32] = PLACES,   [WIO_KIND_I32_I32] = PLACES,   [WIO_KIND_I16_I32] = PLACES,
        [WIO_KIND_FLONG_I32] = PLACES, [WIO_KIND_F32_F32] = PLACES,   [WIO_KIND_F64_F64] = PLACES,
    };

    switch (op) {
    case WAITIO_MPI_SUM:
    case WAITIO_MPI_PROD:
        return families[kind] & (INTEGER | REAL | COMPLEX);
    case WAITIO_MPI_MAX:
    case WAITIO_MPI_MIN:
        return families[kind] & (INTEGER | REAL);
    case WAITIO_MPI_LAND:
    case WAITIO_MPI_LOR:
    case WAITIO_MPI_LXOR:
        return families[kind] & (INTEGER | LOGICAL);
    case WAITIO_MPI_MINLOC:
    case WAITIO_MPI_MAXLOC:
        return families[kind] & PLACES;
    default:
        return families[kind] & (INTEGER | BYTES);
    }
}

/* Bytes of long double beyond the number itself may hold anything. */
static void same_values(const struct wio_mpi_type *t, const unsigned char *a,
                        const unsigned char *b, size_t n)
{
    size_t part = t->run[0].unit;
    size_t used = t->kind == WIO_KIND_FLONG || t->kind == WIO_KIND_CLONG
                      ? (LDBL_MANT_DIG == 64 ? 10 : part)
                      : part;
    for (size_t i = 0; i < n * t->size; i += part)
        assert_memory_equal(a + i, b + i, used);
}

/* Three elements at odd addresses, result into the left operand, the right one and elsewhere. */
static void check_pair(const struct wio_mpi_type *t, int op, wio_mpi_kernel kernel)
{
    static const int a[] = {3, 0, 9}, b[] = {5, 7, 0};
    unsigned char x[128], y[128], z[128], want[128];
    size_t n = 3u * t->size;

    memset(z, 0xee, sizeof z);
    for (int i = 0; i < 3; i++) {
        bool logical = t->kind >= WIO_KIND_BOOL && t->kind <= WIO_KIND_LOGICAL8;
        store(t->kind, x + 1 + i * t->size, logical ? a[i] != 0 : a[i]);
        store(t->kind, y + 1 + i * t->size, logical ? b[i] != 0 : b[i]);
        store(t->kind, want + i * t->size, result(op, a[i], b[i]));
    }
    kernel(x + 1, y + 1, z + 1, 3);
    same_values(t, z + 1, want, 3);
    assert_int_equal(z[0], 0xee);
    assert_int_equal(z[1 + n], 0xee);
    memcpy(z, x, sizeof z);
    kernel(z + 1, y + 1, z + 1, 3);
    same_values(t, z + 1, want, 3);
    kernel(x + 1, y + 1, y + 1, 3);
    same_values(t, y + 1, want, 3);
}

static void every_operator_on_every_type(void **state)
{
    (void)state;
    for (int i = 0; wio_mpi_type_row(i) != NULL; i++) {
        const struct wio_mpi_type *t = wio_mpi_type_row(i);
        for (int op = WAITIO_MPI_SUM; op <= WAITIO_MPI_MAXLOC; op++) {
            wio_mpi_kernel kernel = NULL;
            int rc = find_kernel(t->id, op, &kernel);
            assert_int_equal(rc, defined(t->kind, op) ? 0 : WAITIO_MPI_ERR_OP);
            if (rc == 0 && op <= WAITIO_MPI_BXOR)
                check_pair(t, op, kernel);
        }
    }
}

static void signs_and_complex_products(void **state)
{
    wio_mpi_kernel f = NULL;
    int8_t s[2] = {-5, 100}, t[2] = {3, 100}, r[2];
    uint8_t p = 200, q = 100, m;
    double a[2] = {1, 2}, b[2] = {3, -1}, c[2];

    (void)state;
    assert_int_equal(find_kernel(WAITIO_MPI_CHAR, WAITIO_MPI_MAX, &f), 0);
    f(s, t, r, 2);
    assert_int_equal(r[0], 3);
    assert_int_equal(find_kernel(WAITIO_MPI_CHAR, WAITIO_MPI_SUM, &f), 0);
    f(s, t, r, 2);
    assert_int_equal(r[0], -2);
    assert_int_equal(r[1], -56); /* wraps, never undefined */
    assert_int_equal(find_kernel(WAITIO_MPI_UNSIGNED_CHAR, WAITIO_MPI_MAX, &f), 0);
    f(&p, &q, &m, 1);
    assert_int_equal(m, 200);
    assert_int_equal(find_kernel(WAITIO_MPI_DOUBLE_COMPLEX, WAITIO_MPI_PROD, &f), 0);
    f(a, b, c, 1);
    assert_true(c[0] == 5.0 && c[1] == 5.0);
}

/* Of each pair kind: value 1 at 7 meets value 2 at 3, then equal values at 7 and 3. */
#define CHECK_PLACES(TYPE, T, I)                                                                   \
    do {                                                                                           \
        T v[4] = {1, 2, 5, 5};                                                                     \
        I k[4] = {7, 3, 7, 3}, index;                                                              \
        unsigned char p[4][sizeof(T) + sizeof(I)], r[sizeof(T) + sizeof(I)];                       \
        T value;                                                                                   \
        for (int i = 0; i < 4; i++) {                                                              \
            memcpy(p[i], &v[i], sizeof(T));                                                        \
            memcpy(p[i] + sizeof(T), &k[i], sizeof(I));                                            \
        }                                                                                          \
        for (int op = WAITIO_MPI_MINLOC; op <= WAITIO_MPI_MAXLOC; op++) {                          \
            bool min = op == WAITIO_MPI_MINLOC;                                                    \
            wio_mpi_kernel f = NULL;                                                               \
            assert_int_equal(find_kernel(TYPE, op, &f), 0);                                        \
            f(p[0], p[1], r, 1);                                                                   \
            memcpy(&value, r, sizeof value);                                                       \
            memcpy(&index, r + sizeof value, sizeof index);                                        \
            assert_true(value == (min ? 1 : 2) && index == (min ? 7 : 3));                         \
            f(p[1], p[0], r, 1);                                                                   \
            memcpy(&index, r + sizeof value, sizeof index);                                        \
            assert_true(index == (min ? 7 : 3));                                                   \
            f(p[2], p[3], r, 1);                                                                   \
            memcpy(&index, r + sizeof value, sizeof index);                                        \
            assert_true(index == 3);                                                               \
        }                                                                                          \
    } while (0)

static void places_of_extremes(void **state)
{
    (void)state;
    CHECK_PLACES(WAITIO_MPI_FLOAT_INT, float, int);
    CHECK_PLACES(WAITIO_MPI_DOUBLE_INT, double, int);
    CHECK_PLACES(WAITIO_MPI_LONG_INT, long, int);
    CHECK_PLACES(WAITIO_MPI_2INT, int, int);
    CHECK_PLACES(WAITIO_MPI_SHORT_INT, short, int);
    CHECK_PLACES(WAITIO_MPI_LONG_DOUBLE_INT, long double, int);
    CHECK_PLACES(WAITIO_MPI_2REAL, float, float);
    CHECK_PLACES(WAITIO_MPI_2DOUBLE_PRECISION, double, double);
    CHECK_PLACES(WAITIO_MPI_2INTEGER, int, int);
}

/* inout = in - inout, which neither commutes nor associates. */
static void minus(void *in, void *inout, int *length, WAITIO_MPI_Datatype *type)
{
    WAITIO_MPI_Aint lb, extent;
    assert_int_equal(WAITIO_MPI_Type_get_extent(*type, &lb, &extent), 0);
    for (int i = 0; i < *length; i++) {
        int a, b;
        memcpy(&a, (char *)in + i * extent + 4, sizeof a);
        memcpy(&b, (char *)inout + i * extent + 4, sizeof b);
        b = a - b;
        memcpy((char *)inout + i * extent + 4, &b, sizeof b);
    }
}

/* The program's function sees elements as they lie in memory, also of a type with holes. */
static void operators_of_the_program(void **state)
{
    enum { MANY = 40000 };
    static int a[MANY], b[MANY], r[MANY];
    WAITIO_MPI_Datatype holes;
    WAITIO_MPI_Op op, gone;
    struct wio_fold fold;
    int places[1] = {1}, commutes = 1;
    WAITIO_MPI_Datatype block;

    (void)state;
    WAITIO_MPI_Type_create_indexed_block(1, 1, places, WAITIO_MPI_INT, &block);
    WAITIO_MPI_Type_create_resized(block, 0, 12, &holes);
    assert_int_equal(WAITIO_MPI_Op_create(minus, 0, &op), 0);
    gone = op;
    assert_int_equal(WAITIO_MPI_Op_commutative(op, &commutes), 0);
    assert_int_equal(commutes, 0);
    assert_int_equal(wio_fold_bind(wio_mpi_type(holes), op, &fold), 0);
    assert_false(fold.commutative);
    for (int i = 0; i < MANY; i++) {
        a[i] = 3 * i;
        b[i] = i;
    }
    assert_int_equal(wio_fold_apply(&fold, a, b, r, MANY), 0);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(r[i], 2 * i);
    assert_int_equal(wio_fold_apply(&fold, a, b, a, MANY), 0); /* result over the left operand */
    assert_memory_equal(a, r, sizeof a);
    wio_fold_hold(&fold);
    assert_int_equal(WAITIO_MPI_Op_free(&op), 0);
    assert_int_equal(op, WAITIO_MPI_OP_NULL);
    assert_int_equal(wio_op_named(), 0);
    assert_int_equal(wio_fold_apply(&fold, r, b, r, 1), 0); /* under way: still there */
    wio_fold_release(&fold);
    assert_int_equal(wio_fold_bind(wio_mpi_type(holes), gone, &fold), WAITIO_MPI_ERR_OP);
    WAITIO_MPI_Type_free(&holes);
    WAITIO_MPI_Type_free(&block);
    assert_int_equal(wio_type_named(), 0);
}

static void unknown_operators_are_refused(void **state)
{
    wio_mpi_kernel f = NULL;
    (void)state;
    assert_int_equal(find_kernel(WAITIO_MPI_INT, 0, &f), WAITIO_MPI_ERR_OP);
    assert_int_equal(find_kernel(WAITIO_MPI_INT, WAITIO_MPI_DEFTAG, &f), WAITIO_MPI_ERR_OP);
    assert_int_equal(find_kernel(WAITIO_MPI_INT, WAITIO_MPI_MAXLOC + 1, &f), WAITIO_MPI_ERR_OP);
    assert_int_equal(find_kernel(1, WAITIO_MPI_SUM, &f), WAITIO_MPI_ERR_TYPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_what_existing_programs_compiled_in),
        cmocka_unit_test(rows_stand_at_their_numbers),
        cmocka_unit_test(foreign_numbers_and_negative_counts_are_refused),
        cmocka_unit_test(every_operator_on_every_type),
        cmocka_unit_test(signs_and_complex_products),
        cmocka_unit_test(places_of_extremes),
        cmocka_unit_test(operators_of_the_program),
        cmocka_unit_test(unknown_operators_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
