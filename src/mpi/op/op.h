/* SPDX-License-Identifier: BSD-3-Clause */
/** @file op.h  Operators: which exist, on which types, and how two operands become one. */
#ifndef WIO_OP_H
#define WIO_OP_H

#include "mpi/datatype/type.h"

/** out[i] = a[i] op b[i] for @p n packed elements; @p out may be @p a or @p b. */
typedef void (*wio_mpi_kernel)(const void *a, const void *b, void *out, size_t n);

enum wio_op_index {
    WIO_OP_SUM,
    WIO_OP_MAX,
    WIO_OP_MIN,
    WIO_OP_PROD,
    WIO_OP_LAND,
    WIO_OP_BAND,
    WIO_OP_LOR,
    WIO_OP_BOR,
    WIO_OP_LXOR,
    WIO_OP_BXOR,
    WIO_OP_MINLOC,
    WIO_OP_MAXLOC,
    WIO_OP_COUNT
};

/** Kernel of a predefined operator (kernels.c), NULL where MPI defines none. */
wio_mpi_kernel wio_op_kernel(enum wio_mpi_kind kind, enum wio_op_index op);

/** An operator of the program. */
struct wio_user_op {
    WAITIO_MPI_User_function *function; /**< one of the three; the others are NULL */
    WAITIO_MPI_User_function_c *wide;
    waitio_mpi_stateful_function *stateful;
    void *state;
    bool commutative;
    int refs; /**< the number, and operations under way; changed atomically */
};

/** An operator bound to a type, as a schedule uses it. All zero: nothing is folded. */
struct wio_fold {
    wio_mpi_kernel kernel;    /**< predefined, or NULL */
    struct wio_user_op *user; /**< the program's, or NULL */
    const struct wio_mpi_type *type;
    bool commutative;
};

/** Bind @p op to @p type. Holds nothing: see wio_fold_hold. @return 0; ARG naming both when the
 * pair is not defined */
int wio_fold_bind(const struct wio_mpi_type *type, WAITIO_MPI_Op op, struct wio_fold *fold);
/** Keep operator and type while an operation uses them, and release them. */
void wio_fold_hold(const struct wio_fold *fold);
void wio_fold_release(const struct wio_fold *fold);
/** out = a op b, @p n packed elements each. @return 0; NOMEM */
int wio_fold_apply(const struct wio_fold *fold, const void *a, const void *b, void *out, size_t n);

/** The same for operands in the other byte order. */
int wio_fold_swapped(const struct wio_fold *fold, const void *a, const void *b, void *out,
                     size_t n);

/** Operators of the program that have a number, for tests. */
size_t wio_op_named(void);

#endif /* WIO_OP_H */
