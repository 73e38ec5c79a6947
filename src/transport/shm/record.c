/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file record.c
 * Records on a link's socket after the handshake: the segments of the setup, offers of
 * rings, bells for sleepers, pings.
 *
 *   dialer                          acceptor
 *   SETUP(inbox)  ->
 *                              <-   SETUP(inbox)          or REFUSE
 *   GO            ->                                      or REFUSE
 *   (both READY)
 *   RING(ring)    ->           <-   RING_OK               or RING_NO
 *   ... SWITCH in the inbox: from here on I write to the ring ...
 *   ... SWITCH in the ring: from here on I write to the inbox ...
 *                              <-   RING_END              the ring is unmapped
 *
 * Neither side is READY before both have mapped what they need, so a refusal loses nothing.
 */
#include "transport/shm/shm.h"

static const char *const refusals[] = {"?", "it has no memory for it",
                                       "it has no descriptor left (ulimit -n)",
                                       "it could not use our segment"};

/* Records are written whole and in order; l->out keeps what the socket does not take now. */
void wio_shm_say_rest(struct shm_link *l)
{
    while (l->out_len > 0 && l->fd >= 0) {
        size_t n = l->out_len;
        if (l->out_fd >= 0 && l->out_fd_at > 0)
            n = l->out_fd_at;
        bool with_fd = l->out_fd >= 0 && l->out_fd_at == 0;
        ssize_t w =
            with_fd ? wio_os_send_fd(l->fd, l->out_fd, l->out, n) : wio_os_send(l->fd, l->out, n);
        if (w == -EAGAIN)
            return;
        if (w <= 0) { /* broken: the read path finds its end */
            l->out_len = 0;
            break;
        }
        if (with_fd) {
            wio_os_close(l->out_fd);
            l->out_fd = -1;
        }
        memmove(l->out, l->out + w, l->out_len - (size_t)w);
        l->out_len = (uint8_t)(l->out_len - w);
        if (l->out_fd >= 0)
            l->out_fd_at = (uint8_t)(l->out_fd_at - w);
    }
    if (l->out_len == 0 && l->out_fd >= 0) {
        wio_os_close(l->out_fd);
        l->out_fd = -1;
    }
}

/* @param fd  goes with it and is closed; -1: none. @return false: no room (a peer that does not
 * read its socket), nothing written */
static bool put(struct shm_link *l, const struct shm_rec *r, int fd)
{
    bool fits = l->out_len + sizeof *r <= SHM_OUT_MAX && (fd < 0 || l->out_fd < 0);
    if (l->fd < 0 || l->eof || !fits) {
        wio_os_close(fd);
        return false;
    }
    if (fd >= 0) {
        l->out_fd = fd;
        l->out_fd_at = l->out_len;
    }
    memcpy(l->out + l->out_len, r, sizeof *r);
    l->out_len = (uint8_t)(l->out_len + sizeof *r);
    wio_shm_say_rest(l);
    if (l->out_len > 0)
        wio_shm_tx_wake(l);
    return true;
}

void wio_shm_say(struct shm_link *l, enum shm_rec_type type)
{
    struct shm_rec r = {.magic = SHM_REC_MAGIC, .type = type};
    (void)put(l, &r, -1);
}

void wio_shm_bell(struct shm_link *l)
{
    if (atomic_exchange_explicit(&l->peer.head->sleeping, 0, memory_order_seq_cst) == 0)
        return; /* somebody else rang */
    shm_of(l)->base.p.counters->shm_bells++;
    if (l->out_len == 0) /* else enough is on its way to wake it */
        wio_shm_say(l, SHM_R_BELL);
}

/* ---- setup ---- */

static void refuse(struct shm_link *l, enum shm_refusal why)
{
    struct shm_rec r = {.magic = SHM_REC_MAGIC, .type = SHM_R_REFUSE, .a = why};
    (void)put(l, &r, -1);
}

void wio_shm_refuse(int fd, enum shm_refusal why)
{
    struct shm_rec r = {.magic = SHM_REC_MAGIC, .type = SHM_R_REFUSE, .a = why};
    (void)wio_os_send(fd, &r, sizeof r); /* the first record: there is room */
}

/* Give the peer a name in the own inbox. @return false: no memory */
static bool name_peer(struct shm_link *l)
{
    struct shm_iface *f = shm_of(l);
    uint32_t i = 0;
    while (i < f->nowners && f->owner[i] != NULL)
        i++;
    if (i == f->nowners) {
        uint32_t n = f->nowners == 0 ? 16 : 2 * f->nowners;
        if (n > 1u << SHM_OWNER_SLOT_BITS)
            return false;
        struct shm_link **o = wio_os_realloc(f->owner, n * sizeof *o);
        if (o == NULL)
            return false;
        f->owner = o;
        uint16_t *g = wio_os_realloc(f->owner_gen, n * sizeof *g);
        if (g == NULL)
            return false;
        f->owner_gen = g;
        memset(o + f->nowners, 0, (n - f->nowners) * sizeof *o);
        memset(g + f->nowners, 0, (n - f->nowners) * sizeof *g);
        f->nowners = n;
    }
    f->owner[i] = l;
    l->owner_in = shm_owner(i, f->owner_gen[i]);
    return true;
}

void wio_shm_setup(struct shm_link *l)
{
    struct shm_iface *f = shm_of(l);
    if (!name_peer(l)) {
        refuse(l, SHM_NO_MEMORY);
        wio_shm_link_over(l, WAITIO_ERR_NOROUTE, "no memory for another sender");
        return;
    }
    struct shm_rec r = {.magic = SHM_REC_MAGIC,
                        .type = SHM_R_SETUP,
                        .a = f->inbox.geo.cells,
                        .b = f->inbox.geo.cell_bytes,
                        .c = l->owner_in,
                        .d = SHM_VERSION,
                        .e = wio_shm_fetch_allow(l) << 1 | (f->membarrier ? 0 : 1)};
    int fd = wio_os_dup(f->inbox_fd);
    if (fd < 0) {
        refuse(l, SHM_NO_DESCRIPTOR);
        wio_shm_link_over(l, WAITIO_ERR_NOROUTE, "cannot pass the inbox: %s", strerror(-fd));
        return;
    }
    (void)put(l, &r, fd);
}

/* @return false: the link is over */
static bool map_inbox(struct shm_link *l, const struct shm_rec *r, int fd)
{
    struct shm_inbox_geo g = {r->a, r->b};
    const char *why = "its inbox has an impossible shape";
    void *map = NULL;
    if (wio_shm_inbox_geo_ok(&g) && r->d == SHM_VERSION && r->c != UINT32_MAX && r->c >> 28 == 0)
        map = wio_shm_attach(shm_of(l), fd, shm_inbox_bytes(&g), &why);
    if (map == NULL) {
        refuse(l, fd < 0 ? SHM_NO_DESCRIPTOR : SHM_BAD_SEGMENT);
        wio_shm_link_over(l, WAITIO_ERR_NOROUTE, "cannot use its inbox: %s", why);
        return false;
    }
    wio_shm_inbox_place(&l->peer, &g, map);
    l->owner_out = r->c;
    shm_choose_fences(l, (r->e & 1) == 0);
    wio_shm_fetch_try(l, r->e >> 1);
    return true;
}

static void go(struct shm_link *l)
{
    wio_shm_set_state(l, SHM_READY);
    if (l->bye_wanted) {
        wio_shm_set_state(l, SHM_DRAIN);
        wio_shm_say(l, SHM_R_LEAVING);
    }
    (void)wio_shm_tx_run(l);
}

static bool on_setup(struct shm_link *l, const struct shm_rec *r, int fd)
{
    if (l->state != SHM_SETUP || l->peer.head != NULL)
        return false;
    if (!map_inbox(l, r, fd))
        return true;
    if (l->dialled) {
        wio_shm_say(l, SHM_R_GO);
        go(l);
    } else {
        wio_shm_setup(l);
    }
    return true;
}

static bool on_go(struct shm_link *l)
{
    if (l->state != SHM_SETUP || l->dialled || l->peer.head == NULL)
        return false;
    go(l);
    return true;
}

static bool on_refuse(struct shm_link *l, uint32_t why)
{
    if (l->state != SHM_SETUP)
        return false;
    wio_shm_link_over(l, WAITIO_ERR_NOROUTE, "the other side refused: %s",
                      refusals[why < WIO_ARRAY_LEN(refusals) ? why : 0]);
    return true;
}

/* ---- rings ---- */

void wio_shm_no_memory(struct shm_link *l, const char *what)
{
    struct shm_iface *f = shm_of(l);
    if (!f->warned_memory)
        wio_info(f->base.p.log, WIO_C_SHM, "no memory for %s: the shared inbox serves on", what);
    f->warned_memory = true;
    l->declined = true;
}

void wio_shm_offer(struct shm_link *l)
{
    struct shm_iface *f = shm_of(l);
    int fd = -1;
    l->asked = true;
    l->asked_ns = wio_os_now_ns();
    l->w = wio_shm_writer_make(f, &fd);
    if (l->w == NULL) {
        wio_shm_no_memory(l, "a private ring");
        l->asked = false;
        return;
    }
    struct shm_rec r = {.magic = SHM_REC_MAGIC,
                        .type = SHM_R_RING,
                        .a = l->w->ring.geo.slots,
                        .b = l->w->ring.geo.mid,
                        .c = l->w->ring.geo.bulk};
    if (!put(l, &r, fd)) {
        wio_shm_writer_free(f, l->w);
        l->w = NULL;
        l->asked = false;
        l->declined = true;
    }
}

static bool on_ring(struct shm_link *l, const struct shm_rec *r, int fd)
{
    struct shm_iface *f = shm_of(l);
    struct shm_ring_geo g = {r->a, r->b, r->c};
    if (l->state < SHM_READY || l->r != NULL || !wio_shm_ring_geo_ok(&g))
        return false;
    if (f->rings_in < (uint32_t)f->base.p.cfg->shm_rings)
        l->r = wio_shm_reader_make(f, &g, fd);
    if (l->r != NULL)
        wio_shm_say(l, SHM_R_RING_OK);
    else
        wio_shm_say(l, SHM_R_RING_NO);
    return true;
}

static bool on_ring_answer(struct shm_link *l, bool yes)
{
    struct shm_iface *f = shm_of(l);
    if (!l->asked || l->w == NULL || l->out_ring)
        return false;
    l->asked = false;
    if (yes) {
        wio_shm_tx_switch(l);
        return true;
    }
    l->declined = true;
    wio_shm_writer_free(f, l->w);
    l->w = NULL;
    return true;
}

static bool on_ring_end(struct shm_link *l)
{
    if (!l->ring_done)
        return false;
    l->ring_done = false;
    wio_shm_writer_free(shm_of(l), l->w);
    l->w = NULL;
    return true;
}

/* ---- reading ---- */

/* @return false: the record is not allowed now */
static bool handle(struct shm_link *l, const struct shm_rec *r, int fd)
{
    switch (r->type) {
    case SHM_R_SETUP:
        return on_setup(l, r, fd);
    case SHM_R_GO:
        return on_go(l);
    case SHM_R_REFUSE:
        return on_refuse(l, r->a);
    case SHM_R_RING:
        return on_ring(l, r, fd);
    case SHM_R_RING_OK:
    case SHM_R_RING_NO:
        return on_ring_answer(l, r->type == SHM_R_RING_OK);
    case SHM_R_RING_END:
        return on_ring_end(l);
    case SHM_R_BELL:
        return true;
    case SHM_R_LEAVING:
        shm_of(l)->nleaving += !l->leaving;
        l->leaving = true;
        return true;
    case SHM_R_PING:
        wio_shm_say(l, SHM_R_PONG);
        return true;
    case SHM_R_PONG:
        l->ping_out = false;
        return true;
    default:
        return false;
    }
}

static void complete(struct shm_link *l)
{
    struct shm_rec r;
    memcpy(&r, l->rec, sizeof r);
    int fd = l->rec_fd;
    l->rec_have = 0;
    l->rec_fd = -1;
    bool fine = r.magic == SHM_REC_MAGIC && handle(l, &r, fd);
    wio_os_close(fd);
    if (!fine && l->state != SHM_OVER)
        wio_shm_violation(l, "a record on its socket makes no sense now");
}

int wio_shm_records(struct shm_link *l)
{
    int events = 0;
    while (l->fd >= 0 && !l->eof && events < SHM_RX_BUDGET) {
        int fd = -1;
        ssize_t n = wio_os_recv_fd(l->fd, &fd, l->rec + l->rec_have, sizeof l->rec - l->rec_have);
        if (fd >= 0) {
            wio_os_close(l->rec_fd);
            l->rec_fd = fd;
        }
        if (n == -EAGAIN)
            break;
        events++;
        l->heard_ns = wio_os_now_ns();
        if (n <= 0) {
            wio_shm_link_eof(l);
            break;
        }
        l->rec_have = (uint8_t)(l->rec_have + n);
        if (l->rec_have == sizeof l->rec)
            complete(l);
    }
    return events;
}
