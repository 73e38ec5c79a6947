# SPDX-License-Identifier: BSD-3-Clause
"""Steps into a Zarr store (format 3): the processes of the block share the chunks of each step."""

from __future__ import annotations

import itertools
import math
import os
import shutil
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from waitio.errors import WaitioError
from waitio.stage import meaning
from waitio.stage.frames import Field, Frame, same_shape, space, told
from waitio.stage.streams import Variable

CHUNK_MOST = 1 << 26  # bytes
BLOCKS_MOST = 4096


def chunk_of(variable: Variable) -> tuple[int, ...]:
    """Return a shape for the chunks: that of the largest block, halved until it is small enough."""
    sizes = list(variable.shape)
    if 0 < variable.blocks <= BLOCKS_MOST:
        counts = [variable.where(i)[2] for i in range(variable.blocks)]
        sizes = [max(column) for column in zip(*counts)]
    sizes = [max(1, n) for n in sizes]
    while math.prod(sizes) * variable.dtype.itemsize > CHUNK_MOST and max(sizes) > 1:
        longest = sizes.index(max(sizes))
        sizes[longest] = -(-sizes[longest] // 2)
    return tuple(sizes)


def boxes(
    shape: tuple[int, ...], chunk: tuple[int, ...], process: int, processes: int
) -> Iterator[tuple[slice, ...]]:
    """Yield the chunks that a process writes: every n-th."""
    grid = itertools.product(*(range(0, n, c) for n, c in zip(shape, chunk)))
    for start in itertools.islice(grid, process, None, processes):
        yield tuple(slice(a, min(a + c, n)) for a, c, n in zip(start, chunk, shape))


class ToZarr:
    """Writes steps; `agree` tells all processes of the block whether one has failed."""

    def __init__(
        self, path: str, process: int, processes: int, overwrite: bool, agree: Any
    ) -> None:
        self.path, self.process, self.processes = path, process, processes
        self.overwrite, self.agree = overwrite, agree
        self.steps = 0
        self.stream = ""

    def write(self, frame: Frame) -> None:
        """Add a step. All processes of the block call it."""
        at, self.stream = self.steps, frame.stream
        self._together(frame, self._lay_out if self.process == 0 else None, at)
        self._together(frame, self._fill, at)
        self.steps += 1

    def _together(self, frame: Frame, what: Any, at: int) -> None:
        """Do a part of the work; all fail when one does."""
        error: BaseException | None = None
        try:
            if what is not None:
                what(frame, at)
        except Exception as found:  # the others must hear of it first
            error = found
        others = self.agree(error is not None)
        if error is not None:
            raise error
        if others:
            raise WaitioError(
                f"{frame.where()}, process {self.process}: another process of this block could not "
                f"write '{self.path}'; it says why"
            )

    def _open(self, mode: Any) -> Any:
        import zarr  # type: ignore[import-not-found,unused-ignore]

        return zarr.open_group(self.path, mode=mode, zarr_format=3)

    def _lay_out(self, frame: Frame, at: int) -> None:
        """Make the arrays, or room for one more step; write numbers and texts."""
        if at == 0 and os.path.exists(self.path):
            if not self.overwrite:
                raise WaitioError(f"'{self.path}' is there already; --overwrite replaces it")
            if not os.path.exists(os.path.join(self.path, "zarr.json")):
                raise WaitioError(f"'{self.path}' is there already, and no Zarr store")
            with told(frame, None, self.path, self.process):
                shutil.rmtree(self.path)
        with told(frame, None, self.path, self.process):
            group = self._open("w" if at == 0 else "r+")
            if at == 0:
                group.update_attributes({k: _jsonable(v) for k, v in frame.attrs.items()})
        fields = list(frame.fields)
        if not any(f.name == meaning.STEP for f in fields):
            fields.append(Field(meaning.STEP, np.int64(frame.number), (), {}))
        for field in fields:
            with told(frame, field.name, self.path, self.process):
                self._lay_out_one(frame, group, field, at)

    def _lay_out_one(self, frame: Frame, group: Any, field: Field, at: int) -> None:
        if at == 0:
            self._create(frame, group, field)
        elif field.name not in group:
            raise WaitioError(
                f"{frame.where(field.name)}: it was not in the first step, and is not in "
                f"'{self.path}'; choose what is in all steps with --variables"
            )
        made = group[field.name]
        if field.is_array:
            same_shape(frame, field, made.shape if field.fixed else made.shape[1:], self.path)
        if field.fixed:
            return
        made.resize((at + 1, *made.shape[1:]))
        if not field.is_array:
            made[at] = field.value

    def _create(self, frame: Frame, group: Any, field: Field) -> None:
        value = field.value
        shape, chunk = (value.shape, chunk_of(value)) if field.is_array else ((), ())
        dtype: Any = str if isinstance(value, str) else np.asarray(value).dtype
        if field.is_array:
            dtype = value.dtype
        first: tuple[int, ...] = () if field.fixed else (1,)
        # Numbers of many steps share a chunk.
        many: tuple[int, ...] = first if field.is_array else (1024,)
        dims = field.dims if field.fixed else (frame.record, *field.dims)
        attrs = dict(field.attrs)
        fill = attrs.pop("_FillValue", None)
        if fill is None and field.is_array and dtype.kind in "fc":
            fill = float("nan")  # what was not written, because the disk was full, is no number
        with warnings.catch_warnings():  # zarr warns of texts, whose format it may change
            warnings.simplefilter("ignore")
            group.create_array(
                field.name,
                shape=(*first, *shape),
                chunks=(*many, *chunk) or None,
                dtype=dtype,
                fill_value=fill,
                dimension_names=dims,
                attributes={k: _jsonable(v) for k, v in attrs.items()},
            )

    def _fill(self, frame: Frame, at: int) -> None:
        """Write this process's chunks of the arrays."""
        with told(frame, None, self.path, self.process):
            group = self._open("r+")
        for field in frame.fields:
            if not field.is_array or (field.fixed and at > 0):
                continue
            first: tuple[Any, ...] = () if field.fixed else (at,)
            with told(frame, field.name, self.path, self.process):
                made = group[field.name]
                chunk = made.chunks if field.fixed else made.chunks[1:]
                for box in boxes(field.value.shape, chunk, self.process, self.processes):
                    data = field.value.get([s.start for s in box], [s.stop - s.start for s in box])
                    made[(*first, *box)] = data

    def close(self) -> None:
        """Collect what the store has, so that it opens quickly."""
        if self.process != 0 or self.steps == 0:
            return
        import zarr

        with warnings.catch_warnings():  # zarr warns that other programs may not use it
            warnings.simplefilter("ignore")
            try:
                zarr.consolidate_metadata(self.path)
            except OSError as error:
                raise WaitioError(
                    f"stream '{self.stream}', process {self.process}: cannot write '{self.path}': "
                    f"{error.strerror or error}{space(self.path)}"
                ) from error

    def give_up(self) -> None:
        """Everything is on its way to the disk already."""


def _jsonable(value: Any) -> Any:
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
