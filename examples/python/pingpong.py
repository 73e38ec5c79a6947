# SPDX-License-Identifier: BSD-3-Clause
"""Two programs throw an array to each other, and say how long that takes.

    waitio run --name left python pingpong.py : --name right python pingpong.py

Small arrays show the latency, large ones the bandwidth.
"""

import time

import numpy as np

import waitio

SIZES = (8, 1024, 65_536, 1_048_576)
TRIPS = 200


def main():
    """Rank 0 throws first and keeps the time."""
    with waitio.Universe() as universe:
        world = universe.world
        other = 1 - world.rank
        for size in SIZES:
            ball = np.full(size, world.rank, "u1")
            began = time.perf_counter()
            for _ in range(TRIPS):
                if world.rank == 0:
                    world.Send(ball, other)
                    world.Recv(ball, other)
                else:
                    world.Recv(ball, other)
                    world.Send(ball, other)
            if world.rank == 0:
                half = (time.perf_counter() - began) / TRIPS / 2
                print(f"{size:>9} bytes: {half * 1e6:8.2f} us one way")


if __name__ == "__main__":
    main()
