/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two blocks, each under an MPI of its own, and an intercommunicator between them: what each sums
 * up by its MPI the other gets. Built twice, by two MPIs; both blocks say "ok".
 */
#include <mpi.h>
#include <stdio.h>
#include <waitio_mpi.h>

int main(int argc, char **argv)
{
    int me, size, theirs_size, pbid, world_size, mine, theirs = -1, sum = -1, root, all[16], good;
    WAITIO_MPI_Comm block, other, both;
    WAITIO_MPI_Request req;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    WAITIO_MPI_Init(NULL, NULL);
    waitio_pb_rank(&pbid);
    WAITIO_MPI_Comm_size(WAITIO_MPI_COMM_WORLD, &world_size);
    WAITIO_MPI_Comm_split_type(WAITIO_MPI_COMM_WORLD, WAITIO_MPI_COMM_TYPE_PB, me,
                               WAITIO_MPI_INFO_NULL, &block);
    WAITIO_MPI_Intercomm_create(block, 0, WAITIO_MPI_COMM_WORLD, pbid == 0 ? size : 0, 1, &other);
    WAITIO_MPI_Comm_remote_size(other, &theirs_size);
    good = theirs_size == world_size - size;
    /* A number that this block's MPI has put together goes over, from its first process to all. */
    mine = (me + 1) * (pbid + 1);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int giving = 0; giving < 2; giving++) {
        root = giving != pbid ? 0 : me == 0 ? WAITIO_MPI_ROOT : WAITIO_MPI_PROC_NULL;
        WAITIO_MPI_Bcast(giving == pbid ? &sum : &theirs, 1, WAITIO_MPI_INT, root, other);
    }
    good &= theirs == theirs_size * (theirs_size + 1) / 2 * (2 - pbid);
    /* The same by a collective between the blocks, while the block's own MPI works. */
    WAITIO_MPI_Iallreduce(&mine, &sum, 1, WAITIO_MPI_INT, WAITIO_MPI_SUM, other, &req);
    MPI_Barrier(MPI_COMM_WORLD);
    WAITIO_MPI_Wait(&req, WAITIO_MPI_STATUS_IGNORE);
    good &= sum == theirs;
    WAITIO_MPI_Allgather(&me, 1, WAITIO_MPI_INT, all, 1, WAITIO_MPI_INT, other);
    for (int r = 0; r < theirs_size; r++)
        good &= all[r] == r;
    WAITIO_MPI_Intercomm_merge(other, pbid == 0, &both);
    WAITIO_MPI_Comm_rank(both, &root);
    good &= root == (pbid == 0 ? theirs_size + me : me);
    WAITIO_MPI_Comm_free(&both);
    WAITIO_MPI_Comm_free(&other);
    WAITIO_MPI_Comm_free(&block);
    puts(good ? "ok" : "FAILED");
    WAITIO_MPI_Finalize();
    MPI_Finalize();
    return !good;
}
