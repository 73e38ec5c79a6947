/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file test_wire.c
 * Frames: every field survives encoding, the bytes lie where the protocol says, and every malformed
 * header is refused with the right code and a text.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/base.h"
#include "wire/wire.h"

static struct wio_frame message_frame(void)
{
    return (struct wio_frame){.kind = WIO_FRAME_MESSAGE,
                              .flags = WIO_FRAME_CRC,
                              .payload = 0x00a1b2c3,
                              .seq = 0xd1d2d3d4,
                              .ack = 0xe1e2e3e4,
                              .crc = 0xf1f2f3f4};
}

static struct wio_msg message(uint8_t op)
{
    return (struct wio_msg){.op = op,
                            .credit = 0xa1a2a3a4,
                            .tag = 0x71727374,
                            .envelope = 0xb1b2b3b4,
                            .space = 0xc1c2c3c4c5c6c7c8,
                            .a = op == WIO_OP_LANE ? 1 : 0x4142434445464748,
                            .b = 0xd1d2d3d4};
}

static void frame_bytes_lie_where_the_protocol_says(void **state)
{
    static const uint8_t expected[WIO_LINK_BYTES] = {
        0x57, 0x49, 6,    1,    0,    1,    0,    0,    0xc3, 0xb2, 0xa1, 0x00,
        0xd4, 0xd3, 0xd2, 0xd1, 0xe4, 0xe3, 0xe2, 0xe1, 0xf4, 0xf3, 0xf2, 0xf1};
    struct wio_frame f = message_frame();
    uint8_t bytes[WIO_LINK_BYTES];
    (void)state;
    wio_frame_encode(&f, bytes);
    assert_memory_equal(bytes, expected, sizeof bytes);
    f = (struct wio_frame){.kind = WIO_FRAME_GOODBYE, .reason = WIO_BYE_ABORT};
    wio_frame_encode(&f, bytes);
    assert_int_equal(bytes[3], 3);
    assert_int_equal(bytes[6], 3);
    assert_int_equal(bytes[7], 0);
}

static void message_bytes_lie_where_the_protocol_says(void **state)
{
    static const uint8_t expected[WIO_MSG_BYTES] = {
        1,    0,    0,    0,    0xa4, 0xa3, 0xa2, 0xa1, 0x74, 0x73, 0x72, 0x71, 0xb4, 0xb3,
        0xb2, 0xb1, 0xc8, 0xc7, 0xc6, 0xc5, 0xc4, 0xc3, 0xc2, 0xc1, 0x48, 0x47, 0x46, 0x45,
        0x44, 0x43, 0x42, 0x41, 0xd4, 0xd3, 0xd2, 0xd1, 0,    0,    0,    0};
    struct wio_msg m = message(WIO_OP_EAGER);
    uint8_t bytes[WIO_MSG_BYTES];
    (void)state;
    memset(bytes, 0xff, sizeof bytes);
    wio_msg_encode(&m, bytes);
    assert_memory_equal(bytes, expected, sizeof bytes);
}

static void frames_survive(void **state)
{
    (void)state;
    for (uint8_t kind = WIO_FRAME_MESSAGE; kind <= WIO_FRAME_PONG; kind++) {
        struct wio_frame in = {.kind = kind, .ack = 77}, out;
        const char *why = NULL;
        uint8_t bytes[WIO_LINK_BYTES];
        if (kind == WIO_FRAME_MESSAGE)
            in = message_frame();
        if (kind == WIO_FRAME_GOODBYE)
            in.reason = WIO_BYE_NOMEM;
        wio_frame_encode(&in, bytes);
        assert_int_equal(wio_frame_decode(bytes, &out, &why), 0);
        assert_int_equal(out.kind, in.kind);
        assert_int_equal(out.lane, 0);
        assert_int_equal(out.flags, in.flags);
        assert_int_equal(out.reason, in.reason);
        assert_int_equal(out.payload, in.payload);
        assert_int_equal(out.seq, in.seq);
        assert_int_equal(out.ack, in.ack);
        assert_int_equal(out.crc, in.crc);
    }
}

static void frame_refused(const struct wio_frame *f, int at, uint8_t value, int code)
{
    uint8_t bytes[WIO_LINK_BYTES];
    struct wio_frame out;
    const char *why = NULL;
    wio_frame_encode(f, bytes);
    if (at >= 0)
        bytes[at] = value;
    assert_int_equal(wio_frame_decode(bytes, &out, &why), code);
    assert_non_null(why);
}

static void malformed_frames_are_refused(void **state)
{
    struct wio_frame f = message_frame(), ping = {.kind = WIO_FRAME_PING}, bad;
    (void)state;
    frame_refused(&f, 0, 'G', WAITIO_ERR_PROTOCOL);
    frame_refused(&f, 1, 'G', WAITIO_ERR_PROTOCOL);
    frame_refused(&f, 2, 0, WAITIO_ERR_VERSION);
    frame_refused(&f, 2, 1, WAITIO_ERR_VERSION);
    frame_refused(&f, 2, WIO_WIRE_VERSION + 1, WAITIO_ERR_VERSION);
    frame_refused(&f, 3, 0, WAITIO_ERR_PROTOCOL);
    frame_refused(&f, 3, 6, WAITIO_ERR_PROTOCOL);
    frame_refused(&f, 3, 255, WAITIO_ERR_PROTOCOL);
    frame_refused(&f, 4, 1, WAITIO_ERR_PROTOCOL);
    frame_refused(&f, 5, 2, WAITIO_ERR_PROTOCOL);
    frame_refused(&f, 5, 0, WAITIO_ERR_PROTOCOL); /* a checksum without its flag */
    frame_refused(&f, 6, 1, WAITIO_ERR_PROTOCOL); /* a reason outside a goodbye */
    frame_refused(&f, 11, 1, WAITIO_ERR_PROTOCOL);
    bad = f, bad.payload = WIO_PAYLOAD_MAX + 1;
    frame_refused(&bad, -1, 0, WAITIO_ERR_PROTOCOL);
    bad = (struct wio_frame){.kind = WIO_FRAME_GOODBYE, .reason = WIO_BYE_NOMEM + 1};
    frame_refused(&bad, -1, 0, WAITIO_ERR_PROTOCOL);
    bad.reason = 0x100;
    frame_refused(&bad, -1, 0, WAITIO_ERR_PROTOCOL);
    frame_refused(&ping, 8, 1, WAITIO_ERR_PROTOCOL);
    frame_refused(&ping, 12, 1, WAITIO_ERR_PROTOCOL);
    frame_refused(&ping, 5, 1, WAITIO_ERR_PROTOCOL);
    frame_refused(&ping, 20, 1, WAITIO_ERR_PROTOCOL);
}

static void the_longest_frame_is_accepted(void **state)
{
    struct wio_frame f = message_frame(), out;
    uint8_t bytes[WIO_LINK_BYTES];
    const char *why;
    (void)state;
    f.payload = WIO_PAYLOAD_MAX;
    wio_frame_encode(&f, bytes);
    assert_int_equal(wio_frame_decode(bytes, &out, &why), 0);
}

static uint32_t payload_of(uint8_t op)
{
    return op == WIO_OP_EAGER || op == WIO_OP_MORE || op == WIO_OP_DATA ? 100 : 0;
}

static void messages_survive(void **state)
{
    (void)state;
    for (uint8_t op = WIO_OP_EAGER; op <= WIO_OP_WITHDRAW; op++) {
        struct wio_msg in = message(op), out;
        uint8_t bytes[WIO_MSG_BYTES];
        const char *why = NULL;
        wio_msg_encode(&in, bytes);
        assert_int_equal(wio_msg_decode(bytes, payload_of(op), &out, &why), 0);
        assert_int_equal(out.op, in.op);
        assert_int_equal(out.flags, in.flags);
        assert_int_equal(out.credit, in.credit);
        assert_int_equal(out.tag, in.tag);
        assert_int_equal(out.envelope, in.envelope);
        assert_true(out.space == in.space);
        assert_true(out.a == in.a);
        assert_true(out.b == in.b);
    }
}

static int decode(const struct wio_msg *m, uint32_t payload)
{
    uint8_t bytes[WIO_MSG_BYTES];
    struct wio_msg out;
    const char *why = NULL;
    wio_msg_encode(m, bytes);
    int rc = wio_msg_decode(bytes, payload, &out, &why);
    assert_true(rc == 0 || why != NULL);
    return rc;
}

static void unknown_operations_and_reserved_bits_are_refused(void **state)
{
    struct wio_msg m = message(0), out;
    uint8_t bytes[WIO_MSG_BYTES];
    const char *why;
    (void)state;
    assert_int_equal(decode(&m, 0), WAITIO_ERR_PROTOCOL);
    for (unsigned op = WIO_OP_WITHDRAW + 1; op <= 255; op++) {
        m.op = (uint8_t)op;
        assert_int_equal(decode(&m, 0), WAITIO_ERR_PROTOCOL);
    }
    m = message(WIO_OP_CREDIT);
    for (int at = 1; at <= 3; at++) {
        wio_msg_encode(&m, bytes);
        bytes[at] = 1;
        assert_int_equal(wio_msg_decode(bytes, 0, &out, &why), WAITIO_ERR_PROTOCOL);
    }
    m = message(WIO_OP_RTS); /* has flags */
    m.flags = WIO_MSG_LENDS | WIO_MSG_TIMED;
    assert_int_equal(decode(&m, 0), 0);
    m.flags = 4;
    assert_int_equal(decode(&m, 0), WAITIO_ERR_PROTOCOL);
    m = message(WIO_OP_CTS);
    m.a = 1;
    m.flags = WIO_MSG_STRIPES;
    assert_int_equal(decode(&m, 0), 0);
    m.flags = WIO_MSG_TIMED;
    assert_int_equal(decode(&m, 0), WAITIO_ERR_PROTOCOL);
    m = message(WIO_OP_EAGER);
    m.flags = WIO_MSG_TIMED;
    assert_int_equal(decode(&m, 0), 0);
    m.flags = WIO_MSG_LENDS;
    assert_int_equal(decode(&m, 0), WAITIO_ERR_PROTOCOL);
}

static void envelopes_are_checked(void **state)
{
    static const uint8_t ops[] = {WIO_OP_EAGER, WIO_OP_RTS};
    (void)state;
    for (size_t i = 0; i < WIO_ARRAY_LEN(ops); i++) {
        struct wio_msg m = message(ops[i]);
        m.a = 0;
        assert_int_equal(decode(&m, 0), 0); /* an empty message is a message */
        m.tag = -1;
        assert_int_equal(decode(&m, 0), WAITIO_ERR_PROTOCOL);
        m.tag = INT32_MAX;
        assert_int_equal(decode(&m, 0), 0);
        m.envelope = 0;
        assert_int_equal(decode(&m, 0), WAITIO_ERR_PROTOCOL);
        m.envelope = UINT32_MAX;
        m.a = SSIZE_MAX;
        assert_int_equal(decode(&m, 0), 0);
        m.a++;
        assert_int_equal(decode(&m, 0), WAITIO_ERR_PROTOCOL);
    }
    struct wio_msg m = message(WIO_OP_EAGER);
    m.a = 100;
    assert_int_equal(decode(&m, 100), 0);
    assert_int_equal(decode(&m, 101), WAITIO_ERR_PROTOCOL);
}

/* a is no number of bytes there */
static bool free_of_bounds(uint8_t op)
{
    return op == WIO_OP_CREDIT || op == WIO_OP_LENT;
}

static void control_messages_carry_nothing(void **state)
{
    static const uint8_t ops[] = {WIO_OP_RTS,  WIO_OP_CTS,    WIO_OP_DONE, WIO_OP_CREDIT,
                                  WIO_OP_LENT, WIO_OP_REVOKE, WIO_OP_LANE, WIO_OP_WITHDRAW};
    (void)state;
    for (size_t i = 0; i < WIO_ARRAY_LEN(ops); i++) {
        struct wio_msg m = message(ops[i]);
        assert_int_equal(decode(&m, 0), 0);
        assert_int_equal(decode(&m, 1), WAITIO_ERR_PROTOCOL);
        m.a = UINT64_MAX;
        assert_int_equal(decode(&m, 0), free_of_bounds(ops[i]) ? 0 : WAITIO_ERR_PROTOCOL);
    }
    struct wio_msg m = message(WIO_OP_WITHDRAW);
    m.b = 0;
    assert_int_equal(decode(&m, 0), WAITIO_ERR_PROTOCOL);
    m = message(WIO_OP_LENT);
    m.a = 0;
    assert_int_equal(decode(&m, 0), WAITIO_ERR_PROTOCOL);
}

static void pieces_end_inside_the_largest_message(void **state)
{
    static const uint8_t ops[] = {WIO_OP_MORE, WIO_OP_DATA};
    (void)state;
    for (size_t i = 0; i < WIO_ARRAY_LEN(ops); i++) {
        struct wio_msg m = message(ops[i]);
        assert_int_equal(decode(&m, 0), WAITIO_ERR_PROTOCOL);
        m.a = (uint64_t)SSIZE_MAX - 10;
        assert_int_equal(decode(&m, 10), 0);
        assert_int_equal(decode(&m, 11), WAITIO_ERR_PROTOCOL);
        m.a = UINT64_MAX; /* a + payload would wrap */
        assert_int_equal(decode(&m, 10), WAITIO_ERR_PROTOCOL);
    }
    struct wio_msg m = message(WIO_OP_MORE);
    m.b = 0;
    assert_int_equal(decode(&m, 1), WAITIO_ERR_PROTOCOL);
    m.b = (uint64_t)UINT32_MAX + 1;
    assert_int_equal(decode(&m, 1), WAITIO_ERR_PROTOCOL);
}

static void names_are_never_null(void **state)
{
    (void)state;
    for (unsigned i = 0; i <= 255; i++) {
        assert_non_null(wio_msg_op_name((uint8_t)i));
        assert_non_null(wio_frame_kind_name((uint8_t)i));
        assert_non_null(wio_bye_reason_name((uint16_t)(i << 4)));
    }
    assert_string_equal(wio_msg_op_name(WIO_OP_RTS), "RTS");
    assert_string_equal(wio_msg_op_name(0), "unknown");
    assert_string_equal(wio_frame_kind_name(WIO_FRAME_GOODBYE), "GOODBYE");
    assert_string_equal(wio_bye_reason_name(WIO_BYE_CAP), "connection cap");
    assert_string_equal(wio_bye_reason_name(6), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frame_bytes_lie_where_the_protocol_says),
        cmocka_unit_test(message_bytes_lie_where_the_protocol_says),
        cmocka_unit_test(frames_survive),
        cmocka_unit_test(malformed_frames_are_refused),
        cmocka_unit_test(the_longest_frame_is_accepted),
        cmocka_unit_test(messages_survive),
        cmocka_unit_test(unknown_operations_and_reserved_bits_are_refused),
        cmocka_unit_test(envelopes_are_checked),
        cmocka_unit_test(control_messages_carry_nothing),
        cmocka_unit_test(pieces_end_inside_the_largest_message),
        cmocka_unit_test(names_are_never_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
