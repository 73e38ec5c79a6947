/* SPDX-License-Identifier: BSD-3-Clause */
/* Dates to days and back: the year begins in March here, so that the leap day is its last. */
#include "coupler/calendar.h"

#include <stdbool.h>

#include "coupler/base.h"
#include "waitio_errors.h"

enum { FIRST_YEAR = 1200, LAST_YEAR = 200000000, DAY = 86400, ERA = 146097 };

static bool leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int month_days(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return days[month - 1] + (month == 2 && leap(year));
}

static bool valid(const int t[6])
{
    return t[0] >= FIRST_YEAR && t[0] <= LAST_YEAR && t[1] >= 1 && t[1] <= 12 && t[2] >= 1 &&
           t[2] <= month_days(t[0], t[1]) && t[3] >= 0 && t[3] <= 23 && t[4] >= 0 && t[4] <= 59 &&
           t[5] >= 0 && t[5] <= 59;
}

/* Days since 1 March of year 0. */
static int64_t days_of(int year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1;
    int64_t in_era = y % 400, m = month > 2 ? month - 3 : month + 9;

    return y / 400 * ERA + in_era * 365 + in_era / 4 - in_era / 100 + (153 * m + 2) / 5 + day - 1;
}

static void date_of(int64_t days, int64_t *year, int *month, int *day)
{
    int64_t era = days / ERA, d = days % ERA;
    int64_t y = (d - d / 1460 + d / 36524 - d / (ERA - 1)) / 365;
    int64_t in_year = d - (365 * y + y / 4 - y / 100);
    int64_t m = (5 * in_year + 2) / 153;

    *day = (int)(in_year - (153 * m + 2) / 5 + 1);
    *month = (int)(m < 10 ? m + 3 : m - 9);
    *year = era * 400 + y + (*month <= 2);
}

int wio_cpl_calendar_add(int time[6], int64_t seconds)
{
    const int64_t far = (int64_t)LAST_YEAR * 366 * DAY;
    int64_t all, days, rest, year;
    int month, day;

    if (!valid(time))
        return wio_cpl_fail(WAITIO_ERR_ARG,
                            "%d-%02d-%02d %02d:%02d:%02d is no date of the calendar, which begins "
                            "with the year %d",
                            time[0], time[1], time[2], time[3], time[4], time[5], FIRST_YEAR);
    if (seconds > far || seconds < -far)
        return wio_cpl_fail(WAITIO_ERR_ARG, "%lld seconds lead out of the calendar",
                            (long long)seconds);
    all = time[3] * 3600 + time[4] * 60 + time[5] + seconds;
    days = all / DAY - (all % DAY < 0);
    rest = all - days * DAY;
    days += days_of(time[0], time[1], time[2]);
    if (days < days_of(FIRST_YEAR, 1, 1) || days > days_of(LAST_YEAR, 12, 31))
        return wio_cpl_fail(WAITIO_ERR_ARG, "%lld seconds lead out of the calendar",
                            (long long)seconds);
    date_of(days, &year, &month, &day);
    time[0] = (int)year;
    time[1] = month;
    time[2] = day;
    time[3] = (int)(rest / 3600);
    time[4] = (int)(rest / 60 % 60);
    time[5] = (int)(rest % 60);
    return 0;
}

static int64_t seconds_of(const int t[6])
{
    return days_of(t[0], t[1], t[2]) * DAY + t[3] * 3600 + t[4] * 60 + t[5];
}

int64_t wio_cpl_calendar_between(const int from[6], const int to[6])
{
    return seconds_of(to) - seconds_of(from);
}
