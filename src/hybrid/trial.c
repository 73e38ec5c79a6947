/* SPDX-License-Identifier: BSD-3-Clause */
/* Does MPI reduce as its standard says? MPICH 4.0 compares unsigned integers as signed ones. */
#include <string.h>

#include "hybrid/hybrid.h"

enum { WIDEST = 16 };

static bool is_unsigned(WAITIO_MPI_Datatype type)
{
    static const WAITIO_MPI_Datatype types[] = {
        WAITIO_MPI_UNSIGNED_CHAR, WAITIO_MPI_UNSIGNED_SHORT,     WAITIO_MPI_UNSIGNED,
        WAITIO_MPI_UNSIGNED_LONG, WAITIO_MPI_UNSIGNED_LONG_LONG, WAITIO_MPI_UINT8_T,
        WAITIO_MPI_UINT16_T,      WAITIO_MPI_UINT32_T,           WAITIO_MPI_UINT64_T};

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (types[i] == type)
            return true;
    return false;
}

/* Of a number whose bytes are all 1 and one whose bytes are all 0xF1, which a signed type takes for
 * a negative one. Both orders, for an operator might just keep one of its operands. */
bool wio_hybrid_compares(WAITIO_MPI_Datatype ours, MPI_Datatype theirs, size_t bytes)
{
    unsigned char low[WIDEST], high[WIDEST], at[WIDEST];
    const unsigned char *most = is_unsigned(ours) ? high : low;
    const unsigned char *least = is_unsigned(ours) ? low : high;
    bool right = bytes <= WIDEST;

    memset(low, 0x01, sizeof low);
    memset(high, 0xF1, sizeof high);
    for (int i = 0; right && i < 4; i++) {
        bool max = i % 2 == 0, turned = i / 2 == 0;
        memcpy(at, turned ? low : high, bytes);
        right = PMPI_Reduce_local(turned ? high : low, at, 1, theirs, max ? MPI_MAX : MPI_MIN) ==
                    MPI_SUCCESS &&
                memcmp(at, max ? most : least, bytes) == 0;
    }
    return right;
}
