/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file fuzz_boot.c
 * Rendezvous messages. The input is a stream of frames as a client or a service would send it;
 * every frame that the decoders take is used the way the service uses it (roster), and a table
 * image is opened whole. What was decoded must encode to something that decodes again.
 */
#include <stdlib.h>

#include "boot/roster.h"
#include "os/os.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t again[WIO_BOOT_PAYLOAD_MAX];

static void must(int ok)
{
    if (!ok)
        abort();
}

static void hosts(struct wio_roster *r, const uint8_t *p, size_t n)
{
    static struct wio_tab_host h[WIO_BOOT_HOSTS_PER_MSG];
    uint32_t first, count;
    if (wio_boot_get_hosts(p, n, &first, h, &count) != 0)
        return;
    for (uint32_t i = 0; i < count; i++)
        must(wio_roster_host(r, &h[i]) < r->nhosts);
    must(wio_boot_put_hosts(again, first, h, count) == n &&
         wio_boot_get_hosts(again, n, &first, h, &count) == 0);
}

static void regs(struct wio_roster *r, uint32_t client, const uint8_t *p, size_t n)
{
    uint32_t count;
    if (wio_boot_get_regs(p, n, &count) != 0)
        return;
    for (uint32_t i = 0; i < count; i++) {
        struct wio_boot_reg g;
        struct wio_boot_refuse why = {0};
        wio_boot_reg_at(p, i, &g);
        g.nprocs &= 0xfff; /* so that memory stays small; large counts are the roster's unit test */
        g.npb &= 0xfff;
        if (wio_roster_register(r, client, &g, r->nhosts == 0 ? 0 : g.host % r->nhosts, &why) != 0)
            must(why.code < 0 && why.text[0] != '\0');
    }
}

static void texts(enum wio_boot_type type, const uint8_t *p, size_t n)
{
    static struct wio_boot_hello hello;
    static struct wio_boot_welcome welcome;
    static struct wio_boot_progress progress;
    static struct wio_boot_refuse refuse;
    if (type == WIO_BOOT_HELLO && wio_boot_get_hello(p, n, &hello) == 0)
        must(wio_boot_get_hello(again, wio_boot_put_hello(again, &hello), &hello) == 0);
    if (type == WIO_BOOT_WELCOME && wio_boot_get_welcome(p, n, &welcome) == 0)
        must(wio_boot_get_welcome(again, wio_boot_put_welcome(again, &welcome), &welcome) == 0);
    if (type == WIO_BOOT_PROGRESS && wio_boot_get_progress(p, n, &progress) == 0)
        must(wio_boot_get_progress(again, wio_boot_put_progress(again, &progress), &progress) == 0);
    if (type == WIO_BOOT_REFUSE && wio_boot_get_refuse(p, n, &refuse) == 0)
        must(wio_boot_get_refuse(again, wio_boot_put_refuse(again, &refuse), &refuse) == 0);
}

static void tree(enum wio_boot_type type, const uint8_t *p, size_t n)
{
    static struct wio_boot_relay relay;
    static struct wio_boot_port port;
    static struct wio_boot_parent parent;
    static struct wio_boot_fetch fetch;
    if (type == WIO_BOOT_RELAY && wio_boot_get_relay(p, n, &relay) == 0)
        must(wio_boot_get_relay(again, wio_boot_put_relay(again, &relay), &relay) == 0);
    if (type == WIO_BOOT_PORT && wio_boot_get_port(p, n, &port) == 0)
        must(wio_boot_get_port(again, wio_boot_put_port(again, &port), &port) == 0);
    if (type == WIO_BOOT_FETCH && wio_boot_get_fetch(p, n, &fetch) == 0)
        must(wio_boot_get_fetch(again, wio_boot_put_fetch(again, &fetch), &fetch) == 0);
    if (type != WIO_BOOT_PARENT || wio_boot_get_parent(p, n, &parent) != 0)
        return;
    must(parent.host.naddr <= WIO_HOST_ADDRS && parent.port != 0);
    must(wio_boot_get_parent(again, wio_boot_put_parent(again, &parent), &parent) == 0);
}

/* Checksums are hard to guess, so the body is tried with a right one, too. */
static int unpack(uint8_t *packed, size_t n, bool reseal)
{
    struct wio_image_head h;
    struct wio_table *t;
    if (reseal && n >= 48) {
        wio_put64(packed + 8, n);
        wio_put32(packed + 44, wio_crc32c(0, packed + 48, n - 48));
    }
    if (wio_unpack_head(packed, n, &h) != 0)
        return -1;
    must(h.bytes < 300 * (uint64_t)n);
    void *image = wio_os_alloc((size_t)h.bytes);
    must(image != NULL);
    if (wio_unpack(packed, n, &h, image) != 0 ||
        wio_table_open(image, (size_t)h.bytes, false, 0, 0, &t) != 0) {
        wio_os_free(image);
        return -1;
    }
    uint64_t sum = 0;
    for (uint32_t i = 0; i < t->size; i++)
        sum += t->host[t->ep[i].host].naddr + wio_table_pb_of(t, i);
    must(sum != UINT64_MAX);
    wio_table_free(t);
    return 0;
}

static void image(const uint8_t *p, size_t n)
{
    struct wio_table *t;
    uint8_t *copy = wio_os_alloc(n + 1);
    must(copy != NULL);
    memcpy(copy, p, n);
    if (wio_table_open(copy, n, false, 0, 0, &t) != 0)
        wio_os_free(copy);
    else
        wio_table_free(t);
}

static void table(const uint8_t *p, size_t n)
{
    uint8_t *copy = wio_os_alloc(n + 1);
    must(copy != NULL);
    memcpy(copy, p, n);
    if (unpack(copy, n, false) != 0)
        (void)unpack(copy, n, true);
    wio_os_free(copy);
    image(p, n);
}

static void finish(struct wio_roster *r)
{
    struct wio_boot_progress m;
    void *packed;
    size_t n;
    wio_roster_progress(r, &m);
    must(strlen(m.missing) <= WIO_BOOT_TEXT);
    if (!wio_roster_full(r) || r->nhosts == 0 || wio_roster_pack(r, &packed, &n) != 0)
        return;
    must(m.missing[0] == '\0');
    must(unpack(packed, n, false) == 0);
    wio_os_free(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct wio_roster r;
    struct wio_boot_hdr h;
    wio_roster_init(&r, "fuzz", 0);
    uint32_t client = wio_roster_client(&r, "one"), other = wio_roster_client(&r, "two");
    while (size >= WIO_BOOT_HDR && wio_boot_get_hdr(data, &h) == 0) {
        data += WIO_BOOT_HDR;
        size -= WIO_BOOT_HDR;
        size_t n = h.len < size ? h.len : size;
        struct wio_boot_leave l;
        if (h.type == WIO_BOOT_HOSTS)
            hosts(&r, data, n);
        else if (h.type == WIO_BOOT_REG)
            regs(&r, client, data, n);
        else if (h.type == WIO_BOOT_LEAVE && wio_boot_get_leave(data, n, &l) == 0)
            wio_roster_leave(&r, client, &l, 1);
        else if (h.type == WIO_BOOT_TABLE)
            table(data, n);
        else if (h.type == WIO_BOOT_ACK)
            client = other;
        else {
            texts((enum wio_boot_type)h.type, data, n);
            tree((enum wio_boot_type)h.type, data, n);
        }
        data += n;
        size -= n;
    }
    finish(&r);
    wio_roster_client_gone(&r, client, 2);
    wio_roster_free(&r);
    return 0;
}
