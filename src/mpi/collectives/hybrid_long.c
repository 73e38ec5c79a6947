/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long broadcasts and reductions of hybrid communicators, in pieces: while one piece crosses the
 * border, others are on their way inside the PBs. The leaders of the PBs form a chain, so that each
 * border is crossed once in each direction. Below its leader a PB uses its provider; one without
 * has a binary tree of messages.
 *
 * The pieces take WIO_PARTS lanes in turn. A lane has a message space of the provider to itself, so
 * that the pieces of a space follow each other in the same order on all members.
 */
#include "mpi/collectives/hybrid.h"

#include "mpi/inside.h"

/* Below the eager limit of TCP (1 MiB): with a receive posted, no piece needs a rendezvous. */
enum { PIECE = 512 * 1024, CHILDREN = 3 };

/* A long message as this process sees it. */
struct pipe {
    struct wio_schedule *s;
    const struct wio_collective *c;
    int parent, child[CHILDREN], children; /* ranks; parent -1: none */
    bool takes_part; /* sends or receives; the other members have a provider for everything */
    bool shares;     /* members of my PB exchange pieces by their provider */
    int leader;      /* of my PB */
    size_t unit, count, piece; /* bytes of an element; elements in all and in a piece */
    void *word;                /* says how long the message is */
};

/* Elements [at, at + count) of the message. */
struct piece {
    size_t at, bytes, count;
    bool first; /* of its lane */
};

static void add_child(struct pipe *p, int rank)
{
    p->child[p->children++] = rank;
}

/* Leaders in a chain that begins at the root's PB. */
static void stand_across(struct pipe *p, const struct wio_layers *l)
{
    int n = l->leaders.size, here = (l->leaders.rank - l->leaders_root + n) % n;

    if (here > 0)
        p->parent = l->leaders.map[(l->leaders.rank - 1 + n) % n];
    if (here + 1 < n)
        add_child(p, l->leaders.map[(l->leaders.rank + 1) % n]);
}

/* Members of a PB without a provider in a heap below their leader. */
static void stand_inside(struct pipe *p, const struct wio_layers *l)
{
    int n = l->inside.size, here = (l->inside.rank - l->inside_root + n) % n;

    if (here > 0)
        p->parent = l->inside.map[((here - 1) / 2 + l->inside_root) % n];
    for (int i = 2 * here + 1; i <= 2 * here + 2 && i < n; i++)
        add_child(p, l->inside.map[(i + l->inside_root) % n]);
}

static struct pipe new_pipe(struct wio_schedule *s, const struct wio_collective *c, int root,
                            size_t unit)
{
    struct wio_layers l = wio_layers(s, root, WIO_LEAD_FIRST);
    struct pipe p = {.s = s, .c = c, .parent = -1, .unit = unit, .count = c->bytes / unit};

    if (s->error != 0)
        return p;
    p.leader = l.inside.map[l.inside_root];
    p.shares = l.inside.size > 1 && s->inside != NULL && (unit == 1 || wio_hybrid_folds(s, c));
    if (l.leaders.rank >= 0)
        stand_across(&p, &l);
    if (!p.shares)
        stand_inside(&p, &l);
    p.takes_part = l.leaders.rank >= 0 || !p.shares;
    p.piece = unit < PIECE ? PIECE / unit : 1;
    p.word = wio_schedule_scratch(s, WIO_SIZE_BYTES);
    if (s->error == 0)
        wio_schedule_put_size(p.word, c->bytes);
    return p;
}

/* The lane's first piece, or the next one. @return false: there is none */
static bool next_piece(const struct pipe *p, int lane, bool first, struct piece *at)
{
    size_t from = first ? (size_t)lane * p->piece : at->at / p->unit + WIO_PARTS * p->piece;

    if (from >= p->count)
        return false;
    at->first = first;
    at->count = p->count - from < p->piece ? p->count - from : p->piece;
    at->at = from * p->unit;
    at->bytes = at->count * p->unit;
    return true;
}

static void hear(struct pipe *p, int from)
{
    void *word = wio_schedule_scratch(p->s, WIO_SIZE_BYTES);

    wio_schedule_recv(p->s, from, word, WIO_SIZE_BYTES);
    wio_schedule_check(p->s, from, word, p->c->bytes);
}

/* Before the first piece of a lane its receiver says that it has posted the receive. A later piece
 * follows the acknowledgement of the one before, which says the same. @param down pieces come from
 * the parent */
static void agree(struct pipe *p, bool down)
{
    if (p->parent >= 0 && down)
        wio_schedule_send(p->s, p->parent, p->word, WIO_SIZE_BYTES);
    else if (p->parent >= 0)
        hear(p, p->parent);
    for (int i = 0; i < p->children; i++) {
        if (down)
            hear(p, p->child[i]);
        else
            wio_schedule_send(p->s, p->child[i], p->word, WIO_SIZE_BYTES);
    }
}

/* A step of the provider, beside the messages of its round. */
static struct waitio_inside_call *step(struct pipe *p, enum waitio_inside_kind kind,
                                       const struct piece *at)
{
    struct waitio_inside_call *call = wio_schedule_scratch(p->s, sizeof *call);

    if (p->s->error != 0)
        return NULL;
    *call = (struct waitio_inside_call){
        .kind = kind, .root = p->s->inside->place[p->leader], .bytes = at->bytes};
    wio_schedule_inside(p->s, call);
    return call;
}

/* A piece from the parent and to all below. */
static void pass_down(struct pipe *p, const struct piece *at, char *data)
{
    if (p->takes_part && p->parent >= 0)
        wio_schedule_recv(p->s, p->parent, data, at->bytes);
    if (p->takes_part && at->first)
        agree(p, true);
    wio_schedule_round(p->s);
    for (int i = 0; i < p->children; i++)
        wio_schedule_send(p->s, p->child[i], data, at->bytes);
    if (p->shares) {
        struct waitio_inside_call *call = step(p, WAITIO_INSIDE_BCAST, at);
        if (call != NULL)
            call->out = data;
    }
    wio_schedule_round(p->s);
}

void wio_hybrid_bcast_long(struct wio_schedule *s, const struct wio_collective *c)
{
    struct pipe p = new_pipe(s, c, c->root, 1);

    for (int lane = 0; s->error == 0 && lane < WIO_PARTS; lane++) {
        struct piece at;
        wio_schedule_lane(s);
        for (bool more = next_piece(&p, lane, true, &at); more && s->error == 0;
             more = next_piece(&p, lane, false, &at))
            pass_down(&p, &at, (char *)c->out + at.at);
    }
    wio_schedule_join(s);
}

/* ---- reductions ---- */

/* Memory of a lane: the sum of my PB and those below, and the sums that come from there. */
struct slots {
    char *sum, *theirs[CHILDREN];
};

static struct slots slots(struct pipe *p)
{
    size_t bytes = (p->piece < p->count ? p->piece : p->count) * p->unit;
    struct slots m = {0};

    if (p->takes_part)
        m.sum = wio_schedule_scratch(p->s, bytes);
    for (int i = 0; i < p->children; i++)
        m.theirs[i] = wio_schedule_scratch(p->s, bytes);
    return m;
}

/* What a piece adds up to here and below, at @p sum. @return its address at the end of the round */
static const void *gather(struct pipe *p, const struct piece *at, const struct slots *m, char *sum)
{
    const void *mine = (const char *)p->c->in + at->at;

    if (p->shares) {
        struct waitio_inside_call *call = step(p, WAITIO_INSIDE_REDUCE, at);
        if (call != NULL) {
            call->in = mine;
            call->out = sum;
            call->count = at->count;
            call->type = p->s->fold.type->id;
            call->op = p->c->op;
        }
        mine = sum;
    }
    for (int i = 0; i < p->children; i++)
        wio_schedule_recv(p->s, p->child[i], m->theirs[i], at->bytes);
    if (p->takes_part && at->first)
        agree(p, false);
    for (int i = 0; i < p->children; i++) {
        wio_schedule_fold(p->s, mine, m->theirs[i], sum, at->count);
        mine = sum;
    }
    if (p->takes_part && p->parent < 0)
        wio_schedule_copy(p->s, mine, sum, at->bytes);
    wio_schedule_round(p->s);
    return mine;
}

static void reduce_lane(struct pipe *p, int lane)
{
    struct slots m = slots(p);
    bool root = p->s->rank == p->c->root;
    struct piece at;

    for (bool more = next_piece(p, lane, true, &at); more && p->s->error == 0;
         more = next_piece(p, lane, false, &at)) {
        const void *sum = gather(p, &at, &m, root ? (char *)p->c->out + at.at : m.sum);
        if (p->parent >= 0)
            wio_schedule_send(p->s, p->parent, sum, at.bytes);
        wio_schedule_round(p->s);
    }
}

void wio_hybrid_reduce_long(struct wio_schedule *s, const struct wio_collective *c)
{
    struct pipe p = new_pipe(s, c, c->root, s->fold.type->size);

    for (int lane = 0; s->error == 0 && lane < WIO_PARTS; lane++) {
        wio_schedule_lane(s);
        reduce_lane(&p, lane);
    }
    wio_schedule_join(s);
}

static void allreduce_lane(struct pipe *p, int lane)
{
    struct slots m = slots(p);
    struct piece at;

    for (bool more = next_piece(p, lane, true, &at); more && p->s->error == 0;
         more = next_piece(p, lane, false, &at)) {
        char *result = (char *)p->c->out + at.at;
        bool top = p->takes_part && p->parent < 0;
        const void *sum = gather(p, &at, &m, top ? result : m.sum);
        if (p->parent >= 0)
            wio_schedule_send(p->s, p->parent, sum, at.bytes);
        wio_schedule_round(p->s);
        struct piece down = at;
        down.first = false; /* its receiver has agreed already */
        pass_down(p, &down, result);
    }
}

void wio_hybrid_allreduce_long(struct wio_schedule *s, const struct wio_collective *c)
{
    struct pipe p = new_pipe(s, c, 0, s->fold.type->size);

    for (int lane = 0; s->error == 0 && lane < WIO_PARTS; lane++) {
        wio_schedule_lane(s);
        allreduce_lane(&p, lane);
    }
    wio_schedule_join(s);
}
