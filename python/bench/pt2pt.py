#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What bench/bench_pt2pt.c measures, in Python: the same sizes, numbers of messages and medians.

    pt2pt.py [CPU [SCALE [MAXBYTES [CALLS]]]]   with the usual WAITIO_* variables

CALLS is `buffers` (Send, Recv: the other side may be the C program) or `objects` (send, recv of an
array; only round trips, and both sides in Python). Of the variables of bench/pt2pt.h and common.h
BENCH_TURN and BENCH_OFFSET hold here, too. Prints one JSON line per size.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

import waitio

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench"))
from place import plan, rate_messages, streams  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

BATCHES, WINDOW, PAGE = 7, 64, 4096


class Memory:
    """Where messages are sent from, or come to: one place, or the next one each time."""

    def __init__(self, room: int) -> None:
        turn = os.environ.get("BENCH_TURN")
        self.room = max(room, int(turn or 0), 8 * WINDOW)
        self.step = turn is not None
        self.at = 0
        offset = os.environ.get("BENCH_OFFSET")
        if offset is None:
            self.bytes = np.ones(self.room, "u1")
            return
        whole = np.ones(self.room + 2 * PAGE, "u1")
        begin = -whole.ctypes.data % PAGE + int(offset) % PAGE
        self.bytes = whole[begin : begin + self.room]

    def next(self, size: int) -> np.ndarray:
        """Return the array of the next message."""
        if not self.step:
            return self.bytes[:size]
        if self.at + size > self.room:
            self.at = 0
        found = self.bytes[self.at : self.at + size]
        self.at += (size + 63) // 64 * 64
        return found


class Side:
    """One of the two processes."""

    def __init__(self, calls: str, room: int) -> None:
        self.world = waitio.Universe(60).world
        self.first = self.world.rank == 0
        self.other = 1 - self.world.rank
        self.out, self.into = Memory(room), Memory(room)
        self.objects = calls == "objects"

    def trips(self, n: int, size: int) -> None:
        """Make n round trips."""
        world, other, first = self.world, self.other, self.first
        out, into = self.out, self.into
        if self.objects:
            for _ in range(n):
                if first:
                    world.send(out.next(size), other)
                world.recv(other)
                if not first:
                    world.send(out.next(size), other)
            return
        send, recv = world.Send, world.Recv
        if out.step:
            for _ in range(n):
                if first:
                    send(out.next(size), other)
                recv(into.next(size), other, 0)
                if not first:
                    send(out.next(size), other)
            return
        here, there = out.next(size), into.next(size)
        if first:
            for _ in range(n):
                send(here, other)
                recv(there, other, 0)
        else:
            for _ in range(n):
                recv(there, other, 0)
                send(here, other)

    def windows(self, n: int) -> None:
        """Windows of small messages, each answered by one."""
        send, recv, other = self.world.Isend, self.world.Irecv, self.other
        out, into = (
            memory.bytes[: 8 * WINDOW].reshape(WINDOW, 8) for memory in (self.out, self.into)
        )
        for _ in range(n):
            if self.first:
                waitio.waitall([send(out[0], other) for _ in range(WINDOW)])
                self.world.Recv(into[0], other, 0)
            else:
                waitio.waitall([recv(i, other, 0) for i in into])
                self.world.Send(out[0], other)

    def stream(self, n: int, size: int) -> None:
        """Messages one after the other; one answer."""
        world, other = self.world, self.other
        if self.first:
            for _ in range(n):
                world.Send(self.out.next(size), other)
            world.Recv(self.into.next(8), other, 0)
        else:
            for _ in range(n):
                world.Recv(self.into.next(size), other, 0)
            world.Send(self.out.next(8), other)

    def both(self, n: int, size: int) -> None:
        """One message each way at the same time."""
        world, other = self.world, self.other
        for _ in range(n):
            coming = world.Irecv(self.into.next(size), other, 0)
            waitio.waitall([coming, world.Isend(self.out.next(size), other)])


def seconds(call: Callable[[int, int], None], n: int, size: int) -> list[float]:
    """Return the seconds of every batch of n calls."""
    found = []
    for _ in range(BATCHES):
        began = time.perf_counter()
        call(n, size)
        found.append(time.perf_counter() - began)
    return found


def main(words: list[str]) -> None:
    """Rank 0 measures, rank 1 answers."""
    cpu = int(words[0]) if words else -1
    scale = int(words[1]) if len(words) > 1 else 1
    most = int(words[2]) if len(words) > 2 else 0
    if cpu >= 0:
        os.sched_setaffinity(0, {cpu})
    args = SimpleNamespace(scale=scale, max=most)
    sizes = plan(args)
    side = Side(words[3] if len(words) > 3 else "buffers", max(sizes[-1][0], 8 * WINDOW))

    def report(metric: str, size: int, value: float) -> None:
        if side.first:
            print(json.dumps({"metric": metric, "bytes": size, "value": value}), flush=True)

    gc.disable()
    for size, rounds, _ in sizes:
        side.trips(rounds // 4 + 1, size)
        value = statistics.median(seconds(side.trips, rounds, size)) / rounds / 2
        report("half_rtt", size, value)
    if side.objects:
        return
    windows = rate_messages(args) // WINDOW
    found = seconds(lambda n, _: side.windows(n), windows, 8)
    report("rate", 8, windows * WINDOW / statistics.median(found))
    for size, n, _ in streams(args):
        report("stream", size, n / statistics.median(seconds(side.stream, n, size)))
    for size, _, n in streams(args):
        side.both(n // 4 + 1, size)
        report("both", size, statistics.median(seconds(side.both, n, size)) / n)
    if side.first:  # as in C: the other side stays until all is reported
        side.world.Send(side.out.next(8), side.other)
    else:
        side.world.Recv(side.into.next(8), side.other, 0)


if __name__ == "__main__":
    main(sys.argv[1:])
    waitio.finalize()
