/* SPDX-License-Identifier: BSD-3-Clause */
/** @file attributes.h  Attributes whose values are those of the world of all jobs. */
#ifndef SPAN_ATTRIBUTES_H
#define SPAN_ATTRIBUTES_H

#include "span/span.h"

/** Find their values. Collective over @p all. */
int span_attributes_begin(WAITIO_MPI_Comm all);
/** @return the value of a predefined attribute that is ours, or NULL: ask the vendor */
int *span_attribute(int keyval);

#endif /* SPAN_ATTRIBUTES_H */
