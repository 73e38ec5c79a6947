/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes that set something up together, and records that they send each other. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/cpl.h"

struct wio_cpl_team wio_cpl_team_own(const struct waitio_cpl *cpl)
{
    const struct wio_cpl_component *c = &cpl->components[cpl->mine];

    return (struct wio_cpl_team){cpl->own, c->n, cpl->rank, c->ranks, wio_cpl_set_own(cpl)};
}

int wio_cpl_team_pair(struct waitio_cpl *cpl, int a, int b, struct wio_cpl_team *team)
{
    const struct wio_cpl_component *x = &cpl->components[a], *y = &cpl->components[b];
    WAITIO_MPI_Group all, group;
    int *ranks = wio_cpl_new((size_t)(x->n + y->n), sizeof *ranks), rc = 0;

    if (ranks == NULL)
        return WAITIO_ERR_NOMEM;
    memcpy(ranks, x->ranks, (size_t)x->n * sizeof *ranks);
    memcpy(ranks + x->n, y->ranks, (size_t)y->n * sizeof *ranks);
    *team = (struct wio_cpl_team){WAITIO_MPI_COMM_NULL, x->n + y->n, -1, ranks,
                                  wio_cpl_set_pair(cpl, a, b)};
    if (WAITIO_MPI_Comm_group(cpl->all, &all) != 0)
        rc = wio_cpl_failed();
    if (rc == 0 && WAITIO_MPI_Group_incl(all, team->n, ranks, &group) != 0)
        rc = wio_cpl_failed();
    if (rc == 0 && (WAITIO_MPI_Comm_create_group(cpl->all, group, 0, &team->comm) != 0 ||
                    WAITIO_MPI_Comm_rank(team->comm, &team->me) != 0 ||
                    WAITIO_MPI_Group_free(&group) != 0 || WAITIO_MPI_Group_free(&all) != 0))
        rc = wio_cpl_failed();
    if (rc != 0)
        wio_cpl_team_free(team);
    return rc;
}

void wio_cpl_team_free(struct wio_cpl_team *team)
{
    if (team->comm != WAITIO_MPI_COMM_NULL)
        (void)WAITIO_MPI_Comm_free(&team->comm);
    free((int *)team->ranks);
    team->ranks = NULL;
}

static int make_room(struct wio_cpl_list *list, size_t n, size_t size)
{
    size_t room = 2 * list->room;
    void *at;

    if (n <= list->room - list->n)
        return 0;
    if (room < list->n + n)
        room = list->n + n;
    at = realloc(list->at, room * size);
    if (at == NULL)
        return wio_cpl_fail(WAITIO_ERR_NOMEM, "no memory for %zu things of %zu bytes", room, size);
    list->at = at;
    list->room = room;
    return 0;
}

int wio_cpl_cargo_room(struct wio_cpl_cargo *cargo, size_t n)
{
    int rc = make_room(&cargo->to, n, sizeof(int));

    return rc == 0 ? make_room(&cargo->data, n * cargo->words, sizeof(int64_t)) : rc;
}

int wio_cpl_load(struct wio_cpl_cargo *cargo, int to, const int64_t *record)
{
    if (wio_cpl_cargo_room(cargo, 1) != 0)
        return WAITIO_ERR_NOMEM;
    ((int *)cargo->to.at)[cargo->to.n++] = to;
    memcpy((int64_t *)cargo->data.at + cargo->data.n, record, cargo->words * sizeof *record);
    cargo->data.n += cargo->words;
    return 0;
}

void wio_cpl_unload(struct wio_cpl_cargo *cargo)
{
    wio_cpl_list_free(&cargo->to);
    wio_cpl_list_free(&cargo->data);
}

/* One exchange under way. */
struct trade {
    int64_t *send, *receive; /* records for and from each member */
    int64_t *sorted;         /* the cargo, by destination */
    struct wio_cpl_op *ops;
    size_t n_ops;
};

/* Records by destination, in the order of loading. */
static int sort(struct trade *t, const struct wio_cpl_team *team, const struct wio_cpl_cargo *cargo)
{
    const int *to = cargo->to.at;
    const int64_t *data = cargo->data.at;
    int64_t *next = wio_cpl_new((size_t)team->n, sizeof *next), at = 0;

    if (next == NULL)
        return WAITIO_ERR_NOMEM;
    for (size_t i = 0; i < cargo->to.n; i++)
        t->send[to[i]]++;
    for (int m = 0; m < team->n; m++) {
        next[m] = at;
        at += t->send[m];
    }
    for (size_t i = 0; i < cargo->to.n; i++)
        memcpy(t->sorted + (size_t)next[to[i]]++ * cargo->words, data + i * cargo->words,
               cargo->words * sizeof *data);
    free(next);
    return 0;
}

static int tell_counts(struct waitio_cpl *cpl, const struct wio_cpl_team *team, struct trade *t)
{
    struct wio_cpl_op op = wio_cpl_collective(cpl, team->set, 0);

    if (WAITIO_MPI_Ialltoall(t->send, 1, WAITIO_MPI_INT64_T, t->receive, 1, WAITIO_MPI_INT64_T,
                             team->comm, &op.req) != 0)
        return wio_cpl_failed();
    return wio_cpl_wait(cpl, &op, 1);
}

static int start(const struct wio_cpl_team *team, struct trade *t, bool receives, int member,
                 int64_t *words, size_t n)
{
    struct wio_cpl_op *op = &t->ops[t->n_ops++];
    int rc;

    op->peer = team->ranks[member];
    if (n > INT_MAX)
        return wio_cpl_fail(WAITIO_ERR_LIMIT,
                            "a table gives one process %zu words at once, more "
                            "than %d: give its entries by more processes",
                            n, INT_MAX);
    rc = receives ? WAITIO_MPI_Irecv(words, (int)n, WAITIO_MPI_INT64_T, member, WIO_CPL_TAG_TRADE,
                                     team->comm, &op->req)
                  : WAITIO_MPI_Isend(words, (int)n, WAITIO_MPI_INT64_T, member, WIO_CPL_TAG_TRADE,
                                     team->comm, &op->req);
    return rc != 0 ? wio_cpl_failed() : 0;
}

static int move(struct waitio_cpl *cpl, const struct wio_cpl_team *team, struct trade *t,
                size_t words, int64_t *in)
{
    int64_t *out = t->sorted;
    int rc = 0;

    for (int m = 0; rc == 0 && m < team->n; m++) {
        size_t n = (size_t)t->receive[m] * words;

        if (n > 0)
            rc = start(team, t, true, m, in, n);
        in += n;
    }
    for (int m = 0; rc == 0 && m < team->n; m++) {
        size_t n = (size_t)t->send[m] * words;

        if (n > 0)
            rc = start(team, t, false, m, out, n);
        out += n;
    }
    return rc == 0 ? wio_cpl_wait(cpl, t->ops, t->n_ops) : rc;
}

static int get_memory(struct trade *t, const struct wio_cpl_team *team,
                      const struct wio_cpl_cargo *cargo)
{
    t->send = wio_cpl_new((size_t)team->n, sizeof *t->send);
    t->receive = wio_cpl_new((size_t)team->n, sizeof *t->receive);
    t->ops = wio_cpl_new((size_t)team->n * 2, sizeof *t->ops);
    t->sorted = wio_cpl_new(cargo->data.n, sizeof *t->sorted);
    return t->send == NULL || t->receive == NULL || t->ops == NULL || t->sorted == NULL
               ? WAITIO_ERR_NOMEM
               : 0;
}

static int run(struct waitio_cpl *cpl, const struct wio_cpl_team *team, struct trade *t,
               const struct wio_cpl_cargo *cargo, struct wio_cpl_list *in)
{
    int rc = get_memory(t, team, cargo);
    size_t n = 0;

    if (rc == 0)
        rc = sort(t, team, cargo);
    if (rc == 0)
        rc = tell_counts(cpl, team, t);
    if (rc != 0)
        return rc;
    for (int m = 0; m < team->n; m++)
        n += (size_t)t->receive[m] * cargo->words;
    in->at = wio_cpl_new(n, sizeof(int64_t));
    in->n = in->room = n;
    return in->at == NULL ? WAITIO_ERR_NOMEM : move(cpl, team, t, cargo->words, in->at);
}

/* After an error messages may still be under way: their memory stays. */
int wio_cpl_trade(struct waitio_cpl *cpl, const struct wio_cpl_team *team,
                  struct wio_cpl_cargo *cargo, struct wio_cpl_list *in, int64_t *counts)
{
    struct trade t = {NULL, NULL, NULL, NULL, 0};
    int rc;

    *in = (struct wio_cpl_list){NULL, 0, 0};
    rc = run(cpl, team, &t, cargo, in);
    if (rc != 0)
        return rc;
    if (counts != NULL)
        memcpy(counts, t.receive, (size_t)team->n * sizeof *counts);
    free(t.send);
    free(t.receive);
    free(t.sorted);
    free(t.ops);
    wio_cpl_unload(cargo);
    return 0;
}
