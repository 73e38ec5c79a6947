/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Intercommunicators. The handle is a group of the far members in which this process has the rank
 * of its own group. So messages to and from a rank reach the far group, in their own space, and the
 * engine needs no knowledge of this. Behind it is a communicator of both groups, first the group
 * whose first member has the lower universe rank: collectives run there.
 */
#include "api/api.h"
#include "mpi/coll.h"
#include "mpi/comm/inter.h"
#include "mpi/comm/split.h"
#include "os/os.h"

/* Kinds of spaces; see split.c. */
enum { INTER = 0x696e7400, PAIR = 0x70616900, BOTH = 0x626f7400, MERGE = 0x6d657200 };

const struct wio_inter *wio_inter_of(WAITIO_MPI_Comm comm)
{
    const struct wio_comm *c =
        comm == NULL ? NULL : __atomic_load_n(&comm->upper, __ATOMIC_ACQUIRE);

    return c == NULL ? NULL : c->inter;
}

int wio_comm_get_intra(WAITIO_MPI_Comm comm, struct wio_comm **c)
{
    int rc = wio_comm_get(comm, c);

    if (rc == 0 && (*c)->inter != NULL)
        rc = wio_fail(WAITIO_MPI_ERR_COMM, "this call needs an intracommunicator");
    return rc;
}

/* The state of an intercommunicator, and of the communicator behind it. */
static int inter_get(WAITIO_MPI_Comm comm, const struct wio_inter **inter, struct wio_comm **both)
{
    struct wio_comm *c;
    int rc = wio_comm_get(comm, &c);

    if (rc == 0 && c->inter == NULL)
        rc = wio_fail(WAITIO_MPI_ERR_COMM, "this call needs an intercommunicator");
    if (rc != 0)
        return rc;
    *inter = c->inter;
    return wio_comm_get(c->inter->both, both);
}

/* Two groups as universe ranks, in one piece of memory. */
struct sides {
    uint32_t *near, *far;
    uint32_t n, m;
};

static int sides_new(struct sides *s, uint32_t n, uint32_t m)
{
    s->near = wio_os_alloc(((size_t)n + m + 1) * sizeof *s->near);
    s->far = s->near + n;
    s->n = n;
    s->m = m;
    return s->near != NULL ? 0 : wio_fail(WAITIO_ERR_NOMEM, "no memory for %u ranks", n + m);
}

/* The communicator behind: both groups in the order on which all agree. */
static int make_both(const struct sides *s, uint64_t space, struct wio_inter *inter)
{
    bool first = s->near[0] < s->far[0];
    uint32_t *all = wio_os_alloc(((size_t)s->n + s->m) * sizeof *all);
    int rc;

    if (all == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for %u ranks", s->n + s->m);
    inter->first = first ? 0 : (int)s->m;
    inter->far_first = first ? (int)s->n : 0;
    inter->size = (int)s->n;
    inter->far_size = (int)s->m;
    memcpy(all + inter->first, s->near, s->n * sizeof *all);
    memcpy(all + inter->far_first, s->far, s->m * sizeof *all);
    rc = wio_comm_make(all, s->n + s->m, wio_hash64(space, BOTH), &inter->both);
    wio_os_free(all);
    return rc;
}

/* @param space known to both groups, used by no others */
static int make(const struct sides *s, uint64_t space, WAITIO_MPI_Comm *out)
{
    struct wio_universe *u = wio_api_universe();
    struct wio_inter *inter = wio_os_alloc(sizeof *inter);
    int32_t rank = 0;
    int rc;

    if (inter == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for an intercommunicator");
    while (s->near[rank] != wio_universe_table(u)->me)
        rank++;
    rc = make_both(s, space, inter);
    if (rc == 0) {
        rc = wio_comm_make_as(s->far, s->m, space, rank, out);
        if (rc != 0)
            (void)waitio_group_free(&inter->both);
    }
    if (rc != 0) {
        wio_os_free(inter);
        return rc;
    }
    ((struct wio_comm *)(*out)->upper)->inter = inter;
    return 0;
}

/* Of the communicator behind, one group. */
static void members_of(WAITIO_MPI_Comm both, int first, int size, uint32_t *to)
{
    for (int i = 0; i < size; i++)
        to[i] = wio_group_member(both, (uint32_t)(first + i));
}

/* ---- making one from two groups ---- */

/* What the leaders send each other, and then their groups. */
struct head {
    uint64_t space; /* of this call, from the local communicator */
    uint32_t size;
    int32_t code; /* of the leader's part, for its group */
};

static int gather_bytes(WAITIO_MPI_Comm comm, const void *mine, size_t bytes, void *all)
{
    struct wio_call call = {.kind = WIO_ALLGATHER,
                            .send = {.buf = mine, .count = (int)bytes, .type = WAITIO_MPI_BYTE},
                            .recv = {.buf = all, .count = (int)bytes, .type = WAITIO_MPI_BYTE}};

    return wio_coll_call(&call, comm, NULL);
}

static int bcast_bytes(WAITIO_MPI_Comm comm, int root, void *data, size_t bytes)
{
    struct wio_call call = {.kind = WIO_BCAST,
                            .root = root,
                            .recv = {.buf = data, .count = (int)bytes, .type = WAITIO_MPI_BYTE}};

    return wio_coll_call(&call, comm, NULL);
}

/* A communicator of the two leaders, for the time of the call. *me: my rank in it */
static int pair_up(WAITIO_MPI_Comm peer, int rank, int tag, WAITIO_MPI_Comm *pair, int *me)
{
    struct wio_universe *u = wio_api_universe();
    uint32_t mine = u == NULL ? 0 : wio_universe_table(u)->me, theirs, both[2];
    uint64_t space;
    int rc = u == NULL ? wio_last_code() : wio_group_check(u, peer);

    if (rc != 0)
        return rc;
    if (rank < 0 || (uint32_t)rank >= peer->size)
        return wio_fail(WAITIO_ERR_RANK, "remote leader %d in a peer communicator of %u", rank,
                        peer->size);
    theirs = wio_group_member(peer, (uint32_t)rank);
    if (theirs == mine)
        return wio_fail(WAITIO_ERR_RANK, "the remote leader %d is this process itself", rank);
    *me = mine > theirs;
    both[*me] = mine;
    both[!*me] = theirs;
    space = wio_hash64(wio_hash64(peer->space, PAIR), (uint32_t)tag);
    return wio_comm_make(both, 2, wio_hash64(wio_hash64(space, both[0]), both[1]), pair);
}

/* The leaders wait for each other in a space of their own. A leader whose collective in the peer
 * communicator has failed does not come: then the other one must not wait for it. */
static int tie(WAITIO_MPI_Comm pair, WAITIO_MPI_Comm peer)
{
    struct wio_comm *two, *c;
    int rc = wio_comm_get(pair, &two);

    if (rc == 0)
        rc = wio_comm_get(peer, &c);
    if (rc == 0 && c->inter != NULL)
        rc = wio_comm_get(c->inter->both, &c);
    return rc != 0 ? rc : wio_revoke_with(wio_api_universe(), pair, c->twin.space);
}

/* Both leaders' members. *far: those of the other one, to be freed */
static int swap_members(WAITIO_MPI_Comm local, WAITIO_MPI_Comm pair, int me,
                        const struct head both[2], uint32_t **far)
{
    int counts[2] = {(int)both[0].size, (int)both[1].size}, displs[2] = {0, counts[0]}, rc;
    uint32_t *members = wio_comm_members(local);
    struct wio_call call = {
        .kind = WIO_ALLGATHER,
        .v = true,
        .send = {.buf = members, .count = counts[me], .type = WAITIO_MPI_UINT32_T},
        .recv = {.type = WAITIO_MPI_UINT32_T, .counts = counts, .displs = displs}};

    *far = wio_os_alloc(((size_t)both[0].size + both[1].size) * sizeof **far);
    call.recv.buf = *far;
    rc = members == NULL || *far == NULL
             ? wio_fail(WAITIO_ERR_NOMEM, "no memory for the members of two groups")
             : wio_coll_call(&call, pair, NULL);
    if (rc == 0)
        memmove(*far, *far + displs[!me], both[!me].size * sizeof **far);
    wio_os_free(members);
    return rc;
}

/* The leaders' part. head[0] is the own header, also when this leader's call has failed; head[1]
 * afterwards the other's; *far the other's members, to be freed whatever is returned. */
static int lead(WAITIO_MPI_Comm local, WAITIO_MPI_Comm peer, int rank, int tag, struct head head[2],
                uint32_t **far)
{
    WAITIO_MPI_Comm pair = NULL;
    struct head both[2];
    int me = 0, rc = pair_up(peer, rank, tag, &pair, &me);

    if (rc == 0)
        rc = tie(pair, peer);
    if (rc == 0)
        rc = gather_bytes(pair, &head[0], sizeof head[0], both);
    if (rc == 0) {
        head[1] = both[!me];
        head[0].space = wio_hash64(both[0].space, both[1].space);
        if (head[0].code == 0 && head[1].code != 0)
            rc = wio_fail(head[1].code, "the leader of the remote group has failed; its own "
                                        "message says why");
        else if (head[0].code == 0)
            rc = swap_members(local, pair, me, both, far);
    }
    if (pair != NULL)
        (void)wio_mpi_comm_free(&pair);
    return rc;
}

/* The leader sends its group the far members, or the error. */
static int learn(WAITIO_MPI_Comm local, int leader, struct head head[2], const uint32_t *list,
                 struct sides *s)
{
    struct wio_comm *c;
    int rc = wio_comm_get(local, &c);

    if (rc == 0)
        rc = bcast_bytes(local, leader, head, 2 * sizeof *head);
    if (rc != 0)
        return rc;
    if (head[0].code != 0)
        return c->rank == leader ? head[0].code
                                 : wio_fail(head[0].code,
                                            "the leader of the local group (rank %d) has failed; "
                                            "its own message says why",
                                            leader);
    rc = sides_new(s, local->size, head[1].size);
    if (rc != 0)
        return rc;
    members_of(local, 0, (int)local->size, s->near);
    if (list != NULL)
        memcpy(s->far, list, s->m * sizeof *list);
    rc = bcast_bytes(local, leader, s->far, s->m * sizeof *s->far);
    for (uint32_t i = 0; rc == 0 && i < s->m; i++)
        if (wio_group_rank_of(local, s->far[i]) >= 0)
            rc = wio_fail(WAITIO_MPI_ERR_COMM,
                          "member %u of the remote group is in the local group, too", i);
    return rc;
}

static int create(WAITIO_MPI_Comm local, int leader, WAITIO_MPI_Comm peer, int rank, int tag,
                  WAITIO_MPI_Comm *out)
{
    struct sides s = {0};
    struct head head[2] = {{0}};
    struct wio_comm *c;
    uint32_t *list = NULL;
    int mine, rc = wio_comm_get_intra(local, &c);

    if (rc == 0 && (leader < 0 || leader >= c->size))
        rc = wio_fail(WAITIO_ERR_RANK, "local leader %d in a communicator of %d", leader, c->size);
    if (rc != 0)
        return rc;
    /* A process that fails from here on takes part all the same: others wait for it. */
    mine = wio_mpi_need("new communicator's", out);
    if (mine == 0)
        mine = wio_split_space(c, local, INTER, &head[0].space);
    head[0].size = local->size;
    if (c->rank == leader) {
        head[0].code = mine;
        rc = lead(local, peer, rank, tag, head, &list);
        if (rc != 0)
            head[0].code = rc;
    }
    rc = learn(local, leader, head, list, &s);
    if (rc == 0)
        rc = mine != 0 ? mine : make(&s, head[0].space, out);
    wio_os_free(list);
    wio_os_free(s.near);
    return rc;
}

int WAITIO_MPI_Intercomm_create(WAITIO_MPI_Comm local, int local_leader, WAITIO_MPI_Comm peer,
                                int remote_leader, int tag, WAITIO_MPI_Comm *out)
{
    return wio_mpi_result("WAITIO_MPI_Intercomm_create",
                          create(local, local_leader, peer, remote_leader, tag, out));
}

/* ---- from others ---- */

int wio_inter_dup(WAITIO_MPI_Comm comm, WAITIO_MPI_Comm *out)
{
    const struct wio_inter *i;
    struct wio_comm *both;
    struct sides s = {0};
    uint64_t space;
    int rc = inter_get(comm, &i, &both);

    if (rc == 0)
        rc = wio_split_space(both, i->both, INTER, &space);
    if (rc == 0)
        rc = sides_new(&s, (uint32_t)i->size, (uint32_t)i->far_size);
    if (rc == 0) {
        members_of(i->both, i->first, i->size, s.near);
        members_of(i->both, i->far_first, i->far_size, s.far);
        rc = make(&s, space, out);
    }
    wio_os_free(s.near);
    return rc;
}

int wio_inter_split(WAITIO_MPI_Comm comm, int color, int key, WAITIO_MPI_Comm *out)
{
    const struct wio_inter *i;
    struct wio_split_choice mine = {color, key}, *all;
    struct wio_comm *both;
    struct sides s = {0};
    uint64_t space;
    int rc = inter_get(comm, &i, &both);

    if (rc == 0)
        rc = wio_split_space(both, i->both, INTER, &space);
    if (rc != 0)
        return rc;
    *out = WAITIO_MPI_COMM_NULL;
    all = wio_os_alloc((size_t)both->size * sizeof *all);
    rc = all == NULL ? wio_fail(WAITIO_ERR_NOMEM, "no memory to split %d members", both->size)
                     : gather_bytes(i->both, &mine, sizeof mine, all);
    if (rc == 0)
        rc = sides_new(&s, (uint32_t)i->size, (uint32_t)i->far_size);
    if (rc == 0 && color != WAITIO_MPI_UNDEFINED) {
        rc = wio_split_side(i->both, all, i->first, i->size, color, s.near, &s.n);
        if (rc == 0)
            rc = wio_split_side(i->both, all, i->far_first, i->far_size, color, s.far, &s.m);
        if (rc == 0 && s.n > 0 && s.m > 0) /* both sides have that colour */
            rc = make(&s, wio_hash64(space, (uint32_t)color), out);
    }
    wio_os_free(all);
    wio_os_free(s.near);
    return rc;
}

int wio_inter_create(WAITIO_MPI_Comm comm, WAITIO_MPI_Group group, WAITIO_MPI_Comm *out)
{
    const struct wio_inter *i = wio_inter_of(comm);

    for (uint32_t k = 0; k < group->size; k++) {
        int64_t rank = wio_group_rank_of(i->both, wio_group_member(group, k));
        if (rank < i->first || rank >= i->first + i->size)
            return wio_fail(WAITIO_MPI_ERR_GROUP, "member %u of the group is not in the local one",
                            k);
    }
    return wio_inter_split(comm, group->my_rank < 0 ? WAITIO_MPI_UNDEFINED : 0, group->my_rank,
                           out);
}

static int merge(WAITIO_MPI_Comm comm, int high, WAITIO_MPI_Comm *out)
{
    const struct wio_inter *i;
    struct wio_comm *both;
    uint32_t *members;
    uint64_t space;
    int mine = high != 0, *all, near_high, far_high;
    int rc = out == NULL ? wio_mpi_need("new communicator's", out) : inter_get(comm, &i, &both);

    if (rc == 0)
        rc = wio_split_space(both, i->both, MERGE, &space);
    if (rc != 0)
        return rc;
    all = wio_os_alloc((size_t)both->size * sizeof *all);
    members = wio_os_alloc((size_t)both->size * sizeof *members);
    rc = all == NULL || members == NULL
             ? wio_fail(WAITIO_ERR_NOMEM, "no memory to merge %d members", both->size)
             : gather_bytes(i->both, &mine, sizeof mine, all);
    if (rc == 0) {
        near_high = all[i->first];
        far_high = all[i->far_first];
        if (near_high == far_high ? i->first == 0 : !near_high) {
            members_of(i->both, i->first, i->size, members);
            members_of(i->both, i->far_first, i->far_size, members + i->size);
        } else {
            members_of(i->both, i->far_first, i->far_size, members);
            members_of(i->both, i->first, i->size, members + i->far_size);
        }
        rc = wio_comm_make(members, (uint32_t)both->size, space, out);
    }
    wio_os_free(all);
    wio_os_free(members);
    return rc;
}

int WAITIO_MPI_Intercomm_merge(WAITIO_MPI_Comm comm, int high, WAITIO_MPI_Comm *out)
{
    return wio_mpi_result("WAITIO_MPI_Intercomm_merge", merge(comm, high, out));
}

/* ---- questions ---- */

int WAITIO_MPI_Comm_test_inter(WAITIO_MPI_Comm comm, int *flag)
{
    int size, rc = wio_mpi_need("flag", flag);

    if (rc == 0)
        rc = waitio_group_size(comm, &size);
    if (rc == 0)
        *flag = wio_inter_of(comm) != NULL;
    return wio_mpi_result("WAITIO_MPI_Comm_test_inter", rc);
}

int WAITIO_MPI_Comm_remote_size(WAITIO_MPI_Comm comm, int *size)
{
    const struct wio_inter *i;
    struct wio_comm *both;
    int rc = wio_mpi_need("size", size);

    if (rc == 0)
        rc = inter_get(comm, &i, &both);
    if (rc == 0)
        *size = i->far_size;
    return wio_mpi_result("WAITIO_MPI_Comm_remote_size", rc);
}

int wio_inter_group(const struct wio_inter *i, bool far, WAITIO_MPI_Group *out)
{
    struct wio_universe *u = wio_api_universe();
    int size = far ? i->far_size : i->size;
    uint32_t *members = wio_os_alloc((size_t)size * sizeof *members);

    if (members == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory for a group of %d", size);
    members_of(i->both, far ? i->far_first : i->first, size, members);
    return wio_comm_group_of(u, members, (uint32_t)size, out);
}

int WAITIO_MPI_Comm_remote_group(WAITIO_MPI_Comm comm, WAITIO_MPI_Group *group)
{
    const struct wio_inter *i;
    struct wio_comm *both;
    int rc = wio_mpi_need("group", group);

    if (rc == 0)
        rc = inter_get(comm, &i, &both);
    return wio_mpi_result("WAITIO_MPI_Comm_remote_group",
                          rc != 0 ? rc : wio_inter_group(i, true, group));
}
