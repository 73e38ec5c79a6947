// SPDX-License-Identifier: BSD-3-Clause
// C++: MPI's own classes, which call C behind the program's back.
#include <mpi.h>

#include <complex>
#include <cstdio>

static void add(const void *in, void *inout, int n, const MPI::Datatype &)
{
    for (int i = 0; i < n; i++)
        static_cast<int *>(inout)[i] += static_cast<const int *>(in)[i];
}

int main(int argc, char **argv)
{
    MPI::Init(argc, argv);
    const int rank = MPI::COMM_WORLD.Get_rank(), size = MPI::COMM_WORLD.Get_size();
    std::complex<double> z(rank, 1), sum;
    MPI::COMM_WORLD.Allreduce(&z, &sum, 1, MPI::DOUBLE_COMPLEX, MPI::SUM);
    MPI::Op op;
    op.Init(add, true);
    int total = -1, got = -1;
    MPI::COMM_WORLD.Allreduce(&rank, &total, 1, MPI::INT, op);
    op.Free();
    MPI::Request request = MPI::COMM_WORLD.Isend(&rank, 1, MPI::INT, (rank + 1) % size, 5);
    MPI::Status status;
    MPI::COMM_WORLD.Recv(&got, 1, MPI::INT, MPI::ANY_SOURCE, 5, status);
    request.Wait();
    MPI::Intracomm half = MPI::COMM_WORLD.Split(rank % 2, rank);
    const int members = half.Get_size();
    half.Free();
    std::printf("%d of %d: (%g,%g) %d, %d from %d, half of %d\n", rank, size, sum.real(),
                sum.imag(), total, got, status.Get_source(), members);
    MPI::Finalize();
}
