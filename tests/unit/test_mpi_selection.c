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

/* How many messages the root sends itself: with loans all of them. */
static int sends_of_root(struct wio_caller *who, struct wio_trial **trial)
{
    static char data[1 << 20];
    struct wio_call call = {.kind = WIO_BCAST,
                            .recv = {.buf = data, .count = sizeof data, .type = WAITIO_MPI_BYTE}};
    struct wio_schedule s;
    int n = 0;
    assert_int_equal(wio_coll_write(&s, &call, who), 0);
    for (size_t i = 0; i < s.nsteps; i++)
        n += s.step[i].kind == WIO_STEP_SEND && s.step[i].n == sizeof data;
    *trial = s.trial;
    wio_schedule_free(&s);
    return n;
}

/* Reading the root's memory and handing on are taken in turn, then whichever was quicker. */
static void loans_are_tried_out(void **state)
{
    static const int pb[8] = {0}, first[1] = {0};
    static struct wio_tune tune;
    struct wio_topology topo = {1, pb, first, .runs = true, .host = true, .loans = true};
    struct wio_caller who = {.size = 8, .topo = &topo, .tune = &tune};
    struct wio_trial *trial;
    (void)state;
    for (int i = 0; i < 2 * WIO_TUNE_TRIES; i++) {
        assert_int_equal(sends_of_root(&who, &trial), i < WIO_TUNE_TRIES ? 7 : 0);
        assert_ptr_equal(trial, &tune.trial[0]);
        assert_int_equal(wio_tune_took(trial, i < WIO_TUNE_TRIES ? 500 : 300),
                         i == 2 * WIO_TUNE_TRIES - 1);
    }
    assert_int_equal(sends_of_root(&who, &trial), 7); /* until the members have agreed */
    wio_tune_decide(trial, trial->sum_ns);
    assert_int_equal(sends_of_root(&who, &trial), 0);
    who.asked = row_named(WIO_BCAST, "direct"); /* who asks for it is given it */
    assert_int_equal(sends_of_root(&who, &trial), 7);
    assert_null(trial);
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
    c = (struct wio_choice){WIO_ALLREDUCE, 4, 8, false, true, .topo = &topo, .hybrid = true};
    assert_string_not_equal(wio_algorithm_select(&c)->name, "hybrid"); /* does not commute */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selection_follows_the_table),
        cmocka_unit_test(few_on_one_host_need_no_layers),
        cmocka_unit_test(loans_are_tried_out),
        cmocka_unit_test(variables_name_the_rows),
        cmocka_unit_test(providers_are_chosen_by_size),
    };
    setenv("WAITIO_ERRORS", "return", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
