/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file topology.h
 * Neighbours: grids (cart.c) and graphs (graph.c) of a communicator, and the lists of neighbours
 * that neighbourhood collectives use.
 */
#ifndef WIO_MPI_TOPOLOGY_H
#define WIO_MPI_TOPOLOGY_H

#include "mpi/comm.h"
#include "mpi/comm/split.h"

/** Edges of a communicator's processes. Never changed; duplicates share it. */
struct wio_graph {
    int refs;
    bool whole;    /**< made by Graph_create: every process knows all edges */
    bool weighted; /**< distributed graphs only */
    int nodes, edges;
    const int *index, *edge; /**< whole: as the program gave them */
    int indegree, outdegree; /**< distributed: of this process */
    const int *in, *out, *in_weight, *out_weight;
};

/** Neighbours in the order of the topology. WAITIO_MPI_PROC_NULL: none there. */
struct wio_near {
    int indegree, outdegree;
    const int *in, *out;
    /** A grid: what is sent at one end of a dimension arrives at the other end. */
    bool crossed;
    int room[2 * WIO_MOST_DIMS];
};

/** @return 0; TOPOLOGY when @p c has none */
int wio_near_of(const struct wio_comm *c, struct wio_near *near);
/** The part of that for grids. */
void wio_cart_near(const struct wio_cart *grid, int rank, struct wio_near *near);

struct wio_graph *wio_graph_hold(struct wio_graph *graph);
void wio_graph_release(struct wio_graph *graph); /**< NULL is nothing */

#endif /* WIO_MPI_TOPOLOGY_H */
