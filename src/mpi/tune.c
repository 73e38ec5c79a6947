/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/tune.h"

enum { SMALLEST_LOG2 = 20 };

struct wio_trial *wio_tune_of(struct wio_tune *tune, size_t bytes)
{
    int i = 0;

    while (i < WIO_TUNE_CLASSES - 1 && bytes >> (SMALLEST_LOG2 + i + 1) != 0)
        i++;
    return &tune->trial[i];
}

bool wio_tune_rival(const struct wio_trial *t)
{
    uint32_t calls = __atomic_load_n(&t->calls, __ATOMIC_RELAXED);

    return calls < 2 * WIO_TUNE_TRIES ? calls >= WIO_TUNE_TRIES
                                      : __atomic_load_n(&t->rival, __ATOMIC_RELAXED);
}

bool wio_tune_took(struct wio_trial *t, int64_t ns)
{
    uint32_t calls = t->calls;

    if (calls == 0) {
        t->sum_ns[0] = t->sum_ns[1] = 0;
        t->kept = t->kept == 0              ? WIO_TUNE_SOON
                  : t->kept < WIO_TUNE_KEPT ? 2 * t->kept
                                            : WIO_TUNE_KEPT;
    }
    if (calls < 2 * WIO_TUNE_TRIES && calls % WIO_TUNE_TRIES != 0)
        t->sum_ns[calls / WIO_TUNE_TRIES] += ns;
    calls = (calls + 1) % (2 * WIO_TUNE_TRIES + t->kept);
    __atomic_store_n(&t->calls, calls, __ATOMIC_RELAXED);
    return calls == 2 * WIO_TUNE_TRIES;
}

void wio_tune_decide(struct wio_trial *t, const int64_t worst_ns[2])
{
    __atomic_store_n(&t->rival, worst_ns[1] < worst_ns[0], __ATOMIC_RELAXED);
}
