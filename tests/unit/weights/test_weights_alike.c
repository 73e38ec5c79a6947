/* SPDX-License-Identifier: BSD-3-Clause */
/* The same weights to the last bit: with any number of threads, and for a process that has some of
 * the targets, in any order, and only the source cells near them, in any order. */
#include "help.h"

static const struct {
    enum wio_method method;
    const char *source, *target;
    double margin; /* how far around its targets a process knows source cells */
} CASES[] = {
    {WIO_METHOD_NEAREST, "ico12", "r48x24", 0.2},
    {WIO_METHOD_DISTANCE, "r48x24", "cs9", 0.4},
    {WIO_METHOD_BILINEAR, "r48x24", "ico8", 0.4},
    {WIO_METHOD_BARYCENTRIC, "cs12", "r30x15", 0.6},
    {WIO_METHOD_BARYCENTRIC, "r70x12", "cs8", 0.8},
    {WIO_METHOD_CONSERVATIVE, "cs12", "r48x24", 0},
    {WIO_METHOD_CONSERVATIVE2, "ico10", "r48x24", 0.4},
    {WIO_METHOD_CONSERVATIVE2, "r48x24", "cs9", 0.4},
};
enum { N_CASES = sizeof CASES / sizeof CASES[0] };

/** As doubles are stored. */
static void assert_row(const struct wio_weights *a, size_t i, const struct wio_weights *b, size_t k)
{
    size_t n = a->row[i + 1] - a->row[i];
    assert_int_equal(n, b->row[k + 1] - b->row[k]);
    assert_int_equal(a->method[i], b->method[k]);
    assert_memory_equal(a->source + a->row[i], b->source + b->row[k], n * sizeof *a->source);
    assert_memory_equal(a->weight + a->row[i], b->weight + b->row[k], n * sizeof *a->weight);
    assert_memory_equal(&a->coverage[i], &b->coverage[k], sizeof *a->coverage);
}

static void any_number_of_threads(void **state)
{
    (void)state;
    for (size_t c = 0; c < N_CASES; c++) {
        struct wio_grid *s = named(CASES[c].source), *t = named(CASES[c].target);
        struct wio_weights_options options = by(CASES[c].method);
        options.threads = 1;
        struct wio_weights one = make(s, t, options);
        for (options.threads = 2; options.threads < 10; options.threads += 5) {
            struct wio_weights many = make(s, t, options);
            assert_int_equal(many.n_links, one.n_links);
            for (size_t i = 0; i < t->n; i++)
                assert_row(&one, i, &many, i);
            wio_weights_free(&many);
        }
        wio_weights_free(&one);
        wio_grid_free(s);
        wio_grid_free(t);
    }
}

/** Chosen cells of others, with their global indices. */
static struct wio_grid *some(const struct wio_cells *all, const size_t *chosen, size_t n)
{
    struct wio_own_cells own = {.n_own = 0};
    int64_t *index = wio_own_cells_alloc(&own, n * sizeof *index);
    double *x = wio_own_cells_alloc(&own, n * sizeof *x),
           *y = wio_own_cells_alloc(&own, n * sizeof *y);
    size_t corners = (size_t)all->corners;
    double *cx = wio_own_cells_alloc(&own, n * corners * sizeof *cx),
           *cy = wio_own_cells_alloc(&own, n * corners * sizeof *cy);
    for (size_t i = 0; i < n; i++) {
        size_t from = chosen[i];
        index[i] = (int64_t)from + 1;
        x[i] = all->x[from];
        y[i] = all->y[from];
        memcpy(cx + corners * i, all->cx + corners * from, corners * sizeof *cx);
        memcpy(cy + corners * i, all->cy + corners * from, corners * sizeof *cy);
    }
    struct wio_cells cells = *all;
    cells.n = n;
    cells.index = index;
    cells.x = x;
    cells.y = y;
    cells.cx = cx;
    cells.cy = cy;
    struct wio_grid *grid = grid_of(&cells);
    wio_own_cells_free(&own);
    return grid;
}

static void shuffle(size_t *all, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t k = (size_t)(chance() * (double)i), swap = all[i - 1];
        all[i - 1] = all[k];
        all[k] = swap;
    }
}

static void one_process(size_t c, const struct wio_own_cells *all, struct wio_grid *const whole[2],
                        const struct wio_weights *w, const size_t *part, size_t n)
{
    struct wio_grid *t = some(&all[1].cells, part, n);
    struct wio_region region[40];
    size_t *near = malloc(whole[0]->n * sizeof *near), n_near = 0;
    bool *chosen = calloc(whole[0]->n, sizeof *chosen);
    int boxes = wio_grid_cover(t, 40, region, NULL);
    assert_true(boxes > 0 && boxes <= 40);
    assert_int_equal(wio_grid_choose(whole[0], region, boxes, CASES[c].margin, chosen), 0);
    for (size_t i = 0; i < whole[0]->n; i++)
        if (chosen[i])
            near[n_near++] = i;
    if (n < whole[1]->n / 3)
        assert_true(n_near < whole[0]->n); /* boxes are about the cells, not the world */
    shuffle(near, n_near);
    struct wio_grid *s = some(&all[0].cells, near, n_near);
    struct wio_weights mine = make(s, t, by(CASES[c].method));
    for (size_t i = 0; i < n; i++)
        assert_row(w, part[i], &mine, i);
    wio_weights_free(&mine);
    wio_grid_free(s);
    wio_grid_free(t);
    free(near);
    free(chosen);
}

static void any_partition(void **state)
{
    (void)state;
    for (size_t c = 0; c < N_CASES; c++) {
        struct wio_own_cells all[2] = {shape(CASES[c].source), shape(CASES[c].target)};
        struct wio_grid *const whole[2] = {grid_of(&all[0].cells), grid_of(&all[1].cells)};
        struct wio_weights w = make(whole[0], whole[1], by(CASES[c].method));
        size_t n = whole[1]->n, *order = malloc(n * sizeof *order);
        for (size_t parts = 1; parts < 20; parts *= 6) { /* blocks of the grid, each in any order */
            for (size_t i = 0; i < n; i++)
                order[i] = i;
            for (size_t p = 0; p < parts; p++) {
                size_t begin = n * p / parts, end = n * (p + 1) / parts;
                shuffle(order + begin, end - begin);
                one_process(c, all, whole, &w, order + begin, end - begin);
            }
        }
        free(order);
        wio_weights_free(&w);
        for (int k = 0; k < 2; k++) {
            wio_grid_free(whole[k]);
            wio_own_cells_free(&all[k]);
        }
    }
}

static void a_process_without_cells(void **state)
{
    (void)state;
    struct wio_own_cells c = shape("cs3");
    struct wio_grid *none = some(&c.cells, NULL, 0), *whole = named("r12x6");
    for (int m = WIO_METHOD_NEAREST; m < WIO_METHODS; m++) {
        struct wio_weights_options options = by((enum wio_method)m);
        struct wio_weights w;
        if (m != WIO_METHOD_BILINEAR) {
            w = make(none, whole, options);
            assert_int_equal(w.n_links, 0);
            assert_int_equal(w.n_targets, whole->n);
            wio_weights_free(&w);
        }
        w = make(whole, none, options);
        assert_int_equal(w.n_targets, 0);
        wio_weights_free(&w);
    }
    wio_grid_free(none);
    wio_grid_free(whole);
    wio_own_cells_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_threads),
        cmocka_unit_test(any_partition),
        cmocka_unit_test(a_process_without_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
