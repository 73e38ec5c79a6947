/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Does the place of a buffer within its page matter? Ping-pong between universe ranks 0 and 1 for
 * every pair of offsets of the sending and the receiving buffer.
 *   bench_offsets [CPU] [SCALE] [MAX]      with the usual WAITIO_* variables
 * Gives for each size the best and the worst half round trip, and where the worst was
 * (bench/run.py --offsets). All pairs are gone through several times, and each has the median of
 * its times: what slows down the machine for a while meets different pairs each time, a cliff
 * always the same.
 */
#include <waitio.h>

#include "common.h"

static const size_t offsets[] = {0,    4,    8,    16,   24,   32,   40,   48,
                                 56,   64,   80,   128,  192,  256,  512,  1024,
                                 1040, 1536, 2048, 2064, 3072, 4000, 4080, 4095};
enum { OFFSETS = sizeof offsets / sizeof offsets[0], PASSES = 11 };
static int passes = PASSES;

static const struct {
    size_t bytes;
    int trips;
} sizes[] = {{65536, 100}, {1048576, 20}, {8388608, 6}};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

struct side {
    waitio_group_t all;
    int me;
    char *from, *to;
};

static void must(int rc)
{
    if (rc != 0)
        exit(1); /* the library has printed why */
}

static void give(const struct side *s, const char *buf, size_t bytes)
{
    waitio_req_t r;
    must(waitio_isend(s->all, 1 - s->me, buf, bytes, 0, &r));
    must(waitio_wait(&r));
}

static void take(const struct side *s, char *buf, size_t bytes)
{
    waitio_req_t r;
    must(waitio_irecv(s->all, 1 - s->me, buf, bytes, 0, &r));
    must(waitio_wait(&r));
}

/* Half round trip. Both sides call it; only rank 0's result means something. */
static double one(const struct side *s, size_t from, size_t to, size_t bytes, int trips)
{
    double t = bench_now();
    for (int i = 0; i < trips; i++) {
        if (s->me == 0)
            give(s, s->from + from, bytes);
        take(s, s->to + to, bytes);
        if (s->me == 1)
            give(s, s->from + from, bytes);
    }
    return (bench_now() - t) / trips / 2;
}

static void sweep(const struct side *s, size_t bytes, int trips)
{
    static double v[OFFSETS][OFFSETS][PASSES];
    double best = 1e9, worst = 0;
    size_t at_from = 0, at_to = 0;
    (void)one(s, 0, 0, bytes, trips); /* links, caches */
    for (int pass = 0; pass < passes; pass++)
        for (int f = 0; f < OFFSETS; f++)
            for (int t = 0; t < OFFSETS; t++)
                v[f][t][pass] = one(s, offsets[f], offsets[t], bytes, trips);
    for (int f = 0; f < OFFSETS; f++) {
        for (int t = 0; t < OFFSETS; t++) {
            double median = bench_median(v[f][t], passes);
            best = median < best ? median : best;
            if (median > worst) {
                worst = median;
                at_from = offsets[f];
                at_to = offsets[t];
            }
        }
    }
    if (s->me == 0)
        printf("{\"bytes\": %zu, \"best\": %.9g, \"worst\": %.9g, \"from\": %zu, \"to\": %zu}\n",
               bytes, best, worst, at_from, at_to);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct side s = {0};
    int scale = argc > 2 ? atoi(argv[2]) : 1;
    size_t max = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    passes = PASSES / scale > 1 ? PASSES / scale : 1;
    bench_pin(argc > 1 ? atoi(argv[1]) : -1);
    must(waitio_init(60));
    must(waitio_universe_rank(&s.me));
    must(waitio_group_universe(0, &s.all));
    s.from = bench_pages(sizes[SIZES - 1].bytes + 4096);
    s.to = bench_pages(sizes[SIZES - 1].bytes + 4096);
    for (int i = 0; i < SIZES && bench_wanted(sizes[i].bytes, max); i++)
        sweep(&s, sizes[i].bytes, sizes[i].trips / scale > 1 ? sizes[i].trips / scale : 1);
    return waitio_finalize() != 0;
}
