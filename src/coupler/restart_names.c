/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of restarts, as the configuration names them: FILE.COMPONENT.TIME.nc. Components write at
 * their own pace, so a run that is killed may leave the newest file of one and not of another. The
 * files of a time are a state only when all are there; older ones are removed only then.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "coupler/restart.h"

/* A component that only sends may be so many files ahead of its receiver. */
enum { MOST_TIMES = 256 };
/* In the place of the first time: the program names its file, and no time is looked for. */
enum { NAMED = -2 };

/* The newest times for which a component has a file, in falling order; -1 fills the rest. */
struct times {
    int64_t at[MOST_TIMES];
};

void wio_cpl_restart_name(const struct waitio_cpl *cpl, const char *component, int64_t time,
                          char *out, size_t room)
{
    wio_cpl_text(out, room, "%s.%s.%lld.nc", cpl->conf.restart.file, component, (long long)time);
}

/* The folder of the files, and what their names begin with. */
static const char *split(const struct waitio_cpl *cpl, char *folder, size_t room)
{
    const char *slash = strrchr(cpl->conf.restart.file, '/');

    if (slash == NULL) {
        wio_cpl_text(folder, room, ".");
        return cpl->conf.restart.file;
    }
    wio_cpl_text(folder, room, "%.*s", (int)(slash - cpl->conf.restart.file) + 1,
                 cpl->conf.restart.file);
    return slash + 1;
}

/* The time in a name, -1: it is of something else. */
static int64_t time_in(const char *name, const char *begin, const char *component)
{
    size_t n = strlen(begin), m = strlen(component);
    long long time;
    char *end;

    if (strncmp(name, begin, n) != 0 || name[n] != '.' || strncmp(name + n + 1, component, m) != 0)
        return -1;
    name += n + 1 + m;
    if (name[0] != '.' || name[1] < '0' || name[1] > '9')
        return -1;
    errno = 0;
    time = strtoll(name + 1, &end, 10);
    return errno == 0 && strcmp(end, ".nc") == 0 ? (int64_t)time : -1;
}

static void keep(struct times *t, int64_t time)
{
    for (int i = 0; i < MOST_TIMES && time >= 0; i++)
        if (time > t->at[i]) {
            int64_t older = t->at[i];

            t->at[i] = time;
            time = older;
        }
}

static struct times find(const struct waitio_cpl *cpl, const char *component)
{
    char folder[PATH_MAX];
    const char *begin = split(cpl, folder, sizeof folder);
    const struct dirent *entry;
    struct times t;
    DIR *in = opendir(folder);

    for (int i = 0; i < MOST_TIMES; i++)
        t.at[i] = -1;
    while (in != NULL && (entry = readdir(in)) != NULL)
        keep(&t, time_in(entry->d_name, begin, component));
    if (in != NULL)
        (void)closedir(in);
    return t;
}

static bool has(const struct times *t, int64_t time)
{
    for (int i = 0; i < MOST_TIMES; i++)
        if (t->at[i] == time)
            return true;
    return false;
}

static bool fits(const struct times *t, int64_t time)
{
    return t->at[0] == NAMED || has(t, time);
}

/* @param all of the components @return the latest time that all have, -1: none */
static int64_t common(const struct times *all, int n)
{
    int first = 0;

    while (first < n - 1 && all[first].at[0] == NAMED)
        first++;
    for (int i = 0; i < MOST_TIMES && all[first].at[i] >= 0; i++) {
        int c = first + 1;

        while (c < n && fits(&all[c], all[first].at[i]))
            c++;
        if (c == n)
            return all[first].at[i];
    }
    return -1;
}

static int incomplete(const struct waitio_cpl *cpl, const struct times *all)
{
    const char *with = NULL, *without = NULL;
    int64_t time = -1;

    for (int c = 0; c < cpl->n_components; c++)
        if (all[c].at[0] > time) {
            time = all[c].at[0];
            with = cpl->components[c].name;
        }
    if (with == NULL)
        return 0;
    for (int c = 0; c < cpl->n_components; c++)
        if (!fits(&all[c], time))
            without = cpl->components[c].name;
    return wio_cpl_fail(WAITIO_ERR_SYSTEM,
                        "the restart files %s.*.nc are incomplete: component '%s' has one of %lld "
                        "s, component '%s' has not, and no other time is complete; restore the "
                        "missing files, or remove all to start from the beginning",
                        cpl->conf.restart.file, with, (long long)time,
                        without != NULL ? without : "?");
}

/* The first process of each component looks for its own files: others may not see them. */
static int gather(struct waitio_cpl *cpl, struct times *all)
{
    struct times *by_rank = wio_cpl_new((size_t)cpl->size + 1, sizeof *by_rank);
    struct wio_cpl_op op;
    int rc;

    if (by_rank == NULL)
        return WAITIO_ERR_NOMEM;
    op = wio_cpl_collective(cpl, WIO_CPL_SET_ALL, 0);
    if (cpl->rank == 0 && cpl->resume_from == NULL)
        by_rank[cpl->size] = find(cpl, cpl->components[cpl->mine].name);
    else
        by_rank[cpl->size].at[0] = NAMED;
    if (WAITIO_MPI_Iallgather(&by_rank[cpl->size], MOST_TIMES, WAITIO_MPI_INT64_T, by_rank,
                              MOST_TIMES, WAITIO_MPI_INT64_T, cpl->all, &op.req) != 0)
        return wio_cpl_failed();
    rc = wio_cpl_wait(cpl, &op, 1);
    if (rc != 0)
        return rc; /* messages may be under way: their memory stays */
    for (int c = 0; c < cpl->n_components; c++)
        all[c] = by_rank[cpl->components[c].ranks[0]];
    free(by_rank);
    return 0;
}

int wio_cpl_restart_latest(struct waitio_cpl *cpl, int64_t *time)
{
    struct times *all = wio_cpl_new((size_t)cpl->n_components, sizeof *all);
    int rc = all == NULL ? WAITIO_ERR_NOMEM : gather(cpl, all);

    if (rc == 0) {
        *time = common(all, cpl->n_components);
        rc = *time < 0 ? incomplete(cpl, all) : 0;
    }
    free(all);
    return rc;
}

int wio_cpl_restart_own_latest(struct waitio_cpl *cpl, int64_t *time)
{
    static int64_t latest; /* its message may outlive this call */
    int first = cpl->components[cpl->mine].ranks[0], rc;
    struct wio_cpl_op op = wio_cpl_collective(cpl, wio_cpl_set_own(cpl), first + 1);

    if (cpl->rank == 0)
        latest = find(cpl, cpl->components[cpl->mine].name).at[0];
    if (WAITIO_MPI_Ibcast(&latest, 1, WAITIO_MPI_INT64_T, 0, cpl->own, &op.req) != 0)
        return wio_cpl_failed();
    rc = wio_cpl_wait(cpl, &op, 1);
    *time = latest;
    return rc;
}

/* Files of others that this process does not see are taken as missing, so nothing is removed. */
void wio_cpl_restart_tidy(const struct waitio_cpl *cpl)
{
    const char *own = cpl->components[cpl->mine].name;
    struct times *all = wio_cpl_new((size_t)cpl->n_components, sizeof *all);
    char path[PATH_MAX];
    int64_t newest;

    if (all == NULL)
        return;
    for (int c = 0; c < cpl->n_components; c++)
        all[c] = find(cpl, cpl->components[c].name);
    newest = common(all, cpl->n_components);
    for (int i = 0; i < MOST_TIMES; i++)
        if (all[cpl->mine].at[i] >= 0 && all[cpl->mine].at[i] < newest) {
            wio_cpl_restart_name(cpl, own, all[cpl->mine].at[i], path, sizeof path);
            (void)unlink(path);
        }
    free(all);
}
