#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The ping-pong of bench/bench_pt2pt.c in Python: the same sizes, trips and medians.

    pt2pt.py [CPU [SCALE [MAXBYTES [CALLS]]]]   with the usual WAITIO_* variables

Either side may be the C program. CALLS is `buffers` (Send, Recv) or `objects` (send, recv of an
array; both sides in Python then). Prints one JSON line per size.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import time

import numpy as np

import waitio

BATCHES, WINDOW, WINDOWS = 7, 64, 1500
SIZES = [
    (8, 4000),
    (1024, 3000),
    (8192, 2000),
    (65536, 800),
    (262144, 200),
    (1048576, 60),
    (8388608, 12),
    (67108864, 3),
]


class Side:
    """One of the two processes."""

    def __init__(self, calls: str, room: int) -> None:
        self.world = waitio.Universe(60).world
        self.other = 1 - self.world.rank
        self.out, self.into = np.ones(room, "u1"), np.ones(room, "u1")
        self.objects = calls == "objects"

    def trips(self, n: int, size: int, first: bool) -> None:
        """Make n round trips."""
        world, other = self.world, self.other
        out, into = self.out[:size], self.into[:size]
        if self.objects:
            for _ in range(n):
                if first:
                    world.send(out, other)
                world.recv(other)
                if not first:
                    world.send(out, other)
            return
        send, recv = world.Send, world.Recv
        if first:
            for _ in range(n):
                send(out, other)
                recv(into, other, 0)
        else:
            for _ in range(n):
                recv(into, other, 0)
                send(out, other)

    def windows(self, n: int, first: bool) -> None:
        """Windows of small messages, each answered by one."""
        send, recv, other = self.world.Isend, self.world.Irecv, self.other
        out, into = self.out[:8], [self.into[8 * i : 8 * i + 8] for i in range(WINDOW)]
        for _ in range(n):
            if first:
                waitio.waitall([send(out, other) for _ in range(WINDOW)])
                self.world.Recv(into[0], other, 0)
            else:
                waitio.waitall([recv(i, other, 0) for i in into])
                self.world.Send(out, other)


def report(metric: str, size: int, value: float) -> None:
    """Print one result."""
    print(json.dumps({"metric": metric, "bytes": size, "value": value}), flush=True)


def main(words: list[str]) -> None:
    """Rank 0 measures, rank 1 answers."""
    cpu = int(words[0]) if words else -1
    scale = int(words[1]) if len(words) > 1 else 1
    most = int(words[2]) if len(words) > 2 else 0
    if cpu >= 0:
        os.sched_setaffinity(0, {cpu})
    sizes = [(s, max(1, r // scale)) for s, r in SIZES if not most or s <= most]
    side = Side(words[3] if len(words) > 3 else "buffers", max(sizes[-1][0], 8 * WINDOW))
    first = side.world.rank == 0
    gc.disable()
    for size, rounds in sizes:
        if not first:
            side.trips(rounds // 4 + 1 + BATCHES * rounds, size, first)
            continue
        side.trips(rounds // 4 + 1, size, first)
        found = []
        for _ in range(BATCHES):
            began = time.perf_counter()
            side.trips(rounds, size, first)
            found.append((time.perf_counter() - began) / rounds / 2)
        report("half_rtt", size, statistics.median(found))
    if side.objects:
        return
    windows = max(1, WINDOWS // scale)
    if not first:
        side.windows(BATCHES * windows, first)
        return
    found = []
    for _ in range(BATCHES):
        began = time.perf_counter()
        side.windows(windows, first)
        found.append(windows * WINDOW / (time.perf_counter() - began))
    report("rate", 8, statistics.median(found))


if __name__ == "__main__":
    main(sys.argv[1:])
    waitio.finalize()
