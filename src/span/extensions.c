/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions beyond MPI's standard that take a communicator: MPICH's calls after failures. */
#include "span/call.h"

#if defined(MPICH) || defined(MPICH_VERSION)

static const char remedy[] = "after a failure make a communicator of the survivors inside one job";

typedef void any_fn(void);

/* The vendor's function, or an error that says that there is none. */
static any_fn *vendors(const char *name)
{
    return span_vendor_function(name);
}

#define EXTENSION(name, parameters, arguments)                                                     \
    __attribute__((visibility("default"))) int PMPIX_##name parameters;                            \
    int PMPIX_##name parameters                                                                    \
    {                                                                                              \
        int(*function) parameters = (int(*) parameters)vendors("PMPIX_" #name);                    \
        if (span_comm_of(comm) != NULL)                                                            \
            return span_refuse(comm, "MPIX_" #name, "comm", remedy);                               \
        return function != NULL ? function arguments : MPI_ERR_UNSUPPORTED_OPERATION;              \
    }                                                                                              \
    extern __typeof__(PMPIX_##name) MPIX_##name                                                    \
        __attribute__((weak, visibility("default"), alias("PMPIX_" #name)));

EXTENSION(Comm_agree, (MPI_Comm comm, int *flag), (comm, flag))
EXTENSION(Comm_failure_ack, (MPI_Comm comm), (comm))
EXTENSION(Comm_failure_get_acked, (MPI_Comm comm, MPI_Group *group), (comm, group))
EXTENSION(Comm_revoke, (MPI_Comm comm), (comm))
EXTENSION(Comm_shrink, (MPI_Comm comm, MPI_Comm *newcomm), (comm, newcomm))

#endif
