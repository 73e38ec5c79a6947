/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing streams, and the calls that both sides have. */
#include "stage/stream.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *waitio_stage_last_error(void)
{
    return wio_stg_why();
}

double wio_stg_limit(const struct waitio_stage *s, double limit)
{
    return limit < 0 ? s->set.limit : limit;
}

int wio_stg_break(struct waitio_stage *s, int code)
{
    if (s->code == 0) {
        s->code = code;
        wio_stg_text(s->why, sizeof s->why, "%s", wio_stg_why());
    }
    return code;
}

int wio_stg_closed(int rc, const char *why, const char *lent)
{
    if (lent != NULL)
        return wio_stg_fail(WAITIO_ERR_TIMEOUT,
                            "%.700s%sdata is still under way: %s may be in use until this process "
                            "leaves the universe (waitio_finalize)",
                            rc != 0 ? why : "", rc != 0 ? "; " : "", lent);
    return rc != 0 ? wio_stg_fail(rc, "%s", why) : 0;
}

int wio_stg_told(const struct waitio_stage *s, int rc)
{
    char text[WIO_STG_WHY - 60];

    if (rc == 0 || s == NULL)
        return rc;
    wio_stg_text(text, sizeof text, "%s", wio_stg_why());
    if (s->step >= 0)
        return wio_stg_fail(rc, "stream '%s', step %lld: %s", s->name, (long long)s->step, text);
    return wio_stg_fail(rc, "stream '%s': %s", s->name, text);
}

/* ---- open ----------------------------------------------------------------------------------- */

static int check_settings(const struct waitio_stage_settings *set)
{
    if (set->limit < 0)
        return wio_stg_fail(WAITIO_ERR_ARG, "limit is %g s, less than 0", set->limit);
    if (set->queue < WAITIO_STAGE_SYNCHRONOUS)
        return wio_stg_fail(WAITIO_ERR_ARG,
                            "queue is %d; 1 or more, 0 (2), or "
                            "WAITIO_STAGE_SYNCHRONOUS",
                            set->queue);
    if (set->full < WAITIO_STAGE_BLOCK || set->full > WAITIO_STAGE_DISCARD_NEWEST)
        return wio_stg_fail(WAITIO_ERR_ARG,
                            "full is %d; WAITIO_STAGE_BLOCK, _DISCARD_OLDEST or "
                            "_DISCARD_NEWEST",
                            set->full);
    if (set->share < WAITIO_STAGE_TO_ALL || set->share > WAITIO_STAGE_ON_DEMAND)
        return wio_stg_fail(WAITIO_ERR_ARG,
                            "share is %d; WAITIO_STAGE_TO_ALL, _ROUND_ROBIN or _ON_DEMAND",
                            set->share);
    if (set->queue == WAITIO_STAGE_SYNCHRONOUS && set->full != WAITIO_STAGE_BLOCK)
        return wio_stg_fail(WAITIO_ERR_ARG, "a synchronous stream keeps no steps and so can "
                                            "discard none: take full = WAITIO_STAGE_BLOCK");
    if (set->readers < 0)
        return wio_stg_fail(WAITIO_ERR_ARG, "readers is %d, less than 0", set->readers);
    return 0;
}

static int check(const char *name, int mode, const struct waitio_stage_settings *set)
{
    if (name == NULL || name[0] == '\0' || strlen(name) > WIO_STG_NAME_MOST)
        return wio_stg_fail(WAITIO_ERR_ARG, "the name of a stream has 1 to %d bytes",
                            WIO_STG_NAME_MOST);
    if (mode != WAITIO_STAGE_WRITE && mode != WAITIO_STAGE_READ)
        return wio_stg_fail(WAITIO_ERR_ARG,
                            "stream '%s': mode %d is neither WAITIO_STAGE_WRITE "
                            "nor _READ",
                            name, mode);
    return set != NULL ? check_settings(set) : 0;
}

static int failed(int rc)
{
    return wio_stg_fail(rc, "%s", waitio_last_error());
}

static int find_members(struct waitio_stage *s, waitio_group_t group)
{
    int rc = waitio_group_size(group, &s->n);

    if (rc == 0)
        rc = waitio_group_rank(group, &s->rank);
    if (rc != 0)
        return failed(rc);
    if (s->rank < 0)
        return wio_stg_fail(WAITIO_ERR_GROUP, "this process is no member of the group that opens "
                                              "the stream");
    s->ranks = wio_stg_new((size_t)s->n, sizeof *s->ranks);
    if (s->ranks == NULL)
        return WAITIO_ERR_NOMEM;
    for (int i = 0; rc == 0 && i < s->n; i++)
        rc = waitio_group_to_universe(group, i, &s->ranks[i]);
    return rc != 0 ? failed(rc) : 0;
}

static int find_own_block(struct waitio_stage *s)
{
    waitio_group_t block = NULL;
    int pb = 0, rc = waitio_pb_rank(&pb);

    if (rc == 0)
        rc = waitio_group_pb(0, pb, &block);
    if (rc != 0)
        return failed(rc);
    rc = find_members(s, block);
    (void)waitio_group_free(&block);
    return rc;
}

static int enter(struct waitio_stage *s, waitio_group_t group)
{
    struct timespec t;
    int rc = waitio_universe_rank(&s->me), gid;

    if (rc != 0)
        return failed(rc);
    gid = (int)(wio_stg_hash(s->name) & 0x7fffffff);
    rc = waitio_group_universe(gid, &s->group);
    if (rc != 0)
        return failed(rc);
    (void)clock_gettime(CLOCK_REALTIME, &t);
    s->incarnation = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    return group != NULL ? find_members(s, group) : find_own_block(s);
}

static void use_settings(struct waitio_stage *s, const struct waitio_stage_settings *set)
{
    if (set != NULL)
        s->set = *set;
    if (s->set.limit <= 0)
        s->set.limit = 600;
    if (s->set.queue == 0)
        s->set.queue = 2;
    if (s->set.queue == WAITIO_STAGE_SYNCHRONOUS)
        s->set.queue = 0;
}

static void free_stage(struct waitio_stage *s)
{
    if (s->group != NULL)
        (void)waitio_group_free(&s->group);
    free(s->ranks);
    free(s);
}

static int open(struct waitio_stage *s, waitio_group_t group)
{
    int rc = enter(s, group);

    if (rc == 0)
        rc = s->mode == WAITIO_STAGE_WRITE ? wio_stg_writer_open(s) : wio_stg_reader_open(s);
    if (rc == 0)
        return 0;
    (void)wio_stg_told(s, rc);
    char why[WIO_STG_WHY];

    wio_stg_text(why, sizeof why, "%s", wio_stg_why());
    (void)(s->mode == WAITIO_STAGE_WRITE ? wio_stg_writer_close(s, 0) : wio_stg_reader_close(s, 0));
    return wio_stg_fail(rc, "%s", why);
}

int waitio_stage_open(const char *name, int mode, waitio_group_t group,
                      const struct waitio_stage_settings *settings, waitio_stage_t *stage)
{
    int keep = waitio_return_errors_here(1), rc;
    struct waitio_stage *s = NULL;

    rc =
        stage == NULL ? wio_stg_fail(WAITIO_ERR_ARG, "stage is NULL") : check(name, mode, settings);
    if (stage != NULL)
        *stage = NULL;
    if (rc == 0 && (s = wio_stg_new(1, sizeof *s)) == NULL)
        rc = WAITIO_ERR_NOMEM;
    if (rc == 0) {
        wio_stg_text(s->name, sizeof s->name, "%s", name);
        s->mode = mode;
        s->step = -1;
        use_settings(s, settings);
        rc = open(s, group);
        if (rc != 0)
            free_stage(s);
        else
            *stage = s;
    }
    (void)waitio_return_errors_here(keep);
    return rc;
}

int waitio_stage_close(waitio_stage_t *stage, double limit)
{
    int keep = waitio_return_errors_here(1), rc;
    struct waitio_stage *s = stage != NULL ? *stage : NULL;

    if (s == NULL) {
        (void)waitio_return_errors_here(keep);
        return wio_stg_fail(WAITIO_ERR_STATE, "the stream is not open");
    }
    *stage = NULL;
    rc = s->mode == WAITIO_STAGE_WRITE ? wio_stg_writer_close(s, wio_stg_limit(s, limit))
                                       : wio_stg_reader_close(s, wio_stg_limit(s, limit));
    rc = wio_stg_told(s, rc);
    free_stage(s);
    (void)waitio_return_errors_here(keep);
    return rc;
}

/* ---- steps ---------------------------------------------------------------------------------- */

static int ready(const struct waitio_stage *s, bool in_step)
{
    if (s == NULL)
        return wio_stg_fail(WAITIO_ERR_STATE, "the stream is not open");
    if (s->code != 0)
        return wio_stg_fail(s->code, "%s", s->why);
    if (s->in_step != in_step)
        return wio_stg_fail(WAITIO_ERR_STATE,
                            in_step ? "no step is open" : "a step is open: end it first");
    return 0;
}

int waitio_stage_begin_step(waitio_stage_t s, int which, double limit, int *status)
{
    int keep = waitio_return_errors_here(1), ignored, rc = ready(s, false);

    if (status == NULL)
        status = &ignored;
    *status = WAITIO_STAGE_NOT_READY;
    if (rc == 0 && s->mode == WAITIO_STAGE_WRITE) {
        rc = wio_stg_writer_begin(s);
        *status = rc == 0 ? WAITIO_STAGE_OK : WAITIO_STAGE_NOT_READY;
    } else if (rc == 0) {
        rc = wio_stg_reader_begin(s, which, wio_stg_limit(s, limit), status);
    }
    (void)waitio_return_errors_here(keep);
    return s != NULL ? wio_stg_told(s, rc) : rc;
}

int waitio_stage_end_step(waitio_stage_t s, double limit)
{
    int keep = waitio_return_errors_here(1), rc = ready(s, true);

    if (rc == 0)
        rc = s->mode == WAITIO_STAGE_WRITE ? wio_stg_writer_end(s, wio_stg_limit(s, limit))
                                           : wio_stg_reader_end(s, wio_stg_limit(s, limit));
    (void)waitio_return_errors_here(keep);
    return s != NULL ? wio_stg_told(s, rc) : rc;
}

int waitio_stage_step(waitio_stage_t s, int64_t *step)
{
    if (s == NULL || step == NULL)
        return wio_stg_fail(WAITIO_ERR_ARG, "the stream is not open, or step is NULL");
    *step = s->step;
    return 0;
}

int waitio_stage_count(waitio_stage_t s, const char *name, uint64_t *value)
{
    if (s == NULL || name == NULL || value == NULL)
        return wio_stg_fail(WAITIO_ERR_ARG, "the stream is not open, or a pointer is NULL");
    return wio_stg_told(s, s->mode == WAITIO_STAGE_WRITE ? wio_stg_writer_count(s, name, value)
                                                         : wio_stg_reader_count(s, name, value));
}
