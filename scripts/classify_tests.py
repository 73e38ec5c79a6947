#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Choose the short suite anew: write tests/long.txt from the times of the last runs.

classify_tests.py [--build build/release] [--c SECONDS] [--python SECONDS]

Every run of scripts/run_tests.py keeps the least time that it saw of each test; run `make test` and
`make check-all` before, on a machine as idle as can be. The short suite gets the quickest tests
whose sum stays within the budgets, and the quickest test of every Python file, whatever it takes;
tests that were never measured stay in it. CTest runs two programs at a time: its budget counts half
of their sum.
"""

import argparse
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEAD = """\
# SPDX-License-Identifier: BSD-3-Clause
# Tests that `make test` leaves out and `make check-all` runs: measured seconds, name.
# Written by scripts/classify_tests.py (make classify-tests); not by hand.
"""


def choose_long(seconds, budget, keep_one):
    """Names of the tests that do not fit: the longest, but for the quickest of each file."""
    left_out = set()
    kept = set()
    if keep_one:
        files = {}
        for name in sorted(seconds, key=seconds.get):
            files.setdefault(name.partition("::")[0], name)
        kept = set(files.values())
    spent = sum(seconds[name] for name in kept)
    for name in sorted(seconds, key=seconds.get):
        if name in kept:
            continue
        spent += seconds[name]
        if spent > budget:
            left_out.add(name)
    return left_out


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release", help="build folder")
    parser.add_argument("--c", type=float, default=60, help="seconds for the C tests")
    parser.add_argument("--python", type=float, default=200, help="seconds for the Python tests")
    args = parser.parse_args()
    path = ROOT / args.build / "test-results" / "seconds.json"
    if not path.exists():
        print(f"{path} is missing: run make test and make check-all first", file=sys.stderr)
        return 1
    seconds = json.loads(path.read_text())
    python = {name: s for name, s in seconds.items() if "::" in name or name.endswith(".py")}
    c = {name: s for name, s in seconds.items() if name not in python}
    long = choose_long(c, 2 * args.c, False) | choose_long(python, args.python, True)
    rows = "".join(f"{seconds[name]:7.1f} {name}\n" for name in sorted(long))
    (ROOT / "tests" / "long.txt").write_text(HEAD + rows)
    for kind, table, half in (("C", c, 2), ("Python", python, 1)):
        out = [name for name in table if name in long]
        short = sum(table[n] for n in table if n not in long) / half
        rest = sum(table[n] for n in out) / half
        print(
            f"{kind}: {len(table) - len(out)} short ({short:.0f} s), {len(out)} long ({rest:.0f} s)"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
