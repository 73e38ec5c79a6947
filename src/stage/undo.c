/* SPDX-License-Identifier: BSD-3-Clause */
/* Readers: pieces of blocks that an operator has packed. */
#include <stdlib.h>

#include "stage/packed.h"
#include "stage/reader.h"

static int operator_of(const struct wio_stg_array *a, struct wio_stg_operator *op)
{
    int rc = wio_stg_operator_read(op, a->op);

    if (rc == 0 && op->codec == NULL)
        rc = wio_stg_fail(WAITIO_ERR_PROTOCOL, "its operator is '%s'", a->op);
    return rc;
}

static int of_variable(const struct wio_stg_array *a, int rc)
{
    char why[WIO_STG_WHY - 300];

    if (rc == 0)
        return 0;
    wio_stg_text(why, sizeof why, "%s", wio_stg_why());
    return wio_stg_fail(rc, "variable '%s': %s", a->name, why);
}

int wio_stg_can_undo(const struct wio_stg_array *a)
{
    struct wio_stg_operator op;
    int rc;

    if (a->op[0] == '\0')
        return 0;
    rc = operator_of(a, &op);
    return of_variable(a, rc == 0 ? wio_stg_operator_ready(&op, a->type) : rc);
}

/* The block of a piece, cut as its writer has cut it. */
static int grid_of(const struct wio_stg_piece *p, const struct wio_stg_array *a,
                   struct wio_stg_operator *op, struct wio_stg_grid *grid)
{
    const struct wio_stg_box block = wio_stg_block_box(a, p->index);
    int rc = operator_of(a, op);

    if (rc == 0)
        *grid = wio_stg_grid(op, a->type, &block);
    return rc;
}

int wio_stg_place_packed(const struct wio_stg_layout *l, const struct wio_stg_piece *p,
                         const struct wio_stg_want *w, struct wio_stg_coming *c)
{
    const struct wio_stg_array *a = &l->arrays[w->array];
    struct wio_stg_operator op;
    struct wio_stg_grid grid;
    int rc = grid_of(p, a, &op, &grid);

    if (rc != 0)
        return of_variable(a, rc);
    c->operated = true;
    c->room = wio_stg_packed_most(&grid, &p->box);
    c->own = c->at = c->room > 0 ? malloc(c->room) : NULL;
    if (c->at == NULL)
        return wio_stg_fail(WAITIO_ERR_NOMEM, "variable '%s': no memory for %zu bytes", a->name,
                            c->room);
    return 0;
}

int wio_stg_arrived_packed(struct wio_stg_reader *r, struct wio_stg_coming *c, size_t n)
{
    const struct wio_stg_want *w = &r->wants[c->piece->want];
    const struct wio_stg_array *a = &r->layout.arrays[w->array];
    struct wio_stg_operator op;
    struct wio_stg_grid grid;
    char why[WIO_STG_WHY - 300];
    int rc = grid_of(c->piece, a, &op, &grid);

    if (rc == 0)
        rc = wio_stg_unpack(&op, &grid, &c->piece->box, r->swaps, c->at, n, &w->box, w->to);
    free(c->own);
    c->own = NULL;
    if (rc == 0)
        return 0;
    wio_stg_text(why, sizeof why, "%s", wio_stg_why());
    return wio_stg_fail(rc, "variable '%s', block of writer %u: %s", a->name, c->piece->writer,
                        why);
}
