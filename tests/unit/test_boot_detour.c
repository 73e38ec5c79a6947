/* SPDX-License-Identifier: BSD-3-Clause */
/** @file test_boot_detour.c  WAITIO_RELAY, and the messages between a relay and its clients. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "boot/detour.h"
#include "os/os.h"

static int relays(const char *text, struct wio_relays *out)
{
    struct wio_config cfg;
    struct wio_secret secret = {.len = 16};
    wio_config_defaults(&cfg);
    wio_text(cfg.relay, sizeof cfg.relay, "%s", text);
    return wio_relays_read(&cfg, &secret, out);
}

static void names_of_relays(void **state)
{
    (void)state;
    struct wio_relays r;
    assert_int_equal(relays("", &r), 0);
    assert_int_equal(r.n, 0);
    assert_int_equal(relays("127.0.0.1:7200, [::1]:65535,,127.0.0.2:1", &r), 0);
    assert_int_equal(r.n, 3);
    assert_string_equal(r.at[1].name, "[::1]:65535");
    assert_int_equal(r.at[1].addr.ss_family, AF_INET6);
    assert_int_equal(r.at[2].addr.ss_family, AF_INET);
}

static void names_that_are_none(void **state)
{
    (void)state;
    static const char *const bad[] = {"127.0.0.1",      "127.0.0.1:",   ":7200",
                                      "127.0.0.1:0",    "::1:7200",     "127.0.0.1:65536",
                                      "127.0.0.1:72x0", "127.0.0.1:-1", "[]:7200"};
    struct wio_relays r;
    for (size_t i = 0; i < WIO_ARRAY_LEN(bad); i++) {
        assert_int_equal(relays(bad[i], &r), WAITIO_ERR_CONFIG);
        assert_true(strstr(wio_last_detail(), "WAITIO_RELAY") != NULL);
    }
    char many[512] = "";
    for (size_t i = 0, n = 0; i <= WIO_RELAYS_MAX; i++)
        n += wio_text(many + n, sizeof many - n, "127.0.0.1:%zu,", i + 1);
    assert_int_equal(relays(many, &r), WAITIO_ERR_CONFIG);
}

static void without_a_secret_on_loopback_only(void **state)
{
    (void)state;
    struct wio_relays r;
    struct wio_config cfg;
    struct wio_secret none = {.len = 0};
    wio_config_defaults(&cfg);
    wio_text(cfg.relay, sizeof cfg.relay, "127.0.0.1:7200");
    assert_int_equal(wio_relays_read(&cfg, &none, &r), 0);
    wio_text(cfg.relay, sizeof cfg.relay, "10.0.0.1:7200");
    assert_int_equal(wio_relays_read(&cfg, &none, &r), WAITIO_ERR_CONFIG);
    cfg.secret_none_remote = true;
    assert_int_equal(wio_relays_read(&cfg, &none, &r), 0);
}

static void places(void **state)
{
    (void)state;
    struct wio_place a = wio_place_of_job("x", 7100), b = wio_place_of_job("x", 7101),
                     c = wio_place_of_job("y", 7100), same = wio_place_of_job("x", 7100);
    assert_true(wio_place_equal(&a, &same));
    assert_true(!wio_place_equal(&a, &b));
    assert_true(!wio_place_equal(&a, &c));
}

static size_t sample(uint8_t *out, struct wio_detour_msg *m)
{
    *m = (struct wio_detour_msg){.type = WIO_DETOUR_REFUSED,
                                 .place = {.id = "0123456789abcde", .rank = 70000},
                                 .number = UINT64_C(0x1122334455667788),
                                 .code = WAITIO_ERR_PEER,
                                 .text = "has left or died"};
    return wio_detour_put(out, m);
}

/* Byte by byte, and not one byte of what follows is read. */
static void a_message_in_pieces(void **state)
{
    (void)state;
    int fd[2];
    uint8_t out[WIO_DETOUR_MAX + 1];
    struct wio_detour_msg sent, m;
    struct wio_detour_in in = {.have = 0};
    assert_int_equal(wio_os_socketpair(fd), 0);
    size_t n = sample(out, &sent);
    out[n] = 'x';
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(wio_detour_read(&in, fd[1], &m), 0);
        assert_int_equal(wio_os_send(fd[0], out + i, i + 1 < n ? 1 : 2), i + 1 < n ? 1 : 2);
    }
    assert_int_equal(wio_detour_read(&in, fd[1], &m), 1);
    assert_int_equal(m.type, sent.type);
    assert_true(wio_place_equal(&m.place, &sent.place));
    assert_true(m.number == sent.number);
    assert_int_equal(m.code, sent.code);
    assert_string_equal(m.text, sent.text);
    assert_int_equal(wio_os_recv(fd[1], out, sizeof out), 1);
    assert_int_equal(out[0], 'x');
    wio_os_close(fd[0]);
    assert_int_equal(wio_detour_read(&in, fd[1], &m), -EPIPE);
    wio_os_close(fd[1]);
}

/* Whatever a byte becomes: a message, an error, or more bytes are awaited; never more than fit. */
static void changed_bytes(void **state)
{
    (void)state;
    uint8_t good[WIO_DETOUR_MAX], out[WIO_DETOUR_MAX];
    struct wio_detour_msg sent, m;
    size_t n = sample(good, &sent);
    for (size_t at = 0; at < n; at++)
        for (int value = 0; value < 256; value++) {
            int fd[2];
            struct wio_detour_in in = {.have = 0};
            assert_int_equal(wio_os_socketpair(fd), 0);
            memcpy(out, good, n);
            out[at] = (uint8_t)value;
            assert_int_equal(wio_os_send(fd[0], out, n), (int)n);
            int rc = wio_detour_read(&in, fd[1], &m);
            assert_true(rc == 0 || rc == 1 || rc == -EPROTO);
            if (at < 4 && out[at] != good[at])
                assert_int_equal(rc, -EPROTO);
            if (rc == 1)
                assert_true(strlen(m.text) <= WIO_DETOUR_TEXT);
            wio_os_close(fd[0]);
            wio_os_close(fd[1]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_relays),
        cmocka_unit_test(names_that_are_none),
        cmocka_unit_test(without_a_secret_on_loopback_only),
        cmocka_unit_test(places),
        cmocka_unit_test(a_message_in_pieces),
        cmocka_unit_test(changed_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
