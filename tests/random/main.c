/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * random: legal MPI programs by chance. From a seed every process derives the same plan - which
 * communicators there are, which messages and collectives - and knows by a model what every byte
 * of every buffer must be afterwards. The same source runs under every MPI.
 *
 *   --seeds A:B   the seeds A to B - 1 (A alone: one)      --steps N   steps of each (default 12)
 *   --only A:B    traffic in the steps A to B - 1 only     --without N no traffic in step N
 *   --largest N   bytes of the longest messages            --trace DIR where each process always
 *   --verbose     say everything that begins                           says what it does
 *   --spoil N     make the Nth buffer of process 0 wrong, to see that it is found
 *   --vendor 2,3  processes of one MPI job each, where a vendor's MPI is in use: its known faults
 *                 are avoided inside a job
 *
 * Steps that are left out still make their communicators, so that the other steps stay the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "collective.h"
#include "report.h"
#include "step.h"

static struct {
    long first, end;
    int steps, only, only_end, without;
} options = {1, 2, 12, 0, 1 << 30, -1};

static void range(const char *text, long *first, long *end)
{
    const char *colon = strchr(text, ':');

    *first = strtol(text, NULL, 10);
    *end = colon != NULL ? strtol(colon + 1, NULL, 10) : *first + 1;
}

static int usage(const char *word)
{
    fprintf(stderr, "random: %s: see the head of tests/random/main.c\n", word);
    return 2;
}

static int parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        long first, end;
        if (strcmp(word, "--verbose") == 0) {
            verbose = true;
            continue;
        }
        i++;
        range(value, &first, &end);
        if (strcmp(word, "--seeds") == 0)
            options.first = first, options.end = end;
        else if (strcmp(word, "--steps") == 0)
            options.steps = (int)first;
        else if (strcmp(word, "--only") == 0)
            options.only = (int)first, options.only_end = (int)end;
        else if (strcmp(word, "--without") == 0)
            options.without = (int)first;
        else if (strcmp(word, "--largest") == 0)
            largest = (size_t)first;
        else if (strcmp(word, "--spoil") == 0)
            spoiled = world_rank == 0 ? (int)first : 0;
        else if (strcmp(word, "--vendor") == 0)
            channels_jobs(value);
        else if (strcmp(word, "--trace") == 0)
            trace_open(value);
        else
            return usage(word);
    }
    return 0;
}

static void run_seed(long seed, MPI_Comm world)
{
    uint64_t key = key_of((uint64_t)seed, 1);

    here.seed = (uint64_t)seed;
    here.step = here.act = -1;
    note("begins");
    channels_reset(world);
    for (int i = 0; i < options.steps; i++) {
        bool traffic = i >= options.only && i < options.only_end && i != options.without;
        here.step = i;
        step_run(key_of(key, (uint64_t)i), traffic);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm world = world_open();
    int all = 0, status;

    MPI_Comm_rank(world, &world_rank);
    MPI_Comm_size(world, &world_size);
    status = parse(argc, argv);
    if (status == 0 && world_size > MOST_PROCESSES)
        status = usage("more than 12 processes");
    folds_open();
    for (long seed = options.first; status == 0 && seed < options.end; seed++) {
        run_seed(seed, world);
        if (failures > 0) { /* all stop after the same seed */
            fprintf(stderr, "random: rank %d: %d failures in seed %ld\n", world_rank, failures,
                    seed);
        }
        MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, world);
        if (all > 0)
            break;
    }
    channels_reset(world);
    folds_close();
    note("finalizes");
    world_close();
    if (status == 0 && all == 0)
        printf("ok: rank %d: seeds %ld to %ld\n", world_rank, options.first, options.end - 1);
    return status != 0 ? status : all > 0;
}
