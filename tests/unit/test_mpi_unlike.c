/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Members whose machines write numbers differently, in a universe of one process that takes itself
 * for a big-endian one: what is sent is turned, what is received is turned back, whatever way it is
 * sent and completed; long double is refused by name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mpi/comm.h"
#include "unit/mpi_alone.h"

static WAITIO_MPI_Comm comm;
static const uint32_t out[3] = {0x01020304, 0x05060708, 0x090a0b0c};

static int join(void **state)
{
    wio_comm_pretend_swap = true;
    return alone_join(state) != 0 || waitio_create_universe(&comm) != 0;
}

static void the_wire_has_the_common_form(void **state)
{
    uint32_t raw[3] = {0};
    (void)state;
    WAITIO_MPI_Send(out, 3, WAITIO_MPI_UINT32_T, 0, 1, comm);
    WAITIO_MPI_Recv(raw, 12, WAITIO_MPI_BYTE, 0, 1, comm, WAITIO_MPI_STATUS_IGNORE);
    for (int i = 0; i < 3; i++)
        assert_int_equal(raw[i], __builtin_bswap32(out[i]));
}

static void every_receive_turns_back(void **state)
{
    uint32_t in[3] = {0};
    WAITIO_MPI_Request req[2];
    WAITIO_MPI_Status st;
    int count;
    (void)state;
    WAITIO_MPI_Irecv(in, 3, WAITIO_MPI_UINT32_T, WAITIO_MPI_ANY_SOURCE, 2, comm, &req[0]);
    WAITIO_MPI_Send(out, 3, WAITIO_MPI_UINT32_T, 0, 2, comm);
    WAITIO_MPI_Wait(&req[0], &st);
    WAITIO_MPI_Get_count(&st, WAITIO_MPI_UINT32_T, &count);
    assert_int_equal(count, 3);
    assert_memory_equal(in, out, sizeof out);
    WAITIO_MPI_Send_init(out, 3, WAITIO_MPI_UINT32_T, 0, 3, comm, &req[0]);
    WAITIO_MPI_Recv_init(in, 3, WAITIO_MPI_UINT32_T, 0, 3, comm, &req[1]);
    for (int round = 0; round < 3; round++) {
        memset(in, 0, sizeof in);
        WAITIO_MPI_Startall(2, req);
        WAITIO_MPI_Waitall(2, req, WAITIO_MPI_STATUSES_IGNORE);
        assert_memory_equal(in, out, sizeof out);
    }
    WAITIO_MPI_Request_free(&req[0]);
    WAITIO_MPI_Request_free(&req[1]);
}

/* Long messages are turned piece by piece. An element has 11 bytes, so pieces end within numbers.
 */
static void pieces_are_turned_too(void **state)
{
    enum { N = 400000 };
    struct odd {
        char a;
        double x;
        short b;
    } *from = calloc(N, sizeof *from), *to = calloc(N, sizeof *to);
    unsigned char *raw = malloc(11 * N);
    int lengths[3] = {1, 1, 1};
    WAITIO_MPI_Aint at[3] = {offsetof(struct odd, a), offsetof(struct odd, x),
                             offsetof(struct odd, b)};
    WAITIO_MPI_Datatype types[3] = {WAITIO_MPI_CHAR, WAITIO_MPI_DOUBLE, WAITIO_MPI_SHORT}, three,
                        type;
    WAITIO_MPI_Request req[2];
    uint64_t bits, turned;
    (void)state;
    WAITIO_MPI_Type_create_struct(3, lengths, at, types, &three);
    WAITIO_MPI_Type_create_resized(three, 0, sizeof *from, &type);
    WAITIO_MPI_Type_commit(&type);
    for (int i = 0; i < N; i++) {
        from[i] = (struct odd){(char)i, i + 0.25, (short)(3 * i)};
        to[i] = from[i]; /* the padding */
        to[i].a = 0;
        to[i].x = 0;
        to[i].b = 0;
    }
    WAITIO_MPI_Irecv(to, N, type, 0, 5, comm, &req[0]);
    WAITIO_MPI_Isend(from, N, type, 0, 5, comm, &req[1]);
    assert_int_equal(WAITIO_MPI_Waitall(2, req, WAITIO_MPI_STATUSES_IGNORE), 0);
    for (int i = 0; i < N; i++)
        assert_true(to[i].a == from[i].a && to[i].x == from[i].x && to[i].b == from[i].b);
    WAITIO_MPI_Irecv(raw, 11 * N, WAITIO_MPI_BYTE, 0, 5, comm, &req[0]);
    WAITIO_MPI_Isend(from, N, type, 0, 5, comm, &req[1]);
    assert_int_equal(WAITIO_MPI_Waitall(2, req, WAITIO_MPI_STATUSES_IGNORE), 0);
    for (int i = 0; i < N; i++) {
        memcpy(&bits, &from[i].x, sizeof bits);
        memcpy(&turned, raw + 11 * (size_t)i + 1, sizeof turned);
        assert_true(turned == __builtin_bswap64(bits));
    }
    WAITIO_MPI_Type_free(&three);
    WAITIO_MPI_Type_free(&type);
    free(from);
    free(to);
    free(raw);
}

static void collectives_fold_what_they_turn(void **state)
{
    uint32_t sum[3] = {0};
    (void)state;
    WAITIO_MPI_Allreduce(out, sum, 3, WAITIO_MPI_UINT32_T, WAITIO_MPI_SUM, comm);
    assert_memory_equal(sum, out, sizeof out);
}

static void packing_by_hand_has_the_common_form(void **state)
{
    uint32_t raw[3], in[3] = {0};
    long double x = 1;
    int at = 0;
    (void)state;
    WAITIO_MPI_Pack(out, 3, WAITIO_MPI_UINT32_T, raw, sizeof raw, &at, comm);
    for (int i = 0; i < 3; i++)
        assert_int_equal(raw[i], __builtin_bswap32(out[i]));
    at = 0;
    WAITIO_MPI_Unpack(raw, sizeof raw, &at, in, 3, WAITIO_MPI_UINT32_T, comm);
    assert_memory_equal(in, out, sizeof out);
    assert_int_equal(raw[0], __builtin_bswap32(out[0])); /* what is read stays as it is */
    at = 0;
    assert_int_equal(WAITIO_MPI_Pack(&x, 1, WAITIO_MPI_LONG_DOUBLE, raw, sizeof raw, &at, comm),
                     WAITIO_ERR_UNSUPPORTED);
}

static void long_double_is_refused_by_name(void **state)
{
    long double x = 1, y;
    WAITIO_MPI_Datatype pair;
    (void)state;
    assert_int_equal(WAITIO_MPI_Send(&x, 1, WAITIO_MPI_LONG_DOUBLE, 0, 4, comm),
                     WAITIO_ERR_UNSUPPORTED);
    assert_non_null(strstr(waitio_last_error(), "LONG_DOUBLE: members"));
    assert_int_equal(WAITIO_MPI_Allreduce(&x, &y, 1, WAITIO_MPI_LONG_DOUBLE, WAITIO_MPI_SUM, comm),
                     WAITIO_ERR_UNSUPPORTED);
    WAITIO_MPI_Type_contiguous(2, WAITIO_MPI_LONG_DOUBLE, &pair);
    WAITIO_MPI_Type_commit(&pair);
    assert_int_equal(WAITIO_MPI_Send(&x, 0, pair, 0, 4, comm), WAITIO_ERR_UNSUPPORTED);
    WAITIO_MPI_Type_free(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wire_has_the_common_form),
        cmocka_unit_test(every_receive_turns_back),
        cmocka_unit_test(pieces_are_turned_too),
        cmocka_unit_test(collectives_fold_what_they_turn),
        cmocka_unit_test(packing_by_hand_has_the_common_form),
        cmocka_unit_test(long_double_is_refused_by_name),
    };
    return cmocka_run_group_tests(tests, join, alone_leave);
}
