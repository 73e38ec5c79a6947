# SPDX-License-Identifier: BSD-3-Clause
"""One time for all processes of a trace.

Processes of one machine read the same clock: its ticks are turned into seconds by what all of them
have read of the system's clock. Clocks of different machines are compared by the messages between
them: none arrives before it was sent, and of many in both directions the quickest took about the
same time. So half the difference of the shortest apparent times is how far one clock is ahead.
That is done at the beginning and at the end of the run, as clocks drift.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from waitio.tracefile import Trace

Seconds = float
FEW_TICKS = 100_000  # too few to measure their length
# A message between two clocks: (one of them, the other, when it left by the first, and when it
# came by the second), in seconds.
Message = tuple[int, int, Seconds, Seconds]


class Machine:
    """A clock that some processes read: from its ticks to seconds after `origin`, as it says.

    (Seconds since 1970 would leave no room for nanoseconds in a floating-point number.)
    """

    def __init__(self, traces: Sequence[Trace], origin: int) -> None:
        """Learn the length of a tick."""
        points = [point for trace in traces for point in (trace.first, trace.last)]
        begin, end = min(points), max(points)
        ticks, ns = end.ticks - begin.ticks, end.monotonic_ns - begin.monotonic_ns
        self.tick = ns / ticks * 1e-9 if ticks > FEW_TICKS and ns > 0 else 1e-9
        self.zero = begin
        self.begin = (begin.wall_ns - origin) * 1e-9
        self.hosts = sorted({trace.host for trace in traces})

    def seconds(self, ticks: int) -> Seconds:
        """Return the time of so many ticks."""
        return self.begin + (ticks - self.zero.ticks) * self.tick

    def from_monotonic(self, seconds: Seconds) -> Seconds:
        """Return the time of a reading of the system's clock, which starts with the machine."""
        return self.begin + (seconds - self.zero.monotonic_ns * 1e-9)


@dataclass
class Ahead:
    """How far one clock is ahead of another: `first` at `when`, `later` at `then`."""

    first: Seconds
    when: Seconds
    later: Seconds
    then: Seconds
    unsure: Seconds | None  # None: only one direction, or no message at all
    messages: int

    def at(self, time: Seconds) -> Seconds:
        """Return it at a time."""
        if self.then <= self.when:
            return self.first
        return self.first + (self.later - self.first) * (time - self.when) / (self.then - self.when)


ROUNDS = 4  # in each the drift is known better, and so is which message was the quickest


def _both_ways(
    there: Sequence[Message], back: Sequence[Message], known: Ahead
) -> tuple[Seconds, Seconds]:
    """Return how much further the second clock is ahead than known, and how unsure that is."""
    out = min(m[3] - m[2] - known.at(m[2]) for m in there)
    home = min(m[3] - m[2] + known.at(m[3]) for m in back)
    return (out - home) / 2, abs(out + home) / 2


def _one_way(there: Sequence[Message], back: Sequence[Message]) -> Ahead:
    """Believe the clocks, unless a message would come before it was sent."""
    ahead = min((m[3] - m[2] for m in there), default=0.0)
    behind = min((m[3] - m[2] for m in back), default=0.0)
    value = min(0.0, ahead) - min(0.0, behind)
    return Ahead(value, 0, value, 0, None, len(there) + len(back))


def _with_drift(there: Sequence[Message], back: Sequence[Message], whole: Ahead) -> Ahead:
    """Compare the clocks in the first and in the last third of their messages."""
    times = [m[2] for m in there] + [m[3] for m in back]
    begin, end = min(times), max(times)
    third = (end - begin) / 3
    parts = [
        ([m for m in there if a <= m[2] <= b], [m for m in back if a <= m[3] <= b])
        for a, b in ((begin, begin + third), (end - third, end))
    ]
    if third <= 0 or not all(part for pair in parts for part in pair):
        return whole
    known = Ahead(whole.first, begin + third / 2, whole.first, end - third / 2, 0.0, whole.messages)
    for _ in range(ROUNDS):
        (first, unsure_1), (later, unsure_2) = (_both_ways(*pair, known) for pair in parts)
        known.first += first
        known.later += later
        known.unsure = max(unsure_1, unsure_2)
    told_from_chance = abs(known.later - known.first) > unsure_1 + unsure_2
    return known if told_from_chance else whole


def _compare(there: Sequence[Message], back: Sequence[Message]) -> Ahead:
    """Compare two clocks by the messages from the first to the second, and back."""
    if not there or not back:
        return _one_way(there, back)
    number = len(there) + len(back)
    value, unsure = _both_ways(there, back, Ahead(0, 0, 0, 0, 0, 0))
    return _with_drift(there, back, Ahead(value, 0, value, 0, unsure, number))


class Clocks:
    """The clocks of a run, on the time of the first trace's."""

    def __init__(self, traces: Sequence[Trace]) -> None:
        """Group the traces by their clocks."""
        self.names = sorted({trace.clock for trace in traces})
        self.machines = {
            name: Machine([t for t in traces if t.clock == name], traces[0].first.wall_ns)
            for name in self.names
        }
        self.reference = traces[0].clock
        self.chain: dict[int, list[tuple[Ahead, int]]] = {self.reference: []}

    def align(self, messages: Iterable[Message]) -> None:
        """Compare the clocks by messages between them."""
        pairs: dict[tuple[int, int], list[Message]] = {}
        for message in messages:
            pairs.setdefault(message[:2], []).append(message)
        while len(self.chain) < len(self.names):
            best = min(self._next(pairs), key=lambda found: found[0])
            _, near, far, ahead = best
            self.chain[far] = [(ahead, far), *self.chain[near]]

    def _next(
        self, pairs: dict[tuple[int, int], list[Message]]
    ) -> Iterable[tuple[tuple[bool, bool, Seconds], int, int, Ahead]]:
        """Compare clocks that are known with those that are not: the surest goes first."""
        for near in self.chain:
            for far in self.names:
                if far in self.chain:
                    continue
                ahead = _compare(pairs.get((near, far), []), pairs.get((far, near), []))
                sure = (ahead.unsure is None, ahead.messages == 0, ahead.unsure or 0.0)
                yield sure, near, far, ahead

    def to_reference(self, clock: int) -> Callable[[int], Seconds]:
        """Return what turns ticks of a clock into the common time."""
        machine, chain = self.machines[clock], self.chain.get(clock, [])

        def convert(ticks: int) -> Seconds:
            return self._down(chain, machine.seconds(ticks))

        return convert

    def monotonic_to_reference(self, clock: int) -> Callable[[float], Seconds]:
        """Return the same for seconds of the system's clock."""
        machine, chain = self.machines[clock], self.chain.get(clock, [])

        def convert(seconds: float) -> Seconds:
            return self._down(chain, machine.from_monotonic(seconds))

        return convert

    @staticmethod
    def _down(chain: Sequence[tuple[Ahead, int]], time: Seconds) -> Seconds:
        for ahead, _ in chain:
            time -= ahead.at(time - ahead.first)  # whose time is that of the other clock
        return time

    def report(self) -> list[dict[str, object]]:
        """Return how far each clock but the first is ahead, for people and programs."""
        found: list[dict[str, object]] = []
        for name, chain in self.chain.items():
            if not chain:
                continue
            ahead = chain[0][0]
            found.append(
                {
                    "hosts": self.machines[name].hosts,
                    "ahead_s": sum(link.first for link, _ in chain),
                    "unsure_s": ahead.unsure,
                    "drift_s": ahead.later - ahead.first,
                    "messages": ahead.messages,
                }
            )
        return found
