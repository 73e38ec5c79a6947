/* SPDX-License-Identifier: BSD-3-Clause */
/* Error texts, and bytes that are written and read. Numbers travel with the lowest byte first. */
#include "stage/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "waitio_errors.h"

static _Thread_local char why[WIO_STG_WHY];

int wio_stg_fail(int code, const char *format, ...)
{
    char text[sizeof why]; /* the arguments may hold the old text */
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(why, text, sizeof why);
    return code;
}

const char *wio_stg_why(void)
{
    return why;
}

void wio_stg_text(char *out, size_t room, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(out, room, format, args);
    va_end(args);
}

void *wio_stg_new(size_t n, size_t size)
{
    void *at = calloc(n > 0 ? n : 1, size);

    if (at == NULL)
        (void)wio_stg_fail(WAITIO_ERR_NOMEM, "no memory for %zu things of %zu bytes", n, size);
    return at;
}

char *wio_stg_copy(const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = wio_stg_new(n, 1);

    if (copy != NULL)
        memcpy(copy, text, n);
    return copy;
}

double wio_stg_now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool wio_stg_big(void)
{
    const uint16_t one = 1;

    return *(const unsigned char *)&one == 0;
}

uint64_t wio_stg_hash(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (const char *c = text; *c != '\0'; c++)
        h = (h ^ (unsigned char)*c) * 0x100000001b3u;
    return h;
}

/* ---- written -------------------------------------------------------------------------------- */

static unsigned char *more(struct wio_stg_bytes *b, size_t n)
{
    if (b->bad)
        return NULL;
    if (b->room - b->n < n) {
        size_t room = b->room * 2 > b->n + n ? b->room * 2 : b->n + n + 64;
        unsigned char *at = realloc(b->at, room);

        if (at == NULL) {
            b->bad = true;
            (void)wio_stg_fail(WAITIO_ERR_NOMEM, "no memory for %zu bytes", room);
            return NULL;
        }
        b->at = at;
        b->room = room;
    }
    b->n += n;
    return b->at + b->n - n;
}

void wio_stg_put_raw(struct wio_stg_bytes *b, const void *data, size_t n)
{
    unsigned char *to = more(b, n);

    if (to != NULL && n > 0)
        memcpy(to, data, n);
}

static void put_number(struct wio_stg_bytes *b, uint64_t value, size_t n)
{
    unsigned char *to = more(b, n);

    for (size_t i = 0; to != NULL && i < n; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

void wio_stg_put_u8(struct wio_stg_bytes *b, unsigned value)
{
    put_number(b, value, 1);
}

void wio_stg_put_u32(struct wio_stg_bytes *b, uint32_t value)
{
    put_number(b, value, 4);
}

void wio_stg_put_u64(struct wio_stg_bytes *b, uint64_t value)
{
    put_number(b, value, 8);
}

void wio_stg_put_blob(struct wio_stg_bytes *b, const void *data, size_t n)
{
    wio_stg_put_u64(b, n);
    wio_stg_put_raw(b, data, n);
}

void wio_stg_put_string(struct wio_stg_bytes *b, const char *text)
{
    wio_stg_put_blob(b, text, strlen(text));
}

void wio_stg_bytes_free(struct wio_stg_bytes *b)
{
    free(b->at);
    *b = (struct wio_stg_bytes){NULL, 0, 0, false};
}

/* ---- read ----------------------------------------------------------------------------------- */

const unsigned char *wio_stg_take_raw(struct wio_stg_scan *s, size_t n)
{
    const unsigned char *at = s->at;

    if (s->bad || n > s->left) {
        s->bad = true;
        return NULL;
    }
    s->at += n;
    s->left -= n;
    return at;
}

static uint64_t take_number(struct wio_stg_scan *s, size_t n)
{
    const unsigned char *at = wio_stg_take_raw(s, n);
    uint64_t value = 0;

    for (size_t i = 0; at != NULL && i < n; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

unsigned wio_stg_take_u8(struct wio_stg_scan *s)
{
    return (unsigned)take_number(s, 1);
}

uint32_t wio_stg_take_u32(struct wio_stg_scan *s)
{
    return (uint32_t)take_number(s, 4);
}

uint64_t wio_stg_take_u64(struct wio_stg_scan *s)
{
    return take_number(s, 8);
}

const unsigned char *wio_stg_take_blob(struct wio_stg_scan *s, size_t *n)
{
    uint64_t bytes = wio_stg_take_u64(s);

    *n = 0;
    if (bytes > s->left) {
        s->bad = true;
        return NULL;
    }
    *n = (size_t)bytes;
    return wio_stg_take_raw(s, *n);
}

char *wio_stg_take_string(struct wio_stg_scan *s)
{
    size_t n = 0;
    const unsigned char *at = wio_stg_take_blob(s, &n);
    char *text;

    if (at == NULL || (n > 0 && memchr(at, 0, n) != NULL)) {
        s->bad = true;
        return NULL;
    }
    text = wio_stg_new(n + 1, 1);
    if (text == NULL)
        s->bad = true;
    else
        memcpy(text, at, n);
    return text;
}
