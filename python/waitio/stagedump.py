# SPDX-License-Identifier: BSD-3-Clause
"""`waitio dump`: the numbers of a stream."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from waitio import stagetool
from waitio.errors import WaitioError, nearest
from waitio.options import Option, help_text, whole

if TYPE_CHECKING:
    from waitio.stage import Step, Variable

WHERE = "waitio dump"
COLUMNS = 6


def _ends(text: str) -> tuple[int | None, int | None]:
    """Convert "2:5", "2:", ":" or "3" to a range."""
    first, colon, last = text.partition(":")
    if not colon:
        return int(first), int(first) + 1
    return int(first) if first else None, int(last) if last else None


def _box(text: str) -> list[tuple[int | None, int | None]]:
    try:
        ends = [_ends(part.strip()) for part in text.split(",")]
    except ValueError:
        raise ValueError("a range for each dimension is needed, as 2:5,:,3") from None
    if any(a < 0 for pair in ends for a in pair if a is not None):
        raise ValueError("indices count from 0 up")
    return ends


def _format(text: str) -> str:
    try:
        text % 1.0
    except (TypeError, ValueError):
        raise ValueError("the format of one number is needed, as %8.3f or %.3e") from None
    return text


OPTIONS = (
    Option(("-v", "--variable"), "variables", "only this one (repeat for more)", "NAME", many=True),
    Option(("--steps",), "steps", "only these: 3, 2:5 (2, 3, 4), 2:", "A:B", stagetool.steps),
    Option(("--box",), "box", "only this part of global arrays: 2:5,:,3", "RANGES", _box),
    Option(("-b", "--blocks"), "blocks", "block by block, as the writers have put them"),
    Option(("--format",), "format", "of each number, as %8.3f", "%F", _format),
    Option(("--columns",), "columns", f"numbers in a line ({COLUMNS})", "N", whole(1, 10**6)),
    stagetool.LIMIT,
    Option(("-h", "--help"), "help", "show this text"),
)
HELP = f"""usage: waitio dump STREAM [OPTIONS]

A block of a run that prints the numbers of a stream, step by step until it ends:

  waitio run ./flow : waitio dump flow -v T --box 10:20,:,5 --steps 0:3

In front of each line stands the index of its first number in the whole array. Only the box travels,
64 MiB at a time. A step is kept until it is printed: writers whose queue is full wait meanwhile,
or discard steps, as they have chosen. For files: waitio stage write.

{help_text(OPTIONS)}
"""


class Dump:
    """Prints arrays and values."""

    def __init__(self, values: Mapping[str, Any], out: TextIO) -> None:
        """Take the options."""
        self.names: list[str] = values.get("variables", [])
        self.box: list[tuple[int | None, int | None]] | None = values.get("box")
        self.by_block = bool(values.get("blocks"))
        self.format: str | None = values.get("format")
        self.columns: int = values.get("columns", COLUMNS)
        self.out = out
        self.seen: set[str] = set()
        self.there: set[str] = set()

    def step(self, stream: str, step: Step) -> None:
        """Print a step."""
        self.there |= set(step)
        chosen = [name for name in step if name in self.names or not self.names]
        self.seen |= set(chosen)
        self.out.write(f"stream '{stream}', step {step.number}\n")
        for name in chosen:
            value = step[name]
            if isinstance(value, str):
                self.out.write(f'  string {name} = "{value}"\n')
            elif hasattr(value, "blocks"):
                self._variable(value)
            else:
                self.out.write(f"  {value.dtype} {name} = {self._text(value)}\n")
        self.out.flush()

    def missing(self) -> list[str]:
        """Return the names that were asked for and that no step had."""
        return [name for name in self.names if name not in self.seen]

    def _text(self, value: Any) -> str:
        if self.format is None or value.dtype.kind == "c":
            return str(value)
        return str(self.format % value)

    def _variable(self, variable: Variable) -> None:
        if variable.kind == "local" or self.by_block:
            for number in range(variable.blocks):
                writer, start, count = variable.where(number)
                place = (
                    ", ".join(f"{a}:{a + n}" for a, n in zip(start, count))
                    if variable.kind == "global"
                    else stagetool.shape_text(count)
                )
                head = f"  {variable.dtype} {variable.name}, block {number} of writer {writer}"
                self.out.write(f"{head} [{place}]\n")
                first = start if variable.kind == "global" else (0,) * len(count)
                self._numbers(first, variable.block(number))
            return
        shape = stagetool.shape_text(variable.shape)
        self.out.write(f"  {variable.dtype} {variable.name} [{shape}]\n")
        for start, count in stagetool.pieces(self._chosen(variable), variable.dtype.itemsize):
            self._numbers(start, variable.get(start, count))

    def _chosen(self, variable: Variable) -> stagetool.Box:
        if self.box is None:
            return (0,) * len(variable.shape), variable.shape
        where = f"variable '{variable.name}' has the shape {stagetool.shape_text(variable.shape)}"
        if len(self.box) != len(variable.shape):
            raise WaitioError(
                f"{WHERE}: --box has {len(self.box)} ranges, but {where}; choose with -v", 2
            )
        start, count = [], []
        for size, (first, last) in zip(variable.shape, self.box):
            begin, end = first or 0, size if last is None else last
            if not begin < end <= size:
                raise WaitioError(f"{WHERE}: --box: there is no {begin}:{end}; {where}", 2)
            start.append(begin)
            count.append(end - begin)
        return tuple(start), tuple(count)

    def _numbers(self, start: Sequence[int], array: Any) -> None:
        for index, line in _lines(array):
            for at in range(0, len(line), self.columns):
                place = [a + i for a, i in zip(start, (*index, at))]
                numbers = " ".join(map(self._text, line[at : at + self.columns]))
                self.out.write(f"    ({','.join(map(str, place))}) {numbers}\n")


def _lines(array: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Return each line of the last dimension with its index in the others."""
    import numpy as np

    for index in np.ndindex(array.shape[:-1]):
        yield index, array[index]


def _dump(stream: str, values: Mapping[str, Any]) -> int:
    dump = Dump(values, sys.stdout)
    number = 0
    with stagetool.reader(stream, dict(values)) as flow:
        for step in flow:
            dump.step(stream, step)
            number += 1
    if not number:
        raise WaitioError(f"{WHERE}: stream '{stream}' has ended without a step that was asked for")
    missing = dump.missing()
    if missing:
        raise WaitioError(
            f"{WHERE}: stream '{stream}': no step had the variable '{missing[0]}'"
            f"{nearest(missing[0], dump.there)}; there are {', '.join(sorted(dump.there))}"
        )
    return 0


def main(words: Sequence[str]) -> int:
    """Run the subcommand; return its exit status."""
    return stagetool.command(words, OPTIONS, WHERE, HELP, _dump)
