/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators made from groups alone. A group with members in several jobs can only come from
 * MPI_COMM_WORLD, so that is the parent here; the text that tells calls apart becomes a tag.
 */
#include "span/attributes.h"
#include "span/call.h"
#include "span/comms.h"

#if MPI_VERSION >= 4
static int tag_of(const char *text)
{
    const int *most = span_attribute(MPI_TAG_UB);
    uint32_t hash = 2166136261U;

    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619U;
    return (int)(hash % ((uint32_t)*most + 1));
}

/* @return MPI's code */
static int from_group(const char *name, MPI_Group group, const char *stringtag, MPI_Comm *out)
{
    struct span_place place = {name, MPI_COMM_WORLD, tag_of(stringtag)};
    WAITIO_MPI_Group ours = NULL;
    WAITIO_MPI_Comm made = NULL;
    bool mine = false;
    int rc = span_group_ours(group, &ours, &mine);

    if (rc == 0)
        rc = WAITIO_MPI_Comm_create_group(span_comm_of(MPI_COMM_WORLD)->comm, ours, place.tag,
                                          &made);
    if (mine)
        (void)WAITIO_MPI_Group_free(&ours);
    return rc != 0 ? span_fail(MPI_COMM_WORLD, name, rc) : span_comm_give(&place, made, out);
}

static int with_handler(int rc, MPI_Errhandler errhandler, const MPI_Comm *made)
{
    return rc != MPI_SUCCESS || *made == MPI_COMM_NULL
               ? rc
               : PMPI_Comm_set_errhandler(*made, errhandler);
}

int PMPI_Comm_create_from_group(MPI_Group group, const char *stringtag, MPI_Info info,
                                MPI_Errhandler errhandler, MPI_Comm *newcomm)
{
    if (span_group_of(group) == NULL)
        return SPAN_BLOCKING(
            span_vendor.Comm_create_from_group(group, stringtag, info, errhandler, newcomm));
    *newcomm = MPI_COMM_NULL;
    return with_handler(from_group("MPI_Comm_create_from_group", group, stringtag, newcomm),
                        errhandler, newcomm);
}
SPAN_NAME(Comm_create_from_group)

/* The other group's leader in MPI_COMM_WORLD; read by the own leader only. */
static int far_leader(MPI_Group remote_group, int remote_leader, int *rank)
{
    WAITIO_MPI_Group ours = NULL;
    bool mine = false;
    int rc = span_group_ours(remote_group, &ours, &mine);

    rc = rc != 0 ? rc : waitio_group_to_universe(ours, remote_leader, rank);
    if (mine)
        (void)WAITIO_MPI_Group_free(&ours);
    return rc;
}

/* Only the leaders know both groups, so all go by MPI_Intercomm_create, which finds out. */
int PMPI_Intercomm_create_from_groups(MPI_Group local_group, int local_leader,
                                      MPI_Group remote_group, int remote_leader,
                                      const char *stringtag, MPI_Info info,
                                      MPI_Errhandler errhandler, MPI_Comm *newintercomm)
{
    static const char name[] = "MPI_Intercomm_create_from_groups";
    MPI_Comm local = MPI_COMM_NULL;
    int rank = MPI_UNDEFINED, far = 0, code = 0, rc;

    if (!span_is_on)
        return span_vendor.Intercomm_create_from_groups(local_group, local_leader, remote_group,
                                                        remote_leader, stringtag, info, errhandler,
                                                        newintercomm);
    *newintercomm = MPI_COMM_NULL;
    rc = PMPI_Group_rank(local_group, &rank);
    if (rc == MPI_SUCCESS && rank == local_leader)
        code = far_leader(remote_group, remote_leader, &far);
    if (code != 0)
        return span_fail(MPI_COMM_WORLD, name, code);
    rc = rc != MPI_SUCCESS ? rc : from_group(name, local_group, stringtag, &local);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = PMPI_Intercomm_create(local, local_leader, MPI_COMM_WORLD, far, tag_of(stringtag),
                               newintercomm);
    (void)PMPI_Comm_free(&local);
    return with_handler(rc, errhandler, newintercomm);
}
SPAN_NAME(Intercomm_create_from_groups)
#endif
