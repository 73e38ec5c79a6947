/* SPDX-License-Identifier: BSD-3-Clause */
/* Predefined types: which of the MPI's are ours, and by which ours are reduced. */
#include "hybrid/hybrid.h"
#include "hybrid/optional_types.h"

/* One of ours. Fortran's are reduced by C's of the same width: an MPI without Fortran has those,
 * too. */
struct row {
    WAITIO_MPI_Datatype ours;
    MPI_Datatype theirs; /* of the same name */
    MPI_Datatype fold;   /* with the same arithmetic; MPI_DATATYPE_NULL: none is sure to have it */
    enum wio_hybrid_class class_;
    size_t bytes;
};

#define ROW(NAME, BYTES, CLASS, FOLD)                                                              \
    {                                                                                              \
        WAITIO_MPI_##NAME, MPI_##NAME, FOLD, WIO_HYBRID_##CLASS, BYTES                             \
    }
#define SAME(NAME, BYTES, CLASS) ROW(NAME, BYTES, CLASS, MPI_##NAME)
#define UNFOLDED(NAME, BYTES) ROW(NAME, BYTES, NONE, MPI_DATATYPE_NULL)

static const struct row rows[] = {
    SAME(INT, sizeof(int), INTEGER),
    SAME(LONG, sizeof(long), INTEGER),
    ROW(CHAR, 1, INTEGER, MPI_SIGNED_CHAR),
    SAME(FLOAT, sizeof(float), REAL),
    SAME(DOUBLE, sizeof(double), REAL),
    SAME(BYTE, 1, BYTES),
    SAME(SIGNED_CHAR, 1, INTEGER),
    SAME(UNSIGNED_CHAR, 1, INTEGER),
    SAME(SHORT, sizeof(short), INTEGER),
    SAME(UNSIGNED_SHORT, sizeof(short), INTEGER),
    SAME(UNSIGNED, sizeof(int), INTEGER),
    SAME(UNSIGNED_LONG, sizeof(long), INTEGER),
    SAME(LONG_LONG, sizeof(long long), INTEGER),
    SAME(UNSIGNED_LONG_LONG, sizeof(long long), INTEGER),
    SAME(INT8_T, 1, INTEGER),
    SAME(UINT8_T, 1, INTEGER),
    SAME(INT16_T, 2, INTEGER),
    SAME(UINT16_T, 2, INTEGER),
    SAME(INT32_T, 4, INTEGER),
    SAME(UINT32_T, 4, INTEGER),
    SAME(INT64_T, 8, INTEGER),
    SAME(UINT64_T, 8, INTEGER),
    SAME(C_BOOL, sizeof(bool), LOGICAL),
    SAME(C_FLOAT_COMPLEX, 8, COMPLEX),
    SAME(C_DOUBLE_COMPLEX, 16, COMPLEX),
    SAME(LONG_DOUBLE, sizeof(long double), REAL),
    SAME(C_LONG_DOUBLE_COMPLEX, 2 * sizeof(long double), COMPLEX),
    UNFOLDED(WCHAR, sizeof(wchar_t)),
    ROW(AINT, 8, INTEGER, MPI_INT64_T),
    ROW(OFFSET, 8, INTEGER, MPI_INT64_T),
    ROW(COUNT, 8, INTEGER, MPI_INT64_T),
    {waitio_mpi_integer_type, MPI_INTEGER, MPI_INT, WIO_HYBRID_INTEGER, 4},
    {waitio_mpi_double_precision_type, MPI_DOUBLE_PRECISION, MPI_DOUBLE, WIO_HYBRID_REAL, 8},
    ROW(REAL, 4, REAL, MPI_FLOAT),
    SAME(LOGICAL, 4, LOGICAL),
    UNFOLDED(CHARACTER, 1),
    ROW(COMPLEX, 8, COMPLEX, MPI_C_FLOAT_COMPLEX),
    ROW(DOUBLE_COMPLEX, 16, COMPLEX, MPI_C_DOUBLE_COMPLEX),
    ROW(INTEGER1, 1, INTEGER, MPI_INT8_T),
    ROW(INTEGER2, 2, INTEGER, MPI_INT16_T),
    ROW(INTEGER4, 4, INTEGER, MPI_INT32_T),
    ROW(INTEGER8, 8, INTEGER, MPI_INT64_T),
    ROW(REAL4, 4, REAL, MPI_FLOAT),
    ROW(REAL8, 8, REAL, MPI_DOUBLE),
    /* Some MPIs have these, but with the arithmetic of long double. */
    UNFOLDED(REAL16, 16),
    ROW(COMPLEX8, 8, COMPLEX, MPI_C_FLOAT_COMPLEX),
    ROW(COMPLEX16, 16, COMPLEX, MPI_C_DOUBLE_COMPLEX),
    UNFOLDED(COMPLEX32, 32),
    UNFOLDED(LOGICAL1, 1),
    UNFOLDED(LOGICAL2, 2),
    ROW(LOGICAL4, 4, LOGICAL, MPI_LOGICAL),
    UNFOLDED(LOGICAL8, 8),
    UNFOLDED(PACKED, 1),
    SAME(FLOAT_INT, 8, PAIR),
    SAME(2INT, 8, PAIR),
    SAME(2REAL, 8, PAIR),
    SAME(2DOUBLE_PRECISION, 16, PAIR),
    SAME(2INTEGER, 8, PAIR),
    /* Operands come without the holes that these have in memory. */
    UNFOLDED(DOUBLE_INT, sizeof(double) + sizeof(int)),
    UNFOLDED(LONG_INT, sizeof(long) + sizeof(int)),
    UNFOLDED(SHORT_INT, sizeof(short) + sizeof(int)),
    UNFOLDED(LONG_DOUBLE_INT, sizeof(long double) + sizeof(int)),
    ROW(CXX_BOOL, sizeof(bool), LOGICAL, MPI_C_BOOL),
    ROW(CXX_FLOAT_COMPLEX, 8, COMPLEX, MPI_C_FLOAT_COMPLEX),
    ROW(CXX_DOUBLE_COMPLEX, 16, COMPLEX, MPI_C_DOUBLE_COMPLEX),
    ROW(CXX_LONG_DOUBLE_COMPLEX, 2 * sizeof(long double), COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX),
};
enum { ROWS = sizeof rows / sizeof rows[0], NUMBERS = 80 };

/* By number - WAITIO_MPI_DEFTAG: what reduces it. Written once. */
static struct fold {
    MPI_Datatype type;
    size_t bytes;
    enum wio_hybrid_class class_;
    bool orders; /* MIN and MAX are right */
} folds[NUMBERS];

/* Types whose width is a choice of the Fortran compiler's user: what they are when it is another.
 */
static const struct {
    MPI_Datatype theirs;
    size_t bytes;
    WAITIO_MPI_Datatype ours;
} wide[] = {
    {MPI_INTEGER, 8, WAITIO_MPI_INTEGER8},          {MPI_REAL, 8, WAITIO_MPI_REAL8},
    {MPI_DOUBLE_PRECISION, 16, WAITIO_MPI_REAL16},  {MPI_COMPLEX, 16, WAITIO_MPI_COMPLEX16},
    {MPI_DOUBLE_COMPLEX, 32, WAITIO_MPI_COMPLEX32}, {MPI_LOGICAL, 8, WAITIO_MPI_LOGICAL8},
};

static bool has(MPI_Datatype type, size_t bytes)
{
    int size = 0;

    return type != MPI_DATATYPE_NULL && PMPI_Type_size(type, &size) == MPI_SUCCESS &&
           (size_t)size == bytes;
}

void wio_hybrid_types_look(void)
{
    for (int i = 0; i < NUMBERS; i++)
        folds[i] = (struct fold){.type = MPI_DATATYPE_NULL};
    for (int i = 0; i < ROWS; i++) {
        const struct row *row = &rows[i];
        MPI_Aint lb = 0, extent = 0;
        if (!has(row->fold, row->bytes))
            continue;
        (void)PMPI_Type_get_extent(row->fold, &lb, &extent);
        if (lb != 0 || extent != (MPI_Aint)row->bytes)
            continue;
        folds[row->ours - WAITIO_MPI_DEFTAG] =
            (struct fold){row->fold, row->bytes, row->class_,
                          row->class_ != WIO_HYBRID_INTEGER ||
                              wio_hybrid_compares(row->ours, row->fold, row->bytes)};
    }
}

MPI_Datatype wio_hybrid_folding_type(WAITIO_MPI_Datatype type, size_t *bytes)
{
    unsigned i = (unsigned)type - WAITIO_MPI_DEFTAG;

    if (i >= NUMBERS)
        return MPI_DATATYPE_NULL;
    *bytes = folds[i].bytes;
    return folds[i].type;
}

enum wio_hybrid_class wio_hybrid_class_of(WAITIO_MPI_Datatype type)
{
    unsigned i = (unsigned)type - WAITIO_MPI_DEFTAG;

    return i < NUMBERS ? folds[i].class_ : WIO_HYBRID_NONE;
}

bool wio_hybrid_orders(WAITIO_MPI_Datatype type)
{
    unsigned i = (unsigned)type - WAITIO_MPI_DEFTAG;

    return i < NUMBERS && folds[i].orders;
}

WAITIO_MPI_Datatype wio_hybrid_named_type(MPI_Datatype type)
{
    for (size_t i = 0; type != MPI_DATATYPE_NULL && i < ROWS; i++)
        if (rows[i].theirs == type && has(type, rows[i].bytes))
            return rows[i].ours;
    for (size_t i = 0; type != MPI_DATATYPE_NULL && i < sizeof wide / sizeof wide[0]; i++)
        if (wide[i].theirs == type && has(type, wide[i].bytes))
            return wide[i].ours;
#if defined(MPI_LB) && !defined(OMPI_MAJOR_VERSION)
    if (type == MPI_LB)
        return WAITIO_MPI_LB;
    if (type == MPI_UB)
        return WAITIO_MPI_UB;
#endif
    return WAITIO_MPI_DATATYPE_NULL;
}
