/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives of a hybrid communicator that lies in one PB: its provider does all of it. */
#include "mpi/collectives/hybrid.h"

#include "mpi/inside.h"

static const enum waitio_inside_kind kinds[] = {
    [WIO_BARRIER] = WAITIO_INSIDE_BARRIER,
    [WIO_BCAST] = WAITIO_INSIDE_BCAST,
    [WIO_REDUCE] = WAITIO_INSIDE_REDUCE,
    [WIO_ALLREDUCE] = WAITIO_INSIDE_ALLREDUCE,
    [WIO_REDUCE_SCATTER] = WAITIO_INSIDE_REDUCE_SCATTER,
    [WIO_SCAN] = WAITIO_INSIDE_SCAN,
    [WIO_EXSCAN] = WAITIO_INSIDE_EXSCAN,
    [WIO_GATHER] = WAITIO_INSIDE_GATHER,
    [WIO_SCATTER] = WAITIO_INSIDE_SCATTER,
    [WIO_ALLGATHER] = WAITIO_INSIDE_ALLGATHER,
    [WIO_ALLTOALL] = WAITIO_INSIDE_ALLTOALL,
};

/* The provider numbers the members as the communicator does. */
static struct waitio_inside_blocks blocks_of(const struct wio_area *a)
{
    return (struct waitio_inside_blocks){.len = a->len, .at = a->at, .unit = a->unit};
}

/* In place the own block lies where it belongs; providers know that by equal buffers. */
static void mark_in_place(struct wio_schedule *s, const struct wio_collective *c,
                          struct waitio_inside_call *call)
{
    bool gathers = c->kind == WIO_ALLGATHER || (c->kind == WIO_GATHER && s->rank == c->root);

    if (gathers && c->in == wio_area_at(&c->outs, s->rank))
        call->in = call->out;
    if (c->kind == WIO_SCATTER && s->rank == c->root && c->out == wio_area_at(&c->ins, s->rank))
        call->out = (void *)(uintptr_t)call->in;
}

/* Equal buffers mean in place to a provider. A member of an exchange that has no data at all may
 * give none, twice. */
static void mark_apart(struct wio_schedule *s, const struct wio_collective *c,
                       struct waitio_inside_call *call)
{
    if (c->kind == WIO_ALLTOALL && call->in == call->out)
        call->in = wio_schedule_scratch(s, 1);
}

static void areas(struct wio_schedule *s, const struct wio_collective *c,
                  struct waitio_inside_call *call)
{
    bool root = s->rank == c->root;

    if (c->kind == WIO_ALLTOALL || (c->kind == WIO_SCATTER && root)) {
        call->in = c->ins.base;
        call->ins = blocks_of(&c->ins);
    }
    if (c->kind == WIO_REDUCE_SCATTER)
        call->ins = blocks_of(&c->ins);
    if (c->kind == WIO_ALLTOALL || c->kind == WIO_ALLGATHER || (c->kind == WIO_GATHER && root)) {
        call->out = c->outs.base;
        call->outs = blocks_of(&c->outs);
    }
}

void wio_hybrid_alone(struct wio_schedule *s, const struct wio_collective *c)
{
    struct waitio_inside_call *call = wio_hybrid_step(s, kinds[c->kind], c->root);

    if (call == NULL)
        return;
    call->in = c->in;
    call->out = c->out;
    call->bytes = c->bytes;
    call->count = c->count;
    if (s->fold.type != NULL)
        wio_hybrid_operator(s, c, call);
    areas(s, c, call);
    mark_in_place(s, c, call);
    mark_apart(s, c, call);
    wio_schedule_round(s);
}
