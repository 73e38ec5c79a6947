/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of groups, so that an invalid pointer is never followed. */
#include "p2p/universe.h"

bool (*wio_group_make)(struct wio_universe *u, const struct waitio_group *g);

void wio_group_register(struct wio_universe *u, struct waitio_group *g)
{
    wio_enter(u);
    wio_list_push_front(&u->groups, &g->node);
    wio_leave(u);
}

static _Atomic uintptr_t *known_at(struct wio_universe *u, const struct waitio_group *g)
{
    return &u->known_group[((uintptr_t)g >> 6) % WIO_KNOWN_GROUPS];
}

static bool known_group(struct wio_universe *u, const struct waitio_group *g)
{
    WIO_LIST_FOR(it, &u->groups)
    {
        if (WIO_CONTAINER(it, struct waitio_group, node) != g)
            continue;
        atomic_store_explicit(known_at(u, g), (uintptr_t)g, memory_order_release);
        return true;
    }
    return false;
}

bool wio_group_known(struct wio_universe *u, const struct waitio_group *g)
{
    return (uintptr_t)g == atomic_load_explicit(known_at(u, g), memory_order_acquire);
}

/* The group of an earlier universe at this address, or NULL. */
static struct waitio_group *buried(struct wio_universe *u, const struct waitio_group *g)
{
    if (u->before == NULL)
        return NULL;
    WIO_LIST_FOR(it, &u->before->groups)
    {
        if (WIO_CONTAINER(it, struct waitio_group, node) == g)
            return WIO_CONTAINER(it, struct waitio_group, node);
    }
    return NULL;
}

static int not_ours(struct wio_universe *u, const struct waitio_group *g)
{
    wio_enter(u);
    bool before = buried(u, g) != NULL;
    wio_leave(u);
    if (before)
        return wio_fail(WAITIO_ERR_GROUP,
                        "%p was made in a universe that this process has left (waitio_rejoin): "
                        "make the group or communicator again",
                        (const void *)g);
    return wio_fail(WAITIO_ERR_GROUP, "%p is no group of this universe, or was freed",
                    (const void *)g);
}

int wio_group_check(struct wio_universe *u, const struct waitio_group *g)
{
    if (g == NULL)
        return wio_fail(WAITIO_ERR_GROUP, "the group is NULL");
    if (WIO_LIKELY(wio_group_known(u, g)))
        return 0;
    wio_enter(u);
    bool known = known_group(u, g);
    wio_leave(u);
    if (!known && wio_group_make != NULL)
        known = wio_group_make(u, g);
    return known ? 0 : not_ours(u, g);
}

int wio_group_drop(struct wio_universe *u, struct waitio_group *g)
{
    int rc = wio_group_check(u, g);
    if (rc != 0)
        return rc;
    wio_enter(u);
    wio_list_remove(&g->node);
    atomic_store(known_at(u, g), 0); /* at worst another group is looked up once more */
    if (--g->refs == 0)
        wio_group_destroy(g);
    wio_leave(u);
    return 0;
}

bool wio_group_forget(struct wio_universe *u, const struct waitio_group *g)
{
    if (g == NULL || wio_group_known(u, g))
        return false;
    wio_enter(u);
    struct waitio_group *old = buried(u, g);
    if (old != NULL)
        wio_list_remove(&old->node);
    wio_leave(u);
    wio_group_destroy(old);
    return old != NULL;
}

void wio_groups_end(struct wio_universe *u)
{
    struct wio_list *n;
    while ((n = wio_list_pop(&u->groups)) != NULL) {
        struct waitio_group *g = WIO_CONTAINER(n, struct waitio_group, node);
        if (u->before == NULL || g->fixed) {
            wio_group_destroy(g);
            continue;
        }
        wio_group_bury(g);
        wio_list_push_front(&u->before->groups, &g->node);
    }
}

void wio_universe_follow(struct wio_universe *u, struct wio_before *before)
{
    wio_enter(u);
    u->before = before;
    u->idle = before->idle;
    before->by_mpi = u->iface[WIO_TR_MPI] != NULL;
    if (u->serial == before->serial) /* nobody has a handle yet */
        u->serial = u->serial + 1 == 0 ? 1 : u->serial + 1;
    wio_leave(u);
}
