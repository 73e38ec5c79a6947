# SPDX-License-Identifier: BSD-3-Clause
"""Runs of pytest, several at a time, that go on whatever a test does to its interpreter."""

import json
import os
import pathlib
import shutil
import signal
import sys
import time

import parts
import patience
import record

from runner import child


def add_recorded(rows, name, tally):
    """Add one Python test by its rows of the record."""
    bad = [row for row in rows if row.get("outcome") == "failed"]
    skip = [row["text"] for row in rows if row.get("outcome") == "skipped"]
    if rows[-1]["when"] != "end":
        tally.add(name, "failed", "was under way when the run was ended")
        return
    setup = rows[-1].get("setup", 0.0)  # of its file: another test pays for it another time
    tally.seconds[name] = rows[-1]["seconds"] - setup
    if setup:
        tally.seconds[name.partition("::")[0]] = setup
    if bad:
        tally.add(name, "failed", bad[0]["text"], bad[0].get("load"))
    elif skip:
        tally.add(name, "skipped", skip[0].removeprefix("Skipped: "))
    else:
        tally.add(name, "passed")


def under_way(path):
    """(name, rows) of the test that began and did not end; None where there is none."""
    for name, rows in record.read(path).items():
        if rows[-1]["when"] != "end":
            return name, rows
    return None


def write_off(path, pid, name, rows, why):
    """Note that a test took the interpreter down; what it left behind is shown and ended.

    @param pid  the interpreter's: other runs go on
    """
    marks = [row["mark"] for row in rows if row["when"] == "begin"]
    left = patience.of_test(marks[-1], root=pid) if marks else []
    text = [why, *(row["text"] for row in rows if row["when"] == "hang")]
    for other in left[: patience.PROCESSES]:
        text += patience.process_report(other)
    if marks:
        patience.end(marks[-1], root=pid)
    load = os.getloadavg()[0]
    died = {"test": name, "when": "died", "outcome": "failed", "text": "\n".join(text)}
    with open(path, "a", encoding="utf-8") as handle:
        for row in ({**died, "load": load}, {"test": name, "when": "end", "seconds": 0}):
            handle.write(json.dumps(row) + "\n")
    print(f"run_tests: {name}: {why}; going on with the next test", flush=True)


class Stuck:
    """Ends a pytest that does not end a test itself: one whose interpreter no longer runs."""

    def __init__(self, path, base):
        self.path, self.base = path, base + 60  # its own limit comes before
        self.name, self.limit = None, None

    def __call__(self, process):
        name, _ = under_way(self.path) or (None, None)
        if name != self.name:
            self.name, self.limit = name, patience.Limit(self.base)
        elif name and self.limit.left() <= 0:
            os.killpg(process.pid, signal.SIGKILL)


class Pytest:
    """One run of pytest. A test that kills it fails, the rest goes on.

    @param name  of its record and log
    @param log   False: the output is shown as it comes
    """

    def __init__(self, args, env, command, name, log):
        self.env = env
        self.record = os.path.join(args.out, f"pytest-{name}.jsonl")
        self.log = os.path.join(args.out, f"pytest-{name}.log") if log else None
        self.base = float(env.get("WT_TEST_LIMIT", "180"))
        for path in filter(None, (self.record, self.log)):
            if os.path.exists(path):
                os.remove(path)
        self.command = [*command, "--record", self.record]
        if log:
            self.command += ["-p", "no:cacheprovider"]
        self.child = self.status = None
        self.begin()

    def begin(self):
        self.stuck = Stuck(self.record, self.base)
        self.child = child.start(self.command, self.env, self.log)

    def look(self):
        """Is anything left to do?"""
        if self.status is not None:
            return False
        status = self.child.poll()
        if status is None:
            self.stuck(self.child)
            return True
        found = under_way(self.record)
        if found:
            why = f"the interpreter ended with status {status} in this test"
            write_off(self.record, self.child.pid, *found, why)
            self.begin()
            return True
        self.status = status
        return False


def add_runs(runs, tally, show=True):
    """Show and count what the runs of pytest did. @return how many tests that were"""
    found = {}
    for run in runs:
        if run.log and show:
            print(child.read(run.log), flush=True)
        if run.status not in (None, 0, 1, 5):
            tally.add("pytest", "failed", f"status {run.status}; its output is in {run.log}")
        for name, rows in record.read(run.record).items():
            found.setdefault(name, rows)  # both find what cannot be read
    for name, rows in found.items():
        add_recorded(rows, name, tally)
    return len(found)


def run_one(args, env, tally, name):
    """Run one test, alone; its output is kept, not shown."""
    command = [sys.executable, "-m", "pytest", "-q", "--suite", "all", name]
    again = [Pytest(args, env, command, "again", True)]
    try:
        child.wait(again)
    finally:
        add_runs(again, tally, show=False)


def files(args, folders, mark):
    """The files that may hold tests of the suite: each run of pytest takes 5 s to read them all.

    @param mark  a file without this word has no test of the suite; "": any may have one
    """
    root = pathlib.Path(child.ROOT)
    found = [path for folder in folders for path in sorted((root / folder).glob("**/test_*.py"))]
    paths = [str(path.relative_to(root)) for path in found]
    if args.length == "long":
        seconds = dict.fromkeys(paths, 0.0)
        for name, took in parts.long_tests().items():
            path = name.partition("::")[0]
            if path in seconds:
                seconds[path] += took
        seconds = {path: sum_ for path, sum_ in seconds.items() if sum_}
        paths = sorted(parts.part_of(seconds, args.slice or "1/1"))
    return [path for path in paths if mark in (root / path).read_text(encoding="utf-8")]


def run(args, env, tally, words, found, runs=1, beside=()):
    """pytest, until every test has ended; the tests that measure time come last, one by one.

    @param words   pytest's words that choose the tests
    @param found   files or tests
    @param runs    so many share the tests, each with files of its own
    @param beside  other runs, which have begun; the tests that measure time wait for them, too
    """
    if not found:
        child.wait(beside)
        return
    command = [sys.executable, "-m", "pytest", *found, "-q", "-ra"]
    command += ["--continue-on-collection-errors", "--suite", args.length, *words]
    started = time.monotonic()
    all_runs, count = [], 0
    share = os.path.join(args.out, "share")
    shutil.rmtree(share, ignore_errors=True)
    os.makedirs(share)
    try:
        for lane, workers in (("shared", runs), ("alone", 1)) if runs > 1 else (("all", 1),):
            lane_runs = []
            for number in range(workers):
                more = ["--share", share, "--lane", lane, *(["--backwards"] if number else [])]
                name = lane if lane == "alone" else number
                lane_runs.append(Pytest(args, env, command + more, name, number > 0))
                all_runs.append(lane_runs[-1])
            child.wait([*lane_runs, *beside])
    finally:
        count = add_runs(all_runs, tally)
    print(f"Python tests: {count} in {time.monotonic() - started:.0f} s", flush=True)
