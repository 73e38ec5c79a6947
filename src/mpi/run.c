/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/run.h"

#include "api/api.h"
#include "mpi/inside.h"
#include "os/os.h"

void wio_run_init(struct wio_running *run, struct wio_comm *comm, int tag)
{
    run->comm = comm;
    run->tag = tag;
    run->next = 0;
    run->track = &run->only;
    run->ntracks = 0;
    run->flight = run->inside;
    run->cap = WIO_FLIGHTS_INSIDE;
    run->nflights = 0;
    run->error = run->s.error;
    run->why = NULL;
    run->finished = run->started = false;
    wio_comm_hold(comm);
}

void wio_run_end(struct wio_running *run)
{
    if (run->flight != run->inside)
        wio_os_free(run->flight);
    if (run->track != &run->only)
        wio_os_free(run->track);
    wio_os_free(run->why);
}

int wio_run_again(struct wio_running *run)
{
    struct wio_universe *u = wio_api_universe();
    struct wio_comm *comm = run->comm;

    if (u == NULL)
        return wio_last_code();
    wio_run_end(run);
    wio_run_init(run, comm, run->tag);
    wio_comm_release(comm); /* it is held already */
    return wio_revoked_check(u, comm->twin.space);
}

void wio_run_free(struct wio_running *run)
{
    wio_schedule_free(&run->s);
    wio_run_end(run);
    wio_comm_release(run->comm);
}

/* Room for one more message. */
static int room(struct wio_running *run)
{
    size_t cap = 4 * (size_t)run->cap;
    struct wio_flight *at;

    if (run->nflights < run->cap)
        return 0;
    at = wio_os_realloc(run->flight == run->inside ? NULL : run->flight, cap * sizeof *at);
    if (at == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for %zu messages of a collective", cap);
    if (run->flight == run->inside)
        memcpy(at, run->inside, sizeof run->inside);
    run->flight = at;
    run->cap = (int)cap;
    return 0;
}

static int start_step(struct wio_universe *u, struct wio_running *run, int track, size_t i)
{
    const struct wio_step *step = &run->s.step[i];
    struct wio_flight *f;
    int rc, tag = run->tag + step->lane;

    if (step->kind != WIO_STEP_SEND && step->kind != WIO_STEP_RECV && step->kind != WIO_STEP_INSIDE)
        return 0;
    rc = room(run);
    if (rc != 0)
        return rc;
    f = &run->flight[run->nflights];
    f->step = i;
    f->track = track;
    if (step->kind == WIO_STEP_SEND)
        rc = wio_post(u, &run->comm->twin, (uint32_t)step->peer, step->from, step->n, tag,
                      &f->handle);
    else if (step->kind == WIO_STEP_INSIDE)
        rc = wio_inside_start(u, run, step, &f->handle);
    else
        rc = wio_irecv(u, &run->comm->twin, step->peer, step->to, step->n, tag, false, &f->handle);
    if (rc != 0 || f->handle.generation == 0) /* it has left already */
        return rc;
    if (run->started)
        wio_task_await(u, &run->task, &f->handle);
    run->nflights++;
    run->track[track].flights++;
    return 0;
}

bool wio_run_crosses(const struct wio_running *run, const struct wio_step *step)
{
    const int *pb = run->comm->topo.pb;

    return pb[step->peer] != pb[run->comm->rank];
}

/* Count what goes to other PBs: it should be little. */
static void count_border(struct wio_universe *u, const struct wio_running *run,
                         const struct wio_track *t)
{
    uint64_t msgs = 0, bytes = 0;

    if (run->comm->topo.npb < 2)
        return;
    for (size_t i = t->first; i < t->end; i++) {
        const struct wio_step *step = &run->s.step[i];
        if (step->kind == WIO_STEP_SEND && wio_run_crosses(run, step)) {
            msgs++;
            bytes += step->n;
        }
    }
    if (msgs > 0)
        wio_universe_count_border(u, msgs, bytes);
}

bool wio_run_fail(struct wio_universe *u, struct wio_running *run, int code)
{
    const char *why = wio_last_detail();
    size_t n = strlen(why) + 1;

    for (int i = 0; i < run->s.parts; i++)
        run->s.abandoned |= run->s.inside_steps[i] > run->inside_left[i];

    run->error = code;
    run->why = wio_os_alloc(n);
    if (run->why != NULL)
        memcpy(run->why, why, n);
    wio_revoke(u, &run->comm->twin, code); /* others may wait for what this member will not send */
    for (int i = 0; i < run->nflights; i++)
        (void)wio_cancel(u, &run->flight[i].handle);
    run->finished = run->nflights == 0;
    return run->finished;
}

int wio_run_error(const struct wio_running *run)
{
    return run->why != NULL ? wio_fail(run->error, "%s", run->why) : run->error;
}

/* Do the rounds of a lane that need no message, and start the next one that does. @return 0; a
 * message that could not be started, an operator that failed */
static int next_round(struct wio_universe *u, struct wio_running *run, int track)
{
    struct wio_track *t = &run->track[track];
    int rc = 0;

    while (rc == 0 && t->flights == 0 && t->end < t->limit) {
        t->first = t->end;
        t->end = wio_schedule_round_end(&run->s, t->first);
        for (size_t i = t->first; rc == 0 && i < t->end; i++)
            rc = start_step(u, run, track, i);
        if (rc == 0)
            count_border(u, run, t);
        if (rc == 0 && t->flights == 0)
            rc = wio_schedule_local(&run->s, t->first, t->end);
    }
    return rc;
}

/* The lanes of the next phase. */
static int open_tracks(struct wio_running *run)
{
    const struct wio_schedule *s = &run->s;
    size_t end = wio_schedule_phase_end(s, run->next), at = run->next;
    int n = 0;

    if (wio_schedule_lane_end(s, at) < end && run->track == &run->only) {
        struct wio_track *many = wio_os_alloc(WIO_LANES_MAX * sizeof *many);
        if (many == NULL)
            return wio_fail(WAITIO_ERR_NOMEM, "no memory for the lanes of a collective");
        run->track = many;
    }
    for (; at < end; n++) {
        size_t limit = wio_schedule_lane_end(s, at);
        run->track[n] = (struct wio_track){at, at, limit, 0};
        at = limit;
    }
    run->ntracks = n;
    run->next = end;
    return 0;
}

/* Begin phases until one has messages under way. @return true when the run is finished */
static bool next_phase(struct wio_universe *u, struct wio_running *run)
{
    while (run->next < run->s.nsteps) {
        int rc = open_tracks(run);
        for (int i = 0; rc == 0 && i < run->ntracks; i++)
            rc = next_round(u, run, i);
        if (rc != 0)
            return wio_run_fail(u, run, rc);
        if (run->nflights > 0)
            return false;
    }
    run->finished = true;
    return true;
}

int wio_run_landed(const struct wio_step *s, int err, size_t bytes)
{
    if (WIO_UNLIKELY(err == WAITIO_ERR_TRUNCATE ||
                     (err == 0 && s->kind == WIO_STEP_RECV && bytes != s->n)))
        return wio_fail(err != 0 ? WAITIO_ERR_TRUNCATE : WAITIO_ERR_ARG,
                        "the member of rank %d contributes %s than the %zu bytes expected here: "
                        "counts or types of this collective differ between its members",
                        s->peer, err != 0 ? "more" : "less", s->n);
    return err;
}

/* All messages of a lane's round are complete: begin the next round. */
static int end_round(struct wio_universe *u, struct wio_running *run, int track)
{
    const struct wio_track *t = &run->track[track];
    int rc = wio_schedule_local(&run->s, t->first, t->end);

    return rc != 0 ? rc : next_round(u, run, track);
}

/* Message @p i is complete. After a failure its data is not used. */
static int land(struct wio_universe *u, struct wio_running *run, int i)
{
    struct wio_flight f = run->flight[i];
    struct wio_result res;
    int rc = wio_wait(u, &f.handle, &res);

    run->flight[i] = run->flight[--run->nflights];
    if (run->error != 0)
        return 0;
    if (rc == 0 && run->s.step[f.step].kind == WIO_STEP_INSIDE)
        rc = wio_inside_error(run->comm, res.err);
    else if (rc == 0)
        rc = wio_run_landed(&run->s.step[f.step], res.err, res.bytes);
    if (rc == 0 && --run->track[f.track].flights == 0)
        rc = end_round(u, run, f.track);
    return rc;
}

/* Test all messages once. *moved: one of them is complete */
static int sweep(struct wio_universe *u, struct wio_running *run, bool *moved)
{
    int rc = 0;

    *moved = false;
    for (int i = run->nflights - 1; rc == 0 && i >= 0; i--) {
        bool done;
        (void)wio_peek(u, &run->flight[i].handle, false, &done);
        if (done) {
            *moved = true;
            rc = land(u, run, i);
        }
    }
    return rc;
}

/* Continue as far as possible without waiting. @return true when finished */
static bool move(struct wio_universe *u, struct wio_running *run)
{
    bool moved = true;

    while (!run->finished && moved) {
        int rc = sweep(u, run, &moved);
        if (rc != 0)
            wio_run_fail(u, run, rc);
        else if (run->error != 0)
            run->finished = run->nflights == 0;
        else if (run->nflights == 0)
            next_phase(u, run);
    }
    return run->finished;
}

/* Wait until some message is complete. @return true when finished */
static bool wait_some(struct wio_universe *u, struct wio_running *run)
{
    int which;

    if (move(u, run))
        return true;
    (void)wio_wait_any(u, &run->flight->handle, sizeof *run->flight, run->nflights, &which);
    return false;
}

int wio_run_now(struct wio_running *run, struct wio_layout *layout)
{
    struct wio_universe *u = wio_api_universe();

    if (run->error != 0)
        return run->error;
    if (u == NULL)
        return wio_last_code();
    wio_inside_take_tickets(run);
    if (run->s.phase == 0) {
        wio_rounds_now(u, run, layout);
    } else {
        bool finished = next_phase(u, run);
        while (!finished)
            finished = wait_some(u, run);
    }
    return WIO_UNLIKELY(run->error != 0) ? wio_run_error(run) : 0;
}

/* ---- started runs ---- */

static enum wio_task_next next_of(const struct wio_running *run)
{
    return run->finished       ? WIO_TASK_OVER
           : run->ntracks == 1 ? WIO_TASK_ALL /* nothing to do before all are complete */
                               : WIO_TASK_ANY;
}

static enum wio_task_next go(struct wio_task *task)
{
    struct wio_running *run = WIO_CONTAINER(task, struct wio_running, task);

    move(run->u, run);
    return next_of(run);
}

int wio_run_start(struct wio_running *run, struct wio_handle *h)
{
    struct wio_universe *u = wio_api_universe();
    struct wio_result res;
    bool failed;
    int rc;

    if (run->error != 0)
        return run->error;
    if (u == NULL)
        return wio_last_code();
    rc = wio_task_begin(u, &run->task, go, h);
    if (rc != 0)
        return rc;
    run->u = u;
    run->started = true;
    wio_inside_take_tickets(run);
    failed = next_phase(u, run) && run->error != 0;
    wio_task_rest(u, &run->task,
                  next_of(run)); /* unless it is complete, another thread may run it from now on */
    if (!failed)
        return 0;
    wio_wait(u, h, &res);
    return wio_run_error(run);
}
