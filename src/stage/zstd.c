/* SPDX-License-Identifier: BSD-3-Clause */
/* The operator zstd: lossless, for all types. */
#include <string.h>

#include "stage/late.h"
#include "stage/layout.h"
#include "stage/operator.h"
#include "waitio_errors.h"

/* Level 1 packs fields nearly as well as higher ones, several times as quickly. */
enum { DEFAULT_LEVEL = 1, MOST_LEVEL = 19 };

static struct {
    size_t (*bound)(size_t n);
    size_t (*compress)(void *to, size_t room, const void *from, size_t n, int level);
    size_t (*decompress)(void *to, size_t room, const void *from, size_t n);
    unsigned (*is_error)(size_t code);
} lib;

static const char *const files[] = {"libzstd.so.1", "libzstd.so", "libzstd.dylib", NULL};
static const struct wio_stg_symbol symbols[] = {
    {"ZSTD_compressBound", &lib.bound},
    {"ZSTD_compress", &lib.compress},
    {"ZSTD_decompress", &lib.decompress},
    {"ZSTD_isError", &lib.is_error},
};
static struct wio_stg_late late = {.name = "zstd",
                                   .files = files,
                                   .install = "install it (Debian: apt-get install libzstd1)",
                                   .symbols = symbols,
                                   .n = sizeof symbols / sizeof symbols[0]};

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

static bool shuffles(const struct wio_stg_operator *op, const struct wio_stg_chunk *c)
{
    return !op->plain && wio_stg_type_unit(c->type) > 1;
}

static size_t scratch(const struct wio_stg_operator *op, const struct wio_stg_chunk *c)
{
    return lib.bound(c->bytes) + (shuffles(op, c) ? c->bytes : 0);
}

static size_t pack(const struct wio_stg_operator *op, const struct wio_stg_chunk *c,
                   const void *raw, void *room, const void **out)
{
    size_t bound = lib.bound(c->bytes), unit = wio_stg_type_unit(c->type), n;
    const void *from = raw;

    if (shuffles(op, c)) {
        wio_stg_shuffle(raw, (char *)room + bound, unit, c->bytes / unit);
        from = (const char *)room + bound;
    }
    n = lib.compress(room, bound, from, c->bytes, op->level > 0 ? op->level : DEFAULT_LEVEL);
    *out = room;
    return lib.is_error(n) ? 0 : n;
}

static bool unpack(const struct wio_stg_operator *op, const struct wio_stg_chunk *c, const void *in,
                   size_t n, void *room, void *raw)
{
    size_t unit = wio_stg_type_unit(c->type);
    bool shuffled = shuffles(op, c);
    size_t got = lib.decompress(shuffled ? room : raw, c->bytes, in, n);

    if (lib.is_error(got) || got != c->bytes)
        return false;
    if (shuffled)
        wio_stg_unshuffle(room, raw, unit, c->bytes / unit);
    if (c->swaps)
        wio_stg_swap(raw, unit, c->bytes / unit);
    return true;
}

const struct wio_stg_codec wio_stg_zstd = {"zstd",   1,       load, fits,  parameter,
                                           complete, scratch, pack, unpack};
