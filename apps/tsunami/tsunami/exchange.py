# SPDX-License-Identifier: BSD-3-Clause
"""What crosses between the blocks, and how they start together; ocean/coupling.f90 is the other
side. Ranks and tags as there."""

import numpy as np

import waitio
from tsunami.trace import Trace

OCEAN, GAUGES, ASSIM = 0, 1, 2  # blocks, in the order of the job file
TAG_READY, TAG_GO, TAG_PART = 1, 2, 3
TAG_LESSON, TAG_STATE, TAG_INCREMENT = 10, 11, 12
TAG_BEGIN, TAG_STREAM = 20, 21
PATIENCE = 120  # seconds to wait for the other blocks


def join(block, comm=None, order=("ocean", "gauges", "assim")):
    """Join as this block; a wrong number or order of blocks is told at once."""
    universe = waitio.Universe(PATIENCE, comm=comm)
    if universe.npb != len(order) or universe.pb != block:
        raise SystemExit(f"this run has {len(order)} blocks, in this order: {', '.join(order)}")
    return universe


def start_together(world):
    """When everybody is ready the ocean's first process says go; time counts from there."""
    word = np.zeros(1, "i4")
    world.Send(word, 0, TAG_READY)
    world.Recv(word, 0, TAG_GO)
    return Trace()


class Part:
    """The cells of one process of the ocean: its rank in the universe, and where they lie."""

    def __init__(self, world, ocean_rank):
        self.rank = world.find(OCEAN, ocean_rank)
        word = np.empty(7, "i4")
        world.Recv(word, self.rank, TAG_PART)
        self.ocean_size, nx, ny, *corner = (int(n) for n in word)
        self.whole = (ny, nx)
        west, south, east, north = corner[0] - 1, corner[1] - 1, corner[2], corner[3]
        self.rows, self.columns = slice(south, north), slice(west, east)
        self.state = np.empty((north - south, east - west))
        self.increment = np.zeros_like(self.state)

    def has(self, cell):
        j, i = cell
        return self.rows.start <= j < self.rows.stop and self.columns.start <= i < self.columns.stop

    def height(self, cell):
        return self.state[cell[0] - self.rows.start, cell[1] - self.columns.start]


def my_parts(world, nprocs, rank):
    """Process r of the ocean is served by process r modulo our number."""
    return [Part(world, r) for r in range(rank, nprocs[OCEAN], nprocs[ASSIM])]
