# SPDX-License-Identifier: BSD-3-Clause
"""Who waited for whom: sums over the waits of a trace."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from waitio import traceevents as what
from waitio.tracefile import NOBODY, Record
from waitio.tracerun import Process, Run

MANY = 8  # processes: beyond, the table is one of blocks
ROWS = 20


@dataclass
class Wait:
    """All waits of one for another."""

    waiter: str
    awaited: str
    seconds: float = 0.0
    late: float = 0.0  # of that: the other side had not called yet
    share: float = 0.0  # of the time from the end of joining to the end
    waits: int = 0
    longest: float = 0.0
    open: int = 0  # waits that had not ended when the process did


def span(record: Record) -> tuple[int, int] | None:
    """Return begin and end (0: none) of the wait in a record, in ticks."""
    if record.kind == what.WAIT:
        return record.start, record.end
    if record.kind in (what.SEND, what.RECEIVE) and record.waited:
        return record.waited, record.end
    return None


def _inside(process: Process) -> float:
    """Return how long a process was in the universe, in seconds."""
    joined = [r.end for r in process.trace.records if r.kind == what.LIFE and r.what == 0 and r.end]
    begin = process.at(joined[0]) if joined else process.begins
    return max(process.ends - begin, 1e-9)


def _names(run: Run, process: Process, peer: int, by_block: bool) -> tuple[str, str]:
    universe = process.trace.universe
    other = run.of.get((universe, peer))
    mark = f"{universe[:8]}: " if len(run.universes) > 1 else ""
    if peer == NOBODY:
        far = "several or anybody"
    elif by_block and other is not None:
        far = f"PB {other.trace.block}"
    else:
        far = run.name(universe, peer)
    near = f"PB {process.trace.block}" if by_block else process.trace.name
    return mark + near, mark + far


def _called_at(run: Run) -> dict[int, float]:
    """Return when the other side of each message that was waited for (by id of its record) called.

    For a receive that is when its message was sent, for a send when its receive was posted.
    """
    found = {}
    for sent in run.messages():
        if sent.receive.waited:
            sender = run.of[sent.sender.universe, sent.sender.rank]
            found[id(sent.receive)] = sender.at(sent.send.start)
        if sent.send.waited:
            receiver = run.of[sent.receiver.universe, sent.receiver.rank]
            found[id(sent.send)] = receiver.at(sent.receive.start)
    return found


def table(run: Run, by_block: bool) -> list[Wait]:
    """Sum up, the longest first."""
    found: dict[tuple[str, str], Wait] = {}
    times: dict[str, float] = {}
    called_at = _called_at(run)
    for process in run.processes:
        near, _ = _names(run, process, NOBODY, by_block)
        times[near] = times.get(near, 0.0) + _inside(process)
        for record in process.trace.records:
            limits = span(record)
            if limits is None:
                continue
            pair = _names(run, process, record.peer, by_block)
            row = found.setdefault(pair, Wait(*pair))
            begin, end = process.at(limits[0]), process.until(limits[1])
            length = max(0.0, end - begin)
            row.seconds += length
            row.late += min(length, max(0.0, called_at.get(id(record), begin) - begin))
            row.waits += 1
            row.longest = max(row.longest, length)
            row.open += not limits[1]
    for row in found.values():
        row.share = row.seconds / times[row.waiter]
    return sorted(found.values(), key=lambda row: (-row.seconds, row.waiter, row.awaited))


def many(run: Run) -> bool:
    """Are there too many processes for a row of each pair?"""
    return len(run.processes) > MANY


def as_text(rows: list[Wait]) -> str:
    """Show the table to people."""
    if not rows:
        return "nobody waited\n"
    wide = max(len("waiter"), *(len(row.waiter) for row in rows[:ROWS]))
    far = max(len("for"), *(len(row.awaited) for row in rows[:ROWS]))
    head = f"{'waiter':<{wide}}  {'for':<{far}}  {'waited':>11} {'share':>8} {'late':>11}"
    lines = ["who waited for whom", f"{head} {'waits':>9} {'longest':>11}"]
    for row in rows[:ROWS]:
        still = f"  {row.open} had not ended" if row.open else ""
        lines.append(
            f"{row.waiter:<{wide}}  {row.awaited:<{far}}  {row.seconds:>9.6f} s"
            f" {row.share * 100:>6.1f} % {row.late:>9.6f} s {row.waits:>9}"
            f" {row.longest:>9.6f} s{still}"
        )
    if len(rows) > ROWS:
        lines.append(f"... and {len(rows) - ROWS} more pairs (--json has all)")
    lines.append(
        "share: of the waiter's time; late: the other side had not called its send or receive yet"
    )
    return "\n".join(lines) + "\n"


def as_json(rows: list[Wait]) -> list[dict[str, Any]]:
    """Return the table for programs."""
    return [asdict(row) for row in rows]
