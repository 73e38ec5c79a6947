# SPDX-License-Identifier: BSD-3-Clause
"""What a run consists of: blocks, and the settings of the run as a whole."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field

from waitio.errors import UsageError, WaitioError

FLAVOURS = ("none", "auto", "openmpi", "mpich", "intel", "mvapich", "slurm", "fujitsu")
MAX_PROCS = 2**31 - 1
# Set by `waitio run` itself; a block that overrode one would never meet the others.
RESERVED = (
    "WAITIO_MASTER_HOST",
    "WAITIO_MASTER_PORT",
    "WAITIO_PBID",
    "WAITIO_NPB",
    "WAITIO_JOB_ID",
    "WAITIO_SECRET_FILE",
    "WAITIO_RANK",
    "WAITIO_NPROCS",
    "WAITIO_RUN_NPROCS",
    "WAITIO_RUN_NAME",
)


@dataclass
class Block:
    """One parallel block: a program, how many processes, and how they are started."""

    command: list[str]
    name: str = ""
    n: int = 1
    mpi: str = "none"
    launcher: str = ""
    mpiexec: str = ""
    mpi_args: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    wdir: str = ""
    hosts: list[str] = field(default_factory=list)
    pbid: int = 0
    before: list[str] = field(default_factory=list)  # words in front of the program

    @property
    def plain(self) -> bool:
        """Tell whether its processes are started one by one, by no launcher."""
        return self.mpi == "none" and not self.launcher


@dataclass
class Settings:
    """Options of the whole run."""

    keep_going: bool = False
    grace: float = 10.0
    timeout: float = 0.0
    output: str = ""
    tee: bool = False
    color: str = "auto"
    summary: bool = False
    progress: bool = False
    stdin: str = ""
    dry_run: bool = False
    master_host: str = ""
    master_port: int = 0
    job_id: str = ""
    rendezvous: str = "auto"
    route: str = "auto"
    scratch: str = ""
    resume: bool = False
    tagging: str = "auto"
    span: bool = False


def base_name(command: Sequence[str]) -> str:
    """Return the name a program gives its block: the file name, without anything unprintable."""
    name = os.path.basename(command[0].rstrip("/")) or "block"
    return re.sub(r"[^A-Za-z0-9_.+-]", "_", name)


def check_name(name: str) -> str:
    """Return the name of a block if it can be one, else raise ValueError."""
    if not re.fullmatch(r"[A-Za-z0-9_+][A-Za-z0-9_.+-]{0,63}", name):
        raise ValueError(
            "a block's name has up to 64 letters, digits, '_', '.', '+' or '-' and no leading '.'"
        )
    return name


def name_blocks(blocks: Sequence[Block]) -> None:
    """Number the blocks, name the nameless, refuse names given twice."""
    taken: dict[str, int] = {}
    for pbid, block in enumerate(blocks):
        block.pbid = pbid
        if block.name and block.name in taken:
            raise UsageError(f"blocks {taken[block.name]} and {pbid} are both named '{block.name}'")
        if block.name:
            taken[block.name] = pbid
    for pbid, block in enumerate(blocks):
        if block.name:
            continue
        stem = base_name(block.command)[:60]
        name, count = stem, 1
        while name in taken:
            count += 1
            name = f"{stem}-{count}"
        block.name = name
        taken[name] = pbid


def check_blocks(blocks: Sequence[Block], settings: Settings) -> None:
    """Refuse what cannot be started, before anything is."""
    if not blocks:
        raise UsageError("no block: waitio run [OPTIONS] [BLOCK OPTIONS] PROGRAM [ARGS] : ...")
    name_blocks(blocks)
    for block in blocks:
        _check_block(block)
    if settings.tee and not settings.output:
        raise UsageError("--tee needs --output DIR")
    names = [block.name for block in blocks]
    if settings.stdin and settings.stdin not in names:
        raise UsageError(f"--stdin '{settings.stdin}': the blocks are {', '.join(names)}")
    check_job_id(settings.job_id)


def check_job_id(job_id: str) -> None:
    """Refuse a job id that the library would refuse; "" means none was given."""
    if job_id and not re.fullmatch(r"[!-~]{1,63}", job_id):
        raise UsageError(
            f"--job-id {job_id!r}: 1 to 63 letters, digits or signs without blanks are needed"
        )


def _check_block(block: Block) -> None:
    where = f"block '{block.name}'"
    if block.launcher and block.mpi != "none":
        raise UsageError(f"{where}: --launcher and --mpi exclude each other")
    if block.plain and (block.mpiexec or block.mpi_args):
        raise UsageError(f"{where}: --mpiexec and --mpi-args need --mpi")
    if block.launcher and (block.mpiexec or block.mpi_args or block.hosts):
        raise UsageError(f"{where}: put hosts and arguments into the --launcher line itself")
    for name in block.env:
        if name in RESERVED:
            raise UsageError(f"{where}: {name} is set by waitio run and cannot be given here")
    if not block.hosts:
        _check_wdir(block, where)
        check_program(block)


def _check_wdir(block: Block, where: str) -> None:
    if block.wdir and not os.path.isdir(block.wdir):
        raise UsageError(f"{where}: the working directory '{block.wdir}' does not exist")


def check_program(block: Block) -> None:
    """Raise an error with the shell's status 127 or 126 if the program cannot be started."""
    program = block.command[0]
    where = f"block '{block.name}'"
    if "/" not in program:
        search: str | None = block.env.get("PATH")
        if shutil.which(program, path=search) is None:
            local = os.path.join(block.wdir or ".", program)
            hint = f" (did you mean './{program}'?)" if os.path.isfile(local) else ""
            raise WaitioError(f"{where}: '{program}' is not in PATH{hint}", 127)
        return
    path = os.path.join(os.path.abspath(block.wdir or "."), program)
    if not os.path.exists(path):
        raise WaitioError(f"{where}: the program '{path}' does not exist", 127)
    if os.path.isdir(path) or not os.access(path, os.X_OK):
        raise WaitioError(f"{where}: '{path}' is not an executable file (chmod +x?)", 126)
