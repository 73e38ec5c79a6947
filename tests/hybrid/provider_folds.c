/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operators that the library brings, reduced by the provider for MPI: maps x -> a x + b, whose
 * composition does not commute, and sums, on elements of several lengths; blocking and not, many at
 * a time, from several threads' point of view in any order; and operators that fail. Results have
 * the order of the ranks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hybrid/hybrid.h"
#include "provider_check.h"

enum { GUARD = 0xEE };

/* An operator with what a test wants to know of it. */
struct an_operator {
    struct waitio_inside_fold face;
    int fails;
    int calls; /* changed atomically */
};

static const struct waitio_inside_ops *ops;
static void *part;
static int size, me;

/* Elements begin with a map; the bytes behind it are added up one by one. */
struct map {
    uint32_t a, b;
};

static int combine(const struct waitio_inside_fold *face, const void *in, void *inout, size_t n)
{
    struct an_operator *op = (void *)(uintptr_t)face;
    size_t bytes = face->bytes;

    __atomic_add_fetch(&op->calls, 1, __ATOMIC_RELAXED);
    for (size_t i = 0; i < n; i++) {
        const unsigned char *from = (const unsigned char *)in + i * bytes;
        unsigned char *to = (unsigned char *)inout + i * bytes;
        struct map x, y;
        memcpy(&x, from, sizeof x);
        memcpy(&y, to, sizeof y);
        if (face->commutes)
            y = (struct map){x.a + y.a, x.b + y.b};
        else
            y = (struct map){x.a * y.a, x.a * y.b + x.b};
        memcpy(to, &y, sizeof y);
        for (size_t k = sizeof y; k < bytes; k++)
            to[k] = (unsigned char)(to[k] + from[k]);
    }
    return op->fails;
}

static struct an_operator operator_of(size_t bytes, int commutes, int fails)
{
    return (struct an_operator){.face = {.bytes = bytes, .commutes = commutes, .apply = combine},
                                .fails = fails};
}

static unsigned char *room(size_t n)
{
    unsigned char *p = malloc(n + 1);

    CHECK(p != NULL, "%zu bytes", n);
    memset(p, GUARD, n + 1);
    return p;
}

static unsigned char *contribution(int r, size_t bytes, size_t n)
{
    unsigned char *p = room(bytes * n);

    for (size_t i = 0; i < n; i++) {
        struct map m = {(uint32_t)(2 * r + 3), (uint32_t)(r * 31 + (int)i)};
        for (size_t k = sizeof m; k < bytes; k++)
            p[i * bytes + k] = (unsigned char)(r * 7 + (int)(k + i));
        memcpy(p + i * bytes, &m, sizeof m);
    }
    return p;
}

/* Of ranks 0 .. last. */
static unsigned char *folded(const struct an_operator *like, size_t n, int last)
{
    struct an_operator op = operator_of(like->face.bytes, like->face.commutes, 0);
    unsigned char *sum = contribution(last, op.face.bytes, n);

    for (int r = last - 1; r >= 0; r--) {
        unsigned char *p = contribution(r, op.face.bytes, n);
        (void)combine(&op.face, p, sum, n);
        free(p);
    }
    return sum;
}

static int now_or_later(const struct waitio_inside_call *c, bool later, char *why, size_t nwhy)
{
    void *op = NULL;
    int done = 0, rc;

    if (!later)
        return ops->run(part, c, why, nwhy);
    rc = ops->start(part, c, &op, why, nwhy);
    while (rc == 0 && !done)
        rc = ops->test(part, op, &done, why, nwhy);
    return rc;
}

/* ---- all kinds ---- */

static void reduction(enum waitio_inside_kind kind, struct an_operator *op, size_t n, bool in_place,
                      int root, bool later)
{
    size_t bytes = op->face.bytes;
    int last = kind == WAITIO_INSIDE_SCAN ? me : kind == WAITIO_INSIDE_EXSCAN ? me - 1 : size - 1;
    bool has = kind == WAITIO_INSIDE_EXSCAN ? me > 0 || in_place
                                            : kind != WAITIO_INSIDE_REDUCE || me == root;
    unsigned char *in = contribution(me, bytes, n), *out = room(n * bytes), *want;
    struct waitio_inside_call c = {
        .kind = kind, .root = root, .count = n, .bytes = n * bytes, .fold = &op->face};
    char why[256] = "";

    c.in = in;
    c.out = has ? out : NULL;
    if (in_place && has) {
        memcpy(out, in, n * bytes);
        c.in = out;
    }
    CHECK(now_or_later(&c, later, why, sizeof why) == 0, "kind %d: %s", kind, why);
    if (has && last >= 0) {
        want = folded(op, n, last);
        CHECK(memcmp(out, want, n * bytes) == 0 && out[n * bytes] == GUARD,
              "kind %d, %zu elements of %zu bytes, commutes %d, root %d, later %d", kind, n, bytes,
              op->face.commutes, root, later);
        free(want);
    }
    free(in);
    free(out);
}

static void reduce_scatter(struct an_operator *op, size_t n, bool uneven, bool in_place, bool later)
{
    size_t len[16], total = 0, before = 0, bytes = op->face.bytes;
    struct waitio_inside_call c = {.kind = WAITIO_INSIDE_REDUCE_SCATTER, .fold = &op->face};
    unsigned char *in, *out, *want;
    char why[256] = "";

    for (int i = 0; i < size; i++) {
        len[i] = bytes * (uneven ? n * (size_t)(i % 3) : n);
        before += i < me ? len[i] : 0;
        total += len[i];
    }
    in = contribution(me, bytes, total / bytes);
    out = room(total);
    c.in = in;
    c.out = out;
    if (in_place) {
        memcpy(out, in, total);
        c.in = out;
    }
    c.count = total / bytes;
    c.bytes = total;
    c.ins = uneven ? (struct waitio_inside_blocks){.len = len}
                   : (struct waitio_inside_blocks){.unit = bytes * n};
    CHECK(now_or_later(&c, later, why, sizeof why) == 0, "reduce_scatter: %s", why);
    want = folded(op, total / bytes, size - 1);
    CHECK(memcmp(out, want + before, len[me]) == 0,
          "reduce_scatter of %zu elements of %zu bytes, uneven %d, in place %d, later %d, "
          "commutes %d",
          n, bytes, uneven, in_place, later, op->face.commutes);
    free(in);
    free(out);
    free(want);
}

static void every_kind(size_t bytes, size_t n)
{
    int calls = 0;

    for (int how = 0; how < 8; how++) {
        struct an_operator op = operator_of(bytes, how & 1, 0);
        bool in_place = how & 2, later = how & 4;
        for (int root = 0; root < size; root++)
            reduction(WAITIO_INSIDE_REDUCE, &op, n, in_place, root, later);
        reduction(WAITIO_INSIDE_ALLREDUCE, &op, n, in_place, 0, later);
        reduction(WAITIO_INSIDE_SCAN, &op, n, in_place, 0, later);
        reduction(WAITIO_INSIDE_EXSCAN, &op, n, in_place, 0, later);
        reduce_scatter(&op, n, false, in_place, later);
        reduce_scatter(&op, n, true, in_place, later);
        calls += op.calls;
    }
    if (size == 1 || n == 0)
        return;
    MPI_Allreduce(MPI_IN_PLACE, &calls, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(calls >= 8 * 2, "the operator was called %d times", calls);
}

/* ---- several at a time ---- */

/* Of two lengths, that are complete in any order; then more, which use the same datatypes again. */
static void many_at_once(void)
{
    enum { MANY = 24, TIMES = 3, N = 5 };
    struct waitio_inside_call c[MANY];
    struct an_operator op[MANY];
    unsigned char *in[MANY], *out[MANY], *want;
    void *begun[MANY];
    char why[256] = "";

    for (int t = 0; t < TIMES; t++) {
        int left = MANY;
        for (int i = 0; i < MANY; i++) {
            size_t bytes = i % 2 ? 8 : 24;
            op[i] = operator_of(bytes, i % 3 == 0, 0);
            in[i] = contribution(me, bytes, N);
            out[i] = room(bytes * N);
            c[i] = (struct waitio_inside_call){.kind = WAITIO_INSIDE_ALLREDUCE,
                                               .in = in[i],
                                               .out = out[i],
                                               .count = N,
                                               .bytes = N * bytes,
                                               .fold = &op[i].face};
            CHECK(ops->start(part, &c[i], &begun[i], why, sizeof why) == 0, "%s", why);
        }
        while (left > 0)
            for (int i = MANY - 1, done = 0; i >= 0; i--) {
                if (begun[i] == NULL)
                    continue;
                CHECK(ops->test(part, begun[i], &done, why, sizeof why) == 0, "%s", why);
                if (!done)
                    continue;
                begun[i] = NULL;
                left--;
                want = folded(&op[i], N, size - 1);
                CHECK(memcmp(out[i], want, op[i].face.bytes * N) == 0, "number %d", i);
                free(want);
                free(in[i]);
                free(out[i]);
            }
    }
}

/* ---- errors ---- */

/* An operator that fails ends the operation with its code, where it was called. */
static void failures(void)
{
    for (int later = 0; later < 2; later++) {
        struct an_operator op = operator_of(8, 0, WAITIO_ERR_NOMEM);
        struct map x = {1, 2}, y = {0, 0};
        char why[256] = "";
        struct waitio_inside_call c = {.kind = WAITIO_INSIDE_ALLREDUCE,
                                       .in = &x,
                                       .out = &y,
                                       .count = 1,
                                       .bytes = 8,
                                       .fold = &op.face};
        int rc = now_or_later(&c, later, why, sizeof why);
        CHECK(rc == (op.calls > 0 ? WAITIO_ERR_NOMEM : 0), "%d after %d calls", rc, op.calls);
        CHECK(rc == 0 || strstr(why, "operator of the reduction failed") != NULL, "%s", why);
        MPI_Allreduce(MPI_IN_PLACE, &op.calls, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(size == 1 || op.calls > 0, "nobody called it");
        reduction(WAITIO_INSIDE_ALLREDUCE, &(struct an_operator){.face = {8, 0, combine}}, 3, false,
                  0, later); /* and it goes on */
    }
    CHECK(!ops->folds(part, 0, 0), "elements of no bytes");
    CHECK(ops->folds(part, 8, 0) && ops->folds(part, 8, 1), "elements of 8 bytes");
    CHECK(!ops->folds(part, (size_t)WIO_HYBRID_MOST + 1, 1), "elements beyond a count");
}

/* What is given up may go on in MPI, whose type is not used again. */
static void given_up(void)
{
    static struct an_operator op;
    static struct map x = {1, 2}, y;
    static struct waitio_inside_call c;
    char why[256] = "";
    void *begun = NULL;

    op = operator_of(8, 0, 0);
    c = (struct waitio_inside_call){.kind = WAITIO_INSIDE_ALLREDUCE,
                                    .in = &x,
                                    .out = &y,
                                    .count = 1,
                                    .bytes = 8,
                                    .fold = &op.face};
    CHECK(ops->start(part, &c, &begun, why, sizeof why) == 0, "%s", why);
    ops->abandon(part, begun);
    for (int i = 0; i < 5; i++)
        every_kind(8, 2);
}

int main(int argc, char **argv)
{
    struct wio_hybrid_part *made = NULL;
    char why[512] = "";
    struct wio_hybrid_why to = {why, sizeof why};

    CHECK(argc > 1, "usage: provider_folds ELEMENTS...");
    MPI_Init(NULL, NULL);
    CHECK(wio_hybrid_ready(&to) == 0, "%s", why);
    CHECK(wio_hybrid_part_new(MPI_COMM_WORLD, &made, &to) == 0, "%s", why);
    ops = wio_hybrid_ops();
    part = made;
    CHECK(ops->members(part, &size, &me) == 0, "members");
    for (int i = 1; i < argc; i++) {
        every_kind(8, (size_t)strtoul(argv[i], NULL, 10));
        every_kind(37, (size_t)strtoul(argv[i], NULL, 10));
    }
    many_at_once();
    failures();
    given_up();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    printf("ok\n");
    return 0;
}
