# SPDX-License-Identifier: BSD-3-Clause
"""Compare the MPI that a program is made for with the launcher that is to start it.

A program under the launcher of another MPI does not fail: each of its processes is rank 0 of 1,
and the run computes something wrong in silence. `check` refuses where it is sure, and returns a
warning where the mismatch is only likely.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from waitio import detect
from waitio.blocks import Block
from waitio.errors import UsageError

NAMES = {
    "openmpi": "Open MPI",
    "mpich": "MPICH",
    "intel": "Intel MPI",
    "mvapich": "MVAPICH",
}
# Flavours whose programs run under each other's launchers.
HYDRA = ("mpich", "intel", "mvapich")
VENDOR = (
    "import mpi4py; mpi4py.rc(initialize=False); from mpi4py import MPI; print(MPI.get_vendor()[0])"
)
ASK_TIMEOUT = 20.0
# Options of the interpreter that are followed by a word of their own.
WITH_WORD = ("-X", "-W", "--check-hash-based-pycs")


@dataclass
class Made:
    """What a program is made for: a flavour, what tells so, and whether that is certain."""

    flavour: str
    why: str
    sure: bool


def _ask(command: Sequence[str], env: Mapping[str, str], wdir: str) -> str:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(env),
            cwd=wdir or None,
            timeout=ASK_TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""


def _linked(path: str, env: Mapping[str, str]) -> Made | None:
    """Return what an ELF file is linked with, by itself or by way of other libraries."""
    names = detect.needed_libraries(path)
    if not names:
        return None
    flavour, library = detect.flavour_of(names)
    if not flavour:  # perhaps a library that it needs is linked with one
        told = _ask(["ldd", path], env, "")
        flavour, library = detect.flavour_of([line.split()[0] for line in told.split("\n") if line])
    return Made(flavour, f"is linked with {library}", True) if flavour else None


def _head(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20)
    except OSError:
        return b""


def _is_python(path: str) -> bool:
    return re.fullmatch(r"(python|pypy)[0-9.]*t?", os.path.basename(path)) is not None


def _python_source(words: Sequence[str], wdir: str) -> tuple[bytes, bool]:
    """Return the text that an interpreter is to run, and False if only a module is named."""
    words = list(words)
    while words:
        word = words.pop(0)
        if word == "-c" or word == "-m":
            return (words[0].encode() if words else b""), word == "-c"
        if word in WITH_WORD:
            words = words[1:]
        elif not word.startswith("-"):
            return _head(os.path.join(wdir or ".", word)), True
    return b"", True


def _python(
    interpreter: str, words: Sequence[str], block: Block, env: dict[str, str]
) -> Made | None:
    source, known = _python_source(words, block.wdir)
    if known and b"mpi4py" not in source:
        return None
    vendor = _ask([interpreter, "-c", VENDOR], env, block.wdir).strip()
    flavour = next((f for f, name in NAMES.items() if vendor == name), "")
    why = f"uses mpi4py, which in {interpreter} is made for {vendor}"
    if not known:
        why = f"is a Python module, and mpi4py in {interpreter} is made for {vendor}"
    return Made(flavour, why, known) if flavour else None


def made_for(block: Block) -> Made | None:
    """Tell the MPI of a block's program, by its libraries or by mpi4py's; None: nothing tells."""
    env = {**os.environ, **block.env}
    program = block.command[0]
    path: str | None = os.path.join(os.path.abspath(block.wdir or "."), program)
    if "/" not in program:
        path = shutil.which(program, path=env.get("PATH"))
    if path is None:
        return None
    if _is_python(path):
        return _python(path, block.command[1:], block, env)
    head = _head(path)
    if not head.startswith(b"#!"):
        return _linked(path, env)
    words = head[2 : head.find(b"\n")].decode("utf-8", "replace").split()
    if words and os.path.basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    interpreter = shutil.which(words[0], path=env.get("PATH")) if words else None
    if interpreter is None or not _is_python(interpreter):
        return None  # of a shell script nobody knows what it starts
    return _python(interpreter, [path], block, env)


def _launcher(block: Block) -> tuple[str, bool]:
    """Return the flavour of a block's launcher ("": none, or unknown) and whether that is sure."""
    if block.launcher:
        words = shlex.split(block.launcher)
        known = re.match(r"(mpiexec|mpirun|orterun|prterun)", os.path.basename(words[0]))
        path = shutil.which(words[0]) if known else None
        return (detect.launcher_flavour(path) if path else ""), False
    if block.mpiexec:
        path = shutil.which(block.mpiexec)
        return (detect.launcher_flavour(path) if path else "") or block.mpi, True
    return block.mpi, True


def _fit(made: str, launcher: str) -> bool:
    return made == launcher or (made in HYDRA and launcher in HYDRA)


def check(block: Block) -> str:
    """Refuse a program under the launcher of another MPI; return a warning, or ""."""
    if block.hosts or block.mpi in ("slurm", "fujitsu") or (block.plain and block.n == 1):
        return ""  # elsewhere other libraries may lie; srun starts programs of every MPI
    made = made_for(block)
    if made is None:
        return ""
    where = f"block '{block.name}': '{block.command[0]}' {made.why}"
    name = NAMES[made.flavour]
    if block.plain:
        return (
            f"{where}, but is started as {block.n} plain processes: for {name} each is rank 0 of 1."
            f" Say --mpi {made.flavour} if that is not meant"
        )
    launcher, sure = _launcher(block)
    if launcher not in NAMES or _fit(made.flavour, launcher):
        return ""
    text = (
        f"{where}, but its launcher is that of {NAMES[launcher]}: each process would be rank 0"
        f" of 1. Say --mpi {made.flavour}, or use the program that was built with {NAMES[launcher]}"
    )
    if sure and made.sure:
        raise UsageError(
            f"{text} (--launcher 'mpiexec -n {{n}}' starts it all the same, with a warning)"
        )
    return text
