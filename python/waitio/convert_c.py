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
    |(?P<sign>(?:<<|>>|[-+*/%&|^<>=!])=|::|\S)""",
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
    named = {name for found in OWN.findall(text) for name in found if name}
    return (named - {f"MPI_{n}" for n in C_NAMES}) | declared_names(text)


DIRECTIVE = re.compile(r"^[ \t]*(?:\#|%:)[ \t]*(\w*)(?:\\\n|[^\n])*", re.M)
NO_TYPES = set("return else do case throw goto sizeof new delete typeof alignof default".split())
PLAIN_TYPES = set("int char float double void long short unsigned signed bool auto const".split())
FOLLOWS = {";", "=", ",", "[", ")", ":"}  # what stands behind a name that is declared
STARTS = {";", "{", "}", "", "struct", "union", "enum", "const", "static", "extern"}


def _is_type(word: str) -> bool:
    return word in PLAIN_TYPES or word.endswith("_t") or word[:4] == "MPI_"


def _code_words(text: str) -> list[str]:
    """Words and signs, without lines for the preprocessor; texts and numbers become 0."""
    inside = [m.span() for m in DIRECTIVE.finditer(text)]
    words = []
    for match in PIECE.finditer(text):
        while inside and inside[0][1] <= match.start():
            inside.pop(0)
        if inside and inside[0][0] <= match.start():
            continue
        if match.lastgroup in ("word", "sign"):
            words.append(match[0])
        elif match.lastgroup in ("number", "text"):
            words.append("0")
    return words


def declared_names(text: str) -> set[str]:
    """Variables and parameters in MPI's style that the program declares."""
    words = ["", *_code_words(text), ""]
    found, declaration = set(), False
    for i, word in enumerate(words[1:-1], 1):
        after = words[i + 1]
        if words[i - 1] in ("", ";", "{", "}"):
            declaration = _declares(words[i : i + 2])
        if not word.startswith("MPI_") or word[4:] in C_NAMES or after not in FOLLOWS:
            continue
        if _behind_type(words, i) or (declaration and _behind_comma(words, i)):
            found.add(word)
    return found


def _declares(start: list[str]) -> bool:
    """Whether a statement that begins so declares something: two words, or a type and a star."""
    if len(start) < 2 or start[0] in NO_TYPES or not re.match(r"[A-Za-z_]", start[0]):
        return False
    return bool(re.match(r"[A-Za-z_]", start[1])) or (start[1] == "*" and _is_type(start[0]))


def _behind_comma(words: list[str], i: int) -> bool:
    """Whether a comma stands before the word or its stars."""
    k = i - 1
    while k >= 0 and words[k] == "*":
        k -= 1
    return k >= 0 and words[k] == ","


def _behind_type(words: list[str], i: int) -> bool:
    """Whether a type stands before the word: `int x`, `char **x`; not `a * x`."""
    k = i - 1
    while k >= 0 and words[k] in ("*", "&", "const"):
        k -= 1
    if k < 0 or not re.match(r"[A-Za-z_]", words[k]) or words[k] in NO_TYPES:
        return False
    if k == i - 1 or _is_type(words[k]):
        return True
    return (words[k - 1] if k else "") in STARTS


class _Place:
    """Where in the program we are: enough to know an initial value that must be a constant."""

    def __init__(self) -> None:
        self.braces: list[str] = []  # "{": a block, "=": an initial value
        self.static = False
        self.value = False
        self.parens = 0
        self.branches: list[tuple[list[str], bool, bool, int]] = []

    def directive(self, word: str) -> None:
        """The preprocessor takes one of several branches: each begins where the first did."""
        if word.startswith("if"):
            self.branches.append((list(self.braces), self.static, self.value, self.parens))
        elif word.startswith("el") and self.branches:
            braces, self.static, self.value, self.parens = self.branches[-1]
            self.braces = list(braces)
        elif word == "endif" and self.branches:
            self.branches.pop()

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
        self._directives = list(DIRECTIVE.finditer(text))

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
        if not self._in_directive(match.start()):
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

    def _in_directive(self, at: int) -> bool:
        """Whether a piece belongs to a line for the preprocessor; such lines are noted in turn."""
        while self._directives and self._directives[0].end() <= at:
            self._place.directive(self._directives.pop(0)[1])
        return bool(self._directives) and self._directives[0].start() <= at

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
        bare = name.split("_", 1)[1]
        if bare not in C_NAMES or (name[0] == "P" and bare.isupper()):  # only calls have two names
            self.findings.append(missing(self.path, self._line(match.start()), name))
            return None
        beside = {piece[0] for piece in (before, after) if piece is not None}
        if bare == "REQUEST_NULL" and beside & {"==", "!="}:
            why = "requests are structures here and cannot be compared"
            self._tell(
                match.start(),
                name,
                why,
                "call WAITIO_MPI_Test, true for a null request, or build by renaming",
            )
        elif bare in CALLS_AS_CONSTANTS and self._place.must_be_constant and not self.cxx:
            why = "a call here, no constant, so it cannot be the initial value of a static object"
            self._tell(match.start(), name, why, "assign it when the program starts")
        return "WAITIO_" + name
