/* SPDX-License-Identifier: BSD-3-Clause */
/** @file spin.h  What the waits of a universe know of the processors. Under the engine lock. */
#ifndef WIO_P2P_SPIN_H
#define WIO_P2P_SPIN_H

#include <stdbool.h>
#include <stdint.h>

/** What waits have measured on this machine. */
struct wio_spin {
    uint32_t contended; /* 0..16: how often a yield gave the processor to another thread */
    uint32_t hogged;    /* waits left for which yielding is avoided: it met a computing process */
    uint32_t share;     /* processes of the universe on this host for each processor, at least 1 */
    int64_t switches;   /* involuntary switches of the thread that yielded last */
    bool crowded;       /* more processes of the universe on this host than processors */
};

/**
 * What the table says.
 * @param here  processes of the universe on this host, with this one
 * @param cpus  processors of this host, at least 1. Not those we are bound to: launchers bind every
 *              process to one. Processes bound to the same one are found out by what yielding costs
 */
void wio_spin_begin(struct wio_spin *s, uint32_t here, uint32_t cpus);

/**
 * A yield took @p ns.
 * @param switches  tells how often the kernel has taken the processor from this thread; a system
 *                  call, made where the time alone does not say it
 */
void wio_spin_learn(struct wio_spin *s, int64_t ns, int64_t (*switches)(void));

#endif
