/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file calendar.h
 * The proleptic Gregorian calendar in whole seconds: pure.
 */
#ifndef WIO_CPL_CALENDAR_H
#define WIO_CPL_CALENDAR_H

#include <stdint.h>

/**
 * Add seconds to a date.
 * @param[in,out] time year (1200 and later, also the result's), month, day, hour, minute, second
 * @param seconds may be negative
 * @return 0; ARG: no such date, or one outside the calendar. Then nothing is changed
 */
int wio_cpl_calendar_add(int time[6], int64_t seconds);
/** Seconds from one date to another, negative if it is before. Both are dates of the calendar. */
int64_t wio_cpl_calendar_between(const int from[6], const int to[6]);

#endif
