/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every row of the algorithm table, for 1 to 13 processes and every root, against a sequential
 * reference. The schedules of all ranks are run against each other here, without a network; a
 * schedule that deadlocks, loses a message or disagrees about a size fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mpi/collectives/collectives.h"

enum { MOST = 13, COUNT = 5 };

/* ---- running schedules ---- */

struct message {
    struct message *next;
    size_t n;
    unsigned char data[];
};

struct world {
    int size;
    struct wio_schedule s[MOST];
    size_t at[MOST];                   /* first step of the rank's current round */
    int sent[MOST];                    /* the round's messages have been sent */
    struct message *queue[MOST][MOST]; /* [from][to], oldest first */
};

static void put(struct world *w, int from, int to, const void *data, size_t n)
{
    struct message *m = malloc(sizeof *m + n), **tail = &w->queue[from][to];
    assert_non_null(m);
    m->next = NULL;
    m->n = n;
    if (n > 0)
        memcpy(m->data, data, n);
    while (*tail != NULL)
        tail = &(*tail)->next;
    *tail = m;
}

static size_t end_of_round(const struct wio_schedule *s, size_t at)
{
    size_t end = at;
    while (end < s->nsteps && s->step[end].round == s->step[at].round)
        end++;
    return end;
}

/* Receives of one round that have no message yet, counting several from one peer. */
static int missing(const struct world *w, int me, size_t at, size_t end)
{
    int need[MOST] = {0};
    for (size_t i = at; i < end; i++) {
        const struct wio_step *step = &w->s[me].step[i];
        if (step->kind == WIO_STEP_RECV) {
            const struct message *m = w->queue[step->peer][me];
            for (int k = 0; k < need[step->peer] && m != NULL; k++)
                m = m->next;
            if (m == NULL)
                return 1;
            need[step->peer]++;
        }
    }
    return 0;
}

static int advance(struct world *w, int me)
{
    struct wio_schedule *s = &w->s[me];
    size_t at = w->at[me], end = end_of_round(s, at);

    if (at == s->nsteps)
        return 0;
    for (size_t i = at; !w->sent[me] && i < end; i++)
        if (s->step[i].kind == WIO_STEP_SEND) {
            assert_in_range(s->step[i].peer, 0, w->size - 1);
            assert_int_not_equal(s->step[i].peer, me);
            put(w, me, s->step[i].peer, s->step[i].from, s->step[i].n);
        }
    w->sent[me] = 1;
    if (missing(w, me, at, end))
        return 0;
    for (size_t i = at; i < end; i++) {
        if (s->step[i].kind != WIO_STEP_RECV)
            continue;
        struct message *m = w->queue[s->step[i].peer][me];
        w->queue[s->step[i].peer][me] = m->next;
        assert_int_equal(m->n, s->step[i].n);
        if (m->n > 0)
            memcpy(s->step[i].to, m->data, m->n);
        free(m);
    }
    wio_schedule_local(s, at, end);
    w->at[me] = end;
    w->sent[me] = 0;
    return 1;
}

static void run(struct world *w)
{
    int moved = 1;
    while (moved) {
        moved = 0;
        for (int r = w->size - 1; r >= 0; r--)
            moved += advance(w, r);
    }
    for (int r = 0; r < w->size; r++) {
        assert_int_equal(w->at[r], w->s[r].nsteps); /* else: deadlock */
        for (int q = 0; q < w->size; q++)
            assert_null(w->queue[r][q]);
        wio_schedule_free(&w->s[r]);
    }
}

/* ---- the calls ---- */

static int32_t value(int rank, int i)
{
    return rank * 1000 + i * 7 + 1;
}

static int32_t in[MOST][MOST * COUNT], out[MOST][MOST * COUNT];
static int counts[MOST], displs[MOST];

static void fill(int size, int n)
{
    memset(out, 0x55, sizeof out);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < n; i++)
            in[r][i] = value(r, i);
}

static void write_all(struct world *w, const struct wio_algorithm *a, int size, int root,
                      const struct wio_collective *shape, int in_place)
{
    wio_mpi_kernel sum;
    assert_int_equal(wio_mpi_find_kernel(WAITIO_MPI_INT, WAITIO_MPI_SUM, &sum), 0);
    *w = (struct world){.size = size};
    for (int r = 0; r < size; r++) {
        struct wio_collective c = *shape;
        c.root = root;
        c.out = out[r];
        c.in = in_place ? out[r] : in[r];
        if (shape->counts != NULL)
            c.bytes = sizeof(int32_t) * (size_t)counts[r];
        wio_schedule_init(&w->s[r], r, size, sum);
        a->write(&w->s[r], &c);
        assert_int_equal(w->s[r].error, 0);
    }
}

static int32_t sum_of(int size, int i)
{
    int32_t sum = 0;
    for (int r = 0; r < size; r++)
        sum += value(r, i);
    return sum;
}

static void check_reduction(const struct wio_algorithm *a, int size, int root, int in_place)
{
    struct world w;
    struct wio_collective c = {.bytes = COUNT * sizeof(int32_t), .count = COUNT};
    fill(size, COUNT);
    if (in_place)
        memcpy(out, in, sizeof out);
    write_all(&w, a, size, root, &c, in_place);
    run(&w);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < COUNT; i++) {
            if (r == root || a->kind == WIO_ALLREDUCE)
                assert_int_equal(out[r][i], sum_of(size, i));
            assert_int_equal(in[r][i], value(r, i)); /* inputs are not written to */
        }
}

static void check_bcast(const struct wio_algorithm *a, int size, int root)
{
    struct world w;
    struct wio_collective c = {.bytes = COUNT * sizeof(int32_t)};
    fill(size, COUNT);
    memcpy(out[root], in[root], sizeof out[root]);
    write_all(&w, a, size, root, &c, 0);
    run(&w);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(out[r][i], value(root, i));
}

static void check_allgather(const struct wio_algorithm *a, int size)
{
    struct world w;
    struct wio_collective c = {.bytes = COUNT * sizeof(int32_t), .unit = COUNT * sizeof(int32_t)};
    fill(size, COUNT);
    write_all(&w, a, size, 0, &c, 0);
    run(&w);
    for (int r = 0; r < size; r++)
        for (int q = 0; q < size; q++)
            for (int i = 0; i < COUNT; i++)
                assert_int_equal(out[r][q * COUNT + i], value(q, i));
}

/* Uneven blocks with holes, some empty, when v; equal ones otherwise. */
static struct wio_collective blocks(int size, int v)
{
    struct wio_collective c = {.bytes = COUNT * sizeof(int32_t), .unit = COUNT * sizeof(int32_t)};
    for (int r = 0; r < size; r++) {
        counts[r] = v ? (r * 2) % (COUNT + 1) : COUNT;
        displs[r] = (v ? size - 1 - r : r) * COUNT;
    }
    if (v) {
        c.unit = sizeof(int32_t);
        c.counts = counts;
        c.displs = displs;
    }
    return c;
}

static void check_gather(const struct wio_algorithm *a, int size, int root, int v)
{
    struct world w;
    struct wio_collective c = blocks(size, v);
    fill(size, COUNT);
    write_all(&w, a, size, root, &c, 0);
    run(&w);
    for (int q = 0; q < size; q++)
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(out[root][displs[q] + i], i < counts[q] ? value(q, i) : 0x55555555);
}

static void check_scatter(const struct wio_algorithm *a, int size, int root, int v)
{
    struct world w;
    struct wio_collective c = blocks(size, v);
    fill(size, size * COUNT);
    write_all(&w, a, size, root, &c, 0);
    run(&w);
    for (int q = 0; q < size; q++)
        for (int i = 0; i < COUNT; i++)
            assert_int_equal(out[q][i], i < counts[q] ? value(root, displs[q] + i) : 0x55555555);
}

static void check_barrier(const struct wio_algorithm *a, int size, int late)
{
    struct world w;
    struct wio_collective c = {0};
    write_all(&w, a, size, 0, &c, 0);
    /* Nobody leaves while one has not come. */
    for (int again = 0; size > 1 && again < 2 * size; again++)
        for (int r = 0; r < size; r++)
            if (r != late)
                advance(&w, r);
    for (int r = 0; size > 1 && r < size; r++)
        assert_true(w.at[r] < w.s[r].nsteps);
    run(&w);
}

static void check_row(const struct wio_algorithm *a, int size, int root)
{
    switch (a->kind) {
    case WIO_BARRIER:
        check_barrier(a, size, root);
        break;
    case WIO_BCAST:
        check_bcast(a, size, root);
        break;
    case WIO_REDUCE:
    case WIO_ALLREDUCE:
        check_reduction(a, size, root, 0);
        check_reduction(a, size, root, 1);
        break;
    case WIO_GATHER:
        check_gather(a, size, root, 0);
        check_gather(a, size, root, 1);
        break;
    case WIO_SCATTER:
        check_scatter(a, size, root, 0);
        check_scatter(a, size, root, 1);
        break;
    default:
        check_allgather(a, size);
    }
}

static void every_algorithm_gives_the_reference_result(void **state)
{
    (void)state;
    for (int i = 0; wio_algorithm_row(i) != NULL; i++)
        for (int size = 1; size <= MOST; size++)
            for (int root = 0; root < size; root++)
                check_row(wio_algorithm_row(i), size, root);
}

/* The fold order is fixed, so floating-point results are the same bits on every process. */
static void allreduce_of_floats_is_identical_everywhere(void **state)
{
    static double x[MOST][COUNT], y[MOST][COUNT];
    wio_mpi_kernel sum;

    (void)state;
    assert_int_equal(wio_mpi_find_kernel(WAITIO_MPI_DOUBLE, WAITIO_MPI_SUM, &sum), 0);
    for (int row = 0; wio_algorithm_row(row) != NULL; row++) {
        const struct wio_algorithm *a = wio_algorithm_row(row);
        for (int size = 2; a->kind == WIO_ALLREDUCE && size <= MOST; size++) {
            struct world w = {.size = size};
            for (int r = 0; r < size; r++) {
                struct wio_collective c = {
                    .in = x[r], .out = y[r], .bytes = sizeof x[r], .count = COUNT};
                for (int i = 0; i < COUNT; i++)
                    x[r][i] = 1.0 / (3.0 + 7 * r + i) * (i % 2 ? 1e10 : 1);
                wio_schedule_init(&w.s[r], r, size, sum);
                a->write(&w.s[r], &c);
            }
            run(&w);
            for (int r = 1; r < size; r++)
                assert_memory_equal(y[r], y[0], sizeof y[0]);
        }
    }
}

static void selection_follows_the_table(void **state)
{
    (void)state;
    assert_string_equal(wio_algorithm_select(WIO_ALLREDUCE, 4, 8)->name, "doubling");
    assert_string_equal(wio_algorithm_select(WIO_ALLREDUCE, 4, 1 << 20)->name, "reduce_bcast");
    assert_string_equal(wio_algorithm_select(WIO_ALLGATHER, 4, 8)->name, "bruck");
    assert_string_equal(wio_algorithm_select(WIO_ALLGATHER, 4, 1 << 20)->name, "ring");
    for (int kind = 0; kind < WIO_COLLECTIVE_COUNT; kind++)
        assert_int_equal(wio_algorithm_select(kind, 1 << 30, SIZE_MAX)->kind, kind);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_gives_the_reference_result),
        cmocka_unit_test(allreduce_of_floats_is_identical_everywhere),
        cmocka_unit_test(selection_follows_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
