/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions. All jobs meet in MPI_Init, so mpi://WORLD is known from then on: the processes of all
 * jobs. Before, it would be those of one job, and the jobs would compute apart.
 */
#include <stdio.h>
#include <strings.h>

#include "span/call.h"

#if MPI_VERSION >= 4
static bool is_world(const char *pset_name)
{
    return pset_name != NULL && strcasecmp(pset_name, "mpi://WORLD") == 0;
}

static int refuse(MPI_Session session, const char *name)
{
    char text[MPI_MAX_ERROR_STRING];

    (void)snprintf(text, sizeof text,
                   "%s: mpi://WORLD spans several jobs, which meet in MPI_Init: call MPI_Init "
                   "before, or use mpi://SELF",
                   name);
    return span_fail_session(session, WAITIO_MPI_ERR_UNSUPPORTED_OPERATION, text);
}

static int check(MPI_Session session, const char *pset_name, const char *name)
{
    return is_world(pset_name) && !span_has_met() ? refuse(session, name) : MPI_SUCCESS;
}

int PMPI_Group_from_session_pset(MPI_Session session, const char *pset_name, MPI_Group *newgroup)
{
    static const char name[] = "MPI_Group_from_session_pset";
    WAITIO_MPI_Group made = NULL;
    int rc = check(session, pset_name, name);
    if (rc != MPI_SUCCESS)
        return rc;
    if (!span_is_on || !is_world(pset_name))
        return span_vendor.Group_from_session_pset(session, pset_name, newgroup);
    rc = WAITIO_MPI_Group_union(span_universe(), WAITIO_MPI_GROUP_EMPTY, &made);
    rc = rc != 0 ? rc : span_group_give(made, newgroup);
    return rc == 0 ? MPI_SUCCESS : span_fail(MPI_COMM_WORLD, name, rc);
}
SPAN_NAME(Group_from_session_pset)

/* Its size is that of all jobs. */
int PMPI_Session_get_pset_info(MPI_Session session, const char *pset_name, MPI_Info *info)
{
    static const char name[] = "MPI_Session_get_pset_info";
    char size[16];
    int rc = check(session, pset_name, name), n = 0;

    if (rc == MPI_SUCCESS)
        rc = span_vendor.Session_get_pset_info(session, pset_name, info);
    if (rc != MPI_SUCCESS || !span_is_on || !is_world(pset_name))
        return rc;
    (void)WAITIO_MPI_Group_size(span_universe(), &n);
    (void)snprintf(size, sizeof size, "%d", n);
    return PMPI_Info_set(*info, "mpi_size", size);
}
SPAN_NAME(Session_get_pset_info)
#endif
