# SPDX-License-Identifier: BSD-3-Clause
"""What a process did when, for the report's timeline: the Python side of ocean/trace.f90, and the
reader of what all of them wrote."""

import contextlib
import csv
import dataclasses
import pathlib
import time


@dataclasses.dataclass
class Interval:
    """Seconds since the common start; with which block, and how many bytes."""

    start: float
    end: float
    what: str
    block: str
    size: int = 0


class Trace:
    """Intervals of this process, in memory until the end."""

    def __init__(self):
        self.zero = time.monotonic()
        self.intervals = []

    def now(self):
        return time.monotonic() - self.zero

    def add(self, start, what, block, size=0):
        self.intervals.append(Interval(start, self.now(), what, block, size))

    @contextlib.contextmanager
    def during(self, what, block, size=0):
        start = self.now()
        yield
        self.add(start, what, block, size)

    def write(self, path, rank):
        with open(f"{path}.{rank}", "w") as out:
            for i in self.intervals:
                out.write(f"{i.start:.6f},{i.end:.6f},{i.what},{i.block},{i.size}\n")


def load(folder):
    """{(block, rank): intervals} of all processes."""
    found = {}
    for path in sorted(pathlib.Path(folder).glob("trace.*.*")):
        _, block, rank = path.name.split(".")
        with open(path) as lines:
            found[block, int(rank)] = [
                Interval(float(a), float(b), what, other, int(size))
                for a, b, what, other, size in csv.reader(lines)
            ]
    return found
