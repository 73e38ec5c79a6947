/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a limiter of gradients needs beside the weights: of which source cells a row has parts, and
 * for each of these cells how its gradient is made, and where its corners are.
 */
#include "coupler/weights/limited.h"

#include <string.h>

#include "os/os.h"
#include "waitio_errors.h"

static int make_room(struct wio_parts *p, size_t more)
{
    if (p->n + more <= p->room)
        return 0;
    size_t room = 2 * (p->n + more) + 64;
    struct wio_part *at = wio_os_realloc(p->at, room * sizeof *at);
    if (at == NULL)
        return WAITIO_ERR_NOMEM;
    p->at = at;
    p->room = room;
    return 0;
}

int wio_parts_add(struct wio_parts *p, size_t position, double area, struct wio_vec shift)
{
    if (make_room(p, 1) != 0)
        return WAITIO_ERR_NOMEM;
    p->at[p->n++] = (struct wio_part){(uint32_t)position, area, {shift.x, shift.y, shift.z}};
    return 0;
}

int wio_parts_append(struct wio_parts *p, const struct wio_parts *row)
{
    if (make_room(p, row->n) != 0)
        return WAITIO_ERR_NOMEM;
    if (row->n > 0)
        memcpy(p->at + p->n, row->at, row->n * sizeof *row->at);
    p->n += row->n;
    return 0;
}

/* Numbers the cells of all parts in the order of their positions, and the parts by them. */
static int number_cells(const struct wio_search *s, struct wio_slopes *out, size_t n_parts)
{
    size_t n = s->source->n, cells = 0;
    uint32_t *number = wio_os_alloc(n * sizeof *number);
    if (number == NULL)
        return WAITIO_ERR_NOMEM;
    memset(number, 0, n * sizeof *number);
    for (size_t i = 0; i < n_parts; i++)
        number[out->part[i].cell] = 1;
    for (size_t i = 0; i < n; i++)
        cells += number[i];
    out->cell = wio_os_alloc(cells * sizeof *out->cell);
    for (size_t i = 0; i < n && out->cell != NULL; i++)
        if (number[i] != 0) {
            out->cell[out->n_cells] = (uint32_t)i;
            number[i] = (uint32_t)out->n_cells++;
        }
    for (size_t i = 0; i < n_parts && out->cell != NULL; i++)
        out->part[i].cell = number[out->part[i].cell];
    wio_os_free(number);
    return out->cell == NULL ? WAITIO_ERR_NOMEM : 0;
}

static void put(double to[3], struct wio_vec v)
{
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
}

/* A corner seen from the cell's barycentre, in the plane that touches the sphere there: a linear
 * function of the plane is nowhere in the cell, which bulges, beyond what it is at these corners.
 */
static struct wio_vec seen(const struct wio_search *s, struct wio_vec middle, struct wio_vec corner)
{
    if (s->source->plane)
        return wio_vec_sub(corner, middle);
    return wio_vec_scale(corner, 1 / wio_vec_dot(corner, wio_vec_unit(middle)));
}

static void describe_cell(const struct wio_search *s, struct wio_slopes *out, size_t i)
{
    const struct wio_gradients *g = s->gradients;
    size_t cell = out->cell[i], n = g->first[cell + 1] - g->first[cell];
    struct wio_vec middle = wio_vec_add(g->reference[cell], g->middle[cell]);
    for (size_t k = 0; k < n; k++) {
        const struct wio_slope *slope = &g->slope[g->first[cell] + k];
        out->near[out->near_first[i] + k] = slope->position;
        put(out->slope[out->near_first[i] + k], slope->vector);
    }
    for (size_t k = 0; k < s->source->corners[cell]; k++)
        put(out->corner[out->corner_first[i] + k],
            seen(s, middle, wio_grid_corners(s->source, cell)[k]));
}

int wio_slopes_describe(const struct wio_search *s, struct wio_slopes *out, size_t n_parts)
{
    const struct wio_gradients *g = s->gradients;
    int error = number_cells(s, out, n_parts);
    if (error != 0)
        return error;
    out->near_first = wio_os_alloc((out->n_cells + 1) * sizeof *out->near_first);
    out->corner_first = wio_os_alloc((out->n_cells + 1) * sizeof *out->corner_first);
    if (out->near_first == NULL || out->corner_first == NULL)
        return WAITIO_ERR_NOMEM;
    out->near_first[0] = out->corner_first[0] = 0;
    for (size_t i = 0; i < out->n_cells; i++) {
        size_t cell = out->cell[i];
        out->near_first[i + 1] = out->near_first[i] + (g->first[cell + 1] - g->first[cell]);
        out->corner_first[i + 1] = out->corner_first[i] + s->source->corners[cell];
    }
    out->near = wio_os_alloc(out->near_first[out->n_cells] * sizeof *out->near);
    out->slope = wio_os_alloc(out->near_first[out->n_cells] * sizeof *out->slope);
    out->corner = wio_os_alloc(out->corner_first[out->n_cells] * sizeof *out->corner);
    if (out->near == NULL || out->slope == NULL || out->corner == NULL)
        return WAITIO_ERR_NOMEM;
    for (size_t i = 0; i < out->n_cells; i++)
        describe_cell(s, out, i);
    return 0;
}

void wio_slopes_free(struct wio_slopes *s)
{
    if (s == NULL)
        return;
    wio_os_free(s->part_first);
    wio_os_free(s->part);
    wio_os_free(s->cell);
    wio_os_free(s->near_first);
    wio_os_free(s->near);
    wio_os_free(s->slope);
    wio_os_free(s->corner_first);
    wio_os_free(s->corner);
    wio_os_free(s);
}
