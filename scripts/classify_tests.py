#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Choose the short suite anew: write tests/long.txt from the times of the last runs.

classify_tests.py [--build build/release] [--seconds S]

The short suite is a cover of what is promised. It gets, in this order:
  1. for each guard of tests/guards*.toml the tests that fail without it (of several such sets the
     quickest);
  2. the quickest test of each file;
  3. the quickest of all others, until S seconds are full.
About five tests run at a time on two cores, four of pytest and one or two of CTest, and most of
them wait. So the sum of all may be 5 S, and those that measure time count five times, for they run
alone. Each Python file costs its set-up once.

Every run of scripts/run_tests.py keeps the least time that it saw of each test, in
build/release/test-results/seconds.json. A test that was never measured is refused: run `make test`
and `make check-all PART=long` before, on a machine as idle as can be.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys

import guards
from runner import ctests

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEAD = """\
# SPDX-License-Identifier: BSD-3-Clause
# Tests that `make test` leaves out and `make check-all` runs: measured seconds, name.
# Written by scripts/classify_tests.py (make classify-tests); not by hand.
"""
LANES = 5


def file_of(name):
    return name.partition("::")[0]


def cover(names, cost, rows):
    """The tests that show each guard: of the sets that a row names the quickest.

    @return ({name}, [rows that name no test])
    """
    chosen, lost = set(), []
    for row in rows:
        sets = [guards.named_by(entry, names) for entry in row["tests"]]
        built = all(entry.startswith("build ") for entry in row["tests"])
        sets = sorted((found for found in sets if found), key=lambda s: sum(cost[n] for n in s))
        if sets:
            chosen |= set(sets[0])
        elif not built:
            lost.append(row["name"])
    return chosen, lost


def choose(cost, setup, must, budget):
    """The short suite.

    @param cost    {name: seconds}, of all tests
    @param setup   {file: seconds} that its first test pays besides
    @param must    tests that are chosen in any case
    @param budget  seconds, of all tests one after another
    @return ({name}, their seconds)
    """
    chosen = set(must)
    covered = {file_of(name) for name in chosen}
    order = sorted(cost, key=lambda name: (cost[name], name))
    for name in order:
        if "::" in name and file_of(name) not in covered:
            covered.add(file_of(name))
            chosen.add(name)
    spent = sum(cost[name] for name in chosen) + sum(setup.get(file, 0) for file in covered)
    for name in order:
        if name not in chosen and spent + cost[name] <= budget:
            chosen.add(name)
            spent += cost[name]
    return chosen, spent


def collect(build):
    """All tests; those of them that run alone."""
    env = dict(os.environ, WAITIO_BUILD_DIR=str(build))
    words = [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests", "python/tests"]
    words += ["-p", "no:cacheprovider"]

    def ask(*more):
        done = subprocess.run(
            [*words, *more], cwd=ROOT, env=env, capture_output=True, text=True, check=False
        )
        if done.returncode not in (0, 5):
            raise RuntimeError(done.stdout[-2000:] + done.stderr[-2000:])
        return [line for line in done.stdout.splitlines() if ".py::" in line]

    return sorted(ctests.names(str(build))) + ask(), set(ask("--lane", "alone"))


def write(path, names, seconds):
    rows = "".join(f"{seconds[name]:7.1f} {name}\n" for name in sorted(names))
    path.write_text(HEAD + rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release", help="build folder")
    parser.add_argument("--seconds", type=float, default=280, help="of the short suite")
    args = parser.parse_args()
    path = ROOT / args.build / "test-results" / "seconds.json"
    seconds = json.loads(path.read_text()) if path.exists() else {}
    names, alone = collect(ROOT / args.build)
    unknown = [name for name in names if name not in seconds]
    if unknown:
        print(
            f"classify_tests: {len(unknown)} of {len(names)} tests were never measured in "
            f"{args.build}; run `make test` and `make check-all PART=long`. The first: "
            + ", ".join(unknown[:5]),
            file=sys.stderr,
        )
        return 1
    cost = {name: seconds[name] * (LANES if name in alone else 1) for name in names}
    setup = {file: seconds.get(file, 0.0) for file in {file_of(n) for n in names if "::" in n}}
    must, lost = cover(names, cost, guards.load())
    if lost:
        print("classify_tests: no test shows: " + "; ".join(lost), file=sys.stderr)
        return 1
    short, spent = choose(cost, setup, must, LANES * args.seconds)
    long = [name for name in names if name not in short]
    write(ROOT / "tests" / "long.txt", long, seconds)
    held = sum(cost[name] for name in must)
    print(f"for the guards: {len(must)} tests, {held / LANES:.0f} s with {LANES} at a time")
    print(f"short: {len(short)} tests, {spent / LANES:.0f} s")
    print(f"long: {len(long)} tests, {sum(cost[n] for n in long) / LANES:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
