/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The numbers of messages that are sent. Where a put is sent as it is, it goes straight from the
 * program's array into the messages of its bundle, which wait there for the next step: no copy of
 * the whole field is made. Who needs the field itself (a restart, an exchange outside the steps)
 * takes it back from there.
 */
#include <stdlib.h>
#include <string.h>

#include "coupler/cpl.h"
#include "coupler/message.h"

/* Shorter ranges cost more than they save. */
enum { MEAN_SPAN = 8 };

static size_t count_spans(const struct wio_cpl_peer *peer)
{
    size_t n = peer->n > 0;

    for (size_t i = 1; i < peer->n; i++)
        n += peer->at[i] != peer->at[i - 1] + 1;
    return n;
}

int wio_cpl_spans_make(struct wio_cpl_peer *peer)
{
    size_t n = count_spans(peer), k = 0;

    if (n * MEAN_SPAN > peer->n && n != 1)
        return 0;
    peer->spans = wio_cpl_new(n, sizeof *peer->spans);
    if (peer->spans == NULL)
        return WAITIO_ERR_NOMEM;
    peer->n_spans = n;
    for (size_t i = 0; i < peer->n; i++)
        if (i > 0 && peer->at[i] == peer->at[i - 1] + 1)
            peer->spans[k - 1].n++;
        else
            peer->spans[k++] = (struct wio_cpl_span){(size_t)peer->at[i], 1};
    return 0;
}

/* One layer. @return peer->n, or which number is no whole one */
static size_t pack_layer(enum wio_cpl_type type, const double *from,
                         const struct wio_cpl_peer *peer, char *out)
{
    size_t width = wio_cpl_width(type), done = 0;

    if (peer->spans == NULL)
        return wio_cpl_narrow(type, from, peer->at, peer->n, out);
    for (size_t i = 0; i < peer->n_spans; i++) {
        const struct wio_cpl_span *s = &peer->spans[i];
        size_t good = wio_cpl_narrow(type, from + s->at, NULL, s->n, out + done * width);

        done += good;
        if (good < s->n)
            break;
    }
    return done;
}

/* Where the numbers of a variable begin in a message. */
static char *place_of(const struct wio_cpl_var *v, const struct wio_cpl_peer *peer, void *buffer)
{
    return (char *)buffer + (WIO_CPL_HEAD + v->first * peer->n) * wio_cpl_width(v->bundle->type);
}

int wio_cpl_too_great(const struct waitio_cpl *cpl, const struct wio_cpl_var *v, double value,
                      int64_t index)
{
    const struct wio_cpl_link *l = v->link;

    return wio_cpl_fail(
        WAITIO_ERR_ARG,
        "'%s' of component '%s' is %g at index %lld, which is no whole number of 32 "
        "bits: give it type = 'real8' (%s:%d)",
        v->name, cpl->components[cpl->mine].name, value, (long long)index, cpl->conf.file, l->line);
}

int wio_cpl_pack(const struct waitio_cpl *cpl, const struct wio_cpl_var *v,
                 const struct wio_cpl_peer *peer, void *buffer)
{
    size_t width = wio_cpl_width(v->bundle->type);
    char *out = place_of(v, peer, buffer);

    for (int layer = 0; layer < v->link->layers; layer++, out += peer->n * width) {
        const double *from = v->flow.last + (size_t)layer * v->grid->n;
        size_t done = pack_layer(v->bundle->type, from, peer, out);

        if (done < peer->n)
            return wio_cpl_too_great(cpl, v, from[peer->at[done]], v->grid->index[peer->at[done]]);
    }
    return 0;
}

/* Not what is kept for later steps, nor what may turn out to be no number of its type. */
bool wio_cpl_packs_at_put(const struct wio_cpl_var *v)
{
    const struct wio_cpl_bundle *b = v->bundle;

    return !b->now && !b->ahead && b->shift >= 0 && !wio_cpl_bundle_goes_ahead(b) && !b->busy &&
           b->type != WIO_CPL_INT && v->flow.reduce == WIO_CPL_LAST;
}

void wio_cpl_pack_put(struct wio_cpl_var *v, const double *data)
{
    const struct wio_cpl_bundle *b = v->bundle;
    const struct wio_cpl_peer *peers = b->table->sends.at;
    size_t width = wio_cpl_width(b->type);

    for (size_t i = 0; i < b->table->sends.n; i++) {
        char *out = place_of(v, &peers[i], b->buffers[i]);

        for (int layer = 0; layer < v->link->layers; layer++, out += peers[i].n * width)
            (void)pack_layer(b->type, data + (size_t)layer * v->grid->n, &peers[i], out);
    }
    v->packed = true;
}

void wio_cpl_unpack_put(const struct wio_cpl_var *v)
{
    const struct wio_cpl_bundle *b = v->bundle;
    const struct wio_cpl_peer *peers = b->table->sends.at;
    size_t width = wio_cpl_width(b->type);

    for (size_t i = 0; v->packed && i < b->table->sends.n; i++) {
        const char *in = place_of(v, &peers[i], b->buffers[i]);

        for (int layer = 0; layer < v->link->layers; layer++)
            for (size_t k = 0; k < peers[i].n; k++, in += width)
                wio_cpl_widen(b->type, v->fill, in, 1,
                              v->flow.last + (size_t)layer * v->grid->n + peers[i].at[k]);
    }
}
