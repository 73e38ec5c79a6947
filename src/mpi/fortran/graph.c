/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran: graphs of processes. */
#include "mpi/fortran/fortran.h"

/* A call that makes a communicator from `c`: `fresh`, written to `out`. */
#define MAKES(CALL, EXPRESSION)                                                                    \
    do {                                                                                           \
        WAITIO_MPI_Comm c = NULL, fresh = NULL;                                                    \
        int rc = wio_fortran_comm(CALL, comm, &c);                                                 \
        if (rc == 0)                                                                               \
            rc = (EXPRESSION);                                                                     \
        if (rc == 0)                                                                               \
            rc = wio_fortran_put_comm(CALL, fresh, out);                                           \
        wio_fortran_result(CALL, rc, ierr);                                                        \
    } while (0)

WIO_FORTRAN(waitio_mpi_graph_create_,
            (const void *comm, const fint *nodes, const fint *index, const fint *edges,
             const fint *reorder, void *out, fint *ierr))
{
    MAKES("WAITIO_MPI_GRAPH_CREATE",
          WAITIO_MPI_Graph_create(c, *nodes, index, edges, *reorder, &fresh));
}

WIO_FORTRAN(waitio_mpi_graph_map_, (const void *comm, const fint *nodes, const fint *index,
                                    const fint *edges, fint *rank, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_GRAPH_MAP", WAITIO_MPI_Graph_map(c, *nodes, index, edges, rank));
}

WIO_FORTRAN(waitio_mpi_graphdims_get_, (const void *comm, fint *nodes, fint *edges, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_GRAPHDIMS_GET", WAITIO_MPI_Graphdims_get(c, nodes, edges));
}

WIO_FORTRAN(waitio_mpi_graph_get_, (const void *comm, const fint *nodes, const fint *edges,
                                    fint *index, fint *edge, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_GRAPH_GET", WAITIO_MPI_Graph_get(c, *nodes, *edges, index, edge));
}

WIO_FORTRAN(waitio_mpi_graph_neighbors_count_,
            (const void *comm, const fint *rank, fint *n, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_GRAPH_NEIGHBORS_COUNT",
                  WAITIO_MPI_Graph_neighbors_count(c, *rank, n));
}

WIO_FORTRAN(waitio_mpi_graph_neighbors_,
            (const void *comm, const fint *rank, const fint *most, fint *neighbors, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_GRAPH_NEIGHBORS",
                  WAITIO_MPI_Graph_neighbors(c, *rank, *most, neighbors));
}

WIO_FORTRAN(waitio_mpi_dist_graph_create_adjacent_,
            (const void *comm, const fint *indegree, const fint *sources, const fint *sourceweights,
             const fint *outdegree, const fint *destinations, const fint *destweights,
             const fint *info, const fint *reorder, void *out, fint *ierr))
{
    MAKES("WAITIO_MPI_DIST_GRAPH_CREATE_ADJACENT",
          WAITIO_MPI_Dist_graph_create_adjacent(
              c, *indegree, sources, wio_fortran_weights(sourceweights), *outdegree, destinations,
              wio_fortran_weights(destweights), *info, *reorder, &fresh));
}

WIO_FORTRAN(waitio_mpi_dist_graph_create_,
            (const void *comm, const fint *n, const fint *sources, const fint *degrees,
             const fint *destinations, const fint *weights, const fint *info, const fint *reorder,
             void *out, fint *ierr))
{
    MAKES("WAITIO_MPI_DIST_GRAPH_CREATE",
          WAITIO_MPI_Dist_graph_create(c, *n, sources, degrees, destinations,
                                       wio_fortran_weights(weights), *info, *reorder, &fresh));
}

WIO_FORTRAN(waitio_mpi_dist_graph_neighbors_count_,
            (const void *comm, fint *indegree, fint *outdegree, fint *weighted, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_DIST_GRAPH_NEIGHBORS_COUNT",
                  WAITIO_MPI_Dist_graph_neighbors_count(c, indegree, outdegree, weighted));
}

WIO_FORTRAN(waitio_mpi_dist_graph_neighbors_,
            (const void *comm, const fint *most_in, fint *sources, fint *sourceweights,
             const fint *most_out, fint *destinations, fint *destweights, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_DIST_GRAPH_NEIGHBORS",
                  WAITIO_MPI_Dist_graph_neighbors(c, *most_in, sources,
                                                  wio_fortran_weights(sourceweights), *most_out,
                                                  destinations, wio_fortran_weights(destweights)));
}
