/* SPDX-License-Identifier: BSD-3-Clause */
/* The same sum as atmos/exact_sum.f90: terms are cut into whole numbers, which add up without
 * rounding. */
#include <math.h>

#include "ocean.h"

/* A term lies below 2^TOP; four pieces of 39 bits reach down to 2^-96. Up to 2^24 terms. */
enum { TOP = 60, PIECES = 4, BITS = 39 };

double exact_sum(const double *terms, int n, MPI_Comm comm)
{
    int64_t mine[PIECES] = {0}, all[PIECES];
    double sum = 0;

    for (int i = 0; i < n; i++) {
        double rest = ldexp(terms[i], -TOP);

        if (!(fabs(rest) < 1))
            give_up("the model has become unstable");
        for (int k = 0; k < PIECES; k++) {
            int64_t piece;

            rest = ldexp(rest, BITS);
            piece = (int64_t)rest;
            mine[k] += piece;
            rest -= (double)piece;
        }
    }
    MPI_Allreduce(mine, all, PIECES, MPI_INT64_T, MPI_SUM, comm);
    for (int k = PIECES - 1; k >= 0; k--)
        sum += ldexp((double)all[k], TOP - BITS * (k + 1));
    return sum;
}
