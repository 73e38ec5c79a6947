/* SPDX-License-Identifier: BSD-3-Clause */
/** @file link.c  Links: from the first message of either side to the goodbyes of both. */
#include "emulator/emulator.h"

/* Which tag a member's frames and data have. In one MPI job the ranks tell members apart; in one
 * process (tests) the tags must. */
static void set_tags(struct waitio_iface *f, struct emu_link *l)
{
    enum { ROOM = 64 }; /* members of such a universe */
    int me = (int)f->me, peer = (int)l->base.peer;
    if (!f->solo) {
        l->rank = f->peer[peer].rank;
        l->tag_frame = EMU_TAG_FRAMES;
        for (int way = 0; way < EMU_WAYS; way++)
            l->tag[way] = l->rtag[way] = EMU_TAG_FRAMES + 1 + way;
        return;
    }
    l->tag_frame = EMU_TAG_SOLO + peer;
    for (int way = 0; way < EMU_WAYS; way++) {
        l->tag[way] = EMU_TAG_SOLO + ROOM + EMU_WAYS * (ROOM * me + peer) + way;
        l->rtag[way] = EMU_TAG_SOLO + ROOM + EMU_WAYS * (ROOM * peer + me) + way;
    }
}

struct emu_link *emu_link_new(struct waitio_iface *f, uint32_t peer)
{
    struct emu_link *l = f->host->alloc(sizeof *l);
    if (l == NULL)
        return NULL;
    l->base.iface = f;
    l->base.peer = peer;
    l->base.state = WAITIO_LINK_CONNECTING;
    emu_list_init(&l->node);
    emu_list_init(&l->small);
    emu_list_init(&l->bulk);
    emu_list_init(&l->asked);
    emu_list_init(&l->kept);
    emu_list_init(&l->flying);
    emu_list_init(&l->arriving);
    emu_list_init(&l->waiting);
    set_tags(f, l);
    emu_list_push(&f->links, &l->all);
    return l;
}

void emu_busy(struct waitio_iface *f, struct emu_link *l)
{
    if (l->busy)
        return;
    l->busy = true;
    f->nbusy++;
    emu_list_push(&f->busy, &l->node);
}

static void at_rest(struct waitio_iface *f, struct emu_link *l)
{
    if (!l->busy)
        return;
    l->busy = false;
    f->nbusy--;
    emu_list_remove(&l->node);
}

void emu_free_link(struct waitio_link *link)
{
    struct emu_link *l = emu_link_of(link);
    struct waitio_iface *f = link->iface;
    at_rest(f, l);
    emu_abandon(f, l, false);
    emu_list_remove(&l->all);
    if (f->peer[link->peer].link == l)
        f->peer[link->peer].link = NULL;
    if (f->peer[link->peer].next == l)
        f->peer[link->peer].next = NULL;
    if (f->head_read == l)
        f->head_read = NULL;
    f->host->free(l);
}

/* The first thing to say. */
static void open_link(struct waitio_iface *f, struct emu_link *l)
{
    if (!l->said_open && emu_say(f, l, EMU_OPEN, 0) != 0)
        return; /* again in the next round */
    l->said_open = true;
    if (l->base.state == WAITIO_LINK_CONNECTING)
        l->base.state = WAITIO_LINK_READY;
}

int emu_connect(struct waitio_iface *f, uint32_t peer, struct waitio_link **link)
{
    if (peer >= f->count || peer == f->me || !emu_in_job(f, peer))
        return f->host->fail(WAITIO_ERR_NOROUTE, "universe rank %u is %s", peer,
                             peer == f->me      ? "this process"
                             : peer >= f->count ? "no member"
                                                : "not in this MPI job");
    if (f->down)
        return f->host->fail(WAITIO_ERR_STATE,
                             "MPI_Finalize was called: call waitio_finalize before it");
    struct emu_peer *p = &f->peer[peer];
    bool old = p->link != NULL && p->link->base.state >= WAITIO_LINK_CLOSING;
    struct emu_link **at = old ? &p->next : &p->link;
    if (*at == NULL) {
        *at = emu_link_new(f, peer);
        if (*at == NULL)
            return f->host->fail(WAITIO_ERR_NOMEM, "no memory for a link");
        if (!old && !p->left && emu_may(f))
            open_link(f, *at);
        emu_busy(f, *at);
    }
    *link = &(*at)->base;
    return 0;
}

void emu_tell_ready(struct waitio_iface *f, struct emu_link *l)
{
    if (l->told_ready)
        return;
    l->told_ready = true;
    if (l->base.state >= WAITIO_LINK_CLOSING)
        return; /* closed before anybody heard of it */
    l->base.state = WAITIO_LINK_READY;
    f->p->up->state(f->p->user, &l->base, 0, WAITIO_BYE_NONE, NULL);
}

static bool is_final(int reason)
{
    return reason >= WAITIO_BYE_ABORT;
}

void emu_close(struct waitio_link *link, int reason)
{
    struct emu_link *l = emu_link_of(link);
    struct waitio_iface *f = link->iface;
    if (link->state >= WAITIO_LINK_CLOSING && (!is_final(reason) || is_final(l->reason)))
        return;
    if (link->state == WAITIO_LINK_CLOSED)
        return;
    link->state = WAITIO_LINK_CLOSING;
    l->reason = reason;
    /* waitio_abort() does not come back to progress(). */
    if (is_final(reason) && l->said_open && !l->said_bye && emu_may(f))
        l->said_bye = emu_say(f, l, EMU_BYE, reason) == 0;
    emu_busy(f, l);
}

void emu_link_fail(struct waitio_iface *f, struct emu_link *l, int err, const char *text)
{
    if (l->err != 0)
        return;
    l->err = err;
    l->reason = err == WAITIO_ERR_NOMEM ? WAITIO_BYE_NOMEM : WAITIO_BYE_ERROR;
    size_t n = strlen(text);
    if (n >= sizeof l->why)
        n = sizeof l->why - 1;
    memcpy(l->why, text, n);
    l->why[n] = '\0';
    if (l->base.state < WAITIO_LINK_CLOSING)
        l->base.state = WAITIO_LINK_CLOSING;
    emu_busy(f, l);
}

void emu_heard_bye(struct waitio_iface *f, struct emu_link *l, int reason)
{
    bool open = l->base.state < WAITIO_LINK_CLOSING;
    l->heard_bye = true;
    l->base.state = WAITIO_LINK_CLOSING;
    if (l->err == 0) {
        l->reason = reason;
        if (is_final(reason))
            l->err = WAITIO_ERR_PEER; /* the reason says it all */
    }
    emu_busy(f, l);
    if (open && l->err == 0)
        f->p->up->state(f->p->user, &l->base, 0, reason, NULL);
}

/* ---- the end ---- */

static void over(struct waitio_iface *f, struct emu_link *l)
{
    struct emu_peer *p = &f->peer[l->base.peer];
    emu_abandon(f, l, true);
    emu_drop_queued(f, l, l->err != 0 ? l->err : WAITIO_ERR_PEER);
    p->deaf = l->said_open && !l->heard_bye && !p->left;
    bool farewell = l->reason == WAITIO_BYE_FINALIZE;
    p->gone = p->gone || l->err != 0 || is_final(l->reason);
    p->left = p->left || (l->heard_bye && farewell);
    p->told = p->told || (l->said_bye && farewell);
    p->link = p->next;
    p->next = NULL;
    if (p->link != NULL)
        emu_busy(f, p->link);
    at_rest(f, l);
    l->base.state = WAITIO_LINK_CLOSED;
    f->p->up->state(f->p->user, &l->base, l->err, l->reason, l->why[0] != '\0' ? l->why : NULL);
}

static bool all_sent(const struct emu_link *l)
{
    return emu_list_empty(&l->small) && emu_list_empty(&l->bulk) && emu_list_empty(&l->asked) &&
           emu_list_empty(&l->kept) && emu_list_empty(&l->flying);
}

/* @return whether the link has ended */
static bool ends_badly(struct waitio_iface *f, struct emu_link *l)
{
    if (l->err == 0 && !is_final(l->reason))
        return false;
    bool abort = l->reason == WAITIO_BYE_ABORT && l->heard_bye; /* nobody is there to hear us */
    if (!l->said_bye && !abort && l->said_open)
        l->said_bye = emu_say(f, l, EMU_BYE, l->heard_bye ? WAITIO_BYE_CAP : l->reason) == 0;
    over(f, l);
    return true;
}

static bool ends_well(struct waitio_iface *f, struct emu_link *l)
{
    if (!all_sent(l) && !f->peer[l->base.peer].left)
        return false;
    if (!l->said_open && emu_list_empty(&l->small) && emu_list_empty(&l->bulk)) {
        over(f, l); /* nobody has heard of it */
        return true;
    }
    if (!l->said_bye)
        l->said_bye = emu_say(f, l, EMU_BYE, l->reason) == 0;
    if (!l->said_bye || !(l->heard_bye || f->peer[l->base.peer].left) || l->narriving > 0 ||
        !emu_list_empty(&l->waiting))
        return false;
    over(f, l);
    return true;
}

/* The peer has left the universe before this link could begin. */
static bool too_late(struct waitio_iface *f, struct emu_link *l)
{
    if (!f->peer[l->base.peer].left || l->told_ready)
        return false;
    l->reason = WAITIO_BYE_FINALIZE;
    over(f, l);
    return true;
}

int emu_link_work(struct waitio_iface *f, struct emu_link *l, bool *stop)
{
    if (f->peer[l->base.peer].link != l) { /* it waits for the end of the one before */
        at_rest(f, l);
        return 0;
    }
    if (too_late(f, l))
        return 1;
    bool idle_close = l->base.state == WAITIO_LINK_CLOSING && !l->said_open && all_sent(l);
    if (!idle_close)
        open_link(f, l);
    int events = !l->told_ready;
    emu_tell_ready(f, l);
    if (l->said_open)
        events += emu_arrivals(f, l, stop) + emu_pump(f, l);
    if (l->base.state == WAITIO_LINK_CLOSING && (ends_badly(f, l) || ends_well(f, l)))
        return events + 1;
    if (l->base.state == WAITIO_LINK_READY && l->narriving == 0 && emu_list_empty(&l->waiting) &&
        all_sent(l))
        at_rest(f, l);
    return events;
}
