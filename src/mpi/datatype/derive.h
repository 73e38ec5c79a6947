/* SPDX-License-Identifier: BSD-3-Clause */
/** @file derive.h  The constructors of derived types, without the error policy. All @return 0, ARG
 * or NOMEM; *out is set on success and holds one reference. */
#ifndef WIO_TYPE_DERIVE_H
#define WIO_TYPE_DERIVE_H

#include "mpi/datatype/type.h"

/** An array of integers as the program gave it, in one of MPI's widths. */
struct wio_ints {
    const void *at;
    enum { WIO_OF_INT, WIO_OF_AINT, WIO_OF_COUNT } of;
};
#define WIO_INTS(AT) ((struct wio_ints){(AT), WIO_OF_INT})
#define WIO_AINTS(AT) ((struct wio_ints){(AT), WIO_OF_AINT})
#define WIO_COUNTS(AT) ((struct wio_ints){(AT), WIO_OF_COUNT})

static inline int64_t wio_int(struct wio_ints list, int64_t i)
{
    switch (list.of) {
    case WIO_OF_INT:
        return ((const int *)list.at)[i];
    case WIO_OF_AINT:
        return ((const WAITIO_MPI_Aint *)list.at)[i];
    default:
        return ((const WAITIO_MPI_Count *)list.at)[i];
    }
}

/** Blocks of elements, each at a place of its own. Either `places` or `bytes` is there. */
struct wio_blocks {
    int64_t n;
    struct wio_ints lengths; /**< elements of each block, or at NULL: ... */
    int64_t length;          /**< ... all have so many */
    struct wio_ints places;  /**< in units of `scale` bytes */
    struct wio_ints bytes;   /**< in bytes */
    int64_t scale;
    const WAITIO_MPI_Datatype *types; /**< of each block, or NULL: ... */
    WAITIO_MPI_Datatype type;         /**< ... all have this one */
};

int wio_derive_blocks(const struct wio_blocks *b, bool pad, struct wio_mpi_type **out);
/** @param stride bytes between blocks */
int wio_derive_vector(int64_t n, int64_t length, int64_t stride, const struct wio_mpi_type *old,
                      struct wio_mpi_type **out);
/** A part of an array, arguments as MPI has them. */
struct wio_subarray {
    int dims;
    struct wio_ints sizes, parts, starts;
    int order;
};
int wio_derive_subarray(const struct wio_subarray *a, const struct wio_mpi_type *old,
                        struct wio_mpi_type **out);
int wio_derive_resized(const struct wio_mpi_type *old, int64_t lb, int64_t extent,
                       struct wio_mpi_type **out);
int wio_derive_dup(const struct wio_mpi_type *old, struct wio_mpi_type **out);

/** An array that is spread over a grid of processes (darray.c), arguments as MPI has them. */
struct wio_darray {
    int processes, rank, dims;
    struct wio_ints sizes;
    const int *how, *blocks, *parts;
    int order;
};
int wio_derive_darray(const struct wio_darray *d, const struct wio_mpi_type *old,
                      struct wio_mpi_type **out);

#endif /* WIO_TYPE_DERIVE_H */
