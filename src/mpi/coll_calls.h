/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file coll_calls.h
 * MPI's collective calls, once for each width of counts: coll_api.c includes this twice. COUNT and
 * DISPL are the types of counts and displacements, COUNTS and DISPLS the fields of struct wio_side
 * for arrays of them.
 */
COLLECTIVE(Bcast, Ibcast,
           (void *buf, COUNT count, WAITIO_MPI_Datatype type, int root, WAITIO_MPI_Comm comm),
           .kind = WIO_BCAST, .recv = ONE(buf, count, type), .root = root)

COLLECTIVE(Reduce, Ireduce,
           (const void *sbuf, void *rbuf, COUNT count, WAITIO_MPI_Datatype type, WAITIO_MPI_Op op,
            int root, WAITIO_MPI_Comm comm),
           .kind = WIO_REDUCE, .send = {.buf = sbuf}, .recv = ONE(rbuf, count, type), .op = op,
           .root = root)

COLLECTIVE(Allreduce, Iallreduce,
           (const void *sbuf, void *rbuf, COUNT count, WAITIO_MPI_Datatype type, WAITIO_MPI_Op op,
            WAITIO_MPI_Comm comm),
           .kind = WIO_ALLREDUCE, .send = {.buf = sbuf}, .recv = ONE(rbuf, count, type), .op = op)

COLLECTIVE(Reduce_scatter, Ireduce_scatter,
           (const void *sbuf, void *rbuf, const COUNT rcounts[], WAITIO_MPI_Datatype type,
            WAITIO_MPI_Op op, WAITIO_MPI_Comm comm),
           .kind = WIO_REDUCE_SCATTER, .send = {.buf = sbuf},
           .recv = {.buf = rbuf, .type = type, .COUNTS = rcounts}, .listed = true, .op = op)

COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block,
           (const void *sbuf, void *rbuf, COUNT rcount, WAITIO_MPI_Datatype type, WAITIO_MPI_Op op,
            WAITIO_MPI_Comm comm),
           .kind = WIO_REDUCE_SCATTER, .send = {.buf = sbuf}, .recv = ONE(rbuf, rcount, type),
           .op = op)

COLLECTIVE(Scan, Iscan,
           (const void *sbuf, void *rbuf, COUNT count, WAITIO_MPI_Datatype type, WAITIO_MPI_Op op,
            WAITIO_MPI_Comm comm),
           .kind = WIO_SCAN, .send = {.buf = sbuf}, .recv = ONE(rbuf, count, type), .op = op)

COLLECTIVE(Exscan, Iexscan,
           (const void *sbuf, void *rbuf, COUNT count, WAITIO_MPI_Datatype type, WAITIO_MPI_Op op,
            WAITIO_MPI_Comm comm),
           .kind = WIO_EXSCAN, .send = {.buf = sbuf}, .recv = ONE(rbuf, count, type), .op = op)

COLLECTIVE(Gather, Igather,
           (const void *sbuf, COUNT scount, WAITIO_MPI_Datatype stype, void *rbuf, COUNT rcount,
            WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm),
           .kind = WIO_GATHER, .send = ONE(sbuf, scount, stype), .recv = ONE(rbuf, rcount, rtype),
           .root = root)

COLLECTIVE(Gatherv, Igatherv,
           (const void *sbuf, COUNT scount, WAITIO_MPI_Datatype stype, void *rbuf,
            const COUNT rcounts[], const DISPL displs[], WAITIO_MPI_Datatype rtype, int root,
            WAITIO_MPI_Comm comm),
           .kind = WIO_GATHER, .v = true, .send = ONE(sbuf, scount, stype),
           .recv = MANY(rbuf, rtype, rcounts, displs), .root = root)

COLLECTIVE(Scatter, Iscatter,
           (const void *sbuf, COUNT scount, WAITIO_MPI_Datatype stype, void *rbuf, COUNT rcount,
            WAITIO_MPI_Datatype rtype, int root, WAITIO_MPI_Comm comm),
           .kind = WIO_SCATTER, .send = ONE(sbuf, scount, stype), .recv = ONE(rbuf, rcount, rtype),
           .root = root)

COLLECTIVE(Scatterv, Iscatterv,
           (const void *sbuf, const COUNT scounts[], const DISPL displs[],
            WAITIO_MPI_Datatype stype, void *rbuf, COUNT rcount, WAITIO_MPI_Datatype rtype,
            int root, WAITIO_MPI_Comm comm),
           .kind = WIO_SCATTER, .v = true, .send = MANY(sbuf, stype, scounts, displs),
           .recv = ONE(rbuf, rcount, rtype), .root = root)

COLLECTIVE(Allgather, Iallgather,
           (const void *sbuf, COUNT scount, WAITIO_MPI_Datatype stype, void *rbuf, COUNT rcount,
            WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm),
           .kind = WIO_ALLGATHER, .send = ONE(sbuf, scount, stype),
           .recv = ONE(rbuf, rcount, rtype))

COLLECTIVE(Allgatherv, Iallgatherv,
           (const void *sbuf, COUNT scount, WAITIO_MPI_Datatype stype, void *rbuf,
            const COUNT rcounts[], const DISPL displs[], WAITIO_MPI_Datatype rtype,
            WAITIO_MPI_Comm comm),
           .kind = WIO_ALLGATHER, .v = true, .send = ONE(sbuf, scount, stype),
           .recv = MANY(rbuf, rtype, rcounts, displs))

COLLECTIVE(Alltoall, Ialltoall,
           (const void *sbuf, COUNT scount, WAITIO_MPI_Datatype stype, void *rbuf, COUNT rcount,
            WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm),
           .kind = WIO_ALLTOALL, .send = ONE(sbuf, scount, stype), .recv = ONE(rbuf, rcount, rtype))

COLLECTIVE(Alltoallv, Ialltoallv,
           (const void *sbuf, const COUNT scounts[], const DISPL sdispls[],
            WAITIO_MPI_Datatype stype, void *rbuf, const COUNT rcounts[], const DISPL rdispls[],
            WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm),
           .kind = WIO_ALLTOALL, .v = true, .send = MANY(sbuf, stype, scounts, sdispls),
           .recv = MANY(rbuf, rtype, rcounts, rdispls))

COLLECTIVE(Alltoallw, Ialltoallw,
           (const void *sbuf, const COUNT scounts[], const DISPL sdispls[],
            const WAITIO_MPI_Datatype stypes[], void *rbuf, const COUNT rcounts[],
            const DISPL rdispls[], const WAITIO_MPI_Datatype rtypes[], WAITIO_MPI_Comm comm),
           .kind = WIO_ALLTOALL, .v = true, .send = TYPED(sbuf, stypes, scounts, sdispls),
           .recv = TYPED(rbuf, rtypes, rcounts, rdispls))

/* ---- neighbourhoods ---- */

COLLECTIVE(Neighbor_allgather, Ineighbor_allgather,
           (const void *sbuf, COUNT scount, WAITIO_MPI_Datatype stype, void *rbuf, COUNT rcount,
            WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm),
           .kind = WIO_NEIGHBOR_ALLGATHER, .send = ONE(sbuf, scount, stype),
           .recv = ONE(rbuf, rcount, rtype))

COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv,
           (const void *sbuf, COUNT scount, WAITIO_MPI_Datatype stype, void *rbuf,
            const COUNT rcounts[], const DISPL displs[], WAITIO_MPI_Datatype rtype,
            WAITIO_MPI_Comm comm),
           .kind = WIO_NEIGHBOR_ALLGATHER, .v = true, .send = ONE(sbuf, scount, stype),
           .recv = MANY(rbuf, rtype, rcounts, displs))

COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall,
           (const void *sbuf, COUNT scount, WAITIO_MPI_Datatype stype, void *rbuf, COUNT rcount,
            WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm),
           .kind = WIO_NEIGHBOR_ALLTOALL, .send = ONE(sbuf, scount, stype),
           .recv = ONE(rbuf, rcount, rtype))

COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv,
           (const void *sbuf, const COUNT scounts[], const DISPL sdispls[],
            WAITIO_MPI_Datatype stype, void *rbuf, const COUNT rcounts[], const DISPL rdispls[],
            WAITIO_MPI_Datatype rtype, WAITIO_MPI_Comm comm),
           .kind = WIO_NEIGHBOR_ALLTOALL, .v = true, .send = MANY(sbuf, stype, scounts, sdispls),
           .recv = MANY(rbuf, rtype, rcounts, rdispls))

COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw,
           (const void *sbuf, const COUNT scounts[], const WAITIO_MPI_Aint sdispls[],
            const WAITIO_MPI_Datatype stypes[], void *rbuf, const COUNT rcounts[],
            const WAITIO_MPI_Aint rdispls[], const WAITIO_MPI_Datatype rtypes[],
            WAITIO_MPI_Comm comm),
           .kind = WIO_NEIGHBOR_ALLTOALL, .v = true,
           .send = {.buf = sbuf, .types = stypes, .COUNTS = scounts, .places = sdispls},
           .recv = {.buf = rbuf, .types = rtypes, .COUNTS = rcounts, .places = rdispls})
