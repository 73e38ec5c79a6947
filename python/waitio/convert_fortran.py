# SPDX-License-Identifier: BSD-3-Clause
"""Fortran: names of MPI become names of the conversion library, in all files of a run together."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from waitio.convert_lines import Line, Statement, fixed_statements, free_statements, split_lines
from waitio.convert_names import FORTRAN_NAMES, FULL
from waitio.convert_report import Finding, missing
from waitio.convert_scopes import Part, Scope, Tree
from waitio.convert_tokens import Token, statements, tokens
from waitio.convert_wrap import Edit, Form, rewrite

INCLUDE = re.compile(r"(?i)(['\"])(?:[^'\"]*/)?mpif\.h\1")
CPP_INCLUDE = re.compile(r"(?i)^(\s*#\s*include\s*)([<\"])(?:[^<\">]*/)?mpif\.h([>\"])")
CPP_FILE = re.compile(r"""(?i)^\s*#\s*include\s*["<]([^">]+)[">]""")
FILE_NAME = re.compile(r"""(?im)^[ \t]*#?[ \t]*include[ \t]*['"<]([^'">\n]+)['">]""")
CPP_NAME = re.compile(r"'[^']*'|\"[^\"]*\"|/\*.*?\*/|\b[A-Za-z_]\w*")
FORTRAN_HEADER = re.compile(
    r"(?im)^[ \t]*(integer|real|double precision|common|parameter|implicit|include[ \t]*')\b"
)
FREE_START = re.compile(
    r"(?i)c(all|haracter|ommon|ontains|lose|ontinue|ase|lass|omplex|ycle)\b"
    r"(?![ \t]*[a-z]+[ \t]+[a-z]+)"  # a comment in words
)
# What waitio_mpif.h does not declare: existing modules that include it have their own.
DECLARATIONS = {
    "wtime": "double precision, external :: WAITIO_MPI_WTIME",
    "wtick": "double precision, external :: WAITIO_MPI_WTICK",
}
DECLARATIONS.update(
    {
        name: f"external :: WAITIO_MPI_{name.upper()}"
        for name in sorted(FORTRAN_NAMES)
        if name.endswith("_fn")
    }
)


@dataclass
class FortranSource:
    """One file, read."""

    path: str
    text: str
    form: Form
    lines: list[Line] = field(init=False)
    statements: list[Statement] = field(init=False)
    tree: Tree = field(init=False)
    findings: list[Finding] = field(default_factory=list)
    edits: dict[int, list[Edit]] = field(default_factory=dict)  # by id of a statement
    after: dict[int, list[str]] = field(default_factory=dict)  # new lines behind a line
    refused: bool = False
    count: int = 0

    def __post_init__(self) -> None:
        self.lines = split_lines(self.text)
        if self.form.fixed:
            self.statements = fixed_statements(self.lines, self.form.limit)
        else:
            self.statements = free_statements(self.lines)
        parts = [
            Part(statement, found)
            for statement in self.statements
            for found in statements(tokens(statement.code, self.form.fixed))
        ]
        self.tree = Tree(self.path, parts)

    def edit(self, part: Part, start: int, end: int, text: str) -> None:
        self.edits.setdefault(id(part.statement), []).append(Edit(start, end, text))

    def line_of(self, part: Part, token: Token | None = None) -> int:
        return part.statement.place(token.start if token else 0)[0].number

    def tell(self, part: Part, token: Token, why: str, remedy: str, note: bool = False) -> None:
        line = self.line_of(part, token)
        self.findings.append(Finding(self.path, line, token.text, why, remedy, note))


def include_names(source: FortranSource) -> list[tuple[Scope, str]]:
    """The files that a file includes, by Fortran or by the preprocessor, and in which scope."""
    found = []
    for part in source.tree.parts:
        if part.first == "include" and len(part.tokens) > 1 and part.tokens[1].kind == "text":
            found.append((part.scope, part.tokens[1].text[1:-1]))
    for line in source.lines:
        named = None if line.code else CPP_FILE.match(line.text)
        if named:
            before = [p for p in source.tree.parts if source.line_of(p) < line.number]
            found.append((before[-1].scope if before else source.tree.scopes[0], named[1]))
    return found


def link_includes(sources: list[FortranSource]) -> None:
    """Let scopes know what the files that they include declare."""
    by_path = {os.path.normpath(s.path): s for s in sources}
    by_name: dict[str, list[FortranSource]] = {}
    for source in sources:
        by_name.setdefault(os.path.basename(source.path), []).append(source)
    for source in sources:
        folder = os.path.dirname(source.path)
        for scope, name in include_names(source):
            other = by_path.get(os.path.normpath(os.path.join(folder, name)))
            same = by_name.get(os.path.basename(name), [])
            if other is None and len(same) == 1:
                other = same[0]
            if other is not None and other is not source:
                scope.includes.append(other.tree.scopes[0])


def _new_name(name: str) -> tuple[int, str, str] | None:
    """How a name of MPI's changes: letters dropped from its front, what comes before and behind."""
    bare = name.lower()[4:]
    front = "WAITIO" if name[0] == "M" else "waitio"
    if bare == "status_size":
        return 3, front, ""
    if bare in FULL:
        more = FULL[bare][len(bare) :]
        return 0, front + "_", more.upper() if name.isupper() else more
    return (0, front + "_", "") if bare in FORTRAN_NAMES else None


def own_names(sources: list[FortranSource]) -> set[str]:
    """Names in MPI's style that the program gives to things of its own."""
    own: set[str] = set()
    for source in sources:
        for scope in source.tree.scopes:
            own |= {scope.name, *scope.dummies, *scope.entities}
        for part in source.tree.parts:
            own |= _named([t.low for t in part.tokens])
        for line in source.lines:
            found = re.match(r"\s*#\s*define\s+(\w+)", line.text)
            if found and not line.code:
                own.add(found[1].lower())
    own = {name for name in own if name.startswith("mpi_")} - {"mpi_status_size"}
    return {name for name in own if name[4:] not in FORTRAN_NAMES}


def _named(low: list[str]) -> set[str]:
    """What a statement sets or names without declaring it."""
    found: set[str] = set()
    if len(low) > 1 and low[1] in ("=", "(") and "=" in low:
        found.add(low[0])
    if low[:1] and low[0] in ("parameter", "common", "namelist", "save", "data"):
        found |= {b for a, b in zip(low, low[1:]) if a in ("(", ",", "/")}
    if low[:1] == ["use"] and "only" not in low[:3]:
        found |= set(low[1:4]) - {"mpi_f08"}
    return found


def used_undeclared(sources: list[FortranSource]) -> list[str]:
    """Names the files use that have to be declared where the include file is."""
    found = {t.low for s in sources for p in s.tree.parts for t in p.tokens if t.kind == "word"}
    return [name for name in DECLARATIONS if f"mpi_{name}" in found]


def undeclared_in(source: FortranSource, scope: Scope, undeclared: list[str]) -> list[str]:
    """Those that a scope or one inside it uses; all in a file that others include."""
    if len(source.tree.scopes) == 1:
        return undeclared
    inside = [p for p in source.tree.parts if any(s is scope for s in p.scope.chain())]
    used = {t.low for p in inside for t in p.tokens if t.kind == "word"}
    return [name for name in undeclared if f"mpi_{name}" in used]


class Renamer:
    """Renames in one file."""

    def __init__(self, source: FortranSource, own: set[str], undeclared: list[str]) -> None:
        self.source, self.own, self.undeclared = source, own, undeclared

    def run(self) -> None:
        source = self.source
        for part in source.tree.parts:
            if "mpi_f08" in [t.low for t in part.tokens[:5]] and part.first == "use":
                self._refuse(part)
        if source.refused:
            return
        for part in source.tree.parts:
            if part.first in ("include", "use"):
                self._include(part)
            for i, token in enumerate(part.tokens):
                if token.kind == "word":
                    self._word(part, i, token)
                elif token.kind == "number" and "_" in token.text:  # 0_MPI_ADDRESS_KIND
                    at = token.text.index("_") + 1
                    name, low = token.text[at:], token.low[at:]
                    self._word(part, i, Token("word", name, token.start + at, token.end, low))

    def _refuse(self, part: Part) -> None:
        token = next(t for t in part.tokens if t.low == "mpi_f08")
        why = "its handles are derived types, which the library does not have; file left as it is"
        remedy = "change it to `use mpi` (handles are integers, statuses integer arrays) first"
        self.source.tell(part, token, why, remedy)
        self.source.refused = True

    def _include(self, part: Part) -> None:
        """include 'mpif.h' and use mpi."""
        source = self.source
        for i, token in enumerate(part.tokens[:5]):
            before = part.tokens[i - 1].text if i else ""
            if part.first == "include" and token.kind == "text" and INCLUDE.fullmatch(token.text):
                source.edit(part, token.start + 1, token.end - 1, "waitio_mpif.h")
                source.count += 1
                line = part.statement.lines[-1]
                names = undeclared_in(source, part.scope, self.undeclared)
                source.after[line.number] = [" " * line.start + DECLARATIONS[n] for n in names]
            elif part.first == "use" and token.low == "mpi" and before.lower() in ("use", "::"):
                source.edit(part, token.start, token.end, "waitio_mpi")
                source.count += 1

    def _word(self, part: Part, i: int, token: Token) -> None:
        low, start = token.low, token.start
        if i == 0 and self.source.form.fixed and low.startswith("callmpi_"):
            low, start = low[4:], start + 4
        if not low.startswith(("mpi_", "pmpi_")) or low in ("mpi_", "pmpi_") or low in self.own:
            return
        if i and part.tokens[i - 1].text == "%":
            return
        new = _new_name(token.text[start - token.start :]) if low[0] == "m" else None
        if new is None:
            found = missing(self.source.path, self.source.line_of(part, token), token.text)
            self.source.findings.append(found)
            return
        drop, front, back = new
        source, code = self.source, part.statement.code
        source.count += 1
        if part.statement.place(start)[0] is not part.statement.place(token.end - 1)[0]:
            source.edit(part, start, token.end, front + code[start + drop : token.end] + back)
            return
        source.edit(part, start, start + drop, front)
        if back:
            source.edit(part, token.end, token.end, back)


def _preprocessor(
    source: FortranSource, line: Line, own: set[str], undeclared: list[str]
) -> str | None:
    """A line for the preprocessor with its names changed."""
    found = CPP_INCLUDE.match(line.text)
    if found:
        rest = line.text[found.end() :]
        lead = " " * (6 if source.form.fixed else 0)
        before = [p for p in source.tree.parts if source.line_of(p) < line.number]
        scope = before[-1].scope if before else source.tree.scopes[0]
        more = [line.end + lead + DECLARATIONS[n] for n in undeclared_in(source, scope, undeclared)]
        return f"{found[1]}{found[2]}waitio_mpif.h{found[3]}{rest}" + "".join(more) + line.end

    def change(match: re.Match[str]) -> str:
        word = match[0]
        if not re.match(r"(?i)p?mpi_\w", word) or word.lower() in own:
            return word
        new = _new_name(word) if word[0] in "mM" else None
        if new is None:
            source.findings.append(missing(source.path, line.number, word))
            return word
        return new[1] + word[new[0] :] + new[2]

    text = CPP_NAME.sub(change, line.text)
    return text + line.end if text != line.text else None


def finish(source: FortranSource, own: set[str], undeclared: list[str]) -> str:
    """The new text of a file whose edits are all known."""
    if source.refused:
        return source.text
    new: dict[int, str] = {}
    for statement in source.statements:
        edits = source.edits.get(id(statement))
        if edits:
            new.update(rewrite(statement, edits, source.form))
    out = []
    for line in source.lines:
        text = line.text + line.end
        if line.code:
            text = new.get(line.number, text)
        elif line.text.lstrip().startswith("#"):
            changed = _preprocessor(source, line, own, undeclared)
            source.count += changed is not None
            text = text if changed is None else changed
        out.append(text)
        for extra in source.after.get(line.number, ()):
            out[-1] += "" if line.end else "\n"
            out.append(extra + (line.end or "\n"))
    return "".join(out)


def without_comments(text: str) -> str:
    """A header's statements, in whichever form: signs in its comments say nothing."""
    lines = [line for line in text.splitlines() if line[:1] not in "cC*!" or FREE_START.match(line)]
    return "\n".join(re.sub(r"![^'\"]*$", "", line) for line in lines if line)


def guess_form(text: str) -> str:
    """Fixed or free form of a file whose name does not tell."""
    for line in text.splitlines():
        if not line.strip() or (line[0] in "cC*!#" and not FREE_START.match(line)):
            continue
        head = line[:5].split("\t")[0]
        if (head.strip() and not head.strip().isdigit()) or line.split("!")[0].rstrip().endswith(
            "&"
        ):
            return "free"
    return "fixed"
