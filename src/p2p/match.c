/* SPDX-License-Identifier: BSD-3-Clause */
#include "p2p/match.h"

#include "os/os.h"

enum { FIRST_BINS = 128 };

static size_t exact_bin(const struct wio_match *m, uint64_t space, int64_t src, int64_t tag)
{
    uint64_t h = space ^ ((uint64_t)src * 0x9e3779b97f4a7c15ULL) ^ ((uint64_t)tag << 17);
    return (size_t)(wio_mix64(h) & (m->nbins - 1));
}

static size_t space_bin(const struct wio_match *m, uint64_t space)
{
    return (size_t)(space & (m->nbins - 1)); /* spaces are hashes already */
}

static bool is_wild(const struct wio_post *p)
{
    return p->src == WIO_ANY || p->tag == WIO_ANY;
}

static bool fits(uint64_t space, int64_t src, int64_t tag, const struct wio_post *p)
{
    return p->space == space && (p->src == WIO_ANY || p->src == src) &&
           (p->tag == WIO_ANY || p->tag == tag);
}

static struct wio_list *heads_new(size_t n)
{
    struct wio_list *l = wio_os_realloc(NULL, n * sizeof *l);
    for (size_t i = 0; l != NULL && i < n; i++)
        wio_list_init(&l[i]);
    return l;
}

static int heads_alloc(struct wio_match *m, size_t n)
{
    m->nbins = n;
    m->posted = heads_new(n);
    m->wild = heads_new(n);
    m->held = heads_new(n);
    m->held_space = heads_new(n);
    if (m->posted != NULL && m->wild != NULL && m->held != NULL && m->held_space != NULL)
        return 0;
    wio_match_free(m);
    return WAITIO_ERR_NOMEM;
}

int wio_match_init(struct wio_match *m)
{
    memset(m, 0, sizeof *m);
    return heads_alloc(m, FIRST_BINS);
}

void wio_match_free(struct wio_match *m)
{
    wio_os_free(m->posted);
    wio_os_free(m->wild);
    wio_os_free(m->held);
    wio_os_free(m->held_space);
    m->posted = m->wild = m->held = m->held_space = NULL;
}

static void queue_post(struct wio_match *m, struct wio_post *p)
{
    struct wio_list *head = is_wild(p) ? &m->wild[space_bin(m, p->space)]
                                       : &m->posted[exact_bin(m, p->space, p->src, p->tag)];
    wio_list_push(head, &p->bin);
}

static void queue_held(struct wio_match *m, struct wio_held *h)
{
    wio_list_push(&m->held[exact_bin(m, h->space, h->src, h->tag)], &h->bin);
    wio_list_push(&m->held_space[space_bin(m, h->space)], &h->by_space);
}

/* Double the bins. Old bins are emptied front to back, so entries of equal key keep their order;
 * wild and by-space lists of different spaces are independent of each other. */
static void grow(struct wio_match *m)
{
    struct wio_match old = *m;
    if (heads_alloc(m, old.nbins * 2) != 0) {
        *m = old; /* slower, not wrong */
        return;
    }
    for (size_t i = 0; i < old.nbins; i++) {
        struct wio_list *n;
        while ((n = wio_list_pop(&old.posted[i])) != NULL)
            queue_post(m, WIO_CONTAINER(n, struct wio_post, bin));
        while ((n = wio_list_pop(&old.wild[i])) != NULL)
            queue_post(m, WIO_CONTAINER(n, struct wio_post, bin));
        while ((n = wio_list_pop(&old.held_space[i])) != NULL) {
            struct wio_held *h = WIO_CONTAINER(n, struct wio_held, by_space);
            wio_list_remove(&h->bin);
            queue_held(m, h);
        }
    }
    wio_match_free(&old);
}

struct wio_held *wio_match_probe(const struct wio_match *m, uint64_t space, int64_t src,
                                 int64_t tag)
{
    if (m->nheld == 0)
        return NULL;
    if (src != WIO_ANY && tag != WIO_ANY) {
        WIO_LIST_FOR(it, &m->held[exact_bin(m, space, src, tag)])
        {
            struct wio_held *h = WIO_CONTAINER(it, struct wio_held, bin);
            if (h->space == space && h->src == src && h->tag == tag)
                return h;
        }
        return NULL;
    }
    WIO_LIST_FOR(it, &m->held_space[space_bin(m, space)])
    {
        struct wio_held *h = WIO_CONTAINER(it, struct wio_held, by_space);
        if (h->space == space && (src == WIO_ANY || h->src == src) &&
            (tag == WIO_ANY || h->tag == tag))
            return h;
    }
    return NULL;
}

struct wio_held *wio_match_post(struct wio_match *m, struct wio_post *p)
{
    struct wio_held *h = wio_match_probe(m, p->space, p->src, p->tag);
    if (h != NULL) {
        wio_match_unhold(m, h);
        return h;
    }
    if (m->nposted + m->nheld > 2 * m->nbins)
        grow(m);
    p->order = ++m->order;
    queue_post(m, p);
    m->nposted++;
    return NULL;
}

void wio_match_post_front(struct wio_match *m, struct wio_post *p, uint64_t order)
{
    if (m->nposted + m->nheld > 2 * m->nbins)
        grow(m);
    p->order = order;
    wio_list_push_front(&m->posted[exact_bin(m, p->space, p->src, p->tag)], &p->bin);
    m->nposted++;
}

struct wio_post *wio_match_find(const struct wio_match *m, uint64_t space, int64_t src, int64_t tag)
{
    if (m->nposted == 0)
        return NULL;
    struct wio_post *best = NULL;
    WIO_LIST_FOR(it, &m->posted[exact_bin(m, space, src, tag)])
    {
        struct wio_post *p = WIO_CONTAINER(it, struct wio_post, bin);
        if (fits(space, src, tag, p)) {
            best = p;
            break;
        }
    }
    WIO_LIST_FOR(it, &m->wild[space_bin(m, space)])
    {
        struct wio_post *p = WIO_CONTAINER(it, struct wio_post, bin);
        if (best != NULL && p->order > best->order)
            break;
        if (fits(space, src, tag, p)) {
            best = p;
            break;
        }
    }
    return best;
}

struct wio_post *wio_match_arrive(struct wio_match *m, uint64_t space, int64_t src, int64_t tag)
{
    struct wio_post *best = wio_match_find(m, space, src, tag);
    if (best != NULL)
        wio_match_unpost(m, best);
    return best;
}

void wio_match_hold(struct wio_match *m, struct wio_held *h, uint64_t space, int64_t src,
                    int64_t tag)
{
    if (m->nposted + m->nheld > 2 * m->nbins)
        grow(m);
    h->space = space;
    h->src = src;
    h->tag = tag;
    h->order = ++m->order;
    queue_held(m, h);
    m->nheld++;
}

void wio_match_unpost(struct wio_match *m, struct wio_post *p)
{
    wio_list_remove(&p->bin);
    m->nposted--;
}

void wio_match_unhold(struct wio_match *m, struct wio_held *h)
{
    wio_list_remove(&h->bin);
    wio_list_remove(&h->by_space);
    m->nheld--;
}

void wio_match_each_post(struct wio_match *m, void (*fn)(void *arg, struct wio_post *p), void *arg)
{
    struct wio_list *tables[2] = {m->posted, m->wild};
    for (int t = 0; t < 2; t++)
        for (size_t i = 0; m->nposted > 0 && i < m->nbins; i++)
            WIO_LIST_FOR_SAFE(it, next, &tables[t][i])
    fn(arg, WIO_CONTAINER(it, struct wio_post, bin));
}

void wio_match_each_held(struct wio_match *m, void (*fn)(void *arg, struct wio_held *h), void *arg)
{
    for (size_t i = 0; m->nheld > 0 && i < m->nbins; i++)
        WIO_LIST_FOR_SAFE(it, next, &m->held_space[i])
    fn(arg, WIO_CONTAINER(it, struct wio_held, by_space));
}
