/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct place here;
int world_rank, world_size, failures, spoiled;
bool verbose;

static int trace = -1;
static char doing[160];

void trace_open(const char *folder)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/rank%d", folder, world_rank);
    trace = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
}

void note(const char *format, ...)
{
    char line[256];
    va_list ap;
    va_start(ap, format);
    vsnprintf(doing, sizeof doing, format, ap);
    va_end(ap);
    snprintf(line, sizeof line, "seed %llu step %d act %d: %s", (unsigned long long)here.seed,
             here.step, here.act, doing);
    if (verbose)
        fprintf(stderr, "[%d] %s\n", world_rank, line);
    if (trace < 0)
        return;
    size_t n = strlen(line);
    memset(line + n, ' ', sizeof line - n);
    line[sizeof line - 1] = '\n';
    if (pwrite(trace, line, sizeof line, 0) < 0)
        trace = -1; /* a full disk takes the trace away, and nothing else */
}

void wrong(const char *format, ...)
{
    char text[400];
    va_list ap;
    if (++failures > 12)
        return;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    fprintf(stderr,
            "random: rank %d: seed %llu step %d act %d (%s): %s\nrandom: again: --seeds %llu "
            "--steps %d\n",
            world_rank, (unsigned long long)here.seed, here.step, here.act, doing, text,
            (unsigned long long)here.seed, here.step + 1);
}
