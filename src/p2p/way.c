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
    w->tries[RING] = w->tries[FETCH] = WIO_WAY_TRIES;
    w->late = 0;
    w->kept = (uint16_t)(w->kept == 0             ? WIO_WAY_SOON
                         : w->kept < WIO_WAY_KEPT ? 2 * w->kept
                                                  : WIO_WAY_KEPT);
    w->before = w->fetch;
}

/* The trial before came to the same: a third one may wait. */
static void end_trial(struct wio_way *w)
{
    if (w->kept > WIO_WAY_SOON && w->fetch == w->before)
        w->kept = WIO_WAY_KEPT;
}

static int trial_ends(const struct wio_way *w)
{
    return w->tries[RING] + w->tries[FETCH];
}

static void count(struct wio_way *w)
{
    w->calls++;
    if (w->calls == trial_ends(w) + WIO_WAY_MOST) /* all answers are here */
        end_trial(w);
    if (w->calls == trial_ends(w) + w->kept)
        w->calls = 0;
}

/* One may be an accident: the receiver was held up by the system. */
static bool late(const struct wio_way *w)
{
    return w->late > WIO_WAY_LATE;
}

/* A few fetches have shown enough: one where it was far slower, since the first finds the caches
 * cold; else two. */
static bool hopeless(const struct wio_way *w)
{
    uint64_t factor = w->calls <= w->tries[RING] + 1 ? 4 : 2;
    return late(w) || (w->ns[RING] != 0 && w->ns[FETCH] > factor * w->ns[RING]);
}

bool wio_way_next(struct wio_way *w, bool *timed)
{
    if (w->calls == 0)
        begin_trial(w);
    *timed = w->calls < w->tries[RING] || (w->calls < trial_ends(w) && !hopeless(w));
    bool fetch = *timed ? w->calls >= w->tries[RING] : w->fetch && !late(w);
    if (fetch && w->late > 0)
        w->late--;
    count(w);
    return fetch;
}

bool wio_way_plain(struct wio_way *w)
{
    if (w->calls == 0 || w->calls < trial_ends(w) || (w->fetch && !late(w)))
        return false;
    count(w);
    return true;
}

/* It was a good deal quicker than those before, and the last one: one more. */
static void still_faster(struct wio_way *w, int way, uint64_t rate)
{
    int last = way == RING ? w->tries[RING] : trial_ends(w);
    if (w->calls == last && rate + rate / 16 < w->ns[way] && w->tries[way] < WIO_WAY_MOST)
        w->tries[way]++;
}

void wio_way_took(struct wio_way *w, bool fetched, size_t bytes, int64_t ns)
{
    uint64_t rate = (uint64_t)ns * (1u << 20) / (bytes > 0 ? bytes : 1);
    int way = fetched ? FETCH : RING;
    if (rate == 0)
        rate = 1;
    still_faster(w, way, rate);
    if (w->ns[way] == 0 || rate < w->ns[way])
        w->ns[way] = rate;
    if (w->ns[RING] != 0 && w->ns[FETCH] != 0)
        w->fetch = w->ns[FETCH] < w->ns[RING];
}

void wio_way_late(struct wio_way *w)
{
    w->late += late(w) ? 0 : WIO_WAY_LATE;
}
