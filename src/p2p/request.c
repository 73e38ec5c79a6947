/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots of operations: allocation, names (index and generation), completion. */
#include "p2p/universe.h"

/* Generation 0 never occurs, so that an all-zero handle is null. */
static void next_generation(struct wio_request *r)
{
    if (++r->generation == 0)
        r->generation = 1;
}

static int add_slab(struct wio_universe *u)
{
    struct wio_request **list =
        wio_os_realloc(u->slab, ((size_t)u->nslabs + 1) * sizeof(struct wio_request *));
    if (list == NULL)
        return WAITIO_ERR_NOMEM;
    u->slab = list;
    struct wio_request *slab = wio_os_alloc(WIO_SLAB * sizeof *slab);
    if (slab == NULL)
        return WAITIO_ERR_NOMEM;
    for (uint32_t i = 0; i < WIO_SLAB; i++) {
        slab[i].index = u->nslabs * WIO_SLAB + i;
        slab[i].u = u;
        next_generation(&slab[i]);
        slab[i].next_free = i + 1 < WIO_SLAB ? &slab[i + 1] : u->free_req;
    }
    u->free_req = slab;
    u->slab[u->nslabs++] = slab;
    u->ctr.request_bytes += WIO_SLAB * sizeof *slab;
    return 0;
}

static void reset(struct wio_request *r, uint8_t kind)
{
    memset((char *)r + offsetof(struct wio_request, kind), 0,
           offsetof(struct wio_request, tx) - offsetof(struct wio_request, kind));
    r->tx.node.next = NULL;
    r->kind = kind;
    r->user_holds = true;
}

static inline struct wio_request *slot(struct wio_universe *u)
{
    if (WIO_UNLIKELY(u->free_req == NULL) && add_slab(u) != 0)
        return NULL;
    struct wio_request *r = u->free_req;
    u->free_req = r->next_free;
    return r;
}

struct wio_request *wio_req_new(struct wio_universe *u, uint8_t kind)
{
    struct wio_request *r = slot(u);
    if (r != NULL)
        reset(r, kind);
    return r;
}

struct wio_request *wio_req_new_brief(struct wio_universe *u)
{
    struct wio_request *r = slot(u);
    if (WIO_UNLIKELY(r == NULL))
        return NULL;
    if (WIO_UNLIKELY(!r->clean)) {
        reset(r, WIO_REQ_RECV);
    } else { /* all before status_source, and ... */
        memset(&r->kind, 0, offsetof(struct wio_request, err) - offsetof(struct wio_request, kind));
        r->err = 0;
        r->kind = WIO_REQ_RECV;
        r->user_holds = true;
        r->peer = NULL;
        r->task = NULL;
        r->total = 0;
    }
    r->brief = true;
    r->state = WIO_RS_POSTED;
    return r;
}

void wio_req_release(struct wio_request *r)
{
    if (r->group != NULL && --r->group->refs == 0)
        wio_group_destroy(r->group);
    r->kind = WIO_REQ_FREE;
    r->clean = r->brief;
    next_generation(r);
    r->next_free = r->u->free_req;
    r->u->free_req = r;
}

uint64_t wio_req_id(const struct wio_request *r)
{
    return (uint64_t)r->generation << 32 | (r->index + 1);
}

struct wio_request *wio_req_at(struct wio_universe *u, uint32_t index, uint32_t generation)
{
    if (index / WIO_SLAB >= u->nslabs)
        return NULL;
    struct wio_request *r = &u->slab[index / WIO_SLAB][index % WIO_SLAB];
    return r->kind != WIO_REQ_FREE && r->generation == generation ? r : NULL;
}

struct wio_request *wio_req_by_id(struct wio_universe *u, uint64_t id)
{
    uint32_t slot = (uint32_t)id;
    return slot == 0 ? NULL : wio_req_at(u, slot - 1, (uint32_t)(id >> 32));
}

bool wio_req_was(struct wio_universe *u, uint64_t id)
{
    uint32_t slot = (uint32_t)id, generation = (uint32_t)(id >> 32);
    if (slot == 0 || generation == 0 || (slot - 1) / WIO_SLAB >= u->nslabs)
        return false;
    const struct wio_request *r = &u->slab[(slot - 1) / WIO_SLAB][(slot - 1) % WIO_SLAB];
    return r->generation == generation ? r->state == WIO_RS_DONE
                                       : (int32_t)(r->generation - generation) > 0;
}

void wio_req_user_done(struct wio_request *r, int err)
{
    if (r->user_done)
        return;
    if (r->err == 0)
        r->err = err;
    r->user_done = true;
    if (WIO_TRACED(r->u) && (r->kind == WIO_REQ_SEND || r->kind == WIO_REQ_RECV))
        wio_mark_over(r->u, r->expected.mark,
                      (uint8_t)((r->err != 0 ? WIO_EVENT_FLAG_FAILED : 0) |
                                (r->cancelled ? WIO_EVENT_FLAG_CANCELLED : 0)));
    wio_note(r->u);
    if (r->waited)
        r->u->stop_now = true;
    if (WIO_UNLIKELY(r->task != NULL))
        wio_task_landed(r);
}

static void pool_release(struct wio_request *r)
{
    if (r->pool != NULL) {
        r->u->ctr.pool_bytes -= r->bytes;
        wio_buffer_put(&r->u->buffers, r->pool, r->bytes);
        r->pool = NULL;
    }
    if (r->local) {
        r->local = false;
        r->peer->local_pending--;
    }
}

void wio_req_bulky(struct wio_request *r)
{
    if (r->state != WIO_RS_DONE && r->bytes > r->u->cfg.local_max && !r->bulky) {
        r->bulky = true;
        r->u->bulk++;
    }
}

static void end_stripes(struct wio_request *r)
{
    wio_os_free(r->stripe);
    wio_os_free(r->parts);
    r->stripe = NULL;
    r->parts = NULL;
}

void wio_req_finish(struct wio_request *r, int err)
{
    if (r->bulky) {
        r->bulky = false;
        r->u->bulk--;
    }
    if (r->kind == WIO_REQ_SEND && atomic_load_explicit(&r->lend, memory_order_relaxed) != 0)
        wio_fetch_forbid(r);
    if (WIO_UNLIKELY(r->loaned) && r->peer->ep != NULL)
        r->peer->ep->iface->tr->let_go(r->peer->ep, &r->tx);
    pool_release(r);
    if (wio_is_spread(r))
        wio_spread_end(r);
    if (WIO_UNLIKELY(r->stripe != NULL || r->parts != NULL))
        end_stripes(r);
    wio_list_remove(&r->node);
    wio_list_remove(&r->owned);
    r->state = WIO_RS_DONE;
    wio_req_user_done(r, err);
    if (!r->user_holds)
        wio_req_release(r);
}
