/* SPDX-License-Identifier: BSD-3-Clause */
#include "boot/mail_letter.h"

#include <errno.h>
#include <string.h>

#define LETTER_MAGIC "WIOL"
#define SIGN_MAGIC "WIOP"
#define SHAKE_MAGIC "WIOH"
#define MAC_USE "WaitIO rendezvous letter"
#define SHAKE_PREFIX 8u

enum {
    L_VERSION = 4,
    L_KIND = 5,
    L_FROM = 6,
    L_NUMBER = 8,
    L_BYTES = 12,
    L_SERVICE = 16,
    L_CALLER = 24,
    L_CRC = 32,
    L_MAC = 48
};
enum {
    S_VERSION = 4,
    S_LOCKED = 5,
    S_NONCE = 8,
    S_BEAT = 16,
    S_IDENTITY = 24,
    S_PID = 32,
    S_HOST = 36,
    S_CRC = 60
};

/* ---- letters ---- */

int wio_mail_letter_encode(const struct wio_mail_letter *l, const struct wio_secret *secret,
                           const void *content, size_t n, uint8_t head[WIO_MAIL_HEAD])
{
    memset(head, 0, WIO_MAIL_HEAD);
    memcpy(head, LETTER_MAGIC, 4);
    head[L_VERSION] = WIO_MAIL_VERSION;
    head[L_KIND] = l->kind;
    head[L_FROM] = l->from_service;
    wio_put32(head + L_NUMBER, l->number);
    wio_put32(head + L_BYTES, (uint32_t)n);
    wio_put64(head + L_SERVICE, l->service);
    wio_put64(head + L_CALLER, l->caller);
    wio_put32(head + L_CRC, wio_crc32c(0, content, n));
    return wio_secret_mac(secret, MAC_USE, head, L_MAC, content, n, head + L_MAC);
}

/* The handshake's message in it, no more: so nothing else passes without a MAC. */
static bool is_shake(const uint8_t *content, size_t n)
{
    return n >= SHAKE_PREFIX && n <= WIO_AUTH_MESSAGE_MAX && memcmp(content, SHAKE_MAGIC, 4) == 0 &&
           wio_get16(content + 6) == n;
}

static bool all_zero(const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != 0)
            return false;
    return true;
}

static bool is_expected(const struct wio_mail_letter *l, const uint8_t *file)
{
    return wio_get32(file + L_NUMBER) == l->number && wio_get64(file + L_SERVICE) == l->service &&
           wio_get64(file + L_CALLER) == l->caller && file[L_FROM] == l->from_service &&
           file[L_KIND] >= WIO_MAIL_SHAKE && file[L_KIND] <= WIO_MAIL_END &&
           wio_get32(file + L_BYTES) <= WIO_MAIL_CONTENT_MAX;
}

int wio_mail_letter_decode(struct wio_mail_letter *l, const struct wio_secret *secret,
                           const uint8_t *file, size_t n, int *version)
{
    if (n < WIO_MAIL_HEAD || all_zero(file, WIO_MAIL_HEAD))
        return -EAGAIN;
    if (memcmp(file, LETTER_MAGIC, 4) != 0)
        return -EPROTO;
    *version = file[L_VERSION];
    if (*version != WIO_MAIL_VERSION)
        return -EPROTONOSUPPORT;
    if (!is_expected(l, file))
        return -EPROTO;
    size_t bytes = wio_get32(file + L_BYTES);
    const uint8_t *content = file + WIO_MAIL_HEAD;
    if (n < WIO_MAIL_HEAD + bytes || wio_get32(file + L_CRC) != wio_crc32c(0, content, bytes))
        return -EAGAIN;
    if (n > WIO_MAIL_HEAD + bytes)
        return -EPROTO;
    l->kind = file[L_KIND];
    if (l->kind == WIO_MAIL_SHAKE)
        return is_shake(content, bytes) ? (int)bytes : -EPROTO;
    if (!wio_secret_mac_fits(secret, MAC_USE, file, L_MAC, content, bytes, file + L_MAC))
        return -EACCES;
    return (int)bytes;
}

void wio_mail_name(char name[WIO_MAIL_NAME], uint64_t caller, uint32_t number)
{
    wio_text(name, WIO_MAIL_NAME, "%016llx-%08x", (unsigned long long)caller, number);
}

/* @return digits taken as a number, or false */
static bool hex(const char *text, int digits, uint64_t *value)
{
    *value = 0;
    for (int i = 0; i < digits; i++) {
        char c = text[i];
        unsigned d;
        if (c >= '0' && c <= '9')
            d = (unsigned)(c - '0');
        else if (c >= 'a' && c <= 'f')
            d = (unsigned)(c - 'a' + 10);
        else
            return false;
        *value = *value << 4 | d;
    }
    return true;
}

bool wio_mail_name_parse(const char *name, uint64_t *caller, uint32_t *number)
{
    uint64_t low;
    if (strlen(name) != WIO_MAIL_NAME - 1 || name[16] != '-' || !hex(name, 16, caller) ||
        !hex(name + 17, 8, &low))
        return false;
    *number = (uint32_t)low;
    return true;
}

/* ---- signs of life ---- */

void wio_mail_sign_encode(const struct wio_mail_sign *s, uint8_t out[WIO_MAIL_SIGN])
{
    memset(out, 0, WIO_MAIL_SIGN);
    memcpy(out, SIGN_MAGIC, 4);
    out[S_VERSION] = WIO_MAIL_VERSION;
    out[S_LOCKED] = s->locked;
    wio_put64(out + S_NONCE, s->nonce);
    wio_put64(out + S_BEAT, s->beat);
    wio_put64(out + S_IDENTITY, s->identity);
    wio_put32(out + S_PID, s->pid);
    memcpy(out + S_HOST, s->host, strnlen(s->host, sizeof s->host - 1));
    wio_put32(out + S_CRC, wio_crc32c(0, out, S_CRC));
}

int wio_mail_sign_decode(const uint8_t *in, size_t n, struct wio_mail_sign *s, int *version)
{
    if (n < WIO_MAIL_SIGN || memcmp(in, SIGN_MAGIC, 4) != 0)
        return -EAGAIN;
    *version = in[S_VERSION];
    if (*version != WIO_MAIL_VERSION)
        return -EPROTONOSUPPORT;
    if (wio_get32(in + S_CRC) != wio_crc32c(0, in, S_CRC))
        return -EAGAIN;
    s->locked = in[S_LOCKED] != 0;
    s->nonce = wio_get64(in + S_NONCE);
    s->beat = wio_get64(in + S_BEAT);
    s->identity = wio_get64(in + S_IDENTITY);
    s->pid = wio_get32(in + S_PID);
    for (size_t i = 0; i < sizeof s->host; i++) {
        char c = (char)in[S_HOST + i];
        s->host[i] = (char)(c == '\0' || (c > ' ' && c <= '~') ? c : '?');
    }
    s->host[sizeof s->host - 1] = '\0';
    return 0;
}

/* ---- bytes to letters ---- */

size_t wio_mail_cut(const uint8_t *bytes, size_t n, bool data_before, uint8_t *kind)
{
    size_t have = n < 4 ? n : 4;
    *kind = WIO_MAIL_DATA;
    if (data_before || memcmp(bytes, SHAKE_MAGIC, have) != 0)
        return n < WIO_MAIL_CONTENT_MAX ? n : WIO_MAIL_CONTENT_MAX;
    if (n < SHAKE_PREFIX)
        return 0;
    size_t whole = wio_get16(bytes + 6);
    if (whole < SHAKE_PREFIX || whole > WIO_AUTH_MESSAGE_MAX)
        return n < WIO_MAIL_CONTENT_MAX ? n : WIO_MAIL_CONTENT_MAX; /* not ours: signed as data */
    *kind = WIO_MAIL_SHAKE;
    return n >= whole ? whole : 0;
}
