# SPDX-License-Identifier: BSD-3-Clause
"""What of a step goes into a file, and how errors of files are told."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from waitio.errors import WaitioError
from waitio.stage import meaning
from waitio.stage.streams import Step, Variable


@dataclass(frozen=True)
class Field:
    """A variable of a step, for a file."""

    name: str
    value: Any
    """A `Variable`, a number or a text."""
    dims: tuple[str, ...]
    attrs: dict[str, Any]

    @property
    def is_array(self) -> bool:
        """Whether it is an array."""
        return isinstance(self.value, Variable)

    @property
    def fixed(self) -> bool:
        """Whether it is the coordinate of its own dimension, which is written once."""
        return self.dims == (self.name,)


class Frame:
    """A step, or those of its variables that somebody wants (None: all)."""

    def __init__(self, stream: str, step: Step, names: Sequence[str] | None) -> None:
        self.stream, self.number = stream, step.number
        self.step = step
        every = step.attributes
        missing = [name for name in names or () if name not in step]
        if missing:
            raise WaitioError(
                f"stream '{stream}', step {step.number}: there is no variable '{missing[0]}'; it "
                f"has {', '.join(step)}"
            )
        self.attrs = meaning.of_stream(step, every)
        self.fields: list[Field] = []
        self.left_out: list[str] = []
        for name in names if names is not None else step:
            value, attrs = step[name], meaning.of_variable(name, every)
            if isinstance(value, Variable) and value.kind == "local":
                self.left_out.append(name)
                continue
            dims: tuple[str, ...] = ()
            if isinstance(value, Variable):
                dims = meaning.dimensions(stream, name, value.shape, every)
            self.fields.append(Field(name, value, dims, attrs))
        if meaning.TIME in step and not any(f.name == meaning.TIME for f in self.fields):
            attrs = meaning.of_variable(meaning.TIME, every)
            self.fields.append(Field(meaning.TIME, step[meaning.TIME], (), attrs))

    @property
    def record(self) -> str:
        """The dimension that grows with the steps: "time" if there is one such, else "step"."""
        timed = any(f.name == meaning.TIME and not f.is_array for f in self.fields)
        return meaning.TIME if timed else meaning.STEP

    def where(self, name: str | None = None) -> str:
        """Say in an error where it happened."""
        variable = f", variable '{name}'" if name is not None else ""
        return f"stream '{self.stream}', step {self.number}{variable}"


@contextmanager
def told(frame: Frame, name: str | None, path: str, process: int) -> Iterator[None]:
    """Turn what libraries of files raise into an error that says what could not be written."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        why = str(error.strerror or error) if isinstance(error, OSError) else str(error)
        raise WaitioError(
            f"{frame.where(name)}, process {process}: cannot write '{path}': {why}{space(path)}"
        ) from error


def space(path: str) -> str:
    """Say how much room a nearly full file system has; libraries hide this reason."""
    try:
        there = os.statvfs(path if os.path.isdir(path) else os.path.dirname(os.path.abspath(path)))
    except OSError:
        return ""
    free = there.f_bavail * there.f_frsize
    if free > 1 << 26:
        return ""
    return f" (the file system has {free} bytes left: make room, or write elsewhere)"


def same_shape(frame: Frame, field: Field, shape: Sequence[int], path: str) -> None:
    """Refuse a variable whose shape is no longer that of the file."""
    if tuple(field.value.shape) != tuple(shape):
        raise WaitioError(
            f"{frame.where(field.name)}: its shape is {tuple(field.value.shape)} now, and "
            f"{tuple(shape)} in '{path}'; a file has one shape: write one for each step, as "
            "out.{step}.nc"
        )
