# SPDX-License-Identifier: BSD-3-Clause
"""Completion of the command's words, asked for as the shells ask; help of every subcommand."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

SOURCE = pathlib.Path(__file__).resolve().parents[1]


@pytest.fixture
def env(tmp_path):
    command = tmp_path / "bin" / "waitio"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m waitio "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(SOURCE), "HOME": str(tmp_path)}


def said(env, *words, status=0):
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == status, done
    return done.stdout + done.stderr


CASES = [
    ("", 1, ["run", "env", "perf", "info", "serv", "completion"], ["--help"]),
    ("e", 1, ["env"], ["run"]),
    ("run --mpi", 2, ["--mpi", "--mpi-args"], ["--np", "run"]),
    ("env --", 2, ["--npb", "--help"], ["--sizes"]),
    ("perf --s", 2, ["--sizes", "--streams"], ["--mode"]),
    ("completion ", 2, ["bash", "zsh", "fish"], ["run"]),
    ("run --mpi ''", 3, ["openmpi", "mpich", "auto"], ["--mpi", "direct"]),
    ("run -n 2 a : --mpi mp", 7, ["mpich"], ["openmpi"]),
    ("run --tagging=d", 2, ["--tagging=direct"], ["--tagging=none"]),
    ("env --shell f", 3, ["fish"], ["bash"]),
    ("help p", 2, ["perf"], ["run"]),
    ("cpl w", 2, ["weights"], ["run", "grid"]),
    ("run pro", 2, [], ["run", "perf"]),
    ("stage w", 2, ["watch"], ["run"]),
    ("stage watch flow --", 4, ["--port", "--every"], ["--mpi"]),
    ("iotest --p", 2, ["--procs", "--plot"], ["--json"]),
    ("dump flow --b", 3, ["--box", "--blocks"], ["--steps"]),
    ("nothing --", 2, [], ["--mpi"]),
]


@pytest.mark.parametrize(("line", "position", "some", "none"), CASES)
def test_bash(env, line, position, some, none):
    code = (
        'eval "$(waitio completion bash)"; complete -p waitio >&2\n'
        f"COMP_WORDS=(waitio {line}); COMP_CWORD={position}; _waitio waitio\n"
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    words = said(env, "bash", "--norc", "-c", code).split("\n")
    assert set(some) <= set(words) and not set(none) & set(words), words


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_script(env, shell):
    script = said(env, "waitio", "completion", shell)
    assert "waitio completion --words" in script
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (pathlib.Path(env["HOME"]) / "script").write_text(script)
    said(env, shell, "-n", str(pathlib.Path(env["HOME"]) / "script"))


def test_words_that_are_no_shell(env):
    text = said(env, "waitio", "completion", "bsh", status=2)
    assert "did you mean 'bash'" in text
    assert "usage" in said(env, "waitio", "completion", status=2)
    assert said(env, "waitio", "completion", "--words", "x", status=1) == ""


@pytest.mark.parametrize(
    "command",
    ["run", "env", "perf", "convert", "build-hybrid", "build-adios2", "cpl", "completion"],
)
def test_help_of_subcommands(env, command):
    text = said(env, "waitio", command, "--help")
    assert text.startswith(f"usage: waitio {command}")
    assert said(env, "waitio", "help", command) == text
