/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes, groups, sizes of grids and error classes as the standard has them: a program of MPI,
 * which says the same under an MPI (test_mpi_header.py).
 */
#ifdef FOR_WAITIO
#include <waitio_mpi_rename.h>
#else
#include <mpi.h>
#endif

#include <stdio.h>
#include <string.h>

enum { MATCHED_MOST = 100000 }; /* elements: its data comes when its receive is there */

static int failures, me, n;

static void expect(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "rank %d: %s\n", me, what);
        failures++;
    }
}

/* ---- attributes ---- */

static int other_key[2], gone[3], ended, finalized_early;

static int count_gone(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)value;
    gone[*(int *)extra]++;
    return MPI_SUCCESS;
}

/* Deletes those that were set before and after it. */
static int delete_others(MPI_Comm comm, int keyval, void *value, void *extra)
{
#ifdef FOR_WAITIO /* Open MPI 4.1 and MPICH 4.0 end the program here */
    for (int i = 0; i < 2; i++) {
        void *found;
        int flag = 0;
        MPI_Comm_get_attr(comm, other_key[i], &found, &flag);
        if (flag)
            MPI_Comm_delete_attr(comm, other_key[i]);
    }
#endif
    return count_gone(comm, keyval, value, extra);
}

static int at_the_end(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int flag = -1;

    MPI_Finalized(&flag);
    finalized_early |= flag != 0;
    ended++;
    return delete_others(comm, keyval, value, extra);
}

/* Copies nothing, but takes an attribute of the old communicator away. */
static int take_away(MPI_Comm from, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)keyval;
    (void)in;
    (void)out;
    (void)extra;
#ifdef FOR_WAITIO
    MPI_Comm_delete_attr(from, other_key[0]);
#else
    (void)from;
    gone[0] = 1;
#endif
    *flag = 0;
    return MPI_SUCCESS;
}

static void hang_on(MPI_Comm comm, MPI_Comm_delete_attr_function *deletes)
{
    static int number[] = {0, 1, 2};
    int key;

    memset(gone, 0, sizeof gone);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, count_gone, &other_key[0], &number[0]);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deletes, &key, &number[1]);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, count_gone, &other_key[1], &number[2]);
    MPI_Comm_set_attr(comm, other_key[0], &number[0]);
    MPI_Comm_set_attr(comm, key, &number[1]);
    MPI_Comm_set_attr(comm, other_key[1], &number[2]);
}

static void attributes(void)
{
    MPI_Comm comm, copy;
    int key;

    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    hang_on(comm, delete_others);
    MPI_Comm_free(&comm);
    expect(gone[0] == 1 && gone[1] == 1 && gone[2] == 1, "delete functions that delete others");
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    hang_on(comm, count_gone);
    MPI_Comm_create_keyval(take_away, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(comm, key, NULL);
    MPI_Comm_dup(comm, &copy);
    expect(gone[0] == 1 && gone[1] == 0, "a copy function that deletes another");
    MPI_Comm_free(&copy);
    MPI_Comm_free(&comm);
    expect(gone[0] >= 1 && gone[1] == 1 && gone[2] == 1, "the rest is deleted at the end");
    hang_on(MPI_COMM_SELF, at_the_end);
}

static void key_freed_twice(void)
{
    MPI_Comm comm;
    int key, other, value = 0, *got = NULL, flag = 0;

    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    other = key;
    MPI_Comm_set_attr(comm, key, &value);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_get_attr(comm, other, &got, &flag);
    expect(flag && got == &value, "a value outlives the handle of its key");
    expect(MPI_Comm_free_keyval(&other) == MPI_SUCCESS && other == MPI_KEYVAL_INVALID,
           "a key that a value has is freed by a copy of its handle, too");
    MPI_Comm_free(&comm);
}

/* ---- groups ---- */

static void empty_groups(void)
{
    MPI_Group all, none, more;
    int first = 0, size, range[1][3] = {{0, 0, 1}};

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 0, NULL, &none);
    expect(none == MPI_GROUP_EMPTY, "incl of none is empty");
    MPI_Group_range_incl(all, 0, range, &none);
    expect(none == MPI_GROUP_EMPTY, "range_incl of none is empty");
    MPI_Group_difference(all, all, &none);
    expect(none == MPI_GROUP_EMPTY, "a group less itself is empty");
    MPI_Group_intersection(all, MPI_GROUP_EMPTY, &none);
    expect(none == MPI_GROUP_EMPTY, "an empty intersection");
    range[0][1] = n - 1;
    MPI_Group_range_excl(all, 1, range, &none);
    expect(none == MPI_GROUP_EMPTY, "range_excl of all is empty");
    MPI_Group_incl(all, 1, &first, &more);
    MPI_Group_excl(more, 1, &first, &none);
    expect(none == MPI_GROUP_EMPTY, "excl of all is empty");
    MPI_Group_size(none, &size);
    expect(size == 0, "the empty group has no members");
    MPI_Group_free(&none);
    expect(none == MPI_GROUP_NULL, "the empty group can be freed where a call gave it");
    MPI_Group_free(&more);
    MPI_Group_free(&all);
    MPI_Group_size(MPI_GROUP_EMPTY, &size);
    expect(size == 0, "and is still there");
}

/* ---- sizes of grids ---- */

static void grid_sizes(void)
{
    static const int wanted[][6] = {
        /* processes, dimensions, sizes */
        {72, 2, 9, 8}, {12, 3, 3, 2, 2},    {1, 2, 1, 1},  {64, 3, 4, 4, 4}, {60, 3, 5, 4, 3},
        {7, 2, 7, 1},  {96, 4, 4, 4, 3, 2}, {36, 2, 6, 6}, {100, 2, 10, 10}, {1000, 3, 10, 10, 10}};
    int fixed[] = {0, 3, 0};

    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        int dims[4] = {0}, good = 1;
        MPI_Dims_create(wanted[i][0], wanted[i][1], dims);
        for (int d = 0; d < wanted[i][1]; d++)
            good &= dims[d] == wanted[i][2 + d];
        if (!good)
            fprintf(stderr, "%d: %d %d %d %d\n", wanted[i][0], dims[0], dims[1], dims[2], dims[3]);
        expect(good, "Dims_create is balanced");
    }
    MPI_Dims_create(216, 3, fixed);
    expect(fixed[0] == 9 && fixed[1] == 3 && fixed[2] == 8, "Dims_create keeps what is given");
}

/* ---- errors ---- */

#define NAMED(C)                                                                                   \
    {                                                                                              \
        MPI_ERR_##C, #C                                                                            \
    }
static const struct {
    int number;
    const char *name;
} known[] = {NAMED(BUFFER),
             NAMED(COUNT),
             NAMED(TYPE),
             NAMED(TAG),
             NAMED(COMM),
             NAMED(RANK),
             NAMED(REQUEST),
             NAMED(ROOT),
             NAMED(GROUP),
             NAMED(OP),
             NAMED(TOPOLOGY),
             NAMED(DIMS),
             NAMED(ARG),
             NAMED(UNKNOWN),
             NAMED(TRUNCATE),
             NAMED(OTHER),
             NAMED(INTERN),
             NAMED(PENDING),
             NAMED(IN_STATUS),
             NAMED(ACCESS),
             NAMED(AMODE),
             NAMED(ASSERT),
             NAMED(BAD_FILE),
             NAMED(BASE),
             NAMED(CONVERSION),
             NAMED(DISP),
             NAMED(DUP_DATAREP),
             NAMED(FILE_EXISTS),
             NAMED(FILE_IN_USE),
             NAMED(FILE),
             NAMED(INFO_KEY),
             NAMED(INFO_NOKEY),
             NAMED(INFO_VALUE),
             NAMED(INFO),
             NAMED(IO),
             NAMED(KEYVAL),
             NAMED(LOCKTYPE),
             NAMED(NAME),
             NAMED(NO_MEM),
             NAMED(NOT_SAME),
             NAMED(NO_SPACE),
             NAMED(NO_SUCH_FILE),
             NAMED(PORT),
             NAMED(QUOTA),
             NAMED(READ_ONLY),
             NAMED(RMA_CONFLICT),
             NAMED(RMA_SYNC),
             NAMED(RMA_RANGE),
             NAMED(RMA_ATTACH),
             NAMED(RMA_SHARED),
             NAMED(RMA_FLAVOR),
             NAMED(SERVICE),
             NAMED(SIZE),
             NAMED(SPAWN),
             NAMED(UNSUPPORTED_DATAREP),
             NAMED(UNSUPPORTED_OPERATION),
             NAMED(WIN)};
enum { KNOWN = sizeof known / sizeof known[0] };

static const char *name_of(int class_)
{
    for (int i = 0; i < KNOWN; i++)
        if (known[i].number == class_)
            return known[i].name;
    return "none";
}

static void no_two_are_equal(void)
{
    for (int i = 0; i < KNOWN; i++)
        for (int j = 0; j < i; j++)
            expect(known[i].number != known[j].number, known[i].name);
}

static void fails_with(int code, const char *wanted, const char *what)
{
    int class_ = MPI_SUCCESS;

    MPI_Error_class(code, &class_);
    if (strcmp(name_of(class_), wanted) != 0) {
        fprintf(stderr, "%s: class %s (%d) in the place of %s\n", what, name_of(class_), code,
                wanted);
        failures++;
    }
}

static void classes(void)
{
    MPI_Comm grid;
    int dims[] = {0, 0}, x = 0, y;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    dims[0] = 5;
    fails_with(MPI_Dims_create(n * 5 + 1, 2, dims), "DIMS", "sizes that do not divide");
    fails_with(MPI_Cartdim_get(MPI_COMM_WORLD, &x), "TOPOLOGY", "no grid");
    fails_with(MPI_Bcast(&x, 1, MPI_INT, n, MPI_COMM_WORLD), "ROOT", "a root too great");
    fails_with(MPI_Bcast(&x, -1, MPI_INT, 0, MPI_COMM_WORLD), "COUNT", "a negative count");
    fails_with(MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), "TYPE", "no type");
    fails_with(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD), "OP", "no operator");
    fails_with(MPI_Send(&x, 1, MPI_INT, n, 0, MPI_COMM_WORLD), "RANK", "a rank too great");
    (void)grid;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void added_codes(void)
{
    int one, code, class_, flag, length, *last, before, after;
    char text[MPI_MAX_ERROR_STRING];

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    before = *last;
    expect(flag && before >= MPI_ERR_LASTCODE, "LASTUSEDCODE before");
    MPI_Add_error_class(&one);
    MPI_Add_error_code(one, &code);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    after = *last;
    expect(after >= before && one > 0 && code > 0 && one != code, "new codes");
#ifdef FOR_WAITIO
    expect(one > before && after >= one && after >= code, "new codes count on");
#endif
    MPI_Error_class(code, &class_);
    expect(class_ == one, "class of a new code");
    MPI_Error_class(one, &class_);
    expect(class_ == one, "class of a new class");
    MPI_Add_error_string(code, "the ice is thin");
    MPI_Error_string(code, text, &length);
    expect(strcmp(text, "the ice is thin") == 0 && length == 15, "text of a new code");
    MPI_Error_string(one, text, &length);
    expect(length == 0, "no text yet");
    MPI_Add_error_code(MPI_ERR_DIMS, &code);
    MPI_Error_class(code, &class_);
    expect(class_ == MPI_ERR_DIMS, "a code of a class of MPI");
}

/* ---- names of types, cancelled sends, what a matched probe leaves alone ---- */

static void type_named(MPI_Datatype type, const char *want)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;

    MPI_Type_get_name(type, name, &length);
    expect(strcmp(name, want) == 0 && length == (int)strlen(want), want);
}

static void type_names(void)
{
    int here = 3 + me, top = -1;

    type_named(MPI_INTEGER, "MPI_INTEGER");
    type_named(MPI_INT, "MPI_INT");
    type_named(MPI_DOUBLE_PRECISION, "MPI_DOUBLE_PRECISION");
    type_named(MPI_DOUBLE, "MPI_DOUBLE");
    type_named(MPI_C_COMPLEX, "MPI_C_COMPLEX");
    type_named(MPI_LONG_LONG_INT, "MPI_LONG_LONG_INT");
    MPI_Type_set_name(MPI_SHORT, "sixteen bits");
    type_named(MPI_SHORT, "sixteen bits");
    type_named(MPI_UNSIGNED_SHORT, "MPI_UNSIGNED_SHORT");
    MPI_Allreduce(&here, &top, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD);
    expect(top == n + 2, "a maximum of MPI_INTEGER");
}

static void cancelled_sends(void)
{
    static double column[40];
    MPI_Datatype every_other;
    MPI_Request req;
    MPI_Status st;
    int out = 7 + me, in = -1, flag = -1;

    MPI_Isend(&out, 1, MPI_INT, me, 5, MPI_COMM_WORLD, &req);
    expect(MPI_Cancel(&req) == MPI_SUCCESS, "Cancel of a send");
    MPI_Type_vector(20, 1, 2, MPI_DOUBLE, &every_other);
    MPI_Type_commit(&every_other);
#ifdef FOR_WAITIO /* an MPI may withdraw the message, and then the receive would wait for good */
    MPI_Recv(&in, 1, MPI_INT, me, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&req, &st);
    MPI_Test_cancelled(&st, &flag);
    expect(flag == 0 && in == 7 + me, "a cancelled send arrives");
    MPI_Isend(column, 1, every_other, me, 6, MPI_COMM_WORLD, &req);
    expect(MPI_Cancel(&req) == MPI_SUCCESS, "Cancel of a send of a column");
    MPI_Recv(column, 1, every_other, me, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&req, &st);
    MPI_Test_cancelled(&st, &flag);
    expect(flag == 0, "a cancelled send of a column arrives");
#else
    MPI_Wait(&req, &st);
    MPI_Test_cancelled(&st, &flag);
    if (!flag)
        MPI_Recv(&in, 1, MPI_INT, me, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    (void)column;
#endif
    MPI_Type_free(&every_other);
}

static void matched_status(void)
{
    MPI_Message message;
    MPI_Request req;
    MPI_Status st;
    int out = 11, in = -1;

    st.MPI_ERROR = MPI_ERR_TOPOLOGY;
    MPI_Isend(&out, 1, MPI_INT, me, 7, MPI_COMM_WORLD, &req);
    MPI_Mprobe(me, 7, MPI_COMM_WORLD, &message, &st);
    expect(st.MPI_ERROR == MPI_ERR_TOPOLOGY && st.MPI_TAG == 7, "status of Mprobe");
    st.MPI_TAG = -1;
    MPI_Mrecv(&in, 1, MPI_INT, &message, &st);
    expect(st.MPI_ERROR == MPI_ERR_TOPOLOGY && st.MPI_TAG == 7 && in == 11, "status of Mrecv");
    MPI_Wait(&req, MPI_STATUS_IGNORE);
}

/* Calls that complete one operation leave MPI_ERROR as the program has set it. */
static void left_alone(MPI_Status *st, const char *what)
{
    expect(st->MPI_ERROR == MPI_ERR_TOPOLOGY && st->MPI_TAG == 8 && st->MPI_SOURCE == me, what);
    st->MPI_TAG = st->MPI_SOURCE = -3;
    st->MPI_ERROR = MPI_ERR_TOPOLOGY;
}

static void single_statuses(void)
{
    MPI_Message message;
    MPI_Request send, req;
    MPI_Status st;
    int out = 11, in = -1, flag = 0, index = -1;

    st.MPI_ERROR = MPI_ERR_TOPOLOGY;
    MPI_Isend(&out, 1, MPI_INT, me, 8, MPI_COMM_WORLD, &send);
#ifdef FOR_WAITIO /* MPICH 4.0 sets it */
    MPI_Probe(me, 8, MPI_COMM_WORLD, &st);
    left_alone(&st, "status of Probe");
#endif
    while (!flag)
        MPI_Improbe(me, 8, MPI_COMM_WORLD, &flag, &message, &st);
    left_alone(&st, "status of Improbe");
    MPI_Imrecv(&in, 1, MPI_INT, &message, &req);
    MPI_Wait(&req, &st);
    left_alone(&st, "status of Wait after Imrecv");
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&out, 1, MPI_INT, me, 8, &in, 1, MPI_INT, me, 8, MPI_COMM_WORLD, &st);
    left_alone(&st, "status of Sendrecv");
    MPI_Isend(&out, 1, MPI_INT, me, 8, MPI_COMM_WORLD, &send);
    MPI_Recv(&in, 1, MPI_INT, me, 8, MPI_COMM_WORLD, &st);
    left_alone(&st, "status of Recv");
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    for (int call = 0; call < 3; call++) {
        MPI_Isend(&out, 1, MPI_INT, me, 8, MPI_COMM_WORLD, &send);
        MPI_Irecv(&in, 1, MPI_INT, me, 8, MPI_COMM_WORLD, &req);
        flag = call == 0;
        if (call == 0)
            MPI_Waitany(1, &req, &index, &st);
        while (!flag && call == 1)
            MPI_Test(&req, &flag, &st);
        while (!flag)
            MPI_Testany(1, &req, &index, &flag, &st);
        left_alone(&st, "status of Waitany, Test, Testany");
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
}

/* A message that is longer than its receive is cut, and its sender goes on. */
static void matched_cut(int count, int later)
{
    static int out[MATCHED_MOST], in[MATCHED_MOST];
    MPI_Message message;
    MPI_Request send, req;
    MPI_Status st;
    int rc, class_ = MPI_SUCCESS, elements = -1;

    for (int i = 0; i < count; i++) {
        out[i] = me + i;
        in[i] = -1;
    }
    MPI_Issend(out, count, MPI_INT, (me + 1) % n, 9, MPI_COMM_WORLD, &send);
    MPI_Mprobe((me + n - 1) % n, 9, MPI_COMM_WORLD, &message, &st);
    if (later) {
        rc = MPI_Imrecv(in, count - 1, MPI_INT, &message, &req);
        rc = rc == MPI_SUCCESS ? MPI_Wait(&req, &st) : MPI_ERR_OTHER;
    } else {
        rc = MPI_Mrecv(in, count - 1, MPI_INT, &message, &st);
    }
    MPI_Error_class(rc, &class_);
    expect(class_ == MPI_ERR_TRUNCATE, "class of a matched message that is cut");
    expect(in[count - 1] == -1, "memory behind a matched message that is cut");
#ifdef FOR_WAITIO /* MPI leaves the rest open */
    expect(message == MPI_MESSAGE_NULL, "a matched message that is cut is received");
    expect(in[0] == (me + n - 1) % n && in[count - 2] == in[0] + count - 2, "what fits");
    MPI_Get_count(&st, MPI_INT, &elements);
    expect(elements == count - 1 && st.MPI_TAG == 9, "status of a matched message that is cut");
#else
    (void)elements;
#endif
    MPI_Wait(&send, MPI_STATUS_IGNORE);
}

/* Also where nothing fits, and there is no buffer. */
static void matched_by_nothing(int count)
{
    static int out[MATCHED_MOST];
    MPI_Message message;
    MPI_Request send;
    int class_ = MPI_SUCCESS;

    MPI_Issend(out, count, MPI_INT, (me + 1) % n, 9, MPI_COMM_WORLD, &send);
    MPI_Mprobe((me + n - 1) % n, 9, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Error_class(MPI_Mrecv(NULL, 0, MPI_INT, &message, MPI_STATUS_IGNORE), &class_);
    expect(class_ == MPI_ERR_TRUNCATE, "class of a matched message that is thrown away");
    MPI_Wait(&send, MPI_STATUS_IGNORE);
}

static void matched_too_long(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    matched_by_nothing(3);
    matched_by_nothing(MATCHED_MOST);
    for (int later = 0; later < 2; later++) {
        matched_cut(3, later);
        matched_cut(MATCHED_MOST, later);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Types of a precision say which one was asked for; no two calls make different ones. */
static void precisions(void)
{
    int numbers[2], ni, na, nt, combiner, x = me + 1, sum = 0;
    MPI_Datatype type, again, other, copy;

    MPI_Type_create_f90_real(6, 30, &type);
    MPI_Type_create_f90_real(6, 30, &again);
    MPI_Type_create_f90_real(5, 30, &other);
    expect(type == again && type != other, "the same type for the same precision");
    MPI_Type_get_envelope(type, &ni, &na, &nt, &combiner);
    expect(combiner == MPI_COMBINER_F90_REAL && ni == 2 && na == 0 && nt == 0, "F90_REAL");
    MPI_Type_get_contents(type, 2, 0, 0, numbers, NULL, NULL);
    expect(numbers[0] == 6 && numbers[1] == 30, "precision and range of a real");
    MPI_Type_dup(type, &copy);
    MPI_Type_get_contents(copy, 0, 0, 1, numbers, NULL, &other);
    expect(other == type, "what a duplicate was made of");
    MPI_Type_free(&copy);
    MPI_Type_create_f90_complex(15, MPI_UNDEFINED, &type);
    MPI_Type_get_envelope(type, &ni, &na, &nt, &combiner);
    MPI_Type_get_contents(type, 2, 0, 0, numbers, NULL, NULL);
    expect(combiner == MPI_COMBINER_F90_COMPLEX && ni == 2 && numbers[0] == 15 &&
               numbers[1] == MPI_UNDEFINED,
           "F90_COMPLEX");
    MPI_Type_create_f90_integer(9, &type);
    MPI_Type_get_envelope(type, &ni, &na, &nt, &combiner);
    MPI_Type_get_contents(type, 1, 0, 0, numbers, NULL, NULL);
    expect(combiner == MPI_COMBINER_F90_INTEGER && ni == 1 && numbers[0] == 9, "F90_INTEGER");
    MPI_Allreduce(&x, &sum, 1, type, MPI_SUM, MPI_COMM_WORLD);
    expect(sum == n * (n + 1) / 2, "a sum of integers of 9 digits");
}

/* ---- errors of functions and buffers ---- */

static int own_class;

static int refuse(MPI_Comm from, int key, void *extra, void *in, void *out, int *flag)
{
    (void)from;
    (void)key;
    (void)extra;
    (void)in;
    (void)out;
    *flag = 0;
    return own_class;
}

static void own_errors(void)
{
    static char buffer[2][MPI_BSEND_OVERHEAD + 64];
    MPI_Comm copy;
    void *was;
    int key, size, code, class_ = 0;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Add_error_class(&own_class);
    MPI_Comm_create_keyval(refuse, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, NULL);
    code = MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    expect(code != MPI_SUCCESS, "a copy function that refuses");
#ifdef FOR_WAITIO /* MPICH 4.0 makes ERR_OTHER of it */
    MPI_Error_class(code, &class_);
    expect(class_ == own_class, "a copy function's own class");
#endif
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_free_keyval(&key);
    MPI_Buffer_attach(buffer[0], sizeof buffer[0]);
    code = MPI_Buffer_attach(buffer[1], sizeof buffer[1]);
    MPI_Error_class(code, &class_);
    expect(class_ == MPI_ERR_BUFFER, "class of a second buffer");
    MPI_Buffer_detach(&was, &size);
    expect(was == buffer[0], "the buffer that was attached first");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(void)
{
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    attributes();
    key_freed_twice();
    empty_groups();
    grid_sizes();
    no_two_are_equal();
    classes();
    added_codes();
    type_names();
    cancelled_sends();
    matched_status();
    single_statuses();
    matched_too_long();
    precisions();
    own_errors();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    expect(ended == 1 && gone[0] == 1 && gone[2] == 1, "functions on COMM_SELF are called once");
    expect(!finalized_early, "Finalized is true only after the functions on COMM_SELF");
    if (failures == 0)
        puts("ok");
    return failures > 0;
}
