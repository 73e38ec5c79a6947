# SPDX-License-Identifier: BSD-3-Clause
"""C, and C++ that uses MPI's C interface: names of MPI become names of the conversion library.

Texts and comments stay as they are. The file is read word by word; nothing is parsed beyond what
tells an initial value of a static object, or a comparison with a request, from other uses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from waitio.convert_names import C_NAMES
from waitio.convert_report import Finding, missing

PIECE = re.compile(
    r"""(?P<comment>//(?:[^\\\n]|\\[^\n]|\\\n)*|/\*.*?(?:\*/|\Z))
    |(?P<raw>\b(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
    |(?P<text>"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)
    |(?P<include>^[ \t]*(?:\#|%:)[ \t]*include(?:_next)?\b[ \t]*(?:<[^>\n]*>|"[^"\n]*"))
    |(?P<word>[A-Za-z_$][\w$]*)
    |(?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
    |(?P<sign>==|!=|::|\S)""",
    re.X | re.S | re.M,
)
HEADER = re.compile(r"""([<"])(?:[^<">]*/)?(mpi|mpif)\.h([">])""")
OTHER_HEADERS = re.compile(
    r"""[<"](?:[^<">]*/)?(mpicxx|mpi-ext|mpio|mpi_portable_platform)\.h[">]"""
)
CALLS_AS_CONSTANTS = {"COMM_WORLD", "COMM_SELF", "GROUP_EMPTY", "REQUEST_NULL"}
OWN = re.compile(
    r"""^[ \t]*\#[ \t]*define[ \t]+(P?MPI_\w+)
    |\benum\b[^;{]*\{[^}]*?\b(MPI_\w+)
    |\btypedef\b[^;]*?\b(MPI_\w+)[ \t]*(?:\[[^\]]*\])?;
    |\}[ \t\n]*(MPI_\w+)[ \t]*;
    |^[ \t]*(?:static|inline|extern)[ \t][^;={]*?\b(MPI_\w+)[ \t]*\(
    |^[ \t]*(?!(?:return|else|do|case|throw|goto|sizeof|co_\w+)\b)
        (?:[A-Za-z_]\w*[ \t*&]+)+(MPI_\w+)[ \t]*\(""",
    re.X | re.M,
)


def own_names(text: str) -> set[str]:
    """Names in MPI's style that the program defines itself."""
    return {name for found in OWN.findall(text) for name in found if name} - {
        f"MPI_{n}" for n in C_NAMES
    }


class _Place:
    """Where in the program we are: enough to know an initial value that must be a constant."""

    def __init__(self) -> None:
        self.braces: list[str] = []  # "{": a block, "=": an initial value
        self.static = False
        self.value = False
        self.parens = 0

    def see(self, kind: str, text: str) -> None:
        if kind == "word":
            self.static = self.static or text == "static"
        elif text in "{}":
            self._brace(text)
        elif text == "(":
            self.parens += 1
        elif text == ")":
            self.parens = max(0, self.parens - 1)
        elif self.parens:
            return
        elif text == "=":
            self.value = True
        elif text in (";", ":"):
            self.value = self.static = False
        elif text == "," and "=" not in self.braces:
            self.value = False

    def _brace(self, text: str) -> None:
        if text == "{":
            value = self.value or "=" in self.braces
            self.braces.append("=" if value else "{")
            self.static = self.static and value  # otherwise it was said of a function
            return
        if self.braces:
            self.braces.pop()
        if "=" not in self.braces and not self.value:
            self.static = False

    @property
    def must_be_constant(self) -> bool:
        outside = all(brace == "=" for brace in self.braces)
        return self.value and not self.parens and (outside or self.static)


class CSource:
    """One file. `convert` returns its new text; `findings` says what is left to do."""

    def __init__(self, path: str, text: str, own: Iterable[str], cxx: bool) -> None:
        self.path, self.text, self.cxx = path, text, cxx
        self.own = set(own)
        self.findings: list[Finding] = []
        self.count = 0
        self._place = _Place()

    def _line(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1

    def _tell(self, at: int, name: str, why: str, remedy: str) -> None:
        self.findings.append(Finding(self.path, self._line(at), name, why, remedy))

    def convert(self) -> str:
        out, at = [], 0
        pieces = [m for m in PIECE.finditer(self.text) if m.lastgroup != "comment"]
        for i, match in enumerate(pieces):
            new = self._piece(
                match, pieces[i - 1] if i else None, pieces[i + 1] if i + 1 < len(pieces) else None
            )
            if new is not None:
                out += [self.text[at : match.start()], new]
                at = match.end()
                self.count += 1
        return "".join([*out, self.text[at:]])

    def _piece(
        self, match: re.Match[str], before: re.Match[str] | None, after: re.Match[str] | None
    ) -> str | None:
        """New text of one piece, or None."""
        text, kind = match[0], match.lastgroup
        if kind == "include":
            return self._include(match)
        if kind not in ("word", "sign"):
            return None
        self._place.see(kind, text)
        if kind == "word" and text == "MPI" and after is not None and after[0] == "::":
            self._tell(
                match.start(),
                "MPI::",
                "the C++ bindings left MPI in version 3",
                "use the C functions",
            )
        if text in ("MPI_", "PMPI_") and after is not None and after[0] == "#":
            why = "a name put together by ## cannot be seen"
            self._tell(
                match.start(), f"{text}##", why, "write WAITIO_MPI_ where it is one of MPI's"
            )
        if kind != "word" or not re.match(r"P?MPI_\w", text) or text in self.own:
            return None
        return self._name(match, before, after)

    def _include(self, match: re.Match[str]) -> str | None:
        other = OTHER_HEADERS.search(match[0])
        if other:
            why = "this header belongs to one MPI implementation"
            self._tell(match.start(), f"{other[1]}.h", why, "remove it")
        new = HEADER.sub(r"\1waitio_\2.h\3", match[0])
        return new if new != match[0] else None

    def _name(
        self, match: re.Match[str], before: re.Match[str] | None, after: re.Match[str] | None
    ) -> str | None:
        name = match[0]
        bare = name[4:] if name.startswith("MPI_") else ""
        if bare not in C_NAMES:
            self.findings.append(missing(self.path, self._line(match.start()), name))
            return None
        beside = {piece[0] for piece in (before, after) if piece is not None}
        if bare == "REQUEST_NULL" and beside & {"==", "!="}:
            why = "requests are structures here and cannot be compared"
            self._tell(
                match.start(),
                name,
                why,
                "call WAITIO_MPI_Test, true for a null request, or keep a flag",
            )
        elif bare in CALLS_AS_CONSTANTS and self._place.must_be_constant and not self.cxx:
            why = "a call here, no constant, so it cannot be the initial value of a static object"
            self._tell(match.start(), name, why, "assign it when the program starts")
        return "WAITIO_" + name
