/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A component comes back (rejoin: yes). Who finds that it has died tells the others by the alarm.
 * Each of them, in a wait for a message or at the beginning of its next call, saves what is under
 * way (past.c), leaves the universe and meets all anew, the dead component's new processes among
 * them. It finds the components again, makes the newcomer's tables with it once more, hears at
 * which time it resumes, and goes on where it was.
 */
#include "coupler/back.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/cpl.h"

/* Texts of the alarm begin with a name, or with one of these: who has died; a file is complete; an
 * error that ends all. */
enum { DIED = '!', SAVED = '#', FINAL = '=' };

static const char *name_of(const struct waitio_cpl *cpl, int component)
{
    return cpl->components[component].name;
}

/* A launcher ends all of a job when one of its processes dies: nobody of it could wait. */
static int check_job(const struct waitio_cpl *cpl, waitio_group_t universe, int component)
{
    const struct wio_cpl_component *c = &cpl->components[component];
    int job = -1, other = -1, within = 0;

    for (int i = 0; i < c->n; i++) {
        if (waitio_group_locate(universe, c->ranks[i], &job, &within) != 0)
            return wio_cpl_failed();
        for (int r = 0; r < cpl->size; r++)
            if (cpl->component_of[r] != component &&
                waitio_group_locate(universe, r, &other, &within) == 0 && other == job)
                return wio_cpl_fail(WAITIO_ERR_CONFIG,
                                    "%s: component '%s' has rejoin: yes, but %s is in the same job "
                                    "(PB %d), which a launcher ends as a whole; start '%s' as a "
                                    "job of its own, or take rejoin out",
                                    cpl->conf.file, c->name, wio_cpl_who(cpl, r), job, c->name);
    }
    return 0;
}

static int check_jobs(const struct waitio_cpl *cpl)
{
    waitio_group_t universe;
    int rc = waitio_group_universe(0, &universe) != 0 ? wio_cpl_failed() : 0;

    if (rc != 0)
        return rc;
    for (int c = 0; rc == 0 && c < cpl->n_components; c++)
        rc = cpl->components[c].returns ? check_job(cpl, universe, c) : 0;
    (void)waitio_group_free(&universe);
    return rc;
}

static int check_ensembles(const struct waitio_cpl *cpl)
{
    for (int c = 0; c < cpl->n_components; c++)
        if (cpl->components[c].base != NULL)
            return wio_cpl_fail(WAITIO_ERR_CONFIG,
                                "%s: '%s' is an ensemble, but rejoin: yes is for runs without "
                                "ensembles, whose members may be lost with on_failure: go on",
                                cpl->conf.file, cpl->components[c].base);
    return 0;
}

int wio_cpl_back_open(struct waitio_cpl *cpl)
{
    int rc;

    cpl->back.dead = -1;
    for (int c = 0; c < cpl->n_components; c++) {
        const struct wio_cpl_part *part = wio_cpl_ensemble_part(cpl, c);

        cpl->components[c].returns = part != NULL && part->rejoin;
        cpl->back.any |= cpl->components[c].returns;
    }
    rc = cpl->back.any ? check_ensembles(cpl) : 0;
    if (rc == 0 && cpl->back.any)
        rc = check_jobs(cpl);
    if (rc == 0 && cpl->back.newcomer && !cpl->components[cpl->mine].returns)
        rc = wio_cpl_fail(WAITIO_ERR_STATE,
                          "component '%s' comes to others that run already, but %s does not say "
                          "rejoin: yes of it",
                          name_of(cpl, cpl->mine), cpl->conf.file);
    return rc;
}

/* ---- who has died ---------------------------------------------------------------------------- */

bool wio_cpl_may_return(const struct waitio_cpl *cpl, int rank)
{
    return cpl->back.any && cpl->phase == WIO_CPL_RUNS && rank >= 0 && rank < cpl->size &&
           cpl->component_of[rank] != cpl->mine && cpl->components[cpl->component_of[rank]].returns;
}

bool wio_cpl_back_lost(struct waitio_cpl *cpl, int rank)
{
    if (!wio_cpl_may_return(cpl, rank))
        return false;
    if (cpl->back.dead < 0)
        cpl->back.dead = cpl->component_of[rank];
    return true;
}

int wio_cpl_back_blame(struct waitio_cpl *cpl, int rank)
{
    if (!cpl->back.any)
        return 0;
    if (cpl->back.dead < 0) {
        int rc = wio_cpl_listen(cpl);

        if (rc != 0)
            return rc;
        if (cpl->back.dead >= 0)
            return WIO_CPL_AGAIN;
    }
    return wio_cpl_back_lost(cpl, rank) ? WIO_CPL_AGAIN : 0;
}

int wio_cpl_back_cannot(struct waitio_cpl *cpl)
{
    cpl->back.final = true;
    return wio_cpl_fail(WAITIO_ERR_PEER,
                        "component '%s' has died, and cannot come back now, because component "
                        "'%s' was in a call that cannot be made anew (its first step, or messages "
                        "of its own); resume all components from their restart files",
                        cpl->back.dead >= 0 ? name_of(cpl, cpl->back.dead) : "?",
                        name_of(cpl, cpl->mine));
}

/* If there are several that may come back, which one has died shows when all meet. */
bool wio_cpl_back_alone(struct waitio_cpl *cpl)
{
    bool found = false;

    for (int c = 0; !found && c < cpl->n_components; c++)
        found = wio_cpl_back_lost(cpl, cpl->components[c].ranks[0]);
    return found;
}

bool wio_cpl_back_hears(struct waitio_cpl *cpl, const char *text, int source)
{
    int component = -1;
    long long time = -1;

    if (text[0] == SAVED && sscanf(text + 1, "%lld", &time) == 1) {
        component = cpl->component_of[source];
        cpl->components[component].saved = (int64_t)time;
        wio_cpl_past_trim(cpl, component, (int64_t)time);
        return true;
    }
    if (text[0] != DIED || sscanf(text + 1, "%d", &component) != 1)
        return false;
    /* Also before the start, when nobody can come back: this process is waited for, and ends. */
    if (component >= 0 && component < cpl->n_components && component != cpl->mine &&
        cpl->components[component].returns && cpl->back.dead < 0)
        cpl->back.dead = component;
    return true;
}

const char *wio_cpl_back_final(const struct waitio_cpl *cpl)
{
    static const char text[] = {FINAL, '\0'};

    return cpl->back.final ? text : "";
}

bool wio_cpl_back_is_final(char *text)
{
    if (text[0] != FINAL)
        return false;
    memmove(text, text + 1, strlen(text));
    return true;
}

/* @param but a component that is told nothing */
static void tell_others(struct waitio_cpl *cpl, const char *text, int but)
{
    for (int r = 0; r < cpl->size; r++)
        if (r != cpl->me && cpl->component_of[r] != but)
            (void)wio_cpl_alarm_send(cpl, r, text, strlen(text) + 1);
}

void wio_cpl_back_saved(struct waitio_cpl *cpl, int64_t time)
{
    char text[40];

    if (cpl->rank != 0 || !cpl->components[cpl->mine].returns)
        return;
    wio_cpl_text(text, sizeof text, "%c%lld", SAVED, (long long)time);
    tell_others(cpl, text, cpl->mine);
}

/* ---- meeting anew ---------------------------------------------------------------------------- */

/* Messages of the program cannot be taken before it asks for them. */
static int check_messages(const struct waitio_cpl *cpl)
{
    bool spoke = cpl->back.spoke || cpl->pending.n > 0;

    for (int r = 0; r < cpl->size; r++) {
        const struct wio_cpl_stream *s = cpl->streams[r].at;

        for (size_t k = 0; k < cpl->streams[r].n; k++)
            spoke |= s[k].tag >= WIO_CPL_TAG_USER && s[k].tag < WIO_CPL_TAG_BUNDLE;
    }
    if (!spoke)
        return 0;
    return wio_cpl_fail(WAITIO_ERR_UNSUPPORTED,
                        "component '%s' has died and cannot come back, because component '%s' has "
                        "exchanged messages of its own (waitio_cpl_send and its like), which may "
                        "be lost; use puts and gets, or take rejoin: yes out of %s",
                        name_of(cpl, cpl->back.dead), name_of(cpl, cpl->mine), cpl->conf.file);
}

static int meet(struct waitio_cpl *cpl)
{
    int rc;

    do /* a process of the dead component may have come, and have ended then */
        rc = waitio_rejoin(0);
    while (rc == WAITIO_ERR_PEER);
    if (rc == 0) {
        wio_cpl_letters_forget(cpl, false);
        return 0;
    }
    return wio_cpl_fail(rc,
                        "component '%s' has died, and has not come back while component '%s' "
                        "waited for it: %s; start it again with the same settings and as many "
                        "processes in time (WAITIO_INIT_TIMEOUT), or resume all components from "
                        "their restart files",
                        name_of(cpl, cpl->back.dead), name_of(cpl, cpl->mine), waitio_last_error());
}

/* The same components in the same processes, and new ones just where old ones have died? */
static int compare(const struct waitio_cpl *cpl, const struct waitio_cpl *now)
{
    bool same = now->n_components == cpl->n_components && now->size == cpl->size;

    for (int c = 0; same && c < cpl->n_components; c++)
        same = strcmp(name_of(now, c), name_of(cpl, c)) == 0;
    for (int r = 0; same && r < cpl->size; r++)
        same = now->component_of[r] == cpl->component_of[r];
    if (!same)
        return wio_cpl_fail(WAITIO_ERR_STATE,
                            "component '%s' was started again in another way: the components and "
                            "their processes must be those of before",
                            name_of(cpl, cpl->back.dead));
    for (int r = 0; r < cpl->size; r++)
        if (now->lives[r] != (cpl->component_of[r] != cpl->back.dead))
            return wio_cpl_fail(WAITIO_ERR_STATE,
                                "%s %s while component '%s' waited for '%s': only one component at "
                                "a time can come back",
                                wio_cpl_who(cpl, r),
                                now->lives[r] ? "went on" : "was started again, too,",
                                name_of(cpl, cpl->mine), name_of(cpl, cpl->back.dead));
    return 0;
}

#define SWAP(type, field)                                                                          \
    do {                                                                                           \
        type before_ = cpl->field;                                                                 \
        cpl->field = now->field;                                                                   \
        now->field = before_;                                                                      \
    } while (0)

/* Of the new universe; what is of the old one is freed with `now`. */
static void adopt(struct waitio_cpl *cpl, struct waitio_cpl *now)
{
    SWAP(WAITIO_MPI_Comm, all);
    SWAP(WAITIO_MPI_Comm, own);
    SWAP(WAITIO_MPI_Comm, alarms);
    SWAP(WAITIO_MPI_Request, alarm);
    SWAP(char *, alarm_text);
    SWAP(struct wio_cpl_list *, streams);
    SWAP(struct wio_cpl_list, collectives);
    SWAP(int64_t *, questions);
    SWAP(WAITIO_MPI_Comm, ends);
    cpl->deaf = false;
    now->deaf = true; /* its receive went with its universe */
}

/* What is wrong is said in the new universe, where those wait that have come. */
static void adopt_alarm(struct waitio_cpl *cpl, struct waitio_cpl *now)
{
    SWAP(WAITIO_MPI_Comm, all);
    SWAP(WAITIO_MPI_Comm, alarms);
    SWAP(WAITIO_MPI_Request, alarm);
    SWAP(char *, alarm_text);
    cpl->deaf = now->size < cpl->size; /* else it would send to processes that are none */
}

static int find_components(struct waitio_cpl *cpl)
{
    struct waitio_cpl *now = wio_cpl_new(1, sizeof *now);
    int rc;

    if (now == NULL)
        return WAITIO_ERR_NOMEM;
    now->alarm_from = -1;
    now->going_on = true;
    now->back = (struct wio_cpl_back){.busy = true, .dead = -1};
    rc = wio_cpl_world_open(now, name_of(cpl, cpl->mine), 1);
    if (rc == 0)
        rc = wio_cpl_alarm_open(now);
    if (rc != 0)
        return rc; /* messages may be under way: their memory stays */
    rc = compare(cpl, now);
    if (rc != 0) {
        adopt_alarm(cpl, now);
        return rc;
    }
    adopt(cpl, now);
    wio_cpl_alarm_close(now);
    wio_cpl_world_close(now);
    free(now);
    return 0;
}

/* ---- greetings ------------------------------------------------------------------------------- */

/* All that go on greet each other once more: the dead one may have died before they had. */
static int greet_living(struct waitio_cpl *cpl)
{
    char text[200];
    int rc = 0;

    for (int c = 0; rc == 0 && c < cpl->n_components; c++)
        if (c != cpl->mine && c != cpl->back.dead && wio_cpl_start_text(cpl, c, -1, text) != 0)
            rc = wio_cpl_greet_only(cpl, c, text);
    for (int c = 0; rc == 0 && c < cpl->n_components; c++)
        if (c != cpl->mine && c != cpl->back.dead && wio_cpl_start_text(cpl, c, -1, text) != 0) {
            rc = wio_cpl_greeted(cpl, c, text);
            cpl->greeted[c] = 1;
        }
    return rc;
}

static int too_old(const struct waitio_cpl *cpl, int64_t time)
{
    const struct wio_cpl_component *dead = &cpl->components[cpl->back.dead];

    return wio_cpl_fail(WAITIO_ERR_STATE,
                        "component '%s' has come back at %lld s, but its restart file of %lld s "
                        "was complete, and component '%s' keeps only what it has sent since then: "
                        "let it read its latest file",
                        dead->name, (long long)time, (long long)dead->saved,
                        name_of(cpl, cpl->mine));
}

/* What this process has sent before it came back itself, or before the run was resumed, it cannot
 * send again. */
static bool has_gone(const struct waitio_cpl *cpl, const struct wio_cpl_bundle *b, int64_t time)
{
    int64_t kept = cpl->resumed + (b->shift < 0 ? b->shift : 0), first; /* get from there */

    if (!b->sends || b->now || b->table->to != cpl->back.dead)
        return false;
    first = (time + b->interval - 1) / b->interval * b->interval;
    return wio_cpl_wanted(b->shift, first) < kept;
}

static int too_early(const struct waitio_cpl *cpl, int64_t time)
{
    for (size_t k = 0; cpl->resumed > 0 && k < cpl->bundles.n; k++) {
        const struct wio_cpl_bundle *b = ((struct wio_cpl_bundle **)cpl->bundles.at)[k];

        if (!has_gone(cpl, b, time))
            continue;
        return wio_cpl_fail(WAITIO_ERR_STATE,
                            "component '%s' has come back at %lld s, but component '%s' has "
                            "itself come back at %lld s, and no longer has what it sent before; "
                            "resume all components from their restart files",
                            name_of(cpl, cpl->back.dead), (long long)time, name_of(cpl, cpl->mine),
                            (long long)cpl->resumed);
    }
    return 0;
}

/* It says at which time it resumes; the answer is the same text. */
static int hear_newcomer(struct waitio_cpl *cpl)
{
    char expected[200], heard[1000] = "";
    long long time = 0;
    int dead = cpl->back.dead, rc = wio_cpl_hear_greeting(cpl, dead, heard);

    if (rc != 0)
        return rc;
    (void)wio_cpl_start_text(cpl, dead, -1, expected);
    if (strncmp(heard, expected, strlen(expected)) != 0 ||
        sscanf(heard + strlen(expected), ", at %lld s of a restart", &time) != 1)
        time = 0;
    (void)wio_cpl_start_text(cpl, dead, time > 0 ? (int64_t)time : -1, expected);
    rc = wio_cpl_greet_only(cpl, dead, expected);
    if (rc == 0 && strcmp(heard, expected) != 0)
        rc = wio_cpl_fail(WAITIO_ERR_STATE,
                          "component '%s' comes back with\n    %s\nwhile component '%s' expects\n"
                          "    %s\nboth must have the same configuration",
                          name_of(cpl, dead), heard, name_of(cpl, cpl->mine), expected);
    if (rc == 0 && (int64_t)time < cpl->components[dead].saved)
        rc = too_old(cpl, (int64_t)time);
    return rc == 0 ? too_early(cpl, (int64_t)time) : rc;
}

static int greet_newcomer(struct waitio_cpl *cpl)
{
    struct wio_cpl_op op;
    char text[200];
    int rc;

    if (wio_cpl_start_text(cpl, cpl->back.dead, -1, text) == 0)
        return 0;
    rc = cpl->rank == 0 ? hear_newcomer(cpl) : 0;
    cpl->greeted[cpl->back.dead] = 1;
    if (rc != 0 || cpl->components[cpl->mine].n == 1)
        return rc;
    /* The others of this component go on only with one that fits. */
    op = wio_cpl_collective(cpl, wio_cpl_set_own(cpl), 0);
    if (WAITIO_MPI_Ibarrier(cpl->own, &op.req) != 0)
        return wio_cpl_failed();
    return wio_cpl_wait(cpl, &op, 1);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int go_on(struct waitio_cpl *cpl)
{
    int dead = cpl->back.dead, rc = wio_cpl_meet(cpl);

    if (rc == 0)
        rc = wio_cpl_settings_agree(cpl);
    if (rc == 0)
        rc = wio_cpl_sight_again(cpl);
    if (rc == 0)
        rc = wio_cpl_tables_again(cpl, dead);
    if (rc == 0)
        rc = greet_living(cpl);
    if (rc == 0)
        rc = greet_newcomer(cpl);
    return rc == 0 ? wio_cpl_past_go_on(cpl, dead) : rc;
}

static int once_more(struct waitio_cpl *cpl)
{
    char text[40];
    int rc = check_messages(cpl);

    if (rc == 0 && cpl->rank == 0)
        (void)fprintf(stderr,
                      "waitio coupler: component '%s' waits at %lld s for component '%s', which "
                      "has died: start it again\n",
                      name_of(cpl, cpl->mine), (long long)cpl->clock.now,
                      name_of(cpl, cpl->back.dead));
    wio_cpl_text(text, sizeof text, "%c%d", DIED, cpl->back.dead);
    if (rc == 0)
        tell_others(cpl, text, cpl->back.dead);
    if (rc == 0)
        rc = wio_cpl_past_save(cpl);
    if (rc == 0)
        rc = meet(cpl);
    if (rc == 0)
        rc = find_components(cpl);
    if (rc == 0)
        rc = go_on(cpl);
    if (rc == 0 && cpl->rank == 0)
        (void)fprintf(stderr, "waitio coupler: component '%s' goes on with component '%s'\n",
                      name_of(cpl, cpl->mine), name_of(cpl, cpl->back.dead));
    return rc;
}

int wio_cpl_come_back(struct waitio_cpl *cpl)
{
    const struct wio_cpl_op *waiting = cpl->waiting;
    int rc;

    cpl->back.busy = true;
    rc = once_more(cpl);
    if (rc == WIO_CPL_AGAIN)
        rc = wio_cpl_fail(WAITIO_ERR_PEER,
                          "component '%s' has died once more while component '%s' met it again; "
                          "resume all components from their restart files",
                          name_of(cpl, cpl->back.dead), name_of(cpl, cpl->mine));
    cpl->back.busy = false;
    cpl->back.final = rc != 0; /* it does not help to start this component again */
    cpl->back.dead = -1;
    cpl->waiting = waiting;
    return rc;
}

int wio_cpl_back_arrive(struct waitio_cpl *cpl)
{
    return cpl->back.newcomer ? wio_cpl_past_hear(cpl) : 0;
}
