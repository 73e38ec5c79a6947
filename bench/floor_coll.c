/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The floor of short collectives on one host: processes of one mapping tell each other by counters
 * in cache lines of their own, in the two layers that the library's collectives have: within each
 * half the members and their leader, and the two leaders across. No messages, no matching, nobody
 * can die. Who waits yields its processor.
 *
 *   floor_coll [procs=8] [ops=bcast,reduce,allreduce] [ms=30]
 *
 * As in bench_coll the roots take turns, rank i runs on processor i modulo their number, and a
 * batch is as many operations as take so many milliseconds. 8 bytes, the sum is not formed.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "common.h"

enum { LINE = 64, MOST = 64 };

struct line {
    _Alignas(LINE) _Atomic long count;
};

struct shared {
    struct line from[MOST][MOST]; /* [writer][reader]: operations told of */
    struct line arrived;          /* at the barriers */
    _Atomic int counts;           /* operations of a batch, by rank 0 */
};

static struct shared *shared;
static int me, all, half;
static long barriers, told[MOST], heard[MOST];

static void tell(int rank)
{
    atomic_store_explicit(&shared->from[me][rank].count, ++told[rank], memory_order_release);
}

static void hear(int rank)
{
    const long next = ++heard[rank];
    while (atomic_load_explicit(&shared->from[rank][me].count, memory_order_acquire) < next)
        sched_yield();
}

static void barrier(void)
{
    atomic_fetch_add(&shared->arrived.count, 1);
    barriers++;
    while (atomic_load(&shared->arrived.count) < barriers * all)
        sched_yield();
}

/* The root leads its half, the lowest rank the other. */
static int leader_of(int rank, int root)
{
    return rank / half == root / half ? root : rank / half * half;
}

static void up(int root)
{
    int leader = leader_of(me, root), first = me / half * half;
    if (me != leader)
        tell(leader);
    for (int i = first; me == leader && i < first + half; i++)
        if (i != me)
            hear(i);
}

static void down(int root)
{
    int leader = leader_of(me, root), first = me / half * half;
    if (me != leader)
        hear(leader);
    for (int i = first; me == leader && i < first + half; i++)
        if (i != me)
            tell(i);
}

/* The leader of the other half. */
static int opposite(int root)
{
    return leader_of((me + half) % all, root);
}

static void op_bcast(int root)
{
    if (me == root)
        tell(opposite(root));
    else if (me == leader_of(me, root))
        hear(root);
    down(root);
}

static void op_reduce(int root)
{
    up(root);
    if (me == root)
        hear(opposite(root));
    else if (me == leader_of(me, root))
        tell(root);
}

static void op_allreduce(int root)
{
    (void)root;
    up(0);
    if (me == leader_of(me, 0)) {
        tell(opposite(0));
        hear(opposite(0));
    }
    down(0);
}

static double batch(void (*call)(int root), int count)
{
    double begun;
    barrier();
    begun = bench_now();
    for (int i = 0; i < count; i++)
        call(i % all);
    barrier();
    return bench_now() - begun;
}

static int count_for(void (*call)(int root), double seconds)
{
    for (int count = 16;;) {
        double t = batch(call, count);
        if (me == 0)
            atomic_store(&shared->counts,
                         t >= seconds / 2 || count >= 1 << 22 ? -count : 2 * count);
        barrier();
        count = atomic_load(&shared->counts);
        if (count < 0)
            return -count;
    }
}

static void measure(const char *name, void (*call)(int root), double seconds)
{
    double v[BENCH_BATCHES];
    int count = count_for(call, seconds);
    for (int b = 0; b < BENCH_BATCHES; b++)
        v[b] = batch(call, count) / count;
    if (me == 0)
        bench_report(name, 8, bench_median(v, BENCH_BATCHES));
}

int main(int argc, char **argv)
{
    const char *ops = bench_argument(argc, argv, "ops", "bcast,reduce,allreduce");
    double seconds = 1e-3 * atof(bench_argument(argc, argv, "ms", "30"));
    bool failed = false;
    int status;

    all = atoi(bench_argument(argc, argv, "procs", "8"));
    if (all < 2 || all > MOST || all % 2 != 0) {
        fprintf(stderr, "floor_coll: procs=%d: an even number from 2 to %d\n", all, MOST);
        return 2;
    }
    half = all / 2;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        perror("floor_coll: mmap");
        return 1;
    }
    for (int i = 1; i < all && me == 0; i++) {
        pid_t child = fork();
        if (child < 0) {
            perror("floor_coll: fork");
            return 1; /* and with us those that are there already */
        }
        if (child == 0) {
            me = i;
            prctl(PR_SET_PDEATHSIG, SIGKILL);
        }
    }
    bench_pin(me % (int)sysconf(_SC_NPROCESSORS_ONLN));
    if (bench_listed(ops, "bcast"))
        measure("bcast", op_bcast, seconds);
    if (bench_listed(ops, "reduce"))
        measure("reduce", op_reduce, seconds);
    if (bench_listed(ops, "allreduce"))
        measure("allreduce", op_allreduce, seconds);
    if (me != 0)
        return 0;
    while (wait(&status) > 0)
        failed |= status != 0;
    return failed;
}
