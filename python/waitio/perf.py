# SPDX-License-Identifier: BSD-3-Clause
"""`waitio perf`: start waitio-perf in as many blocks as wanted, show what it finds, keep it.

The C program measures. Here are the blocks (started as `waitio run` starts them), the
terminal, several runs side by side, the JSON file and the plot.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Callable, TypeVar

from waitio import dryrun, jobfile, perfplot
from waitio.blocks import MAX_PROCS, Block, Settings, check_blocks
from waitio.errors import UsageError, WaitioError
from waitio.options import Option, assignment, help_text, parse, seconds, whole
from waitio.output import Sink, show_all
from waitio.resultfile import RESULT_OPTIONS, ResultFile
from waitio.runargs import BLOCK_OPTIONS, split_hosts
from waitio.tools import exec_tool, find_tool

TOOL = "waitio-perf"
FORMAT = 1
RESULT_FILE = ResultFile("waitio perf", {"format": FORMAT}, "runs", perfplot.check, perfplot.draw)
load = RESULT_FILE.load


def _counts(text: str) -> list[int]:
    convert = whole(1, 1024)
    return [convert(word) for word in text.split(",")]


def _list(text: str) -> list[str]:
    words = text.split(",")
    if not all(words):
        raise ValueError("a comma list is needed")
    return words


# Read by waitio-perf, which also checks the values.
MEASURE_OPTIONS = (
    Option(
        ("--mode",),
        "mode",
        "what to measure: latency (default), bandwidth, rate,\n"
        + " " * 30
        + "overlap, load, all; or a comma list",
        "LIST",
    ),
    Option(("--sizes",), "sizes", "message sizes, as 8,1K,64K or 8-64M (doubling)", "LIST"),
    Option(
        ("--streams",),
        "streams",
        "pairs at work at the same time, as 1,2,4 or 1-4 or max\n" + " " * 30 + "(default 1)",
        "LIST",
    ),
    Option(
        ("--pairs",),
        "pairs",
        "which processes make a pair: within (one block, one\n"
        + " " * 30
        + "host), across (two blocks), nodes (two hosts), auto",
        "KIND",
    ),
    Option(
        ("--rounds",),
        "rounds",
        "round trips between two barriers (default 1000; fewer\n" + " " * 30 + "for large sizes)",
        "N",
    ),
    Option(
        ("--transport",),
        "transport",
        "auto, socket, shm, file, hybrid: sets WAITIO_COMM_TYPE",
        "T",
    ),
    Option(("--quiet",), "quiet", "show no progress"),
)

PLACE_OPTIONS = (
    Option(
        ("--blocks",),
        "blocks",
        "how many blocks (default 2); 1,2 measures one block and\n"
        + " " * 30
        + "then two, and compares",
        "LIST",
        _counts,
    ),
    Option(
        ("-n", "-np"),
        "n",
        "processes of each block (default: what --streams needs)",
        "N",
        whole(1, MAX_PROCS),
    ),
    Option(
        ("--mpi",),
        "mpi",
        "how the blocks are started, as openmpi or openmpi,mpich\n"
        + " " * 30
        + "(block by block); see waitio run --help",
        "LIST",
        _list,
    ),
    next(option for option in BLOCK_OPTIONS if option.dest == "mpi_args"),
    Option(
        ("--host", "--hosts"),
        "hosts",
        "hosts, one block on each (a single block: on all)",
        "A,B,...",
        split_hosts,
    ),
    Option(
        ("--env",), "env", "environment variable (repeat for more)", "K=V", assignment, many=True
    ),
    Option(
        ("--file",),
        "file",
        "take the blocks of a job file, with waitio-perf in place\n" + " " * 30 + "of its programs",
        "JOB.toml",
    ),
    Option(("--master-host",), "master_host", "the rendezvous as the blocks see it", "HOST"),
    Option(("--timeout",), "timeout", "end everything after this long", "SECONDS", seconds),
    Option(("--dry-run",), "dry_run", "print the commands, start nothing"),
)

OPTIONS = MEASURE_OPTIONS + PLACE_OPTIONS + RESULT_OPTIONS

HELP = f"""usage: waitio perf [OPTIONS]

Measure messages between the processes of parallel blocks started for the purpose.

  waitio perf                                  ping-pong between two blocks on this machine
  waitio perf --blocks 1,2 --streams 1-2       within one block against between two
  waitio perf --hosts a,b --mode all           between two machines
  waitio perf --json r.json --plot r.png       keep the results, draw them

what to measure:
{help_text(MEASURE_OPTIONS)}

where:
{help_text(PLACE_OPTIONS)}

results:
{help_text(RESULT_OPTIONS)}

Inside a run that exists already, start waitio-perf as the program of every block:
  waitio run -n 2 waitio-perf --mode latency : -n 2 waitio-perf --mode latency
"""

PROGRESS = re.compile(rb"waitio-perf: (\d+)/(\d+) (.*)")
RESULTS = b'{"format":'
SinkT = TypeVar("SinkT", bound=Sink)


class PerfSink(Sink):
    """Shows the tables as they are, progress as a bar on a terminal, and keeps the results."""

    def __init__(self, settings: Settings) -> None:
        """Nothing is shown yet."""
        super().__init__(settings)
        self.results = b""
        self._bar = os.isatty(2)
        self._drawn = False

    def put(self, fd: int, pbid: int, name: str, rank: int, lines: bytes) -> None:
        """Take lines of one process."""
        for line in lines.splitlines():
            progress = PROGRESS.fullmatch(line) if fd == 2 else None
            if fd == 1 and line.startswith(RESULTS):
                self.results = line
            elif progress:
                self._progress(int(progress[1]), int(progress[2]), progress[3])
            else:
                self._clear()
                if fd == 1:
                    show_all(1, line + b"\n")
                else:
                    super().put(fd, pbid, name, rank, line + b"\n")

    def close(self) -> None:
        """Leave a clean line."""
        self._clear()
        super().close()

    def _progress(self, at: int, total: int, text: bytes) -> None:
        if not self._bar:
            show_all(2, b"%d/%d %s\n" % (at, total, text))
            return
        width = 20
        filled = min(width, (at - 1) * width // max(1, total))
        bar = b"#" * filled + b"." * (width - filled)
        show_all(2, b"\r\033[K[%s] %d/%d %s" % (bar, at, total, text))
        self._drawn = True

    def _clear(self) -> None:
        if self._drawn:
            show_all(2, b"\r\033[K")
            self._drawn = False


def _measure_words(values: dict[str, Any]) -> list[str]:
    """Return the options that waitio-perf gets."""
    words = []
    for option in MEASURE_OPTIONS:
        if option.dest in values:
            words.append(option.names[0])
            if option.metavar:
                words.append(values[option.dest])
    return words


def _tool() -> str:
    path = find_tool(TOOL)
    if path is None:
        raise WaitioError(
            f"'{TOOL}' is not installed beside this command and not in PATH; build and install the"
            " C library, or name the program in WAITIO_PERF",
            127,
        )
    os.environ.pop("WAITIO_PERF", None)  # the blocks' library would wonder about it
    return os.path.abspath(path)


def _check(tool: str, words: Sequence[str]) -> int:
    """Let the program look at its options once, before many of them complain."""
    try:
        return subprocess.run([tool, *words, "--check"], check=False).returncode
    except OSError as error:
        raise WaitioError(f"cannot start '{tool}': {error.strerror}", 126) from None


def _processes(values: dict[str, Any], blocks: int) -> int:
    """Return how many processes each block needs for the streams that were asked for."""
    if "n" in values:
        return int(values["n"])
    streams = values.get("streams", "1")
    if streams == "max":
        raise UsageError("waitio perf: --streams max: say how many processes a block has (-n)")
    most = max(int(number) for number in re.findall(r"\d+", streams))
    return most if blocks > 1 else 2 * most


def make_blocks(values: dict[str, Any], count: int, command: list[str]) -> list[Block]:
    """Return the blocks of one run."""
    flavours = values.get("mpi", ["none"])
    hosts = values.get("hosts", [])
    blocks = []
    for pbid in range(count):
        here = hosts if count == 1 else hosts[pbid % len(hosts) :][:1] if hosts else []
        blocks.append(
            Block(
                command=list(command),
                name=f"perf{pbid}",
                n=_processes(values, count),
                mpi=flavours[pbid % len(flavours)],
                mpi_args=values.get("mpi_args", []),
                env=dict(values.get("env", [])),
                hosts=here,
            )
        )
    return blocks


def _plan(values: dict[str, Any], command: list[str]) -> tuple[list[list[Block]], Settings]:
    given = {key: values[key] for key in ("timeout", "master_host", "dry_run") if key in values}
    if "file" not in values:
        runs = [make_blocks(values, count, command) for count in values.get("blocks", [2])]
        settings = Settings(**given)
    else:
        fixed = ("blocks", "n", "mpi", "mpi_args", "hosts", "env")
        stray = [o.names[0] for o in PLACE_OPTIONS if o.dest in fixed and o.dest in values]
        if stray:
            raise UsageError(
                f"waitio perf: --file {values['file']} says where the blocks run;"
                f" leave out {stray[0]}"
            )
        blocks, of_file = jobfile.load(values["file"])
        of_file = {k: v for k, v in of_file.items() if k not in ("output", "tee", "stdin")}
        for block in blocks:
            block.command = list(command)
        runs, settings = [blocks], Settings(**{**of_file, **given})
    for blocks in runs:
        check_blocks(blocks, settings)
    return runs, settings


def run_blocks(
    blocks: list[Block], settings: Settings, make_sink: Callable[[Settings], SinkT]
) -> tuple[int, SinkT | None]:
    """Run once; return the exit status and the sink, which knows what was printed."""
    from waitio.runner import Runner

    sinks: list[SinkT] = []

    def keep(settings: Settings) -> SinkT:
        sinks.append(make_sink(settings))
        return sinks[-1]

    status = Runner(blocks, settings, keep).run()
    return status, sinks[-1] if sinks else None


def _run(blocks: list[Block], settings: Settings) -> tuple[int, list[dict[str, Any]]]:
    """Run once; return the exit status and what was found."""
    status, sink = run_blocks(blocks, settings, PerfSink)
    text = sink.results if sink else b""
    if status:
        return status, []
    try:
        return 0, json.loads(text)["runs"]
    except (ValueError, LookupError):
        raise WaitioError(f"{TOOL} has printed no results (is it of this version?)") from None


def compare(runs: Sequence[dict[str, Any]]) -> list[str]:
    """Return a table of the latencies of several runs, the first being 1."""
    kept = [
        {
            (row["streams"], row["bytes"]): row["half_rtt_worst_mean"]
            for row in run["results"]
            if row["mode"] == "latency"
        }
        for run in runs
    ]
    keys = [key for key in kept[0] if all(key in run for run in kept)] if kept else []
    if not keys:
        return []
    names = [f"{run['blocks']} block{'s' if run['blocks'] != 1 else ''}" for run in runs]
    lines = ["", "latency, mean of the worst stream; x = time over that of the first column"]
    lines.append("streams        bytes" + "".join(f"{name:>20}" for name in names))
    for streams, size in keys:
        first = kept[0][streams, size]
        cells = f"{first * 1e6:17.2f} us"
        for run in kept[1:]:
            time = run[streams, size]
            cells += f"{time * 1e6:10.2f} us x{time / first:5.2f}"
        lines.append(f"{streams:7} {size:12}" + cells)
    return lines


def _measure(values: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
    tool, words = _tool(), _measure_words(values)
    status = _check(tool, words)
    if status:
        return status, []
    plans, settings = _plan(values, [tool, *words, "--json", "-"])
    if settings.dry_run:
        sys.stdout.write("".join(dryrun.describe(blocks, settings) for blocks in plans))
        return 0, []
    found: list[dict[str, Any]] = []
    for number, blocks in enumerate(plans):
        if number:
            show_all(1, b"\n")
        status, results = _run(blocks, settings)
        if status:
            return status, found
        found += results
    if len(plans) > 1:
        show_all(1, "".join(line + "\n" for line in compare(found)).encode())
    return 0, found


def main(words: list[str]) -> int:
    """Run the subcommand; return its exit status."""
    if os.environ.get("WAITIO_PBID"):
        return _inside(words)
    values, rest = parse(words, OPTIONS, "waitio perf")
    if values.get("help"):
        sys.stdout.write(HELP)
        return 0
    if rest:
        raise UsageError(
            f"waitio perf: '{rest[0]}': only options are taken; see waitio perf --help"
        )
    return RESULT_FILE.serve(values, _measure)


def _inside(words: list[str]) -> int:
    """Be one process of a block that somebody else has started."""
    ours = {name for option in PLACE_OPTIONS for name in option.names} | {"--plot", "--from"}
    for word in words:
        if word.partition("=")[0] in ours:
            raise UsageError(
                f"waitio perf: {word}: this is a process of a block that exists already"
                " (WAITIO_PBID is set); only options that say what to measure, and --json, are"
                " taken. Draw afterwards: waitio perf --from FILE --plot FILE"
            )
    return exec_tool(TOOL, words)
