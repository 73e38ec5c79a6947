/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/run.h"

#include "api/api.h"
#include "os/os.h"

/* Listed runs. One lock for all: a run is moved by whoever waits, whatever thread started it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct wio_list runs;
static int listed;

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
    run->finished = run->listed = false;
    wio_comm_hold(comm);
}

void wio_run_free(struct wio_running *run)
{
    if (run->flight != run->inside)
        wio_os_free(run->flight);
    if (run->track != &run->only)
        wio_os_free(run->track);
    wio_schedule_free(&run->s);
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

    if (step->kind != WIO_STEP_SEND && step->kind != WIO_STEP_RECV)
        return 0;
    rc = room(run);
    if (rc != 0)
        return rc;
    f = &run->flight[run->nflights];
    f->step = i;
    f->track = track;
    if (step->kind == WIO_STEP_SEND)
        rc = wio_isend(u, &run->comm->twin, (uint32_t)step->peer, step->from, step->n, tag, false,
                       &f->handle);
    else
        rc = wio_irecv(u, &run->comm->twin, step->peer, step->to, step->n, tag, false, &f->handle);
    run->nflights += rc == 0;
    run->track[track].flights += rc == 0;
    return rc;
}

/* What crosses the border between PBs is counted: there should be little. */
static void count_border(struct wio_universe *u, const struct wio_running *run,
                         const struct wio_track *t)
{
    const int *pb = run->comm->topo.pb;
    uint64_t msgs = 0, bytes = 0;

    if (run->comm->topo.npb < 2)
        return;
    for (size_t i = t->first; i < t->end; i++) {
        const struct wio_step *step = &run->s.step[i];
        if (step->kind == WIO_STEP_SEND && pb[step->peer] != pb[run->comm->rank]) {
            msgs++;
            bytes += step->n;
        }
    }
    if (msgs > 0)
        wio_universe_count_border(u, msgs, bytes);
}

/* Something failed: withdraw what can be, so that no buffer stays in use. */
static void withdraw(struct wio_universe *u, struct wio_running *run)
{
    struct wio_result res;
    char text[512];

    wio_text(text, sizeof text, "%s", wio_last_detail());
    for (int i = 0; i < run->nflights; i++)
        (void)wio_cancel(u, &run->flight[i].handle); /* refused for sends: they complete */
    for (int i = 0; i < run->nflights; i++)
        (void)wio_wait(u, &run->flight[i].handle, &res);
    run->nflights = 0;
    run->finished = true;
    wio_fail(run->error, "%s", text);
}

static bool fail(struct wio_universe *u, struct wio_running *run, int code)
{
    run->error = code;
    withdraw(u, run);
    return true;
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
        if (rc == 0 && t->flights > 0)
            count_border(u, run, t);
        else if (rc == 0)
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
            return fail(u, run, rc);
        if (run->nflights > 0)
            return false;
    }
    run->finished = true;
    return true;
}

/* A message is over: did it bring what was expected? */
static int landed(const struct wio_running *run, size_t step, const struct wio_result *res)
{
    const struct wio_step *s = &run->s.step[step];

    if (res->err == WAITIO_ERR_TRUNCATE ||
        (res->err == 0 && s->kind == WIO_STEP_RECV && res->bytes != s->n))
        return wio_fail(res->err != 0 ? WAITIO_ERR_TRUNCATE : WAITIO_ERR_ARG,
                        "the member of rank %d contributes %s than the %zu bytes expected here: "
                        "counts or types of this collective differ between its members",
                        s->peer, res->err != 0 ? "more" : "less", s->n);
    return res->err;
}

/* All messages of a lane's round have landed: on to the next. */
static int end_round(struct wio_universe *u, struct wio_running *run, int track)
{
    const struct wio_track *t = &run->track[track];
    int rc = wio_schedule_local(&run->s, t->first, t->end);

    return rc != 0 ? rc : next_round(u, run, track);
}

/* Flight @p i is over. */
static int land(struct wio_universe *u, struct wio_running *run, int i)
{
    struct wio_flight f = run->flight[i];
    struct wio_result res;
    int rc = wio_wait(u, &f.handle, &res);

    run->flight[i] = run->flight[--run->nflights];
    if (rc == 0)
        rc = landed(run, f.step, &res);
    if (rc == 0 && --run->track[f.track].flights == 0)
        rc = end_round(u, run, f.track);
    return rc;
}

/* Look at all flights once. *moved: one of them has landed */
static int sweep(struct wio_universe *u, struct wio_running *run, bool poll, bool *moved)
{
    int rc = 0;

    *moved = false;
    for (int i = run->nflights - 1; rc == 0 && i >= 0; i--, poll = false) {
        bool done = false;
        rc = wio_peek(u, &run->flight[i].handle, poll, &done);
        if (rc == 0 && done) {
            *moved = true;
            rc = land(u, run, i);
        } else if (run->ntracks == 1) { /* nothing to be done before all have landed */
            break;
        }
    }
    return rc;
}

/* Go on as far as possible without waiting. @return true when finished */
static bool move(struct wio_universe *u, struct wio_running *run)
{
    bool moved = true;

    for (bool poll = true; !run->finished && moved; poll = false) {
        int rc = sweep(u, run, poll, &moved);
        if (rc != 0)
            return fail(u, run, rc);
        if (run->nflights == 0)
            next_phase(u, run);
    }
    return run->finished;
}

/* A phase of one lane, and nothing else to be moved meanwhile: wait for one message after the
 * other. @return true when finished */
static bool wait_round(struct wio_universe *u, struct wio_running *run)
{
    int rc = 0;

    for (int i = 0; i < run->nflights; i++) {
        struct wio_result res;
        rc = wio_wait(u, &run->flight[i].handle, &res);
        if (rc == 0)
            rc = landed(run, run->flight[i].step, &res);
        if (rc != 0) {
            run->flight[i].handle = (struct wio_handle){0};
            return fail(u, run, rc); /* the others are withdrawn */
        }
    }
    run->nflights = run->track->flights = 0;
    rc = end_round(u, run, 0);
    if (rc != 0)
        return fail(u, run, rc);
    return run->nflights == 0 && next_phase(u, run);
}

/* Everything that is under way moves on, and then sleeps until some of it can move again. @return
 * true when finished */
static bool wait_some(struct wio_universe *u, struct wio_running *run)
{
    int last, rc;

    if (wio_runs_listed())
        wio_runs_move();
    if (move(u, run))
        return true;
    last = run->ntracks == 1 ? run->nflights - 1 : 0; /* all, or the one that move() looks at */
    rc = wio_runs_wait(&run->flight[last], sizeof *run->flight, run->nflights - last);
    return rc != 0 && fail(u, run, rc);
}

int wio_run_now(struct wio_running *run)
{
    struct wio_universe *u = wio_api_universe();
    bool finished;

    if (run->error != 0)
        return run->error;
    if (u == NULL)
        return wio_last_code();
    finished = next_phase(u, run);
    while (!finished)
        finished = run->ntracks > 1 || WIO_UNLIKELY(wio_runs_listed()) ? wait_some(u, run)
                                                                       : wait_round(u, run);
    return run->error;
}

/* ---- listed runs ---- */

bool wio_runs_listed(void)
{
    return __atomic_load_n(&listed, __ATOMIC_ACQUIRE) > 0;
}

static void unlist(struct wio_running *run)
{
    wio_list_remove(&run->node);
    run->listed = false;
    __atomic_sub_fetch(&listed, 1, __ATOMIC_RELEASE);
}

void wio_run_start(struct wio_running *run)
{
    struct wio_universe *u = wio_api_universe();

    if (run->error != 0 || u == NULL) {
        run->error = run->error != 0 ? run->error : wio_last_code();
        run->finished = true;
        return;
    }
    pthread_mutex_lock(&lock);
    if (runs.next == NULL)
        wio_list_init(&runs);
    if (!next_phase(u, run)) {
        wio_list_push(&runs, &run->node);
        run->listed = true;
        __atomic_add_fetch(&listed, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
}

/* Lock held. */
static void move_all(struct wio_universe *u)
{
    if (listed == 0)
        return;
    WIO_LIST_FOR_SAFE(it, next, &runs)
    {
        struct wio_running *run = WIO_CONTAINER(it, struct wio_running, node);
        if (move(u, run))
            unlist(run);
    }
}

void wio_runs_move(void)
{
    struct wio_universe *u = wio_api_universe();

    if (u == NULL)
        return;
    pthread_mutex_lock(&lock);
    move_all(u);
    pthread_mutex_unlock(&lock);
}

bool wio_run_poll(struct wio_running *run)
{
    struct wio_universe *u = wio_api_universe();
    bool finished;

    pthread_mutex_lock(&lock);
    if (u != NULL)
        move_all(u);
    finished = run->finished;
    pthread_mutex_unlock(&lock);
    return finished;
}

int wio_runs_wait(const void *handles, size_t stride, int n)
{
    return wio_runs_wait_for(handles, stride, n, INT64_MAX);
}

int wio_runs_wait_for(const void *handles, size_t stride, int n, int64_t timeout_ns)
{
    enum { FEW = 64 };
    struct wio_universe *u = wio_api_universe();
    struct wio_handle few[FEW], *all = few;
    size_t total = (size_t)n, at = 0;
    bool timed_out;
    int which, rc = 0;

    if (u == NULL)
        return wio_last_code();
    pthread_mutex_lock(&lock);
    if (listed > 0)
        WIO_LIST_FOR(it, &runs)
    total += (size_t)WIO_CONTAINER(it, struct wio_running, node)->nflights;
    if (total > FEW)
        all = wio_os_alloc(total * sizeof *all);
    if (all != NULL) {
        for (; at < (size_t)n; at++)
            memcpy(&all[at], (const char *)handles + at * stride, sizeof *all);
        if (listed > 0)
            WIO_LIST_FOR(it, &runs)
            {
                const struct wio_running *run = WIO_CONTAINER(it, struct wio_running, node);
                for (int i = 0; i < run->nflights; i++)
                    all[at++] = run->flight[i].handle;
            }
    }
    pthread_mutex_unlock(&lock);
    if (all == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory to wait for %zu messages", total);
    /* A stale handle means that another thread was faster: there is something to look at. */
    if (at > 0)
        (void)wio_wait_any_for(u, all, sizeof *all, (int)at, timeout_ns, &timed_out, &which);
    if (all != few)
        wio_os_free(all);
    return rc;
}
