/* SPDX-License-Identifier: BSD-3-Clause */
/* Going on after a kill: messages into and out of the journals, and marks. */
#include <inttypes.h>

#include "p2p/resume.h"

enum { SEGMENT_MIN = 1 << 16, SEGMENT_MAX = 1 << 24, SEGMENTS = 16 };

/* ---- sending ---- */

static int cannot(struct wio_resume *r, int code)
{
    r->code = code;
    wio_text(r->why, sizeof r->why, "%s", wio_last_detail());
    return code;
}

/* What the receivers will never ask for again. */
static int forget(struct wio_universe *u)
{
    struct wio_resume *r = u->resume;
    int rc = 0;
    for (uint32_t i = 0; i < u->table->size && rc == 0; i++) {
        if (r->pair[i].out_last == 0)
            continue;
        struct wio_resume_files theirs = r->marks;
        struct wio_resume_state of[2];
        theirs.rank = i;
        rc = wio_resume_states_read(&theirs, of);
        if (rc != 0)
            break;
        if (of[0].number > 0)
            wio_journal_forget(&r->journal, i,
                               wio_resume_row_through(wio_resume_row(&of[0], u->table->me)));
        wio_resume_state_free(&of[0]);
        wio_resume_state_free(&of[1]);
    }
    return rc;
}

static int make_room(struct wio_universe *u, const struct wio_request *q, uint64_t most)
{
    struct wio_resume *r = u->resume;
    struct wio_resume_pair *p = &r->pair[q->peer->rank];
    char name[64];
    uint64_t bytes = q->bytes + WIO_JOURNAL_HEAD + WIO_JOURNAL_RECORD + WIO_JOURNAL_TAIL;
    bool next = p->out.at > WIO_JOURNAL_HEAD && p->out.at + bytes > most;
    int rc = next || r->journal.bytes + bytes > r->limit ? forget(u) : 0;
    if (rc == 0 && r->journal.bytes + bytes > r->limit)
        rc = wio_fail(WAITIO_ERR_LIMIT,
                      "message %" PRIu64 " of %zu bytes to %s: the journals in %s would be longer "
                      "than half of WAITIO_MAXFILE_SIZE_PER_PROC=%" PRIu64
                      ". A receiver's second mark after a message lets it go: have all programs "
                      "call waitio_resume_mark() more often, or raise the variable",
                      p->sent, q->bytes, wio_peer_name(u, q->peer->rank, name, sizeof name),
                      r->path, 2 * r->limit);
    return rc;
}

static int append(struct wio_request *q, const struct wio_sent *m)
{
    struct wio_universe *u = q->u;
    struct wio_resume *r = u->resume;
    struct wio_resume_pair *p = &r->pair[q->peer->rank];
    uint64_t most = r->limit / SEGMENTS;
    most = most < SEGMENT_MIN ? SEGMENT_MIN : most > SEGMENT_MAX ? SEGMENT_MAX : most;
    int rc = make_room(u, q, most);
    bool closed = p->out.fd < 0;
    if (rc == 0)
        rc = wio_journal_append(&r->journal, &p->out, q->peer->rank, most, m);
    r->nopen += closed && p->out.fd >= 0;
    if (p->out.fd >= 0 && r->nopen > (uint32_t)wio_os_fd_limit() / 8) {
        wio_os_close(p->out.fd);
        p->out.fd = -1;
        r->nopen--;
    }
    if (rc == 0) {
        p->out_last = m->number;
        u->ctr.resume_kept++;
    }
    return rc;
}

/* An earlier life has sent the message of this number. @return 1; < 0: that was another one */
static int once_more(struct wio_request *q, const struct wio_sent *m)
{
    struct wio_universe *u = q->u;
    struct wio_resume *r = u->resume;
    const struct wio_resume_pair *p = &r->pair[q->peer->rank];
    char name[64];
    uint32_t is = 0, was = 0;
    u->ctr.resume_skipped++;
    if (p->nredo == 0 || m->number < p->redo[0].number)
        return 1; /* the receiver has marked that it has it, and the journal has let it go */
    const struct wio_stored *s = &p->redo[m->number - p->redo[0].number];
    int rc = wio_journal_sum_of(m, &is);
    if (rc == 0)
        rc = wio_journal_sum(&r->journal, s, &was);
    if (rc != 0)
        return rc;
    if (s->space == m->space && s->tag == m->tag && s->bytes == m->bytes && is == was)
        return 1;
    return wio_fail(WAITIO_ERR_PROTOCOL,
                    "message %" PRIu64 " to %s was sent before the kill with tag %d and %" PRIu64
                    " bytes, and now with tag %d, %zu bytes and perhaps other content: with "
                    "WAITIO_FILE_RESUME=1 a program must repeat itself from its mark on (%s)",
                    m->number, wio_peer_name(u, q->peer->rank, name, sizeof name), (int)s->tag,
                    s->bytes, (int)m->tag, m->bytes, r->path);
}

int wio_resume_send(struct wio_request *q)
{
    struct wio_resume *r = q->u->resume;
    int rc = wio_resume_receives(q->u);
    if (rc != 0)
        return rc;
    struct wio_resume_pair *p = &r->pair[q->peer->rank];
    struct wio_sent m = {.number = p->sent + 1,
                         .space = q->space,
                         .buf = q->buf,
                         .spread = wio_is_spread(q) ? &q->spread : NULL,
                         .peer = q->status_source,
                         .tag = q->tag,
                         .bytes = q->bytes};
    p->sent++;
    rc = m.number <= p->out_last ? once_more(q, &m) : append(q, &m);
    return rc < 0 ? cannot(r, rc) : rc;
}

/* ---- receiving ---- */

/* @return 0; CONFIG, SYSTEM, NOMEM */
static int copy_out(struct wio_request *q, const struct wio_stored *s)
{
    struct wio_universe *u = q->u;
    size_t most = q->bytes < s->bytes ? q->bytes : (size_t)s->bytes;
    uint32_t is = 0, was = 0;
    bool spread = wio_is_spread(q);
    for (size_t at = 0; at < most;) {
        size_t n = spread && most - at > WIO_SPREAD_PIECE ? WIO_SPREAD_PIECE : most - at;
        uint8_t *to = spread ? wio_spread_room(q, n) : q->buf + at;
        if (to == NULL)
            return wio_fail(WAITIO_ERR_NOMEM, "no memory for a piece of %zu bytes", n);
        int rc = wio_journal_data(&u->resume->journal, s, at, to, n);
        if (rc != 0)
            return rc;
        is = wio_crc32c(is, to, n);
        if (spread)
            wio_spread_write(q, at, n, to);
        at += n;
    }
    if (spread)
        wio_spread_piece_free(q);
    int rc = most < s->bytes ? 0 : wio_journal_sum(&u->resume->journal, s, &was);
    return rc != 0                        ? rc
           : most < s->bytes || is == was ? 0
                                          : wio_journal_damaged(&u->resume->journal, s);
}

void wio_resume_take(struct wio_request *q, struct wio_unexpected *m)
{
    struct wio_universe *u = q->u;
    int rc = copy_out(q, m->stored);
    q->remote = 0;
    q->granted = q->moved = m->total;
    wio_unexpected_free(u, m);
    u->ctr.resume_delivered++;
    if (rc == 0) {
        wio_recv_complete(q);
        return;
    }
    q->peer->moving--;
    wio_list_remove(&q->owned);
    wio_req_finish(q, cannot(u->resume, rc));
}

/* ---- marks ---- */

/* The program's memory must hold all that it has received, and nothing that is on its way. */
static int must_be_quiet(struct wio_universe *u)
{
    char name[64];
    for (uint32_t i = 0; i < u->table->size; i++)
        if (u->peer[i] != NULL && u->peer[i]->dead && !u->peer[i]->left)
            return wio_fail(WAITIO_ERR_PEER, "%s has died: the marks before stay",
                            wio_peer_name(u, i, name, sizeof name));
    for (uint32_t s = 0; s < u->nslabs; s++)
        for (uint32_t i = 0; i < WIO_SLAB; i++)
            if (u->slab[s][i].kind == WIO_REQ_RECV)
                return wio_fail(WAITIO_ERR_BUSY,
                                "waitio_resume_mark(): a receive is pending, or nobody has waited "
                                "for it yet; end all receives first");
    return u->ntasks == 0 ? 0
                          : wio_fail(WAITIO_ERR_BUSY,
                                     "waitio_resume_mark(): a non-blocking collective is pending");
}

struct collecting {
    struct wio_universe *u;
    struct wio_resume_state *mark;
    bool fill;
};

static uint64_t number_of(const struct wio_universe *u, const struct wio_unexpected *m)
{
    return m->stored != NULL ? m->stored->number
                             : u->resume->pair[m->peer->rank].in_base + m->envelope;
}

static void collect(void *arg, struct wio_held *h)
{
    const struct collecting *c = arg;
    const struct wio_unexpected *m = (const struct wio_unexpected *)(const void *)h;
    struct wio_resume_row *row =
        (struct wio_resume_row *)(uintptr_t)wio_resume_row(c->mark, m->peer->rank);
    if (c->fill)
        row->missing[row->nmissing] = number_of(c->u, m);
    else
        c->mark->nwords++;
    row->nmissing++;
}

/* @return 0; NOMEM */
static int take_state(struct wio_universe *u, struct wio_resume_state *mark)
{
    const struct wio_resume *r = u->resume;
    struct collecting c = {.u = u, .mark = mark};
    mark->row = wio_os_alloc((u->table->size + 1) * sizeof *mark->row);
    if (mark->row == NULL)
        return WAITIO_ERR_NOMEM;
    for (uint32_t i = 0; i < u->table->size; i++)
        if (u->peer[i] != NULL)
            mark->row[mark->n++] =
                (struct wio_resume_row){.rank = i,
                                        .sent = r->pair[i].sent,
                                        .arrived = r->pair[i].in_base + u->peer[i]->recv_envelope};
    wio_match_each_held(&u->match, collect, &c);
    mark->words = wio_os_alloc((mark->nwords + 1) * sizeof *mark->words);
    if (mark->words == NULL)
        return WAITIO_ERR_NOMEM;
    size_t used = 0;
    for (uint32_t i = 0; i < mark->n; i++) {
        mark->row[i].missing = mark->words + used;
        used += mark->row[i].nmissing;
        mark->row[i].nmissing = 0;
    }
    c.fill = true;
    wio_match_each_held(&u->match, collect, &c);
    return 0;
}

static int make_mark(struct wio_universe *u, uint64_t *number)
{
    struct wio_resume *r = u->resume;
    int rc = wio_resume_receives(u);
    if (rc == 0)
        rc = must_be_quiet(u);
    if (rc != 0)
        return rc;
    struct wio_resume_state mark = {.number = r->number + 1};
    rc = take_state(u, &mark);
    if (rc != 0)
        (void)wio_fail(rc, "no memory for a mark");
    else
        rc = wio_resume_states_write(&r->marks, &mark);
    wio_resume_state_free(&mark);
    if (rc == 0)
        *number = ++r->number;
    return rc;
}

int wio_resume_mark(struct wio_universe *u, uint64_t *number)
{
    int rc = 0;
    *number = 0;
    wio_enter(u);
    if (u->resume != NULL)
        rc = make_mark(u, number);
    wio_leave(u);
    return rc;
}

/* ---- the end ---- */

void wio_resume_leave(struct wio_universe *u, bool early)
{
    struct wio_resume *r = u->resume;
    bool well = r != NULL && r->code == 0 && !early;
    for (uint32_t i = 0; well && i < u->table->size; i++)
        well = u->peer[i] == NULL || !u->peer[i]->dead || u->peer[i]->left;
    if (well)
        wio_resume_end(u, r);
}

void wio_resume_free(struct wio_universe *u)
{
    struct wio_resume *r = u->resume;
    if (r == NULL)
        return;
    for (uint32_t i = 0; r->pair != NULL && i < u->table->size; i++) {
        wio_os_close(r->pair[i].out.fd);
        wio_os_free(r->pair[i].redo);
    }
    wio_os_free(r->pair);
    wio_resume_state_free(&r->kept[0]);
    wio_resume_state_free(&r->kept[1]);
    wio_journal_free(&r->journal);
    wio_os_close(r->lock);
    wio_os_close(r->dir);
    wio_os_free(r);
    u->resume = NULL;
}
