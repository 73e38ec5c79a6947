#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""heat3d four ways from one source: one job, conversion library, hybrid communicators, span.

The first is one job of Open MPI; the others are two programs, the first under Open MPI, the second
under MPICH. Rounds alternate; the table shows medians of the slowest process. All ways have to give
the same number of iterations and the same norm; else the exit status is 1.

  bench/heat3d_ways.py --procs 2,1 --cells 24
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from heat3d import HERE, seconds
from peers import ROOT_ENV

MPIS = ("openmpi", "mpich")
SHOWN = ("solver", "send/recv", "allreduce", "computing")


class Ways:
    """The commands, as a user would type them."""

    def __init__(self, args):
        self.bin = args.build / "bin"
        self.procs = args.procs
        self.words = [f"{axis}={args.cells}" for axis in ("nx", "ny", "nz")] + ["partition=rcb"]

    def _run(self, *options, program):
        line = [str(self.bin / "waitio"), "run", *options]
        for i, (mpi, count) in enumerate(zip(MPIS, self.procs)):
            line += [":"] if i else []
            line += ["-n", str(count), "--mpi", mpi]
            line += [str(self.bin / program.format(mpi=mpi)), *self.words]
        return line

    def commands(self):
        job = ["mpiexec.openmpi", "--oversubscribe", "-n", str(sum(self.procs))]
        return {
            "one MPI job": [*job, str(self.bin / "heat3d_openmpi"), *self.words],
            "conversion library": self._run(program="heat3d_waitio"),
            "hybrid communicators": self._run(program="heat3d_hybrid_{mpi}"),
            "span": self._run("--span", program="heat3d_{mpi}"),
        }

    def missing(self):
        names = ["heat3d_waitio"] + [f"heat3d_{h}{m}" for h in ("", "hybrid_") for m in MPIS]
        lacks = [n for n in names if not (self.bin / n).exists()]
        return lacks + [f"mpiexec.{m}" for m in MPIS if not shutil.which(f"mpiexec.{m}")]


def answer(command, limit):
    """What one run printed: times, iterations and the norm."""
    env = {**os.environ, **ROOT_ENV}
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=env)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    text = re.sub(r"(?m)^\[[^]]*\] ", "", done.stdout)
    found = seconds(text)
    found["norm"] = float(re.search(r"^norm +(\S+)$", text, re.M)[1])
    return found


def differences(rounds):
    """The ways whose answer is not that of the first one."""
    first = next(iter(rounds[0].values()))
    return [
        name
        for r in rounds
        for name, got in r.items()
        if got["iterations"] != first["iterations"]
        or abs(got["norm"] - first["norm"]) > 1e-12 * first["norm"]
    ]


def table(rounds, cells, procs):
    first = next(iter(rounds[0].values()))
    lines = [
        f"heat3d, {cells}³ elements, {' + '.join(map(str, procs))} processes: "
        f"{first['iterations']} iterations, norm {first['norm']:.12f} by all ways",
        "",
        "| way | " + " | ".join(SHOWN) + " |",
        "|---" * (len(SHOWN) + 1) + "|",
    ]
    for name in rounds[0]:
        times = [statistics.median(r[name][part] for r in rounds) for part in SHOWN]
        lines.append(f"| {name} | " + " | ".join(f"{1e3 * t:.1f} ms" for t in times) + " |")
    return "\n".join(lines)


def arguments():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--build", type=Path, default=HERE.parent / "build" / "release")
    p.add_argument("--procs", type=lambda t: [int(n) for n in t.split(",")], default=[2, 1])
    p.add_argument("--cells", type=int, default=24)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--limit", type=float, default=120, help="seconds for one run")
    args = p.parse_args()
    if len(args.procs) != 2 or min(args.procs) < 1:
        p.error("--procs: two numbers of processes, as in 2,1")
    return args


def main():
    args = arguments()
    ways = Ways(args)
    lacks = ways.missing()
    if lacks:
        sys.exit(f"bench: not found: {', '.join(lacks)}; scripts/setup.sh test installs both MPIs")
    rounds = []
    try:
        for _ in range(args.rounds):
            rounds.append({name: answer(c, args.limit) for name, c in ways.commands().items()})
    except (RuntimeError, subprocess.SubprocessError) as error:
        sys.exit(f"bench: {error}")
    wrong = differences(rounds)
    if wrong:
        sys.exit(f"bench: another answer by: {', '.join(sorted(set(wrong)))}")
    print(table(rounds, args.cells, args.procs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
