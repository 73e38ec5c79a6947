#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random legal MPI programs, many seeds of them.

    tests/random/many_seeds.py [--way WAY ...] [--seeds 1:1000] [--build build/release] [OPTION ...]

A way is how the program runs: openmpi, mpich (the check that the programs are legal), rename,
hybrid, hybrid-messages, span-openmpi, span-mpich, span-mixed, span-mixed-inside, emulator-openmpi,
emulator-mpich; without --way all of them in turn. Other options go to the program (the head of
tests/random/main.c): --only A:B and --without N help to find the step that matters. Prints each
seed that fails, with what its processes say and where they were, and the line that repeats it; goes
on with the next seed. Exit status 1 when one has failed.
"""

import argparse
import pathlib
import re
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests" / "support")]

from jobs import Jobs  # noqa: E402
from random_programs import WAYS, HungError, RandomPrograms  # noqa: E402

CHUNK = 50  # seeds of one start
LONG = 12  # lines of a failure that are shown without --verbose


def read_arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--way", action="append", choices=sorted(WAYS))
    parser.add_argument("--seeds", default="1:1001")
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--chunk", type=int, default=CHUNK)
    parser.add_argument("--limit", type=float, default=2.0, help="seconds of a seed")
    parser.add_argument("--most", type=int, default=10, help="failures of a way that end it")
    return parser.parse_known_args()


def tell(programs, way, seed, text, options):
    print(f"FAIL {way} seed {seed}")
    lines = [line for line in text.splitlines() if line.strip()]
    if "--verbose" not in options:
        lines = ([line for line in lines if "random:" in line] or lines)[:LONG]
    print("\n".join(f"    {line}" for line in lines))
    for name, place in programs.places().items():
        print(f"    {name} was at {place}")
    words = " ".join(["", *options]) if options else ""
    print(f"    again: tests/random/many_seeds.py --way {way} --seeds {seed}{words}", flush=True)


def failure(programs, way, first, end, limit, options):
    """The text of a failure of these seeds, or None."""
    try:
        done = programs.run(way, f"{first}:{end}", *options, limit=limit)
    except HungError as hung:
        return f"has not ended after {limit:.0f} s\n{hung}"
    good = len(re.findall(r"ok: rank \d+:", done.stdout)) == sum(n for _, n in WAYS[way])
    return None if done.returncode == 0 and good else done.all()


def run_way(programs, way, first, end, args, options):
    bad, begin, at = [], time.monotonic(), first
    while at < end and len(bad) < args.most:
        last = min(at + args.chunk, end)
        limit = 30 + args.limit * (last - at)
        text = failure(programs, way, at, last, limit, options)
        if text is None:
            at = last
            continue
        seed = programs.seed()
        tell(programs, way, seed, text, options)
        bad.append(seed)
        at = at + 1 if seed is None else max(seed, at) + 1
    took = time.monotonic() - begin
    print(f"{way}: seeds {first} to {at - 1}: {len(bad)} failed {bad}, {took:.0f} s", flush=True)
    return bool(bad)


def main():
    args, options = read_arguments()
    first, _, end = args.seeds.partition(":")
    first, end = int(first), int(end) if end else int(first) + 1
    status = 0
    for way in args.way or WAYS:
        with tempfile.TemporaryDirectory(prefix="random-") as folder:
            folder = pathlib.Path(folder)
            launcher = Jobs(pathlib.Path(args.build).resolve(), folder / "made", folder)
            try:
                status |= run_way(RandomPrograms(launcher), way, first, end, args, options)
            finally:
                launcher.close()
    return status


if __name__ == "__main__":
    sys.exit(main())
