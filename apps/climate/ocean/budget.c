/* SPDX-License-Identifier: BSD-3-Clause */
/* Does as much heat arrive as was given? */
#include <math.h>
#include <stdlib.h>

#include "files.h"
#include "ocean.h"

static const double LIMIT = 1e-12;
static const double SPHERE = 4 * 3.14159265358979323846;

/* The numbers of the atmosphere's first process, for all of the ocean. */
static void hear(waitio_cpl_t cpl, double said[3])
{
    int atmos = -1;

    (void)waitio_cpl_component_find(cpl, "atmos", &atmos);
    (void)waitio_cpl_recv(cpl, atmos, 0, 0, said, 3, WAITIO_MPI_DOUBLE);
}

void budget_check(struct budget *budget, waitio_cpl_t cpl, const struct sea *sea,
                  const double *heat, int day)
{
    double *terms = room((size_t)sea->n, sizeof *terms), said[3] = {0}, bed;

    if (sea->rank == 0)
        hear(cpl, said);
    MPI_Bcast(said, 3, MPI_DOUBLE, 0, sea->comm);
    for (int i = 0; i < sea->n; i++)
        terms[i] = sea->area[i] / SPHERE * heat[i];
    budget->got = exact_sum(terms, sea->n, sea->comm);
    for (int i = 0; i < sea->n; i++)
        terms[i] = sea->area[i] / SPHERE;
    bed = exact_sum(terms, sea->n, sea->comm);
    free(terms);
    budget->given = said[0];
    budget->gross = said[1];
    budget->received += 86400 * budget->got;
    budget->error = said[1] > 0 ? fabs(budget->got - said[0]) / said[1] : fabs(budget->got);
    budget->worst = fmax(budget->worst, budget->error);
    if (budget->error > LIMIT)
        give_up("day %d: the atmosphere gave %.17g W/m2, the ocean got %.17g: they differ by %.2g "
                "of the %.3g W/m2 that were exchanged, more than %g",
                day, said[0], budget->got, budget->error, said[1], LIMIT);
    if (said[2] > 0 && fabs(bed - said[2]) > LIMIT)
        give_up("day %d: the sea covers the part %.17g of the atmosphere's globe, %.17g of the "
                "ocean's",
                day, said[2], bed);
}
