/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules of all ranks run against each other in one process, without a network. A schedule that
 * deadlocks, loses a message or disagrees about a size fails the test. */
#ifndef MPI_WORLD_H
#define MPI_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mpi/coll.h"

enum { MOST = 13 };

struct message {
    struct message *next;
    size_t n;
    unsigned char data[];
};

struct world {
    int size;
    struct wio_schedule s[MOST];
    size_t at[MOST];                   /* first step of the rank's current round */
    int sent[MOST];                    /* the round's messages have been sent */
    struct message *queue[MOST][MOST]; /* [from][to], oldest first */
    const int *pb;                     /* by rank, or NULL */
    int crossings[2];                  /* messages across the border, and their bytes */
};

static void put(struct world *w, int from, int to, const void *data, size_t n)
{
    struct message *m = malloc(sizeof *m + n), **tail = &w->queue[from][to];
    assert_non_null(m);
    m->next = NULL;
    m->n = n;
    if (n > 0)
        memcpy(m->data, data, n);
    while (*tail != NULL)
        tail = &(*tail)->next;
    *tail = m;
    if (w->pb != NULL && w->pb[from] != w->pb[to]) {
        w->crossings[0]++;
        w->crossings[1] += (int)n;
    }
}

/* Receives of one round that have no message yet, counting several from one peer. */
static int missing(const struct world *w, int me, size_t at, size_t end)
{
    int need[MOST] = {0};
    for (size_t i = at; i < end; i++) {
        const struct wio_step *step = &w->s[me].step[i];
        if (step->kind == WIO_STEP_RECV) {
            const struct message *m = w->queue[step->peer][me];
            for (int k = 0; k < need[step->peer] && m != NULL; k++)
                m = m->next;
            if (m == NULL)
                return 1;
            need[step->peer]++;
        }
    }
    return 0;
}

static int advance(struct world *w, int me)
{
    struct wio_schedule *s = &w->s[me];
    size_t at = w->at[me], end = wio_schedule_round_end(s, at);

    if (at == s->nsteps)
        return 0;
    for (size_t i = at; !w->sent[me] && i < end; i++)
        if (s->step[i].kind == WIO_STEP_SEND) {
            assert_in_range(s->step[i].peer, 0, w->size - 1);
            assert_int_not_equal(s->step[i].peer, me);
            put(w, me, s->step[i].peer, s->step[i].from, s->step[i].n);
        }
    w->sent[me] = 1;
    if (missing(w, me, at, end))
        return 0;
    for (size_t i = at; i < end; i++) {
        if (s->step[i].kind != WIO_STEP_RECV)
            continue;
        struct message *m = w->queue[s->step[i].peer][me];
        w->queue[s->step[i].peer][me] = m->next;
        assert_int_equal(m->n, s->step[i].n);
        if (m->n > 0)
            memcpy(s->step[i].to, m->data, m->n);
        free(m);
    }
    assert_int_equal(wio_schedule_local(s, at, end), 0);
    w->at[me] = end;
    w->sent[me] = 0;
    return 1;
}

static void run(struct world *w)
{
    int moved = 1;
    while (moved) {
        moved = 0;
        for (int r = w->size - 1; r >= 0; r--)
            moved += advance(w, r);
    }
    for (int r = 0; r < w->size; r++) {
        assert_int_equal(w->at[r], w->s[r].nsteps); /* else: deadlock */
        for (int q = 0; q < w->size; q++)
            assert_null(w->queue[r][q]);
        wio_schedule_free(&w->s[r]);
    }
}

#endif
