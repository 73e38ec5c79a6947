/* SPDX-License-Identifier: BSD-3-Clause */
/* The basic types. Numbers are ABI: row i has number WAITIO_MPI_DEFTAG + 1 + i, append only. */
#include <stdalign.h>
#include <wchar.h>

#include "mpi/datatype/type.h"

#define LONG_KIND (sizeof(long) == 8 ? WIO_KIND_I64 : WIO_KIND_I32)
#define ULONG_KIND (sizeof(long) == 8 ? WIO_KIND_U64 : WIO_KIND_U32)

#define IS_LONG(KIND)                                                                              \
    ((KIND) == WIO_KIND_FLONG || (KIND) == WIO_KIND_CLONG || (KIND) == WIO_KIND_FLONG_I32)

#define FORM_OF(KIND) (IS_LONG(KIND) ? WIO_FORM_FLONG : WIO_FORM_SAME)

/* One element of SIZE bytes whose parts of UNIT bytes have a byte order of their own. */
#define FORMED(ID, NAME, SIZE, UNIT, KIND, FORM)                                                   \
    {                                                                                              \
        .id = (ID), .name = (NAME), .kind = (KIND), .long_double = IS_LONG(KIND), .align = (UNIT), \
        .committed = true, .solid = true, .size = (SIZE), .nbasic = 1, .ub = (SIZE),               \
        .true_ub = (SIZE), .nruns = 1, .run = &(const struct wio_run)                              \
        {                                                                                          \
            .count = 1, .repeat = 1, .width = (SIZE), .unit = (UNIT), .form = (FORM)               \
        }                                                                                          \
    }
#define NUMBERED(ID, NAME, SIZE, UNIT, KIND) FORMED(ID, NAME, SIZE, UNIT, KIND, FORM_OF(KIND))
/* One that is narrower in external32. */
#define NARROW(NAME, SIZE, KIND, FORM) FORMED(WAITIO_MPI_##NAME, #NAME, SIZE, SIZE, KIND, FORM)
#define PLAIN(NAME, SIZE, UNIT, KIND) NUMBERED(WAITIO_MPI_##NAME, #NAME, SIZE, UNIT, KIND)
#define ROW(NAME, SIZE, KIND) PLAIN(NAME, SIZE, SIZE, KIND)
#define COMPLEX(NAME, SIZE, KIND) PLAIN(NAME, 2 * (SIZE), SIZE, KIND)

/* A value and an index, laid out as C lays out such a structure. */
#define PAIR(NAME, FIRST, SECOND, KIND)                                                            \
    {                                                                                              \
        .id = WAITIO_MPI_##NAME, .name = #NAME, .kind = (KIND), .long_double = IS_LONG(KIND),      \
        .align = MOST_ALIGNED(FIRST, SECOND), .committed = true,                                   \
        .size = sizeof(FIRST) + sizeof(SECOND), .nbasic = 2,                                       \
        .solid = sizeof(FIRST) + sizeof(SECOND) == sizeof(struct {                                 \
                     FIRST a;                                                                      \
                     SECOND b;                                                                     \
                 }),                                                                               \
        .ub = sizeof(struct {                                                                      \
            FIRST a;                                                                               \
            SECOND b;                                                                              \
        }),                                                                                        \
        .true_ub = AT(FIRST, SECOND) + sizeof(SECOND), .nruns = 2, .run = (const struct wio_run[]) \
        {                                                                                          \
            {.count = 1,                                                                           \
             .repeat = 1,                                                                          \
             .width = sizeof(FIRST),                                                               \
             .unit = sizeof(FIRST),                                                                \
             .form = (KIND) == WIO_KIND_I64_I32 ? WIO_FORM_LONG : FORM_OF(KIND)},                  \
            {                                                                                      \
                .at = AT(FIRST, SECOND), .count = 1, .repeat = 1, .from = sizeof(FIRST),           \
                .width = sizeof(SECOND), .unit = sizeof(SECOND)                                    \
            }                                                                                      \
        }                                                                                          \
    }
#define MOST_ALIGNED(FIRST, SECOND)                                                                \
    (alignof(FIRST) > alignof(SECOND) ? alignof(FIRST) : alignof(SECOND))
/* Where a SECOND behind a FIRST lies. */
#define AT(FIRST, SECOND)                                                                          \
    ((sizeof(FIRST) + alignof(SECOND) - 1) / alignof(SECOND) * alignof(SECOND))
#define MARK(NAME)                                                                                 \
    {                                                                                              \
        .id = WAITIO_MPI_##NAME, .name = #NAME, .kind = WIO_KIND_MARK, .align = 1,                 \
        .committed = true, .solid = true                                                           \
    }

static const struct wio_mpi_type types[] = {
    ROW(INT, sizeof(int), WIO_KIND_I32),
    NARROW(LONG, sizeof(long), LONG_KIND, WIO_FORM_LONG),
    /* MPI defines no arithmetic on CHAR; ours treats it as a small signed integer everywhere. */
    ROW(CHAR, 1, WIO_KIND_I8),
    ROW(FLOAT, sizeof(float), WIO_KIND_F32),
    ROW(DOUBLE, sizeof(double), WIO_KIND_F64),
    ROW(BYTE, 1, WIO_KIND_BYTE),
    ROW(SIGNED_CHAR, 1, WIO_KIND_I8),
    ROW(UNSIGNED_CHAR, 1, WIO_KIND_U8),
    ROW(SHORT, sizeof(short), WIO_KIND_I16),
    ROW(UNSIGNED_SHORT, sizeof(short), WIO_KIND_U16),
    ROW(UNSIGNED, sizeof(int), WIO_KIND_U32),
    NARROW(UNSIGNED_LONG, sizeof(long), ULONG_KIND, WIO_FORM_ULONG),
    NUMBERED(WAITIO_MPI_LONG_LONG, "LONG_LONG_INT", sizeof(long long), sizeof(long long),
             WIO_KIND_I64),
    ROW(UNSIGNED_LONG_LONG, sizeof(long long), WIO_KIND_U64),
    ROW(INT8_T, 1, WIO_KIND_I8),
    ROW(UINT8_T, 1, WIO_KIND_U8),
    ROW(INT16_T, 2, WIO_KIND_I16),
    ROW(UINT16_T, 2, WIO_KIND_U16),
    ROW(INT32_T, 4, WIO_KIND_I32),
    ROW(UINT32_T, 4, WIO_KIND_U32),
    ROW(INT64_T, 8, WIO_KIND_I64),
    ROW(UINT64_T, 8, WIO_KIND_U64),
    ROW(C_BOOL, sizeof(bool), WIO_KIND_BOOL),
    NUMBERED(WAITIO_MPI_C_COMPLEX, "C_COMPLEX", 8, 4, WIO_KIND_C32),
    COMPLEX(C_DOUBLE_COMPLEX, 8, WIO_KIND_C64),
    ROW(REAL, 4, WIO_KIND_F32),
    ROW(LOGICAL, 4, WIO_KIND_LOGICAL),
    ROW(CHARACTER, 1, WIO_KIND_TEXT),
    COMPLEX(COMPLEX, 4, WIO_KIND_C32),
    COMPLEX(DOUBLE_COMPLEX, 8, WIO_KIND_C64),
    ROW(INTEGER1, 1, WIO_KIND_I8),
    ROW(INTEGER2, 2, WIO_KIND_I16),
    ROW(INTEGER4, 4, WIO_KIND_I32),
    ROW(INTEGER8, 8, WIO_KIND_I64),
    ROW(REAL4, 4, WIO_KIND_F32),
    ROW(REAL8, 8, WIO_KIND_F64),
    ROW(LONG_DOUBLE, sizeof(long double), WIO_KIND_FLONG),
    NARROW(WCHAR, sizeof(wchar_t), WIO_KIND_TEXT, WIO_FORM_WCHAR),
    ROW(AINT, 8, WIO_KIND_I64),
    ROW(OFFSET, 8, WIO_KIND_I64),
    ROW(COUNT, 8, WIO_KIND_I64),
    COMPLEX(C_LONG_DOUBLE_COMPLEX, sizeof(long double), WIO_KIND_CLONG),
    ROW(LOGICAL1, 1, WIO_KIND_LOGICAL1),
    ROW(LOGICAL2, 2, WIO_KIND_LOGICAL2),
    ROW(LOGICAL4, 4, WIO_KIND_LOGICAL),
    ROW(LOGICAL8, 8, WIO_KIND_LOGICAL8),
    ROW(REAL16, 16, WIO_KIND_F128),
    COMPLEX(COMPLEX8, 4, WIO_KIND_C32),
    COMPLEX(COMPLEX16, 8, WIO_KIND_C64),
    COMPLEX(COMPLEX32, 16, WIO_KIND_C128),
    ROW(PACKED, 1, WIO_KIND_TEXT),
    PAIR(FLOAT_INT, float, int, WIO_KIND_F32_I32),
    PAIR(DOUBLE_INT, double, int, WIO_KIND_F64_I32),
    PAIR(LONG_INT, long, int, WIO_KIND_I64_I32),
    PAIR(2INT, int, int, WIO_KIND_I32_I32),
    PAIR(SHORT_INT, short, int, WIO_KIND_I16_I32),
    PAIR(LONG_DOUBLE_INT, long double, int, WIO_KIND_FLONG_I32),
    PAIR(2REAL, float, float, WIO_KIND_F32_F32),
    PAIR(2DOUBLE_PRECISION, double, double, WIO_KIND_F64_F64),
    PAIR(2INTEGER, int, int, WIO_KIND_I32_I32),
    MARK(LB),
    MARK(UB),
    /* WAITIO_MPI_INTEGER is WAITIO_MPI_INT since the first release. Programs that are built by
     * renaming get numbers of their own, so that the types have names of their own, too. */
    NUMBERED(waitio_mpi_integer_type, "INTEGER", sizeof(int), sizeof(int), WIO_KIND_I32),
    NUMBERED(waitio_mpi_double_precision_type, "DOUBLE_PRECISION", sizeof(double), sizeof(double),
             WIO_KIND_F64),
    /* What C++ lays out like C. */
    ROW(CXX_BOOL, sizeof(bool), WIO_KIND_BOOL),
    COMPLEX(CXX_FLOAT_COMPLEX, 4, WIO_KIND_C32),
    COMPLEX(CXX_DOUBLE_COMPLEX, 8, WIO_KIND_C64),
    COMPLEX(CXX_LONG_DOUBLE_COMPLEX, sizeof(long double), WIO_KIND_CLONG),
};

_Static_assert(sizeof(long) == 8, "LONG_INT is a pair of 8 and 4 bytes; so does external.c count");
_Static_assert(sizeof(wchar_t) == 4, "external.c has it so");

const struct wio_mpi_type *wio_mpi_type_row(int i)
{
    return i >= 0 && (size_t)i < WIO_ARRAY_LEN(types) ? &types[i] : NULL;
}
