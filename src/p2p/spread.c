/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that are spread in the program's memory. What is sent is read into a buffer just before
 * the transport gets it, so only the pieces on their way are held, not the message. What arrives is
 * written on as soon as a piece is complete.
 */
#include "p2p/universe.h"

static struct wio_piece *piece_get(struct wio_universe *u, size_t n)
{
    size_t room = n > WIO_SPREAD_PIECE ? n : WIO_SPREAD_PIECE;
    struct wio_piece *piece = wio_buffer_get(&u->buffers, sizeof *piece + room);
    if (piece == NULL)
        return NULL;
    piece->room = room;
    u->ctr.piece_bytes += piece->room;
    if (u->ctr.piece_bytes > u->ctr.piece_max)
        u->ctr.piece_max = u->ctr.piece_bytes;
    return piece;
}

void wio_spread_piece_free(struct wio_request *r)
{
    struct wio_piece *piece = r->piece;
    if (piece == NULL)
        return;
    r->piece = NULL;
    r->u->ctr.piece_bytes -= piece->room;
    wio_buffer_put(&r->u->buffers, piece, sizeof *piece + piece->room);
}

void wio_spread_set(struct wio_request *r, const struct wio_spread *f)
{
    r->spread = *f;
    f->calls->hold(f);
}

void wio_spread_end(struct wio_request *r)
{
    if (r->spread.calls == NULL)
        return;
    wio_spread_piece_free(r);
    r->spread.calls->release(&r->spread);
    r->spread.calls = NULL;
}

uint8_t *wio_spread_room(struct wio_request *r, size_t n)
{
    if (r->piece != NULL && r->piece->room < n)
        wio_spread_piece_free(r);
    if (r->piece == NULL)
        r->piece = piece_get(r->u, n);
    return r->piece != NULL ? r->piece->data : NULL;
}

const uint8_t *wio_spread_read(struct wio_request *r, size_t at, size_t n)
{
    uint8_t *to = wio_spread_room(r, n);
    if (to == NULL)
        return NULL;
    r->spread.calls->read(&r->spread, r->status_source, at, n, to);
    r->u->ctr.copied_bytes += n;
    return to;
}

void wio_spread_write(struct wio_request *r, size_t at, size_t n, const void *from)
{
    if (at >= r->bytes)
        return;
    if (n > r->bytes - at)
        n = r->bytes - at;
    if (n > 0)
        r->spread.calls->write(&r->spread, r->status_source, at, n, from);
    r->u->ctr.copied_bytes += n;
}
