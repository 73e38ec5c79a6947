#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Round trips between two jobs: our own staging calls, ADIOS2 with our engine, and with SST.

    bench/adios2.py [--build build/release] [--sizes 8,1000000,100000000] [--ways own,plugin,sst]

Needs an ADIOS2 when the library is built (src/adios). The ways take turns, so that a
machine whose speed changes does so for all of them.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]


def round_trip(build, way, processes, size, rounds):
    """Return the median time of a round, in microseconds."""
    program = build / "bench" / "bench_adios2"
    words = [sys.executable, "-m", "waitio", "run", "--timeout", "170s", "-n", str(processes)]
    words += [str(program), way, "first", str(size), str(rounds), ":", "-n", str(processes)]
    words += [str(program), way, "second", str(size), str(rounds)]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    env["ADIOS2_PLUGIN_PATH"] = str(build / "lib")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(words, capture_output=True, text=True, cwd=folder, env=env)
    found = re.search(r"median ([0-9.]+)", done.stdout)
    if done.returncode or not found:
        raise SystemExit(f"{way}, {size} bytes:\n{done.stdout}{done.stderr}")
    return float(found.group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--sizes", default="8,1000000,100000000")
    parser.add_argument("--ways", default="own,plugin,sst")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    build = given.build.resolve()
    print(f"{'bytes':>10} {'way':>7} {'us a round':>12} {'of own':>7}")
    for size in map(int, given.sizes.split(",")):
        rounds = max(10, min(200, 2 * 10**8 // size))
        times = {way: [] for way in given.ways.split(",")}
        for _ in range(given.turns):
            for way, found in times.items():
                few = rounds if way != "sst" else min(rounds, 20)
                found.append(round_trip(build, way, given.processes, size, few))
        base = statistics.median(next(iter(times.values())))
        for way, found in times.items():
            time = statistics.median(found)
            print(f"{size:>10} {way:>7} {time:>12.1f} {time / base:>7.2f}", flush=True)


if __name__ == "__main__":
    main()
