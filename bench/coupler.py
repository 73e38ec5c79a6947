#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measure the coupler: windows of two components against raw bytes, set-up, start.

  bench/coupler.py             2 + 2 processes: windows of 100, 10,000 and 1,000,000 numbers, there
                               and back, remapped to the nearest point, and by four entries a point
  bench/coupler.py --irregular no point's neighbours and coefficients are like those of another
  bench/coupler.py --scatter   each receiver needs points of every sender
  bench/coupler.py --procs 1   1 + 1 processes, each with a processor
  bench/coupler.py --setup     routing of 1,000,000 points at 16 + 16, and start-up

Every round runs all sides one after the other; a ratio is formed within a round. `raw` moves the
bytes of a window, without anything else, between as many pairs of processes at the same time:
a TCP connection each, or a ring in shared memory, polling; `MPI` does by messages of one job. The
processes of the coupler are started apart from each other.
"""

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from coll import interleaved, numbers, time_text
from peers import ROOT_ENV
from place import HERE, LIMIT_S, block_envs, free_port, parse, run_all, taskset
from run import cell, ratios

CONF = """&h3ou_var comp_put='a', comp_get='b', grid_put='ga', grid_get='gb' /
&h3ou_var var_put='va', var_get='ya', intvl=1, lag=1, flag='SNP', layer={layers} /
&h3ou_var comp_put='b', comp_get='a', grid_put='gb', grid_get='ga' /
&h3ou_var var_put='vb', var_get='yb', intvl=1, lag=-1, flag='SNP', layer={layers} /
"""
# Messages without the coupler; with a copy at the put and a plain loop over a table at the get, and
# what the coupler takes against that.
BARE = " bare messages | floor: nearest, coupler | floor: four, coupler |"
ROUTES = {"tcp": "socket", "shm": "shm"}
# One processor for each process: spin; else give it away.
FLOORS = {
    ("tcp", True): ("floor_tcp", "spin"),
    ("tcp", False): ("floor_tcp", "yield"),
    ("shm", True): ("floor_shm", "spin"),
    ("shm", False): ("floor_shm", "yield"),
}


def at_once(runs):
    """Results of functions that run at the same time, each in a thread."""
    results, threads = [None] * len(runs), []
    for i, run in enumerate(runs):
        threads.append(threading.Thread(target=lambda i=i, run=run: results.__setitem__(i, run())))
        threads[-1].start()
    for t in threads:
        t.join()
    if None in results:
        raise RuntimeError("one of several programs that ran at the same time failed")
    return results


def sizes_env(sizes):
    return {**os.environ, "BENCH_BYTES": ",".join(map(str, sizes))}


class Sides:
    """What is compared."""

    def __init__(self, args, folder):
        self.args, self.folder = args, Path(folder)
        self.conf = self.folder / "coupling.conf"
        self.conf.write_text(CONF.format(layers=args.layers))
        self.roomy = 2 * args.procs <= (os.cpu_count() or 1)
        self.peer = self._build_peer()

    def _build_peer(self):
        if shutil.which("mpicc.openmpi") is None:
            return None
        exe = self.folder / "peer_mpi"
        words = ["mpicc.openmpi", "-O2", "-D_GNU_SOURCE", "-o", str(exe)]
        subprocess.run([*words, str(HERE / "peer_mpi.c")], check=True)
        return str(exe)

    def cpus(self, pair):
        """Processors of the two of a pair."""
        n = os.cpu_count() or 1
        return (pair % n, (pair + 1) % n)

    def merge(self, found):
        """Slowest of the pairs that ran at the same time, by windows of all of them together."""
        times = {}
        for values in found:
            for (metric, size), value in values.items():
                if metric == "half_rtt":
                    key = ("window", size * self.args.procs)
                    times[key] = max(times.get(key, 0), value)
        return times

    def raw(self, route):
        program, kind = FLOORS[route, self.roomy]
        exe = str(self.args.build / "bench" / program)
        sizes = [n * 8 // self.args.procs for n in self.args.windows]

        def pair(p):
            port, cpus = str(free_port()), self.cpus(p)
            rest = [str(max(sizes)), "cubic"]
            words = [
                [exe, kind, str(r), port, "127.0.0.1", str(cpus[r]), "8", *rest] for r in (0, 1)
            ]
            return parse(run_all(words, [sizes_env(sizes)] * 2))

        return self.merge(at_once([lambda p=p: pair(p) for p in range(self.args.procs)]))

    def mpi(self, route):
        sizes = [n * 8 // self.args.procs for n in self.args.windows]
        btl = {"tcp": "tcp,self", "shm": "vader,self"}[route]

        def pair(p):
            words = ["mpiexec.openmpi", "-n", "2", "--bind-to", "none", "--mca", "pml", "ob1"]
            words += ["--mca", "btl", btl, self.peer, "8", str(max(sizes))]
            words += [str(c) for c in self.cpus(p)]
            env = {**sizes_env(sizes), **ROOT_ENV}
            if not self.roomy:
                env["OMPI_MCA_mpi_yield_when_idle"] = "1"
            return parse(run_all([words], [env]))

        return self.merge(at_once([lambda p=p: pair(p) for p in range(self.args.procs)]))

    def start(self, procs, words, route=None, bind=True):
        """The output of all processes of both components."""
        extra = {"WAITIO_TCP_CONGESTION": "cubic"}
        if route:
            extra["WAITIO_COMM_TYPE"] = ROUTES[route]
        exe, started = str(self.args.build / "bench" / "bench_coupler"), []
        envs = block_envs(self.folder, [procs, procs], extra)
        for i, env in enumerate(envs):
            line = [exe, "ab"[i // procs], str(self.conf), *map(str, words)]
            if bind:
                line = taskset((i + i // procs) % (os.cpu_count() or 1), line)
            started.append(subprocess.Popen(line, env=env, stdout=subprocess.PIPE, text=True))
        try:
            texts = [p.communicate(timeout=LIMIT_S)[0] for p in started]
        finally:
            for p in started:
                p.kill()
        if any(p.returncode != 0 for p in started):
            raise RuntimeError(f"bench_coupler failed: {[p.returncode for p in started]}")
        return texts

    def ours(self, route, entries):
        found = {}
        for n in self.args.windows:
            steps = max(20, min(2000, 4_000_000 // n))
            words = [n // self.args.layers, f"steps={steps}", f"layers={self.args.layers}"]
            words += [f"entries={entries}"]
            words += ["scatter=1"] if self.args.scatter else []
            words += ["irregular=1"] if self.args.irregular else []
            words += ["bare=1"] if self.args.bare else []
            texts = self.start(self.args.procs, words, route)
            wanted = ("window", "bare", "floor")
            found |= {k: v for k, v in parse(texts[0]).items() if k[0] in wanted}
        return found

    def setup(self, procs, points):
        """{what: seconds}: the tables, and from the last start of a process to the last ready."""
        texts = self.start(procs, [points, "steps=0"], bind=False)
        values = [parse(t) for t in texts]
        begin = max(v["begin", 0] for v in values)
        ready = max(v["ready", 0] for v in values)
        return {("map", points): values[0]["map", points * 8], ("start", points): ready - begin}


def processor():
    text = Path("/proc/cpuinfo").read_text()
    found = [re.search(rf"{key}\s*: (.*)", text) for key in ("model name", "model", "cpu MHz")]
    name, model, mhz = (m[1] if m else "?" for m in found)
    return f"{name} (model {model}, {mhz} MHz), {os.cpu_count()} processors"


def windows(args, sides):
    names = {"raw": sides.raw, **({"MPI": sides.mpi} if sides.peer else {})}
    names |= {"nearest": lambda r: sides.ours(r, 1), "four entries": lambda r: sides.ours(r, 4)}
    for route in args.routes:
        runs = {name: lambda run=run, route=route: run(route) for name, run in names.items()}
        rounds = interleaved(runs, args.rounds, route)
        print(f"\n{args.procs} + {args.procs} processes, {route}; {processor()}\n")
        print("| window | " + " | ".join(names) + " |" + (BARE if args.bare else ""))
        print("|---" * (len(names) + 1 + 3 * args.bare) + "|")
        for n in args.windows:
            row = [f"{n:,} numbers"]
            for name in names:
                key = ("window", n // args.procs * 8 * args.procs)
                values = [r[name][key] for r in rounds]
                text = time_text(statistics.median(values))
                row.append(
                    text if name == "raw" else f"{text}, {cell(ratios(rounds, name, key, 'raw'))}"
                )
            if args.bare:
                row.append(
                    time_text(statistics.median(r["nearest"]["bare", n * 8] for r in rounds))
                )
                for name in ("nearest", "four entries"):
                    floor = [r[name]["floor", n * 8] for r in rounds]
                    over = [r[name]["window", n * 8] / f for r, f in zip(rounds, floor)]
                    text = f"{time_text(statistics.median(floor))}, x{statistics.median(over):.2f}"
                    row.append(text)
            print("| " + " | ".join(row) + " |")


def setups(args, sides):
    print(f"\n{processor()}\n\n| processes | points | both tables | start-up |\n|---|---|---|---|")
    for procs, points in ((1, 100), (16, 1600), (16, args.points)):
        found = [sides.setup(procs, points) for _ in range(args.rounds)]
        row = [f"{procs} + {procs}", f"{points:,}"]
        for what in ("map", "start"):
            values = [f[what, points] for f in found]
            row.append(
                f"{time_text(statistics.median(values))} ({time_text(min(values))} .. "
                f"{time_text(max(values))})"
            )
        print("| " + " | ".join(row) + " |", flush=True)


def arguments():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--build", type=Path, default=HERE.parent / "build" / "release")
    p.add_argument("--procs", type=int, default=2, help="of each component")
    p.add_argument("--windows", type=numbers, default=[100, 10_000, 1_000_000])
    p.add_argument("--layers", type=int, default=1)
    p.add_argument("--routes", type=lambda t: t.split(","), default=list(ROUTES))
    p.add_argument("--scatter", action="store_true", help="points of b lie cyclically")
    p.add_argument("--irregular", action="store_true", help="tables without any order")
    p.add_argument("--bare", action="store_true", help="also the messages without the coupler")
    p.add_argument("--setup", action="store_true", help="routing and start-up")
    p.add_argument("--points", type=int, default=1_000_000, help="of the large table of --setup")
    p.add_argument("--rounds", type=int, default=5)
    args = p.parse_args()
    if not set(args.routes) <= set(ROUTES):
        p.error(f"--routes: of {', '.join(ROUTES)}")
    return args


def main():
    args = arguments()
    try:
        with tempfile.TemporaryDirectory() as folder:
            sides = Sides(args, folder)
            setups(args, sides) if args.setup else windows(args, sides)
    except (RuntimeError, subprocess.SubprocessError) as error:
        sys.exit(f"bench: {error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
