/* SPDX-License-Identifier: BSD-3-Clause */
/* clang-format off */
/**
 * @file wire.h
 * What travels between two linked endpoints: frames of a fixed 64-byte header and up to
 * WIO_PAYLOAD_MAX bytes. Pure functions on bytes, no state, no I/O. All integers little-endian.
 *
 *   offset size field        meaning
 *   ------ ---- -----        ------- link part: owned by the transport
 *        0    2 magic        0x4957 ("WI")
 *        2    1 version      WIO_WIRE_VERSION
 *        3    1 kind         enum wio_frame_kind
 *        4    1 lane         0 (which of several connections it is, the handshake says)
 *        5    1 flags        WIO_FRAME_CRC
 *        6    2 reason       GOODBYE: enum wio_bye_reason; else 0
 *        8    4 payload      bytes after the header
 *       12    4 seq          number of this frame on this link, from 1 (MESSAGE frames only; else 0)
 *       16    4 ack          highest seq received whole in the other direction
 *       20    4 crc          CRC32C of p2p part and payload when WIO_FRAME_CRC, else 0
 *   ------ ---- -----        ------- p2p part (kind MESSAGE): owned by p2p, opaque to transports
 *       24    1 op           enum wio_msg_op
 *       25    1 flags        RTS: WIO_MSG_LENDS; EAGER, RTS: WIO_MSG_TIMED;
 *                            CTS: WIO_MSG_STRIPES; else 0
 *       26    2 reserved     0
 *       28    4 credit       receiver's cumulative grant to its peer, in units of WIO_CREDIT_UNIT,
 *                            modulo 2^32
 *       32    4 tag          DONE: ns since the match, if asked for
 *       36    4 envelope     number of this envelope between the ordered pair, from 1 (EAGER, RTS);
 *                            LENT: how often the sender had taken back a loan
 *       40    8 space        message space (EAGER, RTS, REVOKE); receiver's request id (CTS: chosen, DATA:
 *                            echoed); LENT: address of a word that says that the message
 *                            may be read
 *       48    8 a            EAGER, RTS: total bytes; CTS: bytes wanted (less than asked =
 *                            truncation); DATA, MORE: offset of the payload in the message; DONE:
 *                            bytes taken; LENT: address of the message; REVOKE: universe rank
 *                            of who failed; LANE: its number
 *       56    8 b            EAGER, RTS: sender's request id (0: no DONE wanted); LENT, WITHDRAW: the
 *                            same; CTS, DONE: echoed; MORE: envelope number in the low 32 bits; DATA: 0, or the
 *                            length of the units that pieces, which may come in any order, consist
 *                            of; the last of the message may be shorter
 *
 * Version 1: first.
 * Version 2: GOODBYE with reason WIO_BYE_NOMEM; REVOKE.
 * Version 3: flag 2 of EAGER and RTS, answered in DONE's tag; LENT's space.
 * Version 4: ACK behind a GOODBYE, which has a number; only whole messages are acknowledged.
 * Version 5: flag 4 of CTS; DATA's b; lanes, LANE.
 * Version 6: WITHDRAW.
 */
/* clang-format on */
#ifndef WIO_WIRE_H
#define WIO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "waitio_errors.h"

#define WIO_WIRE_MAGIC 0x4957u
#define WIO_WIRE_VERSION 6
#define WIO_HDR_BYTES 64  /* whole header */
#define WIO_LINK_BYTES 24 /* link part */
#define WIO_MSG_BYTES 40  /* p2p part */
#define WIO_PAYLOAD_MAX (16u << 20)
#define WIO_CREDIT_UNIT 64u
#define WIO_LANES 8         /* a link and the connections beside it, at most */
#define WIO_DONE_REFUSED 1u /* space of a DONE: nobody receives the message */
#define WIO_FRAME_CRC 1u

enum wio_frame_kind {
    WIO_FRAME_MESSAGE = 1, /* carries a p2p part */
    WIO_FRAME_ACK = 2,     /* only the ack field matters */
    WIO_FRAME_GOODBYE = 3, /* only acknowledgements follow in this direction; it has the number
                              after that of the last message, unsaid */
    WIO_FRAME_PING = 4,    /* answer with PONG */
    WIO_FRAME_PONG = 5,
};
enum wio_bye_reason {
    WIO_BYE_NONE = 0,
    WIO_BYE_CAP = 1,      /* connection cap: reopened on demand */
    WIO_BYE_FINALIZE = 2, /* the process leaves the universe */
    WIO_BYE_ABORT = 3,    /* waitio_abort */
    WIO_BYE_ERROR = 4,    /* protocol error seen by the sender of the goodbye */
    WIO_BYE_NOMEM = 5,    /* its sender has no memory for a message */
};
enum wio_msg_op {
    WIO_OP_EAGER = 1,     /* envelope and (the first piece of) the data */
    WIO_OP_MORE = 2,      /* further piece of an eager message */
    WIO_OP_RTS = 3,       /* envelope; may I send? */
    WIO_OP_CTS = 4,       /* yes, so many bytes, to this request of mine */
    WIO_OP_DATA = 5,      /* piece of a rendezvous message */
    WIO_OP_DONE = 6,      /* all bytes arrived (completes sends above the local limit) */
    WIO_OP_CREDIT = 7,    /* the credit field, and perhaps a word about it */
    WIO_OP_LENT = 8,      /* right behind an RTS: there it lies in my memory, should you fetch it */
    WIO_OP_REVOKE = 9,    /* this message space has ended: who waits in it waits in vain */
    WIO_OP_LANE = 10,     /* this connection beside the link has broken at my end */
    WIO_OP_WITHDRAW = 11, /* refuse this message of mine, if no receive has matched it */
};
#define WIO_MSG_LENDS 1u   /* flag of an RTS: a LENT follows */
#define WIO_MSG_TIMED 2u   /* flag of EAGER and RTS: say in DONE's tag how long it took (ns) */
#define WIO_MSG_STRIPES 4u /* flag of a CTS: the pieces may come in any order, see DATA's b */

/** Link part, decoded. */
struct wio_frame {
    uint8_t kind, lane, flags;
    uint16_t reason;
    uint32_t payload, seq, ack, crc;
};
/** p2p part, decoded. */
struct wio_msg {
    uint8_t op, flags;
    uint32_t credit;
    int32_t tag;
    uint32_t envelope;
    uint64_t space, a, b;
};

void wio_frame_encode(const struct wio_frame *f, uint8_t out[WIO_LINK_BYTES]);
/** @return 0, or WAITIO_ERR_PROTOCOL / WAITIO_ERR_VERSION with *why set to a static text (never
 * NULL then). Checks magic, version, kind, lane, flags, reason, payload <= WIO_PAYLOAD_MAX, payload
 * == 0 unless MESSAGE, seq and crc likewise. */
int wio_frame_decode(const uint8_t in[WIO_LINK_BYTES], struct wio_frame *f, const char **why);
/** Version in a header of another release, for the message about WAITIO_ERR_VERSION. */
int wio_frame_version(const uint8_t in[WIO_LINK_BYTES]);

void wio_msg_encode(const struct wio_msg *m, uint8_t out[WIO_MSG_BYTES]);
/** @param payload bytes that follow. Checks op, tag >= 0 (EAGER, RTS), total and offsets against
 *  SSIZE_MAX and payload (EAGER: payload <= a; RTS, CTS, DONE, CREDIT: payload 0; MORE, DATA:
 * payload > 0, a + payload does not overflow), envelope != 0 where needed. @return as
 * wio_frame_decode. */
int wio_msg_decode(const uint8_t in[WIO_MSG_BYTES], uint32_t payload, struct wio_msg *m,
                   const char **why);
/** Decode a message that is EAGER, without flags, and wants no answer. Everything else about it is
 * the caller's to check. @return false: it is another one, *m is not set */
static inline bool wio_msg_plain(const uint8_t in[WIO_MSG_BYTES], struct wio_msg *m)
{
    uint64_t first = wio_get64(in), second = wio_get64(in + 8), b = wio_get64(in + 32);
    if ((uint32_t)first != WIO_OP_EAGER || b != 0)
        return false;
    *m = (struct wio_msg){.op = WIO_OP_EAGER,
                          .credit = (uint32_t)(first >> 32),
                          .tag = (int32_t)(uint32_t)second,
                          .envelope = (uint32_t)(second >> 32),
                          .space = wio_get64(in + 16),
                          .a = wio_get64(in + 24)};
    return true;
}
const char *wio_msg_op_name(uint8_t op);
const char *wio_frame_kind_name(uint8_t kind);
const char *wio_bye_reason_name(uint16_t reason);
/** Does this goodbye end the link at once, without waiting for what is under way? */
static inline bool wio_bye_is_final(uint16_t reason)
{
    return reason >= WIO_BYE_ABORT;
}
/** What the sender of a final goodbye has done, to follow its name in a message. */
static inline const char *wio_bye_deed(uint16_t reason)
{
    return reason == WIO_BYE_ABORT   ? "has aborted"
           : reason == WIO_BYE_NOMEM ? "has closed the link: it has no memory for a message"
                                     : "closed the link because of a protocol error that it saw";
}
/** The reason to give for an error that ends a link. */
static inline enum wio_bye_reason wio_bye_for(int err)
{
    return err == WAITIO_ERR_NOMEM ? WIO_BYE_NOMEM : WIO_BYE_ERROR;
}

#endif
