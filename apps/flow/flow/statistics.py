# SPDX-License-Identifier: BSD-3-Clause
"""Block `statistics`: mean and fluctuations of the velocity. Comes when the flow has developed;
each process reads a part of the domain, cut otherwise than by the solver."""

import json
import pathlib
import time

import numpy as np

from flow import prepare
from waitio import Universe
from waitio.stage import Reader


def main():
    plan = prepare.read_plan(pathlib.Path())
    universe = Universe(120)
    render = universe.world.find(prepare.RENDER, 0)
    universe.world.Recv(np.zeros(1, "u1"), render, prepare.TAG_DEVELOPED)
    rank, size = universe.pb_rank, universe.nprocs[universe.pb]
    block = universe.block(gid=1)
    low, high = plan.ny * rank // size, plan.ny * (rank + 1) // size  # the solver cuts along x
    start, count = (0, 0, low, 0), (3, plan.nx, high - low, plan.nz)
    total, squares = np.zeros(count[:3]), np.zeros(count[:3])
    seen, worst = [], 0.0
    with Reader(prepare.STREAM) as flow:
        for step in flow:
            velocity = step["velocity"].get(start, count).astype("f8")
            total += velocity.mean(axis=3)
            squares += (velocity**2).mean(axis=3)
            # The solver has told the sum over the whole domain.
            mine, whole = np.array([(velocity**2).sum()]), np.zeros(1)
            block.Allreduce(mine, whole)
            worst = max(worst, abs(whole[0] - step["squares"]) / max(step["squares"], 1e-300))
            seen.append((step.number, time.time()))
    n = max(1, len(seen))
    mean = total / n
    np.savez(f"statistics.{rank}.npz", mean=mean, rms=np.sqrt(np.maximum(squares / n - mean**2, 0)))
    if rank == 0:
        found = {"seen": seen, "worst": worst}
        pathlib.Path("statistics.json").write_text(json.dumps(found))
        print(f"{len(seen)} steps, from {seen[0][0] if seen else '-'} on")
    universe.finalize()
