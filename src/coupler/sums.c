/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges whose sums the sender makes, where it has all sources. */
#include "coupler/sums.h"

#include "coupler/message.h"

static const struct wio_cpl_share *share_of(const struct wio_cpl_bundle *b, size_t i)
{
    return &b->table->sums->shares[i];
}

static const struct wio_cpl_peer *peer_of(const struct wio_cpl_bundle *b, size_t i)
{
    const struct wio_cpl_list *peers = b->sends ? &b->table->sends : &b->table->receives;

    return (const struct wio_cpl_peer *)peers->at + i;
}

size_t wio_cpl_bundle_numbers(const struct wio_cpl_bundle *b, size_t i)
{
    return b->ahead ? share_of(b, i)->rows + share_of(b, i)->n : peer_of(b, i)->n;
}

/* ---- sender --------------------------------------------------------------------------------- */

/* b->sources of the sender holds the sources of two layers, as they are after the journey; the sums
 * of two; numbers of the type. */
size_t wio_cpl_sums_room(const struct wio_cpl_bundle *b)
{
    const struct wio_cpl_sums *s = b->table->sums;

    if (!b->ahead)
        return b->sends ? 0 : b->table->remap.slots * b->layers;
    if (!b->sends)
        return (s->rest.slots + s->rows) * b->layers;
    return 3 * s->most_points + 2 * s->most_rows;
}

/* The sources of a peer as the receiver would have them. @return 0; ARG */
static int gather(const struct waitio_cpl *cpl, const struct wio_cpl_bundle *b,
                  const struct wio_cpl_var *v, const struct wio_cpl_peer *peer, size_t layer,
                  double *numbers, double *to)
{
    const double *from = v->flow.last + layer * v->grid->n;
    size_t done = wio_cpl_narrow(b->type, from, peer->at, peer->n, numbers);

    if (done < peer->n)
        return wio_cpl_too_great(cpl, v, from[peer->at[done]], v->grid->index[peer->at[done]]);
    wio_cpl_widen(b->type, v->fill, numbers, peer->n, to);
    return 0;
}

/* One layer of a message: its sums, then its points. */
static int write_layer(const struct waitio_cpl *cpl, const struct wio_cpl_bundle *b,
                       const struct wio_cpl_var *v, const struct wio_cpl_share *s, size_t layer,
                       const double *sums, void *out)
{
    size_t width = wio_cpl_width(b->type);
    char *to = (char *)out + layer * (s->rows + s->n) * width;
    const double *from = v->flow.last + layer * v->grid->n;
    size_t done = wio_cpl_narrow(b->type, sums, NULL, s->rows, to);

    if (done < s->rows)
        return wio_cpl_too_great(cpl, v, sums[done], s->target[done]);
    done = wio_cpl_narrow(b->type, from, s->at, s->n, to + s->rows * width);
    return done < s->n ? wio_cpl_too_great(cpl, v, from[s->at[done]], v->grid->index[s->at[done]])
                       : 0;
}

static int pack_layer(const struct waitio_cpl *cpl, const struct wio_cpl_bundle *b,
                      const struct wio_cpl_var *v, size_t i, size_t layer, void *out)
{
    const struct wio_cpl_gaps gaps = {v->link->masked, v->fill, v->fill};
    const struct wio_cpl_share *s = share_of(b, i);
    const struct wio_cpl_sums *most = b->table->sums;
    double *from = b->sources, *sums = from + 2 * most->most_points;
    double *numbers = sums + 2 * most->most_rows;
    int rc = gather(cpl, b, v, peer_of(b, i), layer, numbers, from);

    if (rc == 0)
        wio_cpl_remap_layers(&s->sum, from, 0, sums, s->rows, 1, &gaps);
    return rc == 0 ? write_layer(cpl, b, v, s, layer, sums, out) : rc;
}

/* The two components of a vector. */
static int pack_turned(const struct waitio_cpl *cpl, const struct wio_cpl_bundle *b,
                       const struct wio_cpl_var *v, size_t i, size_t layer, void *out)
{
    const struct wio_cpl_gaps gaps = {v->link->masked, v->fill, v->fill};
    const struct wio_cpl_share *s = share_of(b, i);
    const struct wio_cpl_sums *most = b->table->sums;
    double *from[2] = {b->sources, b->sources + most->most_points};
    double *sums[2] = {from[1] + most->most_points, from[1] + most->most_points + most->most_rows};
    size_t half = (size_t)v->link->layers / 2;
    int rc = gather(cpl, b, v, peer_of(b, i), layer, sums[1] + most->most_rows, from[0]);

    if (rc == 0)
        rc = gather(cpl, b, v, peer_of(b, i), layer + half, sums[1] + most->most_rows, from[1]);
    if (rc == 0)
        wio_cpl_remap_turn(&s->sum, from[0], from[1], sums[0], sums[1], s->rows, &gaps);
    for (size_t k = 0; rc == 0 && k < 2; k++)
        rc = write_layer(cpl, b, v, s, layer + k * half, sums[k], out);
    return rc;
}

/* One of two variables that are a vector: it needs the sources of both. */
static int pack_component(const struct waitio_cpl *cpl, const struct wio_cpl_bundle *b,
                          const struct wio_cpl_var *v, size_t i, size_t layer, void *out)
{
    const struct wio_cpl_gaps gaps = {v->link->masked, v->fill, v->fill};
    const struct wio_cpl_share *s = share_of(b, i);
    const struct wio_cpl_sums *most = b->table->sums;
    const struct wio_cpl_var *first = v->second ? v->with : v, *second = v->second ? v : v->with;
    double *from[2] = {b->sources, b->sources + most->most_points};
    double *sums = from[1] + most->most_points, *numbers = sums + 2 * most->most_rows;
    int rc = gather(cpl, b, first, peer_of(b, i), layer, numbers, from[0]);

    if (rc == 0)
        rc = gather(cpl, b, second, peer_of(b, i), layer, numbers, from[1]);
    if (rc == 0)
        wio_cpl_remap_component(&s->sum, v->second, from[0], from[1], sums, s->rows, &gaps);
    return rc == 0 ? write_layer(cpl, b, v, s, layer, sums, out) : rc;
}

int wio_cpl_sums_pack(const struct waitio_cpl *cpl, const struct wio_cpl_bundle *b,
                      const struct wio_cpl_var *v, size_t i, void *out)
{
    bool turned = v->link->tag > WIO_CPL_VECTOR_TAG;
    size_t layers = (size_t)v->link->layers;
    int rc = 0;

    for (size_t k = 0; rc == 0 && v->with != NULL && k < layers; k++)
        rc = pack_component(cpl, b, v, i, k, out);
    if (v->with != NULL)
        return rc;

    for (size_t k = 0; rc == 0 && k < (turned ? layers / 2 : layers); k++)
        rc = turned ? pack_turned(cpl, b, v, i, k, out) : pack_layer(cpl, b, v, i, k, out);
    return rc;
}

/* ---- receiver ------------------------------------------------------------------------------- */

/* b->sources of the receiver: [layer][point] of the rest, then [layer][sum]. */
static double *sums_at(const struct wio_cpl_bundle *b, size_t layer)
{
    const struct wio_cpl_sums *s = b->table->sums;

    return b->sources + s->rest.slots * b->layers + s->rows * layer;
}

void wio_cpl_sums_unpack(const struct wio_cpl_bundle *b, const struct wio_cpl_var *v, size_t i,
                         size_t layer, const void *in)
{
    const struct wio_cpl_share *s = share_of(b, i);
    double *points = b->sources + b->table->sums->rest.slots * layer + s->first;

    wio_cpl_widen(b->type, v->fill, in, s->rows, sums_at(b, layer) + s->first_row);
    wio_cpl_widen(b->type, v->fill, (const char *)in + s->rows * wio_cpl_width(b->type), s->n,
                  points);
}

void wio_cpl_remap_pair(const struct wio_cpl_remap *remap, const struct wio_cpl_var *v,
                        const double *from, size_t stride, double *to,
                        const struct wio_cpl_gaps *gaps)
{
    const struct wio_cpl_var *first = v->second ? v->with : v, *second = v->second ? v : v->with;
    size_t n = v->grid->n;

    for (size_t k = 0; k < (size_t)v->link->layers; k++)
        wio_cpl_remap_component(remap, v->second, from + (first->first + k) * stride,
                                from + (second->first + k) * stride, to + k * n, n, gaps);
}

void wio_cpl_sums_remap(const struct wio_cpl_bundle *b, const struct wio_cpl_var *v, size_t layer,
                        const struct wio_cpl_gaps *gaps)
{
    const struct wio_cpl_sums *s = b->table->sums;
    const double *from = b->sources + s->rest.slots * layer;
    size_t layers = (size_t)v->link->layers, n = v->grid->n, half = layers / 2;

    if (v->with != NULL)
        wio_cpl_remap_pair(&s->rest, v, b->sources, s->rest.slots, v->data, gaps);
    else if (v->link->tag > WIO_CPL_VECTOR_TAG)
        for (size_t k = 0; k < half; k++)
            wio_cpl_remap_turn(&s->rest, from + k * s->rest.slots,
                               from + (k + half) * s->rest.slots, v->data + k * n,
                               v->data + (k + half) * n, n, gaps);
    else
        wio_cpl_remap_layers(&s->rest, from, s->rest.slots, v->data, n, layers, gaps);
    for (size_t k = 0; k < layers; k++)
        for (size_t i = 0; i < s->rows; i++)
            v->data[k * n + (size_t)s->to[i]] = sums_at(b, layer + k)[i];
}
