/* SPDX-License-Identifier: BSD-3-Clause */
/* The constructors of random datatypes, each with its model. */
#ifndef BUILD_H
#define BUILD_H

#include "layout.h"

/** @param shape says what is in it @param mine says where
 * @param calm as simple as can be: then nothing overlaps */
void build_type(struct dice *shape, struct dice *mine, bool calm, int depth, struct layout *out);
/** A type of one kind of elements, made of elements of that kind. */
bool build_flat(struct layout *l);
/** n elements of MPI_BYTE, as one of the layout. */
void build_bytes(size_t n, struct layout *out);
int kind_size(int kind);

#endif
