/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file mail_letter.h
 * Bytes of the files by which a directory carries the rendezvous (mail.h): letters and signs of
 * life. Pure. All integers little-endian.
 *
 *   letter                                        sign of life
 *    0  4  magic "WIOL"                            0  4  magic "WIOP"
 *    4  1  version                                 4  1  version
 *    5  1  kind                                    5  1  its writer holds a lock on it
 *    6  1  from the service                        6  2  0
 *    7  1  0                                       8  8  nonce of the writer
 *    8  4  number in its direction, from 0        16  8  counter
 *   12  4  bytes of content                       24  8  identity of the writer's host
 *   16  8  nonce of the service                   32  4  process id
 *   24  8  nonce of the caller                    36 24  name of its host
 *   32  4  CRC32C of the content                  60  4  CRC32C of the bytes before
 *   36 12  0
 *   48 32  MAC of the bytes before and the content
 *   80  n  content
 */
#ifndef WIO_BOOT_MAIL_LETTER_H
#define WIO_BOOT_MAIL_LETTER_H

#include "auth/auth.h"

#define WIO_MAIL_VERSION 1
#define WIO_MAIL_HEAD 80u
#define WIO_MAIL_CONTENT_MAX (1u << 20)
#define WIO_MAIL_SIGN 64u
#define WIO_MAIL_NAME 26 /* of a letter, with its end: caller and number */

enum wio_mail_kind {
    WIO_MAIL_SHAKE = 1, /* one message of the handshake, which proves itself */
    WIO_MAIL_DATA = 2,
    WIO_MAIL_END = 3 /* the last one: end of stream */
};

/** Which letter: all of it is under the MAC. */
struct wio_mail_letter {
    uint64_t service, caller;
    uint32_t number;
    bool from_service;
    uint8_t kind;
};

struct wio_mail_sign {
    uint64_t nonce, beat, identity;
    uint32_t pid;
    bool locked;
    char host[24];
};

/** @param content  up to WIO_MAIL_CONTENT_MAX bytes @return 0; SYSTEM */
int wio_mail_letter_encode(const struct wio_mail_letter *l, const struct wio_secret *secret,
                           const void *content, size_t n, uint8_t head[WIO_MAIL_HEAD]);
/**
 * Look at a whole file.
 * @param[in,out] l  the letter that is expected; kind is set
 * @return the bytes of content, which begins at WIO_MAIL_HEAD; -EAGAIN: it is not all there yet;
 * -EPROTONOSUPPORT: another version, which *version says; -EPROTO: no such letter; -EACCES: it was
 * written without the secret */
int wio_mail_letter_decode(struct wio_mail_letter *l, const struct wio_secret *secret,
                           const uint8_t *file, size_t n, int *version);
/** "CALLER-NUMBER" in hexadecimal digits. */
void wio_mail_name(char name[WIO_MAIL_NAME], uint64_t caller, uint32_t number);
/** @return false: no name of a letter */
bool wio_mail_name_parse(const char *name, uint64_t *caller, uint32_t *number);

void wio_mail_sign_encode(const struct wio_mail_sign *s, uint8_t out[WIO_MAIL_SIGN]);
/** @return 0; -EAGAIN: it is not all there yet; -EPROTONOSUPPORT: another version, in *version */
int wio_mail_sign_decode(const uint8_t *in, size_t n, struct wio_mail_sign *s, int *version);

/** How the bytes of a stream become letters: the next one of @p n bytes.
 * @param[out] kind  SHAKE or DATA @return bytes of it, 0: more must come first */
size_t wio_mail_cut(const uint8_t *bytes, size_t n, bool data_before, uint8_t *kind);

#endif
