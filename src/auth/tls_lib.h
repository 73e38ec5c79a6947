/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file tls_lib.h
 * What tls.c uses of OpenSSL, found at run time. Functions of libcrypto are looked for through
 * libssl, too: a program may hold another copy of libcrypto, and a BIO must be of libssl's own.
 */
#ifndef WIO_TLS_LIB_H
#define WIO_TLS_LIB_H

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "auth/tls.h"

/* returned type, name, parameters */
#define WIO_TLS_CALLS(CALL)                                                                        \
    CALL(const SSL_METHOD *, TLS_method, (void))                                                   \
    CALL(SSL_CTX *, SSL_CTX_new, (const SSL_METHOD *))                                             \
    CALL(void, SSL_CTX_free, (SSL_CTX *))                                                          \
    CALL(long, SSL_CTX_ctrl, (SSL_CTX *, int, long, void *))                                       \
    CALL(int, SSL_CTX_set_ciphersuites, (SSL_CTX *, const char *))                                 \
    CALL(int, SSL_CTX_set_num_tickets, (SSL_CTX *, size_t))                                        \
    CALL(void, SSL_CTX_set_psk_use_session_callback, (SSL_CTX *, SSL_psk_use_session_cb_func))     \
    CALL(void, SSL_CTX_set_psk_find_session_callback, (SSL_CTX *, SSL_psk_find_session_cb_func))   \
    CALL(SSL *, SSL_new, (SSL_CTX *))                                                              \
    CALL(void, SSL_free, (SSL *))                                                                  \
    CALL(void, SSL_set_bio, (SSL *, BIO *, BIO *))                                                 \
    CALL(void, SSL_set_connect_state, (SSL *))                                                     \
    CALL(void, SSL_set_accept_state, (SSL *))                                                      \
    CALL(int, SSL_set_ex_data, (SSL *, int, void *))                                               \
    CALL(void *, SSL_get_ex_data, (const SSL *, int))                                              \
    CALL(int, SSL_do_handshake, (SSL *))                                                           \
    CALL(int, SSL_is_init_finished, (const SSL *))                                                 \
    CALL(int, SSL_read, (SSL *, void *, int))                                                      \
    CALL(int, SSL_write, (SSL *, const void *, int))                                               \
    CALL(int, SSL_pending, (const SSL *))                                                          \
    CALL(int, SSL_shutdown, (SSL *))                                                               \
    CALL(int, SSL_key_update, (SSL *, int))                                                        \
    CALL(int, SSL_get_error, (const SSL *, int))                                                   \
    CALL(const SSL_CIPHER *, SSL_CIPHER_find, (SSL *, const unsigned char *))                      \
    CALL(SSL_SESSION *, SSL_SESSION_new, (void))                                                   \
    CALL(void, SSL_SESSION_free, (SSL_SESSION *))                                                  \
    CALL(int, SSL_SESSION_set1_master_key, (SSL_SESSION *, const unsigned char *, size_t))         \
    CALL(int, SSL_SESSION_set_cipher, (SSL_SESSION *, const SSL_CIPHER *))                         \
    CALL(int, SSL_SESSION_set_protocol_version, (SSL_SESSION *, int))                              \
    CALL(int, BIO_get_new_index, (void))                                                           \
    CALL(BIO_METHOD *, BIO_meth_new, (int, const char *))                                          \
    CALL(void, BIO_meth_free, (BIO_METHOD *))                                                      \
    CALL(int, BIO_meth_set_write, (BIO_METHOD *, int (*)(BIO *, const char *, int)))               \
    CALL(int, BIO_meth_set_read, (BIO_METHOD *, int (*)(BIO *, char *, int)))                      \
    CALL(int, BIO_meth_set_ctrl, (BIO_METHOD *, long (*)(BIO *, int, long, void *)))               \
    CALL(BIO *, BIO_new, (const BIO_METHOD *))                                                     \
    CALL(void, BIO_set_data, (BIO *, void *))                                                      \
    CALL(void *, BIO_get_data, (BIO *))                                                            \
    CALL(void, BIO_set_init, (BIO *, int))                                                         \
    CALL(void, BIO_set_flags, (BIO *, int))                                                        \
    CALL(void, BIO_clear_flags, (BIO *, int))                                                      \
    CALL(void, ERR_clear_error, (void))                                                            \
    CALL(unsigned long, ERR_peek_last_error, (void))                                               \
    CALL(const char *, ERR_reason_error_string, (unsigned long))

#define WIO_TLS_MEMBER(type, name, parameters) type(*name) parameters;

/** One for the process, as libssl is: its callbacks bring nothing but a connection of theirs.
 * Filled by wio_tls_load() before the first connection; afterwards it only reads. */
extern struct wio_ssl_calls {
    WIO_TLS_CALLS(WIO_TLS_MEMBER)
} wio_ssl;

struct wio_tls_lib {
    SSL_CTX *ctx;
    BIO_METHOD *method; /* of tls_bio.c */
    uint32_t rekey;
};

/** The bytes of one connection on their way, between OpenSSL and the socket. */
struct wio_tls {
    const struct wio_tls_lib *lib;
    SSL *ssl;
    int fd;
    bool shaking;
    bool dry;        /* the socket has nothing more in this call */
    bool guessed;    /* ... because it gave less than asked for */
    bool eof;        /* the socket is at its end */
    bool held;       /* the last byte taken has not been reported: records wait in out */
    bool said_bye;   /* no more writing */
    bool ended;      /* reading is over, as end says */
    ssize_t end;     /* 0 or -errno */
    int read_error;  /* -errno of the socket */
    int write_error; /* -errno of the socket: nothing more is written */
    uint32_t records;
    bool gather;  /* records are collected, and leave by the caller's word */
    uint8_t *out; /* records that have not left */
    size_t out_off, out_len, out_room;
    uint8_t *far; /* as near, of a connection that has carried long messages */
    bool in_far;  /* that is where the bytes are */
    uint32_t in_off, in_len;
    uint16_t record_left;                /* while keys are agreed on: of the record that comes */
    uint8_t record_head[5], record_have; /* 0: none has begun */
    uint8_t near[4096];                  /* read behind what OpenSSL asked for */
    uint8_t key[WIO_MAC_BYTES];
    char why[160];
};

/** OpenSSL's view of the socket, see tls_bio.c. @return false: no memory */
bool wio_tls_bio_method(struct wio_tls_lib *lib);
/** Write what the socket did not take earlier. @return whether all is out */
bool wio_tls_flush(struct wio_tls *t);

#endif
