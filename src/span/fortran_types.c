/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of Fortran with an array of datatypes. Open MPI's Fortran library turns as many handles
 * into C's as the communicator itself has members, which it reads from its own structure: for ours
 * that are the members of this job. So these procedures leave the program's arrays here, for our C
 * function that the library calls, and the library gets arrays that it can read. All other
 * arguments it turns as always. MPICH's handles are integers in C, too, and it asks by calls that
 * are ours.
 */
#include "span/call.h"

#if defined(OPEN_MPI)

#include "os/os.h"

_Thread_local const MPI_Fint *span_fortran_types[2];

typedef const MPI_Fint *ints;

/* The arguments that both kinds of these procedures begin with. */
#define FIRST                                                                                      \
    void *sendbuf, ints sendcounts, void *sdispls, ints sendtypes, void *recvbuf, ints recvcounts, \
        void *rdispls, ints recvtypes, ints comm
#define FIRST_PASSED(types)                                                                        \
    sendbuf, sendcounts, sdispls, (types) != NULL ? (types) : sendtypes, recvbuf, recvcounts,      \
        rdispls, (types) != NULL ? (types) : recvtypes, comm

/* Leave the program's types for the C function. @return what the library may read, or NULL: the
 * communicator is of one job, or there is no memory, which the C function then says */
static MPI_Fint *leave(ints comm, ints sendtypes, ints recvtypes)
{
    struct span_comm *c = span_comm_of(PMPI_Comm_f2c(*comm));
    MPI_Fint *byte;

    if (c == NULL)
        return NULL;
    byte = wio_os_alloc(((size_t)c->size + (size_t)c->fan + 1) * sizeof *byte);
    for (int i = 0; byte != NULL && i < c->size + c->fan; i++)
        byte[i] = PMPI_Type_c2f(MPI_BYTE);
    span_fortran_types[SPAN_OUT] = sendtypes;
    span_fortran_types[SPAN_IN] = recvtypes;
    return byte;
}

static void take_back(MPI_Fint *byte)
{
    span_fortran_types[SPAN_OUT] = span_fortran_types[SPAN_IN] = NULL;
    wio_os_free(byte);
}

/* One name of many: compilers differ in how they spell them. */
#define NAME(name, parameters, passed, ierror)                                                     \
    void name parameters;                                                                          \
    SPAN_PUBLIC void name parameters                                                               \
    {                                                                                              \
        void(*vendors) parameters = (void(*) parameters)span_vendor_function(#name);               \
        MPI_Fint *types;                                                                           \
        if (vendors == NULL) { /* only the vendor's Fortran library can have called */             \
            if (ierror != NULL)                                                                    \
                *ierror = MPI_ERR_INTERN;                                                          \
            return;                                                                                \
        }                                                                                          \
        types = leave(comm, sendtypes, recvtypes);                                                 \
        vendors passed;                                                                            \
        take_back(types);                                                                          \
    }

/* The last one is what the module mpi_f08 calls. */
#define NAMES(family, lower, upper, parameters, passed)                                            \
    NAME(family##_##lower, parameters, passed, ierror)                                             \
    NAME(family##_##lower##_, parameters, passed, ierror)                                          \
    NAME(family##_##lower##__, parameters, passed, ierror)                                         \
    NAME(p##family##_##lower, parameters, passed, ierror)                                          \
    NAME(p##family##_##lower##_, parameters, passed, ierror)                                       \
    NAME(p##family##_##lower##__, parameters, passed, ierror)                                      \
    NAME(upper, parameters, passed, ierror)                                                        \
    NAME(P##upper, parameters, passed, ierror)                                                     \
    NAME(o##family##_##lower##_f, parameters, passed, ierror)

#define BLOCKING(lower, upper)                                                                     \
    NAMES(mpi, lower, MPI_##upper, (FIRST, MPI_Fint * ierror), (FIRST_PASSED(types), ierror))
#define STARTING(lower, upper)                                                                     \
    NAMES(mpi, lower, MPI_##upper, (FIRST, MPI_Fint * request, MPI_Fint * ierror),                 \
          (FIRST_PASSED(types), request, ierror))
#define PERSISTENT(family, family_upper, lower, upper)                                             \
    NAMES(family, lower, family_upper##_##upper,                                                   \
          (FIRST, ints info, MPI_Fint * request, MPI_Fint * ierror),                               \
          (FIRST_PASSED(types), info, request, ierror))

BLOCKING(alltoallw, ALLTOALLW)
STARTING(ialltoallw, IALLTOALLW)
BLOCKING(neighbor_alltoallw, NEIGHBOR_ALLTOALLW)
STARTING(ineighbor_alltoallw, INEIGHBOR_ALLTOALLW)
PERSISTENT(mpi, MPI, alltoallw_init, ALLTOALLW_INIT)
PERSISTENT(mpi, MPI, neighbor_alltoallw_init, NEIGHBOR_ALLTOALLW_INIT)
/* Open MPI 4 */
PERSISTENT(mpix, MPIX, alltoallw_init, ALLTOALLW_INIT)
PERSISTENT(mpix, MPIX, neighbor_alltoallw_init, NEIGHBOR_ALLTOALLW_INIT)

#endif
