/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All collectives over the wire: random kinds, types, operators, roots, counts and communicators
 * (the universe, its duplicates, splits across PBs), blocking and up to four at a time, with
 * point-to-point messages in between, against a sequential reference. Every process draws the same
 * numbers. WAITIO_COLL_ variables force algorithms.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

enum { ROUNDS = 120, AT_ONCE = 4, COMMS = 6, MOST = 64 };

enum kind {
    BARRIER,
    BCAST,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHER,
    ALLGATHERV,
    ALLTOALL,
    ALLTOALLV,
    ALLTOALLW,
    KINDS
};
static const char *const names[KINDS] = {
    "barrier",   "bcast",      "reduce",   "allreduce", "reduce_scatter", "reduce_scatter_block",
    "scan",      "exscan",     "gather",   "gatherv",   "scatter",        "scatterv",
    "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"};

/* A map x -> a x + b lies in memory as {hole, b, hole, a, hole}; the type sends a first. */
typedef uint32_t element[5];
static WAITIO_MPI_Datatype map_type;
static WAITIO_MPI_Op compose, plus;

static uint64_t state = 88172645463325252u;
static int failures, world_rank, world_size;
static WAITIO_MPI_Comm world;

struct team {
    WAITIO_MPI_Comm comm; /* NULL: I am not in it */
    int rank, size;
};
static struct team team[COMMS];

struct operation {
    enum kind kind;
    struct team *team;
    int root, count, in_place, which, commutes;
    element *in, *out;
    int scounts[MOST], sdispls[MOST], rcounts[MOST], rdispls[MOST];
    WAITIO_MPI_Datatype types[MOST];
};

static int draw(int below)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int)(state % (uint64_t)below);
}

static void fold(void *in, void *inout, int *n, WAITIO_MPI_Datatype *type)
{
    element *x = in, *y = inout;
    (void)type;
    for (int i = 0; i < *n; i++) {
        y[i][1] = x[i][3] * y[i][1] + x[i][1];
        y[i][3] = x[i][3] * y[i][3];
    }
}

static void sum(void *in, void *inout, int *n, WAITIO_MPI_Datatype *type)
{
    element *x = in, *y = inout;
    (void)type;
    for (int i = 0; i < *n; i++) {
        y[i][1] += x[i][1];
        y[i][3] += x[i][3];
    }
}

static void value(const struct operation *o, int rank, int i, element *e)
{
    (*e)[3] = (uint32_t)(o->which * 7919 + rank * 1009 + i * 31 + 1);
    (*e)[1] = (uint32_t)(rank * 17 + i);
}

static void report(const struct operation *o, const char *what)
{
    if (failures++ < 5)
        fprintf(stderr, "coll_all: operation %d, %s of %d on %d: %s\n", o->which, names[o->kind],
                o->count, o->team->size, what);
}

/* Elements from rank p to rank q in the uneven forms. */
static int amount(const struct operation *o, int p, int q)
{
    switch (o->kind) {
    case GATHERV:
    case ALLGATHERV:
        return (p * 5 + o->count) % 4;
    case SCATTERV:
    case REDUCE_SCATTER:
        return (q * 5 + o->count) % 4;
    case ALLTOALLV:
    case ALLTOALLW:
        return (p * 3 + q * 2 + o->count) % 4;
    default:
        return o->count;
    }
}

static int uneven(const struct operation *o)
{
    return o->kind == GATHERV || o->kind == SCATTERV || o->kind == ALLGATHERV ||
           o->kind == ALLTOALLV || o->kind == ALLTOALLW;
}

static int place(const struct operation *o, int block)
{
    return uneven(o) ? (o->team->size - 1 - block) * 4 : block * o->count;
}

static void tables(struct operation *o)
{
    int me = o->team->rank, unit = o->kind == ALLTOALLW ? (int)sizeof(element) : 1;
    for (int q = 0; q < o->team->size; q++) {
        o->scounts[q] = amount(o, me, q);
        o->rcounts[q] = amount(o, q, me);
        o->sdispls[q] = o->rdispls[q] = place(o, q) * unit;
        o->types[q] = map_type;
    }
    if (o->kind == SCATTERV) /* read at the root only, which need not be me */
        for (int q = 0; q < o->team->size; q++)
            o->scounts[q] = amount(o, o->root, q);
}

static size_t room(const struct operation *o)
{
    return (size_t)o->team->size * (size_t)(o->count > 4 ? o->count : 4) + 4;
}

static int fill(struct operation *o)
{
    o->in = calloc(room(o), sizeof(element));
    o->out = calloc(room(o), sizeof(element));
    if (o->in == NULL || o->out == NULL)
        return -1;
    for (size_t i = 0; i < room(o); i++)
        value(o, o->team->rank, (int)i, &o->in[i]);
    if (o->in_place || o->kind == BCAST)
        memcpy(o->out, o->in, room(o) * sizeof(element));
    return 0;
}

/* Every form of every call; req NULL: the blocking one. */
#define CALL(NAME, INAME, ...)                                                                     \
    return req == NULL ? WAITIO_MPI_##NAME(__VA_ARGS__) : WAITIO_MPI_##INAME(__VA_ARGS__, req)

static int reduction(struct operation *o, WAITIO_MPI_Request *req)
{
    WAITIO_MPI_Op op = o->commutes ? plus : compose;
    const void *in = o->in_place && (o->kind != REDUCE || o->team->rank == o->root)
                         ? WAITIO_MPI_IN_PLACE
                         : (void *)o->in;
    WAITIO_MPI_Comm comm = o->team->comm;
    switch (o->kind) {
    case REDUCE:
        CALL(Reduce, Ireduce, in, o->out, o->count, map_type, op, o->root, comm);
    case ALLREDUCE:
        CALL(Allreduce, Iallreduce, in, o->out, o->count, map_type, op, comm);
    case REDUCE_SCATTER:
        CALL(Reduce_scatter, Ireduce_scatter, in, o->out, o->scounts, map_type, op, comm);
    case REDUCE_SCATTER_BLOCK:
        CALL(Reduce_scatter_block, Ireduce_scatter_block, in, o->out, o->count, map_type, op, comm);
    case SCAN:
        CALL(Scan, Iscan, in, o->out, o->count, map_type, op, comm);
    default:
        CALL(Exscan, Iexscan, in, o->out, o->count, map_type, op, comm);
    }
}

static int movement(struct operation *o, WAITIO_MPI_Request *req)
{
    WAITIO_MPI_Comm comm = o->team->comm;
    int me = o->team->rank, n = o->count;
    switch (o->kind) {
    case BARRIER:
        return req == NULL ? WAITIO_MPI_Barrier(comm) : WAITIO_MPI_Ibarrier(comm, req);
    case BCAST:
        CALL(Bcast, Ibcast, o->out, n, map_type, o->root, comm);
    case GATHER:
        CALL(Gather, Igather, o->in, n, map_type, o->out, n, map_type, o->root, comm);
    case GATHERV:
        CALL(Gatherv, Igatherv, o->in, amount(o, me, o->root), map_type, o->out, o->rcounts,
             o->rdispls, map_type, o->root, comm);
    case SCATTER:
        CALL(Scatter, Iscatter, o->in, n, map_type, o->out, n, map_type, o->root, comm);
    case SCATTERV:
        CALL(Scatterv, Iscatterv, o->in, o->scounts, o->sdispls, map_type, o->out,
             amount(o, o->root, me), map_type, o->root, comm);
    case ALLGATHER:
        CALL(Allgather, Iallgather, o->in, n, map_type, o->out, n, map_type, comm);
    case ALLGATHERV:
        CALL(Allgatherv, Iallgatherv, o->in, amount(o, me, 0), map_type, o->out, o->rcounts,
             o->rdispls, map_type, comm);
    case ALLTOALL:
        CALL(Alltoall, Ialltoall, o->in, n, map_type, o->out, n, map_type, comm);
    case ALLTOALLV:
        CALL(Alltoallv, Ialltoallv, o->in, o->scounts, o->sdispls, map_type, o->out, o->rcounts,
             o->rdispls, map_type, comm);
    default:
        CALL(Alltoallw, Ialltoallw, o->in, o->scounts, o->sdispls, o->types, o->out, o->rcounts,
             o->rdispls, o->types, comm);
    }
}

/* ---- the reference ---- */

static void expect(const struct operation *o, int at, const element *want)
{
    if (o->out[at][3] != (*want)[3] || o->out[at][1] != (*want)[1])
        report(o, "wrong result");
}

static void expect_folded(const struct operation *o, int low, int high, int first, int n)
{
    for (int i = 0; i < n; i++) {
        element e, next, x;
        int one = 1;
        value(o, low, first + i, &e);
        for (int r = low + 1; r <= high; r++) {
            value(o, r, first + i, &next);
            memcpy(x, e, sizeof x);
            (o->commutes ? sum : fold)(&x, &next, &one, NULL);
            memcpy(e, next, sizeof e);
        }
        expect(o, i, (const element *)&e);
    }
}

static void expect_block(const struct operation *o, int from, int at, int first, int n)
{
    for (int i = 0; i < n; i++) {
        element e;
        value(o, from, first + i, &e);
        expect(o, at + i, (const element *)&e);
    }
}

static void check_reduction(const struct operation *o)
{
    int me = o->team->rank, last = o->team->size - 1, before = 0;
    if (o->kind == REDUCE_SCATTER || o->kind == REDUCE_SCATTER_BLOCK) {
        for (int q = 0; q < me; q++)
            before += amount(o, 0, q);
        expect_folded(o, 0, last, before, amount(o, 0, me));
    } else if (o->kind == SCAN) {
        expect_folded(o, 0, me, 0, o->count);
    } else if (o->kind == EXSCAN) {
        expect_folded(o, 0, me - 1, 0, me == 0 ? 0 : o->count);
    } else if (o->kind == ALLREDUCE || me == o->root) {
        expect_folded(o, 0, last, 0, o->count);
    }
}

static void check(const struct operation *o)
{
    int me = o->team->rank;
    if (o->kind >= REDUCE && o->kind <= EXSCAN)
        check_reduction(o);
    else if (o->kind == BCAST)
        expect_block(o, o->root, 0, 0, o->count);
    else if (o->kind == SCATTER || o->kind == SCATTERV)
        expect_block(o, o->root, 0, place(o, me), amount(o, o->root, me));
    else if (o->kind >= ALLGATHER || ((o->kind == GATHER || o->kind == GATHERV) && me == o->root))
        for (int q = 0; q < o->team->size; q++)
            expect_block(o, q, place(o, q), o->kind >= ALLTOALL ? place(o, me) : 0,
                         amount(o, q, me));
}

/* ---- rounds ---- */

static void draw_operation(struct operation *o, int which)
{
    int root = draw(1 << 20), big = draw(12) == 0;
    memset(o, 0, sizeof *o);
    o->which = which;
    o->kind = (enum kind)draw(KINDS);
    o->team = &team[draw(COMMS)];
    o->count = big ? 3000 + draw(20000) : draw(3) ? draw(40) : 0;
    o->in_place = draw(2) && o->kind >= REDUCE && o->kind <= EXSCAN;
    o->commutes = draw(2);
    if (big && o->kind >= GATHER && !uneven(o))
        o->count /= 8;
    if (o->team->comm != NULL)
        o->root = root % o->team->size;
}

static int begin(struct operation *o, WAITIO_MPI_Request *req)
{
    if (o->team->comm == NULL)
        return 0;
    tables(o);
    if (fill(o) != 0)
        return -1;
    return o->kind >= REDUCE && o->kind <= EXSCAN ? reduction(o, req) : movement(o, req);
}

static void end(struct operation *o)
{
    if (o->team->comm == NULL)
        return;
    check(o);
    free(o->in);
    free(o->out);
}

/* A message around the universe while collectives are under way. */
static void ring(int which)
{
    int got = -1, mine = which * 100 + world_rank;
    WAITIO_MPI_Sendrecv(&mine, 1, WAITIO_MPI_INT, (world_rank + 1) % world_size, which, &got, 1,
                        WAITIO_MPI_INT, (world_rank + world_size - 1) % world_size, which, world,
                        WAITIO_MPI_STATUS_IGNORE);
    if (got != which * 100 + (world_rank + world_size - 1) % world_size && failures++ < 5)
        fprintf(stderr, "coll_all: the ring brought %d\n", got);
}

/* Wait for several started ones in one of five ways. */
static void finish(int how, int n, WAITIO_MPI_Request reqs[])
{
    int left = n, flag = 0, index, indices[AT_ONCE], count;
    if (how == 0)
        WAITIO_MPI_Waitall(n, reqs, WAITIO_MPI_STATUSES_IGNORE);
    for (int i = n - 1; how == 1 && i >= 0; i--)
        WAITIO_MPI_Wait(&reqs[i], WAITIO_MPI_STATUS_IGNORE);
    while (how == 2 && !flag)
        WAITIO_MPI_Testall(n, reqs, &flag, WAITIO_MPI_STATUSES_IGNORE);
    while (how == 3 && left-- > 0)
        WAITIO_MPI_Waitany(n, reqs, &index, WAITIO_MPI_STATUS_IGNORE);
    while (how == 4) {
        WAITIO_MPI_Waitsome(n, reqs, &count, indices, WAITIO_MPI_STATUSES_IGNORE);
        if (count == WAITIO_MPI_UNDEFINED)
            break;
    }
}

static void together(int round, int n)
{
    struct operation o[AT_ONCE];
    WAITIO_MPI_Request reqs[AT_ONCE];
    for (int i = 0; i < n; i++) {
        reqs[i] = WAITIO_MPI_REQUEST_NULL;
        draw_operation(&o[i], round * AT_ONCE + i);
        if (begin(&o[i], &reqs[i]) != 0)
            report(&o[i], "could not be started");
    }
    if (round % 3 == 0)
        ring(round);
    finish(draw(5), n, reqs);
    for (int i = 0; i < n; i++)
        end(&o[i]);
}

static void make_teams(void)
{
    int colors = 1 + draw(3), key = draw(1000);
    team[0].comm = world;
    WAITIO_MPI_Comm_dup(team[0].comm, &team[1].comm);
    for (int i = 2; i < COMMS; i++) { /* random parts, some of them in reverse order */
        int color = (world_rank * 7 + i * key) % colors;
        WAITIO_MPI_Comm_split(team[i % 2].comm, i == 4 && color == 0 ? WAITIO_MPI_UNDEFINED : color,
                              i % 2 ? -world_rank : (world_rank * key) % 5, &team[i].comm);
    }
    for (int i = 0; i < COMMS; i++)
        if (team[i].comm != NULL) {
            WAITIO_MPI_Comm_rank(team[i].comm, &team[i].rank);
            WAITIO_MPI_Comm_size(team[i].comm, &team[i].size);
        }
}

int main(void)
{
    int places[2] = {3, 1};
    WAITIO_MPI_Datatype pair;

    world = open_world();
    WAITIO_MPI_Comm_rank(world, &world_rank);
    WAITIO_MPI_Comm_size(world, &world_size);
    WAITIO_MPI_Type_create_indexed_block(2, 1, places, WAITIO_MPI_UINT32_T, &pair);
    WAITIO_MPI_Type_create_resized(pair, 0, sizeof(element), &map_type);
    WAITIO_MPI_Type_commit(&map_type);
    WAITIO_MPI_Type_free(&pair);
    WAITIO_MPI_Op_create(fold, 0, &compose);
    WAITIO_MPI_Op_create(sum, 1, &plus);
    make_teams();
    for (int round = 0; round < ROUNDS; round++) {
        struct operation o;
        if (round % 2) {
            together(round, 2 + draw(AT_ONCE - 1));
            continue;
        }
        draw_operation(&o, round * AT_ONCE);
        if (begin(&o, NULL) != 0)
            report(&o, "failed");
        end(&o);
    }
    for (int i = 1; i < COMMS; i++)
        if (team[i].comm != NULL)
            WAITIO_MPI_Comm_free(&team[i].comm);
    WAITIO_MPI_Barrier(world);
    WAITIO_MPI_Type_free(&map_type);
    close_world(&world);
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
