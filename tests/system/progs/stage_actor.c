/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process that writes or reads streams as its standard input says, one call a line. It answers
 * "ok ..." or "error NUMBER text". So a test decides what has happened at which process before the
 * next call of another one.
 *
 *   join | leave
 *   open write|read NAME [KEY=NUMBER ...]: queue, readers, limit (s)
 *   put ROWS [MARK]: a step with this process's column of "field"; MARK: the attribute "mark" is
 *     this number from now on
 *   begin [LIMIT]: "ok STATUS STEP"
 *   get [TIMES]: the whole of "field", so many times. "ok MARK", 0: there is none
 *   end [LIMIT]: readers compare each element that came
 *   count NAME | close [LIMIT]
 *   halt BEFORE|AFTER TAG NUMBER: send this signal to the own process before or after the next
 *     message of this tag: request, body (of a request), data
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "waitio_stage.h"

enum { WORDS = 10, TIMES = 256, LINE = 1400 };

static struct {
    waitio_stage_t stage;
    int mode, variable, rank, n;
    uint64_t shape[2];
    double *put, *got[TIMES];
    int gets;
} me;

/* ---- answers -------------------------------------------------------------------------------- */

static void say(const char *text)
{
    (void)printf("%s\n", text);
    (void)fflush(stdout);
}

static void answer(int rc)
{
    char line[LINE];

    (void)snprintf(line, sizeof line, "error %d %s", rc, waitio_stage_last_error());
    say(rc == 0 ? "ok" : line);
}

static void answer_numbers(int rc, int64_t one, int64_t two)
{
    char line[64];

    (void)snprintf(line, sizeof line, "ok %" PRId64 " %" PRId64, one, two);
    if (rc == 0)
        say(line);
    else
        answer(rc);
}

static double number(char **words, int i, double otherwise)
{
    return words[i] != NULL ? strtod(words[i], NULL) : otherwise;
}

static int is(const char *word, const char *text)
{
    return word != NULL && strcmp(word, text) == 0;
}

/* ---- messages of this process --------------------------------------------------------------- */

static struct {
    int armed, before, signal;
    const char *tag;
} halt;

/* As in src/stage/office.h. */
static const char *kind_of(int tag)
{
    if (tag >= 1024)
        return tag % 16 == 8 ? "data" : "";
    return tag == 10 ? "request" : tag == 11 ? "body" : "";
}

/* The library's calls come here: the program's functions go before those of libraries. */
int waitio_isend(waitio_group_t group, int dst, const void *buf, size_t bytes, waitio_tag_t tag,
                 waitio_req_t *req)
{
    int (*real)(waitio_group_t, int, const void *, size_t, waitio_tag_t, waitio_req_t *), rc;
    void *found = dlsym(RTLD_NEXT, "waitio_isend");
    int now = halt.armed && strcmp(halt.tag, kind_of(tag)) == 0;

    memcpy(&real, &found, sizeof real);
    if (now)
        halt.armed = 0;
    if (now && halt.before)
        (void)raise(halt.signal);
    rc = real(group, dst, buf, bytes, tag, req);
    if (now && !halt.before)
        (void)raise(halt.signal);
    return rc;
}

static void do_halt(char **words)
{
    static char tag[16];

    (void)snprintf(tag, sizeof tag, "%s", words[2] != NULL ? words[2] : "");
    halt.before = is(words[1], "before");
    halt.tag = tag;
    halt.signal = (int)number(words, 3, SIGSTOP);
    halt.armed = 1;
    say("ok");
}

/* ---- calls ---------------------------------------------------------------------------------- */

static void do_join(void)
{
    int *sizes, pb, rc = waitio_init(60);

    if (rc == 0)
        rc = waitio_pb_rank(&pb);
    if (rc == 0)
        rc = waitio_get_nprocs_array(&sizes);
    if (rc == 0)
        rc = waitio_universe_rank(&me.rank);
    for (int i = 0; rc == 0 && i < pb; i++)
        me.rank -= sizes[i];
    me.n = rc == 0 ? sizes[pb] : 0;
    answer(rc);
}

static void do_open(char **words)
{
    struct waitio_stage_settings set = {.limit = 30};

    for (int i = 3; words[i] != NULL; i++) {
        const char *is_at = strchr(words[i], '=');
        double value = is_at != NULL ? strtod(is_at + 1, NULL) : 0;

        if (strncmp(words[i], "queue", 5) == 0)
            set.queue = (int)value;
        else if (strncmp(words[i], "readers", 7) == 0)
            set.readers = (int)value;
        else if (strncmp(words[i], "limit", 5) == 0)
            set.limit = value;
    }
    me.mode = is(words[1], "write") ? WAITIO_STAGE_WRITE : WAITIO_STAGE_READ;
    me.variable = -1;
    answer(waitio_stage_open(words[2], me.mode, NULL, &set, &me.stage));
}

static double value_at(int64_t step, uint64_t row, uint64_t column)
{
    return (double)step * 1e9 + (double)row * 64 + (double)column;
}

static int define(void)
{
    return me.variable >= 0 ? 0
                            : waitio_stage_define(me.stage, "field", WAITIO_STAGE_DOUBLE, 2,
                                                  me.shape, &me.variable);
}

/* What an earlier step has put may be lent still: it is not freed. */
static void do_put(char **words)
{
    uint64_t start[2] = {0, (uint64_t)me.rank};
    int64_t mark = (int64_t)number(words, 2, 0), step = 0;
    int rc;

    me.shape[0] = (uint64_t)number(words, 1, 4);
    me.shape[1] = (uint64_t)me.n;
    me.put = malloc(me.shape[0] * sizeof *me.put);
    rc = define();
    if (rc == 0 && mark > 0)
        rc = waitio_stage_attribute(me.stage, "mark", WAITIO_STAGE_INT64, 1, &mark);
    if (rc == 0)
        rc = waitio_stage_begin_step(me.stage, 0, 0, NULL);
    if (rc == 0)
        rc = waitio_stage_step(me.stage, &step);
    for (uint64_t i = 0; i < me.shape[0]; i++)
        me.put[i] = value_at(step, i, start[1]);
    if (rc == 0)
        rc = waitio_stage_put(me.stage, me.variable, start, (uint64_t[]){me.shape[0], 1}, me.put,
                              WAITIO_STAGE_DEFERRED);
    answer(rc);
}

static void do_begin(char **words)
{
    int status = WAITIO_STAGE_OK;
    int64_t step = -1;
    int rc = waitio_stage_begin_step(me.stage, WAITIO_STAGE_NEXT, number(words, 1, -1), &status);

    if (rc == 0)
        rc = waitio_stage_step(me.stage, &step);
    answer_numbers(rc, status, step);
}

static void do_get(char **words)
{
    struct waitio_stage_variable v;
    const void *mark = NULL;
    int rc = waitio_stage_inquire(me.stage, "field", &v);

    me.gets = (int)number(words, 1, 1);
    if (me.gets > TIMES)
        me.gets = TIMES;
    memcpy(me.shape, v.shape, sizeof me.shape);
    for (int i = 0; rc == 0 && i < me.gets; i++) {
        me.got[i] = malloc(v.shape[0] * v.shape[1] * sizeof *me.got[i]);
        rc = waitio_stage_get(me.stage, "field", WAITIO_STAGE_DOUBLE, NULL, NULL, me.got[i]);
    }
    if (rc == 0 && waitio_stage_get_attribute(me.stage, "mark", NULL, NULL, &mark) != 0)
        mark = NULL;
    answer_numbers(rc, mark != NULL ? *(const int64_t *)mark : 0, me.gets);
}

static int all_right(int64_t step)
{
    for (int k = 0; k < me.gets; k++)
        for (uint64_t i = 0; i < me.shape[0]; i++)
            for (uint64_t c = 0; c < me.shape[1]; c++)
                if (me.got[k][i * me.shape[1] + c] != value_at(step, i, c))
                    return 0;
    return 1;
}

static void do_end(char **words)
{
    int64_t step = 0;
    int rc = waitio_stage_step(me.stage, &step);

    if (rc == 0)
        rc = waitio_stage_end_step(me.stage, number(words, 1, -1));
    if (rc == 0 && !all_right(step)) {
        say("wrong elements");
        return;
    }
    for (int i = 0; rc == 0 && i < me.gets; i++)
        free(me.got[i]);
    me.gets = rc == 0 ? 0 : me.gets;
    answer(rc);
}

static void do_count(char **words)
{
    uint64_t value = 0;
    int rc = waitio_stage_count(me.stage, words[1], &value);

    answer_numbers(rc, (int64_t)value, 0);
}

static void act(char **words)
{
    if (is(words[0], "join"))
        do_join();
    else if (is(words[0], "leave"))
        answer(waitio_finalize());
    else if (is(words[0], "open"))
        do_open(words);
    else if (is(words[0], "put"))
        do_put(words);
    else if (is(words[0], "begin"))
        do_begin(words);
    else if (is(words[0], "get"))
        do_get(words);
    else if (is(words[0], "end"))
        do_end(words);
    else if (is(words[0], "count"))
        do_count(words);
    else if (is(words[0], "close"))
        answer(waitio_stage_close(&me.stage, number(words, 1, -1)));
    else if (is(words[0], "halt"))
        do_halt(words);
    else
        say("error 0 no such command");
}

int main(void)
{
    char line[256], *words[WORDS + 1], *rest;

    while (fgets(line, sizeof line, stdin) != NULL) {
        int n = 0;

        for (char *w = strtok_r(line, " \n", &rest); w != NULL && n < WORDS;
             w = strtok_r(NULL, " \n", &rest))
            words[n++] = w;
        words[n] = NULL;
        if (n > 0)
            act(words);
    }
    return 0;
}
