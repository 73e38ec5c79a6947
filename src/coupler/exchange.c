/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of bundles: packed by who puts, remapped by who gets. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/limit.h"
#include "coupler/message.h"
#include "coupler/sums.h"

static struct wio_cpl_var *var_at(const struct wio_cpl_bundle *b, size_t i)
{
    return ((struct wio_cpl_var **)b->vars.at)[i];
}

static struct wio_cpl_peer *peers_of(const struct wio_cpl_bundle *b)
{
    return b->sends ? b->table->sends.at : b->table->receives.at;
}

static size_t n_peers(const struct wio_cpl_bundle *b)
{
    return b->sends ? b->table->sends.n : b->table->receives.n;
}

bool wio_cpl_bundle_gone(const struct waitio_cpl *cpl, const struct wio_cpl_bundle *b)
{
    return cpl->components[b->sends ? b->table->to : b->table->from].gone;
}

/* A message cannot be begun: because the other side is gone? */
static int refused(struct waitio_cpl *cpl, struct wio_cpl_op *op)
{
    int found = wio_cpl_back_blame(cpl, op->peer);

    op->req = WAITIO_MPI_REQUEST_NULL;
    if (found == WIO_CPL_AGAIN) { /* the wait for it sees to that */
        wio_cpl_past_lose(op);
        return 0;
    }
    if (found != 0)
        return found;
    if (!wio_cpl_may_lose(cpl, op->peer))
        return wio_cpl_failed();
    wio_cpl_lose(cpl, cpl->component_of[op->peer], waitio_last_error());
    return 0;
}

/* Numbers of a message of the i-th peer. */
static size_t length(const struct wio_cpl_bundle *b, size_t i)
{
    return WIO_CPL_HEAD + wio_cpl_bundle_numbers(b, i) * b->layers;
}

/* ---- sending ------------------------------------------------------------------------------- */

static WAITIO_MPI_Datatype datatype(const struct wio_cpl_bundle *b)
{
    return b->type == WIO_CPL_REAL8   ? WAITIO_MPI_DOUBLE
           : b->type == WIO_CPL_REAL4 ? WAITIO_MPI_FLOAT
                                      : WAITIO_MPI_INT;
}

static void pack_head(void *out, const struct wio_cpl_bundle *b, enum wio_cpl_kind kind,
                      int64_t stamp)
{
    const struct wio_cpl_head head = {WIO_CPL_VERSION, kind, stamp, b->layers};

    wio_cpl_head_write(b->type, out, &head);
}

/* @param fresh_only variables whose last put is in the buffer already are left as they are */
static int pack(const struct waitio_cpl *cpl, void *buffer, const struct wio_cpl_bundle *b,
                size_t peer, bool fresh_only)
{
    size_t width = wio_cpl_width(b->type), n = wio_cpl_bundle_numbers(b, peer);
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < b->vars.n; i++) {
        const struct wio_cpl_var *v = var_at(b, i);

        if (b->ahead)
            rc = wio_cpl_sums_pack(cpl, b, v, peer,
                                   (char *)buffer + (WIO_CPL_HEAD + v->first * n) * width);
        else if (!fresh_only || !v->packed)
            rc = wio_cpl_pack(cpl, v, &peers_of(b)[peer], buffer);
    }
    return rc;
}

static int start(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, const void *buffer, size_t n,
                 size_t i, struct wio_cpl_op *op)
{
    int to = peers_of(b)[i].rank;

    op->peer = to;
    if (b->past != NULL && wio_cpl_past_keep(cpl, b, i, buffer, n) != 0)
        return WAITIO_ERR_NOMEM;
    if (b->past != NULL && wio_cpl_past_knows(b, i, buffer)) {
        *op = (struct wio_cpl_op){.peer = to, .sends = true, .bundle = b};
        return 0;
    }
    if (wio_cpl_trace(cpl, op, b->tag, true, b) != 0)
        return WAITIO_ERR_NOMEM;
    if (n > INT_MAX)
        return wio_cpl_fail(WAITIO_ERR_LIMIT,
                            "'%s' and what travels with it are %zu numbers for one process, more "
                            "than %d: use more processes",
                            var_at(b, 0)->name, n, INT_MAX);
    return WAITIO_MPI_Isend(buffer, (int)n, datatype(b), to, b->tag, cpl->all, &op->req) != 0
               ? refused(cpl, op)
               : 0;
}

int wio_cpl_bundle_send(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, enum wio_cpl_kind kind,
                        int64_t stamp)
{
    const struct wio_cpl_peer *peers = peers_of(b);
    int rc = wio_cpl_bundle_sent(cpl, b);
    double since = WAITIO_MPI_Wtime(), waited = b->costs.waited;

    for (size_t i = 0; rc == 0 && !wio_cpl_bundle_gone(cpl, b) && i < n_peers(b); i++) {
        pack_head(b->buffers[i], b, kind, stamp);
        rc = pack(cpl, b->buffers[i], b, i, true);
        if (rc != 0)
            break;
        wio_cpl_sight_message(cpl, b, peers[i].rank, length(b, i), stamp);
        rc = start(cpl, b, b->buffers[i], length(b, i), i, &b->ops[i]);
    }
    b->busy = true;
    wio_cpl_exchanged(b, since, waited);
    return rc;
}

int wio_cpl_bundle_sent(struct waitio_cpl *cpl, struct wio_cpl_bundle *b)
{
    double since = b->busy ? WAITIO_MPI_Wtime() : 0;
    int rc = 0;

    wio_cpl_sight_of(cpl, b);
    for (size_t i = 0; rc == 0 && b->busy && i < n_peers(b); i++) {
        rc = wio_cpl_wait(cpl, &b->ops[i], 1);
        since = wio_cpl_waited(cpl, b, b->ops[i].peer, since);
    }
    wio_cpl_sight_of(cpl, NULL);
    if (rc == 0)
        b->busy = false;
    return rc;
}

/* @param from when the sender waits for it; -1: at the end */
static int park(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, enum wio_cpl_kind kind,
                int64_t stamp, int64_t from)
{
    const struct wio_cpl_peer *peers = peers_of(b);
    int rc = wio_cpl_parked_sweep(cpl, false);
    double since = WAITIO_MPI_Wtime();

    for (size_t i = 0; rc == 0 && !wio_cpl_bundle_gone(cpl, b) && i < n_peers(b); i++) {
        size_t n = kind == WIO_CPL_END ? WIO_CPL_HEAD : length(b, i);
        struct wio_cpl_parked *p = wio_cpl_push(&cpl->parked, sizeof *p);

        if (p == NULL)
            return WAITIO_ERR_NOMEM;
        p->op.req = WAITIO_MPI_REQUEST_NULL;
        p->waits = from >= 0 ? b : NULL;
        p->from = from;
        p->buffer = wio_cpl_new(n, wio_cpl_width(b->type));
        if (p->buffer == NULL)
            return WAITIO_ERR_NOMEM;
        pack_head(p->buffer, b, kind, stamp);
        if (kind != WIO_CPL_END)
            rc = pack(cpl, p->buffer, b, i, false);
        if (rc != 0) {
            free(p->buffer);
            cpl->parked.n--;
            break;
        }
        if (kind != WIO_CPL_END)
            wio_cpl_sight_message(cpl, b, peers[i].rank, n, stamp);
        rc = start(cpl, b, p->buffer, n, i, &p->op);
    }
    if (kind != WIO_CPL_END)
        wio_cpl_exchanged(b, since, b->costs.waited);
    return rc;
}

int wio_cpl_bundle_park(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, enum wio_cpl_kind kind,
                        int64_t stamp)
{
    return park(cpl, b, kind, stamp, -1);
}

bool wio_cpl_bundle_goes_ahead(const struct wio_cpl_bundle *b)
{
    return b->shift >= 0 && b->lead > b->shift;
}

/* The step that takes it begins at stamp - shift. */
int wio_cpl_bundle_send_ahead(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, int64_t stamp)
{
    return park(cpl, b, WIO_CPL_DATA, stamp, stamp - b->shift + b->lead);
}

int wio_cpl_parked_wait(struct waitio_cpl *cpl, int64_t now)
{
    struct wio_cpl_parked *parked = cpl->parked.at;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < cpl->parked.n; i++) {
        struct wio_cpl_bundle *b = parked[i].waits;
        double since = WAITIO_MPI_Wtime();

        if (b == NULL || parked[i].from > now)
            continue;
        if (cpl->back.any)
            parked[i].op.bundle = NULL; /* it is not begun anew here */
        wio_cpl_sight_of(cpl, b);
        rc = wio_cpl_wait(cpl, &parked[i].op, 1);
        wio_cpl_sight_of(cpl, NULL);
        (void)wio_cpl_waited(cpl, b, parked[i].op.peer, since);
        parked[i].waits = NULL;
    }
    return rc;
}

int wio_cpl_parked_sweep(struct waitio_cpl *cpl, bool all)
{
    struct wio_cpl_parked *parked = cpl->parked.at;
    size_t kept = 0;
    int rc = 0;

    for (size_t i = 0; i < cpl->parked.n; i++) {
        int flag = 0, peer = parked[i].op.peer;

        if (cpl->components[cpl->component_of[peer]].gone)
            continue; /* it may be under way: its memory stays */
        if (cpl->back.any)
            parked[i].op.bundle = NULL; /* it is not begun anew here */
        if (rc == 0 && all)
            rc = wio_cpl_wait(cpl, &parked[i].op, 1);
        else if (rc == 0 && WAITIO_MPI_Test(&parked[i].op.req, &flag, NULL) != 0)
            rc = refused(cpl, &parked[i].op);
        if (rc == 0 && (all || flag))
            free(parked[i].buffer);
        else
            parked[kept++] = parked[i];
    }
    cpl->parked.n = kept;
    return rc;
}

/* ---- receiving ----------------------------------------------------------------------------- */

int wio_cpl_bundle_post_one(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, size_t i)
{
    const struct wio_cpl_peer *peer = &peers_of(b)[i];
    size_t n = length(b, i);

    if (b->past != NULL && wio_cpl_past_serve(b, i))
        return 0;
    b->ops[i].peer = peer->rank;
    if (wio_cpl_trace(cpl, &b->ops[i], b->tag, false, b) != 0)
        return WAITIO_ERR_NOMEM;
    if (n > INT_MAX)
        return wio_cpl_fail(WAITIO_ERR_LIMIT,
                            "'%s' and what travels with it are %zu numbers from one process, more "
                            "than %d: use more processes",
                            var_at(b, 0)->name, n, INT_MAX);
    return WAITIO_MPI_Irecv(b->buffers[i], (int)n, datatype(b), peer->rank, b->tag, cpl->all,
                            &b->ops[i].req) != 0
               ? refused(cpl, &b->ops[i])
               : 0;
}

int wio_cpl_bundle_post(struct waitio_cpl *cpl, struct wio_cpl_bundle *b)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && !wio_cpl_bundle_gone(cpl, b) && i < n_peers(b); i++)
        rc = wio_cpl_bundle_post_one(cpl, b, i);
    return rc;
}

static int check_head(const struct waitio_cpl *cpl, const struct wio_cpl_bundle *b, size_t i,
                      struct wio_cpl_head *head)
{
    *head = wio_cpl_head_read(b->type, b->buffers[i]);
    if (head->version == WIO_CPL_VERSION && head->kind >= WIO_CPL_DATA &&
        head->kind <= WIO_CPL_END && head->layers == b->layers)
        return 0;
    return wio_cpl_fail(WAITIO_ERR_VERSION,
                        "%s sends '%s' in a form that is not known here (version %d, %zu layers "
                        "instead of %zu): link all components with one release, and give them one "
                        "configuration",
                        wio_cpl_who(cpl, b->ops[i].peer), var_at(b, 0)->name, head->version,
                        head->layers, b->layers);
}

/* Why what is wanted never comes. */
static int missed(const struct waitio_cpl *cpl, const struct wio_cpl_bundle *b, int64_t sent,
                  int64_t wanted, enum wio_cpl_verdict verdict)
{
    const char *sender = cpl->components[b->table->from].name;
    const char *own = cpl->components[b->table->to].name;
    const struct wio_cpl_link *l = var_at(b, 0)->link;
    long long stamp = (long long)sent;

    if (verdict == WIO_CPL_ENDED && b->now)
        return wio_cpl_fail(WAITIO_ERR_STATE,
                            "component '%s' has ended its run at %lld s, but component '%s' still "
                            "gets '%s' (%s:%d); with lag = 0 each get needs one put",
                            sender, stamp, own, l->var_get, cpl->conf.file, l->line);
    if (verdict == WIO_CPL_ENDED)
        return wio_cpl_fail(
            WAITIO_ERR_STATE,
            "component '%s' has ended its run at %lld s, but component '%s' goes on "
            "and needs '%s' of %lld s (%s:%d); both must run for the same time",
            sender, stamp, own, l->var_get, (long long)wanted, cpl->conf.file, l->line);
    return wio_cpl_fail(WAITIO_ERR_STATE,
                        "component '%s' needs '%s' of %lld s, but component '%s' has none between "
                        "%lld s and that of %lld s: intvl = %lld must be a multiple of the time "
                        "steps of both (%s:%d)",
                        own, l->var_get, (long long)wanted, sender,
                        (long long)(wanted - l->interval), stamp, (long long)l->interval,
                        cpl->conf.file, l->line);
}

/* Numbers of one peer to their places among the source points. */
static void unpack(const struct wio_cpl_bundle *b, size_t peer)
{
    const struct wio_cpl_peer *from = &peers_of(b)[peer];
    size_t width = wio_cpl_width(b->type), step = wio_cpl_bundle_numbers(b, peer) * width;
    const char *in = (const char *)b->buffers[peer] + WIO_CPL_HEAD * width;
    size_t at = 0; /* layer of the bundle */

    for (size_t i = 0; !b->in_place && i < b->vars.n; i++)
        for (int layer = 0; layer < var_at(b, i)->link->layers; layer++, at++, in += step)
            if (b->ahead)
                wio_cpl_sums_unpack(b, var_at(b, i), peer, at, in);
            else
                wio_cpl_widen(b->type, var_at(b, i)->fill, in, from->n,
                              b->sources + at * b->stride + from->first);
}

/* After a restart a later lag may want at once what is beyond the end of the run: what is passed
 * over then may be the last that comes, and serves. */
static void pass_over(struct wio_cpl_bundle *b, size_t i, int64_t stamp)
{
    if (b->have >= 0 || b->shift <= b->interval)
        return;
    unpack(b, i);
    b->passed = stamp;
}

enum { NEXT = 1 };

/* A message has come from a peer. @return 0: no other is needed; NEXT; else the error */
static int judge(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, size_t i, int64_t wanted,
                 const struct wio_cpl_head *head)
{
    enum wio_cpl_verdict verdict =
        wio_cpl_judge(b->interval, b->shift, wanted, (enum wio_cpl_kind)head->kind, head->stamp);

    if (verdict == WIO_CPL_TAKE)
        return 0;
    if (verdict == WIO_CPL_KEEP && (b->have >= 0 || b->passed >= 0)) {
        b->over = true;
        b->end = head->stamp;
        return 0;
    }
    verdict = verdict == WIO_CPL_KEEP ? WIO_CPL_ENDED : verdict;
    if (verdict == WIO_CPL_ENDED && wio_cpl_may_lose(cpl, b->ops[i].peer)) {
        wio_cpl_lose(cpl, b->table->from, "it has ended its run");
        return 0;
    }
    if (verdict != WIO_CPL_SKIP)
        return missed(cpl, b, head->stamp, wanted, verdict);
    pass_over(b, i, head->stamp);
    return NEXT;
}

/* Until the message of one peer is the one that is wanted. @param since the time now, and then */
static int take_one(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, size_t i, int64_t wanted,
                    bool any, double *since)
{
    int rc = NEXT;

    while (rc == NEXT) {
        struct wio_cpl_head head;

        rc = wio_cpl_wait(cpl, &b->ops[i], 1);
        *since = wio_cpl_waited(cpl, b, b->ops[i].peer, *since);
        if (rc != 0 || wio_cpl_bundle_gone(cpl, b))
            break;
        rc = wio_cpl_past_mark(cpl, b, i);
        if (rc == WIO_CPL_AGAIN) {
            rc = NEXT;
            continue;
        }
        if (rc == 0)
            rc = check_head(cpl, b, i, &head);
        if (rc == 0)
            wio_cpl_past_came(b, i, &head);
        if (rc == 0)
            rc = judge(cpl, b, i, any ? head.stamp : wanted, &head);
        if (rc == NEXT && (rc = wio_cpl_bundle_post_one(cpl, b, i)) == 0)
            rc = NEXT;
    }
    return rc;
}

/* What points without entries get. */
static double empty_of(const struct wio_cpl_var *v)
{
    return v->bundle->now && !v->link->has_fill ? 0 : v->fill;
}

/* Remap one variable. @param to of all its layers */
static void remap_one(const struct wio_cpl_var *v, double *to)
{
    const struct wio_cpl_bundle *b = v->bundle;
    const struct wio_cpl_remap *r = &b->table->remap;
    const double *from = b->sources + v->first * b->stride;
    const struct wio_cpl_gaps gaps = {v->link->masked, empty_of(v), v->fill};
    size_t layers = (size_t)v->link->layers, n = v->grid->n, half = layers / 2;

    if (b->table->limit != NULL)
        wio_cpl_limit_layers(b->table->limit, r, from, b->stride, to, n, layers, &gaps);
    else if (v->with != NULL)
        wio_cpl_remap_pair(r, v, b->sources, b->stride, to, &gaps);
    else if (v->link->tag > WIO_CPL_VECTOR_TAG)
        for (size_t k = 0; k < half; k++)
            wio_cpl_remap_turn(r, from + k * b->stride, from + (k + half) * b->stride, to + k * n,
                               to + (k + half) * n, n, &gaps);
    else
        wio_cpl_remap_layers(r, from, b->stride, to, n, layers, &gaps);
}

/* What a variable holds is of its type, whichever side remaps. */
static int round_off(const struct waitio_cpl *cpl, const struct wio_cpl_var *v)
{
    size_t n = v->grid->n * (size_t)v->link->layers;
    size_t done = wio_cpl_round(v->link->type, v->fill, v->data, n);

    return done < n ? wio_cpl_too_great(cpl, v, v->data[done], v->grid->index[done % v->grid->n])
                    : 0;
}

static int hook_too_late(const struct waitio_cpl *cpl, const struct wio_cpl_var *v)
{
    return wio_cpl_fail(WAITIO_ERR_STATE,
                        "component '%s' has given its own remapping function after the tables, but "
                        "'%s' is remapped by the sender: give it before, or say remap = 'receive' "
                        "(%s:%d)",
                        cpl->components[cpl->mine].name, v->name, cpl->conf.file, v->link->line);
}

static int remap_var(struct waitio_cpl *cpl, const struct wio_cpl_var *v)
{
    const struct wio_cpl_bundle *b = v->bundle;
    const struct wio_cpl_gaps gaps = {v->link->masked, empty_of(v), v->fill};

    if (cpl->hook != NULL)
        return b->ahead ? hook_too_late(cpl, v) : wio_cpl_hooked(cpl, b->table, v, empty_of(v));
    if (b->ahead)
        wio_cpl_sums_remap(b, v, v->first, &gaps);
    else
        remap_one(v, v->data);
    return 0;
}

/* May it wait until the program has an array for it? Not what others than one get read, nor what
 * must outlive the next message (a later lag at the end of the run). */
static bool may_wait(const struct waitio_cpl *cpl, const struct wio_cpl_var *v)
{
    const struct wio_cpl_bundle *b = v->bundle;

    return b->in_place && cpl->hook == NULL && b->shift <= b->interval &&
           v->link->statistic.kind == WIO_CPL_STAT_NONE && v->grid->open == NULL;
}

static int remap(struct waitio_cpl *cpl, const struct wio_cpl_bundle *b)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < b->vars.n; i++) {
        struct wio_cpl_var *v = var_at(b, i);

        v->unmade = may_wait(cpl, v);
        if (v->unmade)
            continue;
        rc = remap_var(cpl, v);
        if (rc == 0)
            rc = round_off(cpl, v);
    }
    return rc;
}

void wio_cpl_bundle_give(const struct wio_cpl_var *v, double *to)
{
    double since = WAITIO_MPI_Wtime();

    remap_one(v, to);
    v->bundle->costs.worked += WAITIO_MPI_Wtime() - since;
}

bool wio_cpl_bundle_expects(const struct wio_cpl_bundle *b, int64_t wanted)
{
    return !b->sends && !b->now && !b->over && b->have != wanted;
}

/* Of an ensemble others are left; a single sender is needed. */
static int without(const struct waitio_cpl *cpl, const struct wio_cpl_bundle *b)
{
    for (size_t i = 0; i < b->vars.n; i++) {
        const struct wio_cpl_link *l = var_at(b, i)->link;

        if (l->statistic.kind == WIO_CPL_STAT_NONE)
            return wio_cpl_fail(WAITIO_ERR_PEER,
                                "component '%s' has failed or left, and component '%s' cannot go "
                                "on without its '%s' (%s:%d)",
                                l->comp_put, l->comp_get, l->var_put, cpl->conf.file, l->line);
    }
    return 0;
}

/* What is wanted, of all peers, to the source points. */
static int take_all(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, int64_t wanted, bool any,
                    double since)
{
    const struct wio_cpl_peer *peers = peers_of(b);
    int rc = 0;

    for (size_t i = 0; rc == 0 && !wio_cpl_bundle_gone(cpl, b) && i < n_peers(b); i++) {
        rc = take_one(cpl, b, i, wanted, any, &since);
        if (rc != 0 || b->over || wio_cpl_bundle_gone(cpl, b))
            continue;
        if (!b->in_place) {
            unpack(b, i);
            since = WAITIO_MPI_Wtime();
        }
        wio_cpl_sight_message(cpl, b, peers[i].rank, length(b, i),
                              wio_cpl_head_read(b->type, b->buffers[i]).stamp);
    }
    return rc;
}

int wio_cpl_bundle_take(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, int64_t wanted, bool any)
{
    double since = WAITIO_MPI_Wtime(), waited = b->costs.waited;
    int rc;

    if (wio_cpl_bundle_gone(cpl, b))
        return without(cpl, b);
    if (b->over && wanted - b->shift >= b->end)
        return missed(cpl, b, b->end, wanted, WIO_CPL_ENDED);
    if (b->over)
        return 0;
    wio_cpl_sight_of(cpl, b);
    rc = take_all(cpl, b, wanted, any, since);
    wio_cpl_sight_of(cpl, NULL);
    if (rc == 0 && wio_cpl_bundle_gone(cpl, b))
        return without(cpl, b);
    if (rc != 0 || (b->over && b->have >= 0))
        return rc;
    b->have = b->over ? b->passed : wanted;
    rc = remap(cpl, b);
    wio_cpl_exchanged(b, since, waited);
    return rc;
}

static int too_much(const struct waitio_cpl *cpl, const struct wio_cpl_bundle *b, int64_t end,
                    int64_t stamp)
{
    const struct wio_cpl_link *l = var_at(b, 0)->link;

    return wio_cpl_fail(
        WAITIO_ERR_STATE,
        "component '%s' has ended its run at %lld s, but component '%s' goes on and "
        "sends '%s' of %lld s (%s:%d); both must run for the same time",
        cpl->components[b->table->to].name, (long long)end, cpl->components[b->table->from].name,
        l->var_put, (long long)stamp, cpl->conf.file, l->line);
}

/* With lag 0 one put may be left: programs put before their first step and at the end of each. */
static int too_many(const struct waitio_cpl *cpl, const struct wio_cpl_bundle *b, int64_t stamp)
{
    const struct wio_cpl_link *l = var_at(b, 0)->link;

    return wio_cpl_fail(
        WAITIO_ERR_STATE,
        "component '%s' has put '%s' more often than component '%s' has got '%s': "
        "the put at %lld s and one before it are left over at the end; with lag = 0 "
        "each get takes one put, and at most one may remain (%s:%d)",
        l->comp_put, l->var_put, l->comp_get, l->var_get, (long long)stamp, cpl->conf.file,
        l->line);
}

static int drain_one(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, size_t i, int64_t end)
{
    for (int left = 0;; left++) {
        struct wio_cpl_head head = {0};
        int rc = wio_cpl_bundle_post_one(cpl, b, i);

        while (rc == 0 && (rc = wio_cpl_wait(cpl, &b->ops[i], 1)) == 0 &&
               (rc = wio_cpl_past_mark(cpl, b, i)) == WIO_CPL_AGAIN)
            rc = 0;
        if (rc == 0 && !wio_cpl_bundle_gone(cpl, b))
            rc = check_head(cpl, b, i, &head);
        if (rc != 0 || wio_cpl_bundle_gone(cpl, b))
            return rc;
        wio_cpl_past_came(b, i, &head);
        if (head.kind == WIO_CPL_END)
            return 0;
        if (b->now && left > 0)
            return too_many(cpl, b, head.stamp);
        if (!b->now && !wio_cpl_may_remain(b->shift, end, head.stamp))
            return too_much(cpl, b, end, head.stamp);
    }
}

int wio_cpl_bundle_drain(struct waitio_cpl *cpl, struct wio_cpl_bundle *b, int64_t end)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && !b->over && !wio_cpl_bundle_gone(cpl, b) && i < n_peers(b); i++)
        rc = drain_one(cpl, b, i, end);
    return rc;
}
