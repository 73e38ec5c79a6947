/* SPDX-License-Identifier: BSD-3-Clause */
/* Running a schedule on point-to-point messages in the communicator's collective space. */
#include "mpi/schedule.h"
#include "os/os.h"

enum { FEW = 8 }; /* requests of a round that need no allocation: all trees and exchanges */

struct round {
    size_t first, end; /* steps */
    waitio_req_t *req;
    int nreq;
};

/* Steps [first, end) of one round. */
static size_t round_end(const struct wio_schedule *s, size_t first)
{
    size_t i = first;

    while (i < s->nsteps && s->step[i].round == s->step[first].round)
        i++;
    return i;
}

static size_t most_messages(const struct wio_schedule *s)
{
    size_t most = 0;

    for (size_t first = 0; first < s->nsteps;) {
        size_t end = round_end(s, first), n = 0;
        for (size_t i = first; i < end; i++)
            n += s->step[i].kind == WIO_STEP_SEND || s->step[i].kind == WIO_STEP_RECV;
        most = n > most ? n : most;
        first = end;
    }
    return most;
}

static int start(const struct wio_schedule *s, const struct wio_mpi_context *ctx, struct round *r)
{
    int rc = 0;

    for (size_t i = r->first; rc == 0 && i < r->end; i++) {
        const struct wio_step *step = &s->step[i];
        waitio_req_t *req = &r->req[r->nreq];
        if (step->kind == WIO_STEP_SEND)
            rc = waitio_isend(ctx->group, step->peer, step->from, step->n, ctx->tag, req);
        else if (step->kind == WIO_STEP_RECV)
            rc = waitio_irecv(ctx->group, step->peer, step->to, step->n, ctx->tag, req);
        else
            continue;
        r->nreq += rc == 0;
    }
    return rc;
}

/* Something could not be started: withdraw what was, so that no buffer stays in use. */
static void withdraw(struct round *r)
{
    for (int i = 0; i < r->nreq; i++)
        waitio_cancel(&r->req[i]); /* refused for sends, which complete by themselves */
    waitio_waitall(r->nreq, r->req, NULL);
}

static int run_round(const struct wio_schedule *s, const struct wio_mpi_context *ctx,
                     struct round *r)
{
    int rc;

    r->nreq = 0;
    rc = start(s, ctx, r);
    if (rc != 0) {
        withdraw(r);
        return rc;
    }
    if (r->nreq > 0)
        rc = waitio_waitall(r->nreq, r->req, NULL);
    if (rc == 0)
        wio_schedule_local(s, r->first, r->end);
    return rc;
}

int wio_schedule_run(const struct wio_schedule *s, const struct wio_mpi_context *ctx)
{
    waitio_req_t few[FEW];
    size_t most = most_messages(s);
    struct round r = {.req = few};
    int rc = s->error;

    if (rc == 0 && most > FEW) {
        r.req = wio_os_alloc(most * sizeof *r.req);
        if (r.req == NULL)
            return wio_fail(WAITIO_ERR_NOMEM, "no memory for %zu requests of a collective", most);
    }
    while (rc == 0 && r.end < s->nsteps) {
        r.first = r.end;
        r.end = round_end(s, r.first);
        rc = run_round(s, ctx, &r);
    }
    if (r.req != few)
        wio_os_free(r.req);
    return rc;
}
