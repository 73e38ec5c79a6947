# SPDX-License-Identifier: BSD-3-Clause
"""`waitio cpl trace`: one timeline of a coupled run out of the files of its processes.

Each process leaves events in the times of its own clock, and how far that was ahead of the clock of
universe rank 0 at two moments (src/coupler/timeline.c). The result is in the trace event format,
which ui.perfetto.dev and chrome://tracing show: a component is a process there, a process a thread.
"""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any, Callable

from waitio import timeline
from waitio.errors import UsageError, WaitioError
from waitio.options import Option, parse

OPTIONS = (Option(("-o", "--output"), "output", "the file to write (trace.json)", "FILE"),)
HELP = """usage: waitio cpl trace FOLDER [-o FILE]

Makes one timeline of the files that a coupled run left in FOLDER (WAITIO_CPL_TRACE=FOLDER): the
steps of each process, what it waited for, and the messages between them. Open it in a browser at
ui.perfetto.dev, or in chrome://tracing.
"""


def _aligned(clock: Sequence[Sequence[float]]) -> Callable[[float], float]:
    """Return what turns times of this clock into times of rank 0's."""
    (first, ahead), (last, later) = clock
    rate = (later - ahead) / (last - first) if last > first else 0.0
    return lambda time: time - ahead - rate * (time - first)


def _read(path: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            head, *events = json.load(file)
        if head.get("waitio coupler") != 1:
            raise ValueError("of another version")
    except OSError as error:
        raise WaitioError(f"cannot read '{path}': {error.strerror}") from None
    except (ValueError, AttributeError, TypeError) as error:
        raise WaitioError(f"'{path}' is no timeline of a component: {error}") from None
    return head, events


def _shown(event: dict[str, Any]) -> tuple[str, str, dict[str, Any]]:
    """Return name, category and details of an event with a length."""
    if event["what"] == "wait":
        fields = f": {event['fields']}" if "fields" in event else ""
        return f"wait for {event['with']}{fields}", "wait", {}
    kind = "step" if event["what"] == "step" else "coupler"
    name = f"step at {event['model']} s" if kind == "step" else "coupler"
    return name, kind, {"model time (s)": event["model"]}


def shown(
    place: timeline.Place,
    events: Sequence[dict[str, Any]],
    seconds: Callable[[float], float],
) -> Iterator[timeline.Event]:
    """Return events of a process for the viewer; `seconds` turns its times into common ones."""
    for event in events:
        start = seconds(event["from"]) * 1e6
        if event["what"] in ("sent", "got"):
            begins = event["what"] == "sent"
            yield timeline.arrow(place, begins, event["fields"], event["id"], start)
            continue
        name, kind, args = _shown(event)
        length = seconds(event["to"]) * 1e6 - start
        yield timeline.piece(place, name, kind, start, length, args)


def _events(
    head: dict[str, Any], events: Sequence[dict[str, Any]], zero: float
) -> Iterator[dict[str, Any]]:
    to_rank_0 = _aligned(head["clock"])
    place = {"pid": head["number"], "tid": head["process"]}
    yield timeline.process_name(place, head["component"])
    yield timeline.row_name(place, f"process {head['process']} (rank {head['rank']})")
    yield from shown(place, events, lambda time: to_rank_0(time) - zero)


def read_all(folder: str) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Read the files of all processes in a folder: head and events of each."""
    return [_read(p) for p in sorted(glob.glob(os.path.join(glob.escape(folder), "cpl.*.*.json")))]


def merge(folder: str) -> tuple[dict[str, Any], int]:
    """Return the timeline of all files in a folder, and how many events were left out."""
    read = read_all(folder)
    if not read:
        raise WaitioError(
            f"no timelines (cpl.*.json) in '{folder}': run with WAITIO_CPL_TRACE={folder}, which"
            " must exist"
        )
    starts = [_aligned(head["clock"])(event["from"]) for head, events in read for event in events]
    zero = min(starts, default=0.0)
    events = [event for head, some in read for event in _events(head, some, zero)]
    trace = {"traceEvents": timeline.whole_arrows(events), "displayTimeUnit": "ms"}
    return trace, sum(head["lost"] for head, _ in read)


def main(words: Sequence[str]) -> int:
    """Run the command; return its exit status."""
    if "--help" in words or "-h" in words:
        print(HELP, end="")
        return 0
    folders: list[str] = []
    values: dict[str, Any] = {}
    rest = list(words)
    while rest:  # options may stand behind the folder
        found, rest = parse(rest, OPTIONS, "waitio cpl trace")
        values.update(found)
        folders += rest[:1]
        rest = rest[1:]
    if len(folders) != 1:
        raise UsageError("waitio cpl trace needs one folder; see waitio cpl trace --help")
    trace, lost = merge(folders[0])
    path = values.get("output", "trace.json")
    timeline.write(path, trace["traceEvents"])
    note = f"; {lost} more were left out, for want of memory" if lost else ""
    print(f"{path}: {len(trace['traceEvents'])} events{note}; open it at ui.perfetto.dev")
    return 0
