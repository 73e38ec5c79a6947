/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file segment.c
 * Making and attaching shared segments. Their pages are allocated at once, so lack of memory is an
 * error here and not a signal later. They are sealed, so that no peer can shrink them.
 */
#include "transport/shm/shm.h"

static uint32_t power_below(uint64_t n, uint32_t min, uint32_t max)
{
    uint32_t p = min;
    while (p < max && (uint64_t)p * 2 <= n)
        p *= 2;
    return p;
}

static void account(struct shm_iface *f, size_t bytes, bool more)
{
    struct wio_counters *c = f->base.p.counters;
    if (more)
        c->shm_bytes += bytes;
    else
        c->shm_bytes -= bytes;
    if (c->shm_bytes > c->shm_max)
        c->shm_max = c->shm_bytes;
}

/* ---- inbox ---- */

static struct shm_inbox_geo inbox_geo(const struct wio_config *cfg)
{
    struct shm_inbox_geo g = {.cell_bytes = 2048};
    if (cfg->shm_inbox < 64 * 2048)
        g.cell_bytes = 512;
    g.cells = power_below(cfg->shm_inbox / g.cell_bytes, 16, SHM_CELLS_MAX);
    return g;
}

int wio_shm_inbox_make(struct shm_iface *f)
{
    if (f->inbox.head != NULL)
        return 0;
    struct shm_inbox_geo g = inbox_geo(f->base.p.cfg);
    size_t bytes = shm_inbox_bytes(&g);
    int fd = wio_os_memfd("waitio-inbox", bytes, bytes, true);
    if (fd < 0)
        return wio_fail_os(WAITIO_ERR_NOROUTE, fd, "no shared memory for an inbox of %zu bytes",
                           bytes);
    struct wio_os_stat st;
    void *map = wio_os_fstat(fd, &st) < 0 ? NULL : wio_os_map(fd, bytes, true);
    if (map == NULL) {
        wio_os_close(fd);
        return wio_fail(WAITIO_ERR_NOROUTE, "cannot map an inbox of %zu bytes", bytes);
    }
    wio_shm_inbox_place(&f->inbox, &g, map);
    wio_shm_inbox_format(&f->inbox);
    atomic_init(&f->inbox.head->fences, f->membarrier ? 0u : 1u);
    f->inbox_fd = fd;
    f->inbox_inode = st.inode;
    f->inbox_pos = 0;
    account(f, bytes, true);
    return 0;
}

void wio_shm_inbox_drop(struct shm_iface *f)
{
    if (f->inbox.head == NULL)
        return;
    account(f, f->inbox.bytes, false);
    wio_os_unmap(f->inbox.head, f->inbox.bytes);
    wio_os_close(f->inbox_fd);
    f->inbox.head = NULL;
    f->inbox_fd = -1;
}

/* ---- what peers made ---- */

void *wio_shm_attach(const struct shm_iface *f, int fd, size_t bytes, const char **why)
{
    struct wio_os_stat st;
    if (fd < 0) {
        *why = "no descriptor came with it (descriptor limit reached?)";
        return NULL;
    }
    /* Else this process would write to its own inbox, under a name that the peer chooses. */
    if (wio_os_fstat(fd, &st) < 0 || (f->inbox.head != NULL && st.inode == f->inbox_inode)) {
        *why = "its segment is the inbox that we passed to it";
        return NULL;
    }
    if (!wio_os_memfd_holds(fd, bytes)) {
        *why = "its segment is not sealed against shrinking, or too small";
        return NULL;
    }
    void *map = wio_os_map(fd, bytes, true);
    *why = "it cannot be mapped (out of address space or memory?)";
    return map;
}

/* ---- rings ---- */

static struct shm_ring_geo ring_geo(const struct shm_iface *f)
{
    uint64_t set = f->base.p.cfg->shm_ring;
    uint32_t bulk = set > 0 ? power_below(set, 16u << 10, SHM_BULK_MAX)
                            : wio_shm_bulk_bytes(f->cache, f->rings_out);
    return (struct shm_ring_geo){.slots = 512, .mid = SHM_MID_BYTES, .bulk = bulk};
}

uint32_t wio_shm_ring_ahead(const struct shm_ring *r, uint32_t warm, uint64_t at, uint32_t bytes)
{
    uint64_t end = (at & (r->geo.bulk - 1)) + bytes;
    if (warm >= r->geo.bulk || end <= warm)
        return warm;
    end = (end + SHM_WARM - 1) / SHM_WARM * SHM_WARM;
    if (end < 2 * (uint64_t)warm)
        end = 2 * (uint64_t)warm;
    return end < r->geo.bulk ? (uint32_t)end : r->geo.bulk;
}

bool wio_shm_writer_warm(struct shm_iface *f, struct shm_writer *w, unsigned mark, uint32_t bytes)
{
    uint64_t at = shm_bulk_at(&w->ring, w->bulk_tail, mark);
    uint32_t to = wio_shm_ring_ahead(&w->ring, w->warm, at, bytes);
    if (to == w->warm)
        return true;
    if (w->given)
        wio_os_populate(w->ring.bulk + w->warm, to - w->warm);
    else if (wio_os_give_pages(w->ring.bulk + w->warm, to - w->warm) != 0)
        return false;
    else
        account(f, to - w->warm, true);
    w->warm = to;
    w->since = 0;
    return true;
}

void wio_shm_writer_cool(struct shm_iface *f, struct shm_writer *w)
{
    shm_refresh(&w->bulk_head, &w->ring.ctl->bulk_head, w->bulk_tail);
    if (w->given || w->warm == 0 || w->bulk_head != w->bulk_tail ||
        wio_os_take_pages(w->ring.bulk, w->warm) != 0)
        return;
    account(f, w->warm, false);
    w->warm = 0;
    w->fresh = true;
}

void wio_shm_reader_warm(struct shm_reader *r, bool fresh, uint64_t at, uint32_t bytes)
{
    if (fresh)
        r->warm = 0;
    uint32_t to = wio_shm_ring_ahead(&r->ring, r->warm, at, bytes);
    if (to > r->warm)
        wio_os_populate(r->ring.bulk + r->warm, to - r->warm);
    r->warm = to;
}

struct shm_writer *wio_shm_writer_make(struct shm_iface *f, int *fd)
{
    struct shm_ring_geo g = ring_geo(f);
    size_t bytes = shm_ring_bytes(&g), now = f->gives_later ? bytes - g.bulk : bytes;
    struct shm_writer *w = wio_os_alloc(sizeof *w);
    if (w == NULL)
        return NULL;
    *fd = wio_os_memfd("waitio-ring", bytes, now, true);
    void *map = *fd < 0 ? NULL : wio_os_map(*fd, bytes, true);
    if (map == NULL) {
        wio_os_close(*fd);
        wio_os_free(w);
        return NULL;
    }
    wio_shm_ring_place(&w->ring, &g, map);
    w->given = !f->gives_later;
    account(f, now, true);
    f->rings_out++;
    return w;
}

void wio_shm_writer_free(struct shm_iface *f, struct shm_writer *w)
{
    if (w == NULL)
        return;
    account(f, w->given ? w->ring.bytes : w->ring.bytes - w->ring.geo.bulk + w->warm, false);
    wio_os_unmap(w->ring.ctl, w->ring.bytes);
    wio_os_free(w);
    f->rings_out--;
}

struct shm_reader *wio_shm_reader_make(struct shm_iface *f, const struct shm_ring_geo *g, int fd)
{
    const char *why;
    if (!wio_shm_ring_geo_ok(g))
        return NULL;
    struct shm_reader *r = wio_os_alloc(sizeof *r);
    void *map = r == NULL ? NULL : wio_shm_attach(f, fd, shm_ring_bytes(g), &why);
    if (map == NULL) {
        wio_os_free(r);
        return NULL;
    }
    wio_shm_ring_place(&r->ring, g, map);
    f->rings_in++;
    f->base.p.counters->shm_rings++;
    return r;
}

void wio_shm_reader_free(struct shm_iface *f, struct shm_reader *r)
{
    if (r == NULL)
        return;
    wio_os_unmap(r->ring.ctl, r->ring.bytes);
    wio_os_free(r);
    f->rings_in--;
    f->base.p.counters->shm_rings--;
}
