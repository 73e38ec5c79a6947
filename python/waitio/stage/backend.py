# SPDX-License-Identifier: BSD-3-Clause
"""Streams for xarray: `xarray.open_dataset("flow", engine="waitio")`.

Each open takes the next step of the stream as a Dataset, whose arrays are fetched when they are
needed. xarray finds this module by the entry point "waitio"; only it is imported with xarray.
"""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np
import xarray as xr  # type: ignore[import-not-found,unused-ignore]
from xarray.backends import (  # type: ignore[import-not-found,unused-ignore]
    AbstractDataStore,
    BackendArray,
    BackendEntrypoint,
    StoreBackendEntrypoint,
)
from xarray.core import indexing  # type: ignore[import-not-found,unused-ignore]

from waitio.exceptions import StateError
from waitio.stage import meaning
from waitio.stage.streams import Reader, Step, Variable

BLOCKS_MOST = 4096  # with more blocks nobody asks whether they make a grid


class Source:
    """A stream that is read step by step; dask's threads take turns."""

    def __init__(self, stream: str, **options: Any) -> None:
        self.name = stream
        self.lock = threading.RLock()
        self.reader = Reader(stream, **options)
        self.now: Step | None = None

    def next(self, limit: float | None) -> Step | None:
        """End the step that is open, begin the next one. None: there is none any more."""
        with self.lock:
            self.end()
            self.now = self.reader.begin_step(limit)
            return self.now

    def end(self, step: Step | None = None) -> None:
        """End the step that is open, or only this one."""
        with self.lock:
            if self.now is not None and step in (None, self.now):
                self.now = None
                self.reader.end_step()

    def close(self) -> None:
        """Leave the stream."""
        with self.lock:
            self.end()
            self.reader.close()


class LazyArray(BackendArray):  # type: ignore[misc,unused-ignore]
    """An array of a step: what is indexed is fetched, while the step is open."""

    def __init__(self, source: Source, step: Step, variable: Variable) -> None:
        self.source, self.step, self.variable = source, step, variable
        self.shape, self.dtype = variable.shape, variable.dtype

    def __getitem__(self, key: Any) -> Any:
        return indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.BASIC, self._get
        )

    def _get(self, key: tuple[Any, ...]) -> Any:
        with self.source.lock:
            if self.source.now is not self.step:
                raise StateError(
                    f"stream '{self.source.name}', step {self.step.number}: variable "
                    f"'{self.variable.name}' was not fetched before the step ended; call .load() "
                    "on what must outlive it"
                )
            return self.variable[key]

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"variable '{self.variable.name}' of stream '{self.source.name}' can be fetched by "
            "this process only: .load() it first, or let dask use threads"
        )


def _cuts(variable: Variable) -> tuple[tuple[int, ...], ...] | None:
    """Return the sizes of the blocks along each dimension, if the blocks make a grid."""
    if not 0 < variable.blocks <= BLOCKS_MOST:
        return None
    places = [variable.where(i)[1:] for i in range(variable.blocks)]
    cuts = []
    for axis in range(len(variable.shape)):
        pieces = sorted({(start[axis], count[axis]) for start, count in places if min(count) > 0})
        ends = [start + count for start, count in pieces]
        if [start for start, _ in pieces] != [0, *ends[:-1]] or ends[-1] != variable.shape[axis]:
            return None
        cuts.append(tuple(count for _, count in pieces))
    return tuple(cuts)


class Store(AbstractDataStore):  # type: ignore[misc,unused-ignore]
    """A step, as xarray's decoding of the CF conventions takes it."""

    def __init__(self, source: Source, step: Step) -> None:
        self.source, self.step = source, step
        self.all = step.attributes

    def get_attrs(self) -> dict[str, Any]:
        """Attributes of the stream."""
        return meaning.of_stream(self.step, self.all)

    def get_encoding(self) -> dict[str, Any]:
        """Where the Dataset comes from."""
        return {"source": f"waitio:{self.source.name}"}

    def get_variables(self) -> dict[str, Any]:
        """Global arrays, scalars and texts; local arrays have no place in a Dataset."""
        found = {}
        for name in self.step:
            value, attrs = self.step[name], meaning.of_variable(name, self.all)
            if not isinstance(value, Variable):
                found[name] = xr.Variable((), np.asarray(value), attrs)
            elif value.kind == "global":
                found[name] = self._array(value, attrs)
            else:
                warnings.warn(
                    f"stream '{self.source.name}': the local array '{name}' is left out, for its "
                    "blocks have no place in a Dataset; waitio.stage.Reader reads them",
                    stacklevel=2,
                )
        found.setdefault(meaning.STEP, xr.Variable((), np.int64(self.step.number)))
        return found

    def _array(self, value: Variable, attrs: dict[str, Any]) -> Any:
        dims = meaning.dimensions(self.source.name, value.name, value.shape, self.all)
        lazy = indexing.LazilyIndexedArray(LazyArray(self.source, self.step, value))
        cuts = _cuts(value)
        encoding = {"preferred_chunks": dict(zip(dims, cuts))} if cuts else {}
        return xr.Variable(dims, lazy, attrs, encoding)

    def close(self) -> None:
        """End the step: its writers may forget it."""
        self.source.end(self.step)


_sources: dict[str, Source] = {}  # what open_dataset has open, by the name of the stream


def _forget(stream: str) -> None:
    """Close a stream; the next open begins anew."""
    source = _sources.pop(stream)
    with contextlib.suppress(Exception):  # what was wrong with it has been told
        source.close()


def dataset(source: Source, step: Step, **decoding: Any) -> Any:
    """Return a step as a Dataset."""
    found = StoreBackendEntrypoint().open_dataset(Store(source, step), **decoding)
    return found.set_coords([n for n in (meaning.STEP, meaning.TIME) if n in found.variables])


class Backend(BackendEntrypoint):  # type: ignore[misc,unused-ignore]
    """xarray's engine "waitio"."""

    description = "Steps of a running program (WaitIO staging)"
    open_dataset_parameters = (
        "filename_or_obj", "mask_and_scale", "decode_times", "concat_characters", "decode_coords",
        "drop_variables", "use_cftime", "decode_timedelta", "limit", "latest", "first", "last",
        "stride", "writer",
    )  # fmt: skip

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Tell that a name says nothing: engine="waitio" must be asked for."""
        return False

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        mask_and_scale: bool = True,
        decode_times: bool = True,
        concat_characters: bool = True,
        decode_coords: bool = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | None = None,
        decode_timedelta: bool | None = None,
        limit: float | None = None,
        latest: bool = False,
        first: int = 0,
        last: int | None = None,
        stride: int = 1,
        writer: tuple[int, int] | None = None,
    ) -> Any:
        """Return the next step of a stream; the step before ends. EOFError: there is none.

        With dask take `waitio.stage.steps`: xarray names dask's arrays by the stream alone here, so
        those of two steps would have one name.

        `latest`, `first`, `last`, `stride` and `writer` are those of `waitio.stage.Reader`, and
        count when the stream is opened first; `limit` bounds this wait.
        """
        stream = str(filename_or_obj)
        source = _sources.get(stream)
        if source is None:
            options = {"latest": latest, "first": first, "last": last, "stride": stride}
            limits = {} if limit is None else {"limit": limit}
            source = _sources[stream] = Source(stream, writer=writer, **options, **limits)
        try:
            step = source.next(limit)
        except TimeoutError:  # it may be asked again
            raise
        except BaseException:
            _forget(stream)
            raise
        if step is None:
            _forget(stream)
            raise EOFError(f"stream '{stream}': its writers have closed it, and all is read")
        return dataset(
            source,
            step,
            mask_and_scale=mask_and_scale,
            decode_times=decode_times,
            concat_characters=concat_characters,
            decode_coords=decode_coords,
            drop_variables=drop_variables,
            use_cftime=use_cftime,
            decode_timedelta=decode_timedelta,
        )


class Opened:
    """A step that is open already; dask names its arrays by stream, process and step."""

    def __init__(self, source: Source, step: Step) -> None:
        self.source, self.step = source, step

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        return "waitio", self.source.name, os.getpid(), id(self.source), self.step.number


class OpenedBackend(BackendEntrypoint):  # type: ignore[misc,unused-ignore]
    """What `waitio.stage.steps` opens by."""

    open_dataset_parameters = ("filename_or_obj", "drop_variables")

    def open_dataset(self, filename_or_obj: Any, *, drop_variables: Any = None) -> Any:
        """Return the step as a Dataset."""
        opened: Opened = filename_or_obj
        return dataset(opened.source, opened.step, drop_variables=drop_variables)


def chunked(source: Source, step: Step, chunks: Any) -> Any:
    """Return a step as a Dataset, as dask arrays if there are chunks."""
    opened: Any = Opened(source, step)
    return xr.open_dataset(opened, engine=OpenedBackend, chunks=chunks)
