/* SPDX-License-Identifier: BSD-3-Clause */
/** @file list.h  Intrusive doubly linked list. A node not in a list points to itself or is zero. */
#ifndef WIO_LIST_H
#define WIO_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct wio_list {
    struct wio_list *next, *prev;
};

/** The structure of @p type whose member @p member is @p ptr. */
#define WIO_CONTAINER(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

static inline void wio_list_init(struct wio_list *l)
{
    l->next = l->prev = l;
}
static inline bool wio_list_empty(const struct wio_list *l)
{
    return l->next == l;
}
static inline bool wio_list_linked(const struct wio_list *n)
{
    return n->next != NULL && n->next != n;
}
static inline void wio_list_insert_before(struct wio_list *at, struct wio_list *n)
{
    n->next = at;
    n->prev = at->prev;
    at->prev->next = n;
    at->prev = n;
}
/** Append at the tail of head @p l. */
static inline void wio_list_push(struct wio_list *l, struct wio_list *n)
{
    wio_list_insert_before(l, n);
}
static inline void wio_list_push_front(struct wio_list *l, struct wio_list *n)
{
    wio_list_insert_before(l->next, n);
}
/** Take out; harmless on an unlinked node. */
static inline void wio_list_remove(struct wio_list *n)
{
    if (n->next == NULL)
        return;
    n->next->prev = n->prev;
    n->prev->next = n->next;
    n->next = n->prev = n;
}
static inline struct wio_list *wio_list_first(const struct wio_list *l)
{
    return l->next == l ? NULL : l->next;
}
static inline struct wio_list *wio_list_pop(struct wio_list *l)
{
    struct wio_list *n = wio_list_first(l);
    if (n != NULL)
        wio_list_remove(n);
    return n;
}

/** The first node, or the head itself. A list's head is read here and above only, always through a
 * pointer: GCC 12 gets loops wrong that read it as a member of its structure, too
 * (docs/design/compilers.md). */
static inline struct wio_list *wio_list_begin(const struct wio_list *l)
{
    return l->next;
}

#define WIO_LIST_FOR(it, head)                                                                     \
    for (struct wio_list *it = wio_list_begin(head); it != (head); it = it->next)
/** Safe against removal of the current node. */
#define WIO_LIST_FOR_SAFE(it, tmp, head)                                                           \
    for (struct wio_list *it = wio_list_begin(head), *tmp = it->next; it != (head);                \
         it = tmp, tmp = it->next)

#endif
