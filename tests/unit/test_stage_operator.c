/* SPDX-License-Identifier: BSD-3-Clause */
/* Staging's operators: what comes back of packed blocks, by boxes; and bytes that are corrupted. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stage/layout.h"
#include "stage/packed.h"
#include "waitio_errors.h"
#include "waitio_stage.h"

static unsigned seed = 4711;

static unsigned dice(unsigned sides)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % sides;
}

/* @return false: its library is not here */
static bool ready(struct wio_stg_operator *op, const char *text, int type)
{
    int rc;

    assert_int_equal(wio_stg_operator_read(op, text), 0);
    rc = wio_stg_operator_ready(op, type);
    assert_true(rc == 0 || rc == WAITIO_ERR_UNSUPPORTED);
    if (rc != 0)
        printf("not tested: %s: %s\n", text, wio_stg_why());
    return rc == 0;
}

static uint64_t volume(const struct wio_stg_box *b)
{
    uint64_t v = 0;

    assert_true(wio_stg_box_volume(b, &v));
    return v;
}

static struct wio_stg_box some_box(int n, unsigned most)
{
    struct wio_stg_box b = {.n = n};

    for (int d = 0; d < n; d++) {
        b.start[d] = dice(9);
        b.count[d] = 1 + dice(most);
    }
    return b;
}

static struct wio_stg_box part_of(const struct wio_stg_box *outer)
{
    struct wio_stg_box b = {.n = outer->n};

    for (int d = 0; d < b.n; d++) {
        unsigned first = dice((unsigned)outer->count[d]);

        b.start[d] = outer->start[d] + first;
        b.count[d] = 1 + dice((unsigned)outer->count[d] - first);
    }
    return b;
}

/* A smooth field, in elements of any type. */
static char *field(int type, uint64_t n)
{
    size_t size = wio_stg_type_size(type), unit = wio_stg_type_unit(type);
    char *data = calloc(n + 1, size);

    for (uint64_t i = 0; i < n * (size / unit); i++) {
        double x = sin(0.01 * (double)i) * 100;
        float f = (float)x;
        int64_t k = (int64_t)x;

        if (type == WAITIO_STAGE_DOUBLE || type == WAITIO_STAGE_DOUBLE_COMPLEX)
            memcpy(data + i * unit, &x, unit);
        else if (type == WAITIO_STAGE_FLOAT || type == WAITIO_STAGE_FLOAT_COMPLEX)
            memcpy(data + i * unit, &f, unit);
        else
            memcpy(data + i * unit, &k, unit);
    }
    return data;
}

/* The message of a box of a block. */
static struct wio_stg_bytes pack(const struct wio_stg_operator *op, int type,
                                 const struct wio_stg_box *block, const char *data,
                                 const struct wio_stg_box *box, bool own)
{
    struct wio_stg_bytes b = {NULL, 0, 0, false};
    size_t bytes = volume(block) * wio_stg_type_size(type);
    char *copy = own ? malloc(bytes) : NULL;
    struct wio_stg_packed *p;
    struct wio_stg_grid g = wio_stg_grid(op, type, block);

    if (own)
        memcpy(copy, data, bytes);
    p = wio_stg_pack_block(op, type, block, own ? copy : data, copy);
    assert_non_null(p);
    assert_true(p->bytes <= bytes);
    assert_true(wio_stg_packed_write(p, box, &b));
    assert_true(b.n <= wio_stg_packed_most(&g, box));
    wio_stg_packed_free(p);
    return b;
}

static int unpack(const struct wio_stg_operator *op, int type, const struct wio_stg_box *block,
                  const struct wio_stg_box *box, bool swaps, const struct wio_stg_bytes *b,
                  const struct wio_stg_box *whole, void *to)
{
    struct wio_stg_grid g = wio_stg_grid(op, type, block);

    return wio_stg_unpack(op, &g, box, swaps, b->at, b->n, whole, to);
}

/* Pack, unpack a box into a larger array, and compare with copying. */
static void there_and_back(const struct wio_stg_operator *op, int type,
                           const struct wio_stg_box *block, struct wio_stg_box box, bool own,
                           double error)
{
    size_t size = wio_stg_type_size(type);
    struct wio_stg_box whole = box;
    char *data = field(type, volume(block)), *got, *right;
    struct wio_stg_bytes b = pack(op, type, block, data, &box, own);

    for (int d = 0; d < whole.n; d++) {
        unsigned before = dice((unsigned)whole.start[d] + 1);

        whole.start[d] -= before;
        whole.count[d] += before + dice(3);
    }
    got = calloc(volume(&whole), size);
    right = calloc(volume(&whole), size);
    assert_int_equal(unpack(op, type, block, &box, false, &b, &whole, got), 0);
    wio_stg_box_copy(size, block, data, &whole, right, &box);
    if (error == 0)
        assert_memory_equal(got, right, volume(&whole) * size);
    for (uint64_t i = 0; error > 0 && i < volume(&whole); i++) {
        double x = type == WAITIO_STAGE_FLOAT ? (double)((float *)got)[i] : ((double *)got)[i];
        double y = type == WAITIO_STAGE_FLOAT ? (double)((float *)right)[i] : ((double *)right)[i];

        assert_true(fabs(x - y) <= error);
    }
    wio_stg_bytes_free(&b);
    free(data);
    free(got);
    free(right);
}

static void lossless_operators_lose_nothing(void **state)
{
    static const char *const texts[] = {"zstd", "zstd level=3 shuffle=0", "blosc2",
                                        "blosc2 level=9, shuffle=0"};

    (void)state;
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++)
        for (int type = WAITIO_STAGE_INT8; type <= WAITIO_STAGE_DOUBLE_COMPLEX; type++) {
            struct wio_stg_operator op;

            if (!ready(&op, texts[t], type))
                continue;
            for (int round = 0; round < 10; round++) {
                struct wio_stg_box block = some_box(1 + (int)dice(5), 7);

                there_and_back(&op, type, &block, part_of(&block), round % 2, 0);
            }
        }
}

static void zfp_keeps_its_promise(void **state)
{
    const struct wio_stg_box plane = {2, {3, 4}, {20, 30}};
    struct wio_stg_operator op;

    (void)state;
    for (int round = 0; round < 300; round++) {
        int type = dice(2) ? WAITIO_STAGE_FLOAT : WAITIO_STAGE_DOUBLE;
        double accuracy = pow(10, -(double)dice(18));
        struct wio_stg_box block = some_box(1 + (int)dice(6), 9);
        char text[60];

        (void)snprintf(text, sizeof text, "zfp accuracy=%g", accuracy);
        if (!ready(&op, text, type))
            return;
        there_and_back(&op, type, &block, part_of(&block), round % 2, accuracy);
    }
    assert_true(ready(&op, "zfp precision=64", WAITIO_STAGE_DOUBLE));
    there_and_back(&op, WAITIO_STAGE_DOUBLE, &plane, plane, true, 1e-9);
    assert_true(ready(&op, "zfp rate=24", WAITIO_STAGE_FLOAT));
    there_and_back(&op, WAITIO_STAGE_FLOAT, &plane, plane, false, 1e-2);
}

/* Several chunks, along the first dimension and across: a box needs only some of them. */
static void large_blocks_are_cut(void **state)
{
    static const struct {
        const char *text;
        uint64_t count[3];
        bool across; /* a chunk is no one piece of memory */
    } rows[] = {{"zstd", {40, 200, 300}, false},
                {"zstd", {3, 1000, 1100}, false},
                {"zfp accuracy=1e-3", {40, 200, 300}, false},
                {"zfp accuracy=1e-3", {8, 700, 400}, true},
                {"zfp accuracy=1e-11", {4, 700, 800}, true}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const uint64_t start[] = {5, 6, 7};
        struct wio_stg_box block = wio_stg_box(3, start, rows[i].count), row = block;
        struct wio_stg_operator op;
        struct wio_stg_grid g;

        if (!ready(&op, rows[i].text, WAITIO_STAGE_DOUBLE))
            continue;
        g = wio_stg_grid(&op, WAITIO_STAGE_DOUBLE, &block);
        row.count[0] = row.count[1] = 1;
        assert_true(g.n > 1);
        assert_true((wio_stg_pack_extra(&op, WAITIO_STAGE_DOUBLE, &block) > 0) == rows[i].across);
        assert_true(wio_stg_packed_most(&g, &row) < 5 << 20);
        there_and_back(&op, WAITIO_STAGE_DOUBLE, &block, block, true, op.value);
        there_and_back(&op, WAITIO_STAGE_DOUBLE, &block, part_of(&block), false, op.value);
    }
}

/* One, two or three rows of what fills a chunk already: a codec that wants four gets those that
 * there are, and none is dropped. */
static void few_rows_are_packed(void **state)
{
    static const char *const texts[] = {"zstd", "blosc2", "zfp accuracy=1e-3"};
    static const struct wio_stg_box rows[] = {{3, {0}, {1, 512, 512}},  {3, {0}, {1, 361, 720}},
                                              {3, {0}, {3, 300, 300}},  {2, {0}, {1, 131073}},
                                              {3, {0}, {2, 1000, 600}}, {2, {0}, {3, 200000}},
                                              {2, {0}, {200000, 3}},    {4, {0}, {5, 3, 300, 400}}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
            int type = i % 4 == 0 ? WAITIO_STAGE_FLOAT : WAITIO_STAGE_DOUBLE;
            struct wio_stg_operator op;

            if (ready(&op, texts[t], type))
                there_and_back(&op, type, &rows[i], rows[i], i % 2 == 0, op.value);
        }
}

/* The same of shapes by chance. No library is needed for it. */
static void every_block_is_cut(void **state)
{
    static const char *const texts[] = {"zstd", "blosc2", "zfp accuracy=1e-3"};

    (void)state;
    for (int round = 0; round < 30000; round++) {
        static const unsigned most[] = {4, 9, 700, 60000};
        int type = WAITIO_STAGE_INT8 + (int)dice(WAITIO_STAGE_DOUBLE_COMPLEX);
        struct wio_stg_box block = {.n = 1 + (int)dice(WIO_STG_DIMS)};
        struct wio_stg_operator op;
        struct wio_stg_grid g;
        uint64_t bytes;

        for (int d = 0; d < block.n; d++)
            block.count[d] = 1 + dice(most[dice(4)]);
        assert_int_equal(wio_stg_operator_read(&op, texts[round % 3]), 0);
        g = wio_stg_grid(&op, type, &block);
        bytes = g.size;
        for (int d = 0; d < block.n; d++) {
            assert_true(g.count[d] > 0 && g.count[d] <= block.count[d]);
            assert_true(g.count[d] * g.chunks[d] >= block.count[d]);
            bytes *= g.count[d];
        }
        assert_true(bytes <= 4 << 20);
    }
}

static void fields_become_smaller(void **state)
{
    static const char *const texts[] = {"zstd", "blosc2", "zfp accuracy=1e-3"};
    const struct wio_stg_box block = {2, {0, 0}, {300, 200}};
    char *data = field(WAITIO_STAGE_DOUBLE, 60000);

    (void)state;
    for (size_t t = 0; t < 3; t++) {
        struct wio_stg_operator op;
        struct wio_stg_bytes b;

        if (!ready(&op, texts[t], WAITIO_STAGE_DOUBLE))
            continue;
        b = pack(&op, WAITIO_STAGE_DOUBLE, &block, data, &block, true);
        printf("%s: %zu bytes of 480000\n", texts[t], b.n);
        assert_true(b.n < (t < 2 ? 450000 : 180000));
        wio_stg_bytes_free(&b);
    }
    free(data);
}

/* What is not finite, or finer than the type, comes back as it was. */
static void zfp_leaves_alone_what_it_would_spoil(void **state)
{
    const struct wio_stg_box block = {1, {0}, {64}};
    const double odd[] = {NAN, INFINITY, -INFINITY, 1e300};
    struct wio_stg_operator op;
    double *data = (double *)field(WAITIO_STAGE_DOUBLE, 64), got[64];

    (void)state;
    for (size_t i = 0; i < 4 && ready(&op, "zfp accuracy=1e-6", WAITIO_STAGE_DOUBLE); i++) {
        struct wio_stg_bytes b;

        data[17] = odd[i];
        b = pack(&op, WAITIO_STAGE_DOUBLE, &block, (char *)data, &block, true);
        assert_int_equal(unpack(&op, WAITIO_STAGE_DOUBLE, &block, &block, false, &b, &block, got),
                         0);
        assert_memory_equal(data, got, sizeof got);
        wio_stg_bytes_free(&b);
    }
    free(data);
}

/* Each changed byte, and each length. */
static void corrupted_bytes_are_named(void **state)
{
    static const char *const texts[] = {"zstd", "blosc2", "zfp accuracy=1e-3", "zfp rate=64"};
    const struct wio_stg_box block = {2, {2, 3}, {12, 10}};
    char *data = field(WAITIO_STAGE_DOUBLE, 120);
    double got[120];

    (void)state;
    for (size_t t = 0; t < 4; t++) {
        struct wio_stg_operator op;
        struct wio_stg_bytes b;
        size_t n;

        if (!ready(&op, texts[t], WAITIO_STAGE_DOUBLE))
            continue;
        b = pack(&op, WAITIO_STAGE_DOUBLE, &block, data, &block, true);
        for (size_t i = 0; i < b.n; i++) {
            b.at[i] ^= 1 + (unsigned char)dice(255);
            if (unpack(&op, WAITIO_STAGE_DOUBLE, &block, &block, false, &b, &block, got) !=
                WAITIO_ERR_PROTOCOL)
                fail_msg("%s: byte %zu", texts[t], i);
            free(b.at);
            b = pack(&op, WAITIO_STAGE_DOUBLE, &block, data, &block, true);
        }
        for (n = b.n, b.n = 0; b.n < n; b.n++)
            assert_int_equal(
                unpack(&op, WAITIO_STAGE_DOUBLE, &block, &block, false, &b, &block, got),
                WAITIO_ERR_PROTOCOL);
        assert_int_equal(unpack(&op, WAITIO_STAGE_DOUBLE, &block, &block, false, &b, &block, got),
                         0);
        wio_stg_bytes_free(&b);
    }
    free(data);
}

/* What is wrong although its sum is right: the library says so, and reads nothing beyond. */
static void nonsense_with_a_right_sum_does_no_harm(void **state)
{
    static const char *const texts[] = {"zstd", "blosc2", "zfp accuracy=1e-3", "zfp precision=40"};
    const struct wio_stg_box block = {2, {2, 3}, {12, 10}};
    double got[120];

    (void)state;
    for (int round = 0; round < 400; round++) {
        const char *text = texts[round % 4];
        struct wio_stg_operator op;
        struct wio_stg_bytes b = {NULL, 0, 0, false};
        unsigned char noise[400];
        size_t n = 8 * (1 + dice(50));

        if (!ready(&op, text, WAITIO_STAGE_DOUBLE))
            continue;
        for (size_t i = 0; i < n; i++)
            noise[i] = (unsigned char)dice(256);
        wio_stg_put_u32(&b, 1);
        wio_stg_put_u8(&b, 1);
        wio_stg_put_u64(&b, n);
        wio_stg_put_u64(&b, wio_stg_packed_sum(noise, n));
        wio_stg_put_raw(&b, noise, n);
        (void)unpack(&op, WAITIO_STAGE_DOUBLE, &block, &block, false, &b, &block, got);
        if (op.mode == 0)
            assert_int_equal(
                unpack(&op, WAITIO_STAGE_DOUBLE, &block, &block, true, &b, &block, got),
                WAITIO_ERR_PROTOCOL);
        wio_stg_bytes_free(&b);
    }
}

/* Fewer elements than the chunk has. */
static void a_chunk_that_is_too_short_is_seen(void **state)
{
    static const char *const texts[] = {"zstd", "zstd shuffle=0", "blosc2"};
    const struct wio_stg_box block = {2, {2, 3}, {12, 10}}, half = {2, {2, 3}, {6, 10}};
    double data[120] = {0}, got[120]; /* zeros can be packed for certain */

    (void)state;
    for (size_t t = 0; t < 3; t++) {
        struct wio_stg_operator op;
        struct wio_stg_bytes b;

        if (!ready(&op, texts[t], WAITIO_STAGE_DOUBLE))
            continue;
        b = pack(&op, WAITIO_STAGE_DOUBLE, &half, (char *)data, &half, false);
        assert_int_equal(b.at[4], 1); /* it was packed */
        assert_int_equal(unpack(&op, WAITIO_STAGE_DOUBLE, &block, &block, false, &b, &block, got),
                         WAITIO_ERR_PROTOCOL);
        wio_stg_bytes_free(&b);
    }
}

/* Nothing would be written into the reader's array, and nobody would notice. */
static void a_message_without_chunks_is_refused(void **state)
{
    const struct wio_stg_box block = {2, {2, 3}, {12, 10}}, empty = {2, {2, 3}, {0, 10}};
    struct wio_stg_bytes b = {NULL, 0, 0, false};
    struct wio_stg_operator op;
    double got[120];

    (void)state;
    wio_stg_put_u32(&b, 1);
    assert_int_equal(wio_stg_operator_read(&op, "zstd"), 0);
    for (int none = 0; none < 2; none++) {
        struct wio_stg_grid g = wio_stg_grid(&op, WAITIO_STAGE_DOUBLE, &block);

        if (none)
            g.n = 0;
        assert_int_equal(wio_stg_unpack(&op, &g, &block, false, b.at, b.n, &block, got),
                         WAITIO_ERR_PROTOCOL);
        assert_string_equal(wio_stg_why(),
                            "no packed chunk has come of [2:14, 3:13], which has elements");
        assert_int_equal(wio_stg_unpack(&op, &g, &empty, false, b.at, b.n, &block, got), 0);
    }
    wio_stg_bytes_free(&b);
}

/* As a machine of the other byte order would send it. */
static struct wio_stg_bytes foreign(const struct wio_stg_operator *op, const double *data,
                                    const struct wio_stg_box *block)
{
    struct wio_stg_bytes b = {NULL, 0, 0, false};
    size_t n = volume(block);
    double *turned = malloc(n * sizeof *turned);
    struct wio_stg_packed *p;

    memcpy(turned, data, n * sizeof *turned);
    if (op->mode == 0) /* its library sees bytes; zfp sees numbers, and the same come out of it */
        wio_stg_swap(turned, 8, n);
    p = wio_stg_pack_block(op, WAITIO_STAGE_DOUBLE, block, turned, NULL);
    assert_true(op->mode == 0 || p->chunks[0].packed);
    assert_true(wio_stg_packed_write(p, block, &b));
    wio_stg_packed_free(p);
    free(turned);
    return b;
}

static void other_byte_orders_are_turned_round(void **state)
{
    static const char *const texts[] = {"zstd", "zstd shuffle=0", "blosc2", "zfp accuracy=1e-3"};
    const struct wio_stg_box block = {2, {2, 3}, {12, 10}};
    double *data = (double *)field(WAITIO_STAGE_DOUBLE, 120), got[120];

    (void)state;
    for (size_t t = 0; t < 4; t++) {
        struct wio_stg_operator op;
        struct wio_stg_bytes b;

        if (!ready(&op, texts[t], WAITIO_STAGE_DOUBLE))
            continue;
        b = foreign(&op, data, &block);
        assert_int_equal(unpack(&op, WAITIO_STAGE_DOUBLE, &block, &block, true, &b, &block, got),
                         0);
        for (int i = 0; i < 120; i++)
            assert_true(fabs(data[i] - got[i]) <= (op.mode ? 1e-3 : 0));
        wio_stg_bytes_free(&b);
    }
    free(data);
}

static void wrong_texts_are_named(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *why;
    } rows[] = {{"gzip", WAITIO_ERR_UNSUPPORTED, "this release has none, zstd, blosc2, zfp"},
                {"zfp", WAITIO_ERR_ARG, "zfp needs accuracy"},
                {"zfp accuracy", WAITIO_ERR_ARG, "not KEY=VALUE"},
                {"zfp accuracy=0", WAITIO_ERR_ARG, "an absolute error above 0"},
                {"zfp accuracy=nan", WAITIO_ERR_ARG, "accuracy=nan"},
                {"zfp accuracy=1 rate=2", WAITIO_ERR_ARG, "one of accuracy"},
                {"zfp precision=2.5", WAITIO_ERR_ARG, "1 to 64 bits"},
                {"zfp level=2", WAITIO_ERR_ARG, "no parameter 'level'"},
                {"zstd level=20", WAITIO_ERR_ARG, "possible is 1 to 19, the default is 1"},
                {"zstd accuracy=1", WAITIO_ERR_ARG, "it has level and shuffle"},
                {"blosc2 level=0", WAITIO_ERR_ARG, "the default is 5"}};
    struct wio_stg_operator op;
    char text[WIO_STG_OPERATOR];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(wio_stg_operator_read(&op, rows[i].text), rows[i].code);
        if (strstr(wio_stg_why(), rows[i].why) == NULL)
            fail_msg("%s: %s", rows[i].text, wio_stg_why());
    }
    assert_true(wio_stg_operator_read(&op, "none") == 0 && op.codec == NULL);
    assert_int_equal(wio_stg_operator_text(text, "zfp", "accuracy=1\n"), WAITIO_ERR_ARG);
    assert_int_equal(wio_stg_operator_read(&op, "zfp rate=8"), 0);
    assert_int_equal(wio_stg_operator_ready(&op, WAITIO_STAGE_INT32), WAITIO_ERR_ARG);
    assert_non_null(strstr(wio_stg_why(), "for float and double, not int32"));
}

/* ---- derived -------------------------------------------------------------------------------- */

static void extremes_know_what_is_no_number(void **state)
{
    const double x[] = {3, -1, NAN, 7}, y[] = {2, 5};
    const int32_t k[] = {3, -1, 4};
    double v = 99;
    int32_t i = 0;

    (void)state;
    wio_stg_extreme(WAITIO_STAGE_DOUBLE, false, x, 2, true, &v);
    assert_true(v == -1);
    wio_stg_extreme(WAITIO_STAGE_DOUBLE, true, y, 2, false, &v);
    assert_true(v == 5);
    wio_stg_extreme(WAITIO_STAGE_DOUBLE, true, x, 4, false, &v);
    wio_stg_extreme(WAITIO_STAGE_DOUBLE, true, y, 2, false, &v);
    assert_true(isnan(v));
    wio_stg_extreme(WAITIO_STAGE_INT32, true, k, 3, true, &i);
    assert_int_equal(i, 4);
    wio_stg_extreme(WAITIO_STAGE_INT32, false, k, 0, true, &i);
    assert_int_equal(i, 4);
}

/* The values of writers in any order. */
static void values_of_writers_are_joined(void **state)
{
    struct wio_stg_values all = {NULL, 0, 0};
    const double of[] = {4, -2, 9};

    (void)state;
    for (uint32_t w = 3; w-- > 0;) {
        for (int rule = WIO_STG_MIN; rule <= WIO_STG_MAX; rule++) {
            struct wio_stg_bytes b = {NULL, 0, 0, false};
            struct wio_stg_value v = {.name =
                                          rule == WIO_STG_MIN ? (char *)"least" : (char *)"most",
                                      .type = WAITIO_STAGE_DOUBLE,
                                      .rule = rule,
                                      .writer = w,
                                      .count = 1,
                                      .bytes = 8};

            v.data = (unsigned char *)(uintptr_t)&of[w];
            wio_stg_write_value(&b, &v);
            assert_int_equal(wio_stg_values_add(&all, b.at, b.n), 0);
            wio_stg_bytes_free(&b);
        }
    }
    assert_true(*(const double *)wio_stg_values_find(&all, "least")->data == -2);
    assert_true(*(const double *)wio_stg_values_find(&all, "most")->data == 9);
    wio_stg_values_free(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lossless_operators_lose_nothing),
        cmocka_unit_test(zfp_keeps_its_promise),
        cmocka_unit_test(large_blocks_are_cut),
        cmocka_unit_test(few_rows_are_packed),
        cmocka_unit_test(every_block_is_cut),
        cmocka_unit_test(fields_become_smaller),
        cmocka_unit_test(zfp_leaves_alone_what_it_would_spoil),
        cmocka_unit_test(corrupted_bytes_are_named),
        cmocka_unit_test(nonsense_with_a_right_sum_does_no_harm),
        cmocka_unit_test(a_chunk_that_is_too_short_is_seen),
        cmocka_unit_test(a_message_without_chunks_is_refused),
        cmocka_unit_test(other_byte_orders_are_turned_round),
        cmocka_unit_test(wrong_texts_are_named),
        cmocka_unit_test(extremes_know_what_is_no_number),
        cmocka_unit_test(values_of_writers_are_joined),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
