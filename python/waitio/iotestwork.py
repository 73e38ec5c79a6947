# SPDX-License-Identifier: BSD-3-Clause
"""One process of `waitio iotest`: goes through the cases, checks all data, prints its times.

python -m waitio.iotestwork JSON
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

from waitio import iotestways
from waitio.errors import WaitioError
from waitio.iotestways import Place
from waitio.machine import processor

WARM = 2  # steps before those that count, beside those that fill the queue: plans are made
MARKS = 64  # elements that differ from step to step

Times = list[tuple[float, float]]  # begin and end of each step


class Data:
    """What the array holds: element i is i, and at some places it also tells the step."""

    def __init__(self, place: Place) -> None:
        """Make this process's part: a writer fills it."""
        import numpy as np

        first, end = place.mine()
        every = max(1, place.total // MARKS)
        self.place = place
        self.first = first
        self.marks = slice((-first) % every, None, every)
        self.places = np.arange(first, end, dtype="f8")[self.marks]
        self.array = np.arange(first, end, dtype="f8") if place.writes else np.zeros(end - first)

    def stamp(self, step: int) -> None:
        """Write the step into the array."""
        self.array[self.marks] = self.places + step / 1024

    def check(self, step: int) -> None:
        """Compare; the first step wholly."""
        import numpy as np

        got, want = self.array[self.marks], self.places + step / 1024
        if step == 0:
            want = np.arange(self.first, self.first + self.array.size, dtype="f8")
            got = self.array
        if not np.array_equal(got, want):
            at = int(np.nonzero(got != want)[0][0])
            raise self.place.error(
                step,
                f"reader {self.place.rank}",
                f"element {at} of those that were looked at is {got[at]!r}, not {want[at]!r}",
            )


def compute(length: float) -> None:
    """Take the processor, as a simulation does."""
    end = time.monotonic() + length
    while time.monotonic() < end:
        pass


def write(place: Place, case: dict[str, Any], steps: int) -> tuple[float, int, Times]:
    """Be a writer; return how long opening took, 0, and the times in which steps are given."""
    data, times = Data(place), []
    begin = time.monotonic()
    side = iotestways.WRITERS[case["way"]](place)
    opened = time.monotonic() - begin
    for step in range(steps):
        compute(case["compute"])
        data.stamp(step)
        begin = time.monotonic()
        side.put(step, data.array)
        times.append((begin, time.monotonic()))
    side.close()
    return opened, getattr(side, "pushes", 0), times


def read(place: Place, case: dict[str, Any], steps: int) -> tuple[float, int, Times]:
    """Be a reader: how long opening took, pieces that came unasked, times to get the steps."""
    data, times = Data(place), []
    begin = time.monotonic()
    side = iotestways.READERS[case["way"]](place)
    opened = time.monotonic() - begin
    for step in range(steps):
        begin = time.monotonic()
        side.get(step, data.array)
        times.append((begin, time.monotonic()))
        data.check(step)
    side.close()
    return opened, getattr(side, "pushes", 0), times


def play(number: int, case: dict[str, Any], spec: dict[str, Any], universe: Any) -> dict[str, Any]:
    """Take part in a case; all processes begin and end it together."""
    writes = universe.pb == 0
    place = Place(
        universe=universe,
        case=number,
        writes=writes,
        rank=universe.pb_rank,
        writers=universe.nprocs[0],
        readers=universe.nprocs[1],
        each=max(1, case["bytes"] // 8),
        queue=spec["queue"],
        limit=spec["limit"],
        folder=spec["folder"],
    )
    universe.world.Barrier()
    warm = WARM + place.queue
    opened, pushes, times = (write if writes else read)(place, case, case["steps"] + warm)
    universe.world.Barrier()
    steps = case["steps"]
    counted = times[warm:]
    return {
        "case": number,
        "writes": writes,
        "open": opened,
        "pushes": pushes,
        "lost": sum(end - begin for begin, end in counted) / steps,
        "period": (times[-1][1] - times[warm - 1][1]) / steps,
    }


def main() -> int:
    """Go through the cases."""
    import waitio

    spec = json.loads(sys.argv[1])
    try:
        with waitio.Universe() as universe:
            about = {"host": os.uname().nodename, "processor": processor()}
            for number, case in enumerate(spec["cases"] * spec["rounds"]):
                found = play(number, case, spec, universe)
                sys.stdout.write(json.dumps({"iotest": {**found, **about}}) + "\n")
                sys.stdout.flush()
    except (WaitioError, waitio.Error, ImportError, OSError, RuntimeError) as error:
        sys.stderr.write(f"waitio iotest: {error}\n")
        return 1
    return 0
