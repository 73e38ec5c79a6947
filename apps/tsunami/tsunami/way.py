# SPDX-License-Identifier: BSD-3-Clause
"""`--route`: the way of the messages between the three programs. With `file` they share a directory
and nothing else; as root each of them runs in a network namespace without any link (island.py)."""

import html
import json
import os
import re
import subprocess
import tempfile

from tsunami import island
from tsunami.launch import DemoError

ROUTES = ("auto", "file", "hybrid")
BLOCKS = ("ocean", "gauges", "assim")
# With WaitIO's own threshold of 512 KiB no message of the demonstration would be a large one.
THRESHOLD = ("WAITIO_HYBRID_THRESHOULD", "65536")
STATISTICS = "waitio run: counters by block"


def no_islands(env):
    """Why programs cannot have network namespaces of their own here; "" if they can."""
    if os.geteuid() != 0:
        return "only root can give each program a network namespace of its own"
    with tempfile.TemporaryDirectory() as folder:
        words = ["python3", "-m", "tsunami.island", "trial", "true"]
        done = subprocess.run(
            words, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False
        )
    said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
    return said[-1] if done.returncode else ""


class Way:
    """One route: what it changes in a run, and what there is to report of it."""

    def __init__(self, route, home, env):
        """Make the directory that files need; `env` gets what the blocks need."""
        self.route, self.env = route, env
        self.scratch = home / "scratch"
        self.without = ""  # why there are no islands
        self.counters, self.islands = {}, {}
        if route == "auto":
            return
        self.scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        env["WAITIO_STATS"] = "1"
        if route == "hybrid":
            env.setdefault(*THRESHOLD)
        else:
            self.without = no_islands(env)
            self._make_tools(home / "bin")

    @property
    def isolated(self):
        return self.route == "file" and not self.without

    def options(self):
        """For `waitio run`."""
        return [] if self.route == "auto" else ["--route", self.route, "--scratch", self.scratch]

    def _make_tools(self, folder):
        """Commands that start a launcher, or a plain program, on the island of its block."""
        for name, program in (
            ("island", ""),
            ("island-openmpi", "mpiexec.openmpi "),
            ("island-mpich", "mpiexec.mpich "),
        ):
            tool = folder / name
            tool.write_text(
                f'#!/bin/sh\nexec python3 -m tsunami.island "$WAITIO_PBID" {program}"$@"\n'
            )
            tool.chmod(0o755)

    def job_file(self, text):
        """The job file with each block on its island."""
        if not self.isolated:
            return text
        head, *blocks = text.split("[[block]]")
        for k, block in enumerate(blocks):
            if 'mpi = "' in block:
                blocks[k] = re.sub(r'mpi = "(\w+)"', r'mpi = "\1"\nmpiexec = "island-\1"', block)
            else:
                blocks[k] = block.replace("command = [", 'command = ["island", ')
        return "[[block]]".join([head, *blocks])

    def look_back(self, folder, said):
        """See what the run has left; returns the lines that are not for us."""
        at = next((k for k, line in enumerate(said) if line.startswith(STATISTICS)), len(said))
        rows = [line.split() for line in said[at + 1 :]]
        self.counters = {r[0]: int(r[-1]) for r in rows if len(r) > 2 and r[-1].isdigit()}
        if self.isolated:
            self.islands = {
                name: json.loads((folder / f"island.{k}").read_text())
                for k, name in enumerate(BLOCKS)
            }
            self._check_islands()
        if self.route == "file" and not self.counters.get("file_writes"):
            raise DemoError("no message went by file, although the route was file")
        self.save(folder)
        return said[:at]

    def _check_islands(self):
        names = {i["namespace"] for i in self.islands.values()} | {island.network()}
        if len(names) != len(BLOCKS) + 1:
            raise DemoError(f"not every program had a network namespace of its own: {self.islands}")
        for block, seen in self.islands.items():
            if seen["devices"] != ["lo"]:
                raise DemoError(f"{block} had network devices that were up: {seen['devices']}")

    # ---- what is told ----

    def save(self, folder):
        """For a report that is made later."""
        (folder / "route.json").write_text(json.dumps({"route": self.route, "text": self.text()}))

    def text(self):
        """Plain sentences for the report and the terminal."""
        if self.route == "auto":
            said = os.environ.get("WAITIO_COMM_TYPE", "auto")
            how = "" if said == "auto" else f" (WAITIO_COMM_TYPE={said})"
            return f"Route: auto{how}. WaitIO took the quickest way that each pair has."
        if self.route == "hybrid":
            return (
                f"Route: hybrid. {self.counters.get('side_msgs', 0):,} messages of more than"
                f" {self.env[THRESHOLD[0]]} bytes ({self.counters.get('side_bytes', 0):,} bytes in"
                f" all) went by files in {self.scratch}, the others by shared memory or sockets."
            )
        return (
            f"Route: file. All messages between the programs went by files in {self.scratch}"
            f" ({self.counters.get('file_writes', 0):,} write calls), where the programs had also"
            f" met. {self._isolation()}"
        )

    def _isolation(self):
        if self.without:
            return f"They ran in one network namespace, not isolated: {self.without}."
        names = ", ".join(f"{block} {i['namespace']}" for block, i in self.islands.items())
        return (
            "Each program ran in a network namespace of its own without any link to another"
            f" ({names}); the only device that was up was its own loopback."
        )


def saved_text(folder):
    """What an earlier run has told of its route, as HTML."""
    try:
        return html.escape(json.loads((folder / "route.json").read_text())["text"])
    except (OSError, ValueError, KeyError):
        return ""
