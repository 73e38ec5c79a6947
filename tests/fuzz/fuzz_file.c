/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file fuzz_file.c
 * What lies in the files of a link by files, and how they are called: heads, cells, records, signs
 * of life, names, from anybody who may write there. What is accepted keeps the promises of layout.h
 * and encodes to something that decodes to the same. Checksums stop nearly every input, so the same
 * bytes are also taken as fields, encoded, and spoilt in one place.
 */
#include <stdlib.h>
#include <string.h>

#include "transport/file/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int ok)
{
    if (!ok)
        abort();
}

static void stream(const uint8_t *in)
{
    struct file_stream s, again;
    uint8_t out[FILE_STREAM_BYTES];
    if (!wio_file_stream_decode(in, &s))
        return;
    must(s.ring >= FILE_RING_MIN && s.ring <= FILE_RING_MAX);
    wio_file_stream_encode(&s, out);
    must(wio_file_stream_decode(out, &again) && again.ring == s.ring && again.nonce == s.nonce &&
         again.token == s.token && again.rank == s.rank);
}

static void cell(const uint8_t *in)
{
    struct file_cell c, again;
    uint8_t out[FILE_CELL_BYTES];
    if (!wio_file_cell_decode(in, &c))
        return;
    wio_file_cell_encode(&c, out);
    must(wio_file_cell_decode(out, &again) && again.consumed == c.consumed &&
         again.written == c.written);
}

static void record(const uint8_t *in, uint64_t pos)
{
    struct file_rec r;
    if (!wio_file_rec_decode(in, pos, &r))
        return;
    uint8_t out[FILE_REC_BYTES];
    struct file_rec again;
    wio_file_rec_encode(&r, in + FILE_REC_MSG, out);
    must(r.pos == pos && wio_file_rec_decode(out, pos, &again));
    must(again.kind == r.kind && again.flags == r.flags && again.reason == r.reason &&
         again.part == r.part && again.total == r.total && again.crc == r.crc);
}

static void alive(const uint8_t *in)
{
    struct file_alive a, again;
    uint8_t out[FILE_ALIVE_BYTES];
    if (!wio_file_alive_decode(in, &a))
        return;
    wio_file_alive_encode(&a, out);
    must(wio_file_alive_decode(out, &again) && again.token == a.token && again.beat == a.beat &&
         again.host == a.host && again.locked == a.locked);
}

static void all(const uint8_t in[128], uint64_t pos)
{
    stream(in);
    cell(in);
    record(in, pos);
    alive(in);
}

/* A header as another process might write it, with one byte changed or none. */
static void written(const uint8_t in[128], uint64_t pos)
{
    uint8_t out[128] = {0};
    struct file_rec r = {.pos = pos,
                         .kind = in[8],
                         .flags = in[9],
                         .reason = wio_get16(in + 10),
                         .part = wio_get32(in + 12),
                         .total = wio_get32(in + 16),
                         .crc = wio_get32(in + 20)};
    wio_file_rec_encode(&r, in + 24, out);
    record(out, pos);
    out[in[127] % FILE_REC_BYTES] ^= in[126];
    record(out, pos);
    struct file_stream s = {.ring = wio_get64(in),
                            .nonce = wio_get64(in + 8),
                            .token = wio_get64(in + 16),
                            .rank = wio_get32(in + 24)};
    wio_file_stream_encode(&s, out);
    stream(out);
}

static void name(const uint8_t *data, size_t size)
{
    char text[160] = {0}, again[160];
    struct file_name n = {0};
    memcpy(text, data, size < sizeof text - 1 ? size : sizeof text - 1);
    switch (wio_file_name_parse(text, &n)) {
    case FILE_N_STREAM:
        wio_file_name_stream(again, sizeof again, n.rank, n.token, n.nonce);
        break;
    case FILE_N_LEAVE:
        wio_file_name_leave(again, sizeof again, n.rank, n.token, n.nonce);
        break;
    case FILE_N_KNOCK:
        wio_file_name_knock(again, sizeof again, n.rank, n.token, n.nonce);
        break;
    default:
        return;
    }
    must(wio_file_name_parse(again, &n) != FILE_N_OTHER);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t in[128] = {0};
    memcpy(in, data, size < sizeof in ? size : sizeof in);
    all(in, wio_get64(in));
    written(in, wio_get64(in) / FILE_ALIGN * FILE_ALIGN);
    name(data, size);
    return 0;
}
