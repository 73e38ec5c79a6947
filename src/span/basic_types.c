/* SPDX-License-Identifier: BSD-3-Clause */
/* The basic types. Those of Fortran's sizes and of C++ are not in every MPI. */
#include "span/types.h"

#include "hybrid/optional_types.h"

#if defined(MPI_LB) && !defined(OPEN_MPI) /* there it is a message that MPI has removed it */
#define BOUNDS BASIC(LB), BASIC(UB),
#else
#define BOUNDS
#endif

#define BASIC(name)                                                                                \
    {                                                                                              \
        MPI_##name, WAITIO_MPI_##name                                                              \
    }
#define ADD(array)                                                                                 \
    for (size_t i = 0; i < sizeof(array) / sizeof *(array); i++)                                   \
        list[n++] = (array)[i];

/* Handles may be addresses of another library, which are no constants for a compiler. */
static struct span_basic_type list[96];

static int add_common(int n)
{
    const struct span_basic_type all[] = {
        BASIC(INT),
        BASIC(LONG),
        BASIC(CHAR),
        BASIC(FLOAT),
        BASIC(DOUBLE),
        BASIC(BYTE),
        BASIC(SIGNED_CHAR),
        BASIC(UNSIGNED_CHAR),
        BASIC(SHORT),
        BASIC(UNSIGNED_SHORT),
        BASIC(UNSIGNED),
        BASIC(UNSIGNED_LONG),
        BASIC(LONG_LONG),
        BASIC(UNSIGNED_LONG_LONG),
        BASIC(INT8_T),
        BASIC(UINT8_T),
        BASIC(INT16_T),
        BASIC(UINT16_T),
        BASIC(INT32_T),
        BASIC(UINT32_T),
        BASIC(INT64_T),
        BASIC(UINT64_T),
        BASIC(C_BOOL),
        BASIC(C_FLOAT_COMPLEX),
        BASIC(C_DOUBLE_COMPLEX),
        BASIC(REAL),
        BASIC(LOGICAL),
        BASIC(CHARACTER),
        BASIC(COMPLEX),
        BASIC(DOUBLE_COMPLEX),
        BASIC(LONG_DOUBLE),
        BASIC(WCHAR),
        BASIC(AINT),
        BASIC(OFFSET),
        BASIC(COUNT),
        BASIC(C_LONG_DOUBLE_COMPLEX),
        BASIC(PACKED),
        BASIC(FLOAT_INT),
        BASIC(DOUBLE_INT),
        BASIC(LONG_INT),
        BASIC(2INT),
        BASIC(SHORT_INT),
        BASIC(LONG_DOUBLE_INT),
        BASIC(2REAL),
        BASIC(2DOUBLE_PRECISION),
        BASIC(2INTEGER),
        /* of the same data as types of C, but types of their own */
        {MPI_INTEGER, waitio_mpi_integer_type},
        {MPI_DOUBLE_PRECISION, waitio_mpi_double_precision_type},
    };

    ADD(all)
    return n;
}

static int add_others(int n)
{
    const struct span_basic_type some[] = {BASIC(INTEGER1),
                                           BASIC(INTEGER2),
                                           BASIC(INTEGER4),
                                           BASIC(INTEGER8),
                                           BASIC(REAL4),
                                           BASIC(REAL8),
                                           BASIC(LOGICAL1),
                                           BASIC(LOGICAL2),
                                           BASIC(LOGICAL4),
                                           BASIC(LOGICAL8),
                                           BASIC(REAL16),
                                           BASIC(COMPLEX8),
                                           BASIC(COMPLEX16),
                                           BASIC(COMPLEX32),
                                           BASIC(CXX_BOOL),
                                           BASIC(CXX_FLOAT_COMPLEX),
                                           BASIC(CXX_DOUBLE_COMPLEX),
                                           BASIC(CXX_LONG_DOUBLE_COMPLEX),
                                           BOUNDS};

    ADD(some)
    return n;
}

const struct span_basic_type *span_basic_types(int *n)
{
    *n = add_others(add_common(0));
    return list;
}
