/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file tls_lib.c
 * libssl, loaded when WAITIO_TLS=1 asks for it: programs without encryption do not need it, and do
 * not spend the time to load it.
 */
#include "auth/tls_lib.h"

#include <pthread.h>

struct wio_ssl_calls wio_ssl;
static pthread_mutex_t filling = PTHREAD_MUTEX_INITIALIZER;

/* One suite: its hash is that of the handshake, and processors have instructions for it. */
#define CIPHER "TLS_AES_128_GCM_SHA256"
static const unsigned char cipher_number[2] = {0x13, 0x01};
static const unsigned char identity[] = "WaitIO";

#define STRING(x) #x
#define TEXT(x) STRING(x)

/* Of the release of OpenSSL whose headers we were built with: its numbers are ABI. */
static const char *const own_soname[] = {
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
    "libssl.so." TEXT(OPENSSL_VERSION_MAJOR),
#else
    "libssl.so.1.1",
#endif
    NULL};

/* ---- the key ---- */

/* What TLS calls the session of an earlier meeting is the key that both sides have made of the
 * secret. NULL: no memory, or a policy of the system forbids the suite */
static SSL_SESSION *session_of(SSL *ssl)
{
    const struct wio_tls *t = wio_ssl.SSL_get_ex_data(ssl, 0);
    SSL_SESSION *s = wio_ssl.SSL_SESSION_new();
    if (s != NULL && wio_ssl.SSL_SESSION_set1_master_key(s, t->key, sizeof t->key) == 1 &&
        wio_ssl.SSL_SESSION_set_cipher(s, wio_ssl.SSL_CIPHER_find(ssl, cipher_number)) == 1 &&
        wio_ssl.SSL_SESSION_set_protocol_version(s, TLS1_3_VERSION) == 1)
        return s;
    if (s != NULL)
        wio_ssl.SSL_SESSION_free(s);
    return NULL;
}

static int use_session(SSL *ssl, const EVP_MD *md, const unsigned char **id, size_t *len,
                       SSL_SESSION **session)
{
    (void)md; /* after a HelloRetryRequest it is that of the only suite */
    *id = identity;
    *len = sizeof identity - 1;
    *session = session_of(ssl);
    return *session != NULL;
}

static int find_session(SSL *ssl, const unsigned char *id, size_t len, SSL_SESSION **session)
{
    *session = NULL;
    if (len != sizeof identity - 1 || memcmp(id, identity, len) != 0)
        return 1; /* no such key: the handshake then fails, for there is no certificate */
    *session = session_of(ssl);
    return *session != NULL;
}

/* ---- loading ---- */

static bool find(void *lib, const char *name, void *to)
{
    void *symbol = wio_os_library_symbol(lib, name);
    memcpy(to, &symbol, sizeof symbol); /* a function's address is a datum here: POSIX allows it */
    return symbol != NULL;
}

#define FIND(type, name, parameters)                                                               \
    if (!find(so, #name, &calls->name))                                                            \
        return #name;

/* @return NULL, or what the library lacks */
static const char *find_all(void *so, struct wio_ssl_calls *calls)
{
    WIO_TLS_CALLS(FIND)
    return NULL;
}

static int load_calls(const char *const *sonames)
{
    struct wio_ssl_calls calls;
    char why[200] = "";
    void *so = NULL;
    const char *const *name = sonames;
    for (; *name != NULL && so == NULL; name++)
        so = wio_os_library_open(*name, why, sizeof why);
    if (so == NULL)
        return wio_fail(WAITIO_ERR_UNSUPPORTED,
                        "WAITIO_TLS=1 needs OpenSSL's libssl (Debian: apt-get install libssl3; Red "
                        "Hat: openssl-libs), but it cannot be loaded: %s",
                        why);
    const char *lacks = find_all(so, &calls);
    if (lacks != NULL)
        return wio_fail(WAITIO_ERR_UNSUPPORTED,
                        "WAITIO_TLS=1 needs OpenSSL 1.1.1 or later, but %s has no %s", name[-1],
                        lacks);
    pthread_mutex_lock(&filling);
    wio_ssl = calls; /* the same each time: the library stays loaded */
    pthread_mutex_unlock(&filling);
    return 0;
}

static bool configure(SSL_CTX *ctx)
{
    const long modes = SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS;
    if (wio_ssl.SSL_CTX_ctrl(ctx, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_3_VERSION, NULL) != 1 ||
        wio_ssl.SSL_CTX_ctrl(ctx, SSL_CTRL_SET_MAX_PROTO_VERSION, TLS1_3_VERSION, NULL) != 1 ||
        wio_ssl.SSL_CTX_set_ciphersuites(ctx, CIPHER) != 1 ||
        wio_ssl.SSL_CTX_set_num_tickets(ctx, 0) != 1)
        return false;
    (void)wio_ssl.SSL_CTX_ctrl(ctx, SSL_CTRL_MODE, modes, NULL);
    (void)wio_ssl.SSL_CTX_ctrl(ctx, SSL_CTRL_SET_SESS_CACHE_MODE, SSL_SESS_CACHE_OFF, NULL);
    wio_ssl.SSL_CTX_set_psk_use_session_callback(ctx, use_session);
    wio_ssl.SSL_CTX_set_psk_find_session_callback(ctx, find_session);
    return true;
}

int wio_tls_load(struct wio_tls_lib **lib, const char *const *sonames, uint32_t rekey)
{
    int rc = load_calls(sonames != NULL ? sonames : own_soname);
    if (rc != 0)
        return rc;
    struct wio_tls_lib *l = wio_os_alloc(sizeof *l);
    if (l == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for encryption");
    l->rekey = rekey;
    l->ctx = wio_ssl.SSL_CTX_new(wio_ssl.TLS_method());
    if (l->ctx != NULL && configure(l->ctx) && wio_tls_bio_method(l)) {
        *lib = l;
        return 0;
    }
    const char *why = wio_ssl.ERR_reason_error_string(wio_ssl.ERR_peek_last_error());
    rc = wio_fail(WAITIO_ERR_SYSTEM,
                  "OpenSSL cannot use TLS 1.3 with " CIPHER " (%s); is a policy forbidding it?",
                  why != NULL ? why : "no reason given");
    wio_tls_unload(l);
    return rc;
}

void wio_tls_unload(struct wio_tls_lib *lib)
{
    if (lib == NULL)
        return;
    wio_ssl.SSL_CTX_free(lib->ctx);
    wio_ssl.BIO_meth_free(lib->method);
    wio_os_free(lib);
}
