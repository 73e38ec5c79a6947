/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives between two groups. Schedules are written for the members of both, one group behind
 * the other. Where a part is a collective of one group, its algorithm gets that group as its team.
 * Trees begin at place 0 of a team, so operands stay in rank order.
 */
#include "mpi/collectives/collectives.h"

/* A team of so many consecutive members, with one more in front when @p front >= 0. */
static struct wio_team team_of(struct wio_schedule *s, int front, int first, int size)
{
    int extra = front >= 0;
    int *map = wio_schedule_scratch(s, ((size_t)size + 1) * sizeof *map);
    struct wio_team team = {
        .rank = s->rank == front ? 0 : s->rank - first + extra, .size = size + extra, .map = map};

    if (s->error != 0) /* nothing may be written to */
        return (struct wio_team){0, 1, NULL};
    if (extra)
        map[0] = front;
    for (int i = 0; i < size; i++)
        map[i + extra] = first + i;
    return team;
}

/* Write an algorithm for a team, from or to its place 0. */
static void within(struct wio_schedule *s, struct wio_team team, wio_algorithm_fn algorithm,
                   struct wio_collective c)
{
    struct wio_team all = wio_schedule_team(s, team);

    c.root = 0;
    algorithm(s, &c);
    wio_schedule_team(s, all);
    wio_schedule_round(s);
}

static struct wio_team near_team(struct wio_schedule *s, const struct wio_inter *i)
{
    return team_of(s, -1, i->first, i->size);
}

/* The root and the far group are one tree. */
static void bcast(struct wio_schedule *s, const struct wio_collective *c)
{
    const struct wio_inter *i = c->inter;

    if (c->root == WAITIO_MPI_ROOT)
        within(s, team_of(s, s->rank, i->far_first, i->far_size), wio_bcast_binomial, *c);
    else
        within(s, team_of(s, i->far_first + c->root, i->first, i->size), wio_bcast_binomial, *c);
}

/* The reduction of the own group, at its first member. @return its address there */
static char *group_sum(struct wio_schedule *s, const struct wio_collective *c, size_t bytes)
{
    struct wio_collective part = *c;

    part.bytes = bytes;
    part.out = s->rank == c->inter->first ? wio_schedule_scratch(s, bytes) : NULL;
    within(s, near_team(s, c->inter), wio_reduce_binomial, part);
    return part.out;
}

static void reduce(struct wio_schedule *s, const struct wio_collective *c)
{
    const struct wio_inter *i = c->inter;

    if (c->root == WAITIO_MPI_ROOT) {
        wio_schedule_recv(s, i->far_first, c->out, c->bytes);
        return;
    }
    const char *sum = group_sum(s, c, c->bytes);
    if (s->rank == i->first)
        wio_schedule_send(s, i->far_first + c->root, sum, c->bytes);
}

/* The first members of both groups exchange their groups' sums. */
static void exchange_sums(struct wio_schedule *s, const struct wio_collective *c, char *theirs,
                          size_t bytes)
{
    const struct wio_inter *i = c->inter;
    const char *sum = group_sum(s, c, bytes);

    if (s->rank == i->first) {
        wio_schedule_recv(s, i->far_first, theirs, bytes);
        wio_schedule_send(s, i->far_first, sum, bytes);
    }
    wio_schedule_round(s);
}

static void allreduce(struct wio_schedule *s, const struct wio_collective *c)
{
    exchange_sums(s, c, c->out, c->bytes);
    within(s, near_team(s, c->inter), wio_bcast_binomial, *c);
}

/* ins: lengths and offsets of the own group's parts in the far group's result. */
static void reduce_scatter(struct wio_schedule *s, const struct wio_collective *c)
{
    const struct wio_inter *i = c->inter;
    size_t total = c->count * s->fold.type->size;
    char *theirs = s->rank == i->first ? wio_schedule_scratch(s, total) : NULL;

    exchange_sums(s, c, theirs, total);
    if (s->rank != i->first) {
        wio_schedule_recv(s, i->first, c->out, c->bytes);
        return;
    }
    for (int k = 1; s->error == 0 && k < i->size; k++)
        wio_schedule_send(s, i->first + k, theirs + c->ins.at[k], c->ins.len[k]);
    if (s->error == 0)
        wio_schedule_copy(s, theirs, c->out, c->ins.len[0]);
}

/* A block of each far member for me. */
static void from_all(struct wio_schedule *s, const struct wio_collective *c)
{
    for (int k = 0; k < c->inter->far_size; k++)
        wio_schedule_recv(s, c->inter->far_first + k, wio_area_at(&c->outs, k),
                          wio_area_len(&c->outs, k));
}

/* A block for each far member: of its own, or the one for all. */
static void to_all(struct wio_schedule *s, const struct wio_collective *c, bool every)
{
    for (int k = 0; k < c->inter->far_size; k++)
        wio_schedule_send(s, c->inter->far_first + k, every ? c->in : wio_area_at(&c->ins, k),
                          every ? c->bytes : wio_area_len(&c->ins, k));
}

static void moves(struct wio_schedule *s, const struct wio_collective *c,
                  enum wio_collective_kind kind)
{
    bool root = c->root == WAITIO_MPI_ROOT;
    int far_root = c->inter->far_first + c->root;

    if (kind == WIO_GATHER && !root)
        wio_schedule_send(s, far_root, c->in, c->bytes);
    else if (kind == WIO_SCATTER && !root)
        wio_schedule_recv(s, far_root, c->out, c->bytes);
    else if (kind == WIO_SCATTER)
        to_all(s, c, false);
    else
        from_all(s, c);
    if (kind == WIO_ALLGATHER || kind == WIO_ALLTOALL)
        to_all(s, c, kind == WIO_ALLGATHER);
}

void wio_inter_collective(struct wio_schedule *s, const struct wio_collective *c)
{
    if (c->root == WAITIO_MPI_PROC_NULL)
        return; /* in the root's group, not the root: no part */
    switch (c->kind) {
    case WIO_BARRIER:
        wio_barrier_dissemination(s, c);
        break;
    case WIO_BCAST:
        bcast(s, c);
        break;
    case WIO_REDUCE:
        reduce(s, c);
        break;
    case WIO_ALLREDUCE:
        allreduce(s, c);
        break;
    case WIO_REDUCE_SCATTER:
        reduce_scatter(s, c);
        break;
    default:
        moves(s, c, c->kind);
    }
    wio_schedule_round(s);
}
