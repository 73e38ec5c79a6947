/* SPDX-License-Identifier: BSD-3-Clause */
/** @file mm_memory.c  The machine: messages, views, fences, plain accesses. */
#include "mm_core.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mm_state mm;

/* ---- locations ---- */

static int find(const volatile void *at, size_t size)
{
    for (int i = 0; i < mm.nloc; i++)
        if (mm.loc[i].at == at) {
            mm.loc[i].size = size;
            return i;
        }
    if (mm.nloc == MM_LOCS) {
        fprintf(stderr, "more than %d atomic locations: raise MM_LOCS\n", MM_LOCS);
        exit(2);
    }
    mm.loc[mm.nloc].at = at;
    mm.loc[mm.nloc].size = size;
    return mm.nloc++;
}

static uint64_t raw(const volatile void *at, size_t size)
{
    uint64_t v = 0; /* both byte orders: through a variable of that size */
    if (size == 8)
        return *(const volatile uint64_t *)at;
    if (size == 4)
        return *(const volatile uint32_t *)at;
    for (size_t i = 0; i < size; i++)
        v |= (uint64_t)((const volatile uint8_t *)at)[i] << 8 * i;
    return v;
}

static void raw_store(volatile void *at, size_t size, uint64_t v)
{
    if (size == 8)
        *(volatile uint64_t *)at = v;
    else
        *(volatile uint32_t *)at = (uint32_t)v;
}

static struct mm_loc *touch(struct mm_site *s, const volatile void *at, size_t size)
{
    if (s->at != at) {
        s->at = (const void *)(uintptr_t)at;
        s->loc = find(at, size);
    }
    struct mm_loc *l = &mm.loc[s->loc];
    l->size = size;
    if (l->n == 0) { /* what the setup left there */
        memset(&l->m[0], 0, sizeof l->m[0]);
        l->m[0].value = raw(at, size);
        l->n = 1;
    }
    return l;
}

void mm_name(const volatile void *at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    struct mm_loc *l = &mm.loc[find(at, 4)];
    vsnprintf(l->name, sizeof l->name, fmt, ap);
    va_end(ap);
}

const char *mm_loc_name(int loc, char *buf, size_t n)
{
    const struct mm_loc *l = &mm.loc[loc];
    uintptr_t off = (uintptr_t)l->at - (uintptr_t)mm_arena();
    if (l->name[0] != 0)
        snprintf(buf, n, "%s", l->name);
    else if (off < MM_ARENA)
        snprintf(buf, n, "arena+%zu", (size_t)off);
    else
        snprintf(buf, n, "%p", (void *)(uintptr_t)l->at);
    return buf;
}

/* ---- orders ---- */

static bool acquires(const struct mm_site *s, int order)
{
    return !s->no_acquire && order != memory_order_relaxed && order != memory_order_release;
}
static bool releases(const struct mm_site *s)
{
    return !s->no_release && (s->order == memory_order_release ||
                              s->order == memory_order_acq_rel || s->order == memory_order_seq_cst);
}

static void fold(struct mm_thread *t, uint64_t what)
{
    t->h = mm_mix(t->h, what);
}

/* What this thread has done so far is handed on with cur: later plain accesses are not. */
static void epoch(struct mm_thread *t, int who)
{
    t->cur.clk[who] = t->clk++;
}

static struct mm_thread *me(void)
{
    return &mm.t[mm.me];
}

static void read_message(struct mm_thread *t, int loc, int pos, bool acquire)
{
    const struct mm_msg *m = &mm.loc[loc].m[pos];
    fold(t, m->id ^ (uint64_t)(loc + 1) << 56);
    t->cur.pos[loc] = (uint8_t)pos;
    if (t->acq.pos[loc] < pos)
        t->acq.pos[loc] = (uint8_t)pos;
    mm_join(&t->acq, &m->view);
    if (acquire)
        mm_join(&t->cur, &m->view);
}

/* Room for a message at @p pos: everybody's idea of what comes later moves up. */
static void shift(int loc, int pos)
{
    struct mm_view *v[3 * MM_THREADS + MM_OBJS + 1];
    int n = 0;
    for (int i = 0; i < mm.nthreads; i++) {
        v[n++] = &mm.t[i].cur;
        v[n++] = &mm.t[i].acq;
        v[n++] = &mm.t[i].rel;
        if (mm.t[i].last == loc && mm.t[i].last_pos >= pos)
            mm.t[i].last_pos++;
    }
    for (int i = 0; i < MM_OBJS; i++)
        v[n++] = &mm.obj[i].view;
    v[n++] = &mm.sc;
    for (int i = 0; i < n; i++)
        v[i]->pos[loc] = (uint8_t)(v[i]->pos[loc] + (v[i]->pos[loc] >= pos));
    for (int l = 0; l < mm.nloc; l++)
        for (int i = 0; i < mm.loc[l].n; i++) {
            uint8_t *p = &mm.loc[l].m[i].view.pos[loc];
            *p = (uint8_t)(*p + (*p >= pos));
        }
    struct mm_loc *l = &mm.loc[loc];
    memmove(&l->m[pos + 1], &l->m[pos], (size_t)(l->n - pos) * sizeof l->m[0]);
}

static void write_message(struct mm_thread *t, int loc, int pos, uint64_t value, bool release,
                          const struct mm_msg *continues)
{
    struct mm_loc *l = &mm.loc[loc];
    struct mm_view from; /* the message before may move */
    if (continues != NULL)
        from = continues->view;
    if (l->n == MM_MSGS)
        mm_fail("more than %d stores to one location: for ever, or MM_MSGS is too small", MM_MSGS);
    if (pos < l->n)
        shift(loc, pos);
    l->n++;
    struct mm_msg *m = &l->m[pos];
    fold(t, (uint64_t)(loc + 1) << 48 | 0x51u);
    m->value = value;
    m->id = t->h;
    m->rmw = continues != NULL;
    t->cur.pos[loc] = (uint8_t)pos;
    if (t->acq.pos[loc] < pos)
        t->acq.pos[loc] = (uint8_t)pos;
    if (release) {
        epoch(t, mm.me);
        m->view = t->cur;
    } else {
        m->view = t->rel;
        if (m->view.pos[loc] < pos)
            m->view.pos[loc] = (uint8_t)pos;
    }
    if (continues != NULL)
        mm_join(&m->view, &from);
}

/* ---- operations ---- */

uint64_t mm_load(struct mm_site *s, const volatile void *at, size_t size)
{
    if (mm.me < 0)
        return raw(at, size);
    mm_site_seen(s);
    mm_point(s, NULL, MM_READY, 0, NULL);
    struct mm_loc *l = touch(s, at, size);
    struct mm_thread *t = me();
    int loc = s->loc, oldest = t->cur.pos[loc];
    int pos = l->n - 1 - mm_choose(l->n - oldest);
    read_message(t, loc, pos, acquires(s, s->order));
    t->last = loc;
    t->last_pos = pos;
    mm_trace(mm.me, s, s->op, loc, l->m[pos].value, pos, l->n);
    return l->m[pos].value;
}

void mm_store(struct mm_site *s, volatile void *at, size_t size, uint64_t value)
{
    if (mm.me < 0) {
        raw_store(at, size, value);
        return;
    }
    mm_site_seen(s);
    mm_point(s, NULL, MM_READY, 0, NULL);
    struct mm_loc *l = touch(s, at, size);
    struct mm_thread *t = me();
    int places[MM_MSGS + 1], n = 0;
    for (int pos = l->n; pos > t->cur.pos[s->loc]; pos--)
        if (pos == l->n || !l->m[pos].rmw)
            places[n++] = pos;
    int pos = places[mm_choose(n)];
    write_message(t, s->loc, pos, value, releases(s), NULL);
    mm_trace(mm.me, s, s->op, s->loc, value, pos, l->n);
}

/* Messages after which nothing stands that is tied to them: what a read-modify-write may read.
 * @param only  NULL, or: a compare-and-swap that reads another value writes nothing */
static int readable(const struct mm_loc *l, int oldest, const uint64_t *only, int *places)
{
    int n = 0;
    for (int pos = l->n - 1; pos >= oldest; pos--) {
        bool writes = only == NULL || l->m[pos].value == *only;
        if (!writes || pos == l->n - 1 || !l->m[pos + 1].rmw)
            places[n++] = pos;
    }
    return n;
}

static uint64_t outcome(enum mm_op op, uint64_t old, uint64_t arg, size_t size)
{
    uint64_t v = op == MM_ADD   ? old + arg
                 : op == MM_OR  ? old | arg
                 : op == MM_AND ? old & arg
                                : arg;
    return size == 8 ? v : v & UINT32_MAX;
}

uint64_t mm_rmw(struct mm_site *s, volatile void *at, size_t size, enum mm_op op, uint64_t arg)
{
    if (mm.me < 0) {
        uint64_t was = raw(at, size);
        raw_store(at, size, outcome(op, was, arg, size));
        return was;
    }
    mm_site_seen(s);
    mm_point(s, NULL, MM_READY, 0, NULL);
    struct mm_loc *l = touch(s, at, size);
    struct mm_thread *t = me();
    int places[MM_MSGS], n = readable(l, t->cur.pos[s->loc], NULL, places);
    int pos = places[mm_choose(n)];
    read_message(t, s->loc, pos, acquires(s, s->order));
    uint64_t old = l->m[pos].value, v = outcome(op, old, arg, size);
    write_message(t, s->loc, pos + 1, v, releases(s), &l->m[pos]);
    mm_trace(mm.me, s, s->op, s->loc, v, pos + 1, l->n);
    return old;
}

bool mm_cas(struct mm_site *s, volatile void *at, size_t size, uint64_t *expected, uint64_t value)
{
    if (mm.me < 0) {
        bool same = raw(at, size) == *expected;
        *expected = raw(at, size);
        if (same)
            raw_store(at, size, value);
        return same;
    }
    mm_site_seen(s);
    mm_point(s, NULL, MM_READY, 0, NULL);
    struct mm_loc *l = touch(s, at, size);
    struct mm_thread *t = me();
    int places[MM_MSGS], n = readable(l, t->cur.pos[s->loc], expected, places);
    int pos = places[mm_choose(n)];
    uint64_t old = l->m[pos].value;
    bool won = old == *expected;
    read_message(t, s->loc, pos, acquires(s, won ? s->order : s->order2));
    t->last = s->loc;
    t->last_pos = pos + won;
    if (won)
        write_message(t, s->loc, pos + 1, value, releases(s), &l->m[pos]);
    mm_trace(mm.me, s, won ? "cas" : "cas in vain, read", s->loc, won ? value : old,
             won ? pos + 1 : pos, l->n);
    *expected = old;
    return won;
}

void mm_full_fence(int thread)
{
    struct mm_thread *t = &mm.t[thread];
    t->cur = t->acq;
    for (int i = 0; i < MM_LOCS; i++) /* an order of fences is no synchronization of data */
        if (t->cur.pos[i] > mm.sc.pos[i])
            mm.sc.pos[i] = t->cur.pos[i];
        else
            t->cur.pos[i] = mm.sc.pos[i];
    mm_join(&t->acq, &t->cur);
    epoch(t, thread);
    t->rel = t->cur;
    fold(t, mm.sc_id ^ 0xfe);
    mm.sc_id = t->h;
}

void mm_fence(struct mm_site *s)
{
    if (mm.me < 0)
        return;
    mm_site_seen(s);
    if (s->dropped)
        return;
    mm_point(s, NULL, MM_READY, 0, NULL);
    mm_full_fence(mm.me);
    mm_trace(mm.me, s, s->op, -1, 0, 0, 0);
}

void mm_membarrier(struct mm_site *s, unsigned threads)
{
    mm_has_barriers();
    mm_site_seen(s);
    if (s->dropped)
        return;
    mm_point(s, NULL, MM_READY, 0, NULL);
    mm_full_fence(mm.me);
    mm_trace(mm.me, s, "membarrier: call", -1, 0, 0, 0);
    for (int i = 0; i < mm.nthreads; i++) {
        if (i == mm.me || (threads >> i & 1u) == 0)
            continue;
        if (mm.t[i].done || mm.t[i].dead)
            mm_full_fence(i); /* not running: its processor has passed one since */
        else
            me()->pending |= 1u << i;
    }
    mm_point(s, "in membarrier", MM_BARRIER, 0, NULL);
    mm_full_fence(mm.me);
    mm_trace(mm.me, s, "membarrier: return", -1, 0, 0, 0);
}

void mm_spin(bool (*other)(void))
{
    struct mm_thread *t = me();
    int loc = t->last;
    mm_point(NULL, "spinning", MM_NEWER, loc, other);
    if (mm.loc[loc].n - 1 > t->last_pos) { /* it has looked again till it saw the next one */
        if (t->cur.pos[loc] <= t->last_pos)
            t->cur.pos[loc] = (uint8_t)(t->last_pos + 1);
        if (t->acq.pos[loc] < t->cur.pos[loc])
            t->acq.pos[loc] = t->cur.pos[loc];
    }
    fold(t, 0x5b1 + (other != NULL && other()));
}

/* ---- objects of the system ---- */

static void synchronize(struct mm_obj *o)
{
    mm_join(&me()->cur, &o->view);
    mm_join(&me()->acq, &o->view);
    fold(me(), o->id ^ 0x0b1);
}
static void hand_on(struct mm_obj *o)
{
    epoch(me(), mm.me);
    o->view = me()->cur;
    o->id = me()->h;
}

void mm_lock(int id)
{
    mm_point(NULL, "lock", MM_LOCK, id, NULL);
    mm.obj[id].holder = mm.me;
    synchronize(&mm.obj[id]);
    mm_trace(mm.me, NULL, "locks", -1, (uint64_t)id, 0, 0);
}

bool mm_trylock(int id)
{
    mm_point(NULL, "trylock", MM_READY, 0, NULL);
    bool got = mm.obj[id].holder < 0;
    mm_trace(mm.me, NULL, got ? "locks (try)" : "trylock: taken", -1, (uint64_t)id, 0, 0);
    if (got) {
        mm.obj[id].holder = mm.me;
        synchronize(&mm.obj[id]);
    } else {
        fold(me(), 0x7e57);
    }
    return got;
}

void mm_unlock(int id)
{
    mm_point(NULL, "unlock", MM_READY, 0, NULL);
    mm.obj[id].holder = -1;
    hand_on(&mm.obj[id]);
    mm_trace(mm.me, NULL, "unlocks", -1, (uint64_t)id, 0, 0);
}

void mm_call(int id, int ways, const char *what)
{
    struct mm_obj *o = &mm.obj[id];
    mm_point(NULL, what, MM_READY, 0, NULL);
    fold(me(), o->id);
    if ((ways & MM_IN) != 0) {
        mm_join(&me()->cur, &o->view);
        mm_join(&me()->acq, &o->view);
    }
    if ((ways & MM_OUT) != 0) {
        epoch(me(), mm.me);
        mm_join(&o->view, &me()->cur);
    }
    o->id = me()->h; /* the order of the calls is part of what happened */
    mm_trace(mm.me, NULL, what, -1, (uint64_t)id, 0, 0);
}

void mm_sleep(const char *what, bool (*ready)(void))
{
    mm_point(NULL, what, MM_COND, 0, ready);
    mm_trace(mm.me, NULL, what, -1, 0, 0, 0);
}

bool mm_dead(int thread)
{
    return mm.t[thread].dead;
}

void mm_mourn(int thread)
{
    struct mm_thread *dead = &mm.t[thread], *t = me();
    epoch(dead, thread);
    mm_join(&t->cur, &dead->acq);
    mm_join(&t->cur, &dead->cur);
    mm_join(&t->acq, &t->cur);
    fold(t, dead->h ^ 0xdead);
}

int mm_self(void)
{
    return mm.me;
}

/* ---- plain memory ---- */

static _Alignas(4096) uint8_t arena[MM_ARENA];
#define GRAIN 4
static struct {
    uint16_t wrote, read[MM_THREADS];
    uint8_t writer;
    bool used;
} grain[MM_ARENA / GRAIN];
static uint32_t used[MM_ARENA / GRAIN], nused;

uint8_t *mm_arena(void)
{
    return arena;
}

static void access_grain(uint32_t i, bool write)
{
    struct mm_thread *t = me();
    if (!grain[i].used) {
        grain[i].used = true;
        used[nused++] = i;
    }
    if (grain[i].wrote > t->cur.clk[grain[i].writer] && grain[i].writer != mm.me)
        mm_fail("thread %d %s byte %u without knowing what thread %d wrote there", mm.me,
                write ? "overwrites" : "reads", (unsigned)i * GRAIN, grain[i].writer);
    if (!write) {
        grain[i].read[mm.me] = t->clk;
        return;
    }
    for (int j = 0; j < mm.nthreads; j++)
        if (j != mm.me && grain[i].read[j] > t->cur.clk[j])
            mm_fail("thread %d overwrites byte %u, which thread %d may still be reading", mm.me,
                    (unsigned)i * GRAIN, j);
    grain[i].wrote = t->clk;
    grain[i].writer = (uint8_t)mm.me;
}

static void plain(const volatile void *at, size_t n, bool write)
{
    uintptr_t off = (uintptr_t)at - (uintptr_t)arena;
    if (off >= MM_ARENA || mm.me < 0 || n == 0)
        return;
    for (uintptr_t i = off / GRAIN; i <= (off + n - 1) / GRAIN && i < MM_ARENA / GRAIN; i++)
        access_grain((uint32_t)i, write);
}

void *mm_memcpy(void *to, const void *from, size_t n)
{
    plain(from, n, false);
    plain(to, n, true);
    return memcpy(to, from, n);
}

/* What the compiler calls for each plain access. */
void __tsan_init(void);
void __tsan_init(void)
{
}
void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc)
{
    (void)pc;
}
void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}
#define PLAIN(name, size, write)                                                                   \
    void __tsan_##name(void *at);                                                                  \
    void __tsan_##name(void *at)                                                                   \
    {                                                                                              \
        plain(at, size, write);                                                                    \
    }
#define BOTH(size)                                                                                 \
    PLAIN(read##size, size, false)                                                                 \
    PLAIN(write##size, size, true)                                                                 \
    PLAIN(volatile_read##size, size, false)                                                        \
    PLAIN(volatile_write##size, size, true)
#define UNALIGNED(size)                                                                            \
    PLAIN(unaligned_read##size, size, false)                                                       \
    PLAIN(unaligned_write##size, size, true)
BOTH(1)
BOTH(2)
BOTH(4)
BOTH(8)
BOTH(16)
UNALIGNED(2)
UNALIGNED(4)
UNALIGNED(8)
UNALIGNED(16)
#define RANGE(name, write)                                                                         \
    void __tsan_##name(void *at, size_t n);                                                        \
    void __tsan_##name(void *at, size_t n)                                                         \
    {                                                                                              \
        plain(at, n, write);                                                                       \
    }
RANGE(read_range, false)
RANGE(write_range, true)
void *__tsan_memcpy(void *to, const void *from, size_t n);
void *__tsan_memcpy(void *to, const void *from, size_t n)
{
    return mm_memcpy(to, from, n);
}
void *__tsan_memmove(void *to, const void *from, size_t n);
void *__tsan_memmove(void *to, const void *from, size_t n)
{
    plain(from, n, false);
    plain(to, n, true);
    return memmove(to, from, n);
}
void *__tsan_memset(void *at, int c, size_t n);
void *__tsan_memset(void *at, int c, size_t n)
{
    plain(at, n, true);
    return memset(at, c, n);
}

/* ---- beginning, and what there is ---- */

void mm_memory_reset(void)
{
    for (int i = 0; i < mm.nloc; i++)
        mm.loc[i].n = 0;
    memset(mm.obj, 0, sizeof mm.obj);
    memset(mm.t, 0, sizeof mm.t);
    memset(&mm.sc, 0, sizeof mm.sc);
    mm.sc_id = 0;
    for (int i = 0; i < MM_OBJS; i++)
        mm.obj[i].holder = -1;
    for (int i = 0; i < MM_THREADS; i++) {
        mm.t[i].clk = 1;
        mm.t[i].h = (uint64_t)i + 1;
    }
    for (uint32_t i = 0; i < nused; i++)
        memset(&grain[used[i]], 0, sizeof grain[0]);
    nused = 0;
    memset(arena, 0, sizeof arena);
}

/* A thread's own state, all values and all views follow from what each thread has seen and from
 * the order of the stores to each location. */
uint64_t mm_memory_hash(void)
{
    uint64_t sum = mm.sc_id;
    for (int l = 0; l < mm.nloc; l++) {
        uint64_t h = 0;
        for (int i = 1; i < mm.loc[l].n; i++)
            h = mm_mix(h, mm.loc[l].m[i].id);
        sum = mm_mix(sum, h + (uint64_t)l);
    }
    for (int i = 0; i < mm.nthreads; i++) {
        const struct mm_thread *t = &mm.t[i];
        sum = mm_mix(sum, t->h + t->dead * 2u + t->done * 4u);
        sum = mm_mix(sum, t->pending);
    }
    return sum;
}
