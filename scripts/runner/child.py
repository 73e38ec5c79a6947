# SPDX-License-Identifier: BSD-3-Clause
"""Commands that end when this program is asked to end, with all they have started."""

import os
import signal
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TICK_S = 0.5


class EndedError(Exception):
    """Somebody asked this program to end (Ctrl-C, or a limit above it)."""


def ask_to_end(signum, frame):
    raise EndedError(f"ended by {signal.Signals(signum).name}")


def start(command, env, log=None):
    """Begin a command in a process group of its own; its output goes to this one's or to a file."""
    out = open(log, "a") if log else None
    child = subprocess.Popen(
        command,
        cwd=ROOT,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.STDOUT if out else None,
        start_new_session=True,
    )
    if out:
        out.close()
    return child


def end(child):
    """End a process group whose first process has not ended."""
    if child.poll() is not None:
        return
    os.killpg(child.pid, signal.SIGTERM)
    try:
        child.wait(timeout=10)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def wait(runs):
    """Look at runs until they end; what interrupts that ends them.

    @param runs  each has a `child`, and look(): is anything left to do?
    """
    try:
        while any([run.look() for run in runs]):
            time.sleep(TICK_S)
    finally:
        for run in runs:
            end(run.child)


def read(path):
    try:
        with open(path, errors="replace") as handle:
            return handle.read()
    except OSError:
        return ""
