/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operators on elements, one small loop per (operator, kind), found through a table. Operands are
 * loaded and stored by memcpy: user buffers may have any alignment, and compilers vectorise it.
 */
#include <float.h>
#include <string.h>

#include "mpi/op/op.h"

/* REAL16 where the compiler knows such numbers. */
#if LDBL_MANT_DIG == 113
typedef long double quad;
#define HAVE_QUAD
#elif defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 quad;
#define HAVE_QUAD
#endif

/* out may be one of the operands, but no element depends on another: without this hint compilers
 * must assume dependences, and process one element at a time. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed" /* there are no vectors of long doubles */
#define EACH_FOR_ITSELF _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define EACH_FOR_ITSELF _Pragma("GCC ivdep")
#else
#define EACH_FOR_ITSELF
#endif

/* Integer arithmetic is unsigned (U): it wraps, and there is no signed overflow. */
#define KERNEL(NAME, T, EXPR)                                                                      \
    static void NAME(const void *a, const void *b, void *out, size_t n)                            \
    {                                                                                              \
        EACH_FOR_ITSELF                                                                            \
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
FLOAT_KERNELS(flong, long double)
LOGIC_KERNELS(bool, bool)

/* Complex numbers as pairs, written out: <complex.h> multiplication calls a slow runtime routine
 * for infinities, and MPI promises nothing about them. */
#define COMPLEX_KERNELS(SUFFIX, PART, T)                                                           \
    static void sum_##SUFFIX(const void *a, const void *b, void *out, size_t n)                    \
    {                                                                                              \
        sum_##PART(a, b, out, 2 * n);                                                              \
    }                                                                                              \
    static void prod_##SUFFIX(const void *a, const void *b, void *out, size_t n)                   \
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

COMPLEX_KERNELS(c32, f32, float)
COMPLEX_KERNELS(c64, f64, double)
COMPLEX_KERNELS(clong, flong, long double)
#ifdef HAVE_QUAD
FLOAT_KERNELS(f128, quad)
COMPLEX_KERNELS(c128, f128, quad)
#endif

/* Value and index, packed: the better value, of equal ones that with the lower index. */
#define PAIR_KERNEL(NAME, T, I, BETTER)                                                            \
    static void NAME(const void *a, const void *b, void *out, size_t n)                            \
    {                                                                                              \
        enum { BYTES = sizeof(T) + sizeof(I) };                                                    \
        for (size_t i = 0; i < n; i++) {                                                           \
            const char *p = (const char *)a + i * BYTES, *q = (const char *)b + i * BYTES;         \
            T x, y;                                                                                \
            I k, l;                                                                                \
            memcpy(&x, p, sizeof x);                                                               \
            memcpy(&y, q, sizeof y);                                                               \
            memcpy(&k, p + sizeof x, sizeof k);                                                    \
            memcpy(&l, q + sizeof y, sizeof l);                                                    \
            if (y BETTER x || (!(x BETTER y) && l < k)) {                                          \
                x = y;                                                                             \
                k = l;                                                                             \
            }                                                                                      \
            memcpy((char *)out + i * BYTES, &x, sizeof x);                                         \
            memcpy((char *)out + i * BYTES + sizeof x, &k, sizeof k);                              \
        }                                                                                          \
    }
#define PAIR_KERNELS(SUFFIX, T, I)                                                                 \
    PAIR_KERNEL(minloc_##SUFFIX, T, I, <)                                                          \
    PAIR_KERNEL(maxloc_##SUFFIX, T, I, >)

PAIR_KERNELS(f32_i32, float, int32_t)
PAIR_KERNELS(f64_i32, double, int32_t)
PAIR_KERNELS(i64_i32, int64_t, int32_t)
PAIR_KERNELS(i32_i32, int32_t, int32_t)
PAIR_KERNELS(i16_i32, int16_t, int32_t)
PAIR_KERNELS(flong_i32, long double, int32_t)
PAIR_KERNELS(f32_f32, float, float)
PAIR_KERNELS(f64_f64, double, double)

#define SUMS(S) [WIO_OP_SUM] = sum_##S, [WIO_OP_PROD] = prod_##S
#define ARITHMETIC(S) SUMS(S), [WIO_OP_MAX] = max_##S, [WIO_OP_MIN] = min_##S
#define LOGIC(S) [WIO_OP_LAND] = land_##S, [WIO_OP_LOR] = lor_##S, [WIO_OP_LXOR] = lxor_##S
#define BITS(S) [WIO_OP_BAND] = band_##S, [WIO_OP_BOR] = bor_##S, [WIO_OP_BXOR] = bxor_##S
#define PLACES(S) [WIO_OP_MINLOC] = minloc_##S, [WIO_OP_MAXLOC] = maxloc_##S

static const wio_mpi_kernel kernels[WIO_KIND_COUNT][WIO_OP_COUNT] = {
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
    [WIO_KIND_FLONG] = {ARITHMETIC(flong)},
    [WIO_KIND_C32] = {SUMS(c32)},
    [WIO_KIND_C64] = {SUMS(c64)},
    [WIO_KIND_CLONG] = {SUMS(clong)},
#ifdef HAVE_QUAD
    [WIO_KIND_F128] = {ARITHMETIC(f128)},
    [WIO_KIND_C128] = {SUMS(c128)},
#endif
    [WIO_KIND_BOOL] = {LOGIC(bool)},
    /* .true. is 1 in gfortran and -1 in some others; non-zero counts as true, 1 is written. */
    [WIO_KIND_LOGICAL] = {LOGIC(i32)},
    [WIO_KIND_LOGICAL1] = {LOGIC(i8)},
    [WIO_KIND_LOGICAL2] = {LOGIC(i16)},
    [WIO_KIND_LOGICAL8] = {LOGIC(i64)},
    [WIO_KIND_BYTE] = {BITS(u8)},
    [WIO_KIND_F32_I32] = {PLACES(f32_i32)},
    [WIO_KIND_F64_I32] = {PLACES(f64_i32)},
    [WIO_KIND_I64_I32] = {PLACES(i64_i32)},
    [WIO_KIND_I32_I32] = {PLACES(i32_i32)},
    [WIO_KIND_I16_I32] = {PLACES(i16_i32)},
    [WIO_KIND_FLONG_I32] = {PLACES(flong_i32)},
    [WIO_KIND_F32_F32] = {PLACES(f32_f32)},
    [WIO_KIND_F64_F64] = {PLACES(f64_f64)},
};

wio_mpi_kernel wio_op_kernel(enum wio_mpi_kind kind, enum wio_op_index op)
{
    return kernels[kind][op];
}
