# SPDX-License-Identifier: BSD-3-Clause
"""What `waitio ls`, `waitio dump` and `waitio stage watch` share: they are blocks of a run.

The command works with the standard library alone; these three need the package's extension and
NumPy, and load them only when they have something to read.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Callable

from waitio.errors import UsageError, WaitioError
from waitio.options import Option, parse, seconds

if TYPE_CHECKING:
    from waitio.stage import Reader, Variable

# The most bytes that are fetched at once of a large array.
PIECE = 64 << 20

Box = tuple[tuple[int, ...], tuple[int, ...]]  # start, count

LIMIT = Option(
    ("--limit",), "limit", "longest wait for the stream and for a step (10m)", "TIME", seconds
)


def stream_and_options(
    words: Sequence[str], options: Sequence[Option], where: str
) -> tuple[str, dict[str, Any]]:
    """Return the one word that is no option, and the options before and behind it."""
    values: dict[str, Any] = {}
    streams: list[str] = []
    rest = list(words)
    while rest:
        found, rest = parse(rest, options, where)
        for name, value in found.items():
            values[name] = values.get(name, []) + value if isinstance(value, list) else value
        streams += rest[:1]
        rest = rest[1:]
    if not values.get("help") and len(streams) != 1:
        what = f"not {len(streams)}: {' '.join(streams)}" if streams else "and got none"
        raise UsageError(f"{where} takes the name of one stream, {what}; see {where} --help")
    return (streams or [""])[0], values


def steps(text: str) -> tuple[int, int | None]:
    """Convert "3", "2:5" (2, 3, 4), "2:" or ":5" to the first and the last step."""
    match = re.fullmatch(r"(\d{1,15})?(:)?(\d{1,15})?", text.strip())
    if not match or text.strip() in ("", ":"):
        raise ValueError("a step as 3, or steps as 2:5 (2, 3, 4), 2: or :5 is needed")
    first = int(match[1] or 0)
    if not match[2]:
        return first, first
    last = int(match[3]) - 1 if match[3] else None
    if last is not None and last < first:
        raise ValueError("these are no steps: the second number is the first step that is left out")
    return first, last


def inside(where: str, stream: str) -> None:
    """Refuse to run where there is no universe to join, and as several processes."""
    if "WAITIO_PBID" not in os.environ:
        raise UsageError(
            f"{where}: this is no block of a run, and a run takes no blocks later on. Start it with"
            f" the run: waitio run ./simulation : {where} {stream}"
        )
    number = os.environ.get("WAITIO_NPROCS", "1")
    if number != "1":
        raise UsageError(f"{where}: one process is enough for it, not {number}: leave out -n")


def need(where: str) -> None:
    """Load what reads streams, or say what is missing."""
    try:
        import waitio

        _ = waitio.Universe  # explains a missing extension
        import waitio.stage
    except ImportError as error:
        raise WaitioError(f"{where}: {error}", 127) from None


@contextlib.contextmanager
def told(where: str) -> Iterator[None]:
    """Let what the package raises reach the user as a line."""
    from waitio.exceptions import Error

    need(where)
    try:
        yield
    except Error as error:
        raise WaitioError(f"{where}: {error}") from None


def command(
    words: Sequence[str],
    options: Sequence[Option],
    where: str,
    text: str,
    work: Callable[[str, dict[str, Any]], int],
) -> int:
    """Show the help `text`, or let `work` read the stream; return the exit status."""
    stream, values = stream_and_options(words, options, where)
    if values.get("help"):
        sys.stdout.write(text)
        return 0
    inside(where, stream)
    with told(where):
        return work(stream, values)


def reader(stream: str, values: dict[str, Any], **more: Any) -> Reader:
    """Open the stream, as the options say."""
    from waitio.stage import Reader

    first, last = values.get("steps", (0, None))
    limit = values.get("limit", 600.0)
    return Reader(stream, first=first, last=last, limit=limit, **more)


def shape_text(shape: Sequence[int]) -> str:
    """Return "64 x 32"."""
    return " x ".join(map(str, shape))


def pieces(box: Box, itemsize: int, most: int = PIECE) -> Iterator[Box]:
    """Cut a box into boxes of at most so many bytes, in the order of their elements."""
    start, count = box
    total = itemsize
    for n in count:
        total *= n
    if total <= most or not any(n > 1 for n in count):
        if total:
            yield box
        return
    axis = next(i for i, n in enumerate(count) if n > 1)
    rows = max(1, most // (total // count[axis]))
    for at in range(0, count[axis], rows):
        size = min(rows, count[axis] - at)
        part = (*start[:axis], start[axis] + at, *start[axis + 1 :])
        yield from pieces((part, (*count[:axis], size, *count[axis + 1 :])), itemsize, most)


def extent(array: Any) -> tuple[float, float] | None:
    """Return the least and the largest number that is one, or None if there is none."""
    import numpy as np

    values = abs(array) if array.dtype.kind == "c" else array
    if values.dtype.kind == "f":
        values = values[np.isfinite(values)]
    if values.size == 0:
        return None
    return values.min().item(), values.max().item()


def wider(
    one: tuple[float, float] | None, other: tuple[float, float] | None
) -> tuple[float, float] | None:
    """Return what holds both extents."""
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])


def whole_extent(variable: Variable) -> tuple[float, float] | None:
    """Return the extent of all blocks of an array; holds one block at a time."""
    found = None
    for number in range(variable.blocks):
        found = wider(found, extent(variable.block(number)))
    return found
