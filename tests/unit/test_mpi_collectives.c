/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every collective by every algorithm of the table, for 1 to 13 processes in PBs of random shapes,
 * every root, several types and operators, in place or not, even and uneven counts, against a
 * sequential reference. The schedules of all ranks are run against each other (mpi_world.h).
 */
#include "unit/mpi_rows.h"
#include "unit/mpi_world.h"

#include "mpi/kings.h"
#include "os/os.h"

/* ---- elements: one number, or a map x -> a x + b, which does not commute ---- */

struct element {
    uint32_t a, b;
};

/* A type, an operator on it, and where the numbers lie in memory. */
struct flavour {
    WAITIO_MPI_Datatype type;
    WAITIO_MPI_Op op;
    int extent, at_a, at_b;
    struct element (*fold)(struct element x, struct element y);
};

static struct element plus(struct element x, struct element y)
{
    return (struct element){x.a + y.a, x.b + y.b};
}

static struct element compose(struct element x, struct element y)
{
    return (struct element){x.a * y.a, x.a * y.b + x.b};
}

enum { INTS, SUMS, MAPS, FLAVOURS };
static struct flavour flavours[FLAVOURS] = {
    [INTS] = {.type = WAITIO_MPI_INT, .op = WAITIO_MPI_SUM, .extent = 4, .fold = plus},
    [SUMS] = {.extent = 20, .at_a = 12, .at_b = 4, .fold = plus},
    [MAPS] = {.extent = 20, .at_a = 12, .at_b = 4, .fold = compose},
};

static struct element get(const struct flavour *f, const void *buf, int i)
{
    struct element e = {0, 0};
    memcpy(&e.a, (const char *)buf + i * f->extent + f->at_a, 4);
    if (f->at_b != 0)
        memcpy(&e.b, (const char *)buf + i * f->extent + f->at_b, 4);
    return e;
}

static void set(const struct flavour *f, void *buf, int i, struct element e)
{
    memcpy((char *)buf + i * f->extent + f->at_a, &e.a, 4);
    if (f->at_b != 0)
        memcpy((char *)buf + i * f->extent + f->at_b, &e.b, 4);
}

static void by_element(const struct flavour *f, void *in, void *inout, const int *n)
{
    for (int i = 0; i < *n; i++)
        set(f, inout, i, f->fold(get(f, in, i), get(f, inout, i)));
}

static void user_sum(void *in, void *inout, int *n, WAITIO_MPI_Datatype *type)
{
    assert_int_equal(*type, flavours[SUMS].type);
    by_element(&flavours[SUMS], in, inout, n);
}

static void user_compose(void *in, void *inout, int *n, WAITIO_MPI_Datatype *type)
{
    assert_int_equal(*type, flavours[MAPS].type);
    by_element(&flavours[MAPS], in, inout, n);
}

/* Two integers, the later one first, with holes around: nothing that can be used as it lies. */
static int make_types(void **state)
{
    int places[2] = {3, 1};
    WAITIO_MPI_Datatype pair;
    (void)state;
    WAITIO_MPI_Type_create_indexed_block(2, 1, places, WAITIO_MPI_INT, &pair);
    for (int i = SUMS; i <= MAPS; i++) {
        WAITIO_MPI_Type_create_resized(pair, 0, 20, &flavours[i].type);
        WAITIO_MPI_Type_commit(&flavours[i].type);
        WAITIO_MPI_Op_create(i == SUMS ? user_sum : user_compose, i == SUMS, &flavours[i].op);
    }
    WAITIO_MPI_Type_free(&pair);
    return 0;
}

/* ---- one call of all ranks ---- */

enum form { EVEN, UNEVEN, TYPED /* alltoallw */ };

struct test {
    enum wio_collective_kind kind;
    const struct flavour *f;
    enum form form;
    bool in_place;
    int size, root, count, asked;
    bool swap;  /* what is sent is in the other byte order */
    bool again; /* the schedules have run before, with other data */
    int pb[MOST], first[MOST];
    struct wio_topology topo;
    bool hybrid; /* some PBs have a provider */
    int kings;   /* asked for; 0: none */
    int crowned; /* of each PB */
    struct wio_comm comm[MOST];
    struct wio_inside inside[MOST]; /* by PB */
    int places[MOST][MOST];         /* by PB and rank */
    char *in[MOST], *out[MOST], *was[MOST];
    int room; /* elements in every buffer */
    int sc[MOST][MOST], sd[MOST][MOST], rc[MOST][MOST], rd[MOST][MOST]; /* [rank][block] */
    WAITIO_MPI_Datatype types[MOST];
    struct world w;
};

static struct element value(int rank, int i)
{
    return (struct element){(uint32_t)(rank * 2654435 + i * 97 + 1), (uint32_t)(rank * 31 + i)};
}

static bool has_blocks_in(const struct test *t)
{
    return t->kind == WIO_SCATTER || t->kind == WIO_ALLTOALL;
}

static bool has_blocks_out(const struct test *t)
{
    return t->kind == WIO_GATHER || t->kind == WIO_ALLGATHER || t->kind == WIO_ALLTOALL;
}

/* Elements from @p from to @p to. */
static int amount(const struct test *t, int from, int to)
{
    if (t->form == EVEN)
        return t->count;
    switch (t->kind) {
    case WIO_GATHER:
    case WIO_ALLGATHER:
        return (from * 5 + t->count) % 4;
    case WIO_SCATTER:
    case WIO_REDUCE_SCATTER:
        return (to * 5 + t->count) % 4;
    default: /* equal both ways in place: one table describes what goes out and comes in */
        return t->in_place ? ((from + to) * 3 + t->count) % 4 : (from * 3 + to * 2 + t->count) % 4;
    }
}

/* First element of a block: dense when even, else in reverse order and with gaps. */
static int place(const struct test *t, int block)
{
    return t->form == EVEN ? block * t->count : (t->size - 1 - block) * 5 + 1;
}

static void tables(struct test *t, int r)
{
    int unit = t->form == TYPED ? t->f->extent : 1;
    for (int q = 0; q < t->size; q++) {
        t->sc[r][q] = amount(t, r, q);
        t->rc[r][q] = amount(t, q, r);
        t->sd[r][q] = t->rd[r][q] = place(t, q) * unit;
        t->types[q] = t->f->type;
    }
}

static void fill(struct test *t)
{
    size_t bytes;
    bool blocks = has_blocks_in(t) || has_blocks_out(t) || t->kind == WIO_REDUCE_SCATTER;
    t->room = (blocks ? t->size : 1) * (t->count > 5 ? t->count : 5) + 2;
    bytes = (size_t)(t->room * t->f->extent);
    for (int r = 0; r < t->size; r++) {
        tables(t, r);
        t->in[r] = malloc(bytes);
        t->out[r] = malloc(bytes);
        t->was[r] = malloc(bytes);
        assert_true(t->in[r] != NULL && t->out[r] != NULL && t->was[r] != NULL);
        memset(t->in[r], 0x11, bytes);
        memset(t->out[r], 0x55, bytes);
        for (int i = 0; i < t->room; i++)
            set(t->f, t->in[r], i, value(r, i));
    }
}

static void drop(struct test *t)
{
    for (int r = 0; r < t->size; r++) {
        free(t->in[r]);
        free(t->out[r]);
        free(t->was[r]);
    }
}

/* What an in-place call finds in the buffer that also takes the result. */
static void move_in(struct test *t, int r)
{
    if (has_blocks_out(t) && t->kind != WIO_ALLTOALL) { /* only my own block */
        for (int i = 0; i < amount(t, r, r); i++)
            set(t->f, t->out[r], place(t, r) + i, value(r, i));
    } else {
        memcpy(t->out[r], t->in[r], (size_t)(t->room * t->f->extent));
    }
}

static struct wio_call even(const struct test *t, int r)
{
    struct wio_call c = {.kind = t->kind, .op = t->f->op, .root = t->root, .v = t->form != EVEN};
    c.send = (struct wio_side){.buf = t->in[r], .count = t->count, .type = t->f->type};
    c.recv = (struct wio_side){.buf = t->out[r], .count = t->count, .type = t->f->type};
    return c;
}

static void with_tables(struct test *t, int r, struct wio_call *c)
{
    const WAITIO_MPI_Datatype *types = t->form == TYPED ? t->types : NULL;
    if (has_blocks_in(t))
        c->send = (struct wio_side){t->in[r], 0, t->f->type, t->sc[r], t->sd[r], types, NULL, NULL};
    if (has_blocks_out(t))
        c->recv =
            (struct wio_side){t->out[r], 0, t->f->type, t->rc[r], t->rd[r], types, NULL, NULL};
    if (t->kind == WIO_GATHER || t->kind == WIO_ALLGATHER)
        c->send.count = amount(t, r, t->root);
    if (t->kind == WIO_SCATTER)
        c->recv.count = amount(t, t->root, r);
    if (t->kind == WIO_REDUCE_SCATTER) {
        c->recv.count = 0;
        c->recv.counts = t->sc[r];
        c->v = false;
    }
}

static struct wio_call describe(struct test *t, int r)
{
    bool root = r == t->root, at_root_only = t->kind == WIO_REDUCE || t->kind == WIO_GATHER;
    struct wio_call c = even(t, r);
    if (t->form != EVEN)
        with_tables(t, r, &c);
    if (t->in_place && t->kind == WIO_SCATTER && root)
        c.recv.buf = WAITIO_MPI_IN_PLACE;
    if (t->in_place && t->kind != WIO_SCATTER && (root || !at_root_only)) {
        c.send.buf = WAITIO_MPI_IN_PLACE;
        move_in(t, r);
    }
    if (t->kind == WIO_BCAST && root)
        memcpy(t->out[r], t->in[r], (size_t)(t->room * t->f->extent));
    return c;
}

/* Every third PB has none. */
static void providers(struct test *t)
{
    int n[MOST] = {0}, seen[MOST] = {0};
    t->topo.hybrid = t->hybrid ? WIO_INSIDE_ALL : 0;
    for (int r = 0; r < t->size; r++)
        n[t->pb[r]]++;
    for (int r = 0; r < t->size; r++) {
        int p = t->pb[r];
        bool with = t->hybrid && n[p] > 1 && (p + t->root) % 3 != 2;
        for (int q = 0; q < t->topo.npb; q++)
            t->places[q][r] = -1;
        t->places[p][r] = seen[p]++;
        t->inside[p] = (struct wio_inside){.ops = p % 2 == 0 ? &fake_ops : &old_ops,
                                           .size = n[p],
                                           .place = t->places[p],
                                           .uses = WIO_INSIDE_ALL};
        t->comm[r] = (struct wio_comm){.inside = with ? &t->inside[p] : NULL};
    }
}

static uint64_t seed = 88172645463325252u;

static int draw(int below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int)(seed % (uint64_t)below);
}

/* Members sit on three hosts; sometimes some of them are named. */
static struct wio_kings *crown(struct test *t)
{
    uint64_t host[MOST];
    bool named[MOST];
    for (int r = 0; r < t->size; r++) {
        host[r] = (uint64_t)(r / 2 % 3);
        named[r] = (r + t->kings) % 4 == 1;
    }
    return t->kings == 0 ? NULL
                         : wio_kings_new(&t->topo, t->size, host, draw(2) ? named : NULL, t->kings);
}

static void turn(struct test *t)
{
    for (int r = 0; r < t->size; r++)
        for (int i = 0; i < t->room * t->f->extent; i++)
            t->in[r][i] ^= 0x5a, t->out[r][i] ^= 0x5a;
}

/* Schedules that are kept run again and again: what they leave behind must not matter. */
static void run_with_other_data(struct test *t)
{
    turn(t);
    run_once(&t->w);
    turn(t);
    for (int r = 0; r < t->size; r++)
        memcpy(t->out[r], t->was[r], (size_t)(t->room * t->f->extent));
    t->w.crossings[0] = t->w.crossings[1] = t->w.words = t->w.steps_inside = 0;
}

static void call_all(struct test *t)
{
    static int patient;
    struct wio_kings *kings = crown(t);
    t->topo.kings = kings;
    t->crowned = wio_kings_of(&t->topo);
    t->w = (struct world){.size = t->size, .pb = t->pb, .patient = patient};
    patient = !patient;
    providers(t);
    for (int r = 0; r < t->size; r++) {
        struct wio_caller who = {.rank = r,
                                 .size = t->size,
                                 .topo = &t->topo,
                                 .asked = t->asked,
                                 .swap = t->swap,
                                 .comm = t->hybrid ? &t->comm[r] : NULL};
        struct wio_call c = describe(t, r);
        memcpy(t->was[r], t->out[r], (size_t)(t->room * t->f->extent));
        assert_int_equal(wio_coll_write(&t->w.s[r], &c, &who), 0);
    }
    if (t->again)
        run_with_other_data(t);
    run(&t->w);
    wio_os_free(kings);
    t->topo.kings = NULL;
}

/* ---- what must come out ---- */

static struct element folded(const struct test *t, int low, int high, int i)
{
    struct element e = value(low, i);
    for (int r = low + 1; r <= high; r++)
        e = t->f->fold(e, value(r, i));
    return e;
}

/* Write the expected result over what was in the buffer before. */
static void expect_block(struct test *t, int r, int from, int at, int n, int first)
{
    for (int i = 0; i < n; i++)
        set(t->f, t->was[r], at + i, value(from, first + i));
}

static void expect_folded(struct test *t, int r, int low, int high, int first, int n)
{
    for (int i = 0; i < n; i++)
        set(t->f, t->was[r], i, folded(t, low, high, first + i));
}

/* Kinds whose results are blocks of others. */
static void expect_blocks(struct test *t, int r)
{
    bool root = r == t->root;
    if (t->kind == WIO_BCAST)
        expect_block(t, r, t->root, 0, t->count, 0);
    if (t->kind == WIO_SCATTER && !(root && t->in_place))
        expect_block(t, r, t->root, 0, amount(t, t->root, r), place(t, r));
    if (!has_blocks_out(t) || (t->kind == WIO_GATHER && !root))
        return;
    for (int q = 0; q < t->size; q++)
        expect_block(t, r, q, place(t, q), amount(t, q, r),
                     t->kind == WIO_ALLTOALL ? place(t, r) : 0);
}

static void expect(struct test *t, int r)
{
    int before = 0;
    switch (t->kind) {
    case WIO_REDUCE:
        expect_folded(t, r, 0, t->size - 1, 0, r == t->root ? t->count : 0);
        break;
    case WIO_ALLREDUCE:
        expect_folded(t, r, 0, t->size - 1, 0, t->count);
        break;
    case WIO_REDUCE_SCATTER:
        for (int q = 0; q < r; q++)
            before += amount(t, 0, q);
        expect_folded(t, r, 0, t->size - 1, before, amount(t, 0, r));
        break;
    case WIO_SCAN:
        expect_folded(t, r, 0, r, 0, t->count);
        break;
    case WIO_EXSCAN:
        expect_folded(t, r, 0, r - 1, 0, r == 0 ? 0 : t->count);
        break;
    default:
        expect_blocks(t, r);
    }
}

static void check(struct test *t)
{
    size_t bytes = (size_t)(t->room * t->f->extent);
    for (int r = 0; r < t->size; r++) {
        expect(t, r);
        if (memcmp(t->out[r], t->was[r], bytes) != 0)
            print_error("kind %d algorithm %d size %d root %d count %d form %d in place %d flavour "
                        "%d rank %d\n",
                        t->kind, t->asked, t->size, t->root, t->count, t->form, t->in_place,
                        (int)(t->f - flavours), r);
        assert_memory_equal(t->out[r], t->was[r], bytes);
        for (int i = 0; i < t->room; i++) { /* inputs are not written to */
            struct element e = get(t->f, t->in[r], i), v = value(r, i);
            assert_true(e.a == v.a && (t->f->at_b == 0 || e.b == v.b));
        }
    }
}

/* ---- shapes ---- */

/* 0: one PB; 1: two halves; 2: one each; 3: scattered. */
static void shape(struct test *t, int how)
{
    int seen[MOST];
    t->topo = (struct wio_topology){.pb = t->pb, .first = t->first, .runs = true};
    for (int i = 0; i < MOST; i++)
        seen[i] = -1;
    for (int i = 0; i < t->size; i++) {
        int p = how == 0 ? 0 : how == 1 ? i >= (t->size + 1) / 2 : how == 2 ? i : draw(4);
        if (seen[p] < 0) {
            seen[p] = t->topo.npb;
            t->first[t->topo.npb++] = i;
        } else if (t->pb[i - 1] != seen[p]) {
            t->topo.runs = false;
        }
        t->pb[i] = seen[p];
    }
}

static bool has_form(enum wio_collective_kind kind, enum form form)
{
    if (form == TYPED)
        return kind == WIO_ALLTOALL;
    return form == EVEN || kind >= WIO_GATHER || kind == WIO_REDUCE_SCATTER;
}

static void one(struct test *t)
{
    fill(t);
    call_all(t);
    check(t);
    drop(t);
}

static bool has_root(enum wio_collective_kind kind)
{
    return kind == WIO_BCAST || kind == WIO_REDUCE || kind == WIO_GATHER || kind == WIO_SCATTER;
}

static void every_shape(struct test *t)
{
    static const int counts[] = {3, 0, 1, 17};
    for (t->size = 1; t->size <= LARGEST; t->size += STRIDE)
        for (int how = 0; how < 4; how++) {
            t->again = t->size == 4;
            shape(t, how);
            for (t->root = 0; t->root < (has_root(t->kind) ? t->size : 1); t->root++) {
                t->count = counts[(t->root + how) % 4];
                one(t);
            }
        }
}

static void every_algorithm(enum wio_collective_kind kind, bool hybrid)
{
    static struct test t;
    t.kind = kind;
    t.hybrid = hybrid;
    for (t.asked = 0; t.asked <= rows_of(kind); t.asked++)
        for (t.form = EVEN; t.form <= TYPED; t.form++)
            for (int flavour = 0; has_form(kind, t.form) && flavour < FLAVOURS; flavour++)
                for (int in_place = 0; in_place <= (kind != WIO_BCAST && kind != WIO_BARRIER);
                     in_place++) {
                    t.f = &flavours[flavour];
                    t.in_place = in_place;
                    every_shape(&t);
                }
}

#define TEST_OF(NAME, KIND)                                                                        \
    static void NAME(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        every_algorithm(KIND, false);                                                              \
        every_algorithm(KIND, true);                                                               \
    }
TEST_OF(barrier, WIO_BARRIER)
TEST_OF(bcast, WIO_BCAST)
TEST_OF(reduce, WIO_REDUCE)
TEST_OF(allreduce, WIO_ALLREDUCE)
TEST_OF(reduce_scatter, WIO_REDUCE_SCATTER)
TEST_OF(scan, WIO_SCAN)
TEST_OF(exscan, WIO_EXSCAN)
TEST_OF(gather, WIO_GATHER)
TEST_OF(scatter, WIO_SCATTER)
TEST_OF(allgather, WIO_ALLGATHER)
TEST_OF(alltoall, WIO_ALLTOALL)

/* Pipelines of several segments, uneven ends. */
static void long_messages(void **state)
{
    static const enum wio_collective_kind kinds[] = {WIO_BCAST, WIO_REDUCE, WIO_ALLREDUCE};
    static struct test t;
    (void)state;
    t.f = &flavours[INTS];
    t.count = 100003;
    t.again = true;
    for (size_t k = 0; k < 3; k++)
        for (t.asked = 0; t.asked <= rows_of(kinds[k]); t.asked++)
            for (t.size = 1; t.size <= 7; t.size += 2) {
                t.kind = kinds[k];
                t.root = t.size / 2;
                shape(&t, t.size % 4);
                one(&t);
            }
}

/* Pieces go through the providers of the PBs, which must see them in one order. */
static void long_hybrid_messages(void **state)
{
    static const enum wio_collective_kind kinds[] = {WIO_BCAST, WIO_REDUCE, WIO_ALLREDUCE};
    static struct test t;
    int inside = 0;
    (void)state;
    t.f = &flavours[INTS];
    t.hybrid = true;
    for (int i = 0; i < 3 * 7 * 4 * 4; i += ONE_IN) {
        static const int counts[] = {65536, 131072, 131073, 700001};
        t.kind = kinds[i % 3];
        t.size = 1 + i / 3 % 7;
        t.root = draw(t.size);
        t.count = counts[i / 21 % 4];
        t.in_place = t.kind != WIO_BCAST && draw(2);
        t.again = i % 2 == 0;
        shape(&t, i / 84);
        one(&t);
        inside += t.w.steps_inside;
    }
    assert_in_range(inside, 400 / ONE_IN, 100000);
}

/* An operator of the program inside a PB: two of its three members are combined by the provider.
 * The other PB has one that was built for an older library. */
static void providers_take_operators(void **state)
{
    static struct test t;
    int before;
    (void)state;
    t.form = EVEN;
    t.hybrid = true;
    t.kind = WIO_ALLREDUCE;
    t.size = 6;
    t.count = 3;
    for (int flavour = 0; flavour < FLAVOURS; flavour++) {
        t.f = &flavours[flavour];
        shape(&t, 1);
        before = fake_folded;
        one(&t);
        assert_int_equal(fake_folded - before, flavour == INTS ? 0 : 2);
    }
}

/* Several kings carry the pieces. Each border is crossed by each piece once in each direction, and
 * by the words that say that a receiver is ready: one for each lane that has a piece. */
static void long_messages_of_several_kings(void **state)
{
    static const enum wio_collective_kind kinds[] = {WIO_BCAST, WIO_REDUCE, WIO_ALLREDUCE};
    static const int counts[] = {65536, 700001, 1048577};
    static struct test t;
    int apart = 0;
    (void)state;
    t.f = &flavours[INTS];
    t.hybrid = true;
    for (int i = 0; i < 3 * 8 * 3; i += ONE_IN) {
        int pieces, lanes, ways;
        t.kind = kinds[i % 3];
        t.kings = 1 + i / 3 % 8;
        t.count = counts[i / 24];
        t.size = 4 + draw(MOST - 3);
        t.root = draw(t.size);
        t.in_place = t.kind != WIO_BCAST && draw(2);
        shape(&t, (int[]){1, 2, 3, 3}[draw(4)]);
        one(&t);
        ways = t.topo.npb - 1;
        pieces = (t.count + 131071) / 131072;
        lanes = pieces < 2 * t.crowned ? pieces : 2 * t.crowned;
        assert_int_equal(t.w.words, lanes * ways);
        apart += lanes > 2;
        ways *= t.kind == WIO_ALLREDUCE ? 2 : 1;
        assert_int_equal(t.w.crossings[0] - t.w.words, pieces * ways);
        assert_int_equal(t.w.crossings[1] - t.w.words * WIO_SIZE_BYTES, 4 * t.count * ways);
    }
    assert_in_range(apart, 10 / ONE_IN, 3 * 8 * 3);
}

/* Many pieces over several trees, of data with holes and without, that go their own ways. */
static void trees_of_many_pieces(void **state)
{
    static const enum wio_collective_kind kinds[] = {WIO_BCAST, WIO_REDUCE, WIO_ALLREDUCE};
    static const int sizes[] = {2, 3, 5, 8, 13};
    static struct test t;
    (void)state;
    t.form = EVEN;
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < 5 && sizes[i] <= LARGEST; i++)
            for (int flavour = INTS; flavour <= SUMS; flavour++)
                for (int in_place = 0; in_place <= (k > 0); in_place++) {
                    t.kind = kinds[k];
                    t.asked = row_named(t.kind, "trees");
                    t.f = &flavours[flavour];
                    t.count = flavour == INTS ? 500003 : 250003;
                    t.in_place = in_place;
                    t.size = sizes[i];
                    t.root = t.size / 2;
                    shape(&t, (int)(i + k) % 4);
                    one(&t);
                }
}

/* Types with holes are packed piece by piece, into places that are used again. */
static void trees_pack_by_the_piece(void **state)
{
    enum { COUNT = 400000, SIZE = 2 };
    static const int pb[SIZE] = {0, 0}, first[1] = {0};
    struct wio_topology topo = {1, pb, first, .runs = true};
    struct wio_caller who = {.size = SIZE, .topo = &topo, .asked = row_named(WIO_BCAST, "trees")};
    struct wio_call c = {.kind = WIO_BCAST,
                         .recv = {.buf = calloc(COUNT, (size_t)flavours[SUMS].extent),
                                  .count = COUNT,
                                  .type = flavours[SUMS].type}};
    struct wio_schedule s;
    size_t packed = 0, packs = 0;
    uintptr_t low = UINTPTR_MAX, high = 0;
    (void)state;
    assert_int_equal(wio_coll_write(&s, &c, &who), 0);
    for (size_t i = 0; i < s.nsteps; i++)
        if (s.step[i].kind == WIO_STEP_PACK) {
            uintptr_t to = (uintptr_t)s.step[i].to;
            packs++;
            packed += s.step[i].n;
            low = to < low ? to : low;
            high = to + s.step[i].n > high ? to + s.step[i].n : high;
        }
    assert_true(wio_schedule_lane_end(&s, 0) < wio_schedule_phase_end(&s, 0));
    assert_int_equal(packed, COUNT * 8);
    assert_true(packs >= 8);
    assert_true(high - low <= COUNT * 8 / 4);
    wio_schedule_free(&s);
    free((void *)(uintptr_t)c.recv.buf);
}

/* Members whose machines differ: everything travels in the other byte order, and is folded so. */
static void the_other_byte_order(void **state)
{
    static struct test t;
    (void)state;
    t.swap = true;
    for (t.kind = WIO_BCAST; t.kind < WIO_COLLECTIVE_COUNT; t.kind++)
        for (t.asked = 0; t.asked <= rows_of(t.kind); t.asked++)
            for (t.form = EVEN; t.form <= TYPED; t.form++)
                for (int flavour = 0; has_form(t.kind, t.form) && flavour < FLAVOURS; flavour++)
                    for (t.size = 1; t.size <= 7; t.size += 3) {
                        t.f = &flavours[flavour];
                        t.in_place = t.kind != WIO_BCAST && (flavour + t.size) % 2;
                        t.root = t.size / 2;
                        t.count = 5;
                        shape(&t, t.size % 4);
                        one(&t);
                    }
}

/* What a message holds then. */
static void numbers_travel_turned(void **state)
{
    static const int pb[2] = {0, 0}, first[1] = {0};
    struct wio_topology topo = {1, pb, first, .runs = true};
    struct wio_caller who = {.size = 2, .topo = &topo, .swap = true};
    uint32_t x[2] = {0x01020304, 0x05060708};
    struct wio_call c = {.kind = WIO_BCAST,
                         .recv = {.buf = x, .count = 2, .type = WAITIO_MPI_UINT32_T}};
    struct wio_schedule s;
    int sent = 0;
    (void)state;
    assert_int_equal(wio_coll_write(&s, &c, &who), 0);
    for (size_t i = 0; i < s.nsteps; i++) {
        if (s.step[i].kind == WIO_STEP_SEND) {
            uint32_t y[2];
            memcpy(y, s.step[i].from, sizeof y);
            assert_int_equal(y[0], 0x04030201);
            assert_int_equal(y[1], 0x08070605);
            sent++;
        }
        assert_int_equal(wio_schedule_local(&s, i, i + 1), 0);
    }
    assert_int_equal(sent, 1);
    assert_int_equal(x[0], 0x01020304); /* the program's data is as it was */
    wio_schedule_free(&s);
}

/* Nobody leaves a barrier while one has not come. */
static void barriers_hold(void **state)
{
    static struct test t;
    (void)state;
    t.kind = WIO_BARRIER;
    t.f = &flavours[INTS];
    for (t.asked = 0; t.asked <= rows_of(WIO_BARRIER); t.asked++)
        for (t.size = 2; t.size <= MOST; t.size++)
            for (int late = 0; late < t.size; late++) {
                shape(&t, late % 4);
                t.w = (struct world){.size = t.size};
                for (int r = 0; r < t.size; r++) {
                    struct wio_call c = {.kind = WIO_BARRIER};
                    struct wio_caller who = {
                        .rank = r, .size = t.size, .topo = &t.topo, .asked = t.asked};
                    assert_int_equal(wio_coll_write(&t.w.s[r], &c, &who), 0);
                }
                for (int again = 0; again < 3 * t.size; again++)
                    for (int r = 0; r < t.size; r++)
                        if (r != late)
                            advance(&t.w, r);
                for (int r = 0; r < t.size; r++)
                    assert_false(finished(&t.w, r));
                run(&t.w);
            }
}

/* The order of folding is fixed, so floating-point results are the same bits on every process. */
static void floats_are_the_same_everywhere(void **state)
{
    enum { COUNT = 21 };
    static double x[MOST][COUNT], y[MOST][COUNT];
    static struct test t;
    (void)state;
    for (t.asked = 0; t.asked <= rows_of(WIO_ALLREDUCE); t.asked++)
        for (t.size = 2; t.size <= MOST; t.size++)
            for (int how = 0; how < 4; how++) {
                shape(&t, how);
                t.w = (struct world){.size = t.size};
                for (int r = 0; r < t.size; r++) {
                    struct wio_call c = {
                        .kind = WIO_ALLREDUCE,
                        .send = {.buf = x[r]},
                        .recv = {.buf = y[r], .count = COUNT, .type = WAITIO_MPI_DOUBLE},
                        .op = WAITIO_MPI_SUM};
                    struct wio_caller who = {
                        .rank = r, .size = t.size, .topo = &t.topo, .asked = t.asked};
                    for (int i = 0; i < COUNT; i++)
                        x[r][i] = 1.0 / (3.0 + 7 * r + i) * (i % 2 ? 1e10 : 1);
                    assert_int_equal(wio_coll_write(&t.w.s[r], &c, &who), 0);
                }
                run(&t.w);
                for (int r = 1; r < t.size; r++)
                    assert_memory_equal(y[r], y[0], sizeof y[0]);
            }
}

/* By default the border between two PBs is crossed once each way, whatever the ranks' order. */
static void the_border_is_crossed_once_each_way(void **state)
{
    static struct test t;
    (void)state;
    t.f = &flavours[INTS];
    t.count = 17;
    for (t.size = 2; t.size <= MOST; t.size++)
        for (int how = 0; how < 2; how++)
            for (t.root = 0; t.root < t.size; t.root++) {
                static const int kinds[] = {WIO_BCAST, WIO_REDUCE, WIO_ALLREDUCE, WIO_BARRIER};
                for (int k = 0; k < 4; k++) {
                    shape(&t, 1);
                    if (how == 1) { /* alternating instead of halves */
                        for (int i = 0; i < t.size; i++)
                            t.pb[i] = i % 2;
                        t.first[1] = 1;
                        t.topo.runs = t.size == 2;
                    }
                    t.kind = kinds[k];
                    t.asked = 0;
                    t.form = EVEN;
                    t.in_place = false;
                    one(&t);
                    assert_int_equal(t.w.crossings[0], k < 2 ? 1 : 2);
                    assert_int_equal(t.w.crossings[1], k == 3 ? 0 : (k < 2 ? 1 : 2) * 17 * 4);
                }
            }
}

/* Who was the root before in the other PB, when roots take turns, hands on to the root itself. */
static void short_reductions_come_from_the_root_before(void **state)
{
    static struct test t;
    (void)state;
    t.f = &flavours[INTS];
    t.form = EVEN;
    for (t.size = 3; t.size <= MOST; t.size++)
        for (int how = 0; how < 6; how++)
            for (t.root = 0; t.root < t.size; t.root++) {
                int before = t.root, other;
                shape(&t, 1);
                if (how % 2 == 1) {
                    for (int i = 0; i < t.size; i++)
                        t.pb[i] = i % 2;
                    t.first[1] = 1;
                    t.topo.runs = false;
                }
                other = 1 - t.pb[t.root];
                t.kind = how / 2 == 1 ? WIO_GATHER : WIO_REDUCE;
                t.count = how / 2 == 2 ? 10000 : 17;
                one(&t);
                while (t.pb[before] != other)
                    before = (before + t.size - 1) % t.size;
                assert_int_equal(t.w.crossed_from, how / 2 == 2 ? t.first[other] : before);
            }
}

/* Long messages too: every byte crosses once each way. A tree that knows no PBs shows that this
 * would be seen. */
static void long_messages_cross_once_each_way(void **state)
{
    static const int kinds[] = {WIO_BCAST, WIO_REDUCE, WIO_ALLREDUCE};
    static struct test t;
    (void)state;
    t.f = &flavours[INTS];
    t.count = 200000;
    t.form = EVEN;
    for (int k = 0; k < 3; k++)
        for (t.size = 2; t.size <= 9; t.size++) {
            int least = (k < 2 ? 1 : 2) * t.count * 4;
            t.kind = kinds[k];
            t.root = t.size - 1;
            t.asked = 0;
            shape(&t, 1);
            one(&t);
            assert_int_equal(t.w.crossings[1] - t.w.words * WIO_SIZE_BYTES, least);
            assert_in_range(t.w.words, 1, 12);
        }
    t.kind = WIO_BCAST;
    t.root = 0;
    t.asked = row_named(WIO_BCAST, "binomial");
    t.size = 8;
    for (int i = 0; i < t.size; i++)
        t.pb[i] = i % 2;
    t.first[1] = 1;
    t.topo.runs = false;
    one(&t);
    assert_int_equal(t.w.crossings[1], 4 * t.count * 4);
}

/* ---- what is refused ---- */

/* Members that do not agree hear of it before the first piece, the one that sends by name. */
static void members_of_a_tree_tell_their_sizes(void **state)
{
    static const int pb[2] = {0, 0}, first[1] = {0};
    static char data[600000];
    static struct world w;
    struct wio_topology topo = {1, pb, first, .runs = true};
    size_t wrong = 0;
    (void)state;
    w = (struct world){.size = 2};
    for (int r = 0; r < 2; r++) {
        struct wio_caller who = {.rank = r, .size = 2, .topo = &topo};
        struct wio_call c = {.kind = WIO_BCAST,
                             .recv = {.buf = data, .count = 600000 - r, .type = WAITIO_MPI_CHAR}};
        assert_int_equal(wio_coll_write(&w.s[r], &c, &who), 0);
    }
    for (size_t i = 0; i < w.s[0].nsteps; i++) {
        const struct wio_step *step = &w.s[0].step[i];
        for (size_t k = 0; step->kind == WIO_STEP_RECV && k < w.s[1].nsteps; k++)
            if (w.s[1].step[k].kind == WIO_STEP_SEND)
                memcpy(step->to, w.s[1].step[k].from, step->n);
        if (step->kind == WIO_STEP_CHECK) {
            wrong++;
            assert_int_equal(wio_schedule_local(&w.s[0], i, i + 1), WAITIO_ERR_ARG);
            assert_non_null(strstr(wio_last_error(), "rank 1 takes part with 599999 bytes, this "
                                                     "one with 600000"));
        }
    }
    assert_true(wrong > 0);
    wio_schedule_free(&w.s[0]);
    wio_schedule_free(&w.s[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(barrier),
        cmocka_unit_test(bcast),
        cmocka_unit_test(reduce),
        cmocka_unit_test(allreduce),
        cmocka_unit_test(reduce_scatter),
        cmocka_unit_test(scan),
        cmocka_unit_test(exscan),
        cmocka_unit_test(gather),
        cmocka_unit_test(scatter),
        cmocka_unit_test(allgather),
        cmocka_unit_test(alltoall),
        cmocka_unit_test(long_messages),
        cmocka_unit_test(long_hybrid_messages),
        cmocka_unit_test(providers_take_operators),
        cmocka_unit_test(long_messages_of_several_kings),
        cmocka_unit_test(trees_of_many_pieces),
        cmocka_unit_test(trees_pack_by_the_piece),
        cmocka_unit_test(the_other_byte_order),
        cmocka_unit_test(numbers_travel_turned),
        cmocka_unit_test(barriers_hold),
        cmocka_unit_test(floats_are_the_same_everywhere),
        cmocka_unit_test(the_border_is_crossed_once_each_way),
        cmocka_unit_test(short_reductions_come_from_the_root_before),
        cmocka_unit_test(long_messages_cross_once_each_way),
        cmocka_unit_test(members_of_a_tree_tell_their_sizes),
    };
    setenv("WAITIO_ERRORS", "return", 1);
    return cmocka_run_group_tests(tests, make_types, NULL);
}
