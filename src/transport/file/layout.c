/* SPDX-License-Identifier: BSD-3-Clause */
/** @file layout.c  Bytes of the files, to and from structures. */
#include "transport/file/layout.h"

#define STREAM_MAGIC UINT64_C(0x314d52545346494f) /* "OIFSTRM1" */
#define ALIVE_MAGIC UINT64_C(0x31564c415346494f)  /* "OIFSALV1" */
#define REC_MAGIC UINT32_C(0x52464957)            /* "WIFR" */

void wio_file_stream_encode(const struct file_stream *s, uint8_t out[FILE_STREAM_BYTES])
{
    memset(out, 0, FILE_STREAM_BYTES);
    wio_put64(out, STREAM_MAGIC);
    wio_put32(out + 8, FILE_VERSION);
    wio_put32(out + 12, s->rank);
    wio_put64(out + 16, s->ring);
    wio_put64(out + 24, s->nonce);
    wio_put64(out + 32, s->token);
    wio_put32(out + 44, wio_crc32c(0, out, 44));
}

bool wio_file_stream_decode(const uint8_t in[FILE_STREAM_BYTES], struct file_stream *s)
{
    if (wio_get64(in) != STREAM_MAGIC || wio_get32(in + 8) != FILE_VERSION ||
        wio_get32(in + 44) != wio_crc32c(0, in, 44))
        return false;
    s->rank = wio_get32(in + 12);
    s->ring = wio_get64(in + 16);
    s->nonce = wio_get64(in + 24);
    s->token = wio_get64(in + 32);
    return s->ring >= FILE_RING_MIN && s->ring <= FILE_RING_MAX && s->ring % 4096 == 0;
}

void wio_file_cell_encode(const struct file_cell *c, uint8_t out[FILE_CELL_BYTES])
{
    wio_put64(out, c->consumed);
    wio_put64(out + 8, c->written);
    wio_put32(out + 16, 0);
    wio_put32(out + 20, ~wio_crc32c(0, out, 20));
}

bool wio_file_cell_decode(const uint8_t in[FILE_CELL_BYTES], struct file_cell *c)
{
    if (wio_get32(in + 20) != (uint32_t)~wio_crc32c(0, in, 20))
        return false;
    c->consumed = wio_get64(in);
    c->written = wio_get64(in + 8);
    return true;
}

void wio_file_rec_encode(const struct file_rec *r, const uint8_t msg[WIO_MSG_BYTES],
                         uint8_t out[FILE_REC_BYTES])
{
    wio_put32(out, REC_MAGIC);
    wio_put64(out + 8, r->pos);
    out[16] = r->kind;
    out[17] = r->flags;
    wio_put16(out + 18, r->reason);
    wio_put32(out + 20, r->part);
    wio_put32(out + 24, r->total);
    wio_put32(out + 28, r->crc);
    wio_put64(out + 32, 0);
    if (msg != NULL)
        memcpy(out + FILE_REC_MSG, msg, WIO_MSG_BYTES);
    else
        memset(out + FILE_REC_MSG, 0, WIO_MSG_BYTES);
    wio_put32(out + 4, wio_crc32c(0, out + 8, FILE_REC_BYTES - 8));
}

bool wio_file_rec_decode(const uint8_t in[FILE_REC_BYTES], uint64_t pos, struct file_rec *r)
{
    if (wio_get32(in) != REC_MAGIC || wio_get64(in + 8) != pos ||
        wio_get32(in + 4) != wio_crc32c(0, in + 8, FILE_REC_BYTES - 8))
        return false;
    *r = (struct file_rec){.pos = pos,
                           .kind = in[16],
                           .flags = in[17],
                           .reason = wio_get16(in + 18),
                           .part = wio_get32(in + 20),
                           .total = wio_get32(in + 24),
                           .crc = wio_get32(in + 28)};
    return true;
}

void wio_file_alive_encode(const struct file_alive *a, uint8_t out[FILE_ALIVE_BYTES])
{
    memset(out, 0, FILE_ALIVE_BYTES);
    wio_put64(out, ALIVE_MAGIC);
    wio_put32(out + 8, FILE_VERSION);
    wio_put32(out + 12, a->locked);
    wio_put64(out + 16, a->token);
    wio_put64(out + 24, a->beat);
    wio_put64(out + 32, a->host);
    wio_put32(out + 44, wio_crc32c(0, out, 44));
}

bool wio_file_alive_decode(const uint8_t in[FILE_ALIVE_BYTES], struct file_alive *a)
{
    if (wio_get64(in) != ALIVE_MAGIC || wio_get32(in + 8) != FILE_VERSION ||
        wio_get32(in + 44) != wio_crc32c(0, in, 44))
        return false;
    a->locked = wio_get32(in + 12) != 0;
    a->token = wio_get64(in + 16);
    a->beat = wio_get64(in + 24);
    a->host = wio_get64(in + 32);
    return true;
}
