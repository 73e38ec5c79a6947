/* SPDX-License-Identifier: BSD-3-Clause */
/* Intercommunicators. */
#include "span/call.h"
#include "span/comms.h"

static const char create[] = "MPI_Intercomm_create";

/*
 * Whether an intercommunicator spans depends on both groups, and only the leaders know the
 * communicator that holds both of them. So where that is of this job the leaders tell each other
 * whether their groups span, and every leader tells its group. @return MPI's code
 */
static int ask_leaders(MPI_Comm local, int leader, MPI_Comm peer, int remote_leader, int tag,
                       int *spans)
{
    struct span_comm *c = span_comm_of(local);
    int rank = -1, mine, theirs = 0, rc;

    (void)(c != NULL ? (rank = c->rank, 0) : span_vendor.Comm_rank(local, &rank));
    mine = c != NULL || (rank == leader && span_comm_of(peer) != NULL);
    rc = MPI_SUCCESS;
    if (rank == leader && span_comm_of(peer) == NULL)
        rc = SPAN_PART(create,
                       span_vendor.Sendrecv(&mine, 1, MPI_INT, remote_leader, tag, &theirs, 1,
                                            MPI_INT, remote_leader, tag, peer, MPI_STATUS_IGNORE));
    *spans = mine || theirs;
    if (rc == MPI_SUCCESS && c == NULL)
        rc = SPAN_PART(create, span_vendor.Bcast(spans, 1, MPI_INT, leader, local));
    return rc;
}

/* The leaders' way to each other: their own communicator, or the world and the rank there. */
static int find_peer(MPI_Comm peer, int remote_leader, WAITIO_MPI_Comm *ours, int *rank)
{
    struct span_comm *c = peer == MPI_COMM_NULL ? NULL : span_comm_of(peer);
    MPI_Group group = MPI_GROUP_NULL;
    int in_job = MPI_UNDEFINED;

    *rank = remote_leader;
    if (c == NULL) {
        if (span_vendor.Comm_group(peer, &group) != MPI_SUCCESS)
            return WAITIO_MPI_ERR_COMM;
        (void)span_vendor.Group_translate_ranks(group, 1, &remote_leader, span_job(), &in_job);
        (void)span_vendor.Group_free(&group);
        *rank = span_to_universe(in_job);
        c = span_comm_of(MPI_COMM_WORLD);
    }
    *ours = c->comm;
    return 0;
}

static int make(MPI_Comm local, int leader, MPI_Comm peer, int remote_leader, int tag,
                WAITIO_MPI_Comm *out)
{
    WAITIO_MPI_Comm ours = NULL, between = NULL;
    bool mine = false;
    int rank = 0, far = 0, rc = span_comm_ours(local, &ours, &mine);

    rc = rc != 0 ? rc : WAITIO_MPI_Comm_rank(ours, &rank);
    if (rc == 0 && rank == leader)
        rc = find_peer(peer, remote_leader, &between, &far);
    if (rc == 0 && between == NULL)
        between = span_comm_of(MPI_COMM_WORLD)->comm; /* read by the leader only */
    if (rc == 0)
        rc = WAITIO_MPI_Intercomm_create(ours, leader, between, far, tag, out);
    if (mine && ours != NULL)
        (void)WAITIO_MPI_Comm_free(&ours);
    return rc;
}

int PMPI_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm,
                          int remote_leader, int tag, MPI_Comm *newintercomm)
{
    struct span_place place = {create, MPI_COMM_WORLD, tag};
    WAITIO_MPI_Comm made = NULL;
    int spans = 0, rc;

    if (!span_is_on)
        return span_vendor.Intercomm_create(local_comm, local_leader, peer_comm, remote_leader, tag,
                                            newintercomm);
    rc = ask_leaders(local_comm, local_leader, peer_comm, remote_leader, tag, &spans);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!spans)
        return SPAN_PART(create, span_vendor.Intercomm_create(local_comm, local_leader, peer_comm,
                                                              remote_leader, tag, newintercomm));
    *newintercomm = MPI_COMM_NULL;
    rc = make(local_comm, local_leader, peer_comm, remote_leader, tag, &made);
    if (rc != 0)
        return span_fail(local_comm, create, rc);
    return span_comm_give(&place, made, newintercomm);
}
SPAN_NAME(Intercomm_create)

int PMPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm *newintracomm)
{
    struct span_comm *c = span_comm_of(intercomm);
    struct span_place place = {"MPI_Intercomm_merge", intercomm, 0};
    WAITIO_MPI_Comm made = NULL;
    int rc;

    if (c == NULL)
        return SPAN_BLOCKING(span_vendor.Intercomm_merge(intercomm, high, newintracomm));
    *newintracomm = MPI_COMM_NULL;
    rc = WAITIO_MPI_Intercomm_merge(c->comm, high, &made);
    if (rc != 0)
        return span_fail(intercomm, place.name, rc);
    return span_comm_give(&place, made, newintracomm);
}
SPAN_NAME(Intercomm_merge)

/* The first process of a group of the vendor's: its rank in the universe. @return MPI's code */
static int first_of(MPI_Comm part, int *first)
{
    int me = -1;

    if (WAITIO_MPI_Group_rank(span_universe(), &me) != 0)
        return MPI_ERR_INTERN;
    return SPAN_PART("MPI_Comm_split_type",
                     span_vendor.Allreduce(&me, first, 1, MPI_INT, MPI_MIN, part));
}

/* The stand-in has the members of both groups in this job. Where the vendor splits it lie the
 * borders in both groups. */
int span_comm_split_both(struct span_comm *c, int split_type, int key, MPI_Info info, MPI_Comm *out)
{
    struct span_place place = {"MPI_Comm_split_type", c->handle, 0};
    MPI_Comm part = MPI_COMM_NULL;
    WAITIO_MPI_Comm made = NULL;
    int color = WAITIO_MPI_UNDEFINED, rc;

    *out = MPI_COMM_NULL;
    rc = SPAN_PART("MPI_Comm_split_type",
                   span_vendor.Comm_split_type(c->handle, split_type, 0, info, &part));
    if (rc == MPI_SUCCESS && part != MPI_COMM_NULL) {
        rc = first_of(part, &color);
        (void)span_vendor.Comm_free(&part);
    }
    if (rc != MPI_SUCCESS)
        return rc;
    rc = WAITIO_MPI_Comm_split(c->comm, color, key, &made);
    return rc != 0 ? span_fail(c->handle, place.name, rc) : span_comm_give(&place, made, out);
}
