/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-way throughput of long messages, for links over several devices: universe rank 0 sends, rank
 * 1 receives, one message after the other; the last is answered. bench_stripe BYTES COUNT   with
 * the usual WAITIO_* variables
 */
#include <waitio.h>

#include "common.h"

static void must(int rc)
{
    if (rc != 0)
        exit(1); /* the library has printed why */
}

/* Rank 0: all of them and the answer. @return seconds */
static double give(waitio_group_t all, char *buf, size_t bytes, int count)
{
    waitio_req_t r;
    double begun = bench_now();
    for (int i = 0; i < count; i++) {
        must(waitio_isend(all, 1, buf, bytes, 0, &r));
        must(waitio_wait(&r));
    }
    must(waitio_irecv(all, 1, buf, 1, 1, &r));
    must(waitio_wait(&r));
    return bench_now() - begun;
}

static void take(waitio_group_t all, char *buf, size_t bytes, int count)
{
    waitio_req_t r;
    for (int i = 0; i < count; i++) {
        must(waitio_irecv(all, 0, buf, bytes, 0, &r));
        must(waitio_wait(&r));
    }
    must(waitio_isend(all, 0, buf, 1, 1, &r));
    must(waitio_wait(&r));
}

int main(int argc, char **argv)
{
    size_t bytes = argc > 1 ? strtoull(argv[1], NULL, 10) : 1 << 26;
    int count = argc > 2 ? atoi(argv[2]) : 4, me = 0;
    waitio_group_t all;
    must(waitio_init(60));
    must(waitio_universe_rank(&me));
    must(waitio_group_universe(0, &all));
    char *buf = bench_buffer(bytes);
    for (int round = 0; round < 2; round++) { /* the first one opens the connections */
        int n = round == 0 ? 1 : count;
        if (me != 0)
            take(all, buf, bytes, n);
        else if (round == 0)
            give(all, buf, bytes, n);
        else
            bench_report("one_way", bytes, (double)bytes * n / give(all, buf, bytes, n));
    }
    return waitio_finalize() != 0;
}
