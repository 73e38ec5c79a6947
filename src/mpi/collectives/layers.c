/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Broadcast and reductions in two layers: inside every PB, and among one leader of each. With any
 * algorithm inside, data crosses the border between two PBs once in each direction.
 *
 * "pb" takes trees or pipelines by size. "2l" is the two-layer sequential form of the WaitIO
 * papers: leaders and members are served one after the other; cost (npb + p/npb) (alpha + n beta).
 */
#include "mpi/collectives/team.h"

enum { LONG = 256 * 1024 }; /* bytes from which bandwidth counts more than rounds */
/* Up to this many bytes waiting for the previous root costs more than the data: measured with roots
 * that take turns, 2 x 2 and 2 x 4 processes on two cores. */
enum { HANDED_ON = 32 * 1024 };
enum { FEW = 8 };

struct ways {
    wio_algorithm_fn bcast_inside, bcast_across, reduce_inside, reduce_across, allreduce_across;
};

static void allreduce_sequential(struct wio_schedule *s, const struct wio_collective *c)
{
    struct wio_collective part = *c;

    part.root = 0;
    wio_reduce_sequential(s, &part);
    wio_bcast_sequential(s, &part);
}

static const struct ways sequential = {wio_bcast_sequential, wio_bcast_sequential,
                                       wio_reduce_sequential, wio_reduce_sequential,
                                       allreduce_sequential};

/* Few processes are served directly: in a tree some of them would wait for others to run. */
static void bcast_short(struct wio_schedule *s, const struct wio_collective *c)
{
    (s->size <= FEW ? wio_bcast_linear : wio_bcast_binomial)(s, c);
}

static void reduce_short(struct wio_schedule *s, const struct wio_collective *c)
{
    (s->size <= FEW ? wio_reduce_linear : wio_reduce_binomial)(s, c);
}

static const struct ways trees = {bcast_short, bcast_short, reduce_short, reduce_short,
                                  wio_allreduce_doubling};
/* Long messages: pipelines inside; across, nothing is sent twice. */
static const struct ways pipes = {wio_bcast_chain, wio_bcast_binomial, wio_reduce_chain,
                                  wio_reduce_binomial, wio_allreduce_rabenseifner};

static void in_team(struct wio_schedule *s, struct wio_team team, int root,
                    wio_algorithm_fn algorithm, struct wio_collective c)
{
    struct wio_team all;

    if (team.rank < 0 || s->error != 0)
        return;
    all = wio_schedule_team(s, team);
    c.root = root;
    algorithm(s, &c);
    wio_schedule_team(s, all);
}

static void bcast(struct wio_schedule *s, const struct wio_collective *c, const struct ways *w)
{
    struct wio_layers l = wio_layers(s, c->root, WIO_LEAD_FIRST);

    in_team(s, l.leaders, l.leaders_root, w->bcast_across, *c);
    in_team(s, l.inside, l.inside_root, w->bcast_inside, *c);
}

/* Inside the own PB to its leader. @return the buffer that the leaders continue with */
static struct wio_collective gather_inside(struct wio_schedule *s, const struct wio_collective *c,
                                           const struct wio_layers *l, void *room,
                                           wio_algorithm_fn reduce)
{
    struct wio_collective part = *c;

    if (l->inside.size > 1) {
        part.out = room;
        in_team(s, l->inside, l->inside_root, reduce, part);
        part.in = room;
        part.out = c->out;
    }
    return part;
}

static void reduce(struct wio_schedule *s, const struct wio_collective *c, const struct ways *w,
                   enum wio_lead lead)
{
    struct wio_layers l = wio_layers(s, c->root, lead);
    bool leads = l.leaders.rank >= 0;
    void *room = s->rank == c->root ? c->out : leads ? wio_schedule_scratch(s, c->bytes) : NULL;
    struct wio_collective part = gather_inside(s, c, &l, room, w->reduce_inside);

    in_team(s, l.leaders, l.leaders_root, w->reduce_across, part);
}

static void allreduce(struct wio_schedule *s, const struct wio_collective *c, const struct ways *w)
{
    struct wio_layers l = wio_layers(s, 0, WIO_LEAD_FIRST);
    struct wio_collective part = gather_inside(s, c, &l, c->out, w->reduce_inside);

    in_team(s, l.leaders, 0, w->allreduce_across, part);
    if (l.inside.size > 1)
        in_team(s, l.inside, l.inside_root, w->bcast_inside, *c);
}

/* The root serves the other leaders and its own PB at once, every leader its PB as soon as it can:
 * where receivers copy from the sender's memory, all copy at the same time and none waits for
 * another to run. Cost (alpha + n beta) p / processors, two steps deep. */
void wio_bcast_direct(struct wio_schedule *s, const struct wio_collective *c)
{
    struct wio_layers l = wio_layers(s, c->root, WIO_LEAD_FIRST);
    bool leads = l.leaders.rank >= 0;

    if (s->error != 0)
        return;
    if (s->rank != c->root)
        wio_schedule_recv(s, leads ? c->root : l.inside.map[l.inside_root], c->out, c->bytes);
    wio_schedule_round(s);
    for (int i = 0; s->rank == c->root && i < l.leaders.size; i++)
        if (l.leaders.map[i] != s->rank)
            wio_schedule_send(s, l.leaders.map[i], c->out, c->bytes);
    for (int i = 0; leads && i < l.inside.size; i++)
        if (l.inside.map[i] != s->rank)
            wio_schedule_send(s, l.inside.map[i], c->out, c->bytes);
    wio_schedule_round(s);
}

void wio_bcast_2l(struct wio_schedule *s, const struct wio_collective *c)
{
    bcast(s, c, &sequential);
}

void wio_reduce_2l(struct wio_schedule *s, const struct wio_collective *c)
{
    reduce(s, c, &sequential, WIO_LEAD_FIRST);
}

void wio_allreduce_2l(struct wio_schedule *s, const struct wio_collective *c)
{
    allreduce(s, c, &sequential);
}

void wio_bcast_pb(struct wio_schedule *s, const struct wio_collective *c)
{
    bcast(s, c, c->bytes >= LONG ? &pipes : &trees);
}

void wio_reduce_pb(struct wio_schedule *s, const struct wio_collective *c)
{
    enum wio_lead lead = c->bytes <= HANDED_ON ? WIO_LEAD_BEFORE : WIO_LEAD_FIRST;

    reduce(s, c, c->bytes >= LONG ? &pipes : &trees, lead);
}

void wio_allreduce_pb(struct wio_schedule *s, const struct wio_collective *c)
{
    /* Pipelines and halving need operators that commute. */
    allreduce(s, c, c->bytes < LONG || !s->fold.commutative ? &trees : &pipes);
}
