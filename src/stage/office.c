/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of a stream. */
#include "stage/office.h"

#include <stdlib.h>
#include <string.h>

#include "waitio_stage.h"

/* A head: magic number, version, word, incarnation, four numbers, bytes of the body. Short bodies
 * follow in the same message. */
enum { MAGIC = 0x57535447, HEAD = 64, MESSAGE = 4096 };
static const uint64_t BODY_MOST = (uint64_t)1 << 36;

/* ---- signals -------------------------------------------------------------------------------- */

static int (*look_now)(void *with);
static void *look_with;

void waitio_stage_look_at(int (*look)(void *with), void *with)
{
    look_now = look;
    look_with = with;
}

bool wio_stg_looks(void)
{
    return look_now != NULL;
}

bool wio_stg_look(void)
{
    return look_now != NULL && look_now(look_with) != 0;
}

/* ---- heads ---------------------------------------------------------------------------------- */

static void write_head(struct wio_stg_bytes *b, const struct wio_stg_head *h, size_t n)
{
    wio_stg_put_u32(b, MAGIC);
    wio_stg_put_u32(b, WIO_STG_VERSION << 16 | (uint32_t)h->word);
    wio_stg_put_u64(b, h->incarnation);
    wio_stg_put_u64(b, (uint64_t)h->a);
    wio_stg_put_u64(b, (uint64_t)h->b);
    wio_stg_put_u64(b, (uint64_t)h->c);
    wio_stg_put_u64(b, (uint64_t)h->d);
    wio_stg_put_u64(b, n);
    wio_stg_put_u64(b, 0);
}

static int read_head(struct wio_stg_event *e, uint64_t *body)
{
    struct wio_stg_scan s = {e->hold, e->bytes, false};
    uint32_t magic = wio_stg_take_u32(&s), word = wio_stg_take_u32(&s);

    e->head.word = (enum wio_stg_word)(word & 0xffff);
    e->head.incarnation = wio_stg_take_u64(&s);
    e->head.a = (int64_t)wio_stg_take_u64(&s);
    e->head.b = (int64_t)wio_stg_take_u64(&s);
    e->head.c = (int64_t)wio_stg_take_u64(&s);
    e->head.d = (int64_t)wio_stg_take_u64(&s);
    *body = wio_stg_take_u64(&s);
    (void)wio_stg_take_u64(&s);
    if (s.bad || magic != MAGIC || *body > BODY_MOST || (s.left > 0 && s.left != *body))
        return wio_stg_fail(WAITIO_ERR_PROTOCOL,
                            "process %d has sent %zu bytes that are no message of a stream",
                            e->source, e->bytes);
    if (word >> 16 != WIO_STG_VERSION)
        return wio_stg_fail(WAITIO_ERR_VERSION,
                            "process %d speaks version %u of the streams' messages, this one "
                            "version %d: use one release of WaitIO for writers and readers",
                            e->source, word >> 16, WIO_STG_VERSION);
    e->body = s.at;
    e->n_body = s.left;
    return 0;
}

/* ---- the list ------------------------------------------------------------------------------- */

/* What was sent and is over, for nobody. */
static void sweep(struct wio_stg_office *o)
{
    for (int i = 0; i < o->n;) {
        int over = 0;

        if (o->slots[i].sends && o->slots[i].kind == WIO_STG_NOBODY)
            (void)waitio_test(&o->reqs[i], &over, NULL);
        if (!over) {
            i++;
            continue;
        }
        free(o->slots[i].own);
        o->reqs[i] = o->reqs[--o->n];
        o->slots[i] = o->slots[o->n];
    }
}

/* Who sends may seldom wait, and would not notice that what was sent is over: so the list is swept
 * before it grows. It grows also when half of it is left, or it would be swept again and again. */
static int make_room(struct wio_stg_office *o)
{
    int room = o->room > 0 ? o->room * 2 : 16;
    waitio_req_t *reqs;
    struct wio_stg_slot *slots;

    if (o->n < o->room)
        return 0;
    sweep(o);
    if (o->n < o->room / 2)
        return 0;
    reqs = realloc(o->reqs, (size_t)room * sizeof *reqs);
    if (reqs != NULL)
        o->reqs = reqs;
    slots = realloc(o->slots, (size_t)room * sizeof *slots);
    if (slots != NULL)
        o->slots = slots;
    if (reqs == NULL || slots == NULL)
        return wio_stg_fail(WAITIO_ERR_NOMEM, "no memory for %d messages", room);
    o->room = room;
    return 0;
}

static int failed(int rc)
{
    return wio_stg_fail(rc, "%s", waitio_last_error());
}

static int post(struct wio_stg_office *o, const struct wio_stg_slot *slot, const void *from,
                void *to, size_t n)
{
    int rc = make_room(o);

    if (rc != 0)
        return rc;
    memset(&o->reqs[o->n], 0, sizeof o->reqs[o->n]);
    rc = slot->sends ? waitio_isend(o->group, slot->peer, from, n, slot->tag, &o->reqs[o->n])
                     : waitio_irecv(o->group, slot->peer, to, n, slot->tag, &o->reqs[o->n]);
    if (rc != 0)
        return failed(rc);
    if (slot->sends)
        o->bytes_sent += n;
    o->slots[o->n++] = *slot;
    return 0;
}

int wio_stg_take(struct wio_stg_office *o, int peer, int tag, void *to, size_t n, int kind,
                 void *with)
{
    const struct wio_stg_slot slot = {.kind = kind, .tag = tag, .peer = peer, .with = with};

    return post(o, &slot, NULL, to, n);
}

int wio_stg_give(struct wio_stg_office *o, int peer, int tag, const void *from, size_t n,
                 unsigned char *own, int kind, void *with)
{
    const struct wio_stg_slot slot = {
        .kind = kind, .tag = tag, .peer = peer, .sends = true, .with = with, .own = own};

    return post(o, &slot, from, NULL, n);
}

static int await(struct wio_stg_office *o, struct wio_stg_slot *slot)
{
    int rc;

    slot->headed = true;
    slot->own = wio_stg_new(MESSAGE, 1);
    rc = slot->own == NULL ? WAITIO_ERR_NOMEM : post(o, slot, NULL, slot->own, MESSAGE);
    if (rc != 0)
        free(slot->own);
    return rc;
}

int wio_stg_await(struct wio_stg_office *o, int peer, int tag, int kind, void *with)
{
    struct wio_stg_slot slot = {.kind = kind, .tag = tag, .peer = peer, .with = with};

    return await(o, &slot);
}

int wio_stg_await_all(struct wio_stg_office *o, int tag, int kind)
{
    struct wio_stg_slot slot = {.kind = kind, .tag = tag, .peer = WAITIO_ANY_SOURCE, .stays = true};

    return await(o, &slot);
}

static int send_own(struct wio_stg_office *o, int peer, int tag, struct wio_stg_bytes *b)
{
    int rc = b->bad ? WAITIO_ERR_NOMEM
                    : wio_stg_give(o, peer, tag, b->at, b->n, b->at, WIO_STG_NOBODY, NULL);

    if (rc != 0)
        wio_stg_bytes_free(b);
    return rc;
}

int wio_stg_tell(struct wio_stg_office *o, int peer, int tag, const struct wio_stg_head *head,
                 const void *body, size_t n)
{
    struct wio_stg_bytes b = {NULL, 0, 0, false}, rest = b;
    bool apart = n > MESSAGE - HEAD;
    int rc;

    write_head(&b, head, n);
    wio_stg_put_raw(apart ? &rest : &b, body, n);
    if (rest.bad) {
        wio_stg_bytes_free(&b);
        return WAITIO_ERR_NOMEM;
    }
    rc = send_own(o, peer, tag, &b);
    if (apart && rc == 0)
        rc = send_own(o, peer, tag + 1, &rest);
    else if (apart)
        wio_stg_bytes_free(&rest);
    return rc;
}

/* ---- what happens --------------------------------------------------------------------------- */

/* The body of a head that was too long to follow it is awaited like any message, and the event kept
 * until then: its sender may stop, or die, before it has sent it. */
static int await_body(struct wio_stg_office *o, const struct wio_stg_slot *slot,
                      const struct wio_stg_event *e, uint64_t n)
{
    struct wio_stg_slot body = {
        .kind = slot->kind, .tag = slot->tag + 1, .peer = e->source, .with = slot->with};
    int rc;

    body.head = wio_stg_new(1, sizeof *body.head);
    body.own = body.head != NULL ? wio_stg_new((size_t)n, 1) : NULL;
    rc = body.own != NULL ? post(o, &body, NULL, body.own, (size_t)n) : WAITIO_ERR_NOMEM;
    if (rc != 0) {
        free(body.head);
        free(body.own);
        return rc;
    }
    *body.head = *e;
    body.head->n_body = (size_t)n;
    return 0;
}

static void take_body(const struct wio_stg_slot *slot, const waitio_status_t *status, int rc,
                      struct wio_stg_event *e)
{
    *e = *slot->head;
    free(slot->head);
    e->body = e->hold_body = slot->own;
    e->rc = rc;
    if (rc != 0)
        (void)failed(rc);
    else if (status->bytes != e->n_body)
        e->rc = wio_stg_fail(WAITIO_ERR_PROTOCOL, "process %d has sent %zu bytes of %zu", e->source,
                             status->bytes, e->n_body);
}

/* @return false: the rest of it is still to come */
static bool finish(struct wio_stg_office *o, const struct wio_stg_slot *slot,
                   const waitio_status_t *status, int rc, struct wio_stg_event *e)
{
    uint64_t body = 0;

    if (rc == 0 && !slot->sends)
        o->bytes_received += status->bytes;
    if (slot->head != NULL) {
        take_body(slot, status, rc, e);
        return true;
    }
    *e = (struct wio_stg_event){.kind = slot->kind, .with = slot->with, .rc = rc};
    e->source = slot->peer >= 0 ? slot->peer : status->source;
    e->bytes = status->bytes;
    e->hold = slot->own;
    if (rc != 0)
        (void)failed(rc);
    if (rc != 0 || !slot->headed)
        return true;
    e->rc = status->cancelled ? wio_stg_fail(WAITIO_ERR_STATE, "the receive was withdrawn")
                              : read_head(e, &body);
    if (e->rc != 0 || body == e->n_body)
        return true;
    e->rc = await_body(o, slot, e, body);
    return e->rc != 0;
}

void wio_stg_event_end(struct wio_stg_event *e)
{
    free(e->hold);
    free(e->hold_body);
    e->hold = e->hold_body = NULL;
}

/* Else nobody lives who could send anything, or the receive was withdrawn. */
static bool something_came(const waitio_status_t *status, int rc)
{
    return (rc == 0 && !status->cancelled) || rc == WAITIO_ERR_TRUNCATE;
}

/* One request is over. @return an error of the office, not of the message */
static int take_out(struct wio_stg_office *o, int at, const waitio_status_t *status, int rc,
                    struct wio_stg_event *e, bool *found)
{
    const struct wio_stg_slot slot = o->slots[at];

    o->reqs[at] = o->reqs[--o->n];
    o->slots[at] = o->slots[o->n];
    *found = finish(o, &slot, status, rc, e);
    if (!slot.stays || !something_came(status, rc))
        return 0;
    rc = wio_stg_await_all(o, slot.tag, slot.kind);
    if (rc != 0 && *found)
        wio_stg_event_end(e);
    *found = *found && rc == 0;
    return rc;
}

/* @return 0, also for a message that failed: that is in the event */
static int wait_once(struct wio_stg_office *o, double seconds, struct wio_stg_event *e, bool *found)
{
    *found = false;
    for (;; seconds = 0) { /* the rest of a message may be here already */
        waitio_status_t status = {.source = -1};
        int index = WAITIO_UNDEFINED, flag = 0, rc;

        rc = waitio_waitany_for(o->n, o->reqs, seconds, &index, &flag, &status);
        if (index < 0 || index >= o->n)
            return rc != 0 ? failed(rc) : 0;
        if (!flag && rc == 0)
            return 0;
        rc = take_out(o, index, &status, rc, e, found);
        if (rc != 0 || *found)
            return rc;
    }
}

int wio_stg_next(struct wio_stg_office *o, double seconds, struct wio_stg_event *e, bool *found)
{
    double until = wio_stg_now() + seconds, left = seconds;

    for (;;) {
        double slice = o->looks && wio_stg_looks() && left > WIO_STG_SLICE ? WIO_STG_SLICE : left;
        int rc = wait_once(o, slice > 0 ? slice : 0, e, found);
        bool again;

        if (rc != 0)
            return rc;
        if (*found && e->kind != WIO_STG_NOBODY)
            return 0;
        again = *found; /* what was sent is over: there may be more, whatever the time */
        if (again)
            wio_stg_event_end(e);
        *found = false;
        if (o->looks && wio_stg_look())
            return wio_stg_fail(WAITIO_ERR_CANCELLED, "the wait was broken off by a signal");
        left = until - wio_stg_now();
        if (!again && left <= 0 && slice <= 0)
            return 0;
    }
}

bool wio_stg_waits(const struct wio_stg_office *o, int peer, int tag)
{
    waitio_status_t status;
    int found = 0;

    return waitio_iprobe(o->group, peer, tag, &found, &status) == 0 && found != 0;
}

bool wio_stg_awaits(const struct wio_stg_office *o, int kind)
{
    for (int i = 0; i < o->n; i++)
        if (o->slots[i].kind == kind)
            return true;
    return false;
}

/* What is under way reads or fills its memory still, which is not freed.
 * @return how often it is not the office's */
static int abandon(struct wio_stg_office *o)
{
    int others = 0;

    for (int i = 0; i < o->n; i++) {
        struct wio_stg_slot *slot = &o->slots[i];

        others += slot->kind != WIO_STG_NOBODY && slot->own == NULL;
        if (slot->head != NULL)
            wio_stg_event_end(slot->head);
        free(slot->head);
        (void)waitio_request_free(&o->reqs[i]);
    }
    return others;
}

void wio_stg_withdraw(struct wio_stg_office *o, int kind)
{
    for (int i = 0; i < o->n; i++)
        if (o->slots[i].kind == kind && !o->slots[i].sends && o->slots[i].head == NULL)
            (void)waitio_cancel(&o->reqs[i]);
}

int wio_stg_office_close(struct wio_stg_office *o, double seconds)
{
    double until = wio_stg_now() + seconds;
    int rc = 0, others;

    for (int i = 0; i < o->n; i++) {
        o->slots[i].stays = false;
        if (!o->slots[i].sends && o->slots[i].head == NULL)
            (void)waitio_cancel(&o->reqs[i]);
    }
    while (o->n > 0) {
        struct wio_stg_event e;
        bool found = false;
        double left = until - wio_stg_now();

        rc = wait_once(o, left > 0 ? left : 0, &e, &found);
        if (rc != 0 || (!found && left <= 0))
            break;
        if (found)
            wio_stg_event_end(&e);
    }
    others = rc == 0 ? abandon(o) : 0; /* else the universe was left, and nothing is under way */
    free(o->reqs);
    free(o->slots);
    o->reqs = NULL;
    o->slots = NULL;
    o->n = o->room = 0;
    return others;
}

int wio_stg_wake(waitio_group_t group, int me, int tag)
{
    const struct wio_stg_head head = {.word = WIO_STG_NOTHING};
    struct wio_stg_bytes b = {NULL, 0, 0, false};
    waitio_req_t req = WAITIO_REQ_NULL;
    int rc;

    write_head(&b, &head, 0);
    rc = b.bad ? WAITIO_ERR_NOMEM : waitio_isend(group, me, b.at, b.n, tag, &req);
    if (rc == 0)
        rc = waitio_wait(&req);
    if (rc != 0 && !b.bad)
        rc = failed(rc);
    wio_stg_bytes_free(&b);
    return rc;
}
