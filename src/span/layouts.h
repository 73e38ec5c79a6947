/* SPDX-License-Identifier: BSD-3-Clause */
/** @file layouts.h  MPI's constructors of datatypes, with arguments of 64 bits. */
#ifndef SPAN_LAYOUTS_H
#define SPAN_LAYOUTS_H

#include "span/span.h"

/** How the program made a type of the vendor's, and from which. */
struct span_layout {
    int combiner;            /**< the vendor's */
    bool large;              /**< made by a constructor with large counts (MPI 4) */
    const MPI_Count *value;  /**< integers, addresses and large counts, in this order */
    WAITIO_MPI_Datatype *of; /**< ours of its datatypes */
};

/** Make the type with our constructors. Where its data lies follows from @p l and from the extents
 * of l->of; its bounds are only ours: the caller sets those of the vendor's.
 * @param[out] out to be freed, not committed. @return 0; ERR_TYPE: a constructor or an argument
 * that we do not know; ERR_COUNT, LIMIT: a negative count, or more bytes than 2^63; NOMEM
 */
int span_layout_make(const struct span_layout *l, WAITIO_MPI_Datatype *out);

#endif /* SPAN_LAYOUTS_H */
