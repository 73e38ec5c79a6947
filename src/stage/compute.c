/* SPDX-License-Identifier: BSD-3-Clause */
/* Arithmetic of derived variables. */
#include <math.h>

#include "stage/compute.h"
#include "waitio_stage.h"

void wio_stg_magnitude(int type, int n, const char *const *from, uint64_t elements, char *to)
{
    for (uint64_t i = 0; i < elements; i++) {
        double sum = 0;

        for (int k = 0; k < n; k++) {
            double x = type == WAITIO_STAGE_FLOAT ? (double)((const float *)from[k])[i]
                                                  : ((const double *)from[k])[i];

            sum += x * x;
        }
        if (type == WAITIO_STAGE_FLOAT)
            ((float *)to)[i] = (float)sqrt(sum);
        else
            ((double *)to)[i] = sqrt(sum);
    }
}

/* x != x only for what is not a number: that wins, and stays. */
#define EXTREME(name, T)                                                                           \
    static void name(bool largest, const T *x, uint64_t n, bool first, T *value)                   \
    {                                                                                              \
        uint64_t i = first && n > 0 ? 1 : 0;                                                       \
        T best = i > 0 ? x[0] : *value;                                                            \
                                                                                                   \
        for (; i < n; i++)                                                                         \
            if (best == best && (x[i] != x[i] || (largest ? x[i] > best : x[i] < best)))           \
                best = x[i];                                                                       \
        if (!first || n > 0)                                                                       \
            *value = best;                                                                         \
    }

EXTREME(of_int8, int8_t)
EXTREME(of_int16, int16_t)
EXTREME(of_int32, int32_t)
EXTREME(of_int64, int64_t)
EXTREME(of_uint8, uint8_t)
EXTREME(of_uint16, uint16_t)
EXTREME(of_uint32, uint32_t)
EXTREME(of_uint64, uint64_t)
EXTREME(of_float, float)
EXTREME(of_double, double)

#define CASE(number, name)                                                                         \
    case number:                                                                                   \
        name(largest, from, elements, first, value);                                               \
        break

void wio_stg_extreme(int type, bool largest, const void *from, uint64_t elements, bool first,
                     void *value)
{
    switch (type) {
        CASE(WAITIO_STAGE_INT8, of_int8);
        CASE(WAITIO_STAGE_INT16, of_int16);
        CASE(WAITIO_STAGE_INT32, of_int32);
        CASE(WAITIO_STAGE_INT64, of_int64);
        CASE(WAITIO_STAGE_UINT8, of_uint8);
        CASE(WAITIO_STAGE_UINT16, of_uint16);
        CASE(WAITIO_STAGE_UINT32, of_uint32);
        CASE(WAITIO_STAGE_UINT64, of_uint64);
        CASE(WAITIO_STAGE_FLOAT, of_float);
        CASE(WAITIO_STAGE_DOUBLE, of_double);
    default:
        break;
    }
}
