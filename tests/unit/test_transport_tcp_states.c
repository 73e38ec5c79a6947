/* SPDX-License-Identifier: BSD-3-Clause */
/** @file test_transport_tcp_states.c  The state table is the documented one, and is sound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <cmocka.h>

#include "state_table.h"
#include "transport/tcp/tcp.h"

static void test_document_has_the_table(void **state)
{
    (void)state;
    assert_documented(__func__, "connection.md", wio_tcp_states, TCP_STATES);
}

static void test_table_is_sound(void **state)
{
    (void)state;
    struct wio_state_row t[TCP_STATES];
    memcpy(t, wio_tcp_states, sizeof t);
    for (int s = TCP_READY; s < TCP_CLOSED; s++) { /* a broken one: p2p does not see this step */
        assert_true(t[s].next & 1u << TCP_WAIT);
        assert_true(t[TCP_CONFIRM].next & 1u << s);
        t[s].next &= (uint16_t) ~(1u << TCP_WAIT);
    }
    assert_sound(t, TCP_NEW, TCP_CLOSED);
}

static void test_near(void **state)
{
    (void)state;
    struct wio_tab_host h = {.identity = 1, .naddr = 2};
    h.addr[0] = (struct wio_tab_addr){.family = 4, .prefix = 22, .ip = {10, 1, 4, 9}};
    h.addr[1] = (struct wio_tab_addr){.family = 6, .prefix = 64, .ip = {0xfd, 0, 0, 1}};
    struct wio_tab_ep ep = {0};
    struct wio_table t = {.size = 1, .nhosts = 1, .host = &h, .ep = &ep};
    struct tcp_iface f = {.base.table = &t};
    static const struct {
        uint8_t ip[4];
        bool near;
    } v4[] = {{{10, 1, 4, 9}, true},  {{10, 1, 7, 255}, true}, {{10, 1, 8, 0}, false},
              {{10, 1, 3, 1}, false}, {{127, 3, 2, 1}, true},  {{192, 0, 2, 1}, false}};
    for (size_t i = 0; i < WIO_ARRAY_LEN(v4); i++) {
        union tcp_addr a = {.in4.sin_family = AF_INET};
        memcpy(&a.in4.sin_addr, v4[i].ip, 4);
        assert_int_equal(wio_tcp_near(&f, &a), v4[i].near);
    }
    union tcp_addr a = {.in6.sin6_family = AF_INET6};
    a.in6.sin6_addr = (struct in6_addr){{{0xfd, 0, 0, 1, 0, 0, 0, 0, 5}}};
    assert_true(wio_tcp_near(&f, &a));
    a.in6.sin6_addr.s6_addr[7] = 1;
    assert_false(wio_tcp_near(&f, &a));
    a.in6.sin6_addr = in6addr_loopback;
    assert_true(wio_tcp_near(&f, &a));
}

static void control_of(int fd, char *name)
{
    socklen_t len = 15;
    memset(name, 0, 16);
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len), 0);
}

static int send_buffer(int fd)
{
    int n = 0;
    socklen_t len = sizeof n;
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &n, &len), 0);
    return n;
}

static int connected(const struct tcp_iface *f, int *accepted)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(f->port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    *accepted = accept(f->listener[0].fd, NULL, NULL);
    assert_true(*accepted >= 0);
    return fd;
}

/* What a socket began with may stay with it (BBR's pacing does), so it must begin right. Within a
 * host the send buffer is short, else a small message waits behind all that it holds. */
static void test_accepted_sockets_begin_with_the_near_control(void **state)
{
    (void)state;
    struct wio_config cfg;
    wio_config_defaults(&cfg);
    struct wio_secret none = {0};
    struct wio_tab_host h = {.identity = 1};
    struct wio_tab_ep ep = {0};
    struct wio_table t = {.size = 1, .nhosts = 1, .host = &h, .ep = &ep};
    struct tcp_iface f = {.base.table = &t, .base.p.cfg = &cfg, .base.p.secret = &none};
    char theirs[16], name[16];
    int plain = socket(AF_INET, SOCK_STREAM, 0), in;
    control_of(plain, theirs);
    close(plain);

    assert_int_equal(wio_tcp_listen(&f), 0);
    int out = connected(&f, &in);
    control_of(in, name);
    assert_true(strcmp(name, "cubic") == 0 || strcmp(name, "reno") == 0);
    union tcp_addr far = {.in4.sin_family = AF_INET}, near = far;
    far.in4.sin_addr.s_addr = htonl(0xc0000201); /* 192.0.2.1 */
    near.in4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int before = send_buffer(in);
    wio_tcp_sockopt(&f, in, &far, true);
    assert_int_equal(send_buffer(in), before);
    wio_tcp_sockopt(&f, in, &near, true);
    assert_int_equal(send_buffer(in), 2 * (320 << 10)); /* the kernel doubles what it is told */
    control_of(in, name);
    assert_true(strcmp(name, "cubic") == 0 || strcmp(name, "reno") == 0);
    wio_tcp_sockopt(&f, in, &far, true);
    control_of(in, name);
    assert_string_equal(name, theirs);
    close(in);
    close(out);
    wio_tcp_unlisten(&f);

    wio_text(cfg.tcp_congestion, sizeof cfg.tcp_congestion, "reno");
    assert_int_equal(wio_tcp_listen(&f), 0);
    out = connected(&f, &in);
    control_of(in, name);
    assert_string_equal(name, "reno");
    close(in);
    close(out);
    wio_tcp_unlisten(&f);
}

static void test_cap(void **state)
{
    (void)state;
    struct wio_config cfg;
    wio_config_defaults(&cfg);
    int limit = wio_os_fd_limit();
    assert_true(wio_tcp_cap_of(&cfg) >= 2 && wio_tcp_cap_of(&cfg) < limit);
    cfg.max_connections = 7;
    assert_int_equal(wio_tcp_cap_of(&cfg), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_document_has_the_table),
        cmocka_unit_test(test_table_is_sound),
        cmocka_unit_test(test_near),
        cmocka_unit_test(test_accepted_sockets_begin_with_the_near_control),
        cmocka_unit_test(test_cap),
    };
    return cmocka_run_group_tests_name("tcp states", tests, NULL, NULL);
}
