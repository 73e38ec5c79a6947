/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file recipe.h
 * How the program made a derived type: the constructor and its arguments, which
 * WAITIO_MPI_Type_get_contents() gives back. The library itself works with the runs of a type.
 */
#ifndef WIO_TYPE_RECIPE_H
#define WIO_TYPE_RECIPE_H

#include "mpi/datatype/derive.h"

/** Integer arguments that follow each other: one number or an array. */
struct wio_numbers {
    struct wio_ints list;
    int64_t n;
};

/** A constructor (WAITIO_MPI_COMBINER_*) and its arguments, in MPI's order. */
struct wio_called {
    int combiner;
    struct wio_numbers numbers[6]; /**< ints, and the large form's counts */
    const WAITIO_MPI_Aint *addresses;
    int64_t naddresses;
    const WAITIO_MPI_Datatype *types;
    int64_t ntypes;
};

/** Keep a copy of the arguments with @p t. The types among them get a reference. @return 0; NOMEM,
 *  TYPE */
int wio_recipe_keep(struct wio_mpi_type *t, const struct wio_called *how);
/** Give up one owner of a recipe. @param release called for each type of it, when nobody else has
 *  the recipe */
void wio_recipe_drop(struct wio_recipe *r,
                     void (*release)(const struct wio_mpi_type *t, void *with), void *with);

#endif /* WIO_TYPE_RECIPE_H */
