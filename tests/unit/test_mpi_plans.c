/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which schedules are kept for another time, and when they are let go, in a universe of one
 * process. That they give right results again is shown by lang/coll_again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mpi/plans.h"
#include "unit/mpi_alone.h"

static WAITIO_MPI_Comm comm;
static int in[4096], out[4096];

static int fresh_comm(void **state)
{
    (void)state;
    return WAITIO_MPI_Comm_dup(WAITIO_MPI_COMM_WORLD, &comm);
}

static int comm_gone(void **state)
{
    (void)state;
    WAITIO_MPI_Comm_free(&comm);
    return wio_plans_kept() != 0; /* they end with their communicator */
}

static int allreduce(int count, WAITIO_MPI_Datatype type, WAITIO_MPI_Op op)
{
    return WAITIO_MPI_Allreduce(in, out, count, type, op, comm);
}

static void what_comes_twice_is_kept(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        in[0] = 10 + i;
        assert_int_equal(allreduce(1, WAITIO_MPI_INT, WAITIO_MPI_SUM), 0);
        assert_int_equal(out[0], 10 + i);
        assert_int_equal(wio_plans_kept(), i > 0);
    }
}

static void every_argument_counts(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        in[0] = -1;
        allreduce(1, WAITIO_MPI_INT, WAITIO_MPI_SUM);
        assert_int_equal(out[0], -1);
        in[1] = 7 + i;
        allreduce(2, WAITIO_MPI_INT, WAITIO_MPI_SUM);
        assert_int_equal(out[1], 7 + i);
        allreduce(2, WAITIO_MPI_INT, WAITIO_MPI_MAX);
        allreduce(2, WAITIO_MPI_UNSIGNED, WAITIO_MPI_MAX);
        WAITIO_MPI_Allreduce(in, out + 2, 2, WAITIO_MPI_INT, WAITIO_MPI_SUM, comm);
        assert_int_equal(out[3], 7 + i);
        WAITIO_MPI_Reduce(in, out, 2, WAITIO_MPI_INT, WAITIO_MPI_SUM, 0, comm);
    }
    assert_in_range(wio_plans_kept(), 2, 6); /* some may share a place */
}

static void calls_that_take_turns_in_a_place_are_right(void **state)
{
    (void)state;
    for (int round = 0; round < 4; round++)
        for (int at = 0; at < 100; at++) {
            in[at] = round * 1000 + at;
            WAITIO_MPI_Allreduce(&in[at], &out[at], 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, comm);
            assert_int_equal(out[at], round * 1000 + at);
        }
    assert_in_range(wio_plans_kept(), 0, 16);
}

static void a_new_habit_takes_an_old_place(void **state)
{
    (void)state;
    for (int at = 0; at < 200; at++) /* more habits than places */
        for (int again = 0; again < 3; again++) {
            in[at] = at + again;
            WAITIO_MPI_Allreduce(&in[at], &out[at], 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, comm);
            assert_int_equal(out[at], at + again);
        }
    assert_int_equal(wio_plans_kept(), 16);
}

static void twice(void *a, void *b, int *n, WAITIO_MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)b)[i] += ((int *)a)[i];
}

static void what_the_program_may_free_is_not_kept(void **state)
{
    WAITIO_MPI_Datatype type;
    WAITIO_MPI_Op op;
    int counts[1] = {1}, displs[1] = {0};
    struct wio_call uneven = {.kind = WIO_GATHER, .v = true, .root = 1};
    struct wio_comm *c;
    (void)state;
    WAITIO_MPI_Type_contiguous(2, WAITIO_MPI_INT, &type);
    WAITIO_MPI_Type_commit(&type);
    WAITIO_MPI_Op_create(twice, 1, &op);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(WAITIO_MPI_Bcast(out, 1, type, 0, comm), 0);
        assert_int_equal(allreduce(1, WAITIO_MPI_INT, op), 0);
        WAITIO_MPI_Allgatherv(in, 1, WAITIO_MPI_INT, out, counts, displs, WAITIO_MPI_INT, comm);
        WAITIO_MPI_Reduce_scatter(in, out, counts, WAITIO_MPI_INT, WAITIO_MPI_SUM, comm);
        WAITIO_MPI_Gatherv(in, 1, WAITIO_MPI_INT, out, counts, displs, WAITIO_MPI_INT, 0, comm);
    }
    assert_int_equal(wio_comm_get(comm, &c), 0); /* where no counts are read: not at the root */
    for (int i = 0; i < 3; i++)
        assert_null(wio_plan_take(c, &uneven));
    assert_int_equal(wio_plans_kept(), 0);
    WAITIO_MPI_Op_free(&op);
    WAITIO_MPI_Type_free(&type);
    assert_int_not_equal(WAITIO_MPI_Bcast(out, 1, type, 0, comm), 0);
    assert_int_not_equal(allreduce(1, WAITIO_MPI_INT, op), 0);
}

static void what_is_wrong_stays_wrong(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(WAITIO_MPI_Bcast(out, 1, WAITIO_MPI_INT, 7, comm), WAITIO_MPI_ERR_ROOT);
        assert_int_equal(allreduce(-1, WAITIO_MPI_INT, WAITIO_MPI_SUM), WAITIO_MPI_ERR_COUNT);
        assert_int_not_equal(allreduce(1, WAITIO_MPI_DOUBLE, WAITIO_MPI_BAND), 0);
    }
    assert_int_equal(wio_plans_kept(), 0);
}

static void what_needs_much_memory_is_not_kept(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) /* alltoall in place works on a copy */
        WAITIO_MPI_Alltoall(WAITIO_MPI_IN_PLACE, 4096, WAITIO_MPI_INT, out, 4096, WAITIO_MPI_INT,
                            comm);
    assert_int_equal(wio_plans_kept(), 0);
    for (int i = 0; i < 3; i++)
        WAITIO_MPI_Alltoall(WAITIO_MPI_IN_PLACE, 256, WAITIO_MPI_INT, out, 256, WAITIO_MPI_INT,
                            comm);
    assert_int_equal(wio_plans_kept(), 1);
}

static void all_communicators_together_keep_no_more_than_a_few_hundred(void **state)
{
    enum { MANY = 40, EACH = 16 };
    WAITIO_MPI_Comm many[MANY];
    (void)state;
    for (int c = 0; c < MANY; c++) {
        WAITIO_MPI_Comm_dup(WAITIO_MPI_COMM_WORLD, &many[c]);
        for (int at = 0; at < 10 * EACH; at++)
            for (int again = 0; again < 2; again++)
                WAITIO_MPI_Bcast(&out[at], 1, WAITIO_MPI_INT, 0, many[c]);
    }
    assert_int_equal(wio_plans_kept(), 256);
    for (int c = 0; c < MANY; c++)
        WAITIO_MPI_Comm_free(&many[c]);
    assert_int_equal(wio_plans_kept(), 0);
}

static void a_plan_that_is_out_is_not_given_twice(void **state)
{
    struct wio_comm *c;
    struct wio_call call = {.kind = WIO_BCAST,
                            .recv = {.buf = out, .count = 1, .type = WAITIO_MPI_INT}};
    struct wio_plan *plan;
    (void)state;
    WAITIO_MPI_Bcast(out, 1, WAITIO_MPI_INT, 0, comm);
    WAITIO_MPI_Bcast(out, 1, WAITIO_MPI_INT, 0, comm);
    assert_int_equal(wio_comm_get(comm, &c), 0);
    plan = wio_plan_take(c, &call);
    assert_non_null(plan);
    assert_true(plan->written);
    assert_null(wio_plan_take(c, &call));
    assert_int_equal(WAITIO_MPI_Bcast(out, 1, WAITIO_MPI_INT, 0, comm), 0); /* without it */
    wio_plan_give(c, plan, false);                                          /* it failed */
    assert_int_equal(wio_plans_kept(), 0);
}

/* Calls that differ in one argument, in random order: whoever gets a plan gets its own. */
static void nobody_gets_the_plan_of_another(void **state)
{
    struct wio_comm *c;
    unsigned seed = 1, hits = 0;
    static const enum wio_collective_kind kinds[] = {WIO_ALLREDUCE, WIO_SCAN, WIO_EXSCAN,
                                                     WIO_REDUCE_SCATTER};
    (void)state;
    assert_int_equal(wio_comm_get(comm, &c), 0);
    for (int i = 0; i < 40000; i++) {
        unsigned r = seed = seed * 1664525u + 1013904223u;
        struct wio_call call = {
            .kind = kinds[(r >> 12) % 4],
            .send = {&in[(r >> 13) % 2], (int)(r >> 14) % 2, WAITIO_MPI_INT + (int)(r >> 15) % 2,
                     NULL, NULL, NULL, NULL},
            .recv = {&out[(r >> 16) % 2], (int)(r >> 17) % 2, WAITIO_MPI_INT + (int)(r >> 18) % 2,
                     NULL, NULL, NULL, NULL},
            .op = WAITIO_MPI_SUM + (int)(r >> 21) % 8,
            .root = 16 * ((int)(r >> 20) % 2)};
        struct wio_plan *plan = i % 2 ? wio_plan_take(c, &call) : NULL;
        if (i % 2 == 0) { /* twice, so that it would be kept */
            plan = wio_plan_take(c, &call);
            if (plan == NULL)
                plan = wio_plan_take(c, &call);
        }
        if (plan == NULL)
            continue;
        if (plan->written) {
            hits++;
            assert_int_equal(plan->call.kind, call.kind);
            assert_int_equal(plan->call.root, call.root);
            assert_int_equal(plan->call.op, call.op);
            assert_memory_equal(&plan->call.send, &call.send, sizeof call.send);
            assert_memory_equal(&plan->call.recv, &call.recv, sizeof call.recv);
        } else {
            wio_schedule_init(&plan->run.s, 0, 1, NULL, NULL);
        }
        wio_plan_give(c, plan, true);
    }
    assert_true(hits > 100);
}

#define ON_A_FRESH_ONE(test) cmocka_unit_test_setup_teardown(test, fresh_comm, comm_gone)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_A_FRESH_ONE(what_comes_twice_is_kept),
        ON_A_FRESH_ONE(every_argument_counts),
        ON_A_FRESH_ONE(calls_that_take_turns_in_a_place_are_right),
        ON_A_FRESH_ONE(a_new_habit_takes_an_old_place),
        ON_A_FRESH_ONE(what_the_program_may_free_is_not_kept),
        ON_A_FRESH_ONE(what_is_wrong_stays_wrong),
        ON_A_FRESH_ONE(what_needs_much_memory_is_not_kept),
        ON_A_FRESH_ONE(nobody_gets_the_plan_of_another),
        ON_A_FRESH_ONE(a_plan_that_is_out_is_not_given_twice),
        cmocka_unit_test(all_communicators_together_keep_no_more_than_a_few_hundred),
    };
    return cmocka_run_group_tests(tests, alone_join, alone_leave);
}
