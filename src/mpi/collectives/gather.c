/* SPDX-License-Identifier: BSD-3-Clause */
/* Gathers: the block of every process to the root. */
#include "mpi/collectives/team.h"

/* Every process sends to the root. Cost p alpha + p n beta at the root; every byte moves once. */
void wio_gather_linear(struct wio_schedule *s, const struct wio_collective *c)
{
    if (s->rank != c->root) {
        wio_schedule_send(s, c->root, c->in, c->bytes);
    } else {
        for (int i = 0; i < s->size; i++) {
            if (i == s->rank)
                wio_schedule_copy(s, c->in, wio_area_at(&c->outs, i), c->bytes);
            else
                wio_schedule_recv(s, i, wio_area_at(&c->outs, i), wio_area_len(&c->outs, i));
        }
    }
    wio_schedule_round(s);
}

/* Up a binomial tree, each process sending the blocks of its subtree [TRG]. Cost log2 p alpha +
 * (p-1) n beta; every byte moves up to log2 p times. */
void wio_gather_binomial(struct wio_schedule *s, const struct wio_collective *c)
{
    int me = wio_from_root(s, s->rank, c->root);
    size_t n = c->bytes;
    int64_t bit = wio_tree_bit(s, me), span = wio_tree_span(s, me, bit);
    char *blocks = wio_schedule_scratch(s, n * (size_t)span);

    wio_schedule_copy(s, c->in, blocks, n);
    for (int64_t child = 1; child < bit && me + child < s->size; child *= 2) {
        int64_t its = wio_tree_span(s, me + child, child);
        wio_schedule_recv(s, wio_to_rank(s, me + child, c->root), blocks + n * (size_t)child,
                          n * (size_t)its);
    }
    wio_schedule_round(s);
    if (me != 0)
        wio_schedule_send(s, wio_to_rank(s, me - bit, c->root), blocks, n * (size_t)span);
    for (int i = 0; me == 0 && i < s->size; i++)
        wio_schedule_copy(s, blocks + n * (size_t)i,
                          wio_area_at(&c->outs, wio_to_rank(s, i, c->root)), n);
    wio_schedule_round(s);
}

/* Inside every PB to its leader, which sends all blocks at once: one message across each border.
 * Cost (p/npb + npb) alpha + 2 p n beta at the root. */
void wio_gather_pb(struct wio_schedule *s, const struct wio_collective *c)
{
    struct wio_layers l = wio_layers(s, c->root, WIO_LEAD_BEFORE);
    struct wio_collective part = *c;
    struct wio_team all = wio_schedule_team(s, l.inside);
    bool leads = l.leaders.rank >= 0;
    size_t n = c->bytes;

    part.root = l.inside_root;
    part.outs = (struct wio_area){.unit = n};
    if (leads)
        part.outs.base = wio_schedule_scratch(s, n * (size_t)l.inside.size);
    wio_gather_linear(s, &part);
    wio_schedule_team(s, all);
    if (s->error != 0 || !leads)
        return;
    if (s->rank != c->root) {
        wio_schedule_send(s, c->root, part.outs.base, n * (size_t)l.inside.size);
        wio_schedule_round(s);
        return;
    }
    for (int p = 0; p < s->topo->npb; p++) {
        char *blocks = part.outs.base;
        size_t k = 0;
        for (int i = 0; i < s->size; i++)
            k += s->topo->pb[i] == p;
        if (p != l.leaders_root) {
            blocks = wio_schedule_scratch(s, n * k);
            wio_schedule_recv(s, l.leaders.map[p], blocks, n * k);
        }
        k = 0;
        for (int i = 0; i < s->size; i++)
            if (s->topo->pb[i] == p)
                wio_schedule_copy(s, blocks + n * k++, wio_area_at(&c->outs, i), n);
    }
    wio_schedule_round(s);
}
