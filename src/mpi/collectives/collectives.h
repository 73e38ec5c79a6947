/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file collectives.h
 * The algorithms, a file per family, and the table that chooses among them. An algorithm writes
 * this process's schedule for one call. It does not communicate, and allocates only memory of the
 * schedule.
 *
 * Costs are in alpha (time of a message), beta (time per byte), gamma (time per byte folded),
 * p (processes), n (bytes of one contribution). Sources named by [ ]:
 *
 * [TRG]  Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH,
 *        Int. J. High Performance Computing Applications 19(1), 2005.
 * [Rab]  Rabenseifner: Optimization of Collective Reduction Operations, ICCS 2004.
 * [Bruck] Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient Algorithms for All-to-All Communications
 *        in Multiport Message-Passing Systems, IEEE TPDS 8(11), 1997.
 * [Geijn] Barnett, Shuler, van de Geijn, Gupta, Payne, Watts: Interprocessor Collective
 *        Communication Library (InterCom), SHPCC 1994.
 * [HFM]  Hensgen, Finkel, Manber: Two Algorithms for Barrier Synchronization, Int. J. Parallel
 *        Programming 17(1), 1988.
 * [Trinaryx] Adachi, Shida, Miura, Sumimoto, Uno, Kurokawa, Shoji, Yokokawa: The Design of Ultra
 *        Scalable MPI Collective Communication on the K Computer, Computer Science - Research and
 *        Development 28(2-3), 2013.
 * [SplitStream] Castro, Druschel, Kermarrec, Nandi, Rowstron, Singh: SplitStream: High-Bandwidth
 *        Multicast in Cooperative Environments, SOSP 2003.
 * [Two-tree] Sanders, Speck, Traeff: Two-tree Algorithms for Full Bandwidth Broadcast, Reduction
 *        and Scan, Parallel Computing 35(12), 2009.
 * [HS]   Hillis, Steele: Data Parallel Algorithms, Comm. ACM 29(12), 1986.
 */
#ifndef WIO_COLLECTIVES_H
#define WIO_COLLECTIVES_H

#include "mpi/comm/inter.h"
#include "mpi/comm/topology.h"
#include "mpi/schedule.h"

enum wio_collective_kind {
    WIO_BARRIER,
    WIO_BCAST,
    WIO_REDUCE,
    WIO_ALLREDUCE,
    WIO_REDUCE_SCATTER,
    WIO_SCAN,
    WIO_EXSCAN,
    WIO_GATHER,
    WIO_SCATTER,
    WIO_ALLGATHER,
    WIO_ALLTOALL,
    WIO_COLLECTIVE_COUNT,
    /* One algorithm each, in no table. */
    WIO_NEIGHBOR_ALLGATHER = WIO_COLLECTIVE_COUNT,
    WIO_NEIGHBOR_ALLTOALL
};

/** A buffer of one block per member, packed. */
struct wio_area {
    char *base;
    size_t unit;       /**< bytes of every block, when len == NULL */
    const size_t *len; /**< bytes of each block */
    const int64_t *at; /**< where each begins; read when len != NULL */
};
static inline char *wio_area_at(const struct wio_area *a, int i)
{
    /* the base is NULL where the places are addresses */
    return a->len == NULL ? a->base + a->unit * (size_t)i
                          : (char *)((uintptr_t)a->base + (uintptr_t)a->at[i]);
}
static inline size_t wio_area_len(const struct wio_area *a, int i)
{
    return a->len == NULL ? a->unit : a->len[i];
}

/**
 * One call, with types packed and in-place arguments resolved.
 *
 *                 in, bytes            out               ins           outs
 * bcast                                buffer, bytes
 * reductions      contribution         result (root)
 * reduce_scatter  all blocks           mine (bytes)      blocks of in
 * gather          contribution                                         at the root
 * scatter                              mine (bytes)      at the root
 * allgather       contribution                                         everywhere
 * alltoall                                               everywhere    everywhere
 *
 * in and out may be the same for reduce, allreduce, scan and exscan.
 *
 * Algorithms see packed bytes. Those with WIO_PACKS also get data of types with holes: in_type or
 * out_type is set then, in or out is the program's address, and the algorithm packs parts of it
 * (wio_schedule_pack) as it needs them.
 */
struct wio_collective {
    const void *in;
    void *out;
    size_t bytes;
    size_t count;     /**< reductions: elements of the whole contribution */
    WAITIO_MPI_Op op; /**< reductions: as the program gave it */
    int root;
    struct wio_area ins, outs;
    const struct wio_mpi_type *in_type, *out_type; /**< or NULL */
    /** Collectives of neighbourhoods: ins and outs have a block per neighbour. */
    const struct wio_near *near;
    bool every; /**< the same block (in) for every neighbour */
    /** Between two groups: ins and outs have a block per far member (reduce_scatter: near). */
    const struct wio_inter *inter;
    enum wio_collective_kind kind;
};

typedef void (*wio_algorithm_fn)(struct wio_schedule *s, const struct wio_collective *c);

/* What an algorithm requires of a call. */
enum {
    WIO_NEED_COMMUTES = 1, /**< it does not keep the order of the operands */
    WIO_NEED_EQUAL = 2,    /**< all blocks are of one size (not the v and w forms) */
    WIO_NEED_PBS = 4,      /**< several PBs, and one of them with several members */
    WIO_NEED_RUNS = 8,     /**< commutes, or the members of every PB have consecutive ranks */
    WIO_ONLY_ASKED = 16,   /**< chosen by itself only by a rule for one host */
    WIO_PACKS = 32,        /**< no requirement: it packs and unpacks types with holes itself */
    WIO_NEED_LOANS = 64,   /**< receivers copy from the sender's memory (see wio_topology) */
    WIO_NOT_CLOSE = 128,   /**< not chosen automatically for few members on one host */
    WIO_NOT_NEAR = 256,    /**< nor for short messages within one host */
    WIO_NEED_HYBRID = 512, /**< a hybrid communicator */
    WIO_NEED_ALONE = 1024, /**< ... of one PB, whose provider can do this call */
    WIO_RIVAL = 2048       /**< on one host, long calls try it out against the kind's others */
};

/** A row of the selection table. The first row of the kind that admits the call is taken. */
struct wio_algorithm {
    enum wio_collective_kind kind;
    const char *name; /**< as in WAITIO_COLL_<KIND>=name */
    unsigned need;
    int min_size;     /**< processes */
    size_t min_bytes; /**< of what wio_choice.bytes says */
    size_t max_bytes; /**< 0 = any number */
    wio_algorithm_fn write;
};

/** What the choice depends on: only values that are equal on all members by MPI's rules. */
struct wio_choice {
    enum wio_collective_kind kind;
    int size;
    size_t bytes; /**< of one contribution or block; 0 for the v and w forms */
    bool commutes, equal;
    const struct wio_topology *topo;
    int asked;   /**< 0: choose; i: the kind's i-th row, if it admits the call */
    bool hybrid; /**< some PBs use their providers for this size */
    bool alone;  /**< one PB, whose provider can do this call */
};
/** Never NULL. */
const struct wio_algorithm *wio_algorithm_select(const struct wio_choice *choice);
/** Rows that long calls try out against each other (tune.h), with sizes of one of its classes
 * always the same ones. @param[out] rivals room for WIO_TUNE_RIVALS @return how many; 0: take the
 * row that is selected */
int wio_algorithm_rivals(const struct wio_choice *choice, const struct wio_algorithm **rivals);
/** Row @p i, NULL past the last; for tests and tools. */
const struct wio_algorithm *wio_algorithm_row(int i);
/** Does the row fit the call, sizes apart? */
bool wio_algorithm_admits(const struct wio_algorithm *a, const struct wio_choice *choice);

/** Between two groups; root is as the program gave it. */
void wio_inter_collective(struct wio_schedule *s, const struct wio_collective *c);
/** Along every edge of the topology. */
void wio_neighbours_exchange(struct wio_schedule *s, const struct wio_collective *c);

/* By the provider inside each PB, by messages between them (hybrid.c). */
void wio_hybrid_barrier(struct wio_schedule *s, const struct wio_collective *c);
void wio_hybrid_bcast(struct wio_schedule *s, const struct wio_collective *c);
void wio_hybrid_reduce(struct wio_schedule *s, const struct wio_collective *c);
void wio_hybrid_allreduce(struct wio_schedule *s, const struct wio_collective *c);
void wio_hybrid_gather(struct wio_schedule *s, const struct wio_collective *c);
void wio_hybrid_scatter(struct wio_schedule *s, const struct wio_collective *c);
void wio_hybrid_allgather(struct wio_schedule *s, const struct wio_collective *c);
/** All by the provider: the communicator lies in one PB (alone.c). */
void wio_hybrid_alone(struct wio_schedule *s, const struct wio_collective *c);

void wio_barrier_dissemination(struct wio_schedule *s, const struct wio_collective *c);

void wio_bcast_linear(struct wio_schedule *s, const struct wio_collective *c);
void wio_bcast_sequential(struct wio_schedule *s, const struct wio_collective *c);
void wio_bcast_binomial(struct wio_schedule *s, const struct wio_collective *c);
void wio_bcast_binary(struct wio_schedule *s, const struct wio_collective *c);
void wio_bcast_chain(struct wio_schedule *s, const struct wio_collective *c);
void wio_bcast_scatter_allgather(struct wio_schedule *s, const struct wio_collective *c);
void wio_bcast_2l(struct wio_schedule *s, const struct wio_collective *c);
void wio_bcast_trees(struct wio_schedule *s, const struct wio_collective *c);
void wio_bcast_pb(struct wio_schedule *s, const struct wio_collective *c);
void wio_bcast_direct(struct wio_schedule *s, const struct wio_collective *c);

void wio_reduce_linear(struct wio_schedule *s, const struct wio_collective *c);
void wio_reduce_sequential(struct wio_schedule *s, const struct wio_collective *c);
void wio_reduce_binomial(struct wio_schedule *s, const struct wio_collective *c);
void wio_reduce_ordered(struct wio_schedule *s, const struct wio_collective *c);
void wio_reduce_binary(struct wio_schedule *s, const struct wio_collective *c);
void wio_reduce_chain(struct wio_schedule *s, const struct wio_collective *c);
void wio_reduce_rabenseifner(struct wio_schedule *s, const struct wio_collective *c);
void wio_reduce_2l(struct wio_schedule *s, const struct wio_collective *c);
void wio_reduce_trees(struct wio_schedule *s, const struct wio_collective *c);
void wio_reduce_pb(struct wio_schedule *s, const struct wio_collective *c);

void wio_allreduce_doubling(struct wio_schedule *s, const struct wio_collective *c);
void wio_allreduce_reduce_bcast(struct wio_schedule *s, const struct wio_collective *c);
void wio_allreduce_binary(struct wio_schedule *s, const struct wio_collective *c);
void wio_allreduce_ring(struct wio_schedule *s, const struct wio_collective *c);
void wio_allreduce_rabenseifner(struct wio_schedule *s, const struct wio_collective *c);
void wio_allreduce_2l(struct wio_schedule *s, const struct wio_collective *c);
void wio_allreduce_trees(struct wio_schedule *s, const struct wio_collective *c);
void wio_allreduce_pb(struct wio_schedule *s, const struct wio_collective *c);

void wio_reduce_scatter_halving(struct wio_schedule *s, const struct wio_collective *c);
void wio_reduce_scatter_pairwise(struct wio_schedule *s, const struct wio_collective *c);
void wio_reduce_scatter_by_root(struct wio_schedule *s, const struct wio_collective *c);

void wio_scan_doubling(struct wio_schedule *s, const struct wio_collective *c);
void wio_scan_chain(struct wio_schedule *s, const struct wio_collective *c);
void wio_exscan_doubling(struct wio_schedule *s, const struct wio_collective *c);
void wio_exscan_chain(struct wio_schedule *s, const struct wio_collective *c);

void wio_gather_linear(struct wio_schedule *s, const struct wio_collective *c);
void wio_gather_binomial(struct wio_schedule *s, const struct wio_collective *c);
void wio_gather_pb(struct wio_schedule *s, const struct wio_collective *c);
void wio_scatter_linear(struct wio_schedule *s, const struct wio_collective *c);
void wio_scatter_binomial(struct wio_schedule *s, const struct wio_collective *c);
void wio_scatter_pb(struct wio_schedule *s, const struct wio_collective *c);

void wio_allgather_ring(struct wio_schedule *s, const struct wio_collective *c);
void wio_allgather_bruck(struct wio_schedule *s, const struct wio_collective *c);
void wio_allgather_pb(struct wio_schedule *s, const struct wio_collective *c);

void wio_alltoall_linear(struct wio_schedule *s, const struct wio_collective *c);
void wio_alltoall_pairwise(struct wio_schedule *s, const struct wio_collective *c);
void wio_alltoall_bruck(struct wio_schedule *s, const struct wio_collective *c);

#endif /* WIO_COLLECTIVES_H */
