/* SPDX-License-Identifier: BSD-3-Clause */
/** @file model_lock.c  The library's engine lock: its owner, the service thread, other threads. */
#include <pthread.h>
#include <time.h>

#include "os/os.h"

/* Threads of the explorer share one thread of the system. */
#define pthread_self() ((pthread_t)(mm_self() + 1))
#define __builtin_thread_pointer() ((void *)pthread_self()) /* wio_lock_self */
#define STREAK 1
static volatile bool taken[MM_THREADS];
#define TAKING taken[mm_self()]
#include "p2p/lock.h"

#define MUTEX 0
#define pthread_mutex_init(m, a) ((void)(m))
#define pthread_mutex_destroy(m) ((void)(m))
#define pthread_mutex_lock(m) mm_lock(MUTEX)
#define pthread_mutex_trylock(m) (mm_trylock(MUTEX) ? 0 : 1)
#define pthread_mutex_timedlock(m, t) ((void)(t), mm_trylock(MUTEX) ? 0 : 1)
#define pthread_mutex_unlock(m) mm_unlock(MUTEX)
#define pthread_cond_timedwait(c, m, t) (mm_unlock(MUTEX), mm_lock(MUTEX))
#define wio_os_membarrier_private_register() 0
#define wio_os_membarrier_private() (mm_membarrier(MM_SITE("membarrier", "", 0, 0), ~0u), 0)
#define wio_os_yield() mm_spin(NULL)
#define wio_os_sleep_ns(ns) mm_spin(NULL)
#define wio_os_wall_ns() 0
#define wio_os_now_ns() INT64_C(0)
#undef atomic_fetch_add /* counts those who wait: orders nothing */
#undef atomic_fetch_sub
#define atomic_fetch_add(p, v) ((void)(p))
#define atomic_fetch_sub(p, v) ((void)(p))
#define wio_os_write(fd, text, n) ((void)(text))
#define wio_os_exit_now(code) mm_fail("a thread comes in twice")
#include "p2p/lock.c"

/* In watched memory: what only the mutex guards is checked, too. Behind it what the users guard. */
#define l (*(struct wio_lock *)(void *)mm_arena())
static _Atomic int want;
static int inside; /* who, + 1 */

/* What the lock guards: two counters that have to be equal. */
static void work(void)
{
    uint32_t *data = (uint32_t *)(void *)(mm_arena() + sizeof(struct wio_lock));
    if (inside != 0)
        mm_fail("thread %d comes in while thread %d is inside", mm_self(), inside - 1);
    inside = mm_self() + 1;
    uint32_t n = data[0];
    if (data[1] != n)
        mm_fail("thread %d sees half of what was written", mm_self());
    data[0] = n + 1;
    data[1] = n + 1;
}
static void left(void)
{
    inside = 0;
}

/* Between coming and going others have their turn, too. */
static void owner_once(void)
{
    wio_lock_take(&l, &want);
    work();
    left();
    wio_lock_leave(&l);
}
static void twice(void)
{
    owner_once();
    owner_once();
}
static void thrice(void)
{
    owner_once();
    owner_once();
    owner_once();
}
static void service(void)
{
    wio_lock_service(&l);
    work();
    left();
    wio_unlock_slow(&l);
}
static void try_once(void)
{
    if (!wio_lock_try(&l))
        return;
    work();
    left();
    wio_unlock_slow(&l);
}
static void try_then_service(void)
{
    try_once();
    service();
}
static void service_then_try(void)
{
    service();
    try_once();
}
static void sleeper(void)
{
    wio_lock_take(&l, &want);
    work();
    left();
    wio_lock_sleep(&l, NULL, NULL, &want);
    work();
    left();
    wio_lock_leave(&l);
}

static void setup(void)
{
    wio_lock_init(&l);
    inside = 0;
    memset((void *)(uintptr_t)taken, 0, sizeof taken);
    mm_name(&l.bias, "bias");
    mm_name(&l.holder, "holder");
    for (int i = 0; i <= 3; i++) {
        mm_name(&l.biases[i].held, "held[%d]", i);
        mm_name(&l.biases[i].revoke, "revoke[%d]", i);
    }
}
/* Thread 0 has the bias, as after its first call. */
static void setup_biased(void)
{
    setup();
    l.used = 1;
    l.last = 1 /* thread 0 */;
    l.biases[1].thread = l.last;
    atomic_init(&l.bias, &l.biases[1]);
}

static const struct mm_program programs[] = {
    {.name = "lock: owner and service",
     .threads = 2,
     .barriers = true,
     .setup = setup_biased,
     .body = {twice, service}},
    {.name = "lock: owner and a service that tries",
     .threads = 2,
     .barriers = true,
     .setup = setup_biased,
     .body = {twice, try_then_service}},
    {.name = "lock: owner and a service that tries again",
     .threads = 2,
     .barriers = true,
     .setup = setup_biased,
     .body = {twice, service_then_try}},
    {.name = "lock: two applications, from the start",
     .threads = 2,
     .barriers = true,
     .setup = setup,
     .body = {twice, twice}},
    {.name = "lock: the bias moves, its owner comes late",
     .threads = 2,
     .barriers = true,
     .setup = setup_biased,
     .body = {owner_once, thrice}},
    {.name = "lock: owner, application, service",
     .threads = 3,
     .barriers = true,
     .setup = setup_biased,
     .body = {owner_once, owner_once, service}},
    {.name = "lock: a sleeper and another application",
     .threads = 2,
     .barriers = true,
     .setup = setup_biased,
     .body = {sleeper, owner_once}},
};
static const char *const needless[] = {
    /* its owner turns back when it sees it; that it does is the barrier's work */
    "keep_out: store(&b->revoke = 1) without release",
    /* the barrier just made hands on all that was done before it */
    "keep_out: store(&b->revoke = 0) without release", NULL};

int main(int argc, char **argv)
{
    static const struct mm_suite s = {"lock", programs, sizeof programs / sizeof programs[0],
                                      NULL,   needless, NULL};
    return mm_main(&s, argc, argv);
}
