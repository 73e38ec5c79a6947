/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Much at once:
 *   inflight N          every pair of neighbours has N requests pending in each direction
 *   unexpected N BYTES  all send N messages to rank 0, which receives them in the wrong order,
 * later pool                rank 0 sends more than its send pool holds to rank 1, which computes
 *   credit BYTES        all send more to rank 0 than it may hold, while it computes
 *   all2all ROUNDS      everybody with everybody, with few connections allowed
 *   idle                connect to everybody, print own memory per peer
 */
#include "common.h"

static int me, size;
static waitio_group_t g;

static void inflight(int n)
{
    waitio_req_t *q = must_alloc(2 * (size_t)n * sizeof *q);
    int *in = must_alloc((size_t)n * sizeof *in), *out = must_alloc((size_t)n * sizeof *out);
    int to = (me + 1) % size, from = (me - 1 + size) % size;
    for (int i = 0; i < n; i++) {
        in[i] = -1;
        out[i] = i * 16 + me;
        OK(waitio_irecv(g, from, &in[i], sizeof in[i], i, &q[i]));
    }
    for (int i = 0; i < n; i++) { /* tags in another order than the receives */
        int k = (int)((int64_t)i * 7919 % n);
        OK(waitio_isend(g, to, &out[k], sizeof out[k], k, &q[n + k]));
    }
    OK(waitio_waitall(2 * n, q, NULL));
    for (int i = 0; i < n; i++)
        CHECK(in[i] == i * 16 + from, "message %d holds %d", i, in[i]);
    free(q);
    free(in);
    free(out);
}

static void send_many(int n, size_t bytes)
{
    char *out = must_alloc(bytes);
    waitio_req_t q;
    for (int i = 0; i < n; i++) {
        fill(out, bytes, (uint64_t)me << 32 | (uint64_t)i);
        OK(waitio_isend(g, 0, out, bytes, i, &q));
        OK(waitio_wait(&q));
    }
    free(out);
}

static void receive_many(int n, size_t bytes)
{
    char *in = must_alloc(bytes);
    waitio_req_t q;
    waitio_status_t st;
    for (int i = n; i-- > 0;)
        for (int r = size - 1; r > 0; r--) {
            OK(waitio_irecv(g, r, in, bytes, i, &q));
            OK(waitio_wait_status(&q, &st));
            CHECK(st.bytes == bytes && wrong_at(in, bytes, (uint64_t)r << 32 | (uint64_t)i) < 0,
                  "message %d of rank %d", i, r);
        }
    free(in);
}

static void unexpected(int n, size_t bytes)
{
    if (me == 0) {
        sleep_s(0.3);
        receive_many(n, bytes);
    } else {
        send_many(n, bytes);
    }
    barrier(g, 1 << 20);
}

/* WAITIO_SEND_BUFFER_MAX=1M: 160 messages of 64 KiB to somebody who does not listen. */
static void pool(void)
{
    enum { N = 160 };
    size_t bytes = 65536;
    barrier(g, 1 << 20);
    if (me == 0) {
        static waitio_req_t q[N];
        static char *buf[N];
        for (int i = 0; i < N; i++) {
            buf[i] = must_alloc(bytes);
            fill(buf[i], bytes, (uint64_t)i);
            OK(waitio_isend(g, 1, buf[i], bytes, i, &q[i]));
        }
        for (int i = 0; i < N; i++) {
            OK(waitio_wait(&q[i]));
            free(buf[i]);
        }
        uint64_t top = counter("pool_max");
        CHECK(top <= (1u << 20), "the pool held %llu bytes", (unsigned long long)top);
    } else {
        char *in = must_alloc(bytes);
        waitio_req_t q;
        sleep_s(1.0);
        for (int i = 0; i < N; i++) {
            OK(waitio_irecv(g, 0, in, bytes, i, &q));
            OK(waitio_wait(&q));
            CHECK(wrong_at(in, bytes, (uint64_t)i) < 0, "message %d", i);
        }
        free(in);
    }
    barrier(g, 1 << 20);
}

/* WAITIO_UNEXPECTED_MAX=1M: nobody may make rank 0 hold more, however many shout. The receiver asks
 * for the messages in the order sent, with its library active all the time (a probe for nothing).
 */
static void credit(size_t bytes)
{
    int n = 400, flag;
    uint64_t most = (1u << 20) + 4096u * (unsigned)size; /* the floor of credit, and slack */
    barrier(g, 1 << 20);
    if (me != 0) {
        send_many(n, bytes);
    } else {
        for (double end = now_s() + 1; now_s() < end; sleep_s(0.001))
            OK(waitio_iprobe(g, WAITIO_ANY_SOURCE, 999999, &flag, NULL));
        uint64_t top = counter("unexpected_max");
        CHECK(top > 0 && top <= most, "held %llu bytes unexpectedly", (unsigned long long)top);
        char *in = must_alloc(bytes);
        waitio_req_t q;
        for (int i = 0; i < n; i++)
            for (int r = 1; r < size; r++) {
                OK(waitio_irecv(g, r, in, bytes, i, &q));
                OK(waitio_wait(&q));
                CHECK(wrong_at(in, bytes, (uint64_t)r << 32 | (uint64_t)i) < 0, "message %d of %d",
                      i, r);
            }
        free(in);
        top = counter("unexpected_max");
        CHECK(top <= most, "held %llu bytes", (unsigned long long)top);
    }
    barrier(g, 1 << 20);
    /* Out of credit short messages wait; longer ones ask first. */
    CHECK(me == 0 || counter(bytes <= 4096 ? "credit_waits" : "rndv_msgs") > 0,
          "no send waited for credit: the bound is not enforced by the sender");
}

/* One round with everybody at once. */
static void together(size_t n, uint64_t key, int tag)
{
    waitio_req_t *q = must_alloc(2 * (size_t)size * sizeof *q);
    char **out = must_alloc((size_t)size * sizeof *out),
         **in = must_alloc((size_t)size * sizeof *in);
    for (int k = 0; k < size; k++) {
        int r = (me + k) % size;
        in[k] = must_alloc(n);
        out[k] = must_alloc(n);
        fill(out[k], n, key | (uint64_t)me << 16 | (uint64_t)r);
        OK(waitio_irecv(g, r, in[k], n, tag, &q[2 * k]));
        OK(waitio_isend(g, r, out[k], n, tag, &q[2 * k + 1]));
    }
    OK(waitio_waitall(2 * size, q, NULL));
    for (int k = 0; k < size; k++) {
        int r = (me + k) % size;
        CHECK(wrong_at(in[k], n, key | (uint64_t)r << 16 | (uint64_t)me) < 0, "from %d", r);
        free(in[k]);
        free(out[k]);
    }
    free(q);
    free(in);
    free(out);
}

/* Never more links than the cap and one, and at rest no more than the cap. */
static void check_cap(uint64_t cap)
{
    double end = now_s() + 20;
    while (counter("links") > cap && now_s() < end) { /* the last goodbyes may be under way */
        int flag;
        OK(waitio_iprobe(g, WAITIO_ANY_SOURCE, WAITIO_ANY_TAG, &flag, NULL));
        sleep_s(0.01);
    }
    CHECK(counter("links") <= cap, "%llu links at rest", (unsigned long long)counter("links"));
    CHECK(counter("links_max") <= cap + 1, "%llu links", (unsigned long long)counter("links_max"));
}

/* One round, one pair of partners after the other. @return most links seen */
static uint64_t in_turn(size_t n, uint64_t key, int tag)
{
    char *in = must_alloc(n), *out = must_alloc(n);
    uint64_t top = 0;
    for (int k = 1; k < size; k++) {
        int to = (me + k) % size, from = (me - k + size) % size;
        fill(out, n, key | (uint64_t)me << 16 | (uint64_t)to);
        OK(waitio_sendrecv(g, to, out, n, tag, from, in, n, tag, NULL));
        CHECK(wrong_at(in, n, key | (uint64_t)from << 16 | (uint64_t)me) < 0, "from %d", from);
        if (counter("links") > top)
            top = counter("links");
    }
    free(in);
    free(out);
    return top;
}

/* Needs more connections than WAITIO_MAX_CONNECTIONS allows; nothing may get lost or doubled. */
static void all2all(int rounds)
{
    static const size_t sizes[] = {0, 40, 3000, 70000, 1500000};
    uint64_t seed = 5, top = 0, cap = strtoull(getenv("WAITIO_MAX_CONNECTIONS"), NULL, 10);
    for (int i = 0; i < rounds; i++) {
        size_t n = sizes[below(&seed, 5)];
        if (i % 2) {
            together(n, (uint64_t)i << 32, i);
            continue;
        }
        uint64_t links = in_turn(n, (uint64_t)i << 32, i);
        if (links > top)
            top = links;
    }
    barrier(g, 1 << 20);
    CHECK(counter("link_evictions") > 0, "no link was ever closed by the cap");
    check_cap(cap);
    CHECK(top <= cap + 1, "%llu links", (unsigned long long)top);
}

/* ---- random exchange ---- */

enum { PAIR_MAX = 3 };

struct parcel {
    waitio_req_t q;
    size_t n;
    uint64_t key;
    int peer, tag;
    bool in;
    char *buf;
};

/* What `from` sends to `to` in this round: the same on both sides. @return how many messages */
static int plan(int round, int from, int to, struct parcel *out)
{
    uint64_t s = mix((uint64_t)round << 40 | (uint64_t)from << 20 | (uint64_t)to);
    int count = (int)below(&s, PAIR_MAX + 1);
    for (int i = 0; i < count; i++) {
        size_t most = (size_t)8 << below(&s, 18); /* up to 1 MiB */
        out[i] = (struct parcel){.n = most / 2 + below(&s, most / 2 + 1),
                                 .key = next_random(&s),
                                 .tag = round * PAIR_MAX + i};
    }
    return count;
}

static void shuffle(struct parcel *p, int n, uint64_t *s)
{
    for (int i = n - 1; i > 0; i--) {
        int k = (int)below(s, (uint64_t)i + 1);
        struct parcel t = p[i];
        p[i] = p[k];
        p[k] = t;
    }
}

static void exchange_round(int round, struct parcel *p, uint64_t *s)
{
    int n = 0;
    for (int k = 0; k < size; k++) {
        if (k == me)
            continue;
        for (int in = 0; in < 2; in++) {
            int c = in ? plan(round, k, me, p + n) : plan(round, me, k, p + n);
            for (; c > 0; c--, n++) {
                p[n].peer = k;
                p[n].in = in;
            }
        }
    }
    shuffle(p, n, s);
    for (int i = 0; i < n; i++) {
        p[i].buf = must_alloc(p[i].n);
        if (!p[i].in)
            fill(p[i].buf, p[i].n, p[i].key);
        OK(p[i].in ? waitio_irecv(g, p[i].peer, p[i].buf, p[i].n, p[i].tag, &p[i].q)
                   : waitio_isend(g, p[i].peer, p[i].buf, p[i].n, p[i].tag, &p[i].q));
    }
    shuffle(p, n, s);
    for (int i = 0; i < n; i++) {
        OK(waitio_wait(&p[i].q));
        CHECK(!p[i].in || wrong_at(p[i].buf, p[i].n, p[i].key) < 0,
              "round %d: message %d of %zu bytes from %d", round, p[i].tag, p[i].n, p[i].peer);
        free(p[i].buf);
    }
}

/* Everybody with everybody at once, without any order: the cap holds and all arrives. */
static void exchange(int rounds)
{
    struct parcel *p = must_alloc(sizeof *p * (size_t)size * 2 * PAIR_MAX);
    uint64_t s = mix((uint64_t)me + 77), cap = strtoull(getenv("WAITIO_MAX_CONNECTIONS"), NULL, 10);
    for (int i = 0; i < rounds; i++)
        exchange_round(i, p, &s);
    free(p);
    barrier(g, 1 << 20);
    printf("at most %llu links, %llu opened\n", (unsigned long long)counter("links_max"),
           (unsigned long long)counter("link_opens"));
    check_cap(cap);
}

/* A connected, idle peer costs at most 2 KiB of our own memory, an unused one at most 32 bytes. */
static void idle(void)
{
    uint64_t before = counter("peer_bytes"), table = counter("table_bytes");
    CHECK(before <= 32u * (unsigned)size + 4096, "%llu bytes for %d unused peers",
          (unsigned long long)before, size);
    for (int d = 1; d < size; d++)
        OK(waitio_sendrecv(g, (me + d) % size, NULL, 0, 1, (me - d + size) % size, NULL, 0, 1,
                           NULL));
    uint64_t each = (counter("peer_bytes") - before) / (unsigned)(size > 1 ? size - 1 : 1);
    CHECK(each > 0 && each <= 2048, "%llu bytes for a connected peer", (unsigned long long)each);
    printf("table %llu, connected peer %llu bytes\n", (unsigned long long)table,
           (unsigned long long)each);
    barrier(g, 2);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int n = argc > 2 ? atoi(argv[2]) : 0;
    OK(waitio_init(60));
    g = everybody(0, &me, &size);
    if (strcmp(mode, "inflight") == 0)
        inflight(n);
    else if (strcmp(mode, "unexpected") == 0)
        unexpected(n, argc > 3 ? strtoull(argv[3], NULL, 10) : 8);
    else if (strcmp(mode, "pool") == 0)
        pool();
    else if (strcmp(mode, "credit") == 0)
        credit((size_t)n);
    else if (strcmp(mode, "all2all") == 0)
        all2all(n);
    else if (strcmp(mode, "exchange") == 0)
        exchange(n);
    else if (strcmp(mode, "idle") == 0)
        idle();
    else
        DIE("no mode \"%s\"", mode);
    OK(waitio_finalize());
    printf("%s ok\n", mode);
    return 0;
}
