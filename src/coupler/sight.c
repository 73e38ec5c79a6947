/* SPDX-License-Identifier: BSD-3-Clause */
/* What calls of the coupler tell of themselves: settings, times, the progress file. */
#include "coupler/sight.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/cpl.h"

/* Events that a process keeps: 40 MB. */
enum { EVENTS = 500000 };
/* How often the progress file is written at most. */
static const double PAUSE = 0.25;
/* Waits that nobody would see in a timeline. */
static const double SHORT = 1e-6;

static const char *setting(const char *name)
{
    const char *text = getenv(name);

    return text != NULL && text[0] != '\0' ? text : NULL;
}

/* The first process that was told where by its environment writes the report, else the first that
 * the configuration tells. @return the greater the better, 0: nobody has told this one */
static int writes_report(struct waitio_cpl *cpl)
{
    const char *told = setting("WAITIO_CPL_REPORT");

    cpl->sight.report_to = told != NULL ? told : cpl->conf.report;
    if (cpl->sight.report_to == NULL)
        return 0;
    return cpl->size - cpl->me + (told != NULL ? cpl->size : 0);
}

enum { REPORT, TIMELINE, FILES, WISHES };

/* What any process wants. */
static int agree(struct waitio_cpl *cpl)
{
    struct wio_cpl_sight *s = &cpl->sight;
    int all[WISHES], mine[WISHES] = {writes_report(cpl), setting("WAITIO_CPL_TRACE") != NULL,
                                     (int)wio_cpl_files_wanted(cpl)};
    struct wio_cpl_op op = wio_cpl_collective(cpl, WIO_CPL_SET_ALL, 0);
    int rc;

    if (WAITIO_MPI_Iallreduce(mine, all, WISHES, WAITIO_MPI_INT, WAITIO_MPI_MAX, cpl->all,
                              &op.req) != 0)
        return wio_cpl_failed();
    rc = wio_cpl_wait(cpl, &op, 1);
    if (rc != 0)
        return rc;
    s->report = all[REPORT] > 0;
    s->writer = (all[REPORT] > cpl->size ? 2 : 1) * cpl->size - all[REPORT];
    s->timeline = all[TIMELINE] != 0;
    cpl->logs.files = (enum wio_cpl_files)all[FILES];
    s->on = s->report || s->timeline || cpl->logs.files == WIO_CPL_FILES_ALL;
    return 0;
}

int wio_cpl_sight_again(struct waitio_cpl *cpl)
{
    int rc = agree(cpl);

    return rc == 0 && cpl->sight.timeline ? wio_cpl_clocks(cpl, 0) : rc;
}

int wio_cpl_sight_open(struct waitio_cpl *cpl)
{
    struct wio_cpl_sight *s = &cpl->sight;
    const char *progress = setting("WAITIO_CPL_PROGRESS");
    int rc;

    if (progress != NULL && cpl->rank == 0) {
        size_t room = strlen(progress) + 24;

        s->progress = wio_cpl_new(room, 1);
        if (s->progress == NULL)
            return WAITIO_ERR_NOMEM;
        wio_cpl_text(s->progress, room, "%s/cpl.%d", progress, cpl->mine);
    }
    rc = agree(cpl);
    if (rc != 0)
        return rc;
    wio_cpl_logs_open(cpl);
    if (!s->on)
        return 0;
    s->opened = WAITIO_MPI_Wtime();
    s->for_component = wio_cpl_new((size_t)cpl->n_components, sizeof *s->for_component);
    if (s->for_component == NULL)
        return WAITIO_ERR_NOMEM;
    return s->timeline ? wio_cpl_clocks(cpl, 0) : 0;
}

void wio_cpl_sight_free(struct waitio_cpl *cpl)
{
    free(cpl->sight.for_component);
    free(cpl->sight.progress);
    wio_cpl_list_free(&cpl->sight.events);
    wio_cpl_logs_close(cpl);
}

double wio_cpl_sight_now(const struct waitio_cpl *cpl)
{
    return cpl->sight.on ? WAITIO_MPI_Wtime() : 0;
}

static void note(struct waitio_cpl *cpl, struct wio_cpl_event event)
{
    struct wio_cpl_event *place;

    if (!cpl->sight.timeline)
        return;
    if (cpl->sight.events.n >= EVENTS) {
        cpl->sight.lost++;
        return;
    }
    place = wio_cpl_push(&cpl->sight.events, sizeof *place);
    if (place != NULL)
        *place = event;
    else
        cpl->sight.lost++;
}

void wio_cpl_sight_enter(struct waitio_cpl *cpl)
{
    cpl->sight.entered = wio_cpl_sight_now(cpl);
}

void wio_cpl_sight_leave(struct waitio_cpl *cpl)
{
    struct wio_cpl_sight *s = &cpl->sight;
    double now;

    if (!s->on || s->started <= 0)
        return;
    now = WAITIO_MPI_Wtime();
    s->inside += now - (s->entered > s->started ? s->entered : s->started);
    note(cpl, (struct wio_cpl_event){s->entered, now, WIO_CPL_CALL, -1, cpl->clock.now, NULL});
}

void wio_cpl_sight_start(struct waitio_cpl *cpl)
{
    cpl->sight.started = wio_cpl_sight_now(cpl);
    if (cpl->logs.calls != NULL)
        wio_cpl_log(cpl, "start");
    wio_cpl_logs_conf(cpl);
}

/* Complete at any moment: a reader sees the old file or the new one. */
static void tell_progress(struct waitio_cpl *cpl, bool last)
{
    struct wio_cpl_sight *s = &cpl->sight;
    double now = WAITIO_MPI_Wtime();
    char other[PATH_MAX];
    FILE *out;

    if (now - s->told < PAUSE && !last)
        return;
    s->told = now;
    wio_cpl_text(other, sizeof other, "%s.new", s->progress);
    out = fopen(other, "w");
    if (out == NULL)
        return; /* nobody must fail for a display */
    (void)fprintf(out, "%lld %lld %s\n",
                  (long long)(last ? wio_cpl_clock_end(&cpl->clock) : cpl->clock.now),
                  (long long)s->steps, cpl->components[cpl->mine].name);
    if (fclose(out) == 0)
        (void)rename(other, s->progress);
}

static void end_step(struct waitio_cpl *cpl, double now)
{
    struct wio_cpl_sight *s = &cpl->sight;

    if (s->steps > 0)
        note(cpl, (struct wio_cpl_event){s->step_from, now, WIO_CPL_STEP, -1, s->step_model, NULL});
    s->step_from = now;
}

void wio_cpl_sight_step(struct waitio_cpl *cpl)
{
    struct wio_cpl_sight *s = &cpl->sight;

    if (s->on)
        end_step(cpl, s->entered);
    if (cpl->logs.calls != NULL)
        wio_cpl_log(cpl, "step %lld: %lld s", (long long)s->steps + 1, (long long)cpl->clock.dt);
    s->step_model = cpl->clock.now;
    s->steps++;
    if (s->progress != NULL)
        tell_progress(cpl, false);
}

void wio_cpl_sight_end(struct waitio_cpl *cpl)
{
    if (cpl->logs.calls != NULL)
        wio_cpl_log(cpl, "end of the run at %lld s", (long long)wio_cpl_clock_end(&cpl->clock));
    if (cpl->sight.progress != NULL)
        tell_progress(cpl, true);
    if (!cpl->sight.on)
        return;
    cpl->sight.ended = WAITIO_MPI_Wtime();
    end_step(cpl, cpl->sight.ended);
}

void wio_cpl_sight_of(struct waitio_cpl *cpl, struct wio_cpl_bundle *bundle)
{
    cpl->sight.bundle = bundle;
}

void wio_cpl_sight_waited(struct waitio_cpl *cpl, int peer, double since)
{
    struct wio_cpl_sight *s = &cpl->sight;
    double now;

    if (!s->on || s->started <= 0 || peer < 0)
        return;
    now = WAITIO_MPI_Wtime();
    s->for_component[cpl->component_of[peer]] += now - since;
    if (s->bundle != NULL)
        s->bundle->waited += now - since;
    if (now - since > SHORT)
        note(cpl, (struct wio_cpl_event){since, now, WIO_CPL_WAITED, peer, 0, s->bundle});
}

void wio_cpl_sight_message(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, int peer, size_t n,
                           int64_t stamp)
{
    double now;

    wio_cpl_moved(b, n);
    if (cpl->logs.messages != NULL)
        wio_cpl_log_message(cpl, b, peer, n, stamp);
    if (!cpl->sight.timeline)
        return;
    now = WAITIO_MPI_Wtime();
    note(cpl,
         (struct wio_cpl_event){now, now, b->sends ? WIO_CPL_SENT : WIO_CPL_GOT, peer, stamp, b});
}
