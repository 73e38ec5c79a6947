/* SPDX-License-Identifier: BSD-3-Clause */
/** @file lock.c  The slow ways through the engine lock. */
#include "p2p/lock.h"

#include <time.h>

#include "os/os.h"

#if defined(__SANITIZE_THREAD__)
#define PLAIN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PLAIN 1
#endif
#endif
#ifndef PLAIN
#define PLAIN 0
#endif

#ifndef STREAK      /* tests/model has a shorter one */
#define STREAK 2000 /* calls of one thread alone before it gets the bias (back) */
#endif
#define YIELDS 200
#ifndef TAKING /* tests/model runs its threads on one of the system's */
/* This thread takes the lock, holds it or leaves it by the mutex, or sleeps on it: wider than
 * `holder`, so that a signal handler that comes just before or after it does not wait for its own
 * thread. */
static _Thread_local volatile bool taking;
#define TAKING taking
#endif
#define NAP_NS 20000
#define GIVE_WAY_NS 100000 /* a thread that wakes needs half of it */

void wio_lock_init(struct wio_lock *l)
{
    pthread_mutex_init(&l->mutex, NULL);
    atomic_init(&l->bias, &l->biases[0]);
    l->biased = !PLAIN && wio_os_membarrier_private_register() == 0;
}

void wio_lock_destroy(struct wio_lock *l)
{
    pthread_mutex_destroy(&l->mutex);
}

static struct wio_bias *current(const struct wio_lock *l)
{
    return atomic_load_explicit(&l->bias, memory_order_relaxed);
}

/* Inside the mutex: keep the owner of the bias out. @return false: it is inside, and the caller
 * does not wait */
static bool keep_out(struct wio_lock *l, bool patient)
{
    struct wio_bias *b = current(l);
    if (b->thread == 0 || b->thread == wio_lock_self())
        return true;
    if (!patient && atomic_load_explicit(&b->held, memory_order_relaxed) != 0)
        return false; /* without the cost of the barrier */
    atomic_store_explicit(&b->revoke, 1, memory_order_seq_cst);
    (void)wio_os_membarrier_private();
    for (int i = 0; atomic_load_explicit(&b->held, memory_order_acquire) != 0; i++) {
        if (!patient) {
            atomic_store_explicit(&b->revoke, 0, memory_order_release);
            return false;
        }
        if (i < YIELDS)
            wio_os_yield();
        else
            wio_os_sleep_ns(NAP_NS);
    }
    return true;
}

static void entered(struct wio_lock *l)
{
    atomic_store_explicit(&l->holder, wio_lock_self(), memory_order_relaxed);
    atomic_store_explicit(&l->entries, atomic_load_explicit(&l->entries, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/* An application thread took the mutex: the bias of another thread ends, and a thread that took it
 * often enough without others gets the bias. Sleepers need the mutex: no bias while threads sleep.
 */
static void rebias(struct wio_lock *l)
{
    uintptr_t me = wio_lock_self();
    bool first = l->last == 0;
    if (!l->biased || current(l)->thread == me)
        return;
    atomic_store_explicit(&l->bias, &l->biases[0], memory_order_relaxed); /* revoke stays set */
    l->streak = first ? STREAK : l->last == me ? l->streak + 1 : 0;
    l->last = me;
    if (l->streak < STREAK || l->sleepers > 0 || l->used == WIO_BIASES)
        return;
    struct wio_bias *b = &l->biases[++l->used];
    b->thread = me;
    /* until the mutex is left: a signal handler must not come in by the bias beside us */
    atomic_store_explicit(&b->revoke, 1, memory_order_relaxed);
    atomic_store_explicit(&l->bias, b, memory_order_release);
}

void wio_lock_reentered(void)
{
    static const char text[] =
        "waitio: a signal handler has called WaitIO in the middle of another call of its thread, "
        "which "
        "is not possible: it could only wait for itself. Set a flag in the handler, and call the "
        "library from the program. This process ends with status 1\n";
    (void)wio_os_write(2, text, sizeof text - 1); /* nothing else is safe in a handler */
    wio_os_exit_now(1);
}

void wio_lock_slow(struct wio_lock *l, _Atomic int *want)
{
    if (TAKING)
        wio_lock_reentered();
    TAKING = true;
    if (pthread_mutex_trylock(&l->mutex) != 0) {
        atomic_fetch_add(want, 1); /* a spinning poller gives way */
        pthread_mutex_lock(&l->mutex);
        atomic_fetch_sub(want, 1);
    }
    atomic_fetch_add(want, 1);
    (void)keep_out(l, true);
    atomic_fetch_sub(want, 1);
    entered(l);
    rebias(l);
}

void wio_unlock_slow(struct wio_lock *l)
{
    struct wio_bias *b = current(l);
    atomic_store_explicit(&l->holder, 0, memory_order_relaxed);
    if (b->thread != 0)
        atomic_store_explicit(&b->revoke, 0, memory_order_release);
    pthread_mutex_unlock(&l->mutex);
    TAKING = false;
}

void wio_lock_give_way(struct wio_lock *l, _Atomic int *want)
{
    uint32_t seen = atomic_load_explicit(&l->entries, memory_order_relaxed);
    wio_lock_leave(l);
    wio_os_yield();
    if (atomic_load_explicit(want, memory_order_relaxed) == 0)
        return;
    int64_t until = wio_os_now_ns() + GIVE_WAY_NS;
    while (atomic_load_explicit(want, memory_order_relaxed) > 0 &&
           atomic_load_explicit(&l->entries, memory_order_relaxed) == seen &&
           wio_os_now_ns() < until)
        wio_os_yield();
}

bool wio_lock_try(struct wio_lock *l)
{
    if (pthread_mutex_trylock(&l->mutex) != 0)
        return false;
    if (!keep_out(l, false)) {
        pthread_mutex_unlock(&l->mutex);
        return false;
    }
    entered(l);
    return true;
}

void wio_lock_service(struct wio_lock *l)
{
    pthread_mutex_lock(&l->mutex);
    (void)keep_out(l, true);
    entered(l);
}

bool wio_lock_mine(const struct wio_lock *l)
{
    uintptr_t me = wio_lock_self();
    const struct wio_bias *b = current(l);
    return atomic_load_explicit(&l->holder, memory_order_relaxed) == me ||
           (b->thread == me && atomic_load_explicit(&b->held, memory_order_relaxed) != 0);
}

bool wio_lock_timed(struct wio_lock *l, int64_t ns)
{
    int64_t until = wio_os_wall_ns() + ns;
    struct timespec t = {.tv_sec = until / 1000000000, .tv_nsec = until % 1000000000};
    if (pthread_mutex_timedlock(&l->mutex, &t) != 0)
        return false;
    pthread_mutex_unlock(&l->mutex);
    return true;
}

void wio_lock_sleep(struct wio_lock *l, pthread_cond_t *c, const struct timespec *until,
                    _Atomic int *want)
{
    if (atomic_load_explicit(&l->holder, memory_order_relaxed) != wio_lock_self()) {
        wio_lock_leave(l); /* this thread holds the lock by its bias: take the mutex again */
        wio_lock_slow(l, want);
        return;
    }
    l->sleepers++;
    atomic_store_explicit(&l->holder, 0, memory_order_relaxed);
    pthread_cond_timedwait(c, &l->mutex, until);
    (void)keep_out(l, true);
    entered(l);
    l->sleepers--;
}
