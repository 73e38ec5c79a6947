#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measure collectives of hybrid communicators: an MPI inside each block, WaitIO between them.

  bench/hybrid.py            two blocks, Open MPI and MPICH, in two network namespaces (root)
  bench/hybrid.py --mpis openmpi,openmpi    the same with two jobs of Open MPI: MPICH only spins, so
                             its processes need a processor each
  bench/hybrid.py --mbit 1000 --sizes 8388608   over a link of 1 Gbit/s: how much of it is used
  bench/hybrid.py --inside   one block: what a hybrid communicator adds to the bare MPI
  bench/hybrid.py --inside --ops pingpong --procs 2    round trips of messages in it

Every round runs all sides one after the other. The floor of a short collective is the sum of what
it is made of, measured in the same round: the collective of the bare MPI in one block, half a round
trip of a bare TCP connection, the collective of the bare MPI in the other block. `bt over TCP` are
binary trees of WaitIO messages over TCP, the algorithm that the WaitIO papers compare with.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

from coll import interleaved, label, numbers, time_text, words_of
from peers import ROOT_ENV
from place import HERE, Place, block_envs, free_port, parse, run_all, run_one
from run import cell, ratios, run_floor

NAMES = {"openmpi": "Open MPI", "mpich": "MPICH"}
HALF_TRIP = ("half_rtt", 8)
LONG = 256 * 1024  # from here on several processes may share the work


class Sides:
    """What is compared."""

    def __init__(self, args, place, folder):
        self.args, self.place, self.folder = args, place, Path(folder)
        self.rr = ["chrt", "-r", "1"] if args.rr else []
        self.bare = {m: self._build(m, "BENCH_MPI") for m in set(args.mpis)}
        self.hybrid = {m: self._build(m, "BENCH_HYBRID") for m in set(args.mpis)}

    def _build(self, mpi, kind):
        exe = self.folder / f"{kind.lower()}_{mpi}"
        words = [f"mpicc.{mpi}", "-O2", "-D_GNU_SOURCE", f"-D{kind}", "-o", str(exe)]
        words += [str(HERE / "bench_coll.c")]
        if kind == "BENCH_HYBRID":
            lib = str(self.args.build / "lib")
            words += [f"-I{HERE.parent / 'include'}", f"-L{lib}", f"-Wl,-rpath,{lib}"]
            words += [f"-lwaitio_hybrid_{mpi}", "-lwaitio"]
        subprocess.run(words, check=True)
        return str(exe)

    def _job(self, mpi, exe, procs, rank, words):
        """One job: the command that starts it, in the namespace of rank."""
        start = [f"mpiexec.{mpi}", "-n", str(procs)]
        if mpi == "openmpi":
            start += ["--bind-to", "none", "--mca", "pml", "ob1", "--mca", "btl", "vader,self"]
        return self.place.wrap(rank, [*start, *self.rr, exe, *words])

    def _env(self, procs, extra=None):
        env = {**os.environ, **ROOT_ENV, **(extra or {})}
        if procs > (os.cpu_count() or 1):
            env["OMPI_MCA_mpi_yield_when_idle"] = "1"
        return env

    def mpi(self, mpi, rank=0, sizes=None):
        a = self.args
        words = words_of(a, a.ops, sizes or a.sizes)
        command = self._job(mpi, self.bare[mpi], a.procs, rank, words)
        return parse(run_one(command, self._env(a.procs)))

    def across(self, inside, sizes=None, kings="auto"):
        """Both blocks; inside as WAITIO_HYBRID_INSIDE says, kings as WAITIO_HYBRID_KINGS does."""
        a = self.args
        common = {
            "HOME": str(self.folder),
            "WAITIO_MASTER_HOST": self.place.master(),
            "WAITIO_MASTER_PORT": str(free_port()),
            "WAITIO_NPB": "2",
            "WAITIO_JOB_ID": uuid.uuid4().hex[:12],
            "WAITIO_HYBRID_INSIDE": inside,
            "WAITIO_HYBRID_KINGS": kings,
        }
        commands, envs = [], []
        for pb, mpi in enumerate(a.mpis):
            words = words_of(a, a.ops, sizes or a.sizes)
            commands.append(self._job(mpi, self.hybrid[mpi], a.procs, pb, words))
            envs.append(self._env(2 * a.procs, {**common, "WAITIO_PBID": str(pb)}))
        return parse(run_all(commands, envs))

    def inside(self, mpi, way):
        """One block."""
        a = self.args
        extra = {"HOME": str(self.folder), "WAITIO_HYBRID_INSIDE": way, "WAITIO_NPB": "1"}
        extra["WAITIO_INSIDE"] = way if way == "mpi" else "off"  # messages, as the collectives
        extra["WAITIO_JOB_ID"] = uuid.uuid4().hex[:12]
        extra["WAITIO_MASTER_HOST"] = "127.0.0.1"
        extra["WAITIO_MASTER_PORT"] = str(free_port())
        command = self._job(mpi, self.hybrid[mpi], a.procs, 0, words_of(a, a.ops, a.sizes))
        return parse(run_one(command, self._env(a.procs, extra)))

    def trees(self, sizes):
        """Binary trees of messages over TCP, twice as many processes started one by one."""
        a = self.args
        exe = str(a.build / "bench" / "bench_coll")
        extra = {f"WAITIO_COLL_{k.upper()}": "bt" for k in ("bcast", "reduce", "allreduce")}
        extra |= {"WAITIO_COMM_TYPE": "socket", "WAITIO_MASTER_HOST": self.place.master()}
        envs = block_envs(self.folder, [a.procs] * 2, extra)
        words = [*self.rr, exe, *words_of(a, a.ops, sizes)]
        commands = [self.place.wrap(r // a.procs, words) for r in range(2 * a.procs)]
        return parse(run_all(commands, envs))


def with_sums(rounds):
    """The floor: the parts of a collective one after the other."""
    for r in rounds:
        trip = r["TCP"][HALF_TRIP]
        keys = [k for k in r["first block"] if k in r["second block"]]
        r["sum"] = {k: r["first block"][k] + trip + r["second block"][k] for k in keys}
    return rounds


def table(rounds, names, base, key_filter=lambda _: True):
    lines = ["| operation | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for key in rounds[0][base]:
        if not key_filter(key):
            continue
        cells = []
        for n in names:
            values = [r[n][key] for r in rounds if key in r[n]]
            text = time_text(statistics.median(values)) if values else "-"
            if n != base and values:
                text += ", " + cell(ratios(rounds, n, key, base))
            cells.append(text)
        lines.append(f"| {label(key)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def times_of_trees(rounds, keys):
    names = ["hybrid", "messages", "sum"]
    lines = ["| operation | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for key in keys:
        cells = [cell(ratios(rounds, "bt over TCP", key, n)) for n in names]
        lines.append(f"| {label(key)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def floor_args(args):
    scale, largest = (64, max(args.sizes)) if args.mbit else (8, 8)
    return argparse.Namespace(build=args.build, scale=scale, max=largest, cc="cubic")


def shares(rounds, sizes):
    """How much of the border's bandwidth long messages use: bare TCP is all of it."""
    names = ["hybrid", "messages"]
    lines = ["| operation | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for key in rounds[0]["hybrid"]:
        trip = ("half_rtt", key[1])
        if key[1] in sizes and trip in rounds[0]["TCP"]:
            values = [statistics.median(r["TCP"][trip] / r[n][key] for r in rounds) for n in names]
            lines.append(f"| {label(key)} | " + " | ".join(f"{v:.2f}" for v in values) + " |")
    return "\n".join(lines)


def by_kings(args, sides):
    """How long messages do with so many processes of each block at the border."""
    long = [n for n in args.sizes if n >= LONG]
    return {
        f"kings: {k}": lambda k=k: sides.across("mpi", long, str(k)) for k in args.kings if long
    }


def border(args, sides, place):
    kings = by_kings(args, sides)
    runs = {
        "first block": lambda: sides.mpi(args.mpis[0], 0),
        "second block": lambda: sides.mpi(args.mpis[1], 1),
        "TCP": lambda: run_floor("floor_tcp", args.tcp, floor_args(args), place),
        "hybrid": lambda: sides.across("mpi"),
        "messages": lambda: sides.across("messages"),
        "bt over TCP": lambda: sides.trees([n for n in args.sizes if n <= 4096]),
        **kings,
    }
    rounds = with_sums(interleaved(runs, args.rounds, f"2 x {args.procs}"))
    trip = statistics.median(r["TCP"][HALF_TRIP] for r in rounds)
    names = " and ".join(NAMES[m] for m in args.mpis)
    print(
        f"\n2 blocks of {args.procs}, {names}; half a round trip of bare TCP: {time_text(trip)}\n"
    )
    print(table(rounds, ["sum", "hybrid", "messages", "bt over TCP", *kings], "sum"))
    if args.mbit:
        print(f"\nShare of the bandwidth of the link of {args.mbit} Mbit/s\n")
        print(shares(rounds, [n for n in args.sizes if n >= LONG]))
    print("\nTimes of `bt over TCP` over those of the others (the paper's table 10: 7 to 20)\n")
    print(times_of_trees(rounds, list(rounds[0]["bt over TCP"])))


def inside(args, sides):
    for mpi in dict.fromkeys(args.mpis):
        name = NAMES[mpi]
        runs = {
            name: lambda m=mpi: sides.mpi(m),
            "hybrid": lambda m=mpi: sides.inside(m, "mpi"),
            "as chosen": lambda m=mpi: sides.inside(m, "auto"),
        }
        rounds = interleaved(runs, args.rounds, name)
        print(f"\n{args.procs} processes of one {name} job\n")
        print(table(rounds, [name, "hybrid", "as chosen"], name))


def arguments():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--build", type=Path, default=HERE.parent / "build" / "release")
    p.add_argument("--inside", action="store_true", help="one block against its bare MPI")
    p.add_argument("--ops", type=lambda t: t.split(","), default=["bcast", "reduce", "allreduce"])
    p.add_argument("--sizes", type=numbers, default=[8, 256, 65536, 8388608])
    p.add_argument("--mpis", type=lambda t: t.split(","), default=["openmpi", "mpich"])
    p.add_argument("--mbit", type=int, default=0, help="limit the link to this many Mbit/s")
    p.add_argument("--procs", type=int, default=4, help="of each block")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument(
        "--kings", type=numbers, default=[], help="also with so many processes at the border: 1,2,4"
    )
    p.add_argument("--ms", type=float, default=30, help="length of a batch")
    p.add_argument("--root", choices=("turn", "0"), default="turn", help="who is the root")
    p.add_argument("--apart", action="store_true", help="a barrier behind each, not counted (OSU)")
    p.add_argument("--no-pin", dest="pin", action="store_false", help="leave processors free")
    p.add_argument("--tcp", choices=("spin", "block"), default="spin", help="the bare TCP floor")
    p.add_argument("--rr", action="store_true", help="round-robin real-time scheduling (root)")
    args = p.parse_args()
    if len(args.mpis) != 2 or not set(args.mpis) <= set(NAMES):
        p.error(f"--mpis: two of {', '.join(NAMES)}, one for each block")
    return args


def main():
    args = arguments()
    words = [f"mpi{w}.{m}" for m in args.mpis for w in ("cc", "exec")]
    missing = [w for w in words if not shutil.which(w)]
    if missing:
        sys.exit(f"bench: not found: {', '.join(missing)}")
    place = Place(one_core=False, netns=not args.inside, fifo=False, mbit=args.mbit)
    try:
        with tempfile.TemporaryDirectory() as folder:
            sides = Sides(args, place, folder)
            inside(args, sides) if args.inside else border(args, sides, place)
    except (RuntimeError, subprocess.SubprocessError) as error:
        sys.exit(f"bench: {error}")
    finally:
        place.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
