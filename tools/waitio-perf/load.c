/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file load.c
 * What a small message suffers from a large one to the same peer: a ping-pong of 8 bytes on one
 * tag, every trip timed, first alone, then while a transfer on another tag is under way.
 */
#include <stdlib.h>
#include <string.h>

#include "perf.h"

enum { PING = 8, STOP = 1, SAMPLES = 1 << 20, ALONE = 3 };

struct pings {
    double *half; /* half round trips; as many as fit */
    int n, kept;
    double worst;
};

static double ping(struct perf_side *s, char last)
{
    char there[PING] = {last}, back[PING];
    double begin = perf_now();
    perf_send(s->team, s->other, there, PING, PERF_TAG_PING);
    perf_recv(s->team, s->other, back, PING, PERF_TAG_PING);
    return (perf_now() - begin) / 2;
}

static void echo(struct perf_side *s)
{
    char p[PING];
    do {
        perf_recv(s->team, s->other, p, PING, PERF_TAG_PING);
        perf_send(s->team, s->other, p, PING, PERF_TAG_PING);
    } while (p[0] != STOP);
}

static void note(struct pings *p, double half)
{
    p->n++;
    if (half > p->worst)
        p->worst = half;
    if (p->kept < SAMPLES)
        p->half[p->kept++] = half;
}

static void sum_up(struct pings *p, double *v)
{
    v[PERF_V_COUNT] = p->n;
    v[PERF_V_WORST] = p->worst;
    v[PERF_V_MEDIAN] = p->kept > 0 ? perf_median(p->half, p->kept) : 0;
    v[PERF_V_P99] = p->kept > 0 ? perf_quantile(p->half, p->kept, 0.99) : 0;
    *p = (struct pings){.half = p->half};
}

static void start_bulk(struct perf_side *s, waitio_req_t *r)
{
    char go = 0;
    if (s->first) {
        perf_recv(s->team, s->other, &go, 1, PERF_TAG_GO);
        perf_must(
            waitio_isend(s->team->all, s->other, s->work->out, s->c->bytes, PERF_TAG_BULK, r));
        return;
    }
    perf_must(waitio_irecv(s->team->all, s->other, s->work->in, s->c->bytes, PERF_TAG_BULK, r));
    perf_send(s->team, s->other, &go, 1, PERF_TAG_GO);
}

static double bulk_alone(struct perf_side *s)
{
    double v[ALONE];
    for (int i = 0; i < ALONE; i++) {
        waitio_req_t r;
        double begin = perf_now();
        start_bulk(s, &r);
        perf_must(waitio_wait(&r));
        v[i] = perf_now() - begin;
    }
    return perf_median(v, ALONE);
}

/* Ping until the transfer is through. @return its seconds */
static double loaded(struct perf_side *s, struct pings *p)
{
    waitio_req_t r;
    int done = 0;
    double begin = perf_now();
    start_bulk(s, &r);
    for (;;) {
        double half = ping(s, 0);
        perf_must(waitio_test(&r, &done, NULL));
        if (done)
            break; /* a trip during which it ended may have been an idle one */
        note(p, half);
    }
    return perf_now() - begin;
}

static void measuring_side(struct perf_side *s)
{
    struct pings p = {.half = perf_buffer(SAMPLES * sizeof *p.half)};
    for (int i = 0; i < s->c->rounds / 10 + 1; i++)
        ping(s, 0);
    for (int i = 0; i < s->c->rounds; i++)
        note(&p, ping(s, 0));
    ping(s, STOP);
    sum_up(&p, s->value);
    bulk_alone(s); /* once over cold pages */
    s->value[PERF_V_ALONE] = bulk_alone(s);
    s->value[PERF_V_LOADED] = loaded(s, &p);
    ping(s, STOP);
    sum_up(&p, s->value + PERF_V_LOAD_PHASE);
    free(p.half);
}

void perf_load(struct perf_side *s)
{
    waitio_req_t r;
    if (s->first) {
        perf_mark(s->work->out, s->c->bytes, s->team->me);
        measuring_side(s);
        return;
    }
    perf_unmark(s->work->in, s->c->bytes);
    echo(s);
    bulk_alone(s);
    bulk_alone(s);
    start_bulk(s, &r);
    echo(s);
    perf_must(waitio_wait(&r));
    perf_verify(s->team, s->work->in, s->c->bytes, s->other);
}
