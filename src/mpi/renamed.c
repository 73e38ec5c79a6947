/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/renamed.h"

#include <pthread.h>
#include <stdatomic.h>

#include "mpi/mpi.h"
#include "mpi/request.h"
#include "mpi/waiting.h"
#include "os/os.h"
#include "waitio_mpi_rename.h"

/* A number is generation << INDEX_BITS | index + 1: a request that ended is told from a later one
 * in the same slot. */
enum { INDEX_BITS = 20, INDEX_MASK = (1 << INDEX_BITS) - 1, GENERATIONS = 1 << 11 };
/* Slots are made in blocks, each twice as large as the one before. */
enum { FIRST_BLOCK = 64, BLOCKS = 14 };
_Static_assert(FIRST_BLOCK *((1 << BLOCKS) - 1) < INDEX_MASK, "every index fits into a number");

struct slot {
    waitio_req_t r;
    _Atomic int32_t number; /* 0: free */
    int32_t generation;
    _Atomic uint32_t next_free; /* index + 1, 0: none */
    /* Generalized requests may be freed and completed by two threads at a time: */
    _Atomic int user;     /* its number in request.c, or 0 */
    _Atomic int32_t left; /* the number: it is freed, and may not be complete yet; or 0 */
};

static struct slot *_Atomic block[BLOCKS];
/* The free slots, a stack: index + 1 of the first, and above it a count of the changes, so that a
 * thread that was interrupted while it took a slot notices that others did, too. */
static _Atomic uint64_t free_slots;
static pthread_mutex_t growing = PTHREAD_MUTEX_INITIALIZER;

static int block_of(uint32_t index)
{
    return 31 - __builtin_clz(index / FIRST_BLOCK + 1);
}

static uint32_t first_of(int k)
{
    return FIRST_BLOCK * ((1u << k) - 1);
}

/* NULL when there is no such block yet. */
static struct slot *slot_at(uint32_t index)
{
    int k = block_of(index);
    struct slot *b = k < BLOCKS ? atomic_load_explicit(&block[k], memory_order_acquire) : NULL;

    return b == NULL ? NULL : &b[index - first_of(k)];
}

/* Slots from @p index on, linked by next_free, the last one being @p last. */
static void push(uint32_t index, struct slot *last)
{
    uint64_t head = atomic_load_explicit(&free_slots, memory_order_relaxed), mine;

    do {
        atomic_store_explicit(&last->next_free, (uint32_t)head, memory_order_relaxed);
        mine = ((head >> 32) + 1) << 32 | (index + 1);
    } while (!atomic_compare_exchange_weak_explicit(&free_slots, &head, mine, memory_order_release,
                                                    memory_order_relaxed));
}

static struct slot *pop(uint32_t *index)
{
    uint64_t head = atomic_load_explicit(&free_slots, memory_order_acquire), rest;
    struct slot *s;

    do {
        if ((uint32_t)head == 0)
            return NULL;
        *index = (uint32_t)head - 1;
        s = slot_at(*index);
        rest = ((head >> 32) + 1) << 32 | atomic_load_explicit(&s->next_free, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(&free_slots, &head, rest, memory_order_acquire,
                                                    memory_order_acquire));
    return s;
}

/* One more block, unless another thread has made one meanwhile. */
static int grow(void)
{
    int rc = 0, k = 0;
    struct slot *b;

    pthread_mutex_lock(&growing);
    while (k < BLOCKS && atomic_load_explicit(&block[k], memory_order_relaxed) != NULL)
        k++;
    if ((uint32_t)atomic_load_explicit(&free_slots, memory_order_relaxed) == 0) {
        uint32_t n = (uint32_t)FIRST_BLOCK << k;
        b = k == BLOCKS ? NULL : wio_os_alloc(n * sizeof *b);
        if (b == NULL) {
            rc = k == BLOCKS ? wio_fail(WAITIO_ERR_LIMIT, "more than %u requests at a time",
                                        first_of(BLOCKS))
                             : wio_fail(WAITIO_ERR_NOMEM, "no memory for %u requests", n);
        } else {
            for (uint32_t i = 0; i + 1 < n; i++)
                atomic_init(&b[i].next_free, first_of(k) + i + 2);
            atomic_store_explicit(&block[k], b, memory_order_release);
            push(first_of(k), &b[n - 1]);
        }
    }
    pthread_mutex_unlock(&growing);
    return rc;
}

static bool is_null(const waitio_req_t *r)
{
    return (r->opaque[0] | r->opaque[1] | r->opaque[2]) == 0;
}

int waitio_renamed_new(const char *call, const void *given, int32_t *number, waitio_req_t **r)
{
    int rc = wio_mpi_need("request", given);
    uint32_t index = 0;
    struct slot *s = NULL;

    while (rc == 0 && (s = pop(&index)) == NULL)
        rc = grow();
    if (rc != 0)
        return wio_mpi_result(call, rc);
    s->r = (waitio_req_t)WAITIO_REQ_NULL;
    atomic_store_explicit(&s->user, 0, memory_order_relaxed);
    s->generation = (s->generation + 1) % GENERATIONS;
    *number = s->generation << INDEX_BITS | (int32_t)(index + 1);
    *r = &s->r;
    atomic_store_explicit(&s->number, *number, memory_order_release);
    return 0;
}

/* The slot in which a number is in use, or NULL. */
static struct slot *find(int32_t number)
{
    uint32_t index = ((uint32_t)number & INDEX_MASK) - 1;
    struct slot *s = number > 0 && index < first_of(BLOCKS) ? slot_at(index) : NULL;

    return s != NULL && atomic_load_explicit(&s->number, memory_order_acquire) == number ? s : NULL;
}

static void drop(struct slot *s, int32_t number)
{
    atomic_store_explicit(&s->number, 0, memory_order_relaxed);
    push(((uint32_t)number & INDEX_MASK) - 1, s);
}

static int user_of(const struct slot *s)
{
    return atomic_load_explicit(&s->user, memory_order_relaxed);
}

int32_t waitio_renamed_keep(int32_t number, const waitio_req_t *r)
{
    struct slot *s = find(number);

    if (WIO_UNLIKELY(is_null(r))) {
        drop(s, number);
        return 0;
    }
    if (WIO_UNLIKELY(wio_request_is_own(r)))
        atomic_store_explicit(&s->user, wio_request_user_number(r), memory_order_relaxed);
    return number;
}

/* What stands for a number without a request. */
static waitio_req_t substitute(int32_t number)
{
    waitio_req_t r = WAITIO_REQ_NULL;

    if (number != 0) {
        memset(&r, 0x5a, sizeof r); /* nothing the library has ever given out ... */
        r.opaque[0] = number;       /* ... but its message names this */
    }
    return r;
}

waitio_req_t *waitio_renamed_find(const int32_t *number, waitio_req_t *none)
{
    struct slot *s;

    if (number == NULL)
        return NULL;
    s = find(*number);
    if (WIO_LIKELY(s != NULL))
        return &s->r;
    *none = substitute(*number);
    return none;
}

waitio_req_t waitio_renamed_read(int32_t number)
{
    const struct slot *s = find(number);
    int user = s == NULL ? 0 : user_of(s);

    if (s == NULL)
        return substitute(number);
    return user != 0 ? wio_request_user_numbered(user) : s->r;
}

/* The program has freed it, or a thread has completed it: each asks afterwards whether it has
 * ended, and one of them finds that it has. */
static void drop_left(struct slot *s, int32_t number)
{
    if (!wio_request_user_lives(user_of(s)) &&
        atomic_compare_exchange_strong_explicit(&s->left, &(int32_t){number}, 0,
                                                memory_order_acq_rel, memory_order_relaxed))
        drop(s, number);
}

void waitio_renamed_ended(int32_t number)
{
    struct slot *s = find(number);

    if (s != NULL && user_of(s) != 0)
        drop_left(s, number);
}

void waitio_renamed_settle(int32_t *number, const waitio_req_t *r)
{
    struct slot *s;

    if (number == NULL || !is_null(r))
        return;
    s = find(*number);
    if (s == NULL || r != &s->r) /* it was null before, perhaps a constant */
        return;
    if (WIO_LIKELY(user_of(s) == 0)) {
        drop(s, *number);
    } else {
        atomic_store_explicit(&s->left, *number, memory_order_release);
        drop_left(s, *number);
    }
    *number = 0;
}

int waitio_renamed_take(const char *call, int n, const int32_t numbers[],
                        struct wio_renamed_many *m)
{
    m->r = numbers == NULL ? NULL : m->few;
    if (n <= 0 || numbers == NULL)
        return 0;
    if (n > (int)WIO_ARRAY_LEN(m->few))
        m->r = wio_os_alloc((size_t)n * sizeof *m->r);
    if (m->r == NULL)
        return wio_mpi_result(call, wio_fail(WAITIO_ERR_NOMEM, "no memory for %d requests", n));
    for (int i = 0; i < n; i++) {
        const struct slot *s = find(numbers[i]);
        m->r[i] = s != NULL ? s->r : substitute(numbers[i]);
    }
    return 0;
}

void waitio_renamed_give(int n, int32_t numbers[], struct wio_renamed_many *m)
{
    for (int i = 0; i < n && m->r != NULL; i++) {
        struct slot *s = find(numbers[i]);
        if (s == NULL)
            continue;
        s->r = m->r[i];
        waitio_renamed_settle(&numbers[i], &s->r);
    }
    if (m->r != m->few)
        wio_os_free(m->r);
}

/* The same number in both languages. */
int waitio_rename_request_c2f(waitio_rename_request req)
{
    return req;
}

waitio_rename_request waitio_rename_request_f2c(int handle)
{
    return handle;
}
