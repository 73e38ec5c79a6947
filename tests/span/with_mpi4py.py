# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py as it is: objects, arrays, requests, operators, groups of processes."""

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.rank, world.size
objects = world.allgather({"rank": rank, "name": "x" * rank})
assert [o["rank"] for o in objects] == list(range(size))

numbers, sums = np.arange(5.0) * rank, np.zeros(5)
world.Allreduce(numbers, sums)
assert np.allclose(sums, np.arange(5.0) * sum(range(size)))

big = np.full(300000, rank, dtype="i8")
got = np.empty_like(big)
left, right = (rank - 1) % size, (rank + 1) % size
MPI.Request.Waitall([world.Isend(big, right, tag=4), world.Irecv(got, left, tag=4)])
assert (got == left).all()
table, column = np.arange(16, dtype="i4").reshape(4, 4) + 100 * rank, np.zeros(4, "i4")
kind = MPI.INT32_T.Create_vector(4, 1, 4).Commit()  # by the constructor with large counts, if any
world.Sendrecv([table, 1, kind], right, 5, column, left, 5)
assert (column == np.arange(0, 16, 4) + 100 * left).all()
kind.Free()


def add(a, b, _datatype):
    out = np.frombuffer(b, "i4")
    out += np.frombuffer(a, "i4")


op = MPI.Op.Create(add, commute=True)
pair, total = np.array([rank, 1], "i4"), np.zeros(2, "i4")
world.Allreduce(pair, total, op=op)
op.Free()

request = world.isend(f"hello {rank}", right, tag=9)
text = world.mprobe(tag=9).recv()
request.wait()
half = world.Split(rank % 2, rank)
cart = world.Create_cart([size], periods=[True])
shift = cart.Shift(0, 1)
cart.Free()
node = world.Split_type(MPI.COMM_TYPE_SHARED)
window = MPI.Win.Allocate_shared(8, comm=node)
window.Free()
print(f"{rank} of {size}: {total.tolist()} {text} {half.size} {shift}", flush=True)
