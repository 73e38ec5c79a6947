/* SPDX-License-Identifier: BSD-3-Clause */
#include "p2p/way.h"

enum { RING, FETCH };

struct wio_way *wio_way_of(struct wio_ways *ways, size_t bytes)
{
    int i = 0;
    while (i < WIO_WAY_CLASSES - 1 && bytes >> (WIO_WAY_SMALLEST_LOG2 + i + 1) != 0)
        i++;
    return &ways->of[i];
}

static void begin_trial(struct wio_way *w)
{
    w->ns[RING] = w->ns[FETCH] = 0;
    w->late = false;
    w->kept = (uint16_t)(w->kept == 0             ? WIO_WAY_SOON
                         : w->kept < WIO_WAY_KEPT ? 2 * w->kept
                                                  : WIO_WAY_KEPT);
}

static void count(struct wio_way *w)
{
    w->calls++;
    if (w->calls == 2 * WIO_WAY_TRIES + w->kept)
        w->calls = 0;
}

/* One fetch has shown enough. */
static bool hopeless(const struct wio_way *w)
{
    return w->late || (w->ns[RING] != 0 && w->ns[FETCH] > 2 * w->ns[RING]);
}

bool wio_way_next(struct wio_way *w, bool *timed)
{
    if (w->calls == 0)
        begin_trial(w);
    *timed = w->calls < WIO_WAY_TRIES || (w->calls < 2 * WIO_WAY_TRIES && !hopeless(w));
    bool fetch = *timed ? w->calls >= WIO_WAY_TRIES : w->fetch && !w->late;
    count(w);
    return fetch;
}

bool wio_way_plain(struct wio_way *w)
{
    if (w->calls < 2 * WIO_WAY_TRIES || (w->fetch && !w->late))
        return false;
    count(w);
    return true;
}

void wio_way_took(struct wio_way *w, bool fetched, size_t bytes, int64_t ns)
{
    uint64_t rate = (uint64_t)ns * (1u << 20) / (bytes > 0 ? bytes : 1);
    uint64_t *best = &w->ns[fetched ? FETCH : RING];
    if (rate == 0)
        rate = 1;
    if (*best == 0 || rate < *best)
        *best = rate;
    if (w->ns[RING] != 0 && w->ns[FETCH] != 0)
        w->fetch = w->ns[FETCH] < w->ns[RING];
}

void wio_way_late(struct wio_way *w)
{
    w->late = true;
}
