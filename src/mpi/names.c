/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/names.h"

#include "base/base.h"
#include "os/os.h"
#include "waitio_mpi.h"

enum { MOST = WAITIO_MPI_DEFTAG, GENERATIONS = 2047 };

static int grow(struct wio_names *t, const char *what)
{
    uint32_t n = t->n == 0 ? 64 : 2 * t->n;
    struct wio_name *slot;

    if (n > MOST)
        return wio_fail(WAITIO_ERR_LIMIT, "%u %ss exist; free some", t->n, what);
    slot = wio_os_realloc(t->slot, n * sizeof *slot);
    if (slot == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for %u %ss", n, what);
    for (uint32_t i = n; i-- > t->n;) {
        slot[i] = (struct wio_name){.next_free = t->free};
        t->free = i + 1;
    }
    t->slot = slot;
    t->n = n;
    return 0;
}

int wio_names_add(struct wio_names *t, void *thing, const char *what, int *number)
{
    int rc;

    pthread_mutex_lock(&t->lock);
    rc = t->free != 0 ? 0 : grow(t, what);
    if (rc == 0) {
        uint32_t i = t->free - 1;
        struct wio_name *s = &t->slot[i];
        t->free = s->next_free;
        t->used++;
        s->generation = (uint16_t)(s->generation % GENERATIONS + 1);
        s->thing = thing;
        *number = (int)((uint32_t)s->generation << WIO_NAME_GENERATION_BIT | WAITIO_MPI_DEFTAG | i);
    }
    pthread_mutex_unlock(&t->lock);
    return rc;
}

static struct wio_name *at(struct wio_names *t, int number)
{
    uint32_t bits = (uint32_t)number, i = bits & (WAITIO_MPI_DEFTAG - 1);

    if (number <= 0 || (bits & WAITIO_MPI_DEFTAG) == 0 || i >= t->n || t->slot[i].thing == NULL ||
        t->slot[i].generation != bits >> WIO_NAME_GENERATION_BIT)
        return NULL;
    return &t->slot[i];
}

void *wio_names_find(struct wio_names *t, int number)
{
    struct wio_name *s;
    void *thing;

    pthread_mutex_lock(&t->lock);
    s = at(t, number);
    thing = s != NULL ? s->thing : NULL;
    pthread_mutex_unlock(&t->lock);
    return thing;
}

void *wio_names_next(struct wio_names *t, uint32_t *i)
{
    void *thing = NULL;

    pthread_mutex_lock(&t->lock);
    while (thing == NULL && *i < t->n)
        thing = t->slot[(*i)++].thing;
    pthread_mutex_unlock(&t->lock);
    return thing;
}

void *wio_names_drop(struct wio_names *t, int number)
{
    struct wio_name *s;
    void *thing = NULL;

    pthread_mutex_lock(&t->lock);
    s = at(t, number);
    if (s != NULL) {
        thing = s->thing;
        s->thing = NULL;
        s->next_free = t->free;
        t->free = (uint32_t)(s - t->slot) + 1;
        t->used--;
    }
    pthread_mutex_unlock(&t->lock);
    return thing;
}
