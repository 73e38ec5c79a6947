/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments of collectives that are wrong, or that no memory holds: the error names them. */
#include "unit/mpi_world.h"

static void refused(struct wio_call c, int code, const char *text)
{
    static const int pb[2] = {0, 0}, first[1] = {0};
    struct wio_topology topo = {1, pb, first, .runs = true};
    struct wio_caller who = {.size = 2, .topo = &topo};
    struct wio_schedule s;
    assert_int_equal(wio_coll_write(&s, &c, &who), code);
    if (strstr(wio_last_error(), text) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", wio_last_error(), text);
    wio_schedule_free(&s);
}

static void wrong_arguments_are_refused_by_name(void **state)
{
    int a[8], b[8], one_count[2] = {1, 1}, negative[2] = {1, -1};
    const WAITIO_MPI_Count ones[2] = {1, 1}, most[2] = {INT64_MAX, 1};
    const WAITIO_MPI_Aint beyond[2] = {0, INTPTR_MAX / 2};
    WAITIO_MPI_Datatype raw, pair;
    WAITIO_MPI_Op op = WAITIO_MPI_SUM;
    (void)state;
    WAITIO_MPI_Type_contiguous(2, WAITIO_MPI_INT, &pair);
    WAITIO_MPI_Type_commit(&pair);
    refused((struct wio_call){.kind = WIO_BCAST,
                              .recv = {.buf = a, .count = 1, .type = WAITIO_MPI_INT},
                              .root = 2},
            WAITIO_MPI_ERR_ROOT, "root 2: the communicator has ranks 0 to 1");
    refused((struct wio_call){.kind = WIO_BCAST,
                              .recv = {.buf = NULL, .count = 1, .type = WAITIO_MPI_INT}},
            WAITIO_ERR_ARG, "broadcast buffer is NULL but 4 bytes");
    refused((struct wio_call){.kind = WIO_ALLREDUCE,
                              .send = {.buf = a},
                              .recv = {.buf = b, .count = 1, .type = WAITIO_MPI_COMPLEX},
                              .op = WAITIO_MPI_MAX},
            WAITIO_MPI_ERR_OP, "operator MAX is not defined for type COMPLEX");
    refused((struct wio_call){.kind = WIO_ALLREDUCE,
                              .send = {.buf = a},
                              .recv = {.buf = b, .count = -3, .type = WAITIO_MPI_INT},
                              .op = op},
            WAITIO_MPI_ERR_COUNT, "count -3 of INT is negative");
    refused((struct wio_call){.kind = WIO_ALLGATHER,
                              .send = {.buf = a, .count = 2, .type = WAITIO_MPI_INT},
                              .recv = {.buf = b, .count = 1, .type = WAITIO_MPI_INT}},
            WAITIO_ERR_TRUNCATE, "allgather: my own part has 8 bytes, its place 4");
    refused((struct wio_call){.kind = WIO_GATHER,
                              .v = true,
                              .send = {.buf = a, .count = 1, .type = WAITIO_MPI_INT},
                              .recv = {.buf = b,
                                       .count = 0,
                                       .type = WAITIO_MPI_INT,
                                       .counts = one_count,
                                       .displs = NULL}},
            WAITIO_ERR_ARG, "counts or displacements of the receive buffer are NULL");
    refused((struct wio_call){.kind = WIO_GATHER,
                              .v = true,
                              .send = {.buf = a, .count = 1, .type = WAITIO_MPI_INT},
                              .recv = {.buf = b,
                                       .count = 0,
                                       .type = WAITIO_MPI_INT,
                                       .counts = negative,
                                       .displs = one_count}},
            WAITIO_MPI_ERR_COUNT, "count -1 of INT is negative");
    refused(
        (struct wio_call){
            .kind = WIO_ALLTOALL,
            .v = true,
            .send = {.buf = a, .type = WAITIO_MPI_INT, .large_counts = ones, .places = beyond},
            .recv = {.buf = b, .type = WAITIO_MPI_INT, .large_counts = ones, .places = beyond}},
        WAITIO_ERR_LIMIT, "block 1 begins beyond 2^63 bytes");
    refused((struct wio_call){.kind = WIO_ALLTOALL,
                              .send = {.buf = a, .count = INT64_MAX / 4, .type = WAITIO_MPI_INT},
                              .recv = {.buf = b, .count = INT64_MAX / 4, .type = WAITIO_MPI_INT}},
            WAITIO_ERR_LIMIT, "the send buffer has 2^63 bytes or more");
    refused((struct wio_call){.kind = WIO_REDUCE_SCATTER,
                              .listed = true,
                              .send = {.buf = a},
                              .recv = {.buf = b, .type = WAITIO_MPI_BYTE, .large_counts = most},
                              .op = WAITIO_MPI_BOR},
            WAITIO_ERR_LIMIT, "2^63 elements or more in all");
    refused((struct wio_call){.kind = WIO_ALLREDUCE,
                              .send = {.buf = a},
                              .recv = {.buf = b, .count = 1, .type = pair},
                              .op = op},
            WAITIO_MPI_ERR_OP, "operator SUM is not defined for type derived type (make one");
    WAITIO_MPI_Type_contiguous(2, WAITIO_MPI_INT, &raw);
    refused((struct wio_call){.kind = WIO_BCAST, .recv = {.buf = a, .count = 1, .type = raw}},
            WAITIO_MPI_ERR_TYPE, "is not committed");
    WAITIO_MPI_Type_free(&raw);
    WAITIO_MPI_Type_free(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(wrong_arguments_are_refused_by_name)};
    setenv("WAITIO_ERRORS", "return", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
