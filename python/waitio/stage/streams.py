# SPDX-License-Identifier: BSD-3-Clause
"""Writers and readers of streams, as Python has them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from waitio import _core
from waitio.exceptions import ArgumentError, StateError, TimeoutError
from waitio.universe import Universe

_DTYPES = "i1 i2 i4 i8 u1 u2 u4 u8 f4 f8 c8 c16".split()
_TYPES = {np.dtype(name): i for i, name in enumerate(_DTYPES, 1)}
_STRING = len(_DTYPES) + 1
_DEFAULT = -1.0
_WRITE, _READ = 1, 2
_OK, _END, _NOT_READY = range(3)
_KINDS = {1: "global", 2: "local", 3: "scalar"}
_FULL = ("block", "discard oldest", "discard newest")
_SHARE = ("all", "round robin", "on demand")

Index = Any  # what NumPy takes: integers, slices and one Ellipsis, or a tuple of them


def _type(name: str, dtype: np.dtype[Any]) -> int:
    """Return the number of a type of elements."""
    found = _TYPES.get(dtype.newbyteorder("="))
    if found is None:
        raise ArgumentError(f"variable '{name}': elements of type {dtype} cannot be staged")
    return found


def _limit(limit: float | None) -> float:
    return _DEFAULT if limit is None else float(limit)


class _Stream:
    """What writers and readers share."""

    _handle: _core.StageHandle

    def __init__(self, name: str, timeout: float | None, comm: Any) -> None:
        if not isinstance(name, str) or not name:
            raise TypeError(f"name of the stream: a text, not {name!r}")
        self.name = name
        """Name of the stream."""
        self.universe = Universe(timeout, comm=comm)
        """The universe, for messages of the program's own."""

    def count(self, what: str) -> int:
        """Return "steps", "discarded", "bytes", "queued_bytes", "queued_bytes_max",
        "spare_bytes", "plans", "plans_reused", "groups", "pushes", "raw_bytes" or "packed_bytes"
        of this process."""
        return self._handle.count(what)

    def close(self, limit: float | None = None) -> None:
        """Close it, within `limit` seconds. A writer waits until its steps have been read."""
        if self._handle.open:
            self._handle.close(_limit(limit))

    def __enter__(self) -> Any:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
            return
        with contextlib.suppress(Exception):  # the first error is the one to be told
            self.close(0)


class Writer(_Stream):
    """This process as a writer of a stream: all processes of its block make one.

    Parameters:
        name: of the stream.
        queue: steps that each process keeps; 0: none is kept or copied, and the end of a step
            waits until it has been read.
        full: what happens when the queue is full: "block" (the end of a step waits), "discard
            oldest" or "discard newest".
        readers: groups of readers to wait for.
        limit: seconds that calls wait which are not told otherwise.
        memory_max: bytes that the steps of this process may have together, None: any.
        share: which groups of readers get a step: "all", or one: "round robin", one after the
            other, or "on demand", the one that asks first.
        timeout: seconds to wait for every block (None: 1000).
        comm: an mpi4py communicator, as for `waitio.Universe`.
    """

    def __init__(
        self,
        name: str,
        *,
        queue: int = 2,
        full: str = "block",
        readers: int = 1,
        limit: float = 600.0,
        memory_max: int | None = None,
        share: str = "all",
        timeout: float | None = None,
        comm: Any = None,
    ) -> None:
        super().__init__(name, timeout, comm)
        if full not in _FULL:
            raise ArgumentError(f"full: one of {', '.join(_FULL)}, not {full!r}")
        if share not in _SHARE:
            raise ArgumentError(f"share: one of {', '.join(_SHARE)}, not {share!r}")
        self._handle = _core.StageHandle(
            name,
            _WRITE,
            limit,
            queue if queue else -1,
            _FULL.index(full),
            readers,
            memory_max or 0,
            None,
            _SHARE.index(share),
        )
        self._defined: dict[str, tuple[int, tuple[int, ...] | None, np.dtype[Any]]] = {}
        self._operators: dict[str, str] = {}
        self._derived: list[tuple[str, str, tuple[str, ...], str]] = []

    def begin_step(self) -> None:
        """Begin a step."""
        self._handle.begin_step(0, 0.0)

    def end_step(self, limit: float | None = None) -> None:
        """End it: readers see it when all writers have done so."""
        self._define_derived()
        self._handle.end_step(_limit(limit))

    @contextlib.contextmanager
    def step(self, limit: float | None = None) -> Iterator[int]:
        """Make a step of what the block puts; the value is its number."""
        self.begin_step()
        yield self._handle.step()
        self.end_step(limit)

    def put(
        self,
        name: str,
        value: Any,
        *,
        shape: Sequence[int] | None = None,
        start: Sequence[int] | None = None,
        local: bool = False,
        copy: bool = False,
        operator: str | None = None,
    ) -> None:
        """Put a variable in this step.

        Parameters:
            value: an array is a block of a global array; a number or a text is a scalar.
            shape: of the global array (None: that of the block). It may change between steps.
            start: where the block begins in it (None: at 0).
            local: a block without a place in a whole.
            copy: copy the array now; else it must stay as it is until the end of the step.
            operator: what is done to the array on its way, from this put on: "zstd" or "blosc2"
                (nothing is lost), "zfp accuracy=1e-3", "none"; all writers say the same. None: as
                before, at first nothing.
        """
        if isinstance(value, str):
            self._handle.put_value(name, _STRING, value.encode())
            return
        array = np.ascontiguousarray(value) if np.ndim(value) else np.asarray(value)
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        kind = _type(name, array.dtype)
        if array.ndim == 0:
            if shape is not None or start is not None or local:
                raise ArgumentError(f"variable '{name}': a scalar has no shape and no start")
            self._handle.put_value(name, kind, array.tobytes())
            return
        whole = None if local else tuple(array.shape if shape is None else shape)
        begin = tuple(start) if start is not None else (0,) * array.ndim
        if len(begin) != array.ndim or (whole is not None and len(whole) != array.ndim):
            raise ArgumentError(
                f"variable '{name}': the block has {array.ndim} dimensions, shape {whole}, "
                f"start {begin}"
            )
        number = self._variable(name, kind, array, whole)
        if operator is not None and operator != self._operators.get(name, "none"):
            self._choose(name, number, operator)
        self._handle.put(number, begin, array.shape, array.reshape(-1).view(np.uint8), copy)

    def derive(self, name: str, what: str, *sources: str, operator: str = "none") -> None:
        """Let the library make a variable of others in each step in which they are put.

        Parameters:
            what: "min" or "max" (a scalar, of all writers), or "magnitude" (an array,
                sqrt(x*x + y*y + ...)).
            sources: names of arrays; they may be put later for the first time.
            operator: of the magnitude, as for `put`.
        """
        self._derived.append((name, what, sources, operator))

    def _define_derived(self) -> None:
        """Define what is derived from variables that have come meanwhile."""
        for one in list(self._derived):
            name, what, sources, operator = one
            if not all(source in self._defined for source in sources):
                continue
            self._derived.remove(one)
            numbers = tuple(self._defined[source][0] for source in sources)
            number = self._handle.derive(name, what, numbers)
            if operator != "none":
                self._choose(name, number, operator)

    def _choose(self, name: str, number: int, operator: str) -> None:
        first, _, rest = operator.strip().partition(" ")
        self._handle.operator(number, first, rest)
        self._operators[name] = operator

    def _variable(
        self, name: str, kind: int, array: np.ndarray, whole: tuple[int, ...] | None
    ) -> int:
        """Return the number of an array, which is defined or reshaped if need be."""
        known = self._defined.get(name)
        if known is None:
            number = self._handle.define(name, kind, array.ndim, whole)
        else:
            number, before, dtype = known
            same = (whole is None) == (before is None) and len(whole or array.shape) == len(
                before or array.shape
            )
            if dtype != array.dtype or not same:
                raise ArgumentError(
                    f"variable '{name}' was defined as {dtype}, shape {before}; this block is "
                    f"{array.dtype}, shape {whole}"
                )
            if whole is not None and whole != before:
                self._handle.reshape(number, whole)
        self._defined[name] = (number, whole, array.dtype)
        return number

    def attribute(self, name: str, value: Any) -> None:
        """Set an attribute of the stream: a text, a number, or an array of numbers."""
        if isinstance(value, str):
            self._handle.attribute(name, _STRING, 0, value.encode())
            return
        array = np.atleast_1d(np.asarray(value))
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
        self._handle.attribute(name, _type(name, array.dtype), array.size, array.tobytes())


class Variable:
    """A variable of a step. Indexing an array gets a part of it: `step["T"][2:5, 7]`."""

    def __init__(
        self, step: Step, name: str, kind: int, type_: int, shape: tuple[int, ...], blocks: int
    ) -> None:
        self._step = step
        self._type = type_
        self.name = name
        """Its name."""
        self.kind = _KINDS[kind]
        """ "global", "local" or "scalar"."""
        self.shape = shape
        """Shape of the whole array."""
        self.blocks = blocks
        """How many blocks the writers have put."""
        self.dtype = np.dtype(_DTYPES[type_ - 1]) if type_ != _STRING else np.dtype(object)
        """Type of its elements."""

    @property
    def operator(self) -> str:
        """What is done to it on its way: "zfp accuracy=0.001", or "" for nothing."""
        return self._step._handle.operator_of(self.name)

    def __repr__(self) -> str:
        return f"<Variable {self.name}: {self.kind}, {self.dtype}, {self.shape}>"

    def get(
        self,
        start: Sequence[int] | None = None,
        count: Sequence[int] | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Get a box of a global array now, also into an array without gaps."""
        array = self.get_later(start, count, out)
        self._step.perform()
        return array

    def get_later(
        self,
        start: Sequence[int] | None = None,
        count: Sequence[int] | None = None,
        out: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return an array that `Step.perform` or the end of the step fills."""
        first = tuple(start) if start is not None else (0,) * len(self.shape)
        size = (
            tuple(count) if count is not None else tuple(n - a for n, a in zip(self.shape, first))
        )
        if len(first) != len(self.shape) or len(size) != len(self.shape) or min(first + size) < 0:
            raise ArgumentError(
                f"variable '{self.name}' has the shape {self.shape}; start {first} and count "
                f"{size} do not fit"
            )
        array = self._room(size, out)
        if array.size:
            self._step._handle.get(self.name, self._type, first, size, self._bytes(array))
        return array

    def block(self, number: int) -> np.ndarray:
        """Get a whole block, of a global or a local array."""
        _, _, count = self.where(number)
        array = self._room(count, None)
        if array.size:
            self._step._handle.get_block(self.name, self._type, number, self._bytes(array))
            self._step.perform()
        return array

    def where(self, number: int) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
        """Return (writer, start, count) of a block."""
        return self._step._handle.block(self.name, number, len(self.shape))

    def _room(self, shape: tuple[int, ...], out: np.ndarray | None) -> np.ndarray:
        if out is None:
            return np.empty(shape, self.dtype)
        if out.shape != shape or out.dtype != self.dtype or not out.flags.c_contiguous:
            raise ArgumentError(
                f"variable '{self.name}': out must be {self.dtype}, {shape}, in C order without "
                f"gaps; it is {out.dtype}, {out.shape}"
            )
        return out

    @staticmethod
    def _bytes(array: np.ndarray) -> np.ndarray:
        return array.reshape(-1).view(np.uint8)

    def __getitem__(self, index: Index) -> Any:
        """Get what a NumPy array would have there; integers and slices."""
        wanted = index if isinstance(index, tuple) else (index,)
        if Ellipsis in wanted:
            at = wanted.index(Ellipsis)
            more = (slice(None),) * (len(self.shape) - len(wanted) + 1)
            wanted = (*wanted[:at], *more, *wanted[at + 1 :])
        if len(wanted) > len(self.shape):
            raise IndexError(f"variable '{self.name}' has {len(self.shape)} dimensions")
        start: list[int] = []
        count: list[int] = []
        rest: list[int | slice] = []
        for size, one in zip(self.shape, (*wanted, *(slice(None),) * len(self.shape))):
            chosen = range(size)[one]
            if isinstance(chosen, int):
                start.append(chosen)
                count.append(1)
                rest.append(0)
                continue
            low, high = (min(chosen), max(chosen) + 1) if chosen else (0, 0)
            start.append(low)
            count.append(high - low)
            rest.append(slice(None, None, chosen.step))
        return self.get(start, count)[tuple(rest)]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("a variable of a stream becomes an array by a copy")
        return self.get().astype(dtype or self.dtype, copy=False)


class Step(Mapping[str, Any]):
    """A step that is open: a mapping of names to arrays (`Variable`), numbers and texts."""

    def __init__(self, handle: _core.StageHandle, limit: float) -> None:
        self._handle = handle
        self._limit = limit
        self.number = handle.step()
        """Its number, from 0."""
        self._all = {v[0]: v for v in handle.variables()}

    def __getitem__(self, name: str) -> Any:
        try:
            _, kind, sort, shape, blocks = self._all[name]
        except KeyError:
            raise KeyError(f"'{name}'; the step has {', '.join(self._all)}") from None
        if sort != 3:
            return Variable(self, name, sort, kind, shape, blocks)
        value = self._handle.get_value(name, kind)
        if kind == _STRING:
            return value.decode("utf-8", "replace")
        return np.frombuffer(value, _DTYPES[kind - 1])[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __repr__(self) -> str:
        return f"<Step {self.number}: {', '.join(self._all)}>"

    def perform(self, limit: float | None = None) -> None:
        """Fetch what `Variable.get_later` has asked for."""
        self._handle.perform(self._limit if limit is None else limit)

    @property
    def attributes(self) -> dict[str, Any]:
        """Attributes of the stream."""
        return {
            name: data.decode("utf-8", "replace")
            if kind == _STRING
            else np.frombuffer(data, _DTYPES[kind - 1])
            for name, kind, data in self._handle.attributes()
        }


class Reader(_Stream):
    """This process as a reader of a stream: all processes of its block make one.

    Iterating gives its steps, each until the next one is asked for.

    Parameters:
        name: of the stream.
        latest: take the newest step each time, and pass over those before it.
        first, last, stride: take only steps first, first + stride, ... up to last.
        limit: seconds that calls wait which are not told otherwise.
        writer: (block, process) of the first writer, if it is not the first process of a block.
        timeout, comm: as for `Writer`.
    """

    def __init__(
        self,
        name: str,
        *,
        latest: bool = False,
        first: int = 0,
        last: int | None = None,
        stride: int = 1,
        limit: float = 600.0,
        writer: tuple[int, int] | None = None,
        timeout: float | None = None,
        comm: Any = None,
    ) -> None:
        super().__init__(name, timeout, comm)
        self._latest = latest
        self._open = False
        self._handle = _core.StageHandle(name, _READ, limit, 0, 0, 0, 0, writer)
        self._handle.select(first, -1 if last is None else last, stride)

    def begin_step(self, limit: float | None = None) -> Step | None:
        """Begin a step. Return None when the writers have closed the stream and all is read.

        Raises `waitio.TimeoutError` when no step came within `limit` seconds: call it again.
        """
        status = self._handle.begin_step(int(self._latest), _limit(limit))
        if status == _NOT_READY:
            raise TimeoutError(f"stream '{self.name}': no step came in time")
        self._open = status == _OK
        return Step(self._handle, _DEFAULT) if self._open else None

    def end_step(self, limit: float | None = None) -> None:
        """End it: fetches what was asked for, and lets the writers forget the step."""
        if not self._open:
            raise StateError(f"stream '{self.name}': no step is open")
        self._handle.end_step(_limit(limit))
        self._open = False

    def __iter__(self) -> Iterator[Step]:
        while True:
            step = self.begin_step()
            if step is None:
                return
            yield step
            if self._open:
                self.end_step()
