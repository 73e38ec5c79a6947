/* SPDX-License-Identifier: BSD-3-Clause */
#include "step.h"

#include <stdlib.h>

#include "finish.h"
#include "report.h"

enum { MOST_ACTS = 6, MOST_PENDING = 600, BUFFER = 2 << 20, KEEP_FREE = 4 };

size_t largest = 4 << 20;

static struct act acts[MOST_ACTS];
static int nacts;
static struct pending pending[MOST_PENDING];
static int npending;

void act_started(struct act *a, MPI_Request *request, int index, bool keeps)
{
    pending[npending++] = (struct pending){request, a, index, keeps};
}

static const struct trade *some_trade(struct dice *d)
{
    int x = below(d, 100);
    return x < 30   ? &trade_messages
           : x < 40 ? &trade_shift
           : x < 85 ? &trade_collective
                    : &trade_make;
}

/* Everything that all processes must know: chosen by all, for all. */
static void plan_all(uint64_t key, bool traffic)
{
    struct dice d = dice_of(key);
    int wanted = 1 + below(&d, MOST_ACTS);

    nacts = 0;
    for (int i = 0; i < MOST_CHANNELS; i++)
        channels[i].traffic = false;
    for (int i = 0; i < wanted; i++) {
        struct act *a = &acts[nacts];
        *a = (struct act){.key = key_of(key, (uint64_t)i + 1)};
        struct dice own = dice_of(a->key);
        a->trade = some_trade(&own);
        a->mine = dice_of(key_of(a->key, (uint64_t)world_rank + 1000));
        here.act = i;
        if ((traffic || a->trade == &trade_make) && a->trade->plan(a, &own)) {
            a->member = a->c->mine >= 0;
            nacts++;
        }
    }
}

static void run_all(struct dice *mine)
{
    bool again;

    for (int i = 0; i < nacts; i++) {
        here.act = i;
        note("starts %s", acts[i].trade->name);
        if (acts[i].member)
            acts[i].trade->start(&acts[i]);
    }
    do {
        again = false;
        finish_all(pending, npending, mine);
        npending = 0;
        for (int i = 0; i < nacts; i++) {
            here.act = i;
            note("ends %s", acts[i].trade->name);
            if (acts[i].member && !acts[i].over)
                acts[i].over = !acts[i].trade->end(&acts[i]);
            again |= acts[i].member && !acts[i].over;
        }
    } while (again);
}

/* Free some communicators when few places are left; the world stays. */
static void make_room(struct dice *d)
{
    int order[MOST_CHANNELS];

    shuffled(d, order, MOST_CHANNELS);
    for (int i = 0; i < MOST_CHANNELS && channels_free() < KEEP_FREE; i++)
        if (order[i] != 0 && channels[order[i]].used)
            channel_drop(&channels[order[i]]);
}

void step_run(uint64_t key, bool traffic)
{
    struct dice mine = dice_of(key_of(key, (uint64_t)world_rank + 2000)),
                d = dice_of(key_of(key, 7));
    static char buffer[BUFFER];
    void *at;
    int size;

    plan_all(key, traffic);
    MPI_Buffer_attach(buffer, BUFFER);
    run_all(&mine);
    here.act = -1;
    note("detaches, and meets the others");
    MPI_Buffer_detach((void *)&at, &size);
    if (at != buffer || size != BUFFER)
        wrong("another buffer was detached than attached");
    for (int i = 0; i < nacts; i++)
        if (acts[i].barrier && acts[i].c->mine >= 0)
            MPI_Barrier(acts[i].c->comm);
    for (int i = 0; i < nacts; i++)
        acts[i].trade->forget(&acts[i]);
    for (int i = 0; i < MOST_CHANNELS; i++)
        channels[i].born = false;
    note("frees communicators");
    make_room(&d);
}
