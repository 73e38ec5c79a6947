/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls beside messages and collectives that MPI programs make: attributes, names, error handlers,
 * hints, matched probes, distributed arrays. An MPI program as it stands; FOR_WAITIO builds it for
 * the conversion library by renaming.
 */
#ifdef FOR_WAITIO
#include <waitio_mpi_rename.h>
#else
#include <mpi.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures, rank, size;

static void expect(int good, const char *what)
{
    if (!good && failures++ < 20)
        fprintf(stderr, "more_calls %d of %d: %s\n", rank, size, what);
}

/* ---- attributes ---- */

static int copies, deletes;

static int copy(MPI_Comm from, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)from;
    (void)keyval;
    copies++;
    *(void **)out = (char *)in + *(int *)extra;
    *flag = 1;
    return MPI_SUCCESS;
}

static int gone(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)value;
    (void)extra;
    deletes++;
    return MPI_SUCCESS;
}

static int object(MPI_Comm from, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)from;
    (void)keyval;
    (void)extra;
    (void)in;
    (void)out;
    *flag = 0;
    return MPI_ERR_OTHER;
}

static void attributes(void)
{
    static char values[10];
    static int step = 3;
    MPI_Comm one, two;
    int key, kept, plain, flag = 0, was;
    void *value = NULL;
    MPI_Comm_create_keyval(copy, gone, &key, &step);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &kept, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &plain, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    MPI_Comm_get_attr(one, key, &value, &flag);
    expect(!flag, "an attribute that was not set");
    MPI_Comm_set_attr(one, key, &values[1]);
    MPI_Comm_set_attr(one, key, &values[2]);
    expect(deletes == 1, "the value that was replaced");
    MPI_Comm_set_attr(one, kept, &values[5]);
    MPI_Comm_set_attr(one, plain, &values[6]);
    MPI_Comm_dup(one, &two);
    MPI_Comm_get_attr(two, key, &value, &flag);
    expect(flag && value == &values[5] && copies == 1, "a value that was copied by a function");
    MPI_Comm_get_attr(two, kept, &value, &flag);
    expect(flag && value == &values[5], "a value that was copied");
    MPI_Comm_get_attr(two, plain, &value, &flag);
    expect(!flag, "a value that was not copied");
    was = key;
    MPI_Comm_free_keyval(&key);
    expect(key == MPI_KEYVAL_INVALID, "a key that was freed");
    MPI_Comm_delete_attr(two, was);
    expect(deletes == 2, "a value that was deleted");
    MPI_Comm_free(&two);
    MPI_Comm_free(&one);
    expect(deletes == 3, "a value of a communicator that was freed");
    MPI_Comm_free_keyval(&kept);
    MPI_Comm_free_keyval(&plain);
}

/* A function that says no: there is no duplicate. */
static void refused_copy(void)
{
    MPI_Comm one, two = MPI_COMM_NULL;
    int key, rc;
    MPI_Comm_create_keyval(object, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_dup(MPI_COMM_SELF, &one);
    MPI_Comm_set_attr(one, key, &key);
    MPI_Comm_set_errhandler(one, MPI_ERRORS_RETURN);
    rc = MPI_Comm_dup(one, &two);
    expect(rc != MPI_SUCCESS, "a duplicate that was refused");
    MPI_Comm_set_errhandler(one, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_free(&one);
    MPI_Comm_free_keyval(&key);
}

static void known_attributes(void)
{
    int *value = NULL, flag = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    expect(flag && *value >= 32767, "TAG_UB");
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag);
    expect(flag && (*value == 0 || *value == 1), "WTIME_IS_GLOBAL");
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag);
    expect(!flag || *value > 0, "UNIVERSE_SIZE");
}

/* ---- names, hints ---- */

static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;
    MPI_Comm mine;
    MPI_Datatype type;
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    expect(strcmp(name, "MPI_COMM_WORLD") == 0 && length == 14, "name of the world");
    MPI_Comm_dup(MPI_COMM_WORLD, &mine);
    MPI_Comm_get_name(mine, name, &length);
    expect(length == 0 && name[0] == '\0', "no name");
    MPI_Comm_set_name(mine, "ocean");
    MPI_Comm_get_name(mine, name, &length);
    expect(strcmp(name, "ocean") == 0 && length == 5, "name of a communicator");
    MPI_Comm_free(&mine);
    MPI_Type_get_name(MPI_DOUBLE, name, &length);
    expect(strcmp(name, "MPI_DOUBLE") == 0, "name of a type");
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_set_name(type, "triple");
    MPI_Type_get_name(type, name, &length);
    expect(strcmp(name, "triple") == 0 && length == 6, "name of a derived type");
    MPI_Type_free(&type);
}

#ifdef FOR_WAITIO /* the standard leaves it to the library what it knows */
static void knows_its_start(void)
{
    static char name[] = "./model", first[] = "-n", second[] = "4";
    char *argv[] = {name, first, second, NULL};
    char text[MPI_MAX_INFO_VAL], folder[MPI_MAX_INFO_VAL];
    MPI_Info env;
    int flag, length = sizeof text;

    MPI_Info_create_env(3, argv, &env);
    MPI_Info_get_string(env, "command", &length, text, &flag);
    expect(flag && strcmp(text, "./model") == 0, "the command");
    length = sizeof text;
    MPI_Info_get_string(env, "argv", &length, text, &flag);
    expect(flag && strcmp(text, "-n 4") == 0, "its arguments");
    length = sizeof text;
    MPI_Info_get_string(env, "wdir", &length, text, &flag);
    expect(flag && getcwd(folder, sizeof folder) != NULL && strcmp(text, folder) == 0,
           "its folder");
    length = sizeof text;
    MPI_Info_get_string(env, "host", &length, text, &flag);
    expect(flag && length > 1, "its host");
    MPI_Info_free(&env);
    MPI_Info_create_env(0, NULL, &env);
    length = sizeof text;
    MPI_Info_get_string(env, "argv", &length, text, &flag);
    expect(!flag, "arguments that are not known");
    MPI_Info_free(&env);
}
#endif

static void hints(void)
{
    MPI_Info info, other;
    char text[64] = "";
    int flag, n, length;
    MPI_Info_create(&info);
    MPI_Info_set(info, "first", "one");
    MPI_Info_set(info, "second", "two");
    MPI_Info_set(info, "first", "three");
    MPI_Info_get(info, "first", 63, text, &flag);
    expect(flag && strcmp(text, "three") == 0, "value of a hint");
    MPI_Info_get(info, "third", 63, text, &flag);
    expect(!flag, "a hint that is not there");
    MPI_Info_dup(info, &other);
    MPI_Info_delete(info, "first");
    MPI_Info_get_nkeys(info, &n);
    expect(n == 1, "number of hints");
    MPI_Info_get_nkeys(other, &n);
    expect(n == 2, "number of hints of a copy");
    MPI_Info_get_nthkey(other, 1, text);
    expect(strcmp(text, "second") == 0, "second hint");
    MPI_Info_get_valuelen(other, "first", &length, &flag);
    expect(flag && length == 5, "length of a hint");
#ifdef FOR_WAITIO /* MPI 4 */
    text[0] = '?';
    text[1] = '\0';
    length = 0;
    MPI_Info_get_string(other, "first", &length, text, &flag);
    expect(flag && length == 6 && strcmp(text, "?") == 0, "room that a hint needs");
    MPI_Info_get_string(other, "first", &length, text, &flag);
    expect(flag && length == 6 && strcmp(text, "three") == 0, "a hint as a text");
    length = 3;
    MPI_Info_get_string(other, "first", &length, text, &flag);
    expect(flag && length == 6 && strcmp(text, "th") == 0, "a hint that is cut");
    MPI_Info_get_string(other, "third", &length, text, &flag);
    expect(!flag && length == 6, "the text of a hint that is not there");
    knows_its_start();
#endif
    MPI_Info_free(&info);
    MPI_Info_free(&other);
    expect(info == MPI_INFO_NULL, "freed hints");
}

/* ---- errors ---- */

static int seen;

static void notice(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    if (*code != MPI_SUCCESS)
        seen++;
}

static void handlers(void)
{
    MPI_Errhandler mine, found;
    int x = 0, rc;
    MPI_Comm_create_errhandler(notice, &mine);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
    rc = MPI_Send(&x, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
    expect(rc != MPI_SUCCESS && seen == 1, "a function that is called on errors");
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    expect(seen == 2, "a function that is called by hand");
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found);
    expect(found == mine, "the handler that was set");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&mine);
    expect(mine == MPI_ERRHANDLER_NULL, "a handler that was freed");
}

/* ---- messages ---- */

static void matched(void)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size, out[3], in[3] = {0}, flag = 0;
    int count = 0;
    double column[4] = {0}, wide[2] = {rank + 0.5, rank + 0.25};
    MPI_Datatype apart;
    MPI_Request reqs[2], again = MPI_REQUEST_NULL;
    MPI_Message message, second;
    MPI_Status status, both[2];
    out[0] = rank;
    out[1] = 2 * rank;
    out[2] = 3 * rank;
    MPI_Isend(out, 3, MPI_INT, next, 7, MPI_COMM_WORLD, &reqs[0]);
    MPI_Isend(wide, 2, MPI_DOUBLE, next, 7, MPI_COMM_WORLD, &reqs[1]);
    MPI_Mprobe(last, 7, MPI_COMM_WORLD, &message, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    expect(count == 3 && status.MPI_SOURCE == last, "matched probe");
    while (!flag)
        MPI_Improbe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &flag, &second, &status);
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &apart);
    MPI_Type_commit(&apart);
    MPI_Imrecv(column, 1, apart, &second, &again);
    MPI_Mrecv(in, 3, MPI_INT, &message, &status);
    expect(in[0] == last && in[2] == 3 * last && message == MPI_MESSAGE_NULL, "matched receive");
    MPI_Wait(&again, &status);
    MPI_Get_count(&status, apart, &count);
    expect(count == 1 && column[0] == last + 0.5 && column[2] == last + 0.25 && column[1] == 0,
           "matched receive of a vector");
    MPI_Waitall(2, reqs, both);
    MPI_Mprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &message, &status);
    expect(message == MPI_MESSAGE_NO_PROC && status.MPI_SOURCE == MPI_PROC_NULL, "from nobody");
    MPI_Mrecv(in, 3, MPI_INT, &message, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    expect(count == 0 && message == MPI_MESSAGE_NULL, "received from nobody");
    MPI_Type_free(&apart);
}

static void looking(void)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size, in = -1, flag = 0, count = 0;
    MPI_Request reqs[2];
    MPI_Status status;
    MPI_Irecv(&in, 1, MPI_INT, last, 8, MPI_COMM_WORLD, &reqs[0]);
    MPI_Isend(&rank, 1, MPI_INT, next, 8, MPI_COMM_WORLD, &reqs[1]);
    while (!flag)
        MPI_Request_get_status(reqs[0], &flag, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    expect(status.MPI_SOURCE == last && status.MPI_TAG == 8 && count == 1 && in == last,
           "status of a request that stays");
    status.MPI_SOURCE = -77;
    MPI_Wait(&reqs[0], &status);
    expect(status.MPI_SOURCE == last, "status after it");
    MPI_Wait(&reqs[1], MPI_STATUS_IGNORE);
    flag = 0;
    MPI_Request_get_status(reqs[1], &flag, &status);
    expect(flag, "status of a null request");
    MPI_Ibarrier(MPI_COMM_WORLD, &reqs[0]);
    flag = 0;
    while (!flag)
        MPI_Request_get_status(reqs[0], &flag, MPI_STATUS_IGNORE);
    MPI_Wait(&reqs[0], MPI_STATUS_IGNORE);
}

/* ---- types ---- */

/* All parts of an array, taken one by one, are the whole array, each element once. */
static void spread(int order, int how0, int block0, int how1, int block1)
{
    int sizes[2] = {7, 5}, hows[2] = {how0, how1}, blocks[2] = {block0, block1}, grid[2] = {3, 2};
    int array[35], owner[35], packed[35], position, bytes;
    MPI_Aint lb, extent;
    for (int i = 0; i < 35; i++) {
        array[i] = i;
        owner[i] = -1;
    }
    for (int p = 0; p < 6; p++) {
        MPI_Datatype part;
        MPI_Type_create_darray(6, p, 2, sizes, hows, blocks, grid, order, MPI_INT, &part);
        MPI_Type_commit(&part);
        MPI_Type_get_extent(part, &lb, &extent);
        expect(lb == 0 && extent == (MPI_Aint)sizeof array, "extent of a part of an array");
        MPI_Type_size(part, &bytes);
        position = 0;
        if (bytes > 0)
            MPI_Pack(array, 1, part, packed, sizeof packed, &position, MPI_COMM_SELF);
        for (int i = 0; i < position / (int)sizeof(int); i++) {
            expect(owner[packed[i]] < 0, "an element that two have");
            owner[packed[i]] = p;
        }
        MPI_Type_free(&part);
    }
    for (int i = 0; i < 35; i++) {
        int row = order == MPI_ORDER_C ? i / 5 : i % 7,
            column = order == MPI_ORDER_C ? i % 5 : i / 7;
        int first = how0 == MPI_DISTRIBUTE_BLOCK ? row / (block0 > 0 ? block0 : 3)
                                                 : row / (block0 > 0 ? block0 : 1) % 3;
        int second = how1 == MPI_DISTRIBUTE_BLOCK ? column / (block1 > 0 ? block1 : 3)
                                                  : column / (block1 > 0 ? block1 : 1) % 2;
        expect(owner[i] == first * 2 + second, "whose element it is");
    }
}

static void types(void)
{
    MPI_Datatype type;
    MPI_Count size_x;
    const int none = MPI_DISTRIBUTE_DFLT_DARG;
    spread(MPI_ORDER_C, MPI_DISTRIBUTE_BLOCK, none, MPI_DISTRIBUTE_CYCLIC, none);
    spread(MPI_ORDER_FORTRAN, MPI_DISTRIBUTE_CYCLIC, 2, MPI_DISTRIBUTE_BLOCK, 4);
    spread(MPI_ORDER_C, MPI_DISTRIBUTE_CYCLIC, none, MPI_DISTRIBUTE_CYCLIC, 2);
    spread(MPI_ORDER_FORTRAN, MPI_DISTRIBUTE_BLOCK, 3, MPI_DISTRIBUTE_CYCLIC, none);
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type);
    MPI_Type_size_x(type, &size_x);
    expect(size_x == 8, "a real of 8 bytes");
    MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 2, &type);
    MPI_Type_size_x(type, &size_x);
    expect(size_x == 2, "an integer of 2 bytes");
    MPI_Type_create_f90_real(15, MPI_UNDEFINED, &type);
    MPI_Type_size_x(type, &size_x);
    expect(size_x == 8, "a real of 15 digits");
    MPI_Type_create_f90_integer(9, &type);
    MPI_Type_size_x(type, &size_x);
    expect(size_x == 4, "an integer of 9 digits");
}

/* Types of addresses, of one piece and of two, sent from the bottom of memory. */
static void bottom(void)
{
    int next = (rank + 1) % size, last = (rank + size - 1) % size, lengths[2] = {2, 1};
    static int one[2], two[3], in[3];
    MPI_Aint at[2], there[2];
    MPI_Datatype single, both, target;
    one[0] = rank;
    one[1] = -rank;
    two[0] = rank + 7;
    in[0] = in[1] = in[2] = -1;
    MPI_Get_address(one, &at[0]);
    MPI_Get_address(two, &at[1]);
    MPI_Get_address(&in[1], &there[0]);
    MPI_Type_create_hindexed(1, lengths, at, MPI_INT, &single);
    MPI_Type_create_hindexed(2, lengths, at, MPI_INT, &both);
    MPI_Type_create_hindexed(1, lengths, there, MPI_INT, &target);
    MPI_Type_commit(&single);
    MPI_Type_commit(&both);
    MPI_Type_commit(&target);
    MPI_Sendrecv(MPI_BOTTOM, 1, single, next, 9, MPI_BOTTOM, 1, target, last, 9, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    expect(in[0] == -1 && in[1] == last && in[2] == -last, "one piece at an address");
    MPI_Sendrecv(MPI_BOTTOM, 1, both, next, 9, in, 3, MPI_INT, last, 9, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    expect(in[0] == last && in[1] == -last && in[2] == last + 7, "two pieces at addresses");
    MPI_Type_free(&single);
    MPI_Type_free(&both);
    MPI_Type_free(&target);
}

/* A number to the next process alone; where there is no data there need not be a type. */
static void no_types(void)
{
    enum { MOST = 16 };
    int next = (rank + 1) % size, last = (rank + size - 1) % size, in = -1;
    int out[MOST] = {0}, in_counts[MOST] = {0}, places[MOST] = {0};
    MPI_Datatype give[MOST], take[MOST];
    for (int i = 0; i < MOST; i++)
        give[i] = take[i] = MPI_DATATYPE_NULL;
    out[next] = in_counts[last] = 1;
    give[next] = take[last] = MPI_INT;
    MPI_Alltoallw(&rank, out, places, give, &in, in_counts, places, take, MPI_COMM_WORLD);
    expect(in == last, "Alltoallw with types only where there is data");
}

/* Names that macros paste together. */
#define PASTED(A, B) A##B
#define JOIN(A, B) PASTED(A, B)

static void pasted(void)
{
    struct {
        MPI_Request before, send, between, receive, after;
    } r = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL,
           MPI_REQUEST_NULL};
    MPI_Status status;
    int next = (rank + 1) % size, last = (rank + size - 1) % size, in = -1, flag = 1;
    JOIN(MPI_Send, _init)(&rank, 1, MPI_INT, next, 5, MPI_COMM_WORLD, &r.send);
    JOIN(PMPI_Recv, _init)(&in, 1, MPI_INT, last, 5, MPI_COMM_WORLD, &r.receive);
    expect(r.before == MPI_REQUEST_NULL && r.between == MPI_REQUEST_NULL &&
               r.after == MPI_REQUEST_NULL,
           "what lies beside requests");
    MPI_Start(&r.send);
    JOIN(MPI_Start, all)(1, &r.receive);
    MPI_Wait(&r.send, MPI_STATUS_IGNORE);
    MPI_Wait(&r.receive, &status);
    JOIN(MPI_Test, _cancelled)(&status, &flag);
    expect(in == last && !flag, "pasted names");
    JOIN(MPI_Request, _free)(&r.send);
    MPI_Request_free(&r.receive);
}

#ifdef FOR_WAITIO /* newer than Open MPI 4.1 */
/* Send and receive started at once, also in one buffer; longer than what a link takes at once. */
static void both_ways(void)
{
    enum { LONG = 200000 };
    static int out[LONG], in[LONG];
    int next = (rank + 1) % size, last = (rank + size - 1) % size, good = 1;
    int before = (rank + 2 * size - 2) % size;
    MPI_Request req;
    MPI_Status status;
    for (int i = 0; i < LONG; i++) {
        out[i] = rank * LONG + i;
        in[i] = -1;
    }
    MPI_Isendrecv(out, LONG, MPI_INT, next, 3, in, LONG, MPI_INT, last, 3, MPI_COMM_WORLD, &req);
    MPI_Wait(&req, &status);
    for (int i = 0; i < LONG; i++)
        good &= in[i] == last * LONG + i;
    expect(good && status.MPI_SOURCE == last && status.MPI_TAG == 3, "Isendrecv");
    MPI_Isendrecv_replace(in, LONG, MPI_INT, next, 4, last, 4, MPI_COMM_WORLD, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    for (int i = 0; i < LONG; i++)
        good &= in[i] == before * LONG + i;
    expect(good, "Isendrecv_replace");
    MPI_Isendrecv(out, 1, MPI_INT, MPI_PROC_NULL, 3, in, 1, MPI_INT, MPI_PROC_NULL, 3,
                  MPI_COMM_WORLD, &req);
    MPI_Wait(&req, &status);
    expect(status.MPI_SOURCE == MPI_PROC_NULL, "Isendrecv with nobody");
}

static void environment(void)
{
    MPI_Info copy;
    char value[MPI_MAX_INFO_VAL + 1];
    int flag = 0;
    MPI_Info_get(MPI_INFO_ENV, "thread_level", MPI_MAX_INFO_VAL, value, &flag);
    expect(flag && strcmp(value, "MPI_THREAD_MULTIPLE") == 0, "INFO_ENV");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect(MPI_Info_set(MPI_INFO_ENV, "a", "b") != MPI_SUCCESS, "INFO_ENV is not changed");
    copy = MPI_INFO_ENV;
    expect(MPI_Info_free(&copy) != MPI_SUCCESS, "INFO_ENV is not freed");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Info_dup(MPI_INFO_ENV, &copy);
    MPI_Info_set(copy, "a", "b");
    MPI_Info_free(&copy);
}
#else
static void both_ways(void)
{
}
static void environment(void)
{
}
#endif

/* What acknowledging does is shown where members fail (unit/test_p2p_failed, span/death.c). */
static void acknowledge(void)
{
#ifdef MPIX_Comm_failure_ack
    MPI_Group failed;
    int n = -1;
    expect(MPIX_Comm_failure_ack(MPI_COMM_WORLD) == MPI_SUCCESS, "Comm_failure_ack");
    expect(MPIX_Comm_failure_get_acked(MPI_COMM_WORLD, &failed) == MPI_SUCCESS, "get_acked");
    MPI_Group_size(failed, &n);
    MPI_Group_free(&failed);
    expect(n == 0, "nobody has failed");
#endif
}

static void disconnected(void)
{
    MPI_Comm copy;
    int in = -1;
    MPI_Request req;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 5, copy, &req);
    MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 5, copy);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&copy);
    expect(copy == MPI_COMM_NULL && in == (rank + size - 1) % size, "Comm_disconnect");
}

/* ---- the rest ---- */

static void small(void)
{
    MPI_Comm comm;
    MPI_Request req;
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0, flag = 0, place = -1, dims[1], periods[1] = {1};
    double *memory = NULL;
    MPI_Comm_idup(MPI_COMM_WORLD, &comm, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    MPI_Barrier(comm);
    MPI_Comm_test_inter(comm, &flag);
    expect(!flag, "no intercommunicator");
    MPI_Comm_free(&comm);
#ifdef FOR_WAITIO /* MPI 4 */
    MPI_Comm_idup_with_info(MPI_COMM_WORLD, MPI_INFO_NULL, &comm, &req);
    MPI_Wait(&req, MPI_STATUS_IGNORE);
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &flag);
    expect(flag == MPI_CONGRUENT, "a duplicate with hints");
    MPI_Comm_free(&comm);
#endif
    MPI_Get_library_version(version, &length);
    expect(length > 0 && (size_t)length <= strlen(version) + 1, "version of the library");
    MPI_Is_thread_main(&flag);
    expect(flag, "the main thread");
    MPI_Alloc_mem(80, MPI_INFO_NULL, &memory);
    memory[9] = 1;
    MPI_Free_mem(memory);
    dims[0] = size;
    MPI_Cart_map(MPI_COMM_WORLD, 1, dims, periods, &place);
    expect(place >= 0 && place < size, "place in a grid");
    expect(MPI_Aint_diff(MPI_Aint_add(100, 8), 100) == 8, "addresses");
    expect(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD,
           "handles of communicators");
    expect(MPI_Type_f2c(MPI_Type_c2f(MPI_DOUBLE)) == MPI_DOUBLE, "handles of types");
    MPI_Pcontrol(0);
}

static int said_goodbye(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)extra;
    if (*(int *)value == 0)
        printf("ok\n");
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int key;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    attributes();
    refused_copy();
    known_attributes();
    names();
    hints();
    handlers();
    matched();
    looking();
    types();
    bottom();
    no_types();
    pasted();
    both_ways();
    environment();
    disconnected();
    acknowledge();
    small();
    /* What hangs on COMM_SELF is told when the end comes. */
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, said_goodbye, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &failures);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return failures != 0;
}
