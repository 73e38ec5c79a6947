/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time of collective operations. One source for both sides of the comparison: built as it is for
 * the conversion library, with -DBENCH_MPI for an MPI (bench/coll.py does that), with
 * -DBENCH_HYBRID for hybrid communicators (bench/hybrid.py). bench_coll [ops=bcast,reduce,...]
 * [sizes=8,256,...] [ms=30] [pin=1] [root=turn|0] [apart=0] bytes: of the whole message of bcast,
 * reduce, allreduce; of one block of the others.
 *
 * A batch is as many operations one behind the other as take so many milliseconds, between two
 * barriers; the median of the batches counts. Roots take turns (root=turn), so that every operation
 * needs the one before; with a fixed root a broadcast would show how fast messages can be sent.
 * apart=1: as the OSU benchmarks do it, a barrier behind every operation, of which only the
 * operation counts, averaged over the processes.
 */
#ifdef BENCH_HYBRID
#include <waitio_hybrid.h>
#define MPI(NAME) WAITIO_MPI_##NAME
#else
#ifdef BENCH_MPI
#include <mpi.h>
#else
#include <waitio_mpi_rename.h>
#endif
#define MPI(NAME) MPI_##NAME
#endif

#include "common.h"

static MPI(Comm) world;
static int me, all, turning = 1, apart;
static size_t room;
static double *sbuf, *rbuf;

static void op_barrier(int n, int root)
{
    (void)n;
    (void)root;
    MPI(Barrier)(world);
}

static void op_bcast(int n, int root)
{
    MPI(Bcast)(sbuf, n, MPI(DOUBLE), root, world);
}

static void op_reduce(int n, int root)
{
    MPI(Reduce)(sbuf, rbuf, n, MPI(DOUBLE), MPI(SUM), root, world);
}

static void op_allreduce(int n, int root)
{
    (void)root;
    MPI(Allreduce)(sbuf, rbuf, n, MPI(DOUBLE), MPI(SUM), world);
}

static void op_allgather(int n, int root)
{
    (void)root;
    MPI(Allgather)(sbuf, n, MPI(DOUBLE), rbuf, n, MPI(DOUBLE), world);
}

static void op_gather(int n, int root)
{
    MPI(Gather)(sbuf, n, MPI(DOUBLE), rbuf, n, MPI(DOUBLE), root, world);
}

static void op_scatter(int n, int root)
{
    MPI(Scatter)(sbuf, n, MPI(DOUBLE), rbuf, n, MPI(DOUBLE), root, world);
}

static void op_alltoall(int n, int root)
{
    (void)root;
    MPI(Alltoall)(sbuf, n, MPI(DOUBLE), rbuf, n, MPI(DOUBLE), world);
}

static void send(int n, int to)
{
    MPI(Send)(sbuf, n, MPI(DOUBLE), to, 1, world);
}

static void receive(int n, int from)
{
    MPI(Recv)(rbuf, n, MPI(DOUBLE), from, 1, world, MPI(STATUS_IGNORE));
}

/* No collectives. What programs with a master do: everybody sends it a message and gets one. */
static void op_hub(int n, int root)
{
    if (me != root) {
        send(n, root);
        receive(n, root);
        return;
    }
    for (int i = 1; i < all; i++)
        receive(n, (root + i) % all);
    for (int i = 1; i < all; i++)
        send(n, (root + i) % all);
}

/* A round trip between the first two. */
static void op_pingpong(int n, int root)
{
    (void)root;
    if (me == 0)
        send(n, 1);
    if (me < 2)
        receive(n, 1 - me);
    if (me == 1)
        send(n, 0);
}

/** many: a buffer holds a block per process. */
static const struct operation {
    const char *name;
    void (*call)(int n, int root);
    int many;
} operations[] = {
    {"barrier", op_barrier, 0},     {"bcast", op_bcast, 0},         {"reduce", op_reduce, 0},
    {"allreduce", op_allreduce, 0}, {"allgather", op_allgather, 1}, {"gather", op_gather, 1},
    {"scatter", op_scatter, 1},     {"alltoall", op_alltoall, 1},   {"hub", op_hub, 0},
    {"pingpong", op_pingpong, 0},
};
enum { OPERATIONS = sizeof operations / sizeof operations[0] };

/** Seconds for @p count operations, all of them complete everywhere. */
static double batch(const struct operation *o, int n, int count)
{
    double begun;
    MPI(Barrier)(world);
    begun = bench_now();
    for (int i = 0; i < count; i++)
        o->call(n, turning ? i % all : 0);
    MPI(Barrier)(world);
    return bench_now() - begun;
}

/** The same with a barrier behind each, which does not count; mean of the processes. */
static double batch_apart(const struct operation *o, int n, int count)
{
    double sum = 0, mean;
    MPI(Barrier)(world);
    for (int i = 0; i < count; i++) {
        double begun = bench_now();
        o->call(n, turning ? i % all : 0);
        sum += bench_now() - begun;
        MPI(Barrier)(world);
    }
    MPI(Allreduce)(&sum, &mean, 1, MPI(DOUBLE), MPI(SUM), world);
    return mean / all;
}

/** Operations that fill the time of a batch, the same on all processes. */
static int count_for(const struct operation *o, int n, double seconds)
{
    int count = 2, next;
    for (;;) {
        double t = batch(o, n, count);
        double want = t > 0 ? count * seconds / t : 10.0 * count;
        next = want > 1e6 ? 1000000 : want < 2 ? 2 : (int)want;
        if (t < seconds / 4)
            next = next > 8 * count ? 8 * count : next;
        MPI(Bcast)(&next, 1, MPI(INT), 0, world);
        if (next <= count * 2)
            return next;
        count = next;
    }
}

static void measure(const struct operation *o, size_t bytes, double seconds)
{
    double v[BENCH_BATCHES];
    int n = (int)(bytes / sizeof *sbuf), count = count_for(o, n, seconds);
    for (int b = 0; b < BENCH_BATCHES; b++)
        v[b] = (apart ? batch_apart : batch)(o, n, count) / count;
    if (me == 0)
        bench_report(o->name, bytes, bench_median(v, BENCH_BATCHES));
}

static size_t largest(const char *sizes)
{
    size_t most = 0;
    for (const char *at = sizes; *at != '\0'; at += strcspn(at, ","), at += *at == ',') {
        size_t n = strtoull(at, NULL, 10);
        most = n > most ? n : most;
    }
    return most;
}

static void measure_all(const struct operation *o, const char *sizes, double seconds)
{
    if (o->call == op_barrier) {
        measure(o, 0, seconds);
        return;
    }
    for (const char *at = sizes; *at != '\0'; at += strcspn(at, ","), at += *at == ',')
        measure(o, strtoull(at, NULL, 10), seconds);
}

int main(int argc, char **argv)
{
    const char *ops = bench_argument(argc, argv, "ops", "barrier,bcast,reduce,allreduce");
    const char *sizes = bench_argument(argc, argv, "sizes", "8,256,65536,8388608");
    double seconds = 1e-3 * atof(bench_argument(argc, argv, "ms", "30"));
    int blocks = 1;
    MPI_Init(&argc, &argv);
#ifdef BENCH_HYBRID
    if (waitio_hybrid_create_world(&world) != 0)
        return 1;
#else
    world = MPI_COMM_WORLD;
#endif
    MPI(Comm_rank)(world, &me);
    MPI(Comm_size)(world, &all);
    turning = strcmp(bench_argument(argc, argv, "root", "turn"), "turn") == 0;
    apart = atoi(bench_argument(argc, argv, "apart", "0"));
    if (atoi(bench_argument(argc, argv, "pin", "1")) != 0)
        bench_pin(me % (int)sysconf(_SC_NPROCESSORS_ONLN));
    for (int i = 0; i < OPERATIONS; i++)
        if (operations[i].many && bench_listed(ops, operations[i].name))
            blocks = all;
    room = (largest(sizes) + sizeof *sbuf) * (size_t)blocks;
    sbuf = bench_buffer(room);
    rbuf = bench_buffer(room);
    for (size_t i = 0; i < room / sizeof *sbuf; i++)
        sbuf[i] = 1.0;
    for (int i = 0; i < OPERATIONS; i++)
        if (bench_listed(ops, operations[i].name))
            measure_all(&operations[i], sizes, seconds);
#ifdef BENCH_HYBRID
    MPI(Comm_free)(&world);
    waitio_finalize();
#endif
    MPI_Finalize();
    return 0;
}
