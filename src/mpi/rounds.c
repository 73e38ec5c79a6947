/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocking collectives without lanes: round after round, the messages of each in one call of the
 * engine. Short ones take less than a microsecond, so all that does not change is prepared once and
 * kept with the plan.
 */
#include "mpi/inside.h"
#include "mpi/run.h"
#include "os/os.h"

static bool is_message(const struct wio_step *step)
{
    return step->kind == WIO_STEP_SEND || step->kind == WIO_STEP_RECV;
}

static struct wio_leg leg_of(const struct wio_running *run, const struct wio_step *step)
{
    bool send = step->kind == WIO_STEP_SEND;

    return (struct wio_leg){.buf = send ? (void *)(uintptr_t)step->from : step->to,
                            .bytes = step->n,
                            .peer = (uint32_t)step->peer,
                            .tag = run->tag,
                            .send = send,
                            .border = send && wio_run_crosses(run, step)};
}

/* The step of message @p which among those from @p i on. */
static const struct wio_step *step_of(const struct wio_running *run, size_t i, int which)
{
    while (!is_message(&run->s.step[i]) || which-- > 0)
        i++;
    return &run->s.step[i];
}

/* The messages of the round that begins with step @p first. @return false: the run has failed */
static bool exchange(struct wio_universe *u, struct wio_running *run, size_t first,
                     struct wio_leg *leg, int n)
{
    int which = n, rc = wio_exchange(u, &run->comm->twin, leg, n, &which);

    if (WIO_UNLIKELY(rc != 0))
        rc = wio_run_landed(step_of(run, first, which), rc, 0);
    for (int i = 0; rc == 0 && i < n; i++)
        if (WIO_UNLIKELY(!leg[i].send && leg[i].got != leg[i].bytes))
            rc = wio_run_landed(step_of(run, first, i), 0, leg[i].got);
    if (WIO_LIKELY(rc == 0))
        return true;
    (void)wio_run_fail(u, run, rc);
    return false;
}

/* @return false: the run has failed */
static bool local(struct wio_universe *u, struct wio_running *run, size_t first, size_t end)
{
    int rc = 0;

    for (size_t i = first; rc == 0 && run->s.inside != NULL && i < end; i++)
        if (run->s.step[i].kind == WIO_STEP_INSIDE)
            rc = wio_inside_now(u, run, &run->s.step[i]);
    if (rc == 0)
        rc = wio_schedule_local(&run->s, first, end);
    if (WIO_UNLIKELY(rc != 0))
        (void)wio_run_fail(u, run, rc);
    return rc == 0;
}

static int count_messages(const struct wio_running *run, size_t first, size_t end)
{
    int n = 0;

    for (size_t i = first; i < end; i++)
        n += is_message(&run->s.step[i]);
    return n;
}

static void legs_of(const struct wio_running *run, size_t first, size_t end, struct wio_leg *leg)
{
    for (size_t i = first; i < end; i++)
        if (is_message(&run->s.step[i]))
            *leg++ = leg_of(run, &run->s.step[i]);
}

/* ---- as it comes ---- */

static bool messages(struct wio_universe *u, struct wio_running *run, size_t first, size_t end)
{
    struct wio_leg inside[WIO_LEGS_INSIDE], *leg = inside;
    int n = count_messages(run, first, end);
    bool ok;

    if (n > WIO_LEGS_INSIDE)
        leg = wio_os_alloc((size_t)n * sizeof *leg);
    if (leg == NULL) {
        (void)wio_run_fail(
            u, run, wio_fail(WAITIO_ERR_NOMEM, "no memory for %d messages of a collective", n));
        return false;
    }
    legs_of(run, first, end, leg);
    ok = n == 0 || exchange(u, run, first, leg, n);
    if (leg != inside)
        wio_os_free(leg);
    return ok;
}

static void as_it_comes(struct wio_universe *u, struct wio_running *run)
{
    size_t end;
    bool ok = true;

    for (size_t first = 0; ok && first < run->s.nsteps; first = end) {
        end = wio_schedule_round_end(&run->s, first);
        ok = messages(u, run, first, end) && local(u, run, first, end);
    }
}

/* ---- laid out ---- */

static void lay_out(const struct wio_running *run, struct wio_layout *l)
{
    size_t end;
    int used = 0, rounds = 0;

    l->rounds = -1; /* too long, unless the end is reached */
    for (size_t first = 0; first < run->s.nsteps; first = end, rounds++) {
        end = wio_schedule_round_end(&run->s, first);
        int n = count_messages(run, first, end);
        if (rounds == WIO_ROUNDS_INSIDE || used + n > WIO_LEGS_INSIDE)
            return;
        legs_of(run, first, end, &l->leg[used]);
        used += n;
        l->round[rounds].legs = n;
        l->round[rounds].first = (uint32_t)first;
        l->round[rounds].end = (uint32_t)end;
        l->round[rounds].local = (size_t)n < end - first;
    }
    l->rounds = rounds;
}

static void as_laid_out(struct wio_universe *u, struct wio_running *run, struct wio_layout *l)
{
    struct wio_leg *leg = l->leg;
    bool ok = true;

    for (int i = 0; ok && i < l->rounds; i++) {
        int n = l->round[i].legs;
        ok = (n == 0 || exchange(u, run, l->round[i].first, leg, n)) &&
             (!l->round[i].local || local(u, run, l->round[i].first, l->round[i].end));
        leg += n;
    }
}

void wio_rounds_now(struct wio_universe *u, struct wio_running *run, struct wio_layout *layout)
{
    if (layout != NULL && WIO_UNLIKELY(layout->rounds == 0))
        lay_out(run, layout);
    if (layout != NULL && WIO_LIKELY(layout->rounds > 0))
        as_laid_out(u, run, layout);
    else
        as_it_comes(u, run);
    run->finished = true;
}
