/* SPDX-License-Identifier: BSD-3-Clause */
/** @file team.c  Who is there, on which host, and who measures with whom. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf.h"

/* ---- what the library says in words ---- */

/* The text of waitio_dump(); the caller frees it. */
static char *dump(void)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);
    if (f == NULL)
        return NULL;
    perf_must(waitio_dump(f));
    fclose(f);
    return text;
}

/* "... I am NAME (universe rank 3)" */
static void own_name(char *out, size_t n)
{
    char *text = dump();
    char *from = text != NULL ? strstr(text, "I am ") : NULL;
    char *to = from != NULL ? strstr(from, " (universe rank") : NULL;
    if (to != NULL)
        snprintf(out, n, "%.*s", (int)(to - from - 5), from + 5);
    free(text);
}

void perf_transport_of(const char *text, const char *peer_name, char *out, size_t n)
{
    char line[96];
    snprintf(line, sizeof line, "peer %s: ", peer_name);
    const char *at = strstr(text, line);
    snprintf(out, n, "unknown");
    if (at == NULL)
        return;
    at += strlen(line);
    snprintf(out, n, "%.*s", (int)strcspn(at, ",\n"), at);
}

/* ---- meeting ---- */

static void read_line(const char *path, char *out, size_t n)
{
    FILE *f = fopen(path, "r");
    if (f == NULL || fgets(out, (int)n, f) == NULL)
        out[0] = '\0';
    if (f != NULL)
        fclose(f);
    out[strcspn(out, "\n")] = '\0';
}

/* A network namespace counts as a host of its own, as it does for the library. */
static void describe(struct perf_member *m, const struct perf_options *o)
{
    char boot[64], net[48] = "";
    int pb = 0;
    memset(m, 0, sizeof *m);
    perf_must(waitio_pb_rank(&pb));
    snprintf(m->pb, sizeof m->pb, "%d", pb);
    own_name(m->name, sizeof m->name);
    if (gethostname(m->host, sizeof m->host - 1) != 0)
        snprintf(m->host, sizeof m->host, "unknown");
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    if (readlink("/proc/self/ns/net", net, sizeof net - 1) < 0)
        net[0] = '\0';
    snprintf(m->place, sizeof m->place, "%s%s", boot[0] != '\0' ? boot : m->host, net);
    snprintf(m->options, sizeof m->options, "%s", o->text);
}

/* What came over the wire ends somewhere. */
static void terminate(struct perf_member *m)
{
    m->name[sizeof m->name - 1] = m->host[sizeof m->host - 1] = '\0';
    m->place[sizeof m->place - 1] = m->pb[sizeof m->pb - 1] = '\0';
    m->options[sizeof m->options - 1] = '\0';
}

static void meet(struct perf_team *t, const struct perf_options *o)
{
    struct perf_member *all = t->member;
    describe(&all[t->me], o);
    size_t one = sizeof *all, whole = (size_t)t->size * one;
    if (t->me == 0) {
        for (int r = 1; r < t->size; r++)
            perf_recv(t, r, &all[r], one, PERF_TAG_MEET);
        for (int r = 1; r < t->size; r++)
            perf_send(t, r, all, whole, PERF_TAG_MEET);
    } else {
        perf_send(t, 0, &all[t->me], one, PERF_TAG_MEET);
        perf_recv(t, 0, all, whole, PERF_TAG_MEET);
    }
    for (int r = 0; r < t->size; r++)
        terminate(&all[r]);
}

void perf_barrier(const struct perf_team *t)
{
    char mine = 0, theirs = 0;
    for (int step = 1; step < t->size; step *= 2)
        perf_must(waitio_sendrecv(t->all, (t->me + step) % t->size, &mine, 1, PERF_TAG_BARRIER,
                                  (t->me - step + t->size) % t->size, &theirs, 1, PERF_TAG_BARRIER,
                                  NULL));
}

/* ---- pairs ---- */

static bool fits(const struct perf_member *a, const struct perf_member *b, enum perf_pairing kind)
{
    bool same_pb = strcmp(a->pb, b->pb) == 0, same_host = strcmp(a->place, b->place) == 0;
    switch (kind) {
    case PERF_WITHIN:
        return same_pb && same_host;
    case PERF_ACROSS:
        return !same_pb;
    case PERF_NODES:
        return !same_host;
    default:
        return true;
    }
}

int perf_pairs(const struct perf_member *m, int n, enum perf_pairing kind, struct perf_pair *out)
{
    int pairs = 0;
    bool *taken = calloc((size_t)n, sizeof *taken);
    for (int a = 0; taken != NULL && a < n; a++) {
        for (int b = a + 1; !taken[a] && b < n; b++) {
            if (taken[b] || !fits(&m[a], &m[b], kind))
                continue;
            taken[a] = taken[b] = true;
            out[pairs++] = (struct perf_pair){.rank = {a, b}};
        }
    }
    free(taken);
    return pairs;
}

static const char *const wanted[] = {
    [PERF_AUTO] = "two processes are needed: start a second one (`waitio perf` does)",
    [PERF_WITHIN] = "no two processes of one block share a host: give a block two (-n 2)",
    [PERF_ACROSS] = "there is only one block: start a second one (--blocks 2)",
    [PERF_NODES] = "all processes are on one host: start some on another (--hosts A,B)",
};

static void choose_pairs(struct perf_team *t, enum perf_pairing kind)
{
    static const enum perf_pairing order[] = {PERF_ACROSS, PERF_NODES, PERF_WITHIN};
    t->pairing = kind;
    if (kind != PERF_AUTO)
        t->npair = perf_pairs(t->member, t->size, kind, t->pair);
    for (int i = 0; kind == PERF_AUTO && i < 3 && t->npair == 0; i++) {
        t->pairing = order[i];
        t->npair = perf_pairs(t->member, t->size, order[i], t->pair);
    }
    for (int i = 0; i < t->npair; i++)
        if (t->pair[i].rank[0] == t->me || t->pair[i].rank[1] == t->me)
            t->mine = i;
}

/* Every process knows the same and comes to the same verdict; rank 0 says it. */
static bool agreed(const struct perf_team *t, const struct perf_options *o)
{
    for (int r = 1; r < t->size; r++) {
        if (strcmp(t->member[r].options, t->member[0].options) == 0)
            continue;
        if (t->me == 0)
            fprintf(stderr,
                    "waitio-perf: %s was started with '%s', but %s with '%s': give all processes "
                    "the same options\n",
                    t->member[0].name, t->member[0].options, t->member[r].name,
                    t->member[r].options);
        return false;
    }
    if (t->npair == 0) {
        if (t->me == 0)
            fprintf(stderr, "waitio-perf: no pair to measure: %s\n", wanted[o->pairing]);
        return false;
    }
    for (int i = 0; i < o->nstream; i++) {
        if (o->stream[i] <= t->npair)
            continue;
        if (t->me == 0)
            fprintf(stderr,
                    "waitio-perf: --streams %d, but the %d processes make only %d pair%s: start "
                    "more (-n), or choose others with --pairs\n",
                    o->stream[i], t->size, t->npair, t->npair == 1 ? "" : "s");
        return false;
    }
    return true;
}

/* First contact, and then what the link is. */
static void look_at_links(struct perf_team *t)
{
    char byte = 0;
    struct perf_pair *p = t->mine >= 0 ? &t->pair[t->mine] : NULL;
    if (p != NULL && p->rank[0] == t->me) {
        perf_send(t, p->rank[1], &byte, 1, PERF_TAG_GO);
        perf_recv(t, p->rank[1], &byte, 1, PERF_TAG_GO);
        char *text = dump();
        if (text != NULL)
            perf_transport_of(text, t->member[p->rank[1]].name, p->transport, sizeof p->transport);
        free(text);
        if (t->me != 0)
            perf_send(t, 0, p->transport, sizeof p->transport, PERF_TAG_MEET);
    } else if (p != NULL) {
        perf_recv(t, p->rank[0], &byte, 1, PERF_TAG_GO);
        perf_send(t, p->rank[0], &byte, 1, PERF_TAG_GO);
    }
    for (int i = 0; t->me == 0 && i < t->npair; i++) {
        char *name = t->pair[i].transport;
        if (t->pair[i].rank[0] != 0)
            perf_recv(t, t->pair[i].rank[0], name, sizeof t->pair[i].transport, PERF_TAG_MEET);
        name[sizeof t->pair[i].transport - 1] = '\0';
    }
}

static int count_hosts(const struct perf_team *t)
{
    int hosts = 0;
    for (int a = 0; a < t->size; a++) {
        int b = 0;
        while (strcmp(t->member[a].place, t->member[b].place) != 0)
            b++;
        hosts += a == b;
    }
    return hosts;
}

int perf_team_join(struct perf_team *t, const struct perf_options *o)
{
    *t = (struct perf_team){.mine = -1};
    if (o->transport != NULL && setenv("WAITIO_COMM_TYPE", o->transport, 1) != 0) {
        perror("waitio-perf: WAITIO_COMM_TYPE");
        return 1;
    }
    if (waitio_init(o->timeout_s) != 0) /* the library has said why */
        return 1;
    perf_must(waitio_universe_rank(&t->me));
    perf_must(waitio_universe_size(&t->size));
    perf_must(waitio_pb_size(&t->npb));
    perf_must(waitio_group_universe(0, &t->all));
    t->member = calloc((size_t)t->size, sizeof *t->member);
    t->pair = calloc((size_t)t->size, sizeof *t->pair);
    if (t->member == NULL || t->pair == NULL) {
        fprintf(stderr, "waitio-perf: no memory for %d processes\n", t->size);
        waitio_abort(1);
    }
    meet(t, o);
    t->hosts = count_hosts(t);
    choose_pairs(t, o->pairing);
    if (!agreed(t, o))
        return 2;
    look_at_links(t);
    return -1;
}

void perf_team_free(struct perf_team *t)
{
    free(t->member);
    free(t->pair);
    if (t->all != NULL)
        waitio_group_free(&t->all);
}
