#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run the C tests (CTest) and the Python tests (pytest) of one build folder and add them up.

The last line of the output is always ``N passed, N failed, N skipped``, also when the run is ended
by Ctrl-C or SIGTERM or a test takes pytest down with it; the exit status is 0 only when something
ran and nothing failed. A suite has no time limit; each test has one, which grows with the machine's
load (tests/support/patience.py). A C test program that reports its cases in cmocka's XML form
counts each case, any other counts as one.
"""

import argparse
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(ROOT, "tests", "support"))
import patience  # noqa: E402

TICK_S = 2.0

# Which tests a suite has: C tests or not, the short ones or all (tests/long.txt lists the others),
# which mark of pytest.
SUITES = {
    "all": {"pytest": "", "env": {"WT_SLOW_TESTS": "1"}},
    "short": {"pytest": "", "length": "short"},
    "long": {"pytest": "", "length": "long", "env": {"WT_SLOW_TESTS": "1"}},
    "c": {"pytest": None},
    "python": {"ctest": False, "pytest": ""},
    "coverage": {"pytest": ""},
    "asan": {"pytest": "sanitize"},
    "tsan": {"pytest": "sanitize"},
    "interop": {
        "ctest": False,
        "pytest": "",
        "folders": ["tests/interop"],
        "env": {"WAITIO_TEST_INTEROP": "1", "WT_TEST_LIMIT": "600"},
    },
}


class Tally:
    """Counts, and what to say about each test that did not simply pass."""

    def __init__(self):
        self.passed = 0
        self.seconds = {}
        self.failed = []
        self.skipped = []

    def add(self, name, outcome, text=""):
        if outcome == "passed":
            self.passed += 1
        elif outcome == "skipped":
            self.skipped.append((name, text))
        else:
            self.failed.append((name, text))


def first_line(text):
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    return lines[0] if lines else ""


def read_cases(path, tally, prefix="", output=""):
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
            tally.add(name, "failed", (problem.get("message") or "") + "\n" + (problem.text or ""))
        elif skip is not None:
            told = re.search(rf"^skipped {re.escape(case.get('name', '?'))}: (.+)$", output, re.M)
            reason = skip.get("message") or first_line(skip.text) or (told and told[1])
            tally.add(name, "skipped", reason or "")
        else:
            tally.add(name, "passed")
    return cases, failures


class EndedError(Exception):
    """Somebody asked this program to end (Ctrl-C, or a limit above it)."""


def ask_to_end(signum, frame):
    raise EndedError(f"ended by {signal.Signals(signum).name}")


def start(command, env, log=None):
    """Begin a command in a process group of its own; its output goes to this one's or to a file."""
    out = open(log, "a") if log else None
    child = subprocess.Popen(
        command,
        cwd=ROOT,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.STDOUT if out else None,
        start_new_session=True,
    )
    if out:
        out.close()
    return child


def end(child):
    """End a process group whose first process has not ended."""
    if child.poll() is not None:
        return
    os.killpg(child.pid, signal.SIGTERM)
    try:
        child.wait(timeout=10)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def run(command, env, log, tick):
    """Run a command to its end; where this program is to end, the whole process group does.

    @param tick  called now and then
    @return its status
    """
    with open(log, "w"):
        pass
    child = start(command, env, log)
    try:
        while True:
            try:
                return child.wait(timeout=TICK_S)
            except subprocess.TimeoutExpired:
                tick()
    finally:
        end(child)


def add_ctest_case(case, cmocka, tally):
    """Add one CTest test, case by case where its program wrote cmocka's XML."""
    name = case.get("name", "?")
    status = case.get("status", "")
    output = case.findtext("system-out") or ""
    if status in ("disabled", "notrun") and "77" not in output:
        skip = case.find("skipped")
        reason = skip.get("message", "") if skip is not None else status
        if reason.startswith("SKIP"):
            tally.add(name, "skipped", first_line(output) or reason)
        else:
            tally.add(name, "failed", f"not run: {reason}")
        return
    failed = case.find("failure") is not None or status == "fail"
    files = glob.glob(os.path.join(cmocka, glob.escape(name.replace("/", ".")) + ".*.xml"))
    cases = failures = 0
    for path in sorted(files):
        found = read_cases(path, tally, name, output)
        if found:
            cases += found[0]
            failures += found[1]
    if failed and not failures:
        # Died outside of a case, or without cmocka.
        tally.add(name, "failed", output[-4000:])
    elif not cases:
        tally.add(name, "passed")


# A line of CTest's progress: " 3/45 Test  #3: unit/test_x ....   Passed    0.05 sec"
PROGRESS = re.compile(r"^ *\d+/(\d+) Test +#\d+: (\S+) [.]*[ *]*([A-Za-z]+)", re.M)


def cases_from_log(text):
    """What CTest's progress tells of the tests that ended, for want of its report."""
    cases = []
    for _, name, word in PROGRESS.findall(text):
        status = {"Passed": "run", "Skipped": "notrun"}.get(word, "fail")
        case = ET.Element("testcase", name=name, status=status)
        ET.SubElement(case, "system-out").text = word
        if status == "notrun":
            ET.SubElement(case, "skipped", message="SKIP_RETURN_CODE")
        cases.append(case)
    return cases


def run_ctest(args, env, tally):
    ctest = shutil.which("ctest")
    if not ctest or not os.path.exists(os.path.join(args.build, "CTestTestfile.cmake")):
        tally.add("ctest", "failed", f"no CTest, or no tests configured in {args.build}")
        return
    junit = os.path.join(args.out, "ctest.xml")
    cmocka = os.path.join(args.build, "Testing", "cmocka")
    shutil.rmtree(cmocka, ignore_errors=True)
    os.makedirs(cmocka)
    if os.path.exists(junit):
        os.remove(junit)
    env = dict(env, CMOCKA_MESSAGE_OUTPUT="XML")
    command = [ctest, "--test-dir", args.build, "--output-junit", junit]
    # A test takes two places, or one if it only waits (tests/CMakeLists.txt).
    command += ["-j", str(2 * args.jobs), "--no-tests=ignore"]
    command += {"short": ["-LE", "^long$"], "long": ["-L", "^long$"]}.get(args.length, [])
    if args.filter:
        command += ["-R", args.filter]
    log = os.path.join(args.out, "ctest.log")
    started = time.monotonic()
    said = [started]

    def tick():
        done = PROGRESS.findall(read(log))
        if done and time.monotonic() - said[0] > 20:
            said[0] = time.monotonic()
            print(f"C tests: {len(done)} of {done[0][0]}", flush=True)

    status = None
    try:
        status = run(command, env, log, tick)
    finally:
        try:
            cases = list(ET.parse(junit).iter("testcase"))
        except (OSError, ET.ParseError):
            cases = cases_from_log(read(log))
            if status is not None:
                tally.add("ctest", "failed", f"status {status}\n" + read(log)[-4000:])
        before = len(tally.failed)
        for case in cases:
            add_ctest_case(case, cmocka, tally)
            tally.seconds[case.get("name", "?")] = float(case.get("time", "0"))
        if status and len(tally.failed) == before:
            tally.add("ctest", "failed", f"status {status}; see {log}")
        print(f"C tests: {len(cases)} programs in {time.monotonic() - started:.0f} s", flush=True)


def read(path):
    try:
        with open(path, errors="replace") as handle:
            return handle.read()
    except OSError:
        return ""


def read_record(path):
    """The rows of tests/support/suite.py's record, by test."""
    found = {}
    for line in read(path).splitlines():
        try:
            row = json.loads(line)
        except ValueError:  # the run died while it wrote
            continue
        found.setdefault(row["test"], []).append(row)
    return found


def add_recorded(rows, name, tally):
    """Add one Python test by its rows of the record."""
    bad = [row["text"] for row in rows if row.get("outcome") == "failed"]
    skip = [row["text"] for row in rows if row.get("outcome") == "skipped"]
    if rows[-1]["when"] != "end":
        tally.add(name, "failed", "was under way when the run was ended")
        return
    tally.seconds[name] = rows[-1]["seconds"]
    if bad:
        tally.add(name, "failed", bad[0])
    elif skip:
        tally.add(name, "skipped", skip[0].removeprefix("Skipped: "))
    else:
        tally.add(name, "passed")


def under_way(record):
    """(name, rows) of the test that began and did not end; None where there is none."""
    for name, rows in read_record(record).items():
        if rows[-1]["when"] != "end":
            return name, rows
    return None


def write_off(record, pid, name, rows, why):
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
    with open(record, "a", encoding="utf-8") as handle:
        died = {"test": name, "when": "died", "outcome": "failed", "text": "\n".join(text)}
        for row in (died, {"test": name, "when": "end", "seconds": 0}):
            handle.write(json.dumps(row) + "\n")
    print(f"run_tests: {name}: {why}; going on with the next test", flush=True)


class Stuck:
    """Ends a pytest that does not end a test itself: one whose interpreter no longer runs."""

    def __init__(self, record, base):
        self.record, self.base = record, base + 60  # its own limit comes before
        self.name, self.limit = None, None

    def __call__(self, child):
        name, _ = under_way(self.record) or (None, None)
        if name != self.name:
            self.name, self.limit = name, patience.Limit(self.base)
        elif name and self.limit.left() <= 0:
            os.killpg(child.pid, signal.SIGKILL)


class Pytest:
    """One of the runs of pytest that share the tests. A test that kills it fails, the rest goes on.

    @param number  0: its output is shown as it comes; the others' when all is done
    """

    def __init__(self, args, env, command, number):
        self.env, self.number = env, number
        self.record = os.path.join(args.out, f"pytest-{number}.jsonl")
        self.log = os.path.join(args.out, f"pytest-{number}.log") if number else None
        self.base = float(env.get("WT_TEST_LIMIT", "180"))
        for path in filter(None, (self.record, self.log)):
            if os.path.exists(path):
                os.remove(path)
        self.command = [*command, "--record", self.record]
        if number:
            self.command += ["-p", "no:cacheprovider", "--backwards"]
        self.child = self.status = None
        self.begin()

    def begin(self):
        self.stuck = Stuck(self.record, self.base)
        self.child = start(self.command, self.env, self.log)

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


def pytest_command(args, marker, folders):
    share = os.path.join(args.out, "share")
    shutil.rmtree(share, ignore_errors=True)
    os.makedirs(share)
    command = [sys.executable, "-m", "pytest", *folders, "-q", "-ra", "--share", share]
    command += ["--continue-on-collection-errors", "--suite", args.length]
    command += ["-m", marker] if marker else []
    command += ["-k", args.keyword] if args.keyword else []
    return command


def add_runs(runs, tally):
    """Show and count what the runs of pytest did. @return how many tests that were"""
    found = {}
    for run in runs:
        if run.log:
            print(read(run.log), flush=True)
        if run.status not in (None, 0, 1, 5):
            tally.add("pytest", "failed", f"status {run.status}; its output is above")
        for name, rows in read_record(run.record).items():
            found.setdefault(name, rows)  # both find what cannot be read
    for name, rows in found.items():
        add_recorded(rows, name, tally)
    return len(found)


def run_pytest(args, env, tally, marker, candidates):
    """pytest, until every test has ended; several at a time, each with files of its own."""
    folders = []
    for folder in candidates:
        if glob.glob(os.path.join(ROOT, folder, "**", "test_*.py"), recursive=True):
            folders.append(folder)
    if not folders:
        return
    command = pytest_command(args, marker, folders)
    started = time.monotonic()
    runs = []
    try:
        # They wait for other processes, and for limits to pass, most of the time: one more.
        for number in range(1 if args.keyword else args.jobs + 1):
            runs.append(Pytest(args, env, command, number))
        while any([run.look() for run in runs]):
            time.sleep(TICK_S / 4)
    finally:
        for run in runs:
            end(run.child)
        count = add_runs(runs, tally)
        print(f"Python tests: {count} in {time.monotonic() - started:.0f} s", flush=True)


def save_seconds(args, tally):
    """Keep how long each test took, the least of all runs; scripts/classify_tests.py reads it."""
    path = os.path.join(args.out, "seconds.json")
    try:
        known = json.loads(read(path))
    except ValueError:
        known = {}
    for name, seconds in tally.seconds.items():
        if seconds:
            known[name] = round(min(seconds, known.get(name, seconds)), 3)
    with open(path + ".new", "w") as handle:
        json.dump(known, handle, indent=0, sort_keys=True)
    os.replace(path + ".new", path)


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


def report(tally):
    for name, text in tally.failed:
        print(f"\nFAILED {name}")
        lines = text.strip().splitlines()
        if len(lines) > 80:
            lines = [*lines[:5], f"... {len(lines) - 80} lines ...", *lines[-75:]]
        for line in lines:
            print(f"    {line}")
    if tally.skipped:
        print("\nSkipped:")
        for line in skipped_lines(tally.skipped):
            print(f"    {line}")
    total = tally.passed + len(tally.failed)
    if not total:
        print("no test ran")
    print(
        f"{tally.passed} passed, {len(tally.failed)} failed, {len(tally.skipped)} skipped",
        flush=True,
    )
    return 1 if tally.failed or not total else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release", help="build folder")
    parser.add_argument("--suite", choices=sorted(SUITES), default="all")
    parser.add_argument("-R", dest="filter", default="", help="only C tests that match")
    parser.add_argument("-k", dest="keyword", default="", help="only Python tests that match")
    parser.add_argument("-j", dest="jobs", type=int, default=2, help="tests at a time")
    args = parser.parse_args()
    args.build = os.path.join(ROOT, args.build)
    args.out = os.path.join(args.build, "test-results")
    os.makedirs(args.out, exist_ok=True)
    env = {k: v for k, v in os.environ.items() if not k.startswith("WAITIO_")}
    env["WAITIO_BUILD_DIR"] = args.build
    env["PATH"] = os.path.join(args.build, "bin") + os.pathsep + env.get("PATH", "")
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    env.setdefault("TSAN_OPTIONS", "halt_on_error=0 second_deadlock_stack=1")
    suite = SUITES[args.suite]
    env = {**suite.get("env", {}), **env}  # who calls may say otherwise
    args.length = suite.get("length", "all")
    tally = Tally()
    signal.signal(signal.SIGTERM, ask_to_end)
    signal.signal(signal.SIGINT, ask_to_end)
    try:
        if suite.get("ctest", True) and not (args.keyword and not args.filter):
            run_ctest(args, env, tally)
        if suite["pytest"] is not None and not (args.filter and not args.keyword):
            folders = suite.get("folders", ["tests", "python/tests"])
            run_pytest(args, env, tally, suite["pytest"], folders)
    except EndedError as why:
        tally.add(f"suite {args.suite}", "failed", f"{why}; what did not run is not counted")
    save_seconds(args, tally)
    return report(tally)


if __name__ == "__main__":
    sys.exit(main())
