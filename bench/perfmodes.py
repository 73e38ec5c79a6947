# SPDX-License-Identifier: BSD-3-Clause
"""Overlap and latency under load: waitio-perf once per round, with each kind of progress."""

import json
import statistics
import sys
import tempfile
from pathlib import Path

from place import waitio_pair

PROGRESS = ("service", "thread")


def run_perf(args, place, mode, progress):
    """One run of waitio-perf between two blocks; the row of its results, and the transport."""
    exe = str(args.build / "bin" / "waitio-perf")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "r.json"
        words = [exe, "--mode", mode, "--quiet"]
        if args.max:
            words += ["--sizes", str(args.max)]
        # Not bound to processors: the progress thread has to find a free one.
        waitio_pair(
            args, place, [[*words, "--json", str(out)], words], {"WAITIO_PROGRESS": progress}
        )
        (run,) = json.loads(out.read_text())["runs"]
    return run["results"][0], run["pairs"][0]["transport"]


def measure(args, place, mode):
    """Rounds of rows by kind of progress."""
    rounds = []
    for i in range(args.rounds):
        found = {}
        for progress in PROGRESS:
            found[progress], found["transport"] = run_perf(args, place, mode, progress)
        rounds.append(found)
        print(f"{mode}: round {i + 1} of {args.rounds} done", file=sys.stderr)
    return rounds


def spread(values, form):
    """Median and, in brackets, least and most."""
    v = sorted(values)
    return f"{form.format(statistics.median(v))} ({form.format(v[0])}-{form.format(v[-1])})"


def overlap_table(rounds):
    size = rounds[0][PROGRESS[0]]["bytes"]
    lines = [
        f"Overlap of {size} bytes over {rounds[0]['transport']}; 1 is perfect, the sum means none.",
        "",
        "| WAITIO_PROGRESS | who computes | transfer | computation | both / longer | both / sum |",
        "|---|---|---|---|---|---|",
    ]
    for progress in PROGRESS:
        for side in ("sender", "receiver"):
            rows = [r[progress][side] for r in rounds]
            cells = [spread([r[k] * 1e3 for r in rows], "{:.2f}") for k in ("transfer", "compute")]
            cells = [f"{c} ms" for c in cells]
            cells += [spread([r[k] for r in rows], "x{:.2f}") for k in ("over_longer", "over_sum")]
            lines.append(f"| {progress} | {side} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def load_table(rounds):
    size = rounds[0][PROGRESS[0]]["bytes"]
    lines = [
        f"8 bytes beside {size} bytes over {rounds[0]['transport']}; half round trips.",
        "",
        "| WAITIO_PROGRESS | | median | 99 % | worst | growth of the median, in times of 256 KiB |",
        "|---|---|---|---|---|---|",
    ]
    for progress in PROGRESS:
        for phase in ("idle", "load"):
            rows = [r[progress][phase] for r in rounds]
            cells = [
                spread([r[f"half_rtt_{k}"] * 1e6 for r in rows], "{:.2f}") + " us"
                for k in ("median", "p99", "worst")
            ]
            grown = [r[progress].get("growth_pieces") for r in rounds]
            known = phase == "load" and None not in grown
            cells.append(spread(grown, "{:.2f}") if known else "")
            lines.append(f"| {progress} | {phase} | " + " | ".join(cells) + " |")
        beside = [r[progress]["bandwidth_beside"] / r[progress]["bandwidth_alone"] for r in rounds]
        lines.append(
            f"| {progress} | bandwidth beside / alone | {spread(beside, 'x{:.2f}')} | | | |"
        )
    return "\n".join(lines)


TABLES = {"overlap": overlap_table, "load": load_table}


def report(args, place, mode):
    """Measure and print; returns the rounds for the JSON file."""
    rounds = measure(args, place, mode)
    print(TABLES[mode](rounds))
    return rounds
