/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * errors args  every bad argument of every call gives its code and changes nothing (a process
 * alone) errors late  calls before joining and after leaving (a process alone)
 */
#include "common.h"

static waitio_group_t g;
static char buf[64];
static waitio_req_t req;

static bool null(const waitio_req_t *r)
{
    static const waitio_req_t zero;
    return memcmp(r, &zero, sizeof zero) == 0;
}

/* The text must name what was wrong. */
static void says(const char *word)
{
    CHECK(strstr(waitio_last_error(), word) != NULL, "\"%s\" does not say \"%s\"",
          waitio_last_error(), word);
}

static void send_args(void)
{
    memset(&req, 0x11, sizeof req);
    GIVES(WAITIO_ERR_GROUP, waitio_isend(NULL, 0, buf, 8, 0, &req));
    CHECK(null(&req), "the handle is not null after an error");
    GIVES(WAITIO_ERR_RANK, waitio_isend(g, -1, buf, 8, 0, &req));
    says("-1");
    GIVES(WAITIO_ERR_RANK, waitio_isend(g, 1, buf, 8, 0, &req));
    says("1");
    GIVES(WAITIO_ERR_RANK, waitio_isend(g, WAITIO_ANY_SOURCE, buf, 8, 0, &req));
    GIVES(WAITIO_ERR_TAG, waitio_isend(g, 0, buf, 8, -5, &req));
    says("-5");
    GIVES(WAITIO_ERR_TAG, waitio_isend(g, 0, buf, 8, WAITIO_ANY_TAG, &req));
    GIVES(WAITIO_ERR_ARG, waitio_isend(g, 0, NULL, 8, 0, &req));
    says("buf");
    GIVES(WAITIO_ERR_ARG, waitio_isend(g, 0, buf, (size_t)-4, 0, &req));
    GIVES(WAITIO_ERR_ARG, waitio_isend(g, 0, buf, 8, 0, NULL));
    says("req");
    GIVES(WAITIO_ERR_RANK, waitio_send_init(g, 2, buf, 8, 0, &req));
    GIVES(WAITIO_ERR_GROUP, waitio_send_init(NULL, 0, buf, 8, 0, &req));
    OK(waitio_wait(&req)); /* a null handle is no error */
}

static void recv_args(void)
{
    waitio_status_t st;
    int flag;
    GIVES(WAITIO_ERR_GROUP, waitio_irecv(NULL, 0, buf, 8, 0, &req));
    GIVES(WAITIO_ERR_RANK, waitio_irecv(g, 1, buf, 8, 0, &req));
    GIVES(WAITIO_ERR_RANK, waitio_irecv(g, -2, buf, 8, 0, &req));
    GIVES(WAITIO_ERR_TAG, waitio_irecv(g, 0, buf, 8, -1, &req));
    GIVES(WAITIO_ERR_ARG, waitio_irecv(g, 0, NULL, 8, 0, &req));
    GIVES(WAITIO_ERR_ARG, waitio_irecv(g, 0, buf, 8, 0, NULL));
    GIVES(WAITIO_ERR_RANK, waitio_recv_init(g, 9, buf, 8, 0, &req));
    GIVES(WAITIO_ERR_RANK, waitio_probe(g, 3, 0, &st));
    GIVES(WAITIO_ERR_GROUP, waitio_iprobe(NULL, 0, 0, &flag, &st));
    GIVES(WAITIO_ERR_TAG, waitio_iprobe(g, 0, -7, &flag, &st));
    GIVES(WAITIO_ERR_ARG, waitio_iprobe(g, 0, 0, NULL, &st));
    GIVES(WAITIO_ERR_RANK, waitio_sendrecv(g, 5, buf, 1, 0, 0, buf + 8, 1, 0, &st));
    GIVES(WAITIO_ERR_RANK, waitio_sendrecv(g, 0, buf, 1, 0, 5, buf + 8, 1, 0, &st));
}

static void requests(void)
{
    waitio_req_t copy, foreign = WAITIO_REQ_NULL, s;
    int flag = 0, index = 0;
    OK(waitio_irecv(g, 0, buf, 8, 1, &req));
    copy = req;
    OK(waitio_isend(g, 0, buf + 8, 8, 1, &s));
    OK(waitio_wait(&s));
    OK(waitio_wait(&req));
    CHECK(null(&req), "wait did not null the handle");
    OK(waitio_wait(&req)); /* twice: 0 for the nulled handle */
    OK(waitio_test(&req, &flag, NULL));
    CHECK(flag, "test of a null handle is not done");
    GIVES(WAITIO_ERR_REQUEST, waitio_wait(&copy)); /* a stale copy */
    GIVES(WAITIO_ERR_REQUEST, waitio_test(&copy, &flag, NULL));
    GIVES(WAITIO_ERR_REQUEST, waitio_cancel(&copy));
    GIVES(WAITIO_ERR_REQUEST, waitio_start(&copy));
    GIVES(WAITIO_ERR_REQUEST, waitio_request_free(&copy));
    /* The slot is used again: the stale copy must not reach the new operation. */
    OK(waitio_irecv(g, 0, buf, 8, 2, &req));
    GIVES(WAITIO_ERR_REQUEST, waitio_wait(&copy));
    GIVES(WAITIO_ERR_REQUEST, waitio_cancel(&copy));
    for (int i = 0; i < 22; i++)
        foreign.opaque[i] = 0x01010101 * (i + 1);
    GIVES(WAITIO_ERR_REQUEST, waitio_wait(&foreign));
    GIVES(WAITIO_ERR_REQUEST, waitio_waitany(1, &foreign, &index, NULL));
    GIVES(WAITIO_ERR_REQUEST, waitio_testall(1, &foreign, &flag, NULL));
    GIVES(WAITIO_ERR_REQUEST, waitio_waitall(1, &foreign, NULL));
    foreign = req; /* right slot and generation, but of another universe */
    foreign.opaque[2] ^= 1;
    GIVES(WAITIO_ERR_REQUEST, waitio_test(&foreign, &flag, NULL));
    GIVES(WAITIO_ERR_REQUEST, waitio_cancel(&foreign));
    uint64_t seed = 3;
    for (int i = 0; i < 20000; i++) { /* no value of a handle may crash */
        waitio_req_t r = req;
        r.opaque[below(&seed, 6)] ^= (int32_t)(1u << below(&seed, 32));
        if (memcmp(&r, &req, 12) != 0)
            (void)waitio_test(&r, &flag, NULL);
    }
    GIVES(WAITIO_ERR_ARG, waitio_wait(NULL));
    GIVES(WAITIO_ERR_ARG, waitio_test(NULL, &flag, NULL));
    GIVES(WAITIO_ERR_ARG, waitio_test(&req, NULL, NULL));
    GIVES(WAITIO_ERR_ARG, waitio_waitall(-1, &req, NULL));
    GIVES(WAITIO_ERR_ARG, waitio_waitall(1, NULL, NULL));
    GIVES(WAITIO_ERR_ARG, waitio_waitany(1, &req, NULL, NULL));
    GIVES(WAITIO_ERR_ARG, waitio_testall(1, &req, NULL, NULL));
    OK(waitio_waitall(0, NULL, NULL));
    OK(waitio_cancel(&req));
    OK(waitio_wait(&req));
    GIVES(WAITIO_ERR_REQUEST, waitio_start(&req)); /* null */
}

static int nobody(int pbid, int n)
{
    (void)pbid;
    (void)n;
    return 0;
}

static void groups(void)
{
    waitio_group_t none = NULL, gone = g, empty;
    waitio_filter_func_t f[4] = {truef, truef, truef, truef},
                         no[4] = {nobody, nobody, nobody, nobody};
    int order[4] = {1, 2, 3, 4}, negative[4] = {-1, 0, 0, 0}, n, bad[] = {0, 1, -1},
        twice[] = {0, 0, -1};
    int *lists[4] = {bad, bad, bad, bad}, *doubled[4] = {twice, twice, twice, twice};
    CHECK(waitio_create_group(0, (waitio_filter_func_t *)NULL, order) == NULL, "NULL filters");
    CHECK(waitio_create_group(0, f, NULL) == NULL, "NULL order");
    says("order");
    CHECK(waitio_create_group(0, f, negative) == NULL, "negative position");
    says("-1");
    CHECK(waitio_create_group(0, lists, order) == NULL, "rank out of the block");
    says("rank[0][1] is 1");
    CHECK(waitio_create_group(0, doubled, order) == NULL, "rank named twice");
    says("twice");
    empty = waitio_create_group(0, no, order);
    if (empty != NULL) { /* nobody in it: legal, and nobody can use it */
        OK(waitio_group_size(empty, &n));
        CHECK(n == 0, "%d members", n);
        OK(waitio_group_rank(empty, &n));
        CHECK(n == -1, "rank %d in a group without members", n);
        GIVES(WAITIO_ERR_GROUP, waitio_isend(empty, 0, buf, 8, 0, &req));
        OK(waitio_group_free(&empty));
    }
    GIVES(WAITIO_ERR_GROUP, waitio_group_size(NULL, &n));
    GIVES(WAITIO_ERR_GROUP, waitio_group_rank(NULL, &n));
    GIVES(WAITIO_ERR_GROUP, waitio_group_free(&none));
    GIVES(WAITIO_ERR_ARG, waitio_group_size(g, NULL));
    GIVES(WAITIO_ERR_RANK, waitio_group_to_universe(g, 7, &n));
    CHECK(waitio_group_pb(0, 3, &none) != 0, "a PB that does not exist");
    CHECK(waitio_group_universe(0, NULL) == WAITIO_ERR_ARG, "NULL group");
    /* Freed: the handle is null, a copy of it is refused. */
    OK(waitio_group_free(&g));
    CHECK(g == NULL, "free left the handle");
    GIVES(WAITIO_ERR_GROUP, waitio_isend(g, 0, buf, 8, 0, &req));
    GIVES(WAITIO_ERR_GROUP, waitio_isend(gone, 0, buf, 8, 0, &req));
}

static void others(void)
{
    int n;
    uint64_t v;
    GIVES(WAITIO_ERR_ARG, waitio_pb_size(NULL));
    GIVES(WAITIO_ERR_ARG, waitio_pb_rank(NULL));
    GIVES(WAITIO_ERR_ARG, waitio_universe_rank(NULL));
    GIVES(WAITIO_ERR_ARG, waitio_initialized(NULL));
    GIVES(WAITIO_ERR_ARG, waitio_counter("no_such_counter", &v));
    says("no_such_counter");
    GIVES(WAITIO_ERR_ARG, waitio_counter(NULL, &v));
    GIVES(WAITIO_ERR_ARG, waitio_dump(NULL));
    CHECK(waitio_counter_name(-1) == NULL && waitio_counter_name(100000) == NULL, "counter names");
    for (int code = -40; code <= 5; code++)
        CHECK(waitio_strerror(code) != NULL && waitio_strerror(code)[0] != '\0', "strerror(%d)",
              code);
    OK(waitio_get_version(NULL, NULL, NULL));
    OK(waitio_get_version(&n, NULL, NULL));
    CHECK(n == WAITIO_VERSION_MAJOR, "version %d", n);
}

static void late(void)
{
    int flag = 1;
    OK(waitio_initialized(&flag));
    CHECK(!flag, "joined before init");
    GIVES(WAITIO_ERR_STATE, waitio_finalize());
    OK(waitio_wait(&req)); /* a null handle needs no universe */
    OK(waitio_initialized(&flag));
    CHECK(!flag, "wait for a null handle joined");
    int rank = -1;
    OK(waitio_universe_rank(&rank)); /* implied init */
    OK(waitio_initialized(&flag));
    CHECK(flag && rank == 0, "implied init");
    OK(waitio_init(1));
    g = everybody(0, &rank, &flag);
    OK(waitio_irecv(g, WAITIO_ANY_SOURCE, buf, 8, 1, &req)); /* pending at the end */
    OK(waitio_finalize());
    GIVES(WAITIO_ERR_STATE, waitio_finalize());
    GIVES(WAITIO_ERR_STATE, waitio_init(1));
    GIVES(WAITIO_ERR_STATE, waitio_universe_rank(&rank));
    GIVES(WAITIO_ERR_STATE, waitio_isend(g, 0, buf, 8, 0, &req));
    OK(waitio_initialized(&flag));
    CHECK(!flag, "still joined after finalize");
    CHECK(waitio_strerror(WAITIO_ERR_PEER)[0] != '\0', "strerror after the end");
}

int main(int argc, char **argv)
{
    int rank, size;
    if (argc > 1 && strcmp(argv[1], "late") == 0) {
        late();
        printf("late ok\n");
        return 0;
    }
    OK(waitio_init(30));
    g = everybody(0, &rank, &size);
    CHECK(size == 1, "run this alone");
    send_args();
    recv_args();
    requests();
    others();
    groups();
    OK(waitio_finalize());
    printf("errors ok\n");
    return 0;
}
