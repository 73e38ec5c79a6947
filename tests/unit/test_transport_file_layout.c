/* SPDX-License-Identifier: BSD-3-Clause */
/** @file test_transport_file_layout.c  Streams, cells, records and signs of life: what is encoded
 * is decoded, and no byte of it may change. Names of files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "transport/file/file.h"

static const uint8_t msg[WIO_MSG_BYTES] = {1, 2, 3, 4, 5};

static void test_record(void **state)
{
    (void)state;
    uint8_t buf[FILE_REC_BYTES];
    struct file_rec in = {.pos = 1ULL << 40,
                          .kind = FILE_K_MESSAGE,
                          .flags = FILE_REC_CRC,
                          .reason = 7,
                          .part = 1000,
                          .total = 70000,
                          .crc = 0x12345678},
                    out;
    wio_file_rec_encode(&in, msg, buf);
    assert_true(wio_file_rec_decode(buf, in.pos, &out));
    assert_int_equal(out.kind, in.kind);
    assert_int_equal(out.flags, in.flags);
    assert_int_equal(out.reason, in.reason);
    assert_int_equal(out.part, in.part);
    assert_int_equal(out.total, in.total);
    assert_int_equal(out.crc, in.crc);
    assert_memory_equal(buf + FILE_REC_MSG, msg, sizeof msg);
    /* A lap later or earlier it is not the next record. */
    assert_false(wio_file_rec_decode(buf, in.pos + FILE_RING_MIN, &out));
    for (size_t i = 0; i < sizeof buf; i++) {
        buf[i] ^= 0x10;
        assert_false(wio_file_rec_decode(buf, in.pos, &out));
        buf[i] ^= 0x10;
    }
    memset(buf, 0, sizeof buf);
    assert_false(wio_file_rec_decode(buf, 0, &out)); /* what was never written */
}

/* A record of which only the first bytes can be seen yet. */
static void test_half_a_record(void **state)
{
    (void)state;
    uint8_t whole[FILE_REC_BYTES], seen[FILE_REC_BYTES];
    struct file_rec r = {.pos = 0, .kind = FILE_K_PING};
    wio_file_rec_encode(&r, NULL, whole);
    size_t last = FILE_REC_BYTES;
    while (whole[last - 1] == 0)
        last--; /* zeros behind are as if written */
    for (size_t n = 0; n < last; n++) {
        memset(seen, 0, sizeof seen);
        memcpy(seen, whole, n);
        if (memcmp(seen, whole, sizeof seen) != 0)
            assert_false(wio_file_rec_decode(seen, 0, &r));
    }
    assert_true(wio_file_rec_decode(whole, 0, &r));
}

static void test_span(void **state)
{
    (void)state;
    assert_int_equal(file_rec_span(0), 80);
    assert_int_equal(file_rec_span(1), 96);
    assert_int_equal(file_rec_span(16), 96);
    assert_true(file_rec_span(UINT32_MAX) > UINT32_MAX); /* does not wrap */
}

static void test_stream(void **state)
{
    (void)state;
    uint8_t buf[FILE_STREAM_BYTES];
    struct file_stream in = {.ring = FILE_RING_MIN, .nonce = 1, .token = 2, .rank = 3}, out;
    wio_file_stream_encode(&in, buf);
    assert_true(wio_file_stream_decode(buf, &out));
    assert_int_equal(out.ring, in.ring);
    assert_int_equal(out.nonce, 1);
    assert_int_equal(out.token, 2);
    assert_int_equal(out.rank, 3);
    for (size_t i = 0; i < sizeof buf; i++) {
        buf[i] ^= 1;
        assert_false(wio_file_stream_decode(buf, &out));
        buf[i] ^= 1;
    }
    static const uint64_t rings[] = {0, 4096, FILE_RING_MIN + 1, FILE_RING_MAX + 4096ULL,
                                     UINT64_MAX};
    for (size_t i = 0; i < WIO_ARRAY_LEN(rings); i++) {
        in.ring = rings[i];
        wio_file_stream_encode(&in, buf);
        assert_false(wio_file_stream_decode(buf, &out));
    }
}

static void test_cell_and_sign_of_life(void **state)
{
    (void)state;
    uint8_t buf[FILE_ALIVE_BYTES] = {0};
    struct file_cell c = {.consumed = 5ULL << 33, .written = 6}, d;
    assert_false(wio_file_cell_decode(buf, &d)); /* zeros */
    wio_file_cell_encode(&c, buf);
    assert_true(wio_file_cell_decode(buf, &d));
    assert_int_equal(d.consumed, c.consumed);
    assert_int_equal(d.written, 6);
    buf[1] ^= 1;
    assert_false(wio_file_cell_decode(buf, &d));
    struct file_alive a = {.token = 77, .beat = 9, .host = 5, .locked = true}, b;
    wio_file_alive_encode(&a, buf);
    assert_true(wio_file_alive_decode(buf, &b));
    assert_true(b.locked && b.token == 77 && b.beat == 9 && b.host == 5);
    for (int i = 24; i < 40; i++) {
        buf[i] ^= 1;
        assert_false(wio_file_alive_decode(buf, &b));
        buf[i] ^= 1;
    }
}

static void test_names(void **state)
{
    (void)state;
    char name[FILE_NAME_BYTES];
    struct file_name n;
    wio_file_name_stream(name, sizeof name, 7, 0xabcdef0123456789, 42);
    assert_string_equal(name, "s00000007-abcdef0123456789-000000000000002a");
    assert_int_equal(wio_file_name_parse(name, &n), FILE_N_STREAM);
    assert_true(n.rank == 7 && n.token == 0xabcdef0123456789 && n.nonce == 42);
    wio_file_name_leave(name, sizeof name, 7, 1, 2);
    assert_int_equal(wio_file_name_parse(name, &n), FILE_N_LEAVE);
    wio_file_name_knock(name, sizeof name, UINT32_MAX, 3, 4);
    assert_int_equal(wio_file_name_parse(name, &n), FILE_N_KNOCK);
    assert_true(n.rank == UINT32_MAX && n.token == 3 && n.nonce == 4);
    static const char *const others[] = {
        "",
        "s",
        "k",
        "alive",
        ".s00000007-abcdef0123456789-000000000000002a",
        "s00000007-abcdef0123456789",
        "s00000007-abcdef0123456789-",
        "s00000007-abcdef0123456789-000000000000002a0",
        "s00000007-abcdef0123456789-000000000000002A",
        "s00000007_abcdef0123456789-000000000000002a",
        "k00000007-abcdef0123456789",
        "k00000007-abcdef0123456789-2a",
        "k0000000g-abcdef0123456789",
    };
    for (size_t i = 0; i < WIO_ARRAY_LEN(others); i++)
        assert_int_equal(wio_file_name_parse(others[i], &n), FILE_N_OTHER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record),
        cmocka_unit_test(test_half_a_record),
        cmocka_unit_test(test_span),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_cell_and_sign_of_life),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests_name("file layout", tests, NULL, NULL);
}
