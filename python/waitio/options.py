# SPDX-License-Identifier: BSD-3-Clause
"""A small table-driven option parser.

`waitio run` takes several blocks in one line, each with options of its own and a program whose
arguments are nobody else's business. The parser stops at the first word that is no option.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable

from waitio.errors import UsageError, nearest

UNITS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True)
class Option:
    """One row of an option table; without a metavar the option is a switch."""

    names: tuple[str, ...]
    dest: str
    help: str
    metavar: str = ""
    convert: Callable[[str], Any] = str
    many: bool = False

    def show(self) -> str:
        """Return the left column of the help text."""
        tail = f" {self.metavar}" if self.metavar else ""
        return ", ".join(self.names) + tail


def seconds(text: str) -> float:
    """Convert "30", "1.5s", "10m", "2h" to seconds; zero and more."""
    match = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(ms|s|m|h|d)?", text.strip())
    if not match:
        raise ValueError("a duration is a number with an optional ms, s, m, h or d, as in 90s")
    value = float(match.group(1)) * UNITS[match.group(2) or ""]
    if not math.isfinite(value) or value > 1e9:
        raise ValueError("the longest duration is 1e9 seconds")
    return value


def whole(low: int, high: int) -> Callable[[str], int]:
    """Return a converter for whole numbers from `low` to `high`."""

    def convert(text: str) -> int:
        if not re.fullmatch(r"[+-]?\d{1,18}", text.strip()):
            raise ValueError(f"a whole number from {low} to {high} is needed")
        value = int(text)
        if not low <= value <= high:
            raise ValueError(f"it must lie between {low} and {high}")
        return value

    return convert


class Choice:
    """A converter that accepts only the given words."""

    def __init__(self, *known: str) -> None:
        """Remember the words."""
        self.known = known

    def __call__(self, text: str) -> str:
        """Return the word, or raise ValueError that names the known ones."""
        if text not in self.known:
            raise ValueError(f"known are {', '.join(self.known)}{nearest(text, self.known)}")
        return text


def choice(*known: str) -> Callable[[str], str]:
    """Return a converter that accepts only the given words."""
    return Choice(*known)


def assignment(text: str) -> tuple[str, str]:
    """Convert "NAME=VALUE" to a pair."""
    name, sign, value = text.partition("=")
    if not sign or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError("NAME=VALUE is needed, with a name of letters, digits and underscores")
    if "\0" in value:
        raise ValueError("a value cannot hold a zero byte")
    return name, value


def _lookup(word: str, table: Sequence[Option], where: str) -> Option:
    by_name = {name: option for option in table for name in option.names}
    if word in by_name:
        return by_name[word]
    raise UsageError(f"{where}: unknown option '{word}'{nearest(word, by_name)}")


def parse(
    words: Sequence[str], table: Sequence[Option], where: str
) -> tuple[dict[str, Any], list[str]]:
    """Parse leading options; return their values and the remaining words.

    `where` names the place for error messages. "--" ends the options.
    """
    values: dict[str, Any] = {}
    position = 0
    while position < len(words):
        word = words[position]
        if word == "--":
            return values, list(words[position + 1 :])
        if not word.startswith("-") or word == "-":
            break
        name, sign, text = word.partition("=") if word.startswith("--") else (word, "", "")
        option = _lookup(name, table, where)
        position += 1
        if not option.metavar:
            if sign:
                raise UsageError(f"{where}: {name} takes no value")
            values[option.dest] = True
            continue
        if not sign:
            if position >= len(words):
                raise UsageError(f"{where}: {name} needs a value ({option.metavar})")
            text = words[position]
            position += 1
        _store(values, option, name, text, where)
    return values, list(words[position:])


def _store(values: dict[str, Any], option: Option, name: str, text: str, where: str) -> None:
    try:
        value = option.convert(text)
    except ValueError as error:
        raise UsageError(f"{where}: {name} {text!r}: {error}") from None
    if option.many:
        values.setdefault(option.dest, []).append(value)
    else:
        values[option.dest] = value


def help_text(table: Sequence[Option]) -> str:
    """Format the rows of an option table for --help."""
    lines = []
    for option in table:
        left = option.show()
        gap = "\n" + " " * 30 if len(left) > 26 else " " * (28 - len(left))
        lines.append(f"  {left}{gap}{option.help}")
    return "\n".join(lines)
