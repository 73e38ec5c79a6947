/* SPDX-License-Identifier: BSD-3-Clause */
/* The basic types. Those of Fortran's sizes and of C++ are not in every MPI. */
#include "span/types.h"

#define BASIC(name)                                                                                \
    {                                                                                              \
        MPI_##name, WAITIO_MPI_##name                                                              \
    }

const struct span_basic_type *span_basic_types(int *n)
{
    /* Handles may be addresses of another library: no constants. */
    static struct span_basic_type list[96];
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
#ifdef MPI_INTEGER1
        BASIC(INTEGER1),
#endif
#ifdef MPI_INTEGER2
        BASIC(INTEGER2),
#endif
#ifdef MPI_INTEGER4
        BASIC(INTEGER4),
#endif
#ifdef MPI_INTEGER8
        BASIC(INTEGER8),
#endif
#ifdef MPI_REAL4
        BASIC(REAL4),
#endif
#ifdef MPI_REAL8
        BASIC(REAL8),
#endif
#ifdef MPI_LOGICAL1
        BASIC(LOGICAL1),
#endif
#ifdef MPI_LOGICAL2
        BASIC(LOGICAL2),
#endif
#ifdef MPI_LOGICAL4
        BASIC(LOGICAL4),
#endif
#ifdef MPI_LOGICAL8
        BASIC(LOGICAL8),
#endif
#ifdef MPI_REAL16
        BASIC(REAL16),
#endif
#ifdef MPI_COMPLEX8
        BASIC(COMPLEX8),
#endif
#ifdef MPI_COMPLEX16
        BASIC(COMPLEX16),
#endif
#ifdef MPI_COMPLEX32
        BASIC(COMPLEX32),
#endif
#ifdef MPI_CXX_BOOL
        BASIC(CXX_BOOL),
#endif
#ifdef MPI_CXX_FLOAT_COMPLEX
        BASIC(CXX_FLOAT_COMPLEX),
#endif
#ifdef MPI_CXX_DOUBLE_COMPLEX
        BASIC(CXX_DOUBLE_COMPLEX),
#endif
#ifdef MPI_CXX_LONG_DOUBLE_COMPLEX
        BASIC(CXX_LONG_DOUBLE_COMPLEX),
#endif
#if defined(MPI_LB) && !defined(OPEN_MPI) /* where it is a message that MPI has removed it */
        BASIC(LB),
        BASIC(UB),
#endif
    };
    enum { N = sizeof all / sizeof *all };

    for (int i = 0; i < N; i++)
        list[i] = all[i];
    *n = N;
    return list;
}
