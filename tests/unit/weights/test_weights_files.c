/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of grids and weights: what is written is read again; what is not sound is refused. */
#include "help.h"

#include <unistd.h>

#include "coupler/weights/files.h"
#include "coupler/weights/store.h"

static char path[64];

static bool have_netcdf(void)
{
    struct wio_store *store;
    struct wio_weights_error why;
    return wio_store_open("/nowhere/at/all", &store, &why) != WAITIO_ERR_UNSUPPORTED;
}

static int make_name(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "/tmp/test-weights-%ld.nc", (long)getpid());
    return 0;
}

static int remove_file(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

/** Centres alone: the same but for corners. */
static void check_centres(const struct wio_cells *whole)
{
    struct wio_own_cells own;
    struct wio_weights_error why = {""};
    assert_int_equal(wio_cells_read_centres(path, &own, &why), 0);
    const struct wio_cells *c = &own.cells;
    assert_int_equal(c->corners, 0);
    assert_null(c->cx);
    assert_int_equal(c->n, whole->n);
    assert_int_equal(c->nx, whole->nx);
    assert_int_equal(c->periodic, whole->periodic);
    assert_int_equal(c->fold, whole->fold);
    assert_memory_equal(c->x, whole->x, c->n * sizeof(double));
    assert_memory_equal(c->y, whole->y, c->n * sizeof(double));
    wio_own_cells_free(&own);
}

static void grids_come_back(void **state)
{
    (void)state;
    static const char *const names[] = {"r24x12", "cs5", "ico4"};
    for (int k = 0; k < 3; k++) {
        struct wio_own_cells a = shape(names[k]), b;
        struct wio_weights_error why = {""};
        assert_int_equal(wio_cells_write(path, &a.cells, &why), 0);
        assert_int_equal(wio_cells_read(path, &b, &why), 0);
        assert_int_equal(b.cells.n, a.cells.n);
        assert_int_equal(b.cells.nx, a.cells.nx);
        assert_int_equal(b.cells.ny, a.cells.ny);
        assert_int_equal(b.cells.periodic, a.cells.periodic);
        assert_false(b.cells.fold);
        check_centres(&b.cells);
        assert_memory_equal(b.cells.x, a.cells.x, a.cells.n * sizeof(double));
        assert_memory_equal(b.cells.cy, a.cells.cy,
                            a.cells.n * (size_t)a.cells.corners * sizeof(double));
        wio_own_cells_free(&a);
        wio_own_cells_free(&b);
    }
}

static void weights_come_back(void **state)
{
    (void)state;
    struct wio_own_cells c = shape("cs6");
    int *mask = wio_own_cells_alloc(&c, c.cells.n * sizeof *mask);
    for (size_t i = 0; i < c.cells.n; i++)
        mask[i] = i % 3 != 0;
    c.cells.mask = mask;
    struct wio_grid *s = named("r24x12"), *t = grid_of(&c.cells);
    struct wio_weights_options options = {
        .stack = {WIO_METHOD_BILINEAR, WIO_METHOD_FIXED}, .n_stack = 2, .fixed = 3.25};
    const struct wio_weights_label label = {
        .source = "r24x12", .target = "cs6", .options = &options};
    struct wio_weights w = make(s, t, options), back;
    for (int format = WIO_FORMAT_SCRIP; format <= WIO_FORMAT_ESMF; format++) {
        struct wio_weights_error why = {""};
        size_t sources;
        assert_int_equal(
            wio_weights_write(path, (enum wio_weights_format)format, s, t, &w, &label, &why), 0);
        assert_int_equal(wio_weights_read(path, &back, &sources, &why), 0);
        assert_int_equal(sources, s->n);
        assert_int_equal(back.n_links, w.n_links);
        assert_memory_equal(back.row, w.row, (t->n + 1) * sizeof *w.row);
        assert_memory_equal(back.source, w.source, w.n_links * sizeof *w.source);
        assert_memory_equal(back.weight, w.weight, w.n_links * sizeof *w.weight);
        assert_memory_equal(back.method, w.method, t->n);
        assert_near(back.fixed, 3.25, 0);
        struct wio_weights_difference d;
        assert_int_equal(wio_weights_compare(&w, &back, &d), 0);
        assert_near(d.largest, 0, 0);
        back.weight[5] += 0.5;
        assert_int_equal(wio_weights_compare(&w, &back, &d), 0);
        assert_near(d.largest, 0.5, 1e-15);
        assert_int_equal(d.source, w.source[5]);
        assert_int_equal(d.beyond, 1);
        wio_weights_free(&back);
    }
    wio_weights_free(&w);
    wio_grid_free(s);
    wio_grid_free(t);
    wio_own_cells_free(&c);
}

/** A weight file by hand: 3 links between 2 and 2 cells. */
static void write_table(const int *source, const int *target, const double *weight, int sets)
{
    struct wio_store *s;
    struct wio_weights_error why;
    assert_int_equal(wio_store_create(path, false, &s, &why), 0);
    int links = wio_store_add_dim(s, "num_links", 3), dims[2] = {links, -1};
    wio_store_add_dim(s, "src_grid_size", 2);
    wio_store_add_dim(s, "dst_grid_size", 2);
    dims[1] = wio_store_add_dim(s, "num_wgts", (size_t)sets);
    wio_store_add_variable(s, "src_address", WIO_STORE_INT, 1, &links, NULL);
    wio_store_add_variable(s, "dst_address", WIO_STORE_INT, 1, &links, NULL);
    wio_store_add_variable(s, "remap_matrix", WIO_STORE_DOUBLE, 2, dims, NULL);
    wio_store_begin(s);
    wio_store_put(s, "src_address", WIO_STORE_INT, source);
    wio_store_put(s, "dst_address", WIO_STORE_INT, target);
    if (sets == 1)
        wio_store_put(s, "remap_matrix", WIO_STORE_DOUBLE, weight);
    assert_int_equal(wio_store_close(s, &why), 0);
}

static void refuse(int code, const char *words)
{
    struct wio_weights w;
    struct wio_weights_error why = {""};
    size_t sources;
    assert_int_equal(wio_weights_read(path, &w, &sources, &why), code);
    if (strstr(why.text, words) == NULL)
        fail_msg("'%s' does not say '%s'", why.text, words);
}

static void bad_weights_are_refused(void **state)
{
    (void)state;
    int source[3] = {2, 1, 1}, target[3] = {2, 1, 1};
    double weight[3] = {0.5, 0.25, 0.5};
    struct wio_weights w;
    struct wio_weights_error why = {""};
    size_t sources;
    write_table(source, target, weight, 1);
    assert_int_equal(wio_weights_read(path, &w, &sources, &why), 0); /* any order; twice: the sum */
    assert_int_equal(w.n_links, 2);
    assert_near(weight_of(&w, 0, 1), 0.75, 0);
    wio_weights_free(&w);
    source[1] = 3;
    write_table(source, target, weight, 1);
    refuse(WAITIO_ERR_ARG, "link 2: source 3 to target 1, but the grids have 2 and 2 cells");
    source[1] = 0;
    write_table(source, target, weight, 1);
    refuse(WAITIO_ERR_ARG, "source 0");
    source[1] = 1;
    weight[2] = NAN;
    write_table(source, target, weight, 1);
    refuse(WAITIO_ERR_ARG, "link 3 (source 1 to target 1): the weight is");
    write_table(source, target, weight, 3);
    refuse(WAITIO_ERR_UNSUPPORTED, "3 weights a link");
    FILE *f = fopen(path, "w");
    fputs("nothing of the kind\n", f);
    fclose(f);
    refuse(WAITIO_ERR_SYSTEM, "cannot read");
    unlink(path);
    refuse(WAITIO_ERR_SYSTEM, "No such file");
}

/** Parts of a table, as several processes read them. */
static void tables_are_read_in_parts(void **state)
{
    (void)state;
    const int source[3] = {2, 1, 1}, target[3] = {2, 1, 2};
    const double weight[3] = {0.5, 0.25, 0.125};
    struct wio_table *table;
    struct wio_weight_file_facts facts;
    struct wio_weights_error why = {""};
    int64_t t[3], s[3];
    double w[3];
    write_table(source, target, weight, 1);
    assert_int_equal(wio_weight_file_open(path, &table, &facts, &why), 0);
    assert_int_equal(facts.links, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(wio_weight_file_read(table, i, 1, t, s, w, &why), 0);
        assert_int_equal(t[0], target[i]);
        assert_int_equal(s[0], source[i]);
        assert_near(w[0], weight[i], 0);
    }
    assert_int_equal(wio_weight_file_read(table, 3, 0, t, s, w, &why), 0);
    assert_int_equal(wio_weight_file_read(table, 2, 2, t, s, w, &why), WAITIO_ERR_ARG);
    wio_weight_file_close(table);
}

/** A mesh of a triangle and a square, as ESMF has it. */
static void write_mesh(int start, int last, bool centres)
{
    const double node[10] = {0, 0, 10, 0, 10, 10, 0, 10, 15, 5};
    int connection[8] = {0, 1, 2, 3, 1, 4, last, -7}, count[2] = {4, 3};
    const double middle[4] = {5, 5, 11, 5};
    struct wio_store *s;
    struct wio_weights_error why;
    for (int k = 0; k < 8; k++)
        connection[k] += start;
    assert_int_equal(wio_store_create(path, false, &s, &why), 0);
    int dims[2], nodes[2], both[2], elements;
    nodes[0] = wio_store_add_dim(s, "nodeCount", 5);
    elements = dims[0] = both[0] = wio_store_add_dim(s, "elementCount", 2);
    dims[1] = wio_store_add_dim(s, "maxNodePElement", 4);
    nodes[1] = both[1] = wio_store_add_dim(s, "coordDim", 2);
    wio_store_add_variable(s, "nodeCoords", WIO_STORE_DOUBLE, 2, nodes, "degrees");
    wio_store_add_variable(s, "elementConn", WIO_STORE_INT, 2, dims, NULL);
    if (start != 1)
        wio_store_add_number(s, "elementConn", "start_index", start);
    wio_store_add_variable(s, "numElementConn", WIO_STORE_BYTE, 1, &elements, NULL);
    if (centres)
        wio_store_add_variable(s, "centerCoords", WIO_STORE_DOUBLE, 2, both, "degrees");
    wio_store_begin(s);
    wio_store_put(s, "nodeCoords", WIO_STORE_DOUBLE, node);
    wio_store_put(s, "elementConn", WIO_STORE_INT, connection);
    wio_store_put(s, "numElementConn", WIO_STORE_INT, count);
    if (centres)
        wio_store_put(s, "centerCoords", WIO_STORE_DOUBLE, middle);
    assert_int_equal(wio_store_close(s, &why), 0);
}

static void meshes_are_read(void **state)
{
    (void)state;
    for (int start = 0; start < 2; start++)
        for (int centres = 0; centres < 2; centres++) {
            struct wio_own_cells c;
            struct wio_weights_error why = {""};
            write_mesh(start, 2, centres == 1);
            assert_int_equal(wio_cells_read(path, &c, &why), 0);
            assert_int_equal(c.cells.n, 2);
            assert_near(c.cells.cx[5], 15, 0);
            assert_near(c.cells.x[0], 5, centres ? 0 : 1e-9);
            struct wio_grid *g = grid_of(&c.cells);
            assert_int_equal(g->corners[0], 4);
            assert_int_equal(g->corners[1], 3);
            wio_grid_free(g);
            wio_own_cells_free(&c);
        }
    struct wio_own_cells c;
    struct wio_weights_error why = {""};
    write_mesh(1, 5, false);
    assert_int_equal(wio_cells_read(path, &c, &why), WAITIO_ERR_ARG);
    assert_non_null(strstr(why.text, "element 2 names a node that does not exist"));
}

/** The last row of a tripolar grid: its second half lies on the first, in the other direction. */
static void folds_are_seen(void **state)
{
    (void)state;
    enum { NX = 12, NY = 3, N = NX * NY };
    double x[N], y[N], cx[4 * N], cy[4 * N];
    struct wio_cells a = {
        .n = N, .x = x, .y = y, .corners = 4, .cx = cx, .cy = cy, .nx = NX, .ny = NY};
    for (int i = 0; i < N; i++) {
        int column = i % NX < NX / 2 ? i % NX : NX - 1 - i % NX;
        double side = i % NX < NX / 2 ? -1 : 1;
        x[i] = 3 * column;
        y[i] = 40 + side * (NY - 1 - i / NX + 0.5);
        for (int k = 0; k < 4; k++) {
            cx[4 * i + k] = x[i] + (k == 1 || k == 2 ? 1.5 : -1.5);
            cy[4 * i + k] = y[i] + (k > 1 ? 0.5 : -0.5);
        }
    }
    for (int apart = 0; apart < 2; apart++) {
        struct wio_own_cells b;
        struct wio_weights_error why = {""};
        cx[4 * (N - NX)] += 5 * apart;
        cx[4 * (N - NX) + 3] += 5 * apart;
        assert_int_equal(wio_cells_write(path, &a, &why), 0);
        assert_int_equal(wio_cells_read(path, &b, &why), 0);
        assert_int_equal(b.cells.fold, !apart);
        check_centres(&b.cells);
        wio_own_cells_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(grids_come_back, make_name, remove_file),
        cmocka_unit_test_setup_teardown(weights_come_back, make_name, remove_file),
        cmocka_unit_test_setup_teardown(bad_weights_are_refused, make_name, remove_file),
        cmocka_unit_test_setup_teardown(tables_are_read_in_parts, make_name, remove_file),
        cmocka_unit_test_setup_teardown(meshes_are_read, make_name, remove_file),
        cmocka_unit_test_setup_teardown(folds_are_seen, make_name, remove_file),
    };
    if (!have_netcdf()) {
        printf("skipped: built without netCDF (Debian: apt-get install libnetcdf-dev)\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
