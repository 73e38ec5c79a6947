/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Staging with operators and derived variables: stage_ops write|read|check NAME [KEY=TEXT ...].
 * Readers know what every element must be. A failed call prints "error CODE TEXT", and the program
 * ends with 3.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "waitio_stage.h"

enum { NX = 60, NY = 90, NZ = 40 };

static const char *word(int argc, char **argv, const char *key, const char *otherwise)
{
    size_t n = strlen(key);

    for (int i = 3; i < argc; i++)
        if (strncmp(argv[i], key, n) == 0 && argv[i][n] == '=')
            return argv[i] + n + 1;
    return otherwise;
}

static double number(int argc, char **argv, const char *key, const char *otherwise)
{
    return strtod(word(argc, argv, key, otherwise), NULL);
}

static void say(const char *text, double value)
{
    (void)printf("%s %.17g\n", text, value);
    (void)fflush(stdout);
}

static waitio_stage_t stage;

static void must(int rc)
{
    if (rc == 0)
        return;
    (void)printf("error %d %s\n", rc, waitio_stage_last_error());
    (void)fflush(stdout);
    if (stage != NULL) /* within no time at all, readers would hear of no end */
        (void)waitio_stage_close(&stage, 10);
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

static double value(int64_t step, uint64_t x, uint64_t y, uint64_t z)
{
    return 100 * sin(0.05 * (double)x + 0.03 * (double)y) + (double)z + 1000 * (double)step;
}

/* Rows of this process. */
static void share(int rank, int n, uint64_t *start, uint64_t *count)
{
    start[0] = (uint64_t)(NX * rank / n);
    count[0] = (uint64_t)(NX * (rank + 1) / n) - start[0];
    start[1] = start[2] = 0;
    count[1] = NY;
    count[2] = NZ;
}

struct arrays {
    int t, u, v, speed;
    double *of_t;
    float *of_u, *of_v;
};

static void define(struct arrays *a, int argc, char **argv)
{
    const uint64_t shape[] = {NX, NY, NZ};
    const char *op = word(argc, argv, "op", "none"), *more = strchr(op, ' ');
    char name[20];

    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(op, " "), op);
    must(waitio_stage_define(stage, "T", WAITIO_STAGE_DOUBLE, 3, shape, &a->t));
    must(waitio_stage_define(stage, "u", WAITIO_STAGE_FLOAT, 3, shape, &a->u));
    must(waitio_stage_define(stage, "v", WAITIO_STAGE_FLOAT, 3, shape, &a->v));
    must(waitio_stage_derive(stage, "speed", "magnitude", 2, (int[]){a->u, a->v}, &a->speed));
    must(waitio_stage_derive(stage, "coldest", "min", 1, &a->t, NULL));
    must(waitio_stage_derive(stage, "hottest", "max", 1, &a->t, NULL));
    must(waitio_stage_operator(stage, a->t, name, more != NULL ? more + 1 : NULL));
    must(waitio_stage_operator(stage, a->speed, name, more != NULL ? more + 1 : NULL));
}

static void fill(const struct arrays *a, int64_t step, const uint64_t *start, const uint64_t *count)
{
    size_t i = 0;

    for (uint64_t x = start[0]; x < start[0] + count[0]; x++)
        for (uint64_t y = 0; y < NY; y++)
            for (uint64_t z = 0; z < NZ; z++, i++) {
                a->of_t[i] = value(step, x, y, z);
                a->of_u[i] = (float)(3 * (x + y));
                a->of_v[i] = (float)(4 * (x + y));
            }
}

/* Wait until the stream's thread has packed what was put. */
static void settle(uint64_t bytes)
{
    uint64_t raw = 0;

    while (raw < bytes) {
        must(waitio_stage_count(stage, "raw_bytes", &raw));
        (void)usleep(1000);
    }
}

static void write_all(int rank, int n, int argc, char **argv)
{
    struct waitio_stage_settings set = {.limit = 30};
    const size_t all = (size_t)NX * NY * NZ;
    struct arrays a = {.of_t = calloc(all, sizeof(double)),
                       .of_u = calloc(all, sizeof(float)),
                       .of_v = calloc(all, sizeof(float))};
    uint64_t start[3], count[3], got;

    set.readers = (int)number(argc, argv, "readers", "1");
    set.queue = (int)number(argc, argv, "queue", "0");
    set.memory_max = (size_t)number(argc, argv, "memory", "0");
    must(waitio_stage_open(argv[2], WAITIO_STAGE_WRITE, NULL, &set, &stage));
    define(&a, argc, argv);
    share(rank, n, start, count);
    for (int64_t step = 0; step < (int64_t)number(argc, argv, "steps", "4"); step++) {
        fill(&a, step, start, count);
        must(waitio_stage_begin_step(stage, 0, 0, NULL));
        must(waitio_stage_put(stage, a.t, start, count, a.of_t, WAITIO_STAGE_DEFERRED));
        must(waitio_stage_put(stage, a.u, start, count, a.of_u, WAITIO_STAGE_NOW));
        must(waitio_stage_put(stage, a.v, start, count, a.of_v, WAITIO_STAGE_DEFERRED));
        must(waitio_stage_end_step(stage, WAITIO_STAGE_DEFAULT));
        settle((uint64_t)number(argc, argv, "settle", "0") * (uint64_t)(step + 1));
    }
    must(waitio_stage_count(stage, "raw_bytes", &got));
    say("raw", (double)got);
    must(waitio_stage_count(stage, "packed_bytes", &got));
    say("packed", (double)got);
    must(waitio_stage_count(stage, "queued_bytes_max", &got));
    say("most", (double)got);
    must(waitio_stage_close(&stage, WAITIO_STAGE_DEFAULT));
    free(a.of_t);
    free(a.of_u);
    free(a.of_v);
}

/* A box across the writers' blocks. */
static void read_step(int64_t step, int rank, int n, double error)
{
    const uint64_t start[] = {2, (uint64_t)(NY * rank / n), 3};
    const uint64_t count[] = {NX - 4, (uint64_t)(NY * (rank + 1) / n) - start[1], NZ - 7};
    size_t room = (size_t)(count[0] * count[1] * count[2]), i = 0;
    double *t = calloc(room, sizeof *t), low, high, worst = 0;
    float *speed = calloc(room, sizeof *speed);

    fails(waitio_stage_get(stage, "T", 0, start, count, t), WAITIO_ERR_ARG,
          "'T' is of type double, asked for is 0");
    must(waitio_stage_get(stage, "T", WAITIO_STAGE_DOUBLE, start, count, t));
    must(waitio_stage_get(stage, "speed", WAITIO_STAGE_FLOAT, start, count, speed));
    must(waitio_stage_perform(stage, WAITIO_STAGE_DEFAULT));
    must(waitio_stage_get_scalar(stage, "coldest", WAITIO_STAGE_DOUBLE, &low));
    must(waitio_stage_get_scalar(stage, "hottest", WAITIO_STAGE_DOUBLE, &high));
    for (uint64_t x = start[0]; x < start[0] + count[0]; x++)
        for (uint64_t y = start[1]; y < start[1] + count[1]; y++)
            for (uint64_t z = start[2]; z < start[2] + count[2]; z++, i++) {
                worst = fmax(worst, fabs(t[i] - value(step, x, y, z)));
                worst = fmax(worst, fabs((double)speed[i] - 5.0 * (double)(x + y)));
                expect(low <= value(step, x, y, z) && value(step, x, y, z) <= high, "extremes");
            }
    say("worst", worst);
    expect(worst <= error, "an element");
    expect(high - low > 200 && high - low < 240, "min and max of all writers");
    free(t);
    free(speed);
}

static void read_all(int rank, int n, int argc, char **argv)
{
    struct waitio_stage_settings set = {.limit = 30};
    double error = number(argc, argv, "error", "0");
    int status = WAITIO_STAGE_OK;
    const char *text;

    must(waitio_stage_open(argv[2], WAITIO_STAGE_READ, NULL, &set, &stage));
    for (;;) {
        int64_t step;

        must(waitio_stage_begin_step(stage, WAITIO_STAGE_NEXT, WAITIO_STAGE_DEFAULT, &status));
        if (status != WAITIO_STAGE_OK)
            break;
        must(waitio_stage_step(stage, &step));
        must(waitio_stage_get_operator(stage, "T", &text));
        expect(strcmp(text, word(argc, argv, "op", "")) == 0, text);
        read_step(step, rank, n, error);
        must(waitio_stage_end_step(stage, WAITIO_STAGE_DEFAULT));
        say("step", (double)step);
    }
    must(waitio_stage_close(&stage, WAITIO_STAGE_DEFAULT));
}

static void check_all(const char *name)
{
    const uint64_t shape[] = {4}, two[] = {2};
    const double x[4] = {1, 2, 3, 4};
    int t, u, k, speed, none;

    must(waitio_stage_open(name, WAITIO_STAGE_WRITE, NULL, NULL, &stage));
    must(waitio_stage_define(stage, "T", WAITIO_STAGE_DOUBLE, 1, shape, &t));
    must(waitio_stage_define(stage, "u", WAITIO_STAGE_DOUBLE, 1, shape, &u));
    must(waitio_stage_define(stage, "k", WAITIO_STAGE_INT32, 1, shape, &k));
    fails(waitio_stage_operator(stage, 9, "zstd", NULL), WAITIO_ERR_ARG, "9 is no variable");
    fails(waitio_stage_operator(stage, t, "rar", ""), WAITIO_ERR_UNSUPPORTED, "no operator 'rar'");
    fails(waitio_stage_operator(stage, k, "zfp", "rate=8"), WAITIO_ERR_ARG,
          "'k': the operator zfp");
    fails(waitio_stage_operator(stage, t, "zfp", ""), WAITIO_ERR_ARG, "'T': zfp needs accuracy");
    fails(waitio_stage_derive(stage, "a", "curl", 1, &t, NULL), WAITIO_ERR_ARG, "not by 'curl'");
    fails(waitio_stage_derive(stage, "a", "min", 2, (int[]){t, u}, NULL), WAITIO_ERR_ARG, "of one");
    fails(waitio_stage_derive(stage, "a", "magnitude", 2, (int[]){t, k}, NULL), WAITIO_ERR_ARG,
          "'T' and 'k' differ");
    fails(waitio_stage_derive(stage, "a", "magnitude", 1, &k, NULL), WAITIO_ERR_ARG,
          "float or double");
    fails(waitio_stage_derive(stage, "T", "min", 1, &t, NULL), WAITIO_ERR_ARG, "defined already");
    must(waitio_stage_derive(stage, "speed", "magnitude", 2, (int[]){t, u}, &speed));
    must(waitio_stage_derive(stage, "low", "min", 1, &t, &none));
    expect(none == -1, "a scalar is no array");
    must(waitio_stage_begin_step(stage, 0, 0, NULL));
    fails(waitio_stage_put(stage, speed, NULL, NULL, x, 0), WAITIO_ERR_ARG, "'speed' is derived");
    fails(waitio_stage_put_scalar(stage, "low", WAITIO_STAGE_DOUBLE, x), WAITIO_ERR_ARG,
          "'low' is derived");
    must(waitio_stage_put(stage, t, NULL, NULL, x, WAITIO_STAGE_NOW));
    fails(waitio_stage_operator(stage, t, "none", NULL), WAITIO_ERR_STATE, "put in this step");
    fails(waitio_stage_end_step(stage, 5), WAITIO_ERR_ARG, "of 'T' 1 blocks were put, of 'u' 0");
    must(waitio_stage_put(stage, u, NULL, two, x, WAITIO_STAGE_NOW));
    fails(waitio_stage_end_step(stage, 5), WAITIO_ERR_ARG, "whose blocks differ");
    (void)waitio_stage_close(&stage, 5);
    say("checked", 0);
}

int main(int argc, char **argv)
{
    int *sizes, pb, rank;

    if (argc < 3 || waitio_init(0) != 0 || waitio_pb_rank(&pb) != 0)
        return 2;
    if (waitio_get_nprocs_array(&sizes) != 0 || waitio_universe_rank(&rank) != 0)
        return 2;
    for (int i = 0; i < pb; i++)
        rank -= sizes[i];
    if (strcmp(argv[1], "write") == 0)
        write_all(rank, sizes[pb], argc, argv);
    else if (strcmp(argv[1], "read") == 0)
        read_all(rank, sizes[pb], argc, argv);
    else
        check_all(argv[2]);
    return waitio_finalize() == 0 ? 0 : 5;
}
