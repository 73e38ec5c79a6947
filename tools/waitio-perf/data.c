/* SPDX-License-Identifier: BSD-3-Clause */
/** @file data.c  Clock, buffers, the marks that show that data arrived, and order statistics. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "perf.h"

enum { MARK = 8 };

double perf_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void *perf_buffer(size_t bytes)
{
    void *p = NULL;
    if (posix_memalign(&p, 4096, bytes) != 0) {
        fprintf(stderr,
                "waitio-perf: no memory for a buffer of %zu bytes: measure smaller messages "
                "(--sizes)\n",
                bytes);
        waitio_abort(1);
    }
    memset(p, 1, bytes);
    return p;
}

/* Never 1 or 0xff, which is what stands in unmarked buffers. */
static unsigned char mark_byte(size_t at, size_t bytes, int sender)
{
    uint64_t x = (at * 31u + bytes * 7u + (uint64_t)sender * 13u) % 251u;
    return (unsigned char)(x + 2);
}

void perf_mark(unsigned char *p, size_t bytes, int sender)
{
    for (size_t i = 0; i < bytes && i < MARK; i++) {
        p[i] = mark_byte(i, bytes, sender);
        p[bytes - 1 - i] = mark_byte(bytes - 1 - i, bytes, sender);
    }
}

void perf_unmark(unsigned char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes && i < MARK; i++)
        p[i] = p[bytes - 1 - i] = 0xff;
}

bool perf_marked(const unsigned char *p, size_t bytes, int sender)
{
    for (size_t i = 0; i < bytes && i < MARK; i++)
        if (p[i] != mark_byte(i, bytes, sender) ||
            p[bytes - 1 - i] != mark_byte(bytes - 1 - i, bytes, sender))
            return false;
    return true;
}

void perf_verify(const struct perf_team *t, const unsigned char *p, size_t bytes, int sender)
{
    if (perf_marked(p, bytes, sender))
        return;
    fprintf(stderr,
            "waitio-perf: a message of %zu bytes from %s arrived at %s with wrong contents: the "
            "figures are worthless; please report this\n",
            bytes, t->member[sender].name, t->member[t->me].name);
    waitio_abort(1);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

double perf_median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, compare);
    return n % 2 != 0 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

double perf_quantile(const double *sorted, int n, double q)
{
    int at = (int)(q * (double)n);
    return sorted[at < n ? at : n - 1];
}
