/* SPDX-License-Identifier: BSD-3-Clause */
/* waitio-perf: lists of sizes and streams, the forming of pairs, the marks that show that data
 * arrived, how often a case runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <waitio.h>

/* A peer that is not there: receives are filled at once, with the right marks or without. */
static int fake_isend(waitio_group_t g, int dst, const void *buf, size_t n, waitio_tag_t tag,
                      waitio_req_t *r);
static int fake_irecv(waitio_group_t g, int src, void *buf, size_t n, waitio_tag_t tag,
                      waitio_req_t *r);
static int fake_wait(waitio_req_t *r);
static int fake_waitall(int n, waitio_req_t *r, waitio_status_t *s);
static int fake_test(waitio_req_t *r, int *flag, waitio_status_t *s);
static void fake_abort(int code);
static int fake_sendrecv(waitio_group_t g, int dst, const void *sbuf, size_t sbytes,
                         waitio_tag_t stag, int src, void *rbuf, size_t rbytes, waitio_tag_t rtag,
                         waitio_status_t *s);
#define waitio_isend fake_isend
#define waitio_sendrecv fake_sendrecv
#define waitio_irecv fake_irecv
#define waitio_wait fake_wait
#define waitio_waitall fake_waitall
#define waitio_test fake_test
#define waitio_abort fake_abort

#include "../../tools/waitio-perf/data.c"
#include "../../tools/waitio-perf/load.c"
#include "../../tools/waitio-perf/measure.c"
#include "../../tools/waitio-perf/options.c"
#include "../../tools/waitio-perf/overlap.c"
#include "../../tools/waitio-perf/team.c"
#include "../../tools/waitio-perf/wire.c"

#define CASE(name) static void name(void **state)

CASE(sizes)
{
    size_t v[PERF_LIST];
    char why[128];
    (void)state;
    assert_int_equal(perf_parse_sizes("8", v, PERF_LIST, why, sizeof why), 1);
    assert_int_equal(v[0], 8);
    assert_int_equal(perf_parse_sizes("1,2K,3MiB,1gB", v, PERF_LIST, why, sizeof why), 4);
    assert_int_equal(v[1], 2048);
    assert_int_equal(v[2], 3 << 20);
    assert_int_equal(v[3], 1 << 30);
    assert_int_equal(perf_parse_sizes("8-100,1M", v, PERF_LIST, why, sizeof why), 5);
    assert_int_equal(v[3], 64);
    assert_int_equal(v[4], 1 << 20);
    const char *const bad[] = {"",      "0",  "8,",   "8K-4K", "-8",
                               "x",     "8 ", "8..9", "1K1",   "99999999999999999999",
                               "2048G", "8-", "1T"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(perf_parse_sizes(bad[i], v, PERF_LIST, why, sizeof why), 0);
    assert_int_equal(perf_parse_sizes("1,2,3,4", v, 3, why, sizeof why), 0);
    assert_non_null(strstr(why, "more than 3"));
}

CASE(streams)
{
    int v[PERF_LIST];
    char why[128];
    (void)state;
    assert_int_equal(perf_parse_streams("1-3,8", v, PERF_LIST, why, sizeof why), 4);
    assert_int_equal(v[2], 3);
    assert_int_equal(v[3], 8);
    assert_int_equal(perf_parse_streams("max", v, PERF_LIST, why, sizeof why), 1);
    assert_int_equal(v[0], PERF_ALL_STREAMS);
    const char *const bad[] = {"", "0", "1,", "3-1", "one", "-1", "1000001", "maximum"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(perf_parse_streams(bad[i], v, PERF_LIST, why, sizeof why), 0);
    assert_int_equal(perf_parse_streams("1-100", v, PERF_LIST, why, sizeof why), 0);
}

static int form(const char *who, enum perf_pairing kind, struct perf_pair *out)
{
    struct perf_member m[16];
    int n = 0;
    memset(m, 0, sizeof m);
    for (; who[2 * n] != '\0'; n++) { /* "0a1b": block 0 on host a, block 1 on host b */
        m[n].pb[0] = who[2 * n];
        m[n].place[0] = who[2 * n + 1];
    }
    return perf_pairs(m, n, kind, out);
}

static void expect(const struct perf_pair *p, int a, int b)
{
    assert_int_equal(p->rank[0], a);
    assert_int_equal(p->rank[1], b);
}

CASE(pairs)
{
    struct perf_pair p[16];
    (void)state;
    assert_int_equal(form("0a", PERF_AUTO, p), 0);
    assert_int_equal(form("0a0a1a1a", PERF_ACROSS, p), 2);
    expect(&p[0], 0, 2);
    expect(&p[1], 1, 3);
    assert_int_equal(form("0a0a1a2a", PERF_ACROSS, p), 2); /* one block against two */
    expect(&p[1], 1, 3);
    assert_int_equal(form("0a0a1a1a", PERF_WITHIN, p), 2);
    expect(&p[0], 0, 1);
    expect(&p[1], 2, 3);
    assert_int_equal(form("0a0b0a0b", PERF_NODES, p), 2);
    expect(&p[0], 0, 1);
    assert_int_equal(form("0a0b", PERF_WITHIN, p), 0); /* one block, but two hosts */
    assert_int_equal(form("0a0a", PERF_ACROSS, p), 0);
    assert_int_equal(form("0a1a", PERF_NODES, p), 0);
}

CASE(marks)
{
    unsigned char b[64];
    (void)state;
    for (size_t n = 1; n <= sizeof b; n++) {
        memset(b, 1, sizeof b);
        assert_false(perf_marked(b, n, 3));
        perf_mark(b, n, 3);
        assert_true(perf_marked(b, n, 3));
        assert_false(perf_marked(b, n, 4));
        b[0] ^= 1;
        assert_false(perf_marked(b, n, 3));
        b[0] ^= 1;
        b[n - 1] ^= 1;
        assert_false(perf_marked(b, n, 3));
        b[n - 1] ^= 1;
        perf_unmark(b, n);
        assert_false(perf_marked(b, n, 3));
    }
    perf_mark(b, 32, 0);
    assert_false(perf_marked(b, 64, 0)); /* half of the message is missing */
}

CASE(rounds)
{
    struct perf_case c = {.mode = PERF_LATENCY, .bytes = 8};
    (void)state;
    perf_plan_rounds(&c, 1000);
    assert_int_equal(c.rounds, 1000);
    c.bytes = (size_t)64 << 20;
    perf_plan_rounds(&c, 1000);
    assert_int_equal(c.rounds, 10);
    perf_plan_rounds(&c, 2);
    assert_int_equal(c.rounds, 2);
    c.mode = PERF_BANDWIDTH;
    perf_plan_rounds(&c, 1000);
    assert_int_equal(c.window, 2);
    assert_int_equal(c.rounds, 8);
    c.bytes = 8;
    perf_plan_rounds(&c, 1000);
    assert_int_equal(c.window, PERF_WINDOW);
    assert_int_equal(c.rounds, 1000);
}

CASE(transport)
{
    char name[16];
    const char *text = "peer PB 1 rank 10: shm, 0 sends\npeer PB 1 rank 1: tcp, 0 sends\n"
                       "peer PB 1 rank 2: no link\n";
    (void)state;
    perf_transport_of(text, "PB 1 rank 1", name, sizeof name);
    assert_string_equal(name, "tcp");
    perf_transport_of(text, "PB 1 rank 10", name, sizeof name);
    assert_string_equal(name, "shm");
    perf_transport_of(text, "PB 1 rank 2", name, sizeof name);
    assert_string_equal(name, "no link");
    perf_transport_of(text, "PB 1 rank 3", name, sizeof name);
    assert_string_equal(name, "unknown");
}

CASE(order)
{
    double v[] = {5, 1, 4, 2, 3};
    (void)state;
    assert_true(perf_median(v, 5) == 3);
    assert_true(perf_median(v, 4) == 2.5); /* sorted by now */
    assert_true(perf_quantile(v, 5, 0.99) == 5);
    assert_true(perf_quantile(v, 5, 0) == 1);
}

/* ---- the barrier: who hears of whom ---- */

enum { MOST = 12 };
static int heard_from[MOST][MOST], told[MOST][MOST], steps[MOST];
static int caller;

static int fake_sendrecv(waitio_group_t g, int dst, const void *sbuf, size_t sbytes,
                         waitio_tag_t stag, int src, void *rbuf, size_t rbytes, waitio_tag_t rtag,
                         waitio_status_t *s)
{
    (void)g, (void)sbuf, (void)sbytes, (void)rbuf, (void)rbytes, (void)s;
    assert_int_equal(stag, rtag);
    told[caller][steps[caller]] = dst;
    heard_from[caller][steps[caller]++] = src;
    return 0;
}

CASE(barrier)
{
    (void)state;
    for (int n = 1; n <= MOST; n++) {
        unsigned know[MOST], before[MOST];
        memset(steps, 0, sizeof steps);
        for (caller = 0; caller < n; caller++) {
            perf_barrier(&(struct perf_team){.me = caller, .size = n});
            know[caller] = 1u << caller;
        }
        for (int k = 0; k < steps[0]; k++) {
            memcpy(before, know, sizeof before);
            for (int r = 0; r < n; r++) {
                assert_int_equal(told[heard_from[r][k]][k], r); /* the other side sends it */
                know[r] |= before[heard_from[r][k]];
            }
        }
        for (int r = 0; r < n; r++)
            assert_int_equal(know[r], (1u << n) - 1); /* everybody has come */
    }
}

/* ---- every mode looks at what arrived ---- */

static bool spoil, slow;
static jmp_buf aborted;

static int fake_isend(waitio_group_t g, int dst, const void *buf, size_t n, waitio_tag_t tag,
                      waitio_req_t *r)
{
    (void)g, (void)dst, (void)buf, (void)n, (void)tag, (void)r;
    return 0;
}

static int fake_irecv(waitio_group_t g, int src, void *buf, size_t n, waitio_tag_t tag,
                      waitio_req_t *r)
{
    (void)g, (void)r;
    if (tag == PERF_TAG_PING)
        memset(buf, STOP, n);
    else if (!spoil && (tag == PERF_TAG_DATA || tag == PERF_TAG_BULK))
        perf_mark(buf, n, src);
    return 0;
}

static int fake_wait(waitio_req_t *r)
{
    (void)r;
    if (slow)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    return 0;
}

static int fake_waitall(int n, waitio_req_t *r, waitio_status_t *s)
{
    (void)n, (void)r, (void)s;
    return 0;
}

static int fake_test(waitio_req_t *r, int *flag, waitio_status_t *s)
{
    (void)r, (void)s;
    *flag = 1;
    return 0;
}

static void fake_abort(int code)
{
    (void)code;
    longjmp(aborted, 1);
}

/* @return true when the data was found wrong */
static bool refuses(void (*measure)(struct perf_side *), enum perf_mode mode, bool first)
{
    struct perf_member m[2];
    unsigned char out[4096], in[4096 * 2];
    double value[PERF_VALUES];
    memset(m, 0, sizeof m);
    struct perf_team t = {.me = first ? 0 : 1, .size = 2, .member = m};
    struct perf_case c = {.mode = mode, .streams = 1, .bytes = 4096, .rounds = 3, .window = 2};
    struct perf_work w = {.out = out, .in = in};
    struct perf_side s = {
        .team = &t, .c = &c, .work = &w, .other = first ? 1 : 0, .first = first, .value = value};
    if (setjmp(aborted) != 0)
        return true;
    measure(&s);
    return false;
}

CASE(wrong_data)
{
    (void)state;
    for (int wrong_now = 0; wrong_now < 2; wrong_now++) {
        spoil = wrong_now != 0;
        assert_int_equal(refuses(perf_latency, PERF_LATENCY, true), spoil);
        assert_int_equal(refuses(perf_latency, PERF_LATENCY, false), spoil);
        assert_int_equal(refuses(perf_bandwidth, PERF_BANDWIDTH, false), spoil);
        assert_int_equal(refuses(perf_overlap, PERF_OVERLAP, false), spoil);
        assert_int_equal(refuses(perf_load, PERF_LOAD, false), spoil);
    }
}

/* Transfers that sleep 2 ms inside wait overlap with nothing: both take the sum. */
CASE(overlap_computes)
{
    struct perf_member m[2];
    unsigned char out[8], in[8];
    double v[PERF_VALUES];
    (void)state;
    memset(m, 0, sizeof m);
    struct perf_team t = {.size = 2, .member = m};
    struct perf_case c = {.mode = PERF_OVERLAP, .streams = 1, .bytes = 8, .rounds = 5, .window = 1};
    struct perf_work w = {.out = out, .in = in};
    struct perf_side s = {.team = &t, .c = &c, .work = &w, .other = 1, .first = true, .value = v};
    spoil = false;
    slow = true;
    bool sum = false;
    for (int tries = 0; tries < 6 && !sum; tries++) { /* others may compute while it measures */
        perf_overlap(&s);
        assert_true(v[PERF_V_TRANSFER] >= 0.002);
        sum = v[PERF_V_BOTH] > 1.2 * v[PERF_V_TRANSFER];
    }
    slow = false;
    assert_true(sum);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),   cmocka_unit_test(streams),
        cmocka_unit_test(pairs),   cmocka_unit_test(marks),
        cmocka_unit_test(rounds),  cmocka_unit_test(transport),
        cmocka_unit_test(order),   cmocka_unit_test(wrong_data),
        cmocka_unit_test(barrier), cmocka_unit_test(overlap_computes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
