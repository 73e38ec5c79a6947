/* SPDX-License-Identifier: BSD-3-Clause */
/** @file proof.c  The only place that computes with keys: transcript hash and proofs. */
#include "auth/handshake_wire.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#define ROLE_TEXT 32

static_assert(sizeof(((struct wio_auth *)0)->transcript) == HS_HASH,
              "a SHA-256 fits the transcript");
static_assert(sizeof(((struct wio_auth *)0)->nonce_mine) == HS_NONCE, "nonces are 16 bytes");

int wio_hs_absorb(struct wio_auth *a, const uint8_t *bytes, size_t n)
{
    uint8_t all[HS_HASH + WIO_AUTH_MESSAGE_MAX];
    unsigned len = 0;
    if (n > WIO_AUTH_MESSAGE_MAX)
        return WAITIO_ERR_SYSTEM;
    memcpy(all, a->transcript, HS_HASH);
    memcpy(all + HS_HASH, bytes, n);
    int ok = EVP_Digest(all, HS_HASH + n, a->transcript, &len, EVP_sha256(), NULL);
    return ok == 1 && len == HS_HASH ? 0 : WAITIO_ERR_SYSTEM;
}

int wio_hs_prove(const struct wio_auth *a, enum wio_auth_role role, uint8_t proof[HS_PROOF])
{
    /* The role is part of what is authenticated, so that a proof sent back is no proof. */
    static const char names[2][ROLE_TEXT] = {[WIO_AUTH_DIAL] = "WaitIO handshake dialer",
                                             [WIO_AUTH_ACCEPT] = "WaitIO handshake acceptor"};
    /* Without a secret the key is all zeros, which HMAC takes as the empty key. */
    static const uint8_t none[32];
    uint8_t all[ROLE_TEXT + HS_HASH];
    unsigned len = 0;
    const struct wio_secret *s = a->secret;
    memcpy(all, names[role], ROLE_TEXT);
    memcpy(all + ROLE_TEXT, a->transcript, HS_HASH);
    const void *key = s->len > 0 ? s->key : none;
    int bytes = s->len > 0 ? (int)s->len : (int)sizeof none;
    const uint8_t *done = HMAC(EVP_sha256(), key, bytes, all, sizeof all, proof, &len);
    return done != NULL && len == HS_PROOF ? 0 : WAITIO_ERR_SYSTEM;
}

bool wio_hs_proof_equal(const uint8_t a[HS_PROOF], const uint8_t b[HS_PROOF])
{
    return CRYPTO_memcmp(a, b, HS_PROOF) == 0;
}

void wio_secret_wipe(struct wio_secret *s)
{
    OPENSSL_cleanse(s->key, sizeof s->key);
    s->len = 0;
}
