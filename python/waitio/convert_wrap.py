# SPDX-License-Identifier: BSD-3-Clause
"""Change words of a Fortran statement and lay its lines out again where they grew too long."""

from __future__ import annotations

import re
from dataclasses import dataclass

from waitio.convert_lines import Line, Statement, fixed_columns
from waitio.convert_tokens import TOKEN, tokens

BREAK_AFTER = {",", "(", "=", "+", "-", "*", "/", "==", "=>", ".and.", ".or."}


@dataclass(frozen=True)
class Edit:
    """Replace code[start:end] of a statement."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Form:
    """How lines are laid out: fixed or free form, and the last column of code."""

    fixed: bool
    limit: int


Part = tuple[Line, int, int, str]  # replace these columns of a line


def rewrite(statement: Statement, edits: list[Edit], form: Form) -> dict[int, str]:
    """New text of the lines that change, by line number; each may hold several lines."""
    changes: dict[int, list[tuple[int, int, str]]] = {}
    lines = {line.number: line for line in statement.lines}
    if form.fixed:
        _mark_joins(statement)
    for edit in sorted(set(edits), key=lambda e: (e.start, e.end)):
        for line, start, end, text in _parts(statement, edit):
            changes.setdefault(line.number, []).append((start, end, text))
    return {number: _line(lines[number], parts, form) for number, parts in changes.items()}


def _mark_joins(statement: Statement) -> None:
    """Find the lines that end inside a word, number or sign."""
    inside = {
        i: i - t.start for t in tokens(statement.code, True) for i in range(t.start + 1, t.end)
    }
    for piece, after in zip(statement.pieces, statement.pieces[1:]):
        piece.line.joins = min(inside.get(after.offset, 0), piece.length)


def _parts(statement: Statement, edit: Edit) -> list[Part]:
    """An edit as changes of lines: the new text goes to the first one, the rest disappears."""
    if edit.start == edit.end:
        line, column = statement.place(edit.start)
        return [(line, column, column, edit.text)]
    found: list[Part] = []
    for piece in statement.pieces:
        start = max(edit.start, piece.offset)
        end = min(edit.end, piece.offset + piece.length)
        if start < end:
            column = piece.line.start - piece.offset
            found.append((piece.line, start + column, end + column, "" if found else edit.text))
    if any(not _remains(part) for part in found[1:]):
        # A line of nothing but the rest of a word keeps that rest.
        rest = "".join(line.text[start:end] for line, start, end, _ in found[1:])
        line, start, end, text = found[0]
        if text.endswith(rest):
            line.joins = len(text) - len(rest)
            return [(line, start, end, text[: -len(rest)])]
        found = [(*part[:3], text if part is found[-1] else "") for part in found]
    for line, *_ in found[:-1]:
        line.joins = 0  # the word is whole now
    return found


def _remains(part: Part) -> bool:
    line, start, end, text = part
    return bool((line.text[line.start : start] + text + line.text[end : line.stop]).strip())


def _line(line: Line, parts: list[tuple[int, int, str]], form: Form) -> str:
    """The line with its parts replaced, as one line or several."""
    code, at = "", line.start
    for start, end, text in parts:
        code += line.text[at:start] + text
        at = end
    code += line.text[at : line.stop]
    lay = _fixed if form.fixed else _free
    return (line.end or "\n").join(lay(line, code, form.limit)) + line.end


def _alone(comment: str) -> str:
    """A comment for a line of its own, where `!$` would begin code and `!dir$` a directive."""
    return "! " + comment[1:] if re.match(r"![A-Za-z]*\$", comment) else comment


def _atoms(line: Line, code: str) -> list[str]:
    """Code in pieces between which a line may end; blanks stay with what they follow."""
    atoms, at = [], 0
    if line.quote:  # the rest of a text that began on a line before
        while at < len(code):
            at += 1
            if code[at - 1] == line.quote:
                if code[at : at + 1] != line.quote:
                    break
                at += 1
        atoms.append(code[:at])
    while at < len(code):
        match = TOKEN.match(code, at)
        assert match is not None
        if atoms and (match.lastgroup == "blank" or not atoms[-1].strip()):
            atoms[-1] += match[0]
        else:
            atoms.append(match[0])
        at = match.end()
    return atoms


def _fill(atoms: list[str], first: int, others: int) -> list[str]:
    """Lay atoms out in lines of at most `first`, then `others` columns. What is longer than a line
    gets one of its own."""
    lines: list[str] = []
    now: list[str] = []
    room = first
    for atom in atoms:
        while now and len("".join(now) + atom.rstrip()) > room:
            cut = _cut(now)
            lines.append("".join(now[:cut]).rstrip())
            now, room = now[cut:], others
        now.append(atom)
    return [*lines, "".join(now)]


def _cut(now: list[str]) -> int:
    """How many atoms end a line well: up to a comma or sign in its second half."""
    length = len("".join(now))
    for i in range(len(now), 0, -1):
        if 2 * len("".join(now[:i])) < length:
            break
        if now[i - 1].strip().lower() in BREAK_AFTER:
            return i
    return len(now)


# ---- free form ----------------------------------------------------------------------------------


def _free(line: Line, code: str, limit: int) -> list[str]:
    head, tail = line.text[: line.start], line.text[line.stop :]
    if not line.continued:
        code = code.rstrip()
    if len(head + code + tail) <= limit:
        return [head + code + tail]
    comment = tail.lstrip("& \t") if line.continued else tail.strip()
    indent = head[: len(head) - len(head.lstrip())]
    above = [indent + _alone(comment)] if comment else []
    tail = "&" if line.continued else ""
    if len(head + code + tail) <= limit:
        return [*above, head + code + tail]
    lead = indent + (line.sentinel + " " if line.sentinel else "") + "    "
    room = limit - 2
    texts = _fill(_atoms(line, code), room - len(head), room - len(lead))
    out = [head + texts[0]]
    for text in texts[1:]:
        out.append((lead if len(lead + text) <= room else lead[: -len(indent) - 4]) + text)
    out = [f"{text} &" for text in out[:-1]] + [out[-1] + tail]
    return above + [part for text in out for part in _split_text(text, limit)]


def _split_text(line: str, limit: int) -> list[str]:
    """A text in quotes that is longer than a line goes on in the next."""
    out = []
    while len(line) > limit:
        out.append(line[: limit - 1] + "&")
        line = "&" + line[limit - 1 :]
    return [*out, line]


# ---- fixed form ---------------------------------------------------------------------------------


def _fixed(line: Line, code: str, limit: int) -> list[str]:
    """Columns are counted as the compiler does; the text of a line may be shorter, by a tab."""
    head, edge = line.text[: line.start], limit - fixed_columns(line)
    beyond, gap = line.text[edge:], line.text[line.stop : edge].rstrip()
    if gap.lstrip().startswith("!"):  # a comment may be as long as it likes
        beyond, gap = "", line.text[line.stop :].rstrip()
    blanks = code[len(code.rstrip()) :]
    gap = blanks + gap if gap else ""
    room = len(head + code.rstrip() + gap) if len(line.text.rstrip()) > edge else edge
    pinned = bool(line.open or line.joins)  # its end must stay at the last column
    if not pinned:
        code = code.rstrip()
    elif len(code) == line.stop - line.start:
        return [head + code + line.text[line.stop :]]
    elif len(code) < edge - line.start:
        code = _push_right(line, code, edge - line.start)
    if len(head + code + gap) <= room and len(head + code) <= edge:
        return [_with_beyond(head + code + gap, beyond, edge)]
    out = [head + code] if len(head + code) <= edge else _fixed_lines(line, code, limit, pinned)
    if not pinned:
        out[-1] = _with_beyond(out[-1], beyond, edge if len(out) == 1 else limit)
    return ([_alone(gap.strip())] if gap else []) + out


def _fixed_lines(line: Line, code: str, limit: int, pinned: bool) -> list[str]:
    """Code that needs several lines."""
    edge = limit - fixed_columns(line)
    atoms, last = _split_last(line, code) if pinned else (_atoms(line, code), "")
    indent = " " * min(2 + len(code) - len(code.lstrip()), 24) if not line.quote else "  "
    mark = (line.sentinel if line.sentinel[2:].strip() else line.sentinel[:2]).ljust(5) + "&"
    texts = _fill(atoms, edge - line.start, limit - 6 - len(indent))
    out = [line.text[: line.start] + texts[0]]
    for text in texts[1:]:
        out.append(mark + (indent if len(mark + indent + text) <= limit else "") + text)
    if pinned:
        room = (edge if len(out) == 1 else limit) - len(out[-1])
        if room >= len(last):
            out[-1] += last.rjust(room)
        else:
            out[-1] = out[-1].rstrip()
            out.append(mark + last.rjust(limit - 6))
    return out


def _push_right(line: Line, code: str, width: int) -> str:
    """Blanks before the last word, so that it ends where the line does."""
    others, last = _split_last(line, code)
    return "".join(others) + " " * (width - len(code)) + last


def _split_last(line: Line, code: str) -> tuple[list[str], str]:
    """What goes on in the next line, apart from what stands before it."""
    if line.joins:
        return _atoms(line, code[: -line.joins]), code[-line.joins :]
    *others, last = _atoms(line, code)
    return others, last


def _with_beyond(text: str, beyond: str, edge: int) -> str:
    """What stands beyond the last column stays there."""
    return text.ljust(edge) + beyond if beyond.strip() else text
