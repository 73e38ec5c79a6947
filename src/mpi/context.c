/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives use the members of a communicator in a message space of their own, so that they never
 * match point-to-point messages (callers use tag 0 for both). The space is derived from the
 * communicator's, which is a hash of its id and members: communicators that share one share the
 * other, and a pointer that is reused for another group cannot be confused with its predecessor.
 */
#include "group/group.h"
#include "mpi/state.h"
#include "os/os.h"

static const uint64_t COLLECTIVE = 0x636f6c6c65637469ULL; /* any constant */

/* Rank lists by PB, for waitio_create_group_wranks(). */
struct lists {
    int npb;
    int *order;
    int **list;
    int *ranks; /* all lists, one after the other */
};

static int lists_new(struct lists *l, int size)
{
    int rc = waitio_pb_size(&l->npb);

    if (rc != 0)
        return rc;
    l->order = wio_os_alloc((size_t)l->npb * sizeof *l->order);
    l->list = wio_os_alloc((size_t)l->npb * sizeof *l->list);
    l->ranks = wio_os_alloc(((size_t)size + (size_t)l->npb) * sizeof *l->ranks);
    if (l->order == NULL || l->list == NULL || l->ranks == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory to describe a group of %d members", size);
    return 0;
}

static void lists_free(struct lists *l)
{
    wio_os_free(l->order);
    wio_os_free(l->list);
    wio_os_free(l->ranks);
}

/* Groups consist of one run of members per PB, which is what rank lists can say. */
static int describe(WAITIO_MPI_Comm comm, int size, struct lists *l)
{
    int *next = l->ranks, last = -1, place = 0;

    for (int i = 0; i < size; i++) {
        int pb, rank, rc = waitio_group_locate(comm, i, &pb, &rank);
        if (rc != 0)
            return rc;
        if (pb != last) {
            if (l->order[pb] != 0)
                return wio_fail(WAITIO_ERR_UNSUPPORTED,
                                "collectives on a group whose members of "
                                "PB %d do not stand together",
                                pb);
            if (last >= 0)
                *next++ = -1;
            l->order[pb] = ++place;
            l->list[pb] = next;
            last = pb;
        }
        *next++ = rank;
    }
    *next = -1;
    return 0;
}

static int derive(WAITIO_MPI_Comm comm, int size, waitio_group_t *out)
{
    struct lists l = {0};
    int rc = lists_new(&l, size);

    if (rc == 0)
        rc = describe(comm, size, &l);
    if (rc == 0) {
        *out = waitio_create_group_wranks(comm->gid, l.list, l.order);
        rc = *out != NULL ? 0 : wio_last_code();
    }
    if (rc == 0) /* nobody else knows the new group yet */
        (*out)->space = wio_hash64(comm->space, COLLECTIVE);
    lists_free(&l);
    return rc;
}

static struct wio_mpi_space *find(struct wio_mpi_state *st, uint64_t space)
{
    for (size_t i = 0; i < st->nspaces; i++)
        if (st->space[i].space == space)
            return &st->space[i];
    return NULL;
}

static int remember(struct wio_mpi_state *st, uint64_t space, waitio_group_t group)
{
    if (st->nspaces == st->cap_spaces) {
        size_t cap = st->cap_spaces == 0 ? 8 : 2 * st->cap_spaces;
        struct wio_mpi_space *at = wio_os_realloc(st->space, cap * sizeof *at);
        if (at == NULL)
            return wio_fail(WAITIO_ERR_NOMEM, "no memory for %zu communicators", cap);
        st->space = at;
        st->cap_spaces = cap;
    }
    st->space[st->nspaces++] = (struct wio_mpi_space){space, group};
    return 0;
}

int wio_mpi_context_get(WAITIO_MPI_Comm comm, struct wio_mpi_context *ctx)
{
    struct wio_mpi_state *st = &wio_mpi_state;
    struct wio_mpi_space *known;
    int rc = waitio_group_size(comm, &ctx->size); /* also: is comm a group at all? */

    if (rc == 0)
        rc = waitio_group_rank(comm, &ctx->rank);
    if (rc != 0)
        return rc;
    if (ctx->rank < 0)
        return wio_fail(WAITIO_ERR_RANK, "this process is no member of the communicator; only "
                                         "members take part in its collectives");
    ctx->tag = 0;
    pthread_mutex_lock(&st->lock);
    known = find(st, comm->space);
    if (known != NULL) {
        ctx->group = known->group;
    } else {
        rc = derive(comm, ctx->size, &ctx->group);
        if (rc == 0)
            rc = remember(st, comm->space, ctx->group);
    }
    pthread_mutex_unlock(&st->lock);
    return rc;
}
