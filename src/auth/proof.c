/* SPDX-License-Identifier: BSD-3-Clause */
/** @file proof.c  The only place that computes with keys: transcript hash and proofs. */
#include "auth/handshake_wire.h"
#include "auth/tls.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#define ROLE_TEXT 32
#define HEAD_MAX 64 /* of wio_secret_mac: zeros follow a shorter one */

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

static int keyed(const struct wio_secret *s, const uint8_t *all, size_t n, uint8_t out[HS_PROOF])
{
    /* Without a secret the key is all zeros, which HMAC takes as the empty key. */
    static const uint8_t none[32];
    unsigned len = 0;
    const void *key = s->len > 0 ? wio_secret_key(s) : none;
    int bytes = s->len > 0 ? (int)s->len : (int)sizeof none;
    const uint8_t *done = HMAC(EVP_sha256(), key, bytes, all, n, out, &len);
    return done != NULL && len == HS_PROOF ? 0 : WAITIO_ERR_SYSTEM;
}

static int of_transcript(const struct wio_auth *a, const char use[ROLE_TEXT], uint8_t out[HS_PROOF])
{
    uint8_t all[ROLE_TEXT + HS_HASH];
    memcpy(all, use, ROLE_TEXT);
    memcpy(all + ROLE_TEXT, a->transcript, HS_HASH);
    return keyed(a->secret, all, sizeof all, out);
}

int wio_hs_prove(const struct wio_auth *a, enum wio_auth_role role, uint8_t proof[HS_PROOF])
{
    /* The role is part of what is authenticated, so that a proof sent back is no proof. */
    static const char names[2][ROLE_TEXT] = {[WIO_AUTH_DIAL] = "WaitIO handshake dialer",
                                             [WIO_AUTH_ACCEPT] = "WaitIO handshake acceptor"};
    return of_transcript(a, names[role], proof);
}

int wio_hs_tls_key(const struct wio_auth *a, uint8_t key[HS_PROOF])
{
    static const char name[ROLE_TEXT] = "WaitIO TLS pre-shared key";
    return of_transcript(a, name, key);
}

bool wio_hs_proof_equal(const uint8_t a[HS_PROOF], const uint8_t b[HS_PROOF])
{
    return CRYPTO_memcmp(a, b, HS_PROOF) == 0;
}

int wio_secret_mac(const struct wio_secret *s, const char *use, const void *head, size_t nhead,
                   const void *body, size_t nbody, uint8_t mac[WIO_MAC_BYTES])
{
    uint8_t all[ROLE_TEXT + HEAD_MAX + HS_HASH] = {0};
    size_t name = strlen(use);
    unsigned len = 0;
    if (nhead > HEAD_MAX || name > ROLE_TEXT)
        return WAITIO_ERR_SYSTEM;
    memcpy(all, use, name);
    memcpy(all + ROLE_TEXT, head, nhead);
    if (EVP_Digest(body, nbody, all + ROLE_TEXT + HEAD_MAX, &len, EVP_sha256(), NULL) != 1 ||
        len != HS_HASH)
        return WAITIO_ERR_SYSTEM;
    return keyed(s, all, sizeof all, mac);
}

bool wio_secret_mac_fits(const struct wio_secret *s, const char *use, const void *head,
                         size_t nhead, const void *body, size_t nbody,
                         const uint8_t mac[WIO_MAC_BYTES])
{
    uint8_t right[WIO_MAC_BYTES];
    return wio_secret_mac(s, use, head, nhead, body, nbody, right) == 0 &&
           wio_hs_proof_equal(right, mac);
}

void wio_secret_wipe(struct wio_secret *s)
{
    OPENSSL_cleanse(s->key, sizeof s->key);
    if (s->hidden != NULL) {
        OPENSSL_cleanse(s->hidden, WIO_SECRET_MAX);
        wio_os_unmap(s->hidden, wio_os_page_size());
        s->hidden = NULL;
    }
    s->len = 0;
    wio_tls_unload(s->tls);
    s->tls = NULL;
}
