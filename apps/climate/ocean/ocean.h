/* SPDX-License-Identifier: BSD-3-Clause */
/* Component `ocean`: the upper 60 m of the sea, with ice, on a cubed sphere. */
#ifndef CLIMATE_OCEAN_H
#define CLIMATE_OCEAN_H

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>
#include <waitio_cpl.h>

/* Four sides of a cell. */
enum { SIDES = 4 };

/** The cells of this process: the wet ones are split into shares of equal size, in order. */
struct sea {
    MPI_Comm comm;
    int rank, processes;
    int n, halo;           /**< own cells; cells of others beside them */
    int *index;            /**< n: global index, from 1 */
    double *area;          /**< n: on the unit sphere, as the weights have it */
    double *lat;           /**< n: radians */
    int (*beside)[SIDES];  /**< n: position of the neighbours, own or halo; -1: land */
    double (*link)[SIDES]; /**< n: length of the side / distance of the middles */
    int *send_n, *send_at, *recv_n, *recv_at; /**< for each process, in cells */
    int *send_cells;                          /**< own cells, by who needs them */
    double *send_values;
};

/** The state, and what is made of it. */
struct slab {
    double *energy;      /**< n: J/m2; 0 is water at its freezing point */
    double *temperature; /**< n + halo: degrees Celsius */
    double *albedo, *ice, *wet, *heat;
};

/** Write what is wrong, and end all processes with status 2. */
_Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Read the grid file (its mask says where the sea is) and the areas of the weight file. */
void sea_read(struct sea *sea, const char *grid_path, const char *weights_path);
/** Fill the values behind the own n with those of other processes. */
void sea_halo(const struct sea *sea, double *values);

/** Entries of a weight file: this process's share of them. Freed by the caller. */
void table_read(const struct sea *sea, const char *path, struct waitio_cpl_entries *entries);
void table_free(struct waitio_cpl_entries *entries);

void slab_start(struct slab *slab, const struct sea *sea);
/** A day of the heat that came from above, and of currents, which even out the temperature. */
void slab_day(struct slab *slab, const struct sea *sea);

/** Sum of n terms of all processes, which no order and no number of processes changes. */
double exact_sum(const double *terms, int n, MPI_Comm comm);

/** What came in, for the budget. */
struct budget {
    double given, gross, got, error; /**< W/m2 of the globe; relative */
    double received;                 /**< J/m2 of the globe since the start */
    double worst;
};
/** Compare the integral of what came with what the atmosphere says it gave; gives up when they
 * differ by more than 1e-12 of what was exchanged. Collective. */
void budget_check(struct budget *budget, waitio_cpl_t cpl, const struct sea *sea,
                  const double *heat, int day);

#endif /* CLIMATE_OCEAN_H */
