/* SPDX-License-Identifier: BSD-3-Clause */
/** @file derive.h  The constructors of derived types, without the error policy. All @return 0, ARG
 * or NOMEM; *out is set on success and holds one reference. */
#ifndef WIO_TYPE_DERIVE_H
#define WIO_TYPE_DERIVE_H

#include "mpi/datatype/type.h"

/** Blocks of elements, each at a place of its own. Of the pairs below exactly one is not NULL. */
struct wio_blocks {
    int n;
    const int *lengths;           /**< elements of each block, or NULL: ... */
    int length;                   /**< ... all have so many */
    const int *places;            /**< in units of `scale` bytes */
    const WAITIO_MPI_Aint *bytes; /**< in bytes */
    int64_t scale;
    const WAITIO_MPI_Datatype *types; /**< of each block, or NULL: ... */
    WAITIO_MPI_Datatype type;         /**< ... all have this one */
};

int wio_derive_blocks(const struct wio_blocks *b, bool pad, struct wio_mpi_type **out);
/** @param stride bytes between blocks */
int wio_derive_vector(int n, int length, int64_t stride, const struct wio_mpi_type *old,
                      struct wio_mpi_type **out);
int wio_derive_subarray(int dims, const int sizes[], const int parts[], const int starts[],
                        int order, const struct wio_mpi_type *old, struct wio_mpi_type **out);
int wio_derive_resized(const struct wio_mpi_type *old, int64_t lb, int64_t extent,
                       struct wio_mpi_type **out);
int wio_derive_dup(const struct wio_mpi_type *old, struct wio_mpi_type **out);

/** An array that is spread over a grid of processes (darray.c), arguments as MPI has them. */
struct wio_darray {
    int processes, rank, dims;
    const int *sizes, *how, *blocks, *parts;
    int order;
};
int wio_derive_darray(const struct wio_darray *d, const struct wio_mpi_type *old,
                      struct wio_mpi_type **out);

#endif /* WIO_TYPE_DERIVE_H */
