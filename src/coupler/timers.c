/* SPDX-License-Identifier: BSD-3-Clause */
/* Times of a run, as tables: TM.COMP.peNNNNN for each process, TM.COMP for all of the component. */
#include <stdlib.h>
#include <string.h>

#include "coupler/cpl.h"

/* Seconds of one process, then for each other component, then two for each bundle. All processes of
 * a component have the same rows. */
enum { SETUP, RUN, INSIDE, OF_RUN };

struct timers {
    const struct waitio_cpl *cpl;
    size_t n;
    double *mine, *least, *most, *sum;
};

static const struct wio_cpl_bundle *bundle_at(const struct waitio_cpl *cpl, size_t i)
{
    return ((struct wio_cpl_bundle **)cpl->bundles.at)[i];
}

static void fill(const struct waitio_cpl *cpl, double *out)
{
    const struct wio_cpl_sight *s = &cpl->sight;

    out[SETUP] = (s->started > 0 ? s->started : s->ended) - s->opened;
    out[RUN] = s->started > 0 ? s->ended - s->started : 0;
    out[INSIDE] = s->inside;
    out += OF_RUN;
    for (int c = 0; c < cpl->n_components; c++)
        *out++ = s->for_component[c];
    for (size_t i = 0; i < cpl->bundles.n; i++) {
        *out++ = bundle_at(cpl, i)->costs.worked;
        *out++ = bundle_at(cpl, i)->costs.waited;
    }
}

/* @param i row */
static void name(const struct waitio_cpl *cpl, size_t i, char *text, size_t room)
{
    static const char *const fixed[] = {"set-up", "run", "run: in the coupler"};
    const size_t components = (size_t)cpl->n_components;
    const struct wio_cpl_bundle *b;

    if (i < OF_RUN) {
        wio_cpl_text(text, room, "%s", fixed[i]);
        return;
    }
    i -= OF_RUN;
    if (i < components) {
        wio_cpl_text(text, room, "run: waits for %.100s", cpl->components[i].name);
        return;
    }
    i -= components;
    b = bundle_at(cpl, i / 2);
    wio_cpl_text(text, room, "%s %.60s %s %.60s: %s", b->sends ? "put" : "get",
                 ((struct wio_cpl_var **)b->vars.at)[0]->name, b->sends ? "to" : "from",
                 cpl->components[b->sends ? b->table->to : b->table->from].name,
                 i % 2 == 0 ? "work" : "waits");
}

/* Nobody waits for itself. */
static bool is_own(const struct waitio_cpl *cpl, size_t i)
{
    return i == OF_RUN + (size_t)cpl->mine;
}

static void head(FILE *out, const struct waitio_cpl *cpl, const char *who)
{
    (void)fprintf(out, "# component '%s', %s, %lld s of model time; seconds\n",
                  cpl->components[cpl->mine].name, who, (long long)wio_cpl_clock_end(&cpl->clock));
}

static void write_own(const struct timers *t)
{
    FILE *out = wio_cpl_logs_file(t->cpl, "TM.", ".pe", true);
    char text[300];

    if (out == NULL)
        return;
    wio_cpl_text(text, sizeof text, "process %d", t->cpl->rank);
    head(out, t->cpl, text);
    for (size_t i = 0; i < t->n; i++) {
        name(t->cpl, i, text, sizeof text);
        if (!is_own(t->cpl, i))
            (void)fprintf(out, "%-60s %14.6f\n", text, t->mine[i]);
    }
    if (fclose(out) != 0)
        (void)fprintf(stderr, "waitio coupler: a file of times cannot be written to the end\n");
}

static void write_all(const struct timers *t)
{
    FILE *out = wio_cpl_logs_file(t->cpl, "TM.", "", false);
    int processes = t->cpl->components[t->cpl->mine].n;
    char text[300];

    if (out == NULL)
        return;
    wio_cpl_text(text, sizeof text, "processes: %d", processes);
    head(out, t->cpl, text);
    (void)fprintf(out, "# %-58s %14s %14s %14s\n", "", "least", "mean", "most");
    for (size_t i = 0; i < t->n; i++) {
        name(t->cpl, i, text, sizeof text);
        if (!is_own(t->cpl, i))
            (void)fprintf(out, "%-60s %14.6f %14.6f %14.6f\n", text, -t->least[i],
                          t->sum[i] / processes, t->most[i]);
    }
    if (fclose(out) != 0)
        (void)fprintf(stderr, "waitio coupler: the file of times cannot be written to the end\n");
}

/* The greatest and the sum of all processes; of what is negative, the least. */
static int reduce(struct waitio_cpl *cpl, const double *mine, double *all, size_t n,
                  WAITIO_MPI_Op op)
{
    struct wio_cpl_op wait = wio_cpl_collective(cpl, wio_cpl_set_own(cpl), 0);

    if (WAITIO_MPI_Iallreduce(mine, all, (int)n, WAITIO_MPI_DOUBLE, op, cpl->own, &wait.req) != 0)
        return wio_cpl_failed();
    return wio_cpl_wait(cpl, &wait, 1);
}

int wio_cpl_timers_write(struct waitio_cpl *cpl)
{
    size_t n = OF_RUN + (size_t)cpl->n_components + 2 * cpl->bundles.n;
    double *numbers = wio_cpl_new(5 * n, sizeof *numbers), *negative = numbers + 4 * n;
    struct timers t = {cpl, n, numbers, numbers + n, numbers + 2 * n, numbers + 3 * n};
    int rc;

    if (numbers == NULL)
        return WAITIO_ERR_NOMEM;
    fill(cpl, t.mine);
    for (size_t i = 0; i < n; i++)
        negative[i] = -t.mine[i];
    rc = reduce(cpl, negative, t.least, n, WAITIO_MPI_MAX);
    if (rc == 0)
        rc = reduce(cpl, t.mine, t.most, n, WAITIO_MPI_MAX);
    if (rc == 0)
        rc = reduce(cpl, t.mine, t.sum, n, WAITIO_MPI_SUM);
    if (rc != 0)
        return rc; /* messages may be under way: their memory stays */
    write_own(&t);
    if (cpl->rank == 0)
        write_all(&t);
    free(numbers);
    return 0;
}
