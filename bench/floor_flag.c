/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How far apart are two processors? Two threads hand a word to and fro: the time of one way, the
 * least of some batches, for other load only makes it longer.
 *   floor_flag CPU0 CPU1
 */
#include <pthread.h>
#include <stdatomic.h>

#include "common.h"

enum { TURNS = 20000 };

static _Alignas(128) _Atomic int flag;
static int cpus[2];

static double seconds;

/* Each waits for its turn and hands the next one over. Time counts from the second turn on: then
 * both are there. */
static void *side(void *arg)
{
    int me = *(const int *)arg;
    double began = 0;
    bench_pin(cpus[me]);
    for (int turn = me; turn < TURNS; turn += 2) {
        while (atomic_load_explicit(&flag, memory_order_acquire) != turn) {
        }
        if (turn == 2)
            began = bench_now();
        atomic_store_explicit(&flag, turn + 1, memory_order_release);
    }
    if (me == 0)
        seconds = (bench_now() - began) / (TURNS - 2);
    return NULL;
}

int main(int argc, char **argv)
{
    static int number[2] = {0, 1};
    double least = 1;
    pthread_t other;
    if (argc != 3) {
        fprintf(stderr, "usage: floor_flag CPU0 CPU1\n");
        return 2;
    }
    for (int i = 0; i < 2; i++)
        cpus[i] = atoi(argv[1 + i]);
    for (int b = 0; b < BENCH_BATCHES; b++) {
        atomic_store(&flag, 0);
        if (pthread_create(&other, NULL, side, &number[1]) != 0) {
            perror("floor_flag: pthread_create");
            return 1;
        }
        side(&number[0]);
        pthread_join(other, NULL);
        least = seconds < least ? seconds : least;
    }
    bench_report("flag", sizeof flag, least);
    return 0;
}
