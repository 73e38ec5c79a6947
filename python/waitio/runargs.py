# SPDX-License-Identifier: BSD-3-Clause
"""The command line of `waitio run`: option tables, and words to blocks and settings."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from waitio import goingon, jobfile
from waitio.blocks import FLAVOURS, MAX_PROCS, Block, Settings, check_blocks, check_name
from waitio.errors import UsageError, WaitioError
from waitio.options import Option, assignment, choice, help_text, parse, seconds, whole
from waitio.routes import OPTIONS as OPTIONS_OF_ROUTE


def split_hosts(text: str) -> list[str]:
    """Convert "a,b:2" to a list of host words."""
    hosts = [word.strip() for word in text.split(",")]
    if not all(hosts) or any(word.startswith("-") or " " in word for word in hosts):
        raise ValueError("a comma list of host names is needed")
    return hosts


def _words(text: str) -> list[str]:
    return shlex.split(text)


BLOCK_OPTIONS = (
    Option(("-n", "-np"), "n", "processes of the block (default 1)", "N", whole(1, MAX_PROCS)),
    Option(
        ("--mpi",),
        "mpi",
        "how the block is started: " + ", ".join(FLAVOURS),
        "FLAVOUR",
        choice(*FLAVOURS),
    ),
    Option(
        ("--launcher",),
        "launcher",
        "free launcher line; {n} is the count, {cmd} the program and its arguments\n"
        + " " * 30
        + "(put last if {cmd} is missing)",
        "LINE",
    ),
    Option(("--mpiexec",), "mpiexec", "the mpiexec or srun to use with --mpi", "PATH"),
    Option(("--mpi-args",), "mpi_args", "more arguments for it, in one word", "'ARGS'", _words),
    Option(
        ("--name",),
        "name",
        "name in output and summary (default: the program's)",
        "NAME",
        check_name,
    ),
    Option(
        ("--env",),
        "env",
        "environment variable for this block (repeat for more)",
        "K=V",
        assignment,
        many=True,
    ),
    Option(("--wdir",), "wdir", "working directory of the block", "DIR"),
    Option(
        ("--host", "--hosts"),
        "hosts",
        "hosts to run on (default: this machine, or the\n" + " " * 30 + "scheduler's allocation)",
        "A,B,...",
        split_hosts,
    ),
)

RUN_OPTIONS = (
    Option(("--file",), "file", "read blocks and settings from a job file (TOML)", "JOB.toml"),
    Option(
        ("--output",), "output", "write DIR/NAME.RANK.out and .err instead of the terminal", "DIR"
    ),
    Option(("--tee",), "tee", "with --output: show the lines as well"),
    Option(
        ("--color",),
        "color",
        "colour the prefixes (NO_COLOR is respected): auto, always,\n" + " " * 30 + "never",
        "WHEN",
        choice("auto", "always", "never"),
    ),
    Option(("--stdin",), "stdin", "block that gets this command's standard input", "NAME"),
    Option(("--keep-going",), "keep_going", "let the other blocks go on when one fails"),
    Option(
        ("--grace",),
        "grace",
        "time between SIGTERM and SIGKILL when a block has to end\n" + " " * 30 + "(default 10s)",
        "SECONDS",
        seconds,
    ),
    Option(
        ("--timeout",),
        "timeout",
        "end everything after this long, with status 124",
        "SECONDS",
        seconds,
    ),
    Option(("--summary",), "summary", "print who ended how and when even if all went well"),
    Option(("--progress",), "progress", "show the model time of each component of a coupled run"),
    Option(("--dry-run",), "dry_run", "print the commands and their environment, start nothing"),
    Option(
        ("--master-host",),
        "master_host",
        "name or address of the rendezvous as the blocks see it",
        "HOST",
    ),
    Option(
        ("--master-port",),
        "master_port",
        "its TCP port (default: a free one)",
        "PORT",
        whole(1, 65535),
    ),
    Option(("--job-id",), "job_id", "id of the run (default: a unique one)", "ID"),
    Option(
        ("--rendezvous",),
        "rendezvous",
        "serv: start waitio-serv; embedded: rank 0 of the\n"
        + " " * 30
        + "first block serves; auto: serv if it is found",
        "HOW",
        choice("auto", "serv", "embedded"),
    ),
    *OPTIONS_OF_ROUTE,
    *goingon.OPTIONS,
    Option(
        ("--tagging",),
        "tagging",
        "where the rank in the prefix comes from: direct (every\n"
        + " " * 30
        + "process hands its output over), launcher (mpiexec's own\n"
        + " " * 30
        + "tags), none, auto",
        "HOW",
        choice("auto", "direct", "launcher", "none"),
    ),
    Option(
        ("--span",),
        "span",
        "MPI programs as they are: one MPI_COMM_WORLD of all blocks",
    ),
    Option(("--separator",), "separator", "word between blocks instead of ':'", "WORD"),
    Option(("-h", "--help"), "help", "show this text"),
)

HELP = f"""usage: waitio run [OPTIONS] BLOCK : BLOCK : ...
       waitio run [OPTIONS] JOB.toml

Start the blocks of one coupled run together: the rendezvous, a fresh job secret, the WAITIO_*
variables of every block, one stream of output, one exit status.

  waitio run -n 4 --mpi openmpi ./ocean : -n 2 --mpi mpich ./atmos : ./sensor.sh

BLOCK is [BLOCK OPTIONS] PROGRAM [ARGUMENTS]. Without -n and --mpi it is one plain process;
with -n alone, N plain processes that find WAITIO_RANK and WAITIO_NPROCS in their environment.

options of a block:
{help_text(BLOCK_OPTIONS)}

options of the run (before the first program):
{help_text(RUN_OPTIONS)}

Exit status: the status of the first block that failed (128 + number for a signal), 124 after
--timeout, 2 for a wrong command line, else 0. Signals INT, TERM, USR1, USR2 reach every block;
a second INT kills.
"""


def split_blocks(words: Sequence[str], separator: str) -> list[list[str]]:
    """Split the words at each separator (not at the one that --separator itself names)."""
    parts: list[list[str]] = [[]]
    named = False
    for word in words:
        before, named = named, word == "--separator" and len(parts) == 1
        if word == separator and not before:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _separator(words: Sequence[str]) -> str:
    for position, word in enumerate(words):
        if not word.startswith("-"):
            break
        if word == "--separator" and position + 1 < len(words):
            return words[position + 1]
        if word.startswith("--separator="):
            return word.split("=", 1)[1]
    return ":"


def _block(values: dict[str, Any], command: list[str]) -> Block:
    known = {field.name for field in fields(Block)}
    given = {key: value for key, value in values.items() if key in known}
    given["env"] = dict(values.get("env", []))
    return Block(command=command, **given)


def _blocks(parts: Sequence[list[str]], first: tuple[dict[str, Any], list[str]]) -> list[Block]:
    blocks = []
    for number, words in enumerate(parts):
        where = f"block {number}"
        if number == 0:
            values, command = first
        else:
            _refuse_run_options(words, where)
            values, command = parse(words, BLOCK_OPTIONS, where)
        if not command:
            raise UsageError(f"{where}: no program given")
        blocks.append(_block(values, command))
    return blocks


def _refuse_run_options(words: Sequence[str], where: str) -> None:
    if not words:
        return
    run_names = {name for option in RUN_OPTIONS for name in option.names}
    name = words[0].partition("=")[0]
    if name in run_names:
        raise UsageError(f"{where}: {name} is an option of the run: put it before the first block")


def _job_file(values: dict[str, Any], words: Sequence[str], parts: int) -> str:
    """Return the job file the command line names, or nothing."""
    path: str = values.get("file", "")
    if path and words:
        raise UsageError(f"--file {path} and a block on the command line ('{words[0]}')")
    if not path and parts == 1 and len(words) == 1 and words[0].endswith(".toml"):
        path = words[0]
    return path


def read(words: Sequence[str]) -> tuple[list[Block], Settings, bool]:
    """Turn the words after `waitio run` into checked blocks and settings; third: help wanted."""
    parts = split_blocks(words, _separator(words))
    values, command = parse(parts[0], RUN_OPTIONS + BLOCK_OPTIONS, "waitio run")
    if values.get("help"):
        return [], Settings(), True
    path = _job_file(values, command, len(parts))
    given = {field.name: values[field.name] for field in fields(Settings) if field.name in values}
    if path:
        stray = [key for key in values if key not in given and key not in ("file", "separator")]
        if stray:
            raise UsageError(f"{path}: block options belong into the job file, not before it")
        blocks, file_settings = jobfile.load(path)
        settings = Settings(**{**file_settings, **given})
    else:
        blocks = _blocks(parts, (values, command))
        settings = Settings(**given)
    try:
        check_blocks(blocks, settings)
    except WaitioError as error:
        raise WaitioError(f"{path}: {error}" if path else str(error), error.status) from None
    return blocks, settings, False
