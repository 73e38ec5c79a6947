/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of the table that chooses algorithms, by kind and by name. */
#ifndef MPI_ROWS_H
#define MPI_ROWS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "mpi/coll.h"

static inline int rows_of(enum wio_collective_kind kind)
{
    int n = 0;
    for (int i = 0; wio_algorithm_row(i) != NULL; i++)
        n += wio_algorithm_row(i)->kind == kind;
    return n;
}

static inline int row_named(enum wio_collective_kind kind, const char *name)
{
    int n = 0;
    for (int i = 0; wio_algorithm_row(i) != NULL; i++) {
        n += wio_algorithm_row(i)->kind == kind;
        if (wio_algorithm_row(i)->kind == kind && strcmp(wio_algorithm_row(i)->name, name) == 0)
            return n;
    }
    fail_msg("no algorithm %s", name);
    return 0;
}

#endif
