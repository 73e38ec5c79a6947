/* SPDX-License-Identifier: BSD-3-Clause */
/* Which addresses are published. Uses the devices this machine has; the loopback device is always
 * there. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "boot/addresses.h"

static struct wio_tab_host host;

static int publish(const char *netdev, const char *advertise, const char *master)
{
    struct wio_config cfg;
    wio_config_defaults(&cfg);
    snprintf(cfg.netdev, sizeof cfg.netdev, "%s", netdev);
    snprintf(cfg.advertise, sizeof cfg.advertise, "%s", advertise);
    snprintf(cfg.master_host, sizeof cfg.master_host, "%s", master);
    return wio_boot_addresses(&cfg, NULL, &host);
}

static const char *text(uint32_t i)
{
    static char buf[80];
    wio_addr_text(&host.addr[i], buf, sizeof buf);
    return buf;
}

static void all_addresses(void **state)
{
    (void)state;
    assert_int_equal(publish("", "", "127.0.0.1"), 0);
    assert_true(host.naddr >= 1 && host.identity != 0);
    bool loopback = false;
    for (uint32_t i = 0; i < host.naddr; i++) {
        if (strcmp(text(i), "127.0.0.1") == 0) {
            loopback = true;
            assert_int_equal(host.addr[i].loopback, 1);
        }
        if (i > 0 && host.addr[i].loopback == 0 &&
            host.addr[i].family == 4) /* those that others can use come first */
            assert_int_equal(host.addr[i - 1].loopback, 0);
    }
    assert_true(loopback);
}

static void lists_that_name_nothing(void **state)
{
    (void)state;
    static const char *const empty[] = {",,,", ", ,", ","};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(publish(empty[i], "", ""), WAITIO_ERR_CONFIG);
        assert_non_null(strstr(wio_last_error(), "WAITIO_NETDEV"));
        assert_non_null(strstr(wio_last_error(), empty[i]));
        assert_non_null(strstr(wio_last_error(), "this host has: "));
        assert_int_equal(publish("", empty[i], ""), WAITIO_ERR_CONFIG);
        assert_non_null(strstr(wio_last_error(), "WAITIO_ADVERTISE"));
    }
}

static void chosen_devices(void **state)
{
    (void)state;
    static const char *const loopback[] = {"127.0.0.1", "127.0.0.0/8", "lo"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(publish(loopback[i], "", ""), 0);
        assert_string_equal(text(0), "127.0.0.1");
        assert_int_equal(host.addr[0].prefix, 8);
        assert_int_equal(host.addr[0].loopback, 1);
    }
    assert_int_equal(publish("203.0.113.0/24", "", ""), WAITIO_ERR_CONFIG);
    assert_non_null(strstr(wio_last_error(), "'203.0.113.0/24'"));
    assert_non_null(strstr(wio_last_error(), "lo 127.0.0.1/8"));
    assert_int_equal(publish("nodev0, lo", "", ""), WAITIO_ERR_CONFIG);
    assert_int_equal(publish("127.0.0.0/33", "", ""), WAITIO_ERR_CONFIG);
}

static void advertised(void **state)
{
    (void)state;
    assert_int_equal(publish("", "198.51.100.7, 2001:db8::5", ""), 0);
    assert_int_equal(host.naddr, 2);
    assert_string_equal(text(0), "198.51.100.7");
    assert_string_equal(text(1), "2001:db8::5");
    assert_int_equal(host.addr[1].family, 6);
    assert_int_equal(publish("", "no.such.host.invalid", ""), WAITIO_ERR_CONFIG);
    assert_int_equal(publish("nodev0", "198.51.100.7", ""),
                     WAITIO_ERR_CONFIG); /* a wrong device is never ignored */
}

static void mapped_addresses(void **state)
{
    (void)state;
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    struct wio_tab_addr a;
    inet_pton(AF_INET6, "::ffff:10.1.2.3", &six.sin6_addr);
    assert_true(wio_addr_from_sockaddr((struct sockaddr *)&six, 120, &a));
    assert_true(a.family == 4 && a.prefix == 24 && a.ip[0] == 10 && !a.loopback);
    inet_pton(AF_INET6, "::1", &six.sin6_addr);
    assert_true(wio_addr_is_loopback((struct sockaddr *)&six));
    struct sockaddr_storage far = {0};
    struct sockaddr_in *four = (struct sockaddr_in *)&far;
    four->sin_family = AF_INET;
    inet_pton(AF_INET, "203.0.113.9", &four->sin_addr);
    assert_false(wio_addr_any_local(&far, 1));
    inet_pton(AF_INET, "127.0.1.1", &four->sin_addr);
    assert_true(wio_addr_any_local(&far, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_addresses),           cmocka_unit_test(chosen_devices),
        cmocka_unit_test(lists_that_name_nothing), cmocka_unit_test(advertised),
        cmocka_unit_test(mapped_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
