/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What peers cost: every process exchanges with all others in the order of simple spread (step d:
 * send to rank + d, receive from rank - d), some rounds, then says what the library holds.
 *   bench_memory [ROUNDS [BYTES]]   in every process of a run (bench/memory.py starts them)
 * One JSON line per process: peers, bytes of links, bytes of shared memory made, rings read.
 */
#include <waitio.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void must(int rc)
{
    if (rc != 0)
        exit(1); /* the library has printed why */
}

static uint64_t count(const char *name)
{
    uint64_t v = 0;
    must(waitio_counter(name, &v));
    return v;
}

static void spread(waitio_group_t all, int me, int n, char *out, char *in, size_t bytes)
{
    for (int d = 1; d < n; d++)
        must(waitio_sendrecv(all, (me + d) % n, out, bytes, 1, (me - d + n) % n, in, bytes, 1,
                             NULL));
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 24, me = 0, n = 0;
    size_t bytes = argc > 2 ? (size_t)atol(argv[2]) : 1000;
    waitio_group_t all;
    must(waitio_init(100));
    must(waitio_group_universe(0, &all));
    must(waitio_group_rank(all, &me));
    must(waitio_group_size(all, &n));
    char *out = calloc(1, bytes + 1), *in = calloc(1, bytes + 1);
    if (out == NULL || in == NULL)
        return 1;
    for (int i = 0; i < rounds; i++)
        spread(all, me, n, out, in, bytes);
    for (int i = 0; i < 20; i++) { /* rings are made beside the traffic: let them become ready */
        usleep(2000);
        spread(all, me, n, out, in, bytes);
    }
    printf("{\"rank\": %d, \"peers\": %d, \"links\": %llu, \"link_bytes\": %llu, "
           "\"shm_bytes\": %llu, \"rings\": %llu}\n",
           me, n - 1, (unsigned long long)count("links"), (unsigned long long)count("peer_bytes"),
           (unsigned long long)count("shm_bytes"), (unsigned long long)count("shm_rings"));
    fflush(stdout);
    spread(all, me, n, out, in, bytes); /* nobody leaves before everybody has looked */
    free(out);
    free(in);
    return waitio_finalize() != 0;
}
