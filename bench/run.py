#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Measure WaitIO against a raw floor, interleaved in one run, and print ratios.

Every round runs each implementation once (two processes each), so that the drift of a noisy machine
hits all alike; a ratio is formed within a round, and the table shows the median over the rounds
with the spread.
"""

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT_S = 300


def free_port(host):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as s:
        s.bind((host, 0))
        return s.getsockname()[1]


class Place:
    """Where the two ranks run: processors, and network namespaces when wanted."""

    def __init__(self, one_core, netns, fifo):
        self.cpus = (0, 0) if one_core else (0, 1)
        self.prefix = ["chrt", "-f", "1"] if fifo else []
        self.netns = netns
        self.names = []
        self.host = "127.0.0.1"
        if netns:
            self._make_namespaces()

    def _make_namespaces(self):
        tag = f"wb{os.getpid()}"
        self.names = [f"{tag}a", f"{tag}b"]
        commands = [["ip", "netns", "add", n] for n in self.names]
        commands.append(
            [
                "ip",
                "link",
                "add",
                f"{tag}0",
                "netns",
                self.names[0],
                "type",
                "veth",
                "peer",
                "name",
                f"{tag}1",
                "netns",
                self.names[1],
            ]
        )
        for i, n in enumerate(self.names):
            commands += [
                ["ip", "-n", n, "addr", "add", f"10.77.0.{i + 1}/24", "dev", f"{tag}{i}"],
                ["ip", "-n", n, "link", "set", f"{tag}{i}", "up"],
                ["ip", "-n", n, "link", "set", "lo", "up"],
            ]
        for c in commands:
            subprocess.run(c, check=True)

    def close(self):
        for n in self.names:
            subprocess.run(["ip", "netns", "del", n], check=False)

    def wrap(self, rank, command):
        netns = ["ip", "netns", "exec", self.names[rank]] if self.names else []
        return netns + self.prefix + command

    def floor_host(self):
        return "10.77.0.2" if self.names else self.host

    def master(self):
        return "10.77.0.1" if self.names else self.host


def run_pair(commands, envs, cwd=None):
    """Run two processes to their end; JSON lines of the first."""
    procs = [
        subprocess.Popen(
            c,
            env=e,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if i == 0 else subprocess.DEVNULL,
            text=True,
        )
        for i, (c, e) in enumerate(zip(commands, envs))
    ]
    try:
        out, _ = procs[0].communicate(timeout=LIMIT_S)
        procs[1].wait(timeout=30)
    finally:
        for p in procs:
            if p.poll() is None:
                p.kill()
                p.wait()
    if any(p.returncode != 0 for p in procs):
        raise RuntimeError(f"{commands[0][0]} failed: {[p.returncode for p in procs]}")
    return parse(out)


def parse(text):
    rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return {(r["metric"], r["bytes"]): r["value"] for r in rows}


def run_floor(kind, args, place):
    port = str(free_port("127.0.0.1"))
    exe = str(args.build / "bench" / "floor_tcp")

    def command(rank):
        return place.wrap(
            rank,
            [
                exe,
                kind,
                str(rank),
                port,
                place.floor_host(),
                str(place.cpus[rank]),
                str(args.scale),
                str(args.max),
                args.cc,
            ],
        )

    return run_pair([command(0), command(1)], [os.environ.copy()] * 2)


def run_waitio(args, place):
    exe = str(args.build / "bench" / "bench_pt2pt")
    with tempfile.TemporaryDirectory() as home:
        common = {
            "HOME": home,
            "WAITIO_MASTER_HOST": place.master(),
            "WAITIO_MASTER_PORT": str(free_port("127.0.0.1")),
            "WAITIO_NPB": "2",
            "WAITIO_JOB_ID": uuid.uuid4().hex[:12],
            "WAITIO_COMM_TYPE": "socket",
            "WAITIO_TCP_CONGESTION": args.cc,
        }
        envs = [{**os.environ, **common, "WAITIO_PBID": str(r)} for r in range(2)]
        commands = [
            place.wrap(r, [exe, str(place.cpus[r]), str(args.scale), str(args.max)])
            for r in range(2)
        ]
        return run_pair(commands, envs)


def build_peers(args, folder):
    peers = {}
    for mpi, options in (
        ("openmpi", ["--mca", "btl", "tcp,self", "--bind-to", "none"]),
        ("mpich", ["-bind-to", "none"]),
    ):
        cc, mpiexec = shutil.which(f"mpicc.{mpi}"), shutil.which(f"mpiexec.{mpi}")
        if cc is None or mpiexec is None:
            continue
        exe = Path(folder) / f"peer_{mpi}"
        subprocess.run(
            [cc, "-O2", "-D_GNU_SOURCE", "-o", str(exe), str(HERE / "peer_mpi.c")], check=True
        )
        label = "Open MPI (tcp)" if mpi == "openmpi" else "MPICH (shared memory)"
        peers[label] = [mpiexec, "-n", "2", *options, str(exe), str(args.scale), str(args.max)]
    return peers


def run_peer(command):
    env = {
        **os.environ,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
    }
    out = subprocess.run(
        command,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        timeout=LIMIT_S,
        check=True,
    ).stdout
    return parse(out)


def measure(args, place, peers):
    runs = {
        "raw spin": lambda: run_floor("spin", args, place),
        "raw block": lambda: run_floor("block", args, place),
        "waitio": lambda: run_waitio(args, place),
    }
    if args.one_core:
        del runs["raw spin"]  # milliseconds per message: never spin there
    for name, command in peers.items():
        runs[name] = lambda command=command: run_peer(command)
    rounds = []
    for i in range(args.rounds):
        rounds.append({name: run() for name, run in runs.items()})
        print(f"round {i + 1} of {args.rounds} done", file=sys.stderr)
    return rounds


def ratios(rounds, name, key, floor):
    """Time over the floor's time, or the floor's rate under ours, one per round."""
    values = [r[name][key] / r[floor][key] for r in rounds if key in r[name] and r[floor].get(key)]
    return sorted(values)


def size_text(n):
    for unit in ("B", "KiB", "MiB"):
        if n < 1024 or unit == "MiB":
            return f"{n} {unit}"
        n //= 1024
    return str(n)


def table(rounds, floor):
    names = [n for n in rounds[0] if n != floor]
    keys = [k for k in rounds[0][floor]]
    lines = [
        "| measurement | " + floor + " | " + " | ".join(names) + " |",
        "|---" * (len(names) + 2) + "|",
    ]
    for key in keys:
        metric, size = key
        base = statistics.median(r[floor][key] for r in rounds)
        label = (
            f"half round trip, {size_text(size)}"
            if metric == "half_rtt"
            else f"{size_text(size)} messages, window 64"
        )
        cell = f"{base * 1e6:.2f} us" if metric == "half_rtt" else f"{base / 1e6:.3f} M/s"
        cells = []
        for n in names:
            v = ratios(rounds, n, key, floor)
            cells.append(f"x{statistics.median(v):.2f} ({v[0]:.2f}-{v[-1]:.2f})" if v else "-")
        lines.append(f"| {label} | {cell} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--build", type=Path, default=HERE.parent / "build" / "release")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--scale", type=int, default=1, help="divide the number of messages")
    p.add_argument("--max", type=int, default=0, help="largest message in bytes; 0 = 64 MiB")
    p.add_argument("--cc", default="cubic", help="congestion control of floor and WaitIO alike")
    p.add_argument("--one-core", action="store_true", help="both ranks on one core")
    p.add_argument(
        "--netns", action="store_true", help="two network namespaces over a veth pair (root)"
    )
    p.add_argument(
        "--peers",
        action="store_true",
        help="also one job of Open MPI (TCP) and of MPICH (its shared memory)",
    )
    p.add_argument(
        "--fifo",
        action="store_true",
        help="real-time scheduling (root): shuts out other load; short runs only",
    )
    p.add_argument("--json", type=Path, help="write all values there")
    args = p.parse_args()
    if args.one_core and args.scale == 1:
        args.scale = 4
    place = Place(args.one_core, args.netns, args.fifo)
    try:
        with tempfile.TemporaryDirectory() as folder:
            peers = build_peers(args, folder) if args.peers else {}
            rounds = measure(args, place, peers)
    finally:
        place.close()
    floor = "raw block" if args.one_core else "raw spin"
    print(table(rounds, floor))
    if args.json:
        data = [
            {
                n: [{"metric": k[0], "bytes": k[1], "value": v} for k, v in res.items()]
                for n, res in r.items()
            }
            for r in rounds
        ]
        args.json.write_text(json.dumps(data, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
