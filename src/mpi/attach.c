/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making a hybrid communicator: all processes of the universe say whether they are members, in
 * which order, and what their PB's provider says of its part. Each of them then checks the whole
 * table, so all find the same communicator, or the same mistake, wherever it was made.
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/api.h"
#include "mpi/coll.h"
#include "mpi/comm/split.h"
#include "mpi/comm/state.h"
#include "mpi/inside.h"
#include "mpi/kings.h"
#include "os/os.h"

static const uint64_t HYBRID = 0x6879627269640000ULL;

/* What a process says. */
struct wish {
    int32_t member, key;
    int32_t has;        /* a provider */
    int32_t way;        /* WAITIO_HYBRID_INSIDE */
    int32_t size, rank; /* of its part */
    int32_t blocks;     /* WAITIO_HYBRID_BLOCKING, and errors end it */
    int32_t kings;      /* WAITIO_HYBRID_KINGS; 0: to be measured */
    int32_t named;      /* a king by WAITIO_HYBRID_KING_RANKS */
    int32_t error;      /* it cannot take part */
};
enum { WORDS = sizeof(struct wish) / sizeof(int32_t) };

static int check_table(const struct waitio_inside_ops *ops, const void *part)
{
    if (ops->version != WAITIO_INSIDE_VERSION || ops->size < WAITIO_INSIDE_SIZE_LEAST)
        return wio_fail(
            WAITIO_ERR_ARG,
            "the provider \"%s\" was built for version %u of waitio_inside.h (%u bytes), "
            "this library has version %d (%zu bytes or more): build it again",
            ops->version == WAITIO_INSIDE_VERSION ? ops->name : "?", ops->version, ops->size,
            WAITIO_INSIDE_VERSION, (size_t)WAITIO_INSIDE_SIZE_LEAST);
    if (part == NULL)
        return wio_fail(WAITIO_ERR_ARG, "the part of the provider %s is NULL", ops->name);
    return 0;
}

static int ask(const struct waitio_inside_ops *ops, void *part, int *size, int *rank)
{
    char why[256] = "";
    int rc = ops->may_call(part, why, sizeof why);

    if (rc == 0)
        rc = ops->members(part, size, rank);
    return rc == 0 ? 0 : wio_fail(rc, "%s: %s", ops->name, why);
}

/* Is this process named as one that carries long messages? */
static int look_for_name(const struct wio_config *cfg, int32_t *named)
{
    const struct wio_table *t = wio_universe_table(wio_api_universe());
    uint32_t first = t->pb_base[wio_table_pb_of(t, t->me)], local = 0;
    uint64_t here = t->host[t->ep[t->me].host].identity;

    for (uint32_t i = first; i < t->me; i++)
        local += t->host[t->ep[i].host].identity == here;
    return wio_kings_named(cfg->hybrid_king_ranks, t->me - first, local, named);
}

static struct wish wish_of(const struct waitio_inside_ops *ops, void *part, int member, int key)
{
    const struct wio_config *cfg = wio_universe_config(wio_api_universe());
    struct wish w = {.member = member != 0, .key = key, .has = member != 0 && ops != NULL};
    int size = 0, rank = 0;

    w.way = cfg->hybrid_inside;
    w.blocks = cfg->hybrid_blocking && wio_mpi_errors_end();
    w.kings = cfg->hybrid_kings;
    w.error = w.member ? look_for_name(cfg, &w.named) : 0;
    if (w.has && w.error == 0)
        w.error = check_table(ops, part);
    if (w.has && w.error == 0)
        w.error = ask(ops, part, &size, &rank);
    w.size = size;
    w.rank = rank;
    return w;
}

/* ---- checks, the same on all processes ---- */

/* The first process that cannot take part says why to all: when one has ended with its error, the
 * launchers end the others, whose own message may be lost then. @param why of this process */
static int check_errors(const struct wio_table *t, const struct wish *all, WAITIO_MPI_Comm world,
                        char *why, int bytes)
{
    struct wio_call call = {.kind = WIO_BCAST,
                            .recv = {.buf = why, .count = bytes, .type = WAITIO_MPI_CHAR}};
    uint32_t i = 0;
    int rc;

    while (i < t->size && all[i].error == 0)
        i++;
    if (i == t->size)
        return 0;
    call.root = (int)i;
    rc = wio_coll_call(&call, world, NULL);
    if (rc != 0)
        return rc;
    why[bytes - 1] = '\0';
    if (i == t->me)
        return wio_fail(all[i].error, "%s", why);
    return wio_fail(all[i].error, "PB %u rank %u cannot take part in the hybrid communicator: %s",
                    wio_table_pb_of(t, i), i - t->pb_base[wio_table_pb_of(t, i)], why);
}

/* A provider's part has to have exactly the members of its PB, each rank once. */
static int check_pb(const struct wish *w, uint32_t pb, uint32_t n, unsigned char *seen)
{
    uint32_t members = 0, with = 0;
    int32_t size = 0;

    memset(seen, 0, n);
    for (uint32_t i = 0; i < n; i++) {
        members += w[i].member != 0;
        with += w[i].has != 0;
        size = w[i].has ? w[i].size : size;
    }
    if (with != 0 && with != members)
        return wio_fail(WAITIO_ERR_ARG,
                        "PB %u: %u of its %u members give a provider; all of them or none", pb,
                        with, members);
    for (uint32_t i = 0; i < n; i++) {
        if (!w[i].has)
            continue;
        if (w[i].size != size || (uint32_t)size != members || w[i].rank < 0 || w[i].rank >= size ||
            seen[w[i].rank]++ != 0)
            return wio_fail(WAITIO_ERR_ARG,
                            "PB %u: rank %u has rank %d of %d in its MPI communicator, but %u "
                            "processes of this PB take part; give a communicator of exactly these",
                            pb, i, w[i].rank, w[i].size, members);
    }
    return 0;
}

static int check(const struct wio_table *t, const struct wish *all)
{
    unsigned char *seen = wio_os_alloc(t->size);
    int rc = 0;

    if (seen == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for %u processes", t->size);
    for (uint32_t p = 0; rc == 0 && p < t->npb; p++)
        rc = check_pb(all + t->pb_base[p], p, t->pb_size[p], seen);
    wio_os_free(seen);
    return rc;
}

/* ---- the communicator ---- */

struct place {
    int32_t key;
    uint32_t rank; /* in the universe: by PB, then by rank in the PB */
};

static int by_key(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int make(const struct wio_table *t, const struct wish *all, uint64_t space,
                WAITIO_MPI_Comm *comm)
{
    struct place *place = wio_os_alloc(t->size * sizeof *place);
    uint32_t *members = wio_os_alloc(t->size * sizeof *members), n = 0;
    int rc = 0;

    if (place == NULL || members == NULL)
        rc = wio_fail(WAITIO_ERR_NOMEM, "no memory for a communicator of %u processes", t->size);
    for (uint32_t i = 0; rc == 0 && i < t->size; i++)
        if (all[i].member)
            place[n++] = (struct place){all[i].key, i};
    if (rc == 0)
        qsort(place, n, sizeof *place, by_key);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        members[i] = place[i].rank;
    if (rc == 0)
        rc = wio_comm_make(members, n, space, comm);
    wio_os_free(place);
    wio_os_free(members);
    return rc;
}

/* Of the members of PB @p pb: all want what one of them says. Forced ways win over measuring. */
static int way_of(const struct wio_table *t, const struct wish *all, uint32_t pb)
{
    int way = WIO_CFG_HYBRID_INSIDE_AUTO;

    for (uint32_t i = t->pb_base[pb]; i < t->pb_base[pb] + t->pb_size[pb]; i++)
        if (all[i].has && all[i].way > way)
            way = all[i].way;
    return way;
}

/* The part as the program gave it is the parent of those that the communicator uses. */
static int settle(const struct waitio_inside_ops *ops, void *part, const struct wish *all,
                  WAITIO_MPI_Comm comm, struct wio_comm *c)
{
    struct wio_inside *given;
    struct wio_comm *parent = wio_os_alloc(sizeof *parent);
    int *place, rc;

    given = wio_os_alloc(sizeof *given + (size_t)c->size * sizeof *place);
    if (parent == NULL || given == NULL) {
        wio_os_free(parent);
        wio_os_free(given);
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for a communicator of %d members", c->size);
    }
    place = (int *)(void *)(given + 1);
    memset(given, 0, sizeof *given);
    given->ops = ops;
    given->uses = WIO_INSIDE_ALL;
    given->blocks = true;
    for (int i = 0; i < c->size; i++)
        given->blocks &= all[wio_group_member(&c->twin, (uint32_t)i)].blocks != 0;
    given->part[0].part = part;
    given->place = place;
    for (int i = 0; i < c->size; i++)
        place[i] = all[wio_group_member(&c->twin, (uint32_t)i)].rank;
    *parent = *c;
    parent->hybrid = WIO_INSIDE_ALL;
    parent->inside = ops != NULL ? given : NULL;
    rc = wio_inside_derive(comm, parent, c, true);
    wio_os_free(given);
    wio_os_free(parent);
    return rc;
}

/* Providers try their operators: some MPIs compare unsigned integers as signed ones. */
static void tell_wrong_order(const struct wio_inside *inside)
{
    if (!inside->ops->reduces(inside->part[0].part, WAITIO_MPI_UINT64_T, WAITIO_MPI_MAX) &&
        inside->ops->reduces(inside->part[0].part, WAITIO_MPI_UINT64_T, WAITIO_MPI_SUM))
        wio_info(wio_universe_log(wio_api_universe()), WIO_C_MPI,
                 "%s compares unsigned integers as signed ones: MIN and MAX of them are folded by "
                 "WaitIO",
                 inside->ops->name);
}

/* Provider or messages in my PB. Measuring uses messages, so it comes before any hybrid row. */
static int decide(const struct wio_table *t, const struct wish *all, struct wio_comm *c)
{
    int way = way_of(t, all, wio_table_pb_of(t, t->me)), rc = 0;

    if (c->inside == NULL)
        return 0;
    tell_wrong_order(c->inside);
    if (way == WIO_CFG_HYBRID_INSIDE_MESSAGES)
        c->inside->uses = 0;
    else if (way == WIO_CFG_HYBRID_INSIDE_AUTO)
        rc = wio_inside_probe(c, wio_universe_log(wio_api_universe()));
    if (rc == 0 && c->inside->uses == 0) {
        wio_inside_free(c->inside);
        c->inside = NULL;
    }
    return rc;
}

/* Has any member failed? Which sizes go by providers? @return the error, with a text that names
 * the member */
static int agree(WAITIO_MPI_Comm comm, struct wio_comm *c, int rc, uint8_t *hybrid)
{
    int32_t *all = wio_os_alloc(2 * (size_t)c->size * sizeof *all);
    int32_t mine[2] = {rc, c->inside != NULL ? c->inside->uses : 0};
    struct wio_call call = {.kind = WIO_ALLGATHER,
                            .send = {.buf = mine, .count = 2, .type = WAITIO_MPI_INT},
                            .recv = {.buf = all, .count = 2, .type = WAITIO_MPI_INT}};
    char why[256];
    int first = -1, rc2;

    if (all == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for %d processes", c->size);
    snprintf(why, sizeof why, "%s", wio_last_detail());
    rc2 = wio_coll_call(&call, comm, NULL);
    for (int i = 0; rc2 == 0 && i < c->size; i++) {
        first = first < 0 && all[2 * i] != 0 ? i : first;
        *hybrid |= (uint8_t)all[2 * i + 1];
    }
    if (rc == 0 && rc2 == 0 && first >= 0)
        rc2 = wio_fail(all[2 * first],
                       "rank %d cannot use the provider of its PB: its own message "
                       "says why",
                       first);
    wio_os_free(all);
    return rc != 0 ? wio_fail(rc, "%s", why) : rc2;
}

/* How many members ask for: the largest number. @return 0: it is to be measured */
static int kings_asked(const struct wish *all, const struct wio_comm *c)
{
    int want = 0;

    for (int i = 0; i < c->size; i++) {
        const struct wish *w = &all[wio_group_member(&c->twin, (uint32_t)i)];
        want = w->kings > want ? w->kings : want;
    }
    return want;
}

/* Within a host one process fills the border. All find the same. */
static int crown(const struct wish *all, WAITIO_MPI_Comm comm, struct wio_comm *c)
{
    bool *named = wio_os_alloc((size_t)c->size * sizeof *named), some = false;
    int n = kings_asked(all, c), rc = 0;

    for (int i = 0; named != NULL && i < c->size; i++)
        some |= named[i] = all[wio_group_member(&c->twin, (uint32_t)i)].named != 0;
    if (n == 0 && !c->topo.host) /* also without memory: the others wait there */
        rc = wio_kings_measure(comm, c, named, &n);
    else if (named == NULL)
        rc = wio_fail(WAITIO_ERR_NOMEM, "no memory for the kings of %d members", c->size);
    if (rc == 0 && (n > 1 || some))
        rc = wio_kings_give(c, named, n);
    wio_os_free(named);
    return rc;
}

/* Long messages of a communicator that spans PBs, some of which use their providers for them. */
static int go_wide(const struct wish *all, WAITIO_MPI_Comm comm, struct wio_comm *c)
{
    uint8_t unused = 0;
    int rc = agree(comm, c, crown(all, comm, c), &unused);

    if (rc == 0 && wio_kings_of(&c->topo) > 1)
        rc = agree(comm, c, wio_inside_widen(c), &unused);
    wio_debug(wio_universe_log(wio_api_universe()), WIO_C_MPI,
              "long messages of a hybrid communicator: %d kings of each block",
              wio_kings_of(&c->topo));
    return rc;
}

/* Collectives that come before all members have agreed go by messages. */
static int complete(const struct waitio_inside_ops *ops, void *part, const struct wish *all,
                    WAITIO_MPI_Comm comm, const struct wio_table *t)
{
    struct wio_comm *c;
    uint8_t hybrid = 0;
    int rc = wio_comm_get(comm, &c);

    if (rc != 0)
        return rc;
    for (uint32_t p = 0; p < t->npb; p++)
        c->hybrid_always |= way_of(t, all, p) == WIO_CFG_HYBRID_INSIDE_MPI;
    rc = settle(ops, part, all, comm, c);
    c->topo.hybrid = 0;
    if (rc == 0)
        rc = decide(t, all, c);
    rc = agree(comm, c, rc, &hybrid);
    c->hybrid = hybrid;
    c->topo.hybrid = c->hybrid_always || !c->topo.host ? hybrid : 0;
    if (rc == 0 && c->topo.npb > 1 && (c->topo.hybrid & wio_inside_class(SIZE_MAX)) != 0)
        rc = go_wide(all, comm, c);
    return rc;
}

static int attach(const struct waitio_inside_ops *ops, void *part, int member, int key,
                  WAITIO_MPI_Comm *comm)
{
    struct wio_universe *u = wio_api_universe();
    const struct wio_table *t = u == NULL ? NULL : wio_universe_table(u);
    WAITIO_MPI_Comm world = NULL;
    struct wio_comm *c;
    struct wish mine, *all;
    struct wio_call call = {.kind = WIO_ALLGATHER,
                            .send = {.buf = &mine, .count = WORDS, .type = WAITIO_MPI_INT},
                            .recv = {.count = WORDS, .type = WAITIO_MPI_INT}};
    char why[256];
    uint64_t space = 0;
    int rc = t == NULL ? wio_last_code() : wio_mpi_constant(WIO_WORLD, &world);

    if (rc == 0)
        rc = wio_comm_get(world, &c);
    if (rc == 0)
        rc = wio_split_space(c, world, HYBRID, &space);
    if (rc != 0)
        return rc;
    all = wio_os_alloc(t->size * sizeof *all);
    if (all == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for %u processes", t->size);
    mine = wish_of(ops, part, member, key);
    snprintf(why, sizeof why, "%s", mine.error != 0 ? wio_last_detail() : "");
    call.recv.buf = all;
    rc = wio_coll_call(&call, world, NULL);
    if (rc == 0)
        rc = check_errors(t, all, world, why, sizeof why);
    if (rc == 0)
        rc = check(t, all);
    if (rc == 0 && member)
        rc = make(t, all, space, comm);
    if (rc == 0 && member) {
        rc = complete(ops, part, all, *comm, t);
        if (rc != 0)
            (void)wio_mpi_comm_free(comm);
    }
    wio_os_free(all);
    return rc;
}

int waitio_create_hybrid(WAITIO_MPI_Comm *comm, int member, int key)
{
    int rc = wio_mpi_need("communicator", comm);

    if (rc == 0) {
        *comm = WAITIO_MPI_COMM_NULL;
        rc = attach(NULL, NULL, member, key, comm);
    }
    return wio_mpi_result("waitio_create_hybrid", rc);
}

int waitio_inside_blocking_only(WAITIO_MPI_Comm comm)
{
    struct wio_comm *c;
    int rc = wio_comm_get(comm, &c);

    if (rc == 0 && c->inside != NULL)
        c->inside->now_only = true;
    return wio_mpi_result("waitio_inside_blocking_only", rc);
}

int waitio_inside_keep_off(void)
{
    struct wio_universe *u = wio_api_universe();

    if (u != NULL)
        wio_outside_keep_off(u);
    return wio_mpi_result("waitio_inside_keep_off", u != NULL ? 0 : wio_last_code());
}

void waitio_inside_name(const char *call)
{
    wio_stuck_name(call);
}

int waitio_inside_elsewhere(const char *call, double seconds, double *again)
{
    struct wio_universe *u = wio_api_universe();
    int rc = wio_mpi_need(call == NULL ? "call" : "time", call == NULL ? NULL : again);

    if (rc == 0 && u == NULL)
        rc = wio_last_code();
    if (rc == 0)
        *again = wio_stuck_elsewhere(u, call, seconds);
    return wio_mpi_result("waitio_inside_elsewhere", rc);
}

int waitio_inside_attach(const struct waitio_inside_ops *ops, void *part, int member, int key,
                         WAITIO_MPI_Comm *comm)
{
    int rc = wio_mpi_need("communicator", comm);

    if (rc == 0) {
        *comm = WAITIO_MPI_COMM_NULL;
        rc = attach(ops, part, member, key, comm);
        if (rc == 0 && ops != NULL && part != NULL && member)
            ops->free(part); /* the communicator has its own */
    }
    return wio_mpi_result("waitio_inside_attach", rc);
}
