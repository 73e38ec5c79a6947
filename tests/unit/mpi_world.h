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
#include "unit/mpi_inside.h"

enum { MOST = MOST_MEMBERS };

/* Sizes of the largest tables of tests, and of those with long messages one row in so many. A
 * sanitizer watches where each algorithm reads and writes; other rows are the same steps again. */
#if defined __SANITIZE_ADDRESS__
enum { LARGEST = 7, STRIDE = 3, ONE_IN = 5 };
#else
enum { LARGEST = MOST, STRIDE = 1, ONE_IN = 1 };
#endif

struct message {
    struct message *next;
    int lane;
    size_t n;
    const void *from; /* where the data is to be read: in data[], or still in the sender's memory */
    int *under_way;   /* of the sender's lane, or NULL */
    unsigned char data[];
};

/* A lane of a rank's current phase. */
struct track {
    size_t at, limit; /* first step of its round, end of the lane */
    int sent;         /* the round's messages have been sent */
    int under_way;    /* those that have not been taken, when that is waited for */
    int inside;       /* steps of the provider that are not done */
};

struct world {
    int size;
    int patient; /* sends are complete when they have been taken, as long ones are; else at once */
    struct wio_schedule s[MOST];
    size_t next[MOST];          /* first step of the rank's next phase */
    unsigned char *taken[MOST]; /* by step: a receive that has its message */
    struct track track[MOST][WIO_LANES_MAX];
    int tracks[MOST];
    struct message *queue[MOST][MOST]; /* [from][to], oldest first */
    /* what a rank waits for inside its PB, by part of the provider */
    const struct waitio_inside_call *begun[MOST][WIO_PARTS];
    int *undone[MOST][WIO_PARTS];
    int steps_inside;
    const int *pb; /* by rank, or NULL */
    unsigned turn;
    int crossings[2]; /* messages across the border, and their bytes */
    int words;        /* those of them that hold a size */
    int crossed_from; /* who sent the last of them */
};

static void put(struct world *w, int from, struct track *t, const struct wio_step *step)
{
    size_t copied = w->patient ? 0 : step->n;
    struct message *m = malloc(sizeof *m + copied), **tail = &w->queue[from][step->peer];
    assert_non_null(m);
    *m = (struct message){.lane = step->lane, .n = step->n};
    if (w->patient)
        m->under_way = &t->under_way;
    t->under_way += w->patient;
    m->from = w->patient ? step->from : m->data;
    if (copied > 0)
        memcpy(m->data, step->from, copied);
    while (*tail != NULL)
        tail = &(*tail)->next;
    *tail = m;
    if (w->pb != NULL && w->pb[from] != w->pb[step->peer]) {
        w->crossings[0]++;
        w->crossed_from = from;
        w->crossings[1] += (int)m->n;
        w->words += m->n == WIO_SIZE_BYTES;
    }
}

/* Take the oldest message that a receive matches. @return was there one? */
static int take(struct world *w, int me, const struct wio_step *step)
{
    struct message **at = &w->queue[step->peer][me], *m;
    while (*at != NULL && (*at)->lane != step->lane)
        at = &(*at)->next;
    m = *at;
    if (m == NULL)
        return 0;
    assert_int_equal(m->n, step->n);
    if (m->n > 0)
        memcpy(step->to, m->from, m->n);
    if (m->under_way != NULL)
        --*m->under_way;
    *at = m->next;
    free(m);
    return 1;
}

/* All members of a PB have begun a step of this part: do it. */
static void inside(struct world *w, int me, int part)
{
    const struct waitio_inside_call *call[MOST] = {NULL};
    int n = 0;
    for (int r = 0; r < w->size; r++) {
        if (w->pb[r] != w->pb[me])
            continue;
        if (w->begun[r][part] == NULL)
            return;
        call[w->s[r].inside->place[r]] = w->begun[r][part];
        n++;
    }
    fake_run(call, n);
    for (int r = 0; r < w->size; r++)
        if (w->pb[r] == w->pb[me]) {
            w->begun[r][part] = NULL;
            --*w->undone[r][part];
        }
    w->steps_inside++;
}

static void begin_inside(struct world *w, int me, struct track *t, const struct wio_step *step)
{
    assert_null(w->begun[me][step->peer]); /* steps of a part follow each other */
    w->begun[me][step->peer] = step->with;
    w->undone[me][step->peer] = &t->inside;
    t->inside++;
    inside(w, me, step->peer);
}

static void send_all(struct world *w, int me, struct track *t, size_t end)
{
    struct wio_schedule *s = &w->s[me];
    for (size_t i = t->at; i < end; i++)
        if (s->step[i].kind == WIO_STEP_INSIDE)
            begin_inside(w, me, t, &s->step[i]);
    for (size_t i = t->at; i < end; i++)
        if (s->step[i].kind == WIO_STEP_SEND) {
            assert_in_range(s->step[i].peer, 0, w->size - 1);
            assert_int_not_equal(s->step[i].peer, me);
            put(w, me, t, &s->step[i]);
        }
    t->sent = 1;
}

/* One round of one lane, or what of it is possible. @return has anything happened? */
static int advance_track(struct world *w, int me, struct track *t)
{
    struct wio_schedule *s = &w->s[me];
    size_t end = wio_schedule_round_end(s, t->at);
    int news = !t->sent, missing = 0;

    if (t->at == t->limit)
        return 0;
    if (!t->sent)
        send_all(w, me, t, end);
    for (size_t i = t->at; i < end; i++)
        if (s->step[i].kind == WIO_STEP_RECV && !w->taken[me][i]) {
            w->taken[me][i] = (unsigned char)take(w, me, &s->step[i]);
            news += w->taken[me][i];
            missing += !w->taken[me][i];
        }
    if (missing > 0 || t->under_way > 0 || t->inside > 0)
        return news;
    assert_int_equal(wio_schedule_local(s, t->at, end), 0);
    *t = (struct track){end, t->limit, 0, 0, 0};
    return 1;
}

static void next_phase(struct world *w, int me)
{
    const struct wio_schedule *s = &w->s[me];
    size_t at = w->next[me], end = wio_schedule_phase_end(s, at);
    w->next[me] = end;
    if (w->taken[me] == NULL)
        w->taken[me] = calloc(s->nsteps, 1);
    assert_non_null(w->taken[me]);
    for (w->tracks[me] = 0; at < end; w->tracks[me]++) {
        size_t limit = wio_schedule_lane_end(s, at);
        w->track[me][w->tracks[me]] = (struct track){at, limit, 0, 0, 0};
        at = limit;
    }
}

static int idle(const struct world *w, int me)
{
    for (int i = 0; i < w->tracks[me]; i++)
        if (w->track[me][i].at < w->track[me][i].limit)
            return 0;
    return 1;
}

static int finished(const struct world *w, int me)
{
    return idle(w, me) && w->next[me] == w->s[me].nsteps;
}

/* A round of every lane, the lanes in an order that changes. */
static int advance(struct world *w, int me)
{
    int moved = 0, n;
    if (finished(w, me))
        return 0;
    if (idle(w, me))
        next_phase(w, me);
    n = w->tracks[me];
    for (int i = 0; i < n; i++)
        moved += advance_track(w, me, &w->track[me][((unsigned)i + w->turn) % (unsigned)n]);
    w->turn++;
    return moved;
}

/* Run the schedules, which may be run again. */
static void run_once(struct world *w)
{
    int moved = 1;
    while (moved) {
        moved = 0;
        for (int r = w->size - 1; r >= 0; r--)
            moved += advance(w, r);
    }
    for (int r = 0; r < w->size; r++) {
        assert_true(finished(w, r)); /* else: deadlock */
        for (int q = 0; q < w->size; q++)
            assert_null(w->queue[r][q]);
        free(w->taken[r]);
        w->taken[r] = NULL;
        w->next[r] = 0;
        w->tracks[r] = 0;
    }
}

static inline void run(struct world *w)
{
    run_once(w);
    for (int r = 0; r < w->size; r++)
        wio_schedule_free(&w->s[r]);
}

#endif
