/* SPDX-License-Identifier: BSD-3-Clause */
/* Weight files are read. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/weights/files.h"
#include "coupler/weights/grid.h"
#include "coupler/weights/store.h"
#include "os/os.h"
#include "waitio_errors.h"

struct wio_table {
    struct wio_store *store;
    struct wio_weight_file_facts facts;
    const char *target, *source, *weight; /* names of the variables */
    char path[512];
};

/** Names and sizes, by the format. @return false: no weight file */
static bool identify(struct wio_table *t)
{
    struct wio_weight_file_facts *f = &t->facts;
    if (wio_store_has(t->store, "remap_matrix")) {
        t->target = wio_store_has(t->store, "dst_address") ? "dst_address" : "tgt_address";
        t->source = "src_address";
        t->weight = "remap_matrix";
        return wio_store_dim(t->store, "num_links", &f->links) &&
               wio_store_dim(t->store, "src_grid_size", &f->sources) &&
               (wio_store_dim(t->store, "dst_grid_size", &f->targets) ||
                wio_store_dim(t->store, "tgt_grid_size", &f->targets));
    }
    t->target = "row";
    t->source = "col";
    t->weight = "S";
    return wio_store_has(t->store, "S") && wio_store_dim(t->store, "n_s", &f->links) &&
           wio_store_dim(t->store, "n_a", &f->sources) &&
           wio_store_dim(t->store, "n_b", &f->targets);
}

int wio_weight_file_open(const char *path, struct wio_table **table,
                         struct wio_weight_file_facts *facts, struct wio_weights_error *why)
{
    struct wio_table *t = wio_os_alloc(sizeof *t);
    size_t sets = 1;
    if (t == NULL)
        return wio_weights_fail(why, WAITIO_ERR_NOMEM, "out of memory for '%s'", path);
    strncpy(t->path, path, sizeof t->path - 1);
    int error = wio_store_open(path, &t->store, why);
    if (error != 0) {
        wio_os_free(t);
        return error;
    }
    if (!identify(t))
        error =
            wio_weights_fail(why, WAITIO_ERR_ARG,
                             "'%s' holds no weights: SCRIP's have remap_matrix, src_address and "
                             "dst_address, ESMF's S, row and col, with their dimensions",
                             path);
    else if (wio_store_dim(t->store, "num_wgts", &sets) && sets != 1)
        error = wio_weights_fail(why, WAITIO_ERR_UNSUPPORTED,
                                 "'%s' has %zu weights a link (num_wgts), for gradients that the "
                                 "model computes; make it with one: waitio cpl weights --method "
                                 "conservative2",
                                 path, sets);
    if (error != 0) {
        wio_weight_file_close(t);
        return error;
    }
    char norm[64] = "";
    t->facts.parts = wio_store_text(t->store, NULL, "normalization", norm, sizeof norm) &&
                     strcmp(norm, "destarea") == 0;
    *facts = t->facts;
    *table = t;
    return 0;
}

void wio_weight_file_close(struct wio_table *t)
{
    if (t == NULL)
        return;
    wio_store_close(t->store, NULL);
    wio_os_free(t);
}

static int check_links(const struct wio_table *t, size_t first, size_t n, const int64_t *target,
                       const int64_t *source, const double *weight, struct wio_weights_error *why)
{
    for (size_t i = 0; i < n; i++) {
        if (target[i] < 1 || (uint64_t)target[i] > t->facts.targets || source[i] < 1 ||
            (uint64_t)source[i] > t->facts.sources)
            return wio_weights_fail(
                why, WAITIO_ERR_ARG,
                "'%s', link %zu: source %lld to target %lld, but the grids have "
                "%zu and %zu cells",
                t->path, first + i + 1, (long long)source[i], (long long)target[i],
                t->facts.sources, t->facts.targets);
        if (!isfinite(weight[i]))
            return wio_weights_fail(why, WAITIO_ERR_ARG,
                                    "'%s', link %zu (source %lld to target %lld): the weight is %g",
                                    t->path, first + i + 1, (long long)source[i],
                                    (long long)target[i], weight[i]);
    }
    return 0;
}

int wio_weight_file_read(struct wio_table *t, size_t first, size_t n, int64_t *target,
                         int64_t *source, double *weight, struct wio_weights_error *why)
{
    if (first > t->facts.links || n > t->facts.links - first)
        return wio_weights_fail(why, WAITIO_ERR_ARG, "'%s' has %zu links; %zu from %zu were asked",
                                t->path, t->facts.links, n, first + 1);
    int error = wio_store_get(t->store, t->target, WIO_STORE_INT64, first, n, target, why);
    if (error == 0)
        error = wio_store_get(t->store, t->source, WIO_STORE_INT64, first, n, source, why);
    if (error == 0)
        error = wio_store_get(t->store, t->weight, WIO_STORE_DOUBLE, first, n, weight, why);
    return error == 0 ? check_links(t, first, n, target, source, weight, why) : error;
}

int wio_weight_file_fixed(struct wio_table *t, size_t first, size_t n, bool *fixed, double *value,
                          struct wio_weights_error *why)
{
    *value = 0;
    memset(fixed, 0, n * sizeof *fixed);
    if (!wio_store_has(t->store, "waitio_method") || n == 0)
        return 0;
    uint8_t *method = wio_os_alloc(n);
    if (method == NULL)
        return wio_weights_fail(why, WAITIO_ERR_NOMEM, "out of memory for '%s'", t->path);
    int error = wio_store_get(t->store, "waitio_method", WIO_STORE_BYTE, first, n, method, why);
    for (size_t i = 0; i < n && error == 0; i++)
        fixed[i] = method[i] == WIO_METHOD_FIXED;
    wio_os_free(method);
    wio_store_number(t->store, "waitio_method", "fixed_value", value);
    return error == 0 && !isfinite(*value)
               ? wio_weights_fail(why, WAITIO_ERR_ARG, "'%s': waitio_method has fixed_value %g",
                                  t->path, *value)
               : error;
}

int wio_weight_file_targets(struct wio_table *t, double *lon, double *lat, int *mask,
                            struct wio_weights_error *why)
{
    bool esmf = strcmp(t->weight, "S") == 0;
    size_t n = t->facts.targets;
    char units[64] = "";
    const char *y = esmf ? "yc_b" : "dst_grid_center_lat",
               *x = esmf ? "xc_b" : "dst_grid_center_lon";
    const char *m = esmf ? "mask_b" : "dst_grid_imask";
    int error = wio_store_get(t->store, y, WIO_STORE_DOUBLE, 0, n, lat, why);
    if (error == 0)
        error = wio_store_get(t->store, x, WIO_STORE_DOUBLE, 0, n, lon, why);
    for (size_t i = 0; i < n; i++)
        mask[i] = 1;
    if (error == 0 && wio_store_has(t->store, m))
        error = wio_store_get(t->store, m, WIO_STORE_INT, 0, n, mask, why);
    if (error != 0 || !wio_store_text(t->store, y, "units", units, sizeof units))
        return error;
    if (strncmp(units, "degree", 6) != 0 && strncmp(units, "radian", 6) != 0)
        return wio_weights_fail(why, WAITIO_ERR_UNSUPPORTED,
                                "'%s': the targets do not lie on the sphere (units \"%s\")",
                                t->path, units);
    for (size_t i = 0; i < n && units[0] == 'r'; i++) {
        lon[i] *= 45 / atan(1);
        lat[i] *= 45 / atan(1);
    }
    return 0;
}

struct link {
    int64_t target, source;
    size_t turn; /* links of one pair keep their order */
    double weight;
};

static int compare(const void *a, const void *b)
{
    const struct link *x = a, *y = b;
    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return (x->turn > y->turn) - (x->turn < y->turn);
}

static bool in_order(const struct link *link, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (compare(&link[i - 1], &link[i]) > 0)
            return false;
    return true;
}

/** Rows of sorted links; several of one pair become their sum. */
static void fill_rows(struct wio_weights *w, const struct link *link, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const struct link *l = &link[i];
        if (i > 0 && l->target == link[i - 1].target && l->source == link[i - 1].source) {
            w->weight[kept - 1] += l->weight;
            continue;
        }
        w->source[kept] = l->source;
        w->position[kept] = (uint32_t)(l->source - 1);
        w->weight[kept++] = l->weight;
        w->row[l->target] = kept; /* the end of row target - 1 */
    }
    for (size_t t = 0; t < w->n_targets; t++) {
        if (w->row[t + 1] < w->row[t])
            w->row[t + 1] = w->row[t];
        w->coverage[t] = w->row[t + 1] > w->row[t];
    }
    w->n_links = kept;
}

/** What a file of another program says that its weights are. */
static enum wio_method method_of_file(struct wio_table *t)
{
    char text[128] = "";
    wio_store_text(t->store, NULL, "map_method", text, sizeof text);
    if (strstr(text, "istance") != NULL) /* "Distance weighted avg of nearest neighbors" */
        return WIO_METHOD_DISTANCE;
    if (strstr(text, "earest") != NULL)
        return WIO_METHOD_NEAREST;
    return strstr(text, "ilinear") != NULL ? WIO_METHOD_BILINEAR : WIO_METHOD_CONSERVATIVE;
}

static int read_methods(struct wio_table *t, struct wio_weights *w, struct wio_weights_error *why)
{
    enum wio_method method = method_of_file(t);
    for (size_t i = 0; i < w->n_targets; i++)
        w->method[i] = (uint8_t)(w->row[i + 1] > w->row[i] ? method : WIO_METHOD_NONE);
    if (!wio_store_has(t->store, "waitio_method"))
        return 0;
    int error =
        wio_store_get(t->store, "waitio_method", WIO_STORE_BYTE, 0, w->n_targets, w->method, why);
    for (size_t i = 0; i < w->n_targets && error == 0; i++)
        if (w->method[i] >= WIO_METHODS)
            error = wio_weights_fail(why, WAITIO_ERR_ARG, "'%s': target %zu has the method %d",
                                     t->path, i + 1, w->method[i]);
    wio_store_number(t->store, "waitio_method", "fixed_value", &w->fixed);
    return error;
}

static int read_all(struct wio_table *t, struct wio_weights *w, struct wio_weights_error *why)
{
    size_t n = t->facts.links;
    int64_t *target = wio_os_alloc(n * sizeof *target);
    struct link *link = wio_os_alloc(n * sizeof *link);
    w->n_targets = t->facts.targets;
    w->row = wio_os_alloc((w->n_targets + 1) * sizeof *w->row);
    w->method = wio_os_alloc(w->n_targets);
    w->coverage = wio_os_alloc(w->n_targets * sizeof *w->coverage);
    w->source = wio_os_alloc(n * sizeof *w->source);
    w->weight = wio_os_alloc(n * sizeof *w->weight);
    w->position = wio_os_alloc(n * sizeof *w->position);
    int error = WAITIO_ERR_NOMEM;
    if (target != NULL && link != NULL && w->row != NULL && w->method != NULL &&
        w->coverage != NULL && w->source != NULL && w->weight != NULL && w->position != NULL)
        error = wio_weight_file_read(t, 0, n, target, w->source, w->weight, why);
    else
        wio_weights_fail(why, error, "out of memory for the %zu links of '%s'", n, t->path);
    for (size_t i = 0; i < n && error == 0; i++)
        link[i] = (struct link){
            .target = target[i], .source = w->source[i], .turn = i, .weight = w->weight[i]};
    if (error == 0) {
        if (!in_order(link, n))
            qsort(link, n, sizeof *link, compare);
        fill_rows(w, link, n);
        error = read_methods(t, w, why);
    }
    wio_os_free(target);
    wio_os_free(link);
    return error;
}

int wio_weights_read(const char *path, struct wio_weights *weights, size_t *n_sources,
                     struct wio_weights_error *why)
{
    struct wio_table *t;
    struct wio_weight_file_facts facts;
    *weights = (struct wio_weights){0};
    int error = wio_weight_file_open(path, &t, &facts, why);
    if (error != 0)
        return error;
    *n_sources = facts.sources;
    if (facts.sources >= UINT32_MAX || facts.links > SIZE_MAX / 64 || facts.targets > SIZE_MAX / 64)
        error = wio_weights_fail(why, WAITIO_ERR_LIMIT, "'%s' is too large for one process", path);
    else
        error = read_all(t, weights, why);
    wio_weight_file_close(t);
    if (error != 0)
        wio_weights_free(weights);
    return error;
}
