# SPDX-License-Identifier: BSD-3-Clause
"""Where the programs of a benchmark run: processors, network namespaces, pairs of processes."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "python"))

from waitio.ports import free_port  # noqa: E402

LIMIT_S = 300


def _headers():
    return "".join((HERE / name).read_text() for name in ("common.h", "pt2pt.h"))


def _constant(text, name):
    """The value of an enumerator: a number, or one that is shifted."""
    value, shift = re.search(rf"{name} = (\d+)(?: << (\d+))?", text).groups()
    return int(value) << int(shift or 0)


def plan(args):
    """What every program does, from pt2pt.h: (bytes, round trips of a batch, of all batches)."""
    text = _headers()
    table = re.search(r"bench_sizes\[\] = \{(.*?)\};", text, re.S)[1]
    batches = _constant(text, "BENCH_BATCHES")
    rows = []
    for size, rounds in ((int(a), int(b)) for a, b in re.findall(r"\{(\d+), (\d+)\}", table)):
        if args.max and size > args.max:
            continue
        rounds = max(1, rounds // args.scale)
        rows.append((size, rounds, rounds // 4 + 1 + batches * rounds))
    return rows


def rate_messages(args):
    """Messages of one batch of the rate loop."""
    text = _headers()
    windows = max(1, _constant(text, "BENCH_RATE_WINDOWS") // args.scale)
    return windows * _constant(text, "BENCH_WINDOW")


def streams(args):
    """Of every program: (bytes, messages of a stream's batch, exchanges both ways of a batch)."""
    text = _headers()
    most, total = _constant(text, "BENCH_STREAM_MESSAGES"), _constant(text, "BENCH_STREAM_BYTES")
    rows = []
    for size, _, _ in plan(args):
        n = max(1, min(most, total // (size + 1)) // args.scale)
        rows.append((size, n, max(1, n // 4)))
    return rows


class Place:
    """Where the two ranks run: processors, and network namespaces when wanted."""

    def __init__(self, one_core, netns, fifo, mbit=0):
        self.cpus = (0, 0) if one_core else (0, 1)
        self.prefix = ["chrt", "-f", "1"] if fifo else []
        self.netns = netns
        self.names = []
        self.host = "127.0.0.1"
        if netns:
            self._make_namespaces(mbit)

    def _make_namespaces(self, mbit):
        """Two, joined by a link; @p mbit limits it in Mbit/s each way."""
        tag = f"wb{os.getpid()}"
        self.names = [f"{tag}a", f"{tag}b"]
        link = ["ip", "link", "add", f"{tag}0", "netns", self.names[0], "type", "veth"]
        link += ["peer", "name", f"{tag}1", "netns", self.names[1]]
        commands = [*(["ip", "netns", "add", n] for n in self.names), link]
        for i, n in enumerate(self.names):
            commands += [
                ["ip", "-n", n, "addr", "add", f"10.77.0.{i + 1}/24", "dev", f"{tag}{i}"],
                ["ip", "-n", n, "link", "set", f"{tag}{i}", "up"],
                ["ip", "-n", n, "link", "set", "lo", "up"],
            ]
            if mbit:
                limit = ["tbf", "rate", f"{mbit}mbit", "burst", "256kb", "latency", "50ms"]
                commands.append(["tc", "-n", n, "qdisc", "add", "dev", f"{tag}{i}", "root", *limit])
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


class PeerNet:
    """A loopback device of their own for programs whose congestion control cannot be chosen
    otherwise: there the route chooses it. Needs root; without, they run as they are."""

    def __init__(self, congestion):
        self.name = ""
        self.note = ""
        name = f"wb{os.getpid()}p"
        loop = ["proto", "kernel", "scope", "host", "src", "127.0.0.1", "table", "local"]
        commands = [["ip", "netns", "add", name], ["ip", "-n", name, "link", "set", "lo", "up"]]
        for net in ("127.0.0.0/8", "127.0.0.1"):
            route = ["ip", "-n", name, "route", "replace", "local", net, "dev", "lo", *loop]
            commands.append([*route, "congctl", congestion])
        try:
            for c in commands:
                subprocess.run(c, check=True, capture_output=True)
            self.name = name
        except (OSError, subprocess.CalledProcessError):
            with contextlib.suppress(OSError):
                subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
            self.note = f"peers use the system's congestion control ({self._system()})"

    @staticmethod
    def _system():
        try:
            return Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
        except OSError:
            return "unknown"

    def wrap(self, command):
        return (["ip", "netns", "exec", self.name] if self.name else []) + command

    def moved(self):
        """Bytes that have passed the loopback device."""
        command = self.wrap(["cat", "/proc/net/dev"])
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return int(re.search(r"^ *lo: *(\d+)", text, re.M)[1])

    def close(self):
        if self.name:
            subprocess.run(["ip", "netns", "del", self.name], check=False)


def parse(text):
    """The measurements among the lines of a program, and what else it says about itself."""
    rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    values = {(r["metric"], r["bytes"]): r["value"] for r in rows if "metric" in r}
    for row in rows:
        if "transport" in row:
            values["transport"] = row["transport"]
    return values


def run_all(commands, envs, cwd=None):
    """Run processes to their end; the output of the first."""
    procs = []
    try:
        for i, (c, e) in enumerate(zip(commands, envs)):
            out = subprocess.PIPE if i == 0 else subprocess.DEVNULL
            procs.append(
                subprocess.Popen(c, env=e, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, text=True)
            )
        out, _ = procs[0].communicate(timeout=LIMIT_S)
        for p in procs[1:]:
            p.wait(timeout=30)
    finally:
        for p in procs:
            if p.poll() is None:
                p.kill()
                p.wait()
    if any(p.returncode != 0 for p in procs):
        raise RuntimeError(f"{commands[0][0]} failed: {[p.returncode for p in procs]}")
    return out


def run_one(command, env):
    """Run a command that needs more in its environment to its end; its output."""
    done = subprocess.run(
        command,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        timeout=LIMIT_S,
        check=True,
    )
    return done.stdout


def block_envs(home, sizes, extra=None):
    """Environments of the processes of blocks of these sizes, to be started one by one."""
    common = {
        "HOME": str(home),
        "WAITIO_MASTER_HOST": "127.0.0.1",
        "WAITIO_MASTER_PORT": str(free_port()),
        "WAITIO_NPB": str(len(sizes)),
        "WAITIO_JOB_ID": uuid.uuid4().hex[:12],
        **(extra or {}),
    }
    return [
        {
            **os.environ,
            **common,
            "WAITIO_PBID": str(pb),
            "WAITIO_NPROCS": str(size),
            "WAITIO_RANK": str(rank),
        }
        for pb, size in enumerate(sizes)
        for rank in range(size)
    ]


def waitio_pair(args, place, commands, extra=None):
    """Run one process in each of two blocks; the output of the first."""
    transport = getattr(args, "transport", "")  # not all benchmarks choose one
    comm_type = {"tcp": "socket"}.get(transport, transport)
    with tempfile.TemporaryDirectory() as home:
        common = {
            "HOME": home,
            "WAITIO_MASTER_HOST": place.master(),
            "WAITIO_MASTER_PORT": str(free_port()),
            "WAITIO_NPB": "2",
            "WAITIO_JOB_ID": uuid.uuid4().hex[:12],
            "WAITIO_COMM_TYPE": comm_type,
            "WAITIO_TCP_CONGESTION": args.cc,
            "WAITIO_SCRATCH_DIR": str(getattr(args, "scratch", ".")),
            **(extra or {}),
        }
        envs = [{**os.environ, **common, "WAITIO_PBID": str(r)} for r in range(2)]
        return run_all([place.wrap(r, c) for r, c in enumerate(commands)], envs)


def taskset(cpu, command):
    """A command bound to a processor, where that can be said."""
    return ["taskset", "-c", str(cpu), *command] if shutil.which("taskset") else command
