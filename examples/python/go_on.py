# SPDX-License-Identifier: BSD-3-Clause
"""Two programs compute how a rod cools; killed and started again, they go on.

    waitio run python go_on.py : python go_on.py
    waitio run --route file --job-id rod --resume python go_on.py : python go_on.py

Each has one half of the rod, and sends the value at its edge to the other one in each step. The
second command goes on, given again, when they were killed: the result is the same to the last bit.
(Job scripts set WAITIO_FILE_RESUME=1 for both, and use the same job id, directory and secret.)
"""

import os
import pathlib
import sys

import numpy as np

import waitio

STEPS, EVERY, CELLS = 3000, 100, 1000


def load(path):
    """Return step, mark and values of the checkpoint, or the beginning."""
    if not path.exists():
        return 0, 0, np.linspace(0.0, 1.0, CELLS) ** 2
    with np.load(path) as saved:
        return int(saved["step"]), int(saved["mark"]), saved["rod"]


def save(path, step, mark, rod):
    """Write the checkpoint: the old one stays until the new one is complete."""
    fresh = path.with_suffix(".new.npz")
    np.savez(fresh, step=step, mark=mark, rod=rod)
    os.replace(fresh, path)


def main():
    """Compute from the checkpoint to the end; rank 0 says the sum."""
    with waitio.Universe() as universe:
        world = universe.world
        path = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".") / f"rod-{world.rank}.npz"
        step, mark, rod = load(path)
        waitio.resume_from(mark)  # before the first message, at each start
        edge, theirs = (-1, 0)[world.rank], np.zeros(1)
        while step < STEPS:
            mine = rod[edge : edge + 1 or None].copy()
            world.Sendrecv(mine, 1 - world.rank, recvbuf=theirs, source=1 - world.rank)
            ends = (rod[:1], theirs) if world.rank == 0 else (theirs, rod[-1:])
            wide = np.concatenate((ends[0], rod, ends[1]))
            rod = rod + 0.3 * (wide[2:] - 2.0 * rod + wide[:-2])
            step += 1
            if step % EVERY == 0:
                save(path, step, waitio.resume_mark(), rod)
        total = world.gather(float(rod.sum()), root=0)
        if world.rank == 0:
            print(f"heat in the rod: {sum(total).hex()}", flush=True)
    path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
