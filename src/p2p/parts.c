/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving a message whose pieces come by several connections, in any order: see stripe.h. Each
 * piece goes straight to its place in the buffer. What comes twice, because the lane of the first
 * broke, is dropped if all of it is there. The buffer is the program's again only when no
 * connection writes to it any more: one that still holds a piece which has come another way is
 * closed.
 */
#include "p2p/stripe.h"

/* Of a peer: the first bounds what the record of its pieces takes; the second is what one message
 * can carry. */
enum { UNIT_MIN = 4096, UNIT_MAX = WIO_PAYLOAD_MAX };

static bool has(const struct wio_parts *s, size_t i)
{
    return (s->have[i / 8] & (1u << i % 8)) != 0;
}

/* @return whether every unit of these bytes is there */
static bool has_all(const struct wio_parts *s, size_t at, size_t bytes)
{
    size_t i = at / s->unit, end = (at + bytes + s->unit - 1) / s->unit;
    while (i < end && has(s, i))
        i++;
    return i == end;
}

static const char *fault(const struct wio_request *r, const struct wio_msg *msg, uint32_t bytes)
{
    const struct wio_parts *s = r->parts;
    if (wio_is_spread(r) || r->lent || msg->b < UNIT_MIN || msg->b > UNIT_MAX ||
        (s == NULL && r->moved > 0) || (s != NULL && s->unit != msg->b))
        return "was not asked for in this order";
    size_t left = msg->a < r->granted ? r->granted - (size_t)msg->a : 0;
    if (msg->a % msg->b != 0 || bytes > left || (bytes % msg->b != 0 && bytes != left))
        return "does not continue its message";
    return NULL;
}

int wio_parts_offer(struct wio_request *r, const struct wio_msg *msg, uint32_t bytes, unsigned lane,
                    struct wio_sink *sink, const char **why)
{
    *why = fault(r, msg, bytes);
    if (*why != NULL)
        return WAITIO_ERR_PROTOCOL;
    struct wio_parts *s = r->parts;
    if (s == NULL) {
        size_t unit = (size_t)msg->b, units = (r->granted + unit - 1) / unit;
        s = wio_os_alloc(sizeof *s + (units + 7) / 8);
        if (s == NULL)
            return wio_fail(WAITIO_ERR_NOMEM, "no memory for the order of %zu pieces", units);
        s->unit = unit;
        r->parts = s;
    }
    sink->cookie = r;
    if (!has_all(s, (size_t)msg->a, bytes)) {
        sink->buf = r->buf + msg->a;
        sink->len = bytes;
    }
    s->open++;
    if (lane > 0)
        s->lanes |= (uint8_t)(1u << lane);
    return 0;
}

/* All has come. */
static void complete(struct wio_request *r)
{
    struct wio_peer *p = r->peer;
    const struct wio_parts *s = r->parts;
    if (s->open == 0) {
        wio_recv_complete(r);
        return;
    }
    for (unsigned k = 1; p->lanes != NULL && k < WIO_LANES; k++)
        if ((s->lanes & (1u << k)) != 0)
            p->lanes->at[k].stale = p->lanes->trim = true;
    wio_peer_activate(r->u, p);
}

void wio_parts_landed(struct wio_request *r, unsigned lane, const struct wio_sink *sink)
{
    struct wio_parts *s = r->parts;
    s->open--;
    if (lane > 0)
        s->lanes &= (uint8_t) ~(1u << lane);
    size_t at = sink->len > 0 ? (size_t)((uint8_t *)sink->buf - r->buf) : 0;
    for (size_t end = at + sink->len; at < end; at += s->unit) {
        size_t i = at / s->unit;
        if (has(s, i))
            continue;
        s->have[i / 8] |= (uint8_t)(1u << i % 8);
        r->moved += end - at < s->unit ? end - at : s->unit;
    }
    if (r->moved == r->granted)
        complete(r);
}

void wio_parts_abandoned(struct wio_request *r)
{
    r->parts->open--;
    if (r->moved == r->granted) {
        complete(r);
    } else if (r->peer->dead && r->parts->open == 0) { /* it could not fail before */
        r->peer->moving--;
        wio_req_finish(r, WAITIO_ERR_PEER);
    }
}

void wio_parts_forget(struct wio_peer *p, unsigned lane)
{
    WIO_LIST_FOR(it, &p->owned)
    {
        struct wio_request *r = WIO_CONTAINER(it, struct wio_request, owned);
        if (r->kind == WIO_REQ_RECV && r->parts != NULL)
            r->parts->lanes &= (uint8_t) ~(1u << lane);
    }
}
