/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every call that completes requests, with every kind of request, alone and beside requests that
 * cannot complete: statuses, indices, errors, and what becomes of the handle. A query that
 * completes what it asks about would lose them.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { TAG = 9, SHORT = 5, LONG = 20, REST = 3 };

static int rank, size, failures, to, from;

/* ---- what is completed ---- */

enum kind { PLAIN, WILD, PERSISTENT, NOTHING, INACTIVE, FAILED, FAILED_PERSISTENT, GENERAL, KINDS };
static const char *const kind_names[KINDS] = {"plain",    "wild",   "persistent",        "null",
                                              "inactive", "failed", "failed persistent", "general"};

static int is_persistent(enum kind kind)
{
    return kind == PERSISTENT || kind == INACTIVE || kind == FAILED_PERSISTENT;
}
static int has_message(enum kind kind)
{
    return kind != NOTHING && kind != INACTIVE && kind != GENERAL;
}
static int fails(enum kind kind)
{
    return kind == FAILED || kind == FAILED_PERSISTENT;
}

static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, SHORT);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = from;
    status->MPI_TAG = TAG;
    return MPI_SUCCESS;
}

static int let_go(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    (void)state;
    (void)complete;
    return MPI_SUCCESS;
}

static MPI_Request make(enum kind kind, int numbers[])
{
    int source = kind == WILD ? MPI_ANY_SOURCE : from, tag = kind == WILD ? MPI_ANY_TAG : TAG;
    MPI_Request request = MPI_REQUEST_NULL;

    if (is_persistent(kind))
        MPI_Recv_init(numbers, SHORT, MPI_INT, source, tag, MPI_COMM_WORLD, &request);
    if (kind == PERSISTENT || kind == FAILED_PERSISTENT)
        MPI_Start(&request);
    if (has_message(kind) && !is_persistent(kind))
        MPI_Irecv(numbers, SHORT, MPI_INT, source, tag, MPI_COMM_WORLD, &request);
    if (kind == GENERAL) {
        MPI_Grequest_start(query, let_go, cancel, NULL, &request);
        MPI_Grequest_complete(request);
    }
    return request;
}

/* ---- how ---- */

enum how { WAIT, TEST, WAITANY, TESTANY, WAITSOME, TESTSOME, WAITALL, TESTALL, HOWS };
static const char *const how_names[HOWS] = {"Wait",     "Test",     "Waitany", "Testany",
                                            "Waitsome", "Testsome", "Waitall", "Testall"};

struct result {
    int rc;
    int index; /* of what has completed, UNDEFINED: nothing was active */
    MPI_Status status;
    int rest_error; /* of the status of another request, all */
};

/* Calls that give one status. */
static void complete_one(enum how how, int n, MPI_Request requests[], int at, struct result *r)
{
    int flag = 0;

    if (how == WAIT)
        r->rc = MPI_Wait(&requests[at], &r->status);
    else if (how == WAITANY)
        r->rc = MPI_Waitany(n, requests, &r->index, &r->status);
    while (how == TEST && !flag)
        r->rc = MPI_Test(&requests[at], &flag, &r->status);
    while (how == TESTANY && !flag)
        r->rc = MPI_Testany(n, requests, &r->index, &flag, &r->status);
}

static void complete_some(enum how how, int n, MPI_Request requests[], struct result *r)
{
    MPI_Status list[2];
    int indices[2], out = 0;

    memset(list, 0x55, sizeof list);
    if (how == WAITSOME)
        r->rc = MPI_Waitsome(n, requests, &out, indices, list);
    while (how == TESTSOME && out == 0)
        r->rc = MPI_Testsome(n, requests, &out, indices, list);
    r->index = out == 1 ? indices[0] : out == MPI_UNDEFINED ? MPI_UNDEFINED : -out;
    r->status = list[0];
}

static void complete_all(enum how how, int n, MPI_Request requests[], int at, struct result *r)
{
    MPI_Status list[2];
    int flag = 0;

    memset(list, 0x55, sizeof list);
    if (how == WAITALL)
        r->rc = MPI_Waitall(n, requests, list);
    while (how == TESTALL && !flag)
        r->rc = MPI_Testall(n, requests, &flag, list);
    r->status = list[at];
    r->rest_error = r->rc == MPI_SUCCESS ? MPI_SUCCESS : list[1 - at].MPI_ERROR;
}

static struct result complete(enum how how, int n, MPI_Request requests[], int at)
{
    struct result r = {.index = at};

    memset(&r.status, 0x55, sizeof r.status);
    if (how < WAITSOME)
        complete_one(how, n, requests, at, &r);
    else if (how < WAITALL)
        complete_some(how, n, requests, &r);
    else
        complete_all(how, n, requests, at, &r);
    return r;
}

/* ---- what is right ---- */

static int class_of(int code)
{
    int class_ = -1;

    MPI_Error_class(code, &class_);
    return class_;
}

static const char *wrong_error(enum how how, enum kind kind, const struct result *r)
{
    int listed = how >= WAITSOME;

    if (!fails(kind))
        return r->rc == MPI_SUCCESS ? NULL : "an error";
    if (!listed)
        return class_of(r->rc) == MPI_ERR_TRUNCATE ? NULL : "no truncation";
    if (r->rc != MPI_ERR_IN_STATUS)
        return "no error in the statuses";
    if (class_of(r->status.MPI_ERROR) != MPI_ERR_TRUNCATE)
        return "no truncation in the status";
    return r->rest_error == MPI_SUCCESS ? NULL : "an error of another request";
}

static const char *wrong_status(enum how how, enum kind kind, struct result *r)
{
    int count = -1, empty = kind == NOTHING || kind == INACTIVE;

    if (empty && (how == WAITSOME || how == TESTSOME)) /* no status is given */
        return NULL;
    if (kind == NOTHING && how == TESTANY) /* MPICH gives none when all are its own */
        return NULL;
    if (r->status.MPI_SOURCE != (empty ? MPI_ANY_SOURCE : from))
        return "the source";
    if (r->status.MPI_TAG != (empty ? MPI_ANY_TAG : TAG))
        return "the tag";
    MPI_Get_count(&r->status, MPI_INT, &count);
    if (!fails(kind) && count != (empty ? 0 : SHORT))
        return "the count";
    return NULL;
}

static const char *wrong(enum how how, enum kind kind, int at, MPI_Request after, struct result *r)
{
    int active = kind != NOTHING && kind != INACTIVE, indexed = how >= WAITANY && how <= TESTSOME;
    const char *what = wrong_error(how, kind, r);

    if (what == NULL && indexed && r->index != (active ? at : MPI_UNDEFINED))
        what = "the index";
    if (what == NULL)
        what = wrong_status(how, kind, r);
    if (what == NULL && (after != MPI_REQUEST_NULL) != is_persistent(kind))
        what = "the handle";
    return what;
}

/* ---- all of it ---- */

/* Requests that cannot complete: none, of all jobs, of this process alone. */
static MPI_Request others[REST];

/* A persistent request is left inactive, and is the same one. */
static int left_well(MPI_Request *request, MPI_Request first)
{
    MPI_Status status;

    return MPI_Wait(request, &status) == MPI_SUCCESS && status.MPI_SOURCE == MPI_ANY_SOURCE &&
           *request == first;
}

static void one(enum how how, enum kind kind, int rest)
{
    int numbers[LONG] = {0}, out[LONG] = {1, 2, 3, 4, 5}, at = rest % 2;
    MPI_Request list[2], sent = MPI_REQUEST_NULL, first;
    struct result r;
    const char *what;

    list[1 - at] = others[rest];
    first = list[at] = make(kind, numbers);
    if (has_message(kind))
        MPI_Isend(out, fails(kind) ? LONG : SHORT, MPI_INT, to, TAG, MPI_COMM_WORLD, &sent);
    r = complete(how, 2, list, at);
    what = wrong(how, kind, at, list[at], &r);
    if (what == NULL && list[1 - at] != others[rest])
        what = "the other handle";
    if (what == NULL && has_message(kind) && !fails(kind) &&
        memcmp(numbers, out, SHORT * sizeof(int)) != 0)
        what = "the data";
    if (what == NULL && is_persistent(kind) && !left_well(&list[at], first))
        what = "what is left";
    if (what != NULL && failures++ < 20)
        fprintf(stderr, "completions %d: %s of %s, beside %d: %s\n", rank, how_names[how],
                kind_names[kind], rest, what);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    if (is_persistent(kind))
        MPI_Request_free(&list[at]);
}

int main(int argc, char **argv)
{
    int numbers[2];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    others[0] = MPI_REQUEST_NULL;
    MPI_Recv_init(&numbers[0], 1, MPI_INT, from, 77, MPI_COMM_WORLD, &others[1]);
    MPI_Recv_init(&numbers[1], 1, MPI_INT, 0, 77, MPI_COMM_SELF, &others[2]);
    for (int how = 0; how < HOWS; how++)
        for (int kind = 0; kind < KINDS; kind++)
            for (int rest = 0; rest < REST; rest++)
                one((enum how)how, (enum kind)kind, rest);
    MPI_Request_free(&others[1]);
    MPI_Request_free(&others[2]);
    MPI_Finalize();
    if (failures == 0)
        printf("ok\n");
    return failures != 0;
}
