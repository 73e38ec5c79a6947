/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that were freed early do not outlive the universe. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "mpi/request.h"
#include "unit/mpi_alone.h"

/* The engine has them, and ends them with the universe. */
static void receives_with_holes_are_the_engines(void **state)
{
    int in[3] = {1, 2, 3};
    WAITIO_MPI_Comm world = WAITIO_MPI_COMM_WORLD;
    WAITIO_MPI_Datatype holes;
    WAITIO_MPI_Request req[2];

    (void)state;
    WAITIO_MPI_Type_vector(2, 1, 2, WAITIO_MPI_INT, &holes);
    WAITIO_MPI_Type_commit(&holes);
    assert_int_equal(WAITIO_MPI_Irecv(in, 1, holes, 0, 1, world, &req[0]), 0);
    assert_int_equal(WAITIO_MPI_Recv_init(in, 1, holes, 0, 2, world, &req[1]), 0);
    assert_int_equal(WAITIO_MPI_Start(&req[1]), 0);
    WAITIO_MPI_Type_free(&holes);
    assert_int_equal(WAITIO_MPI_Request_free(&req[0]), 0);
    assert_int_equal(WAITIO_MPI_Request_free(&req[1]), 0);
    assert_int_equal(wio_request_alive(), 0);
    assert_true(in[0] == 1 && in[1] == 2 && in[2] == 3);
}

static void freed_receives_of_matched_messages_are_delivered(void **state)
{
    int in[3] = {1, 2, 3}, out[2] = {7, 8};
    WAITIO_MPI_Comm world = WAITIO_MPI_COMM_WORLD;
    WAITIO_MPI_Datatype holes;
    WAITIO_MPI_Request req;
    WAITIO_MPI_Message message;

    (void)state;
    WAITIO_MPI_Type_vector(2, 1, 2, WAITIO_MPI_INT, &holes);
    WAITIO_MPI_Type_commit(&holes);
    assert_int_equal(WAITIO_MPI_Send(out, 2, WAITIO_MPI_INT, 0, 3, world), 0);
    assert_int_equal(WAITIO_MPI_Mprobe(0, 3, world, &message, WAITIO_MPI_STATUS_IGNORE), 0);
    assert_int_equal(WAITIO_MPI_Imrecv(in, 1, holes, &message, &req), 0);
    WAITIO_MPI_Type_free(&holes);
    assert_int_equal(WAITIO_MPI_Request_free(&req), 0);
    wio_request_end(true);
    assert_int_equal(wio_request_alive(), 0);
    assert_int_equal(wio_freed_receives, 0);
    assert_true(in[0] == 7 && in[1] == 2 && in[2] == 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(receives_with_holes_are_the_engines),
        cmocka_unit_test(freed_receives_of_matched_messages_are_delivered),
    };
    return cmocka_run_group_tests(tests, alone_join, alone_leave);
}
