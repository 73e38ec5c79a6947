# SPDX-License-Identifier: BSD-3-Clause
"""All traces of a folder together: their universes, messages and common time."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from waitio import traceevents as what
from waitio.errors import WaitioError
from waitio.traceclock import Clocks, Message
from waitio.tracefile import NOBODY, Record, Trace, read

ENDED_BADLY = 3  # flags: failed or cancelled

# One end of each message, by universe, sender, receiver and envelope.
Ends = dict[tuple[str, int, int, int], tuple[Trace, Record]]


class Sent(NamedTuple):
    """A message of which both ends are there."""

    sender: Trace
    send: Record
    receiver: Trace
    receive: Record


class Process:
    """One process on the common time, which is in seconds after the first event."""

    def __init__(self, trace: Trace, number: int, label: str, seconds: Callable[[int], float]):
        """Remember; `number` is that of the process in the viewer."""
        self.trace, self.number, self.label = trace, number, label
        self._seconds = seconds
        last = max(
            (max(r.start, r.middle, r.end, r.waited) for r in trace.records),
            default=trace.last.ticks,
        )
        self.begins = seconds(min((r.start for r in trace.records), default=trace.first.ticks))
        self.ends = seconds(max(last, trace.last.ticks))

    def at(self, ticks: int) -> float:
        """Return the time of so many ticks."""
        return self._seconds(ticks)

    def until(self, ticks: int) -> float:
        """Return the time of an end; what never ended goes on until the process does."""
        return self._seconds(ticks) if ticks else self.ends


class Run:
    """What lies in a folder."""

    def __init__(self, traces: Sequence[Trace]) -> None:
        """Match the messages, align the clocks."""
        self.traces = sorted(traces, key=lambda t: (t.universe, t.rank))
        self.universes = sorted({trace.universe for trace in self.traces})
        self._names = {(t.universe, t.rank): t.name for t in self.traces}
        self._sends = self._find(what.SEND)
        self._links = self._find(what.LINK)
        self.clocks = Clocks(self.traces)
        self.clocks.align(self._between_clocks())
        convert = {name: self.clocks.to_reference(name) for name in self.clocks.names}
        zero = min(convert[t.clock](r.start) for t in self.traces for r in t.records[:1])
        self.zero = zero
        self.processes = [self._process(trace, convert[trace.clock], zero) for trace in self.traces]
        self.of = {(p.trace.universe, p.trace.rank): p for p in self.processes}

    def _process(self, trace: Trace, seconds: Callable[[int], float], zero: float) -> Process:
        first = sum(
            max(t.size for t in self.traces if t.universe == before)
            for before in self.universes
            if before < trace.universe
        )
        where = f", {trace.host}" if len({t.host for t in self.traces}) > 1 else ""
        which = f"{trace.universe[:8]}: " if len(self.universes) > 1 else ""
        label = f"{which}{trace.name} (rank {trace.rank}{where})"
        return Process(trace, first + trace.rank, label, lambda ticks: seconds(ticks) - zero)

    def _find(self, kind: int) -> Ends:
        """Return records of a kind by universe, sender, receiver and envelope."""
        return {
            (trace.universe, trace.rank, record.peer, record.envelope): (trace, record)
            for trace in self.traces
            for record in trace.records
            if record.kind == kind
        }

    def _pairs(self, kind: int, other: Ends) -> Iterator[Sent]:
        for trace in self.traces:
            for record in trace.records:
                if record.kind != kind or record.peer == NOBODY or record.flags & ENDED_BADLY:
                    continue
                key = (trace.universe, record.peer, trace.rank, record.envelope)
                if key in other:
                    sender, send = other[key]
                    yield Sent(sender, send, trace, record)

    def messages(self) -> Iterator[Sent]:
        """Find both ends of messages."""
        for found in self._pairs(what.RECEIVE, self._sends):
            if found.receive.envelope and found.receive.end:
                yield found

    def _between_clocks(self) -> Iterator[Message]:
        """Find what compares clocks: messages, and the greetings of the first links."""
        machines = self.clocks.machines
        greetings = (p for p in self._pairs(what.GREETED, self._links) if p.send.envelope == 0)
        for some in (self.messages(), greetings):
            for sent in some:
                here, there = sent.sender.clock, sent.receiver.clock
                if here != there:
                    came = sent.receive.middle or sent.receive.end or sent.receive.start
                    yield (
                        here,
                        there,
                        machines[here].seconds(sent.send.start),
                        machines[there].seconds(came),
                    )

    def name(self, universe: str, rank: int) -> str:
        """Return the name of a process; of one that has left no trace its universe rank."""
        return self._names.get((universe, rank), f"rank {rank}")


def load(folder: str) -> tuple[Run, list[str]]:
    """Read all traces of a folder; return also what is wrong with files that were left out."""
    paths = sorted(glob.glob(os.path.join(glob.escape(folder), "waitio.*.trace")))
    if not paths:
        raise WaitioError(
            f"no traces (waitio.*.trace) in '{folder}': run with WAITIO_TRACE={folder}"
        )
    traces, faults = [], []
    for path in paths:
        try:
            trace = read(path)
        except WaitioError as error:
            faults.append(str(error))
            continue
        if not trace.records:
            faults.append(f"'{path}' holds no event")
            continue
        traces.append(trace)
    if not traces:
        raise WaitioError("; ".join(faults))
    return Run(traces), faults
