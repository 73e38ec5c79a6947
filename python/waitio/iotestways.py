# SPDX-License-Identifier: BSD-3-Clause
"""The ways in which `waitio iotest` brings a step from its writers to its readers.

The array x has the blocks of all writers one after the other; each reader wants an equal share of
it. A way has two classes, `Writer` and `Reader`, which one process each opens for one case.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Protocol

from waitio.errors import WaitioError
from waitio.exceptions import ArgumentError

if TYPE_CHECKING:
    import numpy as np

    from waitio.universe import Universe

STREAM = "iotest"
VARIABLE = "x"
LOOK = 0.0005  # seconds between two looks for a file


@dataclass
class Place:
    """This process in a case: where it is, and what it has or wants of the array."""

    universe: Universe
    case: int
    writes: bool
    rank: int
    writers: int
    readers: int
    each: int  # elements of a writer
    queue: int  # steps that a writer keeps
    limit: float  # seconds to wait for anything
    folder: str

    @property
    def total(self) -> int:
        """Elements of the whole array."""
        return self.writers * self.each

    def share(self, reader: int) -> tuple[int, int]:
        """Return the first element that a reader wants, and the first that it does not."""
        return self.total * reader // self.readers, self.total * (reader + 1) // self.readers

    def mine(self) -> tuple[int, int]:
        """Return the part of this process, as `share`."""
        if self.writes:
            return self.rank * self.each, (self.rank + 1) * self.each
        return self.share(self.rank)

    def pieces(self) -> list[tuple[int, int, int]]:
        """Return (process of the other side, first, end) of each piece that is exchanged."""
        first, end = self.mine()
        number = self.readers if self.writes else self.writers
        found = []
        for other in range(number):
            a, b = (
                self.share(other) if self.writes else (other * self.each, (other + 1) * self.each)
            )
            if max(a, first) < min(b, end):
                found.append((other, max(a, first), min(b, end)))
        return found

    @property
    def name(self) -> str:
        """Name of the stream: one for each case."""
        return f"{STREAM}-{self.case}"

    def error(self, step: int, process: str, text: str) -> WaitioError:
        """Say where something has failed."""
        return WaitioError(f"stream '{self.name}', step {step}, variable '{VARIABLE}': "
                           f"{process}: {text}")  # fmt: skip


class WriterSide(Protocol):
    """What a way does in a writer."""

    def put(self, step: int, array: np.ndarray) -> None:
        """Give a step away; the array may change afterwards."""

    def close(self) -> None:
        """Come to the end; all has been read afterwards."""


class ReaderSide(Protocol):
    """What a way does in a reader."""

    def get(self, step: int, array: np.ndarray) -> None:
        """Get this reader's part of the next step."""

    def close(self) -> None:
        """Come to the end."""


# ---- staging ------------------------------------------------------------------------------------


class StageWriter:
    """Staging, as `waitio.stage` has it."""

    def __init__(self, place: Place) -> None:
        """Open the stream; one group of readers comes."""
        from waitio.stage import Writer

        self._place = place
        self._flow = Writer(place.name, queue=place.queue, limit=place.limit)

    def put(self, step: int, array: np.ndarray) -> None:
        """Put a block; a copy waits in the queue until it has been read."""
        del step
        place = self._place
        with self._flow.step():
            self._flow.put(VARIABLE, array, shape=(place.total,), start=(place.mine()[0],))

    def close(self) -> None:
        """Wait until all has been read."""
        self._flow.close()


class StageReader:
    """Staging: each reader gets its box."""

    def __init__(self, place: Place) -> None:
        """Open the stream."""
        from waitio.stage import Reader

        self._place = place
        self.pushes = 0  # pieces that came unasked
        self._flow = Reader(place.name, limit=place.limit)

    def get(self, step: int, array: np.ndarray) -> None:
        """Get the box of the next step."""
        found = self._flow.begin_step()
        if found is None or found.number != step:
            had = "the end" if found is None else f"step {found.number}"
            raise self._place.error(step, f"reader {self._place.rank}", f"got {had} instead")
        found[VARIABLE].get((self._place.mine()[0],), array.shape, out=array)
        self._flow.end_step()

    def close(self) -> None:
        """Leave the stream."""
        with contextlib.suppress(ArgumentError):  # a library that never pushes counts none
            self.pushes = self._flow.count("pushes")
        self._flow.close()


# ---- two-sided: both sides know what comes -------------------------------------------------------


class TwoSidedWriter:
    """Messages without steps, queue or questions: what staging could cost at the least."""

    def __init__(self, place: Place) -> None:
        """Nothing has to be opened."""
        self._place = place
        self._world = place.universe.world

    def put(self, step: int, array: np.ndarray) -> None:
        """Send each reader its piece; wait until the array may change."""
        import waitio

        del step
        place, base = self._place, self._place.mine()[0]
        sends = [
            self._world.Isend(array[a - base : b - base], place.writers + reader, place.case)
            for reader, a, b in place.pieces()
        ]
        waitio.waitall(sends, place.limit)

    def close(self) -> None:
        """Nothing is left."""


class TwoSidedReader:
    """Messages: the receives of a step stand before the messages come."""

    def __init__(self, place: Place) -> None:
        """Nothing has to be opened."""
        self._place = place
        self._world = place.universe.world

    def get(self, step: int, array: np.ndarray) -> None:
        """Receive the pieces of all writers."""
        import waitio

        del step
        place, base = self._place, self._place.mine()[0]
        receives = [
            self._world.Irecv(array[a - base : b - base], writer, place.case)
            for writer, a, b in place.pieces()
        ]
        waitio.waitall(receives, place.limit)

    def close(self) -> None:
        """Nothing is left."""


# ---- plain files ---------------------------------------------------------------------------------


def _wait_for(place: Place, step: int, path: str, process: str, of: str) -> None:
    end = time.monotonic() + place.limit
    while not os.path.exists(path):
        if time.monotonic() > end:
            raise place.error(
                step, process, f"{place.limit:g} s have passed, and '{path}' of {of} is not there"
            )
        time.sleep(LOOK)


class FileWriter:
    """A file for each writer and step, which gets its name when it is complete.

    As many steps stay as a queue would keep; a step is removed when all readers have read it.
    """

    def __init__(self, place: Place) -> None:
        """Take the folder."""
        self._place = place
        self._steps = 0
        self._who = f"writer {place.rank}"

    def put(self, step: int, array: np.ndarray) -> None:
        """Write a file."""
        place = self._place
        if step > place.queue:
            self._remove(step - place.queue - 1)
        path = data_file(place, step, place.rank)
        data = array.view("u1").data.cast("B")
        done = 0
        try:
            with open(path + ".part", "wb", buffering=0) as file:
                while done < len(data):
                    done += file.write(data[done:])
            os.rename(path + ".part", path)
        except OSError as error:
            more = (
                ": make room there, or name another folder (--dir)"
                if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
                else ""
            )
            raise place.error(
                step,
                self._who,
                f"'{path}': {error.strerror} after {done} of {len(data)} bytes{more}",
            ) from None
        self._steps = step + 1

    def _remove(self, step: int) -> None:
        place = self._place
        for reader, _, _ in place.pieces():
            mark = read_mark(place, step, place.rank, reader)
            _wait_for(place, step, mark, self._who, f"reader {reader}")
            os.unlink(mark)
        os.unlink(data_file(place, step, place.rank))

    def close(self) -> None:
        """Remove what is left when it has been read."""
        for step in range(max(0, self._steps - self._place.queue - 1), self._steps):
            self._remove(step)


class FileReader:
    """Waits for the writers' files, and reads the pieces that it wants."""

    def __init__(self, place: Place) -> None:
        """Take the folder."""
        self._place = place
        self._who = f"reader {place.rank}"

    def get(self, step: int, array: np.ndarray) -> None:
        """Read the pieces of all writers."""
        place, base = self._place, self._place.mine()[0]
        for writer, a, b in place.pieces():
            path = data_file(place, step, writer)
            _wait_for(place, step, path, self._who, f"writer {writer}")
            part = array[a - base : b - base].view("u1").data.cast("B")
            at, done = (a - writer * place.each) * array.itemsize, 0
            with open(path, "rb", buffering=0) as file:
                file.seek(at)
                while done < len(part):
                    n = file.readinto(part[done:])
                    if not n:
                        raise place.error(step, self._who, f"'{path}' ends too early")
                    done += n
            with open(read_mark(place, step, writer, place.rank), "wb"):
                pass

    def close(self) -> None:
        """The writers remove the files."""


def data_file(place: Place, step: int, writer: int) -> str:
    """Return the name of a writer's file."""
    return os.path.join(place.folder, f"{place.case}-{step}-{writer}")


def read_mark(place: Place, step: int, writer: int, reader: int) -> str:
    """Return the name of the empty file that says that a reader has read a writer's step."""
    return f"{data_file(place, step, writer)}-read-{reader}"


# ---- ADIOS2 --------------------------------------------------------------------------------------

# The wheel has no MPI: its processes cannot write one stream together. So each writer has a
# stream of its own, and each reader opens those that it needs.


def _adios_io(place: Place, engine: str, label: str, others: int) -> tuple[Any, Any]:
    import adios2  # type: ignore[import-not-found,import-untyped,unused-ignore]

    adios = adios2.Adios()
    io = adios.declare_io(f"{STREAM}-{place.case}-{label}")
    io.set_engine(engine)
    if engine == "SST":
        io.set_parameters(
            {
                "RendezvousReaderCount": str(others),
                "QueueLimit": str(max(1, place.queue)),
                "QueueFullPolicy": "Block",
                "OpenTimeoutSecs": str(int(place.limit)),
            }
        )
    else:
        io.set_parameters(
            {
                "OpenTimeoutSecs": str(int(place.limit)),
                "BeginStepPollingFrequencySecs": str(LOOK),
            }
        )
    return adios, io


def _adios_path(place: Place, engine: str, writer: int) -> str:
    return os.path.join(place.folder, f"{place.case}-{writer}.{engine.lower()}")


class AdiosWriter:
    """A stream of this writer alone."""

    def __init__(self, place: Place, engine: str) -> None:
        """Open it."""
        from adios2 import bindings  # type: ignore[import-not-found,import-untyped,unused-ignore]

        self._place = place
        self._adios, self._io = _adios_io(place, engine, "w", len(place.pieces()))
        self._engine = self._io.open(_adios_path(place, engine, place.rank), bindings.Mode.Write)
        self._variable: Any = None

    def put(self, step: int, array: np.ndarray) -> None:
        """Put a step."""
        del step
        if self._variable is None:
            shape = [self._place.each]
            self._variable = self._io.define_variable(VARIABLE, array, shape, [0], shape)
        self._engine.begin_step()
        self._engine.put(self._variable, array)
        self._engine.end_step()

    def close(self) -> None:
        """Close it."""
        self._engine.close()


class AdiosReader:
    """The streams of all writers that this reader needs."""

    def __init__(self, place: Place, engine: str) -> None:
        """Open them."""
        from adios2 import bindings

        self._place = place
        self._ok = bindings.StepStatus.OK
        self._read = bindings.StepMode.Read
        self._sides = []
        for writer, a, b in place.pieces():
            adios, io = _adios_io(place, engine, f"r{writer}", 1)
            path = _adios_path(place, engine, writer)
            self._sides.append((writer, a, b, adios, io, io.open(path, bindings.Mode.Read)))

    def get(self, step: int, array: np.ndarray) -> None:
        """Get the pieces of all writers."""
        place, base = self._place, self._place.mine()[0]
        for writer, a, b, _, io, engine in self._sides:
            status = engine.begin_step(self._read, place.limit)
            if status != self._ok:
                raise place.error(
                    step, f"reader {place.rank}", f"the stream of writer {writer} says {status}"
                )
            variable = io.inquire_variable(VARIABLE)
            variable.set_selection([[a - writer * place.each], [b - a]])
            engine.get(variable, array[a - base : b - base])
            engine.end_step()

    def close(self) -> None:
        """Close them."""
        for *_, engine in self._sides:
            engine.close()


# ---- all of them ---------------------------------------------------------------------------------


WRITERS: dict[str, Callable[[Place], WriterSide]] = {
    "stage": StageWriter,
    "two-sided": TwoSidedWriter,
    "file": FileWriter,
    "bp5": lambda place: AdiosWriter(place, "BP5"),
    "sst": lambda place: AdiosWriter(place, "SST"),
}
READERS: dict[str, Callable[[Place], ReaderSide]] = {
    "stage": StageReader,
    "two-sided": TwoSidedReader,
    "file": FileReader,
    "bp5": lambda place: AdiosReader(place, "BP5"),
    "sst": lambda place: AdiosReader(place, "SST"),
}
