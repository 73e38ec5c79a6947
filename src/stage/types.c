/* SPDX-License-Identifier: BSD-3-Clause */
/* Types of elements. */
#include "stage/layout.h"
#include "waitio_stage.h"

static const struct {
    const char *name;
    size_t size, unit;
} types[] = {[WAITIO_STAGE_INT8] = {"int8", 1, 1},
             [WAITIO_STAGE_INT16] = {"int16", 2, 2},
             [WAITIO_STAGE_INT32] = {"int32", 4, 4},
             [WAITIO_STAGE_INT64] = {"int64", 8, 8},
             [WAITIO_STAGE_UINT8] = {"uint8", 1, 1},
             [WAITIO_STAGE_UINT16] = {"uint16", 2, 2},
             [WAITIO_STAGE_UINT32] = {"uint32", 4, 4},
             [WAITIO_STAGE_UINT64] = {"uint64", 8, 8},
             [WAITIO_STAGE_FLOAT] = {"float", 4, 4},
             [WAITIO_STAGE_DOUBLE] = {"double", 8, 8},
             [WAITIO_STAGE_FLOAT_COMPLEX] = {"float complex", 8, 4},
             [WAITIO_STAGE_DOUBLE_COMPLEX] = {"double complex", 16, 8},
             [WAITIO_STAGE_STRING] = {"string", 0, 1}};

bool wio_stg_type_known(int type)
{
    return type >= WAITIO_STAGE_INT8 && type <= WAITIO_STAGE_STRING;
}

size_t wio_stg_type_size(int type)
{
    return wio_stg_type_known(type) ? types[type].size : 0;
}

size_t wio_stg_type_unit(int type)
{
    return wio_stg_type_known(type) ? types[type].unit : 1;
}

const char *wio_stg_type_name(int type)
{
    return wio_stg_type_known(type) ? types[type].name : "no type";
}

size_t waitio_stage_size(int type)
{
    return wio_stg_type_size(type);
}
