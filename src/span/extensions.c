/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions beyond MPI's standard that take a communicator: the calls after failures. */
#include "span/call.h"

typedef void any_fn(void);

/* The vendor's function, or NULL. */
static any_fn *vendors(const char *name)
{
    return span_vendor_function(name);
}

#define EXPORT(name)                                                                               \
    extern __typeof__(PMPIX_##name) MPIX_##name                                                    \
        __attribute__((weak, visibility("default"), alias("PMPIX_" #name)));

/* Served, whether the vendor has them or not. */

SPAN_PUBLIC int PMPIX_Comm_failure_ack(MPI_Comm comm);
SPAN_PUBLIC int PMPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *group);

int PMPIX_Comm_failure_ack(MPI_Comm comm)
{
    struct span_comm *c = span_comm_of(comm);
    int (*function)(MPI_Comm) = (int (*)(MPI_Comm))vendors("PMPIX_Comm_failure_ack");
    int rc;

    if (c == NULL)
        return function != NULL ? function(comm) : MPI_ERR_UNSUPPORTED_OPERATION;
    rc = WAITIO_MPIX_Comm_failure_ack(c->comm);
    return rc == 0 ? MPI_SUCCESS : span_fail(comm, "MPIX_Comm_failure_ack", rc);
}
EXPORT(Comm_failure_ack)

int PMPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *group)
{
    struct span_comm *c = span_comm_of(comm);
    int (*function)(MPI_Comm, MPI_Group *) =
        (int (*)(MPI_Comm, MPI_Group *))vendors("PMPIX_Comm_failure_get_acked");
    WAITIO_MPI_Group made = NULL;
    int rc;

    if (c == NULL)
        return function != NULL ? function(comm, group) : MPI_ERR_UNSUPPORTED_OPERATION;
    rc = WAITIO_MPIX_Comm_failure_get_acked(c->comm, &made);
    rc = rc != 0 ? rc : span_group_give(made, group);
    return rc == 0 ? MPI_SUCCESS : span_fail(comm, "MPIX_Comm_failure_get_acked", rc);
}
EXPORT(Comm_failure_get_acked)

#if defined(MPICH) || defined(MPICH_VERSION)

static const char remedy[] = "after a failure make a communicator of the survivors inside one job";

#define EXTENSION(name, parameters, arguments)                                                     \
    __attribute__((visibility("default"))) int PMPIX_##name parameters;                            \
    int PMPIX_##name parameters                                                                    \
    {                                                                                              \
        int(*function) parameters = (int(*) parameters)vendors("PMPIX_" #name);                    \
        if (span_comm_of(comm) != NULL)                                                            \
            return span_refuse(comm, "MPIX_" #name, "comm", remedy);                               \
        return function != NULL ? function arguments : MPI_ERR_UNSUPPORTED_OPERATION;              \
    }                                                                                              \
    EXPORT(name)

EXTENSION(Comm_agree, (MPI_Comm comm, int *flag), (comm, flag))
EXTENSION(Comm_revoke, (MPI_Comm comm), (comm))
EXTENSION(Comm_shrink, (MPI_Comm comm, MPI_Comm *newcomm), (comm, newcomm))

#endif
