/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The floor on one host: two processes, a shared mapping, a ring for one writer and one reader in
 * each direction, two copies, no protocol. Up to 56 bytes travel in a slot of one cache line that
 * carries its own number; more goes through a ring of bytes that is published in pieces.
 *
 *   floor_shm spin|yield|futex|memcpy 0|1 NAME HOST [CPU [SCALE [MAXBYTES]]]
 *
 * Side 0 measures, side 1 echoes. NAME is any word both are given (bench/run.py: a free port
 * number); HOST is ignored: the command line is that of floor_tcp. yield and futex are for two
 * ranks on one core. memcpy copies the same sizes within side 0: the least that moving them can
 * cost.
 *
 * FLOOR_RING and FLOOR_PIECE in the environment are the bytes of ring and piece (two second-level
 * caches, 512 KiB to 2 MiB; 16 KiB with spin, else the whole ring).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pt2pt.h"

enum { LINE = 64, SLOTS = 256, SLOT_DATA = LINE - 8, RING_MAX = 8 << 20, PATIENCE_S = 30 };

struct slot {
    _Alignas(LINE) _Atomic uint64_t number; /* of the message in it, from 1 */
    char data[SLOT_DATA];
};

/* One direction. Counters only grow; each has a line of its own and one writer. */
struct lane {
    _Alignas(LINE) _Atomic uint64_t written;   /* bytes, by the writer */
    _Alignas(LINE) _Atomic uint64_t read;      /* bytes, by the reader */
    _Alignas(LINE) _Atomic uint64_t slot_read; /* slots, by the reader, now and then */
    struct slot slot[SLOTS];
    _Alignas(LINE) char ring[RING_MAX];
};

struct shared {
    _Alignas(LINE) _Atomic uint32_t asleep[2][LINE / 4]; /* [side][0], a line each */
    _Alignas(LINE) _Atomic uint32_t here;
    struct lane lane[2]; /* [side that writes] */
};

enum idle { SPIN, YIELD, FUTEX };
enum want { AWAKE, DATA, SPACE }; /* what a sleeper sleeps for: nobody is woken for the other */

struct floor {
    struct shared *shared;
    struct lane *out, *in;
    int side;
    enum idle idle;
    size_t ring, piece;
    uint64_t out_slot, in_slot, out_bytes, in_bytes; /* our own counts */
    uint64_t free_slots;                             /* known to be free for writing */
    struct bench_memory send, receive;
};

static void die(const char *what)
{
    perror(what);
    exit(1);
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Wait until *word is at least `least`. */
static void await(const struct floor *f, _Atomic uint64_t *word, uint64_t least, enum want want)
{
    _Atomic uint32_t *bed = &f->shared->asleep[f->side][0];
    while (atomic_load_explicit(word, memory_order_acquire) < least) {
        if (f->idle == SPIN) {
            relax();
        } else if (f->idle == YIELD) {
            sched_yield();
        } else {
            atomic_store(bed, want);
            if (atomic_load(word) < least)
                syscall(SYS_futex, bed, FUTEX_WAIT, want, NULL, NULL, 0);
            atomic_store_explicit(bed, AWAKE, memory_order_relaxed);
        }
    }
}

static void bell(const struct floor *f, enum want news)
{
    _Atomic uint32_t *bed = &f->shared->asleep[1 - f->side][0];
    if (f->idle != FUTEX)
        return;
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(bed, memory_order_relaxed) == news &&
        atomic_exchange(bed, AWAKE) != AWAKE)
        syscall(SYS_futex, bed, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void put_slot(struct floor *f, const char *p, size_t n)
{
    struct slot *s = &f->out->slot[f->out_slot % SLOTS];
    if (f->free_slots == 0) {
        await(f, &f->out->slot_read, f->out_slot + 1 > SLOTS ? f->out_slot + 1 - SLOTS : 0, SPACE);
        f->free_slots = SLOTS - (f->out_slot - atomic_load(&f->out->slot_read));
    }
    f->free_slots--;
    memcpy(s->data, p, n);
    atomic_store_explicit(&s->number, ++f->out_slot, memory_order_release);
    bell(f, DATA);
}

static void get_slot(struct floor *f, char *p, size_t n)
{
    struct slot *s = &f->in->slot[f->in_slot % SLOTS];
    await(f, &s->number, ++f->in_slot, DATA);
    memcpy(p, s->data, n);
    if (f->in_slot % (SLOTS / 4) == 0) {
        atomic_store_explicit(&f->in->slot_read, f->in_slot, memory_order_release);
        bell(f, SPACE);
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Bytes up to the end of the piece, of the ring and of the message. */
static size_t step(const struct floor *f, uint64_t at, size_t left)
{
    return least(least(left, f->piece), f->ring - at % f->ring);
}

static void put(struct floor *f, const char *p, size_t n)
{
    if (n <= SLOT_DATA) {
        put_slot(f, p, n);
        return;
    }
    while (n > 0) {
        size_t k = step(f, f->out_bytes, n);
        uint64_t end = f->out_bytes + k;
        if (end > f->ring)
            await(f, &f->out->read, end - f->ring, SPACE);
        memcpy(f->out->ring + f->out_bytes % f->ring, p, k);
        atomic_store_explicit(&f->out->written, end, memory_order_release);
        bell(f, DATA);
        f->out_bytes = end;
        p += k;
        n -= k;
    }
}

static void get(struct floor *f, char *p, size_t n)
{
    if (n <= SLOT_DATA) {
        get_slot(f, p, n);
        return;
    }
    while (n > 0) {
        size_t k = step(f, f->in_bytes, n);
        await(f, &f->in->written, f->in_bytes + k, DATA);
        memcpy(p, f->in->ring + f->in_bytes % f->ring, k);
        f->in_bytes += k;
        atomic_store_explicit(&f->in->read, f->in_bytes, memory_order_release);
        bell(f, SPACE);
        p += k;
        n -= k;
    }
}

static void give(void *arg, size_t bytes)
{
    struct floor *f = arg;
    put(f, bench_place(&f->send, bytes), bytes);
}

static void take(void *arg, size_t bytes)
{
    struct floor *f = arg;
    get(f, bench_place(&f->receive, bytes), bytes);
}

/* A piece of what is left to be sent, if there is room. @return bytes */
static size_t put_some(struct floor *f, const char *p, size_t n)
{
    size_t k = step(f, f->out_bytes, n);
    uint64_t end = f->out_bytes + k;
    if (n == 0 || end > f->ring + atomic_load_explicit(&f->out->read, memory_order_acquire))
        return 0;
    memcpy(f->out->ring + f->out_bytes % f->ring, p, k);
    atomic_store_explicit(&f->out->written, end, memory_order_release);
    bell(f, DATA);
    f->out_bytes = end;
    return k;
}

static size_t get_some(struct floor *f, char *p, size_t n)
{
    size_t k = step(f, f->in_bytes, n);
    if (n == 0 || atomic_load_explicit(&f->in->written, memory_order_acquire) < f->in_bytes + k)
        return 0;
    memcpy(p, f->in->ring + f->in_bytes % f->ring, k);
    f->in_bytes += k;
    atomic_store_explicit(&f->in->read, f->in_bytes, memory_order_release);
    bell(f, SPACE);
    return k;
}

static void both(void *arg, size_t bytes)
{
    struct floor *f = arg;
    const char *from = bench_place(&f->send, bytes);
    char *to = bench_place(&f->receive, bytes);
    if (bytes <= SLOT_DATA) {
        put_slot(f, from, bytes);
        get_slot(f, to, bytes);
        return;
    }
    for (size_t sent = 0, got = 0; sent < bytes || got < bytes;) {
        size_t before = sent + got;
        sent += put_some(f, from + sent, bytes - sent);
        got += get_some(f, to + got, bytes - got);
        if (sent + got != before)
            continue;
        if (f->idle == SPIN)
            relax();
        else
            sched_yield();
    }
}

/* One copy of the same size. */
static void copy(void *arg, size_t bytes)
{
    struct floor *f = arg;
    memcpy(bench_place(&f->receive, bytes), bench_place(&f->send, bytes), bytes);
    __asm__ volatile("" ::: "memory");
}

/* "give" copies, and so does "take": as much as a round trip moves, with one copy each way. */
static void report_copies(struct floor *f, int scale, size_t max)
{
    struct bench_pair p = {copy, copy, NULL, NULL, NULL, f, scale, max};
    for (int i = 0; i < BENCH_SIZES; i++)
        if (bench_sizes[i].bytes >= 1024 && bench_has(&p, bench_sizes[i].bytes))
            bench_half_rtt(&p, bench_sizes[i]);
}

/* Whoever comes first makes the memory; its name goes as soon as both have it. */
static struct shared *meet(const char *word)
{
    char name[64];
    snprintf(name, sizeof name, "/floor-shm-%d-%.32s", (int)getuid(), word);
    int fd = shm_open(name, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)sizeof(struct shared)) != 0)
        die(name);
    struct shared *s =
        mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (s == MAP_FAILED)
        die("mmap");
    close(fd);
    atomic_fetch_add(&s->here, 1);
    double begin = bench_now();
    while (atomic_load(&s->here) < 2) {
        usleep(1000);
        if (bench_now() - begin > PATIENCE_S) {
            shm_unlink(name);
            fprintf(stderr, "floor_shm: the other side did not come\n");
            exit(1);
        }
    }
    shm_unlink(name);
    return s;
}

static size_t setting(const char *name, size_t standard, size_t most)
{
    const char *text = getenv(name);
    size_t v = text != NULL ? strtoull(text, NULL, 10) : standard;
    if (v >= 4096 && v <= most && (v & (v - 1)) == 0)
        return v;
    fprintf(stderr, "floor_shm: %s '%s': a power of two from 4096 to %zu is needed\n", name, text,
            most);
    exit(2);
}

/* The library's rule, too (docs/design/shm.md): measured with bench/shm_geometry.py, a bare ring
 * has no better size. */
static size_t standard_ring(void)
{
    long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
    size_t ring = 512u << 10, most = 2u << 20;
    while (ring < most && (cache <= 0 || ring < 2 * (size_t)cache))
        ring *= 2;
    return ring;
}

static int kind(const char *word)
{
    static const char *const kinds[] = {"spin", "yield", "futex", "memcpy"};
    for (int i = 0; i < 4; i++)
        if (strcmp(word, kinds[i]) == 0)
            return i;
    return -1;
}

int main(int argc, char **argv)
{
    int which = argc > 4 ? kind(argv[1]) : -1;
    if (which < 0) {
        fprintf(stderr, "usage: floor_shm spin|yield|futex|memcpy 0|1 NAME HOST "
                        "[CPU [SCALE [MAXBYTES]]]\n");
        return 2;
    }
    int scale = argc > 6 ? atoi(argv[6]) : 1;
    size_t max = argc > 7 ? strtoull(argv[7], NULL, 10) : 0;
    struct floor f = {.side = argv[2][0] == '0' ? 0 : 1, .idle = (enum idle)which};
    f.ring = setting("FLOOR_RING", standard_ring(), RING_MAX);
    /* On one core pieces only make the two take turns more often. */
    f.piece = setting("FLOOR_PIECE", f.idle == SPIN ? 16u << 10 : f.ring, f.ring);
    bench_pin(argc > 5 ? atoi(argv[5]) : -1);
    f.send = bench_memory(max);
    f.receive = bench_memory(max);
    if (which == 3) {
        if (f.side == 0)
            report_copies(&f, scale, max);
        return 0;
    }
    f.shared = meet(argv[3]);
    f.out = &f.shared->lane[f.side];
    f.in = &f.shared->lane[1 - f.side];
    f.free_slots = SLOTS;
    struct bench_pair p = {give, take, both, NULL, NULL, &f, scale, max};
    if (f.side == 0)
        bench_measure(&p);
    else
        bench_answer(&p);
    return 0;
}
