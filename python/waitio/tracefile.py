# SPDX-License-Identifier: BSD-3-Clause
"""The files of WAITIO_TRACE (src/base/timeline.h): one of each process, of any machine.

They come from processes that may have been killed, and from folders in which anything may lie, so
nothing in them is believed before it was checked.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import NamedTuple

from waitio import traceevents as what
from waitio.errors import WaitioError

NOBODY = 0xFFFFFFFF
MAGIC = {"<": b"WAITIORT", ">": b"TROITIAW"}
ORDER = 0x01020304
VERSION = 1
HEAD = "8sIIIIQQ16sQqqqqqqIIIIIIIIq64s32s"
RECORD = "qqqqQIIiIBBHI"
NAME = slice(8, 56)  # of a phase, in its record
BYTES = 64
LONGEST_RUN = 1 << 62


class Clock(NamedTuple):
    """Clocks read at one moment."""

    ticks: int
    monotonic_ns: int
    wall_ns: int


class Record(NamedTuple):
    """One event; times are in ticks of the process's clock, 0: has not happened."""

    start: int
    middle: int
    end: int
    waited: int
    bytes: int
    peer: int
    envelope: int
    what: int
    space: int
    kind: int
    flags: int
    thread: int
    number: int
    name: str = ""


@dataclass
class Trace:
    """What one process has left."""

    path: str
    universe: str
    clock: int
    first: Clock
    last: Clock
    rank: int
    size: int
    block: int
    blocks: int
    block_rank: int
    state: int
    main_thread: int
    pid: int
    host: str
    release: str
    records: list[Record]
    lost: int  # overwritten, or not in the file
    cut: bool  # the file ends too early

    @property
    def name(self) -> str:
        """As the library names its processes."""
        return f"PB {self.block} rank {self.block_rank}"


def _refuse(path: str, why: str) -> WaitioError:
    return WaitioError(f"'{path}' is no trace that can be read: {why}")


def _order(path: str, raw: bytes) -> str:
    for order, magic in MAGIC.items():
        if raw[:8] == magic and struct.unpack_from(order + "I", raw, 8)[0] == ORDER:
            return order
    raise _refuse(path, "it does not begin as one of WAITIO_TRACE")


def _text(raw: bytes) -> str:
    return raw.split(b"\0")[0].decode("utf-8", "replace")


def _check(path: str, found: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    """Is a head possible that was read whole?"""
    version, head_bytes, record_bytes, slots, written = found
    rank, size, block, blocks, block_rank, block_size = sizes
    if version != VERSION:
        raise _refuse(path, f"version {version}; this command reads version {VERSION}")
    if record_bytes != BYTES or not struct.calcsize("<" + HEAD) <= head_bytes <= 1 << 20:
        raise _refuse(path, f"records of {record_bytes} bytes behind a head of {head_bytes}")
    if not 1 <= slots <= 1 << 32 or slots & (slots - 1) or written >= LONGEST_RUN:
        raise _refuse(path, f"{written} events in a ring of {slots}")
    if not (rank < size and block < blocks <= size and block_rank < block_size <= size):
        raise _refuse(path, f"rank {rank} of {size}, PB {block} of {blocks}")


def _record(order: str, raw: bytes) -> Record:
    found = Record(*struct.unpack(order + RECORD, raw))
    if found.kind in (what.PHASE_BEGIN, what.PHASE_END):
        return Record(found.start, 0, 0, 0, 0, NOBODY, 0, 0, 0, *found[9:13], _text(raw[NAME]))
    return found


def _records(order: str, raw: bytes, slots: int, written: int) -> list[Record]:
    """Return those that are whole, in the order of their numbers."""
    found = []
    for slot in range(min(slots, len(raw) // BYTES)):
        number = written - ((written - slot) & (slots - 1))
        if number < 1 or number <= written - slots + 1 and written >= slots:
            continue  # never written; or the oldest, which may be half overwritten
        record = _record(order, raw[slot * BYTES : (slot + 1) * BYTES])
        if record.number == number & 0xFFFFFFFF and 0 < record.start < LONGEST_RUN:
            found.append((number, record))
    found.sort(key=lambda pair: pair[0])
    return [record for _, record in found]


def read(path: str) -> Trace:
    """Read one; raise WaitioError, which says what is wrong with it."""
    try:
        with open(path, "rb") as file:
            raw = file.read()
    except OSError as error:
        raise WaitioError(f"cannot read '{path}': {error.strerror}") from None
    if len(raw) < struct.calcsize("<" + HEAD):
        raise _refuse(path, f"it has {len(raw)} bytes; a trace has a head of 4096")
    order = _order(path, raw)
    head = struct.unpack_from(order + HEAD, raw)
    _, _, version, head_bytes, record_bytes, slots, written, universe, clock = head[:9]
    rank, size, block, blocks, block_rank, block_size, state, main_thread = head[15:23]
    found = (version, head_bytes, record_bytes, slots, written)
    _check(path, found, (rank, size, block, blocks, block_rank, block_size))
    records = _records(order, raw[head_bytes:], slots, written)
    here = min(slots, max(0, len(raw) - head_bytes) // BYTES)
    needed = min(slots, written + 1)  # slot 0 is the last one
    return Trace(
        path=path,
        universe=universe.hex(),
        clock=clock,
        first=Clock(*head[9:12]),
        last=Clock(*head[12:15]),
        rank=rank,
        size=size,
        block=block,
        blocks=blocks,
        block_rank=block_rank,
        state=state,
        main_thread=main_thread,
        pid=head[23],
        host=_text(head[24]),
        release=_text(head[25]),
        records=records,
        lost=max(0, written - len(records)),
        cut=here < needed,
    )
