#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Take one guard after another out of the library and see that its tests fail.

check_guards.py [WORD ...]   all rows of tests/guards*.toml, or those whose name contains a word
check_guards.py --list       only look whether every row still fits the sources
check_guards.py --table      print the rows as a table for docs/design/bad-days.md

Works on a copy (a git worktree of HEAD) with its own build folder, both in --folder. Takes about
half an hour for all rows: a test that misses its guard often ends by its time limit only. A test
"build unit/test_NAME" is a static assertion in that program, which has to end the build. The exit
status is 0 when every test failed.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import guards

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT_S = 600


def misfit(row, root):
    """What is wrong with a row; empty = nothing."""
    for edit in row["edits"]:
        path = root / edit["file"]
        found = path.read_text().count(edit["old"]) if path.exists() else 0
        if found != 1:
            return f"{edit['file']}: the lines to be changed were found {found} times"
    return ""


def run(words, folder, env=None):
    """@return (status, what was printed); a run that hangs has failed"""
    try:
        done = subprocess.run(
            words,
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 124, "ended by the time limit\n"
    return done.returncode, done.stdout + done.stderr


def command(test, copy, build):
    kind, place, name = guards.parts_of(test)
    if kind == "ctest":
        return ["ctest", "--test-dir", str(build), "-R", name, "--timeout", "60"]
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    return [*words, str(copy / place), "-k", name]


def asserted(row, text):
    """Did the static assertion of the row's test program end the build?"""
    return all(
        kind == "build" and f"{name}.c" in text and "static assertion failed" in text
        for kind, _, name in (test.partition(" ") for test in row["tests"])
    )


def try_row(row, copy, build):
    """@return tests that did not notice"""
    saved = {e["file"]: (copy / e["file"]).read_text() for e in row["edits"]}
    env = dict(os.environ, WAITIO_BUILD_DIR=str(build), WT_TEST_LIMIT="100")
    env["PYTHONDONTWRITEBYTECODE"] = "1"  # a row changes a file more than once in a second
    try:
        for e in row["edits"]:
            path = copy / e["file"]
            path.write_text(path.read_text().replace(e["old"], e["new"]))
        status, text = run(["cmake", "--build", str(build)], copy)
        if status != 0:
            return [] if asserted(row, text) else [f"does not build: {text[-500:]}"]
        missed = []
        for test in row["tests"]:
            if test.startswith("build "):
                missed.append(f"{test}: is built without the guard")
                continue
            status, text = run(command(test, copy, build), copy, env)
            if status == 0:
                missed.append(f"{test}: passes without the guard")
            elif "no tests ran" in text or "No tests were found" in text:
                missed.append(f"{test}: there is no such test")
        return missed
    finally:
        for file, text in saved.items():
            (copy / file).write_text(text)


def table(rows):
    print("| bad day | guard | without it | test |\n|---|---|---|---|")
    for r in rows:
        files = ", ".join(dict.fromkeys(f"`{e['file'].replace('src/', '')}`" for e in r["edits"]))
        tests = ", ".join(f"`{guards.parts_of(t)[2]}`" for t in r["tests"])
        print(f"| {r['day']} | {files}: `{r['function']}` | {r['name']} | {tests} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--list", action="store_true", help="only look whether the rows fit")
    parser.add_argument("--table", action="store_true", help="print the rows as a table")
    parser.add_argument("--folder", help="for the copy and its build (default: a temporary one)")
    args = parser.parse_args()
    rows = [r for r in guards.load() if not args.words or any(w in r["name"] for w in args.words)]
    if args.table:
        table(rows)
        return 0
    bad = 0
    if args.list:
        for row in rows:
            wrong = misfit(row, ROOT)
            bad += wrong != ""
            print(f"{'MISFIT' if wrong else 'fits'}  {row['name']}  {wrong}")
        return 1 if bad else 0
    folder = pathlib.Path(args.folder or tempfile.mkdtemp(prefix="waitio-guards-"))
    copy, build = folder / "copy", folder / "build"
    subprocess.run(["git", "worktree", "add", "--detach", str(copy), "HEAD"], cwd=ROOT, check=True)
    try:
        subprocess.run(
            ["cmake", "-S", str(copy), "-B", str(build), "-G", "Ninja"]
            + ["-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DWAITIO_BENCH=OFF"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        for row in rows:
            began = time.monotonic()
            missed = [misfit(row, copy)] if misfit(row, copy) else try_row(row, copy, build)
            bad += missed != []
            took = time.monotonic() - began
            print(f"{'MISSED' if missed else 'noticed'}  {row['name']}  ({took:.0f} s)", flush=True)
            for m in missed:
                print(f"    {m}", flush=True)
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", str(copy)], cwd=ROOT, check=False)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
