/* SPDX-License-Identifier: BSD-3-Clause */
/** @file pack.c  The packed form of the address table: see boot_table.h. */
#include "boot/boot_table.h"
#include "boot/boot_wire.h"

#define HEAD sizeof(struct wio_image_head)
#define HOST_MIN 10
#define ADDR_MAX (3 + 4 + 16)
#define EP_MAX 17
#define GROUP_MAX 8 /* endpoints behind one byte */

/* ---- writing ---- */

size_t wio_pack_bound(uint32_t npb, uint32_t nhosts, uint32_t size)
{
    return HEAD + 4 * (size_t)npb + nhosts * (size_t)(HOST_MIN + WIO_HOST_ADDRS * ADDR_MAX) +
           size * (size_t)EP_MAX;
}

void wio_pack_begin(struct wio_pack *k, void *base, const struct wio_image_head *head)
{
    memset(k, 0, sizeof *k);
    k->base = base;
    wio_put64(k->base, WIO_PACKED_MAGIC);
    memcpy(k->base + 16, head->universe, WIO_UNIVERSE_ID);
    wio_put32(k->base + 32, head->npb);
    wio_put32(k->base + 36, head->nhosts);
    wio_put32(k->base + 40, head->size);
    k->at = k->base + HEAD;
}

void wio_pack_block(struct wio_pack *k, uint32_t nprocs)
{
    wio_put32(k->at, nprocs);
    k->at += 4;
}

static bool same_addr(const struct wio_tab_host *a, const struct wio_tab_host *b, uint32_t i)
{
    return i < b->naddr && memcmp(&a->addr[i], &b->addr[i], sizeof a->addr[i]) == 0;
}

void wio_pack_host(struct wio_pack *k, const struct wio_tab_host *h)
{
    uint8_t *same = k->at + 9;
    wio_put64(k->at, h->identity);
    k->at[8] = (uint8_t)h->naddr;
    *same = 0;
    k->at += HOST_MIN;
    for (uint32_t i = 0; i < h->naddr; i++) {
        const struct wio_tab_addr *a = &h->addr[i];
        if (same_addr(h, &k->last_host, i)) {
            *same |= (uint8_t)(1u << i);
            continue;
        }
        k->at[0] = a->family;
        k->at[1] = a->loopback;
        k->at[2] = a->prefix;
        k->at += 3;
        if (a->family == 6) {
            wio_put32(k->at, a->scope);
            k->at += 4;
        }
        memcpy(k->at, a->ip, a->family == 6 ? 16 : 4);
        k->at += a->family == 6 ? 16 : 4;
    }
    k->last_host = *h;
}

static uint8_t differences(const struct wio_tab_ep *e, const struct wio_tab_ep *last)
{
    uint8_t what = 0;
    if (e->host == last->host + 1)
        what |= WIO_PACK_NEXT;
    else if (e->host != last->host)
        what |= WIO_PACK_HOST;
    if (e->port != last->port)
        what |= WIO_PACK_PORT;
    if (e->caps != last->caps)
        what |= WIO_PACK_CAPS;
    if (e->token != last->token)
        what |= WIO_PACK_TOKEN;
    return what;
}

void wio_pack_ep(struct wio_pack *k, const struct wio_tab_ep *e)
{
    uint8_t what = differences(e, &k->last);
    if (k->group != NULL && (*k->group & WIO_PACK_WHAT) == what &&
        *k->group / WIO_PACK_MORE < GROUP_MAX - 1) {
        *k->group = (uint8_t)(*k->group + WIO_PACK_MORE);
    } else {
        k->group = k->at++;
        *k->group = what;
    }
    if ((what & WIO_PACK_HOST) != 0) {
        wio_put32(k->at, e->host);
        k->at += 4;
    }
    if ((what & WIO_PACK_PORT) != 0) {
        wio_put16(k->at, e->port);
        k->at += 2;
    }
    if ((what & WIO_PACK_CAPS) != 0) {
        wio_put16(k->at, e->caps);
        k->at += 2;
    }
    if ((what & WIO_PACK_TOKEN) != 0) {
        wio_put64(k->at, e->token);
        k->at += 8;
    }
    k->last = *e;
}

size_t wio_pack_end(struct wio_pack *k)
{
    size_t n = (size_t)(k->at - k->base);
    wio_put64(k->base + 8, n);
    wio_put32(k->base + 44, wio_crc32c(0, k->base + HEAD, n - HEAD));
    return n;
}

/* ---- reading ---- */

static int bad(const char *what)
{
    return wio_fail(WAITIO_ERR_PROTOCOL, "malformed packed address table: %s", what);
}

int wio_unpack_head(const void *packed, size_t n, struct wio_image_head *h)
{
    const uint8_t *p = packed;
    memset(h, 0, sizeof *h);
    if (n < HEAD || wio_get64(p) != WIO_PACKED_MAGIC || wio_get64(p + 8) != n)
        return bad("wrong magic number or length");
    memcpy(h->universe, p + 16, WIO_UNIVERSE_ID);
    h->npb = wio_get32(p + 32);
    h->nhosts = wio_get32(p + 36);
    h->size = wio_get32(p + 40);
    if (h->npb == 0 || h->npb > WIO_BOOT_NPB_MAX || h->size == 0 || h->nhosts == 0)
        return bad("counts out of range");
    if (4 * (uint64_t)h->npb + HOST_MIN * (uint64_t)h->nhosts + h->size / GROUP_MAX > n - HEAD)
        return bad("counts do not fit its length");
    if (wio_get32(p + 44) != wio_crc32c(0, p + HEAD, n - HEAD))
        return bad("wrong checksum");
    h->magic = WIO_IMAGE_MAGIC;
    h->bytes = wio_image_bytes(h->npb, h->nhosts, h->size);
    return 0;
}

struct reader {
    const uint8_t *at;
    size_t left;
    bool failed;
    uint8_t what, more; /* differences of the next endpoints, how many */
};

/* The next n bytes (at most 16), zeros when there are not so many. */
static const uint8_t *take(struct reader *r, size_t n)
{
    static const uint8_t none[16];
    if (r->left < n) {
        r->failed = true;
        r->left = 0;
        return none;
    }
    const uint8_t *p = r->at;
    r->at += n;
    r->left -= n;
    return p;
}

/* @param last  the host before, NULL = this is the first */
static void take_host(struct reader *r, struct wio_tab_host *h, const struct wio_tab_host *last)
{
    const uint8_t *p = take(r, HOST_MIN);
    uint8_t same = p[9];
    h->identity = wio_get64(p);
    h->naddr = p[8];
    if (h->naddr > WIO_HOST_ADDRS)
        r->failed = true;
    for (uint32_t i = 0; i < h->naddr && !r->failed; i++) {
        struct wio_tab_addr *a = &h->addr[i];
        if ((same & (1u << i)) != 0) {
            if (last == NULL || i >= last->naddr)
                r->failed = true;
            else
                *a = last->addr[i];
            continue;
        }
        p = take(r, 3);
        a->family = p[0];
        a->loopback = p[1];
        a->prefix = p[2];
        a->scope = a->family == 6 ? wio_get32(take(r, 4)) : 0;
        memcpy(a->ip, take(r, a->family == 6 ? 16 : 4), a->family == 6 ? 16 : 4);
    }
}

static void take_ep(struct reader *r, struct wio_tab_ep *e)
{
    if (r->more == 0) {
        uint8_t byte = *take(r, 1);
        r->what = byte & WIO_PACK_WHAT;
        r->more = (uint8_t)(byte / WIO_PACK_MORE + 1);
    }
    uint8_t what = r->what;
    r->more--;
    if ((what & WIO_PACK_HOST) != 0)
        e->host = wio_get32(take(r, 4));
    else if ((what & WIO_PACK_NEXT) != 0)
        e->host++;
    if ((what & WIO_PACK_PORT) != 0)
        e->port = wio_get16(take(r, 2));
    if ((what & WIO_PACK_CAPS) != 0)
        e->caps = wio_get16(take(r, 2));
    if ((what & WIO_PACK_TOKEN) != 0)
        e->token = wio_get64(take(r, 8));
}

int wio_unpack(const void *packed, size_t n, const struct wio_image_head *h, void *image)
{
    struct wio_image im;
    struct reader r = {.at = (const uint8_t *)packed + HEAD, .left = n - HEAD};
    struct wio_tab_ep last = {0};
    wio_image_layout(&im, image, h->npb, h->nhosts);
    *im.head = *h;
    im.head->crc = 0;
    uint32_t base = 0;
    for (uint32_t i = 0; i < h->npb; i++) {
        im.pb_size[i] = wio_get32(take(&r, 4));
        im.pb_base[i] = base;
        base += im.pb_size[i];
    }
    for (uint32_t i = 0; i < h->nhosts && !r.failed; i++)
        take_host(&r, &im.host[i], i > 0 ? &im.host[i - 1] : NULL);
    for (uint32_t i = 0; i < h->size && !r.failed; i++) {
        take_ep(&r, &last);
        im.ep[i] = last;
    }
    return r.failed || r.left != 0 || r.more != 0 ? bad("entries do not fit its length") : 0;
}
