# SPDX-License-Identifier: BSD-3-Clause
"""What the browser's viewer shows of a trace.

A process has a row for each of its threads (phases, collectives, waits), one for the messages that
it sent and one for those that it received, and one for the steps of a coupler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from waitio import cpltrace, timeline
from waitio import traceevents as what
from waitio.tracefile import NOBODY, Record
from waitio.tracerun import Process, Run
from waitio.tracewaits import span

PROGRAM, SENT, RECEIVED, COUPLER, THREADS = 1, 2, 3, 4, 10
MICRO = 1e6
SHORTEST = 1e-7  # seconds: so that a message can be seen and hit


class Piece(NamedTuple):
    """Something that takes time, in seconds."""

    begin: float
    end: float
    name: str
    kind: str
    details: dict[str, Any]


def _flags(record: Record) -> dict[str, Any]:
    return {text: True for bit, text in what.FLAG_TEXT.items() if record.flags & bit}


def _wait(run: Run, process: Process, record: Record, limits: tuple[int, int]) -> Piece:
    details: dict[str, Any] = {"never ended": True} if not limits[1] else {}
    peer = run.name(process.trace.universe, record.peer)
    if record.kind == what.WAIT:
        name = what.WAIT_TEXT.get(record.what, "wait")
        if record.peer != NOBODY:
            details["ended by" if limits[1] else "for"] = peer
    else:
        way = "to send to" if record.kind == what.SEND else "for"
        name = f"wait {way} {'anybody' if record.peer == NOBODY else peer}"
        details.update(tag=record.what, bytes=record.bytes)
    return Piece(process.at(limits[0]), process.until(limits[1]), name, "wait", details)


def _collective(process: Process, record: Record) -> Piece:
    started = "start of " if record.flags & 4 else ""
    name = started + what.COLLECTIVE_TEXT.get(record.what, f"collective {record.what}")
    details = {
        "bytes": record.bytes,
        "processes": record.envelope,
        "communicator": f"{record.space:08x}",
        **_flags(record),
    }
    return Piece(process.at(record.start), process.until(record.end), name, "collective", details)


def _single(run: Run, process: Process, record: Record) -> Piece | None:
    """Return the piece of a record that stands for itself."""
    limits = span(record)
    if limits is not None:
        return _wait(run, process, record, limits)
    if record.kind == what.COLLECTIVE:
        return _collective(process, record)
    if record.kind == what.LIFE:
        name = what.LIFE_TEXT.get(record.what, "WaitIO")
        return Piece(process.at(record.start), process.until(record.end), name, "WaitIO", {})
    return None


def _phases(process: Process, records: Sequence[Record]) -> Iterator[Piece]:
    """Join begins and ends of one thread: an end closes the last phase of its name."""
    open_ones: list[Record] = []
    for record in records:
        if record.kind == what.PHASE_BEGIN:
            open_ones.append(record)
        elif record.kind == what.PHASE_END and any(r.name == record.name for r in open_ones):
            while True:
                begun = open_ones.pop()
                details = {} if begun.name == record.name else {"not ended by itself": True}
                limits = process.at(begun.start), process.at(record.start)
                yield Piece(*limits, begun.name, "phase", details)
                if begun.name == record.name:
                    break
    for begun in open_ones:
        details = {"never ended": True}
        yield Piece(process.at(begun.start), process.ends, begun.name, "phase", details)


def nested(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Order the pieces of a row; cut those that would hang over the end of one around them."""
    around: list[float] = []
    for piece in sorted(pieces, key=lambda p: (p.begin, -p.end)):
        while around and around[-1] <= piece.begin:
            around.pop()
        end = min(piece.end, around[-1]) if around else piece.end
        around.append(end)
        yield piece._replace(end=end)


def _shown(place: timeline.Place, piece: Piece) -> timeline.Event:
    length = max(0.0, piece.end - piece.begin) * MICRO
    begin = round(piece.begin * MICRO, 3)
    return timeline.piece(place, piece.name, piece.kind, begin, round(length, 3), piece.details)


def _rows(process: Process) -> tuple[int, dict[int, list[Record]]]:
    """Return the records of each thread, and which one is the program's.

    A binding may join, begin and leave in threads of its own. So it is the one that did most, and
    in doubt the one that joined.
    """
    rows: dict[int, list[Record]] = {}
    life = []
    for record in process.trace.records:
        if record.kind == what.LIFE:
            life.append(record)
        elif record.thread:
            rows.setdefault(record.thread, []).append(record)
    main = joined = process.trace.main_thread
    if rows:
        main = max(rows, key=lambda thread: (len(rows[thread]), thread == joined))
    rows[main] = life + rows.get(main, [])
    return main, rows


def _threads(run: Run, process: Process) -> Iterator[timeline.Event]:
    main, rows = _rows(process)
    for number, thread in enumerate(sorted(rows, key=lambda t: t != main)):
        pieces = list(_phases(process, rows[thread]))
        pieces += filter(None, (_single(run, process, record) for record in rows[thread]))
        if not pieces:
            continue
        place = {"pid": process.number, "tid": PROGRAM if thread == main else THREADS + number}
        yield timeline.row_name(place, "program" if thread == main else f"thread {number}")
        for piece in nested(pieces):
            yield _shown(place, piece)


def _message(run: Run, process: Process, record: Record) -> Piece:
    """Return a send from its call, a receive from the arrival of its message."""
    sends = record.kind == what.SEND
    peer = run.name(process.trace.universe, record.peer)
    begin = process.at(record.start if sends else record.middle or record.end)
    end = process.until(record.end)
    details: dict[str, Any] = {
        "tag": record.what,
        "bytes": record.bytes,
        "envelope": record.envelope,
    }
    if not sends:
        details["posted before (s)"] = round(begin - process.at(record.start), 9)
    name = f"{'to' if sends else 'from'} {peer}"
    return Piece(begin, end, name, "message", {**details, **_flags(record)})


def _apart(pieces: list[tuple[Piece, Record]]) -> Iterator[tuple[Piece, Record]]:
    """Cut messages at the beginning of the next: many may be under way at a time."""
    pieces.sort(key=lambda pair: pair[0].begin)
    for number, (piece, record) in enumerate(pieces):
        end = max(piece.end, piece.begin + SHORTEST)
        if number + 1 < len(pieces):
            end = min(end, pieces[number + 1][0].begin)
        yield piece._replace(end=end), record


def _row(
    run: Run, process: Process, kind: int, other: Callable[[Record], tuple[str, float] | None]
) -> Iterator[timeline.Event]:
    sends = kind == what.SEND
    chosen = [
        (_message(run, process, record), record)
        for record in process.trace.records
        if record.kind == kind and (sends or record.end) and not record.flags & 2
    ]
    place = {"pid": process.number, "tid": SENT if sends else RECEIVED}
    if chosen:
        yield timeline.row_name(place, "sent" if sends else "received")
    for piece, record in _apart(chosen):
        yield _shown(place, piece)
        end = other(record)
        if end is not None:
            number, there = end
            # Through memory the time of a send is read behind it: the message may be there by then.
            time = min(piece.begin, there) if sends else piece.end
            yield timeline.arrow(place, sends, "message", number, round(time * MICRO, 3))


def _coupler(run: Run, folder: str) -> Iterator[timeline.Event]:
    """Show the steps of components whose timelines lie in the same folder."""
    if len(run.universes) != 1:
        return  # they do not say of which
    for head, events in cpltrace.read_all(folder):
        process = run.of.get((run.universes[0], head.get("universe rank", -1)))
        if process is None:
            continue
        seconds = run.clocks.monotonic_to_reference(process.trace.clock)
        place = {"pid": process.number, "tid": COUPLER}
        yield timeline.row_name(place, f"coupler: {head['component']}")
        yield from cpltrace.shown(place, events, partial(_after, seconds, run.zero))


def _after(seconds: Callable[[float], float], zero: float, time: float) -> float:
    """Return a time of the system's clock in seconds after the first event."""
    return seconds(time) - zero


def events(run: Run, folder: str) -> Iterator[timeline.Event]:
    """Return all of it."""
    ends: dict[int, tuple[str, float]] = {}
    for number, sent in enumerate(run.messages()):
        came = sent.receive.middle or sent.receive.end
        there = run.of[sent.receiver.universe, sent.receiver.rank].at(came)
        ends[id(sent.send)] = ends[id(sent.receive)] = (f"m{number}", there)
    for process in run.processes:
        place = {"pid": process.number, "tid": PROGRAM}
        yield timeline.process_name(place, process.label)
        yield timeline.order(place, "process", process.number)
        yield from _threads(run, process)
        for kind in (what.SEND, what.RECEIVE):
            yield from _row(run, process, kind, lambda record: ends.get(id(record)))
    yield from timeline.whole_arrows(list(_coupler(run, folder)))
