# SPDX-License-Identifier: BSD-3-Clause
"""What the system tests share: the `waitio` command in clean surroundings, and a check that
nothing (process, private folder) is left behind after each test that used it."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid

import jobs
import patience
import pytest
from surroundings import environment

# The interpreter that runs the command; the oldest supported one in CI.
PYTHON = os.environ.get("WT_PYTHON", sys.executable)


def carriers(mark):
    """Processes whose environment holds the mark."""
    return [pid for pid in patience.pids() if mark in patience.words_of(pid, "environ")]


class Command:
    """Runs `waitio` in a folder of its own."""

    def __init__(self, source_dir, cwd):
        self.cwd = cwd
        self.tmp = pathlib.Path(tempfile.mkdtemp(prefix="wt-"))
        self.home = self.tmp / "home"
        self.home.mkdir()
        mark = f"WT_MARK={uuid.uuid4()}"
        self.mark = mark.encode()
        self.env = environment(
            self.home,
            PYTHONPATH=source_dir / "python",
            TMPDIR=self.tmp,
            WT_MARK=mark.partition("=")[2],
        )
        # These tests are about the command alone; with the service in reach it would use it.
        self.env["PATH"] = os.pathsep.join(
            folder
            for folder in self.env["PATH"].split(os.pathsep)
            if not os.path.exists(os.path.join(folder, "waitio-serv"))
        )
        self.started = []

    def start(self, *words, env=None, program=("-m", "waitio"), **options):
        """Start the command, or it as a Python `program` runs it; the caller waits for it."""
        settings = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **options}
        settings.setdefault("stderr", subprocess.PIPE)
        child = subprocess.Popen(
            [PYTHON, *program, *map(str, words)],
            cwd=self.cwd,
            env={**self.env, **(env or {})},
            **settings,
        )
        self.started.append(child)
        return child

    def __call__(self, *words, env=None, timeout=30, stdin=b""):
        """Run the command to its end; returns (status, stdout, stderr) as bytes."""
        child = self.start(*words, env=env, stdin=subprocess.PIPE)
        out, err = child.communicate(stdin, timeout=timeout)
        return child.returncode, out, err

    def lines(self, *words, **options):
        """Run it, expect success and silence on stderr, return the sorted lines."""
        status, out, err = self(*words, **options)
        assert (status, err) == (0, b""), err.decode(errors="replace")
        return sorted(out.decode().splitlines())

    def script(self, name, text):
        """Write an executable shell script; returns the name to start it by."""
        path = pathlib.Path(self.cwd) / name
        path.write_text("#!/bin/sh\n" + text + "\n")
        path.chmod(0o755)
        return "./" + name

    def wait_for(self, condition, limit=15.0):
        """Wait until a condition holds; fail if it never does."""
        limit = patience.Limit(limit)
        while limit.left() > 0:
            value = condition()
            if value:
                return value
            time.sleep(0.02)
        raise AssertionError("what the test waits for did not happen")

    def left(self):
        """Processes of this test that still live."""
        return carriers(self.mark)

    def folders(self):
        """Private folders of runs that still exist."""
        return list(self.tmp.glob("waitio-run-*")) + list(self.home.glob(".waitio/run-*"))

    def finish(self):
        """Clean up; returns what was found that should not be there."""
        for child in self.started:
            if child.poll() is None:
                child.kill()
            child.communicate()
        limit = patience.Limit(3)
        while self.left() and limit.left() > 0:
            time.sleep(0.02)
        processes, folders = self.left(), self.folders()
        for pid in processes:
            os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.tmp, ignore_errors=True)
        return processes, folders


@pytest.fixture
def waitio(source_dir, tmp_path):
    """The `waitio` command; afterwards nothing it started may live, no private folder exist."""
    command = Command(source_dir, tmp_path)
    yield command
    processes, folders = command.finish()
    assert not processes, f"processes left behind: {processes}"
    assert not folders, f"private folders left behind: {folders}"


@pytest.fixture
def need():
    """Skip a test, with the reason, if a program it needs is not installed."""

    return jobs.need
