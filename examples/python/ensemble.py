# SPDX-License-Identifier: BSD-3-Clause
"""An MPI program (mpi4py) and a plain one: rank and size come from the communicator.

    waitio run --name model -n 2 --mpi openmpi python ensemble.py : --name watch python ensemble.py

The model's ranks each advance a member of an ensemble, talk to each other by MPI, and send
states to the watcher by WaitIO; MPI messages and WaitIO messages do not disturb each other.
"""

import os

import numpy as np

import waitio

STEPS, CELLS = 5, 1000


def model():
    """An ensemble of one member per rank."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    with waitio.Universe(comm=comm) as universe:
        watcher = universe.size - 1
        state = np.full(CELLS, float(comm.rank))
        mean = np.empty(CELLS)
        for step in range(STEPS):
            comm.Allreduce(state, mean, MPI.SUM)  # MPI, inside the block
            mean /= comm.size
            state += 0.5 * (mean - state)
            universe.world.Send(state, watcher, step)  # WaitIO, to the other block


def watch():
    """How far the members are apart."""
    with waitio.Universe() as universe:
        members = universe.size - 1
        states = np.empty((members, CELLS))
        spread = []
        for step in range(STEPS):
            waitio.waitall([universe.world.Irecv(states[r], r, step) for r in range(members)])
            spread.append(states.std(axis=0).mean())
        print(f"{members} members, spread {spread[0]:.3f} -> {spread[-1]:.3f}")
        assert spread[-1] <= spread[0]


if __name__ == "__main__":
    if os.environ["WAITIO_PBID"] == "0":
        model()
    else:
        watch()
