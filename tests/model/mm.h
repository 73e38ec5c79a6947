/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file mm.h
 * A small explorer of concurrent programs under a weak memory model. It runs the library's own
 * code: mm_atomics.h turns its atomic operations into calls of this machine, and the compiler's
 * instrumentation for data races (-fsanitize=thread, with our functions in the place of its
 * library) reports every plain access. Every interleaving, every value that a load may return and
 * every place that a store may take in its location's order are tried. The model and its limits:
 * docs/design/memory-model.md.
 */
#ifndef MM_H
#define MM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MM_THREADS 4
#define MM_ARENA (64u << 10)

/** One atomic operation in the source. The test weakens one after another. */
struct mm_site {
    const char *func, *op, *what;
    int line, order, order2; /* enum memory_order; of a failed compare-and-swap */
    bool known;              /* in the list of sites */
    bool no_acquire, no_release, dropped;
    uint64_t runs; /* last exploration that came by */
    const void *at;
    int loc; /* of the last address seen */
};

/** A program: threads that run to their end, whatever the schedule. */
struct mm_program {
    const char *name;
    int threads;
    unsigned mortal;  /* mask: threads that may be killed at any operation */
    bool barriers;    /* calls mm_membarrier() */
    unsigned daemons; /* mask: threads that need not end */
    void (*setup)(void);
    void (*body[MM_THREADS])(void);
    void (*finish)(void); /* all threads have ended: check; NULL: nothing to check */
    bool slow;            /* only with -a */
};

/** A change of the model's own transcribed parts that has to be found; mm_mutated(name). */
struct mm_suite {
    const char *name;
    const struct mm_program *programs;
    size_t n;
    const char *const *mutants; /* ends with NULL */
    /* "function: operation(place) without half": harmless here; the reasons stand beside */
    const char *const *needless;
    /* the same, but only one at a time in a function */
    const char *const *either;
};
int mm_main(const struct mm_suite *s, int argc, char **argv);

/** Memory whose plain accesses are watched; zeroed before each execution. */
uint8_t *mm_arena(void);
/** For traces. */
void mm_name(const volatile void *at, const char *fmt, ...);
int mm_self(void);
bool mm_mutated(const char *name);
/** The property is broken. Does not return. */
_Noreturn void mm_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** One of 0 .. n-1; all are tried. */
int mm_choose(int n);

uint64_t mm_load(struct mm_site *s, const volatile void *at, size_t size);
void mm_store(struct mm_site *s, volatile void *at, size_t size, uint64_t value);
enum mm_op { MM_EXCHANGE, MM_ADD, MM_OR, MM_AND };
uint64_t mm_rmw(struct mm_site *s, volatile void *at, size_t size, enum mm_op op, uint64_t arg);
bool mm_cas(struct mm_site *s, volatile void *at, size_t size, uint64_t *expected, uint64_t value);
void mm_fence(struct mm_site *s);
/** membarrier(2): a full fence here, one in each other thread of @p threads (a mask) between call
 * and return, one here. */
void mm_membarrier(struct mm_site *s, unsigned threads);
/** A loop was in vain: go on when what was loaded last has changed, or when @p other says so. */
void mm_spin(bool (*other)(void));

/** Locks and other objects of the system: acquire and release, nothing more. */
void mm_lock(int id);
bool mm_trylock(int id);
void mm_unlock(int id);
/** A system call on an object: it may learn what others did before theirs (IN), and others later
 * what the caller has done (OUT). The caller then changes the object's state, unseen by others till
 * its next operation. */
enum { MM_IN = 1, MM_OUT = 2 };
void mm_call(int id, int ways, const char *what);
/** One that sleeps until @p ready; orders nothing. */
void mm_sleep(const char *what, bool (*ready)(void));
/** Was it killed? */
bool mm_dead(int thread);
/** Its end was noticed: everything that it did is visible. */
void mm_mourn(int thread);

void *mm_memcpy(void *to, const void *from, size_t n);

#define MM_SITE(name, place, mo, mo2)                                                              \
    (__extension__({                                                                               \
        static struct mm_site mm_site_ = {__func__, name, place, __LINE__, mo, mo2, 0,             \
                                          0,        0,    0,     0,        0,  0};                 \
        &mm_site_;                                                                                 \
    }))

#endif
