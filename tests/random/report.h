/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a process is, and what it finds wrong. */
#ifndef REPORT_H
#define REPORT_H

#include <stdbool.h>
#include <stdint.h>

struct place {
    uint64_t seed;
    int step, act;
};
extern struct place here;
extern int world_rank, world_size, failures;
extern bool verbose;
extern int
    spoiled; /* so many buffers from now one is spoiled, to see that this is found; 0: none */

/** Name the file that always holds the place of this process, for the case that it never returns.
 */
void trace_open(const char *folder);
/** This process begins something: for the trace. */
void note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** Something is not as the model says. */
void wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
