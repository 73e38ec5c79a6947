/* SPDX-License-Identifier: BSD-3-Clause */
/** @file types.h  Datatypes: the vendor's basic ones and ours. */
#ifndef SPAN_TYPES_H
#define SPAN_TYPES_H

#include "span/span.h"

struct span_basic_type {
    MPI_Datatype vendors; /**< or MPI_DATATYPE_NULL */
    WAITIO_MPI_Datatype ours;
};

/** All basic types that this MPI and we have. */
const struct span_basic_type *span_basic_types(int *n);

/** A type that the program has freed while operations were under way. */
struct span_late {
    struct span_late *next;
    MPI_Datatype vendors;
    WAITIO_MPI_Datatype ours;
};

#endif /* SPAN_TYPES_H */
