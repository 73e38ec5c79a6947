# SPDX-License-Identifier: BSD-3-Clause
"""Commands that end when this program is asked to end, with all they have started."""

import os
import signal
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TICK_S = 2.0


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


def run(command, env, log, tick):
    """Run a command to its end; where this program is to end, the whole process group does.

    @param tick  called now and then
    @return its status
    """
    with open(log, "w"):
        pass
    child = start(command, env, log)
    try:
        while True:
            try:
                return child.wait(timeout=TICK_S)
            except subprocess.TimeoutExpired:
                tick()
    finally:
        end(child)


def read(path):
    try:
        with open(path, errors="replace") as handle:
            return handle.read()
    except OSError:
        return ""
