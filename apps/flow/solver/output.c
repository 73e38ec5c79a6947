/* SPDX-License-Identifier: BSD-3-Clause */
/* The flow as a stream: fields, where they are, and numbers. */
#include "output.h"

#include <stdio.h>
#include <stdlib.h>

enum { QUEUE = 2, WAIT = 60 };

static int told(int rc, const char *what)
{
    if (rc != 0)
        (void)fprintf(stderr, "flow: %s: %s\n", what, waitio_stage_last_error());
    return rc;
}

static int define(struct flow_output *o, const struct flow_slab *s)
{
    const int *n = s->plan.n;
    uint64_t cells[3] = {(uint64_t)n[0], (uint64_t)n[1], (uint64_t)n[2]};
    uint64_t vectors[4] = {3, cells[0], cells[1], cells[2]};
    static const char *axes[3] = {"x", "y", "z"};
    int rc =
        waitio_stage_define(o->stream, "velocity", WAITIO_STAGE_FLOAT, 4, vectors, &o->velocity);

    if (rc == 0)
        rc = waitio_stage_define(o->stream, "density", WAITIO_STAGE_FLOAT, 3, cells, &o->density);
    if (rc == 0)
        rc = waitio_stage_define(o->stream, "body", WAITIO_STAGE_UINT8, 3, cells, &o->body);
    for (int d = 0; rc == 0 && d < 3; d++)
        rc =
            waitio_stage_define(o->stream, axes[d], WAITIO_STAGE_DOUBLE, 1, &cells[d], &o->axis[d]);
    return rc;
}

static int describe(struct flow_output *o, const struct flow_slab *s)
{
    static const char *texts[][2] = {
        {"title", "Flow around a cylinder, lattice Boltzmann, in units of the lattice"},
        {"velocity/dimensions", "component x y z"},
        {"velocity/long_name", "velocity"},
        {"density/dimensions", "x y z"},
        {"density/long_name", "density"},
        {"body/dimensions", "x y z"},
        {"body/long_name", "1 inside the cylinder"},
        {"x/dimensions", "x"},
        {"y/dimensions", "y"},
        {"z/dimensions", "z"},
        {"time/long_name", "steps of the lattice"},
    };
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"diameter", s->plan.diameter},
                   {"speed", s->plan.speed},
                   {"viscosity", s->plan.viscosity},
                   {"height", s->plan.height}};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < sizeof texts / sizeof texts[0]; i++)
        rc = waitio_stage_attribute(o->stream, texts[i][0], WAITIO_STAGE_STRING, 0, texts[i][1]);
    for (size_t i = 0; rc == 0 && i < sizeof numbers / sizeof numbers[0]; i++)
        rc = waitio_stage_attribute(o->stream, numbers[i].name, WAITIO_STAGE_DOUBLE, 1,
                                    &numbers[i].value);
    return rc;
}

int flow_output_open(struct flow_output *o, const struct flow_slab *s, const char *name,
                     int readers)
{
    struct waitio_stage_settings set = {.limit = WAIT, .queue = QUEUE};
    size_t n = (size_t)s->nx * (size_t)s->plan.n[1] * (size_t)s->plan.n[2];
    double began = MPI_Wtime();
    int rc;

    *o = (struct flow_output){.name = name};
    o->fields = malloc(4 * n * sizeof *o->fields);
    if (o->fields == NULL) {
        (void)fprintf(stderr, "flow: no memory for %zu cells\n", n);
        return WAITIO_ERR_NOMEM;
    }
    if (name == NULL)
        return 0;
    set.full = WAITIO_STAGE_DISCARD_OLDEST;
    set.readers = readers;
    rc = waitio_stage_open(name, WAITIO_STAGE_WRITE, NULL, &set, &o->stream);
    if (rc == 0)
        rc = define(o, s);
    if (rc == 0)
        rc = describe(o, s);
    o->opening = MPI_Wtime() - began;
    return told(rc, "opening the stream");
}

/* ---- a step ---------------------------------------------------------------------------------- */

static int put_axes(struct flow_output *o, const struct flow_slab *s)
{
    int rc = 0;

    for (int d = 0; rc == 0 && d < 3; d++) {
        int first = d == 0 ? s->x0 : 0, n = d == 0 ? s->nx : s->plan.n[d];
        uint64_t start = (uint64_t)first, count = (uint64_t)n;
        double *places;

        if (d > 0 && s->rank > 0)
            continue; /* all have the same: the first puts it */
        places = malloc((size_t)n * sizeof *places);
        if (places == NULL)
            return WAITIO_ERR_NOMEM;
        for (int i = 0; i < n; i++)
            places[i] = first + i + 0.5;
        rc = waitio_stage_put(o->stream, o->axis[d], &start, &count, places, WAITIO_STAGE_NOW);
        free(places);
    }
    return rc;
}

static int put_body(struct flow_output *o, const struct flow_slab *s, const uint64_t *start,
                    const uint64_t *count)
{
    unsigned char *body = malloc((size_t)(count[0] * count[1] * count[2]) + 1), *at = body;
    int rc;

    if (body == NULL)
        return WAITIO_ERR_NOMEM;
    for (int x = 0; x < s->nx; x++)
        for (int y = 0; y < s->plan.n[1]; y++)
            for (int z = 0; z < s->plan.n[2]; z++)
                *at++ = s->kind[flow_at(s, x, y, z)] == BODY;
    rc = waitio_stage_put(o->stream, o->body, start, count, body, WAITIO_STAGE_NOW);
    free(body);
    return rc;
}

static int put_fields(struct flow_output *o, const struct flow_slab *s)
{
    const int *n = s->plan.n;
    uint64_t start[4] = {0, (uint64_t)s->x0, 0, 0};
    uint64_t count[4] = {3, (uint64_t)s->nx, (uint64_t)n[1], (uint64_t)n[2]};
    size_t cells = (size_t)(count[1] * count[2] * count[3]);
    int rc = waitio_stage_put(o->stream, o->density, start + 1, count + 1, o->fields,
                              WAITIO_STAGE_DEFERRED);

    if (rc == 0)
        rc = waitio_stage_put(o->stream, o->velocity, start, count, o->fields + cells,
                              WAITIO_STAGE_DEFERRED);
    if (rc == 0)
        rc = put_body(o, s, start + 1, count + 1);
    return rc == 0 ? put_axes(o, s) : rc;
}

static int put_numbers(struct flow_output *o, const struct flow_slab *s,
                       const struct flow_sums *sums, double energy)
{
    const struct {
        const char *name;
        double value;
    } all[] = {{"time", s->step},
               {"drag", sums->drag[0]},
               {"lift", sums->drag[1]},
               {"mass", sums->mass},
               {"squares", energy}};
    int rc = 0;

    for (size_t i = 0; rc == 0 && s->rank == 0 && i < sizeof all / sizeof all[0]; i++)
        rc = waitio_stage_put_scalar(o->stream, all[i].name, WAITIO_STAGE_DOUBLE, &all[i].value);
    return rc;
}

int flow_output_put(struct flow_output *o, struct flow_slab *s, const struct flow_sums *sums,
                    double *energy)
{
    size_t cells = (size_t)s->nx * (size_t)s->plan.n[1] * (size_t)s->plan.n[2];
    double mine = flow_fields(s, o->fields, o->fields + cells), began, took;
    int rc = 0;

    MPI_Allreduce(&mine, energy, 1, MPI_DOUBLE, MPI_SUM, s->comm);
    if (o->stream == NULL)
        return 0;
    began = MPI_Wtime();
    rc = waitio_stage_begin_step(o->stream, 0, 0, NULL);
    if (rc == 0)
        rc = put_fields(o, s);
    if (rc == 0)
        rc = put_numbers(o, s, sums, *energy);
    if (rc == 0)
        rc = waitio_stage_end_step(o->stream, WAITIO_STAGE_DEFAULT);
    took = MPI_Wtime() - began;
    o->spent += took;
    if (took > o->longest)
        o->longest = took;
    o->steps++;
    return told(rc, "handing on a step");
}

int flow_output_close(struct flow_output *o)
{
    uint64_t value;
    int rc = 0;

    free(o->fields);
    o->fields = NULL;
    if (o->stream == NULL)
        return 0;
    if (waitio_stage_count(o->stream, "discarded", &value) == 0)
        o->discarded = value;
    if (waitio_stage_count(o->stream, "bytes", &value) == 0)
        o->bytes = value;
    if (waitio_stage_count(o->stream, "queued_bytes_max", &value) == 0)
        o->queued_most = value;
    rc = told(waitio_stage_close(&o->stream, WAITIO_STAGE_DEFAULT), "closing the stream");
    if (waitio_finalize() != 0 && rc == 0)
        rc = WAITIO_ERR_STATE;
    return rc;
}
