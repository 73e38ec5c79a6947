/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file model_file.c
 * The stream of messages through files (docs/design/file.md), as a model that is explored to its
 * last state: one writer, one reader, a ring of two records, three messages; between them the
 * writer's client, the server and the reader's client, each of which has its own idea of each word.
 * Either side may be killed at any step. Not the library's code but its rules: each rule can be
 * left out (a mutation), and the exploration has to find what breaks then.
 *
 *   model/file          the worlds as they stand, then the mutations
 *   model/file -m NAME  one mutation
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file_rules.h"

static const char *const names[MUTATIONS] = {
    "as it stands",
    "bytes without a checksum",
    "the header before the bytes",
    "the writer asks for no room",
    "read is said before reading",
    "a header without its position",
    "the writer does not sync",
    "the reader does not open again",
    "the writer goes on when it could not sync",
    "a sign of life that does not show yet is a death",
    "a lock that was never seen is a death",
    "a lock that was lost is a death, whatever the counter says",
    "nobody looks for signs of life",
    "nothing is removed",
};

/* ---- the exploration ---- */

#define MAX_STATES (1u << 22)
#define HASH (1u << 23)
struct node {
    struct state s;
    uint32_t from;
    uint8_t by;
    bool ends; /* a last state can surely be reached */
};
static struct node *nodes;
static uint32_t *hash, n_nodes;
static struct edge {
    uint32_t from, to;
} * edges;
static size_t n_edges, room_edges;

static void *need(void *p)
{
    if (p == NULL) {
        fprintf(stderr, "no memory\n");
        exit(2);
    }
    return p;
}

static uint32_t node_of(const struct state *s, uint32_t from, int by)
{
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < sizeof *s; i++)
        h = (h ^ ((const uint8_t *)s)[i]) * 1099511628211u;
    uint32_t at = (uint32_t)(h ^ h >> 32) % HASH;
    for (; hash[at] != 0; at = (at + 1) % HASH)
        if (memcmp(&nodes[hash[at] - 1].s, s, sizeof *s) == 0)
            return hash[at] - 1;
    if (n_nodes == MAX_STATES) {
        fprintf(stderr, "more than %u states\n", MAX_STATES);
        exit(2);
    }
    nodes[n_nodes] = (struct node){*s, from, (uint8_t)by, false};
    hash[at] = ++n_nodes;
    return n_nodes - 1;
}

static void add_edge(uint32_t from, uint32_t to)
{
    if (n_edges == room_edges) {
        room_edges = room_edges * 2 + 1024;
        edges = need(realloc(edges, room_edges * sizeof *edges));
    }
    edges[n_edges++] = (struct edge){from, to};
}

static void show(uint32_t at)
{
    if (at != 0)
        show(nodes[at].from);
    const struct state *s = &nodes[at].s;
    printf("  %-28s out %d.%d acked %d in %d; file %d %d | %d %d\n",
           at == 0 ? "" : step_name(nodes[at].by), s->out, s->step, s->acked, s->in, s->file[0],
           s->file[1], s->file[2], s->file[3]);
}

static bool is_last(const struct state *s)
{
    return s->left == 0 && (s->in == MESSAGES || s->wgone || s->rgone);
}

/* All states from which the steps that surely come can lead to a last one. */
static uint32_t first_without_end(void)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = n_edges; i-- > 0;)
            if (!nodes[edges[i].from].ends && nodes[edges[i].to].ends)
                more = nodes[edges[i].from].ends = true;
    }
    for (uint32_t i = 0; i < n_nodes; i++)
        if (!nodes[i].ends)
            return i;
    return n_nodes;
}

static bool violated(const char *why, uint32_t at, bool loud)
{
    if (loud) {
        printf("FAIL  %s, %s: %s\n", fsw->name, names[mut], why);
        show(at);
    }
    return true;
}

/* @return whether a property is broken */
static bool explore(bool loud)
{
    struct state s;
    memset(&s, 0, sizeof s);
    memset(s.seen, UNKNOWN, sizeof s.seen);
    s.ack_seen = UNKNOWN;
    s.left = 3;
    memset(hash, 0, HASH * sizeof *hash);
    n_nodes = 0;
    n_edges = 0;
    node_of(&s, 0, 0);
    for (uint32_t at = 0; at < n_nodes; at++) {
        nodes[at].ends = is_last(&nodes[at].s);
        for (int a = 0; a < STEPS && !nodes[at].ends; a++) {
            bool sure;
            s = nodes[at].s;
            broken = NULL;
            if (!step(&s, a, &sure))
                continue;
            uint32_t to = node_of(&s, at, a);
            if (broken != NULL)
                return violated(broken, to, loud);
            if (sure && to != at)
                add_edge(at, to);
        }
    }
    uint32_t stuck = first_without_end();
    return stuck < n_nodes && violated("a wait without an end, or files that stay", stuck, loud);
}

static bool worlds_stand(void)
{
    bool fine = true;
    for (fsw = worlds; fsw < worlds + NWORLDS; fsw++) {
        bool bad = explore(true);
        printf("%s  %s: %u states\n", bad ? "FAIL" : "ok  ", fsw->name, (unsigned)n_nodes);
        fine = fine && !bad;
    }
    return fine;
}

int main(int argc, char **argv)
{
    const char *only = argc == 3 && strcmp(argv[1], "-m") == 0 ? argv[2] : NULL;
    nodes = need(malloc(MAX_STATES * sizeof *nodes));
    hash = need(malloc(HASH * sizeof *hash));
    int missed = only == NULL && !worlds_stand(), tried = 0;
    for (int m = NONE + 1; m < MUTATIONS; m++) {
        const char *by = NULL;
        mut = (enum mutation)m;
        if (only != NULL && strcmp(only, names[m]) != 0)
            continue;
        tried++;
        for (fsw = worlds; fsw < worlds + NWORLDS && by == NULL; fsw++)
            by = explore(only != NULL) ? fsw->name : NULL;
        printf("%s  %-50s %s\n", by != NULL ? "ok  " : "FAIL", names[m],
               by != NULL ? by : "not found in any world");
        missed += by == NULL;
    }
    free(nodes);
    free(hash);
    free(edges);
    return missed > 0 || tried == 0;
}
