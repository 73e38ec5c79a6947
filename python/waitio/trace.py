# SPDX-License-Identifier: BSD-3-Clause
"""`waitio trace`: one timeline of all processes, and who waited for whom."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from waitio import timeline, traceview, tracewaits
from waitio import traceevents as what
from waitio.errors import UsageError
from waitio.options import Choice, Option, parse
from waitio.tracerun import Run, load

OPTIONS = (
    Option(("-o", "--output"), "output", "the file to write (trace.json); none: none", "FILE"),
    Option(("--by",), "by", "process, block", "WHAT", convert=Choice("process", "block")),
    Option(("--json",), "json", "print the table and the clocks as JSON"),
)
HELP = """usage: waitio trace FOLDER [-o FILE] [--by process|block] [--json]

Makes one timeline of what a run has left in FOLDER (WAITIO_TRACE=FOLDER): messages with arrows from
their senders to their receivers, waits, collectives, phases, and the steps of coupled models if
WAITIO_CPL_TRACE was the same folder. Open it in a browser at ui.perfetto.dev, or in
chrome://tracing. Then prints who waited for whom. Of killed processes it shows what they were at.

  -o, --output FILE   the file to write (trace.json); -o none writes none
  --by process|block  the rows of the table (process, with more than 8 of them block)
  --json              print the table, the clocks and what is missing as JSON
"""


def _notes(run: Run) -> list[str]:
    """Tell what a reader must know of the traces."""
    notes = []
    lost = sum(trace.lost for trace in run.traces)
    if lost:
        number = sum(1 for trace in run.traces if trace.lost)
        notes.append(
            f"{lost} events of {number} processes are missing, mostly the oldest: WAITIO_TRACE_MAX"
            " bounds how many are kept"
        )
    notes += [f"'{t.path}' ends too early: a part of it is missing" for t in run.traces if t.cut]
    for universe in run.universes:
        here = [trace for trace in run.traces if trace.universe == universe]
        missing = here[0].size - len(here)
        if missing > 0:
            notes.append(
                f"universe {universe[:8]}: {missing} of {here[0].size} processes left no trace here"
            )
        bad = [trace.name for trace in here if trace.state != 1]
        if bad:
            more = f" and {len(bad) - 4} more" if len(bad) > 4 else ""
            notes.append(f"{', '.join(bad[:4])}{more}: killed, aborted, or still running")
    return notes


def _clock_text(clock: dict[str, Any]) -> str:
    hosts = ", ".join(clock["hosts"])
    ahead = f"clock of {hosts}: {clock['ahead_s'] * 1e6:+.1f} us"
    if clock["unsure_s"] is None:
        return f"{ahead}, by its own word (no messages in both directions)"
    drift = f", {clock['drift_s'] * 1e6:+.1f} us more at the end" if clock["drift_s"] else ""
    return f"{ahead} +- {clock['unsure_s'] * 1e6:.1f} us{drift} (of {clock['messages']} messages)"


def _program(run: Run, rows: list[tracewaits.Wait], faults: list[str]) -> dict[str, Any]:
    return {
        "waits": tracewaits.as_json(rows),
        "clocks": run.clocks.report(),
        "processes": [
            {
                "universe": p.trace.universe,
                "rank": p.trace.rank,
                "name": p.trace.name,
                "host": p.trace.host,
                "pid": p.trace.pid,
                "state": what.STATE_TEXT.get(p.trace.state, "?"),
                "events": len(p.trace.records),
                "lost": p.trace.lost,
                "begin_s": p.begins,
                "end_s": p.ends,
            }
            for p in run.processes
        ],
        "notes": _notes(run),
        "left_out": faults,
    }


def _words(words: Sequence[str]) -> tuple[str, dict[str, Any]]:
    folders: list[str] = []
    values: dict[str, Any] = {}
    rest = list(words)
    while rest:  # options may stand behind the folder
        found, rest = parse(rest, OPTIONS, "waitio trace")
        values.update(found)
        folders += rest[:1]
        rest = rest[1:]
    if len(folders) != 1:
        raise UsageError("waitio trace needs one folder; see waitio trace --help")
    return folders[0], values


def main(words: Sequence[str]) -> int:
    """Run the command; return its exit status."""
    if "--help" in words or "-h" in words:
        print(HELP, end="")
        return 0
    folder, values = _words(words)
    run, faults = load(folder)
    for fault in faults:
        print(f"waitio: left out: {fault}", file=sys.stderr)
    path = values.get("output", "trace.json")
    by_block = values.get("by", "block" if tracewaits.many(run) else "process") == "block"
    rows = tracewaits.table(run, by_block)
    number = timeline.write(path, traceview.events(run, folder)) if path != "none" else 0
    if values.get("json"):
        print(json.dumps(_program(run, rows, faults)))
        return 0
    if path != "none":
        print(f"{path}: {number} events; open it at ui.perfetto.dev")
    for text in (*_notes(run), *map(_clock_text, run.clocks.report())):
        print(text)
    print(tracewaits.as_text(rows), end="")
    return 0
