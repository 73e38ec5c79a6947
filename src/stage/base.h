/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file base.h
 * What all rooms of the stage share: the error text, bytes that grow and bytes that are read.
 *
 * A function that can fail returns 0 or a negative WAITIO_ERR_*; the text is of the thread, and is
 * written where the error is found, once.
 */
#ifndef WIO_STG_BASE_H
#define WIO_STG_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIO_STG_WHY = 1000 };

/** Remember an error. @return @p code, so that a caller can say return wio_stg_fail(...). */
int wio_stg_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** The text of this thread's last error, "" before the first. */
const char *wio_stg_why(void);
/** snprintf() that always ends the text. */
void wio_stg_text(char *out, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Zeroed memory for @p n things, one at least. @return NULL, with the error set, without memory */
void *wio_stg_new(size_t n, size_t size);
/** Copy of a text, NULL without memory. Freed by free(). */
char *wio_stg_copy(const char *text);
/** Seconds of a clock that only runs forward. */
double wio_stg_now(void);
/** Is this machine big-endian? */
bool wio_stg_big(void);
/** FNV-1a of a text. */
uint64_t wio_stg_hash(const char *text);

/** Bytes that grow: what is sent. All zero is empty. Without memory `bad` is set, once for all. */
struct wio_stg_bytes {
    unsigned char *at;
    size_t n, room;
    bool bad;
};
void wio_stg_put_raw(struct wio_stg_bytes *b, const void *data, size_t n);
void wio_stg_put_u8(struct wio_stg_bytes *b, unsigned value);
void wio_stg_put_u32(struct wio_stg_bytes *b, uint32_t value);
void wio_stg_put_u64(struct wio_stg_bytes *b, uint64_t value);
/** A length and so many bytes. */
void wio_stg_put_blob(struct wio_stg_bytes *b, const void *data, size_t n);
void wio_stg_put_string(struct wio_stg_bytes *b, const char *text);
void wio_stg_bytes_free(struct wio_stg_bytes *b);

/** Bytes that are read: they came from another process. Beyond the end everything is 0, and `bad`
 * is set. */
struct wio_stg_scan {
    const unsigned char *at;
    size_t left;
    bool bad;
};
const unsigned char *wio_stg_take_raw(struct wio_stg_scan *s, size_t n);
unsigned wio_stg_take_u8(struct wio_stg_scan *s);
uint32_t wio_stg_take_u32(struct wio_stg_scan *s);
uint64_t wio_stg_take_u64(struct wio_stg_scan *s);
const unsigned char *wio_stg_take_blob(struct wio_stg_scan *s, size_t *n);
/** A text without zeros inside. @return a copy, freed by free(); NULL: malformed, or no memory */
char *wio_stg_take_string(struct wio_stg_scan *s);

#endif
