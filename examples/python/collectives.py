# SPDX-License-Identifier: BSD-3-Clause
"""Blocks that were started apart compute together: the mean and spread of data that lie everywhere.

    waitio run -n 2 python collectives.py : python collectives.py

Works the same when one of the blocks is a C or Fortran program that calls WAITIO_MPI_Allreduce.
"""

import numpy as np

import waitio


def main():
    """Everybody holds a part of the data."""
    with waitio.Universe() as universe:
        world = universe.world
        mine = np.random.default_rng(world.rank).normal(world.rank, 1.0, 1000 * (world.rank + 1))

        sums = np.zeros(3)  # number, sum, sum of squares
        world.Allreduce(np.array([mine.size, mine.sum(), (mine**2).sum()]), sums)
        number, mean = sums[0], sums[1] / sums[0]
        spread = np.sqrt(sums[2] / number - mean**2)

        # The whole data at rank 0; parts differ in size.
        sizes = world.gather(mine.size)
        whole = np.zeros(sum(sizes)) if world.rank == 0 else None
        world.Gatherv(mine, [whole, sizes] if world.rank == 0 else None)
        if world.rank == 0:
            assert np.isclose(whole.mean(), mean) and np.isclose(whole.std(), spread)
            print(f"{int(number)} values in {universe.npb} blocks: {mean:.2f} +- {spread:.2f}")

        # One process of each block speaks for it.
        heads = universe.group(lambda pb, rank: rank == 0)
        if heads.rank >= 0:
            blocks = heads.allgather((universe.pb, universe.nprocs[universe.pb]))
            assert blocks == list(enumerate(universe.nprocs))

        # A sum that goes on while this process does something else.
        total = np.zeros(1)
        request = world.Iallreduce(np.array([float(world.rank)]), total)
        while not request.test()[0]:
            np.sort(mine)
        assert total[0] == world.size * (world.size - 1) / 2


if __name__ == "__main__":
    main()
