/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of a message space. The members of a collective wait for each other: one that fails
 * leaves others waiting for messages that will never come, also members that exchange nothing with
 * the process that died. So a member that finds a failure revokes the space: it sends REVOKE to
 * other members, which send it on. Their pending operations in that space end with an error, and
 * new ones fail. Up to 16 members send to all others; in larger groups to those whose ranks lie a
 * power of two away (a binomial graph: Angskun, Bosilca, Dongarra: Binomial Graph: A Scalable and
 * Fault-Tolerant Logical Network Topology, ISPA 2007), so that each sends 2 log2 n messages and all
 * living members are reached although some have died. MPI's fault-tolerance proposal calls this
 * MPI_Comm_revoke (Bland, Bouteiller, Herault, Bosilca, Dongarra: Post-failure recovery of MPI
 * communication capability, Int. J. High Performance Computing Applications 27(3), 2013).
 *
 * No buffer stays in use: receives without a message are cancelled; data that is on its way between
 * living processes arrives; a send that waits for an answer gets one, because its receiver gets the
 * REVOKE, too, and refuses it; a send that has not started goes without its data, because envelope
 * numbers must have no gap.
 */
#include "p2p/universe.h"

enum { TELL_ALL = 16, REVOKED_MAX = 65536 };
#define WIO_NOBODY UINT32_MAX

const struct wio_revoked *wio_revoked_in(const struct wio_universe *u, uint64_t space)
{
    for (uint32_t i = 0; i < u->nrevoked; i++)
        if (u->revoked[i].space == space)
            return &u->revoked[i];
    return NULL;
}

/* @return false: known already, or no memory, or too many */
static bool note(struct wio_universe *u, const struct wio_revoked *v)
{
    if (wio_is_revoked(u, v->space) || u->nrevoked == REVOKED_MAX)
        return false;
    struct wio_revoked *list = wio_os_realloc(u->revoked, ((size_t)u->nrevoked + 1) * sizeof *list);
    if (list == NULL)
        return false;
    list[u->nrevoked] = *v;
    u->revoked = list;
    __atomic_store_n(&u->nrevoked, u->nrevoked + 1, __ATOMIC_RELAXED);
    return true;
}

/* ---- pending operations of this process ---- */

static void end_request(struct wio_request *r)
{
    if (r->kind == WIO_REQ_RECV && r->state == WIO_RS_POSTED) {
        wio_match_unpost(&r->u->match, &r->post);
        wio_req_finish(r, WAITIO_ERR_PEER);
    } else if (r->kind == WIO_REQ_USER && !r->user_done) {
        wio_req_finish(r, WAITIO_ERR_PEER); /* of another library (outside.c) */
    } else if (r->kind == WIO_REQ_SEND && r->state == WIO_RS_QUEUED && !r->local) {
        r->bytes = 0; /* the envelope is sent, and dropped there: see above */
        r->sync = false;
        wio_req_user_done(r, WAITIO_ERR_PEER);
    }
}

static void end_requests(struct wio_universe *u, uint64_t space)
{
    for (uint32_t s = 0; s < u->nslabs; s++) {
        for (uint32_t i = 0; i < WIO_SLAB; i++) {
            struct wio_request *r = &u->slab[s][i];
            if (r->kind != WIO_REQ_FREE && r->space == space)
                end_request(r);
        }
    }
}

static void drop_held(void *arg, struct wio_held *h)
{
    struct wio_unexpected *m = (struct wio_unexpected *)(void *)h;
    struct wio_universe *u = arg;
    if (!wio_is_revoked(u, h->space) || (!m->rts && m->arrived < m->total))
        return;
    wio_match_unhold(&u->match, h);
    wio_recv_discard(u, m);
}

/* ---- telling others ---- */

static void tell(struct wio_universe *u, uint32_t rank, const struct wio_revoked *v)
{
    struct wio_msg m = {
        .op = WIO_OP_REVOKE, .space = v->space, .a = v->culprit, .b = (uint64_t)-v->code};
    struct wio_peer *p = rank == u->table->me ? NULL : wio_peer_get(u, rank);
    if (p != NULL && !p->dead)
        (void)wio_send_ctl(u, p, &m, WIO_TX_SMALL);
}

static void tell_others(struct wio_universe *u, const struct waitio_group *g,
                        const struct wio_revoked *v)
{
    uint32_t n = g->size, me = (uint32_t)g->my_rank;
    if (n <= TELL_ALL) {
        for (uint32_t i = 0; i < n; i++)
            tell(u, wio_group_member(g, i), v);
        return;
    }
    for (uint64_t step = 1; step < n; step *= 2) {
        tell(u, wio_group_member(g, (uint32_t)((me + step) % n)), v);
        tell(u, wio_group_member(g, (uint32_t)((me + n - step) % n)), v);
    }
}

/* ---- the end ---- */

static void revoke_tied(struct wio_universe *u, const struct wio_revoked *v);

static void revoke(struct wio_universe *u, const struct waitio_group *g, struct wio_revoked v)
{
    char name[64], by[64];
    if (!note(u, &v))
        return;
    wio_info(&u->log, WIO_C_P2P,
             "no more collectives of one communicator: %s failed (reported by %s)",
             wio_peer_name(u, v.culprit, name, sizeof name),
             v.teller == u->table->me ? "this process" : wio_peer_name(u, v.teller, by, sizeof by));
    wio_expect_table_all(u);
    end_requests(u, v.space);
    wio_match_each_held(&u->match, drop_held, u);
    if (g != NULL && g->my_rank >= 0)
        tell_others(u, g, &v);
    u->completed = true;
    wio_announce(u);
    revoke_tied(u, &v);
}

/* What has been waited for in other spaces would not come, either. */
static void revoke_tied(struct wio_universe *u, const struct wio_revoked *v)
{
    WIO_LIST_FOR(it, &u->groups)
    {
        const struct waitio_group *g = WIO_CONTAINER(it, struct waitio_group, node);
        if (g->tied == v->space)
            revoke(u, g, (struct wio_revoked){g->together, v->culprit, v->teller, v->code});
    }
}

int wio_revoke_with(struct wio_universe *u, struct waitio_group *g, uint64_t space)
{
    wio_enter(u);
    g->tied = space;
    wio_leave(u);
    return wio_revoked_check(u, space);
}

/* A member that has died, or else one that has finalized, or else this process: a member that has
 * revoked the space itself may refuse a message and die before its REVOKE is sent. WIO_NOBODY: this
 * process finalizes. */
static uint32_t who_is_missing(const struct wio_universe *u, const struct waitio_group *g)
{
    uint32_t left = u->table->me;
    for (uint32_t i = 0; i < g->size; i++) {
        const struct wio_peer *p = u->peer[wio_group_member(g, i)];
        if (p != NULL && p->dead && !p->left)
            return p->rank;
        if (p != NULL && p->left)
            left = p->rank;
    }
    return u->ending ? WIO_NOBODY : left;
}

void wio_revoke_locked(struct wio_universe *u, const struct waitio_group *g, int code)
{
    uint32_t culprit = code == WAITIO_ERR_PEER ? who_is_missing(u, g) : u->table->me;
    /* A process that finalizes may have abandoned a collective, and members may have finalized
     * since: that does not end the collectives of other members. */
    if (culprit != WIO_NOBODY)
        revoke(u, g, (struct wio_revoked){g->space, culprit, u->table->me, code});
}

void wio_revoke(struct wio_universe *u, const struct waitio_group *g, int code)
{
    wio_enter(u);
    wio_revoke_locked(u, g, code);
    wio_leave(u);
}

void wio_revoke_of(struct wio_universe *u, const struct wio_peer *dead)
{
    WIO_LIST_FOR(it, &u->groups)
    {
        const struct waitio_group *g = WIO_CONTAINER(it, struct waitio_group, node);
        uint64_t space = __atomic_load_n(&g->together, __ATOMIC_ACQUIRE);
        if (space != 0 && wio_group_rank_of(g, dead->rank) >= 0)
            revoke(u, g, (struct wio_revoked){space, dead->rank, u->table->me, WAITIO_ERR_PEER});
    }
}

int wio_revoke_heard(struct wio_universe *u, const struct wio_peer *from, const struct wio_msg *msg)
{
    const struct waitio_group *g = NULL;
    if (msg->a >= u->table->size || msg->b == 0 || msg->b > -WAITIO_ERR_LAST)
        return wio_fail(WAITIO_ERR_PROTOCOL, "a REVOKE names universe rank %llu of %u, error %llu",
                        (unsigned long long)msg->a, u->table->size, (unsigned long long)msg->b);
    WIO_LIST_FOR(it, &u->groups)
    {
        const struct waitio_group *at = WIO_CONTAINER(it, struct waitio_group, node);
        if (__atomic_load_n(&at->together, __ATOMIC_ACQUIRE) == msg->space)
            g = at;
    }
    revoke(u, g, (struct wio_revoked){msg->space, (uint32_t)msg->a, from->rank, -(int)msg->b});
    return 0;
}

static int told(const struct wio_universe *u, const struct wio_revoked *v, int code,
                const char *what)
{
    char name[64], by[64];
    const struct wio_peer *p = u->peer[v->culprit];
    return wio_fail(code, "%s%s %s a collective of this communicator (%s)%s%s", what,
                    wio_peer_name(u, v->culprit, name, sizeof name),
                    p != NULL && p->left ? "has finalized before" : "failed in",
                    wio_error_message(v->code), v->teller == u->table->me ? "" : ", says ",
                    v->teller == u->table->me ? "" : wio_peer_name(u, v->teller, by, sizeof by));
}

int wio_revoked_error(const struct wio_universe *u, uint64_t space)
{
    return told(u, wio_revoked_in(u, space), WAITIO_ERR_PEER, "");
}

int wio_revoked_reason(struct wio_universe *u, uint64_t space)
{
    wio_enter(u);
    int rc = wio_is_revoked(u, space) ? wio_revoked_error(u, space) : 0;
    wio_leave(u);
    return rc;
}

/* A member that only sends, as rank 0 of a scan, never waits, and so never reads a REVOKE. It polls
 * after this many collectives, or sooner when they take long. */
enum { LOOKS_APART = 256, CLOCKS_APART = 32 };
#define LOOK_NS 10000000LL

static void look_around(struct wio_universe *u, uint32_t calls)
{
    int64_t now = wio_os_now_ns();
    if (calls % LOOKS_APART != 0 && now - u->looked_around_ns < LOOK_NS)
        return;
    wio_enter(u);
    u->looked_around_ns = now;
    if (!u->polling)
        (void)wio_progress(u, WIO_PROGRESS_FULL);
    wio_leave(u);
}

int wio_revoked_check(struct wio_universe *u, uint64_t space)
{
    uint32_t calls = atomic_load_explicit(&u->collectives, memory_order_relaxed) + 1;
    atomic_store_explicit(&u->collectives, calls, memory_order_relaxed); /* about right will do */
    if (WIO_UNLIKELY(calls % CLOCKS_APART == 0))
        look_around(u, calls);
    if (WIO_LIKELY(__atomic_load_n(&u->nrevoked, __ATOMIC_RELAXED) == 0))
        return 0;
    wio_enter(u);
    const struct wio_revoked *v = wio_revoked_in(u, space);
    int rc = v == NULL ? 0
                       : told(u, v, WAITIO_ERR_REVOKED,
                              "this communicator takes no more collectives, since ");
    wio_leave(u);
    return rc;
}
