#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measure staging between separate jobs against raw bytes.

  bench/stage.py            2 writers, 2 readers: half a round trip of 8 B, 1 MB and 100 MB a
                            process over two streams, and steps one way
  bench/stage.py --shapes   steps of 2 to 5 and 5 to 2 processes beside 2 to 2, the same bytes
  bench/stage.py --events   opening a stream; how soon readers hear of a writer's death
  bench/stage.py --plan     no processes: parts, layout and plan of 24,576 writers and readers

Every round runs all sides one after the other; a ratio is formed within a round. `raw` moves the
bytes of a step, without anything else, between as many pairs of processes at the same time: a TCP
connection each, or a ring in shared memory, polling, or yielding where processes share a processor.
The processes of staging are started apart from each other. `--queue -1`: the writers are
synchronous, and nothing is copied.
"""

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from coll import interleaved, numbers, time_text
from place import HERE, LIMIT_S, block_envs, free_port, parse, run_all, taskset
from run import cell, ratios

from coupler import FLOORS, ROUTES, at_once, processor, sizes_env


class Sides:
    """What is compared."""

    def __init__(self, args, folder):
        self.args, self.folder = args, Path(folder)
        self.cpus = os.cpu_count() or 1
        self.prefix = ["chrt", "-r", "1"] if args.rr else []

    def raw(self, route, bytes_, procs):
        """Half a round trip of the slowest of the pairs that run at the same time."""
        program, kind = FLOORS[route, 2 * procs <= self.cpus]
        exe = str(self.args.build / "bench" / program)

        def pair(p):
            port, cpus = str(free_port()), (p % self.cpus, (p + 1) % self.cpus)
            rest = ["8" if bytes_ < 1 << 22 else "1", str(bytes_), "cubic"]
            words = [
                [*self.prefix, exe, kind, str(r), port, "127.0.0.1", str(cpus[r]), *rest]
                for r in (0, 1)
            ]
            return parse(run_all(words, [sizes_env([bytes_])] * 2))

        found = at_once([lambda p=p: pair(p) for p in range(procs)])
        return {("step", bytes_): max(f["half_rtt", bytes_] for f in found)}

    def start(self, what, bytes_, shape, route, words=(), pin=False, killed=()):
        """What all processes measure."""
        extra = {"WAITIO_TCP_CONGESTION": "cubic", "WAITIO_COMM_TYPE": ROUTES[route]}
        exe = str(self.args.build / "bench" / "bench_stage")
        line = [*self.prefix, exe, what, str(bytes_), f"queue={self.args.queue}", *words]
        started = []
        for i, env in enumerate(block_envs(self.folder, shape, extra)):
            one = taskset((i + i // shape[0]) % self.cpus, line) if pin else line
            err = subprocess.DEVNULL if what == "death" else None
            started.append(
                subprocess.Popen(one, env=env, stdout=subprocess.PIPE, stderr=err, text=True)
            )
        try:
            texts = [p.communicate(timeout=LIMIT_S)[0] for p in started]
        finally:
            for p in started:
                p.kill()
        if any(p.returncode != 0 for i, p in enumerate(started) if i not in killed):
            raise RuntimeError(f"bench_stage failed: {[p.returncode for p in started]}")
        return [parse(t) for t in texts]

    def steps(self, what, bytes_, shape, route):
        count = max(2, min(self.args.steps, 1_000_000_000 // (bytes_ + 1_000_000)))
        if bytes_ > 10_000_000:
            count = 2
        pin = self.args.pin and shape[0] == shape[1]
        found = self.start(what, bytes_, shape, route, [f"steps={count}"], pin)
        value = next(v for f in found for (name, _), v in f.items() if name == what)
        most = max(v for f in found for (name, _), v in f.items() if name == "most")
        return {("step", bytes_): value, ("most", bytes_): most}


def against_raw(args, sides):
    n = args.procs
    for route in args.routes:
        print(f"\n{n} writers, {n} readers, {route}, queue {args.queue}; {processor()}\n")
        print("| bytes a process | raw | half a round trip | one way | queued at most |")
        print("|---|---|---|---|---|", flush=True)
        for bytes_ in args.bytes:
            runs = {
                "raw": lambda r=route, b=bytes_: sides.raw(r, b, n),
                "trip": lambda r=route, b=bytes_: sides.steps("trip", b, [n, n], r),
                "stream": lambda r=route, b=bytes_: sides.steps("stream", b, [n, n], r),
            }
            rounds = interleaved(runs, args.rounds, f"{route}, {bytes_} B")
            key, row = ("step", bytes_), [f"{bytes_:,}"]
            for name in runs:
                text = time_text(statistics.median(r[name][key] for r in rounds))
                row.append(
                    text if name == "raw" else f"{text}, {cell(ratios(rounds, name, key, 'raw'))}"
                )
            row.append(f"{max(r['stream']['most', bytes_] for r in rounds):,.0f} B")
            print("| " + " | ".join(row) + " |", flush=True)


def shapes(args, sides):
    """The same bytes in all from any number of writers to any number of readers."""
    print(f"\nsteps one way, queue {args.queue}; {processor()}\n")
    print("| route | bytes of a step | 2 to 2 | 2 to 5 | 5 to 2 |\n|---|---|---|---|---|")
    for route in args.routes:
        for bytes_ in args.bytes:
            runs = {
                (m, n): lambda r=route, b=2 * bytes_ // m, m=m, n=n: {
                    "time": sides.steps("stream", b, [m, n], r)["step", b]
                }
                for m, n in ((2, 2), (2, 5), (5, 2))
            }
            rounds = interleaved(runs, args.rounds, f"{route}, {bytes_} B")
            row = [route, f"{2 * bytes_:,}"]
            for name in runs:
                text = time_text(statistics.median(r[name]["time"] for r in rounds))
                over = cell(ratios(rounds, name, "time", (2, 2)))
                row.append(text if name == (2, 2) else f"{text}, {over}")
            print("| " + " | ".join(row) + " |", flush=True)


def spread(values):
    """The median, and the range."""
    low, mid, high = (time_text(f(values)) for f in (min, statistics.median, max))
    return f"{mid} ({low} .. {high})"


def events(args, sides):
    print(f"\n{processor()}\n\n| route | processes | open | death told |\n|---|---|---|---|")
    for route in args.routes:
        for n in (1, 2, 16):
            opened, told = [], []
            for _ in range(args.rounds):
                found = sides.start("stream", 8, [n, n], route, ["steps=1"])
                opened.append(max(v for f in found for (k, _), v in f.items() if k == "open"))
                found = sides.start("death", 8, [n, n], route, killed=[n - 1])
                killed = found[n - 1]["killed", n - 1]
                told.append(max(f["heard", i] for i, f in enumerate(found[n:])) - killed)
            row = [route, f"{n} + {n}", spread(opened), spread(told)]
            print("| " + " | ".join(row) + " |", flush=True)


def plan(args):
    """What a process of very many computes and holds."""
    exe = str(args.build / "bench" / "bench_plan")
    print(f"\n{processor()}\n")
    print("| writers | readers | layout made | its bytes | read | a reader's plan |")
    print("|---|---|---|---|---|---|")
    for cut in ("8 8 6 6 8 8", "16 16 12 12 16 16", "32 32 24 24 32 32"):
        rounds = [parse(run_all([[exe, *cut.split()]], [None])) for _ in range(args.rounds)]
        numbers_ = [int(n) for n in cut.split()]
        row = [f"{math.prod(numbers_[:3]):,}", f"{math.prod(numbers_[3:]):,}"]
        found = {k: (b, [r[k, b] for r in rounds]) for k, b in rounds[0]}
        made, read, one = found["layout"], found["read"], found["plan"]
        row += [time_text(statistics.median(made[1])), f"{made[0]:,}"]
        row += [time_text(statistics.median(read[1]))]
        row += [f"{time_text(statistics.median(one[1]))}, {found['pieces'][1][0]:.0f} pieces"]
        print("| " + " | ".join(row) + " |", flush=True)


def arguments():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--build", type=Path, default=HERE.parent / "build" / "release")
    p.add_argument("--procs", type=int, default=2, help="of each side")
    p.add_argument("--bytes", type=numbers, default=[8, 1_000_000, 100_000_000])
    p.add_argument("--routes", type=lambda t: t.split(","), default=list(ROUTES))
    p.add_argument("--queue", type=int, default=0, help="steps; 0: the default; -1: synchronous")
    p.add_argument("--steps", type=int, default=300, help="of a batch, at most")
    p.add_argument("--pin", action="store_true", help="bind processes to processors")
    p.add_argument("--rr", action="store_true", help="round-robin real-time scheduling (root)")
    p.add_argument("--shapes", action="store_true", help="2 to 5 and 5 to 2 processes")
    p.add_argument("--events", action="store_true", help="opening, and a writer's death")
    p.add_argument("--plan", action="store_true", help="up to 24,576 writers and readers")
    p.add_argument("--rounds", type=int, default=5)
    args = p.parse_args()
    if not set(args.routes) <= set(ROUTES):
        p.error(f"--routes: of {', '.join(ROUTES)}")
    return args


def main():
    args = arguments()
    if args.plan:
        return plan(args)
    try:
        with tempfile.TemporaryDirectory() as folder:
            sides = Sides(args, folder)
            mode = shapes if args.shapes else events if args.events else against_raw
            mode(args, sides)
    except (RuntimeError, subprocess.SubprocessError) as error:
        sys.exit(f"bench: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
