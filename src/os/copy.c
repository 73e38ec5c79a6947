/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies of bulk data whose speed does not depend on the addresses of the buffers. From a few KiB
 * on C libraries copy by one instruction (rep movsb) where the processor reports that it is fast.
 * It often is the fastest: it need not read the cache lines that it overwrites. But on some
 * processors it takes three to ten times as long for certain distances between target and source,
 * modulo the size of a page (glibc's bug 30994 tells of AMD's Zen 4), and malloc gives every large
 * array such an offset. So the first bulk copy of a process measures both ways for all classes of
 * distances. Where the C library is much slower, a loop of ours copies. AMD EPYC of family 26 (Zen
 * 5) has no such distances, and there the C library is up to 1.6 times as fast between two
 * processors; so the loop is not used everywhere. The loop runs backwards when the target is ahead
 * within the page: else its loads would wait for recent stores whose addresses have the same lowest
 * 12 bits.
 */
#include <pthread.h>
#include <string.h>

#include "os/os.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define WATCHED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WATCHED 1
#endif

#ifdef WATCHED

/* The sanitizers handle memcpy, but check every access of a loop. */
void wio_os_copy(void *to, const void *from, size_t n)
{
    memcpy(to, from, n);
}

size_t wio_os_copy_shift(const void *to, uint64_t from)
{
    (void)to;
    (void)from;
    return 0;
}

#else

enum {
    VECTOR = 32,
    STEP = 4 * VECTOR, /* bytes loaded before the first of them is stored */
    LINE = 64,         /* the loop's stores are aligned to it */
    PAGE = 4096,       /* what distances are taken modulo of */
    SMALL = 2048,      /* below, the C library does well */
    PROBE = 16384,     /* bytes of a measured copy: a piece of a ring */
    TRIES = 3,         /* of which the quickest counts */
    BITS = 12,         /* of a distance within a page */
    CLASSES = 2 * BITS /* by sign and highest bit */
};

typedef uint8_t vector __attribute__((vector_size(VECTOR), aligned(1), may_alias));

/* One body for every instruction set: the compiler uses what the target attribute allows. */
static inline __attribute__((always_inline)) void step(uint8_t *to, const uint8_t *from)
{
    vector a = *(const vector *)from, b = *(const vector *)(from + VECTOR);
    vector c = *(const vector *)(from + 2 * VECTOR), d = *(const vector *)(from + 3 * VECTOR);
    *(vector *)to = a;
    *(vector *)(to + VECTOR) = b;
    *(vector *)(to + 2 * VECTOR) = c;
    *(vector *)(to + 3 * VECTOR) = d;
}

/* n >= 2 * STEP. Both ends are copied as whole steps that overlap the aligned ones. */
static inline __attribute__((always_inline)) void loop(uint8_t *to, const uint8_t *from, size_t n,
                                                       bool backwards)
{
    size_t head = LINE - (uintptr_t)to % LINE, steps = (n - head) / STEP;
    if (backwards) {
        step(to + n - STEP, from + n - STEP);
        for (size_t i = steps; i-- > 0;)
            step(to + head + i * STEP, from + head + i * STEP);
        step(to, from);
    } else {
        step(to, from);
        for (size_t i = 0; i < steps; i++)
            step(to + head + i * STEP, from + head + i * STEP);
        step(to + n - STEP, from + n - STEP);
    }
}

static void loop_plain(uint8_t *to, const uint8_t *from, size_t n, bool backwards)
{
    loop(to, from, n, backwards);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void loop_avx2(uint8_t *to, const uint8_t *from, size_t n,
                                                      bool backwards)
{
    loop(to, from, n, backwards);
}
#endif

static void (*best_loop)(uint8_t *to, const uint8_t *from, size_t n, bool backwards) = loop_plain;
static bool slow[CLASSES]; /* distances at which the C library's copy is */
static pthread_once_t measured = PTHREAD_ONCE_INIT;

/* How far the target lies ahead of the source, within half a page either way. */
static int distance(const void *to, uint64_t from)
{
    int d = (int)(((uint64_t)(uintptr_t)to - from) % PAGE);
    return d < PAGE / 2 ? d : d - PAGE;
}

static int class_of(int d)
{
    unsigned size = (unsigned)(d < 0 ? -d : d);
    int bit = 0;
    while (size >> (bit + 1) != 0)
        bit++;
    return d < 0 ? BITS + bit : bit;
}

static void by_loop(uint8_t *to, const uint8_t *from, size_t n)
{
    int d = distance(to, (uintptr_t)from);
    best_loop(to, from, n, d > 0);
}

static int64_t time_of(uint8_t *to, const uint8_t *from, bool own)
{
    int64_t best = INT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        int64_t begun = wio_os_now_ns(), ns;
        if (own)
            by_loop(to, from, PROBE);
        else
            memcpy(to, from, PROBE);
        ns = wio_os_now_ns() - begun;
        best = ns < best ? ns : best;
    }
    return best;
}

/* The cliff is three to ten times. A smaller ratio proves little, because this measures within the
 * first cache: between two processors the C library's copy may be faster although it is a third
 * slower here. */
static bool much_slower(uint8_t *to, uint8_t *from)
{
    return time_of(to, from, false) > 3 * time_of(to, from, true);
}

static void measure(void)
{
    uint8_t *memory = wio_os_alloc(2 * PROBE + 4 * PAGE);
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2"))
        best_loop = loop_avx2;
#endif
    if (memory == NULL)
        return; /* the C library's copy is right, at worst slow */
    uint8_t *from = memory + PAGE - (uintptr_t)memory % PAGE, *to = from + PROBE + 2 * PAGE;
    for (int bit = 0; bit < BITS - 1; bit++) {
        int d = 1 << bit, e = d + d / 2;
        slow[class_of(d)] = much_slower(to + d, from) || much_slower(to + e, from);
        slow[class_of(-d)] = much_slower(to - d, from) || much_slower(to - e, from);
    }
    slow[class_of(-PAGE / 2)] = much_slower(to - PAGE / 2, from);
    wio_os_free(memory);
}

void wio_os_copy(void *to, const void *from, size_t n)
{
    if (n < SMALL) {
        if (n > 0)
            memcpy(to, from, n);
        return;
    }
    pthread_once(&measured, measure);
    if (slow[class_of(distance(to, (uintptr_t)from))])
        by_loop(to, from, n);
    else
        memcpy(to, from, n);
}

size_t wio_os_copy_shift(const void *to, uint64_t from)
{
    int d = distance(to, from);
    pthread_once(&measured, measure);
    return d > 0 && d < LINE && slow[class_of(d)] && !slow[class_of(LINE)] ? (size_t)(LINE - d) : 0;
}

#endif
