/* SPDX-License-Identifier: BSD-3-Clause */
/* What a yield has cost says who else wants this processor. */
#include "p2p/spin.h"

#define SHARED_NS 1500 /* a yield that took longer gave the processor away */
/* One that took this long for each process of the universe on a processor met a computing one. Each
 * of the others has its turn before the yield returns, and may send many messages in it. */
#define HOGGED_NS 400000
enum { CONTENDED_MOST = 16, CROWDED_BEGIN = 8, HOGGED_WAITS = 64 };

void wio_spin_begin(struct wio_spin *s, uint32_t here, uint32_t cpus)
{
    *s = (struct wio_spin){.share = here > cpus ? (here + cpus - 1) / cpus : 1,
                           .crowded = here > cpus,
                           .contended = here > cpus ? CROWDED_BEGIN : 0};
}

void wio_spin_learn(struct wio_spin *s, int64_t ns, int64_t (*switches)(void))
{
    int64_t long_ns = HOGGED_NS * (int64_t)s->share;
    bool gave = false;
    /* Did another thread run, or only an interrupt? The kernel knows. With more processes than
     * processors there is no need to ask. */
    if (ns > (s->crowded ? long_ns : SHARED_NS)) {
        int64_t now = switches();
        gave = now != s->switches;
        s->switches = now;
    }
    if (gave && ns > long_ns)
        s->hogged = HOGGED_WAITS;
    if (gave) {
        if (s->contended < CONTENDED_MOST)
            s->contended++;
    } else if (s->contended > 0 && !s->crowded) {
        s->contended--;
    }
}
