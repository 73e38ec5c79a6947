/* SPDX-License-Identifier: BSD-3-Clause */
/* Small calls that programs make: memory, versions, addresses, handles between the languages. */
#include "mpi/mpi.h"
#include "mpi/status.h"
#include "os/os.h"

int WAITIO_MPI_Alloc_mem(WAITIO_MPI_Aint size, WAITIO_MPI_Info info, void *base_address)
{
    void *at = size < 0 ? NULL : wio_os_alloc((size_t)size + 1);
    int rc = size < 0     ? wio_fail(WAITIO_ERR_ARG, "%lld bytes: negative", (long long)size)
             : at == NULL ? wio_fail(WAITIO_ERR_NOMEM, "no memory for %lld bytes", (long long)size)
                          : 0;

    (void)info;
    if (rc == 0)
        rc = wio_mpi_need("address", base_address);
    if (rc == 0)
        memcpy(base_address, &at, sizeof at);
    else
        wio_os_free(at);
    return wio_mpi_result("WAITIO_MPI_Alloc_mem", rc);
}

int WAITIO_MPI_Free_mem(void *base)
{
    wio_os_free(base);
    return 0;
}

int WAITIO_MPI_Get_library_version(char *text, int *length)
{
    int major, minor, patch, rc = wio_mpi_need_both("text", text, "length", length);

    if (rc == 0)
        rc = waitio_get_version(&major, &minor, &patch);
    if (rc == 0)
        *length = (int)wio_text(text, WAITIO_MPI_MAX_LIBRARY_VERSION_STRING, "WaitIO %d.%d.%d",
                                major, minor, patch);
    return wio_mpi_result("WAITIO_MPI_Get_library_version", rc);
}

/* Nothing here depends on it. */
int WAITIO_MPI_Pcontrol(int level, ...)
{
    (void)level;
    return 0;
}

WAITIO_MPI_Aint WAITIO_MPI_Aint_add(WAITIO_MPI_Aint base, WAITIO_MPI_Aint distance)
{
    return base + distance;
}

WAITIO_MPI_Aint WAITIO_MPI_Aint_diff(WAITIO_MPI_Aint a, WAITIO_MPI_Aint b)
{
    return a - b;
}

/* Types, operators, ... are the same numbers in both languages. */
#define SAME(TYPE, NAME)                                                                           \
    int WAITIO_MPI_##NAME##_c2f(TYPE handle)                                                       \
    {                                                                                              \
        return handle;                                                                             \
    }                                                                                              \
    TYPE WAITIO_MPI_##NAME##_f2c(int handle)                                                       \
    {                                                                                              \
        return handle;                                                                             \
    }
SAME(WAITIO_MPI_Datatype, Type)
SAME(WAITIO_MPI_Op, Op)
SAME(WAITIO_MPI_Info, Info)
SAME(WAITIO_MPI_Errhandler, Errhandler)
SAME(WAITIO_MPI_Message, Message)

int WAITIO_MPI_Group_c2f(WAITIO_MPI_Group group)
{
    return WAITIO_MPI_Comm_c2f(group);
}

WAITIO_MPI_Group WAITIO_MPI_Group_f2c(int handle)
{
    return WAITIO_MPI_Comm_f2c(handle);
}

int WAITIO_MPI_Status_c2f(const WAITIO_MPI_Status *c, int *fortran)
{
    waitio_status_t st = {c->MPI_SOURCE, c->MPI_TAG, c->MPI_ERROR, c->waitio_cancelled,
                          c->waitio_bytes};

    wio_mpi_status_short(&st, fortran);
    return 0;
}

int WAITIO_MPI_Status_f2c(const int *fortran, WAITIO_MPI_Status *c)
{
    *c = (WAITIO_MPI_Status){fortran[0], fortran[1], fortran[2], fortran[2] == WAITIO_ERR_CANCELLED,
                             (size_t)fortran[3]};
    return 0;
}
