/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators made from communicators. Every new one needs a message space that all its members
 * know and no other group has. It is a hash of the parent's space and of the number of
 * communicators made from it before. Members agree on this number because MPI requires these calls
 * in the same order everywhere. So dup, create and create_group send nothing, and split sends only
 * its arguments.
 */
#include "api/api.h"
#include "mpi/coll.h"
#include "mpi/comm.h"
#include "mpi/attributes.h"
#include "mpi/inside.h"
#include "mpi/comm/inter.h"
#include "mpi/comm/split.h"
#include "mpi/comm/state.h"
#include "mpi/comm/topology.h"
#include "mpi/request.h"
#include "os/os.h"

#include <stdlib.h>

/* Kinds of spaces. */
enum { DUP = 0x64757000, SPLIT = 0x73706c00, CREATE = 0x63726500, BY_GROUP = 0x67727000 };

int wio_split_space(struct wio_comm *c, WAITIO_MPI_Comm comm, uint64_t kind, uint64_t *space)
{
    uint32_t number = 0;
    int rc = wio_revoked_check(wio_api_universe(), c->twin.space);

    if (rc == 0)
        rc = wio_comm_next(c, comm, WIO_COUNT_MADE, &number);
    *space = wio_hash64(wio_hash64(comm->space, kind), number);
    return rc;
}

/* A new communicator of a hybrid one is hybrid, too. @param parts may this call block? */
static int inherit(WAITIO_MPI_Comm comm, const struct wio_comm *c, bool parts, WAITIO_MPI_Comm *out)
{
    int rc = c->hybrid == 0 ? 0 : wio_inside_derive(comm, c, (*out)->upper, parts);

    if (rc != 0)
        (void)wio_mpi_comm_free(out);
    return rc;
}

/* The same members and topology in a space of their own. */
static int copy_of(WAITIO_MPI_Comm comm, struct wio_comm *c, bool parts, WAITIO_MPI_Comm *out)
{
    uint64_t space = 0;
    uint32_t *members;
    int rc = wio_split_space(c, comm, DUP, &space);

    if (rc != 0)
        return rc;
    members = wio_comm_members(comm);
    rc = members == NULL ? WAITIO_ERR_NOMEM : wio_comm_make(members, comm->size, space, out);
    wio_os_free(members);
    if (rc == 0)
        rc = inherit(comm, c, parts, out);
    if (rc == 0 && c->cart != NULL)
        rc = wio_cart_give(out, c->cart);
    if (rc == 0 && c->graph != NULL)
        ((struct wio_comm *)(*out)->upper)->graph = wio_graph_hold(c->graph);
    return rc;
}

static int make_dup(WAITIO_MPI_Comm comm, bool parts, WAITIO_MPI_Comm *out)
{
    struct wio_comm *c;
    int rc = wio_comm_get(comm, &c);

    if (rc == 0)
        rc = c->inter != NULL ? wio_inter_dup(comm, out) : copy_of(comm, c, parts, out);
    if (rc == 0) {
        rc = wio_attributes_copy(wio_on_comm(comm), wio_on_comm(*out));
        if (rc != 0)
            (void)wio_mpi_comm_free(out);
    }
    return rc;
}

int WAITIO_MPI_Comm_dup(WAITIO_MPI_Comm comm, WAITIO_MPI_Comm *out)
{
    int rc = out == NULL ? wio_fail(WAITIO_ERR_ARG, "the new communicator's argument is NULL")
                         : make_dup(comm, true, out);

    return wio_mpi_result("WAITIO_MPI_Comm_dup", rc);
}

/* Complete at once: nothing needs to be communicated. */
int WAITIO_MPI_Comm_idup(WAITIO_MPI_Comm comm, WAITIO_MPI_Comm *out, WAITIO_MPI_Request *req)
{
    static const waitio_status_t nothing = {.source = WAITIO_ANY_SOURCE, .tag = WAITIO_ANY_TAG};
    int rc = out == NULL || req == NULL ? wio_fail(WAITIO_ERR_ARG, "the %s argument is NULL",
                                                   req == NULL ? "request" : "new communicator's")
                                        : make_dup(comm, false, out);

    if (rc == 0)
        rc = wio_request_done(&nothing, req);
    return wio_mpi_result("WAITIO_MPI_Comm_idup", rc);
}

int WAITIO_MPI_Comm_idup_with_info(WAITIO_MPI_Comm comm, WAITIO_MPI_Info info, WAITIO_MPI_Comm *out,
                                   WAITIO_MPI_Request *req)
{
    (void)info;
    return WAITIO_MPI_Comm_idup(comm, out, req);
}

int WAITIO_MPI_Comm_dup_with_info(WAITIO_MPI_Comm comm, WAITIO_MPI_Info info, WAITIO_MPI_Comm *out)
{
    (void)info;
    return WAITIO_MPI_Comm_dup(comm, out);
}

/* ---- split ---- */

struct candidate {
    int32_t key;
    int rank;
};

static int by_key(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

int wio_split_side(WAITIO_MPI_Comm comm, const struct wio_split_choice *all, int first, int size,
                   int color, uint32_t *to, uint32_t *n)
{
    struct candidate *chosen = wio_os_alloc((size_t)size * sizeof *chosen);

    *n = 0;
    if (chosen == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory to split a communicator of %d", size);
    for (int i = first; i < first + size; i++)
        if (all[i].color == color)
            chosen[(*n)++] = (struct candidate){all[i].key, i};
    qsort(chosen, *n, sizeof *chosen, by_key);
    for (uint32_t i = 0; i < *n; i++)
        to[i] = wio_group_member(comm, (uint32_t)chosen[i].rank);
    wio_os_free(chosen);
    return 0;
}

/* All members of the own colour, in order. */
static int assemble(WAITIO_MPI_Comm comm, const struct wio_split_choice *all, int color,
                    uint64_t space, WAITIO_MPI_Comm *out)
{
    uint32_t *members = wio_os_alloc(comm->size * sizeof *members), n = 0;
    int rc;

    if (members == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory to split a communicator of %u", comm->size);
    rc = wio_split_side(comm, all, 0, (int)comm->size, color, members, &n);
    if (rc == 0)
        rc = wio_comm_make(members, n, wio_hash64(space, (uint32_t)color), out);
    wio_os_free(members);
    return rc;
}

int wio_comm_split(WAITIO_MPI_Comm comm, int color, int key, WAITIO_MPI_Comm *out)
{
    struct wio_split_choice mine = {color, key}, *all = NULL;
    struct wio_call call = {.kind = WIO_ALLGATHER,
                            .send = {.buf = &mine, .count = 2, .type = WAITIO_MPI_INT},
                            .recv = {.buf = NULL, .count = 2, .type = WAITIO_MPI_INT}};
    struct wio_comm *c;
    uint64_t space = 0;
    int rc = out == NULL ? wio_fail(WAITIO_ERR_ARG, "the new communicator's argument is NULL")
                         : wio_comm_get(comm, &c);

    if (rc == 0 && color < 0 && color != WAITIO_MPI_UNDEFINED)
        rc = wio_fail(WAITIO_ERR_ARG, "colour %d is neither >= 0 nor WAITIO_MPI_UNDEFINED", color);
    if (rc == 0 && c->inter != NULL)
        return wio_inter_split(comm, color, key, out);
    if (rc == 0)
        rc = wio_split_space(c, comm, SPLIT, &space);
    if (rc != 0)
        return rc;
    *out = WAITIO_MPI_COMM_NULL;
    all = wio_os_alloc(comm->size * sizeof *all);
    if (all == NULL)
        return wio_fail(WAITIO_ERR_NOMEM, "no memory to split a communicator of %u", comm->size);
    call.recv.buf = all;
    rc = wio_coll_call(&call, comm, NULL);
    if (rc == 0 && color != WAITIO_MPI_UNDEFINED)
        rc = assemble(comm, all, color, space, out);
    if (rc == 0 && *out != WAITIO_MPI_COMM_NULL)
        rc = inherit(comm, c, true, out);
    wio_os_free(all);
    return rc;
}

int WAITIO_MPI_Comm_split(WAITIO_MPI_Comm comm, int color, int key, WAITIO_MPI_Comm *out)
{
    return wio_mpi_result("WAITIO_MPI_Comm_split", wio_comm_split(comm, color, key, out));
}

/* The first entry of my host: one with several address lists has several. */
static int host_color(const struct wio_table *t)
{
    uint64_t identity = t->host[t->ep[t->me].host].identity;
    uint32_t i = 0;

    while (t->host[i].identity != identity)
        i++;
    return (int)i;
}

/* Colours that the table of the universe knows. */
static int natural_color(int type, int *color)
{
    struct wio_universe *u = wio_api_universe();
    const struct wio_table *t = u == NULL ? NULL : wio_universe_table(u);

    if (t == NULL)
        return wio_last_code();
    if (type == WAITIO_MPI_COMM_TYPE_SHARED)
        *color = host_color(t);
    else if (type == WAITIO_MPI_COMM_TYPE_PB)
        *color = (int)wio_table_pb_of(t, t->me);
    else if (type == WAITIO_MPI_UNDEFINED)
        *color = WAITIO_MPI_UNDEFINED;
    else
        return wio_fail(WAITIO_ERR_ARG, "split type %d is unknown", type);
    return 0;
}

int WAITIO_MPI_Comm_split_type(WAITIO_MPI_Comm comm, int type, int key, int info,
                               WAITIO_MPI_Comm *out)
{
    int color = 0, rc = natural_color(type, &color);

    (void)info;
    return wio_mpi_result("WAITIO_MPI_Comm_split_type",
                          rc != 0 ? rc : wio_comm_split(comm, color, key, out));
}

/* ---- from groups ---- */

/* Members of @p group, all of which must be in @p comm; a space that depends on them. */
static int from_group(WAITIO_MPI_Comm comm, const struct wio_comm *c, WAITIO_MPI_Group group,
                      uint64_t space, WAITIO_MPI_Comm *out)
{
    uint32_t *members;
    int rc = 0;

    for (uint32_t i = 0; i < group->size; i++) {
        uint32_t member = wio_group_member(group, i);
        space = wio_hash64(space, member);
        if (wio_group_rank_of(comm, member) < 0)
            return wio_fail(WAITIO_ERR_GROUP, "member %u of the group is not in the communicator",
                            i);
    }
    *out = WAITIO_MPI_COMM_NULL;
    if (group->my_rank < 0)
        return 0;
    members = wio_comm_members(group);
    rc = members == NULL ? WAITIO_ERR_NOMEM : wio_comm_make(members, group->size, space, out);
    wio_os_free(members);
    return rc != 0 ? rc : inherit(comm, c, true, out);
}

static int check_group(WAITIO_MPI_Group group, const void *out)
{
    struct wio_universe *u = wio_api_universe();

    if (u == NULL)
        return wio_last_code();
    if (out == NULL)
        return wio_fail(WAITIO_ERR_ARG, "the new communicator's argument is NULL");
    return wio_group_check(u, group);
}

int WAITIO_MPI_Comm_create(WAITIO_MPI_Comm comm, WAITIO_MPI_Group group, WAITIO_MPI_Comm *out)
{
    struct wio_comm *c;
    uint64_t space = 0;
    int rc = check_group(group, out);

    if (rc == 0)
        rc = wio_comm_get(comm, &c);
    if (rc == 0 && c->inter != NULL) {
        rc = wio_inter_create(comm, group, out);
    } else if (rc == 0) {
        rc = wio_split_space(c, comm, CREATE, &space);
        if (rc == 0)
            rc = from_group(comm, c, group, space, out);
    }
    return wio_mpi_result("WAITIO_MPI_Comm_create", rc);
}

/* Only the new members call this, so the parent's count cannot be used: a count by group and tag
 * is. */
int WAITIO_MPI_Comm_create_group(WAITIO_MPI_Comm comm, WAITIO_MPI_Group group, int tag,
                                 WAITIO_MPI_Comm *out)
{
    struct wio_comm *c;
    uint64_t space = 0;
    uint32_t number = 0;
    int rc = check_group(group, out);

    if (rc == 0)
        rc = wio_comm_get_intra(comm, &c);
    if (rc == 0) {
        space = wio_hash64(wio_hash64(comm->space, BY_GROUP), (uint32_t)tag);
        for (uint32_t i = 0; i < group->size; i++)
            space = wio_hash64(space, wio_group_member(group, i));
        rc = wio_count_next(space, &number);
    }
    if (rc == 0)
        rc = from_group(comm, c, group, wio_hash64(space, number), out);
    return wio_mpi_result("WAITIO_MPI_Comm_create_group", rc);
}
