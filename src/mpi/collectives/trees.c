/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long broadcasts and reductions over several trees at once, after the three-way algorithms of the
 * K computer's MPI [Trinaryx]: the message is cut in three parts, each pipelined over a tree of its
 * own. There the trees share no link of the torus. Here the trees share no inner members: in a tree
 * with three branches a third of the members are inner ones, the others leaves. The order of the
 * members is rotated by a third from tree to tree, so each tree has other inner members
 * [SplitStream] (for two trees [Two-tree]). So every process receives n bytes and sends about n,
 * all the time.
 *
 * Trees are built in layers: one of the leaders of all PBs, and one below each leader in its PB.
 * Every byte crosses the border between two PBs once in each direction. The pieces of a tree use a
 * few lanes in turn. The number of lanes is the number of pieces on their way to a process at a
 * time. The receive of each is posted before the piece is sent, so no piece needs a rendezvous, and
 * none waits for a piece of another tree.
 */
#include "mpi/collectives/team.h"

/* The eager limit of shared memory. More pieces at a time would not fit into the caches, above all
 * in reductions. */
enum { TREES = 3, BRANCHES = 3, PIECE = 256 * 1024, BCAST_WINDOW = 2, FOLD_WINDOW = 1 };
_Static_assert(TREES *BCAST_WINDOW <= WIO_LANES_MAX, "every tree has its lanes");

/* Place of this process in a tree: ranks of parent and children. */
struct place {
    int parent; /* -1: at the top */
    int child[2 * BRANCHES + 1], children;
};

/* Members of a layer; every tree rotates their order in another way. */
struct layer {
    const int *rank;
    int size, mine; /* mine < 0: this process is no member */
};

/* What an algorithm runs on: trees, and the parts of the message. */
struct forest {
    struct wio_schedule *s;
    const struct wio_collective *c;
    enum wio_collective_kind kind;
    int trees, window; /* lanes of a tree */
    struct place at[TREES];
    size_t unit, count; /* bytes of an element, elements in all */
    size_t piece;       /* elements in a piece */
    char *room;         /* for pieces that cannot be in the program's buffer */
    size_t used;        /* bytes of it */
    void *word;         /* says how long the message is */
};

static int turned(const struct layer *l, int i, int tree, int trees)
{
    return l->rank[(i + tree * l->size / trees) % l->size];
}

/* A heap over the members in the tree's order. @p above: parent of its top, -1 = none */
static void stand(struct place *at, const struct layer *l, int tree, int trees, int above)
{
    int here;

    if (l->size == 0 || l->mine < 0)
        return;
    here = (l->mine - tree * l->size / trees + l->size) % l->size;
    if (here > 0)
        at->parent = turned(l, (here - 1) / BRANCHES, tree, trees);
    else if (above >= 0)
        at->parent = above;
    for (int i = BRANCHES * here + 1; i <= BRANCHES * here + BRANCHES && i < l->size; i++)
        at->child[at->children++] = turned(l, i, tree, trees);
}

/* Parent of the top of a layer that this process is no member of. */
static void feed(struct place *at, const struct layer *l, int tree, int trees)
{
    if (l->size > 0)
        at->child[at->children++] = turned(l, 0, tree, trees);
}

/* The members of a list without one of them. */
static struct layer without(struct wio_schedule *s, const struct wio_team *team, int out)
{
    int *rank = wio_schedule_scratch(s, (size_t)team->size * sizeof *rank);
    struct layer l = {.rank = rank, .mine = -1};

    for (int i = 0; s->error == 0 && i < team->size; i++) {
        if (i == out)
            continue;
        if (i == team->rank)
            l.mine = l.size;
        rank[l.size++] = team->map[i];
    }
    return l;
}

static int trees_of(const struct wio_topology *topo, int size, int all_but)
{
    int most = topo->npb;

    for (int p = 0; p < topo->npb; p++) {
        int n = 0;
        for (int i = 0; i < size; i++)
            n += topo->pb[i] == p;
        most = n > most ? n : most;
    }
    most -= all_but;
    return most < 1 ? 1 : most > TREES ? TREES : most;
}

/* First element of a tree's part; of long messages a round number. */
static size_t part(const struct forest *f, int tree)
{
    size_t each = f->count / (size_t)f->trees;

    return (each < PIECE ? each : each & ~(size_t)1023) * (size_t)tree;
}

static size_t part_end(const struct forest *f, int tree)
{
    return tree + 1 == f->trees ? f->count : part(f, tree + 1);
}

/* A piece: its bytes, and where they are in the message. */
struct piece {
    size_t at, bytes, count;
    bool first; /* of the lane */
};

/* The lane's first piece, or the next one. @return false: there is none */
static bool next_piece(const struct forest *f, int tree, int lane, bool first, struct piece *p)
{
    size_t from = first ? part(f, tree) + (size_t)lane * f->piece
                        : p->at / f->unit + (size_t)f->window * f->piece;
    size_t end = part_end(f, tree);

    p->first = first;
    if (from >= end)
        return false;
    p->count = end - from < f->piece ? end - from : f->piece;
    p->at = from * f->unit;
    p->bytes = p->count * f->unit;
    return true;
}

/* Places of a lane for a piece each. */
struct slots {
    char *mine;   /* my operand */
    char *sum;    /* what goes to the parent */
    char *result; /* the result, packed */
    char *theirs[2 * BRANCHES + 1];
};

static char *slot(struct forest *f, bool wanted)
{
    size_t bytes = (f->piece * f->unit + 63) & ~(size_t)63;

    f->used += wanted ? bytes : 0;
    return wanted && f->room != NULL ? f->room + f->used - bytes : NULL;
}

/* The operand is sent up from where the result comes down to. */
static bool moves_operand(const struct forest *f, const struct place *at)
{
    return f->kind == WIO_ALLREDUCE && at->parent >= 0 && at->children == 0 &&
           f->c->in_type == NULL && f->c->in == f->c->out;
}

static struct slots slots(struct forest *f, const struct place *at)
{
    bool top = at->parent < 0, folds = f->kind != WIO_BCAST;
    struct slots m = {.mine = slot(f, folds && (f->c->in_type != NULL || moves_operand(f, at))),
                      .sum = slot(f, folds && !top && at->children > 0),
                      .result = slot(f, f->c->out_type != NULL && (f->kind != WIO_REDUCE || top))};

    for (int i = 0; folds && i < at->children; i++)
        m.theirs[i] = slot(f, true);
    return m;
}

/* The message in pieces, and one piece of memory for all slots of all lanes. */
static void cut(struct forest *f)
{
    size_t longest = part_end(f, f->trees - 1) - part(f, f->trees - 1);

    f->piece = f->unit < PIECE ? PIECE / f->unit : 1;
    f->piece = f->piece < longest || longest == 0 ? f->piece : longest;
    for (int t = 0; t < f->trees; t++)
        for (int lane = 0; lane < f->window; lane++)
            (void)slots(f, &f->at[t]);
    if (f->used > 0)
        f->room = wio_schedule_scratch(f->s, f->used);
    f->used = 0;
}

typedef void (*lane_fn)(struct forest *f, int tree, int lane);

static void lanes(struct forest *f, lane_fn put)
{
    f->word = wio_schedule_scratch(f->s, WIO_SIZE_BYTES);
    cut(f);
    if (f->s->error == 0)
        wio_schedule_put_size(f->word, f->c->bytes);
    for (int t = 0; t < f->trees; t++)
        for (int lane = 0; lane < f->window; lane++) {
            wio_schedule_lane(f->s);
            if (f->s->error == 0)
                put(f, t, lane);
        }
    wio_schedule_join(f->s);
}

/* Trees below a root, which is in none of them: it sends (or receives) every part once. */
static void below_root(struct forest *f, lane_fn put)
{
    struct wio_schedule *s = f->s;
    struct wio_layers l = wio_layers(s, f->c->root, WIO_LEAD_FIRST);
    struct layer across = without(s, &l.leaders, l.leaders_root);
    struct layer inside = without(s, &l.inside, l.inside_root);

    if (s->error != 0)
        return;
    f->trees = trees_of(s->topo, s->size, 1);
    for (int t = 0; t < f->trees; t++) {
        struct place *at = &f->at[t];
        at->parent = -1;
        stand(at, &across, t, f->trees, f->c->root);
        if (s->rank == f->c->root)
            feed(at, &across, t, f->trees);
        stand(at, &inside, t, f->trees, l.inside.map[l.inside_root]);
        if (inside.mine < 0)
            feed(at, &inside, t, f->trees);
    }
    lanes(f, put);
}

static void hear(struct forest *f, int from)
{
    void *word = wio_schedule_scratch(f->s, WIO_SIZE_BYTES);

    wio_schedule_recv(f->s, from, word, WIO_SIZE_BYTES);
    wio_schedule_check(f->s, from, word, f->c->bytes);
}

/* Before the first piece of a lane its receiver sends one message: the receive is posted. A later
 * piece follows the acknowledgement of the one before, which says that the next receive is posted.
 */
static void agree(struct forest *f, const struct place *at)
{
    bool down = f->kind == WIO_BCAST; /* pieces come from the parent */

    if (at->parent >= 0 && down)
        wio_schedule_send(f->s, at->parent, f->word, WIO_SIZE_BYTES);
    else if (at->parent >= 0)
        hear(f, at->parent);
    for (int i = 0; i < at->children; i++) {
        if (down)
            hear(f, at->child[i]);
        else
            wio_schedule_send(f->s, at->child[i], f->word, WIO_SIZE_BYTES);
    }
}

/* ---- broadcast ---- */

static void bcast_lane(struct forest *f, int tree, int lane)
{
    struct wio_schedule *s = f->s;
    const struct wio_collective *c = f->c;
    const struct place *at = &f->at[tree];
    const struct wio_mpi_type *type = c->out_type;
    struct slots m = slots(f, at);
    struct piece p;

    if (at->parent < 0 && at->children == 0)
        return;
    for (bool more = next_piece(f, tree, lane, true, &p); more;
         more = next_piece(f, tree, lane, false, &p)) {
        char *here = type != NULL ? m.result : (char *)c->out + p.at;
        if (at->parent >= 0)
            wio_schedule_recv(s, at->parent, here, p.bytes);
        else if (type != NULL)
            wio_schedule_pack(s, type, c->out, p.at, here, p.bytes);
        if (p.first)
            agree(f, at);
        wio_schedule_round(s);
        for (int i = 0; i < at->children; i++)
            wio_schedule_send(s, at->child[i], here, p.bytes);
        if (type != NULL && at->parent >= 0)
            wio_schedule_unpack(s, type, here, c->out, p.at, p.bytes);
        if (type != NULL) /* the next piece uses the same buffer */
            wio_schedule_round(s);
    }
}

void wio_bcast_trees(struct wio_schedule *s, const struct wio_collective *c)
{
    struct forest f = {
        .s = s, .c = c, .kind = WIO_BCAST, .window = BCAST_WINDOW, .unit = 1, .count = c->bytes};

    below_root(&f, bcast_lane);
}

/* ---- reductions ---- */

/* Fold the own operand with those of the children, complete at the end of the round. @return its
 * address */
static const void *gather(const struct forest *f, const struct place *at, const struct slots *m,
                          const struct piece *p, void *sum)
{
    const struct wio_collective *c = f->c;
    const void *mine = c->in_type != NULL ? m->mine : (const char *)c->in + p->at;

    if (c->in_type != NULL)
        wio_schedule_pack(f->s, c->in_type, c->in, p->at, m->mine, p->bytes);
    for (int i = 0; i < at->children; i++)
        wio_schedule_recv(f->s, at->child[i], m->theirs[i], p->bytes);
    for (int i = 0; i < at->children; i++) {
        wio_schedule_fold(f->s, mine, m->theirs[i], sum, p->count);
        mine = sum;
    }
    if (at->children == 0 && at->parent < 0) { /* alone */
        wio_schedule_copy(f->s, mine, sum, p->bytes);
        mine = sum;
    }
    return mine;
}

/* Address of a piece of the result. */
static void *result_at(const struct forest *f, const struct slots *m, const struct piece *p)
{
    return f->c->out_type != NULL ? m->result : (char *)f->c->out + p->at;
}

static void put_result(const struct forest *f, const struct slots *m, const struct piece *p)
{
    if (f->c->out_type != NULL)
        wio_schedule_unpack(f->s, f->c->out_type, m->result, f->c->out, p->at, p->bytes);
}

static struct forest of_elements(struct wio_schedule *s, const struct wio_collective *c,
                                 enum wio_collective_kind kind)
{
    size_t unit = s->fold.type->size;

    return (struct forest){.s = s,
                           .c = c,
                           .kind = kind,
                           .window = FOLD_WINDOW,
                           .unit = unit,
                           .count = c->bytes / unit};
}

/* While a piece is passed on, the next one of the lane arrives. */
static void reduce_lane(struct forest *f, int tree, int lane)
{
    const struct place *at = &f->at[tree];
    struct slots m = slots(f, at);
    bool top = at->parent < 0;
    struct piece p;

    for (bool more = next_piece(f, tree, lane, true, &p); more;
         more = next_piece(f, tree, lane, false, &p)) {
        const void *sum = gather(f, at, &m, &p, top ? result_at(f, &m, &p) : m.sum);
        if (p.first)
            agree(f, at);
        wio_schedule_round(f->s);
        if (top)
            put_result(f, &m, &p);
        else
            wio_schedule_send(f->s, at->parent, sum, p.bytes);
    }
}

void wio_reduce_trees(struct wio_schedule *s, const struct wio_collective *c)
{
    struct forest f = of_elements(s, c, WIO_REDUCE);

    below_root(&f, reduce_lane);
}

/* Up to the top and down again. While a piece of the result is passed on, the next one of the lane
 * arrives; its operands are folded when the send is complete. */
static void allreduce_lane(struct forest *f, int tree, int lane)
{
    const struct place *at = &f->at[tree];
    struct slots m = slots(f, at);
    bool top = at->parent < 0;
    struct piece p;

    for (bool more = next_piece(f, tree, lane, true, &p); more;
         more = next_piece(f, tree, lane, false, &p)) {
        void *result = result_at(f, &m, &p);
        const void *sum = gather(f, at, &m, &p, top ? result : m.sum);
        if (moves_operand(f, at)) {
            wio_schedule_copy(f->s, sum, m.mine, p.bytes);
            sum = m.mine;
        }
        if (p.first)
            agree(f, at);
        wio_schedule_round(f->s);
        if (!top) {
            wio_schedule_send(f->s, at->parent, sum, p.bytes);
            wio_schedule_recv(f->s, at->parent, result, p.bytes);
            wio_schedule_round(f->s);
        }
        for (int i = 0; i < at->children; i++)
            wio_schedule_send(f->s, at->child[i], result, p.bytes);
        put_result(f, &m, &p);
    }
}

/* The members of the own PB, or the leaders of all PBs in a tree. */
static struct layer members(struct wio_schedule *s)
{
    int *rank = wio_schedule_scratch(s, (size_t)s->size * sizeof *rank);
    struct layer l = {.rank = rank};

    for (int i = 0; s->error == 0 && i < s->size; i++) {
        if (s->topo->pb[i] != s->topo->pb[s->rank])
            continue;
        if (i == s->rank)
            l.mine = l.size;
        rank[l.size++] = i;
    }
    return l;
}

/* Every tree has another leader in a PB, and another PB at its top. */
static struct layer leaders(struct wio_schedule *s, int tree, int trees)
{
    int npb = s->topo->npb;
    int *rank = wio_schedule_scratch(s, (size_t)npb * sizeof *rank);
    int *seen = wio_schedule_scratch(s, (size_t)npb * sizeof *seen);
    int *size = wio_schedule_scratch(s, (size_t)npb * sizeof *size);
    struct layer l = {.rank = rank, .size = npb, .mine = -1};

    if (s->error != 0)
        return l;
    memset(seen, 0, (size_t)npb * sizeof *seen);
    memset(size, 0, (size_t)npb * sizeof *size);
    for (int i = 0; i < s->size; i++)
        size[s->topo->pb[i]]++;
    for (int i = 0; i < s->size; i++) {
        int p = s->topo->pb[i];
        if (seen[p]++ == tree * size[p] / trees) /* as in turned() */
            rank[p] = i;
    }
    if (rank[s->topo->pb[s->rank]] == s->rank)
        l.mine = s->topo->pb[s->rank];
    return l;
}

void wio_allreduce_trees(struct wio_schedule *s, const struct wio_collective *c)
{
    struct layer inside = members(s);
    struct forest f = of_elements(s, c, WIO_ALLREDUCE);

    f.trees = trees_of(s->topo, s->size, 0);
    for (int t = 0; t < f.trees && s->error == 0; t++) {
        struct layer across = leaders(s, t, f.trees);
        f.at[t].parent = -1;
        stand(&f.at[t], &across, t, f.trees, -1);
        stand(&f.at[t], &inside, t, f.trees, -1);
    }
    if (s->error == 0)
        lanes(&f, allreduce_lane);
}
