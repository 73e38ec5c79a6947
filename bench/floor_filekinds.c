/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the ways to keep a message in a file cost, by plain calls of one process that writes and
 * then reads it: why src/transport/file does it as it does (docs/design/file.md). floor_filekinds
 * DIRECTORY [REPETITIONS]
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>

#include "common.h"

#define PAGE 4096u

enum flag { NEW = 1, AHEAD = 2, DIRECT_OUT = 4, DIRECT_IN = 8 };

static const struct kind {
    const char *name;
    unsigned flags;
} kinds[] = {
    {"pages that exist (a ring)", 0},
    {"a new file", NEW},
    {"a new file, preallocated", NEW | AHEAD},
    {"written with O_DIRECT", DIRECT_OUT},
    {"written and read with O_DIRECT", DIRECT_OUT | DIRECT_IN},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };
static const size_t sizes[] = {65536, 1048576, 8388608, 67108864};
enum { SIZES = sizeof sizes / sizeof sizes[0], MOST = 101 };

/* @return false: this file system has no such way */
static bool all(ssize_t (*call)(int, void *, size_t, off_t), int fd, char *buf, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        ssize_t n = call(fd, buf + at, bytes - at, (off_t)at);
        if (n <= 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

static ssize_t put(int fd, void *buf, size_t n, off_t at)
{
    return pwrite(fd, buf, n, at);
}

static int open_as(const char *path, unsigned flags, bool direct)
{
    return open(path, O_RDWR | O_CREAT | O_CLOEXEC | (direct ? O_DIRECT : 0) | (int)flags, 0600);
}

/* One message. @return seconds; < 0: not here */
static double once(const char *path, unsigned flags, char *buf, size_t bytes)
{
    bool direct = (flags & (DIRECT_OUT | DIRECT_IN)) != 0;
    if ((flags & NEW) != 0)
        (void)unlink(path);
    double t = bench_now();
    int out = open_as(path, 0, (flags & DIRECT_OUT) != 0);
    int in = open_as(path, 0, (flags & DIRECT_IN) != 0);
    if ((flags & NEW) == 0) /* a ring is open for long */
        t = bench_now();
    bool good = out >= 0 && in >= 0;
    if (good && (flags & AHEAD) != 0)
        good = posix_fallocate(out, 0, (off_t)bytes) == 0;
    good = good && all(put, out, buf, bytes) && all(pread, in, buf, bytes);
    t = bench_now() - t;
    if (out >= 0)
        close(out);
    if (in >= 0)
        close(in);
    if (!good && !(direct && errno == EINVAL))
        perror(path);
    return good ? t : -1.0;
}

static double median(const char *path, unsigned flags, char *buf, size_t bytes, int times)
{
    double t[MOST];
    for (int i = -1; i < times; i++) { /* the first one makes the pages */
        double one = once(path, flags, buf, bytes);
        if (one < 0)
            return one;
        if (i >= 0)
            t[i] = one;
    }
    return bench_median(t, times);
}

int main(int argc, char **argv)
{
    int times = argc > 2 ? atoi(argv[2]) : 15;
    char path[512], *buf = aligned_alloc(PAGE, sizes[SIZES - 1]);
    if (argc < 2 || times < 1 || times > MOST || buf == NULL) {
        fprintf(stderr, "usage: floor_filekinds DIRECTORY [REPETITIONS, at most %d]\n", MOST);
        return 2;
    }
    memset(buf, 1, sizes[SIZES - 1]);
    snprintf(path, sizeof path, "%s/.floor-kinds-%d", argv[1], (int)getpid());
    printf("%-32s%14s%14s%14s%14s\n", "", "64 KiB", "1 MiB", "8 MiB", "64 MiB");
    for (int k = 0; k < KINDS; k++) {
        printf("%-32s", kinds[k].name);
        for (int s = 0; s < SIZES; s++) {
            double t = median(path, kinds[k].flags, buf, sizes[s], times);
            if (t < 0)
                printf("%14s", "not here");
            else
                printf("%11.1f us", t * 1e6);
        }
        printf("\n");
        fflush(stdout);
        (void)unlink(path);
    }
    free(buf);
    return 0;
}
