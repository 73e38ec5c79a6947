/* SPDX-License-Identifier: BSD-3-Clause */
/* Fortran: start and end, communicators, ranks and sizes. */
#include "mpi/fortran.h"

void wio_fortran_result(const char *call, int code, fint *ierr)
{
    if (ierr != NULL)
        *ierr = code;
    else if (code < 0)
        wio_mpi_die(call, code);
}

int wio_fortran_comm(const char *call, const void *address, WAITIO_MPI_Comm *comm)
{
    int32_t handle;

    memcpy(&handle, address, sizeof handle);
    return wio_mpi_result(call, wio_mpi_handle_get(handle, comm));
}

int wio_fortran_put_comm(const char *call, WAITIO_MPI_Comm comm, void *address)
{
    int32_t handle = 0;
    int rc = wio_mpi_handle_new(comm, &handle);

    memcpy(address, &handle, sizeof handle);
    return wio_mpi_result(call, rc);
}

WIO_FORTRAN(waitio_init_, (const fint *timeout, fint *ierr))
{
    wio_fortran_result("WAITIO_INIT", waitio_init(timeout != NULL ? *timeout : 0), ierr);
}

WIO_FORTRAN(waitio_finalize_, (fint * ierr))
{
    wio_mpi_state_reset();
    wio_fortran_result("WAITIO_FINALIZE", waitio_finalize(), ierr);
}

WIO_FORTRAN(waitio_finalize_f_, (fint * ierr))
{
    waitio_finalize_(ierr);
}

/* ---- communicators ---- */

WIO_FORTRAN(waitio_create_universe_, (void *comm, fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = waitio_create_universe(&c);

    if (rc == 0)
        rc = wio_fortran_put_comm("WAITIO_CREATE_UNIVERSE", c, comm);
    wio_fortran_result("WAITIO_CREATE_UNIVERSE", rc, ierr);
}

WIO_FORTRAN(waitio_create_universe_f_, (void *comm, fint *ierr))
{
    waitio_create_universe_(comm, ierr);
}

WIO_FORTRAN(waitio_create_universe_pbhead_, (void *comm, fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = waitio_create_universe_pbhead(&c);

    if (rc == 0)
        rc = wio_fortran_put_comm("WAITIO_CREATE_UNIVERSE_PBHEAD", c, comm);
    wio_fortran_result("WAITIO_CREATE_UNIVERSE_PBHEAD", rc, ierr);
}

WIO_FORTRAN(waitio_create_universe_pbhead_f_, (void *comm, fint *ierr))
{
    waitio_create_universe_pbhead_(comm, ierr);
}

WIO_FORTRAN(waitio_create_pbgroup_, (void *comm, const fint *pbid, fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = waitio_create_pbgroup(&c, *pbid);

    if (rc == 0)
        rc = wio_fortran_put_comm("WAITIO_CREATE_PBGROUP", c, comm);
    wio_fortran_result("WAITIO_CREATE_PBGROUP", rc, ierr);
}

WIO_FORTRAN(waitio_create_pbgroup_f_, (void *comm, const fint *pbid, fint *ierr))
{
    waitio_create_pbgroup_(comm, pbid, ierr);
}

WIO_FORTRAN(waitio_mpi_comm_free_, (void *comm, fint *ierr))
{
    WAITIO_MPI_Comm c = NULL;
    int rc = wio_fortran_comm("WAITIO_MPI_COMM_FREE", comm, &c);

    if (rc == 0)
        rc = WAITIO_MPI_Comm_free(&c);
    if (rc == 0)
        memset(comm, 0, sizeof(int32_t));
    wio_fortran_result("WAITIO_MPI_COMM_FREE", rc, ierr);
}

/* ---- ranks and sizes ---- */

typedef int (*query_fn)(WAITIO_MPI_Comm comm, int *value);

static void query(const char *call, query_fn ask, const void *comm, fint *value, fint *ierr)
{
    WAITIO_MPI_Comm c = NULL;
    int rc = wio_fortran_comm(call, comm, &c);

    if (rc == 0)
        rc = ask(c, value);
    wio_fortran_result(call, rc, ierr);
}

WIO_FORTRAN(waitio_group_rank_, (const void *comm, fint *rank, fint *ierr))
{
    query("WAITIO_GROUP_RANK", waitio_group_rank, comm, rank, ierr);
}

WIO_FORTRAN(waitio_group_rank_f_, (const void *comm, fint *rank, fint *ierr))
{
    waitio_group_rank_(comm, rank, ierr);
}

WIO_FORTRAN(waitio_group_size_, (const void *comm, fint *size, fint *ierr))
{
    query("WAITIO_GROUP_SIZE", waitio_group_size, comm, size, ierr);
}

WIO_FORTRAN(waitio_group_size_f_, (const void *comm, fint *size, fint *ierr))
{
    waitio_group_size_(comm, size, ierr);
}

WIO_FORTRAN(waitio_mpi_comm_rank_, (const void *comm, fint *rank, fint *ierr))
{
    query("WAITIO_MPI_COMM_RANK", waitio_mpi_comm_rank, comm, rank, ierr);
}

WIO_FORTRAN(waitio_mpi_comm_rank_f_, (const void *comm, fint *rank, fint *ierr))
{
    waitio_mpi_comm_rank_(comm, rank, ierr);
}

WIO_FORTRAN(waitio_mpi_comm_size_, (const void *comm, fint *size, fint *ierr))
{
    query("WAITIO_MPI_COMM_SIZE", waitio_mpi_comm_size, comm, size, ierr);
}

WIO_FORTRAN(waitio_mpi_comm_size_f_, (const void *comm, fint *size, fint *ierr))
{
    waitio_mpi_comm_size_(comm, size, ierr);
}

WIO_FORTRAN(waitio_pb_rank_, (fint * pbid, fint *ierr))
{
    wio_fortran_result("WAITIO_PB_RANK", waitio_pb_rank(pbid), ierr);
}

WIO_FORTRAN(waitio_pb_rank_f_, (fint * pbid, fint *ierr))
{
    waitio_pb_rank_(pbid, ierr);
}

WIO_FORTRAN(waitio_pb_size_, (fint * npb, fint *ierr))
{
    wio_fortran_result("WAITIO_PB_SIZE", waitio_pb_size(npb), ierr);
}

WIO_FORTRAN(waitio_pb_size_f_, (fint * npb, fint *ierr))
{
    waitio_pb_size_(npb, ierr);
}

WIO_FORTRAN(waitio_get_nprocs_, (fint * nprocs, fint *ierr))
{
    wio_fortran_result("WAITIO_GET_NPROCS", (waitio_get_nprocs)(nprocs), ierr);
}

WIO_FORTRAN(waitio_mpi_type_size_, (const fint *type, fint *size, fint *ierr))
{
    wio_fortran_result("WAITIO_MPI_TYPE_SIZE", waitio_mpi_type_size(*type, size), ierr);
}

WIO_FORTRAN(waitio_mpi_type_size_f_, (const fint *type, fint *size, fint *ierr))
{
    waitio_mpi_type_size_(type, size, ierr);
}

/* ---- MPI's start and end under their converted names ---- */

WIO_FORTRAN(waitio_mpi_init_, (fint * ierr))
{
    wio_fortran_result("WAITIO_MPI_INIT", WAITIO_MPI_Init(NULL, NULL), ierr);
}

WIO_FORTRAN(waitio_mpi_finalize_, (fint * ierr))
{
    wio_fortran_result("WAITIO_MPI_FINALIZE", WAITIO_MPI_Finalize(), ierr);
}

WIO_FORTRAN(waitio_mpi_abort_, (const void *comm, const fint *code, fint *ierr))
{
    (void)comm;
    (void)ierr;
    WAITIO_MPI_Abort(NULL, *code);
}

__attribute__((visibility("default"))) double waitio_mpi_wtime_(void);
double waitio_mpi_wtime_(void)
{
    return WAITIO_MPI_Wtime();
}
