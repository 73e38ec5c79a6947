# SPDX-License-Identifier: BSD-3-Clause
"""Time limits that grow with the machine's load, and what is shown of a test that reached one.

A limit is given for an idle machine. Its factor is the load (runnable processes of the last
minute, those of the test included) divided by the cores, at least 1, at most 10. The load is read
again each time the limit seems to be reached; the highest factor counts.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import time

MOST = 10.0
MARK = "WT_TEST_MARK"  # in the environment of everything that a test starts
PROCESSES, LINES, LOGS = 12, 60, 12  # of a report: how many, and how many lines of each


def factor():
    """How much longer than on an idle machine things take now."""
    return min(MOST, max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0))))


def scaled(seconds):
    """A limit for now, where it cannot be read again later."""
    return seconds * factor()


class Limit:
    """The time limit of one test."""

    def __init__(self, base, clock=time.monotonic):
        self.base, self.clock = base, clock
        self.began = clock()
        self.factor = 1.0

    def left(self):
        """Seconds until the limit, by the load of now; 0 or less: it is reached."""
        self.factor = max(self.factor, factor())
        return self.base * self.factor - (self.clock() - self.began)

    def __str__(self):
        return f"{self.base:.0f} s x {self.factor:.1f} for the load of the machine"


_wait, _communicate = subprocess.Popen.wait, subprocess.Popen.communicate


def wait(child, limit):
    """Wait for a process to end; its status, or None when the limit is reached."""
    while True:
        left = limit.left()
        try:
            return _wait(child, max(0.01, left))
        except subprocess.TimeoutExpired:
            if left <= 0:
                return None


class PatientPopen(subprocess.Popen):
    """Its time limits grow with the load, too."""

    def wait(self, timeout=None):
        if timeout is None:
            return _wait(self)
        status = wait(self, Limit(timeout))
        if status is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return status

    def communicate(self, input=None, timeout=None):
        if timeout is None:
            return _communicate(self, input)
        limit = Limit(timeout)
        while True:
            try:
                return _communicate(self, input, max(0.01, limit.left()))
            except subprocess.TimeoutExpired:
                if limit.left() <= 0:
                    raise
                input = None  # is kept since the first time


def pids():
    """Of all processes of this machine; each may end while the caller looks at it."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def words_of(pid, file):
    """Words of a process's "cmdline" or "environ"; of one that has ended: none."""
    return _read(f"/proc/{pid}/{file}").split(b"\0")


def _read(path):
    try:
        with open(path, "rb") as handle:
            return handle.read()
    except OSError:
        return b""


def _stat(pid):
    """(name, state, parent), or None where the process has ended."""
    head, _, tail = _read(f"/proc/{pid}/stat").decode(errors="replace").rpartition(") ")
    if not head:
        return None
    state, parent = tail.split()[:2]
    return head.partition("(")[2], state, int(parent)


def of_test(mark=None, root=None):
    """Living processes below `root` (default: this one), or with the mark in the environment."""
    root = root or os.getpid()
    stats = {pid: _stat(pid) for pid in pids()}
    stats = {pid: stat for pid, stat in stats.items() if stat and stat[1] not in "ZX"}
    found, grown = {root}, True
    while grown:
        more = {pid for pid, stat in stats.items() if stat[2] in found} - found
        found |= more
        grown = bool(more)
    if mark:
        word = f"{MARK}={mark}".encode()
        found |= {pid for pid in stats if word in words_of(pid, "environ")}
    return sorted(found - {root, os.getpid()})


def _tail(text, lines):
    found = text.rstrip().splitlines()
    more = [f"... {len(found) - lines} lines before"] if len(found) > lines else []
    return more + found[-lines:]


def stack(pid):
    """The stacks of all threads, as a debugger shows them."""
    if shutil.which("gdb"):
        words = ["gdb", "-nx", "-q", "-batch", "-ex", "thread apply all bt 20", "-p", str(pid)]
    elif shutil.which("eu-stack"):
        words = ["eu-stack", "-n", "20", "-p", str(pid)]
    else:
        return ["no gdb and no eu-stack here: no stacks (Debian: apt-get install gdb)"]
    env = dict(os.environ, DEBUGINFOD_URLS="", LC_ALL="C")
    try:
        done = subprocess.run(
            words,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=30,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [f"{words[0]} did not end within 30 s"]
    kept = [w for w in done.stdout.splitlines() if w.startswith(("#", "Thread", "TID"))]
    return kept[:LINES] or _tail(done.stderr, 3)


def process_report(pid):
    """Lines about one process: what it is, where its threads wait, their stacks."""
    stat = _stat(pid)
    if stat is None:
        return [f"process {pid}: ended meanwhile"]
    words = _read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode(errors="replace").strip()
    lines = [f"process {pid} (child of {stat[2]}), state {stat[1]}: {words[:300] or stat[0]}"]
    try:
        threads = sorted(os.listdir(f"/proc/{pid}/task"), key=int)
    except OSError:
        threads = []
    for thread in threads[:40]:
        seen = _stat(f"{pid}/task/{thread}")
        if seen:
            where = _read(f"/proc/{pid}/task/{thread}/wchan").decode() or "?"
            lines.append(f"  thread {thread} {seen[0]}: state {seen[1]}, in {where}")
    if stat[1] in "RSD":
        lines += ["  " + line for line in stack(pid)]
    return lines


def logs_report(folder):
    """The ends of the small text files below a test's folder, the newest first."""
    found = []
    for path, _, names in os.walk(folder):
        for name in names:
            full = os.path.join(path, name)
            if os.path.isfile(full) and not os.path.islink(full):
                found.append((os.path.getmtime(full), full))
    lines, shown = [], 0
    for _, path in sorted(found, reverse=True):
        data = _read(path) if os.path.getsize(path) < 4 << 20 else b""
        if data.strip() and b"\0" not in data and shown < LOGS:
            shown += 1
            lines.append(f"end of {path}:")
            lines += ["  " + line for line in _tail(data.decode(errors="replace"), LINES // 2)]
    return lines


def hang_report(name, limit, pids, folder=None):
    """What is said of a test that reached its limit."""
    lines = [f"{name} reached its time limit ({limit})"]
    for pid in pids[:PROCESSES]:
        lines += process_report(pid)
    if len(pids) > PROCESSES:
        lines.append(f"... and {len(pids) - PROCESSES} processes more: {pids[PROCESSES:]}")
    if folder:
        lines += logs_report(folder)
    return "\n".join(lines)


def end(mark=None, root=None, patience=5.0):
    """End the processes of a test, each by its id. Returns those that would not go."""
    until = time.monotonic() + patience
    while True:
        left = of_test(mark, root)
        if not left or time.monotonic() > until:
            return left
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.05)


def die_with_parent():
    """For preexec_fn: the child is killed when its parent ends, however that comes."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
