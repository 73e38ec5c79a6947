/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file group.h
 * Groups: ordered sets of endpoints with a message space. Made locally from the address table, no
 * communication. Immutable after creation, so reading needs no lock; the reference count is
 * changed under the engine lock only.
 */
#ifndef WIO_GROUP_H
#define WIO_GROUP_H

#include "boot/boot.h"

/** Membership test; same shape as waitio_filter_func_t. */
typedef int (*wio_group_filter_fn)(int pbid, int n);

struct waitio_group {
    uint32_t magic; /* WIO_GROUP_MAGIC while alive */
    int refs;       /* handle + any-source requests in flight */
    int gid;
    uint32_t size;
    int32_t my_rank;      /* -1: no member */
    uint64_t space;       /* hash of gid and ordered members */
    uint32_t first;       /* members == NULL: consecutive universe ranks from here */
    uint32_t *members;    /* universe rank by group rank, NULL when consecutive */
    uint32_t *sorted;     /* group ranks in order of universe rank, NULL when consecutive */
    uint64_t together;    /* space in which the members wait for each other (a layer above: its
                             collectives); 0: none. Set once, atomically */
    uint64_t tied;        /* when this space ends, `together` ends, too; 0: none. Changed under the
                             engine lock */
    uint32_t failures;    /* so many failures of the universe are acknowledged: a receive from any
                             source does not end with them. Changed under the engine lock */
    bool fixed;           /* its memory is not allocated: it is an object of the library */
    bool fragile;         /* an operation that fails ends the whole space: it is such a space */
    struct wio_list node; /* of the universe's list of groups */
    void *upper;          /* data of a layer above, NULL = none */
    void (*upper_free)(void *upper); /* called when the group is destroyed; takes no locks */
};
#define WIO_GROUP_MAGIC 0x57474250u
#define WIO_SPACE_NONE 0u

/** Universe rank of a group rank (rank must be in range). */
static inline uint32_t wio_group_member(const struct waitio_group *g, uint32_t rank)
{
    return g->members == NULL ? g->first + rank : g->members[rank];
}
/** Group rank of a universe rank, -1 when no member. */
int64_t wio_group_rank_of(const struct waitio_group *g, uint32_t universe_rank);

/**
 * @param order npb entries: 1-based position of each PB's members, 0 = not in it
 * @return 0; ARG (order missing or negative, two PBs at one position: both named), NOMEM; *out set
 * on success
 */
int wio_group_from_filters(const struct wio_table *t, int gid, const wio_group_filter_fn *func,
                           const int *order, struct waitio_group **out);
/** rank[p]: list ended by a negative number. ARG: rank out of the PB, or named twice. */
int wio_group_from_lists(const struct wio_table *t, int gid, int *const *rank, const int *order,
                         struct waitio_group **out);
/** Consecutive universe ranks first .. first + size - 1 (a PB, or all). */
int wio_group_from_range(const struct wio_table *t, int gid, uint32_t first, uint32_t size,
                         struct waitio_group **out);
/** The given universe ranks in the given order; @p members is copied. ARG: one named twice. */
int wio_group_from_members(const struct wio_table *t, int gid, const uint32_t *members, uint32_t n,
                           struct waitio_group **out);
void wio_group_destroy(struct waitio_group *g);
/** Free all that the group holds, but not itself: its address stays taken, so that a handle of it
 * is never one of a later group. It must not be fixed. */
void wio_group_bury(struct waitio_group *g);

#endif
