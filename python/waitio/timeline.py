# SPDX-License-Identifier: BSD-3-Clause
"""The trace event format (JSON), which ui.perfetto.dev and chrome://tracing show.

Each function makes one event. `place` is where it stands: {"pid": process, "tid": row}; times are
in microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from waitio.errors import WaitioError

Event = dict[str, Any]
Place = dict[str, int]


def process_name(place: Place, name: str) -> Event:
    """Name a process."""
    return {"ph": "M", "name": "process_name", "args": {"name": name}, **place}


def row_name(place: Place, name: str) -> Event:
    """Name a row of a process."""
    return {"ph": "M", "name": "thread_name", "args": {"name": name}, **place}


def order(place: Place, what: str, number: int) -> Event:
    """Say where a "process" stands among the others, or a "thread" (row) in its process."""
    key = f"{what}_sort_index"
    return {"ph": "M", "name": key, "args": {"sort_index": number}, **place}


def piece(
    place: Place, name: str, kind: str, start: float, length: float, details: dict[str, Any]
) -> Event:
    """Show something that takes time. Pieces of a row must lie within each other, or apart."""
    head = {"ph": "X", "name": name, "cat": kind, "ts": start, "dur": length}
    return {**head, "args": details, **place}


def arrow(place: Place, begins: bool, name: str, number: str, time: float) -> Event:
    """Show one end of a message; it ends in the piece around its time."""
    end = {"ph": "s"} if begins else {"ph": "f", "bp": "e"}
    return {"name": name, "cat": "message", "id": number, "ts": time, **end, **place}


def whole_arrows(events: Sequence[Event]) -> list[Event]:
    """Leave out messages of which one end is not there."""
    ends: dict[str, set[str]] = {"s": set(), "f": set()}
    for event in events:
        if event["ph"] in ends:
            ends[event["ph"]].add(event["id"])
    both = ends["s"] & ends["f"]
    return [event for event in events if event["ph"] not in ends or event["id"] in both]


def write(path: str, events: Iterable[Event]) -> int:
    """Write a file of them; return how many."""
    number = 0
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"displayTimeUnit": "ms", "traceEvents": [')
            for event in events:
                file.write(",\n" if number else "\n")
                file.write(json.dumps(event))
                number += 1
            file.write("\n]}\n")
    except OSError as error:
        raise WaitioError(f"cannot write '{path}': {error.strerror}") from None
    return number
