/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Constructors. Each is put together from two of ours: equal elements at a stride of bytes, and
 * blocks at places in bytes. So no rule of ours for bounds has a say in where data lies.
 */
#include "span/layouts.h"

#include "os/os.h"

typedef WAITIO_MPI_Datatype type_t;

static int scale(MPI_Count units, MPI_Count bytes, MPI_Count *out)
{
    return __builtin_mul_overflow(units, bytes, out) ? WAITIO_MPI_ERR_COUNT : 0;
}

static int extent_of(type_t type, MPI_Count *extent)
{
    WAITIO_MPI_Aint lb = 0, bytes = 0;
    int rc = WAITIO_MPI_Type_get_extent(type, &lb, &bytes);

    *extent = (MPI_Count)bytes;
    return rc;
}

/* Two parts, one behind the other in the data's order. Both are freed. */
static int join(type_t parts[2], MPI_Count second_at, type_t *out)
{
    const WAITIO_MPI_Count ones[2] = {1, 1}, at[2] = {0, second_at};
    int rc = WAITIO_MPI_Type_create_struct_c(2, ones, at, parts, out);

    (void)WAITIO_MPI_Type_free(&parts[0]);
    (void)WAITIO_MPI_Type_free(&parts[1]);
    return rc;
}

/* @p n elements, @p stride bytes apart. */
static int repeat(type_t of, MPI_Count n, MPI_Count stride, type_t *out)
{
    return n < 0 ? WAITIO_MPI_ERR_COUNT : WAITIO_MPI_Type_create_hvector_c(n, 1, stride, of, out);
}

/* Any number of elements side by side. */
static int row_of(type_t type, MPI_Count n, type_t *out)
{
    MPI_Count extent = 0;
    int rc = extent_of(type, &extent);

    return rc != 0 ? rc : repeat(type, n, extent, out);
}

/* The type @p bytes further on, with the same extent. */
static int further(type_t type, MPI_Count bytes, type_t *out)
{
    const WAITIO_MPI_Count place = bytes;

    return WAITIO_MPI_Type_create_hindexed_block_c(1, 1, &place, type, out);
}

/* @p n blocks of @p length elements, @p stride bytes apart. */
static int vector(type_t of, MPI_Count n, MPI_Count length, MPI_Count stride, type_t *out)
{
    type_t block;
    int rc = row_of(of, length, &block);

    if (rc != 0)
        return rc;
    rc = repeat(block, n, stride, out);
    (void)WAITIO_MPI_Type_free(&block);
    return rc;
}

/* ---- blocks ---- */

/* Each of some elements of a type, at a place. */
struct blocks {
    MPI_Count n;
    const MPI_Count *lengths; /* one for all if `same` */
    const MPI_Count *places;  /* in units of `unit` bytes */
    MPI_Count unit;
    type_t *types; /* one for all if not `mixed` */
    bool same, mixed;
};

static int make_blocks(const struct blocks *b, type_t *out)
{
    const WAITIO_MPI_Count *lengths = span_counts(b->lengths);
    WAITIO_MPI_Count *bytes;
    MPI_Count at = 0;
    int rc = 0;

    if (b->n < 0)
        return WAITIO_MPI_ERR_COUNT;
    bytes = wio_os_alloc(((size_t)b->n + 1) * sizeof *bytes);
    if (bytes == NULL)
        return WAITIO_ERR_NOMEM;
    for (MPI_Count i = 0; rc == 0 && i < b->n; i++) {
        rc = scale(b->places[i], b->unit, &at);
        bytes[i] = at;
    }
    if (rc == 0 && b->mixed)
        rc = WAITIO_MPI_Type_create_struct_c(b->n, lengths, bytes, b->types, out);
    else if (rc == 0 && b->same)
        rc = WAITIO_MPI_Type_create_hindexed_block_c(b->n, lengths[0], bytes, b->types[0], out);
    else if (rc == 0)
        rc = WAITIO_MPI_Type_create_hindexed_c(b->n, lengths, bytes, b->types[0], out);
    wio_os_free(bytes);
    return rc;
}

/* ---- parts of arrays ---- */

/* Give up the type of the dimensions so far for the one with a further dimension. */
static void go_on(type_t *done, bool *mine, type_t next)
{
    if (*mine)
        (void)WAITIO_MPI_Type_free(done);
    *done = next;
    *mine = true;
}

/* The end: what was made, at byte @p at. */
static int put_at(type_t *done, bool mine, MPI_Count at, type_t *out)
{
    int rc = further(*done, at, out);

    if (mine)
        (void)WAITIO_MPI_Type_free(done);
    return rc;
}

static int subarray(const struct span_layout *l, type_t *out)
{
    const MPI_Count *v = l->value;
    MPI_Count dims = v[0], row = 0, at = 0, skip;
    bool by_rows = (l->large ? v[1] : v[1 + 3 * dims]) == MPI_ORDER_C, mine = false;
    const MPI_Count *sizes = l->large ? v + 2 : v + 1, *parts = sizes + dims,
                    *starts = parts + dims;
    type_t done = l->of[0], next;
    int rc = extent_of(done, &row);

    for (MPI_Count i = 0; rc == 0 && i < dims; i++) { /* from the fastest dimension outwards */
        MPI_Count d = by_rows ? dims - 1 - i : i;
        rc = repeat(done, parts[d], row, &next);
        if (rc != 0)
            break;
        go_on(&done, &mine, next);
        rc = scale(starts[d], row, &skip);
        if (rc == 0 && __builtin_add_overflow(at, skip, &at))
            rc = WAITIO_MPI_ERR_COUNT;
        rc = rc != 0 ? rc : scale(sizes[d], row, &row);
    }
    if (rc == 0)
        return put_at(&done, mine, at, out);
    if (mine)
        (void)WAITIO_MPI_Type_free(&done);
    return rc;
}

/* One dimension of an array that is dealt out to processes. */
struct dealt {
    MPI_Count size, block, parts, mine;
};

static int deal(MPI_Count how, MPI_Count arg, struct dealt *d)
{
    bool free_ = arg == MPI_DISTRIBUTE_DFLT_DARG;

    if (d->parts < 1 || d->size < 0)
        return WAITIO_MPI_ERR_TYPE;
    if (how == MPI_DISTRIBUTE_NONE)
        d->block = d->size;
    else if (how == MPI_DISTRIBUTE_CYCLIC)
        d->block = free_ ? 1 : arg;
    else
        d->block = free_ ? d->size / d->parts + (d->size % d->parts != 0) : arg;
    return d->block > 0 ? 0 : WAITIO_MPI_ERR_TYPE;
}

/* What this process has of the dimension: whole blocks, and one that the array's end cuts. */
static int take(const struct dealt *d, type_t of, MPI_Count row, type_t *out)
{
    MPI_Count first = 0, step = 0, place = 0, round = 0, whole = 0, rest = 0;
    type_t block, parts[2];
    int rc = scale(d->mine, d->block, &first);

    rc = rc != 0 ? rc : scale(d->parts, d->block, &round);
    rc = rc != 0 ? rc : scale(round, row, &step);
    rc = rc != 0 ? rc : scale(first, row, &place);
    if (rc != 0)
        return rc;
    if (first < d->size) {
        MPI_Count last = (d->size - 1 - first) / round; /* the last block that begins */
        MPI_Count left = d->size - first - last * round;
        whole = left >= d->block ? last + 1 : last;
        rest = left >= d->block ? 0 : left;
    }
    rc = vector(of, whole, d->block, step, &parts[0]);
    if (rc != 0)
        return rc;
    rc = repeat(of, rest, row, &parts[1]);
    if (rc != 0) {
        (void)WAITIO_MPI_Type_free(&parts[0]);
        return rc;
    }
    rc = join(parts, whole * step, &block);
    return rc != 0 ? rc : put_at(&block, true, place, out);
}

/* The elements lie `row` bytes apart, whatever the bounds of what was made so far. */
static int spaced(type_t *type, bool *mine, MPI_Count row)
{
    type_t next;
    int rc = WAITIO_MPI_Type_create_resized(*type, 0, (WAITIO_MPI_Aint)row, &next);

    if (rc == 0)
        go_on(type, mine, next);
    return rc;
}

/* What process v[1] of a grid has of each dimension. */
static int deal_all(const MPI_Count *v, const MPI_Count *sizes, const MPI_Count *how,
                    struct dealt all[])
{
    MPI_Count dims = v[2], rank = v[1];
    const MPI_Count *args = how + dims, *parts = args + dims;
    int rc = 0;

    for (MPI_Count d = dims - 1; rc == 0 && d >= 0; d--) { /* the grid is in row order */
        all[d] = (struct dealt){.size = sizes[d], .parts = parts[d]};
        rc = deal(how[d], args[d], &all[d]);
        if (rc == 0) {
            all[d].mine = rank % parts[d];
            rank /= parts[d];
        }
    }
    return rc;
}

/* The type of all dimensions, from the fastest outwards. */
static int take_all(MPI_Count dims, bool by_rows, const struct dealt all[], type_t of, type_t *out)
{
    MPI_Count row = 0;
    bool mine = false;
    type_t done = of, next;
    int rc = extent_of(done, &row);

    for (MPI_Count i = 0; rc == 0 && i < dims; i++) {
        const struct dealt *d = &all[by_rows ? dims - 1 - i : i];
        rc = i > 0 ? spaced(&done, &mine, row) : 0;
        rc = rc != 0 ? rc : take(d, done, row, &next);
        if (rc == 0)
            go_on(&done, &mine, next);
        rc = rc != 0 ? rc : scale(d->size, row, &row);
    }
    if (rc == 0)
        return put_at(&done, mine, 0, out);
    if (mine)
        (void)WAITIO_MPI_Type_free(&done);
    return rc;
}

static int darray(const struct span_layout *l, type_t *out)
{
    const MPI_Count *v = l->value;
    MPI_Count dims = v[2];
    const MPI_Count *how = l->large ? v + 3 : v + 3 + dims, *order = how + 3 * dims,
                    *sizes = l->large ? order + 1 : v + 3;
    struct dealt *all = wio_os_alloc(((size_t)dims + 1) * sizeof *all);
    int rc = all != NULL ? deal_all(v, sizes, how, all) : WAITIO_ERR_NOMEM;

    if (rc == 0)
        rc = take_all(dims, *order == MPI_ORDER_C, all, l->of[0], out);
    wio_os_free(all);
    return rc;
}

/* ---- all ---- */

/* @return 0 with the blocks of a constructor that lists them; ERR_TYPE: it is another one */
static int find_blocks(const struct span_layout *l, struct blocks *b)
{
    const MPI_Count *v = l->value;
    int combiner = l->combiner;
    bool listed = combiner == MPI_COMBINER_INDEXED || combiner == MPI_COMBINER_HINDEXED ||
                  combiner == MPI_COMBINER_STRUCT;
    bool same = combiner == MPI_COMBINER_INDEXED_BLOCK || combiner == MPI_COMBINER_HINDEXED_BLOCK;

    if (!listed && !same)
        return WAITIO_MPI_ERR_TYPE;
    *b = (struct blocks){.n = v[0],
                         .lengths = v + 1,
                         .places = same ? v + 2 : v + 1 + v[0],
                         .unit = 1,
                         .types = l->of,
                         .same = same,
                         .mixed = combiner == MPI_COMBINER_STRUCT};
    if (combiner == MPI_COMBINER_INDEXED || combiner == MPI_COMBINER_INDEXED_BLOCK)
        return extent_of(l->of[0], &b->unit);
    return 0;
}

int span_layout_make(const struct span_layout *l, type_t *out)
{
    const MPI_Count *v = l->value;
    MPI_Count stride = 0;
    struct blocks b;
    int rc;

    switch (l->combiner) {
    case MPI_COMBINER_DUP:
        return WAITIO_MPI_Type_dup(l->of[0], out);
    case MPI_COMBINER_CONTIGUOUS:
        return row_of(l->of[0], v[0], out);
    case MPI_COMBINER_VECTOR:
        rc = extent_of(l->of[0], &stride);
        rc = rc != 0 ? rc : scale(v[2], stride, &stride);
        return rc != 0 ? rc : vector(l->of[0], v[0], v[1], stride, out);
    case MPI_COMBINER_HVECTOR:
        return vector(l->of[0], v[0], v[1], v[2], out);
    case MPI_COMBINER_RESIZED:
        return WAITIO_MPI_Type_create_resized(l->of[0], (WAITIO_MPI_Aint)v[0],
                                              (WAITIO_MPI_Aint)v[1], out);
    case MPI_COMBINER_SUBARRAY:
        return subarray(l, out);
    case MPI_COMBINER_DARRAY:
        return darray(l, out);
    default:
        rc = find_blocks(l, &b);
        return rc != 0 ? rc : make_blocks(&b, out);
    }
}
