/* SPDX-License-Identifier: BSD-3-Clause */
/* Nearest, and the n nearest with weights that fall with the distance. */
#include "coupler/weights/search.h"
#include "os/os.h"

static bool centre_box(const void *arg, size_t i, struct wio_box *box)
{
    const struct wio_grid *g = arg;
    if (!(g->fraction[i] > 0))
        return false;
    *box = wio_box_empty();
    wio_box_add(box, g->centre[i]);
    return true;
}

int wio_prepare_centres(struct wio_search *s)
{
    s->points = (struct wio_points){.at = s->source->centre, .index = s->source->index};
    if (s->centres != NULL)
        return 0;
    return wio_tree_make(s->source->n, centre_box, s->source, s->source->plane, s->threads,
                         &s->centres);
}

int wio_grid_kth_nearest(const struct wio_grid *source, const struct wio_grid *target, int k,
                         double *distance)
{
    struct wio_points points = {.at = source->centre, .index = source->index};
    struct wio_near near[WIO_NEIGHBOURS_MAX];
    struct wio_tree *tree;
    int error = wio_tree_make(source->n, centre_box, source, source->plane, 1, &tree);
    if (error != 0)
        return error;
    for (size_t i = 0; i < target->n; i++) {
        distance[i] = 0;
        if (!(target->fraction[i] > 0))
            continue;
        int n = wio_tree_nearest(tree, &points, target->centre[i], INFINITY, k, near);
        distance[i] = n == k ? sqrt(near[k - 1].distance2) : INFINITY;
    }
    wio_tree_free(tree);
    return 0;
}

/** Square of the straight distance that belongs to a distance along the surface. */
static double within2(const struct wio_search *s)
{
    double most = s->options->max_distance;
    if (!(most > 0))
        return INFINITY;
    double straight = s->source->plane ? most : 2 * sin(fmin(0.5 * most, 1.5707963267948966));
    return straight * straight;
}

/** Square of the distance from a target to the farthest of those that the last one found. */
static double to_last(const struct wio_search *s, const struct wio_scratch *sc, size_t target)
{
    double most = 0;
    for (int k = 0; k < sc->n_near; k++)
        most = fmax(most, wio_vec_distance2(s->target->centre[target],
                                            s->source->centre[sc->near[k].item]));
    return most;
}

/** One walk through the tree finds the leaves around all targets of a group, as far as the last
 * group had to look, and a little farther. */
static void look_around(const struct wio_search *s, struct wio_scratch *sc)
{
    struct wio_nearby *around = &sc->centres;
    around->asked = true;
    around->within2 = 2 * around->reach2;
    around->reach2 = 0;
    around->there = false;
    if (!(around->within2 > 0))
        return;
    struct wio_box box = wio_scratch_box(sc, s->target);
    wio_box_widen(&box, sqrt(around->within2) * (1 + 1e-9));
    around->there = wio_leaves_gather(s->centres, &box, &around->leaves);
}

/** The nearest centres, into scratch->near. Targets follow each other in space: no more than the
 * distance to those that the last one found need be searched. What is found is the same without. */
static int find(const struct wio_search *s, struct wio_scratch *sc, size_t target, int wanted)
{
    struct wio_vec where = s->target->centre[target];
    struct wio_nearby *around = &sc->centres;
    double within = within2(s);
    if (sc->n_near == wanted)
        within = fmin(within, to_last(s, sc, target));
    if (!around->asked)
        look_around(s, sc);
    sc->n_near = 0;
    if (around->there)
        sc->n_near = wio_leaves_nearest(s->centres, &around->leaves, &s->points, where,
                                        fmin(within, around->within2), wanted, sc->near);
    if (sc->n_near < wanted && !(around->there && within <= around->within2))
        sc->n_near = wio_tree_nearest(s->centres, &s->points, where, within, wanted, sc->near);
    if (sc->n_near == wanted)
        around->reach2 = fmax(around->reach2, sc->near[wanted - 1].distance2);
    return sc->n_near;
}

int wio_row_nearest(const struct wio_search *s, struct wio_scratch *scratch, size_t target)
{
    if (find(s, scratch, target, 1) == 0)
        return 0;
    uint32_t item = scratch->near[0].item;
    return wio_scratch_link(scratch, s->source->index[item], item, 1);
}

int wio_row_distance(const struct wio_search *s, struct wio_scratch *scratch, size_t target)
{
    const struct wio_near *near = scratch->near;
    double weight[WIO_NEIGHBOURS_MAX], sum = 0;
    int wanted = s->options->neighbours > 0 ? s->options->neighbours : 4;
    double power = s->options->power > 0 ? s->options->power : 1;
    int n = find(s, scratch, target, wanted);
    /* On a source point to rounding: its value, as the limit of the weights says. */
    if (n > 0 && near[0].distance2 < 1e-30 * s->source->scale * s->source->scale)
        return wio_scratch_link(scratch, s->source->index[near[0].item], near[0].item, 1);
    for (int k = 0; k < n; k++) {
        weight[k] = pow(near[0].distance2 / near[k].distance2, 0.5 * power);
        sum += weight[k];
    }
    int error = 0;
    for (int k = 0; k < n && error == 0; k++)
        error = wio_scratch_link(scratch, s->source->index[near[k].item], near[k].item,
                                 weight[k] / sum);
    return error;
}
