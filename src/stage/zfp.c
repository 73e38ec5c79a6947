/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The operator zfp: smaller with errors within bounds, for float and double. What zfp cannot keep
 * its promise for stays raw: chunks with values that are not finite, and accuracies finer than the
 * type itself is.
 *
 * zfp packs into words in the byte order of the machine. What travels are the bytes of a
 * little-endian one.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "stage/late.h"
#include "stage/layout.h"
#include "stage/operator.h"
#include "waitio_errors.h"
#include "waitio_stage.h"

enum { DIMS = 4, FLOAT = 3, DOUBLE = 4, CODEC = 5 };

struct zfp_stream;
struct zfp_field;
struct bits;

static struct {
    struct zfp_stream *(*open)(struct bits *bits);
    void (*close)(struct zfp_stream *z);
    double (*accuracy)(struct zfp_stream *z, double tolerance);
    unsigned (*precision)(struct zfp_stream *z, unsigned bits);
    double (*rate)(struct zfp_stream *z, double rate, int type, unsigned dims, int align);
    void (*use)(struct zfp_stream *z, struct bits *bits);
    void (*rewind)(struct zfp_stream *z);
    size_t (*most)(const struct zfp_stream *z, const struct zfp_field *f);
    size_t (*compress)(struct zfp_stream *z, const struct zfp_field *f);
    size_t (*decompress)(struct zfp_stream *z, struct zfp_field *f);
    struct zfp_field *(*new_field)(void);
    void (*free_field)(struct zfp_field *f);
    void (*set_pointer)(struct zfp_field *f, void *data);
    int (*set_type)(struct zfp_field *f, int type);
    void (*set_1d)(struct zfp_field *f, size_t nx);
    void (*set_2d)(struct zfp_field *f, size_t nx, size_t ny);
    void (*set_3d)(struct zfp_field *f, size_t nx, size_t ny, size_t nz);
    void (*set_4d)(struct zfp_field *f, size_t nx, size_t ny, size_t nz, size_t nw);
    struct bits *(*new_bits)(void *buffer, size_t n);
    void (*free_bits)(struct bits *bits);
    const size_t *word_bits;
    const unsigned *codec;
} lib;

static const char *const files[] = {"libzfp.so.1", "libzfp.so", "libzfp.dylib", NULL};
static const struct wio_stg_symbol symbols[] = {
    {"zfp_stream_open", &lib.open},
    {"zfp_stream_close", &lib.close},
    {"zfp_stream_set_accuracy", &lib.accuracy},
    {"zfp_stream_set_precision", &lib.precision},
    {"zfp_stream_set_rate", &lib.rate},
    {"zfp_stream_set_bit_stream", &lib.use},
    {"zfp_stream_rewind", &lib.rewind},
    {"zfp_stream_maximum_size", &lib.most},
    {"zfp_compress", &lib.compress},
    {"zfp_decompress", &lib.decompress},
    {"zfp_field_alloc", &lib.new_field},
    {"zfp_field_free", &lib.free_field},
    {"zfp_field_set_pointer", &lib.set_pointer},
    {"zfp_field_set_type", &lib.set_type},
    {"zfp_field_set_size_1d", &lib.set_1d},
    {"zfp_field_set_size_2d", &lib.set_2d},
    {"zfp_field_set_size_3d", &lib.set_3d},
    {"zfp_field_set_size_4d", &lib.set_4d},
    {"stream_open", &lib.new_bits},
    {"stream_close", &lib.free_bits},
    {"stream_word_bits", &lib.word_bits},
    {"zfp_codec_version", &lib.codec},
};
static struct wio_stg_late late = {.name = "zfp",
                                   .files = files,
                                   .install = "install it (Debian: apt-get install libzfp1)",
                                   .symbols = symbols,
                                   .n = sizeof symbols / sizeof symbols[0]};

static int load(void)
{
    int rc = wio_stg_late_load(&late);

    if (rc == 0 && (*lib.codec != CODEC || *lib.word_bits % 8 != 0 || *lib.word_bits > 64))
        rc =
            wio_stg_fail(WAITIO_ERR_UNSUPPORTED,
                         "the library zfp packs by version %u of its codec, known here is %d; take "
                         "zfp 0.5 to 1.0",
                         *lib.codec, CODEC);
    return rc;
}

static int fits(int type)
{
    if (type == WAITIO_STAGE_FLOAT || type == WAITIO_STAGE_DOUBLE)
        return 0;
    return wio_stg_fail(WAITIO_ERR_ARG,
                        "the operator zfp is for float and double, not %s; take zstd or blosc2",
                        wio_stg_type_name(type));
}

/* ---- parameters ----------------------------------------------------------------------------- */

static int parameter(struct wio_stg_operator *op, const char *key, const char *value)
{
    static const struct {
        const char *key, *what;
        double least, most;
    } known[] = {[WIO_STG_ACCURACY] = {"accuracy", "an absolute error above 0", DBL_MIN, DBL_MAX},
                 [WIO_STG_PRECISION] = {"precision", "1 to 64 bits", 1, 64},
                 [WIO_STG_RATE] = {"rate", "1 to 64 bits an element", 1, 64}};

    if (op->mode != 0)
        return wio_stg_fail(WAITIO_ERR_ARG,
                            "zfp has %s and %s; one of accuracy, precision and rate is possible",
                            known[op->mode].key, key);
    for (int i = WIO_STG_ACCURACY; i <= WIO_STG_RATE; i++) {
        if (strcmp(key, known[i].key) != 0)
            continue;
        if (!wio_stg_operator_number(value, known[i].least, known[i].most, &op->value) ||
            (i == WIO_STG_PRECISION && op->value != floor(op->value)))
            return wio_stg_fail(WAITIO_ERR_ARG, "zfp: %s=%s; possible is %s", key, value,
                                known[i].what);
        op->mode = i;
        return 0;
    }
    return wio_stg_fail(WAITIO_ERR_ARG,
                        "zfp has no parameter '%s'; it has accuracy, precision and rate", key);
}

static int complete(const struct wio_stg_operator *op)
{
    if (op->mode != 0)
        return 0;
    return wio_stg_fail(WAITIO_ERR_ARG, "zfp needs accuracy=ERROR (absolute), precision=BITS or "
                                        "rate=BITS");
}

/* ---- one chunk ------------------------------------------------------------------------------ */

/* Dimensions as zfp has them: the quickest first, none of one element, four at most. */
static unsigned shape(const struct wio_stg_chunk *c, size_t *n)
{
    unsigned dims = 0;

    for (int d = c->box.n - 1; d >= 0; d--) {
        size_t count = (size_t)c->box.count[d];

        if (count == 1)
            continue;
        if (dims == DIMS)
            n[DIMS - 1] *= count;
        else
            n[dims++] = count;
    }
    if (dims == 0)
        n[dims++] = 1;
    return dims;
}

/* The chunk and what is to be done to it, as zfp describes them. */
struct job {
    struct zfp_stream *z;
    struct zfp_field *field;
    struct bits *bits;
};

static void end(struct job *j)
{
    if (j->bits != NULL)
        lib.free_bits(j->bits);
    if (j->field != NULL)
        lib.free_field(j->field);
    if (j->z != NULL)
        lib.close(j->z);
}

static void set_size(struct zfp_field *f, unsigned dims, const size_t *n)
{
    if (dims == 1)
        lib.set_1d(f, n[0]);
    else if (dims == 2)
        lib.set_2d(f, n[0], n[1]);
    else if (dims == 3)
        lib.set_3d(f, n[0], n[1], n[2]);
    else
        lib.set_4d(f, n[0], n[1], n[2], n[3]);
}

static bool begin(const struct wio_stg_operator *op, const struct wio_stg_chunk *c, struct job *j)
{
    int type = c->type == WAITIO_STAGE_FLOAT ? FLOAT : DOUBLE;
    size_t n[DIMS];
    unsigned dims = shape(c, n);

    *j = (struct job){lib.open(NULL), lib.new_field(), NULL};
    if (j->z == NULL || j->field == NULL) {
        end(j);
        return false;
    }
    (void)lib.set_type(j->field, type);
    set_size(j->field, dims, n);
    if (op->mode == WIO_STG_ACCURACY)
        (void)lib.accuracy(j->z, op->value);
    else if (op->mode == WIO_STG_PRECISION)
        (void)lib.precision(j->z, (unsigned)op->value);
    else
        (void)lib.rate(j->z, op->value, type, dims, 0);
    return true;
}

/* Zfp reads and writes whole words. */
static size_t most_bytes(const struct job *j)
{
    return (lib.most(j->z, j->field) + 15) / 8 * 8;
}

static size_t scratch(const struct wio_stg_operator *op, const struct wio_stg_chunk *c)
{
    struct job j;
    size_t n;

    if (!begin(op, c, &j))
        return 0;
    n = most_bytes(&j);
    end(&j);
    return n;
}

/* Words of this machine, and the bytes of a little-endian one, in place: libraries that were built
 * for words of other sizes make the same bytes. */
static void turn(void *data, size_t n)
{
    size_t word = *lib.word_bits / 8;

    if (wio_stg_big() && word > 1)
        wio_stg_swap(data, word, n / word);
}

/* The largest magnitude. @return infinity: something is not finite */
static double largest(const struct wio_stg_chunk *c, const void *raw)
{
    const float *f = raw;
    const double *d = raw;
    double most = 0;

    for (uint64_t i = 0; i < c->n; i++) {
        double x = fabs(c->type == WAITIO_STAGE_FLOAT ? (double)f[i] : d[i]);

        if (!(x <= DBL_MAX))
            return INFINITY;
        if (x > most)
            most = x;
    }
    return most;
}

/* Can zfp keep its promise? */
static bool can(const struct wio_stg_operator *op, const struct wio_stg_chunk *c, const void *raw)
{
    double most = largest(c, raw);
    double epsilon = c->type == WAITIO_STAGE_FLOAT ? FLT_EPSILON : DBL_EPSILON;

    return isfinite(most) && (op->mode != WIO_STG_ACCURACY || op->value >= most * epsilon);
}

/* Let zfp work on a buffer. @param n of the buffer, in whole words */
static bool attach(struct job *j, void *buffer, size_t n, const void *raw)
{
    j->bits = lib.new_bits(buffer, n);
    if (j->bits == NULL)
        return false;
    lib.use(j->z, j->bits);
    lib.rewind(j->z);
    lib.set_pointer(j->field, (void *)(uintptr_t)raw);
    return true;
}

static size_t pack(const struct wio_stg_operator *op, const struct wio_stg_chunk *c,
                   const void *raw, void *room, const void **out)
{
    struct job j;
    size_t n = 0;

    *out = room;
    if (!can(op, c, raw) || !begin(op, c, &j))
        return 0;
    if (attach(&j, room, most_bytes(&j), raw))
        n = lib.compress(j.z, j.field);
    turn(room, n);
    end(&j);
    return n;
}

static bool unpack(const struct wio_stg_operator *op, const struct wio_stg_chunk *c, const void *in,
                   size_t n, void *room, void *raw)
{
    struct job j;
    size_t most;
    bool fine = false;

    if (!begin(op, c, &j))
        return false;
    most = most_bytes(&j);
    if (n <= most) {
        memcpy(room, in, n);
        memset((char *)room + n, 0, most - n); /* malformed bytes may make it read on */
        turn(room, most);
        fine = attach(&j, room, most, raw) && lib.decompress(j.z, j.field) > 0;
    }
    end(&j);
    return fine;
}

const struct wio_stg_codec wio_stg_zfp = {"zfp",    4,       load, fits,  parameter,
                                          complete, scratch, pack, unpack};
