/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions: types, operators, and what they must give, computed one member after the other. */
#include <string.h>

#include "collective.h"
#include "report.h"

enum class { SIGNED, UNSIGNED, FLOATING, BYTES, PAIR, AFFINE, OWN };
enum rule { SUM, PROD, MAX, MIN, BAND, BOR, BXOR, LAND, LOR, LXOR, MINLOC, MAXLOC, COMPOSE, PLUS };

struct number {
    int64_t v;  /* the value; of a map x -> v x + second */
    int second; /* the index of a pair */
};

struct folding {
    MPI_Datatype type;
    enum class class;
    int size, extent; /* of the value; of an element */
    int at;           /* where the second part is, 0: there is none */
    MPI_Datatype *made;
};

static char nobody;
static MPI_Datatype map, wide_map;
static MPI_Op compose, compose_wide, plus;

static const struct folding foldings[] = {
    {MPI_SIGNED_CHAR, SIGNED, 1, 1, 0, NULL},
    {MPI_SHORT, SIGNED, sizeof(short), sizeof(short), 0, NULL},
    {MPI_INT, SIGNED, sizeof(int), sizeof(int), 0, NULL},
    {MPI_LONG, SIGNED, sizeof(long), sizeof(long), 0, NULL},
    {MPI_LONG_LONG, SIGNED, 8, 8, 0, NULL},
    {MPI_INT16_T, SIGNED, 2, 2, 0, NULL},
    {MPI_INT64_T, SIGNED, 8, 8, 0, NULL},
    {MPI_UNSIGNED_CHAR, UNSIGNED, 1, 1, 0, NULL},
    {MPI_UNSIGNED_SHORT, UNSIGNED, sizeof(short), sizeof(short), 0, NULL},
    {MPI_UNSIGNED, UNSIGNED, sizeof(int), sizeof(int), 0, NULL},
    {MPI_UNSIGNED_LONG, UNSIGNED, sizeof(long), sizeof(long), 0, NULL},
    {MPI_UINT8_T, UNSIGNED, 1, 1, 0, NULL},
    {MPI_UINT32_T, UNSIGNED, 4, 4, 0, NULL},
    {MPI_FLOAT, FLOATING, sizeof(float), sizeof(float), 0, NULL},
    {MPI_DOUBLE, FLOATING, sizeof(double), sizeof(double), 0, NULL},
    {MPI_BYTE, BYTES, 1, 1, 0, NULL},
    {MPI_2INT, PAIR, sizeof(int), 2 * sizeof(int), sizeof(int), NULL},
    {MPI_SHORT_INT, PAIR, sizeof(short), 2 * sizeof(int), sizeof(int), NULL},
    {MPI_LONG_INT, PAIR, sizeof(long), 2 * sizeof(long), sizeof(long), NULL},
    {MPI_INT, OWN, sizeof(int), sizeof(int), 0, NULL},
    {MPI_DATATYPE_NULL, AFFINE, 4, 8, 4, &map},
    {MPI_DATATYPE_NULL, AFFINE, 4, 16, 8, &wide_map},
};
enum { FOLDINGS = sizeof foldings / sizeof *foldings };

/* ---- operators of the program ---- */

static void compose_by(const char *in, char *inout, int n, int extent, int at)
{
    for (int i = 0; i < n; i++, in += extent, inout += extent) {
        uint32_t a, b, c, d;
        memcpy(&a, in, 4);
        memcpy(&b, in + at, 4);
        memcpy(&c, inout, 4);
        memcpy(&d, inout + at, 4);
        d += c * b;
        c *= a;
        memcpy(inout, &c, 4);
        memcpy(inout + at, &d, 4);
    }
}

static void do_compose(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    compose_by(in, inout, *n, 8, 4);
}

static void do_compose_wide(void *in, void *inout, int *n, MPI_Datatype *type)
{
    MPI_Aint lb, extent;

    MPI_Type_get_extent(*type, &lb, &extent);
    compose_by(in, inout, *n, (int)extent, 8);
}

static void do_plus(void *in, void *inout, int *n, MPI_Datatype *type)
{
    unsigned *a = in, *b = inout;

    (void)type;
    for (int i = 0; i < *n; i++)
        b[i] += a[i];
}

void folds_open(void)
{
    int lengths[2] = {1, 1};
    MPI_Aint at[2] = {0, 8};
    MPI_Datatype bare;

    MPI_Type_contiguous(2, MPI_UNSIGNED, &map);
    MPI_Type_commit(&map);
    MPI_Type_create_hindexed(2, lengths, at, MPI_UNSIGNED, &bare);
    MPI_Type_create_resized(bare, 0, 16, &wide_map);
    MPI_Type_free(&bare);
    MPI_Type_commit(&wide_map);
    MPI_Op_create(do_compose, 0, &compose);
    MPI_Op_create(do_compose_wide, 0, &compose_wide);
    MPI_Op_create(do_plus, 1, &plus);
}

void folds_close(void)
{
    MPI_Type_free(&map);
    MPI_Type_free(&wide_map);
    MPI_Op_free(&compose);
    MPI_Op_free(&compose_wide);
    MPI_Op_free(&plus);
}

/* ---- what is folded ---- */

static MPI_Op op_of(const struct folding *f, enum rule rule)
{
    static const MPI_Op ops[] = {MPI_SUM,  MPI_PROD, MPI_MAX, MPI_MIN,  MPI_BAND,   MPI_BOR,
                                 MPI_BXOR, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MINLOC, MPI_MAXLOC};

    if (rule == COMPOSE)
        return f->extent == 8 ? compose : compose_wide;
    return rule == PLUS ? plus : ops[rule];
}

static enum rule some_rule(struct dice *d, const struct folding *f)
{
    switch (f->class) {
    case FLOATING:
        return (enum rule)below(d, BAND);
    case BYTES:
        return (enum rule)(BAND + below(d, 3));
    case PAIR:
        return (enum rule)(MINLOC + below(d, 2));
    case AFFINE:
        return COMPOSE;
    case OWN:
        return PLUS;
    default:
        return (enum rule)below(d, MINLOC);
    }
}

/* The number with so many low bytes, with a sign or without. */
static int64_t cut(const struct folding *f, uint64_t word)
{
    int bits = 64 - 8 * f->size;

    return f->class == SIGNED ? (int64_t)(word << bits) >> bits : (int64_t)(word << bits >> bits);
}

/* MPICH 4.0 takes unsigned numbers for signed ones: none has the highest bit. */
static int64_t extreme(const struct folding *f, uint64_t word, int small)
{
    if (f->class == FLOATING)
        return small;
    return f->class == UNSIGNED ? (int64_t)((uint64_t)cut(f, word) >> 1) : cut(f, word);
}

/* Few factors that are not 1: no product overflows. */
static int64_t factor(const struct folding *f, int small)
{
    if (small > 8 && f->size > 1)
        return 2;
    return small < 0 && f->class != UNSIGNED ? -1 : 1;
}

/* An element of a member: small enough that nothing overflows where that were an error. */
static struct number element(const struct folding *f, enum rule rule, uint64_t stream, int i)
{
    uint64_t word = key_of(stream, (uint64_t)i);
    int small = (int)(word % 21) - 10;

    switch (rule) {
    case SUM:
        return (struct number){f->class == UNSIGNED ? small + 10 : small, 0};
    case PROD:
        return (struct number){factor(f, small), 0};
    case MAX:
    case MIN:
        return (struct number){extreme(f, word, small), 0};
    case LAND:
    case LOR:
    case LXOR:
        return (struct number){(int64_t)(word % 3), 0};
    case MINLOC:
    case MAXLOC:
        return (struct number){small / 3, (int)(word >> 32 & 63)};
    case COMPOSE:
        return (struct number){(int64_t)(word & 0xffffffff), (int)(word >> 33)};
    default:
        return (struct number){cut(f, word), 0};
    }
}

static struct number logical(enum rule rule, struct number a, struct number b)
{
    bool x = a.v != 0, y = b.v != 0;

    return (struct number){rule == LAND ? x && y : rule == LOR ? x || y : x != y, 0};
}

static struct number located(enum rule rule, struct number a, struct number b)
{
    if (a.v == b.v)
        return a.second < b.second ? a : b;
    return (a.v < b.v) == (rule == MINLOC) ? a : b;
}

static struct number fold(enum rule rule, struct number a, struct number b)
{
    switch (rule) {
    case SUM:
    case PLUS:
        return (struct number){a.v + b.v, 0};
    case PROD:
        return (struct number){a.v * b.v, 0};
    case MAX:
        return a.v > b.v ? a : b;
    case MIN:
        return a.v < b.v ? a : b;
    case BAND:
        return (struct number){a.v & b.v, 0};
    case BOR:
        return (struct number){a.v | b.v, 0};
    case BXOR:
        return (struct number){a.v ^ b.v, 0};
    case MINLOC:
    case MAXLOC:
        return located(rule, a, b);
    case COMPOSE:
        return (struct number){(uint32_t)a.v * (uint32_t)b.v,
                               (int)((uint32_t)b.v * (uint32_t)a.second + (uint32_t)b.second)};
    default:
        return logical(rule, a, b);
    }
}

static void put_int(char *to, int size, int64_t v)
{
    int8_t one = (int8_t)v;
    int16_t two = (int16_t)v;
    int32_t four = (int32_t)v;

    memcpy(to,
           size == 1   ? (void *)&one
           : size == 2 ? (void *)&two
           : size == 4 ? (void *)&four
                       : &v,
           (size_t)size);
}

static void put(const struct folding *f, char *to, struct number x)
{
    float single = (float)x.v;
    double twice = (double)x.v;

    if (f->class == FLOATING)
        memcpy(to, f->size == sizeof single ? (void *)&single : &twice, (size_t)f->size);
    else
        put_int(to, f->size, x.v);
    if (f->at > 0)
        put_int(to + f->at, sizeof(int), x.second);
}

/* ---- the act ---- */

static enum rule rule_of(const struct collective *k)
{
    struct dice d = dice_of(key_of(k->shape, 77));
    return some_rule(&d, k->folding);
}

static void share(struct collective *k, struct dice *d, int side, int n)
{
    int left = k->fold_total;

    for (int i = 0; i < n; i++) {
        k->fold_counts[side][i] = k->kind->counts == EQUAL ? k->fold_total / n
                                  : i == n - 1             ? left
                                                           : below(d, left / 2 + 1);
        left -= k->fold_counts[side][i];
    }
}

/* MPICH 4.0's Reduce_scatter_block is wrong, or crashes, where an operator that is not commutative
 * gets a type with holes. */
static bool is_faulty(const struct act *a)
{
    const struct collective *k = a->state;

    return of_vendor(a->c) && k->kind->family == REDUCE_SCATTER && k->kind->counts == EQUAL &&
           k->folding->made == &wide_map;
}

void fold_plan(struct act *a, struct dice *d)
{
    struct collective *k = a->state;
    const struct channel *c = a->c;
    int unit = c->side[0].n * (c->inter ? c->side[1].n : 1);

    k->folding = &foldings[below(d, FOLDINGS)];
    if (is_faulty(a))
        k->folding = &foldings[0];
    k->fold_total = (int)(some_size(d, largest / 8) / (size_t)k->folding->extent);
    if (k->kind->family != REDUCE_SCATTER)
        return;
    if (k->kind->counts == EQUAL)
        k->fold_total = k->fold_total / unit * unit;
    share(k, d, 0, c->side[0].n);
    if (c->inter)
        share(k, d, 1, c->side[1].n);
}

/* Which elements this process gets. */
static void part(const struct act *a, int *first, int *count)
{
    const struct collective *k = a->state;

    *first = 0;
    *count = takes(a) ? k->fold_total : 0;
    if (k->kind->family != REDUCE_SCATTER)
        return;
    for (int i = 0; i < a->c->rank; i++)
        *first += k->fold_counts[a->c->mine][i];
    *count = k->fold_counts[a->c->mine][a->c->rank];
}

static bool here_already(const struct act *a)
{
    const struct collective *k = a->state;
    return k->in_place && (k->kind->family != REDUCE || a->c->rank == k->root);
}

void fold_prepare(struct act *a)
{
    struct collective *k = a->state;
    const struct folding *f = k->folding;
    MPI_Datatype type = f->made != NULL ? *f->made : f->type;
    int first, count;

    part(a, &first, &count);
    k->op = op_of(f, rule_of(k));
    k->s.b = (struct buffer){&nobody, 0, type, false}; /* MPICH 4.0 refuses NULL also here */
    k->r.b = (struct buffer){NULL, count, type, false};
    memcpy(k->r.counts, k->fold_counts[a->c->mine], sizeof k->fold_counts[0]);
    if (here_already(a)) {
        k->s.b.at = MPI_IN_PLACE;
    } else if (gives(a)) {
        area_open(&k->s.area, 0, (ptrdiff_t)k->fold_total * f->extent, key_of(a->key, 1001));
        k->s.open = true;
        k->s.b.at = k->s.area.zero;
    }
    if (takes(a)) {
        int room = here_already(a) ? k->fold_total : count;
        area_open(&k->r.area, 0, (ptrdiff_t)room * f->extent, key_of(a->key, 1002));
        k->r.open = true;
        k->r.b.at = k->r.area.zero;
    }
}

static uint64_t stream(const struct act *a, int who)
{
    return collective_stream(a, (uint64_t)who + 40000);
}

static void want(struct act *a)
{
    struct collective *k = a->state;
    const struct list *l = channel_peers(a->c, a->c->mine);
    enum rule rule = rule_of(k);
    int first, count, members = l->n;
    char *to = k->r.area.want + (k->r.area.zero - k->r.area.mem);

    if (k->kind->family == SCAN || k->kind->family == EXSCAN)
        members = a->c->rank + (k->kind->family == SCAN);
    part(a, &first, &count);
    for (int i = 0; members > 0 && i < count; i++) {
        struct number x = element(k->folding, rule, stream(a, l->who[0]), first + i);
        for (int m = 1; m < members; m++)
            x = fold(rule, x, element(k->folding, rule, stream(a, l->who[m]), first + i));
        put(k->folding, to + (ptrdiff_t)i * k->folding->extent, x);
    }
}

void fold_fill(struct act *a)
{
    struct collective *k = a->state;
    char *to = here_already(a) ? k->r.area.zero : k->s.open ? k->s.area.zero : NULL;
    enum rule rule = rule_of(k);

    for (int i = 0; to != NULL && i < k->fold_total; i++)
        put(k->folding, to + (ptrdiff_t)i * k->folding->extent,
            element(k->folding, rule, stream(a, world_rank), i));
    if (k->s.open)
        area_keep(&k->s.area);
    if (k->r.open) {
        area_keep(&k->r.area);
        want(a);
    }
}

/* Elements from first on may be anything. */
static void leave_open(struct collective *k, int first, int end)
{
    ptrdiff_t zero = k->r.area.zero - k->r.area.mem,
              at = zero + (ptrdiff_t)first * k->folding->extent;

    if (end > first)
        memcpy(k->r.area.want + at, k->r.area.mem + at,
               (size_t)(end - first) * (size_t)k->folding->extent);
}

/* Between the parts of predefined pairs is nobody's business. */
static void leave_padding(struct collective *k, int count)
{
    const struct folding *f = k->folding;
    ptrdiff_t zero = k->r.area.zero - k->r.area.mem;

    for (int i = 0; f->class == PAIR && i < count; i++)
        for (int b = f->size; b < f->extent; b++)
            if (b < f->at || b >= f->at + (int)sizeof(int)) {
                ptrdiff_t at = zero + (ptrdiff_t)i * f->extent + b;
                k->r.area.want[at] = k->r.area.mem[at];
            }
}

void fold_before_check(struct act *a)
{
    struct collective *k = a->state;
    int first, count;

    if (!k->r.open)
        return;
    part(a, &first, &count);
    leave_padding(k, count);
    if (k->kind->family == REDUCE_SCATTER && here_already(a))
        leave_open(k, count, k->fold_total);
    if (k->kind->family == EXSCAN && a->c->rank == 0)
        leave_open(k, 0, k->fold_total);
}
