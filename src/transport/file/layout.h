/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file layout.h
 * What lies in the files, to the byte (docs/design/file.md). Pure functions on bytes. All integers
 * are little-endian; every structure that is looked at while somebody may write it has a checksum.
 */
#ifndef WIO_FILE_LAYOUT_H
#define WIO_FILE_LAYOUT_H

#include "wire/wire.h"

#define FILE_VERSION 1u

/* ---- a stream: head, then a ring of records ---- */
#define FILE_HEAD_BYTES 4096u /* where the ring begins */
#define FILE_CELL_AT 512u     /* where the writer says how much it has read of the other stream */
#define FILE_RING_MIN 16384u
#define FILE_RING_MAX ((4u << 20) + 65536u)
#define FILE_STREAM_BYTES 48u

/** The first bytes of a stream. */
struct file_stream {
    uint64_t ring;  /* bytes */
    uint64_t nonce; /* of the link */
    uint64_t token; /* of the writer */
    uint32_t rank;  /* of the writer */
};
void wio_file_stream_encode(const struct file_stream *s, uint8_t out[FILE_STREAM_BYTES]);
/** @return false: not a stream of this version, or one that cannot be */
bool wio_file_stream_decode(const uint8_t in[FILE_STREAM_BYTES], struct file_stream *s);

#define FILE_CELL_BYTES 24u
/** How far the owner of the file has read the other stream, and has written this one. */
struct file_cell {
    uint64_t consumed, written;
};
void wio_file_cell_encode(const struct file_cell *c, uint8_t out[FILE_CELL_BYTES]);
/** @return false: being written just now */
bool wio_file_cell_decode(const uint8_t in[FILE_CELL_BYTES], struct file_cell *c);

/* ---- a record ---- */
#define FILE_REC_BYTES 80u /* header; bytes of a message follow */
#define FILE_ALIGN 16u     /* each record begins at a multiple */

enum file_kind {
    FILE_K_MESSAGE = 1, /* header of p2p, and the first bytes of the message */
    FILE_K_MORE,        /* the next bytes of it */
    FILE_K_SHAKE,       /* bytes of the handshake */
    FILE_K_GOODBYE,
    FILE_K_PING,
    FILE_K_PONG,
    FILE_KINDS
};
#define FILE_REC_CRC 1u /* the bytes have a checksum, too */

struct file_rec {
    uint64_t pos;  /* where it begins in the stream: the sequence number */
    uint8_t kind;  /* enum file_kind */
    uint8_t flags; /* FILE_REC_* */
    uint16_t reason;
    uint32_t part;  /* bytes that follow */
    uint32_t total; /* of the message */
    uint32_t crc;   /* of the bytes that follow, with FILE_REC_CRC */
};
/** Bytes that a record takes. */
static inline uint64_t file_rec_span(uint32_t part)
{
    return ((uint64_t)FILE_REC_BYTES + part + FILE_ALIGN - 1) / FILE_ALIGN * FILE_ALIGN;
}
void wio_file_rec_encode(const struct file_rec *r, const uint8_t msg[WIO_MSG_BYTES],
                         uint8_t out[FILE_REC_BYTES]);
/** @return true: a whole header for this position; false: nothing has been written there yet
 * (zeros, or what was there a lap ago), or not all of it */
bool wio_file_rec_decode(const uint8_t in[FILE_REC_BYTES], uint64_t pos, struct file_rec *r);
/** Where p2p's header lies in it. */
#define FILE_REC_MSG 40u

/* ---- a sign of life ---- */
#define FILE_ALIVE_BYTES 48u
struct file_alive {
    uint64_t token;
    uint64_t beat; /* grows while the process runs */
    uint64_t host; /* identity of the host on which it runs */
    bool locked;   /* its owner holds a lock on the file */
};
void wio_file_alive_encode(const struct file_alive *a, uint8_t out[FILE_ALIVE_BYTES]);
bool wio_file_alive_decode(const uint8_t in[FILE_ALIVE_BYTES], struct file_alive *a);

#endif
