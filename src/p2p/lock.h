/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file lock.h
 * The engine lock: a mutex that is biased to the calling thread. Most programs call from one
 * thread; for it the lock costs a store and a load. An atomic operation would cost more than its
 * own time: it waits until the other core has taken the cache line of the last message, 50 to 100
 * ns.
 *
 *   owner of the bias        everybody else (service thread, other application threads)
 *   held = 1                 take the mutex
 *   (compiler barrier)       revoke = 1
 *   revoke == 0? inside      membarrier(2): a full barrier in every thread of this process
 *   ...                      wait until held == 0: inside
 *   held = 0                 revoke = 0, leave the mutex
 *
 * Either the owner sees revoke, or the others see held; the rare threads issue the barrier that the
 * owner would need. When a second application thread calls, the bias ends; a thread that was alone
 * for long gets a new one (Dice, Huang, Yang: Asymmetric Dekker Synchronization, 2001). Each bias
 * has its own pair of words, and those of an ended one stay revoked for ever: its owner may just be
 * entering. Without membarrier(2), and under ThreadSanitizer, it is a plain mutex. tests/model
 * explores it.
 */
#ifndef WIO_LOCK_H
#define WIO_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define WIO_BIASES 16 /* then it stays a plain mutex */
struct wio_bias {
    uintptr_t thread;   /* whose; constant once it can be seen */
    _Atomic int held;   /* it is inside */
    _Atomic int revoke; /* another thread is inside, or wants to be; for ever: the bias has ended */
};

struct wio_lock {
    _Atomic(struct wio_bias *) bias; /* never NULL */
    _Atomic uintptr_t holder;        /* thread inside by the mutex; 0 = none */
    _Atomic uint32_t entries;        /* by the mutex: has anybody been let in? */
    uintptr_t last;                  /* application thread that came last by the mutex ... */
    uint32_t streak;                 /* ... and how often without another one */
    int used;                        /* biases given away */
    int sleepers;
    bool biased; /* membarrier works */
    pthread_mutex_t mutex;
    struct wio_bias biases[WIO_BIASES + 1]; /* the first is nobody's */
};

/** Who am I? Read from one register, by a call where the compiler cannot; a thread-local variable
 * of a library that is opened late (Python) is found by a slower one. */
static inline uintptr_t wio_lock_self(void)
{
#if defined(__has_builtin)
#if __has_builtin(__builtin_thread_pointer)
    return (uintptr_t)__builtin_thread_pointer();
#else
    return (uintptr_t)pthread_self();
#endif
#else
    return (uintptr_t)pthread_self();
#endif
}

void wio_lock_init(struct wio_lock *l);
void wio_lock_destroy(struct wio_lock *l);
/** An application thread takes the lock in the slow way. @param want counted up while it waits */
void wio_lock_slow(struct wio_lock *l, _Atomic int *want);
void wio_unlock_slow(struct wio_lock *l);
/** A signal handler of this thread calls although it has interrupted a call that is inside. Nothing
 * can be done any more: says so, and ends the process. */
_Noreturn void wio_lock_reentered(void);
/** Leave, and stay out until a waiting thread (@p want above 0) is in, if that is soon: without
 * this the thread that unlocks would always lock again before the waiting one has woken. */
void wio_lock_give_way(struct wio_lock *l, _Atomic int *want);
/** For the service thread: never revokes the bias. @return false: another thread is inside */
bool wio_lock_try(struct wio_lock *l);
/** The same, waiting. */
void wio_lock_service(struct wio_lock *l);
/** Is this thread inside? (for signal handlers) */
bool wio_lock_mine(const struct wio_lock *l);
/** Try to lock within @p ns. @return false: not locked */
bool wio_lock_timed(struct wio_lock *l, int64_t ns);
/** Sleep on a condition, leaving the lock meanwhile; a deadline on the monotonic clock. Another
 * thread may have had the lock before the sleep began: check everything again. */
void wio_lock_sleep(struct wio_lock *l, pthread_cond_t *c, const struct timespec *until,
                    _Atomic int *want);

static inline void wio_lock_take(struct wio_lock *l, _Atomic int *want)
{
    struct wio_bias *b = atomic_load_explicit(&l->bias, memory_order_acquire);
    if (__builtin_expect(b->thread == wio_lock_self(), 1)) {
        if (__builtin_expect(atomic_load_explicit(&b->held, memory_order_relaxed) != 0, 0))
            wio_lock_reentered();
        atomic_store_explicit(&b->held, 1, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        if (__builtin_expect(atomic_load_explicit(&b->revoke, memory_order_acquire) == 0, 1))
            return;
        atomic_store_explicit(&b->held, 0, memory_order_release);
    }
    wio_lock_slow(l, want);
}

static inline void wio_lock_leave(struct wio_lock *l)
{
    if (__builtin_expect(atomic_load_explicit(&l->holder, memory_order_relaxed) == 0, 1))
        atomic_store_explicit(&atomic_load_explicit(&l->bias, memory_order_relaxed)->held, 0,
                              memory_order_release);
    else
        wio_unlock_slow(l);
}

#endif
