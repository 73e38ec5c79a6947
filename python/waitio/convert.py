# SPDX-License-Identifier: BSD-3-Clause
"""`waitio convert`: MPI sources become sources of the conversion library."""

from __future__ import annotations

import difflib
import os
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass

from waitio import convert_c, convert_files, convert_fortran
from waitio.convert_files import Found
from waitio.convert_fortran import FortranSource
from waitio.convert_report import Finding
from waitio.convert_requests import Requests
from waitio.convert_wrap import Form
from waitio.errors import UsageError, WaitioError
from waitio.options import Option, choice, help_text, parse, whole

OPTIONS = (
    Option(("--output", "-o"), "output", "write the sources here, under the same names", "DIR"),
    Option(("--in-place",), "in_place", "change the files themselves"),
    Option(("--diff",), "diff", "show what would change, write nothing"),
    Option(("--check",), "check", "report only, write nothing"),
    Option(("--language",), "language", "c or fortran (default: by suffix)", "LANGUAGE",
           choice("c", "fortran")),
    Option(("--form",), "form", "of Fortran: fixed or free (default: by suffix)", "FORM",
           choice("fixed", "free")),
    Option(("--line-length",), "line_length", "last column of Fortran (default: 72 or 132)", "N",
           whole(40, 100000)),
    Option(("--quiet", "-q"), "quiet", "no progress and no summary"),
    Option(("--help", "-h"), "help", "show this text"),
)  # fmt: skip
HELP = f"""usage: waitio convert (--output DIR | --in-place | --diff | --check) [OPTIONS] PATH ...

Rewrite C, C++ and Fortran sources from MPI to the conversion library: includes, names, and in
Fortran the declarations of requests. PATH is a file or a folder. What cannot be converted is
reported as FILE:LINE: NAME: why; what to do. Give all files of a
program together, so that its own names are known.

{help_text(OPTIONS)}

Exit status: 0 everything is converted, 1 something is left to do by hand, 2 wrong command line.
"""


@dataclass
class Settings:
    output: str = ""
    in_place: bool = False
    diff: bool = False
    check: bool = False
    language: str = ""
    form: str = ""
    line_length: int = 0
    quiet: bool = False
    help: bool = False


@dataclass
class Result:
    """What became of one file."""

    found: Found
    old: str
    new: str
    count: int


def main(words: list[str]) -> int:
    """Run the subcommand; return its exit status."""
    values, rest = parse(words, OPTIONS, "convert")
    # Options may also stand behind the files.
    files: list[str] = []
    while rest:
        files.append(rest[0])
        more, rest = parse(rest[1:], OPTIONS, "convert") if "--" not in words else ({}, rest[1:])
        values.update(more)
    settings = Settings(**values)
    if settings.help:
        sys.stdout.write(HELP)
        return 0
    _check(settings, files)
    return Conversion(settings, convert_files.find(files, bool(settings.language))).run()


def _check(settings: Settings, files: list[str]) -> None:
    ways = [bool(settings.output), settings.in_place, settings.diff, settings.check]
    if not files:
        raise UsageError("convert: no files given; see waitio convert --help")
    if sum(ways) != 1:
        raise UsageError(
            "convert: say what to do, one of: --output DIR (new files), --in-place (change the "
            "files), --diff (show only), --check (report only)"
        )


class Progress:
    """A line on a terminal while there is much to do."""

    PATIENCE_S = 0.5

    def __init__(self, total: int, quiet: bool) -> None:
        self.total, self.shown, self.began = total, False, time.monotonic()
        self.wanted = not quiet and sys.stderr.isatty()

    def at(self, what: str, done: int) -> None:
        if not self.wanted or time.monotonic() - self.began < self.PATIENCE_S:
            return
        width = 30 * done // max(1, self.total)
        sys.stderr.write(f"\r{what:<10} [{'#' * width:<30}] {done}/{self.total} files ")
        sys.stderr.flush()
        self.shown = True

    def end(self) -> None:
        if self.shown:
            sys.stderr.write("\r" + " " * 70 + "\r")
            sys.stderr.flush()


class Conversion:
    """One run over all files."""

    def __init__(self, settings: Settings, files: list[Found]) -> None:
        self.settings, self.files = settings, files
        self.failed: list[str] = []
        self.findings: list[Finding] = []
        self.results: list[Result] = []
        self.included_by: dict[str, set[str]] = {}  # by a file's name: the forms of who include it
        self.progress = Progress(len(files), settings.quiet)
        if settings.output:
            self._check_targets()

    def _check_targets(self) -> None:
        """No file may be written twice, nor over one that is read."""
        sources = {os.path.realpath(found.path) for found in self.files}
        targets: dict[str, str] = {}
        for found in self.files:
            target = os.path.realpath(os.path.join(self.settings.output, found.below))
            if target in sources:
                raise UsageError(
                    f"convert: --output would overwrite '{target}': use --in-place if that is meant"
                )
            other = targets.setdefault(target, found.path)
            if other != found.path:
                raise UsageError(
                    f"convert: '{other}' and '{found.path}' would both become '{target}': "
                    "give the folder they share, or convert one at a time"
                )

    def run(self) -> int:
        texts = self._read()
        self._convert(texts)
        self.progress.end()
        for result in self.results:
            self._deliver(result)
        return self._report()

    def _fail(self, path: str, why: object) -> None:
        self.failed.append(path)
        self.progress.end()
        sys.stderr.write(f"{path}: {why}; left out\n")

    def _read(self) -> list[tuple[Found, str, str]]:
        """(file, kind, text) of everything readable."""
        texts = []
        for done, found in enumerate(self.files):
            self.progress.at("reading", done)
            try:
                text = convert_files.read(found.path)
            except OSError as error:
                self._fail(found.path, f"cannot be read: {error.strerror}")
                continue
            except WaitioError as error:
                self._fail(found.path, error)
                continue
            self._note_includes(found.path, text)
            texts.append((found, text))
        return [(found, self._kind(found.path, text), text) for found, text in texts]

    def _kind(self, path: str, text: str) -> str:
        kind = convert_files.language(path)
        if kind == "c" and path.endswith((".h", ".H")) and self._is_fortran_header(path, text):
            kind = "included"
        wanted = self.settings.language
        if wanted == "c":
            return kind if kind in ("c", "cxx") else "c"
        if self.settings.form and kind not in ("c", "cxx"):
            return self.settings.form
        if wanted == "fortran" and kind not in ("fixed", "free"):
            kind = self.settings.form or "included"
        if kind == "included":
            forms = self.included_by.get(os.path.basename(path), set())
            return next(iter(forms)) if len(forms) == 1 else convert_fortran.guess_form(text)
        return kind

    def _is_fortran_header(self, path: str, text: str) -> bool:
        """A header that Fortran sources of this run include, or that looks like one of theirs."""
        code = convert_fortran.without_comments(text)
        if convert_fortran.FORTRAN_HEADER.search(code) is None:
            return False
        return os.path.basename(path) in self.included_by or not set("{;") & set(code)

    def _note_includes(self, path: str, text: str) -> None:
        """Which files the Fortran sources include, in which form."""
        form = convert_files.language(path)
        if form in ("fixed", "free"):
            form = self.settings.form or form
            for name in convert_fortran.FILE_NAME.findall(text):
                self.included_by.setdefault(os.path.basename(name), set()).add(form)

    def _convert(self, texts: list[tuple[Found, str, str]]) -> None:
        own: set[str] = set()
        fortran = []
        for done, (found, kind, text) in enumerate(texts):
            self.progress.at("scanning", done)
            if kind in ("c", "cxx"):
                own |= convert_c.own_names(text)
            else:
                fixed = kind == "fixed"
                limit = self.settings.line_length or (72 if fixed else 132)
                fortran.append(FortranSource(found.path, text, Form(fixed, limit)))
        names = convert_fortran.own_names(fortran)
        undeclared = convert_fortran.used_undeclared(fortran)
        by_path = {source.path: source for source in fortran}
        for source in fortran:
            convert_fortran.Renamer(source, names, undeclared).run()
        requests = Requests(fortran)
        requests.find()
        requests.widen()
        for done, (found, kind, text) in enumerate(texts):
            self.progress.at("converting", done)
            if kind in ("c", "cxx"):
                c = convert_c.CSource(found.path, text, own, kind == "cxx")
                new, count, findings = c.convert(), c.count, c.findings
            else:
                source = by_path[found.path]
                new = convert_fortran.finish(source, names, undeclared)
                count, findings = source.count, source.findings
            self.findings += findings
            self.results.append(Result(found, text, new, count))

    def _deliver(self, result: Result) -> None:
        """Write or show one file."""
        settings, path = self.settings, result.found.path
        target = path if settings.in_place else os.path.join(settings.output, result.found.below)
        if settings.diff:
            sys.stdout.writelines(_diff(result))
        elif settings.output or (settings.in_place and result.new != result.old):
            try:
                convert_files.write(target, result.new, path)
            except OSError as error:
                self._fail(target, f"cannot be written: {error.strerror}")

    def _report(self) -> int:
        problems = 0
        for finding in sorted(set(self.findings)):
            problems += not finding.note
            sys.stderr.write(f"{finding}\n")
        if not self.settings.quiet:
            changed = [r for r in self.results if r.new != r.old]
            words = [
                f"{len(self.results)} files read",
                f"{len(changed)} with changes ({sum(r.count for r in changed)} places)",
                f"{problems} {'place' if problems == 1 else 'places'} left to do by hand",
            ]
            words += [f"{len(self.failed)} files left out"] if self.failed else []
            sys.stderr.write(", ".join(words) + "\n")
        return 1 if problems or self.failed else 0


def _diff(result: Result) -> Iterable[str]:
    """A unified diff; a last line without an end is marked as patch expects."""
    name = result.found.path
    old, new = result.old.splitlines(True), result.new.splitlines(True)
    for line in difflib.unified_diff(old, new, f"a/{name}", f"b/{name}"):
        text = line.encode("latin-1").decode("utf-8", "surrogateescape")
        yield text if text.endswith("\n") else text + "\n\\ No newline at end of file\n"
