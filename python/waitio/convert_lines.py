# SPDX-License-Identifier: BSD-3-Clause
"""Fortran source as statements: which columns of which lines are code, in fixed and in free form.

A statement's code is one text, joined over its lines; every character of it knows its place. What
is no code (comments, labels, sentinels, continuation marks, what stands beyond the last column) is
kept with its line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from waitio.convert_names import FORTRAN_NAMES

FREE_SENTINEL = re.compile(r"\s*(!\$(?:omp|acc)(?=[\s&])|!\$(?=[\s&]|$))", re.I)
FIXED_SENTINEL = re.compile(r"[!cC*]\$(?:(?:omp|acc)|[ \d]{3})(?=.)", re.I)
HOLLERITH = re.compile(r"(\d+)[hH]")
LINE = re.compile(r"([^\n]*?)(\r?\n|$)")


@dataclass
class Line:
    """One line of a file. Code is text[start:stop]; `quote` is open at its start, `open` at its
    end."""

    text: str
    end: str
    code: bool = False
    start: int = 0
    stop: int = 0
    sentinel: str = ""
    quote: str = ""
    open: str = ""
    continued: bool = False  # free form: ends with &
    glued: bool = False  # may continue a word of the line before
    joins: int = 0  # fixed form: characters at the end that a word goes on from in the next line
    number: int = 0


@dataclass
class Piece:
    """Where a stretch of a statement's code stands."""

    offset: int
    length: int
    line: Line


@dataclass
class Statement:
    lines: list[Line] = field(default_factory=list)
    code: str = ""
    pieces: list[Piece] = field(default_factory=list)

    def place(self, offset: int) -> tuple[Line, int]:
        """Line and column of a character of the code."""
        for piece in reversed(self.pieces):
            if piece.offset <= offset:
                return piece.line, piece.line.start + min(offset - piece.offset, piece.length)
        return self.pieces[0].line, self.pieces[0].line.start


def split_lines(text: str) -> list[Line]:
    """The lines of a file with their ends; joined they are the file."""
    lines = [Line(body, end) for body, end in LINE.findall(text) if body or end]
    for number, line in enumerate(lines, 1):
        line.number = number
    return lines


def _scan(text: str, start: int, stop: int, quote: str, fixed: bool) -> tuple[int, str]:
    """Where code that begins at `start` ends (a comment or `stop`), and the quote open there."""
    i = start
    while i < stop:
        char = text[i]
        if quote:
            if char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char == "!":
            return i, ""
        elif fixed and char.isdigit() and not (text[i - 1 : i].isalnum() or text[i - 1 : i] == "_"):
            found = HOLLERITH.match(text, i)
            if found and text[i - 1 : i] in ("", " ", ",", "(", "/"):
                i = min(found.end() + int(found[1]), stop)
                continue
        i += 1
    return stop, quote


# ---- free form ----------------------------------------------------------------------------------


def _free_line(line: Line, before: Line | None) -> bool:
    """Find the code of a line; `before` is the line it continues. Returns whether there is any."""
    quote = before.open if before else ""
    found = FREE_SENTINEL.match(line.text)
    start = 0
    if found and not quote:
        line.sentinel, start = found[1], found.end()
    rest = line.text[start:]
    bare = rest.strip()
    if not bare or bare.startswith("!") or (line.text.startswith("#") and not quote and not start):
        line.sentinel = ""
        return False
    start += len(rest) - len(rest.lstrip())
    if before and line.text[start : start + 1] == "&":
        start += 1
        line.glued = True
    elif quote:
        start = 0
    line.quote = quote
    stop, line.open = _scan(line.text, start, len(line.text), quote, False)
    body = line.text[start:stop].rstrip()
    if body.endswith("&"):
        line.continued = True
        line.stop = start + len(body) - 1
    else:
        line.stop, line.open = start + len(body), ""
    line.start, line.code = start, True
    return True


def free_statements(lines: list[Line]) -> list[Statement]:
    """Group the lines of a free-form file; lines without code belong to no statement."""
    found: list[Statement] = []
    before = None
    for line in lines:
        directive = before is not None and len(before.sentinel) > 2
        if not _free_line(line, before):
            continue
        if before is not None and directive != (len(line.sentinel) > 2):
            line.quote, line.glued, before = "", False, None  # the continuation never came
        if before is None:
            found.append(Statement())
        _append(found[-1], line, "" if line.glued or line.quote else " ")
        before = line if line.continued else None
    return found


# ---- fixed form ---------------------------------------------------------------------------------


def _fixed_comment(text: str) -> bool:
    bare = text.lstrip()
    if text[:1] in tuple("cC*!dD#") or not bare:
        return True
    return bare[0] == "!" and len(text) - len(bare) != 5  # in column 6 it is a continuation


def _fixed_start(line: Line) -> tuple[int, bool] | None:
    """Where the code of a line begins, and whether it continues; None: a comment or empty."""
    text = line.text
    found = FIXED_SENTINEL.match(text)
    if found and (found.end() == 5 or text[2:5].strip() == ""):
        line.sentinel = found[0]
    elif _fixed_comment(text):
        return None
    tab = text.find("\t")
    if 0 <= tab < 6 and (text[:tab].strip() or "0").isdigit():
        follows = text[tab + 1 : tab + 2]
        more = follows.isdigit() and follows != "0"
        return tab + 1 + more, more
    if len(text) < 6:
        return len(text), False
    return 6, text[5] not in " 0" and (bool(line.sentinel) or not text[:5].strip())


def fixed_columns(line: Line) -> int:
    """How many columns the text before the code counts: six, however it is written."""
    return 6 - line.start if 0 <= line.text.find("\t") < 6 else 0


def fixed_statements(lines: list[Line], limit: int) -> list[Statement]:
    """Group the lines of a fixed-form file whose code ends at column `limit`."""
    found: list[Statement] = []
    before = None
    for line in lines:
        began = _fixed_start(line)
        if began is None:
            continue
        line.start, more = began
        more = more and before is not None and len(before.sentinel) == len(line.sentinel)
        if not more:
            before = None
        line.quote = before.open if before else ""
        edge = limit - fixed_columns(line)
        line.stop, line.open = _scan(
            line.text, line.start, min(len(line.text), edge), line.quote, True
        )
        line.code = True
        if before is None:
            found.append(Statement())
        elif before.open:
            _pad(found[-1], before, limit - fixed_columns(before))
        _append(found[-1], line, _between(found[-1], before, line, limit))
        before = line
    for statement in found:
        if statement.lines[-1].open:  # never closed: whatever follows is no part of it
            statement.lines[-1].open = ""
    return found


def _pad(statement: Statement, line: Line, edge: int) -> None:
    """A text that is continued reaches to the last column, blanks included."""
    missing = edge - len(line.text)
    if missing > 0:
        line.text += " " * missing
        line.stop = edge
        statement.code += " " * missing
        statement.pieces[-1].length += missing


def _between(statement: Statement, before: Line | None, line: Line, limit: int) -> str:
    """What separates two lines of a statement: nothing if a word goes on, otherwise a blank."""
    if before is None or line.quote:
        return ""
    if before.stop == limit - fixed_columns(before) and before.text[before.stop - 1] != " ":
        line.glued = True
        return ""
    head = re.search(r"\w+$", statement.code.rstrip())
    tail = re.match(r"\w+", line.text[line.start : line.stop])
    if head and tail and (head[0] + tail[0]).lower().partition("mpi_")[2] in FORTRAN_NAMES:
        line.glued = True
        before.stop = before.start + len(before.text[before.start : before.stop].rstrip())
        return ""
    return " "


def _append(statement: Statement, line: Line, separator: str) -> None:
    if statement.lines:
        if line.glued and not line.quote and not statement.lines[-1].continued:
            statement.code = statement.code.rstrip()  # fixed form: blanks inside a word
            last = statement.pieces[-1]
            last.length = len(statement.code) - last.offset
        statement.code += separator
    text = line.text[line.start : line.stop]
    statement.pieces.append(Piece(len(statement.code), len(text), line))
    statement.code += text
    statement.lines.append(line)
