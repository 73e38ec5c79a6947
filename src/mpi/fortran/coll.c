/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fortran: collectives. The published names keep their argument lists (gather and allgather have
 * one count and type); MPI's own lists of those two have names ending in _full. Non-blocking forms
 * always have MPI's lists.
 */
#include "mpi/fortran/fortran.h"

#define BUF(p) wio_fortran_buffer(p)

/* Define waitio_mpi_<name>_ and its non-blocking form. PARAMETERS end with comm; ARGUMENTS are
 * those of the C function. */
#define COLLECTIVE(NAME, INAME, UPPER, FUNCTION, IFUNCTION, PARAMETERS, ARGUMENTS)                 \
    WIO_FORTRAN(NAME, AND_IERR PARAMETERS)                                                         \
    {                                                                                              \
        WIO_WITH_COMM("WAITIO_MPI_" UPPER, FUNCTION ARGUMENTS);                                    \
    }                                                                                              \
    WIO_FORTRAN(INAME, AND_REQUEST PARAMETERS)                                                     \
    {                                                                                              \
        WIO_WITH_COMM("WAITIO_MPI_I" UPPER, IFUNCTION PLUS_REQUEST ARGUMENTS);                     \
    }
/* The persistent form. */
#define PERSISTENT(NAME, UPPER, FUNCTION, PARAMETERS, ARGUMENTS)                                   \
    WIO_FORTRAN(NAME, AND_INFO PARAMETERS)                                                         \
    {                                                                                              \
        WIO_WITH_COMM("WAITIO_MPI_" UPPER "_INIT", FUNCTION PLUS_INFO ARGUMENTS);                  \
    }
/* All three. */
#define THREE(NAME, INAME, INITIALISED, UPPER, FUNCTION, IFUNCTION, PARAMETERS, ARGUMENTS)         \
    COLLECTIVE(NAME, INAME, UPPER, FUNCTION, IFUNCTION, PARAMETERS, ARGUMENTS)                     \
    PERSISTENT(INITIALISED, UPPER, FUNCTION##_init, PARAMETERS, ARGUMENTS)
#define AND_IERR(...) (__VA_ARGS__, fint * ierr)
#define AND_REQUEST(...) (__VA_ARGS__, void *req, fint *ierr)
#define PLUS_REQUEST(...) (__VA_ARGS__, req)
#define AND_INFO(...) (__VA_ARGS__, const fint *info, void *req, fint *ierr)
#define PLUS_INFO(...) (__VA_ARGS__, *info, req)

THREE(waitio_mpi_barrier_, waitio_mpi_ibarrier_, waitio_mpi_barrier_init_, "BARRIER",
      WAITIO_MPI_Barrier, WAITIO_MPI_Ibarrier, (const void *comm), (c))
WIO_FORTRAN_ALSO(waitio_mpi_barrier_f_, waitio_mpi_barrier_, (const void *comm, fint *ierr))
WIO_FORTRAN_ALSO(waitio_barrier_f_, waitio_mpi_barrier_, (const void *comm, fint *ierr))

#define BCAST void *buf, const fint *count, const fint *type, const fint *root, const void *comm
THREE(waitio_mpi_bcast_, waitio_mpi_ibcast_, waitio_mpi_bcast_init_, "BCAST", WAITIO_MPI_Bcast,
      WAITIO_MPI_Ibcast, (BCAST), (BUF(buf), *count, *type, *root, c))
WIO_FORTRAN_ALSO(waitio_mpi_bcast_f_, waitio_mpi_bcast_, (BCAST, fint *ierr))

#define REDUCE                                                                                     \
    const void *sbuf, void *rbuf, const fint *count, const fint *type, const fint *op,             \
        const fint *root, const void *comm
THREE(waitio_mpi_reduce_, waitio_mpi_ireduce_, waitio_mpi_reduce_init_, "REDUCE", WAITIO_MPI_Reduce,
      WAITIO_MPI_Ireduce, (REDUCE), (BUF(sbuf), BUF(rbuf), *count, *type, *op, *root, c))
WIO_FORTRAN_ALSO(waitio_mpi_reduce_f_, waitio_mpi_reduce_, (REDUCE, fint *ierr))

#define ALLREDUCE                                                                                  \
    const void *sbuf, void *rbuf, const fint *count, const fint *type, const fint *op,             \
        const void *comm
THREE(waitio_mpi_allreduce_, waitio_mpi_iallreduce_, waitio_mpi_allreduce_init_, "ALLREDUCE",
      WAITIO_MPI_Allreduce, WAITIO_MPI_Iallreduce, (ALLREDUCE),
      (BUF(sbuf), BUF(rbuf), *count, *type, *op, c))
WIO_FORTRAN_ALSO(waitio_mpi_allreduce_f_, waitio_mpi_allreduce_, (ALLREDUCE, fint *ierr))
THREE(waitio_mpi_scan_, waitio_mpi_iscan_, waitio_mpi_scan_init_, "SCAN", WAITIO_MPI_Scan,
      WAITIO_MPI_Iscan, (ALLREDUCE), (BUF(sbuf), BUF(rbuf), *count, *type, *op, c))
THREE(waitio_mpi_exscan_, waitio_mpi_iexscan_, waitio_mpi_exscan_init_, "EXSCAN", WAITIO_MPI_Exscan,
      WAITIO_MPI_Iexscan, (ALLREDUCE), (BUF(sbuf), BUF(rbuf), *count, *type, *op, c))
THREE(waitio_mpi_reduce_scatter_block_, waitio_mpi_ireduce_scatter_block_,
      waitio_mpi_reduce_scatter_block_init_, "REDUCE_SCATTER_BLOCK",
      WAITIO_MPI_Reduce_scatter_block, WAITIO_MPI_Ireduce_scatter_block, (ALLREDUCE),
      (BUF(sbuf), BUF(rbuf), *count, *type, *op, c))
THREE(waitio_mpi_reduce_scatter_, waitio_mpi_ireduce_scatter_, waitio_mpi_reduce_scatter_init_,
      "REDUCE_SCATTER", WAITIO_MPI_Reduce_scatter, WAITIO_MPI_Ireduce_scatter, (ALLREDUCE),
      (BUF(sbuf), BUF(rbuf), count, *type, *op, c))

/* One count and type, as published. */
WIO_FORTRAN(waitio_mpi_gather_, (const void *sbuf, void *rbuf, const fint *count, const fint *type,
                                 const fint *root, const void *comm, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_GATHER",
                  waitio_mpi_gather(BUF(sbuf), BUF(rbuf), *count, *type, *root, c));
}
WIO_FORTRAN_ALSO(waitio_mpi_gather_f_, waitio_mpi_gather_,
                 (const void *sbuf, void *rbuf, const fint *count, const fint *type,
                  const fint *root, const void *comm, fint *ierr))

WIO_FORTRAN(waitio_mpi_allgather_, (const void *sbuf, void *rbuf, const fint *count,
                                    const fint *type, const void *comm, fint *ierr))
{
    WIO_WITH_COMM("WAITIO_MPI_ALLGATHER",
                  waitio_mpi_allgather(BUF(sbuf), BUF(rbuf), *count, *type, c));
}
WIO_FORTRAN_ALSO(waitio_mpi_allgather_f_, waitio_mpi_allgather_,
                 (const void *sbuf, void *rbuf, const fint *count, const fint *type,
                  const void *comm, fint *ierr))

#define ROOTED                                                                                     \
    const void *sbuf, const fint *scount, const fint *stype, void *rbuf, const fint *rcount,       \
        const fint *rtype, const fint *root, const void *comm
THREE(waitio_mpi_gather_full_, waitio_mpi_igather_, waitio_mpi_gather_init_, "GATHER",
      WAITIO_MPI_Gather, WAITIO_MPI_Igather, (ROOTED),
      (BUF(sbuf), *scount, *stype, BUF(rbuf), *rcount, *rtype, *root, c))
THREE(waitio_mpi_scatter_, waitio_mpi_iscatter_, waitio_mpi_scatter_init_, "SCATTER",
      WAITIO_MPI_Scatter, WAITIO_MPI_Iscatter, (ROOTED),
      (BUF(sbuf), *scount, *stype, BUF(rbuf), *rcount, *rtype, *root, c))
WIO_FORTRAN_ALSO(waitio_mpi_scatter_f_, waitio_mpi_scatter_, (ROOTED, fint *ierr))

#define SCATTERV                                                                                   \
    const void *sbuf, const fint *scounts, const fint *displs, const fint *stype, void *rbuf,      \
        const fint *rcount, const fint *rtype, const fint *root, const void *comm
THREE(waitio_mpi_scatterv_, waitio_mpi_iscatterv_, waitio_mpi_scatterv_init_, "SCATTERV",
      WAITIO_MPI_Scatterv, WAITIO_MPI_Iscatterv, (SCATTERV),
      (BUF(sbuf), scounts, displs, *stype, BUF(rbuf), *rcount, *rtype, *root, c))
WIO_FORTRAN_ALSO(waitio_mpi_scatterv_f_, waitio_mpi_scatterv_, (SCATTERV, fint *ierr))

#define GATHERV                                                                                    \
    const void *sbuf, const fint *scount, const fint *stype, void *rbuf, const fint *rcounts,      \
        const fint *displs, const fint *rtype, const fint *root, const void *comm
THREE(waitio_mpi_gatherv_, waitio_mpi_igatherv_, waitio_mpi_gatherv_init_, "GATHERV",
      WAITIO_MPI_Gatherv, WAITIO_MPI_Igatherv, (GATHERV),
      (BUF(sbuf), *scount, *stype, BUF(rbuf), rcounts, displs, *rtype, *root, c))
WIO_FORTRAN_ALSO(waitio_mpi_gatherv_f_, waitio_mpi_gatherv_, (GATHERV, fint *ierr))

#define EQUAL                                                                                      \
    const void *sbuf, const fint *scount, const fint *stype, void *rbuf, const fint *rcount,       \
        const fint *rtype, const void *comm
THREE(waitio_mpi_allgather_full_, waitio_mpi_iallgather_, waitio_mpi_allgather_init_, "ALLGATHER",
      WAITIO_MPI_Allgather, WAITIO_MPI_Iallgather, (EQUAL),
      (BUF(sbuf), *scount, *stype, BUF(rbuf), *rcount, *rtype, c))
THREE(waitio_mpi_alltoall_, waitio_mpi_ialltoall_, waitio_mpi_alltoall_init_, "ALLTOALL",
      WAITIO_MPI_Alltoall, WAITIO_MPI_Ialltoall, (EQUAL),
      (BUF(sbuf), *scount, *stype, BUF(rbuf), *rcount, *rtype, c))

THREE(waitio_mpi_allgatherv_, waitio_mpi_iallgatherv_, waitio_mpi_allgatherv_init_, "ALLGATHERV",
      WAITIO_MPI_Allgatherv, WAITIO_MPI_Iallgatherv,
      (const void *sbuf, const fint *scount, const fint *stype, void *rbuf, const fint *rcounts,
       const fint *displs, const fint *rtype, const void *comm),
      (BUF(sbuf), *scount, *stype, BUF(rbuf), rcounts, displs, *rtype, c))
THREE(waitio_mpi_alltoallv_, waitio_mpi_ialltoallv_, waitio_mpi_alltoallv_init_, "ALLTOALLV",
      WAITIO_MPI_Alltoallv, WAITIO_MPI_Ialltoallv,
      (const void *sbuf, const fint *scounts, const fint *sdispls, const fint *stype, void *rbuf,
       const fint *rcounts, const fint *rdispls, const fint *rtype, const void *comm),
      (BUF(sbuf), scounts, sdispls, *stype, BUF(rbuf), rcounts, rdispls, *rtype, c))
THREE(waitio_mpi_alltoallw_, waitio_mpi_ialltoallw_, waitio_mpi_alltoallw_init_, "ALLTOALLW",
      WAITIO_MPI_Alltoallw, WAITIO_MPI_Ialltoallw,
      (const void *sbuf, const fint *scounts, const fint *sdispls, const fint *stypes, void *rbuf,
       const fint *rcounts, const fint *rdispls, const fint *rtypes, const void *comm),
      (BUF(sbuf), scounts, sdispls, stypes, BUF(rbuf), rcounts, rdispls, rtypes, c))

/* ---- neighbourhoods ---- */

THREE(waitio_mpi_neighbor_allgather_, waitio_mpi_ineighbor_allgather_,
      waitio_mpi_neighbor_allgather_init_, "NEIGHBOR_ALLGATHER", WAITIO_MPI_Neighbor_allgather,
      WAITIO_MPI_Ineighbor_allgather, (EQUAL),
      (BUF(sbuf), *scount, *stype, BUF(rbuf), *rcount, *rtype, c))
THREE(waitio_mpi_neighbor_alltoall_, waitio_mpi_ineighbor_alltoall_,
      waitio_mpi_neighbor_alltoall_init_, "NEIGHBOR_ALLTOALL", WAITIO_MPI_Neighbor_alltoall,
      WAITIO_MPI_Ineighbor_alltoall, (EQUAL),
      (BUF(sbuf), *scount, *stype, BUF(rbuf), *rcount, *rtype, c))
THREE(waitio_mpi_neighbor_allgatherv_, waitio_mpi_ineighbor_allgatherv_,
      waitio_mpi_neighbor_allgatherv_init_, "NEIGHBOR_ALLGATHERV", WAITIO_MPI_Neighbor_allgatherv,
      WAITIO_MPI_Ineighbor_allgatherv,
      (const void *sbuf, const fint *scount, const fint *stype, void *rbuf, const fint *rcounts,
       const fint *displs, const fint *rtype, const void *comm),
      (BUF(sbuf), *scount, *stype, BUF(rbuf), rcounts, displs, *rtype, c))
THREE(waitio_mpi_neighbor_alltoallv_, waitio_mpi_ineighbor_alltoallv_,
      waitio_mpi_neighbor_alltoallv_init_, "NEIGHBOR_ALLTOALLV", WAITIO_MPI_Neighbor_alltoallv,
      WAITIO_MPI_Ineighbor_alltoallv,
      (const void *sbuf, const fint *scounts, const fint *sdispls, const fint *stype, void *rbuf,
       const fint *rcounts, const fint *rdispls, const fint *rtype, const void *comm),
      (BUF(sbuf), scounts, sdispls, *stype, BUF(rbuf), rcounts, rdispls, *rtype, c))
THREE(waitio_mpi_neighbor_alltoallw_, waitio_mpi_ineighbor_alltoallw_,
      waitio_mpi_neighbor_alltoallw_init_, "NEIGHBOR_ALLTOALLW", WAITIO_MPI_Neighbor_alltoallw,
      WAITIO_MPI_Ineighbor_alltoallw,
      (const void *sbuf, const fint *scounts, const WAITIO_MPI_Aint *sdispls, const fint *stypes,
       void *rbuf, const fint *rcounts, const WAITIO_MPI_Aint *rdispls, const fint *rtypes,
       const void *comm),
      (BUF(sbuf), scounts, sdispls, stypes, BUF(rbuf), rcounts, rdispls, rtypes, c))
