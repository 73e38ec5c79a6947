/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * METIS for Fortran. Its integers have 32 or 64 bits as it was built, which only its header knows;
 * so it is called from C, and everything is copied to and from its own type.
 */
#include <limits.h>
#include <stdlib.h>

#ifdef HEAT3D_METIS
#include <metis.h>
#endif

/* Is there METIS in this program? */
int heat3d_metis_there(void);
int heat3d_metis_there(void)
{
#ifdef HEAT3D_METIS
    return 1;
#else
    return 0;
#endif
}

/**
 * Cut a mesh of hexahedra so that few pairs of nodes that share an element are parted.
 * @param corners 8 per element, counted from 1 @param[out] owner 0 to parts - 1 for each node
 * @return 0; 1 no METIS, 2 too large for its integers, 3 no memory, 4 it failed
 */
int heat3d_metis(int elements, int nodes, const int *corners, int parts, int *owner);

#ifdef HEAT3D_METIS

/* Room for the mesh and both answers in METIS's integers. */
struct room {
    idx_t *first, *corner, *of_element, *of_node;
};

static int make_room(struct room *r, size_t elements, size_t nodes)
{
    r->first = malloc((elements + 1) * sizeof *r->first);
    r->corner = malloc(8 * elements * sizeof *r->corner);
    r->of_element = malloc(elements * sizeof *r->of_element);
    r->of_node = malloc(nodes * sizeof *r->of_node);
    return r->first != NULL && r->corner != NULL && r->of_element != NULL && r->of_node != NULL;
}

static int cut(struct room *r, int elements, int nodes, const int *corners, int parts)
{
    idx_t ne = elements, nn = nodes, np = parts, cost = 0, options[METIS_NOPTIONS];

    for (size_t i = 0; i <= (size_t)elements; i++)
        r->first[i] = (idx_t)(8 * i);
    for (size_t i = 0; i < 8 * (size_t)elements; i++)
        r->corner[i] = corners[i] - 1;
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_OBJTYPE] = METIS_OBJTYPE_CUT;
    options[METIS_OPTION_SEED] = 1; /* the same cut every time */
    return METIS_PartMeshNodal(&ne, &nn, r->first, r->corner, NULL, NULL, &np, NULL, options, &cost,
                               r->of_element, r->of_node) == METIS_OK;
}

int heat3d_metis(int elements, int nodes, const int *corners, int parts, int *owner)
{
    struct room r;
    int rc = 0;

    /* Nodes of a mesh of hexahedra have up to 26 neighbours each in METIS's graph. */
    if (sizeof(idx_t) <= sizeof(int) && (elements > INT_MAX / 8 - 1 || nodes > INT_MAX / 27))
        return 2;
    if (!make_room(&r, (size_t)elements, (size_t)nodes))
        rc = 3;
    else if (!cut(&r, elements, nodes, corners, parts))
        rc = 4;
    for (int i = 0; rc == 0 && i < nodes; i++)
        owner[i] = (int)r.of_node[i];
    free(r.first);
    free(r.corner);
    free(r.of_element);
    free(r.of_node);
    return rc;
}

#else

int heat3d_metis(int elements, int nodes, const int *corners, int parts, int *owner)
{
    (void)elements;
    (void)nodes;
    (void)corners;
    (void)parts;
    (void)owner;
    return 1;
}

#endif
