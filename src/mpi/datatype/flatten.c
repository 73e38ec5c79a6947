/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Putting types together: blocks of known types become one list of runs, as short as possible. A
 * type of several runs that is repeated goes in as one run of that type. So does one of many runs
 * that is not repeated, unless that would make too deep a chain: each repetition at least doubles
 * the data, which ends at 2^63 bytes, but single elements could be wrapped without end.
 */
#include "mpi/datatype/type.h"
#include "os/os.h"

enum { FEW_RUNS = 4, DEEP = 16 };

void wio_maker_init(struct wio_type_maker *m)
{
    *m = (struct wio_type_maker){.align = 1};
}

static bool same_element(const struct wio_run *a, const struct wio_run *b)
{
    return a->of == b->of && a->width == b->width && a->unit == b->unit && a->form == b->form;
}

/* The span is not checked yet: if this overflows, wio_maker_finish refuses the type. */
static int64_t apart(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t times(size_t repeat, int64_t stride)
{
    return (int64_t)(repeat * (uint64_t)stride);
}

/* Extend the last run by @p r: directly behind it, or as its next repetition. */
static bool absorb(struct wio_run *last, const struct wio_run *r)
{
    int64_t bytes = (int64_t)(last->count * last->width);

    if (!same_element(last, r) || r->repeat != 1)
        return false;
    if (last->of == NULL && last->repeat == 1 && apart(r->at, last->at) == bytes) {
        last->count += r->count;
        return true;
    }
    if (r->count != last->count)
        return false;
    if (last->repeat == 1) {
        last->stride = apart(r->at, last->at);
        last->repeat = 2;
        return true;
    }
    if (apart(r->at, last->at) != times(last->repeat, last->stride))
        return false;
    last->repeat++;
    return true;
}

static void put(struct wio_type_maker *m, struct wio_run r)
{
    if (m->error != 0 || (m->nruns > 0 && absorb(&m->run[m->nruns - 1], &r)))
        return;
    if (m->nruns == m->cap) {
        size_t cap = m->cap == 0 ? 4 : 2 * m->cap;
        struct wio_run *at = wio_os_realloc(m->run, cap * sizeof *at);
        if (at == NULL) {
            m->error = wio_fail(WAITIO_ERR_NOMEM, "no memory for a type of %zu pieces", cap);
            return;
        }
        m->run = at;
        m->cap = cap;
    }
    if (r.of != NULL)
        wio_type_hold(r.of);
    m->run[m->nruns++] = r;
}

/* A type of one run `count` times, as one run. @return false: not possible */
static bool put_run(struct wio_type_maker *m, struct wio_run r, int64_t at, size_t count,
                    int64_t stride)
{
    r.at += at;
    if (r.of == NULL && r.repeat == 1 && (int64_t)(r.count * r.width) == stride) {
        r.count *= count;
    } else if (r.repeat == 1 && count > 1) {
        r.repeat = count;
        r.stride = stride;
    } else if (r.repeat > 1 && times(r.repeat, r.stride) == stride) {
        r.repeat *= count;
    } else if (count > 1) {
        return false;
    }
    put(m, r);
    return true;
}

static void put_elements(struct wio_type_maker *m, const struct wio_mpi_type *t, int64_t at,
                         size_t count, int64_t stride)
{
    if (t->nruns == 1 && put_run(m, t->run[0], at, count, stride))
        return;
    if (count > 1 || (t->nruns > FEW_RUNS && t->depth < DEEP)) {
        put(m, (struct wio_run){.at = at,
                                .count = t->size,
                                .repeat = count,
                                .stride = stride,
                                .of = t,
                                .width = 1,
                                .unit = 1});
        return;
    }
    for (size_t i = 0; i < t->nruns && m->error == 0; i++) {
        struct wio_run r = t->run[i];
        r.at += at;
        put(m, r);
    }
}

/* Sums and products of offsets and sizes; an overflow is an error of the type. */
static void too_large(struct wio_type_maker *m, bool overflow)
{
    if (overflow && m->error == 0)
        m->error = wio_fail(WAITIO_ERR_LIMIT, "a type that spans more than 2^63 bytes");
}

static int64_t sum(struct wio_type_maker *m, int64_t a, int64_t b)
{
    int64_t c = 0;

    too_large(m, __builtin_add_overflow(a, b, &c));
    return c;
}

int wio_type_scale(int64_t units, int64_t bytes, int64_t *out)
{
    if (!__builtin_mul_overflow(units, bytes, out))
        return 0;
    return wio_fail(WAITIO_ERR_LIMIT, "%lld times %lld bytes: a type that spans more than 2^63",
                    (long long)units, (long long)bytes);
}

static size_t product(struct wio_type_maker *m, size_t a, size_t b)
{
    size_t c = 0;

    too_large(m, __builtin_mul_overflow(a, b, &c) || c > INT64_MAX);
    return c;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Bounds that were set explicitly replace computed ones from now on. */
static void put_set_bounds(struct wio_type_maker *m, const struct wio_mpi_type *t, int64_t low,
                           int64_t high)
{
    bool is_lb = t->has_lb || t->id == WAITIO_MPI_LB, is_ub = t->has_ub || t->id == WAITIO_MPI_UB;

    if (is_lb)
        m->set_lb = m->has_lb ? least(m->set_lb, low) : low;
    if (is_ub)
        m->set_ub = m->has_ub ? most(m->set_ub, high) : high;
    m->has_lb |= is_lb;
    m->has_ub |= is_ub;
}

void wio_maker_add(struct wio_type_maker *m, const struct wio_mpi_type *t, int64_t at, size_t count)
{
    wio_maker_repeat(m, t, at, count, wio_type_extent(t));
}

void wio_maker_repeat(struct wio_type_maker *m, const struct wio_mpi_type *t, int64_t at,
                      size_t count, int64_t stride)
{
    int64_t reach = 0, first, last, low, high;

    if (count == 0)
        return;
    too_large(m, __builtin_mul_overflow((int64_t)(count - 1), stride, &reach));
    first = sum(m, at, least(0, reach));
    last = sum(m, at, most(0, reach));
    low = sum(m, first, t->lb);
    high = sum(m, last, t->ub);
    put_set_bounds(m, t, low, high);
    if (t->kind == WIO_KIND_MARK)
        return;
    m->lb = m->any ? least(m->lb, low) : low;
    m->ub = m->any ? most(m->ub, high) : high;
    m->any = true;
    m->align = t->align > m->align ? t->align : m->align;
    m->long_double |= t->long_double;
    if (t->size == 0)
        return;
    low = sum(m, first, t->true_lb);
    high = sum(m, last, t->true_ub);
    m->true_lb = m->any_data ? least(m->true_lb, low) : low;
    m->true_ub = m->any_data ? most(m->true_ub, high) : high;
    m->any_data = true;
    m->size = (size_t)sum(m, (int64_t)m->size, (int64_t)product(m, t->size, count));
    if (m->error == 0) {
        m->nbasic += t->nbasic * count; /* no more than bytes */
        put_elements(m, t, at, count, stride);
    }
}

void wio_maker_pad(struct wio_type_maker *m)
{
    int64_t span = 0, over;

    too_large(m, __builtin_sub_overflow(m->ub, m->lb, &span));
    over = m->align > 1 ? span % m->align : 0;
    if (over > 0)
        m->ub = sum(m, m->ub, m->align - over);
}

/* In order and without holes: the packed form is the memory itself. */
static bool is_solid(const struct wio_mpi_type *t)
{
    int64_t at = t->lb;

    for (size_t i = 0; i < t->nruns; i++) {
        const struct wio_run *r = &t->run[i];
        int64_t bytes = (int64_t)(r->count * r->width);
        if (r->of == NULL ? r->at != at : !r->of->solid || r->at + r->of->lb != at)
            return false;
        if (r->repeat > 1 && (r->of == NULL || r->stride != bytes))
            return false;
        at += bytes * (int64_t)r->repeat;
    }
    return at == t->ub;
}

/* Where in the packed form each run lies, and how deep the types go. */
static void settle(struct wio_mpi_type *t, struct wio_run run[])
{
    size_t from = 0;

    for (size_t i = 0; i < t->nruns; i++) {
        const struct wio_mpi_type *of = run[i].of;
        run[i].from = from;
        from += run[i].count * run[i].width * run[i].repeat;
        if (of != NULL && of->depth >= t->depth)
            t->depth = (uint8_t)(of->depth + 1);
    }
    t->solid = is_solid(t);
}

static void drop_runs(struct wio_type_maker *m)
{
    for (size_t i = 0; i < m->nruns; i++)
        wio_type_release(m->run[i].of);
    wio_os_free(m->run);
}

int wio_maker_finish(struct wio_type_maker *m, struct wio_mpi_type **out)
{
    size_t bytes = m->nruns * sizeof *m->run;
    int64_t lb = m->has_lb ? m->set_lb : m->lb, ub = m->has_ub ? m->set_ub : m->ub, extent;
    struct wio_mpi_type *t = NULL;

    too_large(m, __builtin_sub_overflow(ub, lb, &extent) ||
                     __builtin_sub_overflow(m->true_ub, m->true_lb, &extent));
    if (m->error == 0)
        t = wio_os_alloc(sizeof *t + bytes); /* the runs follow */
    if (t == NULL) {
        int rc = m->error != 0 ? m->error : wio_fail(WAITIO_ERR_NOMEM, "no memory for a type");
        drop_runs(m);
        return rc;
    }
    *t = (struct wio_mpi_type){.name = "derived type",
                               .kind = WIO_KIND_DERIVED,
                               .align = m->align,
                               .has_lb = m->has_lb,
                               .has_ub = m->has_ub,
                               .long_double = m->long_double,
                               .size = m->size,
                               .nbasic = m->nbasic,
                               .lb = lb,
                               .ub = ub,
                               .true_lb = m->true_lb,
                               .true_ub = m->true_ub,
                               .nruns = m->nruns,
                               .run = (const struct wio_run *)(t + 1),
                               .refs = 1};
    if (bytes > 0)
        memcpy(t + 1, m->run, bytes); /* with their references */
    settle(t, (struct wio_run *)(t + 1));
    wio_os_free(m->run);
    *out = t;
    return 0;
}
