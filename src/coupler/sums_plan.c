/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which side remaps, and what the senders' part of it is. The receivers have the rows of the table:
 * each finds those all of whose sources one sender has, and, if the senders remap, sends these to
 * it. Nobody else sees them.
 */
#include <stdlib.h>
#include <string.h>

#include "coupler/message.h"
#include "coupler/sums.h"

/* The sender remaps by itself where that saves this part of what travels: less is not worth the
 * second plan. */
enum { SAVED_PART = 10 };

/* A record for a sender. KIND: the number of a sum, whose entry it is or whose scale; or a point
 * that travels as it is. POINT is a place in the list of points that it sends, SCALE in a scale. */
enum { KIND, POINT, TARGET, COEF, COS, SIN, WORDS };
enum { AS_IT_IS = -1, SCALE = -1 };
/* By row: the peer that has all its sources, or: */
enum { SEVERAL = -1 };

struct planner {
    struct waitio_cpl *cpl;
    struct wio_cpl_table *table;
    const struct wio_cpl_team *team;
    struct wio_cpl_sums *sums;
    const struct wio_cpl_grid *grid; /* receiver: of this component */
    int32_t *peer;                   /* receiver: by source point, whose it is */
    int32_t *whole;                  /* receiver: by row, which peer makes its sum, or SEVERAL */
    uint32_t *rest;                  /* receiver: by source point: its number in the rest, from 1 */
};

int wio_cpl_sums_wanted(const struct waitio_cpl *cpl, const struct wio_cpl_table *t)
{
    int wanted = 0;

    for (size_t i = 0; i < cpl->conf.links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(&cpl->conf, i);

        if (wio_cpl_table_fits(cpl, t, l))
            wanted |= 1 << l->side;
    }
    return wanted;
}

bool wio_cpl_sums_of(const struct wio_cpl_table *table, const struct wio_cpl_link *link)
{
    if (table->sums == NULL || link->side == WIO_CPL_SIDE_RECEIVE)
        return false;
    return link->side == WIO_CPL_SIDE_SEND || table->sums_pay;
}

void wio_cpl_sums_free(struct wio_cpl_sums *sums)
{
    if (sums == NULL)
        return;
    for (size_t i = 0; sums->shares != NULL && i < sums->n; i++) {
        wio_cpl_remap_free(&sums->shares[i].sum);
        free(sums->shares[i].target);
        free(sums->shares[i].at);
    }
    sums->rest.fixed = NULL; /* the table's */
    sums->rest.value = NULL;
    wio_cpl_remap_free(&sums->rest);
    free(sums->shares);
    free(sums->to);
    free(sums);
}

/* ---- at the receiver: whose is what? --------------------------------------------------------- */

static const struct wio_cpl_peer *peer_at(const struct planner *p, size_t i)
{
    return (const struct wio_cpl_peer *)p->table->receives.at + i;
}

static int look(struct planner *p)
{
    const struct wio_cpl_remap *r = &p->table->remap;

    p->peer = wio_cpl_new(r->slots, sizeof *p->peer);
    p->whole = wio_cpl_new(r->rows, sizeof *p->whole);
    p->rest = wio_cpl_new(r->slots, sizeof *p->rest);
    if (p->peer == NULL || p->whole == NULL || p->rest == NULL)
        return WAITIO_ERR_NOMEM;
    for (size_t i = 0; i < p->table->receives.n; i++)
        for (size_t k = 0; k < peer_at(p, i)->n; k++)
            p->peer[peer_at(p, i)->first + k] = (int32_t)i;
    for (size_t row = 0; row < r->rows; row++) {
        p->whole[row] = p->peer[r->slot[r->first[row]]];
        for (size_t e = r->first[row]; e < r->first[row + 1]; e++)
            if (p->peer[r->slot[e]] != p->whole[row])
                p->whole[row] = SEVERAL;
        for (size_t e = r->first[row]; p->whole[row] == SEVERAL && e < r->first[row + 1]; e++)
            p->rest[r->slot[e]] = 1;
    }
    return 0;
}

/* Sums and points of each share, and where they go. */
static void count(struct planner *p)
{
    struct wio_cpl_sums *s = p->sums;
    const struct wio_cpl_remap *r = &p->table->remap;
    size_t first_row = 0;
    uint32_t number = 0;

    for (size_t row = 0; row < r->rows; row++)
        if (p->whole[row] != SEVERAL)
            s->shares[p->whole[row]].rows++;
    for (size_t slot = 0; slot < r->slots; slot++)
        if (p->rest[slot] != 0) {
            struct wio_cpl_share *share = &s->shares[p->peer[slot]];

            if (share->n++ == 0)
                share->first = number;
            p->rest[slot] = ++number;
        }
    s->rest.slots = number;
    for (size_t i = 0; i < s->n; i++) {
        s->shares[i].first_row = first_row;
        first_row += s->shares[i].rows;
    }
    s->rows = first_row;
}

/* ---- all together: which side? --------------------------------------------------------------- */

enum { AS_POINTS, AS_SUMS, HOOKED, FACTS };

static const struct wio_cpl_link *forced(const struct planner *p)
{
    for (size_t i = 0; i < p->cpl->conf.links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(&p->cpl->conf, i);

        if (l->side == WIO_CPL_SIDE_SEND && wio_cpl_table_fits(p->cpl, p->table, l))
            return l;
    }
    return NULL;
}

/* @param[out] ahead are there sums by the senders? */
static int decide(struct planner *p, int wanted, bool *ahead)
{
    int64_t mine[FACTS] = {0}, all[FACTS] = {0};
    struct wio_cpl_op op = wio_cpl_collective(p->cpl, p->team->set, 0);
    const struct wio_cpl_link *l = forced(p);
    int rc;

    if (p->grid != NULL) {
        mine[AS_POINTS] = (int64_t)(p->table->remap.slots - p->table->receives.n * WIO_CPL_HEAD);
        mine[AS_SUMS] = (int64_t)(p->sums->rows + p->sums->rest.slots);
        mine[HOOKED] = p->cpl->hook != NULL;
    }
    if (WAITIO_MPI_Iallreduce(mine, all, FACTS, WAITIO_MPI_INT64_T, WAITIO_MPI_SUM, p->team->comm,
                              &op.req) != 0)
        return wio_cpl_failed();
    rc = wio_cpl_wait(p->cpl, &op, 1);
    if (rc != 0)
        return rc;
    if (all[HOOKED] > 0 && l != NULL)
        return wio_cpl_fail(WAITIO_ERR_CONFIG,
                            "'%s' shall be remapped by the sender (%s:%d), but component '%s' has "
                            "a remapping function of its own (interpolate_data, "
                            "waitio_cpl_remap_by), which needs the sources: let the receiver remap",
                            l->var_put, p->cpl->conf.file, l->line,
                            p->cpl->components[p->table->to].name);
    p->table->sums_pay =
        all[HOOKED] == 0 && (wanted & 1 << WIO_CPL_SIDE_AUTO) != 0 &&
        all[AS_SUMS] <= all[AS_POINTS] - (all[AS_POINTS] + SAVED_PART - 1) / SAVED_PART &&
        all[AS_POINTS] > 0;
    *ahead = l != NULL || p->table->sums_pay;
    return 0;
}

/* ---- receiver: keep the rest, send the rows ---------------------------------------------------
 */

static int member_of(const struct planner *p, int rank)
{
    int m = 0;

    while (p->team->ranks[m] != rank)
        m++;
    return m;
}

/* The rows that have sources of several senders, as a table of its own. */
static int keep_rest(const struct planner *p)
{
    const struct wio_cpl_remap *r = &p->table->remap;
    struct wio_cpl_remap *rest = &p->sums->rest;
    size_t slots = rest->slots, n = 0, row_of_rest = 0;
    struct wio_cpl_entry *entries = wio_cpl_new(r->first[r->rows], sizeof *entries);
    int rc;

    if (entries == NULL)
        return WAITIO_ERR_NOMEM;
    for (size_t row = 0; row < r->rows; row++)
        for (size_t e = r->first[row]; p->whole[row] == SEVERAL && e < r->first[row + 1]; e++)
            entries[n++] = (struct wio_cpl_entry){.to = r->to[row],
                                                  .slot = (int64_t)p->rest[r->slot[e]] - 1,
                                                  .coef = r->coef[e],
                                                  .cos = r->cos != NULL ? r->cos[e] : 1,
                                                  .sin = r->sin != NULL ? r->sin[e] : 0};
    rc = wio_cpl_remap_make(rest, entries, n, slots, p->table->vectors);
    free(entries);
    rest->n_fixed = r->n_fixed;
    rest->fixed = r->fixed;
    rest->value = r->value;
    if (rc != 0 || r->scale == NULL)
        return rc;
    rest->scale = wio_cpl_new(rest->rows, sizeof *rest->scale);
    if (rest->scale == NULL)
        return WAITIO_ERR_NOMEM;
    for (size_t row = 0; row < r->rows; row++)
        if (p->whole[row] == SEVERAL)
            rest->scale[row_of_rest++] = r->scale[row];
    return 0;
}

/* Row by row, each to its sender. @param next by peer: sums loaded so far; all 0 */
static int load_rows(const struct planner *p, struct wio_cpl_cargo *cargo, size_t *next)
{
    const struct wio_cpl_remap *r = &p->table->remap;
    int rc = wio_cpl_cargo_room(cargo, r->first[r->rows]);

    for (size_t row = 0; rc == 0 && row < r->rows; row++) {
        int32_t i = p->whole[row];
        int64_t w[WORDS] = {0};
        int to;

        if (i == SEVERAL)
            continue;
        to = member_of(p, peer_at(p, (size_t)i)->rank);
        w[KIND] = (int64_t)next[i];
        w[TARGET] = p->grid->index[r->to[row]];
        p->sums->to[p->sums->shares[i].first_row + next[i]++] = r->to[row];
        for (size_t e = r->first[row]; rc == 0 && e < r->first[row + 1]; e++) {
            w[POINT] = (int64_t)(r->slot[e] - peer_at(p, (size_t)i)->first);
            w[COEF] = wio_cpl_bits(r->coef[e]);
            w[COS] = wio_cpl_bits(r->cos != NULL ? r->cos[e] : 1);
            w[SIN] = wio_cpl_bits(r->sin != NULL ? r->sin[e] : 0);
            rc = wio_cpl_load(cargo, to, w);
        }
        w[POINT] = SCALE;
        w[COEF] = wio_cpl_bits(r->scale != NULL ? r->scale[row] : 1);
        if (rc == 0 && r->scale != NULL && r->scale[row] != 1)
            rc = wio_cpl_load(cargo, to, w);
    }
    return rc;
}

static int load_points(const struct planner *p, struct wio_cpl_cargo *cargo)
{
    int rc = 0;

    for (size_t i = 0; i < p->sums->n; i++) {
        const struct wio_cpl_peer *peer = peer_at(p, i);
        int to = member_of(p, peer->rank);

        for (size_t k = 0; rc == 0 && k < peer->n; k++) {
            const int64_t w[WORDS] = {AS_IT_IS, (int64_t)k};

            if (p->rest[peer->first + k] != 0)
                rc = wio_cpl_load(cargo, to, w);
        }
    }
    return rc;
}

static int load(const struct planner *p, struct wio_cpl_cargo *cargo)
{
    size_t *next = wio_cpl_new(p->sums->n, sizeof *next);
    int rc = next == NULL ? WAITIO_ERR_NOMEM : keep_rest(p);

    p->sums->to = wio_cpl_new(p->sums->rows, sizeof *p->sums->to);
    if (rc == 0 && p->sums->to == NULL)
        rc = WAITIO_ERR_NOMEM;
    if (rc == 0)
        rc = load_rows(p, cargo, next);
    if (rc == 0)
        rc = load_points(p, cargo);
    free(next);
    return rc;
}

/* ---- sender -----------------------------------------------------------------------------------
 */

static int odd(const struct planner *p, const struct wio_cpl_peer *peer)
{
    return wio_cpl_fail(WAITIO_ERR_PROTOCOL,
                        "%s: %s asks for sums of points that it has not asked for",
                        wio_cpl_table_name(p->cpl, p->table), wio_cpl_who(p->cpl, peer->rank));
}

/* What a receiver's records are: entries, scales, points. */
static int count_share(const struct planner *p, struct wio_cpl_share *s,
                       const struct wio_cpl_peer *peer, const int64_t *w, size_t n, bool *scaled)
{
    for (size_t i = 0; i < n; i++, w += WORDS) {
        bool scale = w[KIND] != AS_IT_IS && w[POINT] == SCALE;

        if ((w[POINT] < 0 && !scale) || w[POINT] >= (int64_t)peer->n || w[KIND] < AS_IT_IS ||
            w[KIND] > (int64_t)s->rows)
            return odd(p, peer);
        *scaled |= scale;
        s->n += w[KIND] == AS_IT_IS;
        s->rows += w[KIND] == (int64_t)s->rows;
    }
    return 0;
}

static int keep_sums(const struct planner *p, struct wio_cpl_share *s,
                     const struct wio_cpl_peer *peer, const int64_t *words, size_t n, bool scaled)
{
    struct wio_cpl_entry *entries = wio_cpl_new(n, sizeof *entries);
    size_t kept = 0;
    int rc;

    if (entries == NULL)
        return WAITIO_ERR_NOMEM;
    for (const int64_t *w = words; w < words + n * WORDS; w += WORDS)
        if (w[KIND] != AS_IT_IS && w[POINT] != SCALE) {
            s->target[w[KIND]] = w[TARGET];
            entries[kept++] = (struct wio_cpl_entry){.to = w[KIND],
                                                     .slot = w[POINT],
                                                     .coef = wio_cpl_real(w[COEF]),
                                                     .cos = wio_cpl_real(w[COS]),
                                                     .sin = wio_cpl_real(w[SIN])};
        }
    rc = wio_cpl_remap_make(&s->sum, entries, kept, peer->n, p->table->vectors);
    free(entries);
    if (rc == 0 && s->sum.rows != s->rows)
        rc = odd(p, peer);
    if (rc != 0 || !scaled)
        return rc;
    s->sum.scale = wio_cpl_new(s->rows, sizeof *s->sum.scale);
    if (s->sum.scale == NULL)
        return WAITIO_ERR_NOMEM;
    for (size_t row = 0; row < s->rows; row++)
        s->sum.scale[row] = 1;
    for (const int64_t *w = words; w < words + n * WORDS; w += WORDS)
        if (w[KIND] != AS_IT_IS && w[POINT] == SCALE)
            s->sum.scale[w[KIND]] = wio_cpl_real(w[COEF]);
    return 0;
}

static int keep_share(const struct planner *p, struct wio_cpl_share *s,
                      const struct wio_cpl_peer *peer, const int64_t *words, size_t n)
{
    bool scaled = false;
    size_t kept = 0;
    int rc = count_share(p, s, peer, words, n, &scaled);

    if (rc != 0)
        return rc;
    s->target = wio_cpl_new(s->rows, sizeof *s->target);
    s->at = wio_cpl_new(s->n, sizeof *s->at);
    if (s->target == NULL || s->at == NULL)
        return WAITIO_ERR_NOMEM;
    for (const int64_t *w = words; w < words + n * WORDS; w += WORDS)
        if (w[KIND] == AS_IT_IS)
            s->at[kept++] = peer->at[w[POINT]];
    return keep_sums(p, s, peer, words, n, scaled);
}

/* Peers are in the order of the team, and so are the records. */
static int keep_shares(const struct planner *p, const struct wio_cpl_list *in,
                       const int64_t *counts)
{
    const struct wio_cpl_peer *peers = p->table->sends.at;
    const int64_t *words = in->at;
    size_t next = 0;
    int rc = 0;

    for (int m = 0; rc == 0 && m < p->team->n; m++) {
        if (counts[m] == 0)
            continue;
        if (next == p->sums->n || peers[next].rank != p->team->ranks[m])
            return wio_cpl_fail(WAITIO_ERR_PROTOCOL, "%s: %s asks for sums, but for no points",
                                wio_cpl_table_name(p->cpl, p->table),
                                wio_cpl_who(p->cpl, p->team->ranks[m]));
        rc = keep_share(p, &p->sums->shares[next], &peers[next], words, (size_t)counts[m]);
        words += (size_t)counts[m] * WORDS;
        if (peers[next].n > p->sums->most_points)
            p->sums->most_points = peers[next].n;
        if (p->sums->shares[next].rows > p->sums->most_rows)
            p->sums->most_rows = p->sums->shares[next].rows;
        next++;
    }
    return rc;
}

/* ---- all together ---------------------------------------------------------------------------- */

static int share_out(const struct planner *p)
{
    struct wio_cpl_cargo cargo = {.words = WORDS};
    struct wio_cpl_list in = {NULL, 0, 0};
    int64_t *counts = wio_cpl_new((size_t)p->team->n, sizeof *counts);
    int rc = counts == NULL ? WAITIO_ERR_NOMEM : 0;

    if (rc == 0 && p->grid != NULL)
        rc = load(p, &cargo);
    if (rc == 0)
        rc = wio_cpl_trade(p->cpl, p->team, &cargo, &in, counts);
    if (rc == 0 && p->grid == NULL)
        rc = keep_shares(p, &in, counts);
    free(counts);
    wio_cpl_list_free(&in);
    wio_cpl_unload(&cargo);
    return rc;
}

static int plan(struct planner *p, int wanted)
{
    struct wio_cpl_sums *s = p->sums;
    bool ahead = false;
    int rc;

    s->n = p->grid != NULL ? p->table->receives.n : p->table->sends.n;
    s->shares = wio_cpl_new(s->n, sizeof *s->shares);
    if (s->shares == NULL)
        return WAITIO_ERR_NOMEM;
    rc = p->grid != NULL ? look(p) : 0;
    if (rc == 0 && p->grid != NULL)
        count(p);
    if (rc == 0)
        rc = decide(p, wanted, &ahead);
    if (rc != 0 || !ahead)
        return rc;
    rc = share_out(p);
    if (rc == 0) {
        p->table->sums = s;
        p->sums = NULL;
    }
    return rc;
}

int wio_cpl_sums_make(struct waitio_cpl *cpl, struct wio_cpl_table *table,
                      const struct wio_cpl_team *team)
{
    struct planner p = {.cpl = cpl, .table = table, .team = team};
    int wanted = wio_cpl_sums_wanted(cpl, table), rc;

    if ((wanted & ~(1 << WIO_CPL_SIDE_RECEIVE)) == 0)
        return 0;
    if (cpl->mine == table->to)
        p.grid = wio_cpl_grid_find(cpl, table->grid_get);
    p.sums = wio_cpl_new(1, sizeof *p.sums);
    rc = p.sums == NULL ? WAITIO_ERR_NOMEM : plan(&p, wanted);
    wio_cpl_sums_free(p.sums);
    free(p.peer);
    free(p.whole);
    free(p.rest);
    return rc;
}
