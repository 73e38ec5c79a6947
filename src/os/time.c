/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks, sleeping, yielding. */
#include <errno.h>
#include <sched.h>
#include <time.h>

#include "os/os.h"

static int64_t read_clock(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts); /* cannot fail for these clocks */
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

int64_t wio_os_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t wio_os_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

void wio_os_sleep_ns(int64_t ns)
{
    if (ns <= 0)
        return;
    struct timespec left = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
        ;
}

void wio_os_yield(void)
{
    sched_yield();
}
