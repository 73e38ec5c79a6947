#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measure collectives across two blocks against Open MPI's in one job over shared memory.

Every round runs WaitIO (the processes of two blocks, started separately) and Open MPI (one job)
once for each number of processes; a ratio is formed within a round, and the table shows the median
over the rounds with the spread.

  bench/coll.py                         Bcast, Reduce, Allreduce at 2, 4, 8 processes
  bench/coll.py --ops barrier,alltoall,allgather,gather,scatter --sizes 8,256,65536
  bench/coll.py --papers                8 B against our own 2l and bt over TCP, 8 processes
  bench/coll.py --rows --procs 4        every algorithm of the table, forced
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
from place import HERE, block_envs, parse, run_all, run_one
from run import cell, ratios

KINDS = ("bcast", "reduce", "allreduce")
SIZES = (8, 256, 65536, 8388608)
PEER = "Open MPI"


def words_of(a, ops, sizes):
    """Arguments of bench_coll."""
    return [
        f"ops={','.join(ops)}",
        f"sizes={','.join(map(str, sizes))}",
        f"ms={a.ms}",
        f"root={a.root}",
        f"apart={int(a.apart)}",
        f"pin={int(a.pin)}",
    ]


class Runs:
    """The two sides of the comparison."""

    def __init__(self, args, folder):
        self.args = args
        self.prefix = ["chrt", "-r", "1"] if args.rr else []
        self.folder = Path(folder)
        self.mpiexec = shutil.which("mpiexec.openmpi")
        self.peer = self._build() if self.mpiexec else None

    def _build(self):
        cc = shutil.which("mpicc.openmpi")
        if cc is None:
            return None
        exe = self.folder / "peer_coll"
        source = str(HERE / "bench_coll.c")
        words = [cc, "-O2", "-D_GNU_SOURCE", "-DBENCH_MPI", "-o", str(exe), source]
        subprocess.run(words, check=True)
        return str(exe)

    def waitio(self, procs, ops, sizes, extra=None):
        """Two blocks of half the processes each, started one by one."""
        exe = str(self.args.build / "bench" / "bench_coll")
        envs = block_envs(self.folder, [procs // 2] * 2, extra)
        commands = [[*self.prefix, exe, *words_of(self.args, ops, sizes)]] * procs
        return parse(run_all(commands, envs))

    def bare(self, procs, ops):
        """Counters in shared memory in the place of messages: the least that waiting costs."""
        exe = str(self.args.build / "bench" / "floor_coll")
        words = [f"procs={procs}", f"ops={','.join(ops)}", f"ms={self.args.ms}"]
        return parse(run_one([*self.prefix, exe, *words], {}))

    def open_mpi(self, procs, ops, sizes):
        words = [self.mpiexec, "-n", str(procs), "--bind-to", "none"]
        words += ["--mca", "pml", "ob1", "--mca", "btl", "vader,self"]
        if procs > (os.cpu_count() or 1):
            words += ["--mca", "mpi_yield_when_idle", "1"]
        words += [*self.prefix, self.peer, *words_of(self.args, ops, sizes)]
        return parse(run_one(words, ROOT_ENV))


def rows_of(kind):
    """The algorithms of a kind, from the table that chooses."""
    text = (HERE.parent / "src" / "mpi" / "collectives" / "select.c").read_text()
    return re.findall(rf'\{{WIO_{kind.upper()}, "(\w+)"', text)


def interleaved(runs, rounds, what):
    found = []
    for i in range(rounds):
        found.append({name: run() for name, run in runs.items()})
        print(f"{what}: round {i + 1} of {rounds} done", file=sys.stderr)
    return found


def time_text(seconds):
    return f"{seconds * 1e6:.2f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def label(key):
    return f"{key[0]}, {draw.plotstyle.size(key[1])}" if key[0] != "barrier" else "barrier"


def table(rounds, base, first):
    """@p first in its unit and as a ratio to the base; the others as ratios only."""
    names = [n for n in rounds[0] if n != base]
    lines = [
        f"| operation | {base} | " + " | ".join(names) + " |",
        "|---" * (len(names) + 2) + "|",
    ]
    for key in rounds[0][base]:
        cells = [time_text(statistics.median(r[base][key] for r in rounds))]
        for n in names:
            values = cell(ratios(rounds, n, key, base))
            if n == first:
                values = time_text(statistics.median(r[n][key] for r in rounds)) + ", " + values
            cells.append(values)
        lines.append(f"| {label(key)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def compare(args, runs):
    """WaitIO against Open MPI for each number of processes."""
    found = {}
    for procs in args.procs:
        sides = {"WaitIO": lambda p=procs: runs.waitio(p, args.ops, args.sizes)}
        if runs.peer:
            sides[PEER] = lambda p=procs: runs.open_mpi(p, args.ops, args.sizes)
        found[procs] = interleaved(sides, args.rounds, f"{procs} processes")
        print(f"\n{procs} processes\n")
        print(table(found[procs], PEER if runs.peer else "WaitIO", "WaitIO"))
    return found


def papers(args, runs):
    """Ours as it comes against the two of the papers over TCP, and the floor of all."""
    sides = {"WaitIO": lambda: runs.waitio(8, args.ops, [8])}
    for name in ("2l", "bt"):
        extra = {f"WAITIO_COLL_{k.upper()}": name for k in KINDS}
        extra["WAITIO_COMM_TYPE"] = "socket"
        sides[f"{name} over TCP"] = lambda e=extra: runs.waitio(8, args.ops, [8], e)
    if set(args.ops) <= set(KINDS) and not args.apart:
        sides["bare counters"] = lambda: runs.bare(8, args.ops)
    found = {8: interleaved(sides, args.rounds, "8 processes")}
    print("\n8 processes; the others take that many times as long\n")
    print(table(found[8], "WaitIO", "WaitIO"))
    return found


def rows(args, runs):
    """Every algorithm forced; the table of one kind after the other."""
    found = {}
    for procs in args.procs:
        for op in args.ops:
            variable = f"WAITIO_COLL_{op.upper()}"
            sides = {"auto": lambda p=procs, o=op: runs.waitio(p, [o], args.sizes)}
            for name in rows_of(op):
                sides[name] = lambda p=procs, o=op, e={variable: name}: runs.waitio(
                    p, [o], args.sizes, e
                )
            found[f"{op} {procs}"] = one = interleaved(sides, args.rounds, f"{op}, {procs}")
            print(f"\n{op}, {procs} processes\n")
            print(table(one, "auto", "auto"))
    return found


def numbers(text):
    return [int(n) for n in text.split(",")]


def arguments():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--build", type=Path, default=HERE.parent / "build" / "release")
    p.add_argument("--ops", type=lambda t: t.split(","), default=list(KINDS))
    p.add_argument("--sizes", type=numbers, default=list(SIZES))
    p.add_argument("--procs", type=numbers, default=[2, 4, 8])
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--ms", type=float, default=30, help="length of a batch")
    p.add_argument("--root", choices=("turn", "0"), default="turn", help="who is the root")
    p.add_argument("--apart", action="store_true", help="a barrier behind each, not counted (OSU)")
    p.add_argument("--no-pin", dest="pin", action="store_false", help="leave processors free")
    p.add_argument("--papers", action="store_true", help="only: against 2l and bt over TCP")
    p.add_argument("--rows", action="store_true", help="only: every algorithm, forced")
    p.add_argument("--rr", action="store_true", help="round-robin real-time scheduling (root)")
    p.add_argument("--json", type=Path, help="write all values there")
    args = p.parse_args()
    if any(n < 2 or n % 2 for n in args.procs):
        p.error("--procs: two blocks of equal size need an even number of processes")
    return args


def plain(found):
    """Rounds with keys that JSON has."""
    return {
        str(what): [
            {n: [{"op": k[0], "bytes": k[1], "value": v} for k, v in r[n].items()] for n in r}
            for r in rounds
        ]
        for what, rounds in found.items()
    }


def main():
    args = arguments()
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(args, folder)
        if not runs.peer:
            print("note: no mpicc.openmpi and mpiexec.openmpi", file=sys.stderr)
        mode = papers if args.papers else rows if args.rows else compare
        try:
            found = mode(args, runs)
        except (RuntimeError, subprocess.SubprocessError) as error:
            sys.exit(f"bench: {error}")
    if args.json:
        args.json.write_text(json.dumps(plain(found), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
