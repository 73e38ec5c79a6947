/* SPDX-License-Identifier: BSD-3-Clause */
/** @file options.c  The command line. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

const char *const perf_mode_names[PERF_MODES] = {"latency", "bandwidth", "rate", "overlap", "load"};
static const char *const pairings[] = {"auto", "within", "across", "nodes"};
static const char *const transports[] = {"auto", "socket", "shm", "file", "hybrid", "verbs"};

#define COUNT(a) ((int)(sizeof(a) / sizeof(a)[0]))
static const size_t size_limit = (size_t)1 << 40;

static const char *const help =
    "usage: waitio-perf [OPTIONS]        (in every block of a run; `waitio perf` starts the "
    "blocks)\n"
    "\n"
    "Measure messages between the processes of a run. Pairs of processes are formed in rank "
    "order;\n"
    "every process gets the same options.\n"
    "\n"
    "  --mode LIST        what to measure (default latency):\n"
    "                       latency    ping-pong: half round trip and bandwidth by size\n"
    "                       bandwidth  one way, up to 64 messages under way\n"
    "                       rate       messages of 8 bytes, 64 under way\n"
    "                       overlap    send, compute, wait; the same for the receiver\n"
    "                       load       8-byte ping-pong beside a large transfer to the same peer\n"
    "                       all        all of them\n"
    "  --sizes LIST       message sizes, as 8,1K,64K or 8-64M (doubling); default by mode\n"
    "  --streams LIST     pairs at work at the same time, as 1,2,4 or 1-4 or max (default 1)\n"
    "  --pairs KIND       which processes make a pair: within (one block, one host), across\n"
    "                     (two blocks), nodes (two hosts), auto (across, else nodes, else within)\n"
    "  --rounds N         round trips between two barriers (default 1000; fewer for large sizes)\n"
    "  --transport T      auto, socket, shm, file, hybrid: sets WAITIO_COMM_TYPE for this run\n"
    "  --json FILE        also write the results there; - means one line on standard output\n"
    "  --timeout SECONDS  how long joining may take (default 60)\n"
    "  --quiet            no progress on standard error\n"
    "  --check            only check the options\n"
    "  -h, --help         this text\n";

static int one_of(const char *text, const char *const *list, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(text, list[i]) == 0)
            return i;
    return -1;
}

/* "64K" and the like. Advances *p; 0 = malformed. */
static size_t read_size(const char **p)
{
    char *end;
    errno = 0;
    if (**p < '0' || **p > '9')
        return 0;
    unsigned long long v = strtoull(*p, &end, 10);
    static const char units[] = "KMG";
    const char *unit = *end != '\0' ? strchr(units, *end >= 'a' ? *end - 32 : *end) : NULL;
    if (errno != 0 || v > size_limit)
        return 0;
    if (unit != NULL) {
        v <<= 10 * (unit - units + 1);
        end++;
        if (strncmp(end, "iB", 2) == 0)
            end += 2;
    }
    if (*end == 'B')
        end++;
    *p = end;
    return v <= size_limit ? (size_t)v : 0;
}

int perf_parse_sizes(const char *text, size_t *list, int room, char *why, size_t nwhy)
{
    int n = 0;
    for (const char *p = text;; p++) {
        const char *item = p;
        size_t low = read_size(&p), high = low;
        if (*p == '-') {
            p++;
            high = read_size(&p);
        }
        if (low == 0 || high < low || (*p != ',' && *p != '\0')) {
            snprintf(why, nwhy, "'%s' is no size or range (1 to 1024G, as 8, 64K, 8-64M)", item);
            return 0;
        }
        for (size_t s = low; s <= high; s *= 2) {
            if (n == room) {
                snprintf(why, nwhy, "more than %d sizes", room);
                return 0;
            }
            list[n++] = s;
        }
        if (*p == '\0')
            return n;
    }
}

/* A whole number from 1 to 1000000. Advances *p; 0 = malformed. */
static int read_count(const char **p)
{
    char *end;
    if (**p < '0' || **p > '9')
        return 0;
    long v = strtol(*p, &end, 10);
    *p = end;
    return v >= 1 && v <= 1000000 ? (int)v : 0;
}

int perf_parse_streams(const char *text, int *list, int room, char *why, size_t nwhy)
{
    int n = 0;
    if (strcmp(text, "max") == 0) {
        list[0] = PERF_ALL_STREAMS;
        return 1;
    }
    for (const char *p = text;; p++) {
        const char *item = p;
        int low = read_count(&p), high = low;
        if (*p == '-') {
            p++;
            high = read_count(&p);
        }
        if (low == 0 || high < low || (*p != ',' && *p != '\0')) {
            snprintf(why, nwhy, "'%s' is no number or range of streams (as 1,2,4 or 1-4 or max)",
                     item);
            return 0;
        }
        for (int s = low; s <= high; s++) {
            if (n == room) {
                snprintf(why, nwhy, "more than %d numbers of streams", room);
                return 0;
            }
            list[n++] = s;
        }
        if (*p == '\0')
            return n;
    }
}

static bool wrong(const char *option, const char *value, const char *why)
{
    fprintf(stderr, "waitio-perf: %s '%s': %s\n", option, value, why);
    return false;
}

static bool set_mode(struct perf_options *o, const char *name, size_t n)
{
    bool all = n == 3 && strncmp(name, "all", n) == 0, known = all;
    for (int m = 0; m < PERF_MODES; m++)
        if (all || (n == strlen(perf_mode_names[m]) && strncmp(name, perf_mode_names[m], n) == 0))
            o->mode[m] = known = true;
    return known;
}

static bool read_modes(struct perf_options *o, const char *text)
{
    memset(o->mode, 0, sizeof o->mode);
    for (const char *p = text;; p++) {
        size_t n = strcspn(p, ",");
        if (!set_mode(o, p, n))
            return wrong("--mode", text,
                         "unknown mode; known are latency, bandwidth, rate, overlap, load, all");
        p += n;
        if (*p == '\0')
            return true;
    }
}

static bool read_number(const char *option, const char *text, int *out)
{
    const char *p = text;
    *out = read_count(&p);
    if (*out == 0 || *p != '\0')
        return wrong(option, text, "a whole number from 1 to 1000000 is needed");
    return true;
}

static bool read_pairing(struct perf_options *o, const char *text)
{
    int at = one_of(text, pairings, COUNT(pairings));
    if (at < 0)
        return wrong("--pairs", text, "known are within, across, nodes, auto");
    o->pairing = (enum perf_pairing)at;
    return true;
}

static bool read_transport(struct perf_options *o, const char *text)
{
    o->transport = strcmp(text, "tcp") == 0 ? "socket" : text;
    return one_of(o->transport, transports, COUNT(transports)) >= 0 ||
           wrong("--transport", text, "known are auto, socket, shm, file, hybrid, verbs");
}

static bool read_option(struct perf_options *o, int c, const char *text)
{
    char why[128];
    switch (c) {
    case 'm':
        return read_modes(o, text);
    case 's':
        o->nsize = perf_parse_sizes(text, o->size, PERF_LIST, why, sizeof why);
        return o->nsize > 0 || wrong("--sizes", text, why);
    case 'n':
        o->nstream = perf_parse_streams(text, o->stream, PERF_LIST, why, sizeof why);
        return o->nstream > 0 || wrong("--streams", text, why);
    case 'p':
        return read_pairing(o, text);
    case 'T':
        return read_transport(o, text);
    case 'r':
        return read_number("--rounds", text, &o->rounds);
    case 't':
        return read_number("--timeout", text, &o->timeout_s);
    case 'j':
        o->json = text;
        return true;
    case 'q':
        o->quiet = true;
        return true;
    case 'c':
        o->check = true;
        return true;
    default:
        return false; /* getopt has said why */
    }
}

/* What decides who sends how often to whom: must be the same everywhere. */
static void agree_on(struct perf_options *o)
{
    FILE *f = fmemopen(o->text, sizeof o->text, "w");
    if (f == NULL)
        return;
    fprintf(f, "--mode ");
    for (int m = 0, n = 0; m < PERF_MODES; m++)
        if (o->mode[m])
            fprintf(f, "%s%s", n++ > 0 ? "," : "", perf_mode_names[m]);
    for (int i = 0; i < o->nsize; i++)
        fprintf(f, "%s%zu", i == 0 ? " --sizes " : ",", o->size[i]);
    for (int i = 0; i < o->nstream; i++)
        fprintf(f, "%s%d", i == 0 ? " --streams " : ",", o->stream[i]);
    fprintf(f, " --rounds %d --pairs %s", o->rounds, pairings[o->pairing]);
    fclose(f);
    o->text[sizeof o->text - 1] = '\0';
}

int perf_options_read(struct perf_options *o, int argc, char **argv)
{
    static const struct option table[] = {
        {"mode", required_argument, NULL, 'm'},    {"sizes", required_argument, NULL, 's'},
        {"streams", required_argument, NULL, 'n'}, {"pairs", required_argument, NULL, 'p'},
        {"rounds", required_argument, NULL, 'r'},  {"transport", required_argument, NULL, 'T'},
        {"json", required_argument, NULL, 'j'},    {"timeout", required_argument, NULL, 't'},
        {"quiet", no_argument, NULL, 'q'},         {"check", no_argument, NULL, 'c'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    *o = (struct perf_options){.mode = {[PERF_LATENCY] = true},
                               .stream = {1},
                               .nstream = 1,
                               .rounds = 1000,
                               .timeout_s = 60};
    for (int c; (c = getopt_long(argc, argv, "h", table, NULL)) != -1;) {
        if (c == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (!read_option(o, c, optarg)) {
            fprintf(stderr, "waitio-perf: --help lists the options\n");
            return 2;
        }
    }
    if (optind < argc) {
        wrong("argument", argv[optind], "only options are taken; --help lists them");
        return 2;
    }
    agree_on(o);
    return o->check ? 0 : -1;
}

int perf_sizes(const struct perf_options *o, enum perf_mode mode, const size_t **sizes)
{
    static const size_t sweep[] = {8,           64,          1024,     8192,     65536,
                                   256 * 1024u, 1024 * 1024, 8u << 20, 64u << 20};
    static const size_t small[] = {8}, large[] = {64u << 20}, huge[] = {1u << 30};
    const size_t *list[PERF_MODES] = {sweep, sweep, small, large, huge};
    const int n[PERF_MODES] = {COUNT(sweep), COUNT(sweep), 1, 1, 1};
    bool own = o->nsize > 0;
    *sizes = own ? o->size : list[mode];
    return own ? o->nsize : n[mode];
}
