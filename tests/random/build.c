/* SPDX-License-Identifier: BSD-3-Clause */
#include "build.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_COPIES = 4, MOST_MEMBERS = 3 };

static const struct {
    MPI_Datatype type;
    int size;
} kinds[] = {
    {MPI_CHAR, sizeof(char)},
    {MPI_INT, sizeof(int)},
    {MPI_DOUBLE, sizeof(double)},
    {MPI_BYTE, 1},
    {MPI_SHORT, sizeof(short)},
    {MPI_LONG, sizeof(long)},
    {MPI_FLOAT, sizeof(float)},
    {MPI_UNSIGNED, sizeof(unsigned)},
    {MPI_SIGNED_CHAR, 1},
    {MPI_UNSIGNED_CHAR, 1},
    {MPI_UNSIGNED_SHORT, sizeof(short)},
    {MPI_UNSIGNED_LONG, sizeof(long)},
    {MPI_LONG_LONG, sizeof(long long)},
    {MPI_INT8_T, 1},
    {MPI_UINT16_T, 2},
    {MPI_INT32_T, 4},
    {MPI_UINT64_T, 8},
};
enum { KINDS = sizeof kinds / sizeof *kinds, BYTES = 3 };

int kind_size(int kind)
{
    return kinds[kind].size;
}

static ptrdiff_t upward(ptrdiff_t x, ptrdiff_t unit)
{
    return (x >= 0 ? x + unit - 1 : x) / unit * unit;
}

static ptrdiff_t downward(ptrdiff_t x, ptrdiff_t unit)
{
    return -upward(-x, unit);
}

static ptrdiff_t alignment(const struct layout *l)
{
    ptrdiff_t most = 1;
    for (int i = 0; i < l->nruns; i++)
        if (kinds[l->runs[i].kind].size > most)
            most = kinds[l->runs[i].kind].size;
    return most;
}

/* ---- the model ---- */

static void add_run(struct layout *l, struct run run)
{
    struct run *last = l->nruns > 0 ? &l->runs[l->nruns - 1] : NULL;
    ptrdiff_t end = run.at + (ptrdiff_t)run.n * kinds[run.kind].size;

    if (l->nruns == 0 || run.at < l->low)
        l->low = run.at;
    if (l->nruns == 0 || end > l->high)
        l->high = end;
    l->elements += run.n;
    l->size += (size_t)run.n * (size_t)kinds[run.kind].size;
    if (last != NULL && last->kind == run.kind &&
        last->at + (ptrdiff_t)last->n * kinds[run.kind].size == run.at) {
        last->n += run.n;
        return;
    }
    l->runs = realloc(l->runs, sizeof run * (size_t)(l->nruns + 1));
    l->runs[l->nruns++] = run;
}

/* One more element of a part at a place; bounds are the outermost ones. */
static void add_copy(struct layout *l, const struct layout *part, ptrdiff_t at)
{
    ptrdiff_t end = l->lb + l->extent;

    if (l->nruns == 0 || at + part->lb < l->lb)
        l->lb = at + part->lb;
    if (l->nruns == 0 || at + part->lb + part->extent > end)
        end = at + part->lb + part->extent;
    l->extent = end - l->lb;
    for (int i = 0; i < part->nruns; i++) {
        struct run run = part->runs[i];
        run.at += at;
        add_run(l, run);
    }
}

static struct layout empty(void)
{
    return (struct layout){.mult = 1, .own = true};
}

static void replace(struct layout *l, MPI_Datatype type)
{
    if (l->own)
        MPI_Type_free(&l->type);
    l->type = type;
    l->own = true;
}

static void drop(struct layout *part)
{
    if (part->own)
        MPI_Type_free(&part->type);
    free(part->runs);
}

/* ---- constructors ---- */

static void basic(int kind, struct layout *out)
{
    *out = (struct layout){.type = kinds[kind].type, .mult = 1, .extent = kinds[kind].size};
    add_run(out, (struct run){0, kind, 1});
}

static void set_bounds(struct layout *l, ptrdiff_t lb, ptrdiff_t extent)
{
    MPI_Datatype type;
    MPI_Type_create_resized(l->type, lb, extent, &type);
    replace(l, type);
    l->lb = lb;
    l->extent = extent;
}

static void strange_bounds(struct dice *mine, struct layout *l)
{
    ptrdiff_t unit = alignment(l), lb = downward(l->low, unit) + unit * (below(mine, 5) - 3);
    ptrdiff_t extent = upward(l->high - lb, unit) + unit * below(mine, 3);

    if (chance(mine, 30)) /* the next element begins within this one */
        extent = unit * (1 + below(mine, 4));
    set_bounds(l, lb, extent > 0 ? extent : unit);
}

/* n elements one by one: contiguous or with a stride. */
static void strided(struct dice *mine, bool calm, const struct layout *sub, int n,
                    struct layout *out)
{
    int way = calm ? 0 : below(mine, 3);
    ptrdiff_t step = sub->extent, unit = alignment(sub);

    if (way == 0)
        MPI_Type_contiguous(n, sub->type, &out->type);
    if (way == 1) {
        int stride = below(mine, 6) - 2;
        if (stride <= 0)
            stride--;
        step = stride * sub->extent;
        MPI_Type_vector(n, 1, stride, sub->type, &out->type);
    }
    if (way == 2) {
        step = upward(sub->high - sub->low, unit) + unit * below(mine, 3);
        if (chance(mine, 40))
            step = -step;
        MPI_Type_create_hvector(n, 1, step, sub->type, &out->type);
    }
    for (int i = 0; i < n; i++)
        add_copy(out, sub, i * step);
}

/* Blocks of elements in any order of memory, in units of the extent or of bytes. */
static void indexed(struct dice *mine, const struct layout *sub, int n, struct layout *out)
{
    int lengths[MOST_COPIES], displs[MOST_COPIES], order[MOST_COPIES], blocks = 0, at;
    MPI_Aint bytes[MOST_COPIES];
    bool in_bytes = chance(mine, 50);
    ptrdiff_t unit = alignment(sub), gap;

    for (int left = n; left > 0; left -= lengths[blocks++])
        lengths[blocks] = 1 + below(mine, left);
    shuffled(mine, order, blocks);
    at = -below(mine, 4);
    gap = unit * below(mine, 3);
    for (int i = 0; i < blocks; i++) {
        displs[order[i]] = at;
        bytes[order[i]] = at * (sub->extent + gap);
        at += lengths[order[i]] + below(mine, 2);
    }
    if (in_bytes)
        MPI_Type_create_hindexed(blocks, lengths, bytes, sub->type, &out->type);
    else
        MPI_Type_indexed(blocks, lengths, displs, sub->type, &out->type);
    for (int i = 0; i < blocks; i++)
        for (int k = 0; k < lengths[i]; k++)
            add_copy(out, sub, (in_bytes ? bytes[i] : displs[i] * sub->extent) + k * sub->extent);
}

/* The same with blocks of one length. */
static void equal_blocks(struct dice *mine, const struct layout *sub, int n, struct layout *out)
{
    int length = n % 2 == 0 && chance(mine, 50) ? 2 : 1, blocks = n / length;
    int displs[MOST_COPIES], order[MOST_COPIES], at = -below(mine, 4);
    MPI_Aint bytes[MOST_COPIES];
    bool in_bytes = chance(mine, 50);

    shuffled(mine, order, blocks);
    for (int i = 0; i < blocks; i++) {
        displs[order[i]] = at;
        bytes[order[i]] = at * sub->extent;
        at += length + below(mine, 2);
    }
    if (in_bytes)
        MPI_Type_create_hindexed_block(blocks, length, bytes, sub->type, &out->type);
    else
        MPI_Type_create_indexed_block(blocks, length, displs, sub->type, &out->type);
    for (int i = 0; i < n; i++)
        add_copy(out, sub, (displs[i / length] + i % length) * sub->extent);
}

/* A window of a two-dimensional array. Bounds that are not 0 make its own unclear. */
static void window(struct dice *mine, const struct layout *sub, int n, struct layout *out)
{
    bool fortran = chance(mine, 50);
    int slow = n % 2 == 0 && chance(mine, 60) ? 2 : 1, fast = n / slow;
    int whole[2] = {slow + below(mine, 3), fast + below(mine, 3)}, part[2] = {slow, fast};
    int first[2] = {below(mine, whole[0] - slow + 1), below(mine, whole[1] - fast + 1)};
    ptrdiff_t extent = whole[0] * whole[1] * sub->extent;

    for (int i = 0; i < n; i++)
        add_copy(out, sub, ((i / fast + first[0]) * whole[1] + i % fast + first[1]) * sub->extent);
    if (fortran) {
        int w[2] = {whole[1], whole[0]}, p[2] = {part[1], part[0]}, f[2] = {first[1], first[0]};
        MPI_Type_create_subarray(2, w, p, f, MPI_ORDER_FORTRAN, sub->type, &out->type);
    } else {
        MPI_Type_create_subarray(2, whole, part, first, MPI_ORDER_C, sub->type, &out->type);
    }
    set_bounds(out, 0, extent);
}

static void repeat(struct dice *shape, struct dice *mine, bool calm, int depth, struct layout *out)
{
    struct layout sub;
    int n = 1 + below(shape, MOST_COPIES), way;

    build_type(shape, mine, calm, depth - 1, &sub);
    *out = empty();
    way = calm ? 0 : below(mine, 4);
    if (way == 0)
        strided(mine, calm, &sub, n, out);
    if (way == 1)
        indexed(mine, &sub, n, out);
    if (way == 2)
        equal_blocks(mine, &sub, n, out);
    if (way == 3)
        window(mine, &sub, n, out);
    drop(&sub);
}

/* A structure. MPIs pad it as they like, so it gets bounds. */
static void record(struct dice *shape, struct dice *mine, bool calm, int depth, struct layout *out)
{
    struct layout sub[MOST_MEMBERS];
    int lengths[MOST_MEMBERS], order[MOST_MEMBERS], members = 1 + below(shape, MOST_MEMBERS);
    MPI_Aint at[MOST_MEMBERS];
    MPI_Datatype types[MOST_MEMBERS];
    ptrdiff_t cursor = calm ? 0 : -16 * below(mine, 4), unit;

    for (int i = 0; i < members; i++) {
        lengths[i] = 1 + below(shape, 2);
        build_type(shape, mine, calm, depth - 1, &sub[i]);
        types[i] = sub[i].type;
        order[i] = i;
    }
    if (!calm)
        shuffled(mine, order, members);
    for (int i = 0; i < members; i++) {
        int k = order[i];
        ptrdiff_t low, high;
        layout_reach(&sub[k], lengths[k], &low, &high);
        at[k] = upward(cursor - low, 16);
        cursor = at[k] + high + (calm ? 0 : 8 * below(mine, 3));
    }
    *out = empty();
    MPI_Type_create_struct(members, lengths, at, types, &out->type);
    for (int i = 0; i < members; i++) {
        for (int k = 0; k < lengths[i]; k++)
            add_copy(out, &sub[i], at[i] + k * sub[i].extent);
        drop(&sub[i]);
    }
    unit = 16;
    set_bounds(out, downward(out->low, unit), upward(out->high, unit) - downward(out->low, unit));
}

void build_type(struct dice *shape, struct dice *mine, bool calm, int depth, struct layout *out)
{
    int what = depth == 0 ? 0 : below(shape, 4);

    if (what == 0)
        basic(below(shape, KINDS), out);
    else if (what == 3)
        record(shape, mine, calm, depth, out);
    else
        repeat(shape, mine, calm, depth, out);
    if (calm || what == 0)
        return;
    if (chance(mine, 25))
        strange_bounds(mine, out);
    if (chance(mine, 8)) {
        MPI_Datatype twin;
        MPI_Type_dup(out->type, &twin);
        replace(out, twin);
    }
}

/* n elements of a kind, as n elements of MPI's own type. */
static void plain(int kind, int n, struct layout *out)
{
    *out = (struct layout){.type = kinds[kind].type, .mult = n};
    out->extent = (ptrdiff_t)n * kinds[kind].size;
    add_run(out, (struct run){0, kind, n});
}

bool build_flat(struct layout *l)
{
    int kind = l->runs[0].kind, n = l->elements;

    for (int i = 1; i < l->nruns; i++)
        if (l->runs[i].kind != kind)
            return false;
    drop(l);
    plain(kind, n, l);
    return true;
}

void build_bytes(size_t n, struct layout *out)
{
    plain(BYTES, (int)n, out);
}
