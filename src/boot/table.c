/* SPDX-License-Identifier: BSD-3-Clause */
#include "boot/boot_table.h"
#include "boot/boot_wire.h"
#include "os/os.h"

static uint64_t blocks_bytes(uint32_t npb)
{
    return (8 * (uint64_t)npb + 7) & ~UINT64_C(7);
}

uint64_t wio_image_bytes(uint32_t npb, uint32_t nhosts, uint32_t size)
{
    return sizeof(struct wio_image_head) + blocks_bytes(npb) +
           (uint64_t)nhosts * sizeof(struct wio_tab_host) +
           (uint64_t)size * sizeof(struct wio_tab_ep);
}

void wio_image_layout(struct wio_image *im, void *base, uint32_t npb, uint32_t nhosts)
{
    uint8_t *p = base;
    im->head = base;
    p += sizeof *im->head;
    im->pb_size = (uint32_t *)(void *)p;
    im->pb_base = im->pb_size + npb;
    p += blocks_bytes(npb);
    im->host = (struct wio_tab_host *)(void *)p;
    p += nhosts * sizeof *im->host;
    im->ep = (struct wio_tab_ep *)(void *)p;
}

static int bad(const char *what)
{
    return wio_fail(WAITIO_ERR_PROTOCOL, "malformed address table: %s", what);
}

/* Do the counts of the head describe exactly this many bytes? */
static int check_head(const struct wio_image_head *h, size_t bytes)
{
    if (h->magic != WIO_IMAGE_MAGIC)
        return bad("wrong magic number");
    if (h->npb == 0 || h->npb > WIO_BOOT_NPB_MAX || h->size == 0 || h->nhosts == 0)
        return bad("counts out of range");
    if (h->bytes != bytes || wio_image_bytes(h->npb, h->nhosts, h->size) != bytes)
        return bad("counts do not fit its length");
    return 0;
}

static int check_body(const struct wio_image *im, const struct wio_image_head *h)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < h->npb; i++) {
        if (im->pb_size[i] == 0 || im->pb_base[i] != sum)
            return bad("sizes of the blocks");
        sum += im->pb_size[i];
    }
    if (sum != h->size)
        return bad("sizes of the blocks do not add up");
    for (uint32_t i = 0; i < h->nhosts; i++) {
        int rc = wio_boot_host_check(&im->host[i]);
        if (rc != 0)
            return rc;
    }
    for (uint32_t i = 0; i < h->size; i++)
        if (im->ep[i].host >= h->nhosts)
            return bad("host index out of range");
    return 0;
}

int wio_table_open(void *base, size_t bytes, bool shared, uint32_t pbid, uint32_t rank,
                   struct wio_table **out)
{
    if (bytes < sizeof(struct wio_image_head))
        return bad("shorter than its head");
    /* A copy: the counts must not change between check and use. */
    struct wio_image_head h;
    memcpy(&h, base, sizeof h);
    int rc = check_head(&h, bytes);
    if (rc != 0)
        return rc;
    struct wio_image im;
    wio_image_layout(&im, base, h.npb, h.nhosts);
    rc = check_body(&im, &h);
    if (rc != 0)
        return rc;
    if (pbid >= h.npb || rank >= im.pb_size[pbid])
        return bad("this process is not in it");
    struct wio_table *t = wio_os_alloc(sizeof *t);
    if (t == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "address table");
    memcpy(t->universe, h.universe, sizeof t->universe);
    t->npb = h.npb;
    t->nhosts = h.nhosts;
    t->size = h.size;
    t->me = im.pb_base[pbid] + rank;
    t->pb_size = im.pb_size;
    t->pb_base = im.pb_base;
    t->host = im.host;
    t->ep = im.ep;
    t->bytes = bytes;
    t->map = base;
    t->shared = shared;
    *out = t;
    return 0;
}

int wio_table_alone(const struct wio_boot_offer *offer, struct wio_table **out)
{
    size_t bytes = (size_t)wio_image_bytes(1, 1, 1);
    void *base = wio_os_alloc(bytes);
    if (base == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "address table");
    struct wio_image im;
    wio_image_layout(&im, base, 1, 1);
    im.head->magic = WIO_IMAGE_MAGIC;
    im.head->bytes = bytes;
    im.head->npb = im.head->nhosts = im.head->size = 1;
    im.pb_size[0] = 1;
    im.host[0] = offer->host;
    im.ep[0] = offer->ep;
    im.ep[0].host = 0;
    int rc = wio_os_random(im.head->universe, sizeof im.head->universe);
    if (rc < 0)
        rc = wio_fail_os(WAITIO_ERR_SYSTEM, rc, "random universe id");
    else
        rc = wio_table_open(base, bytes, false, 0, 0, out);
    if (rc != 0)
        wio_os_free(base);
    return rc;
}

uint16_t wio_cpu_bits(int cpus)
{
    unsigned n = 1;
    while (n < 15 && 1 << (n - 1) < cpus)
        n++;
    return (uint16_t)(cpus > 0 ? n << 8 : 0);
}

uint32_t wio_table_processors(const struct wio_table *t, uint32_t rank)
{
    unsigned n = (t->ep[rank].caps & WIO_EP_CPUS) >> 8;
    return n == 0 ? 0 : 1u << (n - 1);
}

bool wio_table_crowded(const struct wio_table *t, uint32_t rank)
{
    uint32_t cpus = wio_table_processors(t, rank);
    uint64_t here = t->host[t->ep[rank].host].identity;
    uint32_t processes = 0;
    for (uint32_t i = 0; cpus != 0 && i < t->size; i++)
        processes += t->host[t->ep[i].host].identity == here;
    return cpus != 0 && processes > cpus;
}

uint32_t wio_table_pb_of(const struct wio_table *t, uint32_t rank)
{
    uint32_t lo = 0, hi = t->npb - 1;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo + 1) / 2;
        if (t->pb_base[mid] <= rank)
            lo = mid;
        else
            hi = mid - 1;
    }
    return lo;
}

void wio_table_free(struct wio_table *t)
{
    if (t == NULL)
        return;
    if (t->shared)
        wio_os_unmap(t->map, t->bytes);
    else
        wio_os_free(t->map);
    if (t->hold_fd > 0)
        wio_os_close(t->hold_fd);
    wio_os_free(t->number);
    wio_os_free(t);
}

void wio_table_after_fork(struct wio_table *t)
{
    if (t->hold_fd > 0)
        wio_os_close(t->hold_fd);
    t->hold_fd = 0;
}
