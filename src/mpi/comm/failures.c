/* SPDX-License-Identifier: BSD-3-Clause */
/* Failures of members: which of them the program knows of, and goes on without. */
#include "api/api.h"
#include "mpi/comm.h"
#include "mpi/mpi.h"
#include "os/os.h"

/* Receives come from the members that the handle has: those of the other side in an
 * intercommunicator. */
int WAITIO_MPIX_Comm_failure_ack(WAITIO_MPI_Comm comm)
{
    struct wio_universe *u = wio_api_universe();
    int rc = u == NULL ? wio_last_code() : wio_group_check(u, comm);

    if (rc == 0)
        wio_failures_ack(u, comm);
    return wio_mpi_result("WAITIO_MPIX_Comm_failure_ack", rc);
}

int WAITIO_MPIX_Comm_failure_get_acked(WAITIO_MPI_Comm comm, WAITIO_MPI_Group *group)
{
    struct wio_universe *u = wio_api_universe();
    int rc = u == NULL ? wio_last_code() : wio_group_check(u, comm);
    uint32_t *members = NULL;

    if (rc == 0)
        rc = wio_mpi_need("group", group);
    if (rc == 0 && (members = wio_comm_members(comm)) == NULL)
        rc = WAITIO_ERR_NOMEM;
    if (rc == 0)
        rc = wio_comm_group_of(u, members, wio_failures_acked(u, comm, members), group);
    else
        wio_os_free(members);
    return wio_mpi_result("WAITIO_MPIX_Comm_failure_get_acked", rc);
}
