/* SPDX-License-Identifier: BSD-3-Clause */
/* Weight files that a configuration names: are they there, and can they be right? */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/weights/files.h"
#include "coupling.h"
#include "waitio_errors.h"

enum { PIECE = 1 << 16 }; /* links that are read at a time */
static const double FAR = 0.01;

/* How many cells a grid has, as one file says. */
struct size {
    const char *component, *grid, *file;
    size_t cells;
};

struct looking {
    struct wio_cpl_conf *conf;
    const struct wio_cpl_link *link;
    struct wio_table *table;
    struct wio_weight_file_facts facts;
    struct wio_cpl_list sizes; /* struct size */
};

static int complain(struct looking *x, const char *text)
{
    return wio_cpl_conf_fault(x->conf, x->link->line, 0, "weight_file: %s", text);
}

/* What cannot be seen here may be there when the models run, from their folder. */
static int not_here(struct looking *x, int error, const char *text)
{
    bool relative = x->link->weight_file[0] != '/';

    if (error == WAITIO_ERR_UNSUPPORTED)
        return wio_cpl_conf_warn(x->conf, x->link->line, "weight_file: not looked at: %s", text);
    if (error == WAITIO_ERR_SYSTEM && relative)
        return wio_cpl_conf_warn(x->conf, x->link->line,
                                 "weight_file: %s (it is looked for from this folder, and by the "
                                 "models from theirs)",
                                 text);
    return complain(x, text);
}

/* Two files may not differ in the size of one grid. */
static int check_size(struct looking *x, const char *component, const char *grid, size_t cells)
{
    struct size *all = x->sizes.at, *mine;

    for (size_t i = 0; i < x->sizes.n; i++)
        if (strcmp(all[i].component, component) == 0 && strcmp(all[i].grid, grid) == 0)
            return all[i].cells == cells
                       ? 0
                       : wio_cpl_conf_fault(
                             x->conf, x->link->line, 0,
                             "weight_file: grid '%s' of component '%s' has %zu cells in '%s', but "
                             "%zu in '%s'",
                             grid, component, cells, x->link->weight_file, all[i].cells,
                             all[i].file);
    mine = wio_cpl_push(&x->sizes, sizeof *mine);
    if (mine == NULL)
        return WAITIO_ERR_NOMEM;
    *mine = (struct size){component, grid, x->link->weight_file, cells};
    return 0;
}

/* Rows whose weights do not add up to 1 change a field that is constant. */
static int judge_sums(struct looking *x, const double *sum, const bool *there)
{
    size_t rows = 0, bad = 0, first = 0;

    for (size_t t = 0; t < x->facts.targets; t++) {
        bool far = sum[t] > 1 + FAR || (sum[t] < 1 - FAR && !x->facts.parts);

        rows += there[t];
        if (there[t] && far && bad++ == 0)
            first = t;
    }
    if (bad == 0)
        return 0;
    return wio_cpl_conf_warn(
        x->conf, x->link->line,
        "weight_file: '%s': the weights of %zu of %zu targets do not add up to "
        "1 (target %zu: %g): a constant field does not stay constant",
        x->link->weight_file, bad, rows, first + 1, sum[first]);
}

static int add_links(struct looking *x, double *sum, bool *there)
{
    int64_t *target = calloc(PIECE, sizeof *target), *source = calloc(PIECE, sizeof *source);
    double *weight = calloc(PIECE, sizeof *weight);
    struct wio_weights_error why;
    int rc = target == NULL || source == NULL || weight == NULL ? WAITIO_ERR_NOMEM : 0;
    int said = 0;

    for (size_t at = 0; rc == 0 && at < x->facts.links; at += PIECE) {
        size_t n = x->facts.links - at < PIECE ? x->facts.links - at : PIECE;

        said = wio_weight_file_read(x->table, at, n, target, source, weight, &why);
        if (said != 0) {
            rc = complain(x, why.text);
            break;
        }
        for (size_t i = 0; i < n; i++) {
            sum[target[i] - 1] += weight[i];
            there[target[i] - 1] = true;
        }
    }
    free(target);
    free(source);
    free(weight);
    return rc == 0 && said == 0 ? judge_sums(x, sum, there) : rc;
}

static int check_links(struct looking *x)
{
    double *sum = calloc(x->facts.targets + 1, sizeof *sum);
    bool *there = calloc(x->facts.targets + 1, sizeof *there);
    int rc = sum == NULL || there == NULL ? WAITIO_ERR_NOMEM : add_links(x, sum, there);

    free(sum);
    free(there);
    return rc;
}

static int check_file(struct looking *x)
{
    const struct wio_cpl_link *l = x->link;
    struct wio_weights_error why = {""};
    int error = wio_weight_file_open(l->weight_file, &x->table, &x->facts, &why), rc;

    if (error != 0)
        return not_here(x, error, why.text);
    rc = check_size(x, l->comp_put, l->grid_put, x->facts.sources);
    if (rc == 0)
        rc = check_size(x, l->comp_get, l->grid_get, x->facts.targets);
    if (rc == 0)
        rc = check_links(x);
    wio_weight_file_close(x->table);
    return rc;
}

/* Has an earlier link of the same table named the file? All of one table have the same. */
static bool is_seen(const struct wio_cpl_conf *conf, size_t i)
{
    const struct wio_cpl_link *l = wio_cpl_conf_link(conf, i);

    for (size_t k = 0; k < i; k++) {
        const struct wio_cpl_link *e = wio_cpl_conf_link(conf, k);

        if (e->weight_file != NULL && strcmp(e->weight_file, l->weight_file) == 0 &&
            strcmp(e->comp_put, l->comp_put) == 0 && strcmp(e->comp_get, l->comp_get) == 0 &&
            strcmp(e->grid_put, l->grid_put) == 0 && strcmp(e->grid_get, l->grid_get) == 0)
            return true;
    }
    return false;
}

int check_weight_files(struct wio_cpl_conf *conf)
{
    struct looking x = {.conf = conf};
    int rc = 0;

    for (size_t i = 0; i < conf->links.n && rc == 0; i++) {
        x.link = wio_cpl_conf_link(conf, i);
        if (x.link->weight_file != NULL && !is_seen(conf, i))
            rc = check_file(&x);
    }
    wio_cpl_list_free(&x.sizes);
    return rc;
}
