/* SPDX-License-Identifier: BSD-3-Clause */
/* All collectives: blocking, started and persistent. */
#include "collective.h"

#define THREE(Name, name, ...)                                                                     \
    (k->form == BLOCKING  ? MPI_##Name(__VA_ARGS__)                                                \
     : k->form == STARTED ? MPI_I##name(__VA_ARGS__, &k->request)                                  \
                          : PERSISTENT(Name)(__VA_ARGS__, MPI_INFO_NULL, &k->request))

#define CALL(Name, name, ...)                                                                      \
    static int call_##name(struct collective *k, MPI_Comm comm)                                    \
    {                                                                                              \
        const struct half *s = &k->s, *r = &k->r;                                                  \
        (void)s;                                                                                   \
        (void)r;                                                                                   \
        return THREE(Name, name, __VA_ARGS__);                                                     \
    }

/* The arguments of a side. */
#define S1 s->b.at, s->b.count, s->b.type
#define R1 r->b.at, r->b.count, r->b.type
#define SV s->b.at, s->counts, s->displs, s->b.type
#define RV r->b.at, r->counts, r->displs, r->b.type

CALL(Barrier, barrier, comm)
CALL(Bcast, bcast, R1, k->root_said, comm)
CALL(Gather, gather, S1, R1, k->root_said, comm)
CALL(Gatherv, gatherv, S1, RV, k->root_said, comm)
CALL(Scatter, scatter, S1, R1, k->root_said, comm)
CALL(Scatterv, scatterv, SV, R1, k->root_said, comm)
CALL(Allgather, allgather, S1, R1, comm)
CALL(Allgatherv, allgatherv, S1, RV, comm)
CALL(Alltoall, alltoall, S1, R1, comm)
CALL(Alltoallv, alltoallv, SV, RV, comm)
CALL(Alltoallw, alltoallw, s->b.at, s->counts, s->displs, s->types, r->b.at, r->counts, r->displs,
     r->types, comm)
CALL(Reduce, reduce, s->b.at, r->b.at, k->fold_total, r->b.type, k->op, k->root_said, comm)
CALL(Allreduce, allreduce, s->b.at, r->b.at, k->fold_total, r->b.type, k->op, comm)
CALL(Reduce_scatter_block, reduce_scatter_block, s->b.at, r->b.at, r->b.count, r->b.type, k->op,
     comm)
CALL(Reduce_scatter, reduce_scatter, s->b.at, r->b.at, r->counts, r->b.type, k->op, comm)
CALL(Scan, scan, s->b.at, r->b.at, k->fold_total, r->b.type, k->op, comm)
CALL(Exscan, exscan, s->b.at, r->b.at, k->fold_total, r->b.type, k->op, comm)
CALL(Neighbor_allgather, neighbor_allgather, S1, R1, comm)
CALL(Neighbor_allgatherv, neighbor_allgatherv, S1, RV, comm)
CALL(Neighbor_alltoall, neighbor_alltoall, S1, R1, comm)
CALL(Neighbor_alltoallv, neighbor_alltoallv, SV, RV, comm)
CALL(Neighbor_alltoallw, neighbor_alltoallw, s->b.at, s->counts, s->bytes, s->types, r->b.at,
     r->counts, r->bytes, r->types, comm)

const struct kind kinds_of_collectives[] = {
    {"Barrier", BARRIER, EQUAL, false, call_barrier},
    {"Bcast", BCAST, EQUAL, false, call_bcast},
    {"Gather", GATHER, EQUAL, false, call_gather},
    {"Gatherv", GATHER, COUNTS, false, call_gatherv},
    {"Scatter", SCATTER, EQUAL, false, call_scatter},
    {"Scatterv", SCATTER, COUNTS, false, call_scatterv},
    {"Allgather", ALLGATHER, EQUAL, false, call_allgather},
    {"Allgatherv", ALLGATHER, COUNTS, false, call_allgatherv},
    {"Alltoall", ALLTOALL, EQUAL, false, call_alltoall},
    {"Alltoallv", ALLTOALL, COUNTS, false, call_alltoallv},
    {"Alltoallw", ALLTOALL, TYPES, false, call_alltoallw},
    {"Reduce", REDUCE, EQUAL, false, call_reduce},
    {"Allreduce", ALLREDUCE, EQUAL, false, call_allreduce},
    {"Reduce_scatter_block", REDUCE_SCATTER, EQUAL, false, call_reduce_scatter_block},
    {"Reduce_scatter", REDUCE_SCATTER, COUNTS, false, call_reduce_scatter},
    {"Scan", SCAN, EQUAL, false, call_scan},
    {"Exscan", EXSCAN, EQUAL, false, call_exscan},
    {"Neighbor_allgather", ALLGATHER, EQUAL, true, call_neighbor_allgather},
    {"Neighbor_allgatherv", ALLGATHER, COUNTS, true, call_neighbor_allgatherv},
    {"Neighbor_alltoall", ALLTOALL, EQUAL, true, call_neighbor_alltoall},
    {"Neighbor_alltoallv", ALLTOALL, COUNTS, true, call_neighbor_alltoallv},
    {"Neighbor_alltoallw", ALLTOALL, TYPES, true, call_neighbor_alltoallw},
};
const int nkinds = sizeof kinds_of_collectives / sizeof *kinds_of_collectives;
