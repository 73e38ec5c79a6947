/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps inside a PB, done by its provider. They are started, also for a blocking collective: the
 * blocking call of an MPI does not match the other one, so that all members have to take the same,
 * and a member that blocks in MPI could not go on with non-blocking collectives that another member
 * waits for. The calling thread tests for a moment; then the engine polls (p2p/outside.c).
 *
 * A program that has no non-blocking collectives on hybrid communicators may say so
 * (WAITIO_HYBRID_BLOCKING). If all members say it, and errors end all of them, they use the
 * blocking calls.
 */
#include "mpi/inside.h"

#include <stdio.h>

#include "api/api.h"
#include "mpi/collectives/collectives.h"
#include "mpi/kings.h"
#include "mpi/mpi.h"
#include "mpi/run.h"
#include "os/os.h"

enum { TESTS = 64 }; /* before the engine polls */
/* Communicators with parts of a provider that may live at a time in a process. MPICH has 2048
 * communicators in all, and those are the program's; the others go by messages. */
enum { MOST_AT_A_TIME = 16 };
static int at_a_time; /* changed atomically */

/* A step that was started. It outlives its run when that fails. */
struct pending {
    struct wio_outside o;
    struct wio_comm *comm; /* held */
    struct wio_part *part;
    const struct waitio_inside_call *call; /* read before it has begun only */
    void *op;
    uint32_t ticket;
    bool begun, last; /* last: of its collective, for this part */
};

void wio_inside_free(struct wio_inside *inside)
{
    if (inside == NULL)
        return;
    for (int i = 0; i < inside->parts; i++)
        if (inside->part[i].part != NULL)
            inside->ops->free(inside->part[i].part);
    if (inside->counted)
        __atomic_fetch_sub(&at_a_time, 1, __ATOMIC_RELAXED);
    wio_os_free(inside);
}

/* Tables of providers that were built for an older library end before the slot. */
static bool folds(const struct waitio_inside_ops *ops, void *part, const struct wio_fold *fold)
{
    return ops->size >= offsetof(struct waitio_inside_ops, folds) + sizeof ops->folds &&
           ops->folds != NULL && fold->type->size > 0 &&
           ops->folds(part, fold->type->size, fold->commutative) != 0;
}

enum wio_inside_way wio_inside_reduces(const struct wio_inside *inside, const struct wio_fold *fold,
                                       WAITIO_MPI_Op op, bool swap)
{
    if (inside == NULL)
        return WIO_INSIDE_NOT;
    if (!swap && fold->user == NULL && fold->type->kind != WIO_KIND_DERIVED &&
        inside->ops->reduces(inside->part[0].part, fold->type->id, op) != 0)
        return WIO_INSIDE_KNOWS;
    return folds(inside->ops, inside->part[0].part, fold) ? WIO_INSIDE_FOLDS : WIO_INSIDE_NOT;
}

/* ---- tickets ---- */

void wio_inside_take_tickets(struct wio_running *run)
{
    struct wio_inside *inside = run->comm->inside;

    for (int i = 0; i < run->s.parts; i++) {
        run->inside_left[i] = run->s.inside_steps[i];
        if (run->inside_left[i] > 0)
            run->ticket[i] = __atomic_fetch_add(&inside->part[i].next, 1, __ATOMIC_RELAXED);
    }
}

static bool served(const struct wio_part *p, uint32_t ticket)
{
    return __atomic_load_n(&p->serving, __ATOMIC_ACQUIRE) == ticket;
}

static void serve_next(struct wio_part *p, uint32_t ticket)
{
    __atomic_store_n(&p->serving, ticket + 1, __ATOMIC_RELEASE);
}

/* ---- errors ---- */

/* The provider's error becomes that of the step's request; the communicator keeps its text. */
static int fail(struct wio_inside *inside, int code, const char *why)
{
    int none = 0;

    if (__atomic_compare_exchange_n(&inside->failed, &none, 1, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE)) {
        snprintf(inside->why, sizeof inside->why, "%s: %s", inside->ops->name, why);
        __atomic_store_n(&inside->failed, code, __ATOMIC_RELEASE);
    }
    return wio_fail(code, "%s: %s", inside->ops->name, why);
}

int wio_inside_error(const struct wio_comm *c, int err)
{
    struct wio_universe *u = wio_api_universe();
    int rc;

    if (err == 0)
        return 0;
    if (__atomic_load_n(&c->inside->failed, __ATOMIC_ACQUIRE) == err)
        return wio_fail(err, "%s", c->inside->why);
    rc = u == NULL ? 0 : wio_revoked_reason(u, c->twin.space);
    return rc != 0 ? rc : wio_fail(err, "the universe has ended during a collective");
}

/* ---- now ---- */

/* A member has died, and the provider does not return. */
static void end_program(void)
{
    wio_mpi_die("a collective inside the block", WAITIO_ERR_PEER);
}

static bool step_folds(const struct waitio_inside_call *call)
{
    return WIO_UNLIKELY(call->fold != NULL);
}

static int run_now(struct wio_universe *u, struct wio_running *run, const struct wio_step *step)
{
    struct wio_inside *inside = run->comm->inside;
    struct wio_part *p = &inside->part[step->peer];
    char why[256] = "";
    int rc;

    if (step_folds(step->with))
        wio_universe_count_fold(u);
    wio_outside_block(u, run->comm->twin.space, end_program);
    rc = inside->ops->run(p->part, step->with, why, sizeof why);
    wio_outside_unblock(u);
    if (--run->inside_left[step->peer] == 0)
        serve_next(p, run->ticket[step->peer]);
    return WIO_LIKELY(rc == 0) ? 0 : fail(inside, rc, why);
}

static int may_call(struct wio_inside *inside, void *part)
{
    char why[256] = "";
    int rc = inside->ops->may_call(part, why, sizeof why);

    return WIO_LIKELY(rc == 0) ? 0 : wio_fail(rc, "%s: %s", inside->ops->name, why);
}

/* ---- started ---- */

static bool over(struct pending *at)
{
    wio_comm_release(at->comm);
    wio_os_free(at);
    return true;
}

/* @return its error */
static int begin(struct pending *at)
{
    struct wio_inside *inside = at->comm->inside;
    struct wio_universe *u = step_folds(at->call) ? wio_api_universe() : NULL;
    char why[256] = "";
    int rc = inside->ops->start(at->part->part, at->call, &at->op, why, sizeof why);

    if (u != NULL)
        wio_universe_count_fold(u);
    at->begun = rc == 0;
    if (at->last)
        serve_next(at->part, at->ticket);
    return rc == 0 ? 0 : fail(inside, rc, why);
}

static bool poll_step(struct wio_outside *o, bool ended, int *err)
{
    struct pending *at = WIO_CONTAINER(o, struct pending, o);
    struct wio_inside *inside = at->comm->inside;
    char why[256] = "";
    int done = 0, rc = 0;

    if (ended) {
        if (at->begun)
            inside->ops->abandon(at->part->part, at->op);
        return over(at);
    }
    if (inside->ops->may_call(at->part->part, why, sizeof why) != 0)
        return false; /* the thread that may will come by */
    if (!at->begun && !served(at->part, at->ticket))
        return false;
    if (!at->begun)
        rc = begin(at);
    if (rc == 0) {
        rc = inside->ops->test(at->part->part, at->op, &done, why, sizeof why);
        rc = rc == 0 ? 0 : fail(inside, rc, why);
    }
    if (rc == 0 && !done)
        return false;
    *err = rc;
    return over(at);
}

static struct pending *pend(struct wio_running *run, const struct wio_step *step)
{
    struct pending *at = wio_os_alloc(sizeof *at);

    if (at == NULL) {
        wio_fail(WAITIO_ERR_NOMEM, "no memory for a step of a collective");
        return NULL;
    }
    *at = (struct pending){
        .o = {.space = run->comm->twin.space, .group = &run->comm->twin, .poll = poll_step},
        .comm = run->comm,
        .part = &run->comm->inside->part[step->peer],
        .call = step->with,
        .ticket = run->ticket[step->peer],
        .last = --run->inside_left[step->peer] == 0};
    wio_comm_hold(run->comm);
    return at;
}

static int leave_to_engine(struct wio_universe *u, struct pending *at, struct wio_handle *h)
{
    int rc = wio_outside_begin(u, &at->o, h);

    if (rc != 0)
        over(at);
    return rc;
}

int wio_inside_start(struct wio_universe *u, struct wio_running *run, const struct wio_step *step,
                     struct wio_handle *h)
{
    struct wio_inside *inside = run->comm->inside;
    /* Of a run that was started the thread that may call it will come by (poll_step). */
    int rc = run->started ? 0 : may_call(inside, inside->part[step->peer].part);
    struct pending *at;

    if (rc == 0 && inside->blocks && run->started)
        rc = wio_fail(WAITIO_ERR_STATE,
                      "a non-blocking collective of a hybrid communicator, although "
                      "WAITIO_HYBRID_BLOCKING=1 says that there are none: unset it");
    at = rc != 0 ? NULL : pend(run, step);
    if (at == NULL)
        return rc != 0 ? rc : WAITIO_ERR_NOMEM;
    return leave_to_engine(u, at, h);
}

/* Test for a moment what nobody else may look at yet. @return is it over? */
static bool soon_over(struct pending *at, int *err)
{
    if (!served(at->part, at->ticket))
        return false;
    for (int i = 0; i < TESTS; i++)
        if (poll_step(&at->o, false, err))
            return true;
    return false;
}

int wio_inside_now(struct wio_universe *u, struct wio_running *run, const struct wio_step *step)
{
    struct wio_inside *inside = run->comm->inside;
    int err = 0, rc = may_call(inside, inside->part[step->peer].part);
    struct wio_handle h = {0};
    struct wio_result res;
    struct pending *at;

    if (WIO_UNLIKELY(rc != 0))
        return rc;
    if (inside->blocks)
        return run_now(u, run, step);
    at = pend(run, step);
    if (at == NULL)
        return WAITIO_ERR_NOMEM;
    if (soon_over(at, &err))
        return err == 0 ? 0 : wio_inside_error(run->comm, err);
    rc = leave_to_engine(u, at, &h);
    if (rc == 0)
        rc = wio_wait(u, &h, &res);
    return rc != 0 ? rc : wio_inside_error(run->comm, res.err);
}

/* ---- communicators made from others ---- */

/* Members of my PB, by rank in the new communicator: their ranks in the parent's parts. */
static int my_side(const struct waitio_group *parent, const struct wio_inside *from,
                   const struct wio_comm *c, int *place, int *ranks, int *n)
{
    int mine = c->topo.pb[c->rank];

    *n = 0;
    for (int i = 0; i < c->size; i++) {
        int64_t before;
        place[i] = -1;
        if (c->topo.pb[i] != mine)
            continue;
        before = wio_group_rank_of(parent, wio_group_member(&c->twin, (uint32_t)i));
        if (before < 0 || from->place[before] < 0)
            return wio_fail(WAITIO_ERR_GROUP, "rank %d is no member of the communicator's parent",
                            i);
        ranks[*n] = from->place[before];
        place[i] = (*n)++;
    }
    return 0;
}

/* Up to @p parts of them, of these ranks of a part. */
static int make_parts(void *from, struct wio_inside *inside, const int *ranks, int parts)
{
    char why[256] = "";
    int rc = 0;

    while (rc == 0 && inside->parts < parts) {
        rc = inside->ops->sub(from, inside->size, ranks, &inside->part[inside->parts].part, why,
                              sizeof why);
        inside->parts += rc == 0;
    }
    return rc == 0 ? 0 : wio_fail(rc, "%s: %s", inside->ops->name, why);
}

/* Two lanes for each king: while one piece of it crosses the border, another is inside. */
static int parts_for(const struct wio_comm *c)
{
    return WIO_LANES_OF_KING * wio_kings_of(&c->topo);
}

int wio_inside_widen(struct wio_comm *c)
{
    int *all, rc;

    if (c->inside == NULL)
        return 0;
    all = wio_os_alloc((size_t)c->inside->size * sizeof *all);
    if (all == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for the ranks of %d members", c->inside->size);
    for (int i = 0; i < c->inside->size; i++)
        all[i] = i;
    rc = make_parts(c->inside->part[0].part, c->inside, all, parts_for(c));
    wio_os_free(all);
    return rc;
}

/* Wait for the other members of my PB: the provider may block while it makes a part, and then no
 * collective goes on for which they wait. @param[in,out] room is there room in this process? In all
 * of them? */
static int all_come(struct wio_comm *c, const int *place, int n, bool *room)
{
    const uint8_t mine = *room;
    struct wio_running run;
    uint8_t *all;
    int *map, rc;

    wio_schedule_init(&run.s, c->rank, c->size, &c->topo, NULL);
    map = wio_schedule_scratch(&run.s, (size_t)n * sizeof *map);
    all = wio_schedule_scratch(&run.s, (size_t)n);
    if (run.s.error == 0) {
        const struct wio_collective gather = {.kind = WIO_ALLGATHER,
                                              .in = &mine,
                                              .bytes = 1,
                                              .outs = {.base = (char *)all, .unit = 1}};
        for (int i = 0; i < c->size; i++)
            if (place[i] >= 0)
                map[place[i]] = i;
        (void)wio_schedule_team(&run.s, (struct wio_team){place[c->rank], n, map});
        wio_allgather_bruck(&run.s, &gather);
    }
    wio_run_init(&run, c, 0);
    rc = wio_run_now(&run, NULL);
    for (int i = 0; rc == 0 && i < n; i++)
        *room &= all[i] != 0;
    wio_run_free(&run);
    return rc;
}

/* @param[out] room false: nothing was made, some member has enough already */
static int make_counted(void *from, struct wio_inside *inside, const int *ranks, struct wio_comm *c,
                        bool *room)
{
    int rc;

    inside->counted = true;
    *room = __atomic_fetch_add(&at_a_time, 1, __ATOMIC_RELAXED) < MOST_AT_A_TIME;
    rc = all_come(c, inside->place, inside->size, room);
    if (rc == 0 && !*room)
        wio_info(
            wio_universe_log(wio_api_universe()), WIO_C_MPI,
            "%d communicators use %s in a process of this PB, which is the most: this one goes "
            "by messages",
            MOST_AT_A_TIME, inside->ops->name);
    return rc != 0 || !*room ? rc : make_parts(from, inside, ranks, parts_for(c));
}

int wio_inside_derive(const struct waitio_group *parent, const struct wio_comm *from,
                      struct wio_comm *c, bool parts)
{
    struct wio_inside *inside;
    int *ranks, *place, rc;
    bool room = true;

    c->hybrid = parts ? from->hybrid : 0;
    c->hybrid_always = from->hybrid_always;
    /* Within a host no border is dear, and layers cost more than they give. */
    c->topo.hybrid = c->hybrid_always || !c->topo.host ? c->hybrid : 0;
    rc = c->hybrid == 0 ? 0 : wio_kings_derive(parent, from, c);
    if (rc != 0 || c->hybrid == 0 || from->inside == NULL)
        return rc;
    inside = wio_os_alloc(sizeof *inside + (size_t)c->size * sizeof *place);
    ranks = wio_os_alloc((size_t)c->size * sizeof *ranks);
    if (inside == NULL || ranks == NULL) {
        wio_os_free(inside);
        wio_os_free(ranks);
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for a communicator of %d members", c->size);
    }
    place = (int *)(void *)(inside + 1);
    *inside = (struct wio_inside){.ops = from->inside->ops,
                                  .uses = from->inside->uses,
                                  .blocks = from->inside->blocks,
                                  .now_only = from->inside->now_only,
                                  .place = place};
    rc = my_side(parent, from->inside, c, place, ranks, &inside->size);
    if (rc == 0 && inside->size > 1)
        rc = make_counted(from->inside->part[0].part, inside, ranks, c, &room);
    wio_os_free(ranks);
    if (rc != 0 || inside->size == 1 || !room) {
        wio_inside_free(inside);
        return rc;
    }
    c->inside = inside;
    return 0;
}
