#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What Python costs: the ping-pong of pt2pt.py beside that of bench_pt2pt.c, interleaved.

    compare.py --build build/release [--type socket] [--type shm] [--rounds 5] [--json FILE]

The interpreter that runs this must have the package `waitio` (pip install .).
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from waitio.ports import free_port

HERE = pathlib.Path(__file__).resolve().parent
TARGET_S = 1.5e-6  # what 8 bytes may take longer than in C


def run(programs: list[list[str]], kind: str) -> dict[tuple[str, int], float]:
    """Run two programs as the two blocks of a universe; return what the first printed."""
    port = free_port()
    with tempfile.TemporaryDirectory() as home:
        cast = []
        for pb, words in enumerate(programs):
            place = {
                "WAITIO_PBID": pb,
                "WAITIO_NPB": 2,
                "WAITIO_RANK": 0,
                "WAITIO_NPROCS": 1,
                "WAITIO_MASTER_HOST": "127.0.0.1",
                "WAITIO_MASTER_PORT": port,
                "WAITIO_JOB_ID": f"bench-{port}",
                "WAITIO_COMM_TYPE": kind,
                "HOME": home,
            }
            env = {**os.environ, **{k: str(v) for k, v in place.items()}}
            cast.append(subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True))
        try:
            out = cast[0].communicate(timeout=300)[0]
            cast[1].communicate(timeout=60)
        finally:
            for process in cast:
                if process.poll() is None:
                    process.kill()
                    process.wait()
        if any(process.returncode for process in cast):
            raise SystemExit(f"{programs}: {[process.returncode for process in cast]}")
    rows = [json.loads(line) for line in out.splitlines() if '"metric"' in line]
    return {(row["metric"], row["bytes"]): row["value"] for row in rows}


def measure(args: argparse.Namespace, kind: str) -> dict[str, dict[tuple[str, int], float]]:
    """Return the medians over the rounds, of each way to run."""
    numbers = [str(args.scale), str(args.max)]

    def c(cpu: int) -> list[str]:
        return [str(args.build / "bench" / "bench_pt2pt"), str(cpu), *numbers]

    def python(cpu: int, calls: str = "buffers") -> list[str]:
        return [sys.executable, str(HERE / "pt2pt.py"), str(cpu), *numbers, calls]

    ways = {
        "C": [c(0), c(1)],
        "Python": [python(0), python(1)],
        "objects": [python(0, "objects"), python(1, "objects")],
    }
    found: dict[str, list[dict[tuple[str, int], float]]] = {name: [] for name in ways}
    for _ in range(args.rounds):
        for name, programs in ways.items():
            found[name].append(run(programs, kind))
    return {
        name: {key: statistics.median(row[key] for row in rows) for key in rows[0]}
        for name, rows in found.items()
    }


def table(kind: str, result: dict[str, dict[tuple[str, int], float]]) -> None:
    """Print one transport."""
    print(f"\n{kind}: half round trip in us (and the difference to C)")
    print(f"{'bytes':>10} {'C':>10} {'Python':>10} {'more':>8} {'objects':>10}")
    for (metric, size), c in result["C"].items():
        if metric != "half_rtt":
            continue
        python = result["Python"][metric, size]
        objects = result["objects"][metric, size]
        more = (python - c) * 1e6
        print(
            f"{size:>10} {c * 1e6:>10.2f} {python * 1e6:>10.2f} {more:>8.2f} {objects * 1e6:>10.2f}"
        )
    rate = "rate", 8
    if rate in result["C"] and rate in result["Python"]:
        print(
            f"messages of 8 B per second: C {result['C'][rate]:.3g}, "
            f"Python {result['Python'][rate]:.3g}"
        )
    small = "half_rtt", 8
    more_s = result["Python"][small] - result["C"][small]
    verdict = "within" if more_s <= TARGET_S else "beyond"
    print(
        f"8 B: {more_s * 1e6:.2f} us more than C, {verdict} the target of {TARGET_S * 1e6:.1f} us"
    )


def main() -> None:
    """Read the options, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument(
        "--type", action="append", dest="types", help="WAITIO_COMM_TYPE; repeatable"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=int, default=1, help="divide the numbers of trips")
    parser.add_argument("--max", type=int, default=0, help="largest message in bytes; 0: 64 MiB")
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    whole = {}
    for kind in args.types or ["socket", "shm"]:
        result = measure(args, kind)
        table(kind, result)
        whole[kind] = {
            name: [{"metric": m, "bytes": b, "value": v} for (m, b), v in rows.items()]
            for name, rows in result.items()
        }
    if args.json:
        args.json.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
