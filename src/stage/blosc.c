/* SPDX-License-Identifier: BSD-3-Clause */
/* The operator blosc2: lossless, for all types. It shuffles bytes itself. */
#include <limits.h>
#include <string.h>

#include "stage/late.h"
#include "stage/layout.h"
#include "stage/operator.h"
#include "waitio_errors.h"

enum {
    OVERHEAD = 64,
    DEFAULT_LEVEL = 5,
    MOST_LEVEL = 9
}; /* at most 32 bytes of head, in all releases so far */

static struct {
    void (*init)(void);
    int (*compress)(int level, int shuffle, int32_t size, const void *from, int32_t n, void *to,
                    int32_t room);
    int (*decompress)(const void *from, int32_t n, void *to, int32_t room);
} lib;

static const char *const files[] = {"libblosc2.so.9",
                                    "libblosc2.so.8",
                                    "libblosc2.so.7",
                                    "libblosc2.so.6",
                                    "libblosc2.so.5",
                                    "libblosc2.so.4",
                                    "libblosc2.so.3",
                                    "libblosc2.so.2",
                                    "libblosc2.so",
                                    "libblosc2.dylib",
                                    NULL};
static const struct wio_stg_symbol symbols[] = {
    {"blosc2_init", &lib.init},
    {"blosc2_compress", &lib.compress},
    {"blosc2_decompress", &lib.decompress},
};

static void begin(void)
{
    lib.init();
}

static struct wio_stg_late late = {
    .name = "blosc2",
    .files = files,
    .install = "install it (Debian 13 and later: apt-get install libblosc2-dev)",
    .symbols = symbols,
    .n = sizeof symbols / sizeof symbols[0],
    .begin = begin};

static int load(void)
{
    return wio_stg_late_load(&late);
}

static int fits(int type)
{
    (void)type;
    return 0;
}

static int parameter(struct wio_stg_operator *op, const char *key, const char *value)
{
    return wio_stg_lossless_parameter(op, MOST_LEVEL, DEFAULT_LEVEL, key, value);
}

static int complete(const struct wio_stg_operator *op)
{
    (void)op;
    return 0;
}

static size_t scratch(const struct wio_stg_operator *op, const struct wio_stg_chunk *c)
{
    (void)op;
    return c->bytes + OVERHEAD;
}

static size_t pack(const struct wio_stg_operator *op, const struct wio_stg_chunk *c,
                   const void *raw, void *room, const void **out)
{
    int n = c->bytes > INT_MAX / 2
                ? 0
                : lib.compress(op->level > 0 ? op->level : DEFAULT_LEVEL, !op->plain,
                               (int32_t)wio_stg_type_unit(c->type), raw, (int32_t)c->bytes, room,
                               (int32_t)(c->bytes + OVERHEAD));

    *out = room;
    return n > 0 ? (size_t)n : 0;
}

static bool unpack(const struct wio_stg_operator *op, const struct wio_stg_chunk *c, const void *in,
                   size_t n, void *room, void *raw)
{
    size_t unit = wio_stg_type_unit(c->type);

    (void)op;
    (void)room;
    if (n > INT_MAX || c->bytes > INT_MAX ||
        lib.decompress(in, (int32_t)n, raw, (int32_t)c->bytes) != (int)c->bytes)
        return false;
    if (c->swaps)
        wio_stg_swap(raw, unit, c->bytes / unit);
    return true;
}

const struct wio_stg_codec wio_stg_blosc = {"blosc2", 1,       load, fits,  parameter,
                                            complete, scratch, pack, unpack};
