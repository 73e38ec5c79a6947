/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file base.h
 * What all rooms of the coupler share: the error text, and arrays that grow.
 *
 * A function that can fail returns 0 or a negative WAITIO_ERR_*; the text is of the thread, and is
 * written where the error is found, once.
 */
#ifndef WIO_CPL_BASE_H
#define WIO_CPL_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Value of receive points that no table entry reaches: a default integer's largest, as a real. */
#define WIO_CPL_FILL 2147483647.0

/** Remember an error. @return @p code, so that a caller can say return wio_cpl_fail(...). */
int wio_cpl_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** The text of this thread's last error, "" before the first. */
const char *wio_cpl_why(void);
/** snprintf() that always ends the text. */
void wio_cpl_text(char *out, size_t room, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Copy of a text, NULL without memory. Freed by free(). */
char *wio_cpl_copy(const char *text);
/** Zeroed memory for @p n things, one at least. @return NULL, with the error set, without memory */
void *wio_cpl_new(size_t n, size_t size);
/** Are two texts equal, or both NULL? */
bool wio_cpl_same(const char *a, const char *b);
/** FNV-1a of a text, on top of @p seed (0 at first). */
uint64_t wio_cpl_hash(uint64_t seed, const char *text);

/** A real number as it travels among whole numbers: by its bits. */
static inline int64_t wio_cpl_bits(double v)
{
    int64_t b;

    memcpy(&b, &v, sizeof b);
    return b;
}
static inline double wio_cpl_real(int64_t b)
{
    double v;

    memcpy(&v, &b, sizeof v);
    return v;
}

/** An array that grows. All zero is an empty one. */
struct wio_cpl_list {
    void *at;
    size_t n, room;
};
/** Place for one more thing of @p size bytes, zeroed. @return NULL, with the error set */
void *wio_cpl_push(struct wio_cpl_list *list, size_t size);
/** Forget all and free. */
void wio_cpl_list_free(struct wio_cpl_list *list);

#endif
