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
    return known ? 0
                 : wio_fail(WAITIO_ERR_GROUP, "%p is no group of this universe, or was freed",
                            (const void *)g);
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
