/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Staging: stage write|read|check NAME [KEY=NUMBER ...]. Writers and readers know what every
 * element must be, so each reader checks all that it gets. A failed call prints "error CODE TEXT",
 * and the program ends with 3.
 */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "waitio_stage.h"

enum { DIMS = 3, SHORT = 40 };

static long option(int argc, char **argv, const char *key, long otherwise)
{
    size_t n = strlen(key);

    for (int i = 3; i < argc; i++)
        if (strncmp(argv[i], key, n) == 0 && argv[i][n] == '=')
            return strtol(argv[i] + n + 1, NULL, 10);
    return otherwise;
}

static void say(const char *text, long number)
{
    (void)printf("%s %ld\n", text, number);
    (void)fflush(stdout);
}

static waitio_stage_t *opened; /* closed after an error */

static void must(int rc)
{
    if (rc == 0)
        return;
    (void)printf("error %d %s\n", rc, waitio_stage_last_error());
    (void)fflush(stdout);
    if (opened != NULL && *opened != NULL)
        (void)waitio_stage_close(opened, 0);
    exit(3);
}

static void expect(int fine, const char *what)
{
    if (fine)
        return;
    (void)printf("wrong: %s\n", what);
    (void)fflush(stdout);
    exit(4);
}

static void fails(int rc, int code, const char *text)
{
    if (rc == code && strstr(waitio_stage_last_error(), text) != NULL)
        return;
    (void)printf("wrong: %d, not %d with '%s': %s\n", rc, code, text, waitio_stage_last_error());
    (void)fflush(stdout);
    exit(4);
}

struct job {
    int argc;
    char **argv;
    int rank, n;
    uint64_t shape[DIMS];
    int split;
    waitio_stage_t stage;
};

/* Shares that differ in size, some of them empty. */
static void share(uint64_t whole, int rank, int n, uint64_t *start, uint64_t *count)
{
    uint64_t a = whole * (uint64_t)(rank * rank) / (uint64_t)(n * n);
    uint64_t b = whole * (uint64_t)((rank + 1) * (rank + 1)) / (uint64_t)(n * n);

    *start = a;
    *count = b - a;
}

static void my_box(const struct job *j, uint64_t *start, uint64_t *count)
{
    for (int d = 0; d < DIMS; d++) {
        start[d] = 0;
        count[d] = j->shape[d];
    }
    share(j->shape[j->split], j->rank, j->n, &start[j->split], &count[j->split]);
}

static double value(const struct job *j, int64_t step, const uint64_t *at)
{
    return (double)step * 1e6 + (double)((at[0] * j->shape[1] + at[1]) * j->shape[2] + at[2]);
}

/* Fill or compare a box. */
static int each(const struct job *j, int64_t step, const uint64_t *start, const uint64_t *count,
                double *data, int fill)
{
    uint64_t at[DIMS];

    for (at[0] = start[0]; at[0] < start[0] + count[0]; at[0]++)
        for (at[1] = start[1]; at[1] < start[1] + count[1]; at[1]++)
            for (at[2] = start[2]; at[2] < start[2] + count[2]; at[2]++, data++) {
                if (fill)
                    *data = value(j, step, at);
                else if (*data != value(j, step, at))
                    return 0;
            }
    return 1;
}

static void nap(long ms)
{
    if (ms > 0)
        (void)usleep((useconds_t)ms * 1000);
}

static void reshape(struct job *j, int variable, long at, int64_t step)
{
    if (at < 0 || step != at)
        return;
    j->shape[1] += 3;
    must(waitio_stage_reshape(j->stage, variable, j->shape));
}

static void write_step(struct job *j, int t, int p, int s, double *data, int64_t step)
{
    uint64_t start[DIMS], count[DIMS], local = (uint64_t)j->rank + 1;
    int64_t part[64];
    int32_t one = (int32_t)step;
    double time = 0.5 * (double)step;
    char note[SHORT];

    my_box(j, start, count);
    (void)each(j, step, start, count, data, 1);
    must(waitio_stage_put(j->stage, t, start, count, data,
                          step % 2 ? WAITIO_STAGE_NOW : WAITIO_STAGE_DEFERRED));
    for (uint64_t i = 0; i < local && i < 64; i++)
        part[i] = step * 100 + j->rank;
    must(waitio_stage_put(j->stage, p, NULL, &local, part, WAITIO_STAGE_NOW));
    for (uint64_t k = 0; k < 2; k++) { /* two blocks of one element each */
        uint64_t at = 2 * (uint64_t)j->rank + k, single = 1;

        must(waitio_stage_put(j->stage, s, &at, &single, &one, WAITIO_STAGE_NOW));
    }
    must(waitio_stage_put_scalar(j->stage, "time", WAITIO_STAGE_DOUBLE, &time));
    (void)snprintf(note, sizeof note, "step %d of writer %d", (int)step, j->rank);
    must(waitio_stage_put_text(j->stage, "note", note));
}

static int open_it(struct job *j, int mode)
{
    struct waitio_stage_settings set = {.limit = (double)option(j->argc, j->argv, "limit", 30)};

    set.queue = (int)option(j->argc, j->argv, "queue", 0);
    set.full = (int)option(j->argc, j->argv, "full", 0);
    set.readers = (int)option(j->argc, j->argv, "readers", mode == WAITIO_STAGE_WRITE);
    set.share = (int)option(j->argc, j->argv, "share", 0);
    opened = &j->stage;
    return waitio_stage_open(j->argv[2], mode, NULL, &set, &j->stage);
}

static void write_all(struct job *j)
{
    long steps = option(j->argc, j->argv, "steps", 5), dies = option(j->argc, j->argv, "die", -1);
    uint64_t rows = 2 * (uint64_t)j->n, value = 0,
             room = (uint64_t)(j->shape[0] * (j->shape[1] + 3) * j->shape[2]);
    double *data = malloc(room * sizeof *data);
    int t, p, s;

    must(open_it(j, WAITIO_STAGE_WRITE));
    must(waitio_stage_define(j->stage, "T", WAITIO_STAGE_DOUBLE, DIMS, j->shape, &t));
    must(waitio_stage_define(j->stage, "part", WAITIO_STAGE_INT64, 1, NULL, &p));
    must(waitio_stage_define(j->stage, "twos", WAITIO_STAGE_INT32, 1, &rows, &s));
    must(waitio_stage_attribute(j->stage, "units", WAITIO_STAGE_STRING, 0, "K"));
    for (long step = 0; step < steps; step++) {
        if (step == dies && j->rank == option(j->argc, j->argv, "who", 0))
            (void)raise(SIGKILL);
        must(waitio_stage_begin_step(j->stage, 0, 0, NULL));
        reshape(j, t, option(j->argc, j->argv, "reshape", -1), step);
        write_step(j, t, p, s, data, step);
        must(waitio_stage_end_step(j->stage, WAITIO_STAGE_DEFAULT));
        if (j->rank == 0)
            say("put", step);
        nap(option(j->argc, j->argv, "pause", 0));
    }
    must(waitio_stage_count(j->stage, "discarded", &value));
    if (j->rank == 0)
        say("discarded", (long)value);
    must(waitio_stage_count(j->stage, "queued_bytes_max", &value));
    if (j->rank == 0)
        say("most", (long)value);
    must(waitio_stage_close(&j->stage, WAITIO_STAGE_DEFAULT));
    free(data);
}

static void read_values(const struct job *j, int64_t step)
{
    const char *note, *units;
    const void *values;
    double time;
    size_t n;
    char text[SHORT];

    must(waitio_stage_get_scalar(j->stage, "time", WAITIO_STAGE_DOUBLE, &time));
    expect(time == 0.5 * (double)step, "the time");
    must(waitio_stage_get_text(j->stage, "note", &note));
    (void)snprintf(text, sizeof text, "step %d of writer 0", (int)step);
    expect(strcmp(note, text) == 0, "the note");
    must(waitio_stage_get_attribute(j->stage, "units", NULL, &n, &values));
    units = values;
    expect(n == 1 && strcmp(units, "K") == 0, "the attribute");
}

static void read_blocks(const struct job *j, int64_t step)
{
    struct waitio_stage_variable v;

    must(waitio_stage_inquire(j->stage, "part", &v));
    for (size_t b = 0; b < v.blocks; b++) {
        uint64_t count;
        int64_t part[64] = {0};
        int writer;

        must(waitio_stage_block(j->stage, "part", b, &writer, NULL, &count));
        expect(writer == (int)b && count == (uint64_t)writer + 1, "the blocks");
        must(waitio_stage_get_block(j->stage, "part", WAITIO_STAGE_INT64, b, part));
        must(waitio_stage_perform(j->stage, WAITIO_STAGE_DEFAULT));
        for (uint64_t i = 0; i < count; i++)
            expect(part[i] == step * 100 + writer, "a local array");
    }
}

/* Elements are got by their type: no number stands for any of them. */
static void read_wrongly(const struct job *j)
{
    static const int none[] = {0, -1, WAITIO_STAGE_STRING, 77};
    double room[1];

    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        char text[SHORT];

        (void)snprintf(text, sizeof text, "asked for is %d, which is no type", none[i]);
        fails(waitio_stage_get(j->stage, "T", none[i], NULL, NULL, room), WAITIO_ERR_ARG, text);
        fails(waitio_stage_get_block(j->stage, "part", none[i], 0, room), WAITIO_ERR_ARG, text);
    }
    fails(waitio_stage_get(j->stage, "T", 0, NULL, NULL, room), WAITIO_ERR_ARG, "variable 'T'");
    fails(waitio_stage_get(j->stage, "T", WAITIO_STAGE_FLOAT, NULL, NULL, room), WAITIO_ERR_ARG,
          "'T' is of type double, asked for is float");
}

static void read_step(struct job *j, int64_t step)
{
    uint64_t start[DIMS], count[DIMS], room = 1;
    struct waitio_stage_variable v;
    int32_t twos[128];
    double *data;

    must(waitio_stage_inquire(j->stage, "T", &v));
    expect(v.ndims == DIMS && v.kind == WAITIO_STAGE_GLOBAL, "the variable");
    memcpy(j->shape, v.shape, sizeof j->shape);
    my_box(j, start, count);
    for (int d = 0; d < DIMS; d++)
        room *= count[d];
    data = malloc((size_t)room * sizeof *data + 1);
    must(waitio_stage_get(j->stage, "T", WAITIO_STAGE_DOUBLE, start, count, data));
    must(waitio_stage_inquire(j->stage, "twos", &v));
    must(waitio_stage_get(j->stage, "twos", WAITIO_STAGE_INT32, NULL, NULL, twos));
    must(waitio_stage_perform(j->stage, WAITIO_STAGE_DEFAULT));
    expect(each(j, step, start, count, data, 0), "T");
    for (uint64_t i = 0; i < v.shape[0]; i++)
        expect(twos[i] == (int32_t)step, "twos");
    free(data);
    read_values(j, step);
    read_wrongly(j);
    if (option(j->argc, j->argv, "blocks", 1))
        read_blocks(j, step);
}

static void read_all(struct job *j)
{
    long dies = option(j->argc, j->argv, "die", -1),
         leaves = option(j->argc, j->argv, "leaves_in", option(j->argc, j->argv, "leave", -1)),
         dies_in = option(j->argc, j->argv, "dies_in", -1);
    int which = (int)option(j->argc, j->argv, "which", 0), status = WAITIO_STAGE_OK;
    uint64_t reused, pushes;
    long read = 0;

    nap(option(j->argc, j->argv, "late", 0));
    must(open_it(j, WAITIO_STAGE_READ));
    must(waitio_stage_select_steps(j->stage, option(j->argc, j->argv, "first", 0),
                                   option(j->argc, j->argv, "last", -1),
                                   option(j->argc, j->argv, "stride", 1)));
    say("open", j->rank);
    while (status != WAITIO_STAGE_END && read != leaves) {
        int64_t step;

        must(waitio_stage_begin_step(j->stage, which, WAITIO_STAGE_DEFAULT, &status));
        expect(status != WAITIO_STAGE_NOT_READY, "no step came in time");
        if (status != WAITIO_STAGE_OK)
            break;
        must(waitio_stage_step(j->stage, &step));
        if ((step == dies || read == dies_in) && j->rank == option(j->argc, j->argv, "who", 0))
            (void)raise(SIGKILL);
        read_step(j, step);
        say("step", (long)step);
        nap(option(j->argc, j->argv, "pause", 0));
        must(waitio_stage_end_step(j->stage, WAITIO_STAGE_DEFAULT));
        read++;
    }
    must(waitio_stage_count(j->stage, "plans_reused", &reused));
    must(waitio_stage_count(j->stage, "pushes", &pushes));
    must(waitio_stage_close(&j->stage, WAITIO_STAGE_DEFAULT));
    say("reused", (long)reused);
    say("pushes", (long)pushes);
    say("end", read);
}

/* ---- wrong calls ---------------------------------------------------------------------------- */

static void check_open(struct job *j)
{
    struct waitio_stage_settings set = {.queue = -7};

    fails(waitio_stage_open("", WAITIO_STAGE_WRITE, NULL, NULL, &j->stage), WAITIO_ERR_ARG, "name");
    fails(waitio_stage_open("x", 7, NULL, NULL, &j->stage), WAITIO_ERR_ARG, "mode 7");
    fails(waitio_stage_open("x", 1, NULL, &set, &j->stage), WAITIO_ERR_ARG, "queue is -7");
    set = (struct waitio_stage_settings){.queue = WAITIO_STAGE_SYNCHRONOUS, .full = 1};
    fails(waitio_stage_open("x", 1, NULL, &set, &j->stage), WAITIO_ERR_ARG, "synchronous");
    set = (struct waitio_stage_settings){.share = 3};
    fails(waitio_stage_open("x", 1, NULL, &set, &j->stage), WAITIO_ERR_ARG, "share is 3");
    set = (struct waitio_stage_settings){.limit = 0.1};
    fails(waitio_stage_open("nobody writes it", WAITIO_STAGE_READ, NULL, &set, &j->stage),
          WAITIO_ERR_STATE, "there is no other block that could write it");
    set = (struct waitio_stage_settings){.limit = 0.1, .readers = 1};
    fails(waitio_stage_open("nobody reads it", WAITIO_STAGE_WRITE, NULL, &set, &j->stage),
          WAITIO_ERR_TIMEOUT, "1 groups of readers were to come");
}

static void check_puts(struct job *j, int t)
{
    const uint64_t far[DIMS] = {j->shape[0], 0, 0}, one[DIMS] = {1, 1, 1}, null[DIMS] = {0, 0, 0};
    double x = 1;
    int again;

    fails(waitio_stage_put(j->stage, t, null, one, &x, 0), WAITIO_ERR_STATE, "no step is open");
    fails(waitio_stage_end_step(j->stage, 0), WAITIO_ERR_STATE, "no step is open");
    must(waitio_stage_begin_step(j->stage, 0, 0, NULL));
    fails(waitio_stage_begin_step(j->stage, 0, 0, NULL), WAITIO_ERR_STATE, "a step is open");
    fails(waitio_stage_put(j->stage, t, far, one, &x, 0), WAITIO_ERR_ARG, "outside the shape");
    fails(waitio_stage_put(j->stage, 99, far, one, &x, 0), WAITIO_ERR_ARG, "99 is no variable");
    fails(waitio_stage_put(j->stage, t, null, one, NULL, 0), WAITIO_ERR_ARG, "data is NULL");
    fails(waitio_stage_put(j->stage, t, null, one, &x, 5), WAITIO_ERR_ARG, "neither");
    fails(waitio_stage_define(j->stage, "T", WAITIO_STAGE_INT8, 1, one, &again), WAITIO_ERR_ARG,
          "'T' is defined already");
    fails(waitio_stage_define(j->stage, "U", 77, 1, one, &again), WAITIO_ERR_ARG, "no type");
    fails(waitio_stage_define(j->stage, "U", 1, 9, one, &again), WAITIO_ERR_ARG, "9 dimensions");
    fails(waitio_stage_put_scalar(j->stage, "T", WAITIO_STAGE_DOUBLE, &x), WAITIO_ERR_ARG, "array");
    must(waitio_stage_put(j->stage, t, null, one, &x, WAITIO_STAGE_NOW));
    fails(waitio_stage_reshape(j->stage, t, j->shape), WAITIO_ERR_STATE, "put in this step");
    fails(waitio_stage_get(j->stage, "T", WAITIO_STAGE_DOUBLE, NULL, NULL, &x), WAITIO_ERR_STATE,
          "not open for reading");
}

/* Two blocks of one writer overlap: everybody hears of it. */
static void check_overlap(struct job *j, int t)
{
    const uint64_t two[DIMS] = {2, 1, 1}, null[DIMS] = {0, 0, 0};
    double x[2] = {1, 2};

    must(waitio_stage_put(j->stage, t, null, two, x, WAITIO_STAGE_NOW));
    (void)waitio_stage_end_step(j->stage, 5);
    fails(waitio_stage_close(&j->stage, 5), WAITIO_ERR_ARG, "have both put [0:1, 0:1, 0:1]");
    fails(waitio_stage_close(&j->stage, 5), WAITIO_ERR_STATE, "not open");
}

static void check_memory(struct job *j)
{
    struct waitio_stage_settings set = {.memory_max = 100};
    const uint64_t n = 100;
    char data[100] = {0};
    int v;

    must(waitio_stage_open("small", WAITIO_STAGE_WRITE, NULL, &set, &j->stage));
    must(waitio_stage_define(j->stage, "v", WAITIO_STAGE_INT8, 1, &n, &v));
    for (int step = 0; step < 10; step++) { /* nobody reads: old steps go, and none is in the way */
        must(waitio_stage_begin_step(j->stage, 0, 0, NULL));
        if (step > 0)
            fails(waitio_stage_put(j->stage, v, NULL, NULL, data, 0), WAITIO_ERR_LIMIT,
                  "memory_max");
        else
            must(waitio_stage_put(j->stage, v, NULL, NULL, data, WAITIO_STAGE_DEFERRED));
        must(waitio_stage_end_step(j->stage, 5));
        if (step == 1)
            break;
    }
    must(waitio_stage_close(&j->stage, 5));
}

static void check_all(struct job *j)
{
    int t;

    check_open(j);
    must(waitio_stage_open(j->argv[2], WAITIO_STAGE_WRITE, NULL, NULL, &j->stage));
    must(waitio_stage_define(j->stage, "T", WAITIO_STAGE_DOUBLE, DIMS, j->shape, &t));
    check_puts(j, t);
    check_overlap(j, t);
    check_memory(j);
    say("checked", 0);
}

int main(int argc, char **argv)
{
    struct job j = {.argc = argc, .argv = argv};
    int *sizes, pb;

    if (argc < 3 || waitio_init(0) != 0 || waitio_pb_rank(&pb) != 0)
        return 2;
    if (waitio_get_nprocs_array(&sizes) != 0 || waitio_universe_rank(&j.rank) != 0)
        return 2;
    for (int i = 0; i < pb; i++)
        j.rank -= sizes[i];
    j.n = sizes[pb];
    j.shape[0] = (uint64_t)option(argc, argv, "nx", 13);
    j.shape[1] = (uint64_t)option(argc, argv, "ny", 7);
    j.shape[2] = (uint64_t)option(argc, argv, "nz", 5);
    j.split = (int)option(argc, argv, "split", 0);
    if (strcmp(argv[1], "write") == 0)
        write_all(&j);
    else if (strcmp(argv[1], "read") == 0)
        read_all(&j);
    else
        check_all(&j);
    return waitio_finalize() == 0 ? 0 : 5;
}
