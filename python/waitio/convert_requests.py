# SPDX-License-Identifier: BSD-3-Clause
"""Fortran's requests: one integer in MPI, WAITIO_REQUEST_SIZE integers in the conversion library.

Variables that are passed as requests get one more dimension where they are declared, and an index
for it where they are used. They are followed through dummy arguments, modules and components of
derived types, in all files of a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from waitio.convert_fortran import FortranSource, link_includes
from waitio.convert_names import REQUESTS
from waitio.convert_scopes import SHAPES, Entity, Part, Scope
from waitio.convert_tokens import CLOSE, OPEN, Token, closing, has_colon, split_commas

SIZE = "WAITIO_REQUEST_SIZE"
WORDS = 22
COMPARISONS = {"==", "/=", ".eq.", ".ne."}
KEYWORDS = {"request", "requests", "array_of_requests"}
INQUIRIES = {"allocated", "associated", "present", "deallocate", "nullify", "print", "move_alloc"}


@dataclass
class Call:
    """A procedure's name with its arguments in brackets."""

    source: FortranSource
    part: Part
    name: Token
    arguments: list[list[Token]]


class Requests:
    """Finds and widens the requests of the files of a run."""

    def __init__(self, sources: list[FortranSource]) -> None:
        self.sources = [s for s in sources if not s.refused]
        self.procedures: dict[str, list[Scope]] = {}
        self.exported: dict[str, list[Scope]] = {}  # the modules that declare a name
        self.types: list[Scope] = []
        self.variables: dict[tuple[int, str], Scope] = {}  # requests, by their scope and name
        self.components: set[str] = set()
        self.loose: set[tuple[int, str]] = (
            set()
        )  # names whose elements may not be passed as the start of an array
        self.widened: set[int] = set()  # declarations, by their name's token
        self.source_of: dict[int, FortranSource] = {}
        link_includes(self.sources)
        for source in self.sources:
            for scope in source.tree.scopes:
                self.source_of[id(scope)] = source
                if scope.kind in ("subroutine", "function"):
                    self.procedures.setdefault(scope.name, []).append(scope)
                elif scope.kind == "module":
                    for name, place in scope.declared():
                        self.exported.setdefault(name, []).append(place)
                elif scope.kind == "type":
                    self.types.append(scope)
        self.calls = [c for s in self.sources for c in self._calls(s)]

    # ---- finding ----

    def _calls(self, source: FortranSource) -> Iterator[Call]:
        for part in source.tree.parts:
            found = part.tokens
            if part.scope.mpi is None and _makes_known(part):
                part.scope.mpi = part.index
            for i, token in enumerate(found[:-1]):
                if (
                    token.kind != "word"
                    or found[i + 1].text != "("
                    or (i and found[i - 1].text == "%")
                ):
                    continue
                after_call = i > 0 and found[i - 1].low == "call"
                if after_call or token.low in self.procedures:
                    inside = found[i + 2 : closing(found, i + 1)]
                    yield Call(source, part, token, split_commas(inside))

    def resolve(self, scope: Scope, name: str) -> Scope | None:
        """Where a variable is declared; None: nowhere in these files."""
        for place in scope.chain():
            if place.kind == "type":
                continue
            if name in place.dummies:
                return place
            declaring = place.declaring(name)
            if declaring is not None:
                return declaring
        found = self.exported.get(name, [])
        return found[0] if len(found) == 1 else None

    def find(self) -> None:
        """Mark all requests: begin with MPI's calls, follow arguments until nothing is new."""
        known = -1
        while known != len(self.variables) + len(self.components):
            known = len(self.variables) + len(self.components)
            for call in self.calls:
                self._follow(call)

    def _follow(self, call: Call) -> None:
        low = call.name.low
        bare = low[4:] if low.startswith("mpi_") else ""
        if bare in REQUESTS:
            words = _argument(call.arguments, REQUESTS[bare])
            if words:
                self._mark(call, words)
        for scope in self.procedures.get(low, ()):
            for k, dummy in enumerate(scope.dummies):
                words = call.arguments[k] if k < len(call.arguments) else []
                if words and (id(scope), dummy) in self.variables:
                    self._mark(call, words)
                elif words and self._is_request(call.part.scope, words):
                    self.variables[(id(scope), dummy)] = scope

    def _is_request(self, scope: Scope, words: list[Token]) -> bool:
        name, component = _variable(words)
        if name is None:
            return False
        if component:
            return name.low in self.components
        place = self.resolve(scope, name.low)
        return place is not None and (id(place), name.low) in self.variables

    def _mark(self, call: Call, words: list[Token]) -> None:
        name, component = _variable(words)
        if name is None or name.low == "mpi_request_null":
            return
        if component:
            self.components.add(name.low)
            return
        place = self.resolve(call.part.scope, name.low) or call.part.scope.outer()
        self.variables[(id(place), name.low)] = place

    # ---- changing ----

    def widen(self) -> None:
        for (_, name), scope in self.variables.items():
            self._declare(scope, name, self.source_of[id(scope)])
        for name in self.components:
            owners = [s for s in self.types if name in s.entities]
            for scope in owners:
                self._declare(scope, name, self.source_of[id(scope)])
        names = {name for _, name in self.variables} | self.components | {"mpi_request_null"}
        for source in self.sources:
            for part in source.tree.parts:
                if any(token.low in names for token in part.tokens):
                    self._use(source, part)
        for call in self.calls:
            self._outside(call)

    def _declare(self, scope: Scope, name: str, source: FortranSource) -> None:
        declaring = scope.declaring(name) or scope  # of a dummy argument: perhaps an included file
        scope, source = declaring, self.source_of[id(declaring)]
        entities = scope.entities.get(name, [])
        typed = [e for e in entities if e.kind not in SHAPES]
        if not typed:
            self._undeclared(scope, name, source)
            return
        for entity in typed:
            if entity.kind != "integer":
                why = f"a request, but declared as {entity.kind}"
                source.tell(
                    entity.part,
                    entity.name,
                    why,
                    f"declare it integer, {SIZE} elements per request",
                )
                return
        for entity in entities:
            self._shape(scope, entity, any(e.shape for e in entities), source)

    def _undeclared(self, scope: Scope, name: str, source: FortranSource) -> None:
        """Implicitly typed: say so at its first use."""
        for part in source.tree.parts:
            for token in part.tokens:
                if token.low == name and part.scope in (
                    scope,
                    *[s for s in source.tree.scopes if s.parent is scope],
                ):
                    remedy = (
                        "give the file that declares it, too (an include file); or declare it:"
                        f" integer {token.text}({SIZE}), or ({SIZE}, n) for n requests"
                    )
                    source.tell(
                        part, token, "a request that is not declared in these files", remedy
                    )
                    return

    def _shape(self, scope: Scope, entity: Entity, shaped: bool, source: FortranSource) -> None:
        if id(entity.name) in self.widened:  # an included file, reached by several ways
            return
        self.widened.add(id(entity.name))
        size = self._size(scope, entity.part)
        part, name = entity.part, entity.name
        if entity.shape:
            inside = entity.shape[1:-1]
            first = _first(inside, size)
            source.edit(part, entity.shape[0].end, entity.shape[0].end, f"{first}, ")
            self._note_loose(scope, entity, first)
        elif entity.kind in SHAPES:
            return
        elif entity.dimension:
            code = part.statement.code
            text = code[entity.dimension[0].start : entity.dimension[-1].end]
            first = _first(entity.dimension, size)
            source.edit(part, name.end, name.end, f"({first}, {text})")
            self._note_loose(scope, entity, first)
        elif {"allocatable", "pointer"} & entity.attributes:
            remedy = f"make it an array of {SIZE} integers"
            source.tell(part, name, "a request that is a scalar to be allocated", remedy)
        elif not shaped:
            source.edit(part, name.end, name.end, f"({size})")
        source.count += 1

    def _note_loose(self, scope: Scope, entity: Entity, first: str) -> None:
        """Assumed-shape arrays and pointers: an element does not stand for what follows it."""
        if first == ":" and "allocatable" not in entity.attributes | {entity.kind}:
            self.loose.add((id(scope), entity.name.low))

    def _size(self, scope: Scope, part: Part) -> str:
        """The constant where it is known, otherwise its value."""
        for place in scope.chain():
            if place.mpi is not None and (place is not scope or place.mpi < part.index):
                source = self.source_of[id(place)]
                known = source.tree.parts[place.mpi]
                if "only" in [t.low for t in known.tokens]:
                    source.edit(known, known.tokens[-1].end, known.tokens[-1].end, f", {SIZE}")
                return SIZE
        return str(WORDS)

    def _use(self, source: FortranSource, part: Part) -> None:
        declared = {id(e.name) for entities in part.scope.entities.values() for e in entities}
        for i, token in enumerate(part.tokens):
            if token.kind != "word":
                continue
            if token.low == "mpi_request_null":
                self._compare(source, part, i, token)
            component = i > 0 and part.tokens[i - 1].text == "%"
            if component and token.low in self.components:
                loose = any((id(scope), token.low) in self.loose for scope in self.types)
                self._index(source, part, i, loose)
            elif not component and id(token) not in declared:
                place = self.resolve(part.scope, token.low)
                if place is not None and (id(place), token.low) in self.variables:
                    self._index(source, part, i, (id(place), token.low) in self.loose)

    def _compare(self, source: FortranSource, part: Part, i: int, token: Token) -> None:
        beside = [t.low for t in (*part.tokens[max(0, i - 1) : i], *part.tokens[i + 1 : i + 2])]
        if COMPARISONS & set(beside):
            why = "requests are arrays here and cannot be compared"
            source.tell(
                part,
                token,
                why,
                "call WAITIO_MPI_TEST, true for a null request, or build by renaming",
            )

    def _index(self, source: FortranSource, part: Part, i: int, loose: bool) -> None:
        found, token = part.tokens, part.tokens[i]
        follows = found[i + 1].text if i + 1 < len(found) else ""
        if part.first in ("data", "equivalence"):
            remedy = (
                "set it by an assignment" if part.first == "data" else "give it storage of its own"
            )
            source.tell(part, token, f"a request in a {part.first} statement", remedy)
        elif follows == "(":
            inside = found[i + 2 : closing(found, i + 1)]
            extra = _subscript(found, i, inside, self.procedures)
            if extra == "1" and loose:
                extra = ":"
            size = self._size(part.scope, part) if extra == SIZE else extra
            source.edit(part, found[i + 1].end, found[i + 1].end, f"{size}, ")
        elif i > 1 and found[i - 1].text == "(" and found[i - 2].low == "size" and follows == ")":
            source.edit(part, token.end, token.end, ", 2")

    def _outside(self, call: Call) -> None:
        """A request that leaves the files of this run."""
        low = call.name.low
        if low.startswith("mpi_") or low in self.procedures or low in INQUIRIES:
            return
        for words in call.arguments:
            if self._is_request(call.part.scope, words):
                token = _variable(words)[0]
                assert token is not None
                why = f"a request passed to {call.name.text}, which is not among these files"
                remedy = f"its argument must have {SIZE} integers per request too"
                call.source.tell(call.part, token, why, remedy, note=True)


def _makes_known(part: Part) -> bool:
    """Whether a statement brings MPI's names."""
    if part.first == "include":
        return any("mpif.h" in t.low for t in part.tokens)
    return part.first == "use" and any(t.low in ("mpi", "waitio_mpi") for t in part.tokens[1:4])


def _argument(arguments: list[list[Token]], position: int) -> list[Token]:
    """The argument at a position, or the one given by its name."""
    for words in arguments:
        if len(words) > 2 and words[1].text == "=" and words[0].low in KEYWORDS:
            return words[2:]
    return arguments[position] if position < len(arguments) else []


def _variable(words: list[Token]) -> tuple[Token | None, bool]:
    """The variable or component that an argument is (a part of)."""
    name, component, depth = None, False, 0
    for i, token in enumerate(words):
        if token.text in OPEN:
            depth += 1
        elif token.text in CLOSE:
            depth -= 1
        elif depth == 0:
            if token.kind == "word" and (i == 0 or words[i - 1].text == "%"):
                name = token
            elif token.text == "%":
                component = True
            else:
                return None, False
    return name, component


def _first(shape: list[Token], size: str) -> str:
    """The new first dimension: as deferred as the others are."""
    deferred = any(words and words[-1].text == ":" for words in split_commas(shape))
    return ":" if deferred else size


def _subscript(
    found: list[Token], i: int, inside: list[Token], procedures: dict[str, list[Scope]]
) -> str:
    """The new first subscript of a reference: an argument names the first integer of a request,
    everything else means all of them."""
    if has_colon(inside):
        return ":"
    if any(t.low == "allocate" for t in found[:i]):
        return SIZE
    return "1" if _is_argument(found, i, procedures) else ":"


def _is_argument(found: list[Token], i: int, procedures: dict[str, list[Scope]]) -> bool:
    """Whether a token stands inside the brackets of a call."""
    opened: list[bool] = []
    for k in range(i):
        if found[k].text in OPEN:
            callee = found[k - 1].low if k and found[k - 1].kind == "word" else ""
            opened.append(callee in procedures or (k > 1 and found[k - 2].low == "call"))
        elif found[k].text in CLOSE and opened:
            opened.pop()
    return any(opened)
