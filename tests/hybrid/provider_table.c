/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of the provider for MPI, without the library's collectives: every kind of operation,
 * with equal and uneven blocks, in place and not, from all roots, blocking and not, on a part and
 * on parts of it. Compiled with the provider's sources; with a low WIO_HYBRID_MOST small data takes
 * the ways of data that is too long for an int. Gathered data follows from who sends it to whom,
 * reductions are folded by WAITIO_MPI_Reduce_local() in the order of the ranks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hybrid/hybrid.h"
#include "waitio_hybrid.h"
#include "provider_check.h"

enum { GUARD = 0xEE, GAP = 5 };

static const struct waitio_inside_ops *ops;
static void *part;
static int size, me;
static size_t cases;

static void *room(size_t n)
{
    void *p = malloc(n + 1);
    CHECK(p != NULL, "%zu bytes", n);
    memset(p, GUARD, n + 1);
    return p;
}

/* What `from` sends to `to` repeats a row of bytes that no other pair has. */
enum { ROW = 251 };

static void row_of(unsigned char *row, int from, int to)
{
    for (int k = 0; k < ROW; k++)
        row[k] = (unsigned char)(17 * from + 31 * to + 7 * k);
}

static void put(unsigned char *p, int from, int to, size_t n)
{
    unsigned char row[ROW];

    row_of(row, from, to);
    for (size_t k = 0; k < n; k += ROW)
        memcpy(p + k, row, n - k < ROW ? n - k : ROW);
}

static bool is(const unsigned char *p, int from, int to, size_t n)
{
    unsigned char row[ROW];

    row_of(row, from, to);
    for (size_t k = 0; k < n; k += ROW)
        if (memcmp(p + k, row, n - k < ROW ? n - k : ROW) != 0)
            return false;
    return true;
}

/* By the blocking slot, or started and tested. */
static void now_or_later(const struct waitio_inside_call *c, bool later)
{
    char why[256] = "";
    void *op = NULL;
    int done = 0;

    cases++;
    if (!later) {
        CHECK(ops->run(part, c, why, sizeof why) == 0, "kind %d: %s", c->kind, why);
        return;
    }
    CHECK(ops->start(part, c, &op, why, sizeof why) == 0, "kind %d: %s", c->kind, why);
    while (!done)
        CHECK(ops->test(part, op, &done, why, sizeof why) == 0, "kind %d: %s", c->kind, why);
}

/* ---- gathering and scattering ---- */

/* Blocks of a buffer: equal ones without gaps, or uneven ones with gaps and in falling order. */
struct layout {
    size_t len[16];
    int64_t at[16];
    size_t total;
    struct waitio_inside_blocks b;
};

/* Bytes from `from` to `to`; `by_pair` false: the same for all receivers. */
static size_t length(size_t n, bool uneven, int from, int to)
{
    return uneven ? n * (size_t)((from + 2 * to) % 3) + (size_t)((from + to) % 2) : n;
}

static void lay(struct layout *l, const size_t len[], bool uneven, size_t n)
{
    l->total = 0;
    for (int i = size - 1; i >= 0; i--) {
        l->len[i] = len[i];
        l->at[i] = (int64_t)(uneven ? l->total + GAP : (size_t)i * n);
        l->total += uneven ? len[i] + GAP : n;
    }
    l->b = (struct waitio_inside_blocks){0};
    if (uneven) {
        l->b.len = l->len;
        l->b.at = l->at;
    } else {
        l->b.unit = n;
    }
}

/* Each block is right and the gap before it is untouched. */
static void check_blocks(const unsigned char *p, const struct layout *l, int kind, bool scattered)
{
    for (int i = 0; i < size; i++) {
        CHECK(is(p + l->at[i], i, scattered ? me : 0, l->len[i]), "kind %d, block %d of %zu bytes",
              kind, i, l->len[i]);
        for (int k = 1; l->b.len != NULL && k <= GAP; k++)
            CHECK(p[l->at[i] - k] == GUARD, "kind %d: written before block %d", kind, i);
    }
    CHECK(p[l->total] == GUARD, "kind %d: written behind the blocks", kind);
}

static void gather(size_t n, bool uneven, bool in_place, int root, bool later)
{
    bool all = root < 0, gets = all || me == root;
    size_t len[16];
    struct layout l;
    struct waitio_inside_call c = {.kind = all ? WAITIO_INSIDE_ALLGATHER : WAITIO_INSIDE_GATHER};
    unsigned char *in, *out;

    for (int i = 0; i < size; i++)
        len[i] = length(n, uneven, i, 0);
    lay(&l, len, uneven, n);
    in = room(len[me]);
    out = room(l.total);
    put(in, me, 0, len[me]);
    c.root = all ? 0 : root;
    c.in = in;
    c.out = gets ? out : NULL;
    c.bytes = len[me];
    if (gets && in_place) {
        put(out + l.at[me], me, 0, len[me]);
        c.in = out;
    }
    c.outs = l.b;
    if (!gets) { /* not read, but there */
        c.outs.at = uneven ? (const int64_t *)1 : NULL;
        c.outs.len = uneven ? (const size_t *)1 : NULL;
    }
    now_or_later(&c, later);
    if (gets)
        check_blocks(out, &l, c.kind, false);
    free(in);
    free(out);
}

static void scatter(size_t n, bool uneven, bool in_place, int root, bool later)
{
    size_t len[16];
    struct layout l;
    struct waitio_inside_call c = {.kind = WAITIO_INSIDE_SCATTER, .root = root};
    unsigned char *in, *out;

    for (int i = 0; i < size; i++)
        len[i] = length(n, uneven, root, i);
    lay(&l, len, uneven, n);
    in = room(l.total);
    out = room(len[me]);
    for (int i = 0; me == root && i < size; i++)
        put(in + l.at[i], root, i, len[i]);
    c.in = me == root ? in : NULL;
    c.out = me == root && in_place ? in : out;
    c.bytes = len[me];
    c.ins = l.b;
    if (me != root) {
        c.ins.at = uneven ? (const int64_t *)1 : NULL;
        c.ins.len = uneven ? (const size_t *)1 : NULL;
    }
    now_or_later(&c, later);
    if (c.out == in)
        CHECK(is(in + l.at[me], root, me, len[me]), "scatter in place");
    else
        CHECK(is(out, root, me, len[me]) && out[len[me]] == GUARD, "scatter %zu", n);
    free(in);
    free(out);
}

static void alltoall(size_t n, bool uneven, bool in_place, bool later)
{
    size_t to[16], from[16];
    struct layout ins, outs;
    struct waitio_inside_call c = {.kind = WAITIO_INSIDE_ALLTOALL};
    unsigned char *in, *out;

    for (int i = 0; i < size; i++) { /* in place both ways have the same length */
        from[i] = in_place ? length(n, uneven, i + me, 0) : length(n, uneven, i, me);
        to[i] = in_place ? length(n, uneven, i + me, 0) : length(n, uneven, me, i);
    }
    lay(&ins, to, uneven, n);
    lay(&outs, from, uneven, n);
    in = room(ins.total);
    out = room(outs.total);
    for (int i = 0; i < size; i++)
        put((in_place ? out + outs.at[i] : in + ins.at[i]), me, i, to[i]);
    c.in = in_place ? out : in;
    c.out = out;
    c.ins = ins.b;
    c.outs = outs.b;
    now_or_later(&c, later);
    check_blocks(out, &outs, c.kind, true);
    free(in);
    free(out);
}

static void bcast(size_t n, int root, bool later)
{
    struct waitio_inside_call c = {.kind = WAITIO_INSIDE_BCAST, .root = root, .bytes = n};
    unsigned char *p = room(n);

    if (me == root)
        put(p, root, 0, n);
    c.out = p;
    now_or_later(&c, later);
    CHECK(is(p, root, 0, n) && p[n] == GUARD, "bcast of %zu from %d", n, root);
    free(p);
}

static void barrier(bool later)
{
    struct waitio_inside_call c = {.kind = WAITIO_INSIDE_BARRIER};

    now_or_later(&c, later);
}

static void gatherings(size_t n)
{
    for (int later = 0; later < 2; later++) {
        barrier(later);
        for (int root = 0; root < size; root++) {
            bcast(n, root, later);
            for (int how = 0; how < 4; how++) {
                gather(n, how & 1, how & 2, root, later);
                scatter(n, how & 1, how & 2, root, later);
            }
        }
        for (int how = 0; how < 4; how++) {
            gather(n, how & 1, how & 2, -1, later);
            alltoall(n, how & 1, how & 2, later);
        }
    }
}

/* ---- reductions ---- */

static const struct {
    WAITIO_MPI_Datatype type;
    int bytes; /* of one number; pairs have two */
    char arithmetic;
} types[] = {
    {WAITIO_MPI_INT, 4, 'i'},
    {WAITIO_MPI_LONG, 8, 'i'},
    {WAITIO_MPI_CHAR, 1, 'i'},
    {WAITIO_MPI_FLOAT, 4, 'f'},
    {WAITIO_MPI_DOUBLE, 8, 'd'},
    {WAITIO_MPI_BYTE, 1, 'i'},
    {WAITIO_MPI_SIGNED_CHAR, 1, 'i'},
    {WAITIO_MPI_UNSIGNED_CHAR, 1, 'i'},
    {WAITIO_MPI_SHORT, 2, 'i'},
    {WAITIO_MPI_UNSIGNED_SHORT, 2, 'i'},
    {WAITIO_MPI_UNSIGNED, 4, 'i'},
    {WAITIO_MPI_UNSIGNED_LONG, 8, 'i'},
    {WAITIO_MPI_LONG_LONG, 8, 'i'},
    {WAITIO_MPI_UNSIGNED_LONG_LONG, 8, 'i'},
    {WAITIO_MPI_INT8_T, 1, 'i'},
    {WAITIO_MPI_UINT8_T, 1, 'i'},
    {WAITIO_MPI_INT16_T, 2, 'i'},
    {WAITIO_MPI_UINT16_T, 2, 'i'},
    {WAITIO_MPI_INT32_T, 4, 'i'},
    {WAITIO_MPI_UINT32_T, 4, 'i'},
    {WAITIO_MPI_INT64_T, 8, 'i'},
    {WAITIO_MPI_UINT64_T, 8, 'i'},
    {WAITIO_MPI_C_BOOL, 1, 'b'},
    {WAITIO_MPI_C_FLOAT_COMPLEX, 4, 'F'},
    {WAITIO_MPI_C_DOUBLE_COMPLEX, 8, 'D'},
    {WAITIO_MPI_REAL, 4, 'f'},
    {WAITIO_MPI_LOGICAL, 4, 'l'},
    {WAITIO_MPI_COMPLEX, 4, 'F'},
    {WAITIO_MPI_DOUBLE_COMPLEX, 8, 'D'},
    {WAITIO_MPI_INTEGER1, 1, 'i'},
    {WAITIO_MPI_INTEGER2, 2, 'i'},
    {WAITIO_MPI_INTEGER4, 4, 'i'},
    {WAITIO_MPI_INTEGER8, 8, 'i'},
    {WAITIO_MPI_REAL4, 4, 'f'},
    {WAITIO_MPI_REAL8, 8, 'd'},
    {WAITIO_MPI_LONG_DOUBLE, 16, 'L'},
    {WAITIO_MPI_AINT, 8, 'i'},
    {WAITIO_MPI_OFFSET, 8, 'i'},
    {WAITIO_MPI_COUNT, 8, 'i'},
    {WAITIO_MPI_LOGICAL4, 4, 'l'},
    {WAITIO_MPI_COMPLEX8, 4, 'F'},
    {WAITIO_MPI_COMPLEX16, 8, 'D'},
    {WAITIO_MPI_FLOAT_INT, 4, 'p'},
    {WAITIO_MPI_2INT, 4, 'P'},
    {WAITIO_MPI_2REAL, 4, 'F'},
    {WAITIO_MPI_2DOUBLE_PRECISION, 8, 'D'},
    {WAITIO_MPI_2INTEGER, 4, 'P'},
    {waitio_mpi_integer_type, 4, 'i'},
    {waitio_mpi_double_precision_type, 8, 'd'},
    {WAITIO_MPI_CXX_BOOL, 1, 'b'},
    {WAITIO_MPI_CXX_DOUBLE_COMPLEX, 8, 'D'},
};
enum { TYPES = sizeof types / sizeof types[0] };

static int width(int t)
{
    return strchr("FDpP", types[t].arithmetic) != NULL ? 2 * types[t].bytes : types[t].bytes;
}

static void put_number(unsigned char *p, int bytes, char arithmetic, int v)
{
    float f = (float)v;
    double d = v;
    long double l = v;
    int64_t i = v;

    if (arithmetic == 'L')
        memcpy(p, &l, sizeof l);
    else if (arithmetic == 'f')
        memcpy(p, &f, sizeof f);
    else if (arithmetic == 'd')
        memcpy(p, &d, sizeof d);
    else
        memcpy(p, &i, (size_t)bytes); /* low bytes first: the machines of these tests */
}

/* Element k of rank r: small numbers, whose sums and products are exact everywhere.
 * Negative ones are the largest of an unsigned type. */
static void put_element(unsigned char *p, int t, int r, size_t k)
{
    int v = (int)((size_t)r * 3 + k * 5 + 1) % 5 - 2;
    int b = types[t].bytes;

    switch (types[t].arithmetic) {
    case 'b':
    case 'l':
        put_number(p, b, 'i', v > 0);
        break;
    case 'F':
    case 'D':
        put_number(p, b, types[t].arithmetic == 'F' ? 'f' : 'd', v);
        put_number(p + b, b, types[t].arithmetic == 'F' ? 'f' : 'd', (int)(k % 3) + r);
        break;
    case 'p':
    case 'P':
        put_number(p, b, types[t].arithmetic == 'p' ? 'f' : 'i', v);
        put_number(p + b, b, 'i', r);
        break;
    default:
        put_number(p, b, types[t].arithmetic, v);
    }
}

static unsigned char *contribution(int t, int r, size_t n)
{
    size_t w = (size_t)width(t);
    unsigned char *p = room(n * w);

    memset(p, 0, n * w); /* also the unused bytes of long double */
    for (size_t k = 0; k < n; k++)
        put_element(p + k * w, t, r, k);
    return p;
}

/* Of ranks 0 .. last: the library's own arithmetic, whose order of operands MPI has, too. */
static unsigned char *folded(int t, WAITIO_MPI_Op op, size_t n, int last)
{
    unsigned char *sum = contribution(t, last, n);

    for (int r = last - 1; r >= 0; r--) {
        unsigned char *p = contribution(t, r, n);
        CHECK(WAITIO_MPI_Reduce_local(p, sum, (int)n, types[t].type, op) == 0, "type %d",
              types[t].type);
        free(p);
    }
    return sum;
}

/* Numbers, not bytes: zero has two signs, and long double bytes that are not used. */
static bool same(int t, const unsigned char *a, const unsigned char *b, size_t n)
{
    char arithmetic = types[t].arithmetic;
    size_t w = (size_t)width(t), step = (size_t)types[t].bytes;

    for (size_t k = 0; k < n * w; k += step) {
        double d, e;
        float f, g;
        long double l, m;
        bool equal;
        if (strchr("fF", arithmetic) != NULL) {
            memcpy(&f, a + k, sizeof f);
            memcpy(&g, b + k, sizeof g);
            equal = f == g;
        } else if (strchr("dD", arithmetic) != NULL) {
            memcpy(&d, a + k, sizeof d);
            memcpy(&e, b + k, sizeof e);
            equal = d == e;
        } else if (arithmetic == 'L') {
            memcpy(&l, a + k, sizeof l);
            memcpy(&m, b + k, sizeof m);
            equal = l == m;
        } else {
            equal = memcmp(a + k, b + k, step) == 0;
        }
        if (!equal)
            return false;
    }
    return true;
}

static void reduction(enum waitio_inside_kind kind, int t, WAITIO_MPI_Op op, size_t n,
                      bool in_place, int root, bool later)
{
    size_t w = (size_t)width(t);
    int last = kind == WAITIO_INSIDE_SCAN ? me : kind == WAITIO_INSIDE_EXSCAN ? me - 1 : size - 1;
    bool gets = last >= 0 && (kind != WAITIO_INSIDE_REDUCE || me == root);
    unsigned char *in = contribution(t, me, n), *out = room(n * w), *want;
    struct waitio_inside_call c = {
        .kind = kind, .root = root, .count = n, .bytes = n * w, .type = types[t].type, .op = op};

    c.in = in;
    c.out = kind != WAITIO_INSIDE_REDUCE || me == root ? out : NULL;
    if (in_place && c.out != NULL) {
        memcpy(out, in, n * w);
        c.in = out;
    }
    now_or_later(&c, later);
    if (gets) {
        want = folded(t, op, n, last);
        CHECK(same(t, out, want, n) && out[n * w] == GUARD, "kind %d type %d op %d, %zu elements",
              kind, c.type, op, n);
        free(want);
    } else if (c.out != NULL && !in_place) {
        CHECK(n == 0 || out[0] == GUARD, "exscan wrote to rank 0");
    }
    free(in);
    free(out);
}

static void reduce_scatter(size_t n, bool uneven, bool in_place, bool later)
{
    size_t len[16], total = 0, before = 0, mine;
    unsigned char *in, *out, *want;
    struct waitio_inside_call c = {
        .kind = WAITIO_INSIDE_REDUCE_SCATTER, .type = WAITIO_MPI_INT, .op = WAITIO_MPI_SUM};

    for (int i = 0; i < size; i++) {
        len[i] = 4 * (uneven ? n * (size_t)(i % 3) : n);
        before += i < me ? len[i] : 0;
        total += len[i];
    }
    mine = len[me];
    in = contribution(0, me, total / 4);
    out = room(total);
    c.in = in;
    c.out = out;
    if (in_place) {
        memcpy(out, in, total);
        c.in = out;
    }
    c.count = total / 4;
    c.bytes = total;
    c.ins = uneven ? (struct waitio_inside_blocks){.len = len}
                   : (struct waitio_inside_blocks){.unit = 4 * n};
    now_or_later(&c, later);
    want = folded(0, WAITIO_MPI_SUM, total / 4, size - 1);
    CHECK(memcmp(out, want + before, mine) == 0, "reduce_scatter of %zu", n);
    CHECK(in_place || out[mine] == GUARD, "reduce_scatter wrote beyond");
    free(in);
    free(out);
    free(want);
}

static void reductions(size_t n)
{
    for (int how = 0; how < 4; how++) {
        for (int root = 0; root < size; root++)
            reduction(WAITIO_INSIDE_REDUCE, 0, WAITIO_MPI_SUM, n, how & 1, root, how & 2);
        reduction(WAITIO_INSIDE_ALLREDUCE, 0, WAITIO_MPI_SUM, n, how & 1, 0, how & 2);
        reduction(WAITIO_INSIDE_SCAN, 4, WAITIO_MPI_SUM, n, how & 1, 0, how & 2);
        reduction(WAITIO_INSIDE_EXSCAN, 0, WAITIO_MPI_MAX, n, how & 1, 0, how & 2);
        reduce_scatter(n, false, how & 1, how & 2);
        reduce_scatter(n, true, how & 1, how & 2);
    }
}

/* Every pair that the provider says it reduces gives what the library gives. */
static void every_type(void)
{
    int pairs = 0;

    for (int t = 0; t < TYPES; t++)
        for (WAITIO_MPI_Op op = WAITIO_MPI_SUM; op <= WAITIO_MPI_MAXLOC; op++) {
            if (!ops->reduces(part, types[t].type, op))
                continue;
            reduction(WAITIO_INSIDE_ALLREDUCE, t, op, 7, false, 0, false);
            pairs++;
        }
    CHECK(pairs >= 300, "%d pairs of type and operator", pairs);
    CHECK(ops->reduces(part, WAITIO_MPI_DOUBLE, WAITIO_MPI_SUM), "sums of double");
    CHECK(!ops->reduces(part, WAITIO_MPI_DOUBLE_INT, WAITIO_MPI_MAXLOC), "it has a hole");
    CHECK(!ops->reduces(part, WAITIO_MPI_DOUBLE, WAITIO_MPI_BAND), "bits of double");
    CHECK(!ops->reduces(part, 0, WAITIO_MPI_SUM), "no type");
    CHECK(!ops->reduces(part, WAITIO_MPI_DEFTAG + 1000000, WAITIO_MPI_SUM), "no type");
    CHECK(!ops->reduces(part, WAITIO_MPI_INT, WAITIO_MPI_OP_NULL), "no operator");
    CHECK(!ops->reduces(part, WAITIO_MPI_INT, -5), "no operator");
}

/* ---- the whole ---- */

static void all_of_it(int n, char **sizes)
{
    CHECK(ops->members(part, &size, &me) == 0, "members");
    for (int i = 0; i < n; i++) {
        size_t bytes = (size_t)strtoul(sizes[i], NULL, 10);
        gatherings(bytes);
        reductions(bytes / 4);
    }
}

/* Members in falling order, and without one of them. */
static void parts_of_it(char **sizes)
{
    void *whole = part, *some = NULL;
    int ranks[16], n = size > 2 ? size - 1 : size, is_size, is_me, old = me;
    char why[256] = "";

    for (int i = 0; i < n; i++)
        ranks[i] = n - 1 - i;
    if (me >= n)
        return;
    CHECK(ops->sub(whole, n, ranks, &some, why, sizeof why) == 0, "%s", why);
    CHECK(ops->members(some, &is_size, &is_me) == 0 && is_size == n && is_me == n - 1 - old,
          "rank %d of %d", is_me, is_size);
    part = some;
    all_of_it(1, sizes);
    ops->free(some);
    part = whole;
    CHECK(ops->members(part, &size, &me) == 0, "members");
}

/* Operations under way at the same time, and a message of the program's beside them. */
static void many_at_once(void)
{
    enum { MANY = 40 };
    struct waitio_inside_call c[MANY];
    void *op[MANY];
    int in[MANY], out[MANY], sent = 77, got = 0, left = MANY;
    MPI_Request mine[2];
    char why[256] = "";

    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &mine[0]);
    for (int i = 0; i < MANY; i++) {
        in[i] = i + me;
        c[i] = (struct waitio_inside_call){.kind = WAITIO_INSIDE_ALLREDUCE,
                                           .in = &in[i],
                                           .out = &out[i],
                                           .count = 1,
                                           .bytes = 4,
                                           .type = WAITIO_MPI_INT,
                                           .op = WAITIO_MPI_SUM};
        CHECK(ops->start(part, &c[i], &op[i], why, sizeof why) == 0, "%s", why);
    }
    while (left > 0)
        for (int i = MANY - 1, done = 0; i >= 0; i--) {
            if (op[i] == NULL)
                continue;
            CHECK(ops->test(part, op[i], &done, why, sizeof why) == 0, "%s", why);
            if (done) {
                op[i] = NULL;
                left--;
                CHECK(out[i] == size * i + size * (size - 1) / 2, "sum %d is %d", i, out[i]);
            }
        }
    MPI_Isend(&sent, 1, MPI_INT, (me + 1) % size, 3, MPI_COMM_WORLD, &mine[1]);
    MPI_Wait(&mine[0], MPI_STATUS_IGNORE);
    MPI_Wait(&mine[1], MPI_STATUS_IGNORE);
    CHECK(got == sent, "the program's message is %d", got);
}

/* Errors of MPI come with its text; the program's error handler is not called. */
static void errors(void)
{
    int x = 1, y = 0;
    char why[256] = "";
    struct waitio_inside_call c = {
        .kind = WAITIO_INSIDE_BCAST, .root = 1000, .out = &x, .bytes = 4};

    CHECK(ops->run(part, &c, why, sizeof why) == WAITIO_ERR_SYSTEM, "a root that is no member");
    CHECK(strstr(why, "MPI_Bcast()") != NULL && strstr(why, "root") != NULL, "%s", why);
    c = (struct waitio_inside_call){.kind = WAITIO_INSIDE_ALLREDUCE,
                                    .in = &x,
                                    .out = &y,
                                    .count = 1,
                                    .bytes = 4,
                                    .type = WAITIO_MPI_INT,
                                    .op = WAITIO_MPI_SUM};
    CHECK(ops->run(part, &c, why, sizeof why) == 0 && y == size, "and it goes on: %s", why);
}

/* Parts that are left when MPI_Finalize() begins say so from there on. */
static void after_finalize(void)
{
    int x = 1;
    char why[256] = "";
    void *op = NULL, *out = NULL;
    struct waitio_inside_call c = {.kind = WAITIO_INSIDE_BCAST, .out = &x, .bytes = 4};

    CHECK(ops->run(part, &c, why, sizeof why) == WAITIO_ERR_STATE, "%s", why);
    CHECK(strstr(why, "MPI_Finalize()") != NULL, "%s", why);
    CHECK(ops->start(part, &c, &op, why, sizeof why) == WAITIO_ERR_STATE, "%s", why);
    CHECK(ops->may_call(part, why, sizeof why) == WAITIO_ERR_STATE, "%s", why);
    CHECK(ops->sub(part, 1, &me, &out, why, sizeof why) == WAITIO_ERR_STATE, "%s", why);
    ops->free(part);
}

int main(int argc, char **argv)
{
    struct wio_hybrid_part *made = NULL;
    char why[512] = "";
    struct wio_hybrid_why to = {why, sizeof why};

    CHECK(argc > 1, "usage: provider_table BYTES...");
    CHECK(wio_hybrid_ready(&to) == WAITIO_ERR_STATE && strstr(why, "MPI_Init()") != NULL, "%s",
          why);
    MPI_Init(NULL, NULL);
    CHECK(wio_hybrid_ready(&to) == 0, "%s", why);
    CHECK(wio_hybrid_part_new(MPI_COMM_WORLD, &made, &to) == 0, "%s", why);
    ops = wio_hybrid_ops();
    part = made;
    CHECK(ops->may_call(part, why, sizeof why) == 0, "%s", why);
    all_of_it(argc - 1, argv + 1);
    every_type();
    parts_of_it(argv + 1);
    many_at_once();
    errors();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    after_finalize();
    printf("ok %zu\n", cases);
    return 0;
}
