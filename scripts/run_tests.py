#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run the C tests (CTest) and the Python tests (pytest) of one build folder and add them up.

The last line of the output is always ``N passed, N failed, N skipped``; the exit status is 0 only
when something ran and nothing failed. A C test program that reports its cases in cmocka's XML form
counts each case, any other counts as one.
"""

import argparse
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Suites beyond the plain one: which CTest labels to leave out and which Python tests to run.
SUITES = {
    "all": {"pytest": ""},
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


def run(command, env, limit, log=None):
    """Run a command with a time limit; on expiry its whole process group ends. Returns status."""
    out = open(log, "w") if log else None
    try:
        child = subprocess.Popen(
            command,
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT if out else None,
            start_new_session=True,
        )
        try:
            return child.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            print(f"run_tests: {command[0]} did not end within {limit:.0f} s", flush=True)
            return 124
        except KeyboardInterrupt:
            return 130
        finally:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGTERM)
                try:
                    child.wait(timeout=10)
                except subprocess.TimeoutExpired:
                    os.killpg(child.pid, signal.SIGKILL)
                    child.wait()
    finally:
        if out:
            out.close()


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


def run_ctest(args, env, tally):
    ctest = shutil.which("ctest")
    if not ctest or not os.path.exists(os.path.join(args.build, "CTestTestfile.cmake")):
        tally.add("ctest", "failed", f"no CTest, or no tests configured in {args.build}")
        return
    junit = os.path.join(args.out, "ctest.xml")
    cmocka = os.path.join(args.build, "Testing", "cmocka")
    shutil.rmtree(cmocka, ignore_errors=True)
    os.makedirs(cmocka)
    env = dict(env, CMOCKA_MESSAGE_OUTPUT="XML")
    command = [ctest, "--test-dir", args.build, "--output-junit", junit, "--timeout", "300"]
    command += ["-j", str(args.jobs), "--no-tests=ignore"]
    if args.filter:
        command += ["-R", args.filter]
    log = os.path.join(args.out, "ctest.log")
    started = time.monotonic()
    status = run(command, env, args.limit, log)
    try:
        cases = list(ET.parse(junit).iter("testcase"))
    except (OSError, ET.ParseError):
        with open(log) as handle:
            tally.add("ctest", "failed", f"status {status}\n" + handle.read()[-4000:])
        return
    for case in cases:
        add_ctest_case(case, cmocka, tally)
    if status and not tally.failed:
        tally.add("ctest", "failed", f"status {status}; see {log}")
    print(f"C tests: {len(cases)} programs in {time.monotonic() - started:.0f} s", flush=True)


def run_pytest(args, env, tally, marker, candidates):
    folders = []
    for folder in candidates:
        if glob.glob(os.path.join(ROOT, folder, "**", "test_*.py"), recursive=True):
            folders.append(folder)
    if not folders:
        return
    junit = os.path.join(args.out, "pytest.xml")
    if os.path.exists(junit):
        os.remove(junit)
    command = [sys.executable, "-m", "pytest", *folders, "--junitxml", junit, "-q", "-ra"]
    if marker:
        command += ["-m", marker]
    if args.keyword:
        command += ["-k", args.keyword]
    started = time.monotonic()
    status = run(command, env, args.limit)
    found = read_cases(junit, tally)
    if found is None:
        tally.add("pytest", "failed", f"status {status}, no report written")
        return
    if status not in (0, 1, 5):
        tally.add("pytest", "failed", f"status {status}")
    print(f"Python tests: {found[0]} in {time.monotonic() - started:.0f} s", flush=True)


def report(tally):
    for name, text in tally.failed:
        print(f"\nFAILED {name}")
        lines = text.strip().splitlines()
        for line in lines[-40:]:
            print(f"    {line}")
    if tally.skipped:
        print("\nSkipped:")
        for name, text in tally.skipped:
            print(f"    {name}: {first_line(text) or 'no reason given'}")
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
    parser.add_argument("-j", dest="jobs", type=int, default=2, help="C tests at a time")
    parser.add_argument("--limit", type=float, default=1200, help="seconds for each half")
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
    env.update(suite.get("env", {}))
    tally = Tally()
    if suite.get("ctest", True) and not (args.keyword and not args.filter):
        run_ctest(args, env, tally)
    if suite["pytest"] is not None and not (args.filter and not args.keyword):
        folders = suite.get("folders", ["tests", "python/tests"])
        run_pytest(args, env, tally, suite["pytest"], folders)
    return report(tally)


if __name__ == "__main__":
    sys.exit(main())
