/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules of time (flow.h): the vectors of the published interface, and random runs against the
 * formula that they follow. One number stands for a field; no processes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "coupler/base.h"
#include "coupler/flow.h"

enum { MOST = 64 };

/* A direction: who sends in which steps, who receives in which. */
struct direction {
    const char *name;
    int64_t interval;
    int lag;
    enum wio_cpl_reduce reduce;
    const int *send_steps, *receive_steps; /* lengths, ended by 0 */
    bool no_initial;                       /* nothing is put before the first step */
    bool even_only;                        /* puts in even steps only */
    bool twice;                            /* a second put in each step, 500 more */
    int sign;                              /* of all values */
    int64_t lag_seconds;                   /* in place of lag; 0: lag counts */
};

struct message {
    enum wio_cpl_kind kind;
    int64_t stamp;
    double value;
};

struct channel {
    struct message m[2 * MOST];
    size_t n;
    bool failed; /* something was due that was not put */
};

static int64_t shift_of(const struct direction *d)
{
    const struct wio_cpl_link link = {.interval = d->interval,
                                      .lag = d->lag,
                                      .has_shift = d->lag_seconds != 0,
                                      .shift = d->lag_seconds};

    return wio_cpl_link_shift(&link);
}

static void put(struct wio_cpl_flow *f, const struct wio_cpl_clock *c, const struct direction *d,
                int s)
{
    double v = d->sign * (1000.0 * s + 1);

    if (d->even_only && s % 2 != 0)
        return;
    wio_cpl_flow_put(f, c, &v);
    v = d->sign * (1000.0 * s + 501);
    if (d->twice && s > 0)
        wio_cpl_flow_put(f, c, &v);
}

static void send(struct channel *ch, struct wio_cpl_flow *f, int64_t at, bool ends)
{
    enum wio_cpl_due due = wio_cpl_flow_due(f->interval, f->shift, at, ends);

    if (!ends)
        wio_cpl_flow_pass(f, at);
    if (due == WIO_CPL_NOT_DUE)
        return;
    if (!wio_cpl_flow_take(f, at)) {
        ch->failed = true;
        return;
    }
    ch->m[ch->n++] =
        (struct message){due == WIO_CPL_DUE ? WIO_CPL_DATA : WIO_CPL_PART, at, f->last[0]};
}

static void run_sender(const struct direction *d, struct channel *ch)
{
    struct wio_cpl_clock clock = {false, 0, 0};
    struct wio_cpl_flow f = {.interval = d->interval,
                             .shift = shift_of(d),
                             .reduce = d->reduce,
                             .fill = WIO_CPL_FILL,
                             .n = 1};

    *ch = (struct channel){.n = 0};
    assert_int_equal(wio_cpl_flow_init(&f), 0);
    if (!d->no_initial)
        put(&f, &clock, d, 0);
    for (int s = 1; d->send_steps[s - 1] != 0; s++) {
        assert_int_equal(wio_cpl_clock_step(&clock, d->send_steps[s - 1]), 0);
        send(ch, &f, clock.now, false);
        put(&f, &clock, d, s);
    }
    send(ch, &f, wio_cpl_clock_end(&clock), true);
    ch->m[ch->n++] = (struct message){WIO_CPL_END, wio_cpl_clock_end(&clock), 0};
    wio_cpl_flow_free(&f);
}

/* "1:1 2:F 3:2001": what each step gets; E where it never comes. */
static void run_receiver(const struct direction *d, const struct channel *ch, char out[2000])
{
    struct wio_cpl_clock clock = {false, 0, 0};
    size_t at = 0;
    int64_t have = -1;
    double value = 0;
    int n = 0;

    out[0] = '\0';
    for (int s = 1; d->receive_steps[s - 1] != 0; s++) {
        enum wio_cpl_verdict verdict = WIO_CPL_SKIP;
        int64_t wanted;

        assert_int_equal(wio_cpl_clock_step(&clock, d->receive_steps[s - 1]), 0);
        n += snprintf(out + n, 2000 - (size_t)n, "%s%d:", s > 1 ? " " : "", s);
        if (!wio_cpl_wants(d->interval, clock.now)) {
            n += snprintf(out + n, 2000 - (size_t)n, "F");
            continue;
        }
        wanted = wio_cpl_wanted(shift_of(d), clock.now);
        if (wanted == have)
            verdict = WIO_CPL_KEEP;
        while (verdict == WIO_CPL_SKIP && at < ch->n) {
            verdict =
                wio_cpl_judge(d->interval, shift_of(d), wanted, ch->m[at].kind, ch->m[at].stamp);
            at += verdict != WIO_CPL_KEEP;
        }
        if (verdict == WIO_CPL_TAKE || (verdict == WIO_CPL_KEEP && have >= 0)) {
            value = verdict == WIO_CPL_TAKE ? ch->m[at - 1].value : value;
            have = wanted;
            n += snprintf(out + n, 2000 - (size_t)n, "%.10g", value);
            continue;
        }
        n += snprintf(out + n, 2000 - (size_t)n, verdict == WIO_CPL_ENDED ? "E" : "M");
        break;
    }
}

static const int EIGHT[] = {3600, 3600, 3600, 3600, 3600, 3600, 3600, 3600, 0};
static const int SEVEN[] = {3600, 3600, 3600, 3600, 3600, 3600, 3600, 0};
static const int SIX[] = {3600, 3600, 3600, 3600, 3600, 3600, 0};
static const int FOUR[] = {3600, 3600, 3600, 3600, 0};
static const int THREE[] = {3600, 3600, 3600, 0};
static const int HALVES[] = {1800, 1800, 1800, 1800, 1800, 1800, 1800, 1800, 0};
static const int UNEVEN[] = {1800, 1800, 3600, 900, 2700, 3600, 0};

static const struct {
    struct direction d;
    const char *gets;
} vectors[] = {
    {{"e02", 7200, -1, WIO_CPL_LAST, EIGHT, EIGHT, .sign = 1},
     "1:1 2:F 3:2001 4:F 5:4001 6:F 7:6001 8:F"},
    {{"e02 back", 7200, -1, WIO_CPL_LAST, EIGHT, EIGHT, .sign = -1},
     "1:-1 2:F 3:-2001 4:F 5:-4001 6:F 7:-6001 8:F"},
    {{"e04", 7200, -1, WIO_CPL_MEAN, EIGHT, EIGHT, .sign = 1},
     "1:1 2:F 3:1501 4:F 5:3501 6:F 7:5501 8:F"},
    {{"e07", 3600, -1, WIO_CPL_LAST, EIGHT, EIGHT, .sign = 1},
     "1:1 2:1001 3:2001 4:3001 5:4001 6:5001 7:6001 8:7001"},
    {{"e07 back", 3600, 1, WIO_CPL_LAST, EIGHT, EIGHT, .sign = -1},
     "1:-1001 2:-2001 3:-3001 4:-4001 5:-5001 6:-6001 7:-7001 8:-8001"},
    {{"e14", 7200, 1, WIO_CPL_LAST, EIGHT, EIGHT, .sign = 1},
     "1:2001 2:F 3:4001 4:F 5:6001 6:F 7:8001 8:F"},
    {{"e15", 7200, 1, WIO_CPL_MEAN, EIGHT, EIGHT, .sign = 1},
     "1:1501 2:F 3:3501 4:F 5:5501 6:F 7:7501 8:F"},
    {{"e25", 3600, 1, WIO_CPL_MEAN, EIGHT, EIGHT, .sign = 1},
     "1:1001 2:2001 3:3001 4:4001 5:5001 6:6001 7:7001 8:8001"},
    {{"e40", 3600, 1, WIO_CPL_LAST, EIGHT, EIGHT, .no_initial = true, .sign = 1},
     "1:1001 2:2001 3:3001 4:4001 5:5001 6:6001 7:7001 8:8001"},
    {{"e17", 3600, -1, WIO_CPL_MEAN, HALVES, FOUR, .sign = 1}, "1:1 2:1501 3:3501 4:5501"},
    {{"e17 back", 3600, -1, WIO_CPL_MEAN, FOUR, HALVES, .sign = -1},
     "1:-1 2:F 3:-1001 4:F 5:-2001 6:F 7:-3001 8:F"},
    {{"e20", 5400, -1, WIO_CPL_LAST, EIGHT, EIGHT, .sign = 1},
     "1:1 2:F 3:F 4:3001 5:F 6:F 7:6001 8:F"},
    {{"e26", 7200, -1, WIO_CPL_LAST, EIGHT, EIGHT, .sign = 1},
     "1:1 2:F 3:2001 4:F 5:4001 6:F 7:6001 8:F"},
    {{"taSNP", 3600, -1, WIO_CPL_LAST, UNEVEN, FOUR, .sign = 1}, "1:1 2:2001 3:3001 4:5001"},
    {{"taAVR", 3600, -1, WIO_CPL_MEAN, UNEVEN, FOUR, .sign = 1}, "1:1 2:1501 3:3001 4:4751"},
    {{"e23", 14400, -1, WIO_CPL_MEAN, EIGHT, EIGHT, .even_only = true, .sign = 1},
     "1:1 2:F 3:F 4:F 5:3001 6:F 7:F 8:F"},
    {{"putput", 3600, -1, WIO_CPL_LAST, THREE, THREE, .twice = true, .sign = 1},
     "1:1 2:1501 3:2501"},
    {{"putputavr", 3600, -1, WIO_CPL_MEAN, THREE, THREE, .twice = true, .sign = 1},
     "1:1 2:1251 3:2251"},
    {{"m16 x1", 7200, 1, WIO_CPL_LAST, SIX, SIX, .sign = 1}, "1:2001 2:F 3:4001 4:F 5:6001 6:F"},
    {{"m19 x1", 10800, -1, WIO_CPL_MEAN, SIX, SIX, .sign = 1}, "1:1 2:F 3:F 4:2001 5:F 6:F"},
    /* mended: messages that are older than what the step wants are passed over */
    {{"e19", 1800, -1, WIO_CPL_LAST, HALVES, FOUR, .sign = 1}, "1:1 2:2001 3:4001 4:6001"},
    /* a run that ends within an interval of lag 1 delivers what there is */
    {{"part", 7200, 1, WIO_CPL_LAST, SEVEN, SEVEN, .sign = 1},
     "1:2001 2:F 3:4001 4:F 5:6001 6:F 7:7001"},
    {{"part mean", 7200, 1, WIO_CPL_MEAN, SEVEN, SEVEN, .sign = 1},
     "1:1501 2:F 3:3501 4:F 5:5501 6:F 7:7001"},
    /* other reductions, and other lags: earlier ones wait for nothing, later ones end with the run
     */
    {{"sum", 7200, -1, WIO_CPL_SUM, EIGHT, EIGHT, .sign = 1},
     "1:1 2:F 3:3002 4:F 5:7002 6:F 7:11002 8:F"},
    {{"least", 7200, -1, WIO_CPL_LEAST, EIGHT, EIGHT, .sign = -1},
     "1:-1 2:F 3:-2001 4:F 5:-4001 6:F 7:-6001 8:F"},
    {{"greatest", 7200, -1, WIO_CPL_GREATEST, EIGHT, EIGHT, .sign = -1},
     "1:-1 2:F 3:-1001 4:F 5:-3001 6:F 7:-5001 8:F"},
    {{"lag -2", 7200, -2, WIO_CPL_LAST, EIGHT, EIGHT, .sign = 1},
     "1:1 2:F 3:1 4:F 5:2001 6:F 7:4001 8:F"},
    {{"lag -3", 3600, -3, WIO_CPL_LAST, SIX, SIX, .sign = 1}, "1:1 2:1 3:1 4:1001 5:2001 6:3001"},
    {{"lag -2 mean", 7200, -2, WIO_CPL_MEAN, EIGHT, EIGHT, .sign = 1},
     "1:1 2:F 3:1 4:F 5:1501 6:F 7:3501 8:F"},
    {{"lag 2", 3600, 2, WIO_CPL_LAST, SIX, SIX, .sign = 1},
     "1:2001 2:3001 3:4001 4:5001 5:6001 6:6001"},
    {{"lag 3", 7200, 3, WIO_CPL_LAST, SEVEN, SEVEN, .sign = 1},
     "1:6001 2:F 3:7001 4:F 5:7001 6:F 7:7001"},
    /* a later lag: the first message, too, is of one interval alone */
    {{"lag 2 sum", 3600, 2, WIO_CPL_SUM, SIX, SIX, .sign = 1},
     "1:2001 2:3001 3:4001 4:5001 5:6001 6:6001"},
    {{"lag 2 mean", 7200, 2, WIO_CPL_MEAN, SEVEN, SEVEN, .sign = 1},
     "1:3501 2:F 3:5501 4:F 5:7001 6:F 7:7001"},
    {{"lag 2 least", 7200, 2, WIO_CPL_LEAST, EIGHT, EIGHT, .sign = 1},
     "1:3001 2:F 3:5001 4:F 5:7001 6:F 7:7001 8:F"},
    {{"lag 2 greatest", 7200, 2, WIO_CPL_GREATEST, EIGHT, EIGHT, .sign = -1},
     "1:-3001 2:F 3:-5001 4:F 5:-7001 6:F 7:-7001 8:F"},
    {{"lag 3 sum", 7200, 3, WIO_CPL_SUM, SEVEN, SEVEN, .sign = 1},
     "1:11002 2:F 3:7001 4:F 5:7001 6:F 7:7001"},
    {{"lag 3 mean", 3600, 3, WIO_CPL_MEAN, HALVES, FOUR, .sign = 1}, "1:5501 2:7501 3:7501 4:7501"},
    {{"lag 3 least", 3600, 3, WIO_CPL_LEAST, SIX, SIX, .sign = 1},
     "1:3001 2:4001 3:5001 4:6001 5:6001 6:6001"},
    {{"lag 3 greatest", 3600, 3, WIO_CPL_GREATEST, SIX, SIX, .sign = -1},
     "1:-3001 2:-4001 3:-5001 4:-6001 5:-6001 6:-6001"},
    {{"9000 s sum", 3600, 0, WIO_CPL_SUM, HALVES, FOUR, .sign = 1, .lag_seconds = 9000},
     "1:9002 2:13002 3:8001 4:8001"},
    {{"9000 s mean", 3600, 0, WIO_CPL_MEAN, HALVES, FOUR, .sign = 1, .lag_seconds = 9000},
     "1:4501 2:6501 3:8001 4:8001"},
    {{"9000 s least", 3600, 0, WIO_CPL_LEAST, HALVES, FOUR, .sign = 1, .lag_seconds = 9000},
     "1:4001 2:6001 3:8001 4:8001"},
    {{"9000 s greatest", 3600, 0, WIO_CPL_GREATEST, HALVES, FOUR, .sign = -1, .lag_seconds = 9000},
     "1:-4001 2:-6001 3:-8001 4:-8001"},
    {{"lag 2, ended", 3600, 2, WIO_CPL_LAST, THREE, FOUR, .sign = 1}, "1:2001 2:3001 3:3001 4:E"},
    /* errors: ended, and never sent */
    {{"e21", 3600, -1, WIO_CPL_LAST, SIX, EIGHT, .sign = 1},
     "1:1 2:1001 3:2001 4:3001 5:4001 6:5001 7:E"},
    {{"too short", 1800, -1, WIO_CPL_LAST, FOUR, HALVES, .sign = 1}, "1:1 2:M"},
};

static void follows_published_vectors(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        struct channel ch;
        char out[2000];

        run_sender(&vectors[i].d, &ch);
        run_receiver(&vectors[i].d, &ch, out);
        if (strcmp(out, vectors[i].gets) != 0)
            fail_msg("%s: got %s", vectors[i].d.name, out);
        assert_false(ch.failed);
    }
}

static void misses_puts(void **state)
{
    struct direction no_initial = {
        "e05", 3600, -1, WIO_CPL_LAST, EIGHT, EIGHT, .no_initial = true, .sign = 1};
    struct direction even = {"e22",    3600, -1, WIO_CPL_LAST, EIGHT, EIGHT, .even_only = true,
                             .sign = 1};
    struct channel ch;

    (void)state;
    run_sender(&no_initial, &ch);
    assert_true(ch.failed);
    run_sender(&even, &ch);
    assert_true(ch.failed);
}

/* ---- against the formula -------------------------------------------------------------------- */

static uint64_t seed = 88172645463325252u;

static int random_below(int n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int)(seed % (uint64_t)n);
}

/* What the step that begins at `at` must get, from all puts of the sender. */
static double formula(const struct direction *d, int64_t at)
{
    int64_t end = wio_cpl_wanted(shift_of(d), at), t = 0;
    double sum = 0, seconds = 0, last = NAN;

    if (d->lag == -1 && at == 0)
        return 1;
    for (int s = 1; d->send_steps[s - 1] != 0; s++) {
        int dt = d->send_steps[s - 1];

        t += dt;
        if (t == end)
            last = 1000.0 * s + 1;
        if (t > end - d->interval && t <= end) {
            sum += (1000.0 * s + 1) * dt;
            seconds += dt;
        }
    }
    return d->reduce == WIO_CPL_MEAN ? sum / seconds : last;
}

/* Steps that meet at all multiples of the interval, as programs of one run do. */
static void random_steps(int *steps, int64_t interval, int intervals)
{
    int n = 0;

    for (int k = 0; k < intervals; k++) {
        int left = (int)interval;

        while (left > 0) {
            int dt = n % 4 == 3 || left < 2 ? left : 1 + random_below(left);

            steps[n++] = dt;
            left -= dt;
        }
    }
    steps[n] = 0;
}

static void agrees_with_formula(void **state)
{
    (void)state;
    for (int round = 0; round < 2000; round++) {
        int send_steps[MOST], receive_steps[MOST];
        struct direction d = {"random",
                              1 + random_below(5000),
                              random_below(2) ? 1 : -1,
                              random_below(2) ? WIO_CPL_MEAN : WIO_CPL_LAST,
                              send_steps,
                              receive_steps,
                              .sign = 1};
        struct channel ch;
        struct wio_cpl_clock clock = {false, 0, 0};
        size_t at = 0;

        random_steps(send_steps, d.interval, 6);
        random_steps(receive_steps, d.interval, 6);
        run_sender(&d, &ch);
        assert_false(ch.failed);
        for (int s = 0; receive_steps[s] != 0; s++) {
            assert_int_equal(wio_cpl_clock_step(&clock, receive_steps[s]), 0);
            if (!wio_cpl_wants(d.interval, clock.now))
                continue;
            assert_int_equal(wio_cpl_judge(d.interval, shift_of(&d),
                                           wio_cpl_wanted(shift_of(&d), clock.now), ch.m[at].kind,
                                           ch.m[at].stamp),
                             WIO_CPL_TAKE);
            assert_true(fabs(ch.m[at].value - formula(&d, clock.now)) <= 1e-14 * 64001);
            at++;
        }
        assert_int_equal(ch.m[at].kind, WIO_CPL_END);
    }
}

/* With lag 2 and 3: all that comes before the end of the run, from the first message on. */
static void later_lags_agree_with_formula(void **state)
{
    (void)state;
    for (int round = 0; round < 1000; round++) {
        int steps[MOST];
        struct direction d = {
            "later",  1 + random_below(5000), 2 + random_below(2), WIO_CPL_MEAN, steps, steps,
            .sign = 1};
        struct channel ch;

        random_steps(steps, d.interval, 6);
        run_sender(&d, &ch);
        assert_false(ch.failed);
        for (int k = 0; k <= 6 - d.lag; k++) {
            int64_t at = k * d.interval;

            assert_int_equal(ch.m[k].stamp, wio_cpl_wanted(shift_of(&d), at));
            assert_true(fabs(ch.m[k].value - formula(&d, at)) <= 1e-14 * 64001);
        }
    }
}

static void masks_fill_in_means(void **state)
{
    struct wio_cpl_clock clock = {true, 0, 100};
    struct wio_cpl_flow f = {.interval = 200, .reduce = WIO_CPL_MEAN, .fill = WIO_CPL_FILL, .n = 3};
    double a[3] = {1, WIO_CPL_FILL, WIO_CPL_FILL}, b[3] = {3, 5, WIO_CPL_FILL};

    (void)state;
    assert_int_equal(wio_cpl_flow_init(&f), 0);
    wio_cpl_flow_put(&f, &clock, a);
    assert_int_equal(wio_cpl_clock_step(&clock, 100), 0);
    wio_cpl_flow_put(&f, &clock, b);
    assert_true(wio_cpl_flow_take(&f, 200));
    assert_true(f.last[0] == 2 && f.last[1] == 5 && f.last[2] == WIO_CPL_FILL);
    wio_cpl_flow_free(&f);
}

/* A put that is no number is seen in all that is made of it, whatever comes before and after. */
static void shows_what_is_no_number(void **state)
{
    static const enum wio_cpl_reduce all[] = {WIO_CPL_MEAN, WIO_CPL_SUM, WIO_CPL_LEAST,
                                              WIO_CPL_GREATEST};
    static const double puts[3][4] = {
        {NAN, 5, 5, WIO_CPL_FILL}, {5, NAN, 7, NAN}, {7, 7, NAN, WIO_CPL_FILL}};

    (void)state;
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        struct wio_cpl_clock clock = {true, 0, 100};
        struct wio_cpl_flow f = {.interval = 100, .reduce = all[k], .fill = WIO_CPL_FILL, .n = 4};

        assert_int_equal(wio_cpl_flow_init(&f), 0);
        for (int i = 0; i < 3; i++)
            wio_cpl_flow_put(&f, &clock, puts[i]);
        assert_true(wio_cpl_flow_take(&f, 100));
        for (int i = 0; i < 4; i++)
            assert_true(isnan(f.last[i]));
        wio_cpl_flow_put(&f, &clock, puts[1]); /* not in the next interval */
        assert_true(wio_cpl_flow_take(&f, 200));
        assert_true(f.last[0] == 5 && f.last[2] == 7);
        wio_cpl_flow_free(&f);
    }
}

/* Outside the schedule: what has been put in this interval; where it was masked all the time, the
 * mean of the interval before is no value of it. Before the first put of an interval it is. */
static void a_look_between_shows_this_interval(void **state)
{
    static const enum wio_cpl_reduce all[] = {WIO_CPL_MEAN, WIO_CPL_SUM, WIO_CPL_LEAST,
                                              WIO_CPL_GREATEST};

    (void)state;
    for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
        struct wio_cpl_clock clock = {true, 0, 100};
        struct wio_cpl_flow f = {.interval = 100, .reduce = all[k], .fill = WIO_CPL_FILL, .n = 2};
        const double first[2] = {1, 7}, second[2] = {3, WIO_CPL_FILL};

        assert_int_equal(wio_cpl_flow_init(&f), 0);
        assert_false(wio_cpl_flow_peek(&f));
        wio_cpl_flow_put(&f, &clock, first);
        assert_true(wio_cpl_flow_take(&f, 100));
        assert_true(wio_cpl_flow_peek(&f));
        assert_true(f.last[0] == 1 && f.last[1] == 7);
        assert_int_equal(wio_cpl_clock_step(&clock, 100), 0);
        wio_cpl_flow_put(&f, &clock, second);
        assert_true(wio_cpl_flow_peek(&f));
        assert_true(f.last[0] == 3 && f.last[1] == WIO_CPL_FILL);
        assert_true(wio_cpl_flow_take(&f, 200)); /* a look changes nothing of what is due */
        assert_true(f.last[0] == 3 && f.last[1] == WIO_CPL_FILL);
        wio_cpl_flow_free(&f);
    }
}

/* At each time all is kept that a receiver's next steps want and that was sent before, and no more.
 */
static void keeps_what_is_wanted_later(void **state)
{
    const int64_t interval = 100, shifts[] = {-100, -250, -300};

    (void)state;
    for (size_t k = 0; k < sizeof shifts / sizeof shifts[0]; k++) {
        struct wio_cpl_flow f = {.interval = interval, .shift = shifts[k], .n = 1};

        assert_int_equal(wio_cpl_flow_init(&f), 0);
        for (int64_t at = 0; at <= 1000; at += 50) {
            const struct wio_cpl_kept *kept = f.kept.at;
            size_t found = 0;

            for (int64_t sent = 0; sent < at; sent += 50)
                if (wio_cpl_flow_due(interval, shifts[k], sent, false) == WIO_CPL_DUE &&
                    sent >= at + shifts[k]) {
                    while (found < f.kept.n && kept[found].at < sent)
                        found++;
                    assert_true(found < f.kept.n && kept[found].at == sent);
                    assert_true(kept[found].data[0] == (double)sent);
                }
            assert_true(f.kept.n <= (size_t)(2 - shifts[k] / interval));
            f.last[0] = (double)at;
            if (wio_cpl_flow_due(interval, shifts[k], at, false) == WIO_CPL_DUE)
                assert_int_equal(wio_cpl_flow_keep(&f, at), 0);
        }
        wio_cpl_flow_free(&f);
    }
}

static void refuses_bad_steps(void **state)
{
    struct wio_cpl_clock clock = {false, 0, 0};

    (void)state;
    assert_true(wio_cpl_clock_step(&clock, 0) < 0);
    assert_true(wio_cpl_clock_step(&clock, -5) < 0);
    assert_true(wio_cpl_clock_step(&clock, INT64_MAX) < 0);
    assert_false(clock.running);
}

static void leaves_only_what_was_passed_over(void **state)
{
    (void)state;
    assert_true(wio_cpl_may_remain(0, 14400, 12600));
    assert_false(wio_cpl_may_remain(0, 21600, 21600));
    assert_true(wio_cpl_may_remain(7200, 25200, 25200));
    assert_false(wio_cpl_may_remain(3600, 21600, 25200));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_published_vectors),
        cmocka_unit_test(misses_puts),
        cmocka_unit_test(agrees_with_formula),
        cmocka_unit_test(later_lags_agree_with_formula),
        cmocka_unit_test(masks_fill_in_means),
        cmocka_unit_test(shows_what_is_no_number),
        cmocka_unit_test(a_look_between_shows_this_interval),
        cmocka_unit_test(keeps_what_is_wanted_later),
        cmocka_unit_test(refuses_bad_steps),
        cmocka_unit_test(leaves_only_what_was_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
