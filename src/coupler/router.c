/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From table entries to a plan of messages, in parallel. An entry travels
 *
 *   who gives it -> home of its source point      learns the owner and position of the source
 *                -> home of its receive point     learns the owner and position of the receiver
 *                -> owner of the receive point    which keeps it, and asks the owner of the source
 *                -> owner of the source           for the distinct points that it needs
 *
 * so no process sees more than its share of the table, and of each directory.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/cpl.h"
#include "coupler/limit.h"
#include "coupler/message.h"
#include "coupler/order.h"

/* Words of an entry under way. Owners are ranks in the team: the sending component's processes
 * first. Real numbers travel as their bits. */
enum { SEND_INDEX, RECV_INDEX, COEF, COS, SIN, SOURCE_OWNER, SOURCE_AT, RECV_AT, NUMBER, WORDS };
/* SEND_INDEX of a point that gets a value (COEF) whatever the sources have. NUMBER is the place in
 * a file of entries, from 1; 0: they come from no file. */
enum { NO_SOURCE = 0 };
enum { MASKED = -1 }; /* SOURCE_AT of a masked point */

struct router {
    struct waitio_cpl *cpl;
    struct wio_cpl_table *table;
    const struct wio_cpl_team *team;
    const char *file;                    /* of the entries, or NULL */
    const struct wio_weights *limited;   /* for a limiter, or NULL */
    int senders, receivers;              /* processes of the two components */
    struct wio_cpl_grid *send, *receive; /* grids of this component, or NULL */
};

static int check_entry(const struct router *r, const int64_t *w, size_t i)
{
    if (w[SEND_INDEX] < 1 || w[RECV_INDEX] < 1)
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "%s: entry %zu of process %d is from index %lld to index %lld; global "
                            "indices are 1 or greater",
                            wio_cpl_table_name(r->cpl, r->table), i + 1, r->cpl->rank,
                            (long long)w[SEND_INDEX], (long long)w[RECV_INDEX]);
    if (!isfinite(wio_cpl_real(w[COEF])) || !isfinite(wio_cpl_real(w[COS])) ||
        !isfinite(wio_cpl_real(w[SIN])))
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "%s: entry %zu of process %d, from index %lld to index %lld, has a "
                            "coefficient that is not finite (%g, %g, %g)",
                            wio_cpl_table_name(r->cpl, r->table), i + 1, r->cpl->rank,
                            (long long)w[SEND_INDEX], (long long)w[RECV_INDEX],
                            wio_cpl_real(w[COEF]), wio_cpl_real(w[COS]), wio_cpl_real(w[SIN]));
    return 0;
}

static int load_entries(const struct router *r, const struct wio_cpl_given *given,
                        struct wio_cpl_cargo *cargo)
{
    const struct waitio_cpl_entries *mine = &given->entries;
    int rc = wio_cpl_cargo_room(cargo, mine->n);

    for (size_t i = 0; rc == 0 && i < mine->n; i++) {
        int64_t w[WORDS] = {mine->send_index[i], mine->recv_index[i]};

        w[COEF] = wio_cpl_bits(mine->coef != NULL ? mine->coef[i] : 1.0);
        w[COS] = wio_cpl_bits(mine->cos != NULL ? mine->cos[i] : 1.0);
        w[SIN] = wio_cpl_bits(mine->sin != NULL ? mine->sin[i] : 0.0);
        w[NUMBER] = given->file != NULL ? (int64_t)(given->first + i + 1) : 0;
        rc = check_entry(r, w, i);
        if (rc == 0)
            rc = wio_cpl_load(cargo, wio_cpl_home(w[SEND_INDEX], r->senders), w);
    }
    for (size_t i = 0; rc == 0 && i < given->n_fixed; i++) {
        int64_t w[WORDS] = {NO_SOURCE, given->fixed[i], wio_cpl_bits(given->value)};

        rc = wio_cpl_load(cargo, wio_cpl_home(w[RECV_INDEX], r->senders), w);
    }
    return rc;
}

static int nobody(const struct router *r, const int64_t *w, bool source)
{
    const struct wio_cpl_table *t = r->table;
    char number[700] = "an entry";

    if (w[NUMBER] > 0)
        wio_cpl_text(number, sizeof number, "'%.600s', link %lld", r->file, (long long)w[NUMBER]);
    return wio_cpl_fail(WAITIO_ERR_ARG,
                        "%s: %s goes from index %lld to index %lld, but no process of "
                        "component '%s' owns the index %lld of grid '%s'",
                        wio_cpl_table_name(r->cpl, r->table), number, (long long)w[SEND_INDEX],
                        (long long)w[RECV_INDEX], r->cpl->components[source ? t->from : t->to].name,
                        (long long)w[source ? SEND_INDEX : RECV_INDEX],
                        source ? t->grid_put : t->grid_get);
}

/* At the home of the source points: learn their owners, send on to the homes of the receivers. */
static int route_sources(const struct router *r, const struct wio_cpl_list *in,
                         struct wio_cpl_cargo *cargo)
{
    int64_t *w = in->at;
    int rc = wio_cpl_cargo_room(cargo, in->n / WORDS);

    for (size_t i = 0; rc == 0 && i < in->n / WORDS; i++, w += WORDS) {
        if (w[SEND_INDEX] != NO_SOURCE) {
            const struct wio_cpl_place *place = wio_cpl_look_up(r->send, w[SEND_INDEX]);

            if (place == NULL)
                return nobody(r, w, true);
            w[SOURCE_OWNER] = place->owner;
            w[SOURCE_AT] = place->masked ? MASKED : place->at;
        }
        rc = wio_cpl_load(cargo, r->senders + wio_cpl_home(w[RECV_INDEX], r->receivers), w);
    }
    return rc;
}

/* At the home of the receive points: send on to their owners. */
static int route_receivers(const struct router *r, const struct wio_cpl_list *in,
                           struct wio_cpl_cargo *cargo)
{
    int64_t *w = in->at;
    int rc = wio_cpl_cargo_room(cargo, in->n / WORDS);

    for (size_t i = 0; rc == 0 && i < in->n / WORDS; i++, w += WORDS) {
        const struct wio_cpl_place *place = wio_cpl_look_up(r->receive, w[RECV_INDEX]);

        if (place == NULL)
            return nobody(r, w, false);
        w[RECV_AT] = place->at;
        if (place->masked)
            continue;
        rc = wio_cpl_load(cargo, r->senders + place->owner, w);
    }
    return rc;
}

/* ---- at the owner of the receive points ----------------------------------------------------- */

/* A source point that is needed here. */
struct need {
    int64_t owner, index, at;
};

/* Entries in the order of owners, and of indices within: @p key is for @p n numbers. */
static int order_needs(const int64_t *words, int64_t *key, uint32_t *by, size_t n)
{
    int rc;

    for (size_t i = 0; i < n; i++)
        key[i] = words[i * WORDS + SEND_INDEX];
    rc = wio_cpl_order(key, by, n);
    for (size_t i = 0; i < n; i++)
        key[i] = words[i * WORDS + SOURCE_OWNER];
    return rc == 0 ? wio_cpl_order(key, by, n) : rc;
}

/* Entries of a process, and the distinct points that they need, in the order of slots. Points of
 * one sender follow each other, behind room for the head of its message: so it is received in
 * place. */
static void read_entries(const int64_t *words, const uint32_t *by, size_t n,
                         struct wio_cpl_entry *entries, struct need *needs, size_t *distinct)
{
    struct need *last = NULL;
    size_t heads = 0; /* of the messages that these points come with */

    *distinct = 0;
    for (size_t i = 0; i < n; i++) {
        const int64_t *w = words + (size_t)by[i] * WORDS;
        bool open = w[SOURCE_AT] != MASKED;

        if (open &&
            (last == NULL || last->owner != w[SOURCE_OWNER] || last->index != w[SEND_INDEX])) {
            heads += last == NULL || last->owner != w[SOURCE_OWNER] ? WIO_CPL_HEAD : 0;
            last = &needs[(*distinct)++];
            *last = (struct need){w[SOURCE_OWNER], w[SEND_INDEX], w[SOURCE_AT]};
        }
        entries[i] = (struct wio_cpl_entry){w[RECV_AT],
                                            w[SEND_INDEX],
                                            open ? last - needs + (int64_t)heads : WIO_CPL_NO_SLOT,
                                            wio_cpl_real(w[COEF]),
                                            wio_cpl_real(w[COS]),
                                            wio_cpl_real(w[SIN])};
    }
}

/* The same, in the order of their sums. */
static int sort_entries(const struct router *r, const struct wio_cpl_list *in,
                        struct wio_cpl_entry *entries, struct need *needs, size_t *distinct)
{
    size_t n = in->n / WORDS;
    int64_t *key = wio_cpl_new(n, sizeof *key);
    uint32_t *by = wio_cpl_order_new(n);
    int rc = key == NULL || by == NULL ? WAITIO_ERR_NOMEM : 0;

    if (rc == 0 && n + (size_t)r->senders * WIO_CPL_HEAD >= UINT32_MAX)
        rc = wio_cpl_fail(WAITIO_ERR_LIMIT, "%s: %zu entries for one process; use more processes",
                          wio_cpl_table_name(r->cpl, r->table), n);
    if (rc == 0)
        rc = order_needs(in->at, key, by, n);
    if (rc == 0)
        read_entries(in->at, by, n, entries, needs, distinct);
    free(key);
    free(by);
    return rc == 0 ? wio_cpl_remap_sort(entries, n) : rc;
}

/* Ask each owner of source points for them, in the order of slots. */
static int ask(const struct router *r, const struct need *needs, size_t distinct,
               struct wio_cpl_cargo *cargo)
{
    struct wio_cpl_peer *peer = NULL;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < distinct; i++) {
        if (i == 0 || needs[i].owner != needs[i - 1].owner) {
            peer = wio_cpl_push(&r->table->receives, sizeof *peer);
            if (peer == NULL)
                return WAITIO_ERR_NOMEM;
            peer->rank = r->team->ranks[needs[i].owner];
            peer->first = i + r->table->receives.n * WIO_CPL_HEAD;
        }
        peer->n++;
        rc = wio_cpl_load(cargo, (int)needs[i].owner, &needs[i].at);
    }
    return rc;
}

/* Points with a value of their own leave the list of entries. */
static int keep_fixed(struct wio_cpl_list *in, struct wio_cpl_remap *remap)
{
    struct wio_cpl_entry *fixed = NULL;
    int64_t *words = in->at, *kept = words;
    size_t n = 0, all = in->n / WORDS;
    int rc;

    for (size_t i = 0; i < all; i++)
        n += words[i * WORDS + SEND_INDEX] == NO_SOURCE;
    if (n == 0)
        return 0;
    fixed = wio_cpl_new(n, sizeof *fixed);
    if (fixed == NULL)
        return WAITIO_ERR_NOMEM;
    n = 0;
    for (int64_t *w = words; w < words + all * WORDS; w += WORDS)
        if (w[SEND_INDEX] == NO_SOURCE)
            fixed[n++] = (struct wio_cpl_entry){.to = w[RECV_AT], .coef = wio_cpl_real(w[COEF])};
        else {
            memmove(kept, w, WORDS * sizeof *w);
            kept += WORDS;
        }
    in->n = (size_t)(kept - words);
    rc = wio_cpl_remap_fix(remap, fixed, n);
    free(fixed);
    return rc;
}

static int keep_entries(const struct router *r, struct wio_cpl_list *in,
                        struct wio_cpl_cargo *cargo)
{
    struct wio_cpl_remap fixed = {.rows = 0}, *remap = &r->table->remap;
    int rc = keep_fixed(in, &fixed);
    size_t n = in->n / WORDS, distinct = 0;
    struct wio_cpl_entry *entries = wio_cpl_new(n, sizeof *entries);
    struct need *needs = wio_cpl_new(n, sizeof *needs);

    if (rc == 0 && (entries == NULL || needs == NULL))
        rc = WAITIO_ERR_NOMEM;

    if (rc == 0)
        rc = sort_entries(r, in, entries, needs, &distinct);
    if (rc == 0)
        rc = ask(r, needs, distinct, cargo);
    if (rc == 0)
        rc = wio_cpl_remap_make(remap, entries, n, distinct + r->table->receives.n * WIO_CPL_HEAD,
                                r->table->vectors);
    remap->n_fixed = fixed.n_fixed;
    remap->fixed = fixed.fixed;
    remap->value = fixed.value;
    if (rc == 0 && r->limited != NULL)
        rc = wio_cpl_limit_make(wio_cpl_table_name(r->cpl, r->table), r->limited, r->receive->open,
                                entries, n, remap->slots, &r->table->limit);
    free(entries);
    free(needs);
    return rc;
}

/* ---- at the owner of the source points ------------------------------------------------------ */

/* @param seen by position: does somebody ask for the point? */
static int keep_list(struct wio_cpl_table *t, int rank, const int64_t *at, size_t n, size_t points,
                     char *seen)
{
    struct wio_cpl_peer *peer = wio_cpl_push(&t->sends, sizeof *peer);

    if (peer == NULL)
        return WAITIO_ERR_NOMEM;
    peer->rank = rank;
    peer->n = n;
    peer->at = wio_cpl_new(n, sizeof *peer->at);
    if (peer->at == NULL)
        return WAITIO_ERR_NOMEM;
    memcpy(peer->at, at, n * sizeof *at);
    if (wio_cpl_spans_make(peer) != 0)
        return WAITIO_ERR_NOMEM;
    for (size_t i = 0; i < n; i++) {
        if (at[i] < 0 || (size_t)at[i] >= points)
            return wio_cpl_fail(WAITIO_ERR_PROTOCOL, "universe rank %d asks for point %lld of %zu",
                                rank, (long long)at[i], points);
        t->points_sent += !seen[at[i]];
        seen[at[i]] = 1;
    }
    return 0;
}

static int keep_lists(const struct router *r, const struct wio_cpl_list *in, const int64_t *counts)
{
    size_t points = r->send != NULL ? r->send->n : 0;
    char *seen = wio_cpl_new(points, 1);
    const int64_t *at = in->at;
    int rc = seen == NULL ? WAITIO_ERR_NOMEM : 0;

    for (int m = 0; rc == 0 && m < r->team->n; m++) {
        if (counts[m] > 0)
            rc = keep_list(r->table, r->team->ranks[m], at, (size_t)counts[m], points, seen);
        at += counts[m];
    }
    free(seen);
    return rc;
}

/* ---- all together --------------------------------------------------------------------------- */

enum { VECTORS, OF_SENDERS, OF_RECEIVERS, GIVEN, FACTS };

/* A table is of one side. Entries of both would add up, which nobody means. */
static int one_side(const struct router *r, const int64_t *all)
{
    const char *senders = r->cpl->components[r->table->from].name;
    const char *receivers = r->cpl->components[r->table->to].name;

    if (all[GIVEN] == 0)
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "%s: neither component '%s' nor component '%s' gives entries, and the "
                            "configuration does not say where they come from: one of the two gives "
                            "them, or an array of 0 entries where none are meant",
                            wio_cpl_table_name(r->cpl, r->table), senders, receivers);
    if (all[OF_SENDERS] > 0 && all[OF_RECEIVERS] > 0)
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "%s: both components give entries for it, '%s' %lld and '%s' %lld; one "
                            "of the two gives the whole table, the other one calls without entries",
                            wio_cpl_table_name(r->cpl, r->table), senders,
                            (long long)all[OF_SENDERS], receivers, (long long)all[OF_RECEIVERS]);
    return 0;
}

/* What all processes together give: from which side, and are there vectors? */
static int agree(const struct router *r, const struct wio_cpl_given *mine)
{
    int64_t n = (int64_t)(mine->entries.n + mine->n_fixed), facts[FACTS] = {0}, all[FACTS] = {0};
    struct wio_cpl_op op = wio_cpl_collective(r->cpl, r->team->set, 0);
    int rc;

    facts[VECTORS] = mine->entries.n > 0 && mine->entries.cos != NULL;
    facts[r->cpl->mine == r->table->from ? OF_SENDERS : OF_RECEIVERS] = n;
    facts[GIVEN] = mine->given;
    if (WAITIO_MPI_Iallreduce(facts, all, FACTS, WAITIO_MPI_INT64_T, WAITIO_MPI_SUM, r->team->comm,
                              &op.req) != 0)
        return wio_cpl_failed();
    rc = wio_cpl_wait(r->cpl, &op, 1);
    r->table->vectors = all[VECTORS] != 0;
    return rc == 0 ? one_side(r, all) : rc;
}

/* Send entries to the next process of their way, and take those that come. */
static int pass(const struct router *r, struct wio_cpl_cargo *cargo, struct wio_cpl_list *in)
{
    wio_cpl_list_free(in);
    return wio_cpl_trade(r->cpl, r->team, cargo, in, NULL);
}

static int build(const struct router *r, const struct wio_cpl_given *mine, int64_t *counts)
{
    struct wio_cpl_cargo cargo = {.words = WORDS}, points = {.words = 1};
    struct wio_cpl_list in = {NULL, 0, 0};
    int rc = agree(r, mine);

    if (rc == 0)
        rc = load_entries(r, mine, &cargo);
    if (rc == 0)
        rc = pass(r, &cargo, &in);
    if (rc == 0)
        rc = route_sources(r, &in, &cargo);
    if (rc == 0)
        rc = pass(r, &cargo, &in);
    if (rc == 0)
        rc = route_receivers(r, &in, &cargo);
    if (rc == 0)
        rc = pass(r, &cargo, &in);
    if (rc == 0)
        rc = keep_entries(r, &in, &points);
    wio_cpl_list_free(&in);
    if (rc == 0)
        rc = wio_cpl_trade(r->cpl, r->team, &points, &in, counts);
    if (rc == 0)
        rc = keep_lists(r, &in, counts);
    wio_cpl_list_free(&in);
    wio_cpl_unload(&cargo);
    wio_cpl_unload(&points);
    return rc;
}

int wio_cpl_table_new(struct waitio_cpl *cpl, struct wio_cpl_table *table,
                      const struct wio_cpl_team *team, const struct wio_cpl_given *mine)
{
    struct router r = {.cpl = cpl,
                       .table = table,
                       .team = team,
                       .file = mine->file,
                       .limited = mine->limited,
                       .senders = cpl->components[table->from].n,
                       .receivers = cpl->components[table->to].n};
    int64_t *counts = wio_cpl_new((size_t)team->n, sizeof *counts);
    int rc;

    if (cpl->mine == table->from)
        r.send = wio_cpl_grid_find(cpl, table->grid_put);
    else
        r.receive = wio_cpl_grid_find(cpl, table->grid_get);
    rc = counts == NULL ? WAITIO_ERR_NOMEM : build(&r, mine, counts);
    free(counts);
    return rc;
}
