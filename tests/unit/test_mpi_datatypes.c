/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Derived types against the definition: random types, nested, are made by the constructors and at
 * the same time as plain lists of (place, size), from which bounds and packed form follow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mpi/mpi.h"

enum { MOST_PARTS = 4000, ROUNDS = 1000, MEMORY = 1 << 20 };

/* A type as MPI defines it: every basic element with its place. */
struct model {
    int n;
    long at[MOST_PARTS];
    int size[MOST_PARTS];
    long lb, ub; /* bounds */
    bool has_lb, has_ub;
    int align;
    WAITIO_MPI_Datatype type;
};

static uint64_t seed = 88172645463325252u;

static int draw(int below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int)(seed % (uint64_t)below);
}

static void basic(struct model *m)
{
    static const WAITIO_MPI_Datatype types[] = {WAITIO_MPI_CHAR,       WAITIO_MPI_SHORT,
                                                WAITIO_MPI_INT,        WAITIO_MPI_DOUBLE,
                                                WAITIO_MPI_DOUBLE_INT, WAITIO_MPI_DOUBLE_COMPLEX};
    int k = draw(6);
    memset(m, 0, sizeof *m);
    m->type = types[k];
    m->n = k == 4 ? 2 : 1;
    m->size[0] = k == 0 ? 1 : k == 1 ? 2 : k == 2 ? 4 : k == 5 ? 16 : 8;
    m->align = k == 5 ? 8 : m->size[0];
    m->ub = k == 4 ? 16 : m->size[0];
    if (k == 4) {
        m->at[1] = 8;
        m->size[1] = 4;
    }
}

/* Append @p count elements of @p old at byte @p at. */
static void append(struct model *m, const struct model *old, long at, int count, bool *any)
{
    for (int c = 0; c < count; c++, at += old->ub - old->lb) {
        for (int i = 0; i < old->n; i++) {
            assert_true(m->n < MOST_PARTS);
            m->at[m->n] = at + old->at[i];
            m->size[m->n++] = old->size[i];
        }
        /* Bounds set by hand stick: once there are some, only those count. */
        long low = at + old->lb, high = at + old->ub;
        if (old->has_lb == m->has_lb)
            m->lb = *any && m->lb < low ? m->lb : low;
        else if (old->has_lb)
            m->lb = low;
        if (old->has_ub == m->has_ub)
            m->ub = *any && m->ub > high ? m->ub : high;
        else if (old->has_ub)
            m->ub = high;
        m->has_lb |= old->has_lb;
        m->has_ub |= old->has_ub;
        *any = true;
    }
    if (count > 0 && old->align > m->align)
        m->align = old->align;
}

/* Blocks by several constructors at once; how they are given is what differs. */
static void make_blocks(struct model *m, const struct model *old, int how)
{
    int n = draw(5), lengths[5], places[5], same = draw(4);
    WAITIO_MPI_Aint bytes[5];
    long extent = old->ub - old->lb;
    bool any = false;
    for (int i = 0; i < n; i++) {
        lengths[i] = draw(4);
        places[i] = draw(40) - 8;
        bytes[i] = draw(300) - 50;
    }
    for (int i = 0; i < n; i++)
        append(m, old, how == 0 || how == 2 ? places[i] * extent : bytes[i],
               how >= 2 ? same : lengths[i], &any);
    if (how == 0)
        WAITIO_MPI_Type_indexed(n, lengths, places, old->type, &m->type);
    else if (how == 1)
        WAITIO_MPI_Type_create_hindexed(n, lengths, bytes, old->type, &m->type);
    else if (how == 2)
        WAITIO_MPI_Type_create_indexed_block(n, same, places, old->type, &m->type);
    else
        WAITIO_MPI_Type_create_hindexed_block(n, same, bytes, old->type, &m->type);
}

static void make_vector(struct model *m, const struct model *old, int how)
{
    int n = draw(6), length = how == 0 ? 1 : draw(4), stride = how == 0 ? 1 : draw(12) - 3;
    long extent = old->ub - old->lb, step = how == 2 ? stride * 8 : stride * extent;
    bool any = false;
    for (int i = 0; i < n; i++)
        append(m, old, i * step, length, &any);
    if (how == 0)
        WAITIO_MPI_Type_contiguous(n, old->type, &m->type);
    else if (how == 1)
        WAITIO_MPI_Type_vector(n, length, stride, old->type, &m->type);
    else
        WAITIO_MPI_Type_create_hvector(n, length, step, old->type, &m->type);
}

static void make_subarray(struct model *m, const struct model *old)
{
    int dims = 1 + draw(3), order = draw(2), sizes[3], parts[3], starts[3], index[3];
    long extent = old->ub - old->lb;
    bool any = false;
    for (int d = 0; d < dims; d++) {
        sizes[d] = 1 + draw(5);
        parts[d] = 1 + draw(sizes[d]);
        starts[d] = draw(sizes[d] - parts[d] + 1);
        index[d] = 0;
    }
    for (;;) { /* in memory order: the fastest dimension first */
        long at = 0, row = 1;
        int k = 0;
        for (int i = 0; i < dims; i++) {
            int d = order ? i : dims - 1 - i;
            at += (starts[d] + index[d]) * row;
            row *= sizes[d];
        }
        append(m, old, at * extent, 1, &any);
        for (k = 0; k < dims; k++) {
            int d = order ? k : dims - 1 - k;
            if (++index[d] < parts[d])
                break;
            index[d] = 0;
        }
        if (k == dims) {
            m->lb = 0;
            m->ub = row * extent;
            break;
        }
    }
    m->has_lb = m->has_ub = true;
    WAITIO_MPI_Type_create_subarray(dims, sizes, parts, starts,
                                    order ? WAITIO_MPI_ORDER_FORTRAN : WAITIO_MPI_ORDER_C,
                                    old->type, &m->type);
}

static void make_struct(struct model *m, const struct model *a, const struct model *b)
{
    int n = 1 + draw(3), lengths[3];
    WAITIO_MPI_Aint bytes[3];
    WAITIO_MPI_Datatype types[3];
    bool any = false;
    for (int i = 0; i < n; i++) {
        const struct model *old = draw(2) ? a : b;
        lengths[i] = draw(3);
        bytes[i] = draw(200) - 40;
        types[i] = old->type;
        append(m, old, bytes[i], lengths[i], &any);
    }
    if (!m->has_ub && m->align > 0)
        while ((m->ub - m->lb) % m->align != 0)
            m->ub++;
    WAITIO_MPI_Type_create_struct(n, lengths, bytes, types, &m->type);
}

static void derive(struct model *m, const struct model *a, const struct model *b)
{
    int how = draw(11);
    memset(m, 0, sizeof *m);
    m->align = 1;
    if (how < 3) {
        make_vector(m, a, how);
    } else if (how < 7) {
        make_blocks(m, a, how - 3);
    } else if (how == 7) {
        make_subarray(m, a);
    } else if (how == 8) {
        make_struct(m, a, b);
    } else if (how == 9) {
        *m = *a;
        WAITIO_MPI_Type_dup(a->type, &m->type);
    } else {
        *m = *a;
        m->lb = draw(40) - 20;
        m->ub = m->lb + draw(200) - 20;
        m->has_lb = m->has_ub = true;
        WAITIO_MPI_Type_create_resized(a->type, m->lb, m->ub - m->lb, &m->type);
    }
}

static char memory[MEMORY], other[MEMORY], packed[MEMORY], want[MEMORY];

/* Packed form by the definition. @return bytes */
static size_t pack_model(const struct model *m, const char *user, int count)
{
    size_t n = 0;
    for (int c = 0; c < count; c++)
        for (int i = 0; i < m->n; i++) {
            memcpy(want + n, user + c * (m->ub - m->lb) + m->at[i], (size_t)m->size[i]);
            n += (size_t)m->size[i];
        }
    return n;
}

static void check_bounds(const struct model *m)
{
    WAITIO_MPI_Aint lb, extent;
    long low = 0, high = 0;
    int size, total = 0;
    for (int i = 0; i < m->n; i++) {
        low = i == 0 || m->at[i] < low ? m->at[i] : low;
        high = i == 0 || m->at[i] + m->size[i] > high ? m->at[i] + m->size[i] : high;
        total += m->size[i];
    }
    assert_int_equal(WAITIO_MPI_Type_size(m->type, &size), 0);
    assert_int_equal(size, total);
    assert_int_equal(WAITIO_MPI_Type_get_extent(m->type, &lb, &extent), 0);
    assert_int_equal(lb, m->lb);
    assert_int_equal(extent, m->ub - m->lb);
    assert_int_equal(WAITIO_MPI_Type_get_true_extent(m->type, &lb, &extent), 0);
    assert_int_equal(lb, low);
    assert_int_equal(extent, high - low);
}

static bool in_memory(const struct model *m, int count)
{
    for (int c = 0; c < count; c++)
        for (int i = 0; i < m->n; i++) {
            long at = MEMORY / 2 + c * (m->ub - m->lb) + m->at[i];
            if (at < 0 || at + m->size[i] > MEMORY)
                return false;
        }
    return true;
}

static void check_packing(const struct model *m)
{
    const struct wio_mpi_type *t = wio_mpi_type(m->type);
    int count = 1 + draw(4);
    if (!in_memory(m, count))
        return;
    size_t n = pack_model(m, memory + MEMORY / 2, count), from, some;
    assert_int_equal(n, t->size * (size_t)count);
    wio_type_pack(t, memory + MEMORY / 2, 0, n, packed);
    assert_memory_equal(packed, want, n);
    for (int i = 0; i < 4 && n > 0; i++) { /* any part of it */
        from = (size_t)draw((int)n);
        some = (size_t)draw((int)(n - from) + 1);
        memset(packed, 0, some + 1);
        wio_type_pack(t, memory + MEMORY / 2, from, some, packed);
        assert_memory_equal(packed, want + from, some);
        assert_int_equal(packed[some], 0);
    }
    /* Unpacking in two parts writes what packing finds, and nothing beside it. */
    memset(other, 0x77, sizeof other);
    from = n > 0 ? (size_t)draw((int)n) : 0;
    wio_type_unpack(t, other + MEMORY / 2, from, n - from, want + from);
    wio_type_unpack(t, other + MEMORY / 2, 0, from, want);
    for (int c = 0; c < count; c++)
        for (int i = 0; i < m->n; i++) {
            long at = MEMORY / 2 + c * (m->ub - m->lb) + m->at[i];
            assert_memory_equal(other + at, memory + at, (size_t)m->size[i]);
        }
    for (int c = 0; c < count; c++)
        for (int i = 0; i < m->n; i++) { /* places may be named twice: a loop of its own */
            long at = MEMORY / 2 + c * (m->ub - m->lb) + m->at[i];
            memset(other + at, 0x77, (size_t)m->size[i]);
        }
    for (size_t i = 0; i < sizeof other; i += 8)
        assert_memory_equal(other + i, "wwwwwwww", 8);
}

/* The same in the other byte order, where parts may begin and end within a number. */
static void check_swapping(const struct model *m)
{
    const struct wio_mpi_type *t = wio_mpi_type(m->type);
    int count = 1 + draw(4);
    if (!in_memory(m, count))
        return;
    size_t n = pack_model(m, memory + MEMORY / 2, count), some;
    wio_type_swap(t, n, want);
    for (int i = 0; i < 8 && n > 0; i++) {
        size_t from = (size_t)draw((int)n);
        some = (size_t)draw(i < 4 ? 20 : (int)n) % (n - from + 1);
        memset(packed, 0x55, some + 1);
        wio_type_pack_swapped(t, memory + MEMORY / 2, from, some, packed);
        assert_memory_equal(packed, want + from, some);
        assert_int_equal(packed[some], 0x55);
    }
    memset(other, 0x77, sizeof other);
    for (size_t at = 0; at < n; at += some) {
        some = 1 + (size_t)draw(30);
        some = some < n - at ? some : n - at;
        wio_type_unpack_swapped(t, other + MEMORY / 2, at, some, want + at);
    }
    wio_type_pack(t, other + MEMORY / 2, 0, n, packed);
    pack_model(m, memory + MEMORY / 2, count);
    assert_memory_equal(packed, want, n);
}

static void check_elements(const struct model *m)
{
    const struct wio_mpi_type *t = wio_mpi_type(m->type);
    size_t bytes = 0;
    assert_int_equal(t->nbasic, m->n);
    for (int i = 0; i < m->n && i < 50; i++) {
        assert_int_equal(wio_type_elements(t, bytes), i);
        if (m->size[i] > 1)
            assert_int_equal(wio_type_elements(t, bytes + 1), -1);
        bytes += (size_t)m->size[i];
    }
    assert_int_equal(wio_mpi_elements_of(3 * t->size, t), 3 * m->n);
    if (t->size > 1)
        assert_int_equal(wio_mpi_count_of(3 * t->size + 1, t), WAITIO_MPI_UNDEFINED);
    assert_int_equal(wio_mpi_count_of(3 * t->size, t), t->size > 0 ? 3 : 0);
}

static void random_types_follow_the_definition(void **state)
{
    static struct model m[6];
    (void)state;
    for (size_t i = 0; i < sizeof memory; i++)
        memory[i] = (char)draw(256);
    for (int round = 0; round < ROUNDS; round++) {
        int n = 2 + draw(3);
        basic(&m[0]);
        basic(&m[1]);
        for (int i = 2; i <= n; i++) {
            const struct model *a = &m[draw(i)], *b = &m[draw(i)];
            if (a->n + b->n > 40) { /* grow no further */
                a = &m[0];
                b = &m[1];
            }
            derive(&m[i], a, b);
            check_bounds(&m[i]);
            check_packing(&m[i]);
            check_swapping(&m[i]);
            check_elements(&m[i]);
        }
        for (int i = 2; i <= n; i++)
            assert_int_equal(WAITIO_MPI_Type_free(&m[i].type), 0);
    }
    assert_int_equal(wio_type_named(), 0);
}

static size_t runs(WAITIO_MPI_Datatype type)
{
    return wio_mpi_type(type)->nruns;
}

/* What packing costs: the usual types are one run, and solid where MPI allows it. */
static void usual_types_are_short(void **state)
{
    int sizes[3] = {10, 10, 10}, parts[3] = {4, 5, 6}, starts[3] = {1, 2, 3};
    WAITIO_MPI_Datatype row, column, matrix, plane, box, record, back;
    struct record {
        int a, b;
        double x[3];
    };
    int lengths[2] = {2, 3};
    WAITIO_MPI_Aint bytes[2] = {0, offsetof(struct record, x)};
    WAITIO_MPI_Datatype members[2] = {WAITIO_MPI_INT, WAITIO_MPI_DOUBLE};

    (void)state;
    WAITIO_MPI_Type_contiguous(1000000, WAITIO_MPI_DOUBLE, &row);
    assert_int_equal(runs(row), 1);
    assert_true(wio_mpi_type(row)->solid);
    WAITIO_MPI_Type_vector(1000, 1, 1000, WAITIO_MPI_DOUBLE, &column);
    assert_int_equal(runs(column), 1);
    assert_false(wio_mpi_type(column)->solid);
    WAITIO_MPI_Type_vector(1000, 1000, 1000, WAITIO_MPI_DOUBLE, &matrix);
    assert_true(wio_mpi_type(matrix)->solid);
    WAITIO_MPI_Type_create_subarray(2, sizes, parts, starts, WAITIO_MPI_ORDER_C, WAITIO_MPI_INT,
                                    &plane);
    assert_int_equal(runs(plane), 1);
    WAITIO_MPI_Type_create_subarray(3, sizes, parts, starts, WAITIO_MPI_ORDER_C, WAITIO_MPI_INT,
                                    &box);
    assert_int_equal(runs(box), 1); /* of planes */
    WAITIO_MPI_Type_create_struct(2, lengths, bytes, members, &record);
    assert_true(wio_mpi_type(record)->solid);
    WAITIO_MPI_Type_create_resized(column, 0, 8, &back);
    assert_int_equal(wio_type_extent(wio_mpi_type(back)), 8);
    WAITIO_MPI_Type_free(&row);
    WAITIO_MPI_Type_free(&column);
    WAITIO_MPI_Type_free(&matrix);
    WAITIO_MPI_Type_free(&plane);
    WAITIO_MPI_Type_free(&box);
    WAITIO_MPI_Type_free(&record);
    WAITIO_MPI_Type_free(&back);
}

/* Runs of a type and of those within it. */
static size_t all_runs(const struct wio_mpi_type *t)
{
    size_t n = t->nruns;

    for (size_t i = 0; i < t->nruns; i++)
        if (t->run[i].of != NULL)
            n += all_runs(t->run[i].of);
    return n;
}

static WAITIO_MPI_Datatype record_with_hole(void)
{
    int lengths[2] = {1, 1};
    WAITIO_MPI_Aint bytes[2] = {0, 8};
    WAITIO_MPI_Datatype members[2] = {WAITIO_MPI_DOUBLE, WAITIO_MPI_INT}, t;

    WAITIO_MPI_Type_create_struct(2, lengths, bytes, members, &t);
    return t;
}

/* What a type costs follows from what was written down, never from a repeat count. */
static void repeating_costs_nothing(void **state)
{
    enum { MANY = 2000000000, BLOCKS = 1000 };
    int sizes[3] = {1000, 1000, 1000}, parts[3] = {400, 500, 600}, starts[3] = {1, 2, 3};
    int places[BLOCKS], lengths[BLOCKS];
    WAITIO_MPI_Datatype old = record_with_hole(), t[8];

    (void)state;
    for (int i = 0; i < BLOCKS; i++) {
        places[i] = i * i * 2000;
        lengths[i] = 1 + i;
    }
    WAITIO_MPI_Type_contiguous(MANY, old, &t[0]);
    WAITIO_MPI_Type_vector(MANY, 2, 3, old, &t[1]);
    WAITIO_MPI_Type_create_hvector(BLOCKS, 1, -24, t[0], &t[2]);
    WAITIO_MPI_Type_create_subarray(3, sizes, parts, starts, WAITIO_MPI_ORDER_C, old, &t[3]);
    WAITIO_MPI_Type_create_resized(t[3], 0, 8, &t[4]);
    WAITIO_MPI_Type_contiguous(MANY, t[4], &t[5]);
    for (int i = 0; i < 6; i++)
        assert_true(all_runs(wio_mpi_type(t[i])) <= 8);
    WAITIO_MPI_Type_indexed(BLOCKS, lengths, places, old, &t[6]);
    assert_true(runs(t[6]) <= BLOCKS + 1);
    for (int i = 0; i < BLOCKS; i++)
        places[i] = i * i;
    WAITIO_MPI_Type_create_indexed_block(BLOCKS, 1, places, t[6], &t[7]);
    assert_true(runs(t[7]) <= BLOCKS);
    WAITIO_MPI_Type_free(&old);
    for (int i = 0; i < 8; i++)
        WAITIO_MPI_Type_free(&t[i]);
    assert_int_equal(wio_type_named(), 0);
}

static int depth(const struct wio_mpi_type *t)
{
    int most = 0;

    for (size_t i = 0; i < t->nruns; i++)
        if (t->run[i].of != NULL && depth(t->run[i].of) >= most)
            most = depth(t->run[i].of) + 1;
    return most;
}

/* Types wrapped a thousand times, each longer by one int, do not nest as deep as that: packing goes
 * down on the stack. */
static void long_chains_stay_flat(void **state)
{
    enum { LINKS = 1000, INTS = LINKS * (LINKS + 3) / 2 + 4 };
    static int user[INTS], flat[LINKS + 3], at[LINKS + 3] = {0, 1, 2};
    int lengths[2] = {1, 1};
    WAITIO_MPI_Datatype t = record_with_hole(), next;
    const struct wio_mpi_type *made;

    (void)state;
    for (int i = 0; i < LINKS; i++) {
        WAITIO_MPI_Aint bytes[2] = {0};
        WAITIO_MPI_Datatype members[2] = {t, WAITIO_MPI_INT};
        at[3 + i] = at[2 + i] + 2 + i;
        bytes[1] = 4 * at[3 + i];
        WAITIO_MPI_Type_create_struct(2, lengths, bytes, members, &next);
        WAITIO_MPI_Type_free(&t);
        t = next;
    }
    made = wio_mpi_type(t);
    assert_true(depth(made) <= 16 && made->depth == depth(made));
    assert_true(all_runs(made) < 2 * LINKS);
    for (int i = 0; i < INTS; i++)
        user[i] = i;
    for (size_t from = 0; from < made->size; from += 777) {
        wio_type_pack(made, user, from, made->size - from, (char *)flat + from);
        for (size_t i = (from + 3) / 4; i < LINKS + 3; i++)
            assert_int_equal(flat[i], at[i]);
    }
    WAITIO_MPI_Type_free(&t);
}

/* A type without holes within one with holes, and its lower bound is not where it is put. */
static void solid_parts_of_types(void **state)
{
    int lengths[2] = {1, 2};
    WAITIO_MPI_Aint bytes[2] = {8, 16};
    WAITIO_MPI_Datatype members[2] = {WAITIO_MPI_DOUBLE, WAITIO_MPI_INT}, old, row, apart, dense;
    char user[128], got[48];

    (void)state;
    WAITIO_MPI_Type_create_struct(2, lengths, bytes, members, &old);
    WAITIO_MPI_Type_contiguous(3, old, &row);
    WAITIO_MPI_Type_vector(3, 1, 2, old, &apart);
    WAITIO_MPI_Type_create_resized(apart, 8, 48, &dense);
    assert_true(wio_mpi_type(old)->solid && runs(old) == 2);
    assert_true(wio_mpi_type(row)->solid);
    assert_false(wio_mpi_type(apart)->solid);
    assert_false(wio_mpi_type(dense)->solid);
    for (int i = 0; i < 128; i++)
        user[i] = (char)i;
    for (size_t from = 0; from < 48; from++) {
        wio_type_pack(wio_mpi_type(apart), user, from, 48 - from, got);
        for (size_t i = from; i < 48; i++)
            assert_int_equal(got[i - from], 8 + i / 16 * 32 + i % 16);
    }
    WAITIO_MPI_Type_free(&old);
    WAITIO_MPI_Type_free(&row);
    WAITIO_MPI_Type_free(&apart);
    WAITIO_MPI_Type_free(&dense);
}

/* MPI-1 sets bounds by types without data. */
static void marks_set_bounds(void **state)
{
    int lengths[3] = {1, 1, 1};
    WAITIO_MPI_Aint bytes[3] = {-4, 0, 20}, lb, extent, ub;
    WAITIO_MPI_Datatype types[3] = {WAITIO_MPI_LB, WAITIO_MPI_INT, WAITIO_MPI_UB}, t, twice;

    (void)state;
    WAITIO_MPI_Type_struct(3, lengths, bytes, types, &t);
    WAITIO_MPI_Type_get_extent(t, &lb, &extent);
    assert_int_equal(lb, -4);
    assert_int_equal(extent, 24);
    WAITIO_MPI_Type_ub(t, &ub);
    assert_int_equal(ub, 20);
    WAITIO_MPI_Type_contiguous(2, t, &twice);
    WAITIO_MPI_Type_extent(twice, &extent);
    assert_int_equal(extent, 48);
    WAITIO_MPI_Type_free(&t);
    WAITIO_MPI_Type_free(&twice);
}

static void packing_by_hand(void **state)
{
    char buf[64];
    int position = 0, size, a[2] = {1, 2}, b[2] = {0, 0};
    double x = 2.5, y = 0;

    (void)state;
    assert_int_equal(WAITIO_MPI_Pack_size(2, WAITIO_MPI_INT, NULL, &size), 0);
    assert_int_equal(size, 8);
    assert_int_equal(WAITIO_MPI_Pack(a, 2, WAITIO_MPI_INT, buf, 16, &position, NULL), 0);
    assert_int_equal(WAITIO_MPI_Pack(&x, 1, WAITIO_MPI_DOUBLE, buf, 16, &position, NULL), 0);
    assert_int_equal(position, 16);
    assert_int_equal(WAITIO_MPI_Pack(a, 1, WAITIO_MPI_INT, buf, 16, &position, NULL),
                     WAITIO_ERR_TRUNCATE);
    position = 0;
    assert_int_equal(WAITIO_MPI_Unpack(buf, 16, &position, b, 2, WAITIO_MPI_INT, NULL), 0);
    assert_int_equal(WAITIO_MPI_Unpack(buf, 16, &position, &y, 1, WAITIO_MPI_DOUBLE, NULL), 0);
    assert_true(b[0] == 1 && b[1] == 2 && y == 2.5);
    assert_int_equal(WAITIO_MPI_Unpack(buf, 16, &position, b, 1, WAITIO_MPI_INT, NULL),
                     WAITIO_ERR_TRUNCATE);
}

/* Numbers turn by their own size; what is no number, and a number that is cut, stays. */
static void byte_order_changes_by_number(void **state)
{
    int lengths[3] = {3, 1, 2};
    WAITIO_MPI_Aint bytes[3] = {0, 4, 8};
    WAITIO_MPI_Datatype types[3] = {WAITIO_MPI_CHAR, WAITIO_MPI_SHORT, WAITIO_MPI_COMPLEX}, t, many;
    const char before[] = "abcDEfghiFGHIjklmJKLMabcD", after[] = "abcEDihgfIHGFmlkjMLKJabcD";
    char now[sizeof before];

    (void)state;
    WAITIO_MPI_Type_create_struct(3, lengths, bytes, types, &t);
    assert_int_equal(wio_mpi_type(t)->size, 21);
    memcpy(now, before, sizeof now);
    wio_type_swap(wio_mpi_type(t), 25, now); /* one element, and the next up to half a short */
    assert_memory_equal(now, after, sizeof now);
    wio_type_swap(wio_mpi_type(t), 25, now);
    assert_memory_equal(now, before, sizeof now);
    WAITIO_MPI_Type_contiguous(2, t, &many);
    wio_type_swap(wio_mpi_type(many), 25, now);
    assert_memory_equal(now, after, sizeof now);
    WAITIO_MPI_Type_free(&many);
    assert_false(wio_mpi_type(t)->long_double);
    WAITIO_MPI_Type_free(&t);
    types[1] = WAITIO_MPI_LONG_DOUBLE_INT;
    WAITIO_MPI_Type_create_struct(3, lengths, bytes, types, &t);
    assert_true(wio_mpi_type(t)->long_double);
    WAITIO_MPI_Type_free(&t);
}

/* Refused by what is known at the end; on the way nothing overflows (the sanitizer watches). */
static void types_from_one_end_of_memory_to_the_other_are_refused(void **state)
{
    int lengths[2] = {1, 1};
    WAITIO_MPI_Aint ends[2] = {INT64_MIN / 2 - 100, INT64_MAX / 2 + 100};
    WAITIO_MPI_Datatype members[2] = {WAITIO_MPI_INT, WAITIO_MPI_DOUBLE}, apart, t;

    (void)state;
    assert_int_equal(WAITIO_MPI_Type_create_hindexed(2, lengths, ends, WAITIO_MPI_INT, &t),
                     WAITIO_ERR_LIMIT);
    assert_int_equal(WAITIO_MPI_Type_create_struct(2, lengths, ends, members, &t),
                     WAITIO_ERR_LIMIT);
    ends[0] = INT64_MAX - 4; /* 5 bytes with 8 before them: no room to pad behind them */
    ends[1] = INT64_MAX - 5 - 8;
    assert_int_equal(WAITIO_MPI_Type_create_struct(2, lengths, ends, members, &t),
                     WAITIO_ERR_LIMIT);
    assert_int_equal(WAITIO_MPI_Type_create_hvector(4, 1, INT64_C(1) << 61, WAITIO_MPI_INT, &apart),
                     0);
    assert_int_equal(WAITIO_MPI_Type_contiguous(2, apart, &t), WAITIO_ERR_LIMIT);
    assert_int_equal(WAITIO_MPI_Type_create_hvector(2, 1, 8, apart, &t), 0);
    assert_int_equal(WAITIO_MPI_Type_free(&t), 0);
    assert_int_equal(WAITIO_MPI_Type_free(&apart), 0);
}

/* Arrays of 2^40 elements, dealt out one by one: a run, not 2^39 of them. */
static void large_arrays_are_short(void **state)
{
    const WAITIO_MPI_Count sizes[] = {INT64_C(1) << 40, INT64_C(1) << 62};
    const int cyclic[] = {WAITIO_MPI_DISTRIBUTE_CYCLIC}, block[] = {WAITIO_MPI_DISTRIBUTE_BLOCK},
              free_[] = {WAITIO_MPI_DISTRIBUTE_DFLT_DARG}, two[] = {2};
    WAITIO_MPI_Datatype t;
    WAITIO_MPI_Count size, lb, extent;
    const struct wio_mpi_type *found;

    (void)state;
    assert_int_equal(WAITIO_MPI_Type_create_darray_c(2, 1, 1, sizes, cyclic, free_, two,
                                                     WAITIO_MPI_ORDER_C, WAITIO_MPI_SHORT, &t),
                     0);
    WAITIO_MPI_Type_size_c(t, &size);
    WAITIO_MPI_Type_get_extent_c(t, &lb, &extent);
    assert_int_equal(size, INT64_C(1) << 40);
    assert_int_equal(extent, INT64_C(1) << 41);
    WAITIO_MPI_Type_get_true_extent_c(t, &lb, &extent);
    assert_int_equal(lb, 2);
    assert_int_equal(extent, (INT64_C(1) << 41) - 2);
    found = wio_mpi_type(t);
    assert_int_equal(found->nruns, 1);
    WAITIO_MPI_Type_free(&t);
    assert_int_equal(WAITIO_MPI_Type_create_darray_c(2, 1, 1, sizes, block, free_, two,
                                                     WAITIO_MPI_ORDER_C, WAITIO_MPI_SHORT, &t),
                     0);
    WAITIO_MPI_Type_get_true_extent_c(t, &lb, &extent);
    assert_int_equal(lb, INT64_C(1) << 40);
    assert_int_equal(extent, INT64_C(1) << 40);
    WAITIO_MPI_Type_free(&t);
    assert_int_equal(WAITIO_MPI_Type_create_darray_c(2, 1, 1, sizes + 1, block, free_, two,
                                                     WAITIO_MPI_ORDER_C, WAITIO_MPI_INT, &t),
                     WAITIO_ERR_LIMIT);
    assert_int_equal(WAITIO_MPI_Type_contiguous_c(sizes[1], WAITIO_MPI_INT, &t), WAITIO_ERR_LIMIT);
    assert_int_equal(WAITIO_MPI_Type_contiguous_c(-1, WAITIO_MPI_INT, &t), WAITIO_ERR_ARG);
}

/* What wide counts are made of does not fit the questions with ints. */
static void old_questions_refuse_wide_counts(void **state)
{
    WAITIO_MPI_Datatype t, parts[1];
    WAITIO_MPI_Aint addresses[1];
    WAITIO_MPI_Count ni, na, nc, nd;
    int i, a, d, combiner, integers[3];

    (void)state;
    assert_int_equal(WAITIO_MPI_Type_vector_c(2, 1, 3, WAITIO_MPI_INT, &t), 0);
    assert_int_equal(WAITIO_MPI_Type_get_envelope(t, &i, &a, &d, &combiner), WAITIO_MPI_ERR_TYPE);
    assert_non_null(strstr(wio_last_error(), "ask Type_get_envelope_c"));
    assert_int_equal(WAITIO_MPI_Type_get_contents(t, 3, 1, 1, integers, addresses, parts),
                     WAITIO_MPI_ERR_TYPE);
    assert_int_equal(WAITIO_MPI_Type_get_envelope_c(t, &ni, &na, &nc, &nd, &combiner), 0);
    assert_int_equal(WAITIO_MPI_Type_free(&t), 0);
    /* and the other way round: the wide ones tell of all types */
    assert_int_equal(WAITIO_MPI_Type_vector(2, 1, 3, WAITIO_MPI_INT, &t), 0);
    assert_int_equal(WAITIO_MPI_Type_get_envelope_c(t, &ni, &na, &nc, &nd, &combiner), 0);
    assert_int_equal(ni, 3);
    assert_int_equal(na + nc, 0);
    assert_int_equal(
        WAITIO_MPI_Type_get_contents_c(t, ni, na, nc, nd, integers, addresses, NULL, parts), 0);
    assert_int_equal(integers[2], 3);
    assert_int_equal(WAITIO_MPI_Type_free(&t), 0);
    assert_int_equal(WAITIO_MPI_Type_get_envelope_c(WAITIO_MPI_INT, &ni, &na, &nc, &nd, &combiner),
                     0);
    assert_int_equal(combiner, WAITIO_MPI_COMBINER_NAMED);
}

static void misuse_is_refused(void **state)
{
    WAITIO_MPI_Datatype t, old, basic_type = WAITIO_MPI_INT;
    int sizes[1] = {4}, parts[1] = {3}, starts[1] = {2}, lengths[1] = {-1}, places[1] = {0};
    const struct wio_mpi_type *used;

    (void)state;
    assert_int_equal(WAITIO_MPI_Type_contiguous(-1, WAITIO_MPI_INT, &t), WAITIO_ERR_ARG);
    assert_int_equal(WAITIO_MPI_Type_contiguous(1, 12345, &t), WAITIO_ERR_ARG);
    assert_int_equal(WAITIO_MPI_Type_indexed(1, lengths, places, WAITIO_MPI_INT, &t),
                     WAITIO_ERR_ARG);
    assert_int_equal(WAITIO_MPI_Type_create_subarray(1, sizes, parts, starts, WAITIO_MPI_ORDER_C,
                                                     WAITIO_MPI_INT, &t),
                     WAITIO_ERR_ARG);
    assert_int_equal(WAITIO_MPI_Type_free(&basic_type), WAITIO_ERR_ARG);
    assert_int_equal(WAITIO_MPI_Type_contiguous(2, WAITIO_MPI_INT, &t), 0);
    assert_int_equal(wio_type_use(1, t, &used), WAITIO_MPI_ERR_TYPE); /* not committed */
    assert_int_equal(WAITIO_MPI_Type_commit(&t), 0);
    assert_int_equal(wio_type_use(1, t, &used), 0);
    old = t;
    assert_int_equal(WAITIO_MPI_Type_free(&t), 0);
    assert_int_equal(t, WAITIO_MPI_DATATYPE_NULL);
    assert_int_equal(WAITIO_MPI_Type_free(&old), WAITIO_ERR_ARG); /* stale */
    assert_int_equal(WAITIO_MPI_Type_contiguous(2, WAITIO_MPI_INT, &t), 0);
    assert_int_equal(WAITIO_MPI_Type_free(&old), WAITIO_ERR_ARG); /* its place has been taken */
    assert_int_equal(WAITIO_MPI_Type_free(&t), 0);
    for (int i = 0; i < 5000; i++) { /* numbers never run out */
        assert_int_equal(WAITIO_MPI_Type_contiguous(2, WAITIO_MPI_INT, &t), 0);
        assert_true((t & WAITIO_MPI_DEFTAG) != 0 && t != old);
        old = t;
        assert_int_equal(WAITIO_MPI_Type_free(&t), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_types_follow_the_definition),
        cmocka_unit_test(usual_types_are_short),
        cmocka_unit_test(repeating_costs_nothing),
        cmocka_unit_test(long_chains_stay_flat),
        cmocka_unit_test(solid_parts_of_types),
        cmocka_unit_test(marks_set_bounds),
        cmocka_unit_test(packing_by_hand),
        cmocka_unit_test(byte_order_changes_by_number),
        cmocka_unit_test(types_from_one_end_of_memory_to_the_other_are_refused),
        cmocka_unit_test(large_arrays_are_short),
        cmocka_unit_test(old_questions_refuse_wide_counts),
        cmocka_unit_test(misuse_is_refused),
    };
    setenv("WAITIO_ERRORS", "return", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
