/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operators on elements, one small loop per (operator, kind), found through a table. Operands are
 * loaded and stored by memcpy: user buffers may have any alignment, and compilers vectorise it.
 */
#include <string.h>

#include "mpi/mpi.h"

/* Integer arithmetic is done unsigned (U): it wraps, and signed overflow is no accident. */
#define KERNEL(NAME, T, EXPR)                                                                      \
    static void NAME(const void *a, const void *b, void *out, size_t n)                            \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            T x, y, z;                                                                             \
            memcpy(&x, (const char *)a + i * sizeof(T), sizeof(T));                                \
            memcpy(&y, (const char *)b + i * sizeof(T), sizeof(T));                                \
            z = (T)(EXPR);                                                                         \
            memcpy((char *)out + i * sizeof(T), &z, sizeof(T));                                    \
        }                                                                                          \
    }

#define ORDER_KERNELS(SUFFIX, T)                                                                   \
    KERNEL(max_##SUFFIX, T, x >= y ? x : y)                                                        \
    KERNEL(min_##SUFFIX, T, x <= y ? x : y)

#define BIT_KERNELS(SUFFIX, T)                                                                     \
    KERNEL(band_##SUFFIX, T, x &y)                                                                 \
    KERNEL(bor_##SUFFIX, T, x | y)                                                                 \
    KERNEL(bxor_##SUFFIX, T, x ^ y)

#define LOGIC_KERNELS(SUFFIX, T)                                                                   \
    KERNEL(land_##SUFFIX, T, x != 0 && y != 0)                                                     \
    KERNEL(lor_##SUFFIX, T, x != 0 || y != 0)                                                      \
    KERNEL(lxor_##SUFFIX, T, (x != 0) != (y != 0))

#define INTEGER_KERNELS(SUFFIX, T, U)                                                              \
    KERNEL(sum_##SUFFIX, T, (U)x + (U)y)                                                           \
    KERNEL(prod_##SUFFIX, T, (U)x *(U)y)                                                           \
    ORDER_KERNELS(SUFFIX, T)                                                                       \
    BIT_KERNELS(SUFFIX, T)                                                                         \
    LOGIC_KERNELS(SUFFIX, T)

#define FLOAT_KERNELS(SUFFIX, T)                                                                   \
    KERNEL(sum_##SUFFIX, T, x + y)                                                                 \
    KERNEL(prod_##SUFFIX, T, x *y)                                                                 \
    ORDER_KERNELS(SUFFIX, T)

INTEGER_KERNELS(i8, int8_t, uint32_t)
INTEGER_KERNELS(i16, int16_t, uint32_t)
INTEGER_KERNELS(i32, int32_t, uint32_t)
INTEGER_KERNELS(i64, int64_t, uint64_t)
INTEGER_KERNELS(u8, uint8_t, uint32_t)
INTEGER_KERNELS(u16, uint16_t, uint32_t)
INTEGER_KERNELS(u32, uint32_t, uint32_t)
INTEGER_KERNELS(u64, uint64_t, uint64_t)
FLOAT_KERNELS(f32, float)
FLOAT_KERNELS(f64, double)
LOGIC_KERNELS(bool, bool)

/* Complex numbers as pairs, written out: <complex.h> multiplication calls a slow runtime routine
 * for infinities, and MPI promises nothing about them. */
#define COMPLEX_KERNELS(SUFFIX, T)                                                                 \
    static void sum_##SUFFIX(const void *a, const void *b, void *out, size_t n)                    \
    {                                                                                              \
        sum_##T(a, b, out, 2 * n);                                                                 \
    }                                                                                              \
    static void prod_##SUFFIX(const void *a, const void *b, void *out, size_t n)                   \
    {                                                                                              \
        prod_pairs_##T(a, b, out, n);                                                              \
    }

#define PAIR_PRODUCT(SUFFIX, T)                                                                    \
    static void prod_pairs_##SUFFIX(const void *a, const void *b, void *out, size_t n)             \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            T x[2], y[2], z[2];                                                                    \
            memcpy(x, (const char *)a + i * sizeof x, sizeof x);                                   \
            memcpy(y, (const char *)b + i * sizeof y, sizeof y);                                   \
            z[0] = x[0] * y[0] - x[1] * y[1];                                                      \
            z[1] = x[0] * y[1] + x[1] * y[0];                                                      \
            memcpy((char *)out + i * sizeof z, z, sizeof z);                                       \
        }                                                                                          \
    }

PAIR_PRODUCT(f32, float)
PAIR_PRODUCT(f64, double)
COMPLEX_KERNELS(c32, f32)
COMPLEX_KERNELS(c64, f64)

enum op_index {
    OP_SUM,
    OP_MAX,
    OP_MIN,
    OP_PROD,
    OP_LAND,
    OP_BAND,
    OP_LOR,
    OP_BOR,
    OP_LXOR,
    OP_BXOR,
    OP_COUNT
};

static const char *const op_names[OP_COUNT] = {"SUM",  "MAX", "MIN", "PROD", "LAND",
                                               "BAND", "LOR", "BOR", "LXOR", "BXOR"};

#define ARITHMETIC(S)                                                                              \
    [OP_SUM] = sum_##S, [OP_PROD] = prod_##S, [OP_MAX] = max_##S, [OP_MIN] = min_##S
#define LOGIC(S) [OP_LAND] = land_##S, [OP_LOR] = lor_##S, [OP_LXOR] = lxor_##S
#define BITS(S) [OP_BAND] = band_##S, [OP_BOR] = bor_##S, [OP_BXOR] = bxor_##S

static const wio_mpi_kernel kernels[WIO_KIND_COUNT][OP_COUNT] = {
    [WIO_KIND_I8] = {ARITHMETIC(i8), LOGIC(i8), BITS(i8)},
    [WIO_KIND_I16] = {ARITHMETIC(i16), LOGIC(i16), BITS(i16)},
    [WIO_KIND_I32] = {ARITHMETIC(i32), LOGIC(i32), BITS(i32)},
    [WIO_KIND_I64] = {ARITHMETIC(i64), LOGIC(i64), BITS(i64)},
    [WIO_KIND_U8] = {ARITHMETIC(u8), LOGIC(u8), BITS(u8)},
    [WIO_KIND_U16] = {ARITHMETIC(u16), LOGIC(u16), BITS(u16)},
    [WIO_KIND_U32] = {ARITHMETIC(u32), LOGIC(u32), BITS(u32)},
    [WIO_KIND_U64] = {ARITHMETIC(u64), LOGIC(u64), BITS(u64)},
    [WIO_KIND_F32] = {ARITHMETIC(f32)},
    [WIO_KIND_F64] = {ARITHMETIC(f64)},
    [WIO_KIND_C32] = {[OP_SUM] = sum_c32, [OP_PROD] = prod_c32},
    [WIO_KIND_C64] = {[OP_SUM] = sum_c64, [OP_PROD] = prod_c64},
    [WIO_KIND_BOOL] = {LOGIC(bool)},
    /* .true. is 1 in gfortran and -1 in some others; non-zero counts as true, 1 is written. */
    [WIO_KIND_LOGICAL] = {LOGIC(i32)},
    [WIO_KIND_BYTE] = {BITS(u8)},
};

int wio_mpi_find_kernel(WAITIO_MPI_Datatype type, WAITIO_MPI_Op op, wio_mpi_kernel *kernel)
{
    const struct wio_mpi_type *row = wio_mpi_type(type);

    if (row == NULL) {
        return WAITIO_ERR_ARG;
    }
    if (op <= WAITIO_MPI_DEFTAG || op > WAITIO_MPI_DEFTAG + OP_COUNT) {
        return wio_fail(WAITIO_ERR_ARG,
                        "%d is not an operator of the conversion library "
                        "(WAITIO_MPI_SUM is %d)",
                        op, WAITIO_MPI_SUM);
    }
    *kernel = kernels[row->kind][op - WAITIO_MPI_DEFTAG - 1];
    if (*kernel == NULL) {
        return wio_fail(WAITIO_ERR_ARG, "operator %s is not defined for type %s",
                        op_names[op - WAITIO_MPI_DEFTAG - 1], row->name);
    }
    return 0;
}
