#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Run the C tests (CTest) and the Python tests (pytest) of one build folder and add them up.

The last line of the output is always ``N passed, N failed, N skipped``, also when the run is ended
by Ctrl-C or SIGTERM or a test takes pytest down with it; the exit status is 0 only when something
ran and nothing failed. A test that fails is run once more, alone, when all others are done: one
that passes then counts as passed and is listed as unsteady. A suite has no time limit; each test
has one, which grows with the machine's load (tests/support/patience.py). A C test program that
reports its cases in cmocka's XML form counts each case, any other counts as one.
"""

import argparse
import json
import os
import signal
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.path.join(ROOT, "scripts"))
sys.path.append(os.path.join(ROOT, "tests", "support"))
import parts  # noqa: E402
from runner import again, child, ctests, pytests  # noqa: E402
from runner.tally import Tally, report  # noqa: E402

# Which tests a suite has: C tests or not, the short ones or all (tests/long.txt lists the others),
# which mark of pytest; and the target of make that runs them.
SUITES = {
    "all": {"pytest": "", "env": {"WT_SLOW_TESTS": "1"}},
    "short": {"pytest": "", "length": "short"},
    "long": {"pytest": "", "length": "long", "env": {"WT_SLOW_TESTS": "1"}},
    "c": {"pytest": None},
    "python": {"ctest": False, "pytest": ""},
    "coverage": {"pytest": ""},
    "asan": {"pytest": "sanitize", "make": "check-asan"},
    "tsan": {"pytest": "sanitize", "make": "check-tsan"},
    "interop": {
        "ctest": False,
        "pytest": "",
        "make": "interop",
        "folders": ["tests/interop"],
        "env": {"WAITIO_TEST_INTEROP": "1", "WT_TEST_LIMIT": "600"},
    },
}


def c_tests(args, env):
    """CTest's words for the C tests of the suite, or for those that were asked for; None: none."""
    if args.only:
        names = [name.partition("::")[0] for name in args.only if ".py" not in name]
    elif args.slice:
        times = parts.long_tests()
        programs = {
            name: times.get(name, parts.UNKNOWN_S)
            for name, has in ctests.names(args.build).items()
            if args.length == "all" or ("long" in has) == (args.length == "long")
        }
        names = parts.part_of(programs, args.slice)
    else:
        labels = {"short": ["-LE", "^long$"], "long": ["-L", "^long$"]}.get(args.length, [])
        return labels + (["-R", args.filter] if args.filter else [])
    return ctests.exactly(names) if names else None


def start_c(args, env, tally):
    """Begin the C tests. @return their runs: one, or none"""
    words = c_tests(args, env)
    if words is None:
        return []
    try:
        return [ctests.CTest(args, env, words, 2 * args.jobs)]
    except ctests.NoCTestError as why:
        tally.add("ctest", "failed", str(why))
        return []


def run_python(args, env, tally, suite, beside):
    """The Python tests of the suite, or those that were asked for."""
    if args.only:
        names = [name for name in args.only if ".py" in name]
        args.length = "all"
        pytests.run(args, env, tally, [], names, beside=beside)
        return
    words = ["-m", suite["pytest"]] if suite["pytest"] else []
    words += ["-k", args.keyword] if args.keyword else []
    # A test waits for more than half of its time, a long one for two thirds.
    runs = 1 if args.keyword else (5 if args.length == "long" else 4) * args.jobs // 2
    files = pytests.files(args, suite.get("folders", ["tests", "python/tests"]), suite["pytest"])
    pytests.run(args, env, tally, words, files, runs, beside)


def save_seconds(args, tally):
    """Keep how long each test took, the least of all runs; scripts/classify_tests.py reads it."""
    path = os.path.join(args.out, "seconds.json")
    try:
        known = json.loads(child.read(path))
    except ValueError:
        known = {}
    for name, seconds in tally.seconds.items():
        if seconds:
            known[name] = round(min(seconds, known.get(name, seconds)), 3)
    with open(path + ".new", "w") as handle:
        json.dump(known, handle, indent=0, sort_keys=True)
    os.replace(path + ".new", path)


def save_unsteady(args, tally):
    """The list of this run, for scripts/check_all.sh and for people."""
    folder = os.path.join(os.path.dirname(args.build), "test-results")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "unsteady.json"), "w") as handle:
        json.dump(tally.unsteady, handle, indent=1)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build/release", help="build folder")
    parser.add_argument("--suite", choices=sorted(SUITES), default="all")
    parser.add_argument("-R", dest="filter", default="", help="only C tests that match")
    parser.add_argument("-k", dest="keyword", default="", help="only Python tests that match")
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="just this test, as the report names it"
    )
    parser.add_argument("--slice", metavar="K/N", help="the K-th of N parts of about equal time")
    parser.add_argument("-j", dest="jobs", type=int, default=2, help="tests at a time")
    parser.add_argument(
        "--most-unsteady", type=int, default=20, help="more that fail at first are failures"
    )
    args = parser.parse_args()
    args.build = os.path.join(ROOT, args.build)
    args.out = os.path.join(args.build, "test-results")
    return args


def environment(args, suite):
    env = {k: v for k, v in os.environ.items() if not k.startswith("WAITIO_")}
    env["WAITIO_BUILD_DIR"] = args.build
    env["PATH"] = os.path.join(args.build, "bin") + os.pathsep + env.get("PATH", "")
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # to translate all tests takes each run 4 s
    env.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    env.setdefault("TSAN_OPTIONS", "halt_on_error=0 second_deadlock_stack=1")
    return {**suite.get("env", {}), **env}  # who calls may say otherwise


def main():
    args = arguments()
    os.makedirs(args.out, exist_ok=True)
    suite = SUITES[args.suite]
    env = environment(args, suite)
    args.length = suite.get("length", "all")
    tally = Tally()
    signal.signal(signal.SIGTERM, child.ask_to_end)
    signal.signal(signal.SIGINT, child.ask_to_end)
    with_c = suite.get("ctest", True) and not (args.keyword and not args.filter)
    with_python = suite["pytest"] is not None and not (args.filter and not args.keyword)
    try:
        started = start_c(args, env, tally) if with_c else []
        try:
            if with_python:
                run_python(args, env, tally, suite, started)
            else:
                child.wait(started)
        finally:
            for run in started:
                child.end(run.child)
                run.count(tally)
        again.run(args, env, tally, args.most_unsteady)
    except child.EndedError as why:
        tally.add(f"suite {args.suite}", "failed", f"{why}; what did not run is not counted")
    save_seconds(args, tally)
    save_unsteady(args, tally)
    return report(tally, suite.get("make", "test"))


if __name__ == "__main__":
    sys.exit(main())
