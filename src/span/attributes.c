/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Predefined attributes of communicators that span jobs. All other attributes hang on the vendor's
 * communicator, which also knows the languages of their functions.
 */
#include "span/attributes.h"

#include <limits.h>

#include "span/call.h"

static int tag_ub, universe_size, appnum, not_global;

int span_attributes_begin(WAITIO_MPI_Comm all)
{
    int *value = NULL, flag = 0, mine = INT_MAX, rc;

    /* A tag must be good for every job's own communicators, too. */
    if (span_vendor.Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag) == MPI_SUCCESS && flag)
        mine = *value;
    rc = WAITIO_MPI_Allreduce(&mine, &tag_ub, 1, WAITIO_MPI_INT, WAITIO_MPI_MIN, all);
    rc = rc != 0 ? rc : waitio_universe_size(&universe_size);
    return rc != 0 ? rc : waitio_pb_rank(&appnum);
}

int *span_attribute(int keyval)
{
    switch (keyval) {
    case MPI_TAG_UB:
        return &tag_ub;
    case MPI_UNIVERSE_SIZE:
        return &universe_size;
    case MPI_APPNUM:
        return &appnum;
    case MPI_WTIME_IS_GLOBAL:
        return &not_global;
    default:
        return NULL;
    }
}

static bool give(MPI_Comm comm, int keyval, void *attribute_val, int *flag)
{
    int *value = span_comm_of(comm) != NULL ? span_attribute(keyval) : NULL;

    if (value == NULL)
        return false;
    *(int **)attribute_val = value;
    *flag = 1;
    return true;
}

int PMPI_Comm_get_attr(MPI_Comm comm, int comm_keyval, void *attribute_val, int *flag)
{
    if (give(comm, comm_keyval, attribute_val, flag))
        return MPI_SUCCESS;
    return span_vendor.Comm_get_attr(comm, comm_keyval, attribute_val, flag);
}
SPAN_NAME(Comm_get_attr)

int PMPI_Attr_get(MPI_Comm comm, int keyval, void *attribute_val, int *flag)
{
    if (give(comm, keyval, attribute_val, flag))
        return MPI_SUCCESS;
    return span_vendor.Attr_get(comm, keyval, attribute_val, flag);
}
SPAN_NAME(Attr_get)
