/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/kings.h"

#include <stdlib.h>
#include <string.h>

#include "os/os.h"

int wio_king(const struct wio_topology *topo, int p, int i, int root)
{
    const struct wio_kings *k = topo->kings;
    bool roots = root >= 0 && topo->pb[root] == p;

    /* With one king the root saves a step when it sends by itself, unless somebody was named. */
    if (roots && (k == NULL || (k->n == 1 && !k->placed[p])))
        return root;
    return k == NULL ? topo->first[p] : k->rank[p * k->n + i % k->n];
}

/* ---- choosing ---- */

/* Hosts of a PB in the order of its members, as many as can have a king each. */
struct hosts {
    int n;
    uint64_t host[WIO_KINGS_MOST];
    int members[WIO_KINGS_MOST], kings[WIO_KINGS_MOST];
};

/* Members of a PB that may be kings. */
struct candidates {
    const struct wio_topology *topo;
    int size, pb;
    const uint64_t *host;
    const bool *named; /* only these, or NULL: all */
};

static bool may_be(const struct candidates *c, int rank)
{
    return c->topo->pb[rank] == c->pb && (c->named == NULL || c->named[rank]);
}

static int place_of(const struct hosts *h, uint64_t host)
{
    int i = 0;

    while (i < h->n && h->host[i] != host)
        i++;
    return i;
}

static void find_hosts(const struct candidates *c, struct hosts *h)
{
    memset(h, 0, sizeof *h);
    for (int r = 0; r < c->size; r++) {
        int at = may_be(c, r) ? place_of(h, c->host[r]) : WIO_KINGS_MOST;
        if (at == WIO_KINGS_MOST)
            continue;
        h->host[at] = c->host[r];
        h->n = at == h->n ? at + 1 : h->n;
        h->members[at]++;
    }
}

/* The host of the next king: the one with the fewest that has another member. @return -1: none */
static int next_host(const struct hosts *h)
{
    int best = -1;

    for (int i = 0; i < h->n; i++)
        if (h->kings[i] < h->members[i] && (best < 0 || h->kings[i] < h->kings[best]))
            best = i;
    return best;
}

/* Candidate number @p which of a host. */
static int candidate(const struct candidates *c, uint64_t host, int which)
{
    for (int r = 0; r < c->size; r++)
        if (may_be(c, r) && c->host[r] == host && which-- == 0)
            return r;
    return -1;
}

static void choose(const struct candidates *c, int n, int *king)
{
    struct hosts h;
    int on[WIO_KINGS_MOST], number[WIO_KINGS_MOST], chosen = 0;

    find_hosts(c, &h);
    while (chosen < n && (on[chosen] = next_host(&h)) >= 0) {
        number[chosen] = h.kings[on[chosen]]++;
        chosen++;
    }
    for (int i = 0; i < n; i++) {
        int k = i % chosen, at = on[k];
        king[i] = candidate(c, h.host[at], number[k] * h.members[at] / h.kings[at]);
    }
}

/* @return members of the PB; *named: how many of them are named */
static int count(const struct wio_topology *topo, int size, const bool *named, int pb, int *of)
{
    int n = 0;

    *of = 0;
    for (int r = 0; r < size; r++)
        if (topo->pb[r] == pb) {
            n++;
            *of += named != NULL && named[r];
        }
    return n;
}

/* A PB of one member stands for any number of kings; the others decide. */
static int limit(const struct wio_topology *topo, int size, const bool *named, int want)
{
    bool several = false;

    want = want > WIO_KINGS_MOST ? WIO_KINGS_MOST : want;
    for (int p = 0; p < topo->npb; p++) {
        int of, n = count(topo, size, named, p, &of), have = of > 0 ? of : n;
        several |= n > 1;
        want = n > 1 && have < want ? have : want;
    }
    return several && want > 1 ? want : 1;
}

struct wio_kings *wio_kings_new(const struct wio_topology *topo, int size, const uint64_t *host,
                                const bool *named, int want)
{
    int n = limit(topo, size, named, want);
    size_t ranks = (size_t)topo->npb * (size_t)n, flags = (size_t)topo->npb + (size_t)size;
    struct wio_kings *k = wio_os_alloc(sizeof *k + ranks * sizeof(int) + flags * sizeof(bool));
    int *rank;
    bool *placed, *kept;

    if (k == NULL) {
        (void)wio_fail(WAITIO_ERR_NOMEM, "no memory for the kings of %d members", size);
        return NULL;
    }
    rank = (int *)(void *)(k + 1);
    placed = (bool *)(void *)(rank + ranks);
    kept = placed + topo->npb;
    for (int p = 0; p < topo->npb; p++) {
        int of;
        (void)count(topo, size, named, p, &of);
        placed[p] = of > 0;
        choose(&(struct candidates){topo, size, p, host, of > 0 ? named : NULL}, n,
               &rank[(size_t)p * (size_t)n]);
    }
    for (int r = 0; r < size; r++)
        kept[r] = named != NULL && named[r];
    *k = (struct wio_kings){.want = want, .n = n, .rank = rank, .placed = placed, .named = kept};
    return k;
}

/* ---- of a communicator ---- */

int wio_kings_give(struct wio_comm *c, const bool *named, int want)
{
    uint64_t *host = wio_os_alloc((size_t)c->size * sizeof *host);
    struct wio_kings *k = NULL;

    if (host == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for the kings of %d members", c->size);
    for (int r = 0; r < c->size; r++) {
        const struct wio_table *t = c->table;
        host[r] = t->host[t->ep[wio_group_member(&c->twin, (uint32_t)r)].host].identity;
    }
    k = wio_kings_new(&c->topo, c->size, host, named, want);
    wio_os_free(host);
    if (k == NULL)
        return WAITIO_ERR_NOMEM;
    wio_os_free(c->kings);
    c->topo.kings = c->kings = k;
    return 0;
}

int wio_kings_derive(const struct waitio_group *parent, const struct wio_comm *from,
                     struct wio_comm *c)
{
    bool *named;
    int rc = 0;

    if (from->kings == NULL || c->topo.npb < 2)
        return 0;
    named = wio_os_alloc((size_t)c->size * sizeof *named);
    if (named == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for the kings of %d members", c->size);
    for (int r = 0; rc == 0 && r < c->size; r++) {
        int64_t before = wio_group_rank_of(parent, wio_group_member(&c->twin, (uint32_t)r));
        named[r] = before >= 0 && from->kings->named[before];
    }
    rc = wio_kings_give(c, named, from->kings->want);
    wio_os_free(named);
    return rc;
}

/* ---- named by hand ---- */

/* "3" or "8-11". @return where it ends; NULL: it is neither */
static const char *range(const char *at, unsigned long *first, unsigned long *last)
{
    char *end;

    if (*at < '0' || *at > '9')
        return NULL;
    *first = *last = strtoul(at, &end, 10);
    if (*end != '-')
        return end;
    if (end[1] < '0' || end[1] > '9')
        return NULL;
    *last = strtoul(end + 1, &end, 10);
    return *first <= *last ? end : NULL;
}

int wio_kings_named(const char *rules, uint32_t rank, uint32_t local, int *named)
{
    static const char on_host[] = "host:";
    bool by_host = strncmp(rules, on_host, sizeof on_host - 1) == 0;
    const char *at = by_host ? rules + sizeof on_host - 1 : rules;
    uint32_t mine = by_host ? local : rank;

    *named = strcmp(rules, "self") == 0;
    if (*rules == '\0' || *named)
        return 0;
    while (at != NULL) {
        unsigned long first, last;
        at = range(at, &first, &last);
        if (at != NULL)
            *named |= mine >= first && mine <= last;
        if (at != NULL && *at == '\0')
            return 0;
        at = at != NULL && *at == ',' ? at + 1 : NULL;
    }
    return wio_fail(WAITIO_ERR_ARG,
                    "WAITIO_HYBRID_KING_RANKS=%s: give ranks in the block such as 0,4,8-11, or "
                    "host:0,4 for ranks on each host, or self in the environment of each king",
                    rules);
}
