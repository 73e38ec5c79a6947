/* SPDX-License-Identifier: BSD-3-Clause */
/* Long waits: dial sources without a link (a refused dial means that the process is dead), and
 * report what the program waits for. */
#include "p2p/universe.h"

#define SECOND_NS 1000000000LL
enum { DIALS_A_TICK = 4 };

struct scan {
    struct wio_universe *u;
    int64_t now, dial_after;
    const struct waitio_group *any; /* group of the any-source receive looked at last */
};

static void dial(struct wio_universe *u, uint32_t rank)
{
    struct wio_peer *p = wio_peer_get(u, rank);
    if (p == NULL || p->dead || rank == u->table->me)
        return;
    if (p->ep != NULL) {
        if (wio_peer_unguarded(u, p))
            wio_peer_guard(u, p);
        return;
    }
    char name[64];
    wio_debug(&u->log, WIO_C_P2P, "nothing heard from %s yet: dialling it",
              wio_peer_name(u, rank, name, sizeof name));
    if (wio_peer_connect(u, p) != 0)
        wio_peer_doom(u, p); /* fails outside the scan of the match tables */
}

/* Would nobody tell us of its death? */
static bool unlinked(const struct wio_universe *u, uint32_t rank)
{
    const struct wio_peer *p = u->peer[rank];
    return rank != u->table->me &&
           (p == NULL || (p->ep == NULL && !p->dead) || wio_peer_unguarded(u, p));
}

/* One unlinked member per round, in turn. */
static void dial_member(struct wio_universe *u, const struct waitio_group *g)
{
    for (uint32_t i = 0; i < g->size; i++) {
        uint32_t at = (u->dial_next % g->size + i) % g->size, rank = wio_group_member(g, at);
        if (unlinked(u, rank)) {
            u->dial_next = at + 1;
            dial(u, rank);
            return;
        }
    }
}

void wio_stuck_dial(struct wio_universe *u, const struct waitio_group *g)
{
    for (int i = 0; i < DIALS_A_TICK; i++)
        dial_member(u, g);
}

static void look(void *arg, struct wio_post *post)
{
    struct scan *s = arg;
    struct wio_request *r = WIO_CONTAINER(post, struct wio_request, post);
    if (r->seen_ns == 0) {
        r->seen_ns = s->now;
        return;
    }
    if (s->now - r->seen_ns < s->dial_after)
        return;
    if (r->src >= 0) {
        if (unlinked(s->u, (uint32_t)r->src))
            dial(s->u, (uint32_t)r->src);
    } else if (s->any != r->group) {
        s->any = r->group;
        dial_member(s->u, r->group);
    }
}

void wio_stuck_probe(struct wio_universe *u, const struct waitio_group *g, int64_t src, int64_t now)
{
    struct wio_peer *p = src < 0 ? NULL : wio_peer_get(u, (uint32_t)src);
    if (src >= 0 && (p == NULL || !unlinked(u, p->rank)))
        return;
    int64_t *since = p != NULL ? &p->looked_ns : &u->looked_ns;
    if (*since == 0)
        *since = now;
    if (now - *since < (int64_t)(u->cfg.dial_after * 1e9))
        return;
    if (p != NULL) {
        dial(u, p->rank);
    } else {
        *since = now - (int64_t)(u->cfg.dial_after * 1e9) +
                 SECOND_NS; /* the next member a second later */
        dial_member(u, g);
    }
}

/* A connection cap may have closed the link in between. */
void wio_stuck_redial(struct wio_universe *u, int64_t now)
{
    if (now - u->dial_ns <= (int64_t)(u->cfg.dial_after * 1e9))
        return;
    u->dial_ns = now;
    for (uint32_t i = 0; i < u->table->size; i++) {
        struct wio_peer *p = u->peer[i];
        if (p != NULL && !wio_list_empty(&p->owned) && unlinked(u, i))
            dial(u, i);
    }
}

void wio_stuck_check(struct wio_universe *u, int64_t now)
{
    u->stuck_ns = now;
    struct scan s = {
        .u = u, .now = now, .dial_after = (int64_t)(u->cfg.dial_after * 1e9) - WIO_TICK_NS};
    if (s.dial_after < 0)
        s.dial_after = 0;
    wio_expect_table_all(u);
    wio_match_each_post(&u->match, look, &s);
    wio_outside_stuck(u, now, s.dial_after);
    wio_stuck_redial(u, now);
}

/* Does a sender that could send it wait for what we hold? */
static bool awaits_room(const struct wio_universe *u, uint32_t rank)
{
    return u->peer[rank] != NULL && u->peer[rank]->credit.awaited;
}

static bool out_of_budget(const struct wio_request *r)
{
    if (r->src >= 0)
        return awaits_room(r->u, (uint32_t)r->src);
    for (uint32_t i = 0; r->group != NULL && i < r->group->size; i++)
        if (awaits_room(r->u, wio_group_member(r->group, i)))
            return true;
    return false;
}

static const char *state_text(const struct wio_request *r)
{
    bool send = r->kind == WIO_REQ_SEND;
    switch (r->state) {
    case WIO_RS_QUEUED:
        if (r->peer->link != WIO_EP_READY)
            return "waits for the connection";
        return r->u->ctr.pool_bytes + r->bytes > r->u->cfg.send_buffer_max
                   ? "waits: the send pool (WAITIO_SEND_BUFFER_MAX) is full and the receiver has "
                     "given no credit"
                   : "waits for the receiver's credit: it holds as many messages without a receive "
                     "as its WAITIO_UNEXPECTED_MAX allows";
    case WIO_RS_POSTED:
        return out_of_budget(r) ? "no matching message has arrived; others without a receive fill "
                                  "WAITIO_UNEXPECTED_MAX, and the sender waits for room"
                                : "no matching message has arrived";
    case WIO_RS_ASKED:
        return "asked to send; the receiver has not posted the receive";
    case WIO_RS_MOVING:
        return send         ? "data is being sent"
               : r->claimed ? "a matched probe has taken it, and it has not been received"
                            : "data is arriving";
    case WIO_RS_ACK:
        return r->lent ? "told where it lies; the receiver has not fetched it"
                       : "all data sent; the receiver's library has not confirmed it";
    default:
        return "done";
    }
}

/* A receive from any source goes on as long as one member lives: perhaps it waits for one that does
 * not. */
static void name_gone(struct wio_universe *u, const struct wio_request *r, struct wio_strbuf *sb)
{
    uint32_t gone = 0, first = 0;
    char name[64];
    for (uint32_t i = 0; i < r->group->size; i++) {
        uint32_t rank = wio_group_member(r->group, i);
        if (u->peer[rank] != NULL && u->peer[rank]->dead && gone++ == 0)
            first = rank;
    }
    if (gone == 0)
        return;
    wio_strbuf_add(sb, "; of its group %s", wio_peer_name(u, first, name, sizeof name));
    if (gone > 1)
        wio_strbuf_add(sb, " and %u others have failed or left", gone - 1);
    else
        wio_strbuf_add(sb, " has failed or left");
}

static void describe(struct wio_universe *u, const struct wio_request *r, struct wio_strbuf *sb)
{
    char name[64] = "any source";
    if (r->peer != NULL)
        wio_peer_name(u, r->peer->rank, name, sizeof name);
    else if (r->src >= 0)
        wio_peer_name(u, (uint32_t)r->src, name, sizeof name);
    if (r->kind == WIO_REQ_TASK) {
        wio_strbuf_add(sb,
                       "started collective, messages under way: %zu, the last one begun with %s",
                       r->total, name);
        return;
    }
    if (r->kind == WIO_REQ_USER) {
        wio_strbuf_add(sb, "generalized request: MPI_Grequest_complete has not been called");
        return;
    }
    bool send = r->kind == WIO_REQ_SEND;
    wio_strbuf_add(sb, "%s %s, ", send ? "send to" : "receive from", name);
    if (!send && r->state == WIO_RS_POSTED && r->tag < 0)
        wio_strbuf_add(sb, "any tag, ");
    else
        wio_strbuf_add(sb, "tag %d, ", r->tag);
    wio_strbuf_add(sb, "%zu bytes: %s", r->bytes, state_text(r));
    if (!send && r->state == WIO_RS_POSTED && r->src < 0 && r->group != NULL)
        name_gone(u, r, sb);
    if (r->state == WIO_RS_MOVING)
        wio_strbuf_add(sb, " (%zu of %zu bytes)", r->moved, send ? r->bytes : r->total);
}

/* The held messages to name: from the awaited source before others, then in order of arrival. */
#define NAMED 4
struct pick {
    int64_t from; /* awaited source, WIO_ANY */
    const struct wio_held *best[NAMED];
    int n;
};

static bool before(const struct pick *k, const struct wio_held *a, const struct wio_held *b)
{
    bool a_from = a->src == k->from, b_from = b->src == k->from;
    return a_from != b_from ? a_from : a->order < b->order;
}

static void choose(void *arg, struct wio_held *h)
{
    struct pick *k = arg;
    int at = k->n;
    while (at > 0 && before(k, h, k->best[at - 1])) {
        if (at < NAMED)
            k->best[at] = k->best[at - 1];
        at--;
    }
    if (at < NAMED)
        k->best[at] = h;
    if (k->n < NAMED)
        k->n++;
}

static void name_held(struct wio_universe *u, const struct wio_request *r, struct wio_strbuf *sb)
{
    bool receives = r != NULL && r->kind == WIO_REQ_RECV && r->state == WIO_RS_POSTED;
    struct pick k = {.from = receives ? r->src : WIO_ANY};
    char name[64];
    wio_match_each_held(&u->match, choose, &k);
    for (int i = 0; i < k.n; i++) {
        const struct wio_held *h = k.best[i];
        const struct wio_unexpected *m = WIO_CONTAINER(h, struct wio_unexpected, held);
        wio_strbuf_add(sb, "%s tag %lld, %zu bytes, from %s%s", i == 0 ? ":" : ";",
                       (long long)h->tag, m->total,
                       wio_peer_name(u, (uint32_t)h->src, name, sizeof name),
                       receives && h->space != r->post.space ? " (to another group)" : "");
    }
    if (u->match.nheld > (size_t)k.n)
        wio_strbuf_add(sb, "; and %zu more", u->match.nheld - (size_t)k.n);
}

/* Has this wait been reported in the same words before? The times are left out, and so is the
 * state of the link, which counts bytes. */
static bool said_already(struct wio_universe *u, const char *text, int64_t since_ns)
{
    uint64_t words = wio_hash64(wio_hash_bytes(1, text, strlen(text)), (uint64_t)since_ns);
    for (size_t i = 0; i < WIO_ARRAY_LEN(u->stuck_said); i++)
        if (u->stuck_said[i] == words)
            return true;
    u->stuck_said[u->stuck_next++ % WIO_ARRAY_LEN(u->stuck_said)] = words;
    return false;
}

static void describe_link(struct wio_universe *u, const struct wio_request *r,
                          struct wio_strbuf *sb)
{
    struct wio_peer *p = r->peer;
    if (p == NULL && r->src >= 0)
        p = u->peer[r->src];
    if (p != NULL && p->ep != NULL) {
        wio_strbuf_add(sb, "; link: ");
        p->iface->tr->dump(p->iface, p->ep, sb);
    } else {
        wio_strbuf_add(sb, "; no link%s", p != NULL && p->dead ? ", peer gone" : " yet");
    }
    if (p != NULL && p->side != NULL) {
        wio_strbuf_add(sb, "; large messages by ");
        p->side->iface->tr->dump(p->side->iface, p->side, sb);
    }
}

static __thread const char *call_name;

void wio_stuck_name(const char *call)
{
    call_name = call;
}

double wio_stuck_elsewhere(struct wio_universe *u, const char *call, double seconds)
{
    double warn = u->cfg.warn_wait;
    if (warn <= 0)
        return 1e9;
    if (seconds < warn)
        return warn;
    wio_warn(&u->log, WIO_C_P2P,
             "%s has waited %.0f s inside the other library: other processes of this program have "
             "not come to the same call, or wait for something else",
             call, seconds);
    return seconds + warn;
}

void wio_stuck_report(struct wio_universe *u, const char *what, struct wio_request *r,
                      int64_t since_ns)
{
    struct wio_strbuf sb = {0}, link = {0};
    if (call_name != NULL && *call_name == '\0')
        return;
    if (call_name != NULL)
        what = call_name;
    if (r != NULL)
        describe(u, r, &sb);
    wio_strbuf_add(&sb, "%sheld unexpectedly: %zu message%s", r != NULL ? "; " : "", u->match.nheld,
                   u->match.nheld == 1 ? "" : "s");
    name_held(u, r, &sb);
    wio_strbuf_add(&sb, "; send pool: %llu bytes", (unsigned long long)u->ctr.pool_bytes);
    if (sb.failed || !said_already(u, sb.text, since_ns)) {
        if (r != NULL && r->kind != WIO_REQ_USER)
            describe_link(u, r, &link);
        wio_warn(&u->log, WIO_C_P2P, "%s has waited %.0f s: %s%s", what,
                 (double)(wio_os_now_ns() - since_ns) / 1e9, sb.failed ? "?" : sb.text,
                 link.failed || link.text == NULL ? "" : link.text);
    }
    wio_strbuf_free(&sb);
    wio_strbuf_free(&link);
}

/* ---- dump for humans ---- */

static void dump_post(void *arg, struct wio_post *post)
{
    struct wio_strbuf *sb = arg;
    struct wio_request *r = WIO_CONTAINER(post, struct wio_request, post);
    wio_strbuf_add(sb, "  ");
    describe(r->u, r, sb);
    wio_strbuf_add(sb, "\n");
}

void wio_universe_dump(struct wio_universe *u, struct wio_strbuf *out)
{
    char name[64];
    wio_enter(u);
    wio_strbuf_add(out, "universe of %u processes in %u PBs; I am %s (universe rank %u)\n",
                   u->table->size, u->table->npb, wio_peer_name(u, u->table->me, name, sizeof name),
                   u->table->me);
    wio_strbuf_add(out, "posted receives: %zu, held messages: %zu\n", u->match.nposted,
                   u->match.nheld);
    wio_match_each_post(&u->match, dump_post, out);
    for (uint32_t i = 0; i < u->table->size; i++) {
        struct wio_peer *p = u->peer[i];
        if (p == NULL)
            continue;
        wio_strbuf_add(out, "peer %s: %s", wio_peer_name(u, i, name, sizeof name),
                       p->dead && p->why != NULL ? p->why
                       : p->dead                 ? "gone"
                       : p->ep == NULL           ? "no link"
                                                 : p->iface->tr->name);
        wio_strbuf_add(out, ", %u locally completed sends pending, credit %u\n", p->local_pending,
                       wio_credit_available(p));
        if (p->ep != NULL)
            p->iface->tr->dump(p->iface, p->ep, out);
        if (p->side != NULL) {
            wio_strbuf_add(out, "\n  large messages by ");
            p->side->iface->tr->dump(p->side->iface, p->side, out);
        }
        WIO_LIST_FOR(it, &p->expected)
        {
            const struct wio_expected *e = WIO_CONTAINER(it, struct wio_expected, node);
            wio_strbuf_add(out, "\n  receive, tag %d, %zu bytes: no matching message has arrived",
                           e->tag, e->bytes);
        }
        WIO_LIST_FOR(it, &p->owned)
        {
            wio_strbuf_add(out, "\n  ");
            describe(u, WIO_CONTAINER(it, struct wio_request, owned), out);
        }
        wio_strbuf_add(out, "\n");
    }
    wio_leave(u);
}
