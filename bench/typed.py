#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measure messages of a type with holes against packing by hand and a plain message.

Every other double of an array goes from one block to another and back. In every round each library
measures its own three ways in turn; a ratio is formed within a round, and the table shows the
median over the rounds with the spread. MPIs run as one job over shared memory.

  bench/typed.py                        shared memory, beside what is found of Open MPI and MPICH
  bench/typed.py --transport tcp
"""

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from peers import ROOT_ENV
from place import HERE, Place, parse, run_one, waitio_pair
from run import cell, draw, ratios

MPIS = {"Open MPI": "openmpi", "MPICH": "mpich"}


def build_mpi(flavour, folder):
    """bench_types.c for an MPI and how to start it; None: it is not here."""
    cc, mpiexec = shutil.which(f"mpicc.{flavour}"), shutil.which(f"mpiexec.{flavour}")
    if cc is None or mpiexec is None:
        return None
    exe = str(Path(folder) / flavour)
    words = [cc, "-O2", "-D_GNU_SOURCE", "-DBENCH_MPI", "-o", exe, str(HERE / "bench_types.c")]
    subprocess.run(words, check=True)
    return [mpiexec, "-n", "2", exe]


def split(values):
    """The ways of one run as things that are compared: {way: {bytes: seconds}}."""
    found = {}
    for (way, size), seconds in ((k, v) for k, v in values.items() if k != "transport"):
        found.setdefault(way, {})[size] = seconds
    return found


def measure(args, place, folder):
    words = [f"sizes={args.sizes}", f"ms={args.ms}"]
    exe = str(args.build / "bench" / "bench_types")
    runs = {"WaitIO": lambda: parse(waitio_pair(args, place, [[exe, *words]] * 2))}
    for name, flavour in MPIS.items() if args.transport == "shm" else ():
        start = build_mpi(flavour, folder)
        if start is not None:
            command = [*place.prefix, *start, *words]
            runs[name] = lambda command=command: parse(run_one(command, ROOT_ENV))
    rounds = []
    for i in range(args.rounds):
        rounds.append({name: split(run()) for name, run in runs.items()})
        print(f"round {i + 1} of {args.rounds} done", file=sys.stderr)
    return rounds


def table(rounds, sizes):
    names = list(rounds[0])
    heads = [f"{n}: typed / by hand" for n in names] + [f"WaitIO / {n}" for n in names[1:]]
    lines = ["| | by hand | " + " | ".join(heads) + " |", "|---" * (len(heads) + 2) + "|"]
    for size in sizes:
        hand = statistics.median(r["WaitIO"]["hand"][size] for r in rounds)
        cells = [cell(ratios([r[name] for r in rounds], "typed", size, "hand")) for name in names]
        typed = [{name: r[name]["typed"] for name in names} for r in rounds]
        cells += [cell(ratios(typed, "WaitIO", size, name)) for name in names[1:]]
        text = draw.plotstyle.size(size)
        lines.append(f"| {text} | {hand * 1e6:.2f} us | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def arguments():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--build", type=Path, default=HERE.parent / "build" / "release")
    p.add_argument("--transport", choices=("tcp", "shm"), default="shm")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--sizes", default="64,1024,65536,1048576,8388608", help="bytes of data")
    p.add_argument("--ms", type=int, default=30, help="milliseconds of a batch")
    p.add_argument("--cc", default="cubic", help="congestion control over TCP")
    p.add_argument("--rr", action="store_true", help="real-time scheduling (root)")
    args = p.parse_args()
    if args.rounds < 1 or args.ms < 1:
        p.error("--rounds and --ms are 1 or more")
    return args


def main():
    args = arguments()
    place = Place(one_core=False, netns=False, fifo=False)
    place.prefix = ["chrt", "-r", "1"] if args.rr else []
    with tempfile.TemporaryDirectory() as folder:
        rounds = measure(args, place, folder)
    print(table(rounds, [int(size) for size in args.sizes.split(",")]))


if __name__ == "__main__":
    main()
