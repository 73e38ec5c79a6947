/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Steps that pass over the time of something. An exchange, or a restart, is due when a step begins:
 * what is due within a step is left out. Of a field that is told once; a restart that only some
 * components write is worth nothing, so that the run ends.
 */
#include <stdio.h>

#include "coupler/cpl.h"

/* @return the first multiple of the interval within the step, 0: there is none */
static int64_t passes(const struct wio_cpl_clock *clock, int64_t interval)
{
    int64_t left = interval - clock->now % interval;

    return left < clock->dt ? clock->now + left : 0;
}

static int check_restart(const struct waitio_cpl *cpl)
{
    const struct wio_cpl_clock *t = &cpl->clock;
    int64_t interval = cpl->conf.restart.interval, at = interval > 0 ? passes(t, interval) : 0;

    if (at == 0)
        return 0;
    return wio_cpl_fail(WAITIO_ERR_CONFIG,
                        "component '%s' cannot write its restart for %lld s: its step goes from "
                        "%lld s to %lld s; let restart_intvl, %lld s, be a multiple of the time "
                        "steps of all components (%s)",
                        cpl->components[cpl->mine].name, (long long)at, (long long)t->now,
                        (long long)wio_cpl_clock_end(t), (long long)interval, cpl->conf.file);
}

static void check_gets(const struct waitio_cpl *cpl, struct wio_cpl_bundle *b)
{
    const struct wio_cpl_clock *t = &cpl->clock;
    int64_t at = b->sends || b->now || b->told ? 0 : passes(t, b->interval);
    const struct wio_cpl_var *v = ((struct wio_cpl_var **)b->vars.at)[0];

    if (at == 0)
        return;
    b->told = true;
    if (cpl->rank == 0)
        (void)fprintf(stderr,
                      "waitio coupler: component '%s' gets '%s' less often than its interval, %lld "
                      "s, says: only where one of its steps begins; the one from %lld s to %lld s "
                      "passes over %lld s (%s:%d)\n",
                      cpl->components[cpl->mine].name, v->name, (long long)b->interval,
                      (long long)t->now, (long long)wio_cpl_clock_end(t), (long long)at,
                      cpl->conf.file, v->link->line);
}

int wio_cpl_rhythm(struct waitio_cpl *cpl)
{
    for (size_t i = 0; i < cpl->bundles.n; i++)
        check_gets(cpl, ((struct wio_cpl_bundle **)cpl->bundles.at)[i]);
    return check_restart(cpl);
}
