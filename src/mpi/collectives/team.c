/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/collectives/team.h"

static void find_leaders(const struct wio_schedule *s, int root, enum wio_lead lead, int *leaders)
{
    const struct wio_topology *topo = s->topo;

    for (int p = 0; p < topo->npb; p++)
        leaders[p] = topo->first[p];
    for (int i = 1; lead == WIO_LEAD_BEFORE && i < s->size; i++) { /* the last one stays */
        int rank = (int)(((int64_t)root + i) % s->size);
        leaders[topo->pb[rank]] = rank;
    }
    leaders[topo->pb[root]] = root;
}

struct wio_layers wio_layers(struct wio_schedule *s, int root, enum wio_lead lead)
{
    const struct wio_topology *topo = s->topo;
    struct wio_layers l = {.leaders = {.rank = -1, .size = topo->npb},
                           .leaders_root = topo->pb[root]};
    int my_pb = topo->pb[s->rank];
    int *inside = wio_schedule_scratch(s, (size_t)s->size * sizeof *inside);
    int *leaders = wio_schedule_scratch(s, (size_t)topo->npb * sizeof *leaders);

    if (s->error != 0) /* no memory to write to; the schedule will not run */
        return (struct wio_layers){.inside = {0, 1, NULL}, .leaders = {-1, 1, NULL}};
    find_leaders(s, root, lead, leaders);
    for (int p = 0; p < topo->npb; p++)
        if (leaders[p] == s->rank)
            l.leaders.rank = p;
    for (int i = 0; i < s->size; i++) {
        if (topo->pb[i] != my_pb)
            continue;
        if (i == s->rank)
            l.inside.rank = l.inside.size;
        if (i == leaders[my_pb])
            l.inside_root = l.inside.size;
        inside[l.inside.size++] = i;
    }
    l.inside.map = inside;
    l.leaders.map = leaders;
    return l;
}

struct wio_positions wio_positions(const struct wio_schedule *s)
{
    struct wio_positions p = {.power = 1};

    while (p.power <= s->size / 2)
        p.power *= 2;
    p.extra = s->size - p.power;
    p.paired = s->rank < 2 * p.extra;
    p.mine = !p.paired ? s->rank - p.extra : s->rank % 2 == 0 ? -1 : s->rank / 2;
    return p;
}

size_t *wio_even_edges(struct wio_schedule *s, const struct wio_positions *p, size_t count)
{
    size_t *edge = wio_schedule_scratch(s, ((size_t)p->power + 1) * sizeof *edge);
    size_t each = count / (size_t)p->power, more = count % (size_t)p->power;

    if (s->error != 0)
        return edge;
    edge[0] = 0;
    for (int i = 0; i < p->power; i++)
        edge[i + 1] = edge[i] + (each + ((size_t)i < more ? 1 : 0)) * s->fold.type->size;
    return edge;
}

/* The even member of a pair sends its data; the odd one folds. @return the address of the operand
 * now */
static const char *pair_up(struct wio_schedule *s, const struct wio_positions *p, size_t bytes,
                           const char *in, char *sum, char *theirs)
{
    if (!p->paired)
        return in;
    if (p->mine < 0) {
        wio_schedule_send(s, s->rank + 1, in, bytes);
        wio_schedule_round(s);
        return in;
    }
    wio_schedule_recv(s, s->rank - 1, theirs, bytes);
    wio_schedule_fold(s, theirs, in, sum, bytes / s->fold.type->size);
    wio_schedule_round(s);
    return sum;
}

void wio_halve(struct wio_schedule *s, const struct wio_positions *p, const size_t *edge,
               const char *in, char *sum)
{
    char *theirs;
    int low = 0, high = p->power;

    if (s->error != 0)
        return;
    theirs = p->mine < 0 ? NULL : wio_schedule_scratch(s, edge[p->power]);
    in = pair_up(s, p, edge[p->power], in, sum, theirs);
    if (p->mine < 0)
        return;
    if (p->power == 1)
        wio_schedule_copy(s, in, sum, edge[1]);
    for (int bit = p->power / 2; bit > 0; bit /= 2) {
        int middle = low + bit, partner = wio_position_rank(p, p->mine ^ bit);
        bool lower = p->mine < middle;
        size_t give = edge[lower ? middle : low], give_end = edge[lower ? high : middle];
        size_t keep = edge[lower ? low : middle], keep_end = edge[lower ? middle : high];
        wio_schedule_send(s, partner, in + give, give_end - give);
        wio_schedule_recv(s, partner, theirs + keep, keep_end - keep);
        wio_schedule_fold(s, lower ? in + keep : theirs + keep, lower ? theirs + keep : in + keep,
                          sum + keep, (keep_end - keep) / s->fold.type->size);
        wio_schedule_round(s);
        in = sum;
        low = lower ? low : middle;
        high = lower ? middle : high;
    }
}

void wio_spread(struct wio_schedule *s, const struct wio_positions *p, const size_t *edge,
                char *sum)
{
    if (s->error != 0)
        return;
    if (p->mine < 0) {
        wio_schedule_recv(s, s->rank + 1, sum, edge[p->power]);
        wio_schedule_round(s);
        return;
    }
    for (int bit = 1; bit < p->power; bit *= 2) {
        int begin = p->mine & ~(bit - 1), other = begin ^ bit;
        int partner = wio_position_rank(p, p->mine ^ bit);
        wio_schedule_send(s, partner, sum + edge[begin], edge[begin + bit] - edge[begin]);
        wio_schedule_recv(s, partner, sum + edge[other], edge[other + bit] - edge[other]);
        wio_schedule_round(s);
    }
    if (p->paired)
        wio_schedule_send(s, s->rank - 1, sum, edge[p->power]);
    wio_schedule_round(s);
}
