# SPDX-License-Identifier: BSD-3-Clause
"""What a run of tests counts, and what is said of it at the end."""

import re
import xml.etree.ElementTree as ET

# So many failed tests are listed with the command that runs each again; so many at all.
WITH_COMMAND, LISTED = 10, 24
OUTPUT = 6000  # characters of a C program's output that stand in its failure


class Tally:
    """Counts, and what to say about each test that did not simply pass."""

    def __init__(self):
        self.passed = 0
        self.seconds = {}
        self.failed = []
        self.skipped = []
        self.loads = {}  # of the machine, when a test failed
        self.unsteady = []  # failed, and passed when run again: dicts with name, line, load
        self.forgiven = []  # what these said when they failed

    def add(self, name, outcome, text="", load=None):
        if outcome == "passed":
            self.passed += 1
        elif outcome == "skipped":
            self.skipped.append((name, text))
        else:
            self.failed.append((name, text))
            self.loads[name] = load

    def forgive(self, names):
        """These failed tests have passed when they were run again."""
        for name, text in self.failed:
            if name in names:
                row = {"name": name, "line": headline(text), "load": self.loads.get(name)}
                self.unsteady.append(row)
                self.forgiven.append((name, text))
                self.passed += 1
        self.failed = [(name, text) for name, text in self.failed if name not in names]


def first_line(text):
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return lines[0] if lines else ""


def headline(text, width=160):
    """The first line of a failure: of pytest's the error, not the arguments above it."""
    errors = [line[1:].strip() for line in (text or "").splitlines() if re.match(r"E\s+\S", line)]
    line = " ".join(errors[: 1 + errors[0].endswith(":")]) if errors else first_line(text)
    return line if len(line) <= width else line[: width - 3] + "..."


def read_cases(path, tally, prefix="", output="", load=None):
    """Add the cases of one JUnit file; return how many there were and how many failed, or None.

    cmocka's report has no reasons for what was skipped: the program's output tells them.
    """
    try:
        tree = ET.parse(path)
    except (OSError, ET.ParseError):
        return None
    cases = failures = 0
    for case in tree.iter("testcase"):
        cases += 1
        scope = prefix or case.get("classname", "").replace(".", "/")
        name = f"{scope}::{case.get('name', '?')}"
        problem = case.find("failure")
        if problem is None:
            problem = case.find("error")
        skip = case.find("skipped")
        if problem is not None:
            failures += 1
            text = (problem.get("message") or "") + "\n" + (problem.text or "")
            text += "\n" + output[-OUTPUT:] if output else ""
            tally.add(name, "failed", text, load)
        elif skip is not None:
            told = re.search(rf"^skipped {re.escape(case.get('name', '?'))}: (.+)$", output, re.M)
            reason = skip.get("message") or first_line(skip.text) or (told and told[1])
            tally.add(name, "skipped", reason or "")
        else:
            tally.add(name, "passed")
    return cases, failures


def skipped_lines(skipped):
    """A line for each test; one for all of a file that give the same reason when they are many."""
    groups = {}
    for name, text in skipped:
        reason = first_line(text) or "no reason given"
        groups.setdefault((name.partition("::")[0], reason), []).append(name)
    for (file, reason), names in groups.items():
        if len(names) > 3:
            yield f"{file} ({len(names)} tests): {reason}"
        else:
            yield from (f"{name}: {reason}" for name in names)


def command_for(name, make):
    """The command that runs one test again. @param make  the target of the suite"""
    unit = name if ".py" in name else name.partition("::")[0]
    return f"make {make} TESTS=\"--only '{unit}'\""


def failed_lines(failed, make):
    """Who sees only the end of the output reads here what to do."""
    for name, text in failed[:LISTED]:
        yield f"{name}: {headline(text)}"
        if len(failed) <= WITH_COMMAND:
            yield f"    again: {command_for(name, make)}"
    if len(failed) > LISTED:
        yield f"... and {len(failed) - LISTED} more, above"
    if len(failed) > WITH_COMMAND:
        yield f"again, each: {command_for('NAME', make)}"


def unsteady_lines(rows):
    for row in rows:
        load = "" if row["load"] is None else f" (load {row['load']:.1f})"
        yield f"{row['name']}: {row['line']}{load}"


def report(tally, make="test"):
    """Say it all; scripts/stages.sh looks for the lines that begin with ---.

    @return the exit status
    """
    told = [("UNSTEADY", *row) for row in tally.forgiven]
    for word, name, text in [*told, *(("FAILED", *row) for row in tally.failed)]:
        print(f"\n{word} {name}")
        lines = text.strip().splitlines()
        if len(lines) > 80:
            lines = [*lines[:5], f"... {len(lines) - 80} lines ...", *lines[-75:]]
        for line in lines:
            print(f"    {line}")
    blocks = (
        ("\nSkipped:", skipped_lines(tally.skipped)),
        ("--- unsteady tests (they failed, and passed when run again, alone; mend them):",
         unsteady_lines(tally.unsteady)),
        ("--- failed tests:", failed_lines(tally.failed, make)),
    )  # fmt: skip
    for head, lines in blocks:
        for i, line in enumerate(lines):
            print(f"{head}\n    {line}" if i == 0 else f"    {line}")
    total = tally.passed + len(tally.failed)
    if not total:
        print("no test ran")
    print(
        f"{tally.passed} passed, {len(tally.failed)} failed, {len(tally.skipped)} skipped",
        flush=True,
    )
    return 1 if tally.failed or not total else 0
