# SPDX-License-Identifier: BSD-3-Clause
"""Words, numbers, texts and signs of Fortran code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

TOKEN = re.compile(
    r"""(?P<blank>\s+)
    |(?P<text>'(?:[^']|'')*'?|"(?:[^"]|"")*"?)
    |(?P<word>[A-Za-z_][\w$]*)
    |(?P<number>\d+(?:\.(?![A-Za-z]+\.)\d*)?(?:[eEdD][+-]?\d+)?(?:_\w+)?)
    |(?P<sign>\.[A-Za-z]+\.|::|=>|==|/=|<=|>=|\*\*|//|\(/|/\)|.)""",
    re.X | re.S,
)
HOLLERITH = re.compile(r"(\d+)[hH]")
OPEN, CLOSE = {"(", "[", "(/"}, {")", "]", "/)"}


@dataclass
class Token:
    kind: str
    text: str
    start: int
    end: int
    low: str  # the text in lower case


def tokens(code: str, fixed: bool = False) -> list[Token]:
    """The tokens of a statement, without blanks."""
    found: list[Token] = []
    at = 0
    while at < len(code):
        match = TOKEN.match(code, at)
        assert match is not None
        kind, end = match.lastgroup or "sign", match.end()
        if kind == "number" and fixed:
            hollerith = HOLLERITH.match(code, at)
            if hollerith and (not found or found[-1].text in (",", "(", "/")):
                kind, end = "text", min(len(code), hollerith.end() + int(hollerith[1]))
        if kind == "sign" and match[0] in ("(/", "/)") and not _constructor(code, at, match[0]):
            end = at + 1
        if kind != "blank":
            text = code[at:end]
            found.append(Token(kind, text, at, end, text.lower()))
        at = end
    return found


def _constructor(code: str, at: int, sign: str) -> bool:
    """Whether (/ or /) is one sign: not in `format (/)` or `(/=`."""
    if sign == "(/":
        return code[at + 2 : at + 3] not in ("=", "/", ")", ",") and "/)" in code[at + 2 :]
    return "(/" in code[:at]


def statements(found: Sequence[Token]) -> list[list[Token]]:
    """Split at semicolons, leave empty ones out."""
    parts: list[list[Token]] = [[]]
    for token in found:
        if token.text == ";" and token.kind == "sign":
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def closing(found: Sequence[Token], at: int) -> int:
    """Index of the bracket that closes the one at index `at`, or the end."""
    depth = 0
    for i in range(at, len(found)):
        if found[i].kind != "sign":
            continue
        depth += (found[i].text in OPEN) - (found[i].text in CLOSE)
        if depth == 0:
            return i
    return len(found)


def split_commas(found: Sequence[Token]) -> list[list[Token]]:
    """Split at commas outside brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in found:
        if token.kind == "sign":
            depth += (token.text in OPEN) - (token.text in CLOSE)
            if token.text == "," and depth == 0:
                parts.append([])
                continue
        parts[-1].append(token)
    return parts if parts[-1] or len(parts) > 1 else []


def has_colon(found: Sequence[Token]) -> bool:
    """Whether a colon stands outside brackets."""
    depth = 0
    for token in found:
        depth += (token.text in OPEN) - (token.text in CLOSE)
        if depth == 0 and token.text == ":":
            return True
    return False
