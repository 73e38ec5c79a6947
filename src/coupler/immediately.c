/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges outside the steps, when the program says so. They go by tags of their own, and change
 * nothing of what the schedule sends and takes. */
#include <string.h>

#include "coupler/cpl.h"

enum { OTHER_TAGS = 10000000 };

static int send_one(struct waitio_cpl *cpl, struct wio_cpl_bundle *b)
{
    struct wio_cpl_var **vars = b->vars.at;
    int rc;

    for (size_t i = 0; i < b->vars.n; i++) {
        wio_cpl_unpack_put(vars[i]);
        if (!wio_cpl_flow_peek(&vars[i]->flow))
            return wio_cpl_fail(WAITIO_ERR_STATE,
                                "component '%s' sends '%s' immediately, but has never put it "
                                "(%s:%d)",
                                cpl->components[cpl->mine].name, vars[i]->name, cpl->conf.file,
                                vars[i]->link->line);
    }
    b->tag += OTHER_TAGS;
    rc = wio_cpl_bundle_park(cpl, b, WIO_CPL_DATA, wio_cpl_clock_end(&cpl->clock));
    b->tag -= OTHER_TAGS;
    return rc;
}

static int take_one(struct waitio_cpl *cpl, struct wio_cpl_bundle *b)
{
    struct wio_cpl_var **vars = b->vars.at;
    int rc;

    if (b->over)
        return wio_cpl_fail(
            WAITIO_ERR_STATE,
            "component '%s' receives '%s' immediately, but component '%s' has ended "
            "its run",
            cpl->components[cpl->mine].name, vars[0]->name, cpl->components[b->table->from].name);
    b->tag += OTHER_TAGS;
    rc = wio_cpl_bundle_post(cpl, b);
    if (rc == 0)
        rc = wio_cpl_bundle_take(cpl, b, 0, true);
    b->tag -= OTHER_TAGS;
    b->have = -1; /* what the schedule wants next, it must fetch */
    for (size_t i = 0; i < b->vars.n; i++)
        vars[i]->fresh = true;
    return rc;
}

static int exchange(struct waitio_cpl *cpl, const char *other, bool sends)
{
    int component = wio_cpl_component(cpl, other), rc = wio_cpl_hear_starts(cpl);
    size_t done = 0;

    for (size_t i = 0; rc == 0 && i < cpl->bundles.n; i++) {
        struct wio_cpl_bundle *b = ((struct wio_cpl_bundle **)cpl->bundles.at)[i];

        if (b->now || b->shift < 0 || b->sends != sends ||
            (sends ? b->table->to : b->table->from) != component)
            continue;
        rc = sends ? send_one(cpl, b) : take_one(cpl, b);
        done++;
    }
    if (rc == 0 && done == 0)
        rc = wio_cpl_fail(WAITIO_ERR_ARG,
                          "component '%s' %s component '%s' immediately, but %s has nothing to "
                          "exchange that way with lag -1 or later",
                          cpl->components[cpl->mine].name, sends ? "sends to" : "receives from",
                          other, cpl->conf.file);
    return rc;
}

static int immediately(struct waitio_cpl *cpl, const char *other, bool sends)
{
    int rc = wio_cpl_enter(cpl);

    if (rc == 0 && cpl->phase != WIO_CPL_RUNS)
        rc = wio_cpl_fail(WAITIO_ERR_STATE,
                          "component '%s' exchanges with component '%s' immediately, before the "
                          "start",
                          cpl->components[cpl->mine].name, other);
    if (rc == 0 && cpl->back.any)
        rc = wio_cpl_fail(WAITIO_ERR_UNSUPPORTED,
                          "component '%s' exchanges with component '%s' immediately, which has no "
                          "time by which it is found again when a component comes back; use steps, "
                          "or take rejoin: yes out of %s",
                          cpl->components[cpl->mine].name, other, cpl->conf.file);
    return wio_cpl_leave(cpl, rc == 0 ? exchange(cpl, other, sends) : rc);
}

int waitio_cpl_send_now(waitio_cpl_t cpl, const char *component)
{
    return immediately(cpl, component, true);
}

int waitio_cpl_recv_now(waitio_cpl_t cpl, const char *component)
{
    return immediately(cpl, component, false);
}
