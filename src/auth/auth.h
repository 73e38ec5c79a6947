/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file auth.h
 * The one handshake of every connection (rendezvous, host leader, transports): both sides prove
 * that they know the job secret before any other byte is read. Challenge and response with
 * HMAC-SHA256 over the whole transcript, fresh nonces, bound to purpose, universe, protocol version
 * and both identities. A state machine on bytes: no I/O, no allocation, fixed memory.
 *
 *   dialer                                   acceptor
 *   HELLO(version, purpose, universe, ids, nonce)  ->
 *                 <-  CHALLENGE(version, id, nonce, proof of acceptor)   or REFUSE(code, text)
 *   PROOF(proof of dialer)  ->
 *                 <-  READY                        or REFUSE(code, text)
 * (Either side may send REFUSE in place of its next message, then closes.)
 */
#ifndef WIO_AUTH_H
#define WIO_AUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

#define WIO_SECRET_MAX 256
#define WIO_UNIVERSE_ID 16
#define WIO_AUTH_VERSION 1       /* of the handshake; frames have their own */
#define WIO_AUTH_MESSAGE_MAX 320 /* no message of any version is longer */
#define WIO_AUTH_TEXT_MAX 200    /* longest text of a refusal */

struct wio_secret {
    uint8_t *hidden;             /* the key in a page that no core file has; NULL: it is in key */
    uint8_t key[WIO_SECRET_MAX]; /* where the system has no such page (and in tests) */
    size_t len;       /* 0: WAITIO_SECRET=none, every proof is accepted from permitted addresses */
    char origin[256]; /* "cookie /home/u/.waitio/cookie", for messages */
    struct wio_tls_lib *tls; /* WAITIO_TLS=1: connections over TCP are encrypted; else NULL */
};
/**
 * Find the secret as cfg says: none (warns), a named file, or the cookie (made on first use:
 * temporary file, link(), re-read). Files must be regular, owned by us, not accessible by group or
 * others, 16 to 256 bytes after trimming the trailing newline. With WAITIO_TLS=1 libssl is loaded.
 * @return 0; CONFIG / AUTH / SYSTEM naming file, owner or mode and the remedy; UNSUPPORTED: there
 * is no libssl
 */
int wio_secret_load(struct wio_secret *s, const struct wio_config *cfg, struct wio_log *lg);
/** Its bytes: s->len. */
static inline const uint8_t *wio_secret_key(const struct wio_secret *s)
{
    return s->hidden != NULL ? s->hidden : s->key;
}
#define WIO_MAC_BYTES 32
/**
 * What only a holder of the secret can compute of @p head (at most 64 bytes) and @p body.
 * @param use  what for, at most 32 characters: no proof of one use is one of another
 * @return 0; SYSTEM */
int wio_secret_mac(const struct wio_secret *s, const char *use, const void *head, size_t nhead,
                   const void *body, size_t nbody, uint8_t mac[WIO_MAC_BYTES]);
/** Is it that? In constant time. */
bool wio_secret_mac_fits(const struct wio_secret *s, const char *use, const void *head,
                         size_t nhead, const void *body, size_t nbody,
                         const uint8_t mac[WIO_MAC_BYTES]);
/** Overwrite the key so that it does not stay in memory, and free what belongs to encryption. The
 * secret must not be in use any more. */
void wio_secret_wipe(struct wio_secret *s);

enum wio_auth_purpose {
    WIO_AUTH_BOOT = 1,
    WIO_AUTH_LEADER = 2,
    WIO_AUTH_LINK = 3,
    WIO_AUTH_SHM = 4,
    WIO_AUTH_FILE = 5,
    WIO_AUTH_RELAY = 6
};
enum wio_auth_role { WIO_AUTH_DIAL, WIO_AUTH_ACCEPT };
enum wio_auth_state { WIO_AUTH_RUNNING, WIO_AUTH_DONE, WIO_AUTH_FAILED };
/** "rendezvous", "host leader", ...; "unknown" for anything else. */
const char *wio_auth_purpose_name(unsigned purpose);

/** Who a side claims to be; bound into the proofs. rank = universe rank for links, else role
 * specific. */
struct wio_auth_id {
    uint8_t universe[WIO_UNIVERSE_ID]; /* LINK: that of the table; else: hash of the job id */
    uint32_t rank;
    uint32_t extra; /* free for the user of the handshake, e.g. lane or incarnation */
};

/**
 * Acceptor's decision about a claimed identity, asked after the dialer's HELLO was parsed and its
 * version, purpose and universe are right (not yet proven) and again with proven=true before READY.
 * @return 0 to go on, else a WAITIO_ERR_* sent to the dialer with @p why (<= 200 bytes). Only the
 *         answers to proven peers may reveal facts about the run.
 */
typedef int (*wio_auth_admit_fn)(void *arg, const struct wio_auth_id *peer, bool proven, char *why,
                                 size_t nwhy);

struct wio_auth {
    const struct wio_secret *secret;
    struct wio_auth_id mine;
    struct wio_auth_id peer; /* valid for the acceptor after HELLO, for the dialer given */
    wio_auth_admit_fn admit;
    void *admit_arg;
    uint8_t purpose, role, state, step;
    uint8_t out[WIO_AUTH_MESSAGE_MAX], in[WIO_AUTH_MESSAGE_MAX];
    uint16_t out_len, out_off, in_len, in_need;
    uint8_t nonce_mine[16], nonce_peer[16];
    uint8_t transcript[32]; /* running SHA-256 of all messages so far */
    int error;              /* WAITIO_ERR_* when FAILED */
    bool refused_by_peer;   /* the text came from the other side */
    bool garbage;           /* what came was no WaitIO handshake at all, or nothing */
    bool wants_tls;         /* WAITIO_TLS=1 here; the other side must have it, too */
    bool encrypt;           /* when DONE, both sides go on with TLS: wio_tls_begin() */
    uint8_t tls_key[WIO_MAC_BYTES];
    char text[480]; /* reason when FAILED, printable */
};

/** Begin. For the dialer @p peer is the expected peer (universe and rank are checked; extra is not,
 * and is set to the acceptor's); the acceptor passes NULL and an admit function (NULL: every peer
 * that proves the secret). The universes of both sides must be equal. The secret and admit_arg must
 * outlive the handshake.
 *  @return 0; ARG; SYSTEM when there are no random bytes or no SHA-256 */
int wio_auth_start(struct wio_auth *a, enum wio_auth_role role, enum wio_auth_purpose purpose,
                   const struct wio_secret *secret, const struct wio_auth_id *mine,
                   const struct wio_auth_id *peer, wio_auth_admit_fn admit, void *admit_arg);
/** Bytes to write now (0 = none). After writing n of them call wio_auth_sent(n). Also after FAILED:
 * the refusal, to be sent if possible before closing (nothing for garbage: strangers are closed
 * silently). */
size_t wio_auth_output(const struct wio_auth *a, const void **buf);
/** The first @p n bytes of the output were written. The acceptor becomes DONE here, when its READY
 * has been written to the last byte: look at a->state after this call as well as after
 * wio_auth_input. */
void wio_auth_sent(struct wio_auth *a, size_t n);
/** How many bytes may be read at most now without reading past the handshake (0 = none expected).
 */
size_t wio_auth_want(const struct wio_auth *a);
/** Feed received bytes (n <= wio_auth_want()). @return new state */
enum wio_auth_state wio_auth_input(struct wio_auth *a, const void *buf, size_t n);
/** End of stream (@p oserr 0) or an error (-errno; -ETIMEDOUT: the caller's deadline passed) came
 * instead of bytes. Sets FAILED with a fitting text: PEER or TIMEOUT. Harmless after the end. */
void wio_auth_eof(struct wio_auth *a, int oserr);
/** There is no room for this handshake now: end it with BUSY and a refusal with this reason, to be
 * written as after FAILED. Does nothing after the end, nor after READY. */
void wio_auth_turn_away(struct wio_auth *a, const char *why);

/** Trying again cannot help: secrets, releases or settings of the two sides differ. */
bool wio_auth_is_final(int error);

/**
 * Whole handshake on a non-blocking socket, for blocking callers (boot client, tools).
 * @param deadline_ns  monotonic. @return 0 or the error, with wio_last_error text
 * @blocking until done or deadline
 */
int wio_auth_run(struct wio_auth *a, int fd, int64_t deadline_ns);

#endif
