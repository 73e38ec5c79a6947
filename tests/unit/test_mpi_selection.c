/* SPDX-License-Identifier: BSD-3-Clause */
/* Which algorithm is chosen for which call. */
#include <stdlib.h>

#include "unit/mpi_rows.h"

enum { MOST = 13 };

static const char *chosen_on(bool host, enum wio_collective_kind kind, int size, int npb,
                             size_t bytes)
{
    static const int pb[MOST] = {0}, first[MOST] = {0};
    struct wio_topology topo = {npb, pb, first, .runs = true, .host = host};
    struct wio_choice c = {kind, size, bytes, true, true, .topo = &topo};
    return wio_algorithm_select(&c)->name;
}

static const char *chosen(enum wio_collective_kind kind, int size, int npb, size_t bytes)
{
    return chosen_on(false, kind, size, npb, bytes);
}

static void selection_follows_the_table(void **state)
{
    (void)state;
    assert_string_equal(chosen(WIO_ALLREDUCE, 4, 1, 8), "doubling");
    assert_string_equal(chosen(WIO_ALLREDUCE, 4, 1, 1 << 20), "trees");
    assert_string_equal(chosen(WIO_ALLREDUCE, 4, 2, 8), "pb");
    assert_string_equal(chosen(WIO_ALLREDUCE, 2, 2, 8), "doubling");
    assert_string_equal(chosen(WIO_BCAST, 8, 2, 64 << 10), "pb");
    assert_string_equal(chosen(WIO_BCAST, 8, 2, 1 << 20), "trees");
    assert_string_equal(chosen(WIO_ALLGATHER, 4, 1, 8), "bruck");
    assert_string_equal(chosen(WIO_ALLGATHER, 4, 1, 1 << 20), "ring");
    for (int kind = 0; kind < WIO_COLLECTIVE_COUNT; kind++)
        for (int flags = 0; flags < 4; flags++) {
            static const int pb[1], first[1];
            struct wio_topology topo = {1, pb, first, .runs = false};
            struct wio_choice c = {kind, 1 << 30, SIZE_MAX, flags & 1, flags & 2, .topo = &topo};
            assert_int_equal(wio_algorithm_select(&c)->kind, kind);
            for (c.asked = 1; c.asked <= rows_of(kind); c.asked++)
                assert_true(wio_algorithm_admits(wio_algorithm_select(&c), &c));
        }
}

/* Few members, and short broadcasts, on one host take the fewest rounds; the border of a PB costs
 * nothing there. */
static void few_on_one_host_need_no_layers(void **state)
{
    (void)state;
    assert_string_equal(chosen_on(true, WIO_ALLREDUCE, 4, 2, 8), "doubling");
    assert_string_equal(chosen_on(true, WIO_BARRIER, 4, 2, 0), "dissemination");
    assert_string_equal(chosen_on(true, WIO_REDUCE, 4, 2, 8), "pb");
    assert_string_equal(chosen_on(true, WIO_ALLREDUCE, 6, 2, 8), "pb");
    assert_string_equal(chosen_on(true, WIO_BARRIER, 6, 2, 0), "pb");
    assert_string_equal(chosen_on(false, WIO_BARRIER, 4, 2, 0), "pb");
    assert_string_equal(chosen_on(true, WIO_BCAST, 8, 2, 16 << 10), "binomial");
    assert_string_equal(chosen_on(true, WIO_BCAST, 8, 2, 17 << 10), "pb");
    assert_string_equal(chosen_on(false, WIO_BCAST, 8, 2, 8), "pb");
}

/* Long reductions on one host have rules of their own. */
static void long_reductions_on_one_host(void **state)
{
    (void)state;
    assert_string_equal(chosen_on(true, WIO_REDUCE, 4, 2, 16 << 10), "pb");
    assert_string_equal(chosen_on(true, WIO_REDUCE, 4, 2, 17 << 10), "linear");
    assert_string_equal(chosen_on(true, WIO_REDUCE, 9, 2, 17 << 10), "pb");
    assert_string_equal(chosen_on(true, WIO_REDUCE, 2, 2, 8 << 20), "trees");
    assert_string_equal(chosen_on(true, WIO_REDUCE, 8, 2, 8 << 20), "chain");
    assert_string_equal(chosen_on(true, WIO_ALLREDUCE, 2, 2, 512 << 10), "doubling");
    assert_string_equal(chosen_on(true, WIO_ALLREDUCE, 2, 2, 513 << 10), "rabenseifner");
    assert_string_equal(chosen_on(true, WIO_ALLREDUCE, 8, 2, 8 << 20), "rabenseifner");
    assert_string_equal(chosen_on(true, WIO_ALLREDUCE, 6, 2, 64 << 10), "pb");
    assert_string_equal(chosen_on(true, WIO_ALLREDUCE, 6, 1, 64 << 10), "trees"); /* no layers */
    assert_string_equal(chosen_on(true, WIO_ALLREDUCE, 6, 2, 8 << 20), "trees");
    assert_string_equal(chosen_on(false, WIO_ALLREDUCE, 8, 2, 8 << 20), "trees");
    assert_string_equal(chosen_on(false, WIO_REDUCE, 8, 2, 8 << 20), "trees");
}

static const char *chosen_among(uint32_t share, enum wio_collective_kind kind, int npb,
                                size_t bytes)
{
    static const int pb[130] = {0}, first[2] = {0};
    struct wio_topology topo = {npb, pb, first, .runs = true, .host = true, .share = share};
    struct wio_choice c = {kind, (int)share * 2, bytes, true, true, .topo = &topo};
    return wio_algorithm_select(&c)->name;
}

/* Many processes for each processor: few of them have to run before others can go on. */
static void many_for_each_processor(void **state)
{
    (void)state;
    assert_string_equal(chosen_among(8, WIO_BARRIER, 2, 0), "pb");
    assert_string_equal(chosen_among(16, WIO_BARRIER, 2, 0), "2l");
    assert_string_equal(chosen_among(16, WIO_BARRIER, 1, 0), "2l");
    assert_string_equal(chosen_among(65, WIO_BARRIER, 2, 0), "pb"); /* too much work for one */
    assert_string_equal(chosen_among(15, WIO_ALLREDUCE, 2, 8), "pb");
    assert_string_equal(chosen_among(16, WIO_ALLREDUCE, 2, 16 << 10), "2l");
    assert_string_equal(chosen_among(64, WIO_ALLREDUCE, 2, 17 << 10), "pb");
    assert_string_equal(chosen_among(64, WIO_ALLREDUCE, 1, 17 << 10), "reduce_bcast");
    assert_string_equal(chosen_among(64, WIO_ALLREDUCE, 2, 129 << 10), "reduce_bcast");
    assert_string_equal(chosen_among(64, WIO_ALLREDUCE, 2, 2 << 20), "rabenseifner");
    assert_string_equal(chosen_among(7, WIO_ALLREDUCE, 2, 64 << 10), "pb");
    assert_string_equal(chosen_among(16, WIO_REDUCE, 2, 16 << 10), "linear");
    assert_string_equal(chosen_among(64, WIO_REDUCE, 2, 16 << 10), "pb");
    assert_string_equal(chosen_among(64, WIO_REDUCE, 2, 64 << 10), "binomial");
    assert_string_equal(chosen_among(16, WIO_GATHER, 2, 4 << 10), "linear");
    assert_string_equal(chosen_among(64, WIO_GATHER, 2, 4 << 10), "pb");
    assert_string_equal(chosen_among(7, WIO_SCATTER, 2, 8), "pb");
    assert_string_equal(chosen_among(64, WIO_SCATTER, 2, 8), "binomial");
    assert_string_equal(chosen_among(64, WIO_SCATTER, 2, 16 << 10), "linear");
}

/* The broadcast of this many bytes that member 0 of @p who writes. @return messages of the whole
 * that it sends: it tells the algorithms apart */
static int sends_of_root(struct wio_caller *who, size_t bytes, struct wio_trial **trial)
{
    static char data[1 << 20];
    struct wio_call call = {.kind = WIO_BCAST,
                            .recv = {.buf = data, .count = (int)bytes, .type = WAITIO_MPI_BYTE}};
    struct wio_schedule s;
    int n = 0;
    assert_int_equal(wio_coll_write(&s, &call, who), 0);
    for (size_t i = 0; i < s.nsteps; i++)
        n += s.step[i].kind == WIO_STEP_SEND && s.step[i].n == bytes;
    *trial = s.trial;
    wio_schedule_free(&s);
    return n;
}

/* Long broadcasts on one host take the rivals in turn, then whichever was quickest. */
static void rivals_are_tried_out(void **state)
{
    static const int pb[8] = {0}, first[1] = {0};
    static struct wio_tune tune;
    /* From 1 MiB on: direct, trees, chain, binomial, linear, bt; trees and chain cut the message.
     */
    static const int sends[] = {7, 0, 0, 3, 7, 2};
    struct wio_topology topo = {1, pb, first, .runs = true, .host = true, .loans = true};
    struct wio_caller who = {.size = 8, .topo = &topo, .tune = &tune};
    const int calls = 6 * WIO_TUNE_FEW;
    struct wio_trial *trial;
    (void)state;
    for (int i = 0; i < calls; i++) {
        int rival = i / WIO_TUNE_FEW;
        assert_int_equal(sends_of_root(&who, 1 << 20, &trial), sends[rival]);
        assert_ptr_equal(trial, &tune.trial[5]);
        assert_int_equal(wio_tune_took(trial, rival == 3 ? 300 : 500), i == calls - 1);
    }
    wio_tune_decide(trial, trial->sum_ns);
    assert_int_equal(sends_of_root(&who, 1 << 20, &trial), 3);
    assert_int_equal(sends_of_root(&who, 1 << 15, &trial), 3); /* binomial is the first there */
    assert_ptr_equal(trial, &tune.trial[0]);
    who.asked = row_named(WIO_BCAST, "direct"); /* who asks for it is given it */
    assert_int_equal(sends_of_root(&who, 1 << 20, &trial), 7);
    assert_null(trial);
}

/* No trial where it would not help, or cost too much. */
static void who_has_no_trials(void **state)
{
    static const int pb[40] = {0}, first[1] = {0};
    struct wio_topology topo = {1, pb, first, .runs = true, .host = true};
    const struct wio_algorithm *rivals[WIO_TUNE_RIVALS];
    const struct wio_choice good = {
        .kind = WIO_BCAST, .size = 8, .bytes = WIO_TUNE_FROM, .equal = true, .topo = &topo};
    (void)state;
    assert_int_equal(wio_algorithm_rivals(&good, rivals), 3);
    for (int why = 0; why < 6; why++) {
        struct wio_choice c = good;
        topo.host = why != 0; /* far apart: the slowest may be slower without bounds */
        if (why == 1)
            c.size = 2;
        else if (why == 2)
            c.size = 17;
        else if (why == 3)
            c.bytes--;
        else if (why == 4)
            c.asked = 1;
        else if (why == 5)
            c.kind = WIO_ALLREDUCE; /* its sums must not change from call to call */
        assert_int_equal(wio_algorithm_rivals(&c, rivals), 0);
    }
}

/* WAITIO_COLL_<KIND> lists the rows of its kind in the table's order. */
static void variables_name_the_rows(void **state)
{
    static const char *const kinds[WIO_COLLECTIVE_COUNT] = {
        "BARRIER", "BCAST",  "REDUCE",  "ALLREDUCE", "REDUCE_SCATTER", "SCAN",
        "EXSCAN",  "GATHER", "SCATTER", "ALLGATHER", "ALLTOALL"};
    int found = 0;
    (void)state;
    for (int kind = 0; kind < WIO_COLLECTIVE_COUNT; kind++) {
        char name[64], values[512] = "auto";
        wio_text(name, sizeof name, "WAITIO_COLL_%s", kinds[kind]);
        for (int i = 0; wio_algorithm_row(i) != NULL; i++)
            if (wio_algorithm_row(i)->kind == (enum wio_collective_kind)kind) {
                size_t n = strlen(values);
                wio_text(values + n, sizeof values - n, ", %s", wio_algorithm_row(i)->name);
            }
        for (int i = 0; i < WIO_CFG_VARS; i++)
            if (strcmp(wio_config_row(i)->name, name) == 0) {
                assert_string_equal(wio_config_row(i)->range, values);
                found++;
            }
    }
    assert_int_equal(found, WIO_COLLECTIVE_COUNT);
}

/* Providers serve the sizes for which some PB uses its own, and one PB alone whatever it can. */
static void providers_are_chosen_by_size(void **state)
{
    static const int pb[MOST] = {0}, first[MOST] = {0};
    struct wio_topology topo = {2, pb, first, .runs = true};
    struct wio_choice c = {WIO_BCAST, 4, 8, true, true, .topo = &topo};
    (void)state;
    assert_string_equal(wio_algorithm_select(&c)->name, "pb");
    c.hybrid = true;
    assert_string_equal(wio_algorithm_select(&c)->name, "hybrid");
    c.alone = true;
    assert_string_equal(wio_algorithm_select(&c)->name, "alone");
    c = (struct wio_choice){WIO_GATHER, 4, 8, true, false, .topo = &topo, .hybrid = true};
    assert_string_equal(wio_algorithm_select(&c)->name, "linear"); /* uneven blocks */
    /* What does not commute keeps its order where the members of a PB follow each other. */
    c = (struct wio_choice){WIO_ALLREDUCE, 4, 8, false, true, .topo = &topo, .hybrid = true};
    assert_string_equal(wio_algorithm_select(&c)->name, "hybrid");
    topo.runs = false;
    assert_string_not_equal(wio_algorithm_select(&c)->name, "hybrid");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selection_follows_the_table),
        cmocka_unit_test(few_on_one_host_need_no_layers),
        cmocka_unit_test(long_reductions_on_one_host),
        cmocka_unit_test(many_for_each_processor),
        cmocka_unit_test(rivals_are_tried_out),
        cmocka_unit_test(who_has_no_trials),
        cmocka_unit_test(variables_name_the_rows),
        cmocka_unit_test(providers_are_chosen_by_size),
    };
    setenv("WAITIO_ERRORS", "return", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
