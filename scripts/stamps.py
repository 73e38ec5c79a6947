#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Which parts of make check-all have passed on which commit: build/check-all.json.

stamps.py add PART PASSED FAILED SKIPPED SECONDS   note that a part has run on HEAD
stamps.py status PART ...     print a line for each; status 0 when all have passed on HEAD
stamps.py unsteady PART ...   status 1 when too many tests of these parts were unsteady on HEAD

A part that ran with changes which are not committed is noted as such and counts for no commit.
"""

import argparse
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
STAMPS = os.path.join("build", "check-all.json")
UNSTEADY = os.path.join("build", "test-results", "unsteady.json")
MOST_UNSTEADY = 5  # of all parts


def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def load(path, default):
    try:
        with open(os.path.join(ROOT, path)) as handle:
            return json.load(handle)
    except (OSError, ValueError):
        return default


def here():
    """The commit, or the commit with a mark where something is not committed."""
    return git("rev-parse", "HEAD") + (" and changes" if git("status", "--porcelain") else "")


def add(part, passed, failed, skipped, seconds):
    rows = load(STAMPS, {})
    rows[part] = {
        "commit": here(),
        "passed": passed,
        "failed": failed,
        "skipped": skipped,
        "seconds": seconds,
        "unsteady": load(UNSTEADY, []),
    }
    path = os.path.join(ROOT, STAMPS)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w") as handle:
        json.dump(rows, handle, indent=1)
    os.replace(path + ".new", path)
    return 0


def of_commit(parts, commit):
    """The stamps of these parts; None where one has not run on this commit."""
    rows = load(STAMPS, {})
    return {p: rows[p] if rows.get(p, {}).get("commit") == commit else None for p in parts}


def unsteady(stamps):
    """@return status; says what is too much"""
    rows = [row for stamp in stamps.values() if stamp for row in stamp["unsteady"]]
    if len(rows) <= MOST_UNSTEADY:
        return 0
    print(f"{len(rows)} unsteady tests, more than {MOST_UNSTEADY}:")
    for row in rows:
        print(f"    {row['name']}: {row['line']}")
    return 1


def status(stamps, commit):
    good = True
    for part, stamp in stamps.items():
        if stamp is None:
            print(f"{part:10} has not run on {commit[:9]}{commit[40:]}")
            good = False
            continue
        counts = f"{stamp['passed']} passed, {stamp['failed']} failed, {stamp['skipped']} skipped"
        word = "failed" if stamp["failed"] else "passed"
        many = f", {len(stamp['unsteady'])} unsteady" if stamp["unsteady"] else ""
        print(f"{part:10} {word} in {stamp['seconds']} s: {counts}{many}")
        good = good and word == "passed"
    if commit.endswith("changes"):
        print("not everything is committed: this counts for no commit")
        good = False
    return 1 if unsteady(stamps) or not good else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("add", "status", "unsteady"))
    parser.add_argument("words", nargs="+")
    args = parser.parse_args()
    if args.what == "add":
        part, *numbers = args.words
        return add(part, *(int(number) for number in numbers))
    stamps = of_commit(args.words, here())
    return unsteady(stamps) if args.what == "unsteady" else status(stamps, here())


if __name__ == "__main__":
    sys.exit(main())
