/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi_ring STEPS [threads]: every universe rank passes a growing message around the ring of all
 * processes of all blocks, while the MPI of each block sums inside the block. Works in an MPI job
 * of any flavour.
 */
#include <mpi.h>

#include "common.h"

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 50, me, size, pb_rank, pb_size, pb, where, n;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &pb_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &pb_size);
    OK(waitio_init(60));
    waitio_group_t g = everybody(0, &me, &size);
    OK(waitio_group_locate(g, me, &pb, &where));
    CHECK(where == pb_rank, "MPI says rank %d, WaitIO says %d in PB %d", pb_rank, where, pb);
    OK(waitio_pb_size(&n));
    int *sizes = NULL;
    OK(waitio_get_nprocs(&sizes));
    CHECK(sizes[pb] == pb_size, "MPI says %d processes, WaitIO %d", pb_size, sizes[pb]);
    for (int i = 0; i < steps; i++) {
        size_t bytes = (size_t)(i % 10 == 9 ? 300000 : 10 * i);
        char *out = must_alloc(bytes), *in = must_alloc(bytes);
        fill(out, bytes, (uint64_t)(i * 1000 + me));
        OK(waitio_sendrecv(g, (me + 1) % size, out, bytes, i, (me - 1 + size) % size, in, bytes, i,
                           NULL));
        CHECK(wrong_at(in, bytes, (uint64_t)(i * 1000 + (me - 1 + size) % size)) < 0, "step %d", i);
        int one = 1, sum = 0;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum == pb_size, "MPI sum %d", sum);
        free(out);
        free(in);
    }
    if (argc < 3)
        OK(waitio_finalize()); /* with a third word: leave it to the exit handler, as old programs
                                  do */
    MPI_Finalize();
    printf("ring ok: rank %d of %d\n", me, size);
    return 0;
}
