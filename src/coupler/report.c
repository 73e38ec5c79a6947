/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One report of a run. Each process sends its numbers to the writer: those of itself, what it
 * waited for each component, and those of its bundles by the number of their first link in the
 * configuration, which all components read alike. The writer keeps sums for components and links.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coupler/cpl.h"
#include "coupler/names.h"

/* A process's record: HEAD numbers, then one for each component, then BUNDLE for each bundle. */
enum { OF_COMPONENT, OF_WALL, OF_INSIDE, OF_BUNDLES, HEAD };
enum { OF_LINK, OF_SENDS, OF_TIMES, OF_MESSAGES, OF_BYTES, OF_WAITED, BUNDLE };

/* Waiting below this part of the time is not worth a change. */
static const double WORTH = 0.05;

/* A component, as sums over its processes. */
struct part {
    double n, wall, inside, waits;
    double *waits_for; /* by component */
};

/* A bundle, by its first link: what receivers saw. */
struct way {
    double times, messages, bytes, waited, longest, sender_waited;
    bool there;
};

struct report {
    const struct waitio_cpl *cpl;
    struct part *parts;
    struct way *ways; /* by link */
};

static size_t link_number(const struct waitio_cpl *cpl, const struct wio_cpl_bundle *b)
{
    const struct wio_cpl_link *first = ((struct wio_cpl_var **)b->vars.at)[0]->link;

    return (size_t)(first - (const struct wio_cpl_link *)cpl->conf.links.at);
}

static size_t record_size(const struct waitio_cpl *cpl)
{
    return HEAD + (size_t)cpl->n_components + BUNDLE * cpl->bundles.n;
}

static void fill(const struct waitio_cpl *cpl, double *out)
{
    const struct wio_cpl_sight *s = &cpl->sight;

    *out++ = cpl->mine;
    *out++ = s->started > 0 ? s->ended - s->started : 0;
    *out++ = s->inside;
    *out++ = (double)cpl->bundles.n;
    for (int c = 0; c < cpl->n_components; c++)
        *out++ = s->for_component[c];
    for (size_t i = 0; i < cpl->bundles.n; i++) {
        const struct wio_cpl_bundle *b = ((struct wio_cpl_bundle **)cpl->bundles.at)[i];

        *out++ = (double)link_number(cpl, b);
        *out++ = b->sends;
        *out++ = (double)b->costs.exchanges;
        *out++ = (double)b->costs.messages;
        *out++ = (double)b->costs.bytes;
        *out++ = b->waited;
    }
}

/* ---- sums ---------------------------------------------------------------------------------- */

static void add_way(struct report *r, const double *in)
{
    double at = in[OF_LINK];
    struct way *w;

    if (at < 0 || at >= (double)r->cpl->conf.links.n)
        return; /* files that differ between components that do not talk to each other */
    w = &r->ways[(size_t)at];
    w->there = true;
    if (in[OF_SENDS] != 0) {
        w->sender_waited += in[OF_WAITED];
        return;
    }
    w->times = in[OF_TIMES] > w->times ? in[OF_TIMES] : w->times;
    w->messages += in[OF_MESSAGES];
    w->bytes += in[OF_BYTES];
    w->waited += in[OF_WAITED];
    w->longest = in[OF_WAITED] > w->longest ? in[OF_WAITED] : w->longest;
}

/* @return numbers of the record, 0: it is none */
static size_t add_record(struct report *r, const double *in, size_t n)
{
    const size_t all = (size_t)r->cpl->n_components;
    struct part *p;
    size_t length;

    if (n < HEAD + all || in[OF_COMPONENT] < 0 || in[OF_COMPONENT] >= (double)all ||
        in[OF_BUNDLES] < 0 || in[OF_BUNDLES] > (double)n)
        return 0;
    length = HEAD + all + BUNDLE * (size_t)in[OF_BUNDLES];
    if (length > n)
        return 0;
    p = &r->parts[(size_t)in[OF_COMPONENT]];
    p->n++;
    p->wall += in[OF_WALL];
    p->inside += in[OF_INSIDE];
    for (size_t c = 0; c < all; c++) {
        p->waits_for[c] += in[HEAD + c];
        p->waits += in[HEAD + c];
    }
    for (size_t i = HEAD + all; i < length; i += BUNDLE)
        add_way(r, in + i);
    return length;
}

static double of_time(const struct part *p, double seconds)
{
    return p->wall > 0 ? seconds / p->wall : 0;
}

/* Seconds that one process computes. */
static double computes(const struct part *p)
{
    return p->n > 0 ? (p->wall - p->inside) / p->n : 0;
}

/* ---- advice -------------------------------------------------------------------------------- */

/* The link by which a component runs after another, NULL: none. */
static const struct wio_cpl_link *serial(const struct waitio_cpl *cpl, int waits, int other)
{
    for (size_t i = 0; i < cpl->conf.links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(&cpl->conf, i);

        if (l->lag == WIO_CPL_LAG_SERIAL && strcmp(l->comp_get, cpl->components[waits].name) == 0 &&
            strcmp(l->comp_put, cpl->components[other].name) == 0)
            return l;
    }
    return NULL;
}

/* The other one computes longer. */
static void advise_more(const struct part *p, const struct part *q, const char *name, char *text,
                        size_t room)
{
    double both = p->n + q->n, work = p->n * computes(p) + q->n * computes(q);
    double more = q->n * computes(q) / computes(p), share = both * q->n * computes(q) / work;

    share = (double)(int64_t)((share > both - 1 ? both - 1 : share) + 0.5);
    wio_cpl_text(text, room, "give %s more processes, about %.0f instead of %.0f if it scales",
                 name, more < q->n + 1 ? q->n + 1 : more, q->n);
    if (share > q->n)
        wio_cpl_text(text + strlen(text), room - strlen(text),
                     "; or, of the %.0f of both, about %.0f to %s", both, share, name);
}

static void advise(const struct report *r, int c, int d, char *text, size_t room)
{
    const struct waitio_cpl *cpl = r->cpl;
    const struct part *p = &r->parts[c], *q = &r->parts[d];
    const char *a = cpl->components[c].name, *b = cpl->components[d].name;
    const struct wio_cpl_link *l = serial(cpl, c, d);
    size_t n;

    wio_cpl_text(text, room, "%s waits %.0f %% of its time for %s: ", a,
                 100 * of_time(p, p->waits_for[d]), b);
    n = strlen(text);
    if (l != NULL)
        wio_cpl_text(
            text + n, room - n,
            "with lag = 1 (%s:%d) it runs after it; with lag = -1 both compute at the same "
            "time",
            cpl->conf.file, l->line);
    else if (computes(q) > computes(p) && computes(p) > 0)
        advise_more(p, q, b, text + n, room - n);
    else
        wio_cpl_text(text + n, room - n,
                     "but %s computes no longer (%.3g s and %.3g s a process); it waits itself for "
                     "others, or its steps are uneven",
                     b, computes(q), computes(p));
}

/* ---- files --------------------------------------------------------------------------------- */

static void write_parts(FILE *out, const struct report *r)
{
    (void)fprintf(out, "%-20s %9s %9s %9s %9s  %s\n", "component", "processes", "computes", "waits",
                  "exchanges", "waits for");
    for (int c = 0; c < r->cpl->n_components; c++) {
        const struct part *p = &r->parts[c];

        (void)fprintf(out, "%-20s %9.0f %7.1f %% %7.1f %% %7.1f %% ", r->cpl->components[c].name,
                      p->n, 100 * of_time(p, p->wall - p->inside), 100 * of_time(p, p->waits),
                      100 * of_time(p, p->inside - p->waits));
        for (int d = 0; d < r->cpl->n_components; d++)
            if (of_time(p, p->waits_for[d]) >= 0.0005)
                (void)fprintf(out, " %s %.1f %%", r->cpl->components[d].name,
                              100 * of_time(p, p->waits_for[d]));
        (void)fputc('\n', out);
    }
}

static void write_ways(FILE *out, const struct report *r)
{
    (void)fprintf(out, "\n%-44s %8s %6s %9s %10s %10s %10s\n", "exchange", "every", "times",
                  "messages", "MiB", "waited", "longest");
    for (size_t i = 0; i < r->cpl->conf.links.n; i++) {
        const struct wio_cpl_link *l = wio_cpl_conf_link(&r->cpl->conf, i);
        const struct way *w = &r->ways[i];
        char name[300];

        if (!w->there)
            continue;
        wio_cpl_text(name, sizeof name, "%s -> %s: %s", l->comp_put, l->comp_get, l->var_get);
        (void)fprintf(out, "%-44s %6lld s %6.0f %9.0f %10.3f %8.3f s %8.3f s\n", name,
                      (long long)l->interval, w->times, w->messages, w->bytes / 1048576, w->waited,
                      w->longest);
    }
    (void)fprintf(out, "waited: seconds of all receiving processes together; longest: of one. "
                       "Variables of one\ntable, interval and lag travel together, under the name "
                       "of the first.\n");
}

/* Each piece of advice. @return how many */
static int each_advice(FILE *out, const struct report *r, bool json)
{
    int n = 0;

    for (int c = 0; c < r->cpl->n_components; c++)
        for (int d = 0; d < r->cpl->n_components; d++) {
            char text[1400];

            if (of_time(&r->parts[c], r->parts[c].waits_for[d]) < WORTH || c == d)
                continue;
            advise(r, c, d, text, sizeof text);
            if (json) {
                (void)fputs(n > 0 ? ", " : "", out);
                wio_cpl_quote(out, text);
            } else
                (void)fprintf(out, "%s\n", text);
            n++;
        }
    return n;
}

static void write_text(FILE *out, const struct report *r)
{
    const struct wio_cpl_sight *s = &r->cpl->sight;

    (void)fprintf(out, "WaitIO coupler: %d components, %lld s of model time in %.3f s\n\n",
                  r->cpl->n_components, (long long)wio_cpl_clock_end(&r->cpl->clock),
                  s->ended - s->started);
    write_parts(out, r);
    write_ways(out, r);
    (void)fputc('\n', out);
    if (each_advice(out, r, false) == 0)
        (void)fprintf(out, "No component waits %.0f %% of its time for another.\n", 100 * WORTH);
}

static void json_part(FILE *out, const struct report *r, int c)
{
    const struct part *p = &r->parts[c];
    bool first = true;

    (void)fprintf(out, "%s\n    {\"name\": ", c > 0 ? "," : "");
    wio_cpl_quote(out, r->cpl->components[c].name);
    (void)fprintf(out,
                  ", \"processes\": %.0f, \"seconds\": %.6f, \"computes\": %.6f, \"waits\": %.6f, "
                  "\"exchanges\": %.6f, \"waits_for\": {",
                  p->n, p->wall, p->wall - p->inside, p->waits, p->inside - p->waits);
    for (int d = 0; d < r->cpl->n_components; d++) {
        if (p->waits_for[d] <= 0)
            continue;
        (void)fputs(first ? "" : ", ", out);
        first = false;
        wio_cpl_quote(out, r->cpl->components[d].name);
        (void)fprintf(out, ": %.6f", p->waits_for[d]);
    }
    (void)fputs("}}", out);
}

static void json_way(FILE *out, const struct wio_cpl_link *l, const struct way *w, bool first)
{
    const char *texts[] = {"from", l->comp_put, "to",  l->comp_get,
                           "put",  l->var_put,  "get", l->var_get};

    (void)fprintf(out, "%s\n    {", first ? "" : ",");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i += 2) {
        (void)fprintf(out, "\"%s\": ", texts[i]);
        wio_cpl_quote(out, texts[i + 1]);
        (void)fputs(", ", out);
    }
    (void)fprintf(out,
                  "\"interval\": %lld, \"lag\": %d, \"times\": %.0f, \"messages\": %.0f, "
                  "\"bytes\": %.0f, \"waited\": %.6f, \"longest\": %.6f, \"sender_waited\": %.6f}",
                  (long long)l->interval, l->lag, w->times, w->messages, w->bytes, w->waited,
                  w->longest, w->sender_waited);
}

static void write_json(FILE *out, const struct report *r)
{
    const struct wio_cpl_sight *s = &r->cpl->sight;
    bool first = true;

    (void)fprintf(out, "{\n  \"model_seconds\": %lld,\n  \"seconds\": %.6f,\n  \"components\": [",
                  (long long)wio_cpl_clock_end(&r->cpl->clock), s->ended - s->started);
    for (int c = 0; c < r->cpl->n_components; c++)
        json_part(out, r, c);
    (void)fputs("\n  ],\n  \"exchanges\": [", out);
    for (size_t i = 0; i < r->cpl->conf.links.n; i++)
        if (r->ways[i].there) {
            json_way(out, wio_cpl_conf_link(&r->cpl->conf, i), &r->ways[i], first);
            first = false;
        }
    (void)fputs("\n  ],\n  \"advice\": [", out);
    (void)each_advice(out, r, true);
    (void)fputs("]\n}\n", out);
}

static void write_file(const char *path, const char *ending, const struct report *r,
                       void (*body)(FILE *, const struct report *))
{
    char whole[PATH_MAX];
    FILE *out;

    wio_cpl_text(whole, sizeof whole, "%s%s", path, ending);
    out = fopen(whole, "w");
    if (out != NULL)
        body(out, r);
    if (out == NULL || fclose(out) != 0)
        (void)fprintf(stderr,
                      "waitio coupler: the report '%s' (WAITIO_CPL_REPORT, report) cannot be "
                      "written\n",
                      whole);
}

static int make(struct report *r)
{
    size_t n = (size_t)r->cpl->n_components;
    bool enough;

    r->parts = wio_cpl_new(n, sizeof *r->parts);
    r->ways = wio_cpl_new(r->cpl->conf.links.n, sizeof *r->ways);
    enough = r->parts != NULL && r->ways != NULL;
    for (size_t c = 0; enough && c < n; c++) {
        r->parts[c].waits_for = wio_cpl_new(n, sizeof(double));
        enough = r->parts[c].waits_for != NULL;
    }
    return enough ? 0 : WAITIO_ERR_NOMEM;
}

static void unmake(struct report *r)
{
    for (int c = 0; r->parts != NULL && c < r->cpl->n_components; c++)
        free(r->parts[c].waits_for);
    free(r->parts);
    free(r->ways);
}

static void write_where(const struct report *r, const char *path)
{
    if (path == NULL)
        return;
    if (strcmp(path, "-") == 0) {
        write_text(stderr, r);
        return;
    }
    write_file(path, "", r, write_text);
    write_file(path, ".json", r, write_json);
}

static int evaluate(const struct waitio_cpl *cpl, const double *numbers, size_t n)
{
    struct report r = {.cpl = cpl};
    int rc = make(&r);

    for (size_t at = 0, step = 1; rc == 0 && step > 0 && at < n; at += step)
        step = add_record(&r, numbers + at, n - at);
    if (rc == 0)
        write_where(&r, cpl->sight.report_to);
    unmake(&r);
    return rc;
}

/* ---- gathering ----------------------------------------------------------------------------- */

/* Where each process's record goes. @return numbers of all, 0: more than an int counts */
static size_t places(const struct waitio_cpl *cpl, const int *counts, int *at)
{
    size_t n = 0;

    for (int i = 0; i < cpl->size; i++) {
        at[i] = (int)n;
        n += (size_t)counts[i];
        if (n > INT_MAX)
            return 0;
    }
    return n;
}

static int gather(struct waitio_cpl *cpl, double *mine, int *counts, int *at)
{
    bool writes = cpl->me == cpl->sight.writer;
    int count = (int)record_size(cpl), rc;
    struct wio_cpl_op op = {.peer = -1};
    double *all = NULL;
    size_t n = 0;

    if (WAITIO_MPI_Igather(&count, 1, WAITIO_MPI_INT, counts, 1, WAITIO_MPI_INT, cpl->sight.writer,
                           cpl->all, &op.req) != 0)
        return wio_cpl_failed();
    rc = wio_cpl_wait(cpl, &op, 1);
    if (rc == 0 && writes) {
        n = places(cpl, counts, at);
        all = n > 0 ? wio_cpl_new(n, sizeof *all) : NULL;
        if (all == NULL)
            return wio_cpl_fail(WAITIO_ERR_LIMIT,
                                "the report of %d processes has no place in "
                                "memory: leave WAITIO_CPL_REPORT out",
                                cpl->size);
    }
    if (rc == 0 &&
        WAITIO_MPI_Igatherv(mine, count, WAITIO_MPI_DOUBLE, all, counts, at, WAITIO_MPI_DOUBLE,
                            cpl->sight.writer, cpl->all, &op.req) != 0)
        rc = wio_cpl_failed();
    if (rc == 0)
        rc = wio_cpl_wait(cpl, &op, 1);
    if (rc == 0 && writes)
        rc = evaluate(cpl, all, n);
    if (rc == 0)
        free(all); /* else messages may be under way */
    return rc;
}

int wio_cpl_report(struct waitio_cpl *cpl)
{
    double *mine = wio_cpl_new(record_size(cpl), sizeof *mine);
    int *counts = wio_cpl_new((size_t)cpl->size, sizeof *counts);
    int *at = wio_cpl_new((size_t)cpl->size, sizeof *at);
    int rc = mine == NULL || counts == NULL || at == NULL ? WAITIO_ERR_NOMEM : 0;

    if (rc == 0) {
        fill(cpl, mine);
        rc = gather(cpl, mine, counts, at);
    }
    if (rc == 0) {
        free(mine);
        free(counts);
        free(at);
    }
    return rc;
}
