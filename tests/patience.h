/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file patience.h
 * Time limits that grow with the machine's load, as tests/support/patience.py has them: limits in
 * the tests are those of an idle machine.
 */
#ifndef TEST_PATIENCE_H
#define TEST_PATIENCE_H

#include <sched.h>
#include <stdint.h>
#include <stdlib.h>

#include "os/os.h"

/** How much longer things take now than on an idle machine: 1 to 10. */
static inline double wt_patience(void)
{
    double load = 0;
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
    if (getloadavg(&load, 1) != 1 || cores < 1)
        return 1;
    double factor = load / cores;
    return factor < 1 ? 1 : factor > 10 ? 10 : factor;
}

/** A time that something takes at most on an idle machine, for now. */
static inline int64_t wt_scaled_ns(int64_t ns)
{
    return (int64_t)((double)ns * wt_patience());
}

/** The moment when so much time will be over. */
static inline int64_t wt_until_ns(int64_t ns)
{
    return wio_os_now_ns() + wt_scaled_ns(ns);
}

#endif
