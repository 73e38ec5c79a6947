/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What MPI's text says in passing and programs count on: partners that are none, statuses of what
 * waited for nothing, absolute addresses, buffered sends, NULL that is a mistake.
 */
#include <stdio.h>
#include <string.h>
#include <waitio_mpi.h>

static int failures, me, n, right, left;
static WAITIO_MPI_Comm world;

static void expect(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "details: rank %d: %s\n", me, what);
        failures++;
    }
}

static int is_empty(const WAITIO_MPI_Status *st)
{
    int count = -1;

    WAITIO_MPI_Get_count(st, WAITIO_MPI_INT, &count);
    return st->MPI_SOURCE == WAITIO_MPI_ANY_SOURCE && st->MPI_TAG == WAITIO_MPI_ANY_TAG &&
           count == 0;
}

static int from_nobody(const WAITIO_MPI_Status *st)
{
    int count = -1;

    WAITIO_MPI_Get_count(st, WAITIO_MPI_INT, &count);
    return st->MPI_SOURCE == WAITIO_MPI_PROC_NULL && st->MPI_TAG == WAITIO_MPI_ANY_TAG &&
           count == 0;
}

/* A row of processes exchanges with its neighbours; the ends have none on one side. Waitany names
 * every request once, as the loop of a stencil expects. */
static void ends_of_a_row(void)
{
    int before = me == 0 ? WAITIO_MPI_PROC_NULL : me - 1;
    int behind = me == n - 1 ? WAITIO_MPI_PROC_NULL : me + 1;
    int in[2] = {-1, -1}, seen[4] = {0}, index;
    WAITIO_MPI_Request req[4];
    WAITIO_MPI_Status st;

    WAITIO_MPI_Irecv(&in[0], 1, WAITIO_MPI_INT, before, 1, world, &req[0]);
    WAITIO_MPI_Irecv(&in[1], 1, WAITIO_MPI_INT, behind, 2, world, &req[1]);
    WAITIO_MPI_Isend(&me, 1, WAITIO_MPI_INT, behind, 1, world, &req[2]);
    WAITIO_MPI_Isend(&me, 1, WAITIO_MPI_INT, before, 2, world, &req[3]);
    for (int i = 0; i < 4; i++) {
        WAITIO_MPI_Waitany(4, req, &index, &st);
        expect(index != WAITIO_MPI_UNDEFINED, "waitany names a request");
        if (index == WAITIO_MPI_UNDEFINED)
            return;
        seen[index]++;
        if (index < 2 && (index == 0 ? before : behind) == WAITIO_MPI_PROC_NULL)
            expect(from_nobody(&st), "status of a receive from nobody");
    }
    expect(seen[0] == 1 && seen[1] == 1 && seen[2] == 1 && seen[3] == 1, "each once");
    expect(in[0] == (me == 0 ? -1 : me - 1) && in[1] == (me == n - 1 ? -1 : me + 1), "neighbours");
}

static void alone_with_nobody(void)
{
    int in[2], index, some, which[4], flag = 0;
    WAITIO_MPI_Request req[4];
    WAITIO_MPI_Status st;

    for (int i = 0; i < 4; i++)
        req[i] = WAITIO_MPI_REQUEST_NULL;
    WAITIO_MPI_Irecv(in, 1, WAITIO_MPI_INT, WAITIO_MPI_PROC_NULL, 1, world, &req[0]);
    WAITIO_MPI_Request_get_status(req[0], &flag, &st);
    expect(flag && from_nobody(&st), "looked at");
    WAITIO_MPI_Waitsome(4, req, &some, which, &st);
    expect(some == 1 && which[0] == 0 && from_nobody(&st), "waitsome");
    WAITIO_MPI_Isend(in, 1, WAITIO_MPI_INT, WAITIO_MPI_PROC_NULL, 1, world, &req[1]);
    WAITIO_MPI_Cancel(&req[1]);
    WAITIO_MPI_Request_free(&req[1]);
    WAITIO_MPI_Waitany(4, req, &index, &st);
    expect(index == WAITIO_MPI_UNDEFINED && is_empty(&st), "all are null");
}

static void persistent_with_nobody(void)
{
    int in = -1, out = 0, index, flag;
    WAITIO_MPI_Request req[2];
    WAITIO_MPI_Status st;

    WAITIO_MPI_Recv_init(&in, 1, WAITIO_MPI_INT, WAITIO_MPI_PROC_NULL, 1, world, &req[0]);
    WAITIO_MPI_Send_init(&out, 1, WAITIO_MPI_INT, WAITIO_MPI_PROC_NULL, 1, world, &req[1]);
    for (int round = 0; round < 3; round++) {
        int seen = 0;
        WAITIO_MPI_Testany(2, req, &index, &flag, &st);
        expect(flag && index == WAITIO_MPI_UNDEFINED && is_empty(&st), "none is active");
        WAITIO_MPI_Startall(2, req);
        for (int i = 0; i < 2; i++) {
            WAITIO_MPI_Waitany(2, req, &index, &st);
            seen |= index >= 0 ? 1 << index : 8;
        }
        expect(seen == 3, "both persistent ones were named");
    }
    WAITIO_MPI_Request_free(&req[0]);
    WAITIO_MPI_Request_free(&req[1]);
}

/* Nothing was waited for: the status names any source and any tag. */
static void nothing_to_wait_for(void)
{
    WAITIO_MPI_Request req[2] = {WAITIO_MPI_REQUEST_NULL, WAITIO_MPI_REQUEST_NULL};
    WAITIO_MPI_Status st[2];
    WAITIO_MPI_Comm twin;
    int flag = 0, index = 5;

    WAITIO_MPI_Wait(&req[0], &st[0]);
    expect(is_empty(&st[0]), "wait for a null request");
    WAITIO_MPI_Test(&req[0], &flag, &st[0]);
    expect(flag && is_empty(&st[0]), "test of a null request");
    WAITIO_MPI_Waitall(2, req, st);
    expect(is_empty(&st[0]) && is_empty(&st[1]), "waitall of null requests");
    WAITIO_MPI_Comm_idup(world, &twin, &req[1]);
    WAITIO_MPI_Waitany(2, req, &index, &st[0]);
    expect(index == 1, "a communicator's request is named");
    WAITIO_MPI_Comm_free(&twin);
}

static void copies(void)
{
    int out[50] = {0}, in[50], index = 7;
    WAITIO_MPI_Request req;
    WAITIO_MPI_Status st;

    WAITIO_MPI_Bsend_init(out, 50, WAITIO_MPI_INT, right, 3, world, &req);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 50; i++)
            out[i] = 1000 * round + i + me;
        WAITIO_MPI_Start(&req);
        WAITIO_MPI_Wait(&req, &st);
        memset(out, 0, sizeof out); /* the buffer is ours again before anybody receives */
        WAITIO_MPI_Recv(in, 50, WAITIO_MPI_INT, left, 3, world, &st);
        expect(in[49] == 1000 * round + 49 + left, "persistent buffered send");
    }
    WAITIO_MPI_Request_free(&req);
    out[0] = 77 + me;
    WAITIO_MPI_Ibsend(out, 1, WAITIO_MPI_INT, right, 4, world, &req);
    WAITIO_MPI_Waitany(1, &req, &index, &st);
    expect(index == 0, "the request of a buffered send is named");
    WAITIO_MPI_Recv(in, 1, WAITIO_MPI_INT, left, 4, world, &st);
    expect(in[0] == 77 + left, "buffered send");
}

/* Collectives on WAITIO_MPI_BOTTOM, with and without holes between the places. */
static void absolute_addresses(void)
{
    int number = me, lengths[2] = {1, 3}, all[2] = {0, 0};
    double three[3] = {me, me, me};
    WAITIO_MPI_Aint at[2];
    WAITIO_MPI_Datatype types[2] = {WAITIO_MPI_INT, WAITIO_MPI_DOUBLE}, both, one;

    WAITIO_MPI_Get_address(&number, &at[0]);
    WAITIO_MPI_Get_address(three, &at[1]);
    WAITIO_MPI_Type_create_struct(2, lengths, at, types, &both);
    WAITIO_MPI_Type_commit(&both);
    WAITIO_MPI_Bcast(WAITIO_MPI_BOTTOM, 1, both, n - 1, world);
    expect(number == n - 1 && three[2] == n - 1, "broadcast of scattered variables");
    number = me;
    WAITIO_MPI_Type_create_hindexed(1, lengths, at, WAITIO_MPI_INT, &one);
    WAITIO_MPI_Type_commit(&one);
    WAITIO_MPI_Bcast(WAITIO_MPI_BOTTOM, 1, one, n - 1, world);
    expect(number == n - 1, "broadcast of one variable");
    WAITIO_MPI_Alltoall(all, 0, one, WAITIO_MPI_BOTTOM, 0, one, world);
    number = me;
    WAITIO_MPI_Gather(WAITIO_MPI_BOTTOM, 1, one, all, 1, WAITIO_MPI_INT, 0, WAITIO_MPI_COMM_SELF);
    expect(all[0] == me, "gather of one variable");
    WAITIO_MPI_Type_free(&both);
    WAITIO_MPI_Type_free(&one);
}

/* NULL is no buffer for other types: an error, and not a crash. */
static void null_buffers(void)
{
    WAITIO_MPI_Datatype column;
    WAITIO_MPI_Request req;
    char bytes[20] = "";
    int at = 0;

    WAITIO_MPI_Type_vector(3, 1, 4, WAITIO_MPI_INT, &column);
    WAITIO_MPI_Type_commit(&column);
    WAITIO_MPI_Comm_set_errhandler(world, WAITIO_MPI_ERRORS_RETURN);
    expect(WAITIO_MPI_Isend(NULL, 1, column, me, 5, world, &req) == WAITIO_ERR_ARG &&
               strstr(waitio_last_error(), "12 bytes") != NULL,
           "send of a column at NULL");
    expect(WAITIO_MPI_Irecv(NULL, 1, column, me, 5, world, &req) == WAITIO_ERR_ARG,
           "receive of a column at NULL");
    expect(WAITIO_MPI_Bcast(NULL, 1, column, 0, WAITIO_MPI_COMM_SELF) == WAITIO_ERR_ARG,
           "broadcast of a column at NULL");
    expect(WAITIO_MPI_Pack(NULL, 1, column, bytes, sizeof bytes, &at, world) == WAITIO_ERR_ARG,
           "packed from NULL");
    expect(WAITIO_MPI_Unpack(bytes, sizeof bytes, &at, NULL, 1, column, world) == WAITIO_ERR_ARG,
           "unpacked to NULL");
    WAITIO_MPI_Comm_set_errhandler(world, WAITIO_MPI_ERRORS_ARE_FATAL);
    WAITIO_MPI_Type_free(&column);
}

/* Mistakes of which a crash or a wrong number came: @p call must fail with @p code and say @p what.
 */
#define REFUSED(call, code, what)                                                                  \
    expect((call) == (code) && strstr(waitio_last_error(), what) != NULL, #call)

static void null_in_grids(void)
{
    int dims[1] = {1}, periods[1] = {0}, out[1], rank;
    WAITIO_MPI_Comm grid, part;

    WAITIO_MPI_Cart_create(WAITIO_MPI_COMM_SELF, 1, dims, periods, 0, &grid);
    REFUSED(WAITIO_MPI_Cart_map(grid, 1, dims, periods, NULL), WAITIO_ERR_ARG, "rank");
    REFUSED(WAITIO_MPI_Cart_sub(grid, NULL, &part), WAITIO_ERR_ARG, "remaining");
    REFUSED(WAITIO_MPI_Cartdim_get(grid, NULL), WAITIO_ERR_ARG, "number");
    REFUSED(WAITIO_MPI_Cart_get(grid, 1, NULL, periods, out), WAITIO_ERR_ARG, "sizes");
    REFUSED(WAITIO_MPI_Cart_get(grid, 1, dims, NULL, out), WAITIO_ERR_ARG, "periods");
    REFUSED(WAITIO_MPI_Cart_get(grid, 1, dims, periods, NULL), WAITIO_ERR_ARG, "coordinates");
    REFUSED(WAITIO_MPI_Cart_coords(grid, 0, 1, NULL), WAITIO_ERR_ARG, "coordinates");
    REFUSED(WAITIO_MPI_Cart_rank(grid, NULL, &rank), WAITIO_ERR_ARG, "coordinates");
    REFUSED(WAITIO_MPI_Cart_rank(grid, dims, NULL), WAITIO_ERR_ARG, "rank");
    REFUSED(WAITIO_MPI_Cart_shift(grid, 0, 1, NULL, &rank), WAITIO_ERR_ARG, "source");
    REFUSED(WAITIO_MPI_Cart_shift(grid, 0, 1, &rank, NULL), WAITIO_ERR_ARG, "destination");
    REFUSED(WAITIO_MPI_Topo_test(grid, NULL), WAITIO_ERR_ARG, "kind");
    WAITIO_MPI_Comm_free(&grid);
}

static void mistakes(void)
{
    int out[4], at = 0, sizes[2] = {0, 0}, done = 0;
    char bytes[8];
    WAITIO_MPI_Aint places[2] = {0, 4};
    WAITIO_MPI_Datatype types[2] = {WAITIO_MPI_INT, WAITIO_MPI_INT}, type = 0;
    WAITIO_MPI_Group all, some;
    WAITIO_MPI_Request req = WAITIO_MPI_REQUEST_NULL;
    WAITIO_MPI_Comm grid;

    WAITIO_MPI_Comm_group(world, &all);
    WAITIO_MPI_Comm_set_errhandler(world, WAITIO_MPI_ERRORS_RETURN);
    REFUSED(WAITIO_MPI_Get_count(WAITIO_MPI_STATUS_IGNORE, WAITIO_MPI_INT, &at), WAITIO_ERR_ARG,
            "STATUS_IGNORE");
    REFUSED(WAITIO_MPI_Test_cancelled(WAITIO_MPI_STATUS_IGNORE, &at), WAITIO_ERR_ARG,
            "STATUS_IGNORE");
    REFUSED(WAITIO_MPI_Type_size(WAITIO_MPI_INT, NULL), WAITIO_ERR_ARG, "size argument is NULL");
    REFUSED(WAITIO_MPI_Startall(-1, &req), WAITIO_ERR_ARG, "-1 requests");
    REFUSED(WAITIO_MPI_Testany(1, &req, NULL, &at, NULL), WAITIO_ERR_ARG, "index argument is NULL");
    REFUSED(WAITIO_MPI_Waitsome(1, &req, &done, NULL, NULL), WAITIO_ERR_ARG, "indices argument");
    REFUSED(WAITIO_MPI_Send(WAITIO_MPI_IN_PLACE, 1, WAITIO_MPI_INT, me, 6, world), WAITIO_ERR_ARG,
            "IN_PLACE");
    REFUSED(WAITIO_MPI_Sendrecv_replace(NULL, 1, WAITIO_MPI_INT, me, 6, me, 6, world, NULL),
            WAITIO_ERR_ARG, "buf is NULL");
    REFUSED(WAITIO_MPI_Reduce_local(NULL, out, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM), WAITIO_ERR_ARG,
            "input argument is NULL");
    REFUSED(WAITIO_MPI_Reduce_local(WAITIO_MPI_IN_PLACE, out, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM),
            WAITIO_MPI_ERR_BUFFER, "input argument is WAITIO_MPI_IN_PLACE");
    REFUSED(WAITIO_MPI_Reduce_local(out, WAITIO_MPI_IN_PLACE, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM),
            WAITIO_MPI_ERR_BUFFER, "result argument is WAITIO_MPI_IN_PLACE");
    REFUSED(WAITIO_MPI_Pack(out, 1, WAITIO_MPI_INT, NULL, 8, &at, world), WAITIO_ERR_ARG,
            "packed buffer");
    REFUSED(WAITIO_MPI_Type_size_x(WAITIO_MPI_INT, NULL), WAITIO_ERR_ARG, "size argument is NULL");
    REFUSED(WAITIO_MPI_Dims_create(4, 2, NULL), WAITIO_ERR_ARG, "sizes argument is NULL");
    REFUSED(WAITIO_MPI_Cart_create(world, 1, NULL, NULL, 0, &grid), WAITIO_ERR_ARG,
            "sizes argument");
    sizes[0] = 1;
    REFUSED(WAITIO_MPI_Cart_create(world, 1, sizes, NULL, 0, &grid), WAITIO_ERR_ARG, "periods");
    null_in_grids();
    REFUSED(WAITIO_MPI_Group_incl(all, 1, NULL, &some), WAITIO_ERR_ARG, "their list is NULL");
    REFUSED(WAITIO_MPI_Group_range_excl(all, 1, NULL, &some), WAITIO_ERR_ARG, "their list is NULL");
    REFUSED(WAITIO_MPI_Group_translate_ranks(all, 1, NULL, all, out), WAITIO_ERR_ARG,
            "list is NULL");
    REFUSED(WAITIO_MPI_Type_create_struct(2, NULL, places, types, &type), WAITIO_ERR_ARG,
            "lengths argument is NULL");
    REFUSED(WAITIO_MPI_Type_create_darray(1, 0, 1, NULL, NULL, NULL, NULL, WAITIO_MPI_ORDER_C,
                                          WAITIO_MPI_INT, &type),
            WAITIO_ERR_ARG, "NULL");
    at = 4;
    REFUSED(WAITIO_MPI_Pack(out, 2, WAITIO_MPI_INT, bytes, 8, &at, world), WAITIO_ERR_TRUNCATE,
            "8 b");
    WAITIO_MPI_Comm_set_errhandler(world, WAITIO_MPI_ERRORS_ARE_FATAL);
    WAITIO_MPI_Group_free(&all);
}

/* Where a call is to write its answer: NULL is named there, too. */
static void nowhere_to_write(void)
{
    char text[WAITIO_MPI_MAX_ERROR_STRING];
    int x = 0, flag = 0;
    WAITIO_MPI_Aint at = 0;

    WAITIO_MPI_Comm_set_errhandler(world, WAITIO_MPI_ERRORS_RETURN);
    REFUSED(WAITIO_MPI_Comm_get_attr(world, WAITIO_MPI_TAG_UB, NULL, &flag), WAITIO_ERR_ARG,
            "value argument is NULL");
    REFUSED(WAITIO_MPI_Comm_get_attr(world, WAITIO_MPI_TAG_UB, &at, NULL), WAITIO_ERR_ARG,
            "flag argument is NULL");
    REFUSED(WAITIO_MPI_Comm_create_keyval(WAITIO_MPI_COMM_NULL_COPY_FN,
                                          WAITIO_MPI_COMM_NULL_DELETE_FN, NULL, NULL),
            WAITIO_ERR_ARG, "keyval argument is NULL");
    REFUSED(WAITIO_MPI_Comm_free_keyval(NULL), WAITIO_ERR_ARG, "keyval argument is NULL");
    REFUSED(WAITIO_MPI_Comm_get_errhandler(world, NULL), WAITIO_ERR_ARG,
            "handler argument is NULL");
    REFUSED(WAITIO_MPI_Error_string(0, NULL, &x), WAITIO_ERR_ARG, "text argument is NULL");
    REFUSED(WAITIO_MPI_Error_string(0, text, NULL), WAITIO_ERR_ARG, "length argument is NULL");
    REFUSED(WAITIO_MPI_Error_class(0, NULL), WAITIO_ERR_ARG, "class argument is NULL");
    REFUSED(WAITIO_MPI_Buffer_detach(NULL, &x), WAITIO_ERR_ARG, "buffer argument is NULL");
    REFUSED(WAITIO_MPI_Buffer_detach(&at, NULL), WAITIO_ERR_ARG, "size argument is NULL");
    REFUSED(WAITIO_MPI_Get_address(&x, NULL), WAITIO_ERR_ARG, "address argument is NULL");
    REFUSED(WAITIO_MPI_Type_ub(WAITIO_MPI_INT, NULL), WAITIO_ERR_ARG, "displacement argument");
    REFUSED(WAITIO_MPI_Alloc_mem(8, WAITIO_MPI_INFO_NULL, NULL), WAITIO_ERR_ARG,
            "address argument is NULL");
    REFUSED(WAITIO_MPI_Init_thread(NULL, NULL, 0, NULL), WAITIO_ERR_ARG,
            "provided argument is NULL");
    REFUSED(WAITIO_MPI_Query_thread(NULL), WAITIO_ERR_ARG, "provided argument is NULL");
    REFUSED(WAITIO_MPI_Is_thread_main(NULL), WAITIO_ERR_ARG, "flag argument is NULL");
    REFUSED(WAITIO_MPI_Finalized(NULL), WAITIO_ERR_ARG, "flag argument is NULL");
    REFUSED(WAITIO_MPI_Get_version(&x, NULL), WAITIO_ERR_ARG, "subversion argument is NULL");
    REFUSED(WAITIO_MPI_Get_processor_name(NULL, &x), WAITIO_ERR_ARG, "name argument is NULL");
    REFUSED(WAITIO_MPI_Get_library_version(text, NULL), WAITIO_ERR_ARG, "length argument is NULL");
    WAITIO_MPI_Comm_set_errhandler(world, WAITIO_MPI_ERRORS_ARE_FATAL);
}

/* The same of names and hints, and counts that are missing. */
static void nothing_given(void)
{
    char text[WAITIO_MPI_MAX_ERROR_STRING];
    int x = 0, y = 0, flag = 0;
    WAITIO_MPI_Info info;
    WAITIO_MPI_Datatype type;

    WAITIO_MPI_Info_create(&info);
    WAITIO_MPI_Type_contiguous(2, WAITIO_MPI_INT, &type);
    WAITIO_MPI_Comm_set_errhandler(world, WAITIO_MPI_ERRORS_RETURN);
    REFUSED(WAITIO_MPI_Comm_set_name(world, NULL), WAITIO_ERR_ARG, "name argument is NULL");
    REFUSED(WAITIO_MPI_Comm_get_name(world, text, NULL), WAITIO_ERR_ARG, "length argument is NULL");
    REFUSED(WAITIO_MPI_Type_set_name(type, NULL), WAITIO_ERR_ARG, "name argument is NULL");
    REFUSED(WAITIO_MPI_Type_get_name(type, NULL, &x), WAITIO_ERR_ARG, "name argument is NULL");
    REFUSED(WAITIO_MPI_Info_create(NULL), WAITIO_ERR_ARG, "info argument is NULL");
    REFUSED(WAITIO_MPI_Info_free(NULL), WAITIO_ERR_ARG, "info argument is NULL");
    REFUSED(WAITIO_MPI_Info_dup(info, NULL), WAITIO_ERR_ARG, "info argument is NULL");
    REFUSED(WAITIO_MPI_Info_set(info, NULL, "v"), WAITIO_ERR_ARG, "key argument is NULL");
    REFUSED(WAITIO_MPI_Info_set(info, "k", NULL), WAITIO_ERR_ARG, "value argument is NULL");
    REFUSED(WAITIO_MPI_Info_delete(info, NULL), WAITIO_ERR_ARG, "key argument is NULL");
    REFUSED(WAITIO_MPI_Info_get(info, NULL, 1, text, &flag), WAITIO_ERR_ARG, "key argument");
    REFUSED(WAITIO_MPI_Info_get(info, "k", 1, text, NULL), WAITIO_ERR_ARG, "flag argument");
    REFUSED(WAITIO_MPI_Info_get_valuelen(info, "k", NULL, &flag), WAITIO_ERR_ARG, "length arg");
    REFUSED(WAITIO_MPI_Info_get_nkeys(info, NULL), WAITIO_ERR_ARG, "count argument is NULL");
    REFUSED(WAITIO_MPI_Info_get_nthkey(info, 0, NULL), WAITIO_ERR_ARG, "key argument is NULL");
    REFUSED(WAITIO_MPI_Reduce_scatter(&x, &y, NULL, WAITIO_MPI_INT, WAITIO_MPI_SUM, world),
            WAITIO_ERR_ARG, "counts argument is NULL");
    WAITIO_MPI_Comm_set_errhandler(world, WAITIO_MPI_ERRORS_ARE_FATAL);
    WAITIO_MPI_Info_free(&info);
    WAITIO_MPI_Type_free(&type);
}

/* Sizes that do not fit into 63 bits, and a large type that is made at once. */
static void large_types(void)
{
    const int many = 2147483647;
    int sizes[3] = {many, many, many}, parts[3] = {1, 1, 1}, value = 0;
    WAITIO_MPI_Aint lb = 0, extent = 0;
    WAITIO_MPI_Datatype a, b, c = 0;

    WAITIO_MPI_Comm_set_errhandler(world, WAITIO_MPI_ERRORS_RETURN);
    expect(WAITIO_MPI_Type_vector(many, 1, 2, WAITIO_MPI_INT, &a) == 0,
           "a vector of 2^31 - 1 blocks");
    WAITIO_MPI_Type_get_extent(a, &lb, &extent);
    expect(lb == 0 && extent == ((WAITIO_MPI_Aint)many * 2 - 1) * 4, "its extent");
    WAITIO_MPI_Type_free(&a);
    WAITIO_MPI_Type_contiguous(many, WAITIO_MPI_DOUBLE, &a);
    REFUSED(WAITIO_MPI_Type_contiguous(many, a, &c), WAITIO_ERR_LIMIT, "2^63");
    REFUSED(WAITIO_MPI_Type_create_hvector(3, 1, INT64_MAX / 2, WAITIO_MPI_INT, &c),
            WAITIO_ERR_LIMIT, "2^63");
    REFUSED(WAITIO_MPI_Type_create_subarray(3, sizes, parts, parts, WAITIO_MPI_ORDER_C,
                                            WAITIO_MPI_INT, &c),
            WAITIO_ERR_LIMIT, "2^63");
    WAITIO_MPI_Type_contiguous(1 << 28, a, &b);
    WAITIO_MPI_Type_commit(&b);
    REFUSED(WAITIO_MPI_Bcast(&value, 4, b, 0, world), WAITIO_ERR_LIMIT, "4 elements");
    REFUSED(WAITIO_MPI_Send(&value, 4, b, me, 7, world), WAITIO_ERR_LIMIT, "4 elements");
    WAITIO_MPI_Comm_set_errhandler(world, WAITIO_MPI_ERRORS_ARE_FATAL);
    WAITIO_MPI_Type_free(&a);
    WAITIO_MPI_Type_free(&b);
}

static void add_and_ask(void *in, void *inout, int *length, WAITIO_MPI_Datatype *type)
{
    int size = 0;

    expect(WAITIO_MPI_Type_size(*type, &size) == 0 && size == 8, "an operator asks about its type");
    for (int i = 0; i < 2 * *length; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* All that a started reduction needs is freed before it is complete. */
static void freed_meanwhile(void)
{
    enum { PAIRS = 50000 };
    static int in[2 * PAIRS], out[2 * PAIRS];
    WAITIO_MPI_Datatype pair;
    WAITIO_MPI_Request req;
    WAITIO_MPI_Comm twin;
    WAITIO_MPI_Op op;

    for (int i = 0; i < 2 * PAIRS; i++)
        in[i] = me + i;
    WAITIO_MPI_Comm_dup(world, &twin);
    WAITIO_MPI_Type_contiguous(2, WAITIO_MPI_INT, &pair);
    WAITIO_MPI_Type_commit(&pair);
    WAITIO_MPI_Op_create(add_and_ask, 1, &op);
    WAITIO_MPI_Iallreduce(in, out, PAIRS, pair, op, twin, &req);
    WAITIO_MPI_Op_free(&op);
    WAITIO_MPI_Type_free(&pair);
    WAITIO_MPI_Comm_free(&twin);
    WAITIO_MPI_Wait(&req, WAITIO_MPI_STATUS_IGNORE);
    expect(out[2 * PAIRS - 1] == n * (2 * PAIRS - 1) + n * (n - 1) / 2, "the sum");
}

/* Everybody starts a long persistent send of a column, frees the request at once, and only then
 * receives: the send goes on by itself. */
static void freed_while_active(void)
{
    enum { ROWS = 100000 };
    static double out[2 * ROWS], in[2 * ROWS];
    WAITIO_MPI_Datatype column;
    WAITIO_MPI_Request req;

    WAITIO_MPI_Type_vector(ROWS, 1, 2, WAITIO_MPI_DOUBLE, &column);
    WAITIO_MPI_Type_commit(&column);
    for (int i = 0; i < 2 * ROWS; i++)
        out[i] = me * 1000000 + i;
    WAITIO_MPI_Send_init(out, 1, column, right, 8, world, &req);
    WAITIO_MPI_Start(&req);
    WAITIO_MPI_Request_free(&req);
    WAITIO_MPI_Recv(in, 1, column, left, 8, world, WAITIO_MPI_STATUS_IGNORE);
    expect(in[2 * ROWS - 2] == left * 1000000 + 2 * ROWS - 2, "a request freed while active");
    WAITIO_MPI_Type_free(&column);
}

/* As the C compiler lays out a structure with a pair in it. */
static void alignment_of_pairs(void)
{
    struct pair {
        short value;
        int index;
    };
    struct outer {
        struct pair pair;
        char mark;
    };
    int lengths[2] = {1, 1};
    WAITIO_MPI_Aint at[2] = {0, sizeof(struct pair)}, lb, extent = 0;
    WAITIO_MPI_Datatype types[2] = {WAITIO_MPI_SHORT_INT, WAITIO_MPI_CHAR}, type;

    WAITIO_MPI_Type_create_struct(2, lengths, at, types, &type);
    WAITIO_MPI_Type_get_extent(type, &lb, &extent);
    expect(extent == sizeof(struct outer), "structure with SHORT_INT");
    WAITIO_MPI_Type_free(&type);
}

int main(void)
{
    WAITIO_MPI_Init(NULL, NULL);
    world = WAITIO_MPI_COMM_WORLD;
    WAITIO_MPI_Comm_rank(world, &me);
    WAITIO_MPI_Comm_size(world, &n);
    right = (me + 1) % n;
    left = (me + n - 1) % n;
    ends_of_a_row();
    alone_with_nobody();
    persistent_with_nobody();
    nothing_to_wait_for();
    copies();
    absolute_addresses();
    null_buffers();
    alignment_of_pairs();
    mistakes();
    nowhere_to_write();
    nothing_given();
    large_types();
    freed_meanwhile();
    freed_while_active();
    WAITIO_MPI_Finalize();
    if (failures == 0)
        puts("ok");
    return failures != 0;
}
