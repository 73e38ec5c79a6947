/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * traffic SEED ROUNDS MESSAGES [MAXSIZE [SECONDS]]: random messages against a model.
 *
 * From the seed every process computes the whole plan of a round: which messages travel in which
 * group from whom to whom, with which tags and sizes, and how each receiver asks for them. It then
 * does its own part in a random order and checks what arrived: contents, status, and the order that
 * MPI's rules demand. With the first receive a posted before b, and message x sent before y by the
 * same source in the same group, a must not have got y and b got x if a's pattern accepts x.
 *
 * How receives of one group at one receiver are posted is chosen so that no choice of the matching
 * can starve a receive: only exact ones; one wildcard kind throughout; exact ones first and full
 * wildcards for the rest; or probing, one by one, after everything else was started.
 *
 * With SECONDS (tests/faults/soak.py) there are as many rounds as begin in that time, at most
 * ROUNDS. Messages are shorter, so that there are more; some sends are synchronous, ready, or of a
 * strided type. A failure says in which round: with the same seed its plan is the same. The first
 * message waits for a line of standard input: until then nobody dials.
 */
#include "common.h"
#include "waitio_mpi.h"

enum { GROUPS = 6, TAGS = 4, TAG_NOBODY_SENDS = 900, MESSAGES_MAX = 4000, SIZES = 3 };
enum style { EXACT, ANY_SRC, ANY_TAG, ANY_BOTH, MIXED, PROBED, STYLES };

struct message {
    int group, src, dst, tag; /* ranks in the group */
    size_t bytes;
    uint64_t seed;
    bool taken;
};
struct receive {
    int group, src, tag; /* pattern, -1: any */
    bool probed, cancel_first, done;
    int message; /* of the plan, once known */
    waitio_status_t status;
    char *buf;
    size_t room;
    waitio_req_t req;
};
enum mode { PLAIN, PERSISTENT, SYNCHRONOUS, STRIDED, MODES };
struct send {
    int message;
    char *buf;
    waitio_req_t req;
    WAITIO_MPI_Request mpi; /* of those that only MPI's calls know */
    enum mode mode;
};

static waitio_group_t group[GROUPS], all;
static int group_size[GROUPS], group_rank[GROUPS], world_rank, world_size, npb, *nprocs;
static struct message plan[MESSAGES_MAX];
static int planned;
static struct receive recvs[MESSAGES_MAX]; /* in the order posted */
static int nrecvs;
static struct send sends[MESSAGES_MAX];
static int nsends;
static uint64_t done_messages, done_bytes;
static size_t max_size = 4 << 20;
static double seconds; /* 0: ROUNDS decide */
static int round_now = -1;

/* ---- groups ---- */

static int even(int pbid, int n)
{
    return (pbid + n) % 2 == 0;
}

static int first_only(int pbid, int n)
{
    (void)pbid;
    return n == 0;
}

static void make_groups(void)
{
    OK(waitio_pb_size(&npb));
    OK(waitio_get_nprocs(&nprocs));
    waitio_filter_func_t *f = must_alloc((size_t)npb * sizeof *f);
    int *order = must_alloc((size_t)npb * sizeof *order);
    int **lists = must_alloc((size_t)npb * sizeof *lists);
    all = everybody(GROUPS, &world_rank, &world_size);
    for (int p = 0; p < npb; p++) {
        f[p] = truef;
        order[p] = p + 1;
    }
    group[0] = waitio_create_group(0, f, order);
    for (int p = 0; p < npb; p++)
        order[p] = 2 * (npb - p); /* reversed, with gaps */
    int same = npb == 1;          /* with one block these have the members of group 0 */
    group[1] = waitio_create_group(same ? 1 : 0, f, order);
    for (int p = 0; p < npb; p++)
        f[p] = even;
    group[2] = waitio_create_group(same ? 2 : 0, f, order);
    for (int p = 0; p < npb; p++)
        f[p] = first_only;
    group[3] = waitio_create_group(7, f, order);
    for (int p = 0; p < npb; p++) { /* everybody, ranks backwards inside each block */
        lists[p] = must_alloc(((size_t)nprocs[p] + 1) * sizeof(int));
        for (int i = 0; i < nprocs[p]; i++)
            lists[p][i] = nprocs[p] - 1 - i;
        lists[p][nprocs[p]] = -1;
    }
    group[4] = waitio_create_group(4, lists, order); /* may have the members of group 1 */
    OK(waitio_group_pb(5, npb - 1, &group[5]));
    for (int i = 0; i < GROUPS; i++) {
        CHECK(group[i] != NULL, "group %d: %s", i, waitio_last_error());
        OK(waitio_group_size(group[i], &group_size[i]));
        OK(waitio_group_rank(group[i], &group_rank[i]));
    }
    for (int p = 0; p < npb; p++)
        free(lists[p]);
    free(lists);
    free(f);
    free(order);
}

/* ---- plan ---- */

static size_t random_size(uint64_t *s)
{
    uint64_t kind = below(s, 1000);
    size_t n;
    if (seconds > 0) /* many */
        kind = kind < 900 ? kind * 8 / 10 : kind < 985 ? 800 : kind < 998 ? 930 : 990;
    if (kind < 550)
        n = below(s, 64);
    else if (kind < 800)
        n = below(s, 4096);
    else if (kind < 930)
        n = below(s, 65536 + 200);
    else if (kind < 990)
        n = below(s, (1 << 20) + 300);
    else
        n = below(s, max_size);
    return n < max_size ? n : max_size;
}

static void make_plan(uint64_t seed, int messages)
{
    uint64_t s = seed;
    planned = messages;
    for (int i = 0; i < messages; i++) {
        struct message *m = &plan[i];
        m->group = (int)below(&s, GROUPS);
        m->src = (int)below(&s, (uint64_t)group_size[m->group]);
        m->dst = (int)below(&s, (uint64_t)group_size[m->group]);
        m->tag = (int)below(&s, TAGS) * (below(&s, 2) ? 1 : 536870911);
        m->bytes = random_size(&s);
        m->seed = mix(seed ^ ((uint64_t)i << 20));
        m->taken = false;
    }
}

/* Largest message that this pattern may meet. */
static size_t room_for(int g, int src, int tag)
{
    size_t n = 0;
    for (int i = 0; i < planned; i++) {
        const struct message *m = &plan[i];
        if (m->group == g && m->dst == group_rank[g] && (src < 0 || m->src == src) &&
            (tag < 0 || m->tag == tag) && m->bytes > n)
            n = m->bytes;
    }
    return n;
}

static void add_receive(int g, int src, int tag, bool probed, uint64_t *s)
{
    struct receive *r = &recvs[nrecvs++];
    *r = (struct receive){.group = g, .src = src, .tag = tag, .probed = probed, .message = -1};
    r->cancel_first = src >= 0 && tag >= 0 && below(s, 20) == 0;
}

static void shuffle(int from, int to, uint64_t *s)
{
    for (int i = to - 1; i > from; i--) {
        int j = from + (int)below(s, (uint64_t)(i - from + 1));
        struct receive t = recvs[i];
        recvs[i] = recvs[j];
        recvs[j] = t;
    }
}

/* My receives of one group; s is my own sequence: nobody else needs to know. */
static void plan_receives(int g, uint64_t *s)
{
    enum style style = (enum style)below(s, STYLES);
    int first = nrecvs, wild = 0;
    for (int i = 0; i < planned; i++) {
        const struct message *m = &plan[i];
        if (m->group != g || m->dst != group_rank[g])
            continue;
        switch (style) {
        case ANY_SRC:
            add_receive(g, -1, m->tag, false, s);
            break;
        case ANY_TAG:
            add_receive(g, m->src, -1, false, s);
            break;
        case ANY_BOTH:
            add_receive(g, -1, -1, false, s);
            break;
        case MIXED:
            if (below(s, 2) == 0)
                wild++;
            else
                add_receive(g, m->src, m->tag, false, s);
            break;
        case PROBED:
            add_receive(g, below(s, 2) ? -1 : m->src, below(s, 2) ? -1 : m->tag, true, s);
            break;
        default:
            add_receive(g, m->src, m->tag, false, s);
        }
    }
    shuffle(first, nrecvs, s);
    if (style == PROBED) /* any order of different wildcards could starve: only one kind */
        for (int i = first; i < nrecvs; i++)
            recvs[i].src = recvs[i].tag = -1;
    while (wild-- > 0)
        add_receive(g, -1, -1, false, s);
}

/* ---- doing it ---- */

static void post(struct receive *r)
{
    r->room = room_for(r->group, r->src, r->tag);
    r->buf = must_alloc(r->room);
    int src = r->src < 0 ? WAITIO_ANY_SOURCE : r->src, tag = r->tag < 0 ? WAITIO_ANY_TAG : r->tag;
    if (r->cancel_first) { /* withdraw one that nothing can match, and go on */
        waitio_status_t st;
        OK(waitio_irecv(group[r->group], src, r->buf, r->room, TAG_NOBODY_SENDS, &r->req));
        OK(waitio_cancel(&r->req));
        OK(waitio_wait_status(&r->req, &st));
        CHECK(st.cancelled, "a receive for a tag that nobody sends was not cancelled");
    }
    OK(waitio_irecv(group[r->group], src, r->buf, r->room, tag, &r->req));
}

/* Every other group of four bytes is sent. */
static void send_strided(struct send *q, const struct message *m)
{
    WAITIO_MPI_Datatype type;
    int words = (int)(m->bytes / 4);
    q->buf = must_alloc(2 * m->bytes);
    fill(q->buf, m->bytes, m->seed);
    for (int i = words - 1; i > 0; i--)
        memmove(q->buf + 8 * (size_t)i, q->buf + 4 * (size_t)i, 4);
    OK(WAITIO_MPI_Type_vector(words, 4, 8, WAITIO_MPI_BYTE, &type));
    OK(WAITIO_MPI_Type_commit(&type));
    OK(WAITIO_MPI_Isend(q->buf, 1, type, m->dst, m->tag, group[m->group], &q->mpi));
    OK(WAITIO_MPI_Type_free(&type));
}

static enum mode any_mode(const struct message *m, uint64_t *s)
{
    if (below(s, 8) == 0)
        return PERSISTENT;
    if (seconds <= 0)
        return PLAIN;
    enum mode mode = (enum mode)below(s, 2 * MODES);
    if (mode == STRIDED && (m->bytes == 0 || m->bytes % 4 != 0))
        return PLAIN;
    return mode == SYNCHRONOUS || mode == STRIDED ? mode : PLAIN;
}

static void start_send(struct send *q, uint64_t *s)
{
    const struct message *m = &plan[q->message];
    q->mode = any_mode(m, s);
    if (q->mode == STRIDED) {
        send_strided(q, m);
        return;
    }
    q->buf = must_alloc(m->bytes);
    fill(q->buf, m->bytes, m->seed);
    if (q->mode == PERSISTENT) {
        OK(waitio_send_init(group[m->group], m->dst, q->buf, m->bytes, m->tag, &q->req));
        OK(waitio_start(&q->req));
    } else if (q->mode == SYNCHRONOUS) {
        OK(WAITIO_MPI_Issend(q->buf, (int)m->bytes, WAITIO_MPI_BYTE, m->dst, m->tag,
                             group[m->group], &q->mpi));
    } else {
        OK(waitio_isend(group[m->group], m->dst, q->buf, m->bytes, m->tag, &q->req));
    }
}

/* Which message of the plan is this? The oldest of its group, source and tag that no receive posted
 * before has got; contents tell (short messages may look alike, and then the rules demand the
 * oldest). */
static void identify(struct receive *r)
{
    const waitio_status_t *st = &r->status;
    for (int i = 0; i < planned; i++) {
        struct message *m = &plan[i];
        if (m->group != r->group || m->dst != group_rank[r->group] || m->taken ||
            m->src != st->source || m->tag != st->tag)
            continue;
        if (m->bytes != st->bytes || wrong_at(r->buf, m->bytes, m->seed) >= 0)
            continue;
        m->taken = true;
        r->message = i;
        done_messages++;
        done_bytes += m->bytes;
        return;
    }
    DIE("received %zu bytes from %d, tag %d in group %d that fit no message of the plan", st->bytes,
        st->source, st->tag, r->group);
}

static void got(struct receive *r, const waitio_status_t *st)
{
    CHECK(st->error == 0 && !st->cancelled, "status error %d", st->error);
    CHECK((r->src < 0 || st->source == r->src) && (r->tag < 0 || st->tag == r->tag),
          "asked for (%d, %d), got (%d, %d)", r->src, r->tag, st->source, st->tag);
    r->status = *st;
    r->done = true;
}

static void probe_and_receive(struct receive *r, uint64_t *s)
{
    waitio_status_t st, st2;
    int flag = 0;
    if (below(s, 2))
        OK(waitio_probe(group[r->group], WAITIO_ANY_SOURCE, WAITIO_ANY_TAG, &st));
    else
        while (!flag)
            OK(waitio_iprobe(group[r->group], WAITIO_ANY_SOURCE, WAITIO_ANY_TAG, &flag, &st));
    r->room = st.bytes;
    r->buf = must_alloc(r->room);
    OK(waitio_irecv(group[r->group], st.source, r->buf, r->room, st.tag, &r->req));
    OK(waitio_wait_status(&r->req, &st2));
    CHECK(st2.bytes == st.bytes && st2.source == st.source && st2.tag == st.tag,
          "probe and receive differ: %zu and %zu bytes", st.bytes, st2.bytes);
    got(r, &st2);
}

static void finish_receives(uint64_t *s)
{
    int left = 0;
    for (int i = 0; i < nrecvs; i++)
        left += !recvs[i].probed;
    while (left > 0) {
        int i = (int)below(s, (uint64_t)nrecvs), flag = 1;
        struct receive *r = &recvs[i];
        waitio_status_t st;
        if (r->probed || r->done)
            continue;
        if (below(s, 2))
            OK(waitio_wait_status(&r->req, &st));
        else
            OK(waitio_test(&r->req, &flag, &st));
        if (flag) {
            got(r, &st);
            left--;
        }
    }
}

static int sent(struct send *q, int wait, int *flag)
{
    if (q->mode == SYNCHRONOUS || q->mode == STRIDED)
        return wait ? WAITIO_MPI_Wait(&q->mpi, WAITIO_MPI_STATUS_IGNORE)
                    : WAITIO_MPI_Test(&q->mpi, flag, WAITIO_MPI_STATUS_IGNORE);
    return wait ? waitio_wait(&q->req) : waitio_test(&q->req, flag, NULL);
}

static void finish_sends(uint64_t *s)
{
    for (int i = 0; i < nsends; i++) {
        struct send *q = &sends[i];
        int flag = (int)below(s, 2);
        if (flag)
            OK(sent(q, 1, NULL));
        while (!flag)
            OK(sent(q, 0, &flag));
        if (q->mode == PERSISTENT)
            OK(waitio_request_free(&q->req));
        free(q->buf);
    }
}

static bool accepts(const struct receive *r, const struct message *m)
{
    return (r->src < 0 || r->src == m->src) && (r->tag < 0 || r->tag == m->tag);
}

static void check_order(void)
{
    for (int i = 0; i < nrecvs; i++)
        identify(&recvs[i]);
    for (int a = 0; a < nrecvs; a++)
        for (int b = a + 1; b < nrecvs; b++) {
            const struct receive *ra = &recvs[a], *rb = &recvs[b];
            if (ra->group != rb->group || ra->message < rb->message)
                continue;
            const struct message *x = &plan[rb->message], *y = &plan[ra->message];
            if (x->src == y->src && accepts(ra, x))
                DIE("overtaking: receive %d (src %d, tag %d) got message %d, receive %d got %d of "
                    "the "
                    "same source %d, group %d",
                    a, ra->src, ra->tag, ra->message, b, rb->message, x->src, x->group);
        }
}

static void round_of(uint64_t seed, int messages)
{
    uint64_t mine = mix(seed ^ ((uint64_t)world_rank << 48));
    make_plan(seed, messages);
    nrecvs = nsends = 0;
    for (int g = 0; g < GROUPS; g++)
        if (group_rank[g] >= 0)
            plan_receives(g, &mine);
    for (int i = 0; i < planned; i++)
        if (plan[i].src == group_rank[plan[i].group])
            sends[nsends++] = (struct send){.message = i};
    int r = 0, q = 0;
    while (r < nrecvs || q < nsends) {
        if (r < nrecvs && (q == nsends || below(&mine, 2))) {
            if (!recvs[r].probed)
                post(&recvs[r]);
            r++;
        } else {
            start_send(&sends[q++], &mine);
        }
    }
    for (int i = 0; i < nrecvs; i++)
        if (recvs[i].probed)
            probe_and_receive(&recvs[i], &mine);
    finish_receives(&mine);
    finish_sends(&mine);
    check_order();
    for (int i = 0; i < nrecvs; i++)
        free(recvs[i].buf);
    barrier(all, 1);
}

/* Ready sends, round a ring: the receive was posted before the barrier. */
static void ready_ring(uint64_t seed)
{
    static char out[20000], in[20000];
    size_t n = (size_t)(mix(seed) % sizeof out);
    uint64_t left = (uint64_t)((world_rank - 1 + world_size) % world_size);
    WAITIO_MPI_Request req[2];
    fill(out, n, seed + (uint64_t)world_rank);
    OK(WAITIO_MPI_Irecv(in, (int)n, WAITIO_MPI_BYTE, (int)left, 2, all, &req[0]));
    barrier(all, 1);
    OK(WAITIO_MPI_Irsend(out, (int)n, WAITIO_MPI_BYTE, (world_rank + 1) % world_size, 2, all,
                         &req[1]));
    OK(WAITIO_MPI_Waitall(2, req, WAITIO_MPI_STATUSES_IGNORE));
    CHECK(wrong_at(in, n, seed + left) < 0, "a ready send of %zu bytes arrived changed", n);
    done_messages++;
    done_bytes += n;
}

/* Rank 0 says to all whether there is another round. */
static bool another(double end)
{
    char go = now_s() < end;
    waitio_req_t req;
    if (world_rank == 0)
        for (int i = 1; i < world_size; i++) {
            OK(waitio_isend(all, i, &go, 1, 3, &req));
            OK(waitio_wait(&req));
        }
    else {
        OK(waitio_irecv(all, 0, &go, 1, 3, &req));
        OK(waitio_wait(&req));
    }
    return go != 0;
}

static void tell_round(void)
{
    if (round_now >= 0)
        fprintf(stderr, "ended in round %d\n", round_now);
}

int main(int argc, char **argv)
{
    CHECK(argc >= 4, "usage: traffic SEED ROUNDS MESSAGES [MAXSIZE [SECONDS]]");
    uint64_t seed = strtoull(argv[1], NULL, 10);
    int rounds = atoi(argv[2]), messages = atoi(argv[3]);
    if (argc > 4)
        max_size = strtoull(argv[4], NULL, 10);
    if (argc > 5)
        seconds = strtod(argv[5], NULL);
    CHECK(messages <= MESSAGES_MAX, "at most %d messages a round", MESSAGES_MAX);
    OK(waitio_init(60));
    if (seconds > 0)
        CHECK(getchar() != EOF, "nobody said go");
    make_groups();
    atexit(tell_round);
    double end = now_s() + seconds;
    for (int i = 0; i < rounds && (seconds <= 0 || another(end)); i++) {
        round_now = i;
        round_of(mix(seed + (uint64_t)i), messages);
        if (seconds > 0)
            ready_ring(seed + (uint64_t)i);
        if (seconds > 0 && i % 10 == 0)
            printf("round %d: %llu messages\n", i, (unsigned long long)done_messages);
        fflush(stdout);
    }
    round_now = -1;
    for (int i = 0; i < GROUPS; i++)
        OK(waitio_group_free(&group[i]));
    if (seconds > 0)
        printf("counters: breaks %llu, resumes %llu, resent %llu\n",
               (unsigned long long)counter("link_breaks"),
               (unsigned long long)counter("link_resumes"),
               (unsigned long long)counter("resent_msgs"));
    OK(waitio_finalize());
    printf("traffic ok: %llu messages, %llu bytes received\n", (unsigned long long)done_messages,
           (unsigned long long)done_bytes);
    return 0;
}
