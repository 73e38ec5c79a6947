/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file wire.c
 * Frame headers to bytes and back. The offsets below are the protocol: a change needs a new
 * WIO_WIRE_VERSION. See docs/design/wire.md.
 */
#include "wire/wire.h"

#include <assert.h>
#include <limits.h>

#include "base/base.h"

enum link_offset {
    L_MAGIC = 0,
    L_VERSION = 2,
    L_KIND = 3,
    L_LANE = 4,
    L_FLAGS = 5,
    L_REASON = 6,
    L_PAYLOAD = 8,
    L_SEQ = 12,
    L_ACK = 16,
    L_CRC = 20,
    L_END = 24
};

/* Relative to the p2p part. */
enum msg_offset {
    M_OP = 0,
    M_FLAGS = 1,
    M_CREDIT = 4,
    M_TAG = 8,
    M_ENVELOPE = 12,
    M_SPACE = 16,
    M_A = 24,
    M_B = 32,
    M_END = 40
};

static_assert(L_END == WIO_LINK_BYTES, "link part is 24 bytes");
static_assert(M_END == WIO_MSG_BYTES, "p2p part is 40 bytes");
static_assert(WIO_LINK_BYTES + WIO_MSG_BYTES == WIO_HDR_BYTES, "a header is its two parts");
static_assert(L_CRC + sizeof(uint32_t) == L_END, "link part has no tail");
static_assert(M_B + sizeof(uint64_t) == M_END, "p2p part has no tail");
static_assert(M_SPACE % 8 == 0 && (WIO_LINK_BYTES + M_SPACE) % 8 == 0, "64-bit fields are aligned");
static_assert(sizeof(size_t) == sizeof(uint64_t), "lengths are 64 bits");

/* No object can be longer, so no offset into one can be larger. */
#define LENGTH_MAX ((uint64_t)SSIZE_MAX)

void wio_frame_encode(const struct wio_frame *f, uint8_t out[WIO_LINK_BYTES])
{
    wio_put16(out + L_MAGIC, WIO_WIRE_MAGIC);
    out[L_VERSION] = WIO_WIRE_VERSION;
    out[L_KIND] = f->kind;
    out[L_LANE] = f->lane;
    out[L_FLAGS] = f->flags;
    wio_put16(out + L_REASON, f->reason);
    wio_put32(out + L_PAYLOAD, f->payload);
    wio_put32(out + L_SEQ, f->seq);
    wio_put32(out + L_ACK, f->ack);
    wio_put32(out + L_CRC, f->crc);
}

static const char *check_message_frame(const struct wio_frame *f)
{
    if (f->payload > WIO_PAYLOAD_MAX)
        return "frame payload longer than the protocol allows";
    if ((f->flags & WIO_FRAME_CRC) == 0 && f->crc != 0)
        return "frame has a checksum but not the flag for it";
    return NULL;
}

static const char *check_control_frame(const struct wio_frame *f)
{
    if (f->payload != 0)
        return "control frame with a payload";
    if (f->flags != 0 || f->crc != 0)
        return "control frame with a checksum";
    if (f->seq != 0)
        return "control frame with a sequence number";
    return NULL;
}

static const char *check_frame(const struct wio_frame *f)
{
    if (f->kind < WIO_FRAME_MESSAGE || f->kind > WIO_FRAME_PONG)
        return "unknown frame kind";
    if (f->lane != 0)
        return "unknown lane";
    if ((f->flags & ~WIO_FRAME_CRC) != 0)
        return "unknown frame flag";
    if (f->reason > (f->kind == WIO_FRAME_GOODBYE ? WIO_BYE_NOMEM : WIO_BYE_NONE))
        return "unknown or misplaced goodbye reason";
    return f->kind == WIO_FRAME_MESSAGE ? check_message_frame(f) : check_control_frame(f);
}

int wio_frame_version(const uint8_t in[WIO_LINK_BYTES])
{
    return in[L_VERSION];
}

int wio_frame_decode(const uint8_t in[WIO_LINK_BYTES], struct wio_frame *f, const char **why)
{
    if (wio_get16(in + L_MAGIC) != WIO_WIRE_MAGIC) {
        *why = "not a frame: wrong magic number";
        return WAITIO_ERR_PROTOCOL;
    }
    if (in[L_VERSION] != WIO_WIRE_VERSION) {
        *why = "frame of another protocol version";
        return WAITIO_ERR_VERSION;
    }
    f->kind = in[L_KIND];
    f->lane = in[L_LANE];
    f->flags = in[L_FLAGS];
    f->reason = wio_get16(in + L_REASON);
    f->payload = wio_get32(in + L_PAYLOAD);
    f->seq = wio_get32(in + L_SEQ);
    f->ack = wio_get32(in + L_ACK);
    f->crc = wio_get32(in + L_CRC);
    const char *fault = check_frame(f);
    if (WIO_UNLIKELY(fault != NULL)) {
        *why = fault;
        return WAITIO_ERR_PROTOCOL;
    }
    return 0;
}

/* In words: what is written in smaller pieces than it is copied in waits for the stores to land. */
void wio_msg_encode(const struct wio_msg *m, uint8_t out[WIO_MSG_BYTES])
{
    static_assert(M_OP == 0 && M_FLAGS == 1 && M_CREDIT == 4 && M_TAG == 8 && M_ENVELOPE == 12,
                  "the first two words");
    wio_put64(out, m->op | (uint64_t)m->flags << 8 | (uint64_t)m->credit << 32);
    wio_put64(out + M_TAG, (uint32_t)m->tag | (uint64_t)m->envelope << 32);
    wio_put64(out + M_SPACE, m->space);
    wio_put64(out + M_A, m->a);
    wio_put64(out + M_B, m->b);
}

static const char *check_envelope(const struct wio_msg *m)
{
    if (m->tag < 0)
        return "negative tag";
    if (m->envelope == 0)
        return "message without an envelope number";
    if (m->a > LENGTH_MAX)
        return "message longer than any object can be";
    return NULL;
}

/* EAGER: the first piece is not longer than the whole. */
static const char *check_eager(const struct wio_msg *m, uint32_t payload)
{
    const char *fault = check_envelope(m);
    if (fault != NULL)
        return fault;
    if (payload > m->a)
        return "first piece longer than its message";
    return NULL;
}

/* MORE and DATA: a non-empty piece that ends inside the largest possible message. */
static const char *check_piece(const struct wio_msg *m, uint32_t payload)
{
    if (payload == 0)
        return "empty piece of a message";
    if (m->a > LENGTH_MAX - payload)
        return "piece beyond the end of any message";
    if (m->op == WIO_OP_MORE && (m->b == 0 || m->b > UINT32_MAX))
        return "piece without a valid envelope number";
    return NULL;
}

/* RTS, CTS, DONE, CREDIT, LENT, REVOKE, LANE, WITHDRAW: nothing follows, and byte counts are
 * possible ones. */
static const char *check_control(const struct wio_msg *m, uint32_t payload)
{
    if (payload != 0)
        return "control message with a payload";
    if (m->op == WIO_OP_RTS)
        return check_envelope(m);
    if (m->op == WIO_OP_LENT)
        return m->a == 0 ? "message lent without an address" : NULL;
    if (m->op == WIO_OP_WITHDRAW && m->b == 0)
        return "withdrawal of no message";
    if (m->op == WIO_OP_LANE)
        return m->a == 0 || m->a >= WIO_LANES ? "unknown lane" : NULL;
    if (m->op != WIO_OP_CREDIT && m->a > LENGTH_MAX)
        return "more bytes than any object can have";
    return NULL;
}

static const char *check_msg(const struct wio_msg *m, uint32_t payload)
{
    switch (m->op) {
    case WIO_OP_EAGER:
        return check_eager(m, payload);
    case WIO_OP_MORE:
    case WIO_OP_DATA:
        return check_piece(m, payload);
    case WIO_OP_RTS:
    case WIO_OP_CTS:
    case WIO_OP_DONE:
    case WIO_OP_CREDIT:
    case WIO_OP_LENT:
    case WIO_OP_REVOKE:
    case WIO_OP_LANE:
    case WIO_OP_WITHDRAW:
        return check_control(m, payload);
    default:
        return "unknown message operation";
    }
}

int wio_msg_decode(const uint8_t in[WIO_MSG_BYTES], uint32_t payload, struct wio_msg *m,
                   const char **why)
{
    uint64_t first = wio_get64(in), second = wio_get64(in + M_TAG);
    m->op = (uint8_t)first;
    m->flags = (uint8_t)(first >> 8);
    m->credit = (uint32_t)(first >> 32);
    m->tag = (int32_t)(uint32_t)second;
    m->envelope = (uint32_t)(second >> 32);
    m->space = wio_get64(in + M_SPACE);
    m->a = wio_get64(in + M_A);
    m->b = wio_get64(in + M_B);
    unsigned allowed = m->op == WIO_OP_RTS     ? WIO_MSG_LENDS | WIO_MSG_TIMED
                       : m->op == WIO_OP_EAGER ? WIO_MSG_TIMED
                       : m->op == WIO_OP_CTS   ? WIO_MSG_STRIPES
                                               : 0;
    const char *fault = (m->flags & ~allowed) != 0 || (first >> 16 & 0xffff) != 0
                            ? "reserved bits of a message are set"
                            : check_msg(m, payload);
    if (WIO_UNLIKELY(fault != NULL)) {
        *why = fault;
        return WAITIO_ERR_PROTOCOL;
    }
    return 0;
}

const char *wio_msg_op_name(uint8_t op)
{
    static const char *const names[] = {
        [WIO_OP_EAGER] = "EAGER",   [WIO_OP_MORE] = "MORE",        [WIO_OP_RTS] = "RTS",
        [WIO_OP_CTS] = "CTS",       [WIO_OP_DATA] = "DATA",        [WIO_OP_DONE] = "DONE",
        [WIO_OP_CREDIT] = "CREDIT", [WIO_OP_LENT] = "LENT",        [WIO_OP_REVOKE] = "REVOKE",
        [WIO_OP_LANE] = "LANE",     [WIO_OP_WITHDRAW] = "WITHDRAW"};
    return op < WIO_ARRAY_LEN(names) && names[op] != NULL ? names[op] : "unknown";
}

const char *wio_frame_kind_name(uint8_t kind)
{
    static const char *const names[] = {[WIO_FRAME_MESSAGE] = "MESSAGE",
                                        [WIO_FRAME_ACK] = "ACK",
                                        [WIO_FRAME_GOODBYE] = "GOODBYE",
                                        [WIO_FRAME_PING] = "PING",
                                        [WIO_FRAME_PONG] = "PONG"};
    return kind < WIO_ARRAY_LEN(names) && names[kind] != NULL ? names[kind] : "unknown";
}

const char *wio_bye_reason_name(uint16_t reason)
{
    static const char *const names[] = {[WIO_BYE_NONE] = "none",
                                        [WIO_BYE_CAP] = "connection cap",
                                        [WIO_BYE_FINALIZE] = "finalize",
                                        [WIO_BYE_ABORT] = "abort",
                                        [WIO_BYE_ERROR] = "protocol error",
                                        [WIO_BYE_NOMEM] = "out of memory"};
    return reason < WIO_ARRAY_LEN(names) ? names[reason] : "unknown";
}
