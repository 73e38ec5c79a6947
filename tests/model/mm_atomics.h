/* SPDX-License-Identifier: BSD-3-Clause */
/** @file mm_atomics.h  Included before everything else: C's atomic operations are the machine's. */
#ifndef MM_ATOMICS_H
#define MM_ATOMICS_H

#include <stdatomic.h>
#include <string.h>

#include "mm.h"

/* The library's code shall not know that it is watched. */
#undef __SANITIZE_THREAD__
#if defined(__has_feature)
#undef __has_feature
#define __has_feature(x) 0
#endif

#undef atomic_load_explicit
#undef atomic_store_explicit
#undef atomic_exchange_explicit
#undef atomic_fetch_add_explicit
#undef atomic_fetch_or_explicit
#undef atomic_fetch_and_explicit
#undef atomic_compare_exchange_strong_explicit
#undef atomic_thread_fence
#undef atomic_signal_fence

#define MM_TYPE(p) __typeof__(*(p) + 0)
#define MM_VALUE(p, v) ((uint64_t)(MM_TYPE(p))(v))
#define atomic_load_explicit(p, mo)                                                                \
    ((MM_TYPE(p))mm_load(MM_SITE("load", #p, mo, 0), (p), sizeof *(p)))
#define atomic_store_explicit(p, v, mo)                                                            \
    mm_store(MM_SITE("store", #p " = " #v, mo, 0), (p), sizeof *(p), MM_VALUE(p, v))
#define atomic_exchange_explicit(p, v, mo)                                                         \
    ((MM_TYPE(p))mm_rmw(MM_SITE("exchange", #p, mo, 0), (p), sizeof *(p), MM_EXCHANGE,             \
                        MM_VALUE(p, v)))
#define atomic_fetch_add_explicit(p, v, mo)                                                        \
    ((MM_TYPE(p))mm_rmw(MM_SITE("add", #p, mo, 0), (p), sizeof *(p), MM_ADD, MM_VALUE(p, v)))
#define atomic_fetch_or_explicit(p, v, mo)                                                         \
    ((MM_TYPE(p))mm_rmw(MM_SITE("or", #p, mo, 0), (p), sizeof *(p), MM_OR, MM_VALUE(p, v)))
#define atomic_fetch_and_explicit(p, v, mo)                                                        \
    ((MM_TYPE(p))mm_rmw(MM_SITE("and", #p, mo, 0), (p), sizeof *(p), MM_AND, MM_VALUE(p, v)))
#define atomic_compare_exchange_strong_explicit(p, e, v, mo, mo2)                                  \
    (__extension__({                                                                               \
        uint64_t mm_expected_ = MM_VALUE(p, *(e));                                                 \
        bool mm_done_ =                                                                            \
            mm_cas(MM_SITE("cas", #p, mo, mo2), (p), sizeof *(p), &mm_expected_, MM_VALUE(p, v));  \
        *(e) = (MM_TYPE(p))mm_expected_;                                                           \
        mm_done_;                                                                                  \
    }))
#define atomic_thread_fence(mo) mm_fence(MM_SITE("fence", "", mo, 0))
/* The machine runs a thread's operations in the order of the source: nothing to hold back. */
#define atomic_signal_fence(mo) ((void)(mo))

#define memcpy(to, from, n) mm_memcpy(to, from, n)

#endif
