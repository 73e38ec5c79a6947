/* SPDX-License-Identifier: BSD-3-Clause */
/* The type table. Numbers are ABI: row i has number WAITIO_MPI_DEFTAG + 1 + i, append only. */
#include <limits.h>

#include "mpi/mpi.h"

#define LONG_KIND (sizeof(long) == 8 ? WIO_KIND_I64 : WIO_KIND_I32)
#define ULONG_KIND (sizeof(long) == 8 ? WIO_KIND_U64 : WIO_KIND_U32)
#define ROW(NAME, SIZE, KIND)                                                                      \
    {                                                                                              \
        WAITIO_MPI_##NAME, #NAME, SIZE, KIND                                                       \
    }

static const struct wio_mpi_type types[] = {
    ROW(INT, sizeof(int), WIO_KIND_I32),
    ROW(LONG, sizeof(long), LONG_KIND),
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
    ROW(UNSIGNED_LONG, sizeof(long), ULONG_KIND),
    ROW(LONG_LONG, sizeof(long long), WIO_KIND_I64),
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
    ROW(C_FLOAT_COMPLEX, 8, WIO_KIND_C32),
    ROW(C_DOUBLE_COMPLEX, 16, WIO_KIND_C64),
    ROW(REAL, 4, WIO_KIND_F32),
    ROW(LOGICAL, 4, WIO_KIND_LOGICAL),
    ROW(CHARACTER, 1, WIO_KIND_TEXT),
    ROW(COMPLEX, 8, WIO_KIND_C32),
    ROW(DOUBLE_COMPLEX, 16, WIO_KIND_C64),
    ROW(INTEGER1, 1, WIO_KIND_I8),
    ROW(INTEGER2, 2, WIO_KIND_I16),
    ROW(INTEGER4, 4, WIO_KIND_I32),
    ROW(INTEGER8, 8, WIO_KIND_I64),
    ROW(REAL4, 4, WIO_KIND_F32),
    ROW(REAL8, 8, WIO_KIND_F64),
};

const struct wio_mpi_type *wio_mpi_type_row(int i)
{
    return i >= 0 && (size_t)i < WIO_ARRAY_LEN(types) ? &types[i] : NULL;
}

const struct wio_mpi_type *wio_mpi_type(WAITIO_MPI_Datatype id)
{
    const struct wio_mpi_type *type = NULL;

    if (id > WAITIO_MPI_DEFTAG) {
        type = wio_mpi_type_row(id - WAITIO_MPI_DEFTAG - 1);
    }
    if (type == NULL) {
        wio_fail(WAITIO_ERR_ARG,
                 "%d is not a datatype of the conversion library (WAITIO_MPI_INT "
                 "is %d; a constant of another MPI library does not work here)",
                 id, WAITIO_MPI_INT);
    }
    return type;
}

int wio_mpi_bytes(int count, WAITIO_MPI_Datatype type, size_t *bytes)
{
    const struct wio_mpi_type *row = wio_mpi_type(type);

    if (row == NULL) {
        return WAITIO_ERR_ARG;
    }
    if (count < 0) {
        return wio_fail(WAITIO_ERR_ARG, "count %d of %s is negative", count, row->name);
    }
    *bytes = (size_t)count * row->size;
    return 0;
}
