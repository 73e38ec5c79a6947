/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file mm_main.c
 * A suite: its programs have to be right as they stand; then each order of each atomic operation
 * is weakened, each fence and each of the suite's own mutants applied, and one of the programs has
 * to find it. What may be weakened without harm is listed with its reason.
 *
 *   PROGRAM           everything but what takes minutes
 *   PROGRAM -a        everything: also the slow programs, and that the listed mutations do no harm
 *   PROGRAM -q        the programs as they stand only
 *   PROGRAM -p TEXT   those with this in their names only
 *   PROGRAM -m NAME   the mutation of that name only, with the execution that breaks the property
 */
#include "mm_core.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITES 256
static struct mm_site *sites[SITES];
static int nsites;

void mm_site_seen(struct mm_site *s)
{
    if (s->known)
        return;
    s->known = true;
    if (nsites == SITES) {
        fprintf(stderr, "more than %d atomic operations: raise SITES\n", SITES);
        exit(2);
    }
    sites[nsites++] = s;
}

static const struct mm_suite *suite;
static bool all;
static const char *only; /* mutation */
static int failures, mutations, caught, listed_ones;

/* @return the program that finds it, NULL: none does */
static const char *hunt(bool loud)
{
    for (size_t i = 0; i < suite->n; i++)
        if (!suite->programs[i].slow && mm_explore(&suite->programs[i], loud).violation)
            return suite->programs[i].name;
    return NULL;
}

static bool listed(const char *const *list, const char *name)
{
    for (; list != NULL && *list != NULL; list++)
        if (strcmp(*list, name) == 0)
            return true;
    return false;
}

/* What the names in suite->either stand for. */
struct half {
    struct mm_site *site;
    bool acquire;
};
static struct half half_of[SITES];
static int nhalves;

static void mutation(const char *name)
{
    if (only != NULL && strcmp(only, name) != 0)
        return;
    bool harmless = listed(suite->needless, name) || listed(suite->either, name);
    if (harmless && !all && only == NULL) {
        printf("ok    %-60s (listed as harmless)\n", name);
        listed_ones++;
        return;
    }
    const char *by = hunt(only != NULL);
    mutations++;
    caught += by != NULL;
    bool fine = (by == NULL) == harmless;
    failures += !fine;
    printf("%s  %-60s %s\n", fine ? "ok  " : "FAIL", name,
           by != NULL ? by
           : harmless ? "(harmless indeed)"
                      : "not found by any program");
    fflush(stdout);
}

static bool strong(const struct mm_site *s, bool acquire)
{
    return s->order == memory_order_acq_rel || s->order == memory_order_seq_cst ||
           s->order == (acquire ? memory_order_acquire : memory_order_release);
}

static void note(struct mm_site *s, bool acquire, const char *name)
{
    if (listed(suite->either, name) && nhalves < SITES)
        half_of[nhalves++] = (struct half){s, acquire};
}

/* One of two may be spared because the other does its work: both may not. */
static void weaken_together(void)
{
    for (int i = 0; i < nhalves; i++) {
        const char *func = half_of[i].site->func;
        int n = 0;
        bool first = i == 0 || strcmp(half_of[i - 1].site->func, func) != 0;
        for (int set = 1; set >= 0 && first; set--) {
            if (set == 0 && n > 1) {
                char name[200];
                snprintf(name, sizeof name, "%s: neither of the two", func);
                mutation(name);
            }
            for (int j = i; j < nhalves; j++)
                if (strcmp(half_of[j].site->func, func) == 0) {
                    bool *flag = half_of[j].acquire ? &half_of[j].site->no_acquire
                                                    : &half_of[j].site->no_release;
                    *flag = set == 1;
                    n++;
                }
        }
    }
}

static void weaken(struct mm_site *s)
{
    char name[200];
    bool fence = strcmp(s->op, "fence") == 0 || strcmp(s->op, "membarrier") == 0;
    int n = snprintf(name, sizeof name, "%s: %s(%s)", s->func, s->op, s->what);
    char *end = name + n;
    size_t room = sizeof name - (size_t)n;
    if (fence) {
        snprintf(end, room, " left out");
        s->dropped = true;
        mutation(name);
        s->dropped = false;
        return;
    }
    if (strong(s, true) && strcmp(s->op, "store") != 0) {
        snprintf(end, room, " without acquire");
        note(s, true, name);
        s->no_acquire = true;
        mutation(name);
        s->no_acquire = false;
    }
    if (strong(s, false) && strcmp(s->op, "load") != 0) {
        snprintf(end, room, " without release");
        note(s, false, name);
        s->no_release = true;
        mutation(name);
        s->no_release = false;
    }
}

static int by_place(const void *a, const void *b)
{
    const struct mm_site *x = *(struct mm_site *const *)a, *y = *(struct mm_site *const *)b;
    int c = strcmp(x->func, y->func);
    return c != 0 ? c : x->line - y->line;
}

/* The programs as the library stands. @return false: one is wrong */
static bool as_they_stand(const char *part)
{
    bool fine = true;
    for (size_t i = 0; i < suite->n; i++) {
        const struct mm_program *p = &suite->programs[i];
        if (strstr(p->name, part) == NULL || (p->slow && !all && part[0] == 0))
            continue;
        struct mm_found f = mm_explore(p, true);
        bool good = !f.violation && f.ends > 0;
        printf("%s  %-60s %llu states, %llu executions, %llu to the end\n", good ? "ok  " : "FAIL",
               p->name, (unsigned long long)f.states, (unsigned long long)f.runs,
               (unsigned long long)f.ends);
        fflush(stdout);
        fine = fine && good;
    }
    return fine;
}

int mm_main(const struct mm_suite *s, int argc, char **argv)
{
    const char *option = argc > 1 ? argv[1] : "", *text = argc > 2 ? argv[2] : "";
    bool programs_only = strcmp(option, "-q") == 0 || strcmp(option, "-p") == 0;
    suite = s;
    all = strcmp(option, "-a") == 0;
    only = strcmp(option, "-m") == 0 ? text : NULL;
    if (!as_they_stand(strcmp(option, "-p") == 0 ? text : ""))
        return 1;
    if (programs_only)
        return 0;
    qsort(sites, (size_t)nsites, sizeof sites[0], by_place);
    int n = nsites; /* a weakened program may come by others */
    for (int i = 0; i < n; i++)
        weaken(sites[i]);
    weaken_together();
    for (const char *const *m = s->mutants; m != NULL && *m != NULL; m++) {
        mm.mutant = *m;
        mutation(*m);
        mm.mutant = NULL;
    }
    if (mutations == 0) {
        printf("FAIL  no such mutation: %s\n", only != NULL ? only : "none at all");
        return 1;
    }
    printf("%s: %d programs, %d mutations, %d found, %d listed as harmless, %d failures\n", s->name,
           (int)s->n, mutations, caught, listed_ones, failures);
    return failures > 0;
}
