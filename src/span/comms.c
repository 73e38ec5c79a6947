/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators: which of them span jobs, and what stands for those that do. */
#include <string.h>

#include "os/os.h"
#include "span/call.h"
#include "span/comms.h"

int span_comm_register(MPI_Comm handle, WAITIO_MPI_Comm comm, struct span_comm **out)
{
    struct span_comm *c = wio_os_alloc(sizeof *c);
    int inter = 0, rc;

    *out = NULL;
    if (c == NULL)
        return WAITIO_ERR_NOMEM;
    c->comm = comm;
    c->handle = handle;
    c->refs = 1;
    rc = WAITIO_MPI_Comm_size(comm, &c->size);
    rc = rc != 0 ? rc : WAITIO_MPI_Comm_rank(comm, &c->rank);
    rc = rc != 0 ? rc : WAITIO_MPI_Comm_test_inter(comm, &inter);
    c->inter = inter != 0;
    c->fan = c->size;
    if (rc == 0 && c->inter)
        rc = WAITIO_MPI_Comm_remote_size(comm, &c->fan);
    if (rc == 0 && span_table_put(&span_comms, SPAN_KEY(handle), c) != 0)
        rc = WAITIO_ERR_NOMEM;
    if (rc != 0) {
        wio_os_free(c);
        return rc;
    }
    *out = c;
    return 0;
}

void span_comm_release(struct span_comm *c)
{
    if (c != NULL && atomic_fetch_sub(&c->refs, 1) == 1)
        wio_os_free(c);
}

/* The processes of this job in a communicator of ours. */
struct members {
    int *ranks; /* in this job; those of the own group first */
    int n, own;
    bool all;        /* is nobody else in it? */
    int remote_lead; /* rank in this job of the other group's first, or -1 */
};

static int add_group(WAITIO_MPI_Group group, struct members *m)
{
    int n = 0, rc = WAITIO_MPI_Group_size(group, &n), universe = 0;
    int *more =
        rc == 0 ? wio_os_realloc(m->ranks, ((size_t)m->n + (size_t)n + 1) * sizeof(int)) : NULL;

    if (more == NULL)
        return rc != 0 ? rc : WAITIO_ERR_NOMEM;
    m->ranks = more;
    for (int i = 0; rc == 0 && i < n; i++) {
        rc = waitio_group_to_universe(group, i, &universe);
        int rank = span_from_universe(universe);
        if (rank >= 0)
            m->ranks[m->n++] = rank;
        else
            m->all = false;
    }
    return rc;
}

static int members_of(WAITIO_MPI_Comm comm, bool inter, struct members *m)
{
    WAITIO_MPI_Group own = NULL, other = NULL;
    int rc = WAITIO_MPI_Comm_group(comm, &own);

    *m = (struct members){.all = true};
    rc = rc != 0 ? rc : add_group(own, m);
    m->own = m->n;
    if (rc == 0 && inter) {
        rc = WAITIO_MPI_Comm_remote_group(comm, &other);
        rc = rc != 0 ? rc : add_group(other, m);
        m->remote_lead = m->n > m->own ? m->ranks[m->own] : -1;
    }
    (void)WAITIO_MPI_Group_free(&own);
    if (other != NULL)
        (void)WAITIO_MPI_Group_free(&other);
    return rc;
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* These processes of this job as a group of @p parent's: MPICH 4.0 crashes where the parent is a
 * duplicate and the group was made from another communicator's. */
static int group_in(MPI_Comm parent, int n, const int *ranks, MPI_Group *out)
{
    MPI_Group all = MPI_GROUP_NULL;
    int *places = wio_os_alloc(((size_t)n + 1) * sizeof *places);
    int rc = places != NULL ? span_vendor.Comm_group(parent, &all) : MPI_ERR_NO_MEM;

    if (rc == MPI_SUCCESS)
        rc = span_vendor.Group_translate_ranks(span_job(), n, ranks, all, places);
    if (rc == MPI_SUCCESS)
        rc = span_vendor.Group_incl(all, n, places, out);
    if (all != MPI_GROUP_NULL)
        (void)span_vendor.Group_free(&all);
    wio_os_free(places);
    return rc;
}

/* A communicator of the vendor with these processes of this job. @return MPI's code */
static int make_vendors(MPI_Comm parent, int n, const int *ranks, int tag, MPI_Comm *out)
{
    MPI_Group group = MPI_GROUP_NULL;
    int rc = group_in(parent, n, ranks, &group);

    if (rc == MPI_SUCCESS)
        rc = span_vendor.Comm_create_group(parent, group, tag, out);
    if (group != MPI_GROUP_NULL)
        (void)span_vendor.Group_free(&group);
    return rc;
}

/* Both groups of an intercommunicator are of this job. */
static int make_intercomm(MPI_Comm parent, const struct members *m, int tag, MPI_Comm *out)
{
    MPI_Comm own = MPI_COMM_NULL;
    int rc = make_vendors(parent, m->own, m->ranks, tag, &own);

    if (rc == MPI_SUCCESS)
        rc = span_vendor.Intercomm_create(own, 0, MPI_COMM_WORLD, m->remote_lead, tag, out);
    if (own != MPI_COMM_NULL)
        (void)span_vendor.Comm_free(&own);
    return rc;
}

/* The order of a stand-in's members is the job's, the same seen from both groups. */
static int make_stand_in(MPI_Comm parent, struct members *m, bool inter, int tag, MPI_Comm *out)
{
    if (inter)
        qsort(m->ranks, (size_t)m->n, sizeof *m->ranks, compare);
    return make_vendors(parent, m->n, m->ranks, tag, out);
}

/* What the program gets: of one job, or what stands for @p made. @return MPI's code */
static int make_handle(const struct span_place *place, WAITIO_MPI_Comm made, bool inter,
                       struct members *m, MPI_Comm *out)
{
    int rc;

    if (!m->all)
        return make_stand_in(place->parent, m, inter, place->tag, out);
    rc = inter ? make_intercomm(place->parent, m, place->tag, out)
               : make_vendors(place->parent, m->n, m->ranks, place->tag, out);
    return rc == MPI_SUCCESS ? span_topology_copy(made, out) : rc;
}

int span_comm_agree(const struct span_place *place, WAITIO_MPI_Comm made, int rc)
{
    int bad = rc != MPI_SUCCESS, any = 0, inter = 0, code;

    code = WAITIO_MPI_Allreduce(&bad, &any, 1, WAITIO_MPI_INT, WAITIO_MPI_MAX, made);
    code = code != 0 ? code : WAITIO_MPI_Comm_test_inter(made, &inter);
    if (code == 0 && inter) { /* each group has heard of the other one */
        bad = bad != 0 || any != 0;
        code = WAITIO_MPI_Allreduce(&bad, &any, 1, WAITIO_MPI_INT, WAITIO_MPI_MAX, made);
    }
    if (rc != MPI_SUCCESS)
        return rc; /* the vendor has called the handler */
    if (code != 0)
        return span_fail(place->parent, place->name, code);
    return !bad && !any ? MPI_SUCCESS
                        : span_fail_why(place->parent, place->name, WAITIO_MPI_ERR_OTHER,
                                        "the MPI of another member could not make its part: that "
                                        "process's own error says why");
}

int span_comm_give(const struct span_place *place, WAITIO_MPI_Comm made, MPI_Comm *out)
{
    struct members m = {.all = true};
    struct span_comm *c;
    int inter = 0, rc, mine, code;

    *out = MPI_COMM_NULL;
    if (made == NULL)
        return MPI_SUCCESS;
    code = WAITIO_MPI_Comm_test_inter(made, &inter);
    code = code != 0 ? code : members_of(made, inter != 0, &m);
    mine = code != 0 ? span_fail(place->parent, place->name, code)
                     : SPAN_PART(place->name, make_handle(place, made, inter != 0, &m, out));
    wio_os_free(m.ranks);
    rc = span_comm_agree(place, made, mine);
    if (rc != MPI_SUCCESS && mine == MPI_SUCCESS)
        (void)span_vendor.Comm_free(out);
    if (rc == MPI_SUCCESS && !m.all) {
        code = span_comm_register(*out, made, &c);
        rc = code != 0 ? span_fail(place->parent, place->name, code) : rc;
    }
    if (rc != MPI_SUCCESS || m.all)
        (void)WAITIO_MPI_Comm_free(&made);
    return rc;
}

int span_comm_ours(MPI_Comm comm, WAITIO_MPI_Comm *out, bool *mine)
{
    struct span_comm *c = span_comm_of(comm);
    MPI_Group vendors = MPI_GROUP_NULL;
    WAITIO_MPI_Group group = NULL;
    bool own = false;
    int rc;

    *mine = c == NULL;
    if (c != NULL) {
        *out = c->comm;
        return 0;
    }
    c = span_comm_of(MPI_COMM_WORLD);
    if (c == NULL || span_vendor.Comm_group(comm, &vendors) != MPI_SUCCESS)
        return WAITIO_MPI_ERR_COMM;
    rc = span_group_ours(vendors, &group, &own);
    rc = rc != 0 ? rc : WAITIO_MPI_Comm_create_group(c->comm, group, 0, out);
    if (own)
        (void)WAITIO_MPI_Group_free(&group);
    (void)span_vendor.Group_free(&vendors);
    return rc;
}
