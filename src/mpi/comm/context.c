/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives use the members of a communicator in a message space of their own, so that they never
 * match point-to-point messages (callers use tag 0 for both). The space is derived from the
 * communicator's, which is a hash of its id and members: communicators that share one share the
 * other, and a pointer that is reused for another group cannot be confused with its predecessor.
 */
#include "api/api.h"
#include "mpi/comm.h"
#include "mpi/attributes.h"
#include "mpi/inside.h"
#include "mpi/comm/state.h"
#include "mpi/comm/topology.h"
#include "os/os.h"

static const uint64_t COLLECTIVE = 0x636f6c6c65637469ULL; /* any constant */

static int alive;

int wio_comm_alive(void)
{
    return __atomic_load_n(&alive, __ATOMIC_RELAXED);
}

void wio_comm_hold(struct wio_comm *c)
{
    __atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
}

void wio_comm_release(struct wio_comm *c)
{
    if (c != NULL && __atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL) == 0) {
        __atomic_sub_fetch(&alive, 1, __ATOMIC_RELAXED);
        wio_plans_free(c->plans);
        wio_attributes_free(c->attributes);
        wio_os_free(c->name);
        wio_os_free(c->cart);
        wio_graph_release(c->graph);
        wio_os_free(c->inter);
        wio_inside_free(c->inside);
        wio_os_free(c->kings);
        wio_os_free(c);
    }
}

static void group_gone(void *upper)
{
    wio_comm_release(upper);
}

/* Number the PBs in order of appearance; @p number has an entry per PB of the universe. */
static void look_around(const struct wio_table *t, struct wio_comm *c, int *pb, int *first,
                        int *number)
{
    int last = -1;

    for (uint32_t p = 0; p < t->npb; p++)
        number[p] = -1;
    c->topo = (struct wio_topology){.pb = pb, .first = first, .runs = true};
    for (int i = 0; i < c->size; i++) {
        uint32_t p = wio_table_pb_of(t, wio_group_member(&c->twin, (uint32_t)i));
        bool fresh = number[p] < 0;
        if (fresh) {
            first[c->topo.npb] = i;
            number[p] = c->topo.npb++;
        }
        pb[i] = number[p];
        if (pb[i] != last && !fresh)
            c->topo.runs = false;
        last = pb[i];
    }
}

/* Whether all members share a host, may read the sender's memory there, and how many of them there
 * are for each of its processors. All have the same table, so all find the same. */
static void look_at_hosts(const struct wio_table *t, struct wio_comm *c)
{
    const struct wio_tab_ep *first = &t->ep[wio_group_member(&c->twin, 0)];
    uint16_t need = WIO_EP_LENDS | 1u << WIO_TR_SHM, have = need;
    uint32_t cpus;

    c->topo.host = true;
    for (uint32_t i = 0; c->topo.host && i < c->twin.size; i++) {
        const struct wio_tab_ep *e = &t->ep[wio_group_member(&c->twin, i)];
        have &= e->caps;
        c->topo.host = t->host[e->host].identity == t->host[first->host].identity;
    }
    c->topo.loans =
        c->topo.host && have == need && wio_table_crowded(t, wio_group_member(&c->twin, 0));
    cpus = wio_table_processors(t, wio_group_member(&c->twin, 0));
    c->topo.share = c->topo.host && cpus > 0 ? c->twin.size / cpus : 0;
}

bool wio_comm_pretend_swap;

static bool big(uint16_t caps)
{
    return (caps & WIO_EP_BIG_ENDIAN) != 0;
}

/* Do the members store numbers differently? */
static void compare_formats(const struct wio_table *t, struct wio_comm *c)
{
    uint16_t mine = t->ep[t->me].caps;

    for (uint32_t i = 0; i < c->twin.size; i++) {
        uint16_t theirs = t->ep[wio_group_member(&c->twin, i)].caps;
        c->swap |= big(mine) && !big(theirs);
        c->no_long_double |= ((mine ^ theirs) & (WIO_EP_LONG_DOUBLE | WIO_EP_BIG_ENDIAN)) != 0;
    }
    c->swap |= wio_comm_pretend_swap;
    c->no_long_double |= wio_comm_pretend_swap;
}

bool wio_comm_swaps(const struct wio_comm *c, int peer)
{
    if (WIO_LIKELY(!c->swap) || peer < 0 || peer >= c->size)
        return false;
    return wio_comm_pretend_swap ||
           !big(c->table->ep[wio_group_member(&c->twin, (uint32_t)peer)].caps);
}

int wio_comm_takes(const struct wio_comm *c, const struct wio_mpi_type *type)
{
    if (WIO_LIKELY(!c->no_long_double || !type->long_double))
        return 0;
    return wio_fail(WAITIO_ERR_UNSUPPORTED,
                    "%s: members of this communicator write long double differently, and it has no "
                    "common form; send DOUBLE",
                    type->name);
}

/* One piece of memory: the state, then universe ranks, PB numbers, first ranks. */
static int context_new(const struct wio_table *t, const struct waitio_group *g, bool own,
                       struct wio_comm **out)
{
    size_t n = g->size;
    struct wio_comm *c = wio_os_alloc(sizeof *c + (2 * n + t->npb) * sizeof(int));
    int *number = wio_os_alloc(t->npb * sizeof *number), *pb;
    uint32_t *members;

    if (c == NULL || number == NULL) {
        wio_os_free(c);
        wio_os_free(number);
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for a communicator of %zu members", n);
    }
    members = (uint32_t *)(void *)(c + 1);
    pb = (int *)(void *)(members + n);
    c->refs = 1;
    c->own = own;
    /* What never changes; list node and reference count belong to the engine. The reverse index is
     * not needed: there are no receives from any source. */
    c->twin = (struct waitio_group){.magic = g->magic,
                                    .refs = 1,
                                    .gid = g->gid,
                                    .size = g->size,
                                    .my_rank = g->my_rank,
                                    .first = g->first,
                                    .fragile = true,
                                    .space = wio_hash64(g->space, COLLECTIVE)};
    if (g->members != NULL)
        c->twin.members = memcpy(members, g->members, n * sizeof *members);
    c->rank = g->my_rank;
    c->size = (int)g->size;
    c->table = t;
    look_around(t, c, pb, pb + n, number);
    look_at_hosts(t, c);
    compare_formats(t, c);
    wio_os_free(number);
    __atomic_add_fetch(&alive, 1, __ATOMIC_RELAXED);
    *out = c;
    return 0;
}

static int context_make(const struct wio_table *t, struct waitio_group *g, bool own,
                        struct wio_comm **out)
{
    int rc = context_new(t, g, own, out);

    if (rc == 0) {
        g->upper_free = group_gone;
        __atomic_store_n(&g->together, (*out)->twin.space, __ATOMIC_RELEASE);
        __atomic_store_n(&g->upper, (void *)*out, __ATOMIC_RELEASE);
    }
    return rc;
}

int wio_comm_get(WAITIO_MPI_Comm comm, struct wio_comm **out)
{
    struct wio_universe *u = wio_api_universe();
    int rc = u == NULL ? wio_last_code() : wio_group_check(u, comm);

    if (WIO_UNLIKELY(rc != 0))
        return rc;
    if (WIO_UNLIKELY(comm->my_rank < 0))
        return wio_fail(WAITIO_ERR_RANK, "this process is no member of the communicator; only "
                                         "members take part in its collectives");
    *out = __atomic_load_n(&comm->upper, __ATOMIC_ACQUIRE);
    if (WIO_LIKELY(*out != NULL))
        return 0;
    pthread_mutex_lock(&wio_mpi_state.lock);
    *out = comm->upper;
    if (*out == NULL)
        rc = context_make(wio_universe_table(u), comm, false, out);
    pthread_mutex_unlock(&wio_mpi_state.lock);
    return rc;
}

/* Do all machines of the universe write numbers alike? Needed for every message, so it is computed
 * once. */
static bool all_alike(const struct wio_table *t)
{
    enum { UNKNOWN, ALIKE, UNLIKE };
    struct wio_mpi_state *st = &wio_mpi_state;
    int known = __atomic_load_n(&st->formats, __ATOMIC_RELAXED);

    if (WIO_UNLIKELY(known == UNKNOWN)) {
        uint16_t differ = 0;
        for (uint32_t i = 0; i < t->size; i++)
            differ |= t->ep[i].caps ^ t->ep[0].caps;
        known = differ & (WIO_EP_LONG_DOUBLE | WIO_EP_BIG_ENDIAN) ? UNLIKE : ALIKE;
        __atomic_store_n(&st->formats, known, __ATOMIC_RELAXED);
    }
    return known == ALIKE && !wio_comm_pretend_swap;
}

int wio_comm_formats(WAITIO_MPI_Comm comm, const struct wio_mpi_type *type,
                     struct wio_comm **unlike)
{
    struct wio_universe *u = wio_api_universe();
    struct wio_comm *c;
    int rc;

    *unlike = NULL;
    if (WIO_LIKELY(u == NULL || all_alike(wio_universe_table(u))) ||
        wio_group_check(u, comm) != 0 || comm->my_rank < 0)
        return 0;
    rc = wio_comm_get(comm, &c);
    if (rc == 0 && c->swap)
        *unlike = c;
    return rc != 0 ? rc : wio_comm_takes(c, type);
}

/* ---- counting ---- */

static struct wio_mpi_count *count_at(struct wio_mpi_state *st, uint64_t key)
{
    for (size_t i = (size_t)key;; i++) {
        struct wio_mpi_count *c = &st->count[i & (st->cap_counts - 1)];
        if (c->key == key || c->key == 0)
            return c;
    }
}

static int counts_grow(struct wio_mpi_state *st)
{
    struct wio_mpi_count *old = st->count;
    size_t n = st->cap_counts, cap = n == 0 ? 64 : 2 * n;
    struct wio_mpi_count *bigger = wio_os_alloc(cap * sizeof *bigger);

    if (bigger == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory to count %zu communicators", cap);
    st->count = bigger;
    st->cap_counts = cap;
    for (size_t i = 0; i < n; i++)
        if (old[i].key != 0)
            *count_at(st, old[i].key) = old[i];
    wio_os_free(old);
    return 0;
}

int wio_count_next(uint64_t key, uint32_t *number)
{
    struct wio_mpi_state *st = &wio_mpi_state;
    int rc = 0;

    key = key == 0 ? 1 : key; /* 0 marks a free entry */
    pthread_mutex_lock(&st->lock);
    if (2 * st->ncounts >= st->cap_counts)
        rc = counts_grow(st);
    if (rc == 0) {
        struct wio_mpi_count *c = count_at(st, key);
        st->ncounts += c->key == 0;
        c->key = key;
        *number = c->next++;
    }
    pthread_mutex_unlock(&st->lock);
    return rc;
}

int wio_comm_next(struct wio_comm *c, WAITIO_MPI_Comm comm, enum wio_comm_count what,
                  uint32_t *number)
{
    if (!c->own)
        return wio_count_next(wio_hash64(comm->space, (uint64_t)what + 1), number);
    *number = __atomic_fetch_add(&c->count[what], 1, __ATOMIC_RELAXED);
    return 0;
}

/* ---- making ---- */

uint32_t *wio_comm_members(const struct waitio_group *g)
{
    uint32_t *members = wio_os_alloc((g->size + 1) * sizeof *members);

    if (members == NULL)
        wio_fail(WAITIO_ERR_NOMEM, "no memory for %u ranks", g->size);
    for (uint32_t i = 0; members != NULL && i < g->size; i++)
        members[i] = wio_group_member(g, i);
    return members;
}

int wio_comm_make(const uint32_t *members, uint32_t n, uint64_t space, WAITIO_MPI_Comm *out)
{
    return wio_comm_make_as(members, n, space, -1, out);
}

int wio_comm_make_as(const uint32_t *members, uint32_t n, uint64_t space, int32_t rank,
                     WAITIO_MPI_Comm *out)
{
    struct wio_universe *u = wio_api_universe();
    struct waitio_group *g = NULL;
    struct wio_comm *c;
    int rc = u == NULL ? wio_last_code()
                       : wio_group_from_members(wio_universe_table(u), 0, members, n, &g);

    if (rc != 0)
        return rc;
    g->space = space == WIO_SPACE_NONE ? 1 : space; /* no other thread knows the new group yet */
    g->my_rank = rank >= 0 ? rank : g->my_rank;
    rc = context_make(wio_universe_table(u), g, true, &c);
    if (rc != 0) {
        wio_group_destroy(g);
        return rc;
    }
    wio_group_register(u, g);
    *out = g;
    return 0;
}
