/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file mm_search.c
 * The search: threads are coroutines; an execution is run again from its beginning for each new
 * decision (depth first), and given up where it comes to a state that was seen before.
 */
#include "mm_core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define STACK (256u << 10)
#define DEPTH 4096
#define STATES_MAX (1u << 26)

static const struct mm_program *prog;
static struct mm_found found;
static bool loud;

/* ---- decisions ---- */

static struct {
    uint8_t at, n;
} decision[DEPTH];
static int ndecisions, depth;

static _Noreturn void defect(const char *what)
{
    fprintf(stderr, "explorer: %s (program %s)\n", what, prog->name);
    exit(2);
}

int mm_choose(int n)
{
    if (n < 1)
        defect("nothing to choose from");
    if (n == 1)
        return 0;
    if (depth == DEPTH)
        defect("an execution without end, or DEPTH is too small");
    if (depth == ndecisions) {
        decision[ndecisions].at = 0;
        decision[ndecisions++].n = (uint8_t)n;
    }
    if (decision[depth].n != n)
        defect("the program does not repeat itself");
    return decision[depth++].at;
}

static bool next_decision(void)
{
    while (ndecisions > 0 && decision[ndecisions - 1].at + 1 == decision[ndecisions - 1].n)
        ndecisions--;
    if (ndecisions == 0)
        return false;
    decision[ndecisions - 1].at++;
    return true;
}

/* ---- states seen ---- */

static uint64_t *seen;
static size_t seen_room;

static bool insert(uint64_t key)
{
    size_t i = key & (seen_room - 1);
    while (seen[i] != 0 && seen[i] != key)
        i = (i + 1) & (seen_room - 1);
    bool fresh = seen[i] == 0;
    seen[i] = key;
    return fresh;
}

static bool is_new(uint64_t key)
{
    key += key == 0;
    if (seen == NULL || found.states * 2 >= seen_room) {
        uint64_t *old = seen;
        size_t n = seen_room;
        seen_room = n == 0 ? 1u << 16 : 2 * n;
        seen = calloc(seen_room, sizeof *seen);
        if (seen == NULL)
            defect("no memory");
        for (size_t i = 0; i < n; i++)
            if (old[i] != 0)
                (void)insert(old[i]);
        free(old);
    }
    bool fresh = insert(key);
    found.states += fresh;
    if (found.states > STATES_MAX)
        defect("too many states to be explored exhaustively");
    return fresh;
}

/* ---- the trace of an execution ---- */

static struct step {
    const struct mm_site *site;
    const char *what;
    int thread, loc, pos, of;
    uint64_t value;
} trace[DEPTH];
static int ntrace;

void mm_trace(int thread, const struct mm_site *s, const char *what, int loc, uint64_t value,
              int pos, int of)
{
    if (ntrace < DEPTH)
        trace[ntrace++] = (struct step){s, what, thread, loc, pos, of, value};
}

static void print_trace(void)
{
    char name[64];
    for (int i = 0; i < ntrace; i++) {
        const struct step *t = &trace[i];
        printf("  %*sthread %d: ", 4 * t->thread, "", t->thread);
        if (t->loc >= 0) {
            mm_loc_name(t->loc, name, sizeof name);
            printf("%s %s = %llx (%d of 0..%d)", t->what, name, (unsigned long long)t->value,
                   t->pos, t->of - 1);
        } else {
            printf("%s", t->what);
            if (t->site == NULL)
                printf(" [%d]", (int)t->value);
        }
        if (t->site != NULL)
            printf("    %s:%d", t->site->func, t->site->line);
        printf("\n");
    }
}

/* ---- threads ---- */

static jmp_buf main_jb, base_jb[MM_THREADS], at_jb[MM_THREADS];
static ucontext_t main_uc, thread_uc[MM_THREADS];
static int starting;
static char why[400];

static _Noreturn void to_main(int how)
{
    _longjmp(main_jb, how);
}

static void thread_main(void)
{
    if (_setjmp(base_jb[starting]) == 0)
        (void)swapcontext(&thread_uc[starting], &main_uc);
    /* From here on the stack frame only serves as the bottom of a stack. */
    prog->body[mm.me]();
    mm.t[mm.me].done = true;
    to_main(1);
}

static void make_threads(void)
{
    static bool made;
    if (made)
        return;
    made = true;
    for (starting = 0; starting < MM_THREADS; starting++) {
        ucontext_t *uc = &thread_uc[starting];
        getcontext(uc);
        uc->uc_stack.ss_sp = malloc(STACK);
        uc->uc_stack.ss_size = STACK;
        uc->uc_link = NULL;
        if (uc->uc_stack.ss_sp == NULL)
            defect("no memory");
        makecontext(uc, thread_main, 0);
        (void)swapcontext(&main_uc, uc);
    }
}

void mm_point(struct mm_site *s, const char *doing, enum mm_wait wait, int arg, bool (*ready)(void))
{
    struct mm_thread *t = &mm.t[mm.me];
    t->site = s;
    t->doing = doing;
    t->wait = wait;
    t->arg = arg;
    t->ready = ready;
    if (_setjmp(at_jb[mm.me]) == 0)
        to_main(1);
    t = &mm.t[mm.me];
    t->h = mm_mix(t->h, 0x90); /* it goes on: another state, whatever it learns */
}

void mm_fail(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    to_main(2);
}

bool mm_mutated(const char *name)
{
    return mm.mutant != NULL && strcmp(mm.mutant, name) == 0;
}

/* Run a thread up to its next operation. @return false: the property is broken */
static bool resume(int t, bool start)
{
    mm.me = t;
    int how = _setjmp(main_jb);
    if (how == 0)
        _longjmp(start ? base_jb[mm.me] : at_jb[mm.me], 1);
    mm.me = -1;
    return how == 1;
}

static bool finish(void)
{
    found.ends++;
    mm.me = -1;
    if (prog->finish == NULL)
        return true;
    int how = _setjmp(main_jb);
    if (how == 0) {
        prog->finish();
        return true;
    }
    return false;
}

/* ---- one execution ---- */

enum { RUN = 0, FENCE = 8, KILL = 16 };

static bool asks(int i)
{
    const struct mm_thread *t = &mm.t[i];
    mm.me = i;
    bool yes = t->ready != NULL && t->ready();
    mm.me = -1;
    return yes;
}

static bool can_run(int i)
{
    const struct mm_thread *t = &mm.t[i];
    if (t->done || t->dead)
        return false;
    switch (t->wait) {
    case MM_NEWER:
        return mm.loc[t->arg].n - 1 > t->last_pos || asks(i);
    case MM_LOCK:
        return mm.obj[t->arg].holder < 0;
    case MM_COND:
        return asks(i);
    case MM_BARRIER:
        return t->pending == 0;
    default:
        return true;
    }
}

void mm_has_barriers(void)
{
    if (!prog->barriers)
        defect("it calls membarrier and does not say so");
}

/* A thread whose next operation is a store need not wait: everything that others could do before
 * they still can after it (read older values, store at any place before), and see no less. Only a
 * fence made in this thread by another one's membarrier, and death, tell the two apart.
 * @return -1: none */
static int storing(void)
{
    for (int i = 0; i < mm.nthreads && !prog->barriers; i++) {
        const struct mm_thread *t = &mm.t[i];
        if (!t->done && t->wait == MM_READY && t->site != NULL &&
            strcmp(t->site->op, "store") == 0 && (prog->mortal >> i & 1u) == 0)
            return i;
    }
    return -1;
}

/* Where a membarrier waits for this thread: it is owed a fence. */
static bool owed(int i)
{
    for (int j = 0; j < mm.nthreads; j++)
        if ((mm.t[j].pending >> i & 1u) != 0)
            return true;
    return false;
}

static int actions(uint8_t *list)
{
    int n = 0;
    for (int i = 0; i < mm.nthreads; i++)
        if (can_run(i))
            list[n++] = (uint8_t)(RUN + i);
    for (int i = 0; i < mm.nthreads; i++)
        if (owed(i))
            list[n++] = (uint8_t)(FENCE + i);
    for (int i = 0; i < mm.nthreads; i++)
        if ((prog->mortal >> i & 1u) != 0 && !mm.t[i].done && !mm.t[i].dead)
            list[n++] = (uint8_t)(KILL + i);
    return n;
}

static void paid(int i)
{
    for (int j = 0; j < mm.nthreads; j++)
        mm.t[j].pending &= ~(1u << i);
}

static bool act(int a)
{
    int i = a & 7;
    if (a >= KILL) {
        mm.t[i].dead = true;
        paid(i);
        mm_trace(i, NULL, "is killed", -1, (uint64_t)i, 0, 0);
        return true;
    }
    if (a >= FENCE) {
        mm_full_fence(i);
        paid(i);
        mm_trace(i, NULL, "fence, made by membarrier", -1, (uint64_t)i, 0, 0);
        return true;
    }
    return resume(i, false);
}

static bool over(void)
{
    for (int i = 0; i < mm.nthreads; i++)
        if (!mm.t[i].done && !mm.t[i].dead && (prog->daemons >> i & 1u) == 0)
            return false;
    return true;
}

static bool stuck(void)
{
    int n = snprintf(why, sizeof why, "nobody can go on:");
    for (int i = 0; i < mm.nthreads; i++)
        if (!mm.t[i].done && !mm.t[i].dead)
            n += snprintf(why + n, sizeof why - (size_t)n, " thread %d (%s)", i,
                          mm.t[i].doing != NULL ? mm.t[i].doing : mm.t[i].site->op);
    return false;
}

/* @return false: the property is broken */
static bool execute(void)
{
    depth = 0;
    ntrace = 0;
    mm.me = -1;
    mm.run++;
    mm_memory_reset();
    mm.nthreads = prog->threads;
    prog->setup();
    for (int i = 0; i < mm.nthreads; i++)
        if (!resume(i, true))
            return false;
    for (;;) {
        uint8_t list[3 * MM_THREADS];
        int store = storing();
        if (store >= 0) {
            if (!resume(store, false))
                return false;
            continue;
        }
        if (over())
            return finish();
        int n = actions(list);
        bool only_kills = n > 0 && list[0] >= KILL;
        if (n == 0 || only_kills) { /* nobody must need a death to go on */
            if (n == 0)
                return stuck();
            (void)stuck();
            return false;
        }
        if (depth == ndecisions && !is_new(mm_memory_hash()))
            return true;
        if (!act(list[mm_choose(n)]))
            return false;
    }
}

struct mm_found mm_explore(const struct mm_program *p, bool aloud)
{
    prog = p;
    loud = aloud;
    memset(&found, 0, sizeof found);
    free(seen);
    seen = NULL;
    seen_room = 0;
    ndecisions = 0;
    make_threads();
    do {
        found.runs++;
        if (!execute()) {
            found.violation = true;
            if (loud) {
                printf("%s: %s\n", p->name, why);
                print_trace();
            }
            break;
        }
    } while (next_decision());
    return found;
}
