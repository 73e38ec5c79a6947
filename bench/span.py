#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measure what the span library costs inside one job: the same program with it and without.

Every round runs the bare program and the program with the library in front of its MPI once for each
operation; a ratio is formed within a round, and the table shows the median over the rounds with the
quartiles.

  bench/span.py                          Open MPI and MPICH, two processes
  bench/span.py --mpi mpich --rounds 9 --rr
  bench/span.py --turns --rounds 61 --rr both ways by turns in one process (span_turns.c)
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CASES = (
    ("rank", 0),
    ("latency", 8),
    ("latency", 65536),
    ("bandwidth", 8),
    ("bandwidth", 65536),
    ("bandwidth", 4194304),
    ("bcast", 8),
    ("bcast", 65536),
    ("allreduce", 8),
    ("allreduce", 65536),
)
ROOT_ENV = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def build(mpi, folder, name="span_local"):
    exe = folder / f"{name}.{mpi}"
    words = [f"mpicc.{mpi}", "-O2", "-o", str(exe), str(HERE / f"{name}.c")]
    subprocess.run(words, check=True)
    return str(exe)


def launch(args, mpi, span, program):
    """One process group; returns its words and the finished process."""
    words = [args.waitio, "run", "--timeout", "120s"]
    words += ["--span"] if span else []
    words += ["--tagging", "none", "-n", str(args.procs), "--mpi", mpi]
    words += ["chrt", "-r", "1"] if args.rr else []
    words += program
    env = {**os.environ, **ROOT_ENV}
    return words, subprocess.run(words, env=env, capture_output=True, text=True, check=False)


def run(args, mpi, exe, case, span):
    """Returns seconds for each operation."""
    words, done = launch(args, mpi, span, [exe, str(args.seconds), case[0], str(case[1])])
    for word in done.stdout.split():
        try:
            return float(word)
        except ValueError:
            continue
    sys.exit(f"no result of {' '.join(words)}:\n{done.stdout}{done.stderr}")


def take_turns(args, mpi, folder):
    """Both ways in one process."""
    exe = build(mpi, folder, "span_turns")
    words, done = launch(args, mpi, True, [exe, str(args.rounds)])
    if done.returncode != 0:
        sys.exit(f"{' '.join(words)} failed:\n{done.stdout}{done.stderr}")
    for line in done.stdout.splitlines():
        print(f"{mpi:8s} {line.removeprefix('[chrt] ')}", flush=True)


def show(mpi, case, bare, ratios):
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    time = statistics.median(bare) * 1e6
    print(
        f"{mpi:8s} {case[0]:10s} {case[1]:8d} B  bare {time:10.3f} us"
        f"  with span x{middle:.3f} ({low:.3f} .. {high:.3f})",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--mpi", default="openmpi,mpich")
    parser.add_argument("--procs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each run")
    parser.add_argument("--rr", action="store_true", help="with real-time priority")
    parser.add_argument("--turns", action="store_true", help="both ways by turns in one process")
    parser.add_argument("--waitio", default=str(HERE.parent / "build/release/bin/waitio"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for mpi in args.mpi.split(","):
            if shutil.which(f"mpicc.{mpi}") is None:
                print(f"{mpi}: no mpicc.{mpi}")
                continue
            if args.turns:
                take_turns(args, mpi, Path(name))
                continue
            exe = build(mpi, Path(name))
            for case in CASES:
                bare, ratios = [], []
                for number in range(args.rounds):
                    order = (False, True) if number % 2 == 0 else (True, False)
                    found = {span: run(args, mpi, exe, case, span) for span in order}
                    bare.append(found[False])
                    ratios.append(found[True] / found[False])
                show(mpi, case, bare, ratios)


if __name__ == "__main__":
    main()
