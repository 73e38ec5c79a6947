#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How long weights take: `waitio cpl weights` and CDO read the same two grid files, make the same
weights and write them, in turn, in one run. Both use all cores.

Prints a table: medians, the spread, and the ratio. Without CDO only ours is measured.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from draw import processor

HERE = Path(__file__).resolve().parent
LIMIT_S = 600
# Our method, CDO's operator, source, target. Grids whose edges both take for great circles.
CASES = {
    "conservative": ("gencon", "ico228", "cs416"),
    "conservative, small": ("gencon", "ico72", "cs128"),
    "nearest": ("gennn", "ico228", "cs416"),
    "bilinear": ("genbil", "r1440x720", "cs416"),
}


def seconds(command):
    start = time.perf_counter()
    subprocess.run(
        command, check=True, timeout=LIMIT_S, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    return time.perf_counter() - start


def make_grid(tool, name, folder):
    """A grid file, and for CDO a field on it."""
    grid = folder / f"{name}.nc"
    if not grid.exists():
        subprocess.run([tool, "--grid", name, "-o", grid], check=True)
        if shutil.which("cdo"):
            field = ["cdo", "-s", "-f", "nc", f"-const,1,{grid}", f"{grid}.field"]
            subprocess.run(field, check=True, timeout=LIMIT_S)
    return grid


def one_case(tool, name, folder, rounds):
    operator, *grids = CASES[name]
    source, target = (make_grid(tool, grid, folder) for grid in grids)
    method = name.split(",")[0]
    ours = [tool, source, target, "-m", method, "-o", folder / "ours.nc", "--quiet"]
    theirs = ["cdo", "-s", "-P", str(os.cpu_count()), f"{operator},{target}"]
    theirs += [f"{source}.field", folder / "theirs.nc"]
    times = {"ours": [], "cdo": []}
    for _ in range(rounds):
        times["ours"].append(seconds(ours))
        if shutil.which("cdo"):
            times["cdo"].append(seconds(theirs))
    return times


def cell(times):
    if not times:
        return "-"
    return f"{statistics.median(times):.2f} ({min(times):.2f} .. {max(times):.2f})"


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--build", type=Path, default=HERE.parent / "build" / "release")
    p.add_argument("--cases", default="conservative", help="semicolon list, or all")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--json", type=Path)
    args = p.parse_args()
    cases = list(CASES) if args.cases == "all" else args.cases.split(";")
    unknown = [name for name in cases if name not in CASES]
    if unknown:
        p.error(f"unknown case {unknown[0]}; there are: {'; '.join(CASES)}")
    if not shutil.which("cdo"):
        print("CDO is not installed (Debian: apt-get install cdo): ours only", file=sys.stderr)
    tool = str(args.build / "bin" / "waitio-weights")
    results = {}
    print(f"{processor()}, {os.cpu_count()} cores; seconds: median (least .. most)")
    print("| method | source | target | ours | CDO | CDO / ours |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in cases:
            times = results[name] = one_case(tool, name, Path(folder), args.rounds)
            ratio = "-"
            if times["cdo"]:
                quotient = statistics.median(times["cdo"]) / statistics.median(times["ours"])
                ratio = f"{quotient:.1f}"
            _, source, target = CASES[name]
            row = [name, source, target, cell(times["ours"]), cell(times["cdo"]), ratio]
            print(f"| {' | '.join(row)} |", flush=True)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
