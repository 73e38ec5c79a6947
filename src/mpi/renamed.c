/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/renamed.h"

#include <pthread.h>
#include <stdatomic.h>

#include "api/api.h"
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
    _Atomic int32_t number; /* 0: free */
    int32_t generation;
    uint32_t index;
    _Atomic uint32_t next_free; /* of all threads: index + 1, 0: none */
    struct slot *next_spare;    /* of one thread */
    /* Generalized requests may be freed and completed by two threads at a time: */
    _Atomic int user;     /* its number in request.c, or 0 */
    _Atomic int32_t left; /* the number: it is freed, and may not be complete yet; or 0 */
    waitio_req_t r;       /* null while the slot is free */
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

/* Slots from @p first on, linked by next_free to @p last. */
static void push(const struct slot *first, struct slot *last)
{
    uint64_t head = atomic_load_explicit(&free_slots, memory_order_relaxed), mine;

    do {
        atomic_store_explicit(&last->next_free, (uint32_t)head, memory_order_relaxed);
        mine = ((head >> 32) + 1) << 32 | (first->index + 1);
    } while (!atomic_compare_exchange_weak_explicit(&free_slots, &head, mine, memory_order_release,
                                                    memory_order_relaxed));
}

static struct slot *pop(void)
{
    uint64_t head = atomic_load_explicit(&free_slots, memory_order_acquire), rest;
    struct slot *s;

    do {
        if ((uint32_t)head == 0)
            return NULL;
        s = slot_at((uint32_t)head - 1);
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
            for (uint32_t i = 0; i < n; i++) {
                b[i].index = first_of(k) + i;
                atomic_init(&b[i].next_free, b[i].index + 2);
            }
            atomic_store_explicit(&block[k], b, memory_order_release);
            push(b, &b[n - 1]);
        }
    }
    pthread_mutex_unlock(&growing);
    return rc;
}

/* ---- free slots of a thread ---- */

/* Most programs have few requests at a time: a thread keeps some free slots for itself. */
enum { SPARES = 32 };
static _Thread_local struct {
    struct slot *first;
    int n;
    bool known;       /* what is left is given back when the thread ends */
    bool as_blocking; /* of coll_run.c: a variable by itself would take eight bytes */
} spare;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool have_key;

bool *wio_mpi_as_blocking(void)
{
    return &spare.as_blocking;
}

static void put_spare(struct slot *s)
{
    if (spare.n == SPARES) {
        push(s, s);
        return;
    }
    s->next_spare = spare.first;
    spare.first = s;
    spare.n++;
}

static struct slot *take_spare(void)
{
    struct slot *s = spare.first;

    if (s != NULL) {
        spare.first = s->next_spare;
        spare.n--;
    }
    return s;
}

static void thread_ends(void *unused)
{
    struct slot *s;

    (void)unused;
    while ((s = take_spare()) != NULL)
        push(s, s);
}

static void make_key(void)
{
    have_key = pthread_key_create(&key, thread_ends) == 0;
}

/* The thread has no spare one. @return 0; NOMEM, LIMIT */
static int slot_new(struct slot **s)
{
    int rc = 0;

    if (!spare.known) {
        pthread_once(&once, make_key);
        spare.known = have_key && pthread_setspecific(key, &spare) == 0;
    }
    while (rc == 0 && (*s = pop()) == NULL)
        rc = grow();
    return rc;
}

/* ---- requests ---- */

static bool is_null(const waitio_req_t *r)
{
    return (r->opaque[0] | r->opaque[1] | r->opaque[2]) == 0;
}

int wio_renamed_new(const char *call, const void *given, int32_t *number, waitio_req_t **r)
{
    struct slot *s = given != NULL ? take_spare() : NULL;

    if (WIO_UNLIKELY(s == NULL)) {
        int rc = wio_mpi_need("request", given);
        if (rc == 0)
            rc = slot_new(&s);
        if (rc != 0)
            return wio_mpi_result(call, rc);
    }
    atomic_store_explicit(&s->user, 0, memory_order_relaxed);
    s->generation = (s->generation + 1) % GENERATIONS;
    *number = s->generation << INDEX_BITS | (int32_t)(s->index + 1);
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

static void drop(struct slot *s)
{
    atomic_store_explicit(&s->number, 0, memory_order_relaxed);
    put_spare(s);
}

static int user_of(const struct slot *s)
{
    return atomic_load_explicit(&s->user, memory_order_relaxed);
}

int32_t wio_renamed_keep(int32_t number, waitio_req_t *r)
{
    struct slot *s = WIO_CONTAINER(r, struct slot, r);

    if (WIO_UNLIKELY(is_null(r))) {
        drop(s);
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

waitio_req_t *wio_renamed_find(const int32_t *number, waitio_req_t *none)
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

waitio_req_t wio_renamed_read(int32_t number)
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
        drop(s);
}

void wio_renamed_ended(int32_t number)
{
    struct slot *s = find(number);

    if (s != NULL && user_of(s) != 0)
        drop_left(s, number);
}

/* A null request of number 0 lies in no slot; perhaps the number is a constant. */
void wio_renamed_settle(int32_t *number, waitio_req_t *r)
{
    struct slot *s;

    if (number == NULL || *number == 0 || !is_null(r))
        return;
    s = WIO_CONTAINER(r, struct slot, r);
    if (WIO_LIKELY(user_of(s) == 0)) {
        drop(s);
    } else {
        atomic_store_explicit(&s->left, *number, memory_order_release);
        drop_left(s, *number);
    }
    *number = 0;
}

/* The library uses no more of a request than a handle of the engine. */
static void copy(waitio_req_t *to, const waitio_req_t *from)
{
    memcpy(to, from, sizeof(struct wio_handle));
}

int wio_renamed_take(const char *call, int n, const int32_t numbers[], struct wio_renamed_many *m)
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
        if (WIO_LIKELY(s != NULL))
            copy(&m->r[i], &s->r);
        else
            m->r[i] = substitute(numbers[i]);
    }
    return 0;
}

void wio_renamed_give(int n, int32_t numbers[], struct wio_renamed_many *m)
{
    for (int i = 0; i < n && m->r != NULL; i++) {
        struct slot *s = find(numbers[i]);
        if (s == NULL)
            continue;
        copy(&s->r, &m->r[i]);
        wio_renamed_settle(&numbers[i], &s->r);
    }
    if (m->r != m->few)
        wio_os_free(m->r);
}

/* No other thread is in a call. */
void wio_renamed_forget(void)
{
    for (int k = 0; k < BLOCKS; k++) {
        struct slot *b = atomic_load_explicit(&block[k], memory_order_acquire);
        for (uint32_t i = 0; b != NULL && i < (uint32_t)FIRST_BLOCK << k; i++) {
            if (atomic_load_explicit(&b[i].number, memory_order_relaxed) == 0)
                continue;
            b[i].r = (waitio_req_t)WAITIO_REQ_NULL;
            atomic_store_explicit(&b[i].left, 0, memory_order_relaxed);
            atomic_store_explicit(&b[i].number, 0, memory_order_relaxed);
            push(&b[i], &b[i]);
        }
    }
}

/* The same number in both languages. */
int waitio_rename_pmpi_request_c2f(waitio_rename_request req)
{
    return waitio_rename_request_c2f(req);
}

waitio_rename_request waitio_rename_pmpi_request_f2c(int handle)
{
    return waitio_rename_request_f2c(handle);
}

int waitio_rename_request_c2f(waitio_rename_request req)
{
    return req;
}

waitio_rename_request waitio_rename_request_f2c(int handle)
{
    return handle;
}

/* ---- for libwaitio_mpi_rename ---- */

#define ALSO(RESULT, NAME, ARGUMENTS)                                                              \
    extern __attribute__((visibility("default"), alias("wio_renamed_" #NAME)))                     \
    RESULT waitio_renamed_##NAME##_ ARGUMENTS;

ALSO(int, new, (const char *call, const void *given, int32_t *number, waitio_req_t **r))
ALSO(int32_t, keep, (int32_t number, waitio_req_t *r))
ALSO(waitio_req_t *, find, (const int32_t *number, waitio_req_t *none))
ALSO(waitio_req_t, read, (int32_t number))
ALSO(void, ended, (int32_t number))
ALSO(void, settle, (int32_t * number, waitio_req_t *r))
ALSO(int, take, (const char *call, int n, const int32_t numbers[], struct wio_renamed_many *m))
ALSO(void, give, (int n, int32_t numbers[], struct wio_renamed_many *m))
