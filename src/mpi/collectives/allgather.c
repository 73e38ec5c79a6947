/* SPDX-License-Identifier: BSD-3-Clause */
/* Gathers whose result everybody gets. */
#include "mpi/collectives/team.h"

/* Each block travels around the ring, whatever its size [TRG]. Cost (p-1) (alpha + n beta). */
void wio_allgather_ring(struct wio_schedule *s, const struct wio_collective *c)
{
    int p = s->size, next = (s->rank + 1) % p, before = (s->rank - 1 + p) % p;

    wio_schedule_copy(s, c->in, wio_area_at(&c->outs, s->rank), c->bytes);
    wio_schedule_round(s);
    for (int i = 0; i < p - 1; i++) {
        int give = (s->rank - i + p) % p, take = (give - 1 + p) % p;
        wio_schedule_send(s, next, wio_area_at(&c->outs, give), wio_area_len(&c->outs, give));
        wio_schedule_recv(s, before, wio_area_at(&c->outs, take), wio_area_len(&c->outs, take));
        wio_schedule_round(s);
    }
}

/* In every round each process doubles its run of blocks, which begins with its own
 * [Bruck]. Cost ceil(log2 p) alpha + (p-1) n beta. */
void wio_allgather_bruck(struct wio_schedule *s, const struct wio_collective *c)
{
    size_t n = c->bytes;
    char *run = wio_schedule_scratch(s, n * (size_t)s->size);

    wio_schedule_copy(s, c->in, run, n);
    wio_schedule_round(s);
    for (int have = 1; have < s->size;) {
        int more = have < s->size - have ? have : s->size - have;
        wio_schedule_send(s, (s->rank - have + s->size) % s->size, run, n * (size_t)more);
        wio_schedule_recv(s, (int)(((int64_t)s->rank + have) % s->size), run + n * (size_t)have,
                          n * (size_t)more);
        wio_schedule_round(s);
        have += more;
    }
    for (int i = 0; i < s->size; i++) /* the run of each process begins with its own block */
        wio_schedule_copy(s, run + n * (size_t)i, wio_area_at(&c->outs, (s->rank + i) % s->size),
                          n);
    wio_schedule_round(s);
}

/* All blocks by PB, and within a PB by rank. */
struct sorted {
    char *base;
    size_t *at;    /* by rank */
    size_t *begin; /* by PB, and the end behind the last */
};

static struct sorted sort(struct wio_schedule *s, const struct wio_collective *c)
{
    const struct wio_topology *topo = s->topo;
    struct sorted b = {.at = wio_schedule_scratch(s, (size_t)s->size * sizeof *b.at),
                       .begin = wio_schedule_scratch(s, ((size_t)topo->npb + 1) * sizeof *b.begin)};
    size_t total = 0;

    for (int p = 0; s->error == 0 && p < topo->npb; p++) {
        b.begin[p] = total;
        for (int i = 0; i < s->size; i++) {
            if (topo->pb[i] != p)
                continue;
            b.at[i] = total;
            total += wio_area_len(&c->outs, i);
        }
        b.begin[p + 1] = total;
    }
    b.base = wio_schedule_scratch(s, total);
    return b;
}

/* Each PB gathers to its leader, each leader sends its blocks to all other leaders at once, and
 * broadcasts to its PB: every block crosses each border once. Cost (p/npb + npb + log2 p) alpha +
 * (1 + log2 p/npb) p n beta. */
void wio_allgather_pb(struct wio_schedule *s, const struct wio_collective *c)
{
    struct wio_layers l = wio_layers(s, 0, WIO_LEAD_FIRST);
    struct sorted b = sort(s, c);
    int leader;

    if (s->error != 0)
        return;
    leader = l.inside.map[l.inside_root];
    if (s->rank != leader)
        wio_schedule_send(s, leader, c->in, c->bytes);
    else
        wio_schedule_copy(s, c->in, b.base + b.at[s->rank], c->bytes);
    for (int i = 0; s->rank == leader && i < s->size; i++)
        if (i != leader && s->topo->pb[i] == s->topo->pb[leader])
            wio_schedule_recv(s, i, b.base + b.at[i], wio_area_len(&c->outs, i));
    wio_schedule_round(s);
    for (int p = 0; s->rank == leader && p < s->topo->npb; p++) {
        int mine = s->topo->pb[s->rank];
        if (p == mine)
            continue;
        wio_schedule_send(s, l.leaders.map[p], b.base + b.begin[mine],
                          b.begin[mine + 1] - b.begin[mine]);
        wio_schedule_recv(s, l.leaders.map[p], b.base + b.begin[p], b.begin[p + 1] - b.begin[p]);
    }
    wio_schedule_round(s);
    if (l.inside.size > 1) {
        struct wio_collective down = {
            .out = b.base, .bytes = b.begin[s->topo->npb], .root = l.inside_root};
        struct wio_team all = wio_schedule_team(s, l.inside);
        wio_bcast_binomial(s, &down);
        wio_schedule_team(s, all);
    }
    for (int i = 0; i < s->size; i++)
        wio_schedule_copy(s, b.base + b.at[i], wio_area_at(&c->outs, i), wio_area_len(&c->outs, i));
    wio_schedule_round(s);
}
