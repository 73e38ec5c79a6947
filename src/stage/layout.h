/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file layout.h
 * Who has what. A *part* is what one writer puts in a step: variables, boxes, attributes. The first
 * writer makes a *layout* of all parts: for each array the boxes with their writers. Parts and
 * layouts travel as bytes, and are kept while nothing changes. Pure functions.
 */
#ifndef WIO_STG_LAYOUT_H
#define WIO_STG_LAYOUT_H

#include "stage/base.h"
#include "stage/box.h"
#include "stage/compute.h"

enum { WIO_STG_NAME_MOST = 200 };

/** An array, and where its blocks are. */
struct wio_stg_array {
    char *name;
    int type, kind, ndims;
    char *op; /* the text of its operator, "" for none */
    uint64_t shape[WIO_STG_DIMS];
    size_t n, room;
    uint32_t
        *where; /* of each block: writer, number of the array in its part, of the block there */
    uint64_t *boxes; /* of each block: start[ndims], count[ndims] */
};

/** A value with a name: an attribute, a scalar or a text. */
struct wio_stg_value {
    char *name;
    int type, rule; /* WIO_STG_MIN, _MAX: what several writers' values make; else 0 */
    uint32_t writer;
    size_t count, bytes;
    unsigned char *data; /* followed by a zero */
};

struct wio_stg_values {
    struct wio_stg_value *at;
    size_t n, room;
};

struct wio_stg_layout {
    struct wio_stg_array *arrays;
    size_t n, room;
    struct wio_stg_values attributes;
};

/** Write the head of an array in a part: its blocks follow (wio_stg_write_box()), @p blocks of
 * them. @param op the text of its operator, "" for none */
void wio_stg_write_array(struct wio_stg_bytes *b, const char *name, int type, int kind,
                         const char *op, int ndims, const uint64_t *shape, size_t blocks);
void wio_stg_write_box(struct wio_stg_bytes *b, const struct wio_stg_box *box);
void wio_stg_write_value(struct wio_stg_bytes *b, const struct wio_stg_value *v);

/** Add a writer's part. @return 0; ARG: it does not fit to the others (array and both writers in
 * the text); PROTOCOL: malformed */
int wio_stg_layout_add(struct wio_stg_layout *l, uint32_t writer, const unsigned char *part,
                       size_t n);
void wio_stg_layout_write(const struct wio_stg_layout *l, struct wio_stg_bytes *b);
/** @param writers blocks of others are malformed */
int wio_stg_layout_read(struct wio_stg_layout *l, uint32_t writers, const unsigned char *at,
                        size_t n);
void wio_stg_layout_free(struct wio_stg_layout *l);

/** Add values that were written one after the other. Of several of one name the lowest writer's
 * counts, of several of that one the last. @return 0; PROTOCOL, NOMEM */
int wio_stg_values_add(struct wio_stg_values *v, const unsigned char *at, size_t n);
/** The same of values from a machine of the other byte order: they are turned round first, for
 * several writers' values may have to be compared. */
int wio_stg_values_add_swapped(struct wio_stg_values *v, const unsigned char *at, size_t n);
void wio_stg_values_write(const struct wio_stg_values *v, struct wio_stg_bytes *b);
const struct wio_stg_value *wio_stg_values_find(const struct wio_stg_values *v, const char *name);
/** Turn round the bytes of all numbers: they come from a machine of the other byte order. */
void wio_stg_values_swap(struct wio_stg_values *v);
void wio_stg_values_free(struct wio_stg_values *v);

const struct wio_stg_array *wio_stg_layout_find(const struct wio_stg_layout *l, const char *name);
/** The box of a block, and its writer. */
struct wio_stg_box wio_stg_block_box(const struct wio_stg_array *a, size_t block);
uint32_t wio_stg_block_writer(const struct wio_stg_array *a, size_t block);

/* overlap.c */
/** Do blocks of a global array overlap? @return 0; ARG: names the array and both writers; NOMEM */
int wio_stg_layout_check(const struct wio_stg_layout *l);

/* types.c */
size_t wio_stg_type_size(int type);
/** Size of what is turned round between byte orders: of a complex number half of it. */
size_t wio_stg_type_unit(int type);
const char *wio_stg_type_name(int type);
bool wio_stg_type_known(int type);

#endif
