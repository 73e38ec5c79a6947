/* SPDX-License-Identifier: BSD-3-Clause */
/* Ends all processes of a test of the provider when something is wrong. */
#ifndef PROVIDER_CHECK_H
#define PROVIDER_CHECK_H

#include <mpi.h>
#include <stdio.h>

#define CHECK(COND, ...)                                                                           \
    do {                                                                                           \
        if (!(COND)) {                                                                             \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #COND);                             \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fprintf(stderr, "\n");                                                                 \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                          \
        }                                                                                          \
    } while (0)

#endif
