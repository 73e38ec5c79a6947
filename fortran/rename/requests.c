/* SPDX-License-Identifier: BSD-3-Clause */
#include "requests.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number is generation << INDEX_BITS | index + 1: a request that ended is told from a later one
 * in the same slot. */
enum { INDEX_BITS = 20, INDEX_MASK = (1 << INDEX_BITS) - 1, GENERATIONS = 1 << 11 };

struct slot {
    waitio_req_t r;
    int32_t generation;
    int32_t next_free; /* index, -1: none; IN_USE */
};
enum { IN_USE = -2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot *slots;
static int32_t nslots, first_free = -1;

static bool is_null(const waitio_req_t *r)
{
    static const waitio_req_t null = WAITIO_REQ_NULL;

    return memcmp(r, &null, sizeof null) == 0;
}

/* Lock held. */
static struct slot *find(int32_t number)
{
    int32_t index = (number & INDEX_MASK) - 1;

    if (number <= 0 || index < 0 || index >= nslots || slots[index].next_free != IN_USE ||
        slots[index].generation != number >> INDEX_BITS)
        return NULL;
    return &slots[index];
}

/* Lock held. */
static bool grow(void)
{
    int32_t n = nslots == 0 ? 64 : 2 * nslots;
    struct slot *more = n < INDEX_MASK ? realloc(slots, (size_t)n * sizeof *slots) : NULL;

    if (more == NULL)
        return false;
    for (int32_t i = n - 1; i >= nslots; i--) {
        more[i].generation = 0;
        more[i].next_free = first_free;
        first_free = i;
    }
    slots = more;
    nslots = n;
    return true;
}

/* As the library does when nobody looks at codes; with WAITIO_ERRORS=return the code goes back. */
static void fail(int32_t *ierr, const char *what, int32_t n)
{
    WAITIO_MPI_Errhandler handler = WAITIO_MPI_ERRORS_ARE_FATAL;

    fprintf(stderr, "waitio: no memory for %d %s\n", n, what);
    (void)WAITIO_MPI_Comm_get_errhandler(WAITIO_MPI_COMM_NULL, &handler);
    if (handler != WAITIO_MPI_ERRORS_RETURN || ierr == NULL)
        WAITIO_MPI_Abort(WAITIO_MPI_COMM_NULL, 1);
    else
        *ierr = WAITIO_ERR_NOMEM;
}

/* Lock held. */
static waitio_req_t request_of(int32_t number)
{
    waitio_req_t r = WAITIO_REQ_NULL;
    const struct slot *s = find(number);

    if (s != NULL)
        return s->r;
    if (number != 0) {
        memset(&r, 0x5a, sizeof r); /* nothing the library has ever given out ... */
        r.opaque[0] = number;       /* ... but its message names this */
    }
    return r;
}

bool wio_rename_take(const void *number, waitio_req_t *r, int32_t *ierr)
{
    (void)ierr;
    pthread_mutex_lock(&lock);
    *r = request_of(*(const int32_t *)number);
    pthread_mutex_unlock(&lock);
    return true;
}

/* Lock held. */
static void give(int32_t *number, const waitio_req_t *r)
{
    struct slot *s = find(*number);

    if (s != NULL && is_null(r)) {
        s->generation = (s->generation + 1) % GENERATIONS;
        s->next_free = first_free;
        first_free = (int32_t)(s - slots);
        *number = 0;
    } else if (s != NULL) {
        s->r = *r;
    }
}

void wio_rename_give(void *number, const waitio_req_t *r)
{
    pthread_mutex_lock(&lock);
    give(number, r);
    pthread_mutex_unlock(&lock);
}

void wio_rename_new(void *number, const waitio_req_t *r, int32_t *ierr)
{
    int32_t value = 0;

    pthread_mutex_lock(&lock);
    if (!is_null(r) && (first_free >= 0 || grow())) {
        struct slot *s = &slots[first_free];
        value = s->generation << INDEX_BITS | (first_free + 1);
        first_free = s->next_free;
        s->next_free = IN_USE;
        s->r = *r;
    }
    pthread_mutex_unlock(&lock);
    memcpy(number, &value, sizeof value);
    if (value == 0 && !is_null(r))
        fail(ierr, "requests", nslots + 1);
}

bool wio_rename_take_all(const void *count, const void *numbers, waitio_req_t **r, int32_t *ierr)
{
    const int32_t n = *(const int32_t *)count;

    *r = malloc((n > 0 ? (size_t)n : 1) * sizeof **r);
    if (*r == NULL) {
        fail(ierr, "requests to wait for", n);
        return false;
    }
    pthread_mutex_lock(&lock);
    for (int32_t i = 0; i < n; i++)
        (*r)[i] = request_of(((const int32_t *)numbers)[i]);
    pthread_mutex_unlock(&lock);
    return true;
}

void wio_rename_give_all(const void *count, void *numbers, waitio_req_t *r)
{
    const int32_t n = *(const int32_t *)count;

    pthread_mutex_lock(&lock);
    for (int32_t i = 0; i < n; i++)
        give((int32_t *)numbers + i, &r[i]);
    pthread_mutex_unlock(&lock);
    free(r);
}
