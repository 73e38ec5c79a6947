/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks, sleeping, yielding. */
#include <errno.h>
#include <sched.h>
#include <time.h>

#include "os/os.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <string.h>
#endif

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

#if defined(__x86_64__)
/* The system takes another clock where this one jumps, or differs between processors. */
static bool system_goes_by_it(void)
{
    static const char file[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    char name[64];
    return wio_os_read_line(file, name, sizeof name) > 0 &&
           (strcmp(name, "tsc") == 0 || strcmp(name, "kvm-clock") == 0 ||
            strcmp(name, "hyperv_clocksource_tsc_page") == 0);
}

bool wio_os_ticks_steady(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;
    bool constant = __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
    return constant && system_goes_by_it();
}
#else
bool wio_os_ticks_steady(void)
{
#if defined(__aarch64__)
    return true; /* the architecture says so */
#else
    return false;
#endif
}
#endif
