/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lattice Boltzmann solver for flow around a cylinder in a channel: D3Q19, two relaxation times
 * (Ginzburg et al. 2008, Communications in Computational Physics 3, 427-478), slabs along x.
 *
 * Units are those of the lattice: cells, steps, density 1. A cell has 19 populations f, one for
 * each velocity of the lattice; those of one velocity lie together (f[q * cells + i]). A slab has a
 * layer of cells more on each side: neighbours, walls, or the other end of a periodic direction.
 */
#ifndef FLOW_H
#define FLOW_H

#include <mpi.h>
#include <stddef.h>

enum { Q = 19 };

/** How the velocities go, and which one is opposite. */
extern const int flow_c[Q][3];
extern const double flow_w[Q];
int flow_opposite(int q);

/** What a run is. */
struct flow_plan {
    int n[3];         /**< cells of the whole domain: x, y, z */
    double diameter;  /**< of the cylinder, 0: none */
    double at[2];     /**< its axis, x and y, from the walls */
    int height;       /**< its length from the wall z = 0; n[2]: from wall to wall */
    int periodic_z;   /**< 0: walls */
    double speed;     /**< mean of the inflow; 0: periodic in x, driven by force */
    double force;     /**< body force along x */
    double viscosity; /**< kinematic */
    int steps, every; /**< of the lattice; every so many the fields are handed on */
    int ramp;         /**< steps until the inflow has its speed */
};

/** What surrounds the fluid. */
enum flow_kind { FLUID, WALL, BODY, INLET, OUTLET };

/** Where a population comes from what is no fluid: f[q] of cell `to` would be that of `from`. */
struct flow_link {
    size_t to, from;
    double inflow; /**< what a link of the inlet adds at full speed */
    unsigned char q, kind;
};

/** Sums of one process, of the last step. */
struct flow_sums {
    double mass;    /**< in the fluid now */
    double entered; /**< mass that came in through inlet and outlet since the start */
    double drag[2]; /**< force on the cylinder, x and y */
};

/** The slab of a process. */
struct flow_slab {
    struct flow_plan plan;
    MPI_Comm comm;
    int rank, size;
    int x0, nx;               /**< first plane of mine in the domain, and how many */
    size_t row, plane, cells; /**< cells in a row along z, in a plane, of the slab; with layers */
    unsigned char *kind;      /**< of each cell */
    double *f, *g;            /**< populations after collision; of the next step */
    struct flow_link *links;
    size_t n_links;
    size_t *solid; /**< cells that are no fluid, and are set to rest */
    size_t n_solid;
    struct flow_sums sums;
    int step;
};

/** Cell of plane x, y, z; from -1 to the number of cells. */
static inline size_t flow_at(const struct flow_slab *s, int x, int y, int z)
{
    return (size_t)(x + 1) * s->plane + (size_t)(y + 1) * s->row + (size_t)(z + 1);
}

/** Make the slab of this process, at rest. @return 0; -1: no memory, or too many processes */
int flow_make(struct flow_slab *s, const struct flow_plan *plan, MPI_Comm comm);
void flow_free(struct flow_slab *s);
/** Find what surrounds the fluid (used by flow_make). @return 0 or -1 */
int flow_shape(struct flow_slab *s);
/** Compute one step. */
void flow_step(struct flow_slab *s);
/** Sums of all processes; the mass is added up anew. */
struct flow_sums flow_sums(struct flow_slab *s);
/**
 * Density and velocity of this process's fluid, without layers; in what is no fluid 1 and 0.
 * @param[out] density nx * ny * nz numbers @param[out] velocity three times as many, component
 * first
 * @return sum of the squared velocities, as they were rounded
 */
double flow_fields(const struct flow_slab *s, float *density, float *velocity);

#endif /* FLOW_H */
