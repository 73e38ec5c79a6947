/* SPDX-License-Identifier: BSD-3-Clause */
/** @file report.c  What universe rank 0 shows: progress, tables, the JSON file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf.h"

static const char *size_text(size_t n, char *buf, size_t room)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    int u = 0;
    while (u < 3 && n >= 1024 && n % 1024 == 0) {
        n /= 1024;
        u++;
    }
    snprintf(buf, room, "%zu %s", n, units[u]);
    return buf;
}

static const char *const pairing_text[] = {"", "within blocks", "across blocks", "across hosts"};

/* ---- JSON ---- */

static void json_string(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s != '\0'; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            fprintf(f, "\\u%04x", c);
        else
            fputc(c, f);
    }
    fputc('"', f);
}

static void json_begin(struct perf_report *r)
{
    const struct perf_team *t = r->team;
    FILE *f = r->json_out;
    const char *wanted = getenv("WAITIO_COMM_TYPE"), *progress = getenv("WAITIO_PROGRESS");
    fprintf(f, "{\"format\": 1, \"runs\": [{\"waitio\": \"%s\",\n", WAITIO_VERSION_STRING);
    fprintf(f, " \"comm_type\": ");
    json_string(f, wanted != NULL ? wanted : "auto");
    fprintf(f, ", \"progress\": ");
    json_string(f, progress != NULL ? progress : "service");
    fprintf(f, ",\n \"blocks\": %d, \"processes\": %d, \"hosts\": %d, \"pairing\": ", t->npb,
            t->size, t->hosts);
    json_string(f, pairing_text[t->pairing]);
    fprintf(f, ",\n \"pairs\": [");
    for (int i = 0; i < t->npair; i++) {
        const struct perf_pair *p = &t->pair[i];
        fprintf(f, "%s{\"transport\": ", i > 0 ? ",\n  " : "");
        json_string(f, p->transport);
        for (int k = 0; k < 2; k++) {
            fprintf(f, k == 0 ? ", \"first\": " : ", \"second\": ");
            json_string(f, t->member[p->rank[k]].name);
            fprintf(f, k == 0 ? ", \"first_host\": " : ", \"second_host\": ");
            json_string(f, t->member[p->rank[k]].host);
        }
        fprintf(f, "}");
    }
    fprintf(f, "],\n \"results\": [");
}

static void json_row(struct perf_report *r, const struct perf_case *c)
{
    fprintf(r->json_out, "%s{\"mode\": \"%s\", \"streams\": %d, \"bytes\": %zu, \"rounds\": %d",
            r->done > 1 ? ",\n  " : "\n  ", perf_mode_names[c->mode], c->streams, c->bytes,
            c->rounds);
}

static void json_value(struct perf_report *r, const char *name, double v)
{
    fprintf(r->json_out, ", \"%s\": %.9g", name, v);
}

/* ---- progress ---- */

static void clear_bar(const struct perf_report *r)
{
    if (r->bar)
        fprintf(stderr, "\r\033[K");
}

void perf_report_case(struct perf_report *r, const struct perf_case *c)
{
    enum { WIDTH = 20 };
    char size[32];
    int filled = r->done * WIDTH / r->total;
    r->done++;
    if (r->options->quiet)
        return;
    fflush(stdout);
    size_text(c->bytes, size, sizeof size);
    if (r->bar)
        fprintf(stderr, "\r\033[K[%.*s%.*s] %d/%d %s, %s, %d stream%s", filled,
                "####################", WIDTH - filled, "....................", r->done, r->total,
                perf_mode_names[c->mode], size, c->streams, c->streams == 1 ? "" : "s");
    else
        fprintf(stderr, "waitio-perf: %d/%d %s, %s, %d stream%s\n", r->done, r->total,
                perf_mode_names[c->mode], size, c->streams, c->streams == 1 ? "" : "s");
    fflush(stderr);
}

/* ---- tables ---- */

static void print_header(const struct perf_report *r)
{
    const struct perf_team *t = r->team;
    printf("WaitIO %s: %d process%s in %d block%s on %d host%s, pairs %s\n", WAITIO_VERSION_STRING,
           t->size, t->size == 1 ? "" : "es", t->npb, t->npb == 1 ? "" : "s", t->hosts,
           t->hosts == 1 ? "" : "s", pairing_text[t->pairing]);
    for (int i = 0; i < t->npair; i++) {
        const struct perf_member *a = &t->member[t->pair[i].rank[0]];
        const struct perf_member *b = &t->member[t->pair[i].rank[1]];
        if (strcmp(a->place, b->place) == 0)
            printf("  stream %d: %s and %s on %s: %s\n", i + 1, a->name, b->name, a->host,
                   t->pair[i].transport);
        else
            printf("  stream %d: %s on %s and %s on %s: %s\n", i + 1, a->name, a->host, b->name,
                   b->host, t->pair[i].transport);
    }
}

static void print_title(struct perf_report *r, enum perf_mode mode)
{
    static const char *const title[PERF_MODES] = {
        "latency: half round trip of a ping-pong, mean of the worst stream and median\n"
        "streams      size   rounds     worst mean         median      all streams",
        "bandwidth: one way\n"
        "streams      size  windows   worst stream         median      all streams",
        "rate: messages a second, 64 under way\n"
        "streams      size  windows   worst stream         median      all streams",
        "overlap: start, compute, wait\n"
        "streams      size  who computes     transfer      compute         both  /longer    /sum",
        "load: half round trip of 8 bytes, alone and beside a transfer to the same peer\n"
        "streams  transfer  phase       pings       median          99 %        worst",
    };
    if (r->shown == mode)
        return;
    r->shown = mode;
    printf("\n%s\n", title[mode]);
}

static void us(double seconds, int width)
{
    printf("%*.2f us", width - 3, seconds * 1e6);
}

static void head(const struct perf_case *c)
{
    char size[32];
    printf("%7d %9s", c->streams, size_text(c->bytes, size, sizeof size));
}

/* Mean of the worst stream, median over the batches of all, sum of what all move in a second. */
struct summary {
    double worst, median, sum;
};

static struct summary sum_up(const struct perf_case *c, double (*v)[PERF_VALUES])
{
    struct summary s = {0};
    int n = 0;
    double *all = malloc(sizeof *all * PERF_BATCHES * (size_t)c->streams);
    for (int i = 0; i < c->streams; i++) {
        if (v[i][PERF_V_MEAN] > s.worst)
            s.worst = v[i][PERF_V_MEAN];
        s.sum += 1 / v[i][PERF_V_MEAN];
        for (int b = 0; all != NULL && b < (int)v[i][PERF_V_BATCHES]; b++)
            all[n++] = v[i][PERF_V_BATCH + b];
    }
    s.median = n > 0 ? perf_median(all, n) : 0;
    free(all);
    return s;
}

static void latency_row(struct perf_report *r, const struct perf_case *c, const struct summary *s)
{
    printf("%9d", c->rounds);
    us(s->worst, 15);
    us(s->median, 15);
    printf("%12.1f MB/s\n", s->sum * (double)c->bytes * 1e-6);
    json_value(r, "half_rtt_worst_mean", s->worst);
    json_value(r, "half_rtt_median", s->median);
    json_value(r, "bandwidth", s->sum * (double)c->bytes);
}

static void bandwidth_row(struct perf_report *r, const struct perf_case *c, const struct summary *s)
{
    double bytes = (double)c->bytes;
    printf("%9d%10.1f MB/s%10.1f MB/s%12.1f MB/s\n", c->rounds, bytes / s->worst * 1e-6,
           bytes / s->median * 1e-6, s->sum * bytes * 1e-6);
    json_value(r, "window", c->window);
    json_value(r, "bandwidth_worst", bytes / s->worst);
    json_value(r, "bandwidth_median", bytes / s->median);
    json_value(r, "bandwidth", s->sum * bytes);
}

static void rate_row(struct perf_report *r, const struct perf_case *c, const struct summary *s)
{
    printf("%9d%11.3f M/s%12.3f M/s%13.3f M/s\n", c->rounds, 1e-6 / s->worst, 1e-6 / s->median,
           s->sum * 1e-6);
    json_value(r, "window", c->window);
    json_value(r, "rate_worst", 1 / s->worst);
    json_value(r, "rate_median", 1 / s->median);
    json_value(r, "rate", s->sum);
}

static double longer(const double *v)
{
    return v[PERF_V_TRANSFER] > v[PERF_V_COMPUTE] ? v[PERF_V_TRANSFER] : v[PERF_V_COMPUTE];
}

static void overlap_row(struct perf_report *r, const struct perf_case *c, double (*v)[PERF_VALUES])
{
    static const char *const who[] = {"sender", "receiver"};
    for (int side = 0; side < 2; side++) {
        const double *w = &v[0][side * PERF_V_OVERLAP_SIDE];
        for (int i = 1; i < c->streams; i++) { /* the stream that overlaps least */
            const double *x = &v[i][side * PERF_V_OVERLAP_SIDE];
            if (x[PERF_V_BOTH] / longer(x) > w[PERF_V_BOTH] / longer(w))
                w = x;
        }
        double sum = w[PERF_V_TRANSFER] + w[PERF_V_COMPUTE];
        head(c);
        printf("  %-12s", who[side]);
        us(w[PERF_V_TRANSFER], 13);
        us(w[PERF_V_COMPUTE], 13);
        us(w[PERF_V_BOTH], 13);
        printf("%9.2f%8.2f\n", w[PERF_V_BOTH] / longer(w), w[PERF_V_BOTH] / sum);
        fprintf(r->json_out, ", \"%s\": {\"transfer\": %.9g, \"compute\": %.9g, \"both\": %.9g",
                who[side], w[PERF_V_TRANSFER], w[PERF_V_COMPUTE], w[PERF_V_BOTH]);
        json_value(r, "over_longer", w[PERF_V_BOTH] / longer(w));
        json_value(r, "over_sum", w[PERF_V_BOTH] / sum);
        fprintf(r->json_out, "}");
    }
}

static void load_phase(struct perf_report *r, const struct perf_case *c, const char *phase,
                       const double *v)
{
    head(c);
    printf("  %-7s%10.0f", phase, v[PERF_V_COUNT]);
    us(v[PERF_V_MEDIAN], 13);
    us(v[PERF_V_P99], 14);
    us(v[PERF_V_WORST], 13);
    printf("\n");
    fprintf(r->json_out, ", \"%s\": {\"pings\": %.0f", phase, v[PERF_V_COUNT]);
    json_value(r, "half_rtt_median", v[PERF_V_MEDIAN]);
    json_value(r, "half_rtt_p99", v[PERF_V_P99]);
    json_value(r, "half_rtt_worst", v[PERF_V_WORST]);
    fprintf(r->json_out, "}");
}

static void load_row(struct perf_report *r, const struct perf_case *c, double (*v)[PERF_VALUES])
{
    const double *w = v[0];
    for (int i = 1; i < c->streams; i++)
        if (v[i][PERF_V_LOAD_PHASE + PERF_V_MEDIAN] > w[PERF_V_LOAD_PHASE + PERF_V_MEDIAN])
            w = v[i];
    const double *under = w + PERF_V_LOAD_PHASE;
    double bytes = (double)c->bytes, piece = w[PERF_V_ALONE] * (256 << 10) / bytes;
    load_phase(r, c, "idle", w);
    load_phase(r, c, "load", under);
    printf("        the transfer: %.1f MB/s alone, %.1f MB/s beside the pings; 256 KiB of it: %.2f "
           "us\n",
           bytes / w[PERF_V_ALONE] * 1e-6, bytes / w[PERF_V_LOADED] * 1e-6, piece * 1e6);
    json_value(r, "bandwidth_alone", bytes / w[PERF_V_ALONE]);
    json_value(r, "bandwidth_beside", bytes / w[PERF_V_LOADED]);
    json_value(r, "piece_256k", piece);
    if (under[PERF_V_COUNT] < 1) {
        printf("        no ping came back before the transfer was through: use a larger one "
               "(--sizes)\n");
        return;
    }
    double growth = (under[PERF_V_MEDIAN] - w[PERF_V_MEDIAN]) / piece;
    printf("        the median grew by the time of %.2f pieces of 256 KiB\n", growth);
    json_value(r, "growth_pieces", growth);
}

void perf_report_row(struct perf_report *r, const struct perf_case *c, double (*v)[PERF_VALUES])
{
    clear_bar(r);
    print_title(r, c->mode);
    json_row(r, c);
    if (c->mode == PERF_OVERLAP) {
        overlap_row(r, c, v);
    } else if (c->mode == PERF_LOAD) {
        load_row(r, c, v);
    } else {
        struct summary s = sum_up(c, v);
        head(c);
        if (c->mode == PERF_LATENCY)
            latency_row(r, c, &s);
        else if (c->mode == PERF_BANDWIDTH)
            bandwidth_row(r, c, &s);
        else
            rate_row(r, c, &s);
    }
    fprintf(r->json_out, "}");
    fflush(stdout);
}

/* ---- begin and end ---- */

void perf_report_begin(struct perf_report *r, const struct perf_options *o,
                       const struct perf_team *t, int total)
{
    *r = (struct perf_report){.options = o, .team = t, .total = total, .shown = PERF_MODES};
    r->bar = !o->quiet && isatty(2) == 1;
    r->json_out = open_memstream(&r->json, &r->json_len);
    if (r->json_out == NULL) {
        fprintf(stderr, "waitio-perf: no memory for the results\n");
        waitio_abort(1);
    }
    print_header(r);
    json_begin(r);
}

/* On standard output the results are one line, so that a reader can tell it from the tables. */
static bool write_json(const struct perf_report *r, const char *path)
{
    if (strcmp(path, "-") == 0) {
        for (size_t i = 0; i + 1 < r->json_len; i++)
            putchar(r->json[i] == '\n' ? ' ' : r->json[i]);
        putchar('\n');
        return fflush(stdout) == 0;
    }
    FILE *f = fopen(path, "w");
    bool written = f != NULL && fwrite(r->json, 1, r->json_len, f) == r->json_len;
    if (f != NULL && fclose(f) != 0)
        written = false;
    return written;
}

int perf_report_end(struct perf_report *r)
{
    const char *path = r->options->json;
    int status = 0;
    clear_bar(r);
    fprintf(r->json_out, "]}]}\n");
    fclose(r->json_out);
    if (path != NULL && !write_json(r, path)) {
        fprintf(stderr, "waitio-perf: --json '%s': %s\n", path, strerror(errno));
        status = 1;
    }
    free(r->json);
    return status;
}
