/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long broadcasts and reductions of hybrid communicators, in pieces: while one piece crosses the
 * border, others are on their way inside the PBs. Each piece has a king in every PB (mpi/kings.h),
 * and these form a chain, so that each border is crossed once in each direction. Inside a PB the
 * pieces go to or from their kings by its provider; a PB without has a binary tree of messages.
 *
 * In the root's PB they go to or from the root. So a broadcast reaches the other kings of that PB
 * by the step that all of its members need anyway, and leaves afterwards. In a reduction these
 * kings add what has come from the other PBs to their own operand before their PB reduces to the
 * root. No piece moves more often for having another king.
 *
 * The pieces take the lanes in turn, two lanes for each king. A lane has a message space of the
 * provider to itself, so that the pieces of a space follow each other in the same order on all
 * members.
 */
#include "mpi/collectives/hybrid.h"

#include "mpi/inside.h"
#include "mpi/kings.h"

/* Below the eager limit of TCP (1 MiB): with a receive posted, no piece needs a rendezvous. */
enum { PIECE = 512 * 1024, CHILDREN = 3 };

/* A long message as this process sees it. */
struct pipe {
    struct wio_schedule *s;
    const struct wio_collective *c;
    struct wio_layers l;
    int root;    /* rank, or -1: every piece has its king */
    bool shares; /* members of my PB exchange pieces by their provider */
    int lanes;
    size_t unit, count, piece; /* bytes of an element; elements in all and in a piece */
    void *word;                /* says how long the message is */
    /* In this lane: */
    int parent, child[CHILDREN], children; /* ranks; parent -1: none */
    int centre;                            /* of my PB: pieces go from here, or to here */
    bool takes_part; /* sends or receives; the other members have a provider for everything */
    bool apart;      /* the king of the root's PB is another member */
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

/* Kings in a chain that begins at the root's PB. */
static void stand_across(struct pipe *p, int number, int here)
{
    const struct wio_topology *topo = p->s->topo;
    int n = topo->npb, mine = topo->pb[p->s->rank];

    if (here > 0)
        p->parent = wio_king(topo, (mine - 1 + n) % n, number, p->root);
    if (here + 1 < n)
        add_child(p, wio_king(topo, (mine + 1) % n, number, p->root));
}

/* Members of a PB without a provider in a heap below the centre. */
static void stand_inside(struct pipe *p)
{
    const struct wio_team *t = &p->l.inside;
    int n = t->size, top = 0, here;

    while (t->map[top] != p->centre)
        top++;
    here = (t->rank - top + n) % n;
    if (here > 0)
        p->parent = t->map[((here - 1) / 2 + top) % n];
    for (int i = 2 * here + 1; i <= 2 * here + 2 && i < n; i++)
        add_child(p, t->map[(i + top) % n]);
}

/* My place in a lane. */
static void stand(struct pipe *p, int lane)
{
    const struct wio_topology *topo = p->s->topo;
    int mine = topo->pb[p->s->rank], n = topo->npb, number = lane % wio_kings_of(topo);
    int here = (mine - (p->root < 0 ? 0 : topo->pb[p->root]) + n) % n;
    int king = wio_king(topo, mine, number, p->root);

    p->parent = -1;
    p->children = 0;
    p->centre = here == 0 && p->root >= 0 ? p->root : king;
    p->apart = p->centre != king;
    if (p->s->rank == king)
        stand_across(p, number, here);
    if (!p->shares)
        stand_inside(p);
    p->takes_part = p->s->rank == king || !p->shares;
}

/* @param root -1: none */
static struct pipe new_pipe(struct wio_schedule *s, const struct wio_collective *c, int root,
                            size_t unit)
{
    struct pipe p = {.s = s, .c = c, .root = root, .unit = unit, .count = c->bytes / unit};

    p.l = wio_layers(s, root < 0 ? 0 : root, WIO_LEAD_FIRST);
    p.lanes = WIO_LANES_OF_KING * wio_kings_of(s->topo);
    p.shares = p.l.inside.size > 1 && s->inside != NULL && (unit == 1 || wio_hybrid_folds(s, c));
    p.piece = unit < PIECE ? PIECE / unit : 1;
    p.word = wio_schedule_scratch(s, WIO_SIZE_BYTES);
    if (s->error == 0)
        wio_schedule_put_size(p.word, c->bytes);
    return p;
}

/* The lane's first piece, or the next one. @return false: there is none */
static bool next_piece(const struct pipe *p, int lane, bool first, struct piece *at)
{
    size_t from = first ? (size_t)lane * p->piece : at->at / p->unit + (size_t)p->lanes * p->piece;

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
        .kind = kind, .root = p->s->inside->place[p->centre], .bytes = at->bytes};
    wio_schedule_inside(p->s, call);
    return call;
}

static void bcast_inside(struct pipe *p, const struct piece *at, char *data)
{
    struct waitio_inside_call *call = step(p, WAITIO_INSIDE_BCAST, at);

    if (call != NULL)
        call->out = data;
}

/* A piece from the parent and to all below. */
static void pass_down(struct pipe *p, const struct piece *at, char *data)
{
    if (p->takes_part && p->parent >= 0)
        wio_schedule_recv(p->s, p->parent, data, at->bytes);
    if (p->takes_part && at->first)
        agree(p, true);
    if (p->shares && p->apart) /* the king has it from the root */
        bcast_inside(p, at, data);
    wio_schedule_round(p->s);
    for (int i = 0; i < p->children; i++)
        wio_schedule_send(p->s, p->child[i], data, at->bytes);
    if (p->shares && !p->apart)
        bcast_inside(p, at, data);
    wio_schedule_round(p->s);
}

/* Write all lanes, one after the other. */
static void each_lane(struct pipe *p, void (*write_lane)(struct pipe *p, int lane))
{
    for (int lane = 0; p->s->error == 0 && lane < p->lanes; lane++) {
        wio_schedule_lane(p->s);
        stand(p, lane);
        write_lane(p, lane);
    }
    wio_schedule_join(p->s);
}

static void bcast_lane(struct pipe *p, int lane)
{
    struct piece at;

    for (bool more = next_piece(p, lane, true, &at); more && p->s->error == 0;
         more = next_piece(p, lane, false, &at))
        pass_down(p, &at, (char *)p->c->out + at.at);
}

void wio_hybrid_bcast_long(struct wio_schedule *s, const struct wio_collective *c)
{
    struct pipe p = new_pipe(s, c, c->root, 1);

    each_lane(&p, bcast_lane);
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

/* The sum of my PB to its centre. */
static void reduce_inside(struct pipe *p, const struct piece *at, const void *mine, char *sum)
{
    struct waitio_inside_call *call = step(p, WAITIO_INSIDE_REDUCE, at);

    if (call == NULL)
        return;
    call->in = mine;
    call->out = sum;
    call->count = at->count;
    wio_hybrid_operator(p->s, p->c, call);
}

/* What comes from below, and @p mine. @return the address of the sum at the end of the round */
static const void *add_below(struct pipe *p, const struct piece *at, const struct slots *m,
                             const void *mine, char *sum)
{
    for (int i = 0; i < p->children; i++)
        wio_schedule_recv(p->s, p->child[i], m->theirs[i], at->bytes);
    if (p->takes_part && at->first)
        agree(p, false);
    for (int i = 0; i < p->children; i++) {
        wio_schedule_fold(p->s, mine, m->theirs[i], sum, at->count);
        mine = sum;
    }
    return mine;
}

/* What a piece adds up to here and below, at @p sum. @return its address at the end of the round */
static const void *gather(struct pipe *p, const struct piece *at, const struct slots *m, char *sum)
{
    const void *mine = (const char *)p->c->in + at->at;

    if (p->shares && p->apart) { /* the root gets all from its PB */
        mine = add_below(p, at, m, mine, m->sum);
        wio_schedule_round(p->s);
        reduce_inside(p, at, mine, p->s->rank == p->root ? sum : NULL);
        wio_schedule_round(p->s);
        return sum;
    }
    if (p->shares) {
        reduce_inside(p, at, mine, sum);
        mine = sum;
    }
    mine = add_below(p, at, m, mine, sum);
    if (p->takes_part && p->parent < 0)
        wio_schedule_copy(p->s, mine, sum, at->bytes);
    wio_schedule_round(p->s);
    return mine;
}

static void reduce_lane(struct pipe *p, int lane)
{
    struct slots m = slots(p);
    bool root = p->s->rank == p->root;
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

    each_lane(&p, reduce_lane);
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
    struct pipe p = new_pipe(s, c, -1, s->fold.type->size);

    each_lane(&p, allreduce_lane);
}
