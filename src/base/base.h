/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file base.h
 * Errors, log, configuration, counters, pools, hashes, byte order. Knows only os/.
 */
#ifndef WIO_BASE_H
#define WIO_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "waitio_errors.h"
#include "base/config_gen.h"   /* struct wio_config */
#include "base/counters_gen.h" /* struct wio_counters */
#include "base/list.h"

#define WIO_PRINTF(a, b) __attribute__((format(printf, a, b)))
#define WIO_LIKELY(x) __builtin_expect(!!(x), 1)
#define WIO_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define WIO_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* ---- errors (errors.c, errors_gen.c) ---- */
/** Set this thread's detail text and return @p code: `return wio_fail(WAITIO_ERR_RANK, "rank %d
 * ...", r);` The text names the thing and the value; the remedy of spec/errors.toml is appended by
 * wio_last_error. */
int wio_fail(int code, const char *fmt, ...) WIO_PRINTF(2, 3);
/** Same, with ": <strerror(-oserr)>" appended; maps -EMFILE/-ENFILE to LIMIT and -ENOMEM to NOMEM
 * when code is SYSTEM. */
int wio_fail_os(int code, int oserr, const char *fmt, ...) WIO_PRINTF(3, 4);
const char *wio_last_error(
    void); /* detail + "; " + remedy of this thread's last failure, "" if none */
const char *wio_last_detail(
    void); /* the same without the remedy, to be carried into another text */
int wio_last_code(void);
/** This thread's last error has been written for the user to read; has it? */
void wio_error_shown(void);
bool wio_error_is_shown(void);
/** Errors of this thread are returned to its calls, whatever the program has chosen. @return before
 */
bool wio_errors_keep(bool on);
bool wio_errors_kept(void);
void wio_clear_error(void);
const char *wio_error_message(int code); /* static, "success" for 0, "unknown error" else */
const char *wio_error_name(int code);    /* "WAITIO_ERR_PEER" */
const char *wio_error_remedy(int code);

/* ---- log (log.c) ---- */
enum wio_log_level { WIO_LOG_ERROR, WIO_LOG_WARN, WIO_LOG_INFO, WIO_LOG_DEBUG, WIO_LOG_TRACE };
enum wio_log_comp {
    WIO_C_CONFIG,
    WIO_C_BOOT,
    WIO_C_AUTH,
    WIO_C_TCP,
    WIO_C_P2P,
    WIO_C_API,
    WIO_C_SERV,
    WIO_C_SHM,
    WIO_C_FILE,
    WIO_C_MPI,
    WIO_C_COUNT
};
struct wio_log {
    FILE *out; /* owned when not stderr */
    uint8_t level[WIO_C_COUNT];
    int pbid, pb_rank; /* stamp; -1 = not known yet */
    void (*hook)(void *arg, enum wio_log_comp, enum wio_log_level,
                 const char *text); /* tests; NULL = none */
    void *hook_arg;
};
/** Parse "warn" or "tcp:debug,boot:info" (first bare level = all). Unknown words: CONFIG naming the
 * nearest. */
int wio_log_init(struct wio_log *lg, const char *spec, const char *file);
/** Direct the log to @p file ("" or NULL: leave it); %r in the name becomes @p universe_rank, %p
 * the process id, %% a %. wio_log_init leaves a name with %r to a later call of this one, when the
 * rank is known. @return 0; CONFIG when it cannot be opened (the log stays where it was), NOMEM */
int wio_log_open(struct wio_log *lg, const char *file, int universe_rank);
struct wio_strbuf;
/** The name @p file with %r, %p and %% filled in. @return 0 or NOMEM */
int wio_log_file_name(struct wio_strbuf *out, const char *file, int universe_rank);
void wio_log_close(struct wio_log *lg); /* back to stderr */
void wio_log_emit(struct wio_log *lg, enum wio_log_comp c, enum wio_log_level l, const char *fmt,
                  ...) WIO_PRINTF(4, 5);
/** One line per event: "12:03:04.123456 [ocean 1.0] tcp info: text" ; lg may be NULL (silent). */
/** Limits lines of one kind, so that strangers cannot fill a log. All zero at first; one
 * thread at a time. */
struct wio_log_gate {
    int64_t since_ns; /* when the present minute began */
    uint32_t passed;  /* lines in it */
    uint64_t held;    /* not written since the last line that was */
};
#define WIO_GATE_LINES 5 /* in a minute */
/** May a line of this kind be written now (@p now_ns as wio_os_now_ns)? @param[out] note  for its
 * end: how many before it were not written, or that further ones are only counted; or "". */
bool wio_log_gate(struct wio_log_gate *g, int64_t now_ns, char *note, size_t n);
/** At the end of the gate's owner: log how many lines were not written. */
void wio_log_gate_end(struct wio_log_gate *g, struct wio_log *lg, enum wio_log_comp c,
                      const char *what);
#define wio_log(lg, comp, lev, ...)                                                                \
    do {                                                                                           \
        if ((lg) != NULL && (lev) <= (lg)->level[comp])                                            \
            wio_log_emit(lg, comp, lev, __VA_ARGS__);                                              \
    } while (0)
#define wio_error(lg, comp, ...) wio_log(lg, comp, WIO_LOG_ERROR, __VA_ARGS__)
#define wio_warn(lg, comp, ...) wio_log(lg, comp, WIO_LOG_WARN, __VA_ARGS__)
#define wio_info(lg, comp, ...) wio_log(lg, comp, WIO_LOG_INFO, __VA_ARGS__)
#define wio_debug(lg, comp, ...) wio_log(lg, comp, WIO_LOG_DEBUG, __VA_ARGS__)
#define wio_trace(lg, comp, ...) wio_log(lg, comp, WIO_LOG_TRACE, __VA_ARGS__)

/* ---- configuration (config.c, config_gen.c) ---- */
/* config_gen.h declares struct wio_config: one field per row of spec/config.toml (int -> int64_t;
 * size -> uint64_t; seconds -> double; bool -> bool; enum -> int with constants
 * WIO_CFG_<FIELD>_<VALUE>; string -> char[512]), and `enum wio_cfg_source source[WIO_CFG_VARS]`
 * (default / environment). */
/** Read the environment. Malformed or out-of-range: CONFIG naming variable, value and range.
 *  Unknown WAITIO_* names: one warning each with the nearest right name. Aliases equal to a set
 * main name are ignored (main name wins; a differing alias is a warning). memory_max scales the
 * single limits. */
int wio_config_load(struct wio_config *cfg, struct wio_log *lg);
/** All defaults, nothing read. */
void wio_config_defaults(struct wio_config *cfg);
/** Row i (0..WIO_CFG_VARS-1) as text, for `waitio-info` and tests. */
struct wio_config_row {
    const char *name, *type, *def, *doc, *range;
};
const struct wio_config_row *wio_config_row(int i);
void wio_config_value(const struct wio_config *cfg, int i, char *buf, size_t n);
/** Set one variable by name from text, as the environment would. */
int wio_config_set(struct wio_config *cfg, const char *name, const char *text);
/** Nearest candidate by edit distance <= 3 (case-insensitive), or NULL. */
const char *wio_nearest(const char *word, const char *const *candidates, int n);

/* ---- counters (counters_gen.c) ---- */
/* counters_gen.h: struct wio_counters { uint64_t send_msgs; ... } and WIO_COUNTERS. */
struct wio_counter_row {
    const char *name, *unit, *kind, *doc;
};
const struct wio_counter_row *wio_counter_row(int i);
uint64_t wio_counter_value(const struct wio_counters *c, int i);

/* ---- string buffer (strbuf.c) ---- */
struct wio_strbuf {
    char *text;
    size_t len, cap;
    bool failed;
};
void wio_strbuf_add(struct wio_strbuf *sb, const char *fmt, ...) WIO_PRINTF(2, 3);
void wio_strbuf_free(struct wio_strbuf *sb);
/** snprintf that always terminates; returns bytes written (never more than n-1). */
size_t wio_text(char *buf, size_t n, const char *fmt, ...) WIO_PRINTF(3, 4);

/* ---- fixed-size block pool (pool.c): O(1) get/put, grows by slabs, never shrinks until free ----
 */
struct wio_pool {
    size_t size;
    int per_slab;
    struct wio_list slabs;
    void *free;
    size_t bytes, used;
};
void wio_pool_init(struct wio_pool *p, size_t size, int per_slab);
void *wio_pool_get(struct wio_pool *p); /* NOT zeroed; NULL when out of memory */
void wio_pool_put(struct wio_pool *p, void *block);
void wio_pool_free(struct wio_pool *p);

/* ---- buffers of any size, kept for the next one (buffers.c); one thread at a time; zeroed: empty
 */
#define WIO_BUFFER_MOST ((size_t)2 << 20)  /* larger ones are not kept, nor those up to 4 KiB */
#define WIO_BUFFERS_KEPT ((size_t)8 << 20) /* bytes of all that are kept */
#define WIO_BUFFERS_TIDY_NS 1000000000LL   /* what was not needed for so long is given back */
enum { WIO_BUFFER_CLASSES = 36 };
struct wio_buffer;
struct wio_buffers {
    struct wio_buffer_class {
        struct wio_buffer *first;
        uint32_t free, spare; /* now, and at any time since the last look */
    } of[WIO_BUFFER_CLASSES];
    size_t kept; /* bytes of the free ones */
    int64_t tidied_ns;
};
/** @return a buffer of at least @p bytes, aligned as malloc's, NOT zeroed; NULL: no memory */
void *wio_buffer_get(struct wio_buffers *b, size_t bytes);
/** @param buffer  from wio_buffer_get(), or NULL. @param bytes  what was asked for there */
void wio_buffer_put(struct wio_buffers *b, void *buffer, size_t bytes);
/** Give back what was not needed lately; at most once in WIO_BUFFERS_TIDY_NS, else it does nothing.
 * To be called twice after that time when all is idle. */
void wio_buffers_tidy(struct wio_buffers *b, int64_t now);
/** All of them. */
void wio_buffers_free(struct wio_buffers *b);

/* ---- hashing, byte order, crc ---- */
/** Strong 64-bit mixing of one word (splitmix64 finaliser). */
static inline uint64_t wio_mix64(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}
/** Order-sensitive running hash of words: h = wio_hash64(h, word). */
static inline uint64_t wio_hash64(uint64_t h, uint64_t word)
{
    return wio_mix64(h ^ (word + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2)));
}
uint64_t wio_hash_bytes(uint64_t seed, const void *data, size_t n);
uint32_t wio_crc32c(uint32_t crc, const void *data,
                    size_t n); /* start with 0; hardware when present */

/* Wire integers are little-endian, unaligned. */
static inline void wio_put16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}
static inline void wio_put32(uint8_t *p, uint32_t v)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    memcpy(p, &v, 4);
#else
    v = __builtin_bswap32(v);
    memcpy(p, &v, 4);
#endif
}
static inline void wio_put64(uint8_t *p, uint64_t v)
{
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    memcpy(p, &v, 8);
}
static inline uint16_t wio_get16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}
static inline uint32_t wio_get32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap32(v);
#endif
    return v;
}
static inline uint64_t wio_get64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

#endif /* WIO_BASE_H */
