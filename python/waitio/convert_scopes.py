# SPDX-License-Identifier: BSD-3-Clause
"""Program units of Fortran files and what they declare: enough to follow a variable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from waitio.convert_lines import Statement
from waitio.convert_tokens import Token, closing, split_commas

UNITS = {"program", "module", "submodule", "subroutine", "function", "interface", "type"}
TYPES = {
    "integer",
    "real",
    "complex",
    "logical",
    "character",
    "double",
    "type",
    "class",
    "doubleprecision",
    "byte",
}
SHAPES = {"dimension", "common", "allocatable", "pointer", "target", "volatile", "asynchronous"}
ENDS = re.compile(
    r"end(program|module|submodule|subroutine|function|interface|type|procedure|blockdata)?$"
)


@dataclass
class Part:
    """A statement between semicolons: its tokens, and the Statement they lie in."""

    statement: Statement
    tokens: list[Token]
    scope: Scope = field(init=False)
    index: int = 0  # order in the file

    @property
    def first(self) -> str:
        return self.tokens[0].low if self.tokens else ""


@dataclass
class Entity:
    """Where a variable gets its type or shape."""

    part: Part
    name: Token
    shape: list[Token]  # with brackets; empty: none here
    dimension: list[Token]  # the shape of a DIMENSION attribute, without brackets
    kind: str  # type keyword, or dimension, common ...
    attributes: set[str]


@dataclass
class Scope:
    kind: str
    name: str
    parent: Scope | None
    path: str
    dummies: list[str] = field(default_factory=list)
    entities: dict[str, list[Entity]] = field(default_factory=dict)
    mpi: int | None = None  # index of the first part that makes MPI's names known
    includes: list[Scope] = field(default_factory=list)  # what the files included here declare

    def chain(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def declaring(self, name: str) -> Scope | None:
        """This scope, or that of a file included here, if it declares a name."""
        if name in self.entities:
            return self
        inside = (scope.declaring(name) for scope in self.includes if scope is not self)
        return next((scope for scope in inside if scope is not None), None)

    def declared(self) -> Iterator[tuple[str, Scope]]:
        """All names declared here or in files included here, with their scopes."""
        for name in self.entities:
            yield name, self
        for scope in self.includes:
            if scope is not self:
                yield from scope.declared()

    def outer(self) -> Scope:
        """Where the statements of a derived type's procedures and so on really live."""
        return next(s for s in self.chain() if s.kind != "type")


def _unlabelled(found: list[Token]) -> list[Token]:
    """Without a label and a construct name."""
    if found and found[0].kind == "number":
        found = found[1:]
    return found


def _unit(found: list[Token]) -> tuple[str, str, list[str]] | None:
    """(kind, name, dummies) when a statement begins a unit."""
    low = [t.low for t in found]
    if low[0] == "interface" or low[:2] == ["abstract", "interface"]:
        return "interface", "", []
    if low[1:2] and low[1] in ("=", "%") and low[0] in UNITS:
        return None
    if low[0] == "type" and "function" not in low:
        return _type(found, low)
    if low[0] in ("program", "submodule"):
        return low[0], "".join(low[-1:] if low[0] == "submodule" else low[1:2]), []
    if low[0] == "module" and not {"procedure", "subroutine", "function"} & set(low[1:]):
        return "module", "".join(low[1:2]), []
    return _procedure(found, low)


def _type(found: list[Token], low: list[str]) -> tuple[str, str, list[str]] | None:
    """The definition of a derived type; not TYPE(name) and not TYPE IS (name)."""
    if low[1:2] == ["("] or low[1:3] == ["is", "("]:
        return None
    at = low.index("::") + 1 if "::" in low else 1
    return ("type", low[at], []) if at < len(low) and found[at].kind == "word" else None


def _procedure(found: list[Token], low: list[str]) -> tuple[str, str, list[str]] | None:
    for keyword in ("subroutine", "function"):
        if keyword not in low:
            continue
        at = low.index(keyword)
        if "=" in low[:at] or at + 1 >= len(low) or found[at + 1].kind != "word":
            continue
        if any(word in ("end", "call", "import", "use", "::", ",") for word in low[:at]):
            continue
        dummies = []
        if low[at + 2 : at + 3] == ["("]:
            inside = found[at + 3 : closing(found, at + 2)]
            dummies = [part[0].low for part in split_commas(inside) if part]
        return keyword, low[at + 1], dummies
    return None


def _entities(part: Part, found: list[Token]) -> Iterator[Entity]:
    """Variables that a declaration names."""
    low = [t.low for t in found]
    kind = low[0]
    if kind not in TYPES | SHAPES or (len(low) > 1 and low[1] in ("=", "%", "=>")):
        return
    at = _behind_type(found, low)
    attributes: set[str] = set()
    dimension: list[Token] = []
    if "::" in low:
        attributes, dimension = _attributes(found[at : low.index("::")])
        at = low.index("::") + 1
    elif kind in TYPES and (at >= len(found) or found[at].kind != "word"):
        return
    rest = _without_blocks(found[at:]) if kind == "common" else found[at:]
    for words in split_commas(rest):
        if words and words[0].kind == "word":
            yield Entity(part, words[0], _brackets(words[1:]), dimension, kind, attributes)


def _attributes(found: list[Token]) -> tuple[set[str], list[Token]]:
    """What stands between the type and `::`, and the shape of DIMENSION."""
    parts = [words for words in split_commas(found) if words]
    shapes = [words[2:-1] for words in parts if words[0].low == "dimension"]
    return {words[0].low for words in parts}, shapes[0] if shapes else []


def _brackets(found: list[Token]) -> list[Token]:
    """The brackets that come next, with what they hold."""
    return found[: closing(found, 0) + 1] if found and found[0].text == "(" else []


def _behind_type(found: list[Token], low: list[str]) -> int:
    """Index of what follows the type and its kind: integer*4, real(8), double precision."""
    at = 2 if low[0] == "double" else 1
    if low[at : at + 1] == ["*"]:
        at += 2
    if low[at : at + 1] == ["("] and low[0] in TYPES:
        at = closing(found, at) + 1
    return at


def _without_blocks(found: list[Token]) -> list[Token]:
    """The variables of COMMON /name/ a, b /other/ c."""
    out, inside = [], False
    for token in found:
        if token.text == "/":
            inside = not inside
        elif token.text != "//" and not inside:
            out.append(token)
    return out


class Tree:
    """The scopes of one file, and every part with its scope."""

    def __init__(self, path: str, parts: list[Part]) -> None:
        self.path = path
        self.parts = parts
        self.scopes: list[Scope] = []
        scope = self._open("program", "", None, [])
        for index, part in enumerate(parts):
            part.index = index
            scope = self._place(part, scope)

    def _open(self, kind: str, name: str, parent: Scope | None, dummies: list[str]) -> Scope:
        scope = Scope(kind, name, parent, self.path, dummies)
        self.scopes.append(scope)
        return scope

    def _place(self, part: Part, scope: Scope) -> Scope:
        """Note what a part does; returns the scope of the next one."""
        found = _unlabelled(part.tokens)
        part.scope = scope
        if not found or found[0].kind != "word":
            return scope
        word = found[0].low + (found[1].low if found[0].low == "end" and len(found) > 1 else "")
        if ENDS.match(word) and not (len(found) > 1 and found[1].text in ("=", "(", "%")):
            return scope.parent or self._open("program", "", None, [])
        unit = _unit(found)
        if [t.low for t in found[:2]] == ["module", "procedure"] and scope.kind != "interface":
            unit = ("procedure", "", [])  # of a submodule
        if unit is not None:
            inner = self._open(unit[0], unit[1], scope, unit[2])
            part.scope = inner
            return inner
        for entity in _entities(part, found):
            scope.entities.setdefault(entity.name.low, []).append(entity)
        return scope
