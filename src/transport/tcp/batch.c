/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file batch.c
 * Batch buffers: frames that leave together. Where links are resumed, a buffer that is out stays as
 * it is until its messages are acknowledged (kept.c), and the link goes on with another one.
 */
#include "tcp.h"

#define SPARES 64 /* free buffers that are not given back to the system: 2 MiB */
enum { KIND_AT = 3, BYTES_AT = 8, SEQ_AT = 12, ACK_AT = 16 }; /* in a header, see wire.h */

struct tcp_batch *wio_tcp_batch_get(struct tcp_iface *f)
{
    struct tcp_batch *b = f->spare_batch;
    if (b != NULL) {
        f->spare_batch = b->next;
        f->nspare_batch--;
    } else {
        b = wio_os_realloc(NULL, sizeof *b); /* not zeroed */
    }
    if (b != NULL)
        b->off = b->len = b->msgs = 0;
    return b;
}

void wio_tcp_batch_put(struct tcp_iface *f, struct tcp_batch *b)
{
    if (f->nspare_batch >= SPARES) {
        wio_os_free(b);
        return;
    }
    b->next = f->spare_batch;
    f->spare_batch = b;
    f->nspare_batch++;
}

void wio_tcp_batch_spare_free(struct tcp_iface *f)
{
    while (f->spare_batch != NULL) {
        struct tcp_batch *b = f->spare_batch;
        f->spare_batch = b->next;
        wio_os_free(b);
    }
    f->nspare_batch = 0;
}

void wio_tcp_batch_refresh(const struct tcp_link *l, struct tcp_batch *b)
{
    for (uint32_t at = 0; at < b->len;) {
        uint8_t *frame = b->data + at;
        wio_put32(frame + ACK_AT, l->rx_seq);
        at += WIO_HDR_BYTES + wio_get32(frame + BYTES_AT);
    }
}

const uint8_t *wio_tcp_batch_message(const struct tcp_batch *b, uint32_t *at, uint32_t *seq,
                                     uint32_t *bytes)
{
    while (*at < b->len) {
        const uint8_t *frame = b->data + *at;
        *bytes = wio_get32(frame + BYTES_AT);
        *seq = wio_get32(frame + SEQ_AT);
        *at += WIO_HDR_BYTES + *bytes;
        if (frame[KIND_AT] == WIO_FRAME_MESSAGE)
            return frame;
    }
    return NULL;
}

void wio_tcp_batch_trim(struct tcp_batch *b, uint32_t heard)
{
    uint32_t at = 0, to = 0, seq, bytes;
    const uint8_t *frame;
    b->msgs = 0;
    while ((frame = wio_tcp_batch_message(b, &at, &seq, &bytes)) != NULL) {
        if ((int32_t)(seq - heard) <= 0)
            continue;
        memmove(b->data + to, frame, WIO_HDR_BYTES + bytes);
        to += WIO_HDR_BYTES + bytes;
        b->msgs++;
    }
    b->off = 0;
    b->len = to;
}
