#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Turn a manual page written in Markdown into roff, with nothing but the standard library.

The part of Markdown it knows: headings, paragraphs, bullet and numbered lists, definition lists
(``term`` and ``: meaning`` lines), tables, fenced and indented code, **bold**, *italic*, `code`,
[text](link), MyST directives of one line (dropped). The page's name and section come from the file
name: waitio.1.md is waitio(1).
"""

import argparse
import os
import re
import sys

# A line that begins a block of its own, whatever stands above it.
BLOCK = re.compile(r"#|```|~~~|:::|\||[-*]\s|\d+\.\s|:\s|    ")


def escape(text):
    """Protect what roff would read as a command."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def inline(text):
    """Fonts and links inside a line of text."""
    out = []
    token = re.compile(
        r"`([^`]+)`|\*\*(.+?)\*\*|\*([^*\s][^*]*?)\*|\[([^\]]+)\]\(([^)]+)\)|<(https?:[^>]+)>"
    )
    at = 0
    for match in token.finditer(text):
        out.append(escape(text[at : match.start()]))
        code, bold, italic, label, link, bare = match.groups()
        if code or bold:
            out.append("\\fB" + escape(code or bold) + "\\fR")
        elif italic:
            out.append("\\fI" + escape(italic) + "\\fR")
        elif label:
            out.append(escape(label))
            if link.startswith("http"):
                out.append(" (" + escape(link) + ")")
        else:
            out.append(escape(bare))
        at = match.end()
    out.append(escape(text[at:]))
    return "".join(out)


class Page:
    """Reads lines, writes roff."""

    def __init__(self, lines):
        self.lines = lines
        self.at = 0
        self.out = []

    def peek(self):
        return self.lines[self.at] if self.at < len(self.lines) else ""

    def more(self):
        return self.at < len(self.lines)

    def take_while(self, good):
        """Lines from here on for which `good` holds."""
        taken = []
        while self.more() and good(self.peek()):
            taken.append(self.peek())
            self.at += 1
        return taken

    def code(self, lines):
        while lines and not lines[-1].strip():
            lines.pop()
        self.out += [".PP", ".RS 4", ".nf"]
        self.out += [escape(line) if line else "" for line in lines]
        self.out += [".fi", ".RE"]

    def fence(self):
        opening = self.peek().strip()
        mark = re.match(r"(`{3,}|~{3,}|:{3,})", opening).group(1)
        self.at += 1
        body = self.take_while(lambda line: line.strip() != mark)
        self.at += 1
        if opening.startswith(":") or "{" in opening:
            self.out += Page(body).roff()
        else:
            self.code(body)

    def heading(self):
        level, text = re.match(r"(#+)\s+(.*)", self.peek()).groups()
        self.at += 1
        if len(level) == 1:
            return  # the page's title is in .TH
        command = ".SH" if len(level) == 2 else ".SS"
        self.out.append(f'{command} "{inline(text.upper() if len(level) == 2 else text)}"')

    def item(self, match):
        indent = len(match.group(0))
        first = self.peek()[indent:]
        self.at += 1
        rest = self.take_while(
            lambda line: line.startswith("  ")
            or (line.strip() and not re.match(r"[-*#`:|]|\d+\.", line))
        )
        tag = "\\(bu" if match.group(1) in "-*" else match.group(1)
        self.out += [f".IP {tag} 4", inline(" ".join([first] + [line.strip() for line in rest]))]

    def definition(self):
        terms = self.take_while(lambda line: line.strip() and not line.startswith(":"))
        self.take_while(lambda line: not line.strip())
        self.out += [".TP"] + [inline(", ".join(term.strip() for term in terms))]
        first = True
        while self.more() and self.peek().startswith(":"):
            text = [self.peek()[1:].strip()]
            self.at += 1
            text += [
                s.strip()
                for s in self.take_while(lambda line: line.startswith("  ") and line.strip())
            ]
            self.out += ([] if first else [".IP"]) + [inline(" ".join(text))]
            first = False

    def table(self):
        rows = self.take_while(lambda line: line.strip().startswith("|"))
        cells = [[c.strip() for c in row.strip().strip("|").split("|")] for row in rows]
        body = [row for row in cells[1:] if not all(set(c) <= set("-: ") for c in row)]
        for row in body:
            self.out += [".TP", inline(row[0]), inline("; ".join(c for c in row[1:] if c)) or "\\&"]

    def is_definition(self):
        """Whether a `: meaning` line follows the lines here, which are then its terms."""
        at = self.at
        while at < len(self.lines) and self.lines[at].strip():
            if BLOCK.match(self.lines[at]):
                return bool(re.match(r":\s", self.lines[at])) and at > self.at
            at += 1
        while at < len(self.lines) and not self.lines[at].strip():
            at += 1
        return at < len(self.lines) and bool(re.match(r":\s", self.lines[at]))

    def paragraph(self):
        lines = self.take_while(lambda line: line.strip() and not BLOCK.match(line))
        if not lines:  # a line that only looks like the start of something
            lines = [self.peek()]
            self.at += 1
        self.out += [".PP", inline(" ".join(line.strip() for line in lines))]

    def block(self):
        line = self.peek()
        bullet = re.match(r"([-*]|\d+\.)\s+", line)
        if not line.strip() or re.match(r"\(.*\)=$|\+\+\+|---$", line):
            self.at += 1
        elif re.match(r"`{3}|~{3}|:{3}", line.strip()):
            self.fence()
        elif line.startswith("#"):
            self.heading()
        elif bullet:
            self.item(bullet)
        elif line.startswith("    "):
            taken = self.take_while(lambda text: text.startswith("    ") or not text.strip())
            self.code([text[4:] for text in taken])
        elif line.startswith("|"):
            self.table()
        elif self.is_definition():
            self.definition()
        else:
            self.paragraph()

    def roff(self):
        while self.more():
            self.block()
        return self.out


def strip_front_matter(lines):
    """Drop the YAML block at the top that Sphinx reads."""
    if lines and lines[0].strip() == "---":
        for i, line in enumerate(lines[1:], 1):
            if line.strip() == "---":
                return lines[i + 1 :]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--version", default="")
    parser.add_argument("source")
    parser.add_argument("page")
    args = parser.parse_args()
    name, section = re.match(r"(.+)\.(\d)\.md$", os.path.basename(args.source)).groups()
    with open(args.source, encoding="utf-8") as handle:
        lines = strip_front_matter(handle.read().splitlines())
    text = [
        '.\\" Made by scripts/md2man.py; edit the Markdown instead.',
        f'.TH {name.upper()} {section} "" "WaitIO {args.version}" "WaitIO"',
        ".nh",
        ".ad l",
    ]
    text += Page(lines).roff()
    os.makedirs(os.path.dirname(args.page) or ".", exist_ok=True)
    with open(args.page, "w", encoding="utf-8") as handle:
        handle.write("\n".join(text) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
