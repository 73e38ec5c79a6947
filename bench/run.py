#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measure WaitIO against a raw floor and peers, interleaved in one run, and print ratios.

Every round runs each implementation once (two processes each), so that the drift of a noisy machine
hits all alike; a ratio is formed within a round, and the table shows the median over the rounds
with the spread.

  bench/run.py                          over TCP against a bare ping-pong
  bench/run.py --transport shm --peers  shared memory against a bare ring, memcpy, other libraries
  bench/run.py --transport shm --overlap --load
  bench/run.py --transport shm --offsets
  bench/run.py --transport file --scratch /dev/shm
                                        through files against plain reads and writes of them
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import draw
import first
import offsets
import perfmodes
import placement
from peers import Peers
from place import HERE, PeerNet, Place, free_port, parse, run_all, waitio_pair

# Floors by transport and whether both ranks share a core; the first is what ratios are formed with.
FLOORS = {
    ("tcp", False): {"raw spin": ("floor_tcp", "spin"), "raw block": ("floor_tcp", "block")},
    # Spinning costs milliseconds per message on one core: never there.
    ("tcp", True): {"raw block": ("floor_tcp", "block")},
    ("shm", False): {"raw ring": ("floor_shm", "spin"), "memcpy": ("floor_shm", "memcpy")},
    ("shm", True): {"raw futex": ("floor_shm", "futex"), "raw yield": ("floor_shm", "yield")},
    ("file", False): {"plain calls": ("floor_file", "spin")},
}


TIMES = ("half_rtt", "both")  # the others are rates


def run_floor(program, kind, args, place):
    port = str(free_port())
    exe = str(args.build / "bench" / program)
    commands = [
        place.wrap(
            rank,
            [
                exe,
                kind,
                str(rank),
                port,
                str(args.scratch) if program == "floor_file" else place.floor_host(),
                str(place.cpus[rank]),
                str(args.scale),
                str(args.max),
                args.cc,
            ],
        )
        for rank in range(2)
    ]
    return parse(run_all(commands, [os.environ.copy()] * 2))


def run_waitio(args, place):
    exe = str(args.build / "bench" / "bench_pt2pt")
    commands = [[exe, str(cpu), str(args.scale), str(args.max)] for cpu in place.cpus]
    values = parse(waitio_pair(args, place, commands))
    used = values.pop("transport", "unknown")
    if used != args.transport:
        raise RuntimeError(
            f"WaitIO used {used} although {args.transport} was asked for: is that built, and can "
            "these two processes use it? (waitio info, WAITIO_LOG=info)"
        )
    return values


def run_python(args, place):
    """The same from Python; pt2pt.py binds itself to its processor."""
    words = [sys.executable, str(HERE.parent / "python" / "bench" / "pt2pt.py")]
    numbers = [str(args.scale), str(args.max)]
    return parse(waitio_pair(args, place, [[*words, str(cpu), *numbers] for cpu in place.cpus]))


def our_runs(args, place):
    """{name: run it} of the floors and of WaitIO."""
    floors = FLOORS[args.transport, args.one_core]
    runs = {
        name: lambda program=program, kind=kind: run_floor(program, kind, args, place)
        for name, (program, kind) in floors.items()
    }
    runs["waitio"] = lambda: run_waitio(args, place)
    if args.python:
        runs["waitio (Python)"] = lambda: run_python(args, place)
    return runs


def measure(args, place, peers):
    runs = our_runs(args, place)
    names = list(peers.found) if peers else []

    def one():
        found = {name: run() for name, run in runs.items()}
        for name in list(names):
            try:
                found[name] = peers.run(name)
            except (RuntimeError, OSError, subprocess.SubprocessError) as error:
                names.remove(name)
                peers.skipped.append(f"{name}: {error}")
        return found

    rounds = placement.Rounds(args, place)
    rounds.make(one)
    for which, some in rounds.of.items():
        rounds.of[which] = [{name: found[name] for name in [*runs, *names]} for found in some]
    return rounds


def ratios(rounds, name, key, base):
    """Time over the base's time, or rate over the base's rate, one per round."""
    values = [r[name][key] / r[base][key] for r in rounds if key in r[name] and r[base].get(key)]
    return sorted(values)


def label(key):
    metric, size = key
    text = draw.plotstyle.size(size)
    return {
        "half_rtt": f"half round trip, {text}",
        "rate": f"{text} messages, window 64",
        "stream": f"{text} messages, one after the other",
        "both": f"{text} both ways at once",
    }[metric]


def cell(values):
    if not values:
        return "-"
    return f"x{statistics.median(values):.2f} ({values[0]:.2f}-{values[-1]:.2f})"


def table(rounds, floor):
    """The floor in its unit, everybody else as a ratio to it."""
    names = [n for n in rounds[0] if n != floor]
    lines = [
        "| measurement | " + floor + " | " + " | ".join(names) + " |",
        "|---" * (len(names) + 2) + "|",
    ]
    for key in rounds[0][floor]:
        base = statistics.median(r[floor][key] for r in rounds)
        first = f"{base * 1e6:.2f} us" if key[0] in TIMES else f"{base / 1e6:.3f} M/s"
        cells = [cell(ratios(rounds, n, key, floor)) for n in names]
        lines.append(f"| {label(key)} | {first} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def against(rounds):
    """WaitIO as a ratio to each of the others (time: lower is better; rate: higher is)."""
    names = [n for n in rounds[0] if n != "waitio"]
    lines = [
        "| waitio against | " + " | ".join(names) + " |",
        "|---" * (len(names) + 1) + "|",
    ]
    for key in rounds[0]["waitio"]:
        cells = [cell(ratios(rounds, "waitio", key, n)) for n in names]
        lines.append(f"| {label(key)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def has_python():
    """Has this interpreter what pt2pt.py needs?"""
    call = [sys.executable, "-c", "import numpy, waitio._core"]
    return subprocess.run(call, capture_output=True, check=False).returncode == 0


def arguments():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--build", type=Path, default=HERE.parent / "build" / "release")
    p.add_argument("--transport", choices=("tcp", "shm", "file"), default="tcp")
    p.add_argument(
        "--scratch", type=Path, default=Path(), help="file: the directory for the messages"
    )
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--scale", type=int, default=1, help="divide the number of messages")
    p.add_argument("--max", type=int, default=0, help="largest message in bytes; 0 = 64 MiB")
    p.add_argument("--cc", default="cubic", help="congestion control of all over TCP")
    p.add_argument("--one-core", action="store_true", help="both ranks on one core")
    p.add_argument(
        "--netns", action="store_true", help="two network namespaces over a veth pair (root)"
    )
    p.add_argument(
        "--peers",
        action="store_true",
        help="also what is found of Open MPI, MPICH (one job each), UCX, ZeroMQ",
    )
    p.add_argument(
        "--python",
        action="store_true",
        help="also from Python: this interpreter needs the package waitio and NumPy",
    )
    p.add_argument(
        "--overlap", action="store_true", help="only: send, compute, wait (64 MiB, or --max)"
    )
    p.add_argument(
        "--load", action="store_true", help="only: 8 B beside a transfer (1 GiB, or --max)"
    )
    p.add_argument(
        "--offsets", action="store_true", help="only: 24 x 24 places of both buffers in their pages"
    )
    p.add_argument(
        "--first", action="store_true", help="only: the first 1,000 messages of a pair, by size"
    )
    p.add_argument(
        "--turn",
        action="store_true",
        help="each message from, and to, the next place in 256 MiB: none is in a cache",
    )
    p.add_argument(
        "--fifo",
        action="store_true",
        help="real-time scheduling (root): shuts out other load; short runs only",
    )
    p.add_argument("--json", type=Path, help="write all values there")
    p.add_argument("--plot", type=Path, help="draw latency and bandwidth there (needs matplotlib)")
    args = p.parse_args()
    reason = contradiction(args)
    if reason:
        p.error(reason)
    if args.one_core and args.scale == 1:
        args.scale = 4
    return args


def contradiction(args):
    """Why these arguments cannot be; None: they can."""
    if args.netns and args.peers:
        return "--peers run over loopback or shared memory, not between namespaces: leave one out"
    if args.netns and args.transport == "shm":
        return "--netns: namespaces count as separate hosts and share no memory"
    if args.transport == "file" and (args.one_core or args.netns):
        return "--transport file has neither --one-core nor --netns"
    if args.plot and not draw.available():
        return "--plot needs matplotlib (pip install matplotlib, or python3-matplotlib)"
    if args.python and not has_python():
        return f"--python: {sys.executable} lacks waitio (pip install .) or NumPy"
    if args.rounds < 1 or args.scale < 1 or args.max < 0:
        return "--rounds and --scale are 1 or more, --max is 0 or more"
    return None


def rows(rounds):
    return [
        {
            n: [{"metric": k[0], "bytes": k[1], "value": v} for k, v in res.items()]
            for n, res in r.items()
        }
        for r in rounds
    ]


@contextlib.contextmanager
def with_peers(args, place):
    """The peers that were asked for, or None; afterwards what was left out is told."""
    net = PeerNet(args.cc) if args.peers and args.transport == "tcp" else None
    try:
        with tempfile.TemporaryDirectory() as folder:
            peers = Peers(args, place, net, folder) if args.peers else None
            yield peers
    finally:
        if net:
            net.close()
    for reason in [*(peers.skipped if peers else []), net.note if net else ""]:
        if reason:
            print(f"note: {reason}", file=sys.stderr)


def first_messages(args, place):
    with with_peers(args, place) as peers:
        runs = our_runs(args, place)
        for name in peers.found if peers else ():
            if not name.startswith("UCX"):  # its tool has no such row
                runs[name] = peers.found[name]
        return {"first": first.report(args, place, runs)}


def compare(args, place):
    """The comparison by size; returns the data of the JSON file."""
    with with_peers(args, place) as peers:
        rounds = measure(args, place, peers)
    for which, some in rounds.of.items():
        if which:
            print(rounds.heading(which))
        print(table(some, next(iter(FLOORS[args.transport, args.one_core]))))
        if args.peers or args.transport != "tcp":
            print("\n" + against(some))
    most = max(rounds.of.values(), key=len)
    if args.plot:
        draw.draw(most, list(most[0]), args.plot, args.transport)
    return [row for some in rounds.of.values() for row in rows(some)]


def main():
    args = arguments()
    modes = [mode for mode in perfmodes.TABLES if getattr(args, mode)]
    if args.turn:
        os.environ["BENCH_TURN"] = str(256 << 20)  # of all programs
    place = Place(args.one_core, args.netns, args.fifo)
    try:
        if modes:
            data = {mode: perfmodes.report(args, place, mode) for mode in modes}
        elif args.first:
            data = first_messages(args, place)
        elif args.offsets:
            data = {"offsets": offsets.report(args, place)}
        else:
            data = compare(args, place)
    except RuntimeError as error:
        sys.exit(f"bench: {error}")
    finally:
        place.close()
    if args.json:
        args.json.write_text(json.dumps(data, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
