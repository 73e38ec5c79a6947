/* SPDX-License-Identifier: BSD-3-Clause */
/** @file options.c  What is weak, chance, and errors made on purpose. */
#include "weakfs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options opt;
struct counts counts;

static const struct fuse_opt known[] = {
    {"back=%s", offsetof(struct options, back), 0},
    {"seed=%lu", offsetof(struct options, seed), 0},
    {"entry_ms=%d", offsetof(struct options, entry_ms), 0},
    {"attr_ms=%d", offsetof(struct options, attr_ms), 0},
    {"page_ms=%d", offsetof(struct options, page_ms), 0},
    {"write_ms=%d", offsetof(struct options, write_ms), 0},
    {"early=%d", offsetof(struct options, early), 0},
    {"snapshot=%d", offsetof(struct options, snapshot), 0},
    {"estale=%d", offsetof(struct options, estale), 0},
    {"shorts=%d", offsetof(struct options, shorts), 0},
    {"locks=local", offsetof(struct options, locks), LOCKS_LOCAL},
    {"locks=none", offsetof(struct options, locks), LOCKS_NONE},
    {"locks=error", offsetof(struct options, locks), LOCKS_ERROR},
    FUSE_OPT_END};

int options_parse(int argc, char **argv, struct fuse_args *fuse)
{
    *fuse = (struct fuse_args)FUSE_ARGS_INIT(argc, argv);
    if (fuse_opt_parse(fuse, &opt, known, NULL) != 0)
        return -1;
    if (opt.back == NULL) {
        fprintf(stderr, "weakfs: say -o back=DIRECTORY\n");
        return -1;
    }
    return 0;
}

int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

uint64_t draw(uint64_t n)
{
    uint64_t z = (opt.seed += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % n;
}

int64_t later(int64_t from, int ms)
{
    if (ms < 0)
        return NEVER;
    return ms == 0 ? from : from + (int64_t)draw((uint64_t)ms * 1000000);
}

bool percent(int p)
{
    return p > 0 && draw(100) < (uint64_t)p;
}

/* ---- errors on purpose ---- */

struct rule {
    char call[16];
    int err, percent;
    uint64_t nth; /* counts down */
    bool on;      /* and all after it */
};
static struct rule rules[RULES];
static size_t nrules;

static int error_of(const char *name)
{
    static const struct {
        const char *name;
        int err;
    } errors[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},       {"EDQUOT", EDQUOT},
                  {"ESTALE", ESTALE}, {"EACCES", EACCES}, {"EINTR", EINTR}};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (strcmp(errors[i].name, name) == 0)
            return errors[i].err;
    return 0;
}

static int rule_set(const char *text, struct rule *r)
{
    char name[16], how[24];
    *r = (struct rule){{0}, 0, 0, 0, false};
    if (sscanf(text, "%15[A-Z]@%15[a-z]:%23s", name, r->call, how) != 3)
        return EINVAL;
    r->err = error_of(name);
    char *end;
    if (how[0] == '%') {
        r->percent = (int)strtol(how + 1, &end, 10);
    } else {
        r->nth = strtoull(how, &end, 10);
        r->on = *end == '+';
        end += r->on;
    }
    return r->err == 0 || *end != '\0' || (r->nth == 0 && r->percent <= 0) ? EINVAL : 0;
}

int faults_set(const char *text)
{
    struct rule made[RULES];
    size_t n = 0;
    char buf[512], *save = NULL;
    if (strlen(text) >= sizeof buf)
        return EINVAL;
    snprintf(buf, sizeof buf, "%s", strcmp(text, "none") == 0 ? "" : text);
    for (char *p = strtok_r(buf, "/", &save); p != NULL; p = strtok_r(NULL, "/", &save))
        if (n == RULES || rule_set(p, &made[n++]) != 0)
            return EINVAL;
    memcpy(rules, made, n * sizeof made[0]);
    nrules = n;
    return 0;
}

static bool strikes(struct rule *r)
{
    if (r->percent > 0)
        return percent(r->percent);
    if (r->nth > 1) {
        r->nth--;
        return false;
    }
    bool now = r->nth == 1;
    if (!r->on)
        r->nth = 0;
    return now;
}

int fault(const char *call)
{
    int err = 0;
    for (size_t i = 0; i < nrules; i++)
        if (strcmp(rules[i].call, call) == 0 && strikes(&rules[i]) && err == 0)
            err = rules[i].err;
    counts.faults += err != 0;
    return err;
}
