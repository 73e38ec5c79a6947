# SPDX-License-Identifier: BSD-3-Clause
"""`waitio iotest`: what it costs to hand steps from a simulation to an analysis, and by which way.

Here are the cases, the blocks (started as `waitio run` starts them), the table and the JSON file;
`iotestwork` is the program of the blocks, `iotestways` knows the ways.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from waitio import __version__, dryrun, iotestplot, perf, plotstyle
from waitio.blocks import Block, Settings, check_blocks
from waitio.errors import UsageError, WaitioError, nearest
from waitio.machine import cores, processor
from waitio.options import Option, help_text, parse, seconds, whole
from waitio.output import show_all
from waitio.resultfile import RESULT_OPTIONS, ResultFile
from waitio.runargs import split_hosts

FORMAT = 1
HEAD = {"iotest": FORMAT, "version": __version__}
RESULT_FILE = ResultFile("waitio iotest", HEAD, "rows", iotestplot.check, iotestplot.draw)
load = RESULT_FILE.load
ROUNDS = 3
STEPS = 10
PROCS = [(2, 2), (2, 4), (4, 2)]
WAYS = ("stage", "two-sided", "file", "bp5", "sst")
ADIOS = ("bp5", "sst")
# Ways of other systems that ours has no counterpart for.
BY_ITSELF = "push and pull are no ways of their own: WaitIO's staging decides by itself who begins"
ABSENT = {
    "push": f"{BY_ITSELF}: measure 'stage'",
    "pull": f"{BY_ITSELF}: measure 'stage'",
    "one-sided": "WaitIO has no one-sided messages: measure 'stage' and 'two-sided'",
}
UNITS = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
MAX_BYTES = 16 << 30
RESULT = b'{"iotest":'
WORK = "from waitio.iotestwork import main; raise SystemExit(main())"


def sizes(text: str) -> list[int]:
    """Convert "8,64K,16M" to numbers of bytes."""
    found = []
    for word in text.split(","):
        match = re.fullmatch(r"(\d{1,12})([BKMG]?)(?:i?B)?", word.strip(), re.IGNORECASE)
        number = int(match[1]) * UNITS[match[2].upper()] if match else 0
        if not match or not 8 <= number <= MAX_BYTES:
            raise ValueError(f"'{word}' is no number of bytes from 8 to 16G, as in 8,64K,16M")
        found.append(number)
    return found


def pairs(text: str) -> list[tuple[int, int]]:
    """Convert "2x2,2x5" to pairs of numbers of writers and readers."""
    found = []
    for word in text.split(","):
        match = re.fullmatch(r"(\d{1,5})x(\d{1,5})", word.strip())
        if not match or not int(match[1]) or not int(match[2]):
            raise ValueError(f"'{word}' is no WRITERSxREADERS, as in 2x2,2x5")
        found.append((int(match[1]), int(match[2])))
    return found


def ways(text: str) -> list[str]:
    """Convert a comma list of ways; say why one is not there."""
    found = []
    for word in text.split(","):
        if word in ABSENT:
            raise ValueError(f"{ABSENT[word]}; known are {', '.join(WAYS)}")
        if word not in WAYS:
            raise ValueError(f"'{word}': known are {', '.join(WAYS)}{nearest(word, WAYS)}")
        found.append(word)
    return found


def times(text: str) -> list[float]:
    """Convert "0,5ms" to seconds."""
    return [seconds(word) for word in text.split(",")]


MEASURE_OPTIONS = (
    Option(
        ("--procs",),
        "procs",
        "numbers of writers and readers (default 2x2,2x4,4x2)",
        "MxN,...",
        pairs,
    ),
    Option(("--bytes",), "bytes", "of each writer in a step (default 64K,1M,16M)", "LIST", sizes),
    Option(
        ("--ways",),
        "ways",
        ", ".join(WAYS) + " (default: all that are there)",
        "LIST",
        ways,
    ),
    Option(
        ("--compute",),
        "compute",
        "time that writers compute before each step, as 0,20ms\n" + " " * 30 + "(default 0)",
        "LIST",
        times,
    ),
    Option(("--steps",), "steps", "steps that are measured (default 10)", "N", whole(1, 100_000)),
    Option(
        ("--rounds",),
        "rounds",
        "times that everything is measured; the table has the\n" + " " * 30 + "medians (default 3)",
        "N",
        whole(1, 1000),
    ),
    Option(
        ("--queue",),
        "queue",
        "steps that writers keep; 0: they wait for the readers\n" + " " * 30 + "(default 2)",
        "N",
        whole(0, 1000),
    ),
    Option(("--dir",), "dir", "folder for the files of file, bp5, sst (default: here)", "FOLDER"),
    Option(("--limit",), "limit", "longest wait for anything (default 60s)", "TIME", seconds),
)
_SHARED = ("mpi", "mpi_args", "env", "master_host", "timeout", "dry_run")
PLACE_OPTIONS = (
    *(option for option in perf.PLACE_OPTIONS if option.dest in _SHARED),
    Option(("--hosts",), "hosts", "that of the writers, that of the readers", "A,B", split_hosts),
    Option(("--transport",), "transport", "auto, socket, shm, file: sets WAITIO_COMM_TYPE", "T"),
)
OPTIONS = MEASURE_OPTIONS + PLACE_OPTIONS + RESULT_OPTIONS
HELP = f"""usage: waitio iotest [OPTIONS]

Measures what it costs to hand the steps of a simulation to an analysis: writers and readers are
separate blocks, started for the purpose; all data is checked.

  waitio iotest                                     on this machine
  waitio iotest --procs 2x5,5x2 --bytes 1M,100M     other numbers of processes, larger steps
  waitio iotest --compute 0,50ms --plot io.svg      while the simulation computes; a picture

ways:
  stage       staging (waitio.stage): steps, a queue, boxes; it decides by itself who begins
  two-sided   messages only: both sides know what comes; no steps, no queue: a floor for staging
  file        a plain file for each writer and step, through the page cache: what files cost
  bp5, sst    ADIOS2, if its Python package is installed; a stream for each writer

what to measure:
{help_text(MEASURE_OPTIONS)}

where:
{help_text(PLACE_OPTIONS)}

results:
{help_text(RESULT_OPTIONS)}

Columns: "step" is the time from one step to the next, as the slowest reader sees it; "writers lose"
is what the slowest writer spends in put and end_step, "readers take" what the slowest reader spends
from asking for a step to having it. Means over the steps of a round, medians of the rounds. GB/s:
bytes of all writers in a step, over "step".
"""


class IotestSink(perf.PerfSink):
    """Collects what the processes print; shows the row of a case when its last round is over."""

    def __init__(self, settings: Settings, cases: Sequence[dict[str, Any]], rounds: int) -> None:
        """Nothing has come yet."""
        super().__init__(settings)
        self.rows: list[dict[str, Any]] = []
        self._cases = cases
        self._rounds = rounds
        self._found: dict[int, list[dict[str, Any]]] = {}

    def put(self, fd: int, pbid: int, name: str, rank: int, lines: bytes) -> None:
        """Take lines of one process."""
        for line in lines.splitlines():
            if fd == 1 and line.startswith(RESULT):
                self._take(json.loads(line)["iotest"])
            else:
                super().put(fd, pbid, name, rank, line + b"\n")

    def _take(self, found: dict[str, Any]) -> None:
        number = found["case"]
        self._found.setdefault(number, []).append(found)
        case = self._cases[number % len(self._cases)]
        if len(self._found[number]) < case["writers"] + case["readers"]:
            return
        total = self._rounds * len(self._cases)
        if number < total - len(self._cases):
            if os.isatty(2):
                self._progress(number + 1, total, case["way"].encode())
            return
        self._clear()
        first = number % len(self._cases)
        rounds = [self._found[n] for n in range(first, total, len(self._cases))]
        self.rows.append(result(case, rounds))
        show_all(1, (row_text(self.rows[-1]) + "\n").encode())


def result(case: dict[str, Any], rounds: Sequence[Sequence[dict[str, Any]]]) -> dict[str, Any]:
    """Make one row of what all processes have measured in each round of a case."""

    def spread(key: str, *sides: bool) -> dict[str, float]:
        slowest = [max(f[key] for f in found if f["writes"] in sides) for found in rounds]
        return {"median": statistics.median(slowest), "low": min(slowest), "high": max(slowest)}

    step = spread("period", False)
    return {
        **case,
        "rounds": len(rounds),
        "step": step,
        "writers_lose": spread("lost", True),
        "readers_take": spread("lost", False),
        "open": spread("open", True, False),
        "pushes": sum(f["pushes"] for found in rounds for f in found),
        "bytes_per_s": case["bytes"] * case["writers"] / step["median"],
        "hosts": sorted({f["host"] for f in rounds[0]}),
        "processors": sorted({f["processor"] for f in rounds[0]}),
    }


def _time(value: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale or unit == "us":
            return f"{value / scale:.4g} {unit}"
    raise AssertionError


def head_text() -> str:
    """Return the head of the table."""
    return (
        f"{'writers':>7} {'readers':>7} {'way':<10}{'bytes each':>11}{'compute':>9}"
        f"{'step':>10}{'writers lose':>14}{'readers take':>14}{'open':>10}{'GB/s':>10}"
    )


def row_text(row: dict[str, Any]) -> str:
    """Return a row of the table."""
    compute = _time(row["compute"]) if row["compute"] else "0"
    return (
        f"{row['writers']:>7} {row['readers']:>7} {row['way']:<10}"
        f"{plotstyle.size(row['bytes']):>11}{compute:>9}{_time(row['step']['median']):>10}"
        f"{_time(row['writers_lose']['median']):>14}{_time(row['readers_take']['median']):>14}"
        f"{_time(row['open']['median']):>10}{row['bytes_per_s'] / 1e9:>10.3g}"
    )


def _ways(values: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the ways to measure, and what to say about those that are not there."""
    there = importlib.util.find_spec("adios2") is not None
    chosen = values.get("ways", list(WAYS))
    notes = []
    missing = [way for way in chosen if way in ADIOS and not there]
    if missing:
        text = f"{', '.join(missing)}: the Python package adios2 is not installed"
        if "ways" in values:
            raise WaitioError(f"waitio iotest: {text} (pip install adios2)")
        notes.append(f"not measured: {text}")
    if "ways" not in values:
        notes.append(BY_ITSELF)
    most = max(sum(pair) for pair in values.get("procs", PROCS))
    if "hosts" not in values and most > cores():
        notes.append(f"up to {most} processes share {cores()} processors: times hold their turns")
    return [way for way in chosen if way not in missing], notes


def _cases(values: dict[str, Any], chosen: Sequence[str]) -> list[list[dict[str, Any]]]:
    """Return the cases of each run: a run has fixed numbers of processes."""
    return [
        [
            {
                "writers": writers,
                "readers": readers,
                "way": way,
                "bytes": size // 8 * 8,
                "compute": compute,
                "steps": values.get("steps", STEPS),
            }
            for size in values.get("bytes", [1 << 16, 1 << 20, 1 << 24])
            for compute in values.get("compute", [0.0])
            for way in chosen
        ]
        for writers, readers in values.get("procs", PROCS)
    ]


def _blocks(values: dict[str, Any], cases: Sequence[dict[str, Any]], folder: str) -> list[Block]:
    spec = {
        "cases": cases,
        "rounds": values.get("rounds", ROUNDS),
        "queue": values.get("queue", 2),
        "limit": values.get("limit", 60.0),
        "folder": folder,
    }
    command = [sys.executable, "-c", WORK, json.dumps(spec)]
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {"PYTHONPATH": os.pathsep.join(paths)}
    if "transport" in values:
        env["WAITIO_COMM_TYPE"] = values["transport"]
    flavours = values.get("mpi", ["none"])
    hosts = values.get("hosts", [])
    numbers = (cases[0]["writers"], cases[0]["readers"])
    return [
        Block(
            command=list(command),
            name=name,
            n=numbers[pbid],
            mpi=flavours[pbid % len(flavours)],
            mpi_args=values.get("mpi_args", []),
            env={**env, **dict(values.get("env", []))},
            hosts=hosts[pbid % len(hosts) :][:1] if hosts else [],
        )
        for pbid, name in enumerate(("writers", "readers"))
    ]


def _run(
    blocks: list[Block], settings: Settings, cases: list[dict[str, Any]], rounds: int
) -> tuple[int, list[dict[str, Any]]]:
    status, sink = perf.run_blocks(
        blocks, settings, lambda settings: IotestSink(settings, cases, rounds)
    )
    rows = sink.rows if sink else []
    if not status and len(rows) < len(cases):
        raise WaitioError("waitio iotest: the processes have ended without results")
    return status, rows


def _folder(values: dict[str, Any]) -> str:
    base = values.get("dir", os.curdir)
    try:
        return tempfile.mkdtemp(prefix=".waitio-iotest-", dir=os.path.abspath(base))
    except OSError as error:
        raise WaitioError(f"--dir '{base}': {error.strerror}") from None


def _rehearse(values: dict[str, Any], runs: Sequence[list[dict[str, Any]]], see: Settings) -> None:
    """Refuse before anything is measured what cannot be started; --dry-run shows the rest."""
    os.rmdir(_folder(values))
    for cases in runs:
        blocks = _blocks(values, cases, "FOLDER")
        check_blocks(blocks, see)
        if see.dry_run:
            sys.stdout.write(dryrun.describe(blocks, see))


def _measure(values: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
    chosen, notes = _ways(values)
    given = {key: values[key] for key in ("timeout", "master_host", "dry_run") if key in values}
    settings = Settings(**given)
    runs = _cases(values, chosen)
    _rehearse(values, runs, settings)
    if settings.dry_run:
        return 0, []
    steps, rounds = values.get("steps", STEPS), values.get("rounds", ROUNDS)
    lines = [f"WaitIO {__version__}, {processor()}; medians of {rounds} rounds of {steps} steps"]
    show_all(1, "".join(f"{line}\n" for line in (*lines, *notes, "", head_text())).encode())
    found: list[dict[str, Any]] = []
    for cases in runs:
        folder = _folder(values)
        try:
            blocks = _blocks(values, cases, folder)
            check_blocks(blocks, settings)
            status, rows = _run(blocks, settings, cases, values.get("rounds", ROUNDS))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        found += rows
        if status:
            return status, found
    return 0, found


def main(words: list[str]) -> int:
    """Run the subcommand; return its exit status."""
    values, rest = parse(words, OPTIONS, "waitio iotest")
    if values.get("help"):
        sys.stdout.write(HELP)
        return 0
    if rest:
        raise UsageError(
            f"waitio iotest: '{rest[0]}': only options are taken; see waitio iotest --help"
        )
    if "WAITIO_PBID" in os.environ:
        raise UsageError(
            "waitio iotest starts its own blocks; it cannot be one (WAITIO_PBID is set)"
        )
    return RESULT_FILE.serve(values, _measure)
