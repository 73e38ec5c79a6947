/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables from weight files: each process of the receiving component reads a share of the links. */
#include <limits.h>
#include <stdlib.h>

#include "coupler/cpl.h"
#include "coupler/weights/files.h"

void wio_cpl_weighed_free(struct wio_cpl_weighed *w)
{
    free(w->send);
    free(w->receive);
    free(w->fixed);
    free(w->coef);
    w->send = w->receive = w->fixed = NULL;
    w->coef = NULL;
    wio_weights_free(&w->weights);
}

static int bad(const struct waitio_cpl *cpl, const struct wio_cpl_table *t, int code,
               const struct wio_weights_error *why)
{
    return wio_cpl_fail(code, "%s: %s", wio_cpl_table_name(cpl, t), why->text);
}

/* The largest index of the two grids, over all processes. */
static int largest(struct waitio_cpl *cpl, const struct wio_cpl_table *t,
                   const struct wio_cpl_team *team, int64_t most[2])
{
    bool sends = cpl->mine == t->from;
    const struct wio_cpl_grid *g = wio_cpl_grid_find(cpl, sends ? t->grid_put : t->grid_get);
    int64_t mine[2] = {0, 0};
    struct wio_cpl_op op = wio_cpl_collective(cpl, team->set, 0);

    for (size_t i = 0; i < g->n; i++)
        if (g->index[i] > mine[!sends])
            mine[!sends] = g->index[i];
    if (WAITIO_MPI_Iallreduce(mine, most, 2, WAITIO_MPI_INT64_T, WAITIO_MPI_MAX, team->comm,
                              &op.req) != 0)
        return wio_cpl_failed();
    return wio_cpl_wait(cpl, &op, 1);
}

static int check_sizes(const struct waitio_cpl *cpl, const struct wio_cpl_table *t,
                       const char *file, const struct wio_weight_file_facts *f,
                       const int64_t most[2])
{
    const size_t size[2] = {f->sources, f->targets};

    for (int side = 0; side < 2; side++)
        if ((uint64_t)most[side] > size[side])
            return wio_cpl_fail(WAITIO_ERR_ARG,
                                "%s: grid '%s' of component '%s' has the index %lld, but '%s' is "
                                "for a %s grid of %zu cells: it was made for another grid",
                                wio_cpl_table_name(cpl, t), side == 0 ? t->grid_put : t->grid_get,
                                cpl->components[side == 0 ? t->from : t->to].name,
                                (long long)most[side], file, side == 0 ? "source" : "target",
                                size[side]);
    if (f->sources > INT_MAX || f->targets > INT_MAX || f->links > SIZE_MAX / 64)
        return wio_cpl_fail(WAITIO_ERR_LIMIT, "%s: '%s' has grids of %zu and %zu cells; at most %d",
                            wio_cpl_table_name(cpl, t), file, f->sources, f->targets, INT_MAX);
    return 0;
}

/* Indices are as large as the file's grids, which fit an int. */
static int narrow(const int64_t *from, size_t n, int **to)
{
    *to = wio_cpl_new(n, sizeof **to);
    for (size_t i = 0; *to != NULL && i < n; i++)
        (*to)[i] = (int)from[i];
    return *to == NULL ? WAITIO_ERR_NOMEM : 0;
}

static int read_links(struct wio_table *file, size_t first, size_t n, struct wio_cpl_weighed *out,
                      struct wio_weights_error *why)
{
    int64_t *target = wio_cpl_new(n, sizeof *target), *source = wio_cpl_new(n, sizeof *source);
    int rc = target == NULL || source == NULL ? WAITIO_ERR_NOMEM : 0;

    out->coef = rc == 0 ? wio_cpl_new(n, sizeof *out->coef) : NULL;
    if (out->coef == NULL)
        rc = WAITIO_ERR_NOMEM;
    if (rc == 0)
        rc = wio_weight_file_read(file, first, n, target, source, out->coef, why);
    if (rc == 0)
        rc = narrow(source, n, &out->send);
    if (rc == 0)
        rc = narrow(target, n, &out->receive);
    free(target);
    free(source);
    out->given.first = first;
    out->given.entries = (struct waitio_cpl_entries){
        .n = n, .send_index = out->send, .recv_index = out->receive, .coef = out->coef};
    return rc;
}

static int read_fixed(struct wio_table *file, size_t first, size_t n, struct wio_cpl_weighed *out,
                      struct wio_weights_error *why)
{
    bool *fixed = wio_cpl_new(n, sizeof *fixed);
    int rc = WAITIO_ERR_NOMEM;

    out->fixed = wio_cpl_new(n, sizeof *out->fixed);
    if (fixed != NULL && out->fixed != NULL)
        rc = wio_weight_file_fixed(file, first, n, fixed, &out->given.value, why);
    for (size_t i = 0; rc == 0 && i < n; i++)
        if (fixed[i])
            out->fixed[out->given.n_fixed++] = (int)(first + i + 1);
    free(fixed);
    out->given.fixed = out->fixed;
    return rc;
}

/* Of n things that `parts` processes share, those of one. */
static size_t begin_of(size_t n, int part, int parts)
{
    return n / (size_t)parts * (size_t)part +
           (n % (size_t)parts < (size_t)part ? n % (size_t)parts : (size_t)part);
}

static int read_share(struct waitio_cpl *cpl, const struct wio_cpl_table *t, const char *file,
                      const int64_t most[2], struct wio_cpl_weighed *out)
{
    int parts = cpl->components[t->to].n, me = cpl->rank;
    struct wio_weights_error why = {""};
    struct wio_weight_file_facts f;
    struct wio_table *opened;
    int rc = wio_weight_file_open(file, &opened, &f, &why);
    size_t links, targets;

    if (rc != 0)
        return bad(cpl, t, rc, &why);
    rc = check_sizes(cpl, t, file, &f, most);
    links = begin_of(f.links, me, parts);
    targets = begin_of(f.targets, me, parts);
    if (rc == 0)
        rc = read_links(opened, links, begin_of(f.links, me + 1, parts) - links, out, &why);
    if (rc == 0)
        rc = read_fixed(opened, targets, begin_of(f.targets, me + 1, parts) - targets, out, &why);
    wio_weight_file_close(opened);
    if (rc == WAITIO_ERR_NOMEM && why.text[0] == '\0')
        wio_cpl_fail(rc, "%s: no memory for a share of '%s'", wio_cpl_table_name(cpl, t), file);
    return rc != 0 && why.text[0] != '\0' ? bad(cpl, t, rc, &why) : rc;
}

int wio_cpl_weigh_file(struct waitio_cpl *cpl, const struct wio_cpl_table *t,
                       const struct wio_cpl_team *team, const char *file,
                       struct wio_cpl_weighed *out)
{
    int64_t most[2];
    int rc = largest(cpl, t, team, most);

    if (rc == 0 && cpl->mine == t->to)
        rc = read_share(cpl, t, file, most, out);
    return rc;
}
