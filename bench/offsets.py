# SPDX-License-Identifier: BSD-3-Clause
"""Does the place of a buffer within its page matter? bench_offsets once per round."""

import json
import statistics
import sys

import draw
from place import waitio_pair


def run_offsets(args, place):
    """One run between two blocks: a row for each size."""
    exe = str(args.build / "bench" / "bench_offsets")
    numbers = [str(args.scale), str(args.max)]
    out = waitio_pair(args, place, [[exe, str(cpu), *numbers] for cpu in place.cpus])
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def table(rounds):
    lines = ["| size | best | worst / best | where the worst was |", "|---|---|---|---|"]
    for same in zip(*rounds):
        ratios = sorted(row["worst"] / row["best"] for row in same)
        best = statistics.median(row["best"] for row in same)
        where = ", ".join(f"{row['from']} to {row['to']}" for row in same)
        middle = f"x{statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})"
        size = draw.plotstyle.size(same[0]["bytes"])
        lines.append(f"| {size} | {best * 1e6:.2f} us | {middle} | {where} |")
    return "\n".join(lines)


def report(args, place):
    """Measure and print; returns the rounds for the JSON file."""
    rounds = []
    for i in range(args.rounds):
        rounds.append(run_offsets(args, place))
        print(f"offsets: round {i + 1} of {args.rounds} done", file=sys.stderr)
    print(table(rounds))
    return rounds
