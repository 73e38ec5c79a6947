/* SPDX-License-Identifier: BSD-3-Clause */
/** @file wire.c  Messages of the program itself: control, and values in one byte order. */
#include <string.h>

#include "perf.h"

void perf_must(int rc)
{
    if (rc != 0)
        waitio_abort(1);
}

void perf_send(const struct perf_team *t, int to, const void *p, size_t n, int tag)
{
    waitio_req_t r;
    perf_must(waitio_isend(t->all, to, p, n, tag, &r));
    perf_must(waitio_wait(&r));
}

void perf_recv(const struct perf_team *t, int from, void *p, size_t n, int tag)
{
    waitio_req_t r;
    perf_must(waitio_irecv(t->all, from, p, n, tag, &r));
    perf_must(waitio_wait(&r));
}

void perf_send_values(const struct perf_team *t, int to, const double *v, int n)
{
    unsigned char bytes[8 * PERF_VALUES];
    for (int i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &v[i], sizeof bits);
        for (int b = 0; b < 8; b++)
            bytes[8 * i + b] = (unsigned char)(bits >> (8 * b));
    }
    perf_send(t, to, bytes, 8 * (size_t)n, PERF_TAG_VALUES);
}

void perf_recv_values(const struct perf_team *t, int from, double *v, int n)
{
    unsigned char bytes[8 * PERF_VALUES] = {0};
    perf_recv(t, from, bytes, 8 * (size_t)n, PERF_TAG_VALUES);
    for (int i = 0; i < n; i++) {
        uint64_t bits = 0;
        for (int b = 0; b < 8; b++)
            bits |= (uint64_t)bytes[8 * i + b] << (8 * b);
        memcpy(&v[i], &bits, sizeof bits);
    }
}
