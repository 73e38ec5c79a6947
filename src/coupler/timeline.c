/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The timeline of one process. Clocks of machines differ, and drift: each process asks universe
 * rank 0 for the time when the run opens and when it closes, eight times each, and believes the
 * quickest answer. `waitio cpl trace` moves all events to the clock of rank 0, in straight lines
 * between the two moments, and makes one file of all processes' files.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/cpl.h"
#include "coupler/names.h"

enum { ROUNDS = 8 };

static int one(struct waitio_cpl *cpl, bool sends, double *number, int with)
{
    struct wio_cpl_op op = {.peer = with};
    int rc = sends ? WAITIO_MPI_Isend(number, 1, WAITIO_MPI_DOUBLE, with, WIO_CPL_TAG_CLOCK,
                                      cpl->all, &op.req)
                   : WAITIO_MPI_Irecv(number, 1, WAITIO_MPI_DOUBLE, with, WIO_CPL_TAG_CLOCK,
                                      cpl->all, &op.req);

    return rc != 0 ? wio_cpl_failed() : wio_cpl_wait(cpl, &op, 1);
}

/* Rank 0 with one process, which learns how far its clock is ahead. */
static int ask(struct waitio_cpl *cpl, int with)
{
    double best = 1e9, ahead = 0;
    int rc = 0;

    for (int i = 0; rc == 0 && i < ROUNDS; i++) {
        double from = WAITIO_MPI_Wtime(), there = 0, took;

        rc = one(cpl, true, &from, with);
        if (rc == 0)
            rc = one(cpl, false, &there, with);
        took = WAITIO_MPI_Wtime() - from;
        if (rc == 0 && took < best) {
            best = took;
            ahead = there - (from + took / 2);
        }
    }
    return rc == 0 ? one(cpl, true, &ahead, with) : rc;
}

static int answer(struct waitio_cpl *cpl, double *ahead)
{
    int rc = 0;

    for (int i = 0; rc == 0 && i < ROUNDS; i++) {
        double question = 0, now;

        rc = one(cpl, false, &question, 0);
        now = WAITIO_MPI_Wtime();
        if (rc == 0)
            rc = one(cpl, true, &now, 0);
    }
    return rc == 0 ? one(cpl, false, ahead, 0) : rc;
}

int wio_cpl_clocks(struct waitio_cpl *cpl, int when)
{
    double ahead = 0;
    int rc = 0;

    for (int with = 1; rc == 0 && cpl->me == 0 && with < cpl->size; with++)
        rc = ask(cpl, with);
    if (rc == 0 && cpl->me != 0)
        rc = answer(cpl, &ahead);
    cpl->sight.clock[when][0] = WAITIO_MPI_Wtime();
    cpl->sight.clock[when][1] = ahead;
    return rc;
}

/* ---- the file ------------------------------------------------------------------------------ */

static void write_message(FILE *out, const struct waitio_cpl *cpl, const struct wio_cpl_event *e)
{
    int from = e->kind == WIO_CPL_SENT ? cpl->me : e->peer;
    int to = e->kind == WIO_CPL_SENT ? e->peer : cpl->me;

    (void)fprintf(out, ", \"id\": \"%d-%d-%d-%lld\"", from, to, e->bundle->tag,
                  (long long)e->number);
}

static void write_event(FILE *out, const struct waitio_cpl *cpl, const struct wio_cpl_event *e)
{
    static const char *const kinds[] = {"step", "call", "wait", "sent", "got"};

    (void)fprintf(out, ",\n{\"what\": \"%s\", \"from\": %.9f, \"to\": %.9f", kinds[e->kind],
                  e->from, e->to);
    if (e->kind == WIO_CPL_STEP || e->kind == WIO_CPL_CALL)
        (void)fprintf(out, ", \"model\": %lld", (long long)e->number);
    if (e->peer >= 0) {
        const char *name = cpl->components[cpl->component_of[e->peer]].name;

        (void)fputs(", \"with\": ", out);
        wio_cpl_quote(out, name);
    }
    if (e->bundle != NULL) {
        (void)fputs(", \"fields\": ", out);
        wio_cpl_quote_fields(out, e->bundle);
    }
    if (e->kind == WIO_CPL_SENT || e->kind == WIO_CPL_GOT)
        write_message(out, cpl, e);
    (void)fputs("}", out);
}

static void write_all(FILE *out, const struct waitio_cpl *cpl)
{
    const struct wio_cpl_sight *s = &cpl->sight;
    const struct wio_cpl_event *events = s->events.at;
    bool twice = s->clock[1][0] > s->clock[0][0];
    int universe = -1; /* waitio trace shows the steps among the messages of this process */
    const double *last = s->clock[twice ? 1 : 0];

    (void)waitio_universe_rank(&universe);
    (void)fprintf(out, "[{\"waitio coupler\": 1, \"component\": ");
    wio_cpl_quote(out, cpl->components[cpl->mine].name);
    (void)fprintf(out,
                  ", \"number\": %d, \"process\": %d, \"rank\": %d, \"universe rank\": %d, "
                  "\"lost\": %zu, \"clock\": [[%.9f, %.9f], [%.9f, %.9f]]}",
                  cpl->mine, cpl->rank, cpl->me, universe, s->lost, s->clock[0][0], s->clock[0][1],
                  last[0], last[1]);
    for (size_t i = 0; i < s->events.n; i++)
        write_event(out, cpl, &events[i]);
    (void)fputs("]\n", out);
}

void wio_cpl_timeline_write(struct waitio_cpl *cpl)
{
    const char *folder = getenv("WAITIO_CPL_TRACE");
    char path[PATH_MAX];
    FILE *out;
    bool bad;

    if (!cpl->sight.timeline || cpl->sight.started <= 0 || folder == NULL || folder[0] == '\0')
        return;
    wio_cpl_text(path, sizeof path, "%s/cpl.%d.%d.json", folder, cpl->mine, cpl->rank);
    out = fopen(path, "w");
    bad = out == NULL;
    if (out != NULL) {
        write_all(out, cpl);
        bad = ferror(out) != 0;
        bad = fclose(out) != 0 || bad;
    }
    if (bad)
        (void)fprintf(stderr,
                      "waitio coupler: the timeline '%s' cannot be written; WAITIO_CPL_TRACE names "
                      "a folder that exists\n",
                      path);
    cpl->sight.timeline = false; /* once */
}
