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

/* Blocks by rank in the provider, whose order of the members may be another one. */
static struct waitio_inside_blocks blocks_of(struct wio_schedule *s, const struct wio_area *a)
{
    struct waitio_inside_blocks b = {.unit = a->unit};
    size_t *len;
    int64_t *at;
    bool same = a->len == NULL;

    for (int i = 0; same && i < s->size; i++)
        same = s->inside->place[i] == i;
    if (same)
        return b;
    len = wio_schedule_scratch(s, (size_t)s->size * sizeof *len);
    at = wio_schedule_scratch(s, (size_t)s->size * sizeof *at);
    for (int i = 0; s->error == 0 && i < s->size; i++) {
        int place = s->inside->place[i];
        len[place] = wio_area_len(a, i);
        at[place] = wio_area_at(a, i) - a->base;
    }
    b.len = len;
    b.at = at;
    return b;
}

static void areas(struct wio_schedule *s, const struct wio_collective *c,
                  struct waitio_inside_call *call)
{
    bool root = s->rank == c->root;

    if (c->kind == WIO_ALLTOALL || (c->kind == WIO_SCATTER && root)) {
        call->in = c->ins.base;
        call->ins = blocks_of(s, &c->ins);
    }
    if (c->kind == WIO_REDUCE_SCATTER)
        call->ins = blocks_of(s, &c->ins);
    if (c->kind == WIO_ALLTOALL || c->kind == WIO_ALLGATHER || (c->kind == WIO_GATHER && root)) {
        call->out = c->outs.base;
        call->outs = blocks_of(s, &c->outs);
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
    if (s->fold.type != NULL) {
        call->type = s->fold.type->id;
        call->op = c->op;
    }
    areas(s, c, call);
    wio_schedule_round(s);
}
