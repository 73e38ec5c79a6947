/* SPDX-License-Identifier: BSD-3-Clause */
/* Scatters: the root's blocks to everybody. */
#include "mpi/collectives/team.h"

/* The root sends to everybody. Cost p alpha + p n beta at the root; no byte moves twice. */
void wio_scatter_linear(struct wio_schedule *s, const struct wio_collective *c)
{
    if (s->rank != c->root) {
        wio_schedule_recv(s, c->root, c->out, c->bytes);
    } else {
        for (int i = 0; i < s->size; i++) {
            if (i == s->rank)
                wio_schedule_copy(s, wio_area_at(&c->ins, i), c->out, wio_area_len(&c->ins, i));
            else
                wio_schedule_send(s, i, wio_area_at(&c->ins, i), wio_area_len(&c->ins, i));
        }
    }
    wio_schedule_round(s);
}

/* Down a binomial tree, each process getting the blocks of its subtree [TRG]. Cost log2 p alpha +
 * (p-1) n beta; every byte moves up to log2 p times. */
void wio_scatter_binomial(struct wio_schedule *s, const struct wio_collective *c)
{
    int me = wio_from_root(s, s->rank, c->root);
    size_t n = c->bytes;
    int64_t bit = wio_tree_bit(s, me), span = wio_tree_span(s, me, bit);
    char *blocks = wio_schedule_scratch(s, n * (size_t)span);

    if (me != 0)
        wio_schedule_recv(s, wio_to_rank(s, me - bit, c->root), blocks, n * (size_t)span);
    for (int i = 0; me == 0 && i < s->size; i++)
        wio_schedule_copy(s, wio_area_at(&c->ins, wio_to_rank(s, i, c->root)),
                          blocks + n * (size_t)i, n);
    wio_schedule_round(s);
    for (int64_t child = bit / 2; child > 0; child /= 2) {
        int64_t its = wio_tree_span(s, me + child, child);
        if (me + child < s->size)
            wio_schedule_send(s, wio_to_rank(s, me + child, c->root), blocks + n * (size_t)child,
                              n * (size_t)its);
    }
    wio_schedule_copy(s, blocks, c->out, n);
    wio_schedule_round(s);
}

/* One message with all its blocks to the leader of every PB, who deals them out. Cost
 * (npb + p/npb) alpha + 2 p n beta at the root. */
void wio_scatter_pb(struct wio_schedule *s, const struct wio_collective *c)
{
    struct wio_layers l = wio_layers(s, c->root, WIO_LEAD_FIRST);
    struct wio_collective part = *c;
    struct wio_team all;
    bool leads = l.leaders.rank >= 0;
    size_t n = c->bytes;

    if (s->error != 0)
        return;
    part.root = l.inside_root;
    part.ins = (struct wio_area){.unit = n};
    if (leads)
        part.ins.base = wio_schedule_scratch(s, n * (size_t)l.inside.size);
    if (leads && s->rank != c->root)
        wio_schedule_recv(s, c->root, part.ins.base, n * (size_t)l.inside.size);
    for (int p = 0; s->rank == c->root && p < s->topo->npb; p++) {
        char *blocks = part.ins.base;
        size_t k = 0;
        if (p != l.leaders_root)
            blocks = wio_schedule_scratch(s, n * (size_t)s->size);
        for (int i = 0; i < s->size; i++)
            if (s->topo->pb[i] == p)
                wio_schedule_copy(s, wio_area_at(&c->ins, i), blocks + n * k++, n);
        wio_schedule_round(s);
        if (p != l.leaders_root)
            wio_schedule_send(s, l.leaders.map[p], blocks, n * k);
    }
    wio_schedule_round(s);
    all = wio_schedule_team(s, l.inside);
    wio_scatter_linear(s, &part);
    wio_schedule_team(s, all);
}
