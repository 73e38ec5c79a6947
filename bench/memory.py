#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Memory against the number of peers, as figure 10 of the K computer's MPI paper has it (Sumimoto
et al.): processes of one host exchange with everybody by simple spread, over shared memory with
inboxes only (memory saving), with a ring for every pair (fast), and with so many rings at most.

Prints a table (median over the processes) and, with --plot, draws it.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

from place import free_port

from waitio import plotstyle

HERE = Path(__file__).resolve().parent
LIMIT_S = 300
MODES = {
    "saving only": {"WAITIO_SHM_RINGS": "0"},
    "capped at 16 rings": {"WAITIO_SHM_RINGS": "16", "WAITIO_SHM_PROMOTE": "2"},
    "fast only": {"WAITIO_SHM_RINGS": "65535", "WAITIO_SHM_PROMOTE": "0"},
    "default": {},
    "TCP": {"WAITIO_COMM_TYPE": "socket"},
}


def one_run(build, n, mode, rounds, home):
    env = {k: v for k, v in os.environ.items() if not k.startswith("WAITIO_")}
    env.update(
        HOME=home,
        WAITIO_MASTER_HOST="127.0.0.1",
        WAITIO_MASTER_PORT=str(free_port()),
        WAITIO_PBID="0",
        WAITIO_NPB="1",
        WAITIO_NPROCS=str(n),
        WAITIO_JOB_ID=uuid.uuid4().hex[:12],
        WAITIO_COMM_TYPE="shm",
    )
    env.update(MODES[mode])
    command = [str(build / "bench" / "bench_memory"), str(rounds)]
    procs = [
        subprocess.Popen(
            command,
            env={**env, "WAITIO_RANK": str(r)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        for r in range(n)
    ]
    try:
        rows = [json.loads(p.communicate(timeout=LIMIT_S)[0]) for p in procs]
    finally:
        for p in procs:
            if p.poll() is None:
                p.kill()
                p.wait()
    keys = ("link_bytes", "shm_bytes", "rings")
    whole = [r["link_bytes"] + r["shm_bytes"] for r in rows]
    return {
        **{key: statistics.median(r[key] for r in rows) for key in keys},
        **{"median": statistics.median(whole), "least": min(whole), "most": max(whole)},
    }


def too_much(n, mode):
    """A ring is 0.6 MiB; leave the machine some memory."""
    with open("/proc/meminfo") as info:
        free = next(int(line.split()[1]) for line in info if line.startswith("MemAvailable"))
    return mode == "fast only" and n * n * 640 > free // 2


def draw(results, path):
    """Medians over the processes; the band reaches from the least to the largest of them."""
    pyplot = plotstyle.pyplot()
    figure, axes = pyplot.subplots(figsize=(8, 4.6), layout="constrained")
    seen = []
    dashes = ("-", "-", "-", "--", "-")  # the default lies on another curve
    for mode, color, ls in zip(MODES, plotstyle.COLORS, dashes):
        points = sorted((n, r) for (n, m), r in results.items() if m == mode)
        peers = [n - 1 for n, _ in points]
        bands = [[r[key] for _, r in points] for key in ("median", "least", "most")]
        plotstyle.curve(axes, peers, *bands, color=color, ls=ls, label=mode)
        seen += peers
    axes.set(xscale="log", yscale="log", xlabel="peers exchanged with (simple spread)")
    axes.set_yscale("log", base=2)
    axes.set_xticks(sorted(set(seen)), labels=[str(n) for n in sorted(set(seen))])
    axes.set_xticks([], minor=True)
    low, high = (math.log2(one) for one in axes.get_ylim())
    plotstyle.size_axis(axes.yaxis, [2**k for k in range(math.ceil(low), math.floor(high) + 1)])
    axes.set_ylabel("memory of one process")
    axes.grid(True, which="major", color="#dddddd", lw=0.8)
    plotstyle.names_above(figure, axes, len(MODES))
    plotstyle.save(figure, path)


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--build", type=Path, default=HERE.parent / "build" / "release")
    p.add_argument("--counts", default="2,4,8,16,32,64", help="processes, comma list")
    p.add_argument("--rounds", type=int, default=24, help="exchanges with everybody")
    p.add_argument("--json", type=Path)
    p.add_argument("--plot", type=Path, help="needs matplotlib")
    args = p.parse_args()
    if args.plot and not plotstyle.available():
        p.error("--plot needs matplotlib (pip install matplotlib, or python3-matplotlib)")
    results = {}
    print("| processes | mode | links, KiB | shared memory made, MiB | rings read |")
    print("|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as home:
        for n in (int(word) for word in args.counts.split(",")):
            for mode in MODES:
                if too_much(n, mode):
                    print(f"{mode} with {n} processes: too little memory", file=sys.stderr)
                    continue
                r = results[n, mode] = one_run(args.build, n, mode, args.rounds, home)
                print(
                    f"| {n} | {mode} | {r['link_bytes'] / 1024:.1f} "
                    f"| {r['shm_bytes'] / 2**20:.2f} | {r['rings']:.0f} |",
                    flush=True,
                )
    if args.json:
        rows = [{"processes": n, "mode": m, **r} for (n, m), r in results.items()]
        args.json.write_text(json.dumps(rows, indent=1))
    if args.plot:
        draw(results, args.plot)


if __name__ == "__main__":
    main()
