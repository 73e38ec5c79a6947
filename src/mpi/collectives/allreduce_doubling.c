/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Allreduce by recursive doubling (Thakur, Rabenseifner, Gropp: Optimization of Collective
 * Communication Operations in MPICH, 2005). Cost ceil(log2 p) (alpha + n beta + n gamma), two more
 * messages when p is no power of two. Both partners fold lower ranks on the left, so every process
 * ends with the same bits, and the order is kept for operators that are not commutative.
 */
#include "mpi/collectives/collectives.h"

/* The first 2 * extra ranks work in pairs: the even one hands its data to the odd one and waits. */
struct shape {
    int power; /* largest power of two <= size */
    int extra; /* size - power */
};

static int real_rank(const struct shape *shape, int number)
{
    return number < shape->extra ? 2 * number + 1 : number + shape->extra;
}

void wio_allreduce_doubling(struct wio_schedule *s, const struct wio_collective *c)
{
    struct shape shape = {.power = 1};
    bool paired, waits;
    int number;
    const void *mine = c->in;
    void *theirs;

    while (shape.power <= s->size / 2)
        shape.power *= 2;
    shape.extra = s->size - shape.power;
    paired = s->rank < 2 * shape.extra;
    waits = paired && s->rank % 2 == 0;
    if (waits) {
        wio_schedule_send(s, s->rank + 1, mine, c->bytes);
        wio_schedule_round(s);
        wio_schedule_recv(s, s->rank + 1, c->out, c->bytes);
        wio_schedule_round(s);
        return;
    }
    theirs = wio_schedule_scratch(s, c->bytes);
    if (paired) {
        wio_schedule_recv(s, s->rank - 1, theirs, c->bytes);
        wio_schedule_fold(s, theirs, mine, c->out, c->count);
        wio_schedule_round(s);
        mine = c->out;
    }
    number = paired ? s->rank / 2 : s->rank - shape.extra;
    for (int bit = 1; bit < shape.power; bit *= 2) {
        int partner = real_rank(&shape, number ^ bit);
        bool lower = (number & bit) == 0;
        wio_schedule_send(s, partner, mine, c->bytes);
        wio_schedule_recv(s, partner, theirs, c->bytes);
        wio_schedule_fold(s, lower ? mine : theirs, lower ? theirs : mine, c->out, c->count);
        wio_schedule_round(s);
        mine = c->out;
    }
    if (paired)
        wio_schedule_send(s, s->rank - 1, c->out, c->bytes);
    else if (s->size == 1)
        wio_schedule_copy(s, c->in, c->out, c->bytes);
    wio_schedule_round(s);
}
