/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/tune.h"

#define LOAD(of) __atomic_load_n(&(of), __ATOMIC_RELAXED)
#define STORE(of, value) __atomic_store_n(&(of), (value), __ATOMIC_RELAXED)

struct wio_trial *wio_tune_of(struct wio_tune *tune, size_t bytes)
{
    int i = 0, tries;

    while (i < WIO_TUNE_CLASSES - 1 && bytes / WIO_TUNE_FROM >> (i + 1) != 0)
        i++;
    tries = i < WIO_TUNE_LONG ? WIO_TUNE_TRIES : WIO_TUNE_FEW;
    if (LOAD(tune->trial[i].tries) != tries)
        STORE(tune->trial[i].tries, (uint8_t)tries);
    return &tune->trial[i];
}

static uint32_t trial_ends(const struct wio_trial *t)
{
    return (uint32_t)LOAD(t->tries) * LOAD(t->turns);
}

/* All take part. */
static void begin(struct wio_trial *t, int rivals)
{
    for (int i = 0; i < rivals; i++)
        STORE(t->turn[i], (uint8_t)i);
    STORE(t->turns, (uint8_t)rivals);
    STORE(t->rivals, (uint8_t)rivals);
}

int wio_tune_next(struct wio_trial *t, int rivals)
{
    uint32_t calls = LOAD(t->calls);

    if (LOAD(t->rivals) == 0)
        begin(t, rivals);
    return calls < trial_ends(t) ? LOAD(t->turn[calls / LOAD(t->tries)]) : LOAD(t->chosen);
}

int wio_tune_counted(const struct wio_trial *t)
{
    return LOAD(t->tries) - 1;
}

bool wio_tune_took(struct wio_trial *t, int64_t ns)
{
    uint32_t calls = t->calls, end = trial_ends(t);

    if (calls == 0) {
        for (int i = 0; i < WIO_TUNE_RIVALS; i++)
            t->sum_ns[i] = 0;
        t->kept = t->kept == 0              ? WIO_TUNE_SOON
                  : t->kept < WIO_TUNE_KEPT ? 2 * t->kept
                                            : WIO_TUNE_KEPT;
    }
    if (calls < end && calls % LOAD(t->tries) != 0)
        t->sum_ns[t->turn[calls / LOAD(t->tries)]] += ns;
    calls = (calls + 1) % (end + t->kept);
    STORE(t->calls, calls);
    return calls == end;
}

/* Who is half as slow again as the quickest (twice as slow where only one call was counted, which
 * anything may have disturbed) takes no part any more; later trials are between the two quickest.
 * @param first was it the first trial? */
static void thin_out(struct wio_trial *t, const int64_t worst_ns[WIO_TUNE_RIVALS], bool first)
{
    int64_t best = worst_ns[t->chosen];
    int64_t far = LOAD(t->tries) == WIO_TUNE_FEW ? 2 * best : best + best / 2;
    int second = -1, n = 0;

    for (int i = 0; i < t->rivals; i++) {
        if (i != t->chosen && worst_ns[i] > 0 && (second < 0 || worst_ns[i] < worst_ns[second]))
            second = i;
    }
    for (int i = 0; i < t->rivals; i++) {
        bool near = first && worst_ns[i] > 0 && worst_ns[i] <= far;
        if (i == t->chosen || i == second || near)
            STORE(t->turn[n++], (uint8_t)i);
    }
    STORE(t->turns, (uint8_t)n);
}

void wio_tune_decide(struct wio_trial *t, const int64_t worst_ns[WIO_TUNE_RIVALS])
{
    int best = -1;

    for (int i = 0; i < t->rivals; i++) {
        if (worst_ns[i] > 0 && (best < 0 || worst_ns[i] < worst_ns[best]))
            best = i;
    }
    if (best < 0)
        return;
    /* The calls are counted from the end of the trial, which the thinning would move. */
    uint32_t since = t->calls - trial_ends(t);
    STORE(t->chosen, (uint8_t)best);
    thin_out(t, worst_ns, t->kept == WIO_TUNE_SOON);
    STORE(t->calls, trial_ends(t) + since);
}
