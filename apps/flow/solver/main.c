/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow_solver KEY=VALUE ...: the plan of a run, its time loop, what it reports. With stream=NAME it
 * hands its fields on. Writes solver.csv and solver.json, and for tests profile.csv.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "output.h"

struct job {
    struct flow_plan plan;
    const char *stream;
    int readers;
};

static const struct job usual = {
    .plan = {.n = {176, 41, 24},
             .diameter = 10,
             .at = {20, 20},
             .height = -1,
             .periodic_z = 1,
             .speed = 0.06,
             .viscosity = 0.006,
             .steps = 2000,
             .every = 50,
             .ramp = 300},
    .readers = 0,
};

/* ---- settings -------------------------------------------------------------------------------- */

static int set_whole(struct job *j, const char *key, long value)
{
    struct {
        const char *name;
        int *at;
        long least;
    } all[] = {{"nx", &j->plan.n[0], 1},
               {"ny", &j->plan.n[1], 1},
               {"nz", &j->plan.n[2], 1},
               {"height", &j->plan.height, 0},
               {"periodic", &j->plan.periodic_z, 0},
               {"steps", &j->plan.steps, 1},
               {"every", &j->plan.every, 1},
               {"ramp", &j->plan.ramp, 1},
               {"readers", &j->readers, 0}};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i].name, key) == 0 && value >= all[i].least && value < 1000000000) {
            *all[i].at = (int)value;
            return 0;
        }
    return -1;
}

static int set_real(struct job *j, const char *key, double value)
{
    struct {
        const char *name;
        double *at;
    } all[] = {{"diameter", &j->plan.diameter}, {"x", &j->plan.at[0]},
               {"y", &j->plan.at[1]},           {"speed", &j->plan.speed},
               {"force", &j->plan.force},       {"viscosity", &j->plan.viscosity}};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(all[i].name, key) == 0 && isfinite(value) && value >= 0) {
            *all[i].at = value;
            return 0;
        }
    return -1;
}

static int set(struct job *j, const char *word)
{
    const char *equals = strchr(word, '=');
    char key[32], *end;
    double real;
    long whole;

    if (equals == NULL || equals - word >= (ptrdiff_t)sizeof key)
        return -1;
    memcpy(key, word, (size_t)(equals - word));
    key[equals - word] = '\0';
    if (strcmp(key, "stream") == 0) {
        j->stream = equals + 1;
        return 0;
    }
    real = strtod(equals + 1, &end);
    if (end == equals + 1 || *end != '\0')
        return -1;
    whole = strtol(equals + 1, &end, 10);
    if (*end == '\0' && set_whole(j, key, whole) == 0)
        return 0;
    return set_real(j, key, real);
}

static int settings(struct job *j, int argc, char **argv)
{
    *j = usual;
    for (int i = 1; i < argc; i++)
        if (set(j, argv[i]) != 0) {
            (void)fprintf(stderr, "flow: '%s' is no setting of the solver, or out of range\n",
                          argv[i]);
            return -1;
        }
    if (j->plan.height < 0)
        j->plan.height = j->plan.n[2];
    if (!(j->plan.viscosity > 0) || j->plan.speed > 0.2) {
        (void)fprintf(stderr,
                      "flow: a viscosity above 0 and a speed of 0.2 at most are needed; "
                      "they are %g and %g\n",
                      j->plan.viscosity, j->plan.speed);
        return -1;
    }
    return 0;
}

/* ---- the run --------------------------------------------------------------------------------- */

static FILE *record_open(const struct flow_slab *s)
{
    FILE *record = s->rank == 0 ? fopen("solver.csv", "w") : NULL;

    if (record != NULL)
        (void)fprintf(record, "step,drag,lift,mass,entered,squares\n");
    return record;
}

static void note(FILE *record, const struct flow_slab *s, const struct flow_sums *sums,
                 double squares)
{
    if (record == NULL)
        return;
    (void)fprintf(record, "%d,%.17g,%.17g,%.17g,%.17g,%.17g\n", s->step, sums->drag[0],
                  sums->drag[1], sums->mass, sums->entered, squares);
    (void)printf("@ step %d %d\n", s->step, s->plan.steps);
    (void)fflush(stdout);
}

static int time_loop(struct flow_slab *s, struct flow_output *o, FILE *record)
{
    double squares;
    int rc = 0;

    while (rc == 0 && s->step < s->plan.steps) {
        struct flow_sums sums;

        flow_step(s);
        if (s->step % s->plan.every != 0)
            continue;
        sums = flow_sums(s);
        rc = flow_output_put(o, s, &sums, &squares);
        note(record, s, &sums, squares);
        if (rc == 0 && !isfinite(squares)) {
            (void)fprintf(stderr,
                          "flow: step %d: the flow has become unstable; take a larger "
                          "viscosity or a lower speed\n",
                          s->step);
            rc = -1;
        }
    }
    return rc;
}

static void report(const struct flow_slab *s, const struct flow_output *o, double seconds)
{
    FILE *out = s->rank == 0 ? fopen("solver.json", "w") : NULL;
    const int *n = s->plan.n;

    if (out == NULL)
        return;
    (void)fprintf(out,
                  "{\"seconds\": %.6f, \"staging\": %.6f, \"longest\": %.6f, \"opening\": %.6f, "
                  "\"handed_on\": %d, \"discarded\": %llu, \"bytes\": %llu, \"queued_most\": %llu, "
                  "\"processes\": %d, \"cells\": %ld, \"steps\": %d}\n",
                  seconds, o->spent, o->longest, o->opening, o->steps, o->discarded, o->bytes,
                  o->queued_most, s->size, (long)n[0] * n[1] * n[2], s->step);
    (void)fclose(out);
}

/* The velocity along x over y, in the middle, of the first process; for a comparison with theory.
 */
static void write_profile(const struct flow_slab *s, struct flow_output *o)
{
    size_t cells = (size_t)s->nx * (size_t)s->plan.n[1] * (size_t)s->plan.n[2];
    size_t nz = (size_t)s->plan.n[2];
    FILE *out = s->rank == 0 ? fopen("profile.csv", "w") : NULL;

    if (out == NULL)
        return;
    (void)flow_fields(s, o->fields, o->fields + cells);
    for (size_t y = 0; y < (size_t)s->plan.n[1]; y++)
        (void)fprintf(out, "%.9g\n", (double)o->fields[cells + y * nz + nz / 2]);
    (void)fclose(out);
}

static int run(const struct job *j)
{
    struct flow_slab s;
    struct flow_output o;
    FILE *record;
    double began;
    int rc;

    if (flow_make(&s, &j->plan, MPI_COMM_WORLD) != 0) {
        (void)fprintf(stderr, "flow: no memory, or more processes than the %d planes of cells\n",
                      j->plan.n[0]);
        return 1;
    }
    rc = flow_output_open(&o, &s, j->stream, j->readers);
    record = record_open(&s);
    began = MPI_Wtime();
    if (rc == 0)
        rc = time_loop(&s, &o, record);
    began = MPI_Wtime() - began;
    if (rc == 0)
        write_profile(&s, &o);
    if (record != NULL)
        (void)fclose(record);
    if (rc == 0)
        rc = flow_output_close(&o);
    else
        (void)flow_output_close(&o);
    report(&s, &o, began);
    flow_free(&s);
    return rc != 0;
}

int main(int argc, char **argv)
{
    struct job j;
    int status = 2;

    MPI_Init(&argc, &argv);
    if (settings(&j, argc, argv) == 0)
        status = run(&j);
    if (status != 0)
        MPI_Abort(MPI_COMM_WORLD, status);
    MPI_Finalize();
    return status;
}
