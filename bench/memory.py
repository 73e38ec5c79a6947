#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Memory against the number of peers, as figure 10 of the K computer's MPI paper has it (Sumimoto
et al.): processes of one host exchange with everybody by simple spread, over shared memory with
inboxes only (memory saving), with a ring for every pair (fast), and with so many rings at most.

Prints a table (median over the processes) and, with --plot, draws it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

from place import free_port

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
    return {
        key: statistics.median(r[key] for r in rows) for key in ("link_bytes", "shm_bytes", "rings")
    }


def too_much(n, mode):
    """A ring is 0.6 MiB; leave the machine some memory."""
    with open("/proc/meminfo") as info:
        free = next(int(line.split()[1]) for line in info if line.startswith("MemAvailable"))
    return mode == "fast only" and n * n * 640 > free // 2


def draw(results, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    for mode in MODES:
        points = sorted((n, r) for (n, m), r in results.items() if m == mode)
        axes.plot(
            [n - 1 for n, _ in points],
            [(r["link_bytes"] + r["shm_bytes"]) / 2**20 for _, r in points],
            marker="o",
            label=mode,
        )
    axes.set(
        xlabel="peers exchanged with (simple spread)",
        ylabel="memory per process, MiB",
        yscale="log",
        xscale="log",
    )
    axes.set_title("Memory against the number of peers on one host")
    axes.grid(True, which="both", alpha=0.3)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)


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
