/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every size class back and forth between universe ranks 0 and 1, and the calls around one message:
 * sizes [MAX] | self | persistent | truncate | probe | cancel | any | order | big
 * Each mode runs with two processes, "self" with any number.
 */
#include "common.h"

static int me, size;
static waitio_group_t g;

static void one_size(size_t n, uint64_t seed)
{
    char *a = must_alloc(n), *b = must_alloc(n);
    waitio_req_t s, r;
    waitio_status_t st;
    fill(a, n, seed + (uint64_t)me);
    OK(waitio_irecv(g, 1 - me, b, n, 3, &r));
    OK(waitio_isend(g, 1 - me, a, n, 3, &s));
    OK(waitio_wait_status(&r, &st));
    OK(waitio_wait(&s));
    CHECK(st.bytes == n && st.source == 1 - me && st.tag == 3 && st.error == 0,
          "size %zu: status says %zu bytes from %d, tag %d", n, st.bytes, st.source, st.tag);
    int64_t w = wrong_at(b, n, seed + (uint64_t)(1 - me));
    CHECK(w < 0, "size %zu: byte %lld is wrong", n, (long long)w);
    free(a);
    free(b);
}

static void sizes(size_t max)
{
    uint64_t seed = 17;
    for (size_t n = 0; n <= 70; n++)
        one_size(n, ++seed);
    for (size_t n = 128; n <= max; n *= 2)
        for (int d = -1; d <= 1; d++)
            one_size(n + (size_t)d, ++seed);
}

static void self(void)
{
    static const size_t bytes[] = {0, 1, 100, 65536, 65537, 1 << 20, (1 << 20) + 1, 5 << 20};
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        size_t n = bytes[i];
        char *a = must_alloc(n), *b = must_alloc(n);
        waitio_status_t st;
        waitio_req_t s, r;
        fill(a, n, i);
        OK(waitio_sendrecv(g, me, a, n, 1, me, b, n, 1, &st));
        CHECK(st.bytes == n && st.source == me && wrong_at(b, n, i) < 0, "sendrecv to self, %zu",
              n);
        memset(b, 0, n);
        OK(waitio_isend(g, me, a, n, 2, &s)); /* sent before the receive is posted */
        OK(waitio_irecv(g, WAITIO_ANY_SOURCE, b, n, WAITIO_ANY_TAG, &r));
        OK(waitio_wait(&r));
        OK(waitio_wait(&s));
        CHECK(wrong_at(b, n, i) < 0, "send to self before receive, %zu", n);
        free(a);
        free(b);
    }
}

static void persistent(void)
{
    enum { N = 200000 };
    static const size_t bytes[] = {0, 8, N};
    for (size_t k = 0; k < 3; k++) {
        char *a = must_alloc(N), *b = must_alloc(N);
        waitio_req_t q[2] = {WAITIO_REQ_NULL, WAITIO_REQ_NULL};
        OK(waitio_recv_init(g, 1 - me, b, N, 9, &q[0]));
        OK(waitio_send_init(g, 1 - me, a, bytes[k], 9, &q[1]));
        OK(waitio_wait(&q[0])); /* inactive: returns at once and stays */
        for (uint64_t i = 0; i < 50; i++) {
            waitio_status_t st[2];
            fill(a, bytes[k], i * 2 + (uint64_t)me);
            OK(waitio_startall(2, q));
            if (i == 0)
                GIVES(WAITIO_ERR_BUSY, waitio_start(&q[0]));
            OK(waitio_waitall(2, q, st));
            CHECK(st[0].bytes == bytes[k], "round gave %zu bytes", st[0].bytes);
            CHECK(wrong_at(b, bytes[k], i * 2 + (uint64_t)(1 - me)) < 0, "round %d is wrong",
                  (int)i);
        }
        OK(waitio_request_free(&q[0]));
        OK(waitio_request_free(&q[1]));
        OK(waitio_wait(&q[0])); /* null now */
        free(a);
        free(b);
    }
}

/* Too small a buffer: error with both sizes, the bytes that fit delivered, nothing written beyond.
 */
static void too_long(void)
{
    static const size_t sent[] = {1, 100, 60000, 300000, 3000000};
    for (size_t k = 0; k < 10; k++) {
        size_t n = sent[k % 5], room = k < 5 ? n / 2 : 0;
        char *a = must_alloc(n), *b = must_alloc(room + 64), text[2][24];
        fill(a, n, k);
        waitio_req_t r;
        if (me == 0) {
            OK(waitio_isend(g, 1, a, n, 5, &r));
            OK(waitio_wait(&r));
        } else {
            waitio_status_t st;
            memset(b, 0x5a, room + 64);
            if (k % 2 == 0)
                sleep_s(0.05); /* sometimes it has arrived before */
            OK(waitio_irecv(g, 0, b, room, 5, &r));
            GIVES(WAITIO_ERR_TRUNCATE, waitio_wait_status(&r, &st));
            snprintf(text[0], sizeof text[0], "%zu", n);
            snprintf(text[1], sizeof text[1], "%zu", room);
            CHECK(strstr(waitio_last_error(), text[0]) && strstr(waitio_last_error(), text[1]),
                  "text lacks the sizes %zu and %zu: %s", n, room, waitio_last_error());
            CHECK(st.bytes == room && st.error == WAITIO_ERR_TRUNCATE, "%zu bytes", st.bytes);
            char *whole = must_alloc(n);
            fill(whole, n, k);
            CHECK(memcmp(b, whole, room) == 0, "what fits of %zu bytes is wrong", n);
            for (size_t i = 0; i < 64; i++)
                CHECK(b[room + i] == 0x5a, "written beyond the buffer");
            free(whole);
            GIVES(0, waitio_wait(&r)); /* null: the error is told once */
        }
        free(a);
        free(b);
    }
    sizes(1024); /* the pair is still in good order */
}

static void probe(void)
{
    static const size_t bytes[] = {0, 10, 70000, 2000000};
    for (int k = 0; k < 4; k++) {
        size_t n = bytes[k];
        char *a = must_alloc(n);
        waitio_req_t r;
        waitio_status_t st;
        int flag = 1;
        if (me == 0) {
            barrier(g, 50);
            fill(a, n, (uint64_t)k);
            OK(waitio_isend(g, 1, a, n, 40 + k, &r));
            OK(waitio_wait(&r));
        } else {
            OK(waitio_iprobe(g, 0, 40 + k, &flag, &st));
            CHECK(!flag, "found a message that nobody sent");
            barrier(g, 50);
            if (k % 2 == 0)
                OK(waitio_probe(g, WAITIO_ANY_SOURCE, 40 + k, &st));
            else
                for (flag = 0; !flag;)
                    OK(waitio_iprobe(g, 0, WAITIO_ANY_TAG, &flag, &st));
            CHECK(st.bytes == n && st.source == 0 && st.tag == 40 + k,
                  "probe says %zu bytes, source %d, tag %d", st.bytes, st.source, st.tag);
            OK(waitio_irecv(g, st.source, a, st.bytes, st.tag, &r));
            OK(waitio_wait(&r));
            CHECK(wrong_at(a, n, (uint64_t)k) < 0, "contents");
        }
        free(a);
    }
}

static void cancel_long_send(void)
{
    static uint8_t data[5 << 20];
    int flag = 0;
    waitio_req_t s;
    waitio_status_t st;
    OK(waitio_isend(g, 1 - me, data, sizeof data, 80, &s));
    OK(waitio_cancel(&s));
    OK(waitio_wait_status(&s, &st));
    CHECK(st.cancelled, "a long send that nothing matched was not cancelled");
    barrier(g, 51);
    OK(waitio_iprobe(g, 1 - me, 80, &flag, &st));
    CHECK(!flag, "a cancelled message is there");
    barrier(g, 52); /* nobody has left */
}

static void cancel(void)
{
    int32_t v = -1, w = (int32_t)htole32((uint32_t)me);
    waitio_req_t r, s;
    waitio_status_t st;
    OK(waitio_irecv(g, 1 - me, &v, sizeof v, 77, &r));
    OK(waitio_cancel(&r));
    OK(waitio_wait_status(&r, &st));
    CHECK(st.cancelled, "a receive that nothing matched was not cancelled");
    barrier(g, 50);
    /* The withdrawn receive takes nothing: the next one gets the message. */
    OK(waitio_isend(g, 1 - me, &w, sizeof w, 77, &s));
    OK(waitio_irecv(g, 1 - me, &v, sizeof v, 77, &r));
    OK(waitio_wait_status(&r, &st));
    OK(waitio_wait(&s));
    CHECK(!st.cancelled && le32toh((uint32_t)v) == (uint32_t)(1 - me), "got %d", v);
    /* Matched already: cancel changes nothing. */
    OK(waitio_isend(g, 1 - me, &w, sizeof w, 78, &s));
    OK(waitio_probe(g, 1 - me, 78, &st));
    OK(waitio_irecv(g, 1 - me, &v, sizeof v, 78, &r));
    waitio_cancel(&r);
    OK(waitio_wait_status(&r, &st));
    CHECK(!st.cancelled && st.bytes == sizeof v, "a matched receive was cancelled");
    /* A short send needs no receive to complete; a long one waits for it, and is withdrawn. */
    OK(waitio_isend(g, 1 - me, &w, sizeof w, 79, &s));
    OK(waitio_cancel(&s));
    OK(waitio_wait_status(&s, &st));
    CHECK(!st.cancelled, "a short send was cancelled");
    OK(waitio_irecv(g, 1 - me, &v, sizeof v, 79, &r));
    OK(waitio_wait(&r));
    cancel_long_send();
}

enum { BATCH = 40 };
static uint32_t batch_in[BATCH], batch_out[BATCH];

static void complete_by_waitany(waitio_req_t *r)
{
    int index;
    waitio_status_t st;
    for (int i = 0; i < BATCH; i++) {
        OK(waitio_waitany(BATCH, r, &index, &st));
        CHECK(index >= 0 && index < BATCH && st.tag == index && batch_in[index] == batch_out[index],
              "waitany gave index %d, tag %d", index, st.tag);
    }
    OK(waitio_waitany(BATCH, r, &index, &st));
    CHECK(index == WAITIO_UNDEFINED, "index %d of an array of null handles", index);
}

static void complete_by_testany(waitio_req_t *r)
{
    int index, flag;
    waitio_status_t st;
    for (int seen = 0; seen < BATCH; seen += flag) {
        OK(waitio_testany(BATCH, r, &index, &flag, &st));
        CHECK(!flag || (index >= 0 && batch_in[index] == batch_out[index]), "testany index %d",
              index);
    }
    OK(waitio_testany(BATCH, r, &index, &flag, &st));
    CHECK(flag && index == WAITIO_UNDEFINED, "testany of null handles");
}

static void complete_by_testall(waitio_req_t *r)
{
    waitio_status_t st[BATCH];
    for (int flag = 0; !flag;)
        OK(waitio_testall(BATCH, r, &flag, st));
    CHECK(st[7].tag == 7 && st[7].bytes == sizeof batch_in[0], "testall's status");
}

static void complete_by_waitall(waitio_req_t *r)
{
    waitio_status_t st[BATCH];
    OK(waitio_waitall(BATCH, r, st));
    CHECK(st[7].tag == 7 && st[7].bytes == sizeof batch_in[0], "waitall's status");
}

static void any_and_all(void)
{
    static void (*const complete[])(waitio_req_t *) = {complete_by_waitany, complete_by_testany,
                                                       complete_by_testall, complete_by_waitall};
    waitio_req_t r[BATCH], s[BATCH];
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < BATCH; i++) {
            batch_in[i] = UINT32_MAX;
            batch_out[i] = htole32((uint32_t)(1000 * round + i));
            OK(waitio_irecv(g, 1 - me, &batch_in[i], sizeof batch_in[i], i, &r[i]));
        }
        for (int i = BATCH; i-- > 0;)
            OK(waitio_isend(g, 1 - me, &batch_out[i], sizeof batch_out[i], i, &s[i]));
        complete[round % 4](r);
        OK(waitio_waitall(BATCH, s, NULL));
        for (int i = 0; i < BATCH; i++)
            CHECK(batch_in[i] == batch_out[i], "message %d holds %u", i, batch_in[i]);
    }
}

/* Small and large messages with one envelope arrive in the order sent. */
static void order(void)
{
    enum { N = 300 };
    static waitio_req_t q[N];
    static char *buf[N];
    uint64_t seed = 99;
    for (uint64_t i = 0; i < N; i++) {
        size_t n = below(&seed, 10) == 0 ? 100000 + below(&seed, 2000000) : below(&seed, 2000);
        buf[i] = must_alloc(n + 8);
        if (me == 0) {
            fill(buf[i], n, i);
            OK(waitio_isend(g, 1, buf[i], n, 4, &q[i]));
        } else {
            OK(waitio_irecv(g, i % 3 ? 0 : WAITIO_ANY_SOURCE, buf[i], n, i % 2 ? 4 : WAITIO_ANY_TAG,
                            &q[i]));
            if (i % 7 == 0)
                sleep_s(0.001);
        }
    }
    waitio_status_t st[N];
    OK(waitio_waitall(N, q, st));
    for (uint64_t i = 0; i < N; i++) {
        CHECK(me == 0 || wrong_at(buf[i], st[i].bytes, i) < 0, "message %d is not in its place",
              (int)i);
        free(buf[i]);
    }
}

static void big(void)
{
    size_t n = ((size_t)4 << 30) + 12345;
    char *p = malloc(n);
    CHECK(p != NULL, "no memory for %zu bytes", n);
    waitio_req_t r;
    waitio_status_t st;
    if (me == 0) {
        fill(p, n, 4711);
        OK(waitio_isend(g, 1, p, n, 1, &r));
        OK(waitio_wait(&r));
    } else {
        OK(waitio_irecv(g, 0, p, n, 1, &r));
        OK(waitio_wait_status(&r, &st));
        CHECK(st.bytes == n, "%zu bytes", st.bytes);
        CHECK(wrong_at(p, n, 4711) < 0, "byte %lld is wrong", (long long)wrong_at(p, n, 4711));
    }
    free(p);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "sizes";
    OK(waitio_init(60));
    g = everybody(0, &me, &size);
    CHECK(size == 2 || strcmp(mode, "self") == 0, "needs two processes");
    if (strcmp(mode, "sizes") == 0)
        sizes(argc > 2 ? strtoull(argv[2], NULL, 10) : (size_t)64 << 20);
    else if (strcmp(mode, "self") == 0)
        self();
    else if (strcmp(mode, "persistent") == 0)
        persistent();
    else if (strcmp(mode, "truncate") == 0)
        too_long();
    else if (strcmp(mode, "probe") == 0)
        probe();
    else if (strcmp(mode, "cancel") == 0)
        cancel();
    else if (strcmp(mode, "any") == 0)
        any_and_all();
    else if (strcmp(mode, "order") == 0)
        order();
    else if (strcmp(mode, "big") == 0)
        big();
    else
        DIE("no mode %s", mode);
    OK(waitio_group_free(&g));
    OK(waitio_finalize());
    printf("%s ok\n", mode);
    return 0;
}
