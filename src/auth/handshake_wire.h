/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file handshake_wire.h
 * Bytes of the handshake, version 1. All integers little-endian. docs/design/handshake.md explains.
 *
 *   every message, in every version          REFUSE, in every version
 *   0  4  magic "WIOH"                       8  2  code: -WAITIO_ERR_*
 *   4  1  type                              10  2  bytes of text
 *   5  1  version of the sender             12  n  text, printable ASCII, at most 200
 *   6  2  bytes of the whole message
 *
 *   HELLO and CHALLENGE                      CHALLENGE            PROOF
 *   8  1  purpose                           56 32  proof of      8 32  proof of
 *   9  1  flags (unknown ones are refused)         acceptor            dialer
 *  10  2  reserved: 0, ignored
 *  12  4  features: offered, chosen (unknown offers are ignored)
 *  16 16  universe                           READY: the prefix only
 *  32  4  rank
 *  36  4  extra
 *  40 16  nonce
 */
#ifndef WIO_HANDSHAKE_WIRE_H
#define WIO_HANDSHAKE_WIRE_H

#include "auth/auth.h"

#define HS_MAGIC "WIOH"
#define HS_MAGIC_BYTES 4
#define HS_NONCE 16
#define HS_PROOF 32
#define HS_HASH 32

enum hs_type { HS_HELLO = 1, HS_CHALLENGE = 2, HS_PROOF_MSG = 3, HS_READY = 4, HS_REFUSE = 5 };

/** The sender has no secret: WAITIO_SECRET=none. */
#define HS_FLAG_NONE 1u
/** Feature of a side with WAITIO_TLS=1; both have to have it. Connections over TCP then go on with
 * TLS 1.3 and a pre-shared key after READY. */
#define HS_FEATURE_TLS 1u

enum hs_prefix { HP_MAGIC = 0, HP_TYPE = 4, HP_VERSION = 5, HP_LENGTH = 6, HP_END = 8 };
enum hs_greeting {
    HG_PURPOSE = 8,
    HG_FLAGS = 9,
    HG_RESERVED = 10,
    HG_FEATURES = 12,
    HG_UNIVERSE = 16,
    HG_RANK = 32,
    HG_EXTRA = 36,
    HG_NONCE = 40,
    HG_END = 56
};
enum hs_length {
    HL_HELLO = HG_END,
    HL_CHALLENGE = HG_END + HS_PROOF,
    HL_PROOF = HP_END + HS_PROOF,
    HL_READY = HP_END
};
enum hs_refuse { HR_CODE = 8, HR_LENGTH = 10, HR_TEXT = 12, HR_MAX = HR_TEXT + WIO_AUTH_TEXT_MAX };

/** Take a message, or a part of one, into the running hash. @return 0 or SYSTEM */
int wio_hs_absorb(struct wio_auth *a, const uint8_t *bytes, size_t n);
/** What the side with @p role has to send to prove itself: HMAC-SHA256 under the secret of the
 * role's name and the transcript so far. @return 0 or SYSTEM */
int wio_hs_prove(const struct wio_auth *a, enum wio_auth_role role, uint8_t proof[HS_PROOF]);
/** The key of an encrypted connection, from the secret and all messages with nonces. @return 0 or
 * SYSTEM */
int wio_hs_tls_key(const struct wio_auth *a, uint8_t key[HS_PROOF]);
/** Constant time. */
bool wio_hs_proof_equal(const uint8_t a[HS_PROOF], const uint8_t b[HS_PROOF]);

#endif
