/* SPDX-License-Identifier: BSD-3-Clause */
/* Which algorithm for which call, as data. Names and their order are those of the WAITIO_COLL_
 * variables in spec/config.toml. */
#include "mpi/collectives/collectives.h"
#include "mpi/tune.h"

#define K 1024

static const struct wio_algorithm algorithms[] = {
    {WIO_BARRIER, "alone", WIO_NEED_ALONE, 0, 0, 0, wio_hybrid_alone},
    {WIO_BARRIER, "hybrid", WIO_NEED_HYBRID, 0, 0, 0, wio_hybrid_barrier},
    {WIO_BARRIER, "pb", WIO_NEED_PBS | WIO_NOT_CLOSE, 0, 0, 0, wio_allreduce_pb},
    {WIO_BARRIER, "dissemination", 0, 0, 0, 0, wio_barrier_dissemination},
    {WIO_BARRIER, "2l", WIO_ONLY_ASKED, 0, 0, 0, wio_allreduce_2l},
    {WIO_BARRIER, "bt", WIO_ONLY_ASKED, 0, 0, 0, wio_allreduce_binary},

    {WIO_BCAST, "alone", WIO_NEED_ALONE, 0, 0, 0, wio_hybrid_alone},
    {WIO_BCAST, "hybrid", WIO_NEED_HYBRID, 0, 0, 0, wio_hybrid_bcast},
    {WIO_BCAST, "direct", WIO_NEED_LOANS | WIO_RIVAL, 5, 1024 * K, 0, wio_bcast_direct},
    /* From this size on trees are quicker: measured on two cores with 2 to 8 processes
       (bench/coll.py --rows). */
    {WIO_BCAST, "trees", WIO_PACKS | WIO_RIVAL, 0, 128 * K, 0, wio_bcast_trees},
    {WIO_BCAST, "pb", WIO_NEED_PBS | WIO_NOT_NEAR, 0, 0, 0, wio_bcast_pb},
    /* Long messages: a chain moves n bytes through every process once, a tree log2 p times. */
    {WIO_BCAST, "chain", WIO_RIVAL, 3, 512 * K, 0, wio_bcast_chain},
    {WIO_BCAST, "scatter_allgather", 0, 8, 64 * K, 0, wio_bcast_scatter_allgather},
    {WIO_BCAST, "binomial", WIO_RIVAL, 0, 0, 0, wio_bcast_binomial},
    {WIO_BCAST, "linear", WIO_ONLY_ASKED | WIO_RIVAL, 0, 0, 0, wio_bcast_linear},
    {WIO_BCAST, "2l", WIO_ONLY_ASKED, 0, 0, 0, wio_bcast_2l},
    {WIO_BCAST, "bt", WIO_ONLY_ASKED | WIO_RIVAL, 0, 0, 0, wio_bcast_binary},

    {WIO_REDUCE, "alone", WIO_NEED_ALONE, 0, 0, 0, wio_hybrid_alone},
    {WIO_REDUCE, "hybrid", WIO_NEED_HYBRID | WIO_NEED_RUNS, 0, 0, 0, wio_hybrid_reduce},
    {WIO_REDUCE, "trees", WIO_PACKS | WIO_NEED_COMMUTES, 0, 96 * K, 0, wio_reduce_trees},
    {WIO_REDUCE, "pb", WIO_NEED_PBS | WIO_NEED_COMMUTES, 0, 0, 0, wio_reduce_pb},
    {WIO_REDUCE, "chain", WIO_NEED_COMMUTES, 3, 1024 * K, 0, wio_reduce_chain},
    {WIO_REDUCE, "rabenseifner", WIO_NEED_COMMUTES, 4, 64 * K, 0, wio_reduce_rabenseifner},
    {WIO_REDUCE, "binomial", WIO_NEED_COMMUTES, 0, 0, 0, wio_reduce_binomial},
    {WIO_REDUCE, "ordered", 0, 0, 0, 0, wio_reduce_ordered},
    {WIO_REDUCE, "linear", WIO_ONLY_ASKED, 0, 0, 0, wio_reduce_linear},
    {WIO_REDUCE, "2l", WIO_ONLY_ASKED | WIO_NEED_RUNS, 0, 0, 0, wio_reduce_2l},
    {WIO_REDUCE, "bt", WIO_ONLY_ASKED | WIO_NEED_COMMUTES, 0, 0, 0, wio_reduce_binary},

    {WIO_ALLREDUCE, "alone", WIO_NEED_ALONE, 0, 0, 0, wio_hybrid_alone},
    {WIO_ALLREDUCE, "hybrid", WIO_NEED_HYBRID | WIO_NEED_RUNS, 0, 0, 0, wio_hybrid_allreduce},
    {WIO_ALLREDUCE, "trees", WIO_PACKS | WIO_NEED_COMMUTES, 0, 32 * K, 0, wio_allreduce_trees},
    {WIO_ALLREDUCE, "pb", WIO_NEED_PBS | WIO_NEED_RUNS | WIO_NOT_CLOSE, 0, 0, 0, wio_allreduce_pb},
    /* Doubling moves n log2 p bytes through every process, the others 2 n at more messages. */
    {WIO_ALLREDUCE, "doubling", 0, 0, 0, 32 * K, wio_allreduce_doubling},
    {WIO_ALLREDUCE, "ring", WIO_NEED_COMMUTES, 5, 4096 * K, 0, wio_allreduce_ring},
    {WIO_ALLREDUCE, "rabenseifner", WIO_NEED_COMMUTES, 2, 0, 0, wio_allreduce_rabenseifner},
    {WIO_ALLREDUCE, "reduce_bcast", 0, 0, 0, 0, wio_allreduce_reduce_bcast},
    {WIO_ALLREDUCE, "2l", WIO_ONLY_ASKED | WIO_NEED_RUNS, 0, 0, 0, wio_allreduce_2l},
    {WIO_ALLREDUCE, "bt", WIO_ONLY_ASKED | WIO_NEED_COMMUTES, 0, 0, 0, wio_allreduce_binary},

    {WIO_REDUCE_SCATTER, "alone", WIO_NEED_ALONE, 0, 0, 0, wio_hybrid_alone},
    {WIO_REDUCE_SCATTER, "halving", WIO_NEED_COMMUTES, 0, 0, 512 * K, wio_reduce_scatter_halving},
    {WIO_REDUCE_SCATTER, "pairwise", WIO_NEED_COMMUTES, 0, 0, 0, wio_reduce_scatter_pairwise},
    {WIO_REDUCE_SCATTER, "by_root", 0, 0, 0, 0, wio_reduce_scatter_by_root},

    {WIO_SCAN, "alone", WIO_NEED_ALONE, 0, 0, 0, wio_hybrid_alone},
    {WIO_SCAN, "doubling", 0, 0, 0, 0, wio_scan_doubling},
    {WIO_SCAN, "chain", 0, 0, 0, 0, wio_scan_chain},
    {WIO_EXSCAN, "alone", WIO_NEED_ALONE, 0, 0, 0, wio_hybrid_alone},
    {WIO_EXSCAN, "doubling", 0, 0, 0, 0, wio_exscan_doubling},
    {WIO_EXSCAN, "chain", 0, 0, 0, 0, wio_exscan_chain},

    {WIO_GATHER, "alone", WIO_NEED_ALONE | WIO_NEED_EQUAL, 0, 0, 0, wio_hybrid_alone},
    {WIO_GATHER, "hybrid", WIO_NEED_HYBRID | WIO_NEED_EQUAL, 0, 0, 0, wio_hybrid_gather},
    {WIO_GATHER, "pb", WIO_NEED_PBS | WIO_NEED_EQUAL, 0, 0, 32 * K, wio_gather_pb},
    {WIO_GATHER, "binomial", WIO_NEED_EQUAL, 8, 0, 2 * K, wio_gather_binomial},
    {WIO_GATHER, "linear", 0, 0, 0, 0, wio_gather_linear},
    {WIO_SCATTER, "alone", WIO_NEED_ALONE | WIO_NEED_EQUAL, 0, 0, 0, wio_hybrid_alone},
    {WIO_SCATTER, "hybrid", WIO_NEED_HYBRID | WIO_NEED_EQUAL, 0, 0, 0, wio_hybrid_scatter},
    {WIO_SCATTER, "pb", WIO_NEED_PBS | WIO_NEED_EQUAL, 0, 0, 32 * K, wio_scatter_pb},
    {WIO_SCATTER, "binomial", WIO_NEED_EQUAL, 8, 0, 2 * K, wio_scatter_binomial},
    {WIO_SCATTER, "linear", 0, 0, 0, 0, wio_scatter_linear},

    {WIO_ALLGATHER, "alone", WIO_NEED_ALONE, 0, 0, 0, wio_hybrid_alone},
    {WIO_ALLGATHER, "hybrid", WIO_NEED_HYBRID | WIO_NEED_EQUAL, 0, 0, 0, wio_hybrid_allgather},
    {WIO_ALLGATHER, "pb", WIO_NEED_PBS, 0, 0, 0, wio_allgather_pb},
    {WIO_ALLGATHER, "bruck", WIO_NEED_EQUAL, 0, 0, 4 * K, wio_allgather_bruck},
    {WIO_ALLGATHER, "ring", 0, 0, 0, 0, wio_allgather_ring},

    {WIO_ALLTOALL, "alone", WIO_NEED_ALONE, 0, 0, 0, wio_hybrid_alone},
    {WIO_ALLTOALL, "bruck", WIO_NEED_EQUAL, 8, 0, 256, wio_alltoall_bruck},
    {WIO_ALLTOALL, "linear", 0, 0, 0, 32 * K, wio_alltoall_linear},
    {WIO_ALLTOALL, "pairwise", 0, 0, 0, 0, wio_alltoall_pairwise},
};

/* Where all members share a host these go before the table, the first that applies: a border
 * between PBs costs nothing, and a receiver reads a long message from its sender's memory at one
 * copy. Measured with 2, 4, 6 and 8 processes on two cores without a common cache, and with 16 to
 * 128 on two cores with one (bench/coll.py --rows): x0.3 to x0.9 of the rows that the table would
 * choose. Unlike broadcasts these are not measured by each program: the order of a sum, and so its
 * last digits, must not change from call to call.
 * With many processes for each processor what counts is how often one has to run before another can
 * go on: once where all send to one ("2l", "linear"), log2 p times in a tree. That one has work for
 * every member, so "2l" ends where the measurements end. */
static const struct host_rule {
    enum wio_collective_kind kind;
    uint32_t share;              /* processes for each processor, at least */
    int min_size, max_size;      /* 0 = any number */
    bool doubles;                /* numbers of processes that are powers of two only */
    size_t min_bytes, max_bytes; /* 0 = any number */
    wio_algorithm_fn write;
} host_rules[] = {
    {WIO_BARRIER, 16, 0, 128, false, 0, 0, wio_allreduce_2l},
    {WIO_REDUCE, 8, 9, 32, false, 2 * K + 1, 16 * K, wio_reduce_linear},
    {WIO_REDUCE, 8, 9, 0, false, 16 * K + 1, 96 * K, wio_reduce_binomial},
    {WIO_REDUCE, 0, 3, 8, false, 16 * K + 1, 96 * K, wio_reduce_linear},
    {WIO_REDUCE, 0, 3, 0, false, 96 * K + 1, 0, wio_reduce_chain},
    {WIO_ALLREDUCE, 16, 0, 128, false, 0, 16 * K, wio_allreduce_2l},
    {WIO_ALLREDUCE, 8, 9, 0, false, 16 * K + 1, 128 * K, wio_allreduce_pb},
    {WIO_ALLREDUCE, 8, 9, 0, false, 16 * K + 1, 1024 * K, wio_allreduce_reduce_bcast},
    {WIO_ALLREDUCE, 0, 2, 2, false, 32 * K, 512 * K, wio_allreduce_doubling},
    {WIO_ALLREDUCE, 0, 2, 0, true, 32 * K, 0, wio_allreduce_rabenseifner},
    {WIO_ALLREDUCE, 0, 5, 0, false, 32 * K, 1024 * K, wio_allreduce_pb},
    {WIO_GATHER, 8, 9, 32, false, 2 * K + 1, 32 * K, wio_gather_linear},
    {WIO_SCATTER, 8, 9, 0, false, 0, 2 * K, wio_scatter_binomial},
    {WIO_SCATTER, 8, 9, 0, false, 0, 32 * K, wio_scatter_linear},
};

const struct wio_algorithm *wio_algorithm_row(int i)
{
    return i >= 0 && (size_t)i < WIO_ARRAY_LEN(algorithms) ? &algorithms[i] : NULL;
}

/* Several PBs with more members than one each: else the layers are the algorithm they are made of.
 */
static bool has_layers(const struct wio_choice *choice)
{
    return choice->topo->npb > 1 && choice->size > choice->topo->npb;
}

bool wio_algorithm_admits(const struct wio_algorithm *a, const struct wio_choice *choice)
{
    unsigned lacks = 0;

    if (!choice->commutes)
        lacks |= WIO_NEED_COMMUTES;
    if (!choice->equal)
        lacks |= WIO_NEED_EQUAL;
    if (!choice->commutes && !choice->topo->runs)
        lacks |= WIO_NEED_RUNS;
    if (!choice->hybrid)
        lacks |= WIO_NEED_HYBRID;
    if (!choice->alone)
        lacks |= WIO_NEED_ALONE;
    return a->kind == choice->kind && (a->need & lacks) == 0;
}

/* Up to four members need two rounds, layers need three (in, across, out), and within a host a
 * message to another PB costs no more than any other. With more members on too few processors
 * layers are quicker again: fewer members have to run before others can continue. Measured with 2,
 * 4, 6 and 8 processes on two cores (bench/coll.py --rows). */
static bool close_together(const struct wio_choice *choice)
{
    return choice->topo->host && choice->size <= 4;
}

/* Short messages within one host: no link is dearer than another, and the layers of PBs only make
 * the tree deeper. Measured with 4, 6 and 8 processes on two cores: 8 B to 16 KiB take 0.8 to 0.9
 * of the time without layers, 64 KiB at 8 processes 1.2. */
static bool near(const struct wio_choice *choice)
{
    return choice->topo->host && choice->bytes <= 16 * K;
}

/* Would it be chosen, if it may? */
static bool fits(const struct wio_algorithm *a, const struct wio_choice *choice)
{
    return wio_algorithm_admits(a, choice) &&
           ((a->need & WIO_NEED_PBS) == 0 || has_layers(choice)) &&
           ((a->need & WIO_NOT_CLOSE) == 0 || !close_together(choice)) &&
           ((a->need & WIO_NOT_NEAR) == 0 || !near(choice)) &&
           ((a->need & WIO_NEED_LOANS) == 0 || choice->topo->loans) &&
           choice->size >= a->min_size && choice->bytes >= a->min_bytes &&
           (a->max_bytes == 0 || choice->bytes <= a->max_bytes);
}

static bool suits(const struct wio_algorithm *a, const struct wio_choice *choice)
{
    return (a->need & WIO_ONLY_ASKED) == 0 && fits(a, choice);
}

/* With more members the slowest rivals would take too long. */
enum { RIVALS_FROM = 3, RIVALS_TO = 16 };

int wio_algorithm_rivals(const struct wio_choice *choice, const struct wio_algorithm **rivals)
{
    int n = 0;

    if (!choice->topo->host || choice->asked != 0 || choice->hybrid || choice->alone ||
        choice->bytes < WIO_TUNE_FROM || choice->size < RIVALS_FROM || choice->size > RIVALS_TO)
        return 0;
    for (size_t i = 0; i < WIO_ARRAY_LEN(algorithms) && n < WIO_TUNE_RIVALS; i++) {
        if ((algorithms[i].need & WIO_RIVAL) != 0 && fits(&algorithms[i], choice))
            rivals[n++] = &algorithms[i];
    }
    return n > 1 ? n : 0;
}

static bool applies(const struct host_rule *r, const struct wio_choice *choice)
{
    return r->kind == choice->kind && choice->topo->share >= r->share &&
           choice->size >= r->min_size && (r->max_size == 0 || choice->size <= r->max_size) &&
           (!r->doubles || (choice->size & (choice->size - 1)) == 0) &&
           choice->bytes >= r->min_bytes && (r->max_bytes == 0 || choice->bytes <= r->max_bytes);
}

/* The row of this function. @param a first row of the kind. @return NULL: it may not be chosen */
static const struct wio_algorithm *row_of(const struct wio_algorithm *a,
                                          const struct wio_choice *choice, wio_algorithm_fn write)
{
    const struct wio_algorithm *end = algorithms + WIO_ARRAY_LEN(algorithms);

    for (; a < end && a->kind == choice->kind; a++)
        if (a->write == write && wio_algorithm_admits(a, choice) &&
            ((a->need & WIO_NEED_PBS) == 0 || has_layers(choice)))
            return a;
    return NULL;
}

/* @param a first row of the kind. @return NULL: the table decides */
static const struct wio_algorithm *on_one_host(const struct wio_algorithm *a,
                                               const struct wio_choice *choice)
{
    const struct host_rule *r = host_rules, *end = r + WIO_ARRAY_LEN(host_rules);
    const struct wio_algorithm *found = NULL;

    if (!choice->topo->host || choice->hybrid || choice->alone)
        return NULL;
    for (; r < end && found == NULL; r++)
        if (applies(r, choice))
            found = row_of(a, choice, r->write);
    return found;
}

const struct wio_algorithm *wio_algorithm_select(const struct wio_choice *choice)
{
    const struct wio_algorithm *a = algorithms, *here;

    while (a->kind != choice->kind)
        a++;
    if (choice->asked > 0 && wio_algorithm_admits(a + choice->asked - 1, choice))
        return a + choice->asked - 1;
    here = on_one_host(a, choice);
    if (here != NULL)
        return here;
    while (!suits(a, choice)) /* the last row of a kind that may be chosen suits everything */
        a++;
    return a;
}
