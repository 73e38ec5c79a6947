/* SPDX-License-Identifier: BSD-3-Clause */
/* The type table and every operator on every type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "mpi/mpi.h"

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
    assert_int_equal(i, WAITIO_MPI_REAL8 - WAITIO_MPI_DEFTAG);
}

static void foreign_numbers_and_negative_counts_are_refused(void **state)
{
    size_t bytes = 77;
    (void)state;
    assert_null(wio_mpi_type(0));
    assert_null(wio_mpi_type(WAITIO_MPI_DEFTAG));
    assert_null(wio_mpi_type(WAITIO_MPI_REAL8 + 1));
    assert_null(wio_mpi_type(-1));
    assert_int_equal(wio_mpi_bytes(-1, WAITIO_MPI_INT, &bytes), WAITIO_ERR_ARG);
    assert_int_equal(bytes, 77);
    assert_int_equal(wio_mpi_bytes(2147483647, WAITIO_MPI_DOUBLE, &bytes), 0);
    assert_true(bytes == 17179869176u);
}

/* Small whole numbers a, b in the representation of each kind, and back. */
static void store(int kind, void *p, int v)
{
    static const int float_kind[] = {WIO_KIND_F32, WIO_KIND_C32};
    if (kind == float_kind[0] || kind == float_kind[1])
        memcpy(p, (float[2]){(float)v, 0}, kind == WIO_KIND_C32 ? 8 : 4);
    else if (kind == WIO_KIND_F64 || kind == WIO_KIND_C64)
        memcpy(p, (double[2]){v, 0}, kind == WIO_KIND_C64 ? 16 : 8);
    else if (kind == WIO_KIND_I8 || kind == WIO_KIND_U8 || kind == WIO_KIND_BYTE)
        memcpy(p, (int8_t[1]){(int8_t)v}, 1);
    else if (kind == WIO_KIND_I16 || kind == WIO_KIND_U16)
        memcpy(p, (int16_t[1]){(int16_t)v}, 2);
    else if (kind == WIO_KIND_I64 || kind == WIO_KIND_U64)
        memcpy(p, (int64_t[1]){v}, 8);
    else if (kind == WIO_KIND_BOOL)
        memcpy(p, (bool[1]){v != 0}, sizeof(bool));
    else
        memcpy(p, (int32_t[1]){v}, 4);
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
    enum { INTEGER = 1, REAL = 2, COMPLEX = 4, LOGICAL = 8, BYTES = 16 };
    static const int families[WIO_KIND_COUNT] = {
        [WIO_KIND_I8] = INTEGER,   [WIO_KIND_I16] = INTEGER,     [WIO_KIND_I32] = INTEGER,
        [WIO_KIND_I64] = INTEGER,  [WIO_KIND_U8] = INTEGER,      [WIO_KIND_U16] = INTEGER,
        [WIO_KIND_U32] = INTEGER,  [WIO_KIND_U64] = INTEGER,     [WIO_KIND_F32] = REAL,
        [WIO_KIND_F64] = REAL,     [WIO_KIND_C32] = COMPLEX,     [WIO_KIND_C64] = COMPLEX,
        [WIO_KIND_BOOL] = LOGICAL, [WIO_KIND_LOGICAL] = LOGICAL, [WIO_KIND_BYTE] = BYTES,
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
    default:
        return families[kind] & (INTEGER | BYTES);
    }
}

/* Three elements at odd addresses, result into the left operand, the right one and elsewhere. */
static void check_pair(const struct wio_mpi_type *t, int op, wio_mpi_kernel kernel)
{
    static const int a[] = {3, 0, 9}, b[] = {5, 7, 0};
    unsigned char x[64], y[64], z[64], want[64];
    size_t n = 3u * t->size;

    memset(z, 0xee, sizeof z);
    for (int i = 0; i < 3; i++) {
        bool logical = t->kind == WIO_KIND_BOOL || t->kind == WIO_KIND_LOGICAL;
        store(t->kind, x + 1 + i * t->size, logical ? a[i] != 0 : a[i]);
        store(t->kind, y + 1 + i * t->size, logical ? b[i] != 0 : b[i]);
        store(t->kind, want + i * t->size, result(op, a[i], b[i]));
    }
    kernel(x + 1, y + 1, z + 1, 3);
    assert_memory_equal(z + 1, want, n);
    assert_int_equal(z[0], 0xee);
    assert_int_equal(z[1 + n], 0xee);
    memcpy(z, x, sizeof z);
    kernel(z + 1, y + 1, z + 1, 3);
    assert_memory_equal(z + 1, want, n);
    kernel(x + 1, y + 1, y + 1, 3);
    assert_memory_equal(y + 1, want, n);
}

static void every_operator_on_every_type(void **state)
{
    (void)state;
    for (int i = 0; wio_mpi_type_row(i) != NULL; i++) {
        const struct wio_mpi_type *t = wio_mpi_type_row(i);
        for (int op = WAITIO_MPI_SUM; op <= WAITIO_MPI_BXOR; op++) {
            wio_mpi_kernel kernel = NULL;
            int rc = wio_mpi_find_kernel(t->id, op, &kernel);
            assert_int_equal(rc, defined(t->kind, op) ? 0 : WAITIO_ERR_ARG);
            if (rc == 0)
                check_pair(t, op, kernel);
        }
    }
}

static void signs_and_complex_products(void **state)
{
    wio_mpi_kernel f;
    int8_t s[2] = {-5, 100}, t[2] = {3, 100}, r[2];
    uint8_t p = 200, q = 100, m;
    double a[2] = {1, 2}, b[2] = {3, -1}, c[2];

    (void)state;
    assert_int_equal(wio_mpi_find_kernel(WAITIO_MPI_CHAR, WAITIO_MPI_MAX, &f), 0);
    f(s, t, r, 2);
    assert_int_equal(r[0], 3);
    assert_int_equal(wio_mpi_find_kernel(WAITIO_MPI_CHAR, WAITIO_MPI_SUM, &f), 0);
    f(s, t, r, 2);
    assert_int_equal(r[0], -2);
    assert_int_equal(r[1], -56); /* wraps, never undefined */
    assert_int_equal(wio_mpi_find_kernel(WAITIO_MPI_UNSIGNED_CHAR, WAITIO_MPI_MAX, &f), 0);
    f(&p, &q, &m, 1);
    assert_int_equal(m, 200);
    assert_int_equal(wio_mpi_find_kernel(WAITIO_MPI_DOUBLE_COMPLEX, WAITIO_MPI_PROD, &f), 0);
    f(a, b, c, 1);
    assert_true(c[0] == 5.0 && c[1] == 5.0);
}

static void unknown_operators_are_refused(void **state)
{
    wio_mpi_kernel f;
    (void)state;
    assert_int_equal(wio_mpi_find_kernel(WAITIO_MPI_INT, 0, &f), WAITIO_ERR_ARG);
    assert_int_equal(wio_mpi_find_kernel(WAITIO_MPI_INT, WAITIO_MPI_DEFTAG, &f), WAITIO_ERR_ARG);
    assert_int_equal(wio_mpi_find_kernel(WAITIO_MPI_INT, WAITIO_MPI_BXOR + 1, &f), WAITIO_ERR_ARG);
    assert_int_equal(wio_mpi_find_kernel(1, WAITIO_MPI_SUM, &f), WAITIO_ERR_ARG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_what_existing_programs_compiled_in),
        cmocka_unit_test(rows_stand_at_their_numbers),
        cmocka_unit_test(foreign_numbers_and_negative_counts_are_refused),
        cmocka_unit_test(every_operator_on_every_type),
        cmocka_unit_test(signs_and_complex_products),
        cmocka_unit_test(unknown_operators_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
