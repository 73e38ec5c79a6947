/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file operator.h
 * Operators: what is done to the blocks of a variable on their way. A block is cut into chunks,
 * and each is packed for itself, so that a reader of a part need not undo the whole. Pure functions
 * but for the libraries, which are loaded late.
 *
 * An operator travels as a text: "zfp accuracy=0.001".
 */
#ifndef WIO_STG_OPERATOR_H
#define WIO_STG_OPERATOR_H

#include "stage/base.h"
#include "stage/box.h"

enum { WIO_STG_OPERATOR = 120 }; /* of the text, with its end */

struct wio_stg_codec;

struct wio_stg_operator {
    const struct wio_stg_codec *codec; /* NULL: none */
    int level;                         /* lossless: how hard it tries; 0: the default */
    bool plain;                        /* lossless: bytes stay as they are, unshuffled */
    enum { WIO_STG_ACCURACY = 1, WIO_STG_PRECISION, WIO_STG_RATE } mode; /* zfp */
    double value;
};

/** Elements that are packed together, in C order. */
struct wio_stg_chunk {
    int type;
    struct wio_stg_box box;
    uint64_t n;   /* elements */
    size_t bytes; /* of all */
    bool swaps;   /* unpacking: they come from a machine of the other byte order */
};

/** What an operator is made of. Each works on one chunk. */
struct wio_stg_codec {
    const char *name;
    int least; /* elements of a chunk in each dimension, if there are so many */
    /** Load the library. @return 0; UNSUPPORTED */
    int (*load)(void);
    /** @return 0; ARG: not for elements of this type */
    int (*fits)(int type);
    /** One word of the parameters. @return 0; ARG */
    int (*parameter)(struct wio_stg_operator *op, const char *key, const char *value);
    /** @return 0; ARG: a parameter is missing */
    int (*complete)(const struct wio_stg_operator *op);
    /** Bytes of memory that packing and unpacking a chunk need besides. */
    size_t (*scratch)(const struct wio_stg_operator *op, const struct wio_stg_chunk *c);
    /** @param[out] out what lies in @p scratch or is @p raw itself @return its bytes; 0: it cannot
     * be packed so that it keeps its promise, or did not become smaller: it is to stay raw */
    size_t (*pack)(const struct wio_stg_operator *op, const struct wio_stg_chunk *c,
                   const void *raw, void *scratch, const void **out);
    /** Elements in this machine's byte order. @return false: malformed */
    bool (*unpack)(const struct wio_stg_operator *op, const struct wio_stg_chunk *c, const void *in,
                   size_t n, void *scratch, void *raw);
};

extern const struct wio_stg_codec wio_stg_zstd, wio_stg_blosc, wio_stg_zfp;

/** Read a text. "" and "none": none. Loads nothing.
 * @return 0; ARG: malformed; UNSUPPORTED: no such operator (another release may have it) */
int wio_stg_operator_read(struct wio_stg_operator *op, const char *text);
/** Load its library, and see whether it is for this type. */
int wio_stg_operator_ready(const struct wio_stg_operator *op, int type);
/** Join name and parameters, as they travel. @return 0; ARG: too long, or other characters */
int wio_stg_operator_text(char *out, const char *name, const char *parameters);
/** A number of a parameter. @return false: none within the bounds */
bool wio_stg_operator_number(const char *text, double least, double most, double *value);

/* lossless.c */
/** Level, up to @p most, and shuffle. @param standard the default level, for messages */
int wio_stg_lossless_parameter(struct wio_stg_operator *op, int most, int standard, const char *key,
                               const char *value);
/** The first bytes of all @p n elements of @p size bytes, then their second bytes, and so on. */
void wio_stg_shuffle(const void *from, void *to, size_t size, size_t n);
void wio_stg_unshuffle(const void *from, void *to, size_t size, size_t n);

#endif
