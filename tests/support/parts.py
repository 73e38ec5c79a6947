# SPDX-License-Identifier: BSD-3-Clause
"""The table of long tests, and parts of a suite that take about the same time."""

import pathlib

LONG = pathlib.Path(__file__).resolve().parent.parent / "long.txt"
UNKNOWN_S = 0.5  # a test that the table does not list


def long_tests(path=LONG):
    """Tests that the short suite leaves out: {name as CTest and pytest give it: seconds}."""
    rows = [line.split(None, 1) for line in path.read_text().splitlines()]
    return {row[1]: float(row[0]) for row in rows if len(row) == 2 and not row[0].startswith("#")}


def part_of(units, which):
    """The names of one part.

    @param units  {name: seconds}; all who share the parts give the same
    @param which  "K/N": the K-th of N
    @throws ValueError where that is no part
    """
    part, _, parts = which.partition("/")
    part, parts = int(part), int(parts)
    if not 1 <= part <= parts:
        raise ValueError(f"{which}: there is no such part")
    sums = [0.0] * parts
    chosen = set()
    for name in sorted(units, key=lambda name: (-units[name], name)):
        lightest = sums.index(min(sums))
        sums[lightest] += units[name]
        if lightest == part - 1:
            chosen.add(name)
    return chosen
