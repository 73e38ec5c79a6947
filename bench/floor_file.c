/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The floor of messages through files: the same bytes written and read by plain calls, as large as
 * the message, through the page cache; a word in memory tells when.
 *   floor_file spin 0|1 NUMBER DIRECTORY [CPU [SCALE [MAXBYTES]]]   0 measures, 1 echoes
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "pt2pt.h"

/* Of one direction, each in a cache line of its own: messages written, and read. */
struct lane {
    _Alignas(64) _Atomic uint64_t given;
    _Alignas(64) _Atomic uint64_t taken;
};

struct floor {
    int in, out; /* files */
    struct lane *ours, *theirs;
    uint64_t sent, got;
    struct bench_memory out_memory, in_memory;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void await(_Atomic uint64_t *word, uint64_t value)
{
    while (atomic_load_explicit(word, memory_order_acquire) < value) {
    }
}

/* The same place again: pages that exist, as in a ring. */
static void give(void *arg, size_t bytes)
{
    struct floor *f = arg;
    const char *from = bench_place(&f->out_memory, bytes);
    await(&f->ours->taken, f->sent);
    for (size_t at = 0; at < bytes;) {
        ssize_t n = pwrite(f->out, from + at, bytes - at, (off_t)at);
        if (n <= 0)
            die("pwrite");
        at += (size_t)n;
    }
    atomic_store_explicit(&f->ours->given, ++f->sent, memory_order_release);
}

static void take(void *arg, size_t bytes)
{
    struct floor *f = arg;
    char *to = bench_place(&f->in_memory, bytes);
    await(&f->theirs->given, f->got + 1);
    for (size_t at = 0; at < bytes;) {
        ssize_t n = pread(f->in, to + at, bytes - at, (off_t)at);
        if (n <= 0)
            die("pread");
        at += (size_t)n;
    }
    atomic_store_explicit(&f->theirs->taken, ++f->got, memory_order_release);
}

/* Files hold any amount. */
static void both(void *arg, size_t bytes)
{
    give(arg, bytes);
    take(arg, bytes);
}

static int open_one(char *path, size_t n, const char *dir, const char *number, const char *what)
{
    snprintf(path, n, "%s/.floor-%s-%s", dir, number, what);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        die(path);
    return fd;
}

static void meet(struct floor *f, char *const *argv, bool zero)
{
    static char path[3][512];
    int a = open_one(path[0], sizeof path[0], argv[4], argv[3], "0");
    int b = open_one(path[1], sizeof path[1], argv[4], argv[3], "1");
    int words = open_one(path[2], sizeof path[2], argv[4], argv[3], "words");
    if (ftruncate(words, 2 * (off_t)sizeof(struct lane)) != 0)
        die("ftruncate");
    struct lane *lane = mmap(NULL, 2 * sizeof *lane, PROT_READ | PROT_WRITE, MAP_SHARED, words, 0);
    if (lane == MAP_FAILED)
        die("mmap");
    f->out = zero ? a : b;
    f->in = zero ? b : a;
    f->ours = &lane[zero ? 0 : 1];
    f->theirs = &lane[zero ? 1 : 0];
    give(f, 1); /* both have opened all when both have read this */
    take(f, 1);
    await(&f->ours->taken, 1);
    for (int i = 0; i < 3; i++)
        (void)unlink(path[i]);
}

int main(int argc, char **argv)
{
    if (argc < 5) {
        fprintf(stderr, "usage: floor_file spin 0|1 NUMBER DIRECTORY [CPU [SCALE [MAXBYTES]]]\n");
        return 2;
    }
    int scale = argc > 6 ? atoi(argv[6]) : 1;
    size_t max = argc > 7 ? strtoull(argv[7], NULL, 10) : 0;
    bool zero = argv[2][0] == '0';
    bench_pin(argc > 5 ? atoi(argv[5]) : -1);
    struct floor f = {.out_memory = bench_memory(max), .in_memory = bench_memory(max)};
    meet(&f, argv, zero);
    struct bench_pair p = {give, take, both, NULL, NULL, &f, scale, max};
    if (zero)
        bench_measure(&p);
    else
        bench_answer(&p);
    return 0;
}
