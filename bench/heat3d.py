#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""heat3d as two blocks of one process each against one Open MPI job on the same processors.

Rounds alternate; times are those of the slowest process, split as the program prints them. The
table shows medians over the rounds and, for WaitIO, the ratio within a round.

  bench/heat3d.py --cells 32 --rounds 9
  bench/heat3d.py --cells 16,32,48 --plot heat3d.svg
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import draw
from peers import ROOT_ENV
from place import HERE, block_envs, run_all, run_one, taskset

PARTS = ("assembly", "send/recv", "allreduce", "computing", "solver")
SHOWN = ("send/recv", "allreduce", "computing")  # what the solver consists of
MPI, WAITIO = "Open MPI", "WaitIO"


def seconds(text):
    """{part: seconds of the slowest process} and the iterations."""
    found = {}
    for part in PARTS:
        row = re.search(rf"^{re.escape(part)} +([\d.]+) +([\d.]+)$", text, re.M)
        if row is None:
            raise RuntimeError(f"heat3d printed no line {part}")
        found[part] = float(row[2])
    found["iterations"] = int(re.search(r"^iterations +(\d+)$", text, re.M)[1])
    return found


class Runs:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.prefix = ["chrt", "-f", "1"] if args.fifo else []
        self.mpiexec = shutil.which("mpiexec.openmpi")
        if not self.mpiexec or not self._program("openmpi").exists():
            raise RuntimeError("heat3d_openmpi is not built, or there is no mpiexec.openmpi")

    def _program(self, name):
        return self.args.build / "bin" / f"heat3d_{name}"

    def _words(self, name, cells, rank):
        size = [f"{axis}={cells}" for axis in ("nx", "ny", "nz")]
        cpu = rank % (os.cpu_count() or 1)
        return [*self.prefix, *taskset(cpu, [str(self._program(name)), *size, "partition=rcb"])]

    def waitio(self, cells):
        commands = [self._words("waitio", cells, rank) for rank in range(2)]
        return seconds(run_all(commands, block_envs(self.folder, [1, 1])))

    def open_mpi(self, cells):
        words = [self.mpiexec, "--bind-to", "none", "--mca", "pml", "ob1"]
        words += ["--mca", "btl", "vader,self"]
        for rank in range(2):
            words += [":"] if rank else []
            words += ["-n", "1", *self._words("openmpi", cells, rank)]
        return seconds(run_one(words, ROOT_ENV))


def measure(args, runs):
    found = {}
    for cells in args.cells:
        found[cells] = []
        for i in range(args.rounds):
            found[cells].append({MPI: runs.open_mpi(cells), WAITIO: runs.waitio(cells)})
            print(f"{cells} cells: round {i + 1} of {args.rounds} done", file=sys.stderr)
        if len({r[n]["iterations"] for r in found[cells] for n in r}) != 1:
            raise RuntimeError("the two sides needed different numbers of iterations")
    return found


def median(rounds, name, part):
    return statistics.median(r[name][part] for r in rounds)


def table(found):
    lines = [
        "| mesh | part | Open MPI | WaitIO | ratio |",
        "|---|---|---|---|---|",
    ]
    for cells, rounds in found.items():
        for part in PARTS:
            values = sorted(r[WAITIO][part] / r[MPI][part] for r in rounds if r[MPI][part] > 0)
            ratio = f"x{statistics.median(values):.2f} ({values[0]:.2f}-{values[-1]:.2f})"
            times = [f"{1e3 * median(rounds, n, part):.2f} ms" for n in (MPI, WAITIO)]
            lines.append(f"| {cells}³ | {part} | {times[0]} | {times[1]} | {ratio} |")
    return "\n".join(lines)


def plot(found, path):
    """The solver's parts, stacked: medians, with the least and the largest whole of all rounds."""
    pyplot = draw.plotstyle.pyplot()
    figure, all_axes = pyplot.subplots(
        1, len(found), figsize=(3.9 * len(found), 4), layout="constrained", squeeze=False
    )
    for axes, (cells, rounds) in zip(all_axes[0], found.items()):
        names = (MPI, WAITIO)
        parts = [(part, [1e3 * median(rounds, n, part) for n in names]) for part in SHOWN]
        draw.plotstyle.stacks(axes, names, parts)
        for at, name in enumerate(names):
            whole = [1e3 * sum(r[name][part] for part in SHOWN) for r in rounds]
            axes.vlines(at, min(whole), max(whole), color=draw.plotstyle.BLACK, lw=1.2)
            if draw.plotstyle.busy([(statistics.median(whole), statistics.mean(whole))]):
                draw.plotstyle.note_busy(axes)
        axes.set_title(f"{cells}³ cells, {rounds[0][MPI]['iterations']} iterations")
    all_axes[0][0].set_ylabel("solver (ms)")
    figure.suptitle(draw.processor(), fontsize=10)
    draw.plotstyle.save(figure, path)


def arguments():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--build", type=Path, default=HERE.parent / "build" / "release")
    p.add_argument("--cells", type=lambda t: [int(n) for n in t.split(",")], default=[16, 32, 48])
    p.add_argument("--rounds", type=int, default=7)
    p.add_argument("--fifo", action="store_true", help="real-time scheduling (root)")
    p.add_argument("--json", type=Path, help="write all values there")
    p.add_argument("--plot", type=Path, help="draw the parts there (needs matplotlib)")
    args = p.parse_args()
    if args.plot and not draw.available():
        p.error("--plot needs matplotlib (pip install matplotlib, or python3-matplotlib)")
    return args


def main():
    args = arguments()
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = measure(args, Runs(args, folder))
        except (RuntimeError, subprocess.SubprocessError) as error:
            sys.exit(f"bench: {error}")
    print(table(found))
    if args.plot:
        plot(found, args.plot)
    if args.json:
        args.json.write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
