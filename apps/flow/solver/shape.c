/* SPDX-License-Identifier: BSD-3-Clause */
/* The slab of a process: who has which planes, where walls and the cylinder are. */
#include <stdlib.h>

#include "flow.h"

static enum flow_kind kind_of(const struct flow_slab *s, int x, int y, int z)
{
    const struct flow_plan *p = &s->plan;
    int open = p->speed > 0, gx = s->x0 + x;
    int at_z = p->periodic_z ? (z + p->n[2]) % p->n[2] : z;
    double dx = gx + 0.5 - p->at[0], dy = y + 0.5 - p->at[1];

    if (y < 0 || y >= p->n[1] || (!p->periodic_z && (z < 0 || z >= p->n[2])))
        return WALL;
    if (open && gx < 0)
        return INLET;
    if (open && gx >= p->n[0])
        return OUTLET;
    if (at_z < p->height && 4 * (dx * dx + dy * dy) < p->diameter * p->diameter)
        return BODY;
    return FLUID;
}

/* The profile of the inflow, at a point; its mean is 1: parabolas along y and, with walls, z. */
static double profile(const struct flow_plan *p, double y, double z)
{
    double across = 6 * y * (p->n[1] - y) / ((double)p->n[1] * p->n[1]);
    double along = 6 * z * (p->n[2] - z) / ((double)p->n[2] * p->n[2]);

    return p->periodic_z ? across : across * along;
}

/* All links of one fluid cell. */
static void link_cell(struct flow_slab *s, int x, int y, int z, size_t *n)
{
    for (int q = 1; q < Q; q++) {
        const int *c = flow_c[q];
        size_t from = flow_at(s, x - c[0], y - c[1], z - c[2]);
        enum flow_kind kind = s->kind[from];

        if (kind == FLUID)
            continue;
        if (s->links != NULL) {
            /* the link meets the inlet half a cell away */
            double u =
                s->plan.speed * profile(&s->plan, y + 0.5 - 0.5 * c[1], z + 0.5 - 0.5 * c[2]);

            s->links[*n] = (struct flow_link){flow_at(s, x, y, z), from, 6 * flow_w[q] * u * c[0],
                                              (unsigned char)q, (unsigned char)kind};
        }
        (*n)++;
    }
}

static void link_all(struct flow_slab *s)
{
    s->n_links = 0;
    for (int x = 0; x < s->nx; x++)
        for (int y = 0; y < s->plan.n[1]; y++)
            for (int z = 0; z < s->plan.n[2]; z++)
                if (s->kind[flow_at(s, x, y, z)] == FLUID)
                    link_cell(s, x, y, z, &s->n_links);
}

int flow_shape(struct flow_slab *s)
{
    for (int x = -1; x <= s->nx; x++)
        for (int y = -1; y <= s->plan.n[1]; y++)
            for (int z = -1; z <= s->plan.n[2]; z++) {
                size_t i = flow_at(s, x, y, z);

                s->kind[i] = (unsigned char)kind_of(s, x, y, z);
                s->n_solid += s->kind[i] != FLUID;
            }
    link_all(s); /* counts */
    s->links = calloc(s->n_links + 1, sizeof *s->links);
    s->solid = calloc(s->n_solid + 1, sizeof *s->solid);
    if (s->links == NULL || s->solid == NULL)
        return -1;
    link_all(s);
    s->n_solid = 0;
    for (size_t i = 0; i < s->cells; i++)
        if (s->kind[i] != FLUID)
            s->solid[s->n_solid++] = i;
    return 0;
}

int flow_make(struct flow_slab *s, const struct flow_plan *plan, MPI_Comm comm)
{
    *s = (struct flow_slab){.plan = *plan, .comm = comm};
    MPI_Comm_rank(comm, &s->rank);
    MPI_Comm_size(comm, &s->size);
    if (s->size > plan->n[0])
        return -1;
    s->x0 = (int)((long)plan->n[0] * s->rank / s->size);
    s->nx = (int)((long)plan->n[0] * (s->rank + 1) / s->size) - s->x0;
    s->row = (size_t)plan->n[2] + 2;
    s->plane = s->row * ((size_t)plan->n[1] + 2);
    s->cells = s->plane * ((size_t)s->nx + 2);
    s->kind = calloc(s->cells, 1);
    s->f = malloc(Q * s->cells * sizeof *s->f);
    s->g = malloc(Q * s->cells * sizeof *s->g);
    if (s->kind == NULL || s->f == NULL || s->g == NULL || flow_shape(s) != 0) {
        flow_free(s);
        return -1;
    }
    for (int q = 0; q < Q; q++)
        for (size_t i = 0; i < s->cells; i++)
            s->f[(size_t)q * s->cells + i] = s->g[(size_t)q * s->cells + i] = flow_w[q];
    return 0;
}

void flow_free(struct flow_slab *s)
{
    free(s->kind);
    free(s->f);
    free(s->g);
    free(s->links);
    free(s->solid);
    *s = (struct flow_slab){.step = 0};
}
