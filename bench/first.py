# SPDX-License-Identifier: BSD-3-Clause
"""What do the first messages of a pair of processes cost, beside its later ones? Of every program
a fresh pair for each size: the first 1,000 round trips after one of 8 bytes, then batches."""

import os
import statistics

import draw
import placement

COUNT = 1000
SIZES = (8, 1024, 4096, 8192, 16384, 65536)


def one_size(runs, size):
    """{name: (seconds of the first, of the later ones)}; without those that cannot."""
    os.environ.update(BENCH_BYTES=str(size), BENCH_FIRST=str(COUNT))
    try:
        found = {name: run() for name, run in runs.items()}
    finally:
        del os.environ["BENCH_BYTES"], os.environ["BENCH_FIRST"]
    return {
        name: (values["first", size], values["half_rtt", size])
        for name, values in found.items()
        if ("first", size) in values
    }


def table(rounds):
    names = list(next(iter(rounds[0].values())))
    lines = [
        f"| first {COUNT} messages, and x of later ones | " + " | ".join(names) + " |",
        "|---" * (len(names) + 1) + "|",
    ]
    for size in rounds[0]:
        cells = []
        for name in names:
            pairs = [r[size][name] for r in rounds]
            first = statistics.median(first for first, _ in pairs)
            times = sorted(first / later for first, later in pairs)
            spread = f"({times[0]:.2f}-{times[-1]:.2f})"
            cells.append(f"{first * 1e6:.2f} us, x{statistics.median(times):.2f} {spread}")
        lines.append(f"| {draw.plotstyle.size(size)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def report(args, place, runs):
    """Measure and print; returns the rounds for the JSON file."""
    rounds = placement.Rounds(args, place)
    sizes = [size for size in SIZES if not args.max or size <= args.max]
    rounds.make(lambda: {size: one_size(runs, size) for size in sizes})
    for which, some in rounds.of.items():
        if which:
            print(rounds.heading(which))
        print(table(some))
    return [
        {str(size): found for size, found in one.items()}
        for some in rounds.of.values()
        for one in some
    ]
