/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fortran. The vendors' Fortran libraries turn handles, statuses and constants into C's and call
 * PMPI_ or MPI_, which are ours: so nothing is wrapped again here, but the calls that read
 * attributes, which ask the vendor's own tables.
 */
#include "span/attributes.h"
#include "span/call.h"

typedef void get_attr_fn(const MPI_Fint *comm, const MPI_Fint *keyval, void *value, MPI_Fint *flag,
                         MPI_Fint *ierror);

enum { TRUE_OF_FORTRAN = 1 };

/* MPICH's numbers of predefined keys are those of C and 1: the value itself, no pointer to it. */
static int key_of(MPI_Fint keyval)
{
#if defined(MPICH) || defined(MPICH_VERSION)
    return keyval - 1;
#else
    return keyval;
#endif
}

/* @return the value, if the attribute is ours */
static const int *ours(const MPI_Fint *comm, const MPI_Fint *keyval, MPI_Fint *flag,
                       MPI_Fint *ierror)
{
    const int *value = NULL;

    if (span_comm_of(PMPI_Comm_f2c(*comm)) != NULL)
        value = span_attribute(key_of(*keyval));
    if (value == NULL)
        return NULL;
    *flag = TRUE_OF_FORTRAN;
    if (ierror != NULL) /* mpi_f08: optional */
        *ierror = MPI_SUCCESS;
    return value;
}

static void forward(const char *name, const MPI_Fint *comm, const MPI_Fint *keyval, void *value,
                    MPI_Fint *flag, MPI_Fint *ierror)
{
    get_attr_fn *vendors = (get_attr_fn *)span_vendor_function(name);

    if (vendors != NULL)
        vendors(comm, keyval, value, flag, ierror);
    else if (ierror != NULL)
        *ierror = MPI_ERR_INTERN; /* only the vendor's Fortran library can have called */
}

static void comm_get_attr(const char *name, const MPI_Fint *comm, const MPI_Fint *keyval,
                          void *value, MPI_Fint *flag, MPI_Fint *ierror)
{
    const int *found = ours(comm, keyval, flag, ierror);

    if (found != NULL)
        *(MPI_Aint *)value = *found;
    else
        forward(name, comm, keyval, value, flag, ierror);
}

static void attr_get(const char *name, const MPI_Fint *comm, const MPI_Fint *keyval, void *value,
                     MPI_Fint *flag, MPI_Fint *ierror)
{
    const int *found = ours(comm, keyval, flag, ierror);

    if (found != NULL)
        *(MPI_Fint *)value = *found;
    else
        forward(name, comm, keyval, value, flag, ierror);
}

/* One name of many: compilers differ in how they spell them. */
#define FORTRAN_NAME(name, which)                                                                  \
    get_attr_fn name;                                                                              \
    __attribute__((visibility("default"))) void name(const MPI_Fint *comm, const MPI_Fint *keyval, \
                                                     void *value, MPI_Fint *flag,                  \
                                                     MPI_Fint *ierror)                             \
    {                                                                                              \
        which(#name, comm, keyval, value, flag, ierror);                                           \
    }
#define FORTRAN_NAMES(lower, upper, which)                                                         \
    FORTRAN_NAME(mpi_##lower, which)                                                               \
    FORTRAN_NAME(mpi_##lower##_, which)                                                            \
    FORTRAN_NAME(mpi_##lower##__, which)                                                           \
    FORTRAN_NAME(MPI_##upper, which)                                                               \
    FORTRAN_NAME(pmpi_##lower, which)                                                              \
    FORTRAN_NAME(pmpi_##lower##_, which)                                                           \
    FORTRAN_NAME(pmpi_##lower##__, which)                                                          \
    FORTRAN_NAME(PMPI_##upper, which)

FORTRAN_NAMES(comm_get_attr, COMM_GET_ATTR, comm_get_attr)
FORTRAN_NAMES(attr_get, ATTR_GET, attr_get)
FORTRAN_NAME(mpi_comm_get_attr_f08_, comm_get_attr)
