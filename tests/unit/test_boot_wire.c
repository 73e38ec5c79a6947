/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of the rendezvous as bytes, and the table image: what is written is read back; nothing
 * else is taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "boot/boot_conn.h"
#include "boot/boot_table.h"
#include "boot/boot_wire.h"
#include "os/os.h"

static uint8_t buf[WIO_BOOT_PAYLOAD_MAX];

static void headers(void **state)
{
    (void)state;
    struct wio_boot_hdr h;
    wio_boot_put_hdr(buf, WIO_BOOT_REG, 400);
    static const uint8_t golden[] = {'W', 'I', 'O', 'B', 1, 0, 4, 0, 0x90, 1, 0, 0};
    assert_memory_equal(buf, golden, sizeof golden);
    assert_int_equal(wio_boot_get_hdr(buf, &h), 0);
    assert_int_equal(h.type, WIO_BOOT_REG);
    assert_int_equal(h.len, 400);
    buf[4] = 9;
    assert_int_equal(wio_boot_get_hdr(buf, &h), WAITIO_ERR_VERSION);
    wio_boot_put_hdr(buf, WIO_BOOT_REG, WIO_BOOT_PAYLOAD_MAX + 1);
    assert_int_equal(wio_boot_get_hdr(buf, &h), WAITIO_ERR_PROTOCOL);
    wio_boot_put_hdr(buf, WIO_BOOT_TABLE, WIO_BOOT_PAYLOAD_MAX + 1);
    assert_int_equal(wio_boot_get_hdr(buf, &h), 0);
    wio_boot_put_hdr(buf, WIO_BOOT_TYPES, 0);
    assert_int_equal(wio_boot_get_hdr(buf, &h), WAITIO_ERR_PROTOCOL);
    wio_boot_put_hdr(buf, WIO_BOOT_ACK, 0);
    buf[0] = 'w';
    assert_int_equal(wio_boot_get_hdr(buf, &h), WAITIO_ERR_PROTOCOL);
}

/* A child that is being started holds the socket until it has begun its program. */
static void no_events_of_a_closed_connection(void **state)
{
    (void)state;
    static const struct wio_secret secret = {
        .key = "secret of this very test", .len = 24, .origin = "test"};
    static const struct wio_bc_upcalls none;
    struct wio_bc c;
    struct epoll_event ev;
    int pair[2], epfd = wio_os_epoll_create();
    assert_int_equal(wio_os_socketpair(pair), 0);
    assert_int_equal(wio_bc_start(&c, pair[0], WIO_AUTH_ACCEPT, false, false, &secret, &none, NULL),
                     0);
    assert_int_equal(wio_bc_arm(&c, epfd), 0);
    int childs = dup(pair[0]);
    wio_bc_close(&c);
    assert_int_equal(wio_os_send(pair[1], "x", 1), 1);
    assert_int_equal(wio_os_epoll_wait(epfd, &ev, 1, 0), 0);
    wio_os_close(childs);
    wio_os_close(pair[1]);
    wio_os_close(epfd);
}

static void texts_are_made_printable(void **state)
{
    (void)state;
    struct wio_boot_hello in = {.pid = 70000, .job = "a\033[2Jb", .host = "h"}, out;
    size_t n = wio_boot_put_hello(buf, &in);
    assert_int_equal(wio_boot_get_hello(buf, n, &out), 0);
    assert_int_equal(out.pid, 70000);
    assert_string_equal(out.job, "a?[2Jb");
    assert_string_equal(out.host, "h");
    for (size_t k = 0; k < n; k++)
        assert_int_equal(wio_boot_get_hello(buf, k, &out), WAITIO_ERR_PROTOCOL);
    assert_int_equal(wio_boot_get_hello(buf, n + 1, &out), WAITIO_ERR_PROTOCOL);
    memset(in.job, 'j', sizeof in.job); /* too long: shortened */
    n = wio_boot_put_hello(buf, &in);
    assert_true(n <= WIO_BOOT_HELLO_MAX);
    assert_int_equal(wio_boot_get_hello(buf, n, &out), 0);
    assert_int_equal(strlen(out.job), WIO_BOOT_NAME - 1);
}

static void small_messages(void **state)
{
    (void)state;
    struct wio_boot_welcome w = {7, WIO_BOOT_COMPLETE, "job"}, w2;
    size_t n = wio_boot_put_welcome(buf, &w);
    assert_int_equal(wio_boot_get_welcome(buf, n, &w2), 0);
    assert_true(w2.npb == 7 && w2.flags == WIO_BOOT_COMPLETE);
    assert_int_equal(wio_boot_get_welcome(buf, n - 1, &w2), WAITIO_ERR_PROTOCOL);
    struct wio_boot_progress p = {3, 9, "PB 1: rank 2 of 9"}, p2;
    n = wio_boot_put_progress(buf, &p);
    assert_int_equal(wio_boot_get_progress(buf, n, &p2), 0);
    assert_true(p2.joined == 3 && p2.expected == 9);
    assert_string_equal(p2.missing, p.missing);
    struct wio_boot_refuse r = {WAITIO_ERR_JOIN, 1, 2, 77, WIO_BOOT_RETRY, "because"}, r2;
    n = wio_boot_put_refuse(buf, &r);
    assert_int_equal(wio_boot_get_refuse(buf, n, &r2), 0);
    assert_true(r2.code == WAITIO_ERR_JOIN && r2.pbid == 1 && r2.rank == 2 &&
                r2.incarnation == 77 && r2.flags == WIO_BOOT_RETRY);
    assert_string_equal(r2.text, "because");
    r.code = 0; /* a refusal that says success */
    n = wio_boot_put_refuse(buf, &r);
    assert_int_equal(wio_boot_get_refuse(buf, n, &r2), WAITIO_ERR_PROTOCOL);
    struct wio_boot_leave l = {1, 2, 3}, l2;
    n = wio_boot_put_leave(buf, &l);
    assert_int_equal(wio_boot_get_leave(buf, n, &l2), 0);
    assert_memory_equal(&l, &l2, sizeof l);
    assert_int_equal(wio_boot_get_leave(buf, n + 1, &l2), WAITIO_ERR_PROTOCOL);
}

static void the_relay_tree(void **state)
{
    (void)state;
    struct wio_boot_relay r = {"universe", 16}, r2;
    size_t n = wio_boot_put_relay(buf, &r);
    assert_int_equal(wio_boot_get_relay(buf, n, &r2), 0);
    assert_true(r2.children == 16 && memcmp(r.universe, r2.universe, 16) == 0);
    assert_int_equal(wio_boot_get_relay(buf, n - 1, &r2), WAITIO_ERR_PROTOCOL);
    assert_int_equal(wio_boot_get_relay(buf, n + 1, &r2), WAITIO_ERR_PROTOCOL);
    for (uint32_t k = 0; k < 2; k++) {
        r.children = k == 0 ? 0 : WIO_BOOT_CHILDREN_MAX + 1;
        assert_int_equal(wio_boot_get_relay(buf, wio_boot_put_relay(buf, &r), &r2),
                         WAITIO_ERR_PROTOCOL);
    }
    struct wio_boot_port p = {7100, "no\nreason"}, p2;
    n = wio_boot_put_port(buf, &p);
    assert_int_equal(wio_boot_get_port(buf, n, &p2), 0);
    assert_int_equal(p2.port, 7100);
    assert_string_equal(p2.why, "no?reason");
    for (size_t k = 0; k < n; k++)
        assert_int_equal(wio_boot_get_port(buf, k, &p2), WAITIO_ERR_PROTOCOL);
    assert_int_equal(wio_boot_get_port(buf, n + 1, &p2), WAITIO_ERR_PROTOCOL);
    struct wio_boot_fetch f = {"universe", "host", "why"}, f2;
    n = wio_boot_put_fetch(buf, &f);
    assert_int_equal(wio_boot_get_fetch(buf, n, &f2), 0);
    assert_memory_equal(f.universe, f2.universe, 16);
    assert_string_equal(f2.host, "host");
    assert_string_equal(f2.why, "why");
    for (size_t k = 0; k < n; k++)
        assert_int_equal(wio_boot_get_fetch(buf, k, &f2), WAITIO_ERR_PROTOCOL);
    assert_int_equal(wio_boot_get_fetch(buf, n + 1, &f2), WAITIO_ERR_PROTOCOL);
    memset(f.host, 'h', sizeof f.host);
    memset(f.why, 'w', sizeof f.why);
    assert_true(wio_boot_put_fetch(buf, &f) <= WIO_BOOT_FETCH_MAX);
}

static void parents(void **state)
{
    (void)state;
    struct wio_boot_parent m = {"universe", 1000, 7100, "node7", {.identity = 5, .naddr = 2}}, out;
    m.host.addr[0] = (struct wio_tab_addr){4, 0, 24, 0, 0, {10, 0, 0, 1}};
    m.host.addr[1] = (struct wio_tab_addr){6, 0, 64, 0, 3, {0xfe, 0x80}};
    size_t n = wio_boot_put_parent(buf, &m);
    assert_int_equal(wio_boot_get_parent(buf, n, &out), 0);
    assert_memory_equal(out.universe, m.universe, 16);
    assert_true(out.bytes == 1000 && out.port == 7100 && wio_boot_host_equal(&out.host, &m.host));
    assert_string_equal(out.name, "node7");
    for (size_t k = 0; k < n; k++)
        assert_int_equal(wio_boot_get_parent(buf, k, &out), WAITIO_ERR_PROTOCOL);
    assert_int_equal(wio_boot_get_parent(buf, n + 1, &out), WAITIO_ERR_PROTOCOL);
    for (int i = 0; i < 4; i++) { /* what a child must not be made to do */
        struct wio_boot_parent bad = m;
        if (i == 0)
            bad.port = 0;
        else if (i == 1)
            bad.bytes = 0;
        else if (i == 2)
            bad.bytes = (uint64_t)WIO_BOOT_IMAGE_MAX + 1;
        else
            bad.host.addr[1].family = 5;
        assert_int_equal(wio_boot_get_parent(buf, wio_boot_put_parent(buf, &bad), &out),
                         WAITIO_ERR_PROTOCOL);
    }
    m.host.naddr = WIO_HOST_ADDRS;
    memset(m.name, 'n', sizeof m.name);
    assert_true(wio_boot_put_parent(buf, &m) <= WIO_BOOT_PARENT_MAX);
}

static void hosts(void **state)
{
    (void)state;
    struct wio_tab_host h[2] = {{.identity = 5, .naddr = 2}, {.identity = 6}},
                        out[WIO_BOOT_HOSTS_PER_MSG];
    h[0].addr[0] = (struct wio_tab_addr){4, 0, 24, 0, 0, {10, 0, 0, 1}};
    h[0].addr[1] = (struct wio_tab_addr){6, 0, 64, 0, 3, {0xfe, 0x80}};
    uint32_t first, count;
    size_t n = wio_boot_put_hosts(buf, 9, h, 2);
    assert_int_equal(wio_boot_get_hosts(buf, n, &first, out, &count), 0);
    assert_true(first == 9 && count == 2);
    assert_true(wio_boot_host_equal(&h[0], &out[0]) && wio_boot_host_equal(&h[1], &out[1]));
    assert_false(wio_boot_host_equal(&h[0], &out[1]));
    for (size_t k = 0; k < n; k++)
        assert_int_equal(wio_boot_get_hosts(buf, k, &first, out, &count), WAITIO_ERR_PROTOCOL);
    buf[20] = 5; /* family */
    assert_int_equal(wio_boot_get_hosts(buf, n, &first, out, &count), WAITIO_ERR_PROTOCOL);
    wio_boot_put_hosts(buf, 9, h, 2);
    wio_put32(buf + 16, WIO_HOST_ADDRS + 1);
    assert_int_equal(wio_boot_get_hosts(buf, sizeof buf, &first, out, &count), WAITIO_ERR_PROTOCOL);
    wio_put32(buf + 4, WIO_BOOT_HOSTS_PER_MSG + 1);
    assert_int_equal(wio_boot_get_hosts(buf, sizeof buf, &first, out, &count), WAITIO_ERR_PROTOCOL);
}

static void registrations(void **state)
{
    (void)state;
    struct wio_boot_reg r[2] = {{1, 2, 3, 0, 4, 5, 6, 7, 8, 9}, {.token = UINT64_MAX}}, out;
    uint32_t count;
    size_t n = wio_boot_put_regs(buf, r, 2);
    assert_int_equal(wio_boot_get_regs(buf, n, &count), 0);
    assert_int_equal(count, 2);
    wio_boot_reg_at(buf, 0, &out);
    assert_true(out.pbid == 1 && out.npb == 2 && out.nprocs == 3 && out.host == 4 && out.pid == 5 &&
                out.incarnation == 6 && out.port == 7 && out.caps == 8 && out.token == 9);
    wio_boot_reg_at(buf, 1, &out);
    assert_true(out.token == UINT64_MAX && out.pbid == 0);
    assert_int_equal(wio_boot_get_regs(buf, n - 1, &count), WAITIO_ERR_PROTOCOL);
    assert_int_equal(wio_boot_get_regs(buf, 0, &count), WAITIO_ERR_PROTOCOL);
}

/* A packed table of two blocks (1 and 2 processes) on two hosts. */
static size_t packed(void)
{
    struct wio_pack k;
    struct wio_image_head head = {.universe = "u", .npb = 2, .nhosts = 2, .size = 3};
    struct wio_tab_host h[2] = {{.identity = 5, .naddr = 2}, {.identity = 6}};
    h[0].addr[0] = (struct wio_tab_addr){4, 0, 24, 0, 0, {10, 0, 0, 1}};
    h[0].addr[1] = (struct wio_tab_addr){6, 0, 64, 0, 3, {0xfe, 0x80}};
    struct wio_tab_ep e[3] = {{0, 7, 3, 0}, {1, 7, 3, 0}, {0, 99, 3, UINT64_MAX}};
    wio_pack_begin(&k, buf, &head);
    wio_pack_block(&k, 1);
    wio_pack_block(&k, 2);
    wio_pack_host(&k, &h[0]);
    wio_pack_host(&k, &h[1]);
    for (int i = 0; i < 3; i++)
        wio_pack_ep(&k, &e[i]);
    size_t n = wio_pack_end(&k);
    assert_true(n <= wio_pack_bound(2, 2, 3));
    return n;
}

static void *image(size_t *bytes)
{
    struct wio_image_head h;
    size_t n = packed();
    assert_int_equal(wio_unpack_head(buf, n, &h), 0);
    *bytes = (size_t)h.bytes;
    void *p = calloc(1, *bytes);
    assert_int_equal(wio_unpack(buf, n, &h, p), 0);
    return p;
}

static void images(void **state)
{
    (void)state;
    size_t n;
    struct wio_table *t;
    void *p = image(&n);
    assert_int_equal(wio_table_open(p, n, false, 1, 1, &t), 0);
    assert_true(t->me == 2 && t->size == 3 && t->npb == 2 && t->universe[0] == 'u');
    assert_true(t->ep[0].host == 0 && t->ep[0].port == 7 && t->ep[0].caps == 3 &&
                t->ep[0].token == 0);
    assert_true(t->ep[1].host == 1 && t->ep[1].port == 7 && t->ep[1].caps == 3);
    assert_true(t->ep[2].host == 0 && t->ep[2].port == 99 && t->ep[2].token == UINT64_MAX);
    assert_true(t->host[0].addr[1].scope == 3 && t->host[0].addr[1].ip[1] == 0x80 &&
                t->host[1].naddr == 0);
    assert_true(wio_table_pb_of(t, 0) == 0 && wio_table_pb_of(t, 1) == 1 &&
                wio_table_pb_of(t, 2) == 1);
    wio_table_free(t);
}

static void reseal(size_t n)
{
    wio_put64(buf + 8, n);
    wio_put32(buf + 44, wio_crc32c(0, buf + 48, n - 48));
}

static void hostile_packed_tables(void **state)
{
    (void)state;
    struct wio_image_head h;
    uint8_t image_room[4096];
    size_t n = packed();
    buf[n - 3] ^= 1; /* damaged on the way */
    assert_int_equal(wio_unpack_head(buf, n, &h), WAITIO_ERR_PROTOCOL);
    n = packed();
    for (size_t k = 0; k < n; k++)
        assert_int_equal(wio_unpack_head(buf, k, &h), WAITIO_ERR_PROTOCOL);
    wio_put32(buf + 40, 1000000); /* few bytes that ask for much memory */
    reseal(n);
    assert_int_equal(wio_unpack_head(buf, n, &h), WAITIO_ERR_PROTOCOL);
    for (size_t k = n - 1; k > n - 20; k--) { /* cut inside the endpoints, with a right checksum */
        packed();
        reseal(k);
        if (wio_unpack_head(buf, k, &h) == 0)
            assert_int_equal(wio_unpack(buf, k, &h, memset(image_room, 0, sizeof image_room)),
                             WAITIO_ERR_PROTOCOL);
    }
    packed();
    buf[48 + 8 + 9] = 1; /* the first host's address is that of the host before */
    reseal(n);
    assert_int_equal(wio_unpack_head(buf, n, &h), 0);
    assert_int_equal(wio_unpack(buf, n, &h, memset(image_room, 0, sizeof image_room)),
                     WAITIO_ERR_PROTOCOL);
    packed();
    for (size_t k = 48; k < n; k++) { /* whatever byte is another one: nothing is read beyond */
        packed();
        buf[k] ^= 0xe0;
        reseal(n);
        if (wio_unpack_head(buf, n, &h) == 0 && h.bytes <= sizeof image_room)
            (void)wio_unpack(buf, n, &h, memset(image_room, 0, sizeof image_room));
    }
    packed();
    buf[n - 15] += WIO_PACK_MORE; /* one endpoint more than there are */
    reseal(n);
    assert_int_equal(wio_unpack_head(buf, n, &h), 0);
    assert_int_equal(wio_unpack(buf, n, &h, memset(image_room, 0, sizeof image_room)),
                     WAITIO_ERR_PROTOCOL);
    packed();
    buf[48 + 8 + 8] = 9; /* more addresses than fit */
    reseal(n);
    assert_int_equal(wio_unpack_head(buf, n, &h), 0);
    assert_int_equal(wio_unpack(buf, n, &h, memset(image_room, 0, sizeof image_room)),
                     WAITIO_ERR_PROTOCOL);
}

#define MANY 3000
#define MANY_HOSTS 125

static uint32_t dice(uint32_t *s, uint32_t below)
{
    *s = *s * 1664525u + 1013904223u;
    return (*s >> 8) % below;
}

static struct wio_tab_host many_h[MANY_HOSTS];
static struct wio_tab_ep many_e[MANY];

/* As in a real run: 24 processes a host, one after the other, only ports differ. */
static void plain_universe(void)
{
    memset(many_h, 0, sizeof many_h);
    for (uint32_t i = 0; i < MANY_HOSTS; i++) {
        many_h[i] = (struct wio_tab_host){.identity = i * UINT64_C(0x9e3779b97f4a7c15), .naddr = 2};
        many_h[i].addr[0] = (struct wio_tab_addr){4, 0, 16, 0, 0, {10, (uint8_t)i}};
        many_h[i].addr[1] = (struct wio_tab_addr){4, 1, 8, 0, 0, {127, 0, 0, 1}};
    }
    for (uint32_t i = 0; i < MANY; i++)
        many_e[i] = (struct wio_tab_ep){i / 24, (uint16_t)(i * 7919 + 1), 3, 0};
}

static void random_universe(uint32_t *seed)
{
    memset(many_h, 0, sizeof many_h);
    for (uint32_t i = 0; i < MANY_HOSTS; i++) {
        many_h[i].identity = dice(seed, 1u << 24);
        many_h[i].naddr = dice(seed, WIO_HOST_ADDRS + 1);
        for (uint32_t a = 0; a < many_h[i].naddr; a++)
            many_h[i].addr[a] = (struct wio_tab_addr){(uint8_t)(dice(seed, 2) ? 4 : 6), 0, 16, 0, 0,
                                                      {10, (uint8_t)dice(seed, 2)}};
    }
    for (uint32_t i = 0; i < MANY; i++)
        many_e[i] = (struct wio_tab_ep){dice(seed, 3) ? i / 24 : dice(seed, MANY_HOSTS),
                                        (uint16_t)dice(seed, 2), (uint16_t)dice(seed, 2),
                                        dice(seed, 9) ? 0 : *seed};
}

/* Pack, unpack, compare. @return bytes on the way */
static size_t there_and_back(uint8_t *room)
{
    struct wio_pack k;
    struct wio_table *t;
    struct wio_image_head head = {.universe = "u", .npb = 1, .nhosts = MANY_HOSTS, .size = MANY};
    wio_pack_begin(&k, room, &head);
    wio_pack_block(&k, MANY);
    for (uint32_t i = 0; i < MANY_HOSTS; i++)
        wio_pack_host(&k, &many_h[i]);
    for (uint32_t i = 0; i < MANY; i++)
        wio_pack_ep(&k, &many_e[i]);
    size_t n = wio_pack_end(&k);
    assert_true(n <= wio_pack_bound(1, MANY_HOSTS, MANY));
    assert_int_equal(wio_unpack_head(room, n, &head), 0);
    uint8_t *im = calloc(1, (size_t)head.bytes);
    assert_int_equal(wio_unpack(room, n, &head, im), 0);
    assert_int_equal(wio_table_open(im, (size_t)head.bytes, false, 0, 0, &t), 0);
    for (uint32_t i = 0; i < MANY_HOSTS; i++)
        assert_true(wio_boot_host_equal(&t->host[i], &many_h[i]));
    assert_memory_equal(t->ep, many_e, sizeof many_e);
    wio_table_free(t);
    return n;
}

/* Anything goes in and comes out again; and what is common costs little. */
static void random_tables(void **state)
{
    (void)state;
    uint8_t *room = malloc(wio_pack_bound(1, MANY_HOSTS, MANY));
    uint32_t seed = 5;
    plain_universe();
    /* 48, a block, 10 + 7 a host and 7 more, 2 an endpoint, 4 bytes a host, caps once */
    assert_int_equal(there_and_back(room),
                     48 + 4 + 17 * MANY_HOSTS + 7 + 2 * MANY + 4 * MANY_HOSTS + 2);
    for (int round = 0; round < 40; round++) {
        random_universe(&seed);
        there_and_back(room);
    }
    free(room);
}

/* Whoever gave the image: what does not fit together is not used. */
static void hostile_images(void **state)
{
    (void)state;
    for (int i = 0; i < 9; i++) {
        size_t n;
        struct wio_table *t;
        struct wio_image im;
        uint32_t pbid = 1, rank = 1;
        void *p = image(&n);
        wio_image_layout(&im, p, 2, 2);
        switch (i) {
        case 0:
            im.head->size = 4;
            break;
        case 1:
            im.head->nhosts = UINT32_MAX;
            break;
        case 2:
            im.pb_base[1] = 2;
            break;
        case 3:
            im.pb_size[1] = 3;
            break;
        case 4:
            im.ep[0].host = 2;
            break;
        case 5:
            im.host[1].naddr = 9;
            break;
        case 6:
            rank = 2;
            break;
        case 7:
            pbid = 2;
            break;
        default:
            im.head->magic++;
        }
        assert_int_equal(wio_table_open(p, n, false, pbid, rank, &t), WAITIO_ERR_PROTOCOL);
        free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers),
        cmocka_unit_test(no_events_of_a_closed_connection),
        cmocka_unit_test(texts_are_made_printable),
        cmocka_unit_test(small_messages),
        cmocka_unit_test(the_relay_tree),
        cmocka_unit_test(parents),
        cmocka_unit_test(hosts),
        cmocka_unit_test(registrations),
        cmocka_unit_test(images),
        cmocka_unit_test(random_tables),
        cmocka_unit_test(hostile_packed_tables),
        cmocka_unit_test(hostile_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
