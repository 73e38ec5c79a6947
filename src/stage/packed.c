/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packed blocks. A message of chunks: u32 version, then of each chunk u8 packed or not, u64 bytes,
 * u64 sum; then the bytes of all. Numbers are little-endian.
 */
#include "stage/packed.h"

#include <stdlib.h>
#include <string.h>

#include "stage/layout.h"
#include "waitio_errors.h"

enum { VERSION = 1, HEAD = 4, CHUNK_HEAD = 17, CHUNK_BYTES = 4 << 20 };

/* ---- chunks --------------------------------------------------------------------------------- */

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* At least as many elements in each dimension as the codec needs; then as many as there is room
 * for, the quickest dimension first. */
struct wio_stg_grid wio_stg_grid(const struct wio_stg_operator *op, int type,
                                 const struct wio_stg_box *block)
{
    struct wio_stg_grid g = {.type = type, .size = wio_stg_type_size(type), .block = *block};
    uint64_t least = (uint64_t)op->codec->least, most = CHUNK_BYTES / g.size, all = 1;

    g.n = 1;
    for (int d = 0; d < block->n; d++) {
        g.count[d] = smaller(least, block->count[d]);
        all *= g.count[d];
    }
    for (int d = block->n - 1; d >= 0 && all > 0; d--) {
        uint64_t times = most / all * g.count[d], fit = times - times % least;

        all /= g.count[d];
        if (fit > g.count[d]) /* none fits beside a few rows: those stay */
            g.count[d] = smaller(fit, block->count[d]);
        all *= g.count[d];
    }
    for (int d = 0; d < block->n; d++) {
        g.chunks[d] = all > 0 ? (block->count[d] + g.count[d] - 1) / g.count[d] : 0;
        g.n *= g.chunks[d];
    }
    return g;
}

/* The chunks that a box touches, in C order. */
struct walk {
    const struct wio_stg_grid *grid;
    uint64_t first[WIO_STG_DIMS], end[WIO_STG_DIMS], at[WIO_STG_DIMS];
    bool more;
};

static struct walk walk(const struct wio_stg_grid *g, const struct wio_stg_box *box)
{
    struct walk w = {.grid = g, .more = g->n > 0};

    for (int d = 0; w.more && d < g->block.n; d++) {
        uint64_t from = box->start[d] - g->block.start[d];

        w.first[d] = w.at[d] = from / g->count[d];
        w.end[d] = (from + box->count[d] + g->count[d] - 1) / g->count[d];
        w.more = box->count[d] > 0;
    }
    return w;
}

/* @param[out] index of the chunk in the block @return false: that was the last one */
static bool next(struct walk *w, uint64_t *index, struct wio_stg_chunk *c)
{
    const struct wio_stg_grid *g = w->grid;
    int d;

    if (!w->more)
        return false;
    *index = 0;
    *c = (struct wio_stg_chunk){.type = g->type, .box.n = g->block.n};
    for (d = 0; d < g->block.n; d++) {
        uint64_t from = w->at[d] * g->count[d];

        *index = *index * g->chunks[d] + w->at[d];
        c->box.start[d] = g->block.start[d] + from;
        c->box.count[d] = smaller(g->count[d], g->block.count[d] - from);
    }
    (void)wio_stg_box_volume(&c->box, &c->n);
    c->bytes = (size_t)c->n * g->size;
    for (d = g->block.n - 1; d >= 0 && ++w->at[d] == w->end[d]; d--)
        w->at[d] = w->first[d];
    w->more = d >= 0;
    return true;
}

uint64_t wio_stg_packed_sum(const void *data, size_t n)
{
    const unsigned char *at = data;
    uint64_t sum = 14695981039346656037u ^ n;

    for (; n >= 8; n -= 8, at += 8) {
        uint64_t low = at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24;
        uint64_t high =
            at[4] | (uint64_t)at[5] << 8 | (uint64_t)at[6] << 16 | (uint64_t)at[7] << 24;

        sum = (sum ^ (low | high << 32)) * 1099511628211u;
        sum ^= sum >> 29;
    }
    for (; n > 0; n--)
        sum = (sum ^ *at++) * 1099511628211u;
    return sum ^ sum >> 32;
}

/* ---- writers -------------------------------------------------------------------------------- */

struct packing {
    const struct wio_stg_operator *op;
    struct wio_stg_packed *p;
    char *raw, *scratch; /* of one chunk */
};

/* A chunk whose elements are one piece of the block needs no copy. */
static const char *gather(struct packing *k, const struct wio_stg_chunk *c, const void *data)
{
    const struct wio_stg_grid *g = &k->p->grid;
    uint64_t at;

    if (wio_stg_box_solid(&g->block, &c->box, &at))
        return (const char *)data + at * g->size;
    wio_stg_box_copy(g->size, &g->block, data, &c->box, k->raw, &c->box);
    return k->raw;
}

static void pack_chunk(struct packing *k, const struct wio_stg_chunk *c, const char *from,
                       struct wio_stg_packed_chunk *to)
{
    const void *out = NULL;
    size_t n = k->op->codec->pack(k->op, c, from, k->scratch, &out);

    to->packed = n > 0 && n < c->bytes;
    if (!to->packed) {
        n = c->bytes;
        out = from;
    }
    to->at = k->p->bytes;
    to->bytes = n;
    memmove(k->p->data + to->at, out, n);
    to->sum = wio_stg_packed_sum(k->p->data + to->at, n);
    k->p->bytes += n;
}

/* Is each chunk one piece of the block? Then they come in the order of memory. Others lie across
 * each other, and what is packed would overwrite what is still to be packed. */
static bool in_place(const struct wio_stg_grid *g)
{
    struct wio_stg_box first = g->block;
    uint64_t at;

    for (int d = 0; d < first.n; d++)
        first.count[d] = g->count[d];
    return wio_stg_box_solid(&g->block, &first, &at);
}

static bool begin(struct packing *k, struct wio_stg_packed *p)
{
    struct wio_stg_chunk c = {.type = p->grid.type, .box = p->grid.block};
    size_t room;

    for (int d = 0; d < c.box.n; d++) /* the first one is the largest */
        c.box.count[d] = p->grid.count[d];
    (void)wio_stg_box_volume(&c.box, &c.n);
    c.bytes = (size_t)c.n * p->grid.size;
    room = k->op->codec->scratch(k->op, &c);
    k->p = p;
    k->raw = wio_stg_new(c.bytes, 1);
    k->scratch = wio_stg_new(room, 1);
    return k->raw != NULL && k->scratch != NULL;
}

static void pack_all(struct packing *k, const void *data)
{
    struct walk w = walk(&k->p->grid, &k->p->grid.block);
    struct wio_stg_chunk c;
    uint64_t index;

    while (next(&w, &index, &c))
        pack_chunk(k, &c, gather(k, &c, data), &k->p->chunks[index]);
}

static void give_back(struct wio_stg_packed *p)
{
    char *less = realloc(p->data, p->bytes > 0 ? p->bytes : 1);

    if (less != NULL)
        p->data = less;
}

size_t wio_stg_pack_extra(const struct wio_stg_operator *op, int type,
                          const struct wio_stg_box *block)
{
    struct wio_stg_grid g = wio_stg_grid(op, type, block);
    uint64_t n;

    return !in_place(&g) && wio_stg_box_volume(block, &n) ? (size_t)n * g.size : 0;
}

struct wio_stg_packed *wio_stg_pack_block(const struct wio_stg_operator *op, int type,
                                          const struct wio_stg_box *block, const void *data,
                                          char *own)
{
    struct wio_stg_packed *p = wio_stg_new(1, sizeof *p);
    struct packing k = {.op = op};
    bool fresh;

    if (p == NULL)
        return NULL;
    p->grid = wio_stg_grid(op, type, block);
    fresh = own == NULL || !in_place(&p->grid);
    p->chunks = wio_stg_new((size_t)p->grid.n, sizeof *p->chunks);
    if (p->chunks != NULL && begin(&k, p)) {
        uint64_t n;

        (void)wio_stg_box_volume(block, &n);
        p->data = fresh ? wio_stg_new((size_t)n * p->grid.size, 1) : own;
    }
    if (p->data == NULL) {
        free(k.raw);
        free(k.scratch);
        wio_stg_packed_free(p);
        return NULL;
    }
    pack_all(&k, data);
    free(k.raw);
    free(k.scratch);
    if (fresh)
        free(own);
    give_back(p);
    return p;
}

void wio_stg_packed_free(struct wio_stg_packed *p)
{
    if (p == NULL)
        return;
    free(p->data);
    free(p->chunks);
    free(p);
}

bool wio_stg_packed_write(const struct wio_stg_packed *p, const struct wio_stg_box *box,
                          struct wio_stg_bytes *b)
{
    struct walk w = walk(&p->grid, box);
    struct wio_stg_chunk c;
    uint64_t index;

    wio_stg_put_u32(b, VERSION);
    while (next(&w, &index, &c)) {
        wio_stg_put_u8(b, p->chunks[index].packed);
        wio_stg_put_u64(b, p->chunks[index].bytes);
        wio_stg_put_u64(b, p->chunks[index].sum);
    }
    w = walk(&p->grid, box);
    while (next(&w, &index, &c))
        wio_stg_put_raw(b, p->data + p->chunks[index].at, p->chunks[index].bytes);
    return !b->bad;
}

/* ---- readers -------------------------------------------------------------------------------- */

size_t wio_stg_packed_most(const struct wio_stg_grid *grid, const struct wio_stg_box *box)
{
    struct walk w = walk(grid, box);
    struct wio_stg_chunk c;
    uint64_t index;
    size_t n = HEAD;

    while (next(&w, &index, &c)) {
        if (c.bytes > SIZE_MAX / 4 - n)
            return 0;
        n += CHUNK_HEAD + c.bytes;
    }
    return n;
}

struct unpacking {
    const struct wio_stg_operator *op;
    const struct wio_stg_grid *grid;
    const struct wio_stg_box *box, *whole;
    char *to, *raw, *scratch;
    struct wio_stg_chunk chunk;
};

static int malformed(const struct wio_stg_chunk *c, const char *why)
{
    char where[300];

    wio_stg_box_text(&c->box, where, sizeof where);
    return wio_stg_fail(WAITIO_ERR_PROTOCOL, "the packed chunk %s is corrupted: %s", where, why);
}

/* Memory of one chunk, for all of a message: the first chunk of a block is the largest. */
static int room_for(struct unpacking *u)
{
    struct wio_stg_chunk c = {.type = u->grid->type, .box = u->grid->block};

    if (u->raw != NULL)
        return 0;
    for (int d = 0; d < c.box.n; d++)
        c.box.count[d] = u->grid->count[d];
    (void)wio_stg_box_volume(&c.box, &c.n);
    c.bytes = (size_t)c.n * u->grid->size;
    u->raw = wio_stg_new(c.bytes, 1);
    u->scratch = wio_stg_new(u->op->codec->scratch(u->op, &c), 1);
    return u->raw != NULL && u->scratch != NULL ? 0 : WAITIO_ERR_NOMEM;
}

/* Elements that were not packed are in the order of the writer's bytes. */
static void take_raw(const struct unpacking *u, const void *in, void *to)
{
    size_t unit = wio_stg_type_unit(u->grid->type);

    memcpy(to, in, u->chunk.bytes);
    if (u->chunk.swaps)
        wio_stg_swap(to, unit, u->chunk.bytes / unit);
}

static int take_chunk(struct unpacking *u, bool packed, const void *in, size_t n)
{
    const struct wio_stg_chunk *c = &u->chunk;
    struct wio_stg_box common;
    uint64_t at = 0;
    bool straight =
        wio_stg_box_within(&c->box, u->box) && wio_stg_box_solid(u->whole, &c->box, &at);
    char *to;
    int rc = room_for(u);

    if (rc != 0)
        return rc;
    to = straight ? u->to + at * u->grid->size : u->raw;
    if (!packed)
        take_raw(u, in, to);
    else if (!u->op->codec->unpack(u->op, c, in, n, u->scratch, to))
        return malformed(c, "its operator cannot undo it");
    if (!straight && wio_stg_box_meet(&c->box, u->box, &common))
        wio_stg_box_copy(u->grid->size, &c->box, to, u->whole, u->to, &common);
    return 0;
}

/* Without a chunk nothing would be written into the reader's array. */
static int check_some(const struct unpacking *u, uint64_t chunks, size_t n)
{
    uint64_t elements = 0;
    char where[300];

    (void)wio_stg_box_volume(u->box, &elements);
    if (elements == 0 || (chunks > 0 && n != HEAD))
        return 0;
    wio_stg_box_text(u->box, where, sizeof where);
    return wio_stg_fail(WAITIO_ERR_PROTOCOL, "no packed chunk has come of %s, which has elements",
                        where);
}

static int take_all(struct unpacking *u, const void *message, size_t n)
{
    struct wio_stg_scan heads = {message, n, false}, data = heads;
    uint32_t version = wio_stg_take_u32(&heads);
    struct walk w = walk(u->grid, u->box);
    bool swaps = u->chunk.swaps;
    uint64_t index, chunks = 0;
    int rc = 0;

    while (next(&w, &index, &u->chunk))
        chunks++;
    rc = check_some(u, chunks, n);
    (void)wio_stg_take_raw(&data, HEAD + (size_t)chunks * CHUNK_HEAD);
    if (rc == 0 && (data.bad || version != VERSION))
        return wio_stg_fail(WAITIO_ERR_PROTOCOL, "the message of its packed chunks is malformed");
    w = walk(u->grid, u->box);
    while (rc == 0 && next(&w, &index, &u->chunk)) {
        unsigned packed = wio_stg_take_u8(&heads);
        uint64_t bytes = wio_stg_take_u64(&heads), sum = wio_stg_take_u64(&heads);
        const unsigned char *in = wio_stg_take_raw(&data, (size_t)bytes);

        u->chunk.swaps = swaps;
        if (in == NULL || packed > 1 || (packed == 0 && bytes != u->chunk.bytes))
            return malformed(&u->chunk, "its length is wrong");
        if (wio_stg_packed_sum(in, (size_t)bytes) != sum)
            return malformed(&u->chunk, "its checksum is wrong");
        rc = take_chunk(u, packed == 1, in, (size_t)bytes);
    }
    return rc;
}

int wio_stg_unpack(const struct wio_stg_operator *op, const struct wio_stg_grid *grid,
                   const struct wio_stg_box *box, bool swaps, const void *message, size_t n,
                   const struct wio_stg_box *whole, void *to)
{
    struct unpacking u = {.op = op, .grid = grid, .box = box, .whole = whole, .to = to};
    int rc;

    u.chunk.swaps = swaps;
    rc = take_all(&u, message, n);
    free(u.raw);
    free(u.scratch);
    return rc;
}
