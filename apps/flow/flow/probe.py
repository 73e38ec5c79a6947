# SPDX-License-Identifier: BSD-3-Clause
"""Block `probe`: the velocity at a point of the wake, over time, in a file. It is killed on the
way. Block `spare` is the same program: it waits, and goes on with the file when the probe has
died."""

import os
import pathlib
import signal
import time

import numpy as np

import waitio
from flow import prepare
from waitio.stage import Reader

FILE = "probe.csv"


def last_step():
    """The last step that is in the file; a line that was cut is not read."""
    lines = pathlib.Path(FILE).read_text().rpartition("\n")[0].splitlines()[1:]
    return int(lines[-1].split(",")[0]) if lines else -1


def measure(plan, first, die):
    """Append a line for each step; returns how many."""
    at = (1, int(plan.x + 2.5 * plan.diameter), int(plan.y), 0)
    number = 0
    with Reader(prepare.STREAM, first=first) as flow, open(FILE, "a") as out:
        for step in flow:
            value = step["velocity"].get(at, (1, 1, 1, plan.nz)).mean()
            out.write(
                f"{step.number},{step['time']:.0f},{value:.9g},{step['lift']:.9g},{time.time():.3f}\n"
            )
            out.flush()
            number += 1
            if die and step.number >= plan.killed * plan.handed_on:
                print(f"step {step.number}: killed", flush=True)
                os.kill(os.getpid(), signal.SIGKILL)
    return number


def wait_for_death(universe):
    """Whether the probe has died; it says so when it has ended well."""
    probe = universe.world.find(prepare.PROBE, 0)
    try:
        universe.world.Recv(np.zeros(1, "u1"), probe, prepare.TAG_DONE)
    except waitio.PeerError as error:
        print(f"the probe has died ({error})", flush=True)
        return True
    return False


def main():
    plan = prepare.read_plan(pathlib.Path())
    universe = waitio.Universe(120)
    pathlib.Path(FILE).write_text("step,time,velocity,lift,clock\n")
    measure(plan, 0, die=True)
    to = universe.world.find(prepare.SPARE, 0)
    universe.world.Send(np.ones(1, "u1"), to, prepare.TAG_DONE)
    universe.finalize()


def spare():
    plan = prepare.read_plan(pathlib.Path())
    universe = waitio.Universe(120)
    if wait_for_death(universe):
        before = last_step()
        number = measure(plan, before + 1, die=False)
        print(f"went on after step {before}: {number} steps")
    universe.finalize()
