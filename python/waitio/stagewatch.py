# SPDX-License-Identifier: BSD-3-Clause
"""`waitio stage watch`: follow a stream in a browser."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from waitio import stagefield, stagetool
from waitio.options import Option, help_text, seconds, whole
from waitio.stagepage import PAGE
from waitio.stageserve import Server

if TYPE_CHECKING:
    from waitio.stage import Reader, Step

WHERE = "waitio stage watch"
SLICE = 0.5  # longest wait for a step before looking at other things
WANTED = 10.0  # seconds for which a variable that a page has asked for is fetched
LAST_LOOK = 1.5  # seconds that pages have to see the end
HISTORY = 2000  # points of a curve; with more every second one is left out
EVERY = 1.0
OPTIONS = (
    Option(("-v", "--variable"), "variable", "show this one first", "NAME"),
    Option(("--port",), "port", "of the page (default: a free one)", "N", whole(0, 65535)),
    Option(("--every",), "every", "shortest time between two pictures (1s)", "TIME", seconds),
    Option(("--keep",), "keep", "stay after the end of the stream, until interrupted"),
    Option(("--limit",), "limit", "longest wait for the stream (10m)", "TIME", seconds),
    Option(("-h", "--help"), "help", "show this text"),
)
HELP = f"""usage: waitio stage watch STREAM [OPTIONS]

A block of a run that shows a stream in a browser: the newest picture of a variable, its least and
largest values over the steps, and the numbers of the step. It prints the address of the page.

  waitio run ./flow : waitio stage watch flow

It takes the newest step each time, fetches what pages show at most once in a while (--every), and
gives the step back before it draws. So the simulation waits for the transfer at most, and for
nothing if its queue discards steps. An error of the stream is shown and printed; the status is
then 0 all the same, so that no run ends because nobody can watch it.

The page is on this machine only (127.0.0.1), and its address has a key. From elsewhere:
ssh -L PORT:127.0.0.1:PORT. All it shows comes from this process.

{help_text(OPTIONS)}
"""


class Board:
    """What is known of the stream: written by the reader, read by the pages' threads."""

    def __init__(self, stream: str, first: str | None) -> None:
        """Nothing is known yet."""
        self._lock = threading.Lock()
        self._about: dict[str, Any] = {"stream": stream, "step": None, "seen": 0, "note": ""}
        self._names: list[dict[str, Any]] = []
        self._values: dict[str, Any] = {}
        self.first = first
        self._pictures: dict[str, dict[str, Any]] = {}
        self._curves: dict[str, list[list[float]]] = {}
        self._asked: dict[str, float] = {}
        self._changed = self._looked = time.monotonic()

    # ---- the reader ----

    def step(self, number: int, names: list[dict[str, Any]], values: dict[str, Any]) -> None:
        """Note a step."""
        with self._lock:
            self._about.update(step=number, seen=self._about["seen"] + 1)
            self._names, self._values = names, values
            self._changed = time.monotonic()
            for name, value in values.items():
                if not isinstance(value, str) and value is not None:
                    self._add(name, number, value, value)

    def wanted(self) -> list[str]:
        """Return the arrays to fetch: those that pages ask for, and the first."""
        with self._lock:
            now = time.monotonic()
            asked = [name for name, at in self._asked.items() if now - at < WANTED]
            arrays = self._arrays()
            return [n for n in dict.fromkeys([self._chosen(""), *asked]) if n in arrays]

    def _arrays(self) -> list[str]:
        return [n["name"] for n in self._names if n["kind"] == "global"]

    def _chosen(self, name: str) -> str:
        """Return the variable to show: this one, the one of the options, the first array."""
        known = [n["name"] for n in self._names]
        wishes = [name, self.first, *self._arrays(), *known]
        return next((wish for wish in wishes if wish in known), "")

    def picture(self, name: str, number: int, found: dict[str, Any]) -> None:
        """Note the picture of a variable."""
        with self._lock:
            self._pictures[name] = {**found, "step": number}
            if found.get("extent"):
                self._add(name, number, *found["extent"])

    def note(self, text: str) -> None:
        """Tell the pages something: an error, or the end."""
        with self._lock:
            self._about["note"] = text

    def watched(self, within: float) -> bool:
        """Tell whether a page has asked lately."""
        return bool(self._asked) and time.monotonic() - self._looked < within

    def _add(self, name: str, number: int, low: float, high: float) -> None:
        if not (math.isfinite(low) and math.isfinite(high)):
            return
        curve = self._curves.setdefault(name, [])
        curve.append([number, low, high])
        if len(curve) > HISTORY:
            del curve[1:-1:2]

    # ---- the pages ----

    def state(self, asked: dict[str, str]) -> dict[str, Any]:
        """Answer a page; the picture only if it has not got that step's."""
        with self._lock:
            self._looked = time.monotonic()
            name = self._chosen(asked.get("variable", ""))
            self._asked[name] = self._looked
            picture = self._pictures.get(name)
            if picture is not None and asked.get("after") == str(picture["step"]):
                picture = {k: v for k, v in picture.items() if k != "data"}
            return {
                **self._about,
                "age": round(self._looked - self._changed, 1),
                "variable": name,
                "variables": self._names,
                "values": self._values,
                "picture": picture,
                "curve": self._curves.get(name, []),
            }


def _described(step: Step) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the variables of a step, and its values."""
    names, values = [], {}
    attributes = step.attributes
    for name in step:
        value = step[name]
        unit = attributes.get(f"{name}/units", "")
        kind = value.kind if hasattr(value, "blocks") else "scalar"
        shape = list(value.shape) if kind == "global" else []
        names.append({"name": name, "kind": kind, "shape": shape, "units": str(unit)})
        if kind == "scalar":
            values[name] = _plain(value)
    return names, values


def _plain(value: Any) -> Any:
    """Return a value as JSON can have it."""
    if isinstance(value, str):
        return value
    number = abs(value.item()) if value.dtype.kind == "c" else value.item()
    return number if math.isfinite(number) else str(number)


def _fetch(step: Step, board: Board) -> None:
    from waitio.exceptions import ArgumentError

    text = ""
    if board.first is not None and board.first not in step:
        text = f"this step has no variable '{board.first}'; it has {', '.join(step)}"
    for name in board.wanted():
        variable = step[name]
        if 0 in variable.shape:
            continue
        try:
            board.picture(name, step.number, stagefield.picture(variable))
        except ArgumentError as error:  # a part of it that nobody has put
            text = str(error)
    board.note(text)


def follow(flow: Reader, board: Board, every: float) -> None:
    """Read the stream to its end. A step is held while its data travels, not longer."""
    from waitio.exceptions import TimeoutError

    due = 0.0
    while True:
        try:
            step = flow.begin_step(SLICE)
        except TimeoutError:
            continue
        if step is None:
            return
        board.step(step.number, *_described(step))
        if time.monotonic() >= due:
            _fetch(step, board)
            due = time.monotonic() + every
        flow.end_step()


def _watch(stream: str, values: dict[str, Any], board: Board) -> None:
    """Follow the stream, and leave the universe: the page may stay longer than the run needs it."""
    from waitio.exceptions import Error

    try:
        with stagetool.reader(stream, values, latest=True) as flow:
            follow(flow, board, values.get("every", EVERY))
        board.note("the stream has ended")
        flow.universe.finalize()
    except Error as error:
        board.note(str(error))
        sys.stderr.write(f"{WHERE}: {error}\n")


def _stay(board: Board, keep: bool) -> None:
    end = time.monotonic() + (math.inf if keep else LAST_LOOK)
    while time.monotonic() < end and (keep or board.watched(WANTED)):
        time.sleep(0.1)


def _serve(stream: str, values: dict[str, Any]) -> int:
    board = Board(stream, values.get("variable"))
    server = Server(values.get("port", 0), PAGE, board.state)
    server.start()
    sys.stdout.write(f"stream '{stream}': {server.address}\n")
    sys.stdout.flush()
    try:
        _watch(stream, values, board)
        _stay(board, bool(values.get("keep")))
    except KeyboardInterrupt:
        return 130 if not values.get("keep") else 0
    finally:
        server.stop()
    return 0


def main(words: Sequence[str]) -> int:
    """Run the subcommand; return its exit status."""
    return stagetool.command(words, OPTIONS, WHERE, HELP, _serve)
