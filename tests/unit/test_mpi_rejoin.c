/* SPDX-License-Identifier: BSD-3-Clause */
/* waitio_rejoin() in a process alone: what goes with the universe, and what stays the process's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/api.h"
#include "mpi/comm.h"
#include "mpi/renamed.h"
#include "mpi/request.h"
#include "unit/mpi_alone.h"
#include "waitio.h"

static void again(void)
{
    assert_int_equal(waitio_rejoin(20), 0);
}

static void refused(int code, const char *text, int got)
{
    assert_int_equal(got, code);
    assert_non_null(strstr(waitio_last_error(), text));
}

static int sum_of(WAITIO_MPI_Comm comm, int mine)
{
    int sum = -1;

    assert_int_equal(WAITIO_MPI_Allreduce(&mine, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, comm), 0);
    return sum;
}

static void constants_mean_the_new_universe(void **state)
{
    WAITIO_MPI_Comm world = WAITIO_MPI_COMM_WORLD;

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(sum_of(world, i), i);
        again();
        assert_ptr_equal(WAITIO_MPI_COMM_WORLD, world);
        assert_int_equal(sum_of(world, 7), 7);
        assert_int_equal(sum_of(WAITIO_MPI_COMM_SELF, 8), 8);
    }
}

enum { MANY = 50 };

/* Whose memory would be given away again is refused, whatever is made afterwards. */
static void communicators_are_refused_by_name(void **state)
{
    WAITIO_MPI_Comm old[MANY], made[MANY], comm;
    WAITIO_MPI_Group group;
    int handle, size;

    (void)state;
    for (int i = 0; i < MANY; i++)
        assert_int_equal(WAITIO_MPI_Comm_dup(WAITIO_MPI_COMM_WORLD, &old[i]), 0);
    assert_int_equal(WAITIO_MPI_Comm_group(WAITIO_MPI_COMM_WORLD, &group), 0);
    handle = WAITIO_MPI_Comm_c2f(old[3]);
    assert_int_equal(sum_of(old[3], 1), 1);
    again();
    for (int i = 0; i < MANY; i++)
        assert_int_equal(WAITIO_MPI_Comm_dup(WAITIO_MPI_COMM_WORLD, &made[i]), 0);
    for (int i = 0; i < MANY; i++) {
        refused(WAITIO_ERR_GROUP, "(waitio_rejoin): make the group or communicator again",
                WAITIO_MPI_Barrier(old[i]));
        refused(WAITIO_ERR_GROUP, "(waitio_rejoin)", WAITIO_MPI_Comm_size(old[i], &size));
        for (int k = 0; k < MANY; k++)
            assert_ptr_not_equal(old[i], made[k]);
    }
    refused(WAITIO_ERR_GROUP, "(waitio_rejoin)", WAITIO_MPI_Group_size(group, &size));
    assert_null(WAITIO_MPI_Comm_f2c(handle));
    assert_non_null(strstr(waitio_last_error(), "universe that was left"));
    comm = made[5];
    assert_int_not_equal(WAITIO_MPI_Comm_c2f(comm), handle);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(WAITIO_MPI_Comm_free(&old[i]), 0);
        assert_null(old[i]);
        assert_int_equal(WAITIO_MPI_Comm_free(&made[i]), 0);
    }
    assert_int_equal(WAITIO_MPI_Group_free(&group), 0);
    refused(WAITIO_ERR_GROUP, "is no group of this universe", WAITIO_MPI_Barrier(comm));
}

static void requests_are_stale_and_freed(void **state)
{
    int in[3] = {1, 2, 3}, out = 5;
    WAITIO_MPI_Comm world = WAITIO_MPI_COMM_WORLD;
    WAITIO_MPI_Datatype holes;
    WAITIO_MPI_Request req[5];
    WAITIO_MPI_Message message;

    (void)state;
    WAITIO_MPI_Type_vector(2, 1, 2, WAITIO_MPI_INT, &holes);
    WAITIO_MPI_Type_commit(&holes);
    assert_int_equal(WAITIO_MPI_Irecv(in, 1, holes, 0, 1, world, &req[0]), 0);
    assert_int_equal(WAITIO_MPI_Irecv(in, 1, WAITIO_MPI_INT, 0, 1, world, &req[1]), 0);
    assert_int_equal(WAITIO_MPI_Barrier_init(world, WAITIO_MPI_INFO_NULL, &req[2]), 0);
    assert_int_equal(WAITIO_MPI_Ibarrier(world, &req[3]), 0);
    assert_int_equal(WAITIO_MPI_Bsend_init(&out, 1, WAITIO_MPI_INT, 0, 2, world, &req[4]), 0);
    assert_int_equal(WAITIO_MPI_Send(&out, 1, WAITIO_MPI_INT, 0, 3, world), 0);
    assert_int_equal(WAITIO_MPI_Mprobe(0, 3, world, &message, WAITIO_MPI_STATUS_IGNORE), 0);
    assert_int_equal(WAITIO_MPI_Bsend(&out, 1, WAITIO_MPI_INT, 0, 4, world), 0);
    again();
    assert_int_equal(wio_request_alive(), 0);
    assert_int_equal(wio_comm_alive(), 0);
    refused(WAITIO_ERR_REQUEST, "completed or freed already", WAITIO_MPI_Start(&req[2]));
    refused(WAITIO_ERR_REQUEST, "completed or freed already", WAITIO_MPI_Start(&req[4]));
    for (int i = 0; i < 5; i++)
        assert_int_equal(WAITIO_MPI_Wait(&req[i], WAITIO_MPI_STATUS_IGNORE), WAITIO_ERR_REQUEST);
    refused(WAITIO_ERR_ARG, "is not a message",
            WAITIO_MPI_Mrecv(in, 1, WAITIO_MPI_INT, &message, WAITIO_MPI_STATUS_IGNORE));
    /* The type is the process's. */
    assert_int_equal(WAITIO_MPI_Sendrecv((int[]){8, 9}, 2, WAITIO_MPI_INT, 0, 1, in, 1, holes, 0, 1,
                                         world, WAITIO_MPI_STATUS_IGNORE),
                     0);
    assert_true(in[0] == 8 && in[1] == 2 && in[2] == 9);
    assert_int_equal(WAITIO_MPI_Type_free(&holes), 0);
}

/* Nobody receives it, and it is too long to be complete at once. */
static void a_long_buffered_send_goes_with_its_universe(void **state)
{
    enum { LONG = 200000 };
    char *out = calloc(1, LONG);
    WAITIO_MPI_Request req;

    (void)state;
    assert_non_null(out);
    assert_int_equal(WAITIO_MPI_Bsend(out, LONG, WAITIO_MPI_BYTE, 0, 4, WAITIO_MPI_COMM_WORLD), 0);
    assert_int_equal(
        WAITIO_MPI_Ibsend(out, LONG, WAITIO_MPI_BYTE, 0, 5, WAITIO_MPI_COMM_WORLD, &req), 0);
    assert_int_equal(WAITIO_MPI_Request_free(&req), 0);
    alarm(60);
    again();
    alarm(0);
    assert_int_equal(wio_request_alive(), 0);
    free(out);
}

static int polls_ended;

static bool poll_outside(struct wio_outside *o, bool ended, int *err)
{
    (void)o;
    (void)err;
    polls_ended += ended;
    return ended;
}

static void never(void)
{
    abort();
}

/* A thread is in another library when the universe is left; what it began there is given up when
 * the universe is freed. */
static void operations_of_other_libraries_end(void **state)
{
    struct wio_universe *u = wio_api_universe();
    struct wio_outside o = {.poll = poll_outside};
    struct wio_handle h;

    (void)state;
    wio_outside_block(u, 12345, never);
    refused(WAITIO_ERR_BUSY, "another thread waits in a WaitIO call", waitio_rejoin(20));
    assert_int_equal(wio_outside_begin(u, &o, &h), 0);
    assert_int_equal(waitio_finalize(), 0);
    refused(WAITIO_ERR_BUSY, "another thread waits in a WaitIO call", waitio_rejoin(20));
    polls_ended = 0;
    wio_outside_unblock(u);
    again();
    assert_int_equal(polls_ended, 1);
}

static int idle_calls;

static double count_idle(void)
{
    idle_calls++;
    return 0;
}

static int idle_calls_of_a_wait(void)
{
    waitio_status_t st;
    waitio_req_t req;
    int flag = 1;
    char in;

    idle_calls = 0;
    assert_int_equal(WAITIO_MPI_Irecv(&in, 1, WAITIO_MPI_BYTE, 0, 77, WAITIO_MPI_COMM_WORLD, &req),
                     0);
    assert_int_equal(waitio_wait_for(&req, 0.02, &flag, &st), 0);
    assert_int_equal(flag, 0);
    assert_int_equal(WAITIO_MPI_Cancel(&req), 0);
    assert_int_equal(WAITIO_MPI_Wait(&req, WAITIO_MPI_STATUS_IGNORE), 0);
    return idle_calls;
}

static void what_waits_call_stays_until_it_is_taken_back(void **state)
{
    (void)state;
    assert_int_equal(waitio_while_waiting(count_idle), 0);
    again();
    assert_int_not_equal(idle_calls_of_a_wait(), 0);
    assert_int_equal(waitio_finalize(), 0);
    refused(WAITIO_ERR_STATE, "the universe was left", waitio_while_waiting(count_idle));
    again();
    assert_int_not_equal(idle_calls_of_a_wait(), 0);
    assert_int_equal(waitio_finalize(), 0);
    assert_int_equal(waitio_while_waiting(NULL), 0);
    again();
    assert_int_equal(idle_calls_of_a_wait(), 0);
}

static int freed;

static int query(void *extra, WAITIO_MPI_Status *status)
{
    (void)extra;
    (void)status;
    return 0;
}

static int gone(void *extra)
{
    freed += *(int *)extra;
    return 0;
}

static int cancel(void *extra, int complete)
{
    (void)extra;
    (void)complete;
    return 0;
}

static void operations_of_the_program_end(void **state)
{
    static int one = 1;
    WAITIO_MPI_Request req, kept;

    (void)state;
    assert_int_equal(WAITIO_MPI_Grequest_start(query, gone, cancel, &one, &req), 0);
    kept = req;
    again();
    assert_int_equal(freed, 1);
    refused(WAITIO_ERR_REQUEST, "", WAITIO_MPI_Grequest_complete(kept));
    assert_int_equal(WAITIO_MPI_Wait(&req, WAITIO_MPI_STATUS_IGNORE), WAITIO_ERR_REQUEST);
    assert_int_equal(freed, 1);
}

static int deleted;

static int delete_it(WAITIO_MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)extra;
    deleted += *(int *)value;
    return 0;
}

static void add(void *in, void *inout, int *n, WAITIO_MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static void keys_and_operators_stay(void **state)
{
    static int ten = 10;
    int key = WAITIO_MPI_KEYVAL_INVALID, flag = 1, sum = 0, mine = 4;
    void *value;
    WAITIO_MPI_Op op;

    (void)state;
    assert_int_equal(WAITIO_MPI_Op_create(add, 1, &op), 0);
    assert_int_equal(
        WAITIO_MPI_Comm_create_keyval(WAITIO_MPI_COMM_NULL_COPY_FN, delete_it, &key, NULL), 0);
    assert_int_equal(WAITIO_MPI_Comm_set_attr(WAITIO_MPI_COMM_SELF, key, &ten), 0);
    again();
    assert_int_equal(deleted, 10); /* as by MPI_Finalize */
    assert_int_equal(WAITIO_MPI_Comm_get_attr(WAITIO_MPI_COMM_SELF, key, &value, &flag), 0);
    assert_int_equal(flag, 0);
    assert_int_equal(WAITIO_MPI_Comm_set_attr(WAITIO_MPI_COMM_WORLD, key, &ten), 0);
    assert_int_equal(
        WAITIO_MPI_Allreduce(&mine, &sum, 1, WAITIO_MPI_INT, op, WAITIO_MPI_COMM_WORLD), 0);
    assert_int_equal(sum, 4);
    assert_int_equal(WAITIO_MPI_Comm_free_keyval(&key), 0);
    assert_int_equal(WAITIO_MPI_Op_free(&op), 0);
}

static void numbers_of_requests_are_stale(void **state)
{
    WAITIO_MPI_Comm world = WAITIO_MPI_COMM_WORLD;
    waitio_req_t *r, none;
    int32_t number, next;
    int in;

    (void)state;
    assert_int_equal(wio_renamed_new("test", &in, &number, &r), 0);
    assert_int_equal(WAITIO_MPI_Irecv(&in, 1, WAITIO_MPI_INT, 0, 1, world, r), 0);
    assert_int_equal(wio_renamed_keep(number, r), number);
    again();
    r = wio_renamed_find(&number, &none);
    assert_ptr_equal(r, &none);
    assert_int_equal(WAITIO_MPI_Wait(r, WAITIO_MPI_STATUS_IGNORE), WAITIO_ERR_REQUEST);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(wio_renamed_new("test", &in, &next, &r), 0);
        assert_int_not_equal(next, number);
        assert_int_equal(wio_renamed_keep(next, r), 0); /* not started: it is free again */
    }
}

static void finalized_is_taken_back(void **state)
{
    WAITIO_MPI_Comm old;
    int flag = 0, size;

    (void)state;
    assert_int_equal(WAITIO_MPI_Comm_dup(WAITIO_MPI_COMM_WORLD, &old), 0);
    assert_int_equal(WAITIO_MPI_Finalize(), 0);
    WAITIO_MPI_Finalized(&flag);
    assert_int_equal(flag, 1);
    refused(WAITIO_ERR_STATE, "waitio_rejoin() joins it again", waitio_init(5));
    again();
    WAITIO_MPI_Finalized(&flag);
    assert_int_equal(flag, 0);
    refused(WAITIO_ERR_GROUP, "(waitio_rejoin)", WAITIO_MPI_Comm_size(old, &size));
    /* The basic call knows nothing of communicators; they go all the same. */
    assert_int_equal(WAITIO_MPI_Comm_dup(WAITIO_MPI_COMM_WORLD, &old), 0);
    assert_int_equal(waitio_finalize(), 0);
    again();
    refused(WAITIO_ERR_GROUP, "(waitio_rejoin)", WAITIO_MPI_Barrier(old));
    assert_int_equal(sum_of(WAITIO_MPI_COMM_WORLD, 3), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_mean_the_new_universe),
        cmocka_unit_test(communicators_are_refused_by_name),
        cmocka_unit_test(requests_are_stale_and_freed),
        cmocka_unit_test(a_long_buffered_send_goes_with_its_universe),
        cmocka_unit_test(operations_of_other_libraries_end),
        cmocka_unit_test(what_waits_call_stays_until_it_is_taken_back),
        cmocka_unit_test(operations_of_the_program_end),
        cmocka_unit_test(keys_and_operators_stay),
        cmocka_unit_test(numbers_of_requests_are_stale),
        cmocka_unit_test(finalized_is_taken_back),
    };
    return cmocka_run_group_tests(tests, alone_join, alone_leave);
}
