/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules of time: what is due when, and means. */
#include "coupler/flow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/base.h"
#include "coupler/conf.h"
#include "waitio_errors.h"

/* Stamps travel as double precision numbers, which are exact up to here. */
static const int64_t LAST_TIME = (int64_t)1 << 52;

int64_t wio_cpl_clock_end(const struct wio_cpl_clock *clock)
{
    return clock->running ? clock->now + clock->dt : 0;
}

int wio_cpl_clock_step(struct wio_cpl_clock *clock, int64_t dt)
{
    int64_t end = wio_cpl_clock_end(clock);

    if (dt < 1 || dt > LAST_TIME - end)
        return wio_cpl_fail(WAITIO_ERR_ARG, "a time step of %lld s; it must be 1 s or more",
                            (long long)dt);
    *clock = (struct wio_cpl_clock){true, end, dt};
    return 0;
}

int wio_cpl_flow_init(struct wio_cpl_flow *flow)
{
    bool several = flow->reduce != WIO_CPL_LAST;

    flow->put_end = -1;
    flow->last = wio_cpl_new(flow->n, sizeof(double));
    if (several) {
        flow->sum = wio_cpl_new(flow->n, sizeof(double));
        flow->weight = wio_cpl_new(flow->n, sizeof(double));
    }
    return flow->last == NULL || (several && (flow->sum == NULL || flow->weight == NULL))
               ? WAITIO_ERR_NOMEM
               : 0;
}

static void drop(struct wio_cpl_flow *flow, size_t n)
{
    struct wio_cpl_kept *kept = flow->kept.at;

    for (size_t i = 0; i < n; i++)
        free(kept[i].data);
    if (n > 0)
        memmove(kept, kept + n, (flow->kept.n - n) * sizeof *kept);
    flow->kept.n -= n;
}

void wio_cpl_flow_free(struct wio_cpl_flow *flow)
{
    drop(flow, flow->kept.n);
    wio_cpl_list_free(&flow->kept);
    free(flow->last);
    free(flow->sum);
    free(flow->weight);
    flow->last = flow->sum = flow->weight = NULL;
}

static void add(struct wio_cpl_flow *flow, double seconds, const double *data)
{
    for (size_t i = 0; i < flow->n; i++)
        if (data[i] != flow->fill) {
            flow->sum[i] += data[i] * seconds;
            flow->weight[i] += seconds;
        }
}

/* What is no number replaces all, and stays, so that it is seen: hence the negated comparisons. */
static void choose(struct wio_cpl_flow *flow, bool least, const double *data)
{
    for (size_t i = 0; i < flow->n; i++) {
        double v = data[i], old = flow->sum[i];

        if (v == flow->fill)
            continue;
        if (flow->weight[i] == 0 || (!isnan(old) && (least ? !(v >= old) : !(v <= old))))
            flow->sum[i] = v;
        flow->weight[i] = 1;
    }
}

static bool is_due(int64_t interval, int64_t shift, int64_t at)
{
    if (at == 0)
        return shift <= 0;
    return at >= shift && (at - shift) % interval == 0;
}

void wio_cpl_flow_put(struct wio_cpl_flow *flow, const struct wio_cpl_clock *clock,
                      const double *data)
{
    int64_t end = wio_cpl_clock_end(clock);

    flow->put_end = end;
    if (flow->reduce != WIO_CPL_LAST && end > 0) {
        flow->covered = true;
        if (flow->reduce == WIO_CPL_MEAN || flow->reduce == WIO_CPL_SUM)
            add(flow, flow->reduce == WIO_CPL_MEAN ? (double)clock->dt : 1, data);
        else
            choose(flow, flow->reduce == WIO_CPL_LEAST, data);
    } else
        memcpy(flow->last, data, flow->n * sizeof *data);
}

enum wio_cpl_due wio_cpl_flow_due(int64_t interval, int64_t shift, int64_t at, bool ends)
{
    if (shift <= 0)
        return !ends && is_due(interval, shift, at) ? WIO_CPL_DUE : WIO_CPL_NOT_DUE;
    if (is_due(interval, shift, at))
        return WIO_CPL_DUE;
    return ends && at > 0 ? WIO_CPL_DUE_PART : WIO_CPL_NOT_DUE;
}

/* What the puts since the last time come to, so far. */
static void result(struct wio_cpl_flow *flow)
{
    for (size_t i = 0; i < flow->n; i++) {
        double divisor = flow->reduce == WIO_CPL_MEAN ? flow->weight[i] : 1;

        flow->last[i] = flow->weight[i] > 0 ? flow->sum[i] / divisor : flow->fill;
    }
}

static void reduce(struct wio_cpl_flow *flow)
{
    result(flow);
    memset(flow->sum, 0, flow->n * sizeof *flow->sum);
    memset(flow->weight, 0, flow->n * sizeof *flow->weight);
    flow->covered = false;
}

bool wio_cpl_flow_peek(struct wio_cpl_flow *flow)
{
    if (flow->put_end < 0)
        return false;
    if (flow->covered)
        result(flow);
    return true;
}

bool wio_cpl_flow_take(struct wio_cpl_flow *flow, int64_t at)
{
    if (at == 0 || flow->reduce == WIO_CPL_LAST)
        return flow->put_end == at;
    if (!flow->covered)
        return false;
    reduce(flow);
    return true;
}

void wio_cpl_flow_pass(struct wio_cpl_flow *flow, int64_t at)
{
    if (flow->covered && at > 0 && at < flow->shift && (flow->shift - at) % flow->interval == 0)
        reduce(flow);
}

double *wio_cpl_flow_kept(struct wio_cpl_flow *flow, int64_t at)
{
    struct wio_cpl_kept *place = wio_cpl_push(&flow->kept, sizeof *place);

    if (place == NULL)
        return NULL;
    *place = (struct wio_cpl_kept){at, wio_cpl_new(flow->n, sizeof(double))};
    if (place->data == NULL)
        flow->kept.n--;
    return place->data;
}

int wio_cpl_flow_keep(struct wio_cpl_flow *flow, int64_t at)
{
    const struct wio_cpl_kept *kept = flow->kept.at;
    size_t old = 0;
    double *data;

    while (old < flow->kept.n && kept[old].at < at + flow->shift)
        old++;
    drop(flow, old);
    data = wio_cpl_flow_kept(flow, at);
    if (data == NULL)
        return WAITIO_ERR_NOMEM;
    memcpy(data, flow->last, flow->n * sizeof *data);
    return 0;
}

bool wio_cpl_wants(int64_t interval, int64_t at)
{
    return at % interval == 0;
}

int64_t wio_cpl_wanted(int64_t shift, int64_t at)
{
    return at + shift > 0 ? at + shift : 0;
}

enum wio_cpl_verdict wio_cpl_judge(int64_t interval, int64_t shift, int64_t wanted,
                                   enum wio_cpl_kind kind, int64_t stamp)
{
    /* the step that wants it begins before the sender's run ends */
    bool within = stamp < wanted && wanted - shift < stamp;

    if (kind == WIO_CPL_END)
        return within && shift > interval ? WIO_CPL_KEEP : WIO_CPL_ENDED;
    if (stamp == wanted || (kind == WIO_CPL_PART && within))
        return WIO_CPL_TAKE;
    return stamp < wanted ? WIO_CPL_SKIP : WIO_CPL_MISSED;
}

bool wio_cpl_may_remain(int64_t shift, int64_t end, int64_t stamp)
{
    return stamp < end + (shift > 0 ? shift : 0);
}
