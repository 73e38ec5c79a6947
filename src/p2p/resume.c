/* SPDX-License-Identifier: BSD-3-Clause */
/* Going on after a kill: what the engine asks, and the two calls of the program. */
#include "p2p/resume.h"

/* ---- the beginning of a life ---- */

struct loading {
    struct wio_universe *u;
    const struct wio_resume_row *row; /* of the older mark; NULL: nothing was exchanged */
    struct wio_resume_pair *pair;
    struct wio_peer *peer;
};

static struct wio_unexpected *stored_new(struct wio_universe *u, struct wio_peer *p,
                                         const struct wio_stored *s)
{
    struct wio_unexpected *m = wio_pool_get(&u->small_pool);
    struct wio_stored *copy = m == NULL ? NULL : wio_os_realloc(NULL, sizeof *copy);
    if (copy == NULL) {
        if (m != NULL)
            wio_pool_put(&u->small_pool, m);
        return NULL;
    }
    *copy = *s;
    *m = (struct wio_unexpected){.peer = p, .total = (size_t)s->bytes, .stored = copy};
    u->ctr.unexpected_msgs++;
    u->ctr.unexpected_bytes += sizeof *m;
    return m;
}

/* It waits for its receive before all that comes in this life. */
static int hold_stored(void *arg, const struct wio_stored *s)
{
    struct loading *l = arg;
    if (wio_resume_row_has(l->row, s->number))
        return 0;
    struct wio_unexpected *m = stored_new(l->u, l->peer, s);
    if (m == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for the messages of an earlier run");
    wio_match_hold(&l->u->match, &m->held, s->space, s->src, s->tag);
    return 0;
}

static int note_redo(void *arg, const struct wio_stored *s)
{
    struct wio_resume_pair *p = ((struct loading *)arg)->pair;
    if (p->nredo == p->room) {
        size_t room = p->room == 0 ? 16 : 2 * p->room;
        struct wio_stored *more = wio_os_realloc(p->redo, room * sizeof *more);
        if (more == NULL)
            return wio_fail(WAITIO_ERR_NOMEM, "no memory for the messages of an earlier run");
        p->redo = more;
        p->room = room;
    }
    p->redo[p->nredo++] = *s;
    return 0;
}

static int too_short(const struct wio_universe *u, uint32_t src, uint32_t dst, uint64_t has,
                     uint64_t needs)
{
    char a[64], b[64];
    return wio_fail(WAITIO_ERR_CONFIG,
                    "%s: the journal from %s to %s ends with message %llu, but a mark speaks of "
                    "message %llu: files are missing; remove the directory by waitio clean "
                    "--remove --resumable, and have the programs begin anew",
                    u->resume->path, wio_peer_name(u, src, a, sizeof a),
                    wio_peer_name(u, dst, b, sizeof b), (unsigned long long)has,
                    (unsigned long long)needs);
}

/* Both rows between this process and another one. */
static int load_pair(struct wio_universe *u, uint32_t rank)
{
    struct wio_resume *r = u->resume;
    struct wio_resume_pair *p = &r->pair[rank];
    const struct wio_resume_row *older = wio_resume_row(&r->kept[0], rank);
    const struct wio_resume_row *newer = wio_resume_row(&r->kept[1], rank);
    struct loading l = {.u = u, .row = older, .pair = p, .peer = wio_peer_get(u, rank)};
    if (l.peer == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for a new peer");
    uint32_t me = u->table->me;
    int rc = wio_journal_walk(&r->journal, rank, me, wio_resume_row_through(older), hold_stored, &l,
                              &p->in_base);
    if (rc == 0)
        rc = wio_journal_walk(&r->journal, me, rank, older != NULL ? older->sent : 0, note_redo, &l,
                              &p->out_last);
    if (rc == 0 && newer != NULL && p->in_base < newer->arrived)
        rc = too_short(u, rank, me, p->in_base, newer->arrived);
    if (rc == 0 && newer != NULL && p->out_last < newer->sent)
        rc = too_short(u, me, rank, p->out_last, newer->sent);
    return rc;
}

/* Has anything been exchanged with it in earlier lives? */
static bool is_known(const struct wio_resume *r, uint32_t rank)
{
    for (size_t i = 0; i < r->journal.n; i++)
        if (r->journal.segment[i].src == rank || r->journal.segment[i].dst == rank)
            return true;
    return wio_resume_row(&r->kept[1], rank) != NULL;
}

static int load(struct wio_universe *u)
{
    struct wio_resume *r = u->resume;
    int rc = wio_resume_states_read(&r->marks, r->kept);
    if (rc == 0)
        rc = wio_journal_list(&r->journal);
    for (uint32_t i = 0; i < u->table->size && rc == 0; i++)
        rc = is_known(r, i) ? load_pair(u, i) : 0;
    return rc;
}

int wio_resume_start(struct wio_universe *u)
{
    bool through_files = u->cfg.comm_type == WIO_CFG_COMM_TYPE_FILE;
    if (u->cfg.file_resume && u->table->size > 1 &&
        (u->cfg.comm_type == WIO_CFG_COMM_TYPE_HYBRID || u->iface[WIO_TR_MPI] != NULL))
        return wio_fail(WAITIO_ERR_UNSUPPORTED,
                        "WAITIO_FILE_RESUME=1 needs WAITIO_COMM_TYPE=file, and no WAITIO_INSIDE: "
                        "what goes another way is not kept");
    if (!through_files || u->table->size == 1)
        return 0;
    struct wio_resume *r = wio_os_alloc(sizeof *r);
    if (r == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for going on after a kill");
    r->dir = r->lock = -1;
    u->resume = r;
    int rc = wio_resume_open(u, r);
    if (rc != 0)
        return rc;
    if (!u->cfg.file_resume) {
        wio_resume_free(u);
        return 0;
    }
    r->pair = wio_os_alloc(u->table->size * sizeof *r->pair);
    if (r->pair == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for %u pairs", u->table->size);
    for (uint32_t i = 0; i < u->table->size; i++)
        r->pair[i].out.fd = -1;
    r->limit = u->cfg.maxfile_size / 2;
    r->journal.dir = r->marks.dir = r->dir;
    r->journal.path = r->marks.path = r->path;
    r->journal.me = r->marks.rank = u->table->me;
    r->marks.size = u->table->size;
    r->journal.universe = wio_hash_bytes(0, u->table->universe, WIO_UNIVERSE_ID);
    return load(u);
}

/* ---- where the program goes on ---- */

static int cannot(struct wio_resume *r, int code)
{
    r->code = code;
    wio_text(r->why, sizeof r->why, "%s", wio_last_detail());
    return code;
}

struct dropping {
    struct wio_universe *u;
    const struct wio_resume_state *mark;
};

static void drop_received(void *arg, struct wio_held *h)
{
    const struct dropping *d = arg;
    struct wio_unexpected *m = (struct wio_unexpected *)(void *)h;
    if (m->stored == NULL ||
        !wio_resume_row_has(wio_resume_row(d->mark, m->stored->src), m->stored->number))
        return;
    wio_match_unhold(&d->u->match, h);
    wio_unexpected_free(d->u, m);
}

static int begin(struct wio_universe *u, uint64_t number)
{
    struct wio_resume *r = u->resume;
    if (r->code != 0)
        return wio_fail(r->code, "%s", r->why);
    if (number != 0 && r->kept[1].number == 0 && r->journal.n == 0)
        return wio_fail(WAITIO_ERR_STATE,
                        "nothing is left to go on from mark %llu in %s: that run has ended in "
                        "order, or its directory was removed; begin anew, from mark 0",
                        (unsigned long long)number, r->path);
    if (number != r->kept[0].number && number != r->kept[1].number)
        return wio_fail(WAITIO_ERR_STATE,
                        "this process cannot go on from mark %llu: %s has marks %llu and %llu of "
                        "it. Call waitio_resume_from() with that of the program's own checkpoint, "
                        "before all messages; mark 0 is the beginning",
                        (unsigned long long)number, r->path, (unsigned long long)r->kept[0].number,
                        (unsigned long long)r->kept[1].number);
    const struct wio_resume_state *mark = &r->kept[number == r->kept[1].number];
    struct dropping d = {u, mark};
    wio_match_each_held(&u->match, drop_received, &d);
    for (uint32_t i = 0; i < mark->n; i++)
        r->pair[mark->row[i].rank].sent = mark->row[i].sent;
    r->number = number;
    r->begun = true;
    return 0;
}

int wio_resume_receives(struct wio_universe *u)
{
    struct wio_resume *r = u->resume;
    if (WIO_LIKELY(r->begun && r->code == 0))
        return 0;
    int rc = begin(u, 0);
    return rc == 0 || r->code != 0 ? rc : cannot(r, rc);
}

int wio_resume_from(struct wio_universe *u, uint64_t number)
{
    int rc = 0;
    wio_enter(u);
    if (u->resume == NULL && number != 0)
        rc = wio_fail(WAITIO_ERR_STATE,
                      "mark %llu: there is nothing to go on from; WAITIO_FILE_RESUME=1 with "
                      "WAITIO_COMM_TYPE=file, in all programs, keeps it",
                      (unsigned long long)number);
    else if (u->resume != NULL && u->resume->begun)
        rc = wio_fail(WAITIO_ERR_STATE,
                      "waitio_resume_from() comes too late: messages were exchanged, or it was "
                      "called before");
    else if (u->resume != NULL)
        rc = begin(u, number);
    wio_leave(u);
    return rc;
}
